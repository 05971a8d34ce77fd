"""Where bytes come from: files, archives and standard input, read as chunks of whole lines."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from cranfield.errors import InputError

CHUNK = 16 << 20
"""Bytes parsed at a time: large enough to keep two cores busy, small enough to stay in memory."""

_MAGIC = (
    (b"\x1f\x8b", "gz"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zst"),
)
_SUFFIXES = {".gz", ".bz2", ".xz", ".zst", ".lzma"}
_DAMAGED = {"BadGzipFile", "EOFError", "LZMAError", "ZstdError", "error"}
"""Names of what the unpackers raise; `error` is zlib's. Their modules are loaded when needed."""


@dataclass(frozen=True)
class Source:
    """One file to read, or standard input for `-`.

    Examples
    --------
    >>> Source("runs/bm25.run.xz").stem, Source("runs/bm25.run.xz").suffix
    ('bm25', '.run')
    """

    path: str

    @property
    def name(self) -> str:
        """Name to show in messages."""
        return "standard input" if self.path == "-" else self.path

    def _plain(self) -> Path:
        path = Path(self.path)
        return path.with_suffix("") if path.suffix.lower() in _SUFFIXES else path

    @property
    def stem(self) -> str:
        """File name without folder, archive suffix and format suffix."""
        return "stdin" if self.path == "-" else self._plain().stem

    @property
    def suffix(self) -> str:
        """The suffix that tells the format, lower case, archive suffixes removed."""
        return "" if self.path == "-" else self._plain().suffix.lower()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open for reading, unpacked; what goes wrong comes out as an InputError."""
        try:
            if self.path == "-":
                yield _unpacked(sys.stdin.buffer)
            else:
                with Path(self.path).open("rb") as raw:
                    yield _unpacked(raw)
        except Exception as error:
            if type(error).__name__ in _DAMAGED or "ompress" in str(error):
                reason = f"the archive is truncated or damaged: {error}"
            elif isinstance(error, OSError):
                reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
            else:
                raise
            raise InputError(reason, source=self.name) from error

    def read(self) -> bytes:
        """Read everything, unpacked."""
        with self.open() as stream:
            return stream.read()

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """Yield the content in chunks of whole lines, without a byte order mark."""
        with self.open() as stream:
            first = True
            while data := stream.read(size):
                chunk = data if data.endswith(b"\n") else data + stream.readline()
                if first:
                    chunk = self._without_mark(chunk)
                    first = False
                if b"\r" in chunk and b"\n" not in chunk:
                    # Lines ended by a lone carriage return would look like one long line.
                    chunk = chunk.replace(b"\r", b"\n")
                yield chunk

    def _without_mark(self, chunk: bytes) -> bytes:
        if chunk.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError("is UTF-16 text; save it as UTF-8", source=self.name, line=1)
        return chunk.removeprefix(b"\xef\xbb\xbf")


def _unpacked(raw: IO[bytes]) -> IO[bytes]:
    """Look at the first bytes, not at the name, to tell whether and how a file is packed."""
    if not isinstance(raw, io.BufferedReader):
        raw = io.BufferedReader(cast("io.RawIOBase", raw))
    head = raw.peek(8)[:8]
    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if kind == "gz":
        import gzip

        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if kind == "bz2":
        import bz2

        return cast("IO[bytes]", bz2.BZ2File(raw))
    if kind == "xz":
        import lzma

        return cast("IO[bytes]", lzma.LZMAFile(raw))
    return _zstd_open(raw) if kind == "zst" else raw


def _zstd_open(raw: IO[bytes]) -> IO[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return cast("IO[bytes]", zstd.ZstdFile(raw))
