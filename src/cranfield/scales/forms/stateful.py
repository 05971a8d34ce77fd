"""The forms of the measures whose ranks depend on what came before: AP, RR, ERR and others."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cranfield.measures.ranked.average_precision import AveragePrecision, GeometricAveragePrecision
from cranfield.measures.ranked.precision import ReciprocalRank, Success
from cranfield.measures.ranked.preference import BinaryPreference, GeometricBinaryPreference
from cranfield.measures.ranked.sets import SetAveragePrecision
from cranfield.measures.users.rank_biased import (
    ExpectedReciprocalRank,
    NormalisedExpectedReciprocalRank,
)
from cranfield.scales.forms.additive import ZERO, grade_gains, highest_grade
from cranfield.scales.forms.exact_numbers import rational
from cranfield.scales.forms.form import Form, Setting, Stateful, Step, form_of, rising
from cranfield.scales.forms.logarithms import ONE


@dataclass(frozen=True)
class FirstRelevant(Stateful):
    """RR and Success: only the first relevant document counts."""

    depth: int
    rel: int
    reciprocal: bool

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """1 / rank, or 1, for the first relevant document; the state is whether it was found."""
        if state or grade < self.rel or rank > self.depth:
            return Step(ZERO, state)
        return Step(Fraction(1, rank) if self.reciprocal else ONE, 1)


@form_of(ReciprocalRank, Success)
def _first(measure: Any, setting: Setting) -> Form:
    reciprocal = isinstance(measure, ReciprocalRank)
    depth = setting.depth(measure)
    return Form(
        FirstRelevant(setting.length, setting.grades, depth, max(measure.rel, 0), reciprocal)
    )


@dataclass(frozen=True)
class PrecisionSum(Stateful):
    """AP times RB: the precision at each relevant document, the state being their number."""

    depth: int
    rel: int

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """(relevant so far) / rank for a relevant document."""
        if grade < self.rel or rank > self.depth:
            return Step(ZERO, state)
        return Step(Fraction(state + 1, rank), state + 1)


@form_of(AveragePrecision, GeometricAveragePrecision)
def _ap(measure: Any, setting: Setting) -> Form:
    base = setting.recall_base(measure.rel)
    if measure.denominator == "min" and measure.cutoff is not None:
        base = min(base, measure.cutoff)
    depth = setting.depth(measure)
    shape = PrecisionSum(setting.length, setting.grades, depth, max(measure.rel, 0))
    return Form(shape, rational(base))


@dataclass(frozen=True)
class SquaredCount(Stateful):
    """The square of the number of relevant documents, as a sum of odd numbers."""

    depth: int
    rel: int

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """(n + 1)^2 - n^2 for the relevant document number n + 1."""
        if grade < self.rel or rank > self.depth:
            return Step(ZERO, state)
        return Step(Fraction(2 * state + 1), state + 1)


@form_of(SetAveragePrecision)
def _set_ap(measure: SetAveragePrecision, setting: Setting) -> Form:
    depth = setting.depth(measure)
    shape = SquaredCount(setting.length, setting.grades, depth, max(measure.rel, 0))
    return Form(shape, rational(depth * setting.recall_base(measure.rel)))


@dataclass(frozen=True)
class Cascade(Stateful):
    """ERR: the state is the chance that the user still reads."""

    depth: int
    stops: tuple[Fraction, ...]

    @property
    def rises(self) -> bool:
        """Whether the chance to stop rises: whoever stops earlier gains more."""
        return rising(self.stops)

    @property
    def start(self) -> Hashable:
        """Every user begins to read."""
        return ONE

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """The chance to read on to here and to stop here, over the rank."""
        stop = self.stops[grade]
        if not stop or rank > self.depth:
            return Step(ZERO, state)
        return Step(state * stop / rank, state * (1 - stop))


@form_of(ExpectedReciprocalRank, NormalisedExpectedReciprocalRank)
def _err(measure: Any, setting: Setting) -> Form:
    depth, highest = setting.depth(measure), highest_grade(measure, setting)
    gains = grade_gains(measure.gains, highest)
    stops = tuple(one / (max(gains) + 1) for one in gains)
    shape = Cascade(setting.length, setting.grades, depth, stops)
    if isinstance(measure, ExpectedReciprocalRank):
        return Form(shape)
    ideal = Cascade(setting.length, setting.grades, len(setting.judgments), stops)
    judgments = sorted(setting.judgments, key=stops.__getitem__, reverse=True)
    best, state = ZERO, ideal.start
    for rank, grade in enumerate(judgments[: measure.cutoff], 1):
        contribution, state = ideal.step(rank, state, grade)
        best += contribution
    return Form(shape, rational(best))


@dataclass(frozen=True)
class Preference(Stateful):
    """Bpref times RB: the state is the number of relevant documents so far.

    Attributes
    ----------
    depth, rel
        Ranks that count, and the lowest relevant grade.
    most, of
        How many that stand above count at most, and what they are divided by; None for the number
        of documents above.
    """

    depth: int
    rel: int
    most: int
    of: int | None

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """One minus the share of the non-relevant documents that stand above."""
        if grade < self.rel or rank > self.depth:
            return Step(ZERO, state)
        if self.of is None and rank == 1:
            return Step(ZERO, state + 1)
        worse, of = min(rank - 1 - state, self.most), rank - 1 if self.of is None else self.of
        return Step(1 - Fraction(worse, of) if of else ONE, state + 1)


@form_of(BinaryPreference, GeometricBinaryPreference)
def _bpref(measure: Any, setting: Setting) -> Form:
    base = setting.recall_base(measure.rel)
    others = len(setting.judgments) - base
    most, of = {
        "N": (setting.length, others),
        "R": (base, base),
        "trec_eval": (base, min(base, others)),
        "relative": (setting.length, None),
    }[measure.form]
    depth = setting.depth(measure)
    shape = Preference(setting.length, setting.grades, depth, max(measure.rel, 0), most, of)
    return Form(shape, rational(base))
