"""Preferences of people between two runs: read from any table, checked, joined by majority."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.scores import Scores
from cranfield.sources.chunks import Source

COLUMNS = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid"),
    "first": ("first", "left", "system_1", "system1"),
    "second": ("second", "right", "system_2", "system2"),
    "preferred": ("preferred", "preference", "winner"),
    "assessor": ("assessor", "assessor_id", "judge", "worker", "worker_id", "user", "user_id"),
}
"""Names of the columns of preferences, in any case; the assessor may be missing."""

WORDS = {
    **dict.fromkeys(("first", "left", "1"), 1.0),
    **dict.fromkeys(("second", "right", "2"), -1.0),
    **dict.fromkeys(("tie", "tied", "same", "equal", "0"), 0.0),
}
"""How preferences are written besides the names of systems, in any case."""


def read_preferences(data: Any, like: Scores) -> pl.DataFrame:
    """Read preferences, and check them against the topics and systems that have scores.

    Parameters
    ----------
    data
        As for :func:`cranfield.meta.predictive_power`.
    like
        Scores of the topics and systems.

    Returns
    -------
    DataFrame
        `topic`, `first`, `second`, `preferred` (1 for the first, -1 for the second, 0 for a tie),
        `votes`, which is 1, `assessor`, null where there is none, and `at`, the number of the row.

    Raises
    ------
    InputError
        For what cannot be read, and a topic or a system that has no scores.
    PolicyError
        For data of another kind.

    Examples
    --------
    >>> like = Scores([[0.5, 0.2]], ["q"], ["a", "b"])
    >>> rows = [("q", "a", "b", "left"), ("q", "b", "a", "tie")]
    >>> read_preferences(rows, like)["preferred"].to_list()
    [1, 0]
    """
    return _checked(*_read(data), like)


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


def _read(data: Any) -> tuple[list[tuple[Any, ...]], Callable[[int], tuple[str, int | None]]]:
    """Return topic, first, second, preferred and assessor of each row, and where a row stands."""
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        separator = "\t" if source.suffix in {".tsv", ".tab"} else ","
        raw = source.read()
        try:
            frame = pl.read_csv(raw, separator=separator, infer_schema=False)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = (str(error).splitlines() or ["it is damaged"])[0]
            raise InputError(f"is no readable table: {reason}", source=source.name) from None
        return _rows(frame, source.name), lambda row: (source.name, row + 2)
    if hasattr(type(data), "columns") or hasattr(type(data), "column_names"):
        return _rows(data, "preferences"), lambda row: ("preferences", row + 1)
    if isinstance(data, Iterable) and not isinstance(data, (bytes, Mapping)):
        rows = []
        for number, row in enumerate(data, 1):
            if isinstance(row, str) or not isinstance(row, Sequence) or len(row) not in (4, 5):
                raise InputError(
                    "a preference is (topic, first, second, preferred) and perhaps an assessor, not"
                    f" {quoted(row)}",
                    source="preferences",
                    line=number,
                )
            rows.append((*row, None) if len(row) == 4 else tuple(row))
        return rows, lambda row: ("preferences", row + 1)
    kind = type(data).__name__
    raise PolicyError(f"preferences are a table, a file or tuples, not {kind}")


def _rows(data: Any, source: str) -> list[tuple[Any, ...]]:
    """Take the columns of a data frame of any library, under any of their usual names."""
    import narwhals.stable.v1 as nw

    try:
        frame = nw.from_native(data)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        columns = {str(name).strip().lower(): frame[name].to_list() for name in frame.columns}
    except Exception as error:
        # Each library has its own ways to refuse a frame.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{type(data).__name__} cannot be read: {reason}", source=source) from None
    found = []
    for name, aliases in COLUMNS.items():
        column = next((columns[alias] for alias in aliases if alias in columns), None)
        if column is None and name != "assessor":
            there = ", ".join(columns) or "none"
            raise InputError(f"lacks a column {name}; there are {there}", source=source)
        found.append(column)
    if found[-1] is None:
        found[-1] = [None] * len(found[0] or [])
    return list(zip(*found, strict=True))


def _checked(
    rows: list[tuple[Any, ...]], place: Callable[[int], tuple[str, int | None]], like: Scores
) -> pl.DataFrame:
    """Check every preference against the topics and systems that have scores."""
    if not rows:
        raise InputError("has no rows", source=place(0)[0])
    topics, systems = set(like.topics), set(like.systems)
    out = []
    for number, row in enumerate(rows):
        topic, first, second, preferred = (_text(value) for value in row[:4])
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
            source, line = place(number)
            raise InputError(wrong, source=source, line=line)
        assessor = _text(row[4]) or None
        out.append((topic, first, second, sign, 1, assessor, number))
    columns = ("topic", "first", "second", "preferred", "votes", "assessor", "at")
    kinds = (pl.String, pl.String, pl.String, pl.Int64, pl.Int64, pl.String, pl.Int64)
    return pl.DataFrame(out, dict(zip(columns, kinds, strict=True)), orient="row", strict=False)


def _text(value: Any) -> str:
    """Return a label as text; nothing for a cell that is empty."""
    if isinstance(value, float):
        # A column of whole numbers turns into floats where a cell of it is empty.
        return "" if np.isnan(value) else f"{value:.0f}" if value.is_integer() else str(value)
    return "" if value is None else str(value).strip()
