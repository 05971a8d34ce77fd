"""An additive form as a sum of independent parts: sets of values whose sums never tie.

Ranks with different bases never tie (`logarithms.py`). Among ranks of one base the
weights are whole multiples of a unit. If all differences of weights at the other ranks are
divisible by m and no difference at rank j is, then runs that tie agree in their weight at rank j,
which is then a part of its own; the rest is looked at again. That splits RBP with p = a/b in lowest
terms into its ranks whenever no difference of gains is a multiple of b (for binary gains always):
at the last rank b divides all the others. Ranks that remain together are added up to the set of
their distinct sums, in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import gcd, lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.scales.forms.exact_numbers import approximate
from cranfield.scales.forms.form import Additive

Exact = NDArray[Any]
"""Whole numbers: int64 where they fit, Python's where they do not."""

WORD = 2**61
"""Sums of magnitude below this are computed in int64."""
MOST_SUMS = 2**18
"""Distinct sums that one part may have."""


class TooManySumsError(Exception):
    """A part has too many sums to list them."""


@dataclass(frozen=True, eq=False)
class Part:
    """The distinct sums of some ranks, which count from 0.

    A key stands for the value key * unit / ln(base), or key * unit for the base 1. There is one for
    each grade at each of the ranks, in `weights` of shape (ranks, grades + 1), and `keys` are the
    distinct sums, ascending. Then there is an entry for each pair of a sum and a number of relevant
    documents: index of the sum, that number, and how many vectors of grades have both.
    """

    ranks: tuple[int, ...]
    unit: Fraction
    base: Fraction
    weights: Exact
    keys: Exact
    key: NDArray[np.int64]
    count: NDArray[np.int64]
    runs: Exact

    @cached_property
    def values(self) -> Floats:
        """Values of the keys, each correct to a few units in the last place."""
        return self.keys.astype(np.float64) * (float(self.unit) * approximate(self.base))

    @cached_property
    def least(self) -> NDArray[np.int64]:
        """Fewest relevant documents that each sum needs."""
        out = np.full(self.keys.size, np.iinfo(np.int64).max)
        np.minimum.at(out, self.key, self.count)
        return out

    @cached_property
    def key_runs(self) -> Exact:
        """Number of vectors of grades of each."""
        return np.add.reduceat(self.runs, np.searchsorted(self.key, np.arange(self.keys.size)))

    def index(self, runs: Ints) -> NDArray[np.int64]:
        """Index of the sum that each run has in this part."""
        rows = np.arange(len(self.ranks))
        sums = self.weights[rows, runs[:, list(self.ranks)]].sum(axis=1)
        return np.asarray(np.searchsorted(self.keys, sums))


def split(form: Additive, rel: int) -> list[Part]:
    """Split a form into independent parts; too many sums of one are a TooManySumsError."""
    parts = []
    by_base: dict[Fraction, list[int]] = {}
    for rank, base in enumerate(form.bases):
        by_base.setdefault(base, []).append(rank)
    for base, ranks in sorted(by_base.items()):
        rows = [form.coefficients[rank] for rank in ranks]
        below = lcm(*(weight.denominator for row in rows for weight in row))
        whole = [[int(weight * below) for weight in row] for row in rows]
        parts += [
            _part([ranks[i] for i in group], [whole[i] for i in group], below, base, rel)
            for group in _groups(whole)
        ]
    return parts


def _groups(weights: Sequence[Sequence[int]]) -> list[list[int]]:
    """Separate the rows that no tie can involve; the other rows stay together."""
    steps = [{a - b for a in row for b in row if a > b} for row in weights]
    left = [row for row, step in enumerate(steps) if step]
    idle = [row for row, step in enumerate(steps) if not step]
    common = {row: gcd(*steps[row]) for row in left}
    single: list[list[int]] = []
    while len(left) > 1:
        before = list(accumulate((common[row] for row in left), gcd, initial=0))
        # From the end, where nothing has to be computed anew: all that RBP needs.
        while len(left) > 1 and all(step % before[len(left) - 1] for step in steps[left[-1]]):
            single.append([left.pop()])
        after = list(accumulate((common[row] for row in reversed(left)), gcd, initial=0))[::-1]
        others = [gcd(before[place], after[place + 1]) for place in range(len(left))]
        # Without one row the others' common divisor only grows: all of these can go at once.
        free = [
            row
            for row, other in zip(left, others, strict=True)
            if other and all(step % other for step in steps[row])
        ]
        if not free:
            break
        single += [[row] for row in free]
        left = [row for row in left if row not in free]
    return [group for group in (*single, left, idle) if group]


def _part(ranks: list[int], rows: list[list[int]], below: int, base: Fraction, rel: int) -> Part:
    common = gcd(*(weight for row in rows for weight in row)) or 1
    largest = sum(max(map(abs, row)) for row in rows) // common
    kind: Any = np.int64 if largest * (len(ranks) + 1) < WORD else object
    weights = np.array([[weight // common for weight in row] for row in rows], dtype=kind)
    grades = weights.shape[1]
    many: Any = np.int64 if grades ** len(ranks) < WORD else object
    relevant = (np.arange(grades) >= rel).astype(np.int64)
    width = len(ranks) + 1
    # A pair of a sum and a count is one number: sum * width + count.
    codes, runs = np.zeros(1, dtype=kind), np.ones(1, dtype=many)
    for row in weights:
        if codes.size * grades > 16 * MOST_SUMS:
            raise TooManySumsError
        sums = (codes[:, None] + (row * width + relevant)[None, :]).ravel()
        order = np.argsort(sums, kind="stable")
        sums, runs = sums[order], np.repeat(runs, grades)[order]
        first = np.flatnonzero(np.concatenate([[True], sums[1:] != sums[:-1]]))
        codes, runs = sums[first], np.add.reduceat(runs, first)
    sums, count = codes // width, (codes % width).astype(np.int64)
    fresh = np.concatenate([[True], sums[1:] != sums[:-1]]).astype(bool)
    keys = sums[fresh]
    if keys.size > MOST_SUMS:
        raise TooManySumsError
    unit = Fraction(common, below)
    key = np.cumsum(fresh) - 1
    return Part(tuple(ranks), unit, base, weights, keys, key, count, runs)


def total_runs(parts: Sequence[Part], limit: int | None) -> int:
    if limit is None:
        return prod(int(part.runs.sum()) for part in parts)
    return _combined([(part.count, part.runs) for part in parts], limit)


def total_sums(parts: Sequence[Part], limit: int | None) -> int:
    if limit is None:
        return prod(part.keys.size for part in parts)
    ones = [(part.least, np.ones(part.keys.size, dtype=np.int64)) for part in parts]
    return _combined(ones, limit)


def _combined(pieces: Sequence[tuple[NDArray[np.int64], Exact]], limit: int) -> int:
    """Number of tuples whose counts sum to the limit at most: a product of polynomials."""
    ways = [1] + [0] * limit
    for counts, weights in pieces:
        here = [0] * (limit + 1)
        for count in np.unique(counts[counts <= limit]):
            here[count] = int(weights[counts == count].sum())
        ways = [
            sum(ways[i] * here[total - i] for i in range(total + 1)) for total in range(limit + 1)
        ]
    return sum(ways)
