"""Values of cells: numbers, missing values, and columns of one kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite, isnan
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import quoted, warn
from cranfield.base.text import counted, some_of

Cells = Sequence[Any] | pl.Series
"""A raw column: Python values, or a polars series."""

_COMPLEX = (complex, np.complexfloating)
"""Complex types, which NumPy would convert to real numbers with a warning."""

_NOT_NUMBERS = (bool, np.bool_, bytes, bytearray, *_COMPLEX)
"""Types that Python and NumPy would convert to numbers."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
_INT32 = 2**31

BLANKS = " \t\n\r\v\f"
"""Blanks to strip from values; blanks of other scripts may be part of an id."""


def is_number(text: str) -> bool:
    """Return True if a text is a finite number in ASCII digits."""
    return bool(_NUMBER.fullmatch(text)) and isfinite(float(text))


def integer_in(text: str) -> int | None:
    """Read an integer of 32 bits; None for other text."""
    if not _INTEGER.fullmatch(text):
        return None
    # Leading zeros are stripped first: Python refuses to read thousands of digits.
    digits = text.lstrip("+-0") or "0"
    if len(digits) > len(str(_INT32)):
        return None
    number = -int(digits) if text.startswith("-") else int(digits)
    return number if -_INT32 <= number < _INT32 else None


def whole_in(text: str) -> int | None:
    """Read an integer of 32 bits, also with a zero fraction (`2.0`); None for other text."""
    whole, _, zeros = text.partition(".")
    return None if zeros.strip("0") else integer_in(whole)


def numbers_in(column: pl.Expr) -> pl.Expr:
    """Read a column of text as numbers; text that is not a number (:func:`is_number`) is null.

    >>> frame = pl.DataFrame({"score": ["0.5", "1e3", "nan", "1_0", ".5", None]})
    >>> frame.select(numbers_in(pl.col("score")))["score"].to_list()
    [0.5, 1000.0, None, None, 0.5, None]
    """
    number = column.cast(pl.Float64, strict=False)
    is_written = column.str.contains(f"(?-u)^(?:{_NUMBER.pattern})$")
    return pl.when(is_written & number.is_finite()).then(number)


def integers_in(column: pl.Expr) -> pl.Expr:
    """Read a column of text as integers; text that :func:`integer_in` refuses is null.

    >>> frame = pl.DataFrame({"rank": ["5", "-5", "1.5", "1-2", "2147483648", None]})
    >>> frame.select(integers_in(pl.col("rank")))["rank"].to_list()
    [5, -5, None, None, None, None]
    """
    is_written = column.str.contains(f"(?-u)^(?:{_INTEGER.pattern})$")
    return pl.when(is_written).then(column.cast(pl.Int32, strict=False))


def finite(cell: Any) -> float | None:
    """Return a cell as a finite number in ASCII digits, or None."""
    if isinstance(cell, str):
        return float(text) if is_number(text := cell.strip(BLANKS)) else None
    if isinstance(cell, _NOT_NUMBERS):
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def absent(cell: Any, words: frozenset[str] = frozenset({""})) -> bool:
    """Return True if a cell is missing: no value, or a word such as NA in any case."""
    if isinstance(cell, str):
        return cell.strip().lower() in words
    if isinstance(cell, _COMPLEX):
        return False
    # pandas.NA equals nothing, and has no truth value.
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return True
    try:
        return isnan(cell)
    except (TypeError, ValueError, OverflowError):
        return False


def where_absent(cells: Cells, words: frozenset[str]) -> pl.Series:
    """Return the mask of missing cells, as defined by :func:`absent`."""
    if isinstance(cells, pl.Series) and cells.dtype == pl.String:
        return cells.fill_null("").str.strip_chars().str.to_lowercase().is_in([*words])
    if isinstance(cells, pl.Series) and cells.dtype.is_numeric():
        return cells.cast(pl.Float64).is_nan().fill_null(True)
    return pl.Series([absent(cell, words) for cell in cells], dtype=pl.Boolean)


NO_GRADE = frozenset({"", "na", "n/a", "nan", "null", "none"})
"""Words for a missing grade, in any case."""

NO_SCORE = NO_GRADE | {"-", "<na>", "\\n"}
"""Words for a missing score, in lower case, of pandas and databases."""

NO_NAME = NO_GRADE | {"-", "(not set)", "undefined", "unknown", "anonymous", "guest"}
"""Words that other tools write for an unknown user, in any case."""

TRUTHS = {"true": 1, "false": 0}
"""Grades of Booleans that are written as text."""


def truths_as_grades(cells: Cells, noun: str = "grades") -> Cells:
    """Convert true to 1 and false to 0, with a warning, if all cells are Boolean or missing."""
    first = next((cell for cell in cells if not absent(cell, NO_GRADE)), None)
    if _truth(first) is None:
        return cells
    listed = cells.to_list() if isinstance(cells, pl.Series) else list(cells)
    grades = [_truth(cell) for cell in listed]
    if any(_truth(cell) is None and not absent(cell, NO_GRADE) for cell in listed):
        return cells
    if noun:
        warn(f"{noun} are Boolean; true is read as 1, false as 0")
    return grades


def _truth(cell: Any) -> int | None:
    if isinstance(cell, (bool, np.bool_)):
        return int(cell)
    return TRUTHS.get(cell.strip(BLANKS).lower()) if isinstance(cell, str) else None


def plain(cell: Any) -> Any:
    """Convert a float that is an integer to an integer, as other tools read ids as floats."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


@dataclass(frozen=True)
class Kind:
    """The kind of values of a column, and their conversion.

    read: converts a Python value to a value of the column; returns None for an invalid value.
    dtype: type of the column.
    problem: description of an invalid value in messages, such as `not a finite number`, or a
        function that returns it.
    missing: returns True for invalid values that become null; by default all are errors.
    exact: Python type and polars type whose columns are converted as a whole; None if values are
        converted one by one.
    prepare: converts the raw column before its values are read.
    reports_blanks: whether a warning reports removed blanks around texts.
    has_number_texts: whether texts may be numbers, as those of a numeric type are.
    """

    read: Callable[[Any], Any]
    dtype: type[pl.DataType] = pl.String
    problem: str | Callable[[Any], str] = ""
    missing: Callable[[Any], bool] = lambda cell: False
    exact: tuple[type, type[pl.DataType]] | None = None
    prepare: Callable[[Cells], Cells] | None = None
    reports_blanks: bool = True
    has_number_texts: bool = False

    @property
    def is_numeric(self) -> bool:
        return self.has_number_texts or self.dtype.is_numeric()

    def convert_column(self, name: str, cells: Cells) -> tuple[pl.Series, int | None]:
        """Convert a column; also return the first row with an invalid value, or None."""
        cells = cells if self.prepare is None else self.prepare(cells)
        series = self._convert_whole(name, cells)
        if series is None:
            listed = cells.to_list() if isinstance(cells, pl.Series) else cells
            values = [self.read(cell) for cell in listed]
            try:
                series = pl.Series(values, dtype=self.dtype)
            except UnicodeEncodeError:
                row = next(k for k, value in enumerate(values) if is_broken_text(value))
                return pl.Series(name, [None] * len(values), self.dtype), row
        rows = series.is_null().arg_true()
        bad = next((int(row) for row in rows if not self.missing(cells[int(row)])), None)
        return series.alias(name), bad

    def reason(self, name: str, cell: Any) -> str:
        """Return the reason why a value is invalid."""
        if absent(cell) and not (self.dtype == pl.Float64 and isinstance(cell, float)):
            return f"has no {name}"
        problem = self.problem(cell) if callable(self.problem) else self.problem
        try:
            text = quoted(cell.to_list() if isinstance(cell, pl.Series) else cell)
        except ValueError:
            text = f"(a value of type {type(cell).__name__}, too long to show)"
        if is_broken_text(cell):
            return f"{name} {text} is not valid Unicode text (half of a surrogate pair)"
        return f"{name} {text} is {problem}" if problem else f"has no {name}"

    def _convert_whole(self, name: str, cells: Cells) -> pl.Series | None:
        """Convert a column of a plain type as a whole; None for any other type."""
        if self.exact is None:
            return None
        if isinstance(cells, pl.Series):
            series = cells
        else:
            python, exact = self.exact
            types = {*map(type, cells)} - {type(None)}
            if not types <= ({float, int} if python is float else {python}):
                return None
            try:
                series = pl.Series(cells, dtype=exact, strict=True)
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
                    ids = counted(n_changed, "id")
                    warn(f"blanks around {ids} in the column {name} were removed")
                return stripped.set(stripped == "", None)
            return series.cast(pl.String) if dtype.is_integer() else None
        if dtype == pl.String:
            texts = pl.DataFrame({"": series.str.strip_chars(BLANKS)})
            expression = (numbers_in if self.dtype == pl.Float64 else integers_in)(pl.col(""))
            numbers = texts.select(expression).to_series()
            # Texts of an unusual form are converted one by one, each once.
            others = series.filter(numbers.is_null()).drop_nulls().unique()
            values = pl.Series([self.read(text) for text in others], dtype=self.dtype)
            return numbers.fill_null(series.replace_strict(others, values, default=None))
        if not (dtype.is_integer() or dtype in {pl.Float32, pl.Float64}):
            return None
        numbers = series.cast(self.dtype, strict=False)
        if self.dtype == pl.Float64:
            return numbers.set(~numbers.is_finite().fill_null(False), None)
        is_changed = (numbers != series).fill_null(True)
        return numbers.set(is_changed, None) if dtype.is_float() else numbers


def _grade(cell: Any) -> int | None:
    if isinstance(cell, str):
        return whole_in(cell.strip(BLANKS))
    if isinstance(cell, (int, float, Decimal, np.number)) and not isinstance(cell, bool):
        try:
            number = int(cell)
        except (TypeError, ValueError, OverflowError):
            return None
        return number if number == cell and -_INT32 <= number < _INT32 else None
    return None


def _identifier(cell: Any) -> str | None:
    cell = plain(cell.item() if isinstance(cell, np.generic) else cell)
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


def any_value(cell: Any) -> bool:
    """Return True: every invalid value becomes null."""
    return True


ID = Kind(_identifier, problem="not text or an integer", exact=(str, pl.String))
"""The id of a document, topic or group; integers are converted to text.

Surrounding blanks are removed, as in lines of text.
"""

TAG = Kind(_identifier, missing=any_value, exact=(str, pl.String))
"""An id, or null for any other value."""


def _label(cell: Any) -> str | None:
    is_nested = isinstance(cell, (list, tuple, set, dict))
    return None if is_nested or absent(cell) else str(plain(cell)).strip() or None


LABEL = Kind(_label, problem="not text or a number", exact=(str, pl.String), reports_blanks=False)
"""The required name of a topic, nugget or system: any single value, as text."""

NAME = replace(LABEL, missing=absent)
"""An optional name."""


def with_points(cells: Cells) -> Cells:
    """Replace decimal commas of numbers by points."""
    if isinstance(cells, pl.Series):
        if cells.dtype != pl.String:
            return cells
        is_number = cells.str.contains(rf"(?-u)^\s*(?:{DECIMAL_COMMA.pattern})\s*$")
        points = cells.str.replace(",", ".", literal=True)
        return points.zip_with(is_number.fill_null(False), cells)
    return [cell.replace(",", ".") if has_decimal_comma(cell) else cell for cell in cells]


def warn_of_thousands(texts: pl.Series, source: str) -> None:
    """Warn if points or commas in numbers may separate thousands."""
    numbers = texts.filter(texts.str.contains(r"(?-u)^\d+[.,]\d+$"))
    if len(numbers) and numbers.str.contains(r"(?-u)^[1-9]\d{0,2}[.,]\d{3}$").all():
        warn(
            f"{source}: numbers such as {some_of(numbers, 3)} are read with three decimals; remove"
            " the point or comma if it separates thousands"
        )


def has_decimal_comma(cell: Any) -> bool:
    """Return True if a cell is a number with a decimal comma."""
    return isinstance(cell, str) and bool(DECIMAL_COMMA.fullmatch(cell.strip()))


def invalid_number(cell: Any) -> str:
    """Describe an invalid number, with advice."""
    word = str(cell).strip().casefold()
    advice = "; use a decimal point" * has_decimal_comma(cell)
    advice += "; write 1 or 0" * (word in {"true", "false", "yes", "no", "pass", "fail"})
    advice += "; write a proportion, such as 0.5" * word.endswith("%")
    return f"not a finite number{advice}"


NUMBER = Kind(finite, pl.Float64, invalid_number, exact=(float, pl.Float64))


def invalid_integer(cell: Any) -> str:
    """Describe an invalid grade, with advice."""
    number = finite(cell)
    is_decimal = number is not None and number % 1
    advice = ""
    if is_decimal:
        advice = "; decimal gains are not read: map them to integer grades, such as 0 to 3"
    elif isinstance(cell, str) and number is None and re.search(r"[^\W\d_]{2}|^[^\W\d_]$", cell):
        advice = "; words are not read: map them to integer grades, such as 'relevant' to 1"
    return f"not an integer (of 32 bits){advice}"


GRADE = Kind(_grade, pl.Int32, invalid_integer, exact=(int, pl.Int64), prepare=truths_as_grades)

WHOLE = Kind(_grade, pl.Int32, "not an integer (of 32 bits)", exact=(int, pl.Int64))
"""An integer, such as a rank or a count."""

GRADE_OR_NONE = replace(GRADE, missing=lambda cell: absent(cell, NO_GRADE))
"""A grade, or null for an unjudged document."""

RANK = Kind(_grade, pl.Int32, missing=any_value, exact=(int, pl.Int64))
"""An integer, or null for any other value."""
