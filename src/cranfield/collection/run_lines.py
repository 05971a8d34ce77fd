"""The lines of runs taken apart by array operations on their bytes.

What is sure to be right is read so, nearly all text there is. Any other is left to the readers that
know what to say of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.collection.decimals import numbers, whole_numbers
from cranfield.collection.files.blank_separated import Read
from cranfield.collection.files.parts import Part, different
from cranfield.collection.files.regular import BLANKS, low_bytes, without_comments
from cranfield.collection.keys import numbered
from cranfield.collection.words import changes, ids_of, taken, texts_of, word_keys, words_of

_WIDTH = 6
_MANY = 1 << 10
"""Changes of the topic that are sooner numbered together than one by one."""

_HEAD = 1 << 12
"""Bytes that mostly tell whether all are regular."""

_KEPT = 30 << 20
"""Bytes that are more than the arrays take that are made while a chunk is read."""

_END, _BLANK = ord("\n"), ord(" ")


class Fields(NamedTuple):
    """Where the fields of lines are.

    text: what the places are places in.
    spans: where each field of the lines begins and ends, in order of the columns.
    lines: line of each row, from 0; None where they follow each other without a gap.
    """

    text: bytes
    spans: Sequence[tuple[Indices, Indices]]
    lines: NDArray[np.int64] | None = None


def run_lines(chunk: bytes, *, only_tabs: bool = False) -> Read[Part] | None:
    """Read lines of a run; None where anything may be wrong with them."""
    head = chunk[: chunk.find(b"\n", _HEAD) + 1] or chunk
    fields = _regular(head) and _regular(chunk)
    # Where blanks are of several kinds, tabs alone may be the separators.
    if b" " in chunk if only_tabs else fields is None and b"\t" in chunk and b" " in chunk:
        return None
    fields = fields if fields or only_tabs else _irregular(chunk)
    if fields is None:
        return None
    text, (topic, _, doc, rank, score, tag), lines = fields
    ranks = whole_numbers(text, *rank)
    scores = None if ranks is None else numbers(text, *score)
    if ranks is None or scores is None:
        return None
    topics, docs, tags = words_of(text, *topic), words_of(text, *doc), words_of(text, *tag)
    if topics is None or docs is None or tags is None:
        return None
    heads = np.append(0, changes(topics))
    topics = taken(topics, heads)
    of_tags = pl.Series(texts_of(taken(tags, np.append(0, changes(tags)))))
    codes = np.repeat(np.arange(heads.size, dtype=np.int32), np.diff(heads, append=scores.size))
    keys = word_keys(docs, codes, topics)
    if heads.size > _MANY and len(topics) == 1:
        # Topics stand mixed, and each is one number.
        different_words, of_heads = numbered(pl.Series(topics[0]))
        topics, codes = (different_words.to_numpy(),), of_heads[codes]
    names = ids_of(topics)
    values = {"rank": pl.Series(ranks), "score": pl.Series(scores)}
    part = Part(names, codes, docs, keys, different(of_tags), values)
    count = scores.size if lines is None else chunk.count(b"\n")
    return Read(part, scores.size, lines, count, _WIDTH)


def _regular(chunk: bytes) -> Fields | None:
    """Find the fields of lines with one and the same byte between all."""
    data = np.frombuffer(chunk, np.uint8)
    ends = np.flatnonzero(data <= _BLANK)
    kinds = data[ends].tobytes()
    if data.size and data[-1] > _BLANK:
        ends = np.append(ends, data.size)
    rows, left = divmod(ends.size, _WIDTH)
    blank = kinds[:1]
    line = blank * (_WIDTH - 1) + b"\n"
    if left or not rows or blank not in BLANKS or kinds != (line * rows)[: len(kinds)]:
        return None
    last = np.ascontiguousarray(ends.reshape(rows, _WIDTH).T)
    first = np.empty_like(last)
    first[0, 0] = 0
    np.add(last[-1, :-1], 1, out=first[0, 1:])
    np.add(last[:-1], 1, out=first[1:])
    if (data[first[0]] == ord("#")).any() or not (first < last).all():
        return None
    return Fields(chunk, list(zip(first, last, strict=True)))


def _irregular(chunk: bytes) -> Fields | None:
    """Find the fields of lines with any blanks between, and lines without fields among them."""
    chunk = without_comments(chunk)
    if b"\0" in chunk:
        return None
    data = np.frombuffer(chunk, np.uint8)
    inside = np.zeros(data.size + 2, dtype=bool)
    np.logical_not(low_bytes(data), out=inside[1:-1])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    rows, left = divmod(edges.size, 2 * _WIDTH)
    if left or not rows:
        return None
    sides = np.ascontiguousarray(edges.reshape(rows, 2 * _WIDTH).T)
    spans = [*zip(sides[::2], sides[1::2], strict=True)]
    line_ends = np.flatnonzero(data == _END)
    if data[-1] != _END:
        line_ends = np.append(line_ends, data.size)
    if line_ends.size == rows:
        # Either each line has its fields, or some fields are beyond the end of theirs.
        whole = (sides[-1] <= line_ends).all() and (sides[0][1:] > line_ends[:-1]).all()
        return Fields(chunk, spans) if whole else None
    lines = np.searchsorted(line_ends, sides[0])
    if (lines != np.searchsorted(line_ends, sides[-2])).any() or (lines[1:] == lines[:-1]).any():
        return None
    return Fields(chunk, spans, lines)


# From now on what is given up stays with this process instead of coming back as new memory, which
# the system clears a page at a time: where malloc is that of GNU, it keeps as much as the largest
# array that was ever given up. This one takes no time, as nothing is written to it.
np.empty(_KEPT, np.uint8)
