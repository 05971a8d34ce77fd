"""Which line of a file each row of a table came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import InputError


@dataclass
class LineMap:
    """Rows to lines, kept a chunk at a time and almost always as one number a chunk."""

    rows: int = 0
    _starts: list[int] = field(default_factory=list)
    _first: list[int] = field(default_factory=list)
    _numbers: list[NDArray[np.int64] | None] = field(default_factory=list)

    def add(self, rows: int, first_line: int, numbers: NDArray[np.int64] | None = None) -> None:
        """Add a chunk of `rows` rows that begins at `first_line`, or has the lines `numbers`."""
        self._starts.append(self.rows)
        self._first.append(first_line)
        self._numbers.append(numbers)
        self.rows += rows

    @classmethod
    def of(cls, numbers: Sequence[int] | None) -> LineMap | None:
        if numbers is None:
            return None
        lines = cls()
        lines.add(len(numbers), 1, np.array(numbers, dtype=np.int64))
        return lines

    def line(self, row: int) -> int:
        """Line of the row, both counted as their owners do: rows from 0, lines from 1."""
        chunk = bisect_right(self._starts, row) - 1
        numbers = self._numbers[chunk]
        within = row - self._starts[chunk]
        return self._first[chunk] + within if numbers is None else int(numbers[within])


@dataclass(frozen=True)
class Origin:
    """Where a table came from, for messages about its rows."""

    name: str
    lines: LineMap | None = None

    def wrong(self, reason: str, row: int, topic: str, doc: str) -> InputError:
        """Make the error that names a row by its line, topic and document."""
        return InputError(reason, source=self.name, line=self.line(row), topic=topic, doc=doc)

    def line(self, row: int) -> int | None:
        """Line of the row, or None where lines mean nothing (a dict, a data frame)."""
        return None if self.lines is None else self.lines.line(row)
