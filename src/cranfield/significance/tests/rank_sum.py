"""Wilcoxon's rank sum test, which is Mann and Whitney's U test."""

from __future__ import annotations

from functools import partial
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import PolicyError
from cranfield.significance.difference_by_error import away, of_tail
from cranfield.significance.options import Options
from cranfield.significance.outcome import Level, Limits, Outcome, nothing_known
from cranfield.significance.pairs import Pairs
from cranfield.significance.ranks import coded, mid_ranks
from cranfield.significance.tests.kth_smallest_sum import cells, kth_sum

Integers = NDArray[np.integer]

MOST_EXACT = 200
"""Scores of both systems together, above which the exact distribution is refused."""


def rank_sum_test(pairs: Pairs, options: Options) -> Outcome:
    counts = (~np.isnan(pairs.values)).sum(axis=0)
    n, m = counts[pairs.first], counts[pairs.second]
    codes = coded(pairs.values)
    u, cubes, shared = _counted(pairs, codes)
    if options.exact:
        pvalue = _exact(pairs, codes, u, options.alternative)
    else:
        pvalue = _normal(u, n, m, cubes - (n + m), options.alternative)
    return Outcome(
        statistic=u,
        pvalue=pvalue,
        effect=2 * u / (n * m) - 1,
        interval=partial(shift_limits, pairs),
        n=n + m,
        zeros=np.zeros_like(n),
        ties=shared.astype(np.intp),
        details={"exact": bool(options.exact)},
    )


def _counted(pairs: Pairs, codes: Indices) -> tuple[Floats, Floats, Floats]:
    """Compare the ranks of each pair's scores.

    Returns U of the first system; the sum of t^3 over the groups of t equal scores of both
    together; and the number of scores of both together that are not alone.

    One system's scores are counted in a table of all scores; there each of the others looks up what
    it needs. A table of all systems at once would have a column for each score of the experiment.
    """
    size = int(codes.max(initial=0)) + 2
    # One more score than there are, the last, stands for those that are missing.
    scores = np.where(codes < 0, size - 1, codes).T.copy()
    ordered = np.sort(scores, axis=1)
    again = np.zeros(ordered.shape, dtype=bool)
    again[:, 1:] = np.diff(ordered, axis=1) == 0
    once_each = np.where(again, size - 1, ordered)
    tied = bool((np.bincount(scores.ravel(), minlength=size)[:-1] > 1).any())
    number = len(scores)
    wins, mixed, met = np.empty((number, number)), *np.zeros((2, number, number))
    for system in range(number):
        held = np.bincount(scores[system], minlength=size).astype(np.float64)
        held[-1] = 0.0
        below = np.cumsum(held) - held / 2
        below[-1] = 0.0
        wins[:, system] = below[scores].sum(axis=1)
        if tied:
            mixed[:, system] = (held**2)[scores].sum(axis=1)
            met[:, system] = (held == 1)[once_each].sum(axis=1)
    i, j = pairs.first, pairs.second
    # With itself, a system has the sum of its own cubes, and of its own lone scores.
    cubes, alone = np.diag(mixed), np.diag(met)
    counts = (codes >= 0).sum(axis=0)
    if not tied:
        cubes = alone = counts
    shared = counts[i] + counts[j] - (alone[i] + alone[j] - met[i, j] - met[j, i])
    return wins[i, j], cubes[i] + cubes[j] + 3 * (mixed[i, j] + mixed[j, i]), shared


def _normal(u: Floats, n: Indices, m: Indices, ties: Floats, alternative: str) -> Floats:
    total = (n + m).astype(np.float64)
    variance = n * m / 12 * (total + 1 - ties / (total * np.maximum(total - 1, 1)))
    far = away(u - n * m / 2, alternative) - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(variance > 0, far / np.sqrt(variance), -np.inf)
    return of_tail(ndtr(-z), alternative)


def _exact(pairs: Pairs, codes: Indices, u: Floats, alternative: str) -> Floats:
    """Return exact p-values; pairs with the same ranks and sizes share one null distribution."""
    if 2 * pairs.topics > MOST_EXACT:
        raise PolicyError(f"the exact rank sum test takes at most {MOST_EXACT} scores a pair")
    n = (codes >= 0).sum(axis=0)[pairs.first]
    scores = np.where(codes < 0, np.inf, codes).T
    parts = []
    for block in pairs.blocks(2 * pairs.topics):
        both = np.sort(np.hstack([scores[block.first], scores[block.second]]), axis=1)
        parts.append(mid_ranks(both, np.full(len(block), 0.5))[0].astype(np.int32))
    rank_sum = np.rint(2 * u).astype(np.intp) + n * (n + 1)
    # Ranks of missing scores are 0, and last.
    shapes = np.column_stack([n, np.concatenate(parts), rank_sum])
    cases, which = np.unique(shapes, axis=0, return_inverse=True)
    low, high = np.empty(len(cases)), np.empty(len(cases))
    begins = np.flatnonzero(np.r_[True, (np.diff(cases[:, :-1], axis=0) != 0).any(axis=1)])
    for start, stop in zip(begins, [*begins[1:], len(cases)], strict=True):
        ranks = cases[start, 1:-1]
        tails = RankSums(ranks[ranks > 0], int(cases[start, 0]))
        for case in range(start, stop):
            low[case], high[case] = tails(int(cases[case, -1]))
    low, high = low[which.ravel()], high[which.ravel()]
    if alternative == "two-sided":
        return np.asarray(np.minimum(1.0, 2 * np.minimum(low, high)))
    return np.asarray(np.minimum(1.0, high if alternative == "greater" else low))


def shift_limits(pairs: Pairs, level: Level) -> Limits:
    """Return limits of the shift: the differences between single scores that are not rejected."""
    low, high = nothing_known(len(pairs))
    values = pairs.values
    counts = (~np.isnan(values)).sum(axis=0)
    # Missing scores last, on both sides: sums with them are above all others.
    up, down = (np.sort(np.nan_to_num(one, nan=np.inf), axis=0).T for one in (values, -values))
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
        left = total - self.base * self.above[:, None] - np.arange(self.ways.shape[1])
        reachable = np.clip(left, 0, width - 1)
        low = np.where(left >= 0, self.at_most[self.above[:, None], reachable], 0.0)
        high = np.where(left < width, self.at_least[self.above[:, None], reachable], 0.0)
        return float((self.ways * low).sum()), float((self.ways * high).sum())


def _ways(ranks: Integers, most: int) -> Floats:
    """Count the ways to draw k of the ranks, up to `most`, with a sum s; shape (k, s)."""
    ways = np.zeros((min(most, ranks.size) + 1, int(ranks.sum()) + 1))
    ways[0, 0] = 1.0
    reached = 0
    for drawn, rank in enumerate(ranks.tolist()):
        rows = min(drawn + 1, len(ways) - 1)
        # Of as many as were drawn so far, none has a sum beyond what was reached.
        ways[1 : rows + 1, rank : rank + reached + 1] += ways[:rows, : reached + 1]
        reached += rank
    return ways
