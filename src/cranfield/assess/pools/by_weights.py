"""Orders by a sum over runs whose weights change with each judgment."""

from __future__ import annotations

import numpy as np

from cranfield.assess.pools.asking import NEARLY, Asking, spread
from cranfield.assess.pools.method import Method
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.measures.parameters import TRUE_SHARE, choice, parameter

_LARGEST = np.finfo(np.float64).max

_TOGETHER = 32
"""Steps after which documents that are judged are taken out of the sums."""


class Weighing(Asking):
    """The next document has the largest sum of `value of the rank` times `weight of the run`.

    The sum goes over the runs that have it. All numbers are 0 or more, so that sums keep their
    digits however small they are.
    """

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        rows = pool.by_document
        self.cells = pool.cell[rows]
        self.ranks = pool.rank[rows].astype(np.int64)
        self.values: Floats = np.zeros(rows.size)
        self.left = np.diff(pool.lists)
        self._pack(np.arange(len(pool)))

    def weights(self) -> Floats:
        """Weight of each run; shape (topics * systems,)."""
        raise NotImplementedError

    def hear(self, docs: Indices, relevant: Bools, rows: Ints, counts: Ints) -> None:
        """Learn from judgments; `rows` are those that the documents have, `counts` of each."""
        raise NotImplementedError

    def choose(self, groups: Indices) -> Indices:
        if self._steps == _TOGETHER:
            self._pack(self._docs[self.free[self._docs]])
        self._steps += 1
        sums = np.add.reduceat(self._values * self.weights()[self._cells], self._begin)
        sums[~self.free[self._docs]] = -1.0
        highest = np.maximum.reduceat(sums, self._first)
        bar = np.repeat(highest * (1 - NEARLY), self._sizes)
        # Documents are in order of id, and the first of equal ones is taken.
        best = np.flatnonzero(sums >= bar)
        topics, at = np.unique(self._topics[best], return_index=True)
        found = self._docs[best[at[np.searchsorted(topics, groups)]]]
        self.free[found] = False
        self.left[self.cells[self._rows_of(found)]] -= 1
        return found

    def learn(self, docs: Indices, relevant: Bools) -> None:
        self.hear(docs, relevant, self._rows_of(docs), self.pool.holders[docs])

    def _rows_of(self, docs: Indices) -> Ints:
        return spread(self.pool.held[docs], self.pool.holders[docs])

    def _pack(self, docs: Indices) -> None:
        """Keep the rows of some documents only."""
        self._steps = 0
        self._docs = docs
        counts = self.pool.holders[docs]
        rows = self._rows_of(docs)
        self._begin = np.cumsum(counts) - counts
        self._cells = self.cells[rows]
        self._values = self.values[rows]
        self._topics = self.pool.topic[docs]
        _, self._first, self._sizes = np.unique(self._topics, return_index=True, return_counts=True)


class RankBiased(Method):
    """By the sum of (1 - p) p^(rank - 1) times what may still come in the run, its residual."""

    name = "RBP-B"
    source = "Moffat, Webber and Zobel 2007"
    learns = True
    p: float = parameter(0.8, TRUE_SHARE, "chance to go on to the next rank")

    def asking(self, pool: Pool, seed: int) -> Asking:
        return Residuals(pool, self.p, of_base=False)


class RankBiasedWithBase(RankBiased):
    """By the same times (base + residual/2)^3, with the base that is known of the run's RBP."""

    name = "RBP-C"

    def asking(self, pool: Pool, seed: int) -> Asking:
        return Residuals(pool, self.p, of_base=True)


class Residuals(Weighing):
    """What is known of the RBP of each run: its base, and the residual of unjudged documents."""

    def __init__(self, pool: Pool, p: float, *, of_base: bool) -> None:
        super().__init__(pool)
        self.values = np.asarray((1 - p) * p ** (self.ranks - 1.0), dtype=np.float64)
        self._pack(self._docs)
        self._of_base = of_base
        self._open = (1 - p) * p ** (pool.rank - 1.0)
        self._places = pool.by_document
        self._behind = p ** np.diff(pool.lists).astype(np.float64)
        self._base = np.zeros(pool.lists.size - 1)
        self._residual = np.ones(pool.lists.size - 1)

    def weights(self) -> Floats:
        if not self._of_base:
            return self._residual
        return self._residual * (self._base + self._residual / 2) ** 3

    def hear(self, docs: Indices, relevant: Bools, rows: Ints, counts: Ints) -> None:
        cells = self.cells[rows]
        self._base[cells] += self.values[rows] * np.repeat(relevant, counts)
        # What is left is added up anew: taken off, it would keep few digits at the end.
        self._open[self._places[rows]] = 0
        start, length = self.pool.lists[cells], np.diff(self.pool.lists)[cells]
        begin = np.cumsum(length) - length
        still = np.add.reduceat(self._open[spread(start, length)], begin)
        self._residual[cells] = still + self._behind[cells]


class Hedge(Method):
    r"""By the loss of each run, were the document not relevant; runs that lost less weigh more.

    .. math:: \sum_s \beta^{L_s} \ell_s(d), \quad \ell_s(d) = \ln(n / r_s(d))

    of n pooled documents; a document that a run lacks has its mean over the ranks behind the run's
    end. Judging adds half of it to the run's loss L, or takes it off when the document is relevant.

    What all documents share in the sum is left out, so that small weights keep their digits. Plain
    sums in floats lose them there, and go by the order of additions: they are for comparison with
    other programs.
    """

    name = "Hedge"
    source = "Aslam, Pavlu and Savell 2003"
    learns = True
    beta: float = parameter(0.1, TRUE_SHARE, "what the weight of a run falls to by a loss of 1")
    sums: str = parameter("stable", choice("stable", "plain"), "how sums over runs are computed")

    def asking(self, pool: Pool, seed: int) -> Asking:
        return (Losses if self.sums == "stable" else PlainLosses)(pool, self.beta)


class Losses(Weighing):
    """The loss of each run so far."""

    def __init__(self, pool: Pool, beta: float) -> None:
        super().__init__(pool)
        size, systems = np.diff(pool.starts), len(pool.systems)
        of_cell, length = np.repeat(size, systems), np.diff(pool.lists)
        logs = np.r_[0.0, np.cumsum(np.log(np.arange(1, size.max(initial=0) + 1)))]
        behind = of_cell - length
        log_size = np.log(np.maximum(of_cell, 1))
        mean = log_size - (logs[of_cell] - logs[length]) / np.maximum(behind, 1)
        self._lacking = np.where(behind > 0, mean, 0.0).reshape(-1, systems)
        own = log_size[self.cells] - np.log(self.ranks)
        self.values = own - self._lacking.ravel()[self.cells]
        self._pack(self._docs)
        self._log = np.log(beta)
        self._loss = np.zeros(self._lacking.shape)

    def weights(self) -> Floats:
        # Only the ratios of weights matter: the largest is 1, of the runs that have something left.
        loss = np.where(self.left.reshape(self._loss.shape) > 0, self._loss, np.inf)
        least = loss.min(axis=1, keepdims=True, initial=_LARGEST)
        return np.asarray(np.exp(self._log * (loss - least)).ravel())

    def hear(self, docs: Indices, relevant: Bools, rows: Ints, counts: Ints) -> None:
        half = np.where(relevant, -0.5, 0.5)
        topics = self.pool.topic[docs]
        self._loss[topics] += half[:, None] * self._lacking[topics]
        self._loss.ravel()[self.cells[rows]] += np.repeat(half, counts) * self.values[rows]


class PlainLosses(Asking):
    """The same by the formula as it stands, a product of a matrix and weights for each topic."""

    def __init__(self, pool: Pool, beta: float) -> None:
        super().__init__(pool)
        self._beta = beta
        systems = len(pool.systems)
        self._lost = np.zeros((len(pool.topics), systems))
        self._losses = [np.zeros((size, systems)) for size in np.diff(pool.starts).tolist()]
        for topic, losses in enumerate(self._losses):
            size = len(losses)
            by_rank = np.log(size / np.arange(1, size + 1))
            for system in range(systems):
                first, last = pool.lists[topic * systems + system :][:2]
                listed = pool.ranked[first:last] - pool.starts[topic]
                losses[:, system] = by_rank[listed.size :].mean() if listed.size < size else 0
                losses[listed, system] = by_rank[: listed.size]

    def choose(self, groups: Indices) -> Indices:
        least = self._lost.min(axis=1, keepdims=True, initial=_LARGEST)
        weights = self._beta ** (self._lost - least)
        weights /= weights.sum(axis=1, keepdims=True)
        found = np.empty(groups.size, dtype=np.intp)
        for k, topic in enumerate(groups.tolist()):
            start, stop = self.pool.starts[topic : topic + 2]
            sums = np.where(self.free[start:stop], self._losses[topic] @ weights[topic], -np.inf)
            found[k] = start + sums.argmax()
        self.free[found] = False
        return found

    def learn(self, docs: Indices, relevant: Bools) -> None:
        for doc, hit in zip(docs.tolist(), relevant.tolist(), strict=True):
            topic = self.pool.topic[doc]
            losses = self._losses[topic][doc - self.pool.starts[topic]]
            self._lost[topic] += losses * (-0.5 if hit else 0.5)
