"""Read sessions from tables, from JSON or from the XML of the TREC Session track."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import nan
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, add_source, check_choice, quote, warn
from cranfield.base.text import inflect
from cranfield.collection.files.named_columns import DOC, SCORE
from cranfield.collection.run import warn_of_missing_ranks
from cranfield.sessions.log import (
    CLICK_SCHEMA,
    DEFAULT_SYSTEM,
    LIST_KEY,
    QUERY_SCHEMA,
    RESULT_KEY,
    RESULT_SCHEMA,
    Sessions,
    mask_first_occurrences,
)
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import make_pair_reader, read_mapping_columns, read_table
from cranfield.sources.schemas import (
    NAMED_FORMATS,
    FileColumn,
    Lines,
    Schema,
    declare_optional,
    split_at_tabs,
)
from cranfield.sources.summaries import suspect_totals
from cranfield.sources.text import Element, read_xml
from cranfield.sources.values import GRADE, ID, ValueKind, accept_any, is_absent, parse_number

_NO_TIME = frozenset({"", "na", "nan"})
_MAX_SECONDS = 1e11  # Maximum number of seconds since 1970; larger numbers are milliseconds


def _parse_positive_integer(cell: Any) -> int | None:
    value: int | None = GRADE.read(cell)
    return value if value is not None and value >= 1 else None


def _parse_seconds(cell: Any) -> float | None:
    if is_absent(cell, _NO_TIME) or isinstance(cell, bool):
        return None
    if isinstance(cell, str) and parse_number(cell) is None:
        try:
            cell = datetime.fromisoformat(cell.strip())
        except ValueError:
            return None
    if isinstance(cell, datetime):
        # Times without a zone are in UTC, whatever the zone of the machine.
        return (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).timestamp()
    seconds = parse_number(cell)
    return seconds / 1000 if seconds is not None and seconds > _MAX_SECONDS else seconds


def _parse_query(cell: Any) -> str | None:
    """Read a query id; integers are written without decimals, so that 1.0 is 1."""
    value = None if isinstance(cell, bool) else parse_number(cell)
    is_integer = value is not None and value.is_integer() and "." in str(cell)
    return str(int(value)) if value is not None and is_integer else ID.read(cell)


def _parse_click_count(cell: Any) -> int | None:
    truth = {"true": 1, "false": 0}.get(str(cell).strip().lower())
    count: int | None = GRADE.read(cell) if truth is None else truth
    return count if count is not None and count >= 0 else None


CLICK_COUNT = ValueKind(_parse_click_count, pl.Int64, "not true, false or an integer >= 0")
POSITIVE_INTEGER = ValueKind(
    _parse_positive_integer, pl.Int32, "not a positive integer; ranks count from 1"
)
SECONDS = ValueKind(
    _parse_seconds,
    pl.Float64,
    "not a number of seconds or a time such as 2024-05-01T10:00:00",
    lambda cell: is_absent(cell, _NO_TIME),
)
TEXT = ValueKind(lambda cell: None if cell is None else str(cell), becomes_null=accept_any)

SYSTEM = declare_optional("system", ID)
SESSION = FileColumn("session", ID)
TOPIC = FileColumn("topic", ID, "topic of session")
QUERY = FileColumn("query", replace(ID, read=_parse_query, types=None), "query of session")


def _convert_topics(data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
    if all(isinstance(topic, (str, int)) for topic in data.values()):
        if TOPIC.find_in([*data]):
            raise InputError("expected an array of records, got one record", source=source)
        return make_pair_reader("session", "topic")(data, source)
    return read_mapping_columns(data, source)


_SESSIONS = Schema(
    "table of sessions",
    (
        *(SESSION, QUERY, DOC, SYSTEM),
        declare_optional("topic", ID, TOPIC.meaning),
        declare_optional("rank", POSITIVE_INTEGER, "clicked rank"),
        declare_optional("score", SCORE.kind),
        *(declare_optional("title", TEXT), declare_optional("snippet", TEXT)),
        declare_optional("user", ID, "user of session"),
        declare_optional("time", replace(SECONDS, becomes_null=accept_any), "time of query"),
    ),
    read_mapping=read_mapping_columns,
    suspicions=suspect_totals("session"),
)
CLICK_COLUMNS = Schema(
    "table of clicks",
    (
        *(SESSION, QUERY, SYSTEM),
        declare_optional("rank", replace(POSITIVE_INTEGER, becomes_null=is_absent), "clicked rank"),
        declare_optional("doc", replace(ID, becomes_null=is_absent)),
        declare_optional("start", SECONDS, noun="time"),
        declare_optional("end", SECONDS, noun="time"),
        declare_optional(
            "dwell", replace(SECONDS, read=parse_number, problem="not a number of seconds")
        ),
        declare_optional("clicks", CLICK_COUNT),
    ),
    read_mapping=read_mapping_columns,
    decisive_kinds=("status", "count", "event"),
)
TOPICS = Schema(
    "table of session topics",
    (SESSION, TOPIC),
    lines=Lines(("session", "topic"), 2, split=lambda x: split_at_tabs(x, {2}) or x.split()),
    read_mapping=_convert_topics,
)


_DOCUMENT_TAG = re.compile(r"clueweb\d+id|docid|docno|doc")
_TEXT_TAGS = {"title", "snippet", "rank"}
_CLOCK = re.compile(r"(\d{1,3}):([0-5]?\d):([0-5]?\d(?:\.\d{1,12})?)", re.ASCII)
_SECONDS = re.compile(r"-?\d{1,15}(?:\.\d{1,12})?", re.ASCII)
_DIGITS = re.compile(r"\d{1,9}", re.ASCII)
_ITEM_TAGS = {"interaction", "result", "click"}
_MISSING_TIMES = {"", "NA", "NaN", "nan"}


def _make_error(element: Element, reason: str) -> InputError:
    return InputError(reason, line=element.line)


def _read_attribute(element: Element, name: str) -> str:
    value = element.attributes.get(name, "").strip()
    if not value:
        raise _make_error(element, f"expected an attribute {name} of the {element.tag}, got none")
    return value


def _parse_element_number(element: Element, text: str, noun: str) -> int:
    text = text.strip()
    if not _DIGITS.fullmatch(text) or int(text) < 1:
        raise _make_error(element, f"{noun} must be a positive integer, got {quote(text)}")
    return int(text)


def _read_texts(item: Element) -> dict[str, str]:
    """Read the rank, document, title and snippet of a result or a click, empty if missing."""
    texts = dict.fromkeys(("rank", "doc", "title", "snippet"), "")
    for element in item.walk():
        if element.tag in _ITEM_TAGS and element is not item:
            raise _make_error(element, f"{element.tag} must not be inside a {item.tag}")
        if _DOCUMENT_TAG.fullmatch(element.tag):
            texts["doc"] = element.text.strip()
        elif element.tag in _TEXT_TAGS:
            texts[element.tag] = element.text
    return texts | {"rank": texts["rank"].strip()}


def _read_time(element: Element, name: str) -> float:
    text = element.attributes.get(name, "").strip()
    if text in _MISSING_TIMES:
        return nan
    if clock := _CLOCK.fullmatch(text):
        return int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3])
    if not _SECONDS.fullmatch(text):
        raise _make_error(element, f"time must be h:m:s or a number of seconds, got {quote(text)}")
    return float(text)


def read_sessions(
    data: Any, *, clicks: Any = None, topics: Any = None, on_duplicate: str = "error"
) -> Sessions:
    """Read search sessions.

    Parameters
    ----------
    data
        A log of the TREC Session track in XML; or a table with a row for each result and columns
        `session`, `query`, `doc`, `rank` or `score`, and optionally `system`, `topic`, `title`,
        `snippet` and `time` (to check the order of queries): a CSV, TSV, JSON or Parquet file, a
        data frame of any library, a dict of columns, or an iterable of mappings or named tuples.
        Files may be compressed (gz, bz2, xz, zst). `query` is the position of the query in its
        session, from 1. If any id of a query is not an integer of up to 9 digits, the queries of
        each session are numbered in order of appearance. Results with equal scores are in
        descending order of document ids, as in trec_eval.
    clicks
        A table in any of these forms with a row for each click: `session`, `query`, `rank` or
        `doc`, and optionally `system`, `start` (or `time`) and `end` (seconds, milliseconds since
        1970, or times of ISO 8601), or `dwell` in seconds. Rows with 0 or false in a column
        `clicks` or `clicked` are not clicks. A log in XML has its own clicks and cannot be combined
        with this table.
    topics
        The topic of each session: a dict, a table with columns `session` and `topic`, or a text
        file with a session and its topic on each line, such as the track's `sessiontopicmap`. A
        topic set here replaces the topic of the session in the log.
    on_duplicate
        How to treat a rank that occurs twice in a list of a table: `error` (default), or `first`,
        which keeps the first result and reports the number of excluded results.

    Raises
    ------
    InputError
        For invalid data, with the file, the line or row if known, and the reason, such as XML that
        is not well-formed, a rank that occurs twice in one list, a session with two topics, or a
        missing column.
    PolicyError
        For an unknown value of `on_duplicate`.

    Warns
    -----
    CranfieldWarning
        For anomalies, such as clicks that match no result of their list, which are excluded;
        documents repeated in one list; sessions without queries; queries whose order contradicts
        their times; ranks that contradict scores; and many tied scores.

    Examples
    --------
    >>> rows = [{"session": "s1", "query": 1, "rank": rank, "doc": f"d{rank}"} for rank in (1, 2)]
    >>> sessions = read_sessions(
    ...     rows, clicks=[{"session": "s1", "query": 1, "rank": 2, "time": 3.5}], topics={"s1": "7"}
    ... )
    >>> sessions
    Sessions(1 session, 1 query, 2 results, 1 click)
    """
    check_choice("on_duplicate", on_duplicate, ("error", "first"))
    if isinstance(data, Sessions):
        if clicks is not None or topics is not None:
            raise InputError("clicks and topics cannot be added to a Sessions object")
        return data
    if isinstance(data, (str, PathLike)) and _is_xml(source := Source(fspath(data))):
        if clicks is not None:
            reason = "has its own clicks and cannot be combined with a table of clicks"
            raise InputError(reason, source=source.name)
        sessions = _read_xml_sessions(source, topics)
    else:
        sessions = _read_session_table(data, clicks, topics, on_duplicate)
    counts, name = sessions.counts, sessions.source
    if counts.n_lost_clicks:
        warn(f"{name}: {inflect(counts.n_lost_clicks, 'click')} excluded: no such result")
    if counts.n_repeated_in_list:
        warn(f"{name}: {inflect(counts.n_repeated_in_list, 'document')} repeated in one list")
    if empty_sessions := counts.without_queries:
        subject = inflect(len(empty_sessions), "session")
        warn(f"{name}: {subject} without queries, such as {quote(empty_sessions[0])}")
    return sessions


def read_session_topics(data: Any) -> dict[str, str]:
    """Read the topic of each session.

    Parameters
    ----------
    data
        A dict `{session: topic}`, a table with columns `session` and `topic`, or a text file with a
        session and its topic on each line.

    Raises
    ------
    InputError
        For unreadable input, or a session with two topics.

    Examples
    --------
    >>> read_session_topics({1: 1, 2: 6})
    {'1': '1', '2': '6'}
    """
    table = read_table(data, TOPICS)
    return _read_value_by_session(table.frame, "topic", table.source)


def _is_xml(source: Source) -> bool:
    if source.suffix == ".xml" or FORMAT_OF_SUFFIX.get(source.suffix) in NAMED_FORMATS:
        return source.suffix == ".xml"
    with source.open() as stream:
        if stream.read(256).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            return True
    suffixes = ", ".join(s for s, form in FORMAT_OF_SUFFIX.items() if form in NAMED_FORMATS)
    raise InputError(
        "the suffix does not name a format of sessions; expected XML of the TREC Session track, or"
        f" a table (session, query, rank, doc) with one of the suffixes {suffixes}",
        source=source.name,
    )


def _read_value_by_session(frame: pl.DataFrame, column: str, source: str) -> dict[str, str]:
    """Read the topic or the user of each session; refuse a session with several values."""
    pairs = frame.select("session", column).unique(maintain_order=True)
    values: dict[str, str] = {}
    for session, value in pairs.iter_rows():
        if session in values:
            pair = f"{quote(values[session])} and {quote(value)}"
            reason = f"session {quote(session)} has more than one {column}: {pair}"
            raise InputError(reason, source=source)
        values[session] = value
    return values


def _read_log(
    source: Source,
) -> tuple[dict[str, str | None], list[str | None], dict[str, list[list[Any]]]]:
    """Read the sessions of a log with their topics, the current queries, and rows by element."""
    topic_by_session: dict[str, str | None] = {}
    current_queries: list[str | None] = []
    rows: dict[str, list[list[Any]]] = {"query": [], "result": [], "click": []}
    keys: set[object] = set()
    session, query = -1, 0

    def check_new(element: Element, noun: str, *key: object) -> None:
        if (noun, *key) in keys:
            raise _make_error(element, f"{noun} {quote(key[-1])} occurs twice")
        keys.add((noun, *key))

    with add_source(source.name):
        for element in read_xml(source).walk():
            parent = element.parent.tag if element.parent else ""
            match element.tag:
                case "session":
                    name = _read_attribute(element, "num")
                    check_new(element, "session", name)
                    topic_by_session[name], query, session = None, 0, session + 1
                    current_queries.append(None)
                case _ if session < 0:
                    continue
                case "topic" if parent == "session":
                    topic_by_session[name] = element.attributes.get("num", "").strip() or None
                case "interaction":
                    number = element.attributes.get("num", str(query + 1))
                    query = _parse_element_number(element, number, "query number")
                    check_new(element, "query", session, query)
                    start = _read_time(element, "starttime")
                    rows["query"].append([0, session, query, "", start])
                case "query" if parent == "currentquery":
                    current_queries[-1] = element.text.strip()
                case "query" if parent == "interaction":
                    rows["query"][-1][3] = element.text.strip()
                case "result":
                    texts = _read_texts(element)
                    rank = _parse_element_number(element, _read_attribute(element, "rank"), "rank")
                    if not texts["doc"]:
                        raise _make_error(element, f"result {rank} has no document")
                    check_new(element, "rank", session, query, rank)
                    columns = (texts[column] for column in ("doc", "title", "snippet"))
                    rows["result"].append([0, session, query, rank, *columns])
                case "click":
                    texts = _read_texts(element)
                    if not texts["rank"] and not texts["doc"]:
                        raise _make_error(element, "a click must have a rank or a document")
                    times = _read_time(element, "starttime"), _read_time(element, "endtime")
                    has_rank = texts["rank"] != ""
                    rank = _parse_element_number(element, texts["rank"], "rank") if has_rank else 0
                    rows["click"].append([0, session, query, rank or None, *times, texts["doc"]])
        if not topic_by_session:
            raise InputError("expected at least one session, got none")
    return topic_by_session, current_queries, rows


def _read_xml_sessions(source: Source, topics: Any) -> Sessions:
    log_topics, current_queries, rows = _read_log(source)
    topic_by_session = {} if topics is None else read_session_topics(topics)
    queries = pl.DataFrame(rows["query"], QUERY_SCHEMA, orient="row")
    results = pl.DataFrame(rows["result"], RESULT_SCHEMA, orient="row")
    clicks = pl.DataFrame(rows["click"], CLICK_SCHEMA | {"doc": pl.String}, orient="row")
    # A click with a document but no rank is on the best rank of that document.
    keys = ["session", "query", "doc"]
    best_ranks = results.group_by(keys).agg(best_rank=pl.col("rank").min())
    clicks = clicks.join(best_ranks, on=keys, how="left", maintain_order="left")
    clicks = clicks.with_columns(rank=pl.coalesce("rank", "best_rank"))
    return _make_sessions(
        names=[*log_topics],
        topics=[topic_by_session.get(*pair) for pair in log_topics.items()],
        systems=[DEFAULT_SYSTEM],
        current_queries=current_queries,
        frames=[queries, results, clicks],
        source=source.name,
    )


def _warn_of_order(
    results: pl.DataFrame, columns: Sequence[str], names: Sequence[str], source: str
) -> None:
    """Warn of missing ranks, scores that contradict ranks, scores that only rise, and many ties."""
    if "rank" in columns:
        lists = results.select(LIST_KEY).unique(maintain_order=True).with_row_index("list")
        codes = results.join(lists, on=LIST_KEY, how="left", maintain_order="left")["list"]
        labels = [f"{names[row[2]]}, query {row[3]}" for row in lists.rows()]
        ranks = results["rank"].to_numpy().astype(np.int32)
        warn_of_missing_ranks(source, labels, codes.to_numpy().astype(np.int32), ranks, "session")
    if "score" not in columns:
        return
    sorted_results = results.sort(RESULT_KEY, maintain_order=True) if "rank" in columns else results
    score_change = pl.col("score").diff().over(LIST_KEY)
    rises = sorted_results.filter(score_change > 0)
    if "rank" in columns and rises.height:
        contradictions = inflect(rises.height, "contradiction")
        effect = "results of sessions are ordered by rank"
        warn(f"{source}: ranks contradict the scores ({contradictions}); {effect}")
    elif "rank" not in columns:
        has_falls = sorted_results.select((score_change < 0).any()).item()
        if not has_falls and rises.height >= 4 and rises.select(LIST_KEY).n_unique() > 1:
            warn(
                f"{source}: in the order of the file, the scores of no list ever fall, but high"
                " scores rank first; if low scores are better, add a column of ranks"
            )
        n_tied = int(results.select(*LIST_KEY, "score").is_duplicated().sum())
        if n_tied > 0.2 * results.height:
            warn(
                f"{source}: {n_tied:,} of {inflect(results.height, 'result')} are tied with another"
                " result of the list; document ids break the ties"
            )


def _read_session_table(data: Any, clicks: Any, topics: Any, on_duplicate: str) -> Sessions:
    table = read_table(data, _SESSIONS)
    source = table.source
    if not {"rank", "score"} & {*table.names}:
        raise InputError("expected a column rank or score, got neither", source=source)
    frame = table.frame.with_columns(pl.col("system").fill_null(DEFAULT_SYSTEM))
    topic_by_session = (
        _read_value_by_session(frame, "topic", source) if "topic" in table.names else {}
    )
    if "user" in table.names:
        _read_value_by_session(frame.drop_nulls("user"), "user", source)
        if frame["user"].n_unique() > 1:
            warn(f"{source}: columns not used: 'user', as sessions are scored, not users")
    topic_by_session |= {} if topics is None else read_session_topics(topics)
    names = frame["session"].unique(maintain_order=True).to_list()
    systems = frame["system"].unique(maintain_order=True).to_list()
    keys = frame.select(*LIST_KEY).unique(maintain_order=True)
    if keys["query"].str.contains(r"^[0-9]{1,9}$").all():
        numbers = keys["query"].cast(pl.Int64)
        if numbers.min() == 0:
            raise InputError("query numbers must start at 1, got 0", source=source)
    else:
        numbers = keys.select(pl.int_range(pl.len()).over("system", "session") + 1).to_series()
        _warn_of_query_ids(keys, source)
    keys = keys.with_columns(number=numbers)
    if "time" in table.names:
        _warn_of_times(frame, keys, source)
    if keys.select("system", "session", "number").is_duplicated().any():
        reason = "query numbers must be distinct, got the same with and without leading zeros"
        raise InputError(reason, source=source)
    if (first_number := min(keys["number"])) > 1:
        warn(
            f"{source}: query numbers must be positions in the session, but the lowest is"
            f" {first_number}; if they are ids, number the queries of each session from 1"
        )
    results = _encode(frame, keys, names, systems)
    _warn_of_order(results, table.names, names, source)
    if "rank" not in table.names:
        rank = pl.int_range(pl.len(), dtype=pl.Int64).over(LIST_KEY) + 1
        results = results.sort("score", "doc", descending=True, maintain_order=True)
        results = results.with_columns(rank=rank)
    is_first = mask_first_occurrences(results, *RESULT_KEY)
    repeat_rows = (~is_first).arg_true()
    if len(repeat_rows) and on_duplicate == "first":
        subject = inflect(len(repeat_rows), "result")
        warn(f"{source}: {subject} excluded: an earlier result of the list has the same rank")
        results = results.filter(is_first)
    elif len(repeat_rows):
        row = results.row(int(repeat_rows[0]), named=True)
        query = f"query {row['query']} of session {quote(names[row['session']])}"
        raise InputError(f"rank {row['rank']} occurs twice in {query}", source=source)
    queries = results.select(LIST_KEY).unique(maintain_order=True)
    queries = queries.with_columns(text=pl.lit(None, pl.String), start=pl.lit(None, pl.Float64))
    return _make_sessions(
        names=names,
        topics=[topic_by_session.get(name) for name in names],
        systems=systems,
        current_queries=[None] * len(names),
        frames=[queries, results, _read_clicks(clicks, keys, names, systems, results)],
        source=source,
    )


def _warn_of_query_ids(keys: pl.DataFrame, source: str) -> None:
    """Warn if ids of queries such as `31_10` and `31_2` are not in the order of their numbers."""
    prefix, number = (pl.col("query").str.extract(r"^(.*\D)(\d{1,4})$", k) for k in (1, 2))
    group = ["system", "session"]
    ids = keys.with_columns(prefix=prefix, number=number.cast(pl.Int64))
    ids = ids.with_columns(
        previous=pl.col("query").shift().over(group),
        is_out_of_order=(pl.col("number").diff() < 0).over(group),
        n_prefixes=pl.col("prefix").n_unique().over(group),
    )
    misordered = ids.filter("is_out_of_order", pl.col("n_prefixes") == 1)
    if misordered.height:
        pair = f"{quote(misordered['previous'][0])} before {quote(misordered['query'][0])}"
        warn(
            f"{source}: queries are numbered in order of appearance, which contradicts the numbers"
            f" in their ids ({pair}); sort the rows by these numbers, or number queries from 1"
        )


def _warn_of_times(frame: pl.DataFrame, keys: pl.DataFrame, source: str) -> None:
    """Warn if the numbers of the queries of a session contradict their times."""
    group = ["system", "session"]
    if frame["time"].null_count() == frame.height:
        warn(f"{source}: column of times not used, because no time could be read")
    times = frame.group_by(LIST_KEY).agg(pl.col("time").min()).drop_nulls()
    queries = keys.join(times, on=LIST_KEY).sort(*group, "number")
    previous = pl.col("query").shift().over(group)
    queries = queries.with_columns(previous=previous)
    misordered = queries.filter((pl.col("time").diff() < 0).over(group))
    if misordered.height:
        pair = f"{quote(misordered['previous'][0])} before {quote(misordered['query'][0])}"
        warn(
            f"{source}: the order of queries contradicts their times ({pair}); number the queries"
            " of each session from 1 in order of time"
        )


def _read_clicks(
    clicks: Any, keys: pl.DataFrame, names: list[str], systems: list[str], results: pl.DataFrame
) -> pl.DataFrame:
    """Read clicks; the query of a click on an unknown list is null."""
    if clicks is None:
        return pl.DataFrame(schema=CLICK_SCHEMA)
    table = read_table(clicks, CLICK_COLUMNS)
    if not {"rank", "doc"} & {*table.names}:
        raise InputError("expected a column rank or doc, got neither", source=table.source)
    has_no_key = pl.all_horizontal(pl.col("rank", "doc").is_null())
    table.check({"a click must have a rank or a document": has_no_key})
    if "system" not in table.names and len(systems) > 1:
        reason = f"expected a column system, because the sessions are of {len(systems)} systems"
        raise InputError(reason, source=table.source)
    if "clicks" in table.names:
        table = table.gather(table.frame.select(pl.arg_where(pl.col("clicks") > 0)).to_series())
    frame = table.frame.with_columns(pl.col("system").fill_null(systems[0]))
    if "dwell" in table.names:
        # Without times, clicks are in the order of the file.
        start = pl.col("start") if "start" in table.names else pl.lit(0.0)
        frame = frame.with_columns(end=pl.coalesce("end", start + pl.col("dwell")), start=start)
    frame = _encode(frame, keys, names, systems)
    by_rank = results.select(*RESULT_KEY, hit="doc").with_columns(pl.col("rank").cast(pl.Int32))
    frame = frame.join(by_rank, on=RESULT_KEY, how="left", maintain_order="left")
    is_other_doc = frame["doc"].is_not_null() & frame["doc"].ne_missing(frame["hit"])
    if is_other_doc.any():
        key = [*LIST_KEY, "doc"]
        by_doc = results.sort("rank").unique(key, keep="first").select(*key, doc_rank="rank")
        frame = frame.join(by_doc, on=key, how="left", maintain_order="left")
        has_rank = frame["rank"].is_not_null()
        frame = frame.with_columns(rank=pl.when(is_other_doc).then("doc_rank").otherwise("rank"))
        if n_moved := int((is_other_doc & has_rank & frame["rank"].is_not_null()).sum()):
            subject = inflect(n_moved, "click")
            reason = "counted at the rank of the document, which differs from the rank of the click"
            warn(f"{table.source}: {subject} {reason}")
    return frame


def _encode(
    frame: pl.DataFrame, keys: pl.DataFrame, names: list[str], systems: list[str]
) -> pl.DataFrame:
    """Replace names of systems and sessions by indices, and queries by numbers."""
    numbered = frame.join(keys, on=LIST_KEY, how="left", maintain_order="left")
    codes = (
        pl.col(name).replace_strict(labels, range(len(labels)), default=None, return_dtype=pl.Int64)
        for name, labels in (("system", systems), ("session", names))
    )
    return numbered.with_columns(*codes, query="number").drop("number")


def _make_sessions(
    *,
    names: list[str],
    topics: list[str | None],
    systems: list[str],
    current_queries: list[str | None],
    frames: list[pl.DataFrame],
    source: str,
) -> Sessions:
    """Sort the data frames of queries, results and clicks; exclude clicks without a result."""
    queries, results, clicks = (
        frame.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
        for frame, schema in zip(frames, (QUERY_SCHEMA, RESULT_SCHEMA, CLICK_SCHEMA), strict=True)
    )
    results = results.sort(*RESULT_KEY, maintain_order=True)
    n_clicks = clicks.height
    clicks = clicks.join(results, on=RESULT_KEY, how="semi", maintain_order="left")
    # A click without a time stays after the previous click.
    start_time = pl.col("start").fill_nan(None).forward_fill().over("system", "session")
    clicks = clicks.sort("system", "session", start_time, maintain_order=True, nulls_last=False)
    return Sessions(
        names=tuple(names),
        topics=tuple(topics),
        systems=tuple(systems),
        current_queries=tuple(current_queries),
        queries=queries.sort(*LIST_KEY, maintain_order=True),
        results=results,
        clicks=clicks,
        source=source,
        n_lost_clicks=n_clicks - clicks.height,
    )
