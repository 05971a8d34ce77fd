"""Every measure of trec_eval on every run of two collections, topic by topic, beside pytrec_eval.

    python -m studies.trec_eval_agreement FOLDER

FOLDER holds `trec8-adhoc` (115 runs) and `trec-covid-r5` (126 runs). pytrec_eval reads scores as
32-bit floats, as trec_eval 9 does: with `--compat trec_eval-9` its numbers have to come out as they
are. With `--compat trec_eval`, which sorts 64-bit scores, it is given scores that say the same
order without rounding: the place of each document when sorted by score, then id, both descending.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytrec_eval

import cranfield as cf
from cranfield.measures.aliases import trec_name

TOLERANCE = 1e-9
PER_TOPIC = {"gm_map": "map", "gm_bpref": "bpref"}
Nested = dict[str, dict[str, float]]


def in_order(run: Nested) -> Nested:
    """Give each document the place that 64-bit scores give it."""
    return {
        topic: {
            doc: float(-place)
            for place, doc in enumerate(
                sorted(docs, key=lambda doc: (docs[doc], doc.encode()), reverse=True)
            )
        }
        for topic, docs in run.items()
    }


def differences(ev: cf.Evaluation, system: int, theirs: Nested) -> Iterator[float]:
    """Yield the difference of each value that both have."""
    for measure in ev.measures:
        name = trec_name(measure)
        if name == "num_q":
            continue
        scores = ev[str(measure)].values[:, system]
        for topic, ours in zip(ev.topics, scores, strict=True):
            if topic not in theirs:
                assert np.isnan(ours), (topic, name)
            else:
                yield abs(ours - theirs[topic][PER_TOPIC.get(name, name)])


def compare(qrels_file: Path, files: list[Path]) -> bool:
    """Compare all runs of a collection under both presets."""
    with gzip.open(qrels_file, "rt") as file:
        qrels = pytrec_eval.parse_qrel(file)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures)
    ours = {
        compat: cf.evaluate(files, qrels_file, "all_trec", compat=compat)
        for compat in ("trec_eval-9", "trec_eval")
    }
    worst, values, rounded = dict.fromkeys(ours, 0.0), dict.fromkeys(ours, 0), 0
    for system, path in enumerate(files):
        with lzma.open(path, "rt") as file:
            run: Nested = pytrec_eval.parse_run(file)
        plain = evaluator.evaluate(run)
        exact = evaluator.evaluate(in_order(run))
        for compat, theirs in (("trec_eval-9", plain), ("trec_eval", exact)):
            found = list(differences(ours[compat], system, theirs))
            worst[compat] = max(worst[compat], *found)
            values[compat] += len(found)
        rounded += any(d > TOLERANCE for d in differences(ours["trec_eval"], system, plain))
    print(f"{qrels_file.parent.name}: {len(files)} runs, {len(ours['trec_eval'])} measures")
    for compat in ours:
        print(f"  {compat:<12} {values[compat]:>9,} values, largest difference {worst[compat]:.1e}")
    print(f"  runs in which 32-bit rounding of scores changes a value: {rounded}")
    return max(worst.values()) <= TOLERANCE


def official(folder: Path) -> bool:
    """Compare with the means on the official leaderboard, to 4 decimals."""
    board = pl.read_csv(folder / "leaderboard.csv")
    files = [folder / "runs" / f"{tag}.run.xz" for tag in board["tag"]]
    ev = cf.evaluate(
        dict(zip(board["tag"], files, strict=True)),
        folder / "qrels.covid-round5.txt.gz",
        ["P@20", "nDCG@20"],
        compat="trec_eval-9",
    )
    p, ndcg = (np.round(ev[name].mean(), 4) for name in ("P@20", "nDCG@20"))
    same = (p == board["P@20"].to_numpy()) & (ndcg == board["ndcg@20"].to_numpy())
    print(f"official P@20 and nDCG@20: {same.sum()} of {same.size} systems to 4 decimals")
    return bool(same.all())


def main() -> int:
    """Compare both collections."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore", cf.CranfieldWarning)
    trec8, covid = folder / "trec8-adhoc", folder / "trec-covid-r5"
    checks = [
        compare(covid / "qrels.covid-round5.txt.gz", sorted((covid / "runs").iterdir())),
        compare(trec8 / "qrels.trec8.adhoc.txt.gz", sorted((trec8 / "runs").iterdir())),
        official(covid),
    ]
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main())
