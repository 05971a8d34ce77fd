"""Find, open and decompress files, local or remote, within limits of their size."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from glob import glob, has_magic
from importlib import import_module
from pathlib import Path, PurePath
from typing import IO, Any, TypeVar, cast

from cranfield.base.errors import (
    CranfieldError,
    InputError,
    MissingDependencyError,
    PolicyError,
    import_optional,
    quote,
)

_BUFFER = 1 << 18

LIMITS = {
    "CRANFIELD_MAX_RATIO": 200,
    "CRANFIELD_MAX_LINE": 64 << 20,
    "CRANFIELD_MAX_BLANK": 16 << 20,
    "CRANFIELD_MAX_PARTS": 2_000_000,
}
"""Default limits, by the environment variable that sets the limit.

`RATIO` limits the ratio of decompressed to compressed size, which is 5 to 20 for runs. `LINE`
limits the number of bytes of a line, except in JSON files. `BLANK` limits the number of blanks and
zero bytes at the beginning of a file that is read as a whole, and of bytes of consecutive blank
lines and comments. `PARTS` limits the numbers of JSON objects, of JSON arrays and of XML tags,
which take far more memory than their text.
"""

_ALWAYS_ALLOWED = 32 << 20
"""Decompressed size, in bytes, up to which any ratio is accepted."""


class BeyondLimitError(InputError):
    """Raised for input beyond a limit; the message names the variable that sets the limit."""

    def __init__(self, reason: str, variable: str = "", **location: Any) -> None:
        text = f"{reason}; {variable} sets the limit" if variable else reason
        super().__init__(text, **location)


def read_limit(name: str) -> int:
    """Return a limit from the environment, or its default."""
    text = os.environ.get(name)
    if text is None:
        return LIMITS[name]
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 18 and int(text) > 0):
        raise PolicyError(f"{name} must be an integer > 0 (at most 18 digits), got {quote(text)}")
    return int(text)


class _Stream(io.RawIOBase):
    """Raw stream that reads from a function, which returns at most the requested number of bytes.

    read: the function; it returns no bytes at the end.
    owner: an object that must live as long as the stream.
    """

    def __init__(
        self,
        read: Callable[[int], bytes],
        close: Callable[[], None] = lambda: None,
        owner: object = None,
    ) -> None:
        self._read, self._close, self._owner = read, close, owner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into the buffer; return their number, 0 at the end."""
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._close()
        super().close()


def check_size(size: int, compressed_size: int, max_ratio: int | None = None) -> None:
    """Refuse a decompressed size beyond the limit for this compressed size."""
    max_ratio = max_ratio or read_limit("CRANFIELD_MAX_RATIO")
    if size > max(_ALWAYS_ALLOWED, max_ratio * compressed_size):
        reason = f"decompresses to more than {max_ratio} times its size"
        raise BeyondLimitError(reason, "CRANFIELD_MAX_RATIO")


def limit_ratio(raw: IO[bytes], decompress: Callable[[IO[bytes]], IO[bytes]]) -> IO[bytes]:
    """Return a stream of the content of a compressed file, limited by the maximum ratio."""
    max_ratio = read_limit("CRANFIELD_MAX_RATIO")
    size = compressed_size = 0

    def read_raw(n_bytes: int) -> bytes:
        nonlocal compressed_size
        data = raw.read(n_bytes)
        compressed_size += len(data)
        return data

    content = decompress(io.BufferedReader(_Stream(read_raw), _BUFFER))

    def read(n_bytes: int) -> bytes:
        nonlocal size
        # One block at a time, so that the content before any damage is read.
        data: bytes = content.read1(n_bytes)  # type: ignore[attr-defined]
        size += len(data)
        check_size(size, compressed_size, max_ratio)
        return data

    return io.BufferedReader(_Stream(read), _BUFFER)


def check_limit(name: str, size: int, reason: str, source: str | None = None) -> None:
    """Refuse a size beyond a limit; `{}` in the reason is replaced by the limit."""
    maximum = read_limit(name)
    if size > maximum:
        raise BeyondLimitError(reason.format(f"{maximum:,}"), name, source=source)


def check_line(size: int) -> None:
    """Refuse a line of too many bytes."""
    check_limit("CRANFIELD_MAX_LINE", size, "has a line of more than {} bytes")


def check_parts(text: str | bytes, source: str, *openings: Any) -> None:
    """Refuse text with too many of one of the openings: of JSON objects and arrays, or XML tags."""
    # Most text is too short, and need not be counted.
    for opening in openings if len(text) > read_limit("CRANFIELD_MAX_PARTS") else ():
        reason = "has more than {} JSON objects, JSON arrays or XML tags"
        check_limit("CRANFIELD_MAX_PARTS", text.count(opening), reason, source)


def check_beginning(head: bytes) -> None:
    """Refuse content whose leading blanks and zeros reach the limit."""
    max_size = read_limit("CRANFIELD_MAX_BLANK")
    if len(head) >= max_size and not head[:max_size].strip(b"\0 \t\r\n"):
        raise BeyondLimitError(
            f"begins with {max_size:,} bytes of blanks or zeros; the file may be damaged",
            "CRANFIELD_MAX_BLANK",
        )


_MAX_PATTERN_LENGTH = 4096
"""Maximum length of a pattern; paths are shorter, and longer patterns take minutes to match."""


def match_files(path: str) -> list[str] | None:
    """Return the sorted files and folders that match a pattern; None for other paths.

    Examples
    --------
    >>> match_files("runs/bm25.gz") is None, match_files("no/such/*.gz")
    (True, [])
    """
    if len(path) > _MAX_PATTERN_LENGTH or not has_magic(path) or check_path(Path.exists, path):
        return None
    # Path.glob does not support absolute patterns.
    return sorted(glob(path, recursive=True))  # noqa: PTH207


def check_path(test: Callable[[Path], bool], path: str | Path) -> bool:
    """Return the result of a test of a path; False if the path is invalid or inaccessible."""
    try:
        return test(Path(path))
    except (OSError, ValueError):
        return False


# A scheme has at least two letters, as a Windows drive has one.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::[^/]+)?://")
_CREDENTIALS = re.compile(r"(?<=://)[^/@:]*:[^/@]*@")
_BLOCK = 1 << 20
"""Number of bytes requested at a time."""

T = TypeVar("T")


def is_url(path: str) -> bool:
    """Return True if a path has a scheme, such as `s3://`, and is not the name of a local file."""
    return "://" in path and _URL.match(path) is not None and not check_path(Path.exists, path)


def hide_credentials(path: str) -> str:
    """Return a path for messages, without the user and password of a URL."""
    return _CREDENTIALS.sub("", path) if "@" in path else path


def get_file_of_url(path: str) -> str:
    """Return the part of a URL that names a file, without the query or an enclosing archive."""
    if "://" not in path or not is_url(path):
        return path
    url = next(part for part in path.split("::") if "://" in part)
    return re.split("[?#]", url)[0] if url.startswith("http") else url


def open_url(url: str) -> IO[bytes]:
    """Open a remote file; raise a CranfieldError if it cannot be opened, or read later."""
    file_system, path = _find_file_system(url)
    file = _call_fsspec(url, lambda: file_system.open(path, "rb"))
    # An archive is closed when its file system is deleted.
    stream = _Stream(
        lambda size: _call_fsspec(url, lambda: file.read(size)), file.close, owner=file_system
    )
    return io.BufferedReader(stream, _BLOCK)


def get_remote_size(url: str) -> int:
    """Return the number of bytes of a remote file; 0 if unknown."""
    try:
        file_system, path = _find_file_system(url)
        return int(_call_fsspec(url, lambda: file_system.size(path)) or 0)
    except CranfieldError:
        return 0


def list_files(url: str, *, is_pattern: bool) -> list[str] | None:
    """List the files of a remote folder or pattern; return None for a file, and over HTTP."""
    file_system, path = _find_file_system(url)
    protocol = file_system.protocol
    # Over HTTP, fsspec would list the links of an HTML page.
    if "http" in ((protocol,) if isinstance(protocol, str) else protocol):
        return None

    def list_names() -> list[str] | None:
        if is_pattern:
            infos = file_system.glob(path, detail=True)
            names = [name for name, info in infos.items() if info["type"] == "file"]
        elif not file_system.isdir(path):
            return None
        else:
            infos = file_system.ls(path, detail=True)
            names = [info["name"] for info in infos if info["type"] == "file"]
            names = [name for name in names if not name.rpartition("/")[2].startswith(".")]
        return sorted(str(file_system.unstrip_protocol(name)) for name in names)

    return _call_fsspec(url, list_names)


def _find_file_system(url: str) -> tuple[Any, str]:
    fsspec = import_optional(
        "fsspec", install="'cranfield[remote]'", purpose=f"reading {hide_credentials(url)}"
    )
    location: tuple[Any, str] = _call_fsspec(url, lambda: fsspec.core.url_to_fs(url))
    return location


def _call_fsspec(url: str, function: Callable[[], T]) -> T:
    """Call a function of fsspec; raise an error of any library as a CranfieldError."""
    try:
        return function()
    except CranfieldError:
        raise
    except ImportError as error:
        reason = str(error).strip().partition("\n")[0]
        raise MissingDependencyError(f"{hide_credentials(url)}: {reason}") from error
    except Exception as error:
        cause: Exception = error
        if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, OSError):
            # Over HTTP, fsspec also raises this error if the server cannot be reached.
            cause = error.__cause__
        reason = str(cause).strip().partition("\n")[0] or type(cause).__name__
        if isinstance(cause, FileNotFoundError | PermissionError):
            is_missing = isinstance(cause, FileNotFoundError)
            reason = os.strerror(errno.ENOENT if is_missing else errno.EACCES)
        reason = f"cannot be read: {reason[:1].lower()}{reason[1:]}"
        raise InputError(reason, source=hide_credentials(url)) from error


_TAR_MAGIC_OFFSET = 257
_MAX_NAMES = 3  # maximum number of file names in a message about an archive
_MAX_SKIPPED_BYTES = 1 << 24  # maximum size of a file in a tar archive whose data are skipped
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")
_SKIPPABLE_FRAME = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
"""Magic number of a skippable frame of Zstandard, which may precede any frame."""

DAMAGE_ERRORS = {"BadGzipFile", "EOFError", "LZMAError", "ZstdError", "error", "DamagedError"}
"""Names of exceptions of decompressors (`error` is of zlib), whose modules are loaded lazily."""


class DamagedError(Exception):
    """Raised for invalid data in or after compressed data."""


def open_decompressed(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream of the content, decompressed if it begins like a compressed file."""
    if not isinstance(raw, io.BufferedReader):
        raw = io.BufferedReader(cast("io.RawIOBase", raw))
    decompress = _find_decompressor(raw.peek(10)[:10])
    return raw if decompress is None else limit_ratio(raw, decompress)


def _find_decompressor(head: bytes) -> Callable[[IO[bytes]], IO[bytes]] | None:
    """Return the decompressor of a file by its first bytes; None if it is not compressed."""
    if head.startswith(b"\x1f\x8b"):
        import gzip

        return lambda raw: cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    # 'BZh' alone could be the beginning of a topic id.
    if head[:3] == b"BZh" and head[4:10] in _BZIP2_BLOCKS:
        import bz2

        return lambda raw: _decompress_streams(raw, bz2.BZ2Decompressor)
    if head.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lambda raw: _decompress_streams(raw, lzma.LZMADecompressor)
    is_zstd = head.startswith(b"\x28\xb5\x2f\xfd") or _SKIPPABLE_FRAME.match(head) is not None
    return _import_zstd().ZstdFile if is_zstd else None


def identify_archive(stream: IO[bytes]) -> tuple[str, list[str]]:
    """Identify an archive of files; return its kind and its first file names.

    The kind is `zip`, `tar`, `workbook` (of Excel or LibreOffice), or empty.
    """
    head = stream.peek(_TAR_MAGIC_OFFSET + 5)[: _TAR_MAGIC_OFFSET + 5]  # type: ignore[attr-defined]
    kind = "tar" if head[_TAR_MAGIC_OFFSET:] == b"ustar" else ""
    kind = "zip" if head.startswith(b"PK\x03\x04") else kind
    names: list[str] = []
    # A damaged archive may be identified without names; the caller refuses all archives.
    with suppress(Exception):
        if kind == "zip":
            from zipfile import ZipFile

            with ZipFile(stream) as archive:
                names = [name for name in archive.namelist() if name[-1:] != "/"]
            if {"xl/workbook.xml", "xl/workbook.bin", "content.xml"} & {*names}:
                kind = "workbook"
        elif kind == "tar":
            import tarfile

            with tarfile.open(fileobj=stream, mode="r|") as files:
                for file in files:
                    if file.isfile():
                        names.append(file.name)
                    if len(names) > _MAX_NAMES or file.size > _MAX_SKIPPED_BYTES:
                        break
    return kind, names[: _MAX_NAMES + 1]


def _import_zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _decompress_streams(raw: IO[bytes], create: Callable[[], Any]) -> IO[bytes]:
    """Decompress concatenated streams; refuse trailing data other than zeros, unlike Python."""
    decompressor = create()

    def read(size: int) -> bytes:
        nonlocal decompressor
        content = b""
        while not content:
            data = b""
            if decompressor.eof:
                data = decompressor.unused_data or raw.read(_BUFFER)
                while data and not data.strip(b"\0"):
                    # Streams of xz may be padded with zeros.
                    data = raw.read(_BUFFER)
                if not data:
                    return b""
                decompressor = create()
                data = data.lstrip(b"\0")
            elif decompressor.needs_input and not (data := raw.read(_BUFFER)):
                raise EOFError("the file ends before the end of the compressed data")
            try:
                content = decompressor.decompress(data, size)
            except OSError as error:
                raise DamagedError(str(error)) from error
        return content

    return io.BufferedReader(_Stream(read), _BUFFER)


def compress_by_suffix(data: bytes, path: str) -> bytes:
    """Compress data if the suffix of a path is that of a compressed file, such as `.gz`."""
    compressor = find_compressor(path)
    return data if compressor is None else compressor(data)


def find_compressor(path: str) -> Callable[[bytes], bytes] | None:
    """Return the compressor for the suffix of a file; None for other suffixes."""
    suffix = PurePath(path).suffix.lower()
    if suffix == ".zst":
        return cast("Callable[[bytes], bytes]", _import_zstd().compress)
    if suffix not in {".gz", ".bz2", ".xz"}:
        return None
    compress = import_module({".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}[suffix]).compress
    # Without a time stamp, equal content gives equal bytes.
    return partial(compress, mtime=0) if suffix == ".gz" else compress
