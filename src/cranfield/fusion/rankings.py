"""Aligned rankings of several runs: the document at each rank, by topic and run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import PolicyError, check_integer, quote, warn
from cranfield.base.text import list_some
from cranfield.collection.judged.coverage import describe_contradictions
from cranfield.collection.judged.ranking import BY_ROW, order_documents
from cranfield.collection.judged.rows import join_ranges
from cranfield.collection.pairs import Codes, PairTable
from cranfield.collection.qrels import sort_topics
from cranfield.collection.run import Run


@dataclass(frozen=True, eq=False)
class RunTop:
    """The top documents of a run, in order of topic and rank; topics are those of the run."""

    name: str
    stem: str | None
    topics: tuple[str, ...]
    sizes: Ints  # number of documents of each topic; shape (topics,)
    docs: pl.Series
    scores: Floats  # score of each row; empty unless requested
    n_contradictions: int = 0  # number of pairs of adjacent scores with reversed ranks
    tied_proportion: float = 0.0  # proportion of tied documents; 0 if ties keep the input's order
    has_scores: bool = True  # False if the requested scores are negated ranks


@dataclass(frozen=True, eq=False)
class NumberedTop:
    """The top documents of a run, in order of topic and rank; topics are those of all runs."""

    starts: Ints  # first row of each topic; shape (topics + 1,)
    docs: Ints  # numbers of documents, in the order of the bytes of their ids
    scores: Floats  # score of each row; empty unless requested

    def slice_topics(self, first: int, stop: int) -> NumberedTop:
        """Return the rows of a range of topics."""
        starts = self.starts[first : stop + 1]
        rows = slice(int(starts[0]), int(starts[-1]))
        return NumberedTop(starts - starts[0], self.docs[rows], self.scores[rows])


def select_top_rows(
    run: Run, stem: str | None, *, depth: int | None, ties: str, uses_scores: bool = True
) -> RunTop:
    """Select the top documents of each topic, by default all, with scores if `uses_scores`."""
    order = order_documents(run, ties)
    rows, sizes = order.rows, order.counts
    if depth is not None:
        rows = rows[join_ranges(np.zeros_like(sizes), sizes)[1] < depth]
        sizes = np.minimum(sizes, depth)
    scores = run.scores[rows] if uses_scores else np.zeros(0)
    docs = run.docs[rows]
    ranks = join_ranges(0 * sizes, sizes)[1] + 1 if run.ranks is None else run.ranks[rows]
    has_scores = not (uses_scores and sizes.max() > 1 and np.array_equal(scores, -1.0 * ranks))
    tied_proportion = 0.0 if ties in BY_ROW else order.n_tied / max(len(run.docs), 1)
    order_checks = order.n_contradictions, tied_proportion
    return RunTop(run.name, stem, run.topics, sizes, docs, scores, *order_checks, has_scores)


def describe_runs(run_indices: Sequence[int], names: Sequence[str]) -> str:
    """Return the beginning of a sentence, such as `1 of 2 runs has`."""
    return f"{len(run_indices)} of {len(names)} runs {'has' if len(run_indices) == 1 else 'have'}"


def warn_of_runs(names: Sequence[str], tops: Sequence[RunTop]) -> None:
    """Warn of ranks that contradict scores, and of runs without a common topic."""
    counts = {name: top.n_contradictions for name, top in zip(names, tops, strict=True)}
    notes = describe_contradictions(counts)
    n_runs = Counter(topic for top in tops for topic in top.topics)
    isolated_runs = [
        k
        for k, top in enumerate(tops)
        if top.topics and all(n_runs[topic] == 1 for topic in top.topics)
    ]
    if isolated_runs and len(tops) > 1:
        text, k = describe_runs(isolated_runs, names), isolated_runs[0]
        example = f"{quote(names[k])} has {list_some(map(quote, tops[k].topics), 3)}"
        notes.append(f"{text} no topic in common with any other run ({example}); check topic ids")
    for note in notes:
        warn(note)


def list_topics(tops: Iterable[RunTop]) -> list[str]:
    """List the topics of all runs, in order."""
    return sort_topics(list({topic for top in tops for topic in top.topics}))


def number_jointly(
    tops: Sequence[RunTop], topics: Sequence[str]
) -> tuple[list[NumberedTop], pl.Series]:
    """Number topics and documents jointly over all runs; also return document ids by number."""
    docs = pl.concat([top.docs for top in tops])
    ids = docs.unique().sort()
    doc_numbers = pl.DataFrame({"doc": ids, "number": np.arange(len(ids))})
    numbered_docs = pl.DataFrame({"doc": docs}).join(doc_numbers, on="doc", maintain_order="left")
    ends = np.cumsum([len(top.docs) for top in tops])
    docs_of_runs = np.split(numbered_docs["number"].to_numpy(), ends[:-1])
    topic_numbers = {topic: i for i, topic in enumerate(topics)}
    pairs = zip(tops, docs_of_runs, strict=True)
    return [_align_topics(top, run_docs, topic_numbers) for top, run_docs in pairs], ids


def _align_topics(top: RunTop, docs: Ints, topic_numbers: Mapping[str, int]) -> NumberedTop:
    """Sort the rows of a run by the topics of all runs."""
    topics = np.array([topic_numbers[topic] for topic in top.topics], dtype=np.intp)
    sizes = np.zeros(len(topic_numbers), dtype=np.int64)
    sizes[topics] = top.sizes
    starts = np.r_[0, np.cumsum(sizes)]
    if (topics[1:] > topics[:-1]).all():
        return NumberedTop(starts, docs, top.scores)
    first_rows = np.zeros(len(topic_numbers), dtype=np.int64)
    first_rows[topics] = np.cumsum(top.sizes) - top.sizes
    _, rows = join_ranges(first_rows, first_rows + sizes)
    return NumberedTop(starts, docs[rows], top.scores[rows] if top.scores.size else top.scores)


_MAX_SPARSITY = 4
"""Largest ratio of cells to values at which a table of documents and systems is sorted."""


@dataclass(frozen=True, eq=False, repr=False)
class Rankings(PairTable):
    """The top documents of several runs by topic, and the runs that rank each document."""

    topics: tuple[str, ...]  # in numerical order if all are numbers, else by bytes
    systems: tuple[str, ...]
    depth: int  # number of pooled ranks of each ranking; fusion sets it to 0 and does not use it
    docs: pl.Series  # ids of documents by topic; `ranked` contains indices into it
    starts: Ints
    """Documents of topic t are `starts[t]:starts[t + 1]`; shape (topics + 1,)."""
    ranked: NDArray[np.int32]
    """Document at each rank, in order of topic, system and rank; shape (rows,)."""
    ranking_starts: Ints
    """Ranking i, best document first, is `ranked[ranking_starts[i]:ranking_starts[i + 1]]`, with
    `i = topic * len(systems) + system`; shape (topics * systems + 1,)."""
    scores: Floats  # score of each row of `ranked`; shape (rows,)

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
        """Topic of each document, under the name that `PairTable` requires."""
        return self.topic

    @cached_property
    def rank(self) -> NDArray[np.int32]:
        """Rank of each row of `ranked`, from 1; shape (rows,)."""
        return (np.arange(self.ranked.size) - self.ranking_starts[self.cell] + 1).astype(np.int32)

    @cached_property
    def system(self) -> NDArray[np.int32]:
        """System of each row of `ranked`, an index into `systems`; shape (rows,)."""
        return (self.cell % len(self.systems)).astype(np.int32)

    @cached_property
    def best_rank(self) -> NDArray[np.int32]:
        """Best rank of each document in any run, from 1; shape (documents,)."""
        best_ranks = np.full(self.size, np.iinfo(np.int32).max, dtype=np.int32)
        np.minimum.at(best_ranks, self.ranked, self.rank)
        return best_ranks

    @cached_property
    def n_runs_by_topic(self) -> Ints:
        """Number of runs that have a document for each topic; shape (topics,)."""
        sizes = np.diff(self.ranking_starts).reshape(len(self.topics), -1)
        return np.asarray((sizes > 0).sum(axis=1))

    @cached_property
    def run_counts(self) -> Ints:
        """Number of runs that have each document; shape (documents,)."""
        return np.bincount(self.ranked, minlength=self.size)

    @cached_property
    def document_starts(self) -> Ints:
        """Start of the rows of each document in `by_document`; shape (documents + 1,)."""
        return np.asarray(np.r_[0, np.cumsum(self.run_counts)])

    @cached_property
    def by_document(self) -> Indices:
        """Rows of `ranked` in order of document, then system; shape (rows,)."""
        return np.argsort(self.ranked, kind="stable")

    @cached_property
    def cell(self) -> Ints:
        """Index in `ranking_starts` of the ranking of each row of `ranked`; shape (rows,)."""
        return np.repeat(np.arange(self.ranking_starts.size - 1), np.diff(self.ranking_starts))

    @classmethod
    def from_tops(
        cls,
        tops: Sequence[NumberedTop],
        systems: Sequence[str],
        topics: Sequence[str],
        depth: int,
        ids: pl.Series,
    ) -> Self:
        """Build rankings from the top rows of runs; documents of a topic are sorted by id."""
        if not all(isinstance(topic, str) for topic in topics):
            raise PolicyError(f"topics of rankings must be strings, got {quote(topics)}")
        check_integer("depth", depth, 0, np.iinfo(np.int32).max)
        sizes = np.stack([np.diff(top.starts) for top in tops], axis=1)
        offsets = np.cumsum([0, *(top.starts[-1] for top in tops[:-1])])
        first_rows = np.stack([top.starts[:-1] for top in tops], axis=1) + offsets
        _, rows = join_ranges(first_rows.ravel(), (first_rows + sizes).ravel())
        topic = np.repeat(np.arange(len(topics)), sizes.sum(axis=1))
        pairs = topic * len(ids) + np.concatenate([top.docs for top in tops])[rows]
        pairs, ranked = np.unique(pairs, return_inverse=True)
        scores = np.concatenate([top.scores for top in tops])
        return cls(
            tuple(topics),
            tuple(systems),
            depth,
            ids.gather(pairs % max(len(ids), 1)).rename("doc"),
            np.searchsorted(pairs, np.arange(len(topics) + 1) * len(ids)),
            ranked.astype(np.int32),
            np.r_[0, np.cumsum(sizes.ravel())],
            scores[rows] if scores.size else scores,
        )

    def sort_values(self, values: Floats) -> Floats:
        """Sort the values of rows by document, then by value, so that sums have one fixed order."""
        n_cells = self.size * len(self.systems)
        if n_cells > _MAX_SPARSITY * values.size:
            return values[np.lexsort((values, self.ranked))]
        table = np.full((self.size, len(self.systems)), np.inf)
        table[self.ranked, self.system] = values
        table.sort(axis=1)
        return np.asarray(table[np.isfinite(table)])
