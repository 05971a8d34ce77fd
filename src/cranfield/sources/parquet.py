"""Parquet files, checked before they are read.

The reader trusts sizes and counts that stand in a file, and ends the process where they are far
off. So the tables of contents are read here, in the compact protocol of Thrift, and compared with
the file and with each other; and pages with their checksums, which the reader does not look at.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import IO, Any

import polars as pl

from cranfield.sources.archives import check_size

_CALM = 0.1
"""Seconds without a word after which all threads have panicked that will."""


class _HeldStderr:
    """Hold back the standard error of the process as long as a thread reads a file."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._plain = -1
        self._kept: IO[bytes] | None = None
        self._panicked = False

    def begin(self) -> None:
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            self._panicked = False
            # There may be no standard error, and no room for a file.
            with contextlib.suppress(OSError):
                self._plain = os.dup(2)
                self._kept = tempfile.TemporaryFile()  # noqa: SIM115
                os.dup2(self._kept.fileno(), 2)

    def end(self, *, panicked: bool) -> None:
        with self._lock:
            self._users -= 1
            self._panicked |= panicked
            if self._users:
                return
            if self._kept is not None:
                if self._panicked:
                    _settled(self._kept)
                os.dup2(self._plain, 2)
                with self._kept as kept:
                    kept.seek(0)
                    said = b"" if self._panicked else kept.read()
                # Others may have written meanwhile.
                while said:
                    said = said[os.write(2, said) :]
            if self._plain >= 0:
                os.close(self._plain)
            self._plain, self._kept = -1, None


def _settled(file: IO[bytes]) -> None:
    """Wait until nothing more is written: other threads panic of the same file, a little later."""
    before = -1
    while (size := os.fstat(file.fileno()).st_size) > before:
        before = size
        time.sleep(_CALM)


_STDERR = _HeldStderr()


@contextlib.contextmanager
def quiet_panics() -> Iterator[None]:
    """Hold back standard error, and drop it if a panic is raised."""
    _STDERR.begin()
    panicked = False
    try:
        yield
    except pl.exceptions.PanicException:
        panicked = True
        raise
    finally:
        _STDERR.end(panicked=panicked)


_MAGIC = b"PAR1"
_DEEPEST = 32
_REPEATED = 2
_DATA, _INDEX, _DICTIONARY, _DATA_2 = range(4)
_COUNTED_IN = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}
"""The field of a page's head that holds its head by kind, of which field 1 is the count."""

_WIDTH = 8
"""Bytes that a value takes when it is read, about."""

Struct = dict[int, Any]


class DamagedParquetError(Exception):
    """A Parquet file that does not hold together; the text says why."""


def check_parquet(data: memoryview) -> None:
    """Refuse a file whose sizes, counts and checksums do not fit, or that becomes far larger."""
    footer, end = _footer(data)
    leaves = _leaves(footer)
    groups = [_struct(group) for group in _list(footer, 4)]
    rows = [_count(group, 3, "rows") for group in groups]
    if sum(rows) != _count(footer, 3, "rows"):
        raise DamagedParquetError(
            "the number of rows in its footer is not the sum of its row groups"
        )
    check_size(_WIDTH * sum(rows) * len(leaves), len(data))
    total = compressed = 0
    for group, height in zip(groups, rows, strict=True):
        columns = _list(group, 1)
        if len(columns) != len(leaves):
            raise DamagedParquetError("a row group has other columns than the schema")
        for column, flat in zip(columns, leaves, strict=True):
            chunk = _chunk(_struct(column), end)
            if flat and chunk.values != height:
                raise DamagedParquetError(
                    "the number of values of a column is not the number of rows"
                )
            compressed += chunk.end - chunk.start
            if compressed > len(data):
                # The same pages again and again would take forever.
                raise DamagedParquetError("its columns overlap")
            total += sum(_pages(data, chunk))
            check_size(total, len(data))


@dataclass(frozen=True)
class _Chunk:
    """Where the pages of a column stand, and how many values they have."""

    start: int
    end: int
    values: int


def _footer(data: memoryview) -> tuple[Struct, int]:
    """Read what stands at the end of a file, and say where it begins."""
    if len(data) < 12 or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise DamagedParquetError("it does not begin and end as Parquet does")
    size = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - size
    if start < 4:
        raise DamagedParquetError("its footer is larger than the file")
    return _Thrift(data[:-8]).struct(start)[0], start


def _leaves(footer: Struct) -> list[bool]:
    """Return for each leaf column whether it has one value per row."""
    schema = [_struct(element) for element in _list(footer, 2)]
    found: list[bool] = []

    def below(place: int, flat: bool, depth: int) -> int:
        if place >= len(schema) or depth > _DEEPEST:
            raise DamagedParquetError("its schema has other columns than it declares")
        flat = flat and schema[place].get(3) != _REPEATED
        children = _children(schema[place])
        if depth and not children:
            found.append(flat)
        place += 1
        for _ in range(children):
            place = below(place, flat, depth + 1)
        return place

    if below(0, True, 0) != len(schema):
        raise DamagedParquetError("its schema has other columns than it declares")
    return found


def _children(element: Struct) -> int:
    return _count(element, 5, "columns") if 5 in element else 0


def _chunk(column: Struct, end: int) -> _Chunk:
    if 1 in column:
        raise DamagedParquetError("a column is in another file")
    about = _struct(column.get(3))
    starts = [_count(about, 9, "bytes")]
    if about.get(11):
        starts.append(_count(about, 11, "bytes"))
    chunk = _Chunk(min(starts), min(starts) + _count(about, 7, "bytes"), _count(about, 5, "values"))
    if chunk.values and (chunk.start < len(_MAGIC) or chunk.end > end):
        raise DamagedParquetError("a column lies outside the file")
    return chunk


def _pages(data: memoryview, chunk: _Chunk) -> Iterator[int]:
    """Yield the decompressed size of each page of a column."""
    reader = _Thrift(data[: chunk.end])
    place, left = chunk.start, chunk.values
    while left > 0:
        if place >= chunk.end:
            raise DamagedParquetError("a column has fewer values than it declares")
        page, place = reader.struct(place)
        size = _count(page, 3, "bytes")
        if place + size > chunk.end:
            raise DamagedParquetError("a page is larger than its column")
        crc = page.get(4)
        # It may be written as a negative number.
        if isinstance(crc, int) and zlib.crc32(data[place : place + size]) != crc % (1 << 32):
            raise DamagedParquetError("a page does not match its checksum")
        kind = _count(page, 1, "kind of a page")
        values = 0
        if kind != _INDEX:
            values = _count(_struct(page.get(_COUNTED_IN.get(kind, -1))), 1, "values")
        if kind in (_DATA, _DATA_2):
            left -= values
        place += size
        yield _count(page, 2, "bytes")
    if left:
        raise DamagedParquetError("a column has more values than it declares")


def _struct(value: Any) -> Struct:
    if not isinstance(value, dict):
        raise DamagedParquetError("a part of its footer or of a page's head is missing")
    return value


def _list(struct: Struct, field: int) -> list[Any]:
    found = struct.get(field)
    if not isinstance(found, list):
        raise DamagedParquetError("a part of its footer is missing")
    return found


def _count(struct: Struct, field: int, what: str) -> int:
    found = struct.get(field)
    if not isinstance(found, int) or found < 0:
        raise DamagedParquetError(f"a number is missing or negative: {what}")
    return found


class _Thrift:
    """The compact protocol of Thrift: structs as dicts by the numbers of their fields."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._end = len(data)

    def struct(self, place: int, depth: int = 0) -> tuple[Struct, int]:
        """Read a struct; also return where it ends."""
        if depth > _DEEPEST:
            raise DamagedParquetError("its footer is nested too deeply")
        found: Struct = {}
        field = 0
        while True:
            head = self._byte(place)
            place += 1
            if not head:
                return found, place
            if head >> 4:
                field += head >> 4
            else:
                field, place = self._signed(place)
            if head & 15 in (1, 2):
                found[field] = head & 15 == 1
            else:
                found[field], place = self._value(head & 15, place, depth)

    def _byte(self, place: int) -> int:
        if place >= self._end:
            raise DamagedParquetError("its footer or a page header is truncated")
        return self._data[place]

    def _unsigned(self, place: int) -> tuple[int, int]:
        found = shift = 0
        while True:
            byte = self._byte(place)
            place += 1
            found |= (byte & 127) << shift
            if byte < 128:
                return found, place
            shift += 7
            if shift > 63:
                raise DamagedParquetError(
                    "an integer in its footer or in a page header is longer than 64 bits"
                )

    def _signed(self, place: int) -> tuple[int, int]:
        found, place = self._unsigned(place)
        return (found >> 1) ^ -(found & 1), place

    def _piece(self, place: int, size: int) -> tuple[memoryview, int]:
        if place + size > self._end:
            raise DamagedParquetError("its footer or a page header is truncated")
        return self._data[place : place + size], place + size

    def _value(self, kind: int, place: int, depth: int) -> tuple[Any, int]:
        if kind in (1, 2, 3):
            return self._byte(place), place + 1
        if kind in (4, 5, 6):
            return self._signed(place)
        if kind in (7, 13):
            return self._piece(place, 8 if kind == 7 else 16)
        if kind == 8:
            size, place = self._unsigned(place)
            return self._piece(place, size)
        if kind in (9, 10):
            return self._many(place, depth)
        if kind == 12:
            return self.struct(place, depth + 1)
        # Parquet has no maps.
        raise DamagedParquetError("its footer or a page's head has a field of unknown type")

    def _many(self, place: int, depth: int) -> tuple[list[Any], int]:
        head = self._byte(place)
        place += 1
        size, kind = head >> 4, head & 15
        if size == 15:
            size, place = self._unsigned(place)
        if depth > _DEEPEST or size > self._end - place:
            raise DamagedParquetError("a list in its footer is longer than the file")
        found = []
        for _ in range(size):
            value, place = self._value(kind, place, depth + 1)
            found.append(value)
        return found, place
