"""What files are told by: the SHA-256 of their bytes."""

from __future__ import annotations

import hashlib
from os import PathLike, fspath
from pathlib import Path

from cranfield.base.errors import InputError


def file_sha256(path: str | PathLike[str]) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits; what cannot be read is an error."""
    source = Path(fspath(path))
    try:
        with source.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise InputError("is missing", source=str(source)) from error
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"cannot be read: {reason}", source=str(source)) from error
