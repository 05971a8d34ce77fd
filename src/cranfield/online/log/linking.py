"""Link tables of pages, results and clicks into one log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from cranfield.base.errors import InputError, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.online.log.query_log import (
    CLICK_TYPES,
    PAGE_TYPES,
    RESULT_TYPES,
    QueryLog,
    cast_columns,
    format_count,
)
from cranfield.sources.columns import Table
from cranfield.sources.values import NO_USER


class Anomalies:
    """Numbers of anomalous records by kind, and warnings about anomalies that change the log."""

    def __init__(self, is_strict: bool) -> None:
        # Whether repeated records, early clicks and sessions of several users are errors
        self.is_strict = is_strict
        self.has_mixed_users = False  # Whether users have another id before they log in
        self.counts: dict[str, int] = {}
        self.warnings: dict[str, str] = {}

    def add(
        self, kind: str, records: int | pl.Series, source: str = "", treatment: str = ""
    ) -> None:
        """Add a number or a mask of records; a warning reports them if there is a treatment."""
        if n_records := int(records if isinstance(records, int) else records.sum()):
            self.counts[kind] = self.counts.get(kind, 0) + n_records
            if treatment:
                phrase = format_count(self.counts[kind], kind)
                self.warnings[kind] = f"{source}: {phrase}, {treatment}"


class SourceTables(NamedTuple):
    """Tables of a log, linked by the ids of pages."""

    pages: Table
    results: Table | None = None
    clicks: Table | None = None


def link_tables(tables: SourceTables, anomalies: Anomalies, max_pages: int | None) -> QueryLog:
    """Link tables into one log, and warn about its anomalies."""
    pages = _check_pages(tables.pages, anomalies)
    results, clicks = cast_columns(None, RESULT_TYPES), cast_columns(None, CLICK_TYPES)
    if tables.results is not None:
        has_repeated_pages = pages.height < tables.pages.frame.height
        results = _check_results(tables.results, pages, has_repeated_pages, anomalies)
        _check_overlap("results", tables.results, results, tables.pages)
    if tables.clicks is not None:
        table = tables.clicks
        if "clicks" in table.names:
            # Each row is repeated as often as its number of clicks.
            click_counts = table.frame["clicks"].fill_null(0)
            rows = pl.int_range(table.frame.height, eager=True).repeat_by(click_counts)
            table = table.gather(rows := rows.explode().drop_nulls())
            time_names = {"time", "end", "dwell", "censored"} & {*table.frame.columns}
            # The time and the dwell of a row belong to its first click.
            first_values = pl.when(rows.is_first_distinct()).then(pl.col(sorted(time_names)))
            table = replace(table, frame=table.frame.with_columns(first_values))
        clicks = _check_clicks(table, pages, results, anomalies)
        _check_overlap("clicks on results", table, clicks, tables.pages)
    log = QueryLog(
        _drop_empty_columns(pages),
        _drop_empty_columns(results) if results.height else results.select("page", "rank", "doc"),
        _drop_empty_columns(clicks),
        tables.pages.source,
        anomalies.counts,
        has_clicks=tables.clicks is not None,
    )
    if max_pages is not None:
        log = _exclude_robots(log, max_pages, anomalies)
    _add_anomalies(log, anomalies, not results.is_empty(), "dwell" in clicks.columns)
    for warning in anomalies.warnings.values():
        warn(warning)
    return log


def _add_anomalies(log: QueryLog, anomalies: Anomalies, has_results: bool, has_dwell: bool) -> None:
    """Count the anomalous pages, results and clicks that remain in a log."""
    pages, results, clicks = log.pages, log.results, log.clicks
    if {"user", "variant"} <= {*pages.columns}:
        users = pages.select("user", "variant").drop_nulls().unique()["user"]
        anomalies.add("users in several variants", users.filter(users.is_duplicated()).n_unique())
    unit = next((name for name in ("session", "user") if name in pages.columns), None)
    if "time" in pages.columns and unit is not None and not pages["time"].is_sorted():
        is_earlier = pl.col("time") < pl.col("time").forward_fill().shift(1).over(unit)
        unit_pages = pages.filter(pl.col(unit).is_not_null())
        anomalies.add("pages out of chronological order", unit_pages.select(is_earlier)["time"])
    anomalies.add("documents repeated on a page", mask_repeated_rows(results.select("page", "doc")))
    if has_results:
        anomalies.add("pages without results", pages.height - results["page"].n_unique())
    n_repeated = clicks.height - _encode_positions(clicks).n_unique()
    anomalies.add("clicks on a result that was clicked before", n_repeated)
    if has_dwell:
        n_unknown = clicks["dwell"].null_count() if "dwell" in clicks.columns else clicks.height
        anomalies.add("clicks with unknown dwell time", n_unknown)


def _check_overlap(contents: str, table: Table, rows: pl.DataFrame, pages: Table) -> None:
    """Refuse a table if none of its rows was linked to a page or result of the log."""
    if table.frame.height and rows.is_empty():
        row = table.frame.row(0, named=True)
        location = f"page {quote(row['page'])}"
        if row.get("doc") is not None:
            location = f"document {quote(row['doc'])} of {location}"
        elif row.get("rank") is not None:
            location = f"rank {row['rank']} of {location}"
        expected = f"{contents} on pages of {pages.source}, such as page"
        first = f"the first of {inflect(table.frame.height, 'row')} is on {location}"
        reason = f"expected {expected} {quote(pages.frame['id'][0])}, got none; {first}"
        raise InputError(reason, source=table.source)


def _drop_empty_columns(frame: pl.DataFrame) -> pl.DataFrame:
    empty_columns = {column.name for column in frame if frame.height == column.null_count() > 0}
    return frame.drop(empty_columns - {"id", "query", "page", "rank", "doc"})


def _select_columns(table: Table) -> pl.DataFrame:
    return table.frame.drop(set(table.frame.columns) - {"page", "rank", "doc", *table.names})


def number_pages(frame: pl.DataFrame, pages: pl.DataFrame) -> pl.DataFrame:
    """Replace page ids by row numbers of the table of pages; null for unknown pages."""
    page_rows = pages.select(page="id", row=pl.int_range(pl.len(), dtype=pl.Int64))
    # Rows of a page are mostly adjacent, so one look-up serves all of them.
    group = frame["page"].rle_id()
    group_ids = frame["page"].filter(group != group.shift(1, fill_value=2**32 - 1))
    if group_ids.equals(page_rows["page"]):
        return frame.with_columns(page=group.cast(pl.Int64))
    rows = group_ids.to_frame().join(page_rows, on="page", how="left", maintain_order="left")
    return frame.with_columns(page=rows["row"].gather(group))


def _encode_positions(frame: pl.DataFrame) -> pl.Series:
    return frame["page"] * 2**32 + frame["rank"].cast(pl.Int64)


def mask_repeated_rows(frame: pl.DataFrame) -> pl.Series:
    """Return a mask of rows that equal an earlier row."""
    hashes = frame.hash_rows()
    # Sorting hashes is several times faster than grouping them.
    sorted_hashes = hashes.sort()
    duplicates = sorted_hashes.filter(sorted_hashes == sorted_hashes.shift(1))
    is_candidate = hashes.is_in(duplicates.implode())
    if duplicates.is_empty():
        return is_candidate
    candidates = frame.filter(is_candidate)
    is_first = candidates.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    return is_candidate.scatter(is_candidate.arg_true(), ~is_first)


def _check_pages(table: Table, anomalies: Anomalies) -> pl.DataFrame:
    frame = cast_columns(table.frame.select(table.names), PAGE_TYPES)
    is_repeated = ~frame["id"].is_first_distinct()
    if anomalies.is_strict:
        remedy = "; on_anomaly='count' keeps the first record"
        table.refuse(is_repeated, lambda row: f"page {quote(row['id'])} is repeated{remedy}")
    anomalies.add("pages recorded twice", is_repeated, table.source, "the first record is kept")
    frame = frame.filter(~is_repeated)
    if "user" in frame.columns:
        is_unnamed = frame["user"].str.to_lowercase().is_in([*NO_USER])
        names = frame["user"].filter(is_unnamed).unique().sort().to_list()
        kind = f"pages of users named {list_some(map(quote, names), 3)}"
        anomalies.add(kind, is_unnamed, table.source, "each name counts as one user")
    if {"user", "session"} <= {*frame.columns} and not anomalies.has_mixed_users:
        frame = _separate_sessions(frame, table, anomalies)
    return frame


def _separate_sessions(frame: pl.DataFrame, table: Table, anomalies: Anomalies) -> pl.DataFrame:
    """Refuse or separate sessions of several users, such as numbers that restart by user."""
    # A user may log in during a session.
    is_named = ~pl.col("user").str.to_lowercase().is_in([*NO_USER])
    is_known = is_named & pl.col("session").is_not_null()
    users = frame.select("session", user=pl.when(is_known).then(pl.col("user")))
    first_user = users.select(pl.col("user").drop_nulls().first().over("session"))["user"]
    is_other = (users["user"] != first_user).fill_null(False)
    if anomalies.is_strict:
        user_of_session = dict(zip(users["session"], first_user, strict=True))
        remedy = "; on_anomaly='count' counts a session for each user"
        table.refuse(
            is_other,
            lambda row: (
                f"session {quote(row['session'])} has more than one user:"
                f" {quote(user_of_session[row['session']])} and {quote(row['user'])}{remedy}"
            ),
        )
    treatment = "counted as separate sessions of their users"
    anomalies.add("pages in the session of another user", is_other, table.source, treatment)
    user_session = pl.concat_str("user", "session", separator="-")
    return frame.with_columns(session=pl.when(is_other).then(user_session).otherwise("session"))


def _check_results(
    table: Table, pages: pl.DataFrame, has_repeated_pages: bool, anomalies: Anomalies
) -> pl.DataFrame:
    """Return results by page and rank; ranks are required if pages were recorded twice."""
    if "rank" not in table.names and has_repeated_pages:
        reason = "requires a column rank, because the table of pages has repeated pages"
        raise InputError(reason, source=table.source)
    table = keep_first_records(table, anomalies)
    frame = number_pages(_select_columns(table), pages)
    if "rank" not in table.names:
        frame = frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("page"))
    table.refuse(frame["rank"].is_null(), lambda row: "has no rank")
    n_unknown = frame["page"].null_count()
    anomalies.add("results without a known page", n_unknown, table.source, "excluded")
    frame = cast_columns(frame, RESULT_TYPES).drop_nulls("page")
    if not _encode_positions(frame).is_sorted():
        frame = frame.sort("page", "rank", maintain_order=True)
    return frame


def keep_first_records(
    table: Table, anomalies: Anomalies, *, drop_duplicates: bool = True
) -> Table:
    """Keep the first record of each page in a table of results, and count the other rows."""
    # The second record of a page starts at its first repeated rank or, without ranks, at its first
    # repeated document. A row that repeats the row above it is a duplicate, but in a flat table it
    # may have its own click.
    key = "rank" if "rank" in table.names else "doc"
    page = pl.col("page").cast(pl.Categorical).to_physical().cast(pl.Int64)
    frame = table.frame.select("doc", page=page, key=key)
    # A page may have both rows with results and a row without.
    empty_pages = frame["page"].filter(frame["doc"].is_null())
    n_rows = frame["page"].is_in(empty_pages.unique().implode()).sum()
    is_mixed = n_rows > empty_pages.n_unique()
    if not (is_mixed or mask_repeated_rows(frame.select("page", "key")).any()):
        return table
    is_empty = pl.col("doc").is_null()
    previous_row = pl.struct(pl.all()).shift(1).over("page")
    is_repeated_key = ~pl.struct("page", "key").is_first_distinct()
    frame = frame.with_columns(
        is_duplicate=pl.struct(pl.all()).eq_missing(previous_row),
        # A page with both results and a row without a result was recorded again.
        is_new_record=is_repeated_key | is_empty | is_empty.shift(1).over("page"),
        is_first=pl.int_range(pl.len()).over("page") == 0,
    )
    is_restart = pl.col("is_new_record") & ~pl.col("is_duplicate") & ~pl.col("is_first")
    is_repeated = frame.select(is_restart.cast(pl.Int64).cum_sum().over("page") > 0).to_series()
    is_duplicate = frame["is_duplicate"] & ~is_repeated
    if anomalies.is_strict:

        def describe_repeat(row: dict[str, Any]) -> str:
            page, doc = f"page {quote(row['page'])}", row["doc"]
            if doc is None:
                return f"{page} is repeated"
            if key == "rank":
                return f"{page} has rank {row['rank']} more than once"
            return f"{page} has document {quote(doc)} more than once, and results without ranks"

        table.refuse(is_repeated | is_duplicate, describe_repeat)
    is_duplicate &= drop_duplicates
    kind = "results of a page in its second or later record"
    anomalies.add("results logged twice", is_duplicate, table.source, "excluded")
    anomalies.add(kind, is_repeated, table.source, "excluded")
    return table.gather((~(is_repeated | is_duplicate)).arg_true())


_MAX_MEDIAN_DWELL = 3600.0  # Median dwell in seconds above which it may be in milliseconds


def _check_clicks(
    table: Table, pages: pl.DataFrame, results: pl.DataFrame, anomalies: Anomalies
) -> pl.DataFrame:
    source = table.source
    if not {"rank", "doc"} & {*table.names}:
        raise InputError("expected a column rank or a column doc, got neither", source=source)
    has_no_key = table.frame["rank"].is_null() & table.frame["doc"].is_null()
    table.refuse(has_no_key, lambda row: "expected a rank or a document, got neither")
    frame = number_pages(_select_columns(table), pages)
    if "dwell" not in frame.columns and {"time", "end"} <= {*frame.columns}:
        seconds = (pl.col("end") - pl.col("time")).dt.total_microseconds() / 1e6
        frame = frame.with_columns(dwell=seconds)
    frame = frame.drop("end", strict=False)
    if "dwell" in frame.columns:
        median: Any = frame["dwell"].median()
        if "dwell" in table.names and median is not None and median > _MAX_MEDIAN_DWELL:
            note = f"dwell must be in seconds, but its median is {median:,.0f}"
            warn(f"{source}: {note}; divide milliseconds by 1000")
        # A dwell of 0 or less is unknown.
        frame = frame.with_columns(dwell=pl.when(pl.col("dwell") > 0).then(pl.col("dwell")))
    anomalies.add("clicks without a known page", frame["page"].null_count(), source, "excluded")
    has_times = "time" in frame.columns
    if has_times and "time" in pages.columns:
        is_early = (frame["time"] < pages["time"].gather(frame["page"])).fill_null(False)
        if anomalies.is_strict:
            problem = "expected no click before its page view, got a click before page"
            remedy = "; on_anomaly='count' treats its time as unknown"
            table.refuse(is_early, lambda row: f"{problem} {quote(row['page'])}{remedy}")
        treatment = "their times are treated as unknown"
        anomalies.add("clicks before their page", is_early, source, treatment)
        frame = frame.with_columns(time=pl.when(~is_early).then(pl.col("time")))
    frame = _match_results(frame.drop_nulls("page"), results, source, anomalies)
    if has_times:
        is_copy = mask_repeated_rows(frame) & frame["time"].is_not_null()
        anomalies.add("clicks logged twice", is_copy, source, "excluded")
        frame = frame.filter(~is_copy)
    # A click without a time stays after the click that precedes it in the source.
    time_keys = [pl.col("time").forward_fill().over("page")] if has_times else []
    return cast_columns(frame, CLICK_TYPES).sort("page", *time_keys, maintain_order=True)


def _match_results(
    frame: pl.DataFrame, results: pl.DataFrame, source: str, anomalies: Anomalies
) -> pl.DataFrame:
    """Find the result of each click by its document or, without one, by its rank."""
    if results.is_empty():
        if frame["rank"].null_count():
            raise InputError("clicks without ranks require a table of results", source=source)
        return frame
    result_rows = results.select("page", "rank", "doc", row=pl.int_range(pl.len(), dtype=pl.Int64))
    rows = _match_rows(frame, result_rows, "rank")
    result_docs = results["doc"].gather(rows)
    is_other_document = frame["doc"].is_not_null() & frame["doc"].ne_missing(result_docs)
    if is_other_document.any():
        doc_rows = _match_rows(frame.filter(is_other_document), result_rows, "doc")
        rows = rows.scatter(is_other_document.arg_true(), doc_rows)
    is_moved = is_other_document & frame["rank"].is_not_null() & rows.is_not_null()
    treatment = "counted at the rank of the document"
    anomalies.add("clicks whose document is at another rank", is_moved, source, treatment)
    frame = frame.with_columns(rank=results["rank"].gather(rows), doc=results["doc"].gather(rows))
    anomalies.add("clicks without a known result", frame["rank"].null_count(), source, "excluded")
    return frame.drop_nulls("rank")


def _match_rows(clicks: pl.DataFrame, results: pl.DataFrame, key: str) -> pl.Series:
    """Return the row of the first result with the rank or document of each click, or null."""
    keys = ["page", key]
    matches = results.join(clicks, on=keys, how="semi", maintain_order="left")
    first_matches = matches.unique(keys, keep="first", maintain_order=True).select(*keys, "row")
    return clicks.join(first_matches, on=keys, how="left", maintain_order="left")["row"]


def _exclude_robots(log: QueryLog, max_pages: int, anomalies: Anomalies) -> QueryLog:
    """Exclude users (or sessions, if users are unknown) with too many pages, as robots."""
    unit = next((name for name in ("user", "session") if name in log.pages.columns), None)
    if unit is None:
        raise InputError("max_pages requires a column user or session", source=log.source)
    has_many = (pl.len().over(unit) > max_pages) & pl.col(unit).is_not_null()
    is_robot = log.pages.select(has_many).to_series()
    if not is_robot.any():
        return log
    page_limit = inflect(max_pages, "page")
    if is_robot.all():
        reason = f"each {unit} has more than {page_limit}, so max_pages excludes all pages"
        raise InputError(reason, source=log.source)
    anomalies.add(f"pages of {unit}s with more than {page_limit}", is_robot)
    return replace(log.select_pages(~is_robot), anomalies=log.anomalies)
