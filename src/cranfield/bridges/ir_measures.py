"""Measures of cranfield for ir_measures, and so for PyTerrier's experiments.

:func:`measure` creates a measure for ir_measures. :func:`put_first` makes cranfield the first
provider of all measures that it has, with one rule for ties.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import ir_measures as theirs
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

__all__ = ["measure", "provider", "put_first", "take_away"]


class _Overall(Agg):
    """Averages the scores of topics by the aggregate of the measure."""

    def __init__(self, aggregate: str) -> None:
        self._aggregate = aggregate
        self._values: list[float] = []

    def add(self, value: float) -> None:
        self._values.append(value)

    def result(self) -> float:
        averages = Averages(np.array(self._values)[:, None])
        names = {"sum": averages.sum, "geometric": averages.geometric_mean}
        return float(names.get(self._aggregate, averages.mean)()[0]) if self._values else np.nan


class _Named(theirs.Measure):
    """A measure of cranfield under its own text."""

    NAME = "cranfield"

    def __init__(self, ours: Measure) -> None:
        super().__init__()
        self.ours = ours

    def __call__(self, **parameters: Any) -> _Named:
        return _Named(self.ours(**parameters))

    def __matmul__(self, cutoff: Any) -> _Named:
        return _Named(self.ours @ cutoff)

    def __repr__(self) -> str:
        return str(self.ours)

    def aggregator(self) -> _Overall:
        return _Overall(self.ours.info.aggregate)

    def runtime_impl(self, qrels: Any, run: Any) -> Iterator[theirs.Metric]:
        """Yield the scores of topics; called by ir_measures for measures without a provider."""
        return _metrics([self], qrels, run)


class _Evaluator(Evaluator):
    """Judgments and measures, to score runs."""

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        self._frame = QrelsConverter(qrels).as_pd_dataframe()
        super().__init__(list(measures), set(self._frame["query_id"].unique()))

    def _iter_calc(self, run: Any) -> Iterator[theirs.Metric]:
        return _metrics(self.measures, self._frame, RunConverter(run).as_pd_dataframe())


class _Provider(Provider):
    """Computes the measures of cranfield, and those created by :func:`measure`."""

    NAME = "cranfield"

    def supports(self, measure: Any) -> bool:
        return _ours(measure) is not None

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> _Evaluator:
        return _Evaluator(measures, qrels)


provider = _Provider()
"""A provider of ir_measures, for custom pipelines."""


def measure(text: str) -> Any:
    """Create a measure of ir_measures from a text form of cranfield.

    Parameters
    ----------
    text
        Such as `Q@10` or `nERR@20`; read by :func:`cranfield.parse_measure`.

    Returns
    -------
    ir_measures.Measure
        For `ir_measures.calc` and the like, and for `pt.Experiment`. Scores are those of
        :func:`cranfield.evaluate`, over all judged topics.

    Raises
    ------
    MeasureError
        For an unknown measure.

    Examples
    --------
    >>> import ir_measures
    >>> qrels, run = {"1": {"d1": 2, "d2": 1}}, {"1": {"d2": 1.0, "d1": 0.5}}
    >>> ir_measures.calc_aggregate([measure("Q@10")], qrels, run)
    {Q@10: 0.8333333333333333}
    """
    return _Named(parse_measure(text))


def put_first() -> None:
    """Make cranfield the first provider of ir_measures.

    Ties, missing topics and text forms then are those of :func:`cranfield.evaluate`. Other
    providers compute the measures that cranfield does not have.

    Examples
    --------
    >>> import ir_measures
    >>> put_first()
    >>> ir_measures.calc_aggregate([ir_measures.nDCG @ 2], {"1": {"d1": 1}}, {"1": {"d2": 1}})
    {nDCG@2: 0.0}
    >>> take_away()
    """
    take_away()
    theirs.DefaultPipeline.providers.insert(0, provider)


def take_away() -> None:
    """Undo :func:`put_first`."""
    providers = theirs.DefaultPipeline.providers
    providers[:] = [item for item in providers if item is not provider]


def _ours(measure: Any) -> Measure | None:
    return measure.ours if isinstance(measure, _Named) else _read(measure)


@cache
def _read(measure: Any) -> Measure | None:
    try:
        [parsed] = parse_measures([measure])
        return parsed
    except CranfieldError:
        return None


def _metrics(measures: Iterable[Any], qrels: Any, run: Any) -> Iterator[theirs.Metric]:
    requested = {
        peer_measure: ours for peer_measure in measures if (ours := _ours(peer_measure)) is not None
    }
    if not len(run):
        # The caller gives all topics the score of a missing ranking.
        return
    # The iteration of ir_measures is the subtopic of diversity measures.
    has_subtopics = "iteration" in qrels and qrels["iteration"].nunique() > 1
    columns = ["query_id", *(["iteration"] if has_subtopics else []), "doc_id", "grade"]
    frame = qrels.rename(columns={"relevance": "grade"})[columns]
    judged = read_qrels(frame, subtopics=True if has_subtopics else None)
    evaluation = evaluate(run, judged, [*requested.values()], topics="qrels")
    for peer_measure, ours in requested.items():
        values = evaluation[ours].values[:, 0]
        for topic, value in zip(evaluation.topics, values.tolist(), strict=True):
            yield theirs.Metric(query_id=topic, measure=peer_measure, value=value)
