"""The power of a t-test for many pairs at once: the noncentral t distribution as an integral."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtr, xlogy

from cranfield.base.arrays import Floats

NODES = ((50, 256), (math.inf, 48))
"""Of the integral over the estimated standard deviation, by degrees of freedom up to some."""


def power(shift: Floats, df: int, critical: float) -> Floats:
    r"""Return the probability that a noncentral t is beyond a critical value, on either side.

    .. math:: P(|T| \ge c) = \int_0^\infty f_\phi(s)
        \left[ \Phi(\lambda - c s) + \Phi(-\lambda - c s) \right] ds

    with f the density of an estimate of a standard deviation of 1 with `df` degrees of freedom, and
    the noncentrality of each pair as `shift`.

    Examples
    --------
    >>> power(np.array([0.0, 2.0]), 98, 1.984467).round(4).tolist()
    [0.05, 0.5082]
    """
    ends = np.sqrt([gammaincinv(df / 2, 1e-17) * 2 / df, gammainccinv(df / 2, 1e-17) * 2 / df])
    nodes, weights = _nodes(next(number for most, number in NODES if df <= most))
    s = ends.mean() + nodes * (ends[1] - ends[0]) / 2
    # Logarithms of the density, without what the weights share.
    logs = xlogy(df - 1, s) - df * s**2 / 2
    weights = weights * np.exp(logs - logs.max())
    weights /= weights.sum()
    out = np.zeros(shift.shape)
    for each, weight in zip(s, weights, strict=True):
        if weight > 1e-18:
            out += weight * (ndtr(shift - critical * each) + ndtr(-shift - critical * each))
    return out


@lru_cache(maxsize=4)
def _nodes(number: int) -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(number)
