"""Regular text: one separator between fields, no doubled blanks, no empty lines, no comments.

Whether text is regular is told, and any other text is made so, by array operations over blocks
that fit the processor's cache.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

BLANKS = b" \t\v\f\r"
_SPACE, _END = np.uint8(ord(" ")), np.uint8(ord("\n"))
_COMMENT = re.compile(rb"(?m)^[ \t\v\f\r]*#[^\n]*")
_BLOCK = 1 << 16


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
    for start in range(0, data.size, _BLOCK):
        if any(chunk.find(other, start, start + _BLOCK) >= 0 for other in others):
            return None
        low = data[start : start + _BLOCK + 1] <= _SPACE
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
        stop = chunk.find(b"\n", start + _BLOCK) + 1 or len(chunk)
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
