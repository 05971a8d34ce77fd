"""Orders by the ranks that documents have in the runs, whatever is judged."""

from __future__ import annotations

from itertools import pairwise
from math import lcm

import numpy as np

from cranfield.assess.pools.method import Method, best_first
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Indices, Ints
from cranfield.measures.parameters import TRUE_SHARE, fraction_of, integer, parameter

_AT_A_TIME = 1 << 22
"""Pairs of documents that are looked at together."""


class Depth(Method):
    """By best rank in any run: the pool of depth 1, what depth 2 adds, and so on."""

    name = "depth"
    source = "Sparck Jones and van Rijsbergen 1975; Zobel 1998"

    def ranking(self, pool: Pool) -> Indices:
        return best_first(pool, -pool.best_rank)


class Count(Method):
    """By the number of runs that have the document."""

    name = "count"
    source = "Lipani, Lupu and Hanbury 2016"

    def ranking(self, pool: Pool) -> Indices:
        return best_first(pool, pool.holders)


class ReciprocalRankFusion(Method):
    """By the sum of 1/(k + rank) over the runs that have the document."""

    name = "RRF"
    source = "Cormack, Clarke and Buettcher 2009"
    k: int = parameter(60, integer(0), "what is added to ranks")

    def ranking(self, pool: Pool) -> Indices:
        denominators = [self.k + rank for rank in range(1, _longest(pool) + 1)]
        common = lcm(*denominators)
        return _by_sums(pool, [common // one for one in denominators])


class Borda(Method):
    """By points: of n pooled documents rank r gets n - r, unranked ones share what is left."""

    name = "Borda"
    source = "Aslam and Montague 2001"

    def ranking(self, pool: Pool) -> Indices:
        # Twice the points of a run, less those that it gives to an unranked document.
        size = np.diff(pool.starts)[pool.topic[pool.ranked]]
        points = size - 2 * pool.rank + np.diff(pool.lists)[pool.cell] + 1
        total = np.zeros(len(pool), dtype=np.int64)
        np.add.at(total, pool.ranked, points)
        return best_first(pool, total)


class Condorcet(Method):
    """By the number of documents that it beats: more runs have it above the other than below.

    Ranked documents are above unranked ones; a run that has neither does not vote.
    """

    name = "Condorcet"
    source = "Montague and Aslam 2002"

    def ranking(self, pool: Pool) -> Indices:
        wins = [_wins(pool, topic) for topic in range(len(pool.topics))]
        return best_first(pool, np.concatenate(wins) if wins else np.zeros(0, dtype=np.int64))


class RankBiasedSum(Method):
    """By the sum of (1 - p) p^(rank - 1) over the runs that have the document."""

    name = "RBP-A"
    source = "Moffat, Webber and Zobel 2007"
    p: float = parameter(0.8, TRUE_SHARE, "chance to go on to the next rank")

    def ranking(self, pool: Pool) -> Indices:
        up, down = fraction_of(self.p).as_integer_ratio()
        last = _longest(pool) - 1
        return _by_sums(pool, [up**i * down ** (last - i) for i in range(last + 1)])


def _longest(pool: Pool) -> int:
    return int(np.diff(pool.lists).max(initial=1))


def _by_sums(pool: Pool, weights: list[int]) -> Indices:
    """Order by the sum over runs of a weight a rank.

    Whole numbers over a common denominator: sums that are equal are found to be equal.
    """
    of_rank = np.array(weights, dtype=object)
    if not len(pool):
        return np.zeros(0, dtype=np.intp)
    # What is added up here are references to the same few numbers.
    each = of_rank[pool.rank[pool.by_document] - 1]
    return best_first(pool, np.add.reduceat(each, pool.held[:-1]))


def _wins(pool: Pool, topic: int) -> Ints:
    """Count the documents of the topic that each of them beats."""
    start, stop = pool.starts[topic : topic + 2].tolist()
    systems, size = len(pool.systems), stop - start
    bounds = pool.lists[topic * systems : (topic + 1) * systems + 1].tolist()
    lists = [pool.ranked[a:b] - start for a, b in pairwise(bounds)]
    holders = pool.holders[start:stop]
    wins = np.zeros(size, dtype=np.int64)
    rows = max(1, _AT_A_TIME // max(1, size))
    for first in range(0, size, rows):
        part = slice(first, first + rows)
        # Runs that have one of the two are for that one; runs that have both go by rank.
        margin = holders[part, None] - holders
        for ranking in lists:
            here = np.flatnonzero((ranking >= first) & (ranking < first + rows))
            places = np.arange(ranking.size)
            # Of two documents both counts hold this run; they cancel.
            margin[np.ix_(ranking[here] - first, ranking)] += np.sign(places - here[:, None])
        wins[part] = (margin > 0).sum(axis=1)
    return wins
