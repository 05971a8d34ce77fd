"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import IO

from cranfield.base.errors import InputError


@contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name only when it is complete.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "x") as out:
    ...     _ = out.write(b"done")
    >>> (folder / "x").read_bytes()
    b'done'
    """
    target = Path(fspath(path))
    try:
        special = target.exists() and not target.is_file()
    except (OSError, ValueError) as error:
        # Names that are too long, or that hold a NUL.
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"cannot be written: {reason}", source=str(target)) from error
    if special:
        # A pipe or a device is written to as it is; nothing can take its place.
        try:
            with target.open("wb") as out:
                yield out
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot be written: {reason}", source=str(target)) from error
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"cannot be written: {reason}", source=str(target)) from error
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
        # mkstemp makes files that only their owner reads; a result is an ordinary file.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot be written: {reason}", source=str(target)) from error
        raise
