"""Tests on signs or ranks.

The interval of the signed rank test is between two Walsh averages, of which n differences have
n (n + 1) / 2, and that of the rank sum test between two of the n m differences of single scores.
Ascending lists make these sums ascend along the rows and columns of a table. Squares of s by s
cells of such a table are bounded by two of their corners, which leaves few squares that the k-th
smallest can be in: with s near the cube root of n, some 4 n^(4/3) sums are looked at, not n^2.
"""

from __future__ import annotations

from functools import partial
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, gammaln, ndtr, ndtri, xlog1py, xlogy

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.errors import PolicyError
from cranfield.base.scale_types import Scale
from cranfield.significance.differences import (
    BLOCK,
    Bounds,
    Level,
    Outcome,
    Pairs,
    away,
    coded,
    mid_ranks,
    nothing_known,
    of_tail,
)
from cranfield.significance.registry import Options, declared_test

NEAR = 1e-7  # probabilities that differ by less, relatively, are equal but for rounding


def binomial_pvalues(
    wins: Indices, losses: Indices, alternative: str = "two-sided", expected: float = 0.5
) -> Floats:
    """Return the probability of counts as extreme, if each is a win with an expected probability.

    Two-sided, the probabilities of all counts at most as probable as the observed one are
    summed.
    Without wins and losses it is 1.
    """
    wins, losses = (np.asarray(counts, dtype=np.int64) for counts in (wins, losses))
    n = wins + losses
    if alternative == "greater":
        pvalues = bdtr(losses, n, 1 - expected)
    elif alternative == "less":
        pvalues = bdtr(wins, n, expected)
    elif expected == 0.5:
        pvalues = 2 * bdtr(np.minimum(wins, losses), n, 0.5)
    else:
        above = wins > n * expected
        low = _both_tails(np.where(above, losses, wins), n, np.where(above, 1 - expected, expected))
        pvalues = np.where(wins == n * expected, 1.0, low)
    return np.asarray(np.where(n > 0, np.minimum(1.0, pvalues), 1.0))


def _both_tails(count: Indices, n: Indices, chance: Floats) -> Floats:
    """Return P(at most a count, which is below its mean, or as improbable above the mean)."""

    def log_chance(k: Indices) -> Floats:
        ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        return np.asarray(ways + xlogy(k, chance) + xlog1py(n - k, -chance))

    threshold = log_chance(count) + NEAR
    # Above the mean chances fall: the first one that is small enough, by bisection.
    low, high = np.ceil(n * chance).astype(np.int64), n + 1
    for _ in range(int(np.max(n, initial=1)).bit_length() + 1):
        middle = (low + high) // 2
        going = low < high
        small = log_chance(np.minimum(middle, n)) <= threshold
        low, high = np.where(going & ~small, middle + 1, low), np.where(going & small, middle, high)
    return np.asarray(bdtr(count, n, chance) + np.where(high > n, 0.0, bdtrc(high - 1, n, chance)))


def cells(n: int) -> int:
    """Return how many numbers :func:`kth_sum` holds at a time, by row, for lists of n numbers."""
    return (n // _side(n) + 1) ** 2 + 8 * n


def _side(n: int) -> int:
    return max(1, int(np.rint(np.cbrt(n))))


def kth_sum(left: Floats, right: Floats, k: int | Indices, *, triangle: bool = False) -> Floats:
    """Return the k-th smallest sum of a number on the left and one on the right, by row.

    It is one of the sums, to the last bit. Rows ascend; shorter ones end in infinities. k counts
    from 0, for all rows or by row, and is below the number of finite sums. In a triangle the right
    number stands at the place of the left one or behind it; both lists then are the same.
    """
    if not len(left):
        return np.empty(0)
    table = _Sums(left, right, triangle)
    rank_of_sum = np.broadcast_to(np.asarray(k, dtype=np.intp), (len(left),))
    low, high = table.bounds(rank_of_sum)
    start = table.count(low, or_equal=True)
    # No sum in between where both bounds are the same.
    end = np.maximum(start, table.count(high, or_equal=False))
    inside = (end - start).sum(axis=1)
    rank = rank_of_sum - start.sum(axis=1)
    out = np.where(rank < 0, low, high)
    open_ = np.flatnonzero((rank >= 0) & (rank < inside))
    # The bound on what is between is linear in the rows; most have less than half of it.
    for part in row_slices(open_.size, int(inside[open_].max(initial=0)), BLOCK):
        some = open_[part]
        out[some] = table.between(some, start[some], end[some], rank[some])
    return out


class _Sums:
    """Sums that ascend along rows and columns: of row a and column c, left[a] + right[c + shift a].

    Both lists are padded with infinities, so that squares of `side` are whole. With `shift` 1
    columns count from the diagonal, so that a triangle becomes a table too.
    """

    def __init__(self, left: Floats, right: Floats, triangle: bool) -> None:
        self.shift, self.side = int(triangle), _side(left.shape[1])
        height, self.columns = (
            -(-rows.shape[1] // self.side) * self.side for rows in (left, right)
        )
        self.left = _padded(left, height)
        self.right = _padded(right, self.columns + self.shift * height)

    def bounds(self, k: Indices) -> list[Floats]:
        """Return a lower and an upper bound of the k-th smallest sum, which are sums themselves."""
        # Of q squares the largest sums are at most u: then q side^2 sums are. Likewise from below.
        square = k // self.side**2
        rows = np.arange(0, self.left.shape[1], self.side)[:, None]
        columns = np.arange(0, self.columns, self.side)
        bounds = []
        for corner in (0, self.side - 1):
            a, c = rows + corner, columns + corner
            sums = (self.left[:, a] + self.right[:, c + self.shift * a]).reshape(len(k), -1)
            sums.partition(np.unique(square), axis=1)
            bounds.append(sums[np.arange(len(k)), square])
        return bounds

    def count(self, bound: Floats, *, or_equal: bool) -> Indices:
        """Count the sums below a bound in each row of each table."""
        rows, n = self.left.shape
        place = self.right.shape[1] * np.arange(rows)[:, None] + self.shift * np.arange(n)
        counts = np.zeros((rows, n), dtype=np.intp)
        flat = self.right.ravel()
        step = 1 << (self.columns.bit_length() - 1)
        while step:
            # Bisection of all rows at once: is the sum at the end of the next step still below?
            ahead = counts + (step - 1)
            sums = self.left + flat.take(place + np.minimum(ahead, self.columns - 1))
            below = sums <= bound[:, None] if or_equal else sums < bound[:, None]
            below &= ahead < self.columns
            counts += step * below
            step >>= 1
        return counts

    def between(self, which: Indices, start: Indices, end: Indices, rank: Indices) -> Floats:
        """Return the sum of a rank among those in columns from `start` to `end`, by table."""
        counts = end - start
        totals = counts.sum(axis=1)
        row = np.repeat(np.arange(counts.size), counts.ravel())
        first = np.cumsum(counts.ravel()) - counts.ravel()
        number = np.arange(row.size)
        column = number - first[row] + start.ravel()[row]
        table, a = row // counts.shape[1], row % counts.shape[1]
        sums = np.full((len(which), int(totals.max())), np.inf)
        offset = np.cumsum(totals) - totals
        sums[table, number - offset[table]] = (
            self.left[which[table], a] + self.right[which[table], column + self.shift * a]
        )
        sums.sort(axis=1)
        return np.asarray(sums[np.arange(len(which)), rank])


def _padded(rows: Floats, width: int) -> Floats:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=np.inf)


SLACK = 1 + 1e-12  # (1 - level) / 2 is not quite alpha / 2, as floats
MOST_EXACT = 500  # above it the exact distribution on request is refused: nothing would be gained


@declared_test(
    "signed-rank", aliases=("wilcoxon", "wilcoxon-signed-rank"), family="order", symbol="W+"
)
def signed_rank_test(pairs: Pairs, options: Options) -> Outcome:
    r"""Wilcoxon signed rank test.

    asks: Are the differences in favour of one system larger, by rank, than those against it?
    null: The differences are symmetric around zero.
    assumes: Topics are independent; the distribution of differences is symmetric. Only then is
        its hypothesis, of the pseudo-median, also one of the mean.
    when: Paired scores with outliers, and differences that are about symmetric. It ranks
        differences, so it needs a scale on which differences can be compared. Its Type I errors on
        means are too frequent if differences are skewed.
    formula: W^+ = \sum_{t : d_t > 0} \text{rank}(|d_t|)
    statistic: W+, the sum of ranks of the topics that the first system wins
    effect: rank-biserial correlation: (W+ - W-) / (W+ + W-)
    interval: pseudo-median of the differences that are not 0
    source: Wilcoxon (1945); Gibbons and Chakraborti (2011)
    convention: Zero differences are excluded. Differences that are equal within rounding share
        their mid-rank. Up to 25 differences (`exact_n`) the p-value is exact, with ties too;
        above, normal with the variance corrected for ties, without continuity correction. The
        interval is of the pseudo-median, from Walsh averages of the differences that are not 0,
        by the distribution of the same ranks, ties included: it excludes 0 exactly where p is at
        most alpha.
    """
    if options.exact and pairs.topics > MOST_EXACT:
        raise PolicyError(f"the exact signed rank test takes at most {MOST_EXACT} topics")

    def of_block(block: Pairs) -> tuple[NDArray[Any], ...]:
        signed = _SignedRanks(block.differences(), block.rounding, options)
        pvalue = signed.pvalues(options.alternative)
        return signed.plus, signed.total, pvalue, signed.n, _tied(signed.ranks), signed.exact

    plus, total, pvalue, n, ties, exact = pairs.by_block(of_block)
    return Outcome(
        statistic=plus / 2,
        pvalue=np.where(n > 0, pvalue, 1.0),
        effect=np.divide(2 * plus - total, total, out=np.zeros(len(pairs)), where=n > 0),
        interval=partial(walsh_interval, pairs, options),
        n=n,
        zeros=pairs.topics - n,
        ties=ties,
        details={"exact pairs": int(exact.sum())},
    )


class _SignedRanks:
    """Differences that are not 0 by the rank of their size.

    `ranks` are twice the mid-ranks, which are integers, from the smallest difference to the
    largest; `plus` is the sum of those above 0, out of a `total`, and `deviation` is the standard
    deviation of half of it where signs are random. Whether the distribution is `exact` is by pair.
    """

    def __init__(self, differences: Floats, rounding: Floats, options: Options) -> None:
        zero = differences == 0
        self.n = n = (~zero).sum(axis=1)
        sizes = np.where(zero, np.inf, np.abs(differences))
        order = np.argsort(sizes, axis=1)
        self.ranks, ties = mid_ranks(np.take_along_axis(sizes, order, axis=1), rounding)
        won = np.take_along_axis(differences, order, axis=1) > 0
        self.plus = (self.ranks * won).sum(axis=1)
        self.total = n * (n + 1.0)
        self.deviation = np.sqrt(n * (n + 1.0) * (2 * n + 1.0) / 24 - ties / 48)
        exact = options.exact
        self.exact = n <= options.exact_n if exact is None else np.full(n.shape, exact)

    def pvalues(self, alternative: str) -> Floats:
        """Return p-values, exact or by the normal distribution."""
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.nan_to_num((self.plus - self.total / 2) / 2 / self.deviation)
        pvalue = of_tail(ndtr(-away(z, alternative)), alternative)
        if self.exact.any():
            at_most, which = self._distributions()
            doubled, total = (sums[self.exact].astype(np.intp) for sums in (self.plus, self.total))
            # The distribution is symmetric: the upper tail is the lower one of the other side.
            low, high = at_most[which, doubled], at_most[which, total - doubled]
            pvalue[self.exact] = _of_tails(low, high, alternative)
        return pvalue

    def largest_rejected(self, tail: Floats) -> Indices:
        """Return twice the largest sum of ranks that a tail rejects; below 0 if it rejects none."""
        largest = np.floor(self.total / 2 + 2 * self.deviation * ndtri(tail)).astype(np.intp)
        if self.exact.any():
            at_most, which = self._distributions()
            thresholds = tail[self.exact, None] * SLACK
            exact = []
            for part in row_slices(which.size, at_most.shape[1], BLOCK):
                chances = at_most[which[part]]
                inside = np.where(chances <= thresholds[part], chances, -1.0).max(
                    axis=1, keepdims=True
                )
                # The first sum of those as probable: the others cannot be reached.
                exact.append(np.where(inside[:, 0] < 0, -1, (chances < inside).sum(axis=1)))
            largest[self.exact] = np.concatenate(exact)
        return np.where(self.n > 0, largest, -1)

    def _distributions(self) -> tuple[Floats, Indices]:
        """Return P(at most each sum of ranks) by pattern of ranks, and each pair's pattern."""
        ranks = self.ranks[self.exact].astype(np.int32)
        patterns, which = np.unique(ranks, axis=0, return_inverse=True)
        return sums_at_most(patterns), which.ravel()


def _of_tails(low: Floats, high: Floats, alternative: str) -> Floats:
    """Return exact p-values from both tails."""
    if alternative == "two-sided":
        return np.asarray(np.minimum(1.0, 2 * np.minimum(low, high)))
    return np.asarray(np.minimum(1.0, high if alternative == "greater" else low))


def _tied(ranks: Floats) -> Indices:
    """Count the numbers that share their rank with another, by row."""
    same = (ranks[:, 1:] == ranks[:, :-1]) & (ranks[:, 1:] > 0)
    shared = np.zeros(ranks.shape, dtype=bool)
    shared[:, 1:] |= same
    shared[:, :-1] |= same
    return np.asarray(shared.sum(axis=1))


def sums_at_most(patterns: NDArray[np.int32]) -> Floats:
    """Return P(sum of a random half of the integers <= s), shape (patterns, sums from 0)."""
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


def walsh_interval(pairs: Pairs, options: Options, level: Level) -> Bounds:
    """Return the interval of the pseudo-median: the Walsh averages that the test does not reject.

    It is of the differences that are not 0, and by the distribution of the same ranks, so that it
    excludes 0 exactly where the test rejects.
    """
    low, high = nothing_known(len(pairs))
    tails = np.broadcast_to((1 - np.asarray(level)) / 2, (len(pairs),))
    for part, block in pairs.slices(cells(pairs.topics)):
        differences = block.differences()
        signed = _SignedRanks(differences, block.rounding, options)
        rejected = signed.largest_rejected(tails[part])
        some = np.flatnonzero(rejected >= 0)
        rank, of_block, rounding = rejected[some], differences[some], block.rounding[some]
        sums = signed.plus[some], signed.total[some] - signed.plus[some]
        for limits, sign, sum_beyond in zip((low, high), (1, -1), sums[::-1], strict=True):
            ordered = np.sort(np.where(of_block == 0, np.inf, sign * of_block), axis=1)
            averages = kth_sum(ordered, ordered, rank // 2, triangle=True) / 2
            # An average is 0 by rounding only, and ties of ranks leave 0 itself on either side.
            beyond = np.where(
                sum_beyond <= rank, np.maximum(averages, rounding), np.minimum(averages, 0.0)
            )
            limits[part.start + some] = sign * beyond + 0.0
    # Where half of all ranks are tied at 0, both limits may be 0 but for that.
    return np.where(high < 0, np.minimum(low, high), low), np.where(
        low > 0, np.maximum(low, high), high
    )


@declared_test(
    "sign",
    family="order",
    symbol="wins",
    scale=Scale.ORDINAL,
    within_topics=True,
    always_exact=True,
    threshold=True,
)
def sign_test(pairs: Pairs, options: Options) -> Outcome:
    r"""Sign test.

    asks: Does one system score higher on more topics than the other?
    null: The median of the differences is zero: each system is as likely to win a topic.
    assumes: Topics are independent of each other; nothing on the size of differences. Its
        hypothesis is of their median, not of their mean: where differences are skewed, one can
        be 0 and the other not.
    when: Scores that are only ordinal, such as RR. It ignores how large differences are, and so
        has less power than other tests. It does not test means: with equal means and skewed
        differences its Type I errors are too frequent.
    formula: S = |\{t : d_t > 0\}|, \quad p = \min(1,\, 2\, P(B \le \min(S, n - S))), \quad B
        \sim \text{Bin}(n, 1/2)
    statistic: topics that the first system wins
    effect: (wins - losses) / (wins + losses)
    interval: median of the differences that are not 0
    source: Gibbons and Chakraborti (2011); Ferro and Maistro (2024), section 4; for the
        threshold Urbano, Lima and Hanjalic (2019b), who take .01
    convention: Topics with equal scores are excluded, and counted; with a `threshold` also
        those whose scores differ by no more than that. The interval is of the median of the
        other differences, from order statistics, so that it excludes 0 exactly where p is at most
        alpha.
    """

    def wins_and_losses(block: Pairs) -> tuple[Indices, Indices]:
        differences = _beyond(block, options)
        return (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)

    wins, losses = pairs.by_block(wins_and_losses)
    n = wins + losses
    return Outcome(
        statistic=wins.astype(np.float64),
        pvalue=binomial_pvalues(wins, losses, options.alternative),
        effect=np.divide(wins - losses, n, out=np.zeros(len(pairs)), where=n > 0),
        interval=partial(median_interval, pairs, options),
        n=n,
        zeros=pairs.topics - n,
    )


def _beyond(pairs: Pairs, options: Options) -> Floats:
    """Return the differences, those up to the threshold as 0."""
    differences = pairs.differences()
    differences[np.abs(differences) <= options.threshold + pairs.rounding[:, None]] = 0.0
    return differences


def median_interval(pairs: Pairs, options: Options, level: Level) -> Bounds:
    """Return the order statistics of nonzero differences that the sign test does not reject."""
    low, high = nothing_known(len(pairs))
    tails = np.broadcast_to((1 - np.asarray(level)) / 2, (len(pairs),))
    for part, block in pairs.slices():
        # Differences take far more memory than the scores they come from: they are not kept.
        differences = _beyond(block, options)
        n = (differences != 0).sum(axis=1)
        sizes, which = np.unique(n, return_inverse=True)
        at_most = bdtr(np.arange(n.max(initial=0) + 1), np.maximum(sizes, 1)[:, None], 0.5)
        # The largest rejected number of losses: as many differences are below the bound.
        rank = (at_most[which.ravel()] <= tails[part, None] * SLACK).sum(axis=1) - 1
        some = (rank >= 0) & (n > 0)
        ordered = np.sort(np.where(differences == 0, np.inf, differences), axis=1)
        ends = np.stack([rank, n - 1 - rank], axis=1)[some]
        low[part][some], high[part][some] = np.take_along_axis(ordered[some], ends, axis=1).T
    return low, high


Integers = NDArray[np.integer]

MOST_EXACT_RANK_SUM = 200
"""Scores of both systems together, above which the exact distribution is refused."""


@declared_test(
    "rank-sum",
    aliases=("mann-whitney", "u-test", "wilcoxon-rank-sum"),
    family="order",
    symbol="U",
    scale=Scale.ORDINAL,
    paired=False,
)
def rank_sum_test(pairs: Pairs, options: Options) -> Outcome:
    r"""Wilcoxon rank sum test (Mann-Whitney U).

    asks: Does a score of one system tend to be higher than a score of the other, whatever their
        topics?
    null: The scores of both systems have the same distribution.
    assumes: All scores are independent: those of the two systems are not paired.
    when: Systems that were tested on different topics, on a scale that is only ordinal. On the
        same topics it ignores the pairing; use a paired test.
    formula: U = |\{(s, t) : x_s > y_t\}| + \tfrac{1}{2} |\{(s, t) : x_s = y_t\}|
    statistic: U of the first system
    effect: Cliff's delta: 2 U / (n m) - 1
    interval: shift between the systems
    source: Mann and Whitney (1947); Gibbons and Chakraborti (2011)
    convention: Normal, with the variance corrected for ties and with continuity correction;
        exact on request, with ties too. The interval is of the shift between the systems.
    """
    if options.exact and 2 * pairs.topics > MOST_EXACT_RANK_SUM:
        raise PolicyError(
            f"the exact rank sum test takes at most {MOST_EXACT_RANK_SUM} scores a pair"
        )
    codes = coded(pairs.values)
    counts = (codes >= 0).sum(axis=0)
    n, m = counts[pairs.first], counts[pairs.second]
    scores = np.where(codes < 0, np.inf, codes).T

    def ranked(block: Pairs) -> tuple[NDArray[Any], ...]:
        together = np.hstack([scores[block.first], scores[block.second]])
        order = np.argsort(together, axis=1)
        # Ranks of missing scores are 0, and last.
        ranks, ties = mid_ranks(
            np.take_along_axis(together, order, axis=1), np.full(len(block), 0.5)
        )
        rank_sum = np.where(order < pairs.topics, ranks, 0.0).sum(axis=1)
        exact = _exact(ranks, counts[block.first], rank_sum, options) if options.exact else ties
        return rank_sum, ties, _tied(ranks), exact

    parts = [ranked(block) for _, block in pairs.slices(2 * pairs.topics)]
    rank_sum, ties, shared, exact = (np.concatenate(column) for column in zip(*parts, strict=True))
    u = (rank_sum - n * (n + 1.0)) / 2
    return Outcome(
        statistic=u,
        pvalue=exact if options.exact else _normal(u, n, m, ties, options.alternative),
        effect=2 * u / (n * m) - 1,
        interval=partial(shift_interval, pairs),
        n=n + m,
        ties=shared,
        details={"exact": bool(options.exact)},
    )


def _normal(u: Floats, n: Indices, m: Indices, ties: Floats, alternative: str) -> Floats:
    total = (n + m).astype(np.float64)
    variance = n * m / 12 * (total + 1 - ties / (total * np.maximum(total - 1, 1)))
    far = away(u - n * m / 2, alternative) - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(variance > 0, far / np.sqrt(variance), -np.inf)
    return of_tail(ndtr(-z), alternative)


def _exact(ranks: Floats, n: Indices, rank_sum: Floats, options: Options) -> Floats:
    """Return exact p-values; pairs with the same ranks and sizes share one null distribution."""
    shapes = np.column_stack([n, ranks]).astype(np.intp)
    patterns, which = np.unique(shapes, axis=0, return_inverse=True)
    low, high = np.empty((2, len(n)))
    for k, (drawn, *doubled) in enumerate(patterns):
        same = np.flatnonzero(which.ravel() == k)
        tails = RankSums(np.array([rank for rank in doubled if rank > 0]), int(drawn))
        totals, place = np.unique(rank_sum[same].astype(np.intp), return_inverse=True)
        low[same], high[same] = np.array([tails(int(total)) for total in totals]).T[:, place]
    return _of_tails(low, high, options.alternative)


def shift_interval(pairs: Pairs, level: Level) -> Bounds:
    """Return the interval of the shift: the differences between single scores that are not
    rejected."""
    low, high = nothing_known(len(pairs))
    values = pairs.values
    counts = (~np.isnan(values)).sum(axis=0)
    # Missing scores last, on both sides: sums with them are above all others.
    up, down = (np.sort(np.nan_to_num(side, nan=np.inf), axis=0).T for side in (values, -values))
    n, m = counts[pairs.first], counts[pairs.second]
    spread = np.sqrt(n * m * (n + m + 1) / 12)
    rank = np.floor(n * m / 2 + ndtri((1 - level) / 2) * spread).astype(np.intp) - 1
    for part, block in pairs.slices(cells(pairs.topics)):
        some = np.flatnonzero(rank[part] >= 0)
        i, j, k = block.first[some], block.second[some], rank[part][some]
        low[part.start + some] = kth_sum(up[i], down[j], k)
        high[part.start + some] = 0.0 - kth_sum(down[i], up[j], k)
    return low, high


class RankSums:
    """Tails of the sum of n ranks that are drawn without replacement.

    The lower and the upper half of the ranks are looked at on their own, and meet in the middle:
    how many ways there are to draw k of a half with a sum s. Twice the ranks are integers, with
    ties too. Ways are counted, by floats: they add up without cancelling, and so keep their digits
    even far out in a tail. `ranks` are twice the ranks, ascending.
    """

    def __init__(self, ranks: Integers, n: int) -> None:
        half = ranks.size // 2
        # Less their least rank, the upper half has sums as small as the lower one.
        self.base = int(ranks[half])
        ways = comb(ranks.size, n)
        below, above = (_ways(part, n) for part in (ranks[:half], ranks[half:] - self.base))
        # As many are drawn of both halves together as there should be.
        k = np.arange(n + 1)
        some = (k < len(below)) & (n - k < len(above))
        self.k = k[some]
        self.above = n - self.k
        self.ways = below[self.k] / ways
        self.at_most = np.cumsum(above, axis=1)
        self.at_least = np.cumsum(above[:, ::-1], axis=1)[:, ::-1]

    def __call__(self, total: int) -> tuple[float, float]:
        """Return P(sum <= total) and P(sum >= total); `total` is twice a rank sum."""
        width = self.at_most.shape[1]
        remaining = total - self.base * self.above[:, None] - np.arange(self.ways.shape[1])
        reachable = np.clip(remaining, 0, width - 1)
        low = np.where(remaining >= 0, self.at_most[self.above[:, None], reachable], 0.0)
        high = np.where(remaining < width, self.at_least[self.above[:, None], reachable], 0.0)
        return float((self.ways * low).sum()), float((self.ways * high).sum())


def _ways(ranks: Integers, max_drawn: int) -> Floats:
    """Count the ways to draw k of the ranks, up to `max_drawn`, with a sum s; shape (k, s)."""
    ways = np.zeros((min(max_drawn, ranks.size) + 1, int(ranks.sum()) + 1))
    ways[0, 0] = 1.0
    reached = 0
    for drawn, rank in enumerate(ranks.tolist()):
        rows = min(drawn + 1, len(ways) - 1)
        # Of as many as were drawn so far, none has a sum beyond what was reached.
        ways[1 : rows + 1, rank : rank + reached + 1] += ways[:rows, : reached + 1]
        reached += rank
    return ways
