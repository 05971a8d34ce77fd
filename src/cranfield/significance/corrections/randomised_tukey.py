"""Randomised Tukey HSD: the largest difference of means when systems are exchangeable."""

from __future__ import annotations

from functools import partial

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.streams import stream
from cranfield.base.threads import in_threads
from cranfield.significance.options import Options
from cranfield.significance.outcome import TOGETHER, Corrected, Limits, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.resampling import (
    as_integers,
    monte_carlo,
)

PERMUTED = 2**20
"""Scores that are permuted at a time; it is part of what a seed means."""


def randomised_tukey(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Compare all pairs of systems with the largest differences of random permutations.

    Carterette (2012); Sakai (2013), figure 15, whose p is count / B with a strict inequality. It is
    of all pairs of the systems, whichever are asked for.
    """
    values, topics = pairs.values, pairs.topics
    integers, unit = as_integers(values, 2 * topics)
    ranges = np.sort(permuted_ranges(integers, options))
    observed = np.abs(pairs.of_systems(integers.sum(axis=0))) - 2.0 * topics
    count = ranges.size - np.searchsorted(ranges, observed)
    widths = ranges * unit / topics
    limits = partial(range_limits, pairs.of_systems(values.mean(axis=0)), widths)
    low, high = limits(1 - options.alpha)
    return Corrected(
        monte_carlo(count, options.resamples),
        interval=limits,
        holds_for=TOGETHER,
        half_widths=np.full(pairs.systems, (high - low)[0] / 4),
    )


def range_limits(difference: Floats, ranges: Floats, level: float) -> Limits:
    """Return simultaneous limits of all differences, from the quantile of the largest one."""
    rank = int(np.ceil(level * (ranges.size + 1))) - 1
    half = ranges[rank] if rank < ranges.size else np.inf
    return difference - half, difference + half


def permuted_ranges(integers: Floats, options: Options) -> Floats:
    """Return the largest minus the smallest sum of systems in each random permutation.

    Each topic's scores are permuted on their own.
    """
    topics, systems = integers.shape
    out = np.empty(options.resamples)
    size = max(1, PERMUTED // integers.size)
    starts = list(range(0, options.resamples, size))

    def permute(part: int) -> None:
        # Each part has its own random numbers, whichever thread it falls to.
        random = stream(options.seed, part)
        stop = min(starts[part] + size, options.resamples)
        rows = np.tile(integers, (stop - starts[part], 1))
        random.permuted(rows, axis=1, out=rows)
        sums = rows.reshape(-1, topics, systems).sum(axis=1)
        out[starts[part] : stop] = sums.max(axis=1) - sums.min(axis=1)

    in_threads(permute, list(range(len(starts))), options.jobs)
    return out
