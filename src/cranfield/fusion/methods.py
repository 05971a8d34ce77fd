"""Fusion methods, which score each document by the rankings of several runs."""

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
    integer,
    number,
    parameter,
    to_fraction,
)
from cranfield.collection.judged.rows import divide
from cranfield.fusion.rankings import Rankings


def check_finite_scores(scores: Floats) -> Floats:
    """Return the fused scores; raise if one is infinite or NaN."""
    if not np.isfinite(scores).all():
        value = scores[~np.isfinite(scores)][0]
        advice = "use smaller weights, or a norm such as min-max"
        raise PolicyError(f"fused scores must be finite, got {value:g}; {advice}")
    return scores


class Fusion(Spec):
    """Base class of methods that fuse several rankings into one."""

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # Publication that defines the method
    uses_scores: ClassVar[bool] = False  # Whether the method uses normalised scores, or else ranks
    accepts_weights: ClassVar[bool] = True  # Whether runs can have weights

    def score_documents(self, rankings: Rankings, weights: Floats, norm: str) -> Floats:
        """Score the documents, where higher is better; shape (documents,).

        `weights` has the weight of each system, shape (systems,), and `norm` is the normalisation
        of scores, for methods that use scores.
        """
        raise NotImplementedError


_BLOCK_PAIRS = 1 << 22  # maximum number of document pairs to compare at a time


class RankSum(Fusion):
    """Base class of fusion methods that sum the weights of a document's ranks over the runs."""

    def compute_rank_weights(self, n_ranks: int) -> list[Fraction]:
        """Return the exact weight of each rank from 1 to `n_ranks`."""
        raise NotImplementedError

    def score_documents(self, rankings: Rankings, weights: Floats, norm: str) -> Floats:
        rank_weights = _round_weights(self, int(np.diff(rankings.ranking_starts).max(initial=1)))
        row_weights = rank_weights[rankings.rank - 1] * weights[rankings.system]
        sums = np.bincount(rankings.ranked, weights=row_weights, minlength=rankings.size)
        return sums * self.compute_factors(rankings.run_counts)

    def compute_factors(self, n_runs: Ints) -> Floats:
        """Compute the factor of each sum from the number of runs that have the document."""
        return np.ones(n_runs.size)


@lru_cache(8)
def _round_weights(method: RankSum, n_ranks: int) -> Floats:
    return np.array([float(weight) for weight in method.compute_rank_weights(n_ranks)])


class ReciprocalRankFusion(RankSum):
    """Sum of 1/(k + rank) over the runs that have the document."""

    name = "RRF"
    aliases = ("reciprocal-rank-fusion",)
    source = "Cormack, Clarke and Büttcher 2009"
    k: int = parameter(60, integer(0), "constant added to ranks")

    def compute_rank_weights(self, n_ranks: int) -> list[Fraction]:
        return [Fraction(1, self.k + rank) for rank in range(1, n_ranks + 1)]


class RankBiasedCentroid(RankSum):
    """Sum of (1 - p) p^(rank - 1) over the runs that have the document."""

    name = "RBC"
    aliases = ("rank-biased-centroid",)
    source = "Bailey, Moffat, Scholer and Thomas 2017"
    p: float = parameter(
        0.8, OPEN_PROBABILITY, "persistence: probability of continuing to the next rank"
    )

    def compute_rank_weights(self, n_ranks: int) -> list[Fraction]:
        p = to_fraction(self.p)
        return [(1 - p) * p**rank for rank in range(n_ranks)]


class InverseSquareRank(RankSum):
    """Sum of 1/rank^2 over the n runs that have the document, times n."""

    name = "ISR"
    aliases = ("inverse-square-rank",)
    source = "Mourão, Martins and Magalhães 2015"

    def compute_rank_weights(self, n_ranks: int) -> list[Fraction]:
        return [Fraction(1, rank**2) for rank in range(1, n_ranks + 1)]

    def compute_factors(self, n_runs: Ints) -> Floats:
        return n_runs.astype(np.float64)


class LogInverseSquareRank(InverseSquareRank):
    """Sum of 1/rank^2 over the n runs that have the document, times log(n + sigma)."""

    name = "LogISR"
    aliases = ("logn-ISR",)
    sigma: float = parameter(
        0.01, number(0), "constant in log(n + sigma); if it is 0, documents of one run score 0"
    )

    def compute_factors(self, n_runs: Ints) -> Floats:
        return np.asarray(np.log(n_runs + self.sigma))


class BordaFusion(Fusion):
    """Borda count: n - r + 1 points for rank r of n; unranked documents share the other points."""

    name = "Borda"
    aliases = ("bordafuse", "Borda-count")
    source = "Aslam and Montague 2001"

    def score_documents(self, rankings: Rankings, weights: Floats, norm: str) -> Floats:
        points = compute_borda_points(rankings) * weights[rankings.system]
        sums = np.bincount(rankings.ranked, weights=points, minlength=rankings.size)
        # Points by each run for the documents that it does not rank, doubled.
        lengths = np.diff(rankings.ranking_starts).reshape(len(rankings.topics), -1)
        run_points = np.where(lengths > 0, np.diff(rankings.starts)[:, None] - lengths + 1, 0)
        unranked_points = run_points @ weights
        return np.asarray((sums + unranked_points[rankings.topic]) / 2)


def compute_borda_points(rankings: Rankings) -> Ints:
    """Compute the points of each row, less those of an unranked document, and doubled."""
    n_docs = np.diff(rankings.starts)[rankings.topic[rankings.ranked]]
    return np.asarray(n_docs - 2 * rankings.rank + _get_lengths(rankings) + 1)


class CondorcetFusion(Fusion):
    """Number of documents that the document beats by a majority of votes.

    A run votes for the higher of two documents, or for the only one that it ranks, if any.
    """

    name = "Condorcet"
    aliases = ("Condorcet-fuse", "Copeland")
    source = "Montague and Aslam 2002"
    accepts_weights = False

    def score_documents(self, rankings: Rankings, weights: Floats, norm: str) -> Floats:
        wins = [count_wins(rankings, topic) for topic in range(len(rankings.topics))]
        return np.concatenate(wins).astype(np.float64) if wins else np.zeros(0)


def count_wins(rankings: Rankings, topic: int) -> Ints:
    """Count the documents of a topic that each of its documents beats."""
    start, stop = rankings.starts[topic : topic + 2].tolist()
    n_systems, n_docs = len(rankings.systems), stop - start
    bounds = rankings.ranking_starts[topic * n_systems : (topic + 1) * n_systems + 1].tolist()
    lists = [rankings.ranked[a:b] - start for a, b in pairwise(bounds)]
    n_runs = rankings.run_counts[start:stop]
    wins = np.zeros(n_docs, dtype=np.int64)
    block_size = max(1, _BLOCK_PAIRS // max(1, n_docs))
    for first in range(0, n_docs, block_size):
        block = slice(first, first + block_size)
        # A run that ranks only one of two documents votes for it; a run that ranks both cancels out
        # here, and votes by rank below.
        margin = n_runs[block, None] - n_runs
        for ranking in lists:
            block_ranks = np.flatnonzero((ranking >= first) & (ranking < first + block_size))
            votes = np.sign(np.arange(ranking.size) - block_ranks[:, None])
            margin[np.ix_(ranking[block_ranks] - first, ranking)] += votes
        wins[block] = (margin > 0).sum(axis=1)
    return wins


def compute_min_max_norm(rankings: Rankings) -> Floats:
    r"""Scale scores to [0, 1]: :math:`(s - \min s) / (\max s - \min s)`; 1 if all are equal."""
    # Halved, so that the difference of two scores cannot overflow.
    halves = rankings.scores / 2
    minimum = _reduce_rankings(rankings, halves, np.minimum)
    maximum = _reduce_rankings(rankings, halves, np.maximum)
    excess, span = halves - minimum[rankings.cell], (maximum - minimum)[rankings.cell]
    return np.where(span > 0, divide(excess, span), 1.0)


def compute_max_norm(rankings: Rankings) -> Floats:
    r"""Divide by the highest score, which must be above 0: :math:`s / \max s`."""
    maximum = _reduce_rankings(rankings, rankings.scores, np.maximum)[rankings.cell]
    if (maximum <= 0).any():
        row = int(np.argmax(maximum <= 0))
        raise InputError(
            f"norm 'max' requires the highest score of each topic to be above 0, got"
            f" {maximum[row]:g}; use another norm, such as min-max",
            source=rankings.systems[rankings.system[row]],
            topic=rankings.topics[rankings.topic[rankings.ranked[row]]],
        )
    return np.asarray(rankings.scores / maximum)


def compute_sum_norm(rankings: Rankings) -> Floats:
    r"""Scale scores to sum 1: :math:`(s - \min s) / \sum (s - \min s)`; 1/n if all are equal."""
    scores = _scale_scores(rankings)
    excess = scores - _reduce_rankings(rankings, scores, np.minimum)[rankings.cell]
    totals = np.bincount(rankings.cell, weights=excess, minlength=rankings.ranking_starts.size - 1)
    row_totals = totals[rankings.cell]
    return np.where(row_totals > 0, divide(excess, row_totals), 1 / _get_lengths(rankings))


def compute_z_score_norm(rankings: Rankings) -> Floats:
    """Standardise scores by the mean and standard deviation of the ranking; 0 if all are equal."""
    n_rankings = rankings.ranking_starts.size - 1
    lengths = np.maximum(np.diff(rankings.ranking_starts), 1)
    scores = _scale_scores(rankings)
    mean = np.bincount(rankings.cell, weights=scores, minlength=n_rankings) / lengths
    deviations = scores - mean[rankings.cell]
    variance = np.bincount(rankings.cell, weights=deviations**2, minlength=n_rankings) / lengths
    return divide(deviations, np.sqrt(variance)[rankings.cell])


def compute_rank_norm(rankings: Rankings) -> Floats:
    """Return 1 - (r - 1)/n for rank r of n documents, ignoring scores."""
    return np.asarray(1 - (rankings.rank - 1) / _get_lengths(rankings))


def compute_borda_norm(rankings: Rankings) -> Floats:
    """Return 1 - (r - 1)/n for rank r, with n the number of documents of the topic in all runs."""
    n_docs = np.diff(rankings.starts)[rankings.topic[rankings.ranked]]
    return np.asarray(1 - (rankings.rank - 1) / n_docs)


NORMS: dict[str, Callable[[Rankings], Floats]] = {
    "min-max": compute_min_max_norm,
    "max": compute_max_norm,
    "sum": compute_sum_norm,
    "z-score": compute_z_score_norm,
    "rank": compute_rank_norm,
    "borda": compute_borda_norm,
    "none": lambda rankings: rankings.scores,
}
"""Normalisations of the scores of a ranking, by name."""


def _compute_unranked_borda_scores(rankings: Rankings) -> Floats:
    """Compute the norm `borda` of documents that a run does not rank; shape (topics, systems)."""
    # The mean value of the remaining ranks, 1/2 - (m - 1)/(2 n) for a run with m of the n documents
    # (Renda and Straccia 2003); infinite for runs without any document for a topic.
    lengths = np.diff(rankings.ranking_starts).reshape(len(rankings.topics), -1)
    mean_scores = 0.5 - (lengths - 1) / (2 * np.diff(rankings.starts)[:, None])
    return np.where(lengths > 0, mean_scores, np.inf)


def _get_lengths(rankings: Rankings) -> Ints:
    """Return the length of the ranking of each row."""
    return np.asarray(np.diff(rankings.ranking_starts)[rankings.cell])


def _scale_scores(rankings: Rankings) -> Floats:
    """Divide the scores of each ranking by a power of 2, so that sums and squares are finite."""
    _, exponents = np.frexp(_reduce_rankings(rankings, np.abs(rankings.scores), np.maximum))
    return np.asarray(np.ldexp(rankings.scores, -exponents[rankings.cell]))


def _reduce_rankings(rankings: Rankings, values: Floats, reduce: np.ufunc) -> Floats:
    """Reduce the values of each ranking; 0 for empty rankings."""
    reduced = np.zeros(rankings.ranking_starts.size - 1)
    nonempty = np.flatnonzero(np.diff(rankings.ranking_starts))
    reduced[nonempty] = reduce.reduceat(values, rankings.ranking_starts[nonempty])
    return reduced


_ABSENT = parameter("zero", choice("zero", "out"), "runs without a document: score 0, or excluded")


@dataclass(frozen=True, eq=False)
class DocumentScores:
    """Scores of all documents, in order of document and then of ascending score."""

    values: Floats
    starts: Ints  # index of the first value of each document
    n_scores: Ints  # number of scores of each document
    n_counted: Ints  # number of scores that count in means and factors, by document
    n_runs: Ints  # number of runs with documents for the topic of each document

    def sum_scores(self) -> Floats:
        """Sum the scores of each document."""
        return np.add.reduceat(self.values, self.starts)


class Combination(Fusion):
    """Base class of methods that combine the scores of each document.

    Runs without any document for the topic do not count. Every other run has a score for the
    documents that it ranks, and with norm `borda` also for the other documents of the topic.
    """

    source = "Fox and Shaw 1994"
    uses_scores = True

    def score_documents(self, rankings: Rankings, weights: Floats, norm: str) -> Floats:
        if not rankings.size:
            return np.zeros(0)
        row_scores = check_finite_scores(NORMS[norm](rankings) * weights[rankings.system])
        if norm == "borda":
            table = (_compute_unranked_borda_scores(rankings) * weights)[rankings.topic]
            table[rankings.ranked, rankings.system] = row_scores
            table.sort(axis=1)
            is_score = np.isfinite(table)
            n_scores, values = is_score.sum(axis=1), table[is_score]
        else:
            n_scores, values = rankings.run_counts, rankings.sort_values(row_scores)
        starts = np.r_[0, np.cumsum(n_scores)[:-1]]
        n_runs = rankings.n_runs_by_topic[rankings.topic]
        return self.combine(DocumentScores(values, starts, n_scores, n_scores, n_runs))

    def combine(self, scores: DocumentScores) -> Floats:
        """Return the combined score of each document."""
        raise NotImplementedError


class CombSumFusion(Combination):
    """Sum of the scores; with weights of runs, linear interpolation."""

    name = "CombSUM"
    aliases = ("linear", "interpolation", "sum", "wsum", "relative-score-fusion", "RSF")

    def combine(self, scores: DocumentScores) -> Floats:
        return scores.sum_scores()


class CombMnzFusion(Combination):
    """Sum of the scores, times their number."""

    name = "CombMNZ"
    aliases = ("mnz",)

    def combine(self, scores: DocumentScores) -> Floats:
        return scores.sum_scores() * scores.n_counted


class CombGmnzFusion(Combination):
    """Sum of the scores, times a power of their number."""

    name = "CombGMNZ"
    aliases = ("gmnz",)
    source = "Lee 1997"
    gamma: float = parameter(1.0, number(0), "exponent of the number of scores; 1 is CombMNZ")

    def combine(self, scores: DocumentScores) -> Floats:
        return np.asarray(scores.sum_scores() * scores.n_counted**self.gamma)


class CombMaxFusion(Combination):
    """Largest score."""

    name = "CombMAX"
    aliases = ("max",)

    def combine(self, scores: DocumentScores) -> Floats:
        return np.asarray(scores.values[scores.starts + scores.n_scores - 1])


class CombMedFusion(Combination):
    """Median of the scores; runs without the document count as 0, or are excluded."""

    name = "CombMED"
    aliases = ("med", "median")
    absent: str = _ABSENT

    def combine(self, scores: DocumentScores) -> Floats:
        values, starts, n_scores = scores.values, scores.starts, scores.n_scores
        n_zeros = scores.n_runs - n_scores if self.absent == "zero" else np.zeros_like(n_scores)
        # In ascending order, zeros of runs without the document follow the negative scores.
        n_negative = np.add.reduceat(values < 0, starts, dtype=np.int64)

        def select_values(index: Ints) -> Floats:
            score_index = np.where(index < n_negative, index, index - n_zeros)
            is_zero = (index >= n_negative) & (score_index < n_negative)
            return np.where(is_zero, 0.0, values[starts + np.clip(score_index, 0, n_scores - 1)])

        n_values = n_scores + n_zeros
        return np.asarray(select_values((n_values - 1) // 2) / 2 + select_values(n_values // 2) / 2)


class CombAnzFusion(Combination):
    """Mean of the scores."""

    name = "CombANZ"
    aliases = ("anz", "mean")

    def combine(self, scores: DocumentScores) -> Floats:
        return divide(scores.sum_scores(), scores.n_counted)


class CombMinFusion(Combination):
    """Smallest score; runs without the document count as 0, or are excluded."""

    name = "CombMIN"
    aliases = ("min",)
    absent: str = _ABSENT

    def combine(self, scores: DocumentScores) -> Floats:
        minima = scores.values[scores.starts]
        if self.absent == "out":
            return np.asarray(minima)
        return np.where(scores.n_scores < scores.n_runs, np.minimum(minima, 0.0), minima)


FUSIONS: Registry[type[Fusion]] = Registry(
    "fusion method", "methods", package="cranfield.fusion", base=Fusion
)
