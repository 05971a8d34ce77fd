"""Exact formulas of the values of measures from the grades by rank.

Write an argument x > 1 as r^k with r not itself a power (its *root*). Then 1/ln x = (1/k) (1/ln r).
Inverse logarithms of different roots are linearly independent over the rationals if Schanuel's
conjecture holds: it makes the logarithms of the primes algebraically independent; the ln r are
then linear forms in independent variables, no two of them proportional, and the functions 1/ln r
have different poles. No proof without the conjecture is known and no counterexample: a relation
with coefficients as small as those of grades would be seen by the numbers of this module, which
are computed to any precision. So two combinations are equal if, and only if, their coefficients
are; which of two others is larger is computed with as many digits as needed. Whatever relies on the
independence raises an error, and does not guess, when two sums that should differ agree to
thousands of digits.

Whatever else a measure depends on is described before anything is computed. `beyond_grades` is
about runs of one length, all of whose documents are judged: images and scales. `beyond_length` adds
what is undone when shorter rankings are padded, as :func:`cranfield.scales.interval_scaled` does.

There are two kinds of forms. The value of an *additive* measure is a sum over ranks of a weight
that only the grade at the rank decides (P, DCG, RBP). The value of a *stateful* one is a sum as
well, but the contribution of a rank depends on a small state of what came before (AP: the number of
relevant documents so far; ERR: the probability that the user still reads). Nothing in a form is a
float.

Forms come from the laws of the measures themselves, through which fractions pass as floats do:
`exactly` makes the measure whose parameters are fractions. Where a definition has a parameter that
is not an integer, such as p = 0.8, p = 1/3 or a gain of 0.1, it means that number, not the binary
float beside it.
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
from cranfield.base.spec import fraction_of
from cranfield.measures.base import Measure
from cranfield.measures.gains import Gain
from cranfield.measures.users.expectation import Expectation
from cranfield.measures.users.model import LAST, StaticModel, UserModel
from cranfield.measures.users.stopping import satisfying

ZERO = Fraction(0)
ONE = Fraction(1)
"""Stands for the rational numbers themselves among the bases."""


@lru_cache(maxsize=4096)
def root(x: Fraction) -> tuple[Fraction, int]:
    """Write x > 1 as r^k with the largest k: r and k."""
    for power in range(x.numerator.bit_length(), 1, -1):
        above, below = _whole_root(x.numerator, power), _whole_root(x.denominator, power)
        if above is not None and below is not None:
            return Fraction(above, below), power
    return x, 1


def _whole_root(n: int, power: int) -> int | None:
    near = round(n ** (1 / power))
    return next((m for m in (near - 1, near, near + 1) if m > 0 and m**power == n), None)


@lru_cache(maxsize=8192)
def scaled(base: Fraction, bits: int) -> int:
    """Return 2^bits / ln(base), within 1; 2^bits for the base 1."""
    if base == ONE:
        return 1 << bits
    context = Context(prec=int(bits * 0.302) + 40)
    log = context.ln(Decimal(base.numerator))
    if base.denominator != 1:
        log = context.subtract(log, context.ln(Decimal(base.denominator)))
    return int(context.divide(context.power(Decimal(2), bits), log))


def approximate(base: Fraction) -> float:
    """Return 1 / ln(base), correct to the last bit but one; 1 for the base 1."""
    return scaled(base, 192) / (1 << 192)


Terms = tuple[tuple[Fraction, Fraction], ...]
"""The sum of coefficient / ln(base), given as (base, coefficient); the base 1 stands for 1."""

MOST_DIGITS = 2**16
"""Binary digits to which two numbers are compared."""


def terms(coefficients: Mapping[Fraction, Fraction] | Iterable[tuple[Fraction, Fraction]]) -> Terms:
    """Return the canonical form of a combination: sorted by base, without zeros."""
    return tuple(sorted((base, one) for base, one in dict(coefficients).items() if one))


def rational(number: Fraction | int) -> Terms:
    return terms({ONE: Fraction(number)})


UNITY = rational(1)
"""The combination that is 1."""


def added(parts: Iterable[tuple[Fraction, Fraction]]) -> Terms:
    """Add up coefficients by base."""
    out: dict[Fraction, Fraction] = {}
    for base, coefficient in parts:
        out[base] = out.get(base, ZERO) + coefficient
    return terms(out)


def minus(one: Terms, other: Terms, times: Fraction = ONE) -> Terms:
    """Subtract a multiple."""
    return added([*one, *((base, -times * coefficient) for base, coefficient in other)])


def precisions() -> Iterator[int]:
    """Yield increasing binary precisions for comparing numbers, up to a maximum."""
    bits = 192
    while bits <= MOST_DIGITS:
        yield bits
        bits *= 4
    raise PolicyError("two values agree to so many digits that they cannot be distinguished")


def near(combination: Terms, digits: int = 64) -> Fraction:
    """Return a number of the same sign, equal to a combination but for 2^-digits of it."""
    if not combination:
        return Fraction(0)
    below = lcm(*(one.denominator for _, one in combination))
    whole = [(base, int(one * below)) for base, one in combination]
    error = sum(abs(one) for _, one in whole)
    for bits in precisions():
        found = sum(one * scaled(base, bits) for base, one in whole)
        if abs(found) > error << digits:
            break
    return Fraction(found, below << bits)


def quotient(above: Terms, below: Terms) -> Fraction | Irrational:
    """Divide combinations, with 0 where the divisor is 0: the convention of the field."""
    if not below or not above:
        return Fraction(0)
    first = below[0][1]
    share = above[0][1] / first
    if not minus(above, below, share):
        return share
    return Irrational(
        tuple((base, one / first) for base, one in above),
        tuple((base, one / first) for base, one in below),
    )


@total_ordering
@dataclass(frozen=True)
class Irrational:
    """A quotient of two combinations that is not a rational number; made by :func:`quotient`.

    Those of one divisor can be compared and subtracted, with each other and with fractions.
    The first coefficient of `below` is 1.
    """

    above: Terms
    below: Terms

    def __float__(self) -> float:
        return float(near(self.above) / near(self.below))

    def __str__(self) -> str:
        return f"{float(self):.6g}"

    def __sub__(self, other: Number) -> Fraction | Irrational:
        if isinstance(other, Irrational):
            if other.below != self.below:
                raise PolicyError("numbers with different divisors cannot be subtracted exactly")
            return quotient(minus(self.above, other.above), self.below)
        return quotient(minus(self.above, self.below, Fraction(other)), self.below)

    def __neg__(self) -> Irrational:
        return Irrational(tuple((base, -one) for base, one in self.above), self.below)

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
        return (near(difference.above, 1) < 0) != (near(difference.below, 1) < 0)


Number = Fraction | float | Irrational
"""A value of a measure; a float where it is not known exactly."""


INPUTS = {
    "intents": "the subtopics of documents",
    "lengths": "the lengths of documents",
    "groups": "groups of documents",
    "aspects": "judgments on other aspects",
    "columns": "other columns of the judgments",
    "queries": "the queries of a session",
    "clicks": "clicks of users",
}
"""What `inputs` of a measure stand for."""

HINT = "use a measure of the grades by rank, such as nDCG@10"


def of_documents(measure: Measure) -> Measure:
    """Return the measure that looks at documents: the one inside, of what users can expect."""
    return measure.inner if isinstance(measure, Expectation) else measure


def lowest_relevant(measure: Measure) -> int:
    """Lowest grade that counts as relevant."""
    return int(getattr(of_documents(measure), "rel", 1))


def beyond_grades(measure: Measure) -> str:
    """Describe the data besides the grades of a run that a measure depends on; empty if none."""
    if measure.info.beyond_grades:
        return measure.info.beyond_grades
    if measure.info.inputs:
        return " and ".join(INPUTS.get(one, one) for one in measure.info.inputs)
    inner = of_documents(measure)
    by_length = isinstance(measure, Expectation) and measure.unit is not None
    if by_length or (isinstance(inner, UserModel) and inner.reads_lengths):
        return INPUTS["lengths"]
    kind = getattr(getattr(inner, "gains", None), "kind", "linear")
    if getattr(inner, "max_grade", None) == "topic" and kind != "binary":
        return "the highest grade of the topic"
    return ""


def beyond_length(measure: Measure) -> str:
    """Describe the data besides the grades that the order of padded rankings depends on."""
    return beyond_grades(measure) or measure.beyond_length


def check_grades_decide(measure: Measure) -> None:
    """Refuse a measure whose value the grades of a run do not decide."""
    why = beyond_grades(measure)
    if why:
        raise MeasureError(
            f"{measure} depends on more than the grades by rank ({why}), so its scale"
            f" and its image are unknown; {HINT}"
        )


def reads_many_ranks(measure: Measure) -> int | None:
    """Ranks that are laid out to score a run of a user model without sums of its own."""
    model = measure.model if isinstance(measure, Expectation) else measure
    if not isinstance(model, UserModel) or isinstance(model, StaticModel):
        return None
    return model.ranks(measure.depth if isinstance(measure, Expectation) else None) or LAST


Row = tuple[Fraction, ...]
"""A number for each grade from 0, or for each rank."""


def rising(weights: Sequence[Fraction]) -> bool:
    return all(lower <= upper for lower, upper in pairwise(weights))


@dataclass(frozen=True)
class Additive:
    """A sum over ranks of weights of grades.

    Weights are rational multiples of 1/ln r, with a number r, a *base*, for each rank; 1 for
    rational weights. Bases are not powers, so that equal ones, and only equal ones, have weights in
    rational proportion. `coefficients` has the factor of each grade for
    each rank.
    """

    bases: tuple[Fraction, ...]
    coefficients: tuple[Row, ...]

    @classmethod
    def weighed(cls, gains: Row, weights: Sequence[tuple[Fraction, Fraction]], length: int) -> Self:
        """Gains by grade, at each rank times a weight: a base, and the factor of 1/ln(base)."""
        every = [*weights, *[(ONE, ZERO)] * (length - len(weights))]
        rows = (tuple(gain * factor for gain in gains) for _, factor in every)
        return cls(tuple(base for base, _ in every), tuple(rows))

    @property
    def length(self) -> int:
        return len(self.bases)

    @property
    def grades(self) -> int:
        return len(self.coefficients[0]) - 1

    def weights(self) -> Floats:
        """As floats; shape (length, grades + 1)."""
        factors = np.array([approximate(base) for base in self.bases])
        return np.asarray(np.array(self.coefficients, dtype=np.float64) * factors[:, None])

    def stateful(self) -> Stateful | None:
        """Return the same as a form with a single state, if the weights are rational multiples."""
        used = {base for base, row in zip(self.bases, self.coefficients, strict=True) if any(row)}
        if len(used) > 1:
            return None
        alike = (ONE,) * (self.grades + 1)
        return cascade_form(self.length, self.grades, self.coefficients, (alike,) * self.length)

    @property
    def rises(self) -> bool:
        """True if a better grade at the first rank never has a lower weight."""
        return rising(self.coefficients[0])


@dataclass(frozen=True)
class Stateful:
    """A sum over `length` ranks of contributions that depend on a state.

    `step` takes a rank, from 1, a state and a grade; it returns the contribution and the state that
    follows, or None if the grade is ruled out. Forms with the same `key` have the same steps.
    """

    length: int
    grades: int
    key: Hashable
    start: Hashable = field(compare=False)
    step: Callable[[int, Any, int], tuple[Fraction, Hashable] | None] = field(compare=False)
    rises: bool = field(default=False, compare=False)
    """Whether a better grade at the first rank is known never to add less."""


def cascade_form(
    length: int, grades: int, worth: Sequence[Row], going_on: Sequence[Row]
) -> Stateful:
    """Return the form of users who reach a rank or not; the state is the probability to reach it.

    For each rank that counts, `worth` has what each grade adds for users who reach it, and
    `going_on` their probability to continue.
    """

    def step(rank: int, state: Fraction, grade: int) -> tuple[Fraction, Fraction]:
        if rank > len(worth):
            return ZERO, ONE
        return state * worth[rank - 1][grade], state * going_on[rank - 1][grade]

    key = (tuple(worth), tuple(going_on))
    return Stateful(length, grades, key, ONE, step, rising(worth[0]))


def with_at_most(form: Stateful, limit: int, rel: int) -> Stateful:
    """Return a form on the runs with at most `limit` documents of grade `rel` or above."""

    def step(rank: int, state: Any, grade: int) -> tuple[Fraction, Hashable] | None:
        inner, seen = state
        seen += grade >= rel
        found = form.step(rank, inner, grade) if seen <= limit else None
        return found and (found[0], (found[1], seen))

    return Stateful(form.length, form.grades, (form.key, limit, rel), (form.start, 0), step)


@dataclass(frozen=True)
class Form:
    """The form of a measure's values: value = constant + factor (sum of the shape) / below.

    The divisor is positive and the same for all runs, such as RB, or the ideal DCG as a sum of
    inverse logarithms; nothing where the measure is 0 for every run, as for a topic without
    relevant documents. The factor, above 0, is neither a fraction nor an inverse logarithm, such as
    one over the sum of endless weights. Ranks depend on neither of them.
    """

    shape: Additive | Stateful
    below: Terms = UNITY
    constant: Fraction = ZERO
    factor: float = 1.0

    @property
    def unit(self) -> float:
        """One over the divisor, and 0 for none."""
        return float(quotient(UNITY, self.below)) * self.factor

    @property
    def offset(self) -> float:
        return float(self.constant)


def exactly(measure: Any) -> Any:
    """The same measure with fractions for numbers: its laws make fractions of fractions."""
    exact = copy(measure)
    for name, value in vars(measure).items():
        if isinstance(value, float):
            vars(exact)[name] = fraction_of(value)
        elif isinstance(value, Gain):
            vars(exact)[name] = value.exactly()
    return exact


def upto(highest: int) -> Any:
    return np.array([Fraction(number) for number in range(highest + 1)], dtype=object)


def row_of(values: Any) -> Row:
    return tuple(map(Fraction, np.asarray(values).astype(object)))


class Setting(NamedTuple):
    """The runs that a form is for, and the judgments of their topic."""

    length: int
    grades: int
    judgments: tuple[int, ...]

    def depth(self, measure: Measure) -> int:
        return self.length if measure.cutoff is None else min(self.length, measure.cutoff)

    def stateful(self, key: Hashable, start: Hashable, step: Any) -> Stateful:
        return Stateful(self.length, self.grades, key, start, step)

    def relevant(self, measure: Any) -> tuple[bool, ...]:
        return tuple(grade >= max(measure.rel, 0) for grade in range(self.grades + 1))

    def recall_base(self, measure: Any) -> int:
        return sum(grade >= max(measure.rel, 0) for grade in self.judgments)

    def highest(self, measure: Any) -> int:
        """The highest grade of the measure's scale, which no grade may exceed."""
        if measure.max_grade == "topic":
            raise MeasureError(f"{measure}: its scale depends on the grades of the topic")
        highest = int(measure.max_grade or self.grades)
        if self.grades > highest:
            raise MeasureError(
                f"{measure}: grades must be at most max_grade={highest}, got {self.grades}"
            )
        return highest

    def gains(self, gain: Gain, highest: int | None = None) -> Row:
        """Gain of each grade up to the highest, of runs by default."""
        return row_of(gain.exactly().of(upto(highest or self.grades)))

    def unit_gains(self, measure: Any) -> Row:
        """Gains from 0 to 1."""
        top = self.highest(measure) if measure.gains.kind == "graded" else 1
        return row_of(exactly(measure).unit_gain(upto(self.grades), top))

    def stops(self, measure: Any) -> Row:
        worth = self.gains(measure.gains, self.highest(measure))
        return tuple(satisfying(gain, max(worth)) for gain in worth)

    def best(self, gains: Sequence[Fraction]) -> list[Fraction]:
        """Positive gains of the topic's documents, falling: the ideal ranking."""
        return sorted((gains[grade] for grade in self.judgments if gains[grade] > 0), reverse=True)
