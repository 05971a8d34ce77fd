"""Pairs of systems: which ones are compared, and their differences, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.base.arrays import Floats, Indices, row_slices

ROUNDING = 2.0**-44
"""Differences below this part of the scores come from rounding: they are zero, or tied."""

TINY = 1e-150
"""Differences up to it count as zero: their squares would."""

BLOCK = 2**20
"""Numbers in a block of differences: enough to be fast, few enough to stay in the cache."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Scores, shape (topics, systems) with NaN for none, and the pairs that are compared.

    `first` and `second` are indices of systems; a difference is the first minus the second. Scores
    by shard, shape (topics, systems, shards), are those that `values` are means of.
    """

    values: Floats
    first: Indices
    second: Indices
    by_shard: Floats | None = None

    def __len__(self) -> int:
        return int(self.first.size)

    @property
    def topics(self) -> int:
        return int(self.values.shape[0])

    @property
    def systems(self) -> int:
        return int(self.values.shape[1])

    @property
    def scores(self) -> Floats:
        return self.values if self.by_shard is None else self.by_shard

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

    def differences_of(self, means: Floats) -> Floats:
        """Return the differences of means of systems; those by rounding are 0."""
        difference = self.of_systems(means)
        difference[np.abs(difference) <= self.rounding] = 0.0
        return difference

    def blocks(self, numbers_each: int | None = None, limit: int = BLOCK) -> Iterator[Pairs]:
        """Yield parts of `limit` numbers at most; a pair takes one a topic by default."""
        for _, block in self.slices(numbers_each, limit):
            yield block

    def slices(
        self, numbers_each: int | None = None, limit: int = BLOCK
    ) -> Iterator[tuple[slice, Pairs]]:
        """Yield each block together with where it stands among all pairs."""
        for part in row_slices(len(self), numbers_each or self.topics, limit):
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
