"""The interval of the randomisation test, from the means of subsets of the topics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.significance.options import Options
from cranfield.significance.pairs import Pairs
from cranfield.significance.resampling import as_integers, random_signs, rank_of

MOST_TOPICS = 16
"""Topics of which all subsets are taken, at most."""

SUBSETS = 2**26
"""Means of subsets over all pairs, up to which all are taken: a few seconds."""


def exact_limits(pairs: Pairs) -> bool:
    """Return whether the means of all subsets of the topics are few enough."""
    return pairs.topics <= MOST_TOPICS and len(pairs) * 2**pairs.topics <= SUBSETS


@dataclass(frozen=True)
class SubsetInterval:
    """Limits of the shift that the test does not reject.

    Turning the signs of a subset of topics makes the sum of shifted differences at least as large
    exactly when the mean of the subset is at most the shift. So the lower limit of a one-sided test
    is the mean of a certain rank. In a two-sided test the sum may become as large below zero, which
    it does when the mean of the other topics is at most the shift; so the lower of both means
    counts for the lower limit, and the higher one for the upper limit.

    Attributes
    ----------
    pairs, options
        What is compared, and how.
    everything
        Whether all subsets are taken, or those that the test drew.
    """

    pairs: Pairs
    options: Options
    everything: bool

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        n = self.pairs.topics
        low = np.full(len(self.pairs), -np.inf)
        high = -low
        turned = self._subsets()
        # Of all subsets one is the observed arrangement, which is none of those drawn.
        number = len(turned) - self.everything
        size = turned.sum(axis=1)
        two_sided = self.options.two_sided
        rank = rank_of((1 - level) / (1 if two_sided else 2), number)
        # No topic turned, or in a two-sided test all: as extreme as can be, whatever the shift.
        proper = (size > 0) & (size < n) if two_sided else size > 0
        rank -= int((~proper).sum()) - self.everything
        turned, size = turned[proper], size[proper]
        if rank < 1:
            return low, high
        integers, unit = as_integers(self.pairs.values, 2 * n)
        sums = np.ascontiguousarray((turned @ integers).T)
        rounding = self.pairs.rounding
        for part, block in self.pairs.slices(len(size)):
            inside = sums[block.first] - sums[block.second]
            below = above = inside / size
            if two_sided:
                whole = block.of_systems(integers.sum(axis=0))[:, None]
                outside = (whole - inside) / (n - size)
                below, above = np.minimum(below, outside), np.maximum(above, outside)
            below = np.partition(below, rank - 1, axis=1)[:, rank - 1] * unit
            above = np.partition(above, len(size) - rank, axis=1)[:, len(size) - rank] * unit
            # A limit that is 0 in truth does not leave 0 out.
            low[part] = np.where(np.abs(below) <= rounding[part], 0.0, below)
            high[part] = np.where(np.abs(above) <= rounding[part], 0.0, above)
        return low, high

    def _subsets(self) -> Floats:
        """Return whether each topic is in each subset, shape (subsets, topics)."""
        n = self.pairs.topics
        if self.everything:
            number = np.arange(2**n, dtype=np.int64)[:, None]
            return ((number >> np.arange(n)) & 1).astype(np.float64)
        signs = random_signs(self.options.resamples, n, self.options.seed)
        return (signs < 0).astype(np.float64)
