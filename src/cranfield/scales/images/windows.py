"""Images of stateful measures that are too large for a table: counted in windows of values.

The run is cut in two. For each state at the cut the values of the first ranks (few) and of the
last ranks (many) are sorted sets of whole numbers, and a value of the image is a sum of one of
each. All sums within a window of values are written out, sorted and counted, window by window, in
the memory of one window a thread. What is kept is the number of distinct values below every few
thousandth sum; the rank of a value then only takes the sums between it and the next such mark.

Where the whole numbers do not fit into 64 bits (ERR), floats with an allowance for their error say
which sums may be in a window, and arithmetic modulo 2^64 relative to the window's lower border
which are: exact, as windows are narrower than 2^61.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.threads import in_threads, one_by_one
from cranfield.scales.forms.independent_parts import Exact
from cranfield.scales.forms.walk import Walk
from cranfield.scales.images.counting import flat_ranges
from cranfield.scales.images.halves import Halves, halves_of, word
from cranfield.scales.images.representation import Gaps, check_runs

WINDOW = 2**20
"""Sums that a window is meant to have."""
MARK = 2**12
"""Sums between two marks."""
WIDEST = 2**61
MOST_WINDOWS = 2**17
SAMPLE = 2**21
"""Sums from which the windows are chosen."""


@dataclass(frozen=True, eq=False)
class Marks:
    """What a pass over all windows leaves."""

    values: Exact
    """Some values of the image, ascending, the first of each window among them."""
    below: Ints
    """Number of values below each."""
    size: int
    least: int
    most: int
    """The extreme gaps."""
    last: int
    """The largest value."""


class Windows:
    """The image of a stateful measure, counted in windows."""

    tolerance = 0.0

    def __init__(self, walk: Walk, rank: int, jobs: int | None) -> None:
        self.walk, self.rank, self.jobs = walk, rank, jobs
        self.runs = walk.number()
        # At once, so that what is out of reach is refused.
        halves_of(walk, rank, False)

    @property
    def halves(self) -> Halves:
        """What values are sums of; made again when other images were in use since."""
        return halves_of(self.walk, self.rank, False)

    @property
    def size(self) -> int:
        return self.marks.size

    @cached_property
    def marks(self) -> Marks:
        """Look at all windows."""
        borders = self._borders
        windows = list(zip(borders[:-1], borders[1:] - 1, strict=True))
        values, below = [], []
        size, least, most, last = 0, 0, 0, None
        for parts in one_by_one(self._window, windows, self.jobs):
            for low, places, before, distinct, gaps, end in parts:
                values.append(places.astype(self.walk.kind) + low)
                below.append(before + size)
                size += distinct
                steps = [gap for gap in gaps if gap]
                if last is not None:
                    steps.append(int(values[-1][0]) - last)
                least = min([step for step in (least, *steps) if step], default=0)
                most = max([most, *steps])
                last = int(low) + end
        return Marks(np.concatenate(values), np.concatenate(below), size, least, most, last or 0)

    @cached_property
    def _borders(self) -> Exact:
        """Choose windows with about equally many sums, from a sample of them."""
        halves = self.halves
        stride = max(1, halves.pairs // SAMPLE)
        thin = min(int(stride**0.5) + 1, max(1, halves.heads.size // 64))
        thick = max(1, stride // thin)
        sample: list[Floats] = []
        head = tail = 0
        ends: list[tuple[Any, Any]] = []
        for head_end, tail_end in zip(halves.head_ends, halves.tail_ends, strict=True):
            heads, tails = halves.heads[head:head_end], halves.tails[tail:tail_end]
            ends.append((heads.min() + tails[0], heads.max() + tails[-1]))
            some = np.sort(heads)[::thin].astype(np.float64)
            sample.append((some[:, None] + tails[::thick].astype(np.float64)[None, :]).ravel())
            head, tail = head_end, tail_end
        low, high = int(min(one for one, _ in ends)), int(max(one for _, one in ends))
        ordered = np.sort(np.concatenate(sample))
        many = halves.pairs // WINDOW + 1
        inner = {int(one) for one in ordered[np.arange(1, many) * ordered.size // many]}
        chosen = [low, *sorted(one for one in inner if low < one <= high), high + 1]
        pieces = sum((b - a) // WIDEST + 1 for a, b in pairwise(chosen))
        if pieces > MOST_WINDOWS:
            raise PolicyError(
                f"runs of length {len(self.walk.gains)} lead to values with too many digits for"
                " an exact image; shorter runs or fewer grades can be"
            )
        split: list[int] = []
        for a, b in pairwise(chosen):
            parts = (b - a) // WIDEST + 1
            split += [a + (b - a) * i // parts for i in range(parts)]
        return np.array([*split, high + 1], dtype=self.walk.kind)

    def _window(self, window: tuple[Any, Any]) -> list[tuple[Any, ...]]:
        """Write out, sort and count the sums of a window, in pieces if it has too many."""
        found, todo = [], [window]
        while todo:
            low, high = todo.pop()
            ends = np.array([low], dtype=self.walk.kind), np.array([high], dtype=self.walk.kind)
            first = self.halves.where(ends[0])
            count = np.maximum(self.halves.where(ends[1], upto=True) - first, 0)
            if count.sum() > 4 * WINDOW and high > low:
                middle = low + (high - low) // 2
                todo += [(middle + 1, high), (low, middle)]
                continue
            _, sums = self.halves.written(first, count, *ends)
            if sums.size:
                sums.sort()
                found.append((low, *_counted(sums)))
        return found

    def require(self, runs: int, *, by_runs: bool) -> None:
        if by_runs:
            check_runs(self.runs)
        else:
            _ = self._borders

    def ranks(self, runs: Ints) -> Ints:
        return self._ranks(self.walk.run(runs))

    def _ranks(self, values: Exact) -> Ints:
        unique, where = np.unique(values, return_inverse=True)
        marks = self.marks
        at = np.searchsorted(marks.values, unique, side="right") - 1
        low = marks.values[at]
        ranks = marks.below[at].copy()
        for chosen, interval, _ in self._intervals(low, unique):
            ranks[chosen] += np.bincount(interval, minlength=ranks[chosen].size)
        return ranks[where.ravel()]

    def _intervals(self, low: Exact, high: Exact) -> Iterator[tuple[slice, Ints, Ints]]:
        """Distinct sums in intervals, some intervals at a time: which one, and s - low."""
        bits = max(int((high - low).max()).bit_length(), 1)
        step = int(min(max(1, 2**19 // self.halves.heads.size), 2 ** (62 - bits)))
        chosen = [slice(start, start + step) for start in range(0, len(low), step)]

        def task(part: slice) -> tuple[slice, Ints, Ints]:
            interval, sums = self.halves.sums(low[part], high[part])
            sums |= interval << bits
            sums.sort()
            fresh = np.ones(sums.size, dtype=bool)
            fresh[1:] = sums[1:] != sums[:-1]
            kept = sums[fresh]
            return part, kept >> bits, kept & ((1 << bits) - 1)

        yield from one_by_one(task, chosen, self.jobs)

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        unit = self.walk.unit.numerator / self.walk.unit.denominator
        ends = self.gaps()
        inside = np.flatnonzero((values + reach >= ends.lowest) & (values - reach <= ends.highest))
        many = np.zeros(values.size, dtype=np.int64)
        exact = np.zeros(values.size, dtype=self.walk.kind)
        if inside.size:
            # Python's whole numbers first: a float may stand for one beyond 64 bits.
            whole: Any = np.frompyfunc(int, 1, 1)
            low = whole(np.ceil((values - reach)[inside] / unit)).astype(self.walk.kind)
            high = whole(np.floor((values + reach)[inside] / unit)).astype(self.walk.kind)
            for part, interval, sums in self._intervals(low, np.maximum(low, high)):
                at = inside[part]
                many[at] = np.bincount(interval, minlength=at.size)
                exact[at[interval]] = low[part][interval] + sums.astype(self.walk.kind)
        ranks = np.zeros(values.size, dtype=np.int64)
        single = many == 1
        if single.any():
            ranks[single] = self._ranks(exact[single])
        return ranks, many

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        check_runs(self.runs)
        unique, where = np.unique(self.walk.run(runs), return_inverse=True)
        halves = halves_of(self.walk, self.rank, True)
        ends = halves.tail_ends[:-1]
        before = np.concatenate([[0], np.cumsum(halves.tail_runs)])
        # The count starts again with each state.
        heads = np.repeat(before[np.concatenate([[0], ends])], np.diff(halves.head_ends, prepend=0))
        step = max(1, 2**19 // halves.heads.size)

        def task(start: int) -> tuple[Ints, Ints]:
            x = unique[start : start + step]
            first = halves.where(x)
            below = ((before[first] - heads) * halves.head_runs).sum(axis=1)
            count = np.maximum(halves.where(x, upto=True) - first, 0)
            which, tail = flat_ranges(first.ravel(), count.ravel())
            query, head = np.divmod(which, halves.heads.size)
            difference = halves.tail_words[tail] + halves.head_words[head] - word(x)[query]
            weight = halves.tail_runs[tail] * halves.head_runs[head]
            same = np.zeros(x.size, dtype=np.int64)
            np.add.at(below, query[difference < 0], weight[difference < 0])
            np.add.at(same, query[difference == 0], weight[difference == 0])
            return below, same

        found = in_threads(task, range(0, unique.size, step), self.jobs)
        below, same = (np.concatenate(parts)[where.ravel()] for parts in zip(*found, strict=True))
        return below, same

    def listing(self) -> Floats:
        low = self.marks.values
        high = np.append(low[1:] - 1, self.marks.last).astype(self.walk.kind)
        unit = self.walk.unit
        parts = [
            (low[part][interval] + sums.astype(self.walk.kind)) * unit.numerator / unit.denominator
            for part, interval, sums in self._intervals(low, high)
        ]
        return np.concatenate(parts).astype(np.float64)

    def gaps(self) -> Gaps:
        marks, unit = self.marks, self.walk.unit
        low, high = float(int(marks.values[0]) * unit), float(marks.last * unit)
        least, most = float(marks.least * unit), float(marks.most * unit)
        return Gaps(marks.least == marks.most, least, most, low, high)


def _counted(sums: Ints) -> tuple[Ints, Ints, int, tuple[int, int], int]:
    """Marks, numbers before them, distinct number, gaps and the last of ascending sums."""
    steps = np.diff(sums)
    # Whether a sum differs from the one before it, in rows of a mark each.
    fresh = np.zeros(-(-sums.size // MARK) * MARK, dtype=bool)
    np.greater(steps, 0, out=fresh[1 : sums.size])
    rows = np.add.reduce(fresh.reshape(-1, MARK), axis=1, dtype=np.int64)
    below = np.cumsum(rows) - rows + fresh[::MARK]
    distinct = int(rows.sum()) + 1
    gaps = (0, 0)
    if distinct > 1:
        # As unsigned numbers 0 - 1 is the largest of all.
        gaps = int((steps - 1).view(np.uint64).min()) + 1, int(steps.max())
    return sums[::MARK].copy(), below, distinct, gaps, int(sums[-1])
