"""The sign test, and Wilcoxon's signed rank test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr, ndtri

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.errors import PolicyError
from cranfield.significance.difference_by_error import away, of_tail
from cranfield.significance.options import Options
from cranfield.significance.outcome import Level, Limits, Outcome, joined, nothing_known
from cranfield.significance.pairs import BLOCK, Pairs
from cranfield.significance.ranks import mid_ranks
from cranfield.significance.tests.binomial import binomial_pvalues
from cranfield.significance.tests.kth_smallest_sum import cells, kth_sum

SLACK = 1 + 1e-12
"""(1 - level) / 2 is not quite alpha / 2, as floats."""

MOST_EXACT = 500
"""Above it the exact distribution on request is refused: nothing would be gained."""


def signed_rank_test(pairs: Pairs, options: Options) -> Outcome:
    if options.exact and pairs.topics > MOST_EXACT:
        raise PolicyError(f"the exact signed rank test takes at most {MOST_EXACT} topics")
    return joined([_block(block, options) for block in pairs.blocks()])


def _block(pairs: Pairs, options: Options) -> Outcome:
    signed = _SignedRanks.of(pairs.differences(), pairs.rounding, options)
    n, plus, total = signed.n, signed.plus, signed.total
    pvalue = np.ones(len(pairs))
    exact = signed.exact
    pvalue[~exact] = signed.normal(options.alternative)[~exact]
    if exact.any():
        pvalue[exact] = signed.enumerated(options.alternative)
    return Outcome(
        statistic=plus / 2,
        pvalue=np.where(n > 0, pvalue, 1.0),
        effect=np.divide(2 * plus - total, total, out=np.zeros(len(pairs)), where=n > 0),
        interval=partial(walsh_limits, pairs, options),
        n=n,
        zeros=pairs.topics - n,
        ties=_tied(signed.ranks, pairs.topics),
        details={"exact pairs": int(exact.sum())},
    )


@dataclass(frozen=True, eq=False)
class _SignedRanks:
    """Differences that are not 0 by the rank of their size.

    `ranks` are twice the mid-ranks, which are integers, from the smallest difference to the
    largest; `plus` is the sum of those above 0, out of a `total`, `ties` is as for
    :func:`mid_ranks`. Whether the distribution is `exact` is by pair.
    """

    ranks: Floats
    plus: Floats
    n: Indices
    ties: Floats
    exact: NDArray[np.bool_]

    @classmethod
    def of(cls, differences: Floats, rounding: Floats, options: Options) -> _SignedRanks:
        zero = differences == 0
        n = (~zero).sum(axis=1)
        sizes = np.where(zero, np.inf, np.abs(differences))
        order = np.argsort(sizes, axis=1)
        ranks, ties = mid_ranks(np.take_along_axis(sizes, order, axis=1), rounding)
        won = np.take_along_axis(differences, order, axis=1) > 0
        exact = n <= options.exact_n if options.exact is None else np.full(n.shape, options.exact)
        return cls(ranks, (ranks * won).sum(axis=1), n, ties, exact)

    @property
    def total(self) -> Floats:
        return self.n * (self.n + 1.0)

    @property
    def deviation(self) -> Floats:
        """Standard deviation of the sum of ranks above 0, where their signs are random."""
        squared = self.n * (self.n + 1.0) * (2 * self.n + 1.0) / 24 - self.ties / 48
        return np.asarray(np.sqrt(squared))

    def normal(self, alternative: str) -> Floats:
        """Return p-values by the normal distribution."""
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.nan_to_num((self.plus - self.total / 2) / 2 / self.deviation)
        return of_tail(ndtr(-away(z, alternative)), alternative)

    def enumerated(self, alternative: str) -> Floats:
        """Return the exact p-values, of the pairs that have one."""
        at_most, which = self._distributions()
        doubled, total = (one[self.exact].astype(np.intp) for one in (self.plus, self.total))
        low, high = at_most[which, doubled], at_most[which, total - doubled]
        # The distribution is symmetric, so the upper tail is the lower one of the other side.
        if alternative == "two-sided":
            return np.asarray(np.minimum(1.0, 2 * np.minimum(low, high)))
        return np.asarray(high if alternative == "greater" else low)

    def largest_rejected(self, tail: Floats) -> Indices:
        """Return twice the largest sum of ranks that a tail rejects; below 0 if it rejects none."""
        found = np.floor(self.total / 2 + 2 * self.deviation * ndtri(tail)).astype(np.intp)
        if self.exact.any():
            at_most, which = self._distributions()
            most = tail[self.exact, None] * SLACK
            exact = []
            for part in row_slices(which.size, at_most.shape[1], BLOCK):
                chances = at_most[which[part]]
                inside = np.where(chances <= most[part], chances, -1.0).max(axis=1, keepdims=True)
                # The first sum of those as probable: the others cannot be reached.
                exact.append(np.where(inside[:, 0] < 0, -1, (chances < inside).sum(axis=1)))
            found[self.exact] = np.concatenate(exact)
        return np.where(self.n > 0, found, -1)

    def _distributions(self) -> tuple[Floats, Indices]:
        """Pairs with the same ranks share one null distribution: return them, and whose they are.

        Their shape is (distributions, sums of twice the ranks), and holds the chances of at most
        such a sum.
        """
        ranks = self.ranks[self.exact].astype(np.int32)
        patterns, which = np.unique(ranks, axis=0, return_inverse=True)
        return sums_at_most(patterns), which.ravel()


def _tied(ranks: Floats, topics: int) -> Indices:
    """Count the differences that share their rank with another."""
    same = (ranks[:, 1:] == ranks[:, :-1]) & (ranks[:, 1:] > 0)
    shared = np.zeros((len(ranks), topics), dtype=bool)
    shared[:, 1:] |= same
    shared[:, :-1] |= same
    return np.asarray(shared.sum(axis=1))


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


def walsh_limits(pairs: Pairs, options: Options, level: Level) -> Limits:
    """Return limits of the pseudo-median: the Walsh averages that the test does not reject.

    They are of the differences that are not 0, which the test leaves out, and by the distribution
    of the same ranks, so that they leave out 0 exactly where the test rejects.
    """
    low, high = nothing_known(len(pairs))
    tails = np.broadcast_to((1 - np.asarray(level)) / 2, (len(pairs),))
    for part, block in pairs.slices(cells(pairs.topics)):
        differences = block.differences()
        signed = _SignedRanks.of(differences, block.rounding, options)
        rejected = signed.largest_rejected(tails[part])
        some = np.flatnonzero(rejected >= 0)
        rank, known, rounding = rejected[some], differences[some], block.rounding[some]
        sums = signed.plus[some], signed.total[some] - signed.plus[some]
        for limits, sign, sum_beyond in zip((low, high), (1, -1), sums[::-1], strict=True):
            ordered = np.sort(np.where(known == 0, np.inf, sign * known), axis=1)
            found = kth_sum(ordered, ordered, rank // 2, triangle=True) / 2
            # An average is 0 by rounding only, and ties of ranks leave 0 itself on either side.
            beyond = np.where(
                sum_beyond <= rank, np.maximum(found, rounding), np.minimum(found, 0.0)
            )
            limits[part.start + some] = sign * beyond + 0.0
    # Where half of all ranks are tied at 0, both limits may be 0 but for that.
    return np.where(high < 0, np.minimum(low, high), low), np.where(
        low > 0, np.maximum(low, high), high
    )


def sign_test(pairs: Pairs, options: Options) -> Outcome:
    return joined([_sign_block(block, options) for block in pairs.blocks()])


def _sign_block(pairs: Pairs, options: Options) -> Outcome:
    differences = _beyond(pairs, options)
    wins = (differences > 0).sum(axis=1)
    losses = (differences < 0).sum(axis=1)
    n = wins + losses
    return Outcome(
        statistic=wins.astype(np.float64),
        pvalue=binomial_pvalues(wins, losses, options.alternative),
        effect=np.divide(wins - losses, n, out=np.zeros(len(pairs)), where=n > 0),
        interval=partial(median_limits, pairs, options),
        n=n,
        zeros=pairs.topics - n,
        ties=np.zeros_like(n),
    )


def _beyond(pairs: Pairs, options: Options) -> Floats:
    """Return the differences, those up to the threshold as 0."""
    differences = pairs.differences()
    differences[np.abs(differences) <= options.threshold + pairs.rounding[:, None]] = 0.0
    return differences


def median_limits(pairs: Pairs, options: Options, level: Level) -> Limits:
    """Return the order statistics that the sign test does not reject, of what is not 0."""
    low, high = nothing_known(len(pairs))
    tails = np.broadcast_to((1 - np.asarray(level)) / 2, (len(pairs),))
    for part, block in pairs.slices():
        # Differences take far more memory than the scores they come from: they are not kept.
        differences = _beyond(block, options)
        n = (differences != 0).sum(axis=1)
        sizes, which = np.unique(n, return_inverse=True)
        at_most = bdtr(np.arange(n.max(initial=0) + 1), np.maximum(sizes, 1)[:, None], 0.5)
        # The most losses that are rejected: so many differences are below the limit.
        rank = (at_most[which.ravel()] <= tails[part, None] * SLACK).sum(axis=1) - 1
        some = (rank >= 0) & (n > 0)
        ordered = np.sort(np.where(differences == 0, np.inf, differences), axis=1)
        ends = np.stack([rank, n - 1 - rank], axis=1)[some]
        low[part][some], high[part][some] = np.take_along_axis(ordered[some], ends, axis=1).T
    return low, high
