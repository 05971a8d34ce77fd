"""Formats of logs: their detection, and their conversion to tables."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, PolicyError, quoted, warn
from cranfield.base.text import counted, some_of
from cranfield.online.log import cells
from cranfield.online.log.cells import is_blank, numbered_records
from cranfield.online.log.linking import Anomaly, Parts, Policies, first_records, placed
from cranfield.online.log.query_log import PAGES, RESULTS
from cranfield.sessions.log import Sessions
from cranfield.sessions.reading import read_sessions
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import Table
from cranfield.sources.schemas import spelt
from cranfield.sources.text import decoded

OF_CLICKS = frozenset({"time", "end", "dwell", "censored", "clicks"})
"""Columns that only clicks have."""


def results_or_clicks(data: Any) -> tuple[Any, Any]:
    """Return a table as results or as clicks, by its columns and ranks; the other one is None."""
    if cells.is_blank_file(data):
        return None, data
    columns = cells.columns_of(data, cells.CLICKS)
    if not holds_results(cells.opened(columns, cells.CLICKS, empty=True)):
        return None, columns
    warn(
        f"{columns.source}: has all ranks of its pages and no times, and is read as results; use"
        " results=FILE or clicks=FILE to choose"
    )
    return columns, None


def holds_results(clicks: Table) -> bool:
    """Whether what was read as clicks has each rank of its pages once, down to some rank."""
    names = {*clicks.names}
    if not {"rank", "doc"} <= names or names & OF_CLICKS:
        return False
    rank = pl.col("rank")
    by_page = clicks.frame.group_by("page").agg(
        rank.max().alias("last"), whole=(pl.len() == rank.max()) & (rank.n_unique() == pl.len())
    )
    # Users who click the first result only also have all ranks from 1.
    return bool(by_page["whole"].all() and (by_page["last"] > 1).any())


def parted(table: Table, clicks: bool = False) -> Parts:
    """Split a flat table; a page without results is a row without a document.

    clicks: whether there is also a table of clicks.
    """
    frame = table.frame
    of_page = [name for name in PAGES if name in table.names]
    pages = frame.select("page", *of_page).unique("page", keep="first", maintain_order=True)
    pages = pages.rename({"page": "id"})
    _same(table, pages, of_page)
    shown = frame["doc"].is_not_null()
    if "doc" not in table.names and "rank" in table.names:
        raise InputError("has ranks, but no doc column", source=table.source)
    if "rank" in table.names:
        ranked = frame["rank"].is_not_null()
        table.refuse(~shown & ranked, lambda row: "has a rank, but no document")
        table.refuse(shown & ~ranked, lambda row: "has no rank")
    results = replace(
        table.gather(shown.arg_true()),
        names=tuple(name for name in RESULTS if name in table.names),
    )
    number = _number(table, shown)
    if number is None and shown.any() and not clicks:
        problem = "has no column of clicks with values; clicks are treated as unknown"
        warn(f"{table.source}: {problem}", stacklevel=4)
    if number is not None:
        table.refuse((number > 0) & ~shown, lambda row: "is clicked, but has no document")
    of_pages = Table(pages, table.source, ("id", *of_page))
    return Parts(of_pages, results, None if number is None else _clicks(table, number))


def _same(table: Table, pages: pl.DataFrame, names: list[str]) -> None:
    """Refuse a page whose rows differ in what belongs to the page."""
    place = pages.select("id", page=pl.int_range(pl.len(), dtype=pl.Int64))
    of_row = placed(table.frame, place)["page"]
    for name in names:
        first = pages[name].gather(of_row)
        rows = table.frame.select("page", "doc", pl.lit(name).alias("name"), cell=name, first=first)
        replace(table, frame=rows).refuse(rows["cell"].ne_missing(rows["first"]), _two_values)


def _two_values(row: dict[str, Any]) -> str:
    page, first, cell = (quoted(row[key]) for key in ("page", "first", "cell"))
    return f"page {page} has {row['name']} {first} and {cell}"


def _number(table: Table, shown: pl.Series) -> pl.Series | None:
    """Return the number of clicks on each row; None if the table has none for any row."""
    known = table.frame.select("clicks", "click_time").with_columns(pl.all().is_not_null())
    if known["clicks"].any():
        clicks = table.frame["clicks"]
        missing = int((clicks.is_null() & shown).sum())
        if missing:
            # In joined tables an empty cell means no click.
            empty = f"{counted(missing, 'row')} without a number of clicks"
            warn(f"{table.source}: {empty}; read as no click", stacklevel=4)
        return clicks.fill_null(0)
    if known["click_time"].any():
        return known["click_time"].cast(pl.Int64)
    return None


def _clicks(table: Table, number: pl.Series) -> Table:
    old = {"click_time": "time"}
    names = (*("page", "rank", "doc"), *("click_time", "dwell", "censored"))
    own = tuple(old.get(name, name) for name in names if name in table.names)
    frame = table.frame.select(names).rename(old).with_columns(clicks=number)
    return replace(table, frame=frame, names=(*own, "clicks"))


TYPES = {
    **dict.fromkeys(("sid", "qid", "time"), pl.String),
    "ranking": pl.List(pl.Struct(dict.fromkeys(("docid", "clicked", "team"), pl.String))),
}


def read_living_labs(raw: bytes, source: str) -> Table:
    """Read rankings `{sid, qid, time, ranking: [{docid, clicked, team}]}`, a row a result.

    Pages are named by their number; those with teams are interleaved by team draft.
    """
    frame = numbered_records(raw, source, "living labs", TYPES).select(
        *("time", "ranking", "line"), page=pl.int_range(1, pl.len() + 1), query="qid", session="sid"
    )
    frame = frame.explode("ranking", empty_as_null=True, keep_nulls=True).unnest("ranking")
    place = pl.int_range(1, pl.len() + 1).over("page")
    drafted = pl.col("team").is_not_null().any().over("page")
    frame = frame.with_columns(
        rank=pl.when(pl.col("docid").is_not_null()).then(place),
        method=pl.when(drafted).then(pl.lit("TeamDraft")),
    ).rename({"docid": "doc", "clicked": "clicks"})
    table = cells.table_of(frame, cells.FLAT, source, empty=False)
    unknown = ~table.frame["team"].is_in(["site", "participant"])
    table.refuse(
        unknown.fill_null(False),
        lambda row: f"team {quoted(row['team'])} is neither site nor participant",
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
    names = pl.Series(sessions.names, dtype=pl.String)
    topics = pl.Series(sessions.topics, dtype=pl.String)

    def with_page(frame: pl.DataFrame) -> pl.DataFrame:
        session = names.gather(frame["session"])
        page = pl.select(pl.concat_str(session, frame["query"], separator="-")).to_series()
        return frame.with_columns(page=page, session=session, topic=topics.gather(frame["session"]))

    def at(name: str) -> pl.Expr:
        return (pl.col(name).fill_nan(None) * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))

    text = pl.when(pl.col("text") != "").then("text")
    pages = with_page(sessions.queries).select(
        "session", id="page", query=pl.coalesce(text, "topic", "page"), time=at("start")
    )
    results = with_page(sessions.results).select("page", "rank", "doc")
    clicks = with_page(sessions.clicks).select(
        *("page", "rank"), time=at("start"), dwell=pl.col("end") - pl.col("start")
    )
    lost = Anomaly("clicks on no result", sessions.lost_clicks, "excluded", sessions.source)
    return Parts(
        cells.table_of(pages, cells.PAGES, sessions.source),
        cells.table_of(results, cells.RESULTS, sessions.source),
        cells.table_of(clicks, cells.CLICKS, sessions.source),
        (lost,),
    )


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
) -> Parts:
    """Read UBI queries and their events, given as bytes with the names of their sources.

    The results of a page are the documents of its `impression` events with a position; without
    them, those that the query found. Attributes beyond the standard are read where
    :meth:`QueryLog.write` puts them. Clicks are the events with one of the `click_actions`. Clicks
    of no query, and events that are neither clicks nor impressions, are counted.
    """
    query_records = numbered_records(*queries, "UBI queries", QUERIES).unnest("query_attributes")
    nameless = query_records.filter(pl.col("query_id").is_null())
    if nameless.height:
        raise InputError("has no query_id", source=queries[1], line=nameless["line"][0])
    done = pl.DataFrame(schema=pl.Schema(EVENTS)).with_columns(line=pl.lit(0, pl.Int64))
    if events is not None and not is_blank(events[0]):
        done = numbered_records(*events, "UBI events", EVENTS)
    done = done.unnest("event_attributes").unnest("object", "position")
    shown = pl.col("action_name") == _SHOWN
    clicked = pl.col("action_name").is_in(click_actions)
    known = pl.col("query_id").is_not_null()
    ordered = pl.col("ordinal").is_not_null() & pl.col("object_id").is_not_null()
    anomalies: tuple[Anomaly, ...] = ()
    if events is not None:
        _check_actions(done, click_actions, events[1])
        lost = done.filter(clicked & ~known).height
        # Other events, such as purchases, do not belong to a log.
        others = done.filter(~(clicked | shown).fill_null(False)).height
        anomalies = (
            Anomaly("clicks on no page", lost, "excluded", events[1]),
            Anomaly("events of other kinds", others),
        )
    of_event = {"page": pl.col("query_id"), "rank": pl.col("ordinal"), "doc": pl.col("object_id")}
    # Browsers send events out of order, and a page may be shown again later.
    done = done.with_columns(at=cells.TIME.column("at", done["timestamp"])[0])
    seen = done.filter(shown & known & ordered).sort("at", nulls_last=True, maintain_order=True)
    seen = seen.select("line", *_OF_RESULTS, **of_event)
    seen = seen.unique(["page", "rank", "doc"], keep="first", maintain_order=True)
    # A query that is recorded again, such as for a facet, has other hits.
    first = query_records.unique("query_id", keep="first", maintain_order=True)
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
    pages = query_records.join(
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
    return Parts(
        cells.table_of(pages, cells.PAGES, queries[1], empty=False),
        # Results stand in two files.
        cells.table_of(results.drop("line"), cells.RESULTS, queries[1]),
        None if events is None else cells.table_of(clicks, cells.CLICKS, events[1]),
        anomalies,
    )


def _check_actions(events: pl.DataFrame, clicks: Sequence[str], source: str) -> None:
    """Refuse events of which none is a click, but some may be clicks by another name."""
    number = events["action_name"].drop_nulls().value_counts(sort=True).rows()
    if not {name for name, _ in number} & {*clicks} and {name for name, _ in number} - {_SHOWN}:
        listed = some_of([f"{quoted(name)} ({times:,})" for name, times in number], 12)
        raise InputError(
            f"expected events with action_name {' or '.join(map(quoted, clicks))}, got {listed};"
            " set click_actions=... to those that are clicks",
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
    frame = frame.with_columns(
        session=cell.get(0, null_on_oob=True).str.strip_chars(),
        time=cell.get(1, null_on_oob=True),
        kind=cell.get(2, null_on_oob=True).str.strip_chars(),
        size=cell.len(),
    )
    query, click = pl.col("kind") == "Q", pl.col("kind") == "C"
    fits = (query & (pl.col("size") >= 5)) | (click & (pl.col("size") == 4))
    _refuse(
        frame,
        ~fits.fill_null(False),
        "Yandex (session time Q query region doc…, or session time C doc)",
        source,
    )
    number = query.cast(pl.Int64).cum_sum()
    frame = frame.with_columns(page=pl.when(query).then(number))
    frame = frame.with_columns(page=pl.col("page").forward_fill().over("session"))
    queries, clicked = frame.filter(query), frame.filter(click)
    pages = queries.select(
        *("session", "time", "line"),
        id="page",
        query=pl.concat_str(cell.get(3), cell.get(4), separator="_"),
    )
    results = queries.select("page", "line", doc=cell.slice(5)).explode("doc", empty_as_null=False)
    clicks = clicked.select("page", "time", "line", doc=cell.get(3, null_on_oob=True))
    return _tables(pages, results, clicks, source)


def read_one_line(raw: bytes, source: str) -> Parts:
    """Read pages `query TAB doc,doc,... : clicked doc , clicked doc`, with semicolons between."""
    frame = _lines(raw, source).with_columns(pl.col("text").str.split(";")).explode("text")
    frame = frame.with_columns(pl.col("text").str.strip_chars()).filter(pl.col("text") != "")
    fields = pl.col("text").str.extract_groups(r"^([^\t]*)\t([^\t:]*):([^\t:]*)$")
    frame = frame.with_columns(
        fields.struct.rename_fields(["query", "shown", "clicked"]).alias("f")
    )
    frame = frame.unnest("f").with_columns(page=pl.int_range(1, pl.len() + 1))
    _refuse(frame, frame["shown"].is_null(), "pages (query, tab, docs : clicked docs)", source)

    def listed(name: str) -> pl.DataFrame:
        docs = pl.col(name).str.split(",").list.eval(pl.element().str.strip_chars())
        docs = pl.when(pl.col(name).str.strip_chars() != "").then(docs)
        return frame.select("page", "line", doc=docs).explode("doc").drop_nulls("doc")

    pages = frame.select("query", "line", id="page")
    return _tables(pages, listed("shown"), listed("clicked"), source)


def _lines(raw: bytes, source: str) -> pl.DataFrame:
    text = decoded(raw, source)
    frame = pl.DataFrame({"text": [text]}).select(pl.col("text").str.split("\n")).explode("text")
    return frame.with_columns(line=pl.int_range(1, pl.len() + 1))


def _refuse(frame: pl.DataFrame, bad: pl.Expr | pl.Series, what: str, source: str) -> None:
    wrong = frame.filter(bad)
    if wrong.height:
        text, line = wrong.row(0, named=True)["text"], wrong["line"][0]
        raise InputError(f"expected a line of {what}, got {quoted(text)}", source=source, line=line)


def _tables(pages: pl.DataFrame, results: pl.DataFrame, clicks: pl.DataFrame, source: str) -> Parts:
    results = results.with_columns(rank=pl.int_range(1, pl.len() + 1).over("page"))
    return Parts(
        cells.table_of(pages, cells.PAGES, source, empty=False),
        cells.table_of(results, cells.RESULTS, source),
        cells.table_of(clicks, cells.CLICKS, source),
    )


_ONE_FILE = frozenset({"sessions", "yandex", "pyclick"})
"""Formats in which clicks stand among other records, so that a file without any is suspicious."""

SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson")
_ENDINGS = ("", ".gz", ".bz2", ".xz", ".zst")


def parts_of(
    source: Any,
    results: Any,
    clicks: Any,
    policies: Policies,
    other: Any = None,
) -> Parts:
    """Read the tables of a log, in the chosen or the detected format.

    other: a table of results or clicks, to be detected; of other formats than tables it is clicks.
    """
    clicks = other if clicks is None else clicks
    form = policies.format
    is_file = isinstance(source, (str, PathLike))
    if is_file and Path(fspath(source)).is_dir():
        if results is not None or clicks is not None:
            raise InputError(
                "a folder cannot be combined with tables of results or clicks",
                source=fspath(source),
            )
        source, results, clicks, form = _folder(Path(fspath(source)), form)
    if form == "auto":
        form = _form(source, results, clicks)
    if policies.click_actions is not None and form != "ubi":
        raise PolicyError(f"click_actions=... requires a log of format ubi, got {form}")
    if form == "tables":
        return _three_tables(source, results, clicks, other)
    beside = "results" if results is not None else "clicks" if clicks is not None else ""
    if beside and not (form == "ubi" and results is None):
        raise InputError(f"a log of format {form} cannot be combined with a table of {beside}")
    parts = _parts_of_one(source, clicks, form, policies)
    shown, clicked = parts.results, parts.clicks
    if shown is not None and shown.frame.is_empty():
        _warn_of_no_results(shown, is_file or policies.format == "flat")
    elif is_file and form in _ONE_FILE and clicked is not None and clicked.frame.is_empty():
        warn(f"{clicked.source}: has no clicks; measures of clicks are 0")
    return parts


def _three_tables(source: Any, results: Any, clicks: Any, other: Any) -> Parts:
    if results is None:
        source = cells.columns_of(source, cells.PAGES)
        of_results = (one for one in cells.FLAT.columns if one.name in {"rank", "doc"})
        if all(column.named_in(source.names) for column in of_results):
            # Shown results with the columns of their pages, such as interleaved lists.
            parts = parted(cells.opened(source, cells.FLAT), clicks is not None)
            if clicks is None:
                return parts
            if parts.clicks is not None:
                reason = "has a column of clicks and cannot be combined with a table of clicks"
                raise InputError(reason, source=source.source)
            return parts._replace(clicks=cells.opened(clicks, cells.CLICKS, empty=True))
    if other is not None:
        results, clicks = results_or_clicks(other)
    pages = cells.opened(source, cells.PAGES)
    of_pages = None if results is None else cells.opened(results, cells.RESULTS, empty=True)
    clicked = None if clicks is None else cells.opened(clicks, cells.CLICKS, empty=True)
    if of_pages is not None and clicked is not None:
        more = clicked.frame.height > of_pages.frame.height
        if more and holds_results(clicked):
            raise InputError(
                f"has more rows than {of_pages.source}, all ranks of its pages and no times, so it"
                " must be the results; expected pages, results and clicks in this order",
                source=clicked.source,
            )
    _warn_of_no_results(of_pages)
    return Parts(pages, of_pages, clicked)


def _warn_of_no_results(shown: Table | None, expected: bool = False) -> None:
    # A table of pages alone, in memory, has no column of documents.
    if shown is not None and shown.frame.is_empty() and (expected or "doc" in shown.names):
        warn(f"{shown.source}: no page has results; expected a column doc, or documents listed")


def _parts_of_one(source: Any, clicks: Any, form: str, policies: Policies) -> Parts:
    """Read a log that is one source, or UBI queries with their events."""
    if form == "flat":
        table = cells.opened(source, cells.FLAT)
        first, anomalies = first_records(table, policies.on_anomaly, drop_doubled=False)
        return parted(first)._replace(anomalies=(*anomalies,))
    if form == "sessions":
        sessions = source if isinstance(source, Sessions) else read_sessions(source)
        return read_sessions_as_log(sessions)
    raw = _raw(source, form)
    if form == "ubi":
        events = None if clicks is None else _raw(clicks, form, empty=True)
        return read_ubi(raw, events, policies.click_actions or ("click",))
    if form == "living-labs":
        return parted(read_living_labs(*raw))
    return (read_yandex if form == "yandex" else read_one_line)(*raw)


def _raw(source: Any, form: str, empty: bool = False) -> tuple[bytes, str]:
    if not isinstance(source, (str, PathLike)):
        raise InputError(f"a log of format {form} must be a file, got {type(source).__name__}")
    file = Source(fspath(source))
    raw = file.read()
    if is_blank(raw) and not empty:
        raise InputError("is empty: a log has at least one page", source=file.name)
    return raw, file.name


def _folder(folder: Path, form: str) -> tuple[Any, Any, Any, str]:
    """Return the tables in a folder, as an export writes them, and their format."""
    if form in {"auto", "ubi"} and (queries := _file(folder, "ubi_queries")) is not None:
        return queries, None, _file(folder, "ubi_events"), "ubi"
    if form not in {"auto", "tables"}:
        raise InputError(f"holds no log of format {form}", source=str(folder))
    return *tables_in(folder), "tables"


def tables_in(folder: Path) -> tuple[str, str | None, str | None]:
    """Return the files of pages, results and clicks in a folder."""
    pages, results, clicks = (_file(folder, name) for name in ("pages", "results", "clicks"))
    if pages is None:
        reason = "has neither pages.csv (or .parquet, …) nor ubi_queries.jsonl"
        raise InputError(reason, source=str(folder))
    return pages, results, clicks


def _file(folder: Path, name: str) -> str | None:
    paths = [folder / f"{name}{suffix}{end}" for suffix in SUFFIXES for end in _ENDINGS]
    files = [str(path) for path in paths if path.is_file()]
    if len(files) > 1:
        raise InputError(f"holds the {name} in several files", source=str(folder))
    return files[0] if files else None


def _form(source: Any, results: Any, clicks: Any) -> str:
    if isinstance(source, Sessions):
        return "sessions"
    if isinstance(source, (str, PathLike)):
        file = Source(fspath(source))
        plain = FORMAT_OF_SUFFIX.get(file.suffix) in {"csv", "tsv", "parquet", "json"}
        if not plain and (form := _form_of_text(file)):
            return form
    return "flat" if results is None and clicks is None else "tables"


_SIGNS = (
    ("sessions", re.compile(r"\s*<")),
    ("yandex", re.compile(r"[^\t\n]*\t[^\t\n]*\t[QC]\t")),
    ("pyclick", re.compile(r"[^\t\n]*\t[^\t\n]*:")),
)


def _form_of_text(source: Source) -> str:
    """Return the format of a file by its first lines; empty if it may be a table."""
    with source.open() as stream:
        head = stream.read(1 << 16).removeprefix(BOM_UTF8).decode(errors="replace")
    if head.lstrip().startswith("{"):
        keys = {spelt(key) for key in re.findall(r'"([^"\\]{1,40})"\s*:', head)}
        if {"ranking", "qid"} <= keys:
            return "living-labs"
        if {"userquery", "queryresponsehitids"} & keys and "queryid" in keys:
            return "ubi"
    elif FORMAT_OF_SUFFIX.get(source.suffix) is None:
        for form, sign in _SIGNS:
            if sign.match(head):
                return form
        reason = "is empty: a log has at least one page"
        if head.strip():
            reason = "is not a log of a known format; set format="
        raise InputError(reason, source=source.name)
    return ""
