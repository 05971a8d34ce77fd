"""Shards: partitions of the documents, and runs judged by shard.

Random shards use SipHash, because the hashes of Python and polars change with the version, the
machine or the process, and no stored result may depend on them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, check_integer, quote
from cranfield.base.text import inflect
from cranfield.collection.files.named_columns import DOC
from cranfield.collection.judged.coverage import Scorable, Scorer, find_lowest_relevant_grade
from cranfield.collection.judged.each_run import JudgedRun, Progress, assemble_runs, judge_each
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import hint_at_order, judge_one, read_inputs
from cranfield.collection.judged.ranking import order_documents
from cranfield.collection.pairs import IndexedTable, Keys, make_row_error
from cranfield.collection.policies import CHOICES, MAX_VALUES, Policies, make_policies
from cranfield.collection.qrels import Qrels, number_sorted_values
from cranfield.collection.run import Run
from cranfield.sources.columns import convert_columns, make_pair_reader, read_table
from cranfield.sources.schemas import TABLE_FORMATS, FileColumn, Schema
from cranfield.sources.values import ID

_STATE = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)

_BLOCK = 1 << 16
"""Number of strings hashed at a time, to bound memory."""


def compute_siphash(texts: pl.Series, key: tuple[int, int]) -> Keys:
    r"""Hash the UTF-8 bytes of each string under a key of 128 bits, in two halves.

    A string is split into little-endian words \(m\) of 8 bytes. The last word is padded with zeros,
    and has the length of the string in its highest byte. Each word is followed by two rounds on the
    state of four words, and the last word by four more rounds:

    .. math:: v_3 \leftarrow v_3 \oplus m, \quad \mathrm{round}^2, \quad
        v_0 \leftarrow v_0 \oplus m; \qquad v_2 \leftarrow v_2 \oplus 255, \quad
        \mathrm{round}^4, \quad h = v_0 \oplus v_1 \oplus v_2 \oplus v_3

    Source: Aumasson and Bernstein (2012), SipHash: a fast short-input PRF.
    """
    hashes = np.empty(len(texts), dtype=np.uint64)
    for start in range(0, len(texts), _BLOCK):
        block = texts.slice(start, _BLOCK)
        # Concatenation gives the bytes of all strings without a Python object for each.
        data = np.frombuffer(str(block.str.join("").item()).encode() + bytes(8), dtype=np.uint8)
        lengths = block.str.len_bytes().to_numpy().astype(np.int64)
        hashes[start : start + _BLOCK] = _hash_concatenated(data, lengths, key)
    return hashes


def _hash_concatenated(
    data: NDArray[np.uint8], lengths: NDArray[np.int64], key: tuple[int, int]
) -> Keys:
    """Hash concatenated strings, those with the same number of full words together."""
    starts = np.cumsum(lengths) - lengths
    # A word begins at each byte.
    words = np.ndarray((data.size - 7,), dtype="<u8", buffer=data.data, strides=(1,))
    n_words = lengths // 8
    out = np.empty(lengths.size, dtype=np.uint64)
    for n_full_words in np.flatnonzero(np.bincount(n_words)).tolist():
        rows = np.flatnonzero(n_words == n_full_words)
        positions, length = starts[rows], lengths[rows]
        words_of_state = zip(_STATE, (*key, *key), strict=True)
        state = [np.full(rows.size, word ^ half, dtype=np.uint64) for word, half in words_of_state]
        for _ in range(n_full_words):
            _absorb(state, words[positions].astype(np.uint64, copy=False))
            positions = positions + 8
        bits = (length % 8).astype(np.uint64) * np.uint64(8)
        # The mask removes the bytes of the next string.
        last_words = words[positions] & ((np.uint64(1) << bits) - np.uint64(1))
        _absorb(state, last_words | ((length & 255).astype(np.uint64) << np.uint64(56)))
        state[2] ^= np.uint64(255)
        for _ in range(4):
            _apply_round(state)
        out[rows] = state[0] ^ state[1] ^ state[2] ^ state[3]
    return out


def _absorb(state: list[Keys], word: Keys) -> None:
    state[3] ^= word
    _apply_round(state)
    _apply_round(state)
    state[0] ^= word


def _apply_round(state: list[Keys]) -> None:
    a, b, c, d = state
    _mix(a, b, 13)
    _mix(c, d, 16)
    _rotate(a, 32)
    _mix(a, d, 21)
    _mix(c, b, 17)
    _rotate(c, 32)


def _mix(a: Keys, b: Keys, bits: int) -> None:
    a += b
    _rotate(b, bits)
    b ^= a


def _rotate(word: Keys, bits: int) -> None:
    high_bits = word >> np.uint64(64 - bits)
    word <<= np.uint64(bits)
    word |= high_bits


Shards = NDArray[np.int32]
"""Shard of each document, as an index into the labels; -1 for a document in no shard."""

_DOCUMENTS = Schema("list of documents", (FileColumn("doc", ID),))

MAX_SHARDS = 10_000
"""Maximum number of shards; with more, shards would have hardly any judgments."""


class Sharding(ABC):
    """A partition of documents into shards; see :func:`random_shards` and :func:`read_shards`.

    Attributes
    ----------
    labels
        Names of the shards, in order.
    """

    labels: tuple[str, ...]

    @abstractmethod
    def _look_up_shards(self, docs: pl.Series) -> Shards: ...

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the settings of the partition, as plain values."""

    def find_shards(self, docs: Iterable[str] | pl.Series) -> Shards:
        """Find the shard of each document.

        Parameters
        ----------
        docs
            Ids: a polars column, such as `run.docs`, or any iterable.

        Returns
        -------
        array
            Indices into `labels`; -1 for a document that is in no shard.

        Raises
        ------
        InputError
            For a value that is not a document id.
        """
        if not isinstance(docs, pl.Series):
            docs = [docs] if isinstance(docs, str) else list(docs)
        if not (isinstance(docs, pl.Series) and docs.dtype == pl.String and not docs.null_count()):
            docs = convert_columns({"doc": docs}, _DOCUMENTS, "documents", allows_empty=True).frame[
                "doc"
            ]
        return self._look_up_shards(docs)

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class RandomShards(Sharding):
    r"""Random shards, independent for each document: see :func:`random_shards`.

    Attributes
    ----------
    shards
        Number of shards S.
    seed, sampling
        Seed, and number of the partition among those with this seed.
    """

    shards: int
    seed: int = 0
    sampling: int = 0

    def __post_init__(self) -> None:
        check_integer("the number of shards", self.shards, 1, MAX_SHARDS)
        check_integer("the seed", self.seed, 0)
        check_integer("sampling", self.sampling, 0)

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The numbers of the shards, from 1."""
        return tuple(str(k + 1) for k in range(self.shards))

    @cached_property
    def key(self) -> tuple[int, int]:
        """The 128-bit key of the hash, in two halves."""
        spawn_key = int(self.shards), int(self.sampling)
        sequence = np.random.SeedSequence(int(self.seed), spawn_key=spawn_key)
        first, second = sequence.generate_state(2, np.uint64).tolist()
        return first, second

    def _look_up_shards(self, docs: pl.Series) -> Shards:
        return (compute_siphash(docs, self.key) % np.uint64(self.shards)).astype(np.int32)

    def describe(self) -> dict[str, Any]:
        """Return the number of shards, the seed and the sampling."""
        return {
            "shards": int(self.shards),
            "shard seed": int(self.seed),
            "shard sampling": int(self.sampling),
        }


def random_shards(shards: int = 3, seed: int = 0, sampling: int = 0) -> RandomShards:
    r"""Partition all documents at random.

    The shard of a document d follows from its id alone:

    .. math:: \mathrm{shard}(d) = \mathrm{SipHash}_{key}(d) \bmod S, \quad
        key = \mathrm{SeedSequence}(seed, (S, sampling))

    It does not depend on the order of the input, the runs, the documents they retrieved, or the
    version of any program. Each document is in each shard with probability 1/S, independently of
    other documents, so that the sizes of shards are binomial and not exactly equal. Partitions with
    different seeds, samplings or numbers of shards are independent.

    Source: Voorhees, Samarov and Soboroff (2017), Using replicates in information retrieval
    evaluation; Ferro and Sanderson (2019), Improving the accuracy of system performance
    estimation by using shards. Their partitions are uniform, too.

    Parameters
    ----------
    shards
        Number of shards S, from 1 to 10,000.
    seed
        Seed of the random numbers, an integer >= 0.
    sampling
        Number of the partition among those with the same seed, from 0.

    Returns
    -------
    RandomShards
        The partition; its labels are the numbers 1 to S.

    Raises
    ------
    PolicyError
        For a number outside its range.

    Examples
    --------
    >>> thirds = random_shards(3, seed=7)
    >>> thirds.find_shards(["FT934-5418", "FBIS3-10082", "LA122989-0063"]).tolist()
    [1, 2, 2]
    """
    return RandomShards(shards, seed, sampling)


_SHARDS = Schema(
    "table of shards",
    (DOC, FileColumn("shard", ID)),
    noun="shards",
    formats=TABLE_FORMATS,
    tuples=None,
    read_mapping=make_pair_reader("doc", "shard"),
    suspicions={"document occurs twice in the shards": pl.col("doc").is_duplicated()},
)


@dataclass(frozen=True, eq=False, repr=False)
class TableShards(IndexedTable, Sharding):
    """Shards from a table: see :func:`read_shards`.

    `labels` are in numeric order if all are numbers, else sorted; `codes` is the shard of each
    document of `docs`, which has no repeats.
    """

    labels: tuple[str, ...]
    docs: pl.Series
    codes: Shards
    name: str = "shards"

    def _look_up_shards(self, docs: pl.Series) -> Shards:
        query_rows, rows = self._index.find_matching_rows(docs)
        out = np.full(len(docs), -1, dtype=np.int32)
        out[query_rows] = self.codes[rows]
        return out

    def describe(self) -> dict[str, Any]:
        """Return the number of shards and their source."""
        return {"shards": len(self.labels), "shards from": self.name}

    def __repr__(self) -> str:
        size = f"{inflect(len(self), 'shard')}, {inflect(len(self.docs), 'document')}"
        return f"TableShards({size})"


def read_shards(data: Any) -> TableShards:
    """Read the shard of each document.

    Parameters
    ----------
    data
        A dict `{document: shard}`, a data frame of any library, or the path of a file with named
        columns: CSV, TSV or Parquet by its suffix, compressed or not. The columns are `doc` and
        `shard`, or other usual names for them, such as `docno`; no other column is read.

    Returns
    -------
    TableShards
        The partition. Shards are in numeric order if all are numbers, else sorted by name.

    Raises
    ------
    InputError
        For unreadable input, a missing column, or a repeated document.

    Examples
    --------
    >>> parts = read_shards({"d1": "news", "d2": "law", "d3": "news"})
    >>> parts.labels, parts.find_shards(["d1", "d2", "d9"]).tolist()
    (('law', 'news'), [1, 0, -1])
    """
    if isinstance(data, TableShards):
        return data
    table = read_table(data, _SHARDS)
    docs, names = table.frame["doc"], table.frame["shard"]
    labels, codes = number_sorted_values(names)
    return TableShards(labels, docs.rechunk(), codes.astype(np.int32), table.source)


def make_sharding(shards: Any, seed: int | None = None) -> Sharding:
    """Convert `shards` to a partition: random shards for a number, else a table that is read."""
    if isinstance(shards, (int, float, np.number)):
        return random_shards(shards, 0 if seed is None else seed)  # type: ignore[arg-type]
    if seed is not None:
        raise PolicyError("seed requires a number of shards, got a partition")
    return shards if isinstance(shards, Sharding) else read_shards(shards)


UNMAPPED = {
    "error": "refuse runs and judgments with a document in no shard",
    "drop": "skip such documents, and count them",
}
"""Effect of each policy for documents in no shard."""


@dataclass(frozen=True, eq=False)
class JudgedShards(Scorable):
    """Runs judged on the shards of one partition.

    Attributes
    ----------
    sharding
        The partition.
    shards
        The judged runs of each shard, with the same topics and systems.
    n_lost_documents
        By system, the number of retrieved documents that were excluded, as they are in no shard.
    n_lost_judgments
        Number of judgments that were excluded, as their documents are in no shard.
    rel
        Lowest relevant grade, to decide whether a shard has a relevant document of a topic; None
        for the lowest relevant grade of each measure.
    """

    sharding: Sharding
    shards: tuple[JudgedRuns, ...]
    n_lost_documents: Mapping[str, int]
    n_lost_judgments: int
    rel: int | None = None

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in order."""
        return self.shards[0].topics

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in order."""
        return self.shards[0].systems

    @property
    def shard_labels(self) -> tuple[str, ...]:
        """The names of the shards, in order."""
        return self.sharding.labels

    def compute_scores(self, measures: Sequence[Scorer]) -> list[Floats]:
        """Return the scores; NaN also where a shard has no relevant document of a topic."""
        # Copies, so that the cached views are freed afterwards.
        copies = (replace(judged, views={}) for judged in self.shards)
        by_shard = [judged.compute_scores(measures) for judged in copies]
        return [
            np.where(self._find_gaps(measure)[:, None], np.nan, np.stack(values, axis=2))
            for measure, *values in zip(measures, *by_shard, strict=True)
        ]

    def describe_settings(self, measure: Scorer) -> dict[str, Any]:
        """Return the policies, the partition, and the numbers of all cells and of empty cells."""
        gaps = self._find_gaps(measure)
        return {
            **self.shards[0].describe_settings(measure),
            **self.sharding.describe(),
            "shard labels": list(self.sharding.labels),
            "relevant from": self._find_relevant_grade(measure),
            "cells": gaps.size,
            "cells without scores": int(gaps.sum()),
            "judgments in no shard": self.n_lost_judgments,
            "documents in no shard": sum(self.n_lost_documents.values()),
        }

    def _find_relevant_grade(self, measure: Scorer) -> int:
        return find_lowest_relevant_grade(measure) if self.rel is None else int(self.rel)

    def _find_gaps(self, measure: Scorer) -> Bools:
        """Return the mask of cells without a relevant document; shape (topics, shards)."""
        low = self._find_relevant_grade(measure)
        bases = [judged.recall_base(low) for judged in self.shards]
        return np.asarray(np.concatenate(bases, axis=1) == 0)

    def counts(self) -> pl.DataFrame:
        """Count the judgments and retrieved documents of each shard.

        Returns
        -------
        polars.DataFrame
            One row per shard: `shard`, `judgments`, `relevant` (judgments of grade 1 or higher),
            `topics` (with a relevant document), and `retrieved` (by all systems for all topics).
        """
        relevant = [judged.recall_base() for judged in self.shards]
        return pl.DataFrame(
            {
                "shard": pl.Series(self.sharding.labels, dtype=pl.String),
                "judgments": [judged.judgments.grade.size for judged in self.shards],
                "relevant": [int(base.sum()) for base in relevant],
                "topics": [int((base > 0).sum()) for base in relevant],
                "retrieved": [int(judged.n_retrieved.sum()) for judged in self.shards],
            }
        )


class _SplitQrels(NamedTuple):
    sharding: Sharding
    qrels: tuple[Qrels, ...]
    n_unmapped: int


def judge_shards(
    runs: Any,
    qrels: Any,
    shardings: Sequence[Sharding],
    *,
    unmapped: str = "error",
    measures: Iterable[Scorer] = (),
    rel: int | None = None,
    compat: str | None = None,
    jobs: int | None = None,
    backend: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> tuple[JudgedRuns, tuple[JudgedShards, ...]]:
    """Judge runs on the whole collection, and on each shard of each partition."""
    policy = make_policies(compat, **{k: options.pop(k, None) for k in (*CHOICES, *MAX_VALUES)})
    check_choice("unmapped", unmapped, UNMAPPED)
    if unmapped == "drop" and all(isinstance(shards, RandomShards) for shards in shardings):
        raise PolicyError("unmapped='drop' requires a table of shards, got random shards")
    read_options = {k: options[k] for k in ("system", "columns", "on_duplicate") if k in options}
    with hint_at_order(runs, qrels, **read_options):
        run_list, subtopic_qrels = read_inputs(runs, qrels, **options)
    merged = subtopic_qrels.merge_subtopics()
    lowest_judged = merged.find_lowest_judged_grade(policy.negative)
    rels = {find_lowest_relevant_grade(m) for m in measures} if rel is None else {int(rel)}
    grades = sorted({max(grade, lowest_judged) for grade in rels or {1}})
    splits = [_split_qrels(merged, sharding, unmapped, grades) for sharding in shardings]

    judge_run = _ShardJudge(merged, splits, unmapped, policy)
    workers = {"jobs": jobs, "backend": backend}
    all_judgments = (merged, *(part for split in splits for part in split.qrels))
    with hint_at_order(runs, qrels, **read_options):
        names, results = judge_each(run_list, all_judgments, judge_run, progress, **workers)

    def assemble(
        judged_runs: Sequence[JudgedRun], judgments: Qrels, topics: Sequence[str] | None = None
    ) -> JudgedRuns:
        judged = assemble_runs(names, judged_runs, judgments, policy, topics=topics)
        judged = judged.with_settings(run_list.settings)
        max_grade = policy.max_grade or max(merged.max_grade, 0)
        judged = replace(judged, judgments=replace(judged.judgments, max_grade=max_grade), views={})
        return judged.condense() if policy.unjudged == "condensed" else judged

    judged_runs = assemble([run for run, _ in results], merged)
    topics = None if policy.topics_with_grade is None else judged_runs.topics
    judged_shards = []
    for s, split in enumerate(splits):
        shards = tuple(
            assemble([by_sharding[s][0][k] for _, by_sharding in results], judgments, topics)
            for k, judgments in enumerate(split.qrels)
        )
        n_lost = [by_sharding[s][1] for _, by_sharding in results]
        lost = dict(zip(names, n_lost, strict=True))
        judged_shards.append(JudgedShards(split.sharding, shards, lost, split.n_unmapped, rel))
        for _, by_sharding in results:
            # Free the memory: otherwise the results of each partition would be stored twice.
            by_sharding[s][0].clear()
    return judged_runs, tuple(judged_shards)


@dataclass(frozen=True, eq=False)
class _ShardJudge:
    """Function that judges a run on the whole collection, and on the shards of each partition."""

    qrels: Qrels
    splits: Sequence[_SplitQrels]
    unmapped: str
    policies: Policies

    def __call__(
        self, run: Run, stem: str | None
    ) -> tuple[JudgedRun, list[tuple[list[JudgedRun], int]]]:
        judged_run, policy = judge_one(run, stem, self.qrels, self.policies), self.policies
        if policy.depth is not None:
            ranks = order_documents(run, policy.ties).compute_ranks(np.arange(len(run)))
            run = run.restrict(ranks <= policy.depth)
        return judged_run, [self._judge_shards(run, judged_run, split) for split in self.splits]

    def _judge_shards(
        self, run: Run, judged_run: JudgedRun, split: _SplitQrels
    ) -> tuple[list[JudgedRun], int]:
        """Judge a run on each shard; also return the number of its documents in no shard."""
        shard = split.sharding.find_shards(run.docs)
        if self.unmapped == "error":
            _check_mapped(run, shard < 0, "document")
        shard_runs = []
        for k, judgments in enumerate(split.qrels):
            shard_run = judge_one(
                run.restrict(shard == k), judged_run.stem, judgments, self.policies
            )
            extra = {topic: shard_run.extra.get(topic, 0) for topic in judged_run.extra}
            # A run has the same topics in every shard, even if it retrieves nothing from a shard.
            shard_runs.append(replace(shard_run, has_topic=judged_run.has_topic, extra=extra))
        return shard_runs, int((shard < 0).sum())


def _split_qrels(
    qrels: Qrels, sharding: Sharding, unmapped: str, grades: Sequence[int]
) -> _SplitQrels:
    """Split judgments by shard, and check that each shard has a relevant document."""
    shard = sharding.find_shards(qrels.docs)
    is_lost = shard < 0
    if unmapped == "error":
        _check_mapped(qrels, is_lost, "judgment")
    n_shards = len(sharding)
    for grade in grades:
        is_relevant = qrels.grades >= grade
        n_relevant = np.bincount(shard[is_relevant & ~is_lost], minlength=n_shards)
        empty_shards = np.flatnonzero(n_relevant == 0)
        if empty_shards.size:
            n_documents = qrels.docs.gather(np.flatnonzero(is_relevant)).n_unique()
            documents = inflect(n_documents, "document")
            raise CranfieldError(
                f"shard {quote(sharding.labels[empty_shards[0]])} has no relevant document of any"
                f" topic ({inflect(n_shards, 'shard')}, {documents} of grade {grade} or higher);"
                " use fewer shards"
            )
    parts = tuple(qrels.restrict(shard == k) for k in range(n_shards))
    return _SplitQrels(sharding, parts, int(is_lost.sum()))


def _check_mapped(table: Run | Qrels, is_lost: Bools, noun: str) -> None:
    if is_lost.any():
        count = inflect(int(is_lost.sum()), noun)
        reason = (
            f"expected a shard for each {noun}, got {count} in no shard; unmapped='drop' skips them"
        )
        raise make_row_error(table, reason, int(is_lost.argmax()))
