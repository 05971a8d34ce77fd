"""Step-down max-T by resampling topics: the largest t of all pairs of centred differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.threads import in_threads
from cranfield.significance.bootstrap_t import RELATIVE, Centred, studentised, topic_counts
from cranfield.significance.corrections.bootstrap_tukey import simultaneous_limits
from cranfield.significance.difference_by_error import away, ratio, spread
from cranfield.significance.options import Options
from cranfield.significance.outcome import TOGETHER, Corrected, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.resampling import monte_carlo

SAMPLED = 2**18
"""Resampled statistics in a block, pairs by resamples: they stay in the cache."""


@dataclass(frozen=True, eq=False)
class CentredPairs:
    """Differences of pairs by their own standard errors, observed and in resamples of topics.

    Attributes
    ----------
    difference, error
        Mean difference and its standard error, by pair; an error of 0 is of a pair whose
        difference is the same on all topics.
    pairs
        The differences of each pair, less their mean.
    """

    difference: Floats
    error: Floats
    pairs: Centred

    @classmethod
    def of(cls, pairs: Pairs) -> CentredPairs:
        differences = pairs.differences()
        mean = differences.mean(axis=1)
        deviation = spread(differences, mean, pairs.rounding)
        differences -= mean[:, None]
        differences[deviation == 0] = 0.0
        error = deviation / np.sqrt(pairs.topics)
        return cls(mean, error, Centred.of(differences, pairs.rounding))

    @property
    def t(self) -> Floats:
        """Student's t by pair; 0 where nothing varies, which is no evidence in resamples."""
        return np.where(self.error == 0, 0.0, ratio(self.difference, self.error))

    def resampled(self, counts: Floats) -> Floats:
        """Return t in samples of topics, shape (pairs, samples); `counts` is (samples, topics)."""
        mean, variance = self.pairs.moments(counts)
        variance /= counts.shape[1]
        return studentised(mean, variance)


def bootstrap_max_t(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    family = CentredPairs.of(pairs)
    pvalue, largest = step_down([family], options)
    # What does not vary has no error to be wide by, and no evidence either.
    error = np.where(family.error == 0, np.inf, family.error)
    return Corrected(
        pvalue,
        statistic=family.t,
        interval=partial(simultaneous_limits, family.difference, error, largest, options),
        holds_for=TOGETHER,
    )


def step_down(families: Sequence[CentredPairs], options: Options) -> tuple[Floats, Floats]:
    r"""Return adjusted p-values of all pairs of all families, and each sample's largest t.

    Topics are drawn with replacement, the same for all families, such as measures. Of each sample
    the largest

    .. math:: t^*_p = \frac{\bar{d}^*_p - \bar{d}_p}{s^*_p / \sqrt{n}}

    counts. The pair with the largest t is compared with the largest of all, the next one with the
    largest of the others, and so on; p never falls on the way down. The largest t are ascending.

    Source: Romano and Wolf (2005), with studentised statistics. It assumes that topics are a random
    sample, and nothing of the shape of differences.
    """
    observed = np.concatenate([away(family.t, options.alternative) for family in families])
    constant = np.concatenate([family.error == 0 for family in families])
    topics = families[0].pairs.numbers.shape[1]
    order = np.argsort(observed, kind="stable")
    place: slice | Indices = order
    if len(families) == 1:
        # Differences are put in order once, in place of their t in every sample.
        families, place = [_in_order(families[0], order)], slice(None)
    least = observed[order] * (1 - RELATIVE * np.sign(observed[order]))
    counts = topic_counts(options.resamples, topics, options.seed)

    def count(part: slice) -> tuple[Indices, Floats]:
        t = np.concatenate([family.resampled(counts[part]) for family in families])[place]
        if options.two_sided:
            np.abs(t, out=t)
        elif options.alternative == "less":
            np.negative(t, out=t)
        np.maximum.accumulate(t, axis=0, out=t)
        return (t >= least[:, None]).sum(axis=1), t[-1].copy()

    parts = list(row_slices(options.resamples, len(observed), SAMPLED))
    counted = in_threads(count, parts, options.jobs)
    reaching = np.sum([number for number, _ in counted], axis=0)
    falling = np.maximum.accumulate(monte_carlo(reaching, options.resamples)[::-1])[::-1]
    pvalue = np.empty(len(observed))
    pvalue[order] = falling
    pvalue[constant] = 1.0
    return pvalue, np.sort(np.concatenate([largest for _, largest in counted]))


def _in_order(family: CentredPairs, order: Indices) -> CentredPairs:
    rows = family.pairs
    parts = ("numbers", "squares", "scale", "least_mean", "least_variance")
    ordered = replace(rows, **{name: getattr(rows, name)[order] for name in parts})
    return CentredPairs(family.difference[order], family.error[order], ordered)
