"""How the value of a measure depends on the grades, exactly: the forms that images are made from.

There are two. The value of an *additive* measure is a sum over ranks of a weight that only the
grade at the rank decides (P, DCG, RBP). The value of a *stateful* one is a sum as well, but the
contribution of a rank depends on a small state of what came before (AP: the number of relevant
documents so far; ERR: the chance that the user still reads). Nothing in a form is a float.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.measures import Measure
from cranfield.scales.forms.exact_numbers import UNITY, Terms, quotient
from cranfield.scales.forms.logarithms import ONE, approximate
from cranfield.scales.judgments import pool


def rising(weights: Sequence[Fraction]) -> bool:
    """Tell whether no weight is below the one before it."""
    return all(one <= other for one, other in pairwise(weights))


@dataclass(frozen=True)
class Additive:
    """A sum over ranks of weights of grades.

    Attributes
    ----------
    bases
        For each rank the number r whose inverse logarithm 1/ln r its weights are rational
        multiples of; 1 for rational weights. Bases are not powers, so that equal ones, and only
        equal ones, have weights in rational proportion (see `logarithms.py`).
    coefficients
        For each rank the rational factor of each grade 0..c.
    """

    bases: tuple[Fraction, ...]
    coefficients: tuple[tuple[Fraction, ...], ...]

    @property
    def length(self) -> int:
        """Number of ranks."""
        return len(self.bases)

    @property
    def grades(self) -> int:
        """The highest grade."""
        return len(self.coefficients[0]) - 1

    def weights(self) -> Floats:
        """Weights as floats; shape (length, grades + 1)."""
        factors = [approximate(base) for base in self.bases]
        table = np.array([[float(one) for one in row] for row in self.coefficients])
        return np.asarray(table * np.array(factors)[:, None])

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
        """The base of all weights, where there is only one."""
        rows = zip(self.bases, self.coefficients, strict=True)
        return next((base for base, row in rows if any(row)), ONE)


class Step(NamedTuple):
    """What a grade at a rank does in a state: its contribution, and the state that follows."""

    contribution: Fraction
    state: Hashable


@dataclass(frozen=True)
class Stateful:
    """A sum over ranks of contributions that depend on a state; subclasses say how.

    Attributes
    ----------
    length
        Number of ranks.
    grades
        The highest grade.
    """

    length: int
    grades: int

    @property
    def rises(self) -> bool:
        """Whether a better grade is known never to be worse."""
        return False

    @property
    def start(self) -> Hashable:
        """The state before the first rank."""
        return 0

    def step(self, rank: int, state: Any, grade: int) -> Step | None:
        """Return contribution and next state of a grade at a rank, from 1; None if ruled out."""
        raise NotImplementedError


@dataclass(frozen=True)
class OneState(Stateful):
    """An additive form with rational coefficients, seen as a stateful one."""

    coefficients: tuple[tuple[Fraction, ...], ...]

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """The weight of the grade; the state stays as it is."""
        return Step(self.coefficients[rank - 1][grade], state)


@dataclass(frozen=True)
class AtMost(Stateful):
    """A form on the runs with at most so many relevant documents."""

    form: Stateful
    limit: int
    rel: int

    @classmethod
    def of(cls, form: Stateful, limit: int, rel: int) -> AtMost:
        """Restrict a form to runs with at most `limit` documents of grade `rel` or above."""
        return cls(form.length, form.grades, form, limit, rel)

    @property
    def start(self) -> Hashable:
        """The state of the form, and no relevant document."""
        return (self.form.start, 0)

    def step(self, rank: int, state: Any, grade: int) -> Step | None:
        """The step of the form, while relevant documents are left."""
        inner, seen = state
        seen += grade >= self.rel
        found = self.form.step(rank, inner, grade) if seen <= self.limit else None
        return found and Step(found.contribution, (found.state, seen))


@dataclass(frozen=True)
class Form:
    """The form of a measure's values: value = constant + factor (sum of the shape) / below.

    Attributes
    ----------
    shape
        What depends on the run.
    below
        A positive divisor that is the same for all runs, such as RB, or the ideal DCG as a sum of
        inverse logarithms; nothing where the measure is 0 for every run, as for a topic without
        relevant documents. Ranks do not depend on it.
    constant
        What is added.
    factor
        What all is multiplied by that is neither a fraction nor an inverse logarithm, above 0, such
        as one over the sum of endless weights. Ranks do not depend on it, either.
    """

    shape: Additive | Stateful
    below: Terms = UNITY
    constant: Fraction = Fraction(0)
    factor: float = 1.0

    @property
    def unit(self) -> float:
        """One over the divisor, and 0 for none, as a float."""
        return float(quotient(UNITY, self.below)) * self.factor

    @property
    def offset(self) -> float:
        """The constant as a float."""
        return float(self.constant)


class Setting(NamedTuple):
    """The runs that a form is for, and the judgments of their topic.

    Attributes
    ----------
    length
        Number of ranks.
    grades
        The highest grade.
    judgments
        Grades of the judged documents of the topic.
    """

    length: int
    grades: int
    judgments: tuple[int, ...]

    def depth(self, measure: Measure) -> int:
        """Ranks that count."""
        return self.length if measure.cutoff is None else min(self.length, measure.cutoff)

    def recall_base(self, rel: int) -> int:
        """Number of relevant documents of the topic."""
        return sum(grade >= max(rel, 0) for grade in self.judgments)


Maker = Callable[[Any, Setting], Form | None]
M = TypeVar("M", bound=Maker)
FORMS: dict[type[Measure], Maker] = {}
"""How the form of each class of measures is made."""


def form_of(*kinds: type[Measure]) -> Callable[[M], M]:
    """Enter a function that makes the form of measures of some classes.

    The function takes the measure and a :class:`Setting`, and returns None for parameters with
    which there is no form.
    """

    def enter(maker: M) -> M:
        FORMS.update(dict.fromkeys(kinds, maker))
        return maker

    return enter


def form(
    measure: Measure,
    length: int,
    grades: int = 1,
    judgments: Sequence[int] | int | None = None,
) -> Form | None:
    """Return the form of a measure's values.

    Parameters
    ----------
    measure
        A measure.
    length
        Number N of ranks of the runs; those below the measure's cutoff count nothing.
    grades
        The highest grade c.
    judgments
        Grades of the topic's judged documents, or how many it has of the highest grade; by
        default as many as the runs are long.

    Returns
    -------
    Form or None
        None for a measure that has none.

    Raises
    ------
    PolicyError
        For judgments that are no grades 0..c.

    Examples
    --------
    >>> from cranfield.measures import DCG, IPrec
    >>> found = form(DCG, 3)
    >>> found.shape.bases, round(found.unit, 3)
    ((Fraction(2, 1), Fraction(3, 1), Fraction(2, 1)), 0.693)
    >>> form(IPrec @ 0.1, 3) is None
    True
    """
    # These enter the forms of all measures.
    import cranfield.scales.forms.additive
    import cranfield.scales.forms.graded
    import cranfield.scales.forms.of_users
    import cranfield.scales.forms.stateful  # noqa: F401

    maker = FORMS.get(type(measure))
    if maker is None:
        return None
    measure.require_complete()
    return maker(measure, Setting(length, grades, pool(judgments, length, grades)))
