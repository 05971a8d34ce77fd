"""Expected scores if judgments are probabilities of relevance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtrit

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, PolicyError, quoted
from cranfield.base.kinds import Flag, Integer, UnitInterval, check_arguments, check_keywords
from cranfield.base.text import counted, some_of
from cranfield.collection.judged.judging import judge
from cranfield.collection.probabilities import read_probabilities
from cranfield.evaluation.relevance_moments import ProbableRuns, exact_moments, simulate
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores

_UNSUPPORTED = ("lengths", "groups", "intents", "aspects", "grades", "topics_with_grade")
"""Options of judging that would need the grades, or other data on documents, in each draw."""


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
        Assumptions, and the coverage of runs by judgments.
    """

    columns: ClassVar[Columns] = {
        "topic": Column("Topic; only in scores by topic.", key=True),
        "system": Column("System.", key=True),
        "measure": Column("Measure.", key=True),
        "expected": Column("Expected score, or the mean of the expected scores over topics."),
        "topic error": Column("Standard error of the mean due to the sample of topics alone."),
        "label error": Column("Standard deviation of the score or mean over judgments."),
        "simulation error": Column(
            "Standard error due to the number of draws; 0 if expectations are exact."
        ),
        "low": Column("Lower bound of the confidence interval; null for fewer than two topics."),
        "high": Column("Upper bound of the confidence interval; null for fewer than two topics."),
        "draws": Column("Number of draws; 0 if expectation and variance are exact."),
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
        size = f"{counted(len(scores.topics), 'topic')}, {counted(len(scores.systems), 'system')}"
        return [f"Expected scores over judgments: {size}"]


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
    DCG, RBP), for measures of the rank where a user stops (RR, Success, ERR, iRBU), for AP, R, RelP
    and F, and with two grades for nDCG and NCG. For other measures they are estimated from `draws`
    samples of the judgments. A topic whose judgments are all certain has its usual score.

    The confidence interval of a mean over n topics is :math:`\bar m \pm t\, s` with

    .. math:: s^2 = \frac{1}{n (n-1)} \sum_t (m_t - \bar m)^2 + \frac{1}{n^2} \sum_t v_t

    and n - 1 degrees of freedom: the topics are a sample, and the judgments of each are uncertain.
    With `fixed_topics` the variance is the second term alone, with a normal quantile.

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
        For a probability outside 0 to 1, and for a measure that is not an arithmetic mean over
        topics or requires other data than judgments.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"b": 2, "a": 1}}
    >>> probabilities = {"q1": {"a": 0.9, "b": 0.4, "c": 0.7}, "q2": {"a": 0.5, "b": 0.2}}
    >>> expected = cf.evaluate_probabilities(run, probabilities, ["P@1", "AP"])
    >>> expected
    ExpectedScores(Expected scores over judgments: 2 topics, 1 system)
    >>> [scores.values[:, 0].round(4).tolist() for scores in expected.scores.values()]
    [[0.9, 0.2], [0.8733, 0.4]]
    """
    check_keywords(evaluate_probabilities, options, judge)
    check_arguments(evaluate_probabilities, {k: v for k, v in locals().items() if k != "options"})
    unsupported = [name for name in _UNSUPPORTED if options.get(name) is not None]
    if options.get("ties") == "expected":
        unsupported.append("ties='expected'")
    if unsupported:
        raise PolicyError(f"{unsupported[0]} cannot be combined with probabilities of relevance")
    parsed = parse_measures(measures, compat=options.get("compat"))
    for measure in parsed:
        if measure.info.aggregate != "mean" or measure.info.inputs:
            raise MeasureError(
                f"expected a measure that is an arithmetic mean over topics and requires only"
                f" judgments, got {measure}"
            )
    distribution = read_probabilities(probabilities)
    highest = np.full(len(distribution), distribution.grades[-1])
    judged = judge(runs, distribution.to_qrels(highest), **options)
    probable = ProbableRuns(judged, distribution)
    scores, variances, frames, sampled_names = {}, {}, [], []
    moments = _compute_moments(probable, parsed, draws, seed)
    for measure, (*values, n_draws) in zip(parsed, moments, strict=True):
        name = measure.label
        expected, variance = (np.where(judged.scored, x, np.nan) for x in values)
        scores[name] = Scores(
            expected,
            judged.topics,
            judged.systems,
            f"expected {name}",
            settings=judged.settings_for(measure) | {"draws": n_draws, "seed": seed},
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
            columns |= mean_intervals(expected, variance, n_draws, confidence, fixed_topics)
        frames.append(pl.DataFrame({**columns, "measure": name, "draws": n_draws}))
    rows = pl.concat(frames).fill_nan(None)
    notes = [*judged.coverage.notes, *_assumption_notes(probable)]
    if sampled_names:
        notes.append(f"{some_of(sampled_names, 5)}: estimated from {draws:,} draws, seed {seed}")
    if not by_topic:
        topics = "these topics" if fixed_topics else "the population of topics"
        notes.append(
            f"low, high: {100 * confidence:g}% confidence intervals of the mean score by the true"
            f" judgments of {topics}"
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
    is_uncertain = distribution.values[runs.row].max(axis=1) < 1
    is_certain[runs.judged.judgments.topic[is_uncertain]] = False
    modal_runs = runs.with_grades(distribution.grades[distribution.values.argmax(axis=1)])
    if is_certain.all():
        return [(measure.score(modal_runs), np.zeros(runs.judged.shape), 0) for measure in measures]
    exact = [exact_moments(runs, measure) for measure in measures]
    sampled = [measure for measure, values in zip(measures, exact, strict=True) if values is None]
    estimates = iter(simulate(runs, sampled, draws, seed) if sampled else [])
    moments = []
    for measure, values in zip(measures, exact, strict=True):
        mean, variance = values or next(estimates)
        mean = np.where(is_certain, measure.score(modal_runs), mean)
        moments.append((mean, np.where(is_certain, 0.0, variance), 0 if values else draws))
    return moments


def mean_intervals(
    expected: Floats, variance: Floats, draws: int, confidence: float, fixed_topics: bool
) -> dict[str, Floats]:
    """Compute means over topics, their standard errors and confidence bounds; shape (systems,).

    expected, variance: shape (topics, systems), NaN where a score is missing. draws: 0 if
    both are exact.
    """
    is_scored = ~np.isnan(expected)
    n_topics = is_scored.sum(axis=0)
    # With fewer than two topics the variance is 0 / 0, which is NaN.
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(expected, axis=0) / n_topics
        deviations = np.where(is_scored, expected - mean, 0.0)
        topic_variance = (deviations**2).sum(axis=0) / (n_topics - 1) / n_topics
        label_variance = np.nansum(variance, axis=0) / n_topics**2
    simulation_variance = label_variance / draws if draws else np.zeros_like(label_variance)
    if fixed_topics:
        half_width = ndtri((1 + confidence) / 2) * np.sqrt(label_variance + simulation_variance)
    else:
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


def _assumption_notes(runs: ProbableRuns) -> list[str]:
    notes = [
        "probabilities are assumed calibrated, and documents independent; systematic errors of the"
        " probabilities are not in the intervals"
    ]
    # Probability that a topic has no relevant document.
    zero_probability = np.ones(len(runs.judged.topics))
    relevance = runs.probabilities.at_least(1)[runs.row]
    np.multiply.at(zero_probability, runs.judged.judgments.topic, 1 - relevance)
    if n_topics := int((zero_probability > 0.05).sum()):
        worst = int(zero_probability.argmax())
        notes.append(
            f"{counted(n_topics, 'topic')} may have no relevant document, with a probability above"
            f" 0.05 ({zero_probability[worst]:.2g} for {quoted(runs.judged.topics[worst])});"
            " measures such as AP are then 0"
        )
    return notes
