"""Fusion by the ranks that documents have in the runs, whatever their scores."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.fusion.method import Fusion
from cranfield.fusion.rankings import Rankings
from cranfield.measures.parameters import TRUE_SHARE, fraction_of, integer, number, parameter

_AT_A_TIME = 1 << 22
"""Pairs of documents that are looked at together."""


class RankSum(Fusion):
    """The sum of a weight of the document's rank over the runs that have it."""

    def of_ranks(self, most: int) -> list[Fraction]:
        """Weight of each rank from 1, exactly."""
        raise NotImplementedError

    def values(self, given: Rankings, weights: Floats, norm: str) -> Floats:
        of_rank = _floats(self, int(np.diff(given.lists).max(initial=1)))
        each = of_rank[given.rank - 1] * weights[given.system]
        total = np.bincount(given.ranked, weights=each, minlength=given.size)
        return total * self.factor(given.holders)

    def factor(self, holders: Ints) -> Floats:
        """What the sum is multiplied by, given how many runs have the document."""
        return np.ones(holders.size)


@lru_cache(8)
def _floats(method: RankSum, most: int) -> Floats:
    return np.array([float(one) for one in method.of_ranks(most)])


class ReciprocalRankFusion(RankSum):
    """The sum of 1/(k + rank) over the runs that have the document."""

    name = "RRF"
    source = "Cormack, Clarke and Büttcher 2009"
    k: int = parameter(60, integer(0), "what is added to ranks")

    def of_ranks(self, most: int) -> list[Fraction]:
        return [Fraction(1, self.k + rank) for rank in range(1, most + 1)]


class RankBiasedCentroid(RankSum):
    """The sum of (1 - p) p^(rank - 1) over the runs that have the document."""

    name = "RBC"
    source = "Bailey, Moffat, Scholer and Thomas 2017"
    p: float = parameter(0.8, TRUE_SHARE, "chance to go on to the next rank")

    def of_ranks(self, most: int) -> list[Fraction]:
        p = fraction_of(self.p)
        return [(1 - p) * p**rank for rank in range(most)]


class InverseSquareRank(RankSum):
    """The sum of 1/rank^2 over the runs that have the document, times their number."""

    name = "ISR"
    source = "Mourão, Martins and Magalhães 2015"

    def of_ranks(self, most: int) -> list[Fraction]:
        return [Fraction(1, rank**2) for rank in range(1, most + 1)]

    def factor(self, holders: Ints) -> Floats:
        return holders.astype(np.float64)


class LogInverseSquareRank(InverseSquareRank):
    """The sum of 1/rank^2 over the runs that have it, times log(their number + sigma)."""

    name = "LogISR"
    sigma: float = parameter(0.01, number(0), "what keeps documents of a single run in order")

    def factor(self, holders: Ints) -> Floats:
        return np.asarray(np.log(holders + self.sigma))


class Borda(Fusion):
    """Points: of n documents rank r gets n - r + 1, unranked ones share what is left."""

    name = "Borda"
    source = "Aslam and Montague 2001"

    def values(self, given: Rankings, weights: Floats, norm: str) -> Floats:
        points = borda_points(given) * weights[given.system]
        total = np.bincount(given.ranked, weights=points, minlength=given.size)
        # What each run that has some document gives to those that it does not rank, doubled.
        lengths = np.diff(given.lists).reshape(len(given.topics), -1)
        left = np.where(lengths > 0, np.diff(given.starts)[:, None] - lengths + 1, 0) @ weights
        return np.asarray((total + left[given.topic]) / 2)


def borda_points(given: Rankings) -> Ints:
    """Twice the points of each row, less those that its run gives to an unranked document."""
    size = np.diff(given.starts)[given.topic[given.ranked]]
    return np.asarray(size - 2 * given.rank + np.diff(given.lists)[given.cell] + 1)


class Condorcet(Fusion):
    """The number of documents that it beats: more runs have it above the other than below.

    Ranked documents are above unranked ones; a run that has neither does not vote.
    """

    name = "Condorcet"
    source = "Montague and Aslam 2002"
    weighs = False

    def values(self, given: Rankings, weights: Floats, norm: str) -> Floats:
        wins = [wins_of(given, topic) for topic in range(len(given.topics))]
        return np.concatenate(wins).astype(np.float64) if wins else np.zeros(0)


def wins_of(given: Rankings, topic: int) -> Ints:
    """Count the documents of the topic that each of them beats."""
    start, stop = given.starts[topic : topic + 2].tolist()
    systems, size = len(given.systems), stop - start
    bounds = given.lists[topic * systems : (topic + 1) * systems + 1].tolist()
    lists = [given.ranked[a:b] - start for a, b in pairwise(bounds)]
    holders = given.holders[start:stop]
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
