"""How the value of a measure depends on the grades, exactly: the forms that images are made from.

There are two. The value of an *additive* measure is a sum over ranks of a weight that only the
grade at the rank decides (P, DCG, RBP). The value of a *stateful* one is a sum as well, but the
contribution of a rank depends on a small state of what came before (AP: the number of relevant
documents so far; ERR: the chance that the user still reads). Nothing in a form is a float.

Forms come from the laws of the measures themselves, through which fractions pass as floats do:
`exactly` makes the measure whose parameters are fractions. Where a definition has a parameter that
is no whole number, such as p = 0.8, p = 1/3 or a gain of 0.1, it means that number, not the binary
float beside it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.measures.base import Measure
from cranfield.measures.gains import Gain
from cranfield.measures.parameters import fraction_of
from cranfield.measures.users.expected_reciprocal_rank import satisfying
from cranfield.scales.forms.exact_numbers import ONE, UNITY, ZERO, Terms, approximate, quotient

Row = tuple[Fraction, ...]
"""A number for each grade from 0, or for each rank."""


def rising(weights: Sequence[Fraction]) -> bool:
    return all(lower <= upper for lower, upper in pairwise(weights))


@dataclass(frozen=True)
class Additive:
    """A sum over ranks of weights of grades.

    Weights are rational multiples of 1/ln r, with a number r, a *base*, for each rank; 1 for
    rational weights. Bases are not powers, so that equal ones, and only equal ones, have weights in
    rational proportion (see `exact_numbers.py`). `coefficients` has the factor of each grade for
    each rank.
    """

    bases: tuple[Fraction, ...]
    coefficients: tuple[Row, ...]

    @classmethod
    def rational(cls, coefficients: Sequence[Row]) -> Additive:
        return cls((ONE,) * len(coefficients), tuple(coefficients))

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
        return OneState(self.length, self.grades, self.coefficients) if len(used) <= 1 else None

    @property
    def rises(self) -> bool:
        """Whether a better grade at the first rank never weighs less."""
        return rising(self.coefficients[0])

    @property
    def base(self) -> Fraction:
        """Of all weights, where there is only one."""
        rows = zip(self.bases, self.coefficients, strict=True)
        return next((base for base, row in rows if any(row)), ONE)


class Step(NamedTuple):
    """What a grade at a rank does in a state: its contribution, and the state that follows."""

    contribution: Fraction
    state: Hashable


@dataclass(frozen=True)
class Stateful:
    """A sum over `length` ranks of contributions that depend on a state; subclasses say how."""

    length: int
    grades: int

    @property
    def rises(self) -> bool:
        """Whether a better grade is known never to be worse."""
        return False

    @property
    def start(self) -> Hashable:
        return 0

    def step(self, rank: int, state: Any, grade: int) -> Step | None:
        """Return contribution and next state of a grade at a rank, from 1; None if ruled out."""
        raise NotImplementedError


@dataclass(frozen=True)
class OneState(Stateful):
    """An additive form with rational coefficients."""

    coefficients: tuple[Row, ...]

    def step(self, rank: int, state: Any, grade: int) -> Step:
        return Step(self.coefficients[rank - 1][grade], state)


@dataclass(frozen=True)
class AtMost(Stateful):
    """A form on the runs with at most `limit` documents of grade `rel` or above."""

    form: Stateful
    limit: int
    rel: int

    @classmethod
    def of(cls, form: Stateful, limit: int, rel: int) -> AtMost:
        return cls(form.length, form.grades, form, limit, rel)

    @property
    def start(self) -> Hashable:
        return (self.form.start, 0)

    def step(self, rank: int, state: Any, grade: int) -> Step | None:
        inner, seen = state
        seen += grade >= self.rel
        step = self.form.step(rank, inner, grade) if seen <= self.limit else None
        return step and Step(step.contribution, (step.state, seen))


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
            raise MeasureError(f"{measure}: grade {self.grades} is above max_grade={highest}")
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

    def rows(self, row: Row, depth: int) -> list[Row]:
        """The same weights at each rank down to a depth, and none below."""
        return [row if rank < depth else (ZERO,) * len(row) for rank in range(self.length)]
