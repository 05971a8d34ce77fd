"""Rankings of several runs side by side: the document at each rank, by topic and run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import PolicyError, check_whole
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.keys import (
    ODD,
    Codes,
    Words,
    equal,
    ids_of,
    taken,
    word_keys,
    words_of_ids,
)
from cranfield.collection.pairs import Pairs
from cranfield.collection.qrels import topic_order
from cranfield.collection.run import PackedRun, Run


@dataclass(frozen=True, eq=False)
class Top:
    """The first documents of a run, in order of topic and rank; topics are those of all runs.

    starts: start of the rows of each topic; shape (topics + 1,).
    docs: the documents as words.
    scores: score of each row; empty if not needed.
    """

    starts: Ints
    docs: Words
    scores: Floats

    def of_topics(self, first: int, after: int) -> Top:
        """Return the rows of a range of topics."""
        starts = self.starts[first : after + 1]
        rows = slice(int(starts[0]), int(starts[-1]))
        return Top(starts - starts[0], taken(self.docs, rows), self.scores[rows])


@dataclass(frozen=True, eq=False)
class NamedTop:
    """The first documents of a run with its own topics and its name."""

    name: str
    stem: str | None
    topics: tuple[str, ...]
    sizes: Ints
    docs: Words | pl.Series
    scores: Floats


def top_of(
    run: Run, stem: str | None, *, depth: int | None, ties: str, scored: bool = True
) -> NamedTop:
    """Return the first documents of each topic, or all; with their scores if `scored`."""
    order = order_of(run, ties)
    rows, sizes = order.rows, order.counts
    if depth is not None:
        rows = rows[_within(sizes) < depth]
        sizes = np.minimum(sizes, depth)
    scores = run.scores[rows] if scored else np.zeros(0)
    return NamedTop(run.name, stem, run.topics, sizes, _docs(run, rows), scores)


def _docs(run: Run, rows: Indices) -> Words | pl.Series:
    """Return documents as words, or as text if they are too long for that."""
    if isinstance(run, PackedRun):
        return taken(run.words, rows)
    blocks = [
        words_of_ids(run.ids(rows[start : start + _BLOCK]))
        for start in range(0, max(1, rows.size), _BLOCK)
    ]
    words = [block for block in blocks if block is not None]
    return concatenate(words) if len(words) == len(blocks) else run.ids(rows)


def all_topics(tops: Iterable[NamedTop]) -> list[str]:
    """List the topics of all runs, in order."""
    return topic_order(list({name for top in tops for name in top.topics}))


def number_topics(
    tops: list[NamedTop], topics: Sequence[str]
) -> tuple[list[Top], Callable[[Words], pl.Series]]:
    """Number the topics of all runs alike; also return the function from words to document ids.

    The list is emptied, so that no document is held twice.
    """
    text = ids_of
    if any(isinstance(top.docs, pl.Series) for top in tops):
        # Ids too long for words are numbered in the order of their bytes, first byte lowest.
        texts = [top.docs if isinstance(top.docs, pl.Series) else ids_of(top.docs) for top in tops]
        names = pl.concat(texts).unique().sort()
        numbers = pl.DataFrame({"doc": names, "number": np.arange(len(names), dtype=np.uint64)})

        def words_of(docs: pl.Series) -> Words:
            rows = docs.to_frame("doc").join(numbers, on="doc", maintain_order="left")
            return (rows["number"].to_numpy().byteswap(),)

        def text(words: Words) -> pl.Series:
            return names.gather(words[0].byteswap()).rename("doc")

        tops[:] = [replace(top, docs=words_of(docs)) for top, docs in zip(tops, texts, strict=True)]
    place = {name: i for i, name in enumerate(topics)}
    out = []
    while tops:
        out.append(_with_all_topics(tops.pop(0), place))
    return out, text


def _with_all_topics(top: NamedTop, place: Mapping[str, int]) -> Top:
    assert isinstance(top.docs, tuple)
    places = np.array([place[name] for name in top.topics], dtype=np.intp)
    sizes = np.zeros(len(place), dtype=np.int64)
    sizes[places] = top.sizes
    starts = np.r_[0, np.cumsum(sizes)]
    if (places[1:] > places[:-1]).all():
        return Top(starts, top.docs, top.scores)
    first = np.zeros(len(place), dtype=np.int64)
    first[places] = np.cumsum(top.sizes) - top.sizes
    rows = _spans(first, sizes)
    return Top(starts, taken(top.docs, rows), top.scores[rows] if top.scores.size else top.scores)


def concatenate(words: Sequence[Words]) -> Words:
    """Concatenate texts as words; shorter texts have zeros in the last words."""
    widest = max(map(len, words))
    return tuple(
        np.concatenate(
            [text[place] if place < len(text) else np.zeros_like(text[0]) for text in words]
        )
        for place in range(widest)
    )


def _spans(first: Ints, sizes: Ints) -> Ints:
    """Return the rows of spans, one after the other."""
    ends = np.cumsum(sizes)
    return np.asarray(np.repeat(first - (ends - sizes), sizes) + np.arange(int(sizes.sum())))


def _within(sizes: Ints) -> Ints:
    """Return the place of each row within its span, from 0."""
    return _spans(np.zeros_like(sizes), sizes)


def number_documents(docs: Words, codes: Codes, topics: int) -> tuple[Indices, Indices]:
    """Return the first row of each (topic, document), in order, and the number of each row's."""
    # Rows meet in a hash table by their keys. The first row of each slot takes its equals with it;
    # the others meet again, by other bits.
    first_of = np.empty(codes.size, dtype=np.intp)
    rows: Indices = np.arange(codes.size)
    keys = word_keys(docs, codes, (np.arange(topics, dtype=np.uint64),))
    while rows.size:
        bits = rows.size.bit_length() + _SPARE
        slots = (keys >> np.uint64(64 - bits)).view(np.int64)
        table = np.empty(1 << bits, dtype=np.int32)
        table[slots[::-1]] = rows[::-1]
        others = table[slots].astype(np.intp)
        same = (codes[others] == codes[rows]) & equal(taken(docs, others), taken(docs, rows))
        first_of[rows[same]] = others[same]
        rows, keys = rows[~same], keys[~same] * ODD
    first = first_of == np.arange(codes.size)
    return np.flatnonzero(first), (np.cumsum(first) - 1)[first_of]


_BLOCK = 1 << 16
"""Ids held as Python strings at a time."""

_SPARE = 2
"""Bits of a hash table's size beyond those of its rows, so that few rows collide."""

_DENSE = 4
"""Maximum cells per value of a table of documents by systems in which values are sorted."""


@dataclass(frozen=True, eq=False, repr=False)
class Rankings(Pairs):
    """The first documents of some runs, by topic, and which run has which.

    Attributes
    ----------
    topics
        Ids of the topics, in order: by number if all are numbers, else by bytes.
    systems
        Names of the systems.
    depth
        Ranks of each ranking that count.
    docs
        Document ids, a polars string column, by topic. Other arrays hold indices into it.
    starts
        Start of the documents of each topic: those of topic t are `starts[t]:starts[t + 1]`;
        shape (topics + 1,).
    ranked
        All rankings, one after the other: the document, an index into `docs`, at each rank.
        In order of topic, system and rank; shape (rows,).
    lists
        Start of each ranking: `ranked[lists[i]:lists[i + 1]]` with
        `i = topic * len(systems) + system` is that of a system for a topic, the best document
        first; shape (topics * systems + 1,).
    scores
        The score of each row of `ranked`; shape (rows,).
    """

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    depth: int
    docs: pl.Series
    starts: Ints
    ranked: NDArray[np.int32]
    lists: Ints
    scores: Floats

    @property
    def size(self) -> int:
        """Number of documents."""
        return int(self.starts[-1])

    @cached_property
    def topic(self) -> Codes:
        """Topic of each document, an index into `topics`; shape (documents,)."""
        return np.repeat(np.arange(len(self.topics), dtype=np.int32), np.diff(self.starts))

    @property
    def codes(self) -> Codes:  # type: ignore[override]
        """The same, by the name that other tables use."""
        return self.topic

    @cached_property
    def rank(self) -> NDArray[np.int32]:
        """Rank of each row of `ranked`, from 1; shape (rows,)."""
        return (np.arange(self.ranked.size) - self.lists[self.cell] + 1).astype(np.int32)

    @cached_property
    def system(self) -> NDArray[np.int32]:
        """System of each row of `ranked`, an index into `systems`; shape (rows,)."""
        return (self.cell % len(self.systems)).astype(np.int32)

    @cached_property
    def best_rank(self) -> NDArray[np.int32]:
        """Best rank of each document in any run, from 1; shape (documents,)."""
        best = np.full(self.size, self.depth, dtype=np.int32)
        np.minimum.at(best, self.ranked, self.rank)
        return best

    @cached_property
    def runs_of_topic(self) -> Ints:
        """Number of runs that have a document for each topic; shape (topics,)."""
        sizes = np.diff(self.lists).reshape(len(self.topics), -1)
        return np.asarray((sizes > 0).sum(axis=1))

    @cached_property
    def holders(self) -> Ints:
        """Number of runs that have each document; shape (documents,)."""
        return np.bincount(self.ranked, minlength=self.size)

    @cached_property
    def held(self) -> Ints:
        """Start of the rows of each document in `by_document`; shape (documents + 1,)."""
        return np.asarray(np.r_[0, np.cumsum(self.holders)])

    @cached_property
    def by_document(self) -> Indices:
        """Rows of `ranked` in order of document, then system; shape (rows,)."""
        return np.argsort(self.ranked, kind="stable")

    @cached_property
    def cell(self) -> Ints:
        """Ranking that each row of `ranked` belongs to, as in `lists`; shape (rows,)."""
        return np.repeat(np.arange(self.lists.size - 1), np.diff(self.lists))

    @classmethod
    def of(
        cls,
        tops: Sequence[Top],
        systems: Sequence[str],
        topics: Sequence[str],
        depth: int,
        text: Callable[[Words], pl.Series],
    ) -> Self:
        """Put the first documents of runs side by side, documents of a topic by their bytes."""
        if not all(isinstance(topic, str) for topic in topics):
            raise PolicyError("topics of rankings must be strings")
        check_whole("depth", depth, 0, np.iinfo(np.int32).max)
        starts, words, ranked, lists, scores = _side_by_side(tops)
        topic = np.repeat(np.arange(len(topics)), np.diff(starts))
        # The first byte of a text is the lowest one of its word.
        order = np.lexsort([*(column.byteswap() for column in words[::-1]), topic])
        place = np.empty(order.size, dtype=np.int32)
        place[order] = np.arange(order.size)
        docs = text(taken(words, order))
        return cls(tuple(topics), tuple(systems), depth, docs, starts, place[ranked], lists, scores)

    def ascending(self, values: Floats) -> Floats:
        """Return a value of each row in order of document, and of value, ascending.

        So sums of equal values are equal, whatever the names of the runs.
        """
        cells = self.size * len(self.systems)
        if cells > _DENSE * values.size:
            return values[np.lexsort((values, self.ranked))]
        table = np.full((self.size, len(self.systems)), np.inf)
        table[self.ranked, self.system] = values
        table.sort(axis=1)
        return np.asarray(table[np.isfinite(table)])


class PackedRankings(Rankings):
    """Rankings whose documents are words, those of a topic in any order."""

    words: Words

    @cached_property
    def docs(self) -> pl.Series:  # type: ignore[override]
        """Document ids, a polars string column, by topic."""
        return ids_of(self.words)

    @classmethod
    def side_by_side(
        cls, tops: Sequence[Top], systems: Sequence[str], topics: Sequence[str]
    ) -> Self:
        """Put the first documents of runs side by side, documents as words."""
        starts, words, ranked, lists, scores = _side_by_side(tops)
        rankings = object.__new__(cls)
        rankings.__dict__.update(
            topics=tuple(topics),
            systems=tuple(systems),
            depth=0,
            words=words,
            starts=starts,
            ranked=ranked,
            lists=lists,
            scores=scores,
        )
        return rankings


def _side_by_side(tops: Sequence[Top]) -> tuple[Ints, Words, NDArray[np.int32], Ints, Floats]:
    """Return starts of topics, documents, document of each row, starts of rankings, and scores."""
    sizes = np.stack([np.diff(top.starts) for top in tops], axis=1)
    topics = sizes.shape[0]
    before = np.cumsum([0, *(top.starts[-1] for top in tops[:-1])])
    first = np.stack([top.starts[:-1] for top in tops], axis=1) + before
    rows = _spans(first.ravel(), sizes.ravel())
    docs = taken(concatenate([top.docs for top in tops]), rows)
    scores = np.concatenate([top.scores for top in tops])
    codes = np.repeat(np.arange(topics, dtype=np.int32), sizes.sum(axis=1))
    new, number = number_documents(docs, codes, topics)
    return (
        np.r_[0, np.cumsum(np.bincount(codes[new], minlength=topics))],
        taken(docs, new),
        number.astype(np.int32),
        np.r_[0, np.cumsum(sizes.ravel())],
        scores[rows] if scores.size else scores,
    )
