"""Map words, real numbers and texts to grades."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import polars as pl

from cranfield.base.errors import PolicyError, quote
from cranfield.base.text import list_some
from cranfield.sources.columns import Table
from cranfield.sources.schemas import USUAL_NAMES, Schema, fold_name
from cranfield.sources.values import (
    NO_GRADE,
    ValueKind,
    convert_whole_float,
    describe_invalid_integer,
    is_absent,
    parse_integral_number,
    parse_number,
)

PROBABILITIES_ADVICE = (
    "for probabilities, use `cranfield evaluate --as expected` or cf.evaluate_probabilities"
)
"""Advice for files with probabilities of relevance instead of grades."""

_GRADE_NAMES = {*map(fold_name, " ".join(USUAL_NAMES["judgment"]).split())}


def describe_invalid_grade(cell: Any) -> str:
    """Describe an invalid grade, with advice on how to map it."""
    # A cell of JSON may be a list or an object.
    cell = str(cell) if isinstance(cell, list | Mapping) else cell
    reason, advice, _ = describe_invalid_integer(cell).partition("; ")
    number = parse_number(cell)
    if advice and number is not None:
        reason += "; grades=[0.5, 0.8] maps real numbers to grades 0, 1 and 2"
        return reason + (f"; {PROBABILITIES_ADVICE}" if 0 < number < 1 else "")
    if advice and fold_name(cell) in _GRADE_NAMES:
        return f"{reason}; if the line is a header, remove it"
    if advice and (numbers := re.findall(r"\d+", str(cell))):
        pattern = r"(\d+)" if len(numbers) == 1 else r"score: (\d)"
        return f"{reason}; grades='{pattern}' extracts the number from a text"
    return reason + (
        f"; grades={{{quote(cell)}: GRADE, ...}} maps words to grades" if advice else ""
    )


def _to_text(cell: Any) -> str | None:
    return None if is_absent(cell, NO_GRADE) else str(convert_whole_float(cell)).strip()


GRADE_TEXT = ValueKind(_to_text, becomes_null=lambda cell: is_absent(cell, NO_GRADE))
"""A value to map to a grade; missing for unjudged documents."""

_NUMBER_BEFORE = re.compile(r"((?<!\w)[-−]|\d\.\d*|[1-9]\d*)$")
_NUMBER_AFTER = re.compile(r"\d|\.(?!0+(?!\d))\d")


def _is_within_number(match: re.Match[str]) -> bool:
    """Return True if the group is part of a longer number, such as the 1 of 10, 1.5 or -1."""
    text, (start, end) = match.string, match.span(1)
    has_comma = match.end() == end and re.match(r",\d", text[end : end + 2]) is not None
    before, after = text[max(0, start - 20) : start], text[end : end + 20]
    return has_comma or bool(_NUMBER_BEFORE.search(before) or _NUMBER_AFTER.match(after))


@dataclass(frozen=True)
class GradeMap:
    r"""A map of texts to grades: a grade for each text, cut points of numbers, or a pattern.

    Examples
    --------
    >>> GradeMap.parse([0.5, 0.8]).find_grade("0.7")
    1
    >>> GradeMap.parse({"yes": 1, "no": 0}).find_grade("yes")
    1
    >>> GradeMap.parse(r"score: (\d+)").find_grade("##final score: 2")
    2
    """

    grades: Mapping[str, int]
    cuts: tuple[float, ...] = ()
    pattern: re.Pattern[str] | None = None
    no_grades: frozenset[str] = frozenset()
    """Values that the user mapped to None; rows with these have no grade."""

    keeps_integers: bool = False
    """Whether integers outside of the map are grades, as the map may be meant for other inputs."""

    @classmethod
    def parse(cls, data: Any) -> GradeMap:
        """Create a map from `{value: grade}`, increasing cut points, or a pattern with a group."""
        if isinstance(data, cls):
            return data
        if isinstance(data, str) and "(" in data:
            try:
                pattern = re.compile(data)
            except re.error as error:
                reason = f"grades: {quote(data)} is not a valid regular expression: {error}"
                raise PolicyError(reason) from None
            if pattern.groups != 1:
                reason = f"the pattern of grades {quote(data)} must have one group (...)"
                raise PolicyError(f"{reason}, got {pattern.groups} groups")
            return cls({}, pattern=pattern)
        if isinstance(data, Mapping) and data:
            values = {
                str(convert_whole_float(value)).strip(): grade for value, grade in data.items()
            }
            no_grades = frozenset(value for value, grade in values.items() if grade is None)
            grades = {
                value: parse_integral_number(str(grade))
                for value, grade in values.items()
                if value not in no_grades
            }
            unmapped = next((value for value, grade in grades.items() if grade is None), None)
            if unmapped is not None:
                raise PolicyError(
                    f"grades must map to integers, got {quote(values[unmapped])} for"
                    f" {quote(unmapped)}"
                )
            if len(values) < len(data):
                raise PolicyError(
                    f"grades must map each value once, got {list_some(map(quote, data), 6)}"
                )
            integers = {value: grade for value, grade in grades.items() if grade is not None}
            return cls(integers, no_grades=no_grades)
        is_list = isinstance(data, Iterable) and not isinstance(data, (str, bytes))
        cells = [*data] if is_list else []
        cuts = [parse_number(cut) for cut in cells]
        numbers = tuple(cut for cut in cuts if cut is not None)
        if not numbers or len(numbers) < len(cuts) or any(a >= b for a, b in pairwise(numbers)):
            raise PolicyError(
                "grades must be a mapping {value: grade}, a list of increasing cut points such as"
                " [0.5, 0.8], or a pattern with a group, such as 'score: (\\d+)', got"
                f" {quote(data)}"
            )
        return cls({}, numbers)

    def find_grade(self, value: str) -> int | None:
        """Return the grade of a value, or None; a value at a cut point has the higher grade."""
        if self.pattern is not None:
            # Text without a match may be the grade itself.
            matches = [*self.pattern.finditer(value)]
            groups = {match[1] or "" for match in matches} or {value}
            is_grade = len(groups) == 1 and not any(map(_is_within_number, matches))
            return parse_integral_number(groups.pop()) if is_grade else None
        number = parse_number(value)
        integer = parse_integral_number(value)
        if self.keeps_integers and value not in self.grades and integer is not None:
            return integer
        if self.cuts:
            return None if number is None else sum(number >= cut for cut in self.cuts)
        if value in self.grades or number is None:
            return self.grades.get(value)
        # Equal numbers may have different texts, such as 1 and 1.0.
        return next((g for text, g in self.grades.items() if parse_number(text) == number), None)

    def find_grades(self, values: pl.Series) -> pl.Series:
        """Return the grade of each text of a column; null without a grade."""
        grade_of = {value: self.find_grade(value) for value in values.unique().drop_nulls()}
        integers = [value for value in grade_of if parse_integral_number(value) is not None]
        if self.keeps_integers and self.grades:
            unmapped = sorted({*integers} - {*self.grades})
            changed = sorted(
                value for value in integers if grade_of[value] != parse_integral_number(value)
            )
            if unmapped and changed:
                raise PolicyError(
                    f"the map changes the grades {list_some(map(quote, changed), 3)} of the"
                    f" judgments but does not contain {list_some(map(quote, unmapped), 3)}; map all"
                    " grades of the judgments, or none"
                )
        return values.replace_strict(grade_of, default=None, return_dtype=pl.Int32).alias("grade")

    def describe_missing_grade(self, value: str) -> str:
        """Describe why a value has no grade."""
        if self.pattern is not None:
            matches = [*self.pattern.finditer(value)]
            groups = list(dict.fromkeys(match[1] or "" for match in matches))
            got = "several" if len(groups) > 1 else "none" if not groups else quote(groups[0])
            if len(groups) == 1 and any(map(_is_within_number, matches)):
                got += ", which is part of a longer number"
            pattern = quote(self.pattern.pattern)
            return f"the pattern {pattern} must match one integer in {quote(value)}, got {got}"
        if self.cuts:
            return f"grade must be a finite number to compare with cut points, got {quote(value)}"
        if value in self.no_grades:
            return f"expected a grade, got {quote(value)}, which is mapped to None; remove the row"
        expected = list_some(map(quote, self.grades), 6)
        return f"unknown grade {quote(value)}; expected one of the map of grades: {expected}"


def set_grade_kind(schema: Schema, grade_map: GradeMap | None) -> Schema:
    """Return the schema, whose grade column accepts any values if there is a map of grades."""
    if grade_map is None:
        return schema
    kind = replace(GRADE_TEXT, has_number_texts=bool(grade_map.cuts))
    columns = (replace(c, kind=kind) if c.name == "grade" else c for c in schema.columns)
    return replace(schema, columns=tuple(columns))


def map_grades(table: Table, grade_map: GradeMap | None) -> Table:
    """Map the values of a table to grades."""
    if grade_map is None:
        return table
    texts = table.frame["grade"]
    values = grade_map.find_grades(texts)
    needs_grade = texts.is_not_null() & ~texts.is_in(grade_map.no_grades)
    if (is_unknown := values.is_null() & needs_grade).any():
        row = int(is_unknown.arg_true()[0])
        raise table.make_row_error(
            row, grade_map.describe_missing_grade(texts[row]), table.frame["topic"][row]
        )
    return replace(table, frame=table.frame.with_columns(values))
