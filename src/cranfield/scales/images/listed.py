"""Images that are small enough to be held as a table of all their values."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.measures import Measure
from cranfield.scales.forms.independent_parts import Exact
from cranfield.scales.forms.walk import Bag, Walk
from cranfield.scales.images.representation import Spacing
from cranfield.scales.runs import score_runs

LARGEST = 2**62
"""Ranks and numbers of runs are int64."""
BLOCK = 2**16
"""Runs that are scored at a time."""
MERGED = 2.0**-40
"""Values of a measure without a form are one value within this relative distance."""


class Table:
    """An exact image as a table of whole numbers.

    Parameters
    ----------
    walk
        How runs lead to them.
    bag
        The whole numbers.
    """

    tolerance = 0.0

    def __init__(self, walk: Walk, bag: Bag) -> None:
        self.walk = walk
        self.bag = bag
        self.size = bag.values.size
        self.runs = walk.number()

    @cached_property
    def _before(self) -> Exact:
        """Number of runs before each of the whole numbers."""
        bags = self.walk.end(by_runs=True)
        for rank in reversed(range(len(self.walk.gains))):
            bags = self.walk.last(bags, rank)
        zero = np.zeros(1, dtype=self.walk.many)
        return np.concatenate([zero, np.cumsum(bags[0].runs)])

    @cached_property
    def _values(self) -> Floats:
        return as_floats(self.bag.values, self.walk)

    def listing(self) -> Floats:
        """All values, ascending."""
        return self._values

    def spacing(self) -> Spacing:
        """Gaps and extreme values."""
        low, high = float(self._values[0]), float(self._values[-1])
        if self.size == 1:
            return Spacing(low, high, True, None, None)
        steps = np.diff(self.bag.values)
        least, most = int(steps.min()), int(steps.max())
        unit = self.walk.unit
        return Spacing(low, high, least == most, float(least * unit), float(most * unit))

    def require(self, runs: int, *, by_runs: bool) -> None:
        """Refuse so many runs if their ranks among values, or among runs, are beyond reach."""
        if by_runs:
            check_runs(self.runs)

    def ranks(self, runs: Ints) -> Ints:
        """Number of distinct values up to that of each run."""
        return np.searchsorted(self.bag.values, self.walk.run(runs)) + 1

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        """Number of runs with a lower value, and with the same value, as each run."""
        at = self.ranks(runs) - 1
        check_runs(self.runs)
        return self._before[at].astype(np.int64), np.diff(self._before)[at].astype(np.int64)

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        """Rank of the value within reach of each float, and how many there are."""
        return nearest(self._values, values, reach)


class Enumerated:
    """The image of a measure without a form: the scores of all runs, merged where close.

    Parameters
    ----------
    measure
        The measure.
    runs
        All runs.
    grades, judgments
        As :func:`cranfield.scales.runs.score_runs`.
    """

    tolerance = MERGED

    def __init__(
        self, measure: Measure, runs: Ints, grades: int, judgments: tuple[int, ...]
    ) -> None:
        self.measure, self.grades, self.judgments = measure, grades, judgments
        self.runs = len(runs)
        self.length = runs.shape[1]
        scores = np.sort(self._scores(runs))
        if not np.isfinite(scores).all():
            raise PolicyError(f"{measure} has runs without a finite score, so it has no image")
        reach = self.tolerance * np.maximum(np.abs(scores[1:]), np.abs(scores[:-1]))
        fresh = np.concatenate([[True], np.diff(scores) > reach])
        first = np.flatnonzero(fresh)
        self._values = scores[first]
        self._before = np.append(first, scores.size)
        self.size = first.size

    def _scores(self, runs: Ints) -> Floats:
        parts = [
            score_runs(
                self.measure,
                runs[start : start + BLOCK],
                grades=self.grades,
                judgments=self.judgments,
            )
            for start in range(0, len(runs), BLOCK)
        ]
        return np.concatenate(parts)

    def listing(self) -> Floats:
        """All values, ascending."""
        return self._values

    def spacing(self) -> Spacing:
        """Gaps and extreme values; equal gaps within the tolerance."""
        low, high = float(self._values[0]), float(self._values[-1])
        if self.size == 1:
            return Spacing(low, high, True, None, None)
        steps = np.diff(self._values)
        least, most = float(steps.min()), float(steps.max())
        equal = most - least <= 4 * self.tolerance * max(abs(low), abs(high))
        return Spacing(low, high, equal, least, most)

    def require(self, runs: int, *, by_runs: bool) -> None:
        """Refuse so many runs if their ranks among values, or among runs, are beyond reach."""
        if by_runs:
            check_runs(self.runs)

    def ranks(self, runs: Ints) -> Ints:
        """Number of distinct values up to that of each run."""
        scores = self._scores(runs)
        return np.searchsorted(self._values, scores + self.tolerance * np.abs(scores), side="right")

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        """Number of runs with a lower value, and with the same value, as each run."""
        at = self.ranks(runs) - 1
        check_runs(self.runs)
        return self._before[at].astype(np.int64), np.diff(self._before)[at].astype(np.int64)

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        """Rank of the value within reach of each float, and how many there are."""
        wide = np.maximum(reach, self.tolerance * np.abs(values))
        return nearest(self._values, values, wide)


def nearest(table: Floats, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
    """Rank of the number of an ascending table within reach of each value, and how many are."""
    first = np.searchsorted(table, values - reach)
    last = np.searchsorted(table, values + reach, side="right")
    return first + 1, last - first


def check_runs(total: int) -> None:
    """Refuse to count runs that do not fit into 64 bits."""
    if total >= LARGEST:
        raise PolicyError(
            f"there are about 2^{total.bit_length() - 1} runs, too many to count them by value;"
            " use ties='unique'"
        )


def as_floats(values: Exact, walk: Walk) -> Floats:
    """Whole numbers as the values that they stand for, correctly rounded but for a few units."""
    above, below = walk.unit.numerator, walk.unit.denominator
    if values.dtype == object:
        return np.asarray(values * above / below, dtype=np.float64)
    return values.astype(np.float64) * (above / below)
