"""Prediction-powered scores of answers, from labels of nuggets or citations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cranfield.assess.estimates.means import FOLDS, Fit, PPIMeans, estimate_means
from cranfield.base.arrays import Bools
from cranfield.base.errors import InputError, PolicyError, collected_warnings, quoted
from cranfield.evaluation.evaluation import evaluate_answers
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.result import Column, Columns, TableResult
from cranfield.texts.answers import JudgedAnswers
from cranfield.texts.citations import JudgedCitations


@dataclass(frozen=True, eq=False, repr=False)
class PPIAnswers(TableResult):
    """Mean scores of answers with confidence intervals; returned by :func:`ppi_answers`.

    Attributes
    ----------
    rows
        Data frame with a row for each system.
    measure
        Text form of the measure.
    notes
        Notes on means without an interval, or with an interval from human labels alone.
    """

    name: ClassVar[str] = "ppi"
    columns: ClassVar[Columns] = {
        "measure": Column("Measure.", key=True),
        "system": Column("System.", key=True),
        **{k: column for k, column in PPIMeans.columns.items() if k != "freedom"},
        "human": Column("Number of answers that people labelled."),
        "answers": Column("Number of answers that the judge labelled."),
        "by judge": Column("Mean score by the labels of the judge alone."),
    }

    measure: str
    notes: tuple[str, ...]

    def heading(self) -> list[str]:
        """Return one line: the measure and the number of labelled answers."""
        n_human, n_answers = self.rows.select(pl.col("human", "answers").sum()).row(0)
        counts = f"people labelled {n_human:,} of {n_answers:,} answers"
        return [f"prediction-powered {self.measure}: {counts}"]


def ppi_answers(
    human: JudgedAnswers | JudgedCitations,
    judge: JudgedAnswers | JudgedCitations,
    measure: str | Measure,
    *,
    lambda_: float | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    alpha: float = 0.05,
) -> PPIAnswers:
    """Estimate mean scores of answers from people's labels of a sample and a judge's of all.

    People label a random sample of the answers of each system, as completely as the judge: all
    nuggets, or all sentences with their citations. The score of an answer is y by people and f by
    the judge, and the means are estimated as by :func:`ppi_mean`.

    Parameters
    ----------
    human
        Labels of the sampled answers by people, as read by :mod:`cranfield.texts`.
    judge
        Labels of all answers by the judge, of the same type.
    measure
        Measure of nuggets or citations, such as `NuggetRecall` or `CitationPrecision`.
    lambda_, folds, seed, alpha
        As for :func:`ppi_mean`.

    Returns
    -------
    PPIAnswers
        Result with a row for each system.

    Raises
    ------
    InputError
        For an answer that people labelled but the judge did not.
    PolicyError
        For fewer than three answers of a system that people labelled.

    Examples
    --------
    >>> from cranfield.texts import read_citations
    >>> judge = read_citations({"a": {f"q{k}": [["full" if k % 3 else "none"]] for k in range(9)}})
    >>> people = read_citations({"a": {f"q{k}": [["full" if k else "none"]] for k in range(4)}})
    >>> ppi_answers(people, judge, "CitationPrecision").rows.select("estimate", "by judge").rows()
    [(0.8611..., 0.6666...)]
    """
    if type(human) is not type(judge):
        kinds = f"{type(human).__name__} and {type(judge).__name__}"
        raise PolicyError(f"people and judge must label with the same type, got {kinds}")
    [parsed] = parse_measures(measure)
    name = str(parsed)
    judge_scores = evaluate_answers(judge, parsed)[name].values
    with collected_warnings():
        # Answers outside the sample are not missing.
        sampled_scores = evaluate_answers(human, parsed)[name].values
    has_answer = _is_answered(judge)
    index_of = {(judge.topics[t], judge.systems[s]): (t, s) for t, s in np.argwhere(has_answer)}
    people_scores = np.full(has_answer.shape, np.nan)
    for t, s in np.argwhere(_is_answered(human)):
        topic, system = human.topics[t], human.systems[s]
        if (topic, system) not in index_of:
            raise InputError(
                f"people labelled an answer of {quoted(system)} that the judge did not label",
                topic=topic,
            )
        people_scores[index_of[topic, system]] = sampled_scores[t, s]
    fit = Fit(lambda_, folds, seed, alpha)
    frames, notes = [], []
    for k, system in enumerate(judge.systems):
        is_answered = has_answer[:, k]
        means = estimate_means(people_scores[is_answered, k], judge_scores[is_answered, k], fit)
        # Missing answers have the score 0, without error.
        scaled = pl.col("estimate", "standard_error", "low", "high") * is_answered.mean()
        sizes = {"answers": int(is_answered.sum()), "by judge": float(judge_scores[:, k].mean())}
        labels = pl.DataFrame({"measure": name, "system": system, **sizes})
        frames.append(labels.hstack(means.to_polars().with_columns(scaled)))
        notes += [f"{system}: {note}" for note in means.notes]
    return PPIAnswers(pl.concat(frames).select(*PPIAnswers.columns), name, tuple(notes))


def _is_answered(judged: JudgedAnswers | JudgedCitations) -> Bools:
    """Return whether a system has an answer; shape (topics, systems)."""
    return judged.answered if isinstance(judged, JudgedAnswers) else judged.sentences > 0
