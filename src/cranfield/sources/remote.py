"""Files that are elsewhere: what a URL names, read through fsspec."""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

from cranfield.base.errors import (
    CranfieldError,
    InputError,
    MissingDependencyError,
    optional_module,
)
from cranfield.sources.patterns import asks

# Of a drive of Windows there is one letter.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::[^/]+)?://")
_SECRET = re.compile(r"(?<=://)[^/@:]*:[^/@]*@")
_BLOCK = 1 << 20
"""Bytes asked for at a time."""

Answer = TypeVar("Answer")


def is_url(path: str) -> bool:
    """Tell whether a path has a scheme, such as `s3://`, and no file here is called so."""
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
    """List the files of a folder elsewhere, or those of a pattern; None for what is a file."""
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
