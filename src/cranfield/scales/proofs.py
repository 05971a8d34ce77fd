"""Scales of measures at any length, by looking at few runs.

Additive measures are decided against the total orders by the steps between neighbours, of which
there are few kinds. For its own order any measure that rewards swaps and replacements can be
decided at the bottom of the partial order: below all other runs are the empty one, and those with
one document at the last ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.scale import Scale
from cranfield.scales.additive import Additive, denominator
from cranfield.scales.exact import TOLERANCE, Values
from cranfield.scales.verdicts import Run, Verdict, Witness

MONOTONE = frozenset(
    {"P", "R", "RelP", "SetP", "SetR", "SetRelP", "SetF", "SetE", "gP", "gR", "Success"}
    | {"RBP", "DCG", "nDCG", "RR", "AP", "GMAP", "ERR", "nERR"}
)
"""Measures that never get worse by a swap or a replacement that betters a run, as long as gains
rise with the grade."""

MOST_SUMS = 10**6
"""Sums of gains that are listed to see whether they are equally spaced."""

Ints = NDArray[np.int64]
Step = tuple[Any, Run, Run]


def rank_based_steps(form: Additive, length: int) -> Iterator[Step]:
    """Differences of neighbours in the rank-based total order, and runs that show them.

    The next run is that with the first possible grade from the end raised by one and all behind it
    from c to 0; what is before is the same and cancels out.
    """
    weights = [*form.weights, *[0] * (length - len(form.weights))]
    gains, top = form.gains, len(form.gains) - 1
    rest: Any = 0
    for k in reversed(range(length)):
        behind = length - 1 - k
        for grade in range(top):
            lower = (*[0] * k, grade, *[top] * behind)
            upper = (*[0] * k, grade + 1, *[0] * behind)
            gained = weights[k] * (gains[grade + 1] - gains[grade])
            yield gained - rest * (gains[top] - gains[0]), lower, upper
        rest += weights[k]


def set_based_steps(form: Additive, length: int) -> Iterator[Step]:
    """Differences of neighbours in the set-based total order, for a measure of equal weights.

    The next set is that with one of its m documents of the lowest grade g raised by one, and the
    others of grade g, all lower places, from g to 0.
    """
    weight, gains = form.weights[0], form.gains
    top = len(gains) - 1
    yield weight * (gains[1] - gains[0]), (0,) * length, (1, *[0] * (length - 1))
    for grade in range(1, top):
        for others in range(length):
            # What stands before is the same in both, here of the highest grade.
            same = (top,) * (length - 1 - others)
            step = gains[grade + 1] - gains[grade] - others * (gains[grade] - gains[0])
            lower = (*same, *[grade] * (others + 1))
            yield weight * step, lower, (*same, grade + 1, *[0] * others)


def judge_steps(order: str, steps: list[Step], form: Additive, sign: int, reason: str) -> Verdict:
    """Decide a total order from all differences of neighbours."""
    largest = max(abs(step) for step, _, _ in steps)
    slack = 0 if form.exact else 4 * TOLERANCE * largest
    for step, lower, upper in steps:
        if sign * step <= slack:
            kind = "inverted" if sign * step < -slack else "tied"
            return Verdict(order, None, True, _witness(kind, (lower, upper), form), reason)
    for step, lower, upper in steps:
        if abs(step - steps[0][0]) > slack:
            runs = (*steps[0][1:], lower, upper)
            return Verdict(order, Scale.ORDINAL, True, _witness("gaps", runs, form), reason)
    return Verdict(order, Scale.INTERVAL, True, None, reason)


def prove_rank_based(order: str, form: Additive, length: int, sign: int) -> Verdict:
    """Decide an additive measure against the rank-based total order, at any length."""
    steps = list(rank_based_steps(form, length))
    return judge_steps(order, steps, form, sign, "from all steps between neighbours")


def prove_set_based(order: str, form: Additive, length: int, sign: int) -> Verdict:
    """Decide an additive measure against the set-based total order, at any length."""
    weights = [*form.weights, *[0] * (length - len(form.weights))]
    slack = 0 if form.exact else TOLERANCE * max(map(abs, weights))
    top = len(form.gains) - 1
    for k, weight in enumerate(weights):
        if abs(weight - weights[0]) > slack and form.gains[top] != form.gains[0]:
            runs = ((top, *[0] * (length - 1)), (*[0] * k, top, *[0] * (length - k - 1)))
            return Verdict(order, None, True, _witness("distinguished", runs, form))
    steps = list(set_based_steps(form, length))
    return judge_steps(order, steps, form, sign, "from all steps between neighbours")


def bottom_runs(length: int, grades: int) -> Ints:
    """Return runs at the bottom of the partial order.

    The empty run; those with one document, of each grade, at the last rank; and those with one at
    the last rank but one.
    """
    rows = np.zeros((1 + grades * min(length, 2), length), dtype=np.int64)
    levels = np.arange(1, grades + 1)
    rows[levels, -1] = levels
    if length > 1:
        rows[levels + grades, -2] = levels
    return rows


def uneven_bottom(values: Values, runs: Ints, sign: int) -> Witness | None:
    """Two unequal steps among the lowest values of a monotone measure, if it has such.

    Let h be the lowest grade that is worth anything. All runs with more than the last rank are at
    or above that with one h at the last rank but one, so that no others have values below its
    value; those below it are neighbours.
    """
    grades = (len(runs) - 1) // 2
    place = values.place if sign > 0 else values.numbers.size - 1 - values.place
    worth = np.flatnonzero(place[1 : grades + 1] > place[0])
    if not worth.size:
        return None
    known, first = np.unique(place[: grades + 1], return_index=True)
    bound = 1 + grades + int(worth[0])
    lowest = [int(at) for at in first[known < place[bound]]] + [bound]
    if len(lowest) < 3:
        return None
    found: list[Any] = [values.value(int(values.place[at])) for at in lowest]
    steps = [abs(upper - lower) for lower, upper in pairwise(found)]
    slack = 0 if values.exact else 4 * TOLERANCE * max(map(abs, found))
    for i, step in enumerate(steps):
        if abs(step - steps[0]) > slack:
            chosen = (0, 1, i, i + 1)
            shown = tuple(tuple(map(int, runs[lowest[j]])) for j in chosen)
            return Witness("gaps", shown, tuple(found[j] for j in chosen))
    return None


def even_sums(form: Additive, length: int) -> bool | None:
    """Whether the sums of equal weights are equally spaced; None if there are too many to list."""
    if not form.exact or len(set(form.weights)) > 1 or len(form.weights) < length:
        return None
    below = denominator(form.gains)
    worth = sorted({int(gain * below) for gain in form.gains})
    worth = [one - worth[0] for one in worth]
    if worth[-1] * length > MOST_SUMS or length * len(worth) > 10**4:
        return None
    # A bit for each sum that some run has.
    sums = 1
    for _ in range(length):
        sums = sum_bits(sums, worth)
    places = np.flatnonzero(np.array([*reversed(bin(sums)[2:])]) == "1")
    return bool(places.size < 3 or len(set(np.diff(places).tolist())) == 1)


def sum_bits(sums: int, worth: list[int]) -> int:
    """Sums with one more document of any worth, as bits."""
    out = 0
    for one in worth:
        out |= sums << one
    return out


def _witness(kind: str, runs: tuple[Run, ...], form: Additive) -> Witness:
    values = tuple(
        form.constant
        + sum(w * form.gains[grade] for w, grade in zip(form.weights, run, strict=False))
        for run in runs
    )
    return Witness(kind, runs, values)
