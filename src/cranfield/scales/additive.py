"""Measures that are sums of a weight for each rank times a gain for each grade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.measures import Measure
from cranfield.measures.gains import Discount, Gain

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Additive:
    """Weights and gains of a measure: its value is constant + sum over ranks of weight * gain.

    Attributes
    ----------
    weights
        One for each rank that counts.
    gains
        One for each grade 0..c.
    constant
        Value of a run without gain.
    exact
        Whether they are fractions, and not floats.
    """

    weights: tuple[Any, ...]
    gains: tuple[Any, ...]
    constant: Fraction = Fraction(0)
    exact: bool = True


def pool_of(judgments: Sequence[int] | int | None, length: int, grades: int) -> Ints:
    """Grades of the topic's documents, as :func:`cranfield.scales.runs.judged_runs` takes them."""
    if judgments is None:
        judgments = length
    found = np.full(judgments, grades) if isinstance(judgments, int) else np.asarray(judgments)
    return found.astype(np.int64)


def additive_form(
    measure: Measure, length: int, grades: int, judgments: Sequence[int] | int | None = None
) -> Additive | None:
    """Return the weights and gains of a measure at a length, or None if it is not known to be so.

    Examples
    --------
    >>> from cranfield.measures import RBP
    >>> form = additive_form(RBP(p=0.5), 3, 1)
    >>> [str(one) for one in form.weights], [str(one) for one in form.gains]
    (['1/2', '1/4', '1/8'], ['0', '1'])
    """
    pool = pool_of(judgments, length, grades)
    ranks = length if measure.cutoff is None else min(length, measure.cutoff)
    known = _FORMS.get(measure.name)
    return None if known is None else known(measure, length, ranks, grades, pool)


def fraction_of(number: float) -> Fraction:
    """Return the fraction that a parameter was meant to be.

    That is the one with a denominator up to a million that this float is nearest to, else its
    shortest decimal: who writes p = 1/3 means a third, and not a float beside it.

    Examples
    --------
    >>> print(fraction_of(0.8), fraction_of(1 / 3), fraction_of(0.123456789))
    4/5 1/3 123456789/1000000000
    """
    simple = Fraction(number).limit_denominator(10**6)
    return simple if float(simple) == number else Fraction(repr(number))


def denominator(values: Sequence[Fraction]) -> int:
    """Least common denominator."""
    return reduce(lcm, (one.denominator for one in values), 1)


def _binary(measure: Any, grades: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(int(grade >= measure.rel)) for grade in range(grades + 1))


def _even(one: Fraction, ranks: int, gains: tuple[Fraction, ...]) -> Additive:
    return Additive((one,) * ranks, gains)


def _over(top: int, bottom: int | Fraction) -> Fraction:
    return Fraction(top) / bottom if bottom else Fraction(0)


def _precision(m: Any, length: int, ranks: int, grades: int, pool: Ints) -> Additive:
    return _even(Fraction(1, m.cutoff), ranks, _binary(m, grades))


def _recall(m: Any, length: int, ranks: int, grades: int, pool: Ints) -> Additive:
    return _even(_over(1, int((pool >= m.rel).sum())), ranks, _binary(m, grades))


def _relative(m: Any, length: int, ranks: int, grades: int, pool: Ints) -> Additive:
    best = min(int((pool >= m.rel).sum()), ranks if m.name == "SetRelP" else m.cutoff)
    return _even(_over(1, best), ranks, _binary(m, grades))


def _set_precision(m: Any, length: int, ranks: int, grades: int, pool: Ints) -> Additive:
    return _even(Fraction(1, ranks), ranks, _binary(m, grades))


def _f(m: Any, length: int, ranks: int, grades: int, pool: Ints) -> Additive:
    # (w + 1) P R / (w P + R) with P = x / n and R = x / RB.
    weight = fraction_of(m.beta) ** 2
    base = int((pool >= m.rel).sum())
    one = (weight + 1) / (weight * base + ranks) if base else Fraction(0)
    if m.name == "SetE":
        return Additive((-one,) * ranks, _binary(m, grades), Fraction(1))
    return _even(one, ranks, _binary(m, grades))


def _rbp(m: Any, length: int, ranks: int, grades: int, pool: Ints) -> Additive:
    p = fraction_of(m.p)
    weights = tuple((1 - p) * p**i for i in range(ranks))
    if isinstance(m.gains.kind, tuple):
        named = {grade: fraction_of(worth) for grade, worth in m.gains.kind}
        gains = tuple(named.get(grade, Fraction(0)) for grade in range(grades + 1))
    elif m.gains.kind == "graded":
        gains = tuple(Fraction(grade, m.max_grade or grades) for grade in range(grades + 1))
    else:
        gains = _binary(m, grades)
    return Additive(weights, gains)


def _gain(gain: Gain, grades: int) -> tuple[Fraction, ...]:
    return tuple(fraction_of(float(one)) for one in gain.of(np.arange(grades + 1)))


def _generalised(m: Any, length: int, ranks: int, grades: int, pool: Ints) -> Additive:
    highest = getattr(m, "max_grade", None) or grades
    gains = _gain(m.gains, highest)
    if m.name == "gP":
        one = _over(1, gains[highest] * m.cutoff)
    else:
        ideal = (gains[grade] for grade in pool.tolist() if gains[grade] > 0)
        one = _over(1, sum(ideal, Fraction(0)))
    return _even(one, ranks, gains[: grades + 1])


def _dcg(m: Any, length: int, ranks: int, grades: int, pool: Ints) -> Additive:
    gains = _gain(m.gains, grades)
    best: Fraction | float = Fraction(1)
    weights: list[Any] = [_weight(m.discount, rank) for rank in range(1, ranks + 1)]
    if m.name == "nDCG":
        ideal = sorted((gains[grade] for grade in pool.tolist() if gains[grade] > 0), reverse=True)
        if m.cutoff is not None and m.ideal == "cut":
            ideal = ideal[: m.cutoff]
        terms = [one * _weight(m.discount, rank) for rank, one in enumerate(ideal, 1)]
        best = sum(terms, Fraction(0))
        weights = [one / best if best else Fraction(0) for one in weights]
    exact = all(isinstance(one, Fraction) for one in weights)
    if not exact:
        return Additive(tuple(map(float, weights)), tuple(map(float, gains)), exact=False)
    return Additive(tuple(weights), gains)


def _weight(discount: Discount, rank: int) -> Any:
    """One over the discount, as a fraction where it is rational."""
    log = rational_log(rank + (discount.form == "log(rank+1)"), discount.base)
    if log is None:
        value = float(discount.of(np.array([rank]))[0])
        return Fraction(1) if value == 1.0 else 1.0 / value
    if discount.form == "max(1,log(rank))":
        return 1 / max(log, Fraction(1))
    return 1 / (log + 1) if discount.form == "1+log(rank)" else 1 / log


def rational_log(number: int, base: float) -> Fraction | None:
    """Return the logarithm of a whole number if it is rational, else None.

    Examples
    --------
    >>> rational_log(8, 4.0), rational_log(3, 2.0)
    (Fraction(3, 2), None)
    """
    root = fraction_of(base)
    if number == 1:
        return Fraction(0)
    # number = root^(a/b) in lowest terms asks both for powers of one number, and so for small b.
    for below in range(1, max(int(root).bit_length(), 2)):
        power, above = root, 1
        while power < number**below:
            power, above = power * root, above + 1
            if above > 64 * below:
                break
        if power == number**below:
            return Fraction(above, below)
    return None


_FORMS = {
    "P": _precision,
    "R": _recall,
    "RelP": _relative,
    "SetP": _set_precision,
    "SetR": _recall,
    "SetRelP": _relative,
    "SetF": _f,
    "SetE": _f,
    "RBP": _rbp,
    "gP": _generalised,
    "gR": _generalised,
    "DCG": _dcg,
    "nDCG": _dcg,
}
