"""Formats of lines separated by blanks: their columns, and what is accepted of a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import InputError, quoted
from cranfield.base.text import counted
from cranfield.sources.values import NO_GRADE, absent, integer_in, is_number, no_integer, whole_in

_TEXT, _WHOLE, _NUMBER = pl.String, pl.Int32, pl.Float64

Q0 = ("0", "Q0")
"""The second column of judgments of four columns, of which the last may be missing."""


@dataclass(frozen=True)
class Layout:
    """The columns of a format: their names, their types, which are read, and their separator.

    separator: `tab`, `blank`, `auto` (decides by line) or `;`.
    gaps: whether a line may end before the grade, its last column, and the grade may be empty.
    levels: whether grades are written L0, L1, and so on.
    """

    kind: str
    columns: dict[str, type[pl.DataType]]
    read: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    more_allowed: bool = False
    separator: str = "auto"
    gaps: bool = False
    levels: bool = False

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

_LEVEL = re.compile(r"L\d+", re.ASCII)
_BLANKS = " \t\v\f\r"


def is_level(text: str) -> bool:
    """Tell whether this is a grade of NTCIR: L0, L1, L2 and so on."""
    return _LEVEL.fullmatch(text.strip(_BLANKS)) is not None


def lines_with_text(chunk: bytes, first_line: int = 1) -> Iterator[tuple[int, bytes]]:
    """Go through the lines that are neither empty nor comments, with their numbers."""
    for number, line in enumerate(chunk.split(b"\n"), first_line):
        if (bare := line.lstrip()) and not bare.startswith(b"#"):
            yield number, line


def read_lines(
    chunk: bytes, layout: Layout, *, source: str, first_line: int, width: int = 0
) -> tuple[pl.DataFrame, NDArray[np.int64], int]:
    """Parse lines, after some of `width` columns: the rows, the line of each, and the width."""
    values: dict[str, list[object]] = {name: [] for name in layout.read}
    numbers: list[int] = []
    for number, line in lines_with_text(chunk, first_line):
        wrong = partial(InputError, source=source, line=number)
        fields = _fields(line.decode().strip(" \v\f\r"), layout, wrong)
        if layout.gaps and _lacks_grade(fields, layout):
            fields.append("")
        _check_width(fields, layout, wrong)
        if len(fields) > len(layout.columns) and b"\r" in line.strip():
            raise wrong(
                f"a carriage return within a line of {len(fields)} columns: all lines of a file"
                " end with LF or CR LF, or all with CR"
            )
        if width not in {0, len(fields)}:
            raise ragged(width, len(fields), source, number)
        width = len(fields)
        if width > len(layout.columns) and layout.separator == "auto":
            _check_further(fields, layout, wrong)
        row = dict(zip(layout.columns, fields, strict=False))
        for name in layout.read:
            values[name].append(_value(row, name, layout, wrong))
        numbers.append(number)
    return pl.DataFrame(values, schema=layout.schema), np.array(numbers, dtype=np.int64), width


def _fields(line: str, layout: Layout, wrong: Callable[[str], InputError]) -> list[str]:
    """Split a line at tabs if these are its only possible separators, else at any blanks."""
    if layout.separator == ";":
        return line.rstrip(_BLANKS).split(";")
    width, blanks = len(layout.columns), split_at_blanks(line)
    tabs = [field.strip(_BLANKS) for field in line.lstrip(_BLANKS).split("\t")]
    if layout.more_allowed and len(tabs) >= width:
        # A tag ends at its first blank, as in trec_eval.
        tabs[width - 1] = tabs[width - 1].partition(" ")[0]
    if layout.separator == "tab":
        if len(tabs) < width:
            raise wrong(f"expected {width} columns separated by tabs, got {len(tabs)}")
        if "" in tabs[:width]:
            name = list(layout.columns)[tabs.index("")]
            raise wrong(f"expected {width} columns separated by tabs, got no {name} between tabs")
        return tabs
    fits = len(tabs) == width or (layout.more_allowed and len(tabs) > width)
    if layout.separator == "blank" or not fits:
        return blanks
    if "" not in tabs[:width]:
        return tabs
    values = (k for k, dtype in enumerate(layout.columns.values()) if dtype == _NUMBER)
    if len(tabs) == width == len(blanks) and all(is_number(tabs[k]) for k in values):
        raise wrong(
            f"expected {width} columns, got {width} both by tabs (one of them empty) and by blanks:"
            " separator='tab' or separator='blank' says which"
        )
    return blanks


def split_at_blanks(line: str) -> list[str]:
    """Split at blanks of ASCII; those of other scripts belong to an id."""
    return [field.decode() for field in line.encode().split()]


def _check_further(fields: list[str], layout: Layout, wrong: Callable[[str], InputError]) -> None:
    """Refuse further columns if an id with blanks, or two lines in one, may be the cause."""
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


def _lacks_grade(fields: list[str], layout: Layout) -> bool:
    """Tell whether this is a line of judgments up to the grade: topic, 0, document."""
    return "subtopic" in layout.columns and len(fields) == 3 and fields[1] in Q0


def _check_width(fields: list[str], layout: Layout, wrong: Callable[..., InputError]) -> None:
    width, expected = len(fields), len(layout.columns)
    if width < expected or (width > expected and not layout.more_allowed):
        reason = f"{counted(width, 'column')} where a {layout.kind} line has {expected}"
        separated = ", separated by ';'" if layout.separator == ";" else ""
        reason += f" ({' '.join(layout.columns)}{separated})"
        if _lacks_grade(fields, layout):
            reason += "; if other lines have it, ungraded='drop' takes this document for not judged"
        elif width < expected and sum(field.count(",") for field in fields) > 1:
            reason += (
                "; with commas it looks like CSV, which is read from .csv, or with format='csv'"
            )
        raise wrong(reason, topic=fields[0] if "topic" in list(layout.columns)[:1] else None)


def _value(row: dict[str, str], name: str, layout: Layout, wrong: Callable[..., InputError]) -> Any:
    text, dtype = row[name], layout.columns[name]
    if layout.separator == ";":
        # Documents are compared as they are written; blanks belong to them.
        text = text if name == "doc" else text.strip(_BLANKS)
        if not text:
            raise wrong(f"{name} is empty", topic=row["topic"], doc=row["doc"])
    if dtype == _TEXT:
        return text
    if name in layout.optional:
        return integer_in(text)
    if dtype == _NUMBER:
        number: float | None = float(text) if is_number(text) else None
        reason = f"{name} {quoted(text)} is not a finite number"
    elif layout.levels:
        number = integer_in(text[1:]) if is_level(text) else None
        reason = f"grade {quoted(text)} is not L0, L1, L2 and so on"
    else:
        number = whole_in(text)
        reason = f"{name} {quoted(text)} is {no_integer(text)}"
    if number is None and not (layout.gaps and absent(text, NO_GRADE)):
        raise wrong(reason, topic=row.get("topic"), doc=row["doc"])
    return number
