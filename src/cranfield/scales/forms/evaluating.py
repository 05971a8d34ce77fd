"""Forms, worked out in whole numbers for given runs.

An image goes through all the states of a form; here only those are looked at that the runs lead
to, so that a few long runs cost little.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Ints
from cranfield.scales.forms.form import Additive, Stateful
from cranfield.scales.forms.logarithms import ONE

FITS = 2**62
"""Integers up to here are held in int64, others in arrays of Python integers."""


class Keys(NamedTuple):
    """Sums of a form, as whole multiples of 1 / (whole ln(base)) for each base.

    Attributes
    ----------
    rows
        Shape (runs, bases).
    bases
        The bases.
    whole
        The common denominator.
    """

    rows: NDArray[Any]
    bases: tuple[Fraction, ...]
    whole: int


def keys_of(shape: Additive | Stateful, runs: Ints) -> Keys:
    """Add up what a form gives for each run.

    Examples
    --------
    >>> from cranfield.measures import DCG
    >>> from cranfield.scales.forms.form import form
    >>> found = keys_of(form(DCG, 3).shape, np.array([[1, 1, 1], [0, 0, 1]]))
    >>> found.rows.tolist(), list(map(str, found.bases)), found.whole
    ([[3, 2], [1, 0]], ['2', '3'], 2)
    """
    return _added(shape, runs) if isinstance(shape, Additive) else _followed(shape, runs)


def _added(shape: Additive, runs: Ints) -> Keys:
    ranks = [rank for rank, row in enumerate(shape.coefficients) if any(row)]
    bases = sorted({shape.bases[rank] for rank in ranks}) or [ONE]
    whole, tables = _whole([shape.coefficients[rank] for rank in ranks])
    column = {base: place for place, base in enumerate(bases)}
    rows = np.zeros((len(runs), len(bases)), dtype=tables[0].dtype if tables else np.int64)
    for rank, table in zip(ranks, tables, strict=True):
        rows[:, column[shape.bases[rank]]] += table[runs[:, rank]]
    return Keys(rows, tuple(bases), whole)


def _followed(shape: Stateful, runs: Ints) -> Keys:
    states: list[Hashable] = [shape.start]
    state = np.zeros(len(runs), dtype=np.int64)
    contributions: list[list[Fraction]] = []
    chosen: list[NDArray[np.int32]] = []
    for rank in range(1, shape.length + 1):
        code = state * (shape.grades + 1) + runs[:, rank - 1]
        seen = np.zeros(len(states) * (shape.grades + 1), dtype=bool)
        seen[code] = True
        after: dict[Hashable, int] = {}
        given, to = [], []
        for one in np.flatnonzero(seen).tolist():
            before, grade = divmod(one, shape.grades + 1)
            step = shape.step(rank, states[before], grade)
            assert step is not None  # forms of measures rule nothing out
            given.append(step.contribution)
            to.append(after.setdefault(step.state, len(after)))
        which = (np.cumsum(seen) - 1)[code]
        contributions.append(given)
        chosen.append(which.astype(np.int32))
        states, state = list(after), np.array(to, dtype=np.int64)[which]
    whole, tables = _whole(contributions)
    rows = np.zeros((len(runs), 1), dtype=tables[0].dtype)
    for table, which_ in zip(tables, chosen, strict=True):
        rows[:, 0] += table[which_]
    return Keys(rows, (ONE,), whole)


def _whole(tables: Any) -> tuple[int, list[NDArray[Any]]]:
    """Write lists of fractions in whole numbers over one denominator; sums of one of each fit."""
    whole = lcm(*(one.denominator for table in tables for one in table))
    numbers = [[int(one * whole) for one in table] for table in tables]
    most = sum(max(map(abs, table)) for table in numbers)
    kind: Any = np.int64 if most < FITS else object
    return whole, [np.array(table, dtype=kind) for table in numbers]
