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

from dataclasses import replace

import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.collection.files.layouts import RUN, Layout, is_level, split_at_blanks
from cranfield.sources.values import is_number

_RUN = replace(RUN, separator=";", more_allowed=False)
_CLASSES = ("topic", "doc", "grade", "class")
_JUDGMENTS = (("topic", "doc", "grade"), ("topic", "intent", "doc", "grade"), _CLASSES)


def recognised(line: str, kind: str) -> Layout | None:
    """Return the layout of text that is certainly in one of these formats, by its first line."""
    if kind == "qrels":
        layout = _of_judgments(line)
        # Between blanks, a document called L1 of TREC is no grade with a class behind it.
        certain = layout is not None and (layout.separator == ";" or layout.read != _CLASSES)
        return layout if certain else None
    fields, blank = line.split(";"), split_at_blanks(line)
    trec = len(blank) >= len(_RUN.columns) and is_number(blank[4])
    found = len(fields) == len(_RUN.columns) and is_number(fields[4].strip()) and not trec
    return _RUN if found else None


def ntcir_layout(line: str, kind: str, source: str, number: int) -> Layout:
    """Return the layout of a file that is said to be in one of these formats."""
    if kind == "run":
        return _RUN
    # Of a file without lines it is said that it is empty.
    if layout := _of_judgments(line or "topic doc L0"):
        return layout
    fields = line.split(";") if ";" in line else split_at_blanks(line)
    reason = (
        f"{len(fields)} columns where an NTCIR qrels line has 3 (topic doc grade) or 4"
        " (topic intent doc grade, or topic doc grade class)"
    )
    if len(fields) in {3, 4}:
        reason = f"grade {quoted(fields[-1])} is not L0, L1, L2 and so on"
    raise InputError(reason, source=source, line=number)


def _of_judgments(line: str) -> Layout | None:
    for separator in (";", "blank"):
        fields = line.split(";") if separator == ";" else split_at_blanks(line)
        for names in _JUDGMENTS:
            if len(fields) == len(names) and is_level(fields[names.index("grade")]):
                columns: dict[str, type[pl.DataType]] = dict.fromkeys(names, pl.String)
                columns["grade"] = pl.Int32
                return Layout("qrels", columns, names, separator=separator, levels=True)
    return None
