"""What the bootstrap tests share: samples of topics, their t, and limits by its quantiles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.significance.resampling import DRAWN, EXACT_BITS

RELATIVE = 1e-12
"""Part of a t within which two are the same: they differ by rounding."""

CONSTANT = 2.0**-44
"""Variance, by n times the largest square, below which a sample does not vary.

Numbers of at most 1 are rounded to multiples of 2^-(52 - ceil(log2 n)) < n 2^-51, and so are their
squares. The mean square minus the squared mean of a sample that is all the same then errs by up to
1.5 n 2^-51. From 40 times as much on, a variance is right to some percent.
"""


def drawn_counts(
    random: np.random.Generator, resamples: int, size: int
) -> Iterator[tuple[slice, Floats]]:
    """Yield how often each of `size` scores is drawn, shape (samples, size), for some samples."""
    rows = max(1, DRAWN // size)
    for start in range(0, resamples, rows):
        part = slice(start, min(start + rows, resamples))
        shape = (part.stop - start, size)
        drawn = random.integers(0, size, size=shape)
        drawn += size * np.arange(len(drawn))[:, None]
        counts = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(shape)
        yield part, counts.astype(np.float64)


def resampled_moments(centred: Floats, noise: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of samples of numbers whose mean is 0.

    Both come from sums of integers, so that they are the same however they are added.

    Parameters
    ----------
    centred
        Numbers, shape (rows, n).
    noise
        What of them may be rounding, by row.
    counts
        How often each is drawn, shape (samples, n).

    Returns
    -------
    mean, variance
        Shape (rows, samples); the variance has the divisor n - 1. Where it is rounding it is 0, and
        so is then a mean that is rounding.
    """
    n = centred.shape[1]
    scale = np.abs(centred).max(axis=1, initial=0.0)
    scale[scale == 0] = 1.0
    unit = float(np.ldexp(1.0, EXACT_BITS - int(np.ceil(np.log2(max(2, n))))))
    parts = centred / scale[:, None]
    mean = np.rint(parts * unit) @ counts.T
    variance = np.rint(parts**2 * unit) @ counts.T
    mean *= 1 / (n * unit)
    variance *= 1 / (n * unit)
    variance -= mean**2
    relative = noise / scale
    constant = variance < np.maximum(n * CONSTANT, relative**2)[:, None]
    if constant.any():
        variance[constant] = 0.0
        constant &= np.abs(mean) <= np.maximum(n * CONSTANT, relative)[:, None]
        mean[constant] = 0.0
    variance *= (n / (n - 1)) * scale[:, None] ** 2
    mean *= scale[:, None]
    return mean, variance


def studentised(mean: Floats, squared_error: Floats) -> Floats:
    """Divide resampled means by their errors; 0 by 0 is 0, anything else by 0 infinite.

    Both arrays are changed.
    """
    np.sqrt(squared_error, out=squared_error)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean /= squared_error
    mean[np.isnan(mean)] = 0.0
    return mean


def studentised_limits(
    difference: Floats, error: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return bootstrap-t limits: quantiles of the resampled t take the place of Student's.

    Parameters
    ----------
    difference, error
        As observed, by pair.
    low, high
        Quantiles of the resampled t; a limit is infinite where its quantile is.
    """
    # Wider by what counts as equal, so that limits and p-values say the same.
    low = low * (1 - RELATIVE * np.sign(low))
    high = high * (1 + RELATIVE * np.sign(high))
    with np.errstate(invalid="ignore"):
        below, above = (np.where(np.isinf(t), t, t * error) for t in (high, low))
    return difference - below, difference - above
