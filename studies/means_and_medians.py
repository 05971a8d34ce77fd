"""How often do tests of two systems with equal means call them different?

    python -m studies.means_and_medians SCORES [SCORES ...]

SCORES are tables of scores by topic and system that `cf.read_scores` reads; `trec-covid` is the
bundled collection by nDCG@20. Pairs of systems are chosen at random, their differences are moved so
that their mean is 0, and topics are drawn from them with replacement. Prints, in Markdown, the
share of samples that are significant at .05: the mean over pairs, and the largest of nine in ten.
"""

from __future__ import annotations

import numpy as np

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.streams import make_stream
from cranfield.significance.differences import Pairs
from cranfield.significance.registry import TestOptions, find_test
from studies.common import print_head, print_row, run_main

SEED, ALPHA = 20261122, 0.05
TOPICS, PAIRS, SAMPLES = 50, 200, 1000
TESTS = ("t", "signed-rank", "sign")


def scores_of(name: str) -> Floats:
    """Read scores, or score the bundled collection."""
    if name != "trec-covid":
        return cf.read_scores(name).values
    covid = cf.bundled.trec_covid()
    return cf.evaluate(covid.runs, covid.qrels, "nDCG@20")["nDCG@20"].values


def rates(values: Floats, pair: int) -> list[float]:
    """Return the share of significant samples of a random pair, by test."""
    random = make_stream(SEED, pair)
    first, second = random.choice(values.shape[1], 2, replace=False)
    differences = values[:, first] - values[:, second]
    drawn = random.choice(differences - differences.mean(), (TOPICS, SAMPLES))
    nothing = np.zeros((TOPICS, 1))
    pairs = Pairs(
        np.hstack([drawn, nothing]), np.arange(SAMPLES), np.full(SAMPLES, SAMPLES, dtype=np.intp)
    )
    options = TestOptions()
    return [float((find_test(test).run(pairs, options).pvalue <= ALPHA).mean()) for test in TESTS]


def main(scores: tuple[str, ...]) -> None:
    """Simulate all pairs and print the table."""
    print_head("scores", *TESTS)
    for name in scores:
        values = scores_of(name)
        found = np.array([rates(values, pair) for pair in range(PAIRS)])
        cells = zip(found.mean(axis=0), np.quantile(found, 0.9, axis=0), strict=True)
        print_row(name, *(f"{one:.3f} / {most:.3f}" for one, most in cells))


if __name__ == "__main__":
    run_main(main)
