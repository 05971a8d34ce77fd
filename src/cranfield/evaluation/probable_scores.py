"""Expected scores over judgments that are probabilities of relevance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtrit

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import MeasureError, PolicyError, quoted
from cranfield.base.kinds import Flag, Share, Whole, check_arguments, check_keywords
from cranfield.base.text import counted, some_of
from cranfield.collection.judged.judging import judge
from cranfield.collection.probabilities import read_probabilities
from cranfield.evaluation.relevance_moments import Moments, ProbableRuns, moments, simulate
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores

MAX_DRAWS = 1_000_000

_REFUSED = ("lengths", "groups", "intents", "aspects", "grades", "topics_with_grade")
"""Options of judging that require the grades, or other data on the documents, of each draw."""

_NOTED_PROBABILITY = 0.05
"""Probability that a topic has no relevant document above which there is a note."""


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedScores(TableResult):
    """Expected scores over judgments; made by :func:`evaluate_probabilities`.

    Attributes
    ----------
    scores
        By measure, the expected scores by topic, for :func:`cranfield.compare`.
    variances
        By measure, the variance of the score over judgments; shape (topics, systems).
    draws
        Number of draws of judgments, of the measures without an exact expectation.
    seed
        Seed of the draws.
    confidence
        Confidence level of the intervals.
    fixed_topics
        Whether intervals are for the true judgments of these topics only.
    notes
        Assumptions, and the coverage of runs by judgments.
    """

    columns: ClassVar[Columns] = {
        "topic": Column("Topic; only of scores by topic.", key=True),
        "system": Column("System.", key=True),
        "measure": Column("Measure.", key=True),
        "expected": Column("Expected score, or mean of the expected scores over topics."),
        "topic error": Column("Standard error of the mean by the sample of topics alone."),
        "label error": Column(
            "Standard deviation, over judgments, of the mean over these topics, or of the score of"
            " the topic."
        ),
        "simulation error": Column(
            "Standard error of the expected value by the number of draws; 0 if it is exact."
        ),
        "low": Column("Lower bound of the confidence interval; null for fewer than two topics."),
        "high": Column("Upper bound of the confidence interval; null for fewer than two topics."),
        "draws": Column("Number of draws; 0 if expectation and variance are exact."),
    }

    scores: Mapping[str, Scores]
    variances: Mapping[str, Floats]
    draws: int
    seed: int
    confidence: float
    fixed_topics: bool
    notes: tuple[str, ...]

    def heading(self) -> list[str]:
        """Return one line: the size, and what the intervals are for."""
        scores = next(iter(self.scores.values()))
        size = f"{counted(len(scores.topics), 'topic')}, {counted(len(scores.systems), 'system')}"
        return [f"Expected scores over judgments: {size}"]


def evaluate_probabilities(
    runs: Any,
    probabilities: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    draws: Annotated[int, Whole(2, MAX_DRAWS)] = 1000,
    seed: Annotated[int, Whole(0)] = 0,
    confidence: Annotated[float, Share()] = 0.95,
    fixed_topics: Annotated[bool, Flag()] = False,
    by_topic: Annotated[bool, Flag()] = False,
    **options: Any,
) -> ExpectedScores:
    r"""Compute expected scores over judgments that are probabilities of relevance.

    The grades of documents are independent random variables with the given probabilities. For each
    topic t, mean :math:`m_t` and variance :math:`v_t` of the score over these judgments are exact

    - for sums over documents (P, DCG, RBP and others), where each term has its own mean;
    - for measures of the rank where a user stops (RR, Success, ERR, iRBU), by a recursion over
      ranks: they are multilinear in the stopping probabilities;
    - for AP, R, RelP and F, and with two grades nDCG and NCG, by a recursion over the number of
      relevant documents, retrieved or not. A topic without a relevant document has the score 0.

    Of other measures they are estimated from `draws` judgments at random. A topic whose judgments
    are all certain has its usual score.

    The confidence interval of a mean over n topics is :math:`\bar m \pm t\, s` with

    .. math:: s^2 = \frac{1}{n (n-1)} \sum_t (m_t - \bar m)^2 + \frac{1}{n^2} \sum_t v_t

    and n - 1 degrees of freedom: the topics are a sample, and the judgments of each are uncertain.
    It is the expected variance of the mean by true judgments, and what a bootstrap over topics
    with redrawn judgments estimates. With `fixed_topics` the variance is the second term alone,
    with a normal quantile.

    Parameters
    ----------
    runs
        In any form that :func:`cranfield.read_runs` reads.
    probabilities
        In any form that :func:`read_probabilities` reads; or from labels of a crowd, as
        `Consensus.probabilities`.
    measures
        Measures or their text forms.
    draws
        Number of draws of judgments for measures without an exact expectation.
    seed
        Seed of the draws; those of a topic depend on no other topic.
    confidence
        Confidence level of the intervals.
    fixed_topics
        Whether intervals are for the true mean of these topics only, with the uncertainty of
        judgments alone. By default topics are a sample too.
    by_topic
        Whether to return the expected scores of each topic instead of means; their intervals are
        not computed.
    options
        As for :func:`cranfield.judge`, except for `ties="expected"`, `topics_with_grade`, `grades`,
        `lengths`, `groups`, `intents` and `aspects`.

    Returns
    -------
    ExpectedScores
        A row for each system and measure, or each topic, system and measure.

    Raises
    ------
    InputError
        For a probability outside 0 to 1, and other input that cannot be read.
    MeasureError
        For a measure that is not an arithmetic mean over topics, or requires other data than
        judgments.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"b": 2, "a": 1}}
    >>> probabilities = {"q1": {"a": 0.9, "b": 0.4, "c": 0.7}, "q2": {"a": 0.5, "b": 0.2}}
    >>> expected = cf.evaluate_probabilities(run, probabilities, ["P@1", "RR", "AP"])
    >>> expected.scores["P@1"].values[:, 0].tolist()
    [0.9, 0.2]
    >>> expected.scores["RR"].values[:, 0].round(4).tolist()
    [0.9433, 0.4]
    >>> print(cf.evaluate_probabilities(run, probabilities, "AP", by_topic=True))
    Expected scores over judgments: 2 topics, 1 system
    ...
    topic  system  measure  expected  label error  simulation error  draws
    q1     run     AP         0.8430       0.2117            0.0000      0
    q2     run     AP         0.4000       0.4359            0.0000      0
    """
    check_keywords(evaluate_probabilities, options, judge)
    check_arguments(evaluate_probabilities, {k: v for k, v in locals().items() if k != "options"})
    for name in _REFUSED:
        if options.get(name) is not None:
            raise PolicyError(f"{name} cannot be combined with probabilities of relevance")
    if options.get("ties") == "expected":
        raise PolicyError("ties='expected' cannot be combined with probabilities of relevance")
    parsed = parse_measures(measures, compat=options.get("compat"))
    for measure in parsed:
        _check_measure(measure)
    distribution = read_probabilities(probabilities)
    highest = np.full(len(distribution), distribution.grades[-1])
    judged = judge(runs, distribution.to_qrels(highest), **options)
    probable = ProbableRuns(judged, distribution)
    by_measure = _moments_of(probable, parsed, draws, seed)
    scores = {}
    variances = {}
    for measure, values in zip(parsed, by_measure, strict=True):
        scores[measure.label] = Scores(
            np.where(judged.scored, values.mean, np.nan),
            judged.topics,
            judged.systems,
            f"expected {measure.label}",
            settings=judged.settings_for(measure) | {"draws": values.draws, "seed": seed},
            lower_is_better=measure.info.lower_is_better,
            has_direction=True,
        )
        variances[measure.label] = np.where(judged.scored, values.variance, np.nan)
    frames = []
    for (name, table), values in zip(scores.items(), by_measure, strict=True):
        rows = (
            _topic_rows(table, variances[name], values.draws)
            if by_topic
            else _mean_rows(table, variances[name], values.draws, confidence, fixed_topics)
        )
        frames.append(rows.with_columns(measure=pl.lit(name)))
    joined = pl.concat(frames)
    names = [name for name in ExpectedScores.columns if name in joined.columns]
    notes = (
        *judged.coverage.notes,
        *_notes(probable, scores, by_measure, seed),
        *([] if by_topic else [_about_intervals(confidence, fixed_topics)]),
    )
    return ExpectedScores(
        joined.fill_nan(None).select(names),
        scores,
        variances,
        draws,
        seed,
        confidence,
        fixed_topics,
        notes,
    )


def _check_measure(measure: Measure) -> None:
    if measure.info.aggregate != "mean":
        raise MeasureError(
            f"{measure} is not an arithmetic mean over topics, which expected scores require"
        )
    if measure.info.inputs:
        raise MeasureError(
            f"{measure} requires {', '.join(measure.info.inputs)}, which cannot be combined with"
            " probabilities of relevance"
        )


def _moments_of(
    runs: ProbableRuns, measures: list[Measure], draws: int, seed: int
) -> list[Moments]:
    """Return the moments of each measure; simulated ones use the same draws."""
    exact = {measure: moments(runs, measure) for measure in measures}
    sampled = [measure for measure, values in exact.items() if values is None]
    estimates = simulate(runs, sampled, draws, seed) if sampled else []
    simulated = dict(zip(sampled, estimates, strict=True))
    distribution = runs.probabilities
    # Of certain judgments the usual score is returned to the last bit.
    certain = np.ones((len(runs.judged.topics), 1), dtype=bool)
    certain[runs.judged.judgments.topic[~distribution.is_certain[runs.row]]] = False
    if not certain.any():
        return [exact[measure] or simulated[measure] for measure in measures]
    usual = runs.with_grades(distribution.grades[distribution.values.argmax(axis=1)])
    return [
        replace(
            values,
            mean=np.where(certain, measure.score(usual), values.mean),
            variance=np.where(certain, 0.0, values.variance),
        )
        for measure in measures
        for values in [exact[measure] or simulated[measure]]
    ]


def _topic_rows(scores: Scores, variance: Floats, draws: int) -> pl.DataFrame:
    n_topics, n_systems = scores.values.shape
    deviation = np.sqrt(variance)
    return pl.DataFrame(
        {
            "topic": np.repeat(scores.topics, n_systems),
            "system": np.tile(scores.systems, n_topics),
            "expected": scores.values.ravel(),
            "label error": deviation.ravel(),
            "simulation error": (deviation / np.sqrt(draws) if draws else 0 * deviation).ravel(),
            "draws": draws,
        }
    )


def _mean_rows(
    scores: Scores, variance: Floats, draws: int, confidence: float, fixed_topics: bool
) -> pl.DataFrame:
    """Return means over the topics with a score, their errors and confidence intervals."""
    means = mean_intervals(scores.values, variance, draws, confidence, fixed_topics)
    return pl.DataFrame(
        {"system": pl.Series(scores.systems, dtype=pl.String), **means}
    ).with_columns(draws=pl.lit(draws))


def mean_intervals(
    expected: Floats, variance: Floats, draws: int, confidence: float, fixed_topics: bool
) -> dict[str, Floats]:
    """Return means of expected scores, their errors and bounds; each of shape (systems,).

    Parameters
    ----------
    expected, variance
        Mean and variance of the scores over judgments; shape (topics, systems), NaN for no score.
    draws
        Number of draws that they were estimated from; 0 if they are exact.
    confidence, fixed_topics
        As for :func:`evaluate_probabilities`.

    Examples
    --------
    >>> expected, variance = np.array([[0.9], [0.2]]), np.array([[0.09], [0.16]])
    >>> bounds = mean_intervals(expected, variance, 0, 0.95, fixed_topics=True)
    >>> [round(float(values[0]), 4) for values in bounds.values()]
    [0.55, 0.35, 0.25, 0.0, 0.06, 1.04]
    """
    is_scored = ~np.isnan(expected)
    n_topics = is_scored.sum(axis=0)
    # Without a topic, or with a single one, there is no variance: 0 / 0 is NaN.
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(expected, axis=0) / n_topics
        deviations = np.where(is_scored, expected - mean, 0.0)
        topic_variance = (deviations**2).sum(axis=0) / (n_topics - 1) / n_topics
        label_variance = np.nansum(variance, axis=0) / n_topics**2
    simulation = label_variance / draws if draws else np.zeros_like(label_variance)
    if fixed_topics:
        error = np.sqrt(label_variance + simulation)
        quantile: Any = float(ndtri((1 + confidence) / 2))
    else:
        error = np.sqrt(topic_variance + label_variance)
        quantile = stdtrit(np.maximum(n_topics - 1, 1), (1 + confidence) / 2)
    return {
        "expected": mean,
        "topic error": np.sqrt(topic_variance),
        "label error": np.sqrt(label_variance),
        "simulation error": np.sqrt(simulation),
        "low": mean - quantile * error,
        "high": mean + quantile * error,
    }


def _about_intervals(confidence: float, fixed_topics: bool) -> str:
    level = f"{100 * confidence:g}%"
    if fixed_topics:
        return f"low, high: {level} intervals of the mean by true judgments of these topics"
    return (
        f"low, high: {level} t intervals of the mean by true judgments, of these topics or of the"
        " topics that they are a sample of"
    )


def _notes(
    runs: ProbableRuns, scores: Mapping[str, Scores], by_measure: list[Moments], seed: int
) -> Iterator[str]:
    yield (
        "probabilities are taken as calibrated, and documents as independent; errors that all"
        " probabilities share are not in any interval"
    )
    sampled = [name for name, m in zip(scores, by_measure, strict=True) if m.draws]
    if sampled:
        draws = max(values.draws for values in by_measure)
        yield f"{some_of(sampled, 5)}: estimated from {draws:,} draws of judgments, seed {seed}"
    topics = runs.judged.topics
    nothing = np.ones(len(topics))
    relevance = runs.probabilities.at_least(1)[runs.row]
    np.multiply.at(nothing, runs.judged.judgments.topic, 1 - relevance)
    is_noted: Bools = nothing > _NOTED_PROBABILITY
    if is_noted.any():
        worst = int(nothing.argmax())
        yield (
            f"{counted(int(is_noted.sum()), 'topic')} may have no relevant document with a"
            f" probability above {_NOTED_PROBABILITY:g} ({nothing[worst]:.2g} for"
            f" {quoted(topics[worst])}); measures such as AP are 0 there"
        )
