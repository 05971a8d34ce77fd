"""Gains of grades and discounts of ranks, with their text forms, and rankings with gains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isfinite, lcm, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import (
    Check,
    format_exact,
    format_short,
    integer,
    optional,
    parameter,
    to_fraction,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Judgments, Rows
from cranfield.measures.base import Measure

MAX_EXPONENT = 60
"""Highest grade for which 2^grade is computed."""


@dataclass(frozen=True)
class Gain:
    """The gain of each grade.

    The gain is the grade for `linear` and 2^grade - 1 for `exponential`; a mapping gives the gains
    of its grades, and other grades have linear gains. Grades below 0 have gain 0 unless they are in
    the mapping. Gains of `binary` and `graded` are computed by the measures. Gains are exact if
    grades are an array of objects and gains of a mapping are fractions (:meth:`as_fractions`).
    """

    kind: str | tuple[tuple[int, float], ...] = "linear"

    def compute_gains(self, grades: NDArray[Any]) -> Floats:
        is_exact = grades.dtype == object
        gains: Floats = np.maximum(grades, 0).astype(object if is_exact else np.float64)
        if self.kind == "exponential":
            if grades.size and grades.max() > MAX_EXPONENT:
                raise MeasureError(
                    f"grades must be at most {MAX_EXPONENT} for 2^grade, got {grades.max()}"
                )
            gains = (2**gains if is_exact else np.exp2(gains)) - 1
        if isinstance(self.kind, tuple):
            for grade, gain in self.kind:
                gains[grades == grade] = gain
        return gains

    def find_max_gain(self, max_grade: int) -> float:
        """Return the highest gain of grades up to a maximum; gains need not rise with the grade."""
        return float(self.compute_gains(self.list_candidate_grades(max_grade)).max())

    def list_candidate_grades(self, max_grade: int) -> NDArray[np.int64]:
        """Return grades up to a maximum that include the grade with the highest gain."""
        mapped_grades = [grade for grade, _ in self.kind] if isinstance(self.kind, tuple) else []
        # Of the grades that are not in the mapping, the highest one has the highest gain.
        grades = {*mapped_grades, *range(max_grade - len(mapped_grades), max_grade + 1)}
        return np.array(sorted(g for g in grades if 0 <= g <= max_grade), dtype=np.int64)

    def look_up_gains(self, grades: NDArray[Any]) -> Any:
        """Return the gain of each grade; 0 for a grade that is not in the mapping."""
        gains = np.zeros(grades.shape, np.result_type(grades, np.float64))
        for grade, gain in self.kind if isinstance(self.kind, tuple) else ():
            gains[grades == grade] = gain
        return gains

    def as_fractions(self) -> Gain:
        """Return the gains with the values of a mapping converted to exact fractions."""
        if isinstance(self.kind, str):
            return self
        fractions: Any = tuple((grade, to_fraction(gain)) for grade, gain in self.kind)
        return Gain(fractions)

    @property
    def text(self) -> str:
        if isinstance(self.kind, str):
            return repr(self.kind)
        pairs = (f"{grade}: {format_exact(gain)}" for grade, gain in self.kind)
        return "{" + ", ".join(pairs) + "}"


LINEAR_GAIN = Gain("linear")

GradeGains = tuple[tuple[int, float], ...]


def make_gain_check(
    description: str, *words: str, is_valid: Callable[[GradeGains], bool] = bool
) -> Callable[[Any], Gain]:
    """Make a check that accepts the words, and mappings whose pairs are valid."""

    def check(value: Any) -> Gain:
        if isinstance(value, Gain):
            return value
        if value in words:
            return Gain(value)
        if isinstance(value, Mapping) and value:
            gains = check_pairs(value)
            if is_valid(gains):
                return Gain(gains)
        raise ValueError(description)

    return check


def check_pairs(value: Mapping[Any, Any]) -> GradeGains:
    """Check a mapping of grades to gains; return its pairs in ascending order of grade."""
    for grade, gain in value.items():
        if isinstance(grade, bool) or not isinstance(grade, int):
            raise ValueError("a mapping with integer grades as keys")
        is_number = isinstance(gain, (int, float, Fraction)) and not isinstance(gain, bool)
        if not is_number or (isinstance(gain, float) and not isfinite(gain)):
            raise ValueError("a mapping with finite numbers as gains")
        # An integer may be too large for a float, so it is compared as an integer.
        if not -1e15 <= gain <= 1e15 or abs(grade) >= 2**31:
            raise ValueError(
                "a mapping with gains from -1e15 to 1e15 and grades between -2^31 and 2^31"
            )
    return tuple(sorted((grade, float(gain)) for grade, gain in value.items()))


@dataclass(frozen=True)
class Discount:
    """The divisor of the gain at each rank.

    There are three forms: `log2(rank+1)`, now usual for nDCG (any base gives the same nDCG);
    `max(1,log2(rank))` of Järvelin and Kekäläinen (2002), where the base is the patience of the
    user; and `1+log2(rank)` of Järvelin and others (2008).
    """

    form: str = "log(rank+1)"
    base: float = 2.0

    def find_log_argument(self, rank: int) -> Fraction:
        """Return the number x for which the divisor at a rank is ln x / ln base."""
        base = to_fraction(self.base)
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

    def compute_divisors(self, ranks: NDArray[Any]) -> Floats:
        if self.form == "log(rank+1)":
            return _log(ranks + 1, self.base)
        logs = _log(ranks, self.base)
        return np.maximum(1.0, logs) if self.form == "max(1,log(rank))" else 1.0 + logs

    @property
    def text(self) -> str:
        return repr(self.form.replace("log", f"log{format_short(self.base)}"))


_BASE = r"log(\d{1,9}(?:\.\d{1,9})?)"
_PATTERNS = {
    "log(rank+1)": _BASE + r"\(rank\+1\)",
    "max(1,log(rank))": r"max\(1," + _BASE + r"\(rank\)\)",
    "1+log(rank)": r"1\+" + _BASE + r"\(rank\)",
}


def _log(values: NDArray[Any], base: float) -> Floats:
    """Compute the logarithm, exactly at the powers of the base for bases 2 and 10."""
    logarithm = {2: np.log2, 10: np.log10}.get(int(base) if base % 1 == 0 else 0)
    logs: Floats = logarithm(values) if logarithm else np.log(values) / log(base)
    return logs


P_DOC = "persistence: probability of continuing to the next document"
GAINS_DOC = "gain of a grade: 'linear', 'exponential' (2^g - 1), or a mapping of grades to gains"

check_grade_gains = make_gain_check(
    "'linear', 'exponential' or a mapping of grades to gains, such as {1: 1, 2: 3}",
    *("linear", "exponential"),
)
check_nonnegative = make_gain_check(
    "'linear', 'exponential' or a mapping of grades to gains of at least 0, such as {1: 1, 2: 3}",
    *("linear", "exponential"),
    is_valid=lambda pairs: all(gain >= 0 for _, gain in pairs),
)
"""Check that all gains are at least 0, for measures that need proportions of the total gain."""

GAINS = parameter(LINEAR_GAIN, check_grade_gains, GAINS_DOC)
NONNEGATIVE_GAINS = parameter(LINEAR_GAIN, check_nonnegative, GAINS_DOC)


class GainMeasure(Measure, needs="graded or binary judgments"):
    """Base class of measures of gains, which depend on the grades of documents."""

    gains: Gain = GAINS

    def has_equal_weights(self) -> bool:
        """Return True if scores are proportional, on a topic, to the sum of gains in the top k."""
        return False

    def is_evenly_spaced(self, max_grade: int) -> bool:
        """Return True if scores are known to be equally spaced, for grades 0 to `max_grade`."""
        if not self.has_equal_weights():
            return super().is_evenly_spaced(max_grade)
        if max_grade > (MAX_EXPONENT if self.gains.kind == "exponential" else MAX_COMPARED_GRADE):
            return False
        return has_even_gain_sums(
            self.gains.as_fractions().compute_gains(list_grades(max_grade)), self.cutoff
        )


MAX_COMPARED_GRADE = 1_000
"""Highest grade for which gains are compared grade by grade."""


def list_grades(max_grade: int) -> NDArray[Any]:
    """Return the grades 0 to `max_grade` as an array of objects, for exact arithmetic."""
    return np.arange(max_grade + 1).astype(object)


MAX_ENUMERATED_SUM = 2_000
"""Maximum sum of gains to enumerate, in units of their common divisor."""


def has_even_sums(gains: Iterable[Fraction], n_ranks: int | None, base: Fraction | int = 1) -> bool:
    r"""Return True if the possible weighted sums of gains over the ranks are equally spaced.

    The sums are :math:`\sum_{r=1}^{k} g_r \, b^{k-r}` over k ranks, where each :math:`g_r` is any
    of the gains: an unweighted sum for b = 1, and rank-biased precision with p = 1/b. Gains in
    equal steps, :math:`0, h, \dots, m h`, are the digits 0 to m of numbers in base b, and they
    represent all integers up to the largest one if and only if :math:`b \le m + 1`. A base that is
    not an integer gives unequal steps. If the sums of two ranks have no gap, those of more ranks
    have none either; `n_ranks` is None for sums of every length.

    >>> has_even_sums([Fraction(0), Fraction(1, 2), Fraction(1)], None, base=3)
    True
    >>> has_even_sums([Fraction(0), Fraction(1)], None, base=3)
    False
    """
    gains = sorted(set(gains))
    if len(gains) == 1:
        return True
    if base.denominator != 1 and n_ranks != 1:
        return False
    if n_ranks is None:
        return all(has_even_sums(gains, length, base) for length in (1, 2))
    denominator = lcm(*(gain.denominator for gain in gains))
    steps = [int((gain - gains[0]) * denominator) for gain in gains]
    unit = gcd(*steps)
    digits = [step // unit for step in steps]
    if digits[-1] == len(digits) - 1:
        return n_ranks == 1 or base <= len(digits)
    sums = {0}
    for _ in range(n_ranks):
        sums = {int(base) * total + digit for total in sums for digit in digits}
        if max(sums) > MAX_ENUMERATED_SUM:
            break
    return len(sums) == max(sums) + 1


def has_even_gain_sums(gains: Iterable[Any], n_ranks: int | None, base: Fraction | int = 1) -> bool:
    """Return True if sums of gains are equally spaced, with and without unjudged documents."""
    judged_gains = set(map(Fraction, gains))
    all_gains = judged_gains | {Fraction(0)}
    return all(has_even_sums(values, n_ranks, base) for values in (judged_gains, all_gains))


def select_gains(judged: JudgedRuns, gains: Gain) -> Rows:
    """Return the judged retrieved documents whose gain is not 0, with their gains."""
    if isinstance(gains.kind, str) and gains.kind != "levels":
        # These gains are above 0 if, and only if, the grade is at least 1.
        return select_relevant_rows(judged, 1, gains)

    def compute() -> Rows:
        rows = judged.judged()
        row_gains = gains.compute_gains(rows.grade)
        return rows.with_gains(row_gains).where(row_gains != 0)

    return judged.view(("gains", gains), compute)


def select_relevant_rows(judged: JudgedRuns, rel: int, gains: Gain) -> Rows:
    """Return the retrieved documents with grade >= rel, with their gains, which may be 0."""
    key = ("relevant", max(rel, judged.judgments.judged_from), gains)
    rows = judged.relevant(rel)
    return judged.view(key, lambda: rows.with_gains(gains.compute_gains(rows.grade)))


def get_ideal_ranking(
    judged: JudgedRuns, gains: Gain, rel: int | None = None, *, cutoff: int | None = None
) -> Rows:
    """Return the ideal ranking of each topic: judged documents of grade >= `rel` with a gain."""
    judgments = judged.judgments
    key = ("ideal", gains, rel)
    rows: Rows | None = judgments.cache.get(key)
    if rows is None:
        judgment_gains = gains.compute_gains(judgments.grade)
        if rel is not None:
            judgment_gains[judgments.grade < max(rel, judgments.judged_from)] = 0.0
        rows = judgments.cache[key] = judgments.make_ideal_ranking(judgment_gains)
    return rows if cutoff is None else rows.where(rows.rank <= cutoff)


def sum_by_topic(judgments: Judgments, values: Floats) -> Floats:
    """Sum values of judgments by topic; shape (topics, 1)."""
    sums = np.bincount(judgments.topic, values, minlength=judgments.n_topics)
    return sums.astype(np.float64)[:, None]


def look_up_total(ideal: Rows, totals: Floats, topic: Ints, rank: Ints) -> tuple[Floats, Ints]:
    """Return ideal totals down to each rank, or the last ideal rank if lower, and these ranks."""
    last_rank = np.minimum(rank, ideal.sizes[topic])
    # For a topic without an ideal ranking, row 0 is a placeholder that is not used.
    rows = np.where(last_rank > 0, ideal.starts[topic] + last_rank - 1, 0)
    return np.where(last_rank > 0, totals[rows] if totals.size else 0.0, 0.0), last_rank


_SCALE_DOC = "highest grade of the scale; by default the highest grade of all judgments"
MAX_GRADE = parameter(None, optional(integer(1, MAX_EXPONENT)), _SCALE_DOC)


def allow_word(check: Check, word: str) -> Check:
    """Make a check that accepts a word besides the values of another check."""

    def check_or_word(value: Any) -> Any:
        if isinstance(value, str) and value == word:
            return value
        try:
            return check(value)
        except ValueError as error:
            raise ValueError(f"{error}, or {word!r}") from None

    return check_or_word


MAX_GRADE_OR_TOPIC = parameter(
    None,
    optional(allow_word(integer(1, MAX_EXPONENT), "topic")),
    _SCALE_DOC + "; 'topic': the highest grade of each topic",
)


def find_max_grade(judged: JudgedRuns, max_grade: int | None, name: str) -> int:
    """Return the highest grade of the scale, at least 1; no judgment may exceed this grade."""
    judged_max = judged.judgments.max_grade
    if max_grade is None:
        return max(judged_max, 1)
    if judged_max > max_grade:
        raise MeasureError(
            f"{name}: grades must be at most max_grade={max_grade}, got judgments with"
            f" grade {judged_max}"
        )
    return max_grade


def find_highest_gain(
    judged: JudgedRuns, gains: Gain, max_grade: int | str | None, rows: Rows, name: str
) -> float | Floats:
    """Return the highest gain of the scale; for each row if each topic has its own scale."""
    if isinstance(max_grade, str):
        topic_max = np.zeros((judged.judgments.n_topics, 1))
        np.maximum.at(
            topic_max[:, 0], judged.judgments.topic, gains.compute_gains(judged.judgments.grade)
        )
        return np.asarray(rows.at(np.where(topic_max > 0, topic_max, 1.0)))
    scale_max = find_max_grade(judged, max_grade, name)
    if scale_max > MAX_EXPONENT and gains.kind != "levels":
        raise MeasureError(
            f"{name}: grades must be at most {MAX_EXPONENT}, got judgments with grade {scale_max}"
        )
    return gains.find_max_gain(scale_max)
