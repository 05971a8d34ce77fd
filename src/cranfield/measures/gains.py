"""Gains of grades and discounts of ranks, with a text form; and judged documents with gains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import fraction_of, integer, number_text, optional, parameter, short
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures.base import Measure
from cranfield.measures.spacing import sums_evenly_spaced

HIGHEST = 60
"""The highest grade for which 2^grade is computed."""


@dataclass(frozen=True)
class Gain:
    """The gain of each grade.

    `linear` is the grade itself, `exponential` 2^grade - 1, `binary` 1; a mapping gives the gain
    of the grades in it, and the others stay linear. Grades below 0, and below `rel` for `binary`,
    have gain 0 unless the mapping names them. For grades in an array of
    objects gains are exact; those of a mapping only if its values are fractions (see
    :meth:`as_fractions`).
    """

    kind: str | tuple[tuple[int, float], ...] = "linear"

    def for_grades(self, grades: NDArray[Any]) -> Floats:
        exact = grades.dtype == object
        worth: Floats = np.maximum(grades, 0).astype(object if exact else np.float64)
        if self.kind == "exponential":
            if grades.size and grades.max() > HIGHEST:
                raise MeasureError(
                    f"grades must be at most {HIGHEST} for 2^grade, got {grades.max()}"
                )
            worth = (2**worth if exact else np.exp2(worth)) - 1
        if isinstance(self.kind, tuple):
            for grade, gain in self.kind:
                worth[grades == grade] = gain
        return worth

    def max_gain(self, highest: int) -> float:
        """Return the highest gain of the grades up to `highest`, as gains may fall."""
        return float(self.for_grades(self.candidates(highest)).max())

    def candidates(self, highest: int) -> NDArray[np.int64]:
        """Return grades up to `highest` that include the one with the highest gain."""
        named = [grade for grade, _ in self.kind] if isinstance(self.kind, tuple) else []
        # Of the grades that are not named, the highest one counts.
        grades = {*named, *range(highest - len(named), highest + 1)}
        return np.array(sorted(grade for grade in grades if 0 <= grade <= highest), dtype=np.int64)

    def from_mapping(self, grades: NDArray[Any]) -> Any:
        """Return the gain of each grade in the mapping; other grades have gain 0."""
        worth = np.zeros(grades.shape, np.result_type(grades, np.float64))
        for grade, gain in self.kind if isinstance(self.kind, tuple) else ():
            worth[grades == grade] = gain
        return worth

    def as_fractions(self) -> Gain:
        """Return the same gains, those of a mapping as exact fractions."""
        if isinstance(self.kind, str):
            return self
        fractions: Any = tuple((grade, fraction_of(gain)) for grade, gain in self.kind)
        return Gain(fractions)

    @property
    def text(self) -> str:
        if isinstance(self.kind, str):
            return repr(self.kind)
        pairs = (f"{grade}: {number_text(gain)}" for grade, gain in self.kind)
        return "{" + ", ".join(pairs) + "}"


LINEAR = Gain("linear")


Pairs = tuple[tuple[int, float], ...]
"""Grades, ascending, each with its gain."""


def gain_check(
    description: str, *words: str, fits: Callable[[Pairs], bool] = bool
) -> Callable[[Any], Gain]:
    """Return a check of gains: one of some words, or a mapping that passes `fits`."""

    def check(value: Any) -> Gain:
        if isinstance(value, Gain):
            return value
        if value in words:
            return Gain(value)
        if isinstance(value, Mapping) and value:
            gains = pairs(value)
            if fits(gains):
                return Gain(gains)
        raise ValueError(description)

    return check


def pairs(value: Mapping[Any, Any]) -> Pairs:
    for grade, worth in value.items():
        if isinstance(grade, bool) or not isinstance(grade, int):
            raise ValueError("a mapping with integer grades as keys")
        if isinstance(worth, bool) or not isinstance(worth, (int, float, Fraction)):
            raise ValueError("a mapping with finite numbers as gains")
        if isinstance(worth, float) and not isfinite(worth):
            raise ValueError("a mapping with finite numbers as gains")
        # A whole number may be too large for a float, and is compared as an integer.
        if not -1e15 <= worth <= 1e15 or abs(grade) >= 2**31:
            raise ValueError("a mapping with grades and gains of moderate size")
    return tuple(sorted((grade, float(worth)) for grade, worth in value.items()))


@dataclass(frozen=True)
class Discount:
    """The divisor of the gain at each rank.

    Three forms: `log2(rank+1)`, of today's nDCG (any base gives the same nDCG);
    `max(1,log2(rank))`, of Järvelin and Kekäläinen (2002), where the base is the patience of the
    user; `1+log2(rank)`, of Järvelin and others (2008).
    """

    form: str = "log(rank+1)"
    base: float = 2.0

    def argument(self, rank: int) -> Fraction:
        """The number x for which the divisor at a rank is ln x / ln base."""
        base = fraction_of(self.base)
        arguments = {
            "log(rank+1)": Fraction(rank + 1),
            "max(1,log(rank))": max(base, Fraction(rank)),
            "1+log(rank)": base * rank,
        }
        return arguments[self.form]

    @classmethod
    def parse(cls, value: Any) -> Discount:
        if isinstance(value, Discount):
            return value
        if isinstance(value, str):
            text = re.sub(r"\s+", "", value)
            for form, pattern in _PATTERNS.items():
                if match := re.fullmatch(pattern, text):
                    base = float(match[1])
                    if isfinite(base) and base > 1:
                        return cls(form, base)
        raise ValueError(
            "a discount such as 'log2(rank+1)', 'max(1,log10(rank))' or '1+log2(rank)'"
            " (bases above 1)"
        )

    def for_ranks(self, ranks: NDArray[Any]) -> Floats:
        if self.form == "log(rank+1)":
            return _log(ranks + 1, self.base)
        logs = _log(ranks, self.base)
        return np.maximum(1.0, logs) if self.form == "max(1,log(rank))" else 1.0 + logs

    @property
    def text(self) -> str:
        return repr(self.form.replace("log", f"log{short(self.base)}"))


_BASE = r"log(\d{1,9}(?:\.\d{1,9})?)"
_PATTERNS = {
    "log(rank+1)": _BASE + r"\(rank\+1\)",
    "max(1,log(rank))": r"max\(1," + _BASE + r"\(rank\)\)",
    "1+log(rank)": r"1\+" + _BASE + r"\(rank\)",
}


def _log(values: NDArray[Any], base: float) -> Floats:
    """Logarithm; exact at powers of 2 and 10, where the discounts of the papers have corners."""
    logarithm = {2: np.log2, 10: np.log10}.get(int(base) if base % 1 == 0 else 0)
    logs: Floats = logarithm(values) if logarithm else np.log(values) / log(base)
    return logs


GAINS_DOC = "gain of a grade: 'linear', 'exponential' (2^g - 1), or a mapping of grades to gains"

gain = gain_check(
    "'linear', 'exponential' or a mapping of grades to gains, such as {1: 1, 2: 3}",
    *("linear", "exponential"),
)
no_loss = gain_check(
    "'linear', 'exponential' or a mapping of grades to gains of at least 0, such as {1: 1, 2: 3}",
    *("linear", "exponential"),
    fits=lambda gains: all(worth >= 0 for _, worth in gains),
)

"""Check of gains that are not negative, for measures that need proportions of gains."""

GAINS = parameter(LINEAR, gain, GAINS_DOC)
POSITIVE_GAINS = parameter(LINEAR, no_loss, GAINS_DOC)


class OfGains(Measure, needs="graded or binary judgments"):
    """Base class of measures of the gains of grades."""

    gains: Gain = GAINS

    def equal_weights(self) -> bool:
        """Return True if the score is a sum of gains with the same weight at each rank."""
        return False

    def evenly_spaced(self, highest: int) -> bool:
        """Return True if the gains, or all values on short runs, are equally spaced."""
        if not self.equal_weights():
            return super().evenly_spaced(highest)
        if highest > (HIGHEST if self.gains.kind == "exponential" else MAX_COMPARED_GRADE):
            return False
        return gains_evenly_spaced(
            self.gains.as_fractions().for_grades(grades_up_to(highest)), self.cutoff
        )


MAX_COMPARED_GRADE = 1_000
"""The highest grade up to which gains are compared one by one."""


def grades_up_to(highest: int) -> NDArray[Any]:
    """Return the grades 0 to `highest` as an array of objects, for exact arithmetic."""
    return np.arange(highest + 1).astype(object)


def gains_evenly_spaced(gains: Iterable[Any], ranks: int | None, base: Fraction | int = 1) -> bool:
    """Return True if sums of gains are equally spaced, with and without unjudged documents."""
    values = set(map(Fraction, gains))
    variants = (values, values | {Fraction(0)})
    return all(sums_evenly_spaced(variant, ranks, base) for variant in variants)


def gain_rows(judged: JudgedRuns, gains: Gain) -> Rows:
    """Return the judged retrieved documents whose gain is not 0, with their gains."""
    if isinstance(gains.kind, str) and gains.kind != "levels":
        # The gain of these is above 0 from grade 1 on, and 0 below.
        return relevant(judged, 1, gains)

    def compute() -> Rows:
        rows = judged.judged()
        worth = gains.for_grades(rows.grade)
        return replace(rows, gains=worth).where(worth != 0)

    return judged.view(("gained", gains), compute)


def relevant(judged: JudgedRuns, rel: int, gains: Gain) -> Rows:
    """Return the retrieved documents with grade >= rel, with their gains, which may be 0."""
    key = ("relevant", max(rel, judged.judgments.judged_from), gains)
    rows = judged.relevant(rel)
    return judged.view(key, lambda: rows.with_gains(gains.for_grades(rows.grade)))


def ideal_rows(judged: JudgedRuns, gains: Gain, rel: int | None = None) -> Rows:
    """Return the ideal ranking of each topic: judged documents with a positive gain, best first.

    With `rel`, documents of a lower grade have no gain.
    """
    judgments = judged.judgments
    key = ("ideal", gains, rel)
    rows: Rows | None = judgments.cached.get(key)
    if rows is None:
        worth = gains.for_grades(judgments.grade)
        if rel is not None:
            worth[judgments.grade < max(rel, judgments.judged_from)] = 0.0
        rows = judgments.cached[key] = judgments.ideal(worth)
    return rows


def running_total_at(best: Rows, running: Floats, topic: Ints, rank: Ints) -> tuple[Floats, Ints]:
    """Return a running total of the ideal ranking at a rank or at its end, and that rank."""
    length = best.count[:, 0]
    first = np.cumsum(length) - length
    last_rank = np.minimum(rank, length[topic])
    # A topic without an ideal ranking has no value; row 0 stands in and is never used.
    rows = np.where(last_rank > 0, first[topic] + last_rank - 1, 0)
    return np.where(last_rank > 0, running[rows] if running.size else 0.0, 0.0), last_rank


MAX_GRADE = parameter(
    None,
    optional(integer(1, HIGHEST)),
    "highest grade of the scale; by default that of the judgments",
)


def _scale_end(value: Any) -> int | str:
    if isinstance(value, str) and value == "topic":
        return value
    try:
        return int(integer(1, HIGHEST)(value))
    except ValueError as error:
        raise ValueError(f"{error}, or 'topic'") from None


SCALE_END = parameter(
    None,
    optional(_scale_end),
    (
        "highest grade of the scale; by default the highest grade of all judgments; 'topic':"
        " the highest grade of each topic"
    ),
)


def highest_of(judged: JudgedRuns, max_grade: int | None, name: str) -> int:
    """Return the highest grade of the scale, which no judgment may exceed."""
    highest = judged.judgments.max_grade
    if max_grade is None:
        return max(highest, 1)
    if highest > max_grade:
        raise MeasureError(
            f"{name}: grades must be at most max_grade={max_grade}, got judgments with"
            f" grade {highest}"
        )
    return max_grade


def top_gain(
    judged: JudgedRuns, gains: Gain, max_grade: int | str | None, rows: Rows, name: str
) -> float | Floats:
    """Return the highest gain of the scale, or for each row that of its topic."""
    if isinstance(max_grade, str):
        worth = gains.for_grades(judged.judgments.grade)
        best = np.zeros((judged.judgments.topics, 1))
        np.maximum.at(best[:, 0], judged.judgments.topic, worth)
        return np.asarray(rows.at(np.where(best > 0, best, 1.0)))
    highest = highest_of(judged, max_grade, name)
    if highest > HIGHEST and gains.kind != "levels":
        raise MeasureError(
            f"{name}: grades must be at most {HIGHEST}, got judgments with grade {highest}"
        )
    return gains.max_gain(highest)
