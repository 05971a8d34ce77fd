"""A difference by its standard error: the ratio t, its p-value, and limits by Student's t."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

from cranfield.base.arrays import Floats


def spread(differences: Floats, mean: Floats, rounding: Floats) -> Floats:
    """Return standard deviations over topics; 0 where the differences vary by rounding only."""
    centred = differences - mean[:, None]
    some = np.abs(centred).max(axis=1) > rounding
    squares = np.einsum("pt,pt->p", centred, centred)
    return np.asarray(np.where(some, np.sqrt(squares / (differences.shape[1] - 1)), 0.0))


def ratio(difference: Floats, error: Floats) -> Floats:
    """Divide; 0 by 0 is 0, and anything else by 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(difference == 0, 0.0, difference / error))


def away(t: Floats, alternative: str) -> Floats:
    """Return how far statistics are from 0 in the direction of the alternative."""
    return {"two-sided": np.abs(t), "greater": t, "less": -t}[alternative]


def of_tail(tail: Floats, alternative: str) -> Floats:
    """Return p-values: a tail, or both if the test is two-sided."""
    return np.asarray(np.minimum(1.0, tail * (2 if alternative == "two-sided" else 1)))


def t_pvalue(t: Floats, df: Floats | float, alternative: str) -> Floats:
    """Return the p-value of Student's t, or of a normal variable if df is infinite.

    A t that is NaN, which is 0 / 0, counts as no difference.
    """
    t = np.nan_to_num(t, nan=0.0, posinf=np.inf, neginf=-np.inf)
    df = np.broadcast_to(np.asarray(df, dtype=np.float64), t.shape)
    known, below = np.isinf(df), -away(t, alternative)
    return of_tail(
        np.where(known, ndtr(below), stdtr(np.where(known, 1.0, df), below)), alternative
    )


def p_of(t: Floats, error: Floats, df: Floats | float, alternative: str) -> Floats:
    """Return p-values; where nothing differs, and nothing varies, there is no evidence at all."""
    nothing = (t == 0) & (error == 0)
    return np.asarray(np.where(nothing, 1.0, t_pvalue(t, df, alternative)))


def t_quantile(level: Floats | float, df: Floats | float) -> Floats:
    """Return the half-width, in standard errors, of a two-sided interval by Student's t."""
    return np.asarray(stdtrit(np.minimum(df, 1e300), (1 + level) / 2))


def t_limits(
    difference: Floats, error: Floats, df: Floats | float, level: Floats | float
) -> tuple[Floats, Floats]:
    """Return limits by Student's t: plus or minus a multiple of the standard error."""
    # Of confidence next to 1 the multiple is infinite, but not of what does not vary.
    with np.errstate(invalid="ignore"):
        half = np.where(np.asarray(error) == 0, 0.0, t_quantile(level, df) * error)
    return difference - half, difference + half


def fieller_limits(
    below: Floats, above: Floats, own: Floats, other: Floats, shared: Floats, squared: Floats
) -> tuple[Floats, Floats]:
    r"""Return limits of the ratio of two means; infinite where that below may be 0.

    They hold the ratios r with

    .. math:: \frac{(a - r b)^2}{v_a - 2 r c + r^2 v_b} \le t^2

    with the squared standard errors `own` of b and `other` of a, their covariance `shared`, and the
    `squared` quantile. NaN where b is 0 without error. Source: Fieller (1954).
    """
    # p r^2 - 2 q r + s <= 0
    p = below**2 - squared * own
    q, s = below * above - squared * shared, above**2 - squared * other
    root = np.sqrt(np.maximum(0.0, q * q - p * s))
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(p > 0, (q - root) / p, -np.inf)
        high = np.where(p > 0, (q + root) / p, np.inf)
    nothing = (below == 0) & (own == 0)
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)
