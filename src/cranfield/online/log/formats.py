"""Formats of logs, converted to tables of pages, results and clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.text import counted, some_of
from cranfield.online.log.cells import CLICKS, FLAT, PAGES, RESULTS, TIME
from cranfield.online.log.linking import Anomaly, SourceTables, number_pages
from cranfield.online.log.query_log import PAGE_TYPES, RESULT_TYPES
from cranfield.online.log.tables import (
    LINE,
    convert_frame,
    extract_documents,
    is_blank,
    read_records,
)
from cranfield.sessions.log import Sessions
from cranfield.sources.columns import Table
from cranfield.sources.text import decoded


def split_flat_table(table: Table, has_click_table: bool = False) -> SourceTables:
    """Split a flat table into pages, results and clicks.

    A page without results is a row without a document. `has_click_table`: whether the log also
    has a table of clicks.
    """
    frame = table.frame
    page_columns = [name for name in PAGE_TYPES if name in table.names]
    pages = frame.select("page", *page_columns).unique("page", keep="first", maintain_order=True)
    pages = pages.rename({"page": "id"})
    page_rows = pages.select("id", page=pl.int_range(pl.len(), dtype=pl.Int64))
    page = number_pages(frame, page_rows)["page"]
    for name in page_columns:
        first_values = pages[name].gather(page)
        differs = frame[name].ne_missing(first_values)
        if differs.any():
            value = quoted(first_values.filter(differs)[0])
            row = frame.filter(differs).row(0, named=True)
            reason = f"page {quoted(row['page'])} has {name} {value} and {quoted(row[name])}"
            table.refuse(differs, lambda _, reason=reason: reason)  # type: ignore[misc]
    has_doc = frame["doc"].is_not_null()
    if "doc" not in table.names and "rank" in table.names:
        raise InputError("has ranks, but no doc column", source=table.source)
    if "rank" in table.names:
        has_rank = frame["rank"].is_not_null()
        table.refuse(~has_doc & has_rank, lambda row: "has a rank, but no document")
        table.refuse(has_doc & ~has_rank, lambda row: "has no rank")
    n_clicks = _count_clicks(table, has_doc)
    if n_clicks is None and has_doc.any() and not has_click_table:
        note = "has no column of clicks with values; clicks are treated as unknown"
        warn(f"{table.source}: {note}", stacklevel=4)
    if n_clicks is not None:
        table.refuse((n_clicks > 0) & ~has_doc, lambda row: "is clicked, but has no document")
    result_columns = tuple(name for name in RESULT_TYPES if name in table.names)
    click_table = None
    if n_clicks is not None:
        names = ("page", "rank", "doc", "click_time", "dwell", "censored")
        click_rows = frame.select(names).rename({"click_time": "time"})
        columns = (name.removeprefix("click_") for name in names if name in table.names)
        click_rows = click_rows.with_columns(clicks=n_clicks)
        click_table = replace(table, frame=click_rows, names=(*columns, "clicks"))
    return SourceTables(
        Table(pages, table.source, ("id", *page_columns)),
        replace(table.gather(has_doc.arg_true()), names=result_columns),
        click_table,
    )


def _count_clicks(table: Table, has_doc: pl.Series) -> pl.Series | None:
    """Return the number of clicks of each row; None if no row has a number or a time."""
    clicks, times = table.frame["clicks"], table.frame["click_time"]
    if clicks.null_count() == len(clicks):
        has_times = times.null_count() < len(times)
        return times.is_not_null().cast(pl.Int64) if has_times else None
    notes = {
        # In joined tables an empty cell means no click.
        "without a number of clicks": clicks.is_null() & has_doc,
        "with the time of a click but 0 clicks": (clicks == 0) & times.is_not_null(),
    }
    for note, rows in notes.items():
        if count := int(rows.sum()):
            warn(f"{table.source}: {counted(count, 'row')} {note}; read as no click", stacklevel=4)
    return clicks.fill_null(0)


_RANKS = pl.int_range(1, pl.len() + 1).over("page")  # Rank of each row on its page


def _text_struct(*names: str) -> pl.Struct:
    return pl.Struct(dict.fromkeys(names, pl.String))


_RANKINGS: dict[str, Any] = {
    **dict.fromkeys(("sid", "qid", "time"), pl.String),
    "ranking": pl.List(_text_struct("docid", "clicked", "team")),
}


def read_living_labs(raw: bytes, source: str) -> Table:
    """Read rankings `{sid, qid, time, ranking: [{docid, clicked, team}]}`, one per line.

    Pages are numbered; pages with teams are treated as interleaved by team draft.
    """
    frame = read_records(raw, source, "living labs", _RANKINGS)
    frame = frame.rename({"qid": "query", "sid": "session"})
    frame = frame.with_columns(page=pl.int_range(1, pl.len() + 1))
    frame = frame.explode("ranking", empty_as_null=True, keep_nulls=True).unnest("ranking")
    has_teams = pl.col("team").is_not_null().any().over("page")
    frame = frame.with_columns(
        rank=pl.when(pl.col("docid").is_not_null()).then(_RANKS),
        method=pl.when(has_teams).then(pl.lit("TeamDraft")),
    ).rename({"docid": "doc", "clicked": "clicks"})
    table = convert_frame(frame, FLAT, source, may_be_empty=False)
    is_unknown = ~table.frame["team"].is_in(["site", "participant"])
    table.refuse(
        is_unknown.fill_null(False),
        lambda row: f"team must be 'site' or 'participant', got {quoted(row['team'])}",
    )
    return table


_MAX_SECONDS = 1e11  # Approximate maximum number of seconds since 1970 in a Python datetime


def read_sessions_as_log(sessions: Sessions) -> SourceTables:
    """Convert sessions, whose times count from 1970, to pages, results and clicks.

    Pages are named by session and query, such as `3-1`. A query without text has the name of its
    topic.
    """
    if len(sessions.systems) > 1:
        raise InputError("expected sessions of one system, got several", source=sessions.source)
    for frame in (sessions.queries, sessions.clicks):
        start = frame["start"].fill_nan(None)
        invalid = start.filter(start.abs() > _MAX_SECONDS)
        if invalid.len():
            reason = f"expected a time in seconds, got {invalid[0]:g}"
            raise InputError(reason, source=sessions.source)
    names, topics = (
        pl.Series(values, dtype=pl.String) for values in (sessions.names, sessions.topics)
    )
    pages, results, clicks = (
        frame.with_columns(
            session=names.gather(frame["session"]), topic=topics.gather(frame["session"])
        ).with_columns(page=pl.concat_str("session", "query", separator="-"))
        for frame in (sessions.queries, sessions.results, sessions.clicks)
    )
    time = (pl.col("start").fill_nan(None) * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    text = pl.when(pl.col("text") != "").then("text")
    query = pl.coalesce(text, "topic", "page")
    dwell = pl.col("end") - pl.col("start")
    pages = pages.select("session", id="page", query=query, time=time)
    clicks = clicks.select("page", "rank", time=time, dwell=dwell)
    results = results.select("page", "rank", "doc")
    tables = _make_tables(pages, results, clicks, sessions.source, may_be_empty=True)
    anomaly = Anomaly("clicks on no result", sessions.lost_clicks, "excluded", sessions.source)
    return tables._replace(anomalies=(anomaly,))


QUERIES: dict[str, Any] = {
    **dict.fromkeys(("query_id", "user_query", "client_id", "user_id", "timestamp"), pl.String),
    "query_response_hit_ids": pl.List(pl.String),
    "query_attributes": _text_struct("session_id", "variant", "found", "method"),
}
_IMPRESSION = "impression"
_ATTRIBUTES = ("team", "propensity", "grade")
EVENTS: dict[str, Any] = {
    **dict.fromkeys(("action_name", "query_id", "session_id", "timestamp"), pl.String),
    "event_attributes": pl.Struct(
        {
            "object": _text_struct("object_id"),
            "position": _text_struct("ordinal"),
            **dict.fromkeys(("dwell", "censored", *_ATTRIBUTES), pl.String),
        }
    ),
}


def read_ubi(
    queries: tuple[bytes, str], events: tuple[bytes, str] | None, click_actions: Sequence[str]
) -> SourceTables:
    """Read UBI queries and their events, from bytes and the names of their sources.

    The results of a page are the documents of its `impression` events with a position or, without
    such events, the hits of the query. Attributes beyond the standard are read where
    :meth:`QueryLog.write` writes them. Clicks are the events with one of the `click_actions`.
    Clicks without a query, and events that are neither clicks nor impressions, are counted.
    """
    raw = extract_documents(*queries, events=False)
    query_rows = read_records(raw, queries[1], "UBI queries", QUERIES)
    query_rows = query_rows.unnest("query_attributes")
    lines_without_id = query_rows.filter(pl.col("query_id").is_null())[LINE]
    if lines_without_id.len():
        raise InputError("has no query_id", source=queries[1], line=lines_without_id[0])
    is_empty = query_rows["user_query"].str.strip_chars().fill_null("") == ""
    if is_empty.any():
        # Category pages, for example, have no query.
        pages_text = counted(int(is_empty.sum()), "page")
        warn(
            f"{queries[1]}: {pages_text} with an empty user_query, read as '(no query)'",
            stacklevel=3,
        )
        texts = query_rows["user_query"].set(is_empty, "(no query)")
        query_rows = query_rows.with_columns(user_query=texts)
    event_rows = pl.DataFrame(schema=pl.Schema({**EVENTS, LINE: pl.Int64}))
    if events is not None and not is_blank(events[0]):
        raw = extract_documents(*events, events=True)
        event_rows = read_records(raw, events[1], "UBI events", EVENTS)
    # Browsers send events out of order, and a page may be shown again later.
    event_rows = event_rows.unnest("event_attributes").unnest("object", "position")
    event_rows = event_rows.with_columns(
        event_time=TIME.column("time", event_rows["timestamp"])[0]
    ).rename({"query_id": "page", "ordinal": "rank", "object_id": "doc", "timestamp": "time"})
    is_impression = pl.col("action_name") == _IMPRESSION
    is_click = pl.col("action_name").is_in(click_actions)
    has_page = pl.col("page").is_not_null()
    anomalies: tuple[Anomaly, ...] = ()
    if events is not None:
        ordinal = pl.col("rank").cast(pl.Int64, strict=False)
        if event_rows.select(((is_click | is_impression) & (ordinal == 0)).any()).item():
            warn(f"{events[1]}: ordinals count from 0, and are read as ranks from 1", stacklevel=3)
            rank = pl.coalesce((ordinal + 1).cast(pl.String), "rank")
            event_rows = event_rows.with_columns(rank=rank)
        _check_actions(event_rows, click_actions, events[1])
        n_without_page = event_rows.filter(is_click & ~has_page).height
        # Other events, such as purchases, are not part of a query log.
        n_other_events = event_rows.filter(~(is_click | is_impression).fill_null(False)).height
        anomalies = (
            Anomaly("clicks on no page", n_without_page, "excluded", events[1]),
            Anomaly("events of other kinds", n_other_events),
        )
    impressions = event_rows.filter(is_impression & has_page).drop_nulls(["rank", "doc"])
    impressions = impressions.sort("event_time", nulls_last=True, maintain_order=True)
    impressions = impressions.unique(["page", "rank", "doc"], keep="first", maintain_order=True)
    # A query that is recorded again, such as for a facet, has other hits.
    first_queries = query_rows.unique("query_id", keep="first", maintain_order=True)
    hits = first_queries.select(page="query_id", doc="query_response_hit_ids")
    hits = hits.join(impressions, on="page", how="anti").explode("doc").drop_nulls("doc")
    hits = hits.with_columns(rank=_RANKS.cast(pl.String))
    impressions = impressions.select("page", "rank", "doc", *_ATTRIBUTES)
    clicks = event_rows.filter(is_click & has_page).select(
        "page", "rank", "doc", "time", "dwell", "censored", LINE
    )
    sessions = event_rows.filter(has_page).drop_nulls("session_id")
    sessions = sessions.unique("page", keep="first", maintain_order=True)
    sessions = sessions.select(query_id="page", event_session="session_id")
    pages = query_rows.join(sessions, on="query_id", how="left", maintain_order="left").select(
        *("variant", "found", "method", LINE),
        id="query_id",
        query="user_query",
        user=pl.coalesce("user_id", "client_id"),
        session=pl.coalesce("session_id", "event_session"),
        time="timestamp",
    )
    return SourceTables(
        convert_frame(pages, PAGES, queries[1], may_be_empty=False),
        # Results come from two files, so their lines are unknown.
        convert_frame(pl.concat([hits, impressions], how="diagonal"), RESULTS, queries[1]),
        None if events is None else convert_frame(clicks, CLICKS, events[1]),
        anomalies,
    )


def _check_actions(events: pl.DataFrame, click_actions: Sequence[str], source: str) -> None:
    """Refuse events without clicks if other actions may be clicks under another name."""
    actions = events["action_name"].drop_nulls().value_counts(sort=True).rows()
    names = {name for name, _ in actions}
    if not names & {*click_actions} and names - {_IMPRESSION}:
        action_list = some_of([f"{quoted(name)} ({count:,})" for name, count in actions], 12)
        raise InputError(
            f"expected events with action_name {' or '.join(map(quoted, click_actions))}, got"
            f" {action_list}; set click_actions=... to the actions that are clicks",
            source=source,
        )


def read_yandex(raw: bytes, source: str) -> SourceTables:
    """Read records of the relevance prediction challenge of 2012, separated by tabs.

    A line is a query, `session time Q query region doc...`, or a click, `session time C doc`, which
    is on the last page of its session above it. Times count from the start of the session.
    """
    frame = _split_lines(raw, source).with_columns(pl.col("text").str.strip_chars_end("\r\n\t "))
    frame = frame.filter(pl.col("text") != "").with_columns(cells=pl.col("text").str.split("\t"))
    cell = pl.col("cells").list
    session, time, kind = (cell.get(k, null_on_oob=True) for k in range(3))
    frame = frame.with_columns(
        session=session.str.strip_chars(), time=time, kind=kind.str.strip_chars(), size=cell.len()
    )
    is_query, is_click = pl.col("kind") == "Q", pl.col("kind") == "C"
    is_valid = (is_query & (pl.col("size") >= 5)) | (is_click & (pl.col("size") == 4))
    line_format = "Yandex (session time Q query region doc…, or session time C doc)"
    _refuse_lines(frame, ~is_valid.fill_null(False), line_format, source)
    query_number = is_query.cast(pl.Int64).cum_sum()
    frame = frame.with_columns(page=pl.when(is_query).then(query_number))
    frame = frame.with_columns(page=pl.col("page").forward_fill().over("session"))
    queries = frame.filter(is_query)
    query_name = pl.concat_str(cell.get(3), cell.get(4), separator="_")
    pages = queries.select("session", "time", LINE, id="page", query=query_name)
    results = queries.select("page", LINE, doc=cell.slice(5)).explode("doc", empty_as_null=False)
    clicks = frame.filter(is_click).select("page", "time", LINE, doc=cell.get(3, null_on_oob=True))
    return _make_tables(pages, results.with_columns(rank=_RANKS), clicks, source)


def read_pyclick(raw: bytes, source: str) -> SourceTables:
    """Read pages `query TAB doc,doc,... : clicked doc , clicked doc`, separated by semicolons."""
    frame = _split_lines(raw, source).with_columns(pl.col("text").str.split(";")).explode("text")
    frame = frame.with_columns(pl.col("text").str.strip_chars()).filter(pl.col("text") != "")
    fields = pl.col("text").str.extract_groups(
        r"^(?<query>[^\t]*)\t(?<docs>[^\t:]*):(?<clicked_docs>[^\t:]*)$"
    )
    frame = frame.with_columns(fields.alias("fields")).unnest("fields")
    frame = frame.with_columns(page=pl.int_range(1, pl.len() + 1))
    line_format = "pages (query, tab, docs : clicked docs)"
    _refuse_lines(frame, frame["docs"].is_null(), line_format, source)

    def split_docs(name: str) -> pl.DataFrame:
        docs = pl.col(name).str.split(",").list.eval(pl.element().str.strip_chars())
        docs = pl.when(pl.col(name).str.strip_chars() != "").then(docs)
        return frame.select("page", LINE, doc=docs).explode("doc").drop_nulls("doc")

    pages, results = frame.select("query", LINE, id="page"), split_docs("docs")
    return _make_tables(
        pages, results.with_columns(rank=_RANKS), split_docs("clicked_docs"), source
    )


def _split_lines(raw: bytes, source: str) -> pl.DataFrame:
    text = decoded(raw, source)
    frame = pl.DataFrame({"text": [text]}).select(pl.col("text").str.split("\n")).explode("text")
    return frame.with_columns(pl.int_range(1, pl.len() + 1).alias(LINE))


def _refuse_lines(
    frame: pl.DataFrame, mask: pl.Expr | pl.Series, line_format: str, source: str
) -> None:
    for text, line in frame.filter(mask).select("text", LINE).head(1).rows():
        reason = f"expected a line of {line_format}, got {quoted(text)}"
        raise InputError(reason, source=source, line=line)


def _make_tables(
    pages: pl.DataFrame,
    results: pl.DataFrame,
    clicks: pl.DataFrame,
    source: str,
    may_be_empty: bool = False,
) -> SourceTables:
    return SourceTables(
        convert_frame(pages, PAGES, source, may_be_empty=may_be_empty),
        convert_frame(results, RESULTS, source),
        convert_frame(clicks, CLICKS, source),
    )
