"""Score sessions: measures of the concatenated lists, and those of clicks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.evaluation.judging_options import OfSessions, naming
from cranfield.measures import Measure, parse_measures
from cranfield.sessions.concatenating import concatenated
from cranfield.sessions.reading import read_sessions


@naming(OfSessions)
def evaluate_sessions(
    sessions: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    topics: Any = None,
    clicks: Any = None,
    depth: int | None = None,
    duplicates: str = "first",
    until_click: bool = False,
    **policies: Unpack[OfSessions],
) -> Evaluation:
    """Score sessions of several queries.

    Parameters
    ----------
    sessions
        Whatever :func:`read_sessions` takes.
    qrels
        Judgments by topic; whatever :func:`cranfield.read_qrels` takes.
    measures
        Measures or their text forms: `sDCG`, `nsDCG`, `ClickU`, and any measure of a ranking, which
        scores the concatenated lists.
    topics, clicks
        As for :func:`read_sessions`.
    depth, duplicates, until_click
        How lists are put together, as for :func:`concatenated`. `ClickU` goes by clicks alone.
    policies
        As for :func:`cranfield.judge`: `negative`, `unjudged`, `max_grade`, `lengths` (of
        documents, in characters), ..., but `topics` is not one.

    Returns
    -------
    Evaluation
        A mapping of measures to :class:`Scores`, whose topics are the sessions with a judged topic.
        A session of such a topic in which a system found nothing scores as an empty ranking does.

    Examples
    --------
    >>> rows = {"session": ["s", "s"], "query": [1, 2], "rank": [1, 1], "doc": ["a", "b"]}
    >>> seen = {"session": ["s"], "query": [2], "rank": [1]}
    >>> ev = evaluate_sessions(
    ...     rows, {"t": {"b": 1}}, ["nsDCG", "RR", "ClickU(length=4000)"],
    ...     topics={"s": "t"}, clicks=seen,
    ... )
    >>> [round(float(scores.values[0, 0]), 4) for scores in ev.values()]
    [0.5435, 0.5, 0.4962]
    """
    wanted = parse_measures(measures)
    read = read_sessions(sessions, clicks=clicks, topics=topics)
    lists = concatenated(read, depth=depth, duplicates=duplicates, until_click=until_click)
    return score(lists.judged(qrels, **policies), wanted)
