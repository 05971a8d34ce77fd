"""Reading tables of blank-separated columns: the TREC formats, fast, and exact in their errors.

A chunk that is regular goes straight to the CSV reader; any other is made regular first. When the
CSV reader is not certain of every value, the chunk is read again line by line: slowly, and with
the precise reason.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import InputError
from cranfield.collection.files.layouts import Layout, read_lines
from cranfield.collection.files.regular import form_of, made_regular
from cranfield.sources.chunks import LineMap, Source
from cranfield.sources.values import is_number


@dataclass(frozen=True)
class Chunk:
    """The rows of a chunk.

    frame: the columns that the layout reads; without `tag` where all rows have the same one.
    tag: that tag.
    numbers: line of each row; None where they follow each other without a gap.
    """

    frame: pl.DataFrame
    tag: str | None = None
    numbers: NDArray[np.int64] | None = None


def read_chunk(
    chunk: bytes, layout: Layout, *, source: str, first_line: int, encoding: str
) -> Chunk:
    """Parse whole lines into the layout's columns."""
    if not chunk.isascii():
        chunk = _as_utf8(chunk, encoding, source, first_line)
    form = form_of(chunk)
    text, numbers = chunk, None
    if form.separator is None:
        text, numbers = made_regular(chunk, first_line)
    tag = None
    if form.ending is not None and "tag" in layout.read and form.fields == len(layout.columns):
        tag = form.ending[1:].decode()
        # A line without a tag could end in the same number; then the column has to be seen.
        tag = None if is_number(tag) else tag
    # The CSV reader would take a mark at the beginning of an id for one of the whole file.
    odd = text.startswith(BOM_UTF8)
    frame = None if odd else _read_csv(text, layout, form.separator or " ", tag is not None)
    if frame is None:
        frame, numbers = read_lines(chunk, layout, source=source, first_line=first_line)
        tag = None
    return Chunk(frame, tag, numbers)


def read_parts(
    source: Source, layout: Layout, lines: LineMap, *, encoding: str = "utf-8"
) -> Iterator[Chunk]:
    """Parse a file chunk by chunk, so that the text is never held at once; note the lines."""
    first_line, empty = 1, True
    for chunk in source.chunks():
        part = read_chunk(
            chunk, layout, source=source.name, first_line=first_line, encoding=encoding
        )
        rows = part.frame.height
        lines.add(rows, first_line, part.numbers)
        first_line += rows if part.numbers is None else chunk.count(b"\n")
        if rows:
            empty = False
            yield part
    if empty:
        raise InputError(f"is empty: a {layout.kind} has at least one line", source=source.name)


def _as_utf8(chunk: bytes, encoding: str, source: str, first_line: int) -> bytes:
    """Return the chunk in UTF-8, or say where it is not in the encoding that it should have."""
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


def _read_csv(text: bytes, layout: Layout, separator: str, tag_known: bool) -> pl.DataFrame | None:
    """Parse regular text, or return None when any value is missing or in doubt."""
    if not text:
        return pl.DataFrame(schema=layout.schema)
    names = list(layout.columns)
    read = [name for name in layout.read if not (tag_known and name == "tag")]
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
                columns=[names.index(name) for name in read],
                truncate_ragged_lines=layout.more_allowed,
                ignore_errors=ignore_errors,
            )
            break
        except pl.exceptions.PolarsError:
            continue
    if frame is None:
        return None
    required = [name for name in read if name not in layout.optional]
    if any(frame[name].null_count() for name in required):
        return None
    if "score" in layout.read and not bool(np.isfinite(frame["score"].to_numpy()).all()):
        return None
    return frame
