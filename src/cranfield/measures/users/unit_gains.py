"""Gains from 0 to 1: what RBP and other measures of user models share."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures.base import Measure
from cranfield.measures.gains import (
    LINEAR,
    MOST_GRADES,
    SCALE_END,
    Gain,
    grades_up_to,
    pairs,
    top_gain,
)
from cranfield.measures.parameters import parameter
from cranfield.measures.ranked.precision import REL, REL_DOC


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


_WORDS_OF_GRADES = {"graded", "levels", "exponential", "linear"}
"""Gains that are a proportion of the highest one."""


class UnitGains(Measure):
    """Measures of gains from 0 to 1: what RBP and its relatives share."""

    rel: int = parameter(1, REL, REL_DOC + " (binary gains)")
    gains: Gain = parameter(
        Gain("binary"), _unit_gains, "'binary', 'graded', or a mapping of grades to gains in [0, 1]"
    )
    max_grade: int | str | None = SCALE_END

    @property
    def linear(self) -> bool:
        return super().linear and not isinstance(self.max_grade, str)

    @property
    def uses_highest_grade(self) -> bool:
        return super().uses_highest_grade and self.gains.kind in _WORDS_OF_GRADES

    def worth(self, judged: JudgedRuns, rows: Rows) -> Floats:
        top: float | Floats = 1.0
        if self.gains.kind in {"graded", "levels"}:
            top = top_gain(judged, self._scale(), self.max_grade, rows, str(self))
        return np.asarray(self.unit_gain(rows.grade, top), dtype=np.float64)

    def unit_gain(self, grades: NDArray[Any], top: Any) -> Any:
        """Gain of grades, where `top` is the highest of the scale, for graded ones."""
        if isinstance(self.gains.kind, tuple):
            return self.gains.named(grades)
        graded = self.gains.kind in {"graded", "levels"}
        return self._scale().of(grades) / top if graded else grades >= self.rel

    def exact_gains(self, highest: int) -> NDArray[Any] | None:
        """Return the gains of grades 0 to `highest` as fractions, up to a common factor.

        None if they depend on the topic, or on more than the grades.
        """
        by_topic = self.gains.kind == "graded" and isinstance(self.max_grade, str)
        if by_topic or self.gains.kind == "levels" or highest > MOST_GRADES:
            return None
        exact = copy(self)
        vars(exact)["gains"] = self.gains.exactly()
        return np.asarray(exact.unit_gain(grades_up_to(highest), Fraction(1)), dtype=object)

    def _scale(self) -> Gain:
        return self.gains if self.gains.kind == "levels" else LINEAR

    def gaining(self, judged: JudgedRuns) -> Rows:
        """Judged retrieved documents whose gain is not 0, with their gains."""
        # A mapping, or a model that says otherwise what is gained, may name any grade.
        known = self.gains.kind in {"binary", "graded"} and type(self).worth is UnitGains.worth
        low = self.rel if self.gains.kind == "binary" else 1
        rows = judged.relevant(low) if known else judged.judged()
        worth = self.worth(judged, rows)
        if worth.all():
            return rows.with_gains(worth)
        return replace(rows, gains=worth).where(worth != 0)
