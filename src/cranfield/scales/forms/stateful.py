"""Measures where a rank counts by what came before: RR, AP, GAP and the cascades such as ERR."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from cranfield.measures.ranked.average_precision import (
    GradedAveragePrecision,
    KishidaAveragePrecision,
)
from cranfield.measures.ranked.precision import ReciprocalRank, WeightedReciprocalRank, summed_over
from cranfield.measures.users.expected_reciprocal_rank import (
    IntentwiseRankBiasedUtility,
    NormalisedExpectedReciprocalRank,
)
from cranfield.scales.forms.exact_numbers import ONE, ZERO, rational
from cranfield.scales.forms.form import (
    Form,
    Row,
    Setting,
    Stateful,
    Step,
    exactly,
    rising,
    row_of,
    upto,
)


@dataclass(frozen=True)
class FirstFound(Stateful):
    """Measures of the first relevant document: its rank and its grade decide.

    `worth` has for each rank that counts the value of each grade; None for one not relevant. The
    state is whether something was found.
    """

    worth: tuple[tuple[Fraction | None, ...], ...]

    def step(self, rank: int, state: Any, grade: int) -> Step:
        worth = self.worth[rank - 1][grade] if rank <= len(self.worth) and not state else None
        return Step(ZERO, state) if worth is None else Step(worth, 1)


def first_found(measure: Any, setting: Setting) -> Form:
    """RR, WRR and Success."""
    exact, relevant = exactly(measure), setting.relevant(measure)
    worth = []
    for rank in range(1, setting.depth(measure) + 1):
        row: Row = (ONE,) * len(relevant)
        if isinstance(measure, ReciprocalRank):
            row = (exact.worth(Fraction(rank)),) * len(relevant)
        elif isinstance(measure, WeightedReciprocalRank):
            highest = 0 if measure.betas else setting.highest(measure)
            row = row_of(exact.worth(rank, upto(setting.grades), highest))
        worth.append(tuple(one if yes else None for one, yes in zip(row, relevant, strict=True)))
    return Form(FirstFound(setting.length, setting.grades, tuple(worth)))


@dataclass(frozen=True)
class ByCount(Stateful):
    """What the relevant documents number 1, 2, ... add; the state is how many there were."""

    depth: int
    relevant: tuple[bool, ...]
    steps: Row

    def step(self, rank: int, state: Any, grade: int) -> Step:
        if not self.relevant[grade] or rank > self.depth:
            return Step(ZERO, state)
        return Step(self.steps[state], state + 1)


@dataclass(frozen=True)
class MeanSoFar(Stateful):
    """AP and gAP: the mean gain so far at each document with a gain; the state is their sum."""

    depth: int
    gains: Row
    law: Any

    @property
    def start(self) -> Hashable:
        return ZERO

    def step(self, rank: int, state: Any, grade: int) -> Step:
        gain = self.gains[grade]
        if not gain or rank > self.depth:
            return Step(ZERO, state)
        return Step(self.law.mean_so_far(state + gain, rank), state + gain)


def average_precision(measure: Any, setting: Setting) -> Form:
    """AP and GMAP."""
    gains = tuple(Fraction(yes) for yes in setting.relevant(measure))
    shape = MeanSoFar(setting.length, setting.grades, setting.depth(measure), gains, measure)
    return Form(shape, rational(int(summed_over(measure, setting.recall_base(measure)))))


def _best(values: list[Fraction], measure: Any) -> list[Fraction]:
    return values[: measure.cutoff] if measure.denominator == "min" else values


def mean_gains(measure: KishidaAveragePrecision, setting: Setting) -> Form:
    gains = setting.gains(measure.gains)
    shape = MeanSoFar(setting.length, setting.grades, setting.depth(measure), gains, measure)
    ideal = accumulate(_best(setting.best(gains), measure))
    below = sum((measure.mean_so_far(gain, rank) for rank, gain in enumerate(ideal, 1)), ZERO)
    return Form(shape, rational(below))


@dataclass(frozen=True)
class SharedGrades(Stateful):
    """GAP: a document counts what it shares with those above, of which the state holds the number.

    `weights` is G of each grade, which does not fall.
    """

    depth: int
    weights: Row

    @property
    def start(self) -> Hashable:
        return (0,) * self.grades

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """Sum of G(min of both grades) over the documents so far, over the rank."""
        if not grade or rank > self.depth:
            return Step(ZERO, state)
        seen = tuple(many + (other == grade) for other, many in enumerate(state, 1))
        shared = (many * self.weights[min(other, grade)] for other, many in enumerate(seen, 1))
        return Step(sum(shared, ZERO) / rank, seen)


def shared_grades(measure: GradedAveragePrecision, setting: Setting) -> Form:
    weights = row_of([exactly(measure).weight(grade) for grade in range(setting.grades + 1)])
    shape = SharedGrades(setting.length, setting.grades, setting.depth(measure), weights)
    below = sum(_best([weights[grade] for grade in setting.judgments], measure), ZERO)
    return Form(shape, rational(below))


@dataclass(frozen=True)
class Cascade(Stateful):
    """Users who stop where a document satisfies; the state is the chance that they still read.

    `stops` has the chance to stop of each grade; `worth`, of each rank that counts, what it is
    worth to stop there, or with ERR's chance to be satisfied as gain, to read there; `patience`, of
    each rank, the chance to go on of those whom nothing satisfies: 1 where not given.
    """

    stops: Row
    worth: Row
    patience: Row = ()

    @property
    def rises(self) -> bool:
        """Whether the chance to stop rises: whoever stops earlier gains more."""
        return rising(self.stops)

    @property
    def start(self) -> Hashable:
        return ONE

    def step(self, rank: int, state: Any, grade: int) -> Step:
        if rank > len(self.worth):
            return Step(ZERO, ONE)
        going_on = self.patience[rank - 1] if self.patience else ONE
        stop = self.stops[grade]
        return Step(state * stop * self.worth[rank - 1], state * (1 - stop) * going_on)


def cascade(measure: Any, setting: Setting) -> Form:
    """ERR, nERR and iRBU."""
    exact, stops = exactly(measure), setting.stops(measure)
    utility = isinstance(measure, IntentwiseRankBiasedUtility)
    ranks = range(1, max(setting.depth(measure), len(setting.judgments)) + 1)
    worth = tuple(exact.utility(rank) if utility else exact.worth(ONE, rank) for rank in ranks)
    shape = Cascade(setting.length, setting.grades, stops, worth[: setting.depth(measure)])
    if not isinstance(measure, NormalisedExpectedReciprocalRank):
        return Form(shape)
    ideal = Cascade(len(setting.judgments), setting.grades, stops, worth)
    judgments = sorted(setting.judgments, key=stops.__getitem__, reverse=True)
    best, state = ZERO, ideal.start
    for rank, grade in enumerate(judgments[: measure.cutoff], 1):
        contribution, state = ideal.step(rank, state, grade)
        best += contribution
    return Form(shape, rational(best))
