"""The exact null distribution of a rank sum, with ties too."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats

Integers = NDArray[np.integer]


class RankSums:
    """Tails of the sum of n ranks that are drawn without replacement.

    The lower and the upper half of the ranks are looked at on their own, and meet in the middle:
    how many ways there are to draw k of a half with a sum s. Twice the ranks are integers, with
    ties too. Ways are counted, by floats: they add up without cancelling, and so keep their digits
    even far out in a tail.

    Parameters
    ----------
    ranks
        Twice the ranks, ascending.
    n
        How many are drawn.

    Examples
    --------
    >>> tails = RankSums(np.array([2, 4, 6, 8]), 2)  # ranks 1, 2, 3, 4
    >>> [round(6 * chance, 9) for chance in tails(8)]  # a sum of at most 4, of at least 4
    [2.0, 5.0]
    """

    def __init__(self, ranks: Integers, n: int) -> None:
        half = ranks.size // 2
        # Less their least rank, the upper half has sums as small as the lower one.
        self.base = int(ranks[half])
        ways = comb(ranks.size, n)
        below, above = (_ways(part, n) for part in (ranks[:half], ranks[half:] - self.base))
        # As many are drawn of both halves together as there should be.
        k = np.arange(n + 1)
        some = (k < len(below)) & (n - k < len(above))
        self.k = k[some]
        self.above = n - self.k
        self.ways = below[self.k] / ways
        self.at_most = np.cumsum(above, axis=1)
        self.at_least = np.cumsum(above[:, ::-1], axis=1)[:, ::-1]

    def __call__(self, total: int) -> tuple[float, float]:
        """Return P(sum <= total) and P(sum >= total); `total` is twice a rank sum."""
        width = self.at_most.shape[1]
        left = total - self.base * self.above[:, None] - np.arange(self.ways.shape[1])
        reachable = np.clip(left, 0, width - 1)
        low = np.where(left >= 0, self.at_most[self.above[:, None], reachable], 0.0)
        high = np.where(left < width, self.at_least[self.above[:, None], reachable], 0.0)
        return float((self.ways * low).sum()), float((self.ways * high).sum())


def _ways(ranks: Integers, most: int) -> Floats:
    """Count the ways to draw k of the ranks, up to `most`, with a sum s; shape (k, s)."""
    ways = np.zeros((min(most, ranks.size) + 1, int(ranks.sum()) + 1))
    ways[0, 0] = 1.0
    reached = 0
    for drawn, rank in enumerate(ranks.tolist()):
        rows = min(drawn + 1, len(ways) - 1)
        # Of as many as were drawn so far, none has a sum beyond what was reached.
        ways[1 : rows + 1, rank : rank + reached + 1] += ways[:rows, : reached + 1]
        reached += rank
    return ways
