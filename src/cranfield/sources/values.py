"""Values of cells: numbers, missing values, and kinds of values with their conversion."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite, isnan
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import quote, warn
from cranfield.base.text import inflect, list_some

Cells = Sequence[Any] | pl.Series
"""A raw column: Python values, or a polars series."""

_COMPLEX_TYPES = (complex, np.complexfloating)
"""Complex types, which NumPy would convert to real numbers with a warning."""

_NOT_NUMBERS = (bool, np.bool_, bytes, bytearray, *_COMPLEX_TYPES)
"""Types that Python and NumPy would convert to numbers."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
_INT32 = 2**31

BLANKS = " \t\n\r\v\f"
"""Blanks to strip from values; other white space may be part of an id."""


def is_number(text: str) -> bool:
    """Return True if a text is a finite number in ASCII digits."""
    return bool(_NUMBER.fullmatch(text)) and isfinite(float(text))


def parse_integer(text: str) -> int | None:
    """Parse an integer of 32 bits; return None for other text."""
    if not _INTEGER.fullmatch(text):
        return None
    # Leading zeros are stripped first: Python refuses to read thousands of digits.
    digits = text.lstrip("+-0") or "0"
    if len(digits) > len(str(_INT32)):
        return None
    number = -int(digits) if text.startswith("-") else int(digits)
    return number if -_INT32 <= number < _INT32 else None


def parse_integral_number(text: str) -> int | None:
    """Parse an integer of 32 bits, perhaps with decimals that are 0 (`2.0`); else return None."""
    integer, _, decimals = text.partition(".")
    return None if decimals.strip("0") else parse_integer(integer)


def parse_numbers(column: pl.Expr) -> pl.Expr:
    """Parse a column of text as numbers; text that is not a number (:func:`is_number`) is null.

    >>> frame = pl.DataFrame({"score": ["0.5", "1e3", "nan", "1_0", ".5", None]})
    >>> frame.select(parse_numbers(pl.col("score")))["score"].to_list()
    [0.5, 1000.0, None, None, 0.5, None]
    """
    number = column.cast(pl.Float64, strict=False)
    has_form = column.str.contains(f"(?-u)^(?:{_NUMBER.pattern})$")
    return pl.when(has_form & number.is_finite()).then(number)


def parse_integers(column: pl.Expr) -> pl.Expr:
    """Parse a column of text as integers; text that is not an integer of 32 bits is null.

    >>> frame = pl.DataFrame({"rank": ["5", "-5", "1.5", "1-2", "2147483648", None]})
    >>> frame.select(parse_integers(pl.col("rank")))["rank"].to_list()
    [5, -5, None, None, None, None]
    """
    has_form = column.str.contains(f"(?-u)^(?:{_INTEGER.pattern})$")
    return pl.when(has_form).then(column.cast(pl.Int32, strict=False))


def parse_number(cell: Any) -> float | None:
    """Convert a cell to a finite number; return None for others, such as Booleans."""
    if isinstance(cell, str):
        return float(text) if is_number(text := cell.strip(BLANKS)) else None
    if isinstance(cell, _NOT_NUMBERS):
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def is_absent(cell: Any, words: frozenset[str] = frozenset({""})) -> bool:
    """Return True if a cell has no value, or is one of the words, regardless of case."""
    if isinstance(cell, str):
        return cell.strip().lower() in words
    if isinstance(cell, _COMPLEX_TYPES):
        return False
    # pandas.NA equals nothing, and has no truth value.
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return True
    try:
        return isnan(cell)
    except (TypeError, ValueError, OverflowError):
        return False


def mask_absent(cells: Cells, words: frozenset[str]) -> pl.Series:
    """Return a mask of the cells without a value; see :func:`is_absent`."""
    if isinstance(cells, pl.Series) and cells.dtype == pl.String:
        return cells.fill_null("").str.strip_chars().str.to_lowercase().is_in([*words])
    if isinstance(cells, pl.Series) and cells.dtype.is_numeric():
        return cells.cast(pl.Float64).is_nan().fill_null(True)
    return pl.Series([is_absent(cell, words) for cell in cells], dtype=pl.Boolean)


NO_GRADE = frozenset({"", "na", "n/a", "nan", "null", "none"})
"""Words for a missing grade, regardless of case."""

NO_SCORE = NO_GRADE | {"-", "<na>", "\\n"}
"""Words for a missing score, regardless of case, including those of pandas and databases."""

NO_USER = NO_GRADE | {"-", "(not set)", "undefined", "unknown", "anonymous", "guest"}
"""Words for an unknown user that other tools write, regardless of case."""

BOOLEAN_GRADES = {"true": 1, "false": 0}
"""Grades of Booleans, by their text."""


def convert_booleans(cells: Cells, noun: str = "grades") -> Cells:
    """Convert Booleans and their texts to 1 and 0, unless a cell has another value."""
    first_cell = next((cell for cell in cells if not is_absent(cell, NO_GRADE)), None)
    if _parse_boolean(first_cell) is None:
        return cells
    values = cells.to_list() if isinstance(cells, pl.Series) else list(cells)
    grades = [_parse_boolean(cell) for cell in values]
    if any(_parse_boolean(cell) is None and not is_absent(cell, NO_GRADE) for cell in values):
        return cells
    if noun:
        warn(f"{noun} are Boolean; true is read as 1, false as 0")
    return grades


def _parse_boolean(cell: Any) -> int | None:
    if isinstance(cell, (bool, np.bool_)):
        return int(cell)
    return BOOLEAN_GRADES.get(cell.strip(BLANKS).lower()) if isinstance(cell, str) else None


def convert_whole_float(cell: Any) -> Any:
    """Convert a float that is an integer to an integer; other tools read ids as floats."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


@dataclass(frozen=True)
class ValueKind:
    """The kind of the values of a column, and their conversion.

    read: converts a Python value to a value of the column; returns None for an invalid value.
    dtype: polars type of the column.
    problem: description of an invalid value in messages, such as `not a finite number`, or a
        function that returns it.
    becomes_null: returns True for invalid values that become null; by default all are refused.
    types: Python type and polars type of columns that are converted as a whole; None if
        values are always converted one by one.
    prepare: converts the raw column before its values are read.
    reports_blanks: whether only `BLANKS` are removed around texts, with a warning; otherwise all
        white space is removed without a warning.
    has_number_texts: whether the column has numbers although its type is text.
    """

    read: Callable[[Any], Any]
    dtype: type[pl.DataType] = pl.String
    problem: str | Callable[[Any], str] = ""
    becomes_null: Callable[[Any], bool] = lambda cell: False
    types: tuple[type, type[pl.DataType]] | None = None
    prepare: Callable[[Cells], Cells] | None = None
    reports_blanks: bool = True
    has_number_texts: bool = False

    @property
    def is_numeric(self) -> bool:
        return self.has_number_texts or self.dtype.is_numeric()

    def convert_column(self, name: str, cells: Cells) -> tuple[pl.Series, int | None]:
        """Convert a column; also return the first row with an invalid value, or None."""
        cells = cells if self.prepare is None else self.prepare(cells)
        series = self._convert_whole_column(name, cells)
        if series is None:
            raw_values = cells.to_list() if isinstance(cells, pl.Series) else cells
            values = [self.read(value) for value in raw_values]
            try:
                series = pl.Series(values, dtype=self.dtype)
            except UnicodeEncodeError:
                row = next(k for k, value in enumerate(values) if is_broken_text(value))
                return pl.Series(name, [None] * len(values), self.dtype), row
        rows = series.is_null().arg_true()
        bad_row = next((int(row) for row in rows if not self.becomes_null(cells[int(row)])), None)
        return series.alias(name), bad_row

    def describe_invalid(self, name: str, cell: Any) -> str:
        """Describe why a value is invalid."""
        if is_absent(cell) and not (self.dtype == pl.Float64 and isinstance(cell, float)):
            return f"has no {name}"
        problem = self.problem(cell) if callable(self.problem) else self.problem
        try:
            text = quote(cell.to_list() if isinstance(cell, pl.Series) else cell)
        except ValueError:
            text = f"(a value of type {type(cell).__name__}, too long to show)"
        if is_broken_text(cell):
            return f"{name} {text} is not valid Unicode text (half of a surrogate pair)"
        return f"{name} {text} is {problem}" if problem else f"has no {name}"

    def _convert_whole_column(self, name: str, cells: Cells) -> pl.Series | None:
        """Convert a column as a whole; return None if values must be converted one by one."""
        if self.types is None:
            return None
        if isinstance(cells, pl.Series):
            series = cells
        else:
            python_type, polars_type = self.types
            cell_types = {*map(type, cells)} - {type(None)}
            if not cell_types <= ({float, int} if python_type is float else {python_type}):
                return None
            try:
                series = pl.Series(cells, dtype=polars_type, strict=True)
            except (OverflowError, UnicodeError, TypeError, pl.exceptions.PolarsError):
                return None
        if series.dtype in {pl.Categorical, pl.Enum}:
            series = series.cast(pl.String)
        dtype = series.dtype
        if self.dtype == pl.String:
            if dtype == pl.String:
                stripped = series.str.strip_chars(BLANKS if self.reports_blanks else None)
                n_changed = int(((stripped != series) & (stripped != "")).sum())
                if n_changed and self.reports_blanks:
                    subject = f"blanks around {inflect(n_changed, 'id')}"
                    warn(f"{subject} in the column {name} were removed")
                return stripped.set(stripped == "", None)
            return series.cast(pl.String) if dtype.is_integer() else None
        if dtype == pl.String:
            texts = pl.DataFrame({"": series.str.strip_chars(BLANKS)})
            expression = (parse_numbers if self.dtype == pl.Float64 else parse_integers)(pl.col(""))
            numbers = texts.select(expression).to_series()
            # Texts of an unusual form are converted one by one, each once.
            other_texts = series.filter(numbers.is_null()).drop_nulls().unique()
            values = pl.Series([self.read(text) for text in other_texts], dtype=self.dtype)
            return numbers.fill_null(series.replace_strict(other_texts, values, default=None))
        if not (dtype.is_integer() or dtype in {pl.Float32, pl.Float64}):
            return None
        numbers = series.cast(self.dtype, strict=False)
        if self.dtype == pl.Float64:
            return numbers.set(~numbers.is_finite().fill_null(False), None)
        is_changed = (numbers != series).fill_null(True)
        return numbers.set(is_changed, None) if dtype.is_float() else numbers


def _to_integer(cell: Any) -> int | None:
    if isinstance(cell, str):
        return parse_integral_number(cell.strip(BLANKS))
    if isinstance(cell, (int, float, Decimal, np.number)) and not isinstance(cell, bool):
        try:
            number = int(cell)
        except (TypeError, ValueError, OverflowError):
            return None
        return number if number == cell and -_INT32 <= number < _INT32 else None
    return None


def _parse_identifier(cell: Any) -> str | None:
    cell = convert_whole_float(cell.item() if isinstance(cell, np.generic) else cell)
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) < 10**100:
        return str(cell)
    if not isinstance(cell, str) or is_broken_text(cell):
        return None
    return cell.strip(BLANKS) or None


def is_broken_text(cell: Any) -> bool:
    """Return True for text with half of a surrogate pair, such as a truncated emoji of JSON."""
    if not isinstance(cell, str):
        return False
    try:
        cell.encode()
    except UnicodeEncodeError:
        return True
    return False


def accept_any(cell: Any) -> bool:
    """Return True: every invalid value becomes null."""
    return True


ID = ValueKind(_parse_identifier, problem="not text or an integer", types=(str, pl.String))
"""The id of a document, topic or group; integers, also as floats, are converted to text.

Surrounding blanks are removed, as in lines of text.
"""

TAG = ValueKind(_parse_identifier, becomes_null=accept_any, types=(str, pl.String))
"""An id, or null for any other value."""


def _parse_label(cell: Any) -> str | None:
    is_nested = isinstance(cell, (list, tuple, set, dict))
    return None if is_nested or is_absent(cell) else str(convert_whole_float(cell)).strip() or None


LABEL = ValueKind(
    _parse_label, problem="not text or a number", types=(str, pl.String), reports_blanks=False
)
"""The required name of a topic, nugget or system: any single value, converted to text."""

NAME = replace(LABEL, becomes_null=is_absent)
"""An optional name."""


def replace_decimal_commas(cells: Cells) -> Cells:
    """Replace decimal commas of numbers by points."""
    if isinstance(cells, pl.Series):
        if cells.dtype != pl.String:
            return cells
        has_comma = cells.str.contains(rf"(?-u)^\s*(?:{DECIMAL_COMMA.pattern})\s*$")
        points = cells.str.replace(",", ".", literal=True)
        return points.zip_with(has_comma.fill_null(False), cells)
    return [cell.replace(",", ".") if has_decimal_comma(cell) else cell for cell in cells]


def warn_of_thousands(texts: pl.Series, source: str) -> None:
    """Warn if points or commas in numbers may separate thousands."""
    numbers = texts.filter(texts.str.contains(r"(?-u)^\d+[.,]\d+$"))
    if len(numbers) and numbers.str.contains(r"(?-u)^[1-9]\d{0,2}[.,]\d{3}$").all():
        warn(
            f"{source}: numbers such as {list_some(numbers, 3)} are read with three decimals;"
            " remove the point or comma if it separates thousands"
        )


def has_decimal_comma(cell: Any) -> bool:
    """Return True if a cell is a number with a decimal comma."""
    return isinstance(cell, str) and bool(DECIMAL_COMMA.fullmatch(cell.strip()))


def describe_invalid_number(cell: Any) -> str:
    """Describe an invalid number, with advice."""
    word = str(cell).strip().casefold()
    advice = "; use a decimal point, or remove the comma if it separates thousands"
    advice *= has_decimal_comma(cell)
    advice += "; write 1 or 0" * (word in {"true", "false", "yes", "no", "pass", "fail"})
    advice += "; write a proportion, such as 0.5" * word.endswith("%")
    return f"not a finite number{advice}"


NUMBER = ValueKind(parse_number, pl.Float64, describe_invalid_number, types=(float, pl.Float64))


def describe_invalid_integer(cell: Any) -> str:
    """Describe an invalid integer, with advice for grades."""
    number = parse_number(cell)
    is_decimal = number is not None and number % 1
    advice = ""
    if is_decimal:
        advice = "; decimal gains are not read: map them to integer grades, such as 0 to 3"
    elif isinstance(cell, str) and number is None and re.search(r"[^\W\d_]{2}|^[^\W\d_]$", cell):
        advice = "; words are not read: map them to integer grades, such as 'relevant' to 1"
    return f"not an integer (of 32 bits){advice}"


GRADE = ValueKind(
    _to_integer,
    pl.Int32,
    describe_invalid_integer,
    types=(int, pl.Int64),
    prepare=convert_booleans,
)

INTEGER = ValueKind(_to_integer, pl.Int32, "not an integer (of 32 bits)", types=(int, pl.Int64))
"""An integer, such as a rank or a count."""

GRADE_OR_NONE = replace(GRADE, becomes_null=lambda cell: is_absent(cell, NO_GRADE))
"""A grade, or null for an unjudged document."""

RANK = ValueKind(_to_integer, pl.Int32, becomes_null=accept_any, types=(int, pl.Int64))
"""An integer, or null for any other value."""
