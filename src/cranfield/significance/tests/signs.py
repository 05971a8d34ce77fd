"""The sign test, and Wilcoxon's signed rank test."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr, ndtri

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.errors import PolicyError
from cranfield.significance.difference_by_error import away, of_tail
from cranfield.significance.options import Options
from cranfield.significance.outcome import Limits, Outcome, joined, nothing_known
from cranfield.significance.pairs import BLOCK, Pairs
from cranfield.significance.ranks import mid_ranks
from cranfield.significance.tests.kth_smallest_sum import cells, kth_sum

MOST_EXACT = 500
"""Above it the exact distribution on request is refused: nothing would be gained."""


def signed_rank_test(pairs: Pairs, options: Options) -> Outcome:
    if options.exact and pairs.topics > MOST_EXACT:
        raise PolicyError(f"the exact signed rank test takes at most {MOST_EXACT} topics")
    return joined([_block(block, options) for block in pairs.blocks()])


def _block(pairs: Pairs, options: Options) -> Outcome:
    differences = pairs.differences()
    zero = differences == 0
    n = (~zero).sum(axis=1)
    sizes = np.where(zero, np.inf, np.abs(differences))
    order = np.argsort(sizes, axis=1)
    ranks, ties = mid_ranks(np.take_along_axis(sizes, order, axis=1), pairs.rounding)
    won = np.take_along_axis(differences, order, axis=1) > 0
    # Twice the ranks are integers, and so exact.
    plus, total = (ranks * won).sum(axis=1), n * (n + 1.0)
    by_count = np.where(n <= options.exact_n, True, False)
    exact = by_count if options.exact is None else np.full(n.shape, options.exact)
    pvalue = np.ones(len(pairs))
    pvalue[~exact] = _normal(plus, total, n, ties, options.alternative)[~exact]
    if exact.any():
        pvalue[exact] = _exact(plus[exact], ranks[exact], n[exact], options.alternative)
    return Outcome(
        statistic=plus / 2,
        pvalue=np.where(n > 0, pvalue, 1.0),
        effect=np.divide(2 * plus - total, total, out=np.zeros(len(pairs)), where=n > 0),
        interval=partial(walsh_limits, pairs, options),
        n=n,
        zeros=pairs.topics - n,
        ties=_tied(ranks, pairs.topics),
        details={"exact pairs": int(exact.sum())},
    )


def _tied(ranks: Floats, topics: int) -> Indices:
    """Count the differences that share their rank with another."""
    same = (ranks[:, 1:] == ranks[:, :-1]) & (ranks[:, 1:] > 0)
    shared = np.zeros((len(ranks), topics), dtype=bool)
    shared[:, 1:] |= same
    shared[:, :-1] |= same
    return np.asarray(shared.sum(axis=1))


def _normal(plus: Floats, total: Floats, n: Indices, ties: Floats, alternative: str) -> Floats:
    variance = n * (n + 1.0) * (2 * n + 1.0) / 24 - ties / 48
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.nan_to_num((plus - total / 2) / 2 / np.sqrt(variance))
    return of_tail(ndtr(-away(z, alternative)), alternative)


def _exact(plus: Floats, ranks: Floats, n: Indices, alternative: str) -> Floats:
    """Return exact p-values; pairs with the same ranks share one null distribution."""
    patterns, which = np.unique(ranks.astype(np.int32), axis=0, return_inverse=True)
    at_most = sums_at_most(patterns)
    which = which.ravel()
    doubled = plus.astype(np.intp)
    total = (n * (n + 1)).astype(np.intp)
    low, high = at_most[which, doubled], at_most[which, total - doubled]
    # The distribution is symmetric, so the upper tail is the lower one of the other side.
    if alternative == "two-sided":
        return np.asarray(np.minimum(1.0, 2 * np.minimum(low, high)))
    return np.asarray(high if alternative == "greater" else low)


def sums_at_most(patterns: NDArray[np.int32]) -> Floats:
    """Return P(sum of a random half of the integers <= s), each in or out by a fair coin.

    From shape (patterns, n) to shape (patterns, largest sum + 1).
    """
    largest = int(patterns.sum(axis=1).max(initial=0))
    out = np.empty((len(patterns), largest + 1))
    for rows in row_slices(len(patterns), largest + 1, BLOCK):
        part = patterns[rows]
        chances = np.zeros((len(part), 2 * largest + 1))
        # The left half stays zero: what a sum that cannot be reached from below is read from.
        chances[:, largest] = 1.0
        columns = np.arange(largest, 2 * largest + 1)
        for numbers in part.T:
            shifted = columns - numbers[:, None]
            chances[:, largest:] = (
                chances[:, largest:] + np.take_along_axis(chances, shifted, axis=1)
            ) / 2
        out[rows] = np.minimum(1.0, np.cumsum(chances[:, largest:], axis=1))
    return out


def walsh_limits(pairs: Pairs, options: Options, level: float) -> Limits:
    """Return limits of the pseudo-median: the Walsh averages that the test does not reject."""
    low, high = nothing_known(len(pairs))
    rank = _below_limit(pairs.topics, options, level)
    if rank is None:
        return low, high
    for part, block in pairs.slices(cells(pairs.topics)):
        ordered = np.sort(block.differences(), axis=1)
        mirrored = -ordered[:, ::-1]
        low[part] = kth_sum(ordered, ordered, rank, triangle=True) / 2
        high[part] = 0.0 - kth_sum(mirrored, mirrored, rank, triangle=True) / 2
    return low, high


def _below_limit(n: int, options: Options, level: float) -> int | None:
    """Return how many Walsh averages are below the lower limit; None if it is infinite."""
    exact = n <= options.exact_n if options.exact is None else options.exact
    if exact:
        cumulative = sums_at_most(2 * np.arange(1, n + 1, dtype=np.int32)[None])[0, ::2]
        return order_limit(cumulative, level)
    spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    # As R's wilcox.test: the quantile of the normal approximation, rounded.
    rank = int(np.floor(n * (n + 1) / 4 + ndtri((1 - level) / 2) * spread))
    return rank - 1 if rank > 0 else None


def sign_test(pairs: Pairs, options: Options) -> Outcome:
    return joined([_sign_block(block, options) for block in pairs.blocks()])


def _sign_block(pairs: Pairs, options: Options) -> Outcome:
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
