"""Compare cranfield with ndeval, gdeval and pyndeval on the TREC Web track 2012.

    python -m studies.web2012_agreement FOLDER

FOLDER holds the track's judgments, eight runs, and `oracle_outputs` with what the organisers'
programs print for them (`ndeval -c -traditional`, `gdeval`, and both against a baseline). pyndeval
is compared too where it is installed; it orders tied documents by rising id, so it is given scores
without ties.
"""

from __future__ import annotations

import csv
import gzip
import sys
import warnings
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import cranfield as cf
from cranfield.measures.aliases import program_names

PRINTED = {"ndeval": 6, "gdeval": 5}
QRELS = {"ndeval": "qrels-for-ndeval.txt.gz", "gdeval": "qrels.adhoc.txt.gz"}


def columns(program: str, header: list[str]) -> dict[str, str]:
    """The columns that a program prints, with our measures."""
    return {name: program_names(program, name)[0] for name in header[2:]}


def rows_of(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Header and rows of a file."""
    with path.open() as file:
        reader = csv.DictReader(file)
        return list(reader.fieldnames or []), list(reader)


def compare_outputs(folder: Path, program: Any) -> dict[str, tuple[float, int, int]]:
    """For each column the largest difference, the values, and those that are not equal."""
    runs = sorted(folder.glob("*.run.xz"))
    judged = cf.judge(runs, folder / QRELS[program], compat=program, topics="qrels")
    worst: dict[str, list[float]] = defaultdict(list)
    for path in sorted((folder / "oracle_outputs").glob(f"*.{program}.csv")):
        header, rows = rows_of(path)
        forms = columns(program, header)
        run = path.name.split(".")[0]
        if run.startswith("risk-"):
            run, rest = run.removeprefix("risk-").split("-vs-")
            baseline, alpha = rest.rsplit("-a", 1)
            forms = {
                name: f"URisk({form}, baseline='{baseline}', alpha={alpha})"
                for name, form in forms.items()
            }
        wanted = {name: cf.parse_measure(form) for name, form in forms.items()}
        scores = cf.score(judged, list(wanted.values()))
        for row in rows:
            for name, form in wanted.items():
                values = scores[form].values[:, judged.systems.index(run)]
                whole = row["topic"] in {"amean", "all"}
                ours = values.mean() if whole else values[judged.topics.index(row["topic"])]
                worst[name].append(abs(float(ours) - float(row[name])))
    half = 0.5 * 10.0 ** -PRINTED[program] + 1e-12
    return {
        name: (max(found), len(found), sum(one > half for one in found))
        for name, found in worst.items()
    }


def compare_pyndeval(folder: Path) -> dict[str, float] | None:
    """Largest difference to pyndeval of each of its measures, over all topics and runs."""
    if find_spec("pyndeval") is None:
        return None
    import pyndeval  # type: ignore[import-not-found, unused-ignore]

    with gzip.open(folder / QRELS["ndeval"], "rt") as file:
        lines = [line.split() for line in file]
    theirs = [pyndeval.SubtopicQrel(t, i, d, int(g)) for t, i, d, g in lines]
    names = [name for name in PYNDEVAL if program_names("ndeval", name)]
    forms = {name: program_names("ndeval", name)[0] for name in names}
    worst = dict.fromkeys(names, 0.0)
    for path in sorted(folder.glob("*.run.xz")):
        run = cf.read_run(path)
        judged = cf.judge([run], folder / QRELS["ndeval"])
        table = run.to_polars().sort("topic", "score", "doc", descending=[False, True, True])
        place = -np.arange(table.height, dtype=np.float64)
        scored = [
            pyndeval.ScoredDoc(topic, doc, score)
            for topic, doc, score in zip(table["topic"], table["doc"], place.tolist(), strict=True)
        ]
        found = pyndeval.ndeval(theirs, scored, measures=names)
        scores = cf.score(judged, list(forms.values()))
        for topic, values in found.items():
            for name, value in values.items():
                ours = scores[forms[name]].values[judged.topics.index(topic), 0]
                worst[name] = max(worst[name], abs(float(ours) - value))
    return worst


PYNDEVAL = (
    *(
        f"{name}@{k}"
        for name in ("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG")
        for k in (5, 10, 20)
    ),
    *("NRBP", "nNRBP", "MAP-IA"),
    *(f"{name}@{k}" for name in ("P-IA", "strec") for k in (5, 10, 20)),
)


def main(folder: Path) -> int:
    """Compare and print; the exit status tells whether all is equal."""
    warnings.simplefilter("ignore", cf.CranfieldWarning)
    wrong = 0
    for program in PRINTED:
        for name, (worst, values, differ) in compare_outputs(folder, program).items():
            sys.stdout.write(
                f"{program:7} {name:14} {values:6,} values, {differ} differ in the printed digits,"
                f" largest difference {worst:.2e}\n"
            )
            wrong += differ
    found = compare_pyndeval(folder)
    if found is None:
        sys.stdout.write("pyndeval is not installed and was not compared\n")
    else:
        for name, worst in found.items():
            sys.stdout.write(f"pyndeval {name:14} largest difference {worst:.2e}\n")
            wrong += worst > 1e-9
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
