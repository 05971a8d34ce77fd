"""Tables of logs: their columns by any of their usual names, from files, frames and mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import polars as pl

from cranfield.base.errors import InputError
from cranfield.online.log import cells
from cranfield.online.log.query_log import CLICKS as CLICK_TYPES
from cranfield.online.log.query_log import PAGES as PAGE_TYPES
from cranfield.online.log.query_log import RESULTS as RESULT_TYPES
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import (
    Columns,
    columns_of_frame,
    csv_frame,
    parquet_frame,
    read_columns,
)
from cranfield.sources.schemas import Column, Schema, optional
from cranfield.sources.tables import Table, fitted

TYPES = {"pages": PAGE_TYPES, "results": RESULT_TYPES, "clicks": CLICK_TYPES}
"""Types of the columns of each table of a log."""


def _mapping(kind: str) -> Any:
    def columns(data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
        for values in data.values():
            if not isinstance(values, Iterable) or isinstance(values, (str, bytes, Mapping)):
                raise InputError(f"a mapping is a {kind} when its values are columns", source=kind)
        made = {str(name): list(values) for name, values in data.items()}
        if len({len(values) for values in made.values()}) > 1:
            raise InputError("columns are of different lengths", source=kind)
        return made

    return columns


def _schema(kind: str, *columns: Column) -> Schema:
    return Schema(kind, columns, mapping=_mapping(kind), tuples=None)


_PAGE = "page_id pageid impression impression_id query_id serp serp_id"
_DOC = "doc_id docno docid document document_id url object_id site_docid item"
_RANK = "position ordinal pos"
_TEAM = "ranker system"
_OF_PAGES = (
    optional("user", cells.NAME, "user_id userid client_id client visitor"),
    optional("session", cells.NAME, "session_id sessionid sid"),
    optional("time", cells.TIME, "timestamp start start_time datetime ts"),
    optional("variant", cells.NAME, "arm group treatment bucket experiment_variant"),
    optional("found", cells.NUMBER, "number_found results_found num_found total_hits"),
    optional("method", cells.NAME, "interleaving interleaving_method"),
)
_OF_RESULTS = (
    optional("team", cells.NAME, _TEAM),
    optional("propensity", cells.PROPENSITY, "propensity_score pscore"),
    optional("grade", cells.GRADE, "relevance label rel judgment judgement"),
)
_QUERY = Column("query", cells.ID, "query_text user_query text qid topic keywords")
_DWELL = optional("dwell", cells.SECONDS, "dwell_time dwelltime dwell_seconds", called="dwell")
_CENSORED = optional("censored", cells.FLAG, "right_censored dwell_censored")

PAGES = _schema(
    "table of pages",
    Column("id", cells.ID, f"page {_PAGE}", called="page"),
    _QUERY,
    *_OF_PAGES,
)
RESULTS = _schema(
    "table of results",
    Column("page", cells.ID, _PAGE),
    Column("doc", cells.ID, _DOC),
    optional("rank", cells.RANK, _RANK),
    *_OF_RESULTS,
)
CLICKS = _schema(
    "table of clicks",
    Column("page", cells.ID, _PAGE),
    optional("rank", cells.RANK, f"{_RANK} clicked_rank clickedrank"),
    optional("doc", cells.NAME, _DOC),
    optional("time", cells.TIME, "timestamp start start_time click_time datetime ts"),
    optional("end", cells.TIME, "end_time endtime", called="time"),
    _DWELL,
    _CENSORED,
)
FLAT = _schema(
    "table of shown results",
    Column("page", cells.ID, f"{_PAGE} id"),
    _QUERY,
    optional("doc", cells.NAME, _DOC),
    optional("rank", cells.RANK, _RANK),
    optional("clicks", cells.NUMBER, "clicked click number_of_clicks"),
    *_OF_PAGES,
    *_OF_RESULTS,
    optional("click_time", cells.TIME, "clicked_at clicktime"),
    _DWELL,
    _CENSORED,
)


def opened(data: Any, schema: Schema, empty: bool = False) -> Table:
    """Read a table of a log; rows know their lines where each is one line of a file.

    empty: whether it may be without rows.
    """
    columns = _columns(data, schema)
    given = columns.matched(schema)
    if empty and not max(map(len, given.values()), default=0):
        frame = pl.DataFrame(schema={column.name: column.kind.dtype for column in schema.columns})
        return Table(frame, columns.source, tuple(given))
    return fitted(given, schema, columns.source, columns.lines)


def _columns(data: Any, schema: Schema) -> Columns:
    if not isinstance(data, (str, PathLike)):
        return read_columns(data, schema)
    source = Source(fspath(data))
    form = FORMAT_OF_SUFFIX.get(source.suffix, "")
    if form not in {"csv", "tsv", "parquet", "jsonl"}:
        return read_columns(data, schema)
    raw, name = source.read(), source.name
    if not raw.strip():
        raise schema.empty(name)
    if form == "parquet":
        return columns_of_frame(parquet_frame(raw, name), name)
    if form == "jsonl":
        return columns_of_json_lines(raw, name) or read_columns(data, schema)
    frame = csv_frame(raw, name, "\t" if form == "tsv" else ",", form)
    plain = columns_of_frame(frame, name)
    return Columns(plain.source, plain.names, plain.cells, _lines(raw, frame.height, 1))


def columns_of_json_lines(
    raw: bytes, source: str, schema: Mapping[str, Any] | None = None
) -> Columns | None:
    """Read JSON lines at once; None where they have to be looked at one by one."""
    try:
        if schema is None:
            names = pl.read_ndjson(raw, infer_schema_length=None, n_rows=None).schema
            simple = {name for name, dtype in names.items() if not dtype.is_nested()}
            schema = {name: pl.String if name in simple else names[name] for name in names}
        frame = pl.read_ndjson(raw, schema=schema)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    made = columns_of_frame(frame, source)
    return Columns(source, made.names, made.cells, _lines(raw, frame.height, 0))


def _lines(raw: bytes, rows: int, head: int) -> Sequence[int] | None:
    """Number the lines of rows; None where a row may not be a line."""
    lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
    return range(head + 1, head + 1 + rows) if lines == rows + head else None
