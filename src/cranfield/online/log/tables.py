"""Tables of logs: their columns by any of their usual names, from files, frames and mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.online.log import cells
from cranfield.online.log.records import is_blank, lines_of_rows, records
from cranfield.sessions.columns import columns_of_mapping
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import (
    Columns,
    csv_frame,
    parquet_frame,
    read_columns,
)
from cranfield.sources.schemas import Column, Schema, optional
from cranfield.sources.tables import Table, fitted
from cranfield.sources.values import Cells


def _schema(
    kind: str, *columns: Column, decisive: tuple[str, ...] = ("status", "count", "weight")
) -> Schema:
    return Schema(kind, columns, mapping=columns_of_mapping(kind), decisive=decisive)


_OF_PAGES = (
    optional("user", cells.NAME),
    optional("session", cells.NAME),
    optional("time", cells.TIME),
    optional("variant", cells.NAME),
    optional("found", cells.NUMBER),
    optional("method", cells.NAME),
)
_OF_RESULTS = (
    optional("team", cells.NAME, "ranker"),
    optional("propensity", cells.PROPENSITY),
    optional("grade", cells.GRADE),
)
_QUERY = Column("query", cells.ID)
_DWELL = optional("dwell", cells.SECONDS, called="dwell")
_COUNTED = optional("clicks", cells.TIMES)
_CENSORED = optional("censored", cells.FLAG)

PAGES = _schema("table of pages", Column("id", cells.ID, "page", called="page"), _QUERY, *_OF_PAGES)
RESULTS = _schema(
    "table of results",
    Column("page", cells.ID),
    Column("doc", cells.ID),
    optional("rank", cells.RANK),
    *_OF_RESULTS,
)
CLICKS = _schema(
    "table of clicks",
    Column("page", cells.ID),
    optional("rank", cells.RANK, "clicked rank"),
    optional("doc", cells.NAME),
    optional("time", cells.TIME, "time of click"),
    optional("end", cells.TIME, called="time"),
    _COUNTED,
    _DWELL,
    _CENSORED,
    decisive=("status", "count", "weight", "event"),
)
FLAT = _schema(
    "table of shown results",
    Column("page", cells.ID),
    _QUERY,
    optional("doc", cells.NAME),
    optional("rank", cells.RANK),
    _COUNTED,
    *_OF_PAGES,
    *_OF_RESULTS,
    optional("click_time", cells.TIME, "clicked at"),
    _DWELL,
    _CENSORED,
)


SCHEMAS = {"pages": PAGES, "results": RESULTS, "clicks": CLICKS}

_WHOLE = ("a whole number", lambda dtype: dtype.is_integer())
_REAL = ("a number", lambda dtype: dtype.is_numeric())
_TIME = ("a time", lambda dtype: dtype == nw.Datetime)
OF_DATABASES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("rank", "found", "grade"), _WHOLE),
    **dict.fromkeys(("propensity", "dwell"), _REAL),
    **dict.fromkeys(("time", "end"), _TIME),
    "censored": ("true or false", lambda dtype: dtype == nw.Boolean),
}
"""Types of the columns of databases that are not text."""


def opened(data: Any, schema: Schema, empty: bool = False) -> Table:
    """Read a table of a log; rows know their lines where each is one line of a file.

    empty: whether it may be without rows.
    """
    if empty and is_blank_file(data):
        return table_of(pl.DataFrame(schema=["page", "rank", "doc"]), schema, fspath(data))
    columns = columns_of(data, schema)
    return _made(columns.matched(schema), schema, columns.source, columns.lines, empty)


def table_of(frame: pl.DataFrame, schema: Schema, source: str, empty: bool = True) -> Table:
    """Make a table of columns with the names of the schema, and perhaps the `line` of each row."""
    lines = frame["line"].to_list() if "line" in frame.columns else None
    return _made(frame.to_dict(), schema, source, lines, empty)


def _made(
    cells: Mapping[str, Cells],
    schema: Schema,
    source: str,
    lines: Sequence[int] | None,
    empty: bool,
) -> Table:
    if empty and not max(map(len, cells.values()), default=0):
        frame = pl.DataFrame(schema={column.name: column.kind.dtype for column in schema.columns})
        return Table(frame, source, tuple(cells))
    return fitted(cells, schema, source, lines)


def rows_of(table: Table, rows: pl.Series) -> Table:
    """Take some rows of a table, by their places, with their lines."""
    lines = None if table.lines is None else pl.Series(table.lines)[rows].to_list()
    return replace(table, frame=table.frame[rows], lines=lines)


def refuse_lazy_counts(table: nw.LazyFrame[Any], schema: Schema, source: str) -> None:
    """Refuse a lazy table with a column of counts or weights, or of how often rows were clicked."""
    names = table.collect_schema().names()
    for k in _COUNTED.named_in(names) if schema is CLICKS else ():
        reason = f"expected a row for each click, got a column {quoted(names[k])}"
        raise InputError(reason, source=source)

    def cells(k: int) -> pl.Series:
        column = table.select(nw.col(names[k])).collect(backend="polars")
        return pl.Series(column.to_native().to_series())

    Columns(source, names, cells).tell_unused(replace(schema, asked=True), [])


def is_blank_file(data: Any) -> bool:
    """Return True for a file of JSON lines without a line; an empty CSV file has a header."""
    if not isinstance(data, (str, PathLike)):
        return False
    source = Source(fspath(data))
    if FORMAT_OF_SUFFIX.get(source.suffix) != "jsonl":
        return False
    with source.open() as stream:
        return is_blank(stream.read(4096))


def columns_of(data: Any, schema: Schema) -> Columns:
    """Read a table, and nothing yet of what its columns hold; one that is read stays as it is."""
    if isinstance(data, Columns):
        return data
    if isinstance(data, pl.DataFrame):
        return _of_polars(data, schema.kind)
    if not isinstance(data, (str, PathLike)):
        return read_columns(data, schema)
    source = Source(fspath(data))
    form = FORMAT_OF_SUFFIX.get(source.suffix, "")
    if form not in {"csv", "tsv", "parquet", "jsonl"}:
        return read_columns(data, schema)
    raw, name = source.read(), source.name
    if is_blank(raw):
        raise schema.empty(name)
    if form == "parquet":
        return _of_polars(parquet_frame(raw, name), name)
    if form == "jsonl":
        frame = records(raw, name, f"a {schema.kind}")
        if isinstance(kind := frame.schema.get("results"), pl.List) and kind.inner.is_nested():
            # A page is a line, and its results are listed.
            lines = pl.Series(lines_of_rows(raw, frame.height) or [None] * frame.height)
            frame = frame.with_columns(lines.alias("(line)"))
            frame = frame.explode("results", empty_as_null=True, keep_nulls=True).unnest("results")
            return _of_polars(frame.drop("(line)"), name, frame["(line)"].to_list())
    else:
        frame = csv_frame(raw, name, "\t" if form == "tsv" else ",", form)
    return _of_polars(frame, name, lines_of_rows(raw, frame.height, int(form != "jsonl")))


def _of_polars(frame: pl.DataFrame, name: str, lines: Sequence[int] | None = None) -> Columns:
    return Columns(name, frame.columns, lambda k: frame.get_columns()[k], lines)
