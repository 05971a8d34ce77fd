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
from typing import TypeAlias

Table: TypeAlias = Sequence[Sequence[Fraction]]
Counts: TypeAlias = Sequence[Sequence[int]]
Pair: TypeAlias = tuple[int, int]
Extended: TypeAlias = Fraction | float
"""An exact number, or the float ``math.inf`` or ``-math.inf``."""


def mean(values: Sequence[Fraction], weights: Sequence[int]) -> Fraction:
    """Return the mean of values that are each repeated ``weight`` times."""
    total = sum((w * value for value, w in zip(values, weights, strict=True)), Fraction(0))
    return total / sum(weights)


def variance(values: Sequence[Fraction], weights: Sequence[int]) -> Fraction:
    """Return the sample variance of values that are each repeated ``weight`` times."""
    centre, n = mean(values, weights), sum(weights)
    return mean([(value - centre) ** 2 for value in values], weights) * n / (n - 1)


def differences(scores: Table, pair: Pair) -> list[Fraction]:
    return [row[pair[0]] - row[pair[1]] for row in scores]


def mean_difference(scores: Table, pair: Pair) -> Fraction:
    return mean(differences(scores, pair), [1] * len(scores))


def all_differences(scores: Table) -> list[list[Fraction]]:
    return [differences(scores, pair) for pair in combinations(range(len(scores[0])), 2)]


def pooled_variance(columns: list[list[Fraction]], weights: Sequence[int]) -> Fraction:
    """Return ``c``, the mean over all pairs of systems of the variances of their differences."""
    return sum((variance(column, weights) for column in columns), Fraction(0)) / len(columns)


def signed_square(difference: Fraction, alternative: str, c: Fraction, n: int) -> Extended:
    """Return ``T * |T|`` of a difference, turned so that large values speak for the alternative."""
    d = {"two-sided": abs(difference), "greater": difference, "less": -difference}[alternative]
    if c > 0:
        return d * abs(d) / (c / n)
    return Fraction(0) if d == 0 else math.copysign(math.inf, d)


def statistic_signed_squares(
    scores: Table, pairs: Sequence[Pair], alternative: str
) -> list[Extended]:
    n = len(scores)
    c = pooled_variance(all_differences(scores), [1] * n)
    return [signed_square(mean_difference(scores, pair), alternative, c, n) for pair in pairs]


def maximum_signed_squares(
    scores: Table, counts: Counts, pairs: Sequence[Pair], alternative: str
) -> list[Extended]:
    """Return the signed square of the maximum statistic of each resample.

    ``counts[b][t]`` is how often resample ``b`` draws topic ``t``. The maximum is over ``pairs``,
    the pooled variance of a resample over all pairs of systems.
    """
    n, columns, result = len(scores), all_differences(scores), list[Extended]()
    centred = []
    for pair in pairs:
        d = mean_difference(scores, pair)
        centred.append([difference - d for difference in differences(scores, pair)])
    for weights in counts:
        c_star = pooled_variance(columns, weights)
        away = (mean(column, weights) for column in centred)
        largest = max(signed_square(d, alternative, c_star, n) for d in away)
        result.append(largest if c_star > 0 else math.inf)
    return result


def outcome(
    scores: Table,
    counts: Counts,
    pairs: Sequence[Pair],
    alternative: str = "two-sided",
    alpha: Fraction = Fraction(5, 100),
) -> tuple[list[Fraction], list[tuple[float, float]]]:
    """Return the adjusted p-values and the simultaneous confidence intervals of the pairs.

    A p-value is (1 + the number of maxima of at least the statistic) / (1 + resamples). The
    half-width is ``sqrt(c / n)`` times the k-th largest maximum, k = floor(alpha (B + 1)); it may
    be negative if one-sided, and is infinite if k < 1 or if the maximum is.
    """
    maxima = sorted(maximum_signed_squares(scores, counts, pairs, alternative), reverse=True)
    pvalues = [
        Fraction(1 + sum(maximum >= statistic for maximum in maxima), len(counts) + 1)
        for statistic in statistic_signed_squares(scores, pairs, alternative)
    ]
    rank = math.floor(alpha * (len(counts) + 1))
    critical = maxima[rank - 1] if rank else math.inf
    if not isinstance(critical, Fraction):
        return pvalues, [(-math.inf, math.inf)] * len(pairs)
    signed = pooled_variance(all_differences(scores), [1] * len(scores)) / len(scores) * critical
    width = Fraction(math.copysign(math.sqrt(abs(signed)), signed))
    intervals = []
    for pair in pairs:
        d = mean_difference(scores, pair)
        low = -math.inf if alternative == "less" else float(d - width)
        high = math.inf if alternative == "greater" else float(d + width)
        intervals.append((low, high))
    return pvalues, intervals
