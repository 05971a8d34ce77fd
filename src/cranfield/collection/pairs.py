"""Rows of a topic and a document each, which runs and judgments are, and finding some in others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.backends import fields_alone
from cranfield.collection.keys import Codes, KeyIndex, Keys, pair_keys

_FEW = 16
"""Documents that are looked for in a list one by one, where a table of it would cost more."""


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

    @cached_property
    def listed(self) -> list[str]:
        """Document id of each row, as text of Python."""
        return self.docs.to_list()

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

    def rows_by_id(self, code: int) -> Mapping[str, int]:
        """Return the row of each document of a topic."""
        made = self._rows_by_id.get(code)
        if made is None:
            rows = self._by_topic[self._starts[code] : self._starts[code + 1]].tolist()
            made = dict(zip(map(self.listed.__getitem__, rows), rows, strict=True))
            self._rows_by_id[code] = made
        return made

    @cached_property
    def _rows_by_id(self) -> dict[int, dict[str, int]]:
        return {}

    @cached_property
    def _by_topic(self) -> Indices:
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def _starts(self) -> list[int]:
        """Where each topic begins in the rows by topic."""
        return [0, *np.cumsum(np.bincount(self.codes, minlength=len(self.topics))).tolist()]


class Listed(Pairs):
    """Rows by topic, no document twice, that have their documents as text of Python.

    A column is made of these when it is asked for. Without it, others are found by looking up
    their documents, most of which are not there, a topic at a time.
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
        if "listed" not in vars(self) or not others.unique:
            return super().found_in(others)
        asked: list[int] = []
        found: list[int] = []
        for code, other in enumerate(others.codes_of(self.topics).tolist()):
            if other < 0:
                continue
            start, stop = self._starts[code : code + 2]
            ids, rows = self.listed[start:stop], others.rows_by_id(other)
            if len(rows) <= _FEW:
                there = rows.keys() & ids
                asked += [start + ids.index(doc) for doc in there]
                found += map(rows.__getitem__, there)
            else:
                row_of = np.fromiter(map(rows.get, ids, repeat(-1)), np.intp, len(ids))
                places = np.flatnonzero(row_of >= 0)
                asked += (start + places).tolist()
                found += row_of[places].tolist()
        return np.array(asked, dtype=np.intp), np.array(found, dtype=np.intp)
