"""Codes of topics, and 64-bit keys of (topic, document) pairs.

Keys make matching and the search for duplicates fast. Equal keys are verified on the strings, so a
collision costs time, but never changes a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.parallel import state_without_caches
from cranfield.collection.judged.rows import ranges

Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]

HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier for hashing: the odd number next to 2^64 / golden ratio."""


def number_values(values: pl.Series) -> tuple[pl.Series, Codes]:
    """Return the distinct values in order of appearance, and the index of each row's value."""
    segments = values.rle().struct.unnest()
    segment_values, lengths = segments["value"], segments["len"].to_numpy()
    names = segment_values.unique(maintain_order=True)
    if len(names) == len(segment_values):
        codes = np.arange(len(names), dtype=np.int32)
    else:
        numbers = pl.Series(np.arange(len(names), dtype=np.int32))
        codes = segment_values.replace_strict(names, numbers, return_dtype=pl.Int32).to_numpy()
    return names, np.repeat(codes, lengths)


def find_label_positions(names: Sequence[str], labels: Sequence[str]) -> NDArray[np.int64]:
    """Return the position of each name among the labels; -1 for an unknown name."""
    position_of = {label: position for position, label in enumerate(labels)}
    return np.array([position_of.get(name, -1) for name in names], dtype=np.int64)


def pair_keys(docs: pl.Series, codes: Codes, topics: Sequence[str]) -> Keys:
    """Compute the key of each (topic, document) pair; it does not depend on the file."""
    topic_hashes = pl.Series(topics, dtype=pl.String).hash().to_numpy() * HASH_MULTIPLIER
    return np.asarray(docs.hash().to_numpy() ^ topic_hashes[codes])


def find_duplicate(keys: Keys, docs: pl.Series, codes: NDArray[Any]) -> tuple[int, int] | None:
    """Return the two rows of the first duplicate (topic, document) pair, or None."""
    # Polars counts by hash tables, faster than a sort in NumPy.
    if pl.Series(keys).n_unique() == keys.size:
        return None
    rows = pl.Series(keys).is_duplicated().arg_true().to_numpy()
    pairs = pl.DataFrame({"row": rows, "topic": codes[rows], "doc": docs.gather(rows)})
    pairs = pairs.with_columns(first=pl.col("row").min().over("topic", "doc"))
    repeats = pairs.filter(pl.col("row") > pl.col("first")).sort("row")
    return repeats.select("first", "row").row(0) if repeats.height else None


def find_first_rows(keys: Keys, docs: pl.Series, codes: NDArray[Any]) -> Indices:
    """Return the first row with the same (topic, document) pair, for each row."""
    rows = pl.DataFrame({"row": np.arange(keys.size), "key": keys, "topic": codes, "doc": docs})
    first = rows.select(pl.col("row").min().over("key"))["row"].to_numpy()
    is_same = (docs.gather(first) == docs).to_numpy() & (codes[first] == codes)
    if is_same.all():
        return first
    return rows.select(pl.col("row").min().over("topic", "doc"))["row"].to_numpy()


class KeyIndex:
    """Index of a set of keys by their leading bits; fast if most compared keys are absent."""

    def __init__(self, keys: Keys) -> None:
        self._order: Indices = np.argsort(keys)
        ordered = keys[self._order]
        self._unique = not bool((ordered[1:] == ordered[:-1]).any())
        if not self._unique:
            # A stable sort takes longer, and only equal keys need it.
            self._order = np.argsort(keys, kind="stable")
        # 8 slots per key: small enough for the cache, and few absent keys share a slot.
        bits = min(22, max(10, int(np.ceil(np.log2(max(1, keys.size)))) + 3))
        self._shift = np.uint64(64 - bits)
        self._first = np.full(1 << bits, -1, dtype=np.int32)
        # Assigned in reverse order, so that the first of the keys with equal leading bits remains.
        self._first[ordered[::-1] >> self._shift] = np.arange(keys.size, dtype=np.int32)[::-1]
        # The largest possible key at the end stops every search.
        self._sorted: Keys = np.append(ordered, ~np.uint64(0))

    def candidates(self, keys: Keys) -> tuple[Indices, Indices]:
        """Return pairs (row, row of the index) of equal keys, in any order."""
        first = self._first[(keys >> self._shift).view(np.int64)]
        rows = np.flatnonzero(first >= 0)
        positions, keys = first[rows].astype(np.intp), keys[rows]
        is_before = np.flatnonzero(self._sorted[positions] < keys)
        while is_before.size:
            positions[is_before] += 1
            is_before = is_before[self._sorted[positions[is_before]] < keys[is_before]]
        equal = np.flatnonzero((self._sorted[positions] == keys) & (positions < self._order.size))
        rows, positions = rows[equal], positions[equal]
        if not self._unique:
            counts = np.searchsorted(self._sorted[:-1], keys[equal], "right") - positions
            numbers, positions = ranges(positions, positions + counts)
            rows = rows[numbers]
        return rows, self._order[positions]


class IndexedTable:
    """Base class of tables with an index of documents, which is not sent to workers."""

    docs: pl.Series

    def __post_init__(self) -> None:
        # Computed before several threads use it.
        self._index  # noqa: B018

    def __getstate__(self) -> dict[str, Any]:
        return state_without_caches(self)

    @cached_property
    def _index(self) -> DocIndex:
        return DocIndex(self.docs)


class DocIndex:
    """Index of a list of documents."""

    def __init__(self, docs: pl.Series) -> None:
        self._docs = docs
        self._index = KeyIndex(docs.hash().to_numpy())

    def pairs(self, docs: pl.Series) -> tuple[Indices, Indices]:
        """Return pairs (row, row of the index) of the same document, in any order."""
        positions, rows = self._index.candidates(docs.hash().to_numpy())
        # Different documents may have equal keys, so compare the documents.
        is_equal = (docs[positions] == self._docs[rows]).to_numpy()
        return positions[is_equal], rows[is_equal]
