"""Measure Type I error rates of tests whose rows come in clusters, such as the sessions of a user.

    python -m studies.clusters [--experiments 2000]

An experiment has clusters of 1 to 7 rows, each size equally likely, and no difference of means: the
difference of a row is a normal effect of its cluster plus a normal error, both of variance 1.
Printed are proportions of experiments that reject at .05: of the paired t-test of rows as if they
were independent; after `aggregate_clusters` of the paired t-test of rows of equal weight, of the
studentised bootstrap of the same (in a quarter of the experiments), and of the paired t-test of
means of clusters. A proportion of N experiments at .05 has a standard error of sqrt(.0475 / N).
"""

from __future__ import annotations

import numpy as np

import cranfield as cf
from cranfield.scores import Scores
from studies.common import run_main

TESTS = ("rows", "row weight", "row weight, bootstrap", "cluster means")


def rejections(number: int, clusters: int, with_bootstrap: bool) -> dict[str, bool]:
    """Return which tests reject in one experiment."""
    random = np.random.default_rng([clusters, number])
    sizes = random.integers(1, 8, clusters)
    labels = tuple(f"{k}-{i}" for k, size in enumerate(sizes) for i in range(size))
    difference = np.repeat(random.normal(size=clusters), sizes) + random.normal(size=len(labels))
    values = np.stack([difference, np.zeros(len(labels))], axis=1)
    rows = Scores(values, labels, ("new", "old"))
    cluster_of = dict(zip(labels, np.repeat(np.arange(clusters), sizes).astype(str), strict=True))
    by_row = cf.significance.aggregate_clusters(rows, cluster_of, weight="row")
    by_mean = cf.significance.aggregate_clusters(rows, cluster_of, weight="cluster")
    found = {
        "rows": cf.compare(rows, test="t"),
        "row weight": cf.compare(by_row, test="t"),
        "cluster means": cf.compare(by_mean, test="t"),
    }
    if with_bootstrap:
        found["row weight, bootstrap"] = cf.compare(
            by_row, test="bootstrap", resamples=999, seed=number
        )
    return {name: bool(one.adjusted_pvalues[0] <= one.alpha) for name, one in found.items()}


def main(*, clusters: tuple[int, ...] = (50, 15), experiments: int = 2000) -> None:
    print("clusters  " + "  ".join(TESTS))
    for count in clusters:
        rejected: dict[str, list[bool]] = {name: [] for name in TESTS}
        for number in range(experiments):
            for name, one in rejections(number, count, number % 4 == 0).items():
                rejected[name].append(one)
        rates = "  ".join(f"{np.mean(rejected[name]):.4f}" for name in TESTS)
        print(f"{count}  {rates}", flush=True)


if __name__ == "__main__":
    run_main(main)
