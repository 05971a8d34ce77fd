"""What judged runs carry besides grades: lengths, groups, intents and other aspects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.intents.judged_intents import Intents
from cranfield.collection.judged.rows import Rows

if TYPE_CHECKING:
    from cranfield.collection.judged.judged_runs import JudgedRuns


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups that documents belong to, such as their providers.

    Attributes
    ----------
    names
        The groups.
    rows
        A row for each retrieved document and each of its groups, judged or not: `grade` is the
        group, as an index into `names`, and `gains` how much the document belongs to it.
    judgment, group, weight
        The same of the judged documents: index of the judgment, of the group, and the weight.
    """

    names: tuple[str, ...]
    rows: Rows
    judgment: Ints
    group: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class Annotations:
    """What was given to :func:`cranfield.judge` besides judgments; None where nothing was.

    Attributes
    ----------
    lengths
        A row for each retrieved document with a known length, judged or not; `gains` is the length.
    groups
        Groups of documents.
    intents
        Grades by intent, where judgments have subtopics.
    aspects
        The same runs judged on other aspects than relevance, by name.
    queries
        Where rankings are sessions of several queries: a row for each retrieved document, judged or
        not; `grade` is the number of the query that it answers, from 1, rising with the rank.
    """

    lengths: Rows | None = None
    groups: Groups | None = None
    intents: Intents | None = None
    aspects: Mapping[str, JudgedRuns] = field(default_factory=dict)
    queries: Rows | None = None

    def top(self, cutoff: int) -> Annotations:
        """Keep what belongs to the ranks up to a cutoff."""
        return replace(
            self,
            lengths=self.lengths and self.lengths.where(self.lengths.rank <= cutoff),
            groups=self.groups
            and replace(self.groups, rows=self.groups.rows.where(self.groups.rows.rank <= cutoff)),
            aspects={name: one.top(cutoff) for name, one in self.aspects.items()},
            queries=self.queries and self.queries.where(self.queries.rank <= cutoff),
        )

    def condensed(self, judged: Rows) -> Annotations:
        """Keep what belongs to judged documents, at the ranks that they move up to."""
        return replace(
            self,
            lengths=self.lengths and _moved(self.lengths, judged),
            groups=self.groups and replace(self.groups, rows=_moved(self.groups.rows, judged)),
            aspects={name: one.condensed() for name, one in self.aspects.items()},
            queries=self.queries and _moved(self.queries, judged),
        )


def _moved(rows: Rows, judged: Rows) -> Rows:
    """Take over the ranks that documents have among the judged ones."""
    # Ranks stay far below 2^31, so that a cell and a rank fit into one number.
    wanted, given = (one.cell << 32 | one.rank for one in (rows, judged))
    at = np.searchsorted(given, wanted)
    kept = given[np.minimum(at, max(given.size - 1, 0))] == wanted if given.size else at < 0
    moved = judged.seen[at[kept]]
    gains = rows.gains[kept] if rows.gains.size else rows.gains
    return Rows(rows.cell[kept], moved, rows.grade[kept], rows.shape, gains)
