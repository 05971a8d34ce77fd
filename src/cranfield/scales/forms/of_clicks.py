"""The forms of measures of click models in which users go on from rank to rank by a chance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cranfield.measures.gains import Gain
from cranfield.measures.users.clicks import Chain, Effort
from cranfield.scales.forms.exact_numbers import ONE, ZERO
from cranfield.scales.forms.form import (
    Additive,
    Form,
    Row,
    Setting,
    Stateful,
    Step,
    exactly,
    row_of,
    upto,
)


@dataclass(frozen=True)
class Chained(Stateful):
    """What a grade adds at a rank, of users who come there; the state is the chance to come there.

    `worth` and `going_on` have for each rank that counts what grades add, and the chance to go on.
    """

    worth: tuple[Row, ...]
    going_on: tuple[Row, ...]

    @property
    def start(self) -> Fraction:
        return ONE

    def step(self, rank: int, state: Any, grade: int) -> Step:
        if rank > len(self.worth):
            return Step(ZERO, ONE)
        return Step(state * self.worth[rank - 1][grade], state * self.going_on[rank - 1][grade])


def chained(measure: Chain, setting: Setting) -> Form:
    """uM, rrM, EBU, and those of DCM and CCM; a sum where all go on whatever they see."""
    exact, grades = exactly(measure), upto(setting.grades)
    nothing = np.full(grades.size, ZERO)

    def of(chances: Gain | None) -> Any:
        return nothing if chances is None else chances.named(grades) + nothing

    worth, going_on = [], []
    for rank in range(1, setting.depth(measure) + 1):
        if isinstance(measure, Effort):
            gains = (exact.satisfying(of, rank) + nothing) / Fraction(rank)
        else:
            gains = np.array(setting.unit_gains(measure), dtype=object)
        worth.append(row_of(exact.share(rank) * of(exact.clicks) * gains))
        going_on.append(row_of(exact.going_on(of, rank) + nothing))
    if all(chance == 1 for row in going_on for chance in row):
        empty = [(ZERO,) * grades.size] * (setting.length - len(worth))
        return Form(Additive.rational([*worth, *empty]))
    return Form(Chained(setting.length, setting.grades, tuple(worth), tuple(going_on)))
