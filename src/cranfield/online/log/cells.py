"""What a cell of a log may hold, turned into typed columns by expressions, whole or lazily."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import polars as pl

from cranfield.sources.values import Cells, Kind, absent, plain

UTC = pl.Datetime("us", "UTC")
_BLANK = ("", "na", "nan", "null", "none")
_DAY = 86_400_000_000
_FIRST, _LAST = -719_162 * _DAY, 2_932_897 * _DAY - 1
"""The years 1 to 9999 in microseconds, beyond which no calendar of Python goes."""

Convert = Callable[[pl.Expr, pl.DataType], pl.Expr]
"""Makes values of a column of some type, null where it is none."""

Stages = Callable[[pl.Expr], Sequence[pl.Expr]]


@dataclass(frozen=True)
class Cell(Kind):
    """A kind of value that whole columns are turned into at once.

    convert: the values as an expression.
    blank: words that say that there is none, besides null; none of them in a column that is needed.
    stages: for text, the ways to read it one by one, of which most columns need the first few.
    """

    convert: Convert = lambda column, dtype: column
    blank: tuple[str, ...] = _BLANK
    stages: Stages | None = None
    needed: bool = False

    def expression(self, name: str, dtype: pl.DataType, stage: int | None = None) -> pl.Expr:
        """Turn a column into values, or by one stage of several only."""
        if stage is not None and self.stages is not None:
            return self.stages(pl.col(name))[stage].cast(self.dtype)
        return self.convert(pl.col(name), dtype).cast(self.dtype)

    def unreadable(self, name: str, dtype: pl.DataType, stage: int | None = None) -> pl.Expr:
        """Tell which cells hold something that is no such value."""
        nothing = self.expression(name, dtype, stage).is_null()
        return nothing if self.needed else nothing & ~self._left_out(pl.col(name), dtype)

    def reason(self, name: str, cell: Any) -> str:
        nothing = cell is None or (isinstance(cell, str) and cell == "")
        return f"has no {name}" if nothing else super().reason(name, cell)

    def stage_of(self, some: pl.Series) -> int | None:
        """Tell the stage that reads some values of a column; None where it takes all stages."""
        if self.stages is None or not isinstance(some.dtype, pl.String) or some.is_empty():
            return None
        tried = some.alias("cell").drop_nulls().to_frame()
        ways = enumerate(self.stages(pl.col("cell")))
        fits = (k for k, way in ways if not tried.select(way).to_series().null_count())
        return next(fits, None)

    def column(self, name: str, cells: Cells) -> tuple[pl.Series, int | None]:
        series = cells if isinstance(cells, pl.Series) else series_of(cells)
        frame = series.alias("cell").to_frame()
        made = self._read(frame, series.dtype)
        if not made.null_count():
            return made.alias(name), None
        nothing = made.is_null()
        if not self.needed:
            nothing &= ~frame.select(self._left_out(pl.col("cell"), series.dtype)).to_series()
        bad = nothing.arg_true()
        if isinstance(cells, pl.Series):
            return made.alias(name), int(bad[0]) if len(bad) else None
        rows = (int(row) for row in made.is_null().arg_true())
        words = frozenset(self.blank)
        some = (row for row in rows if self.needed or not absent(cells[row], words))
        return made.alias(name), next(some, None)

    def _read(self, frame: pl.DataFrame, dtype: pl.DataType) -> pl.Series:
        if self.stages is None or not isinstance(dtype, pl.String):
            return frame.select(self.expression("cell", dtype)).to_series()
        made = pl.Series([None], dtype=self.dtype).new_from_index(0, frame.height)
        for stage in self.stages(pl.col("cell")):
            made = frame.select(pl.coalesce(made, stage.cast(self.dtype))).to_series()
            if not made.null_count():
                break
        return made

    def _left_out(self, column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        if isinstance(dtype, pl.String):
            text = column.str.strip_chars().str.to_lowercase()
            return column.is_null() | text.is_in([*self.blank])
        if dtype.is_float() and "nan" in self.blank:
            return column.is_null() | column.is_nan()
        return column.is_null()


def series_of(cells: Sequence[Any]) -> pl.Series:
    """Make a column of values of Python; of several types they become text."""
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
    """Spell a value; None for what is no single value."""
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


def _nothing(column: pl.Expr, dtype: type[pl.DataType] | pl.DataType) -> pl.Expr:
    """Read no cell of a column, which stays as long as it is: a literal has one row."""
    return pl.when(column.is_null()).then(pl.lit(None, dtype))


def _told(column: pl.Expr, dtype: pl.DataType) -> tuple[pl.Expr, pl.DataType]:
    """Take categories as the text that they stand for."""
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        return column.cast(pl.String), pl.String()
    return column, dtype


def _id(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    column, dtype = _told(column, dtype)
    if isinstance(dtype, pl.String):
        column = column.str.strip_chars()
        return pl.when(column != "").then(column)
    if dtype.is_integer():
        return column.cast(pl.String)
    if dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        return pl.when(whole == column).then(whole).cast(pl.String)
    return _nothing(column, pl.String) if not isinstance(dtype, pl.Null) else column.cast(pl.String)


def _real(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    column, dtype = _told(column, dtype)
    if isinstance(dtype, pl.String):
        column = column.str.strip_chars().cast(pl.Float64, strict=False)
    elif not (dtype.is_numeric() or isinstance(dtype, (pl.Null, pl.Boolean))):
        return _nothing(column, pl.Float64)
    number = column.cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)


def _whole(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    column, dtype = _told(column, dtype)
    if isinstance(dtype, pl.String):
        return column.str.strip_chars().cast(pl.Int64, strict=False)
    if dtype.is_integer() or isinstance(dtype, (pl.Null, pl.Boolean)):
        return column.cast(pl.Int64, strict=False)
    if not dtype.is_numeric():
        return _nothing(column, pl.Int64)
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
    column, dtype = _told(column, dtype)
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
    """Read how often, or whether at all."""
    flag = _flag(column, dtype).cast(pl.Int64)
    return pl.coalesce(flag, _between(_whole, 0, 1_000_000)(column, dtype))


def _since(number: pl.Expr) -> pl.Expr:
    """Read a number as time since 1970: by its size in seconds, or parts of them."""
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
    """List the ways in which a time may be written, the most usual first."""
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
    column, dtype = _told(column, dtype)
    if isinstance(dtype, pl.String):
        return pl.coalesce(_time_of_text(column))
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is None:
            column = column.dt.replace_time_zone("UTC")
        at = column.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
        return pl.when(at.cast(pl.Int64).is_between(_FIRST, _LAST)).then(at)
    if isinstance(dtype, pl.Date):
        return column.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    if isinstance(dtype, pl.Null):
        return column.cast(UTC)
    if isinstance(dtype, pl.Boolean) or not dtype.is_numeric():
        return _nothing(column, UTC)
    return _since(_real(column, dtype))


def _cell(
    convert: Convert,
    dtype: Any,
    wanted: str = "",
    blank: tuple[str, ...] = _BLANK,
    needed: bool = False,
    stages: Stages | None = None,
) -> Cell:
    return Cell(
        lambda cell: cell,
        dtype,
        wanted,
        convert=convert,
        blank=blank,
        needed=needed,
        stages=stages,
    )


ID = _cell(_id, pl.String, "not text or an integer", needed=True)
"""The name of a page or a document: whole numbers are their digits."""

NAME = _cell(_id, pl.String, "not text or an integer", blank=("",))
"""The same, and nothing where it is none."""

RANK = _cell(_between(_whole, 1, 2**31 - 1), pl.Int32, "not a whole number from 1")
NUMBER = _cell(_between(_whole, 0, 2**62), pl.Int64, "not a whole number from 0")
GRADE = _cell(_between(_whole, -(2**31), 2**31 - 1), pl.Int64, "not an integer (of 32 bits)")
PROPENSITY = _cell(_between(_real, 0, 1, above=True), pl.Float64, "not above 0 and up to 1")
TIMES = _cell(_times, pl.Int64, "neither true nor false, nor a whole number up to a million")
SECONDS = _cell(_real, pl.Float64, "no number of seconds")
FLAG = _cell(_flag, pl.Boolean, "neither true nor false")
TIME = _cell(
    *(_time, UTC, "no time (ISO 8601, or a number since 1970)"),
    blank=("", "na"),
    stages=_time_of_text,
)
