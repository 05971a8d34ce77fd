"""The runs that a question about a scale is asked of: of one length, on one topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError
from cranfield.measures import Measure
from cranfield.scales.forms.eligible import check_grades_decide
from cranfield.scales.forms.exact_values import Values, exact_values
from cranfield.scales.forms.form import Form
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
        """Whether each document has its grade; else only their number counts."""
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
        raise PolicyError("give the length of the runs, such as length=10")
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
