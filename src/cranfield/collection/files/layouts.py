"""The columns of the TREC formats."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Layout:
    """The columns of a format: their names, their types, and which are read."""

    kind: str
    columns: dict[str, type[pl.DataType]]
    read: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    more_allowed: bool = False

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """Types of the columns that are read."""
        return {name: self.columns[name] for name in self.read}


RUN = Layout(
    "run",
    {
        "topic": pl.String,
        "q0": pl.String,
        "doc": pl.String,
        "rank": pl.Int32,
        "score": pl.Float64,
        "tag": pl.String,
    },
    read=("topic", "doc", "rank", "score", "tag"),
    optional=frozenset({"rank"}),
    more_allowed=True,
)
QRELS = Layout(
    "qrels",
    {"topic": pl.String, "subtopic": pl.String, "doc": pl.String, "grade": pl.Int32},
    read=("topic", "subtopic", "doc", "grade"),
)
