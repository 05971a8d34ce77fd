"""Score runs with pytrec_eval: `peer_pytrec_eval.py QRELS RUN...`.

Prints a line of run, measure and mean for each. Reads files with the parsers that the package
itself offers, as its users do.
"""

from __future__ import annotations

import sys
from math import fsum
from pathlib import Path

import pytrec_eval

MEASURES = {
    "AP": "map",
    "P@10": "P.10",
    "nDCG@10": "ndcg_cut.10",
    "nDCG": "ndcg",
    "RR": "recip_rank",
    "R@100": "recall.100",
    "Bpref": "bpref",
}


def means(scored: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the means over topics."""
    by_topic = list(scored.values())
    return {
        # Parameters are asked for with a dot and answered with an underscore.
        measure: fsum(values[name.replace(".", "_")] for values in by_topic) / len(by_topic)
        for measure, name in MEASURES.items()
    }


def main(qrels_path: str, *run_paths: str) -> None:
    with Path(qrels_path).open(encoding="utf-8") as file:
        qrels = pytrec_eval.parse_qrel(file)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES.values()))
    for path in map(Path, run_paths):
        with path.open(encoding="utf-8") as file:
            run = pytrec_eval.parse_run(file)
        for measure, mean in means(evaluator.evaluate(run)).items():
            print(path.stem, measure, repr(mean), sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
