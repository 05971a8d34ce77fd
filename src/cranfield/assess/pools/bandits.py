"""Bandits: each next document comes from the run whose documents were worth most so far."""

from __future__ import annotations

import numpy as np

from cranfield.assess.pools.method import NEARLY, Asking, Method, spread
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.spec import choice, number, parameter
from cranfield.base.streams import stream_of

_WINDOW = 16
"""Places of a ranking that are looked at together for the next document."""


class Bandit(Method):
    """A method that plays runs: it has a value for each, and plays one with the highest."""

    learns = True
    reward: str = parameter(
        "holders", choice("holders", "pulled"), "runs that a judgment counts for"
    )
    rate: float = 1.0
    ties: str = "name"

    def asking(self, pool: Pool, seed: int) -> Asking:
        return RunsAsked(self, pool, seed)

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        """Value of each run for each of the topics; shape (topics, systems)."""
        raise NotImplementedError


class RunsAsked(Asking):
    """What is known of each run: its judged and relevant documents, and how many are left."""

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
        # A window may look beyond the last ranking; there everything is free.
        self._ranked = np.r_[pool.ranked, np.full(_WINDOW, len(pool), dtype=np.int32)]
        self._free = np.ones(len(pool) + 1, dtype=bool)
        self.free = self._free[:-1]

    def choose(self, groups: Indices) -> Indices:
        values = self.method.values(self, groups)
        values = np.where(self.left[groups] > 0, values, -np.inf)
        cells = groups * values.shape[1] + self._best(values, groups)
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

    def _best(self, values: Floats, topics: Indices) -> Indices:
        best = values >= values.max(axis=1, keepdims=True) - NEARLY
        if self.method.ties == "name":
            return np.asarray(best.argmax(axis=1))
        return one_of(best, self.random(topics))

    def _first_free(self, cells: Indices) -> Indices:
        """Find the first document of each ranking that nobody was asked for; there is one."""
        found = np.empty(cells.size, dtype=np.intp)
        open_ = np.arange(cells.size)
        while open_.size:
            at = self._next[cells[open_]][:, None] + np.arange(_WINDOW)
            docs = self._ranked[at]
            free = self._free[docs]
            place = free.argmax(axis=1)
            rows = np.arange(open_.size)
            there = free[rows, place]
            found[open_] = docs[rows, place]
            self._next[cells[open_]] += np.where(there, place, _WINDOW)
            open_ = open_[~there]
        return found

    def _holders(self, docs: Indices) -> tuple[Ints, Ints]:
        """Rankings that have the documents, and how many each document has."""
        counts = self.pool.holders[docs]
        return self._cells[spread(self.pool.held[docs], counts)], counts


def one_of(among: Bools, random: Floats) -> Indices:
    """Choose one of the true places in each row by a random number from 0 to 1."""
    wanted = (random * among.sum(axis=1)).astype(np.int64)
    return np.asarray((among.cumsum(axis=1) > wanted[:, None]).argmax(axis=1))


class Random(Bandit):
    """A run at random, of those that have documents left, gives its next document."""

    name = "random"
    source = "Losada, Parapar and Barreiro 2016"
    draws = True
    reward: str = "holders"

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        return _at_random(state, topics)


def _at_random(state: RunsAsked, topics: Indices) -> Floats:
    some = state.left[topics] > 0
    values = np.zeros(some.shape)
    values[np.arange(topics.size), one_of(some, state.random(topics))] = 2.0
    return values


class EpsilonGreedy(Bandit):
    """A run at random with chance min(1, c S / (d^2 t)), else that with most relevant documents.

    Of S runs, before judgment t of the topic; by share of relevant documents, 0 before any.
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
        # Drawn for each topic, so that the numbers of one do not depend on others.
        random = _at_random(state, topics)
        return np.where(explores[:, None], random, share(state, topics))


class UcbTuned(Bandit):
    r"""The run with the highest upper bound of its share of relevant documents.

    .. math:: \mu + \sqrt{\frac{\ln N}{n} \min(1/4, \mu (1 - \mu) + \sqrt{2 \ln N / n})}

    with N documents judged for the topic, and n of the run, of which a share mu is relevant. Runs
    without a judged document come first.
    """

    name = "UCB1-tuned"
    source = "Auer, Cesa-Bianchi and Fischer 2002; Losada, Parapar and Barreiro 2016"
    ties: str = parameter("name", choice("name", "random"), "which of equal runs is played")

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        judged, mean = state.judged[topics], share(state, topics)
        log = np.log(np.maximum(state.steps[topics], 1))[:, None] / np.maximum(judged, 1)
        bound = mean + np.sqrt(log * np.minimum(0.25, mean * (1 - mean) + np.sqrt(2 * log)))
        # A bound is at most 1 + sqrt(log / 4); runs that were never judged are above all.
        return np.where(judged > 0, bound, 1e6)


def share(state: RunsAsked, topics: Indices) -> Floats:
    return state.relevant[topics] / np.maximum(state.judged[topics], 1)


class Thompson(Bandit):
    """The run with the highest draw from Beta(1 + R, 1 + N - R), of N judged and R relevant.

    A judgment of a run makes all that was counted for it before worth `rate` times as much.
    """

    name = "Thompson"
    source = "Losada, Parapar and Barreiro 2016, 2017"
    draws = True
    rate: float = parameter(1.0, number(0, 1), "what earlier judgments are still worth")

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        hits = state.relevant[topics] + 1
        misses = state.judged[topics] - hits + 2
        draws = [
            state.streams[topic].beta(hits[i], misses[i]) for i, topic in enumerate(topics.tolist())
        ]
        return np.array(draws).reshape(hits.shape)


class MaxMean(Bandit):
    """The run with the highest (1 + R)/(2 + N), of N judged documents and R relevant ones.

    A judgment of a run makes all that was counted for it before worth `rate` times as much.
    """

    name = "MaxMean"
    source = "Losada, Parapar and Barreiro 2016, 2017"
    rate: float = parameter(1.0, number(0, 1), "what earlier judgments are still worth")
    ties: str = parameter("name", choice("name", "random"), "which of equal runs is played")

    def values(self, state: RunsAsked, topics: Indices) -> Floats:
        return (1 + state.relevant[topics]) / (2 + state.judged[topics])
