"""Exact values of measures on given runs, by the forms of the measures.

A value is a row of whole numbers: the coefficients of the inverse logarithms that it is made of,
over a common denominator; a single number for the measures with rational values. So values and
their differences are equal if their rows are, and their order is computed with as many digits as it
takes. A measure without a form is scored in floats, where values within 2^-40 of the largest
value count as equal; `Values.exact` is True if there is a form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Ints
from cranfield.measures import Measure
from cranfield.scales.forms.form import (
    ONE,
    UNITY,
    Additive,
    Form,
    Number,
    Stateful,
    Terms,
    approximate,
    precisions,
    quotient,
    scaled,
    terms,
)
from cranfield.scales.forms.measure_forms import form
from cranfield.scales.forms.stateful import Walk
from cranfield.scales.runs import score_runs

FITS = 2**62
"""Integers up to here are held in int64, others in arrays of Python integers."""

TOLERANCE = 2.0**-40
"""Floats nearer to each other than this, relative to the largest, count as equal."""


@dataclass(frozen=True, eq=False)
class Values:
    """Values of some runs.

    `keys` has the distinct values, ascending, shape (values, bases): a key stands for the sum of
    key * unit / ln(base), which is divided by `below` and multiplied by `factor`, known as a float
    only, before the constant is added. If not exact they are floats, in one column, compared with a
    tolerance. `place` has for each run the place of its value, from 0.
    """

    keys: NDArray[Any]
    place: NDArray[np.int64]
    bases: tuple[Fraction, ...] = (ONE,)
    unit: Fraction = ONE
    below: Terms = UNITY
    constant: Fraction = Fraction(0)
    exact: bool = True
    factor: float = 1.0

    @property
    def size(self) -> int:
        return len(self.keys)

    def value(self, place: int) -> Number:
        if not self.exact:
            return float(self.keys[place, 0])
        row = (int(key) * self.unit for key in self.keys[place])
        exact_sum = quotient(terms(zip(self.bases, row, strict=True)), self.below)
        if self.factor != 1.0:
            return float(exact_sum) * self.factor + float(self.constant)
        return exact_sum + self.constant

    def uneven(self) -> int | None:
        """Return the first place whose gap to the next differs from the first gap; None if none."""
        if self.size < 3:
            return None
        gaps = self.keys[1:] - self.keys[:-1]
        if self.exact:
            differs = (gaps != gaps[0]).any(axis=1)
        else:
            differs = np.abs(gaps - gaps[0])[:, 0] > 4 * TOLERANCE * np.abs(self.keys).max()
        places = np.flatnonzero(differs)
        return int(places[0]) if places.size else None


def exact_values(
    measure: Measure,
    runs: Ints,
    grades: int = 1,
    judgments: Sequence[int] | int | None = None,
) -> Values:
    """Score runs, of shape (runs, ranks), exactly if the measure has a form.

    Judgments are as for :func:`.form`.
    """
    # Scoring one run raises errors of the measure, such as for unsupported grades.
    score_runs(measure, runs[:1], grades=grades, judgments=judgments)
    exact_form = form(measure, runs.shape[1], grades, judgments)
    if exact_form is not None:
        return values_of(exact_form, runs)
    floats = score_runs(measure, runs, grades=grades, judgments=judgments)
    numbers, place = np.unique(floats, return_inverse=True)
    place = np.asarray(place, dtype=np.int64).ravel()
    is_new = np.diff(numbers) > TOLERANCE * np.abs(numbers).max(initial=0.0)
    group = np.concatenate([[0], np.cumsum(is_new)])
    fresh = np.concatenate([[True], is_new])
    return Values(numbers[fresh][:, None], group[place], exact=False)


def values_of(exact_form: Form, runs: Ints) -> Values:
    rows, bases, unit = _summed(exact_form.shape, runs)
    if not exact_form.below:
        # A topic without relevant documents scores 0, whatever the run.
        rows = np.zeros_like(rows)
    distinct, place = _distinct(rows)
    if len(bases) > 1:
        order = _ascending(distinct, bases)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        distinct, place = distinct[order], rank[place]
    about = exact_form.below, exact_form.constant
    return Values(distinct, place, bases, unit, *about, factor=exact_form.factor)


def _summed(
    shape: Additive | Stateful, runs: Ints
) -> tuple[NDArray[Any], tuple[Fraction, ...], Fraction]:
    """Sums of a form, a column for each base of logarithms, in whole multiples of a unit."""
    if isinstance(shape, Stateful):
        values, unit = Walk.along(shape, runs)
        return values[:, None], (ONE,), unit
    ranks = [rank for rank, row in enumerate(shape.coefficients) if any(row)]
    bases = sorted({shape.bases[rank] for rank in ranks}) or [ONE]
    below = lcm(*(weight.denominator for row in shape.coefficients for weight in row))
    whole = [[int(weight * below) for weight in shape.coefficients[rank]] for rank in ranks]
    kind: Any = np.int64 if sum(max(map(abs, row)) for row in whole) < FITS else object
    column = {base: place for place, base in enumerate(bases)}
    rows = np.zeros((len(runs), len(bases)), dtype=kind)
    for rank, row in zip(ranks, whole, strict=True):
        rows[:, column[shape.bases[rank]]] += np.array(row, dtype=kind)[runs[:, rank]]
    return rows, tuple(bases), Fraction(1, below)


def _distinct(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Distinct rows, ascending if they have one column, and which of them each row is."""
    codes, width = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        unique, code = np.unique(column, return_inverse=True)
        if width * unique.size >= FITS:
            seen, codes = np.unique(codes, return_inverse=True)
            codes, width = codes.ravel(), seen.size
        codes, width = codes * unique.size + code.ravel(), width * unique.size
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    return rows[first], np.asarray(place, dtype=np.int64).ravel()


def _ascending(keys: NDArray[Any], bases: Sequence[Fraction]) -> NDArray[np.int64]:
    """Order distinct values exactly: floats decide most of them, more digits the others."""
    factors = np.array([approximate(base) for base in bases])
    rough = keys.astype(np.float64)
    slack = (rough.shape[1] + 4) * 2.0**-51 * float((np.abs(rough) @ factors).max())
    rough = rough @ factors
    order = np.argsort(rough, kind="stable")
    close = np.diff(rough[order]) <= 2 * slack
    open_ = np.flatnonzero(np.append(close, False) | np.append(False, close))
    # Groups of close values are truly apart from each other, so that all are sorted at once.
    members = order[open_]
    for bits in precisions() if members.size else ():
        rows = keys[members].astype(object)
        heights = rows @ np.array([scaled(base, bits) for base in bases], dtype=object)
        error = int(np.abs(rows).sum(axis=1).max())
        by_height = np.argsort(heights, kind="stable")
        if (np.diff(heights[by_height]) > 2 * error).all():
            order[open_] = members[by_height]
            break
    return np.asarray(order, dtype=np.int64)
