"""Exact values of measures on runs, computed from the forms of the measures.

A value is a row of integers: the coefficients of its inverse logarithms over a common denominator,
or a single integer for measures with rational values. Values and their differences are equal
exactly if their rows are equal, and their order is computed with as many digits as needed. A
measure without a form is scored in floats, where values within 2^-40 of the largest value count as
equal; `Values.exact` is True if there is a form.
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
    inverse_log,
    make_terms,
    precisions,
    quotient,
    scaled_inverse_log,
)
from cranfield.scales.forms.measure_forms import form
from cranfield.scales.forms.stateful import Walk
from cranfield.scales.runs import score_runs

MAX_INT64 = 2**62
"""Integers below this bound are stored in int64, others in arrays of Python integers."""

TOLERANCE = 2.0**-40
"""Floats closer to each other than this, relative to the largest, count as equal."""


@dataclass(frozen=True, eq=False)
class Values:
    """Values of several runs.

    `keys` has the distinct values, ascending, shape (values, bases). The value of a row is the sum
    of key * unit / ln(base), divided by `divisor` and multiplied by `factor`, which is known only
    as a float, plus the constant. If not exact, keys are one column of floats, compared with a
    tolerance. `index` has the index of each run's value in `keys`.
    """

    keys: NDArray[Any]
    index: NDArray[np.int64]
    bases: tuple[Fraction, ...] = (ONE,)
    unit: Fraction = ONE
    divisor: Terms = UNITY
    constant: Fraction = Fraction(0)
    exact: bool = True
    factor: float = 1.0

    @property
    def size(self) -> int:
        return len(self.keys)

    def value(self, index: int) -> Number:
        if not self.exact:
            return float(self.keys[index, 0])
        coefficients = (int(key) * self.unit for key in self.keys[index])
        exact_sum = quotient(make_terms(zip(self.bases, coefficients, strict=True)), self.divisor)
        if self.factor != 1.0:
            return float(exact_sum) * self.factor + float(self.constant)
        return exact_sum + self.constant

    def find_uneven_gap(self) -> int | None:
        """Return the index of the first gap that differs from the first one; None if all agree."""
        if self.size < 3:
            return None
        gaps = self.keys[1:] - self.keys[:-1]
        if self.exact:
            is_uneven = (gaps != gaps[0]).any(axis=1)
        else:
            is_uneven = np.abs(gaps - gaps[0])[:, 0] > 4 * TOLERANCE * np.abs(self.keys).max()
        indices = np.flatnonzero(is_uneven)
        return int(indices[0]) if indices.size else None


def exact_values(
    measure: Measure, runs: Ints, grades: int = 1, judgments: Sequence[int] | int | None = None
) -> Values:
    """Score runs, of shape (runs, ranks), exactly if the measure has a form.

    The judgments are those of :func:`.form`.
    """
    # Scoring one run raises the measure's own errors, such as for unsupported grades.
    score_runs(measure, runs[:1], grades=grades, judgments=judgments)
    exact_form = form(measure, runs.shape[1], grades, judgments)
    if exact_form is not None:
        return form_values(exact_form, runs)
    floats = score_runs(measure, runs, grades=grades, judgments=judgments)
    distinct, inverse = np.unique(floats, return_inverse=True)
    is_new = np.diff(distinct) > TOLERANCE * np.abs(distinct).max(initial=0.0)
    group = np.concatenate([[0], np.cumsum(is_new)])
    is_first = np.concatenate([[True], is_new])
    return Values(distinct[is_first][:, None], group[inverse.ravel()], exact=False)


def form_values(exact_form: Form, runs: Ints) -> Values:
    """Compute the values of a form on runs, of shape (runs, ranks)."""
    rows, bases, unit = _sum_form(exact_form.shape, runs)
    if not exact_form.divisor:
        # A topic without relevant documents scores 0, whatever the run.
        rows = np.zeros_like(rows)
    distinct, index = _distinct_rows(rows)
    if len(bases) > 1:
        order = _sort_keys(distinct, bases)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        distinct, index = distinct[order], rank[index]
    scaling = exact_form.divisor, exact_form.constant
    return Values(distinct, index, bases, unit, *scaling, factor=exact_form.factor)


def _sum_form(
    shape: Additive | Stateful, runs: Ints
) -> tuple[NDArray[Any], tuple[Fraction, ...], Fraction]:
    """Sum a form for each run in multiples of a unit, with a column for each logarithm base."""
    if isinstance(shape, Stateful):
        values, unit = Walk.values_along(shape, runs)
        return values[:, None], (ONE,), unit
    ranks = [rank for rank, row in enumerate(shape.coefficients) if any(row)]
    bases = sorted({shape.bases[rank] for rank in ranks}) or [ONE]
    denominator = lcm(*(weight.denominator for row in shape.coefficients for weight in row))
    integers = [
        [int(weight * denominator) for weight in shape.coefficients[rank]] for rank in ranks
    ]
    dtype: Any = np.int64 if sum(max(map(abs, row)) for row in integers) < MAX_INT64 else object
    column = {base: index for index, base in enumerate(bases)}
    rows = np.zeros((len(runs), len(bases)), dtype=dtype)
    for rank, row in zip(ranks, integers, strict=True):
        rows[:, column[shape.bases[rank]]] += np.array(row, dtype=dtype)[runs[:, rank]]
    return rows, tuple(bases), Fraction(1, denominator)


def _distinct_rows(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct rows, ascending if they have one column, and the index of each row."""
    codes, n_codes = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        unique, column_codes = np.unique(column, return_inverse=True)
        if n_codes * unique.size >= MAX_INT64:
            distinct, codes = np.unique(codes, return_inverse=True)
            codes, n_codes = codes.ravel(), distinct.size
        codes, n_codes = codes * unique.size + column_codes.ravel(), n_codes * unique.size
    _, first, index = np.unique(codes, return_index=True, return_inverse=True)
    return rows[first], np.asarray(index, dtype=np.int64).ravel()


def _sort_keys(keys: NDArray[Any], bases: Sequence[Fraction]) -> NDArray[np.int64]:
    """Return the exact order of distinct values: by floats, and close ones with more digits."""
    factors = np.array([inverse_log(base) for base in bases])
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
        sums = rows @ np.array([scaled_inverse_log(base, bits) for base in bases], dtype=object)
        error = int(np.abs(rows).sum(axis=1).max())
        sum_order = np.argsort(sums, kind="stable")
        if (np.diff(sums[sum_order]) > 2 * error).all():
            order[undecided] = members[sum_order]
            break
    return np.asarray(order, dtype=np.int64)
