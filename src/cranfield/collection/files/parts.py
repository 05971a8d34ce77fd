"""What is read of a file a part at a time, and parts put together to columns.

A part leaves the thread that read it with all that can be known of it alone, so that little is
left to do in order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.collection.keys import Codes, Keys, TopicCoder, numbered, pair_keys
from cranfield.collection.words import Words, ids_of

_BLOCK = 1 << 23
"""Rows of a block: so many that it goes back to the system when it is given up."""


@dataclass(frozen=True)
class Chunk:
    """The rows of some lines.

    frame: the columns that were read.
    numbers: line of each row, from 0 for the first line here; None where they follow each other
        without a gap.
    lines: how many lines there are.
    width: how many columns the lines have; 0 where there is none, or that is fixed.
    """

    frame: pl.DataFrame
    numbers: NDArray[np.int64] | None = None
    lines: int = 0
    width: int = 0

    def graded(self) -> Chunk:
        """Return the rows that have a grade."""
        there = self.frame["grade"].is_not_null()
        numbers = np.arange(len(there)) if self.numbers is None else self.numbers
        return replace(self, frame=self.frame.filter(there), numbers=numbers[there.to_numpy()])


@dataclass(frozen=True)
class Part:
    """Rows with their topics numbered in order of appearance, and the key of each.

    topics: by number; one may have several.
    docs: the documents, as text or as words.
    keys: of what the documents are.
    tags: what stands in the column `tag`, in order of appearance.
    values: the columns besides topic, document and tag.
    """

    topics: pl.Series
    codes: Codes
    docs: pl.Series | Words
    keys: Keys
    tags: list[str]
    values: dict[str, pl.Series]


def coded(chunk: Chunk) -> Part:
    """Number the topics of some rows, and make their keys."""
    frame = chunk.frame
    topics, codes = numbered(frame["topic"])
    docs = frame["doc"].rechunk()
    tags: list[str] = []
    if "tag" in frame.columns:
        tags = different(frame["tag"])
    rest = {name: frame[name] for name in frame.columns if name not in {"topic", "doc", "tag"}}
    return Part(topics, codes, docs, pair_keys(docs, codes, topics), tags, rest)


def different(tags: pl.Series) -> list[str]:
    """Run tags in order of appearance."""
    if len(tags) and not tags.null_count() and bool((tags == tags[0]).all()):
        return [tags[0]]
    return tags.drop_nulls().unique(maintain_order=True).to_list()


class Columns:
    """Parts put together a column at a time, so that nothing is held twice.

    words: the documents as words, where all parts have them so.
    docs: the documents as text, where not.
    """

    def __init__(self, parts: Iterable[Part]) -> None:
        self.coder = TopicCoder()
        self.tags: dict[str, None] = {}
        self._numbers: dict[str, _Column] = {}
        self._texts: dict[str, list[pl.Series]] = {}
        self._filled: set[str] = set()
        codes, keys, docs = _Column(), _Column(), _Documents()
        for part in parts:
            codes.add(self.coder.codes_of(part.topics)[part.codes])
            keys.add(part.keys)
            docs.add(part.docs)
            self.tags.update(dict.fromkeys(part.tags))
            for name, values in part.values.items():
                if values.null_count() < len(values):
                    self._filled.add(name)
                if values.dtype.is_numeric():
                    filled = values.fill_null(0) if values.null_count() else values
                    self._numbers.setdefault(name, _Column()).add(filled.to_numpy())
                else:
                    self._texts.setdefault(name, []).append(values)
        self.codes: Codes = codes.joined()
        self.words = docs.words()
        self.docs = docs.text()
        # Text and words have other keys.
        self.keys: Keys | None = None if docs.mixed else keys.joined()

    def has(self, column: str) -> bool:
        """Tell whether a column holds anything."""
        return column in self._filled

    def labels(self, column: str) -> np.ndarray[Any, Any]:
        """Take a column of numbers or of text out, as one array; no text is an empty one."""
        if column in self._numbers:
            return self.joined(column)
        return np.array(self.text(column).fill_null("").to_list(), dtype=np.str_)

    def joined(self, column: str) -> np.ndarray[Any, Any]:
        """Take a column of numbers out, as one array; what is no number in it is 0."""
        return self._numbers.pop(column).joined()

    def text(self, column: str) -> pl.Series:
        """Take a column of text out."""
        return pl.concat(self._texts.pop(column))


class _Documents:
    """Documents as words while all are, and else as text."""

    def __init__(self) -> None:
        self._words: list[_Column] = []
        self._texts: list[pl.Series] = []
        self._rows = 0
        self.mixed = False

    def add(self, docs: pl.Series | Words) -> None:
        if isinstance(docs, pl.Series):
            if (words := self.words()) is not None:
                self._texts, self._words, self.mixed = [ids_of(words)], [], True
            self._texts.append(docs)
        elif self._texts:
            self._texts.append(ids_of(docs))
            self.mixed = True
        else:
            self._add_words(docs)

    def _add_words(self, docs: Words) -> None:
        nothing = np.zeros_like(docs[0])
        while len(self._words) < len(docs):
            self._words.append(_Column())
            self._words[-1].add(np.zeros(self._rows, dtype=np.uint64))
        for place, column in enumerate(self._words):
            column.add(docs[place] if place < len(docs) else nothing)
        self._rows += nothing.size

    def words(self) -> Words | None:
        """Give up the words, if there are any."""
        return tuple(column.joined() for column in self._words) or None

    def text(self) -> pl.Series:
        """Give up the text, if there is any."""
        if not self._texts:
            return pl.Series("doc", [], dtype=pl.String)
        docs = pl.concat(self._texts, rechunk=False)
        return docs.rechunk() if len(docs) < 1 << 20 else docs


class _Column:
    """An array that grows: full blocks go back to the system one by one when they are joined."""

    def __init__(self) -> None:
        self._only: NDArray[Any] | None = None
        self._blocks: list[NDArray[Any]] = []
        self._free = self._size = 0

    def add(self, values: NDArray[Any]) -> None:
        if not self._size:
            self._only = values
        elif self._only is not None:
            first, self._only = self._only, None
            self._append(first)
        if self._only is None:
            self._append(values)
        self._size += values.size

    def _append(self, values: NDArray[Any]) -> None:
        while values.size:
            if not self._free:
                self._blocks.append(np.empty(_BLOCK, dtype=values.dtype))
                self._free = _BLOCK
            now = values[: self._free]
            start = _BLOCK - self._free
            self._blocks[-1][start : start + now.size] = now
            self._free -= now.size
            values = values[now.size :]

    def joined(self) -> NDArray[Any]:
        if self._only is not None:
            return np.array(self._only)
        if len(self._blocks) == 1 and 2 * self._size >= _BLOCK:
            return self._blocks.pop()[: self._size]
        whole = np.empty(self._size, dtype=self._blocks[0].dtype)
        self._blocks.reverse()
        start = 0
        while self._blocks:
            block = self._blocks.pop()[: self._size - start]
            whole[start : start + block.size] = block
            start += block.size
        return whole
