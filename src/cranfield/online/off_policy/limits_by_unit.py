"""Means whose terms belong together by unit, such as a user: errors, limits and a difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.checks import check_share, check_whole
from cranfield.base.streams import stream
from cranfield.significance.difference_by_error import t_limits
from cranfield.significance.options import MOST_RESAMPLES

DRAWN = 2**21
"""Numbers that are drawn at a time; it is part of what a seed means."""


SAME = 1e-12
"""Relative error below which values vary by rounding only."""


@dataclass(frozen=True)
class LimitsBy:
    """How limits are made: by Student's t without `resamples`, else by the bootstrap of units."""

    confidence: float = 0.95
    resamples: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_share("confidence", self.confidence)
        check_whole("resamples", self.resamples, 0, MOST_RESAMPLES)
        check_whole("the seed", self.seed, 0)

    @property
    def name(self) -> str:
        if not self.resamples:
            return "Student's t"
        return f"bootstrap, {self.resamples:,} samples, seed {self.seed}"


@dataclass(frozen=True, eq=False)
class Limited:
    """Two means and their difference, with standard errors and intervals; each of shape (3,).

    An interval is NaN if the mean is the same in all units.
    """

    estimate: Floats
    standard_error: Floats
    low: Floats
    high: Floats

    def notes(self, units: int, unit: str) -> list[str]:
        """Return why the policy, the log, or their difference has no interval."""
        if units < 2:
            return [f"one {unit} only: no interval can be computed"]
        names = np.array(["policy", "logged", "difference"])[
            np.isnan(self.low) & ~np.isnan(self.estimate)
        ]
        if not names.size:
            return []
        return [f"{', '.join(names)}: equal in all {unit}s: no interval can be computed"]


def two_means(
    totals: NDArray[Any], numbers: Floats, code: Indices, units: int, how: LimitsBy
) -> Limited:
    r"""Compare two ratios of sums, :math:`R = \sum_u t_u / \sum_u n_u`.

    By the delta method their variance is that of a sum over units of
    :math:`(t_u - R n_u) / \sum n`, which is that of a mean where each unit has n = 1.
    """
    sums = np.stack(
        [
            np.bincount(code, weights=part[:, k], minlength=units)
            for part in (totals, numbers)
            for k in (0, 1)
        ]
    )
    estimate = _with_difference(_ratio(sums.sum(axis=1)))
    if units < 2:
        nothing = np.full(3, np.nan)
        return Limited(estimate, nothing, nothing, nothing)
    below = sums[2:].sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = _with_difference((sums[:2] - estimate[:2, None] * sums[2:]) / below)
    error = np.sqrt(units / (units - 1) * (terms**2).sum(axis=1))
    same = error <= SAME * np.abs(estimate)
    if not how.resamples:
        low, high = t_limits(estimate, error, units - 1, how.confidence)
        return Limited(estimate, error, *(np.where(same, np.nan, end) for end in (low, high)))
    drawn = np.empty((how.resamples, 3))
    chances = np.full(units, 1 / units)
    for part, rows in enumerate(row_slices(how.resamples, units, DRAWN)):
        samples = drawn[rows]
        times = stream(how.seed, part).multinomial(units, chances, size=len(samples))
        samples[:] = _with_difference(_ratio(sums @ times.T.astype(np.float64))).T
    tail = (1 - how.confidence) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail], axis=0)
    return Limited(estimate, error, *(np.where(same, np.nan, end) for end in (low, high)))


def _ratio(sums: NDArray[Any]) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:2] / sums[2:])


def _with_difference(two: Floats) -> Floats:
    return np.concatenate([two, two[:1] - two[1:]])
