"""Move-to-front: a run goes on as long as it gives relevant documents."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from cranfield.assess.pools.asking import Asking
from cranfield.assess.pools.method import Method
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Indices, Ints
from cranfield.measures.parameters import choice, parameter


class MoveToFront(Method):
    """The run of highest priority goes on as long as its documents are relevant.

    Priorities start at 0. A relevant document sets that of its run to 0 and the run goes on; any
    other lowers it by 1 and a run is chosen again. A document that was judged before, when its turn
    came in another run, counts in the same way, or is skipped. In global scope there is one queue
    for the runs of all topics.
    """

    name = "MTF"
    source = "Cormack, Palmer and Clarke 1998, section 6"
    learns = True
    scope: str = parameter("local", choice("local", "global"), "a queue a topic, or one for all")
    seen: str = parameter(
        "counts", choice("counts", "skip"), "documents that were judged before in another run"
    )

    def asking(self, pool: Pool, seed: int) -> Asking:
        everything = np.array([0, len(pool)])
        starts = everything if self.scope == "global" else pool.starts
        return Queues(pool, starts, counts=self.seen == "counts")


class Queues(Asking):
    """A queue of rankings for each group, the one of highest priority in front.

    One document changes the queue before the next, so this goes document by document, on plain
    numbers. Of rankings with equal priority the first is taken: of the first topic, and name.
    """

    def __init__(self, pool: Pool, starts: Ints, *, counts: bool) -> None:
        super().__init__(pool, starts)
        groups = starts.size - 1
        self._counts = counts
        self._cells = pool.lists.size - 1
        self._each = self._cells // groups
        self._ranked = np.ascontiguousarray(pool.ranked).data
        self._free = self.free.data
        self._next, self._end = pool.lists[:-1].tolist(), pool.lists[1:].tolist()
        self._from = np.full(len(pool), -1, dtype=np.int64).data
        self._answers = np.zeros(len(pool), dtype=np.int8).data
        # Priorities are 0 or below: their negatives, and keys of (that, ranking) as one number.
        self._below = [0] * self._cells
        self._queues = [[*range(i * self._each, (i + 1) * self._each)] for i in range(groups)]
        self._in_front = [-1] * groups

    def choose(self, groups: Indices) -> Indices:
        return np.array([self._choose(group) for group in groups.tolist()], dtype=np.intp)

    def learn(self, docs: Indices, relevant: Bools) -> None:
        for doc, good in zip(docs.tolist(), relevant.tolist(), strict=True):
            self._learn(doc, good)

    def whole(self, relevant: Bools, known: Bools, batch: int) -> Indices:
        if batch > 1:
            return super().whole(relevant, known, batch)
        out = []
        good, answered = relevant.tolist(), known.tolist()
        for group, size in enumerate(np.diff(self.starts).tolist()):
            for _ in range(size):
                doc = self._choose(group)
                out.append(doc)
                if answered[doc]:
                    self._learn(doc, good[doc])
        return np.array(out, dtype=np.intp)

    def _choose(self, group: int) -> int:
        while True:
            cell = self._in_front[group]
            if cell < 0:
                below, cell = divmod(heappop(self._queues[group]), self._cells)
                if below != self._below[cell]:
                    continue
                self._in_front[group] = cell
            at, end = self._next[cell], self._end[cell]
            while at < end:
                doc: int = self._ranked[at]
                at += 1
                if self._free[doc]:
                    self._free[doc] = False
                    self._from[doc] = cell
                    self._next[cell] = at
                    return doc
                if self._counts and (answer := self._answers[doc]):
                    self._next[cell] = at
                    if answer < 0:
                        self._move_back(cell)
                        break
                    self._below[cell] = 0
            else:
                # At its end a ranking leaves the queue.
                self._next[cell] = at
                self._in_front[group] = -1

    def _learn(self, doc: int, relevant: bool) -> None:
        cell = self._from[doc]
        self._answers[doc] = 1 if relevant else -1
        if not relevant:
            self._move_back(cell)
        elif self._below[cell]:
            self._below[cell] = 0
            if self._in_front[cell // self._each] != cell:
                heappush(self._queues[cell // self._each], cell)

    def _move_back(self, cell: int) -> None:
        group = cell // self._each
        self._below[cell] += 1
        heappush(self._queues[group], self._below[cell] * self._cells + cell)
        if self._in_front[group] == cell:
            self._in_front[group] = -1
