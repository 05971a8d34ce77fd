"""Corrections by topics drawn anew: the largest t of all pairs whose differences are centred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.threads import in_threads
from cranfield.significance.bootstrap_t import RELATIVE, Centred, studentised, topic_counts
from cranfield.significance.difference_by_error import away, ratio, spread
from cranfield.significance.options import Options
from cranfield.significance.outcome import TOGETHER, Corrected, Level, Limits, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.resampling import monte_carlo, rank_of

MARGIN = 2.0
"""Of the errors of moderated pairs, by the number of topics: 4% with 50 topics, 8% with 25.

With few topics samples of them have lighter tails than topics have, the more so the more skewed
scores are. It is by trials on real scores (docs/calibration.md), not by theory."""

SAMPLED = 2**18
"""Numbers of a block of samples, by pair: they stay in the cache."""


@dataclass(frozen=True, eq=False)
class CentredPairs:
    """Differences of pairs by their errors, as they are, and in samples of centred topics.

    The variance of a pair is its own; or, moderated, the mean of its own and the common one of
    all pairs of the systems, which is twice the mean square of the error of two-way ANOVA. Errors
    of several moderated pairs are widened by the margin; one pair has nothing to be moderated by.

    Attributes
    ----------
    difference, error
        Mean difference and its standard error, by pair.
    pairs
        The differences of each pair, less their mean.
    systems
        What two-way ANOVA leaves over of each system's scores; None unless moderated.
    """

    difference: Floats
    error: Floats
    pairs: Centred
    systems: Centred | None

    @classmethod
    def of(cls, pairs: Pairs, *, moderated: bool) -> CentredPairs:
        differences = pairs.differences()
        mean = differences.mean(axis=1)
        own = spread(differences, mean, pairs.rounding)
        differences -= mean[:, None]
        differences[own == 0] = 0.0
        variance, left = own**2, None
        if moderated:
            values = pairs.values
            over = values - values.mean(axis=0)
            over -= over.mean(axis=1, keepdims=True)
            over[np.abs(over) <= pairs.rounding.max(initial=0.0)] = 0.0
            left = Centred.of(np.ascontiguousarray(over.T), np.zeros(pairs.systems))
            _, each = left.moments(np.ones((1, pairs.topics)))
            variance = (variance + _common(each)) / 2
        error = np.sqrt(variance / pairs.topics)
        if moderated and error.size > 1:
            error *= 1 + MARGIN / pairs.topics
        return cls(mean, error, Centred.of(differences, pairs.rounding), left)

    @property
    def t(self) -> Floats:
        return ratio(self.difference, self.error)

    def resampled(self, counts: Floats) -> Floats:
        """Return t in samples of topics, shape (pairs, samples); `counts` is (samples, topics)."""
        n = counts.shape[1]
        common = None if self.systems is None else _common(self.systems.moments(counts)[1])
        if common is not None and (common > 0).all():
            return self.pairs.moderated_t(counts, common)
        mean, variance = self.pairs.moments(counts)
        variance /= n if common is None else 2 * n
        if common is not None:
            variance += common / (2 * n)
        return studentised(mean, variance)


def _common(variances: Floats) -> Floats:
    """Return the mean variance of all pairs of systems from what two-way ANOVA leaves of each."""
    return np.asarray(2 * np.maximum(variances, 0.0).sum(axis=0) / (len(variances) - 1))


def bootstrap_max_t(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    return _corrected(pairs, options, moderated=False)


def moderated_max_t(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    return _corrected(pairs, options, moderated=True)


def _corrected(pairs: Pairs, options: Options, *, moderated: bool) -> Corrected:
    one = CentredPairs.of(pairs, moderated=moderated)
    pvalue, largest = step_down([one], options)
    return Corrected(
        pvalue,
        statistic=one.t,
        interval=partial(simultaneous_limits, one.difference, one.error, largest, options),
        holds_for=TOGETHER,
        of_first_step=True,
    )


def step_down(families: Sequence[CentredPairs], options: Options) -> tuple[Floats, Floats]:
    r"""Return adjusted p-values of all pairs of all families, and the largest t of each sample.

    Topics are drawn with replacement, the same for all, so that pairs stay as dependent as they
    are; families, such as measures, have their topics in common. Of each sample the largest

    .. math:: t^*_p = \frac{\bar{d}^*_p - \bar{d}_p}{s^*_p / \sqrt{n}}

    counts. The pair with the largest t is compared with the largest of all, the next one with the
    largest of the others, and so on; p never falls on the way down. Romano and Wolf (2005), with
    studentised statistics. Nothing is assumed of the shape of differences but that topics are a
    random sample, and enough of them.
    """
    observed = np.concatenate([away(one.t, options.alternative) for one in families])
    topics = families[0].pairs.numbers.shape[1]
    order = np.argsort(observed, kind="stable")
    place: slice | Indices = order
    if len(families) == 1:
        # Differences are put in order once, in place of their t in every sample.
        families, place = [_in_order(families[0], order)], slice(None)
    least = observed[order] * (1 - RELATIVE * np.sign(observed[order]))
    counts = topic_counts(options.resamples, topics, options.seed)

    def count(part: slice) -> tuple[Indices, Floats]:
        t = np.concatenate([one.resampled(counts[part]) for one in families])[place]
        if options.two_sided:
            np.abs(t, out=t)
        elif options.alternative == "less":
            np.negative(t, out=t)
        np.maximum.accumulate(t, axis=0, out=t)
        return (t >= least[:, None]).sum(axis=1), t[-1].copy()

    parts = list(row_slices(options.resamples, len(observed), SAMPLED))
    found = in_threads(count, parts, options.jobs)
    reaching = np.sum([one for one, _ in found], axis=0)
    falling = np.maximum.accumulate(monte_carlo(reaching, options.resamples)[::-1])[::-1]
    pvalue = np.empty(len(observed))
    pvalue[order] = falling
    return pvalue, np.concatenate([largest for _, largest in found])


def _in_order(one: CentredPairs, order: Indices) -> CentredPairs:
    rows = one.pairs
    parts = ("numbers", "squares", "scale", "least_mean", "least_variance")
    ordered = replace(rows, **{name: getattr(rows, name)[order] for name in parts})
    return CentredPairs(one.difference[order], one.error[order], ordered, one.systems)


def simultaneous_limits(
    difference: Floats, error: Floats, largest: Floats, options: Options, level: Level
) -> Limits:
    """Return limits that hold for all pairs together, by the quantile of the largest t.

    They are those of the single step: a pair that differs by the steps down may have 0 within its
    limits. Of a one-sided test the level is of both sides, of which one counts.
    """
    rank = rank_of((1 - level) / (1 if options.two_sided else 2), largest.size)
    # Infinite where there are too few samples.
    quantile = np.append(np.sort(largest), np.inf)[largest.size - np.maximum(rank, 0)]
    with np.errstate(invalid="ignore"):
        half = quantile * (1 + RELATIVE) * error
        half = np.where(np.isnan(half) | np.isinf(quantile), np.inf, half)
    return difference - half, difference + half
