"""Sessions of the TREC Session track as a log."""

from __future__ import annotations

import polars as pl

from cranfield.base.errors import InputError
from cranfield.online.log import tables
from cranfield.sessions.log import SessionLog
from cranfield.sources.tables import Table

_LATEST = 1e11
"""Seconds beyond which no calendar of Python goes, roughly."""


def read_sessions_as_log(sessions: SessionLog) -> tuple[Table, Table, Table]:
    """Take the queries of sessions as pages; their clocks start in 1970.

    Pages are named by session and query, such as `3-1`. Where the text of a query is not known, its
    topic takes its place.
    """
    if len(sessions.systems) > 1:
        raise InputError("a log is of one system", source=sessions.source)
    for frame in (sessions.queries, sessions.clicks):
        start = frame["start"].fill_nan(None)
        late = start.filter(start.abs() > _LATEST)
        if late.len():
            raise InputError(f"time {late[0]:g} is no number of seconds", source=sessions.source)
    names = pl.Series(sessions.names, dtype=pl.String)
    topics = pl.Series(sessions.topics, dtype=pl.String)

    def named(frame: pl.DataFrame) -> pl.DataFrame:
        session = names.gather(frame["session"])
        page = pl.select(pl.concat_str(session, frame["query"], separator="-")).to_series()
        return frame.with_columns(page=page, session=session, topic=topics.gather(frame["session"]))

    def at(name: str) -> pl.Expr:
        return (pl.col(name).fill_nan(None) * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))

    text = pl.when(pl.col("text") != "").then("text")
    pages = named(sessions.queries).select(
        "session", id="page", query=pl.coalesce(text, "topic", "page"), time=at("start")
    )
    results = named(sessions.results).select("page", "rank", "doc")
    clicks = named(sessions.clicks).select(
        *("page", "rank"), time=at("start"), dwell=pl.col("end") - pl.col("start")
    )
    return (
        tables.table_of(pages, tables.PAGES, sessions.source),
        tables.table_of(results, tables.RESULTS, sessions.source),
        tables.table_of(clicks, tables.CLICKS, sessions.source),
    )
