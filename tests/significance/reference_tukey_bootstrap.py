"""Reference implementation (oracle) of the pooled-variance studentised bootstrap maximum test.

Scores ``x[t][s]`` of ``n`` topics and ``m`` systems are compared pairwise.  The statistic of a
pair is its mean difference over ``sqrt(c / n)``, where ``c`` is the mean over *all* pairs of
systems of the sample variances of the differences.  The p-values are adjusted by the bootstrap
distribution of the maximum of the statistics over a *family* of pairs.

Everything that is compared is an exact ``fractions.Fraction``.  Square roots are avoided by
replacing each statistic ``z`` by its signed square ``z * |z|``, which is strictly increasing in
``z``, so that every comparison (and every tie) is decided exactly.  The code is plain loops: it is
meant to be obviously correct, not fast.

Conventions
-----------
* A pair is ``(first, second)``; its differences are ``x[t][first] - x[t][second]``.
* The maximum of a resample with ``c* = 0`` is ``math.inf``, whatever its numerator: it counts
  towards every p-value, and as infinite towards the critical value.  No resample is discarded.
* If ``c = 0``, the statistic is 0 for a zero mean difference, else infinite (with the sign of the
  oriented difference).  Each resample then has ``c* = 0``, hence every p-value is 1.
* Float scores are taken at their exact binary value; a float ``alpha`` is taken as the decimal
  number it is written as (``0.15`` is 15/100), so ``floor(alpha * (B + 1))`` has no rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral
from typing import Literal, TypeAlias

Number: TypeAlias = int | float | Fraction
Extended: TypeAlias = Fraction | float
"""An exact rational number, or the float ``math.inf`` or ``-math.inf`` (no other float)."""

Pair: TypeAlias = tuple[int, int]
Alternative: TypeAlias = Literal["two-sided", "greater", "less"]


def to_fraction(value: Number) -> Fraction:
    """Return the exact value of a number.

    Parameters
    ----------
    value : int, float or Fraction
        A finite number; NumPy integers and floats are accepted as well.

    Returns
    -------
    Fraction
        The exact value; for a float, its binary value.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Integral):
        return Fraction(int(value))
    return Fraction(float(value))


def level_to_fraction(alpha: Number) -> Fraction:
    """Return the significance level as a fraction.

    Parameters
    ----------
    alpha : int, float or Fraction
        The level, strictly between 0 and 1; a float stands for its shortest decimal notation.

    Returns
    -------
    Fraction
        The level.

    Raises
    ------
    ValueError
        If the level is not strictly between 0 and 1.
    """
    level = alpha if isinstance(alpha, Fraction) else Fraction(repr(float(alpha)))
    if not 0 < level < 1:
        raise ValueError("alpha must be strictly between 0 and 1")
    return level


def all_pairs(n_systems: int) -> list[Pair]:
    """Return all pairs ``(i, j)`` of systems with ``i < j``, in lexicographic order.

    Parameters
    ----------
    n_systems : int
        The number of systems.

    Returns
    -------
    list of tuple of int
        The pairs.
    """
    pairs: list[Pair] = []
    for first in range(n_systems):
        for second in range(first + 1, n_systems):
            pairs.append((first, second))
    return pairs


def differences(scores: Sequence[Sequence[Number]], pair: Pair) -> list[Fraction]:
    """Return the differences of a pair, topic by topic.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.
    pair : tuple of int
        The systems ``(first, second)``.

    Returns
    -------
    list of Fraction
        ``scores[t][first] - scores[t][second]`` for each topic.
    """
    first, second = pair
    result: list[Fraction] = []
    for row in scores:
        result.append(to_fraction(row[first]) - to_fraction(row[second]))
    return result


def weighted_mean(values: Sequence[Fraction], weights: Sequence[int]) -> Fraction:
    """Return the mean of values that are each repeated ``weight`` times.

    Parameters
    ----------
    values : sequence of Fraction
        The values.
    weights : sequence of int
        How often each value occurs.

    Returns
    -------
    Fraction
        The mean.
    """
    total = Fraction(0)
    size = 0
    for value, weight in zip(values, weights, strict=True):
        total += weight * value
        size += weight
    return total / size


def weighted_variance(values: Sequence[Fraction], weights: Sequence[int]) -> Fraction:
    """Return the sample variance of values that are each repeated ``weight`` times.

    Parameters
    ----------
    values : sequence of Fraction
        The values.
    weights : sequence of int
        How often each value occurs.

    Returns
    -------
    Fraction
        The sum of the squared deviations from the weighted mean, over the sum of weights minus 1.
    """
    mean = weighted_mean(values, weights)
    total = Fraction(0)
    size = 0
    for value, weight in zip(values, weights, strict=True):
        total += weight * (value - mean) ** 2
        size += weight
    return total / (size - 1)


def mean_difference(scores: Sequence[Sequence[Number]], pair: Pair) -> Fraction:
    """Return the mean difference of a pair.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.
    pair : tuple of int
        The systems ``(first, second)``.

    Returns
    -------
    Fraction
        The mean over the topics of first minus second.
    """
    return weighted_mean(differences(scores, pair), [1] * len(scores))


def pooled_variance(scores: Sequence[Sequence[Number]]) -> Fraction:
    """Return ``c``, the mean over all pairs of systems of the variances of their differences.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.

    Returns
    -------
    Fraction
        The pooled variance.
    """
    pairs = all_pairs(len(scores[0]))
    total = Fraction(0)
    for pair in pairs:
        total += weighted_variance(differences(scores, pair), [1] * len(scores))
    return total / len(pairs)


def oriented(value: Fraction, alternative: Alternative) -> Fraction:
    """Return a difference such that large values speak for the alternative.

    Parameters
    ----------
    value : Fraction
        A (mean) difference.
    alternative : {"two-sided", "greater", "less"}
        The alternative.

    Returns
    -------
    Fraction
        The absolute value, the value, or its negative, respectively.

    Raises
    ------
    ValueError
        If the alternative is unknown.
    """
    if alternative == "two-sided":
        return abs(value)
    if alternative == "greater":
        return value
    if alternative == "less":
        return -value
    raise ValueError(f"unknown alternative: {alternative!r}")


def signed_square(value: Fraction) -> Fraction:
    """Return ``value * |value|``, which is strictly increasing in ``value``.

    Parameters
    ----------
    value : Fraction
        A number.

    Returns
    -------
    Fraction
        The square with the sign of the number.
    """
    return value * abs(value)


def check_input(
    scores: Sequence[Sequence[Number]], counts: Sequence[Sequence[int]], pairs: Sequence[Pair]
) -> None:
    """Check the shapes of the input.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.
    counts : sequence of sequences of int
        ``counts[b][t]``, how often resample ``b`` draws topic ``t``.
    pairs : sequence of tuple of int
        The family of pairs.

    Raises
    ------
    ValueError
        If there are fewer than two topics or systems, or no pairs; if a row has a wrong length; if
        a count is negative or a resample does not sum to the number of topics; if a pair does not
        name two different systems.
    """
    n_topics = len(scores)
    if n_topics < 2 or len(scores[0]) < 2:
        raise ValueError("at least two topics and two systems are needed")
    n_systems = len(scores[0])
    for row in scores:
        if len(row) != n_systems:
            raise ValueError("all topics need the same number of systems")
    for resample in counts:
        if len(resample) != n_topics or min(resample) < 0 or sum(resample) != n_topics:
            raise ValueError("counts must be non-negative and sum to the number of topics")
    if len(pairs) == 0:
        raise ValueError("the family has no pairs")
    for first, second in pairs:
        if first == second or not (0 <= first < n_systems and 0 <= second < n_systems):
            raise ValueError("a pair must name two different systems")


def statistic_signed_squares(
    scores: Sequence[Sequence[Number]], pairs: Sequence[Pair], alternative: Alternative
) -> list[Extended]:
    """Return the signed squares ``T * |T|`` of the statistics of the pairs.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.
    pairs : sequence of tuple of int
        The family of pairs.
    alternative : {"two-sided", "greater", "less"}
        The alternative.

    Returns
    -------
    list of Fraction or float
        For each pair, the signed square; if ``c`` is 0, then 0, ``math.inf`` or ``-math.inf``.
    """
    n_topics = len(scores)
    c = pooled_variance(scores)
    result: list[Extended] = []
    for pair in pairs:
        d = oriented(mean_difference(scores, pair), alternative)
        if c > 0:
            result.append(signed_square(d) / (c / n_topics))
        elif d == 0:
            result.append(Fraction(0))
        else:
            result.append(math.inf if d > 0 else -math.inf)
    return result


def maximum_signed_squares(
    scores: Sequence[Sequence[Number]],
    counts: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    alternative: Alternative,
) -> list[Extended]:
    """Return the signed square of the maximum statistic of each resample.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.
    counts : sequence of sequences of int
        ``counts[b][t]``, how often resample ``b`` draws topic ``t``.
    pairs : sequence of tuple of int
        The family of pairs; the maximum is over these, ``c*`` over all pairs of systems.
    alternative : {"two-sided", "greater", "less"}
        The alternative.

    Returns
    -------
    list of Fraction or float
        For each resample, the signed square of the maximum; ``math.inf`` if ``c*`` is 0.
    """
    n_topics = len(scores)
    every_pair = all_pairs(len(scores[0]))
    centred: dict[Pair, list[Fraction]] = {}
    for pair in [*every_pair, *pairs]:
        d = mean_difference(scores, pair)
        centred[pair] = [difference - d for difference in differences(scores, pair)]
    result: list[Extended] = []
    for resample in counts:
        weights = [int(count) for count in resample]
        total = Fraction(0)
        for pair in every_pair:
            total += weighted_variance(centred[pair], weights)
        c_star = total / len(every_pair)
        numerators: list[Fraction] = []
        for pair in pairs:
            numerators.append(oriented(weighted_mean(centred[pair], weights), alternative))
        if c_star > 0:
            result.append(signed_square(max(numerators)) / (c_star / n_topics))
        else:
            result.append(math.inf)
    return result


def adjusted_pvalues(
    scores: Sequence[Sequence[Number]],
    counts: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    alternative: Alternative = "two-sided",
) -> list[Fraction]:
    """Return the adjusted p-values of the pairs.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.
    counts : sequence of sequences of int
        ``counts[b][t]``, how often resample ``b`` draws topic ``t``.
    pairs : sequence of tuple of int
        The family of pairs.
    alternative : {"two-sided", "greater", "less"}
        The alternative.

    Returns
    -------
    list of Fraction
        For each pair, one plus the number of resamples whose maximum is at least the pair's
        statistic, over one plus the number of resamples.
    """
    check_input(scores, counts, pairs)
    maxima = maximum_signed_squares(scores, counts, pairs, alternative)
    result: list[Fraction] = []
    for statistic in statistic_signed_squares(scores, pairs, alternative):
        at_least = 0
        for maximum in maxima:
            if maximum >= statistic:
                at_least += 1
        result.append(Fraction(1 + at_least, len(counts) + 1))
    return result


def critical_signed_square(
    scores: Sequence[Sequence[Number]],
    counts: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    alternative: Alternative = "two-sided",
    alpha: Number = 0.05,
) -> Extended:
    """Return the signed square of the critical value.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.
    counts : sequence of sequences of int
        ``counts[b][t]``, how often resample ``b`` draws topic ``t``.
    pairs : sequence of tuple of int
        The family of pairs.
    alternative : {"two-sided", "greater", "less"}
        The alternative.
    alpha : int, float or Fraction
        The significance level.

    Returns
    -------
    Fraction or float
        ``q * |q|`` for the k-th largest maximum ``q`` with ``k = floor(alpha * (B + 1))``, which
        may be negative if one-sided; ``math.inf`` if ``k < 1`` or if ``c*`` is 0 for that resample.
    """
    check_input(scores, counts, pairs)
    rank = math.floor(level_to_fraction(alpha) * (len(counts) + 1))
    if rank < 1:
        return math.inf
    maxima = maximum_signed_squares(scores, counts, pairs, alternative)
    return sorted(maxima, reverse=True)[rank - 1]


def significant(
    scores: Sequence[Sequence[Number]],
    counts: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    alternative: Alternative = "two-sided",
    alpha: Number = 0.05,
) -> list[bool]:
    """Return whether each pair's adjusted p-value is at most the level.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.
    counts : sequence of sequences of int
        ``counts[b][t]``, how often resample ``b`` draws topic ``t``.
    pairs : sequence of tuple of int
        The family of pairs.
    alternative : {"two-sided", "greater", "less"}
        The alternative.
    alpha : int, float or Fraction
        The significance level.

    Returns
    -------
    list of bool
        For each pair, ``p <= alpha``.
    """
    level = level_to_fraction(alpha)
    return [p <= level for p in adjusted_pvalues(scores, counts, pairs, alternative)]


def half_width(
    scores: Sequence[Sequence[Number]],
    counts: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    alternative: Alternative = "two-sided",
    alpha: Number = 0.05,
) -> float:
    """Return the half-width of the simultaneous intervals, ``sqrt(c / n)`` times critical value.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.
    counts : sequence of sequences of int
        ``counts[b][t]``, how often resample ``b`` draws topic ``t``.
    pairs : sequence of tuple of int
        The family of pairs.
    alternative : {"two-sided", "greater", "less"}
        The alternative.
    alpha : int, float or Fraction
        The significance level.

    Returns
    -------
    float
        The half-width; negative if the (one-sided) critical value is; infinite if the critical
        value is, even if ``c`` is 0 (where the product is undefined and every p-value is 1).
    """
    critical = critical_signed_square(scores, counts, pairs, alternative, alpha)
    if not isinstance(critical, Fraction):
        return math.inf
    signed = pooled_variance(scores) / len(scores) * critical
    return math.copysign(math.sqrt(abs(signed)), signed)


def intervals(
    scores: Sequence[Sequence[Number]],
    counts: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    alternative: Alternative = "two-sided",
    alpha: Number = 0.05,
) -> list[tuple[float, float]]:
    """Return the simultaneous confidence intervals of the mean differences.

    Parameters
    ----------
    scores : sequence of sequences of numbers
        ``scores[t][s]``, the score of system ``s`` on topic ``t``.
    counts : sequence of sequences of int
        ``counts[b][t]``, how often resample ``b`` draws topic ``t``.
    pairs : sequence of tuple of int
        The family of pairs.
    alternative : {"two-sided", "greater", "less"}
        The alternative.
    alpha : int, float or Fraction
        The significance level.

    Returns
    -------
    list of tuple of float
        For each pair, with mean difference ``d`` and half-width ``h``: ``(d - h, d + h)``,
        ``(d - h, inf)`` for "greater" and ``(-inf, d + h)`` for "less".
    """
    width = half_width(scores, counts, pairs, alternative, alpha)
    result: list[tuple[float, float]] = []
    for pair in pairs:
        low, high = -math.inf, math.inf
        if math.isfinite(width):
            d = mean_difference(scores, pair)
            if alternative != "less":
                low = float(d - Fraction(width))
            if alternative != "greater":
                high = float(d + Fraction(width))
        result.append((low, high))
    return result
