"""Prediction-powered grades: people judge a random sample of each grade of a judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.estimates.means import PPIMeans, name_notes, stratified_mean
from cranfield.assess.judges.reading import Judge, drop_unsampled, note_missing_grades, read_panel
from cranfield.assess.sampling_designs import allocation
from cranfield.base.errors import InputError, PolicyError, quote
from cranfield.base.text import inflect
from cranfield.collection.qrels import Qrels
from cranfield.result import Column, Columns, Result

MAX_RATIO = 1.25
"""Maximum ratio of inclusion probabilities within a grade; above 1, as sample sizes are rounded."""

MIN_EXPECTED = 10
"""Expected number of judgments at which a topic without any is unlikely in a random sample."""

_MEAN_COLUMNS = ("estimate", "standard_error", "low", "high", "human")


@dataclass(frozen=True, eq=False, repr=False)
class PPIGrades(Result):
    """Mean grades with confidence intervals, by judge; returned by :func:`ppi_grades`.

    Attributes
    ----------
    means, strata
        Data frames of the two tables.
    alpha
        One minus the confidence level.
    notes
        Notes on means without an interval or with a widened one, and on how labels were read.
    """

    name: ClassVar[str] = "ppi"
    columns: ClassVar[Mapping[str, Columns]] = {
        "ppi": {
            "judge": Column("Judge.", key=True),
            "quantity": Column("Mean `grade`, or proportion of pairs with `grade >= g`.", key=True),
            **{name: PPIMeans.columns[name] for name in _MEAN_COLUMNS},
            "pairs": Column("Number of pairs of a topic and a document that the judge labelled."),
            "by judge": Column("Estimate of the quantity from the labels of the judge alone."),
        },
        "strata": {
            "judge": Column("Judge.", key=True),
            "label": Column("Grade by the judge.", key=True),
            "pairs": Column("Number of pairs with this grade by the judge."),
            "human": Column("Number of these pairs that people judged."),
            "mean": Column("Mean human grade."),
            "deviation": Column("Standard deviation of human grades; null for a single judgment."),
            "allocation": Column("Optimal number of judgments, with an unchanged total number."),
        },
    }

    means: pl.DataFrame
    strata: pl.DataFrame
    alpha: float
    notes: tuple[str, ...]

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"ppi": self.means, "strata": self.strata}

    def heading(self) -> list[str]:
        judges = inflect(self.means["judge"].n_unique(), "judge")
        return [
            f"prediction-powered grades by {judges}: people judged a random sample of each grade;"
            f" {100 * (1 - self.alpha):g}% confidence intervals"
        ]


def ppi_grades(
    human: Any, judges: Any, *, alpha: float = 0.05, scale: Any = None, clip: bool = False
) -> PPIGrades:
    """Estimate the mean human grade from a random sample of each grade of a judge.

    The judge labels all pairs of a topic and a document. For each of the judge's grades, people
    judge a random sample of the pairs with this grade. The mean human grade, and the proportion
    of pairs with at least grade g, are estimated by :func:`stratified_mean` with the grades of the
    judge as strata. The table `strata` has the optimal allocation of the same number of judgments
    (:func:`allocation`, with the observed standard deviations).

    Parameters
    ----------
    human
        Human judgments: any input of :func:`cranfield.read_qrels`.
    judges
        Labels of one judge or more: any input of :func:`read_judges`.
    alpha
        One minus the confidence level of the intervals.
    scale, clip
        As for :func:`ppi_scores`.

    Returns
    -------
    PPIGrades
        Estimates with intervals by judge and quantity, and the strata.

    Raises
    ------
    InputError
        For a document that people judged but a judge did not label.
    PolicyError
        If people judged fewer than two pairs with a grade of the judge, and not all of them; or if
        inclusion probabilities of pairs with the same grade (columns `inclusion` or `stratum`)
        differ by more than 25%; or for an option out of its range.

    Examples
    --------
    >>> judge = {"q": {f"d{k}": int(k >= 60) for k in range(100)}}
    >>> human = {"q": {"d0": 0, "d1": 0, "d2": 0, "d3": 1, "d60": 1, "d61": 1, "d62": 0, "d63": 1}}
    >>> grades = ppi_grades(human, judge)
    >>> grades.means.select("quantity", "estimate", "by judge").rows()
    [('grade', 0.45, 0.4), ('grade >= 1', 0.45, 0.4)]
    >>> grades.strata.select("label", "pairs", "human", "allocation").rows()
    [(0, 60, 4, 5), (1, 40, 4, 3)]
    """
    panel = read_panel(human, judges, scale, clip, extends_scale=True)
    human_qrels = drop_unsampled(panel.human)
    thresholds = range(panel.scale.min_grade + 1, panel.scale.max_grade + 1)
    quantities = ["grade", *(f"grade >= {grade}" for grade in thresholds)]
    means, strata, notes = [], [], list(panel.notes)
    for judge in panel.judges:
        _check_sample(panel.human, judge)
        label, grade = _match_grades(human_qrels, judge, panel.scale.min_grade)
        # Without a human grade, all quantities of a pair are missing.
        exceedances = [
            np.where(np.isnan(grade), np.nan, grade >= threshold) for threshold in thresholds
        ]
        estimates = stratified_mean(np.stack([grade, *exceedances]), label, alpha=alpha)
        by_judge = [label.mean(), *((label >= threshold).mean() for threshold in thresholds)]
        names = pl.DataFrame({"judge": judge.name, "quantity": quantities})
        sizes = pl.DataFrame({"pairs": label.size, "by judge": by_judge})
        means.append(names.hstack(estimates.to_polars().select(_MEAN_COLUMNS)).hstack(sizes))
        human_grade = pl.col("grade").fill_nan(None)
        groups = pl.DataFrame({"label": label, "grade": grade}).group_by("label")
        counts = groups.agg(
            pairs=pl.len().cast(pl.Int64),
            human=human_grade.count().cast(pl.Int64),
            mean=human_grade.mean(),
            deviation=human_grade.std(),
        ).sort("label")
        deviations, n_human = counts["deviation"].fill_null(0.0), int(counts["human"].sum())
        allocations = pl.Series("allocation", allocation(counts["pairs"], deviations, n_human))
        strata.append(counts.select(pl.lit(judge.name).alias("judge"), "*", allocations))
        topic_notes = _note_unjudged_topics(human_qrels, judge)
        labelled_notes = (*name_notes(estimates, quantities), *topic_notes)
        notes += [f"{judge.name}: {note}" for note in labelled_notes]
    return PPIGrades(pl.concat(means), pl.concat(strata), alpha, tuple(notes))


def _check_sample(human: Qrels, judge: Judge) -> None:
    """Refuse judgments whose inclusion probabilities differ within a grade of the judge."""
    judgments, is_sampled = human.to_polars(), pl.col("grade") >= human.find_lowest_judged_grade()
    if "stratum" in judgments.columns and "inclusion" not in judgments.columns:
        judgments = judgments.with_columns(inclusion=is_sampled.mean().over("topic", "stratum"))
    if "inclusion" not in judgments.columns:
        return
    labels = judge.labels.to_polars().select("topic", "doc", pl.col("grade").alias("label"))
    inclusion = pl.col("inclusion")
    strata = judgments.filter(is_sampled).join(labels, ["topic", "doc"]).group_by("label")
    bounds = strata.agg(low=inclusion.min(), high=inclusion.max()).sort("label")
    for label, low, high in bounds.filter(pl.col("high") > MAX_RATIO * pl.col("low")).rows():
        raise PolicyError(
            f"documents with the same grade by {quote(judge.name)} must have the same inclusion"
            f" probability, got {low:g} to {high:g} for grade {label}; for a sample of the"
            " documents of each topic, estimate scores of runs with unit='document'"
        )


def _note_unjudged_topics(human: Qrels, judge: Judge) -> list[str]:
    """Return a note if unjudged topics indicate a sample of topics, not of all documents."""
    judgments = human.to_polars()
    sizes = judge.labels.to_polars().group_by("topic").len("size")
    expected = pl.col("size") * judgments.height / len(judge.labels)
    unjudged_topics = sizes.filter(expected >= MIN_EXPECTED).join(judgments, on="topic", how="anti")
    if unjudged_topics.is_empty():
        return []
    return [
        f"people judged no document of {inflect(unjudged_topics.height, 'topic')}, where a random"
        f" sample would have {MIN_EXPECTED} or more on average; the intervals assume a random"
        " sample from all topics, and are too narrow if people judged some topics only"
    ]


def _match_grades(human: Qrels, judge: Judge, min_grade: int) -> tuple[Any, Any]:
    """Return the label of each pair that a judge labelled, and its human grade, NaN if missing."""
    grade = pl.col("grade")
    pairs = judge.labels.to_polars().select("topic", "doc", grade.alias("label"))
    judgments = human.to_polars().select("topic", "doc", grade.clip(min_grade).cast(pl.Float64))
    unlabelled = judgments.join(pairs, on=["topic", "doc"], how="anti")
    if unlabelled.height:
        topic, doc = unlabelled.select("topic", "doc").row(0)
        documents = inflect(unlabelled.height, "document")
        reason = f"people judged {documents} that {quote(judge.name)} did not label"
        reason += note_missing_grades(judge)
        advice = "add the labels, or remove these judgments"
        raise InputError(f"{reason}; {advice}", topic=topic, doc=doc)
    pairs = pairs.join(judgments, on=["topic", "doc"], how="left", maintain_order="left")
    return pairs["label"].to_numpy(), pairs["grade"].fill_null(np.nan).to_numpy()
