"""Runs cut in two: the values of their first and of their last ranks, by the state between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.base.errors import PolicyError
from cranfield.scales.forms.independent_parts import Exact
from cranfield.scales.forms.walk import Bag, Walk
from cranfield.scales.images.counting import flat_ranges

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
        longer = walk.last(bags, rank - 1)
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
        heads = walk.first(heads, rank)
        if sum(bag.values.size for bag in heads) > MOST_HEADS:
            raise too_many(walk)
    tails = walk.end(by_runs)
    for rank in reversed(range(cut, len(walk.gains))):
        tails = walk.last(tails, rank)
    halves = Halves.of(heads, tails)
    if halves.pairs > (MOST_WIDE if walk.kind.hasobject else MOST_PAIRS):
        raise too_many(walk)
    return halves


def too_many(walk: Walk) -> PolicyError:
    base, length = walk.gains[0].shape[1], len(walk.gains)
    most = MOST_WIDE if walk.kind.hasobject else MOST_PAIRS
    longest = min(int((most.bit_length() - 1) / np.log2(base)), length - 1)
    return PolicyError(
        f"there are {base}^{length} runs of length {length} with {base} grades, too many for the"
        " exact image of a measure whose ranks depend on each other; up to about length"
        f" {longest} it is feasible"
    )
