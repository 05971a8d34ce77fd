"""Judged runs that remember their judgments, so that some of them can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.each_run import Progress
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.judgments import Judgments
from cranfield.collection.judged.policies import policies
from cranfield.collection.judged.rows import Rows
from cranfield.collection.qrels import Qrels
from cranfield.meta.work.folder import hash_of_runs

ROWS = 200_000
"""Judged rows in a block of systems, at about."""


@dataclass(frozen=True, eq=False, repr=False)
class TracedRuns:
    """Judged runs, and the judgment that each of their rows comes from; made by :func:`traced`.

    The coverage of `judged`, the runs with all judgments, takes every document with an entry in the
    judgments for judged, whatever its grade. The judgment of each row of `judged.documents` is its
    `number`, shape (rows,); a `topic` of a judgment is an index into `judged.topics`, or -1 where
    it does not count.
    """

    judged: JudgedRuns
    number: Ints
    topic: Ints
    doc: pl.Series
    grade: Ints

    def fingerprint(self) -> str:
        """Return a hash of all that scores of these runs depend on, besides measures."""
        judged, rows = self.judged, self.judged.documents
        numbers = (rows.cell, rows.rank, self.number, judged.retrieved, self.topic, self.grade)
        return hash_of_runs(judged, *numbers)

    def restricted(self, kept: Bools) -> JudgedRuns:
        """Return the same runs with some of the judgments only, by a mask of shape (judgments,).

        Topics stay, also those that lose all judgments, and so does the highest grade, which some
        measures take from the judgments: the grades that assessors could give do not change.

        """
        return self._part(kept, *_judgments(self, kept), 0, len(self.judged.systems))

    def blocks(self, kept: Bools) -> Iterator[JudgedRuns]:
        """Yield the same runs as :meth:`restricted`, a few systems at a time, in order.

        Scores of a system do not depend on others; tables that fit into the cache are scored about
        twice as fast as one of all systems.
        """
        (judgments, place), systems = _judgments(self, kept), len(self.judged.systems)
        size = max(1, ROWS * systems // max(1, self.number.size))
        for start in range(0, systems, size):
            yield self._part(kept, judgments, place, start, min(start + size, systems))

    def of_systems(self, kept: Bools, systems: Ints) -> Iterator[JudgedRuns]:
        """Yield the same as :meth:`restricted` of some of the systems, by index, one at a time."""
        judgments, place = _judgments(self, kept)
        for system in systems.tolist():
            yield self._part(kept, judgments, place, system, system + 1)

    def _part(
        self, kept: Bools, judgments: Judgments, place: Ints, start: int, stop: int
    ) -> JudgedRuns:
        rows, topics = self.judged.documents, self.judged.shape[0]
        # Rows are in order of system first.
        begin, end = np.searchsorted(rows.cell, [start * topics, stop * topics])
        chosen = kept[self.number[begin:end]]
        return replace(
            self.judged,
            systems=self.judged.systems[start:stop],
            documents=Rows(
                rows.cell[begin:end][chosen] - start * topics,
                rows.rank[begin:end][chosen],
                rows.grade[begin:end][chosen],
                (topics, stop - start),
                source=place[self.number[begin:end][chosen]],
            ),
            retrieved=self.judged.retrieved[:, start:stop],
            scored=self.judged.scored[:, start:stop],
            judgments=judgments,
            views={},
        )

    def __repr__(self) -> str:
        return f"TracedRuns({self.judged!r}, {counted(self.grade.size, 'judgment')})"


def traced(
    runs: Any,
    qrels: Any,
    *,
    ties: str | None = None,
    topics: str | None = None,
    negative: str | None = None,
    compat: str | None = None,
    jobs: int | None = None,
    backend: str | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> TracedRuns:
    """Judge runs once, so that judgments can be taken back without reading anything again.

    What is given is as for :func:`cranfield.judge`; runs that are traced already stay as they are,
    and take no judgments (None) and no policies.
    """
    if isinstance(runs, TracedRuns):
        if any(one is not None for one in (qrels, ties, topics, negative, compat)):
            raise PolicyError("these runs are judged already: leave out judgments and policies")
        return runs
    chosen = policies(compat, ties=ties, topics=topics, negative=negative)
    given = read_qrels(qrels).flat()
    # Judged by judgments whose grade is their number, a row says which judgment it comes from.
    numbers = np.arange(len(given), dtype=np.int32)
    numbered = judge(
        runs,
        Qrels(given.topics, given.codes, given.docs, numbers, origin=given.origin),
        ties=chosen.ties,
        topics=chosen.topics,
        jobs=jobs,
        backend=backend,
        scheduler=scheduler,
        progress=progress,
    )
    topic = np.full(len(given), -1, dtype=np.int64)
    topic[numbered.judgments.grade] = numbered.judgments.topic
    number = numbered.documents.grade
    grade = given.grades.astype(np.int64)
    cell, rank, tied, first, size = numbered.ties
    order = np.lexsort((-grade[tied], first, cell))
    judged = replace(
        numbered,
        documents=replace(numbered.documents, grade=grade[number], source=None),
        policies=chosen,
        ties=np.stack([cell, rank, grade[tied], first, size])[:, order],
        views={},
    )
    made = TracedRuns(judged, number, topic, given.docs, grade)
    judgments, place = _judgments(made, np.ones(grade.size, dtype=bool))
    documents = replace(judged.documents, source=place[number])
    return replace(made, judged=replace(judged, documents=documents, judgments=judgments, views={}))


def _judgments(runs: TracedRuns, kept: Bools) -> tuple[Judgments, Ints]:
    """Order the kept judgments of the topics that count by topic and falling grade.

    The second is the place of each judgment in that order, or -1.
    """
    chosen = np.flatnonzero(kept & (runs.topic >= 0))
    topic, grade = runs.topic[chosen], runs.grade[chosen]
    order = np.lexsort((-grade, topic))
    place = np.full(runs.topic.size, -1, dtype=np.int64)
    place[chosen[order]] = np.arange(order.size)
    judgments = Judgments(
        len(runs.judged.topics),
        topic[order],
        grade[order],
        0 if runs.judged.policies.negative == "unjudged" else -(2**31),
        max(int(runs.grade.max()), 0),
    )
    return judgments, place
