"""Judgments of a sample of the pool: prels, and the qrels with strata of sample_eval.pl."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from cranfield.collection.layouts import Layout
from cranfield.collection.lines import LineMap
from cranfield.collection.source import Source
from cranfield.collection.text import Part, read_parts
from cranfield.errors import InputError

PRELS = Layout(
    "prels",
    {
        "topic": pl.String,
        "doc": pl.String,
        "grade": pl.Int32,
        "method": pl.String,
        "inclusion": pl.Float64,
    },
    read=("topic", "doc", "grade", "inclusion"),
)
"""Of the Million Query and Web tracks: a document's grade, and its chance to be in the sample."""

XQRELS = Layout(
    "xqrels",
    {
        "topic": pl.String,
        "iteration": pl.String,
        "doc": pl.String,
        "stratum": pl.String,
        "grade": pl.Int32,
    },
    read=("topic", "doc", "stratum", "grade"),
)
"""Of sample_eval.pl: qrels with the stratum before the grade; below 0 is pooled, not sampled."""


def read_prels(
    source: Source, kind: str, lines: LineMap, *, encoding: str = "utf-8"
) -> Iterator[Part]:
    """Parse a file chunk by chunk; note the lines.

    Raises
    ------
    InputError
        As for qrels, and for a probability below 0 or above 1.
    """
    for part in read_parts(source, PRELS, lines, encoding=encoding):
        chances = part.frame["inclusion"].to_numpy()
        wrong = ~((chances >= 0) & (chances <= 1))
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                f"inclusion probability {chances[row]:g} is not from 0 to 1",
                source=source.name,
                line=lines.line(lines.rows - part.frame.height + row),
                topic=part.frame["topic"][row],
                doc=part.frame["doc"][row],
            )
        yield part


def read_xqrels(
    source: Source, kind: str, lines: LineMap, *, encoding: str = "utf-8"
) -> Iterator[Part]:
    """Parse a file chunk by chunk; note the lines."""
    return read_parts(source, XQRELS, lines, encoding=encoding)
