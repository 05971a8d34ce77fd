"""Where bytes come from: files and standard input, read as chunks of whole lines."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cranfield.base.errors import CranfieldError, InputError, PolicyError, quoted
from cranfield.sources.archives import DAMAGED, unpacked

CHUNK = 16 << 20
"""Bytes parsed at a time: large enough to keep two cores busy, small enough to stay in memory."""

FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
"""Formats with named columns, by suffix."""

_SUFFIXES = {".gz", ".bz2", ".xz", ".zst"}


@dataclass(frozen=True)
class Source:
    """One file to read, or standard input for `-`."""

    path: str

    @property
    def name(self) -> str:
        return "standard input" if self.path == "-" else self.path

    def _plain(self) -> Path:
        path = Path(self.path)
        return path.with_suffix("") if path.suffix.lower() in _SUFFIXES else path

    @property
    def stem(self) -> str:
        """File name without folder, archive suffix and format suffix; always proper text."""
        if self.path == "-":
            return "stdin"
        try:
            return self._plain().stem.encode(errors="surrogateescape").decode(errors="replace")
        except UnicodeEncodeError:
            # No file is called so, and this is said when it is opened.
            return "run"

    @property
    def suffix(self) -> str:
        """The suffix that tells the format, lower case, archive suffixes removed."""
        return "" if self.path == "-" else self._plain().suffix.lower()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open for reading, unpacked; what goes wrong comes out as an InputError."""
        try:
            if self.path != "-":
                with Path(self.path).open("rb") as raw:
                    yield unpacked(raw)
            elif sys.stdin is None:
                raise InputError("is closed", source=self.name)
            else:
                yield unpacked(sys.stdin.buffer)
        except CranfieldError:
            raise
        except Exception as error:
            if type(error).__name__ in DAMAGED:
                reason = f"the archive is truncated or damaged: {error}"
            elif isinstance(error, OSError):
                reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
            elif isinstance(error, UnicodeEncodeError):
                reason = "cannot be read: no file has such a name"
            elif isinstance(error, ValueError) and "\0" in self.path:
                reason = "cannot be read: no file name holds a null character"
            else:
                raise
            raise InputError(reason, source=self.name) from error

    def read(self) -> bytes:
        with self.open() as stream:
            return stream.read()

    def chunks(self, size: int | None = None) -> Iterator[bytes]:
        """Yield the content in chunks of whole lines, without a byte order mark."""
        with self.open() as stream:
            first = True
            while data := stream.read(size or CHUNK):
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
        return chunk.removeprefix(codecs.BOM_UTF8)


def check_encoding(encoding: str) -> None:
    """Refuse what is no encoding, or one in which blanks and line ends are not single bytes."""
    try:
        fits = "\n \t09".encode(encoding) == b"\n \t09"
    except (LookupError, ValueError, TypeError):
        fits = False
    if not fits:
        raise PolicyError(f"encoding {quoted(encoding)} is none that TREC text can be in")
