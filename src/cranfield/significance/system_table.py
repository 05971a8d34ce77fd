"""Tables with a row for each system, such as its costs or its components."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from cranfield.base.errors import quoted
from cranfield.base.text import counted
from cranfield.sources.columns import Table, columns_of_mapping, read_columns
from cranfield.sources.schemas import Column, Schema, spelt
from cranfield.sources.values import ID, Cells, Kind


@dataclass(frozen=True)
class SystemTable:
    """A table, the names of its columns beside `system`, and the row of each system or null."""

    table: Table
    names: tuple[str, ...]
    rows: pl.Series
    notes: tuple[str, ...]


def read_system_table(
    data: Any,
    title: str,
    kind: Kind,
    systems: Sequence[str],
    is_used: Callable[[Cells], bool] = lambda cells: True,
) -> SystemTable:
    """Read a column `system`, and columns of a kind of values whose names the user chose.

    `title` is what messages call the table. Columns that are not used, and rows of systems without
    scores, are noted.
    """
    if isinstance(data, Mapping) and all(isinstance(row, Mapping) for row in data.values()):
        data = [{"system": system, **row} for system, row in data.items()]
    key = Column("system", ID)
    schema = Schema(title, (key,), mapping=columns_of_mapping(title), asked=True)
    columns = read_columns(data, schema)
    if "system" in map(spelt, columns.names):
        # Other columns may be called model or run, which are usual names for a system.
        key = Column("system", ID, None)
    place = replace(schema, columns=(key,)).places(columns.names, columns.source)["system"]
    places = [k for k in range(len(columns.names)) if k != place]
    used = {k for k in places if is_used(columns.cells(k))}
    names = tuple(str(columns.names[k]) for k in places if k in used)
    notes = [
        f"column {quoted(columns.names[k])} of {columns.source} has no numbers and is not used"
        for k in places
        if k not in used
    ]
    values = (Column(name, kind, None) for name in names)
    table = columns.table(replace(schema, columns=(key, *values)))
    table.refuse(
        ~table.frame["system"].is_first_distinct(),
        lambda row: f"system {quoted(row['system'])} occurs twice",
    )
    row_of = {system: k for k, system in enumerate(table.frame["system"])}
    if unknown := len(row_of.keys() - set(systems)):
        notes.append(f"{counted(unknown, 'row')} of {table.source} of systems without scores")
    rows = pl.Series([row_of.get(system) for system in systems], dtype=pl.Int64)
    return SystemTable(table, names, rows, tuple(notes))
