"""The forms of the measures of the blended ratio: Q, NCU, EBR, and the measures of one rank.

With C relevant documents of gain cg so far, and cg* that of the ideal ranking of the topic, the
blended ratio at rank r is (C + beta cg) / (r + beta cg*(r)). So the order of runs depends on the
ideal ranking, not only the unit of values as for AP.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from cranfield.measures.parameters import fraction_of
from cranfield.measures.ranked.ntcir import (
    ExpectedBlendedRatio,
    NormalisedCumulativeUtility,
    OMeasure,
    PMeasure,
    PPlusMeasure,
    QMeasure,
    RMeasure,
)
from cranfield.scales.forms.additive import ZERO, grade_gains, highest_grade
from cranfield.scales.forms.exact_numbers import rational
from cranfield.scales.forms.form import Additive, Form, Setting, Stateful, Step, form_of
from cranfield.scales.forms.logarithms import ONE


@dataclass(frozen=True)
class Ratios:
    """Blended ratios, and which documents they count.

    Attributes
    ----------
    rel
        Lowest grade that is relevant.
    depth
        Ranks that count.
    gains
        For each grade its gain by beta; 0 for grades that are not relevant.
    ideal
        For each rank r the divisor r + beta cg*(r).
    """

    rel: int
    depth: int
    gains: tuple[Fraction, ...]
    ideal: tuple[Fraction, ...]

    @classmethod
    def of(cls, measure: Any, setting: Setting) -> Ratios:
        """Look up gains, and the ideal ranking of the topic."""
        rel, beta = max(measure.rel, 0), fraction_of(measure.beta)
        worth = grade_gains(measure.gains, setting.grades)
        gains = tuple(beta * one if grade >= rel else ZERO for grade, one in enumerate(worth))
        best = sorted((gains[grade] for grade in setting.judgments), reverse=True)
        best = (best + [ZERO] * setting.length)[: setting.length]
        ideal = tuple(rank + most for rank, most in enumerate(accumulate(best), 1))
        return cls(rel, setting.depth(measure), gains, ideal)

    def counts(self, rank: int, grade: int) -> bool:
        """Whether a document is relevant, and at a rank that counts."""
        return grade >= self.rel and rank <= self.depth

    def after(self, seen: tuple[int, Fraction], grade: int) -> tuple[int, Fraction]:
        """C and beta cg with one more relevant document."""
        return seen[0] + 1, seen[1] + self.gains[grade]

    def at(self, rank: int, seen: tuple[int, Fraction]) -> Fraction:
        """The blended ratio."""
        return (seen[0] + seen[1]) / self.ideal[rank - 1]


NOTHING = (0, ZERO)


@dataclass(frozen=True)
class RatioSum(Stateful):
    """Q and NCU: a sum of weighed ratios; the state is what was found so far.

    Attributes
    ----------
    ratios
        Ratios, or precisions where beta is 0.
    by_grade, by_seen
        Weights of a grade, and of the relevant document number 1, 2, ...
    """

    ratios: Ratios
    by_grade: tuple[Fraction, ...]
    by_seen: tuple[Fraction, ...]

    @property
    def start(self) -> Hashable:
        """Nothing found."""
        return NOTHING

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """The ratio at a relevant document, by its weight."""
        if not self.ratios.counts(rank, grade):
            return Step(ZERO, state)
        seen = self.ratios.after(state, grade)
        weight = self.by_grade[grade] * self.by_seen[seen[0] - 1]
        return Step(weight * self.ratios.at(rank, seen), seen)


@form_of(QMeasure)
def _q(measure: QMeasure, setting: Setting) -> Form:
    base = setting.recall_base(measure.rel)
    if measure.denominator == "min" and measure.cutoff is not None:
        base = min(base, measure.cutoff)
    ones = (ONE,) * (setting.grades + 1), (ONE,) * setting.length
    shape = RatioSum(setting.length, setting.grades, Ratios.of(measure, setting), *ones)
    return Form(shape, rational(base))


@form_of(NormalisedCumulativeUtility)
def _ncu(measure: NormalisedCumulativeUtility, setting: Setting) -> Form:
    base = setting.recall_base(measure.rel)
    by_grade, by_seen = (ONE,) * (setting.grades + 1), (ONE,) * setting.length
    if measure.stopping == "graded":
        by_grade = grade_gains(measure.stops or measure.gains, setting.grades)
        relevant = [grade for grade in setting.judgments if grade >= max(measure.rel, 0)]
        whole = sum((by_grade[grade] for grade in relevant), ZERO)
    else:
        gamma = fraction_of(measure.gamma)
        by_seen = tuple(gamma**seen for seen in range(setting.length))
        whole = Fraction(base) if gamma == 1 else (1 - gamma**base) / (1 - gamma)
    # Precision is the ratio without gains.
    useful = measure(beta=0) if measure.utility == "P" else measure
    ratios = Ratios.of(useful, setting)
    shape = RatioSum(setting.length, setting.grades, ratios, by_grade, by_seen)
    return Form(shape, rational(whole))


@dataclass(frozen=True)
class RatioCascade(Stateful):
    """EBR: the state is what was found, and the chance that the user still reads."""

    ratios: Ratios
    stops: tuple[Fraction, ...]

    @property
    def start(self) -> Hashable:
        """Nothing found, and every user begins to read."""
        return (NOTHING, ONE)

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """The ratio at a relevant document, by the chance to stop there."""
        if not self.ratios.counts(rank, grade):
            return Step(ZERO, state)
        seen, reading = self.ratios.after(state[0], grade), state[1]
        stop = self.stops[grade]
        contribution = reading * stop * self.ratios.at(rank, seen)
        return Step(contribution, (seen, reading * (1 - stop)))


@form_of(ExpectedBlendedRatio)
def _ebr(measure: ExpectedBlendedRatio, setting: Setting) -> Form:
    worth = grade_gains(measure.gains, highest_grade(measure, setting))
    stops = tuple(one / (max(worth) + 1) for one in worth)
    ratios = Ratios.of(measure, setting)
    return Form(RatioCascade(setting.length, setting.grades, ratios, stops))


@form_of(RMeasure)
def _r_measure(measure: RMeasure, setting: Setting) -> Form:
    base, ratios = setting.recall_base(measure.rel), Ratios.of(measure, setting)
    row = tuple(
        1 + gain if grade >= ratios.rel else ZERO for grade, gain in enumerate(ratios.gains)
    )
    rows = tuple(row if rank < base else (ZERO,) * len(row) for rank in range(setting.length))
    below = base + sum((ratios.gains[grade] for grade in setting.judgments), ZERO)
    return Form(Additive((ONE,) * setting.length, rows), rational(below))


@dataclass(frozen=True)
class FirstWorth(Stateful):
    """Measures of the first relevant document: its rank and its grade decide.

    Attributes
    ----------
    worth
        For each rank the value of each grade; None for one that is not relevant.
    """

    worth: tuple[tuple[Fraction | None, ...], ...]

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """The value of the first relevant document; the state is whether it was found."""
        found = self.worth[rank - 1][grade]
        return Step(ZERO, state) if state or found is None else Step(found, 1)


@form_of(OMeasure)
def _o_measure(measure: OMeasure, setting: Setting) -> Form:
    ratios = Ratios.of(measure, setting)
    worth = tuple(
        tuple(
            ratios.at(rank, ratios.after(NOTHING, grade)) if ratios.counts(rank, grade) else None
            for grade in range(setting.grades + 1)
        )
        for rank in range(1, setting.length + 1)
    )
    return Form(FirstWorth(setting.length, setting.grades, worth))


@dataclass(frozen=True)
class RatioAtBest(Stateful):
    """P-measure: the ratio at the first document of the highest grade so far.

    A higher grade takes the place of what was found before: what it contributes is the difference.
    The state is the highest grade, the ratio there, and what was found so far.
    """

    ratios: Ratios

    @property
    def start(self) -> Hashable:
        """No grade, and nothing found."""
        return (-1, ZERO, NOTHING)

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """What a document of a higher grade changes."""
        best, value, before = state
        if not self.ratios.counts(rank, grade) or best == self.grades:
            return Step(ZERO, state)
        seen = self.ratios.after(before, grade)
        if grade <= best:
            return Step(ZERO, (best, value, seen))
        found = self.ratios.at(rank, seen)
        # Nothing is above the highest grade, so that the rest does not matter.
        last = grade == self.grades
        return Step(found - value, (grade, ZERO, NOTHING) if last else (grade, found, seen))


@form_of(PMeasure, PPlusMeasure)
def _p_measure(measure: Any, setting: Setting) -> Form | None:
    # P+ is a mean of all ratios so far, whose sum nearly every run has to itself: only where all
    # relevant documents are of one grade it has a form, and is P-measure.
    if isinstance(measure, PPlusMeasure) and max(measure.rel, 0) < setting.grades:
        return None
    ratios = Ratios.of(measure, setting)
    return Form(RatioAtBest(setting.length, setting.grades, ratios))
