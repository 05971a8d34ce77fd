"""A naive reference implementation of the analyses of many systems; see ``reference``.

``values`` has a row for every topic and a column for every system. A difference that is not
larger than 2^-44 times the largest score of them all counts as exactly 0.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special, stats

from tests.significance.reference import Scores, mean, mid_ranks, reaches, rounding, settle, ties


class Effect(NamedTuple):
    """One line of a table of an analysis of variance; the error has no F, p and omega2."""

    ss: float
    df: int
    ms: float
    f: float
    p: float
    omega2: float


class MeanRanks(NamedTuple):
    """The comparison of all the pairs of systems by their mean ranks."""

    ranks: Scores
    variance: float
    q: Scores
    p: Scores


def scores_of(values: Scores) -> list[float]:
    return [float(v) for v in values.ravel() if not math.isnan(v)]


def tukey_p(q: float, k: int, df: float) -> float:
    """Return the upper tail of the studentised range of k means."""
    if q == math.inf:
        return 0.0
    return float(stats.studentized_range.sf(q, k, df))


# --- Analyses of variance -------------------------------------------------------------------


def table(
    effects: Mapping[str, Sequence[float]], df: Mapping[str, int], noise: float
) -> dict[str, Effect]:
    """Return the table, from the effect of every factor on every score, and of the error."""
    ss = {name: math.fsum(settle(e, noise) ** 2 for e in effects[name]) for name in effects}
    error = ss["error"] / df["error"]
    lines = {}
    for name in effects:
        ms = ss[name] / df[name]
        if name == "error":
            lines[name] = Effect(ss[name], df[name], ms, math.nan, math.nan, math.nan)
            continue
        n = len(effects[name])
        if error > 0:
            f = ms / error
            p = float(stats.f.sf(f, df[name], df["error"]))
            omega2 = max(0.0, df[name] * (f - 1) / (df[name] * (f - 1) + n))
        elif ms > 0:
            f, p, omega2 = math.inf, 0.0, 1.0
        else:
            f, p, omega2 = 0.0, 1.0, 0.0
        lines[name] = Effect(ss[name], df[name], ms, f, p, omega2)
    return lines


def anova1(values: Scores) -> dict[str, Effect]:
    """One factor, system; NaN is a score that is not there."""
    everything = scores_of(values)
    systems = values.shape[1]
    grand = mean(everything)
    system, error = [], []
    for j in range(systems):
        column = scores_of(values[:, j])
        for score in column:
            system.append(mean(column) - grand)
            error.append(score - mean(column))
    df = {"system": systems - 1, "error": len(everything) - systems}
    return table({"system": system, "error": error}, df, rounding(everything))


def anova2(values: Scores) -> dict[str, Effect]:
    """Two factors, topic and system, and one score in every cell."""
    topics, systems = values.shape
    grand = mean(scores_of(values))
    effects: dict[str, list[float]] = {"topic": [], "system": [], "error": []}
    for i in range(topics):
        for j in range(systems):
            of_topic = mean(scores_of(values[i, :]))
            of_system = mean(scores_of(values[:, j]))
            effects["topic"].append(of_topic - grand)
            effects["system"].append(of_system - grand)
            effects["error"].append(float(values[i, j]) - of_topic - of_system + grand)
    df = {"topic": topics - 1, "system": systems - 1, "error": (topics - 1) * (systems - 1)}
    return table(effects, df, rounding(scores_of(values)))


def anova3(values: Scores) -> dict[str, Effect]:
    """Three factors, topic, system and shard, their pairs, and one score in every cell."""
    topics, systems, shards = values.shape
    grand = mean(scores_of(values))
    t, s, h = topics - 1, systems - 1, shards - 1
    df = {"topic": t, "system": s, "shard": h}
    df |= {"topic:system": t * s, "topic:shard": t * h, "system:shard": s * h, "error": t * s * h}
    effects: dict[str, list[float]] = {name: [] for name in df}
    for i in range(topics):
        for j in range(systems):
            for k in range(shards):
                # What every factor and pair adds to the smaller models within it.
                topic = mean(scores_of(values[i, :, :])) - grand
                system = mean(scores_of(values[:, j, :])) - grand
                shard = mean(scores_of(values[:, :, k])) - grand
                topic_system = mean(scores_of(values[i, j, :])) - grand - topic - system
                topic_shard = mean(scores_of(values[i, :, k])) - grand - topic - shard
                system_shard = mean(scores_of(values[:, j, k])) - grand - system - shard
                pairs = topic_system + topic_shard + system_shard
                effects["topic"].append(topic)
                effects["system"].append(system)
                effects["shard"].append(shard)
                effects["topic:system"].append(topic_system)
                effects["topic:shard"].append(topic_shard)
                effects["system:shard"].append(system_shard)
                fitted = grand + topic + system + shard + pairs
                effects["error"].append(float(values[i, j, k]) - fitted)
    return table(effects, df, rounding(scores_of(values)))


# --- Analyses of ranks ----------------------------------------------------------------------


def ranked_groups(values: Scores) -> list[list[float]]:
    """Return, for every system, the ranks of its scores among all the scores."""
    groups = [scores_of(values[:, j]) for j in range(values.shape[1])]
    pooled = [score for group in groups for score in group]
    ranks = mid_ranks(pooled, rounding(pooled))
    ends = np.cumsum([len(group) for group in groups])
    return [ranks[end - len(g) : end] for g, end in zip(groups, ends, strict=True)]


def ranked_topics(values: Scores) -> list[list[float]]:
    """Return, for every topic, the ranks of its systems."""
    noise = rounding(scores_of(values))
    return [mid_ranks([float(v) for v in row], noise) for row in values]


def kruskal_wallis(values: Scores) -> tuple[float, int, float]:
    """Return H corrected for ties, its degrees of freedom and p; NaN is no score."""
    groups = ranked_groups(values)
    ranks = [rank for group in groups for rank in group]
    n, df = len(ranks), len(groups) - 1
    if len(set(ranks)) == 1:
        return 0.0, df, 1.0
    h = 12 / (n * (n + 1)) * sum(sum(g) ** 2 / len(g) for g in groups) - 3 * (n + 1)
    h /= 1 - ties(ranks) / (n**3 - n)
    return h, df, float(stats.chi2.sf(h, df))


def kruskal_wallis_pairs(values: Scores) -> MeanRanks:
    """Compare the systems by their mean ranks over all scores."""
    groups = ranked_groups(values)
    ranks = [rank for group in groups for rank in group]
    n = len(ranks)
    variance = n * (n + 1) / 12 - ties(ranks) / (12 * (n - 1))
    return mean_ranks([mean(g) for g in groups], variance, [len(g) for g in groups])


def friedman(values: Scores) -> tuple[float, int, float]:
    """Return chi-squared corrected for ties, its degrees of freedom and p."""
    rows = ranked_topics(values)
    m, k = values.shape
    if all(len(set(row)) == 1 for row in rows):
        return 0.0, k - 1, 1.0
    sums = [sum(row[j] for row in rows) for j in range(k)]
    chi2 = 12 / (m * k * (k + 1)) * sum(r**2 for r in sums) - 3 * m * (k + 1)
    chi2 /= 1 - sum(ties(row) for row in rows) / (m * (k**3 - k))
    return chi2, k - 1, float(stats.chi2.sf(chi2, k - 1))


def friedman_pairs(values: Scores) -> MeanRanks:
    """Compare the systems by their mean ranks within the topics."""
    rows = ranked_topics(values)
    m, k = values.shape
    variances = [sum((rank - mean(row)) ** 2 for rank in row) / (k - 1) for row in rows]
    ranks = [mean([row[j] for row in rows]) for j in range(k)]
    return mean_ranks(ranks, mean(variances), [m] * k)


def mean_ranks(ranks: Sequence[float], variance: float, sizes: Sequence[int]) -> MeanRanks:
    """Return q and p of every pair, of an infinity of degrees of freedom."""
    k = len(ranks)
    q, p = np.zeros((k, k)), np.ones((k, k))
    for u, v in combinations(range(k), 2):
        error = math.sqrt(variance / 2 * (1 / sizes[u] + 1 / sizes[v]))
        q[u, v] = q[v, u] = 0.0 if error == 0 else abs(ranks[u] - ranks[v]) / error
        p[u, v] = p[v, u] = tukey_p(float(q[u, v]), k, math.inf)
    return MeanRanks(np.array(ranks), variance, q, p)


# --- Many systems at once -------------------------------------------------------------------


def randomised_tukey(values: Scores, b: int, rng: np.random.Generator) -> Scores:
    """Return the p-value of every pair of systems, of Carterette's test (Sakai's figure 15).

    A range that equals the difference counts, and the observed data are one more sample.
    """
    topics, systems = values.shape
    means = [mean(scores_of(values[:, j])) for j in range(systems)]
    scale = max(abs(v) for v in scores_of(values))
    count = np.zeros((systems, systems))
    for _ in range(b):
        shuffled = np.array([rng.permutation(values[i, :]) for i in range(topics)])
        new = [mean(scores_of(shuffled[:, j])) for j in range(systems)]
        for u in range(systems):
            for v in range(systems):
                count[u, v] += reaches(max(new) - min(new), abs(means[u] - means[v]), scale)
    return (count + 1) / (b + 1)


def dunnett_p(t_values: Sequence[float], k: int, df: float, two_sided: bool = True) -> list[float]:
    """Return the p-value of each t of k systems compared with a control, as many topics each.

    Given the mean z of the control and the standard deviation s, both in units of their own,
    the k comparisons are independent: t_j = (z_j - z) / (s sqrt 2). The p-value is the
    probability that the largest of k is at least t; one-sided, the alternative is greater.
    """

    def given_deviation(s: float, t: float) -> float:
        def density(z: float) -> float:
            edge = math.sqrt(2) * s * t
            below = special.ndtr(z + edge) - (special.ndtr(z - edge) if two_sided else 0.0)
            return float((1 - below**k) * math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))

        return float(integrate.quad(density, -9, 9, epsabs=1e-12, epsrel=1e-10, limit=200)[0])

    def tail(t: float) -> float:
        if df == math.inf:
            return given_deviation(1.0, t)
        deviation = stats.chi(df, scale=1 / math.sqrt(df))
        low, high = float(deviation.ppf(1e-15)), float(deviation.isf(1e-15))

        def density(s: float) -> float:
            return float(deviation.pdf(s)) * given_deviation(s, t)

        return float(integrate.quad(density, low, high, epsabs=1e-11, epsrel=1e-9, limit=200)[0])

    return [min(1.0, max(0.0, tail(abs(t) if two_sided else t))) for t in t_values]


def letters_are_right(letters: Mapping[str, Sequence[str]], significant: NDArray[np.bool_]) -> bool:
    """Whether two systems share a letter just when they do not differ significantly.

    The systems are in the order of the matrix; a system shares a letter with itself.
    """
    names = list(letters)
    for u, first in enumerate(names):
        if not letters[first]:
            return False
        for v, second in enumerate(names):
            share = any(letter in list(letters[second]) for letter in letters[first])
            if u != v and share == bool(significant[u, v]):
                return False
    return True
