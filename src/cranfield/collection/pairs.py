"""Rows of topics and documents: the base class of runs and judgments, and keys to match them.

A 64-bit key of each (topic, document) pair makes matching and the search for duplicates fast. Equal
keys are verified on the strings, so a collision costs time, but never changes a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Self, TypeVar, cast
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.errors import InputError, warn
from cranfield.base.parallel import count_threads, drop_caches, map_in_threads
from cranfield.base.text import inflect
from cranfield.collection.judged.rows import join_ranges
from cranfield.sources.chunks import Origin
from cranfield.tabular import FrameMixin, render_frame

Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]

HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier for hashing: the odd number next to 2^64 / golden ratio."""

BLOCK = 1 << 16
"""Number of rows that a thread processes at a time, so that they fit into its cache."""


def number_values(values: pl.Series) -> tuple[pl.Series, Codes]:
    """Return the distinct values in order of appearance, and the index of each row's value."""
    segments = values.rle().struct.unnest()
    segment_values, lengths = segments["value"], segments["len"].to_numpy()
    names = segment_values
    if names.n_unique() == len(names):
        codes = np.arange(len(names), dtype=np.int32)
    else:
        names = names.unique(maintain_order=True)
        name_codes = pl.Series(np.arange(len(names), dtype=np.int32))
        codes = segment_values.replace_strict(names, name_codes, return_dtype=pl.Int32).to_numpy()
    return names, np.repeat(codes, lengths)


def find_label_positions(names: Sequence[str], labels: Sequence[str]) -> NDArray[np.int64]:
    """Return the position of each name among the labels; -1 for an unknown name."""
    position_of = {label: position for position, label in enumerate(labels)}
    return np.array([position_of.get(name, -1) for name in names], dtype=np.int64)


def compute_pair_keys(docs: pl.Series, codes: Codes, topics: Sequence[str]) -> Keys:
    """Compute the key of each (topic, document) pair; equal pairs have equal keys in all files."""
    hashes = (crc32(topic.encode()) for topic in topics)
    topic_hashes = np.fromiter(hashes, np.uint64, len(topics)) * HASH_MULTIPLIER
    # NumPy is slower with indices of another type.
    return np.asarray(docs.hash().to_numpy() ^ topic_hashes[codes.astype(np.intp)])


def find_duplicate(keys: Keys, docs: pl.Series, codes: NDArray[Any]) -> tuple[int, int] | None:
    """Return the two rows of the first duplicate (topic, document) pair, or None."""
    blocks = _split_by_topic(codes)
    if not any(map_in_threads(lambda block: _has_equal(keys[block]), blocks, count_threads())):
        return None
    rows = pl.Series(keys).is_duplicated().arg_true().to_numpy()
    pairs = pl.DataFrame({"row": rows, "topic": codes[rows], "doc": docs.gather(rows)})
    pairs = pairs.with_columns(first=pl.col("row").min().over("topic", "doc"))
    duplicates = pairs.filter(pl.col("row") > pl.col("first")).sort("row")
    return duplicates.select("first", "row").row(0) if duplicates.height else None


def _has_equal(keys: Keys) -> bool:
    """Return True if two keys are equal; most keys get a slot of their own, and are not sorted."""
    n_bits = _count_slot_bits(keys.size)
    slots = (keys >> np.uint64(64 - n_bits)).view(np.int64)
    last_rows = np.empty(1 << n_bits, dtype=np.int32)
    rows = np.arange(keys.size, dtype=np.int32)
    last_rows[slots] = rows
    # Keys that share a slot with a later one are compared with the last one and with each other.
    earlier_rows = np.flatnonzero(last_rows[slots] != rows)
    earlier_keys = keys[earlier_rows]
    ordered = np.sort(earlier_keys)
    equals_last = earlier_keys == keys[last_rows[slots[earlier_rows]]]
    return bool(equals_last.any() or (ordered[1:] == ordered[:-1]).any())


def _count_slot_bits(n_keys: int) -> int:
    """Return the number of leading bits that give a key its slot, with about 8 slots per key."""
    return min(22, max(10, n_keys.bit_length() + 3))


def _split_by_topic(codes: NDArray[Any]) -> list[slice]:
    """Return slices of whole topics: one slice, or several if many rows are in order of topic."""
    starts = np.zeros(1, dtype=np.int64)
    if codes.size > BLOCK and (codes[1:] >= codes[:-1]).all():
        starts = np.unique(np.searchsorted(codes, codes[::BLOCK]))
    return [*map(slice, starts.tolist(), [*starts[1:].tolist(), codes.size])]


def find_first_rows(keys: Keys, docs: pl.Series, codes: NDArray[Any]) -> Indices:
    """Return the first row with the same (topic, document) pair, for each row."""
    rows = pl.DataFrame({"row": np.arange(keys.size), "key": keys, "topic": codes, "doc": docs})
    first = rows.select(pl.col("row").min().over("key"))["row"].to_numpy()
    is_same = (docs.gather(first) == docs).to_numpy() & (codes[first] == codes)
    if is_same.all():
        return first
    return rows.select(pl.col("row").min().over("topic", "doc"))["row"].to_numpy()


class KeyIndex:
    """Index of keys by their leading bits; fast if most keys that are looked up are absent."""

    def __init__(self, keys: Keys) -> None:
        self._order: Indices = np.argsort(keys)
        ordered = keys[self._order]
        self._is_unique = not bool((ordered[1:] == ordered[:-1]).any())
        if not self._is_unique:
            # A stable sort takes longer, and only equal keys need it.
            self._order = np.argsort(keys, kind="stable")
        # Few absent keys share a slot with a key.
        n_bits = _count_slot_bits(keys.size)
        self._shift = np.uint64(64 - n_bits)
        self._first = np.full(1 << n_bits, -1, dtype=np.int32)
        # Assigned in reverse order, so that the first of the keys with equal leading bits remains.
        self._first[ordered[::-1] >> self._shift] = np.arange(keys.size, dtype=np.int32)[::-1]
        self._is_used = self._first >= 0
        # The largest possible key at the end stops every search.
        self._sorted: Keys = np.append(ordered, ~np.uint64(0))

    def find_equal_keys(self, keys: Keys) -> tuple[Indices, Indices]:
        """Return pairs (row, row of the index) of equal keys, in any order."""
        starts = range(0, max(keys.size, 1), BLOCK)
        blocks = map_in_threads(
            lambda start: self._find_keys(keys[start : start + BLOCK]), starts, count_threads()
        )
        rows = [rows + start for start, (rows, _) in zip(starts, blocks, strict=True)]
        return np.concatenate(rows), np.concatenate([index_rows for _, index_rows in blocks])

    def _find_keys(self, keys: Keys) -> tuple[Indices, Indices]:
        slots = (keys >> self._shift).view(np.int64)
        # Most slots are free, and their mask takes less of the cache.
        rows = np.flatnonzero(self._is_used[slots])
        positions, keys = self._first[slots[rows]].astype(np.intp), keys[rows]
        is_before = np.flatnonzero(self._sorted[positions] < keys)
        while is_before.size:
            positions[is_before] += 1
            is_before = is_before[self._sorted[positions[is_before]] < keys[is_before]]
        is_equal = (self._sorted[positions] == keys) & (positions < self._order.size)
        equal_rows = np.flatnonzero(is_equal)
        rows, positions = rows[equal_rows], positions[equal_rows]
        if not self._is_unique:
            counts = np.searchsorted(self._sorted[:-1], keys[equal_rows], "right") - positions
            indices, positions = join_ranges(positions, positions + counts)
            rows = rows[indices]
        return rows, self._order[positions]


class IndexedTable:
    """Base class of tables with an index of documents, which is not sent to workers."""

    docs: pl.Series

    def __post_init__(self) -> None:
        # The index is computed before several threads use it.
        self._index  # noqa: B018

    def __getstate__(self) -> dict[str, Any]:
        return drop_caches(self)

    @cached_property
    def _index(self) -> DocIndex:
        return DocIndex(self.docs)


class DocIndex:
    """Index of a list of documents."""

    def __init__(self, docs: pl.Series) -> None:
        self._docs = docs
        self._index = KeyIndex(docs.hash().to_numpy())

    def find_matching_rows(self, docs: pl.Series) -> tuple[Indices, Indices]:
        """Return pairs (row, row of the index) of the same document, in any order."""
        positions, rows = self._index.find_equal_keys(docs.hash().to_numpy())
        # Different documents may have equal keys, so compare the documents.
        is_equal = (docs[positions] == self._docs[rows]).to_numpy()
        return positions[is_equal], rows[is_equal]


T = TypeVar("T")

_MIN_RATIO = 8
"""Minimum ratio of own rows to rows of the other table for which look-ups in dicts are faster."""


class PairTable:
    """A table with a topic and a document in each row.

    Attributes
    ----------
    topics
        Ids of the topics.
    codes
        Topic of each row, an index into `topics`; shape (rows,).
    docs
        Document id of each row.
    """

    topics: tuple[str, ...]
    codes: Codes
    docs: pl.Series

    def __getstate__(self) -> dict[str, Any]:
        # Workers compute keys themselves, as keys differ between versions of polars.
        return drop_caches(self) | {"docs": self.docs}

    @cached_property
    def keys(self) -> Keys:
        """A 64-bit key of each row's (topic, document)."""
        return compute_pair_keys(self.docs, self.codes, self.topics)

    @cached_property
    def index(self) -> KeyIndex:
        """The rows by key."""
        return KeyIndex(self.keys)

    def find_codes(self, topics: Sequence[str]) -> NDArray[np.int64]:
        """Return the codes of topics; -1 for a topic without a row."""
        return find_label_positions(topics, self.topics)

    def find_matching_rows(self, other: PairTable) -> tuple[Indices, Indices]:
        """Return pairs (row, row of `other`) of the same topic and document, in any order."""
        own_rows, other_rows = other.index.find_equal_keys(self.keys)
        # Different pairs may have equal keys, so compare topics and documents.
        is_equal = other.find_codes(self.topics)[self.codes[own_rows]] == other.codes[other_rows]
        is_equal &= (self.docs[own_rows] == other.docs[other_rows]).to_numpy()
        return own_rows[is_equal], other_rows[is_equal]

    def detach(self) -> Self:
        """Return the same rows, independent of the objects from which they were read."""
        return self


class ReadPairs(PairTable, FrameMixin):
    """A table that was read; `origin` is its source in messages."""

    origin: Origin

    def __len__(self) -> int:
        return self.codes.size

    def _select(self, rows: Indices, **changes: Any) -> Self:
        """Return the table with some rows, and with changes of its fields."""

        def select(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: select(column) for name, column in value.items()}
            return value[rows] if isinstance(value, (np.ndarray, pl.Series)) else value

        values = {field.name: getattr(self, field.name) for field in fields(cast("Any", self))}
        if "keys" in vars(self) and "docs" not in changes:
            values["keys"] = self.keys
        columns = {name: select(value) for name, value in values.items() if name not in changes}
        columns["origin"] = Origin(self.origin.name)
        return create_unchecked(self._plain_class, **columns | changes)

    @property
    def _plain_class(self) -> type[Self]:
        return type(self)

    def _repr_html_(self) -> str:
        return render_frame(self.to_polars(), repr(self), limit=10)


class DictPairs(PairTable):
    """Rows of a dict of dicts, in order of topics; the column of documents is built on access.

    Attributes
    ----------
    topic_dicts
        The dict of documents of each topic, by code, in the order of the rows.
    """

    topic_dicts: Sequence[Mapping[str, Any]]

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        # `dataclasses.replace` passes a column of documents: then the plain class applies.
        object.__setattr__(self, "__class__", self._plain_class)

    @property
    def _plain_class(self) -> Any:
        return type(self).__bases__[1]

    @cached_property
    def docs(self) -> pl.Series:  # type: ignore[override]
        """Document id of each row, as a polars string column."""
        return pl.Series("doc", [*chain.from_iterable(self.topic_dicts)], dtype=pl.String)

    def detach(self) -> Self:
        """Return the same rows with copies of the dicts, as the caller may change the dicts."""
        dicts = tuple(map(dict, self.topic_dicts))
        return create_unchecked(type(self), **vars(self) | {"topic_dicts": dicts})

    @cached_property
    def starts(self) -> list[int]:
        """First row of each topic."""
        return [0, *accumulate(map(len, self.topic_dicts))][:-1]

    def find_matching_rows(self, other: PairTable) -> tuple[Indices, Indices]:
        """Return pairs (row, row of `other`) of the same topic and document, in any order."""
        if not isinstance(other, DictPairs) or _MIN_RATIO * len(other.codes) > len(self.codes):
            return super().find_matching_rows(other)
        own_rows: list[int] = []
        other_rows: list[int] = []
        codes = other.find_codes(self.topics).tolist()
        for start, code, docs in zip(self.starts, codes, self.topic_dicts, strict=True):
            other_docs = other.topic_dicts[code] if code >= 0 else {}
            if common_docs := docs.keys() & other_docs.keys():
                ids, other_ids = [*docs], [*other_docs]
                own_rows += [start + ids.index(doc) for doc in common_docs]
                other_rows += [other.starts[code] + other_ids.index(doc) for doc in common_docs]
        return np.array(own_rows, dtype=np.intp), np.array(other_rows, dtype=np.intp)


def create_unchecked(table_type: type[T], **fields: Any) -> T:
    """Create a table from rows without duplicates, without the checks of its constructor."""
    table = object.__new__(table_type)
    table.__dict__.update(fields)
    return table


def create_with_keys(table_type: type[T], keys: Keys, **fields: Any) -> T:
    """Create a table from rows whose keys were computed before."""
    table = create_unchecked(table_type, keys=keys, **fields)
    table.__post_init__()  # type: ignore[attr-defined]
    return table


def make_topic_column(table: PairTable) -> pl.Series:
    """Return the topic of each row."""
    return pl.Series("topic", table.topics, dtype=pl.String).gather(table.codes)


def make_row_error(table: ReadPairs, reason: str, row: int) -> InputError:
    """Return an error with the line, topic and document of a row."""
    return table.origin.make_row_error(row, reason, table.topics[table.codes[row]], table.docs[row])


def refuse_duplicates(
    table: ReadPairs, keys: Keys, codes: NDArray[Any], noun: str = "document"
) -> None:
    """Raise an error for a document in two rows with the same code."""
    duplicate = find_duplicate(keys, table.docs, codes)
    if duplicate is not None:
        first_row, row = duplicate
        line = table.origin.get_line(first_row)
        reason = f"{noun} twice in one topic" + (f", first in line {line}" if line else "")
        raise make_row_error(table, reason, row)


class UngradedError(InputError):
    """Raised for judgments without any grade."""


def warn_of_ungraded(source: str, n_dropped: int, n_rows: int) -> None:
    """Warn of rows without a grade; refuse judgments without any grade."""
    if n_dropped == n_rows:
        raise UngradedError(f"none of {inflect(n_rows, 'row')} has a grade", source=source)
    if n_dropped:
        verbs = "has no grade and counts" if n_dropped == 1 else "have no grade and count"
        warn(f"{source}: {n_dropped:,} of {inflect(n_rows, 'row')} {verbs} as unjudged")


def warn_of_missing_grades(source: str) -> None:
    """Warn that judgments without grades are read as lists of relevant documents."""
    warn(f"{source}: no column of grades; each document is read as relevant (grade 1)")
