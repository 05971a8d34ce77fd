"""Rows of a topic and a document each, which runs and judgments are, and finding some in others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.backends import fields_alone
from cranfield.collection.keys import Codes, KeyIndex, Keys, pair_keys

_FEW = 16
"""Documents that are sought in a list one by one, where a table of it would cost more."""

_SHORT = 64
"""Rows of a topic, on average, up to which keys of all rows cost less than a look at each topic."""

_NONE = np.zeros(0, dtype=np.intp)


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
            name = "docs" if "docs" in made else "listed"
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

    def ids(self, rows: Indices) -> pl.Series:
        """Document ids of some rows."""
        return self.docs[rows]

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
    def listed(self) -> list[str]:
        """Document id of each row, as text of Python."""
        return self.docs.to_list()

    @cached_property
    def by_topic(self) -> ByTopic:
        """The documents of each topic, as text of Python."""
        starts = [0, *np.cumsum(np.bincount(self.codes, minlength=len(self.topics))).tolist()]
        if (self.codes[1:] >= self.codes[:-1]).all():
            return ByTopic(self.listed, starts)
        rows = np.argsort(self.codes, kind="stable")
        return ByTopic([*map(self.listed.__getitem__, rows.tolist())], starts, rows)


class ByTopic(NamedTuple):
    """Documents topic after topic, where each begins, and their rows if not in that order."""

    docs: list[str]
    starts: list[int]
    rows: Indices | None = None

    def of(self, code: int) -> list[str]:
        return self.docs[self.starts[code] : self.starts[code + 1]]

    def rows_at(self, places: Indices) -> Indices:
        return places if self.rows is None else self.rows[places]


class Listed(Pairs):
    """Rows, no document twice in a topic, that have their documents as text of Python.

    A column is made of these when it is asked for. Without it, rows are found a topic at a time:
    the documents of one are looked up among those of the other, and most are not there.
    """

    @cached_property
    def docs(self) -> pl.Series:  # type: ignore[override]
        """Document id of each row, as a polars string column."""
        return pl.Series("doc", self.listed, dtype=pl.String)

    def ids(self, rows: Indices) -> pl.Series:
        """Document ids of some rows."""
        if "docs" in vars(self):
            return self.docs[rows]
        return pl.Series("doc", [*map(self.listed.__getitem__, rows.tolist())], dtype=pl.String)

    def found_in(self, others: Pairs) -> tuple[Indices, Indices]:
        """Pairs (row, row of the others) of the same topic and document, in no order."""
        if not others.unique or len(self.codes) < _SHORT * len(self.topics):
            return super().found_in(others)
        mine, theirs = self.by_topic, others.by_topic
        asked, found = [_NONE], [_NONE]
        for code, other in enumerate(others.codes_of(self.topics).tolist()):
            if other >= 0:
                here, there = _common(mine.of(code), theirs.of(other))
                asked.append(here + mine.starts[code])
                found.append(there + theirs.starts[other])
        return mine.rows_at(np.concatenate(asked)), theirs.rows_at(np.concatenate(found))


def _common(first: list[str], second: list[str]) -> tuple[Indices, Indices]:
    """Places of the ids that are in both of two lists, which have no id twice."""
    if len(second) > len(first):
        there, here = _common(second, first)
        return here, there
    if len(second) <= _FEW:
        both = [*filter({*second}.intersection(first).__contains__, second)]
        here, there = (np.array([*map(ids.index, both)], dtype=np.intp) for ids in (first, second))
        return here, there
    place = dict(zip(second, range(len(second)), strict=True))
    found = np.fromiter(map(place.get, first, repeat(-1)), np.intp, len(first))
    here = np.flatnonzero(found >= 0)
    return here, found[here]
