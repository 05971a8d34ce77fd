"""Text as words of eight bytes: ids that are compared, put in order and hashed by array operations.

The bytes of a text are followed by zeros up to the end of its last word, and no text holds a zero:
two texts are the same where their words are.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Indices
from cranfield.collection.keys import ODD, Codes, Keys

Words = tuple[NDArray[np.uint64], ...]
"""The first words of all texts, the second ones, and so on."""

_WIDEST = 8
"""Words of a text, at the most: for longer ones, columns of text take less memory."""

_BLOCK = 1 << 16
"""Ids that are text of Python at a time."""

_BYTES = np.dtype("<u8").itemsize
MASKS = np.array([(1 << 8 * count) - 1 for count in range(_BYTES + 1)], np.uint64)
"""The first bytes of a word, by their number."""

_HALF = np.uint64(32)


def words_of(text: bytes, starts: Indices, ends: Indices) -> Words | None:
    """Cut words out of a text, in order of place; None for ids that are too long."""
    lengths = ends - starts
    most = int(lengths.max(initial=0))
    if most > _WIDEST * _BYTES:
        return None
    return tuple(
        word_at(text, starts + skipped, lengths - skipped)
        for skipped in range(0, max(1, most), _BYTES)
    )


def word_at(text: bytes, starts: Indices, lengths: Indices) -> NDArray[np.uint64]:
    """Cut one word of so many bytes, 0 to 8, out of a text at each place; places rise."""
    if len(text) < _BYTES:
        text += bytes(_BYTES)
    last = len(text) - _BYTES
    every = np.ndarray((last + 1,), "<u8", text, strides=(1,))
    near_end = int(np.searchsorted(starts, last, "right"))
    if near_end == starts.size:
        words = every[starts]
    else:
        words = every[np.minimum(starts, last)]
        missing = np.minimum(starts[near_end:] - last, _BYTES - 1)
        words[near_end:] >>= (8 * missing).astype(np.uint64)
    words &= MASKS.take(lengths, mode="clip")
    return words


def words_of_ids(ids: Iterable[str]) -> Words | None:
    """Turn text into words; None for ids that are too long, or hold zeros or line ends."""
    given = [*ids]
    text = "\0".join(given).encode()
    ends = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == 0), len(text))
    if ends.size != len(given) or b"\n" in text:
        return None
    return words_of(text, np.append(0, ends[:-1] + 1), ends)


def ids_of(words: Words) -> pl.Series:
    """Turn words into a column of text again."""
    rows = words[0].size
    blocks = [
        pl.Series("doc", texts_of(taken(words, slice(start, start + _BLOCK))), dtype=pl.String)
        for start in range(0, max(1, rows), _BLOCK)
    ]
    return pl.concat(blocks)


def texts_of(words: Words) -> list[str]:
    """Turn words into text of Python."""
    ended = np.empty((words[0].size, len(words) + 1), "<u8")
    for place, column in enumerate(words):
        ended[:, place] = column
    ended[:, -1] = ord("\n")
    return ended.tobytes().translate(None, b"\0").decode().split("\n")[:-1]


def taken(words: Words, rows: Indices | slice) -> Words:
    return tuple(column[rows] for column in words)


def equal(some: Words, others: Words) -> Bools:
    """Tell which texts are the same."""
    same = np.ones(some[0].size, dtype=bool)
    for one, other in zip_longest(some, others, fillvalue=np.uint64(0)):
        same &= one == other
    return same


def changes(words: Words) -> Indices:
    """Rows whose text is not that of the row before; not the first one."""
    different = np.zeros(max(0, words[0].size - 1), dtype=bool)
    for column in words:
        different |= column[1:] != column[:-1]
    return np.flatnonzero(different) + 1


def word_keys(docs: Words, codes: Codes, topics: Words) -> Keys:
    """Key of each (topic, document): equal pairs have equal keys, whatever file they come from."""
    keys = _mixed(docs)
    keys ^= (_mixed(topics) * ODD)[codes]
    return keys


def _mixed(words: Words) -> Keys:
    """Make one number of the words of each text."""
    mixed = np.zeros(words[0].size, dtype=np.uint64)
    factor = int(ODD)
    for column in words:
        # Words that are zero change nothing, so that it does not count how many there are.
        mixed += column * np.uint64(factor)
        factor = factor * int(ODD) % (1 << 64)
    mixed ^= mixed >> _HALF
    mixed *= ODD
    return mixed
