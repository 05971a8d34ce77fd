"""Rows of topics and documents: the base class of runs and judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Self, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.errors import InputError, warn
from cranfield.base.parallel import state_without_caches
from cranfield.base.text import counted
from cranfield.collection.keys import (
    Codes,
    KeyIndex,
    Keys,
    find_duplicate,
    find_label_positions,
    pair_keys,
)
from cranfield.sources.chunks import Origin
from cranfield.tabular import FrameMixin, frame_html

Table = TypeVar("Table")

_FEW = 8
"""Look-ups in dicts are faster than keys if at most 1 / _FEW of the rows can match."""


class Pairs:
    """A table whose rows are a topic and a document.

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
        return find_label_positions(topics, self.topics)

    def matching_rows(self, others: Pairs) -> tuple[Indices, Indices]:
        """Return pairs (row, row of `others`) of the same topic and document, in no order."""
        own_rows, other_rows = others.index.candidates(self.keys)
        # Different pairs may have equal keys, so compare topics and documents.
        is_equal = others.codes_of(self.topics)[self.codes[own_rows]] == others.codes[other_rows]
        is_equal &= (self.docs[own_rows] == others.docs[other_rows]).to_numpy()
        return own_rows[is_equal], other_rows[is_equal]

    def detached(self) -> Self:
        """Return the same rows, independent of the objects that they were read from."""
        return self


class ReadPairs(Pairs, FrameMixin):
    """Rows that were read; `origin` is their source, for messages."""

    origin: Origin

    def __len__(self) -> int:
        return self.codes.size

    def _rows(self, rows: Indices, **changes: Any) -> Self:
        """Return the table with some rows, and with changes of its fields."""

        def select(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: select(column) for name, column in value.items()}
            return value[rows] if isinstance(value, (np.ndarray, pl.Series)) else value

        values = {field.name: getattr(self, field.name) for field in fields(cast("Any", self))}
        if "keys" in vars(self) and "docs" not in changes:
            values["keys"] = self.keys
        selected = {name: select(value) for name, value in values.items() if name not in changes}
        selected["origin"] = Origin(self.origin.name)
        return unchecked(self._plain_class, **selected | changes)

    @property
    def _plain_class(self) -> type[Self]:
        return type(self)

    def _repr_html_(self) -> str:
        return frame_html(self.to_polars(), repr(self), limit=10)


class DictPairs(Pairs):
    """Rows of a dict of dicts, in order of topics; the column of documents is built on access.

    topic_dicts: the dict of documents of each topic, by code, in the order of the rows.
    """

    topic_dicts: Sequence[Mapping[str, Any]]

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        # `dataclasses.replace` passes a column of documents: then the plain class applies.
        object.__setattr__(self, "__class__", self._plain_class)

    @property
    def _plain_class(self) -> Any:
        return type(self).__bases__[1]

    @cached_property
    def docs(self) -> pl.Series:  # type: ignore[override]
        """Document id of each row, as a polars string column."""
        return pl.Series("doc", [*chain.from_iterable(self.topic_dicts)], dtype=pl.String)

    def detached(self) -> Self:
        """Return the same rows with copies of the dicts, which the caller may change later."""
        dicts = tuple(map(dict, self.topic_dicts))
        return unchecked(type(self), **vars(self) | {"topic_dicts": dicts})

    @cached_property
    def starts(self) -> list[int]:
        """First row of each topic."""
        return [0, *accumulate(map(len, self.topic_dicts))][:-1]

    def matching_rows(self, others: Pairs) -> tuple[Indices, Indices]:
        """Return pairs (row, row of `others`) of the same topic and document, in no order."""
        if not isinstance(others, DictPairs) or _FEW * len(others.codes) > len(self.codes):
            return super().matching_rows(others)
        own_rows: list[int] = []
        other_rows: list[int] = []
        codes = others.codes_of(self.topics).tolist()
        for start, code, docs in zip(self.starts, codes, self.topic_dicts, strict=True):
            other_docs = others.topic_dicts[code] if code >= 0 else {}
            if common_docs := docs.keys() & other_docs.keys():
                ids, other_ids = [*docs], [*other_docs]
                own_rows += [start + ids.index(doc) for doc in common_docs]
                other_rows += [others.starts[code] + other_ids.index(doc) for doc in common_docs]
        return np.array(own_rows, dtype=np.intp), np.array(other_rows, dtype=np.intp)


def unchecked(table_type: type[Table], **fields: Any) -> Table:
    """Create a table without the checks of its constructor, from rows without repeats."""
    table = object.__new__(table_type)
    table.__dict__.update(fields)
    return table


def topic_column(table: Pairs) -> pl.Series:
    """Return the topic of each row."""
    return pl.Series("topic", table.topics, dtype=pl.String).gather(table.codes)


def row_error(table: ReadPairs, reason: str, row: int) -> InputError:
    """Return an error with the line, topic and document of a row."""
    return table.origin.wrong(reason, row, table.topics[table.codes[row]], table.docs[row])


def refuse_repeats(
    table: ReadPairs, keys: Keys, codes: NDArray[Any], noun: str = "document"
) -> None:
    """Raise an error for a document that occurs twice with one code."""
    repeat = find_duplicate(keys, table.docs, codes)
    if repeat is not None:
        line = table.origin.line(repeat[0])
        reason = f"{noun} twice in one topic" + (f", first in line {line}" if line else "")
        raise row_error(table, reason, repeat[1])


class UngradedError(InputError):
    """Raised for judgments without any grade."""


def warn_of_ungraded(source: str, dropped: int, rows: int) -> None:
    """Warn of rows without a grade; refuse judgments without any grade."""
    if dropped == rows:
        raise UngradedError(f"none of {counted(rows, 'row')} has a grade", source=source)
    if dropped:
        verbs = "has no grade and counts" if dropped == 1 else "have no grade and count"
        warn(f"{source}: {dropped:,} of {counted(rows, 'row')} {verbs} as unjudged", stacklevel=6)


def warn_of_pairs(source: str, stacklevel: int = 6) -> None:
    """Warn of judgments without grades, which list the relevant documents."""
    warn(f"{source}: no column of grades; each document is read as relevant", stacklevel=stacklevel)
