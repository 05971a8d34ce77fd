"""Images of stateful measures, counted in windows.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.parallel import in_threads, one_by_one
from cranfield.scales.forms.stateful import Bag, Exact, Walk
from cranfield.scales.images.representation import Gaps, check_runs, flat_ranges

MOST_PAIRS = 2**32
"""Sums that are looked at: a minute or two."""
MOST_WIDE = 2**30
"""The same where they do not fit into 64 bits."""
MOST_HEADS = 2**21
"""Values of the first ranks."""


def last_bags(walk: Walk, most: int) -> tuple[int, list[Bag]]:
    """Values of the last ranks from as high a rank as memory allows, for each state before it.

    The rank is counted from 0; there are `most` numbers in all at most.
    """
    rank, bags = len(walk.gains), walk.end(by_runs=False)
    while rank:
        sizes = [sum(bags[to].values.size for to in row if to >= 0) for row in walk.after[rank - 1]]
        if sum(sizes) > 2 * most:
            break
        longer = walk.values_from(bags, rank - 1)
        if sum(bag.values.size for bag in longer) > most:
            break
        rank, bags = rank - 1, longer
    return rank, bags


@dataclass(frozen=True, eq=False)
class Halves:
    """The sums of the first and of the last ranks, by the state between them."""

    heads: Exact
    """Values of the first ranks, state by state."""
    tails: Exact
    """Values of the last ranks, ascending within each state."""
    head_ends: Ints
    tail_ends: Ints
    """Where each state ends among them."""
    slack: float
    """Error of a difference of floats; 0 where whole numbers are compared themselves."""
    head_runs: Exact
    tail_runs: Exact
    """Number of runs of each; empty where they are not counted."""

    @classmethod
    def of(cls, first: Sequence[Bag], last: Sequence[Bag]) -> Halves:
        heads, tails = (np.concatenate([bag.values for bag in bags]) for bags in (first, last))
        ends = [np.cumsum([bag.values.size for bag in bags]) for bags in (first, last)]
        runs = [np.concatenate([bag.runs for bag in bags]) for bags in (first, last)]
        slack = 0.0
        if heads.dtype == object:
            largest = float(max(np.abs(heads))) + float(max(np.abs(tails)))
            slack = largest * 2.0**-48
        return cls(heads, tails, ends[0], ends[1], slack, runs[0], runs[1])

    @cached_property
    def tail_keys(self) -> Any:
        """What is searched: the whole numbers, or floats near them."""
        return self.tails.astype(np.float64) if self.slack else self.tails

    @cached_property
    def tail_words(self) -> Ints:
        return word(self.tails)

    @cached_property
    def head_words(self) -> Ints:
        return word(self.heads)

    @property
    def pairs(self) -> int:
        many = np.diff(self.head_ends, prepend=0) * np.diff(self.tail_ends, prepend=0)
        return int(many.sum())

    def where(self, borders: Exact, *, upto: bool = False) -> Ints:
        """For each border and head the place of the first tail whose sum reaches the border.

        With `upto` that of the first which surely exceeds it. Shape (borders, heads).
        """
        keys = borders[:, None] - self.heads[None, :]
        side: Any = "right" if upto else "left"
        if self.slack:
            keys = keys.astype(np.float64) + (self.slack if upto else -self.slack)
        places = np.empty(keys.shape, dtype=np.int64)
        head = tail = 0
        for head_end, tail_end in zip(self.head_ends, self.tail_ends, strict=True):
            part = self.tail_keys[tail:tail_end]
            places[:, head:head_end] = np.searchsorted(part, keys[:, head:head_end], side) + tail
            head, tail = head_end, tail_end
        return places

    def sums(self, low: Exact, high: Exact) -> tuple[Ints, Ints]:
        """All sums s of several intervals: index of the interval, and s - low; in no order."""
        first = self.where(low)
        count = np.maximum(self.where(high, upto=True) - first, 0)
        return self.written(first, count, low, high)

    def written(self, first: Ints, count: Ints, low: Exact, high: Exact) -> tuple[Ints, Ints]:
        """Write out the sums of each head with so many tails from the first on."""
        shift = self.head_words[None, :] - word(low)[:, None]
        which, tail = flat_ranges(first.ravel(), count.ravel())
        sums = self.tail_words[tail]
        sums += shift.ravel()[which]
        interval = which // self.heads.size if len(low) > 1 else np.zeros(1, dtype=np.int64)
        if self.slack:
            width = word(high - low)
            inside = (sums >= 0) & (sums <= width[interval])
            sums = sums[inside]
            interval = interval[inside] if len(low) > 1 else interval
        return interval, sums


def word(numbers: Exact) -> Ints:
    """Modulo 2^64, as signed numbers."""
    if numbers.dtype == object:
        return (numbers & (2**64 - 1)).astype(np.uint64).view(np.int64)
    return np.asarray(numbers, dtype=np.int64)


@lru_cache(maxsize=2)
def halves_of(walk: Walk, cut: int, by_runs: bool) -> Halves:
    """Make the two halves of an image, with the number of runs of each sum if wanted."""
    heads = walk.start(by_runs)
    for rank in range(cut):
        heads = walk.values_down_to(heads, rank)
        if sum(bag.values.size for bag in heads) > MOST_HEADS:
            raise too_many(walk)
    tails = walk.end(by_runs)
    for rank in reversed(range(cut, len(walk.gains))):
        tails = walk.values_from(tails, rank)
    halves = Halves.of(heads, tails)
    if halves.pairs > (MOST_WIDE if walk.dtype.hasobject else MOST_PAIRS):
        raise too_many(walk)
    return halves


def too_many(walk: Walk) -> PolicyError:
    base, length = walk.gains[0].shape[1], len(walk.gains)
    most = MOST_WIDE if walk.dtype.hasobject else MOST_PAIRS
    longest = min(int((most.bit_length() - 1) / np.log2(base)), length - 1)
    return PolicyError(
        f"there are {base}^{length} runs of length {length} with {base} grades, too many for the"
        " exact image of a measure whose ranks depend on each other; up to about length"
        f" {longest} it is feasible"
    )


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
        self.runs = walk.count_runs()
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
                values.append(places.astype(self.walk.dtype) + low)
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
                f"runs of length {len(self.walk.gains)} have values with too many"
                " digits for an exact image; use shorter runs or fewer grades"
            )
        split: list[int] = []
        for a, b in pairwise(chosen):
            parts = (b - a) // WIDEST + 1
            split += [a + (b - a) * i // parts for i in range(parts)]
        return np.array([*split, high + 1], dtype=self.walk.dtype)

    def _window(self, window: tuple[Any, Any]) -> list[tuple[Any, ...]]:
        """Write out, sort and count the sums of a window, in pieces if it has too many."""
        found, todo = [], [window]
        while todo:
            low, high = todo.pop()
            ends = np.array([low], dtype=self.walk.dtype), np.array([high], dtype=self.walk.dtype)
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
        exact = np.zeros(values.size, dtype=self.walk.dtype)
        if inside.size:
            # Python's whole numbers first: a float may stand for one beyond 64 bits.
            whole: Any = np.frompyfunc(int, 1, 1)
            low = whole(np.ceil((values - reach)[inside] / unit)).astype(self.walk.dtype)
            high = whole(np.floor((values + reach)[inside] / unit)).astype(self.walk.dtype)
            for part, interval, sums in self._intervals(low, np.maximum(low, high)):
                at = inside[part]
                many[at] = np.bincount(interval, minlength=at.size)
                exact[at[interval]] = low[part][interval] + sums.astype(self.walk.dtype)
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
        high = np.append(low[1:] - 1, self.marks.last).astype(self.walk.dtype)
        unit = self.walk.unit
        parts = [
            (low[part][interval] + sums.astype(self.walk.dtype)) * unit.numerator / unit.denominator
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
