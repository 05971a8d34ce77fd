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
"""Default limits, by the environment variable that changes each.

Maximum ratio of decompressed to compressed size (text of runs becomes five to twenty times larger);
maximum bytes of a line; of blanks and zeros at the beginning of a file that is read as a whole, and
of consecutive blank lines and comments; maximum number of JSON objects and XML elements, which take
far more memory than their text.
"""

_ALWAYS_ALLOWED = 32 << 20
"""Decompressed bytes up to which the ratio is not limited."""


class BeyondLimitError(Exception):
    """Raised for input beyond a limit; the message names the setting of the limit."""


def limit(name: str) -> int:
    """Return a limit from the environment, or its default."""
    text = os.environ.get(name)
    if text is None:
        return LIMITS[name]
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 18 and int(text) > 0):
        raise PolicyError(f"{name} must be a positive integer, got {quoted(text)}")
    return int(text)


def limit_error(reason: str, name: str) -> BeyondLimitError:
    return BeyondLimitError(f"{reason}; {name} sets the limit")


class _CountingReader(io.RawIOBase):
    """A stream that counts the bytes read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = cast("io.BufferedIOBase", stream)
        self.n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.readinto(buffer)
        self.n_bytes += count
        return count


class _BoundedReader(io.BufferedIOBase):
    """The content of an archive, unbuffered; raises an error if it is too large."""

    def __init__(self, stream: IO[bytes], compressed: _CountingReader) -> None:
        self._stream = cast("io.BufferedIOBase", stream)
        self._compressed = compressed
        self._max_ratio = limit("CRANFIELD_MAX_RATIO")
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def peek(self, size: int = 0) -> bytes:
        return cast("io.BufferedReader", self._stream).peek(size)

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_ALWAYS_ALLOWED), b""))
        return self._checked(self._stream.read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._checked(self._stream.read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._checked(self._stream.readline(size))

    def _checked(self, data: bytes) -> bytes:
        self._n_bytes += len(data)
        check_size(self._n_bytes, self._compressed.n_bytes, self._max_ratio)
        return data


def check_size(size: int, compressed_size: int, max_ratio: int | None = None) -> None:
    """Refuse a decompressed size beyond the limit for this compressed size."""
    max_ratio = max_ratio or limit("CRANFIELD_MAX_RATIO")
    if size > max(_ALWAYS_ALLOWED, max_ratio * compressed_size):
        reason = f"holds more than {max_ratio} times its size when decompressed"
        raise limit_error(reason, "CRANFIELD_MAX_RATIO")


def bounded(raw: IO[bytes], decompress: Callable[[IO[bytes]], IO[bytes]]) -> IO[bytes]:
    """Return the content of an archive, up to the maximum ratio."""
    counter = _CountingReader(raw)
    content = decompress(io.BufferedReader(counter, _BUFFER))
    return cast("IO[bytes]", _BoundedReader(content, counter))


def check_line(size: int, max_size: int) -> None:
    """Refuse a line of more bytes than the limit."""
    if size > max_size:
        raise limit_error(f"has a line of more than {max_size:,} bytes", "CRANFIELD_MAX_LINE")


def check_parts(text: str | bytes, sign: Any) -> None:
    """Refuse too many JSON objects or XML elements, counted by the sign they begin with."""
    max_parts = limit("CRANFIELD_MAX_PARTS")
    # Most text is short.
    if len(text) > max_parts and text.count(sign) > max_parts:
        raise limit_error(f"has more than {max_parts:,} objects or elements", "CRANFIELD_MAX_PARTS")


def check_beginning(head: bytes) -> None:
    """Refuse content that begins with as many blanks and zeros as the limit."""
    size = limit("CRANFIELD_MAX_BLANK")
    if len(head) >= size and not head[:size].strip(b"\0 \t\r\n"):
        raise limit_error(f"begins with {size:,} bytes of blanks and zeros", "CRANFIELD_MAX_BLANK")


_MAX_PATTERN = 4096
"""Maximum length of a pattern; longer ones would take minutes, and no path is longer."""


def matches(path: str) -> list[str] | None:
    """Return the files and folders that match a pattern, by name; None if it is not a pattern.

    Examples
    --------
    >>> matches("runs/bm25.gz") is None, matches("no/such/*.gz")
    (True, [])
    """
    if len(path) > _MAX_PATTERN or not has_magic(path) or test_path(Path.exists, path):
        return None
    # Path.glob takes no absolute pattern.
    return sorted(glob(path, recursive=True))  # noqa: PTH207


def test_path(test: Callable[[Path], bool], path: str | Path) -> bool:
    """Return the result of a test of a path; False if it is invalid or cannot be reached."""
    try:
        return test(Path(path))
    except (OSError, ValueError):
        return False


# At least two letters: a Windows drive has one.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::[^/]+)?://")
_SECRET = re.compile(r"(?<=://)[^/@:]*:[^/@]*@")
_BLOCK = 1 << 20
"""Bytes requested at a time."""

Answer = TypeVar("Answer")


def is_url(path: str) -> bool:
    """Return True if a path has a scheme, such as `s3://`, and is not the name of a local file."""
    return "://" in path and _URL.match(path) is not None and not test_path(Path.exists, path)


def safe_path(path: str) -> str:
    """Return a path without the user and password of a URL, for messages."""
    return _SECRET.sub("", path) if "@" in path else path


def path_of(path: str) -> str:
    """Return the part of a URL that names a file, without its query and the archive it is in."""
    if "://" not in path or not is_url(path):
        return path
    url = next(part for part in path.split("::") if "://" in part)
    return re.split("[?#]", url)[0] if url.startswith("http") else url


def open_url(url: str) -> IO[bytes]:
    """Open a remote file; errors, also those of later reads, are raised as InputError."""
    system, path = _system(url)
    file = _call(url, lambda: system.open(path, "rb"))
    return io.BufferedReader(_RemoteFile(url, file, system), _BLOCK)


def size_of(url: str) -> int:
    """Return the number of bytes of a remote file; 0 if unknown."""
    try:
        system, path = _system(url)
        return int(_call(url, lambda: system.size(path)) or 0)
    except CranfieldError:
        return 0


def list_files(url: str, *, pattern: bool) -> list[str] | None:
    """List the files of a remote folder, or those that match a pattern; None for a file."""
    system, path = _system(url)
    # Over HTTP, fsspec would list the links of a page.
    if "http" in ((system.protocol,) if isinstance(system.protocol, str) else system.protocol):
        return None

    def list_names() -> list[str] | None:
        if pattern:
            infos = system.glob(path, detail=True)
            names = [name for name, info in infos.items() if _is_file(info)]
        elif not system.isdir(path):
            return None
        else:
            names = [info["name"] for info in system.ls(path, detail=True) if _is_file(info)]
            names = [name for name in names if not name.rpartition("/")[2].startswith(".")]
        return sorted(str(system.unstrip_protocol(name)) for name in names)

    return _call(url, list_names)


def _is_file(info: Any) -> bool:
    return bool(info["type"] == "file")


class _RemoteFile(io.RawIOBase):
    """The bytes of a remote file; a lost connection is raised as InputError."""

    def __init__(self, url: str, file: Any, system: Any) -> None:
        self._url = url
        self._stream = file
        # Without this reference, an archive would be closed with its file system.
        self._system = system

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with some of the content; 0 at the end."""
        data = _call(self._url, lambda: self._stream.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    user, extra = f"{safe_path(url)}: reading it", "'cranfield[remote]'"
    fsspec = optional_module("fsspec", install=extra, user=user)
    location: tuple[Any, str] = _call(url, lambda: fsspec.core.url_to_fs(url))
    return location


def _call(url: str, function: Callable[[], Answer]) -> Answer:
    """Call fsspec, whose file systems raise the errors of any library, as InputError."""
    try:
        return function()
    except CranfieldError:
        raise
    except ImportError as error:
        raise MissingDependencyError(f"{safe_path(url)}: {_line(error)}") from error
    except FileNotFoundError as error:
        raise _wrong(url, os.strerror(errno.ENOENT)) from error
    except PermissionError as error:
        raise _wrong(url, os.strerror(errno.EACCES)) from error
    except Exception as error:
        raise _wrong(url, _line(error) or type(error).__name__) from error


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _wrong(url: str, reason: str) -> InputError:
    return InputError(f"cannot be read: {reason[:1].lower()}{reason[1:]}", source=safe_path(url))


_SIZE = 1 << 18
_TAR_AT = 257
_MAX_SKIPPED = 1 << 24
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
"""Head of a Zstandard frame without content, with which any archive may begin."""

DAMAGED = {"BadGzipFile", "EOFError", "LZMAError", "ZstdError", "error", "DamagedError"}
"""Names of the exceptions of decompressors; `error` is zlib's. Modules are loaded lazily."""


class DamagedError(Exception):
    """Raised if data after an archive is not another archive."""


def decompressed(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream of the content, decompressed if its first bytes are those of an archive."""
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

        return lambda raw: io.BufferedReader(_JoinedStreams(raw, bz2.BZ2Decompressor), _SIZE)
    if head.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lambda raw: io.BufferedReader(_JoinedStreams(raw, lzma.LZMADecompressor), _SIZE)
    zstd = head.startswith(b"\x28\xb5\x2f\xfd") or _SKIPPABLE.match(head) is not None
    return _zstd().ZstdFile if zstd else None


def bundle(stream: IO[bytes]) -> str:
    """Return `zip` or `tar` if a stream begins like such an archive, else an empty string."""
    head = stream.peek(_TAR_AT + 5)[: _TAR_AT + 5]  # type: ignore[attr-defined]
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    return "tar" if head[_TAR_AT:] == b"ustar" else ""


def members(stream: IO[bytes], kind: str, max_names: int = 3) -> list[str]:
    """Return the names of the first files in an archive, and another one if there are more."""
    names: list[str] = []
    try:
        if kind == "zip":
            from zipfile import ZipFile

            with ZipFile(stream) as archive:
                return [name for name in archive.namelist() if name[-1:] != "/"][: max_names + 1]
        import tarfile

        with tarfile.open(fileobj=stream, mode="r|") as files:
            for file in files:
                if file.isfile():
                    names.append(file.name)
                if len(names) > max_names or file.size > _MAX_SKIPPED:
                    break
    except Exception:  # The archive may be damaged in any way; the caller refuses it anyway.
        return names
    return names


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


class _JoinedStreams(io.RawIOBase):
    """Concatenated compressed streams, read to the last byte, unlike with Python's own readers."""

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
    """Compress data by the suffix of its file, such as `.gz`; unchanged for other suffixes."""
    compressor = compressor_for(path)
    return data if compressor is None else compressor(data)


def compressor_for(path: str) -> Callable[[bytes], bytes] | None:
    """Return the compressor for the suffix of a file; None if it has none."""
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
