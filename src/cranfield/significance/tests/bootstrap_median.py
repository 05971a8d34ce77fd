"""The bootstrap test of differences of medians, of one pair or of all together."""

from __future__ import annotations

from functools import partial

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.base.threads import in_threads
from cranfield.significance.bootstrap_t import RELATIVE, topic_counts
from cranfield.significance.corrections.bootstrap_tukey import (
    largest_difference,
    pvalues_of,
    simultaneous_limits,
)
from cranfield.significance.difference_by_error import away, ratio
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.options import Options
from cranfield.significance.outcome import TOGETHER, Corrected, Level, Limits, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.resampling import count_reaching, monte_carlo, rank_of


def bootstrap_median_test(pairs: Pairs, options: Options) -> Outcome:
    """Compare medians with how far apart they are when topics are drawn with replacement."""
    centred = centred_medians(pairs, options)
    medians = np.median(pairs.values, axis=0)
    model = Model(medians, np.nan, np.full(pairs.systems, float(pairs.topics)), np.inf, "median")
    difference = model.differences(pairs)
    count = np.concatenate(
        [
            count_reaching(
                centred[block.first] - centred[block.second],
                difference[where],
                options.alternative,
                relative=RELATIVE,
            )
            for where, block in pairs.slices(options.resamples)
        ]
    )
    zeros = np.concatenate([(part.differences() == 0).sum(axis=1) for part in pairs.blocks()])
    return Outcome(
        statistic=difference,
        pvalue=monte_carlo(count, options.resamples),
        effect=ratio(difference, np.full(len(pairs), interquartile_range(pairs.values))),
        interval=partial(median_limits, pairs, difference, centred, options),
        n=np.full(len(pairs), pairs.topics),
        zeros=zeros,
        ties=np.zeros(len(pairs), dtype=np.intp),
        details={"resamples": options.resamples, "seed": options.seed},
        model=model,
    )


def interquartile_range(values: Floats) -> float:
    """Return the mean interquartile range of the scores of a system."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    return float((high - low).mean())


def centred_medians(pairs: Pairs, options: Options) -> Floats:
    """Return the medians of each resample less those of the sample, shape (systems, resamples)."""
    counts = topic_counts(options.resamples, pairs.topics, options.seed)
    lower, upper = (pairs.topics + 1) // 2, pairs.topics // 2 + 1

    def medians(scores: Floats) -> Floats:
        order = np.argsort(scores, kind="stable")
        reached = np.cumsum(counts[:, order], axis=1)
        ends: list[Indices] = [(reached >= rank).argmax(axis=1) for rank in (lower, upper)]
        ascending = scores[order]
        return np.asarray((ascending[ends[0]] + ascending[ends[1]]) / 2 - np.median(scores))

    columns = np.ascontiguousarray(pairs.values.T)
    return np.array(in_threads(medians, list(columns), options.jobs))


def median_limits(
    pairs: Pairs, difference: Floats, centred: Floats, options: Options, level: Level
) -> Limits:
    """Return limits of each pair alone, by the quantile of its own resampled differences."""
    rank = np.broadcast_to(
        rank_of((1 - level) / (1 if options.two_sided else 2), options.resamples), (len(pairs),)
    )
    half = np.full(len(pairs), np.inf)
    for where, block in pairs.slices(options.resamples):
        drawn = np.sort(away(centred[block.first] - centred[block.second], options.alternative))
        places = options.resamples - np.maximum(rank[where], 1)
        quantile = np.take_along_axis(drawn, places[:, None], axis=1)[:, 0]
        half[where] = np.where(rank[where] >= 1, quantile / (1 - RELATIVE), np.inf)
    return difference - half, difference + half


def bootstrap_max(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Compare with the largest difference of the family in each resample, in a single step."""
    centred = centred_medians(pairs, options)
    maxima = np.sort(largest_difference(pairs, centred, options.alternative))
    difference = outcome.statistic
    return Corrected(
        pvalues_of(away(difference, options.alternative), maxima),
        interval=partial(simultaneous_limits, difference, 1.0, maxima, options),
        holds_for=TOGETHER,
    )
