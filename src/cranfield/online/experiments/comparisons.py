"""Comparisons of variants: tests and intervals by the chosen options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_choice,
    check_share,
    check_whole,
    quoted,
)
from cranfield.base.shares import wilson
from cranfield.base.streams import stream
from cranfield.online.experiments.estimates import (
    LIFTS,
    Critical,
    Effects,
    Limits,
    Sequential,
    always_valid,
    half_width,
    percentiles,
    resampled_means,
    two_sided,
)
from cranfield.online.experiments.metrics import (
    THETAS,
    ArmMeans,
    Metric,
    Moments,
    Placed,
    arm_means,
    moments,
)
from cranfield.online.experiments.units import Units
from cranfield.significance.corrections.of_pvalues import adjusted
from cranfield.significance.differences import fieller_limits, ratio, t_limits, t_quantile
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


ERRORS = ("auto", "delta", "permutation", "bootstrap")
"""Tests of differences; `auto` is `delta`, or `permutation` if its error cannot be trusted."""

OEC = "OEC"


@dataclass(frozen=True)
class Options:
    """Options of :func:`analyse_experiment`, as it explains them."""

    theta: str
    lift: str
    errors: str
    correction: str
    alpha: float
    sequential: Sequential | None
    looks: Sequence[int] | None
    resamples: int
    draws: str
    seed: int

    def __post_init__(self) -> None:
        check_choice("lift", self.lift, LIFTS)
        check_choice("theta", self.theta, THETAS)
        check_choice("errors", self.errors, ERRORS)
        check_share("alpha", self.alpha)
        adjusted([], self.correction)
        if self.sequential is None and self.looks is not None:
            raise PolicyError("looks go with a sequential method, such as CS(tuned=5000)")
        if self.sequential is not None and self.errors in ("bootstrap", "permutation"):
            raise PolicyError(f"sequential cannot be combined with errors={self.errors!r}")

    def level(self, comparisons: int) -> float:
        """Return the confidence level of each of some comparisons."""
        return 1 - self.alpha / (max(1, comparisons) if self.correction == "bonferroni" else 1)


Pair = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Compared:
    """Intervals and p-values by metric and variant, and with a sequential method by look.

    tests: name of the test of each pair; permutations: those of the pairs that are tested so;
    distortions: what skewness does to Welch's test.
    """

    low: Floats
    high: Floats
    lift_low: Floats
    lift_high: Floats
    pvalues: Floats
    tests: dict[Pair, str]
    permutations: dict[Pair, Permuted]
    distortions: dict[Pair, Distortion]
    looks: pl.DataFrame | None = None


def compared(
    units: Units,
    arms: Mapping[str, ArmMeans],
    effects: Mapping[Pair, Effects],
    whole: Moments,
    options: Options,
) -> Compared:
    """Compare each variant with the control by the tests that were chosen."""
    shape = (len(arms), len(units.variants) - 1)
    level = options.level(len(effects))
    distortions = {}
    for name, other in effects:
        inside = (units.arm == 0) | (units.arm == other)
        values = units.columns[inside] @ arms[name].gradient[[0, other]].mean(axis=0)
        distortions[name, other] = Distortion.of(values, units.arm[inside] == other)
    tests = {
        pair: _test_of(pair, effects[pair], distortions[pair], units, options) for pair in effects
    }
    permutations = {
        pair: _permuted(units, pair, whole, options)
        for pair, test in tests.items()
        if test == "permutation"
    }
    tests |= {pair: "exact permutation" for pair, one in permutations.items() if one.exact}
    drawn = _bootstrapped(units, arms, level, options) if options.errors == "bootstrap" else {}
    looks, last = None, list[Floats]()
    if options.sequential is not None:
        looks, last = _looked(units, arms, options, options.sequential)
    rows = np.empty((len(effects), 5))
    for k, (pair, one) in enumerate(effects.items()):
        if pair in permutations:
            by = permutations[pair]
            rows[k] = (*by.limits(one, level), *by.lift_limits(one, level), by.pvalue())
        elif tests[pair] == "bootstrap":
            rows[k] = drawn[pair]
        else:
            critical: Critical = partial(t_quantile, level)
            if options.sequential is not None:
                critical = _constant(options.sequential, one, options.alpha)
            p = last[k] if last else one.pvalue()
            rows[k] = (*one.limits(critical), *one.lift_limits(critical, options.lift), p)
        # Neither method is valid for a few units.
        if one.is_few and tests[pair] in {"bootstrap", "always valid"}:
            rows[k] = np.nan
    low, high, lift_low, lift_high, pvalues = (part.reshape(shape) for part in rows.T)
    return Compared(
        low, high, lift_low, lift_high, pvalues, tests, permutations, distortions, looks
    )


def _test_of(
    pair: Pair, one: Effects, distortion: Distortion, units: Units, options: Options
) -> str:
    if options.sequential is not None:
        return "always valid"
    if one.error == 0:
        return "exact permutation" if one.difference else "delta"
    if options.errors == "bootstrap":
        return "bootstrap"
    # Permutations of an overall criterion would change what it is standardised by.
    unknown = bool(one.is_few | one.is_constant) or distortion.matters
    wanted = options.errors == "permutation" or (options.errors == "auto" and unknown)
    known = bool(np.isfinite(one.error)) and pair[0] in units.placed
    return "permutation" if wanted and known else "delta"


def _permuted(units: Units, pair: Pair, whole: Moments, options: Options) -> Permuted:
    name, other = pair
    inside = (units.arm == 0) | (units.arm == other)
    return permuted(
        units.columns[inside],
        units.arm[inside] == other,
        units.placed[name],
        theta=options.theta,
        whole=whole,
        resamples=options.resamples,
        seed=options.seed,
        key=other,
    )


def _constant(method: Sequential, one: Effects, alpha: float) -> Critical:
    width = half_width(method.ratio(one.error**2, one.count, alpha), alpha)
    return lambda df: np.broadcast_to(width, np.shape(df))


def not_worse(one: Effects, kind: Metric | None, by: Permuted | None, options: Options) -> float:
    """Return the one-sided p-value that the loss is smaller than the margin; NaN without one."""
    if kind is None or kind.margin is None:
        return np.nan
    good = kind.good or "up"
    tested = one.against(kind.margin, good)
    side = "greater" if good == "up" else "less"
    if by is not None:
        return by.tail(float(tested.statistic), side)
    if options.sequential is None:
        return float(tested.pvalue(side))
    seen = (tested.difference[None], tested.error[None], one.count)
    pvalue = always_valid(*seen, options.sequential, alpha=options.alpha)[2]
    # Two-sided: it holds for the side on which the difference is.
    return float(pvalue[0]) if (tested.difference > 0) == (good == "up") else 1.0


def _looked(
    units: Units, arms: Mapping[str, ArmMeans], options: Options, method: Sequential
) -> tuple[pl.DataFrame, list[Floats]]:
    """Compare variants at each look; return the table, and the p-values at the last one."""
    number, variants = len(units.arm), len(units.variants)
    at = _looks(options.looks, number)
    part = np.searchsorted(at, np.arange(number), side="right")
    whole = moments(units.columns, part * variants + units.arm, (at.size, variants)).so_far()
    rows, last = [], []
    for name, now in arms.items():
        # An overall criterion is standardised by all units: it is looked at in the end.
        alone = name not in units.placed
        one = now if alone else arm_means(whole, units.placed[name], options.theta)
        for other in range(1, variants):
            some = Effects.of(one, 0, other)
            difference, error = np.atleast_1d(some.difference), np.atleast_1d(some.error)
            total = np.atleast_1d(some.count)
            low, high, p = always_valid(difference, error, total, method, alpha=options.alpha)
            rows.append(
                pl.DataFrame(
                    {
                        "metric": name,
                        "variant": units.variants[other],
                        "units": at[-1:] if alone else at,
                        "difference": difference,
                        "low": low,
                        "high": high,
                        "p": p,
                    }
                )
            )
            last.append(p[-1])
    return pl.concat(rows), last


def _looks(asked: Sequence[int] | None, number: int) -> Indices:
    if asked is None:
        return np.array([number], dtype=np.intp)
    for one in (given := list(asked)):
        check_whole("a look", one, 1)
    if not given or given != sorted(set(given)):
        raise PolicyError("looks are ascending numbers of units, one at least")
    # Whoever came after the last look is looked at now.
    return np.unique([*(one for one in given if one < number), number]).astype(np.intp)


def _bootstrapped(
    units: Units, arms: Mapping[str, ArmMeans], level: float, options: Options
) -> dict[Pair, tuple[float, ...]]:
    """Return percentile intervals and p-values, with the coefficients of covariates held fixed."""
    drawn = resampled_means(
        units.columns,
        units.arm,
        len(units.variants),
        resamples=options.resamples,
        weights=options.draws,
        seed=options.seed,
    )
    found: dict[Pair, tuple[float, ...]] = {}
    for name, one in arms.items():
        values = one.at(drawn)
        for j in range(1, len(units.variants)):
            difference = values[j] - values[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                lifted = values[j] / values[0] - 1
            limits = (*percentiles(difference, level), *percentiles(lifted, level))
            found[name, j] = (*limits, two_sided(difference))
    return found


def overall(
    found: Moments,
    arms: Mapping[str, ArmMeans],
    kinds: Mapping[str, Metric],
    weights: Any,
) -> ArmMeans:
    """Sum up standardised metrics; their covariances follow from those of the columns."""
    if not isinstance(weights, Mapping) or not weights:
        raise PolicyError("an OEC is weights by metric")
    if OEC in kinds:
        raise PolicyError(f"a metric cannot be named {OEC} beside an overall criterion")
    gradient, factors = np.zeros_like(found.mean), dict[str, float]()
    for name, weight in weights.items():
        if name not in arms:
            raise PolicyError(f"the OEC weighs {quoted(name)}, which is no metric")
        if not (isinstance(weight, (int, float)) and np.isfinite(weight)):
            raise PolicyError(f"weight {quoted(weight)} of {quoted(name)} is no number")
        one = arms[name]
        deviation = float(np.sqrt(one.squared[0] * one.count[0]))
        if not deviation > 0:
            raise CranfieldError(f"{name} does not vary in the control: it cannot be standardised")
        factors[name] = weight / deviation * (-1 if kinds[name].good == "down" else 1)
        gradient = gradient + factors[name] * one.gradient

    def at(mean: Floats) -> Floats:
        return np.asarray(sum(factor * arms[name].at(mean) for name, factor in factors.items()))

    squared = np.einsum("...i,...ij,...j->...", gradient, found.covariance, gradient) / found.count
    return ArmMeans(at(found.mean), np.maximum(squared, 0.0), found.count, gradient, at)


def arm_limits(units: Units, arms: Mapping[str, ArmMeans], level: float) -> tuple[Floats, Floats]:
    """Return the interval of the mean of each variant: Wilson's for proportions, else Student's t.

    NaN for what is not a proportion and does not vary.
    """
    limits = []
    for name, one in arms.items():
        if name in units.placed and units.share(units.placed[name]):
            limits.append(wilson(one.value, one.count, t_quantile(level, np.inf)))
        else:
            error = np.where(one.squared > 0, np.sqrt(one.squared), np.nan)
            limits.append(t_limits(one.value, error, one.count - 1, level))
    low, high = zip(*limits, strict=True)
    return np.stack(low), np.stack(high)
