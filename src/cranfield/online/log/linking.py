"""Link tables of pages, results and clicks to one log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.text import counted, some_of
from cranfield.online.log.query_log import (
    CLICK_TYPES,
    PAGE_TYPES,
    RESULT_TYPES,
    QueryLog,
    counted_things,
    typed,
)
from cranfield.sources.columns import Table
from cranfield.sources.values import NO_NAME


class Anomaly(NamedTuple):
    """A number of anomalous records; those of a source with a treatment are worth a warning."""

    what: str
    number: int
    treatment: str = ""
    source: str = ""


class Parts(NamedTuple):
    """Tables of a log, whose pages are named by their ids, and the anomalies in reading them."""

    pages: Table
    results: Table | None = None
    clicks: Table | None = None
    anomalies: tuple[Anomaly, ...] = ()


Linked = tuple[pl.DataFrame, list[Anomaly]]
"""A table of a log, and its anomalies."""


def linked(parts: Parts, on_anomaly: str, max_queries: int | None) -> QueryLog:
    """Make a log of tables whose pages are named by their ids, and warn of its anomalies."""
    refuse = on_anomaly == "refuse"
    pages, of_pages = _pages(parts.pages, refuse)
    place = pages.select("id", page=pl.int_range(pl.len(), dtype=pl.Int64))
    results, of_results = typed(None, RESULT_TYPES), list[Anomaly]()
    if parts.results is not None:
        is_repeated = pages.height < parts.pages.frame.height
        results, of_results = _results(parts.results, place, refuse, is_repeated)
        _check_any("results", parts.results, results, parts.pages)
    if not results.is_empty():
        number = pages.height - results["page"].n_unique()
        of_results.append(Anomaly("pages without results", number))
    clicks, of_clicks = typed(None, CLICK_TYPES), list[Anomaly]()
    if parts.clicks is not None:
        table = _each_click(parts.clicks)
        clicks, of_clicks = _clicks(table, place, pages, results, refuse)
        _check_any("clicks on results", table, clicks, parts.pages)
    anomalies = [*parts.anomalies, *of_pages, *of_results, *of_clicks]
    numbers: dict[str, int] = {}
    for anomaly in anomalies:
        if anomaly.number:
            numbers[anomaly.what] = numbers.get(anomaly.what, 0) + anomaly.number
    log = QueryLog(
        _filled(pages),
        _filled(results) if results.height else results.select("page", "rank", "doc"),
        _filled(clicks),
        parts.pages.source,
        numbers,
        has_clicks=parts.clicks is not None,
    )
    if max_queries is not None:
        log = _without_bots(log, max_queries)
    treated = {one.what: one for one in anomalies if one.number and one.treatment}
    for what, anomaly in treated.items():
        number_of_them = counted_things(numbers[what], what)
        warn(f"{anomaly.source}: {number_of_them}, {anomaly.treatment}", stacklevel=3)
    return log


def _check_any(what: str, table: Table, rows: pl.DataFrame, pages: Table) -> None:
    """Refuse a table of which no row is on a page of the log, or on a result of one."""
    if table.frame.height and rows.is_empty():
        page, row = quoted(pages.frame["id"][0]), table.frame.row(0, named=True)
        place = f"page {quoted(row['page'])}"
        if row.get("doc") is not None:
            place = f"document {quoted(row['doc'])} of {place}"
        elif row.get("rank") is not None:
            place = f"rank {row['rank']} of {place}"
        raise InputError(
            f"expected {what} on pages of {pages.source}, such as page {page}, got none; the first"
            f" of {table.frame.height:,} is on {place}",
            source=table.source,
        )


def _filled(frame: pl.DataFrame) -> pl.DataFrame:
    """Drop optional columns without any value, as if they were not there."""
    needed = {"id", "query", "page", "rank", "doc"}
    empty = [one.name for one in frame if one.null_count() == frame.height]
    return frame.drop(set(empty) - needed) if frame.height else frame


def _own_columns(table: Table) -> pl.DataFrame:
    """Drop the optional columns that the source does not have."""
    return table.frame.drop(set(table.frame.columns) - {"page", "rank", "doc", *table.names})


def placed(frame: pl.DataFrame, place: pl.DataFrame) -> pl.DataFrame:
    """Replace page ids by rows of pages; null for unknown pages."""
    # Pages mostly stand together, and then one look-up is enough for all their rows.
    run = frame["page"].rle_id()
    heads = frame["page"].filter(run != run.shift(1, fill_value=2**32 - 1))
    if heads.equals(place["id"]):
        return frame.with_columns(page=run.cast(pl.Int64))
    rows = heads.to_frame().join(
        place, left_on="page", right_on="id", how="left", maintain_order="left", suffix="_row"
    )
    return frame.with_columns(page=rows["page_row"].gather(run))


def _keys(frame: pl.DataFrame) -> pl.Series:
    """Return page and rank as one number."""
    return frame["page"] * 2**32 + frame["rank"].cast(pl.Int64)


def repeated_rows(frame: pl.DataFrame) -> pl.Series:
    """Return which rows are equal to an earlier one."""
    hashes = frame.hash_rows()
    # Sorted, comparing them is several times as fast as grouping them.
    ordered = hashes.sort()
    several = ordered.filter(ordered == ordered.shift(1))
    some = hashes.is_in(several.implode())
    if several.is_empty():
        return some
    first = frame.filter(some).select(pl.struct(pl.all()).is_first_distinct()).to_series()
    return some.scatter(some.arg_true(), ~first)


def _pages(table: Table, refuse: bool) -> Linked:
    frame = typed(table.frame.select(table.names), PAGE_TYPES)
    again = ~frame["id"].is_first_distinct()
    if refuse:
        first = "; on_anomaly='count' keeps the first record"
        table.refuse(again, lambda row: f"page {quoted(row['id'])} occurs twice{first}")
    kept = "the first record is kept"
    anomalies = [Anomaly("pages recorded twice", int(again.sum()), kept, table.source)]
    frame = frame.filter(~again)
    if "user" in frame.columns:
        unknown = frame["user"].str.to_lowercase().is_in([*NO_NAME])
        if names := frame["user"].filter(unknown).unique().sort().to_list():
            called = f"pages of users called {some_of(map(quoted, names), 3)}"
            number = int(unknown.sum())
            anomalies.append(Anomaly(called, number, "each name counts as one user", table.source))
    if {"user", "variant"} <= {*frame.columns}:
        pairs = frame.select("user", "variant").drop_nulls().unique()
        several = pairs["user"].filter(pairs["user"].is_duplicated()).n_unique()
        anomalies.append(Anomaly("users in two variants", several))
    stream = next((name for name in ("session", "user") if name in frame.columns), None)
    if "time" in frame.columns and stream is not None and not frame["time"].is_sorted():
        back = pl.col("time") < pl.col("time").forward_fill().shift(1).over(stream)
        number = frame.filter(pl.col(stream).is_not_null()).select(back.sum()).item()
        anomalies.append(Anomaly("pages out of chronological order", int(number)))
    return frame, anomalies


def _results(table: Table, place: pl.DataFrame, refuse: bool, is_repeated: bool) -> Linked:
    """Return results by page and rank; `is_repeated`: whether a page was recorded twice."""
    if "rank" not in table.names and is_repeated:
        reason = "expected ranks, by which repeated records of a page are recognised"
        raise InputError(reason, source=table.source)
    table, anomalies = first_records(table, refuse)
    frame = placed(_own_columns(table), place)
    if "rank" not in table.names:
        frame = frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("page"))
    table.refuse(frame["rank"].is_null(), lambda row: "has no rank")
    lost = frame["page"].null_count()
    frame = typed(frame, RESULT_TYPES).drop_nulls("page")
    if not _keys(frame).is_sorted():
        frame = frame.sort("page", "rank", maintain_order=True)
    twice = repeated_rows(frame.select("page", "doc"))
    anomalies += [
        Anomaly("results of no page", lost, "excluded", table.source),
        Anomaly("documents repeated on a page", int(twice.sum())),
    ]
    return frame, anomalies


def first_records(
    table: Table, refuse: bool, *, drop_doubled: bool = True
) -> tuple[Table, list[Anomaly]]:
    """Keep the first record of each page in a table of results, and count the other rows.

    The rows of a page, in the order of the table, are a second record from the first repeated rank
    on; of results without ranks, from the first repeated document on. A row that repeats the one
    above it is the same result logged twice, which a flat table keeps for its clicks.
    """
    key = "rank" if "rank" in table.names else "doc"
    page = pl.col("page").cast(pl.Categorical).to_physical().cast(pl.Int64)
    frame = table.frame.select("doc", page=page, key=key)
    # A page may have results and a row without any.
    empty_pages = frame["page"].filter(frame["doc"].is_null())
    rows_of_these = frame["page"].is_in(empty_pages.unique().implode()).sum()
    is_mixed = rows_of_these > empty_pages.n_unique()
    if not (is_mixed or repeated_rows(frame.select("page", "key")).any()):
        return table, []
    empty = pl.col("doc").is_null()
    above = pl.struct(pl.all()).shift(1).over("page")
    frame = frame.with_columns(
        doubled=pl.struct(pl.all()).eq_missing(above),
        # A page without results that has some in another row was recorded again.
        again=~pl.struct("page", "key").is_first_distinct() | empty | empty.shift(1).over("page"),
        first=pl.int_range(pl.len()).over("page") == 0,
    )
    starts = pl.col("again") & ~pl.col("doubled") & ~pl.col("first")
    repeated = frame.select(starts.cast(pl.Int64).cum_sum().over("page") > 0).to_series()
    doubled = frame["doubled"] & ~repeated
    if refuse:
        table.refuse(repeated | doubled, lambda row: _repeated_reason(row, key))
    doubled &= drop_doubled
    record = "results of a repeated record of their page"
    anomalies = [
        Anomaly("results logged twice", int(doubled.sum()), "excluded", table.source),
        Anomaly(record, int(repeated.sum()), "excluded", table.source),
    ]
    return table.gather((~(repeated | doubled)).arg_true()), anomalies


def _repeated_reason(row: dict[str, Any], key: str) -> str:
    page = quoted(row["page"])
    if row["doc"] is None:
        return f"page {page} occurs twice"
    if key == "rank":
        return f"rank {row['rank']} twice on page {page}"
    return f"document {quoted(row['doc'])} twice on page {page}, whose results have no ranks"


def _each_click(table: Table) -> Table:
    """Make a row of each click, if a column counts the clicks of rows."""
    if "clicks" not in table.names:
        return table
    row = pl.int_range(table.frame.height, eager=True).repeat_by(table.frame["clicks"].fill_null(0))
    row = row.explode().drop_nulls()
    own = [name for name in ("time", "end", "dwell", "censored") if name in table.frame.columns]
    every = table.gather(row)
    # The time and the dwell of a row are those of its first click.
    frame = every.frame.with_columns(pl.when(row.is_first_distinct()).then(pl.col(own)))
    return replace(every, frame=frame)


def _clicks(
    table: Table, place: pl.DataFrame, pages: pl.DataFrame, results: pl.DataFrame, refuse: bool
) -> Linked:
    """Return clicks on results, by page and time."""
    source = table.source
    if not {"rank", "doc"} & {*table.names}:
        raise InputError("has neither a rank nor a doc column", source=source)
    nowhere = table.frame["rank"].is_null() & table.frame["doc"].is_null()
    table.refuse(nowhere, lambda row: "a click names neither a rank nor a document")
    frame = _with_dwell(placed(_own_columns(table), place))
    anomalies = [Anomaly("clicks on no page", frame["page"].null_count(), "excluded", source)]
    has_times = "time" in frame.columns
    if has_times and "time" in pages.columns:
        early = (frame["time"] < pages["time"].gather(frame["page"])).fill_null(False)
        if refuse:
            table.refuse(early, lambda row: f"a click before its page {quoted(row['page'])}")
        unknown = "their times are treated as unknown"
        anomalies.append(Anomaly("clicks before their page", int(early.sum()), unknown, source))
        frame = frame.with_columns(time=pl.when(~early).then(pl.col("time")))
    frame, of_results = _on_results(frame.drop_nulls("page"), results, source)
    anomalies += of_results
    if has_times:
        twice = repeated_rows(frame) & frame["time"].is_not_null()
        anomalies.append(Anomaly("clicks logged twice", int(twice.sum()), "excluded", source))
        frame = frame.filter(~twice)
    repeated = frame.height - _keys(frame).n_unique()
    anomalies.append(Anomaly("clicks on a result that was clicked before", repeated))
    if "dwell" in frame.columns:
        anomalies.append(Anomaly("clicks of unknown dwell", frame["dwell"].null_count()))
    # A click without a time stays behind the one that stands before it.
    at = [pl.col("time").forward_fill().over("page")] if has_times else []
    return typed(frame, CLICK_TYPES).sort("page", *at, maintain_order=True), anomalies


def _with_dwell(frame: pl.DataFrame) -> pl.DataFrame:
    """Compute how long results were read; a dwell of 0 or less is unknown."""
    dwell = pl.col("dwell")
    if "dwell" not in frame.columns and {"time", "end"} <= {*frame.columns}:
        dwell = (pl.col("end") - pl.col("time")).dt.total_microseconds() / 1e6
    elif "dwell" not in frame.columns:
        return frame.drop("end", strict=False)
    return frame.with_columns(dwell=pl.when(dwell > 0).then(dwell)).drop("end", strict=False)


def _on_results(frame: pl.DataFrame, results: pl.DataFrame, source: str) -> Linked:
    """Find the result of each click by its document, or else by its rank."""
    if results.is_empty():
        if frame["rank"].null_count():
            raise InputError("clicks without ranks require a table of results", source=source)
        return frame, []
    numbered = results.select("page", "rank", "doc", row=pl.int_range(pl.len(), dtype=pl.Int64))
    row = _rows_at(frame, numbered, "rank")
    other = frame["doc"].is_not_null() & frame["doc"].ne_missing(results["doc"].gather(row))
    if other.any():
        row = row.scatter(other.arg_true(), _rows_at(frame.filter(other), numbered, "doc"))
    moved = int((other & frame["rank"].is_not_null() & row.is_not_null()).sum())
    frame = frame.with_columns(rank=results["rank"].gather(row), doc=results["doc"].gather(row))
    taken = "counted as clicks on the document"
    anomalies = [
        Anomaly("clicks whose rank has another document", moved, taken, source),
        Anomaly("clicks on no result", frame["rank"].null_count(), "excluded", source),
    ]
    return frame.drop_nulls("rank"), anomalies


def _rows_at(clicks: pl.DataFrame, results: pl.DataFrame, key: str) -> pl.Series:
    """Find the highest result of each click that has its rank or document; null where none has."""
    keys = ["page", key]
    some = results.join(clicks, on=keys, how="semi", maintain_order="left")
    first = some.unique(keys, keep="first", maintain_order=True).select(*keys, "row")
    return clicks.join(first, on=keys, how="left", maintain_order="left")["row"]


def _without_bots(log: QueryLog, limit: int) -> QueryLog:
    """Drop users, or sessions where there are no users, with too many queries."""
    unit = next((name for name in ("user", "session") if name in log.pages.columns), None)
    if unit is None:
        raise InputError("max_queries requires the user or the session of pages", source=log.source)
    many = (pl.len().over(unit) > limit) & pl.col(unit).is_not_null()
    bots = log.pages.select(many).to_series()
    if not bots.any():
        return log
    if bots.all():
        raise InputError(f"no {unit} has {counted(limit, 'page')} or fewer", source=log.source)
    what = f"pages of {unit}s with more than {counted(limit, 'page')}"
    return replace(log.where(~bots), anomalies={**log.anomalies, what: int(bots.sum())})
