"""Rows of a topic and a document each, which runs and judgments are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.parallel import fields_alone
from cranfield.base.text import counted
from cranfield.collection.keys import (
    Codes,
    KeyIndex,
    Keys,
    Words,
    pair_keys,
    word_keys,
    words_of_ids,
)
from cranfield.sources.chunks import Origin

_FEW = 8
"""Documents that are sought in a list one by one, where a table of it would cost more."""

_SHORT = 64
"""Rows of a topic, on average, up to which keys of all rows cost less than a look at each topic."""


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
        # Workers make keys themselves: another version of polars makes others.
        state, made = fields_alone(self), vars(self)
        if "docs" not in state:
            name = "docs" if "docs" in made else "inside"
            state[name] = made[name]
        return state

    @property
    def unique(self) -> bool:
        """Whether no document stands twice in a topic."""
        return True

    @cached_property
    def keys(self) -> Keys:
        """A 64-bit key of each row's (topic, document)."""
        return pair_keys(self.docs, self.codes, self.topics)

    @cached_property
    def index(self) -> KeyIndex:
        """The rows by key."""
        return KeyIndex(self.keys)

    @cached_property
    def packed(self) -> Packed | None:
        """The documents as words, and the rows by keys of these; None for ids that are too long."""
        docs, topics = words_of_ids(self.docs), words_of_ids(self.topics)
        if docs is None or topics is None:
            return None
        return Packed(docs, KeyIndex(word_keys(docs, self.codes, topics)))

    def ids(self, rows: Indices) -> pl.Series:
        """Document ids of some rows."""
        return self.docs[rows]

    def ordering(self, rows: Indices) -> list[Any]:
        """Columns that order some rows, the first one first, as their ids do by their bytes."""
        return [self.ids(rows)]

    def codes_of(self, topics: Sequence[str]) -> NDArray[np.int64]:
        """Code of each of some topics here; -1 for one that has no row."""
        code_of = {name: code for code, name in enumerate(self.topics)}
        return np.array([code_of.get(name, -1) for name in topics], dtype=np.int64)

    def found_in(self, others: Pairs) -> tuple[Indices, Indices]:
        """Pairs (row, row of the others) of the same topic and document, in no order."""
        asked, found = others.index.candidates(self.keys)
        # Equal keys are only a claim; the topics and the documents decide.
        true = others.codes_of(self.topics)[self.codes[asked]] == others.codes[found]
        true &= (self.ids(asked) == others.ids(found)).to_numpy()
        return asked[true], found[true]

    @cached_property
    def inside(self) -> Sequence[Mapping[str, Any]]:
        """Documents of each topic, by code, no document twice; here with the row of each."""
        rows = np.argsort(self.codes, kind="stable")
        each = zip(self.docs[rows].to_list(), rows.tolist(), strict=True)
        sizes = np.bincount(self.codes, minlength=len(self.topics)).tolist()
        return [dict(islice(each, size)) for size in sizes]

    def rows_of(self, code: int, docs: Collection[str]) -> list[int]:
        """Rows of some documents of a topic, which has them."""
        try:
            return [*map(self.inside[code].__getitem__, docs)]
        except LookupError as error:
            raise InputError(f"there is no such topic or document: {error}") from None

    def kept(self) -> Self:
        """Return the same rows, whatever becomes of the data that they were made of."""
        return self


@dataclass(frozen=True, eq=False)
class Packed:
    """Documents as words, and the rows by their keys."""

    words: Words
    index: KeyIndex


class Listed(Pairs):
    """Rows in order of topics, with documents as text of Python, of which a column is made later.

    inside: of each topic, by code, a dict of its documents, in the order of the rows; `kept` makes
        copies of those that somebody else may change.
    """

    inside: Sequence[Mapping[str, Any]]

    def __post_init__(self, *given: Any) -> None:
        super().__post_init__(*given)  # type: ignore[misc]
        # `dataclasses.replace` makes it of a column, with rows in any order: that is a usual one.
        _, usual = type(self).__bases__
        object.__setattr__(self, "__class__", usual)

    @cached_property
    def docs(self) -> pl.Series:  # type: ignore[override]
        """Document id of each row, as a polars string column."""
        return _column([*chain.from_iterable(self.inside)])

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """Document id of each row, as text of Python."""
        return tuple(chain.from_iterable(self.inside))

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First row of each topic, and one behind the last row of all."""
        return np.cumsum([0, *map(len, self.inside)])

    def ids(self, rows: Indices) -> pl.Series:
        """Document ids of some rows."""
        if "docs" in vars(self):
            return self.docs[rows]
        codes, number = np.unique(self.codes[rows], return_inverse=True)
        some = [*chain.from_iterable(self.inside[code] for code in codes.tolist())]
        first, size = self.starts[codes], self.starts[codes + 1] - self.starts[codes]
        places: Indices = rows + (np.cumsum(size) - size - first)[number]
        return _column([*map(some.__getitem__, places.tolist())])

    def kept(self) -> Self:
        """Return the same rows, whatever becomes of the data that they were made of."""
        copy = object.__new__(type(self))
        copy.__dict__.update(vars(self), inside=tuple(map(dict, self.inside)))
        return copy

    def rows_of(self, code: int, docs: Collection[str]) -> list[int]:
        """Rows of some documents of a topic, which has them."""
        start, inside = int(self.starts[code]), self.inside[code]
        if len(docs) <= _FEW:
            listed = [*inside]
            return [start + listed.index(doc) for doc in docs]
        row_of = dict(zip(inside, range(start, start + len(inside)), strict=True))
        return [*map(row_of.__getitem__, docs)]

    def common(self, others: Pairs) -> Iterator[tuple[int, int, set[str]]]:
        """Yield topics of both, with their codes here and there, and their common documents."""
        for code, other in enumerate(others.codes_of(self.topics).tolist()):
            if other >= 0 and (both := _both(self.inside[code], others.inside[other])):
                yield code, other, both

    def comparable(self, others: Pairs) -> bool:
        """Whether rows are found in others a topic at a time."""
        return others.unique and len(self.codes) >= _SHORT * len(self.topics)

    def found_in(self, others: Pairs) -> tuple[Indices, Indices]:
        """Pairs (row, row of the others) of the same topic and document, in no order."""
        if not self.comparable(others):
            return super().found_in(others)
        asked: list[int] = []
        found: list[int] = []
        for code, other, both in self.common(others):
            asked += self.rows_of(code, both)
            found += others.rows_of(other, both)
        return np.array(asked, dtype=np.intp), np.array(found, dtype=np.intp)


def _column(docs: list[str]) -> pl.Series:
    try:
        return pl.Series("doc", docs, dtype=pl.String)
    except UnicodeEncodeError as error:
        raise InputError(f"doc {quoted(error.object)} is not text or an integer") from None


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    """Documents that both dicts have."""
    few, many = sorted((one, other), key=len)
    if _FEW * len(few) < len(many):
        return many.keys() & few.keys()
    # One after the other they come from memory sooner than by look-up in a large table.
    return {*few}.intersection(many)


class UngradedError(InputError):
    """Raised for judgments of which none has a grade."""


def tell_ungraded(source: str, dropped: int, rows: int) -> None:
    """Warn of rows without a grade; refuse judgments of which none has one."""
    if dropped == rows:
        raise UngradedError(f"none of {counted(rows, 'row')} has a grade", source=source)
    if dropped:
        are = "has no grade and counts" if dropped == 1 else "have no grade and count"
        warn(f"{source}: {dropped:,} of {counted(rows, 'row')} {are} as not judged", stacklevel=6)


def without_repeats(
    duplicates: str,
    values: NDArray[Any],
    codes: Codes,
    docs: pl.Series,
    topics: tuple[str, ...],
    origin: Origin,
    parts: pl.Series | None = None,
) -> Indices | None:
    """Find the rows to keep, of each topic or of its `parts`, and warn of others; None for all."""
    frame = pl.DataFrame({"code": codes, "doc": docs})
    if parts is not None:
        frame = frame.with_columns(part=parts)
    order = np.arange(len(docs))
    if duplicates == "last":
        order = order[::-1]
    elif duplicates == "best":
        order = np.argsort(-values.astype(np.float64), kind="stable")
    seen = frame[order].select(pl.struct(pl.all()).is_first_distinct()).to_series()
    kept = np.sort(order[seen.to_numpy()])
    if kept.size == order.size:
        return None
    gone = np.setdiff1d(np.arange(order.size), kept, assume_unique=True)
    row = int(gone[0])
    line = origin.line(row)
    where = f"line {line}, topic" if line else "topic"
    warn(
        f"{origin.name}: {counted(gone.size, 'document')} twice in one topic, of which the"
        f" {duplicates} one is kept (such as {where} {quoted(topics[codes[row]])}, document"
        f" {quoted(docs[row])})",
        stacklevel=4,
    )
    return kept
