"""Pages of rankings: gains, lengths and costs by rank, for many rankings at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows

_BLOCK_RANKS = 1 << 19
"""Number of ranks per block: few enough for processor caches, many enough for NumPy."""


def compute_views(continuation: Floats) -> Floats:
    """Return the view probabilities V of ranks, 1 for the first, from their continuation C."""
    views = np.ones(continuation.shape)
    np.cumprod(continuation[..., :-1], axis=-1, out=views[..., 1:])
    return views


def shift_ranks(values: Floats) -> Floats:
    """Return the value of the next rank, for each rank of each ranking; 0 for the last rank."""
    return np.pad(values[:, 1:], ((0, 0), (0, 1)))


def join_pages(values_by_page: Iterable[Floats], shape: tuple[int, int]) -> Floats:
    """Join the values of all pages, of shape (..., rankings), to shape (..., topics, systems)."""
    values = np.concatenate(list(values_by_page), axis=-1)
    return values.reshape(*values.shape[:-1], *shape[::-1]).swapaxes(-1, -2)


@dataclass(frozen=True, eq=False)
class Page:
    """A block of rankings: arrays with a row for each ranking and a column for each rank.

    Attributes
    ----------
    gains
        Gain of each rank; shape (rankings, ranks).
    n_retrieved
        Number of documents of each ranking, beyond which ranks are empty; shape (rankings, 1).
    n_relevant
        Number of relevant documents of the topic, retrieved or not; shape (rankings, 1).
    lengths
        Length of the document at each rank, NaN where it is unknown or there is no document; None
        if the model does not use lengths.
    costs
        Cost of reading each rank; shape (rankings, ranks).
    grades
        Grade of the document at each rank, NaN where there is no judgment or no document; None if
        the model does not use grades.
    """

    gains: Floats
    n_retrieved: Ints
    n_relevant: Ints
    lengths: Floats | None = None
    costs: Floats = field(default_factory=lambda: np.ones((1, 1)))
    grades: Floats | None = None

    @cached_property
    def rank(self) -> Ints:
        """Ranks, from 1; shape (1, ranks)."""
        return np.arange(1, self.gains.shape[1] + 1)[None, :]

    @cached_property
    def has_document(self) -> NDArray[np.bool_]:
        """Mask of ranks with a document."""
        return np.asarray(self.rank <= self.n_retrieved)


@dataclass(frozen=True, eq=False)
class UserBehaviour:
    """Behaviour of users who read the rankings of a page: probabilities, expected gains and costs.

    Attributes
    ----------
    page
        The rankings.
    continuation
        C: the probability that a user who reads a rank reads the next; shape (rankings, ranks).
    """

    page: Page
    continuation: Floats

    @cached_property
    def viewed(self) -> Floats:
        """V: the probability that each rank is read; shape (rankings, ranks)."""
        return compute_views(self.continuation)

    @property
    def weights(self) -> Floats:
        """W: the proportion of attention that each rank gets; shape (rankings, ranks)."""
        return np.asarray(self.viewed / self.depth[:, None])

    @property
    def last(self) -> Floats:
        """L: the probability that each rank is the last one read; shape (rankings, ranks)."""
        # All users stop at the last rank.
        return np.asarray(self.viewed - shift_ranks(self.viewed))

    @cached_property
    def depth(self) -> Floats:
        """Expected number of ranks read: the sum of V, which is 1 / W(1)."""
        return np.asarray(self.viewed.sum(axis=1))

    @cached_property
    def total_utility(self) -> Floats:
        """ETU, the gain until the user stops: the sum of V(i) g(i)."""
        return self._sum(self.page.gains)

    @cached_property
    def total_cost(self) -> Floats:
        """ETC, the cost until the user stops: the sum of V(i) c(i)."""
        return self._sum(self.page.costs)

    @property
    def utility(self) -> Floats:
        """EU, the gain per rank read: the sum of W(i) g(i)."""
        return np.asarray(self.total_utility / self.depth)

    @property
    def cost(self) -> Floats:
        """EC, the cost per rank read: the sum of W(i) c(i)."""
        return np.asarray(self.total_cost / self.depth)

    def _sum(self, values: Floats) -> Floats:
        return np.asarray(
            np.einsum("ij,ij->i", self.viewed, np.broadcast_to(values, self.page.gains.shape))
        )


def weigh_lengths(
    page: Page, unit: float, fixed: float = 0.0, missing: float | None = None
) -> Floats:
    """Return `fixed` plus `unit` times the length of each rank; see :func:`fill_lengths`."""
    return np.asarray(fixed + unit * fill_lengths(page, missing))


def fill_lengths(page: Page, missing: float | None) -> Floats:
    """Return lengths by rank, with `missing` for unknown lengths and for ranks beyond the list.

    Without `missing`, ranks beyond the list have length 0, and unknown lengths remain NaN.
    """
    assert page.lengths is not None
    if missing is not None:
        return np.where(np.isnan(page.lengths), missing, page.lengths)
    return np.where(page.has_document, page.lengths, 0.0)


def make_page(
    gains: ArrayLike, lengths: ArrayLike | None = None, grades: ArrayLike | None = None
) -> Page:
    """Create a page from gains; all relevant documents are assumed to be retrieved."""
    gains_table = _as_table("gains", gains)
    if not (gains_table >= 0).all():
        raise MeasureError(f"gains must be at least 0, got {gains_table.min():g}")
    lengths_table = None if lengths is None else _as_table("lengths", lengths)
    grades_table = None if grades is None else _as_table("grades", grades)
    for name, table in (("lengths", lengths_table), ("grades", grades_table)):
        if table is not None and table.shape != gains_table.shape:
            raise MeasureError(
                f"expected {name} of shape {gains_table.shape}, the shape of gains,"
                f" got {table.shape}"
            )
    n_retrieved = np.full((gains_table.shape[0], 1), gains_table.shape[1])
    n_relevant = np.count_nonzero(gains_table, axis=1)[:, None]
    return Page(gains_table, n_retrieved, n_relevant, lengths_table, grades=grades_table)


def iterate_pages(
    judged: JudgedRuns,
    rows: Rows,
    gains: Floats,
    depth: int,
    *,
    fill_gain: float,
    n_relevant: Ints,
    lengths: Rows | None,
    fill_grade: float | None = None,
) -> Iterator[Page]:
    """Yield blocks of rankings as pages of `depth` ranks, by system and topic; at least one page.

    `rows` are the judged documents, and `gains` their gains; all other ranks have `fill_gain`, and
    `fill_grade` in models that use grades. `lengths` are the documents with a known length.
    """
    n_cells = judged.shape[0] * judged.shape[1]
    n_retrieved = judged.n_retrieved.T.reshape(-1, 1)
    n_relevant = np.broadcast_to(n_relevant, judged.shape).T.reshape(-1, 1)
    n_rankings = max(1, _BLOCK_RANKS // depth)
    for start in range(0, max(n_cells, 1), n_rankings):
        stop = min(start + n_rankings, n_cells)
        shape = (stop - start, depth)
        gains_table = _fill_table(rows, gains, start, shape, fill_gain)
        lengths_table = grades_table = None
        if lengths is not None:
            lengths_table = _fill_table(lengths, lengths.gains, start, shape, np.nan)
        if fill_grade is not None:
            grades_table = _fill_table(rows, rows.grade, start, shape, fill_grade)
        counts = n_retrieved[start:stop], n_relevant[start:stop]
        yield Page(gains_table, *counts, lengths_table, grades=grades_table)


def _fill_table(
    rows: Rows, values: Floats | Ints, start: int, shape: tuple[int, int], fill_value: float
) -> Floats:
    table = np.full(shape, fill_value)
    block = slice(*np.searchsorted(rows.cell, [start, start + shape[0]]).tolist())
    is_on_page = rows.rank[block] <= shape[1]
    cell, rank = rows.cell[block][is_on_page] - start, rows.rank[block][is_on_page] - 1
    table[cell, rank] = values[block][is_on_page]
    return table


def _as_table(name: str, values: Any) -> Floats:
    try:
        table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise MeasureError(f"{name} must be a table of numbers, got {values!r:.60}") from None
    if table.ndim != 2 or table.shape[1] == 0:
        shapes = "(ranks,) or (rankings, ranks), with at least one rank"
        raise MeasureError(f"{name} must have shape {shapes}, got {np.shape(values)}")
    return table
