"""Order documents by score, under a policy for ties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Indices
from cranfield.base.errors import InputError, check_choice
from cranfield.collection.judged.rows import join_ranges
from cranfield.collection.pairs import make_row_error
from cranfield.collection.policies import TIES
from cranfield.collection.run import Run

SortKeys = NDArray[np.floating[Any]]

BY_ROW = {"input", "rank"}
"""Policies under which documents with equal sort keys keep the order of the input."""

_MAX_PADDING = 4
"""Maximum ratio of cells to documents for which a sort in a padded matrix is faster."""


@dataclass(frozen=True, eq=False)
class RunOrder:
    """The order of a run's documents by topic; ties are resolved on access.

    Attributes
    ----------
    run, ties
        The run, and the policy for ties.
    counts
        Number of documents of each topic; shape (topics,).
    n_contradictions
        Number of pairs of adjacent scores of a topic whose ranks have the opposite order; 0 for a
        policy that ignores scores.
    """

    run: Run
    ties: str
    counts: NDArray[np.int64]
    n_contradictions: int
    # Row numbers with tied documents adjacent, in any order; None for the order of the run.
    _unresolved: Indices | None
    # True where a document ties with the next.
    _ties_with_next: NDArray[np.bool_]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Start of each topic in the order; shape (topics,)."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def _groups(self) -> tuple[Indices, Indices]:
        """The position of the first document, and the size, of each group of tied documents."""
        positions = np.flatnonzero(self._ties_with_next)
        starts = np.flatnonzero(np.diff(positions, prepend=-2) > 1)
        return positions[starts], np.diff(starts, append=positions.size) + 1

    @cached_property
    def n_tied(self) -> int:
        """Number of documents that share their sort key with another of the same topic."""
        return int(self._groups[1].sum())

    @cached_property
    def rows(self) -> Indices:
        """Row numbers by topic code, in order of rank."""
        unresolved = self._unresolved
        rows = np.arange(len(self.run)) if unresolved is None else unresolved.copy()
        if self.n_tied:
            positions, by_policy = self._resolve_ties(*self._groups)
            rows[positions] = rows[positions][by_policy]
        return rows

    def compute_ranks(self, rows: Indices) -> NDArray[np.int64]:
        """Return the ranks of rows within their topics, from 1."""
        positions = rows.astype(np.int64)
        if self._unresolved is not None:
            position_of = np.empty(self._unresolved.size, dtype=np.int64)
            position_of[self._unresolved] = np.arange(self._unresolved.size)
            positions = position_of[rows]
        tied_rows = self._find_tied(positions)
        if tied_rows.size:
            firsts, sizes = self._find_groups(positions[tied_rows])
            firsts, first_indices = np.unique(firsts, return_index=True)
            tied_positions, by_policy = self._resolve_ties(firsts, sizes[first_indices])
            resolved = np.empty_like(tied_positions)
            resolved[by_policy] = tied_positions
            positions[tied_rows] = resolved[np.searchsorted(tied_positions, positions[tied_rows])]
        return positions - self.starts[self.run.codes[rows]] + 1

    def find_tied_documents(
        self, codes: Indices, ranks: Indices, grades: Indices
    ) -> NDArray[np.int64]:
        """Return the judged documents whose order among tied documents can change a score.

        The parameters describe all judged documents. The array has shape (3, rows), in order of
        group and descending grade: index of the document, and first rank and size of its group of
        ties. Groups of documents of a single grade are excluded.
        """
        positions = self.starts[codes] + ranks - 1
        rows = self._find_tied(positions)
        firsts, sizes = self._find_groups(positions[rows])
        order = np.lexsort((-grades[rows], firsts))
        rows, firsts, sizes = rows[order], firsts[order], sizes[order]
        starts = np.flatnonzero(np.diff(firsts, prepend=-1))
        n_judged = np.diff(starts, append=rows.size)
        highest, lowest = grades[rows[starts]], grades[rows[starts + n_judged - 1]]
        is_mixed = np.repeat((highest > lowest) | (n_judged < sizes[starts]), n_judged)
        first_ranks = firsts - self.starts[codes[rows]] + 1
        return np.stack([rows, first_ranks, sizes])[:, is_mixed]

    def find_tie_groups(self) -> NDArray[np.int64]:
        """Return topic code, first rank and size of each group of ties; shape (3, groups)."""
        firsts, sizes = self._groups
        codes = np.searchsorted(self.starts, firsts, "right") - 1
        return np.stack([codes, firsts - self.starts[codes] + 1, sizes]).astype(np.int64)

    def _find_tied(self, positions: Indices) -> Indices:
        """Return the indices of the positions whose documents are tied."""
        return np.flatnonzero(self._ties_with_next[positions] | self._ties_with_next[positions - 1])

    def _find_groups(self, positions: Indices) -> tuple[Indices, Indices]:
        """Return the start and size of the group of each tied document."""
        starts, sizes = self._groups
        group = np.searchsorted(starts, positions, "right") - 1
        return starts[group], sizes[group]

    def _resolve_ties(self, firsts: Indices, sizes: Indices) -> tuple[Indices, Indices]:
        """Return the positions of groups, and the permutation that orders their documents."""
        group, positions = join_ranges(firsts, firsts + sizes)
        rows = positions if self._unresolved is None else self._unresolved[positions]
        if self.ties in BY_ROW:
            return positions, np.lexsort((rows, group))
        docs = pl.DataFrame({"group": group, "doc": self.run.docs[rows]})
        descending = [False, self.ties != "id-ascending"]
        order = docs.select(pl.arg_sort_by("group", "doc", descending=descending)).to_series()
        return positions, order.to_numpy()


def order_documents(run: Run, ties: str) -> RunOrder:
    """Order the documents of each topic under the policy `ties`."""
    check_choice("ties", ties, TIES)
    keys, codes = _make_sort_keys(run, ties), run.codes
    n_topics = len(run.topics)
    unresolved = None
    is_same_topic = codes[1:] == codes[:-1]
    # Codes increase in order of appearance, unless topics alternate or rows were skipped.
    is_by_topic = not (codes[1:] < codes[:-1]).any()
    if is_by_topic:
        # Counting all rows would take much longer.
        counts = np.diff(np.searchsorted(codes, np.arange(n_topics + 1, dtype=codes.dtype)))
    else:
        counts = np.bincount(codes, minlength=n_topics)
    if not is_by_topic or (is_same_topic & (keys[1:] > keys[:-1])).any():
        unresolved = _sort_rows(codes, -keys, counts)
        keys, codes = keys[unresolved], codes[unresolved]
        is_same_topic = codes[1:] == codes[:-1]
    is_tied = np.zeros(codes.size, dtype=bool)
    np.logical_and(is_same_topic, keys[1:] == keys[:-1], out=is_tied[:-1])
    n_contradictions = 0
    if run.ranks is not None and ties not in {"rank", "file"}:
        ranks = run.ranks if unresolved is None else run.ranks[unresolved]
        n_contradictions = _count_contradictions(ranks, is_same_topic, is_tied[:-1])
    return RunOrder(run, ties, counts, n_contradictions, unresolved, is_tied)


def _make_sort_keys(run: Run, ties: str) -> SortKeys:
    """Return the key by which to sort each row, in descending order: score, -rank or -row."""
    if ties == "rank":
        if run.ranks is None:
            reason = "ties='rank' requires a column of integer ranks, got none"
            raise InputError(reason, source=run.origin.name)
        if run.is_unranked is not None and run.is_unranked.any():
            reason = "ties='rank' requires an integer rank in every row, got another value"
            raise make_row_error(run, reason, int(run.is_unranked.argmax()))
        return -run.ranks.astype(np.float64)
    if ties == "file":
        return -np.arange(len(run), dtype=np.float64)
    if ties == "trec_eval-9":
        with np.errstate(over="ignore"):
            return run.scores.astype(np.float32)
    return run.scores


def _sort_rows(codes: NDArray[np.int32], keys: SortKeys, counts: NDArray[np.int64]) -> Indices:
    """Return the rows sorted by topic, then by ascending key."""
    by_topic = _argsort_codes(codes, counts.size)
    width = int(counts.max())
    if width * counts.size > _MAX_PADDING * codes.size:
        # Few long topics among many short ones: a matrix would be mostly padding.
        order = by_topic[np.argsort(keys[by_topic], kind="stable")]
        return order[_argsort_codes(codes[order], counts.size)]
    padded = np.full((counts.size, width), np.inf)
    is_filled = np.arange(width) < counts[:, None]
    padded[is_filled] = keys[by_topic]
    order_in_topic = np.argsort(padded, axis=1, kind="stable")
    starts = (np.cumsum(counts) - counts)[:, None]
    rows: Indices = by_topic[(starts + order_in_topic)[is_filled]]
    return rows


def _argsort_codes(codes: NDArray[np.int32], n_topics: int) -> Indices:
    """Return the stable order of codes, 16 bits at a time, for which NumPy has a radix sort."""
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    if n_topics <= 1 << 16:
        return order
    return order[np.argsort((codes[order] >> 16).astype(np.uint16), kind="stable")]


def _count_contradictions(ranks: NDArray[np.int32], is_same_topic: Bools, is_tied: Bools) -> int:
    """Count the pairs of adjacent scores of a topic whose ranks have the opposite order."""
    min_ranks = max_ranks = ranks
    is_backwards = is_same_topic & (min_ranks[1:] < max_ranks[:-1])
    if is_backwards.any() and is_tied.any():
        # Tied documents may be in any order, but all of them precede documents of the next score.
        starts = np.flatnonzero(np.r_[True, ~is_tied])
        min_ranks, max_ranks = (f.reduceat(ranks, starts) for f in (np.minimum, np.maximum))
        is_backwards = is_same_topic[starts[1:] - 1] & (min_ranks[1:] < max_ranks[:-1])
    return int(np.count_nonzero(is_backwards))
