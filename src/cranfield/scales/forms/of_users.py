"""The forms of user models: of those who look at ranks alone, or stop at the first relevant one.

Utility is what is found over the ranks that are read, sum V g / sum V. It has a form where sum V is
the same for all runs (P, RBP, INSQ, SDCG), or where the run is over once something is found: NERR
with gains of 0 and 1. `ETU`, the sum of V g alone, has one for all these and for graded NERR.
INST and the user of AP have none: what they do at a rank depends on too much else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from cranfield.base.errors import PolicyError
from cranfield.measures import Measure
from cranfield.measures.parameters import fraction_of
from cranfield.measures.users.expectation import Expectation
from cranfield.measures.users.model import LAST, StaticModel, UserModel
from cranfield.measures.users.nerr import NERR8, NERR9, NERR10, NERR11
from cranfield.measures.users.rank_biased import RankBiasedPrecision
from cranfield.measures.users.users_of_measures import First, Satisfied, Top
from cranfield.measures.users.wanted_gain import INSQ, ScaledDCG
from cranfield.scales.forms.additive import (
    ZERO,
    grade_gains,
    highest_grade,
    unit_gains,
)
from cranfield.scales.forms.blended import FirstWorth
from cranfield.scales.forms.exact_numbers import Terms, rational, terms
from cranfield.scales.forms.form import Additive, Form, Setting, Stateful, Step, form_of
from cranfield.scales.forms.logarithms import ONE, root
from cranfield.scales.forms.players import Told, player_form

FEW = 2_000
"""Ranks over which weights are added up as fractions; beyond, as floats."""

MOST_DIGITS_AT = 200
"""Ranks over which chances are added up at each rank, whose fractions get longer and longer."""

TOLD = ("EU", "ETU")
"""What is told of a user model that has a form; costs and depths are low where they are good."""

View = Callable[[int], tuple[Fraction, Fraction]]
"""For a rank the base and the factor of the chance that it is read."""


def _wants(measure: Any) -> Fraction:
    return 2 * fraction_of(measure.T)


def _viewed(model: StaticModel) -> View | None:
    """V of a model that looks at ranks alone, as a factor of 1 / ln(base)."""
    if isinstance(model, Top):
        return lambda rank: (ONE, ONE)
    if isinstance(model, RankBiasedPrecision):
        p = fraction_of(model.p)
        return lambda rank: (ONE, p ** (rank - 1))
    if isinstance(model, INSQ):
        wanted = _wants(model)
        return lambda rank: (ONE, (wanted / (rank + wanted - 1)) ** 2)
    if isinstance(model, ScaledDCG):
        # Over ln 2, which `_whole` brings back where the sum of all V does not cancel it.
        return _discount
    return None


def _discount(rank: int) -> tuple[Fraction, Fraction]:
    base, power = root(Fraction(rank + 1))
    return base, Fraction(1, power)


def _whole(model: StaticModel, view: View, end: int | None, kind: str) -> tuple[Terms, float]:
    """What sum V g is divided by, and a factor of what cannot be said in fractions."""
    if kind == "ETU":
        return (terms({Fraction(2): ONE}) if isinstance(model, ScaledDCG) else rational(1)), 1.0
    if end is None and isinstance(model, RankBiasedPrecision):
        return rational(1 / (1 - fraction_of(model.p))), 1.0
    if end is None or end > FEW:
        return rational(1), 1.0 / model.read_to(end)
    sums: dict[Fraction, Fraction] = {}
    for base, factor in map(view, range(1, end + 1)):
        sums[base] = sums.get(base, ZERO) + factor
    return terms(sums), 1.0


def _static(model: StaticModel, setting: Setting, told: Told) -> Form | None:
    view = _viewed(model)
    if view is None:
        return None
    end = model.ranks(told.depth)
    deepest = told.deepest if end is None else min(told.deepest, end)
    gains = unit_gains(model, setting)
    bases, rows = [], []
    for rank in range(1, setting.length + 1):
        base, factor = view(rank) if rank <= deepest else (ONE, ZERO)
        bases.append(base)
        rows.append(tuple(gain * factor for gain in gains))
    below, factor_of_all = _whole(model, view, end, told.kind)
    return Form(Additive(tuple(bases), tuple(rows)), below, factor=factor_of_all)


@form_of(INSQ, ScaledDCG)
def _weights(measure: StaticModel, setting: Setting) -> Form | None:
    return _static(measure, setting, Told.of(measure, setting))


@dataclass(frozen=True)
class Reader(Stateful):
    """Total utility of a reader whom gains satisfy; the state is the chance that a rank is read.

    Attributes
    ----------
    gains
        Of each grade, which is the chance to be satisfied.
    going_on
        For each rank that is read the chance to go on, if not satisfied.
    depth
        Ranks whose gains count.
    """

    gains: tuple[Fraction, ...]
    going_on: tuple[Fraction, ...]
    depth: int

    @property
    def start(self) -> Hashable:
        """Every user begins to read."""
        return ONE

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """The gain, by the chance that the rank is read."""
        if rank > len(self.going_on):
            return Step(ZERO, ZERO)
        gain = self.gains[grade] if rank <= self.depth else ZERO
        return Step(state * gain, state * (1 - gain) * self.going_on[rank - 1])


def _going_on(model: UserModel, ranks: int) -> list[Fraction] | None:
    """The chance to go on from each rank without any gain."""
    if isinstance(model, (NERR8, First, Satisfied)):
        return [ONE] * ranks
    if isinstance(model, NERR9):
        return [Fraction(rank, rank + 1) for rank in range(1, ranks + 1)]
    if isinstance(model, NERR10):
        return [fraction_of(model.p)] * ranks
    if isinstance(model, NERR11):
        wanted = _wants(model)
        return [((rank + wanted - 1) / (rank + wanted)) ** 2 for rank in range(1, ranks + 1)]
    return None


def _cascade_gains(model: UserModel, setting: Setting) -> tuple[Fraction, ...]:
    if not isinstance(model, Satisfied):
        return unit_gains(model, setting)
    worth = grade_gains(model.gains, highest_grade(model, setting))
    return tuple(one / (max(worth) + 1) for one in worth)


def _cascade(model: UserModel, setting: Setting, told: Told) -> Form | None:
    end = min(setting.length, model.ranks(told.depth) or LAST)
    going_on = _going_on(model, end)
    if going_on is None:
        return None
    gains = _cascade_gains(model, setting)
    if told.kind == "ETU":
        return Form(Reader(setting.length, setting.grades, gains, tuple(going_on), told.deepest))
    if not set(gains) <= {ZERO, ONE}:
        return None
    if end > MOST_DIGITS_AT and set(going_on) != {ONE}:
        raise PolicyError(
            f"the chances to read {end} ranks have too many digits for an exact image of {model};"
            f" up to length {MOST_DIGITS_AT} it is feasible"
        )
    # Whoever finds something stops there: V of the rank over the sum of V so far.
    seen = list(accumulate([ONE, *going_on[:-1]], Fraction.__mul__))
    worth = [view / read for view, read in zip(seen, accumulate(seen), strict=True)]
    deepest = min(end, told.deepest)
    rows = tuple(
        tuple(worth[rank] if gain and rank < deepest else None for gain in gains)
        for rank in range(setting.length)
    )
    return Form(FirstWorth(setting.length, setting.grades, rows))


@form_of(NERR8, NERR9, NERR10, NERR11)
def _nerr(measure: UserModel, setting: Setting) -> Form | None:
    return _cascade(measure, setting, Told.of(measure, setting))


@form_of(Expectation)
def _expectation(measure: Expectation, setting: Setting) -> Form | None:
    if measure.kind not in TOLD or measure.unit is not None:
        return None
    # The cutoff is the measure's; its user model may not know of it.
    model, told = measure.model, Told(measure.kind, measure.depth, setting.depth(measure))
    if isinstance(model, StaticModel):
        return _static(model, setting, told)
    return _cascade(model, setting, told) or player_form(model, setting, told)


def reads_many_ranks(measure: Measure) -> int | None:
    """Ranks that are laid out to score a run of a user model without sums of its own.

    Examples
    --------
    >>> from cranfield.measures import EU, RBP, BPM
    >>> reads_many_ranks(BPM), reads_many_ranks(EU("AP@5")), reads_many_ranks(RBP)
    (1000, 1000, None)
    """
    model = measure.model if isinstance(measure, Expectation) else measure
    if not isinstance(model, UserModel) or isinstance(model, StaticModel):
        return None
    return model.ranks(measure.depth if isinstance(measure, Expectation) else None) or LAST
