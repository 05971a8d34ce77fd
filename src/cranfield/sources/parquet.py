"""Checks of Parquet files before they are read.

Polars trusts the sizes and counts in a file, and may crash the process if they are wrong. So the
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
from threading import Lock
from typing import IO, Any, NamedTuple

import polars as pl

from cranfield.base.errors import InputError
from cranfield.sources.archives import check_size

_QUIET_SECONDS = 0.1
"""Seconds without output after which no further thread is expected to panic."""


def _wait_for_silence(file: IO[bytes]) -> None:
    """Wait until nothing more is written to the file, as other threads may panic a little later."""
    previous_size = -1
    while (size := os.fstat(file.fileno()).st_size) > previous_size:
        previous_size = size
        time.sleep(_QUIET_SECONDS)


class _HeldStderr:
    """The standard error of the process, redirected to a file while threads read Parquet."""

    lock = Lock()
    n_users = 0
    stderr = -1
    file: IO[bytes] | None = None
    has_panicked = False


_HELD_STDERR = _HeldStderr()


@contextlib.contextmanager
def quiet_panics() -> Iterator[None]:
    """Redirect standard error within the context; write its text unless polars panics."""
    held = _HELD_STDERR
    with held.lock:
        held.n_users += 1
        if held.n_users == 1:
            held.has_panicked = False
            # There may be no standard error, or no space for a file.
            with contextlib.suppress(OSError):
                held.stderr = os.dup(2)
                held.file = tempfile.TemporaryFile()  # noqa: SIM115
                os.dup2(held.file.fileno(), 2)
    try:
        yield
    except pl.exceptions.PanicException:
        held.has_panicked = True
        raise
    finally:
        with held.lock:
            held.n_users -= 1
            if not held.n_users:
                _restore_stderr(held)


def _restore_stderr(held: _HeldStderr) -> None:
    """Restore standard error, and write the redirected text unless a thread panicked."""
    if held.file is not None:
        if held.has_panicked:
            _wait_for_silence(held.file)
        os.dup2(held.stderr, 2)
        with held.file as file:
            file.seek(0)
            text = b"" if held.has_panicked else file.read()
        while text:
            text = text[os.write(2, text) :]
    if held.stderr >= 0:
        os.close(held.stderr)
    held.stderr, held.file = -1, None


_MAGIC = b"PAR1"
_MAX_DEPTH = 32
_REPEATED = 2  # repetition type of a column with any number of values per row
_DATA, _INDEX, _DICTIONARY, _DATA_2 = range(4)  # types of pages
_HEADER_FIELDS = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}
"""Field with the header of a type of page; field 1 of that header is the number of values."""

_VALUE_SIZE = 8
"""Approximate bytes of a value in memory."""

Struct = dict[int, Any]


class _DamagedError(InputError):
    """Raised for an inconsistent Parquet file; the message gives the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"is not readable Parquet: {reason}")


def check_parquet(data: memoryview) -> None:
    """Refuse a file with inconsistent sizes, counts or checksums, or with too large content."""
    footer, end = _read_footer(data)
    is_flat_leaf = _find_flat_leaves(footer)
    groups = [_as_struct(group) for group in _get_list(footer, 4)]
    heights = [_get_count(group, 3, "rows") for group in groups]
    if sum(heights) != _get_count(footer, 3, "rows"):
        raise _DamagedError("the number of rows in its footer is not the sum of its row groups")
    check_size(_VALUE_SIZE * sum(heights) * len(is_flat_leaf), len(data))
    size = compressed_size = 0
    for group, height in zip(groups, heights, strict=True):
        columns = _get_list(group, 1)
        if len(columns) != len(is_flat_leaf):
            raise _DamagedError("a row group has another number of columns than the schema")
        for column, is_flat in zip(columns, is_flat_leaf, strict=True):
            chunk = _read_column_chunk(_as_struct(column), end)
            if is_flat and chunk.n_values != height:
                got = chunk.n_values
                raise _DamagedError(f"expected {height} values in each column, got {got}")
            compressed_size += chunk.end - chunk.start
            if compressed_size > len(data):
                # Reading repeated pages could take forever.
                raise _DamagedError("its columns overlap")
            size += sum(_read_page_sizes(data, chunk))
            check_size(size, len(data))


class _Chunk(NamedTuple):
    """Byte range of the pages of a column, and their number of values."""

    start: int
    end: int
    n_values: int


def _read_footer(data: memoryview) -> tuple[Struct, int]:
    if len(data) < 12 or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise _DamagedError("it does not begin and end with PAR1")
    size = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - size
    if start < 4:
        raise _DamagedError("its footer is larger than the file")
    return _ThriftReader(data[:-8], start).read_struct(), start


def _find_flat_leaves(footer: Struct) -> list[bool]:
    """Return whether each leaf column has one value per row."""
    schema = [_as_struct(element) for element in _get_list(footer, 2)]
    is_flat_leaf: list[bool] = []

    def walk(position: int, is_flat: bool, depth: int) -> int:
        if depth > _MAX_DEPTH:
            raise _DamagedError("its schema is nested too deeply")
        if position >= len(schema):
            raise _DamagedError("its schema has another number of columns than it declares")
        is_flat = is_flat and schema[position].get(3) != _REPEATED
        children = _get_count(schema[position], 5, "columns") if 5 in schema[position] else 0
        if depth and not children:
            is_flat_leaf.append(is_flat)
        position += 1
        for _ in range(children):
            position = walk(position, is_flat, depth + 1)
        return position

    if walk(0, True, 0) != len(schema):
        raise _DamagedError("its schema has another number of columns than it declares")
    return is_flat_leaf


def _read_column_chunk(column: Struct, end: int) -> _Chunk:
    if 1 in column:
        raise _DamagedError("a column is in another file, which is not supported")
    metadata = _as_struct(column.get(3))
    start = _get_count(metadata, 9, "bytes")
    if metadata.get(11):
        start = min(start, _get_count(metadata, 11, "bytes"))
    size, n_values = _get_count(metadata, 7, "bytes"), _get_count(metadata, 5, "values")
    chunk = _Chunk(start, start + size, n_values)
    if chunk.n_values and (chunk.start < len(_MAGIC) or chunk.end > end):
        raise _DamagedError("a column lies outside the file")
    return chunk


def _read_page_sizes(data: memoryview, chunk: _Chunk) -> Iterator[int]:
    """Yield the decompressed size of each page of a column."""
    reader = _ThriftReader(data[: chunk.end], chunk.start)
    n_remaining = chunk.n_values
    while n_remaining > 0:
        if reader.position >= chunk.end:
            raise _DamagedError("a column has fewer values than its metadata declare")
        page = reader.read_struct()
        start = reader.position
        reader.position += _get_count(page, 3, "bytes")
        if reader.position > chunk.end:
            raise _DamagedError("a page is larger than its column")
        crc = page.get(4)
        # The checksum may be a negative number.
        if isinstance(crc, int) and zlib.crc32(data[start : reader.position]) != crc % (1 << 32):
            raise _DamagedError("a page does not match its checksum")
        page_type = _get_count(page, 1, "type of a page")
        if page_type != _INDEX:
            n_values = _get_count(
                _as_struct(page.get(_HEADER_FIELDS.get(page_type, -1))), 1, "values"
            )
            n_remaining -= n_values if page_type in (_DATA, _DATA_2) else 0
        yield _get_count(page, 2, "bytes")
    if n_remaining:
        raise _DamagedError("a column has more values than its metadata declare")


def _as_struct(value: Any) -> Struct:
    if not isinstance(value, dict):
        raise _DamagedError("a part of its footer or of a page header is missing")
    return value


def _get_list(struct: Struct, field: int) -> list[Any]:
    values = struct.get(field)
    if not isinstance(values, list):
        raise _DamagedError("a part of its footer is missing")
    return values


def _get_count(struct: Struct, field: int, unit: str) -> int:
    count = struct.get(field)
    if not isinstance(count, int) or count < 0:
        raise _DamagedError(
            f"a number in its footer or a page header is missing or negative ({unit})"
        )
    return count


class _ThriftReader:
    """Reader of the compact protocol of Thrift, from a position on.

    Structs are dicts whose keys are field numbers.
    """

    def __init__(self, data: memoryview, position: int) -> None:
        self._data = data
        self.position = position

    def read_struct(self, depth: int = 0) -> Struct:
        if depth > _MAX_DEPTH:
            raise _DamagedError("its footer or a page header is nested too deeply")
        fields: Struct = {}
        field = 0
        while head := self._read_byte():
            field = field + (head >> 4) if head >> 4 else self._read_signed()
            code = head & 15
            fields[field] = code == 1 if code in (1, 2) else self._read_value(code, depth)
        return fields

    def _read_value(self, type_code: int, depth: int) -> Any:
        if type_code in (1, 2, 3):
            return self._read_byte()
        if type_code in (4, 5, 6):
            return self._read_signed()
        if type_code in (7, 8, 13):
            return self._read_bytes({7: 8, 13: 16}.get(type_code) or self._read_unsigned())
        if type_code in (9, 10):
            head = self._read_byte()
            size = head >> 4 if head >> 4 < 15 else self._read_unsigned()
            if depth > _MAX_DEPTH:
                raise _DamagedError("a list in its footer is nested too deeply")
            if size > len(self._data) - self.position:
                raise _DamagedError("a list in its footer is longer than the file")
            return [self._read_value(head & 15, depth + 1) for _ in range(size)]
        if type_code == 12:
            return self.read_struct(depth + 1)
        # The metadata of Parquet files contain no Thrift maps.
        raise _DamagedError("its footer or a page header has a field of unknown type")

    def _read_bytes(self, size: int) -> memoryview:
        end = self.position + size
        if end > len(self._data):
            raise _DamagedError("its footer or a page header is truncated")
        data, self.position = self._data[self.position : end], end
        return data

    def _read_byte(self) -> int:
        return self._read_bytes(1)[0]

    def _read_unsigned(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._read_byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise _DamagedError("an integer in its footer or a page header has more than 64 bits")

    def _read_signed(self) -> int:
        number = self._read_unsigned()
        return (number >> 1) ^ -(number & 1)
