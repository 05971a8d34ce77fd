"""Sessions as plain tables: a row a result, and a row a click."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from math import isfinite, isnan
from os import PathLike, fspath
from typing import Any

import narwhals.stable.v1 as nw
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.collection.files.columns import typed
from cranfield.sources.chunks import Source

NAMES = {
    "system": ("system", "tag", "run", "run_tag", "runid"),
    "session": ("session", "session_id", "sessionid", "sid"),
    "topic": ("topic", "topic_id", "tid"),
    "query": ("query", "query_number", "querynumber", "qnum", "interaction", "query_id", "qid"),
    "rank": ("rank", "position", "clickedrank", "clicked_rank"),
    "score": ("score", "sim", "similarity"),
    "doc": ("doc", "doc_id", "docno", "docid", "document", "document_id", "pid"),
    "title": ("title",),
    "snippet": ("snippet",),
    "start": ("start", "time", "starttime", "start_time", "timestamp"),
    "end": ("end", "endtime", "end_time"),
}
"""Column names that are understood, in order of preference; case does not matter."""

KINDS = {
    "table of sessions": (
        ("session", "query", "doc"),
        ("system", "topic", "rank", "score", "title", "snippet"),
    ),
    "table of clicks": (("session", "query", "rank"), ("system", "start", "end")),
    "table of session topics": (("session", "topic"), ()),
}
"""Columns that each kind of table must have, and those it may have."""

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_TIMES = {"start", "end"}
_TEXTS = {"title", "snippet"}


def read_table(data: Any, kind: str) -> tuple[pl.DataFrame, str]:
    """Read a table from a file, a data frame, rows or columns; with a name for messages.

    Raises
    ------
    InputError
        For what is no table, a column that is missing, or a value that does not fit, by its row.
    """
    columns, name = _columns(data, kind)
    found = _matched(columns, kind, name)
    taken = {one: columns[column] for one, column in found.items()}
    special = {one: taken.pop(one) for one in [*taken] if one in _TIMES | _TEXTS}
    frame = typed(taken, kind, name)
    if "rank" in taken:
        _refuse_ranks(frame["rank"], taken["rank"], name)
    for one, values in special.items():
        made = [_time(v, i, name) if one in _TIMES else _text(v) for i, v in enumerate(values, 1)]
        dtype = pl.Float64 if one in _TIMES else pl.String
        frame = frame.with_columns(pl.Series(one, made, dtype=dtype))
    return frame, name


def _columns(data: Any, kind: str) -> tuple[dict[str, list[Any]], str]:
    """Take any kind of input as columns."""
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        return _of_frame(_of_file(source, kind), source.name), source.name
    if isinstance(data, Mapping):
        if not all(_is_column(values) for values in data.values()):
            raise InputError(
                f"a mapping is a {kind} when its values are columns", source=kind
            ) from None
        columns = {str(name): list(values) for name, values in data.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise InputError("columns are of different lengths", source=kind)
        return columns, kind
    if hasattr(type(data), "columns") or hasattr(type(data), "column_names"):
        return _of_frame(data, kind), kind
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        return _of_rows(list(data), kind), kind
    raise InputError(f"{type(data).__name__} cannot be read as a {kind}")


def _is_column(values: Any) -> bool:
    return isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping))


def _of_file(source: Source, kind: str) -> pl.DataFrame:
    data = source.read()
    if not data.strip():
        raise InputError(f"is empty: a {kind} has at least one row", source=source.name)
    try:
        if source.suffix == ".parquet":
            return pl.read_parquet(io.BytesIO(data))
        if source.suffix in _SEPARATORS:
            data.decode("utf-8-sig")
            separator = _SEPARATORS[source.suffix]
            return pl.read_csv(data, separator=separator, infer_schema=False)
        rows = [line.split() for line in data.decode("utf-8-sig").splitlines()]
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", source=source.name, line=line) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise InputError(f"is no readable table: {reason}", source=source.name) from None
    names = KINDS[kind][0]
    if kind != "table of session topics":
        raise InputError(
            f"its name ends in none of .csv, .tsv and .parquet, as a {kind} does",
            source=source.name,
        )
    for number, row in enumerate(rows, 1):
        if row and len(row) != len(names):
            raise InputError(
                f"{len(row)} columns where a line has {' and '.join(names)}",
                source=source.name,
                line=number,
            )
    return pl.DataFrame([row for row in rows if row], schema=list(names), orient="row")


def _of_frame(data: Any, name: str) -> dict[str, list[Any]]:
    try:
        frame = nw.from_native(data)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        return {str(column): frame[column].to_list() for column in frame.columns}
    except Exception as error:
        # Each library has its own ways to refuse a frame, such as one with a name twice.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{type(data).__name__} is no data frame that can be read: {reason}", source=name
        ) from None


def _of_rows(rows: list[Any], kind: str) -> dict[str, list[Any]]:
    if not rows:
        raise InputError(f"is empty: a {kind} has at least one row", source=kind)
    dicts = []
    for number, row in enumerate(rows, 1):
        if isinstance(row, Mapping):
            dicts.append(row)
        elif hasattr(row, "_asdict"):
            dicts.append(row._asdict())
        else:
            raise InputError(
                f"row {number} is {type(row).__name__}; a row of a {kind} is a mapping or a named"
                " tuple",
                source=kind,
            )
    names = dict.fromkeys(str(name) for row in dicts for name in row)
    return {name: [row.get(name) for row in dicts] for name in names}


def _matched(columns: Mapping[str, Any], kind: str, source: str) -> dict[str, str]:
    """Find the columns of `kind` under any of their usual names."""
    lower = {column.lower(): column for column in reversed([*columns])}
    required, optional = KINDS[kind]
    found = {
        name: next((lower[alias] for alias in NAMES[name] if alias in lower), None)
        for name in (*required, *optional)
    }
    for name in required:
        if found[name] is None:
            have = ", ".join(quoted(column) for column in [*columns][:12])
            raise InputError(
                f"has no {name} column (usual names: {', '.join(NAMES[name])}); columns: {have}",
                source=source,
            )
    if kind == "table of sessions" and found["rank"] is None and found["score"] is None:
        raise InputError("has neither a rank nor a score column", source=source)
    return {name: column for name, column in found.items() if column is not None}


def _refuse_ranks(ranks: pl.Series, given: list[Any], source: str) -> None:
    bad = (ranks.is_null() | (ranks < 1).fill_null(True)).arg_true()
    if len(bad):
        row = int(bad[0])
        raise InputError(
            f"row {row + 1}: rank {quoted(given[row])} is not a whole number from 1", source=source
        )


def _time(value: Any, row: int, source: str) -> float | None:
    """Seconds, or None where there is no time."""
    if value is None or (isinstance(value, str) and value.strip() in {"", "NA", "NaN", "nan"}):
        return None
    if hasattr(value, "timestamp"):
        return float(value.timestamp())
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("inf")
    if isnan(number):
        return None
    if not isfinite(number) or isinstance(value, bool):
        raise InputError(f"row {row}: time {quoted(value)} is no number of seconds", source=source)
    return number


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
