"""Packed files, damaged: the right rows or an error, and never half of them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cranfield.base.errors import CranfieldError
from cranfield.collection.files.reading import read_qrels, read_run
from studies.attack.reading.spoil import spoil_bytes, valid_lines
from studies.attack.reading.text import compare, expected
from studies.attack.work.cases import guarded, pick

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}
MAGIC = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\x00", "zst": b"\x28\xb5\x2f\xfd"}


def archive_case(rng: random.Random, folder: Path) -> bool:
    kind = rng.choice(("run", "qrels"))
    suffix = rng.choice(list(PACKERS))
    lines = ["\t".join(fields) + "\n" for fields in valid_lines(rng, kind)]
    cut = rng.randrange(1, len(lines)) if len(lines) > 1 and rng.random() < 0.3 else len(lines)
    parts = ["".join(lines[:cut]).encode(), "".join(lines[cut:]).encode()]
    packed = [PACKERS[suffix](part) for part in parts if part]
    data = b"".join(packed)
    how = pick(rng, whole=1, cut=2, spoil=5, junk=1)
    if how == "cut":
        data = data[: rng.randrange(len(data))]
        if len(packed) > 1 and len(data) == len(packed[0]):
            # A file that ends where a stream ends is whole for all that anyone can tell.
            parts = parts[:1]
    elif how == "spoil":
        for _ in range(rng.choice((1, 1, 2))):
            data = spoil_bytes(rng, data)
    elif how == "junk":
        data += rng.choice((b"\x00" * 8, b"junk", b"\n", PACKERS[suffix](b"")))
    path = folder / f"packed.{kind}.{suffix}"
    path.write_bytes(data)
    reader = read_run if kind == "run" else read_qrels
    text = b"".join(parts)
    reproducer = f"read_{kind} of {path.name} ({how}): {data!r}; whole: {text!r}"
    found = guarded(lambda: reader(str(path)), reproducer)
    if isinstance(found, CranfieldError):
        return False
    wanted = expected(text, kind)
    if not data.startswith(MAGIC[suffix]):
        # With its first bytes gone it is a text, and a strange one.
        wanted = expected(data, kind)
    elif suffix == "zst" and how == "spoil":
        # These frames carry no check sum, so what they unpack to is what they hold.
        with suppress(zstd.ZstdError):
            wanted = expected(zstd.decompress(data), kind)
    if how == "spoil" and data in (packed[0], packed[0] * 2):
        wanted = expected(parts[0] * (len(data) // len(packed[0])), kind)
    if wanted is not None:
        compare(found, wanted, "packed", reproducer)
    return True
