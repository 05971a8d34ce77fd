"""Runs scored by people and by each judge, and label sets as runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.assess.judges.beside import Panel, panel_of
from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.collection.run import Run
from cranfield.evaluation.evaluation import score
from cranfield.measures import Measure, parse_measures
from cranfield.scores.averages import FLOOR


@dataclass(frozen=True, eq=False)
class ByAll:
    """Scores of the same runs by people and by each judge, the higher the better.

    people: shape (measures, topics, systems).
    judges: shape (measures, judges, topics, systems); NaN on topics without a label of the judge.
    Scores whose low values are good ones have their sign turned, and those whose mean is geometric
    are logarithms, so that systems are in order of their means.
    """

    panel: Panel
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]
    systems: tuple[str, ...]
    people: Floats
    judges: Floats


def by_all(
    runs: Any,
    human: Any,
    judges: Any,
    measures: str | Measure | Sequence[str | Measure],
    *,
    scale: Any = None,
    cut: bool = False,
    logs: bool = False,
    **options: Any,
) -> ByAll:
    """Judge the runs once by all; with `logs`, scores that are summed up so are logarithms."""
    wanted = tuple(dict.fromkeys(parse_measures(measures, compat=options.get("compat"))))
    if not wanted:
        raise PolicyError("no measure was given")
    panel = panel_of(human, judges, scale, cut)
    if options.get("aspects"):
        raise PolicyError("aspects are not for judges: each judge is one here")
    if options.get("max_grade") is not None:
        raise PolicyError("expected the highest grade of judges by scale=..., got max_grade=...")
    labels = {one.name: one.labels for one in panel.judges}
    judged = judge(runs, panel.human, **{**options, "aspects": labels})
    by_judge = judged.annotations.aspects
    place = {topic: k for k, topic in enumerate(judged.topics)}
    values = np.empty((len(wanted), len(labels), *judged.shape))
    for k, one in enumerate(panel.judges):
        values[:, k] = _values(by_judge[one.name], wanted, panel.scale.high, logs)
        told = np.zeros(len(place), dtype=bool)
        has = np.unique(one.labels.codes)
        told[[place[one.labels.topics[c]] for c in has if one.labels.topics[c] in place]] = True
        values[:, k, ~told] = np.nan
    people = _values(judged, wanted, panel.scale.high, logs)
    return ByAll(panel, wanted, judged.topics, judged.systems, people, values)


def _values(judged: JudgedRuns, wanted: Sequence[Measure], highest: int, logs: bool) -> Floats:
    # What depends on the highest grade takes that of the scale, whoever gave it or not.
    judged = replace(judged, judgments=replace(judged.judgments, max_grade=highest), views={})
    scores = score(judged, wanted).values()
    tables = []
    for one in scores:
        table = -one.values if one.lower_is_better else one.values
        if logs and one.aggregate == "geometric":
            table = np.log(np.maximum(one.values, FLOOR))
        tables.append(table)
    return np.array(tables)


def judges_as_runs(
    human: Any, judges: Any, *, scale: Any = None, cut: bool = False
) -> tuple[Run, ...]:
    """Make a run of each judge: documents in order of its own grades.

    Documents of one grade are tied, and :func:`cranfield.judge` breaks ties by id, descending by
    default. So judges can be evaluated as the systems that they are, by people and by each other
    (the setting of :func:`kin_bias` when there are no other systems).

    Parameters
    ----------
    human, judges, scale, cut
        As for :func:`compare_judges`.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels = {"q1": {"d1": 2, "d2": 0}}
    >>> [run] = judges_as_runs(qrels, {"llm": {"q1": {"d1": 1, "d2": 2}}})
    >>> run, cf.evaluate([run], qrels, "RR").by_system().rows()
    (Run('llm': 1 topic, 2 documents), [('llm', 0.5)])
    """
    panel = panel_of(human, judges, scale, cut)
    return tuple(
        Run(
            one.name,
            one.labels.topics,
            one.labels.codes,
            one.labels.docs,
            one.labels.grades.astype(np.float64),
        )
        for one in panel.judges
    )
