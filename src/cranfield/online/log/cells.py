"""Values of logs: the kinds of cells, converted column by column, and the schemas of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import ulp
from typing import Any

import polars as pl

from cranfield.sources.columns import columns_of_mapping
from cranfield.sources.schemas import Column, Schema, optional
from cranfield.sources.values import Cells, Kind, absent, plain

UTC = pl.Datetime("us", "UTC")
_BLANK = ("", "na", "nan", "null", "none")
_DAY = 86_400_000_000
_YEARS = -719_162 * _DAY, 2_932_897 * _DAY - 1
"""The years 1 to 9999 in microseconds, which are those of Python's calendar."""

Convert = Callable[[pl.Expr, pl.DataType], pl.Expr]
"""Converts a column of some type; null where a cell cannot be converted."""


@dataclass(frozen=True)
class Cell(Kind):
    """A kind of value to which whole columns are converted at once.

    convert: the conversion, as an expression.
    within: lowest and highest number.
    blank: words for a missing value, besides null.
    formats: for text, conversions to try in order, of which most columns need the first few.
    needed: whether a missing value is an error.
    """

    read: Callable[[Any], Any] = lambda cell: cell
    convert: Convert = lambda column, dtype: column
    within: tuple[float, float] | None = None
    blank: tuple[str, ...] = _BLANK
    formats: Callable[[pl.Expr], Sequence[pl.Expr]] | None = None
    needed: bool = False

    def expression(self, name: str, dtype: pl.DataType, formats: int | None = None) -> pl.Expr:
        """Convert a column, perhaps by the first few formats only."""
        column = pl.col(name)
        if isinstance(dtype, (pl.Categorical, pl.Enum)):
            column, dtype = column.cast(pl.String), pl.String()
        if self.formats is not None and isinstance(dtype, pl.String):
            value = pl.coalesce(self.formats(column)[:formats])
        else:
            value = self.convert(column, dtype)
        if self.within is not None:
            value = pl.when(value.is_between(*self.within)).then(value)
        return value.cast(self.dtype)

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
        empty = cell is None or (isinstance(cell, str) and not cell)
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
        series = cells if isinstance(cells, pl.Series) else _series_of(cells)
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


def _series_of(cells: Sequence[Any]) -> pl.Series:
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
    """Return a single value as text; None for other values."""
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
    if dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        return pl.when(whole == column).then(whole).cast(pl.String)
    is_name = dtype.is_integer() or isinstance(dtype, pl.Null)
    return column.cast(pl.String) if is_name else _nulls(column, pl.String)


def _real(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.String):
        column = column.str.strip_chars()
    elif not (dtype.is_numeric() or isinstance(dtype, (pl.Null, pl.Boolean))):
        return _nulls(column, pl.Float64)
    number = column.cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)


def _whole(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.String):
        column = column.str.strip_chars()
    elif dtype.is_float() or dtype.is_decimal():
        number = column.cast(pl.Float64, strict=False)
        whole = number.cast(pl.Int64, strict=False)
        return pl.when(whole == number).then(whole)
    elif not (dtype.is_integer() or isinstance(dtype, (pl.Null, pl.Boolean))):
        return _nulls(column, pl.Int64)
    return column.cast(pl.Int64, strict=False)


def _flag(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, (pl.Boolean, pl.Null)):
        return column.cast(pl.Boolean)
    if isinstance(dtype, pl.String):
        text = column.str.strip_chars().str.to_lowercase()
        is_true, is_false = text.is_in(["true", "yes", "1"]), text.is_in(["false", "no", "0"])
        return pl.when(is_true | is_false).then(is_true)
    number = _whole(column, dtype)
    return pl.when(number.is_between(0, 1)).then(number == 1)


def _times(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Convert numbers of clicks, or truth values."""
    return pl.coalesce(_flag(column, dtype).cast(pl.Int64), _whole(column, dtype))


def _in_years(time: pl.Expr) -> pl.Expr:
    return pl.when(time.cast(pl.Int64).is_between(*_YEARS)).then(time)


def _since(number: pl.Expr) -> pl.Expr:
    """Convert numbers to times since 1970: by their size in seconds or fractions of them."""
    size = number.abs()
    scale = (
        pl.when(size < 1e11).then(1e6).when(size < 1e14).then(1e3).when(size < 1e17).then(1.0)
    ).otherwise(1e-3)
    parts = number.cast(pl.Float64) * scale
    return pl.when(parts.is_between(*_YEARS)).then(parts.round()).cast(pl.Int64).cast(UTC)


_FORMATS = (
    *("%Y-%m-%dT%H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M:%S%.f%z"),
    *("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d"),
    *("%Y-%m-%dT%H:%M%:z", "%a, %d %b %Y %H:%M:%S %z"),
)


def _times_of_text(column: pl.Expr) -> list[pl.Expr]:
    """Return the conversions of the formats of times, the most usual first."""
    text = column.str.strip_chars()
    zoned = text.str.replace("(?:[zZ]| UTC)$", "+00:00")
    # Databases write the hours of a zone alone.
    zoned = zoned.str.replace(r"(:\d\d(?:\.\d+)?[+-]\d\d)$", "${1}:00")
    zoned = zoned.str.replace(r"^(\d{4}-\d\d-\d\d) +", "${1}T")
    usual = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False)
    times = [_in_years(usual.dt.replace_time_zone("UTC")), _since(_real(text, pl.String()))]
    for form in _FORMATS:
        time = zoned.str.to_datetime(form, time_unit="us", strict=False).dt
        has_zone = form.endswith("z")
        utc = time.convert_time_zone("UTC") if has_zone else time.replace_time_zone("UTC")
        times.append(_in_years(utc))
    return times


def _time(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is None:
            column = column.dt.replace_time_zone("UTC")
        return _in_years(column.dt.convert_time_zone("UTC").dt.cast_time_unit("us"))
    if isinstance(dtype, pl.Date):
        return column.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    return _since(_real(column, dtype)) if dtype.is_numeric() else _nulls(column, UTC)


ID = Cell(convert=_id, wanted="not text or an integer", needed=True)
"""The name of a page or a document: whole numbers are their digits."""

NAME = Cell(convert=_id, wanted="not text or an integer", blank=("",))
"""A name that may be missing."""


_INT_32 = (-(2**31), 2**31 - 1)
_UP_TO_A_MILLION = "neither true nor false, nor a whole number up to a million"


def _kind(
    convert: Convert,
    dtype: type[pl.DataType],
    wanted: str,
    within: tuple[float, float] | None = None,
) -> Cell:
    return Cell(convert=convert, dtype=dtype, wanted=wanted, within=within)


RANK = _kind(_whole, pl.Int32, "not a whole number from 1", (1, _INT_32[1]))
NUMBER = _kind(_whole, pl.Int64, "not a whole number from 0", (0, 2**62))
GRADE = _kind(_whole, pl.Int64, "not an integer (of 32 bits)", _INT_32)
PROPENSITY = _kind(_real, pl.Float64, "not above 0 and up to 1", (ulp(0.0), 1))
TIMES = _kind(_times, pl.Int64, _UP_TO_A_MILLION, (0, 1_000_000))
SECONDS = _kind(_real, pl.Float64, "not a number of seconds")
FLAG = _kind(_flag, pl.Boolean, "neither true nor false")
TIME = Cell(
    convert=_time,
    dtype=UTC,  # type: ignore[arg-type]
    wanted="not a time (ISO 8601, or a number since 1970)",
    blank=("", "na"),
    formats=_times_of_text,
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
