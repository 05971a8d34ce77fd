"""Tables with a row for each system, such as its costs or its components."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from cranfield.base.errors import quote
from cranfield.base.text import inflect
from cranfield.sources.columns import Table, read_columns, read_mapping_columns
from cranfield.sources.schemas import FileColumn, Schema, fold_name
from cranfield.sources.values import ID, Cells, ValueKind


@dataclass(frozen=True)
class SystemColumns:
    """A table with a row for each system."""

    table: Table
    names: tuple[str, ...]  # of the used columns, without `system`
    rows: pl.Series  # index of the row of each system; null for a system without a row
    notes: tuple[str, ...]  # on unused rows and columns


def make_system_schema(title: str) -> Schema:
    """Return the schema of a table with a column `system` and columns of any name."""
    key = FileColumn("system", ID)
    kinds = ("status", "currency", "unit of measurement")
    schema = Schema(title, (key,), read_mapping=read_mapping_columns, is_selected=True)
    return replace(schema, decisive_kinds=kinds)


def read_system_table(
    data: Any,
    schema: Schema,
    kind: ValueKind,
    systems: Sequence[str],
    is_used: Callable[[Cells], bool] = lambda cells: True,
) -> SystemColumns:
    """Read a column `system` and columns of one value type, for the systems that have scores."""
    if isinstance(data, Mapping) and all(isinstance(row, Mapping) for row in data.values()):
        data = [{"system": system, **row} for system, row in data.items()]
    columns = read_columns(data, schema)
    (key,) = schema.columns
    if "system" in map(fold_name, columns.names):
        # Only the exact name: other columns may be called model or run, aliases of `system`.
        key = FileColumn("system", ID, None)
    key_schema = replace(schema, columns=(key,))
    key_index = key_schema.find_positions(columns.names, columns.source)["system"]
    names, notes = [], []
    for k, name in enumerate(map(str, columns.names)):
        if k != key_index and is_used(columns.get_column(k)):
            names.append(name)
        elif k != key_index:
            notes.append(
                f"column {quote(name)} of {columns.source} is not used, as it has no numbers"
            )
    value_columns = (FileColumn(name, kind, None) for name in names)
    table = columns.make_table(replace(schema, columns=(key, *value_columns)))
    table.refuse(
        ~table.frame["system"].is_first_distinct(),
        lambda row: f"system {quote(row['system'])} occurs twice",
    )
    row_of = {system: k for k, system in enumerate(table.frame["system"])}
    if n_unknown := len(row_of.keys() - set(systems)):
        text = inflect(n_unknown, "row")
        notes.append(f"{text} of {table.source} ignored: systems without scores")
    rows = pl.Series([row_of.get(system) for system in systems], dtype=pl.Int64)
    return SystemColumns(table, tuple(names), rows, tuple(notes))
