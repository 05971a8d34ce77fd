"""Regular text: one separator between fields, no doubled blanks, no empty lines, no comments.

Whether text is regular is told, and any other text is made so, by array operations over blocks
that fit the processor's cache.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BLANKS = b" \t\v\f\r"
_TO_SPACE = bytes.maketrans(_BLANKS, b" " * len(_BLANKS))
_SPACE, _END = ord(" "), ord("\n")
_COMMENT = re.compile(rb"(?m)^[ \t\v\f\r]*#[^\n]*")
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Form:
    """What the bytes of a chunk show without reading it.

    separator: the one separator of regular text; None for text that is to be made regular.
    ending: what every line ends with, from the last separator on; None when lines differ, or
        when they have not as many fields on average as the first.
    fields: how many fields the first line has.
    """

    separator: str | None
    ending: bytes | None = None
    fields: int = 0


def form_of(chunk: bytes) -> Form:
    """Tell whether a chunk is regular, and whether all its lines end in the same field."""
    head = chunk[: chunk.find(b"\n") + 1] or chunk
    separator = b"\t" if b"\t" in head else b" "
    if any(bytes((blank,)) in chunk for blank in _BLANKS if blank != separator[0]):
        return Form(None)
    if b"#" in chunk and _COMMENT.search(chunk):
        return Form(None)
    data = np.frombuffer(chunk, np.uint8)
    if data.size and data[0] <= _SPACE:
        return Form(None)
    ending = head[max(head.rfind(separator), 0) :].rstrip(b"\n")
    same = len(ending) > 1 and chunk.endswith((ending + b"\n", ending))
    lines, blanks = int(not chunk.endswith(b"\n")), int(not chunk.endswith(b"\n"))
    for start in range(0, data.size, _BLOCK):
        block = data[start : start + _BLOCK + 1]
        low = block <= _SPACE
        if (low[1:] & low[:-1]).any():
            return Form(None)
        if same:
            # A line that began in the block before is looked at from the whole of the data.
            ends = start + _places(block[:_BLOCK] == _END)
            lines += ends.size
            blanks += int(np.count_nonzero(low[:_BLOCK]))
            same = all(
                bool((data.take(ends - back) == byte).all())
                for back, byte in enumerate(reversed(ending), 1)
            )
    fields = head.count(separator) + 1
    # As many fields in all as if each line had those of the first.
    same = same and blanks == fields * lines
    return Form(separator.decode(), ending if same else None, fields)


def _places(flags: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Find the places of flags of which there is seldom more than one in eight.

    Eight of them at a time are one number, whose bits tell the place: twice as fast as
    `flatnonzero`.
    """
    whole = flags.size & ~7
    words = flags[:whole].view("<u8")
    found = np.flatnonzero(words != 0)
    bits = words[found]
    if (bits & (bits - 1)).any():
        return np.flatnonzero(flags)
    places = 8 * found + (np.bitwise_count(bits - 1) >> 3)
    if whole < flags.size:
        places = np.append(places, whole + np.flatnonzero(flags[whole:]))
    return np.asarray(places, dtype=np.intp)


def made_regular(chunk: bytes, first_line: int) -> tuple[bytes, NDArray[np.int64] | None]:
    """Reduce each run of blanks to one, drop empty lines and comments; keep the line numbers."""
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
    numbers = []
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
