"""The columns of labels: their usual names, and those of lines without a head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def columns_called(names: Iterable[str], schema: Schema) -> list[str]:
    """Return the columns of a schema that usual names stand for."""
    found: list[str] = []
    for name in names:
        known = (one.name for one in schema.columns if spelt(name) in map(spelt, one.names))
        column = next(known, None)
        if column is None or column in found:
            listed = ", ".join(one.name for one in schema.columns)
            reason = f"expected one of: {listed}" if column is None else f"a second {column}"
            raise PolicyError(f"unknown column {quoted(name)} in columns; {reason}")
        found.append(column)
    return found


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
    heads = (line.strip() for line in first.splitlines())
    head = next((head for head in heads if head and not head.startswith(b"#")), b"")
    tabs = len(head.split(b"\t"))
    width = tabs if tabs in _OF_WIDTH else len(head.split())
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
    known = iter(columns_called((name for name in names if name != "-"), LABELS))
    read = [f"-{k}" if name == "-" else next(known) for k, name in enumerate(names)]
    if lacking := [name for name in LABELS.required if name not in read]:
        raise PolicyError(f"columns {quoted(' '.join(names))} lack {lacking[0]}")
    types = {name: _TYPES.get(name, pl.String) for name in read}
    return Layout("label", types, tuple(name for name in types if not name.startswith("-")))
