"""Verdicts on the scale of a measure, with runs as witnesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import comb
from typing import Any

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.base.errors import PolicyError, check_integer
from cranfield.base.scale_types import Scale
from cranfield.base.text import inflect
from cranfield.measures.base import Measure
from cranfield.scales.forms.exact_values import RunValues, compute_exact_values
from cranfield.scales.forms.form import Form, Number, check_depends_on_grades
from cranfield.scales.forms.measure_forms import find_form
from cranfield.scales.runs import (
    all_runs,
    as_measure,
    check_judgments,
    check_recall_base,
    check_runs,
    check_size,
    has_more_runs,
)

RunGrades = tuple[int, ...]
"""Grades of a run, by rank."""

MAX_WRITTEN_LENGTH = 12
"""Maximum length of runs that are written rank by rank."""

FLOATS_NOTE = "values are floats; differences up to 2^-40 of the largest value are treated as ties"
"""Note for values that are not compared exactly."""

VIOLATIONS = {
    "inverted": "{0} is below {1} in that order, but scores better: {2} against {3}",
    "tied": "{0} is below {1} in that order, but both score {2}",
    "distinguished": "{0} and {1} are equal in that order, but score {2} and {3}",
}


@dataclass(frozen=True, repr=False)
class Witness:
    """Runs that show that the scale of a measure is not higher.

    Attributes
    ----------
    kind
        `inverted`: the first run is below the second in the order, but scores better. `tied`: the
        first run is below the second, but both score the same. `distinguished`: both runs are equal
        in the order, but score differently. `gaps`: the first and second run have neighbouring
        values, the third and fourth run as well, but the two steps are not equal.
    runs
        Grades by rank of the two or four runs.
    values
        Scores of the runs: exact numbers, or floats for a measure without an exact form.
    labels
        Labels of the runs; if empty, their grades are written.
    """

    kind: str
    runs: tuple[RunGrades, ...]
    values: tuple[Number, ...]
    labels: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Witness({self})"

    def __str__(self) -> str:
        runs = self.labels or tuple(map(format_run, self.runs))
        values = tuple(map(format_value, self.values))
        if self.kind != "gaps":
            return VIOLATIONS[self.kind].format(*runs, *values)
        scores: tuple[Any, ...] = self.values
        steps = (abs(scores[1] - scores[0]), abs(scores[3] - scores[2]))
        return "; ".join(
            f"the step from {values[i]} to {values[i + 1]}, for {runs[i]} and {runs[i + 1]},"
            f" is {format_value(step)}"
            for i, step in zip((0, 2), steps, strict=True)
        )


@dataclass(frozen=True, repr=False)
class ScaleVerdict:
    """The scale of a measure for one order of runs.

    Attributes
    ----------
    order
        Name of the order.
    scale
        Interval or ordinal; None if the measure is on neither scale, or if this is not decided.
    is_decided
        Whether the verdict is final; if not, the scale, unless it is None, is a lower bound.
    witness
        Counterexample to a higher scale; None if there is none, or if none was found.
    reason
        How the verdict was derived, or could be; empty after enumeration or a counterexample.
    """

    order: str
    scale: Scale | None
    is_decided: bool = True
    witness: Witness | None = None
    reason: str = ""

    @property
    def phrase(self) -> str:
        """The verdict in a few words."""
        if self.is_decided:
            return str(self.scale) if self.scale is not None else "neither ordinal nor interval"
        if self.scale is None:
            return "not decided at this length"
        return f"at least {self.scale}; whether it is interval is not decided at this length"

    def __repr__(self) -> str:
        return f"ScaleVerdict({self.order}: {self.phrase})"

    def __str__(self) -> str:
        text = f"{self.order}: {self.phrase}"
        if self.witness is not None:
            refutation = "; not interval" if self.scale is Scale.ORDINAL else ""
            text += f"{refutation}: {self.witness}"
        return f"{text} ({self.reason})" if self.reason else text


@dataclass(frozen=True, repr=False)
class ScaleReport:
    """The scale of a measure for runs of one length on one topic.

    Attributes
    ----------
    measure, length, grades
        The measure, the length N of the runs, and the highest grade c.
    judgments
        The topic's judgments as passed; None by default, when every run of the length is possible.
    n_runs
        Number of runs.
    own
        Verdict for the order that the measure itself induces, for which it is at least ordinal.
    set_based, rank_based
        Verdicts for the total orders of Ferrante, Ferro and Pontarollo (2019).
    is_exact
        Whether values were compared exactly.
    """

    measure: str
    length: int
    grades: int
    judgments: int | tuple[int, ...] | None
    n_runs: int
    own: ScaleVerdict
    set_based: ScaleVerdict
    rank_based: ScaleVerdict
    is_exact: bool

    @property
    def scale(self) -> Scale:
        """Scale for the measure's own order, which is the highest of the three scales."""
        return self.own.scale or Scale.ORDINAL

    def __repr__(self) -> str:
        shape = f"length={self.length}, grades={self.grades}"
        return f"ScaleReport({self.measure}, {shape}: {self.own.phrase})"

    def __str__(self) -> str:
        title = f"{self.measure} on runs of length {self.length} with grades 0 to {self.grades}"
        if isinstance(self.judgments, tuple):
            title += f", judgments {format_run(self.judgments)}"
        elif self.judgments is not None:
            title += f", recall base {self.judgments}"
        title += f" ({format_n_runs(self.n_runs)})"
        lines = [title, *(f"  {v}" for v in (self.own, self.set_based, self.rank_based))]
        if not self.is_exact:
            lines.append(f"  {FLOATS_NOTE}")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class TopicsReport:
    """The scale of a measure over runs of several lengths and topics of several recall bases.

    Attributes
    ----------
    measure
        The measure.
    max_length, max_base
        Length N of the longest run, and largest recall base K; they define the set S[N, K].
    scale
        Interval if its values are equally spaced, else ordinal.
    values
        The distinct values, ascending.
    witness
        Two unequal steps between values, and runs with these values: [number of relevant documents,
        length, recall base].
    is_exact
        Whether values were compared exactly.
    """

    measure: str
    max_length: int
    max_base: int
    scale: Scale
    values: tuple[Number, ...]
    witness: Witness | None
    is_exact: bool

    def __repr__(self) -> str:
        summary = f"{self.scale}, {inflect(len(self.values), 'value')}"
        return f"TopicsReport({self.measure}, S[{self.max_length}, {self.max_base}]: {summary})"

    def __str__(self) -> str:
        title = f"{self.measure} on S[{self.max_length}, {self.max_base}]"
        text = f"{title}: {self.scale}, with {inflect(len(self.values), 'value')}"
        if self.witness is not None:
            text = f"{text}; not interval: {self.witness}"
        return text if self.is_exact else f"{text}\n  {FLOATS_NOTE}"


def format_value(value: Number) -> str:
    """Format a value: as a fraction if it has a small denominator, otherwise as a float."""
    if isinstance(value, Fraction) and value.denominator < 10**5:
        return str(value)
    return f"{float(value):.6g}"


def format_run(run: Sequence[int]) -> str:
    """Format a run; long runs show counts of repeated grades.

    >>> format_run((1, 0, 1)), format_run((1, *[0] * 39))
    ('(1, 0, 1)', '(1, 39 x 0)')
    """
    if len(run) <= MAX_WRITTEN_LENGTH:
        return f"({', '.join(map(str, run))})"
    groups = [(grade, len(list(group))) for grade, group in groupby(run)]
    texts = [f"{times} x {grade}" if times > 1 else str(grade) for grade, times in groups]
    return f"({', '.join(texts)})"


def format_n_runs(n_runs: int) -> str:
    """Format a number of runs, rounded if it is huge.

    >>> format_n_runs(1000), format_n_runs(2**100), format_n_runs(2**2000)
    ('1,000 runs', '1.3e+30 runs', 'about 2^2000 runs')
    """
    if n_runs < 10**9:
        return inflect(n_runs, "run")
    bits = n_runs.bit_length() - 1
    return f"{float(n_runs):.2g} runs" if bits < 1000 else f"about 2^{bits} runs"


MAX_LISTED = 2**18
"""Maximum number of runs that are enumerated; if there are more, proofs and witnesses are used."""


@dataclass(frozen=True)
class RunSet:
    """A measure, and all runs of a length that can be made of the topic's documents.

    `judgments` are as passed: grades, or a number of relevant documents of unknown grades, or None.
    `documents` are the grades with which runs are scored.
    """

    measure: Measure
    length: int
    max_grade: int
    judgments: int | tuple[int, ...] | None
    documents: tuple[int, ...]

    @property
    def sign(self) -> int:
        """-1 if lower values are better, otherwise 1."""
        return -1 if self.measure.info.lower_is_better else 1

    @property
    def has_grades(self) -> bool:
        """True if the grades of the topic's documents are known, not only their number."""
        return isinstance(self.judgments, tuple)

    def can_be_listed(self, depth: int) -> bool:
        """Return True if there are few enough runs of a depth to enumerate them."""
        return not has_more_runs(MAX_LISTED, depth, self.max_grade)

    def list_runs(self, depth: int) -> Ints:
        """Return the possible runs without relevant documents beyond a depth; (runs, ranks)."""
        runs = check_runs(all_runs(depth, self.max_grade), self.length, self.max_grade)
        if not self.has_grades:
            return np.asarray(runs[(runs > 0).sum(axis=1) <= len(self.documents)])
        is_possible = np.ones(len(runs), dtype=bool)
        for grade in range(1, self.max_grade + 1):
            is_possible &= (runs == grade).sum(axis=1) <= self.documents.count(grade)
        return np.asarray(runs[is_possible])

    def count_runs(self) -> int:
        """Count the runs without listing them."""
        if self.judgments is None:
            return int((self.max_grade + 1) ** self.length)
        if not self.has_grades:
            max_relevant = min(self.length, len(self.documents))
            return sum(comb(self.length, n) * self.max_grade**n for n in range(max_relevant + 1))
        # Number of ways to place n documents of the grades so far at any ranks, by n.
        n_ways: list[int] = [1] + [0] * self.length
        for grade in range(1, self.max_grade + 1):
            n_docs = self.documents.count(grade)
            n_ways = [
                sum(n_ways[n - k] * comb(self.length - n + k, k) for k in range(min(n, n_docs) + 1))
                for n in range(self.length + 1)
            ]
        return sum(n_ways)

    def compute_values(self, runs: Ints) -> RunValues:
        return compute_exact_values(self.measure, runs, self.max_grade, self.documents)

    def find_form(self) -> Form | None:
        return find_form(self.measure, self.length, self.max_grade, self.documents)


def add_required_cutoff(measure: Measure, length: int) -> Measure:
    """Add the length as the cutoff of a measure if a required cutoff is missing."""
    needs_cutoff = measure.info.at_parameter == "cutoff" and measure.info.at_usage == "required"
    return measure @ length if needs_cutoff and measure.cutoff is None else measure


def make_run_set(
    measure: Measure | str, length: int | None, grades: int, judgments: Sequence[int] | int | None
) -> RunSet:
    """Make the set of runs for the arguments of :func:`cranfield.scale_of`."""
    measure = as_measure(measure, length)
    check_depends_on_grades(measure)
    length = measure.cutoff if length is None else length
    if length is None:
        raise PolicyError("length is required, such as length=10")
    check_size(length, grades)
    complete_measure = add_required_cutoff(measure, length)
    if isinstance(judgments, (int, np.integer)):
        check_recall_base(judgments)
        judgments = int(judgments)
    documents = check_judgments(judgments, length, grades)
    check_integer("the recall base", len(documents), 1)
    if judgments is not None and not isinstance(judgments, int):
        judgments = tuple(map(int, judgments))
    return RunSet(complete_measure, length, grades, judgments, documents)
