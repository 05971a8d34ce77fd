"""Differences of pairs of systems, with standard errors and p-values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from cranfield.base.arrays import Floats, Indices, slice_rows
from cranfield.base.parallel import map_in_threads
from cranfield.result import Column, Columns
from cranfield.significance.models.anova_table import AnovaTable

ROUNDING = 2.0**-44  # relative difference up to which scores are equal within rounding
MIN_DIFFERENCE = 1e-150  # smaller differences count as 0, as their squares underflow

BLOCK_VALUES = 2**20
"""Largest number of values in a block of pairs, so that a block fits in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Scores and the pairs of systems to compare; differences are the first minus the second."""

    values: Floats  # shape (topics, systems); NaN marks a missing score
    first: Indices  # index of a system, by pair
    second: Indices
    shard_scores: Floats | None = None  # by topic, system and shard; `values` are their means

    def __len__(self) -> int:
        return int(self.first.size)

    @property
    def n_topics(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_systems(self) -> int:
        return int(self.values.shape[1])

    @property
    def scores(self) -> Floats:
        return self.values if self.shard_scores is None else self.shard_scores

    @property
    def is_complete(self) -> bool:
        """True if every system has a score for every topic."""
        return not bool(np.isnan(self.values).any())

    @property
    def rounding(self) -> Floats:
        """Largest rounding error of a difference, by pair."""
        largest_scores = np.nanmax(np.abs(self.values), axis=0, initial=0.0)
        errors = ROUNDING * np.maximum(largest_scores[self.first], largest_scores[self.second])
        return np.asarray(np.maximum(errors, MIN_DIFFERENCE))

    def compute_differences(self) -> Floats:
        """Return first minus second, shape (pairs, topics); rounding errors become 0."""
        rows = np.ascontiguousarray(self.values.T)
        differences = rows[self.first] - rows[self.second]
        differences[np.abs(differences) <= self.rounding[:, None]] = 0.0
        return differences

    def subtract(self, system_values: Floats) -> Floats:
        """Return the value of the first system minus the value of the second, by pair."""
        return np.asarray(system_values[self.first] - system_values[self.second])

    def compute_mean_differences(self, means: Floats) -> Floats:
        """Return the differences of means of systems, by pair; rounding errors become 0."""
        difference = self.subtract(means)
        difference[np.abs(difference) <= self.rounding] = 0.0
        return difference

    def map_blocks(
        self,
        function: Callable[[slice, Pairs], Sequence[NDArray[Any]]],
        n_per_pair: int | None = None,
        max_numbers: int = BLOCK_VALUES,
        jobs: int | None = 1,
    ) -> list[NDArray[Any]]:
        """Concatenate the arrays by pair that a function returns for each block of pairs."""
        blocks = self.iterate_blocks(n_per_pair, max_numbers)
        parts = map_in_threads(lambda rows_and_block: function(*rows_and_block), blocks, jobs)
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def compute_moments(self) -> tuple[Floats, Floats, Indices]:
        """Return the mean, standard deviation and number of zeros of each pair's differences."""

        def compute_block_moments(_: slice, block: Pairs) -> tuple[Floats, Floats, Indices]:
            differences = block.compute_differences()
            mean = differences.mean(axis=1)
            deviation = compute_deviations(differences, mean, block.rounding)
            return mean, deviation, (differences == 0).sum(axis=1)

        mean, deviation, n_zeros = self.map_blocks(compute_block_moments)
        return mean, deviation, n_zeros

    def iterate_blocks(
        self, n_per_pair: int | None = None, max_numbers: int = BLOCK_VALUES
    ) -> Iterator[tuple[slice, Pairs]]:
        """Yield blocks of at most `max_numbers` numbers; a pair has one per topic by default."""
        for rows in slice_rows(len(self), n_per_pair or self.n_topics, max_numbers):
            yield rows, replace(self, first=self.first[rows], second=self.second[rows])


PAIR_COLUMNS: Columns = {
    "first": Column("First system of the pair.", key=True),
    "second": Column("Second system of the pair.", key=True),
}
"""Columns of :func:`make_pair_frame`, with which every table of pairs begins."""


def make_pair_frame(
    systems: Sequence[str],
    first: Indices,
    second: Indices,
    columns: Sequence[str] = tuple(PAIR_COLUMNS),
) -> pl.DataFrame:
    """Return a data frame with the names of the two systems of each pair."""
    names = pl.Series(systems, dtype=pl.String)
    return pl.DataFrame([names.gather(first), names.gather(second)], columns)


def append_values(pairs: pl.DataFrame, columns: Columns, *values: Any) -> pl.DataFrame:
    """Append values to a table of pairs, in order of the columns that the table lacks."""
    names = [name for name in columns if name not in pairs.columns]
    return pairs.hstack(pl.DataFrame(dict(zip(names, values, strict=True))))


def make_pairs(values: Floats, baselines: Sequence[int]) -> Pairs:
    """Pair each baseline (second) with all other systems (first); without baselines, pair all."""
    if not baselines:
        return pair_all(values)
    systems = np.setdiff1d(np.arange(values.shape[1]), baselines)
    return Pairs(values, np.tile(systems, len(baselines)), np.repeat(baselines, systems.size))


def pair_all(values: Floats) -> Pairs:
    """Pair each system with all later systems."""
    first, second = np.triu_indices(values.shape[1], 1)
    return Pairs(values, first, second)


def rank_rows(ascending: Floats, gap: Floats) -> tuple[Floats, Floats]:
    """Return twice the mid-ranks of rows of ascending numbers, and their sums of t^3 - t.

    Neighbours that differ by at most `gap`, shape (rows,), are tied; t is the size of a group of
    ties. Infinities have rank 0.
    """
    n_rows, n = ascending.shape
    position = np.arange(n)
    with np.errstate(invalid="ignore"):
        is_start = np.diff(ascending, axis=1) > gap[:, None]
    is_finite = np.isfinite(ascending)
    starts = np.zeros((n_rows, n), dtype=np.intp)
    starts[:, 1:] = np.where(is_start, position[1:], 0)
    starts = np.maximum.accumulate(starts, axis=1)
    ends = np.full((n_rows, n), n - 1, dtype=np.intp)
    is_end = is_start | (is_finite[:, :-1] & ~is_finite[:, 1:])
    ends[:, :-1] = np.where(is_end, position[:-1], n - 1)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    group_sizes = (ends - starts + 1).astype(np.float64)
    doubled_ranks = np.where(is_finite, starts + ends + 2, 0).astype(np.float64)
    tie_terms = np.where(is_finite, group_sizes**2 - 1, 0.0).sum(axis=1)
    return doubled_ranks, tie_terms


def encode_scores(values: Floats) -> Indices:
    """Encode scores as ascending integers from 0, equal within rounding error; NaN as -1."""
    flat_values = values.ravel()
    order = np.argsort(flat_values, kind="stable")
    ascending_values = flat_values[order]
    is_number = ~np.isnan(ascending_values)
    gap = ROUNDING * np.abs(ascending_values[is_number]).max(initial=0.0)
    codes = np.full(flat_values.size, -1, dtype=np.intp)
    ascending_codes = np.concatenate([[0], np.cumsum(np.diff(ascending_values[is_number]) > gap)])
    codes[order[is_number]] = ascending_codes[: is_number.sum()]
    return codes.reshape(values.shape)


def rank_all(values: Floats) -> tuple[Floats, float, int]:
    """Return the mid-ranks of all scores, and sums of t^3 - t and t - 1 over ties of t scores."""
    codes = encode_scores(values)
    sizes = np.bincount(codes[codes >= 0]).astype(np.float64)
    ranks = np.append(np.cumsum(sizes) - (sizes - 1) / 2, np.nan)[codes]
    return ranks, float((sizes**3 - sizes).sum()), int((sizes - 1).sum())


def select_by_rank(values: Floats, ranks: Indices) -> Floats:
    """Return the values at ranks (from 0) of each row; reorders `values` in place."""
    ranks = np.clip(ranks, 0, values.shape[1] - 1)
    values.partition(np.unique(ranks), axis=1)
    return np.take_along_axis(values, ranks, axis=1)


def compute_group_means(rows: Floats, labels: Indices) -> tuple[Indices, Floats, Floats]:
    """Return the index of each row's group, and the size and the column means of each group."""
    _, group, counts = np.unique(labels, return_inverse=True, return_counts=True)
    sizes = counts.astype(np.float64)
    sums = np.zeros((sizes.size, rows.shape[1]))
    np.add.at(sums, group, rows)
    return group, sizes, sums / sizes[:, None]


def compute_deviations(differences: Floats, mean: Floats, rounding: Floats) -> Floats:
    """Return standard deviations over topics; 0 for differences that vary only by rounding."""
    centred_differences = differences - mean[:, None]
    is_varying = np.abs(centred_differences).max(axis=1) > rounding
    ss = np.einsum("pt,pt->p", centred_differences, centred_differences)
    return np.asarray(np.where(is_varying, np.sqrt(ss / (differences.shape[1] - 1)), 0.0))


def standardise_difference(difference: Floats, error: Floats | float) -> Floats:
    """Divide by a standard error or deviation; 0 / 0 is 0, and x / 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(difference == 0, 0.0, difference / error))


def orient(t: Floats, alternative: str) -> Floats:
    """Transform statistics such that larger values are more extreme under the alternative."""
    return {"two-sided": np.abs(t), "greater": t, "less": -t}[alternative]


def compute_tail_pvalues(tail: Floats, alternative: str) -> Floats:
    """Return p-values from tail probabilities, which a two-sided test doubles."""
    return np.asarray(np.minimum(1.0, tail * (2 if alternative == "two-sided" else 1)))


def compute_t_pvalue(t: Floats, df: Floats | float, alternative: str) -> Floats:
    """Return the p-value of Student's t; df may be infinite, and NaN counts as t = 0."""
    t = np.nan_to_num(t, nan=0.0, posinf=np.inf, neginf=-np.inf)
    df = np.broadcast_to(np.asarray(df, dtype=np.float64), t.shape)
    is_normal, minus_t = np.isinf(df), -orient(t, alternative)
    tail = np.where(is_normal, ndtr(minus_t), stdtr(np.where(is_normal, 1.0, df), minus_t))
    return compute_tail_pvalues(tail, alternative)


def compute_difference_pvalues(
    t: Floats, error: Floats, df: Floats | float, alternative: str
) -> Floats:
    """Return p-values of Student's t; 1 if the difference and its standard error are 0."""
    is_zero = (t == 0) & (error == 0)
    return np.asarray(np.where(is_zero, 1.0, compute_t_pvalue(t, df, alternative)))


def compute_t_quantile(level: Floats | float, df: Floats | float) -> Floats:
    """Return the half-width, in standard errors, of a two-sided interval by Student's t."""
    return np.asarray(stdtrit(np.minimum(df, 1e300), (1 + level) / 2))


def bound_by_t(
    difference: Floats, error: Floats, df: Floats | float, level: Floats | float
) -> tuple[Floats, Floats]:
    """Return an interval by Student's t: the difference plus and minus a multiple of its error."""
    # At a confidence level near 1 the quantile is infinite, and infinity times 0 is NaN.
    with np.errstate(invalid="ignore"):
        half_width = np.where(np.asarray(error) == 0, 0.0, compute_t_quantile(level, df) * error)
    return difference - half_width, difference + half_width


def bound_by_fieller(
    b: Floats, a: Floats, v_b: Floats, v_a: Floats, c: Floats, t2: Floats
) -> tuple[Floats, Floats]:
    r"""Return the confidence interval of the ratio a / b of two means, by Fieller (1954).

    The interval contains the ratios r with

    .. math:: \frac{(a - r b)^2}{v_a - 2 r c + r^2 v_b} \le t^2

    with the squared standard errors v of the means, their covariance c, and the squared quantile
    `t2`. The interval is infinite if b does not differ significantly from 0, and NaN if b and its
    standard error are 0.
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
class SystemModel:
    """Fitted model of all systems: means, medians, mean ranks or effects, and an error variance."""

    means: Floats  # estimate of each system, named by `location`; ranks ascend with the scores
    error_variance: float  # mean square of the error: the estimated variance of one observation
    counts: Floats  # number of observations of each system
    df: float  # degrees of freedom of the error; infinite if the variance is known
    location: str = "mean"  # or `median`, `mean rank`, `effect`
    ranks_from: float = 0.0  # this number minus a mean rank is the mean rank from the highest score

    @property
    def is_balanced(self) -> bool:
        return bool((self.counts == self.counts[0]).all())

    def subtract(self, pairs: Pairs) -> Floats:
        """Return the difference of the means of each pair; rounding errors become 0."""
        if self.location == "mean":
            return pairs.compute_mean_differences(self.means)
        difference = pairs.subtract(self.means)
        slack = 1e-12 * self.means.max(initial=0.0)
        return np.asarray(np.where(np.abs(difference) <= slack, 0.0, difference))

    def estimate_errors(self, pairs: Pairs) -> Floats:
        inverse = 1 / self.counts
        variance = self.error_variance * (inverse[pairs.first] + inverse[pairs.second])
        return np.asarray(np.sqrt(variance))

    def compute_interval(self, pairs: Pairs, quantile: Floats | float) -> tuple[Floats, Floats]:
        half_width = quantile * self.estimate_errors(pairs)
        difference = self.subtract(pairs)
        return difference - half_width, difference + half_width


Bounds = tuple[Floats, Floats]
Level = float | Floats  # one confidence level, or one for each pair

IntervalFunction = Callable[[Level], Bounds]
"""Takes confidence levels and returns lower and upper bounds by pair."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of a test, by pair, before or after a correction for multiple comparisons."""

    statistic: Floats
    pvalue: Floats
    effect: Floats
    interval: IntervalFunction  # of the quantity that the test declares
    n: Indices  # number of observations: topics, nonzero differences, or scores of both systems
    n_zeros: Indices | int = 0  # number of zero differences
    n_ties: Indices | int = 0  # number of differences or scores with tied ranks
    details: dict[str, Any] = field(default_factory=dict)  # further results by name
    table: AnovaTable | None = None
    model: SystemModel | None = None
    notes: tuple[str, ...] = ()
    smallest_pvalues: Floats | None = None  # smallest possible p-values, for any differences
    interval_kind: str = "each pair, unadjusted"
    half_widths: Floats | None = None  # systems differ significantly if means +- these are disjoint

    @property
    def required_model(self) -> SystemModel:
        assert self.model is not None
        return self.model


def make_t_outcome(
    difference: Floats,
    error: Floats,
    df: Floats | float,
    alternative: str,
    unit: Floats,
    **results: Any,
) -> Outcome:
    """Return the outcome of a test by Student's t; the effect is the difference over `unit`."""
    t = standardise_difference(difference, error)
    return Outcome(
        statistic=t,
        pvalue=compute_difference_pvalues(t, error, df, alternative),
        effect=standardise_difference(difference, unit),
        interval=partial(bound_by_t, difference, error, df),
        **results,
    )


ALL_PAIRS = "all pairs simultaneously"
ALL_COMPARISONS = "all comparisons simultaneously"
BONFERRONI = f"{ALL_PAIRS}, by Bonferroni's inequality"
SIDAK = f"{ALL_PAIRS}, by Sidak's inequality"


def make_infinite_bounds(n_pairs: int) -> Bounds:
    """Return the infinite bounds of intervals that contain every difference."""
    return np.full(n_pairs, -np.inf), np.full(n_pairs, np.inf)
