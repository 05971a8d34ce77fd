"""Rows of judged documents, in order of (system, topic, rank): what measures sum over."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.segments import Floats, Ints, places, scan
from cranfield.errors import CranfieldError


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
    source: Ints | tuple[Rows, NDArray[np.bool_] | None] | None = None

    @cached_property
    def judgment(self) -> Ints:
        """Judgment of each row, as an index into the judgments' arrays.

        It is looked up when it is first asked for: most measures never do.
        """
        if self.source is None:
            raise CranfieldError("these judged runs do not say which judgment a row comes from")
        if not isinstance(self.source, tuple):
            return self.source
        rows, chosen = self.source
        return rows.judgment if chosen is None else rows.judgment[chosen]

    @cached_property
    def seen(self) -> Ints:
        """How many of these rows the cell has had so far, this one included."""
        return places(self.cell)

    @property
    def topic(self) -> Ints:
        """Topic of each row, as an index."""
        return self.cell % self.shape[0]

    @property
    def count(self) -> Ints:
        """Rows of each cell; shape (topics, systems)."""
        return self._table(np.bincount(self.cell, minlength=self.shape[0] * self.shape[1]))

    def total(self, values: NDArray[Any]) -> Floats:
        """Sum values over each cell's rows, in order of rank; shape (topics, systems)."""
        cells = self.shape[0] * self.shape[1]
        return self._table(np.bincount(self.cell, weights=values, minlength=cells)).astype(float)

    def running(self, values: NDArray[Any]) -> Floats:
        """For each row the sum of its cell's values so far, its own included."""
        return scan(values, self.seen, np.add)

    def counted(self, chosen: NDArray[np.bool_]) -> Ints:
        """For each row how many of its cell's rows so far, its own included, are chosen."""
        total = np.cumsum(chosen, dtype=np.int64)
        first = np.arange(total.size) - self.seen + 1
        out: Ints = total - (total[first] - chosen[first])
        return out

    def running_product(self, values: NDArray[Any]) -> Floats:
        """For each row the product of its cell's values so far, its own included."""
        return scan(values, self.seen, np.multiply)

    def largest(self, values: NDArray[Any]) -> Floats:
        """Largest value of each cell, 0 for a cell without rows; shape (topics, systems)."""
        best = np.zeros(self.shape[0] * self.shape[1])
        np.maximum.at(best, self.cell, values)
        return self._table(best)

    def where(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return the chosen rows."""
        gains = self.gains[chosen] if self.gains.size else self.gains
        return Rows(
            self.cell[chosen],
            self.rank[chosen],
            self.grade[chosen],
            self.shape,
            gains,
            (self, chosen),
        )

    def at(self, per_cell: NDArray[Any]) -> NDArray[Any]:
        """Look up, for each row, the value of its cell in a (topics, systems) or (topics, 1)."""
        full = np.broadcast_to(per_cell, self.shape)
        return full[self.topic, self.cell // self.shape[0]]

    def _table(self, flat: NDArray[Any]) -> NDArray[Any]:
        return flat.reshape(self.shape[1], self.shape[0]).T
