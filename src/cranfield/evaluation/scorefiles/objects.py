"""Scores as JSON, as mappings in memory, and as data frames of any library."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.words import some_of
from cranfield.evaluation.scorefiles.cells import are_measures, label_in, role_of
from cranfield.evaluation.scorefiles.parts import Entry, ScorePart, ScoreSource, part_of
from cranfield.evaluation.scorefiles.wide_and_long import ScoreTable, from_table
from cranfield.scores import Scores
from cranfield.sources.columns import columns_of_frame, parquet_frame, reading_parquet
from cranfield.sources.text import json_lines, parsed_json


def from_json(text: str, source: ScoreSource, *, lines: bool) -> ScorePart:
    """Read JSON, or JSON lines: an object of systems, or rows of a table."""
    if lines:
        records, numbers = json_lines(text, source.name)
        if len(records) == 1 and _holds_systems(records[0]):
            return from_mapping(records[0], source)
        return _from_records(records, numbers, source)
    parsed = parsed_json(text, source.name)
    if isinstance(parsed, Mapping):
        return from_mapping(parsed, source)
    if isinstance(parsed, list) and any(isinstance(row, Mapping) for row in parsed):
        return _from_records(parsed, [None] * len(parsed), source)
    raise InputError("holds neither an object nor an array of objects")


def _from_records(
    rows: Sequence[Any], lines: Sequence[int | None], source: ScoreSource
) -> ScorePart:
    for k, (row, line) in enumerate(zip(rows, lines, strict=True), 1):
        if not isinstance(row, Mapping):
            where = "" if line is not None else f"row {k} "
            raise InputError(f"{where}is no object", line=line)
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    cells = [[row.get(name) for name in names] for row in rows]
    return from_table(ScoreTable(source, names, cells, lines))


def _holds_systems(data: Any) -> bool:
    """Tell whether this is a whole object of scores on one line, rather than a row."""
    return isinstance(data, Mapping) and any(isinstance(v, (Mapping, list)) for v in data.values())


def from_mapping(data: Mapping[Any, Any], source: ScoreSource) -> ScorePart:
    """Take {system: {topic: score}}, {system: {topic: {measure: score}}} or {system: scores}.

    Also {topic: {measure: score}} of one system, as pytrec_eval returns it, {system: {measure:
    {topic: score}}}, as ranx writes it, the output of `cranfield evaluate --format json`, and a
    table by columns.
    """
    if not data:
        raise InputError("is empty: there are no systems")
    if _is_our_json(data):
        lower = data.get("lower is better")
        names = lower if isinstance(lower, list) else []
        return part_of(_from_our_json(data["systems"]), {str(name): True for name in names})
    if any(role_of(str(name)) == "topic" for name in data):
        return _from_columns(data, source)
    systems = _by_system(data, source)
    inner = _keys(one for one in systems.values() if isinstance(one, Mapping))
    turned = inner and all(map(_TOPIC.fullmatch, map(str, systems)))
    if turned and not any(map(_TOPIC.fullmatch, inner)):
        read, topics = (some_of(map(quoted, names), 3) for names in (systems, inner))
        warn(
            f"{source.name}: expected {{system: {{topic: score}}}}; {read} look like topics, but"
            f" are read as systems, and {topics} as topics"
        )
    return part_of(_from_systems(systems))


_TOPIC = re.compile(r"(q|qid|query|topic)?[\W_]?\d+", re.IGNORECASE)
"""Names that look like ids of topics rather than names of systems."""


def _is_our_json(data: Mapping[Any, Any]) -> bool:
    systems = data.get("systems")
    return (
        "measures" in data
        and isinstance(systems, Mapping)
        and all(isinstance(one, Mapping) and "overall" in one for one in systems.values())
    )


def _from_our_json(systems: Mapping[str, Any]) -> Iterator[Entry]:
    for system, content in systems.items():
        topics = content.get("topics", {})
        if not isinstance(topics, Mapping):
            raise InputError(f"system {quoted(system)} has no topics by name")
        yield from _of_system(label_in(system, "system"), topics)


def _from_columns(data: Mapping[Any, Any], source: ScoreSource) -> ScorePart:
    columns = [
        None if isinstance(one, (str, bytes, Mapping)) or not isinstance(one, Iterable) else [*one]
        for one in data.values()
    ]
    whole = [column for column in columns if column is not None]
    if len(whole) < len(columns) or len({len(column) for column in whole}) > 1:
        raise InputError(
            "has topics, but is no table: rows, or columns that are lists of one length, are"
        )
    rows = [list(row) for row in zip(*whole, strict=True)]
    if not rows:
        raise InputError("has no rows")
    return from_table(ScoreTable(source, [*map(str, data)], rows, [None] * len(rows)))


def _by_system(data: Mapping[Any, Any], source: ScoreSource) -> Mapping[Any, Any]:
    """Bring mappings in which measures are elsewhere into {system: {topic: {measure: score}}}."""
    inner = [one for one in data.values() if isinstance(one, Mapping)]
    cells = [cell for one in inner for cell in one.values() if isinstance(cell, Mapping)]
    requested, what = source.requested, "" if cells else "keys"
    if are_measures(_keys(cells), requested):
        return data
    if are_measures(map(str, data), requested, what):
        raise InputError(
            f"expected systems or topics as keys, got measures ({some_of(map(quoted, data), 3)});"
            " {topic: {measure: score}} and {system: {topic: {measure: score}}} are read, and of"
            " an evaluation ev['AP'] has the scores of one measure"
        )
    if not are_measures(_keys(inner), requested, what):
        return data
    if not cells:
        return {source.stem: data}
    return {
        system: _transposed(measures, system) if isinstance(measures, Mapping) else measures
        for system, measures in data.items()
    }


def _keys(level: Iterable[Mapping[Any, Any]]) -> list[str]:
    return list(dict.fromkeys(str(key) for one in level for key in one))


def _transposed(measures: Mapping[Any, Any], system: Any) -> dict[Any, dict[Any, Any]]:
    """Turn {measure: {topic: score}} into {topic: {measure: score}}."""
    topics: dict[Any, dict[Any, Any]] = {}
    for measure, scores in measures.items():
        if not isinstance(scores, Mapping):
            raise InputError(
                f"expected {{topic: score}} for measure {quoted(measure)} of system"
                f" {quoted(system)}, got {_shown(scores)}"
            )
        for topic, score in scores.items():
            topics.setdefault(topic, {})[measure] = score
    return topics


def _from_systems(data: Mapping[Any, Any]) -> Iterator[Entry]:
    for name, given in data.items():
        system = label_in(name, "system")
        if isinstance(given, (Scores, str, bytes)):
            named = None
        elif isinstance(given, Mapping) or (hasattr(given, "items") and hasattr(given, "index")):
            named = dict(given.items())  # a mapping, or a series of pandas
        else:
            named = dict(enumerate(given, 1)) if isinstance(given, Iterable) else None
        if named is None:
            raise InputError(
                f"system {quoted(system)} has {_shown(given)} where {{topic: score}} or a list of"
                " scores is wanted"
            )
        yield from _of_system(system, named)


def _shown(given: Any) -> str:
    return "null" if given is None else f"{quoted(given, 20)} ({type(given).__name__})"


def _of_system(system: str, topics: Mapping[Any, Any]) -> Iterator[Entry]:
    """Take {topic: score} or {topic: {measure: score}}, one of both throughout."""
    by_measure = any(isinstance(value, Mapping) for value in topics.values())
    for name, value in topics.items():
        topic = label_in(name, "topic")
        if not by_measure:
            yield Entry(None, topic, system, None, value)
        elif not isinstance(value, Mapping):
            raise InputError(
                f"system {quoted(system)} has {_shown(value)} where {{measure: score}} is wanted",
                topic=topic,
            )
        else:
            for measure, cell in value.items():
                yield Entry(label_in(measure, "measure"), topic, system, None, cell)


def from_frame(data: Any, source: ScoreSource) -> ScoreTable:
    """Take the names and the rows of a data frame; lines are counted from its first row.

    The index of a pandas frame is a column too, where it says more than the number of the row.
    """
    columns = columns_of_frame(data, source.name)
    if any(isinstance(name, tuple) for name in columns.names):
        raise InputError("the names of its columns have several levels")
    names = [str(name) for name in columns.names]
    rows = [list(row) for row in zip(*map(columns.cells, range(len(names))), strict=True)]
    if not rows:
        raise InputError("has no rows")
    table = ScoreTable(source, names, rows, range(1, len(rows) + 1))
    index = getattr(data, "index", None)
    if index is None or not hasattr(index, "names"):
        return table
    axis = getattr(data.columns, "name", None)
    if isinstance(axis, str) and role_of(axis) == "topic":
        raise InputError(
            f"expected topics in rows, got them in columns ({quoted(axis)}); transpose the table"
        )
    labels = index if len(index.names) > 1 else ((label,) for label in index)
    return _with_index(table, list(index.names), [list(label) for label in labels])


def from_parquet(raw: bytes, source: ScoreSource) -> ScoreTable:
    """Read Parquet; what pandas wrote as its index, last, is treated as its index."""
    frame = parquet_frame(raw, source.name, "Parquet")
    with reading_parquet(source.name, "Parquet"):
        metadata = pl.read_parquet_metadata(io.BytesIO(raw))
    index = _index_columns(metadata.get("pandas", ""))
    index = [name for name in index if name in frame.columns]
    if not index or frame.is_empty():
        return from_frame(frame, source)
    levels = [None if name.startswith("__index_level_") else name for name in index]
    labels = [list(row) for row in frame.select(index).rows()]
    return _with_index(from_frame(frame.drop(index), source), levels, labels)


def _index_columns(metadata: str) -> list[str]:
    try:
        found = json.loads(metadata)["index_columns"]
        return [name for name in found if isinstance(name, str)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def _with_index(table: ScoreTable, levels: list[Any], labels: list[list[Any]]) -> ScoreTable:
    """Put what the index of a pandas frame says in front of the columns."""
    known = [None if level is None else role_of(str(level)) for level in levels]
    if len(levels) > 1 and None in known:
        unknown = levels[known.index(None)]
        raise InputError(
            f"a level of its index is called {quoted(unknown)}; topic, system, measure and shard"
            " are understood"
        )
    names = [str(level) for level in levels]
    # A level without a useful name is taken for the topics, unless it only numbers the rows.
    if known == [None]:
        has_topics = any(role_of(name) == "topic" for name in table.names)
        numbers = [label for (label,) in labels] == list(range(len(table.rows)))
        if has_topics or (levels == [None] and numbers):
            return table
        names = [""]
    rows = [[*label, *row] for label, row in zip(labels, table.rows, strict=True)]
    return replace(table, names=[*names, *table.names], rows=rows)
