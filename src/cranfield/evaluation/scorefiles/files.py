"""Files of scores: which form one has, and its scores."""

from __future__ import annotations

from cranfield.base.errors import InputError
from cranfield.evaluation.scorefiles.delimited import delimited, head_of, separator_of
from cranfield.evaluation.scorefiles.frames import from_parquet
from cranfield.evaluation.scorefiles.lines import from_lines, looks_like_lines
from cranfield.evaluation.scorefiles.objects import from_json
from cranfield.evaluation.scorefiles.parts import Part
from cranfield.evaluation.scorefiles.tables import from_table
from cranfield.sources.chunks import Source

FORMATS = ("auto", "csv", "tsv", "json", "jsonl", "parquet", "trec")
"""Formats of scores; `auto` looks at the suffix, and into text of any other suffix."""

_BY_SUFFIX = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}


def from_file(source: Source, layout: str, measure: str | None) -> Part:
    """Read a file; `measure` helps where lines leave open which column has the measures."""
    raw = source.read()
    name, stem = source.name, source.stem
    if not raw.strip():
        raise InputError("is empty: there are no scores", source=name)
    if layout == "auto":
        layout = _BY_SUFFIX.get(source.suffix, "parquet" if raw.startswith(b"PAR1") else "")
    if layout == "parquet":
        return from_table(from_parquet(raw, name, stem))
    text = _decoded(raw, name)
    if not text.strip():
        raise InputError("is empty: there are no scores", source=name)
    layout = layout or _layout_of(text, name)
    if layout in {"json", "jsonl"}:
        return from_json(text, name, stem, lines=layout == "jsonl")
    if layout == "trec":
        return from_lines(text, name, stem, measure)
    usual = "\t" if layout == "tsv" else ","
    separator = separator_of(head_of(text), usual) or usual
    return from_table(delimited(text, name, separator, stem))


def _decoded(raw: bytes, source: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", source=source, line=line) from None


def _layout_of(text: str, source: str) -> str:
    """Look into text: JSON has brackets, a table a head, and what is left are lines."""
    head = head_of(text).strip("\r\n")
    if head.lstrip().startswith(("{", "[")):
        whole = head.strip().startswith("{") and head.strip().endswith("}")
        return "jsonl" if whole else "json"
    if looks_like_lines(head) and ("\t" in head or separator_of(head, ",") is None):
        return "trec"
    found = separator_of(head, "\t")
    if found is None:
        raise InputError(
            "is no table: commas, tabs or semicolons are to separate its columns",
            source=source,
            line=1,
        )
    return "tsv" if found == "\t" else "csv"
