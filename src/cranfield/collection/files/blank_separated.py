"""Reading tables of blank-separated columns: the TREC formats, fast, and exact in their errors.

Lines of runs are mostly read at once, from their bytes (`run_lines.py`). Of what is not, a chunk
that is regular goes straight to the CSV reader; any other is made regular first. When the CSV
reader is not certain of every value, the chunk is read again line by line: slowly, and with the
precise reason. Chunks are read in several threads; what is wrong is said of the first of them.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import InputError
from cranfield.base.threads import as_they_come, own_threads
from cranfield.collection.files.layouts import Layout, ragged, read_lines
from cranfield.collection.files.parts import Chunk
from cranfield.collection.files.regular import (
    all_by_tabs,
    columns_of_lines,
    made_regular,
    separator_of,
)
from cranfield.sources.chunks import TOGETHER, LineMap, Source, check_fruitless
from cranfield.sources.values import integers_in, numbers_in

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
    width: int = 0


def read_chunk(
    chunk: bytes, layout: Layout, *, source: str, first_line: int, encoding: str
) -> Chunk:
    """Parse whole lines into the layout's columns."""
    chunk = as_utf8(chunk, encoding, source, first_line)
    if chunk.startswith(b"#") and chunk.count(b"\n#") == chunk.rstrip(b"\n").count(b"\n"):
        # Nothing but comments, and perhaps blank lines at the end, is soon told.
        return Chunk(pl.DataFrame(schema=layout.schema), None, chunk.count(b"\n"))
    numbers: NDArray[np.int64] | None = None
    width = 0
    if (by_tabs := _by_tabs(chunk, layout)) is not None:
        frame = _read_csv(chunk, layout, "\t", stripped=True) if by_tabs else None
    else:
        separator = separator_of(chunk)
        text, numbers = (chunk, None) if separator else made_regular(chunk)
        odd = text.startswith(_ODD) or _hides_lines(chunk, layout)
        frame = None if odd else _read_csv(text, layout, separator or " ")
        if frame is not None and layout.more_allowed and frame.height:
            width = _width(text, layout, separator or " ", frame.height)
    if frame is None or width < 0:
        frame, numbers, width = read_lines(chunk, layout, source=source, first_line=first_line)
        numbers -= first_line
    lines = frame.height if numbers is None else chunk.count(b"\n")
    return Chunk(frame, numbers, lines, width or len(layout.columns))


def _by_tabs(chunk: bytes, layout: Layout) -> bool | None:
    """Tell whether all lines are split at tabs; None where none is, False where some are."""
    if layout.separator == "blank" or (
        layout.separator == "auto" and not (b"\t" in chunk and b" " in chunk)
    ):
        return None
    width = len(layout.columns)
    if layout.separator == "auto" and columns_of_lines(chunk, b"\t").max(initial=0) < width:
        return None
    return all_by_tabs(chunk, width)


def _width(text: bytes, layout: Layout, separator: str, rows: int) -> int:
    """Return the number of columns of regular lines; -1 if it differs or is in doubt."""
    expected = len(layout.columns)
    if text.count(separator.encode()) == (expected - 1) * rows:
        return expected
    widths = columns_of_lines(text, separator.encode())
    width = int(widths[0])
    if (widths != width).any():
        return -1
    if layout.separator == "blank":
        return width
    names = [str(k) for k in range(width)]
    frame = pl.read_csv(
        text,
        has_header=False,
        separator=separator,
        quote_char=None,
        schema=dict.fromkeys(names, pl.String),
        columns=sorted({3, width - 3, width - 2}),
    )
    of_right = (
        integers_in(pl.col(names[-3])).is_not_null() & numbers_in(pl.col(names[-2])).is_not_null()
    )
    doubt = frame.select((integers_in(pl.col("3")).is_null() | of_right).any())
    return -1 if doubt.item() else width


def read_parts(
    source: Source,
    layout: Layout,
    lines: LineMap,
    then: Callable[[Chunk], Made],
    *,
    encoding: str = "utf-8",
    at_once: Callable[[bytes], Read[Made] | None] = lambda _: None,
) -> Iterator[Made]:
    """Parse a file chunk by chunk, so that the text is never held at once; note the lines.

    What `then` makes of each chunk is made in the thread that reads it. What `at_once` makes of
    UTF-8 text that is surely right needs no other reading.
    """

    def read(chunk: bytes, first_line: int) -> Read[Made]:
        chunk = as_utf8(chunk, encoding, source.name, first_line)
        if not _hides_lines(chunk, layout) and (surely := at_once(chunk)) is not None:
            return surely
        part = read_chunk(
            chunk, layout, source=source.name, first_line=first_line, encoding="utf-8"
        )
        return Read(then(part), part.frame.height, part.numbers, part.lines, part.width)

    def tried(chunk: bytes) -> Read[Made] | bytes:
        try:
            return read(chunk, 0)
        except InputError:
            # In which line it is wrong is known when the chunks before it have been read.
            return chunk

    sizes: deque[int] = deque()

    def chunks() -> Iterator[bytes]:
        for chunk in source.chunks():
            sizes.append(len(chunk))
            yield chunk

    first_line, empty, fruitless, width = 1, True, 0, 0
    with closing(as_they_come(tried, chunks(), own_threads())) as results:
        for number, found in enumerate(results):
            if isinstance(found, bytes):
                line = first_line
                for one in [found, *islice(results, TOGETHER - 1 - number % TOGETHER)]:
                    if isinstance(one, bytes):
                        as_utf8(one, encoding, source.name, line)
                        line += one.count(b"\n")
                    else:
                        line += one.lines
            part = read(found, first_line) if isinstance(found, bytes) else found
            lines.add(part.rows, first_line, part.numbers)
            if part.rows and width not in {0, part.width}:
                raise ragged(width, part.width, source.name, lines.line(lines.rows - part.rows))
            width = part.width if part.rows else width
            first_line += part.lines
            fruitless = 0 if part.rows else fruitless + sizes[0]
            check_fruitless(fruitless, source.name)
            sizes.popleft()
            if part.rows:
                empty = False
                yield part.made
    if empty:
        raise InputError(f"is empty: a {layout.kind} has at least one line", source=source.name)


def _hides_lines(chunk: bytes, layout: Layout) -> bool:
    """Tell whether further columns, which are ignored, may be lines behind carriage returns."""
    # Counting is far slower than looking for what is hardly ever there.
    return layout.more_allowed and b"\r" in chunk and chunk.count(b"\r") > chunk.count(b"\r\n")


def as_utf8(chunk: bytes, encoding: str, source: str, first_line: int) -> bytes:
    """Return the chunk in UTF-8, or say where it is not in the encoding that it should have."""
    if chunk.isascii():
        return chunk
    if (at := b"\n".join((b"", chunk)).find(b"\n" + BOM_UTF8)) >= 0:
        raise InputError(
            "begins with a byte order mark within the file, of files that were joined: remove it",
            source=source,
            line=first_line + chunk.count(b"\n", 0, at),
        )
    try:
        text = chunk.decode(encoding)
    except UnicodeDecodeError as error:
        line = first_line + chunk.count(b"\n", 0, error.start)
        raise InputError(
            f"byte 0x{chunk[error.start]:02x} is not valid {encoding.upper()} text;"
            " encoding='latin-1' reads any bytes",
            source=source,
            line=line,
        ) from None
    return chunk if encoding.lower().replace("_", "-") in {"utf-8", "utf8"} else text.encode()


def _read_csv(
    text: bytes, layout: Layout, separator: str, *, stripped: bool = False
) -> pl.DataFrame | None:
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
    if stripped:
        frame = frame.with_columns(pl.col(pl.String).str.strip_chars(" \v\f\r"))
        if layout.more_allowed:
            frame = frame.with_columns(pl.col(layout.read[-1]).str.extract("^[^ ]+", 0))
        if frame.select((pl.col(pl.String) == "").any()).sum_horizontal().item():
            return None
    numbers = (frame[name] for name in layout.read if layout.columns[name] == pl.Float64)
    if not all(np.isfinite(values.to_numpy()).all() for values in numbers):
        return None
    return frame
