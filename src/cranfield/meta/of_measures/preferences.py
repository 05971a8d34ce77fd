"""Preferences of people between two runs: read from any table, checked, joined by majority."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.scores import Scores
from cranfield.sources.chunks import Source
from cranfield.sources.columns import Columns, columns_of_frame, csv_frame, is_frame
from cranfield.sources.schemas import Column, Schema, optional
from cranfield.sources.tables import Table, fitted
from cranfield.sources.values import Kind, absent, anything, plain


def _text(cell: Any) -> str | None:
    return None if absent(cell) else str(plain(cell)).strip()


_LABEL = Kind(_text, missing=anything)
_PREFERENCES = Schema(
    "table of preferences",
    (
        Column("topic", _LABEL),
        Column("first", _LABEL),
        Column("second", _LABEL),
        Column("preferred", _LABEL),
        optional("assessor", _LABEL, "worker"),
    ),
    lacks="lacks a column {name}; there are {plain}",
)

WORDS = {
    **dict.fromkeys(("first", "left", "1"), 1.0),
    **dict.fromkeys(("second", "right", "2"), -1.0),
    **dict.fromkeys(("tie", "tied", "same", "equal", "0"), 0.0),
}
"""How preferences are written besides the names of systems, in any case."""


def read_preferences(data: Any, like: Scores) -> pl.DataFrame:
    """Read preferences, and check them against the topics and systems that have scores.

    Returns a table of `topic`, `first`, `second`, `preferred` (1 for the first, -1 for the second,
    0 for a tie), `votes`, which is 1, `assessor`, null where there is none, and `at`, the number of
    the row.

    """
    return _checked(_read(data), like)


def joined(table: pl.DataFrame) -> pl.DataFrame:
    """Join the preferences for the same runs of a topic, whichever of the two came first.

    The majority of votes decides; ties are votes for none, and as many for the one as for the other
    is a tie. Takes and returns the table of :func:`read_preferences`.
    """
    turned = pl.col("first") > pl.col("second")
    return (
        table.with_columns(
            pl.when(turned).then("second").otherwise("first").alias("first"),
            pl.when(turned).then("first").otherwise("second").alias("second"),
            pl.when(turned).then(-pl.col("preferred")).otherwise("preferred").alias("preferred"),
        )
        .group_by("topic", "first", "second", maintain_order=True)
        .agg(
            pl.col("preferred").sum().sign(),
            pl.col("votes").sum(),
            pl.lit(None, dtype=pl.String).alias("assessor"),
            pl.col("at").first(),
        )
    )


def _read(data: Any) -> Table:
    """Read a row a preference; what is empty is null."""
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        separator = "\t" if source.suffix in {".tsv", ".tab"} else ","
        columns = columns_of_frame(
            csv_frame(source.read(), source.name, separator, "table"), source.name
        )
    elif is_frame(data):
        columns = columns_of_frame(data, "preferences")
    elif isinstance(data, Iterable) and not isinstance(data, (bytes, Mapping)):
        rows = list(data)
        for number, row in enumerate(rows, 1):
            if isinstance(row, str) or not isinstance(row, Sequence) or len(row) not in (4, 5):
                raise InputError(
                    "a preference is (topic, first, second, preferred) and perhaps an assessor, not"
                    f" {quoted(row)}",
                    source="preferences",
                    line=number,
                )
        if not rows:
            raise InputError("has no rows", source="preferences")
        names = [column.name for column in _PREFERENCES.columns]
        columns = Columns.of_rows(names, [(*row, None)[:5] for row in rows], "preferences")
    else:
        kind = type(data).__name__
        raise PolicyError(f"preferences are a table, a file or tuples, not {kind}")
    table = fitted(columns.matched(_PREFERENCES), _PREFERENCES, columns.source)
    # A file has a head above its rows.
    above = 2 if isinstance(data, (str, PathLike)) else 1
    return replace(table, lines=range(above, above + table.frame.height))


def _checked(table: Table, like: Scores) -> pl.DataFrame:
    topics, systems = set(like.topics), set(like.systems)
    out = []
    for number, (*labels, assessor) in enumerate(table.frame.iter_rows()):
        topic, first, second, preferred = (label or "" for label in labels)
        wrong = None
        if topic not in topics:
            wrong = f"topic {quoted(topic)} has no scores"
        for system in (first, second):
            if system not in systems:
                wrong = wrong or f"system {quoted(system)} has no scores"
        if first == second:
            wrong = wrong or f"system {quoted(first)} is compared with itself"
        # A system that is called like one of the words is that system.
        sign = {second: -1.0, first: 1.0}.get(preferred, WORDS.get(preferred.lower()))
        if sign is None:
            wrong = wrong or (
                f"preferred is {quoted(first)}, {quoted(second)}, first, second or tie, not"
                f" {quoted(preferred)}"
            )
        if wrong:
            raise table.wrong(number, wrong)
        out.append((topic, first, second, sign, 1, assessor, number))
    columns = ("topic", "first", "second", "preferred", "votes", "assessor", "at")
    kinds = (pl.String, pl.String, pl.String, pl.Int64, pl.Int64, pl.String, pl.Int64)
    return pl.DataFrame(out, dict(zip(columns, kinds, strict=True)), orient="row", strict=False)
