"""The studentised range distribution, which Tukey's HSD test needs."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from scipy.special import log_ndtr, ndtr, stdtr, stdtrit

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.significance.corrections.studentised import Studentised

STEP = 0.1
"""Of the trapezoidal rule over the largest of the normal variables; its error is below 1e-14."""

FAR = 80.0
"""Ranges of normal variables beyond which the probability is below the smallest float."""

REACH = 9.0
"""How far from its centre, in standard deviations, a normal density still counts."""


def studentised_range_sf(q: Floats | float, groups: int, df: float) -> Floats:
    r"""Return P(Q >= q) of the studentised range of `groups` means.

    .. math:: P(Q \ge q) = \int_0^\infty f_{df}(s)\, [1 - R(q s)]\, ds

    where R is the distribution function of the range of `groups` standard normal variables and
    f the density of an estimate of their standard deviation with `df` degrees of freedom.

    Parameters
    ----------
    q
        Values, any shape.
    groups
        Number of means, at least 2.
    df
        Degrees of freedom of the error, positive; may be infinite.

    Returns
    -------
    array
        Upper tail probabilities, accurate to about 1e-12 of themselves.

    Raises
    ------
    PolicyError
        For fewer than 2 groups or no degrees of freedom.

    Notes
    -----
    Ferro and Maistro (2024), equation 10. Both integrals go by the trapezoidal rule, which
    converges exponentially for such integrands. Thousands of values are interpolated from a few
    hundred by Chebyshev polynomials.

    Examples
    --------
    >>> studentised_range_sf(3.633160, groups=3, df=30).round(4).item()
    0.0397
    """
    _check(groups, df)
    values = np.asarray(q, dtype=np.float64)
    if groups == 2:
        # The range of two is their difference: Student's t-test.
        tail = 2 * _t_tail(np.maximum(values, 0) / np.sqrt(2), df)
        return np.asarray(np.where(values > 0, tail, np.where(np.isnan(values), np.nan, 1.0)))
    return distribution(groups, float(df)).sf(values)


def studentised_range_isf(probability: float, groups: int, df: float) -> float:
    """Return the q with P(Q >= q) = `probability`.

    Parameters
    ----------
    probability
        Between 0 and 1, both excluded.
    groups, df
        As for :func:`studentised_range_sf`.

    Examples
    --------
    >>> round(studentised_range_isf(0.05, groups=3, df=10), 4)
    3.8768
    """
    _check(groups, df)
    if not 0 < probability < 1:
        raise PolicyError(f"{probability} is not a probability between 0 and 1")
    if groups == 2:
        return float(-np.sqrt(2) * stdtrit(min(df, 1e300), probability / 2))
    return distribution(groups, float(df)).isf(probability)


@lru_cache(maxsize=64)
def distribution(groups: int, df: float) -> Studentised:
    """Return the distribution; what was computed of it is kept for the next use."""
    return Studentised(partial(range_tail, groups=groups), df)


def range_tail(w: Floats, groups: int) -> Floats:
    """Return P(range of standard normal variables >= w), w at least 0.

    The integral is over the largest variable; the others must not all lie within w below it.
    """
    w = np.minimum(w, FAR)
    top = REACH + w.max(initial=0.0) / 2
    z = np.arange(-REACH, top + STEP, STEP)
    log_density = np.log(groups) - z**2 / 2 - 0.5 * np.log(2 * np.pi) + (groups - 1) * log_ndtr(z)
    weights = np.exp(log_density) * STEP
    below = ndtr(z)
    out = np.empty(w.shape)
    rows = max(1, 2**18 // z.size)
    for start in range(0, w.size, rows):
        part = slice(start, start + rows)
        # Of two close numbers the ratio, and of a power near 1 what it lacks: no digits are lost.
        outside = np.minimum(ndtr(z - w[part, None]) / below, 1.0)
        with np.errstate(divide="ignore"):
            lacking = -np.expm1((groups - 1) * np.log1p(-outside))
        out[part] = lacking @ weights
    return np.minimum(out, 1.0)


def _t_tail(t: Floats, df: float) -> Floats:
    return np.asarray(ndtr(-t) if np.isinf(df) else stdtr(df, -t))


def _check(groups: int, df: float) -> None:
    if groups < 2:
        raise PolicyError(f"a range needs 2 groups or more, not {groups}")
    if not df > 0:
        raise PolicyError(f"the studentised range needs degrees of freedom above 0, not {df}")
