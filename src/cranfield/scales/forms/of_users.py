"""The forms of user models: of those who look at ranks alone, stop when satisfied, or play.

Utility is what is found over the ranks that are read, sum V g / sum V. It has a form where sum V is
the same for all runs (P, RBP, INSQ, SDCG), or where the run is over once something is found: NERR
with gains of 0 and 1. `ETU`, the sum of V g alone, has one for all these and for graded NERR.
INST and the user of AP have none: what they do at a rank depends on too much else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from cranfield.base.errors import PolicyError
from cranfield.measures.base import Measure
from cranfield.measures.users.expectation import ETU, EU, Expectation
from cranfield.measures.users.model import LAST, StaticModel, UserModel
from cranfield.measures.users.rank_biased import RankBiasedPrecision
from cranfield.measures.users.satisfied import NERR8, NERR9, NERR10, NERR11, SatisfiedModel
from cranfield.measures.users.users_of_measures import First, Satisfied, Top
from cranfield.measures.users.wanted_gain import BPM, INSQ, BPMDynamic, ScaledDCG
from cranfield.scales.forms.additive import inverse
from cranfield.scales.forms.exact_numbers import ONE, ZERO, Terms, rational, terms
from cranfield.scales.forms.form import Additive, Form, Row, Setting, Stateful, Step, exactly
from cranfield.scales.forms.stateful import Cascade, FirstFound

FEW = 2_000
"""Ranks over which weights are added up as fractions; beyond, as floats."""

MOST_DIGITS_AT = 200
"""Ranks over which chances are added up at each rank, whose fractions get longer and longer."""


class Told(NamedTuple):
    """What of a user model is told.

    `total` is all that is found (ETU), not what a rank gives (EU); `depth` the last rank that is
    read, where that is not the model's own; `deepest` the last whose gains count.
    """

    total: bool
    depth: int | None
    deepest: int


def _viewed(model: StaticModel) -> Callable[[int], tuple[Fraction, Fraction]]:
    """For a rank the chance that it is read, as a base and a factor of 1 / ln(base)."""
    if isinstance(model, ScaledDCG):
        # Over ln 2, which `_divisor` brings back where the sum of all V does not cancel it.
        return lambda rank: inverse(model.discount, rank)
    exact = exactly(model)
    return lambda rank: (ONE, exact.seen(Fraction(rank)))


def _divisor(model: StaticModel, end: int | None, told: Told) -> tuple[Terms, float]:
    """What sum V g is divided by, and a factor of what cannot be said in fractions."""
    if told.total:
        return (terms({Fraction(2): ONE}) if isinstance(model, ScaledDCG) else rational(1)), 1.0
    if end is None and isinstance(model, RankBiasedPrecision):
        return rational(exactly(model).endless()), 1.0
    if end is None or end > FEW:
        return rational(1), 1.0 / model.read_to(end)
    sums: dict[Fraction, Fraction] = {}
    for base, factor in map(_viewed(model), range(1, end + 1)):
        sums[base] = sums.get(base, ZERO) + factor
    return terms(sums), 1.0


def _static(model: StaticModel, setting: Setting, told: Told) -> Form:
    end, view = model.ranks(told.depth), _viewed(model)
    deepest = told.deepest if end is None else min(told.deepest, end)
    gains = setting.unit_gains(model)
    bases, rows = [], []
    for rank in range(1, setting.length + 1):
        base, factor = view(rank) if rank <= deepest else (ONE, ZERO)
        bases.append(base)
        rows.append(tuple(gain * factor for gain in gains))
    below, factor_of_all = _divisor(model, end, told)
    return Form(Additive(tuple(bases), tuple(rows)), below, factor=factor_of_all)


def _satisfied(model: SatisfiedModel, setting: Setting, told: Told) -> Form | None:
    end = min(setting.length, model.ranks(told.depth) or LAST)
    seen = [exactly(model).patience(Fraction(rank)) for rank in range(1, end + 2)]
    gains = setting.stops(model) if isinstance(model, Satisfied) else setting.unit_gains(model)
    deepest, size = min(end, told.deepest), (setting.length, setting.grades)
    if told.total:
        going_on = tuple(after / here for here, after in pairwise(seen))
        return Form(Cascade(*size, gains, (ONE,) * deepest, going_on))
    if not set(gains) <= {ZERO, ONE}:
        return None
    if end > MOST_DIGITS_AT and set(seen) != {ONE}:
        raise PolicyError(
            f"the chances to read {end} ranks have too many digits for an exact image of {model};"
            f" up to length {MOST_DIGITS_AT} it is feasible"
        )
    # Whoever finds something stops there: V of the rank over the sum of V so far.
    worth = [view / read for view, read in zip(seen, accumulate(seen), strict=True)][:deepest]
    rows = tuple(tuple(value if gain else None for gain in gains) for value in worth)
    return Form(FirstFound(*size, rows))


@dataclass(frozen=True)
class Player(Stateful):
    """A Bejeweled player; the state is what was found, or None after the stop.

    The model, with fractions for numbers, has the limits. Gains are those of each grade; they count
    down to a depth, and reading ends at `end`. `total` is as for :class:`Told`.
    """

    model: Any
    gains: Row
    depth: int
    end: int
    total: bool

    @property
    def start(self) -> Hashable:
        return ZERO

    def step(self, rank: int, state: Any, grade: int) -> Step:
        """What was found, at the rank where the player stops; at the last one, where it will be."""
        if state is None:
            return Step(ZERO, None)
        gain = self.gains[grade] if rank <= self.depth else ZERO
        found = state + gain
        if self.stops(rank, state, gain):
            return Step(self.value(found, rank), None)
        if rank < self.length:
            return Step(ZERO, found)
        while not self.stops(rank, found, ZERO) or rank == self.length:
            rank += 1
        return Step(self.value(found, rank), None)

    def stops(self, rank: int, before: Fraction, gain: Fraction) -> bool:
        enough, most = self.model.limits(rank, before)
        return bool(rank >= self.end or before + gain >= enough or rank >= most)

    def value(self, found: Fraction, rank: int) -> Fraction:
        return found if self.total else found / rank


_LIMITS = ("T", "K", "hb", "hc", "median")


def _player(model: Any, setting: Setting, told: Told) -> Form | None:
    """The form of a player whose numbers floats hold.

    A player stops by comparing sums; with gains such as 1/3 floats compare others.
    """
    if model.unit is not None:
        return None
    exact, gains = exactly(model), setting.unit_gains(model)
    limits = [vars(exact)[name] for name in _LIMITS if name in vars(exact)]
    if any(number.denominator & (number.denominator - 1) for number in (*limits, *gains)):
        return None
    end = model.ranks(told.depth) or LAST
    size = setting.length, setting.grades
    return Form(Player(*size, exact, gains, told.deepest, end, told.total))


_MODELS: dict[type[Measure], Callable[[Any, Setting, Told], Form | None]] = {
    **dict.fromkeys((Top, RankBiasedPrecision, INSQ, ScaledDCG), _static),
    **dict.fromkeys((NERR8, NERR9, NERR10, NERR11, First, Satisfied), _satisfied),
    **dict.fromkeys((BPM, BPMDynamic), _player),
}
"""How the form of each user model is made."""


def of_model(model: UserModel, setting: Setting) -> Form | None:
    """EU, of a model that is a measure itself."""
    return _MODELS[type(model)](model, setting, Told(False, None, setting.depth(model)))


def of_expectation(measure: Expectation, setting: Setting) -> Form | None:
    """EU and ETU; of costs and depths, low is good, and they have no form."""
    maker = _MODELS.get(type(measure.model))
    if maker is None or not isinstance(measure, (EU, ETU)):
        return None
    # The cutoff is the measure's; its user model may not know of it.
    told = Told(isinstance(measure, ETU), measure.depth, setting.depth(measure))
    return maker(measure.model, setting, told)
