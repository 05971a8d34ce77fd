"""Images of additive measures: sums of independent parts, counted without listing them.

The parts (:mod:`cranfield.scales.parts`) are joined to two sides, a long sorted *inner* and a
shorter *outer* one; the rank of x is the number of pairs with a sum up to x. Floats decide nearly
all pairs. The few whose sum lies within the floats' error of x are decided exactly: a pair of the
same sums as x is x; any other differs from x, and integers of as many digits as it takes tell in
which direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd, lcm, prod
from typing import Any

import numpy as np

from cranfield.errors import PolicyError
from cranfield.scales.bases import approximate, scaled
from cranfield.scales.counting import Ints, count_pairs
from cranfield.scales.engine import MOST_VALUES, Spacing
from cranfield.scales.lexicographic import Lexicographic
from cranfield.scales.parts import Exact, Part, total_runs, total_sums
from cranfield.scales.runs import Floats, Grades
from cranfield.scales.tables import LARGEST, check_runs
from cranfield.text import counted

UNIT = 2.0**-52
MOST_LOOKUPS = 2**37
"""Searches for one call; some hours."""
SHORTEST = 2**12
"""Sums of the inner side, if there are so many."""
QUERIES = 2**12
"""Runs for which the time to make the inner side is meant to be worth while."""
MOST_NEAR = 2**22
"""Pairs that floats cannot decide, for one call."""
MOST_DIGITS = 2**16
"""Binary digits to which two sums are compared."""


@dataclass(frozen=True, eq=False)
class Side:
    """All sums of some parts.

    Attributes
    ----------
    parts
        Which parts.
    values
        The sums, ascending.
    code
        For each sum the parts' entries as one number.
    shape
        Number of entries of each part.
    keys
        For each part the sum that each entry stands for.
    count, weight
        For each sum the relevant documents that it needs, and its number of runs.
    """

    parts: tuple[int, ...]
    values: Floats
    code: Ints
    shape: tuple[int, ...]
    keys: tuple[Ints, ...]
    count: Ints
    weight: Ints

    def digits(self, at: Ints) -> list[Ints]:
        """For each part the index of the sum that some of the sums are made of."""
        if not self.parts:
            return []
        found = np.unravel_index(self.code[at], self.shape)
        return [keys[one] for keys, one in zip(self.keys, found, strict=True)]


class Sums:
    """The image of an additive measure."""

    error = 0.0

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

    @cached_property
    def slack(self) -> float:
        """Bound of the error of a difference of two sums of floats."""
        largest = sum(float(np.abs(part.values).max()) for part in self.parts)
        return (4 * len(self.parts) + 32) * UNIT * largest

    def digits(self, runs: Grades) -> Ints:
        """Index of the sum of each part, for each run; shape (runs, parts)."""
        return np.stack([part.index(runs) for part in self.parts], axis=1)

    def floats(self, digits: Ints) -> Floats:
        """Values of sums as floats."""
        columns = zip(self.parts, digits.T, strict=True)
        return np.asarray(sum(part.values[column] for part, column in columns), dtype=np.float64)

    def ranks(self, runs: Grades) -> Ints:
        """Number of distinct values up to that of each run."""
        return self._ranks(self.digits(runs))

    def counts(self, runs: Grades) -> tuple[Ints, Ints]:
        """Number of runs with a lower value, and with the same value, as each run."""
        check_runs(self.runs)
        return self._below(self.digits(runs), by_runs=True)

    def _check_size(self) -> None:
        if self.size >= LARGEST:
            raise PolicyError(
                f"the image has about 2^{self.size.bit_length() - 1} values, too many to rank"
                " them exactly; shorter runs or fewer grades can be"
            )

    def _ranks(self, digits: Ints) -> Ints:
        self._check_size()
        return self._below(digits, by_runs=False)[0] + 1

    def _below(self, digits: Ints, *, by_runs: bool) -> tuple[Ints, Ints]:
        """Weight of the sums below each query, and of those that equal it."""
        unique, where = np.unique(digits, axis=0, return_inverse=True)
        where = where.ravel()
        if self.chain and (not by_runs or self.chain.counts_runs):
            below, same = self.chain.below(unique, by_runs=by_runs)
            return below[where], same[where]
        below = np.zeros(len(unique), dtype=np.int64)
        same = np.zeros(len(unique), dtype=np.int64)
        x = self.floats(unique)
        inner, outer = sides(self, by_runs)
        for small, large in self._feasible(inner, outer):
            self._check(small, x)
            weights = (large.weight, small.weight) if by_runs else None
            found = count_pairs(
                large.values, small.values, x, self.slack, weights=weights, jobs=self.jobs
            )
            below += found.below
            near = found.near
            self._check_near(near.query.size)
            sums = np.zeros((near.query.size, len(self.parts)), dtype=np.int64)
            for side, at in ((small, near.outer), (large, near.inner)):
                for part, column in zip(side.parts, side.digits(at), strict=True):
                    sums[:, part] = column
            sign = self._compare(sums, unique[near.query])
            weight = small.weight[near.outer] * large.weight[near.inner]
            np.add.at(below, near.query[sign < 0], weight[sign < 0])
            np.add.at(same, near.query[sign == 0], weight[sign == 0])
        return below[where], same[where]

    def _check(self, outer: Side, x: Floats) -> None:
        if outer.values.size * x.size > MOST_LOOKUPS:
            raise PolicyError(
                f"the image has {self.size:,} values; to rank {counted(x.size, 'run')} among them"
                " exactly would take days. Shorter runs, fewer grades or fewer runs can be"
            )

    @staticmethod
    def _check_near(count: int) -> None:
        if count > MOST_NEAR:
            raise PolicyError(
                "the values lie too close to each other to rank them in reasonable time"
            )

    def _feasible(self, inner: Side, outer: Side) -> list[tuple[Side, Side]]:
        """Split the sides so that each pair stays within the limit of relevant documents."""
        if self.limit is None:
            return [(outer, inner)]
        left = np.minimum(self.limit - outer.count, int(inner.count.max()))
        pairs = []
        for room in np.unique(left[left >= 0]):
            pairs.append((_chosen(outer, left == room), _chosen(inner, inner.count <= room)))
        return pairs

    def _compare(self, one: Ints, other: Ints) -> Ints:
        """Sign of the difference of pairs of sums, exactly."""
        sign = np.zeros(len(one), dtype=np.int64)
        open_ = np.flatnonzero((one != other).any(axis=1))
        bits = 192
        while open_.size:
            if bits > MOST_DIGITS:
                raise PolicyError("two values agree to so many digits that they cannot be told")
            difference, error = self._difference(one[open_], other[open_], bits)
            decided = np.abs(difference) > error
            sign[open_[decided]] = np.where(difference[decided] > 0, 1, -1)
            open_ = open_[~decided]
            bits *= 4
        return sign

    @cached_property
    def _below_all(self) -> int:
        return lcm(*(part.unit.denominator for part in self.parts))

    def _difference(self, one: Ints, other: Ints, bits: int) -> tuple[Exact, Exact]:
        """Difference of sums times 2^bits times a common denominator, and a bound of its error."""
        total = np.zeros(len(one), dtype=object)
        error = np.zeros(len(one), dtype=object)
        for part, a, b in zip(self.parts, one.T, other.T, strict=True):
            step = part.keys[a].astype(object) - part.keys[b].astype(object)
            step = step * int(part.unit * self._below_all)
            total = total + step * scaled(part.base, bits)
            error = error + np.abs(step)
        return total, error

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        """Rank of the value within reach of each float, and how many there are."""
        self._check_size()
        inner, outer = sides(self, False)
        reach = reach + self.slack
        wide = float(reach.max())
        many = np.zeros(values.size, dtype=np.int64)
        digits = np.zeros((values.size, len(self.parts)), dtype=np.int64)
        for small, large in self._feasible(inner, outer):
            self._check(small, values)
            near = count_pairs(large.values, small.values, values, wide, jobs=self.jobs).near
            self._check_near(near.query.size)
            sums = small.values[near.outer] + large.values[near.inner]
            close = np.abs(sums - values[near.query]) <= reach[near.query]
            query = near.query[close]
            np.add.at(many, query, 1)
            for side, at in ((small, near.outer), (large, near.inner)):
                for part, column in zip(side.parts, side.digits(at[close]), strict=True):
                    digits[query, part] = column
        ranks = np.zeros(values.size, dtype=np.int64)
        single = many == 1
        if single.any():
            ranks[single] = self._ranks(digits[single])
        return ranks, many

    def listing(self) -> Floats:
        """All values, ascending."""
        return self._listed()[0]

    def _listed(self) -> tuple[Floats, Ints]:
        """All values, and the sums of parts that they are made of."""
        inner, outer = sides(self, False)
        a, b = np.divmod(np.arange(outer.values.size * inner.values.size), inner.values.size)
        if self.limit is not None:
            kept = outer.count[a] + inner.count[b] <= self.limit
            a, b = a[kept], b[kept]
        values = outer.values[a] + inner.values[b]
        order = np.argsort(values, kind="stable")
        digits = np.zeros((values.size, len(self.parts)), dtype=np.int64)
        for side, at in ((outer, a[order]), (inner, b[order])):
            for part, column in zip(side.parts, side.digits(at), strict=True):
                digits[:, part] = column
        return values[order], digits

    def spacing(self) -> Spacing:
        """Gaps and extreme values."""
        ends = self._extremes([part.values for part in self.parts])
        lowest, highest = map(float, ends)
        active = [part for part in self.parts if part.keys.size > 1]
        if self.size == 1:
            return Spacing(lowest, highest, True, None, None)
        # Steps of two bases have no common measure: then the gaps cannot all be equal.
        if len({part.base for part in active}) == 1:
            step = self._step(active)
            whole = [
                (part.keys - part.keys[0]).astype(object) * part.unit / step for part in active
            ]
            low, high = self._extremes(whole, active)
            if high - low + 1 == self.size:
                gap = float(step) * approximate(active[0].base)
                return Spacing(lowest, highest, True, gap, gap)
        if self.size > MOST_VALUES:
            return Spacing(lowest, highest, False, None, None)
        return self._gaps(lowest, highest)

    @staticmethod
    def _step(parts: Sequence[Part]) -> Fraction:
        """The largest step that all differences of sums of one base are multiples of."""
        below = lcm(*(part.unit.denominator for part in parts))
        whole = [gcd(*map(int, np.diff(part.keys))) * int(part.unit * below) for part in parts]
        return Fraction(gcd(*whole), below)

    def _gaps(self, lowest: float, highest: float) -> Spacing:
        values, digits = self._listed()
        steps = np.diff(values)
        least = float(np.abs(steps).min())
        # Floats that are close may stand in the wrong order, and their distance is noise.
        close = np.flatnonzero(steps <= 2 * least + 4 * self.slack)[:4096]
        exact, _ = self._difference(digits[close + 1], digits[close], 512)
        smallest = min(abs(int(one)) for one in exact) / (self._below_all << 512)
        # A limit of 0 may leave fewer steps than the parts have.
        equal = False
        if self.limit == 0 and float(np.ptp(steps)) <= 4 * self.slack:
            every, _ = self._difference(digits[1:], digits[:-1], 512)
            equal = bool((every == every[0]).all())
        return Spacing(lowest, highest, equal, smallest, float(steps.max()))

    def _extremes(self, values: Sequence[Exact], parts: Sequence[Part] = ()) -> tuple[Any, Any]:
        """Lowest and highest sum of one value of each part, within the limit."""
        if self.limit is None:
            return sum(one.min() for one in values), sum(one.max() for one in values)
        ends = []
        for sign in (-1, 1):
            # The largest sum with up to so many relevant documents.
            best: list[Any] = [0] * (self.limit + 1)
            for one, part in zip(values, parts or self.parts, strict=True):
                counts = np.unique(part.least[part.least <= self.limit]).tolist()
                most = {count: (sign * one[part.least == count]).max() for count in counts}
                best = [
                    max(best[room - count] + most[count] for count in counts if count <= room)
                    for room in range(self.limit + 1)
                ]
            ends.append(sign * best[-1])
        return ends[0], ends[1]


def _chosen(side: Side, kept: np.ndarray) -> Side:
    return Side(
        side.parts,
        side.values[kept],
        side.code[kept],
        side.shape,
        side.keys,
        side.count[kept],
        side.weight[kept],
    )


@lru_cache(maxsize=2)
def sides(image: Sums, by_runs: bool) -> tuple[Side, Side]:
    """Join the parts to the inner and the outer side."""
    parts = image.parts
    lengths = [part.key.size if by_runs and image.limit else part.keys.size for part in parts]
    # Bytes that an entry of the inner side takes while it is made, and to spare.
    room = max(SHORTEST, image.memory // (96 if by_runs else 60))
    best = min(room, max(SHORTEST, int((min(prod(lengths), 2**80) * QUERIES) ** 0.5)))
    inner: list[int] = []
    size = 1
    for index in sorted(range(len(parts)), key=lambda one: -lengths[one]):
        if size * lengths[index] <= best or not inner:
            inner.append(index)
            size *= lengths[index]
    outer = [index for index in range(len(parts)) if index not in inner]
    if prod(lengths[index] for index in outer) > room:
        raise PolicyError(
            f"the image has about 2^{image.size.bit_length() - 1} values, too many to rank them"
            " exactly; shorter runs or fewer grades can be"
        )
    return _side(image, tuple(inner), by_runs), _side(image, tuple(outer), by_runs)


def _side(image: Sums, chosen: tuple[int, ...], by_runs: bool) -> Side:
    values, count, weight = np.zeros(1), np.zeros(1, np.int64), np.ones(1, np.int64)
    shape, keys = [], []
    for index in chosen:
        part = image.parts[index]
        if by_runs and image.limit is not None:
            key, counts, runs = part.key, part.count, part.runs
        else:
            key = np.arange(part.keys.size)
            counts = part.least
            runs = np.add.reduceat(part.runs, np.searchsorted(part.key, key))
        values = (values[:, None] + part.values[key][None, :]).ravel()
        if image.limit is not None:
            count = (count[:, None] + counts[None, :]).ravel()
        if by_runs:
            weight = (weight[:, None] * runs.astype(np.int64)[None, :]).ravel()
        shape.append(key.size)
        keys.append(key)
    order = np.argsort(values)
    count = count[order] if image.limit is not None else np.broadcast_to(count, order.shape)
    weight = weight[order] if by_runs else np.broadcast_to(weight, order.shape)
    return Side(chosen, values[order], order, tuple(shape), tuple(keys), count, weight)
