"""Methods of fusion: a score of each document from the rankings of several runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.spec import (
    OPEN_PROBABILITY,
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
    """Return scores; refuse infinite ones."""
    if not np.isfinite(scores).all():
        raise PolicyError(
            "fused scores are too large; use smaller weights, or a norm such as min-max"
        )
    return scores


class Fusion(Spec):
    """A method that fuses several rankings into one; its text form is its identity.

    Case, blanks, hyphens and underscores of names do not matter.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """Publication that defines the method."""
    by_score: ClassVar[bool] = False
    """Whether the method uses normalised scores, or ranks alone."""
    weighs: ClassVar[bool] = True
    """Whether runs may have weights."""

    def values(self, rankings: Rankings, weights: Floats, norm: str) -> Floats:
        """Score the documents, higher is better; shape (documents,).

        Parameters
        ----------
        rankings
            The rankings.
        weights
            Weights of the systems; shape (systems,).
        norm
            Normalisation of the scores, for methods that use them.
        """
        raise NotImplementedError


_BLOCK_PAIRS = 1 << 22
"""Number of document pairs compared at a time."""


class RankSum(Fusion):
    """The sum of a weight of the document's rank over the runs that have it."""

    def rank_weights(self, n_ranks: int) -> list[Fraction]:
        """Return the exact weight of each rank from 1 to `n_ranks`."""
        raise NotImplementedError

    def values(self, rankings: Rankings, weights: Floats, norm: str) -> Floats:
        rank_weights = _float_weights(self, int(np.diff(rankings.lists).max(initial=1)))
        row_weights = rank_weights[rankings.rank - 1] * weights[rankings.system]
        total = np.bincount(rankings.ranked, weights=row_weights, minlength=rankings.size)
        return total * self.factor(rankings.holders)

    def factor(self, holders: Ints) -> Floats:
        """Return the factor of the sum, from the number of runs that have the document."""
        return np.ones(holders.size)


@lru_cache(8)
def _float_weights(method: RankSum, n_ranks: int) -> Floats:
    return np.array([float(weight) for weight in method.rank_weights(n_ranks)])


class ReciprocalRankFusion(RankSum):
    """The sum of 1/(k + rank) over the runs that have the document."""

    name = "RRF"
    aliases = ("reciprocal-rank-fusion",)
    source = "Cormack, Clarke and Büttcher 2009"
    k: int = parameter(60, integer(0), "constant added to ranks")

    def rank_weights(self, n_ranks: int) -> list[Fraction]:
        return [Fraction(1, self.k + rank) for rank in range(1, n_ranks + 1)]


class RankBiasedCentroid(RankSum):
    """The sum of (1 - p) p^(rank - 1) over the runs that have the document."""

    name = "RBC"
    aliases = ("rank-biased-centroid",)
    source = "Bailey, Moffat, Scholer and Thomas 2017"
    p: float = parameter(0.8, OPEN_PROBABILITY, "probability of going on to the next rank")

    def rank_weights(self, n_ranks: int) -> list[Fraction]:
        p = fraction_of(self.p)
        return [(1 - p) * p**rank for rank in range(n_ranks)]


class InverseSquareRank(RankSum):
    """The sum of 1/rank^2 over the runs that have the document, times their number."""

    name = "ISR"
    aliases = ("inverse-square-rank",)
    source = "Mourão, Martins and Magalhães 2015"

    def rank_weights(self, n_ranks: int) -> list[Fraction]:
        return [Fraction(1, rank**2) for rank in range(1, n_ranks + 1)]

    def factor(self, holders: Ints) -> Floats:
        return holders.astype(np.float64)


class LogInverseSquareRank(InverseSquareRank):
    """The sum of 1/rank^2 over the runs that have it, times log(their number + sigma)."""

    name = "LogISR"
    aliases = ("logn-ISR",)
    sigma: float = parameter(0.01, number(0), "preserves the order of documents of a single run")

    def factor(self, holders: Ints) -> Floats:
        return np.asarray(np.log(holders + self.sigma))


class Borda(Fusion):
    """Points: of n documents rank r gets n - r + 1, unranked ones share the remainder."""

    name = "Borda"
    aliases = ("bordafuse", "Borda-count")
    source = "Aslam and Montague 2001"

    def values(self, rankings: Rankings, weights: Floats, norm: str) -> Floats:
        points = borda_points(rankings) * weights[rankings.system]
        total = np.bincount(rankings.ranked, weights=points, minlength=rankings.size)
        # Points of each run for the documents that it does not rank, doubled.
        lengths = np.diff(rankings.lists).reshape(len(rankings.topics), -1)
        shares = np.where(lengths > 0, np.diff(rankings.starts)[:, None] - lengths + 1, 0)
        remainder = shares @ weights
        return np.asarray((total + remainder[rankings.topic]) / 2)


def borda_points(rankings: Rankings) -> Ints:
    """Return twice the points of each row, less those of an unranked document of its run."""
    size = np.diff(rankings.starts)[rankings.topic[rankings.ranked]]
    return np.asarray(size - 2 * rankings.rank + np.diff(rankings.lists)[rankings.cell] + 1)


class Condorcet(Fusion):
    """The number of documents that the document beats by a majority of votes.

    Ranked documents are above unranked ones; a run without either does not vote.
    """

    name = "Condorcet"
    aliases = ("Condorcet-fuse", "Copeland")
    source = "Montague and Aslam 2002"
    weighs = False

    def values(self, rankings: Rankings, weights: Floats, norm: str) -> Floats:
        wins = [wins_of(rankings, topic) for topic in range(len(rankings.topics))]
        return np.concatenate(wins).astype(np.float64) if wins else np.zeros(0)


def wins_of(rankings: Rankings, topic: int) -> Ints:
    """Count the documents of the topic that each of them beats."""
    start, stop = rankings.starts[topic : topic + 2].tolist()
    systems, size = len(rankings.systems), stop - start
    bounds = rankings.lists[topic * systems : (topic + 1) * systems + 1].tolist()
    lists = [rankings.ranked[a:b] - start for a, b in pairwise(bounds)]
    holders = rankings.holders[start:stop]
    wins = np.zeros(size, dtype=np.int64)
    rows = max(1, _BLOCK_PAIRS // max(1, size))
    for first in range(0, size, rows):
        block = slice(first, first + rows)
        # A run that ranks only one of two documents votes for it; others vote by rank.
        margin = holders[block, None] - holders
        for ranking in lists:
            heads = np.flatnonzero((ranking >= first) & (ranking < first + rows))
            ranks = np.arange(ranking.size)
            # A run that ranks both documents is in both rows of holders, which cancel out.
            margin[np.ix_(ranking[heads] - first, ranking)] += np.sign(ranks - heads[:, None])
        wins[block] = (margin > 0).sum(axis=1)
    return wins


def min_max(rankings: Rankings) -> Floats:
    r"""Scale scores to 0 to 1: :math:`(s - \min s) / (\max s - \min s)`; 1 if all are equal."""
    # Halves, so that the difference of two scores cannot overflow.
    halves = rankings.scores / 2
    low, high = (_reduce_rankings(rankings, halves, reduce) for reduce in (np.minimum, np.maximum))
    excess, width = (halves - low[rankings.cell]), (high - low)[rankings.cell]
    return np.where(width > 0, ratio(excess, width), 1.0)


def by_max(rankings: Rankings) -> Floats:
    r"""Divide by the highest score, which must be above 0: :math:`s / \max s`."""
    high = _reduce_rankings(rankings, rankings.scores, np.maximum)[rankings.cell]
    if (high <= 0).any():
        row = int(np.argmax(high <= 0))
        raise InputError(
            "norm 'max' needs a highest score above 0",
            source=rankings.systems[rankings.system[row]],
            topic=rankings.topics[rankings.topic[rankings.ranked[row]]],
        )
    return np.asarray(rankings.scores / high)


def by_sum(rankings: Rankings) -> Floats:
    r"""Scale to the sum 1: :math:`(s - \min s) / \sum (s - \min s)`; 1/n if all are equal."""
    scores = _scaled_scores(rankings)
    excess = scores - _reduce_rankings(rankings, scores, np.minimum)[rankings.cell]
    total = np.bincount(rankings.cell, weights=excess, minlength=rankings.lists.size - 1)[
        rankings.cell
    ]
    return np.where(total > 0, ratio(excess, total), 1 / _row_lengths(rankings))


def z_score(rankings: Rankings) -> Floats:
    """Return standard deviations above the run's mean for the topic; 0 if all are equal."""
    cells, lengths = rankings.lists.size - 1, np.maximum(np.diff(rankings.lists), 1)
    scores = _scaled_scores(rankings)
    mean = np.bincount(rankings.cell, weights=scores, minlength=cells) / lengths
    deviations = scores - mean[rankings.cell]
    variance = np.bincount(rankings.cell, weights=deviations**2, minlength=cells) / lengths
    return ratio(deviations, np.sqrt(variance)[rankings.cell])


def by_rank(rankings: Rankings) -> Floats:
    """Return 1 - (r - 1)/n for rank r of n documents, whatever the score."""
    return np.asarray(1 - (rankings.rank - 1) / _row_lengths(rankings))


def borda(rankings: Rankings) -> Floats:
    """Return 1 - (r - 1)/n for rank r, with n documents of all runs together."""
    size = np.diff(rankings.starts)[rankings.topic[rankings.ranked]]
    return np.asarray(1 - (rankings.rank - 1) / size)


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


def absent_scores(rankings: Rankings, norm: str) -> Floats | None:
    """Return the value of documents that a run does not rank, by ranking; None for 0."""
    # By `borda` the mean of the remaining places, 1/2 - (m - 1)/(2 n) of a run with m of the n
    # documents (Renda and Straccia 2003); infinite for runs without any document of a topic.
    if norm != "borda":
        return None
    lengths = np.diff(rankings.lists).reshape(len(rankings.topics), -1)
    mean_points = 0.5 - (lengths - 1) / (2 * np.diff(rankings.starts)[:, None])
    return np.where(lengths > 0, mean_points, np.inf)


def _row_lengths(rankings: Rankings) -> Ints:
    return np.asarray(np.diff(rankings.lists)[rankings.cell])


def _scaled_scores(rankings: Rankings) -> Floats:
    """Divide the scores of each ranking by a power of 2, so that sums and squares are finite."""
    _, power = np.frexp(_reduce_rankings(rankings, np.abs(rankings.scores), np.maximum))
    return np.asarray(np.ldexp(rankings.scores, -power[rankings.cell]))


def _reduce_rankings(rankings: Rankings, values: Floats, reduce: np.ufunc) -> Floats:
    """Reduce the values of each ranking; 0 for rankings without documents."""
    reduced = np.zeros(rankings.lists.size - 1)
    nonempty = np.flatnonzero(np.diff(rankings.lists))
    if nonempty.size:
        reduced[nonempty] = reduce.reduceat(values, rankings.lists[nonempty])
    return reduced


_ABSENT = parameter("zero", choice("zero", "out"), "value of a run without the document")


@dataclass(frozen=True, eq=False)
class ScoreLists:
    """Scores of all documents, sorted by document, then ascending.

    values: all scores; starts, sizes: first score of each document, and number of its scores.
    counted: number of scores that count in means and factors, by document.
    runs: number of runs of its topic, by document.
    """

    values: Floats
    starts: Ints
    sizes: Ints
    counted: Ints
    runs: Ints

    def sums(self) -> Floats:
        return np.add.reduceat(self.values, self.starts)


class Combination(Fusion):
    """A combination of the scores of each document.

    Runs without any document for the topic do not count.
    """

    source = "Fox and Shaw 1994"
    by_score = True

    def values(self, rankings: Rankings, weights: Floats, norm: str) -> Floats:
        if not rankings.size:
            return np.zeros(0)
        row_scores = finite(NORMS[norm](rankings) * weights[rankings.system])
        if (unranked_scores := absent_scores(rankings, norm)) is None:
            sizes, values = rankings.holders, rankings.ascending(row_scores)
        else:
            table = (unranked_scores * weights)[rankings.topic]
            table[rankings.ranked, rankings.system] = row_scores
            table.sort(axis=1)
            is_score = np.isfinite(table)
            sizes, values = is_score.sum(axis=1), table[is_score]
        starts = np.r_[0, np.cumsum(sizes)[:-1]]
        runs = rankings.runs_of_topic[rankings.topic]
        return self.combine(ScoreLists(values, starts, sizes, sizes, runs))

    def combine(self, scores: ScoreLists) -> Floats:
        """Return the combined score of each document."""
        raise NotImplementedError


class CombSum(Combination):
    """The sum of the scores; with weights of runs, a linear interpolation."""

    name = "CombSUM"
    aliases = ("linear", "interpolation", "sum", "wsum")

    def combine(self, scores: ScoreLists) -> Floats:
        return scores.sums()


class CombMnz(Combination):
    """The sum of the scores, times the number of runs that have the document."""

    name = "CombMNZ"
    aliases = ("mnz",)

    def combine(self, scores: ScoreLists) -> Floats:
        return scores.sums() * scores.counted


class CombGmnz(Combination):
    """The sum of the scores, times the number of runs that have the document to a power."""

    name = "CombGMNZ"
    aliases = ("gmnz",)
    source = "Lee 1997"
    gamma: float = parameter(1.0, number(0), "the power; 0 is CombSUM, 1 is CombMNZ")

    def combine(self, scores: ScoreLists) -> Floats:
        return np.asarray(scores.sums() * scores.counted**self.gamma)


class CombMax(Combination):
    """The largest score."""

    name = "CombMAX"
    aliases = ("max",)

    def combine(self, scores: ScoreLists) -> Floats:
        return np.asarray(scores.values[scores.starts + scores.sizes - 1])


class CombMed(Combination):
    """The median of the scores; runs without the document count 0, or are excluded."""

    name = "CombMED"
    aliases = ("med", "median")
    absent: str = _ABSENT

    def combine(self, scores: ScoreLists) -> Floats:
        values, starts, sizes = scores.values, scores.starts, scores.sizes
        zeros = scores.runs - sizes if self.absent == "zero" else np.zeros_like(sizes)
        # Zeros of runs without the document stand between the negative scores and the others.
        n_negative = np.add.reduceat(values < 0, starts, dtype=np.int64)

        def value_at(index: Ints) -> Floats:
            score_index = np.where(index < n_negative, index, index - zeros)
            is_scored = (index >= n_negative) & (score_index < n_negative)
            return np.where(is_scored, 0.0, values[starts + np.clip(score_index, 0, sizes - 1)])

        n_values = sizes + zeros
        return np.asarray(value_at((n_values - 1) // 2) / 2 + value_at(n_values // 2) / 2)


class CombAnz(Combination):
    """The mean of the scores over the runs that have the document."""

    name = "CombANZ"
    aliases = ("anz", "mean")

    def combine(self, scores: ScoreLists) -> Floats:
        return ratio(scores.sums(), scores.counted)


class CombMin(Combination):
    """The smallest score; runs without the document count 0, or are excluded."""

    name = "CombMIN"
    aliases = ("min",)
    absent: str = _ABSENT

    def combine(self, scores: ScoreLists) -> Floats:
        lowest = scores.values[scores.starts]
        if self.absent == "out":
            return np.asarray(lowest)
        return np.where(scores.sizes < scores.runs, np.minimum(lowest, 0.0), lowest)


FUSIONS: Registry[type[Fusion]] = Registry(
    "fusion method",
    "methods",
    package="cranfield.fusion",
    base=Fusion,
)
