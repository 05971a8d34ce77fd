"""Bandits: the next document comes from the run with the best judgments so far."""

from __future__ import annotations

import numpy as np

from cranfield.assess.pools.method import NEARLY, Asking, Method, spread
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.spec import choice, number, parameter
from cranfield.base.streams import stream_of

_WINDOW = 16
"""Ranks searched at a time for the next document of a ranking."""


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
        left = np.arange(cells.size)
        while left.size:
            window = self._ranked[self._next[cells[left]][:, None] + np.arange(_WINDOW)]
            free = self._free[window]
            place, rows = free.argmax(axis=1), np.arange(left.size)
            hit = free[rows, place]
            docs[left] = window[rows, place]
            self._next[cells[left]] += np.where(hit, place, _WINDOW)
            left = left[~hit]
        return docs

    def _holders(self, docs: Indices) -> tuple[Ints, Ints]:
        """Return the rankings that have the documents, and their number for each document."""
        counts = self.pool.holders[docs]
        return self._cells[spread(self.pool.held[docs], counts)], counts


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
    source = "Auer, Cesa-Bianchi and Fischer 2002; Losada, Parapar and Barreiro 2016"
    draws = True
    c: float = parameter(0.01, number(0), "how long to explore")
    d: float = parameter(0.1, number(0, 1, open_low=True), "how different runs are")
    ties: str = parameter("name", choice("name", "random"), "which of equal runs is played")

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
    source = "Auer, Cesa-Bianchi and Fischer 2002; Losada, Parapar and Barreiro 2016"
    ties: str = parameter("name", choice("name", "random"), "which of equal runs is played")

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
    source = "Losada, Parapar and Barreiro 2016, 2017"
    rate: float = parameter(1.0, number(0, 1), "weight of earlier judgments")
    ties: str = parameter("name", choice("name", "random"), "which of equal runs is played")

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        return (1 + state.relevant[topics]) / (2 + state.judged[topics])
