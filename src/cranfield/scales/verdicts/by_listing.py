"""Verdicts by looking at runs that are listed: for the order of a measure, and total orders."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Ints
from cranfield.base.scale_types import Scale
from cranfield.scales.forms.exact_numbers import Number
from cranfield.scales.forms.exact_values import Values
from cranfield.scales.orders.total_orders import rbto, sbto
from cranfield.scales.verdicts.run_set import RunSet
from cranfield.scales.verdicts.verdicts import Verdict, Witness

OWN = "its own order"
SET_BASED = "set-based total order"
RANK_BASED = "rank-based total order"


def own_verdict(values: Values, runs: Ints) -> Verdict:
    """Judge a measure for its own order: whether its values are equally spaced."""
    place = values.uneven()
    if place is None:
        return Verdict(OWN, Scale.INTERVAL)
    return Verdict(OWN, Scale.ORDINAL, True, _gaps(values, runs, place))


def against(order: str, ranks: NDArray[Any], values: Values, runs: Ints, sign: int) -> Verdict:
    """Judge a measure for a weak order of runs, given as the rank of each in it."""
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


def against_total_orders(asked: RunSet, values: Values, runs: Ints) -> list[Verdict]:
    """Judge a measure for the set-based and for the rank-based total order."""
    orders = ((SET_BASED, sbto), (RANK_BASED, rbto))
    return [
        against(order, ranks(runs, asked.grades), values, runs, asked.sign)
        for order, ranks in orders
    ]


def _gaps(values: Values, runs: Ints, place: int) -> Witness:
    """Runs that show that the first gap and the one after `place` are not equal."""
    pairs = [int(np.argmax(values.place == p)) for p in (0, 1, place, place + 1)]
    return _witness("gaps", values, runs, pairs)


def _witness(kind: str, values: Values, runs: Ints, chosen: Any) -> Witness:
    found: tuple[Number, ...] = tuple(values.value(int(values.place[i])) for i in chosen)
    return Witness(kind, tuple(tuple(map(int, runs[i])) for i in chosen), found)
