"""Formats of lines separated by blanks: their columns, and what is accepted of a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import InputError, quoted
from cranfield.base.words import counted
from cranfield.sources.values import (
    NO_GRADE,
    absent,
    integer_in,
    is_number,
    no_integer,
    whole_in,
)

_TEXT, _WHOLE, _NUMBER = pl.String, pl.Int32, pl.Float64


@dataclass(frozen=True)
class Layout:
    """The columns of a format: their names, their types, which are read, and their separator.

    gaps: whether a line may end before the grade, its last column, and the grade may be empty.
    """

    kind: str
    columns: dict[str, type[pl.DataType]]
    read: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    more_allowed: bool = False
    separator: str = "auto"
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
"""The number is the rank, as in MS MARCO, or the score."""

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
) -> tuple[pl.DataFrame, NDArray[np.int64], int]:
    """Parse UTF-8 text line by line: the definition of what is accepted, and of each error.

    Returns the rows, the line of each, and how many columns the lines have.
    """
    names = list(layout.columns)
    values: dict[str, list[object]] = {name: [] for name in layout.read}
    numbers: list[int] = []
    width = 0
    for number, raw in enumerate(chunk.split(b"\n"), first_line):
        bare = raw.strip()
        if not bare or bare.startswith(b"#"):
            continue
        wrong = partial(InputError, source=source, line=number)
        fields = _fields(raw.strip(b" \v\f\r"), layout, wrong)
        if layout.gaps and _lacks_grade(fields, layout):
            fields.append(b"")
        _check_width(fields, layout, source, number)
        if len(fields) > len(names) and b"\r" in bare:
            raise InputError(
                f"a carriage return within a line of {len(fields)} columns: all lines of a file"
                " end with LF or CR LF, or all with CR",
                source=source,
                line=number,
            )
        if width not in {0, len(fields)}:
            raise ragged(width, len(fields), source, number)
        width = len(fields)
        if width > len(names) and layout.separator == "auto":
            _check_further([field.decode() for field in fields], layout, wrong)
        row = dict(zip(names, (item.decode() for item in fields), strict=False))
        for name in layout.read:
            value = _value(row, name, layout, source, number)
            values[name].append(value)
        numbers.append(number)
    return pl.DataFrame(values, schema=layout.schema), np.array(numbers, dtype=np.int64), width


def _fields(line: bytes, layout: Layout, wrong: Callable[[str], InputError]) -> list[bytes]:
    """Split a line at tabs if these are its only possible separators, else at any blanks."""
    width, blanks = len(layout.columns), line.split()
    tabs = [field.strip() for field in line.lstrip().split(b"\t")]
    if layout.more_allowed and len(tabs) >= width:
        # A tag ends at its first blank, as in trec_eval.
        tabs[width - 1] = tabs[width - 1].partition(b" ")[0]
    if layout.separator == "tab":
        if len(tabs) < width:
            raise wrong(f"expected {width} columns separated by tabs, got {len(tabs)}")
        if b"" in tabs[:width]:
            name = list(layout.columns)[tabs.index(b"")]
            raise wrong(f"expected {width} columns separated by tabs, got no {name} between tabs")
        return tabs
    fits = len(tabs) == width or (layout.more_allowed and len(tabs) > width)
    if layout.separator == "blank" or not fits:
        return blanks
    if b"" not in tabs[:width]:
        return tabs
    values = (k for k, dtype in enumerate(layout.columns.values()) if dtype == _NUMBER)
    if len(tabs) == width == len(blanks) and all(is_number(tabs[k].decode()) for k in values):
        raise wrong(
            f"expected {width} columns, got {width} both by tabs (one of them empty) and by blanks:"
            " separator='tab' or separator='blank' says which"
        )
    return blanks


def _check_further(fields: list[str], layout: Layout, wrong: Callable[[str], InputError]) -> None:
    """Refuse further columns of a run line if an id with blanks or a joined line may be the cause.

    The rank and the score are the fourth and the fifth column from the left, and otherwise the
    third and the second from the right.
    """
    expected = f"expected {len(layout.columns)} columns ({' '.join(layout.columns)})"
    got = f"got {len(fields)} separated by blanks"
    advice = (
        "ids with blanks need tabs between columns (separator='tab');"
        " separator='blank' ignores the further columns"
    )
    if integer_in(fields[3]) is None:
        raise wrong(
            f"{expected}, {got}, of which the 4th, {quoted(fields[3])}, is no rank: {advice}"
        )
    if integer_in(fields[-3]) is not None and is_number(fields[-2]):
        raise wrong(f"{expected}, {got}: an id or tag with blanks, or two lines in one: {advice}")


def ragged(expected: int, width: int, source: str, line: int) -> InputError:
    return InputError(
        f"expected {expected} columns as in the lines before, got {width}: is this two lines in"
        " one, of files joined without a line end between them?",
        source=source,
        line=line,
    )


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
        reason = f"{name} {quoted(text)} is {no_integer(text)}"
    else:
        return text
    raise InputError(reason, source=source, line=line, topic=row.get("topic"), doc=row["doc"])
