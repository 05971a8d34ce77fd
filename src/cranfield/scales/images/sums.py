"""Images of additive measures: sums of independent parts, counted without listing them.

The parts (`forms/exact_values.py`) are combined into two sides, a long sorted *inner* and a shorter
*outer* one; the rank of x is the number of pairs with a sum up to x. Floats decide nearly all
pairs. The few pairs whose sum is within the floats' error of x are decided exactly: a pair that
consists of the sums of x equals x; every other pair differs from x, and integers with as many
digits as needed decide in which direction.

DCG has some 2^960 values on runs of length 1000, whose exact ranks are not computed. There the
interval-scaled measure is the relative rank, rank / size: a distribution function
(`scales/distribution.py`), known within a stated error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from math import gcd, lcm, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.text import inflect
from cranfield.scales.forms.exact_values import BigInts, FormPart, count_runs, count_sums
from cranfield.scales.forms.form import compute_inverse_log, iterate_precisions, scale_inverse_log
from cranfield.scales.images.representation import (
    INT64_BOUND,
    MAX_VALUES,
    Gaps,
    check_n_runs,
    count_pairs,
)

if TYPE_CHECKING:
    from cranfield.scales.distribution import SumDistribution


MAX_CELLS = 2**23
"""Maximum size of a table by sums of a part and numbers of relevant documents."""
MARGIN = 1 + 2.0**-20
"""Margin for comparing gaps with ranges of irrational weights in floats."""


@dataclass(frozen=True, eq=False)
class LexicographicParts:
    """Parts in an order such that the smallest gap of each exceeds the range of all later parts.

    Ranks are then numbers in a mixed radix. This holds for RBP with evenly spaced gains and
    p < 1 / (grades + 1), for RBP with p = 1/2 and binary gains, and for every single part.
    """

    parts: tuple[FormPart, ...]
    order: tuple[int, ...]
    """Indices of parts by descending weight."""
    limit: int | None
    """Maximum number of relevant documents of a run, or None."""
    has_run_counts: bool
    """Whether runs can be counted: without a limit always, with a limit only if the sum of each
    part determines its number of relevant documents."""

    @classmethod
    def from_parts(cls, parts: Sequence[FormPart], limit: int | None) -> LexicographicParts | None:
        """Order the parts lexicographically; return None if there is no such order."""
        n_cells = max(part.keys.size for part in parts) * ((limit or 0) + 1)
        if n_cells > MAX_CELLS:
            return None
        order = sorted(range(len(parts)), key=lambda i: -float(np.ptp(parts[i].values)))
        active_parts = [parts[i] for i in order if parts[i].keys.size > 1]
        is_exact = len({part.base for part in active_parts}) <= 1
        sums: list[tuple[BigInts, Any]] = [
            (part.keys.astype(object), part.unit) if is_exact else (part.values, 1.0)
            for part in active_parts
        ]
        spans = [(values[-1] - values[0]) * unit for values, unit in sums]
        gaps = [np.diff(values).min() * unit for values, unit in sums]
        later_spans = [0, *accumulate(reversed(spans))][-2::-1]
        margin = 1 if is_exact else MARGIN
        if any(gap <= span * margin for gap, span in zip(gaps, later_spans, strict=True)):
            return None
        is_determined = limit is None or all(part.index.size == part.keys.size for part in parts)
        return cls(tuple(parts), tuple(order), limit, is_determined)

    def count_below(self, digits: Ints, *, counts_runs: bool) -> tuple[Ints, Ints]:
        """Return for each run the total weight of lower sums and the weight of equal sums."""
        room = np.full(len(digits), self.limit or 0)
        n_lower, n_equal = np.zeros(len(digits), dtype=object), np.ones(len(digits), dtype=object)
        for index, (table, weight) in zip(self.order, self._make_tables(counts_runs), strict=True):
            column = digits[:, index]
            # Several runs may have the same sums so far.
            n_lower = n_lower + n_equal * table[column, room]
            n_equal = n_equal * weight[column]
            if self.limit is not None:
                room = room - self.parts[index].min_relevant[column]
        return n_lower.astype(np.int64), n_equal.astype(np.int64)

    def _make_tables(self, counts_runs: bool) -> list[tuple[BigInts, BigInts]]:
        """Return for each part the weight of lower sums, by index and room, and of each sum."""
        # The room is the number of relevant documents that the limit still allows.
        rooms = np.arange((self.limit or 0) + 1)
        tail = np.ones(rooms.size, dtype=object)
        tables = []
        for index in reversed(self.order):
            part = self.parts[index]
            weight = np.ones(part.keys.size, object)
            if counts_runs:
                weight = part.n_runs_by_key.astype(object)
            n_relevant = 0 if self.limit is None else part.min_relevant[:, None]
            rooms_left = np.broadcast_to(rooms - n_relevant, (part.keys.size, rooms.size))
            ways = np.where(rooms_left >= 0, tail[np.maximum(rooms_left, 0)], 0) * weight[:, None]
            cumulated_ways = np.cumsum(ways, axis=0)
            tables.append((cumulated_ways - ways, weight))
            tail = cumulated_ways[-1]
        return tables[::-1]


MIN_INNER = 2**12
"""Minimum of the intended number of sums of the inner side."""
TYPICAL_RUNS = 2**12
"""Typical number of ranked runs, for which the sizes of both sides are chosen."""


@dataclass(frozen=True, eq=False)
class Side:
    """All sums of an entry of each of several parts, ascending.

    The `code` of a sum is the flat index of its entries in an array of shape `shape`; `keys` has
    for each part the index of the part's sum by entry.
    """

    parts: tuple[int, ...]
    values: Floats
    code: Ints
    shape: tuple[int, ...]
    keys: tuple[Ints, ...]
    min_relevant: Ints
    """Minimum number of relevant documents with each sum."""
    n_runs: Ints
    """Number of runs with each sum."""

    def find_digits(self, indices: Ints) -> list[Ints]:
        """Return for each part the indices of its sums, from the indices of total sums."""
        if not self.parts:
            return []
        entries = np.unravel_index(self.code[indices], self.shape)
        return [keys[entry] for keys, entry in zip(self.keys, entries, strict=True)]

    def select(self, is_selected: NDArray[np.bool_]) -> Side:
        return replace(
            self,
            values=self.values[is_selected],
            code=self.code[is_selected],
            min_relevant=self.min_relevant[is_selected],
            n_runs=self.n_runs[is_selected],
        )


class Sides(NamedTuple):
    """The inner (longer) side, which is searched, and the outer (shorter) side."""

    inner: Side
    outer: Side

    def find_digits(self, inner: Ints, outer: Ints) -> Ints:
        """Return the indices of the sums of all parts for pairs of an inner and an outer sum."""
        columns = dict(zip(self.inner.parts, self.inner.find_digits(inner), strict=True))
        columns.update(zip(self.outer.parts, self.outer.find_digits(outer), strict=True))
        return np.stack([columns[part] for part in range(len(columns))], axis=1)

    def limit_relevant(self, limit: int | None) -> Iterator[Sides]:
        """Yield sides that together have all pairs with at most `limit` relevant documents."""
        inner, outer = self
        if limit is None:
            yield self
            return
        rooms = np.minimum(limit - outer.min_relevant, int(inner.min_relevant.max()))
        for room in np.unique(rooms[rooms >= 0]):
            yield Sides(inner.select(inner.min_relevant <= room), outer.select(rooms == room))


class SideSplit(NamedTuple):
    """Indices of the parts of the inner and of the outer side, and number of outer sums."""

    inner: list[int]
    outer: list[int]
    n_outer: int


def split_sides(
    parts: tuple[FormPart, ...], limit: int | None, counts_runs: bool, memory: int
) -> SideSplit:
    """Assign parts to sides; raise an error if the outer side is too long.

    With `counts_runs`, sums are weighted by numbers of runs; `memory` is the maximum size of the
    inner side in bytes.
    """
    has_counts = counts_runs and limit is not None
    lengths = [part.index.size if has_counts else part.keys.size for part in parts]
    # Peak memory per entry of the inner side, with a margin.
    entry_bytes = 60 + 36 * counts_runs + 36 * (limit is not None)
    max_length = max(MIN_INNER, memory // entry_bytes)
    best_length = int((min(prod(lengths), 2**80) * TYPICAL_RUNS) ** 0.5)
    target = min(max_length, max(MIN_INNER, best_length))
    inner: list[int] = []
    size = 1
    for index in sorted(range(len(parts)), key=lambda part: -lengths[part]):
        if size * lengths[index] <= target or not inner:
            inner.append(index)
            size *= lengths[index]
    outer = [index for index in range(len(parts)) if index not in inner]
    n_outer = prod(lengths[index] for index in outer)
    if n_outer > max_length:
        raise make_size_error(prod(lengths))
    return SideSplit(inner, outer, n_outer)


@lru_cache(maxsize=1)
def make_sides(
    parts: tuple[FormPart, ...], limit: int | None, counts_runs: bool, memory: int
) -> Sides:
    """Make the inner and the outer side; arguments as for :func:`split_sides`."""
    inner, outer, _ = split_sides(parts, limit, counts_runs, memory)
    make_side = partial(_make_side, parts, has_limit=limit is not None, counts_runs=counts_runs)
    return Sides(make_side(inner), make_side(outer))


def _make_side(
    parts: tuple[FormPart, ...], indices: list[int], *, has_limit: bool, counts_runs: bool
) -> Side:
    values, n_relevant, n_runs = np.zeros(1), np.zeros(1, np.int64), np.ones(1, np.int64)
    keys = []
    for index in indices:
        part = parts[index]
        if counts_runs and has_limit:
            key, n_hits, n_ties = part.index, part.n_relevant, part.n_runs
        else:
            key, n_hits, n_ties = np.arange(part.keys.size), part.min_relevant, part.n_runs_by_key
        values = (values[:, None] + part.values[key][None, :]).ravel()
        if has_limit:
            n_relevant = (n_relevant[:, None] + n_hits[None, :]).ravel()
        if counts_runs:
            n_runs = (n_runs[:, None] * n_ties.astype(np.int64)[None, :]).ravel()
        keys.append(key)
    shape = tuple(key.size for key in keys)
    order = np.argsort(values)
    n_relevant = n_relevant[order] if has_limit else np.broadcast_to(n_relevant, order.shape)
    n_runs = n_runs[order] if counts_runs else np.broadcast_to(n_runs, order.shape)
    return Side(tuple(indices), values[order], order, shape, tuple(keys), n_relevant, n_runs)


def make_size_error(n_values: int) -> PolicyError:
    return PolicyError(
        f"the measure has about 2^{n_values.bit_length() - 1} possible values, too many to rank"
        " exactly (up to about 2^45 are feasible); use shorter runs or fewer grades"
    )


EPSILON = 2.0**-52
MAX_COUNTED = 2**44
"""Maximum number of values among which ranks are counted; 2^40 values take a minute."""
MAX_LOOKUPS = 2**37
"""Maximum number of searches per call, which take some hours."""
MAX_COMPARED = 2**16
"""Maximum number of candidates for the smallest gap that are compared exactly."""


class SummedImage:
    """The image of an additive measure, whose values are counted as sums of parts."""

    tolerance = 0.0
    confidence = 1.0

    def __init__(
        self, parts: Sequence[FormPart], limit: int | None, memory: int, jobs: int | None
    ) -> None:
        # Parts with a single sum only shift the values, but count towards the number of runs.
        self.parts = tuple(parts)
        self.limit = limit
        self.memory = memory
        self.jobs = jobs
        self.size = count_sums(self.parts, limit)
        self.n_runs = count_runs(self.parts, limit)
        self.lexicographic = LexicographicParts.from_parts(self.parts, limit)
        # If there are too many values to count ranks, relative ranks are approximated.
        self.is_approximate = (
            limit is None and self.lexicographic is None and self.size > MAX_COUNTED
        )

    @cached_property
    def slack(self) -> float:
        """Bound on the error of a difference of two sums of floats."""
        max_sum = sum(float(np.abs(part.values).max()) for part in self.parts)
        return (4 * len(self.parts) + 32) * EPSILON * max_sum

    def find_digits(self, runs: Ints) -> Ints:
        """Return for each run the index of its sum in each part; shape (runs, parts)."""
        return np.stack([part.find_sums(runs) for part in self.parts], axis=1)

    def compute_floats(self, digits: Ints) -> Floats:
        """Return the values as floats, from the indices of the sums in all parts."""
        columns = zip(self.parts, digits.T, strict=True)
        return np.asarray(sum(part.values[column] for part, column in columns), dtype=np.float64)

    @cached_property
    def distribution(self) -> SumDistribution:
        """Distribution of the values, which takes some seconds to compute."""
        # Imported here, as SciPy's transforms load slowly.
        from cranfield.scales.distribution import compute_distribution

        parts = [part.values for part in self.parts if part.values.size > 1]
        return compute_distribution(parts, memory=self.memory, jobs=self.jobs)

    @property
    def error(self) -> float:
        """Proved bound on the error of relative ranks."""
        return self.distribution.error if self.is_approximate else 0.0

    @property
    def precision(self) -> str:
        return f"accurate to {self.error:.1g}" if self.is_approximate else "exact"

    def compute_relative_ranks(self, runs: Ints) -> Floats:
        """Return the proportion of values up to the value of each run, within the error."""
        shift = sum(float(part.values[0]) for part in self.parts if part.values.size == 1)
        return self.distribution.cdf(self.compute_floats(self.find_digits(runs)) - shift)

    def check_rankable(self, n_runs: int, *, counts_runs: bool) -> None:
        if counts_runs:
            check_n_runs(self.n_runs)
        else:
            self._check_size()
        if not self._is_lexicographic(counts_runs):
            n_outer = split_sides(self.parts, self.limit, counts_runs, self.memory).n_outer
            self._check_lookups(n_outer, n_runs)

    def rank_runs(self, runs: Ints) -> Ints:
        return self._rank_digits(self.find_digits(runs))

    def count_lower_and_equal(self, runs: Ints) -> tuple[Ints, Ints]:
        check_n_runs(self.n_runs)
        return self._count_below(self.find_digits(runs), counts_runs=True)

    def _is_lexicographic(self, counts_runs: bool) -> bool:
        parts = self.lexicographic
        return parts is not None and (not counts_runs or parts.has_run_counts)

    def _check_size(self) -> None:
        if self.size >= INT64_BOUND:
            raise make_size_error(self.size)

    def _rank_digits(self, digits: Ints) -> Ints:
        self._check_size()
        return self._count_below(digits, counts_runs=False)[0] + 1

    def _count_below(self, digits: Ints, *, counts_runs: bool) -> tuple[Ints, Ints]:
        """Return for each run the total weight of lower sums and the weight of equal sums."""
        unique_digits, inverse = np.unique(digits, axis=0, return_inverse=True)
        inverse = inverse.ravel()
        if self.lexicographic and self._is_lexicographic(counts_runs):
            n_lower, n_equal = self.lexicographic.count_below(
                unique_digits, counts_runs=counts_runs
            )
            return n_lower[inverse], n_equal[inverse]
        n_lower, n_equal = np.zeros((2, len(unique_digits)), dtype=np.int64)
        x = self.compute_floats(unique_digits)
        for sides in self._find_sides(counts_runs).limit_relevant(self.limit):
            inner, outer = sides
            self._check_lookups(outer.values.size, x.size)
            weights = (inner.n_runs, outer.n_runs) if counts_runs else None
            n_below, pairs = count_pairs(
                inner.values, outer.values, x, self.slack, weights=weights, jobs=self.jobs
            )
            n_lower += n_below
            sums = sides.find_digits(pairs.inner, pairs.outer)
            sign = self._compare(sums, unique_digits[pairs.query])
            weight = outer.n_runs[pairs.outer] * inner.n_runs[pairs.inner]
            np.add.at(n_lower, pairs.query[sign < 0], weight[sign < 0])
            np.add.at(n_equal, pairs.query[sign == 0], weight[sign == 0])
        return n_lower[inverse], n_equal[inverse]

    def _find_sides(self, counts_runs: bool) -> Sides:
        return make_sides(self.parts, self.limit, counts_runs, self.memory)

    def _check_lookups(self, n_outer: int, n_runs: int) -> None:
        if n_outer * n_runs > MAX_LOOKUPS:
            raise PolicyError(
                f"the measure has {self.size:,} possible values, and ranking"
                f" {inflect(n_runs, 'run')} among them exactly would take many hours; use shorter"
                " runs, fewer grades or fewer runs"
            )

    def _compare(self, a: Ints, b: Ints) -> Ints:
        """Return the exact sign of a - b for pairs of sums."""
        sign = np.zeros(len(a), dtype=np.int64)
        open_pairs = np.flatnonzero((a != b).any(axis=1))
        for bits in iterate_precisions() if open_pairs.size else ():
            difference, max_error = self._subtract_sums(a[open_pairs], b[open_pairs], bits)
            is_decided = np.abs(difference) > max_error
            sign[open_pairs[is_decided]] = np.where(difference[is_decided] > 0, 1, -1)
            open_pairs = open_pairs[~is_decided]
            if not open_pairs.size:
                break
        return sign

    @cached_property
    def _common_denominator(self) -> int:
        return lcm(*(part.unit.denominator for part in self.parts))

    def _subtract_sums(self, a: Ints, b: Ints, bits: int) -> tuple[BigInts, BigInts]:
        """Return a - b times 2^bits and the common denominator, and bounds on its error."""
        difference, max_error = np.zeros((2, len(a)), dtype=object)
        for part, column_a, column_b in zip(self.parts, a.T, b.T, strict=True):
            step = part.keys[column_a].astype(object) - part.keys[column_b].astype(object)
            step = step * int(part.unit * self._common_denominator)
            difference = difference + step * scale_inverse_log(part.base, bits)
            max_error = max_error + np.abs(step)
        return difference, max_error

    def find_ranks(self, values: Floats, radius: Floats) -> tuple[Ints, Ints]:
        self._check_size()
        radius = radius + self.slack
        matches = np.zeros(values.size, dtype=np.int64)
        digits = np.zeros((values.size, len(self.parts)), dtype=np.int64)
        for sides in self._find_sides(False).limit_relevant(self.limit):
            inner, outer = sides
            self._check_lookups(outer.values.size, values.size)
            max_radius = float(radius.max())
            _, pairs = count_pairs(inner.values, outer.values, values, max_radius, jobs=self.jobs)
            sums = outer.values[pairs.outer] + inner.values[pairs.inner]
            is_close = np.abs(sums - values[pairs.query]) <= radius[pairs.query]
            query = pairs.query[is_close]
            np.add.at(matches, query, 1)
            digits[query] = sides.find_digits(pairs.inner[is_close], pairs.outer[is_close])
        ranks = np.zeros(values.size, dtype=np.int64)
        is_unique = matches == 1
        if is_unique.any():
            ranks[is_unique] = self._rank_digits(digits[is_unique])
        return ranks, matches

    def list_values(self) -> Floats:
        return self._list_sums()[0]

    def _list_sums(self) -> tuple[Floats, Ints]:
        """Return all values, ascending, and the indices of their sums of parts."""
        sides = self._find_sides(False)
        inner, outer = sides
        i, j = np.divmod(np.arange(outer.values.size * inner.values.size), inner.values.size)
        if self.limit is not None:
            is_allowed = outer.min_relevant[i] + inner.min_relevant[j] <= self.limit
            i, j = i[is_allowed], j[is_allowed]
        values = outer.values[i] + inner.values[j]
        order = np.argsort(values, kind="stable")
        return values[order], sides.find_digits(j[order], i[order])

    def find_gaps(self) -> Gaps:
        min_value, max_value = map(float, self._find_extremes([part.values for part in self.parts]))
        parts = [part for part in self.parts if part.keys.size > 1]
        if self.size == 1:
            return Gaps(True, None, None, min_value, max_value)
        # Weights of different bases have no common unit, so that the gaps cannot all be equal.
        if len({part.base for part in parts}) == 1:
            step = self._find_step(parts)
            multiples = [
                (part.keys - part.keys[0]).astype(object) * part.unit / step for part in parts
            ]
            lowest_multiple, highest_multiple = self._find_extremes(multiples, parts)
            if highest_multiple - lowest_multiple + 1 == self.size:
                gap = float(step) * compute_inverse_log(parts[0].base)
                return Gaps(True, gap, gap, min_value, max_value)
        if self.size > MAX_VALUES:
            return Gaps(False, None, None, min_value, max_value)
        return Gaps(*self._list_gaps(), min_value, max_value)

    @staticmethod
    def _find_step(parts: Sequence[FormPart]) -> Fraction:
        """Return the greatest common divisor of all differences of sums of the same base."""
        denominator = lcm(*(part.unit.denominator for part in parts))
        divisors = [
            gcd(*map(int, np.diff(part.keys))) * int(part.unit * denominator) for part in parts
        ]
        return Fraction(gcd(*divisors), denominator)

    def _list_gaps(self) -> tuple[bool, float, float]:
        """Return whether all gaps are equal, and the smallest and the largest gap."""
        values, digits = self._list_sums()
        steps = np.diff(values)
        # Close floats may be in the wrong order, and their distance is mostly rounding error.
        close_steps = np.flatnonzero(steps <= float(steps.min()) + 4 * self.slack)
        close_steps = close_steps[np.argsort(steps[close_steps], kind="stable")[:MAX_COMPARED]]
        members = np.union1d(close_steps, close_steps + 1)
        offsets, _ = self._subtract_sums(digits[members], digits[np.zeros_like(members)], 512)
        min_gap = int(np.diff(np.sort(offsets)).min()) / (self._common_denominator << 512)
        # A limit of 0 may exclude the sums that make the gaps unequal.
        is_equal = False
        if self.limit == 0 and float(np.ptp(steps)) <= 4 * self.slack:
            differences, _ = self._subtract_sums(digits[1:], digits[:-1], 512)
            is_equal = bool((differences == differences[0]).all())
        return is_equal, min_gap, float(steps.max())

    def _find_extremes(
        self, values: Sequence[BigInts], parts: Sequence[FormPart] = ()
    ) -> tuple[Any, Any]:
        """Return the lowest and the highest sum with one value of each part, within the limit."""
        if self.limit is None:
            return sum(sums.min() for sums in values), sum(sums.max() for sums in values)
        extremes = []
        for sign in (-1, 1):
            # Highest sum by maximum number of relevant documents.
            maxima: list[Any] = [0] * (self.limit + 1)
            for sums, part in zip(values, parts or self.parts, strict=True):
                counts = np.unique(part.min_relevant[part.min_relevant <= self.limit]).tolist()
                tops = {count: (sign * sums[part.min_relevant == count]).max() for count in counts}
                maxima = [
                    max(maxima[room - count] + tops[count] for count in counts if count <= room)
                    for room in range(self.limit + 1)
                ]
            extremes.append(sign * maxima[-1])
        return extremes[0], extremes[1]
