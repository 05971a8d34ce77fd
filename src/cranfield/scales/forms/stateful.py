"""Parts of additive measures, and walks of stateful ones.

Ranks with different bases never tie (`form.py`). Among ranks of one base the
weights are whole multiples of a unit. If all differences of weights at the other ranks are
divisible by m and no difference at rank j is, then runs that tie agree in their weight at rank j,
which is then a part of its own; the rest is looked at again. That splits RBP with p = a/b in lowest
terms into its ranks whenever no difference of gains is a multiple of b (for binary gains always):
at the last rank b divides all the others. Ranks that remain together are added up to the set of
their distinct sums, in whole numbers.

All contributions are multiplied by their common denominator (for AP the least common multiple of
1..N). The values of all runs, or of their first or last ranks, are then sets of whole numbers that
are joined rank by rank, each number once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import gcd, lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.scales.forms.form import Additive, Stateful, approximate

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
    ways: Exact = np.ones(1, dtype=object)
    for counts, weights in pieces:
        fits = counts <= limit
        here = np.zeros(limit + 1, dtype=object)
        np.add.at(here, counts[fits], weights[fits].astype(object))
        ways = np.convolve(ways, here)[: limit + 1]
    return int(ways.sum())


MOST_STATES = 2**14
"""States over all ranks."""


@dataclass(frozen=True, eq=False)
class Bag:
    """Distinct whole numbers, ascending, and how many runs lead to each; empty if not counted."""

    values: Exact
    runs: Exact

    @classmethod
    def joined(cls, values: Sequence[Exact], runs: Sequence[Exact]) -> Bag:
        if len(values) == 1:
            return cls(values[0], runs[0])
        every = np.concatenate(values)
        if not runs[0].size:
            every.sort(kind="stable")
            return cls(every[_first(every)], runs[0])
        order = np.argsort(every, kind="stable")
        every = every[order]
        first = np.flatnonzero(_first(every))
        return cls(every[first], np.add.reduceat(np.concatenate(runs)[order], first))


def _first(ordered: Exact) -> Any:
    fresh = np.ones(ordered.size, dtype=bool)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return fresh


@dataclass(frozen=True, eq=False)
class Walk:
    """The steps of a form, rank by rank, in whole numbers of a unit.

    `gains` are contributions, shape (states before the rank, grades + 1), and `after` indices of
    the states that follow; -1 for what is ruled out or not met.
    """

    unit: Fraction
    gains: tuple[Exact, ...]
    after: tuple[Ints, ...]

    @classmethod
    def of(cls, form: Stateful) -> Walk:
        return cls._followed(form, None)[0]

    @classmethod
    def along(cls, form: Stateful, runs: Ints) -> tuple[Exact, Fraction]:
        """Follow a form down some runs alone; return their values, and the unit of these."""
        walk, steps = cls._followed(form, runs)
        values = np.zeros(len(runs), dtype=walk.kind)
        for gains, step in zip(walk.gains, steps, strict=True):
            values += gains.ravel()[step]
        return values, walk.unit

    @classmethod
    def _followed(cls, form: Stateful, runs: Ints | None) -> tuple[Walk, list[NDArray[np.int32]]]:
        """Make the walk; and say for each rank which step each run takes, by state and grade."""
        states: list[Hashable] = [form.start]
        contributions: list[list[Fraction]] = []
        after: list[Ints] = []
        taken: list[NDArray[np.int32]] = []
        total, width = 0, form.grades + 1
        at = np.zeros(0 if runs is None else len(runs), dtype=np.int64)
        for rank in range(1, form.length + 1):
            total += len(states)
            if runs is None and total > MOST_STATES:
                raise PolicyError(
                    f"runs of length {form.length} with {form.grades + 1} grades have"
                    f" too many states; up to length {rank - 1} may be feasible"
                )
            met = np.full(len(states) * width, runs is None)
            if runs is not None:
                step_of = at * width + runs[:, rank - 1]
                met[step_of] = True
                taken.append(step_of.astype(np.int32))
            following: dict[Hashable, int] = {}
            gains, to = [Fraction(0)] * met.size, np.full(met.size, -1, dtype=np.int64)
            for place in np.flatnonzero(met).tolist():
                before, grade = divmod(place, width)
                step = form.step(rank, states[before], grade)
                if step is not None:
                    gains[place], state = step
                    to[place] = following.setdefault(state, len(following))
            contributions.append(gains)
            after.append(to.reshape(-1, width))
            states = list(following)
            if runs is not None:
                at = to[step_of]
        flat = {gain for level in contributions for gain in level}
        below = lcm(*(gain.denominator for gain in flat))
        # Without fractions on the way, whose common divisors take long to find.
        scaled = {gain: gain.numerator * (below // gain.denominator) for gain in flat}
        common = gcd(*scaled.values()) or 1
        whole = [[scaled[gain] // common for gain in level] for level in contributions]
        kind: Any = np.int64 if sum(max(map(abs, level)) for level in whole) < WORD else object
        tables = tuple(np.array(level, dtype=kind).reshape(-1, width) for level in whole)
        return cls(Fraction(common, below), tables, tuple(after)), taken

    @property
    def kind(self) -> Any:
        return self.gains[0].dtype

    def run(self, runs: Ints) -> Exact:
        state = np.zeros(len(runs), dtype=np.int64)
        value = np.zeros(len(runs), dtype=self.kind)
        for gains, after, grade in zip(self.gains, self.after, runs.T, strict=True):
            value = value + gains[state, grade]
            state = after[state, grade]
            if (state < 0).any():
                raise PolicyError(
                    f"run {int(np.argmax(state < 0))} has more relevant documents than at_most"
                )
        return value

    def last(self, bags: Sequence[Bag], rank: int) -> list[Bag]:
        """For each state before a rank the values from there on, given those after it."""
        found = []
        for gains, after in zip(self.gains[rank], self.after[rank], strict=True):
            open_ = np.flatnonzero(after >= 0)
            parts = [bags[after[grade]] for grade in open_]
            shifted = [part.values + gains[g] for part, g in zip(parts, open_, strict=True)]
            found.append(Bag.joined(shifted, [part.runs for part in parts]))
        return found

    def first(self, bags: Sequence[Bag], rank: int) -> list[Bag]:
        """For each state after a rank the values down to there, given those before it."""
        gains, after = self.gains[rank], self.after[rank]
        values: list[list[Exact]] = [[] for _ in range(int(after.max()) + 1)]
        runs: list[list[Exact]] = [[] for _ in values]
        for state, grade in zip(*np.nonzero(after >= 0), strict=True):
            to = after[state, grade]
            values[to].append(bags[state].values + gains[state, grade])
            runs[to].append(bags[state].runs)
        return [Bag.joined(one, two) for one, two in zip(values, runs, strict=True)]

    def end(self, by_runs: bool) -> list[Bag]:
        """0 for each state after the last rank."""
        return [self._nothing(by_runs)] * (int(self.after[-1].max()) + 1)

    def start(self, by_runs: bool) -> list[Bag]:
        return [self._nothing(by_runs)]

    def _nothing(self, by_runs: bool) -> Bag:
        return Bag(np.zeros(1, dtype=self.kind), np.ones(int(by_runs), dtype=self.many))

    @property
    def many(self) -> Any:
        return np.int64 if self.gains[0].shape[1] ** len(self.gains) < WORD else object

    def number(self) -> int:
        ways = [1]
        for after in self.after:
            following = [0] * (int(after.max()) + 1)
            for state, grade in zip(*np.nonzero(after >= 0), strict=True):
                following[after[state, grade]] += ways[state]
            ways = following
        return sum(ways)
