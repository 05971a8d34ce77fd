"""Parts of additive measures, walks through stateful measures, and exact values of runs.

Weights of ranks with different bases never tie (`form.py`). Weights of ranks with the same base are
integer multiples of a unit. If all differences of weights at the other ranks are divisible by m and
no difference at rank j is, then runs that tie have the same weight at rank j. This rank becomes a
part of its own, and the other ranks are examined again. For p = a/b in lowest terms, this splits
RBP into its ranks if no difference of gains is a multiple of b (for binary gains always), because b
divides all differences but those of the last rank. The ranks that cannot be separated form one
part, with the set of their distinct sums, in integers.

A walk follows the states of a stateful measure rank by rank. All contributions are multiplied by
their common denominator (for AP the least common multiple of 1..N). The values of all runs, or of
their first or last ranks, are then sets of distinct integers that are joined rank by rank.

A value is a row of integers: the coefficients of its inverse logarithms over a common denominator,
or a single integer for measures with rational values. Values and their differences are equal
exactly if their rows are equal, and their order is computed with as many digits as needed. A
measure without a form is scored in floats, where neighbouring values count as equal if they differ
by at most 2^-40 times the largest absolute value; `RunValues.is_exact` is True if there is a form.
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
from cranfield.measures import Measure
from cranfield.scales.forms.form import (
    ONE,
    Additive,
    Form,
    Number,
    Stateful,
    compute_inverse_log,
    divide_terms,
    iterate_precisions,
    make_terms,
    scale_inverse_log,
)
from cranfield.scales.forms.measure_forms import find_form
from cranfield.scales.runs import score_runs

BigInts = NDArray[Any]
"""Integers: int64 if all of them fit, otherwise an object array of Python integers."""

INT64_SUM_BOUND = 2**61
"""Sums of magnitude below this are computed in int64."""
MAX_SUMS = 2**18
"""Maximum number of distinct sums of a part of a form."""


class TooManySumsError(Exception):
    """Raised if a part of a form has too many sums to list."""


@dataclass(frozen=True, eq=False)
class FormPart:
    """The distinct sums of the weights of some ranks; ranks are counted from 0.

    Weights and sums are integers; an integer n represents the value n * unit / ln(base), or n *
    unit for the base 1. `weights` has shape (ranks, grades + 1), and `keys` are the distinct sums,
    ascending. For each combination of a sum and a number of relevant documents, `index` has the
    index of the sum, `n_relevant` this number, and `n_runs` the number of grade vectors with both.
    """

    ranks: tuple[int, ...]
    unit: Fraction
    base: Fraction
    weights: BigInts
    keys: BigInts
    index: NDArray[np.int64]
    n_relevant: NDArray[np.int64]
    n_runs: BigInts

    @cached_property
    def values(self) -> Floats:
        """Values of the keys as floats, each correct to a few units in the last place."""
        return self.keys.astype(np.float64) * (float(self.unit) * compute_inverse_log(self.base))

    @cached_property
    def min_relevant(self) -> NDArray[np.int64]:
        """Minimum number of relevant documents with each sum."""
        counts = np.full(self.keys.size, np.iinfo(np.int64).max)
        np.minimum.at(counts, self.index, self.n_relevant)
        return counts

    @cached_property
    def n_runs_by_key(self) -> BigInts:
        """Number of grade vectors with each sum."""
        return np.add.reduceat(self.n_runs, np.searchsorted(self.index, np.arange(self.keys.size)))

    def find_sums(self, runs: Ints) -> NDArray[np.int64]:
        """Return the index of each run's sum in this part."""
        rows = np.arange(len(self.ranks))
        sums = self.weights[rows, runs[:, list(self.ranks)]].sum(axis=1)
        return np.asarray(np.searchsorted(self.keys, sums))


def split_form(rank_sum: Additive, rel: int) -> list[FormPart]:
    """Split a sum into independent parts; raise TooManySumsError if a part has too many sums."""
    parts = []
    ranks_by_base: dict[Fraction, list[int]] = {}
    for rank, base in enumerate(rank_sum.bases):
        ranks_by_base.setdefault(base, []).append(rank)
    for base, ranks in sorted(ranks_by_base.items()):
        rows = [rank_sum.coefficients[rank] for rank in ranks]
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
    """Separate the rows in which tied runs always agree, and group the remaining rows."""
    differences = [{a - b for a in row for b in row if a > b} for row in weights]
    rows = [row for row, row_differences in enumerate(differences) if row_differences]
    constant_rows = [row for row, row_differences in enumerate(differences) if not row_differences]
    row_gcds = {row: gcd(*differences[row]) for row in rows}
    separated_groups: list[list[int]] = []
    while len(rows) > 1:
        prefix_gcds = [*accumulate((row_gcds[row] for row in rows), gcd, initial=0)]
        # The last rows need no new divisors; for RBP this loop separates all rows.
        while len(rows) > 1 and all(d % prefix_gcds[len(rows) - 1] for d in differences[rows[-1]]):
            separated_groups.append([rows.pop()])
        suffix_gcds = [*accumulate((row_gcds[row] for row in reversed(rows)), gcd, initial=0)][::-1]
        divisors = [gcd(prefix_gcds[i], suffix_gcds[i + 1]) for i in range(len(rows))]
        # Removing rows can only increase the divisors, so that these rows are separated at once.
        separable_rows = [
            row
            for row, divisor in zip(rows, divisors, strict=True)
            if divisor and all(d % divisor for d in differences[row])
        ]
        if not separable_rows:
            break
        separated_groups += [[row] for row in separable_rows]
        rows = [row for row in rows if row not in separable_rows]
    return [group for group in (*separated_groups, rows, constant_rows) if group]


def _make_part(
    ranks: list[int], rows: list[list[int]], denominator: int, base: Fraction, rel: int
) -> FormPart:
    common_divisor = gcd(*(weight for row in rows for weight in row)) or 1
    max_sum = sum(max(map(abs, row)) for row in rows) // common_divisor
    dtype: Any = np.int64 if max_sum * (len(ranks) + 1) < INT64_SUM_BOUND else object
    weights = np.array([[weight // common_divisor for weight in row] for row in rows], dtype=dtype)
    n_grades = weights.shape[1]
    run_dtype: Any = np.int64 if n_grades ** len(ranks) < INT64_SUM_BOUND else object
    is_relevant = (np.arange(n_grades) >= rel).astype(np.int64)
    width = len(ranks) + 1
    # A sum and a number of relevant documents are encoded in one integer: sum * width + number.
    codes, n_runs = np.zeros(1, dtype=dtype), np.ones(1, dtype=run_dtype)
    for row in weights:
        if codes.size * n_grades > 16 * MAX_SUMS:
            raise TooManySumsError
        new_codes = (codes[:, None] + (row * width + is_relevant)[None, :]).ravel()
        order = np.argsort(new_codes, kind="stable")
        new_codes, n_runs = new_codes[order], np.repeat(n_runs, n_grades)[order]
        starts = np.flatnonzero(_is_first(new_codes))
        codes, n_runs = new_codes[starts], np.add.reduceat(n_runs, starts)
    sums, n_relevant = codes // width, (codes % width).astype(np.int64)
    is_first = _is_first(sums)
    keys = sums[is_first]
    if keys.size > MAX_SUMS:
        raise TooManySumsError
    unit = Fraction(common_divisor, denominator)
    index = np.cumsum(is_first) - 1
    return FormPart(tuple(ranks), unit, base, weights, keys, index, n_relevant, n_runs)


def count_runs(parts: Sequence[FormPart], max_relevant: int | None) -> int:
    """Count the runs with at most `max_relevant` relevant documents (None: all runs)."""
    if max_relevant is None:
        return prod(int(part.n_runs.sum()) for part in parts)
    return _count_tuples([(part.n_relevant, part.n_runs) for part in parts], max_relevant)


def count_sums(parts: Sequence[FormPart], max_relevant: int | None) -> int:
    """Count the values of runs with at most `max_relevant` relevant documents (None: all)."""
    if max_relevant is None:
        return prod(part.keys.size for part in parts)
    pairs = [(part.min_relevant, np.ones(part.keys.size, dtype=np.int64)) for part in parts]
    return _count_tuples(pairs, max_relevant)


def _count_tuples(parts: Sequence[tuple[NDArray[np.int64], BigInts]], max_relevant: int) -> int:
    """Count tuples of a sum of each part with at most `max_relevant` relevant documents."""
    totals: BigInts = np.ones(1, dtype=object)
    for counts, weights in parts:
        is_within = counts <= max_relevant
        polynomial = np.zeros(max_relevant + 1, dtype=object)
        np.add.at(polynomial, counts[is_within], weights[is_within].astype(object))
        totals = np.convolve(totals, polynomial)[: max_relevant + 1]
    return int(totals.sum())


MAX_STATES = 2**14
"""Maximum number of states of a stateful form, summed over ranks."""


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Distinct values as ascending integers, and their numbers of runs (empty if not counted)."""

    values: BigInts
    n_runs: BigInts

    @classmethod
    def join(cls, values: Sequence[BigInts], n_runs: Sequence[BigInts]) -> ValueCounts:
        """Merge arrays of ascending values, and add the counts of equal values."""
        if len(values) == 1:
            return cls(values[0], n_runs[0])
        merged_values = np.concatenate(values)
        if not n_runs[0].size:
            merged_values.sort(kind="stable")
            return cls(merged_values[_is_first(merged_values)], n_runs[0])
        order = np.argsort(merged_values, kind="stable")
        merged_values = merged_values[order]
        starts = np.flatnonzero(_is_first(merged_values))
        return cls(merged_values[starts], np.add.reduceat(np.concatenate(n_runs)[order], starts))


def _is_first(values: BigInts) -> Any:
    """Return a mask of the first occurrence of each number in an ascending array."""
    is_first = np.ones(values.size, dtype=bool)
    is_first[1:] = values[1:] != values[:-1]
    return is_first


@dataclass(frozen=True, eq=False)
class Walk:
    """The steps of a stateful form, rank by rank, in integer multiples of a unit.

    For each rank `gains` has the contributions, shape (states before the rank, grades + 1), and
    `targets` the indices of the next states, -1 if a step is impossible or not taken by any run.
    """

    unit: Fraction
    gains: tuple[BigInts, ...]
    targets: tuple[Ints, ...]

    @classmethod
    def from_form(cls, form: Stateful) -> Walk:
        """Make the walk of all runs."""
        return cls._follow(form, None)[0]

    @classmethod
    def compute_run_values(cls, form: Stateful, runs: Ints) -> tuple[BigInts, Fraction]:
        """Compute the values of some runs as integers, and their unit, without making all steps."""
        walk, steps = cls._follow(form, runs)
        values = np.zeros(len(runs), dtype=walk.dtype)
        for gains, step in zip(walk.gains, steps, strict=True):
            values += gains.ravel()[step]
        return values, walk.unit

    @classmethod
    def _follow(cls, form: Stateful, runs: Ints | None) -> tuple[Walk, list[NDArray[np.int32]]]:
        """Make the walk of some or all runs; also return the step of each run by rank.

        The index of a step is state * (grades + 1) + grade.
        """
        states: list[Hashable] = [form.start]
        contributions: list[list[Fraction]] = []
        targets_by_rank: list[Ints] = []
        steps: list[NDArray[np.int32]] = []
        n_states, n_grades = 0, form.max_grade + 1
        run_states = np.zeros(0 if runs is None else len(runs), dtype=np.int64)
        for rank in range(1, form.length + 1):
            n_states += len(states)
            if runs is None and n_states > MAX_STATES:
                raise PolicyError(
                    f"too many runs of length {form.length} with {n_grades} grades to compute their"
                    f" values exactly; use a length of at most {rank - 1}"
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
                state_before, grade = divmod(step, n_grades)
                outcome = form.step(rank, states[state_before], grade)
                if outcome is not None:
                    gains[step], state = outcome
                    targets[step] = new_states.setdefault(state, len(new_states))
            contributions.append(gains)
            targets_by_rank.append(targets.reshape(-1, n_grades))
            states = list(new_states)
            if runs is not None:
                run_states = targets[run_steps]
        gain_set = {gain for gains in contributions for gain in gains}
        denominator = lcm(*(gain.denominator for gain in gain_set))
        # Computed with integers, as reducing fractions is slow.
        numerators = {gain: gain.numerator * (denominator // gain.denominator) for gain in gain_set}
        divisor = gcd(*numerators.values()) or 1
        integers = [[numerators[gain] // divisor for gain in gains] for gains in contributions]
        max_sum = sum(max(map(abs, row)) for row in integers)
        dtype: Any = np.int64 if max_sum < INT64_SUM_BOUND else object
        tables = tuple(np.array(row, dtype=dtype).reshape(-1, n_grades) for row in integers)
        return cls(Fraction(divisor, denominator), tables, tuple(targets_by_rank)), steps

    @property
    def dtype(self) -> Any:
        return self.gains[0].dtype

    def compute_values(self, runs: Ints) -> BigInts:
        """Compute the values of runs as integer multiples of the unit."""
        state = np.zeros(len(runs), dtype=np.int64)
        value = np.zeros(len(runs), dtype=self.dtype)
        for gains, targets, grade in zip(self.gains, self.targets, runs.T, strict=True):
            value = value + gains[state, grade]
            state = targets[state, grade]
            if (state < 0).any():
                raise PolicyError(
                    "runs must have at most at_most relevant documents, got more for run"
                    f" {int(np.argmax(state < 0))}"
                )
        return value

    def prepend_rank(self, counts_by_state: Sequence[ValueCounts], rank: int) -> list[ValueCounts]:
        """Return the values of all ranks from `rank` on, by the state before it.

        `counts_by_state` has the values from the next rank on.
        """
        joined_counts = []
        for gains, targets in zip(self.gains[rank], self.targets[rank], strict=True):
            grades = np.flatnonzero(targets >= 0)
            next_counts = [counts_by_state[targets[grade]] for grade in grades]
            sums = [c.values + gains[grade] for c, grade in zip(next_counts, grades, strict=True)]
            joined_counts.append(ValueCounts.join(sums, [c.n_runs for c in next_counts]))
        return joined_counts

    def append_rank(self, counts_by_state: Sequence[ValueCounts], rank: int) -> list[ValueCounts]:
        """Return the values of all ranks down to `rank`, by the state after `rank`.

        `counts_by_state` has the values down to the previous rank.
        """
        gains, targets = self.gains[rank], self.targets[rank]
        values: list[list[BigInts]] = [[] for _ in range(int(targets.max()) + 1)]
        n_runs: list[list[BigInts]] = [[] for _ in values]
        for state, grade in zip(*np.nonzero(targets >= 0), strict=True):
            state_after = targets[state, grade]
            values[state_after].append(counts_by_state[state].values + gains[state, grade])
            n_runs[state_after].append(counts_by_state[state].n_runs)
        return list(map(ValueCounts.join, values, n_runs))

    def make_end_counts(self, counts_runs: bool) -> list[ValueCounts]:
        """Return the values after the last rank (only 0) for each state."""
        return [self._make_zero(counts_runs)] * (int(self.targets[-1].max()) + 1)

    def make_start_counts(self, counts_runs: bool) -> list[ValueCounts]:
        """Return the values before the first rank (only 0) for its state."""
        return [self._make_zero(counts_runs)]

    def _make_zero(self, counts_runs: bool) -> ValueCounts:
        return ValueCounts(
            np.zeros(1, dtype=self.dtype), np.ones(int(counts_runs), dtype=self.run_dtype)
        )

    @property
    def run_dtype(self) -> Any:
        n_runs = self.gains[0].shape[1] ** len(self.gains)
        return np.int64 if n_runs < INT64_SUM_BOUND else object

    def count_runs(self) -> int:
        counts = [1]
        for targets in self.targets:
            new_counts = [0] * (int(targets.max()) + 1)
            for state, grade in zip(*np.nonzero(targets >= 0), strict=True):
                new_counts[targets[state, grade]] += counts[state]
            counts = new_counts
        return sum(counts)


TOLERANCE = 2.0**-40
"""Neighbouring floats are tied if they differ by at most this fraction of the largest magnitude."""


@dataclass(frozen=True, eq=False)
class RunValues:
    """Values of several runs.

    `keys` has the distinct values, ascending, shape (values, bases), and `index` the index of each
    run's value. A row of keys represents the sum over bases of key * unit / ln(base). Without a
    form, keys are one column of floats.
    """

    keys: NDArray[Any]
    index: NDArray[np.int64]
    form: Form | None = None
    bases: tuple[Fraction, ...] = (ONE,)
    unit: Fraction = ONE

    @property
    def is_exact(self) -> bool:
        return self.form is not None

    @property
    def size(self) -> int:
        return len(self.keys)

    def get_value(self, index: int) -> Number:
        if self.form is None:
            return float(self.keys[index, 0])
        coefficients = (int(key) * self.unit for key in self.keys[index])
        terms = make_terms(zip(self.bases, coefficients, strict=True))
        exact_sum = divide_terms(terms, self.form.divisor)
        if self.form.factor != 1.0:
            return float(exact_sum) * self.form.factor + self.form.offset
        return exact_sum + self.form.constant

    def find_uneven_gap(self) -> int | None:
        """Return the index of the first gap unequal to gap 0; None if all gaps are equal."""
        if self.size < 3:
            return None
        gaps = self.keys[1:] - self.keys[:-1]
        if self.is_exact:
            is_uneven = (gaps != gaps[0]).any(axis=1)
        else:
            is_uneven = np.abs(gaps - gaps[0])[:, 0] > 4 * TOLERANCE * np.abs(self.keys).max()
        indices = np.flatnonzero(is_uneven)
        return int(indices[0]) if indices.size else None


def compute_exact_values(
    measure: Measure, runs: Ints, grades: int = 1, judgments: Sequence[int] | int | None = None
) -> RunValues:
    """Score runs, shape (runs, ranks), exactly if the measure has a form, otherwise as floats."""
    # Scoring one run raises the measure's own errors, such as for unsupported grades.
    score_runs(measure, runs[:1], grades=grades, judgments=judgments)
    exact_form = find_form(measure, runs.shape[1], grades, judgments)
    if exact_form is not None:
        return compute_form_values(exact_form, runs)
    floats = score_runs(measure, runs, grades=grades, judgments=judgments)
    distinct_values, index = merge_close_values(floats)
    return RunValues(distinct_values[:, None], index)


def merge_close_values(values: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distinct values, ascending, and the index of each value, up to `TOLERANCE`."""
    distinct_values, inverse = np.unique(values, return_inverse=True)
    is_new = np.diff(distinct_values) > TOLERANCE * np.abs(distinct_values).max(initial=0.0)
    group = np.concatenate([[0], np.cumsum(is_new)])
    return distinct_values[np.concatenate([[True], is_new])], group[inverse.ravel()]


def compute_form_values(exact_form: Form, runs: Ints) -> RunValues:
    """Compute the values of a form for runs, shape (runs, ranks)."""
    rows, bases, unit = _sum_form(exact_form.rank_sum, runs)
    if not exact_form.divisor:
        # Every run has the value of the constant.
        rows = np.zeros_like(rows)
    distinct_rows, index = _find_distinct_rows(rows)
    if len(bases) > 1:
        order = _sort_keys(distinct_rows, bases)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        distinct_rows, index = distinct_rows[order], rank[index]
    return RunValues(distinct_rows, index, exact_form, bases, unit)


def _sum_form(
    rank_sum: Additive | Stateful, runs: Ints
) -> tuple[NDArray[Any], tuple[Fraction, ...], Fraction]:
    """Sum a form for each run in multiples of a unit, with a column for each logarithm base."""
    if isinstance(rank_sum, Stateful):
        values, unit = Walk.compute_run_values(rank_sum, runs)
        return values[:, None], (ONE,), unit
    ranks = [rank for rank, row in enumerate(rank_sum.coefficients) if any(row)]
    bases = sorted({rank_sum.bases[rank] for rank in ranks}) or [ONE]
    denominator = lcm(*(weight.denominator for row in rank_sum.coefficients for weight in row))
    integers = [
        [int(weight * denominator) for weight in rank_sum.coefficients[rank]] for rank in ranks
    ]
    max_sum = sum(max(map(abs, row)) for row in integers)
    dtype: Any = np.int64 if max_sum < INT64_SUM_BOUND else object
    columns = {base: index for index, base in enumerate(bases)}
    rows = np.zeros((len(runs), len(bases)), dtype=dtype)
    for rank, row in zip(ranks, integers, strict=True):
        rows[:, columns[rank_sum.bases[rank]]] += np.array(row, dtype=dtype)[runs[:, rank]]
    return rows, tuple(bases), Fraction(1, denominator)


def _find_distinct_rows(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct rows, ascending if they have one column, and the index of each row."""
    codes, n_codes = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        unique_values, column_codes = np.unique(column, return_inverse=True)
        n_values = unique_values.size
        if n_codes * n_values >= INT64_SUM_BOUND:
            distinct_codes, codes = np.unique(codes, return_inverse=True)
            codes, n_codes = codes.ravel(), distinct_codes.size
        codes, n_codes = codes * n_values + column_codes.ravel(), n_codes * n_values
    _, first_rows, index = np.unique(codes, return_index=True, return_inverse=True)
    return rows[first_rows], np.asarray(index, dtype=np.int64).ravel()


def _sort_keys(keys: NDArray[Any], bases: Sequence[Fraction]) -> NDArray[np.int64]:
    """Return the exact order of distinct values: by floats, and close ones with more digits."""
    factors = np.array([compute_inverse_log(base) for base in bases])
    floats = keys.astype(np.float64)
    slack = (floats.shape[1] + 4) * 2.0**-51 * float((np.abs(floats) @ factors).max())
    floats = floats @ factors
    order = np.argsort(floats, kind="stable")
    is_close = np.diff(floats[order]) <= 2 * slack
    close_positions = np.flatnonzero(np.append(is_close, False) | np.append(False, is_close))
    # Groups of close values do not overlap, so that all are sorted at once.
    members = order[close_positions]
    for bits in iterate_precisions() if members.size else ():
        rows = keys[members].astype(object)
        sums = rows @ np.array([scale_inverse_log(base, bits) for base in bases], dtype=object)
        max_error = int(np.abs(rows).sum(axis=1).max())
        sum_order = np.argsort(sums, kind="stable")
        if (np.diff(sums[sum_order]) > 2 * max_error).all():
            order[close_positions] = members[sum_order]
            break
    return np.asarray(order, dtype=np.int64)
