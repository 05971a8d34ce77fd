"""From scores to ranks, under an explicit policy for ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.checks import check_choice
from cranfield.base.errors import InputError
from cranfield.collection.judged.policies import TIES
from cranfield.collection.run import Run

Key = NDArray[np.floating[Any]] | NDArray[np.int32]

_FEW = 5_000
"""Ties that are settled faster in Python than by setting up a table."""

_WASTE = 4
"""Sorting in a padded matrix pays while it has at most this many times the cells needed."""


@dataclass(frozen=True, eq=False)
class Order:
    """The order of a run's documents, topic by topic.

    permutation: row numbers by topic code, best document first; None when the rows stand so
        already.
    starts: where each topic begins in that order; shape (topics,).
    codes: topic of each row of the run.
    tied: how many documents share their score with another of the same topic.
    contradictions: how many neighbours among the scores of a topic have a document each whose rank
        numbers say the opposite.
    """

    permutation: Indices | None
    starts: NDArray[np.int64]
    codes: NDArray[np.int32]
    tied: int
    contradictions: int
    _moved: tuple[Indices, Indices] | None = None

    @property
    def rows(self) -> Indices:
        """Row numbers by topic code, best document first."""
        if self.permutation is not None:
            return self.permutation
        rows = np.arange(self.codes.size, dtype=np.intp)
        if self._moved is not None:
            moved, to = self._moved
            rows[to] = moved
        return rows

    def ranks_of(self, rows: Indices) -> NDArray[np.int64]:
        """Ranks of some rows within their topics, from 1."""
        if self.permutation is not None:
            inverse = np.empty(self.permutation.size, dtype=np.int64)
            inverse[self.permutation] = np.arange(self.permutation.size)
            places = inverse[rows]
        else:
            places = rows.astype(np.int64)
            if self._moved is not None:
                moved, to = self._moved
                at = np.minimum(np.searchsorted(moved, rows), moved.size - 1)
                places = np.where(moved[at] == rows, to[at], places)
        return places - self.starts[self.codes[rows]] + 1


def order_of(run: Run, ties: str) -> Order:
    """Order the documents of each topic."""
    check_choice("ties", ties, TIES)
    key = _key(run, ties)
    codes = run.codes
    counts = np.bincount(codes, minlength=len(run.topics))
    starts = np.cumsum(counts) - counts
    same = codes[1:] == codes[:-1]
    permutation: Indices | None = None
    worse = key[1:] < key[:-1] if ties == "rank" else key[1:] > key[:-1]
    # Codes count up in order of appearance, unless rows were left out of the run.
    if (codes[1:] < codes[:-1]).any() or (same & worse).any():
        permutation = _sorted_rows(codes, key if ties == "rank" else -key, counts)
        key, codes = key[permutation], codes[permutation]
        same = codes[1:] == codes[:-1]
    equal = same & (key[1:] == key[:-1])
    backwards = _contradictions(run, permutation, equal, same=same, ties=ties)
    places = np.flatnonzero(np.r_[equal, False] | np.r_[False, equal])
    moved = None
    if places.size:
        group = np.cumsum(~equal[places - 1] | (places == 0))
        at = places if permutation is None else permutation[places]
        settled = _settled(run, at, group, ties)
        if permutation is None:
            by_row = np.argsort(settled)
            moved = settled[by_row], places[by_row]
        else:
            permutation[places] = settled
    return Order(permutation, starts, run.codes, places.size, backwards, moved)


def _key(run: Run, ties: str) -> Key:
    """Return what decides the order: the ranks, lower first, or the scores, higher first."""
    if ties == "rank":
        if run.ranks is None:
            raise InputError("has no rank column to order by", source=run.origin.name)
        return run.ranks
    if ties == "file":
        return -np.arange(len(run), dtype=np.float64)
    if ties == "trec_eval-9":
        with np.errstate(over="ignore"):
            return run.scores.astype(np.float32)
    return run.scores


def _sorted_rows(codes: NDArray[np.int32], key: Key, counts: NDArray[np.int64]) -> Indices:
    """Sort by topic, then key; equal keys stay in the order of the rows."""
    by_topic = _stable_by_code(codes, counts.size)
    width = int(counts.max())
    if width * counts.size > _WASTE * codes.size:
        # Few long topics among many short ones: a matrix would be mostly padding.
        order = by_topic[np.argsort(key[by_topic], kind="stable")]
        return order[_stable_by_code(codes[order], counts.size)]
    padded = np.full((counts.size, width), np.inf)
    filled = np.arange(width) < counts[:, None]
    padded[filled] = key[by_topic]
    within = np.argsort(padded, axis=1, kind="stable")
    starts = (np.cumsum(counts) - counts)[:, None]
    out: Indices = by_topic[(starts + within)[filled]]
    return out


def _stable_by_code(codes: NDArray[np.int32], topics: int) -> Indices:
    """Sort small integers stably; 16 bits at a time NumPy does it by counting."""
    low = np.argsort(codes.astype(np.uint16), kind="stable")
    if topics <= 1 << 16:
        return low
    return low[np.argsort((codes[low] >> 16).astype(np.uint16), kind="stable")]


def _settled(run: Run, rows: Indices, group: NDArray[np.int64], ties: str) -> Indices:
    if rows.size <= _FEW and ties not in {"input", "rank"}:
        # Python compares text by code points, which is the order of the bytes of UTF-8.
        docs = run.ids(rows).to_list()
        by_doc = sorted(range(rows.size), key=docs.__getitem__, reverse=ties != "id-ascending")
        order = np.array(by_doc, dtype=np.intp)
        return rows[order[np.argsort(group[order], kind="stable")]]
    frame = pl.DataFrame({"group": group, "row": rows})
    if ties in {"input", "rank"}:
        return frame.sort("group", "row")["row"].to_numpy()
    frame = frame.with_columns(doc=run.ids(rows))
    return frame.sort("group", "doc", descending=[False, ties != "id-ascending"])["row"].to_numpy()


def _contradictions(
    run: Run,
    permutation: Indices | None,
    equal: NDArray[np.bool_],
    *,
    same: NDArray[np.bool_],
    ties: str,
) -> int:
    """Count where ranks go back from documents of one score to those of the next lower one."""
    if run.ranks is None or ties in {"rank", "file"}:
        return 0
    first = last = run.ranks if permutation is None else run.ranks[permutation]
    lower = same & ~equal
    if equal.any():
        # Whatever the order of the lines, all of equal score come before all of the next score.
        starts = np.flatnonzero(np.r_[True, ~equal])
        first, last = np.minimum.reduceat(first, starts), np.maximum.reduceat(last, starts)
        lower = lower[starts[1:] - 1]
    return int(np.count_nonzero(lower & (first[1:] < last[:-1])))
