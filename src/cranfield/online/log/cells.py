"""Tables of logs: schemas, and expressions that convert cells to typed columns."""

from __future__ import annotations

import re
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from os import PathLike, fspath
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import (
    Columns,
    Table,
    columns_of_frame,
    columns_of_mapping,
    fitted,
    lines_of_rows,
    read_columns,
)
from cranfield.sources.schemas import Column, Schema, optional
from cranfield.sources.text import decoded, json_lines
from cranfield.sources.values import Cells, Kind, absent, plain

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


def records(
    raw: bytes, source: str, what: str, types: Types | None = None
) -> tuple[pl.DataFrame, Sequence[int]]:
    """Read JSON objects, one a line; return them and the line of each.

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
            name = next((one for one in nested if isinstance(record.get(one), (list, dict))), None)
            if name is not None:
                reason = f"expected text or a number in {quoted(name)}, got {quoted(record[name])}"
                raise InputError(reason, source=source, line=line)
    return frame, lines_of_rows(raw, frame.height) or range(1, frame.height + 1)


def numbered_records(raw: bytes, source: str, what: str, types: Types) -> pl.DataFrame:
    """Read JSON objects as :func:`records` does, each with its `line`."""
    frame, lines = records(raw, source, what, types)
    return frame.with_columns(line=pl.Series(lines, dtype=pl.Int64))


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


UTC = pl.Datetime("us", "UTC")
_BLANK = ("", "na", "nan", "null", "none")
_DAY = 86_400_000_000
_FIRST, _LAST = -719_162 * _DAY, 2_932_897 * _DAY - 1
"""The years 1 to 9999 in microseconds, beyond which no calendar of Python goes."""

Convert = Callable[[pl.Expr, pl.DataType], pl.Expr]
"""Converts a column of some type; null where a cell cannot be converted."""


@dataclass(frozen=True)
class Cell(Kind):
    """A kind of value to which whole columns are converted at once.

    convert: the conversion, as an expression.
    blank: words for a missing value, besides null.
    formats: for text, conversions to try in order, of which most columns need the first few.
    needed: whether a missing value is an error.
    """

    read: Callable[[Any], Any] = lambda cell: cell
    convert: Convert = lambda column, dtype: column
    blank: tuple[str, ...] = _BLANK
    formats: Callable[[pl.Expr], Sequence[pl.Expr]] | None = None
    needed: bool = False

    def expression(self, name: str, dtype: pl.DataType, formats: int | None = None) -> pl.Expr:
        """Convert a column, perhaps by the first few formats only."""
        column = pl.col(name)
        if isinstance(dtype, (pl.Categorical, pl.Enum)):
            column, dtype = column.cast(pl.String), pl.String()
        if self.formats is not None and isinstance(dtype, pl.String):
            return pl.coalesce(self.formats(column)[:formats]).cast(self.dtype)
        return self.convert(column, dtype).cast(self.dtype)

    def missing_in(self, name: str, dtype: pl.DataType) -> pl.Expr:
        """Return which cells of a column have no value, and may have none."""
        column = pl.col(name)
        if self.needed:
            return pl.lit(False)
        if isinstance(dtype, pl.String):
            text = column.str.strip_chars().str.to_lowercase()
            return column.is_null() | text.is_in([*self.blank])
        if dtype.is_float() and "nan" in self.blank:
            return column.is_null() | column.is_nan()
        return column.is_null()

    def reason(self, name: str, cell: Any) -> str:
        empty = cell is None or (isinstance(cell, str) and cell == "")
        return f"has no {name}" if empty else super().reason(name, cell)

    def formats_of(self, some: pl.Series) -> int | None:
        """Return how many formats convert all of some values; None if not even all of them do."""
        frame = some.alias("cell").drop_nulls().to_frame()
        if self.formats is None or not isinstance(some.dtype, pl.String) or frame.is_empty():
            return None
        for number in range(1, len(self.formats(pl.col("cell")))):
            if not frame.select(self.expression("cell", some.dtype, number))["cell"].null_count():
                return number
        return None

    def column(self, name: str, cells: Cells) -> tuple[pl.Series, int | None]:
        series = cells if isinstance(cells, pl.Series) else series_of(cells)
        frame, dtype = series.alias(name).to_frame(), series.dtype
        for formats in dict.fromkeys((self.formats_of(series.head(1000)), None)):
            values = frame.select(self.expression(name, dtype, formats)).to_series()
            if not values.null_count():
                return values, None
        unread = values.is_null()
        if isinstance(cells, pl.Series):
            rows = (unread & ~frame.select(self.missing_in(name, dtype)).to_series()).arg_true()
            return values, int(rows[0]) if len(rows) else None
        # Cells of several types have become text, some of them null.
        words = frozenset(self.blank)
        places = (int(row) for row in unread.arg_true())
        bad = (row for row in places if self.needed or not absent(cells[row], words))
        return values, next(bad, None)


def series_of(cells: Sequence[Any]) -> pl.Series:
    """Make a column of Python values; values of several types become text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    try:
        if len(kinds) <= 1:
            return pl.Series(cells, strict=True)
        if kinds <= {int, float}:
            return pl.Series(cells, dtype=pl.Float64, strict=False)
    except (TypeError, ValueError, OverflowError, UnicodeError, pl.exceptions.PolarsError):
        pass
    return pl.Series([_text(cell) for cell in cells], dtype=pl.String)


def _text(cell: Any) -> str | None:
    """Return a single value as text; None for any other."""
    if absent(cell):
        return None
    if isinstance(cell, (date, datetime)):
        return cell.isoformat()
    if not isinstance(cell, (str, bool, int, float)):
        item = getattr(cell, "item", None)
        return _text(item()) if item is not None and getattr(cell, "ndim", 1) == 0 else None
    try:
        text = str(plain(cell))
        text.encode()
    except (ValueError, OverflowError):
        return None
    return text


def _nulls(column: pl.Expr, dtype: type[pl.DataType] | pl.DataType) -> pl.Expr:
    """Return nulls, as many as a column has cells: a literal has one row."""
    return pl.when(column.is_null()).then(pl.lit(None, dtype))


def _id(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.String):
        column = column.str.strip_chars()
        return pl.when(column != "").then(column)
    if dtype.is_integer():
        return column.cast(pl.String)
    if dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        return pl.when(whole == column).then(whole).cast(pl.String)
    return _nulls(column, pl.String) if not isinstance(dtype, pl.Null) else column.cast(pl.String)


def _real(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.String):
        column = column.str.strip_chars().cast(pl.Float64, strict=False)
    elif not (dtype.is_numeric() or isinstance(dtype, (pl.Null, pl.Boolean))):
        return _nulls(column, pl.Float64)
    number = column.cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)


def _whole(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.String):
        return column.str.strip_chars().cast(pl.Int64, strict=False)
    if dtype.is_integer() or isinstance(dtype, (pl.Null, pl.Boolean)):
        return column.cast(pl.Int64, strict=False)
    if not dtype.is_numeric():
        return _nulls(column, pl.Int64)
    number = column.cast(pl.Float64, strict=False)
    whole = number.cast(pl.Int64, strict=False)
    return pl.when(whole == number).then(whole)


def _between(convert: Convert, low: float, high: float, above: bool = False) -> Convert:
    def within(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        number = convert(column, dtype)
        fits = (number > low) if above else (number >= low)
        return pl.when(fits & (number <= high)).then(number)

    return within


def _flag(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, (pl.Boolean, pl.Null)):
        return column.cast(pl.Boolean)
    if isinstance(dtype, pl.String):
        text = column.str.strip_chars().str.to_lowercase()
        return (
            pl.when(text.is_in(["true", "yes", "1"]))
            .then(pl.lit(True))
            .when(text.is_in(["false", "no", "0"]))
            .then(pl.lit(False))
        )
    number = _whole(column, dtype)
    return pl.when(number.is_between(0, 1)).then(number == 1)


def _times(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Convert numbers of clicks, or truth values."""
    flag = _flag(column, dtype).cast(pl.Int64)
    return pl.coalesce(flag, _between(_whole, 0, 1_000_000)(column, dtype))


def _since(number: pl.Expr) -> pl.Expr:
    """Convert numbers to times since 1970: by their size in seconds or fractions of them."""
    size = number.abs()
    scale = (
        pl.when(size < 1e11).then(1e6).when(size < 1e14).then(1e3).when(size < 1e17).then(1.0)
    ).otherwise(1e-3)
    parts = number.cast(pl.Float64) * scale
    return pl.when(parts.is_between(_FIRST, _LAST)).then(parts.round()).cast(pl.Int64).cast(UTC)


_FORMATS = (
    *("%Y-%m-%dT%H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M:%S%.f%z"),
    *("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d"),
    *("%Y-%m-%dT%H:%M%:z", "%a, %d %b %Y %H:%M:%S %z"),
)


def _time_of_text(column: pl.Expr) -> list[pl.Expr]:
    """Return the conversions of the formats of times, the most usual first."""
    text = column.str.strip_chars()
    zoned = text.str.replace("(?:[zZ]| UTC)$", "+00:00")
    # Databases write the hours of a zone alone.
    zoned = zoned.str.replace(r"(:\d\d(?:\.\d+)?[+-]\d\d)$", "${1}:00")
    zoned = zoned.str.replace(r"^(\d{4}-\d\d-\d\d) +", "${1}T")
    ways = [text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False)]
    ways += [zoned.str.to_datetime(form, time_unit="us", strict=False) for form in _FORMATS]
    utc = [
        way.dt.convert_time_zone("UTC") if "z" in form else way.dt.replace_time_zone("UTC")
        for way, form in zip(ways, ("", *_FORMATS), strict=True)
    ]
    near = [pl.when(at.cast(pl.Int64).is_between(_FIRST, _LAST)).then(at) for at in utc]
    return [near[0], _since(_real(text, pl.String())), *near[1:]]


def _time(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is None:
            column = column.dt.replace_time_zone("UTC")
        at = column.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
        return pl.when(at.cast(pl.Int64).is_between(_FIRST, _LAST)).then(at)
    if isinstance(dtype, pl.Date):
        return column.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    if isinstance(dtype, pl.Null):
        return column.cast(UTC)
    return _since(_real(column, dtype)) if dtype.is_numeric() else _nulls(column, UTC)


ID = Cell(convert=_id, wanted="not text or an integer", needed=True)
"""The name of a page or a document: whole numbers are their digits."""

NAME = Cell(convert=_id, wanted="not text or an integer", blank=("",))
"""A name that may be missing."""

RANK = Cell(
    convert=_between(_whole, 1, 2**31 - 1), dtype=pl.Int32, wanted="not a whole number from 1"
)
NUMBER = Cell(
    convert=_between(_whole, 0, 2**62), dtype=pl.Int64, wanted="not a whole number from 0"
)
GRADE = Cell(
    convert=_between(_whole, -(2**31), 2**31 - 1),
    dtype=pl.Int64,
    wanted="not an integer (of 32 bits)",
)
PROPENSITY = Cell(
    convert=_between(_real, 0, 1, above=True), dtype=pl.Float64, wanted="not above 0 and up to 1"
)
TIMES = Cell(
    convert=_times,
    dtype=pl.Int64,
    wanted="neither true nor false, nor a whole number up to a million",
)
SECONDS = Cell(convert=_real, dtype=pl.Float64, wanted="not a number of seconds")
FLAG = Cell(convert=_flag, dtype=pl.Boolean, wanted="neither true nor false")
TIME = Cell(
    convert=_time,
    dtype=UTC,  # type: ignore[arg-type]
    wanted="not a time (ISO 8601, or a number since 1970)",
    blank=("", "na"),
    formats=_time_of_text,
)


def _schema(
    kind: str, *columns: Column, decisive: tuple[str, ...] = ("status", "count", "weight")
) -> Schema:
    return Schema(kind, columns, mapping=columns_of_mapping(kind), decisive=decisive)


_OF_PAGES = (
    optional("user", NAME),
    optional("session", NAME),
    optional("time", TIME),
    optional("variant", NAME),
    optional("found", NUMBER),
    optional("method", NAME),
)
_RANK = optional("rank", RANK)
_OF_RESULTS = (
    optional("team", NAME, "ranker"),
    optional("propensity", PROPENSITY),
    optional("grade", GRADE),
)
_QUERY = Column("query", ID)
COUNTED = optional("clicks", TIMES)
_READING = (optional("dwell", SECONDS, called="dwell"), optional("censored", FLAG))

PAGES = _schema("table of pages", Column("id", ID, "page", called="page"), _QUERY, *_OF_PAGES)
RESULTS = _schema("table of results", Column("page", ID), Column("doc", ID), _RANK, *_OF_RESULTS)
CLICKS = _schema(
    "table of clicks",
    Column("page", ID),
    optional("rank", RANK, "clicked rank"),
    optional("doc", NAME),
    optional("time", TIME, "time of click"),
    optional("end", TIME, called="time"),
    COUNTED,
    *_READING,
    decisive=("status", "count", "weight", "event"),
)
FLAT = _schema(
    "table of shown results",
    Column("page", ID),
    _QUERY,
    optional("doc", NAME),
    _RANK,
    COUNTED,
    *_OF_PAGES,
    *_OF_RESULTS,
    optional("click_time", TIME, "clicked at"),
    *_READING,
)

SCHEMAS = {"pages": PAGES, "results": RESULTS, "clicks": CLICKS}


def opened(data: Any, schema: Schema, empty: bool = False) -> Table:
    """Read a table of a log, perhaps one without rows."""
    if empty and is_blank_file(data):
        return table_of(pl.DataFrame(schema=["page", "rank", "doc"]), schema, fspath(data))
    return columns_of(data, schema).table(schema, empty=empty)


def table_of(frame: pl.DataFrame, schema: Schema, source: str, empty: bool = True) -> Table:
    """Convert a frame with columns of a schema, and perhaps the `line` of each row."""
    lines = frame["line"].to_list() if "line" in frame.columns else None
    return fitted(frame.to_dict(), schema, source, lines, empty=empty)


def is_blank_file(data: Any) -> bool:
    """Whether a file is one of JSON lines without a line; an empty CSV file has a header."""
    if not _is_json_lines(data):
        return False
    with Source.of(data).open() as stream:
        return is_blank(stream.read(4096))


def _is_json_lines(data: Any) -> bool:
    is_path = isinstance(data, (str, PathLike))
    return is_path and FORMAT_OF_SUFFIX.get(Source.of(data).suffix) == "jsonl"


def columns_of(data: Any, schema: Schema) -> Columns:
    """Read the columns of a table, unless they were read, and convert no cell yet."""
    if isinstance(data, Columns):
        return data
    if not _is_json_lines(data):
        return read_columns(data, schema)
    source = Source.of(data)
    raw, name = source.read(), source.name
    if is_blank(raw):
        raise schema.empty(name)
    frame, lines = records(raw, name, f"a {schema.kind}")
    if isinstance(kind := frame.schema.get("results"), pl.List) and kind.inner.is_nested():
        # A page is a line, and its results are listed.
        frame = frame.with_columns(pl.Series("(line)", lines))
        frame = frame.explode("results", empty_as_null=True, keep_nulls=True).unnest("results")
        lines = frame["(line)"].to_list()
        frame = frame.drop("(line)")
    return replace(columns_of_frame(frame, name), lines=lines)
