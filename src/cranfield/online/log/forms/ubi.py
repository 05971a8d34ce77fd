"""User behaviour insights (UBI 1.3.0): queries with what they found, and events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.base.words import some_of
from cranfield.online.log import cells, tables
from cranfield.online.log.records import is_blank, numbered_records
from cranfield.sources.tables import Table


def _text(*names: str) -> pl.Struct:
    return pl.Struct(dict.fromkeys(names, pl.String))


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
) -> tuple[Table, Table, Table | None, dict[str, int]]:
    """Read queries, and events that belong to them, as bytes with the names of their sources.

    What a page showed are the documents of its `impression` events that say at which position, and
    where there are none, those that the query found. Attributes beyond the standard are read where
    :meth:`QueryLog.write` puts them. Clicks are the events with one of the `click_actions`. Also
    counts clicks of no query, and events that are neither clicks nor impressions.
    """
    asked = numbered_records(*queries, "UBI queries", QUERIES).unnest("query_attributes")
    nameless = asked.filter(pl.col("query_id").is_null())
    if nameless.height:
        raise InputError("has no query_id", source=queries[1], line=nameless["line"][0])
    done = pl.DataFrame(schema=pl.Schema(EVENTS)).with_columns(line=pl.lit(0, pl.Int64))
    if events is not None and not is_blank(events[0]):
        done = numbered_records(*events, "UBI events", EVENTS)
    done = done.unnest("event_attributes").unnest("object", "position")
    shown = pl.col("action_name") == _SHOWN
    clicked = pl.col("action_name").is_in(click_actions)
    if events is not None:
        _check_actions(done, click_actions, events[1])
    known = pl.col("query_id").is_not_null()
    ordered = pl.col("ordinal").is_not_null() & pl.col("object_id").is_not_null()
    odd = {
        "clicks on no page": done.filter(clicked & ~known).height,
        "events of other kinds": done.filter(~(clicked | shown).fill_null(False)).height,
    }
    of_event = {"page": pl.col("query_id"), "rank": pl.col("ordinal"), "doc": pl.col("object_id")}
    # Browsers send events out of order, and a page may be shown again later.
    done = done.with_columns(at=cells.TIME.column("at", done["timestamp"])[0])
    seen = done.filter(shown & known & ordered).sort("at", nulls_last=True, maintain_order=True)
    seen = seen.select("line", *_OF_RESULTS, **of_event)
    seen = seen.unique(["page", "rank", "doc"], keep="first", maintain_order=True)
    # A query that is recorded again, such as for a facet, has other hits.
    first = asked.unique("query_id", keep="first", maintain_order=True)
    found = first.join(seen.rename({"page": "query_id"}), on="query_id", how="anti")
    found = found.select("line", page="query_id", doc="query_response_hit_ids").explode("doc")
    found = found.drop_nulls("doc").with_columns(
        rank=pl.int_range(1, pl.len() + 1).over("page").cast(pl.String)
    )
    results = pl.concat([found, seen], how="diagonal")
    clicks = done.filter(clicked & known).select(
        "line", "dwell", "censored", **of_event, time="timestamp"
    )
    sessions = done.filter(known).drop_nulls("session_id")
    sessions = sessions.unique("query_id", keep="first", maintain_order=True)
    pages = asked.join(
        sessions.select("query_id", of_events="session_id"),
        on="query_id",
        how="left",
        maintain_order="left",
    ).select(
        *("variant", "found", "method", "line"),
        id="query_id",
        query="user_query",
        user=pl.coalesce("user_id", "client_id"),
        session=pl.coalesce("session_id", "of_events"),
        time="timestamp",
    )
    return (
        tables.table_of(pages, tables.PAGES, queries[1], empty=False),
        # Results stand in two files.
        tables.table_of(results.drop("line"), tables.RESULTS, queries[1]),
        None if events is None else tables.table_of(clicks, tables.CLICKS, events[1]),
        odd,
    )


def _check_actions(events: pl.DataFrame, clicks: Sequence[str], source: str) -> None:
    """Refuse events of which none is a click, but some may be clicks by another name."""
    number = events["action_name"].drop_nulls().value_counts(sort=True).rows()
    if not {name for name, _ in number} & {*clicks} and {name for name, _ in number} - {_SHOWN}:
        listed = some_of([f"{quoted(name)} ({times:,})" for name, times in number], 12)
        raise InputError(
            f"expected events with action_name {' or '.join(map(quoted, clicks))}, got {listed};"
            " name those that are clicks: click_actions=[...], --click-actions NAME,NAME",
            source=source,
        )
