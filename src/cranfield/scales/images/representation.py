"""Tables of the values of an image, and functions shared by the representations of images.

Other images are represented by sums of parts (`sums.py`), by windows of values (`windows.py`) or by
a sample (`sampling.py`).
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
from cranfield.base.parallel import iterate_in_threads
from cranfield.measures.base import Measure
from cranfield.scales.forms.exact_values import BigInts, ValueCounts, Walk
from cranfield.scales.runs import score_runs

CHUNK_SIZE = 2**17
"""Number of inner values that are searched at a time, so that they fit into a core's cache."""
TASK_SIZE = 2**19
"""Number of pairs of a sum x and an outer value that are processed at a time."""

MAX_NEAR_PAIRS = 2**20
"""Maximum number of pairs per call whose sum floats cannot distinguish from x."""


class NearPairs(NamedTuple):
    """Pairs whose sum floats cannot distinguish from x: indices of x and of both values."""

    query: Ints
    outer: Ints
    inner: Ints


def join_counted_ranges(starts: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Concatenate ranges of integers; return the range of each integer, and the integers.

    >>> [part.tolist() for part in join_counted_ranges(np.array([5, 9]), np.array([2, 1]))]
    [[0, 0, 1], [5, 6, 9]]
    """
    range_index = np.repeat(np.arange(counts.size), counts)
    shift = starts - (np.cumsum(counts) - counts)
    return range_index, np.arange(range_index.size) + shift[range_index]


def count_pairs(
    inner: Floats,
    outer: Floats,
    x: Floats,
    slack: float,
    *,
    weights: tuple[Ints, Ints] | None = None,
    jobs: int | None = None,
) -> tuple[Ints, NearPairs]:
    """Count the pairs of an inner and an outer value whose sum is below x, for many x.

    Both arrays are ascending. Pairs whose sum differs from x by at most `slack` are returned
    instead of counted. With `weights` of the inner and outer values, a pair counts as the product
    of its weights.
    """
    # Searching a large array costs a cache miss per step. Therefore inner values are split into
    # pieces, each of which is processed with all queries and outer values that lead into it. Pieces
    # begin in the middle of gaps wider than the slack, so that sums near x are in the same piece.
    starts = _find_pieces(inner, 4 * slack)
    piece_bounds = np.concatenate(
        [[-np.inf], (inner[starts[1:] - 1] + inner[starts[1:]]) / 2, [np.inf]]
    )
    ends = np.append(starts[1:], inner.size)
    # For each query and piece the number of outer values that lead into this piece or a later one.
    outer_ends = np.searchsorted(outer, x[:, None] - piece_bounds, side="right").astype(np.int64)
    cumulative_weights = None if weights is None else np.concatenate([[0], np.cumsum(weights[0])])

    def count_task(bounds: tuple[int, int, int]) -> tuple[int, Ints, NearPairs]:
        piece, start, stop = bounds
        begin = outer_ends[start:stop, piece + 1]
        n_outer = outer_ends[start:stop, piece] - begin
        query, outer_index = join_counted_ranges(begin, n_outer)
        keys = x[start:stop][query] - outer[outer_index]
        values = inner[starts[piece] : ends[piece]]
        position = np.searchsorted(values, keys - slack)
        padded_values = np.append(values, np.inf)
        hits = np.flatnonzero(padded_values[position] <= keys + slack)
        n_near = np.searchsorted(values, keys[hits] + slack, side="right") - position[hits]
        if n_near.sum() > MAX_NEAR_PAIRS:
            raise make_near_error()
        pair, inner_index = join_counted_ranges(position[hits] + starts[piece], n_near)
        hits = hits[pair]
        position += starts[piece]
        terms = position
        if weights is not None and cumulative_weights is not None:
            terms = cumulative_weights[position] * weights[1][outer_index]
        running_totals = np.concatenate([[0], np.cumsum(terms)])
        offsets = np.concatenate([[0], np.cumsum(n_outer)])
        n_below = running_totals[offsets[1:]] - running_totals[offsets[:-1]]
        return start, n_below, NearPairs(query[hits] + start, outer_index[hits], inner_index)

    counts = np.zeros(x.size, dtype=np.int64)
    near_pairs = []
    n_pairs = 0
    for start, n_below, pairs in iterate_in_threads(count_task, _yield_tasks(outer_ends), jobs):
        counts[start : start + n_below.size] += n_below
        near_pairs.append(pairs)
        n_pairs += pairs.query.size
        if n_pairs > MAX_NEAR_PAIRS:
            raise make_near_error()
    no_indices = np.zeros(0, dtype=np.int64)
    columns = [np.concatenate([no_indices, *arrays]) for arrays in zip(*near_pairs, strict=True)]
    return counts, NearPairs(*columns) if columns else NearPairs(no_indices, no_indices, no_indices)


def make_near_error() -> PolicyError:
    return PolicyError(
        "too many possible values are too close for floats to distinguish them; rank fewer values"
        " at a time, or runs (with rank_runs()) instead of scores"
    )


def _find_pieces(inner: Floats, gap: float) -> Ints:
    """Return starts of pieces: the widest gaps above `gap` near multiples of the chunk size."""
    multiples = np.arange(CHUNK_SIZE, inner.size - 64, CHUNK_SIZE)
    window = multiples[:, None] + np.arange(-32, 32)[None, :]
    gaps = inner[window] - inner[window - 1]
    widest_index = gaps.argmax(axis=1)
    rows = np.arange(multiples.size)
    is_wide = gaps[rows, widest_index] > gap
    return np.concatenate([[0], window[rows, widest_index][is_wide]]).astype(np.int64)


def _yield_tasks(outer_ends: Ints) -> Iterator[tuple[int, int, int]]:
    """Yield a piece and a range of queries for each task."""
    for piece in range(outer_ends.shape[1] - 1):
        n_pairs = np.cumsum(outer_ends[:, piece] - outer_ends[:, piece + 1])
        cuts = np.searchsorted(n_pairs, np.arange(TASK_SIZE, int(n_pairs[-1]), TASK_SIZE))
        cuts = np.unique(np.concatenate([[0], cuts, [n_pairs.size]]))
        yield from ((piece, int(a), int(b)) for a, b in pairwise(cuts))


MAX_VALUES = 2**22
"""Maximum number of listed values."""
INT64_BOUND = 2**62
"""Ranks and numbers of runs must be below this bound to be stored in int64."""


@dataclass(frozen=True)
class Gaps:
    """Spacing of the values of an image.

    Attributes
    ----------
    is_equispaced
        Whether all gaps between neighbouring values are equal; exact if the image is exact.
    smallest, largest
        The smallest and the largest gap; None if there is only one value, or if the gaps are
        unequal and too many to list.
    lowest, highest
        The lowest and the highest value.
    unused
        Proportion of the measure's range below the lowest and above the highest value; None for a
        measure whose range is infinite.
    """

    is_equispaced: bool
    smallest: float | None
    largest: float | None
    lowest: float
    highest: float
    unused: float | None = None


def check_n_runs(n_runs: int) -> None:
    """Refuse a number of runs that is too large to be stored in int64."""
    if n_runs >= INT64_BOUND:
        raise PolicyError(
            f"about 2^{n_runs.bit_length() - 1} runs are too many to rank runs instead of values;"
            " use ties='unique'"
        )


class ExactImage:
    """Base class of representations whose ranks are exact, up to their `tolerance`."""

    tolerance = 0.0
    is_approximate = False
    error = 0.0
    confidence = 1.0
    precision = "exact"


BLOCK_SIZE = 2**16
"""Number of runs that are scored at a time."""
MERGE_TOLERANCE = 2.0**-40
"""Relative distance within which neighbouring values of a measure without a form count as equal."""


class ListedImage(ExactImage):
    """Base class of images with a table of values.

    `Image.unit` and `Image.offset` are not yet applied to the values. Values within the
    relative distance `tolerance` count as equal.
    """

    size: int
    n_runs: int

    @cached_property
    def values(self) -> Floats:
        """All values, ascending."""
        raise NotImplementedError

    @cached_property
    def n_runs_below(self) -> BigInts:
        """Number of runs with a value below each value, followed by the number of all runs."""
        raise NotImplementedError

    def rank_runs(self, runs: Ints) -> Ints:
        """Return the number of distinct values up to the value of each run."""
        raise NotImplementedError

    def list_values(self) -> Floats:
        """Return all values, ascending; requires at most `MAX_VALUES` values."""
        return self.values

    def find_gaps(self) -> Gaps:
        min_value, max_value = float(self.values[0]), float(self.values[-1])
        if self.size == 1:
            return Gaps(True, None, None, min_value, max_value)
        is_equal, min_gap, max_gap = self.find_extreme_gaps()
        return Gaps(is_equal, min_gap, max_gap, min_value, max_value)

    def find_extreme_gaps(self) -> tuple[bool, float, float]:
        """Return whether all gaps are equal up to the tolerance, and the extreme gaps."""
        steps = np.diff(self.values)
        min_gap, max_gap = float(steps.min()), float(steps.max())
        ends = abs(float(self.values[0])), abs(float(self.values[-1]))
        return max_gap - min_gap <= 4 * self.tolerance * max(ends), min_gap, max_gap

    def check_rankable(self, n_runs: int, *, counts_runs: bool) -> None:
        """Raise an error if so many runs cannot be ranked, with `counts_runs` among all runs."""
        if counts_runs:
            check_n_runs(self.n_runs)

    def count_lower_and_equal(self, runs: Ints) -> tuple[Ints, Ints]:
        """Return for each run the number of runs with a lower value and with an equal value."""
        indices = self.rank_runs(runs) - 1
        check_n_runs(self.n_runs)
        n_lower, n_equal = self.n_runs_below[indices], np.diff(self.n_runs_below)[indices]
        return n_lower.astype(np.int64), n_equal.astype(np.int64)

    def find_ranks(self, values: Floats, radius: Floats) -> tuple[Ints, Ints]:
        """Return, for each float, the lowest rank of the values in its radius, and their number."""
        widths = np.maximum(radius, self.tolerance * np.abs(values))
        starts = np.searchsorted(self.values, values - widths)
        stops = np.searchsorted(self.values, values + widths, side="right")
        return starts + 1, stops - starts


class ConstantImage(ListedImage):
    """The image of a measure that has the same value for every run."""

    size = 1

    def __init__(self, n_runs: int) -> None:
        self.n_runs, self.values = n_runs, np.zeros(1)

    def check_rankable(self, n_runs: int, *, counts_runs: bool) -> None:
        """Do nothing: any number of runs can be ranked."""

    def rank_runs(self, runs: Ints) -> Ints:
        return np.ones(len(runs), dtype=np.int64)

    def count_lower_and_equal(self, runs: Ints) -> tuple[Ints, Ints]:
        return np.zeros(len(runs), dtype=np.int64), np.full(len(runs), self.n_runs)


class TableImage(ListedImage):
    """An exact image: a table of integers, and the walk that computes the values of runs."""

    def __init__(self, walk: Walk, counts: ValueCounts) -> None:
        self.walk, self.keys = walk, counts.values
        self.size, self.n_runs = counts.values.size, walk.count_runs()

    @cached_property
    def values(self) -> Floats:
        numerator, denominator = self.walk.unit.numerator, self.walk.unit.denominator
        if self.keys.dtype == object:
            return np.asarray(self.keys * numerator / denominator, dtype=np.float64)
        return self.keys.astype(np.float64) * (numerator / denominator)

    @cached_property
    def n_runs_below(self) -> BigInts:
        counts_by_state = self.walk.make_end_counts(counts_runs=True)
        for rank in reversed(range(len(self.walk.gains))):
            counts_by_state = self.walk.prepend_rank(counts_by_state, rank)
        zero = np.zeros(1, dtype=self.walk.run_dtype)
        return np.concatenate([zero, np.cumsum(counts_by_state[0].n_runs)])

    def find_extreme_gaps(self) -> tuple[bool, float, float]:
        steps, unit = np.diff(self.keys), self.walk.unit
        min_gap, max_gap = int(steps.min()), int(steps.max())
        return min_gap == max_gap, float(min_gap * unit), float(max_gap * unit)

    def rank_runs(self, runs: Ints) -> Ints:
        return np.searchsorted(self.keys, self.walk.compute_values(runs)) + 1


class EnumeratedImage(ListedImage):
    """The image of a measure without an exact form: the scores of all runs, up to a tolerance."""

    tolerance = MERGE_TOLERANCE

    def __init__(
        self, measure: Measure, runs: Ints, max_grade: int, judgments: tuple[int, ...]
    ) -> None:
        self.measure, self.max_grade, self.judgments = measure, max_grade, judgments
        scores = np.sort(self._score(runs))
        if not np.isfinite(scores).all():
            score = scores[~np.isfinite(scores)][0]
            raise PolicyError(f"{measure}: scores must be finite to be ranked, got {score}")
        radius = self.tolerance * np.maximum(np.abs(scores[1:]), np.abs(scores[:-1]))
        starts = np.flatnonzero(np.concatenate([[True], np.diff(scores) > radius]))
        self.values, self.n_runs_below = scores[starts], np.append(starts, scores.size)
        self.size, self.n_runs = starts.size, scores.size

    def _score(self, runs: Ints) -> Floats:
        blocks = [runs[start : start + BLOCK_SIZE] for start in range(0, len(runs), BLOCK_SIZE)]
        return np.concatenate(
            [
                score_runs(self.measure, block, grades=self.max_grade, judgments=self.judgments)
                for block in blocks
            ]
        )

    def rank_runs(self, runs: Ints) -> Ints:
        scores = self._score(runs)
        return np.searchsorted(self.values, scores + self.tolerance * np.abs(scores), side="right")
