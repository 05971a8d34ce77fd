"""Tukey's HSD with its distribution estimated by resampling topics, for any family of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from cranfield.base.arrays import Floats, row_slices
from cranfield.base.threads import in_threads
from cranfield.significance.bootstrap_t import RELATIVE, Centred, topic_counts
from cranfield.significance.difference_by_error import away, ratio
from cranfield.significance.options import Options
from cranfield.significance.outcome import TOGETHER, Corrected, Level, Limits, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.resampling import monte_carlo, rank_of

SAMPLED = 2**18
"""Resampled means in a block, systems by resamples: they stay in the cache."""


@dataclass(frozen=True, eq=False)
class PooledErrors:
    r"""Mean differences of pairs and the one standard error that they share.

    The variance of a difference is taken as the mean over all pairs of systems,

    .. math:: c = \frac{2}{m (m - 1)} \sum_{i < j} v_{ij} = 2\,\mathit{MS}_{Error}

    with the mean square of the error of two-way ANOVA (topic + system).

    Attributes
    ----------
    pairs
        The pairs that are compared; `c` is over all pairs of their systems.
    difference
        Mean difference, by pair.
    error
        The standard error of any difference, the root of c / n.
    residuals
        Scores less the means of their system and topic; shape (systems, topics).
    """

    pairs: Pairs
    difference: Floats
    error: float
    residuals: Centred

    @classmethod
    def of(cls, pairs: Pairs) -> PooledErrors:
        values = pairs.values
        residuals = values - values.mean(axis=0)
        residuals -= residuals.mean(axis=1, keepdims=True)
        residuals[np.abs(residuals) <= pairs.rounding.max(initial=0.0)] = 0.0
        rows = Centred.of(np.ascontiguousarray(residuals.T), np.zeros(pairs.systems))
        _, error = _means_and_error(rows, np.ones((1, pairs.topics)))
        return cls(pairs, pairs.differences_of(values.mean(axis=0)), float(error[0]), rows)

    @property
    def t(self) -> Floats:
        """Differences by their error, by pair; 0 by 0 is 0, anything else by 0 is infinite."""
        return ratio(self.difference, np.full(len(self.pairs), self.error))

    def resampled(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return centred means, shape (systems, samples), and the error of each sample."""
        return _means_and_error(self.residuals, counts)


def largest_difference(pairs: Pairs, means: Floats, alternative: str) -> Floats:
    """Return the largest difference of a family of pairs in each resample, by the alternative.

    `means` have shape (systems, resamples).
    """
    every = pairs.systems * (pairs.systems - 1) // 2
    if alternative == "two-sided" and len(pairs) == every:
        return np.asarray(means.max(axis=0) - means.min(axis=0))
    out = np.full(means.shape[1], -np.inf)
    for baseline in np.unique(pairs.second):
        others = means[pairs.first[pairs.second == baseline]]
        if alternative != "less":
            np.maximum(out, others.max(axis=0) - means[baseline], out=out)
        if alternative != "greater":
            np.maximum(out, means[baseline] - others.min(axis=0), out=out)
    return out


def _means_and_error(residuals: Centred, counts: Floats) -> tuple[Floats, Floats]:
    systems, topics = residuals.numbers.shape
    means, variances = residuals.moments(counts)
    # Of scores less their topic's mean, the variances of systems add up to those of pairs.
    common = 2 * np.maximum(variances, 0.0).sum(axis=0) / (systems - 1)
    return means, np.sqrt(common / topics)


def maxima(families: Sequence[PooledErrors], options: Options) -> Floats:
    """Return the largest statistic of all families in each resample of topics, ascending.

    Families, such as the pairs by several measures, share the resampled topics. A resample without
    any variation, such as one topic drawn every time, is never discarded: it counts as infinite.
    A family whose scores do not vary at all has no part in the largest statistic of others.
    """
    families = [family for family in families if family.error] or families
    topics = families[0].pairs.topics
    counts = topic_counts(options.resamples, topics, options.seed)

    def largest_statistic(part: slice) -> Floats:
        out = np.full(part.stop - part.start, -np.inf)
        for family in families:
            means, error = family.resampled(counts[part])
            largest = largest_difference(family.pairs, means, options.alternative)
            statistic = divided(largest, error)
            np.maximum(out, statistic, out=out)
        return out

    systems = sum(family.pairs.systems for family in families)
    parts = list(row_slices(options.resamples, systems, SAMPLED))
    return np.sort(np.concatenate(in_threads(largest_statistic, parts, options.jobs)))


def divided(largest: Floats, error: Floats) -> Floats:
    """Divide by the errors of resamples, of which those of 0 count as infinite statistics."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(error == 0, np.inf, largest / error))


def pvalues_of(statistic: Floats, maxima: Floats) -> Floats:
    """Return (count + 1) / (B + 1) with the count of maxima, ascending, as large as a statistic."""
    least = statistic * (1 - RELATIVE * np.sign(statistic))
    return monte_carlo(maxima.size - np.searchsorted(maxima, least), maxima.size)


def smallest_pvalue(maxima: Floats) -> float:
    """Return the p-value of an arbitrarily large statistic."""
    return float(pvalues_of(np.array([np.finfo(float).max]), maxima)[0])


def critical_value(maxima: Floats, tail: Level) -> Floats:
    """Return the k-th largest of B maxima, k = floor(tail (B + 1)); infinite for k = 0."""
    rank = rank_of(tail, maxima.size)
    return np.asarray(np.append(maxima, np.inf)[maxima.size - np.maximum(rank, 0)])


def bootstrap_tukey(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    r"""Compare a family of pairs with the largest statistic of each resample of topics.

    With mean differences d, their differences D by topic, and one variance c for all pairs,

    .. math:: T_{ij} = \frac{|d_{ij}|}{\sqrt{c / n}}

    is Tukey's q by the root of 2. Topics are drawn with replacement from D - d; the adjusted
    p-value is (1 + number of resamples whose largest T of the family is at least as large) /
    (B + 1), in a single step, so that intervals and p-values agree. One-sided, T is signed.

    Tukey's HSD on the error of two-way ANOVA; its distribution by the bootstrap of Westfall and
    Young (1993) and Romano and Wolf (2005).
    """
    family = PooledErrors.of(pairs)
    largest = maxima([family], options)
    return Corrected(
        pvalues_of(away(family.t, options.alternative), largest),
        statistic=family.t,
        interval=partial(simultaneous_limits, family.difference, family.error, largest, options),
        holds_for=TOGETHER,
        smallest_pvalue=smallest_pvalue(largest),
    )


def simultaneous_limits(
    difference: Floats, error: Floats | float, maxima: Floats, options: Options, level: Level
) -> Limits:
    """Return the differences plus and minus the critical value times the error.

    They leave out 0 exactly where the adjusted p-value is at most 1 - level. Of a one-sided test,
    1 - level is of both sides, of which one counts.
    """
    critical = critical_value(maxima, (1 - level) / (1 if options.two_sided else 2))
    with np.errstate(invalid="ignore"):
        # Wider by what counts as equal.
        half = critical / (1 - RELATIVE * np.sign(critical)) * error
    half = np.where(np.isinf(critical) | np.isinf(error), np.inf, half)
    return difference - half, difference + half
