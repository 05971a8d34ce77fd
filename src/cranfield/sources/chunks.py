"""Sources of bytes, read as chunks of whole lines, and the line of each row of a table."""

from __future__ import annotations

import mmap
import os
import sys
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BufferedReader, BytesIO, FileIO
from operator import itemgetter
from os import PathLike, fspath
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import (
    CranfieldError,
    InputError,
    PolicyError,
    get_system_reason,
    quote,
    warn,
)
from cranfield.base.text import list_some
from cranfield.sources.archives import (
    DAMAGE_ERRORS,
    BeyondLimitError,
    check_beginning,
    check_limit,
    check_line,
    get_file_of_url,
    get_remote_size,
    hide_credentials,
    identify_archive,
    is_url,
    open_decompressed,
    open_url,
    read_limit,
)

CHUNK_BYTES = 4 << 20
"""Bytes parsed at a time in a thread, enough to make the overhead negligible."""

CHUNKS_AT_ONCE = 4
"""Number of chunks that a single thread reads at a time."""

FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
"""Formats with named columns, by suffix."""

_COMPRESSION_SUFFIXES = {".gz", ".bz2", ".xz", ".zst"}

_COMPRESSION_RATIO = 10
"""Approximate ratio of decompressed to compressed size."""


SAVE_WORKBOOK = "save the sheet as CSV"
"""Advice on spreadsheets; readers of lines replace it by their own advice."""


@dataclass(frozen=True)
class Source:
    """One file to read: a path, a URL that fsspec supports, or standard input for `-`.

    path, folder: a relative path starts from `folder`, by default the working directory.
    encoding: encoding of text files.
    content: the whole file, if it is in memory.
    chunks: remaining chunks of the file, if its beginning has been read.
    label: name of the file in messages, by default its path.
    """

    path: str
    folder: str = field(default="", kw_only=True)
    encoding: str = field(default="utf-8", kw_only=True)
    content: bytes | None = field(default=None, kw_only=True, repr=False)
    chunks: Iterator[bytes] | None = field(default=None, kw_only=True, repr=False, compare=False)
    label: str = field(default="", kw_only=True)

    @classmethod
    def from_path(cls, data: str | PathLike[str]) -> Source:
        return data if isinstance(data, Source) else Source(fspath(data))

    def __fspath__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        return self.label or ("standard input" if self.path == "-" else hide_credentials(self.path))

    def _get_content_path(self) -> Path:
        path = Path(get_file_of_url(self.path))
        return path.with_suffix("") if path.suffix.lower() in _COMPRESSION_SUFFIXES else path

    @property
    def stem(self) -> str:
        """File name without folder, compression suffix and format suffix; always valid Unicode."""
        if self.path == "-":
            return "stdin"
        try:
            stem = self._get_content_path().stem
            return stem.encode(errors="surrogateescape").decode(errors="replace")
        except UnicodeEncodeError:
            # No file has this name; opening it raises the error.
            return "run"

    @property
    def suffix(self) -> str:
        """Suffix of the format in lower case, without compression suffix."""
        return "" if self.path == "-" else self._get_content_path().suffix.lower()

    @property
    def size(self) -> int:
        """Approximate decompressed size in bytes; 0 if unknown."""
        try:
            path = Path(self.folder, self.path)
            size = get_remote_size(self.path) if is_url(self.path) else path.stat().st_size
        except (OSError, ValueError):
            return 0
        suffix = Path(get_file_of_url(self.path)).suffix.lower()
        is_compressed = suffix in _COMPRESSION_SUFFIXES or suffix == ".parquet"
        return size * _COMPRESSION_RATIO if is_compressed else size

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open for reading, decompressed; raise an InputError if the file cannot be read."""
        if self.content is not None:
            yield BytesIO(self.content)
            return
        with self.open_raw() as raw:
            stream = open_decompressed(raw)
            kind, names = identify_archive(stream)
            if kind == "workbook":
                raise InputError(f"is a spreadsheet workbook; {SAVE_WORKBOOK}", source=self.name)
            if kind:
                archive = f"a {kind} archive of files"
                archive += f" ({list_some(map(quote, names), 3)})" if names else ""
                advice = "extract it, and pass the folder or its files"
                raise InputError(f"is {archive}; {advice}", source=self.name)
            yield stream

    @contextmanager
    def open_raw(self) -> Iterator[IO[bytes]]:
        """Open without decompression; raise an InputError if the file cannot be read."""
        try:
            if is_url(self.path):
                with open_url(self.path) as raw:
                    yield raw
            elif self.path != "-":
                with Path(self.folder, self.path).open("rb") as raw:
                    yield raw
            elif sys.stdin is None:
                raise InputError("is closed", source=self.name)
            else:
                yield sys.stdin.buffer
        except Exception as error:
            if isinstance(error, BeyondLimitError):
                reason = error.reason
            elif isinstance(error, CranfieldError):
                raise
            elif type(error).__name__ in DAMAGE_ERRORS:
                reason = f"the compressed data are truncated or damaged: {error}"
            elif isinstance(error, OSError):
                reason = f"cannot be read: {get_system_reason(error)}"
            elif isinstance(error, UnicodeEncodeError):
                reason = "cannot be read: the file name is not valid text"
            elif isinstance(error, ValueError) and "\0" in self.path:
                reason = "cannot be read: file names cannot contain a null character"
            else:
                raise
            raise InputError(reason, source=self.name) from error

    def read(self) -> bytes:
        """Return the whole content; text in another encoding is converted to UTF-8."""
        if self.chunks is not None:
            return self.as_utf8(b"".join(self.chunks))
        max_bytes = read_limit("CRANFIELD_MAX_BLANK")
        with self.open() as stream:
            content = stream.read(max_bytes)
            check_beginning(content)
            if len(content) == max_bytes:
                has_lines = self.suffix in {".csv", ".tsv", ".jsonl", ".ndjson"}
                content = _read_tail(content, stream) if has_lines else content + stream.read()
        return content if is_utf8(self.encoding) else self.as_utf8(content.removeprefix(BOM_UTF8))

    def as_utf8(self, text: bytes, first_line: int = 1) -> bytes:
        """Return lines of the file in UTF-8; raise an error for an invalid line."""
        if text.isascii():
            return text
        if (position := (b"\n" + text).find(b"\n" + BOM_UTF8)) >= 0:
            reason = "begins with a byte order mark, as in concatenated files; remove it"
        else:
            try:
                decoded = text.decode(self.encoding)
            except UnicodeDecodeError as error:
                position = error.start
                reason = (
                    f"byte 0x{text[position]:02x} is not valid {self.encoding.upper()} text;"
                    " encoding='latin-1' reads any bytes"
                )
            else:
                return text if is_utf8(self.encoding) else decoded.encode()
        line = first_line + text.count(b"\n", 0, position)
        raise InputError(reason, source=self.name, line=line)

    def with_encoding(self, encoding: str, form: str) -> Source:
        """Return the file with another encoding; warn for Parquet, which has none."""
        if form == "parquet" and not is_utf8(encoding):
            warn(f"{self.name}: encoding has no effect on Parquet")
            return self
        return replace(self, encoding=encoding)

    def map_content(self) -> memoryview:
        """Return the content of a local file without decompression, read lazily."""
        with self.open_raw() as file:
            if not os.fstat(file.fileno()).st_size:
                raise InputError("is empty", source=self.name)
            # The map is not closed here, as the traceback of an error may still refer to it.
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def iterate_chunks(self, size: int | None = None) -> Generator[bytes, None, None]:
        """Yield the content in chunks of whole lines, without a byte order mark."""
        if self.chunks is not None:
            yield from self.chunks
            return
        with self.open() as stream:
            is_first, max_size = True, read_limit("CRANFIELD_MAX_LINE")
            while data := stream.read(_extend_to_line_end(stream, size or CHUNK_BYTES, max_size)):
                end_of_line = b"" if data.endswith(b"\n") else stream.readline(max_size)
                if len(end_of_line) == max_size and not end_of_line.endswith(b"\n"):
                    if self.suffix != ".json":
                        check_line(len(data) + max_size)
                    # JSON may be a single long line.
                    check_beginning(data + end_of_line)
                    end_of_line += stream.readline()
                chunk = data + end_of_line if end_of_line else data
                if is_first:
                    if chunk.startswith((b"\xff\xfe", b"\xfe\xff")):
                        reason = "is UTF-16 text; save it as UTF-8"
                        raise InputError(reason, source=self.name, line=1)
                    chunk = chunk.removeprefix(BOM_UTF8)
                    is_first = False
                    if b"\r" in chunk and b"\n" not in chunk:
                        # Lines ended by a lone carriage return would look like one long line.
                        chunk = chunk.replace(b"\r", b"\n")
                yield chunk


def _extend_to_line_end(stream: IO[bytes], size: int, max_size: int) -> int:
    """Return `size`, extended to the end of the line if the stream is a file.

    A chunk that ends with a line end need not be copied to append the rest of its last line.
    """
    is_file = isinstance(stream, BufferedReader) and isinstance(stream.raw, FileIO)
    if not (is_file and stream.seekable()):
        return size
    start = stream.tell()
    stream.seek(start + size)
    end_of_line = stream.readline(max_size)
    stream.seek(start)
    return size + len(end_of_line) if end_of_line.endswith(b"\n") else size


def _read_tail(head: bytes, stream: IO[bytes]) -> bytes:
    """Return the head with the remaining content; refuse a line beyond the limit."""
    content, line_size, data = bytearray(), 0, head
    while data:
        content += data
        end = data.rfind(b"\n") + 1
        line_size = len(data) - end + (0 if end else line_size)
        check_line(line_size)
        data = stream.read(len(head))
    return bytes(content)


def check_skipped(size: int, name: str) -> None:
    """Refuse a file with more bytes of consecutive blank lines and comments than the limit."""
    reason = "has more than {} bytes of consecutive blank lines and comments"
    check_limit("CRANFIELD_MAX_BLANK", size, reason, name)


def is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in {"utf-8", "utf8"}


def check_encoding(encoding: str) -> None:
    """Refuse unknown encodings, and encodings without single bytes for blanks and line ends."""
    try:
        is_supported = "\n \t09".encode(encoding) == b"\n \t09"
    except (LookupError, ValueError, TypeError):
        is_supported = False
    if not is_supported:
        raise PolicyError(
            f"encoding {quote(encoding)} is not supported; use another encoding, such as utf-8"
        )


class LineMap(Sequence[int]):
    """Line numbers of rows; a chunk stores its first line, and other lines only if needed."""

    def __init__(self) -> None:
        self._n_rows = 0
        # The first row, the first line, and the lines of all rows if some lines have no row.
        self._chunks: list[tuple[int, int, NDArray[np.int64] | None]] = []

    def add(self, n_rows: int, first_line: int, row_lines: NDArray[np.int64] | None = None) -> None:
        """Add a chunk of rows; `row_lines` are their lines, relative to the first line."""
        self._chunks.append((self._n_rows, first_line, row_lines))
        self._n_rows += n_rows

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, row: int) -> int:  # type: ignore[override]
        """Return the line of a row; rows count from 0, lines from 1."""
        if row >= self._n_rows:
            raise IndexError(row)
        chunk = bisect_right(self._chunks, row, key=itemgetter(0)) - 1
        start, first_line, row_lines = self._chunks[chunk]
        return first_line + (row - start if row_lines is None else int(row_lines[row - start]))


@dataclass(frozen=True)
class Origin:
    """Source of a table, for messages about its rows."""

    name: str
    lines: Sequence[int] | NDArray[np.int64] | None = None

    def make_row_error(
        self, row: int, reason: str, topic: str | None, doc: str | None
    ) -> InputError:
        """Return an error with the line, topic and document of a row."""
        return InputError(reason, source=self.name, line=self.get_line(row), topic=topic, doc=doc)

    def get_line(self, row: int) -> int | None:
        """Return the line of a row, or None for sources without lines (a dict, a data frame)."""
        return None if self.lines is None else int(self.lines[row])
