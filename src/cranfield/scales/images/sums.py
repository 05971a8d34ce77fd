"""Images of additive measures: sums of independent parts, counted without listing them.

The parts (`forms/stateful.py`) are joined to two sides, a long sorted *inner* and a
shorter *outer* one; the rank of x is the number of pairs with a sum up to x. Floats decide nearly
all pairs. The few whose sum lies within the floats' error of x are decided exactly: a pair of the
same sums as x is x; any other differs from x, and integers of as many digits as it takes tell in
which direction.

Runs of length 1000 have some 2^960 values of DCG. The rank of one of them is a number that nobody
needs to the last digit; its share of the image, rank by size, is what an interval-scaled measure
is: a distribution function (`scales/distribution.py`), known within a stated error.
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
from cranfield.base.text import counted
from cranfield.scales.forms.form import approximate, precisions, scaled
from cranfield.scales.forms.stateful import Exact, Part, total_runs, total_sums
from cranfield.scales.images.representation import (
    LARGEST,
    MOST_VALUES,
    Gaps,
    check_runs,
    count_pairs,
)

if TYPE_CHECKING:
    from cranfield.scales.distribution import SumDistribution


MOST_CELLS = 2**23
MARGIN = 1 + 2.0**-20
"""Irrational weights have to outweigh by this much, so that floats can tell."""


@dataclass(frozen=True, eq=False)
class Lexicographic:
    """Parts of which each one's smallest gap is above the range of all later ones together.

    Sums then compare like words, by the first part in which they differ: a rank is a number in a
    mixed radix. RBP is such a sum for p < 1 / (grades + 1), and p = 1/2 with binary gains; a
    single part always is.
    """

    parts: tuple[Part, ...]
    order: tuple[int, ...]
    """Parts by falling weight."""
    limit: int | None
    counts_runs: bool
    """Whether runs can be counted, too: not when there is a limit and a sum of a part does not tell
    the number of relevant documents."""

    @classmethod
    def of(cls, parts: Sequence[Part], limit: int | None) -> Lexicographic | None:
        """Arrange the parts, if that can be done."""
        cells = max(part.keys.size for part in parts) * ((limit or 0) + 1)
        if cells > MOST_CELLS:
            return None
        order = sorted(range(len(parts)), key=lambda i: -float(np.ptp(parts[i].values)))
        active = [parts[i] for i in order if parts[i].keys.size > 1]
        exact = len({part.base for part in active}) <= 1
        spans = [
            int(part.keys[-1] - part.keys[0]) * part.unit if exact else float(np.ptp(part.values))
            for part in active
        ]
        gaps = [
            int(np.diff(part.keys).min()) * part.unit
            if exact
            else float(np.diff(part.values).min())
            for part in active
        ]
        behind = [0, *accumulate(reversed(spans))][-2::-1]
        margin = 1 if exact else MARGIN
        fits = all(gap > rest * margin for gap, rest in zip(gaps, behind, strict=True))
        single = limit is None or all(part.key.size == part.keys.size for part in parts)
        return cls(tuple(parts), tuple(order), limit, single) if fits else None

    def below(self, digits: Ints, *, by_runs: bool) -> tuple[Ints, Ints]:
        """Weight of the sums below each query, and of those that equal it."""
        room = np.full(len(digits), self.limit or 0)
        total = np.zeros(len(digits), dtype=object)
        same = np.ones(len(digits), dtype=object)
        for index, (before, weight) in zip(self.order, self._tables(by_runs), strict=True):
            column = digits[:, index]
            # What agrees so far may have been reached in several ways.
            total = total + same * before[column, room]
            same = same * weight[column]
            if self.limit is not None:
                room = room - self.parts[index].min_relevant[column]
        return total.astype(np.int64), same.astype(np.int64)

    def _tables(self, by_runs: bool) -> list[tuple[Exact, Exact]]:
        """For each part the weight of all that is lower in it, by index and room that is left."""
        rooms = np.arange((self.limit or 0) + 1)
        rest = np.ones(rooms.size, dtype=object)
        tables = []
        for index in reversed(self.order):
            part = self.parts[index]
            weight = np.ones(part.keys.size, dtype=object)
            if by_runs:
                weight = part.key_runs.astype(object)
            needs = (
                part.min_relevant if self.limit is not None else np.zeros(part.keys.size, np.int64)
            )
            left = rooms[None, :] - needs[:, None]
            ways = np.where(left >= 0, rest[np.maximum(left, 0)], 0) * weight[:, None]
            upto = np.cumsum(ways, axis=0)
            tables.append((upto - ways, weight))
            rest = upto[-1]
        return tables[::-1]


SHORTEST = 2**12
"""Sums of the inner side, if there are so many."""
QUERIES = 2**12
"""Runs for which the time to make the inner side is meant to be worth while."""


@dataclass(frozen=True, eq=False)
class Side:
    """All sums of some parts, ascending.

    A sum is made of an entry of each part. Its `code` is the number that the entries spell, of
    which there are `shape`; `keys` tell for each part the sum that an entry stands for.
    """

    parts: tuple[int, ...]
    values: Floats
    code: Ints
    shape: tuple[int, ...]
    keys: tuple[Ints, ...]
    count: Ints
    """For each sum the relevant documents that it needs."""
    weight: Ints
    """For each sum its number of runs."""

    def digits(self, at: Ints) -> list[Ints]:
        """For each part the index of the sum that some of the sums are made of."""
        if not self.parts:
            return []
        entries = np.unravel_index(self.code[at], self.shape)
        return [keys[entry] for keys, entry in zip(self.keys, entries, strict=True)]

    def where(self, kept: NDArray[np.bool_]) -> Side:
        return replace(
            self,
            values=self.values[kept],
            code=self.code[kept],
            count=self.count[kept],
            weight=self.weight[kept],
        )


class Sides(NamedTuple):
    """A long side to search in, and a short one."""

    inner: Side
    outer: Side

    def digits(self, inner: Ints, outer: Ints) -> Ints:
        """Index of the sum of each part, for pairs of an inner and an outer sum."""
        columns = dict(zip(self.inner.parts, self.inner.digits(inner), strict=True))
        columns.update(zip(self.outer.parts, self.outer.digits(outer), strict=True))
        return np.stack([columns[part] for part in range(len(columns))], axis=1)

    def within(self, limit: int | None) -> Iterator[Sides]:
        """Split the sides so that each pair stays within a limit of relevant documents."""
        inner, outer = self
        if limit is None:
            yield self
            return
        left = np.minimum(limit - outer.count, int(inner.count.max()))
        for room in np.unique(left[left >= 0]):
            yield Sides(inner.where(inner.count <= room), outer.where(left == room))


class Split(NamedTuple):
    """Which parts make the inner side, and which the outer, with `searches` sums."""

    inner: list[int]
    outer: list[int]
    searches: int


def split_sides(parts: tuple[Part, ...], limit: int | None, by_runs: bool, memory: int) -> Split:
    """Decide which parts make which side; refuse an outer side that would be too long.

    With `by_runs` sums are weighted by their number of runs; `memory` is what the inner side may
    take, roughly, in bytes.
    """
    by_count = by_runs and limit is not None
    lengths = [part.key.size if by_count else part.keys.size for part in parts]
    # Bytes that an entry of the inner side takes while it is made, and to spare.
    each = 60 + 36 * by_runs + 36 * (limit is not None)
    room = max(SHORTEST, memory // each)
    best = min(room, max(SHORTEST, int((min(prod(lengths), 2**80) * QUERIES) ** 0.5)))
    inner: list[int] = []
    size = 1
    for index in sorted(range(len(parts)), key=lambda part: -lengths[part]):
        if size * lengths[index] <= best or not inner:
            inner.append(index)
            size *= lengths[index]
    outer = [index for index in range(len(parts)) if index not in inner]
    searches = prod(lengths[index] for index in outer)
    if searches > room:
        raise out_of_reach(prod(lengths))
    return Split(inner, outer, searches)


@lru_cache(maxsize=1)
def sides(parts: tuple[Part, ...], limit: int | None, by_runs: bool, memory: int) -> Sides:
    """Join parts to an inner and an outer side; as :func:`split_sides`."""
    inner, outer, _ = split_sides(parts, limit, by_runs, memory)
    make = partial(_side, parts, with_counts=limit is not None, by_runs=by_runs)
    return Sides(make(inner), make(outer))


def _side(parts: tuple[Part, ...], chosen: list[int], *, with_counts: bool, by_runs: bool) -> Side:
    values, count, weight = np.zeros(1), np.zeros(1, np.int64), np.ones(1, np.int64)
    shape, keys = [], []
    for index in chosen:
        part = parts[index]
        if by_runs and with_counts:
            key, counts, runs = part.key, part.count, part.runs
        else:
            key = np.arange(part.keys.size)
            counts = part.min_relevant
            runs = part.key_runs
        values = (values[:, None] + part.values[key][None, :]).ravel()
        if with_counts:
            count = (count[:, None] + counts[None, :]).ravel()
        if by_runs:
            weight = (weight[:, None] * runs.astype(np.int64)[None, :]).ravel()
        shape.append(key.size)
        keys.append(key)
    order = np.argsort(values)
    count = count[order] if with_counts else np.broadcast_to(count, order.shape)
    weight = weight[order] if by_runs else np.broadcast_to(weight, order.shape)
    return Side(tuple(chosen), values[order], order, tuple(shape), tuple(keys), count, weight)


def out_of_reach(size: int) -> PolicyError:
    return PolicyError(
        f"the image has about 2^{size.bit_length() - 1} values, too many to rank them exactly;"
        " up to about 2^45 is feasible: shorter runs, or fewer grades"
    )


UNIT = 2.0**-52
COUNTED = 2**44
"""Values of an image up to which ranks are counted; 2^40 take a minute."""
MOST_LOOKUPS = 2**37
"""Searches for one call; some hours."""
MOST_COMPARED = 2**16
"""Gaps that may be the smallest, to be compared beyond the precision of floats."""


class Sums:
    """The image of an additive measure."""

    tolerance = 0.0

    def __init__(
        self, parts: Sequence[Part], limit: int | None, memory: int, jobs: int | None
    ) -> None:
        # Parts with a single sum only shift the others; they are kept for the runs they count.
        self.parts = tuple(parts)
        self.limit = limit
        self.memory = memory
        self.jobs = jobs
        self.size = total_sums(self.parts, limit)
        self.runs = total_runs(self.parts, limit)
        self.chain = Lexicographic.of(self.parts, limit)
        # Where ranks are not, there are shares.
        self.countable = limit is not None or self.chain is not None or self.size <= COUNTED

    @cached_property
    def slack(self) -> float:
        """Bound of the error of a difference of two sums of floats."""
        largest = sum(float(np.abs(part.values).max()) for part in self.parts)
        return (4 * len(self.parts) + 32) * UNIT * largest

    def digits(self, runs: Ints) -> Ints:
        """Index of the sum of each part, for each run; shape (runs, parts)."""
        return np.stack([part.index(runs) for part in self.parts], axis=1)

    def floats(self, digits: Ints) -> Floats:
        """Values of sums as floats."""
        columns = zip(self.parts, digits.T, strict=True)
        return np.asarray(sum(part.values[column] for part, column in columns), dtype=np.float64)

    @cached_property
    def distribution(self) -> SumDistribution:
        """The distribution of the values; it takes some seconds to find."""
        # SciPy's transforms are loaded when they are needed.
        from cranfield.scales.distribution import distribution_of_sums

        parts = [part.values for part in self.parts if part.values.size > 1]
        return distribution_of_sums(parts, memory=self.memory, jobs=self.jobs)

    def relative_ranks(self, runs: Ints) -> Floats:
        """Share of the values up to that of each run, within the error of their distribution."""
        shift = sum(float(part.values[0]) for part in self.parts if part.values.size == 1)
        return self.distribution.cdf(self.floats(self.digits(runs)) - shift)

    def require(self, runs: int, *, by_runs: bool) -> None:
        if by_runs:
            check_runs(self.runs)
        else:
            self._check_size()
        if not self._by_chain(by_runs):
            outer = split_sides(self.parts, self.limit, by_runs, self.memory).searches
            self._check_lookups(outer, runs)

    def ranks(self, runs: Ints) -> Ints:
        return self._ranks(self.digits(runs))

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        check_runs(self.runs)
        return self._below(self.digits(runs), by_runs=True)

    def _by_chain(self, by_runs: bool) -> bool:
        return self.chain is not None and (not by_runs or self.chain.counts_runs)

    def _check_size(self) -> None:
        if self.size >= LARGEST:
            raise out_of_reach(self.size)

    def _ranks(self, digits: Ints) -> Ints:
        self._check_size()
        return self._below(digits, by_runs=False)[0] + 1

    def _below(self, digits: Ints, *, by_runs: bool) -> tuple[Ints, Ints]:
        """Weight of the sums below each query, and of those that equal it."""
        unique, where = np.unique(digits, axis=0, return_inverse=True)
        where = where.ravel()
        if self.chain and self._by_chain(by_runs):
            below, same = self.chain.below(unique, by_runs=by_runs)
            return below[where], same[where]
        below = np.zeros(len(unique), dtype=np.int64)
        same = np.zeros(len(unique), dtype=np.int64)
        x = self.floats(unique)
        for pair in self._sides(by_runs).within(self.limit):
            large, small = pair
            self._check_lookups(small.values.size, x.size)
            weights = (large.weight, small.weight) if by_runs else None
            pairs = count_pairs(
                large.values, small.values, x, self.slack, weights=weights, jobs=self.jobs
            )
            below += pairs.below
            near = pairs.near
            sums = pair.digits(near.inner, near.outer)
            sign = self._compare(sums, unique[near.query])
            weight = small.weight[near.outer] * large.weight[near.inner]
            np.add.at(below, near.query[sign < 0], weight[sign < 0])
            np.add.at(same, near.query[sign == 0], weight[sign == 0])
        return below[where], same[where]

    def _sides(self, by_runs: bool) -> Sides:
        return sides(self.parts, self.limit, by_runs, self.memory)

    def _check_lookups(self, outer: int, runs: int) -> None:
        if outer * runs > MOST_LOOKUPS:
            raise PolicyError(
                f"the image has {self.size:,} values; ranking {counted(runs, 'run')}"
                " among them exactly would take days; use shorter runs, fewer grades"
                " or fewer runs"
            )

    def _compare(self, a: Ints, b: Ints) -> Ints:
        """Sign of the difference of pairs of sums, exactly."""
        sign = np.zeros(len(a), dtype=np.int64)
        open_ = np.flatnonzero((a != b).any(axis=1))
        for bits in precisions() if open_.size else ():
            difference, error = self._difference(a[open_], b[open_], bits)
            decided = np.abs(difference) > error
            sign[open_[decided]] = np.where(difference[decided] > 0, 1, -1)
            open_ = open_[~decided]
            if not open_.size:
                break
        return sign

    @cached_property
    def _below_all(self) -> int:
        return lcm(*(part.unit.denominator for part in self.parts))

    def _difference(self, a: Ints, b: Ints, bits: int) -> tuple[Exact, Exact]:
        """Difference of sums times 2^bits times a common denominator, and a bound of its error."""
        total = np.zeros(len(a), dtype=object)
        error = np.zeros(len(a), dtype=object)
        for part, at_a, at_b in zip(self.parts, a.T, b.T, strict=True):
            step = part.keys[at_a].astype(object) - part.keys[at_b].astype(object)
            step = step * int(part.unit * self._below_all)
            total = total + step * scaled(part.base, bits)
            error = error + np.abs(step)
        return total, error

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        self._check_size()
        reach = reach + self.slack
        wide = float(reach.max())
        matches = np.zeros(values.size, dtype=np.int64)
        digits = np.zeros((values.size, len(self.parts)), dtype=np.int64)
        for pair in self._sides(False).within(self.limit):
            large, small = pair
            self._check_lookups(small.values.size, values.size)
            near = count_pairs(large.values, small.values, values, wide, jobs=self.jobs).near
            sums = small.values[near.outer] + large.values[near.inner]
            close = np.abs(sums - values[near.query]) <= reach[near.query]
            query = near.query[close]
            np.add.at(matches, query, 1)
            digits[query] = pair.digits(near.inner[close], near.outer[close])
        ranks = np.zeros(values.size, dtype=np.int64)
        single = matches == 1
        if single.any():
            ranks[single] = self._ranks(digits[single])
        return ranks, matches

    def listing(self) -> Floats:
        return self._listed()[0]

    def _listed(self) -> tuple[Floats, Ints]:
        """All values, and the sums of parts that they are made of."""
        inner, outer = self._sides(False)
        a, b = np.divmod(np.arange(outer.values.size * inner.values.size), inner.values.size)
        if self.limit is not None:
            kept = outer.count[a] + inner.count[b] <= self.limit
            a, b = a[kept], b[kept]
        values = outer.values[a] + inner.values[b]
        order = np.argsort(values, kind="stable")
        return values[order], Sides(inner, outer).digits(b[order], a[order])

    def gaps(self) -> Gaps:
        ends = self._extremes([part.values for part in self.parts])
        lowest, highest = map(float, ends)
        active = [part for part in self.parts if part.keys.size > 1]
        if self.size == 1:
            return Gaps(True, None, None, lowest, highest)
        # Steps of two bases have no common measure: then the gaps cannot all be equal.
        if len({part.base for part in active}) == 1:
            step = self._step(active)
            whole = [
                (part.keys - part.keys[0]).astype(object) * part.unit / step for part in active
            ]
            low, high = self._extremes(whole, active)
            if high - low + 1 == self.size:
                gap = float(step) * approximate(active[0].base)
                return Gaps(True, gap, gap, lowest, highest)
        if self.size > MOST_VALUES:
            return Gaps(False, None, None, lowest, highest)
        return Gaps(*self._listed_gaps(), lowest, highest)

    @staticmethod
    def _step(parts: Sequence[Part]) -> Fraction:
        """The largest step that all differences of sums of one base are multiples of."""
        below = lcm(*(part.unit.denominator for part in parts))
        whole = [gcd(*map(int, np.diff(part.keys))) * int(part.unit * below) for part in parts]
        return Fraction(gcd(*whole), below)

    def _listed_gaps(self) -> tuple[bool, float, float]:
        values, digits = self._listed()
        steps = np.diff(values)
        # Floats that are close may stand in the wrong order, and their distance is noise.
        close = np.flatnonzero(steps <= float(steps.min()) + 4 * self.slack)
        close = close[np.argsort(steps[close], kind="stable")[:MOST_COMPARED]]
        members = np.union1d(close, close + 1)
        heights, _ = self._difference(digits[members], digits[np.zeros_like(members)], 512)
        smallest = int(np.diff(np.sort(heights)).min()) / (self._below_all << 512)
        # A limit of 0 may leave fewer steps than the parts have.
        equal = False
        if self.limit == 0 and float(np.ptp(steps)) <= 4 * self.slack:
            every, _ = self._difference(digits[1:], digits[:-1], 512)
            equal = bool((every == every[0]).all())
        return equal, smallest, float(steps.max())

    def _extremes(self, values: Sequence[Exact], parts: Sequence[Part] = ()) -> tuple[Any, Any]:
        """Lowest and highest sum of one value of each part, within the limit."""
        if self.limit is None:
            return sum(sums.min() for sums in values), sum(sums.max() for sums in values)
        ends = []
        for sign in (-1, 1):
            # The largest sum with up to so many relevant documents.
            best: list[Any] = [0] * (self.limit + 1)
            for sums, part in zip(values, parts or self.parts, strict=True):
                counts = np.unique(part.min_relevant[part.min_relevant <= self.limit]).tolist()
                most = {count: (sign * sums[part.min_relevant == count]).max() for count in counts}
                best = [
                    max(best[room - count] + most[count] for count in counts if count <= room)
                    for room in range(self.limit + 1)
                ]
            ends.append(sign * best[-1])
        return ends[0], ends[1]
