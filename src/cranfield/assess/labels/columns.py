"""The columns of labels: their usual names, and those of lines without a head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.collection.files.blank_separated import read_parts
from cranfield.collection.files.layouts import Layout
from cranfield.collection.files.line_formats import peeked
from cranfield.collection.files.named_columns import DOC, TOPIC
from cranfield.sources.chunks import LineMap, Origin, Source, check_encoding
from cranfield.sources.schemas import Column, Schema, optional, spelt
from cranfield.sources.values import GRADE_OR_NONE, ID, NUMBER

LABELS = Schema(
    "table of labels",
    (
        optional("topic", TOPIC.kind),
        DOC,
        Column("worker", ID),
        Column("grade", GRADE_OR_NONE, "judgment"),
        optional("order", NUMBER, "order"),
    ),
    called="labels",
    decisive=("status", "count", "weight"),
    tuples=("topic", "doc", "worker", "grade", "order"),
    numbered=True,
    hint="; columns={{'{name}': ...}} says which it is (a row is one label; a file of one worker is"
    " given as NAME=FILE; a table with a column for each worker must be unpivoted first; of votes"
    " by unknown workers, number those of each document in a column worker)",
)

OF_WORKER = replace(
    LABELS,
    kind="table of judgments",
    called="judgments",
    columns=tuple(column for column in LABELS.columns if column.name != "worker"),
    tuples=("topic", "doc", "grade"),
    hint="; columns={{'{name}': ...}} says which it is",
)
"""Judgments of one worker, whose name is known."""


def renamed(columns: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """Take names of the columns of a table, `{"worker": "annotator"}`, by any usual name."""
    names: dict[str, str] = {}
    for asked, name in columns.items():
        column = next(
            (one.name for one in schema.columns if spelt(asked) in map(spelt, one.names)), None
        )
        if column is None or column in names:
            listed = ", ".join(one.name for one in schema.columns)
            reason = f"expected one of: {listed}" if column is None else f"a second {column}"
            raise PolicyError(f"unknown column {quoted(asked)} in columns; {reason}")
        names[column] = str(name)
    return names


_TYPES: dict[str, type[pl.DataType]] = {"grade": pl.Int32, "order": pl.Float64}
ITERATIONS = ("0", "Q0")
"""What stands in judgments where labels have a document: no collection has this one alone."""

_OF_WIDTH = {4: "topic doc worker grade", 5: "topic doc worker grade order"}


def of_lines(
    source: Source, columns: str | Sequence[str] | None, encoding: str
) -> tuple[pl.DataFrame, Origin]:
    """Read lines of fields between blanks."""
    check_encoding(encoding)
    source, first = peeked(source.in_encoding(encoding, "text"))
    heads = (line.split() for line in first.splitlines())
    width = next((len(head) for head in heads if head and not head[0].startswith(b"#")), 0)
    if not width:
        raise LABELS.empty(source.name)
    layout = _layout(columns if columns is not None else _OF_WIDTH.get(width), width, source.name)
    lines = LineMap()
    parts = read_parts(source, layout, lines, lambda part: part.frame)
    frame = pl.concat(list(parts))
    if columns is None and frame["doc"].is_in(ITERATIONS).all():
        name = source.name
        raise InputError(
            f"looks like judgments; name the assessor: NAME={name}, in Python {{'NAME': '{name}'}};"
            f" or, if these are labels, say columns='{_OF_WIDTH[width]}'",
            source=name,
        )
    gaps = [
        pl.lit(None, _TYPES.get(column.name, pl.String)).alias(column.name)
        for column in LABELS.columns
        if column.name not in frame.columns
    ]
    names = [column.name for column in LABELS.columns]
    return frame.with_columns(gaps).select(names), Origin(source.name, lines)


def _layout(columns: str | Sequence[str] | None, width: int, source: str) -> Layout:
    if columns is None:
        raise InputError(
            f"lines of {width} fields; say what they are, such as columns='worker doc grade'",
            source=source,
        )
    names = columns.split() if isinstance(columns, str) else [str(name) for name in columns]
    read: dict[str, str] = {}
    for k, name in enumerate(names):
        if name == "-":
            read[f"-{k}"] = name
            continue
        known = (one.name for one in LABELS.columns if spelt(name) in map(spelt, one.names))
        column = next(known, None)
        if column is None or column in read:
            reason = "none of a label's" if column is None else f"a second {column}"
            raise PolicyError(f"column {quoted(name)} is {reason}")
        read[column] = name
    if lacking := [name for name in LABELS.required if name not in read]:
        raise PolicyError(f"columns {quoted(' '.join(names))} lack {lacking[0]}")
    types = {name: _TYPES.get(name, pl.String) for name in read}
    return Layout("label", types, tuple(name for name in types if not name.startswith("-")))
