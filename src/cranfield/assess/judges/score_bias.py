"""Bias of judges in the scores of systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from cranfield.assess.judges.rankings import score_by_judges
from cranfield.assess.judges.reading import tabulate
from cranfield.assess.judges.self_preference import ROUNDING
from cranfield.base.errors import check_share
from cranfield.base.kinds import check_keywords
from cranfield.base.text import counted
from cranfield.collection.judged.judging import judge as judge_runs
from cranfield.result import Column, Columns, TableResult


@dataclass(frozen=True, eq=False, repr=False)
class ScoreBias(TableResult):
    """Bias of each judge in the scores of systems; returned by :func:`score_bias`.

    Attributes
    ----------
    rows
        Data frame with a row for each measure, judge and system.
    confidence
        Confidence level of the intervals.
    """

    name: ClassVar[str] = "score-bias"
    columns: ClassVar[Columns] = {
        "measure": Column("Measure.", key=True),
        "judge": Column("Judge.", key=True),
        "system": Column("System.", key=True),
        "topics": Column("Number of topics with scores of all systems by people and the judge."),
        "bias": Column("Mean over topics of the score by the judge minus the score by people."),
        "low": Column(
            "Lower bound of the t interval over topics, simultaneous for all systems of a judge and"
            " measure (Bonferroni); null if the difference is equal in all topics."
        ),
        "high": Column("Upper bound of the interval."),
    }

    confidence: float

    def heading(self) -> list[str]:
        """Return one line: the number of values."""
        return [f"bias of scores: {counted(self.rows.height, 'value')}"]


def score_bias(
    runs: Any,
    human: Any,
    judges: Any,
    measures: Any = "nDCG@10",
    *,
    scale: Any = None,
    cut: bool = False,
    confidence: float = 0.95,
    **options: Any,
) -> ScoreBias:
    r"""Estimate the bias of judges in the score of each system.

    .. math:: b_{js} = \frac{1}{T} \sum_t \left( M_j(s, t) - M_{people}(s, t) \right)

    Parameters
    ----------
    runs
        Runs: any input of :func:`cranfield.read_runs`.
    human, judges, scale, cut
        As for :func:`compare_judges`.
    measures
        Measures or their text forms.
    confidence
        Confidence level of the intervals, which are simultaneous for the systems of a judge.
    options
        As for :func:`cranfield.judge`.

    Returns
    -------
    ScoreBias
        Result with a row per measure, judge and system. If lower scores are better, scores are
        negated.

    Examples
    --------
    >>> people = {"q1": {"x": 1, "y": 0}, "q2": {"x": 1, "y": 0}, "q3": {"x": 0, "y": 1}}
    >>> machine = {"q1": {"x": 1, "y": 0}, "q2": {"x": 1, "y": 1}, "q3": {"x": 1, "y": 1}}
    >>> run = {topic: {"x": 1} for topic in people}
    >>> score_bias({"a": run}, people, {"llm": machine}, "P@1").rows["bias"].round(4).to_list()
    [0.3333]
    """
    check_keywords(score_bias, options, judge_runs)
    check_share("confidence", confidence)
    scored = score_by_judges(runs, human, judges, measures, scale=scale, cut=cut, **options)
    all_differences = scored.judges - scored.people[:, None]
    is_missing = np.isnan(all_differences).any(axis=-1, keepdims=True)
    differences = np.ma.array(
        all_differences, mask=np.broadcast_to(is_missing, all_differences.shape)
    )
    n_topics = differences.count(axis=2)
    bias = differences.mean(axis=2).filled(np.nan)
    spread = differences.std(axis=2, ddof=1).filled(0.0)
    error = np.where(spread > ROUNDING, spread, np.nan) / np.sqrt(np.maximum(n_topics, 1))
    tail = (1 - confidence) / (2 * len(scored.systems))
    half_width = stdtrit(np.maximum(n_topics - 1, 1), 1 - tail) * error
    rows = tabulate(
        {"topics": n_topics, "bias": bias, "low": bias - half_width, "high": bias + half_width},
        measure=tuple(map(str, scored.measures)),
        judge=tuple(judge.name for judge in scored.panel.judges),
        system=scored.systems,
    )
    return ScoreBias(rows, confidence)
