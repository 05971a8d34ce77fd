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

from cranfield.measures.ranked.ntcir import (
    ExpectedBlendedRatio,
    NormalisedCumulativeUtility,
    OMeasure,
    PPlusMeasure,
    QMeasure,
    RMeasure,
)
from cranfield.measures.ranked.precision import summed_over
from cranfield.scales.forms.exact_numbers import ONE, ZERO, rational
from cranfield.scales.forms.form import Additive, Form, Row, Setting, Stateful, Step, exactly
from cranfield.scales.forms.stateful import FirstFound

Found = tuple[int, Fraction]
"""C and cg: how many relevant documents were found so far, and their gain."""

NOTHING: Found = (0, ZERO)


@dataclass(frozen=True)
class Ratios:
    """Blended ratios, by the law of a measure with fractions for numbers.

    For each grade there is whether it is relevant, and its gain, 0 if it is not; for each rank cg*,
    the gain of the ideal ranking so far. Ranks count down to a depth.
    """

    measure: Any
    relevant: tuple[bool, ...]
    gains: Row
    depth: int
    ideal: Row

    @classmethod
    def of(cls, measure: Any, setting: Setting) -> Ratios:
        relevant = setting.relevant(measure)
        worth = setting.gains(measure.gains)
        # Gains that weigh nothing would tell states apart that are the same.
        weighed = [yes and measure.beta > 0 for yes in relevant]
        gains = tuple(gain * yes for gain, yes in zip(worth, weighed, strict=True))
        best = [*setting.best(gains), *[ZERO] * setting.length][: setting.length]
        ideal = tuple(accumulate(best))
        return cls(exactly(measure), relevant, gains, setting.depth(measure), ideal)

    def counts(self, rank: int, grade: int) -> bool:
        return self.relevant[grade] and rank <= self.depth

    def after(self, found: Found, grade: int) -> Found:
        return found[0] + 1, found[1] + self.gains[grade]

    def at(self, rank: int, found: Found) -> Fraction:
        ratio: Fraction = self.measure.blended(*found, rank, self.ideal[rank - 1])
        return ratio


@dataclass(frozen=True)
class RatioSum(Stateful):
    """Q and NCU: a sum of weighed ratios; the state is what was found so far.

    `by_grade` and `by_seen` are weights of a grade, and of the relevant document number 1, 2, ...
    """

    ratios: Ratios
    by_grade: Row
    by_seen: Row

    @property
    def start(self) -> Hashable:
        return NOTHING

    def step(self, rank: int, state: Any, grade: int) -> Step:
        if not self.ratios.counts(rank, grade):
            return Step(ZERO, state)
        found = self.ratios.after(state, grade)
        weight = self.by_grade[grade] * self.by_seen[found[0] - 1]
        return Step(weight * self.ratios.at(rank, found), found)


def q_measure(measure: QMeasure, setting: Setting) -> Form:
    ones = (ONE,) * (setting.grades + 1), (ONE,) * setting.length
    shape = RatioSum(setting.length, setting.grades, Ratios.of(measure, setting), *ones)
    return Form(shape, rational(int(summed_over(measure, setting.recall_base(measure)))))


def cumulative_utility(measure: NormalisedCumulativeUtility, setting: Setting) -> Form:
    by_grade, by_seen = (ONE,) * (setting.grades + 1), (ONE,) * setting.length
    if measure.stopping == "graded":
        by_grade = setting.gains(measure.stops or measure.gains)
        relevant = setting.relevant(measure)
        whole = sum((by_grade[grade] for grade in setting.judgments if relevant[grade]), ZERO)
    else:
        chance, base = exactly(measure).chance, setting.recall_base(measure)
        by_seen = tuple(chance(seen) for seen in range(1, setting.length + 1))
        whole = sum((chance(seen) for seen in range(1, base + 1)), ZERO)
    # Precision is the ratio without gains.
    useful = measure(beta=0) if measure.utility == "P" else measure
    ratios = Ratios.of(useful, setting)
    return Form(
        RatioSum(setting.length, setting.grades, ratios, by_grade, by_seen), rational(whole)
    )


@dataclass(frozen=True)
class RatioCascade(Stateful):
    """EBR: the state is what was found, and the chance that the user still reads."""

    ratios: Ratios
    stops: Row

    @property
    def start(self) -> Hashable:
        return (NOTHING, ONE)

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """The ratio at a relevant document, by the chance to stop there."""
        if not self.ratios.counts(rank, grade):
            return Step(ZERO, state)
        found, reading = self.ratios.after(state[0], grade), state[1]
        stop = self.stops[grade]
        return Step(reading * stop * self.ratios.at(rank, found), (found, reading * (1 - stop)))


def expected_ratio(measure: ExpectedBlendedRatio, setting: Setting) -> Form:
    ratios, stops = Ratios.of(measure, setting), setting.stops(measure)
    return Form(RatioCascade(setting.length, setting.grades, ratios, stops))


def r_measure(measure: RMeasure, setting: Setting) -> Form:
    """The sum of C + beta cg, which is the ratio at rank 1 where nothing is ideal."""
    ratios, base = Ratios.of(measure, setting), setting.recall_base(measure)
    law = ratios.measure.blended
    pairs = zip(ratios.relevant, ratios.gains, strict=True)
    row = tuple(law(int(yes), gain, ONE, ZERO) for yes, gain in pairs)
    gained = sum((ratios.gains[grade] for grade in setting.judgments), ZERO)
    below = 1 / law(ONE, ZERO, base, gained) if base else ZERO
    return Form(Additive.rational(setting.rows(row, base)), rational(below))


def o_measure(measure: OMeasure, setting: Setting) -> Form:
    ratios = Ratios.of(measure, setting)
    worth = tuple(
        tuple(
            ratios.at(rank, ratios.after(NOTHING, grade)) if ratios.counts(rank, grade) else None
            for grade in range(setting.grades + 1)
        )
        for rank in range(1, setting.length + 1)
    )
    return Form(FirstFound(setting.length, setting.grades, worth))


@dataclass(frozen=True)
class RatioAtBest(Stateful):
    """P-measure: the ratio at the first document of the highest grade so far.

    A higher grade takes the place of what was found before: what it contributes is the difference.
    The state is the highest grade, the ratio there, and what was found so far.
    """

    ratios: Ratios

    @property
    def start(self) -> Hashable:
        return (-1, ZERO, NOTHING)

    def step(self, rank: int, state: Any, grade: int) -> Step:
        best, value, before = state
        if not self.ratios.counts(rank, grade) or best == self.grades:
            return Step(ZERO, state)
        found = self.ratios.after(before, grade)
        if grade <= best:
            return Step(ZERO, (best, value, found))
        ratio = self.ratios.at(rank, found)
        # Nothing is above the highest grade, so that the rest does not matter.
        last = grade == self.grades
        return Step(ratio - value, (grade, ZERO, NOTHING) if last else (grade, ratio, found))


def p_measure(measure: Any, setting: Setting) -> Form | None:
    # P+ is a mean of all ratios so far, whose sum nearly every run has to itself: only where all
    # relevant documents are of one grade it has a form, and is P-measure.
    if isinstance(measure, PPlusMeasure) and max(measure.rel, 0) < setting.grades:
        return None
    return Form(RatioAtBest(setting.length, setting.grades, Ratios.of(measure, setting)))
