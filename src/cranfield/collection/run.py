"""Runs: the documents and scores of one system for each topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Indices
from cranfield.base.errors import PolicyError, quote, warn
from cranfield.base.text import inflect
from cranfield.collection.metadata.reading import MetadataLocation
from cranfield.collection.pairs import (
    Codes,
    ReadPairs,
    create_unchecked,
    make_row_error,
    make_topic_column,
    refuse_duplicates,
)
from cranfield.sources.chunks import Origin

if TYPE_CHECKING:
    from cranfield.collection.metadata.metadata import Metadata


@dataclass(frozen=True, eq=False)
class Run(ReadPairs):
    """The rankings of one system, one for each topic; returned by :func:`read_run`.

    Attributes
    ----------
    name
        Name of the system, by default the run tag, or the name of the file if it has no single tag.
    topics
        Topic ids, by code, in order of appearance.
    codes
        Topic of each row, an index into `topics`; shape (rows,).
    docs
        Document id of each row, as a polars string column.
    scores
        Retrieval score of each row, finite; higher is better.
    ranks
        Rank of each row in the input, 0 for values that are not integers; None without ranks.
    origin
        Source of the rows, for messages.
    metadata_source
        Location of the metadata, which :attr:`metadata` reads.
    is_unranked
        Mask of the rows whose rank is not an integer, shape (rows,); None if all are integers.
    n_chunks
        Number of chunks that were merged into documents; 0 if none were.

    Examples
    --------
    >>> from cranfield import read_run
    >>> run = read_run({"q1": {"d1": 0.5, "d2": 1.5}}, name="mine")
    >>> run
    Run('mine': 1 topic, 2 documents)
    >>> run.to_polars().rows()
    [('q1', 'd1', 0.5), ('q1', 'd2', 1.5)]
    """

    name: str
    topics: tuple[str, ...]
    codes: Codes
    docs: pl.Series
    scores: NDArray[np.float64]
    ranks: NDArray[np.int32] | None = None
    origin: Origin = field(default=Origin("a run"))
    metadata_source: MetadataLocation | None = None
    is_unranked: Bools | None = None
    n_chunks: int = 0

    def __post_init__(self) -> None:
        refuse_duplicates(self, self.keys, self.codes)

    @cached_property
    def metadata(self) -> Metadata | None:
        """The metadata of the run, read on access from its header or a file beside it, or None.

        Raises
        ------
        InputError
            If the metadata cannot be read.
        """
        return None if self.metadata_source is None else self.metadata_source.read()

    def __repr__(self) -> str:
        size = f"{inflect(len(self.topics), 'topic')}, {inflect(len(self), 'document')}"
        return f"Run({quote(self.name)}: {size})"

    def rename(self, name: str) -> Run:
        """Return the run under another name."""
        if not isinstance(name, str):
            raise PolicyError(f"the name of a run must be text, got {type(name).__name__}")
        return create_unchecked(type(self), **vars(self) | {"name": name})

    def restrict(self, mask: NDArray[np.bool_]) -> Run:
        """Return the run with some of its rows, in the same order, and their topics.

        Parameters
        ----------
        mask
            True for each row to keep; shape (rows,).

        Raises
        ------
        PolicyError
            For an array of another shape or type.

        Examples
        --------
        >>> from cranfield import read_run
        >>> run = read_run({"q1": {"d1": 0.5, "d2": 1.5}, "q2": {"d1": 1.0}})
        >>> run.restrict((run.docs == "d2").to_numpy()).to_polars().rows()
        [('q1', 'd2', 1.5)]
        """
        rows = find_selected_rows(mask, len(self))
        codes = self.codes[rows]
        first_rows = np.full(len(self.topics), rows.size)
        # Assigned in reverse order, so that the first row of each topic remains.
        first_rows[codes[::-1]] = np.arange(rows.size)[::-1]
        n_topics = int((first_rows < rows.size).sum())
        topic_codes = np.argsort(first_rows, kind="stable")[:n_topics]
        code_of = np.zeros(len(self.topics), dtype=np.int32)
        code_of[topic_codes] = np.arange(topic_codes.size)
        topics = tuple(self.topics[code] for code in topic_codes.tolist())
        return self._select(rows, topics=topics, codes=code_of[codes])

    def exclude_rows(self, is_excluded: NDArray[np.bool_]) -> Run:
        """Return the run without some rows; topics that lose all rows keep an empty ranking."""
        rows = find_selected_rows(~is_excluded, len(self))
        return self if rows.size == len(self) else self._select(rows)

    def merge_chunks(self, separator: str) -> Run:
        """Merge chunks into documents, each with the score of its best chunk (MaxP).

        The document also has the best rank of its chunks, and takes the row of its first chunk. A
        run without the separator is unchanged, with a warning.

        Parameters
        ----------
        separator
            Separator in ids of chunks; the text before it is the id of the document.

        Raises
        ------
        InputError
            For a chunk whose id begins with the separator.

        Examples
        --------
        >>> from cranfield import read_run
        >>> run = read_run({"q1": {"a#1": 0.5, "a#2": 1.5, "b#1": 1.0}})
        >>> run.merge_chunks("#").to_polars().rows()
        [('q1', 'a', 1.5), ('q1', 'b', 1.0)]
        """
        if not self.docs.str.contains(separator, literal=True).any():
            name = f"{self.origin.name}: " if self.origin.lines is not None else ""
            warn(f"{name}no document id has the chunk separator {quote(separator)}")
            return self
        docs = self.docs.str.split_exact(separator, 1).struct.field("field_0")
        if (is_empty := docs == "").any():
            row = int(is_empty.arg_true()[0])
            reason = f"expected a document before {quote(separator)} in the id of a chunk, got none"
            raise make_row_error(self, reason, row)
        rows, values = find_best_rows(self.codes, docs, self.scores, self.ranks, self.is_unranked)
        return self._select(rows, docs=docs[rows], n_chunks=len(self), **values)

    def warn_of_missing_ranks(self) -> None:
        """Warn of missing ranks, except with chunks, invalid ranks, or negated ranks as scores."""
        ranks = None if self.n_chunks or self.is_unranked is not None else self.ranks
        if ranks is not None and not np.array_equal(self.scores, -ranks.astype(np.float64)):
            warn_of_missing_ranks(self.origin.name, self.topics, self.codes, ranks)

    def warn_of_empty_topics(self) -> None:
        """Warn of topics with an empty ranking, which files cannot represent."""
        if n_empty := len(self.topics) - int(np.unique(self.codes).size):
            topics = inflect(n_empty, "topic")
            warn(f"excluded {topics} without documents, which no format can represent")

    def write_csv(self, path: str | PathLike[str]) -> None:
        """Write the table of `to_polars` as CSV; see :func:`cranfield.write_run`."""
        self.warn_of_empty_topics()
        super().write_csv(path)

    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Write the table of `to_polars` as Parquet; see :func:`cranfield.write_run`."""
        self.warn_of_empty_topics()
        super().write_parquet(path)

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a data frame: topic, doc, score, and rank if the run has ranks."""
        columns = {"topic": make_topic_column(self), "doc": self.docs, "score": self.scores}
        frame = pl.DataFrame(columns)
        return frame if self.ranks is None else frame.with_columns(rank=pl.Series(self.ranks))


def find_best_rows(
    codes: Codes,
    docs: pl.Series,
    scores: NDArray[np.float64],
    ranks: NDArray[np.int32] | None,
    is_unranked: Bools | None,
) -> tuple[Indices, dict[str, Any]]:
    """Return the first row of each document, and its best score and best rank in all rows."""
    no_rank = np.iinfo(np.int32).max
    known_ranks = np.full(scores.size, no_rank) if ranks is None else ranks
    if is_unranked is not None:
        known_ranks = np.where(is_unranked, no_rank, known_ranks)
    frame = pl.DataFrame({"topic": codes, "doc": docs, "score": scores, "rank": known_ranks})
    documents = (
        frame.with_row_index("row")
        .group_by("topic", "doc", maintain_order=True)
        .agg(pl.col("row").first(), pl.col("score").max(), pl.col("rank").min())
    )
    best_ranks = documents["rank"].to_numpy()
    has_no_rank = best_ranks == no_rank
    return documents["row"].to_numpy().astype(np.intp), {
        "scores": documents["score"].to_numpy(),
        "ranks": None if ranks is None else np.where(has_no_rank, 0, best_ranks).astype(np.int32),
        "is_unranked": None if is_unranked is None else has_no_rank,
    }


def warn_of_missing_ranks(
    source: str,
    topics: Sequence[str],
    codes: Codes,
    ranks: NDArray[np.int32],
    noun: str = "topic",
) -> None:
    """Warn of missing ranks; no rank is missing if tied documents share one, as in 1, 1, 3."""
    max_ranks = np.full(len(topics), 0, dtype=np.int64)
    np.maximum.at(max_ranks, codes, ranks)
    min_rank = min(int(ranks.min(initial=1)), 1)
    n_missing = (max_ranks - min_rank + 1 - np.bincount(codes, minlength=len(topics))).clip(0)
    if n_missing.any():
        topic = int(n_missing.argmax())
        topic_ranks = np.sort(ranks[codes == topic]) - min_rank
        gap = int(np.argmax(topic_ranks > np.arange(topic_ranks.size)))
        rank = min_rank + (int(topic_ranks[gap - 1]) + 1 if gap else 0)
        warn(
            f"{source}: {inflect(int(n_missing.sum()), 'rank')} missing, such as rank {rank} of"
            f" {noun} {quote(topics[topic])}; documents below missing ranks move up"
        )


def find_selected_rows(mask: NDArray[np.bool_], n_rows: int) -> Indices:
    mask = np.asarray(mask)
    if mask.dtype != np.bool_ or mask.shape != (n_rows,):
        got = f"{mask.dtype} of shape {mask.shape}"
        raise PolicyError(f"expected {n_rows} Boolean values, got {got}")
    return np.flatnonzero(mask)
