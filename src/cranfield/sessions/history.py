"""Runs that answer the last query of each session, behind the history of that session."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from cranfield.base.errors import CranfieldWarning, InputError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.files.many_runs import distinct_names, read_runs
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.run import Run
from cranfield.sessions.log import CLICKS, LISTS, QUERIES, RESULTS, SessionLog

Log = TypeVar("Log", bound=SessionLog)


def followed_by(
    sessions: Log,
    runs: Any,
    *,
    ties: str = "trec",
    duplicates: str = "error",
    bad_runs: str = "error",
) -> Log:
    """Let systems answer the query that each session ends with.

    The TREC Session track gives a history, of queries with results and clicks, and a current query;
    a run ranks documents for the latter. Here the history of each session stands before each
    system's ranking, as the lists of its earlier queries.

    Parameters
    ----------
    sessions
        A log of one system.
    runs
        Whatever :func:`cranfield.read_runs` takes; the topics are the names of sessions.
    ties
        Order of documents with equal scores, as for :func:`cranfield.judge`.
    duplicates, bad_runs
        As for :func:`cranfield.read_runs`.

    Returns
    -------
    Sessions
        Of the systems of the runs. Sessions stay that have a current query or that some run
        answers; in those that a run does not answer, it has found nothing.

    Raises
    ------
    InputError
        When no topic of a run is a session.
    PolicyError
        For sessions of several systems, or an unknown policy for ties.

    Warns
    -----
    CranfieldWarning
        For topics of runs that are no sessions, and for runs with equal tags.

    Examples
    --------
    >>> from cranfield.sessions import read_sessions
    >>> log = read_sessions([{"session": "s", "query": 1, "rank": 1, "doc": "a"}])
    >>> both = followed_by(log, {"x": {"s": {"b": 2.0, "c": 1.0}}, "y": {"s": {"a": 1.0}}})
    >>> both.results.select("system", "query", "rank", "doc").rows()
    [(0, 1, 1, 'a'), (0, 2, 1, 'b'), (0, 2, 2, 'c'), (1, 1, 1, 'a'), (1, 2, 1, 'a')]
    """
    if len(sessions.systems) != 1:
        raise PolicyError(f"runs follow a log of one system, not of {len(sessions.systems)}")
    many = read_runs(runs, duplicates=duplicates, bad_runs=bad_runs)
    if not len(many):
        raise InputError("no runs were given")
    read = list(many)
    place = {name: i for i, name in enumerate(sessions.names)}
    answers = [_answers(run, place, system, ties) for system, run in enumerate(read)]
    answered = {i for frame in answers for i in frame["session"].unique().to_list()}
    kept = [i for i, now in enumerate(sessions.current) if now is not None or i in answered]
    last = np.zeros(len(sessions.names), dtype=np.int64)
    np.maximum.at(
        last, sessions.queries["session"].to_numpy(), sessions.queries["query"].to_numpy()
    )
    next_ = pl.Series("query", last + 1)
    results = pl.concat(answers)
    results = results.with_columns(query=next_.gather(results["session"]))
    asked = pl.DataFrame(
        {
            "session": pl.Series(kept, dtype=pl.Int64),
            "query": next_.gather(kept),
            "text": pl.Series([sessions.current[i] for i in kept], dtype=pl.String),
        }
    ).with_columns(start=pl.lit(None, pl.Float64))
    systems = pl.DataFrame({"system": pl.Series(range(len(read)), dtype=pl.Int64)})

    def repeated(frame: pl.DataFrame) -> pl.DataFrame:
        return systems.join(frame.drop("system", strict=False), how="cross")

    def renumbered(frame: pl.DataFrame) -> pl.DataFrame:
        inside = frame.filter(pl.col("session").is_in(kept))
        new = inside["session"].replace_strict(kept, range(len(kept)), return_dtype=pl.Int64)
        return inside.with_columns(session=new)

    def joined(history: pl.DataFrame, more: pl.DataFrame, schema: dict[str, Any]) -> pl.DataFrame:
        both = pl.concat([repeated(history).select(*schema), more.select(*schema)])
        return renumbered(both).sort(*LISTS, maintain_order=True)

    how = {"duplicates of runs" if k == "duplicates" else k: v for k, v in many.settings.items()}
    return replace(
        sessions,
        runs_read=how,
        names=tuple(sessions.names[i] for i in kept),
        topics=tuple(sessions.topics[i] for i in kept),
        systems=tuple(
            distinct_names(
                [run.name for run in read],
                [many.stem(i) for i in range(len(many)) if i not in many.skipped],
                stacklevel=3,
            )
        ),
        current=(None,) * len(kept),
        queries=joined(sessions.queries, repeated(asked), QUERIES),
        results=joined(sessions.results, results, RESULTS),
        clicks=renumbered(repeated(sessions.clicks)).select(*CLICKS),
        lost_clicks=sessions.lost_clicks * len(read),
    )


def _answers(run: Run, place: dict[str, int], system: int, ties: str) -> pl.DataFrame:
    known = np.array([place.get(name, -1) for name in run.topics], dtype=np.int64)
    if (known < 0).all():
        raise InputError(
            f"no topic of the run is a session (it has {quoted(run.topics[0])},"
            f" sessions are {quoted(next(iter(place), ''))})",
            source=run.name,
        )
    if (known < 0).any():
        some = quoted(run.topics[int(np.argmax(known < 0))])
        number = counted(int((known < 0).sum()), "topic")
        warnings.warn(
            CranfieldWarning(f"{run.name}: {number} without a session, such as {some}, left out"),
            stacklevel=3,
        )
    order = order_of(run, ties)
    rows = order.rows
    session = known[run.codes[rows]]
    frame = pl.DataFrame(
        {
            "system": np.full(rows.size, system, dtype=np.int64),
            "session": session,
            "rank": order.ranks_of(rows),
            "doc": run.ids(rows),
        }
    ).with_columns(title=pl.lit(None, pl.String), snippet=pl.lit(None, pl.String))
    return frame.filter(pl.Series(session >= 0))
