"""Write files and folders atomically."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import IO

from cranfield.base.errors import InputError, PolicyError, make_file_error, quote

_MAX_LINKS = 40  # maximum number of symbolic links to follow, as on Linux

_STREAM_PATH = re.compile(r"/(?:dev|proc/self|proc/\d+)/fd/(\d+)")


@contextmanager
def open_atomically(
    path: str | PathLike[str],
    *,
    is_private: bool = False,
    is_synced: bool = False,
    keeps_existing: bool = False,
) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing, and rename it to `path` when it is complete.

    With `is_private`, only the owner can read the file. With `is_synced`, the file survives a power
    failure after the end of the context. With `keeps_existing`, an existing file or link is kept,
    if the file system has hard links. With any of these, a link at `path` is not followed; without
    them, its target is written. Standard streams, pipes and devices are written directly.
    """
    target = Path(fspath(path))
    temporary_name = descriptor = None
    try:
        if not (is_private or is_synced or keeps_existing):
            target, descriptor = _follow_links(target)
        if descriptor is not None:
            sys.stdout.flush()
            file: IO[bytes] = os.fdopen(os.dup(descriptor), "wb")
        elif target.exists() and not target.is_file():
            file = target.open("wb")
        else:
            prefix = f".{target.name[:40]}."
            descriptor, temporary_name = tempfile.mkstemp(prefix=prefix, dir=target.parent)
            file = os.fdopen(descriptor, "wb")
    except (OSError, ValueError) as error:
        # The name may be too long, or contain a null character.
        raise make_file_error(error, "written", target) from error
    try:
        with file:
            yield file
            if is_synced:
                file.flush()
                os.fsync(file.fileno())
        if temporary_name is not None and not is_private:
            # mkstemp creates files that only their owner can read.
            Path(temporary_name).chmod(0o666 & ~_read_umask())
        if temporary_name is not None:
            _rename(Path(temporary_name), target, keeps_existing=keeps_existing)
            if is_synced:
                sync_folder(target.parent)
    except OSError as error:
        raise make_file_error(error, "written", target) from error
    finally:
        if temporary_name is not None:
            Path(temporary_name).unlink(missing_ok=True)


def _follow_links(path: Path) -> tuple[Path, int | None]:
    """Follow links; also return the descriptor of a stream such as `/dev/stdout`, or None."""
    for _ in range(_MAX_LINKS):
        if not path.is_symlink():
            break
        stream = _STREAM_PATH.fullmatch(str(path))
        if stream:
            return path, int(stream[1])
        path = path.parent / path.readlink()
    return path, None


@contextmanager
def create_atomically(
    path: str | PathLike[str], *, is_private: bool = False, is_synced: bool = False
) -> Iterator[Path]:
    """Yield a temporary folder; at the end, rename it to `path`, which must be new or empty."""
    try:
        target = Path(fspath(path)).resolve()
        is_occupied = target.exists() and not (target.is_dir() and not any(target.iterdir()))
        if not is_occupied:
            temporary = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.", dir=target.parent))
    except (OSError, ValueError) as error:
        raise make_file_error(error, "created", fspath(path)) from error
    if is_occupied:
        raise PolicyError(f"{quote(path)} already exists and is not an empty folder")
    try:
        yield temporary
        if not is_private:
            temporary.chmod(0o777 & ~_read_umask())
        if target.exists():
            target.rmdir()
        temporary.replace(target)
        if is_synced:
            sync_folder(target.parent)
    except OSError as error:
        raise make_file_error(error, "created", fspath(path)) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Write the entries of a folder to the disk, on systems that can open folders (not Windows)."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _rename(temporary: Path, target: Path, *, keeps_existing: bool) -> None:
    if keeps_existing:
        try:
            target.hardlink_to(temporary)
            return
        except FileExistsError:
            return
        except (OSError, NotImplementedError):
            pass  # The file system has no hard links.
    temporary.replace(target)


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, unless they exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        # A null character in the name raises a ValueError.
        raise make_file_error(error, "created", folder) from error


def hash_file(path: str | PathLike[str]) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    source = Path(fspath(path))
    try:
        with source.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise InputError("is missing", source=str(source)) from error
    except (OSError, ValueError) as error:
        raise make_file_error(error, "read", source) from error
