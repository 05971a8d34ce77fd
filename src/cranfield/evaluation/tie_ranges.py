"""Lowest, expected and highest scores over the orders of tied documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.base.text import list_some
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.evaluation.evaluation import (
    Evaluation,
    count_tied_documents,
    has_tie_bounds,
    is_scored_by_grades,
    order_ties,
)
from cranfield.evaluation.expected_scores import (
    compute_expected_scores,
    depends_on_grades_only,
    resolve_ties_as_trec,
)
from cranfield.measures.base import Measure
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores

_RANGE_COLUMNS = ("lowest", "expected", "highest")


@dataclass(frozen=True, eq=False, repr=False)
class TieRanges(TableResult):
    """Scores over all orders of tied documents; returned by :func:`tie_ranges`.

    Attributes
    ----------
    notes
        Notes on measures without bounds or without an expected score.
    """

    columns: ClassVar[Columns] = {
        "topic": Column("Topic; only in scores by topic.", key=True),
        "system": Column("System.", key=True),
        "measure": Column("Measure.", key=True),
        "score": Column("Score of the evaluation: in its order of ties, or expected over orders."),
        "lowest": Column("Lowest score over all orders of tied documents; null if unavailable."),
        "expected": Column("Mean score over all orders of tied documents; null if unavailable."),
        "highest": Column("Highest score over all orders of tied documents; null if unavailable."),
        "tied": Column(
            "Proportion of tied documents among all retrieved documents of the system.",
            1,
            percent=True,
        ),
    }

    notes: tuple[str, ...] = ()


def tie_ranges(evaluation: Evaluation, *, by_topic: bool = False) -> TieRanges:
    r"""Compute the lowest, expected and highest scores over the orders of tied documents.

    Documents with equal scores have no defined order, but measures may depend on their order. All
    orders of each group of tied documents are assumed to be equally probable (McSherry and Najork
    2008); the expectations are exact and no orders are sampled. A measure declares how its score on
    a topic depends on the order (`Info.expectation`):

    - `documents`: a sum over documents of the gain of a grade at a rank, so that each document of a
      group has the mean gain over the ranks of the group (P, DCG, nDCG, RBP);
    - `pairs`: the same sum, plus a sum over pairs of documents that depends only on their grades
      and the rank of the lower document (AP, Q);
    - `stop`: the expected utility of the rank where a user stops, such as 1 / rank, if the
      probability of stopping at a document depends on its grade (RR, Success, ERR). With survival
      probabilities :math:`s_i` of the documents of a group, the probability of passing its first
      t ranks is the mean over all subsets of t documents of the product of their :math:`s_i`.

    The lowest and the highest score are those of the orders of each group by grade, ascending and
    descending. They are given for measures that never decrease when a better document moves up
    (`Info.is_monotone`), and for those with an expected score.

    Parameters
    ----------
    evaluation
        Scores of runs; returned by :func:`cranfield.evaluate`.
    by_topic
        Whether to return the scores of each topic instead of the overall scores.

    Returns
    -------
    TieRanges
        A row for each system and measure, or each topic, system and measure.

    Raises
    ------
    PolicyError
        For an evaluation by shard, of sessions or of answers.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.evaluate({"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"b": 1}}, ["RR", "P@1"])
    >>> print(cf.tie_ranges(scores))
    system  measure   score  lowest  expected  highest    tied
    run     RR       0.5000  0.3333    0.6111   1.0000  100.0%
    run     P@1      0.0000  0.0000    0.3333   1.0000  100.0%
    """
    if not isinstance(evaluation.judged, JudgedRuns):
        kind = type(evaluation.judged).__name__
        raise PolicyError(f"expected an evaluation of runs on all documents, got {kind}")
    judged = resolve_ties_as_trec(evaluation.judged)
    orders = tuple(order_ties(judged))
    tied_proportion = count_tied_documents(judged) / judged.n_retrieved.sum(axis=0).clip(1)
    labels: dict[str, Any] = {"system": judged.systems, "tied": tied_proportion}
    if by_topic:
        n_topics, n_systems = judged.shape
        labels = {name: np.tile(label, n_topics) for name, label in labels.items()}
        labels["topic"] = np.repeat(judged.topics, n_systems)
    frames, unbounded_names, inexact_names = [], [], []
    for name, scores in evaluation.items():
        score_arrays = {"score": scores.values, **_compute_range(scores, judged, orders)}
        if "lowest" not in score_arrays:
            unbounded_names.append(name)
        if "expected" not in score_arrays:
            inexact_names.append(name)
        columns = {
            key: values.ravel() if by_topic else replace(scores, values=values).overall()
            for key, values in score_arrays.items()
        }
        frames.append(pl.DataFrame(labels | columns).with_columns(measure=pl.lit(name)))
    rows = pl.concat(frames, how="diagonal").fill_nan(None)
    null_columns = [
        pl.lit(None, pl.Float64).alias(name) for name in _RANGE_COLUMNS if name not in rows.columns
    ]
    names = [name for name in TieRanges.columns if by_topic or name != "topic"]
    notes = []
    if unbounded_names:
        notes.append(
            f"{list_some(unbounded_names, 5)}: no bounds are available, as scores may decrease when"
            " a better document moves up, or depend on more than grades"
        )
    if inexact_names:
        notes.append(f"{list_some(inexact_names, 5)}: no exact expected score is available")
    return TieRanges(rows.with_columns(null_columns).select(names), tuple(notes))


def _compute_range(
    scores: Scores, judged: JudgedRuns, orders: tuple[JudgedRuns, ...]
) -> dict[str, Floats]:
    """Return the bounds and the expectation of the scores of a measure, if they are available."""
    measure = scores.definition
    if not (isinstance(measure, Measure) and is_scored_by_grades(measure)):
        return {}
    if not depends_on_grades_only(measure, judged):
        return {}
    score_range = {}
    if has_tie_bounds(measure):
        arrays = np.stack([measure.score(order) for order in orders])
        score_range["lowest"], score_range["highest"] = arrays.min(axis=0), arrays.max(axis=0)
    if measure.info.expectation:
        score_range["expected"] = compute_expected_scores(measure, judged)
    return {key: np.where(judged.is_scored, values, np.nan) for key, values in score_range.items()}
