"""Readers of the tables of logs, from JSON lines and other tables."""

from __future__ import annotations

import json
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
from cranfield.sources.columns import Columns, Table, columns_of_frame, fitted, read_columns
from cranfield.sources.schemas import Schema
from cranfield.sources.text import decoded, json_lines, parsed_json

LINE = "(line)"  # Column with the line number of each row in its file

Types = Mapping[str, Any]
_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
)
"""Half of a surrogate pair, which is not valid text."""

_ACTION = re.compile(rb'\s*\{\s*"(?:index|create)"\s*:\s*\{')
_HIT = re.compile(rb'\s*\{\s*"_index"\s*:.*"_source"')
_RESPONSE = re.compile(rb'\s*\{\s*"took"\s*:')


def is_blank(raw: bytes) -> bool:
    """Return True if a file has no text except a byte order mark."""
    return not raw.removeprefix(BOM_UTF8).strip()


def is_bulk(raw: bytes) -> bool:
    """Return True if a file is a bulk file of OpenSearch, with an action above each document."""
    return _ACTION.match(raw.removeprefix(BOM_UTF8)) is not None


def extract_documents(raw: bytes, source: str, events: bool | None = None) -> bytes:
    """Extract the documents of a bulk file or of hits of OpenSearch, one per line.

    Other files are returned unchanged. From a bulk file of UBI only events, which have an
    action_name, are extracted if `events` is True, and only queries if it is False.
    """
    raw = raw.removeprefix(BOM_UTF8)
    if _RESPONSE.match(raw):
        hits = parsed_json(decoded(raw, source), source)
        for _ in range(2):  # A response is {"hits": {"hits": [...]}}.
            hits = hits.get("hits") if isinstance(hits, dict) else None
        if isinstance(hits, list):
            return b"\n".join(json.dumps(hit.get("_source")).encode() for hit in hits)
    is_bulk_file = is_bulk(raw)
    if not is_bulk_file and not _HIT.match(raw):
        return raw
    json_records, lines = json_lines(decoded(raw, source), source)
    texts = [b""] * (raw.count(b"\n") + 1)
    is_action = is_bulk_file
    for record, line in zip(json_records, lines, strict=True):
        if not isinstance(record, dict):
            raise InputError("is not an object", source=source, line=line)
        if is_action and not (len(record) == 1 and {"index", "create"} & record.keys()):
            reason = "expected the action index or create above each document of a bulk file"
            raise InputError(reason, source=source, line=line)
        if not is_bulk_file:
            texts[line - 1] = json.dumps(record.get("_source")).encode()
        elif not is_action and (events is None or ("action_name" in record) == events):
            texts[line - 1] = json.dumps(record).encode()
        is_action = is_bulk_file and not is_action
    return b"\n".join(texts)


def read_records(
    raw: bytes, source: str, record_name: str, types: Types | None = None
) -> pl.DataFrame:
    """Read JSON objects, one per line, with their :data:`LINE`.

    `types` are the types of the fields to read, where text can hold any scalar; by default all
    fields are read, as text.
    """
    raw = extract_documents(raw, source)
    if b"\\u" in raw and (surrogate := _LONE_SURROGATE.search(raw)):
        line = raw.count(b"\n", 0, surrogate.start()) + 1
        raise InputError("is not valid JSON: half of a surrogate pair", source=source, line=line)
    try:
        if types is None:
            # Only nested types are inferred, as a field may have both numbers and booleans.
            schema = pl.scan_ndjson(raw, infer_schema_length=None).collect_schema()
            types = {
                name: dtype if dtype.is_nested() else pl.String for name, dtype in schema.items()
            }
        frame = pl.read_ndjson(raw, schema=types)
    except _ERRORS:
        raise _record_error(raw, source, record_name, types) from None
    texts = frame.select(pl.col(pl.String).str.contains(r"^[\[{]").any())
    nested_names = [column.name for column in texts if column[0]]
    # An object with a repeated name is refused; polars would read the first value.
    has_duplicates = any(raw.count(f'"{name}"'.encode()) > frame.height for name in frame.columns)
    if nested_names or has_duplicates:
        for record, line in zip(*json_lines(decoded(raw, source), source), strict=True):
            for name in nested_names:
                if isinstance(value := record.get(name), (list, dict)):
                    reason = f"expected text or a number in {quoted(name)}, got {quoted(value)}"
                    raise InputError(reason, source=source, line=line)
    # Blank lines have no row.
    lines = [k for k, line in enumerate(raw.split(b"\n"), 1) if line.strip()]
    lines = lines if len(lines) == frame.height else [*range(1, frame.height + 1)]
    return frame.with_columns(pl.Series(LINE, lines, dtype=pl.Int64))


def _record_error(raw: bytes, source: str, record_name: str, types: Types | None) -> InputError:
    """Return the error for the first line that cannot be read."""
    json_records, lines = json_lines(decoded(raw, source), source)
    for record, line in zip(json_records, lines, strict=True):
        if not isinstance(record, dict):
            return InputError("is not an object", source=source, line=line)
    texts = raw.split(b"\n")

    def is_unreadable(line: int) -> bool:
        try:
            pl.read_ndjson(b"\n".join(texts[:line]), schema=types, infer_schema_length=None)
        except _ERRORS:
            return True
        return False

    line = lines[bisect_left(lines[:-1], True, key=is_unreadable)]
    return InputError(f"is not a record of {record_name}", source=source, line=line)


def open_columns(data: Any, schema: Schema) -> Columns:
    """Read the columns of a table without converting their cells."""
    if isinstance(data, Columns):
        return data
    source = Source.of(data) if isinstance(data, (str, PathLike)) else None
    if source is None or FORMAT_OF_SUFFIX.get(source.suffix) != "jsonl":
        return read_columns(data, schema)
    raw, name = source.read(), source.name
    if is_blank(raw):
        # An empty file of JSON lines has no header, and is a table without rows.
        names = ["page", "query"] if schema is PAGES else ["page", "query", "rank", "doc"]
        return columns_of_frame(pl.DataFrame(schema=names), name)
    frame = read_records(raw, name, f"a {schema.kind}")
    if isinstance(kind := frame.schema.get("results"), pl.List) and kind.inner.is_nested():
        # Each line is a page with a list of results.
        frame = frame.explode("results", empty_as_null=True, keep_nulls=True).unnest("results")
    lines = frame.drop_in_place(LINE).to_list()
    return replace(columns_of_frame(frame, name), lines=lines)


def open_table(data: Any, schema: Schema, empty: bool = False) -> Table:
    """Read a table of a log; `empty` allows a table without rows."""
    return open_columns(data, schema).table(schema, empty=empty)


def convert_frame(
    frame: pl.DataFrame, schema: Schema, source: str, may_be_empty: bool = True
) -> Table:
    """Convert a frame with columns of a schema, and optionally the :data:`LINE` of each row."""
    lines = frame[LINE].to_list() if LINE in frame.columns else None
    return fitted(frame.to_dict(), schema, source, lines, empty=may_be_empty)
