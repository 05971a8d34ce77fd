"""Measure how often intervals of effect sizes and of effect ratios contain the true value.

    python -m studies.effect_intervals [--samples 2000]

Scores of two systems are normal with variance 1, a correlation over topics, and a difference of
means, which is the true effect by `average` and `glass`. For the effect ratio of a reproduction,
both improvements are of normal scores with a correlation of .8 and effects of .75 and .625. A
coverage of .95 in N samples has a standard error of sqrt(.0475 / N).
"""

from __future__ import annotations

import numpy as np

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.scores import Scores
from studies.common import run_main

CORRELATIONS = (0.5, 0.8)
EFFECTS = (0.3, 1.0)


def drawn(random: np.random.Generator, topics: int, correlation: float, effect: float) -> Floats:
    """Draw scores of a baseline and a system that is better by the effect: [topic, system]."""
    common = random.normal(size=(topics, 1)) * correlation**0.5
    own = random.normal(size=(topics, 2)) * (1 - correlation) ** 0.5
    return np.asarray(common + own + [0.0, effect])


def coverage(topics: int, correlation: float, effect: float, samples: int) -> dict[str, float]:
    """Return the proportions of intervals of effect sizes that contain the effect."""
    held: dict[str, int] = {"average": 0, "glass": 0}
    labels = tuple(map(str, range(topics)))
    for number in range(samples):
        random = np.random.default_rng([topics, int(10 * correlation), int(10 * effect), number])
        values = drawn(random, topics, correlation, effect)
        scores = Scores(values[:, ::-1], labels, ("advanced", "baseline"))
        for kind in held:
            row = cf.significance.effect_sizes(scores, kind=kind).to_polars().row(0, named=True)
            held[kind] += row["low"] <= effect <= row["high"]
    return {kind: count / samples for kind, count in held.items()}


def ratio_coverage(topics: int, samples: int) -> float:
    """Return the proportion of intervals of the effect ratio that contain the true ratio."""
    original, reproduced = 0.75, 0.625
    labels = list(map(str, range(topics)))
    held = 0
    for number in range(samples):
        random = np.random.default_rng([topics, number])
        sides = []
        for effect in (original, reproduced):
            values = drawn(random, topics, 0.8, effect)
            names = ("baseline", "advanced")
            sides.append(
                {name: dict(zip(labels, values[:, k], strict=True)) for k, name in enumerate(names)}
            )
        row = cf.meta.reproduce_scores(*sides).summary().row(0, named=True)
        held += row["ER low"] <= reproduced / original <= row["ER high"]
    return held / samples


def main(*, samples: int = 2000) -> None:
    print("topics  correlation  effect  average  glass")
    for topics in (10, 20, 50):
        for correlation in CORRELATIONS:
            for effect in EFFECTS:
                rates = coverage(topics, correlation, effect, samples)
                cells = "  ".join(f"{rate:.4f}" for rate in rates.values())
                print(f"{topics}  {correlation}  {effect}  {cells}", flush=True)
    print("topics  effect ratio")
    for topics in (25, 50):
        print(f"{topics}  {ratio_coverage(topics, samples):.4f}", flush=True)


if __name__ == "__main__":
    run_main(main)
