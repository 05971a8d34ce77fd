"""Data frames of any library as tables of scores."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.evaluation.scorefiles.cells import role_of
from cranfield.evaluation.scorefiles.wide_and_long import ScoreTable
from cranfield.sources.columns import columns_of_frame, parquet_frame


def from_frame(data: Any, source: str = "a table", stem: str = "run") -> ScoreTable:
    """Take the names and the rows of a data frame; lines are counted from its first row.

    The index of a pandas frame is a column too, where it says more than the number of the row.
    """
    columns = columns_of_frame(data, source)
    if any(isinstance(name, tuple) for name in columns.names):
        raise InputError("the names of its columns have several levels", source=source)
    names = [str(name) for name in columns.names]
    rows = [list(row) for row in zip(*map(columns.cells, range(len(names))), strict=True)]
    if not rows:
        raise InputError("has no rows", source=source)
    index = getattr(data, "index", None)
    if index is not None and hasattr(index, "names"):
        labels = index if len(index.names) > 1 else ((label,) for label in index)
        names, rows = _with_index(
            list(index.names), [list(label) for label in labels], names, rows, source
        )
    return ScoreTable(source, names, rows, range(1, len(rows) + 1), stem)


def from_parquet(raw: bytes, source: str, stem: str) -> ScoreTable:
    """Read Parquet; what pandas wrote as its index, last, is treated as its index."""
    frame = parquet_frame(raw, source, "Parquet")
    index = _index_columns(pl.read_parquet_metadata(io.BytesIO(raw)).get("pandas", ""))
    index = [name for name in index if name in frame.columns]
    if not index or frame.is_empty():
        return from_frame(frame, source, stem)
    table = from_frame(frame.drop(index), source, stem)
    levels = [None if name.startswith("__index_level_") else name for name in index]
    labels = [list(row) for row in frame.select(index).rows()]
    names, rows = _with_index(levels, labels, table.names, table.rows, source)
    return ScoreTable(source, names, rows, table.lines, stem)


def _index_columns(metadata: str) -> list[str]:
    try:
        found = json.loads(metadata)["index_columns"]
        return [name for name in found if isinstance(name, str)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def _with_index(
    levels: list[Any],
    labels: list[list[Any]],
    names: list[str],
    rows: list[list[Any]],
    source: str,
) -> tuple[list[str], list[list[Any]]]:
    """Put what the index of a pandas frame says in front of the columns.

    A level without a name, or with one that says nothing, is taken for the topics, unless a column
    has them; then it is left out, as are plain numbers of rows.
    """
    known = [None if level is None else role_of(str(level)) for level in levels]
    if len(levels) > 1 and None in known:
        unknown = levels[known.index(None)]
        raise InputError(
            f"a level of its index is called {quoted(unknown)}; topic, system, measure and shard"
            " are understood",
            source=source,
        )
    found = [str(level) for level in levels]
    if known == [None]:
        has_topics = any(role_of(name) == "topic" for name in names)
        numbers = [label for (label,) in labels] == list(range(len(rows)))
        if has_topics or (levels == [None] and numbers):
            return names, rows
        found = [""]
    return [*found, *names], [[*label, *row] for label, row in zip(labels, rows, strict=True)]
