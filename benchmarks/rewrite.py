"""A run in other forms: in random order, with irregular blanks, with ties, packed.

The first three work on bytes as NumPy arrays, since a Python loop over millions of lines would
take longer than generating them did.
"""

from __future__ import annotations

import gzip
import lzma
import shutil
import sys
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_BLANK, _TAB, _NEWLINE = 0x20, 0x09, 0x0A

_LINES_AT_ONCE = 200_000
_BYTES_AT_ONCE = 1 << 23


def write_shuffled(source: Path, target: Path, rng: np.random.Generator) -> None:
    """Write the lines of a file in random order."""
    data = np.fromfile(source, dtype=np.uint8)
    ends = np.flatnonzero(data == _NEWLINE) + 1
    starts = np.concatenate([[0], ends[:-1]])
    order = rng.permutation(ends.size)
    with target.open("wb") as file:
        for first in range(0, order.size, _LINES_AT_ONCE):
            chosen = order[first : first + _LINES_AT_ONCE]
            file.write(_gathered(data, starts[chosen], ends[chosen] - starts[chosen]).tobytes())


def write_blanks(source: Path, target: Path, rng: np.random.Generator) -> None:
    """Write the lines of a file with 1 to 4 blanks or tabs in place of each blank.

    One line in ten also gets leading blanks, and one in ten trailing ones.
    """
    data = np.fromfile(source, dtype=np.uint8)
    with target.open("wb") as file:
        for part in _whole_lines(data):
            file.write(_spaced(part, rng).tobytes())


def write_ties(source: Path, target: Path, rng: np.random.Generator) -> None:
    """Write the lines of a file with two decimals of the scores in place of six."""
    data = np.fromfile(source, dtype=np.uint8)
    with target.open("wb") as file:
        for part in _whole_lines(data):
            keep = np.ones(part.size, dtype=np.bool_)
            # Lines end with the score, a blank and the tag, which is as long in all lines.
            ends = np.flatnonzero(part == _NEWLINE)
            after = int(ends[0] - np.flatnonzero(part[: ends[0]] == _BLANK)[-1])
            keep[ends[:, None] - after - np.arange(1, 5)] = False
            file.write(part[keep].tobytes())


def write_packed(
    pack: Callable[[Path], BufferedIOBase], source: Path, target: Path, _: object
) -> None:
    """Write a file through what packs it."""
    with source.open("rb") as file, pack(target) as packed:
        shutil.copyfileobj(file, packed, _BYTES_AT_ONCE)


def open_gzip(path: Path) -> BufferedIOBase:
    return gzip.GzipFile(path, "wb", compresslevel=6)


def open_xz(path: Path) -> BufferedIOBase:
    return lzma.LZMAFile(path, "wb", preset=0)


def open_zstd(path: Path) -> BufferedIOBase:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdFile(path, "wb")


def _gathered(data: Bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Bytes:
    """Concatenate slices of an array."""
    before = np.cumsum(lengths) - lengths
    return data[np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))]


def _whole_lines(data: Bytes) -> Iterator[Bytes]:
    """Cut data into parts of bounded size, each of which ends with a line."""
    start = 0
    while start < data.size:
        end = min(start + _BYTES_AT_ONCE, data.size)
        end = start + int(np.flatnonzero(data[start:end] == _NEWLINE)[-1]) + 1
        yield data[start:end]
        start = end


def _spaced(data: Bytes, rng: np.random.Generator) -> Bytes:
    """Widen the blanks of whole lines.

    Every byte is repeated as often as it takes room, newlines included: a newline's copies
    become the trailing blanks of its line, itself, and the leading blanks of the next.
    """
    room = np.ones(data.size, dtype=np.int64)
    blanks = data == _BLANK
    room[blanks] = rng.integers(1, 5, np.count_nonzero(blanks))
    newlines = np.flatnonzero(data == _NEWLINE)
    trailing = _now_and_then(rng, newlines.size)
    leading = _now_and_then(rng, newlines.size)
    # What follows the last newline would be a line of blanks, not the start of one.
    leading[-1] = 0
    room[newlines] += trailing + leading

    wide = np.repeat(data, room)
    starts = np.cumsum(room) - room
    wide[wide == _NEWLINE] = _BLANK
    white = np.flatnonzero(wide == _BLANK)
    wide[white[rng.random(white.size) < 0.3]] = _TAB
    wide[starts[newlines] + trailing] = _NEWLINE
    return wide


def _now_and_then(rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """Draw 1 to 3 for one in ten, and otherwise 0."""
    return np.where(rng.random(size) < 0.1, rng.integers(1, 4, size), 0)
