"""Exact values of measures on given runs, in integers over a common unit.

Additive measures (a weight for each rank times a gain for each grade) are read off their weights;
AP, RR and ERR off their definitions. What has no rational values (DCG and nDCG beyond their first
ranks) and what is not known here is scored in floats, where two values within 2^-40 of the largest
one count as one; `Values.exact` tells which it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.measures import Measure
from cranfield.scales.additive import additive_form, denominator, pool_of
from cranfield.scales.runs import Grades, score_runs

TOLERANCE = 2.0**-40
"""Floats nearer to each other than this, relative to the largest, count as equal."""

FITS = 2**62
"""Integers up to here are held in int64, others in arrays of Python integers."""

Number = Fraction | float


@dataclass(frozen=True, eq=False)
class Values:
    """Values of some runs.

    Attributes
    ----------
    numbers
        The distinct values, ascending, in units; integers if exact, else floats.
    place
        For each run the place of its value among them, from 0.
    unit
        What one means; 1 for floats.
    exact
        Whether the values are exact, and not floats that are compared with a tolerance.
    """

    numbers: NDArray[Any]
    place: NDArray[np.int64]
    unit: Fraction
    exact: bool

    def value(self, place: int) -> Number:
        """Value at a place."""
        number = self.numbers[place]
        return Fraction(int(number)) * self.unit if self.exact else float(number)

    @cached_property
    def gaps(self) -> NDArray[Any]:
        """Differences of neighbouring values, in units; shape (values - 1,)."""
        return np.asarray(self.numbers[1:] - self.numbers[:-1])

    def uneven(self) -> int | None:
        """Return the first place whose gap to the next differs from the first gap; None if none."""
        if self.gaps.size < 2:
            return None
        if self.exact:
            differs = self.gaps != self.gaps[0]
        else:
            differs = np.abs(self.gaps - self.gaps[0]) > 4 * TOLERANCE * np.abs(self.numbers).max()
        found = np.flatnonzero(differs)
        return int(found[0]) if found.size else None


def exact_values(
    measure: Measure,
    runs: Grades,
    grades: int = 1,
    judgments: Sequence[int] | int | None = None,
) -> Values:
    """Score runs, exactly where the measure's values are rational and its definition known here.

    Parameters
    ----------
    measure
        The measure.
    runs
        Grades by rank, shape (runs, ranks).
    grades
        The highest grade.
    judgments
        As for :func:`cranfield.scales.runs.judged_runs`: grades of the topic's documents, or the
        number of those of the highest grade; by default as many as there are ranks.

    Returns
    -------
    Values

    Examples
    --------
    >>> from cranfield.measures import AP
    >>> found = exact_values(AP, np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    >>> [str(found.value(i)) for i in found.place]
    ['0', '1/4', '1/2', '1']
    """
    # One run shows the measure's own objections, such as a grade that it has no room for.
    score_runs(measure, runs[:1], grades=grades, judgments=judgments)
    pool = pool_of(judgments, runs.shape[1], grades)
    counted = runs[:, : measure.cutoff] if measure.cutoff is not None else runs
    form = additive_form(measure, runs.shape[1], grades, judgments)
    if form is not None and form.exact:
        below = denominator([*form.weights, *form.gains])
        weights = [int(one * below) for one in form.weights]
        gains = [int(one * below) for one in form.gains]
        size = max(map(abs, gains)) * sum(map(abs, weights))
        kind: Any = np.int64 if size < FITS else object
        worth = np.array(gains, dtype=kind)[counted]
        numbers = worth @ np.array(weights, dtype=kind)
        numbers = numbers + int(form.constant * below * below)
        return _distinct(numbers, Fraction(1, below * below), exact=True)
    special = {"RR": _rr, "AP": _ap, "GMAP": _ap, "ERR": _err, "nERR": _err}.get(measure.name)
    if special is not None:
        numbers, unit = special(measure, counted, grades, pool)
        return _distinct(numbers, unit, exact=True)
    floats = score_runs(measure, runs, grades=grades, judgments=judgments)
    return _distinct(floats, Fraction(1), exact=False)


def _distinct(numbers: NDArray[Any], unit: Fraction, *, exact: bool) -> Values:
    found, place = np.unique(numbers, return_inverse=True)
    place = np.asarray(place, dtype=np.int64).ravel()
    if not exact and found.size:
        apart = np.diff(found) > TOLERANCE * np.abs(found).max()
        group = np.concatenate([[0], np.cumsum(apart)])
        found, place = found[np.concatenate([[True], apart])], group[place]
    return Values(found, place, unit, exact)


def _common(ranks: int) -> int:
    return lcm(*range(1, ranks + 1))


def _rr(
    measure: Any, runs: Grades, grades: int, pool: NDArray[np.int64]
) -> tuple[NDArray[Any], Fraction]:
    """One over the rank of the first relevant document, in units of 1 / lcm(1..N)."""
    hit = runs >= max(measure.rel, 0)
    common = _common(runs.shape[1])
    kind: Any = np.int64 if common < FITS else object
    worth = np.array([0, *(common // rank for rank in range(1, runs.shape[1] + 1))], dtype=kind)
    first = np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, 0)
    return worth[first], Fraction(1, common)


def _ap(
    measure: Any, runs: Grades, grades: int, pool: NDArray[np.int64]
) -> tuple[NDArray[Any], Fraction]:
    """Sum of the precision at relevant documents, in units of 1 / (RB lcm(1..N))."""
    hit = runs >= max(measure.rel, 0)
    base = int((pool >= measure.rel).sum())
    if measure.denominator == "min" and measure.cutoff is not None:
        base = min(base, measure.cutoff)
    common = _common(runs.shape[1])
    kind: Any = np.int64 if common * runs.shape[1] < FITS else object
    worth = np.array([common // rank for rank in range(1, runs.shape[1] + 1)], dtype=kind)
    seen = np.cumsum(hit, axis=1) * hit
    numbers = seen.astype(kind) @ worth
    # A topic without relevant documents scores 0, and its runs have none.
    return (numbers, Fraction(1, common * base)) if base else (numbers * 0, Fraction(1))


def _err(
    measure: Any, runs: Grades, grades: int, pool: NDArray[np.int64]
) -> tuple[NDArray[Any], Fraction]:
    """Chance to stop at a rank over the rank, in units of 1 / (2^(max_grade N) lcm(1..N))."""
    highest = measure.max_grade or grades
    numbers, unit = _stopping(runs, highest)
    if measure.name == "nERR":
        ideal = np.sort(np.maximum(pool, 0))[::-1][None, :]
        best, best_unit = _stopping(ideal[:, : measure.cutoff], highest)
        top = Fraction(int(best[0])) * best_unit
        return (numbers, unit / top) if top else (numbers * 0, Fraction(1))
    return numbers, unit


def _stopping(runs: Grades, highest: int) -> tuple[NDArray[Any], Fraction]:
    size = runs.shape[1]
    common, whole = _common(size), 2**highest
    kind: Any = np.int64 if common * whole**size < FITS else object
    stop = np.array([2**grade - 1 for grade in range(highest + 1)], dtype=kind)[runs]
    total = np.zeros(len(runs), dtype=kind)
    reach = np.ones(len(runs), dtype=kind)
    for i in range(size):
        # reach is in units of whole^-i, and total in those of whole^-(i + 1) / common.
        total = total * whole + reach * stop[:, i] * (common // (i + 1))
        reach = reach * (whole - stop[:, i])
    return total, Fraction(1, common * whole**size)
