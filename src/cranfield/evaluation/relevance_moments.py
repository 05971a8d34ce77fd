"""Mean and variance of scores over judgments that are drawn from probabilities of relevance.

The grades of different documents are independent. Documents without a probability are unjudged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.judged.judged_runs import Annotations, JudgedRuns
from cranfield.collection.judged.rows import NO_TIES, Judgments, Rows
from cranfield.collection.probabilities import DRAWS_PER_BLOCK, Probabilities
from cranfield.measures.base import Measure

RATIOS = ("AP", "R", "RelP", "F", "nDCG", "NCG")
"""Measures that are a sum over relevant documents, divided by a function of their number."""

GRADED_RATIOS = ("nDCG", "NCG")
"""Those of them that are such a ratio only if all relevant documents have the same grade."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and variance of scores over judgments; shape (topics, systems).

    draws: number of draws, 0 if mean and variance are exact.
    """

    mean: Floats
    variance: Floats
    draws: int = 0


@dataclass(frozen=True, eq=False)
class ProbableRuns:
    """Judged runs whose grades are drawn: every listed document has the highest possible grade.

    judged: the runs. probabilities: of the judgments. row: the row of `probabilities` of each
        judgment of the runs; shape (judgments,).
    """

    judged: JudgedRuns
    probabilities: Probabilities

    @property
    def row(self) -> Ints:
        return np.asarray(self.judged.judgments.columns["row"])

    def with_grades(self, grades: Ints) -> JudgedRuns:
        """Return the runs judged by these grades; shape (rows of the probabilities,)."""
        judgments, documents = self.judged.judgments, self.judged.documents
        grade = grades[self.row]
        order = np.argsort((judgments.topic << 32) - grade, kind="stable")
        return replace(
            self.judged,
            documents=Rows(
                documents.cell, documents.rank, grade[documents.judgment], documents.shape
            ),
            judgments=Judgments(
                judgments.topics,
                judgments.topic[order],
                grade[order],
                judgments.judged_from,
                judgments.max_grade,
            ),
            ties=NO_TIES,
            views={},
        )

    def cut_off(self, measure: Measure) -> tuple[Measure, Rows, Ints]:
        """Return the measure on a list that is condensed and cut off, its rows, and their row."""
        view = measure.cut_off(self.judged)
        rows = view.documents
        return measure(judged_only=False), rows, self.row[rows.judgment]


def moments(runs: ProbableRuns, measure: Measure) -> Moments | None:
    """Return the exact moments of a measure; None if they have to be simulated."""
    if measure.info.inputs:
        return None
    plain = measure(judged_only=False)
    if plain.linear:
        return _linear_moments(runs, measure)
    if plain.info.expectation == "stop" and not _depends_on_others(plain, runs):
        return _stop_moments(runs, measure)
    if plain.name in RATIOS and (plain.name not in GRADED_RATIOS or _is_binary(plain, runs)):
        return _ratio_moments(runs, measure)
    return None


def simulate(
    runs: ProbableRuns, measures: Sequence[Measure], draws: int, seed: int
) -> list[Moments]:
    """Estimate the moments of measures from the scores of drawn judgments."""
    # Deviations from the first draw avoid the cancellation of sums of squares.
    origins: list[Floats] = []
    sums = [np.zeros(runs.judged.shape) for _ in measures]
    squares = [np.zeros(runs.judged.shape) for _ in measures]
    for start in range(0, draws, DRAWS_PER_BLOCK):
        block = runs.probabilities.draw(start // DRAWS_PER_BLOCK, seed)
        for grades in block[: draws - start]:
            judged = runs.with_grades(grades)
            scores = [measure.score(judged) for measure in measures]
            origins = origins or scores
            for k, (values, origin) in enumerate(zip(scores, origins, strict=True)):
                sums[k] += values - origin
                squares[k] += (values - origin) ** 2
    return [
        Moments(
            origin + total / draws,
            np.maximum(square - total**2 / draws, 0.0) / (draws - 1),
            draws,
        )
        for origin, total, square in zip(origins, sums, squares, strict=True)
    ]


def contributions(measure: Measure, judged: JudgedRuns, rank: Ints, grade: Ints) -> Floats:
    """Return what each document adds to the score of its ranking, by its rank and grade."""
    # Each pair of rank and grade is scored as a ranking of its own, with nothing else judged in it.
    deepest = int(rank.max(initial=1))
    pairs, pair = np.unique(grade * (deepest + 1) + rank, return_inverse=True)
    grades, ranks = np.divmod(pairs, deepest + 1)
    alone = score_rankings(measure, judged, ranks[None], grades[None], grades)
    return np.asarray(alone[pair])


def score_rankings(
    measure: Measure, judged: JudgedRuns, ranks: Ints, grades: Ints, judgments: Ints
) -> Floats:
    """Score rankings of a few documents on one topic; shape (rankings,).

    Parameters
    ----------
    measure, judged
        The measure, and the runs whose policies and scale of grades apply.
    ranks, grades
        Rank and grade of the documents of each ranking; shape (documents, rankings). Documents at
        rank 0 are not retrieved.
    judgments
        The grades of the judgments of the topic, in any order.
    """
    count = ranks.shape[1]
    shape = (1, count)
    document, ranking = np.nonzero(ranks.T > 0)[::-1]
    # In order of the ranking and of the rank.
    order = np.lexsort((ranks[document, ranking], ranking))
    document, ranking = document[order], ranking[order]
    small = replace(
        judged,
        topics=("small",),
        systems=tuple(map(str, range(count))),
        documents=Rows(ranking, ranks[document, ranking], grades[document, ranking], shape),
        retrieved=np.full(shape, max(1, int(ranks.max(initial=1)))),
        judgments=replace(
            judged.judgments,
            topics=1,
            topic=np.zeros(judgments.size, dtype=np.int64),
            grade=np.sort(judgments)[::-1],
            columns={},
        ),
        scored=np.ones(shape, dtype=bool),
        annotations=Annotations(),
        ties=NO_TIES,
        views={},
    )
    return np.asarray(measure.score(small)[0])


def _linear_moments(runs: ProbableRuns, measure: Measure) -> Moments:
    """Return the moments of a sum over documents: those of its terms are added."""
    plain, rows, row = runs.cut_off(measure)
    probabilities = runs.probabilities
    gains = np.stack(
        [
            contributions(plain, runs.judged, rows.rank, np.full(rows.rank.size, grade))
            for grade in probabilities.grades.tolist()
        ],
        axis=1,
    )
    weights = probabilities.values[row]
    mean = (weights * gains).sum(axis=1)
    variance = (weights * (gains - mean[:, None]) ** 2).sum(axis=1)
    return Moments(rows.total(mean), rows.total(variance))


def _depends_on_others(measure: Measure, runs: ProbableRuns) -> bool:
    """Return True if the score of a ranking changes with the grades of documents outside of it."""
    grades = runs.probabilities.grades
    ranks = np.ones((1, grades.size), dtype=np.int64)
    alone = [
        score_rankings(measure, runs.judged, ranks[:, :1], grades[None, [k]], grades[[k]])[0]
        for k in range(grades.size)
    ]
    many = np.repeat(grades, 3)
    return not np.array_equal(
        alone, score_rankings(measure, runs.judged, ranks, grades[None], many)
    )


def _stop_moments(runs: ProbableRuns, measure: Measure) -> Moments:
    r"""Return the moments of the worth of the rank where a user stops.

    With the stopping probability :math:`s_k` of a rank and its worth :math:`w_k`, the score from
    rank k on is :math:`T_k = w_k s_k + (1 - s_k) T_{k+1}`, where both are independent. So the first
    two moments of T follow from those of s, from the last rank up.
    """
    plain, rows, row = runs.cut_off(measure)
    judged, grades = runs.judged, runs.probabilities.grades
    deepest = int(rows.rank.max(initial=1))
    ranks = np.arange(1, deepest + 1)
    nothing = np.zeros((1, 1), dtype=np.int64)
    empty = score_rankings(plain, judged, nothing, nothing, grades)[0]
    gains = np.stack(
        [
            score_rankings(plain, judged, ranks[None], np.full((1, deepest), grade), grades) - empty
            for grade in grades.tolist()
        ]
    )
    stopping = np.zeros(grades.size)
    if deepest > 1:
        first = np.repeat([[1], [2]], grades.size, axis=1)
        pairs = score_rankings(plain, judged, first, np.stack([grades, grades]), grades) - empty
        # A second document of the same grade adds its gain times the probability of reaching it.
        reached = np.ones(grades.size)
        np.divide(pairs - gains[:, 0], gains[:, 1], out=reached, where=gains[:, 1] != 0)
        stopping = (1.0 - reached).clip(0.0, 1.0)
    if not stopping.any():
        # Only one rank counts.
        highest = np.abs(gains[:, 0]).max()
        stopping = np.abs(gains[:, 0]) / highest if highest else stopping
    best = int(stopping.argmax())
    worth = gains[best] / stopping[best] if stopping[best] else np.zeros(deepest)
    weights = runs.probabilities.values[row]
    by_row = weights @ stopping, weights @ stopping**2
    n_topics, n_systems = judged.shape
    mean, second = np.zeros(judged.shape), np.zeros(judged.shape)
    starts = np.append(rows.starts, rows.cell.size)
    topics = np.arange(n_topics)
    for topic in topics:
        stop, stop_squared = (np.zeros((n_systems, deepest + 1)) for _ in by_row)
        for system in range(n_systems):
            cell = system * n_topics + topic
            selected = slice(starts[cell], starts[cell + 1])
            stop[system, rows.rank[selected]] = by_row[0][selected]
            stop_squared[system, rows.rank[selected]] = by_row[1][selected]
        score, square = np.zeros(n_systems), np.zeros(n_systems)
        for rank in np.flatnonzero(stop.any(axis=0))[::-1]:
            s, s2, w = stop[:, rank], stop_squared[:, rank], worth[rank - 1]
            square = w**2 * s2 + 2 * w * (s - s2) * score + (1 - 2 * s + s2) * square
            score = w * s + (1 - s) * score
        mean[topic], second[topic] = score, square
    return Moments(empty + mean, np.maximum(second - mean**2, 0.0))


def _is_binary(measure: Measure, runs: ProbableRuns) -> bool:
    """Return True if there are two grades, and the lower one has no gain."""
    grades = runs.probabilities.grades
    if grades.size != 2:
        return False
    ranks = np.ones((1, 1), dtype=np.int64)
    return not score_rankings(measure, runs.judged, ranks, grades[None, :1], grades).any()


def _ratio_moments(runs: ProbableRuns, measure: Measure) -> Moments:
    r"""Return the moments of a sum over relevant documents, divided by a function of their number.

    The documents of a topic are taken one by one, the retrieved ones first, in order of rank. For
    each number b of relevant documents so far, the recursion holds the probability of b, and the
    first two moments of the sum S restricted to b. A relevant document at rank k adds w(k), or
    (b + 1) / k for AP. After the last document b is the number R of all relevant documents, and

    .. math:: E[S / N(R)] = \sum_R E[S; R] / N(R)
    """
    plain, rows, row = runs.cut_off(measure)
    judged, probabilities = runs.judged, runs.probabilities
    relevance = probabilities.at_least(max(getattr(plain, "rel", 1), 0))
    if plain.name in GRADED_RATIOS:
        relevance = probabilities.values[:, -1]
    highest = int(probabilities.grades[-1])
    n_topics, n_systems = judged.shape
    mean, second = np.zeros(judged.shape), np.zeros(judged.shape)
    topic_of = judged.judgments.topic
    counted = relevance[runs.row] > 0
    if not counted.any():
        return Moments(mean, second)
    largest = max(1, int(np.bincount(topic_of[counted], minlength=1).max(initial=1)))
    deepest = int(rows.rank.max(initial=1))
    at_rank = np.append(0.0, _gains_of_one(plain, judged, deepest, highest))
    divisors = _divisors(plain, judged, largest, highest)
    is_precision = plain.name == "AP"
    starts = np.append(rows.starts, rows.cell.size)
    row_of = runs.row
    for topic in range(n_topics):
        listed = row_of[(topic_of == topic) & counted]
        if not listed.size:
            continue
        chance = np.zeros((n_systems, listed.size))
        rank = np.zeros((n_systems, listed.size), dtype=np.int64)
        for system in range(n_systems):
            cell = system * n_topics + topic
            retrieved = row[starts[cell] : starts[cell + 1]]
            ranks = rows.rank[starts[cell] : starts[cell + 1]][relevance[retrieved] > 0]
            retrieved = retrieved[relevance[retrieved] > 0]
            missed = np.setdiff1d(listed, retrieved)
            chance[system] = relevance[np.concatenate([retrieved, missed])]
            rank[system, : ranks.size] = ranks
        total, square = _sums(chance, rank, at_rank, is_precision)
        inverse = np.append(0.0, 1.0 / divisors[: listed.size])
        mean[topic] = total @ inverse
        second[topic] = square @ inverse**2
    return Moments(mean, np.maximum(second - mean**2, 0.0))


def _gains_of_one(measure: Measure, judged: JudgedRuns, deepest: int, grade: int) -> Floats:
    """Score rankings whose only relevant document is at each rank; shape (ranks,)."""
    ranks = np.arange(1, deepest + 1)[None]
    return score_rankings(measure, judged, ranks, np.full_like(ranks, grade), np.array([grade]))


def _divisors(measure: Measure, judged: JudgedRuns, largest: int, grade: int) -> Floats:
    """Return N(R) / N(1) for R = 1, 2, ..., by a ranking with a relevant document at rank 1."""
    rank, grades = np.ones((1, 1), dtype=np.int64), np.full((1, 1), grade)
    scores = [
        score_rankings(measure, judged, rank, grades, np.full(size, grade))[0]
        for size in range(1, largest + 1)
    ]
    return np.asarray(scores[0] / np.array(scores))


def _sums(chance: Floats, rank: Ints, at_rank: Floats, is_precision: bool) -> tuple[Floats, Floats]:
    """Return E[S; b] and E[S^2; b] after the last document; shape (systems, documents + 1).

    chance, rank: probability of relevance and rank of each document, rank 0 if it is not retrieved;
        shape (systems, documents).
    """
    n_systems, n_documents = chance.shape
    size = (n_systems, n_documents + 1)
    probability, total, square = np.zeros(size), np.zeros(size), np.zeros(size)
    probability[:, 0] = 1.0
    for k in range(n_documents):
        relevant = chance[:, [k]]
        gain = at_rank[rank[:, [k]]]
        if is_precision:
            gain = gain * np.arange(1.0, k + 2)
        # Columns 0 to k: the number of relevant documents among the first k.
        before = slice(0, k + 1)
        p, s, s2 = probability[:, before], total[:, before], square[:, before]
        hit_p = relevant * p
        hit_s = relevant * (s + gain * p)
        hit_s2 = relevant * (s2 + 2 * gain * s + gain**2 * p)
        for table, hit in ((probability, hit_p), (total, hit_s), (square, hit_s2)):
            table[:, before] *= 1 - relevant
            table[:, 1 : k + 2] += hit
    return total, square
