"""Columns from outside made ids, scores and grades, or refused by row and reason."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.collection.files.strict import is_integer, is_number

_TYPES: dict[str, type[pl.DataType]] = {
    "score": pl.Float64,
    "length": pl.Float64,
    "weight": pl.Float64,
    "probability": pl.Float64,
    "inclusion": pl.Float64,
    "grade": pl.Int32,
    "rank": pl.Int32,
}
_NUMBERS = frozenset({"score", "length", "weight", "probability", "inclusion"})
_WANTED = {
    **dict.fromkeys(_NUMBERS, "a finite number"),
    "grade": "an integer (of 32 bits)",
}
_ID = "text or an integer"


def typed(table: Mapping[str, Any], kind: str, source: str) -> pl.DataFrame:
    """Give each column its type, or name the first row that does not fit.

    Parameters
    ----------
    table
        Columns by cranfield's names: lists of Python values, or polars series.
    kind
        What the table is, for messages.
    source
        Name for messages.
    """
    frame = pl.DataFrame({name: _column(name, values, source) for name, values in table.items()})
    if not frame.height:
        raise InputError(f"is empty: a {kind} has at least one row", source=source)
    return frame


def _column(name: str, values: Any, source: str) -> pl.Series:
    """Convert one column; None marks what could not be, and is refused where it matters."""
    series = _from_series(name, values) if isinstance(values, pl.Series) else None
    if series is None:
        listed = values.to_list() if isinstance(values, pl.Series) else values
        series = _from_list(name, listed)
    if name in {"rank", "tag"}:
        return series
    bad = series.is_null().arg_true()
    if len(bad):
        row = int(bad[0])
        wanted = _WANTED.get(name, _ID)
        raise InputError(
            f"row {row + 1}: {name} {_shown(values[row])} is not {wanted}", source=source
        )
    return series


def _from_series(name: str, series: pl.Series) -> pl.Series | None:
    """Convert a column of a plain type as a whole; None for any other type."""
    dtype = series.dtype
    if dtype in {pl.Categorical, pl.Enum}:
        series, dtype = series.cast(pl.String), pl.String()
    wanted = _TYPES.get(name)
    if wanted is None:
        if dtype == pl.String:
            return series.set(series == "", None)
        return series.cast(pl.String) if dtype.is_integer() else None
    if dtype == pl.String:
        return None
    if dtype.is_integer() or dtype == pl.Boolean:
        number = series.cast(wanted, strict=False)
    elif dtype in {pl.Float32, pl.Float64}:
        number = series.cast(wanted, strict=False)
        if wanted == pl.Int32:
            number = number.set((number != series).fill_null(True), None)
    else:
        return None
    if wanted == pl.Float64:
        number = number.set(~number.is_finite().fill_null(False), None)
    return number


def _from_list(name: str, values: list[Any]) -> pl.Series:
    """Convert Python values of any kinds; the usual ones are not looked at one by one."""
    kinds = set(map(type, values))
    plain: set[type] = {float, int} if name in _NUMBERS else {int} if name == "grade" else {str}
    if kinds <= plain:
        try:
            made = _from_series(name, pl.Series(name, values, dtype=_exact(name), strict=True))
        except (OverflowError, UnicodeError, TypeError, pl.exceptions.PolarsError):
            made = None
        if made is not None:
            return made
    one = _score if name in _NUMBERS else _grade if name in {"grade", "rank"} else _id
    return pl.Series(name, [one(value) for value in values], dtype=_TYPES.get(name, pl.String))


def _exact(name: str) -> type[pl.DataType]:
    return pl.Float64 if name in _NUMBERS else pl.Int64 if name == "grade" else pl.String


def _score(value: Any) -> float | None:
    if isinstance(value, str):
        return float(value) if is_number(value.strip()) else None
    if isinstance(value, (int, float, Decimal, np.number, np.bool_)):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
        return number if np.isfinite(number) else None
    return None


def _grade(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value) if is_integer(value.strip()) else None
    if isinstance(value, (int, float, Decimal, np.number, np.bool_)):
        try:
            number = int(value)
        except (TypeError, ValueError, OverflowError):
            return None
        return number if number == value and -(2**31) <= number < 2**31 else None
    return None


def _id(value: Any) -> str | None:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        # Ids read as floats by other tools are still the whole numbers that they were.
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**100:
        return str(value)
    if isinstance(value, str) and value:
        try:
            value.encode()
        except UnicodeEncodeError:
            return None
        return value
    return None


def _shown(value: Any) -> str:
    try:
        return quoted(value)
    except ValueError:
        return f"of type {type(value).__name__}, too long to show,"
