"""Mean and variance of scores if judgments are probabilities of relevance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtrit

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError, PolicyError, quote
from cranfield.base.kinds import Flag, Integer, UnitInterval, check_arguments, check_keywords
from cranfield.base.text import inflect, list_some
from cranfield.collection.judged.coverage import find_lowest_relevant_grade
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.rows import NO_TIES, Judgments, Rows
from cranfield.collection.probabilities import DRAWS_PER_BLOCK, Probabilities, read_probabilities
from cranfield.evaluation.evaluation import describe_effect_of_orders, note_unused_options
from cranfield.evaluation.expected_scores import score_rankings
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores

STOP_MEASURES = ("RR", "Success", "FirstRank", "ERR", "iRBU")
"""Measures whose score is the value of the rank where a user stops."""

RATIO_MEASURES, BINARY_RATIO_MEASURES = ("AP", "R", "RelP", "F"), ("nDCG", "NCG")
"""Measures that are a sum over relevant documents divided by a function of their number; the binary
ones only if all relevant documents have the same grade."""

Moments = tuple[Floats, Floats]
"""Mean and variance of the scores over judgments; each of shape (topics, systems)."""


@dataclass(frozen=True, eq=False)
class ProbableRuns:
    """Runs, judged as if each document had the highest grade, and probabilities of the grades."""

    judged: JudgedRuns  # judgments have a column `row`, the index of their probabilities
    probabilities: Probabilities

    @property
    def probability_rows(self) -> Ints:
        """Row in `probabilities` of each judgment of the runs."""
        return np.asarray(self.judged.judgments.columns["row"])

    def with_grades(self, grades: Ints) -> JudgedRuns:
        """Return the runs, judged with one grade for each row of the probabilities."""
        judgments, rows = self.judged.judgments, self.judged.documents
        grade = grades[self.probability_rows]
        order = np.argsort((judgments.topic << 32) - grade, kind="stable")
        topic, scale = judgments.topic[order], (judgments.judged_from, judgments.max_grade)
        return replace(
            self.judged,
            documents=Rows(rows.cell, rows.rank, grade[rows.judgment], rows.shape),
            judgments=Judgments(judgments.n_topics, topic, grade[order], *scale),
            ties=NO_TIES,
            views={},
        )

    def cut_off(self, measure: Measure) -> tuple[Measure, Rows, Ints]:
        """Condense and cut off rankings; return measure, documents and probability row of each."""
        rows = measure.cut_off(self.judged).documents
        return measure(judged_only=False), rows, self.probability_rows[rows.judgment]


def compute_exact_moments(runs: ProbableRuns, measure: Measure) -> Moments | None:
    """Return the exact moments of a measure; None if they have to be simulated."""
    uncondensed = measure(judged_only=False)
    if getattr(uncondensed, "max_grade", None) == "topic":
        return None
    if uncondensed.is_linear:
        return _compute_linear_moments(runs, measure)
    if uncondensed.name in STOP_MEASURES:
        return _compute_stop_moments(runs, measure)
    grades = runs.probabilities.grades
    lowest_grade, rank = grades[None, :1], np.ones((1, 1), dtype=np.int64)
    is_ratio = uncondensed.name in RATIO_MEASURES
    if uncondensed.name in BINARY_RATIO_MEASURES and grades.size == 2:
        # Documents of the lowest grade must not add to the score.
        is_ratio = not _score_on_topic(uncondensed, runs.judged, rank, lowest_grade, grades).any()
    return _compute_ratio_moments(runs, measure) if is_ratio else None


def simulate_moments(
    runs: ProbableRuns, measures: Sequence[Measure], draws: int, seed: int
) -> list[Moments]:
    """Estimate the moments of measures from the scores of drawn judgments."""
    sums, sums_of_squares = np.zeros((2, len(measures), *runs.judged.shape))
    # Deviations from the first draw avoid the cancellation of sums of squares.
    origin: Floats = np.zeros(0)
    for start in range(0, draws, DRAWS_PER_BLOCK):
        block = runs.probabilities.draw(start // DRAWS_PER_BLOCK, seed)
        for grades in block[: draws - start]:
            judged = runs.with_grades(grades)
            scores = np.stack([measure.score(judged) for measure in measures])
            origin = origin if origin.size else scores
            sums += scores - origin
            sums_of_squares += (scores - origin) ** 2
    variance = np.maximum(sums_of_squares - sums**2 / draws, 0.0) / (draws - 1)
    return list(zip(origin + sums / draws, variance, strict=True))


def compute_contributions(measure: Measure, judged: JudgedRuns, rank: Ints, grade: Ints) -> Floats:
    """Return the contribution of each document, by rank and grade, to a linear measure."""
    # Each pair of rank and grade is scored as a ranking of one judged document.
    max_rank = int(rank.max(initial=1))
    pairs, pair_of_document = np.unique(grade * (max_rank + 1) + rank, return_inverse=True)
    grades, ranks = np.divmod(pairs, max_rank + 1)
    pair_scores = _score_on_topic(measure, judged, ranks[None], grades[None], grades)
    return np.asarray(pair_scores[pair_of_document])


def _score_on_topic(
    measure: Measure, judged: JudgedRuns, ranks: Ints, grades: Ints, judgments: Ints
) -> Floats:
    """Score rankings on one topic with the grades of `judgments`; see :func:`score_rankings`."""
    topic_judgments = replace(
        judged.judgments,
        n_topics=1,
        topic=np.zeros(judgments.size, dtype=np.int64),
        grade=np.sort(judgments)[::-1],
        columns={},
    )
    judged = replace(judged, topics=("topic",), judgments=topic_judgments)
    return np.asarray(score_rankings(measure, judged, ranks, grades, int(ranks.max(initial=1)))[0])


def _compute_linear_moments(runs: ProbableRuns, measure: Measure) -> Moments:
    """Return the moments of a sum over documents, which are sums of the moments of its terms."""
    measure, rows, probability_rows = runs.cut_off(measure)
    gains = [
        compute_contributions(measure, runs.judged, rows.rank, np.full(rows.rank.size, grade))
        for grade in runs.probabilities.grades.tolist()
    ]
    gains_by_grade = np.stack(gains, axis=1)
    weights = runs.probabilities.values[probability_rows]
    mean = (weights * gains_by_grade).sum(axis=1)
    variance = (weights * (gains_by_grade - mean[:, None]) ** 2).sum(axis=1)
    return rows.total(mean), rows.total(variance)


def _compute_stop_moments(runs: ProbableRuns, measure: Measure) -> Moments:
    r"""Return the moments of the value of the rank where a user stops.

    With the stopping probability :math:`s_k` of a rank and its value :math:`w_k`, the score from
    rank k on is :math:`T_k = w_k s_k + (1 - s_k) T_{k+1}`, where s and T are independent. So the
    first two moments of T follow from those of s, from the last rank up.
    """
    measure, rows, probability_rows = runs.cut_off(measure)
    judged, grades = runs.judged, runs.probabilities.grades
    max_rank = int(rows.rank.max(initial=1))
    no_documents = np.zeros((0, 1), dtype=np.int64)
    empty_score = _score_on_topic(measure, judged, no_documents, no_documents, grades)[0]
    ranks = np.tile(np.arange(1, max_rank + 1), (1, grades.size))
    scores = _score_on_topic(measure, judged, ranks, np.repeat(grades, max_rank)[None], grades)
    gains = (scores - empty_score).reshape(grades.size, max_rank)
    if max_rank == 1:
        # Only the product of probability and value matters, so the scale of either is arbitrary.
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
    rank_values = gains[stop_grade] / (stopping[stop_grade] or 1.0)
    n_topics, n_systems = judged.shape
    weights = runs.probabilities.values[probability_rows]
    moments = np.stack([weights @ stopping, weights @ stopping**2])
    mean, second_moment = np.zeros((2, n_topics, n_systems))
    for topic in range(n_topics):
        is_selected = rows.topic == topic
        moments_by_rank = np.zeros((2, n_systems, max_rank))
        positions = rows.cell[is_selected] // n_topics, rows.rank[is_selected] - 1
        moments_by_rank[:, *positions] = moments[:, is_selected]
        for k in np.flatnonzero(moments_by_rank[0].any(axis=0))[::-1]:
            (s, s2), w = moments_by_rank[..., k], rank_values[k]
            t, t2 = mean[topic], second_moment[topic]
            second_moment[topic] = w**2 * s2 + 2 * w * (s - s2) * t + (1 - 2 * s + s2) * t2
            mean[topic] = w * s + (1 - s) * t
    return empty_score + mean, np.maximum(second_moment - mean**2, 0.0)


def _compute_ratio_moments(runs: ProbableRuns, measure: Measure) -> Moments:
    r"""Return the moments of a sum over relevant documents, divided by a function of their number.

    A relevant document at rank k adds w(k) to the sum S, and for AP :math:`b\,w(k)`, where b counts
    the relevant documents down to k. With the number R of all relevant documents, retrieved or not,
    and the expectation E[S; r] of S over the cases with R = r,

    .. math:: E[S / N(R)] = \sum_r E[S; r] / N(r)
    """
    measure, rows, probability_rows = runs.cut_off(measure)
    judged, probabilities = runs.judged, runs.probabilities
    level = getattr(measure, "rel", probabilities.grades[-1])
    relevance = probabilities.compute_tail_probabilities(level)
    n_topics, n_systems = judged.shape
    mean, second_moment = np.zeros(judged.shape), np.zeros(judged.shape)
    max_rank = int(rows.rank.max(initial=1))
    rank, grade = np.arange(1, max_rank + 1)[None], np.array([max(level, 1)])
    gains = _score_on_topic(measure, judged, rank, np.repeat(grade, max_rank)[None], grade)
    # Documents that are not retrieved have a rank without gain.
    gains = np.append(gains, 0.0)
    inverse_divisors = [0.0, 1.0]
    for topic in range(n_topics):
        judged_rows = np.sort(runs.probability_rows[judged.judgments.topic == topic])
        judged_rows = judged_rows[relevance[judged_rows] > 0]
        is_selected = (rows.topic == topic) & (relevance[probability_rows] > 0)
        ranks = np.full((n_systems, judged_rows.size), max_rank + 1)
        columns = np.searchsorted(judged_rows, probability_rows[is_selected])
        ranks[rows.cell[is_selected] // n_topics, columns] = rows.rank[is_selected]
        order = ranks.argsort(axis=1, kind="stable")
        ordered_gains = gains[np.take_along_axis(ranks, order, axis=1) - 1]
        is_precision = measure.name == "AP"
        sums = _compute_joint_moments(relevance[judged_rows][order], ordered_gains, is_precision)
        while len(inverse_divisors) < sums.shape[2]:
            grades = np.repeat(grade, len(inverse_divisors))
            score = _score_on_topic(measure, judged, rank[:, :1], grade[None], grades)[0]
            inverse_divisors.append(score / gains[0])
        inverse = np.array(inverse_divisors[: sums.shape[2]])
        mean[topic], second_moment[topic] = sums[0] @ inverse, sums[1] @ inverse**2
    return mean, np.maximum(second_moment - mean**2, 0.0)


def _compute_joint_moments(probability: Floats, gain: Floats, is_precision: bool) -> Floats:
    """Return E[S; r] and E[S^2; r], by r; shape (2, systems, numbers of relevant documents).

    Documents are in order of rank, shape (systems, documents); with `is_precision`, their gain is
    multiplied by the number of relevant documents up to that rank.
    """
    n_systems, n_documents = probability.shape
    # By Bernstein's inequality, P(R > max_relevant) < 1e-18.
    mean, variance = probability[:1].sum(), (probability[:1] * (1 - probability[:1])).sum()
    max_relevant = min(n_documents, int(mean + 14 + np.sqrt(191 + 83 * variance)))
    # For b relevant documents so far: P(b), E[S; b] and E[S^2; b].
    p, s, s2 = np.zeros((3, n_systems, max_relevant + 1))
    p[:, 0] = 1.0
    for k in range(n_documents):
        b, next_b = slice(0, min(k + 1, max_relevant)), slice(1, min(k + 1, max_relevant) + 1)
        relevance, gain_k = probability[:, [k]], gain[:, [k]]
        if is_precision:
            gain_k = gain_k * np.arange(1.0, next_b.stop)
        hits = [
            relevance * p[:, b],
            relevance * (s[:, b] + gain_k * p[:, b]),
            relevance * (s2[:, b] + gain_k * (2 * s[:, b] + gain_k * p[:, b])),
        ]
        for moment, hit in zip((p, s, s2), hits, strict=True):
            moment[:] *= 1 - relevance
            moment[:, next_b] += hit
    return np.stack([s, s2])


_UNSUPPORTED_OPTIONS = ("lengths", "groups", "intents", "aspects", "grades", "topics_with_grade")
"""Options of judging that depend on grades or other data on documents, which draws do not have."""


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedScores(TableResult):
    """Expected scores over judgments; returned by :func:`evaluate_probabilities`.

    Attributes
    ----------
    scores
        By measure, the expected scores by topic, for :func:`cranfield.compare`.
    variances
        By measure, the variance of the score over judgments; shape (topics, systems).
    seed, confidence, fixed_topics
        Options of :func:`evaluate_probabilities`.
    notes
        Notes on the coverage of runs by judgments, effects of ties, and assumptions.
    """

    columns: ClassVar[Columns] = {
        "topic": Column("Topic; only in scores by topic.", key=True),
        "system": Column("System.", key=True),
        "measure": Column("Measure.", key=True),
        "expected": Column("Expected score, or the mean of the expected scores over topics."),
        "topic error": Column(
            "Standard error of the mean due to the sample of topics alone; null for one topic."
        ),
        "label error": Column("Standard deviation of the score or mean due to judgments alone."),
        "simulation error": Column(
            "Standard error of the expected score due to random draws; 0 if it is exact."
        ),
        "low": Column(
            "Lower bound of the confidence interval; null for one topic, unless topics are fixed."
        ),
        "high": Column("Upper bound of the same confidence interval as `low`."),
        "draws": Column("Number of random draws; 0 if expectation and variance are exact."),
    }

    scores: Mapping[str, Scores]
    variances: Mapping[str, Floats]
    seed: int
    confidence: float
    fixed_topics: bool
    notes: tuple[str, ...]

    def heading(self) -> list[str]:
        """Return one line with the numbers of topics and systems."""
        scores = next(iter(self.scores.values()))
        size = f"{inflect(len(scores.topics), 'topic')}, {inflect(len(scores.systems), 'system')}"
        return [f"Expected scores over the possible judgments: {size}"]


def evaluate_probabilities(
    runs: Any,
    probabilities: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    draws: Annotated[int, Integer(2, 1_000_000)] = 1000,
    seed: Annotated[int, Integer(0)] = 0,
    confidence: Annotated[float, UnitInterval()] = 0.95,
    fixed_topics: Annotated[bool, Flag()] = False,
    by_topic: Annotated[bool, Flag()] = False,
    **options: Any,
) -> ExpectedScores:
    r"""Compute expected scores if judgments are probabilities of relevance.

    Grades of different documents are assumed independent. For each topic t, the mean :math:`m_t`
    and the variance :math:`v_t` of the score over judgments are exact for sums over documents (P,
    DCG, RBP), for measures of the rank where a user stops (RR, Success, FirstRank, ERR, iRBU), for
    AP, R, RelP and F, and, with two grades of which one has no gain, for nDCG and NCG. For other
    measures they are estimated from `draws` samples of the judgments. A topic whose judgments are
    all certain has its usual score.

    The confidence interval of a mean over n topics is :math:`\bar m \pm t\, s` with

    .. math:: s^2 = \frac{1}{n (n-1)} \sum_t (m_t - \bar m)^2 + \frac{1}{n^2} \sum_t v_t

    and n - 1 degrees of freedom: the topics are a sample, and the judgments of each are uncertain.
    With `fixed_topics` the variance is the second term, plus the variance due to random draws, with
    a normal quantile.

    Parameters
    ----------
    runs
        In any form that :func:`cranfield.read_runs` reads.
    probabilities
        In any form that :func:`read_probabilities` reads, or `probabilities` of a
        :class:`~cranfield.assess.Consensus`.
    measures
        Measures or their text forms; arithmetic means over topics.
    draws
        Number of draws of judgments, for measures without an exact expectation.
    seed
        Seed of the draws.
    confidence
        Confidence level of the intervals.
    fixed_topics
        Whether intervals are for the mean of these topics, with the uncertainty of judgments only.
        By default the topics are treated as a sample, too.
    by_topic
        Whether to return the expected scores of each topic instead of means with intervals.
    options
        As for :func:`cranfield.judge`, except for `ties="expected"`, `topics_with_grade`, `grades`,
        `lengths`, `groups`, `intents` and `aspects`.

    Returns
    -------
    ExpectedScores
        A row for each system and measure, or each topic, system and measure.

    Raises
    ------
    InputError, MeasureError
        For unreadable input or a probability outside 0 to 1, and for a measure that is not an
        arithmetic mean over topics or requires other data than judgments.
    PolicyError
        For an option out of its range, or an unsupported option of judging.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"b": 2, "a": 1}}
    >>> probabilities = {"q1": {"a": 0.9, "b": 0.4, "c": 0.7}, "q2": {"a": 0.5, "b": 0.2}}
    >>> expected = cf.evaluate_probabilities(run, probabilities, ["P@1", "AP"])
    >>> expected
    ExpectedScores(Expected scores over the possible judgments: 2 topics, 1 system)
    >>> [scores.values[:, 0].round(4).tolist() for scores in expected.scores.values()]
    [[0.9, 0.2], [0.8733, 0.4]]
    """
    check_keywords(evaluate_probabilities, options, judge)
    check_arguments(evaluate_probabilities, {k: v for k, v in locals().items() if k != "options"})
    invalid_names = [name for name in _UNSUPPORTED_OPTIONS if options.get(name) is not None]
    if options.get("ties") == "expected":
        invalid_names.append("ties='expected'")
    if invalid_names:
        raise PolicyError(f"{invalid_names[0]} cannot be combined with probabilities of relevance")
    parsed = parse_measures(measures, compat=options.get("compat"))
    for measure in parsed:
        if (kind := measure.info.aggregate) != "mean":
            raise MeasureError(f"expected an arithmetic mean over topics, got {measure} ({kind})")
        if inputs := measure.info.inputs:
            fact = f"which also requires {', '.join(inputs)}"
            raise MeasureError(f"expected a measure of judgments only, got {measure}, {fact}")
    distribution = read_probabilities(probabilities)
    highest_grades = np.full(len(distribution), distribution.grades[-1])
    judged = judge(runs, distribution.to_qrels(highest_grades), **options)
    probable_runs = ProbableRuns(judged, distribution)
    scores, variances, frames, sampled_names = {}, {}, [], []
    moments = _compute_moments(probable_runs, parsed, draws, seed)
    for measure, (*values, n_draws) in zip(parsed, moments, strict=True):
        name = measure.label
        expected, variance = (np.where(judged.is_scored, moment, np.nan) for moment in values)
        scores[name] = Scores(
            expected,
            judged.topics,
            judged.systems,
            f"expected {name}",
            settings=judged.describe_settings(measure) | {"draws": n_draws, "seed": seed},
            lower_is_better=measure.info.lower_is_better,
            has_direction=True,
        )
        variances[name] = variance
        sampled_names += [name] if n_draws else []
        if by_topic:
            deviation = np.sqrt(variance).ravel()
            columns = {
                "topic": np.repeat(judged.topics, len(judged.systems)),
                "system": np.tile(judged.systems, len(judged.topics)),
                "expected": expected.ravel(),
                "label error": deviation,
                "simulation error": deviation / np.sqrt(n_draws) if n_draws else 0 * deviation,
            }
        else:
            columns = {"system": judged.systems}
            columns |= compute_mean_intervals(expected, variance, n_draws, confidence, fixed_topics)
        frames.append(pl.DataFrame({**columns, "measure": name, "draws": n_draws}))
    rows = pl.concat(frames).fill_nan(None)
    notes = [*judged.coverage.notes, *_note_ties(probable_runs, parsed, draws, seed)]
    notes += [*_note_assumptions(probable_runs, parsed), *note_unused_options(parsed, options)]
    if sampled_names:
        names = list_some(sampled_names, 5)
        notes.append(f"{names}: estimated from {draws:,} draws of the judgments, seed {seed}")
    if not by_topic:
        scope = "these topics" if fixed_topics else "the population of topics"
        notes.append(
            f"low, high: bounds of {100 * confidence:g}% confidence intervals for the mean score of"
            f" {scope} with their true judgments"
        )
    table = rows.select(name for name in ExpectedScores.columns if name in rows.columns)
    return ExpectedScores(table, scores, variances, seed, confidence, fixed_topics, tuple(notes))


def _compute_moments(
    runs: ProbableRuns, measures: list[Measure], draws: int, seed: int
) -> list[tuple[Floats, Floats, int]]:
    """Return mean, variance and number of draws of each measure; all use the same draws."""
    # For certain judgments the usual score is returned, equal to the last bit.
    distribution = runs.probabilities
    is_certain = np.ones((len(runs.judged.topics), 1), dtype=bool)
    is_uncertain = distribution.values[runs.probability_rows].max(axis=1) < 1
    is_certain[runs.judged.judgments.topic[is_uncertain]] = False
    modal_runs = runs.with_grades(distribution.grades[distribution.values.argmax(axis=1)])
    if is_certain.all():
        return [(measure.score(modal_runs), np.zeros(runs.judged.shape), 0) for measure in measures]
    exact_moments = [compute_exact_moments(runs, measure) for measure in measures]
    pairs = [*zip(measures, exact_moments, strict=True)]
    sampled_measures = [measure for measure, known_moments in pairs if known_moments is None]
    estimates = iter(
        simulate_moments(runs, sampled_measures, draws, seed) if sampled_measures else []
    )
    moments = []
    for measure, known_moments in pairs:
        mean, variance = known_moments or next(estimates)
        mean = np.where(is_certain, measure.score(modal_runs), mean)
        moments.append((mean, np.where(is_certain, 0.0, variance), 0 if known_moments else draws))
    return moments


def _note_ties(runs: ProbableRuns, measures: list[Measure], draws: int, seed: int) -> Iterator[str]:
    """Report how ties can change the overall values, estimated from up to 50 draws of grades."""

    def compute_expected_scores(order: JudgedRuns) -> Floats:
        moments = _compute_moments(replace(runs, judged=order), measures, min(draws, 50), seed)
        return np.stack([np.where(order.is_scored, mean, np.nan) for mean, _, _ in moments])

    n_topics = runs.judged.is_scored.sum(axis=0).clip(1)
    return describe_effect_of_orders(
        runs.judged,
        measures,
        compute_expected_scores,
        lambda values: np.nan_to_num(values).sum(axis=1) / n_topics,
    )


def compute_mean_intervals(
    expected: Floats, variance: Floats, n_draws: int, confidence: float, fixed_topics: bool
) -> dict[str, Floats]:
    """Compute means over topics, their standard errors and confidence bounds; shape (systems,).

    `expected` and `variance` have shape (topics, systems), with NaN for missing scores; `n_draws`
    is 0 if they are exact.
    """
    is_scored = ~np.isnan(expected)
    n_topics = is_scored.sum(axis=0)
    # With fewer than two topics the variance is 0 / 0, which is NaN.
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(expected, axis=0) / n_topics
        deviations = np.where(is_scored, expected - mean, 0.0)
        topic_variance = (deviations**2).sum(axis=0) / (n_topics - 1) / n_topics
        label_variance = np.nansum(variance, axis=0) / n_topics**2
    simulation_variance = label_variance / n_draws if n_draws else np.zeros_like(label_variance)
    if fixed_topics:
        half_width = ndtri((1 + confidence) / 2) * np.sqrt(label_variance + simulation_variance)
    else:
        # The variance between topics includes the errors of simulation.
        quantile = stdtrit(np.maximum(n_topics - 1, 1), (1 + confidence) / 2)
        half_width = quantile * np.sqrt(topic_variance + label_variance)
    return {
        "expected": mean,
        "topic error": np.sqrt(topic_variance),
        "label error": np.sqrt(label_variance),
        "simulation error": np.sqrt(simulation_variance),
        "low": mean - half_width,
        "high": mean + half_width,
    }


def _note_assumptions(runs: ProbableRuns, measures: Iterable[Measure]) -> list[str]:
    notes = [
        "calibrated probabilities and independent relevance of documents are assumed; the intervals"
        " do not include systematic errors of the probabilities"
    ]
    for level in sorted({find_lowest_relevant_grade(measure) for measure in measures}):
        # Probability that a topic has no relevant document.
        zero_probability = np.ones(len(runs.judged.topics))
        relevance = runs.probabilities.compute_tail_probabilities(level)[runs.probability_rows]
        np.multiply.at(zero_probability, runs.judged.judgments.topic, 1 - relevance)
        document = "relevant document" if level == 1 else f"document of grade {level} or higher"
        if n_topics := int((zero_probability > 0.05).sum()):
            topic = int(zero_probability.argmax())
            notes.append(
                f"{inflect(n_topics, 'topic')} may have no {document}, with a probability above"
                f" 0.05 ({zero_probability[topic]:.2g} for {quote(runs.judged.topics[topic])});"
                " measures such as AP are then 0"
            )
    return notes
