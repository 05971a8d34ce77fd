"""Mean and variance of scores over judgments that are drawn from probabilities of relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import NO_TIES, Judgments, Rows
from cranfield.collection.probabilities import DRAWS_PER_BLOCK, Probabilities
from cranfield.evaluation.expected_scores import score_rankings
from cranfield.measures.base import Measure

STOPS = ("RR", "Success", "FirstRank", "ERR", "iRBU")
"""Measures that are the worth of the rank where a user stops, whatever is not retrieved."""

RATIOS, BINARY_RATIOS = ("AP", "R", "RelP", "F"), ("nDCG", "NCG")
"""Measures that are a sum over relevant documents divided by a function of their number; the latter
only if all relevant documents have the same grade."""

Moments = tuple[Floats, Floats]
"""Mean and variance of the scores over judgments; each of shape (topics, systems)."""


@dataclass(frozen=True, eq=False)
class ProbableRuns:
    """Runs judged with the highest grade, and the probabilities of the grades of documents."""

    judged: JudgedRuns  # with a column `row` of judgments, the index of their probabilities
    probabilities: Probabilities

    @property
    def row(self) -> Ints:
        """Row of the probabilities of each judgment of the runs."""
        return np.asarray(self.judged.judgments.columns["row"])

    def with_grades(self, grades: Ints) -> JudgedRuns:
        """Return the runs judged by these grades; shape (rows of the probabilities,)."""
        judgments, rows = self.judged.judgments, self.judged.documents
        grade = grades[self.row]
        order = np.argsort((judgments.topic << 32) - grade, kind="stable")
        topic, scale = judgments.topic[order], (judgments.judged_from, judgments.max_grade)
        return replace(
            self.judged,
            documents=Rows(rows.cell, rows.rank, grade[rows.judgment], rows.shape),
            judgments=Judgments(judgments.topics, topic, grade[order], *scale),
            ties=NO_TIES,
            views={},
        )

    def cut_off(self, measure: Measure) -> tuple[Measure, Rows, Ints]:
        """Cut off (and condense) the runs; return the measure, the documents and their rows."""
        rows = measure.cut_off(self.judged).documents
        return measure(judged_only=False), rows, self.row[rows.judgment]


def exact_moments(runs: ProbableRuns, measure: Measure) -> Moments | None:
    """Return the exact moments of a measure; None if they have to be simulated."""
    uncondensed = measure(judged_only=False)
    if getattr(uncondensed, "max_grade", None) == "topic":
        return None
    if uncondensed.linear:
        return _linear_moments(runs, measure)
    if uncondensed.name in STOPS:
        return _stop_moments(runs, measure)
    grades = runs.probabilities.grades
    lowest, rank = grades[None, :1], np.ones((1, 1), dtype=np.int64)
    is_ratio = uncondensed.name in RATIOS
    if uncondensed.name in BINARY_RATIOS and grades.size == 2:
        # Documents of the lowest grade must not add to the score.
        is_ratio = not _score_on_topic(uncondensed, runs.judged, rank, lowest, grades).any()
    return _ratio_moments(runs, measure) if is_ratio else None


def simulate(
    runs: ProbableRuns, measures: Sequence[Measure], draws: int, seed: int
) -> list[Moments]:
    """Estimate the moments of measures from the scores of drawn judgments."""
    total, square = np.zeros((2, len(measures), *runs.judged.shape))
    # Deviations from the first draw avoid the cancellation of sums of squares.
    origin: Floats = np.zeros(0)
    for start in range(0, draws, DRAWS_PER_BLOCK):
        block = runs.probabilities.draw(start // DRAWS_PER_BLOCK, seed)
        for grades in block[: draws - start]:
            judged = runs.with_grades(grades)
            scores = np.stack([measure.score(judged) for measure in measures])
            origin = origin if origin.size else scores
            total += scores - origin
            square += (scores - origin) ** 2
    variance = np.maximum(square - total**2 / draws, 0.0) / (draws - 1)
    return list(zip(origin + total / draws, variance, strict=True))


def contributions(measure: Measure, judged: JudgedRuns, rank: Ints, grade: Ints) -> Floats:
    """Return the contribution of each document, by rank and grade, to a linear measure."""
    # Each pair of rank and grade is scored as a ranking of one judged document.
    deepest = int(rank.max(initial=1))
    pairs, pair = np.unique(grade * (deepest + 1) + rank, return_inverse=True)
    grades, ranks = np.divmod(pairs, deepest + 1)
    pair_scores = _score_on_topic(measure, judged, ranks[None], grades[None], grades)
    return np.asarray(pair_scores[pair])


def _score_on_topic(
    measure: Measure, judged: JudgedRuns, ranks: Ints, grades: Ints, judgments: Ints
) -> Floats:
    """Score rankings on one topic with the grades of `judgments`; see :func:`score_rankings`."""
    on_topic = replace(
        judged.judgments,
        topics=1,
        topic=np.zeros(judgments.size, dtype=np.int64),
        grade=np.sort(judgments)[::-1],
        columns={},
    )
    judged = replace(judged, topics=("topic",), judgments=on_topic)
    return np.asarray(score_rankings(measure, judged, ranks, grades, int(ranks.max(initial=1)))[0])


def _linear_moments(runs: ProbableRuns, measure: Measure) -> Moments:
    """Return the moments of a sum over documents, which are sums of the moments of its terms."""
    measure, rows, row = runs.cut_off(measure)
    gains = [
        contributions(measure, runs.judged, rows.rank, np.full(rows.rank.size, grade))
        for grade in runs.probabilities.grades.tolist()
    ]
    gains_by_grade, weights = np.stack(gains, axis=1), runs.probabilities.values[row]
    mean = (weights * gains_by_grade).sum(axis=1)
    variance = (weights * (gains_by_grade - mean[:, None]) ** 2).sum(axis=1)
    return rows.total(mean), rows.total(variance)


def _stop_moments(runs: ProbableRuns, measure: Measure) -> Moments:
    r"""Return the moments of the worth of the rank where a user stops.

    With the stopping probability :math:`s_k` of a rank and its worth :math:`w_k`, the score from
    rank k on is :math:`T_k = w_k s_k + (1 - s_k) T_{k+1}`, where s and T are independent. So the
    first two moments of T follow from those of s, from the last rank up.
    """
    measure, rows, row = runs.cut_off(measure)
    judged, grades = runs.judged, runs.probabilities.grades
    deepest = int(rows.rank.max(initial=1))
    no_documents = np.zeros((0, 1), dtype=np.int64)
    empty_score = _score_on_topic(measure, judged, no_documents, no_documents, grades)[0]
    ranks = np.tile(np.arange(1, deepest + 1), (1, grades.size))
    scores = _score_on_topic(measure, judged, ranks, np.repeat(grades, deepest)[None], grades)
    gains = (scores - empty_score).reshape(grades.size, deepest)
    if deepest == 1:
        # Only the product of probability and worth matters, so the scale of one is arbitrary.
        stopping = np.abs(gains[:, 0]) / max(np.abs(gains).max(), 1e-300)
    else:
        # A second document of the same grade adds its gain times the probability of reaching it.
        pair_ranks = np.repeat([[1], [2]], grades.size, axis=1)
        scores = _score_on_topic(measure, judged, pair_ranks, np.stack([grades, grades]), grades)
        added_gain = scores - empty_score - gains[:, 0]
        survival = np.ones(grades.size)
        np.divide(added_gain, gains[:, 1], out=survival, where=gains[:, 1] != 0)
        stopping = (1.0 - survival).clip(0.0, 1.0)
    stop_grade = int(stopping.argmax())
    worth = gains[stop_grade] / (stopping[stop_grade] or 1.0)
    n_topics, n_systems = judged.shape
    weights = runs.probabilities.values[row]
    moments = np.stack([weights @ stopping, weights @ stopping**2])
    mean, second_moment = np.zeros((2, n_topics, n_systems))
    for topic in range(n_topics):
        is_selected = rows.topic == topic
        by_rank = np.zeros((2, n_systems, deepest))
        positions = rows.cell[is_selected] // n_topics, rows.rank[is_selected] - 1
        by_rank[:, *positions] = moments[:, is_selected]
        for k in np.flatnonzero(by_rank[0].any(axis=0))[::-1]:
            (s, s2), w = by_rank[..., k], worth[k]
            score, square = mean[topic], second_moment[topic]
            second_moment[topic] = w**2 * s2 + 2 * w * (s - s2) * score + (1 - 2 * s + s2) * square
            mean[topic] = w * s + (1 - s) * score
    return empty_score + mean, np.maximum(second_moment - mean**2, 0.0)


def _ratio_moments(runs: ProbableRuns, measure: Measure) -> Moments:
    r"""Return the moments of a sum over relevant documents, divided by a function of their number.

    A relevant document at rank k adds w(k), and for AP :math:`b\,w(k)`, where b counts the relevant
    documents down to k. With the number R of all relevant documents, retrieved or not,

    .. math:: E[S / N(R)] = \sum_R E[S; R] / N(R)
    """
    measure, rows, row = runs.cut_off(measure)
    judged, probabilities = runs.judged, runs.probabilities
    level = getattr(measure, "rel", probabilities.grades[-1])
    relevance = probabilities.at_least(level)
    n_topics, n_systems = judged.shape
    mean, second_moment = np.zeros(judged.shape), np.zeros(judged.shape)
    deepest = int(rows.rank.max(initial=1))
    rank, grade = np.arange(1, deepest + 1)[None], np.array([max(level, 1)])
    gains = _score_on_topic(measure, judged, rank, np.repeat(grade, deepest)[None], grade)
    # Documents that are not retrieved have a rank without gain.
    gains = np.append(gains, 0.0)
    inverse_divisors = [0.0, 1.0]
    for topic in range(n_topics):
        judged_rows = np.sort(runs.row[judged.judgments.topic == topic])
        judged_rows = judged_rows[relevance[judged_rows] > 0]
        is_selected = (rows.topic == topic) & (relevance[row] > 0)
        ranks = np.full((n_systems, judged_rows.size), deepest + 1)
        positions = (
            rows.cell[is_selected] // n_topics,
            np.searchsorted(judged_rows, row[is_selected]),
        )
        ranks[positions] = rows.rank[is_selected]
        order = ranks.argsort(axis=1, kind="stable")
        ordered = np.take_along_axis(ranks, order, axis=1)
        sums = _joint_moments(
            relevance[judged_rows][order], gains[ordered - 1], measure.name == "AP"
        )
        while len(inverse_divisors) < sums.shape[2]:
            relevant = np.repeat(grade, len(inverse_divisors))
            score = _score_on_topic(measure, judged, rank[:, :1], grade[None], relevant)[0]
            inverse_divisors.append(score / gains[0])
        inverse = np.array(inverse_divisors[: sums.shape[2]])
        mean[topic], second_moment[topic] = sums[0] @ inverse, sums[1] @ inverse**2
    return mean, np.maximum(second_moment - mean**2, 0.0)


def _joint_moments(probability: Floats, gain: Floats, is_precision: bool) -> Floats:
    """Return E[S; R] and E[S^2; R], by R; shape (2, systems, numbers of relevant documents).

    Documents are in order of rank, shape (systems, documents); with `is_precision`, their gain is
    multiplied by the number of relevant documents up to that rank.
    """
    n_systems, n_documents = probability.shape
    # By Bernstein's inequality, P(R > largest) < 1e-18.
    expected, variance = probability[:1].sum(), (probability[:1] * (1 - probability[:1])).sum()
    largest = min(n_documents, int(expected + 14 + np.sqrt(191 + 83 * variance)))
    # For b relevant documents so far: P(b), E[S; b] and E[S^2; b].
    p, s, s2 = np.zeros((3, n_systems, largest + 1))
    p[:, 0] = 1.0
    for k in range(n_documents):
        below, above = slice(0, min(k + 1, largest)), slice(1, min(k + 1, largest) + 1)
        relevant, added = probability[:, [k]], gain[:, [k]]
        if is_precision:
            added = added * np.arange(1.0, above.stop)
        hits = [
            relevant * p[:, below],
            relevant * (s[:, below] + added * p[:, below]),
            relevant * (s2[:, below] + added * (2 * s[:, below] + added * p[:, below])),
        ]
        for table, hit in zip((p, s, s2), hits, strict=True):
            table[:] *= 1 - relevant
            table[:, above] += hit
    return np.stack([s, s2])
