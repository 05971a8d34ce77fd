"""Sessions as plain tables: a row a result, and a row a click."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import InputError
from cranfield.collection.files.named_columns import DOC, SCORE
from cranfield.sources.columns import two_columns
from cranfield.sources.schemas import FRAMES, Column, Lines, Schema, between_tabs, optional
from cranfield.sources.tables import Table, read_table
from cranfield.sources.values import GRADE, ID, Kind, absent, anything, finite

_NO_TIME = frozenset({"", "na", "nan"})


def _whole(cell: Any) -> int | None:
    number: int | None = GRADE.read(cell)
    return number if number is not None and number >= 1 else None


def _seconds(cell: Any) -> float | None:
    if absent(cell, _NO_TIME) or isinstance(cell, bool):
        return None
    return float(cell.timestamp()) if hasattr(cell, "timestamp") else finite(cell)


def _query(cell: Any) -> str | None:
    """Read the name of a query; whole numbers have no decimals."""
    number = None if isinstance(cell, bool) else finite(cell)
    whole = number is not None and number.is_integer() and "." in str(cell)
    return str(int(number)) if number is not None and whole else ID.read(cell)


WHOLE = Kind(_whole, pl.Int32, "not a whole number from 1")
TIME = Kind(_seconds, pl.Float64, "no number of seconds", lambda cell: absent(cell, _NO_TIME))
TEXT = Kind(lambda cell: None if cell is None else str(cell), missing=anything)

SYSTEM = optional("system", ID)
SESSION = Column("session", ID)
TOPIC = Column("topic", ID, "topic of session")
QUERY = Column("query", replace(ID, read=_query, exact=None), "query of session")
RANK = Column("rank", WHOLE, "clicked rank")


def columns_of_mapping(
    kind: str,
) -> Callable[[Mapping[Any, Any], str], dict[str, list[Any]]]:
    """Make a function that takes the values of a mapping as columns of a kind of table."""

    def columns(data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
        for values in data.values():
            if not isinstance(values, Iterable) or isinstance(values, (str, bytes, Mapping)):
                raise InputError(
                    f"a mapping is a {kind} when its values are columns", source=source
                )
        listed = {
            str(name): values.tolist() if isinstance(values, np.ndarray) else list(values)
            for name, values in data.items()
        }
        if len({len(values) for values in listed.values()}) > 1:
            raise InputError("columns are of different lengths", source=source)
        return listed

    return columns


def _topics(data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
    if all(isinstance(topic, (str, int)) for topic in data.values()):
        return two_columns("session", "topic")(data, source)
    return columns_of_mapping("table of session topics")(data, source)


_SESSIONS = Schema(
    "table of sessions",
    (
        *(SESSION, QUERY, DOC, SYSTEM),
        optional("topic", ID, TOPIC.meaning),
        optional("rank", WHOLE, RANK.meaning),
        optional("score", SCORE.kind),
        *(optional("title", TEXT), optional("snippet", TEXT)),
    ),
    formats=FRAMES,
    mapping=columns_of_mapping("table of sessions"),
    readable="table",
)
CLICKS = Schema(
    "table of clicks",
    (
        *(SESSION, QUERY, RANK, SYSTEM),
        optional("start", TIME, called="time"),
        optional("end", TIME, called="time"),
    ),
    formats=FRAMES,
    mapping=columns_of_mapping("table of clicks"),
    readable="table",
)
TOPICS = Schema(
    "table of session topics",
    (SESSION, TOPIC),
    formats=FRAMES,
    lines=Lines(("session", "topic"), 2, cut=lambda line: between_tabs(line, {2}) or line.split()),
    mapping=_topics,
    readable="table",
)


def read_results(data: Any) -> Table:
    table = read_table(data, _SESSIONS)
    if not {"rank", "score"} & {*table.names}:
        raise InputError("has neither a rank nor a score column", source=table.source)
    return table
