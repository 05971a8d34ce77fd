"""Rows of topics and documents: the base class of runs and judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.errors import InputError, warn
from cranfield.base.parallel import state_without_caches
from cranfield.base.text import counted
from cranfield.collection.keys import Codes, KeyIndex, Keys, pair_keys

_FEW = 8
"""Look-ups in dicts are faster than keys of all rows if at most 1 / _FEW of them can match."""


class Pairs:
    """Rows of a topic and a document each.

    topics: the topics' ids, by code.
    codes: topic of each row, an index into `topics`; shape (rows,).
    docs: document id of each row.
    """

    topics: tuple[str, ...]
    codes: Codes
    docs: pl.Series

    def __getstate__(self) -> dict[str, Any]:
        # Workers compute keys themselves: they differ between versions of polars.
        return state_without_caches(self) | {"docs": self.docs}

    @cached_property
    def keys(self) -> Keys:
        """A 64-bit key of each row's (topic, document)."""
        return pair_keys(self.docs, self.codes, self.topics)

    @cached_property
    def index(self) -> KeyIndex:
        """The rows by key."""
        return KeyIndex(self.keys)

    def codes_of(self, topics: Sequence[str]) -> NDArray[np.int64]:
        """Return the codes of topics; -1 for a topic without a row."""
        code_of = {name: code for code, name in enumerate(self.topics)}
        return np.array([code_of.get(name, -1) for name in topics], dtype=np.int64)

    def matching_rows(self, others: Pairs) -> tuple[Indices, Indices]:
        """Pairs (row, row of the others) of the same topic and document, in no order."""
        own_rows, other_rows = others.index.candidates(self.keys)
        # Different pairs may have equal keys, so compare topics and documents.
        is_equal = others.codes_of(self.topics)[self.codes[own_rows]] == others.codes[other_rows]
        is_equal &= (self.docs[own_rows] == others.docs[other_rows]).to_numpy()
        return own_rows[is_equal], other_rows[is_equal]

    def kept(self) -> Self:
        """Return the same rows, independent of the data that they were made from."""
        return self


class Listed(Pairs):
    """Rows in order of topics, made from dicts; the column of documents is built on request.

    inside: of each topic, by code, a dict of its documents, in the order of the rows.
    """

    inside: Sequence[Mapping[str, Any]]

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        # `dataclasses.replace` passes a column of documents: then the plain class applies.
        _, plain_class = type(self).__bases__
        object.__setattr__(self, "__class__", plain_class)

    @cached_property
    def docs(self) -> pl.Series:  # type: ignore[override]
        """Document id of each row, as a polars string column."""
        return pl.Series("doc", [*chain.from_iterable(self.inside)], dtype=pl.String)

    def kept(self) -> Self:
        """Return the same rows, of copies of the dicts, which their owner may change."""
        copy = object.__new__(type(self))
        copy.__dict__.update(vars(self), inside=tuple(map(dict, self.inside)))
        return copy

    @cached_property
    def starts(self) -> list[int]:
        """First row of each topic."""
        return [0, *accumulate(map(len, self.inside))][:-1]

    def matching_rows(self, others: Pairs) -> tuple[Indices, Indices]:
        """Pairs (row, row of the others) of the same topic and document, in no order."""
        if not isinstance(others, Listed) or _FEW * len(others.codes) > len(self.codes):
            return super().matching_rows(others)
        own_rows: list[int] = []
        other_rows: list[int] = []
        codes = others.codes_of(self.topics).tolist()
        for start, code, docs in zip(self.starts, codes, self.inside, strict=True):
            other_docs = others.inside[code] if code >= 0 else {}
            if common_docs := docs.keys() & other_docs.keys():
                places, other_places = [*docs], [*other_docs]
                own_rows += [start + places.index(doc) for doc in common_docs]
                other_rows += [others.starts[code] + other_places.index(doc) for doc in common_docs]
        return np.array(own_rows, dtype=np.intp), np.array(other_rows, dtype=np.intp)


class UngradedError(InputError):
    """Raised for judgments of which none has a grade."""


def warn_of_ungraded(source: str, dropped: int, rows: int) -> None:
    """Warn of rows without a grade; refuse judgments of which none has one."""
    if dropped == rows:
        raise UngradedError(f"none of {counted(rows, 'row')} has a grade", source=source)
    if dropped:
        are = "has no grade and counts" if dropped == 1 else "have no grade and count"
        warn(f"{source}: {dropped:,} of {counted(rows, 'row')} {are} as not judged", stacklevel=6)


def warn_of_pairs(source: str, stacklevel: int = 6) -> None:
    """Warn of judgments without grades, which list the relevant documents."""
    text = f"{source}: no column of grades; each document is read as relevant"
    warn(text, stacklevel=stacklevel)
