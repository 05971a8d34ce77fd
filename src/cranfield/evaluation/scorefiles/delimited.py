"""Tables as text, with commas, tabs or semicolons between the cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from cranfield.base.errors import InputError
from cranfield.evaluation.scorefiles.cells import decimal_comma
from cranfield.evaluation.scorefiles.tables import Table
from cranfield.sources.values import is_number

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}
"""What may stand between cells, most usual first."""


def lines_of(text: str) -> list[str]:
    """Split text into lines as files are; other blanks may be part of a name."""
    return re.split(r"\r\n|\r|\n", text)


def head_of(text: str) -> str:
    """Return the first line that is not empty."""
    return next((line for line in lines_of(text) if line.strip()), "")


def separator_of(head: str, first: str) -> str | None:
    """Tell what separates the cells of a head: `first` where it is there, else what is.

    Examples
    --------
    >>> separator_of("topic;a;b", ","), separator_of("topic,a;b", ","), separator_of("topic", ",")
    (';', ',', None)
    """
    return next((mark for mark in (first, *SEPARATORS) if mark in head), None)


def delimited(text: str, source: str, separator: str, stem: str) -> Table:
    """Cut text into cells; each row is as long as the head."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows: list[list[Any]] = []
    lines = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(
            f"is no proper table: {error}", source=source, line=reader.line_num
        ) from None
    if not rows:
        raise InputError("is empty: there are no scores", source=source)
    head, *body = rows
    for row, line in zip(body, lines[1:], strict=True):
        if len(row) != len(head):
            raise InputError(
                f"{len(row)} columns where the head has {len(head)}, separated by"
                f" {SEPARATORS[separator]}",
                source=source,
                line=line,
            )
    if not body:
        raise InputError("has a head, but no scores", source=source, line=lines[0])
    decimal = "," if separator == ";" and _commas_for_points(body) else "."
    names = [name.strip() for name in head]
    return Table(source, names, body, lines[1:], stem, decimal)


def _commas_for_points(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether numbers have decimal commas; one with a point leaves open what commas mean."""
    cells = [cell.strip() for row in rows for cell in row]
    points = any("." in cell and is_number(cell) for cell in cells)
    return not points and any(decimal_comma(cell) for cell in cells)
