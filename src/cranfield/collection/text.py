"""Reading tables of blank-separated columns: the TREC formats, fast, and exact in their errors.

A chunk that is regular (one separator, no doubled blanks) goes straight to the CSV reader; any
other is made regular first, in a few array operations. When the CSV reader is not certain of
every value, the chunk is read again line by line: slowly, and with the precise reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.collection.lines import LineMap
from cranfield.collection.source import Source
from cranfield.errors import InputError, quoted

_BLANKS = b" \t\v\f\r"
_IS_BLANK = np.zeros(256, dtype=bool)
_IS_BLANK[list(_BLANKS + b"\n")] = True
_COMMENT = re.compile(rb"(?m)^[ \t\v\f\r]*#[^\n]*")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_INT32 = 2**31


@dataclass(frozen=True)
class Layout:
    """The columns of a format: their names, their types, and which are read."""

    kind: str
    columns: dict[str, type[pl.DataType]]
    read: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    more_allowed: bool = False

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """Types of the columns that are read."""
        return {name: self.columns[name] for name in self.read}


RUN = Layout(
    "run",
    {
        "topic": pl.String,
        "q0": pl.String,
        "doc": pl.String,
        "rank": pl.Int32,
        "score": pl.Float64,
        "tag": pl.String,
    },
    read=("topic", "doc", "rank", "score", "tag"),
    optional=frozenset({"rank"}),
    more_allowed=True,
)
QRELS = Layout(
    "qrels",
    {"topic": pl.String, "subtopic": pl.String, "doc": pl.String, "grade": pl.Int32},
    read=("topic", "subtopic", "doc", "grade"),
)


def read_chunk(
    chunk: bytes, layout: Layout, *, source: str, first_line: int, encoding: str, lines: LineMap
) -> pl.DataFrame:
    """Parse whole lines into the layout's columns, and add their line numbers to `lines`."""
    if not chunk.isascii():
        chunk = _as_utf8(chunk, encoding, source, first_line)
    text, numbers = chunk, None
    separator = _separator(chunk)
    if separator is None:
        separator = " "
        text, numbers = _regular(chunk, first_line)
    frame = _read_csv(text, layout, separator)
    if frame is None:
        frame, numbers = read_lines(chunk, layout, source=source, first_line=first_line)
    lines.add(frame.height, first_line, numbers)
    return frame


def read_table(
    source: Source, layout: Layout, *, encoding: str = "utf-8"
) -> tuple[list[pl.DataFrame], LineMap]:
    """Parse a whole file; one frame a chunk, so that the text is never held at once."""
    lines = LineMap()
    frames: list[pl.DataFrame] = []
    first_line, before = 1, b""
    for chunk in source.chunks():
        first_line += before.count(b"\n")
        frame = read_chunk(
            chunk,
            layout,
            source=source.name,
            first_line=first_line,
            encoding=encoding,
            lines=lines,
        )
        if frame.height:
            frames.append(frame)
        before = chunk
    if not frames:
        raise InputError(f"is empty: a {layout.kind} has at least one line", source=source.name)
    return frames, lines


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


def _separator(chunk: bytes) -> str | None:
    """Return the one separator of a regular chunk, or None for a chunk to be made regular."""
    head = chunk[: chunk.find(b"\n") + 1] or chunk
    separator = b"\t" if b"\t" in head else b" "
    if any(bytes((blank,)) in chunk for blank in _BLANKS if blank != separator[0]):
        return None
    if b"#" in chunk and _COMMENT.search(chunk):
        return None
    low = np.frombuffer(chunk, np.uint8) <= ord(" ")
    if low[:1].any() or (low[1:] & low[:-1]).any():
        return None
    return separator.decode()


def _regular(chunk: bytes, first_line: int) -> tuple[bytes, NDArray[np.int64] | None]:
    """Reduce each run of blanks to one, drop empty lines and comments; keep the line numbers."""
    if b"#" in chunk:
        chunk = _COMMENT.sub(b"", chunk)
    data = np.frombuffer(chunk, np.uint8)
    blank = _IS_BLANK[data]
    keep = ~blank
    # Of a run of blanks the last byte stays; it becomes a line end if the run holds one.
    keep[:-1] |= blank[:-1] & ~blank[1:]
    seen = np.cumsum(data == ord("\n"), dtype=np.int64)
    at = np.flatnonzero(keep)
    kept, ended = data[at], seen[at]
    ends = np.diff(ended, prepend=0)
    is_blank = blank[at]
    kept = np.where(is_blank, np.where(ends > 0, ord("\n"), ord(" ")), kept).astype(np.uint8)
    if not kept.size:
        return b"", None
    if is_blank[0]:
        kept, ended, ends, is_blank = kept[1:], ended[1:], ends[1:], is_blank[1:]
    numbers = None
    if kept.size and (ended[0] > 0 or bool((ends > 1).any())):
        starts = np.flatnonzero(np.concatenate(([True], kept[:-1] == ord("\n"))))
        numbers = first_line + ended[starts]
    return kept.tobytes(), numbers


def _read_csv(text: bytes, layout: Layout, separator: str) -> pl.DataFrame | None:
    """Parse regular text, or return None when any value is missing or in doubt."""
    if not text:
        return pl.DataFrame(schema=layout.schema)
    names = list(layout.columns)
    try:
        frame = pl.read_csv(
            text,
            has_header=False,
            separator=separator,
            quote_char=None,
            schema=layout.columns,
            columns=[names.index(name) for name in layout.read],
            truncate_ragged_lines=layout.more_allowed,
            ignore_errors=True,
        )
    except pl.exceptions.PolarsError:
        return None
    required = [name for name in layout.read if name not in layout.optional]
    if any(frame[name].null_count() for name in required):
        return None
    if "score" in layout.read and not bool(np.isfinite(frame["score"].to_numpy()).all()):
        return None
    return frame


def read_lines(
    chunk: bytes, layout: Layout, *, source: str, first_line: int
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Parse UTF-8 text line by line: the definition of what is accepted, and of each error."""
    names = list(layout.columns)
    values: dict[str, list[object]] = {name: [] for name in layout.read}
    numbers: list[int] = []
    for number, raw in enumerate(chunk.split(b"\n"), first_line):
        fields = raw.split()
        if not fields or fields[0].startswith(b"#"):
            continue
        _check_width(fields, layout, source, number)
        row = dict(zip(names, (item.decode() for item in fields), strict=False))
        for name in layout.read:
            value = _value(row, name, layout, source, number)
            values[name].append(value)
        numbers.append(number)
    return pl.DataFrame(values, schema=layout.schema), np.array(numbers, dtype=np.int64)


def _check_width(fields: list[bytes], layout: Layout, source: str, line: int) -> None:
    wanted = len(layout.columns)
    if len(fields) < wanted or (len(fields) > wanted and not layout.more_allowed):
        raise InputError(
            f"{len(fields)} columns where a {layout.kind} line has {wanted}"
            f" ({' '.join(layout.columns)})",
            source=source,
            line=line,
            topic=fields[0].decode(),
        )


def _value(row: dict[str, str], name: str, layout: Layout, source: str, line: int) -> object:
    text = row[name]
    dtype = layout.columns[name]
    if dtype == pl.Float64:
        if _NUMBER.fullmatch(text) and np.isfinite(value := float(text)):
            return value
        reason = f"{name} {quoted(text)} is not a finite number"
    elif dtype == pl.Int32:
        if _INTEGER.fullmatch(text) and len(text) < 20 and -_INT32 <= int(text) < _INT32:
            return int(text)
        if name in layout.optional:
            return None
        reason = f"{name} {quoted(text)} is not an integer (of 32 bits)"
    else:
        return text
    raise InputError(reason, source=source, line=line, topic=row["topic"], doc=row["doc"])
