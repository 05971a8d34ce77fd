"""Best and worst orders of tied documents: how far ties can move a score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import NO_TIES, Rows, places_in


def extreme_orders(judged: JudgedRuns) -> Iterator[JudgedRuns]:
    """Yield the runs with ties in the best order, by falling grades, then in its reverse."""
    cell, rank, grade, first, size = judged.ties
    rows = judged.documents
    keys = rows.cell << 32 | rows.rank
    at, found = places_in(keys, cell << 32 | rank)
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
