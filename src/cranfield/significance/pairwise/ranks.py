"""Tests on signs or ranks.

The bounds of the interval of the signed rank test are Walsh averages, of which n differences have
n (n + 1) / 2; the bounds of the rank sum test are among the n m differences of single scores. In a
table of the sums of two ascending lists, rows and columns ascend. The sums in a square of s by s
cells lie between two of its corners, which leaves few squares that can contain the k-th smallest
sum: with s near the cube root of n, about 4 n^(4/3) sums are computed instead of n^2.
"""

from __future__ import annotations

from functools import partial
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr, ndtri

from cranfield.base.arrays import Floats, Indices, slice_rows
from cranfield.base.errors import PolicyError
from cranfield.base.scale_types import Scale
from cranfield.significance.differences import (
    BLOCK_VALUES,
    Bounds,
    Level,
    Outcome,
    Pairs,
    compute_tail_pvalues,
    encode_scores,
    make_infinite_bounds,
    orient,
    rank_rows,
)
from cranfield.significance.registry import TestOptions, register_test


def compute_binomial_pvalues(
    wins: Indices, losses: Indices, alternative: str = "two-sided", probability: float = 0.5
) -> Floats:
    """Return p-values of the binomial test that a win has the probability `probability`.

    The two-sided p-value is the probability of all counts at most as probable as the observed one.
    """
    wins, losses = np.asarray(wins, dtype=np.int64), np.asarray(losses, dtype=np.int64)
    n = wins + losses
    if alternative == "greater":
        pvalues = bdtr(losses, n, 1 - probability)
    elif alternative == "less":
        pvalues = bdtr(wins, n, probability)
    elif probability == 0.5:
        pvalues = 2 * bdtr(np.minimum(wins, losses), n, 0.5)
    else:
        from scipy.stats import binomtest

        counts = zip(wins.ravel().tolist(), np.maximum(n, 1).ravel().tolist(), strict=True)
        tests = [binomtest(n_wins, n_decided, probability) for n_wins, n_decided in counts]
        pvalues = np.reshape([test.pvalue for test in tests], n.shape)
    return np.asarray(np.where(n > 0, np.minimum(1.0, pvalues), 1.0))


def count_cells(n: int) -> int:
    """Count the values that :func:`select_kth_sum` stores per row, for lists of n numbers."""
    return (n // _compute_square_side(n) + 1) ** 2 + 8 * n


def _compute_square_side(n: int) -> int:
    return max(1, int(np.rint(np.cbrt(n))))


def select_kth_sum(x: Floats, y: Floats, k: int | Indices, *, is_triangle: bool = False) -> Floats:
    """Return the k-th smallest (from 0) of the sums x[i] + y[j], by row, exact to the last bit.

    Rows of x and y ascend; shorter rows are padded with infinities. With `is_triangle`, x and y are
    equal and only sums with i <= j count.
    """
    if not len(x):
        return np.empty(0)
    tables = _SumTables(x, y, is_triangle)
    rank_of_sum = np.broadcast_to(np.asarray(k, dtype=np.intp), (len(x),))
    low, high = tables.find_bounds(rank_of_sum)
    start = tables.count_sums(low, is_inclusive=True)
    # There is no sum between equal bounds.
    end = np.maximum(start, tables.count_sums(high, is_inclusive=False))
    n_between = (end - start).sum(axis=1)
    rank = rank_of_sum - start.sum(axis=1)
    out = np.where(rank < 0, low, high)
    open_rows = np.flatnonzero((rank >= 0) & (rank < n_between))
    # The largest number of sums between the bounds of a row bounds the memory of a slice.
    for rows in slice_rows(open_rows.size, int(n_between[open_rows].max(initial=0)), BLOCK_VALUES):
        indices = open_rows[rows]
        out[indices] = tables.select_between(indices, start[indices], end[indices], rank[indices])
    return out


class _SumTables:
    """Tables of the sums x[a] + y[c + shift a], which ascend along rows a and columns c.

    Both lists are padded with infinities to a multiple of `side`. With `shift` 1 the columns are
    counted from the diagonal, so that a triangle becomes a table, too.
    """

    def __init__(self, x: Floats, y: Floats, is_triangle: bool) -> None:
        self.shift, self.side = int(is_triangle), _compute_square_side(x.shape[1])
        height, self.n_columns = (-(-rows.shape[1] // self.side) * self.side for rows in (x, y))
        self.x, self.y = (
            np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=np.inf)
            for rows, width in ((x, height), (y, self.n_columns + self.shift * height))
        )

    def find_bounds(self, k: Indices) -> list[Floats]:
        """Return two of the sums that are a lower and an upper bound of the k-th smallest sum."""
        # If the largest sums of q squares are at most u, then q side^2 sums are at most u.
        n_squares = k // self.side**2
        rows = np.arange(0, self.x.shape[1], self.side)[:, None]
        columns = np.arange(0, self.n_columns, self.side)
        bounds = []
        for corner in (0, self.side - 1):
            a, c = rows + corner, columns + corner
            sums = (self.x[:, a] + self.y[:, c + self.shift * a]).reshape(len(k), -1)
            sums.partition(np.unique(n_squares), axis=1)
            bounds.append(sums[np.arange(len(k)), n_squares])
        return bounds

    def count_sums(self, bound: Floats, *, is_inclusive: bool) -> Indices:
        """Count the sums below a bound, or at most the bound (`is_inclusive`), by table and row."""
        n_tables, n_rows = self.x.shape
        offset = self.y.shape[1] * np.arange(n_tables)[:, None] + self.shift * np.arange(n_rows)
        counts = np.zeros((n_tables, n_rows), dtype=np.intp)
        flat_y = self.y.ravel()
        step = 1 << (self.n_columns.bit_length() - 1)
        while step:
            # Bisection of all rows at once: is the sum at the end of the next step still below?
            candidate = counts + (step - 1)
            sums = self.x + flat_y.take(offset + np.minimum(candidate, self.n_columns - 1))
            is_below = sums <= bound[:, None] if is_inclusive else sums < bound[:, None]
            is_below &= candidate < self.n_columns
            counts += step * is_below
            step >>= 1
        return counts

    def select_between(
        self, indices: Indices, start: Indices, end: Indices, rank: Indices
    ) -> Floats:
        """Return the sum at `rank` among the sums in columns `start` to `end`, by table."""
        counts = end - start
        totals = counts.sum(axis=1)
        row = np.repeat(np.arange(counts.size), counts.ravel())
        first_index = np.cumsum(counts.ravel()) - counts.ravel()
        index = np.arange(row.size)
        column = index - first_index[row] + start.ravel()[row]
        table, a = np.divmod(row, counts.shape[1])
        sums = np.full((len(indices), int(totals.max())), np.inf)
        offset = np.cumsum(totals) - totals
        sums[table, index - offset[table]] = (
            self.x[indices[table], a] + self.y[indices[table], column + self.shift * a]
        )
        sums.sort(axis=1)
        return np.asarray(sums[np.arange(len(indices)), rank])


SLACK = 1 + 1e-12  # (1 - level) / 2 differs from alpha / 2 by rounding
MAX_EXACT = 500  # largest number of topics of the exact test, as the normal is then as accurate


@register_test(
    "signed-rank", aliases=("wilcoxon", "wilcoxon-signed-rank"), family="order", symbol="W+"
)
def signed_rank_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Wilcoxon signed rank test.

    asks: Do the differences in favour of one system have larger ranks than those against it?
    null: The differences are symmetric around zero.
    assumes: Topics are independent; the distribution of differences is symmetric. Only then is
        a hypothesis about the pseudo-median also one about the mean.
    when: Paired scores with outliers, and differences that are about symmetric. It ranks
        differences, so it requires a scale on which differences can be compared. Its Type I errors
        on means are too frequent if differences are skewed.
    formula: W^+ = \sum_{t : d_t > 0} \text{rank}(|d_t|)
    statistic: W+, the sum of ranks of the topics on which the first system scores higher
    effect: rank-biserial correlation: (W+ - W-) / (W+ + W-)
    interval: pseudo-median of the differences that are not 0
    source: Wilcoxon (1945); Gibbons and Chakraborti (2011)
    convention: Zero differences are excluded. Differences that are equal within rounding share
        their mid-rank. Up to 25 differences (`exact_n`) the p-value is exact, with ties too;
        above, it is from the normal approximation, with the variance corrected for ties and
        without continuity correction. The interval is of the pseudo-median, from Walsh averages of
        the differences that are not 0, by the distribution of the same ranks, ties included: it
        excludes 0 if and only if p is at most alpha.
    """
    if options.exact and pairs.n_topics > MAX_EXACT:
        raise PolicyError(
            f"the exact signed rank test takes at most {MAX_EXACT} topics, got {pairs.n_topics};"
            " use exact=False"
        )

    def test_block(_: slice, block: Pairs) -> tuple[NDArray[Any], ...]:
        ranking = _SignedRanks(block.compute_differences(), block.rounding, options)
        pvalue = ranking.compute_pvalues(options.alternative)
        n_ties = _count_ties(ranking.ranks)
        return ranking.w_plus, ranking.total, pvalue, ranking.n, n_ties, ranking.is_exact

    w_plus, total, pvalue, n, n_ties, is_exact = pairs.map_blocks(test_block)
    return Outcome(
        statistic=w_plus / 2,
        pvalue=np.where(n > 0, pvalue, 1.0),
        effect=np.divide(2 * w_plus - total, total, out=np.zeros(len(pairs)), where=n > 0),
        interval=partial(bound_pseudo_median, pairs, options),
        n=n,
        n_zeros=pairs.n_topics - n,
        n_ties=n_ties,
        details={"exact pairs": int(is_exact.sum())},
    )


class _SignedRanks:
    def __init__(self, differences: Floats, rounding: Floats, options: TestOptions) -> None:
        is_zero = differences == 0
        self.n = n = (~is_zero).sum(axis=1)
        sizes = np.where(is_zero, np.inf, np.abs(differences))
        order = np.argsort(sizes, axis=1)
        # Twice the mid-ranks of absolute differences, which are ascending integers.
        self.ranks, tie_terms = rank_rows(np.take_along_axis(sizes, order, axis=1), rounding)
        is_win = np.take_along_axis(differences, order, axis=1) > 0
        # Sums of the doubled ranks: of wins, and of all differences.
        self.w_plus = (self.ranks * is_win).sum(axis=1)
        self.total = n * (n + 1.0)
        # Standard deviation of `w_plus` / 2 under the null hypothesis.
        self.deviation = np.sqrt(n * (n + 1.0) * (2 * n + 1.0) / 24 - tie_terms / 48)
        self.is_exact = (
            n <= options.exact_n if options.exact is None else np.full(n.shape, options.exact)
        )

    def compute_pvalues(self, alternative: str) -> Floats:
        """Return exact p-values, or p-values by the normal approximation."""
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.nan_to_num((self.w_plus - self.total / 2) / 2 / self.deviation)
        pvalue = compute_tail_pvalues(ndtr(-orient(z, alternative)), alternative)
        if self.is_exact.any():
            cdf, pattern = self._compute_distributions()
            w_plus, total = np.stack([self.w_plus, self.total])[:, self.is_exact].astype(np.intp)
            # The distribution is symmetric: its upper tail is a lower tail.
            low, high = cdf[pattern, w_plus], cdf[pattern, total - w_plus]
            pvalue[self.is_exact] = _combine_tails(low, high, alternative)
        return pvalue

    def find_largest_rejected_sums(self, tail: Floats) -> Indices:
        """Return the largest rejected sum of doubled ranks, by tail probability; -1 for none."""
        largest_sums = np.floor(self.total / 2 + 2 * self.deviation * ndtri(tail)).astype(np.intp)
        if self.is_exact.any():
            cdf, pattern = self._compute_distributions()
            thresholds = tail[self.is_exact, None] * SLACK
            exact_sums = []
            for rows in slice_rows(pattern.size, cdf.shape[1], BLOCK_VALUES):
                p = cdf[pattern[rows]]
                largest_p = np.where(p <= thresholds[rows], p, -1.0).max(axis=1, keepdims=True)
                # Where the CDF is constant, only the first sum is possible.
                exact_sums.append(np.where(largest_p[:, 0] < 0, -1, (p < largest_p).sum(axis=1)))
            largest_sums[self.is_exact] = np.concatenate(exact_sums)
        return np.where(self.n > 0, largest_sums, -1)

    def _compute_distributions(self) -> tuple[Floats, Indices]:
        """Return the CDF of `w_plus` for each pattern of ranks, and the pattern of each pair."""
        ranks = self.ranks[self.is_exact].astype(np.int32)
        patterns, pattern_of_pair = np.unique(ranks, axis=0, return_inverse=True)
        return compute_cdfs(patterns), pattern_of_pair.ravel()


def _combine_tails(low: Floats, high: Floats, alternative: str) -> Floats:
    """Return exact p-values from the probabilities of the lower and the upper tail."""
    if alternative == "two-sided":
        return np.asarray(np.minimum(1.0, 2 * np.minimum(low, high)))
    return np.asarray(np.minimum(1.0, high if alternative == "greater" else low))


def _count_ties(ranks: Floats) -> Indices:
    """Count the tied ranks in each row of ascending ranks; ranks of 0 do not count."""
    equals_next = (ranks[:, 1:] == ranks[:, :-1]) & (ranks[:, 1:] > 0)
    is_tied = np.pad(equals_next, ((0, 0), (0, 1))) | np.pad(equals_next, ((0, 0), (1, 0)))
    return np.asarray(is_tied.sum(axis=1))


def compute_cdfs(patterns: NDArray[np.int32]) -> Floats:
    """Return P(S <= s), where S adds each integer with probability 1/2; shape (patterns, s)."""
    max_sum = int(patterns.sum(axis=1).max(initial=0))
    out = np.empty((len(patterns), max_sum + 1))
    for rows in slice_rows(len(patterns), max_sum + 1, BLOCK_VALUES):
        block = patterns[rows]
        # The left half stays 0: it has the probabilities of negative sums.
        p = np.zeros((len(block), 2 * max_sum + 1))
        p[:, max_sum] = 1.0
        columns = np.arange(max_sum, 2 * max_sum + 1)
        for integers in block.T:
            shifted_columns = columns - integers[:, None]
            p[:, max_sum:] = (p[:, max_sum:] + np.take_along_axis(p, shifted_columns, axis=1)) / 2
        out[rows] = np.minimum(1.0, np.cumsum(p[:, max_sum:], axis=1))
    return out


def bound_pseudo_median(pairs: Pairs, options: TestOptions, level: Level) -> Bounds:
    """Return the interval of the pseudo-median, by inverting the signed rank test, with ties."""
    low, high = make_infinite_bounds(len(pairs))
    tails = np.broadcast_to((1 - np.asarray(level)) / 2, (len(pairs),))
    for rows, block in pairs.iterate_blocks(count_cells(pairs.n_topics)):
        differences = block.compute_differences()
        ranking = _SignedRanks(differences, block.rounding, options)
        max_sums = ranking.find_largest_rejected_sums(tails[rows])
        indices = np.flatnonzero(max_sums >= 0)
        rank, d, rounding = max_sums[indices], differences[indices], block.rounding[indices]
        w_plus = ranking.w_plus[indices]
        w_minus = ranking.total[indices] - w_plus
        for bounds, sign, opposite_sum in ((low, 1, w_minus), (high, -1, w_plus)):
            x = np.sort(np.where(d == 0, np.inf, sign * d), axis=1)
            averages = select_kth_sum(x, x, rank // 2, is_triangle=True) / 2
            # Rounding and tied ranks may put the bound on the wrong side of 0: follow the test.
            bound = np.where(
                opposite_sum <= rank, np.maximum(averages, rounding), np.minimum(averages, 0.0)
            )
            bounds[rows.start + indices] = sign * bound + 0.0
    # At a confidence level near 0 the bounds may be equal, and rounding may swap them.
    min_bound, max_bound = np.minimum(low, high), np.maximum(low, high)
    return np.where(high < 0, min_bound, low), np.where(low > 0, max_bound, high)


@register_test(
    "sign",
    family="order",
    symbol="S",
    scale=Scale.ORDINAL,
    is_within_topics=True,
    is_always_exact=True,
    has_threshold=True,
)
def sign_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Sign test.

    asks: Does one system score higher on more topics than the other?
    null: The median of the differences is zero: both systems are equally likely to win a topic.
    assumes: Topics are independent of each other; no assumption is made about the size of
        differences. The hypothesis is about the median of the differences, not about their mean: if
        differences are skewed, the median can be 0 while the mean is not, and vice versa.
    when: Scores that are only ordinal, such as RR. It ignores how large differences are, and so
        usually has less power. It does not test means: with equal means and skewed
        differences its Type I errors are too frequent.
    formula: S = |\{t : d_t > 0\}|, \quad p = \min(1,\, 2\, P(B \le \min(S, n - S))), \quad B
        \sim \text{Bin}(n, 1/2)
    statistic: S, the number of topics on which the first system scores higher
    effect: (S - L) / (S + L), where the first system scores higher on S topics and lower on L
    interval: median of the differences that are not 0
    source: Gibbons and Chakraborti (2011); Ferro and Maistro (2024), section 4; for the
        threshold Urbano, Lima and Hanjalic (2019b), who use .01
    convention: Topics with equal scores are excluded, and their number is reported; with a
        `threshold`, so are topics whose scores differ by at most the threshold. The interval is
        that of the median of the other differences, from order statistics, so that it excludes 0 if
        and only if p is at most alpha.
    """

    def count_wins_and_losses(_: slice, block: Pairs) -> tuple[Indices, Indices]:
        differences = _compute_differences(block, options)
        return (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)

    wins, losses = pairs.map_blocks(count_wins_and_losses)
    n = wins + losses
    return Outcome(
        statistic=wins.astype(np.float64),
        pvalue=compute_binomial_pvalues(wins, losses, options.alternative),
        effect=np.divide(wins - losses, n, out=np.zeros(len(pairs)), where=n > 0),
        interval=partial(bound_median, pairs, options),
        n=n,
        n_zeros=pairs.n_topics - n,
    )


def _compute_differences(pairs: Pairs, options: TestOptions) -> Floats:
    """Return the differences, with 0 for differences up to the threshold."""
    differences = pairs.compute_differences()
    differences[np.abs(differences) <= options.threshold + pairs.rounding[:, None]] = 0.0
    return differences


def bound_median(pairs: Pairs, options: TestOptions, level: Level) -> Bounds:
    """Return the interval of the median of nonzero differences, by inverting the sign test."""
    low, high = make_infinite_bounds(len(pairs))
    tails = np.broadcast_to((1 - np.asarray(level)) / 2, (len(pairs),))
    for rows, block in pairs.iterate_blocks():
        # Differences are computed again, since they need far more memory than scores.
        differences = _compute_differences(block, options)
        n = (differences != 0).sum(axis=1)
        sizes, size_of_pair = np.unique(n, return_inverse=True)
        cdf = bdtr(np.arange(n.max(initial=0) + 1), np.maximum(sizes, 1)[:, None], 0.5)
        # The number of differences below the lower bound is the largest rejected number of losses.
        rank = (cdf[size_of_pair.ravel()] <= tails[rows, None] * SLACK).sum(axis=1) - 1
        is_finite = (rank >= 0) & (n > 0)
        x = np.sort(np.where(differences == 0, np.inf, differences), axis=1)[is_finite]
        ranks = np.stack([rank, n - 1 - rank], axis=1)[is_finite]
        low[rows][is_finite], high[rows][is_finite] = np.take_along_axis(x, ranks, axis=1).T
    return low, high


MAX_EXACT_RANK_SUM = 200  # largest number of scores of two systems for the exact distribution


@register_test(
    "rank-sum",
    aliases=("mann-whitney", "u-test", "wilcoxon-rank-sum"),
    family="order",
    symbol="U",
    scale=Scale.ORDINAL,
    is_paired=False,
)
def rank_sum_test(pairs: Pairs, options: TestOptions) -> Outcome:
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
    convention: The p-value is from the normal approximation, with the variance corrected for ties
        and with continuity correction; on request it is exact, with ties too. The interval is from
        the normal approximation without these corrections.
    """
    codes = encode_scores(pairs.values)
    counts = (codes >= 0).sum(axis=0)
    n, m = counts[pairs.first], counts[pairs.second]
    if options.exact and (max_scores := int((n + m).max(initial=0))) > MAX_EXACT_RANK_SUM:
        raise PolicyError(
            f"the exact rank sum test takes at most {MAX_EXACT_RANK_SUM} scores of a pair, got"
            f" {max_scores}; use exact=False"
        )
    scores = np.where(codes < 0, np.inf, codes).T

    def rank_block(_: slice, block: Pairs) -> tuple[NDArray[Any], ...]:
        values = np.hstack([scores[block.first], scores[block.second]])
        order = np.argsort(values, axis=1)
        # Missing scores are last, with rank 0.
        ranks, tie_terms = rank_rows(
            np.take_along_axis(values, order, axis=1), np.full(len(block), 0.5)
        )
        rank_sum = np.where(order < pairs.n_topics, ranks, 0.0).sum(axis=1)
        pvalues = np.full(len(block), np.nan)
        if options.exact:
            pvalues = _compute_exact_pvalues(ranks, counts[block.first], rank_sum, options)
        return rank_sum, tie_terms, _count_ties(ranks), pvalues

    rank_sum, tie_terms, n_ties, pvalues = pairs.map_blocks(rank_block, 2 * pairs.n_topics)
    u = (rank_sum - n * (n + 1.0)) / 2
    return Outcome(
        statistic=u,
        pvalue=pvalues
        if options.exact
        else _compute_normal_pvalues(u, n, m, tie_terms, options.alternative),
        effect=2 * u / (n * m) - 1,
        interval=partial(bound_shift, pairs),
        n=n + m,
        n_ties=n_ties,
        details={"exact": bool(options.exact)},
    )


def _compute_normal_pvalues(
    u: Floats, n: Indices, m: Indices, tie_terms: Floats, alternative: str
) -> Floats:
    n_scores = (n + m).astype(np.float64)
    tie_correction = tie_terms / (n_scores * np.maximum(n_scores - 1, 1))
    variance = n * m / 12 * (n_scores + 1 - tie_correction)
    oriented_u = orient(u - n * m / 2, alternative) - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(variance > 0, oriented_u / np.sqrt(variance), -np.inf)
    return compute_tail_pvalues(ndtr(-z), alternative)


def _compute_exact_pvalues(
    ranks: Floats, n: Indices, rank_sum: Floats, options: TestOptions
) -> Floats:
    """Return exact p-values; pairs with the same ranks and sizes share one null distribution."""
    rows = np.column_stack([n, ranks]).astype(np.intp)
    patterns, pattern_of_pair = np.unique(rows, axis=0, return_inverse=True)
    low, high = np.empty((2, len(n)))
    for k, (n_drawn, *pattern_ranks) in enumerate(patterns):
        group = np.flatnonzero(pattern_of_pair.ravel() == k)
        tails = RankSums(np.array([rank for rank in pattern_ranks if rank > 0]), int(n_drawn))
        totals, inverse = np.unique(rank_sum[group].astype(np.intp), return_inverse=True)
        low[group], high[group] = np.array([tails(int(total)) for total in totals]).T[:, inverse]
    return _combine_tails(low, high, options.alternative)


def bound_shift(pairs: Pairs, level: Level) -> Bounds:
    """Return the interval of the location shift, by the uncorrected normal approximation."""
    low, high = make_infinite_bounds(len(pairs))
    values = pairs.values
    counts = (~np.isnan(values)).sum(axis=0)
    # Missing scores become infinite, so that sums with them are the largest.
    x, minus_x = (
        np.sort(np.nan_to_num(array, nan=np.inf), axis=0).T for array in (values, -values)
    )
    n, m = counts[pairs.first], counts[pairs.second]
    deviation = np.sqrt(n * m * (n + m + 1) / 12)
    rank = np.floor(n * m / 2 + ndtri((1 - level) / 2) * deviation).astype(np.intp) - 1
    for rows, block in pairs.iterate_blocks(count_cells(pairs.n_topics)):
        indices = np.flatnonzero(rank[rows] >= 0)
        i, j, k = block.first[indices], block.second[indices], rank[rows][indices]
        low[rows.start + indices] = select_kth_sum(x[i], minus_x[j], k)
        high[rows.start + indices] = 0.0 - select_kth_sum(minus_x[i], x[j], k)
    return low, high


class RankSums:
    """Tail probabilities of the sum of n ranks (ascending, doubled), drawn without replacement."""

    def __init__(self, ranks: NDArray[np.integer], n: int) -> None:
        # The subsets of k ranks with the sum s are counted for each half of the ranks. Counts are
        # floats that are only added, so that small probabilities keep their relative precision.
        half = ranks.size // 2
        # The smallest rank of the upper half is subtracted, to keep its sums small.
        self.base = int(ranks[half])
        lower, upper = (_count_subsets(r, n) for r in (ranks[:half], ranks[half:] - self.base))
        n_lower = np.arange(n + 1)
        is_possible = (n_lower < len(lower)) & (n - n_lower < len(upper))
        n_lower = n_lower[is_possible]
        self.n_upper = (n - n_lower)[:, None]
        self.lower = lower[n_lower] / comb(ranks.size, n)
        self.counts_at_most = np.cumsum(upper, axis=1)
        self.counts_at_least = np.cumsum(upper[:, ::-1], axis=1)[:, ::-1]

    def __call__(self, total: int) -> tuple[float, float]:
        """Return P(sum <= total) and P(sum >= total); `total` is twice a rank sum."""
        width = self.counts_at_most.shape[1]
        upper_sum = total - self.base * self.n_upper - np.arange(self.lower.shape[1])
        column = np.clip(upper_sum, 0, width - 1)
        low = np.where(upper_sum >= 0, self.counts_at_most[self.n_upper, column], 0.0)
        high = np.where(upper_sum < width, self.counts_at_least[self.n_upper, column], 0.0)
        return float((self.lower * low).sum()), float((self.lower * high).sum())


def _count_subsets(ranks: NDArray[np.integer], max_size: int) -> Floats:
    """Count the subsets of k ranks, up to `max_size`, with the sum s; shape (k, s)."""
    counts = np.zeros((min(max_size, ranks.size) + 1, int(ranks.sum()) + 1))
    counts[0, 0] = 1.0
    largest_sum = 0
    for n_ranks, rank in enumerate(ranks.tolist()):
        n_rows = min(n_ranks + 1, len(counts) - 1)
        counts[1 : n_rows + 1, rank : rank + largest_sum + 1] += counts[:n_rows, : largest_sum + 1]
        largest_sum += rank
    return counts
