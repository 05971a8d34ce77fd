"""Runs and judgments that are already in memory, or in formats with named columns."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import narwhals.stable.v1 as nw
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.collection.files.columns import typed
from cranfield.sources.chunks import Source

NAMES = {
    "topic": ("topic", "query_id", "qid", "q_id", "topic_id", "query", "queryid"),
    "doc": ("doc", "doc_id", "docno", "docid", "document", "document_id", "pid"),
    "score": ("score", "sim", "similarity"),
    "grade": ("grade", "relevance", "label", "rel", "judgment", "judgement"),
    "rank": ("rank",),
    "subtopic": ("subtopic", "subtopic_id", "iteration", "iter"),
    "tag": ("tag", "run_tag", "system", "run", "run_id", "runid"),
    "class": ("class", "equivalence_class", "ec"),
    "stratum": ("stratum",),
    "inclusion": ("inclusion", "inclusion_probability", "iprob"),
    "length": ("length", "words", "characters", "tokens", "doc_length", "doclen"),
    "group": ("group", "group_id", "provider", "author"),
    "weight": ("weight", "share", "membership"),
    "intent": ("intent", "subtopic", "intent_id", "subtopic_id", "iteration"),
    "probability": ("probability", "prob", "p"),
    "type": ("type", "intent_type", "kind"),
}
"""Column names that are understood, in order of preference; case does not matter."""

KINDS = {
    "run": (("topic", "doc", "score"), ("rank", "tag")),
    "qrels": (("topic", "doc", "grade"), ("subtopic", "class", "stratum", "inclusion")),
    "table of lengths": (("doc", "length"), ()),
    "table of groups": (("doc", "group"), ("weight",)),
    "table of intents": (("topic", "intent", "probability"), ("type",)),
}
"""Columns that each kind of table must have, and those it may have."""


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
    fields = _fields(first)
    if isinstance(first, Mapping):
        _all_are(rows, lambda row: isinstance(row, Mapping), "a mapping", source)
        names = tuple(dict.fromkeys(name for row in rows for name in row))
        found = matched(names, kind, source)
        table = {name: [row.get(column) for row in rows] for name, column in found.items()}
    elif fields:
        found = matched(fields, kind, source)
        _all_are(rows, lambda row: _fields(row) == fields, f"{type(first).__name__}", source)
        table = {name: [getattr(row, column) for row in rows] for name, column in found.items()}
    elif isinstance(first, (tuple, list)) and len(first) == len(wanted):
        _all_are(
            rows,
            lambda row: isinstance(row, (tuple, list)) and len(row) == len(wanted),
            f"a tuple of {len(wanted)} values",
            source,
        )
        table = {name: [row[i] for row in rows] for i, name in enumerate(wanted)}
    else:
        raise InputError(
            f"{type(first).__name__} is no row of a {kind}; named tuples, mappings"
            f" and tuples ({', '.join(wanted)}) are",
            source=source,
        )
    return typed(table, kind, source)


def _fields(row: Any) -> tuple[str, ...]:
    fields = getattr(row, "_fields", None) or getattr(row, "__dataclass_fields__", None)
    return tuple(fields) if isinstance(fields, (tuple, Mapping)) else ()


def _all_are(rows: list[Any], test: Any, what: str, source: str) -> None:
    for number, row in enumerate(rows, 1):
        if not test(row):
            raise InputError(f"row {number} is not {what}", source=source)


def from_frame(data: Any, kind: str, source: str) -> pl.DataFrame:
    """Turn a data frame of any library that narwhals knows into columns."""
    try:
        frame = nw.from_native(data)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        names = tuple(frame.columns)
    except Exception as error:
        # Each library has its own ways to refuse a frame, such as one with a name twice.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{type(data).__name__} is no data frame that can be read: {reason}", source=source
        ) from None
    table: dict[str, Any] = {}
    for name, column in matched(names, kind, source).items():
        series = frame[column]
        try:
            # An object column may hide anything; through Python each value is seen as it is.
            plain = series.dtype == nw.Object
            table[name] = series.to_list() if plain else pl.Series(name, series.to_arrow())
        except Exception:
            # What Arrow has no type for (complex numbers, wide integers) Python can still show.
            table[name] = series.to_list()
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
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", source=source.name, line=line) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise InputError(f"is no readable {layout}: {reason}", source=source.name) from None
    if layout == "jsonl":
        lines = enumerate(text.split("\n"), 1)
        records = [_json(line, source.name, n) for n, line in lines if line.strip()]
        return from_records(records, kind, source.name)
    parsed = _json(text, source.name)
    if isinstance(parsed, Mapping):
        return from_mapping(parsed, kind, source.name)
    if isinstance(parsed, list):
        return from_records(parsed, kind, source.name)
    raise InputError("holds neither an object nor an array", source=source.name)


def _json(text: str, source: str, line: int | None = None) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        reason, at = "it is nested too deeply", line
    except json.JSONDecodeError as error:
        reason, at = error.msg, line or error.lineno
    except ValueError as error:
        reason, at = str(error).split(";")[0], line
    raise InputError(f"is no valid JSON: {reason}", source=source, line=at)


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
