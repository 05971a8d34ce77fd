"""Pairs of systems: their differences, standard errors, p-values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.result import Column, Columns
from cranfield.significance.models.anova_table import AnovaTable

ROUNDING = 2.0**-44
"""Relative difference of scores up to which they are equal within rounding."""

TINY = 1e-150  # differences up to it count as 0, as their squares are

BLOCK = 2**20
"""Numbers in a block of differences: enough to be fast, few enough to stay in the cache."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Scores, shape (topics, systems) with NaN for none, and the pairs that are compared.

    `first` and `second` are indices of systems; a difference is the first minus the second. Scores
    by shard, shape (topics, systems, shards), are those that `values` are means of.
    """

    values: Floats
    first: Indices
    second: Indices
    by_shard: Floats | None = None

    def __len__(self) -> int:
        return int(self.first.size)

    @property
    def topics(self) -> int:
        return int(self.values.shape[0])

    @property
    def systems(self) -> int:
        return int(self.values.shape[1])

    @property
    def scores(self) -> Floats:
        return self.values if self.by_shard is None else self.by_shard

    @property
    def paired(self) -> bool:
        """True if every system has a score for every topic."""
        return not bool(np.isnan(self.values).any())

    @property
    def rounding(self) -> Floats:
        """Largest rounding error of a difference, by pair."""
        largest = np.nanmax(np.abs(self.values), axis=0, initial=0.0)
        errors = ROUNDING * np.maximum(largest[self.first], largest[self.second])
        return np.asarray(np.maximum(errors, TINY))

    def differences(self) -> Floats:
        """Return first minus second, shape (pairs, topics); differences by rounding are 0."""
        rows = np.ascontiguousarray(self.values.T)
        by_pair = rows[self.first] - rows[self.second]
        by_pair[np.abs(by_pair) <= self.rounding[:, None]] = 0.0
        return by_pair

    def of_systems(self, by_system: Floats) -> Floats:
        """Return values of the first system minus those of the second, by pair."""
        return np.asarray(by_system[self.first] - by_system[self.second])

    def differences_of(self, means: Floats) -> Floats:
        """Return the differences of means of systems; those by rounding are 0."""
        difference = self.of_systems(means)
        difference[np.abs(difference) <= self.rounding] = 0.0
        return difference

    def by_block(self, values_of: Callable[[Pairs], Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
        """Return arrays with values by pair, computed block by block, which bounds the memory."""
        parts = [values_of(block) for _, block in self.slices()]
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def moments(self) -> tuple[Floats, Floats, Indices]:
        """Return mean, standard deviation and number of zeros of the differences of each pair."""

        def block_moments(block: Pairs) -> tuple[Floats, Floats, Indices]:
            differences = block.differences()
            mean = differences.mean(axis=1)
            deviation = spread(differences, mean, block.rounding)
            return mean, deviation, (differences == 0).sum(axis=1)

        mean, deviation, zeros = self.by_block(block_moments)
        return mean, deviation, zeros

    def slices(
        self, numbers_each: int | None = None, limit: int = BLOCK
    ) -> Iterator[tuple[slice, Pairs]]:
        """Yield blocks of at most `limit` numbers, each with its slice of all pairs.

        A pair takes one number for each topic by default.
        """
        for rows in row_slices(len(self), numbers_each or self.topics, limit):
            yield rows, replace(self, first=self.first[rows], second=self.second[rows])


PAIR: Columns = {
    "first": Column("First system of the pair.", key=True),
    "second": Column("Second system of the pair.", key=True),
}
"""Columns of :func:`named_pairs`, the first ones of every table of pairs."""


def named_pairs(systems: Sequence[str], first: Indices, second: Indices) -> pl.DataFrame:
    """Return the names of both systems of each pair."""
    names = pl.Series(systems, dtype=pl.String)
    return pl.DataFrame({"first": names.gather(first), "second": names.gather(second)})


def pairs_of(values: Floats, baselines: Sequence[int]) -> Pairs:
    """Return the pairs of all other systems with each baseline, or all pairs without a baseline."""
    return baseline_pairs(values, baselines) if baselines else all_pairs(values)


def all_pairs(values: Floats) -> Pairs:
    """Return every pair of systems once, in order."""
    first, second = np.triu_indices(values.shape[1], 1)
    return Pairs(values, first, second)


def baseline_pairs(values: Floats, baselines: Sequence[int]) -> Pairs:
    """Return the pairs of all other systems with each baseline, which is the second."""
    compared = [s for s in range(values.shape[1]) if s not in set(baselines)]
    first = np.array([s for _ in baselines for s in compared], dtype=np.intp)
    second = np.repeat(np.array(baselines, dtype=np.intp), len(compared))
    return Pairs(values, first, second)


def mid_ranks(ascending: Floats, gap: Floats) -> tuple[Floats, Floats]:
    """Return twice the mid-ranks of rows of ascending numbers, and their tie correction term.

    `ascending` ascends along its rows, shape (rows, n), and infinities at the end are not ranked.
    Neighbours at most `gap` apart, shape (rows,), are tied. Twice a mid-rank
    is an integer, 0 for infinities. The tie term is the sum of t^3 - t over groups of t ties.
    """
    rows, n = ascending.shape
    position = np.arange(n)
    with np.errstate(invalid="ignore"):
        begins = np.diff(ascending, axis=1) > gap[:, None]
    finite = np.isfinite(ascending)
    starts = np.zeros((rows, n), dtype=np.intp)
    starts[:, 1:] = np.where(begins, position[1:], 0)
    starts = np.maximum.accumulate(starts, axis=1)
    ends = np.full((rows, n), n - 1, dtype=np.intp)
    ends[:, :-1] = np.where(begins | (finite[:, :-1] & ~finite[:, 1:]), position[:-1], n - 1)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    size = (ends - starts + 1).astype(np.float64)
    ranks = np.where(finite, starts + ends + 2, 0).astype(np.float64)
    ties = np.where(finite, size**2 - 1, 0.0).sum(axis=1)
    return ranks, ties


def encode_scores(values: Floats) -> Indices:
    """Return scores as integers from 0 in ascending order, equal within rounding; NaN as -1."""
    flat = values.ravel()
    order = np.argsort(flat, kind="stable")
    ascending = flat[order]
    is_number = ~np.isnan(ascending)
    gap = ROUNDING * np.abs(ascending[is_number]).max(initial=0.0)
    codes = np.full(flat.size, -1, dtype=np.intp)
    steps = np.concatenate([[0], np.cumsum(np.diff(ascending[is_number]) > gap)])
    codes[order[is_number]] = steps[: is_number.sum()]
    return codes.reshape(values.shape)


def rank_all(values: Floats) -> tuple[Floats, float, int]:
    """Return mid-ranks of all scores, sum of t^3 - t over ties of t, and number of ties."""
    codes = encode_scores(values)
    sizes = np.bincount(codes[codes >= 0]).astype(np.float64)
    ranks = np.append(np.cumsum(sizes) - (sizes - 1) / 2, np.nan)[codes]
    return ranks, float((sizes**3 - sizes).sum()), int((sizes - 1).sum())


def order_statistics(values: Floats, ranks: Indices) -> Floats:
    """Return the numbers of some ranks, from 0, of each row; changes the order of rows."""
    ranks = np.clip(ranks, 0, values.shape[1] - 1)
    values.partition(np.unique(ranks), axis=1)
    return np.take_along_axis(values, ranks, axis=1)


def group_means(rows: Floats, labels: Indices) -> tuple[Indices, Floats, Floats]:
    """Return the group of each row, from 0, the sizes of groups, and their means by column."""
    _, group, numbers = np.unique(labels, return_inverse=True, return_counts=True)
    counts = numbers.astype(np.float64)
    sums = np.zeros((counts.size, rows.shape[1]))
    np.add.at(sums, group, rows)
    return group, counts, sums / counts[:, None]


def spread(differences: Floats, mean: Floats, rounding: Floats) -> Floats:
    """Return standard deviations over topics; 0 where the differences vary by rounding only."""
    centred = differences - mean[:, None]
    varies = np.abs(centred).max(axis=1) > rounding
    squares = np.einsum("pt,pt->p", centred, centred)
    return np.asarray(np.where(varies, np.sqrt(squares / (differences.shape[1] - 1)), 0.0))


def ratio(difference: Floats, error: Floats) -> Floats:
    """Divide; 0 by 0 is 0, and anything else by 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(difference == 0, 0.0, difference / error))


def orient(t: Floats, alternative: str) -> Floats:
    """Return statistics such that larger ones are more extreme under the alternative."""
    return {"two-sided": np.abs(t), "greater": t, "less": -t}[alternative]


def tail_pvalues(tail: Floats, alternative: str) -> Floats:
    """Return p-values: a tail, or both if the test is two-sided."""
    return np.asarray(np.minimum(1.0, tail * (2 if alternative == "two-sided" else 1)))


def t_pvalue(t: Floats, df: Floats | float, alternative: str) -> Floats:
    """Return the p-value of Student's t; df may be infinite, and a t of NaN is 0 / 0."""
    t = np.nan_to_num(t, nan=0.0, posinf=np.inf, neginf=-np.inf)
    df = np.broadcast_to(np.asarray(df, dtype=np.float64), t.shape)
    is_normal, below = np.isinf(df), -orient(t, alternative)
    return tail_pvalues(
        np.where(is_normal, ndtr(below), stdtr(np.where(is_normal, 1.0, df), below)), alternative
    )


def difference_pvalues(t: Floats, error: Floats, df: Floats | float, alternative: str) -> Floats:
    """Return p-values; 1 if the difference and its error are 0."""
    is_zero = (t == 0) & (error == 0)
    return np.asarray(np.where(is_zero, 1.0, t_pvalue(t, df, alternative)))


def t_quantile(level: Floats | float, df: Floats | float) -> Floats:
    """Return the half-width, in standard errors, of a two-sided interval by Student's t."""
    return np.asarray(stdtrit(np.minimum(df, 1e300), (1 + level) / 2))


def t_interval(
    difference: Floats, error: Floats, df: Floats | float, level: Floats | float
) -> tuple[Floats, Floats]:
    """Return an interval by Student's t: plus and minus a multiple of the standard error."""
    # A confidence near 1 has an infinite multiple, which an error of 0 turns into NaN.
    with np.errstate(invalid="ignore"):
        half_width = np.where(np.asarray(error) == 0, 0.0, t_quantile(level, df) * error)
    return difference - half_width, difference + half_width


def fieller_interval(
    b: Floats, a: Floats, v_b: Floats, v_a: Floats, c: Floats, t2: Floats
) -> tuple[Floats, Floats]:
    r"""Return the confidence interval of a ratio of means; infinite if the denominator may be 0.

    It contains the ratios r with

    .. math:: \frac{(a - r b)^2}{v_a - 2 r c + r^2 v_b} \le t^2

    with the squared standard errors v of both means, their covariance c, and the squared quantile
    `t2`. NaN where b is 0 without error. Source: Fieller (1954).
    """
    # p r^2 - 2 q r + s <= 0
    p = b**2 - t2 * v_b
    q, s = b * a - t2 * c, a**2 - t2 * v_a
    root = np.sqrt(np.maximum(0.0, q * q - p * s))
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(p > 0, (q - root) / p, -np.inf)
        high = np.where(p > 0, (q + root) / p, np.inf)
    is_undefined = (b == 0) & (v_b == 0)
    return np.where(is_undefined, np.nan, low), np.where(is_undefined, np.nan, high)


@dataclass(frozen=True, eq=False)
class Model:
    """The means of all systems, or their mean ranks, with one error for all.

    `error` is the mean square of the error, the estimated variance of one observation, with `df`
    degrees of freedom, infinite where it is known; `counts` are the observations behind each mean.
    Mean ranks rise with the scores; `top` less such a mean is the mean rank from the highest score.
    """

    means: Floats
    error: float
    counts: Floats
    df: float
    of: str = "mean"
    top: float = 0.0

    @property
    def balanced(self) -> bool:
        return bool((self.counts == self.counts[0]).all())

    def differences(self, pairs: Pairs) -> Floats:
        """Return the differences of the means of each pair; those by rounding are 0."""
        if self.of == "mean":
            return pairs.differences_of(self.means)
        difference = pairs.of_systems(self.means)
        slack = 1e-12 * self.means.max(initial=0.0)
        return np.asarray(np.where(np.abs(difference) <= slack, 0.0, difference))

    def standard_errors(self, pairs: Pairs) -> Floats:
        weights = 1 / self.counts
        return np.asarray(np.sqrt(self.error * (weights[pairs.first] + weights[pairs.second])))

    def interval(self, pairs: Pairs, quantile: Floats | float) -> tuple[Floats, Floats]:
        half_width = quantile * self.standard_errors(pairs)
        difference = self.differences(pairs)
        return difference - half_width, difference + half_width


Bounds = tuple[Floats, Floats]
Level = float | Floats  # a confidence level of all pairs, or of each

Interval = Callable[[Level], Bounds]
"""Takes confidence levels and returns lower and upper bounds of the difference, by pair."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of a test by pair, with the table and the model of tests that model all systems.

    `n` counts the topics that took part, or of unpaired tests the scores of both systems; `zeros`
    the differences that are zero, and `ties` the differences or scores that share their rank. The
    `interval` is of the quantity that the test declares, and computed on demand; `notes` are for
    the reader.
    """

    statistic: Floats
    pvalue: Floats
    effect: Floats
    interval: Interval
    n: Indices
    zeros: Indices | int = 0
    ties: Indices | int = 0
    details: dict[str, Any] = field(default_factory=dict)
    table: AnovaTable | None = None
    model: Model | None = None
    notes: tuple[str, ...] = ()
    smallest_pvalues: Floats | None = None

    @property
    def of_model(self) -> Model:
        assert self.model is not None
        return self.model


@dataclass(frozen=True, eq=False)
class Corrected:
    """Results of a correction; None for results of the test that are unchanged.

    Systems whose means, plus and minus `half_widths`, do not overlap are significantly different.
    No difference, however large, can have a p-value below `smallest_pvalue`.
    """

    pvalue: Floats
    statistic: Floats | None = None
    interval: Interval | None = None
    holds_for: str = "each pair alone"
    half_widths: Floats | None = None
    smallest_pvalue: float | None = None


TOGETHER = "all pairs together"
ALL_COMPARISONS = "all comparisons"
BONFERRONI = f"{TOGETHER}, by Bonferroni's inequality"  # scope of simultaneous intervals
SIDAK = f"{TOGETHER}, by Sidak's inequality"


def infinite_bounds(pairs: int) -> Bounds:
    """Return infinite bounds."""
    return np.full(pairs, -np.inf), np.full(pairs, np.inf)
