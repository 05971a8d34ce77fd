"""Sampling designs: partition a pool into strata, and sample each at its own rate.

Each design partitions the pool of a topic into cells (strata or buckets), draws a sample size for
each cell, and samples documents of the cell at random without replacement. The moments of the
sample sizes determine all inclusion probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln, xlog1py, xlogy

from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import PolicyError, as_numbers, check_integer, quote
from cranfield.base.spec import Registry
from cranfield.base.text import inflect
from cranfield.collection.judged.rows import divide, number_rows, scan
from cranfield.collection.policies import MAX_DEPTH


@dataclass(frozen=True, eq=False)
class SamplingCells:
    """Cells (strata or buckets) of all topics, topic by topic."""

    doc_cell: Ints  # Cell of each document
    topic: Ints  # Topic of the cell
    label: Ints  # Number of the cell in its topic, from 1
    size: Ints  # Number of documents
    mean_count: Floats  # Mean of the sample size k
    mean_pairs: Floats  # Mean of k (k - 1)
    dependence: Floats  # E(k h) / (E(k) E(h)), with the size h of an earlier cell of the topic
    draw_counts: Callable[[slice, Generator], Ints]  # Draws the sample sizes of cells of a topic

    @cached_property
    def inclusion(self) -> Floats:
        """Inclusion probability of each document of a cell."""
        return self.mean_count / self.size

    @cached_property
    def pair_inclusion(self) -> Floats:
        """Joint inclusion probability of two documents of a cell; 0 for a single document."""
        return divide(self.mean_pairs, self.size * (self.size - 1.0))

    def sum_before(self, values: Floats) -> Floats:
        """Sum values over the earlier cells of the same topic, for each cell."""
        return scan(values, number_rows(self.topic), np.add) - values

    def sum_all(self, values: Floats) -> Floats:
        """Sum values over all cells of the same topic, for each cell."""
        sums: Floats = np.bincount(self.topic, weights=values).astype(np.float64)
        return sums[self.topic]

    def compute_joint_inclusion(self, first: Ints, second: Ints) -> Floats:
        """Compute the joint inclusion probabilities of pairs of documents."""
        cell, other_cell = self.doc_cell[first], self.doc_cell[second]
        is_same_topic = self.topic[cell] == self.topic[other_cell]
        dependence = np.where(is_same_topic, self.dependence[np.maximum(cell, other_cell)], 1.0)
        between_cells = self.inclusion[cell] * self.inclusion[other_cell] * dependence
        within_cells = np.where(first == second, self.inclusion[cell], self.pair_inclusion[cell])
        return np.where(cell == other_cell, within_cells, between_cells)

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of inclusion and the sample size of the topic; 0 if the size is fixed."""
        later_terms = self.mean_count * self.dependence
        other_terms = self.sum_before(self.mean_count) * self.dependence
        other_terms += self.sum_all(later_terms) - self.sum_before(later_terms) - later_terms
        own_term = 1.0 + self.mean_pairs / self.mean_count
        return self.inclusion * (own_term + other_terms - self.sum_all(self.mean_count))

    @cached_property
    def is_estimable(self) -> Bools:
        """Mask of cells of topics where every two documents can both be drawn; shape (cells,)."""
        is_impossible = (self.size > 1) & (self.mean_pairs == 0)
        is_impossible |= (number_rows(self.topic) > 1) & (self.dependence == 0)
        return np.asarray(self.sum_all(is_impossible.astype(np.float64)) == 0)

    def draw(self, generators: list[Generator]) -> Bools:
        """Draw a sample with a generator for each topic; shape (documents,)."""
        n_docs = np.bincount(self.topic[self.doc_cell], minlength=len(generators)).tolist()
        starts = np.searchsorted(self.topic, range(len(generators) + 1)).tolist()
        draws = [
            (self.draw_counts(slice(*cells), generator), generator.random(size))
            for cells, size, generator in zip(pairwise(starts), n_docs, generators, strict=True)
        ]
        # Within a cell, the documents with the smallest random numbers are sampled.
        counts, keys = map(np.concatenate, zip(*draws, strict=True))
        order = np.lexsort((keys, self.doc_cell))
        first_docs = np.cumsum(self.size) - self.size
        cell = self.doc_cell[order]
        is_selected = np.empty(order.size, dtype=bool)
        is_selected[order] = np.arange(order.size) - first_docs[cell] < counts[cell]
        return is_selected


def make_multinomial_cells(
    doc_cell: Ints, topic: Ints, label: Ints, size: Ints, mass: Floats, draws: int
) -> SamplingCells:
    """Make cells drawn with replacement; only the last of a topic may be smaller than `draws`."""
    m = float(draws)
    mean_count, mean_pairs = m * mass, m * (m - 1) * mass**2
    dependence = np.full(mass.size, (m - 1) / m)
    small_cells = np.flatnonzero(size < draws)
    if small_cells.size:
        # The sample size of the last cell is binomial, but at most the size of the cell.
        p, j = mass[small_cells, None], np.arange(draws + 1.0)
        log = gammaln(m + 1) - gammaln(j + 1) - gammaln(m - j + 1)
        probabilities = np.exp(log + xlogy(j, p) + xlog1py(m - j, -p))
        counts = np.minimum(j, size[small_cells, None])
        mean_count[small_cells] = (probabilities * counts).sum(axis=1)
        mean_pairs[small_cells] = (probabilities * counts * (counts - 1)).sum(axis=1)
        joint_moment = ((m - j) * probabilities * counts).sum(axis=1)
        dependence[small_cells] = divide(
            joint_moment, (1 - mass[small_cells]) * m * mean_count[small_cells]
        )

    def draw_counts(cells: slice, generator: Generator) -> Ints:
        sizes = size[cells]
        return np.minimum(generator.multinomial(draws, mass[cells]), sizes) if sizes.size else sizes

    return SamplingCells(
        doc_cell, topic, label, size, mean_count, mean_pairs, dependence, draw_counts
    )


SampleSize = int | float  # Number of sampled documents of a stratum, or their proportion


@dataclass(frozen=True)
class Design:
    """Function that makes cells from a pool and sizes, and the columns of its judgments."""

    make_cells: Callable[[Pool, Any], SamplingCells]
    columns: tuple[str, ...] = ("stratum", "inclusion")
    requires_strata: bool = False


def _make_stratified_cells(pool: Pool, strata: Mapping[int, SampleSize]) -> SamplingCells:
    ends = np.array(list(strata), dtype=np.int64)
    if n_below := int((pool.best_rank > ends[-1]).sum()):
        raise PolicyError(
            f"expected strata down to rank {pool.depth}, the depth of the pool, got {ends[-1]} with"
            f" {inflect(n_below, 'document')} below it"
        )
    (topic, label), doc_cell, sizes = _find_cells(pool, np.searchsorted(ends, pool.best_rank) + 1)
    rates = list(strata.values())
    is_count = np.array([isinstance(n, (int, np.integer)) for n in rates])[label - 1]
    sample_sizes = np.array(rates, dtype=np.float64)[label - 1]
    # A proportion yields at least one document, as an unsampled stratum allows no estimate.
    rounded_sizes = np.maximum(1.0, np.floor(sample_sizes * sizes + 0.5))
    k = np.where(is_count, np.minimum(sample_sizes, sizes), rounded_sizes)
    moments = k, k * (k - 1), np.ones(k.size)
    n_drawn = k.astype(np.int64)
    return SamplingCells(doc_cell, topic, label, sizes, *moments, lambda cells, _: n_drawn[cells])


def _make_stat_cells(pool: Pool, size: int) -> SamplingCells:
    lengths = np.diff(pool.ranking_starts)
    max_length = int(lengths.max(initial=0))
    # The prior sums W(r) = (1 + 1/r + ... + 1/Z) / 2Z over runs, the weight of rank r of Z in AP.
    harmonic = np.r_[0.0, np.cumsum(1.0 / np.arange(1.0, max_length + 1))]
    z = np.repeat(lengths, lengths)
    weight = (1.0 + harmonic[z] - harmonic[pool.rank - 1]) / (2.0 * z)
    prior = np.bincount(pool.ranked, weights=weight, minlength=len(pool)).astype(np.float64)
    order = np.lexsort((np.arange(prior.size), -prior, pool.topic))
    label = np.empty(order.size, dtype=np.int64)
    label[order] = (number_rows(pool.topic) - 1) // size + 1
    (topic, label), doc_cell, sizes = _find_cells(pool, label)
    mass: Floats = np.bincount(doc_cell, weights=prior, minlength=sizes.size).astype(np.float64)
    mass /= np.bincount(topic, weights=mass)[topic]
    return make_multinomial_cells(doc_cell, topic, label, sizes, mass, size)


def _find_cells(pool: Pool, label: Ints) -> tuple[tuple[Ints, Ints], Ints, Ints]:
    """Return topic and label of each nonempty cell, the cell of each document, and cell sizes."""
    n_cells = int(label.max(initial=0)) + 1
    code = pool.topic.astype(np.int64) * n_cells + label
    codes, doc_cell, size = np.unique(code, return_inverse=True, return_counts=True)
    return np.divmod(codes, n_cells), doc_cell, size


DESIGNS = Registry(
    "sampling design",
    components={
        "uniform": Design(lambda pool, size: _make_stratified_cells(pool, {pool.depth: size})),
        "strata": Design(_make_stratified_cells, requires_strata=True),
        "stat": Design(_make_stat_cells, columns=("inclusion",)),
    },
)


def check_design(name: str, size: Any, strata: Any) -> tuple[Any, str]:
    """Check the sizes of a design; return the size or sorted strata, and its text form."""
    name = DESIGNS.find(name)
    size_option = "strata" if DESIGNS[name].requires_strata else "size"
    for option, value in {"size": size, "strata": strata}.items():
        if (value is None) == (option == size_option):
            reason = f"requires {option}=..." if option == size_option else f"does not use {option}"
            raise PolicyError(f"design {quote(name)} {reason}")
    if strata is None:
        if name == "stat":
            if isinstance(size, float) and 0 < size <= 1:
                raise PolicyError(
                    f"size must be an integer from 1 to {MAX_DEPTH:,} with the design 'stat', got"
                    f" the proportion {size}"
                )
            check_integer("size", size, 1, MAX_DEPTH)
        else:
            _check_size("size", size)
        return size, f"{name}(size={size})"
    if not (isinstance(strata, Mapping) and strata):
        raise PolicyError(
            "strata must map last ranks to sample sizes or proportions, such as {10: 1.0}, got"
            f" {quote(strata)}"
        )
    for end, sample_size in strata.items():
        check_integer("the last rank of a stratum", end, 1, MAX_DEPTH)
        _check_size(f"the sample size of the stratum to rank {end}", sample_size)
    strata = dict(sorted(strata.items()))
    return strata, f"{name}({', '.join(f'{end}={n}' for end, n in strata.items())})"


def _check_size(name: str, value: Any) -> None:
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not ((is_integer and value >= 1) or (isinstance(value, float) and 0 < value <= 1)):
        raise PolicyError(
            f"{name} must be a positive integer, or a proportion above 0.0 and at most 1.0, got"
            f" {value!r}"
        )


MAX_ITEMS = 10**15  # Maximum size of a stratum, so that floats represent sizes exactly
MAX_SPREAD = 1e100  # Maximum standard deviation, so that its product with a size does not overflow


def allocation(sizes: Any, spreads: Any, n_labels: int, *, min_labels: int = 2) -> Ints:
    r"""Allocate human labels to strata so that the standard error of the mean is minimal.

    .. math:: n_h \propto N_h s_h

    subject to at least `min_labels` labels per stratum, and at most its size. Labels that exceed
    the size of a stratum are distributed over the remaining strata. Numbers are rounded by largest
    remainder, with ties resolved in order of the strata.

    Source: Neyman (1934); Cochran (1977), section 5.5.

    Parameters
    ----------
    sizes
        Number of items of each stratum, such as the documents with each grade of a judge.
    spreads
        Standard deviation of the human labels in each stratum, assumed or from a pilot sample; if
        all are equal, the allocation is proportional to size.
    n_labels
        Total number of human labels.
    min_labels
        Minimum number of labels of each stratum; a standard error requires two.

    Returns
    -------
    array
        Number of labels of each stratum; shape (strata,).

    Raises
    ------
    PolicyError
        For invalid sizes or spreads, and `n_labels` below the sum of minimums or above the sum of
        sizes.

    Examples
    --------
    >>> allocation([900, 90, 10], [0.1, 0.5, 0.5], 60).tolist()
    [39, 19, 2]
    """
    size = as_numbers(sizes, "sizes of strata")
    spread = as_numbers(spreads, "spreads of strata")
    if size.ndim != 1 or size.shape != spread.shape or not size.size:
        raise PolicyError(
            "sizes and spreads must be nonempty sequences of the same length, got shapes"
            f" {size.shape} and {spread.shape}"
        )
    if not ((size >= 1) & (size <= MAX_ITEMS) & (size == np.trunc(size))).all():
        expected = f"sizes of strata must be integers from 1 to {MAX_ITEMS:,}"
        raise PolicyError(f"{expected}, got {quote(sizes)}")
    if not ((spread >= 0) & (spread <= MAX_SPREAD)).all():
        expected = f"spreads of strata must be finite numbers from 0 to {MAX_SPREAD:g}"
        raise PolicyError(f"{expected}, got {quote(spreads)}")
    check_integer("min_labels", min_labels, 0)
    low = np.minimum(min_labels, size)
    check_integer("n_labels", n_labels, int(low.sum()), int(size.sum()))
    weight = size * spread
    if not weight.any():
        weight = size
    exact_counts = _distribute_total(weight, low, size, n_labels)
    counts = np.floor(exact_counts + 1e-9)
    order = np.lexsort((counts - exact_counts, counts >= size))
    counts[order[: int(n_labels - counts.sum())]] += 1
    return counts.astype(np.int64)


def _distribute_total(weight: Floats, low: Floats, high: Floats, total: int) -> Floats:
    """Return numbers proportional to weights, within bounds, that sum to the total."""
    # If all strata with positive weight are full, the remainder is distributed by size.
    limit = np.where(weight > 0, high, low)
    if limit.sum() < total:
        return _distribute_total(np.where(weight > 0, 0.0, high), limit, high, total)
    # The sum increases with the factor of the weights, so bisection determines the factor.
    lower, upper = 0.0, float((high[weight > 0] / weight[weight > 0]).max())
    for _ in range(200):
        middle = (lower + upper) / 2
        if np.clip(middle * weight, low, high).sum() < total:
            lower = middle
        else:
            upper = middle
    return np.asarray(np.clip(upper * weight, low, high))
