"""Exact values of measures on runs, computed from the forms of the measures.

A value is a row of integers: the coefficients of the inverse logarithms that it is made of,
over a common denominator; a single number for the measures with rational values. So values and
their differences are equal if their rows are, and their order is computed with as many digits as
needed. A measure without a form is scored in floats, where values within 2^-40 of the largest
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
"""Integers up to here are stored in int64, others in arrays of Python integers."""

TOLERANCE = 2.0**-40
"""Floats nearer to each other than this, relative to the largest, count as equal."""


@dataclass(frozen=True, eq=False)
class Values:
    """Values of some runs.

    `keys` has the distinct values, ascending, shape (values, bases): a key stands for the sum of
    key * unit / ln(base), which is divided by `divisor` and multiplied by `factor`, known only as a
    float, before the constant is added. If not exact, keys are one column of floats, compared with
    a tolerance. `place` has for each run the index of its value.
    """

    keys: NDArray[Any]
    place: NDArray[np.int64]
    bases: tuple[Fraction, ...] = (ONE,)
    unit: Fraction = ONE
    divisor: Terms = UNITY
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
        exact_sum = quotient(terms(zip(self.bases, row, strict=True)), self.divisor)
        if self.factor != 1.0:
            return float(exact_sum) * self.factor + float(self.constant)
        return exact_sum + self.constant

    def find_uneven_gap(self) -> int | None:
        """Return the index of the first gap that differs from the gap at 0; None if none does."""
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
    indices = np.concatenate([[0], np.cumsum(is_new)])
    is_first = np.concatenate([[True], is_new])
    return Values(numbers[is_first][:, None], indices[place], exact=False)


def values_of(exact_form: Form, runs: Ints) -> Values:
    rows, bases, unit = _sum_form(exact_form.shape, runs)
    if not exact_form.divisor:
        # A topic without relevant documents scores 0, whatever the run.
        rows = np.zeros_like(rows)
    distinct, place = _distinct_rows(rows)
    if len(bases) > 1:
        order = _sort_keys(distinct, bases)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        distinct, place = distinct[order], rank[place]
    scaling = exact_form.divisor, exact_form.constant
    return Values(distinct, place, bases, unit, *scaling, factor=exact_form.factor)


def _sum_form(
    shape: Additive | Stateful, runs: Ints
) -> tuple[NDArray[Any], tuple[Fraction, ...], Fraction]:
    """Sum a form, with a column for each base of logarithms, in integer multiples of a unit."""
    if isinstance(shape, Stateful):
        values, unit = Walk.along(shape, runs)
        return values[:, None], (ONE,), unit
    ranks = [rank for rank, row in enumerate(shape.coefficients) if any(row)]
    bases = sorted({shape.bases[rank] for rank in ranks}) or [ONE]
    denominator = lcm(*(weight.denominator for row in shape.coefficients for weight in row))
    integers = [
        [int(weight * denominator) for weight in shape.coefficients[rank]] for rank in ranks
    ]
    dtype: Any = np.int64 if sum(max(map(abs, row)) for row in integers) < FITS else object
    column = {base: place for place, base in enumerate(bases)}
    rows = np.zeros((len(runs), len(bases)), dtype=dtype)
    for rank, row in zip(ranks, integers, strict=True):
        rows[:, column[shape.bases[rank]]] += np.array(row, dtype=dtype)[runs[:, rank]]
    return rows, tuple(bases), Fraction(1, denominator)


def _distinct_rows(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct rows, ascending if they have one column, and the index of each row."""
    codes, width = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        unique, code = np.unique(column, return_inverse=True)
        if width * unique.size >= FITS:
            distinct, codes = np.unique(codes, return_inverse=True)
            codes, width = codes.ravel(), distinct.size
        codes, width = codes * unique.size + code.ravel(), width * unique.size
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    return rows[first], np.asarray(place, dtype=np.int64).ravel()


def _sort_keys(keys: NDArray[Any], bases: Sequence[Fraction]) -> NDArray[np.int64]:
    """Sort distinct values exactly: most by floats, the others with more digits."""
    factors = np.array([approximate(base) for base in bases])
    floats = keys.astype(np.float64)
    slack = (floats.shape[1] + 4) * 2.0**-51 * float((np.abs(floats) @ factors).max())
    floats = floats @ factors
    order = np.argsort(floats, kind="stable")
    is_close = np.diff(floats[order]) <= 2 * slack
    undecided = np.flatnonzero(np.append(is_close, False) | np.append(False, is_close))
    # Groups of close values do not overlap, so that all are sorted at once.
    members = order[undecided]
    for bits in precisions() if members.size else ():
        rows = keys[members].astype(object)
        heights = rows @ np.array([scaled(base, bits) for base in bases], dtype=object)
        error = int(np.abs(rows).sum(axis=1).max())
        by_height = np.argsort(heights, kind="stable")
        if (np.diff(heights[by_height]) > 2 * error).all():
            order[undecided] = members[by_height]
            break
    return np.asarray(order, dtype=np.int64)
