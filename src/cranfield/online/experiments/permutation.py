"""Skewed metrics with unequal splits: when Welch's test is distorted, and a permutation test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from itertools import combinations
from math import comb

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.streams import stream
from cranfield.online.experiments.effects import Effects, Limits
from cranfield.online.experiments.metrics import Placed, arm_means
from cranfield.online.experiments.moments import Moments
from cranfield.significance.difference_by_error import fieller_limits, ratio
from cranfield.significance.resampling import as_integers, rank_of

RULE = 355
"""A mean of n units needs n > 355 times the squared skewness (Boos and Hughes-Oliver, 2000)."""

ENUMERATED = 50_000
"""Assignments that are all computed."""

SAME = 1e-12
"""Relative difference of statistics that differ by rounding only."""


def skewness(values: Floats) -> float:
    """Return the standardised third moment; 0 if nothing varies."""
    centred = values - values.mean()
    variance = float((centred**2).mean())
    return float((centred**3).mean() / variance**1.5) if variance > 0 else 0.0


@dataclass(frozen=True)
class Distortion:
    r"""Skewness of a difference of two means, and what it does to Welch's test.

    With skewness :math:`\gamma` of the units and n units in the variant, m in the control, the
    difference of the means has the skewness

    .. math:: A = \gamma \frac{1/n^2 - 1/m^2}{(1/n + 1/m)^{3/2}}

    which is 0 for equal splits. It is negligible below :math:`1/\sqrt{355}`: for one mean this is
    the rule n > 355 :math:`\gamma^2` (Boos and Hughes-Oliver, 2000; Kohavi et al., 2014).

    Attributes
    ----------
    skewness
        Skewness of the units of both variants together.
    of_difference
        A, the skewness of the difference of the means.
    """

    skewness: float
    of_difference: float

    @classmethod
    def of(cls, values: Floats, treated: Bools) -> Distortion:
        """Measure it for units and whether each is in the treatment."""
        n, m = float(treated.sum()), float((~treated).sum())
        found = skewness(values)
        return cls(found, found * (1 / n**2 - 1 / m**2) / (1 / n + 1 / m) ** 1.5)

    @property
    def matters(self) -> bool:
        """Whether the skewness of the difference exceeds what the rule allows."""
        return bool(abs(self.of_difference) * RULE**0.5 > 1)

    def tails(self, alpha: float) -> tuple[float, float]:
        r"""Return the probabilities that Welch's test rejects to the lower and the upper side.

        By the first term of the Edgeworth expansion of the studentised difference (Hall, 1992),
        :math:`\alpha/2 \pm A (2 z^2 + 1) \varphi(z) / 6`.

        >>> [round(p, 3) for p in Distortion(8.0, 0.4).tails(0.05)]
        [0.059, 0.0]
        """
        from scipy.special import ndtri

        z = float(ndtri(1 - alpha / 2))
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        moved = self.of_difference * (2 * z**2 + 1) * density / 6
        lower, upper = (float(np.clip(alpha / 2 + sign * moved, 0, 1)) for sign in (1, -1))
        return lower, upper


@dataclass(frozen=True, eq=False)
class Permuted:
    """Studentised differences of one metric under random reassignment of the units.

    The statistic is that of Welch's test, by the delta method for ratios. If the variants have the
    same distribution the test is exact; if only their means are the same it is right in the limit
    of many units (Janssen, 1997; Chung and Romano, 2013).
    """

    observed: float  # Statistic of the variants as assigned
    statistics: Floats  # Statistics of the permutations, in ascending order
    exact: bool = False  # Whether these are all other assignments, each once

    def tail(self, statistic: float, alternative: str) -> float:
        """Return the one-sided p-value of a statistic, (count + 1) / (B + 1)."""
        slack = SAME * abs(statistic)
        if alternative == "greater":
            reached = self.statistics >= statistic - slack
        else:
            reached = self.statistics <= statistic + slack
        return float((reached.sum() + 1) / (self.statistics.size + 1))

    def pvalue(self) -> float:
        """Return the two-sided p-value: twice the smaller tail."""
        tails = [self.tail(self.observed, side) for side in ("greater", "less")]
        return min(1.0, 2 * min(tails))

    def critical(self, level: float) -> tuple[float, float]:
        """Return the statistics beyond which the two-sided test at 1 - level rejects."""
        rank = int(rank_of((1 - level) / 2, self.statistics.size))
        if rank < 1:
            return -np.inf, np.inf
        return float(self.statistics[rank - 1]), float(self.statistics[-rank])

    def limits(self, effects: Effects, level: float) -> tuple[float, float]:
        """Return the interval of the difference: it excludes 0 where the test rejects."""
        low, high = self.critical(level)
        error = float(effects.error)
        return (self.observed - high) * error, (self.observed - low) * error

    def lift_limits(self, effects: Effects, level: float) -> tuple[float, float]:
        """Return the interval of the lift: the ratios that the test does not reject (Fieller)."""
        if effects.control == 0:
            return np.nan, np.nan
        low, high = self.critical(level)
        # The lower bound belongs to the upper critical value. One of the wrong sign takes the
        # other root.
        first, second = (self._ratios(effects, quantile) for quantile in (high, low))
        ends = first[0 if high >= 0 else 1], second[1 if low <= 0 else 0]
        return float(ends[0] - 1), float(ends[1] - 1)

    def _ratios(self, effects: Effects, quantile: float) -> Limits:
        squared = np.array(min(abs(quantile), 1e50) ** 2)
        own, other = effects.control_squared, effects.other_squared
        return fieller_limits(effects.control, effects.other, own, other, np.zeros(()), squared)


def permuted(
    columns: Floats,
    treated: Bools,
    metric: Placed,
    *,
    theta: str,
    whole: Moments | None,
    resamples: int,
    seed: int,
    key: int,
) -> Permuted:
    """Reassign units at random, with the same numbers in both variants, and compute the statistic.

    If there are at most 50,000 assignments, each of them is computed once. Sums are exact, so that
    a seed gives the same result on any processor.
    """
    places = sorted({0, metric.above, metric.below, *_covariate(metric)})
    if whole is not None:
        scatter = whole.scatter[np.ix_(places, places)]
        whole = Moments(whole.count, whole.mean[places], scatter)
    found = permuted_moments(columns[:, places], treated, resamples, stream(seed, key))
    local = Placed(*(one if one < 0 else places.index(one) for one in astuple(metric)))
    effects = Effects.of(arm_means(found, local, theta, whole), 0, 1)
    statistics = np.nan_to_num(
        ratio(effects.difference, effects.error), nan=0.0, posinf=np.inf, neginf=-np.inf
    )
    exact = comb(len(treated), int(treated.sum())) <= ENUMERATED
    return Permuted(float(statistics[0]), np.sort(statistics[1:]), exact)


def permuted_moments(
    columns: Floats, treated: Bools, resamples: int, random: np.random.Generator
) -> Moments:
    """Return the moments of control and treatment, as assigned and of each permutation.

    Shape (permutations + 1, 2).
    """
    units, width = columns.shape
    centre = columns.mean(axis=0)
    apart = columns - centre
    first, second = np.triu_indices(width)
    scaled = [as_integers(part, units) for part in (*apart.T, *(apart.T[first] * apart.T[second]))]
    features = np.stack([numbers for numbers, _ in scaled], axis=1)
    scale = np.array([one for _, one in scaled])
    # Only units of the smaller variant are drawn; the others follow from the total.
    swapped = treated.sum() * 2 > units
    few = ~treated if swapped else treated
    size = int(few.sum())
    if (number := comb(units, size)) <= ENUMERATED:
        places = np.fromiter(combinations(range(units), size), np.dtype((np.intp, size)), number)
        own = (places == np.flatnonzero(few)).all(axis=1)
        drawn: Iterable[Indices] = np.array_split(places[~own], number // 1000 + 1)
        resamples = number - 1
    else:
        choices = range(resamples)
        drawn = (random.choice(units, (1, size), replace=False, shuffle=False) for _ in choices)
    sums = np.empty((resamples + 1, features.shape[1]))
    sums[0] = features[few].sum(axis=0)
    done = 1
    for rows in drawn:
        sums[done : done + len(rows)] = features[rows].sum(axis=1)
        done += len(rows)
    pair = [features.sum(axis=0) - sums, sums]
    counts = [units - size, size]
    if swapped:
        pair, counts = pair[::-1], counts[::-1]
    both = np.stack(pair, axis=1) * scale
    count = np.broadcast_to(np.array(counts, dtype=np.float64), both.shape[:2])
    mean = both[..., :width] / count[..., None]
    scatter = np.empty((*count.shape, width, width))
    products = both[..., width:] - count[..., None] * mean[..., first] * mean[..., second]
    scatter[..., first, second] = scatter[..., second, first] = products
    return Moments(count, centre + mean, scatter)


def _covariate(metric: Placed) -> tuple[int, ...]:
    return () if metric.covariate < 0 else (metric.covariate, metric.covariate_below)
