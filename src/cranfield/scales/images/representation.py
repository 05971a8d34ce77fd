"""What an image is held as, before unit and offset; small images as tables of all their values.

Sums of parts (`sums.py`) and windows of values (`windows.py`) hold what is too large for a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.measures import Measure
from cranfield.scales.forms.independent_parts import Exact
from cranfield.scales.forms.walk import Bag, Walk
from cranfield.scales.runs import score_runs

MOST_VALUES = 2**22
"""Values that are listed."""
LARGEST = 2**62
"""Ranks and numbers of runs are int64."""


@dataclass(frozen=True)
class Gaps:
    """How the values of an image are spaced.

    Attributes
    ----------
    equispaced
        Whether all gaps between neighbouring values are equal, decided exactly where the image is
        exact.
    smallest, largest
        The extreme gaps; None where there are too many values to tell, and for a single value.
    lowest, highest
        The extreme values.
    unused
        Share of the measure's range below the lowest and above the highest value; None for a
        measure whose range is infinite.
    """

    equispaced: bool
    smallest: float | None
    largest: float | None
    lowest: float
    highest: float
    unused: float | None = None


class Representation(Protocol):
    """The values that the grades alone decide, or what counts them."""

    @property
    def size(self) -> int:
        """Number of distinct values."""

    @property
    def runs(self) -> int:
        """Number of runs."""

    @property
    def tolerance(self) -> float:
        """0 for exact values, else the relative distance within which they count as one."""

    def require(self, runs: int, *, by_runs: bool) -> None:
        """Refuse so many runs if their ranks among values, or among runs, are beyond reach."""

    def gaps(self) -> Gaps:
        """Gaps and extreme values."""

    def listing(self) -> Floats:
        """All values, ascending; only for up to MOST_VALUES."""

    def ranks(self, runs: Ints) -> Ints:
        """Number of distinct values up to that of each run."""

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        """Number of runs with a lower value, and with the same value, as each run."""

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        """Rank of the value within reach of each float, and how many there are."""


def check_runs(total: int) -> None:
    """Refuse to count runs that do not fit into 64 bits."""
    if total >= LARGEST:
        raise PolicyError(
            f"there are about 2^{total.bit_length() - 1} runs, too many to count them by value;"
            " use ties='unique'"
        )


BLOCK = 2**16
"""Runs that are scored at a time."""
MERGED = 2.0**-40
"""Values of a measure without a form are one value within this relative distance."""


class Listed:
    """A table of values; subclasses say which, and what rank a run has."""

    tolerance = 0.0
    size: int
    runs: int

    @cached_property
    def values(self) -> Floats:
        """All values, ascending."""
        raise NotImplementedError

    @cached_property
    def before(self) -> Exact:
        """Number of runs before each value, and after them the number of all."""
        raise NotImplementedError

    def ranks(self, runs: Ints) -> Ints:
        raise NotImplementedError

    def listing(self) -> Floats:
        return self.values

    def gaps(self) -> Gaps:
        low, high = float(self.values[0]), float(self.values[-1])
        if self.size == 1:
            return Gaps(True, None, None, low, high)
        equal, least, most = self.extreme_gaps()
        return Gaps(equal, least, most, low, high)

    def extreme_gaps(self) -> tuple[bool, float, float]:
        """Whether all gaps are equal, within the tolerance; the smallest and the largest."""
        steps = np.diff(self.values)
        least, most = float(steps.min()), float(steps.max())
        ends = abs(float(self.values[0])), abs(float(self.values[-1]))
        return most - least <= 4 * self.tolerance * max(ends), least, most

    def require(self, runs: int, *, by_runs: bool) -> None:
        if by_runs:
            check_runs(self.runs)

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        at = self.ranks(runs) - 1
        check_runs(self.runs)
        return self.before[at].astype(np.int64), np.diff(self.before)[at].astype(np.int64)

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        wide = np.maximum(reach, self.tolerance * np.abs(values))
        first = np.searchsorted(self.values, values - wide)
        last = np.searchsorted(self.values, values + wide, side="right")
        return first + 1, last - first


class Constant(Listed):
    """The image of a measure that has the same value for every run; before its offset it is 0."""

    size = 1

    def __init__(self, runs: int) -> None:
        self.runs, self.values = runs, np.zeros(1)

    def require(self, runs: int, *, by_runs: bool) -> None:
        """Nothing is out of reach, however many runs there are."""

    def ranks(self, runs: Ints) -> Ints:
        return np.ones(len(runs), dtype=np.int64)

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        return np.zeros(len(runs), dtype=np.int64), np.full(len(runs), self.runs)


class Table(Listed):
    """An exact image: a table of whole numbers, and how runs lead to them."""

    def __init__(self, walk: Walk, bag: Bag) -> None:
        self.walk, self.keys = walk, bag.values
        self.size, self.runs = bag.values.size, walk.number()

    @cached_property
    def values(self) -> Floats:
        above, below = self.walk.unit.numerator, self.walk.unit.denominator
        if self.keys.dtype == object:
            return np.asarray(self.keys * above / below, dtype=np.float64)
        return self.keys.astype(np.float64) * (above / below)

    @cached_property
    def before(self) -> Exact:
        bags = self.walk.end(by_runs=True)
        for rank in reversed(range(len(self.walk.gains))):
            bags = self.walk.last(bags, rank)
        zero = np.zeros(1, dtype=self.walk.many)
        return np.concatenate([zero, np.cumsum(bags[0].runs)])

    def extreme_gaps(self) -> tuple[bool, float, float]:
        steps, unit = np.diff(self.keys), self.walk.unit
        least, most = int(steps.min()), int(steps.max())
        return least == most, float(least * unit), float(most * unit)

    def ranks(self, runs: Ints) -> Ints:
        return np.searchsorted(self.keys, self.walk.run(runs)) + 1


class Enumerated(Listed):
    """The image of a measure without a form: the scores of all runs, merged where close."""

    tolerance = MERGED

    def __init__(
        self, measure: Measure, runs: Ints, grades: int, judgments: tuple[int, ...]
    ) -> None:
        self.measure, self.grades, self.judgments = measure, grades, judgments
        scores = np.sort(self._scores(runs))
        if not np.isfinite(scores).all():
            raise PolicyError(f"{measure} has runs without a finite score, so it has no image")
        reach = self.tolerance * np.maximum(np.abs(scores[1:]), np.abs(scores[:-1]))
        first = np.flatnonzero(np.concatenate([[True], np.diff(scores) > reach]))
        self.values, self.before = scores[first], np.append(first, scores.size)
        self.size, self.runs = first.size, scores.size

    def _scores(self, runs: Ints) -> Floats:
        blocks = [runs[start : start + BLOCK] for start in range(0, len(runs), BLOCK)]
        return np.concatenate(
            [
                score_runs(self.measure, block, grades=self.grades, judgments=self.judgments)
                for block in blocks
            ]
        )

    def ranks(self, runs: Ints) -> Ints:
        scores = self._scores(runs)
        return np.searchsorted(self.values, scores + self.tolerance * np.abs(scores), side="right")
