"""Locations of files: patterns, URLs, compressed archives."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable
from glob import glob, has_magic
from pathlib import Path, PurePath
from typing import IO, Any, TypeVar, cast

from cranfield.base.errors import (
    CranfieldError,
    InputError,
    MissingDependencyError,
    PolicyError,
    optional_module,
    quoted,
)

_BUFFER = 1 << 18

LIMITS = {
    "CRANFIELD_MAX_RATIO": 200,
    "CRANFIELD_MAX_LINE": 64 << 20,
    "CRANFIELD_MAX_BLANK": 16 << 20,
    "CRANFIELD_MAX_PARTS": 2_000_000,
}
"""The limits, by the variable of the environment that changes each.

Maximum ratio of decompressed to compressed size (text of runs becomes five to
twenty times larger); the bytes of a line; of blanks and zeros that a file may begin with where it
is read as a whole, and of blank lines and comments in a row; the objects of JSON and elements of
XML, which take far more memory than their text.
"""

_ALWAYS_ALLOWED = 32 << 20
"""Bytes up to which a small archive may become as large as it likes."""


class BeyondLimitError(Exception):
    """There is more than is read; the text says what helps."""


def limit(name: str) -> int:
    """Return a limit: what the environment says, or the usual one."""
    given = os.environ.get(name)
    if given is None:
        return LIMITS[name]
    if not (given.isascii() and given.isdigit() and 0 < len(given) <= 18 and int(given) > 0):
        raise PolicyError(f"{name} must be a positive integer, got {quoted(given)}")
    return int(given)


def beyond(what: str, name: str) -> BeyondLimitError:
    """Return the error for input beyond a limit."""
    return BeyondLimitError(f"{what}; {name} sets the limit")


class _Counted(io.RawIOBase):
    """A stream that counts the bytes that were read of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = cast("io.BufferedIOBase", stream)
        self.read_so_far = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.readinto(buffer)
        self.read_so_far += count
        return count


class _Bounded(io.BufferedIOBase):
    """The content of an archive, unbuffered; it ends with an error where it is too large."""

    def __init__(self, stream: IO[bytes], compressed: _Counted) -> None:
        self._stream = cast("io.BufferedIOBase", stream)
        self._compressed = compressed
        self._most = limit("CRANFIELD_MAX_RATIO")
        self._so_far = 0

    def readable(self) -> bool:
        return True

    def peek(self, size: int = 0) -> bytes:
        return cast("io.BufferedReader", self._stream).peek(size)

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_ALWAYS_ALLOWED), b""))
        return self._within(self._stream.read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._within(self._stream.read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._within(self._stream.readline(size))

    def _within(self, data: bytes) -> bytes:
        self._so_far += len(data)
        check_size(self._so_far, self._compressed.read_so_far, self._most)
        return data


def check_size(size: int, compressed_size: int, most: int | None = None) -> None:
    """Refuse a decompressed size beyond the limit for this compressed size."""
    most = most or limit("CRANFIELD_MAX_RATIO")
    if size > max(_ALWAYS_ALLOWED, most * compressed_size):
        said = f"holds more than {most} times its size when decompressed"
        raise beyond(said, "CRANFIELD_MAX_RATIO")


def bounded(raw: IO[bytes], decompress: Callable[[IO[bytes]], IO[bytes]]) -> IO[bytes]:
    """Return the content of an archive, with its limit."""
    count = _Counted(raw)
    content = decompress(io.BufferedReader(count, _BUFFER))
    return cast("IO[bytes]", _Bounded(content, count))


def check_line(size: int, longest: int) -> None:
    """Refuse a line of so many bytes that is longer than the limit."""
    if size > longest:
        raise beyond(f"has a line of more than {longest:,} bytes", "CRANFIELD_MAX_LINE")


def check_parts(text: str | bytes, sign: Any) -> None:
    """Refuse JSON of too many objects, or XML of too many elements, by the sign they begin with."""
    most = limit("CRANFIELD_MAX_PARTS")
    # Most text is short.
    if len(text) > most and text.count(sign) > most:
        raise beyond(f"has more than {most:,} objects or elements", "CRANFIELD_MAX_PARTS")


def check_beginning(head: bytes) -> None:
    """Refuse what begins with nothing but blanks and zeros, as many as the limit."""
    most = limit("CRANFIELD_MAX_BLANK")
    if len(head) >= most and not head[:most].strip(b"\0 \t\r\n"):
        raise beyond(f"begins with {most:,} bytes of blanks and zeros", "CRANFIELD_MAX_BLANK")


_LONGEST = 4096
"""What is longer than any path would take minutes as a pattern."""


def matches(path: str) -> list[str] | None:
    """Return the files and folders that match a pattern, by name; None if it is not a pattern.

    Examples
    --------
    >>> matches("runs/bm25.gz") is None, matches("no/such/*.gz")
    (True, [])
    """
    if len(path) > _LONGEST or not has_magic(path) or asks(Path.exists, path):
        return None
    # Path.glob takes no absolute pattern.
    return sorted(glob(path, recursive=True))  # noqa: PTH207


def asks(test: Callable[[Path], bool], path: str | Path) -> bool:
    """Ask about a path; what cannot even be a path, or be reached, is nothing."""
    try:
        return test(Path(path))
    except (OSError, ValueError):
        return False


# Of a drive of Windows there is one letter.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::[^/]+)?://")
_SECRET = re.compile(r"(?<=://)[^/@:]*:[^/@]*@")
_BLOCK = 1 << 20
"""Bytes requested at a time."""

Answer = TypeVar("Answer")


def is_url(path: str) -> bool:
    """Return True if a path has a scheme, such as `s3://`, and is not the name of a local file."""
    return "://" in path and _URL.match(path) is not None and not asks(Path.exists, path)


def shown(path: str) -> str:
    """Return a path as messages show it: without the password of a URL."""
    return _SECRET.sub("", path) if "@" in path else path


def path_of(path: str) -> str:
    """Return what of a URL names a file: neither a query, nor the archive that it is in."""
    if "://" not in path or not is_url(path):
        return path
    url = next(part for part in path.split("::") if "://" in part)
    return re.split("[?#]", url)[0] if url.startswith("http") else url


def opened(url: str) -> IO[bytes]:
    """Open a file elsewhere; what goes wrong, then or later, is an InputError of it."""
    system, path = _system(url)
    file = _asked(url, lambda: system.open(path, "rb"))
    return io.BufferedReader(_Remote(url, file, system), _BLOCK)


def size_of(url: str) -> int:
    """Bytes of a file elsewhere; 0 where that is not known."""
    try:
        system, path = _system(url)
        return int(_asked(url, lambda: system.size(path)) or 0)
    except CranfieldError:
        return 0


def listed(url: str, *, pattern: bool) -> list[str] | None:
    """List the files of a folder elsewhere, or those of a pattern; None for a file."""
    system, path = _system(url)
    # What the web lists of a page are its links.
    if "http" in ((system.protocol,) if isinstance(system.protocol, str) else system.protocol):
        return None

    def found() -> list[str] | None:
        if pattern:
            names = [name for name, about in system.glob(path, detail=True).items() if _file(about)]
        elif not system.isdir(path):
            return None
        else:
            names = [about["name"] for about in system.ls(path, detail=True) if _file(about)]
            names = [name for name in names if not name.rpartition("/")[2].startswith(".")]
        return sorted(str(system.unstrip_protocol(name)) for name in names)

    return _asked(url, found)


def _file(about: Any) -> bool:
    return bool(about["type"] == "file")


class _Remote(io.RawIOBase):
    """The bytes of a file elsewhere; a connection that is lost is said as what it is."""

    def __init__(self, url: str, file: Any, system: Any) -> None:
        self._url = url
        self._file = file
        # An archive would be closed with its file system.
        self._system = system

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with some of the content; 0 at the end."""
        data = _asked(self._url, lambda: self._file.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _system(url: str) -> tuple[Any, str]:
    """Find the file system of a URL, and the path in it."""
    user, extra = f"{shown(url)}: reading it", "'cranfield[remote]'"
    fsspec = optional_module("fsspec", install=extra, user=user)
    found: tuple[Any, str] = _asked(url, lambda: fsspec.core.url_to_fs(url))
    return found


def _asked(url: str, question: Callable[[], Answer]) -> Answer:
    """Ask fsspec, whose file systems raise whatever their libraries do."""
    try:
        return question()
    except CranfieldError:
        raise
    except ImportError as error:
        raise MissingDependencyError(f"{shown(url)}: {_line(error)}") from error
    except FileNotFoundError as error:
        raise _wrong(url, os.strerror(errno.ENOENT)) from error
    except PermissionError as error:
        raise _wrong(url, os.strerror(errno.EACCES)) from error
    except Exception as error:
        raise _wrong(url, _line(error) or type(error).__name__) from error


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _wrong(url: str, reason: str) -> InputError:
    return InputError(f"cannot be read: {reason[:1].lower()}{reason[1:]}", source=shown(url))


_SIZE = 1 << 18
_TAR_AT = 257
_PASSED = 1 << 24
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
"""A frame of Zstandard without content, which any archive of it may begin with."""

DAMAGED = {"BadGzipFile", "EOFError", "LZMAError", "ZstdError", "error", "DamagedError"}
"""Names of the exceptions of decompressors; `error` is zlib's. Modules are loaded lazily."""


class DamagedError(Exception):
    """An archive that goes on with something else than another archive."""


def decompressed(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream of the content, decompressed if it begins like an archive."""
    if not isinstance(raw, io.BufferedReader):
        raw = io.BufferedReader(cast("io.RawIOBase", raw))
    decompress = _decompressor(raw.peek(10)[:10])
    return raw if decompress is None else bounded(raw, decompress)


def _decompressor(head: bytes) -> Callable[[IO[bytes]], IO[bytes]] | None:
    """Return the decompressor of a file by its first bytes; None if it is not compressed."""
    if head.startswith(b"\x1f\x8b"):
        import gzip

        return lambda raw: cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    # 'BZh' alone could begin a topic.
    if head[:3] == b"BZh" and head[4:10] in _BZIP2_BLOCKS:
        import bz2

        return lambda raw: io.BufferedReader(_Streams(raw, bz2.BZ2Decompressor), _SIZE)
    if head.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lambda raw: io.BufferedReader(_Streams(raw, lzma.LZMADecompressor), _SIZE)
    zstd = head.startswith(b"\x28\xb5\x2f\xfd") or _SKIPPABLE.match(head) is not None
    return _zstd().ZstdFile if zstd else None


def bundle(stream: IO[bytes]) -> str:
    """Return the kind of archive of several files that a stream begins with, or an empty string."""
    head = stream.peek(_TAR_AT + 5)[: _TAR_AT + 5]  # type: ignore[attr-defined]
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    return "tar" if head[_TAR_AT:] == b"ustar" else ""


def members(stream: IO[bytes], kind: str, most: int = 3) -> list[str]:
    """Name the first files in an archive, and one more if there are more; none in doubt."""
    found: list[str] = []
    try:
        if kind == "zip":
            from zipfile import ZipFile

            with ZipFile(stream) as archive:
                return [name for name in archive.namelist() if name[-1:] != "/"][: most + 1]
        import tarfile

        with tarfile.open(fileobj=stream, mode="r|") as files:
            for file in files:
                if file.isfile():
                    found.append(file.name)
                if len(found) > most or file.size > _PASSED:
                    break
    except Exception:  # The archive may be damaged in any way; that it is one is said.
        return found
    return found


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


class _Streams(io.RawIOBase):
    """One or more compressed streams in a row, to the very end, which readers of Python ignore."""

    def __init__(self, raw: IO[bytes], make: Callable[[], Any]) -> None:
        self._raw = raw
        self._make = make
        self._decompressor = make()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with some of the content; 0 at the end."""
        while True:
            data = b""
            if self._decompressor.eof:
                data = self._decompressor.unused_data or self._raw.read(_SIZE)
                while data and not data.strip(b"\0"):
                    # xz pads its streams with zeros.
                    data = self._raw.read(_SIZE)
                if not data:
                    return 0
                self._decompressor = self._make()
                data = data.lstrip(b"\0")
            elif self._decompressor.needs_input:
                data = self._raw.read(_SIZE)
                if not data:
                    raise EOFError("the file ends before the end of the archive")
            try:
                content = self._decompressor.decompress(data, len(buffer))
            except OSError as error:
                raise DamagedError(str(error)) from error
            if content:
                buffer[: len(content)] = content
                return len(content)


def compressed(data: bytes, path: str) -> bytes:
    """Compress the output by the suffix `.gz`, `.bz2` and such; unchanged for others."""
    compressor = compressor_for(path)
    return data if compressor is None else compressor(data)


def compressor_for(path: str) -> Callable[[bytes], bytes] | None:
    """Return the compressor for a file of this name."""
    suffix = PurePath(path).suffix.lower()
    if suffix == ".gz":
        import gzip

        # No time stamp, so that the same run gives the same bytes.
        return lambda data: gzip.compress(data, mtime=0)
    if suffix == ".bz2":
        import bz2

        return bz2.compress
    if suffix == ".xz":
        import lzma

        return lzma.compress
    if suffix == ".zst":
        return cast("Callable[[bytes], bytes]", _zstd().compress)
    return None
