"""Measures of cranfield for ir_measures, and so for PyTerrier's experiments.

:func:`measure` creates a measure for ir_measures. :func:`register` makes cranfield the first
provider of ir_measures, so that all measures that cranfield supports break ties by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import ir_measures
import numpy as np
from ir_measures.measures.base import Agg
from ir_measures.providers import Evaluator, Provider
from ir_measures.util import QrelsConverter, RunConverter

from cranfield.base.errors import CranfieldError
from cranfield.collection.files.reading import read_qrels
from cranfield.evaluation.evaluate_runs import evaluate
from cranfield.measures.grammar import parse_measure, parse_measures
from cranfield.scores.averages import Averages

if TYPE_CHECKING:
    from cranfield.measures.base import Measure

__all__ = ["measure", "provider", "register", "unregister"]


class _Aggregator(Agg):
    """Aggregates the scores of topics to a mean, geometric mean or sum, by the measure."""

    def __init__(self, aggregate: str) -> None:
        self._aggregate = aggregate
        self._values: list[float] = []

    def add(self, value: float) -> None:
        self._values.append(value)

    def result(self) -> float:
        averages = Averages(np.array(self._values)[:, None])
        methods = {"sum": averages.sum, "geometric": averages.geometric_mean}
        return float(methods.get(self._aggregate, averages.mean)()[0]) if self._values else np.nan


class _CranfieldMeasure(ir_measures.Measure):
    """A measure of cranfield that ir_measures accepts; its name is its text form in cranfield."""

    NAME = "cranfield"

    def __init__(self, definition: Measure) -> None:
        super().__init__()
        self.definition = definition

    def __call__(self, **parameters: Any) -> _CranfieldMeasure:
        return _CranfieldMeasure(self.definition(**parameters))

    def __matmul__(self, cutoff: Any) -> _CranfieldMeasure:
        return _CranfieldMeasure(self.definition @ cutoff)

    def __repr__(self) -> str:
        return str(self.definition)

    def aggregator(self) -> _Aggregator:
        return _Aggregator(self.definition.info.aggregate)

    def runtime_impl(self, qrels: Any, run: Any) -> Iterator[ir_measures.Metric]:
        """Yield the scores of topics; used by ir_measures if no provider supports the measure."""
        return _compute_metrics([self], qrels, run)


class _Evaluator(Evaluator):
    """Computes measures of runs for fixed judgments."""

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        self._frame = QrelsConverter(qrels).as_pd_dataframe()
        super().__init__(list(measures), set(self._frame["query_id"].unique()))

    def _iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        return _compute_metrics(self.measures, self._frame, RunConverter(run).as_pd_dataframe())


class _Provider(Provider):
    """Computes measures of ir_measures that cranfield supports, and those of :func:`measure`."""

    NAME = "cranfield"

    def supports(self, measure: Any) -> bool:
        return _find_definition(measure) is not None

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> _Evaluator:
        return _Evaluator(measures, qrels)


provider = _Provider()
"""Provider for custom pipelines of ir_measures."""


def measure(text: str) -> Any:
    """Create a measure for ir_measures from a text form of cranfield.

    Parameters
    ----------
    text
        Text form of a measure, such as `Q@10` or `nERR@20`; see :func:`cranfield.parse_measure`.

    Returns
    -------
    ir_measures.Measure
        For functions such as `ir_measures.calc` and for `pt.Experiment`. Scores are those of
        :func:`cranfield.evaluate`, over all judged topics.

    Raises
    ------
    MeasureError
        For an unknown or invalid measure.

    Examples
    --------
    >>> import ir_measures
    >>> qrels, run = {"1": {"d1": 2, "d2": 1}}, {"1": {"d2": 1.0, "d1": 0.5}}
    >>> ir_measures.calc_aggregate([measure("Q@10")], qrels, run)
    {Q@10: 0.8333333333333333}
    """
    return _CranfieldMeasure(parse_measure(text))


def register() -> None:
    """Make cranfield the first provider of ir_measures.

    Ties and missing topics are then treated as by :func:`cranfield.evaluate`. Other providers
    compute the measures that cranfield does not have.

    Examples
    --------
    >>> import ir_measures
    >>> register()
    >>> ir_measures.calc_aggregate([ir_measures.nDCG @ 2], {"1": {"d1": 1}}, {"1": {"d2": 1}})
    {nDCG@2: 0.0}
    >>> unregister()
    """
    unregister()
    ir_measures.DefaultPipeline.providers.insert(0, provider)


def unregister() -> None:
    """Undo :func:`register`."""
    providers = ir_measures.DefaultPipeline.providers
    providers[:] = [item for item in providers if item is not provider]


def _find_definition(measure: Any) -> Measure | None:
    return measure.definition if isinstance(measure, _CranfieldMeasure) else _try_parse(measure)


@cache
def _try_parse(measure: Any) -> Measure | None:
    try:
        [definition] = parse_measures([measure])
        return definition
    except CranfieldError:
        return None


def _compute_metrics(measures: Iterable[Any], qrels: Any, run: Any) -> Iterator[ir_measures.Metric]:
    candidates = {measure: _find_definition(measure) for measure in measures}
    definitions = {m: definition for m, definition in candidates.items() if definition is not None}
    if not len(run):
        # ir_measures gives all topics the score of a missing ranking.
        return
    # Diversity measures of ir_measures read subtopics from the column `iteration`.
    has_subtopics = "iteration" in qrels and qrels["iteration"].nunique() > 1
    columns = ["query_id", *(["iteration"] if has_subtopics else []), "doc_id", "grade"]
    frame = qrels.rename(columns={"relevance": "grade"})[columns]
    judgments = read_qrels(frame, subtopics=True if has_subtopics else None)
    evaluation = evaluate(run, judgments, [*definitions.values()], topics="qrels")
    for measure, definition in definitions.items():
        values = evaluation[definition].values[:, 0]
        for topic, value in zip(evaluation.topics, values.tolist(), strict=True):
            yield ir_measures.Metric(query_id=topic, measure=measure, value=value)
