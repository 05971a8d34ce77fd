"""SipHash-2-4 of many strings at once: a keyed hash that is the same everywhere, for ever.

The hashes of Python and polars change with the version, the machine or the process. They serve to
look things up, and nothing that is kept may depend on them.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.collection.keys import Keys

_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)

_BLOCK = 1 << 16
"""Strings hashed at a time, so that memory stays bounded."""


def siphash(texts: pl.Series, key: tuple[int, int]) -> Keys:
    r"""Hash each string's UTF-8 bytes under a key of 128 bits, given as two halves.

    A string is cut into words \(m\) of 8 bytes, little-endian, the last one filled up with zeros
    and with the string's length in its highest byte. Four words of state go through two rounds a
    word, and four rounds at the end:

    .. math:: v_3 \leftarrow v_3 \oplus m, \quad \mathrm{round}^2, \quad
        v_0 \leftarrow v_0 \oplus m; \qquad v_2 \leftarrow v_2 \oplus 255, \quad
        \mathrm{round}^4, \quad h = v_0 \oplus v_1 \oplus v_2 \oplus v_3

    Source: Aumasson and Bernstein (2012), SipHash: a fast short-input PRF.
    """
    out = np.empty(len(texts), dtype=np.uint64)
    for start in range(0, len(texts), _BLOCK):
        part = texts.slice(start, _BLOCK)
        # One string of all strings gives their bytes without a Python object for each.
        data = np.frombuffer(str(part.str.join("").item()).encode() + bytes(8), dtype=np.uint8)
        lengths = part.str.len_bytes().to_numpy().astype(np.int64)
        out[start : start + _BLOCK] = _hashes(data, lengths, key)
    return out


def _hashes(data: NDArray[np.uint8], lengths: NDArray[np.int64], key: tuple[int, int]) -> Keys:
    """Hash strings that stand one after the other, those of equally many words at a time."""
    begins = np.cumsum(lengths) - lengths
    # A word begins at each byte.
    words = np.ndarray((data.size - 7,), dtype="<u8", buffer=data.data, strides=(1,))
    whole = lengths // 8
    out = np.empty(lengths.size, dtype=np.uint64)
    for number in np.flatnonzero(np.bincount(whole)).tolist():
        rows = np.flatnonzero(whole == number)
        at, length = begins[rows], lengths[rows]
        state = [
            np.full(rows.size, word ^ key[half % 2], dtype=np.uint64)
            for half, word in enumerate(_START)
        ]
        for _ in range(number):
            _absorb(state, words[at].astype(np.uint64, copy=False))
            at = at + 8
        rest = (length % 8).astype(np.uint64) * np.uint64(8)
        # What belongs to the next string is cut off.
        last = words[at] & ((np.uint64(1) << rest) - np.uint64(1))
        _absorb(state, last | ((length & 255).astype(np.uint64) << np.uint64(56)))
        state[2] ^= np.uint64(255)
        for _ in range(4):
            _round(state)
        out[rows] = state[0] ^ state[1] ^ state[2] ^ state[3]
    return out


def _absorb(state: list[Keys], word: Keys) -> None:
    state[3] ^= word
    _round(state)
    _round(state)
    state[0] ^= word


def _round(state: list[Keys]) -> None:
    a, b, c, d = state
    _mix(a, b, 13)
    _mix(c, d, 16)
    _turn(a, 32)
    _mix(a, d, 21)
    _mix(c, b, 17)
    _turn(c, 32)


def _mix(a: Keys, b: Keys, bits: int) -> None:
    a += b
    _turn(b, bits)
    b ^= a


def _turn(word: Keys, bits: int) -> None:
    over = word >> np.uint64(64 - bits)
    word <<= np.uint64(bits)
    word |= over
