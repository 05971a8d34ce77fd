"""Representations of an image: sums, a table, windows.

Sums of parts (`sums.py`) and windows of values (`windows.py`) hold what is too large for a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.parallel import one_by_one
from cranfield.measures.base import Measure
from cranfield.scales.forms.stateful import Bag, Exact, Walk
from cranfield.scales.runs import score_runs

CHUNK = 2**17
"""Numbers of the inner side that are searched at a time: they fit into a core's cache."""
TASK = 2**19
"""Pairs of a query and a number of the outer side that are looked up at a time."""

MOST_NEAR = 2**20
"""Pairs that floats cannot decide, for one call."""


class Near(NamedTuple):
    """Pairs (a, b) whose sum is so close to x that floats cannot tell: indices of x, of a, of b."""

    query: Ints
    outer: Ints
    inner: Ints


class Counted(NamedTuple):
    """Pairs, or their weight, that are surely below each x, and those that floats cannot decide."""

    below: Ints
    near: Near


def flat_ranges(start: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Write out ranges: for each number of each range, which range and the number.

    >>> [part.tolist() for part in flat_ranges(np.array([5, 9]), np.array([2, 1]))]
    [[0, 0, 1], [5, 6, 9]]
    """
    which = np.repeat(np.arange(count.size), count)
    shift = start - (np.cumsum(count) - count)
    return which, np.arange(which.size) + shift[which]


def count_pairs(
    inner: Floats,
    outer: Floats,
    x: Floats,
    slack: float,
    *,
    weights: tuple[Ints, Ints] | None = None,
    jobs: int | None = None,
) -> Counted:
    """Count the pairs of an outer and an inner number whose sum is below x, for many x.

    Both sides ascend. Pairs within the slack of x are not counted, but returned. With weights of
    the inner and of the outer numbers a pair counts as their product.

    For every outer number a binary search among the inner ones does it. Searching a large array
    costs a cache miss a step; so the inner side is taken in pieces that fit into the cache, each
    with all the queries and outer numbers that lead into it. A piece begins in the middle of a
    gap that is wider than the slack, so that whatever is near x lies in the same piece.
    """
    starts = _pieces(inner, 4 * slack)
    edges = np.concatenate([[-np.inf], (inner[starts[1:] - 1] + inner[starts[1:]]) / 2, [np.inf]])
    ends = np.append(starts[1:], inner.size)
    # Outer numbers up to this one lead into a piece, or a later one, for each query.
    upto = np.searchsorted(outer, x[:, None] - edges[None, :], side="right").astype(np.int64)
    cumulative = None if weights is None else np.concatenate([[0], np.cumsum(weights[0])])

    def task(where: tuple[int, int, int]) -> tuple[int, Ints, Near]:
        piece, first, last = where
        begin = upto[first:last, piece + 1]
        count = upto[first:last, piece] - begin
        query, other = flat_ranges(begin, count)
        keys = x[first:last][query] - outer[other]
        part = inner[starts[piece] : ends[piece]]
        place = np.searchsorted(part, keys - slack)
        padded = np.append(part, np.inf)
        close = np.flatnonzero(padded[place] <= keys + slack)
        many = np.searchsorted(part, keys[close] + slack, side="right") - place[close]
        if many.sum() > MOST_NEAR:
            raise too_near()
        which, inside = flat_ranges(place[close] + starts[piece], many)
        close = close[which]
        place += starts[piece]
        terms = place
        if weights is not None and cumulative is not None:
            terms = cumulative[place] * weights[1][other]
        running = np.concatenate([[0], np.cumsum(terms)])
        border = np.concatenate([[0], np.cumsum(count)])
        below = running[border[1:]] - running[border[:-1]]
        return first, below, Near(query[close] + first, other[close], inside)

    total = np.zeros(x.size, dtype=np.int64)
    undecided = []
    close = 0
    for first, below, near in one_by_one(task, _tasks(upto), jobs):
        total[first : first + below.size] += below
        undecided.append(near)
        close += near.query.size
        if close > MOST_NEAR:
            raise too_near()
    empty = np.zeros(0, dtype=np.int64)
    joined = [np.concatenate([empty, *parts]) for parts in zip(*undecided, strict=True)]
    return Counted(total, Near(*joined) if joined else Near(empty, empty, empty))


def too_near() -> PolicyError:
    return PolicyError(
        "too many values of the image are closer than floats can distinguish; rank"
        " the runs with rank_runs, or fewer at a time"
    )


def _pieces(inner: Floats, gap: float) -> Ints:
    """Return where pieces start: at the widest gap near each multiple of the piece's size."""
    nominal = np.arange(CHUNK, inner.size - 64, CHUNK)
    around = nominal[:, None] + np.arange(-32, 32)[None, :]
    gaps = inner[around] - inner[around - 1]
    best = gaps.argmax(axis=1)
    rows = np.arange(nominal.size)
    wide = gaps[rows, best] > gap
    return np.concatenate([[0], around[rows, best][wide]]).astype(np.int64)


def _tasks(upto: Ints) -> Iterator[tuple[int, int, int]]:
    for piece in range(upto.shape[1] - 1):
        running = np.cumsum(upto[:, piece] - upto[:, piece + 1])
        cuts = np.searchsorted(running, np.arange(TASK, int(running[-1]), TASK))
        cuts = np.unique(np.concatenate([[0], cuts, [running.size]]))
        yield from ((piece, int(a), int(b)) for a, b in pairwise(cuts))


MOST_VALUES = 2**22
"""Values that are listed."""
LARGEST = 2**62
"""Ranks and numbers of runs are int64."""


@dataclass(frozen=True)
class Gaps:
    """Spacing of the values of an image.

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
        Proportion of the measure's range below the lowest and above the highest value; None for a
        measure whose range is infinite.
    """

    equispaced: bool
    smallest: float | None
    largest: float | None
    lowest: float
    highest: float
    unused: float | None = None


def check_runs(total: int) -> None:
    """Refuse to count runs that do not fit into 64 bits."""
    if total >= LARGEST:
        raise PolicyError(
            f"about 2^{total.bit_length() - 1} runs are too many to count by value;"
            " use ties='unique'"
        )


BLOCK = 2**16
"""Runs that are scored at a time."""
MERGED = 2.0**-40
"""Values of a measure without a form are one value within this relative distance."""


class Listed:
    """A table of values; subclasses say which, and what rank a run has.

    Values are those that the grades alone decide. With a tolerance they count as one within that
    relative distance.
    """

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
        """Number of distinct values up to that of each run."""
        raise NotImplementedError

    def listing(self) -> Floats:
        """All values, ascending; only for up to MOST_VALUES."""
        return self.values

    def gaps(self) -> Gaps:
        low, high = float(self.values[0]), float(self.values[-1])
        if self.size == 1:
            return Gaps(True, None, None, low, high)
        equal, smallest, largest = self.extreme_gaps()
        return Gaps(equal, smallest, largest, low, high)

    def extreme_gaps(self) -> tuple[bool, float, float]:
        """Return whether all gaps are equal, within the tolerance, and the extreme gaps."""
        steps = np.diff(self.values)
        smallest, largest = float(steps.min()), float(steps.max())
        ends = abs(float(self.values[0])), abs(float(self.values[-1]))
        return largest - smallest <= 4 * self.tolerance * max(ends), smallest, largest

    def require(self, runs: int, *, by_runs: bool) -> None:
        """Refuse so many runs if their ranks among values, or among runs, are beyond reach."""
        if by_runs:
            check_runs(self.runs)

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        """Number of runs with a lower value, and with the same value, as each run."""
        at = self.ranks(runs) - 1
        check_runs(self.runs)
        return self.before[at].astype(np.int64), np.diff(self.before)[at].astype(np.int64)

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        """Rank of the value within reach of each float, and how many there are."""
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
        self.size, self.runs = bag.values.size, walk.count_runs()

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
            bags = self.walk.values_from(bags, rank)
        zero = np.zeros(1, dtype=self.walk.run_dtype)
        return np.concatenate([zero, np.cumsum(bags[0].runs)])

    def extreme_gaps(self) -> tuple[bool, float, float]:
        steps, unit = np.diff(self.keys), self.walk.unit
        smallest, largest = int(steps.min()), int(steps.max())
        return smallest == largest, float(smallest * unit), float(largest * unit)

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
