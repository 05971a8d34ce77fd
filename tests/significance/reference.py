"""A naive reference implementation of the tests of significance, to check the fast ones against.

Nothing here is meant to be fast or general. Every test is a few plain loops that read like its
definition, it shares nothing with the library, and an exact p-value is a count over everything
that could have happened. The analyses of many systems are in ``reference_models``.

``x`` and ``y`` are the scores of two systems; the paired tests take them in the same order of
topics. ``greater`` is the alternative that ``x`` is greater than ``y``. A difference that is not
larger than 2^-44 times the largest score is rounding, and counts as exactly 0, everywhere: in
the differences, in ties, and in the deviations that make a variance.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Scores = NDArray[np.float64]
Alternative = Literal["two-sided", "greater", "less"]


# --- Rounding, ties, tails ------------------------------------------------------------------


def rounding(*samples: Iterable[float]) -> float:
    """Return the largest difference between these scores that is only rounding."""
    return 2.0**-44 * max((abs(float(v)) for sample in samples for v in sample), default=0.0)


def settle(value: float, noise: float) -> float:
    """Return the value, or exactly 0 when it is only rounding."""
    return 0.0 if abs(value) <= noise else float(value)


def differences(x: Scores, y: Scores) -> list[float]:
    noise = rounding(x, y)
    return [settle(float(a) - float(b), noise) for a, b in zip(x, y, strict=True)]


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def sum_of_squares(values: Sequence[float], noise: float) -> float:
    """Return the sum of the squared deviations from the mean."""
    centre = mean(values)
    return math.fsum(settle(v - centre, noise) ** 2 for v in values)


def mid_ranks(values: Sequence[float], noise: float) -> list[float]:
    """Return the rank of every value from 1, the smallest; tied values share their mean rank.

    A value is tied with the next larger one when the two differ by rounding only. Every rank is
    a whole or a half number, and sums of them are exact.
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    groups: list[list[int]] = []
    for place, i in enumerate(order):
        if place > 0 and values[i] - values[order[place - 1]] <= noise:
            groups[-1].append(i)
        else:
            groups.append([i])
    ranks = [0.0] * len(values)
    before = 0
    for group in groups:
        for i in group:
            ranks[i] = before + (len(group) + 1) / 2
        before += len(group)
    return ranks


def ties(ranks: Sequence[float]) -> float:
    """Return the sum of t^3 - t, where t is the number of values that share a rank."""
    return float(sum(t**3 - t for t in Counter(ranks).values()))


def counted_p(observed: float, possible: Sequence[float], alternative: Alternative) -> float:
    """Return the p-value of a statistic among its equally likely values."""
    at_most = sum(1 for value in possible if value <= observed)
    at_least = sum(1 for value in possible if value >= observed)
    if alternative == "greater":
        return at_least / len(possible)
    if alternative == "less":
        return at_most / len(possible)
    return min(1.0, 2 * min(at_most, at_least) / len(possible))


def reaches(value: float, target: float, scale: float = 1.0) -> bool:
    """Whether a value is at least the target, where equal to 1e-12 is equal."""
    return value >= target or math.isclose(value, target, rel_tol=1e-12, abs_tol=1e-12 * scale)


# --- Tests on signs and ranks ---------------------------------------------------------------


def sign(x: Scores, y: Scores, alternative: Alternative = "two-sided") -> tuple[int, float]:
    """Return the number of wins of x and the exact binomial p-value; zeros are dropped."""
    wins = sum(1 for d in differences(x, y) if d > 0)
    losses = sum(1 for d in differences(x, y) if d < 0)
    n = wins + losses
    at_most = sum(math.comb(n, w) for w in range(wins + 1))
    at_least = sum(math.comb(n, w) for w in range(wins, n + 1))
    if alternative == "greater":
        return wins, at_least / 2**n
    if alternative == "less":
        return wins, at_most / 2**n
    return wins, min(1.0, 2 * min(at_most, at_least) / 2**n)


def signed_rank(
    x: Scores, y: Scores, alternative: Alternative = "two-sided", exact: bool = True
) -> tuple[float, float]:
    """Return Wilcoxon's W+ and its p-value; zeros are dropped, ties have their mean rank."""
    kept = [d for d in differences(x, y) if d != 0]
    n = len(kept)
    if n == 0:
        return 0.0, 1.0
    ranks = mid_ranks([abs(d) for d in kept], rounding(x, y))
    w = math.fsum(rank for rank, d in zip(ranks, kept, strict=True) if d > 0)
    if exact:
        possible = []
        for positive in product([False, True], repeat=n):
            possible.append(sum(r for r, plus in zip(ranks, positive, strict=True) if plus))
        return w, counted_p(w, possible, alternative)
    variance = n * (n + 1) * (2 * n + 1) / 24 - ties(ranks) / 48
    z = (w - n * (n + 1) / 4) / math.sqrt(variance)
    if alternative == "greater":
        return w, float(stats.norm.sf(z))
    if alternative == "less":
        return w, float(stats.norm.cdf(z))
    return w, 2 * float(stats.norm.sf(abs(z)))


def rank_sum(
    x: Scores, y: Scores, alternative: Alternative = "two-sided", exact: bool = False
) -> tuple[float, float]:
    """Return the Mann-Whitney U of x, where a tie is half a win, and its p-value."""
    n, m = len(x), len(y)
    total = n + m
    ranks = mid_ranks([*map(float, x), *map(float, y)], rounding(x, y))
    u = 0.0
    for a in ranks[:n]:
        for b in ranks[n:]:
            u += 1.0 if a > b else 0.5 if a == b else 0.0
    if exact:
        possible = []
        for chosen in combinations(range(total), n):
            possible.append(sum(ranks[i] for i in chosen) - n * (n + 1) / 2)
        return u, counted_p(u, possible, alternative)
    if len(set(ranks)) == 1:
        return u, 1.0
    variance = n * m / 12 * (total + 1 - ties(ranks) / (total * (total - 1)))
    above = u - n * m / 2
    if alternative == "greater":
        p = float(stats.norm.sf((above - 0.5) / math.sqrt(variance)))
    elif alternative == "less":
        p = float(stats.norm.cdf((above + 0.5) / math.sqrt(variance)))
    else:
        p = 2 * float(stats.norm.sf((abs(above) - 0.5) / math.sqrt(variance)))
    return u, min(1.0, p)


# --- Tests of Student's t -------------------------------------------------------------------


def t_statistic(difference: float, squared_error: float, noise: float) -> float:
    """Return a difference over its standard error; of no error at all, 0 or an infinity."""
    if squared_error > 0:
        return difference / math.sqrt(squared_error)
    if settle(difference, noise) == 0:
        return 0.0
    return math.copysign(math.inf, difference)


def t_p(t: float, squared_error: float, df: float, alternative: Alternative) -> float:
    if squared_error == 0 and t == 0:
        return 1.0
    if alternative == "greater":
        return float(stats.t.sf(t, df))
    if alternative == "less":
        return float(stats.t.cdf(t, df))
    return 2 * float(stats.t.sf(abs(t), df))


def t_paired(
    x: Scores, y: Scores, alternative: Alternative = "two-sided"
) -> tuple[float, float, float]:
    """Return t, p and the degrees of freedom."""
    d = differences(x, y)
    n = len(d)
    noise = rounding(x, y)
    squared_error = sum_of_squares(d, noise) / (n - 1) / n
    t = t_statistic(mean(d), squared_error, noise)
    return t, t_p(t, squared_error, n - 1, alternative), float(n - 1)


def t_student(
    x: Scores, y: Scores, alternative: Alternative = "two-sided"
) -> tuple[float, float, float]:
    """Return t, p and the degrees of freedom, for two samples of one variance."""
    a, b = [*map(float, x)], [*map(float, y)]
    n, m = len(a), len(b)
    noise = rounding(x, y)
    df = float(n + m - 2)
    pooled = (sum_of_squares(a, noise) + sum_of_squares(b, noise)) / df
    squared_error = pooled * (1 / n + 1 / m)
    t = t_statistic(mean(a) - mean(b), squared_error, noise)
    return t, t_p(t, squared_error, df, alternative), df


def t_welch(
    x: Scores, y: Scores, alternative: Alternative = "two-sided"
) -> tuple[float, float, float]:
    """Return t, p and the degrees of freedom (of no variance, those of Student's test)."""
    a, b = [*map(float, x)], [*map(float, y)]
    n, m = len(a), len(b)
    noise = rounding(x, y)
    error_a = sum_of_squares(a, noise) / (n - 1) / n
    error_b = sum_of_squares(b, noise) / (m - 1) / m
    squared_error = error_a + error_b
    df = float(n + m - 2)
    if squared_error > 0:
        df = squared_error**2 / (error_a**2 / (n - 1) + error_b**2 / (m - 1))
    t = t_statistic(mean(a) - mean(b), squared_error, noise)
    return t, t_p(t, squared_error, df, alternative), df


# --- Randomisation and the bootstrap --------------------------------------------------------


def randomisation(
    x: Scores, y: Scores, alternative: Alternative = "two-sided"
) -> tuple[float, float]:
    """Return the sum of the differences, and its p-value among all the choices of their signs."""
    d = differences(x, y)
    observed = math.fsum(d)
    scale = math.fsum(abs(v) for v in d)
    extreme = 0
    for signs in product([1, -1], repeat=len(d)):
        flipped = math.fsum(s * v for s, v in zip(signs, d, strict=True))
        if alternative == "greater":
            extreme += reaches(flipped, observed, scale)
        elif alternative == "less":
            extreme += reaches(-flipped, -observed, scale)
        else:
            extreme += reaches(abs(flipped), abs(observed), scale)
    return observed, extreme / 2 ** len(d)


def studentised(z: Sequence[float], noise: float) -> float:
    n = len(z)
    return t_statistic(mean(z), sum_of_squares(z, noise) / (n - 1) / n, noise)


def bootstrap_paired(x: Scores, y: Scores, b: int, rng: np.random.Generator) -> float:
    """Return the p-value of Sakai's figures 11 and 12; the observed data are one more sample."""
    z = differences(x, y)
    n = len(z)
    noise = rounding(x, y)
    w = [settle(v - mean(z), noise) for v in z]
    target = abs(studentised(z, noise))
    count = 0
    for _ in range(b):
        sample = [w[j] for j in rng.integers(0, n, size=n)]
        count += reaches(abs(studentised(sample, noise)), target)
    return (count + 1) / (b + 1)


def bootstrap_unpaired(x: Scores, y: Scores, b: int, rng: np.random.Generator) -> float:
    """Return the p-value of Sakai's figures 13 and 14, where the statistic is the mean."""
    v = [*map(float, x), *map(float, y)]
    n = len(x)
    target = abs(mean(v[:n]) - mean(v[n:]))
    scale = max(abs(score) for score in v)
    count = 0
    for _ in range(b):
        sample = [v[j] for j in rng.integers(0, len(v), size=len(v))]
        count += reaches(abs(mean(sample[:n]) - mean(sample[n:])), target, scale)
    return (count + 1) / (b + 1)


# --- Adjustments of many p-values -----------------------------------------------------------


def by_size(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=lambda i: p_values[i])


def bonferroni(p_values: Sequence[float]) -> list[float]:
    return [min(1.0, len(p_values) * p) for p in p_values]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return, for the i-th smallest, the largest of (m - j + 1) p_j over j = 1..i."""
    m = len(p_values)
    order = by_size(p_values)
    adjusted = [0.0] * m
    for i in range(1, m + 1):
        steps = [(m - j + 1) * p_values[order[j - 1]] for j in range(1, i + 1)]
        adjusted[order[i - 1]] = min(1.0, max(steps))
    return adjusted


def bh(p_values: Sequence[float], factor: float = 1.0) -> list[float]:
    """Return, for the i-th smallest, the smallest of m p_j / j over j = i..m."""
    m = len(p_values)
    order = by_size(p_values)
    adjusted = [0.0] * m
    for i in range(1, m + 1):
        steps = [factor * m * p_values[order[j - 1]] / j for j in range(i, m + 1)]
        adjusted[order[i - 1]] = min(1.0, *steps)
    return adjusted


def by(p_values: Sequence[float]) -> list[float]:
    return bh(p_values, math.fsum(1 / j for j in range(1, len(p_values) + 1)))
