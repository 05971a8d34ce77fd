"""Rankings of several runs side by side: which document each has at each rank, topic by topic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.keys import Codes, pair_keys
from cranfield.collection.pairs import Pairs
from cranfield.collection.qrels import topic_order
from cranfield.collection.run import Run


@dataclass(frozen=True, eq=False)
class Top:
    """The first documents of a run, in order of topic and rank; topics by their place among all."""

    codes: Codes
    docs: pl.Series
    scores: Floats

    def of_topics(self, first: int, after: int) -> Top:
        """Return the part of some topics, which are numbered from 0 then."""
        start, stop = np.searchsorted(self.codes, (first, after)).tolist()
        codes = self.codes[start:stop] - np.int32(first)
        return Top(codes, self.docs[start:stop], self.scores[start:stop])


@dataclass(frozen=True, eq=False)
class NamedTop:
    """The first documents of a run, topics as in the run, and what the run is called."""

    name: str
    stem: str | None
    topics: tuple[str, ...]
    top: Top

    def among(self, topics: Sequence[str]) -> Top:
        """Number the topics by their place among those of all runs."""
        place = {name: i for i, name in enumerate(topics)}
        codes = np.array([place[name] for name in self.topics], dtype=np.int32)[self.top.codes]
        if (codes[1:] >= codes[:-1]).all():
            return replace(self.top, codes=codes)
        rows = np.argsort(codes, kind="stable")
        return Top(codes[rows], self.top.docs[rows], self.top.scores[rows])


def top_of(run: Run, stem: str | None, *, depth: int | None, ties: str) -> NamedTop:
    """Take the first documents of each topic, or all."""
    order = order_of(run, ties)
    rows = order.rows
    codes = run.codes[rows]
    if depth is not None:
        first = np.arange(rows.size) - order.starts[codes] < depth
        rows, codes = rows[first], codes[first]
    return NamedTop(run.name, stem, run.topics, Top(codes, run.ids(rows), run.scores[rows]))


def all_topics(tops: Iterable[NamedTop]) -> list[str]:
    """List the topics that some run has, in order."""
    return topic_order(list({name for top in tops for name in top.topics}))


_DENSE = 4
"""Values are sorted in a table of documents by systems that has at most so many cells a value."""


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
        Document ids, a polars string column, by topic. Whatever is said of documents elsewhere
        goes by their index here.
    starts
        Where the documents of each topic begin: those of topic t are `starts[t]:starts[t + 1]`;
        shape (topics + 1,).
    ranked
        All rankings, one after the other: the document, an index into `docs`, at each rank.
        In order of topic, system and rank; shape (rows,).
    lists
        Where each ranking begins: `ranked[lists[i]:lists[i + 1]]` with
        `i = topic * len(systems) + system` is that of a system for a topic, the best document
        first; shape (topics * systems + 1,).
    scores
        The score of each row of `ranked`, as the run gives it; shape (rows,).
    """

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    depth: int
    docs: pl.Series
    starts: Ints
    ranked: NDArray[np.int32]
    lists: Ints
    scores: Floats

    @cached_property
    def topic(self) -> Codes:
        """Topic of each document, an index into `topics`; shape (documents,)."""
        return np.repeat(np.arange(len(self.topics), dtype=np.int32), np.diff(self.starts))

    @property
    def codes(self) -> Codes:  # type: ignore[override]
        """The same, as other tables call it."""
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
        best = np.full(len(self.docs), self.depth, dtype=np.int32)
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
        return np.bincount(self.ranked, minlength=len(self.docs))

    @cached_property
    def held(self) -> Ints:
        """Where the rows of each document begin in `by_document`; shape (documents + 1,)."""
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
        cls, tops: Sequence[Top], systems: Sequence[str], topics: Sequence[str], depth: int
    ) -> Self:
        """Put the first documents of runs side by side, documents of a topic by their bytes."""
        rows = _rows(tops)
        docs = rows.unique().sort("topic", "doc").with_row_index("number")
        number = rows.join(docs, on=["topic", "doc"], how="left", maintain_order="left")["number"]
        return cls._of_numbers(tops, systems, topics, depth, docs, number.to_numpy())

    @classmethod
    def in_any_order(
        cls, tops: Sequence[Top], systems: Sequence[str], topics: Sequence[str], depth: int
    ) -> Self:
        """Put them side by side in less time, documents of a topic in any order."""
        rows = _rows(tops)
        codes = rows["topic"].to_numpy()
        keys = pl.Series(pair_keys(rows["doc"], codes, topics))
        number = keys.rank("dense").to_numpy().astype(np.intp) - 1
        first = np.empty(int(number.max(initial=-1)) + 1, dtype=np.intp)
        first[number[::-1]] = np.arange(number.size)[::-1]
        # Numbers by key go to and fro between topics; documents stand by topic.
        by_topic = np.argsort(codes[first], kind="stable")
        place = np.empty_like(by_topic)
        place[by_topic] = np.arange(by_topic.size)
        number, docs = place[number], rows[first[by_topic]]
        # Equal keys are only a claim.
        if not (docs["doc"].gather(number) == rows["doc"]).all():
            return cls.of(tops, systems, topics, depth)
        return cls._of_numbers(tops, systems, topics, depth, docs, number)

    @classmethod
    def _of_numbers(
        cls,
        tops: Sequence[Top],
        systems: Sequence[str],
        topics: Sequence[str],
        depth: int,
        docs: pl.DataFrame,
        number: NDArray[Any],
    ) -> Self:
        cell = np.concatenate(
            [top.codes.astype(np.int64) * len(systems) + i for i, top in enumerate(tops)]
        )
        by_cell = np.argsort(cell, kind="stable")
        sizes = np.bincount(cell, minlength=len(topics) * len(systems))
        return cls(
            tuple(topics),
            tuple(systems),
            depth,
            docs["doc"].rechunk(),
            np.r_[0, np.cumsum(np.bincount(docs["topic"].to_numpy(), minlength=len(topics)))],
            number[by_cell].astype(np.int32),
            np.r_[0, np.cumsum(sizes)],
            np.concatenate([top.scores for top in tops])[by_cell],
        )

    def ascending(self, values: Floats) -> Floats:
        """Put a value of each row of `ranked` in order of document, and of value, ascending.

        Sums of equal values are equal then, whatever the names of the runs.
        """
        cells = self.docs.len() * len(self.systems)
        if cells > _DENSE * values.size:
            return values[np.lexsort((values, self.ranked))]
        table = np.full((self.docs.len(), len(self.systems)), np.inf)
        table[self.ranked, self.system] = values
        table.sort(axis=1)
        return np.asarray(table[np.isfinite(table)])


def _rows(tops: Sequence[Top]) -> pl.DataFrame:
    codes = np.concatenate([top.codes for top in tops])
    return pl.DataFrame({"topic": codes, "doc": pl.concat([top.docs for top in tops])})
