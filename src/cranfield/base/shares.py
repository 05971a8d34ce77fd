"""Limits of a share."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats


def wilson(share: Floats, size: Floats, quantile: Floats | float) -> tuple[Floats, Floats]:
    """Return the limits of a share of so many by Wilson (1927); NaN where there are none.

    The quantile, of the normal distribution or of Student's t, says how sure they are.

    >>> low, high = wilson(np.array([0.3]), np.array([100]), 1.959964)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.2189], [0.3958])
    """
    square = quantile**2
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (share + square / (2 * size)) / (1 + square / size)
        spread = np.sqrt(share * (1 - share) / size + square / (4 * size**2))
        half = quantile / (1 + square / size) * spread
        return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
