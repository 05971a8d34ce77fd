"""Runs: the documents and scores of one system for each topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Indices
from cranfield.base.errors import PolicyError, quoted, warn
from cranfield.base.text import counted
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.collection.pairs import (
    Codes,
    ReadPairs,
    refuse_repeats,
    row_error,
    topic_column,
    unchecked,
)
from cranfield.sources.chunks import Origin

if TYPE_CHECKING:
    from cranfield.collection.metadata.metadata import Metadata


@dataclass(frozen=True, eq=False)
class Run(ReadPairs):
    """The rankings of one system, one for each topic; made by :func:`read_run`.

    Attributes
    ----------
    name
        Name of the system: the run tag, or the name of the file if it has no tag.
    topics
        Topic ids, by code, in order of appearance.
    codes
        Topic of each row, an index into `topics`; shape (rows,).
    docs
        Document id of each row, as a polars string column.
    scores
        Retrieval score of each row, finite; higher is better.
    ranks
        The rank column of the file, 0 for values that are not integers; None without a rank column.
    origin
        Source of the rows, for messages.
    described
        Location of the metadata, which :attr:`metadata` reads.
    unranked
        Mask of the rows whose rank is not an integer, shape (rows,); None if all are integers.
    chunks
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
    described: MetadataPlace | None = None
    unranked: Bools | None = None
    chunks: int = 0

    def __post_init__(self) -> None:
        refuse_repeats(self, self.keys, self.codes)

    @cached_property
    def metadata(self) -> Metadata | None:
        """The metadata of the run, read on access from its header or a file beside it, or None.

        Raises
        ------
        InputError
            If the metadata cannot be read.
        """
        return None if self.described is None else self.described.read()

    def __repr__(self) -> str:
        size = f"{counted(len(self.topics), 'topic')}, {counted(len(self), 'document')}"
        return f"Run({quoted(self.name)}: {size})"

    def renamed(self, name: str) -> Run:
        """Return the run under another name."""
        if not isinstance(name, str):
            raise PolicyError(f"the name of a run must be text, got {type(name).__name__}")
        return unchecked(type(self), **vars(self) | {"name": name})

    def restricted(self, mask: NDArray[np.bool_]) -> Run:
        """Return the run with some of its rows, in the same order, and their topics.

        Parameters
        ----------
        mask
            Whether to keep each row; shape (rows,).

        Raises
        ------
        PolicyError
            For an array of another shape or type.

        Examples
        --------
        >>> from cranfield import read_run
        >>> run = read_run({"q1": {"d1": 0.5, "d2": 1.5}, "q2": {"d1": 1.0}})
        >>> run.restricted((run.docs == "d2").to_numpy()).to_polars().rows()
        [('q1', 'd2', 1.5)]
        """
        rows = rows_of_mask(mask, len(self))
        codes = self.codes[rows]
        first = np.full(len(self.topics), rows.size)
        # Assigned in reverse order, so that the first row of each topic remains.
        first[codes[::-1]] = np.arange(rows.size)[::-1]
        by_first = np.argsort(first, kind="stable")[: int((first < rows.size).sum())]
        code_of = np.zeros(len(self.topics), dtype=np.int32)
        code_of[by_first] = np.arange(by_first.size)
        topics = tuple(self.topics[code] for code in by_first.tolist())
        return self._rows(rows, topics=topics, codes=code_of[codes])

    def without(self, excluded: NDArray[np.bool_]) -> Run:
        """Return the run without some rows; topics without any other row have an empty ranking."""
        rows = rows_of_mask(~excluded, len(self))
        return self if rows.size == len(self) else self._rows(rows)

    def merged(self, separator: str) -> Run:
        """Merge chunks into documents, each with the score of its best chunk (MaxP).

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
        >>> run.merged("#").to_polars().rows()
        [('q1', 'a', 1.5), ('q1', 'b', 1.0)]
        """
        if not self.docs.str.contains(separator, literal=True).any():
            name = f"{self.origin.name}: " if self.origin.lines is not None else ""
            warn(f"{name}no document id has the chunk separator {quoted(separator)}", stacklevel=4)
            return self
        docs = self.docs.str.split_exact(separator, 1).struct.field("field_0")
        if (is_empty := docs == "").any():
            row = int(is_empty.arg_true()[0])
            reason = f"expected a document before {quoted(separator)} in the id of a chunk"
            raise row_error(self, reason, row)
        order = np.argsort(-self.scores, kind="stable")
        pairs = pl.DataFrame({"topic": self.codes, "doc": docs})[order]
        rows = np.sort(order[pairs.select(pl.struct(pl.all()).is_first_distinct()).to_series()])
        return self._rows(rows, docs=docs[rows], chunks=len(self))

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a data frame: topic, doc, score, and rank if the run has ranks."""
        columns = {"topic": topic_column(self), "doc": self.docs, "score": self.scores}
        frame = pl.DataFrame(columns)
        return frame if self.ranks is None else frame.with_columns(rank=pl.Series(self.ranks))


def rows_of_mask(mask: NDArray[np.bool_], rows: int) -> Indices:
    mask = np.asarray(mask)
    if mask.dtype != np.bool_ or mask.shape != (rows,):
        raise PolicyError(f"expected {rows} Boolean values, got {mask.dtype} of shape {mask.shape}")
    return np.flatnonzero(mask)
