"""Which format of lines a file is in, and the way to read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import InputError, warn
from cranfield.base.words import counted
from cranfield.collection.files.blank_separated import read_parts
from cranfield.collection.files.layouts import (
    PRELS,
    Q0,
    QRELS,
    RUN,
    SHORT_QRELS,
    SHORT_RUN,
    XQRELS,
    Layout,
    lines_with_text,
    split_at_blanks,
)
from cranfield.collection.files.ntcir import ntcir_layout, recognised
from cranfield.collection.files.parts import Part, coded
from cranfield.collection.keys import Codes
from cranfield.collection.metadata.header import header_of
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.collection.run_lines import run_lines
from cranfield.sources.chunks import LineMap, Source
from cranfield.sources.values import is_number, whole_in

_BLANKS = " \t\v\f\r"

_HEAD = 1 << 16
"""Bytes that a first line is looked for in."""


def read_text(source: Source, layout: Layout, lines: LineMap) -> Iterable[Part]:
    """Read a file of lines, and note the line of each row."""
    if layout.columns is RUN.columns and layout.separator != ";":
        at_once = partial(run_lines, only_tabs=layout.separator == "tab")
        return read_parts(source, layout, lines, coded, at_once=at_once)
    return read_parts(source, layout, lines, coded)


def layout_of(
    source: Source, form: str, kind: str, separator: str = "auto", ungraded: str = "error"
) -> tuple[Source, Layout | None]:
    """Choose the layout of a file of lines by its format and first line; None for other formats.

    The formats are `trec`, `ntcir`, `prels`, `xqrels`; or `text` and `tsv`, which are what their
    first line looks like: TSV may have no names of columns. The kind is `qrels` or `run`.
    """
    trec = RUN if kind == "run" else QRELS
    layout = {"trec": trec, "prels": PRELS, "xqrels": XQRELS}.get(form)
    if form in {"text", "tsv", "ntcir"}:
        source, first = peeked(source)
        number, line = next(lines_with_text(first[:_HEAD]), (1, b""))
        text = line.decode("utf-8" if form == "ntcir" else "latin-1", "replace")
        if form == "ntcir":
            return source, ntcir_layout(text, kind, source.name, number)
        if form == "text" and (layout := recognised(text, kind)):
            return source, layout
        separator = "tab" if form == "tsv" and separator == "auto" else separator
        layout = _layout_of_line(text, kind, separator) or (trec if form == "text" else None)
    if layout is None:
        return source, None
    gaps = ungraded == "drop" and layout is QRELS
    return source, replace(layout, separator=separator, gaps=gaps)


def _layout_of_line(line: str, kind: str, separator: str) -> Layout | None:
    """Recognise a line of topic, document and number, or one of TREC text that is whole."""
    by_tabs = [field.strip(_BLANKS) for field in line.split("\t")]
    cells = by_tabs
    if separator == "blank" or (separator == "auto" and (len(by_tabs) != 3 or "" in by_tabs)):
        cells = split_at_blanks(line)

    def has_value(place: int) -> bool:
        text = cells[place]
        return is_number(text) if kind == "run" else whole_in(text) is not None

    if kind == "run":
        short, whole = len(cells) == 3 and has_value(2), len(cells) >= 6 and has_value(4)
        return SHORT_RUN if short else RUN if whole else None
    # In a line of four columns between tabs, the document may be empty.
    lacks = separator != "blank" and len(by_tabs) == 4 and not by_tabs[2]
    short = len(cells) == 3 and has_value(2) and cells[1] not in Q0 and not lacks
    return SHORT_QRELS if short else QRELS if len(cells) == 4 and has_value(3) else None


@dataclass(frozen=True)
class _Peeked(Source):
    """A file whose first chunk was looked at already."""

    rest: Iterator[bytes] = field(default_factory=lambda: iter(()))

    def chunks(self, size: int | None = None) -> Iterator[bytes]:
        return self.rest

    def read(self) -> bytes:
        return self.as_utf8(b"".join(self.rest))


def peeked(source: Source) -> tuple[Source, bytes]:
    """Look at the first chunk of a file; what is left to read begins with it."""
    chunks = source.chunks()
    first = next(chunks, b"")
    return _resumed(source, first, chunks), first


def _resumed(source: Source, first: bytes, chunks: Iterator[bytes]) -> Source:
    rest = chain([first] if first else [], chunks)
    return _Peeked(source.path, rest, folder=source.folder, encoding=source.encoding)


def scores_or_ranks(
    values: NDArray[np.float64], codes: Codes, source: str, numbers: str = "auto"
) -> tuple[NDArray[np.float64], NDArray[np.int32] | None]:
    """Return the third of three columns of a run as scores, and as ranks if that is what it is."""
    whole = bool(
        (values == np.rint(values)).all() and (values >= 0).all() and (values < 2**31).all()
    )
    if numbers == "ranks" and not whole:
        raise InputError("expected ranks in the third column, got other numbers", source=source)
    if numbers == "scores" or not whole:
        return values, None
    as_ranks = -values, values.astype(np.int32)
    if numbers == "ranks":
        return as_ranks
    order = np.argsort(codes, kind="stable")
    within = np.diff(codes[order]) == 0
    steps = np.diff(values[order])[within]
    falls, rises = int((steps < 0).sum()), int((steps > 0).sum())
    by_value = np.lexsort((values, codes))
    number, starts = values[by_value], np.flatnonzero(np.append(True, ~within))
    ends = np.append(starts[1:], values.size) - 1
    base = min(float(values.min()), 1.0)
    shared = int((np.diff(number)[within] == 0).sum())
    gaps = int((number[ends] - base + 1).sum()) - (values.size - shared)
    few_shared, few_gaps = shared <= 0.1 * values.size, gaps <= 1 + 0.25 * values.size
    if few_shared and few_gaps and falls <= 0.1 * steps.size:
        if shared or gaps or falls:
            said = f"{counted(gaps, 'rank')} missing, {shared} shared, {falls} out of order"
            warn(
                f"{source}: third column read as ranks ({said}); numbers='scores' reads scores",
                stacklevel=4,
            )
        return as_ranks
    lowest, most = number[starts], int((ends - starts).max()) + 1
    dense = (number[ends] - lowest).sum() <= 1.25 * (values.size - starts.size)
    if not rises or (falls and (not few_shared or (lowest.min() > most and not dense))):
        return values, None
    raise InputError(
        "the third column may be ranks or scores (whole numbers that neither count from 1 nor"
        " fall in each topic): numbers='ranks' or numbers='scores' says which",
        source=source,
    )


def without_header(source: Source) -> tuple[Source, MetadataPlace]:
    """Take the header of a run off; its lines count."""
    whole, first = peeked(source)
    header = header_of(first, source.name)
    place = MetadataPlace(header, source.path)
    if header is None or header.commented:
        return whole, place
    rest = whole.chunks()
    next(rest)
    return _resumed(source, header.blanked(first), rest), place
