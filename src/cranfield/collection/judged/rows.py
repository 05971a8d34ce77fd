"""Tables of judged documents in order of (system, topic, rank), and judgments by topic.

A cell is the ranking of one system for one topic, numbered as system * topics + topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import CranfieldError, as_numbers, check_integer


def number_rows(cells: NDArray[Any]) -> Ints:
    """Number the rows of each cell from 1; rows of a cell must be adjacent."""
    rows = np.arange(cells.size, dtype=np.int64)
    is_first = np.ones(cells.size, dtype=bool)
    is_first[1:] = cells[1:] != cells[:-1]
    return rows - np.maximum.accumulate(np.where(is_first, rows, 0)) + 1


def join_ranges(starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """Concatenate ranges of integers; return the range number of each integer, and the integers."""
    sizes = stops - starts
    range_numbers = np.repeat(np.arange(sizes.size), sizes)
    return range_numbers, np.arange(range_numbers.size) + np.repeat(
        starts - (np.cumsum(sizes) - sizes), sizes
    )


def scan(values: Floats, row_numbers: Ints, combine: Callable[..., Any]) -> Floats:
    """Combine values cumulatively in each cell: `np.add` for sums, `np.multiply` for products.

    `row_numbers` are those of :func:`number_rows`.
    """
    out = np.array(values, dtype=np.float64)
    step = 1
    max_size = int(row_numbers.max(initial=0))
    rows = np.arange(row_numbers.size)
    while step < max_size:
        rows = rows[row_numbers[rows] > step]
        out[rows] = combine(out[rows], out[rows - step])
        step *= 2
    return out


def make_row_keys(cell: Ints, rank: Ints) -> Ints:
    """Return the cell and the rank (below 2^32) of each row as one number."""
    return cell << 32 | rank


def divide(numerator: NDArray[Any], denominator: NDArray[Any]) -> Floats:
    """Divide two arrays; the ratio is 0 for a denominator of 0, as in trec_eval."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    dtype = np.result_type(numerator, denominator, np.float64)
    out: Floats = np.zeros(numerator.shape, dtype)
    with np.errstate(invalid="ignore"):
        np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


_T = TypeVar("_T", bound=np.generic)
_Array = TypeVar("_Array", bound=NDArray[Any])
_MAX_EXACT = 2.0**52
"""Sums of whole numbers below this bound are exact, whatever the order of summation."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a table of judged documents, in order of cell and rank.

    Attributes
    ----------
    cell
        The (system, topic) pair of each row, as one number.
    rank
        Rank of the document, from 1.
    grade
        Grade of the document.
    shape
        Number of topics, and number of systems.
    gains
        Gain of each row; empty for rows without gains.
    source
        Index of each row's judgment; or, for rows selected from another table, this table and the
        selected row numbers (None for all rows).
    """

    cell: Ints
    rank: Ints
    grade: Ints
    shape: tuple[int, int]
    gains: Floats = field(default_factory=lambda: np.empty(0))
    source: Ints | tuple[Rows, Ints | None] | None = None

    def __post_init__(self) -> None:
        for array in (self.cell, self.rank, self.grade, self.gains):
            make_read_only(array)

    @property
    def keys(self) -> Ints:
        """Cell and rank of each row as one number, ascending."""
        return make_row_keys(self.cell, self.rank)

    @cached_property
    def judgment(self) -> Ints:
        """Judgment of each row, as an index into the arrays of `Judgments`; looked up on access."""
        if self.source is None:
            raise CranfieldError(
                "expected rows with the judgment of each document, as judge() creates, got none"
            )
        if not isinstance(self.source, tuple):
            return self.source
        rows, selection = self.source
        return rows.judgment if selection is None else rows.judgment[selection]

    @cached_property
    def sizes(self) -> Ints:
        """Number of rows of each cell; shape (topics * systems,)."""
        return make_read_only(np.bincount(self.cell, minlength=self.shape[0] * self.shape[1]))

    @cached_property
    def starts(self) -> Ints:
        """Position of the first row of each cell; shape (topics * systems,)."""
        return make_read_only(np.cumsum(self.sizes) - self.sizes)

    @cached_property
    def row_numbers(self) -> Ints:
        """Number of each row within its cell, from 1."""
        before = np.repeat(self.starts - 1, self.sizes)
        return make_read_only(np.arange(self.cell.size) - before)

    @cached_property
    def topic(self) -> Ints:
        """Topic of each row, as an index."""
        return make_read_only(np.asarray(self.cell % self.shape[0]))

    @property
    def n_rows(self) -> Ints:
        """Number of rows of each cell; shape (topics, systems)."""
        return self._reshape(self.sizes)

    @cached_property
    def cumulated(self) -> Floats:
        """Cumulated gain: the sum of the gains of the same cell up to and including each row."""
        if self.gains.size != self.cell.size:
            raise CranfieldError("expected rows with gains (Rows.with_gains), got grades only")
        return make_read_only(self.cumulate(self.gains))

    def total(self, values: NDArray[Any]) -> Floats:
        """Sum the values of each cell, in order of rank; shape (topics, systems)."""
        n_cells = self.sizes.size
        return self._reshape(np.bincount(self.cell, values, n_cells)).astype(float)

    def cumulate(self, values: NDArray[Any]) -> Floats:
        """Return the running sum of values within each cell."""
        values = np.asarray(values, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            # Sums of whole numbers and their differences are exact, and most gains are whole.
            if np.abs(values).sum() < _MAX_EXACT and (values == np.trunc(values)).all():
                return self._restart_in_cells(np.cumsum(values), values)
            return scan(values, self.row_numbers, np.add)

    def cumulate_counts(self, is_selected: NDArray[np.bool_]) -> Ints:
        """Return the running count of selected rows within each cell."""
        return self._restart_in_cells(np.cumsum(is_selected, dtype=np.int64), is_selected)

    def _restart_in_cells(self, total: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        """Convert running totals of the whole table to running totals within each cell."""
        is_filled = self.sizes > 0
        first = self.starts[is_filled]
        before: NDArray[Any] = total[first] - values[first]
        out: NDArray[Any] = total - np.repeat(before, self.sizes[is_filled])
        return out

    def cumulate_products(self, values: NDArray[Any]) -> Floats:
        """Return the running product of values within each cell."""
        is_factor = values != 1
        if is_factor.all():
            return scan(values, self.row_numbers, np.multiply)
        # Factors of 1 are skipped, so that the last bit does not depend on the number of such rows.
        factors = scan(values[is_factor], self.where(is_factor).row_numbers, np.multiply)
        products = np.append(factors, 1.0)[np.cumsum(is_factor) - 1]
        return np.where(self.cumulate_counts(is_factor) > 0, products, 1.0)

    def get_previous(self, values: NDArray[_T], start: float) -> NDArray[_T]:
        """Return the value of the previous row of the same cell; `start` for a first row."""
        out = np.empty_like(values)
        out[1:] = values[:-1]
        out[self.starts[self.sizes > 0]] = start
        return out

    def get_next(self, values: NDArray[_T], end: float) -> NDArray[_T]:
        """Return the value of the next row of the same cell; `end` for a last row."""
        out = np.empty_like(values)
        out[:-1] = values[1:]
        out[(self.starts + self.sizes - 1)[self.sizes > 0]] = end
        return out

    def get_firsts(self, values: NDArray[_T], default: float) -> NDArray[_T]:
        """Return the value of each cell's first row, `default` without rows; (topics, systems)."""
        return self._get_values(self.starts, values, default)

    def get_lasts(self, values: NDArray[_T], default: float) -> NDArray[_T]:
        """Return the value of each cell's last row, `default` without rows; (topics, systems)."""
        return self._get_values(self.starts + self.sizes - 1, values, default)

    def _get_values(self, rows: Ints, values: NDArray[_T], default: float) -> NDArray[_T]:
        """Return the value of a row of each cell, `default` without rows; (topics, systems)."""
        out = np.full(self.sizes.size, default, dtype=values.dtype)
        out[self.sizes > 0] = values[rows[self.sizes > 0]]
        return self._reshape(out)

    def map_ranks(self, function: Callable[[Floats], Floats]) -> Floats:
        """Return the value of a vectorised function of the rank for each row."""
        max_rank = int(self.rank.max(initial=0))
        by_rank: Floats = np.asarray(function(np.arange(1.0, max_rank + 1)))
        return by_rank[self.rank - 1]

    def find_maxima(self, values: NDArray[Any]) -> Floats:
        """Return the largest value of each cell, at least 0; shape (topics, systems)."""
        out = np.zeros(self.sizes.size)
        is_filled = self.sizes > 0
        if is_filled.any():
            out[is_filled] = np.maximum(np.maximum.reduceat(values, self.starts[is_filled]), 0.0)
        return self._reshape(out)

    def where(self, is_selected: NDArray[np.bool_]) -> Rows:
        """Return the selected rows."""
        rows = np.flatnonzero(is_selected)
        if rows.size == self.cell.size:
            return self
        gains = self.gains[rows] if self.gains.size else self.gains
        return Rows(
            self.cell[rows], self.rank[rows], self.grade[rows], self.shape, gains, (self, rows)
        )

    def with_gains(self, gains: Floats) -> Rows:
        """Return the rows with other gains; cached properties of their order are reused."""
        rows = Rows(self.cell, self.rank, self.grade, self.shape, gains, (self, None))
        cached_names = ("sizes", "starts", "row_numbers")
        vars(rows).update({name: getattr(self, name) for name in cached_names})
        return rows

    def at(self, per_cell: NDArray[_T]) -> NDArray[_T]:
        """Return the cell's value for each row; `per_cell` is (topics, systems) or (topics, 1)."""
        return np.repeat(np.broadcast_to(per_cell, self.shape).T.ravel(), self.sizes)

    def _reshape(self, values: NDArray[Any]) -> NDArray[Any]:
        return values.reshape(self.shape[1], self.shape[0]).T


def make_read_only(array: _Array) -> _Array:
    """Make an array read-only, since all measures share it."""
    array.flags.writeable = False
    return array


NO_TIES: Ints = np.zeros((5, 0), dtype=np.int64)
"""No tied documents: an array with rows cell, rank, grade, first rank and size of the group."""

NO_TIE_GROUPS: Ints = np.zeros((3, 0), dtype=np.int64)
"""No groups of ties: an array with rows cell, first rank and size of each group."""


def condense_tie_groups(groups: Ints, judged: Rows) -> Ints:
    """Restrict groups of ties to judged documents, with their ranks among these."""
    cell, first, size = groups
    keys = judged.keys
    start, stop = (np.searchsorted(keys, cell << 32 | rank) for rank in (first, first + size))
    is_group = stop - start > 1
    start, stop = start[is_group], stop[is_group]
    return np.stack([cell[is_group], judged.row_numbers[start], stop - start])


def permute_ties(rows: Rows, groups: Ints, shift: Callable[[Ints, Ints], Ints]) -> Rows:
    """Permute tied documents; `shift(positions, sizes)` returns new positions in groups, from 0."""
    cell, first, size = groups[:, np.lexsort((groups[1], groups[0]))]
    # The last group, which is empty, is that of rows before the first group of ties.
    starts, sizes = np.append(cell << 32 | first, -1), np.append(size, 0)
    keys = rows.keys
    group = np.searchsorted(starts[:-1], keys, "right") - 1
    position = keys - starts[group]
    is_tied = position < sizes[group]
    offset = shift(position, np.maximum(sizes[group], 1)) - position
    rank = rows.rank + np.where(is_tied, offset, 0)
    order = np.argsort(rows.cell << 32 | rank, kind="stable")
    gains = rows.gains[order] if rows.gains.size else rows.gains
    return Rows(rows.cell[order], rank[order], rows.grade[order], rows.shape, gains, (rows, order))


def condense_ties(ties: Ints, judged: Rows) -> Ints:
    """Restrict ties to judged documents, with their ranks in the ranking of judged documents."""
    cell, rank, grade, first, _ = ties
    positions, is_judged = find_positions(judged.keys, cell << 32 | rank)
    ranks = judged.row_numbers[positions[is_judged]]
    groups = (cell << 32 | first)[is_judged]
    _, starts, size = np.unique(groups, return_index=True, return_counts=True)
    firsts = np.minimum.reduceat(ranks, starts) if ranks.size else ranks
    return np.stack(
        [cell[is_judged], ranks, grade[is_judged], np.repeat(firsts, size), np.repeat(size, size)]
    )


def find_positions(keys: Ints, values: Ints) -> tuple[Ints, Bools]:
    """Return the position of each value in sorted keys, and whether it occurs there."""
    positions = np.searchsorted(keys, values)
    return positions, np.append(keys, -1)[positions] == values


@dataclass(frozen=True, eq=False)
class Judgments:
    """The grades of the judgments by topic, without document ids.

    Attributes
    ----------
    n_topics
        Number of topics.
    topic, grade
        Topic and grade of each judgment, ordered by topic and descending grade.
    judged_from
        The lowest grade of documents that count as judged.
    max_grade
        The highest grade of the scale: that of the policy, else of all judgments, including those
        of excluded topics.
    columns
        Other columns of the judgments by name, such as `class` or `stratum`.
    cache
        Values computed from the judgments, by key.
    """

    n_topics: int
    topic: Ints
    grade: Ints
    judged_from: int
    max_grade: int = 0
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for array in (self.topic, self.grade, *self.columns.values()):
            make_read_only(array)

    def count(self, low: int, high: int | None = None) -> Ints:
        """Count the judged documents with low <= grade (< high, if set); shape (topics, 1)."""
        check_integer("low", low, -(2**63))
        key = ("count", max(low, self.judged_from), high)
        counts: Ints | None = self.cache.get(key)
        if counts is None:
            is_counted = self.grade >= max(low, self.judged_from)
            if high is not None:
                is_counted &= self.grade < high
            counts = np.bincount(self.topic[is_counted], minlength=self.n_topics)[:, None]
            self.cache[key] = make_read_only(counts)
        return counts

    def make_ideal_ranking(self, gains: Floats) -> Rows:
        """Return the ideal ranking: the judgments with positive gains, the highest first."""
        gains = as_numbers(gains, "gains")
        # Judgments are in order of grade, which usually is the order of gains.
        is_same_topic = self.topic[1:] == self.topic[:-1]
        is_ordered = (self.topic[1:] > self.topic[:-1]) | (
            is_same_topic & (gains[1:] <= gains[:-1])
        )
        order = np.flatnonzero(gains > 0)
        if not is_ordered.all():
            order = order[np.lexsort((-gains[order], self.topic[order]))]
        topic = self.topic[order]
        return Rows(topic, number_rows(topic), self.grade[order], (self.n_topics, 1), gains[order])


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of documents, such as their providers.

    Attributes
    ----------
    names
        Names of the groups.
    rows
        A row for each retrieved document and each of its groups, judged or not: `grade` is the
        group, as an index into `names`, and `gains` the weight of the document in it.
    judgment, group, weight
        Index of the judgment, index of the group, and weight, for the judged documents.
    """

    names: tuple[str, ...]
    rows: Rows
    judgment: Ints
    group: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class Clicks:
    """Clicks of sessions, by cell and time; a cell is a (system, session) pair as one number.

    query, rank: number of the query whose list was clicked, and the rank in it, both from 1.
    length: number of characters of the document, NaN if unknown.
    grade: grade of the document, 0 if unjudged.
    is_repeated: whether the document was clicked before in the session.
    snippet_length: number of characters of snippets down to the rank, NaN if unknown.
    """

    cell: Ints
    query: Ints
    rank: Ints
    length: Floats
    grade: Ints
    is_repeated: Bools
    snippet_length: Floats
