"""Results on the scale of a measure, with runs as witnesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import comb
from typing import Any

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.base.errors import PolicyError, check_whole
from cranfield.base.scale_types import Scale
from cranfield.base.text import counted
from cranfield.measures.base import Measure
from cranfield.scales.forms.exact_values import Values, exact_values
from cranfield.scales.forms.form import Form, Number, check_grades_decide
from cranfield.scales.forms.measure_forms import form
from cranfield.scales.runs import (
    all_runs,
    as_measure,
    check_base,
    check_size,
    checked_runs,
    more_than,
    pool,
)

Run = tuple[int, ...]
WRITTEN_OUT = 12
"""Runs up to this length are written rank by rank."""

AS_FLOATS = "values are floats; differences below 2^-40 of the largest are treated as ties"
"""Note where values are not compared exactly."""

KINDS = {
    "inverted": "{0} is below {1} in that order, but scores better: {2} against {3}",
    "tied": "{0} is below {1} in that order, but both score {2}",
    "distinguished": "{0} and {1} are equal in that order, but score {2} and {3}",
}


@dataclass(frozen=True, repr=False)
class Witness:
    """Runs that show that a measure is not on a scale.

    Attributes
    ----------
    kind
        `inverted`: the first run is below the second in the order, and scores better. `tied`: it
        is below, and scores the same. `distinguished`: they are equal in the order, and score
        differently. `gaps`: the first and second run have neighbouring values, the third and
        fourth as well, and the two steps are not equal.
    runs
        Grades by rank of the two or four runs.
    values
        Their scores: exact numbers, or floats for a measure that is only known so.
    labels
        What the runs are called, if not by their grades.
    """

    kind: str
    runs: tuple[Run, ...]
    values: tuple[Number, ...]
    labels: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Witness({self})"

    def __str__(self) -> str:
        runs = self.labels or tuple(map(written, self.runs))
        values = tuple(map(shown, self.values))
        if self.kind != "gaps":
            return KINDS[self.kind].format(*runs, *values)
        found: tuple[Any, ...] = self.values
        steps = (abs(found[1] - found[0]), abs(found[3] - found[2]))
        return "; ".join(
            f"the step from {values[i]} to {values[i + 1]}, for {runs[i]} and {runs[i + 1]},"
            f" is {shown(step)}"
            for i, step in zip((0, 2), steps, strict=True)
        )


@dataclass(frozen=True, repr=False)
class Verdict:
    """The scale of a measure for one order of runs.

    Attributes
    ----------
    order, scale
        The order, and interval or ordinal; None if it is neither, or if nothing is known.
    decided
        Whether that is the last word. If not, the scale is what is known at least.
    witness
        Why it is no more than that.
    reason
        How it is known, where not by looking at all runs.
    """

    order: str
    scale: Scale | None
    decided: bool = True
    witness: Witness | None = None
    reason: str = ""

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        if self.decided:
            return str(self.scale) if self.scale is not None else "neither ordinal nor interval"
        more = "" if self.scale is None else f"at least {self.scale}; interval or not is "
        return f"{more}not decided at this length"

    def __repr__(self) -> str:
        return f"Verdict({self.order}: {self.word})"

    def __str__(self) -> str:
        text = f"{self.order}: {self.word}"
        if self.witness is not None:
            missing = "; not interval" if self.scale is Scale.ORDINAL else ""
            text += f"{missing}: {self.witness}"
        return f"{text} ({self.reason})" if self.reason else text


@dataclass(frozen=True, repr=False)
class ScaleReport:
    """The scale of a measure for runs of one length on one topic.

    Attributes
    ----------
    measure, length, grades
        The measure, the length N of the runs, and the highest grade c.
    judgments
        The topic's judgments as they were given; None if any run of that length can be.
    runs
        Their number.
    own
        For the order that the measure induces itself: ordinal at least.
    set_based, rank_based
        For the total orders of Ferrante, Ferro and Pontarollo (2019).
    exact
        Whether values were compared exactly.
    """

    measure: str
    length: int
    grades: int
    judgments: int | tuple[int, ...] | None
    runs: int
    own: Verdict
    set_based: Verdict
    rank_based: Verdict
    exact: bool

    @property
    def scale(self) -> Scale:
        """Scale for its own order, the most that can be claimed."""
        return self.own.scale or Scale.ORDINAL

    def __repr__(self) -> str:
        shape = f"length={self.length}, grades={self.grades}"
        return f"ScaleReport({self.measure}, {shape}: {self.own.word})"

    def __str__(self) -> str:
        base = "" if self.judgments is None else f", recall base {self.judgments}"
        head = (
            f"{self.measure} on runs of length {self.length} with grades 0 to {self.grades}{base}"
            f" ({many(self.runs)})"
        )
        lines = [head, *(f"  {one}" for one in (self.own, self.set_based, self.rank_based))]
        if not self.exact:
            lines.append(f"  {AS_FLOATS}")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class TopicsReport:
    """The scale of a measure over runs of several lengths and topics of several recall bases.

    Attributes
    ----------
    measure, longest, largest_base
        The measure, and the set S[N, K] of its longest run N and its largest recall base K.
    scale
        Interval if its values are equally spaced, else ordinal.
    values
        The distinct values, ascending.
    witness
        Two unequal steps, with the number of relevant documents r, the length n and the recall
        base RB of runs that show them.
    exact
        Whether values were compared exactly.
    """

    measure: str
    longest: int
    largest_base: int
    scale: Scale
    values: tuple[Number, ...]
    witness: Witness | None
    exact: bool

    def __repr__(self) -> str:
        found = f"{self.scale}, {counted(len(self.values), 'value')}"
        return f"TopicsReport({self.measure}, S[{self.longest}, {self.largest_base}]: {found})"

    def __str__(self) -> str:
        where = f"{self.measure} on S[{self.longest}, {self.largest_base}]"
        text = f"{where}: {self.scale}, with {counted(len(self.values), 'value')}"
        if self.witness is not None:
            text = f"{text}; not interval: {self.witness}"
        return text if self.exact else f"{text}\n  {AS_FLOATS}"


def shown(value: Number) -> str:
    """Write a value: fractions as such while they are short."""
    if isinstance(value, Fraction) and value.denominator < 10**5:
        return str(value)
    return f"{float(value):.6g}"


def written(run: Sequence[int]) -> str:
    """Write a run, a long one with the number of times that a grade stands in a row.

    >>> written((1, 0, 1)), written((1, *[0] * 39))
    ('(1, 0, 1)', '(1, 39 x 0)')
    """
    if len(run) <= WRITTEN_OUT:
        return f"({', '.join(map(str, run))})"
    groups = [(grade, len(list(group))) for grade, group in groupby(run)]
    parts = [f"{times} x {grade}" if times > 1 else str(grade) for grade, times in groups]
    return f"({', '.join(parts)})"


def many(runs: int) -> str:
    """Number of runs, in digits while they can be read.

    >>> many(1000), many(2**100), many(2**2000)
    ('1,000 runs', '1.3e+30 runs', 'about 2^2000 runs')
    """
    if runs < 10**9:
        return counted(runs, "run")
    bits = runs.bit_length() - 1
    return f"{float(runs):.2g} runs" if bits < 1000 else f"about 2^{bits} runs"


LISTED = 2**18
"""Runs that are all looked at; beyond that, proofs and witnesses are looked for."""


@dataclass(frozen=True)
class RunSet:
    """Runs of one length that can be retrieved from a topic's documents, and a measure of them.

    `documents` has the grades of the topic's documents, and `stated` is what was said of them:
    their grades, the number of relevant ones, which leaves their grades open, or None, where every
    run can be.
    """

    measure: Measure
    length: int
    grades: int
    stated: int | tuple[int, ...] | None
    documents: tuple[int, ...]

    @property
    def sign(self) -> int:
        """-1 if lower values are better."""
        return -1 if self.measure.info.lower_is_better else 1

    @property
    def graded(self) -> bool:
        """True if the grade of each document is known; otherwise only their number."""
        return isinstance(self.stated, tuple)

    def can_be_listed(self, depth: int) -> bool:
        return not more_than(LISTED, depth, self.grades)

    def listed(self, depth: int) -> Ints:
        """Return all runs with grades above 0 down to a depth only; shape (runs, ranks)."""
        runs = checked_runs(all_runs(depth, self.grades), self.length, self.grades)
        if not self.graded:
            return np.asarray(runs[(runs > 0).sum(axis=1) <= len(self.documents)])
        kept = np.ones(len(runs), dtype=bool)
        for grade in range(1, self.grades + 1):
            kept &= (runs == grade).sum(axis=1) <= self.documents.count(grade)
        return np.asarray(runs[kept])

    def count(self) -> int:
        """Number of the runs, without listing them."""
        if self.stated is None:
            return int((self.grades + 1) ** self.length)
        if not self.graded:
            most = min(self.length, len(self.documents))
            return sum(comb(self.length, n) * self.grades**n for n in range(most + 1))
        # Ways to place the documents of the grades so far at any of the ranks, by how many.
        ways: list[int] = [1] + [0] * self.length
        for grade in range(1, self.grades + 1):
            have = self.documents.count(grade)
            ways = [
                sum(ways[n - k] * comb(self.length - n + k, k) for k in range(min(n, have) + 1))
                for n in range(self.length + 1)
            ]
        return sum(ways)

    def values(self, runs: Ints) -> Values:
        return exact_values(self.measure, runs, self.grades, self.documents)

    def form(self) -> Form | None:
        return form(self.measure, self.length, self.grades, self.documents)


def completed(measure: Measure, length: int) -> Measure:
    """Return the measure with the length for a cutoff, if it needs one and has none."""
    if measure.info.at == "cutoff" and measure.info.at_wanted == "required":
        return measure if measure.cutoff is not None else measure @ length
    return measure


def run_set(
    measure: Measure | str,
    length: int | None,
    grades: int,
    judgments: Sequence[int] | int | None,
) -> RunSet:
    """Check what :func:`cranfield.scale_of` is asked."""
    measure = as_measure(measure, length)
    check_grades_decide(measure)
    size = measure.cutoff if length is None else length
    if size is None:
        raise PolicyError("length is required, such as length=10")
    check_size(size, grades)
    whole = completed(measure, size)
    stated: int | tuple[int, ...] | None = None
    if isinstance(judgments, (int, np.integer)):
        check_base(judgments)
        stated = int(judgments)
    documents = pool(judgments, size, grades)
    check_whole("the recall base", len(documents), 1)
    if stated is None and judgments is not None:
        stated = tuple(int(grade) for grade in judgments)  # type: ignore[union-attr]
    return RunSet(whole, size, grades, stated, documents)
