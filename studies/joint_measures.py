"""Measure the family-wise error rate of comparisons by several measures together.

    python -m studies.joint_measures [--systems 10] [--topics 25 50] [--experiments 2000]

An experiment draws systems with neighbouring means from the bundled TREC-COVID runs, makes their
means equal by each measure, draws topics with replacement, the same for all measures, and compares
all pairs by all measures. Printed is the proportion of experiments with any significant difference.
A proportion of N experiments at .05 has a standard error of sqrt(.0475 / N).
"""

from __future__ import annotations

import numpy as np

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.scores import Scores
from cranfield.significance import compare_measures
from studies.common import run_main

MEASURES = ("AP", "P@10", "RR", "nDCG@10")


def error_rate(
    populations: dict[str, Floats], systems: int, topics: int, experiments: int, resamples: int
) -> float:
    """Return the proportion of experiments with a false positive; scores are [topic, system]."""
    last = populations[MEASURES[-1]]
    order = np.argsort(-last.mean(axis=0), kind="stable")
    names = tuple(f"s{k}" for k in range(systems))
    labels = tuple(f"t{k}" for k in range(topics))
    errors = 0
    for number in range(experiments):
        random = np.random.default_rng([systems, topics, number])
        start = random.integers(order.size - systems + 1)
        chosen = order[start : start + systems]
        rows = random.integers(len(last), size=topics)
        scores = {}
        for measure, values in populations.items():
            centred = values[:, chosen] - values[:, chosen].mean(axis=0)
            scores[measure] = Scores(centred[rows], labels, names)
        comparison = compare_measures(scores, resamples=resamples, seed=number)
        errors += bool((comparison.pvalues <= comparison.alpha).any())
    return errors / experiments


def main(
    *,
    systems: int = 10,
    topics: tuple[int, ...] = (25, 50),
    experiments: int = 2000,
    resamples: int = 999,
) -> None:
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs, covid.qrels, list(MEASURES))
    populations = {measure: np.asarray(ev[measure].values) for measure in MEASURES}
    print("topics  family-wise error rate")
    for size in topics:
        rate = error_rate(populations, systems, size, experiments, resamples)
        print(f"{size}  {rate:.4f}", flush=True)


if __name__ == "__main__":
    run_main(main)
