"""Scores from elsewhere: tables of per-topic scores, and what other programs print."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any

import polars as pl

from cranfield.collection.source import Source
from cranfield.errors import CranfieldError, InputError, PolicyError, quoted
from cranfield.scorefiles.tables import Table, arranged, chosen, from_table, numeric, score_in
from cranfield.scores import Scores

FORMATS = ("auto", "csv", "tsv", "json", "jsonl", "parquet", "trec")
"""Formats of scores; `auto` looks at the suffix, and into text of any other suffix."""


def read_scores(data: Any, *, measure: str | None = None, format: str = "auto") -> Scores:
    """Read per-topic scores of one measure.

    Parameters
    ----------
    data
        A file (`-` is standard input; it may be packed), or several files of one system each; a
        data frame; a mapping {system: {topic: score}} or {system: scores}. A table is either wide,
        with a row a topic and a column a system, the topics in a column `topic` or in a first
        column without name or numbers; or long, with columns `topic`, `system`, `score` and perhaps
        `measure` and `shard`. Text lines are what `trec_eval -q` prints (measure, topic, value) or
        ir_measures (topic, measure, value). Empty cells, `NaN` and `NA` are no score.
    measure
        The measure to take where there are several, and the name of it where there is none.
    format
        `auto`, `csv`, `tsv`, `json`, `jsonl`, `parquet`, or `trec` for text lines.

    Returns
    -------
    Scores
        NaN where a system has no score for a topic.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: a score that is no finite score_in, a line of
        another length, two scores for one topic and system, no scores at all.

    Examples
    --------
    >>> read_scores({"bm25": {"q1": 0.5, "q2": 0.25}, "dense": {"q2": 0.75}}).values.tolist()
    [[0.5, nan], [0.25, 0.75]]
    """
    if isinstance(data, Scores):
        return data
    if format not in FORMATS:
        raise PolicyError(f"format {quoted(format)} is none of {', '.join(FORMATS)}")
    if isinstance(data, (str, PathLike)):
        return _from_file(Source(fspath(data)), measure, format)
    if isinstance(data, Mapping):
        return _from_mapping(data, measure)
    # Asking a lazy frame itself for its columns would cost, and warn.
    if hasattr(type(data), "columns") or hasattr(type(data), "column_names"):
        return from_table(_frame(data), measure)
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        parts = [read_scores(one, measure=measure, format=format) for one in data]
        if parts:
            return _side_by_side(parts)
    raise InputError(f"{type(data).__name__} cannot be read as scores")


def _from_file(source: Source, measure: str | None, layout: str) -> Scores:
    raw = source.read()
    if not raw.strip():
        raise InputError("is empty: there are no scores", source=source.name)
    if layout == "auto":
        suffix = source.suffix.removeprefix(".").replace("ndjson", "jsonl")
        layout = suffix if suffix in FORMATS[1:] else ""
    if layout == "parquet":
        try:
            return from_table(_frame(pl.read_parquet(io.BytesIO(raw)), source.name), measure)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = (str(error).splitlines() or ["it is damaged"])[0]
            raise InputError(f"is no readable Parquet: {reason}", source=source.name) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", source=source.name, line=line) from None
    if layout in {"json", "jsonl"}:
        return _from_json(text, source.name, measure, lines=layout == "jsonl")
    if not layout:
        head = text.split("\n", 1)[0]
        layout = "csv" if "," in head else "trec" if len(head.split()) == 3 else "tsv"
    if layout == "trec":
        return _from_lines(text, source, measure)
    return from_table(_delimited(text, source.name, "\t" if layout == "tsv" else ","), measure)


def _delimited(text: str, source: str, separator: str) -> Table:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows, lines = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(
            f"is no proper table: {error}", source=source, line=reader.line_num
        ) from None
    if not rows:
        raise InputError("is empty: there are no scores", source=source)
    head, *body = rows
    for row, line in zip(body, lines[1:], strict=True):
        if len(row) != len(head):
            raise InputError(
                f"{len(row)} columns where the head has {len(head)}", source=source, line=line
            )
    if not body:
        raise InputError("has a head, but no scores", source=source, line=lines[0])
    return Table(source, [name.strip() for name in head], body, lines[1:])


def _frame(data: Any, source: str = "a table") -> Table:
    import narwhals.stable.v1 as nw

    try:
        frame = nw.from_native(data)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        names, rows = list(map(str, frame.columns)), [list(row) for row in frame.rows()]
    except Exception as error:
        # Each library has its own ways to refuse a frame.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{type(data).__name__} cannot be read: {reason}", source=source) from None
    index = getattr(data, "index", None)
    if index is not None and not callable(index) and index.name is not None:
        # The topics of a pandas frame often are its index.
        names, rows = (
            [str(index.name), *names],
            [[k, *row] for k, row in zip(index, rows, strict=True)],
        )
    if not rows:
        raise InputError("has no rows", source=source)
    return Table(source, names, rows, range(1, len(rows) + 1))


def _from_json(text: str, source: str, measure: str | None, *, lines: bool) -> Scores:
    try:
        parsed = (
            [json.loads(line) for line in text.splitlines() if line.strip()]
            if lines
            else json.loads(text)
        )
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no valid JSON: {error}", source=source) from None
    if isinstance(parsed, Mapping):
        return _from_mapping(parsed, measure, source)
    if isinstance(parsed, list) and all(isinstance(row, Mapping) for row in parsed) and parsed:
        names = list(dict.fromkeys(str(name) for row in parsed for name in row))
        rows = [[row.get(name) for name in names] for row in parsed]
        return from_table(Table(source, names, rows, range(1, len(rows) + 1)), measure)
    raise InputError("holds neither an object nor an array of objects", source=source)


def _from_mapping(data: Mapping[Any, Any], measure: str | None, source: str = "scores") -> Scores:
    if not data:
        raise InputError("is empty: there are no systems", source=source)
    columns: dict[str, dict[str, float]] = {}
    for system, given in data.items():
        named = given.items() if isinstance(given, Mapping) else enumerate(given, 1)
        columns[str(system)] = {
            str(topic): score_in(value, source, topic=str(topic)) for topic, value in named
        }
    return arranged(columns, measure)


def _from_lines(text: str, source: Source, measure: str | None) -> Scores:
    """Read what trec_eval or ir_measures print for one run."""
    rows = []
    system = source.stem
    for line, content in enumerate(text.splitlines(), 1):
        cells = content.split()
        if not cells:
            continue
        if len(cells) != 3:
            raise InputError(f"{len(cells)} columns, not 3", source=source.name, line=line)
        if cells[0] == "runid":
            system = cells[2]
        else:
            rows.append((cells, line))
    # trec_eval prints the measure first, ir_measures the topic; the topic `all` tells.
    last = rows[-1][0] if rows else ["", "", ""]
    swapped = last[0] == "all" or (last[1] != "all" and numeric(last[0]))
    at = (1, 0) if swapped else (0, 1)
    kept = [(c[at[0]], c[at[1]], c[2], line) for c, line in rows if c[at[1]] != "all"]
    if not kept:
        raise InputError(
            "has no scores by topic; trec_eval prints them with -q", source=source.name
        )
    kinds = list(dict.fromkeys(kind for kind, *_ in kept))
    wanted = chosen(kinds, measure, source.name)
    scores: dict[str, float] = {}
    for kind, topic, value, line in kept:
        if kind != wanted:
            continue
        if topic in scores:
            raise InputError("two scores", source=source.name, line=line, topic=topic)
        scores[topic] = score_in(value, source.name, line, topic)
    return arranged({system: scores}, wanted)


def _side_by_side(parts: list[Scores]) -> Scores:
    columns: dict[str, dict[str, float]] = {}
    for part in parts:
        for k, system in enumerate(part.systems):
            if system in columns:
                raise CranfieldError(f"two systems are called {quoted(system)}")
            columns[system] = dict(zip(part.topics, part.values[:, k].tolist(), strict=True))
    return arranged(columns, parts[0].measure)
