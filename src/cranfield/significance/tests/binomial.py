"""The exact test of wins against losses."""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr, bdtrc, gammaln, xlog1py, xlogy

from cranfield.base.arrays import Floats, Indices

NEAR = 1e-7
"""Chances that differ by less, relatively, are equal but for rounding."""


def binomial_pvalues(
    wins: Indices, losses: Indices, alternative: str = "two-sided", expected: float = 0.5
) -> Floats:
    """Return the chance of counts as extreme, if each is a win with an expected chance.

    Two-sided, the chances of all counts that are no more probable than the one found are summed.
    Without wins and losses it is 1.
    """
    wins, losses = (np.asarray(one, dtype=np.int64) for one in (wins, losses))
    n = wins + losses
    if alternative == "greater":
        found = bdtr(losses, n, 1 - expected)
    elif alternative == "less":
        found = bdtr(wins, n, expected)
    elif expected == 0.5:
        found = 2 * bdtr(np.minimum(wins, losses), n, 0.5)
    else:
        above = wins > n * expected
        low = _both_tails(np.where(above, losses, wins), n, np.where(above, 1 - expected, expected))
        found = np.where(wins == n * expected, 1.0, low)
    return np.asarray(np.where(n > 0, np.minimum(1.0, found), 1.0))


def _both_tails(count: Indices, n: Indices, chance: Floats) -> Floats:
    """Return P(at most a count, which is below its mean, or as improbable above the mean)."""

    def log_chance(k: Indices) -> Floats:
        ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        return np.asarray(ways + xlogy(k, chance) + xlog1py(n - k, -chance))

    most = log_chance(count) + NEAR
    # Above the mean chances fall: the first one that is small enough, by bisection.
    low, high = np.ceil(n * chance).astype(np.int64), n + 1
    for _ in range(int(np.max(n, initial=1)).bit_length() + 1):
        middle = (low + high) // 2
        going = low < high
        small = log_chance(np.minimum(middle, n)) <= most
        low, high = np.where(going & ~small, middle + 1, low), np.where(going & small, middle, high)
    return np.asarray(bdtr(count, n, chance) + np.where(high > n, 0.0, bdtrc(high - 1, n, chance)))
