"""Pooling methods that learn: the next document depends on earlier judgments."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import ClassVar

import numpy as np

from cranfield.assess.pools.method import Method, MethodState
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.spec import OPEN_PROBABILITY, choice, number, parameter
from cranfield.base.streams import make_named_stream
from cranfield.collection.judged.rows import join_ranges

TIE_TOLERANCE = 1e-12  # Maximum difference of tied values, relative for sums over runs


class DocumentState(MethodState):
    """State with an index from documents of the pool to the rankings (cells) that contain them."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self.cells = pool.cell[pool.by_document]

    def find_rows(self, docs: Indices) -> Ints:
        """Find, for each document, the rankings that contain it, as indices into `cells`."""
        return join_ranges(self.pool.document_starts[docs], self.pool.document_starts[docs + 1])[1]


class WeightedSumState(DocumentState):
    """State of methods that sum, over runs, the value of a document's rank times a weight."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self.ranks = pool.rank[pool.by_document].astype(np.int64)
        self.n_left = np.diff(pool.ranking_starts)

    def set_values(self, values: Floats) -> None:
        """Set the value of each row of `cells`; values and weights are nonnegative."""
        self.values = values
        self._restrict_docs(np.arange(len(self.pool)))

    def compute_weights(self) -> Floats:
        """Compute the weight of each ranking; shape (topics * systems,)."""
        raise NotImplementedError

    def choose(self, groups: Indices) -> Indices:
        if self._steps == _RESTRICT_INTERVAL:
            self._restrict_docs(self._docs[self.is_free[self._docs]])
        self._steps += 1
        sums = np.add.reduceat(self._values * self.compute_weights()[self._cells], self._sum_starts)
        sums[~self.is_free[self._docs]] = -1.0
        max_sums = np.maximum.reduceat(sums, self._topic_starts)
        threshold = np.repeat(max_sums * (1 - TIE_TOLERANCE), self._topic_sizes)
        # Documents are in order of id, and the first of tied documents is chosen.
        tied_rows = np.flatnonzero(sums >= threshold)
        topics, indices = np.unique(self._topics[tied_rows], return_index=True)
        docs = self._docs[tied_rows[indices[np.searchsorted(topics, groups)]]]
        self.is_free[docs] = False
        self.n_left[self.cells[self.find_rows(docs)]] -= 1
        return docs

    def _restrict_docs(self, docs: Indices) -> None:
        """Compute later sums for these documents only, and restart the count of steps."""
        self._steps, self._docs = 0, docs
        counts, rows = self.pool.run_counts[docs], self.find_rows(docs)
        self._sum_starts = np.cumsum(counts) - counts
        self._cells, self._values = self.cells[rows], self.values[rows]
        self._topics = self.pool.topic[docs]
        _, starts, sizes = np.unique(self._topics, return_index=True, return_counts=True)
        self._topic_starts, self._topic_sizes = starts, sizes


class RankBiased(Method):
    """Choose the document with the largest sum over runs of (1 - p) p^(rank - 1) times residual.

    The residual of a run is the RBP weight of its unjudged documents and ranks below its end.
    """

    name = "RBP-B"
    source = "Moffat, Webber and Zobel 2007"
    learns = True
    uses_base: ClassVar[bool] = False
    p: float = parameter(
        0.8, OPEN_PROBABILITY, "persistence: probability of continuing to the next rank"
    )

    def make_state(self, pool: Pool, seed: int) -> MethodState:
        return ResidualState(pool, self.p, uses_base=self.uses_base)


class RankBiasedWithBase(RankBiased):
    """Choose the document with the largest sum over runs; runs with relevant documents weigh more.

    The sum over runs is of (1 - p) p^(rank - 1) times residual times (base + residual/2)^3. The
    base is the RBP of the run's judged documents; the residual is as for RBP-B.
    """

    name = "RBP-C"
    uses_base = True


class ResidualState(WeightedSumState):
    """State with the base and the residual of each run: RBP of judged and unjudged documents."""

    def __init__(self, pool: Pool, p: float, *, uses_base: bool) -> None:
        super().__init__(pool)
        self.set_values(np.asarray((1 - p) * p ** (self.ranks - 1.0), dtype=np.float64))
        self._uses_base = uses_base
        self._unjudged_weights = (1 - p) * p ** (pool.rank - 1.0)
        self._tail = p ** np.diff(pool.ranking_starts).astype(np.float64)
        self._base = np.zeros(pool.ranking_starts.size - 1)
        self._residual = np.ones(pool.ranking_starts.size - 1)

    def compute_weights(self) -> Floats:
        if not self._uses_base:
            return self._residual
        return self._residual * (self._base + self._residual / 2) ** 3

    def learn(self, docs: Indices, is_relevant: Bools) -> None:
        rows = self.find_rows(docs)
        cells = self.cells[rows]
        self._base[cells] += self.values[rows] * np.repeat(is_relevant, self.pool.run_counts[docs])
        # Residuals are summed again, as subtraction would lose digits.
        self._unjudged_weights[self.pool.by_document[rows]] = 0
        start, stop = self.pool.ranking_starts[cells], self.pool.ranking_starts[cells + 1]
        weights = self._unjudged_weights[join_ranges(start, stop)[1]]
        unjudged_weights = np.add.reduceat(weights, np.cumsum(stop - start) - (stop - start))
        self._residual[cells] = unjudged_weights + self._tail[cells]


class Hedge(Method):
    r"""Choose the document with the largest sum of losses; runs with past losses weigh less.

    .. math:: \sum_s \beta^{L_s} \ell_s(d), \quad \ell_s(d) = \ln(n / r_s(d))

    with n pooled documents: a document d at rank r of run s causes the loss :math:`\ell` if it is
    not relevant. A document that a run lacks has the mean loss over the ranks below the end of the
    run. A judgment adds half of the document's loss to the run's loss L, or subtracts it if the
    document is relevant.

    Stable sums exclude the part that all documents share, so that small weights keep their digits.
    Plain sums lose digits and depend on the order of additions; they allow comparisons with other
    programs.
    """

    name = "Hedge"
    source = "Aslam, Pavlu and Savell 2003"
    learns = True
    beta: float = parameter(
        0.1, OPEN_PROBABILITY, "factor by which a loss of 1 reduces a run's weight"
    )
    sums: str = parameter(
        "stable",
        choice("stable", "plain"),
        "summation over runs: stable in any order of runs, or plain as in other programs",
    )

    def make_state(self, pool: Pool, seed: int) -> MethodState:
        return (LossState if self.sums == "stable" else PlainLossState)(pool, self.beta)


class LossState(WeightedSumState):
    """State of Hedge with stable sums."""

    def __init__(self, pool: Pool, beta: float) -> None:
        super().__init__(pool)
        sizes, n_systems = np.diff(pool.starts), len(pool.systems)
        n_docs, n_ranked = np.repeat(sizes, n_systems), np.diff(pool.ranking_starts)
        log_factorials = np.r_[0.0, np.cumsum(np.log(np.arange(1, sizes.max(initial=0) + 1)))]
        n_missing = n_docs - n_ranked
        log_size = np.log(np.maximum(n_docs, 1))
        log_sum = log_factorials[n_docs] - log_factorials[n_ranked]
        mean_loss = log_size - log_sum / np.maximum(n_missing, 1)
        self._missing_loss = np.where(n_missing > 0, mean_loss, 0.0).reshape(-1, n_systems)
        ranked_loss = log_size[self.cells] - np.log(self.ranks)
        self.set_values(ranked_loss - self._missing_loss.ravel()[self.cells])
        self._log_beta = np.log(beta)
        self._loss = np.zeros(self._missing_loss.shape)

    def compute_weights(self) -> Floats:
        # Only ratios of weights matter: the largest weight of runs with documents left is 1.
        loss = np.where(self.n_left.reshape(self._loss.shape) > 0, self._loss, np.inf)
        min_loss = loss.min(axis=1, keepdims=True, initial=_MAX_LOSS)
        return np.asarray(np.exp(self._log_beta * (loss - min_loss)).ravel())

    def learn(self, docs: Indices, is_relevant: Bools) -> None:
        factor, topics = np.where(is_relevant, -0.5, 0.5), self.pool.topic[docs]
        self._loss[topics] += factor[:, None] * self._missing_loss[topics]
        rows, row_factor = self.find_rows(docs), np.repeat(factor, self.pool.run_counts[docs])
        self._loss.ravel()[self.cells[rows]] += row_factor * self.values[rows]


class PlainLossState(MethodState):
    """State of Hedge with plain sums: a matrix of losses times the weights, for each topic."""

    def __init__(self, pool: Pool, beta: float) -> None:
        super().__init__(pool)
        self._beta = beta
        n_systems = len(pool.systems)
        self._run_losses = np.zeros((len(pool.topics), n_systems))
        self._losses = [np.zeros((size, n_systems)) for size in np.diff(pool.starts).tolist()]
        for topic, losses in enumerate(self._losses):
            n_docs = len(losses)
            rank_losses = np.log(n_docs / np.arange(1, n_docs + 1))
            for system in range(n_systems):
                start, stop = pool.ranking_starts[topic * n_systems + system :][:2]
                positions = pool.ranked[start:stop] - pool.starts[topic]
                if positions.size < n_docs:
                    losses[:, system] = rank_losses[positions.size :].mean()
                losses[positions, system] = rank_losses[: positions.size]

    def choose(self, groups: Indices) -> Indices:
        min_loss = self._run_losses.min(axis=1, keepdims=True, initial=_MAX_LOSS)
        weights = self._beta ** (self._run_losses - min_loss)
        weights /= weights.sum(axis=1, keepdims=True)
        docs = np.empty(groups.size, dtype=np.intp)
        for k, topic in enumerate(groups.tolist()):
            start, stop = self.pool.starts[topic : topic + 2]
            sums = np.where(self.is_free[start:stop], self._losses[topic] @ weights[topic], -np.inf)
            docs[k] = start + sums.argmax()
        self.is_free[docs] = False
        return docs

    def learn(self, docs: Indices, is_relevant: Bools) -> None:
        for doc, is_hit in zip(docs.tolist(), is_relevant.tolist(), strict=True):
            topic = self.pool.topic[doc]
            losses = self._losses[topic][doc - self.pool.starts[topic]]
            self._run_losses[topic] += losses * (-0.5 if is_hit else 0.5)


class MoveToFront(Method):
    """Choose from the run with the highest priority as long as its documents are relevant.

    Priorities start at 0. A relevant document sets the priority of its run to 0, and the next
    document is of the same run. Any other document lowers the priority of its run by 1, and the
    next document is of a run with the highest priority. A document that was judged earlier in
    another run counts in the same way, or is skipped. In global scope there is one queue for the
    runs of all topics.
    """

    name = "MTF"
    aliases = ("move-to-front",)
    source = "Cormack, Palmer and Clarke 1998, section 6"
    learns = True
    scope: str = parameter(
        "local", choice("local", "global"), "one queue per topic, or one for all topics"
    )
    seen: str = parameter(
        "counts", choice("counts", "skip"), "how to treat documents already judged in another run"
    )

    def make_state(self, pool: Pool, seed: int) -> MethodState:
        single_group = np.array([0, len(pool)])
        starts = single_group if self.scope == "global" else pool.starts
        return QueueState(pool, starts, counts_seen=self.seen == "counts")


class QueueState(MethodState):
    """State of move-to-front: for each group a heap of rankings by priority, topic and name."""

    def __init__(self, pool: Pool, starts: Ints, *, counts_seen: bool) -> None:
        super().__init__(pool, starts)
        n_groups = starts.size - 1
        self._counts_seen = counts_seen
        self._n_cells = pool.ranking_starts.size - 1
        self._n_rankings = self._n_cells // n_groups
        self._ranked = np.ascontiguousarray(pool.ranked).data
        self._free_docs = self.is_free.data
        ranking_starts = pool.ranking_starts.tolist()
        self._next_rows, self._ends = ranking_starts[:-1], ranking_starts[1:]
        self._source_cells = np.full(len(pool), -1, dtype=np.int64).data
        self._outcomes = np.zeros(len(pool), dtype=np.int8).data
        # Penalties are negated priorities; heap keys combine penalty and ranking in one integer.
        self._penalties = [0] * self._n_cells
        self._queues = [
            [*range(i * self._n_rankings, (i + 1) * self._n_rankings)] for i in range(n_groups)
        ]
        self._current_cells = [-1] * n_groups

    def choose(self, groups: Indices) -> Indices:
        return np.array([self._choose_document(group) for group in groups.tolist()], dtype=np.intp)

    def learn(self, docs: Indices, is_relevant: Bools) -> None:
        for doc, is_hit in zip(docs.tolist(), is_relevant.tolist(), strict=True):
            cell = self._source_cells[doc]
            self._outcomes[doc] = 1 if is_hit else -1
            if not is_hit:
                self._move_back(cell)
            elif self._penalties[cell]:
                self._penalties[cell] = 0
                if self._current_cells[cell // self._n_rankings] != cell:
                    heappush(self._queues[cell // self._n_rankings], cell)

    def _choose_document(self, group: int) -> int:
        while True:
            cell = self._current_cells[group]
            if cell < 0:
                penalty, cell = divmod(heappop(self._queues[group]), self._n_cells)
                if penalty != self._penalties[cell]:
                    continue
                self._current_cells[group] = cell
            position, end = self._next_rows[cell], self._ends[cell]
            while position < end:
                doc: int = self._ranked[position]
                position += 1
                if self._free_docs[doc]:
                    self._free_docs[doc] = False
                    self._source_cells[doc] = cell
                    self._next_rows[cell] = position
                    return doc
                if self._counts_seen and (outcome := self._outcomes[doc]):
                    self._next_rows[cell] = position
                    if outcome < 0:
                        self._move_back(cell)
                        break
                    self._penalties[cell] = 0
            else:
                # A finished ranking leaves the queue.
                self._next_rows[cell] = position
                self._current_cells[group] = -1

    def _move_back(self, cell: int) -> None:
        group = cell // self._n_rankings
        self._penalties[cell] += 1
        heappush(self._queues[group], self._penalties[cell] * self._n_cells + cell)
        if self._current_cells[group] == cell:
            self._current_cells[group] = -1


class Bandit(Method):
    """Base class of bandit methods, which choose from the run with the highest value."""

    learns = True
    reward: str = parameter(
        "all",
        choice("all", "pulled"),
        "runs to which a judgment is credited: all that have the document, or the chosen run",
    )
    rate: float = 1.0
    ties: str = "name"

    def make_state(self, pool: Pool, seed: int) -> MethodState:
        return BanditState(self, pool, seed)

    def compute_values(self, state: BanditState, topics: Indices) -> Floats:
        """Return the value of each run for each of the topics; shape (topics, systems)."""
        raise NotImplementedError


class BanditState(DocumentState):
    """State of bandit methods, with discounted counts of judged and relevant documents by run."""

    def __init__(self, method: Bandit, pool: Pool, seed: int) -> None:
        super().__init__(pool)
        shape = (len(pool.topics), len(pool.systems))
        self.method = method
        self.n_judged = np.zeros(shape)
        self.n_relevant = np.zeros(shape)
        self.n_left = np.diff(pool.ranking_starts).reshape(shape)
        self.n_steps = np.zeros(shape[0], dtype=np.int64)
        self.streams = [make_named_stream(seed, topic) for topic in pool.topics]
        self._next_rows = pool.ranking_starts[:-1].tolist()
        self._source_cells = np.full(len(pool), -1, dtype=np.int64)
        self._ranked = np.ascontiguousarray(pool.ranked).data
        self._free_docs = self.is_free.data

    def choose(self, groups: Indices) -> Indices:
        values = self.method.compute_values(self, groups)
        values = np.where(self.n_left[groups] > 0, values, -np.inf)
        is_best = values >= values.max(axis=1, keepdims=True) - TIE_TOLERANCE
        is_random = self.method.ties == "random"
        run = self.draw_run(is_best, groups) if is_random else is_best.argmax(axis=1)
        cells = groups * values.shape[1] + run
        cell_list = cells.tolist()
        for cell in cell_list:
            while not self._free_docs[self._ranked[self._next_rows[cell]]]:
                self._next_rows[cell] += 1
        docs = np.array([self._ranked[self._next_rows[cell]] for cell in cell_list], dtype=np.intp)
        self._source_cells[docs] = cells
        self.is_free[docs] = False
        self.n_left.ravel()[self.cells[self.find_rows(docs)]] -= 1
        self.n_steps[groups] += 1
        return docs

    def learn(self, docs: Indices, is_relevant: Bools) -> None:
        cells, rewards = self._source_cells[docs], is_relevant
        if self.method.reward == "all":
            cells = self.cells[self.find_rows(docs)]
            rewards = np.repeat(is_relevant, self.pool.run_counts[docs])
        n_judged, n_relevant = self.n_judged.ravel(), self.n_relevant.ravel()
        n_judged[cells] = self.method.rate * n_judged[cells] + 1
        n_relevant[cells] = self.method.rate * n_relevant[cells] + rewards

    def draw_uniform_numbers(self, topics: Indices) -> Floats:
        """Draw a uniform random number from the stream of each topic."""
        return np.array([self.streams[topic].random() for topic in topics.tolist()])

    def draw_run(self, is_candidate: Bools, topics: Indices) -> Indices:
        """Draw a random run of each topic among the candidates."""
        position = (self.draw_uniform_numbers(topics) * is_candidate.sum(axis=1)).astype(np.int64)
        return np.asarray((is_candidate.cumsum(axis=1) > position[:, None]).argmax(axis=1))

    def draw_run_values(self, topics: Indices) -> Floats:
        """Return values that are highest for one run, drawn among those with documents left."""
        values = np.zeros((topics.size, self.n_left.shape[1]))
        values[np.arange(topics.size), self.draw_run(self.n_left[topics] > 0, topics)] = 2.0
        return values

    def compute_precision(self, topics: Indices) -> Floats:
        """Compute the proportion of relevant among judged documents by run; 0 without judgments."""
        return self.n_relevant[topics] / np.maximum(self.n_judged[topics], 1)


class RandomBandit(Bandit):
    """Choose from a random run."""

    name = "random"
    source = "Losada, Parapar and Barreiro 2016"
    draws = True
    reward: str = "all"

    def compute_values(self, state: BanditState, topics: Indices) -> Floats:
        return state.draw_run_values(topics)


class EpsilonGreedy(Bandit):
    """Choose from a random run with probability min(1, c S / (d^2 t)), else from the best run.

    S is the number of runs, and t the number of judgments of the topic including the next one. The
    best run has the highest proportion of relevant among judged documents, which is 0 at first.
    """

    name = "epsilon-greedy"
    aliases = ("epsilon", "greedy")
    source = "Auer, Cesa-Bianchi and Fischer 2002; Losada, Parapar and Barreiro 2016"
    draws = True
    c: float = parameter(0.01, number(0), "factor of the probability of a random run, 0 for never")
    d: float = parameter(
        0.1, number(0, 1, excludes_low=True), "assumed lead of the best run in precision, above 0"
    )
    ties: str = parameter("name", choice("name", "random"), "how to choose among equally good runs")

    def compute_values(self, state: BanditState, topics: Indices) -> Floats:
        # Divide twice, as the square of a small d underflows to 0.
        probability = self.c * state.n_left.shape[1] / self.d / self.d / (state.n_steps[topics] + 1)
        is_exploring = state.draw_uniform_numbers(topics) < probability
        # Draw for every topic, so that the draws of a topic do not depend on other topics.
        return np.where(
            is_exploring[:, None], state.draw_run_values(topics), state.compute_precision(topics)
        )


class UcbTuned(Bandit):
    r"""Choose from the run with the highest upper confidence bound of its precision.

    .. math:: \mu + \sqrt{\frac{\ln N}{n} \min(1/4, \mu (1 - \mu) + \sqrt{2 \ln N / n})}

    with N judged documents of the topic, n judged documents of the run, and mu the proportion of
    relevant documents among these n. Runs without a judged document come first.
    """

    name = "UCB1-tuned"
    aliases = ("UCB1", "UCB")
    source = "Auer, Cesa-Bianchi and Fischer 2002; Losada, Parapar and Barreiro 2016"
    ties: str = parameter("name", choice("name", "random"), "how to choose among equally good runs")

    def compute_values(self, state: BanditState, topics: Indices) -> Floats:
        n_judged, mean = state.n_judged[topics], state.compute_precision(topics)
        log = np.log(np.maximum(state.n_steps[topics], 1))[:, None] / np.maximum(n_judged, 1)
        bound = mean + np.sqrt(log * np.minimum(0.25, mean * (1 - mean) + np.sqrt(2 * log)))
        # Bounds are at most 1 + sqrt(log / 4), so unjudged runs come first.
        return np.where(n_judged > 0, bound, 1e6)


class ThompsonSampling(Bandit):
    """Choose from the run with the highest draw of Beta(1 + R, 1 + N - R).

    R of the N judged documents of the run are relevant. Each judgment of a document of the run
    multiplies the earlier counts R and N by `rate`.
    """

    name = "Thompson"
    aliases = ("Thompson-sampling", "TS", "BLA")
    source = "Losada, Parapar and Barreiro 2016, 2017"
    draws = True
    rate: float = parameter(1.0, number(0, 1), "weight of earlier judgments")

    def compute_values(self, state: BanditState, topics: Indices) -> Floats:
        a = state.n_relevant[topics] + 1
        b = state.n_judged[topics] - a + 2
        draws = [state.streams[topic].beta(a[i], b[i]) for i, topic in enumerate(topics.tolist())]
        return np.array(draws).reshape(a.shape)


class MaxMean(Bandit):
    """Choose from the run with the highest (1 + R)/(2 + N), with R of N judged documents relevant.

    Each judgment of a document of a run multiplies the earlier counts R and N of the run by `rate`.
    """

    name = "MaxMean"
    aliases = ("MM", "max-mean")
    source = "Losada, Parapar and Barreiro 2016, 2017"
    rate: float = parameter(1.0, number(0, 1), "weight of earlier judgments")
    ties: str = parameter("name", choice("name", "random"), "how to choose among equally good runs")

    def compute_values(self, state: BanditState, topics: Indices) -> Floats:
        return (1 + state.n_relevant[topics]) / (2 + state.n_judged[topics])


_MAX_LOSS = np.finfo(np.float64).max  # Stands for the minimum loss of a topic without runs
_RESTRICT_INTERVAL = 32  # Number of steps after which judged documents are removed from the sums
