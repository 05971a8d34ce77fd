"""Orders by the scores that runs give to documents, scaled and put together."""

from __future__ import annotations

import numpy as np

from cranfield.assess.pools.method import Method, best_first
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.collection.judged.segments import ratio


class Combination(Method):
    r"""Scores of a run are scaled for each topic so that its pooled ranks go from 0 to 1.

    .. math:: x = (s - \min s) / (\max s - \min s)

    A run whose scores are all equal gives 1 to each of its documents. A document has 0 from a run
    that does not rank it; a run without any document for the topic has no part in it.
    """

    source = "Fox and Shaw 1994"

    def ranking(self, pool: Pool) -> Indices:
        if not len(pool):
            return np.zeros(0, dtype=np.intp)
        scaled = _scaled(pool)
        # In order of value, so that sums do not depend on the names of runs.
        rows = np.lexsort((scaled, pool.ranked))
        runs = (np.diff(pool.lists).reshape(len(pool.topics), -1) > 0).sum(axis=1)[pool.topic]
        return best_first(pool, self.combined(scaled[rows], pool.held[:-1], pool.holders, runs))

    def combined(self, values: Floats, starts: Ints, holders: Ints, runs: Ints) -> Floats:
        """Combine each document's values, ascending from its start; of so many runs in all."""
        raise NotImplementedError


class CombSum(Combination):
    """By the sum of the scaled scores."""

    name = "CombSUM"

    def combined(self, values: Floats, starts: Ints, holders: Ints, runs: Ints) -> Floats:
        return np.add.reduceat(values, starts)


class CombMnz(Combination):
    """By the sum of the scaled scores, times the number of those above 0."""

    name = "CombMNZ"

    def combined(self, values: Floats, starts: Ints, holders: Ints, runs: Ints) -> Floats:
        return np.add.reduceat(values, starts) * np.add.reduceat(values > 0, starts, dtype=np.int64)


class CombMax(Combination):
    """By the largest scaled score."""

    name = "CombMAX"

    def combined(self, values: Floats, starts: Ints, holders: Ints, runs: Ints) -> Floats:
        return np.asarray(values[starts + holders - 1])


class CombMed(Combination):
    """By the median of the scaled scores, with the zeros of runs that do not rank it."""

    name = "CombMED"

    def combined(self, values: Floats, starts: Ints, holders: Ints, runs: Ints) -> Floats:
        def at(place: Ints) -> Floats:
            own = place - (runs - holders)
            return np.where(own < 0, 0.0, values[starts + np.maximum(own, 0)])

        return (at((runs - 1) // 2) + at(runs // 2)) / 2


class CombAnz(Combination):
    """By the mean of the scaled scores above 0."""

    name = "CombANZ"

    def combined(self, values: Floats, starts: Ints, holders: Ints, runs: Ints) -> Floats:
        above = np.add.reduceat(values > 0, starts, dtype=np.int64)
        return ratio(np.add.reduceat(values, starts), above)


class CombMin(Combination):
    """By the smallest scaled score, 0 of a document that some run does not rank."""

    name = "CombMIN"

    def combined(self, values: Floats, starts: Ints, holders: Ints, runs: Ints) -> Floats:
        return np.where(holders < runs, 0.0, values[starts])


def _scaled(pool: Pool) -> Floats:
    some = np.flatnonzero(np.diff(pool.lists))
    begin = pool.lists[some]
    # Halves, so that the difference of two scores cannot overflow.
    halves = pool.scores / 2
    low = np.zeros(pool.lists.size - 1)
    span = np.zeros(pool.lists.size - 1)
    low[some] = np.minimum.reduceat(halves, begin)
    span[some] = np.maximum.reduceat(halves, begin) - low[some]
    above, width = halves - low[pool.cell], span[pool.cell]
    return np.where(width > 0, ratio(above, width), 1.0)
