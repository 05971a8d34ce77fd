"""Write a log so that it is read back the same."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

import polars as pl

from cranfield.base.checks import check_choice
from cranfield.base.errors import InputError
from cranfield.collection.files.writing import write_table

FORMATS = ("csv", "parquet", "jsonl", "ubi")
"""Formats in which logs are written."""

_TIME = "%Y-%m-%dT%H:%M:%S%.6fZ"


def write_tables(
    pages: pl.DataFrame,
    results: pl.DataFrame,
    clicks: pl.DataFrame | None,
    folder: str | PathLike[str],
    form: str,
) -> None:
    """Write the tables of a log into a folder; `page` of results and clicks is a row of pages.

    clicks: None where the log does not tell of any, so that it is read back without.
    """
    check_choice("format", form, FORMATS)
    given = {"results": results if results.height or form == "ubi" else None, "clicks": clicks}
    named = {
        name: frame.with_columns(page=pages["id"].gather(frame["page"]))
        for name, frame in given.items()
        if frame is not None
    }
    if form == "ubi":
        tables = _ubi(pages, **named)
    else:
        tables = {"pages": pages.rename({"id": "page"}), **named}
    target = Path(fspath(folder))
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"cannot be made: {reason}", source=str(target)) from error
    suffix = "jsonl" if form == "ubi" else form
    times = [] if form == "parquet" else [pl.col(pl.Datetime).dt.strftime(_TIME)]
    for name, table in tables.items():
        write_table(table.with_columns(times), target / f"{name}.{suffix}", suffix)


def _ubi(
    pages: pl.DataFrame, results: pl.DataFrame, clicks: pl.DataFrame | None = None
) -> dict[str, pl.DataFrame]:
    """Make queries, and events of clicks and of all that the list of found documents cannot say."""
    hits = results.group_by("page", maintain_order=True).agg("doc", "rank")
    counted = pl.col("rank") == pl.int_ranges(1, pl.col("rank").list.len() + 1, dtype=pl.Int32)
    plain = bool(hits.select(counted.all()).item()) and results.columns == ["page", "rank", "doc"]
    queries = pages.join(hits, left_on="id", right_on="page", how="left", maintain_order="left")
    of_query = {
        "query_id": "id",
        "user_query": "query",
        "client_id": "user",
        "timestamp": "time",
        "query_response_hit_ids": "doc",
    }
    inside = {"session_id": "session", "variant": "variant", "found": "found", "method": "method"}
    there = {new: old for new, old in inside.items() if old in pages.columns}
    attributes = [pl.col(old).alias(new) for new, old in there.items()]
    asked = queries.select(
        *(pl.col(old).alias(new) for new, old in of_query.items() if old in queries.columns),
        *([pl.struct(attributes).alias("query_attributes")] if attributes else []),
    ).with_columns(pl.col("query_response_hit_ids").fill_null([]))
    events = [] if plain else [_events(results, "impression", pages)]
    events += [] if clicks is None else [_events(clicks, "click", pages)]
    if not events:
        return {"ubi_queries": asked}
    return {"ubi_queries": asked, "ubi_events": pl.concat(events, how="diagonal_relaxed")}


def _events(rows: pl.DataFrame, action: str, pages: pl.DataFrame) -> pl.DataFrame:
    """Make an event of each result or click; what is no part of the standard is an attribute."""
    own = [name for name in rows.columns if name not in {"page", "rank", "doc", "time"}]
    given = [name for name in ("session", "time") if name in pages.columns]
    rows = rows.join(
        pages.select("id", *(pl.col(name).alias(f"page_{name}") for name in given)),
        left_on="page",
        right_on="id",
        how="left",
        maintain_order="left",
    )
    at = "time" if action == "click" else "page_time"
    attributes = pl.struct(
        pl.struct(object_id="doc").alias("object"),
        pl.struct(ordinal="rank").alias("position"),
        *own,
    )
    return rows.select(
        pl.lit(action).alias("action_name"),
        pl.col("page").alias("query_id"),
        *([pl.col("page_session").alias("session_id")] if "session" in given else []),
        *([pl.col(at).alias("timestamp")] if at in rows.columns else []),
        attributes.alias("event_attributes"),
    )
