"""Sampling designs: how a pool is cut into strata, each sampled at its own rate.

Every design cuts the pool of a topic into cells, draws a number for each of them, and takes that
many of its documents at random without replacement. The moments of the numbers determine all
inclusion probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln, xlog1py, xlogy

from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import PolicyError, check_whole, numbers, quoted
from cranfield.base.spec import Registry
from cranfield.collection.judged.rows import places, ratio, scan
from cranfield.collection.policies import DEEPEST


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of all topics, one topic after the other.

    of_doc: the cell of each document; shape (documents,).
    topic, label, size: topic of each cell, its number in the topic from 1, number of documents.
    expected, pairs: mean of the number k of documents drawn of each cell, and of k (k - 1).
    ratio: E(k h) / (E(k) E(h)) for a cell and any earlier cell of its topic.
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
        """Inclusion probability of each document of a cell."""
        return self.expected / self.size

    @cached_property
    def together(self) -> Floats:
        """Probability of drawing two documents of a cell; 0 for a cell of one."""
        return ratio(self.pairs, self.size * (self.size - 1.0))

    def sum_before(self, values: Floats) -> Floats:
        """Sum over the earlier cells of the topic of each cell."""
        return scan(values, places(self.topic), np.add) - values

    def sum_all(self, values: Floats) -> Floats:
        """Sum over all cells of the topic of each cell."""
        sums: Floats = np.bincount(self.topic, weights=values).astype(np.float64)
        return sums[self.topic]

    def joint(self, first: Ints, second: Ints) -> Floats:
        """Probability that both of two documents are drawn."""
        first_cell, second_cell = self.of_doc[first], self.of_doc[second]
        independent = self.chance[first_cell] * self.chance[second_cell]
        across = np.where(
            self.topic[first_cell] == self.topic[second_cell],
            independent * self.ratio[np.maximum(first_cell, second_cell)],
            independent,
        )
        within = np.where(first == second, self.chance[first_cell], self.together[first_cell])
        return np.where(first_cell == second_cell, within, across)

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of inclusion and size of the sample; 0 if it is fixed."""
        later = self.expected * self.ratio
        other_terms = self.sum_before(self.expected) * self.ratio
        other_terms += self.sum_all(later) - self.sum_before(later) - later
        inside = 1.0 + self.pairs / self.expected
        return self.chance * (inside + other_terms - self.sum_all(self.expected))

    @cached_property
    def estimable(self) -> Bools:
        """Whether any two documents of the topic can be drawn together; shape (cells,)."""
        never = (self.size > 1) & (self.pairs == 0)
        never |= (places(self.topic) > 1) & (self.ratio == 0)
        return np.asarray(self.sum_all(never.astype(np.float64)) == 0)

    def drawn(self, randoms: list[Generator]) -> Bools:
        """Draw a sample with the random numbers of each topic; shape (documents,)."""
        documents = np.bincount(self.topic[self.of_doc], minlength=len(randoms))
        numbers = np.concatenate([self.numbers(t, random) for t, random in enumerate(randoms)])
        # The documents of a cell with the smallest random numbers are taken.
        keys = np.concatenate(
            [random.random(n) for random, n in zip(randoms, documents, strict=True)]
        )
        order = np.lexsort((keys, self.of_doc))
        begin = np.cumsum(self.size) - self.size
        cell = self.of_doc[order]
        selected = np.empty(order.size, dtype=bool)
        selected[order] = np.arange(order.size) - begin[cell] < numbers[cell]
        return selected


def fixed_numbers(of_doc: Ints, topic: Ints, label: Ints, size: Ints, number: Ints) -> Cells:
    """Return the design of a fixed sample size per cell."""

    def numbers(t: int, random: Generator) -> Ints:
        return number[_of_topic(topic, t)]

    k = number.astype(np.float64)
    return Cells(of_doc, topic, label, size, k, k * (k - 1), np.ones(k.size), numbers)


def multinomial_numbers(
    of_doc: Ints, topic: Ints, label: Ints, size: Ints, mass: Floats, draws: int
) -> Cells:
    """Draw cells with replacement by mass; only the last may be smaller than `draws`."""
    m = float(draws)
    expected, pairs = m * mass, m * (m - 1) * mass**2
    shares = np.full(mass.size, (m - 1) / m)
    short_topics = np.flatnonzero(size < draws)
    if short_topics.size:
        # The number of draws of the last cell is binomial, cut at its size.
        p, j = mass[short_topics, None], np.arange(draws + 1.0)
        log = gammaln(m + 1) - gammaln(j + 1) - gammaln(m - j + 1)
        chances = np.exp(log + xlogy(j, p) + xlog1py(m - j, -p))
        counts = np.minimum(j, size[short_topics, None])
        expected[short_topics] = (chances * counts).sum(axis=1)
        pairs[short_topics] = (chances * counts * (counts - 1)).sum(axis=1)
        cross = ((m - j) * chances * counts).sum(axis=1)
        shares[short_topics] = ratio(cross, (1 - mass[short_topics]) * m * expected[short_topics])

    def numbers(t: int, random: Generator) -> Ints:
        topic_cells = _of_topic(topic, t)
        if topic_cells.start == topic_cells.stop:
            return size[topic_cells]
        return np.minimum(random.multinomial(draws, mass[topic_cells]), size[topic_cells])

    return Cells(of_doc, topic, label, size, expected, pairs, shares, numbers)


def _of_topic(topic: Ints, t: int) -> slice:
    return slice(*np.searchsorted(topic, [t, t + 1]).tolist())


Wanted = int | float
"""Documents of a stratum: their number, or a proportion above 0 and up to 1."""


@dataclass(frozen=True)
class Design:
    """A sampling design: makes the cells of a pool for a number of documents, or for `strata`.

    columns: columns of judgments that are defined for it.
    """

    cells: Callable[[Pool, Any], Cells]
    columns: tuple[str, ...] = ("stratum", "inclusion")
    strata: bool = False


def _strata(pool: Pool, strata: Mapping[int, Wanted]) -> Cells:
    ends = np.array(list(strata), dtype=np.int64)
    beyond = np.flatnonzero(pool.best_rank > ends[-1])
    if beyond.size:
        raise PolicyError(
            f"{beyond.size:,} documents of the pool are below the last stratum, which ends at rank"
            f" {ends[-1]}: end it at {pool.depth}, or pool to depth {ends[-1]}"
        )
    (topic, label), of_doc, size = _cells(pool, np.searchsorted(ends, pool.best_rank) + 1)
    draws = list(strata.values())
    # At least one document of each stratum: otherwise nothing can be estimated for it.
    number = [
        min(int(draws[k - 1]), n)
        if isinstance(draws[k - 1], (int, np.integer))
        else max(1, int(np.floor(draws[k - 1] * n + 0.5)))
        for k, n in zip(label.tolist(), size.tolist(), strict=True)
    ]
    return fixed_numbers(of_doc, topic, label, size, np.array(number, dtype=np.int64))


def _stat(pool: Pool, size: int) -> Cells:
    length = np.diff(pool.lists)
    longest = int(length.max(initial=0))
    # Sum over runs of W(r) = (1 + 1/r + ... + 1/Z) / 2Z, the weight of rank r of Z in AP.
    harmonic = np.r_[0.0, np.cumsum(1.0 / np.arange(1.0, longest + 1))]
    z = np.repeat(length, length)
    weight = (1.0 + harmonic[z] - harmonic[pool.rank - 1]) / (2.0 * z)
    prior = np.bincount(pool.ranked, weights=weight, minlength=len(pool)).astype(np.float64)
    order = np.lexsort((np.arange(prior.size), -prior, pool.topic))
    label = np.empty(order.size, dtype=np.int64)
    label[order] = (places(pool.topic) - 1) // size + 1
    (topic, label), of_doc, sizes = _cells(pool, label)
    mass: Floats = np.bincount(of_doc, weights=prior, minlength=sizes.size).astype(np.float64)
    mass /= np.bincount(topic, weights=mass)[topic]
    return multinomial_numbers(of_doc, topic, label, sizes, mass, size)


def _cells(pool: Pool, label: Ints) -> tuple[tuple[Ints, Ints], Ints, Ints]:
    """Return topic and label of each nonempty cell, the cell of each document, and sizes."""
    n_cells = int(label.max(initial=0)) + 1
    codes, of_doc, size = np.unique(
        pool.topic.astype(np.int64) * n_cells + label, return_inverse=True, return_counts=True
    )
    return np.divmod(codes, n_cells), of_doc, size


DESIGNS = Registry(
    "sampling design",
    things={
        "uniform": Design(lambda pool, size: _strata(pool, {pool.depth: size})),
        "strata": Design(_strata, strata=True),
        "stat": Design(_stat, columns=("inclusion",)),
    },
)
"""Designs by name."""


def check_design(name: str, size: Any, strata: Any) -> tuple[Any, str]:
    """Return the size or the strata of a design, and the text form of both."""
    name = DESIGNS.find(name)
    options, required = (
        {"size": size, "strata": strata},
        "strata" if DESIGNS[name].strata else "size",
    )
    for option, value in options.items():
        if (value is None) == (option == required):
            needs = "requires" if option == required else "does not use"
            raise PolicyError(f"design {quoted(name)} {needs} {option}")
    if strata is None:
        if name == "stat":
            check_whole("size", size, 1, DEEPEST)
        else:
            _check_size("size", size)
        return size, f"{name}(size={size})"
    if not (isinstance(strata, Mapping) and strata):
        raise PolicyError("strata must map last ranks to numbers or proportions, such as {10: 1.0}")
    for end, number in strata.items():
        check_whole("the last rank of a stratum", end, 1, DEEPEST)
        _check_size(f"the sample size to rank {end}", number)
    ends = dict(sorted(strata.items()))
    return ends, f"{name}({', '.join(f'{end}={number}' for end, number in ends.items())})"


def _check_size(name: str, value: Any) -> None:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not ((is_whole and value >= 1) or (isinstance(value, float) and 0 < value <= 1)):
        raise PolicyError(
            f"{name} must be an integer from 1 or a proportion (0.1 is a tenth, 1.0 is all),"
            f" got {value!r}"
        )


MOST_ITEMS = 10**15
"""Maximum size of a stratum; larger integers are not exact as floats."""

WIDEST = 1e100
"""Largest spread that can be multiplied by a size."""


def allocation(sizes: Any, spreads: Any, labels: int, *, min_labels: int = 2) -> Ints:
    r"""Allocate human labels to strata so that the mean has the smallest standard error.

    .. math:: n_h \propto N_h s_h

    but at least `min_labels` labels of each stratum, and at most its size. Labels that a small
    stratum cannot take go to the others; fractions go to the largest remainders, the first of equal
    remainders.

    Source: Neyman (1934); Cochran (1977), section 5.5.

    Parameters
    ----------
    sizes
        Items of each stratum, such as the documents with each grade of a judge.
    spreads
        Standard deviation of the human labels in each, guessed or from a pilot; equal ones share
        the labels out by size.
    labels
        Human labels in all.
    min_labels
        Minimum for each stratum; a standard error needs two.

    Returns
    -------
    array
        Labels of each stratum; shape (strata,).

    Raises
    ------
    PolicyError
        For fewer labels than `min_labels` of each stratum, or more labels than items.

    Examples
    --------
    >>> allocation([900, 90, 10], [0.1, 0.5, 0.5], 60).tolist()
    [39, 19, 2]
    """
    size = numbers(sizes, "sizes of strata")
    spread = numbers(spreads, "spreads of strata")
    if size.ndim != 1 or size.shape != spread.shape or not size.size:
        raise PolicyError(
            f"sizes and spreads must have one shape, got {size.shape} and {spread.shape}"
        )
    if not ((size >= 1) & (size <= MOST_ITEMS) & (size == np.trunc(size))).all():
        raise PolicyError(f"sizes of strata must be integers from 1 to {MOST_ITEMS:,}")
    if not ((spread >= 0) & (spread <= WIDEST)).all():
        raise PolicyError(f"spreads of strata must be finite numbers from 0 to {WIDEST:g}")
    check_whole("min_labels", min_labels, 0)
    low = np.minimum(min_labels, size)
    check_whole("labels", labels, int(low.sum()), int(size.sum()))
    share = size * spread
    if not share.any():
        share = size
    exact = _cut(share, low, size, labels)
    number = np.floor(exact + 1e-9)
    order = np.lexsort((number - exact, number >= size))
    number[order[: int(labels - number.sum())]] += 1
    return number.astype(np.int64)


def _cut(share: Floats, low: Floats, high: Floats, total: int) -> Floats:
    """Return numbers proportional to shares, within bounds, that add up to a total."""
    # If all strata with a share are full, the remainder is distributed by size.
    limit = np.where(share > 0, high, low)
    if limit.sum() < total:
        return _cut(np.where(share > 0, 0.0, high), limit, high, total)
    # The sum rises with the factor of the shares, which bisection finds.
    below, above = 0.0, float((high[share > 0] / share[share > 0]).max())
    for _ in range(200):
        middle = (below + above) / 2
        if np.clip(middle * share, low, high).sum() < total:
            below = middle
        else:
            above = middle
    return np.asarray(np.clip(above * share, low, high))
