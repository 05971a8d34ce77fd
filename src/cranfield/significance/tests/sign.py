"""The sign test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from cranfield.base.arrays import Floats
from cranfield.base.scale_types import Scale
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome, joined
from cranfield.significance.pairs import Pairs
from cranfield.significance.registry import TestInfo, declared


@declared(
    TestInfo(
        name="sign",
        title="Sign test",
        asks="Does one system score higher on more topics than the other?",
        null="The median of the differences is zero: each system is as likely to win a topic.",
        assumes="Topics are independent of each other; nothing on the size of differences.",
        when="Scores that are only ordinal, such as RR. It ignores how large differences are, "
        "and so often misses what other tests see.",
        formula=r"S = |\{t : d_t > 0\}|, \quad"
        r" p = \min(1,\, 2\, P(B \le \min(S, n - S))), \quad B \sim \text{Bin}(n, 1/2)",
        statistic="topics that the first system wins",
        effect="(wins - losses) / (wins + losses)",
        source="Gibbons and Chakraborti (2011); Ferro and Maistro (2024), section 4",
        convention="Topics with equal scores are left out, and counted. The interval is of the "
        "median difference over all topics, from order statistics.",
        scale=Scale.ORDINAL,
    )
)
def sign_test(pairs: Pairs, options: Options) -> Outcome:
    """Do the sign test on each pair, exactly."""
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
        interval=MedianInterval(pairs),
        interval_of="median difference",
        n=n,
        zeros=pairs.topics - n,
        ties=np.zeros_like(n),
    )


@dataclass(frozen=True)
class MedianInterval:
    """Limits of the median difference: the order statistics that the sign test does not reject."""

    pairs: Pairs

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        n = self.pairs.topics
        low = np.full(len(self.pairs), -np.inf)
        high = -low
        rank = order_limit(np.asarray(bdtr(np.arange(n + 1), n, 0.5)), level)
        if rank is None:
            return low, high
        for part, block in self.pairs.slices():
            # Differences take far more memory than the scores they come from: they are not kept.
            ordered = np.partition(block.differences(), sorted({rank, n - 1 - rank}), axis=1)
            low[part], high[part] = ordered[:, rank], ordered[:, n - 1 - rank]
        return low, high


def order_limit(cumulative: NDArray[np.float64], level: float) -> int | None:
    """Return the index, from 0, of the order statistic that bounds an interval from below.

    Parameters
    ----------
    cumulative
        P(statistic <= k) for k = 0, 1, ...
    level
        Confidence level of the two-sided interval.

    Returns
    -------
    int or None
        None when not even the extremes reach the level.
    """
    beyond = int(np.searchsorted(cumulative, (1 - level) / 2 * (1 + 1e-12), side="right"))
    return beyond - 1 if beyond else None
