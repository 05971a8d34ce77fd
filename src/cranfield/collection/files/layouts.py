"""Formats of lines separated by blanks: their columns, and what is accepted of a line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import InputError, quoted
from cranfield.base.words import counted
from cranfield.sources.values import NO_GRADE, absent, integer_in, is_number, whole_in

_TEXT, _WHOLE, _NUMBER = pl.String, pl.Int32, pl.Float64


@dataclass(frozen=True)
class Layout:
    """The columns of a format: their names, their types, and which are read.

    gaps: whether a line may end before the grade, its last column, and the grade may be empty.
    """

    kind: str
    columns: dict[str, type[pl.DataType]]
    read: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    more_allowed: bool = False
    gaps: bool = False

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
SHORT_RUN = Layout(
    "run", {"topic": _TEXT, "doc": _TEXT, "value": _NUMBER}, read=("topic", "doc", "value")
)
"""Of MS MARCO: the number is the rank, and with others the score."""

SHORT_QRELS = Layout(
    "qrels", {"topic": _TEXT, "doc": _TEXT, "grade": _WHOLE}, read=("topic", "doc", "grade")
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


_NO_GRADE = "; ungraded='drop' takes a document without a grade for not judged"
_COMMAS = "; with commas it looks like CSV, which is read from .csv, or with format='csv'"


def read_lines(
    chunk: bytes, layout: Layout, *, source: str, first_line: int
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Parse UTF-8 text line by line: the definition of what is accepted, and of each error."""
    names = list(layout.columns)
    values: dict[str, list[object]] = {name: [] for name in layout.read}
    numbers: list[int] = []
    for number, raw in enumerate(chunk.split(b"\n"), first_line):
        fields = raw.split()
        if not fields or fields[0].startswith(b"#"):
            continue
        if layout.gaps and _lacks_grade(fields, layout):
            fields.append(b"")
        _check_width(fields, layout, source, number)
        if len(fields) > len(names) and b"\r" in raw.strip():
            raise InputError(
                f"a carriage return within a line of {len(fields)} columns: all lines of a file"
                " end with LF or CR LF, or all with CR",
                source=source,
                line=number,
            )
        row = dict(zip(names, (item.decode() for item in fields), strict=False))
        for name in layout.read:
            value = _value(row, name, layout, source, number)
            values[name].append(value)
        numbers.append(number)
    return pl.DataFrame(values, schema=layout.schema), np.array(numbers, dtype=np.int64)


def _lacks_grade(fields: list[bytes], layout: Layout) -> bool:
    """Whether this is a line of judgments up to the grade: topic, 0, document."""
    return "subtopic" in layout.columns and len(fields) == 3 and fields[1] in {b"0", b"Q0"}


def _check_width(fields: list[bytes], layout: Layout, source: str, line: int) -> None:
    wanted = len(layout.columns)
    if len(fields) < wanted or (len(fields) > wanted and not layout.more_allowed):
        commas = sum(field.count(b",") for field in fields)
        raise InputError(
            f"{counted(len(fields), 'column')} where a {layout.kind} line has {wanted}"
            f" ({' '.join(layout.columns)})"
            + (_NO_GRADE if _lacks_grade(fields, layout) else "")
            + (_COMMAS if len(fields) < wanted and commas > 1 else ""),
            source=source,
            line=line,
            topic=fields[0].decode() if next(iter(layout.columns)) == "topic" else None,
        )


def _value(row: dict[str, str], name: str, layout: Layout, source: str, line: int) -> object:
    text = row[name]
    dtype = layout.columns[name]
    if dtype == pl.Float64:
        if is_number(text):
            return float(text)
        reason = f"{name} {quoted(text)} is not a finite number"
    elif dtype == pl.Int32:
        if name in layout.optional:
            return integer_in(text)
        if (number := whole_in(text)) is not None:
            return number
        if layout.gaps and absent(text, NO_GRADE):
            return None
        reason = f"{name} {quoted(text)} is not an integer (of 32 bits)"
    else:
        return text
    raise InputError(reason, source=source, line=line, topic=row.get("topic"), doc=row["doc"])
