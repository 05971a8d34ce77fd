"""How much is read of files that hold too much: each limit with the variable that changes it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import IO, Any, cast

from cranfield.base.errors import PolicyError, quoted

_BUFFER = 1 << 18

LIMITS = {
    "CRANFIELD_MAX_RATIO": 200,
    "CRANFIELD_MAX_LINE": 64 << 20,
    "CRANFIELD_MAX_BLANK": 16 << 20,
    "CRANFIELD_MAX_PARTS": 2_000_000,
}
"""The limits, by the variable of the environment that changes each.

How many times larger than the file what is unpacked of it may be (text of runs becomes five to
twenty times larger); the bytes of a line; of blanks and zeros that a file may begin with where it
is read as a whole, and of blank lines and comments in a row; the objects of JSON and elements of
XML, which take far more memory than their text.
"""

_UNPACKED = 32 << 20
"""Bytes up to which a small archive may become as large as it likes."""


class BeyondLimitError(Exception):
    """There is more than is read; the text says what helps."""


def limit(name: str) -> int:
    """Return a limit: what the environment says, or the usual one."""
    given = os.environ.get(name)
    if given is None:
        return LIMITS[name]
    if not (given.isascii() and given.isdigit() and 0 < len(given) <= 18 and int(given) > 0):
        raise PolicyError(f"{name} is {quoted(given)}, which is not a whole number from 1")
    return int(given)


def beyond(what: str, name: str) -> BeyondLimitError:
    """Make the error of what is larger than a limit."""
    return BeyondLimitError(f"{what}; {name} allows more, if that is meant")


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

    def __init__(self, stream: IO[bytes], packed: _Counted) -> None:
        self._stream = cast("io.BufferedIOBase", stream)
        self._packed = packed
        self._most = limit("CRANFIELD_MAX_RATIO")
        self._so_far = 0

    def readable(self) -> bool:
        return True

    def peek(self, size: int = 0) -> bytes:
        return cast("io.BufferedReader", self._stream).peek(size)

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_UNPACKED), b""))
        return self._within(self._stream.read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._within(self._stream.read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._within(self._stream.readline(size))

    def _within(self, data: bytes) -> bytes:
        self._so_far += len(data)
        check_size(self._so_far, self._packed.read_so_far, self._most)
        return data


def check_size(size: int, packed: int, most: int | None = None) -> None:
    """Refuse what becomes so large of so many packed bytes, if that is beyond the limit."""
    most = most or limit("CRANFIELD_MAX_RATIO")
    if size > max(_UNPACKED, most * packed):
        said = f"holds more than {most} times its size when it is unpacked"
        raise beyond(said, "CRANFIELD_MAX_RATIO")


def bounded(raw: IO[bytes], unpack: Callable[[IO[bytes]], IO[bytes]]) -> IO[bytes]:
    """Return the content of an archive, with its limit."""
    count = _Counted(raw)
    content = unpack(io.BufferedReader(count, _BUFFER))
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
