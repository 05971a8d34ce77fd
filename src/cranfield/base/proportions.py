"""Confidence intervals of a proportion."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from cranfield.base.arrays import Floats, Ints


def compute_wilson_intervals(
    proportion: Floats, n_trials: Floats, quantile: Floats | float
) -> tuple[Floats, Floats]:
    """Compute Wilson's (1927) intervals of proportions of `n_trials` trials; NaN for 0 trials.

    `quantile` is the (1 + confidence) / 2 quantile of the normal or Student's t distribution.

    >>> low, high = compute_wilson_intervals(np.array([0.3]), np.array([100]), 1.959964)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.2189], [0.3958])
    """
    squared_quantile = quantile**2
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = squared_quantile / n_trials
        centre = (proportion + squared_quantile / (2 * n_trials)) / (1 + ratio)
        variance = proportion * (1 - proportion) / n_trials
        spread = np.sqrt(variance + squared_quantile / (4 * n_trials**2))
        half_width = quantile / (1 + ratio) * spread
        return np.maximum(centre - half_width, 0.0), np.minimum(centre + half_width, 1.0)


def compute_clopper_pearson_intervals(
    n_successes: Ints, n_trials: Ints, confidence: float
) -> tuple[Floats, Floats]:
    """Compute exact intervals of proportions (Clopper and Pearson 1934); NaN for 0 trials.

    The interval excludes a proportion if and only if twice the smaller binomial tail for that
    proportion is below 1 - confidence.

    >>> low, high = compute_clopper_pearson_intervals(np.array([60, 5]), np.array([100, 5]), 0.95)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.4972, 0.4782], [0.6967, 1.0])
    """
    k, n = (np.asarray(count, dtype=np.float64) for count in (n_successes, n_trials))
    tail = (1 - confidence) / 2
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)
