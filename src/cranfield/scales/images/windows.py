"""Images of stateful measures, counted in windows.

The ranks of a run are cut in two halves. For each state at the cut, the values of the first ranks
(*heads*, few) and of the last ranks (*tails*, many) are sorted sets of integers, and a value of the
image is the sum of a head and a tail. All sums within a window of values are written out, sorted
and counted, window by window, with the memory of one window per thread. Only the numbers of
distinct values below some sums (*marks*), one in a few thousand, are stored; to rank a value, only
the sums from the last mark on are needed.

If the integers do not fit into 64 bits (ERR), floats with an error bound select the sums that may
be in a window, and arithmetic modulo 2^64, relative to the lower border of the window, decides.
This is exact, as windows are narrower than 2^61.
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
from cranfield.base.parallel import iterate_in_threads, map_in_threads
from cranfield.scales.forms.exact_values import BigInts, ValueCounts, Walk
from cranfield.scales.images.representation import (
    ExactImage,
    Gaps,
    check_n_runs,
    join_counted_ranges,
)

MAX_PAIRS = 2**32
"""Maximum number of enumerated sums, which take a minute or two."""
MAX_WIDE_PAIRS = 2**30
"""Maximum number of enumerated sums, if sums do not fit into 64 bits."""
MAX_HEADS = 2**21
"""Maximum number of values of the first ranks."""


def cut_ranks(walk: Walk, max_values: int) -> tuple[int, list[ValueCounts]]:
    """Return the first rank, from 0, with at most `max_values` tails, and the tails by state."""
    rank, counts_by_state = len(walk.gains), walk.make_end_counts(counts_runs=False)
    while rank:
        sizes = [
            sum(counts_by_state[state].values.size for state in row if state >= 0)
            for row in walk.targets[rank - 1]
        ]
        if sum(sizes) > 2 * max_values:
            break
        new_counts = walk.prepend_rank(counts_by_state, rank - 1)
        if sum(counts.values.size for counts in new_counts) > max_values:
            break
        rank, counts_by_state = rank - 1, new_counts
    return rank, counts_by_state


@dataclass(frozen=True, eq=False)
class Halves:
    """The values of the first ranks (heads) and of the last ranks (tails), by state at the cut."""

    heads: BigInts
    """Values of the first ranks, state by state."""
    tails: BigInts
    """Values of the last ranks, ascending within each state."""
    head_ends: Ints
    tail_ends: Ints
    """Index in `heads` and in `tails` at which the values of each state end."""
    slack: float
    """Bound on the error of a difference of floats; 0 if integers are compared."""
    n_head_runs: BigInts
    n_tail_runs: BigInts
    """Number of runs with each value; empty if runs are not counted."""

    @classmethod
    def join(cls, head_counts: Sequence[ValueCounts], tail_counts: Sequence[ValueCounts]) -> Halves:
        """Concatenate the values of all states, of the first and of the last ranks."""
        halves = head_counts, tail_counts
        heads, tails = (np.concatenate([c.values for c in counts]) for counts in halves)
        ends = [np.cumsum([c.values.size for c in counts]) for counts in halves]
        runs = [np.concatenate([c.n_runs for c in counts]) for counts in halves]
        slack = 0.0
        if heads.dtype == object:
            max_sum = float(max(np.abs(heads))) + float(max(np.abs(tails)))
            slack = max_sum * 2.0**-48
        return cls(heads, tails, ends[0], ends[1], slack, runs[0], runs[1])

    @cached_property
    def tail_keys(self) -> Any:
        """Keys for searching the tails: the tails as int64 if they fit, otherwise as floats."""
        return self.tails.astype(np.float64) if self.slack else self.tails

    @cached_property
    def tail_words(self) -> Ints:
        return to_words(self.tails)

    @cached_property
    def head_words(self) -> Ints:
        return to_words(self.heads)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a head and a tail with the same state."""
        counts = np.diff(self.head_ends, prepend=0) * np.diff(self.tail_ends, prepend=0)
        return int(counts.sum())

    def find_first_tails(self, borders: BigInts, *, is_above: bool = False) -> Ints:
        """Return the index of the first tail whose sum with a head may reach a border.

        The shape is (borders, heads). With `is_above`, it is the first tail whose sum with a head
        is certainly above the border.
        """
        keys = borders[:, None] - self.heads[None, :]
        side: Any = "right" if is_above else "left"
        if self.slack:
            keys = keys.astype(np.float64) + (self.slack if is_above else -self.slack)
        indices = np.empty(keys.shape, dtype=np.int64)
        head_start = tail_start = 0
        for head_end, tail_end in zip(self.head_ends, self.tail_ends, strict=True):
            tail_keys = self.tail_keys[tail_start:tail_end]
            indices[:, head_start:head_end] = (
                np.searchsorted(tail_keys, keys[:, head_start:head_end], side) + tail_start
            )
            head_start, tail_start = head_end, tail_end
        return indices

    def find_tails(self, low: BigInts, high: BigInts) -> tuple[Ints, Ints]:
        """Return, for each interval and head, the index of the first tail whose sum may be inside.

        Also return the number of such tails, which are consecutive.
        """
        first_tails = self.find_first_tails(low)
        return first_tails, np.maximum(self.find_first_tails(high, is_above=True) - first_tails, 0)

    def list_sums(self, low: BigInts, high: BigInts) -> tuple[Ints, Ints]:
        """Return, for each sum inside an interval, its interval and distance from the lower end."""
        return self.compute_sums(*self.find_tails(low, high), low, high)

    def compute_sums(
        self, first_tails: Ints, n_tails: Ints, low: BigInts, high: BigInts
    ) -> tuple[Ints, Ints]:
        """Return the result of :meth:`list_sums` for given tails of each head."""
        shift = self.head_words[None, :] - to_words(low)[:, None]
        pair, tail = join_counted_ranges(first_tails.ravel(), n_tails.ravel())
        sums = self.tail_words[tail]
        sums += shift.ravel()[pair]
        interval = pair // self.heads.size if len(low) > 1 else np.zeros(1, dtype=np.int64)
        if self.slack:
            width = to_words(high - low)
            is_inside = (sums >= 0) & (sums <= width[interval])
            sums = sums[is_inside]
            interval = interval[is_inside] if len(low) > 1 else interval
        return interval, sums


def to_words(numbers: BigInts) -> Ints:
    """Convert integers to signed 64-bit integers, modulo 2^64."""
    if numbers.dtype == object:
        return (numbers & (2**64 - 1)).astype(np.uint64).view(np.int64)
    return np.asarray(numbers, dtype=np.int64)


@lru_cache(maxsize=2)
def make_halves(walk: Walk, cut: int, counts_runs: bool) -> Halves:
    """Make the two halves of an image; with `counts_runs`, count the runs with each value."""
    heads = walk.make_start_counts(counts_runs)
    for rank in range(cut):
        heads = walk.append_rank(heads, rank)
        if sum(counts.values.size for counts in heads) > MAX_HEADS:
            raise make_runs_error(walk)
    tails = walk.make_end_counts(counts_runs)
    for rank in reversed(range(cut, len(walk.gains))):
        tails = walk.prepend_rank(tails, rank)
    halves = Halves.join(heads, tails)
    if halves.n_pairs > (MAX_WIDE_PAIRS if walk.dtype.hasobject else MAX_PAIRS):
        raise make_runs_error(walk)
    return halves


class TooManyRunsError(PolicyError):
    """Raised if there are too many sums to enumerate."""


def make_runs_error(walk: Walk) -> TooManyRunsError:
    base, length = walk.gains[0].shape[1], len(walk.gains)
    max_pairs = MAX_WIDE_PAIRS if walk.dtype.hasobject else MAX_PAIRS
    max_length = min(int((max_pairs.bit_length() - 1) / np.log2(base)), length - 1)
    return TooManyRunsError(
        f"{base}^{length} runs of length {length} with {base} grades have too many values to rank;"
        f" use a length of at most about {max_length}, or a measure whose gains do not depend on"
        f" other ranks, such as RBP@{length}"
    )


WINDOW_SIZE = 2**20
"""Approximate number of sums that are held in memory at a time, a window."""
MARK_SPACING = 2**12
"""Number of sums between two marks (values with a stored rank)."""
MAX_WIDTH = 2**61
"""Maximum width of a window, so that its sums fit into 64 bits."""
MAX_WINDOWS = 2**17
"""Maximum number of windows."""
SAMPLE_SIZE = 2**21
"""Size of the sample of sums from which the borders of windows are chosen."""


@dataclass(frozen=True, eq=False)
class RankMarks:
    """Marks (values with a stored rank), size and extreme gaps of an image."""

    values: BigInts
    """The marks, ascending, including the first value of each window."""
    n_below: Ints
    """Number of values of the image below each mark."""
    size: int
    """Number of values of the image."""
    min_gap: int
    max_gap: int
    """Smallest and largest gap of the image."""
    max_value: int
    """Highest value of the image."""


class WindowedImage(ExactImage):
    """The image of a stateful measure, whose values are counted window by window."""

    def __init__(self, walk: Walk, cut: int, jobs: int | None) -> None:
        self.walk, self.cut, self.jobs = walk, cut, jobs
        self.n_runs = walk.count_runs()
        # Computed at once, so that too many runs raise an error here.
        make_halves(walk, cut, False)

    @property
    def halves(self) -> Halves:
        """The two halves, from a cache shared by all images."""
        return make_halves(self.walk, self.cut, False)

    @property
    def size(self) -> int:
        return self.marks.size

    @cached_property
    def marks(self) -> RankMarks:
        """Marks of the image, from a pass over all windows."""
        borders = self._borders
        windows = list(zip(borders[:-1], borders[1:] - 1, strict=True))
        values, n_below = [], []
        size, min_gap, max_gap, max_value = 0, 0, 0, None
        for pieces in iterate_in_threads(self._summarise_window, windows, self.jobs):
            for low, offsets, n_before, n_distinct, gaps, last_offset in pieces:
                values.append(offsets.astype(self.walk.dtype) + low)
                n_below.append(n_before + size)
                size += n_distinct
                steps = [gap for gap in gaps if gap]
                if max_value is not None:
                    steps.append(int(values[-1][0]) - max_value)
                min_gap = min([step for step in (min_gap, *steps) if step], default=0)
                max_gap = max([max_gap, *steps])
                max_value = int(low) + last_offset
        return RankMarks(
            np.concatenate(values), np.concatenate(n_below), size, min_gap, max_gap, max_value or 0
        )

    @cached_property
    def _borders(self) -> BigInts:
        """Borders of windows with about equal numbers of sums, chosen from a sample of the sums."""
        halves = self.halves
        stride = max(1, halves.n_pairs // SAMPLE_SIZE)
        head_stride = min(int(stride**0.5) + 1, max(1, halves.heads.size // 64))
        tail_stride = max(1, stride // head_stride)
        sample: list[Floats] = []
        head_start = tail_start = 0
        ends: list[tuple[Any, Any]] = []
        for head_end, tail_end in zip(halves.head_ends, halves.tail_ends, strict=True):
            heads, tails = halves.heads[head_start:head_end], halves.tails[tail_start:tail_end]
            ends.append((heads.min() + tails[0], heads.max() + tails[-1]))
            sampled_heads = np.sort(heads)[::head_stride].astype(np.float64)
            sample.append(
                (sampled_heads[:, None] + tails[::tail_stride].astype(np.float64)[None, :]).ravel()
            )
            head_start, tail_start = head_end, tail_end
        low, high = int(min(start for start, _ in ends)), int(max(end for _, end in ends))
        sorted_sample = np.sort(np.concatenate(sample))
        n_windows = halves.n_pairs // WINDOW_SIZE + 1
        quantiles = {
            int(value)
            for value in sorted_sample[np.arange(1, n_windows) * sorted_sample.size // n_windows]
        }
        borders = [low, *sorted(value for value in quantiles if low < value <= high), high + 1]
        n_pieces = [(b - a) // MAX_WIDTH + 1 for a, b in pairwise(borders)]
        if sum(n_pieces) > MAX_WINDOWS:
            raise PolicyError(
                f"values of runs of length {len(self.walk.gains)} have too many digits for exact"
                " ranks; use shorter runs or fewer grades"
            )
        # Windows that are too wide are divided into equal pieces.
        pieces = [
            a + (b - a) * i // n
            for (a, b), n in zip(pairwise(borders), n_pieces, strict=True)
            for i in range(n)
        ]
        return np.array([*pieces, high + 1], dtype=self.walk.dtype)

    def _summarise_window(self, window: tuple[Any, Any]) -> list[tuple[Any, ...]]:
        """Write out, sort and summarise the sums of a window, in pieces if there are too many."""
        pieces, open_windows = [], [window]
        while open_windows:
            low, high = open_windows.pop()
            ends = np.array([low], dtype=self.walk.dtype), np.array([high], dtype=self.walk.dtype)
            first_tails, n_tails = self.halves.find_tails(*ends)
            if n_tails.sum() > 4 * WINDOW_SIZE and high > low:
                middle = low + (high - low) // 2
                open_windows += [(middle + 1, high), (low, middle)]
                continue
            _, sums = self.halves.compute_sums(first_tails, n_tails, *ends)
            if sums.size:
                sums.sort()
                pieces.append((low, *_summarise_sums(sums)))
        return pieces

    def check_rankable(self, n_runs: int, *, counts_runs: bool) -> None:
        if counts_runs:
            check_n_runs(self.n_runs)
        else:
            _ = self._borders

    def rank_runs(self, runs: Ints) -> Ints:
        return self._rank_values(self.walk.compute_values(runs))

    def _rank_values(self, values: BigInts) -> Ints:
        unique_values, inverse = np.unique(values, return_inverse=True)
        marks = self.marks
        index = np.searchsorted(marks.values, unique_values, side="right") - 1
        low = marks.values[index]
        ranks = marks.n_below[index].copy()
        for block, interval, _ in self._yield_intervals(low, unique_values):
            ranks[block] += np.bincount(interval, minlength=ranks[block].size)
        return ranks[inverse.ravel()]

    def _yield_intervals(self, low: BigInts, high: BigInts) -> Iterator[tuple[slice, Ints, Ints]]:
        """Yield blocks of intervals, with the index of the interval and s - low of each value s."""
        bits = max(int((high - low).max()).bit_length(), 1)
        step = int(min(max(1, 2**19 // self.halves.heads.size), 2 ** (62 - bits)))
        slices = [slice(start, start + step) for start in range(0, len(low), step)]

        def list_block(block: slice) -> tuple[slice, Ints, Ints]:
            interval, sums = self.halves.list_sums(low[block], high[block])
            sums |= interval << bits
            sums.sort()
            is_first = np.ones(sums.size, dtype=bool)
            is_first[1:] = sums[1:] != sums[:-1]
            distinct_sums = sums[is_first]
            return block, distinct_sums >> bits, distinct_sums & ((1 << bits) - 1)

        yield from iterate_in_threads(list_block, slices, self.jobs)

    def find_ranks(self, values: Floats, radius: Floats) -> tuple[Ints, Ints]:
        unit = self.walk.unit.numerator / self.walk.unit.denominator
        gaps = self.find_gaps()
        candidates = np.flatnonzero(
            (values + radius >= gaps.lowest) & (values - radius <= gaps.highest)
        )
        matches = np.zeros(values.size, dtype=np.int64)
        integers = np.zeros(values.size, dtype=self.walk.dtype)
        if candidates.size:
            # Python integers first, as a float may exceed 64 bits.
            to_integer: Any = np.frompyfunc(int, 1, 1)
            low = to_integer(np.ceil((values - radius)[candidates] / unit)).astype(self.walk.dtype)
            high = to_integer(np.floor((values + radius)[candidates] / unit)).astype(
                self.walk.dtype
            )
            for block, interval, sums in self._yield_intervals(low, np.maximum(low, high)):
                indices = candidates[block]
                matches[indices] = np.bincount(interval, minlength=indices.size)
                integers[indices[interval]] = low[block][interval] + sums.astype(self.walk.dtype)
        ranks = np.zeros(values.size, dtype=np.int64)
        is_unique = matches == 1
        if is_unique.any():
            ranks[is_unique] = self._rank_values(integers[is_unique])
        return ranks, matches

    def count_lower_and_equal(self, runs: Ints) -> tuple[Ints, Ints]:
        check_n_runs(self.n_runs)
        unique_values, inverse = np.unique(self.walk.compute_values(runs), return_inverse=True)
        halves = make_halves(self.walk, self.cut, True)
        n_before = np.concatenate([[0], np.cumsum(halves.n_tail_runs)])
        # For each head the number of runs before the tails of its state.
        state_starts = n_before[np.concatenate([[0], halves.tail_ends[:-1]])]
        n_previous = np.repeat(state_starts, np.diff(halves.head_ends, prepend=0))
        step = max(1, 2**19 // halves.heads.size)

        def count_block(start: int) -> tuple[Ints, Ints]:
            x = unique_values[start : start + step]
            first_tails, n_tails = halves.find_tails(x, x)
            n_lower = ((n_before[first_tails] - n_previous) * halves.n_head_runs).sum(axis=1)
            pair, tail = join_counted_ranges(first_tails.ravel(), n_tails.ravel())
            query, head = np.divmod(pair, halves.heads.size)
            difference = halves.tail_words[tail] + halves.head_words[head] - to_words(x)[query]
            weight = halves.n_tail_runs[tail] * halves.n_head_runs[head]
            n_equal = np.zeros(x.size, dtype=np.int64)
            np.add.at(n_lower, query[difference < 0], weight[difference < 0])
            np.add.at(n_equal, query[difference == 0], weight[difference == 0])
            return n_lower, n_equal

        blocks = map_in_threads(count_block, range(0, unique_values.size, step), self.jobs)
        n_lower, n_equal = (
            np.concatenate(arrays)[inverse.ravel()] for arrays in zip(*blocks, strict=True)
        )
        return n_lower, n_equal

    def list_values(self) -> Floats:
        low = self.marks.values
        high = np.append(low[1:] - 1, self.marks.max_value).astype(self.walk.dtype)
        values = [
            low[block][interval] + sums.astype(self.walk.dtype)
            for block, interval, sums in self._yield_intervals(low, high)
        ]
        unit = self.walk.unit
        return (np.concatenate(values) * unit.numerator / unit.denominator).astype(np.float64)

    def find_gaps(self) -> Gaps:
        marks, unit = self.marks, self.walk.unit
        min_value, max_value = float(int(marks.values[0]) * unit), float(marks.max_value * unit)
        min_gap, max_gap = float(marks.min_gap * unit), float(marks.max_gap * unit)
        return Gaps(marks.min_gap == marks.max_gap, min_gap, max_gap, min_value, max_value)


def _summarise_sums(sums: Ints) -> tuple[Ints, Ints, int, tuple[int, int], int]:
    """Return the marks of ascending sums, and the counts and gaps that `RankMarks` requires."""
    steps = np.diff(sums)
    # True if a sum differs from its predecessor; padded to full rows between marks.
    is_new = np.zeros(-(-sums.size // MARK_SPACING) * MARK_SPACING, dtype=bool)
    np.greater(steps, 0, out=is_new[1 : sums.size])
    n_new = np.add.reduce(is_new.reshape(-1, MARK_SPACING), axis=1, dtype=np.int64)
    n_below = np.cumsum(n_new) - n_new + is_new[::MARK_SPACING]
    n_distinct = int(n_new.sum()) + 1
    gaps = (0, 0)
    if n_distinct > 1:
        # A step of 0 becomes the largest unsigned number.
        gaps = int((steps - 1).view(np.uint64).min()) + 1, int(steps.max())
    return sums[::MARK_SPACING].copy(), n_below, n_distinct, gaps, int(sums[-1])
