"""Pooling methods that learn: the next document depends on the judgments so far."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from cranfield.assess.pools.method import Asking, Method
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.spec import OPEN_PROBABILITY, choice, number, parameter
from cranfield.base.streams import stream_of

NEARLY = 1e-12
"""Difference of values about 1 up to which they tie, so that rounding breaks no tie."""


def spread(starts: Ints, counts: Ints) -> Ints:
    """Return the concatenated ranges of `counts` numbers from each start."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


_WINDOW = 16
"""Ranks searched at a time for the next document of a ranking."""


class Weighing(Asking):
    """The next document has the largest sum over runs of `value of the rank` * `weight of the run`.

    All numbers are 0 or more, so that sums keep their digits however small they are.
    """

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        rows = pool.by_document
        self.cells = pool.cell[rows]
        self.ranks = pool.rank[rows].astype(np.int64)
        self.left = np.diff(pool.lists)

    def start(self, values: Floats) -> None:
        """Set the value of each document in each run, in the order of the pool's documents."""
        self.values = values
        self._pack(np.arange(len(self.pool)))

    def weights(self) -> Floats:
        """Return the weight of each run; shape (topics * systems,)."""
        raise NotImplementedError

    def update(self, docs: Indices, relevant: Bools, rows: Ints, counts: Ints) -> None:
        """Learn from judgments of documents, each of which has `counts` of the rows."""
        raise NotImplementedError

    def choose(self, groups: Indices) -> Indices:
        if self._steps == _TOGETHER:
            self._pack(self._docs[self.free[self._docs]])
        self._steps += 1
        sums = np.add.reduceat(self._values * self.weights()[self._cells], self._begin)
        sums[~self.free[self._docs]] = -1.0
        highest = np.maximum.reduceat(sums, self._first)
        bar = np.repeat(highest * (1 - NEARLY), self._sizes)
        # Documents are in order of id, and the first of equal ones is chosen.
        best = np.flatnonzero(sums >= bar)
        topics, first = np.unique(self._topics[best], return_index=True)
        docs = self._docs[best[first[np.searchsorted(topics, groups)]]]
        self.free[docs] = False
        self.left[self.cells[self._rows_of(docs)]] -= 1
        return docs

    def learn(self, docs: Indices, relevant: Bools) -> None:
        self.update(docs, relevant, self._rows_of(docs), self.pool.holders[docs])

    def _rows_of(self, docs: Indices) -> Ints:
        return spread(self.pool.document_starts[docs], self.pool.holders[docs])

    def _pack(self, docs: Indices) -> None:
        """Restrict the sums to some documents."""
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
    """By the sum of (1 - p) p^(rank - 1) times the residual of the run, its unjudged weight."""

    name = "RBP-B"
    source = "Moffat, Webber and Zobel 2007"
    learns = True
    p: float = parameter(0.8, OPEN_PROBABILITY, "probability to go on to the next rank")

    def asking(self, pool: Pool, seed: int) -> Asking:
        return Residuals(pool, self.p, of_base=False)


class RankBiasedWithBase(RankBiased):
    """By the same times (base + residual/2)^3, with the RBP of the run's judged documents."""

    name = "RBP-C"

    def asking(self, pool: Pool, seed: int) -> Asking:
        return Residuals(pool, self.p, of_base=True)


class Residuals(Weighing):
    """RBP of the judged documents of each run, its base, and the residual of unjudged ones."""

    def __init__(self, pool: Pool, p: float, *, of_base: bool) -> None:
        super().__init__(pool)
        self.start(np.asarray((1 - p) * p ** (self.ranks - 1.0), dtype=np.float64))
        self._of_base = of_base
        self._open = (1 - p) * p ** (pool.rank - 1.0)
        self._behind = p ** np.diff(pool.lists).astype(np.float64)
        self._base = np.zeros(pool.lists.size - 1)
        self._residual = np.ones(pool.lists.size - 1)

    def weights(self) -> Floats:
        if not self._of_base:
            return self._residual
        return self._residual * (self._base + self._residual / 2) ** 3

    def update(self, docs: Indices, relevant: Bools, rows: Ints, counts: Ints) -> None:
        cells = self.cells[rows]
        self._base[cells] += self.values[rows] * np.repeat(relevant, counts)
        # Residuals are summed anew: by subtraction they would lose digits.
        self._open[self.pool.by_document[rows]] = 0
        start, length = self.pool.lists[cells], np.diff(self.pool.lists)[cells]
        begin = np.cumsum(length) - length
        unjudged = np.add.reduceat(self._open[spread(start, length)], begin)
        self._residual[cells] = unjudged + self._behind[cells]


class Hedge(Method):
    r"""By the loss of each run, were the document not relevant; runs that lost less weigh more.

    .. math:: \sum_s \beta^{L_s} \ell_s(d), \quad \ell_s(d) = \ln(n / r_s(d))

    of n pooled documents; a document that a run lacks has the mean over the ranks behind the run's
    end. A judgment adds half of it to the run's loss L, or subtracts it for a relevant document.

    Stable sums exclude the part that all documents share, so that small weights keep their digits.
    Plain sums lose digits, and depend on the order of additions: they are for comparison with other
    programs.
    """

    name = "Hedge"
    source = "Aslam, Pavlu and Savell 2003"
    learns = True
    beta: float = parameter(0.1, OPEN_PROBABILITY, "factor of the weight of a run for a loss of 1")
    sums: str = parameter("stable", choice("stable", "plain"), "how sums over runs are computed")

    def asking(self, pool: Pool, seed: int) -> Asking:
        return (Losses if self.sums == "stable" else PlainLosses)(pool, self.beta)


class Losses(Weighing):
    """Losses of the runs, for stable sums."""

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
        self.start(own - self._lacking.ravel()[self.cells])
        self._log = np.log(beta)
        self._loss = np.zeros(self._lacking.shape)

    def weights(self) -> Floats:
        # Only ratios of weights matter: the largest is 1, of the runs with documents left.
        loss = np.where(self.left.reshape(self._loss.shape) > 0, self._loss, np.inf)
        smallest = loss.min(axis=1, keepdims=True, initial=_LARGEST)
        return np.asarray(np.exp(self._log * (loss - smallest)).ravel())

    def update(self, docs: Indices, relevant: Bools, rows: Ints, counts: Ints) -> None:
        half = np.where(relevant, -0.5, 0.5)
        topics = self.pool.topic[docs]
        self._loss[topics] += half[:, None] * self._lacking[topics]
        self._loss.ravel()[self.cells[rows]] += np.repeat(half, counts) * self.values[rows]


class PlainLosses(Asking):
    """Losses by the plain formula, a product of a matrix and weights for each topic."""

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
                positions = pool.ranked[first:last] - pool.starts[topic]
                losses[:, system] = by_rank[positions.size :].mean() if positions.size < size else 0
                losses[positions, system] = by_rank[: positions.size]

    def choose(self, groups: Indices) -> Indices:
        smallest = self._lost.min(axis=1, keepdims=True, initial=_LARGEST)
        weights = self._beta ** (self._lost - smallest)
        weights /= weights.sum(axis=1, keepdims=True)
        docs = np.empty(groups.size, dtype=np.intp)
        for k, topic in enumerate(groups.tolist()):
            start, stop = self.pool.starts[topic : topic + 2]
            sums = np.where(self.free[start:stop], self._losses[topic] @ weights[topic], -np.inf)
            docs[k] = start + sums.argmax()
        self.free[docs] = False
        return docs

    def learn(self, docs: Indices, relevant: Bools) -> None:
        for doc, hit in zip(docs.tolist(), relevant.tolist(), strict=True):
            topic = self.pool.topic[doc]
            losses = self._losses[topic][doc - self.pool.starts[topic]]
            self._lost[topic] += losses * (-0.5 if hit else 0.5)


class MoveToFront(Method):
    """The run of highest priority goes on as long as its documents are relevant.

    Priorities start at 0. A relevant document sets that of its run to 0, and the run goes on; any
    other lowers it by 1, and a run is chosen again. A document that was judged before in another
    run counts in the same way, or is skipped. In global scope there is one queue for the runs of
    all topics.
    """

    name = "MTF"
    aliases = ("move-to-front",)
    source = "Cormack, Palmer and Clarke 1998, section 6"
    learns = True
    scope: str = parameter(
        "local", choice("local", "global"), "one queue per topic, or one for all"
    )
    seen: str = parameter(
        "counts", choice("counts", "skip"), "documents judged before in another run"
    )

    def asking(self, pool: Pool, seed: int) -> Asking:
        everything = np.array([0, len(pool)])
        starts = everything if self.scope == "global" else pool.starts
        return Queues(pool, starts, counts=self.seen == "counts")


class Queues(Asking):
    """A heap of rankings for each group, by priority, topic and name; on plain numbers."""

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
        # Negative priorities, and heaps of keys (that, ranking) as one number.
        self._below = [0] * self._cells
        self._queues = [[*range(i * self._each, (i + 1) * self._each)] for i in range(groups)]
        self._in_front = [-1] * groups

    def choose(self, groups: Indices) -> Indices:
        return np.array([self._choose(group) for group in groups.tolist()], dtype=np.intp)

    def learn(self, docs: Indices, relevant: Bools) -> None:
        for doc, is_relevant in zip(docs.tolist(), relevant.tolist(), strict=True):
            self._learn(doc, is_relevant)

    def whole(self, relevant: Bools, judged: Bools, batch: int) -> Indices:
        if batch > 1:
            return super().whole(relevant, judged, batch)
        out = []
        good, answered = relevant.tolist(), judged.tolist()
        for group in np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts)).tolist():
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
            position, end = self._next[cell], self._end[cell]
            while position < end:
                doc: int = self._ranked[position]
                position += 1
                if self._free[doc]:
                    self._free[doc] = False
                    self._from[doc] = cell
                    self._next[cell] = position
                    return doc
                if self._counts and (answer := self._answers[doc]):
                    self._next[cell] = position
                    if answer < 0:
                        self._move_back(cell)
                        break
                    self._below[cell] = 0
            else:
                # At its end a ranking leaves the queue.
                self._next[cell] = position
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


class Bandit(Method):
    """A method that plays a run with the highest value."""

    learns = True
    reward: str = parameter(
        "holders", choice("holders", "pulled"), "runs that a judgment counts for"
    )
    rate: float = 1.0
    ties: str = "name"

    def asking(self, pool: Pool, seed: int) -> Asking:
        return RunsAsked(self, pool, seed)

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        """Return the value of each run for each of the topics; shape (topics, systems)."""
        raise NotImplementedError


class RunsAsked(Asking):
    """Numbers of judged, relevant and remaining documents of each run."""

    def __init__(self, method: Bandit, pool: Pool, seed: int) -> None:
        super().__init__(pool)
        shape = (len(pool.topics), len(pool.systems))
        self.method = method
        self.judged = np.zeros(shape)
        self.relevant = np.zeros(shape)
        self.left = np.diff(pool.lists).reshape(shape)
        self.steps = np.zeros(shape[0], dtype=np.int64)
        self.streams = [stream_of(seed, topic) for topic in pool.topics]
        self._next = pool.lists[:-1].copy()
        self._from = np.full(len(pool), -1, dtype=np.int64)
        self._cells = pool.cell[pool.by_document]
        # A window may extend beyond the last ranking; there all is free.
        self._ranked = np.r_[pool.ranked, np.full(_WINDOW, len(pool), dtype=np.int32)]
        self._free = np.ones(len(pool) + 1, dtype=bool)
        self.free = self._free[:-1]

    def choose(self, groups: Indices) -> Indices:
        values = np.where(self.left[groups] > 0, self.method.values(self, groups), -np.inf)
        best = values >= values.max(axis=1, keepdims=True) - NEARLY
        run = best.argmax(axis=1) if self.method.ties == "name" else self.one_of(best, groups)
        cells = groups * values.shape[1] + run
        docs = self._first_free(cells)
        self._from[docs] = cells
        self.free[docs] = False
        self.left.ravel()[self._holders(docs)[0]] -= 1
        self.steps[groups] += 1
        return docs

    def learn(self, docs: Indices, relevant: Bools) -> None:
        if self.method.reward == "pulled":
            cells, gained = self._from[docs], relevant
        else:
            cells, counts = self._holders(docs)
            gained = np.repeat(relevant, counts)
        rate, judged, hits = self.method.rate, self.judged.ravel(), self.relevant.ravel()
        judged[cells] = rate * judged[cells] + 1
        hits[cells] = rate * hits[cells] + gained

    def random(self, topics: Indices) -> Floats:
        """Draw a number from 0 to 1 from the stream of each topic."""
        return np.array([self.streams[topic].random() for topic in topics.tolist()])

    def one_of(self, candidates: Bools, topics: Indices) -> Indices:
        """Draw one of the candidate runs of each topic."""
        rank = (self.random(topics) * candidates.sum(axis=1)).astype(np.int64)
        return np.asarray((candidates.cumsum(axis=1) > rank[:, None]).argmax(axis=1))

    def any_run(self, topics: Indices) -> Floats:
        """Return values in which a random run with documents left is the highest."""
        values = np.zeros((topics.size, self.left.shape[1]))
        values[np.arange(topics.size), self.one_of(self.left[topics] > 0, topics)] = 2.0
        return values

    def mean(self, topics: Indices) -> Floats:
        """Return the proportion of relevant documents of each run, 0 without any judged."""
        return self.relevant[topics] / np.maximum(self.judged[topics], 1)

    def _first_free(self, cells: Indices) -> Indices:
        """Return the first unchosen document of each ranking; there is one."""
        docs = np.empty(cells.size, dtype=np.intp)
        open_cells = np.arange(cells.size)
        while open_cells.size:
            window = self._ranked[self._next[cells[open_cells]][:, None] + np.arange(_WINDOW)]
            free = self._free[window]
            place, rows = free.argmax(axis=1), np.arange(open_cells.size)
            hit = free[rows, place]
            docs[open_cells] = window[rows, place]
            self._next[cells[open_cells]] += np.where(hit, place, _WINDOW)
            open_cells = open_cells[~hit]
        return docs

    def _holders(self, docs: Indices) -> tuple[Ints, Ints]:
        """Return the rankings that have the documents, and their number for each document."""
        counts = self.pool.holders[docs]
        return self._cells[spread(self.pool.document_starts[docs], counts)], counts


class Random(Bandit):
    """The next document of a random run that has documents left."""

    name = "random"
    source = "Losada, Parapar and Barreiro 2016"
    draws = True
    reward: str = "holders"

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        return state.any_run(topics)


class EpsilonGreedy(Bandit):
    """A random run with probability min(1, c S / (d^2 t)), else that with most relevant documents.

    Of S runs, before judgment t of the topic; by proportion of relevant documents, at first 0.
    """

    name = "epsilon-greedy"
    aliases = ("epsilon", "greedy")
    source = "Auer, Cesa-Bianchi and Fischer 2002; Losada, Parapar and Barreiro 2016"
    draws = True
    c: float = parameter(0.01, number(0), "constant of the length of exploration; 0 is none")
    d: float = parameter(
        0.1, number(0, 1, open_low=True), "assumed gap between the best run and the others, above 0"
    )
    ties: str = parameter("name", choice("name", "random"), "how to choose among equally good runs")

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        # Divided twice: the square of a small d is 0.
        chance = self.c * state.left.shape[1] / self.d / self.d / (state.steps[topics] + 1)
        explores = state.random(topics) < chance
        # Drawn for every topic, so that the draws of a topic do not depend on others.
        return np.where(explores[:, None], state.any_run(topics), state.mean(topics))


class UcbTuned(Bandit):
    r"""The run with the highest upper bound of its proportion of relevant documents.

    .. math:: \mu + \sqrt{\frac{\ln N}{n} \min(1/4, \mu (1 - \mu) + \sqrt{2 \ln N / n})}

    with N documents judged for the topic, and n of the run, of which a proportion mu is relevant.
    Runs without a judged document come first.
    """

    name = "UCB1-tuned"
    aliases = ("UCB1", "UCB")
    source = "Auer, Cesa-Bianchi and Fischer 2002; Losada, Parapar and Barreiro 2016"
    ties: str = parameter("name", choice("name", "random"), "how to choose among equally good runs")

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        judged, mean = state.judged[topics], state.mean(topics)
        log = np.log(np.maximum(state.steps[topics], 1))[:, None] / np.maximum(judged, 1)
        bound = mean + np.sqrt(log * np.minimum(0.25, mean * (1 - mean) + np.sqrt(2 * log)))
        # A bound is at most 1 + sqrt(log / 4); unjudged runs are above that.
        return np.where(judged > 0, bound, 1e6)


class Thompson(Bandit):
    """The run with the highest draw from Beta(1 + R, 1 + N - R), of N judged and R relevant.

    Each judgment of a run multiplies its earlier counts by `rate`.
    """

    name = "Thompson"
    aliases = ("Thompson-sampling", "TS", "BLA")
    source = "Losada, Parapar and Barreiro 2016, 2017"
    draws = True
    rate: float = parameter(1.0, number(0, 1), "weight of earlier judgments")

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        hits = state.relevant[topics] + 1
        misses = state.judged[topics] - hits + 2
        draws = [
            state.streams[topic].beta(hits[i], misses[i]) for i, topic in enumerate(topics.tolist())
        ]
        return np.array(draws).reshape(hits.shape)


class MaxMean(Bandit):
    """The run with the highest (1 + R)/(2 + N), of N judged documents and R relevant ones.

    Each judgment of a run multiplies its earlier counts by `rate`.
    """

    name = "MaxMean"
    aliases = ("MM", "max-mean")
    source = "Losada, Parapar and Barreiro 2016, 2017"
    rate: float = parameter(1.0, number(0, 1), "weight of earlier judgments")
    ties: str = parameter("name", choice("name", "random"), "how to choose among equally good runs")

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        return (1 + state.relevant[topics]) / (2 + state.judged[topics])


_LARGEST = np.finfo(np.float64).max

_TOGETHER = 32
"""Steps after which judged documents are removed from the sums."""
