"""Judgments of a sample of the pool: prels, and the qrels with strata of sample_eval.pl."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from cranfield.collection.files.blank_separated import Part, read_parts
from cranfield.collection.files.layouts import Layout
from cranfield.sources.chunks import Source
from cranfield.sources.origin import LineMap

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
    """Parse a file chunk by chunk; note the lines."""
    yield from read_parts(source, PRELS, lines, encoding=encoding)


def read_xqrels(
    source: Source, kind: str, lines: LineMap, *, encoding: str = "utf-8"
) -> Iterator[Part]:
    """Parse a file chunk by chunk; note the lines."""
    return read_parts(source, XQRELS, lines, encoding=encoding)
