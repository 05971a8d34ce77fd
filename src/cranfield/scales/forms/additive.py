"""The forms of the measures, one function for each kind (see :mod:`cranfield.scales.forms.form`).

Where a definition has a parameter that is no whole number, such as p = 0.8, p = 1/3 or a gain of
0.1, it means that number, not the binary float beside it (see :func:`fraction_of`).
"""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from cranfield.base.errors import MeasureError
from cranfield.measures import Measure
from cranfield.measures.gains import Discount, Gain
from cranfield.measures.parameters import fraction_of
from cranfield.measures.ranked.counts import NumRelevantRetrieved
from cranfield.measures.ranked.dcg import DCG, nDCG
from cranfield.measures.ranked.precision import (
    GeneralisedPrecision,
    GeneralisedRecall,
    Precision,
    Recall,
    RelativePrecision,
    RPrecision,
)
from cranfield.measures.ranked.sets import (
    EMeasure,
    FMeasure,
    SetPrecision,
    SetRecall,
    SetRelativePrecision,
    Utility,
)
from cranfield.measures.users.rank_biased import (
    RankBiasedPrecision,
)
from cranfield.scales.forms.exact_numbers import rational, terms
from cranfield.scales.forms.form import Additive, Form, Setting, form_of
from cranfield.scales.forms.logarithms import ONE, root

ZERO = Fraction(0)


def _counting(setting: Setting, depth: int, rel: int, worth: Fraction = ONE) -> Additive:
    """The number of relevant documents in the top `depth`, times their worth."""
    row = tuple(worth if grade >= max(rel, 0) else ZERO for grade in range(setting.grades + 1))
    nothing = (ZERO,) * len(row)
    rows = tuple(row if rank < depth else nothing for rank in range(setting.length))
    return Additive((ONE,) * setting.length, rows)


@form_of(Precision, Recall, RelativePrecision, NumRelevantRetrieved, SetPrecision, SetRecall)
def _shares(measure: Any, setting: Setting) -> Form:
    depth, base = setting.depth(measure), setting.recall_base(measure.rel)
    below: dict[type[Measure], int] = {
        Precision: measure.cutoff or 1,
        Recall: base,
        RelativePrecision: min(measure.cutoff or 1, base),
        NumRelevantRetrieved: 1,
        SetPrecision: depth,
        SetRecall: base,
    }
    return Form(_counting(setting, depth, measure.rel), rational(below[type(measure)]))


@form_of(SetRelativePrecision)
def _set_relative(measure: SetRelativePrecision, setting: Setting) -> Form:
    depth = setting.depth(measure)
    below = min(depth, setting.recall_base(measure.rel))
    return Form(_counting(setting, depth, measure.rel), rational(below))


@form_of(RPrecision)
def _rprecision(measure: RPrecision, setting: Setting) -> Form:
    multiple = 1.0 if measure.multiple is None else measure.multiple
    cutoff = floor(multiple * setting.recall_base(measure.rel) + 0.9)
    return Form(_counting(setting, min(cutoff, setting.length), measure.rel), rational(cutoff))


@form_of(FMeasure, EMeasure)
def _f(measure: Any, setting: Setting) -> Form:
    # F = (1 + beta^2) P R / (beta^2 P + R) = (1 + beta^2) found / (beta^2 RB + retrieved).
    depth, base = setting.depth(measure), setting.recall_base(measure.rel)
    weight = fraction_of(measure.beta) ** 2
    below = rational((weight * base + depth) / (weight + 1) if base else 0)
    if isinstance(measure, EMeasure):
        return Form(_counting(setting, depth, measure.rel, -ONE), below, ONE)
    return Form(_counting(setting, depth, measure.rel), below)


@form_of(Utility)
def _utility(measure: Utility, setting: Setting) -> Form:
    a, b, c, d = (fraction_of(one) for one in (measure.a, measure.b, measure.c, measure.d))
    depth, base = setting.depth(measure), setting.recall_base(measure.rel)
    constant = b * depth + c * base + d * (measure.docs - depth - base)
    shape = _counting(setting, depth, measure.rel, a - b - c + d)
    return Form(shape, constant=constant)


@form_of(GeneralisedPrecision, GeneralisedRecall)
def _generalised(measure: Any, setting: Setting) -> Form:
    if isinstance(measure, GeneralisedPrecision):
        highest = highest_grade(measure, setting)
        worth = grade_gains(measure.gains, highest)
        below = worth[highest] * (measure.cutoff or 1)
    else:
        worth = grade_gains(measure.gains, setting.grades)
        below = sum(_ideal_gains(worth, setting), ZERO)
    # The divisor of a form is positive; that of gP is what the highest grade gains.
    sign = -1 if below < 0 else 1
    row = tuple(sign * worth[grade] for grade in range(setting.grades + 1))
    depth = setting.depth(measure)
    rows = tuple(row if rank < depth else (ZERO,) * len(row) for rank in range(setting.length))
    return Form(Additive((ONE,) * setting.length, rows), rational(abs(below)))


@form_of(DCG, nDCG)
def _dcg(measure: Any, setting: Setting) -> Form:
    gains = grade_gains(measure.gains, setting.grades)
    depth = setting.depth(measure)
    bases, coefficients = [], []
    for rank in range(1, setting.length + 1):
        base, power = root(_argument(measure.discount, rank)) if rank <= depth else (ONE, 1)
        bases.append(base)
        coefficients.append(tuple(gain / power if rank <= depth else ZERO for gain in gains))
    # Gains are summed over ln x instead of ln x / ln b: DCG is that over 1 / ln b, and nDCG over
    # the same sum of the ideal ranking.
    base, power = root(fraction_of(measure.discount.base))
    below = {base: Fraction(1, power)}
    if isinstance(measure, nDCG):
        below = {}
        ideal = _ideal_gains(gains, setting)
        cut = measure.cutoff if measure.ideal == "cut" else None
        for rank, gain in enumerate(ideal[:cut], 1):
            base, power = root(_argument(measure.discount, rank))
            below[base] = below.get(base, ZERO) + gain / power
    return Form(Additive(tuple(bases), tuple(coefficients)), terms(below))


def _argument(discount: Discount, rank: int) -> Fraction:
    """The number x for which the discount at the rank is ln x / ln b."""
    base = fraction_of(discount.base)
    arguments = {
        "log(rank+1)": Fraction(rank + 1),
        "max(1,log(rank))": max(base, Fraction(rank)),
        "1+log(rank)": base * rank,
    }
    return arguments[discount.form]


def grade_gains(gains: Gain, grades: int) -> tuple[Fraction, ...]:
    """Gain of each grade from 0, exactly."""
    gains.of(np.arange(grades + 1))  # refuses grades that are too high
    exponential = gains.kind == "exponential"
    found = [Fraction(2**g - 1 if exponential else g) for g in range(grades + 1)]
    for grade, worth in gains.kind if isinstance(gains.kind, tuple) else ():
        if 0 <= grade <= grades:
            found[grade] = fraction_of(worth)
    return tuple(found)


def _ideal_gains(gains: tuple[Fraction, ...], setting: Setting) -> list[Fraction]:
    """Positive gains of the topic's documents, falling."""
    return sorted((gains[grade] for grade in setting.judgments if gains[grade] > 0), reverse=True)


@form_of(RankBiasedPrecision)
def _rbp(measure: RankBiasedPrecision, setting: Setting) -> Form:
    p, depth = fraction_of(measure.p), setting.depth(measure)
    gains = unit_gains(measure, setting)
    rows = tuple(
        tuple(gain * (1 - p) * p**rank if rank < depth else ZERO for gain in gains)
        for rank in range(setting.length)
    )
    return Form(Additive((ONE,) * setting.length, rows))


def unit_gains(measure: Any, setting: Setting) -> tuple[Fraction, ...]:
    """Gain of each grade from 0, exactly, for a measure of gains from 0 to 1."""
    kind, grades = measure.gains.kind, range(setting.grades + 1)
    if kind == "graded":
        highest = highest_grade(measure, setting)
        return tuple(Fraction(grade, highest) for grade in grades)
    if isinstance(kind, tuple):
        named = dict(kind)
        return tuple(fraction_of(named.get(grade, 0.0)) for grade in grades)
    return tuple(Fraction(grade >= max(measure.rel, 0)) for grade in grades)


def highest_grade(measure: Any, setting: Setting) -> int:
    """The highest grade of the measure's scale, which no grade may exceed."""
    if measure.max_grade == "topic":
        raise MeasureError(f"{measure}: its scale depends on the grades of the topic")
    highest = int(measure.max_grade or setting.grades)
    if setting.grades > highest:
        raise MeasureError(f"{measure}: grade {setting.grades} is above max_grade={highest}")
    return highest
