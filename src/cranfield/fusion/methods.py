"""Methods of fusion: a score of each document from the rankings of several runs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.spec import (
    TRUE_SHARE,
    Registry,
    Spec,
    choice,
    fraction_of,
    integer,
    number,
    parameter,
)
from cranfield.collection.judged.rows import ratio
from cranfield.fusion.rankings import Rankings


def finite(scores: Floats) -> Floats:
    """Return scores, or refuse those that are too large to be held."""
    if not np.isfinite(scores).all():
        raise PolicyError(
            "the fused scores are too large: give smaller weights, or a norm such as min-max"
        )
    return scores


class Fusion(Spec):
    """A way to make one ranking of several; its text form is its identity.

    Names are read whatever their case, blanks, hyphens and underscores.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """Where the definition stands."""
    by_score: ClassVar[bool] = False
    """Whether it goes by scores, which are normalised, or by ranks alone."""
    weighs: ClassVar[bool] = True
    """Whether runs may have weights."""

    @classmethod
    def called(cls) -> str:
        return cls.name

    def values(self, given: Rankings, weights: Floats, norm: str) -> Floats:
        """Score the documents, higher is better; shape (documents,).

        Parameters
        ----------
        given
            The rankings.
        weights
            Of the systems; shape (systems,).
        norm
            Normalisation of scores, of methods that go by them.
        """
        raise NotImplementedError


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


def min_max(given: Rankings) -> Floats:
    r"""From 0 to 1, :math:`(s - \min s) / (\max s - \min s)`; 1 where all are equal."""
    # Halves, so that the difference of two scores cannot overflow.
    halves = given.scores / 2
    low, high = (_over(given, halves, by) for by in (np.minimum, np.maximum))
    above, width = (halves - low[given.cell]), (high - low)[given.cell]
    return np.where(width > 0, ratio(above, width), 1.0)


def by_max(given: Rankings) -> Floats:
    r""":math:`s / \max s`, of scores whose highest is above 0."""
    high = _over(given, given.scores, np.maximum)[given.cell]
    if (high <= 0).any():
        row = int(np.argmax(high <= 0))
        raise InputError(
            "norm 'max' needs a highest score above 0",
            source=given.systems[given.system[row]],
            topic=given.topics[given.topic[given.ranked[row]]],
        )
    return np.asarray(given.scores / high)


def by_sum(given: Rankings) -> Floats:
    r""":math:`(s - \min s) / \sum (s - \min s)`; 1/n where all n are equal."""
    scores = _scaled(given)
    above = scores - _over(given, scores, np.minimum)[given.cell]
    total = np.bincount(given.cell, weights=above, minlength=given.lists.size - 1)[given.cell]
    return np.where(total > 0, ratio(above, total), 1 / _lengths(given))


def z_score(given: Rankings) -> Floats:
    """How many standard deviations above the run's mean for the topic; 0 where all are equal."""
    cells, lengths = given.lists.size - 1, np.maximum(np.diff(given.lists), 1)
    scores = _scaled(given)
    mean = np.bincount(given.cell, weights=scores, minlength=cells) / lengths
    above = scores - mean[given.cell]
    variance = np.bincount(given.cell, weights=above**2, minlength=cells) / lengths
    return ratio(above, np.sqrt(variance)[given.cell])


def by_rank(given: Rankings) -> Floats:
    """Of n documents the one of rank r has 1 - (r - 1)/n, whatever its score."""
    return np.asarray(1 - (given.rank - 1) / _lengths(given))


def borda(given: Rankings) -> Floats:
    """Of n documents that the runs have together, rank r of a run has 1 - (r - 1)/n."""
    size = np.diff(given.starts)[given.topic[given.ranked]]
    return np.asarray(1 - (given.rank - 1) / size)


NORMS: dict[str, Callable[[Rankings], Floats]] = {
    "min-max": min_max,
    "max": by_max,
    "sum": by_sum,
    "z-score": z_score,
    "rank": by_rank,
    "borda": borda,
    "none": lambda rankings: rankings.scores,
}
"""Normalisations of the scores of a run for a topic, by name."""


def absent(given: Rankings, norm: str) -> Floats | None:
    """Return what a document has that a run does not rank, by ranking; None where that is 0.

    By `borda` it is the mean of the places that are left, 1/2 - (m - 1)/(2 n) of a run with m of
    the n documents (Renda and Straccia 2003). Infinite of runs without any document for a topic.
    """
    if norm != "borda":
        return None
    lengths = np.diff(given.lists).reshape(len(given.topics), -1)
    share = 0.5 - (lengths - 1) / (2 * np.diff(given.starts)[:, None])
    return np.where(lengths > 0, share, np.inf)


def _lengths(given: Rankings) -> Ints:
    return np.asarray(np.diff(given.lists)[given.cell])


def _scaled(given: Rankings) -> Floats:
    """Divide the scores of each ranking by a power of 2, so that sums and squares can be held.

    They keep their digits, and so does what is made of them by norms that no factor changes.
    """
    _, power = np.frexp(_over(given, np.abs(given.scores), np.maximum))
    return np.asarray(np.ldexp(given.scores, -power[given.cell]))


def _over(given: Rankings, values: Floats, by: np.ufunc) -> Floats:
    """Reduce values over each ranking; 0 of one without documents."""
    found = np.zeros(given.lists.size - 1)
    some = np.flatnonzero(np.diff(given.lists))
    if some.size:
        found[some] = by.reduceat(values, given.lists[some])
    return found


_ABSENT = choice("zero", "out")


class Combination(Fusion):
    """A combination of the scores of each document.

    A run without any document for the topic has no part in it.
    """

    source = "Fox and Shaw 1994"
    by_score = True

    def values(self, given: Rankings, weights: Floats, norm: str) -> Floats:
        if not given.size:
            return np.zeros(0)
        each = finite(NORMS[norm](given) * weights[given.system])
        if (missing := absent(given, norm)) is None:
            sizes, values = given.holders, given.ascending(each)
        else:
            table = (missing * weights)[given.topic]
            table[given.ranked, given.system] = each
            table.sort(axis=1)
            there = np.isfinite(table)
            sizes, values = there.sum(axis=1), table[there]
        starts = np.r_[0, np.cumsum(sizes)[:-1]]
        return self.combined(values, starts, sizes, sizes, given.runs_of_topic[given.topic])

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        """Combine the values of each document.

        Parameters
        ----------
        values
            All of them, those of a document from its start, ascending.
        starts, sizes
            Where those of each document begin, and how many they are.
        counted
            How many of them count as found, for means and factors.
        runs
            How many runs there are for its topic.
        """
        raise NotImplementedError


class CombSum(Combination):
    """The sum of the scores; with weights of runs, a linear interpolation."""

    name = "CombSUM"

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        return np.add.reduceat(values, starts)


class CombMnz(Combination):
    """The sum of the scores, times the number of runs that have the document."""

    name = "CombMNZ"

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        return np.add.reduceat(values, starts) * counted


class CombGmnz(Combination):
    """The sum of the scores, times the number of runs that have the document to a power."""

    name = "CombGMNZ"
    source = "Lee 1997"
    gamma: float = parameter(1.0, number(0), "the power; 0 is CombSUM, 1 is CombMNZ")

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        return np.asarray(np.add.reduceat(values, starts) * counted**self.gamma)


class CombMax(Combination):
    """The largest score."""

    name = "CombMAX"

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        return np.asarray(values[starts + sizes - 1])


class CombMed(Combination):
    """The median of the scores; 0 of a run that does not rank it, or such a run is left out."""

    name = "CombMED"
    absent: str = parameter("zero", _ABSENT, "what a run says that does not rank the document")

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        zeros = runs - sizes if self.absent == "zero" else np.zeros_like(sizes)
        # Zeros of runs that do not rank it come behind what is below 0.
        below = np.add.reduceat(values < 0, starts, dtype=np.int64)

        def at(place: Ints) -> Floats:
            own = np.where(place < below, place, place - zeros)
            among = (place >= below) & (own < below)
            return np.where(among, 0.0, values[starts + np.clip(own, 0, sizes - 1)])

        whole = sizes + zeros
        return np.asarray(at((whole - 1) // 2) / 2 + at(whole // 2) / 2)


class CombAnz(Combination):
    """The mean of the scores over the runs that have the document."""

    name = "CombANZ"

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        return ratio(np.add.reduceat(values, starts), counted)


class CombMin(Combination):
    """The smallest score; 0 of a run that does not rank it, or such a run is left out."""

    name = "CombMIN"
    absent: str = parameter("zero", _ABSENT, "what a run says that does not rank the document")

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        lowest = values[starts]
        if self.absent == "out":
            return np.asarray(lowest)
        return np.where(sizes < runs, np.minimum(lowest, 0.0), lowest)


FUSIONS: Registry[type[Fusion]] = Registry(
    "fusion method",
    """
    methods: RRF=reciprocal-rank-fusion
    methods: CombSUM=linear=interpolation=sum=wsum CombMNZ=mnz CombGMNZ=gmnz CombMAX=max
      CombMIN=min CombMED=med=median CombANZ=anz=mean
    methods: Borda=bordafuse=Borda-count Condorcet=Condorcet-fuse=Copeland
      ISR=inverse-square-rank LogISR=logn-ISR RBC=rank-biased-centroid
    """,
    package="cranfield.fusion",
    base=Fusion,
)
