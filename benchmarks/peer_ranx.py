"""Score runs with ranx: `peer_ranx.py QRELS RUN...`.

Prints a line of run, measure and mean for each. The first use ever compiles the measures; the
benchmarks do that in an untimed run, as ranx keeps the compiled code.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ranx import Qrels, Run, evaluate

MEASURES = {
    "AP": "map",
    "P@10": "precision@10",
    "nDCG@10": "ndcg@10",
    "nDCG": "ndcg",
    "RR": "mrr",
    "R@100": "recall@100",
    "Bpref": "bpref",
}


def main(qrels_path: str, *run_paths: str) -> None:
    qrels = Qrels.from_file(qrels_path, kind="trec")
    for path in run_paths:
        run = Run.from_file(path, kind="trec")
        means = evaluate(qrels, run, list(MEASURES.values()))
        for measure, name in MEASURES.items():
            print(Path(path).stem, measure, repr(float(means[name])), sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
