"""Readers that panic: they print pages of text before they raise, which is not to be seen."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from threading import Lock
from typing import IO

import polars as pl

_CALM = 0.1
"""Seconds without a word after which all threads have panicked that will."""


class _Aside:
    """Standard error of the process, put aside as long as a thread needs that."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._plain = -1
        self._kept: IO[bytes] | None = None
        self._panicked = False

    def begin(self) -> None:
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            self._panicked = False
            # There may be no standard error, and no room for a file.
            with contextlib.suppress(OSError):
                self._plain = os.dup(2)
                self._kept = tempfile.TemporaryFile()  # noqa: SIM115
                os.dup2(self._kept.fileno(), 2)

    def end(self, *, panicked: bool) -> None:
        with self._lock:
            self._users -= 1
            self._panicked |= panicked
            if self._users:
                return
            if self._kept is not None:
                if self._panicked:
                    _settled(self._kept)
                os.dup2(self._plain, 2)
                with self._kept as kept:
                    kept.seek(0)
                    said = b"" if self._panicked else kept.read()
                # Others may have written meanwhile.
                while said:
                    said = said[os.write(2, said) :]
            if self._plain >= 0:
                os.close(self._plain)
            self._plain, self._kept = -1, None


def _settled(file: IO[bytes]) -> None:
    """Wait until nothing more is written: other threads panic of the same file, a little later."""
    before = -1
    while (size := os.fstat(file.fileno()).st_size) > before:
        before = size
        time.sleep(_CALM)


_ASIDE = _Aside()


@contextlib.contextmanager
def quiet_panics() -> Iterator[None]:
    """Keep what is written to standard error, and drop it if a panic comes out."""
    _ASIDE.begin()
    panicked = False
    try:
        yield
    except pl.exceptions.PanicException:
        panicked = True
        raise
    finally:
        _ASIDE.end(panicked=panicked)
