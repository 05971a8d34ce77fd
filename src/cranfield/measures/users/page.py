"""Pages of rankings: gains, lengths and costs by rank, for many rankings at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows

_CELLS = 1 << 19
"""Ranks per block: few enough for the caches of a processor, many enough for NumPy."""


def view_probabilities(continuation: Floats) -> Floats:
    """Return V from C: the probability that each rank is read, 1 for the first."""
    views = np.ones(continuation.shape)
    np.cumprod(continuation[..., :-1], axis=-1, out=views[..., 1:])
    return views


@dataclass(frozen=True, eq=False)
class Page:
    """Pages of results: arrays with a row for each ranking and a column for each rank.

    Attributes
    ----------
    gains
        Gain of each rank; shape (rankings, ranks).
    retrieved
        Documents that each ranking has; beyond them ranks are empty. Shape (rankings, 1).
    relevant
        Relevant documents of each ranking's topic, retrieved or not; shape (rankings, 1).
    lengths
        Length of the document at each rank, NaN where it is unknown or there is no document; None
        if lengths do not matter.
    costs
        Cost of reading each rank; shape (rankings, ranks).
    grades
        Grade of the document at each rank, NaN where there is no judgment or no document; None if
        a model does not use grades.
    """

    gains: Floats
    retrieved: Ints
    relevant: Ints
    lengths: Floats | None = None
    costs: Floats = field(default_factory=lambda: np.ones((1, 1)))
    grades: Floats | None = None

    @cached_property
    def rank(self) -> Ints:
        """Ranks, from 1; shape (1, ranks)."""
        return np.arange(1, self.gains.shape[1] + 1)[None, :]

    @cached_property
    def listed(self) -> NDArray[np.bool_]:
        """Mask of ranks with a document."""
        return np.asarray(self.rank <= self.retrieved)


@dataclass(frozen=True, eq=False)
class Reading:
    """Reading of the rankings of a page: probabilities, costs and expected gains.

    Attributes
    ----------
    page
        The rankings.
    continuation
        C: the probability that a user who reads a rank goes on; shape (rankings, ranks).
    """

    page: Page
    continuation: Floats

    @cached_property
    def viewed(self) -> Floats:
        """V: the probability that each rank is read."""
        return view_probabilities(self.continuation)

    @property
    def weights(self) -> Floats:
        """W: the proportion of attention that each rank gets."""
        return np.asarray(self.viewed / self.depth[:, None])

    @property
    def last(self) -> Floats:
        """L: the probability that each rank is the last one read; all stop at the last rank."""
        views = self.viewed
        after = np.zeros(views.shape)
        after[:, :-1] = views[:, 1:]
        return np.asarray(views - after)

    @cached_property
    def depth(self) -> Floats:
        """Ranks that are read: the sum of V, which is 1 / W(1)."""
        return np.asarray(self.viewed.sum(axis=1))

    @cached_property
    def total(self) -> Floats:
        """ETU, the gain until the user stops: the sum of V(i) g(i)."""
        return self._sum(self.page.gains)

    @cached_property
    def total_cost(self) -> Floats:
        """ETC, the cost until the user stops: the sum of V(i) c(i)."""
        return self._sum(self.page.costs)

    @property
    def utility(self) -> Floats:
        """EU, the gain per rank read: the sum of W(i) g(i)."""
        return np.asarray(self.total / self.depth)

    @property
    def cost(self) -> Floats:
        """EC, the cost per rank read: the sum of W(i) c(i)."""
        return np.asarray(self.total_cost / self.depth)

    def _sum(self, values: Floats) -> Floats:
        return np.asarray(
            np.einsum("ij,ij->i", self.viewed, np.broadcast_to(values, self.page.gains.shape))
        )


def costs_by_length(
    page: Page, unit: float, fixed: float = 0.0, missing: float | None = None
) -> Floats:
    """Return the costs of documents: `fixed` plus `unit` times the length.

    `missing` is the length of documents whose length is not known, and of ranks beyond the list;
    without it, ranks beyond the list have length 0.
    """
    return np.asarray(fixed + unit * fill_lengths(page, missing))


def fill_lengths(page: Page, missing: float | None) -> Floats:
    """Return the lengths of documents, `missing` for unknown ones; without it 0 beyond the list."""
    assert page.lengths is not None
    if missing is not None:
        return np.where(np.isnan(page.lengths), missing, page.lengths)
    return np.where(page.listed, page.lengths, 0.0)


def page_of(
    gains: ArrayLike, lengths: ArrayLike | None = None, grades: ArrayLike | None = None
) -> Page:
    """Create a page from gains; all relevant documents are assumed to be retrieved."""
    worth = _table("gains", gains)
    if not (worth >= 0).all():
        raise MeasureError("gains must be at least 0")
    length_table = None if lengths is None else _table("lengths", lengths)
    grade_table = None if grades is None else _table("grades", grades)
    for name, table in (("lengths", length_table), ("grades", grade_table)):
        if table is not None and table.shape != worth.shape:
            raise MeasureError(
                f"expected {name} of shape {worth.shape}, as gains have, got {table.shape}"
            )
    retrieved = np.full((worth.shape[0], 1), worth.shape[1])
    relevant = np.count_nonzero(worth, axis=1)[:, None]
    return Page(worth, retrieved, relevant, length_table, grades=grade_table)


def pages(
    judged: JudgedRuns,
    rows: Rows,
    gains: Floats,
    depth: int,
    *,
    fill_value: float,
    relevant: Ints,
    lengths: Rows | None,
    grade: float | None = None,
) -> Iterator[Page]:
    """Yield blocks of rankings as tables of ranks down to a depth, in order of cell.

    `gains` are those of judged documents, `fill_value` is the gain at all other ranks: of documents
    without a judgment, and beyond the list. `relevant` counts the relevant documents of each topic,
    shape (topics, 1); `lengths` has rows of documents with a known length, if lengths matter, and
    `grade` is the grade of all other ranks, if grades do.
    """
    cells = judged.shape[0] * judged.shape[1]
    retrieved = judged.retrieved.T.reshape(-1, 1)
    base = np.broadcast_to(relevant, judged.shape).T.reshape(-1, 1)
    step = max(1, _CELLS // depth)
    for start in range(0, cells, step):
        stop = min(start + step, cells)
        shape = (stop - start, depth)
        worth = _fill_table(rows, gains, start, shape, fill_value)
        length_table = None
        if lengths is not None:
            length_table = _fill_table(lengths, lengths.gains, start, shape, np.nan)
        grade_table = None
        if grade is not None:
            grade_table = _fill_table(rows, rows.grade.astype(np.float64), start, shape, grade)
        yield Page(worth, retrieved[start:stop], base[start:stop], length_table, grades=grade_table)


def _fill_table(
    rows: Rows, values: Floats, start: int, shape: tuple[int, int], fill_value: float
) -> Floats:
    out = np.full(shape, fill_value)
    first, last = np.searchsorted(rows.cell, [start, start + shape[0]])
    inside = slice(int(first), int(last))
    is_shown = rows.rank[inside] <= shape[1]
    cell, rank = rows.cell[inside][is_shown] - start, rows.rank[inside][is_shown] - 1
    out[cell, rank] = values[inside][is_shown]
    return out


def _table(name: str, values: Any) -> Floats:
    try:
        table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise MeasureError(f"{name} must be a table of numbers") from None
    if table.ndim != 2 or table.shape[1] == 0:
        raise MeasureError(f"{name} must have at least one rank")
    return table
