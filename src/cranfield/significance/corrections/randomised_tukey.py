"""Randomised Tukey HSD: the largest difference of means when systems are exchangeable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.streams import stream
from cranfield.base.threads import in_threads
from cranfield.significance.options import Options
from cranfield.significance.pairs import Pairs
from cranfield.significance.resampling import (
    as_integers,
    monte_carlo,
)

PERMUTED = 2**20
"""Scores that are permuted at a time; it is part of what a seed means."""


def randomised_tukey(pairs: Pairs, options: Options) -> tuple[Floats, RandomisedInterval]:
    """Compare all pairs of systems with the largest differences of random permutations.

    Parameters
    ----------
    pairs
        The pairs asked for; the correction is for all pairs of the systems in any case.
    options
        With the number of resamples and the seed.

    Returns
    -------
    pvalue
        By pair: (count + 1) / (B + 1), where the largest difference is as large as the pair's.
    interval
        Simultaneous limits.

    Notes
    -----
    Carterette (2012); Sakai (2013), figure 15, whose p is count / B with a strict inequality.
    """
    values = pairs.values
    topics = pairs.topics
    integers, unit = as_integers(values, 2 * topics)
    ranges = np.sort(permuted_ranges(integers, options))
    means = integers.sum(axis=0)
    observed = np.abs(pairs.of_systems(means)) - 2.0 * topics
    count = ranges.size - np.searchsorted(ranges, observed)
    pvalue = monte_carlo(count, options.resamples)
    interval = RandomisedInterval(pairs.of_systems(values.mean(axis=0)), ranges * unit / topics)
    return pvalue, interval


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


@dataclass(frozen=True)
class RandomisedInterval:
    """Simultaneous limits of all differences, from the quantile of the largest one."""

    difference: Floats
    ranges: Floats

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        number = self.ranges.size
        rank = int(np.ceil(level * (number + 1))) - 1
        half = self.ranges[rank] if rank < number else np.inf
        return self.difference - half, self.difference + half
