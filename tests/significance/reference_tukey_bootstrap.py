"""The studentised bootstrap maximum test with one pooled variance, in exact arithmetic.

Scores ``x[t][s]`` of ``n`` topics and ``m`` systems are compared pairwise. The statistic of a pair
is its mean difference over ``sqrt(c / n)``, where ``c`` is the mean over all pairs of systems of
the sample variances of the differences. P-values are adjusted by the bootstrap distribution of
the maximum of the statistics over a family of pairs.

Every number is a ``fractions.Fraction``. Instead of each statistic ``z`` its signed square
``z * |z|`` is compared, which rises with ``z``, so that no comparison and no tie is a matter of
rounding. A resample with ``c* = 0`` has an infinite maximum; no resample is discarded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Literal, TypeAlias

Table: TypeAlias = Sequence[Sequence[Fraction]]
Counts: TypeAlias = Sequence[Sequence[int]]
Pair: TypeAlias = tuple[int, int]
Alternative: TypeAlias = Literal["two-sided", "greater", "less"]
Extended: TypeAlias = Fraction | float
"""An exact number, or the float ``math.inf`` or ``-math.inf``."""


def differences(scores: Table, pair: Pair) -> list[Fraction]:
    return [row[pair[0]] - row[pair[1]] for row in scores]


def weighted_mean(values: Sequence[Fraction], weights: Sequence[int]) -> Fraction:
    """Return the mean of values that are each repeated ``weight`` times."""
    total = Fraction(0)
    for value, weight in zip(values, weights, strict=True):
        total += weight * value
    return total / sum(weights)


def weighted_variance(values: Sequence[Fraction], weights: Sequence[int]) -> Fraction:
    """Return the sample variance of values that are each repeated ``weight`` times."""
    mean = weighted_mean(values, weights)
    total = Fraction(0)
    for value, weight in zip(values, weights, strict=True):
        total += weight * (value - mean) ** 2
    return total / (sum(weights) - 1)


def mean_difference(scores: Table, pair: Pair) -> Fraction:
    return weighted_mean(differences(scores, pair), [1] * len(scores))


def pooled_variance(scores: Table) -> Fraction:
    """Return ``c``, the mean over all pairs of systems of the variances of their differences."""
    pairs = list(combinations(range(len(scores[0])), 2))
    once = [1] * len(scores)
    return sum(
        (weighted_variance(differences(scores, pair), once) for pair in pairs), Fraction(0)
    ) / len(pairs)


def oriented(value: Fraction, alternative: Alternative) -> Fraction:
    """Return a difference such that large values speak for the alternative."""
    return {"two-sided": abs(value), "greater": value, "less": -value}[alternative]


def signed_square(value: Fraction) -> Fraction:
    return value * abs(value)


def statistic_signed_squares(
    scores: Table, pairs: Sequence[Pair], alternative: Alternative
) -> list[Extended]:
    """Return ``T * |T|`` of each pair; if ``c`` is 0, then 0, ``math.inf`` or ``-math.inf``."""
    c = pooled_variance(scores)
    result: list[Extended] = []
    for pair in pairs:
        d = oriented(mean_difference(scores, pair), alternative)
        if c > 0:
            result.append(signed_square(d) / (c / len(scores)))
        elif d == 0:
            result.append(Fraction(0))
        else:
            result.append(math.inf if d > 0 else -math.inf)
    return result


def maximum_signed_squares(
    scores: Table, counts: Counts, pairs: Sequence[Pair], alternative: Alternative
) -> list[Extended]:
    """Return the signed square of the maximum statistic of each resample.

    ``counts[b][t]`` is how often resample ``b`` draws topic ``t``. The maximum is over ``pairs``,
    the pooled variance of a resample over all pairs of systems.
    """
    every_pair = list(combinations(range(len(scores[0])), 2))
    centred: dict[Pair, list[Fraction]] = {}
    for pair in [*every_pair, *pairs]:
        d = mean_difference(scores, pair)
        centred[pair] = [difference - d for difference in differences(scores, pair)]
    result: list[Extended] = []
    for weights in counts:
        total = Fraction(0)
        for pair in every_pair:
            total += weighted_variance(centred[pair], weights)
        c_star = total / len(every_pair)
        largest = max(oriented(weighted_mean(centred[p], weights), alternative) for p in pairs)
        if c_star > 0:
            result.append(signed_square(largest) / (c_star / len(scores)))
        else:
            result.append(math.inf)
    return result


def outcome(
    scores: Table,
    counts: Counts,
    pairs: Sequence[Pair],
    alternative: Alternative = "two-sided",
    alpha: Fraction = Fraction(5, 100),
) -> tuple[list[Fraction], list[tuple[float, float]]]:
    """Return the adjusted p-values and the simultaneous confidence intervals of the pairs.

    A p-value is (1 + the number of maxima of at least the statistic) / (1 + resamples). The
    half-width is ``sqrt(c / n)`` times the k-th largest maximum, k = floor(alpha (B + 1)); it may
    be negative if one-sided, and is infinite if k < 1 or if the maximum is.
    """
    maxima = sorted(maximum_signed_squares(scores, counts, pairs, alternative), reverse=True)
    pvalues = []
    for statistic in statistic_signed_squares(scores, pairs, alternative):
        at_least = sum(maximum >= statistic for maximum in maxima)
        pvalues.append(Fraction(1 + at_least, len(counts) + 1))
    rank = math.floor(alpha * (len(counts) + 1))
    critical = maxima[rank - 1] if rank else math.inf
    if not isinstance(critical, Fraction):
        return pvalues, [(-math.inf, math.inf)] * len(pairs)
    signed = pooled_variance(scores) / len(scores) * critical
    width = Fraction(math.copysign(math.sqrt(abs(signed)), signed))
    intervals = []
    for pair in pairs:
        d = mean_difference(scores, pair)
        low = -math.inf if alternative == "less" else float(d - width)
        high = math.inf if alternative == "greater" else float(d + width)
        intervals.append((low, high))
    return pvalues, intervals
