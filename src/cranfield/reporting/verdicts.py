"""What a comparison says of systems: words, and letters of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.significance.comparison.groups import shortened
from cranfield.significance.comparison.result import PairwiseComparison

BETTER, WORSE, SAME, DIFFERENT, NONE = (
    "better",
    "worse",
    "not different",
    "different, means equal",
    "not compared",
)
"""Of one system compared with another. A test that does not go by means may tell systems of the
same mean apart."""


def by_pair(comparison: PairwiseComparison) -> NDArray[Any]:
    """Say of each pair what the first system is, compared with the second.

    By the sign of the difference, whatever the test: the order of means, or of mean ranks.
    """
    sign = np.sign(comparison.difference) * (-1 if comparison.lower_is_better else 1)
    out = np.full(len(comparison), SAME, dtype=object)
    star = comparison.is_significant()
    out[star & (sign > 0)] = BETTER
    out[star & (sign < 0)] = WORSE
    out[star & (sign == 0)] = DIFFERENT
    out[np.isnan(comparison.adjusted_pvalues)] = NONE
    return out


def verdicts_of(comparison: PairwiseComparison) -> NDArray[Any]:
    """Say of each system what it is, compared with each other one."""
    count = len(comparison.systems)
    words = by_pair(comparison)
    out = np.full((count, count), NONE, dtype=object)
    out[comparison.first, comparison.second] = words
    mirrored = {BETTER: WORSE, WORSE: BETTER}
    out[comparison.second, comparison.first] = [mirrored.get(word, word) for word in words]
    return out


def against(comparison: PairwiseComparison, baseline: str | None = None) -> list[str]:
    """Say of each system what it is, compared with a baseline, the first by default.

    Nothing is said of baselines themselves.
    """
    base = baseline or comparison.baselines[0]
    chosen = comparison.second == comparison.systems.index(base)
    out = [""] * len(comparison.systems)
    for system, word in zip(comparison.first[chosen], by_pair(comparison)[chosen], strict=True):
        out[system] = SAME if word == NONE else word
    return out


def group_letters(comparison: PairwiseComparison) -> list[str] | None:
    """Return the letters of the groups of each system; None where there are no groups."""
    if comparison.baselines or comparison.alternative != "two-sided":
        return None
    groups = comparison.groups()
    return [shortened(groups[name]) for name in comparison.systems]
