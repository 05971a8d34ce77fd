"""Reading files of lines: fast where text is regular, and exact in the errors of any other.

Lines of runs are mostly read at once, from their bytes (`run_lines.py`). Of what is not, a chunk
that is regular goes straight to the CSV reader; any other is made regular first. When the CSV
reader is not certain of every value, the chunk is read again line by line: slowly, and with the
precise reason. Chunks are read in several threads; the first error in the file is reported.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import InputError
from cranfield.base.threads import as_they_come, own_threads
from cranfield.collection.files.layouts import Layout, ragged, read_lines
from cranfield.collection.files.parts import Chunk
from cranfield.collection.files.regular import made_regular, separator_of
from cranfield.collection.repeats import tell_ungraded
from cranfield.sources.chunks import LineMap, Source, check_fruitless

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
