"""Files of finished parts: tables that say what they belong to, and whether they are whole."""

from __future__ import annotations

import hashlib
import json
import re
from io import BytesIO

import polars as pl

from cranfield.base.errors import InputError

_KEY = "cranfield part"
_OPEN = "0" * 64
_SEAL = re.compile(rb'"sha256": "([0-9a-f]{64})"\}')


def sealed(part: pl.DataFrame, study: str, name: str) -> bytes:
    """Return a part as Parquet; its metadata hold its study, its name, and a hash of all of it.

    The hash is that of the bytes in which the hash itself is zeros.
    """
    about = json.dumps({"study": study, "part": name, "sha256": _OPEN})
    out = BytesIO()
    part.write_parquet(out, metadata={_KEY: about})
    data = out.getvalue()
    start = _place(data)
    return _with(data, start, hashlib.sha256(data).hexdigest().encode())


def unsealed(data: bytes, study: str, name: str) -> pl.DataFrame:
    """Return the part that a file holds; anything but this part, as it was written, is an error."""
    start = _place(data)
    if start < 0:
        raise InputError("has no checksum, or a damaged one")
    found = hashlib.sha256(_with(data, start, _OPEN.encode())).hexdigest().encode()
    if found != data[start : start + len(_OPEN)]:
        raise InputError("is damaged: it is not what its checksum says")
    about = json.loads(pl.read_parquet_metadata(BytesIO(data))[_KEY])
    if about["study"] != study:
        raise InputError("is of another study")
    if about["part"] != name:
        raise InputError(f"is part {about['part']} under another name")
    return pl.read_parquet(BytesIO(data))


def _place(data: bytes) -> int:
    """Return where the hash begins, or -1: metadata stand at the end, behind all values."""
    places = [one.start(1) for one in _SEAL.finditer(data)]
    return places[-1] if places else -1


def _with(data: bytes, start: int, digest: bytes) -> bytes:
    return data[:start] + digest + data[start + len(digest) :]
