"""Which format of lines a file is in, and the way to read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import InputError
from cranfield.collection.files.blank_separated import read_parts
from cranfield.collection.files.layouts import PRELS, QRELS, RUN, SHORT_QRELS, SHORT_RUN, XQRELS
from cranfield.collection.files.parts import Chunk, Part, coded
from cranfield.collection.keys import Codes
from cranfield.collection.metadata.header import header_of
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.collection.repeats import tell_ungraded
from cranfield.collection.run_lines import run_lines
from cranfield.sources.chunks import LineMap, Source
from cranfield.sources.values import is_number, whole_in

_SHORT = "short"
"""Lines of topic, document and a number."""

_HEAD = 1 << 16
"""Bytes that a first line is looked for in."""


def read_text(
    source: Source,
    layout: str,
    kind: str,
    lines: LineMap,
    encoding: str,
    ungraded: str = "error",
) -> Iterable[Part] | None:
    """Read a file of lines, and note the line of each row; None for a format that is none of lines.

    The layout is `trec`, `ntcir`, `prels`, `xqrels`; or `text`, which is `ntcir` where that is
    certain from the first line, else `trec`. The kind is `qrels` or `run`.
    """
    if layout in {"text", "ntcir"}:
        from cranfield.collection.files.ntcir import read_ntcir, recognised

        if layout == "text":
            source, first = peeked(source)
            layout = "ntcir" if recognised(first[:_HEAD], kind) else "trec"
        if layout == "ntcir":
            return map(coded, read_ntcir(source, kind, lines, encoding=encoding))
    runs = kind == "run"
    layouts = {
        "trec": RUN if runs else QRELS,
        _SHORT: SHORT_RUN if runs else SHORT_QRELS,
        "prels": PRELS,
        "xqrels": XQRELS,
    }
    if layout not in layouts:
        return None
    if layouts[layout] is RUN:
        return read_parts(source, RUN, lines, coded, encoding=encoding, at_once=run_lines)
    if ungraded == "drop" and layout == "trec":
        return _graded_lines(source, lines, encoding)
    return read_parts(source, layouts[layout], lines, coded, encoding=encoding)


def _graded_lines(source: Source, lines: LineMap, encoding: str) -> Iterator[Part]:
    """Read the lines of judgments that have a grade, and report how many have none."""
    rows = dropped = 0
    first = 1
    layout = replace(QRELS, gaps=True)
    for chunk in read_parts(source, layout, LineMap(), lambda chunk: chunk, encoding=encoding):
        graded = chunk.frame["grade"].is_not_null()
        frame, numbers = chunk.frame.filter(graded), chunk.numbers
        rows += len(graded)
        dropped += len(graded) - frame.height
        if frame.height:
            lines.add(frame.height, first, None if numbers is None else numbers[graded.to_numpy()])
            yield coded(Chunk(frame))
        first += chunk.lines
    tell_ungraded(source.name, dropped, rows)


@dataclass(frozen=True)
class _Peeked(Source):
    """A file whose first chunk was looked at already."""

    rest: Iterator[bytes] = field(default_factory=lambda: iter(()))

    def chunks(self, size: int | None = None) -> Iterator[bytes]:
        return self.rest

    def read(self) -> bytes:
        return b"".join(self.rest)


def peeked(source: Source) -> tuple[Source, bytes]:
    """Look at the first chunk of a file; what is left to read begins with it."""
    chunks = source.chunks()
    first = next(chunks, b"")
    return _Peeked(source.path, chain([first] if first else [], chunks)), first


def without_head(source: Source, layout: str, kind: str) -> tuple[Source, str]:
    """Recognise lines of MS MARCO by the first one; with the format that these are read as.

    Tables in TSV may have no names of columns: `topic 0 doc grade` is TREC text, and so is a whole
    line of a run. Both may be `topic doc number`, which runs may be without a suffix, too.
    """
    if layout != "tsv" and (layout != "text" or kind != "run"):
        return source, layout
    source, first = peeked(source)
    lines = first[:_HEAD].split(b"\n")
    line = next(
        (line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), b""
    )
    # Blanks are those of ASCII, as they are for who reads the lines.
    cells = [one.decode(errors="replace") for one in line.split(b"\t" if layout == "tsv" else None)]
    if len(cells) == 3 and _is_value(cells[2].strip(), kind):
        return source, _SHORT
    if layout == "tsv" and (
        (kind == "qrels" and len(cells) == 4 and _is_value(cells[3].strip(), kind))
        or (kind == "run" and len(cells) == 6 and _is_value(cells[4].strip(), kind))
    ):
        return source, "trec"
    return source, layout


def _is_value(text: str, kind: str) -> bool:
    return is_number(text) if kind == "run" else whole_in(text) is not None


def scores_or_ranks(
    values: NDArray[np.float64], codes: Codes, source: str
) -> tuple[NDArray[np.float64], NDArray[np.int32] | None]:
    """Tell what the third of three columns of a run is: ranks, which rise by topic, or scores."""
    order = np.argsort(codes, kind="stable")
    number, code = values[order], codes[order]
    begins = np.diff(code, prepend=-1) != 0
    rises = np.diff(number, prepend=0) > 0
    whole = bool((number == np.rint(number)).all() and (number < 2**31).all())
    if whole and np.isin(number[begins], (0, 1)).all() and rises[~begins].all():
        return -values, values.astype(np.int32)
    best = np.lexsort((number, code))
    place = np.arange(values.size) - np.maximum.accumulate(
        np.where(begins, np.arange(values.size), 0)
    )
    if whole and bool((number[best] == place + 1).all()) and rises[~begins].any():
        raise InputError(
            "its third column may be ranks or scores: it counts from 1 in each topic, and neither"
            " rises nor falls; give the column a name, rank or score",
            source=source,
        )
    return values, None


def without_header(source: Source) -> tuple[Source, MetadataPlace]:
    """Take the header of a run off; its lines count."""
    whole, first = peeked(source)
    header = header_of(first, source.name)
    place = MetadataPlace(header, source.path)
    if header is None or header.commented:
        return whole, place
    rest = whole.chunks()
    next(rest)
    return _Peeked(source.path, chain([header.blanked(first)], rest)), place
