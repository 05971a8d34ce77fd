"""One reader of tables: named columns of any source become what a schema says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.words import counted, some_of
from cranfield.sources.columns import read_columns
from cranfield.sources.schemas import Schema
from cranfield.sources.values import Cells


@dataclass(frozen=True)
class Table:
    """All columns of a schema, null where not there; `names` are there, `lines` may be known."""

    frame: pl.DataFrame
    source: str
    names: tuple[str, ...]
    lines: Sequence[int] | NDArray[np.int64] | None = None

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Go through the rows; numbers that are not there are NaN."""
        numbers = pl.col(pl.Float64).fill_null(float("nan"))
        return self.frame.with_columns(numbers).iter_rows()

    def refuse(self, bad: pl.Series, reason: Callable[[dict[str, Any]], str]) -> None:
        """Refuse the first of some bad rows, for a reason that its cells give."""
        rows = bad.arg_true()
        if len(rows):
            row = int(rows[0])
            cells = self.frame.row(row, named=True)
            raise InputError(
                reason(cells),
                source=self.source,
                line=None if self.lines is None else int(self.lines[row]),
                topic=cells.get("topic"),
                doc=cells.get("doc"),
            )

    def wrong(self, row: int, reason: str, topic: str | None = None) -> InputError:
        return wrong_row(row, reason, self.source, self.lines, topic)


def wrong_row(
    row: int,
    reason: str,
    source: str,
    lines: Sequence[int] | NDArray[np.int64] | None = None,
    topic: str | None = None,
) -> InputError:
    """Make the error that names the line of a row, or its number where it has no line."""
    if lines is None:
        return InputError(f"row {row + 1}: {reason}", source=source, topic=topic)
    return InputError(reason, source=source, line=int(lines[row]), topic=topic)


def read_table(data: Any, schema: Schema) -> Table:
    """Read a table of some kind from a file, a data frame, rows, or what a mapping says."""
    columns = read_columns(data, schema)
    return fitted(columns.matched(schema), schema, columns.source, columns.lines)


def _cell(cells: Cells, row: int) -> Any:
    try:
        return cells[row]
    except (ValueError, OverflowError) as error:
        # A time that Python has no date for.
        return str(error)


_WRITTEN_GAPS = ["None", "NaN", "nan", "null", "NULL", "<NA>", "NaT"]
"""Texts that other programs write for a missing value."""


def _warn_of_written_gaps(cells: pl.Series, name: str, source: str) -> None:
    """Warn of missing values that are written out as text, and read as text."""
    if cells.dtype == pl.String and (rows := cells.is_in(_WRITTEN_GAPS)).any():
        texts = some_of(map(quoted, cells.filter(rows).unique(maintain_order=True)), 3)
        number = counted(int(rows.sum()), "row")
        warn(f"{source}: {name} is {texts} in {number}, read as text, not as missing", stacklevel=5)


def fitted(
    cells: Mapping[str, Cells],
    schema: Schema,
    source: str,
    lines: Sequence[int] | None = None,
) -> Table:
    """Make each column what the schema says, or name the first row that does not fit."""
    made = {}
    for column in schema.columns:
        if column.name in cells:
            given = cells[column.name]
            made[column.name], bad = column.kind.column(column.name, given)
            if bad is not None:
                topic = cells.get("topic") if schema.numbered and column.name != "topic" else None
                raise wrong_row(
                    bad,
                    column.kind.reason(column.called or column.name, _cell(given, bad)),
                    source,
                    lines,
                    None if topic is None else str(topic[bad]),
                )
            _warn_of_written_gaps(made[column.name], column.called or column.name, source)
    height = max((len(series) for series in made.values()), default=0)
    if not height:
        raise schema.empty(source)
    missing = {
        column.name: pl.Series([None], dtype=column.kind.dtype).new_from_index(0, height)
        for column in schema.columns
        if column.name not in made
    }
    frame = pl.DataFrame(made | missing).select(column.name for column in schema.columns)
    return Table(frame, source, tuple(made), lines)
