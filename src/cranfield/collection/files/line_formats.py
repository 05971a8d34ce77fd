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
    QRELS,
    RUN,
    SHORT_QRELS,
    SHORT_RUN,
    XQRELS,
    Layout,
)
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

_Q0 = ("0", "Q0")
"""The second column of judgments of four columns, of which the last may be missing."""

_BLANKS = " \t\v\f\r"

_HEAD = 1 << 16
"""Bytes that a first line is looked for in."""


def read_text(
    source: Source,
    layout: str,
    kind: str,
    lines: LineMap,
    encoding: str,
    separator: str,
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
    columns = replace(layouts[layout], separator=separator)
    if layouts[layout] is RUN:
        at_once = partial(run_lines, only_tabs=separator == "tab")
        return read_parts(source, columns, lines, coded, encoding=encoding, at_once=at_once)
    if ungraded == "drop" and layout == "trec":
        return _graded_lines(source, replace(columns, gaps=True), lines, encoding)
    return read_parts(source, columns, lines, coded, encoding=encoding)


def _graded_lines(source: Source, layout: Layout, lines: LineMap, encoding: str) -> Iterator[Part]:
    """Read the lines of judgments that have a grade, and report how many have none."""
    rows = dropped = 0
    first = 1
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


def form_of_lines(
    source: Source, layout: str, kind: str, separator: str = "auto"
) -> tuple[Source, str, str]:
    """Recognise the form of text by its first line; return the format it is read as, and separator.

    TSV may have no names of columns: `topic 0 doc grade` is TREC text, and so is a whole line of a
    run. TSV and text may be `topic doc number`.
    """
    if layout not in {"tsv", "text"}:
        return source, layout, separator
    source, first = peeked(source)
    lines = first[:_HEAD].split(b"\n")
    line = next(
        (line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), b""
    )
    if layout == "tsv" and separator == "auto":
        separator = "tab"
    by_tabs, by_blanks = (
        [one.decode(errors="replace").strip(_BLANKS) for one in cells]
        for cells in (line.split(b"\t"), line.split())
    )
    cells = by_blanks if separator == "blank" else by_tabs
    if separator == "auto" and (len(by_tabs) != 3 or "" in by_tabs):
        cells = by_blanks
    if len(cells) == 3 and _is_value(cells[2], kind) and not (kind == "qrels" and cells[1] in _Q0):
        return source, _SHORT, separator
    if layout == "tsv" and (
        (kind == "qrels" and len(cells) == 4 and _is_value(cells[3], kind))
        or (kind == "run" and len(cells) >= 6 and _is_value(cells[4], kind))
    ):
        return source, "trec", separator
    return source, layout, separator


def _is_value(text: str, kind: str) -> bool:
    return is_number(text) if kind == "run" else whole_in(text) is not None


def scores_or_ranks(
    values: NDArray[np.float64], codes: Codes, source: str, numbers: str = "auto"
) -> tuple[NDArray[np.float64], NDArray[np.int32] | None]:
    """Return the third of three columns of a run as scores, and as ranks if that is what it is.

    Ranks are whole, count from 0 or 1 with few gaps and hardly any twice, and rise down the file.
    Scores are not whole, or never rise, or many are equal, or all are higher than ranks can be.
    """
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
    return _Peeked(source.path, chain([header.blanked(first)], rest)), place
