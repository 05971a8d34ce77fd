"""The k-th smallest of all sums of two lists, without making all of them.

The interval of the signed rank test is between two Walsh averages, of which n differences have
n (n + 1) / 2, and that of the rank sum test between two of the n m differences of single scores.
Ascending lists make these sums ascend along the rows and columns of a table. Squares of s by s
cells of such a table are bounded by two of their corners, which leaves few squares that the k-th
smallest can be in: with s near the cube root of n, some 4 n^(4/3) sums are looked at, not n^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.significance.pairs import BLOCK


def cells(n: int) -> int:
    """Return how many numbers :func:`kth_sum` holds at a time, by row, for lists of n numbers."""
    side = _side(n)
    return (n // side + 1) ** 2 + 8 * n


def kth_sum(left: Floats, right: Floats, k: int | Indices, *, triangle: bool = False) -> Floats:
    """Return the k-th smallest sum of a number on the left and one on the right, by row.

    It is one of the sums, to the last bit. Rows ascend; shorter ones end in infinities. k counts
    from 0, for all rows or by row, and is below the number of finite sums. In a triangle the right
    number stands at the place of the left one or behind it; both lists then are the same.
    """
    if not len(left):
        return np.empty(0)
    table = _Table.of(left, right, triangle=triangle)
    wanted = np.broadcast_to(np.asarray(k, dtype=np.intp), (len(left),))
    low, high = table.bounds(wanted)
    start, below = table.count(low, or_equal=True)
    end, _ = table.count(high, or_equal=False)
    # No sum in between where both bounds are the same.
    end = np.maximum(start, end)
    inside = (end - start).sum(axis=1)
    rank = wanted - below
    out = np.where(rank < 0, low, high)
    open_ = np.flatnonzero((rank >= 0) & (rank < inside))
    # The bound on what is between is linear in the rows; most have less than half of it.
    for part in row_slices(open_.size, int(inside[open_].max(initial=0)), BLOCK):
        some = open_[part]
        out[some] = table.between(some, start[some], end[some], rank[some])
    return out


def _side(n: int) -> int:
    return max(1, int(np.rint(np.cbrt(n))))


@dataclass(frozen=True, eq=False)
class _Table:
    """Sums that ascend along rows and columns: of row a and column c, left[a] + right[c + shift a].

    Both lists are padded with infinities, so that squares of `side` are whole. With `shift` 1
    columns count from the diagonal, so that a triangle becomes a table too.
    """

    left: Floats
    right: Floats
    shift: int
    side: int
    columns: int

    @classmethod
    def of(cls, left: Floats, right: Floats, *, triangle: bool) -> _Table:
        side = _side(left.shape[1])
        whole = [-(-part.shape[1] // side) * side for part in (left, right)]
        long = whole[1] + (whole[0] if triangle else 0)
        padded = [
            np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.inf)
            for part, width in ((left, whole[0]), (right, long))
        ]
        return cls(padded[0], padded[1], int(triangle), side, whole[1])

    def bounds(self, k: Indices) -> tuple[Floats, Floats]:
        """Return a lower and an upper bound of the k-th smallest sum, which are sums themselves."""
        # Of q squares the largest sums are at most u: then q side^2 sums are. Likewise from below.
        square = k // self.side**2
        starts = np.arange(0, self.left.shape[1], self.side)[:, None]
        columns = np.arange(0, self.columns, self.side)
        found = []
        for corner in (0, self.side - 1):
            a, c = starts + corner, columns + corner
            sums = (self.left[:, a] + self.right[:, c + self.shift * a]).reshape(len(k), -1)
            sums.partition(np.unique(square), axis=1)
            found.append(sums[np.arange(len(k)), square])
        return found[0], found[1]

    def count(self, bound: Floats, *, or_equal: bool) -> tuple[Indices, Indices]:
        """Count the sums below a bound in each row of each table, and in all of it."""
        rows, n = self.left.shape
        place = self.right.shape[1] * np.arange(rows)[:, None] + self.shift * np.arange(n)
        found = np.zeros((rows, n), dtype=np.intp)
        flat = self.right.ravel()
        step = 1 << (self.columns.bit_length() - 1)
        while step:
            # Bisection of all rows at once: is the sum at the end of the next step still below?
            ahead = found + (step - 1)
            inside = ahead < self.columns
            sums = self.left + flat.take(place + np.minimum(ahead, self.columns - 1))
            below = sums <= bound[:, None] if or_equal else sums < bound[:, None]
            below &= inside
            found += step * below
            step >>= 1
        return found, found.sum(axis=1)

    def between(self, which: Indices, start: Indices, end: Indices, rank: Indices) -> Floats:
        """Return the sum of a rank among those in columns from `start` to `end`, by table."""
        counts = end - start
        totals = counts.sum(axis=1)
        row = np.repeat(np.arange(counts.size), counts.ravel())
        first = np.cumsum(counts.ravel()) - counts.ravel()
        number = np.arange(row.size)
        column = number - first[row] + start.ravel()[row]
        table, a = row // counts.shape[1], row % counts.shape[1]
        sums = np.full((len(which), int(totals.max())), np.inf)
        offset = np.cumsum(totals) - totals
        sums[table, number - offset[table]] = (
            self.left[which[table], a] + self.right[which[table], column + self.shift * a]
        )
        sums.sort(axis=1)
        return np.asarray(sums[np.arange(len(which)), rank])
