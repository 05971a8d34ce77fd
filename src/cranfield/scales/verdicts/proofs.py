"""Scales of measures at any length, by looking at few runs.

Additive measures are decided against the total orders by the steps between neighbours, of which
there are few kinds. For its own order any measure that rewards swaps and replacements can be
decided at the bottom of the partial order: below all other runs are the empty one, and those with
one document at the last ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice, pairwise
from math import gcd, lcm
from typing import Any

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.base.scale_types import Scale
from cranfield.scales.forms.exact_values import Values, values_of
from cranfield.scales.forms.form import Additive, Form
from cranfield.scales.forms.independent_parts import TooManySumsError, split
from cranfield.scales.images.sums import Sums
from cranfield.scales.verdicts.verdicts import Run, Verdict, Witness

BLOCK = 512
"""Steps that are looked at together."""

Step = tuple[Run, Run]


def rank_based_steps(length: int, top: int) -> Iterator[Step]:
    """Neighbours in the rank-based total order, a pair for each difference that these can have.

    The next run is that with the first possible grade from the end raised by one and all behind it
    from c to 0; what is before is the same and cancels out.
    """
    for k in reversed(range(length)):
        behind = length - 1 - k
        for grade in range(top):
            yield (*[0] * k, grade, *[top] * behind), (*[0] * k, grade + 1, *[0] * behind)


def set_based_steps(length: int, top: int) -> Iterator[Step]:
    """Neighbours in the set-based total order, as needed for a measure of equal weights.

    The next set is that with one of its m documents of the lowest grade g raised by one, and the
    others of grade g, all lower places, from g to 0.
    """
    yield (0,) * length, (1, *[0] * (length - 1))
    for grade in range(1, top):
        for others in range(length):
            # What stands before is the same in both, here of the highest grade.
            same = (top,) * (length - 1 - others)
            yield (*same, *[grade] * (others + 1)), (*same, grade + 1, *[0] * others)


def judge_steps(order: str, steps: Iterable[Step], form: Form, sign: int, reason: str) -> Verdict:
    """Decide a total order from all differences of neighbours."""
    waiting = iter(steps)
    first: tuple[Step, Any] | None = None
    uneven: tuple[Run, ...] = ()
    while block := list(islice(waiting, BLOCK)):
        values = values_of(form, np.array(block).reshape(2 * len(block), -1))
        lower, upper = values.place.reshape(-1, 2).T
        wrong = np.flatnonzero(sign * (upper - lower) <= 0)
        if wrong.size:
            at = int(wrong[0])
            kind = "inverted" if upper[at] != lower[at] else "tied"
            return Verdict(order, None, True, _witness(kind, block[at], form), reason)
        gained = values.keys[upper] - values.keys[lower]
        # Keys of all blocks are over the same denominator, that of the form.
        first = first or (block[0], gained[0])
        differs = np.flatnonzero((gained != first[1]).any(axis=1))
        if differs.size and not uneven:
            uneven = (*first[0], *block[int(differs[0])])
    if uneven:
        return Verdict(order, Scale.ORDINAL, True, _witness("gaps", uneven, form), reason)
    return Verdict(order, Scale.INTERVAL, True, None, reason)


def prove_rank_based(order: str, form: Form, sign: int) -> Verdict:
    steps = rank_based_steps(form.shape.length, form.shape.grades)
    return judge_steps(order, steps, form, sign, "from all steps between neighbours")


def prove_set_based(order: str, form: Form, sign: int) -> Verdict:
    length, top = form.shape.length, form.shape.grades
    assert isinstance(form.shape, Additive)
    gained = [_gained(form, rank) for rank in range(length)]
    for k, grade in np.ndindex(length, top + 1):
        if gained[k][grade] != gained[0][grade]:
            runs = ((grade, *[0] * (length - 1)), (*[0] * k, grade, *[0] * (length - k - 1)))
            return Verdict(order, None, True, _witness("distinguished", runs, form))
    steps = set_based_steps(length, top)
    return judge_steps(order, steps, form, sign, "from all steps between neighbours")


def _gained(form: Form, rank: int) -> list[tuple[Fraction, Fraction] | None]:
    """What each grade gains over grade 0 at a rank: its coefficient and base; None for nothing."""
    assert isinstance(form.shape, Additive)
    if not form.below:
        return [None] * (form.shape.grades + 1)
    row, base = form.shape.coefficients[rank], form.shape.bases[rank]
    return [(one - row[0], base) if one != row[0] else None for one in row]


def bottom_runs(length: int, grades: int) -> Ints:
    """The empty run, and those with one document, of any grade, at either of the last two ranks."""
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
    place = values.place if sign > 0 else values.size - 1 - values.place
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
    for i, step in enumerate(steps):
        if step != steps[0]:
            chosen = (0, 1, i, i + 1)
            shown = tuple(tuple(map(int, runs[lowest[j]])) for j in chosen)
            return Witness("gaps", shown, tuple(found[j] for j in chosen))
    return None


def evenly_spaced(form: Form) -> bool | None:
    """Whether an additive measure's values are equally spaced; None if too many runs tie to say."""
    shape = form.shape
    assert isinstance(shape, Additive)
    if not form.below or _contiguous(shape):
        return True
    try:
        # No grade is relevant: how many documents are so does not matter here.
        return Sums(split(shape, shape.grades + 1), None, 2**30, None).gaps().equispaced
    except TooManySumsError:
        return None


def _contiguous(shape: Additive) -> bool:
    """Whether each rank fills the holes between the values of another, so that none is left.

    If the ranks so far have all multiples of a unit from 0 to T, one more rank leaves no hole if no
    two neighbouring weights of it are more than T + 1 units apart.
    """
    if shape.stateful() is None:
        return False  # weights of several bases have no common unit
    weights = [sorted(set(row)) for row in shape.coefficients]
    steps = [[b - a for a, b in pairwise(row)] for row in weights]
    below = lcm(*(step.denominator for row in steps for step in row))
    whole = [[int(step * below) for step in row] for row in steps if row]
    unit = gcd(*(step for row in whole for step in row))
    total = 0
    for row in sorted(whole, key=max):
        if max(row) > total + unit:
            return False
        total += sum(row)
    return True


def _witness(kind: str, runs: tuple[Run, ...], form: Form) -> Witness:
    values = values_of(form, np.array(runs))
    return Witness(kind, runs, tuple(values.value(int(place)) for place in values.place))
