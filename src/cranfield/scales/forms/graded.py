"""The forms of graded average precision, and of the graded measures of a rank: WRR and iRBU."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cranfield.measures.parameters import fraction_of
from cranfield.measures.ranked.graded_ap import GradedAveragePrecision, KishidaAveragePrecision
from cranfield.measures.ranked.weighted_rank import (
    IntentwiseRankBiasedUtility,
    WeightedReciprocalRank,
)
from cranfield.scales.forms.additive import ZERO, grade_gains, highest_grade
from cranfield.scales.forms.blended import FirstWorth
from cranfield.scales.forms.exact_numbers import rational
from cranfield.scales.forms.form import Form, Setting, Stateful, Step, form_of
from cranfield.scales.forms.logarithms import ONE


@dataclass(frozen=True)
class SharedGrades(Stateful):
    """GAP: a document counts what it shares with those above, of which the state holds the number.

    Attributes
    ----------
    depth
        Ranks that count.
    weights
        G of each grade, which does not fall.
    """

    depth: int
    weights: tuple[Fraction, ...]

    @property
    def start(self) -> Hashable:
        """No document of any grade."""
        return (0,) * self.grades

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """Sum of G(min of both grades) over the documents so far, over the rank."""
        if not grade or rank > self.depth:
            return Step(ZERO, state)
        seen = tuple(many + (one == grade) for one, many in enumerate(state, 1))
        shared = sum(
            (many * self.weights[min(one, grade)] for one, many in enumerate(seen, 1)), ZERO
        )
        return Step(shared / rank, seen)


def _best(values: list[Fraction], measure: Any) -> list[Fraction]:
    """What the ideal ranking has, as far as it counts."""
    return values[: measure.cutoff] if measure.denominator == "min" else values


@form_of(GradedAveragePrecision)
def _gap(measure: GradedAveragePrecision, setting: Setting) -> Form:
    kind = measure.thresholds.kind
    steps = [Fraction(grade if kind == "linear" else 1) for grade in range(1, setting.grades + 1)]
    if isinstance(kind, tuple):
        named = dict(kind)
        steps = [fraction_of(named.get(grade, 0.0)) for grade in range(1, setting.grades + 1)]
    weights = tuple(sum(steps[:grade], ZERO) for grade in range(setting.grades + 1))
    shape = SharedGrades(setting.length, setting.grades, setting.depth(measure), weights)
    below = sum(_best([weights[grade] for grade in setting.judgments], measure), ZERO)
    return Form(shape, rational(below))


@dataclass(frozen=True)
class GainSum(Stateful):
    """gAP: the mean gain so far at each document with a gain; the state is the gain so far."""

    depth: int
    gains: tuple[Fraction, ...]

    @property
    def start(self) -> Hashable:
        """No gain."""
        return ZERO

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """The gain so far, over the rank."""
        gain = self.gains[grade]
        if not gain or rank > self.depth:
            return Step(ZERO, state)
        return Step((state + gain) / rank, state + gain)


@form_of(KishidaAveragePrecision)
def _kishida(measure: KishidaAveragePrecision, setting: Setting) -> Form:
    gains = grade_gains(measure.gains, setting.grades)
    shape = GainSum(setting.length, setting.grades, setting.depth(measure), gains)
    best = sorted((gains[grade] for grade in setting.judgments), reverse=True)
    below = found = ZERO
    for rank, gain in enumerate(_best([one for one in best if one], measure), 1):
        found += gain
        below += found / rank
    return Form(shape, rational(below))


@form_of(WeightedReciprocalRank)
def _wrr(measure: WeightedReciprocalRank, setting: Setting) -> Form:
    depth, rel = setting.depth(measure), max(measure.rel, 0)
    if measure.betas is None:
        highest = highest_grade(measure, setting)
        credits = [Fraction(1, highest - grade + 2) for grade in range(setting.grades + 1)]
    else:
        assert isinstance(measure.betas.kind, tuple)
        named = {grade: 1 / fraction_of(beta) for grade, beta in measure.betas.kind}
        credits = [named.get(grade, ZERO) for grade in range(setting.grades + 1)]
    worth = tuple(
        tuple(
            1 / (rank - credit) if grade >= rel and rank <= depth else None
            for grade, credit in enumerate(credits)
        )
        for rank in range(1, setting.length + 1)
    )
    return Form(FirstWorth(setting.length, setting.grades, worth))


@dataclass(frozen=True)
class UtilityCascade(Stateful):
    """iRBU: ERR with p^r for the reciprocal rank; the state is the chance that the user reads."""

    depth: int
    p: Fraction
    stops: tuple[Fraction, ...]

    @property
    def start(self) -> Hashable:
        """Every user begins to read."""
        return ONE

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """The chance to stop here, by what utility is left."""
        stop = self.stops[grade]
        if not stop or rank > self.depth:
            return Step(ZERO, state)
        return Step(state * stop * self.p**rank, state * (1 - stop))


@form_of(IntentwiseRankBiasedUtility)
def _irbu(measure: IntentwiseRankBiasedUtility, setting: Setting) -> Form:
    worth = grade_gains(measure.gains, highest_grade(measure, setting))
    stops = tuple(one / (max(worth) + 1) for one in worth)
    p = fraction_of(measure.p)
    return Form(UtilityCascade(setting.length, setting.grades, setting.depth(measure), p, stops))
