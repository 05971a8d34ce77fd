"""Tables of logs: JSON lines, and any other table, as the columns of its schema."""

from __future__ import annotations

import re
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.online.log.cells import PAGES
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import (
    Columns,
    Table,
    columns_of_frame,
    fitted,
    lines_of_rows,
    read_columns,
)
from cranfield.sources.schemas import Schema
from cranfield.sources.text import decoded, json_lines

LINE = "(line)"
"""Column with the line of each row in its file."""

Types = Mapping[str, Any]
_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
_LONE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
)
"""Half of a surrogate pair, which is not text."""

_WRAPPED = re.compile(rb'\s*\{\s*"(?:(index|create)"\s*:\s*\{|_index"\s*:.*"_source")')
"""The first line of a bulk file of OpenSearch, or of its hits."""
_BULK = (
    "an OpenSearch bulk file, with an action line above each record; write UBI queries by jq -c"
    " 'select(.query_id and (.action_name|not))', UBI events by jq -c 'select(.action_name)'"
)
_HITS = "OpenSearch hits, with records inside _source; write the records by jq -c ._source"


def is_blank(raw: bytes) -> bool:
    """Whether a file has no text except a byte order mark."""
    return not raw.removeprefix(BOM_UTF8).strip()


def records(raw: bytes, source: str, what: str, types: Types | None = None) -> pl.DataFrame:
    """Read JSON objects, one a line, each with its :data:`LINE`.

    types: types of the fields to read, where text holds any plain value; by default all fields, as
    text.
    """
    raw = raw.removeprefix(BOM_UTF8)
    if wrapped := _WRAPPED.match(raw):
        form = _BULK if wrapped[1] else _HITS
        raise InputError(f"expected {what}, one a line, got {form}", source=source)
    if b"\\u" in raw and (lone := _LONE.search(raw)):
        line = raw.count(b"\n", 0, lone.start()) + 1
        raise InputError("is not valid JSON: half of a surrogate pair", source=source, line=line)
    try:
        if types is None:
            # Without reading: a number where another line has true or false is read as text later.
            schema = pl.scan_ndjson(raw, infer_schema_length=None).collect_schema()
            types = {n: kind if kind.is_nested() else pl.String for n, kind in schema.items()}
        frame = pl.read_ndjson(raw, schema=types)
    except _ERRORS:
        raise _bad_record(raw, source, what, types) from None
    texts = frame.select(pl.col(pl.String).str.contains(r"^[\[{]").any())
    nested = [column.name for column in texts if column[0]]
    # Perhaps an object has a name twice, which is refused: the reader takes the first.
    twice = any(raw.count(f'"{name}"'.encode()) > frame.height for name in frame.columns)
    if nested or twice:
        for record, line in zip(*json_lines(decoded(raw, source), source), strict=True):
            for name in nested:
                if isinstance(value := record.get(name), (list, dict)):
                    reason = f"expected text or a number in {quoted(name)}, got {quoted(value)}"
                    raise InputError(reason, source=source, line=line)
    lines = lines_of_rows(raw, frame.height) or range(1, frame.height + 1)
    return frame.with_columns(pl.Series(LINE, lines, dtype=pl.Int64))


def _bad_record(raw: bytes, source: str, what: str, types: Types | None) -> InputError:
    """Return the error for the first line up to which the records cannot be read."""
    parsed, lines = json_lines(decoded(raw, source), source)
    for record, line in zip(parsed, lines, strict=True):
        if not isinstance(record, dict):
            return InputError("is not an object", source=source, line=line)
    texts = raw.split(b"\n")

    def fails(line: int) -> bool:
        try:
            pl.read_ndjson(b"\n".join(texts[:line]), schema=types, infer_schema_length=None)
        except _ERRORS:
            return True
        return False

    line = lines[bisect_left(lines[:-1], True, key=fails)]
    return InputError(f"is not a record of {what}", source=source, line=line)


def columns_of(data: Any, schema: Schema) -> Columns:
    """Read the columns of a table, unless they were read, and convert no cell yet."""
    if isinstance(data, Columns):
        return data
    is_path = isinstance(data, (str, PathLike))
    if not is_path or FORMAT_OF_SUFFIX.get(Source.of(data).suffix) != "jsonl":
        return read_columns(data, schema)
    source = Source.of(data)
    raw, name = source.read(), source.name
    if is_blank(raw):
        # JSON lines without a line have no header, and may hold no rows.
        names = ["page", "query"] if schema is PAGES else ["page", "query", "rank", "doc"]
        return columns_of_frame(pl.DataFrame(schema=names), name)
    frame = records(raw, name, f"a {schema.kind}")
    if isinstance(kind := frame.schema.get("results"), pl.List) and kind.inner.is_nested():
        # A page is a line, and its results are listed.
        frame = frame.explode("results", empty_as_null=True, keep_nulls=True).unnest("results")
    lines = frame.drop_in_place(LINE).to_list()
    return replace(columns_of_frame(frame, name), lines=lines)


def opened(data: Any, schema: Schema, empty: bool = False) -> Table:
    """Read a table of a log, perhaps one without rows."""
    return columns_of(data, schema).table(schema, empty=empty)


def table_of(frame: pl.DataFrame, schema: Schema, source: str, empty: bool = True) -> Table:
    """Convert a frame with columns of a schema, and perhaps the :data:`LINE` of each row."""
    lines = frame[LINE].to_list() if LINE in frame.columns else None
    return fitted(frame.to_dict(), schema, source, lines, empty=empty)
