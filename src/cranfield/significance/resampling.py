"""Common functions of resampling tests.

A sum of floats depends on the order of its terms, and therefore on the processor, the number of
threads and the library; a sum of integers does not. Scores are scaled to integers that are large
enough to keep the precision, and small enough for every sum to be exact as a float. The same seed
then gives the same p-values on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Indices, slice_rows
from cranfield.base.streams import make_stream
from cranfield.significance.differences import (
    MIN_DIFFERENCE,
    Bounds,
    IntervalFunction,
    Level,
    Pairs,
    make_infinite_bounds,
    orient,
    select_by_rank,
)
from cranfield.significance.registry import TestOptions

DrawCounts = NDArray[np.uint16]  # as floats, numbers of draws need four times the memory
EXACT_BITS = 52  # bits of integers that are exact as floats
# Random numbers drawn at a time; results for a seed depend on it, so do not change it.
DRAWS_PER_BLOCK = 2**21


def as_integers(values: Floats, n_terms: int) -> tuple[Floats, float]:
    """Scale and round values to integers (as floats), so that sums of `n_terms` are exact.

    Also returns the unit: the value of the integer 1. NaN remains NaN.
    """
    largest_value = float(np.nanmax(np.abs(values), initial=0.0))
    if largest_value <= MIN_DIFFERENCE:
        return np.zeros_like(values), 1.0
    exponent = np.frexp(largest_value)[1] - (EXACT_BITS - int(np.ceil(np.log2(max(2, n_terms)))))
    unit = float(np.ldexp(1.0, int(exponent)))
    return np.rint(values / unit), unit


def draw_signs(resamples: int, n_topics: int, seed: int) -> NDArray[np.int8]:
    """Return random signs, shape (resamples, topics)."""
    bits = make_stream(seed).integers(0, 2, size=(resamples, n_topics), dtype=np.int8)
    return 2 * bits - 1


def count_extreme_values(
    resampled: Floats, observed: Floats, alternative: str, *, atol: float = 0.0, rtol: float = 0.0
) -> Indices:
    """Count, by pair, the resampled values that are at least as extreme as the observed value.

    `resampled`, shape (pairs, resamples), is changed in place. Values count as equal if they differ
    by at most `atol` plus `rtol` times the observed value.
    """
    observed = orient(observed, alternative)
    # A factor instead of a difference, so that infinite values remain infinite.
    threshold = observed * (1 - rtol * np.sign(observed)) - atol
    return np.asarray((orient_inplace(resampled, alternative) >= threshold[:, None]).sum(axis=1))


def count_extremes(
    pairs: Pairs,
    observed: Floats,
    resample: Callable[[Pairs], Floats],
    options: TestOptions,
    **tolerance: float,
) -> Indices:
    """Count, by pair, the resampled statistics that are at least as extreme as the observed one."""

    def count_in_block(rows: slice, block: Pairs) -> tuple[Indices]:
        statistics, alternative = resample(block), options.alternative
        return (count_extreme_values(statistics, observed[rows], alternative, **tolerance),)

    # Blocks fit into the cache.
    [n_extreme] = pairs.map_blocks(count_in_block, options.resamples, 2**17, options.jobs)
    return n_extreme


def orient_inplace(values: Floats, alternative: str) -> Floats:
    """Transform statistics in place, such that larger values are more extreme; see `orient`."""
    if alternative == "two-sided":
        return np.abs(values, out=values)
    return np.negative(values, out=values) if alternative == "less" else values


def count_in_tail(tail: Floats | float, resamples: int) -> Indices:
    """Return the number of values in a tail, of the B resampled values and the observed value."""
    # 1 - level differs from alpha by rounding.
    return np.asarray(np.floor(np.asarray(tail) * (resamples + 1) + 1e-9).astype(np.intp))


def find_bound_ranks(
    pairs: Pairs, level: Level, options: TestOptions, resamples: int | None = None
) -> Indices:
    """Return, by pair, the rank of the resample that bounds an interval; 0 if there is none."""
    tail = (1 - level) / (1 if options.is_two_sided else 2)
    return np.broadcast_to(count_in_tail(tail, resamples or options.resamples), (len(pairs),))


def compute_min_flip_pvalue(n_topics: int, options: TestOptions) -> float:
    """Return the p-value of exact sign flips if all differences are equal."""
    return float(0.5 ** (n_topics - options.is_two_sided))


def replace_constant_results(
    pvalue: Floats,
    interval: IntervalFunction,
    difference: Floats,
    is_constant: Bools,
    exact_pvalue: Floats | float,
    options: TestOptions,
) -> tuple[Floats, IntervalFunction]:
    """Replace the results of differences that do not vary by those of exact permutations.

    Of the 2^n assignments of signs, only the observed assignment, and in a two-sided test its
    mirror image, is as extreme; unpaired tests permute the n + m scores. `exact_pvalue` is the
    proportion of assignments that are as extreme. The interval is the difference alone, or
    unbounded if this p-value is not significant.
    """
    constant_pvalue = np.where(orient(difference, options.alternative) > 0, exact_pvalue, 1.0)
    bounds = partial(_bound_constants, interval, difference, is_constant, exact_pvalue, options)
    return np.where(is_constant, constant_pvalue, pvalue), bounds


def _bound_constants(
    interval: IntervalFunction,
    difference: Floats,
    is_constant: Bools,
    exact_pvalue: Floats | float,
    options: TestOptions,
    level: Level,
) -> Bounds:
    low, high = interval(level)
    tail = (1 - np.asarray(level)) / (1 if options.is_two_sided else 2)
    half_width = np.where(exact_pvalue <= tail * (1 + 1e-9), 0.0, np.inf)
    return (
        np.where(is_constant, difference - half_width, low),
        np.where(is_constant, difference + half_width, high),
    )


def estimate_pvalues(n_extreme: Indices, resamples: int) -> Floats:
    """Return (n_extreme + 1) / (B + 1): the observed value counts, too."""
    return np.asarray((n_extreme + 1.0) / (resamples + 1.0))


RELATIVE_TOLERANCE = 1e-12  # relative difference of statistics that are equal within rounding

MIN_RELATIVE_VARIANCE = 2.0**-44
"""Smallest variance of n numbers above rounding error, divided by n times the largest square.

Numbers of at most 1 are rounded to multiples of 2^-(52 - ceil(log2 n)) < n 2^-51, and so are their
squares. The mean square minus the squared mean of a constant sample then has an error of up to
1.5 n 2^-51. Variances that are at least 40 times larger have relative errors of a few percent.
"""


def draw_counts(
    rng: np.random.Generator, resamples: int, size: int
) -> Iterator[tuple[slice, Floats]]:
    """Yield slices of the resamples, and how often each of `size` scores is drawn in them."""
    for rows in slice_rows(resamples, size, DRAWS_PER_BLOCK):
        shape = (rows.stop - rows.start, size)
        draws = rng.integers(0, size, size=shape)
        draws += size * np.arange(len(draws))[:, None]
        counts = np.bincount(draws.ravel(), minlength=draws.size).reshape(shape)
        yield rows, counts.astype(np.float64)


def draw_topic_counts(resamples: int, n_topics: int, seed: int) -> DrawCounts:
    """Return how often each topic is drawn in each resample, shape (resamples, topics)."""
    counts = np.empty((resamples, n_topics), dtype=np.uint16)
    for rows, block_counts in draw_counts(make_stream(seed), resamples, n_topics):
        counts[rows] = block_counts
    return counts


class CentredRows:
    """Rows of n numbers with mean 0, as integers, so that sums do not depend on their order.

    A variance counts as rounding error if it is below the square of `noise`, the rounding error of
    the row, or below the error of rounding to integers.
    """

    def __init__(self, centred_rows: Floats, noise: Floats) -> None:
        n = centred_rows.shape[1]
        self.scale = np.abs(centred_rows).max(axis=1, initial=0.0)
        self.scale[self.scale == 0] = 1.0
        self.factor = float(np.ldexp(1.0, EXACT_BITS - int(np.ceil(np.log2(max(2, n))))))
        scaled_rows = centred_rows / self.scale[:, None]
        relative_noise = noise / self.scale
        self.integers = np.rint(scaled_rows * self.factor)
        self.integer_squares = np.rint(scaled_rows**2 * self.factor)
        self.min_mean = np.maximum(n * MIN_RELATIVE_VARIANCE, relative_noise)
        self.min_variance = np.maximum(n * MIN_RELATIVE_VARIANCE, relative_noise**2)

    def compute_moments(self, counts: Floats | DrawCounts) -> tuple[Floats, Floats]:
        """Return means and variances (divisor n - 1) by row, for counts of shape (resamples, n)."""
        n = counts.shape[1]
        mean = multiply_samples(self.integers, counts)
        variance = multiply_samples(self.integer_squares, counts)
        mean *= 1 / (n * self.factor)
        variance *= 1 / (n * self.factor)
        variance -= mean**2
        # Variances within rounding error become 0; in these samples, so do means within it.
        is_constant = variance < self.min_variance[:, None]
        if is_constant.any():
            variance[is_constant] = 0.0
            is_constant &= np.abs(mean) <= self.min_mean[:, None]
            mean[is_constant] = 0.0
        variance *= (n / (n - 1)) * self.scale[:, None] ** 2
        mean *= self.scale[:, None]
        return mean, variance


MAX_SMALL_PRODUCT = 2**18  # largest size of a matrix product for which OpenBLAS uses one thread


def multiply_samples(numbers: Floats, counts: Floats | DrawCounts) -> Floats:
    """Compute `numbers @ counts.T`, small products in blocks of rows that use one thread each."""
    if counts.dtype != np.float64:
        blocks = slice_rows(len(counts), counts.shape[1], DRAWS_PER_BLOCK)
        return np.hstack([multiply_samples(numbers, counts[b].astype(float)) for b in blocks])
    if counts.size > MAX_SMALL_PRODUCT // 16:
        return np.asarray(numbers @ counts.T)
    out = np.empty((len(numbers), len(counts)))
    for rows in slice_rows(len(numbers), counts.size, MAX_SMALL_PRODUCT):
        np.matmul(numbers[rows], counts.T, out=out[rows])
    return out


def studentise(mean: Floats, squared_error: Floats) -> Floats:
    """Divide resampled means by their standard errors in place; 0 / 0 is 0, x / 0 infinite."""
    np.sqrt(squared_error, out=squared_error)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean /= squared_error
    mean[np.isnan(mean)] = 0.0
    return mean


def bound_by_bootstrap_t(
    pairs: Pairs,
    difference: Floats,
    error: Floats,
    resample: Callable[[Pairs], Floats],
    options: TestOptions,
    level: Level,
) -> Bounds:
    """Return bootstrap-t intervals, with order statistics of resampled t statistics.

    The test rejects at level alpha if fewer than k resampled t are at least as extreme as the
    observed t, with k = floor(alpha (B + 1)). Bounds use the k-th most extreme t; with too few
    resamples k is 0 and bounds are infinite. The interval of a two-sided test, which counts
    absolute values, is symmetric.
    """
    resamples = options.resamples
    rank = find_bound_ranks(pairs, level, options)
    low, high = make_infinite_bounds(len(pairs))
    for rows, block in pairs.iterate_blocks(resamples) if (rank >= 1).any() else ():
        t = resample(block)
        if options.is_two_sided:
            np.abs(t, out=t)
        quantiles = select_by_rank(t, np.stack([rank[rows] - 1, resamples - rank[rows]], axis=1))
        has_bounds = rank[rows] >= 1
        upper = quantiles[has_bounds, 1]
        high[rows][has_bounds] = upper
        low[rows][has_bounds] = -upper if options.is_two_sided else quantiles[has_bounds, 0]
    # Wider by the tolerance of ties, so that intervals and p-values agree.
    low = low * (1 - RELATIVE_TOLERANCE * np.sign(low))
    high = high * (1 + RELATIVE_TOLERANCE * np.sign(high))
    with np.errstate(invalid="ignore"):
        upper_error, lower_error = (np.where(np.isinf(t), t, t * error) for t in (high, low))
    return difference - upper_error, difference - lower_error
