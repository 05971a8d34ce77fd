"""Parts of additive measures, and walks through stateful measures.

Weights of ranks with different bases never tie (`form.py`). Weights of ranks with the same base are
integer multiples of a unit. If all differences of weights at the other ranks are divisible by m and
no difference at rank j is, then runs that tie have the same weight at rank j. This rank becomes a
part of its own, and the other ranks are examined again. For p = a/b in lowest terms, this splits
RBP into its ranks if no difference of gains is a multiple of b (for binary gains always), because b
divides all differences but those of the last rank. The ranks that cannot be separated form one
part, with the set of their distinct sums, in integers.

In a walk, all contributions are multiplied by their common denominator (for AP the least common
multiple of 1..N). The values of all runs, or of their first or last ranks, are then sets of
distinct integers that are joined rank by rank.
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
from cranfield.scales.forms.form import Additive, Stateful, inverse_log

Exact = NDArray[Any]
"""Integers: int64 if all of them fit, otherwise an object array of Python integers."""

MAX_INT64 = 2**61
"""Sums of magnitude below this are computed in int64."""
MAX_SUMS = 2**18
"""Maximum number of distinct sums of a part."""


class TooManySumsError(Exception):
    """Raised if a part has too many sums to list them."""


@dataclass(frozen=True, eq=False)
class Part:
    """The distinct sums of the weights of some ranks, which count from 0.

    Weights and sums are integers; n stands for the value n * unit / ln(base), or n * unit for the
    base 1. `weights` has shape (ranks, grades + 1), and `keys` are the distinct sums,
    ascending. `index`, `count` and `runs` have an entry for each combination of a sum and a number
    of relevant documents: the index of the sum, this number, and how many vectors of grades have
    both.
    """

    ranks: tuple[int, ...]
    unit: Fraction
    base: Fraction
    weights: Exact
    keys: Exact
    index: NDArray[np.int64]
    count: NDArray[np.int64]
    runs: Exact

    @cached_property
    def values(self) -> Floats:
        """Values of the keys, each correct to a few units in the last place."""
        return self.keys.astype(np.float64) * (float(self.unit) * inverse_log(self.base))

    @cached_property
    def min_relevant(self) -> NDArray[np.int64]:
        """Minimum number of relevant documents of each sum."""
        out = np.full(self.keys.size, np.iinfo(np.int64).max)
        np.minimum.at(out, self.index, self.count)
        return out

    @cached_property
    def key_runs(self) -> Exact:
        """Number of vectors of grades of each sum."""
        return np.add.reduceat(self.runs, np.searchsorted(self.index, np.arange(self.keys.size)))

    def find_sums(self, runs: Ints) -> NDArray[np.int64]:
        """Return the index of each run's sum in this part."""
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
    """Separate the rows in which tied runs always agree; the remaining rows form one group."""
    steps = [{a - b for a in row for b in row if a > b} for row in weights]
    rows = [row for row, differences in enumerate(steps) if differences]
    constant_rows = [row for row, differences in enumerate(steps) if not differences]
    common = {row: gcd(*steps[row]) for row in rows}
    separated: list[list[int]] = []
    while len(rows) > 1:
        before = list(accumulate((common[row] for row in rows), gcd, initial=0))
        # The last rows need no new divisors; for RBP this loop separates all rows.
        while len(rows) > 1 and all(step % before[len(rows) - 1] for step in steps[rows[-1]]):
            separated.append([rows.pop()])
        after = list(accumulate((common[row] for row in reversed(rows)), gcd, initial=0))[::-1]
        divisors = [gcd(before[i], after[i + 1]) for i in range(len(rows))]
        # Without a row the divisor of the others can only grow, so that all are separated at once.
        separable = [
            row
            for row, divisor in zip(rows, divisors, strict=True)
            if divisor and all(step % divisor for step in steps[row])
        ]
        if not separable:
            break
        separated += [[row] for row in separable]
        rows = [row for row in rows if row not in separable]
    return [group for group in (*separated, rows, constant_rows) if group]


def _make_part(
    ranks: list[int], rows: list[list[int]], denominator: int, base: Fraction, rel: int
) -> Part:
    common = gcd(*(weight for row in rows for weight in row)) or 1
    largest = sum(max(map(abs, row)) for row in rows) // common
    dtype: Any = np.int64 if largest * (len(ranks) + 1) < MAX_INT64 else object
    weights = np.array([[weight // common for weight in row] for row in rows], dtype=dtype)
    n_grades = weights.shape[1]
    run_dtype: Any = np.int64 if n_grades ** len(ranks) < MAX_INT64 else object
    is_relevant = (np.arange(n_grades) >= rel).astype(np.int64)
    width = len(ranks) + 1
    # A sum and a number of relevant documents are encoded in one integer: sum * width + number.
    codes, runs = np.zeros(1, dtype=dtype), np.ones(1, dtype=run_dtype)
    for row in weights:
        if codes.size * n_grades > 16 * MAX_SUMS:
            raise TooManySumsError
        new_codes = (codes[:, None] + (row * width + is_relevant)[None, :]).ravel()
        order = np.argsort(new_codes, kind="stable")
        new_codes, runs = new_codes[order], np.repeat(runs, n_grades)[order]
        first = np.flatnonzero(_is_first(new_codes))
        codes, runs = new_codes[first], np.add.reduceat(runs, first)
    sums, count = codes // width, (codes % width).astype(np.int64)
    is_first = _is_first(sums)
    keys = sums[is_first]
    if keys.size > MAX_SUMS:
        raise TooManySumsError
    unit = Fraction(common, denominator)
    index = np.cumsum(is_first) - 1
    return Part(tuple(ranks), unit, base, weights, keys, index, count, runs)


def count_runs(parts: Sequence[Part], limit: int | None) -> int:
    """Count the runs with at most `limit` relevant documents; None is no limit."""
    if limit is None:
        return prod(int(part.runs.sum()) for part in parts)
    return _count_tuples([(part.count, part.runs) for part in parts], limit)


def count_sums(parts: Sequence[Part], limit: int | None) -> int:
    """Count the values of runs with at most `limit` relevant documents; None is no limit."""
    if limit is None:
        return prod(part.keys.size for part in parts)
    pairs = [(part.min_relevant, np.ones(part.keys.size, dtype=np.int64)) for part in parts]
    return _count_tuples(pairs, limit)


def _count_tuples(parts: Sequence[tuple[NDArray[np.int64], Exact]], limit: int) -> int:
    """Count tuples of entries with at most `limit` relevant documents, by polynomial products."""
    totals: Exact = np.ones(1, dtype=object)
    for counts, weights in parts:
        is_within = counts <= limit
        polynomial = np.zeros(limit + 1, dtype=object)
        np.add.at(polynomial, counts[is_within], weights[is_within].astype(object))
        totals = np.convolve(totals, polynomial)[: limit + 1]
    return int(totals.sum())


MAX_STATES = 2**14
"""Maximum number of states over all ranks."""


@dataclass(frozen=True, eq=False)
class Bag:
    """Distinct integers, ascending, and the number of runs of each; empty if not counted."""

    values: Exact
    runs: Exact

    @classmethod
    def join(cls, values: Sequence[Exact], runs: Sequence[Exact]) -> Bag:
        """Make the union of ascending values; runs of equal values are added."""
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
    """Return a mask of the first of equal numbers in an ascending array."""
    is_first = np.ones(ordered.size, dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return is_first


@dataclass(frozen=True, eq=False)
class Walk:
    """The steps of a form, rank by rank, in integer multiples of a unit.

    For each rank `gains` has the contributions, shape (states before the rank, grades + 1), and
    `after` the indices of the states that follow, with -1 for impossible or unreached ones.
    """

    unit: Fraction
    gains: tuple[Exact, ...]
    after: tuple[Ints, ...]

    @classmethod
    def from_form(cls, form: Stateful) -> Walk:
        """Make the walk along all runs."""
        return cls._follow(form, None)[0]

    @classmethod
    def values_along(cls, form: Stateful, runs: Ints) -> tuple[Exact, Fraction]:
        """Compute the values of some runs without following all runs; also return their unit."""
        walk, steps = cls._follow(form, runs)
        values = np.zeros(len(runs), dtype=walk.dtype)
        for gains, step in zip(walk.gains, steps, strict=True):
            values += gains.ravel()[step]
        return values, walk.unit

    @classmethod
    def _follow(cls, form: Stateful, runs: Ints | None) -> tuple[Walk, list[NDArray[np.int32]]]:
        """Make the walk, and return for each rank the index of each run's step.

        The index of a step is state * (grades + 1) + grade. If `runs` is None, all runs are
        followed and no indices are returned.
        """
        states: list[Hashable] = [form.start]
        contributions: list[list[Fraction]] = []
        after: list[Ints] = []
        steps: list[NDArray[np.int32]] = []
        n_states, n_grades = 0, form.grades + 1
        run_states = np.zeros(0 if runs is None else len(runs), dtype=np.int64)
        for rank in range(1, form.length + 1):
            n_states += len(states)
            if runs is None and n_states > MAX_STATES:
                raise PolicyError(
                    f"runs of length {form.length} with {n_grades} grades have"
                    f" too many states; up to length {rank - 1} may be feasible"
                )
            is_reached = np.full(len(states) * n_grades, runs is None)
            if runs is not None:
                run_steps = run_states * n_grades + runs[:, rank - 1]
                is_reached[run_steps] = True
                steps.append(run_steps.astype(np.int32))
            new_states: dict[Hashable, int] = {}
            gains = [Fraction(0)] * is_reached.size
            targets = np.full(is_reached.size, -1, dtype=np.int64)
            for step in np.flatnonzero(is_reached).tolist():
                before, grade = divmod(step, n_grades)
                outcome = form.step(rank, states[before], grade)
                if outcome is not None:
                    gains[step], state = outcome
                    targets[step] = new_states.setdefault(state, len(new_states))
            contributions.append(gains)
            after.append(targets.reshape(-1, n_grades))
            states = list(new_states)
            if runs is not None:
                run_states = targets[run_steps]
        distinct = {gain for gains in contributions for gain in gains}
        denominator = lcm(*(gain.denominator for gain in distinct))
        # Computed with integers, as reducing fractions is slow.
        scaled = {gain: gain.numerator * (denominator // gain.denominator) for gain in distinct}
        common = gcd(*scaled.values()) or 1
        integers = [[scaled[gain] // common for gain in gains] for gains in contributions]
        largest = sum(max(map(abs, row)) for row in integers)
        dtype: Any = np.int64 if largest < MAX_INT64 else object
        tables = tuple(np.array(row, dtype=dtype).reshape(-1, n_grades) for row in integers)
        return cls(Fraction(common, denominator), tables, tuple(after)), steps

    @property
    def dtype(self) -> Any:
        return self.gains[0].dtype

    def values(self, runs: Ints) -> Exact:
        """Compute the values of runs in multiples of the unit."""
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
        """Return the values from a rank on by state before it, from those of the next rank."""
        joined = []
        for gains, after in zip(self.gains[rank], self.after[rank], strict=True):
            grades = np.flatnonzero(after >= 0)
            next_bags = [bags[after[grade]] for grade in grades]
            sums = [bag.values + gains[grade] for bag, grade in zip(next_bags, grades, strict=True)]
            joined.append(Bag.join(sums, [bag.runs for bag in next_bags]))
        return joined

    def values_down_to(self, bags: Sequence[Bag], rank: int) -> list[Bag]:
        """Return the values down to a rank by state after it, from those of the previous rank."""
        gains, after = self.gains[rank], self.after[rank]
        values: list[list[Exact]] = [[] for _ in range(int(after.max()) + 1)]
        runs: list[list[Exact]] = [[] for _ in values]
        for state, grade in zip(*np.nonzero(after >= 0), strict=True):
            state_after = after[state, grade]
            values[state_after].append(bags[state].values + gains[state, grade])
            runs[state_after].append(bags[state].runs)
        return list(map(Bag.join, values, runs))

    def end(self, by_runs: bool) -> list[Bag]:
        """Return the value 0 for each state after the last rank."""
        return [self._zero(by_runs)] * (int(self.after[-1].max()) + 1)

    def start(self, by_runs: bool) -> list[Bag]:
        """Return the value 0 for the state before the first rank."""
        return [self._zero(by_runs)]

    def _zero(self, by_runs: bool) -> Bag:
        return Bag(np.zeros(1, dtype=self.dtype), np.ones(int(by_runs), dtype=self.run_dtype))

    @property
    def run_dtype(self) -> Any:
        return np.int64 if self.gains[0].shape[1] ** len(self.gains) < MAX_INT64 else object

    def count_runs(self) -> int:
        """Count the possible runs."""
        counts = [1]
        for after in self.after:
            new_counts = [0] * (int(after.max()) + 1)
            for state, grade in zip(*np.nonzero(after >= 0), strict=True):
                new_counts[after[state, grade]] += counts[state]
            counts = new_counts
        return sum(counts)
