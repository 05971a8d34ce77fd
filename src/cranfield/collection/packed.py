"""Runs that have their documents as words, as files of lines are read."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import polars as pl

from cranfield.base.arrays import Indices
from cranfield.base.backends import fields_alone
from cranfield.collection.keys import Keys, all_differ, first_repeat
from cranfield.collection.pairs import Pairs
from cranfield.collection.run import Run, repeated
from cranfield.collection.words import Words, equal, ids_of, taken, word_keys, words_of_ids


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
