"""Convert logs of several formats to tables of pages, results and clicks."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quote, warn
from cranfield.base.text import inflect, list_some, suggest_names
from cranfield.collection.files.named_columns import DOC
from cranfield.online.log.cells import CLICKS, FLAT, PAGES, RESULTS, TIME
from cranfield.online.log.linking import Anomalies, SourceTables, number_pages
from cranfield.online.log.query_log import PAGE_TYPES, RESULT_TYPES
from cranfield.sessions.log import Sessions
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import (
    Columns,
    Table,
    convert_columns,
    read_columns,
    read_frame_columns,
)
from cranfield.sources.schemas import Schema
from cranfield.sources.summaries import suspect_totals
from cranfield.sources.text import decode_text, parse_json, parse_json_lines
from cranfield.sources.values import parse_number

LINE = "(line)"  # Column with the line number of each row in its file
_ATTRIBUTES = ("team", "propensity", "grade")

Types = Mapping[str, Any]
_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
)
"""Half of a surrogate pair, which is not valid text."""

_ACTION = re.compile(rb'\s*\{\s*"(?:index|create)"\s*:\s*\{')
_HIT = re.compile(rb'\s*\{\s*"_index"\s*:.*"_source"')
_LISTING = re.compile(rb'\s*(?:\[|\{\s*"took"\s*:)')  # An array, or a response


def is_blank(raw: bytes) -> bool:
    """Return True if a file has no text except whitespace and a byte order mark."""
    return not raw.removeprefix(BOM_UTF8).strip()


def is_bulk(raw: bytes) -> bool:
    """Return True if a file is a bulk file of OpenSearch, with an action above each document."""
    return _ACTION.match(raw.removeprefix(BOM_UTF8)) is not None


def is_listing(raw: bytes) -> bool:
    """Return True if a file is an array of documents or a response of OpenSearch."""
    return _LISTING.match(raw.removeprefix(BOM_UTF8)) is not None


def may_mix_queries_and_events(raw: bytes) -> bool:
    """Return True if a file of UBI may have both queries and events."""
    return is_bulk(raw) or (b'"action_name"' in raw and b'"user_query"' in raw)


def extract_documents(raw: bytes, source: str, record_kind: str | None = None) -> bytes:
    """Extract all documents, `queries` or `events` of an OpenSearch file; keep other files."""
    raw = raw.removeprefix(BOM_UTF8)
    if _LISTING.match(raw):
        listing = parse_json(decode_text(raw, source), source)
        hits = listing
        for _ in range(2):  # A response is {"hits": {"hits": [...]}}.
            hits = hits.get("hits") if isinstance(hits, dict) else hits
        if isinstance(hits, list) and all(isinstance(hit, dict) for hit in hits):
            documents = [hit.get("_source", hit) for hit in hits]
            raw = b"\n".join(json.dumps(document).encode() for document in documents)
    is_bulk_file, is_hits = is_bulk(raw), _HIT.match(raw) is not None
    is_mixed = record_kind is not None and may_mix_queries_and_events(raw)
    if not (is_bulk_file or is_hits or is_mixed):
        return raw
    json_records, lines = parse_json_lines(decode_text(raw, source), source)
    texts = [b""] * (raw.count(b"\n") + 1)
    is_action = is_bulk_file
    for record, line in zip(json_records, lines, strict=True):
        if not isinstance(record, dict):
            raise InputError("is not a JSON object", source=source, line=line)
        if is_action and not (len(record) == 1 and {"index", "create"} & record.keys()):
            reason = "expected the action index or create above each document of a bulk file"
            raise InputError(reason, source=source, line=line)
        document = record.get("_source") if is_hits else record
        is_event = isinstance(document, dict) and "action_name" in document
        if not is_action and not (is_mixed and is_event != (record_kind == "events")):
            texts[line - 1] = json.dumps(document).encode()
        is_action = is_bulk_file and not is_action
    return b"\n".join(texts)


def read_records(
    raw: bytes,
    source: str,
    record_name: str,
    types: Types | None = None,
    record_kind: str | None = None,
) -> pl.DataFrame:
    """Read JSON objects with their :data:`LINE`; by default all fields, as text unless nested."""
    documents = extract_documents(raw, source, record_kind)
    if not is_listing(raw):
        return _read_lines(documents, source, record_name, types)
    try:
        frame = _read_lines(documents, source, record_name, types)
    except InputError as error:
        reason = error.reason if error.line is None else f"row {error.line}: {error.reason}"
        raise InputError(reason, source=source) from None
    return frame.with_columns(pl.lit(None, pl.Int64).alias(LINE))


def _read_lines(raw: bytes, source: str, record_name: str, types: Types | None) -> pl.DataFrame:
    """Read JSON objects, one per line, with their :data:`LINE`."""
    if b"\\u" in raw and (surrogate := _LONE_SURROGATE.search(raw)):
        line = raw.count(b"\n", 0, surrogate.start()) + 1
        raise InputError("is not valid JSON: unpaired surrogate", source=source, line=line)
    try:
        if types is None:
            # Only nested types are inferred, as a field may have both numbers and booleans.
            schema = pl.scan_ndjson(raw, infer_schema_length=None).collect_schema()
            types = {name: t if t.is_nested() else pl.String for name, t in schema.items()}
        frame = pl.read_ndjson(raw, schema=types)
    except _ERRORS:
        raise _locate_error(raw, source, record_name, types) from None
    has_brackets = frame.select(pl.col(pl.String).str.contains(r"^[\[{]").any())
    nested_names = [column.name for column in has_brackets if column[0]]
    # An object with a repeated name is refused; polars would read the first value.
    has_duplicates = any(raw.count(f'"{name}"'.encode()) > frame.height for name in frame.columns)
    if nested_names or has_duplicates:
        for record, line in zip(*parse_json_lines(decode_text(raw, source), source), strict=True):
            for name in nested_names:
                if isinstance(value := record.get(name), (list, dict)):
                    reason = f"expected text or a number in {quote(name)}, got {quote(value)}"
                    raise InputError(reason, source=source, line=line)
    # Blank lines have no row.
    lines = [k for k, line in enumerate(raw.split(b"\n"), 1) if line.strip()]
    lines = lines if len(lines) == frame.height else [*range(1, frame.height + 1)]
    return frame.with_columns(pl.Series(LINE, lines, dtype=pl.Int64))


def _locate_error(raw: bytes, source: str, record_name: str, types: Types | None) -> InputError:
    """Return the error for the first line that cannot be read."""
    json_records, lines = parse_json_lines(decode_text(raw, source), source)
    for record, line in zip(json_records, lines, strict=True):
        if not isinstance(record, dict):
            return InputError("is not a JSON object", source=source, line=line)
    texts = raw.split(b"\n")

    def is_unreadable(line: int) -> bool:
        try:
            pl.read_ndjson(b"\n".join(texts[:line]), schema=types, infer_schema_length=None)
        except _ERRORS:
            return True
        return False

    line = lines[bisect_left(lines[:-1], True, key=is_unreadable)]
    if re.search(rb"\b(NaN|Infinity)\b", texts[line - 1]):
        reason = "is not valid JSON: NaN and Infinity are not JSON numbers"
    else:
        problem = "a field has another type than in the lines above"
        if types is not None:
            record = json_records[lines.index(line)]
            problem = f"a field has an unexpected type{_describe_field(record, types)}"
        reason = f"is not a record of {record_name}: {problem}"
    return InputError(reason, source=source, line=line)


def _describe_field(record: Any, types: Types) -> str:
    """Describe the first field of a record that should be a list or an object, but is not."""
    for name, dtype in types.items():
        value = record.get(name)
        if value is None or not isinstance(dtype, (pl.List, pl.Struct)):
            continue
        noun, expected = ("a list", list) if isinstance(dtype, pl.List) else ("an object", dict)
        if not isinstance(value, expected):
            return f": expected {noun} in {quote(name)}, got {quote(value)}"
        if isinstance(dtype, pl.Struct) and (problem := _describe_field(value, dtype.to_schema())):
            return problem
    return ""


def open_columns(data: Any, schema: Schema) -> Columns:
    """Read the columns of a table without converting their cells."""
    if isinstance(data, Columns):
        return data
    if isinstance(data, list) and any(_has_results(row) for row in data):
        return _read_columns(json.dumps(data, default=str).encode(), schema.kind, schema)
    if not isinstance(data, (str, PathLike)):
        return read_columns(data, schema)
    source = Source.from_path(data)
    file_format, name = FORMAT_OF_SUFFIX.get(source.suffix), source.name
    if file_format not in {None, "json", "jsonl"}:
        return read_columns(source, schema)
    raw = source.read()
    is_nested = file_format == "json" and is_listing(raw) and b'"results"' in raw
    is_json = file_format is None and raw.removeprefix(BOM_UTF8).lstrip().startswith((b"{", b"["))
    if not (file_format == "jsonl" or is_nested or is_json):
        return read_columns(replace(source, content=raw), schema)
    if is_blank(raw):
        # An empty file of JSON lines has no header, and is a table without rows.
        names = ["page", "query"] if schema is PAGES else ["page", "query", "rank", "doc"]
        return read_frame_columns(pl.DataFrame(schema=names), name)
    return _read_columns(raw, name, schema)


def _has_results(row: Any) -> bool:
    return isinstance(row, Mapping) and isinstance(row.get("results"), list)


def _read_columns(raw: bytes, name: str, schema: Schema) -> Columns:
    frame = read_records(raw, name, f"a {schema.kind}")
    if isinstance(dtype := frame.schema.get("results"), pl.List):
        frame = _explode_results(frame, dtype, name)
    lines = frame.drop_in_place(LINE)
    known_lines = None if lines.null_count() else lines.to_list()
    return replace(read_frame_columns(frame, name), lines=known_lines)


_RESULT_FIELDS = ("rank", "doc", "clicks", "click_time", "dwell", "censored", *_ATTRIBUTES)


def _explode_results(frame: pl.DataFrame, dtype: pl.List, source: str) -> pl.DataFrame:
    """Make a row of each result of pages that have a list of results, or of document ids."""
    fields = ["doc"]
    if isinstance(dtype.inner, pl.Struct):
        fields = [field.name for field in dtype.inner.fields]
    page_names = [name for name in frame.columns if name not in {"results", LINE}]
    if repeated_names := {*fields} & {*page_names}:
        reason = "both in the record and in its results; remove or rename one"
        raise InputError(f"has {quote(min(repeated_names))} {reason}", source=source)
    names = [*fields, *page_names]
    for column in FLAT.columns:
        positions = column.find_in(names)[:1] if column.name in _RESULT_FIELDS else []
        for name in (names[position] for position in positions if position >= len(fields)):
            example = f'"results": [{{"doc": ..., "{name}": ...}}]'
            reason = f"field {quote(name)} of the record must be in each of its results: {example}"
            raise InputError(reason, source=source)
    frame = frame.with_row_index("(row)").explode("results", empty_as_null=True, keep_nulls=True)
    rank_column = next(column for column in FLAT.columns if column.name == "rank")
    has_ranks = bool(rank_column.find_in(names))
    if not has_ranks:
        rank = pl.int_range(1, pl.len() + 1).over("(row)")
        frame = frame.with_columns(rank=pl.when(pl.col("results").is_not_null()).then(rank))
    if not isinstance(dtype.inner, pl.Struct):
        return frame.drop("(row)").rename({"results": "doc"})
    has_doc, page = frame["results"].is_not_null(), frame["(row)"]
    frame = frame.drop("(row)").unnest("results")
    if not has_ranks:
        _refuse_other_order(frame.select(fields).to_dict(), page, has_doc, source)
    has_id = "id" in fields and not DOC.find_in(frame.columns)
    return frame.rename({"id": "doc"}) if has_id else frame


def open_table(data: Any, schema: Schema, may_be_empty: bool = False) -> Table:
    """Read a table of a log; it must have a row unless `may_be_empty`."""
    columns = open_columns(data, schema)
    table = columns.make_table(schema, allows_empty=may_be_empty)
    table.check(suspect_totals(schema.columns[0].name))
    if schema in (FLAT, RESULTS) and "doc" in table.names and "rank" not in table.names:
        known_positions = schema.find_positions(columns.names, columns.source).values()
        unused_positions = {*range(len(columns.names))}.difference(known_positions)
        cells = {str(columns.names[k]): columns.get_column(k) for k in sorted(unused_positions)}
        page, doc = table.frame["page"], table.frame["doc"]
        _refuse_other_order(cells, page, doc.is_not_null(), columns.source)
    return table


def _refuse_other_order(
    columns: Mapping[str, Any], page: pl.Series, has_doc: pl.Series, source: str
) -> None:
    """Refuse to rank results by their rows if a column numbers them in another order."""
    row = pl.int_range(pl.len()).over("page")
    for name, cells in columns.items():
        if not any(map(parse_number, cells[:100])):
            continue
        numbers = pl.Series("number", [*map(parse_number, cells)], pl.Float64)
        frame = pl.DataFrame({"page": page, "number": numbers}).filter(has_doc)
        # A column of 0 and 1 may be a flag, on pages of two results.
        if frame["number"].null_count() or {*frame["number"].unique()} <= {0, 1}:
            continue
        shifts, sorted_shifts = (
            frame.select(number - row).to_series().unique()
            for number in (pl.col("number"), pl.col("number").sort().over("page"))
        )
        if len(shifts) > 1 and {*sorted_shifts} in ({0}, {1}):
            problem = f"column {quote(name)} numbers the results of each page in another order"
            remedy = "rename it to rank, or remove it if the rows are in order of rank"
            raise InputError(f"has no column rank, but {problem}; {remedy}", source=source)


def convert_frame(
    frame: pl.DataFrame, schema: Schema, source: str, may_be_empty: bool = True
) -> Table:
    """Convert a frame with columns of a schema, and optionally the :data:`LINE` of each row."""
    lines = frame.drop_in_place(LINE) if LINE in frame.columns else None
    known_lines = None if lines is None or lines.null_count() else lines.to_list()
    return convert_columns(frame.to_dict(), schema, source, known_lines, allows_empty=may_be_empty)


def count_ranks_from_one(table: Table) -> Table:
    """Read ranks of a flat table that count from 0 as ranks from 1, with a warning."""
    is_zero = table.frame["rank"] == 0
    if not is_zero.any():
        return table
    first_rank = table.frame.select(pl.col("rank").min().over("page")).to_series()
    if (first_rank == 1).any():
        reason = "rank is 0, but the ranks of other pages count from 1; count all ranks from 1"
        table.refuse(is_zero, lambda row: reason)
    warn(f"{table.source}: ranks count from 0, and are read as ranks from 1")
    return replace(table, frame=table.frame.with_columns(pl.col("rank") + 1))


def split_flat_table(table: Table, has_click_table: bool = False) -> SourceTables:
    """Split a flat table; a row without a document stands for a page without results."""
    frame = table.frame
    page_columns = [name for name in PAGE_TYPES if name in table.names]
    pages = frame.select("page", *page_columns).unique("page", keep="first", maintain_order=True)
    pages = pages.rename({"page": "id"})
    page = number_pages(frame, pages)["page"]
    for name in page_columns:
        first_values = pages[name].gather(page)
        is_other = frame[name].ne_missing(first_values)
        if is_other.any():
            row = frame.filter(is_other).row(0, named=True)
            values = (first_values.filter(is_other)[0], row[name])
            first, other = ("none" if value is None else quote(value) for value in values)
            reason = f"page {quote(row['page'])} has more than one {name}: {first} and {other}"
            table.refuse(is_other, lambda _, reason=reason: reason)  # type: ignore[misc]
    has_doc = frame["doc"].is_not_null()
    if "rank" in table.names:
        has_rank = frame["rank"].is_not_null()
        table.refuse(~has_doc & has_rank, lambda row: "has a rank, but no document")
        table.refuse(has_doc & ~has_rank, lambda row: "has no rank")
    n_clicks, click_table = _count_clicks(table, has_doc), None
    has_single_results = frame["page"].filter(has_doc).is_unique().all() and has_doc.sum() > 1
    if has_single_results and n_clicks is not None and (n_clicks.filter(has_doc) > 0).all():
        effect = "results without a click seem to be missing, so click rates are too high"
        warn(f"{table.source}: pages have at most one result, which is clicked; {effect}")
    if n_clicks is None and has_doc.any() and not has_click_table:
        note = "has no column of clicks with values; clicks are treated as unknown"
        warn(f"{table.source}: {note}")
    result_columns = tuple(name for name in RESULT_TYPES if name in table.names)
    if n_clicks is not None:
        table.refuse((n_clicks > 0) & ~has_doc, lambda row: "is clicked, but has no document")
        names = ("page", "rank", "doc", "click_time", "dwell", "censored")
        click_rows = frame.select(names).rename({"click_time": "time"})
        columns = (name.removeprefix("click_") for name in names if name in table.names)
        click_rows = click_rows.with_columns(clicks=n_clicks)
        click_table = replace(table, frame=click_rows, names=(*columns, "clicks"))
    first_rows = table.gather(frame["page"].is_first_distinct().arg_true())
    page_table = replace(first_rows, frame=pages, names=("id", *page_columns))
    results = replace(table.gather(has_doc.arg_true()), names=result_columns)
    return SourceTables(page_table, results, click_table)


def _count_clicks(table: Table, has_doc: pl.Series) -> pl.Series | None:
    """Return the number of clicks of each row; None if no row has a number or time of clicks."""
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
            warn(f"{table.source}: {inflect(count, 'row')} {note}; read as no click")
    return clicks.fill_null(0)


_RANKS = pl.int_range(1, pl.len() + 1).over("page")  # Rank of each row on its page


def _make_text_struct(*names: str) -> pl.Struct:
    return pl.Struct(dict.fromkeys(names, pl.String))


_RANKING_TYPES: dict[str, Any] = {
    **dict.fromkeys(("sid", "qid", "time"), pl.String),
    "ranking": pl.List(_make_text_struct("docid", "clicked", "team")),
}


def read_living_labs(raw: bytes, source: str) -> Table:
    """Read rankings `{sid, qid, time, ranking: [{docid, clicked, team}]}`, one per line."""
    frame = read_records(raw, source, "living labs", _RANKING_TYPES)
    if not frame["ranking"].count():
        expected = "expected records {sid, qid, time, ranking: [{docid, clicked, team}]}"
        raise InputError(f"{expected}, got none with a ranking", source=source)
    frame = frame.rename({"qid": "query", "sid": "session"})
    frame = frame.with_columns(page=pl.int_range(1, pl.len() + 1))
    frame = frame.explode("ranking", empty_as_null=True, keep_nulls=True).unnest("ranking")
    has_teams = pl.col("team").is_not_null().any().over("page")
    rank, method = pl.when(pl.col("docid").is_not_null()).then(_RANKS), pl.lit("TeamDraft")
    frame = frame.with_columns(rank=rank, method=pl.when(has_teams).then(method))
    frame = frame.rename({"docid": "doc", "clicked": "clicks"})
    table = convert_frame(frame, FLAT, source, may_be_empty=False)
    is_unknown = (~table.frame["team"].is_in(["site", "participant"])).fill_null(False)
    expected = "team must be 'site' or 'participant'"
    table.refuse(is_unknown, lambda row: f"{expected}, got {quote(row['team'])}")
    return table


_MAX_TIMESTAMP = 1e11  # Maximum number of seconds before or after 1970: about 3,000 years


def convert_sessions(sessions: Sessions, anomalies: Anomalies) -> SourceTables:
    """Convert sessions to pages (with ids of session and query: `3-1`), results and clicks."""
    source, n_systems = sessions.source, len(sessions.systems)
    if n_systems > 1:
        raise InputError(f"expected sessions of one system, got {n_systems}", source=source)
    for frame in (sessions.queries, sessions.clicks):
        start = frame["start"].fill_nan(None)
        invalid_times = start.filter(start.abs() > _MAX_TIMESTAMP)
        if invalid_times.len():
            bounds = f"times from -{_MAX_TIMESTAMP:g} to {_MAX_TIMESTAMP:g} seconds"
            raise InputError(f"expected {bounds}, got {invalid_times[0]:g}", source=source)
    columns = {"session": sessions.names, "topic": sessions.topics}
    names = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    page = pl.concat_str("session", "query", separator="-")
    pages, results, clicks = (
        frame.with_columns(names[frame["session"]]).with_columns(page=page)
        for frame in (sessions.queries, sessions.results, sessions.clicks)
    )
    time = (pl.col("start").fill_nan(None) * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    query = pl.coalesce(pl.when(pl.col("text") != "").then("text"), "topic", "page")
    anomalies.add("clicks without a known result", sessions.n_lost_clicks, source, "excluded")
    return _make_tables(
        source,
        pages.select("session", id="page", query=query, time=time),
        results.select("page", "rank", "doc"),
        clicks.select("page", "rank", time=time, dwell=pl.col("end") - pl.col("start")),
        may_be_empty=True,
    )


QUERY_TYPES: dict[str, Any] = {
    **dict.fromkeys(("query_id", "user_query", "client_id", "user_id", "timestamp"), pl.String),
    "query_response_hit_ids": pl.List(pl.String),
    "query_attributes": _make_text_struct("session_id", "variant", "total_results", "method"),
}
_IMPRESSION = "impression"
_IS_IMPRESSION = pl.col("action_name") == _IMPRESSION
_HAS_PAGE = pl.col("page").is_not_null()
_HAS_OBJECT = pl.col("rank").is_not_null() | pl.col("doc").is_not_null()
EVENT_TYPES: dict[str, Any] = {
    **dict.fromkeys(("action_name", "query_id", "session_id", "timestamp"), pl.String),
    "event_attributes": pl.Struct(
        {
            "object": _make_text_struct("object_id", "internal_id"),
            "position": _make_text_struct("ordinal"),
            **dict.fromkeys(("dwell", "censored", *_ATTRIBUTES), pl.String),
        }
    ),
}


def read_ubi(
    queries: tuple[bytes, str],
    events: tuple[bytes, str] | None,
    click_actions: Sequence[str],
    anomalies: Anomalies,
) -> SourceTables:
    """Read UBI queries and their events, from bytes and the names of their sources."""
    # The results of a page are its `impression` events with a position, or the hits of the query.
    query_rows = read_records(*queries, "UBI queries", QUERY_TYPES, record_kind="queries")
    query_rows = query_rows.unnest("query_attributes")
    lines_without_id = query_rows.filter(pl.col("query_id").is_null())[LINE]
    if lines_without_id.len():
        raise InputError("has no query_id", source=queries[1], line=lines_without_id[0])
    is_empty = query_rows["user_query"].str.strip_chars().fill_null("") == ""
    if is_empty.any():
        # Category pages, for example, have no query.
        note = f"{inflect(int(is_empty.sum()), 'page')} with an empty user_query"
        warn(f"{queries[1]}: {note}, read as '(no query)'")
        texts = query_rows["user_query"].set(is_empty, "(no query)")
        query_rows = query_rows.with_columns(user_query=texts)
    event_rows = pl.DataFrame(schema=pl.Schema({**EVENT_TYPES, LINE: pl.Int64}))
    if events is not None and not is_blank(events[0]):
        event_rows = read_records(*events, "UBI events", EVENT_TYPES, record_kind="events")
    # Browsers send events out of order, and a page may be shown again later.
    event_rows = event_rows.unnest("event_attributes").unnest("object", "position")
    event_rows = event_rows.with_columns(
        event_time=TIME.convert_column("time", event_rows["timestamp"])[0],
        # Events before the first query have an empty id, or none.
        query_id=pl.when(pl.col("query_id").str.strip_chars() != "").then("query_id"),
    ).rename({"query_id": "page", "ordinal": "rank", "object_id": "doc", "timestamp": "time"})
    anomalies.has_mixed_users = 0 < query_rows["user_id"].count() < query_rows.height
    if events is not None:
        event_rows = _check_events(event_rows, click_actions, events[1], anomalies)
    event_rows = _use_internal_ids(event_rows, query_rows["query_response_hit_ids"])
    impressions = event_rows.filter(_IS_IMPRESSION & _HAS_PAGE).drop_nulls(["rank", "doc"])
    impressions = impressions.sort("event_time", nulls_last=True, maintain_order=True)
    impressions = impressions.unique(["page", "rank", "doc"], keep="first", maintain_order=True)
    # A query that is recorded again, such as for a facet, has other hits.
    first_queries = query_rows.unique("query_id", keep="first", maintain_order=True)
    hits = first_queries.select(page="query_id", doc="query_response_hit_ids")
    hits = hits.join(impressions, on="page", how="anti").explode("doc").drop_nulls("doc")
    hits = hits.with_columns(rank=_RANKS.cast(pl.String))
    impressions = impressions.select("page", "rank", "doc", *_ATTRIBUTES)
    columns = ("page", "rank", "doc", "time", "dwell", "censored", LINE)
    is_click = pl.col("action_name").is_in(click_actions)
    clicks = event_rows.filter(is_click & _HAS_PAGE & _HAS_OBJECT).select(columns)
    sessions = event_rows.filter(_HAS_PAGE).drop_nulls("session_id")
    sessions = sessions.unique("page", keep="first", maintain_order=True)
    sessions = sessions.select(query_id="page", event_session="session_id")
    pages = query_rows.join(sessions, on="query_id", how="left", maintain_order="left").select(
        *("variant", "total_results", "method", LINE),
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
    )


def _check_events(
    events: pl.DataFrame, click_actions: Sequence[str], source: str, anomalies: Anomalies
) -> pl.DataFrame:
    """Shift ordinals that count from 0; count other events, and clicks without a result."""
    is_click = pl.col("action_name").is_in(click_actions)
    ordinal = pl.col("rank").cast(pl.Int64, strict=False)
    if events.select(((is_click | _IS_IMPRESSION) & (ordinal == 0)).any()).item():
        warn(f"{source}: ordinals count from 0, and are read as ranks from 1")
        events = events.with_columns(rank=pl.coalesce((ordinal + 1).cast(pl.String), "rank"))
    _check_actions(events, click_actions, source)
    # Clicks may be on anything, such as a logo or a facet.
    for noun, condition in {"page": ~_HAS_PAGE, "result": _HAS_PAGE & ~_HAS_OBJECT}.items():
        n_clicks = events.filter(is_click & condition).height
        anomalies.add(f"clicks without a known {noun}", n_clicks, source, "excluded")
    # Other events, such as purchases, are not part of a query log.
    n_other_events = events.filter(~(is_click | _IS_IMPRESSION).fill_null(False)).height
    anomalies.add("events of other kinds", n_other_events)
    return events


def _use_internal_ids(events: pl.DataFrame, hit_ids: pl.Series) -> pl.DataFrame:
    """Identify objects by their internal ids if only these occur in hits and impressions."""
    if not events["internal_id"].count():
        return events
    impressions = events.filter(_IS_IMPRESSION)["doc"]
    docs = pl.concat([hit_ids.explode(), impressions]).unique().implode()
    is_known, is_hit = (
        pl.col(name).is_in(docs).fill_null(False) for name in ("doc", "internal_id")
    )
    doc = pl.when(~is_known & is_hit).then("internal_id").otherwise("doc")
    return events.with_columns(doc=doc)


def _check_actions(events: pl.DataFrame, click_actions: Sequence[str], source: str) -> None:
    """Refuse events without clicks if other actions may be clicks under another name."""
    actions = events["action_name"].drop_nulls().value_counts(sort=True).rows()
    names = {name for name, _ in actions}
    if not names & {*click_actions} and names - {_IMPRESSION}:
        action_list = list_some([f"{quote(name)} ({count:,})" for name, count in actions], 12)
        expected = f"events with action_name {' or '.join(map(quote, click_actions))}"
        remedy = "set click_actions=... to the actions that are clicks"
        raise InputError(f"expected {expected}, got {action_list}; {remedy}", source=source)
    for name in sorted({*click_actions} - names):
        if hint := suggest_names(name, names - {*click_actions}):
            warn(f"{source}: no event has the action {quote(name)}{hint}")


def read_yandex(raw: bytes, source: str, anomalies: Anomalies) -> SourceTables:
    """Read a log of Yandex's relevance prediction challenge of 2012, separated by tabs."""
    # A click is on the last page of its session above it. Times count from the session's start.
    frame = _split_lines(raw, source).with_columns(pl.col("text").str.strip_chars_end("\r\n\t "))
    frame = frame.filter(pl.col("text") != "").with_columns(cells=pl.col("text").str.split("\t"))
    cell = pl.col("cells").list
    session, time, kind = (cell.get(k, null_on_oob=True) for k in range(3))
    keys = {"session": session.str.strip_chars(), "kind": kind.str.strip_chars()}
    frame = frame.with_columns(**keys, time=time, n_cells=cell.len())
    is_query, is_click = pl.col("kind") == "Q", pl.col("kind") == "C"
    is_valid = (is_query & (pl.col("n_cells") >= 5)) | (is_click & (pl.col("n_cells") == 4))
    if (frame["time"] == "M").any():
        problem = "has lines of the Yandex challenge of 2014 (session M day user)"
        remedy = "convert them to tables of pages, results and clicks"
        raise InputError(f"{problem}, which are not supported; {remedy}", source=source)
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
    anomalies.add("clicks without a known page", clicks["page"].null_count(), source, "excluded")
    clicks = clicks.drop_nulls("page")
    return _make_tables(source, pages, results.with_columns(rank=_RANKS), clicks)


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
    results = results.with_columns(rank=_RANKS)
    return _make_tables(source, pages, results, split_docs("clicked_docs"))


def _split_lines(raw: bytes, source: str) -> pl.DataFrame:
    text = decode_text(raw, source)
    frame = pl.DataFrame({"text": [text]}).select(pl.col("text").str.split("\n")).explode("text")
    return frame.with_columns(pl.int_range(1, pl.len() + 1).alias(LINE))


def _refuse_lines(
    frame: pl.DataFrame, mask: pl.Expr | pl.Series, line_format: str, source: str
) -> None:
    for text, line in frame.filter(mask).select("text", LINE).head(1).rows():
        reason = f"expected a line of {line_format}, got {quote(text)}"
        raise InputError(reason, source=source, line=line)


def _make_tables(source: str, *frames: pl.DataFrame, may_be_empty: bool = False) -> SourceTables:
    """Convert frames of pages, results and clicks; pages are required unless `may_be_empty`."""
    schemas, allows_empty = (PAGES, RESULTS, CLICKS), (may_be_empty, True, True)
    pages, results, clicks = map(convert_frame, frames, schemas, [source] * 3, allows_empty)
    return SourceTables(pages, results, clicks)
