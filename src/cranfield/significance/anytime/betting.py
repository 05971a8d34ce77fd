"""Bets on differences: capital that grows only if the mean is not what is claimed of it."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats, Indices

BETS = 0.999 * 0.5 ** np.arange(8)
"""What is staked, as parts of the most that can be staked: from nearly all to a hundredth."""

PRIOR = np.array([1 / ((k + 1) * (k + 2)) for k in range(7)] + [1 / 8])
"""Part of the capital behind each bet; their sum is 1."""

NEWTON = 100
"""Steps at most; some ten are enough."""


def log_capital(differences: Floats, span: float) -> Floats:
    """Return the logarithm of the capital of bets on a mean above 0, after each topic.

    Differences, shape (pairs, topics), are within plus and minus `span`. Of a mean of 0 or less
    the capital is a supermartingale that starts at 1.
    """
    wealth = np.zeros((*differences.shape, BETS.size))
    np.cumsum(np.log1p(BETS * (differences / span)[..., None]), axis=1, out=wealth)
    return _mixed(wealth)


def _mixed(wealth: Floats) -> Floats:
    """Return the logarithm of the sum of what all bets have made."""
    return np.asarray(np.logaddexp.reduce(wealth + np.log(PRIOR), axis=-1))


def lower_limits(differences: Floats, looks: Indices, span: float, threshold: float) -> Floats:
    """Return the least mean that bets on a higher one have not refuted, shape (pairs, looks).

    Refuted is a mean of which the logarithm of the capital has reached the threshold at that look
    or at an earlier one. It is convex and falls in the mean, so that Newton's steps from a mean
    that is refuted end at the limit, and never beyond it.
    """
    rest = differences + span
    found = np.empty((len(rest), looks.size))
    # Means are counted from the lowest one; just above it nothing is divided by 0.
    limit = np.full(len(rest), 2.0**-30 * span)
    for k, look in enumerate(looks):
        active = np.arange(len(rest))
        for _ in range(NEWTON):
            excess, slope = _at(rest[active, : int(look)], limit[active])
            excess -= threshold
            step = np.where(excess > 0, -excess / np.where(slope < 0, slope, -1.0), 0.0)
            limit[active] += step
            active = active[step > 1e-13 * span]
            if not active.size:
                break
        found[:, k] = limit
    return np.where(found > 2.0**-30 * span, found, 0.0) - span


def _at(rest: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Return the logarithm of the capital against some means, and its derivative."""
    stake = BETS[:, None]
    kept = (1 - stake) * mean[:, None, None] + stake * rest[:, None, :]
    wealth = np.log(kept / mean[:, None, None]).sum(axis=-1)
    total = _mixed(wealth)
    share = np.exp(wealth + np.log(PRIOR) - total[:, None])
    slopes = ((1 - BETS) * (1 / kept).sum(axis=-1)) - rest.shape[1] / mean[:, None]
    return total, np.asarray((share * slopes).sum(axis=-1))
