"""Query logs: pages that users saw, the results on them, and clicks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Indices
from cranfield.base.errors import InputError, PolicyError, check_choice, quote
from cranfield.base.files import make_folder
from cranfield.base.showing import PlotsMixin
from cranfield.base.text import inflect
from cranfield.collection.files.writing import write_table
from cranfield.online.log.cells import CLICKS, PAGES, RESULTS, UTC
from cranfield.sources.schemas import Schema
from cranfield.tabular import render_frame

FORMATS = ("csv", "parquet", "jsonl", "ubi")  # Formats in which logs are written

_TIME_FORMAT = "%Y-%m-%dT%H:%M:%S%.6fZ"


def _make_ubi_tables(
    pages: pl.DataFrame, results: pl.DataFrame, clicks: pl.DataFrame | None = None
) -> dict[str, pl.DataFrame]:
    """Make tables of UBI queries, and of events: clicks, and results if id lists do not suffice."""
    hits = results.group_by("page", maintain_order=True).agg("doc", "rank")
    is_complete = pl.col("rank") == pl.int_ranges(1, pl.col("rank").list.len() + 1, dtype=pl.Int32)
    has_columns = results.columns == ["page", "rank", "doc"]
    has_only_ids = has_columns and bool(hits.select(is_complete.all()).item())
    queries = pages.join(hits, left_on="id", right_on="page", how="left", maintain_order="left")
    names = ("variant", "total_results", "method")
    attributes = _rename_columns(pages, {"session_id": "session", **{name: name for name in names}})
    query_rows = queries.select(
        *_rename_columns(pages, {"query_id": "id", "user_query": "query"}),
        *_rename_columns(pages, {"client_id": "user", "timestamp": "time"}),
        pl.col("doc").fill_null([]).alias("query_response_hit_ids"),
        *([pl.struct(attributes).alias("query_attributes")] if attributes else []),
    )
    events = [] if has_only_ids else [_make_events(results, "impression", pages)]
    events += [] if clicks is None else [_make_events(clicks, "click", pages)]
    event_rows = {"ubi_events": pl.concat(events, how="diagonal_relaxed")} if events else {}
    return {"ubi_queries": query_rows, **event_rows}


def _rename_columns(frame: pl.DataFrame, names: Mapping[str, str]) -> list[pl.Expr]:
    return [pl.col(old).alias(new) for new, old in names.items() if old in frame.columns]


def _make_events(rows: pl.DataFrame, action: str, pages: pl.DataFrame) -> pl.DataFrame:
    """Make an event of each result or click; columns beyond the standard are attributes."""
    extra_columns = [name for name in rows.columns if name not in {"page", "rank", "doc", "time"}]
    page_columns = _rename_columns(pages, {"(session)": "session", "(time)": "time"})
    pages = pages.select(*page_columns, page="id")
    rows = rows.join(pages, on="page", how="left", maintain_order="left")
    time = "time" if action == "click" else "(time)"
    structs = {"object": pl.struct(object_id="doc"), "position": pl.struct(ordinal="rank")}
    attributes = pl.struct(*(value.alias(name) for name, value in structs.items()), *extra_columns)
    return rows.select(
        pl.lit(action).alias("action_name"),
        *_rename_columns(rows, {"query_id": "page", "session_id": "(session)", "timestamp": time}),
        attributes.alias("event_attributes"),
    )


def _get_types(schema: Schema) -> dict[str, Any]:
    return {column.name: column.kind.dtype for column in schema.columns}


PAGE_TYPES = _get_types(PAGES)
_KEY_TYPES: dict[str, Any] = {"page": pl.Int64, "rank": pl.Int32, "doc": pl.String}
RESULT_TYPES = {**_KEY_TYPES, **_get_types(RESULTS), "page": pl.Int64}
# The end of a click becomes its dwell time, and a count of clicks as many rows.
CLICK_TYPES = {**_KEY_TYPES, **_get_types(CLICKS), "page": pl.Int64}
del CLICK_TYPES["end"], CLICK_TYPES["clicks"]


def cast_columns(frame: pl.DataFrame | None, types: Mapping[str, Any]) -> pl.DataFrame:
    """Select and cast the columns of a table; without a table, return a table without rows."""
    if frame is None:
        return pl.DataFrame(schema=_KEY_TYPES)
    names = [name for name in types if name in frame.columns]
    return frame.select(pl.col(name).cast(types[name]) for name in names)


def format_count(count: int, phrase: str) -> str:
    """Put a count before a plural noun phrase, such as `clicks without a known result`."""
    noun, _, remainder = phrase.partition(" ")
    return f"{inflect(count, noun.removesuffix('s'))} {remainder}".rstrip()


MISSING_TABLES = {
    "results": "the results of pages",
    "clicks": "clicks, but the log has no table or column of clicks",
}

_TABLES = ("pages", "results", "clicks")


@dataclass(frozen=True, eq=False, repr=False)
class QueryLog(PlotsMixin):
    """Pages that users saw, the results on them and the clicks; returned by :func:`read_log`.

    Attributes
    ----------
    pages
        Data frame, one row per page: `id`, `query`, and if known `user`, `session`, `time`
        (UTC), `variant` of an experiment, `total_results` (number of all results of the query, on
        any page), and the `method` of interleaving.
    results
        Data frame, one row per result shown, by page and rank: `page` (row of `pages`, from 0),
        `rank` (from 1), `doc`, and if known its `team` of interleaving, the `propensity` with
        which it was shown and its `grade`. It has no rows if the source has no results.
    clicks
        Data frame, one row per click, by page, time and order in the source: `page`, `rank`,
        `doc`, and if known `time` (UTC), `dwell` (dwell time in seconds) and `censored`, which is
        true if the dwell time is only a lower bound.
    source
        Name of the source, for messages.
    anomalies
        Number of anomalies by kind, such as `{"clicks without a known result": 3}`.
    has_clicks
        Whether the source records clicks; if not, measures of clicks raise an error.
    """

    pages: pl.DataFrame
    results: pl.DataFrame
    clicks: pl.DataFrame
    source: str = "log"
    anomalies: dict[str, int] = field(default_factory=dict)
    has_clicks: bool = True

    def require(self, table: str, *columns: str, purpose: str) -> None:
        """Raise an error if the log lacks a required table or column.

        Raises
        ------
        InputError
            If the table or a column is missing; the message names it and the purpose.
        """
        check_choice("table", table, _TABLES)
        frame = getattr(self, table)
        for column in columns:
            if column not in frame.columns:
                reason = f"{purpose} requires column {column!r} of {table}"
                remedy = f"if a column has another name, rename it to {quote(column)}"
                raise InputError(f"{reason}; {remedy}", source=self.source)
        is_missing = {"results": frame.is_empty(), "clicks": not self.has_clicks}
        if is_missing.get(table, False):
            raise InputError(f"{purpose} requires {MISSING_TABLES[table]}", source=self.source)

    def describe_click_order(self, purpose: str) -> list[str]:
        """Return a note if a page has clicks on several results, but clicks have no times."""
        ranks = self.clicks.group_by("page").agg(pl.col("rank").n_unique())["rank"]
        if "time" in self.clicks.columns or not (ranks > 1).any():
            return []
        subject = inflect(int((ranks > 1).sum()), "page")
        note = f"clicks have no times; on {subject} with several clicked results"
        return [f"{purpose}: {note}, the order of clicks in the source is used"]

    @cached_property
    def results_with_clicks(self) -> pl.DataFrame:
        """The data frame `results`, with the number of clicks on each result as column `clicks`."""
        self.require("clicks", purpose="the number of clicks on each result")
        keys = ["page", "rank"]
        counts = self.clicks.group_by(keys).agg(clicks=pl.len())
        results = self.results.join(counts, on=keys, how="left", maintain_order="left")
        return results.with_columns(pl.col("clicks").fill_null(0))

    def select_pages(self, keep: pl.Expr | pl.Series) -> QueryLog:
        """Select pages, with their results and clicks; the new log has no numbers of anomalies.

        Parameters
        ----------
        keep
            Expression over the columns of `pages`, or a boolean for each page; null is false.

        Raises
        ------
        PolicyError
            If `keep` is not one boolean for each page.
        """
        if isinstance(keep, pl.Expr):
            # Next to a column, a literal is broadcast to all pages.
            pages = self.pages.with_columns(page=pl.int_range(pl.len(), dtype=pl.Int64))
            keep = pages.select("page", keep=keep)["keep"]
        elif not isinstance(keep, pl.Series):
            keep = list(keep)
            is_boolean = {*map(type, keep)} <= {bool, np.bool_, type(None)}
            keep = pl.Series(keep, dtype=pl.Boolean if is_boolean else pl.Object)
        expected = "keep must be a boolean for each page"
        if keep.dtype not in {pl.Boolean, pl.Null}:
            raise PolicyError(f"{expected}, got values of type {keep.dtype}")
        if keep.len() != self.pages.height:
            size = inflect(keep.len(), "boolean")
            raise PolicyError(f"{expected}, got {size} for {inflect(self.pages.height, 'page')}")
        mask = keep.cast(pl.Boolean).fill_null(False)
        new_rows = mask.cast(pl.Int64).cum_sum() - 1

        def select_rows(rows: pl.DataFrame) -> pl.DataFrame:
            subset = rows.filter(mask.gather(rows["page"]))
            return subset.with_columns(page=new_rows.gather(subset["page"]))

        tables = (self.pages.filter(mask), select_rows(self.results), select_rows(self.clicks))
        return QueryLog(*tables, self.source, has_clicks=self.has_clicks)

    def write(self, folder: str | PathLike[str], format: str = "csv") -> None:
        """Write the log to a folder that :func:`read_log` can read.

        Parameters
        ----------
        folder
            Created if missing. Existing files of the same names are replaced, each atomically.
        format
            `"csv"`, `"parquet"` or `"jsonl"`: files `pages`, and if known `results` and `clicks`.
            `"ubi"`: files `ubi_queries.jsonl` and, if there are events, `ubi_events.jsonl`, in the
            format of User Behavior Insights 1.3.0; values without a field in this format become
            attributes of queries and events.

        Raises
        ------
        PolicyError
            For another format.
        InputError
            If the folder or a file cannot be written.
        """
        check_choice("format", format, FORMATS)
        has_results, ids = self.results.height or format == "ubi", self.pages["id"]
        frames = {"results": self.results} if has_results else {}
        frames |= {"clicks": self.clicks} if self.has_clicks else {}
        frames = {k: rows.with_columns(page=ids.gather(rows["page"])) for k, rows in frames.items()}
        tables = {"pages": self.pages.rename({"id": "page"}), **frames}
        suffix = format
        if format == "ubi":
            tables, suffix = _make_ubi_tables(self.pages, **frames), "jsonl"
        target = Path(fspath(folder))
        make_folder(target)
        times = [] if format == "parquet" else [pl.col(pl.Datetime).dt.strftime(_TIME_FORMAT)]
        for name, table in tables.items():
            write_table(table.with_columns(times), target / f"{name}.{suffix}", suffix)

    def _repr_html_(self) -> str:
        return render_frame(self.pages, repr(self), limit=10)

    def __repr__(self) -> str:
        units = [name for name in ("user", "session") if name in self.pages.columns]
        sizes = [
            inflect(self.pages.height, "page"),
            *(inflect(self.pages[name].drop_nulls().n_unique(), name) for name in units),
            inflect(self.results.height, "result"),
            inflect(self.clicks.height, "click") if self.has_clicks else "clicks unknown",
        ]
        notes = [format_count(count, kind) for kind, count in self.anomalies.items() if count]
        return f"QueryLog({', '.join(sizes)}{'; ' if notes else ''}{', '.join(notes)})"


def make_log(
    pages: pl.DataFrame,
    results: pl.DataFrame | None = None,
    clicks: pl.DataFrame | None = None,
    *,
    source: str = "log",
) -> QueryLog:
    """Make a log from sorted tables, whose results and clicks have row numbers of pages."""
    return QueryLog(
        cast_columns(pages, PAGE_TYPES),
        cast_columns(results, RESULT_TYPES),
        cast_columns(clicks, CLICK_TYPES),
        source,
        has_clicks=clicks is not None,
    )


def join_by_document(
    log: QueryLog, results: pl.DataFrame, table: pl.DataFrame, problem: str, noun: str
) -> pl.DataFrame:
    """Add the query of each result, and the value that a table has for its query and document."""
    results = results.with_columns(log.pages["query"].gather(results["page"]))
    keys = ["query", "doc"]
    results = results.join(table, on=keys, how="left", maintain_order="left")
    [column] = [name for name in table.columns if name not in keys]
    if results.height and not results[column].count():
        pairs = {"results": results.select(keys).row(0), noun: table.select(keys).row(0)}
        examples = [f"{k} for {quote(q)} contain {quote(doc)}" for k, (q, doc) in pairs.items()]
        raise InputError(f"{problem} ({', '.join(examples)})", source=log.source)
    return results


def check_independence(rows: pl.DataFrame, noun: str, unit: str, source: str = "") -> None:
    """Refuse pages or lists as units if a user or session has several, which may be dependent."""
    for name in ("user", "session"):
        ids = rows[name].drop_nulls() if name in rows.columns else pl.Series()
        if ids.n_unique() < len(ids):
            sizes = f"{inflect(ids.n_unique(), name)}, {inflect(len(ids), noun)}"
            problem = f"{name}s have several {noun}s ({sizes}), so {noun}s are not independent"
            remedy = f"set unit={name!r}, or unit={unit!r} to treat {noun}s as independent"
            raise PolicyError(f"{source}{problem}: {remedy}")


def number_page_units(pages: pl.DataFrame, unit: str) -> tuple[Indices, list[str]]:
    """Return the index of each page's unit, and notes; each page without a unit becomes a unit."""
    codes = pages[unit].rank("dense").to_numpy() - 1.0
    notes: list[str] = []
    if n_missing := int(np.isnan(codes).sum()):
        codes[np.isnan(codes)] = pages[unit].n_unique() + np.arange(n_missing)
        subject = f"{inflect(n_missing, 'page')} without {unit}"
        notes.append(f"{subject}, each treated as a separate {unit}")
    return codes.astype(np.intp), notes


_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_MAX_SECONDS = 366 * 86400.0  # Maximum timeout, to which longer dwell times are also limited


def sessionise(log: QueryLog, timeout: str | float | timedelta = "30m") -> QueryLog:
    """Divide the pages of each user into sessions, which replace existing sessions.

    A page starts a new session if it is more than `timeout` later than its user's earlier pages and
    all clicks on them; a click lasts for its dwell time, if known (Ferro and Maistro 2024, section
    6.1). A timeout of 30 minutes is common (He and Göker 2000).

    Parameters
    ----------
    log
        A log with the user and the time of its pages.
    timeout
        Longest pause within a session, up to 366 days: a text such as `30m`, `90s` or `1h`, a
        number of seconds, or a timedelta.

    Returns
    -------
    QueryLog
        The log, where `session` is the user and the number of the session, such as `u7-2`. Pages
        without a user have no session.

    Raises
    ------
    InputError
        If the log has no users or no times of pages, or the time of a page is unknown.
    PolicyError
        For an invalid timeout.

    Examples
    --------
    >>> import cranfield as cf
    >>> pages = {"page": [1, 2, 3], "query": ["a", "b", "c"], "user": ["u", "u", "u"],
    ...          "time": ["2026-03-02 10:00", "2026-03-02 10:20", "2026-03-02 11:00"]}
    >>> cf.online.sessionise(cf.online.read_log(pages)).pages["session"].to_list()
    ['u-1', 'u-1', 'u-2']
    """
    max_pause = round(_parse_seconds(timeout) * 1e6)
    log.require("pages", "user", "time", purpose="a session")
    if log.pages["time"].null_count():
        raise InputError("a session requires the time of every page", source=log.source)
    pages = log.pages.select("user", "time", page=pl.int_range(pl.len(), dtype=pl.Int64))
    pages = pages.join(_find_last_actions(log), on="page", how="left", maintain_order="left")
    pages = pages.sort("user", "time", "page")
    last_time = pl.max_horizontal("time", "last_action").cum_max().shift(1).over("user")
    is_start = (pl.col("time") - last_time).dt.total_microseconds() > max_pause
    session_number = is_start.fill_null(True).cast(pl.Int64).cum_sum().over("user")
    pages = pages.with_columns(number=session_number).sort("page")
    sessions = pages.select(session=pl.concat_str("user", "number", separator="-"))
    columns = [name for name in log.pages.columns if name != "session"]
    columns.insert(columns.index("user") + 1, "session")
    return replace(log, pages=log.pages.with_columns(sessions["session"]).select(columns))


def _find_last_actions(log: QueryLog) -> pl.DataFrame:
    """Return the latest end of a click on each page: its time plus its dwell time, if known."""
    if "time" not in log.clicks.columns:
        return pl.DataFrame(schema={"page": pl.Int64, "last_action": UTC})
    end = pl.col("time")
    if "dwell" in log.clicks.columns:
        dwell = (pl.col("dwell").fill_null(0).clip(0, _MAX_SECONDS) * 1e6).round().cast(pl.Int64)
        end = end + pl.duration(microseconds=dwell)
    return log.clicks.group_by("page").agg(end.max().alias("last_action"))


def _parse_seconds(timeout: Any) -> float:
    seconds, pattern = 0.0, r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([smhd]?)\s*"
    if isinstance(timeout, timedelta):
        seconds = timeout.total_seconds()
    elif isinstance(timeout, str) and (match := re.fullmatch(pattern, timeout)):
        seconds = float(match[1]) * _UNIT_SECONDS[match[2] or "s"]
    elif isinstance(timeout, Real) and not isinstance(timeout, bool):
        seconds = float(timeout)
    if not 0 < seconds <= _MAX_SECONDS:
        expected = "timeout must be a duration such as 30m, above 0 and up to 366 days"
        raise PolicyError(f"{expected}, got {quote(timeout)}")
    return seconds
