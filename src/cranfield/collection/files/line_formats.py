"""Which format of lines a file is in.

What is sure to be right is read so, nearly all text there is. Any other is left to the readers that
know what to say of it.

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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.text import counted
from cranfield.collection.files.blank_separated import (
    BLANKS,
    Part,
    Read,
    coded,
    different,
    low_bytes,
    read_parts,
    without_comments,
)
from cranfield.collection.files.layouts import (
    PRELS,
    Q0,
    QRELS,
    RUN,
    SHORT_QRELS,
    SHORT_RUN,
    XQRELS,
    Layout,
    is_level,
    lines_with_text,
    split_at_blanks,
)
from cranfield.collection.keys import (
    MASKS,
    Codes,
    changes,
    ids_of,
    numbered,
    taken,
    texts_of,
    word_at,
    word_keys,
    words_of,
)
from cranfield.collection.metadata.reading import MetadataPlace, header_of
from cranfield.sources.chunks import LineMap, Source
from cranfield.sources.values import is_number, numbers_in, whole_in

Word = NDArray[np.uint64]

_POINT = np.uint64(0x2E2E2E2E2E2E2E2E)
_ZEROS = np.uint64(0x3030303030303030)
_ONES, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_OVER_NINE = np.uint64(0x7676767676767676)
_PAIRS = np.uint64(0x000000FF000000FF)
_HUNDREDS, _UNITS = np.uint64(100 + (1000000 << 32)), np.uint64(1 + (10000 << 32))
_1, _3, _8, _16, _32, _56, _63, _64 = (np.uint64(bits) for bits in (1, 3, 8, 16, 32, 56, 63, 64))
_TEN = np.uint64(10)

_DIGITS = 18
"""Digits of a number that is read at once: it fits into a word."""

_EXACT = np.uint64(1 << 53)
"""Up to here each integer is a float, and so is each of the powers of ten."""

_INTEGER_POWERS = np.array([10**power for power in range(_DIGITS + 1)], np.uint64)
_POWERS = _INTEGER_POWERS.astype(np.float64)


def digits(words: Word, counts: Indices) -> tuple[Word, Bools]:
    """Read up to 8 digits each, and tell where there is anything else; no digits are 0."""
    empty = counts.view(np.uint64) << _3
    np.subtract(_64, empty, out=empty)
    empty &= _63
    # The digits go to the end of the word, behind zeros.
    values = words - _ZEROS
    values <<= empty
    if not counts.all():
        values *= counts > 0
    odd = values + _OVER_NINE
    odd |= values
    odd &= _HIGH
    pairs = values >> _8
    values *= _TEN
    values += pairs
    np.right_shift(values, _16, out=pairs)
    values &= _PAIRS
    values *= _HUNDREDS
    pairs &= _PAIRS
    pairs *= _UNITS
    values += pairs
    values >>= _32
    return values, odd != 0


def whole_numbers(text: bytes, starts: Indices, ends: Indices) -> NDArray[np.int32] | None:
    """Read integers of up to 8 digits, without a sign; None where there is anything else."""
    counts = ends - starts
    if int(counts.max(initial=0)) > 8:
        return None
    values, wrong = digits(word_at(text, starts, counts), counts)
    return None if wrong.any() else values.astype(np.int32)


def numbers(text: bytes, starts: Indices, ends: Indices) -> Floats | None:
    """Read finite numbers, each as the float next to it; None where there is anything else."""
    below = np.frombuffer(text, np.uint8)[starts] == ord("-")
    first = starts + below
    values, usual = _decimals(text, first, ends)
    np.negative(values, out=values, where=below)
    if not usual.all():
        rows = np.flatnonzero(~usual)
        words = words_of(text, starts[rows], ends[rows])
        if words is None:
            return None
        others = pl.DataFrame({"number": ids_of(words)}).select(numbers_in(pl.col("number")))
        if others["number"].null_count():
            return None
        values[rows] = others["number"].to_numpy()
    return values


def _decimals(text: bytes, starts: Indices, ends: Indices) -> tuple[Floats, Bools]:
    """Read digits with a point or without; tell which rows are such, and exact."""
    counts = ends - starts
    words = word_at(text, starts, counts)
    # The lowest byte that is a point has its highest bit set here, and no byte below it has.
    points = words ^ _POINT
    below = points - _ONES
    np.invert(points, out=points)
    points &= below
    points &= _HIGH
    has = points != 0
    # Of the bits below it, the lowest one of each byte is counted.
    np.subtract(points, _1, out=below)
    np.invert(points, out=points)
    below &= points
    below &= _ONES
    below *= _ONES
    below >>= _56
    before = below.view(np.int64)
    before -= 1
    usual = np.ones(counts.size, dtype=bool)
    if not has.all():
        usual = has | (counts <= 8)
        before = np.where(has, before, np.minimum(counts, 8))
    after = counts - before
    after -= 1
    np.maximum(after, 0, out=after)
    words &= MASKS.take(before)
    rest, wrong = digits(words, before)
    start = starts + before
    start += 1
    most = int(after.max(initial=0))
    for skipped in range(0, min(most, _DIGITS), 8):
        here = np.clip(after - skipped, 0, 8) if most > 8 else after
        part, odd = digits(word_at(text, start + skipped, here), here)
        wrong |= odd
        rest *= _INTEGER_POWERS.take(here)
        rest += part
    usual &= ~wrong
    usual &= rest <= _EXACT
    before += after
    usual &= before <= _DIGITS
    if not before.all():
        usual &= before > 0
    return rest / _POWERS.take(after, mode="clip"), usual


_WIDTH = 6
_MANY = 1 << 10
"""Changes of the topic that are sooner numbered together than one by one."""

_HEAD = 1 << 12
"""Bytes that mostly tell whether all are regular."""

_KEPT = 30 << 20
"""Bytes that are more than the arrays take that are made while a chunk is read."""

_END, _BLANK = ord("\n"), ord(" ")


class Fields(NamedTuple):
    """Where the fields of lines are.

    text: what the places are places in.
    spans: where each field of the lines begins and ends, in order of the columns.
    lines: line of each row, from 0; None where they follow each other without a gap.
    """

    text: bytes
    spans: Sequence[tuple[Indices, Indices]]
    lines: NDArray[np.int64] | None = None


def run_lines(chunk: bytes, *, only_tabs: bool = False) -> Read[Part] | None:
    """Read lines of a run; None where anything may be wrong with them."""
    head = chunk[: chunk.find(b"\n", _HEAD) + 1] or chunk
    fields = _regular(head) and _regular(chunk)
    # Where blanks are of several kinds, tabs alone may be the separators.
    if b" " in chunk if only_tabs else fields is None and b"\t" in chunk and b" " in chunk:
        return None
    fields = fields if fields or only_tabs else _irregular(chunk)
    if fields is None:
        return None
    text, (topic, _, doc, rank, score, tag), lines = fields
    ranks = whole_numbers(text, *rank)
    scores = None if ranks is None else numbers(text, *score)
    if ranks is None or scores is None:
        return None
    topics, docs, tags = words_of(text, *topic), words_of(text, *doc), words_of(text, *tag)
    if topics is None or docs is None or tags is None:
        return None
    heads = np.append(0, changes(topics))
    topics = taken(topics, heads)
    of_tags = pl.Series(texts_of(taken(tags, np.append(0, changes(tags)))))
    codes = np.repeat(np.arange(heads.size, dtype=np.int32), np.diff(heads, append=scores.size))
    keys = word_keys(docs, codes, topics)
    if heads.size > _MANY and len(topics) == 1:
        # Topics stand mixed, and each is one number.
        different_words, of_heads = numbered(pl.Series(topics[0]))
        topics, codes = (different_words.to_numpy(),), of_heads[codes]
    names = ids_of(topics)
    values = {"rank": pl.Series(ranks), "score": pl.Series(scores)}
    part = Part(names, codes, docs, keys, different(of_tags), values)
    count = scores.size if lines is None else chunk.count(b"\n")
    return Read(part, scores.size, lines, count, _WIDTH)


def _regular(chunk: bytes) -> Fields | None:
    """Find the fields of lines with one and the same byte between all."""
    data = np.frombuffer(chunk, np.uint8)
    ends = np.flatnonzero(data <= _BLANK)
    kinds = data[ends].tobytes()
    if data.size and data[-1] > _BLANK:
        ends = np.append(ends, data.size)
    rows, left = divmod(ends.size, _WIDTH)
    blank = kinds[:1]
    line = blank * (_WIDTH - 1) + b"\n"
    if left or not rows or blank not in BLANKS or kinds != (line * rows)[: len(kinds)]:
        return None
    last = np.ascontiguousarray(ends.reshape(rows, _WIDTH).T)
    first = np.empty_like(last)
    first[0, 0] = 0
    np.add(last[-1, :-1], 1, out=first[0, 1:])
    np.add(last[:-1], 1, out=first[1:])
    if (data[first[0]] == ord("#")).any() or not (first < last).all():
        return None
    return Fields(chunk, list(zip(first, last, strict=True)))


def _irregular(chunk: bytes) -> Fields | None:
    """Find the fields of lines with any blanks between, and lines without fields among them."""
    chunk = without_comments(chunk)
    if b"\0" in chunk:
        return None
    data = np.frombuffer(chunk, np.uint8)
    inside = np.zeros(data.size + 2, dtype=bool)
    np.logical_not(low_bytes(data), out=inside[1:-1])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    rows, left = divmod(edges.size, 2 * _WIDTH)
    if left or not rows:
        return None
    sides = np.ascontiguousarray(edges.reshape(rows, 2 * _WIDTH).T)
    spans = [*zip(sides[::2], sides[1::2], strict=True)]
    line_ends = np.flatnonzero(data == _END)
    if data[-1] != _END:
        line_ends = np.append(line_ends, data.size)
    if line_ends.size == rows:
        # Either each line has its fields, or some fields are beyond the end of theirs.
        whole = (sides[-1] <= line_ends).all() and (sides[0][1:] > line_ends[:-1]).all()
        return Fields(chunk, spans) if whole else None
    lines = np.searchsorted(line_ends, sides[0])
    if (lines != np.searchsorted(line_ends, sides[-2])).any() or (lines[1:] == lines[:-1]).any():
        return None
    return Fields(chunk, spans, lines)


# From now on what is given up stays with this process instead of coming back as new memory, which
# the system clears a page at a time: where malloc is that of GNU, it keeps as much as the largest
# array that was ever given up. This one takes no time, as nothing is written to it.
np.empty(_KEPT, np.uint8)


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


_BLANKS = " \t\v\f\r"

_HEAD_BYTES = 1 << 16
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
        number, line = next(lines_with_text(first[:_HEAD_BYTES]), (1, b""))
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
    """Look at the head of a file, up to a line with text; what is left to read begins with it."""
    chunks = source.chunks()
    first = next(chunks, b"")
    while (
        len(first) < _HEAD_BYTES and not any(lines_with_text(first)) and (more := next(chunks, b""))
    ):
        first += more
    return _resumed(source, first, chunks), first


def _resumed(source: Source, first: bytes, chunks: Iterator[bytes]) -> Source:
    rest = chain([first] if first else [], chunks)
    return _Peeked(
        source.path, rest, folder=source.folder, encoding=source.encoding, label=source.label
    )


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
