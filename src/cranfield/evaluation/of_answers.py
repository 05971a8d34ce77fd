"""Score answers, citations and summaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cranfield.base.errors import MeasureError
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures.texts.base import KINDS, TextMeasure, parse_text_measures
from cranfield.scores import Scores


def evaluate_answers(
    judged: Any,
    measures: str | TextMeasure | Iterable[str | TextMeasure],
) -> Evaluation:
    """Score what is judged already.

    Parameters
    ----------
    judged
        What :func:`judge_answers` or :func:`read_nugget_assignments` returns (answers with
        nuggets), :func:`read_citations` (sentences with citations), or :func:`judge_summaries`
        (texts beside reference texts).
    measures
        Measures or their text forms.

    Returns
    -------
    Evaluation
        A mapping of measures to :class:`Scores`. A system without an answer to a topic scores 0
        there.

    Raises
    ------
    MeasureError
        For a measure that there is not, that is computed from something else, or that needs more
        than is known (lengths, positions, weights, importance).

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.texts import judge_answers
    >>> gold = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {"d": 2, "e": 1}}
    >>> answers = {"x": {"q1": ["a", "b"], "q2": ["c"], "q3": ["d"]}, "y": {"q1": ["a"]}}
    >>> scores = evaluate_answers(judge_answers(answers, gold), ["WRecall"])["WRecall"]
    >>> scores.values.round(2).tolist()
    [[1.0, 0.5], [1.0, 0.0], [0.67, 0.0]]
    >>> cf.compare(scores).systems
    ('x', 'y')
    """
    wanted = parse_text_measures(measures)
    for one in wanted:
        if not isinstance(judged, one.reads):
            fit = [name for name, kind in KINDS.items() if isinstance(judged, kind.reads)]
            can = f"; what there is allows {', '.join(fit)}" if fit else ""
            raise MeasureError(
                f"{one} is computed from {one.reads.__name__}, not {type(judged).__name__}{can}"
            )
    scores = {
        str(one): Scores(
            one.values(judged),
            judged.topics,
            judged.systems,
            measure=str(one),
            settings=judged.settings_for(one),
            scale=one.info.scale,
            lower_is_better=one.info.lower_is_better,
            definition=one,  # type: ignore[arg-type]
        )
        for one in wanted
    }
    return Evaluation(scores, judged)
