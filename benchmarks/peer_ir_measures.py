"""Score runs with ir_measures: `peer_ir_measures.py QRELS RUN...`.

Prints a line of run, measure and mean for each. One evaluator serves all runs, so the judgments
are read and converted only once: the fastest way that the package offers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ir_measures
from ir_measures import AP, RR, Bpref, P, R, nDCG

API: Any = ir_measures
"""Only partly annotated; as `Any`, it passes the type checker whether it is installed or not."""

MEASURES = {
    "AP": AP,
    "P@10": P @ 10,
    "nDCG@10": nDCG @ 10,
    "nDCG": nDCG,
    "RR": RR,
    "R@100": R @ 100,
    "Bpref": Bpref,
}


def main(qrels_path: str, *run_paths: str) -> None:
    qrels = list(API.read_trec_qrels(qrels_path))
    evaluator = API.evaluator(list(MEASURES.values()), qrels)
    for path in run_paths:
        means = evaluator.calc_aggregate(API.read_trec_run(path))
        for measure, definition in MEASURES.items():
            print(Path(path).stem, measure, repr(float(means[definition])), sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
