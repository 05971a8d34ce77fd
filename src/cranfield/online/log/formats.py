"""Formats of logs, converted to tables of pages, results and clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.text import counted, some_of
from cranfield.online.log.cells import CLICKS, FLAT, PAGES, RESULTS, TIME
from cranfield.online.log.linking import Anomaly, Parts, placed
from cranfield.online.log.query_log import PAGE_TYPES, RESULT_TYPES
from cranfield.online.log.tables import LINE, documents, is_blank, records, table_of
from cranfield.sessions.log import Sessions
from cranfield.sources.columns import Table
from cranfield.sources.text import decoded


def parted(table: Table, clicks: bool = False) -> Parts:
    """Split a flat table; a page without results is a row without a document.

    clicks: whether there is also a table of clicks.
    """
    frame = table.frame
    of_page = [name for name in PAGE_TYPES if name in table.names]
    pages = frame.select("page", *of_page).unique("page", keep="first", maintain_order=True)
    pages = pages.rename({"page": "id"})
    place = pages.select("id", page=pl.int_range(pl.len(), dtype=pl.Int64))
    page = placed(frame, place)["page"]
    for name in of_page:
        _check_same(table, name, pages[name].gather(page))
    has_doc = frame["doc"].is_not_null()
    if "doc" not in table.names and "rank" in table.names:
        raise InputError("has ranks, but no doc column", source=table.source)
    if "rank" in table.names:
        has_rank = frame["rank"].is_not_null()
        table.refuse(~has_doc & has_rank, lambda row: "has a rank, but no document")
        table.refuse(has_doc & ~has_rank, lambda row: "has no rank")
    number = _number_of_clicks(table, has_doc)
    if number is None and has_doc.any() and not clicks:
        problem = "has no column of clicks with values; clicks are treated as unknown"
        warn(f"{table.source}: {problem}", stacklevel=4)
    if number is not None:
        table.refuse((number > 0) & ~has_doc, lambda row: "is clicked, but has no document")
    of_results = tuple(name for name in RESULT_TYPES if name in table.names)
    return Parts(
        Table(pages, table.source, ("id", *of_page)),
        replace(table.gather(has_doc.arg_true()), names=of_results),
        None if number is None else _clicks(table, number),
    )


def _check_same(table: Table, name: str, first: pl.Series) -> None:
    """Refuse a page whose rows differ from its first row in a column that belongs to the page."""
    bad = table.frame[name].ne_missing(first)
    if bad.any():
        value = quoted(first.filter(bad)[0])
        table.refuse(
            bad,
            lambda row: f"page {quoted(row['page'])} has {name} {value} and {quoted(row[name])}",
        )


def _number_of_clicks(table: Table, has_doc: pl.Series) -> pl.Series | None:
    """Return the number of clicks on each row; None if the table has none for any row."""
    clicks, times = table.frame["clicks"], table.frame["click_time"]
    if clicks.null_count() < len(clicks):
        if missing := int((clicks.is_null() & has_doc).sum()):
            # In joined tables an empty cell means no click.
            empty = f"{counted(missing, 'row')} without a number of clicks"
            warn(f"{table.source}: {empty}; read as no click", stacklevel=4)
        if timed := int(((clicks == 0) & times.is_not_null()).sum()):
            contrary = f"{counted(timed, 'row')} with a time of a click and 0 clicks"
            warn(f"{table.source}: {contrary}; read as no click", stacklevel=4)
        return clicks.fill_null(0)
    return times.is_not_null().cast(pl.Int64) if times.null_count() < len(times) else None


def _clicks(table: Table, number: pl.Series) -> Table:
    names = ("page", "rank", "doc", "click_time", "dwell", "censored")
    own = tuple(name.removeprefix("click_") for name in names if name in table.names)
    frame = table.frame.select(names).rename({"click_time": "time"}).with_columns(clicks=number)
    return replace(table, frame=frame, names=(*own, "clicks"))


_PLACE = pl.int_range(1, pl.len() + 1).over("page")
"""The rank of a row on its page, by the order of rows."""


def _text(*names: str) -> pl.Struct:
    return pl.Struct(dict.fromkeys(names, pl.String))


_RANKINGS: dict[str, Any] = {
    **dict.fromkeys(("sid", "qid", "time"), pl.String),
    "ranking": pl.List(_text("docid", "clicked", "team")),
}


def read_living_labs(raw: bytes, source: str) -> Table:
    """Read rankings `{sid, qid, time, ranking: [{docid, clicked, team}]}`, a row a result.

    Pages are named by their number; those with teams are interleaved by team draft.
    """
    frame = records(raw, source, "living labs", _RANKINGS).rename(
        {"qid": "query", "sid": "session"}
    )
    frame = frame.with_columns(page=pl.int_range(1, pl.len() + 1))
    frame = frame.explode("ranking", empty_as_null=True, keep_nulls=True).unnest("ranking")
    drafted = pl.col("team").is_not_null().any().over("page")
    frame = frame.with_columns(
        rank=pl.when(pl.col("docid").is_not_null()).then(_PLACE),
        method=pl.when(drafted).then(pl.lit("TeamDraft")),
    ).rename({"docid": "doc", "clicked": "clicks"})
    table = table_of(frame, FLAT, source, empty=False)
    unknown = ~table.frame["team"].is_in(["site", "participant"])
    table.refuse(
        unknown.fill_null(False),
        lambda row: f"team {quoted(row['team'])} is neither 'site' nor 'participant'",
    )
    return table


_LATEST = 1e11
"""Seconds beyond which Python has no dates, roughly."""


def read_sessions_as_log(sessions: Sessions) -> Parts:
    """Convert sessions, whose clocks start in 1970, to pages, results and clicks.

    Pages are named by session and query, such as `3-1`. A query without text has that of its topic.
    """
    if len(sessions.systems) > 1:
        raise InputError("expected sessions of one system, got several", source=sessions.source)
    for frame in (sessions.queries, sessions.clicks):
        start = frame["start"].fill_nan(None)
        late = start.filter(start.abs() > _LATEST)
        if late.len():
            raise InputError(f"time {late[0]:g} is not a number of seconds", source=sessions.source)
    names, topics = (pl.Series(one, dtype=pl.String) for one in (sessions.names, sessions.topics))
    pages, results, clicks = (
        frame.with_columns(
            session=names.gather(frame["session"]), topic=topics.gather(frame["session"])
        ).with_columns(page=pl.concat_str("session", "query", separator="-"))
        for frame in (sessions.queries, sessions.results, sessions.clicks)
    )
    at = (pl.col("start").fill_nan(None) * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    text = pl.when(pl.col("text") != "").then("text")
    query = pl.coalesce(text, "topic", "page")
    dwell = pl.col("end") - pl.col("start")
    pages = pages.select("session", id="page", query=query, time=at)
    clicks = clicks.select("page", "rank", time=at, dwell=dwell)
    lost = Anomaly("clicks on no result", sessions.lost_clicks, "excluded", sessions.source)
    results = results.select("page", "rank", "doc")
    tables = _tables(pages, results, clicks, sessions.source, empty=True)
    return tables._replace(anomalies=(lost,))


QUERIES: dict[str, Any] = {
    **dict.fromkeys(("query_id", "user_query", "client_id", "user_id", "timestamp"), pl.String),
    "query_response_hit_ids": pl.List(pl.String),
    "query_attributes": _text("session_id", "variant", "found", "method"),
}
_SHOWN = "impression"
_OF_RESULTS = ("team", "propensity", "grade")
EVENTS: dict[str, Any] = {
    **dict.fromkeys(("action_name", "query_id", "session_id", "timestamp"), pl.String),
    "event_attributes": pl.Struct(
        {
            "object": _text("object_id"),
            "position": _text("ordinal"),
            **dict.fromkeys(("dwell", "censored", *_OF_RESULTS), pl.String),
        }
    ),
}


def read_ubi(
    queries: tuple[bytes, str],
    events: tuple[bytes, str] | None,
    click_actions: Sequence[str],
) -> Parts:
    """Read UBI queries and their events, given as bytes with the names of their sources.

    The results of a page are the documents of its `impression` events with a position; without
    them, those that the query found. Attributes beyond the standard are read where
    :meth:`QueryLog.write` puts them. Clicks are the events with one of the `click_actions`. Clicks
    of no query, and events that are neither clicks nor impressions, are counted.
    """
    asked = records(documents(*queries, events=False), queries[1], "UBI queries", QUERIES)
    asked = asked.unnest("query_attributes")
    nameless = asked.filter(pl.col("query_id").is_null())
    if nameless.height:
        raise InputError("has no query_id", source=queries[1], line=nameless[LINE][0])
    asked = _with_queries(asked, queries[1])
    done = pl.DataFrame(schema=pl.Schema({**EVENTS, LINE: pl.Int64}))
    if events is not None and not is_blank(events[0]):
        done = records(documents(*events, events=True), events[1], "UBI events", EVENTS)
    # Browsers send events out of order, and a page may be shown again later.
    done = done.unnest("event_attributes").unnest("object", "position")
    done = done.with_columns(at=TIME.column("at", done["timestamp"])[0]).rename(
        {"query_id": "page", "ordinal": "rank", "object_id": "doc", "timestamp": "time"}
    )
    shown = pl.col("action_name") == _SHOWN
    clicked = pl.col("action_name").is_in(click_actions)
    known = pl.col("page").is_not_null()
    anomalies: tuple[Anomaly, ...] = ()
    if events is not None:
        done = _from_one(done, clicked | shown, events[1])
        _check_actions(done, click_actions, events[1])
        lost = done.filter(clicked & ~known).height
        # Other events, such as purchases, do not belong to a log.
        others = done.filter(~(clicked | shown).fill_null(False)).height
        anomalies = (
            Anomaly("clicks on no page", lost, "excluded", events[1]),
            Anomaly("events of other kinds", others),
        )
    seen = done.filter(shown & known).drop_nulls(["rank", "doc"])
    seen = seen.sort("at", nulls_last=True, maintain_order=True)
    seen = seen.unique(["page", "rank", "doc"], keep="first", maintain_order=True)
    # A query that is recorded again, such as for a facet, has other hits.
    first = asked.unique("query_id", keep="first", maintain_order=True)
    found = first.select(page="query_id", doc="query_response_hit_ids")
    found = found.join(seen, on="page", how="anti").explode("doc").drop_nulls("doc")
    found = found.with_columns(rank=_PLACE.cast(pl.String))
    seen = seen.select("page", "rank", "doc", *_OF_RESULTS)
    clicks = done.filter(clicked & known).select(
        "page", "rank", "doc", "time", "dwell", "censored", LINE
    )
    sessions = done.filter(known).drop_nulls("session_id")
    sessions = sessions.unique("page", keep="first", maintain_order=True)
    sessions = sessions.select(query_id="page", of_events="session_id")
    pages = asked.join(sessions, on="query_id", how="left", maintain_order="left").select(
        *("variant", "found", "method", LINE),
        id="query_id",
        query="user_query",
        user=pl.coalesce("user_id", "client_id"),
        session=pl.coalesce("session_id", "of_events"),
        time="timestamp",
    )
    return Parts(
        table_of(pages, PAGES, queries[1], empty=False),
        # Results stand in two files.
        table_of(pl.concat([found, seen], how="diagonal"), RESULTS, queries[1]),
        None if events is None else table_of(clicks, CLICKS, events[1]),
        anomalies,
    )


def _with_queries(asked: pl.DataFrame, source: str) -> pl.DataFrame:
    """Name the query of pages without text, such as those of a category, and count them."""
    empty = asked["user_query"].str.strip_chars().fill_null("") == ""
    if not empty.any():
        return asked
    pages = counted(int(empty.sum()), "page")
    warn(f"{source}: {pages} with an empty user_query, read as {quoted(_NO_QUERY)}", stacklevel=4)
    return asked.with_columns(user_query=asked["user_query"].set(empty, _NO_QUERY))


_NO_QUERY = "(no query)"


def _from_one(events: pl.DataFrame, of_results: pl.Expr, source: str) -> pl.DataFrame:
    """Count ordinals from 1 where a file counts them from 0."""
    place = pl.col("rank").cast(pl.Int64, strict=False)
    if not events.select((of_results & (place == 0)).any()).item():
        return events
    warn(f"{source}: ordinals count from 0, and are read as ranks from 1", stacklevel=4)
    rank = pl.coalesce((place + 1).cast(pl.String), "rank")
    return events.with_columns(rank=rank)


def _check_actions(events: pl.DataFrame, clicks: Sequence[str], source: str) -> None:
    """Refuse events of which none is a click, but some may be clicks by another name."""
    number = events["action_name"].drop_nulls().value_counts(sort=True).rows()
    if not {name for name, _ in number} & {*clicks} and {name for name, _ in number} - {_SHOWN}:
        listed = some_of([f"{quoted(name)} ({times:,})" for name, times in number], 12)
        raise InputError(
            (
                f"expected events with action_name {' or '.join(map(quoted, clicks))}, got"
                f" {listed}; set click_actions=... to the actions that are clicks"
            ),
            source=source,
        )


def read_yandex(raw: bytes, source: str) -> Parts:
    """Read records of the relevance prediction challenge of 2012, separated by tabs.

    A line is a query, `session time Q query region doc...`, or a click, `session time C doc`, which
    belongs to the last query of its session above it. Times count from the start of the session.
    """
    frame = _lines(raw, source).with_columns(pl.col("text").str.strip_chars_end("\r\n\t "))
    frame = frame.filter(pl.col("text") != "").with_columns(cells=pl.col("text").str.split("\t"))
    cell = pl.col("cells").list
    session, time, kind = (cell.get(k, null_on_oob=True) for k in range(3))
    frame = frame.with_columns(
        session=session.str.strip_chars(), time=time, kind=kind.str.strip_chars(), size=cell.len()
    )
    query, click = pl.col("kind") == "Q", pl.col("kind") == "C"
    fits = (query & (pl.col("size") >= 5)) | (click & (pl.col("size") == 4))
    what = "Yandex (session time Q query region doc…, or session time C doc)"
    _refuse(frame, ~fits.fill_null(False), what, source)
    number = query.cast(pl.Int64).cum_sum()
    frame = frame.with_columns(page=pl.when(query).then(number))
    frame = frame.with_columns(page=pl.col("page").forward_fill().over("session"))
    queries = frame.filter(query)
    name = pl.concat_str(cell.get(3), cell.get(4), separator="_")
    pages = queries.select("session", "time", LINE, id="page", query=name)
    results = queries.select("page", LINE, doc=cell.slice(5)).explode("doc", empty_as_null=False)
    clicks = frame.filter(click).select("page", "time", LINE, doc=cell.get(3, null_on_oob=True))
    return _tables(pages, results.with_columns(rank=_PLACE), clicks, source)


def read_pyclick(raw: bytes, source: str) -> Parts:
    """Read pages `query TAB doc,doc,... : clicked doc , clicked doc`, with semicolons between."""
    frame = _lines(raw, source).with_columns(pl.col("text").str.split(";")).explode("text")
    frame = frame.with_columns(pl.col("text").str.strip_chars()).filter(pl.col("text") != "")
    fields = pl.col("text").str.extract_groups(
        r"^(?<query>[^\t]*)\t(?<shown>[^\t:]*):(?<clicked>[^\t:]*)$"
    )
    frame = frame.with_columns(fields.alias("fields")).unnest("fields")
    frame = frame.with_columns(page=pl.int_range(1, pl.len() + 1))
    _refuse(frame, frame["shown"].is_null(), "pages (query, tab, docs : clicked docs)", source)

    def listed(name: str) -> pl.DataFrame:
        docs = pl.col(name).str.split(",").list.eval(pl.element().str.strip_chars())
        docs = pl.when(pl.col(name).str.strip_chars() != "").then(docs)
        return frame.select("page", LINE, doc=docs).explode("doc").drop_nulls("doc")

    pages, results = frame.select("query", LINE, id="page"), listed("shown")
    return _tables(pages, results.with_columns(rank=_PLACE), listed("clicked"), source)


def _lines(raw: bytes, source: str) -> pl.DataFrame:
    text = decoded(raw, source)
    frame = pl.DataFrame({"text": [text]}).select(pl.col("text").str.split("\n")).explode("text")
    return frame.with_columns(pl.int_range(1, pl.len() + 1).alias(LINE))


def _refuse(frame: pl.DataFrame, bad: pl.Expr | pl.Series, what: str, source: str) -> None:
    wrong = frame.filter(bad)
    if wrong.height:
        text, line = wrong.row(0, named=True)["text"], wrong[LINE][0]
        raise InputError(f"expected a line of {what}, got {quoted(text)}", source=source, line=line)


def _tables(
    pages: pl.DataFrame,
    results: pl.DataFrame,
    clicks: pl.DataFrame,
    source: str,
    empty: bool = False,
) -> Parts:
    return Parts(
        table_of(pages, PAGES, source, empty=empty),
        table_of(results, RESULTS, source),
        table_of(clicks, CLICKS, source),
    )
