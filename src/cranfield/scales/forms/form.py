"""Exact formulas for the values of measures, as functions of the grades by rank.

Write an argument x > 1 as r^k where r is not itself a power (the *root* of x). Then
1/ln x = (1/k) (1/ln r). Inverse logarithms of different roots are linearly independent over the
rationals if Schanuel's conjecture holds: it makes the logarithms of the primes algebraically
independent; the ln r are then linear forms in independent variables, no two of them proportional,
and the functions 1/ln r have different poles. Neither a proof without the conjecture nor a
counterexample is known. Therefore two combinations are treated as equal if, and only if, their
coefficients are equal; the order of unequal combinations is computed with as many digits as needed.
A counterexample would be noticed where values are put in order: an error is raised if two sums that
should differ agree to thousands of digits.

Measures that depend on more than grades are refused before anything is computed: for images and
scales, such as those with `inputs` or `beyond_grades` (:class:`cranfield.measures.Info`); for
interval-scaled versions, which pad shorter rankings, also those with `beyond_length`.

There are two kinds of forms. The value of an *additive* measure is a sum over ranks of weights,
each of which depends only on the grade at the rank (P, DCG, RBP). The value of a *stateful* measure
is a sum as well, but the contribution of a rank also depends on a small state of the previous ranks
(AP: the number of relevant documents so far; ERR: the probability that the user still reads).
Except for the `factor` of a form, forms do not contain floats.

Forms use the formulas of the measures themselves, which accept fractions as well as floats:
`make_exact` returns the measure with fractions as parameters. A parameter such as p = 0.8,
p = 1/3 or a gain of 0.1 means that number, not the nearest binary float.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache, total_ordering
from itertools import pairwise
from math import lcm
from typing import Any, NamedTuple, Self

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, PolicyError
from cranfield.base.spec import to_fraction
from cranfield.measures.base import Measure
from cranfield.measures.gains import Gain
from cranfield.measures.users.expectation import Expectation
from cranfield.measures.users.model import DEFAULT_MAX_RANK, StaticModel, UserModel
from cranfield.measures.users.stopping import compute_satisfaction

ZERO = Fraction(0)
ONE = Fraction(1)
"""The number 1; as the base of a logarithm it means that weights are rational."""


@lru_cache(maxsize=4096)
def find_root(x: Fraction) -> tuple[Fraction, int]:
    """Return the smallest rational r, and the integer k, with x = r^k; x must be above 1."""
    for exponent in range(x.numerator.bit_length(), 1, -1):
        numerator, denominator = (_find_integer_root(n, exponent) for n in x.as_integer_ratio())
        if numerator is not None and denominator is not None:
            return Fraction(numerator, denominator), exponent
    return x, 1


def _find_integer_root(n: int, exponent: int) -> int | None:
    """Return the root of n if it is an integer, otherwise None."""
    guess = round(n ** (1 / exponent))
    return next((m for m in (guess - 1, guess, guess + 1) if m > 0 and m**exponent == n), None)


@lru_cache(maxsize=8192)
def scale_inverse_log(base: Fraction, bits: int) -> int:
    """Return 2^bits / ln(base) with an error below 1; 2^bits for the base 1."""
    if base == ONE:
        return 1 << bits
    context = Context(prec=int(bits * 0.302) + 40)
    log = context.ln(Decimal(base.numerator))
    if base.denominator != 1:
        log = context.subtract(log, context.ln(Decimal(base.denominator)))
    return int(context.divide(context.power(Decimal(2), bits), log))


def compute_inverse_log(base: Fraction) -> float:
    """Return 1 / ln(base) with an error of at most one unit in the last place; 1 for the base 1."""
    return scale_inverse_log(base, 192) / (1 << 192)


Terms = tuple[tuple[Fraction, Fraction], ...]
"""A sum of coefficient / ln(base), as pairs (base, coefficient); for base 1, the coefficient."""

MAX_BITS = 2**16
"""Maximum number of binary digits for comparing two numbers."""


def make_terms(
    coefficients: Mapping[Fraction, Fraction] | Iterable[tuple[Fraction, Fraction]],
) -> Terms:
    """Make terms in canonical order: by base, without zero coefficients."""
    return tuple(sorted((base, c) for base, c in dict(coefficients).items() if c))


def as_terms(number: Fraction | int) -> Terms:
    """Make the terms of a rational number."""
    return make_terms({ONE: Fraction(number)})


UNITY = as_terms(1)
"""The terms of the number 1."""


def add_terms(pairs: Iterable[tuple[Fraction, Fraction]]) -> Terms:
    """Add the coefficients of each base."""
    totals: dict[Fraction, Fraction] = {}
    for base, coefficient in pairs:
        totals[base] = totals.get(base, ZERO) + coefficient
    return make_terms(totals)


def subtract_terms(first: Terms, second: Terms, factor: Fraction = ONE) -> Terms:
    """Subtract a multiple of the second terms from the first."""
    return add_terms([*first, *((base, -factor * c) for base, c in second)])


def iterate_precisions() -> Iterator[int]:
    """Yield increasing binary precisions for comparing numbers; raise an error at the maximum."""
    bits = 192
    while bits <= MAX_BITS:
        yield bits
        bits *= 4
    raise PolicyError(
        f"the order of two values is unknown, as their first {bits // 4:,} bits are equal"
    )


def approximate_terms(terms: Terms, bits: int = 64) -> Fraction:
    """Approximate terms by a fraction of the same sign, with a relative error up to 2^-bits."""
    if not terms:
        return Fraction(0)
    denominator = lcm(*(coefficient.denominator for _, coefficient in terms))
    integers = [(base, int(coefficient * denominator)) for base, coefficient in terms]
    max_error = sum(abs(coefficient) for _, coefficient in integers)
    for precision in iterate_precisions():
        total = sum(factor * scale_inverse_log(base, precision) for base, factor in integers)
        if abs(total) > max_error << bits:
            break
    return Fraction(total, denominator << precision)


def divide_terms(dividend: Terms, divisor: Terms) -> Fraction | Irrational:
    """Divide terms exactly; return 0, as measures do, if the divisor is 0."""
    if not divisor or not dividend:
        return Fraction(0)
    unit = divisor[0][1]
    ratio = dividend[0][1] / unit
    if not subtract_terms(dividend, divisor, ratio):
        return ratio
    return Irrational(
        tuple((base, coefficient / unit) for base, coefficient in dividend),
        tuple((base, coefficient / unit) for base, coefficient in divisor),
    )


@total_ordering
@dataclass(frozen=True)
class Irrational:
    """A quotient of two sums of terms that is not a rational number; see :func:`divide_terms`.

    It can be compared with, and subtracted from, fractions and other quotients with the same
    divisor. The first coefficient of `divisor` is 1.
    """

    dividend: Terms
    divisor: Terms

    def __float__(self) -> float:
        return float(approximate_terms(self.dividend) / approximate_terms(self.divisor))

    def __str__(self) -> str:
        return f"{float(self):.6g}"

    def __sub__(self, other: Number) -> Fraction | Irrational:
        if isinstance(other, Irrational):
            if other.divisor != self.divisor:
                raise PolicyError("numbers with different divisors cannot be subtracted exactly")
            dividend = subtract_terms(self.dividend, other.dividend)
        else:
            dividend = subtract_terms(self.dividend, self.divisor, Fraction(other))
        return divide_terms(dividend, self.divisor)

    def __neg__(self) -> Irrational:
        return Irrational(tuple((base, -c) for base, c in self.dividend), self.divisor)

    def __rsub__(self, other: Fraction) -> Fraction | Irrational:
        return -(self - other)

    def __add__(self, other: Fraction) -> Fraction | Irrational:
        return self - -other

    __radd__ = __add__

    def __abs__(self) -> Irrational:
        return self if self > 0 else -self

    def __lt__(self, other: Number) -> bool:
        difference = self - other
        if isinstance(difference, Fraction):
            return difference < 0
        terms = difference.dividend, difference.divisor
        return (approximate_terms(terms[0], 1) < 0) != (approximate_terms(terms[1], 1) < 0)


Number = Fraction | float | Irrational
"""A value of a measure; a float if the exact value is unknown."""

INPUT_DESCRIPTIONS = {
    "intents": "the subtopics of documents",
    "lengths": "the lengths of documents",
    "groups": "groups of documents",
    "aspects": "judgments on other aspects",
    "columns": "other columns of the judgments",
    "queries": "the queries of a session",
    "clicks": "clicks of users",
}
"""Descriptions of the `inputs` of measures."""

HINT = "use a measure that depends on the ranked grades only, such as nDCG@10"


def get_inner_measure(measure: Measure) -> Measure:
    """Return the measure inside an expectation; return other measures unchanged."""
    return measure.inner if isinstance(measure, Expectation) else measure


def get_lowest_relevant(measure: Measure) -> int:
    """Return the lowest grade that a measure counts as relevant."""
    return int(getattr(get_inner_measure(measure), "rel", 1))


def describe_beyond_grades(measure: Measure) -> str:
    """Describe the data besides grades on which scores of runs depend; empty if there are none."""
    if measure.info.beyond_grades:
        return measure.info.beyond_grades
    if measure.info.inputs:
        return " and ".join(INPUT_DESCRIPTIONS.get(name, name) for name in measure.info.inputs)
    inner = get_inner_measure(measure)
    has_unit = isinstance(measure, Expectation) and measure.unit is not None
    if has_unit or (isinstance(inner, UserModel) and inner.reads_lengths):
        return INPUT_DESCRIPTIONS["lengths"]
    kind = getattr(getattr(inner, "gains", None), "kind", "linear")
    if getattr(inner, "max_grade", None) == "topic" and kind != "binary":
        return "the highest grade of the topic"
    return ""


def describe_beyond_length(measure: Measure) -> str:
    """Describe what, besides grades, determines the order of rankings padded to one length."""
    return describe_beyond_grades(measure) or measure.beyond_length


def check_depends_on_grades(measure: Measure) -> None:
    """Refuse a measure that depends on more than the grades of a run."""
    reason = describe_beyond_grades(measure)
    if reason:
        raise MeasureError(
            f"{measure} depends on more than the ranked grades ({reason}), so its scale"
            f" and its possible values are unknown; {HINT}"
        )


def count_ranks_read(measure: Measure) -> int | None:
    """Return how many ranks a user model sums over; None for closed formulas and other measures."""
    model = measure.model if isinstance(measure, Expectation) else measure
    if not isinstance(model, UserModel) or isinstance(model, StaticModel):
        return None
    return (
        model.limit_rank(measure.depth if isinstance(measure, Expectation) else None)
        or DEFAULT_MAX_RANK
    )


Fractions = tuple[Fraction, ...]
"""Numbers by grade (from 0) or by rank."""


def is_nondecreasing(weights: Sequence[Fraction]) -> bool:
    """Return True if weights never decrease with the grade."""
    return all(lower <= upper for lower, upper in pairwise(weights))


@dataclass(frozen=True)
class Additive:
    """A sum over ranks of weights of grades.

    The weights of a rank are rational multiples of 1/ln r, where r is the *base* of the rank;
    rational weights have the base 1. As bases are not powers, weights have a rational ratio if, and
    only if, their bases are equal. `coefficients` has the factor of each grade for each rank.
    """

    bases: tuple[Fraction, ...]
    coefficients: tuple[Fractions, ...]

    @classmethod
    def weigh(
        cls, gains: Fractions, weights: Sequence[tuple[Fraction, Fraction]], length: int
    ) -> Self:
        """Multiply gains by grade with weights by rank, given as (base r, factor of 1/ln r)."""
        padded_weights = [*weights, *[(ONE, ZERO)] * (length - len(weights))]
        rows = (tuple(gain * factor for gain in gains) for _, factor in padded_weights)
        return cls(tuple(base for base, _ in padded_weights), tuple(rows))

    @property
    def length(self) -> int:
        return len(self.bases)

    @property
    def max_grade(self) -> int:
        return len(self.coefficients[0]) - 1

    def compute_weights(self) -> Floats:
        """Return the weights as floats; shape (length, grades + 1)."""
        factors = np.array([compute_inverse_log(base) for base in self.bases])
        return np.asarray(np.array(self.coefficients, dtype=np.float64) * factors[:, None])

    def make_stateful(self) -> Stateful | None:
        """Return the sum as a stateful form if its weights have a common base, otherwise None."""
        bases = {base for base, row in zip(self.bases, self.coefficients, strict=True) if any(row)}
        if len(bases) > 1:
            return None
        constants = (ONE,) * (self.max_grade + 1)
        return make_cascade(
            self.length, self.max_grade, self.coefficients, (constants,) * self.length
        )

    @property
    def is_monotone(self) -> bool:
        """True if a higher grade at the first rank never has a lower weight."""
        return is_nondecreasing(self.coefficients[0])


@dataclass(frozen=True)
class Stateful:
    """A sum over `length` ranks of contributions that depend on a state.

    `step` takes a rank (from 1), a state and a grade, and returns the contribution and the next
    state, or None if the grade is impossible. Forms with the same `key` have the same steps.
    """

    length: int
    max_grade: int
    key: Hashable
    start: Hashable = field(compare=False)
    step: Callable[[int, Any, int], tuple[Fraction, Hashable] | None] = field(compare=False)
    is_monotone: bool = field(default=False, compare=False)
    """Whether it is known that a higher grade at the first rank never contributes less."""


def make_cascade(
    length: int, max_grade: int, values: Sequence[Fractions], continuation: Sequence[Fractions]
) -> Stateful:
    """Return the form of a cascade model; the state is the probability of reaching a rank.

    For each rank down to the cutoff, `values` has the contribution of each grade for a user who
    reaches the rank, and `continuation` the probability that the user continues.
    """

    def step(rank: int, state: Fraction, grade: int) -> tuple[Fraction, Fraction]:
        if rank > len(values):
            return ZERO, ONE
        return state * values[rank - 1][grade], state * continuation[rank - 1][grade]

    key = (tuple(values), tuple(continuation))
    return Stateful(length, max_grade, key, ONE, step, is_nondecreasing(values[0]))


def limit_relevant(form: Stateful, limit: int, rel: int) -> Stateful:
    """Restrict a form to runs with at most `limit` documents of grade `rel` or above."""

    def step(rank: int, state: Any, grade: int) -> tuple[Fraction, Hashable] | None:
        inner_state, n_relevant = state
        n_relevant += grade >= rel
        outcome = form.step(rank, inner_state, grade) if n_relevant <= limit else None
        return outcome and (outcome[0], (outcome[1], n_relevant))

    return Stateful(form.length, form.max_grade, (form.key, limit, rel), (form.start, 0), step)


@dataclass(frozen=True)
class Form:
    """An exact formula of a measure: value = constant + factor * rank_sum / divisor.

    The divisor, such as the recall base or the ideal DCG, is positive and the same for all runs, or
    empty if every run has the value of the constant. The factor is 1, or a positive number known as
    a float only, such as the inverse of an infinite sum. Ranks of values depend on neither.
    """

    rank_sum: Additive | Stateful
    divisor: Terms = UNITY
    constant: Fraction = ZERO
    factor: float = 1.0

    @property
    def unit(self) -> float:
        """The factor divided by the divisor; 0 if the divisor is empty."""
        return float(divide_terms(UNITY, self.divisor)) * self.factor

    @property
    def offset(self) -> float:
        return float(self.constant)


def make_exact(measure: Any) -> Any:
    """Copy a measure with fractions as parameters, so that its formulas are exact."""
    exact_measure = copy(measure)
    for name, value in vars(measure).items():
        if isinstance(value, float):
            vars(exact_measure)[name] = to_fraction(value)
        elif isinstance(value, Gain):
            vars(exact_measure)[name] = value.as_fractions()
    return exact_measure


def list_fractions(end: int) -> Any:
    """Return the integers from 0 to `end` as an array of fractions."""
    return np.array([Fraction(number) for number in range(end + 1)], dtype=object)


def to_row(values: Any) -> Fractions:
    """Convert an array to a tuple of fractions."""
    return tuple(map(Fraction, np.asarray(values).astype(object)))


class Setting(NamedTuple):
    """Length and highest grade of the runs of a form, and grades of the topic's documents."""

    length: int
    max_grade: int
    judgments: tuple[int, ...]

    def find_depth(self, measure: Measure) -> int:
        return self.length if measure.cutoff is None else min(self.length, measure.cutoff)

    def make_stateful(self, key: Hashable, start: Hashable, step: Any) -> Stateful:
        return Stateful(self.length, self.max_grade, key, start, step)

    def mask_relevant(self, measure: Any) -> tuple[bool, ...]:
        return tuple(grade >= max(measure.rel, 0) for grade in range(self.max_grade + 1))

    def count_relevant(self, measure: Any) -> int:
        return sum(grade >= max(measure.rel, 0) for grade in self.judgments)

    def find_max_grade(self, measure: Any) -> int:
        """Return a measure's highest grade; raise an error if it is unknown or runs exceed it."""
        if measure.max_grade == "topic":
            raise MeasureError(f"{measure}: its highest grade depends on the topic; set max_grade")
        highest_grade = int(measure.max_grade or self.max_grade)
        if self.max_grade > highest_grade:
            raise MeasureError(
                f"{measure}: grades must be at most max_grade={highest_grade}, got {self.max_grade}"
            )
        return highest_grade

    def compute_gains(self, gain: Gain, max_grade: int | None = None) -> Fractions:
        """Return the gain of each grade up to `max_grade`, by default the highest of runs."""
        return to_row(
            gain.as_fractions().compute_gains(list_fractions(max_grade or self.max_grade))
        )

    def compute_unit_gains(self, measure: Any) -> Fractions:
        """Return the gain of each grade, scaled to [0, 1]."""
        max_gain = self.find_max_grade(measure) if measure.gains.kind == "graded" else 1
        return to_row(make_exact(measure).to_unit_gains(list_fractions(self.max_grade), max_gain))

    def compute_stops(self, measure: Any) -> Fractions:
        gains = self.compute_gains(measure.gains, self.find_max_grade(measure))
        return tuple(compute_satisfaction(gain, max(gains)) for gain in gains)

    def list_ideal_gains(self, gains: Sequence[Fraction]) -> list[Fraction]:
        """Return the positive gains of the topic's documents in descending order."""
        return sorted((gains[grade] for grade in self.judgments if gains[grade] > 0), reverse=True)
