"""The law of a sample: cells of documents, how many are drawn of each, and what follows.

Every design here cuts the pool of a topic into cells, draws a number for each of them, and takes so
many of its documents at random without replacement. The moments of the numbers give all chances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln, xlog1py, xlogy

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.collection.judged.segments import places, ratio, scan


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of all topics, one topic after the other.

    of_doc: the cell of each document; shape (documents,).
    topic, label, size: of each cell its topic, its number in the topic from 1, its documents.
    expected, pairs: mean of the number k of documents drawn of each cell, and of k (k - 1).
    ratio: E(k h) / (E(k) E(h)) for a cell and any cell of its topic that stands before it.
    numbers: draws the number for each cell of a topic.
    """

    of_doc: Ints
    topic: Ints
    label: Ints
    size: Ints
    expected: Floats
    pairs: Floats
    ratio: Floats
    numbers: Callable[[int, Generator], Ints]

    @cached_property
    def chance(self) -> Floats:
        """Chance of each document of a cell to be drawn."""
        return self.expected / self.size

    @cached_property
    def together(self) -> Floats:
        """Chance of two documents of a cell to be drawn; 0 for a cell that has no two."""
        return ratio(self.pairs, self.size * (self.size - 1.0))

    def before(self, values: Floats) -> Floats:
        """Sum over the cells of the same topic that stand before each cell."""
        return scan(values, places(self.topic), np.add) - values

    def all_of(self, values: Floats) -> Floats:
        """Sum over all cells of the topic of each cell."""
        sums: Floats = np.bincount(self.topic, weights=values).astype(np.float64)
        return sums[self.topic]

    def joint(self, first: Ints, second: Ints) -> Floats:
        """Chance that both of two documents are drawn."""
        one, two = self.of_doc[first], self.of_doc[second]
        independent = self.chance[one] * self.chance[two]
        apart = np.where(
            self.topic[one] == self.topic[two],
            independent * self.ratio[np.maximum(one, two)],
            independent,
        )
        within = np.where(first == second, self.chance[one], self.together[one])
        return np.where(one == two, within, apart)

    @cached_property
    def with_size(self) -> Floats:
        """Covariance of a document's being drawn with the size of the sample; 0 where it is fixed.

        For a document d it is the sum over all e of pi_de - pi_d pi_e.
        """
        later = self.expected * self.ratio
        others = self.before(self.expected) * self.ratio
        others += self.all_of(later) - self.before(later) - later
        inside = 1.0 + self.pairs / self.expected
        return self.chance * (inside + others - self.all_of(self.expected))

    @cached_property
    def estimable(self) -> Bools:
        """Whether any two documents of the topic can be drawn together; shape (cells,)."""
        never = (self.size > 1) & (self.pairs == 0)
        never |= (places(self.topic) > 1) & (self.ratio == 0)
        return np.asarray(self.all_of(never.astype(np.float64)) == 0)

    def drawn(self, randoms: list[Generator]) -> Bools:
        """Draw a sample, with the random numbers of each topic; shape (documents,)."""
        documents = np.bincount(self.topic[self.of_doc], minlength=len(randoms))
        numbers = np.concatenate([self.numbers(t, one) for t, one in enumerate(randoms)])
        # Those of a cell that have the smallest of independent numbers are taken.
        keys = np.concatenate([one.random(n) for one, n in zip(randoms, documents, strict=True)])
        order = np.lexsort((keys, self.of_doc))
        begin = np.cumsum(self.size) - self.size
        cell = self.of_doc[order]
        taken = np.empty(order.size, dtype=bool)
        taken[order] = np.arange(order.size) - begin[cell] < numbers[cell]
        return taken


def fixed_numbers(of_doc: Ints, topic: Ints, label: Ints, size: Ints, number: Ints) -> Cells:
    """Take a fixed number of each cell."""

    def numbers(t: int, random: Generator) -> Ints:
        return number[_of_topic(topic, t)]

    k = number.astype(np.float64)
    return Cells(of_doc, topic, label, size, k, k * (k - 1), np.ones(k.size), numbers)


def multinomial_numbers(
    of_doc: Ints, topic: Ints, label: Ints, size: Ints, mass: Floats, draws: int
) -> Cells:
    """Draw cells with replacement by their mass, as often as said; of each not more than it has.

    Only the last cell of a topic may have fewer documents than there are draws.
    """
    m = float(draws)
    expected, pairs = m * mass, m * (m - 1) * mass**2
    shares = np.full(mass.size, (m - 1) / m)
    few = np.flatnonzero(size < draws)
    if few.size:
        # The number of draws of the last cell is binomial, and what is taken is cut at its size.
        p, j = mass[few, None], np.arange(draws + 1.0)
        log = gammaln(m + 1) - gammaln(j + 1) - gammaln(m - j + 1)
        chances = np.exp(log + xlogy(j, p) + xlog1py(m - j, -p))
        taken = np.minimum(j, size[few, None])
        expected[few] = (chances * taken).sum(axis=1)
        pairs[few] = (chances * taken * (taken - 1)).sum(axis=1)
        rest = ((m - j) * chances * taken).sum(axis=1)
        shares[few] = ratio(rest, (1 - mass[few]) * m * expected[few])

    def numbers(t: int, random: Generator) -> Ints:
        own = _of_topic(topic, t)
        if own.start == own.stop:
            return size[own]
        return np.minimum(random.multinomial(draws, mass[own]), size[own])

    return Cells(of_doc, topic, label, size, expected, pairs, shares, numbers)


def _of_topic(topic: Ints, t: int) -> slice:
    return slice(*np.searchsorted(topic, [t, t + 1]).tolist())
