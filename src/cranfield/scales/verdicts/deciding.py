"""Verdicts by looking at runs that are listed, for the order of a measure and total orders.

Where there are too many runs to look at all, by proofs, and by witnesses among few.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Ints
from cranfield.base.scale_types import Scale
from cranfield.scales.forms.exact_numbers import Number
from cranfield.scales.forms.exact_values import Values
from cranfield.scales.forms.form import Additive, Form
from cranfield.scales.forms.measure_forms import form
from cranfield.scales.orders.total_orders import rbto, sbto
from cranfield.scales.verdicts.proofs import (
    bottom_runs,
    evenly_spaced,
    prove_rank_based,
    prove_set_based,
    uneven_bottom,
)
from cranfield.scales.verdicts.run_set import LISTED, RunSet
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


SEARCHED = 2**10
"""Runs among which a witness is looked for when there are too many to look at all."""


def searched_verdicts(asked: RunSet, exact: Form | None) -> list[Verdict]:
    """Decide what can be decided: for its own order, the set-based and the rank-based one.

    An additive measure, where any run can be, is decided by the steps between neighbours; against
    others a witness is looked for.
    """
    own = _own(asked)
    if asked.stated is not None or exact is None or not isinstance(exact.shape, Additive):
        return [own, *_witnesses(asked)]
    if not own.decided and (even := evenly_spaced(exact)) is not None:
        scale = Scale.INTERVAL if even else Scale.ORDINAL
        own = Verdict(OWN, scale, True, None, "from its weights and gains")
    return [
        own,
        prove_set_based(SET_BASED, exact, asked.sign),
        prove_rank_based(RANK_BASED, exact, asked.sign),
    ]


def _own(asked: RunSet) -> Verdict:
    """Look at the ranks that count only, and there at all runs or at the bottom of their order."""
    measure, length, grades = asked.measure, asked.length, asked.grades
    depth = length if measure.cutoff is None else min(length, measure.cutoff)
    if asked.can_be_listed(depth):
        runs = asked.listed(depth)
        return own_verdict(asked.values(runs), runs)
    if measure.info.monotone and _rising(asked) and depth > 1 and not asked.graded:
        runs = np.pad(bottom_runs(depth, grades), ((0, 0), (0, length - depth)))
        witness = uneven_bottom(asked.values(runs), runs, asked.sign)
        if witness is not None:
            return Verdict(OWN, Scale.ORDINAL, True, witness, "its lowest values")
    return Verdict(OWN, Scale.ORDINAL, False, None, _reach(grades))


def _witnesses(asked: RunSet) -> list[Verdict]:
    """Look for witnesses against the total orders among short runs padded with grade 0."""
    short = min(asked.length, int(np.log(SEARCHED) / np.log(asked.grades + 1) + 1e-9))
    runs = asked.listed(max(short, 1))
    verdicts = against_total_orders(asked, asked.values(runs), runs)
    reach = _reach(asked.grades)
    return [
        one if one.scale is None else Verdict(one.order, None, False, None, reach)
        for one in verdicts
    ]


def _rising(asked: RunSet) -> bool:
    """Whether a better grade is never worse for a measure with gains."""
    gains = getattr(asked.measure, "gains", None)
    if gains is None or gains.kind in {"binary", "graded"}:
        return True
    exact = form(asked.measure, 2, asked.grades)
    return exact is not None and exact.shape.rises


def _reach(grades: int) -> str:
    longest = int(np.log(LISTED) / np.log(grades + 1) + 1e-9)
    return f"all runs are looked at up to N = {longest}"
