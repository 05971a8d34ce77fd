"""How many impressions the sign test of a preference takes."""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr, ndtri

from cranfield.base.arrays import Floats, Indices
from cranfield.base.checks import check_share
from cranfield.base.errors import PolicyError

EXACT = 2000
"""Impressions that decide, up to which the power is computed exactly."""


def impressions_needed(
    outcome: float, decided: float = 1.0, *, power: float = 0.8, alpha: float = 0.05
) -> float:
    r"""Return how many impressions the two-sided sign test takes to find a preference.

    Parameters
    ----------
    outcome
        Share of wins of the impressions that are no ties, from 0 to 1.
    decided
        Share of the impressions that are no ties, above 0 to 1.
    power
        Chance to find the preference.
    alpha
        Level of the test.

    Returns
    -------
    float
        Number of impressions, on average over how many are ties; infinite for an outcome of 1/2.

    Notes
    -----
    The least number n of impressions that decide from which on the exact test has the power, by the
    binomial distribution; above 2,000 that of its normal approximation,

    .. math:: n = \left( \frac{z_{1-\alpha/2} / 2 + z_{power} \sqrt{p (1 - p)}}{p - 1/2} \right)^2

    divided by the share that decides.

    Examples
    --------
    >>> impressions_needed(0.6), impressions_needed(0.6, decided=0.5), impressions_needed(1.0)
    (210.0, 420.0, 6.0)
    """
    check_share("power", power)
    check_share("alpha", alpha)
    if not (0 <= outcome <= 1 and 0 < decided <= 1):
        raise PolicyError("an outcome and a share that decides lie between 0 and 1")
    share = max(outcome, 1 - outcome)
    if share == 0.5:
        return np.inf
    sides = ndtri(1 - alpha / 2) / 2 + ndtri(power) * np.sqrt(share * (1 - share))
    about = (sides / (share - 0.5)) ** 2
    if about <= EXACT:
        number = np.arange(1, int(2 * about) + 100)
        about = float(np.flatnonzero(_power(number, share, alpha) < power).max(initial=-1)) + 2
    with np.errstate(over="ignore"):
        return float(np.ceil(np.ceil(about) / decided))


def _power(number: Indices, share: float, alpha: float) -> Floats:
    """Return the power of the exact test of so many impressions that decide."""
    # The most losses that are rejected: the chance of as few is at most half of alpha.
    near = np.floor(number / 2 + ndtri(alpha / 2) * np.sqrt(number) / 2)
    count = near + np.arange(-3, 4)[:, None]
    small = (count >= 0) & (bdtr(np.maximum(count, 0), number, 0.5) <= alpha / 2 * (1 + 1e-12))
    most = np.where(small, count, -1.0).max(axis=0)
    known = np.maximum(most, 0)
    found = bdtr(known, number, 1 - share) + bdtr(known, number, share)
    return np.asarray(np.where(most >= 0, found, 0.0))
