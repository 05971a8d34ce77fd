"""Words and real numbers as grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from cranfield.base.errors import PolicyError, check_several, quoted
from cranfield.base.text import some_of
from cranfield.sources.values import NO_GRADE, Kind, absent, finite, no_integer, plain, whole_in


def not_a_grade(cell: Any) -> str:
    """Return what is wrong with a grade of judgments, and how to read it."""
    reason, way, _ = no_integer(cell).partition("; ")
    if way and finite(cell) is not None:
        return f"{reason}; grades=[0.5, 0.8] cuts real numbers into grades 0, 1 and 2"
    return reason + (f"; grades={{{quoted(cell)}: 1, ...}} maps words to grades" if way else "")


def _text(cell: Any) -> str | None:
    return None if absent(cell, NO_GRADE) else str(plain(cell)).strip()


VALUE = Kind(_text, missing=lambda cell: absent(cell, NO_GRADE))
"""A value that stands for a grade, and nothing where a document is not judged."""


@dataclass(frozen=True)
class GradeMap:
    """Grades of values: of each value by itself, or by the cuts between real numbers.

    Examples
    --------
    >>> GradeMap.of([0.5, 0.8]).grade("0.7"), GradeMap.of({"yes": 1, "no": 0}).grade("yes")
    (1, 1)
    """

    grades: Mapping[str, int]
    cuts: tuple[float, ...] = ()

    @classmethod
    def of(cls, given: Any) -> GradeMap:
        """Take `{value: grade}`, or rising cuts; raises PolicyError for anything else."""
        if isinstance(given, cls):
            return given
        check_several("grades", given)
        if isinstance(given, Mapping) and given:
            values = {str(plain(value)).strip(): grade for value, grade in given.items()}
            grades = {value: whole_in(str(grade)) for value, grade in values.items()}
            wrong = next((value for value, grade in grades.items() if grade is None), None)
            if wrong is not None:
                raise PolicyError(
                    f"grades must map to integers, got {quoted(values[wrong])} for {quoted(wrong)}"
                )
            if len(values) < len(given):
                raise PolicyError("grades must name each value once")
            return cls({value: grade for value, grade in grades.items() if grade is not None})
        listed = [*given] if isinstance(given, Iterable) else []
        cuts = [finite(cut) for cut in listed]
        numbers = tuple(cut for cut in cuts if cut is not None)
        if not numbers or len(numbers) < len(cuts) or any(a >= b for a, b in pairwise(numbers)):
            raise PolicyError(
                "grades must be a mapping {value: grade} or a list of rising cut points such as"
                f" [0.5, 0.8], got {quoted(given)}"
            )
        return cls({}, numbers)

    def grade(self, value: str) -> int | None:
        """Return the grade of a value; None if there is none. A cut begins the grade above it."""
        number = finite(value)
        if self.cuts:
            return None if number is None else sum(number >= cut for cut in self.cuts)
        if value in self.grades or number is None:
            return self.grades.get(value)
        # Numbers may be written in other ways, such as 1 and 1.0.
        return next((self.grades[text] for text in self.grades if finite(text) == number), None)

    def grades_of(self, values: pl.Series) -> pl.Series:
        """Return the grade of each text of a column; null if there is none."""
        found = {value: self.grade(value) for value in values.unique().drop_nulls()}
        return values.replace_strict(found, default=None, return_dtype=pl.Int32).alias("grade")

    def reason(self, value: str) -> str:
        """Say what is wrong with a value that has no grade."""
        if self.cuts:
            return f"grade {quoted(value)} is not a finite number, as the cut points of grades are"
        known = some_of(map(quoted, self.grades), 6)
        return f"grade {quoted(value)} is not a value that grades map; expected one of: {known}"
