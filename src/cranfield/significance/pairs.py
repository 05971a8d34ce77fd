"""Pairs of systems: which ones are compared, and their differences, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.base.arrays import Floats, Indices

ROUNDING = 2.0**-44
"""Differences below this part of the scores come from rounding: they are zero, or tied."""

TINY = 1e-150
"""Differences up to it count as zero: their squares would."""

BLOCK = 2**20
"""Numbers in a block of differences: enough to be fast, few enough to stay in the cache."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Scores, and the pairs of systems that are compared.

    Attributes
    ----------
    values
        Shape (topics, systems); NaN is no score.
    first, second
        Indices of the systems of each pair; a difference is the first minus the second.
    """

    values: Floats
    first: Indices
    second: Indices

    def __len__(self) -> int:
        return int(self.first.size)

    @property
    def topics(self) -> int:
        """Number of topics."""
        return int(self.values.shape[0])

    @property
    def systems(self) -> int:
        """Number of systems."""
        return int(self.values.shape[1])

    @property
    def paired(self) -> bool:
        """Whether every system has a score for every topic."""
        return not bool(np.isnan(self.values).any())

    @property
    def rounding(self) -> Floats:
        """What of a difference may be rounding, by pair."""
        largest = np.nanmax(np.abs(self.values), axis=0, initial=0.0)
        parts = ROUNDING * np.maximum(largest[self.first], largest[self.second])
        return np.asarray(np.maximum(parts, TINY))

    def differences(self) -> Floats:
        """Return first minus second, shape (pairs, topics); differences by rounding are 0."""
        rows = np.ascontiguousarray(self.values.T)
        found = rows[self.first] - rows[self.second]
        found[np.abs(found) <= self.rounding[:, None]] = 0.0
        return found

    def of_systems(self, by_system: Floats) -> Floats:
        """Return what belongs to the first system minus what belongs to the second."""
        return np.asarray(by_system[self.first] - by_system[self.second])

    def blocks(self, numbers_each: int | None = None, limit: int = BLOCK) -> Iterator[Pairs]:
        """Yield parts of the pairs that fit into memory.

        Parameters
        ----------
        numbers_each
            Numbers that a pair takes; by default one a topic.
        limit
            Numbers in a block.
        """
        for _, block in self.slices(numbers_each, limit):
            yield block

    def slices(
        self, numbers_each: int | None = None, limit: int = BLOCK
    ) -> Iterator[tuple[slice, Pairs]]:
        """Yield each block together with where it stands among all pairs."""
        size = max(1, limit // max(1, numbers_each or self.topics))
        for start in range(0, len(self), size):
            part = slice(start, min(start + size, len(self)))
            yield part, replace(self, first=self.first[part], second=self.second[part])


def all_pairs(values: Floats) -> Pairs:
    """Return every pair of systems once, in order."""
    first, second = np.triu_indices(values.shape[1], 1)
    return Pairs(values, first, second)


def against(values: Floats, baselines: Sequence[int]) -> Pairs:
    """Return every other system with each baseline; the baseline is second."""
    others = [s for s in range(values.shape[1]) if s not in set(baselines)]
    first = np.array([s for _ in baselines for s in others], dtype=np.intp)
    second = np.repeat(np.array(baselines, dtype=np.intp), len(others))
    return Pairs(values, first, second)


def mid_ranks(ordered: Floats, gap: Floats) -> tuple[Floats, Floats]:
    """Return twice the mid-ranks of rows of ascending numbers, and how tied they are.

    Parameters
    ----------
    ordered
        Shape (rows, n), ascending along the rows; infinities at the end are not ranked.
    gap
        Neighbours that are no further apart than this are tied; shape (rows,).

    Returns
    -------
    ranks, ties
        Twice the rank of each number, which is an integer, shape (rows, n), 0 where infinite; and
        the sum over groups of t ties of t^3 - t, shape (rows,).
    """
    rows, n = ordered.shape
    position = np.arange(n)
    with np.errstate(invalid="ignore"):
        begins = np.diff(ordered, axis=1) > gap[:, None]
    finite = np.isfinite(ordered)
    starts = np.zeros((rows, n), dtype=np.intp)
    starts[:, 1:] = np.where(begins, position[1:], 0)
    starts = np.maximum.accumulate(starts, axis=1)
    ends = np.full((rows, n), n - 1, dtype=np.intp)
    ends[:, :-1] = np.where(begins | (finite[:, :-1] & ~finite[:, 1:]), position[:-1], n - 1)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    size = (ends - starts + 1).astype(np.float64)
    ranks = np.where(finite, starts + ends + 2, 0).astype(np.float64)
    ties = np.where(finite, size**2 - 1, 0.0).sum(axis=1)
    return ranks, ties
