"""Files of scores: which form one has, and its scores."""

from __future__ import annotations

from collections.abc import Sequence

from cranfield.base.errors import InputError
from cranfield.evaluation.scorefiles.cells import decimal_comma
from cranfield.evaluation.scorefiles.frames import from_parquet
from cranfield.evaluation.scorefiles.lines import from_lines, looks_like_lines
from cranfield.evaluation.scorefiles.objects import from_json
from cranfield.evaluation.scorefiles.parts import ScorePart
from cranfield.evaluation.scorefiles.wide_and_long import ScoreTable, from_table
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.text import SEPARATORS, decoded, lines_of, separated
from cranfield.sources.values import is_number

FORMATS = ("auto", "csv", "tsv", "json", "jsonl", "parquet", "trec")
"""Formats of scores; `auto` looks at the suffix, and into text of any other suffix."""


def from_file(source: Source, layout: str, measure: str | None) -> ScorePart:
    """Read a file; `measure` helps where lines leave open which column has the measures."""
    raw = source.read()
    name, stem = source.name, source.stem
    if layout == "auto":
        layout = FORMAT_OF_SUFFIX.get(source.suffix, "parquet" if raw.startswith(b"PAR1") else "")
        # Lines of trec_eval may be called so, too.
        layout = "" if layout == "tsv" else layout
    if layout == "parquet" and raw.strip():
        return from_table(from_parquet(raw, name, stem))
    text = decoded(raw, name)
    if not text.strip():
        raise InputError("is empty: there are no scores", source=name)
    layout = layout or _layout_of(text, name)
    if layout in {"json", "jsonl"}:
        return from_json(text, name, stem, lines=layout == "jsonl")
    if layout == "trec":
        return from_lines(text, name, stem, measure)
    usual = "\t" if layout == "tsv" else ","
    return from_table(_delimited(text, name, _separator_of(_head_of(text), usual) or usual, stem))


def _head_of(text: str) -> str:
    return next((line for _, line in lines_of(text)), "")


def _separator_of(head: str, first: str) -> str | None:
    """Tell what separates the cells of a head: `first` where it is there, else what is."""
    return next((mark for mark in (first, *SEPARATORS) if mark in head), None)


def _layout_of(text: str, source: str) -> str:
    """Look into text: JSON has brackets, a table a head, and what is left are lines."""
    head = _head_of(text)
    if head.lstrip().startswith(("{", "[")):
        whole = head.strip().startswith("{") and head.strip().endswith("}")
        return "jsonl" if whole else "json"
    if looks_like_lines(head) and ("\t" in head or _separator_of(head, ",") is None):
        return "trec"
    separator = _separator_of(head, "\t")
    if separator is None:
        raise InputError(
            "is no table: commas, tabs or semicolons are to separate its columns",
            source=source,
            line=1,
        )
    return "tsv" if separator == "\t" else "csv"


def _delimited(text: str, source: str, separator: str, stem: str) -> ScoreTable:
    other = f"{{}} columns where the head has {{}}, separated by {SEPARATORS[separator]}"
    rows, lines = separated(text, source, separator, other)
    if not rows:
        raise InputError("is empty: there are no scores", source=source)
    head, *body = rows
    if not body:
        raise InputError("has a head, but no scores", source=source, line=lines[0])
    decimal = "," if separator == ";" and _commas_for_points(body) else "."
    return ScoreTable(source, [name.strip() for name in head], body, lines[1:], stem, decimal)


def _commas_for_points(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether numbers have decimal commas; one with a point leaves open what commas mean."""
    cells = [cell.strip() for row in rows for cell in row]
    points = any("." in cell and is_number(cell) for cell in cells)
    return not points and any(decimal_comma(cell) for cell in cells)
