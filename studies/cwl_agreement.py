"""Every user model that cwl_eval has too, on real runs, topic by topic, beside cwl_eval 1.0.12.

    python -m studies.cwl_agreement FOLDER PYTHON [--runs 10]

FOLDER holds `qrels*` and `runs`, such as `trec8-adhoc`; PYTHON is the interpreter of an environment
with cwl-eval. Lengths of documents are made up, from 20 to 3000 words by a hash of the name. Gains
are 0.6, where models tell that from 1.

cwl_eval's formulas are taken as they are, but for these, which `cranfield.measures.EU` explains:

- ETU and ETC: the user who would go on from rank 1000 stops there;
- TBG: gains are .4928 for a relevant document, and seconds follow from lengths;
- U: text counts where it ends, which is cwl_eval's U with L less the end of the first text; and
  rank 1000 has a weight, for which cwl_eval needs one more;
- BPMDynamic: K stays as it is (`hc=0`).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.base.arrays import Bools, Floats
from cranfield.collection.judged.judged_runs import JudgedRuns

RANKS = 1000
GAIN = 0.6
COLUMNS = ("EU", "ETU", "EC", "ETC", "Depth", "Residual")

THEIRS = """
import sys
import numpy as np
from cwl.ruler.cwl_ruler import *
from cwl.ruler.measures import cwl_nerr, cwl_bpm, cwl_insq, cwl_tbg, cwl_umeasure
from cwl.ruler.ranking import Ranking

given = np.load(sys.argv[1])
out = np.zeros((len(given["low"]), 6))
for row, (low, high, cost, best_cost) in enumerate(
    zip(given["low"], given["high"], given["cost"], given["best_cost"])
):
    less = float(given["less"][row]), float(given["best_less"][row])
    results = []
    for gains, costs, off in ((low, cost, less[0]), (high, best_cost, less[1])):
        model = eval(sys.argv[3])
        ranking = Ranking("t", gains, costs, max_n=len(gains))
        model.measure(ranking)
        left = np.prod(model.c_vector(ranking))
        results.append((
            model.expected_utility,
            model.expected_total_utility + left * np.sum(gains),
            model.expected_cost,
            model.expected_total_cost + left * np.sum(costs),
            model.expected_items,
        ))
    out[row] = (*results[0], results[1][0] - results[0][0])
np.save(sys.argv[2], out)
"""


@dataclass(frozen=True)
class Model:
    """A measure here, the same in cwl_eval, and what its gains and costs are.

    Attributes
    ----------
    ours, theirs
        Its text here; the object there, in which `off` is taken off the L of U.
    gain
        Gain of a relevant document.
    costs
        `documents`, `lengths` (a hundredth each), `seconds` of TBG or `characters` of U.
    depth
        Whether the wrappers have to be told that rank 1000 is the last.
    """

    ours: str
    theirs: str
    gain: float = 1.0
    costs: str = "lengths"
    depth: bool = False


_GRADED = f"gains={{1: {GAIN}}}"
MODELS = (
    Model("P@10", "PrecisionCWLMetric(10)"),
    Model("RR", "RRCWLMetric()"),
    Model("AP", "APCWLMetric()"),
    Model(f"RBP(p=0.8, {_GRADED})", "RBPCWLMetric(0.8)", GAIN, depth=True),
    Model(f"SDCG({_GRADED})@20", "NDCGCWLMetric(20)", GAIN),
    Model(f"INST(T=2, {_GRADED}, depth=1000)", "INSTCWLMetric(2.0)", GAIN),
    Model(f"INSQ(T=2, {_GRADED}, depth=1000)", "cwl_insq.INSQCWLMetric(2.0)", GAIN),
    Model(f"NERR8({_GRADED})@15", "cwl_nerr.NERReq8CWLMetric(15)", GAIN),
    Model(f"NERR9({_GRADED})@15", "cwl_nerr.NERReq9CWLMetric(15)", GAIN),
    Model(f"NERR10(p=0.9, {_GRADED})", "cwl_nerr.NERReq10CWLMetric(0.9)", GAIN),
    Model(f"NERR11(T=2, {_GRADED})", "cwl_nerr.NERReq11CWLMetric(2.0)", GAIN),
    Model(f"BPM(T=2, K=10, {_GRADED})", "cwl_bpm.BPMCWLMetric(2.0, 10)", GAIN, "documents"),
    Model(
        f"BPM(T=4, K=250, unit=0.01, missing=0, {_GRADED})",
        "cwl_bpm.BPMCWLMetric(4.0, 250)",
        GAIN,
        "by length",
    ),
    Model(
        f"BPMDynamic(T=3, K=20, hb=0.5, hc=0, {_GRADED})",
        "cwl_bpm.BPMDCWLMetric(3.0, 20, 0.5, 0.0, 0.5)",
        GAIN,
        "documents",
    ),
    Model("TBG", "cwl_tbg.TBGCWLMetric(224)", 0.64 * 0.77, "seconds"),
    Model(
        "U(L=30000, gains={1: 1}, unit=6)",
        "cwl_umeasure.UMeasureCWLMetric(30000 - off)",
        1.0,
        "characters",
    ),
)


def length_of(doc: str) -> int:
    """Make up a length in words."""
    return 20 + crc32(doc.encode()) % 2981


def vectors(judged: JudgedRuns) -> tuple[Floats, Floats, Bools]:
    """Relevance (NaN: unjudged), lengths (0: no document) and whether there is a document."""
    topics, systems = judged.shape
    grades = np.full((topics * systems, RANKS), np.nan)
    lengths = np.zeros(grades.shape)
    rows, long = judged.judged(), judged.lengths("this study")
    grades[rows.cell, rows.rank - 1] = rows.grade > 0
    lengths[long.cell, long.rank - 1] = long.gains
    return grades, lengths, np.arange(1, RANKS + 1) <= judged.retrieved.T.reshape(-1, 1)


def costs_of(model: Model, gains: Floats, lengths: Floats, listed: Bools) -> tuple[Floats, Floats]:
    """Costs of each rank, and what is to be taken off the L of U."""
    none = np.zeros(len(gains))
    if model.costs == "documents":
        return np.ones(gains.shape), none
    if model.costs in ("lengths", "by length"):
        return 0.01 * lengths, none
    if model.costs == "seconds":
        click = np.where(gains > 0, 0.64, 0.39) * listed
        return 4.4 + click * (0.018 * lengths + 7.8), none
    ends = np.cumsum(200 + 0.2 * 6 * lengths * (gains > 0) * listed, axis=1)
    return np.diff(ends, axis=1, append=ends[:, -1:] + 1), ends[:, 0]


def theirs(model: Model, judged: JudgedRuns, python: str) -> Floats:
    """Let cwl_eval compute; shape (columns, topics, systems)."""
    grades, lengths, listed = vectors(judged)
    low, high = np.nan_to_num(grades, nan=0.0), np.nan_to_num(grades, nan=np.inf)
    most = model.gain if model.costs == "seconds" else 1.0
    low, high = low * model.gain, np.where(high == np.inf, most, high * model.gain)
    cost, less = costs_of(model, low, lengths, listed)
    best_cost, best_less = costs_of(model, high, lengths, listed)
    if model.costs == "characters":
        low, high = (np.pad(one, ((0, 0), (0, 1))) for one in (low, high))
        cost, best_cost = (
            np.pad(one, ((0, 0), (0, 1)), constant_values=1) for one in (cost, best_cost)
        )
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "in.npz", Path(folder) / "out.npy"
        np.savez(
            given,
            low=low,
            high=high,
            cost=cost,
            best_cost=best_cost,
            less=less,
            best_less=best_less,
        )
        command = [python, "-c", THEIRS, str(given), str(found), model.theirs]
        subprocess.run(command, check=True, cwd=folder)
        table: Floats = np.load(found)
    return table.T.reshape(len(COLUMNS), judged.shape[1], judged.shape[0]).transpose(0, 2, 1)


def text_of(model: Model, column: str) -> str:
    """Name a column of a model as a measure."""
    options = [f"depth={RANKS}"] if model.depth else []
    if column in ("EC", "ETC") and model.costs == "lengths":
        options.append("unit=0.01")
    return f"{column}({', '.join([model.ours, *options])})"


def differences(model: Model, judged: JudgedRuns, python: str) -> dict[str, float | None]:
    """Find the largest difference in each column; None where both have different things."""
    other = theirs(model, judged, python)
    found: dict[str, float | None] = {}
    for at, column in enumerate(COLUMNS):
        if model.costs == "characters" and column in ("EC", "ETC"):
            # Costs are where text ends, less where it begins: cwl_eval has one list of them.
            found[column] = None
            continue
        text = text_of(model, column)
        ours = cf.score(judged, text)[str(cf.parse_measure(text))].values
        found[column] = float(np.abs(ours - other[at]).max())
    return found


def main() -> int:
    """Compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("python")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore", cf.CranfieldWarning)
    files = sorted((options.folder / "runs").iterdir())
    files = files[:: max(1, len(files) // options.runs)][: options.runs]
    [qrels] = options.folder.glob("qrels*")
    runs = [cf.read_run(file, name=file.name.split(".")[0]) for file in files]
    docs = pl.concat([run.docs.unique() for run in runs]).unique()
    # Grades are made binary: cwl_eval is given gains, not grades.
    judged = cf.judge(runs, qrels, lengths={doc: length_of(doc) for doc in docs}).binary()
    print(f"{judged.shape[1]} runs, {judged.shape[0]} topics, {RANKS} ranks; largest difference")
    print(f"{'model':<52}" + "".join(f"{one:>10}" for one in COLUMNS))
    worst = 0.0
    for model in MODELS:
        found = differences(model, judged, options.python)
        shown = ("-" if one is None else f"{one:.1e}" for one in found.values())
        print(f"{model.ours:<52}" + "".join(f"{one:>10}" for one in shown), flush=True)
        worst = max(worst, *(one for one in found.values() if one is not None))
    print(f"largest of all: {worst:.1e}")
    return 0 if worst <= 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
