"""Whether the values of a measure on the shortest runs are one step apart, by scoring them all."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.made_up import of_grades

SHORT = 3
"""Ranks of the runs that are all scored: of two grades 15 at most, of six 259."""

MOST = 5
"""The highest grade that is tried: what is uneven with more grades is so with some of these."""

TOLERANCE = 1e-9
"""Steps that differ by less than this part of the largest value are equal."""


@cache
def runs_up_to(length: int, highest: int) -> JudgedRuns:
    """All runs of all lengths up to one, which may be cut off, on a topic that has any of them."""
    kinds = range(-1, highest + 1)
    runs = np.array([run for run in product(kinds, repeat=length) if _ends_once(run)])
    return of_grades(runs, np.full(length, highest), highest, every_grade=True)


def _ends_once(run: tuple[int, ...]) -> bool:
    size = sum(grade >= 0 for grade in run)
    return min(run[:size], default=0) >= 0


def evenly_spaced(score: Callable[[JudgedRuns], Floats], length: int, highest: int) -> bool:
    """Tell whether values on runs of up to so many ranks are one step apart, with grades 0..c.

    Two values always are. Nothing is known of what cannot be scored, nor of a measure that finds
    all runs the same: what is relevant for it may be beyond the grades that are tried.
    """
    try:
        values = np.unique(score(runs_up_to(length, highest))[0])
    except CranfieldError:
        return False
    slack = TOLERANCE * float(np.abs(values).max())
    steps = np.diff(values)
    steps = steps[~(steps <= slack)]
    return bool(np.ptp(steps) <= slack) if steps.size else highest < MOST
