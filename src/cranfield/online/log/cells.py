"""Kinds of values in logs, whose columns are converted as a whole, and schemas of log tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from math import ulp
from typing import Any

import polars as pl

from cranfield.sources.columns import read_mapping_columns
from cranfield.sources.schemas import FileColumn, Schema, declare_optional
from cranfield.sources.values import Cells, ValueKind, convert_whole_float, is_absent, parse_number

UTC = pl.Datetime("us", "UTC")
_BLANK = ("", "na", "nan", "null", "none")
_DAY = 86_400_000_000
_YEAR_BOUNDS = -719_162 * _DAY, 2_932_897 * _DAY - 1  # Years 1 to 9999, microseconds since 1970
Conversion = Callable[[pl.Expr, pl.DataType], pl.Expr]  # Null where a cell cannot be converted


@dataclass(frozen=True)
class ColumnKind(ValueKind):
    """A kind of value to which whole columns are converted at once."""

    read: Callable[[Any], Any] = lambda cell: cell
    convert: Conversion = lambda column, dtype: column
    bounds: tuple[float, float] | None = None  # Lowest and highest number
    blank: tuple[str, ...] = _BLANK  # Words for a missing value, besides null
    # Conversions of text, to try in order; most columns need only the first few
    formats: Callable[[pl.Expr], Sequence[pl.Expr]] | None = None
    is_required: bool = False  # Whether a missing value is an error

    def to_expression(self, name: str, dtype: pl.DataType, n_formats: int | None = None) -> pl.Expr:
        """Convert a column by the first `n_formats` formats, or by all if that is None."""
        column = pl.col(name)
        if isinstance(dtype, (pl.Categorical, pl.Enum)):
            column, dtype = column.cast(pl.String), pl.String()
        if self.formats is not None and isinstance(dtype, pl.String):
            value = pl.coalesce(self.formats(column)[:n_formats])
        else:
            value = self.convert(column, dtype)
        if self.bounds is not None:
            value = pl.when(value.is_between(*self.bounds)).then(value)
        return value.cast(self.dtype)

    def is_missing(self, name: str, dtype: pl.DataType) -> pl.Expr:
        """Return a mask of the missing values of a column that are allowed."""
        column = pl.col(name)
        if self.is_required:
            return pl.lit(False)
        if isinstance(dtype, pl.String):
            text = column.str.strip_chars().str.to_lowercase()
            return column.is_null() | text.is_in([*self.blank])
        if dtype.is_float() and "nan" in self.blank:
            return column.is_null() | column.is_nan()
        return column.is_null()

    def describe_invalid(self, name: str, cell: Any) -> str:
        is_empty = cell is None or (isinstance(cell, str) and not cell)
        return f"has no {name}" if is_empty else super().describe_invalid(name, cell)

    def count_formats(self, sample: pl.Series) -> int | None:
        """Count the formats that a sample needs; None if it needs all, or no format applies."""
        frame = sample.alias("cell").drop_nulls().to_frame()
        if self.formats is None or not isinstance(sample.dtype, pl.String) or frame.is_empty():
            return None
        for n_formats in range(1, len(self.formats(pl.col("cell")))):
            value = self.to_expression("cell", sample.dtype, n_formats)
            if not frame.select(value)["cell"].null_count():
                return n_formats
        return None

    def convert_column(self, name: str, cells: Cells) -> tuple[pl.Series, int | None]:
        series = cells if isinstance(cells, pl.Series) else _make_series(cells)
        if self.prepare is not None:
            series = pl.Series(self.prepare(series))
        frame, dtype = series.alias(name).to_frame(), series.dtype
        for n_formats in dict.fromkeys((self.count_formats(series.head(1000)), None)):
            values = frame.select(self.to_expression(name, dtype, n_formats)).to_series()
            if not values.null_count():
                return values, None
        is_null = values.is_null()
        if isinstance(cells, pl.Series):
            rows = (is_null & ~frame.select(self.is_missing(name, dtype)).to_series()).arg_true()
            return values, int(rows[0]) if len(rows) else None
        # Cells of several types were converted to text, some of them to null.
        blank = frozenset(self.blank)
        null_rows = (int(row) for row in is_null.arg_true())
        bad_rows = (k for k in null_rows if self.is_required or not is_absent(cells[k], blank))
        return values, next(bad_rows, None)


def _make_series(cells: Sequence[Any]) -> pl.Series:
    """Make a column from Python values; values of several types become text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    try:
        if len(kinds) <= 1:
            return pl.Series(cells, strict=True)
        if kinds <= {int, float}:
            return pl.Series(cells, dtype=pl.Float64, strict=False)
    except (TypeError, ValueError, OverflowError, UnicodeError, pl.exceptions.PolarsError):
        pass
    return pl.Series([_to_text(cell) for cell in cells], dtype=pl.String)


def _to_text(cell: Any) -> str | None:
    """Return a scalar as text; None for other values."""
    if is_absent(cell):
        return None
    if isinstance(cell, (date, datetime)):
        return cell.isoformat()
    if not isinstance(cell, (str, bool, int, float)):
        item = getattr(cell, "item", None)
        return _to_text(item()) if item is not None and getattr(cell, "ndim", 1) == 0 else None
    try:
        text = str(convert_whole_float(cell))
        text.encode()
    except (ValueError, OverflowError):
        return None
    return text


def _make_nulls(column: pl.Expr, dtype: type[pl.DataType] | pl.DataType) -> pl.Expr:
    """Return a null for each cell of a column; a literal would have only one row."""
    return pl.when(column.is_null()).then(pl.lit(None, dtype))


def _convert_id(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.String):
        column = column.str.strip_chars()
        return pl.when(column != "").then(column)
    if dtype.is_float():
        integer = column.cast(pl.Int64, strict=False)
        return pl.when(integer == column).then(integer).cast(pl.String)
    is_convertible = dtype.is_integer() or isinstance(dtype, pl.Null)
    return column.cast(pl.String) if is_convertible else _make_nulls(column, pl.String)


def _convert_variant(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    is_boolean = isinstance(dtype, pl.Boolean)
    return column.cast(pl.String) if is_boolean else _convert_id(column, dtype)


def _convert_real(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.String):
        column = column.str.strip_chars()
    elif not (dtype.is_numeric() or isinstance(dtype, (pl.Null, pl.Boolean))):
        return _make_nulls(column, pl.Float64)
    real = column.cast(pl.Float64, strict=False)
    return pl.when(real.is_finite()).then(real)


def _convert_integer(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.String):
        column = column.str.strip_chars()
    elif dtype.is_float() or dtype.is_decimal():
        number = column.cast(pl.Float64, strict=False)
        integer = number.cast(pl.Int64, strict=False)
        return pl.when(integer == number).then(integer)
    elif not (dtype.is_integer() or isinstance(dtype, (pl.Null, pl.Boolean))):
        return _make_nulls(column, pl.Int64)
    return column.cast(pl.Int64, strict=False)


def _list_integer_conversions(column: pl.Expr) -> list[pl.Expr]:
    """Return conversions of text to integers, which pandas writes as `1.0` if a cell is missing."""
    text = column.str.strip_chars()
    integer_text = text.str.replace(r"\.0+$", "")
    return [number.cast(pl.Int64, strict=False) for number in (text, integer_text)]


def _convert_flag(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, (pl.Boolean, pl.Null)):
        return column.cast(pl.Boolean)
    if isinstance(dtype, pl.String):
        text = column.str.strip_chars().str.to_lowercase()
        is_true, is_false = text.is_in(["true", "yes", "1"]), text.is_in(["false", "no", "0"])
        return pl.when(is_true | is_false).then(is_true)
    number = _convert_integer(column, dtype)
    return pl.when(number.is_between(0, 1)).then(number == 1)


def _convert_clicks(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    return pl.coalesce(_convert_flag(column, dtype).cast(pl.Int64), _convert_integer(column, dtype))


def _list_click_conversions(column: pl.Expr) -> list[pl.Expr]:
    first, second = _list_integer_conversions(column)
    return [pl.coalesce(_convert_flag(column, pl.String()).cast(pl.Int64), first), second]


def _limit_years(time: pl.Expr) -> pl.Expr:
    return pl.when(time.cast(pl.Int64).is_between(*_YEAR_BOUNDS)).then(time)


def _convert_number_to_time(number: pl.Expr) -> pl.Expr:
    """Convert numbers to times since 1970, in s, ms, us or ns depending on their size."""
    size = number.abs()
    scale = (
        pl.when(size < 1e11).then(1e6).when(size < 1e14).then(1e3).when(size < 1e17).then(1.0)
    ).otherwise(1e-3)
    time = number.cast(pl.Float64) * scale
    return pl.when(time.is_between(*_YEAR_BOUNDS)).then(time.round()).cast(pl.Int64).cast(UTC)


_TIME_FORMATS = (
    *("%Y-%m-%dT%H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M:%S%.f%z"),
    *("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d"),
    *("%Y-%m-%dT%H:%M%:z", "%a, %d %b %Y %H:%M:%S %z"),
)


def _list_time_conversions(column: pl.Expr) -> list[pl.Expr]:
    """Return conversions of text to times, the most frequent format first."""
    text = column.str.strip_chars()
    zone_text = text.str.replace("(?:[zZ]| UTC)$", "+00:00")
    # Some databases write the offset of a time zone in hours only.
    zone_text = zone_text.str.replace(r"(:\d\d(?:\.\d+)?[+-]\d\d)$", "${1}:00")
    zone_text = zone_text.str.replace(r"^(\d{4}-\d\d-\d\d) +", "${1}T")
    iso_time = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False)
    number = _convert_real(text, pl.String())
    times = [_limit_years(iso_time.dt.replace_time_zone("UTC")), _convert_number_to_time(number)]
    for time_format in _TIME_FORMATS:
        time = zone_text.str.to_datetime(time_format, time_unit="us", strict=False).dt
        has_zone = time_format.endswith("z")
        utc = time.convert_time_zone("UTC") if has_zone else time.replace_time_zone("UTC")
        times.append(_limit_years(utc))
    return times


def _convert_time(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is None:
            column = column.dt.replace_time_zone("UTC")
        return _limit_years(column.dt.convert_time_zone("UTC").dt.cast_time_unit("us"))
    if isinstance(dtype, pl.Date):
        return column.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    if dtype.is_numeric():
        return _convert_number_to_time(_convert_real(column, dtype))
    return _make_nulls(column, UTC)


_NUMERIC_DATE = (
    r"^(?<year>(?:19|20)\d\d)(?<month>0[1-9]|1[0-2])(?<day>0[1-9]|[12]\d|3[01])"
    r"(?:(?<hour>[01]\d|2[0-3])(?<minute>[0-5]\d)(?<second>[0-5]\d)?)?(?:\.0)?$"
)
_DAY_NUMBERS = 36_526, 55_153  # Years 2000 to 2050 in spreadsheets, as days since 1899-12-30


def _convert_dates(cells: Any) -> Any:
    """Convert dates such as 20260301, or make day numbers invalid, if all cells are of one kind."""
    if not (cells.dtype == pl.String or cells.dtype.is_numeric()):
        return cells
    is_whole = cells.dtype.is_float() and bool((cells.drop_nans() % 1 == 0).all())
    integers = cells.fill_nan(None).cast(pl.Int64, strict=False) if is_whole else cells
    texts = integers.cast(pl.String).str.strip_chars()
    texts = texts.set(texts.str.to_lowercase().is_in(["", "na"]), None)
    numbers = texts.head(1000).drop_nulls()
    if not len(numbers) or numbers.cast(pl.Float64, strict=False).null_count():
        return cells
    if texts.drop_nulls().str.contains(_NUMERIC_DATE).all():
        time = "${year}-${month}-${day}T${hour}:${minute}:${second}"
        return texts.str.replace(_NUMERIC_DATE, time).str.replace("(T:)?:$", "")
    is_day = texts.drop_nulls().cast(pl.Float64, strict=False).is_between(*_DAY_NUMBERS)
    return pl.Series(["day number"] * len(cells)) if is_day.fill_null(False).all() else cells


# Integers are converted to text.
ID = ColumnKind(convert=_convert_id, problem="neither text nor an integer", is_required=True)
NAME = ColumnKind(convert=_convert_id, problem="neither text nor an integer", blank=("",))
VARIANT = replace(NAME, convert=_convert_variant)  # May also be true (treatment) or false
_INT_32 = (-(2**31), 2**31 - 1)


def _describe_invalid_rank(cell: Any) -> str:
    is_zero = parse_number(cell) == 0
    return "not an integer >= 1" + "; add 1 to ranks that count from 0" * is_zero


def _describe_invalid_clicks(cell: Any) -> str:
    is_nested = isinstance(cell, (list, tuple, dict, pl.Series))
    remedy = "; pass the clicks as a table with a row for each click" if is_nested else ""
    return f"not true, false or an integer from 0 to 1,000,000{remedy}"


def _make_kind(
    convert: Conversion, dtype: Any, problem: Any, bounds: Any = None, **options: Any
) -> ColumnKind:
    return ColumnKind(convert=convert, dtype=dtype, problem=problem, bounds=bounds, **options)


_make_integer_kind = partial(_make_kind, _convert_integer, formats=_list_integer_conversions)
RANK = _make_integer_kind(pl.Int32, _describe_invalid_rank, (1, _INT_32[1]))
RANK_FROM_0 = _make_integer_kind(pl.Int32, _describe_invalid_rank, (0, _INT_32[1]))
COUNT = _make_integer_kind(pl.Int64, "not an integer >= 0", (0, 2**62))
GRADE = _make_integer_kind(pl.Int64, "not an integer of at most 32 bits", _INT_32)
PROPENSITY = _make_kind(
    _convert_real, pl.Float64, "not a number above 0 and at most 1", (ulp(0.0), 1)
)
CLICK_COUNT = _make_kind(
    _convert_clicks,
    pl.Int64,
    _describe_invalid_clicks,
    (0, 1_000_000),
    formats=_list_click_conversions,
)
SECONDS = _make_kind(_convert_real, pl.Float64, "not a number of seconds")
FLAG = _make_kind(_convert_flag, pl.Boolean, "neither true nor false")


def _describe_invalid_time(cell: Any) -> str:
    number, (first, last) = parse_number(cell), _DAY_NUMBERS
    is_day = number is not None and first <= number <= last
    remedy = "; format the cells as 2026-03-01 08:00:00 in the spreadsheet" if is_day else ""
    return f"not a time (ISO 8601, or s, ms, us or ns since 1970){remedy}"


TIME = replace(
    _make_kind(_convert_time, UTC, "", blank=("", "na"), formats=_list_time_conversions),
    problem=_describe_invalid_time,
    prepare=_convert_dates,
    has_number_texts=True,
)


def _make_schema(kind: str, *columns: FileColumn, more_decisive: tuple[str, ...] = ()) -> Schema:
    decisive_kinds = ("status", "count", "weight", "visibility", "exposure", *more_decisive)
    return Schema(kind, columns, read_mapping=read_mapping_columns, decisive_kinds=decisive_kinds)


_PAGE_KINDS = {"user": NAME, "session": NAME, "time": TIME, "variant": VARIANT}
_PAGE_KINDS |= {"total_results": COUNT, "method": NAME}
_PAGE_COLUMNS = tuple(declare_optional(*item) for item in _PAGE_KINDS.items())
_RANK = declare_optional("rank", RANK, "rank on a page")
_TEAM = declare_optional("team", NAME, "ranker")
_ATTRIBUTES = (_TEAM, declare_optional("propensity", PROPENSITY), declare_optional("grade", GRADE))
_PAGE, _QUERY = FileColumn("page", ID), FileColumn("query", ID)
COUNT_COLUMN = declare_optional("clicks", CLICK_COUNT)
_DWELL_COLUMNS = (
    declare_optional("dwell", SECONDS, noun="dwell"),
    declare_optional("censored", FLAG),
)

PAGES = _make_schema(
    "table of pages", FileColumn("id", ID, "page", noun="page"), _QUERY, *_PAGE_COLUMNS
)
RESULTS = _make_schema("table of results", _PAGE, FileColumn("doc", ID), _RANK, *_ATTRIBUTES)
CLICKS = _make_schema(
    "table of clicks",
    _PAGE,
    declare_optional("rank", RANK, "clicked rank"),
    declare_optional("doc", NAME),
    declare_optional("time", TIME, "time of click"),
    declare_optional("end", TIME, noun="time"),
    COUNT_COLUMN,
    *_DWELL_COLUMNS,
    more_decisive=("event",),
)
FLAT = _make_schema(
    "table of shown results",
    _PAGE,
    _QUERY,
    declare_optional("doc", NAME),
    declare_optional("rank", RANK_FROM_0, "rank on a page"),
    COUNT_COLUMN,
    *_PAGE_COLUMNS,
    *_ATTRIBUTES,
    declare_optional("click_time", TIME, "clicked at"),
    *_DWELL_COLUMNS,
)

SCHEMAS = {"pages": PAGES, "results": RESULTS, "clicks": CLICKS}
