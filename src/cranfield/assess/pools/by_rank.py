"""Orders by the ranks that documents have in the runs, whatever is judged."""

from __future__ import annotations

from math import lcm

import numpy as np

from cranfield.assess.pools.method import Method, best_first
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Indices
from cranfield.fusion import by_ranks
from cranfield.measures.parameters import TRUE_SHARE, integer, parameter


class Depth(Method):
    """By best rank in any run: the pool of depth 1, what depth 2 adds, and so on."""

    name = "depth"
    source = "Spärck Jones and van Rijsbergen 1975; Zobel 1998"

    def ranking(self, pool: Pool) -> Indices:
        return best_first(pool, -pool.best_rank)


class Count(Method):
    """By the number of runs that have the document."""

    name = "count"

    def ranking(self, pool: Pool) -> Indices:
        return best_first(pool, pool.holders)


class ReciprocalRankFusion(Method):
    """By the sum of 1/(k + rank) over the runs that have the document."""

    name = "RRF"
    source = "Cormack, Clarke and Büttcher 2009"
    k: int = parameter(60, integer(0), "what is added to ranks")

    def ranking(self, pool: Pool) -> Indices:
        return _by_sums(pool, by_ranks.ReciprocalRankFusion(k=self.k))


class Borda(Method):
    """By points: of n pooled documents rank r gets n - r, unranked ones share what is left."""

    name = "Borda"
    source = "Aslam and Montague 2001"

    def ranking(self, pool: Pool) -> Indices:
        total = np.zeros(len(pool), dtype=np.int64)
        np.add.at(total, pool.ranked, by_ranks.borda_points(pool))
        return best_first(pool, total)


class Condorcet(Method):
    """By the number of documents that it beats: more runs have it above the other than below.

    Ranked documents are above unranked ones; a run that has neither does not vote.
    """

    name = "Condorcet"
    source = "Montague and Aslam 2002"

    def ranking(self, pool: Pool) -> Indices:
        wins = [by_ranks.wins_of(pool, topic) for topic in range(len(pool.topics))]
        return best_first(pool, np.concatenate(wins) if wins else np.zeros(0, dtype=np.int64))


class RankBiasedSum(Method):
    """By the sum of (1 - p) p^(rank - 1) over the runs that have the document."""

    name = "RBP-A"
    source = "Moffat, Webber and Zobel 2007"
    p: float = parameter(0.8, TRUE_SHARE, "chance to go on to the next rank")

    def ranking(self, pool: Pool) -> Indices:
        return _by_sums(pool, by_ranks.RankBiasedCentroid(p=self.p))


def _by_sums(pool: Pool, method: by_ranks.RankSum) -> Indices:
    """Order by the sum over runs of a weight a rank.

    Whole numbers over a common denominator: sums that are equal are found to be equal.
    """
    if not len(pool):
        return np.zeros(0, dtype=np.intp)
    weights = method.of_ranks(int(np.diff(pool.lists).max(initial=1)))
    common = lcm(*(one.denominator for one in weights))
    of_rank = np.array([int(one * common) for one in weights], dtype=object)
    # What is added up here are references to the same few numbers.
    each = of_rank[pool.rank[pool.by_document] - 1]
    return best_first(pool, np.add.reduceat(each, pool.held[:-1]))
