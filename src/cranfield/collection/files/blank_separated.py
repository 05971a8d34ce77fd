"""Reading files of lines: fast where text is regular, exact in the rest.

A part leaves the thread that read it with all that can be known of it alone, so that little is
left to do in order.

Whether text is regular is told, and any other text is made so, by array operations over blocks
that fit the processor's cache.

Lines of runs are mostly read at once, from their bytes (`line_formats.py`). Of what is not, a chunk
that is regular goes straight to the CSV reader; any other is made regular first. When the CSV
reader is not certain of every value, the chunk is read again line by line: slowly, and with the
precise reason. Chunks are read in several threads; the first error in the file is reported.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools
from cranfield.base.errors import InputError
from cranfield.base.parallel import as_they_come, own_threads
from cranfield.collection.files.layouts import Layout, ragged, read_lines
from cranfield.collection.keys import Codes, Keys, TopicCoder, Words, ids_of, numbered, pair_keys
from cranfield.collection.pairs import tell_ungraded
from cranfield.sources.chunks import LineMap, Source, check_fruitless

_BLOCK = 1 << 23
"""Rows of a block: so many that it goes back to the system when it is given up."""


@dataclass(frozen=True)
class Chunk:
    """The rows of some lines.

    frame: the columns that were read.
    numbers: line of each row, from 0 for the first line here; None where they follow each other
        without a gap.
    lines: how many lines there are.
    width: how many columns the lines have; 0 where there is none, or that is fixed.
    """

    frame: pl.DataFrame
    numbers: NDArray[np.int64] | None = None
    lines: int = 0
    width: int = 0

    def graded(self) -> Chunk:
        """Return the rows that have a grade."""
        there = self.frame["grade"].is_not_null()
        numbers = np.arange(len(there)) if self.numbers is None else self.numbers
        return replace(self, frame=self.frame.filter(there), numbers=numbers[there.to_numpy()])


@dataclass(frozen=True)
class Part:
    """Rows with their topics numbered in order of appearance, and the key of each.

    topics: by number; one may have several.
    docs: the documents, as text or as words.
    keys: of what the documents are.
    tags: what stands in the column `tag`, in order of appearance.
    values: the columns besides topic, document and tag.
    """

    topics: pl.Series
    codes: Codes
    docs: pl.Series | Words
    keys: Keys
    tags: list[str]
    values: dict[str, pl.Series]


def coded(chunk: Chunk) -> Part:
    """Number the topics of some rows, and make their keys."""
    frame = chunk.frame
    topics, codes = numbered(frame["topic"])
    docs = frame["doc"].rechunk()
    tags: list[str] = []
    if "tag" in frame.columns:
        tags = different(frame["tag"])
    rest = {name: frame[name] for name in frame.columns if name not in {"topic", "doc", "tag"}}
    return Part(topics, codes, docs, pair_keys(docs, codes, topics), tags, rest)


def different(tags: pl.Series) -> list[str]:
    """Run tags in order of appearance."""
    if len(tags) and not tags.null_count() and bool((tags == tags[0]).all()):
        return [tags[0]]
    return tags.drop_nulls().unique(maintain_order=True).to_list()


class Columns:
    """Parts put together a column at a time, so that nothing is held twice.

    words: the documents as words, where all parts have them so.
    docs: the documents as text, where not.
    """

    def __init__(self, parts: Iterable[Part]) -> None:
        self.coder = TopicCoder()
        self.tags: dict[str, None] = {}
        self._numbers: dict[str, _Column] = {}
        self._texts: dict[str, list[pl.Series]] = {}
        self._filled: set[str] = set()
        self._gaps: dict[str, list[NDArray[np.int64]]] = {}
        rows = 0
        codes, keys, docs = _Column(), _Column(), _Documents()
        for part in parts:
            codes.add(self.coder.codes_of(part.topics)[part.codes])
            keys.add(part.keys)
            docs.add(part.docs)
            self.tags.update(dict.fromkeys(part.tags))
            for name, values in part.values.items():
                if values.null_count() < len(values):
                    self._filled.add(name)
                if values.dtype.is_numeric():
                    if values.null_count():
                        gaps = values.is_null().arg_true().to_numpy().astype(np.int64)
                        self._gaps.setdefault(name, []).append(rows + gaps)
                    filled = values.fill_null(0) if values.null_count() else values
                    self._numbers.setdefault(name, _Column()).add(filled.to_numpy())
                else:
                    self._texts.setdefault(name, []).append(values)
            rows += part.codes.size
        self.codes: Codes = codes.joined()
        self.words = docs.words()
        self.docs = docs.text()
        # Text and words have other keys.
        self.keys: Keys | None = None if docs.mixed else keys.joined()

    def has(self, column: str) -> bool:
        """Tell whether a column holds anything."""
        return column in self._filled

    def labels(self, column: str) -> np.ndarray[Any, Any]:
        """Take a column of numbers or of text out, as one array; no text is an empty one."""
        if column in self._numbers:
            return self.joined(column)
        return np.array(self.text(column).fill_null("").to_list(), dtype=np.str_)

    def joined(self, column: str) -> np.ndarray[Any, Any]:
        """Take a column of numbers out, as one array; what is no number in it is 0."""
        return self._numbers.pop(column).joined()

    def gaps(self, column: str) -> Bools | None:
        """Return a mask of the rows without a number in a column; None if each has one."""
        if column not in self._gaps:
            return None
        mask = np.zeros(self.codes.size, dtype=bool)
        mask[np.concatenate(self._gaps[column])] = True
        return mask

    def text(self, column: str) -> pl.Series:
        """Take a column of text out."""
        return pl.concat(self._texts.pop(column))


class _Documents:
    """Documents as words while all are, and else as text."""

    def __init__(self) -> None:
        self._words: list[_Column] = []
        self._texts: list[pl.Series] = []
        self._rows = 0
        self.mixed = False

    def add(self, docs: pl.Series | Words) -> None:
        if isinstance(docs, pl.Series):
            if (words := self.words()) is not None:
                self._texts, self._words, self.mixed = [ids_of(words)], [], True
            self._texts.append(docs)
        elif self._texts:
            self._texts.append(ids_of(docs))
            self.mixed = True
        else:
            self._add_words(docs)

    def _add_words(self, docs: Words) -> None:
        nothing = np.zeros_like(docs[0])
        while len(self._words) < len(docs):
            self._words.append(_Column())
            self._words[-1].add(np.zeros(self._rows, dtype=np.uint64))
        for place, column in enumerate(self._words):
            column.add(docs[place] if place < len(docs) else nothing)
        self._rows += nothing.size

    def words(self) -> Words | None:
        """Give up the words, if there are any."""
        return tuple(column.joined() for column in self._words) or None

    def text(self) -> pl.Series:
        """Give up the text, if there is any."""
        if not self._texts:
            return pl.Series("doc", [], dtype=pl.String)
        docs = pl.concat(self._texts, rechunk=False)
        return docs.rechunk() if len(docs) < 1 << 20 else docs


class _Column:
    """An array that grows: full blocks go back to the system one by one when they are joined."""

    def __init__(self) -> None:
        self._only: NDArray[Any] | None = None
        self._blocks: list[NDArray[Any]] = []
        self._free = self._size = 0

    def add(self, values: NDArray[Any]) -> None:
        if not self._size:
            self._only = values
        elif self._only is not None:
            first, self._only = self._only, None
            self._append(first)
        if self._only is None:
            self._append(values)
        self._size += values.size

    def _append(self, values: NDArray[Any]) -> None:
        while values.size:
            if not self._free:
                self._blocks.append(np.empty(_BLOCK, dtype=values.dtype))
                self._free = _BLOCK
            now = values[: self._free]
            start = _BLOCK - self._free
            self._blocks[-1][start : start + now.size] = now
            self._free -= now.size
            values = values[now.size :]

    def joined(self) -> NDArray[Any]:
        if self._only is not None:
            return np.array(self._only)
        if len(self._blocks) == 1 and 2 * self._size >= _BLOCK:
            return self._blocks.pop()[: self._size]
        whole = np.empty(self._size, dtype=self._blocks[0].dtype)
        self._blocks.reverse()
        start = 0
        while self._blocks:
            block = self._blocks.pop()[: self._size - start]
            whole[start : start + block.size] = block
            start += block.size
        return whole


BLANKS = b" \t\v\f\r"
_SPACE, _END = np.uint8(ord(" ")), np.uint8(ord("\n"))
_COMMENT = re.compile(rb"(?m)^[ \t\v\f\r]*#[^\n]*")
_REGULAR_BYTES = 1 << 16


def separator_of(chunk: bytes) -> str | None:
    """Tell the one separator of regular text; None for text that is to be made regular."""
    head = chunk[: chunk.find(b"\n") + 1] or chunk
    separator = b"\t" if b"\t" in head else b" "
    others = [bytes((blank,)) for blank in BLANKS if blank != separator[0]]
    if b"#" in chunk and (chunk.startswith(b"#") or b"\n#" in chunk):
        return None
    data = np.frombuffer(chunk, np.uint8)
    # A blank before the end of the text stands between no fields, as one before the end of a line.
    if data.size and (data[0] <= _SPACE or _END != data[-1] <= _SPACE):
        return None
    for start in range(0, data.size, _REGULAR_BYTES):
        if any(chunk.find(other, start, start + _REGULAR_BYTES) >= 0 for other in others):
            return None
        low = data[start : start + _REGULAR_BYTES + 1] <= _SPACE
        if (low[1:] & low[:-1]).any():
            return None
    return separator.decode()


def columns_of_lines(text: bytes, separator: bytes) -> NDArray[np.int64]:
    """Count the columns of each line; shape (lines,)."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == _END)
    if data.size and data[-1] != _END:
        ends = np.append(ends, data.size)
    separators = np.flatnonzero(data == separator[0])
    return np.diff(np.searchsorted(separators, ends), prepend=0) + 1


def all_by_tabs(text: bytes, width: int) -> bool:
    """Tell whether all lines have so many columns by tabs, none of them empty."""
    odd = (b"\t\t", b"\t \t", b"\n\t", b"\t\n", b"\r", b"#")
    return bool((columns_of_lines(text, b"\t") == width).all()) and not any(
        part in text for part in odd
    )


def made_regular(chunk: bytes) -> tuple[bytes, NDArray[np.int64] | None]:
    """Reduce runs of blanks to one, drop empty lines and comments; with lines left (None: all)."""
    chunk = without_comments(chunk)
    pieces, lines, start = [], [], 0
    while start < len(chunk):
        stop = chunk.find(b"\n", start + _REGULAR_BYTES) + 1 or len(chunk)
        piece, kept = _squeezed(chunk[start:stop])
        pieces.append(piece)
        lines.append((kept, start, stop))
        start = stop
    if all(kept is None for kept, _, _ in lines):
        return b"".join(pieces), None
    numbers, first_line = [], 0
    for piece, (kept, start, stop) in zip(pieces, lines, strict=True):
        if kept is None:
            kept = np.arange(piece.count(b"\n") + (piece[-1:] not in {b"", b"\n"}))  # noqa: PLW2901
        numbers.append(first_line + kept)
        first_line += chunk.count(b"\n", start, stop)
    return b"".join(pieces), np.concatenate(numbers)


def without_comments(text: bytes) -> bytes:
    """Empty the lines that are comments."""
    return _COMMENT.sub(b"", text) if b"#" in text else text


def _squeezed(text: bytes) -> tuple[bytes, NDArray[np.int64] | None]:
    """Make a block of lines regular; return it, and the lines that are left (None: all)."""
    data = np.frombuffer(text, np.uint8)
    low, end = low_bytes(data), data == _END
    # Of a run of blanks only the first one is left, and none at the beginning of a line.
    keep = np.empty(data.size, dtype=bool)
    keep[0] = not low[0]
    np.logical_and(low[1:], low[:-1], out=keep[1:])
    np.logical_not(keep[1:], out=keep[1:])
    keep |= end
    # Where many short runs are dropped, places are faster than a mask.
    data = data.take(np.flatnonzero(keep))
    if data.size and data[-1] != _END and low_bytes(data[-1:])[0]:
        data = data[:-1]
    low, end = low_bytes(data), data == _END
    # Sums of bytes are faster than a choice: each blank that is no end becomes a space.
    data += (low & ~end) * (_SPACE - data)
    # What stands before an end is the last blank of a line, or the end of an empty one.
    drop = low[:-1] & end[1:]
    empty = bool(end[:1].any() or (drop & end[:-1]).any())
    kept = None
    if empty:
        ends = np.flatnonzero(end)
        lengths = np.diff(ends, prepend=-1, append=data.size) - 1
        kept = np.flatnonzero(lengths)
    if drop.any():
        data = data[~np.append(drop, False)]
    return (data[1:] if empty and data[:1] == _END else data).tobytes(), kept


def low_bytes(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Tell which bytes are blanks or ends of lines."""
    found = data - np.uint8(9) <= np.uint8(4)
    found |= data == _SPACE
    return found


Made = TypeVar("Made")

_ODD = (BOM_UTF8, b"x\x01", b"x^")
"""What the CSV reader takes for no part of an id: the mark of a file, and archives of zlib."""


@dataclass(frozen=True)
class Read(Generic[Made]):
    """What is left of a chunk when it has been read: what was made of it, and its lines."""

    made: Made
    rows: int
    numbers: NDArray[np.int64] | None
    lines: int
    width: int
    dropped: int = 0


def read_chunk(
    chunk: bytes, layout: Layout, *, source: str, first_line: int, width: int = 0
) -> Chunk:
    """Parse whole lines of UTF-8 text, after lines of `width` columns, if there are any."""
    if chunk.startswith(b"#") and chunk.count(b"\n#") == chunk.rstrip(b"\n").count(b"\n"):
        # Nothing but comments, and perhaps blank lines at the end, is soon told.
        return Chunk(pl.DataFrame(schema=layout.schema), None, chunk.count(b"\n"))
    expected = len(layout.columns)
    separator, numbers = separator_of(chunk), None
    frame = None
    if _is_plain(chunk, separator, layout):
        text, numbers = (chunk, None) if separator else made_regular(chunk)
        frame = None if text.startswith(_ODD) else _read_csv(text, layout, separator or " ")
        separators = 0 if frame is None else (expected - 1) * frame.height
        if layout.more_allowed and text.count((separator or " ").encode()) != separators:
            # The further columns are counted, and looked at, line by line.
            frame = None
    if frame is None:
        frame, numbers, expected = read_lines(
            chunk, layout, source=source, first_line=first_line, width=width
        )
        numbers -= first_line
    lines = frame.height if numbers is None else chunk.count(b"\n")
    return Chunk(frame, numbers, lines, expected)


def _is_plain(chunk: bytes, separator: str | None, layout: Layout) -> bool:
    """Tell whether the fields of lines are what is between blanks, whatever the blanks are."""
    if _hides_lines(chunk, layout) or layout.separator == ";":
        return False
    if layout.separator == "tab":
        return separator == "\t"
    return layout.separator == "blank" or not (b"\t" in chunk and b" " in chunk)


def _hides_lines(chunk: bytes, layout: Layout) -> bool:
    """Tell whether further columns, which are ignored, may be lines behind carriage returns."""
    # Counting is far slower than looking for what is hardly ever there.
    return layout.more_allowed and b"\r" in chunk and chunk.count(b"\r") > chunk.count(b"\r\n")


def read_parts(
    source: Source,
    layout: Layout,
    lines: LineMap,
    then: Callable[[Chunk], Made],
    *,
    at_once: Callable[[bytes], Read[Made] | None] = lambda _: None,
) -> Iterator[Made]:
    """Parse a file chunk by chunk, so that the text is never held at once; note the lines.

    What `then` makes of each chunk is made in the thread that reads it. What `at_once` makes of
    UTF-8 text that is surely right needs no other reading.
    """

    def read(text: bytes, first_line: int, width: int = 0) -> Read[Made]:
        if not _hides_lines(text, layout) and (surely := at_once(text)) is not None:
            return surely
        part = read_chunk(text, layout, source=source.name, first_line=first_line, width=width)
        graded = part.graded() if layout.gaps else part
        dropped = part.frame.height - graded.frame.height
        rows = graded.frame.height
        return Read(then(graded), rows, graded.numbers, part.lines, part.width, dropped)

    def tried(chunk: bytes) -> tuple[int, Read[Made] | bytes]:
        try:
            return len(chunk), read(source.as_utf8(chunk, 0), 0)
        except InputError:
            # In which line it is wrong is known when the chunks before it have been read.
            return len(chunk), chunk

    first_line, fruitless, width, dropped = 1, 0, 0, 0
    with closing(as_they_come(tried, source.chunks(), own_threads())) as results:
        for size, found in results:
            error, part = None, found
            if isinstance(part, bytes):
                text, error = _before_error(part, source, first_line)
                part = read(text, first_line, width)
            lines.add(part.rows, first_line, part.numbers)
            if part.rows and width not in {0, part.width}:
                raise ragged(width, part.width, source.name, lines.line(lines.rows - part.rows))
            if error is not None:
                raise error
            first_line += part.lines
            dropped += part.dropped
            fruitless = 0 if part.rows or part.dropped else fruitless + size
            check_fruitless(fruitless, source.name)
            if part.rows:
                width = part.width
                yield part.made
    if layout.gaps and lines.rows + dropped:
        tell_ungraded(source.name, dropped, lines.rows + dropped)
    elif not width:
        raise InputError(f"is empty: a {layout.kind} has at least one line", source=source.name)


def _before_error(chunk: bytes, source: Source, first_line: int) -> tuple[bytes, InputError | None]:
    """Return the lines in UTF-8 up to the first that is not text, and what is wrong with that."""
    try:
        return source.as_utf8(chunk, first_line), None
    except InputError as error:
        before = chunk.split(b"\n")[: (error.line or 0) - first_line]
        return source.as_utf8(b"\n".join([*before, b""])), error


def _read_csv(text: bytes, layout: Layout, separator: str) -> pl.DataFrame | None:
    """Parse regular text, or return None when any value is missing or in doubt."""
    if not text:
        return pl.DataFrame(schema=layout.schema)
    names = list(layout.columns)
    # Most files have no value in doubt, and to look for errors takes longer than to trust it.
    frame = None
    for ignore_errors in (False, True):
        try:
            frame = pl.read_csv(
                text,
                has_header=False,
                separator=separator,
                quote_char=None,
                schema=layout.columns,
                columns=[names.index(name) for name in layout.read],
                truncate_ragged_lines=layout.more_allowed,
                ignore_errors=ignore_errors,
            )
            break
        except pl.exceptions.PolarsError:
            continue
    if frame is None:
        return None
    if any(frame[name].null_count() for name in layout.read if name not in layout.optional):
        return None
    numbers = (frame[name] for name in layout.read if layout.columns[name] == pl.Float64)
    if not all(np.isfinite(values.to_numpy()).all() for values in numbers):
        return None
    return frame
