"""Parts of additive measures, and walks of stateful ones.

Ranks with different bases never tie (`form.py`). Among ranks of one base the
weights are whole multiples of a unit. If all differences of weights at the other ranks are
divisible by m and no difference at rank j is, then runs that tie agree in their weight at rank j,
which is then a part of its own; the other ranks are examined again. That splits RBP with p = a/b in
lowest terms into its ranks whenever no difference of gains is a multiple of b (for binary gains
always): at the last rank b divides all the others. Ranks that remain together are summed to the set
of their distinct sums, in integers.

All contributions are multiplied by their common denominator (for AP the least common multiple of
1..N). The values of all runs, or of their first or last ranks, are then sets of integers that
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
"""Integers: int64 where they fit, Python's where they do not."""

WORD = 2**61
"""Sums of magnitude below this are computed in int64."""
MAX_SUMS = 2**18
"""Maximum number of distinct sums of a part."""


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
    def min_relevant(self) -> NDArray[np.int64]:
        """Fewest relevant documents that each sum needs."""
        out = np.full(self.keys.size, np.iinfo(np.int64).max)
        np.minimum.at(out, self.key, self.count)
        return out

    @cached_property
    def key_runs(self) -> Exact:
        """Number of vectors of grades of each sum."""
        return np.add.reduceat(self.runs, np.searchsorted(self.key, np.arange(self.keys.size)))

    def index(self, runs: Ints) -> NDArray[np.int64]:
        """Return the index of the sum that each run has in this part."""
        rows = np.arange(len(self.ranks))
        sums = self.weights[rows, runs[:, list(self.ranks)]].sum(axis=1)
        return np.asarray(np.searchsorted(self.keys, sums))


def split(form: Additive, rel: int) -> list[Part]:
    """Split a form into independent parts; raise TooManySumsError if one has too many sums."""
    parts = []
    by_base: dict[Fraction, list[int]] = {}
    for rank, base in enumerate(form.bases):
        by_base.setdefault(base, []).append(rank)
    for base, ranks in sorted(by_base.items()):
        rows = [form.coefficients[rank] for rank in ranks]
        denominator = lcm(*(weight.denominator for row in rows for weight in row))
        integers = [[int(weight * denominator) for weight in row] for row in rows]
        parts += [
            _make_part(
                [ranks[i] for i in group], [integers[i] for i in group], denominator, base, rel
            )
            for group in _group_ranks(integers)
        ]
    return parts


def _group_ranks(weights: Sequence[Sequence[int]]) -> list[list[int]]:
    """Separate the rows that no tie can involve; the other rows stay together."""
    steps = [{a - b for a in row for b in row if a > b} for row in weights]
    rows = [row for row, step in enumerate(steps) if step]
    constant = [row for row, step in enumerate(steps) if not step]
    common = {row: gcd(*steps[row]) for row in rows}
    single: list[list[int]] = []
    while len(rows) > 1:
        before = list(accumulate((common[row] for row in rows), gcd, initial=0))
        # From the end, where no divisor is computed anew: RBP needs nothing else.
        while len(rows) > 1 and all(step % before[len(rows) - 1] for step in steps[rows[-1]]):
            single.append([rows.pop()])
        after = list(accumulate((common[row] for row in reversed(rows)), gcd, initial=0))[::-1]
        divisors = [gcd(before[place], after[place + 1]) for place in range(len(rows))]
        # Removing a row can only raise the others' common divisor: all of these split off at once.
        separable = [
            row
            for row, divisor in zip(rows, divisors, strict=True)
            if divisor and all(step % divisor for step in steps[row])
        ]
        if not separable:
            break
        single += [[row] for row in separable]
        rows = [row for row in rows if row not in separable]
    return [group for group in (*single, rows, constant) if group]


def _make_part(
    ranks: list[int], rows: list[list[int]], denominator: int, base: Fraction, rel: int
) -> Part:
    common = gcd(*(weight for row in rows for weight in row)) or 1
    largest = sum(max(map(abs, row)) for row in rows) // common
    dtype: Any = np.int64 if largest * (len(ranks) + 1) < WORD else object
    weights = np.array([[weight // common for weight in row] for row in rows], dtype=dtype)
    grades = weights.shape[1]
    run_dtype: Any = np.int64 if grades ** len(ranks) < WORD else object
    relevant = (np.arange(grades) >= rel).astype(np.int64)
    width = len(ranks) + 1
    # A pair of a sum and a count is one number: sum * width + count.
    codes, runs = np.zeros(1, dtype=dtype), np.ones(1, dtype=run_dtype)
    for row in weights:
        if codes.size * grades > 16 * MAX_SUMS:
            raise TooManySumsError
        sums = (codes[:, None] + (row * width + relevant)[None, :]).ravel()
        order = np.argsort(sums, kind="stable")
        sums, runs = sums[order], np.repeat(runs, grades)[order]
        first = np.flatnonzero(np.concatenate([[True], sums[1:] != sums[:-1]]))
        codes, runs = sums[first], np.add.reduceat(runs, first)
    sums, count = codes // width, (codes % width).astype(np.int64)
    is_first = np.concatenate([[True], sums[1:] != sums[:-1]]).astype(bool)
    keys = sums[is_first]
    if keys.size > MAX_SUMS:
        raise TooManySumsError
    unit = Fraction(common, denominator)
    key = np.cumsum(is_first) - 1
    return Part(tuple(ranks), unit, base, weights, keys, key, count, runs)


def total_runs(parts: Sequence[Part], limit: int | None) -> int:
    if limit is None:
        return prod(int(part.runs.sum()) for part in parts)
    return _count_tuples([(part.count, part.runs) for part in parts], limit)


def total_sums(parts: Sequence[Part], limit: int | None) -> int:
    if limit is None:
        return prod(part.keys.size for part in parts)
    pieces = [(part.min_relevant, np.ones(part.keys.size, dtype=np.int64)) for part in parts]
    return _count_tuples(pieces, limit)


def _count_tuples(pieces: Sequence[tuple[NDArray[np.int64], Exact]], limit: int) -> int:
    """Count tuples whose counts sum to the limit at most, by a product of polynomials."""
    ways: Exact = np.ones(1, dtype=object)
    for counts, weights in pieces:
        fits = counts <= limit
        piece_ways = np.zeros(limit + 1, dtype=object)
        np.add.at(piece_ways, counts[fits], weights[fits].astype(object))
        ways = np.convolve(ways, piece_ways)[: limit + 1]
    return int(ways.sum())


MAX_STATES = 2**14
"""Maximum number of states over all ranks."""


@dataclass(frozen=True, eq=False)
class Bag:
    """Distinct integers, ascending, and how many runs lead to each; empty if not counted."""

    values: Exact
    runs: Exact

    @classmethod
    def join(cls, values: Sequence[Exact], runs: Sequence[Exact]) -> Bag:
        if len(values) == 1:
            return cls(values[0], runs[0])
        merged = np.concatenate(values)
        if not runs[0].size:
            merged.sort(kind="stable")
            return cls(merged[_is_first(merged)], runs[0])
        order = np.argsort(merged, kind="stable")
        merged = merged[order]
        first = np.flatnonzero(_is_first(merged))
        return cls(merged[first], np.add.reduceat(np.concatenate(runs)[order], first))


def _is_first(ordered: Exact) -> Any:
    is_first = np.ones(ordered.size, dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return is_first


@dataclass(frozen=True, eq=False)
class Walk:
    """The steps of a form, rank by rank, in integers of a unit.

    `gains` are contributions, shape (states before the rank, grades + 1), and `after` indices of
    the states that follow; -1 for impossible or unreached ones.
    """

    unit: Fraction
    gains: tuple[Exact, ...]
    after: tuple[Ints, ...]

    @classmethod
    def of(cls, form: Stateful) -> Walk:
        return cls._follow(form, None)[0]

    @classmethod
    def along(cls, form: Stateful, runs: Ints) -> tuple[Exact, Fraction]:
        """Follow a form along runs only; return their values and the unit of values."""
        walk, steps = cls._follow(form, runs)
        values = np.zeros(len(runs), dtype=walk.dtype)
        for gains, step in zip(walk.gains, steps, strict=True):
            values += gains.ravel()[step]
        return values, walk.unit

    @classmethod
    def _follow(cls, form: Stateful, runs: Ints | None) -> tuple[Walk, list[NDArray[np.int32]]]:
        """Make the walk, and return for each rank the step of each run, by state and grade."""
        states: list[Hashable] = [form.start]
        contributions: list[list[Fraction]] = []
        after: list[Ints] = []
        steps: list[NDArray[np.int32]] = []
        total, width = 0, form.grades + 1
        current = np.zeros(0 if runs is None else len(runs), dtype=np.int64)
        for rank in range(1, form.length + 1):
            total += len(states)
            if runs is None and total > MAX_STATES:
                raise PolicyError(
                    f"runs of length {form.length} with {form.grades + 1} grades have"
                    f" too many states; up to length {rank - 1} may be feasible"
                )
            is_met = np.full(len(states) * width, runs is None)
            if runs is not None:
                step_of = current * width + runs[:, rank - 1]
                is_met[step_of] = True
                steps.append(step_of.astype(np.int32))
            new_states: dict[Hashable, int] = {}
            gains, targets = [Fraction(0)] * is_met.size, np.full(is_met.size, -1, dtype=np.int64)
            for entry in np.flatnonzero(is_met).tolist():
                before, grade = divmod(entry, width)
                step = form.step(rank, states[before], grade)
                if step is not None:
                    gains[entry], state = step
                    targets[entry] = new_states.setdefault(state, len(new_states))
            contributions.append(gains)
            after.append(targets.reshape(-1, width))
            states = list(new_states)
            if runs is not None:
                current = targets[step_of]
        flat = {gain for level in contributions for gain in level}
        denominator = lcm(*(gain.denominator for gain in flat))
        # Integers only, as reducing fractions is slow.
        scaled = {gain: gain.numerator * (denominator // gain.denominator) for gain in flat}
        common = gcd(*scaled.values()) or 1
        integers = [[scaled[gain] // common for gain in level] for level in contributions]
        dtype: Any = np.int64 if sum(max(map(abs, level)) for level in integers) < WORD else object
        tables = tuple(np.array(level, dtype=dtype).reshape(-1, width) for level in integers)
        return cls(Fraction(common, denominator), tables, tuple(after)), steps

    @property
    def dtype(self) -> Any:
        return self.gains[0].dtype

    def run(self, runs: Ints) -> Exact:
        state = np.zeros(len(runs), dtype=np.int64)
        value = np.zeros(len(runs), dtype=self.dtype)
        for gains, after, grade in zip(self.gains, self.after, runs.T, strict=True):
            value = value + gains[state, grade]
            state = after[state, grade]
            if (state < 0).any():
                raise PolicyError(
                    f"run {int(np.argmax(state < 0))} has more relevant documents than at_most"
                )
        return value

    def values_from(self, bags: Sequence[Bag], rank: int) -> list[Bag]:
        """Return the values from a rank on for each state before it, from those after it."""
        joined = []
        for gains, after in zip(self.gains[rank], self.after[rank], strict=True):
            possible = np.flatnonzero(after >= 0)
            parts = [bags[after[grade]] for grade in possible]
            sums = [part.values + gains[g] for part, g in zip(parts, possible, strict=True)]
            joined.append(Bag.join(sums, [part.runs for part in parts]))
        return joined

    def values_down_to(self, bags: Sequence[Bag], rank: int) -> list[Bag]:
        """Return the values down to a rank for each state after it, from those before it."""
        gains, after = self.gains[rank], self.after[rank]
        values: list[list[Exact]] = [[] for _ in range(int(after.max()) + 1)]
        runs: list[list[Exact]] = [[] for _ in values]
        for state, grade in zip(*np.nonzero(after >= 0), strict=True):
            state_after = after[state, grade]
            values[state_after].append(bags[state].values + gains[state, grade])
            runs[state_after].append(bags[state].runs)
        return [Bag.join(sums, counts) for sums, counts in zip(values, runs, strict=True)]

    def end(self, by_runs: bool) -> list[Bag]:
        """Return the value 0 for each state after the last rank."""
        return [self._zero(by_runs)] * (int(self.after[-1].max()) + 1)

    def start(self, by_runs: bool) -> list[Bag]:
        return [self._zero(by_runs)]

    def _zero(self, by_runs: bool) -> Bag:
        return Bag(np.zeros(1, dtype=self.dtype), np.ones(int(by_runs), dtype=self.run_dtype))

    @property
    def run_dtype(self) -> Any:
        return np.int64 if self.gains[0].shape[1] ** len(self.gains) < WORD else object

    def count_runs(self) -> int:
        ways = [1]
        for after in self.after:
            new_ways = [0] * (int(after.max()) + 1)
            for state, grade in zip(*np.nonzero(after >= 0), strict=True):
                new_ways[after[state, grade]] += ways[state]
            ways = new_ways
        return sum(ways)
