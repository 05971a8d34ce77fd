"""Checks of Parquet files before they are read.

Polars trusts the sizes and counts in a file, and may end the process if they are far off. So the
footer and the page headers are read here, in the compact protocol of Thrift, and compared with the
file and with each other; pages are compared with their checksums, which Polars ignores.
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
"""Seconds without output after which no other thread is expected to panic."""


class _HeldStderr:
    """Hold back the standard error of the process while a thread reads a file."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._stderr = -1
        self._file: IO[bytes] | None = None
        self._panicked = False

    def begin(self) -> None:
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            self._panicked = False
            # There may be no standard error, and no room for a file.
            with contextlib.suppress(OSError):
                self._stderr = os.dup(2)
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
                os.dup2(self._file.fileno(), 2)

    def end(self, *, panicked: bool) -> None:
        with self._lock:
            self._users -= 1
            self._panicked |= panicked
            if self._users:
                return
            if self._file is not None:
                if self._panicked:
                    _await_silence(self._file)
                os.dup2(self._stderr, 2)
                with self._file as file:
                    file.seek(0)
                    text = b"" if self._panicked else file.read()
                while text:
                    text = text[os.write(2, text) :]
            if self._stderr >= 0:
                os.close(self._stderr)
            self._stderr, self._file = -1, None


def _await_silence(file: IO[bytes]) -> None:
    """Wait until nothing more is written: other threads panic a little later."""
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
"""By kind of page, the field with its specific header, whose field 1 is the number of values."""

_VALUE_SIZE = 8
"""Approximate bytes of a value in memory."""

Struct = dict[int, Any]


class DamagedParquetError(Exception):
    """Raised for an inconsistent Parquet file; the message gives the reason."""


def check_parquet(data: memoryview) -> None:
    """Refuse a file with inconsistent sizes, counts or checksums, or with a large content."""
    footer, end = _footer(data)
    leaves = _leaves(footer)
    groups = [_struct(group) for group in _list(footer, 4)]
    rows = [_count(group, 3, "rows") for group in groups]
    if sum(rows) != _count(footer, 3, "rows"):
        raise DamagedParquetError(
            "the number of rows in its footer is not the sum of its row groups"
        )
    check_size(_VALUE_SIZE * sum(rows) * len(leaves), len(data))
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
                # Pages that occur repeatedly would take forever.
                raise DamagedParquetError("its columns overlap")
            total += sum(_pages(data, chunk))
            check_size(total, len(data))


@dataclass(frozen=True)
class _Chunk:
    """Byte range of the pages of a column, and their number of values."""

    start: int
    end: int
    values: int


def _footer(data: memoryview) -> tuple[Struct, int]:
    """Read the footer of a file; return it with its start."""
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
    leaves: list[bool] = []

    def walk(place: int, flat: bool, depth: int) -> int:
        if place >= len(schema) or depth > _DEEPEST:
            raise DamagedParquetError("its schema has other columns than it declares")
        flat = flat and schema[place].get(3) != _REPEATED
        children = _children(schema[place])
        if depth and not children:
            leaves.append(flat)
        place += 1
        for _ in range(children):
            place = walk(place, flat, depth + 1)
        return place

    if walk(0, True, 0) != len(schema):
        raise DamagedParquetError("its schema has other columns than it declares")
    return leaves


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
    place, n_missing = chunk.start, chunk.values
    while n_missing > 0:
        if place >= chunk.end:
            raise DamagedParquetError("a column has fewer values than it declares")
        page, place = reader.struct(place)
        size = _count(page, 3, "bytes")
        if place + size > chunk.end:
            raise DamagedParquetError("a page is larger than its column")
        crc = page.get(4)
        # The checksum may be a negative number.
        if isinstance(crc, int) and zlib.crc32(data[place : place + size]) != crc % (1 << 32):
            raise DamagedParquetError("a page does not match its checksum")
        kind = _count(page, 1, "kind of a page")
        values = 0
        if kind != _INDEX:
            values = _count(_struct(page.get(_COUNTED_IN.get(kind, -1))), 1, "values")
        if kind in (_DATA, _DATA_2):
            n_missing -= values
        place += size
        yield _count(page, 2, "bytes")
    if n_missing:
        raise DamagedParquetError("a column has more values than it declares")


def _struct(value: Any) -> Struct:
    if not isinstance(value, dict):
        raise DamagedParquetError("a part of its footer or of a page's head is missing")
    return value


def _list(struct: Struct, field: int) -> list[Any]:
    values = struct.get(field)
    if not isinstance(values, list):
        raise DamagedParquetError("a part of its footer is missing")
    return values


def _count(struct: Struct, field: int, unit: str) -> int:
    count = struct.get(field)
    if not isinstance(count, int) or count < 0:
        raise DamagedParquetError(f"a number is missing or negative: {unit}")
    return count


class _Thrift:
    """The compact protocol of Thrift: structs as dicts by the numbers of their fields."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._end = len(data)

    def struct(self, place: int, depth: int = 0) -> tuple[Struct, int]:
        """Read a struct; also return where it ends."""
        if depth > _DEEPEST:
            raise DamagedParquetError("its footer is nested too deeply")
        fields: Struct = {}
        field = 0
        while True:
            head = self._byte(place)
            place += 1
            if not head:
                return fields, place
            if head >> 4:
                field += head >> 4
            else:
                field, place = self._signed(place)
            if head & 15 in (1, 2):
                fields[field] = head & 15 == 1
            else:
                fields[field], place = self._value(head & 15, place, depth)

    def _byte(self, place: int) -> int:
        if place >= self._end:
            raise DamagedParquetError("its footer or a page header is truncated")
        return self._data[place]

    def _unsigned(self, place: int) -> tuple[int, int]:
        number = shift = 0
        while True:
            byte = self._byte(place)
            place += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number, place
            shift += 7
            if shift > 63:
                raise DamagedParquetError(
                    "an integer in its footer or in a page header is longer than 64 bits"
                )

    def _signed(self, place: int) -> tuple[int, int]:
        number, place = self._unsigned(place)
        return (number >> 1) ^ -(number & 1), place

    def _bytes(self, place: int, size: int) -> tuple[memoryview, int]:
        if place + size > self._end:
            raise DamagedParquetError("its footer or a page header is truncated")
        return self._data[place : place + size], place + size

    def _value(self, kind: int, place: int, depth: int) -> tuple[Any, int]:
        if kind in (1, 2, 3):
            return self._byte(place), place + 1
        if kind in (4, 5, 6):
            return self._signed(place)
        if kind in (7, 13):
            return self._bytes(place, 8 if kind == 7 else 16)
        if kind == 8:
            size, place = self._unsigned(place)
            return self._bytes(place, size)
        if kind in (9, 10):
            return self._values(place, depth)
        if kind == 12:
            return self.struct(place, depth + 1)
        # Parquet has no maps.
        raise DamagedParquetError("its footer or a page's head has a field of unknown type")

    def _values(self, place: int, depth: int) -> tuple[list[Any], int]:
        head = self._byte(place)
        place += 1
        size, kind = head >> 4, head & 15
        if size == 15:
            size, place = self._unsigned(place)
        if depth > _DEEPEST or size > self._end - place:
            raise DamagedParquetError("a list in its footer is longer than the file")
        values = []
        for _ in range(size):
            value, place = self._value(kind, place, depth + 1)
            values.append(value)
        return values, place
