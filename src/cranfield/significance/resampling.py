"""Common functions of resampling tests.

A sum of floats depends on the order of its terms, and so on the processor, the number of threads
and the library. A sum of integers does not. Scores are scaled to integers that are large enough to
keep all digits, and small enough for every sum to fit a float exactly. The same seed then gives the
same p-values everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, row_slices
from cranfield.base.streams import stream
from cranfield.significance.differences import (
    TINY,
    Bounds,
    Level,
    Pairs,
    infinite_bounds,
    order_statistics,
    orient,
)
from cranfield.significance.registry import Options

EXACT_BITS = 52  # bits of integers that are exact as floats
DRAWN = 2**21  # random numbers drawn at a time; with another number, a seed gives others


def as_integers(values: Floats, terms: int, bits: int = EXACT_BITS) -> tuple[Floats, float]:
    """Scale values to integers, as floats, so that sums of `terms` of them are exact.

    Such a sum takes at most `bits` bits; NaN stays. Also returns the value of one unit.
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest <= TINY:
        return np.zeros_like(values), 1.0
    exponent = np.frexp(largest)[1] - (bits - int(np.ceil(np.log2(max(2, terms)))))
    unit = float(np.ldexp(1.0, int(exponent)))
    return np.rint(values / unit), unit


def random_signs(resamples: int, topics: int, seed: int) -> NDArray[np.int8]:
    """Return random signs, shape (resamples, topics)."""
    bits = stream(seed).integers(0, 2, size=(resamples, topics), dtype=np.int8)
    return 2 * bits - 1


def count_reaching(
    resampled: Floats,
    observed: Floats,
    alternative: str,
    *,
    slack: float = 0.0,
    relative: float = 0.0,
) -> NDArray[np.intp]:
    """Count the resampled values, shape (pairs, resamples), as extreme as the observed ones.

    `resampled` is changed in place. A value counts even if it is below the observed one by up to
    `slack` and a fraction `relative` of it, as equal values may differ by rounding.
    """
    observed = orient(observed, alternative)
    # A factor rather than a term: infinite values stay infinite.
    threshold = observed * (1 - relative * np.sign(observed)) - slack
    return np.asarray((orient_inplace(resampled, alternative) >= threshold[:, None]).sum(axis=1))


def orient_inplace(values: Floats, alternative: str) -> Floats:
    """Do the same as `orient`, in place."""
    if alternative == "two-sided":
        return np.abs(values, out=values)
    return np.negative(values, out=values) if alternative == "less" else values


def tail_rank(tail: Floats | float, resamples: int) -> NDArray[np.intp]:
    """Return the number of values in tails, of the resampled values and the observed one."""
    # 1 - level differs from alpha by rounding.
    return np.asarray(np.floor(np.asarray(tail) * (resamples + 1) + 1e-9).astype(np.intp))


def monte_carlo_pvalues(count: NDArray[np.intp], resamples: int) -> Floats:
    """Return (count + 1) / (B + 1): the observed arrangement is one of the possible ones."""
    return np.asarray((count + 1.0) / (resamples + 1.0))


RELATIVE = 1e-12  # relative difference of statistics that are equal within rounding

CONSTANT = 2.0**-44
"""Variance, by n times the largest square, below which a sample does not vary.

Numbers of at most 1 are rounded to multiples of 2^-(52 - ceil(log2 n)) < n 2^-51, and so are their
squares. The mean square minus the squared mean of a constant sample is then wrong by up to
1.5 n 2^-51. From 40 times as much on, a variance is right to some percent.
"""


def draw_counts(
    random: np.random.Generator, resamples: int, size: int
) -> Iterator[tuple[slice, Floats]]:
    """Yield how often each of `size` scores is drawn, shape (samples, size), for some samples."""
    for rows in row_slices(resamples, size, DRAWN):
        shape = (rows.stop - rows.start, size)
        draws = random.integers(0, size, size=shape)
        draws += size * np.arange(len(draws))[:, None]
        counts = np.bincount(draws.ravel(), minlength=draws.size).reshape(shape)
        yield rows, counts.astype(np.float64)


def topic_counts(resamples: int, topics: int, seed: int) -> Floats:
    """Return how often each topic is drawn in each sample, shape (resamples, topics)."""
    counts = np.empty((resamples, topics))
    for rows, numbers in draw_counts(stream(seed), resamples, topics):
        counts[rows] = numbers
    return counts


class Centred:
    """Rows of numbers whose mean is 0, as integers, so that sums do not depend on their order.

    The numbers have shape (rows, n). A row varies by rounding only where its variance is below the
    square of its `noise`, or below what rounding to integers leaves.
    """

    def __init__(self, centred: Floats, noise: Floats) -> None:
        n = centred.shape[1]
        self.scale = np.abs(centred).max(axis=1, initial=0.0)
        self.scale[self.scale == 0] = 1.0
        self.unit = float(np.ldexp(1.0, EXACT_BITS - int(np.ceil(np.log2(max(2, n))))))
        scaled = centred / self.scale[:, None]
        relative = noise / self.scale
        self.numbers = np.rint(scaled * self.unit)
        self.squares = np.rint(scaled**2 * self.unit)
        self.min_mean = np.maximum(n * CONSTANT, relative)
        self.min_variance = np.maximum(n * CONSTANT, relative**2)

    def moments(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance, divisor n - 1, of samples, each of shape (rows, samples).

        `counts` are how often each number is drawn, shape (samples, n). A variance that is
        rounding is 0, and so is then a mean that is rounding.
        """
        n = counts.shape[1]
        mean, variance = (
            multiply_samples(self.numbers, counts),
            multiply_samples(self.squares, counts),
        )
        mean *= 1 / (n * self.unit)
        variance *= 1 / (n * self.unit)
        variance -= mean**2
        is_constant = variance < self.min_variance[:, None]
        if is_constant.any():
            variance[is_constant] = 0.0
            is_constant &= np.abs(mean) <= self.min_mean[:, None]
            mean[is_constant] = 0.0
        variance *= (n / (n - 1)) * self.scale[:, None] ** 2
        mean *= self.scale[:, None]
        return mean, variance


SMALL = 2**18  # size of products up to which OpenBLAS uses one thread


def multiply_samples(numbers: Floats, counts: Floats) -> Floats:
    """Multiply samples with rows; of few samples some rows at a time, by one thread."""
    if counts.size > SMALL // 16:
        return np.asarray(numbers @ counts.T)
    out = np.empty((len(numbers), len(counts)))
    for rows in row_slices(len(numbers), counts.size, SMALL):
        np.matmul(numbers[rows], counts.T, out=out[rows])
    return out


def studentise(mean: Floats, squared_error: Floats) -> Floats:
    """Divide resampled means by their errors, in place; 0 by 0 is 0, else by 0 infinite."""
    np.sqrt(squared_error, out=squared_error)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean /= squared_error
    mean[np.isnan(mean)] = 0.0
    return mean


def bootstrap_t_interval(
    pairs: Pairs,
    difference: Floats,
    error: Floats,
    resample: Callable[[Pairs], Floats],
    options: Options,
    level: Level,
) -> Bounds:
    """Return bootstrap-t intervals, with order statistics of resampled t as quantiles.

    `resample` takes a block of pairs and returns their t, shape (pairs, resamples). A test by the
    same values rejects at level alpha when at most floor(alpha (B + 1)) - 1 of them are as extreme
    as the observed value; so bounds use the values of that rank, and are infinite if there are too
    few. They are symmetric around the difference for a two-sided test, which counts absolute
    values; otherwise the same number of values is beyond each bound.
    """
    resamples = options.resamples
    rank = tail_rank((1 - level) / (1 if options.two_sided else 2), resamples)
    rank = np.broadcast_to(rank, (len(pairs),))
    low, high = infinite_bounds(len(pairs))
    for rows, block in pairs.blocks(resamples) if (rank >= 1).any() else ():
        t = resample(block)
        if options.two_sided:
            np.abs(t, out=t)
        quantiles = order_statistics(t, np.stack([rank[rows] - 1, resamples - rank[rows]], axis=1))
        finite = rank[rows] >= 1
        high[rows][finite] = quantiles[finite, 1]
        low[rows][finite] = -quantiles[finite, 1] if options.two_sided else quantiles[finite, 0]
    # Wider by the tolerance of ties, so that intervals and p-values agree.
    low = low * (1 - RELATIVE * np.sign(low))
    high = high * (1 + RELATIVE * np.sign(high))
    with np.errstate(invalid="ignore"):
        upper_error, lower_error = (np.where(np.isinf(t), t, t * error) for t in (high, low))
    return difference - upper_error, difference - lower_error
