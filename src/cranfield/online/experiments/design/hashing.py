"""Hashes of units: numbers from 0 to 1 that are fixed by a salt and an id."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import md5

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats

SEPARATOR = "\x1f"
"""Between salt and unit, so that `ab` and `c` are not `a` and `bc`."""

FNV_START, FNV_PRIME = np.uint32(0x811C9DC5), np.uint32(0x01000193)


def by_md5(salt: str, units: pl.Series) -> Floats:
    """Hash by MD5 of salt, a unit separator (0x1f) and unit: the first 8 bytes / 2^64."""
    prefix = f"{salt}{SEPARATOR}".encode()
    digests = b"".join([md5(prefix + unit.encode()).digest() for unit in units])
    numbers = np.frombuffer(digests, dtype=">u8")[::2]
    return np.asarray(numbers.astype(np.float64) / 2.0**64)


def by_growthbook_1(salt: str, units: pl.Series) -> Floats:
    """Hash as GrowthBook's kits do in their version 1: unit and salt, in thousandths."""
    return np.asarray((fnv1a(units + salt) % 1000) / 1000)


def by_growthbook_2(salt: str, units: pl.Series) -> Floats:
    """Hash as GrowthBook's kits do in their version 2: salt and unit, twice, in 1/10,000."""
    once = pl.Series(fnv1a(salt + units)).cast(pl.String)
    return np.asarray((fnv1a(once) % 10_000) / 10_000)


HASHES: dict[str, Callable[[str, pl.Series], Floats]] = {
    "md5": by_md5,
    "growthbook-1": by_growthbook_1,
    "growthbook-2": by_growthbook_2,
}
"""Hashes by name."""


def fnv1a(texts: pl.Series) -> NDArray[np.uint32]:
    """Hash texts by FNV-1a of 32 bits over their characters, shape (texts,)."""
    characters = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32)
    lengths = texts.str.len_chars().to_numpy().astype(np.intp)
    starts = np.cumsum(lengths) - lengths
    # The longest first: those that have a character at a place stand together.
    order = np.argsort(-lengths, kind="stable")
    starts, falling = starts[order], -lengths[order]
    found = np.full(lengths.size, FNV_START)
    for place in range(int(lengths.max(initial=0))):
        active = int(np.searchsorted(falling, -place))
        found[:active] = (found[:active] ^ characters[starts[:active] + place]) * FNV_PRIME
    out = np.empty_like(found)
    out[order] = found
    return out
