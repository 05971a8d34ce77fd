"""The two sides of a sum of parts: all sums of some of them, and all sums of the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.scales.forms.independent_parts import Part

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
            counts = part.least
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
