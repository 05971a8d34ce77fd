"""Regular text: one separator between fields, no doubled blanks, no empty lines, no comments.

Whether text is regular is told, and any other text is made so, by array operations over blocks
that fit the processor's cache.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

_BLANKS = b" \t\v\f\r"
_TO_SPACE = bytes.maketrans(_BLANKS, b" " * len(_BLANKS))
_SPACE, _END = ord(" "), ord("\n")
_COMMENT = re.compile(rb"(?m)^[ \t\v\f\r]*#[^\n]*")
_BLOCK = 1 << 18


def separator_of(chunk: bytes) -> str | None:
    """Tell the one separator of regular text; None for text that is to be made regular."""
    head = chunk[: chunk.find(b"\n") + 1] or chunk
    separator = b"\t" if b"\t" in head else b" "
    others = [bytes((blank,)) for blank in _BLANKS if blank != separator[0]]
    if b"#" in chunk and (chunk.startswith(b"#") or b"\n#" in chunk):
        return None
    data = np.frombuffer(chunk, np.uint8)
    if data.size and data[0] <= _SPACE:
        return None
    for start in range(0, data.size, _BLOCK):
        if any(chunk.find(other, start, start + _BLOCK) >= 0 for other in others):
            return None
        low = data[start : start + _BLOCK + 1] <= _SPACE
        if (low[1:] & low[:-1]).any():
            return None
    return separator.decode()


def made_regular(chunk: bytes) -> tuple[bytes, NDArray[np.int64] | None]:
    """Reduce each run of blanks to one, drop empty lines and comments.

    The lines that are left, from 0, come too; None where they all are.
    """
    if b"#" in chunk:
        chunk = _COMMENT.sub(b"", chunk)
    pieces, lines, start = [], [], 0
    while start < len(chunk):
        stop = chunk.find(b"\n", start + _BLOCK) + 1 or len(chunk)
        piece, kept, count = _squeezed(chunk[start:stop])
        pieces.append(piece)
        lines.append((kept, count))
        start = stop
    if all(kept is None for kept, _ in lines):
        return b"".join(pieces), None
    numbers, first_line = [], 0
    for kept, count in lines:
        numbers.append(first_line + (np.arange(count) if kept is None else kept))
        first_line += count
    return b"".join(pieces), np.concatenate(numbers)


def _squeezed(text: bytes) -> tuple[bytes, NDArray[np.int64] | None, int]:
    """Make a block of lines regular; return it, the lines that are left (None: all), their count.

    A block fits the processor's cache, which makes the array operations several times as fast.
    """
    data = np.frombuffer(text.translate(_TO_SPACE), np.uint8)
    space, end = data == _SPACE, data == _END
    # Of a run of blanks only the last one is left, and none before the end of a line.
    keep = np.ones(data.size, dtype=bool)
    keep[:-1] = ~(space[:-1] & (space[1:] | end[1:]))
    data = data[keep]
    if data[-1:] == _SPACE:
        data = data[:-1]
    ends = np.flatnonzero(data == _END)
    lengths = np.diff(ends, prepend=-1, append=data.size) - 1
    if not lengths[-1]:
        lengths = lengths[:-1]
    # At the beginning of a line there is one blank at the most, or the end of an empty line.
    begins = np.append(0, ends + 1)
    begins = begins[begins < data.size]
    drop = begins[(data[begins] == _SPACE) | (data[begins] == _END)]
    kept = None if bool(lengths.all()) else np.flatnonzero(lengths)
    if drop.size:
        data = np.delete(data, drop)
    return data.tobytes(), kept, lengths.size
