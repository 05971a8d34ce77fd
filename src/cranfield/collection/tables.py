"""Runs and judgments that are already in memory, or in formats with named columns."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import polars as pl

from cranfield.collection.source import Source
from cranfield.errors import InputError, quoted

NAMES = {
    "topic": ("topic", "query_id", "qid", "q_id", "topic_id", "query", "queryid"),
    "doc": ("doc", "doc_id", "docno", "docid", "document", "document_id", "pid"),
    "score": ("score", "sim", "similarity"),
    "grade": ("grade", "relevance", "label", "rel", "judgment", "judgement"),
    "rank": ("rank",),
    "subtopic": ("subtopic", "subtopic_id", "iteration", "iter"),
    "tag": ("tag", "run_tag", "system", "run", "run_id", "runid"),
}
"""Column names that are understood, in order of preference; case does not matter."""

KINDS = {
    "run": (("topic", "doc", "score"), ("rank", "tag")),
    "qrels": (("topic", "doc", "grade"), ("subtopic",)),
}
"""Columns that each kind of table must have, and those it may have."""

_TYPES: dict[str, type[pl.DataType]] = {
    "score": pl.Float64,
    "grade": pl.Int32,
    "rank": pl.Int32,
}


def from_mapping(data: Mapping[Any, Any], kind: str, source: str) -> pl.DataFrame:
    """Turn {topic: {doc: value}} into the columns of `kind`."""
    value = KINDS[kind][0][2]
    topics: list[Any] = []
    for topic, docs in data.items():
        if not isinstance(docs, Mapping):
            raise InputError(
                f"topic {quoted(topic)} has {type(docs).__name__} where"
                f" {{document: {value}}} is wanted",
                source=source,
            )
        topics.extend([topic] * len(docs))
    names = list(chain.from_iterable(docs.keys() for docs in data.values()))
    values = list(chain.from_iterable(docs.values() for docs in data.values()))
    return typed({"topic": topics, "doc": names, value: values}, kind, source)


def from_records(data: Iterable[Any], kind: str, source: str) -> pl.DataFrame:
    """Turn named tuples, mappings or plain (topic, doc, value) tuples into columns."""
    rows = list(data)
    if not rows:
        raise InputError(f"is empty: a {kind} has at least one row", source=source)
    first = rows[0]
    wanted = KINDS[kind][0]
    if isinstance(first, Mapping):
        fields: tuple[str, ...] = tuple(first)
        table = {name: [row.get(name) for row in rows] for name in fields}
    elif hasattr(first, "_fields") or hasattr(first, "__dataclass_fields__"):
        fields = tuple(getattr(first, "_fields", None) or first.__dataclass_fields__)
        table = {name: [getattr(row, name, None) for row in rows] for name in fields}
    elif isinstance(first, (tuple, list)) and len(first) == len(wanted):
        if any(not isinstance(row, (tuple, list)) or len(row) != len(wanted) for row in rows):
            raise InputError(f"a row is not a tuple of {len(wanted)} values", source=source)
        fields = wanted
        table = {name: [row[i] for row in rows] for i, name in enumerate(wanted)}
    else:
        raise InputError(
            f"{type(first).__name__} is no row of a {kind}; named tuples, mappings"
            f" and tuples ({', '.join(wanted)}) are",
            source=source,
        )
    return typed(
        {name: table[field] for name, field in matched(fields, kind, source).items()}, kind, source
    )


def from_frame(data: Any, kind: str, source: str) -> pl.DataFrame:
    """Turn a data frame of any library that narwhals knows into columns."""
    frame = nw.from_native(data, eager_only=True)
    columns = matched(tuple(frame.columns), kind, source)
    table: dict[str, Any] = {}
    for name, column in columns.items():
        series = frame[column]
        # An object column may hide anything; through Python each value is seen as it is.
        native = series.to_list() if series.dtype == nw.Object else series.to_arrow()
        table[name] = native if isinstance(native, list) else pl.Series(native)
    return typed(table, kind, source)


def from_file(source: Source, kind: str, layout: str) -> pl.DataFrame:
    """Read CSV, TSV, JSON, JSON lines or Parquet."""
    data = source.read()
    if not data.strip():
        raise InputError(f"is empty: a {kind} has at least one row", source=source.name)
    try:
        if layout == "parquet":
            return from_frame(pl.read_parquet(io.BytesIO(data)), kind, source.name)
        if layout in {"csv", "tsv"}:
            separator = "\t" if layout == "tsv" else ","
            frame = pl.read_csv(data, separator=separator, infer_schema=False)
            return from_frame(frame, kind, source.name)
        text = data.decode("utf-8-sig")
        if layout == "jsonl":
            lines = enumerate(text.splitlines(), 1)
            return from_records(
                [_json(line, source.name, n) for n, line in lines if line.strip()],
                kind,
                source.name,
            )
        parsed = _json(text, source.name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", source=source.name, line=line) from None
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"is no readable {layout}: {reason}", source=source.name) from None
    if isinstance(parsed, Mapping):
        return from_mapping(parsed, kind, source.name)
    if isinstance(parsed, list):
        return from_records(parsed, kind, source.name)
    raise InputError("holds neither an object nor an array", source=source.name)


def _json(text: str, source: str, line: int | None = None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        at = line or getattr(error, "lineno", None)
        reason = getattr(error, "msg", None) or "nested too deeply"
        raise InputError(f"is no valid JSON: {reason}", source=source, line=at) from None


def matched(columns: tuple[str, ...], kind: str, source: str) -> dict[str, str]:
    """Find the columns of `kind` under any of their usual names."""
    lower = {str(column).lower(): column for column in reversed(columns)}
    required, optional = KINDS[kind]
    found = {
        name: next((lower[alias] for alias in NAMES[name] if alias in lower), None)
        for name in (*required, *optional)
    }
    for name in required:
        if found[name] is None:
            have = ", ".join(quoted(column) for column in columns[:12])
            raise InputError(
                f"has no {name} column (usual names: {', '.join(NAMES[name])}); columns: {have}",
                source=source,
            )
    return {name: column for name, column in found.items() if column is not None}


def typed(table: Mapping[str, Any], kind: str, source: str) -> pl.DataFrame:
    """Give each column its type, or name the first row that does not fit."""
    columns = {name: _column(name, values, source) for name, values in table.items()}
    frame = pl.DataFrame(columns)
    if not frame.height:
        raise InputError(f"is empty: a {kind} has at least one row", source=source)
    if "score" in columns:
        _refuse(~np.isfinite(frame["score"].to_numpy()), frame, "score", "no finite number", source)
    return frame


def _column(name: str, values: Any, source: str) -> pl.Series:
    series = _series(name, values, source)
    wanted = _TYPES.get(name, pl.String)
    if wanted == pl.String and series.dtype in {pl.Float32, pl.Float64}:
        whole = series.cast(pl.Int64, strict=False)
        if not series.is_null().any() and bool((whole == series).fill_null(False).all()):
            # Ids read as floats by other tools are still the whole numbers that they were.
            series = whole
    if wanted == pl.Int32 and series.dtype == pl.String:
        cast = series.str.strip_chars().cast(pl.Int32, strict=False)
    elif wanted == pl.Int32 and series.dtype.is_float():
        cast = series.cast(pl.Int32, strict=False)
        cast = cast.set(cast != series, None)
    elif wanted == pl.Float64 and series.dtype == pl.String:
        cast = series.str.strip_chars().cast(pl.Float64, strict=False)
    else:
        cast = series.cast(wanted, strict=False)
    if name == "rank":
        return cast
    bad = cast.is_null().arg_true()
    if len(bad):
        row = int(bad[0])
        names = {"score": "a number", "grade": "an integer"}
        what = names.get(name, "text or an integer")
        raise InputError(
            f"row {row + 1}: {name} {quoted(series[row])} is not {what}", source=source
        )
    return cast


def _series(name: str, values: Any, source: str) -> pl.Series:
    if isinstance(values, pl.Series):
        if values.dtype in {pl.Categorical, pl.Enum}:
            return values.cast(pl.String)
        return values
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        kinds = sorted({type(value).__name__ for value in values})
        if _TYPES.get(name) is not None:
            if set(kinds) <= {"int", "float", "bool", "float64", "int64", "float32", "int32"}:
                return pl.Series(name, [float(value) for value in values])
        elif set(kinds) <= {"int", "str"}:
            return pl.Series(name, [str(value) for value in values])
        raise InputError(f"{name} mixes {', '.join(kinds)}", source=source) from None


def _refuse(bad: Any, frame: pl.DataFrame, column: str, why: str, source: str) -> None:
    rows = np.flatnonzero(bad)
    if rows.size:
        row = frame.row(int(rows[0]), named=True)
        raise InputError(
            f"row {rows[0] + 1}: {column} {row[column]} is {why}",
            source=source,
            topic=row["topic"],
            doc=row["doc"],
        )
