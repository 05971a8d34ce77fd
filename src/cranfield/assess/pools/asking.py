"""Asking for documents one after the other, all topics in step."""

from __future__ import annotations

import numpy as np

from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Indices, Ints

NEARLY = 1e-12
"""Values that differ by less, of numbers about 1, are taken for equal: rounding breaks no tie."""


class Asking:
    """What a method that learns knows in the midst of its work.

    Topics are worked on in step, and a topic does not know of others. Where one queue goes over
    all topics there is one `group` of documents, else one a topic.
    """

    def __init__(self, pool: Pool, starts: Ints | None = None) -> None:
        self.pool = pool
        self.starts = pool.starts if starts is None else starts
        self.free = np.ones(len(pool), dtype=bool)

    def choose(self, groups: Indices) -> Indices:
        """Choose the next document of each of these groups, all of which have one left."""
        raise NotImplementedError

    def learn(self, docs: Indices, relevant: Bools) -> None:
        """Hear whether documents are relevant, chosen before and each of another group."""
        raise NotImplementedError

    def whole(self, relevant: Bools, known: Bools, batch: int) -> Indices:
        """Ask for all documents, each group's one after the other, and answer at once.

        What is not known is not answered. With a batch above 1, answers come after so many.
        """
        sizes = np.diff(self.starts)
        longest_first = np.argsort(-sizes, kind="stable")
        ends = sizes[longest_first]
        out = np.empty(self.free.size, dtype=np.intp)
        pending: list[Indices] = []
        for step in range(int(sizes.max(initial=0))):
            groups = longest_first[: np.searchsorted(-ends, -step)]
            docs = self.choose(groups)
            out[self.starts[groups] + step] = docs
            pending.append(docs)
            if len(pending) == batch:
                for one in pending:
                    heard = one[known[one]]
                    self.learn(heard, relevant[heard])
                pending = []
        return out


def spread(starts: Ints, counts: Ints) -> Ints:
    """Return `start, start + 1, ...` of each segment, one segment after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())
