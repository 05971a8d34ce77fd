"""The sign test."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import bdtr

from cranfield.base.arrays import Floats
from cranfield.significance.options import Options
from cranfield.significance.outcome import Limits, Outcome, joined, nothing_known
from cranfield.significance.pairs import Pairs


def sign_test(pairs: Pairs, options: Options) -> Outcome:
    return joined([_block(block, options) for block in pairs.blocks()])


def _block(pairs: Pairs, options: Options) -> Outcome:
    differences = pairs.differences()
    wins = (differences > 0).sum(axis=1)
    losses = (differences < 0).sum(axis=1)
    n = wins + losses
    tails = {
        "two-sided": 2 * bdtr(np.minimum(wins, losses), n, 0.5),
        "greater": bdtr(losses, n, 0.5),
        "less": bdtr(wins, n, 0.5),
    }
    with np.errstate(invalid="ignore"):
        effect = np.where(n > 0, (wins - losses) / n, 0.0)
    return Outcome(
        statistic=wins.astype(np.float64),
        pvalue=np.where(n > 0, np.minimum(1.0, tails[options.alternative]), 1.0),
        effect=effect,
        interval=partial(median_limits, pairs),
        n=n,
        zeros=pairs.topics - n,
        ties=np.zeros_like(n),
    )


def median_limits(pairs: Pairs, level: float) -> Limits:
    """Return the order statistics of the differences that the sign test does not reject."""
    n = pairs.topics
    low, high = nothing_known(len(pairs))
    rank = order_limit(np.asarray(bdtr(np.arange(n + 1), n, 0.5)), level)
    if rank is None:
        return low, high
    for part, block in pairs.slices():
        # Differences take far more memory than the scores they come from: they are not kept.
        ordered = np.partition(block.differences(), sorted({rank, n - 1 - rank}), axis=1)
        low[part], high[part] = ordered[:, rank], ordered[:, n - 1 - rank]
    return low, high


def order_limit(cumulative: Floats, level: float) -> int | None:
    """Return the index, from 0, of the order statistic that bounds a two-sided interval from below.

    `cumulative` holds P(statistic <= k) for k = 0, 1, ...; None when not even the extremes reach
    the level.
    """
    beyond = int(np.searchsorted(cumulative, (1 - level) / 2 * (1 + 1e-12), side="right"))
    return beyond - 1 if beyond else None
