"""Topics as codes, (topic, document) pairs as 64-bit keys.

Keys make matching and the search for duplicates cheap; they are never trusted: whatever two equal
keys claim is verified on the strings, so a collision costs time and never changes a number.

The bytes of a text are followed by zeros up to the end of its last word, and no text holds a zero:
two texts are the same where their words are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, zip_longest
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Indices
from cranfield.base.parallel import as_they_come, fields_alone, own_threads

Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]

_BLOCK = 1 << 16
"""Keys looked up at a time: as many as the processor's cache holds."""

_COMPARED = 1 << 14
"""Keys compared with each other at a time: as many as have a table that the cache holds."""

_TOGETHER = 64
"""Blocks that a thread compares before it asks for others."""

_MANY = 1 << 18
"""Keys that are too many to be sorted together."""

_SORTED = 1 << 21
"""Keys that a thread puts together by how they begin: what they need fits into a cache."""

_SPARE = 4
"""Bits of a table's size more than its keys need: few keys meet in one place then."""

ODD = np.uint64(0x9E3779B97F4A7C15)


class TopicCoder:
    """Number topics in order of appearance, a chunk at a time."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        return list(self._codes)

    def encode(self, topics: pl.Series) -> Codes:
        names, codes = numbered(topics)
        return self.codes_of(names)[codes]

    def codes_of(self, names: pl.Series) -> Codes:
        """Number of each of some topics."""
        given = names.to_list()
        numbers = [*map(self._codes.get, given)]
        if None in numbers:
            numbers = [self._codes.setdefault(name, len(self._codes)) for name in given]
        return np.array(numbers, dtype=np.int32)


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


def pair_keys(docs: pl.Series, codes: Codes, topics: pl.Series | Sequence[str]) -> Keys:
    """Key of each (topic, document): equal pairs have equal keys, whatever file they come from."""
    of_topic = pl.Series(topics, dtype=pl.String).hash().to_numpy() * ODD
    keys = np.empty(len(docs), dtype=np.uint64)
    start = 0
    for part in docs.get_chunks():
        stop = start + len(part)
        np.bitwise_xor(part.hash().to_numpy(), of_topic[codes[start:stop]], out=keys[start:stop])
        start = stop
    return keys


def first_repeat(keys: Keys, docs: pl.Series, codes: NDArray[Any]) -> tuple[int, int] | None:
    """Indices of the first (topic, document) that stands twice, or None."""
    first, again = repeats(keys, docs, codes)
    return (int(first[0]), int(again[0])) if again.size else None


def repeats(keys: Keys, docs: pl.Series, codes: NDArray[Any]) -> tuple[Indices, Indices]:
    """Return where a (topic, document) first stands, and where each of them stands again."""
    if all_differ(keys, codes):
        none = np.empty(0, dtype=np.intp)
        return none, none
    ordered = np.sort(keys)
    rows = np.flatnonzero(np.isin(keys, ordered[1:][ordered[1:] == ordered[:-1]]))
    some = pl.DataFrame({"row": rows, "topic": codes[rows], "doc": docs.gather(rows)})
    again = (
        some.with_columns(first=pl.col("row").min().over("topic", "doc"))
        .filter(pl.col("row") > pl.col("first"))
        .sort("row")
    )
    return again["first"].to_numpy(), again["row"].to_numpy()


def first_rows(keys: Keys, docs: pl.Series, codes: NDArray[Any]) -> Indices:
    """For each row the one in which its (topic, document) stands first."""
    rows = pl.DataFrame({"row": np.arange(keys.size), "key": keys, "topic": codes, "doc": docs})
    first = rows.select(pl.col("row").min().over("key"))["row"].to_numpy()
    same = (docs.gather(first) == docs).to_numpy() & (codes[first] == codes)
    if same.all():
        return first
    return rows.select(pl.col("row").min().over("topic", "doc"))["row"].to_numpy()


def all_differ(keys: Keys, codes: NDArray[Any]) -> bool:
    """Tell whether no key stands twice in a topic, by pieces that are looked at in threads."""
    blocks, threads = list(_blocks(codes)), own_threads()
    if len(blocks) == 1 and keys.size > _MANY:
        # Topics stand mixed.
        each = _by_leading_bits(keys, threads)
    else:
        each = (keys[first:last] for first, last in blocks)
    pieces = iter(lambda: [*islice(each, _TOGETHER)], [])
    return not any(as_they_come(_have_repeat, pieces, threads))


def _by_leading_bits(keys: Keys, threads: int) -> Iterator[Keys]:
    """Yield keys that begin alike together, without what is alike in them."""
    bits = min(16, (keys.size // _COMPARED).bit_length())
    shift, most = np.uint64(64 - bits), 1 << bits

    def sorted_part(part: Keys) -> tuple[Keys, list[int]]:
        # Small integers are sorted by counting.
        leading = (part >> shift).astype(np.uint16)
        ends = np.cumsum(np.bincount(leading, minlength=most)).tolist()
        return part[np.argsort(leading, kind="stable")] << np.uint64(bits), [0, *ends]

    slices = (keys[start : start + _SORTED] for start in range(0, keys.size, _SORTED))
    parts = [*as_they_come(sorted_part, slices, threads)]
    for place in range(most):
        yield np.concatenate([part[ends[place] : ends[place + 1]] for part, ends in parts])


def _have_repeat(blocks: list[Keys]) -> bool:
    """Tell whether any block has a key twice."""
    most = max(keys.size for keys in blocks)
    if most > np.iinfo(np.uint16).max:
        return any(_equal_neighbours(np.sort(keys)) for keys in blocks)
    bits = most.bit_length() + _SPARE
    table, places = np.empty(1 << bits, np.uint16), np.arange(most, dtype=np.uint16)
    return any(_meets_itself(keys, table, places, np.uint64(64 - bits)) for keys in blocks)


def _meets_itself(
    keys: Keys, table: NDArray[np.uint16], places: NDArray[np.uint16], shift: np.uint64
) -> bool:
    """Tell whether a key stands twice: equal ones meet in the table, where the last one stays."""
    slots, places = (keys >> shift).view(np.int64), places[: keys.size]
    table[slots] = places
    there = table[slots]
    lost = np.flatnonzero(there != places)
    if not lost.size:
        return False
    alike = keys[lost]
    return bool((alike == keys[there[lost]]).any()) or _equal_neighbours(np.sort(alike))


def _equal_neighbours(ordered: Keys) -> bool:
    return bool((ordered[1:] == ordered[:-1]).any())


def _blocks(codes: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Cut rows where no topic goes on: small blocks where topics stand together, else one."""
    rows = codes.size
    starts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    if rows <= _COMPARED or starts.size + 1 > int(codes.max()) + 1:
        yield 0, rows
        return
    wanted = np.searchsorted(starts, np.arange(_COMPARED, rows, _COMPARED))
    cuts = np.unique(np.append(starts[wanted[wanted < starts.size]], rows))
    yield from zip([0, *cuts[:-1].tolist()], cuts.tolist(), strict=True)


class KeyIndex:
    """Look up keys among a sorted set of them by their leading bits; most are absent."""

    def __init__(self, keys: Keys) -> None:
        self._order: Indices = np.argsort(keys, kind="stable")
        ordered = keys[self._order]
        self._unique = not bool((ordered[1:] == ordered[:-1]).any())
        # 8 places a key: small enough for the cache, and few absent keys get through.
        bits = min(22, max(10, int(np.ceil(np.log2(max(1, keys.size)))) + 3))
        self._shift = np.uint64(64 - bits)
        self._begin = np.full(1 << bits, -1, dtype=np.int32)
        # Of keys that begin alike the last one assigned counts, which is the first one here.
        backwards = np.arange(keys.size, dtype=np.int32)[::-1]
        self._begin[ordered[::-1] >> self._shift] = backwards
        # It takes a quarter of the memory to know that there are none, of most keys.
        self._any = self._begin >= 0
        # One more at the end stops every step forward.
        self._sorted: Keys = np.append(ordered, ~np.uint64(0))

    def candidates(self, keys: Keys) -> tuple[Indices, Indices]:
        """Pairs (row asked, row of the index) whose keys are equal, in no order."""
        maybe, at = self._maybe(keys)
        wanted = keys[maybe]
        before = np.flatnonzero(self._sorted[at] < wanted)
        while before.size:
            at[before] += 1
            before = before[self._sorted[at[before]] < wanted[before]]
        equal = np.flatnonzero((self._sorted[at] == wanted) & (at < self._order.size))
        asked, left = maybe[equal], at[equal]
        if not self._unique:
            counts = np.searchsorted(self._sorted[:-1], wanted[equal], "right") - left
            asked, left = spread(asked, left, counts)
        return asked, self._order[left]

    def _maybe(self, keys: Keys) -> tuple[Indices, Indices]:
        """Rows whose keys begin like one of the index, and where it has those."""
        rows, at = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        for start in range(0, keys.size, _BLOCK):
            begin = (keys[start : start + _BLOCK] >> self._shift).view(np.int64)
            some = np.flatnonzero(self._any.take(begin, mode="clip"))
            rows.append(some + start)
            at.append(self._begin[begin[some]].astype(np.intp))
        return np.concatenate(rows), np.concatenate(at)


class Indexed:
    """Documents with something known of each, which are looked up; their index is not sent."""

    docs: pl.Series

    def __post_init__(self) -> None:
        # It is made before threads share it.
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
        """Pairs (row asked, row of the index) of the same document, in no order."""
        asked, rows = self._index.candidates(docs.hash().to_numpy())
        # Equal keys are only a claim; the documents decide.
        true = (docs[asked] == self._docs[rows]).to_numpy()
        return asked[true], rows[true]


def spread(asked: Indices, left: Indices, counts: Indices) -> tuple[Indices, Indices]:
    """Repeat each asked row for every equal key of the index."""
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(asked, counts), np.repeat(left, counts) + within


Words = tuple[NDArray[np.uint64], ...]
"""The first words of all texts, the second ones, and so on."""

_WIDEST = 8
"""Words of a text, at the most: for longer ones, columns of text take less memory."""
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
