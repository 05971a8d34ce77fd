"""The forms of the measures, one function for each kind (see :mod:`cranfield.scales.forms`).

Where a definition has a decimal parameter, such as p = 0.8 or a gain of 0.1, it means that
decimal number, not the binary float beside it.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, log
from typing import Any

import numpy as np

from cranfield.errors import MeasureError
from cranfield.measures import Measure
from cranfield.measures.counts import NumRelevantRetrieved
from cranfield.measures.dcg import DCG, Discounted, nDCG
from cranfield.measures.gains import Discount, Gain
from cranfield.measures.precision import (
    Precision,
    Recall,
    RelativePrecision,
    RPrecision,
)
from cranfield.measures.sets import (
    EMeasure,
    FMeasure,
    SetPrecision,
    SetRecall,
    SetRelativePrecision,
    Utility,
)
from cranfield.measures.user_models import (
    RankBiasedPrecision,
)
from cranfield.scales.bases import ONE, root
from cranfield.scales.forms import Additive, Form, Setting, form_of

ZERO = Fraction(0)


def decimal(value: float) -> Fraction:
    """Read a parameter as the decimal number that it is written as.

    Examples
    --------
    >>> decimal(0.8)
    Fraction(4, 5)
    """
    return Fraction(str(float(value)))


def over(below: float) -> float:
    """Return 1 / below, and 0 for 0: the convention of the field for undefined scores."""
    return 1.0 / below if below else 0.0


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
    return Form(_counting(setting, depth, measure.rel), over(below[type(measure)]))


@form_of(SetRelativePrecision)
def _set_relative(measure: SetRelativePrecision, setting: Setting) -> Form:
    depth = setting.depth(measure)
    below = min(depth, setting.recall_base(measure.rel))
    return Form(_counting(setting, depth, measure.rel), over(below))


@form_of(RPrecision)
def _rprecision(measure: RPrecision, setting: Setting) -> Form:
    multiple = 1.0 if measure.multiple is None else measure.multiple
    cutoff = floor(multiple * setting.recall_base(measure.rel) + 0.9)
    return Form(_counting(setting, min(cutoff, setting.length), measure.rel), over(cutoff))


@form_of(FMeasure, EMeasure)
def _f(measure: Any, setting: Setting) -> Form:
    # F = (1 + beta^2) P R / (beta^2 P + R) = (1 + beta^2) found / (beta^2 RB + retrieved).
    depth, base = setting.depth(measure), setting.recall_base(measure.rel)
    weight = measure.beta**2
    unit = (weight + 1) / (weight * base + depth) if base else 0.0
    if isinstance(measure, EMeasure):
        return Form(_counting(setting, depth, measure.rel, -ONE), unit, 1.0)
    return Form(_counting(setting, depth, measure.rel), unit)


@form_of(Utility)
def _utility(measure: Utility, setting: Setting) -> Form:
    a, b, c, d = (decimal(one) for one in (measure.a, measure.b, measure.c, measure.d))
    depth, base = setting.depth(measure), setting.recall_base(measure.rel)
    constant = b * depth + c * base + d * (measure.docs - depth - base)
    shape = _counting(setting, depth, measure.rel, a - b - c + d)
    return Form(shape, 1.0, float(constant))


@form_of(DCG, nDCG)
def _dcg(measure: Any, setting: Setting) -> Form:
    gains = _gains(measure.gains, setting.grades)
    depth = setting.depth(measure)
    bases, coefficients = [], []
    for rank in range(1, setting.length + 1):
        base, power = root(_argument(measure.discount, rank)) if rank <= depth else (ONE, 1)
        bases.append(base)
        coefficients.append(tuple(gain / power if rank <= depth else ZERO for gain in gains))
    unit = log(measure.discount.base)
    if isinstance(measure, nDCG):
        unit *= over(_ideal(measure, setting))
    return Form(Additive(tuple(bases), tuple(coefficients)), unit)


def _argument(discount: Discount, rank: int) -> Fraction:
    """The number x for which the discount at the rank is ln x / ln b."""
    base = decimal(discount.base)
    arguments = {
        "log(rank+1)": Fraction(rank + 1),
        "max(1,log(rank))": max(base, Fraction(rank)),
        "1+log(rank)": base * rank,
    }
    return arguments[discount.form]


def _gains(gains: Gain, grades: int) -> tuple[Fraction, ...]:
    gains.of(np.arange(grades + 1))  # refuses grades that are too high
    exponential = gains.kind == "exponential"
    found = [Fraction(2**g - 1 if exponential else g) for g in range(grades + 1)]
    for grade, worth in gains.kind if isinstance(gains.kind, tuple) else ():
        if 0 <= grade <= grades:
            found[grade] = decimal(worth)
    return tuple(found)


def _ideal(measure: Discounted, setting: Setting) -> float:
    gains = np.sort(measure.gains.of(np.array(setting.judgments, dtype=np.int64)))[::-1]
    gains = gains[gains > 0]
    if measure.cutoff is not None and getattr(measure, "ideal", "cut") == "cut":
        gains = gains[: measure.cutoff]
    return float((gains / measure.discount.of(np.arange(1, gains.size + 1))).sum())


@form_of(RankBiasedPrecision)
def _rbp(measure: RankBiasedPrecision, setting: Setting) -> Form:
    p, depth, kind = decimal(measure.p), setting.depth(measure), measure.gains.kind
    gains = [Fraction(grade >= max(measure.rel, 0)) for grade in range(setting.grades + 1)]
    if kind == "graded":
        highest = highest_grade(measure, setting)
        gains = [Fraction(grade, highest) for grade in range(setting.grades + 1)]
    elif isinstance(kind, tuple):
        named = dict(kind)
        gains = [decimal(named.get(grade, 0.0)) for grade in range(setting.grades + 1)]
    rows = tuple(
        tuple(gain * (1 - p) * p**rank if rank < depth else ZERO for gain in gains)
        for rank in range(setting.length)
    )
    return Form(Additive((ONE,) * setting.length, rows))


def highest_grade(measure: Any, setting: Setting) -> int:
    """The highest grade of the measure's scale, which no grade may exceed."""
    highest = int(measure.max_grade or setting.grades)
    if setting.grades > highest:
        raise MeasureError(f"{measure}: grade {setting.grades} is above max_grade={highest}")
    return highest
