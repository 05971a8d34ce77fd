"""JSON lines read at once by their schema; what is wrong is found by halving."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.sources.text import decoded, json_lines, parsed_json

Types = Mapping[str, Any]
_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
_LONE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
)
"""Half of a pair that stands for one character, which is no text."""

_WRAPPED = re.compile(rb'\s*\{\s*"(?:(index|create)"\s*:\s*\{|_index"\s*:.*"_source")')
"""The first line of a bulk file of OpenSearch, or of its hits."""
_BULK = (
    "an OpenSearch bulk file, with an action line above each record; write UBI queries by jq -c"
    " 'select(.query_id and (.action_name|not))', UBI events by jq -c 'select(.action_name)'"
)
_HITS = "OpenSearch hits, with records inside _source; write the records by jq -c ._source"

BOM = b"\xef\xbb\xbf"


def is_blank(raw: bytes) -> bool:
    """Tell whether a file has no text, but perhaps the mark with which text begins."""
    return not raw.removeprefix(BOM).strip()


def records(raw: bytes, source: str, what: str, types: Types | None = None) -> pl.DataFrame:
    """Read objects, one a line, of which the other fields are left out.

    types: of the fields, where values that are text hold anything; by default all fields, as text.
    """
    raw = raw.removeprefix(BOM)
    if wrapped := _WRAPPED.match(raw):
        found = _BULK if wrapped[1] else _HITS
        raise InputError(f"expected {what}, one a line, got {found}", source=source)
    if b"\\u" in raw and (lone := _LONE.search(raw)):
        line = raw.count(b"\n", 0, lone.start()) + 1
        raise InputError("is no valid JSON: half of a surrogate pair", source=source, line=line)
    try:
        if types is None:
            types = _fields(raw)
        frame = pl.read_ndjson(raw, schema=types)
    except _ERRORS:
        raise _bad_line(raw, source, what, types) from None
    texts = frame.select(pl.col(pl.String).str.contains(r"^[\[{]"))
    nested = [column.name for column in texts if column.any()]
    if nested:
        for record, line in zip(*json_lines(decoded(raw, source), source), strict=True):
            name = next((one for one in nested if isinstance(record.get(one), (list, dict))), None)
            if name is not None:
                reason = f"expected text or a number in {quoted(name)}, got {quoted(record[name])}"
                raise InputError(reason, source=source, line=line)
    elif any(raw.count(f'"{name}"'.encode()) > frame.height for name in frame.columns):
        # Perhaps an object has a name twice, which is refused: the reader takes the first.
        json_lines(decoded(raw, source), source)
    return frame


def numbered_records(raw: bytes, source: str, what: str, types: Types) -> pl.DataFrame:
    """Read objects as :func:`records` does, each with its `line`."""
    frame = records(raw, source, what, types)
    lines = lines_of_rows(raw, frame.height) or range(1, frame.height + 1)
    return frame.with_columns(line=pl.Series(lines, dtype=pl.Int64))


def _fields(raw: bytes) -> Types:
    """Tell the fields that some line has; plain values are text until they are needed."""
    # Without reading: a number where another line says true or false is read as text later.
    found = pl.scan_ndjson(raw, infer_schema_length=None).collect_schema()
    return {name: kind if kind.is_nested() else pl.String for name, kind in found.items()}


def _bad_line(raw: bytes, source: str, what: str, types: Types | None) -> InputError:
    lines = raw.splitlines(keepends=True)
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            part = b"".join(lines[low:middle])
            if part.strip():
                pl.read_ndjson(part, schema=types, infer_schema_length=None)
            low = middle
        except _ERRORS:
            high = middle
    try:
        parsed = parsed_json(lines[low].decode(), source, low + 1)
    except UnicodeDecodeError:
        return InputError("is not UTF-8 text", source=source, line=low + 1)
    except InputError as error:
        return error
    reason = "is no object" if not isinstance(parsed, dict) else f"is no record of {what}"
    return InputError(reason, source=source, line=low + 1)


def lines_of_rows(raw: bytes, rows: int, head: int = 0) -> Sequence[int] | None:
    """Number the lines of rows below a head; None where a row may not be a line."""
    lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
    if lines == rows + head:
        return range(head + 1, head + 1 + rows)
    if head or rows > 1_000_000:
        return None
    filled = [k for k, line in enumerate(raw.split(b"\n"), 1) if line.strip()]
    return filled if len(filled) == rows else None
