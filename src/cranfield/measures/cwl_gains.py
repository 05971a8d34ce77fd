"""Gains from 0 to 1: what RBP and other measures of user models share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.collection.judged import JudgedRuns
from cranfield.collection.rows import Rows
from cranfield.errors import MeasureError
from cranfield.measures.base import Floats, Measure
from cranfield.measures.gains import HIGHEST, Gain, pairs
from cranfield.measures.parameters import integer, optional, parameter
from cranfield.measures.precision import REL, REL_DOC

MAX_GRADE = parameter(
    None,
    optional(integer(1, HIGHEST)),
    "highest grade of the scale; by default that of the judgments",
)


def _unit_gains(value: Any) -> Gain:
    """Check gains of RBP and its like, which have to lie in [0, 1] for the score to do so."""
    if isinstance(value, Gain):
        return value
    if value in ("binary", "graded"):
        return Gain(value)
    if isinstance(value, Mapping) and value:
        checked = pairs(value)
        if all(0 <= worth <= 1 for _, worth in checked):
            return Gain(checked)
    raise ValueError("'binary', 'graded', or a mapping of grades to gains from 0 to 1")


def highest_of(judged: JudgedRuns, max_grade: int | None, name: str) -> int:
    """Return the highest grade of the scale, which no judgment may exceed."""
    highest = judged.judgments.max_grade
    if max_grade is None:
        return max(highest, 1)
    if highest > max_grade:
        raise MeasureError(
            f"{name}: the judgments have grade {highest}, above max_grade={max_grade}"
        )
    return max_grade


class UnitGains(Measure):
    """Measures of gains from 0 to 1: what RBP and its relatives share."""

    rel: int = parameter(1, REL, REL_DOC + " (binary gains)")
    gains: Gain = parameter(
        Gain("binary"), _unit_gains, "'binary', 'graded', or a mapping of grades to gains in [0, 1]"
    )
    max_grade: int | None = MAX_GRADE

    def worth(self, judged: JudgedRuns, rows: Rows) -> Floats:
        """Gain of each row."""
        if isinstance(self.gains.kind, tuple):
            worth = np.zeros(rows.grade.size)
            for grade, gain in self.gains.kind:
                worth[rows.grade == grade] = gain
            return worth
        if self.gains.kind == "graded":
            highest = highest_of(judged, self.max_grade, str(self))
            return np.maximum(rows.grade, 0) / highest
        return (rows.grade >= self.rel).astype(np.float64)
