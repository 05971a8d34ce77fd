"""The forms of the Bejeweled players, who stop at a rank once they have enough, or enough of it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from cranfield.measures.parameters import fraction_of
from cranfield.measures.users.bejewelled import BPM, BPMDynamic
from cranfield.measures.users.model import LAST, UserModel
from cranfield.scales.forms.additive import ZERO, unit_gains
from cranfield.scales.forms.form import Form, Setting, Stateful, Step, form_of


@dataclass(frozen=True)
class Player(Stateful):
    """A player; the state is what was found, or None after the stop.

    Attributes
    ----------
    gains
        Of each grade.
    depth
        Ranks whose gains count.
    end
        The last rank that is read.
    enough, most
        T and K.
    raises, patience, median
        h_b, h_c and the gain that changes nothing.
    total
        Whether all that is found counts, and not what a rank gives.
    """

    gains: tuple[Fraction, ...]
    depth: int
    end: int
    enough: Fraction
    most: Fraction
    raises: Fraction
    patience: Fraction
    median: Fraction
    total: bool

    @property
    def start(self) -> Hashable:
        """Nothing found."""
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
        """Whether a player stops at a rank, after so much gain before it."""
        change = before - self.median * (rank - 1)
        enough, most = self.enough + self.raises * change, self.most + self.patience * change
        return rank >= self.end or before + gain >= enough or rank >= most

    def value(self, found: Fraction, rank: int) -> Fraction:
        """Utility of a player who stops at a rank."""
        return found if self.total else found / rank


class Told(NamedTuple):
    """What of a user model is told.

    Attributes
    ----------
    kind
        EU or ETU.
    depth
        The last rank that is read, where that is not the model's own.
    deepest
        The last rank whose gains count.
    """

    kind: str
    depth: int | None
    deepest: int

    @classmethod
    def of(cls, measure: UserModel, setting: Setting) -> Told:
        """EU, of a model that is a measure itself."""
        return cls("EU", None, setting.depth(measure))


def player_form(model: UserModel, setting: Setting, told: Told) -> Form | None:
    """Return the form of what a player can expect, if it is one whose numbers floats hold.

    A player stops by comparing sums; with gains such as 1/3 floats compare others.
    """
    if not isinstance(model, (BPM, BPMDynamic)) or model.unit is not None:
        return None
    moves = (model.hb, model.hc, model.median) if isinstance(model, BPMDynamic) else (0.0, 0.0, 0.0)
    limits = fraction_of(model.T), fraction_of(model.K)
    change = fraction_of(moves[0]), fraction_of(moves[1]), fraction_of(moves[2])
    gains = unit_gains(model, setting)
    if any(one.denominator & (one.denominator - 1) for one in (*limits, *change, *gains)):
        return None
    end = model.ranks(told.depth) or LAST
    size, reach = (setting.length, setting.grades), (told.deepest, end)
    return Form(Player(*size, gains, *reach, *limits, *change, told.kind == "ETU"))


@form_of(BPM, BPMDynamic)
def _player(measure: UserModel, setting: Setting) -> Form | None:
    return player_form(measure, setting, Told.of(measure, setting))
