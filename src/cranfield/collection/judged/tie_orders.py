"""Best and worst orders of tied documents: how far ties can move a score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cranfield.base.arrays import Bools, Ints
from cranfield.collection.judged.rows import Rows

if TYPE_CHECKING:
    from cranfield.collection.judged.judged_runs import JudgedRuns

NO_TIES: Ints = np.zeros((5, 0), dtype=np.int64)
"""Ties of a run without any; rows are cell, rank, grade, first rank of the group, and its size."""


def condensed_ties(ties: Ints, judged: Rows) -> Ints:
    """Return the ties at the ranks of condensed lists, which have only the judged documents."""
    cell, rank, grade, first, _ = ties
    at, kept = _places(judged.cell << 32 | judged.rank, cell << 32 | rank)
    ranks = judged.seen[at[kept]]
    groups = (cell << 32 | first)[kept]
    _, begin, size = np.unique(groups, return_index=True, return_counts=True)
    firsts = np.minimum.reduceat(ranks, begin) if ranks.size else ranks
    return np.stack(
        [cell[kept], ranks, grade[kept], np.repeat(firsts, size), np.repeat(size, size)]
    )


def extreme_orders(judged: JudgedRuns) -> Iterator[JudgedRuns]:
    """Yield the runs with ties in the best order, by falling grades, then in its reverse."""
    cell, rank, grade, first, size = judged.ties
    rows = judged.documents
    keys = rows.cell << 32 | rows.rank
    at, found = _places(keys, cell << 32 | rank)
    others = np.delete(np.arange(keys.size), at[found])
    # Rows of a group are next to each other, in order of falling grade.
    begin = np.flatnonzero(np.diff(cell << 32 | first, prepend=-1))
    before = np.arange(cell.size) - np.repeat(begin, np.diff(begin, append=cell.size))
    depth = judged.policies.depth or np.iinfo(np.int64).max
    for ranks in (first + before, first + size - 1 - before):
        kept = ranks <= depth
        new_keys = np.concatenate([keys[others], (cell << 32 | ranks)[kept]])
        order = np.argsort(new_keys, kind="stable")
        grades = np.concatenate([rows.grade[others], grade[kept]])[order]
        new_keys = new_keys[order]
        sources = np.concatenate([others, np.where(found, at, -1)[kept]])[order]
        documents = Rows(
            new_keys >> 32,
            new_keys & 0xFFFFFFFF,
            grades,
            rows.shape,
            # Documents that were below the depth come from no row.
            source=None if (sources < 0).any() else (rows, sources),
        )
        yield replace(judged, documents=documents, ties=NO_TIES, views={})


def _places(keys: Ints, wanted: Ints) -> tuple[Ints, Bools]:
    """Find where keys are in a sorted array, and which of them are in it."""
    at = np.searchsorted(keys, wanted)
    return at, np.append(keys, -1)[at] == wanted
