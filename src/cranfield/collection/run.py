"""A run: one system's documents and scores for every topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.collection.keys import Codes, Keys, first_repeat, pair_keys
from cranfield.collection.lines import Origin
from cranfield.errors import InputError, quoted
from cranfield.text import counted


@dataclass(frozen=True, eq=False)
class Run:
    """One system's ranking for every topic; made by :func:`read_run`.

    Attributes
    ----------
    name
        The system's name: the run tag, or the file's name where there is no tag.
    topics
        The topics' ids, by code, in order of appearance.
    codes
        Topic of each row, an index into `topics`; shape (rows,).
    docs
        Document id of each row, as a polars string column.
    scores
        Retrieval score of each row, finite; higher is better.
    ranks
        The rank column of the file, 0 where it held no integer; None where there was none.
    origin
        Where the rows came from, for messages.

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

    def __post_init__(self) -> None:
        repeat = first_repeat(self.keys, self.docs, self.codes)
        if repeat is not None:
            raise repeated(repeat, self.origin, self.topics, self.codes, self.docs)

    @cached_property
    def keys(self) -> Keys:
        """A 64-bit key of each row's (topic, document)."""
        return pair_keys(self.docs, self.codes, self.topics)

    def __len__(self) -> int:
        return len(self.docs)

    def __repr__(self) -> str:
        size = f"{counted(len(self.topics), 'topic')}, {counted(len(self.docs), 'document')}"
        return f"Run({quoted(self.name)}: {size})"

    def renamed(self, name: str) -> Run:
        """Return the same run under another name."""
        copy = object.__new__(Run)
        # The rows are known to be free of repeats, so they are not checked again.
        copy.__dict__.update(self.__dict__, name=name)
        return copy

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a data frame: topic, doc, score and, where there is one, rank."""
        frame = pl.DataFrame(
            {
                "topic": pl.Series(self.topics, dtype=pl.String).gather(self.codes),
                "doc": self.docs,
                "score": self.scores,
            }
        )
        return frame if self.ranks is None else frame.with_columns(rank=pl.Series(self.ranks))


def repeated(
    rows: tuple[int, int],
    origin: Origin,
    topics: tuple[str, ...],
    codes: Codes,
    docs: pl.Series,
    what: str = "document",
) -> InputError:
    """Build the error for a document that stands twice in one topic."""
    first, again = rows
    line = origin.line(first)
    return InputError(
        f"{what} twice in one topic" + (f", first in line {line}" if line else ""),
        source=origin.name,
        line=origin.line(again),
        topic=topics[codes[again]],
        doc=docs[again],
    )
