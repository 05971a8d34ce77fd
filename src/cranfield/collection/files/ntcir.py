"""Judgments and runs in the formats of NTCIREVAL.

Grades are written L0, L1, L2 and so on, and fields are separated by blanks or, where documents are
any text, by semicolons. A line of judgments is one of

- topic, document, grade;
- topic, intent, document, grade: intent 0 is for documents that are relevant to no intent;
- topic, document, grade, equivalence class: between semicolons, or where the format is given.

The first line says which, and the others have to follow it. A line of a run has the six fields of
TREC, separated by semicolons. Runs are ranked by score here; NTCIREVAL takes the order of the
lines, which differs where scores are tied: `ties="input"` of :func:`cranfield.judge` keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.collection.files.blank_separated import as_utf8
from cranfield.collection.files.parts import Chunk
from cranfield.sources.chunks import TOGETHER, LineMap, Source
from cranfield.sources.values import integer_in, is_number

_GRADE = re.compile(r"L\d+", re.ASCII)
_BLANKS = " \t\v\f\r"


@dataclass(frozen=True)
class Form:
    """How lines are made: what one is, what stands between fields (None: blanks), the fields."""

    kind: str
    separator: str | None
    columns: tuple[str, ...]

    def fields(self, line: str) -> list[str]:
        """Split a line; fields between semicolons keep their blanks, but for the last."""
        if self.separator is None:
            return re.findall(f"[^{_BLANKS}]+", line)
        return line.rstrip(_BLANKS).split(self.separator)


_DOCUMENTS = ("topic", "doc", "grade")
_INTENTS = ("topic", "intent", "doc", "grade")
_CLASSES = ("topic", "doc", "grade", "class")
_RUN = Form("run", ";", ("topic", "q0", "doc", "rank", "score", "tag"))


def recognised(chunk: bytes, kind: str) -> bool:
    """Tell whether text is certainly in one of these formats, by its first line."""
    first = _first_line(chunk.decode("latin-1"))
    if kind == "qrels":
        form = _form_of(first)
        # Between blanks, a document called L1 of TREC is no grade with a class behind it.
        return form is not None and (form.separator is not None or form.columns != _CLASSES)
    fields = _RUN.fields(first)
    blank = first.split()
    trec = len(blank) >= len(_RUN.columns) and is_number(blank[4])
    return len(fields) == len(_RUN.columns) and is_number(fields[4].strip()) and not trec


def read_ntcir(
    source: Source, kind: str, lines: LineMap, *, encoding: str = "utf-8"
) -> Iterator[Chunk]:
    """Parse a file chunk by chunk; note the lines."""
    form: Form | None = _RUN if kind == "run" else None
    first_line = 1
    chunks = source.chunks()
    while chunk := b"".join(islice(chunks, TOGETHER)):
        chunk = as_utf8(chunk, encoding, source.name, first_line)
        text = chunk.decode().split("\n")
        if form is None and (first := _first_line(chunk.decode())):
            number = first_line + text.index(first)
            form = _form_of(first) or _complain(first, source.name, number)
        if form is not None:
            frame, numbers = _parsed(text, form, source.name, first_line)
            lines.add(frame.height, 0, np.array(numbers, dtype=np.int64))
            if frame.height:
                yield Chunk(frame)
        first_line += chunk.count(b"\n")
    if not lines.rows:
        raise InputError(f"is empty: a {kind} has at least one line", source=source.name)


def _first_line(text: str) -> str:
    for found in re.finditer(r"[^\n]+", text):
        line = found[0]
        if line.strip(_BLANKS) and not line.lstrip(_BLANKS).startswith("#"):
            return line
    return ""


def _form_of(line: str) -> Form | None:
    for separator in (";", None):
        for columns in (_DOCUMENTS, _INTENTS, _CLASSES):
            form = Form("qrels", separator, columns)
            fields = form.fields(line)
            at = columns.index("grade")
            if len(fields) == len(columns) and _GRADE.fullmatch(fields[at].strip(_BLANKS)):
                return form
    return None


def _complain(line: str, source: str, number: int) -> Form:
    fields = Form("qrels", ";" if ";" in line else None, ()).fields(line)
    if len(fields) in {3, 4}:
        reason = f"grade {quoted(fields[-1])} is not L0, L1, L2 and so on"
    else:
        reason = (
            f"{len(fields)} columns where an NTCIR qrels line has 3 (topic doc grade) or 4"
            " (topic intent doc grade, or topic doc grade class)"
        )
    raise InputError(reason, source=source, line=number)


def _parsed(
    text: list[str], form: Form, source: str, first_line: int
) -> tuple[pl.DataFrame, list[int]]:
    rows: list[dict[str, object]] = []
    numbers: list[int] = []
    for number, line in enumerate(text, first_line):
        fields = form.fields(line)
        if not line.strip(_BLANKS) or line.lstrip(_BLANKS).startswith("#"):
            continue
        if len(fields) != len(form.columns):
            separated = "" if form.separator is None else f", separated by {form.separator!r}"
            raise InputError(
                f"{len(fields)} columns where the {form.kind} lines have {len(form.columns)}"
                f" ({' '.join(form.columns)}{separated})",
                source=source,
                line=number,
            )
        row = dict(zip(form.columns, fields, strict=True))
        try:
            rows.append({name: _value(name, value) for name, value in row.items() if name != "q0"})
        except ValueError as error:
            raise InputError(
                str(error), source=source, line=number, topic=row["topic"], doc=row["doc"]
            ) from None
        numbers.append(number)
    names = [name for name in form.columns if name != "q0"]
    schema = {name: _TYPES.get(name, pl.String) for name in names}
    return pl.DataFrame(rows, schema=schema, orient="row"), numbers


_TYPES: dict[str, type[pl.DataType]] = {"grade": pl.Int32, "rank": pl.Int32, "score": pl.Float64}


def _value(name: str, text: str) -> object:
    # Documents are compared as they are written; blanks belong to them.
    bare = text if name == "doc" else text.strip(_BLANKS)
    if not bare:
        raise ValueError(f"{name} is empty")
    if name == "grade":
        grade = integer_in(bare[1:])
        if not _GRADE.fullmatch(bare) or grade is None:
            raise ValueError(f"grade {quoted(bare)} is not L0, L1, L2 and so on")
        return grade
    if name == "score":
        if not is_number(bare):
            raise ValueError(f"score {quoted(bare)} is not a finite number")
        return float(bare)
    if name == "rank":
        return integer_in(bare)
    return bare
