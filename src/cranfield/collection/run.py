"""A run: one system's documents and scores for every topic."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Indices
from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.parallel import fields_alone
from cranfield.base.text import counted
from cranfield.collection.keys import (
    Codes,
    Keys,
    Words,
    all_differ,
    equal,
    first_repeat,
    ids_of,
    taken,
    word_keys,
    words_of_ids,
)
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.collection.pairs import Pairs
from cranfield.sources.chunks import Origin
from cranfield.tabular import Framed, frame_html

if TYPE_CHECKING:
    from cranfield.collection.metadata.metadata import Metadata


@dataclass(frozen=True, eq=False)
class Run(Pairs, Framed):
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
    described
        Where its metadata are; :attr:`metadata` reads them.
    unranked
        Mask of the rows whose rank was not an integer; None if each was one; shape (rows,).
    known_keys
        The keys of the rows, where they are known already; none of the run's attributes.

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
    known_keys: InitVar[Keys | None] = None

    def __post_init__(self, known_keys: Keys | None) -> None:
        if known_keys is not None:
            self.__dict__["keys"] = known_keys
        repeat = first_repeat(self.keys, self.docs, self.codes)
        if repeat is not None:
            raise repeated(repeat, self.origin, self.topics, self.codes, self.docs)

    @cached_property
    def metadata(self) -> Metadata | None:
        """What the run says of itself, in its header or a file beside it; None where it does not.

        Read when it is asked for.

        Raises
        ------
        InputError
            For metadata that cannot be read; the run can.
        """
        return None if self.described is None else self.described.read()

    def __len__(self) -> int:
        return self.codes.size

    def __repr__(self) -> str:
        size = f"{counted(len(self.topics), 'topic')}, {counted(len(self), 'document')}"
        return f"Run({quoted(self.name)}: {size})"

    def _repr_html_(self) -> str:
        return frame_html(self.to_polars(), repr(self), limit=10)

    def renamed(self, name: str) -> Run:
        """Return the same run under another name."""
        if not isinstance(name, str):
            raise PolicyError(f"the name of a run is text, not a {type(name).__name__}")
        copy = object.__new__(type(self))
        # The rows are known to be free of repeats, so they are not checked again.
        copy.__dict__.update(self.__dict__, name=name)
        return copy

    def restricted(self, kept: NDArray[np.bool_]) -> Run:
        """Return the run with some of its rows only, in the same order.

        Topics that keep no row are gone.

        Parameters
        ----------
        kept
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
        rows = kept_rows(kept, len(self))
        codes = self.codes[rows]
        first = np.full(len(self.topics), rows.size)
        # Of several rows of a topic the last one assigned counts, which is the first one here.
        first[codes[::-1]] = np.arange(rows.size)[::-1]
        by_first = np.argsort(first, kind="stable")[: int((first < rows.size).sum())]
        code_of = np.zeros(len(self.topics), dtype=np.int32)
        code_of[by_first] = np.arange(by_first.size)
        copy = object.__new__(Run)
        # Rows without repeats have none after some are gone, so they are not checked again.
        copy.__dict__.update(
            name=self.name,
            topics=tuple(self.topics[code] for code in by_first.tolist()),
            codes=code_of[codes],
            docs=self.ids(rows),
            scores=self.scores[rows],
            ranks=None if self.ranks is None else self.ranks[rows],
            origin=Origin(self.origin.name),
            described=self.described,
            unranked=None if self.unranked is None else self.unranked[rows],
        )
        if "keys" in vars(self):
            copy.__dict__["keys"] = self.keys[rows]
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


def kept_rows(kept: NDArray[np.bool_], rows: int) -> Indices:
    kept = np.asarray(kept)
    if kept.dtype != np.bool_ or kept.shape != (rows,):
        raise PolicyError(
            f"rows are kept by {rows} truth values, not by {kept.dtype} of shape {kept.shape}"
        )
    return np.flatnonzero(kept)


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
    reason = f"{what} twice in one topic" + (f", first in line {line}" if line else "")
    return origin.wrong(reason, again, topics[codes[again]], docs[again])


class PackedRun(Run):
    """A run of documents as `words`, which become a column of text when that is asked for."""

    words: Words

    def __post_init__(self, known_keys: Keys | None) -> None:
        super().__post_init__(known_keys)
        # What is made of its fields, as `dataclasses.replace` does, has documents as text.
        object.__setattr__(self, "__class__", Run)

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)

    @cached_property
    def docs(self) -> pl.Series:  # type: ignore[override]
        """Document id of each row, as a polars string column."""
        return ids_of(self.words)

    @cached_property
    def word_keys(self) -> Keys:
        """A 64-bit key of each row's (topic, document)."""
        topics = words_of_ids(self.topics)
        assert topics is not None, "they were words"
        return word_keys(self.words, self.codes, topics)

    def ids(self, rows: Indices) -> pl.Series:
        """Document ids of some rows."""
        return self.docs[rows] if "docs" in vars(self) else ids_of(taken(self.words, rows))

    def ordering(self, rows: Indices) -> list[Any]:
        """Columns that order some rows, the first one first, as their ids do by their bytes."""
        # The first byte of a text is the lowest one of its word.
        return [column[rows].byteswap() for column in self.words]

    def found_in(self, others: Pairs) -> tuple[Indices, Indices]:
        """Pairs (row, row of the others) of the same topic and document, in no order."""
        packed = others.packed
        if packed is None:
            return super().found_in(others)
        asked, found = packed.index.candidates(self.word_keys)
        # Equal keys are only a claim; the topics and the documents decide.
        true = others.codes_of(self.topics)[self.codes[asked]] == others.codes[found]
        true &= equal(taken(self.words, asked), taken(packed.words, found))
        return asked[true], found[true]


# In messages it is what it is to users; pickles find it by its qualified name.
PackedRun.__name__ = Run.__name__


def run_of(docs: pl.Series | Words, keys: Keys | None, **fields: Any) -> Run:
    """Make a run of its documents and their keys; no document may stand twice in a topic."""
    if not isinstance(docs, pl.Series) and keys is None and words_of_ids(fields["topics"]) is None:
        # Of topics that are no words, such as whole queries, documents are text.
        docs = ids_of(docs)
    if isinstance(docs, pl.Series):
        return Run(docs=docs, known_keys=keys, **fields)
    run = object.__new__(PackedRun)
    run.__dict__.update(fields, words=docs)
    if keys is not None:
        run.__dict__["word_keys"] = keys
    if not all_differ(run.word_keys, run.codes):
        repeat = first_repeat(run.keys, run.docs, run.codes)
        if repeat is not None:
            raise repeated(repeat, run.origin, run.topics, run.codes, run.docs)
    return run
