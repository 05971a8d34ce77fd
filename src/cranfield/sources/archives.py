"""Unpacking of archives, told by their first bytes and not by their names; packing by suffix."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import PurePath
from typing import IO, Any, cast

from cranfield.sources.limits import bounded

_SIZE = 1 << 18
_TAR_AT = 257
_PASSED = 1 << 24
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")

DAMAGED = {"BadGzipFile", "EOFError", "LZMAError", "ZstdError", "error", "DamagedError"}
"""Names of what the unpackers raise; `error` is zlib's. Their modules are loaded when needed."""


class DamagedError(Exception):
    """An archive that goes on with something else than another archive."""


def unpacked(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream of the content, unpacked if it begins like an archive."""
    if not isinstance(raw, io.BufferedReader):
        raw = io.BufferedReader(cast("io.RawIOBase", raw))
    unpack = _unpacker(raw.peek(10)[:10])
    return raw if unpack is None else bounded(raw, unpack)


def _unpacker(head: bytes) -> Callable[[IO[bytes]], IO[bytes]] | None:
    """Choose what unpacks a file that begins so; None for one that is no archive."""
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
    return _zstd().ZstdFile if head.startswith(b"\x28\xb5\x2f\xfd") else None


def bundle(stream: IO[bytes]) -> str:
    """Say which kind of archive of several files a stream begins like; empty if like none."""
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
    """One or more packed streams in a row, to the very end, which readers of Python ignore."""

    def __init__(self, raw: IO[bytes], make: Callable[[], Any]) -> None:
        self._raw = raw
        self._make = make
        self._unpacker = make()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with some of the content; 0 at the end."""
        while True:
            data = b""
            if self._unpacker.eof:
                data = self._unpacker.unused_data or self._raw.read(_SIZE)
                while data and not data.strip(b"\0"):
                    # xz pads its streams with zeros.
                    data = self._raw.read(_SIZE)
                if not data:
                    return 0
                self._unpacker = self._make()
                data = data.lstrip(b"\0")
            elif self._unpacker.needs_input:
                data = self._raw.read(_SIZE)
                if not data:
                    raise EOFError("the file ends before the end of the archive")
            try:
                content = self._unpacker.decompress(data, len(buffer))
            except OSError as error:
                raise DamagedError(str(error)) from error
            if content:
                buffer[: len(content)] = content
                return len(content)


def packed(data: bytes, path: str) -> bytes:
    """Pack what goes into a file; as it is, where the suffix is none of `.gz`, `.bz2` and such."""
    packer = packer_for(path)
    return data if packer is None else packer(data)


def packer_for(path: str) -> Callable[[bytes], bytes] | None:
    """Find what packs a file of this name."""
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
