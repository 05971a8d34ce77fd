"""Measures of cranfield inside ir_measures, and so in PyTerrier's experiments.

:func:`measure` makes one measure that ir_measures computes beside its own. :func:`put_first` lets
cranfield compute whatever it can of all that is asked for, with one rule for ties.
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
from cranfield.evaluation.of_runs import evaluate
from cranfield.measures.grammar import parse_measure, parse_measures
from cranfield.scores.averages import Averages

if TYPE_CHECKING:
    from cranfield.measures.base import Measure

__all__ = ["measure", "provider", "put_first", "take_away"]


class _Overall(Agg):
    """Makes one number of the scores of topics, as the measure says."""

    def __init__(self, aggregate: str) -> None:
        self._aggregate = aggregate
        self._values: list[float] = []

    def add(self, value: float) -> None:
        self._values.append(value)

    def result(self) -> float:
        of = Averages(np.array(self._values)[:, None])
        names = {"sum": of.sum, "geometric": of.geometric_mean}
        return float(names.get(self._aggregate, of.mean)()[0]) if self._values else np.nan


class _Named(theirs.Measure):
    """A measure of cranfield under its own text."""

    NAME = "cranfield"

    def __init__(self, ours: Measure) -> None:
        super().__init__()
        self.ours = ours

    def __call__(self, **parameters: Any) -> _Named:
        return _Named(self.ours(**parameters))

    def __matmul__(self, at: Any) -> _Named:
        return _Named(self.ours @ at)

    def __repr__(self) -> str:
        return str(self.ours)

    def aggregator(self) -> _Overall:
        return _Overall(self.ours.info.aggregate)

    def runtime_impl(self, qrels: Any, run: Any) -> Iterator[theirs.Metric]:
        """Yield the scores of topics: ir_measures calls this of measures that it does not know."""
        return _metrics([self], qrels, run)


class _Evaluator(Evaluator):
    """Judgments, and the measures that runs are scored by."""

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        self._frame = QrelsConverter(qrels).as_pd_dataframe()
        super().__init__(list(measures), set(self._frame["query_id"].unique()))

    def _iter_calc(self, run: Any) -> Iterator[theirs.Metric]:
        return _metrics(self.measures, self._frame, RunConverter(run).as_pd_dataframe())


class _Provider(Provider):
    """Computes what cranfield has of ir_measures' measures, and what :func:`measure` makes."""

    NAME = "cranfield"

    def supports(self, measure: Any) -> bool:
        return _ours(measure) is not None

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> _Evaluator:
        return _Evaluator(measures, qrels)


provider = _Provider()
"""A provider of ir_measures, for pipelines of one's own."""


def measure(text: str) -> Any:
    """Make a measure of ir_measures from a text form of cranfield.

    Parameters
    ----------
    text
        Such as `Q@10` or `nERR@20`; whatever :func:`cranfield.parse_measure` reads.

    Returns
    -------
    ir_measures.Measure
        For `ir_measures.calc` and the like, and for `pt.Experiment`. Scores are those of
        :func:`cranfield.evaluate`, over all judged topics.

    Raises
    ------
    MeasureError
        There is no such measure.

    Examples
    --------
    >>> import ir_measures
    >>> qrels, run = {"1": {"d1": 2, "d2": 1}}, {"1": {"d2": 1.0, "d1": 0.5}}
    >>> ir_measures.calc_aggregate([measure("Q@10")], qrels, run)
    {Q@10: 0.8333333333333333}
    """
    return _Named(parse_measure(text))


def put_first() -> None:
    """Let cranfield compute whatever it can, before all other providers of ir_measures.

    Ties, missing topics and text forms then are those of :func:`cranfield.evaluate`. What cranfield
    lacks goes to the others, as before.

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
    there = theirs.DefaultPipeline.providers
    there[:] = [one for one in there if one is not provider]


def _ours(measure: Any) -> Measure | None:
    return measure.ours if isinstance(measure, _Named) else _read(measure)


@cache
def _read(measure: Any) -> Measure | None:
    try:
        (one,) = parse_measures([measure])
        return one
    except CranfieldError:
        return None


def _metrics(measures: Iterable[Any], qrels: Any, run: Any) -> Iterator[theirs.Metric]:
    asked = {one: ours for one in measures if (ours := _ours(one)) is not None}
    if not len(run):
        # Whoever asked gives all topics the score of a missing ranking.
        return
    # What ir_measures calls iteration is the subtopic for measures of diversity.
    several = "iteration" in qrels and qrels["iteration"].nunique() > 1
    columns = ["query_id", *(["iteration"] if several else []), "doc_id", "grade"]
    frame = qrels.rename(columns={"relevance": "grade"})[columns]
    judged = read_qrels(frame, subtopics=True if several else None)
    evaluation = evaluate(run, judged, [*asked.values()], topics="qrels")
    for one, ours in asked.items():
        values = evaluation[ours].values[:, 0]
        for topic, value in zip(evaluation.topics, values.tolist(), strict=True):
            yield theirs.Metric(query_id=topic, measure=one, value=value)
