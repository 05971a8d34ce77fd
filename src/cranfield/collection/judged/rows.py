"""Rows of judged documents, in order of (system, topic, rank): what measures sum over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import CranfieldError
from cranfield.collection.judged.segments import scan

_T = TypeVar("_T", bound=np.generic)
_Array = TypeVar("_Array", bound=NDArray[Any])
_EXACT = 2.0**52
"""Below this all sums of whole numbers are exact, however rounded on the way."""


@dataclass(frozen=True, eq=False)
class Later:
    """Numbers that are found out when somebody asks for them, which hardly anybody does."""

    found: Callable[[], Ints]

    def __getitem__(self, rows: Any) -> Later:
        return Later(lambda: self.found()[rows])

    def __reduce__(self) -> tuple[Any, ...]:
        # What is sent or kept is small, and the same as if they had been known.
        return np.asarray, (self.found(),)


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a table of judged documents, in order of cell and rank.

    Attributes
    ----------
    cell
        The (system, topic) that each row belongs to, as one number.
    rank
        Rank of the document, from 1.
    grade
        Its grade.
    shape
        (topics, systems).
    gains
        Gain of each row, where rows were made from gains.
    source
        Where each row's judgment stands in the judgments; or the rows that these were chosen from,
        with the choice.
    """

    cell: Ints
    rank: Ints
    grade: Ints
    shape: tuple[int, int]
    gains: Floats = field(default_factory=lambda: np.empty(0))
    source: Ints | Later | tuple[Rows, Ints | None] | None = None

    @cached_property
    def judgment(self) -> Ints:
        """Judgment of each row, as an index into the judgments' arrays.

        It is looked up when it is first asked for: most measures never do.
        """
        if self.source is None:
            raise CranfieldError("these judged runs do not say which judgment a row comes from")
        if isinstance(self.source, Later):
            return self.source.found()
        if not isinstance(self.source, tuple):
            return self.source
        rows, chosen = self.source
        return rows.judgment if chosen is None else rows.judgment[chosen]

    @cached_property
    def sizes(self) -> Ints:
        """Rows of each cell, in order of cell; shape (topics * systems,)."""
        return _kept(np.bincount(self.cell, minlength=self.shape[0] * self.shape[1]))

    @cached_property
    def starts(self) -> Ints:
        """Where the rows of each cell begin, in order of cell; shape (topics * systems,)."""
        return _kept(np.cumsum(self.sizes) - self.sizes)

    @cached_property
    def seen(self) -> Ints:
        """How many of these rows the cell has had so far, this one included."""
        before = np.repeat(self.starts - 1, self.sizes)
        return _kept(np.arange(self.cell.size) - before)

    @cached_property
    def topic(self) -> Ints:
        """Topic of each row, as an index."""
        return _kept(np.asarray(self.cell % self.shape[0]))

    @property
    def count(self) -> Ints:
        """Rows of each cell; shape (topics, systems)."""
        return self._table(self.sizes)

    @cached_property
    def cumulated(self) -> Floats:
        """Cumulated gain: for each row the sum of its cell's gains so far, its own included."""
        if self.gains.size != self.cell.size:
            raise CranfieldError("these rows have grades, and no gains yet: a measure gives them")
        return _kept(self.running(self.gains))

    def total(self, values: NDArray[Any]) -> Floats:
        """Sum values over each cell's rows, in order of rank; shape (topics, systems)."""
        cells = self.shape[0] * self.shape[1]
        return self._table(np.bincount(self.cell, weights=values, minlength=cells)).astype(float)

    def running(self, values: NDArray[Any]) -> Floats:
        """For each row the sum of its cell's values so far, its own included."""
        given = np.asarray(values, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            # Sums of whole numbers are exact, and so is one less another: gains mostly are whole.
            if np.abs(given).sum() < _EXACT and (given == np.trunc(given)).all():
                return self._since_start(np.cumsum(given), given)
            return scan(given, self.seen, np.add)

    def counted(self, chosen: NDArray[np.bool_]) -> Ints:
        """For each row how many of its cell's rows so far, its own included, are chosen."""
        return self._since_start(np.cumsum(chosen, dtype=np.int64), chosen)

    def _since_start(self, total: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        """Running totals of the whole table, less what they are before the row's cell."""
        some = self.sizes > 0
        first = self.starts[some]
        before: NDArray[Any] = total[first] - values[first]
        out: NDArray[Any] = total - np.repeat(before, self.sizes[some])
        return out

    def running_product(self, values: NDArray[Any]) -> Floats:
        """For each row the product of its cell's values so far, its own included."""
        changing = values != 1
        if changing.all():
            return scan(values, self.seen, np.multiply)
        # Factors that are not 1 are enough. Only they are multiplied, however many there are, so
        # that what a cell has does not depend on the others to the last bit.
        product = scan(values[changing], self.where(changing).seen, np.multiply)
        so_far = np.append(product, 1.0)[np.cumsum(changing) - 1]
        return np.where(self.counted(changing) > 0, so_far, 1.0)

    def before(self, values: NDArray[_T], start: float) -> NDArray[_T]:
        """For each row the value of the row before it in its cell, and `start` for the first."""
        out = np.empty_like(values)
        out[1:] = values[:-1]
        out[self.starts[self.sizes > 0]] = start
        return out

    def after(self, values: NDArray[_T], end: float) -> NDArray[_T]:
        """For each row the value of the row after it in its cell, and `end` for the last."""
        out = np.empty_like(values)
        out[:-1] = values[1:]
        out[(self.starts + self.sizes - 1)[self.sizes > 0]] = end
        return out

    def firsts(self, values: NDArray[_T], empty: float) -> NDArray[_T]:
        """Value of each cell's first row, and `empty` for a cell without; (topics, systems)."""
        out = np.full(self.sizes.size, empty, dtype=values.dtype)
        out[self.sizes > 0] = values[self.starts[self.sizes > 0]]
        return self._table(out)

    def lasts(self, values: NDArray[_T], empty: float) -> NDArray[_T]:
        """Value of each cell's last row, and `empty` for a cell without; (topics, systems)."""
        out = np.full(self.sizes.size, empty, dtype=values.dtype)
        out[self.sizes > 0] = values[(self.starts + self.sizes - 1)[self.sizes > 0]]
        return self._table(out)

    def by_rank(self, value: Callable[[Floats], Floats]) -> Floats:
        """Look up, for each row, the value of its rank: a function of ranks from 1, as floats.

        The function sees each rank once, which makes powers and logarithms cheap.
        """
        deepest = int(self.rank.max(initial=0))
        table: Floats = np.asarray(value(np.arange(1.0, deepest + 1)))
        return table[self.rank - 1]

    def largest(self, values: NDArray[Any]) -> Floats:
        """Largest value of each cell, 0 for a cell without rows; shape (topics, systems)."""
        best = np.zeros(self.sizes.size)
        some = self.sizes > 0
        if some.any():
            best[some] = np.maximum(np.maximum.reduceat(values, self.starts[some]), 0.0)
        return self._table(best)

    def where(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return the chosen rows."""
        rows = np.flatnonzero(chosen)
        if rows.size == self.cell.size:
            return self
        gains = self.gains[rows] if self.gains.size else self.gains
        return Rows(
            self.cell[rows], self.rank[rows], self.grade[rows], self.shape, gains, (self, rows)
        )

    def with_gains(self, gains: Floats) -> Rows:
        """Return the same rows with other gains; what is known of their order stays known."""
        rows = Rows(self.cell, self.rank, self.grade, self.shape, gains, (self, None))
        vars(rows).update({name: getattr(self, name) for name in ("sizes", "starts", "seen")})
        return rows

    def at(self, per_cell: NDArray[_T]) -> NDArray[_T]:
        """Look up, for each row, the value of its cell in a (topics, systems) or (topics, 1)."""
        return np.repeat(np.broadcast_to(per_cell, self.shape).T.ravel(), self.sizes)

    def _table(self, flat: NDArray[Any]) -> NDArray[Any]:
        return flat.reshape(self.shape[1], self.shape[0]).T


def _kept(array: _Array) -> _Array:
    """Protect an array that is kept from those who are given it."""
    array.flags.writeable = False
    return array


NO_TIES: Ints = np.zeros((5, 0), dtype=np.int64)
"""Ties of a run without any; rows are cell, rank, grade, first rank of the group, and its size."""


def condensed_ties(ties: Ints, judged: Rows) -> Ints:
    """Return the ties at the ranks of condensed lists, which have only the judged documents."""
    cell, rank, grade, first, _ = ties
    at, kept = places_in(judged.cell << 32 | judged.rank, cell << 32 | rank)
    ranks = judged.seen[at[kept]]
    groups = (cell << 32 | first)[kept]
    _, begin, size = np.unique(groups, return_index=True, return_counts=True)
    firsts = np.minimum.reduceat(ranks, begin) if ranks.size else ranks
    return np.stack(
        [cell[kept], ranks, grade[kept], np.repeat(firsts, size), np.repeat(size, size)]
    )


def places_in(keys: Ints, wanted: Ints) -> tuple[Ints, Bools]:
    """Find where keys are in a sorted array, and which of them are in it."""
    at = np.searchsorted(keys, wanted)
    return at, np.append(keys, -1)[at] == wanted
