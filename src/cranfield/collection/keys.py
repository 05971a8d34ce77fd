"""Topics as codes, (topic, document) pairs as 64-bit keys.

Keys make matching and the search for duplicates cheap; they are never trusted: whatever two equal
keys claim is verified on the strings, so a collision costs time and never changes a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.parallel import fields_alone

Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]

ODD = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier that spreads keys: the odd number next to 2^64 / golden ratio."""


class TopicCoder:
    """Number topics in order of appearance, a chunk at a time."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        return list(self._codes)

    def codes_of(self, names: pl.Series) -> Codes:
        """Return the number of each topic; new topics get the next ones."""
        codes = [self._codes.setdefault(name, len(self._codes)) for name in names.to_list()]
        return np.array(codes, dtype=np.int32)


def numbered(topics: pl.Series) -> tuple[pl.Series, Codes]:
    """Return the different topics in order of appearance, and which of them each row has."""
    runs = topics.rle().struct.unnest()
    values, lengths = runs["value"], runs["len"].to_numpy()
    names = values.unique(maintain_order=True)
    if len(names) == len(values):
        codes = np.arange(len(names), dtype=np.int32)
    else:
        numbers = pl.Series(np.arange(len(names), dtype=np.int32))
        codes = values.replace_strict(names, numbers, return_dtype=pl.Int32).to_numpy()
    return names, np.repeat(codes, lengths)


def pair_keys(docs: pl.Series, codes: Codes, topics: Sequence[str]) -> Keys:
    """Key of each (topic, document): equal pairs have equal keys, whatever file they come from."""
    of_topics = pl.Series(topics, dtype=pl.String).hash().to_numpy() * ODD
    return np.asarray(docs.hash().to_numpy() ^ of_topics[codes])


def first_repeat(keys: Keys, docs: pl.Series, codes: NDArray[Any]) -> tuple[int, int] | None:
    """Return the rows of the first (topic, document) that occurs twice, or None."""
    # Hash tables of polars count faster than NumPy sorts.
    if pl.Series(keys).n_unique() == keys.size:
        return None
    rows = pl.Series(keys).is_duplicated().arg_true().to_numpy()
    pairs = pl.DataFrame({"row": rows, "topic": codes[rows], "doc": docs.gather(rows)})
    pairs = pairs.with_columns(first=pl.col("row").min().over("topic", "doc"))
    again = pairs.filter(pl.col("row") > pl.col("first")).sort("row")
    return again.select("first", "row").row(0) if again.height else None


def first_rows(keys: Keys, docs: pl.Series, codes: NDArray[Any]) -> Indices:
    """For each row the one in which its (topic, document) stands first."""
    rows = pl.DataFrame({"row": np.arange(keys.size), "key": keys, "topic": codes, "doc": docs})
    first = rows.select(pl.col("row").min().over("key"))["row"].to_numpy()
    same = (docs.gather(first) == docs).to_numpy() & (codes[first] == codes)
    if same.all():
        return first
    return rows.select(pl.col("row").min().over("topic", "doc"))["row"].to_numpy()


class KeyIndex:
    """Look up keys in a sorted set of keys by their leading bits; most are absent."""

    def __init__(self, keys: Keys) -> None:
        self._order: Indices = np.argsort(keys)
        ordered = keys[self._order]
        self._unique = not bool((ordered[1:] == ordered[:-1]).any())
        if not self._unique:
            # A stable sort takes longer, and only equal keys have an order to keep.
            self._order = np.argsort(keys, kind="stable")
        # 8 places a key: small enough for the cache, and few absent keys get through.
        bits = min(22, max(10, int(np.ceil(np.log2(max(1, keys.size)))) + 3))
        self._shift = np.uint64(64 - bits)
        self._first = np.full(1 << bits, -1, dtype=np.int32)
        # Of keys that begin alike the last one assigned counts, which is the first one here.
        self._first[ordered[::-1] >> self._shift] = np.arange(keys.size, dtype=np.int32)[::-1]
        # One more at the end stops every step forward.
        self._sorted: Keys = np.append(ordered, ~np.uint64(0))

    def candidates(self, keys: Keys) -> tuple[Indices, Indices]:
        """Return pairs (row, row of the index) of equal keys, in no order."""
        first = self._first[(keys >> self._shift).view(np.int64)]
        rows = np.flatnonzero(first >= 0)
        at, keys = first[rows].astype(np.intp), keys[rows]
        before = np.flatnonzero(self._sorted[at] < keys)
        while before.size:
            at[before] += 1
            before = before[self._sorted[at[before]] < keys[before]]
        equal = np.flatnonzero((self._sorted[at] == keys) & (at < self._order.size))
        rows, at = rows[equal], at[equal]
        if not self._unique:
            counts = np.searchsorted(self._sorted[:-1], keys[equal], "right") - at
            rows, at = spread(rows, at, counts)
        return rows, self._order[at]


class Indexed:
    """A table of documents that are looked up; workers receive it without its index."""

    docs: pl.Series

    def __post_init__(self) -> None:
        # Made before threads share it.
        self._index  # noqa: B018

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)

    @cached_property
    def _index(self) -> DocIndex:
        return DocIndex(self.docs)


class DocIndex:
    """Look up documents among a fixed list of them."""

    def __init__(self, docs: pl.Series) -> None:
        self._docs = docs
        self._index = KeyIndex(docs.hash().to_numpy())

    def pairs(self, docs: pl.Series) -> tuple[Indices, Indices]:
        """Return pairs (row, row of the index) of the same document, in no order."""
        asked, rows = self._index.candidates(docs.hash().to_numpy())
        # Equal keys are only a claim; the documents decide.
        true = (docs[asked] == self._docs[rows]).to_numpy()
        return asked[true], rows[true]


def spread(rows: Indices, first: Indices, counts: Indices) -> tuple[Indices, Indices]:
    """Repeat each row as often as counted, beside as many integers from the first on."""
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(rows, counts), np.repeat(first, counts) + within
