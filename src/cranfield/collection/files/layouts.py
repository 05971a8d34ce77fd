"""The columns of the formats whose lines are separated by blanks."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

_TEXT, _WHOLE, _NUMBER = pl.String, pl.Int32, pl.Float64


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
        return {name: self.columns[name] for name in self.read}


RUN = Layout(
    "run",
    {"topic": _TEXT, "q0": _TEXT, "doc": _TEXT, "rank": _WHOLE, "score": _NUMBER, "tag": _TEXT},
    read=("topic", "doc", "rank", "score", "tag"),
    optional=frozenset({"rank"}),
    more_allowed=True,
)
QRELS = Layout(
    "qrels",
    {"topic": _TEXT, "subtopic": _TEXT, "doc": _TEXT, "grade": _WHOLE},
    read=("topic", "subtopic", "doc", "grade"),
)
PRELS = Layout(
    "prels",
    {"topic": _TEXT, "doc": _TEXT, "grade": _WHOLE, "method": _TEXT, "inclusion": _NUMBER},
    read=("topic", "doc", "grade", "inclusion"),
)
"""Of the Million Query and Web tracks: a document's grade, and its chance to be in the sample."""

XQRELS = Layout(
    "xqrels",
    {"topic": _TEXT, "iteration": _TEXT, "doc": _TEXT, "stratum": _TEXT, "grade": _WHOLE},
    read=("topic", "doc", "stratum", "grade"),
)
"""Of sample_eval.pl: qrels with the stratum before the grade; below 0 is pooled, not sampled."""
