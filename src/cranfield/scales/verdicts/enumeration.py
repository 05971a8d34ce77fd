"""Scales of measures by looking at all runs of a length."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Ints
from cranfield.base.scale_types import Scale
from cranfield.measures import Measure
from cranfield.scales.forms.exact_numbers import Number
from cranfield.scales.forms.exact_values import Values
from cranfield.scales.runs import more_than
from cranfield.scales.verdicts.verdicts import Verdict, Witness

OWN = "its own order"
SET_BASED = "set-based total order"
RANK_BASED = "rank-based total order"

LISTED = 2**18
"""Runs that are all looked at; beyond that, proofs and witnesses are looked for."""


def can_be_listed(length: int, grades: int) -> bool:
    """Whether all runs of a length are looked at."""
    return not more_than(LISTED, length, grades)


def own_verdict(values: Values, runs: Ints) -> Verdict:
    """Judge a measure for its own order: whether its values are equally spaced."""
    place = values.uneven()
    if place is None:
        return Verdict(OWN, Scale.INTERVAL)
    return Verdict(OWN, Scale.ORDINAL, True, _gaps(values, runs, place))


def against(order: str, ranks: NDArray[Any], values: Values, runs: Ints, sign: int = 1) -> Verdict:
    """Judge a measure for a given weak order of runs.

    Parameters
    ----------
    order
        Its name.
    ranks
        Rank of each run in it, shape (runs,).
    values
        The measure's values of the runs.
    runs
        Grades by rank, shape (runs, ranks).
    sign
        -1 if low values are the good ones.
    """
    place = values.place if sign > 0 else values.size - 1 - values.place
    classes = np.unique(ranks, return_inverse=True)[1].ravel()
    by_class = np.lexsort((place, classes))
    ordered, sorted_place = classes[by_class], place[by_class]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    ends = np.append(starts[1:], len(ordered)) - 1
    # Within a class the values ascend, so that its least stands first and its greatest last.
    low, high = sorted_place[starts], sorted_place[ends]
    before = np.maximum.accumulate(high)
    for kind, broken in (
        ("inverted", np.flatnonzero(before[:-1] > low[1:])),
        ("distinguished", np.flatnonzero(high > low)),
        ("tied", np.flatnonzero(before[:-1] == low[1:])),
    ):
        if broken.size:
            at = int(broken[0])
            if kind == "distinguished":
                pair = by_class[[starts[at], ends[at]]]
            else:
                greatest = int(np.argmax(high[: at + 1] == before[at]))
                pair = by_class[[ends[greatest], starts[at + 1]]]
            return Verdict(order, None, True, _witness(kind, values, runs, pair))
    uneven = values.uneven()
    if uneven is None:
        return Verdict(order, Scale.INTERVAL)
    return Verdict(order, Scale.ORDINAL, True, _gaps(values, runs, uneven))


def completed(measure: Measure, length: int) -> Measure:
    """Return the measure with the length for a cutoff, if it needs one and has none."""
    if measure.info.at == "cutoff" and measure.info.at_wanted == "required":
        return measure if measure.cutoff is not None else measure @ length
    return measure


def feasible(runs: Ints, pool: list[int], *, exactly: bool) -> NDArray[np.bool_]:
    """Whether runs can be retrieved from a topic's documents.

    Parameters
    ----------
    runs
        Grades by rank, shape (runs, ranks).
    pool
        Grades of the topic's documents.
    exactly
        Whether each document has its grade in the pool; else only their number counts.
    """
    if not exactly:
        return np.asarray((runs > 0).sum(axis=1) <= len(pool))
    out = np.ones(len(runs), dtype=bool)
    for grade in range(1, int(runs.max(initial=0)) + 1):
        out &= (runs == grade).sum(axis=1) <= pool.count(grade)
    return out


def count_feasible(pool: list[int], length: int, grades: int, *, exactly: bool) -> int:
    """Number of runs that can be retrieved from a topic's documents."""
    if not exactly:
        most = min(length, len(pool))
        return sum(comb(length, found) * grades**found for found in range(most + 1))
    # Ways to place the documents of the grades so far at any of the ranks, by how many they are.
    ways = [1] + [0] * length
    for grade in range(1, grades + 1):
        have = pool.count(grade)
        ways = [
            sum(ways[n - k] * comb(length - n + k, k) for k in range(min(n, have) + 1))
            for n in range(length + 1)
        ]
    return sum(ways)


def _gaps(values: Values, runs: Ints, place: int) -> Witness:
    """Runs that show that the first gap and the one after `place` are not equal."""
    pairs = [int(np.argmax(values.place == p)) for p in (0, 1, place, place + 1)]
    return _witness("gaps", values, runs, pairs)


def _witness(kind: str, values: Values, runs: Ints, chosen: Any) -> Witness:
    found: tuple[Number, ...] = tuple(values.value(int(values.place[i])) for i in chosen)
    return Witness(kind, tuple(tuple(map(int, runs[i])) for i in chosen), found)
