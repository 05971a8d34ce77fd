"""Score answers, citations and summaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cranfield.base.errors import MeasureError
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.measures.base import KINDS, REGISTRY, Measure
from cranfield.measures.grammar import parse_measures


def evaluate_answers(judged: Any, measures: str | Measure | Iterable[str | Measure]) -> Evaluation:
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
    wanted = parse_measures(measures)
    for measure in wanted:
        if not isinstance(judged, measure.reads):
            kinds = REGISTRY.of(KINDS[2]).items()
            fit = [name for name, kind in kinds if isinstance(judged, kind.reads)]
            can = f"; what there is allows {', '.join(fit)}" if fit else ""
            reads, given = measure.reads.__name__, type(judged).__name__
            said = f"{measure} is computed from {reads}, not {given}{can}"
            if measure.kind != KINDS[2]:
                said = f"there is no measure of texts {measure.name!r}: {said}"
            raise MeasureError(said)
    return score(judged, wanted)
