"""Read query logs from files or from tables in memory, and detect their format."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from functools import cache, partial
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from cranfield.base.errors import InputError, PolicyError, check_list, quote, warn
from cranfield.base.kinds import Integer, OneOf, check_arguments
from cranfield.base.text import inflect, list_some
from cranfield.online.log import formats
from cranfield.online.log.cells import CLICKS, FLAT, PAGES, RESULTS
from cranfield.online.log.linking import Anomalies, SourceTables, keep_first_records, link_tables
from cranfield.online.log.query_log import QueryLog
from cranfield.sessions.log import Sessions
from cranfield.sessions.reading import read_sessions
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import Columns, Table
from cranfield.sources.schemas import fold_name

LOG_FORMATS = ("auto", "tables", "flat", "sessions", "ubi", "living-labs", "yandex", "pyclick")

# Treatments of repeated pages and results, clicks before their page, and sessions of several users
ON_ANOMALY = ("refuse", "count")


def read_log(
    source: Any,
    results: Any = None,
    clicks: Any = None,
    *,
    format: Annotated[str, OneOf(LOG_FORMATS)] = "auto",
    on_anomaly: Annotated[str, OneOf(ON_ANOMALY)] = "refuse",
    max_pages: Annotated[int | None, Integer(1)] = None,
    click_actions: Sequence[str] | None = None,
) -> QueryLog:
    """Read a query log: pages that users saw, the results on them, and clicks.

    A table is a file (CSV, TSV, Parquet, JSON lines), a data frame of any library, a dict of
    columns or a list of dicts; columns may have any of their usual names and spellings. Blanks
    around ids and names are removed. Times are ISO 8601, in UTC if they have no time zone, or
    numbers since 1970, in seconds, milliseconds and so on, depending on their size.

    Parameters
    ----------
    source
        Table of pages, with `page` and `query`, and optionally `user`, `session`, `time`,
        `variant`, `total_results` and `method`; or a log of another format, see `format`.
    results
        Table of results, with `page`, `rank` and `doc`, and optionally `team`, `propensity` and
        `grade`. Without ranks, the rows of a page are in order of rank.
    clicks
        Table of clicks, with `page`, `rank` or `doc`, and optionally `time`, `dwell` (seconds) or
        `end`, `censored`, and `clicks` (number of clicks of the row).
    format
        Format of the log; `"auto"` (default) detects it. `"tables"`: the three tables, or a folder
        with files `pages`, `results` and `clicks`. `"flat"`: one table with a row per result shown,
        the columns of pages and results, and optionally `clicks` (number or boolean), `click_time`,
        `dwell` and `censored`. `"sessions"`: the XML of the TREC Session track, or
        :class:`~cranfield.sessions.Sessions`. `"ubi"`: JSON lines of queries, and of events as
        `clicks`; or a folder with `ubi_queries.jsonl` and `ubi_events.jsonl`. `"living-labs"`: JSON
        lines `{sid, qid, time, ranking: [{docid, clicked, team}]}`, as in TREC OpenSearch.
        `"yandex"`: `session time Q query region doc...` and `session time C doc`, separated by
        tabs. `"pyclick"`: `query TAB doc,doc : clicked , clicked ;`.
    on_anomaly
        How to treat repeated pages and results, clicks before their page, and sessions of several
        users. `"refuse"` (default) refuses the log; `"count"` counts them, keeps the first
        record, treats the time of early clicks as unknown, and splits sessions by user.
    max_pages
        Maximum number of pages of a user (or of a session, if users are unknown) in the whole log.
        Users with more pages are excluded as robots.
    click_actions
        Actions that count as clicks in a log of UBI (User Behavior Insights of OpenSearch); by
        default `click`.

    Returns
    -------
    QueryLog
        The log, with numbers of anomalies in `anomalies`. If the log has results, clicks that are
        not on one of them are excluded with a warning, as are clicks with a time that equal an
        earlier click in all values. A dwell time of 0 or less is unknown. A log without results
        causes a warning, except for pages with a table of clicks, a folder of tables, the format
        `"tables"`, and (with `"auto"`) pages in memory.

    Raises
    ------
    InputError
        If a table cannot be read, with the file, the line if known, and the reason; if the log has
        an anomaly that `on_anomaly` refuses; if no row of the results, or of the clicks, can be
        linked to a page; or if `max_pages` excludes all pages, or users and sessions are unknown.
    PolicyError
        For an invalid option, or `click_actions` for a log that is not UBI.

    Examples
    --------
    >>> import cranfield as cf
    >>> pages = {"page": ["p", "q"], "query": ["cats", "dogs"]}
    >>> results = {"page": ["p", "p", "q"], "rank": [1, 2, 1], "doc": ["a", "b", "c"]}
    >>> log = cf.online.read_log(pages, results, {"page": ["p"], "rank": [2]})
    >>> log
    QueryLog(2 pages, 3 results, 1 click)
    >>> log.results_with_clicks.rows()
    [(0, 1, 'a', 0), (0, 2, 'b', 1), (1, 1, 'c', 0)]
    """
    options = check_arguments(read_log, locals())
    check_list("click_actions", click_actions)
    return _read_and_link((source, results, clicks, None), **options)


def read_files(files: Sequence[str], **options: Any) -> QueryLog:
    """Read a log from files of the command line; tables may be named, as in `results=FILE`."""
    split_files = [(file, *file.partition("=")) for file in files]
    names = {"results", "clicks"}
    named_paths = {name: path for _, name, sign, path in split_files if sign and name in names}
    paths = [file for file, name, *_ in split_files if name not in named_paths]
    expected_counts = {1} if named_paths else {1, 2, 3}
    if len(paths) not in expected_counts or len(paths) + len(named_paths) < len(files):
        choices = "PAGES [RESULTS] [CLICKS], or PAGES with results=FILE or clicks=FILE"
        raise PolicyError(f"expected a log in one file, or files {choices}, got {' '.join(files)}")
    all_paths = [*paths, *named_paths.values()]
    if all_paths.count("-") > 1:
        raise PolicyError("standard input (-) must be at most one of the files, got - twice")
    for path in all_paths:
        if all_paths.count(path) > 1:
            raise PolicyError(f"pages, results and clicks must be distinct files, got {path} twice")
    second_file = paths.pop() if len(paths) == 2 else None
    table_names = ("pages", "results", "clicks")
    files_by_table: dict[str, Any] = dict(zip(table_names, paths, strict=False)) | named_paths
    return _read_and_link((*map(files_by_table.get, table_names), second_file), **options)


LogSources = tuple[Any, ...]  # Pages, results, clicks, and a table of either results or clicks


def _read_and_link(
    sources: LogSources, format: str, on_anomaly: str, max_pages: int | None, click_actions: Any
) -> QueryLog:
    anomalies = Anomalies(on_anomaly == "refuse")
    tables = _read_tables(sources, format, anomalies, click_actions)
    return link_tables(tables, anomalies, max_pages)


def _read_tables(
    sources: LogSources, log_format: str, anomalies: Anomalies, click_actions: Sequence[str] | None
) -> SourceTables:
    source, results, clicks, second_table = sources
    # The second of two tables is read as clicks; only the format `tables` detects results in it.
    clicks = second_table if clicks is None else clicks
    is_file = isinstance(source, (str, PathLike))
    if is_file and fspath(source) == "-":
        # Standard input can be read only once, but its format is detected first.
        source = Source("-", content=Source("-").read())
    expects_results = is_file or log_format == "flat"
    if is_file and (folder := Path(fspath(source))).is_dir():
        if results is not None or clicks is not None:
            reason = "a folder cannot be combined with tables of results or clicks"
            raise InputError(reason, source=str(folder))
        log_format, (source, results, clicks) = find_log(folder, log_format)
    if log_format == "auto":
        log_format = _detect_format(source, has_tables=results is not None or clicks is not None)
    if click_actions is not None and log_format != "ubi":
        raise PolicyError(f"click_actions=... requires a log of format ubi, got {log_format}")
    if log_format == "tables":
        return _read_three_tables(source, results, clicks, second_table)
    extra_table = "results" if results is not None else "clicks" if clicks is not None else ""
    if extra_table and not (log_format == "ubi" and results is None):
        reason = f"cannot be combined with a table of {extra_table}"
        raise InputError(f"a log of format {log_format} {reason}")
    tables = _read_one_source(source, clicks, log_format, anomalies, click_actions)
    # In formats that mix clicks with other records, a file without clicks may be incomplete.
    is_mixed = is_file and log_format in {"sessions", "yandex", "pyclick"}
    if tables.results is not None and tables.results.frame.is_empty():
        _warn_of_no_results(tables.results, expects_results)
    elif is_mixed and tables.clicks is not None and tables.clicks.frame.is_empty():
        warn(f"{tables.clicks.source}: has no clicks, so no page counts as clicked")
    return tables


def _read_one_source(
    source: Any, clicks: Any, log_format: str, anomalies: Anomalies, click_actions: Any
) -> SourceTables:
    """Read a log that is one source, or UBI queries with their events."""
    if log_format == "flat":
        columns = formats.open_columns(source, FLAT)
        flat_table = formats.count_ranks_from_one(formats.open_table(columns, FLAT))
        if "rank" in flat_table.names and "doc" not in flat_table.names:
            column = next(column for column in FLAT.columns if column.name == "doc")
            names = list_some(column.names, 10)
            reason = f"has a column rank, but no column doc (usual names: {names})"
            raise InputError(reason, source=flat_table.source)
        name = columns.names[FLAT.columns[0].find_in(columns.names)[0]]
        ranks, is_row_id = flat_table.frame["rank"], flat_table.frame["page"].is_unique().all()
        if fold_name(name) == "id" and ranks.n_unique() > 1 and ranks.min() == 1 and is_row_id:
            reason = f"column {quote(name)} differs in each row, so it is not the id of a page"
            remedy = "rename the column with the ids of pages to 'page'"
            raise InputError(f"{reason}; {remedy}", source=flat_table.source)
        if fold_name(name) == "queryid":
            _check_query_ids(flat_table, name)
        table = keep_first_records(flat_table, anomalies, drop_duplicates=False)
        return formats.split_flat_table(table)
    if log_format == "sessions":
        sessions = source if isinstance(source, Sessions) else read_sessions(source)
        return formats.convert_sessions(sessions, anomalies)
    raw, name = _read_raw(source, log_format)
    if log_format == "ubi":
        events = None if clicks is None else _read_raw(clicks, log_format, may_be_empty=True)
        if events is None and formats.may_mix_queries_and_events(raw):
            has_events = formats.extract_documents(raw, name, record_kind="events").strip()
            events = (raw, name) if has_events else None
        return formats.read_ubi((raw, name), events, click_actions or ("click",), anomalies)
    if log_format == "living-labs":
        return formats.split_flat_table(formats.read_living_labs(raw, name))
    if log_format == "yandex":
        return formats.read_yandex(raw, name, anomalies)
    return formats.read_pyclick(raw, name)


def _check_query_ids(table: Table, name: object) -> None:
    """Refuse ids of queries as ids of pages if several sessions or users have the same id."""
    units = pl.col("session", "user")
    is_other = table.frame.select(units.ne_missing(units.first().over("page")))
    problem = f"column {quote(name)} is not the id of a page: an id occurs in several"
    remedy = "add a column page with an id for each page view"
    table.refuse(is_other["session"], lambda row: f"{problem} sessions; {remedy}")
    table.refuse(is_other["user"], lambda row: f"{problem} users; {remedy}")


def _read_three_tables(source: Any, results: Any, clicks: Any, second_table: Any) -> SourceTables:
    if results is None:
        source = formats.open_columns(source, PAGES)
        fields = (column for column in FLAT.columns if column.name in {"rank", "doc"})
        if all(column.find_in(source.names) for column in fields):
            # Shown results with the columns of their pages, such as interleaved lists.
            table = formats.open_table(source, FLAT)
            reason = "rank must be at least 1, got 0; add 1 to the ranks of both tables"
            table.refuse(table.frame["rank"] == 0, lambda row: reason)
            tables = formats.split_flat_table(table, clicks is not None)
            if clicks is None:
                return tables
            if tables.clicks is not None:
                reason = "has a column of clicks and cannot be combined with a table of clicks"
                raise InputError(reason, source=source.source)
            return tables._replace(clicks=formats.open_table(clicks, CLICKS, may_be_empty=True))
    if second_table is not None:
        columns = formats.open_columns(second_table, CLICKS)
        if _looks_like_results(formats.open_table(columns, CLICKS, may_be_empty=True)):
            note = "is read as results, because it has all ranks of its pages and no times"
            warn(f"{columns.source}: {note}; use results=FILE or clicks=FILE to choose")
            results, clicks = columns, None
        else:
            clicks = columns
    if clicks is not None:
        source, clicks = formats.open_columns(source, PAGES), formats.open_columns(clicks, CLICKS)
        _warn_of_zones(source, clicks)
    pages = formats.open_table(source, PAGES)
    open_table = partial(formats.open_table, may_be_empty=True)
    result_table = None if results is None else open_table(results, RESULTS)
    click_table = None if clicks is None else open_table(clicks, CLICKS)
    if result_table is not None and click_table is not None:
        has_more_rows = click_table.frame.height > result_table.frame.height
        if has_more_rows and _looks_like_results(click_table):
            cause = f"has more rows than {result_table.source}, all ranks of its pages and no times"
            expected = "expected pages, results and clicks in this order"
            reason = f"seems to be the table of results, because it {cause}; {expected}"
            raise InputError(reason, source=click_table.source)
    if result_table is not None and result_table.frame.is_empty():
        _warn_of_no_results(result_table)
    return SourceTables(pages, result_table, click_table)


_ZONE = r":\d\d(?:\.\d+)?\s*(?:[zZ]|UTC|GMT|[+-]\d\d(?::?\d\d)?)$"


def _warn_of_zones(pages: Columns, clicks: Columns) -> None:
    """Warn if only some of the times, or only those of pages or of clicks, have a time zone."""
    has_zones = {}
    for columns, schema in ((pages, PAGES), (clicks, CLICKS)):
        column = next(column for column in schema.columns if column.name == "time")
        for k in column.find_in(columns.names)[:1]:
            times = pl.Series(columns.cells(k), strict=False).drop_nulls()
            if times.dtype == pl.String and (texts := times.filter(times.str.contains(":"))).len():
                has_zone = texts.str.contains(_ZONE)
                has_zones[columns.source] = bool(has_zone.any())
                if has_zone.any() and (n_local := int((~has_zone).sum())):
                    sizes = f"{n_local:,} of {inflect(texts.len(), 'time')}"
                    warn(f"{columns.source}: {sizes} without a time zone read as UTC")
    if {*has_zones.values()} == {True, False}:
        with_zone, without_zone = sorted(has_zones, key=has_zones.__getitem__, reverse=True)
        note = f"times of {with_zone} have a time zone, but those of {without_zone} have none"
        warn(f"{note} and are read as UTC")


def _looks_like_results(clicks: Table) -> bool:
    """Return True if a table of clicks has each rank of its pages once, from 1, and no times."""
    names = {*clicks.names}
    if not {"rank", "doc"} <= names or names & {"time", "end", "dwell", "censored", "clicks"}:
        return False
    rank = pl.col("rank")
    has_all_ranks = (pl.len() == rank.max()) & (rank.n_unique() == pl.len())
    pages = clicks.frame.group_by("page").agg(max_rank=rank.max(), has_all_ranks=has_all_ranks)
    # Single clicks on the first results of pages would also have all ranks from 1.
    return bool(pages["has_all_ranks"].all() and (pages["max_rank"] > 1).any())


def _warn_of_no_results(results: Table, is_expected: bool = False) -> None:
    # A table of pages in memory is read without a warning, if it has no column of documents.
    if is_expected or "doc" in results.names:
        warn(f"{results.source}: no page has results; expected a column doc with documents")


def _read_raw(source: Any, log_format: str, may_be_empty: bool = False) -> tuple[bytes, str]:
    if not isinstance(source, (str, PathLike)):
        reason = f"must be a file, got {type(source).__name__}"
        raise InputError(f"a log of format {log_format} {reason}")
    file = Source.from_path(source)
    is_json = log_format in {"ubi", "living-labs"}
    # The lines of the other formats are separated by tabs.
    table_formats = {"csv", "parquet"} | ({"tsv"} if is_json else set())
    if (file_format := FORMAT_OF_SUFFIX.get(file.suffix)) in table_formats:
        records = "JSON lines" if is_json else "lines of text"
        reason = f"a log of format {log_format} must be {records}, got a file of {file_format}"
        remedy = "convert it to tables of pages, results and clicks"
        raise InputError(f"{reason}; {remedy}", source=file.name)
    raw = file.read()
    if formats.is_blank(raw) and not may_be_empty:
        raise InputError(_EMPTY_LOG, source=file.name)
    return raw, file.name


_EMPTY_LOG = "is empty; expected a log with at least one page"


def find_log(
    folder: Path, log_format: str = "auto"
) -> tuple[str, tuple[str, str | None, str | None]]:
    """Find the format of a log in a folder, and its files of pages, results and clicks."""
    queries = _find_file(folder, "ubi_queries") if log_format in {"auto", "ubi"} else None
    if queries is not None:
        return "ubi", (queries, None, _find_file(folder, "ubi_events"))
    if log_format not in {"auto", "tables"}:
        raise InputError(f"has no log of format {log_format}", source=str(folder))
    return "tables", find_tables(folder)


def find_tables(folder: Path) -> tuple[str, str | None, str | None]:
    """Find the files of pages, results and clicks in a folder."""
    pages, results, clicks = (_find_file(folder, name) for name in ("pages", "results", "clicks"))
    if pages is None:
        reason = "expected a file of pages, such as pages.csv or pages.parquet, got none"
        raise InputError(reason, source=str(folder))
    return pages, results, clicks


_SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson")
_COMPRESSIONS = ("", ".gz", ".bz2", ".xz", ".zst")


def _find_file(folder: Path, name: str) -> str | None:
    suffixes = (suffix + compression for suffix in _SUFFIXES for compression in _COMPRESSIONS)
    names = [path for suffix in suffixes if (folder / (path := f"{name}{suffix}")).is_file()]
    if len(names) > 1:
        reason = f"has several files of {name}; keep one: {', '.join(names)}"
        raise InputError(reason, source=str(folder))
    return str(folder / names[0]) if names else None


_PATTERNS = (
    ("sessions", re.compile(r"\s*<")),
    ("yandex", re.compile(r"[^\t\n]*\t(?:[^\t\n]*\t[QC]|M)\t")),
    ("pyclick", re.compile(r"[^\t\n]*\t[^\t\n]*:")),
)


def _detect_format(source: Any, has_tables: bool) -> str:
    if isinstance(source, Sessions):
        return "sessions"
    table = "tables" if has_tables else "flat"
    if not isinstance(source, (str, PathLike)):
        return table
    file = Source.from_path(source)
    suffix = FORMAT_OF_SUFFIX.get(file.suffix)
    if suffix in {"csv", "parquet"}:
        return table
    with file.open() as stream:
        start = stream.read(1 << 16)
    head = start.removeprefix(BOM_UTF8).decode(errors="replace")
    if suffix == "tsv":
        is_yandex = not has_tables and dict(_PATTERNS)["yandex"].match(head)
        return "yandex" if is_yandex else table
    if suffix == "json" and not formats.is_listing(start):
        return table
    if head.lstrip().startswith(("{", "[")):
        keys = {fold_name(key) for key in re.findall(r'"([^"\\]{1,40})"\s*:', head)}
        if {"ranking", "qid"} <= keys:
            return "living-labs"
        is_ubi = {"userquery", "queryresponsehitids"} & keys and "queryid" in keys
        return "ubi" if is_ubi else table
    if suffix is not None:
        return table
    for log_format, pattern in _PATTERNS:
        if pattern.match(head):
            return log_format
    table_files = "a table with a header must be a file with a suffix such as .csv or .tsv"
    reason = f"is not a log of a known format; {table_files}, other files require format=..."
    raise InputError(reason if head.strip() else _EMPTY_LOG, source=file.name)


_FILE = Path(__file__).parents[2] / "data" / "simulated_log.parquet"


@cache
def simulated_log() -> QueryLog:
    """Return a small simulated log for examples, with about 3,000 pages of 400 users.

    Clicks are drawn from a dynamic Bayesian network (Chapelle and Zhang, 2009) in which clicks and
    satisfaction depend on grades. Queries are topics of TREC-COVID, and pages show the top ten
    documents of one of its runs in the `variant` control, and of a better run in the `variant`
    treatment. For a fifth of the users the two runs are interleaved by team draft, and each result
    has its `team`. The log is generated by `studies/make_simulated_log.py`.

    Returns
    -------
    QueryLog
        The same object at each call.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.simulated_log()
    QueryLog(3,209 pages, ...)
    """
    pages = pl.read_parquet(_FILE)
    results, clicks = (
        pages.select(name, page="id").explode(name, empty_as_null=False).drop_nulls(name)
        for name in ("results", "clicks")
    )
    results, clicks = results.unnest("results"), clicks.unnest("clicks")
    # The file has dwell times with one decimal.
    clicks = clicks.with_columns(pl.col("dwell").cast(pl.Float64).round(1))
    log = read_log(pages.drop("results", "clicks"), results, clicks)
    return QueryLog(log.pages, log.results, log.clicks, "simulated log", log.anomalies)
