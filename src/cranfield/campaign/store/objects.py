"""Bytes as they were handed in: files named by their SHA-256, whole or not there."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cranfield.base.digests import file_sha256
from cranfield.base.errors import InputError
from cranfield.base.whole_files import sync_folder, whole_file
from cranfield.campaign.store.layout import OBJECTS, private_folder

CHUNK = 1 << 20


def path(folder: Path, sha256: str) -> Path:
    """Return where the bytes with this hash are, or would be."""
    return folder / OBJECTS / sha256[:2] / sha256


def put(folder: Path, source: Path | bytes) -> tuple[str, int]:
    """Keep bytes, or those of a file, and return their SHA-256 and their number.

    They are on the disk when this returns, and there is no transaction in it: bytes that nobody
    names in the registry afterwards are left-overs.
    """
    if isinstance(source, Path):
        sha256 = file_sha256(source)
        size = source.stat().st_size
    else:
        sha256, size = hashlib.sha256(source).hexdigest(), len(source)
    target = path(folder, sha256)
    if not target.parent.is_dir():
        private_folder(folder / OBJECTS)
        private_folder(target.parent)
        sync_folder(folder / OBJECTS)
    again = hashlib.sha256()
    with whole_file(target, private=True, synced=True) as out:
        if isinstance(source, Path):
            with source.open("rb") as file:
                while piece := file.read(CHUNK):
                    again.update(piece)
                    out.write(piece)
            if again.hexdigest() != sha256:
                raise InputError("changed while it was read", source=str(source))
        else:
            out.write(source)
    return sha256, size


def read(folder: Path, sha256: str) -> bytes:
    """Return kept bytes, after making sure that they are those that were handed in."""
    source = path(folder, sha256)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise InputError("is missing", source=f"{OBJECTS}/{sha256}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise InputError("is not what was handed in", source=f"{OBJECTS}/{sha256}")
    return data
