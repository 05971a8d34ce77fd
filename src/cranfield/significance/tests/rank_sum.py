"""Wilcoxon's rank sum test, which is Mann and Whitney's U test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.base.scale_types import Scale
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import ROUNDING, Pairs, mid_ranks
from cranfield.significance.registry import TestInfo, declared
from cranfield.significance.tests.kth_smallest_sum import cells, kth_sum
from cranfield.significance.tests.rank_sum_distribution import RankSums

MOST_EXACT = 200
"""Scores of both systems together, above which the exact distribution is refused."""


@declared(
    TestInfo(
        name="rank-sum",
        aliases=("mann-whitney", "u-test", "wilcoxon-rank-sum"),
        title="Wilcoxon rank sum test (Mann-Whitney U)",
        asks="Does a score of one system tend to be higher than a score of the other, whatever "
        "their topics?",
        null="The scores of both systems have the same distribution.",
        assumes="All scores are independent: those of the two systems are not paired.",
        when="Systems that were tested on different topics, on a scale that is only ordinal. On "
        "the same topics it wastes what the pairing tells; take a paired test.",
        formula=r"U = |\{(s, t) : x_s > y_t\}| + \tfrac{1}{2} |\{(s, t) : x_s = y_t\}|",
        statistic="U of the first system",
        effect="Cliff's delta: 2 U / (n m) - 1",
        source="Mann and Whitney (1947); Gibbons and Chakraborti (2011)",
        convention="Normal, with the variance corrected for ties and with continuity correction; "
        "exact on request, with ties too. The interval is of the shift between the systems.",
        scale=Scale.ORDINAL,
        paired=False,
    )
)
def rank_sum_test(pairs: Pairs, options: Options) -> Outcome:
    """Do the rank sum test on each pair."""
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
        interval=ShiftInterval(pairs),
        interval_of="shift between the systems",
        n=n + m,
        zeros=np.zeros_like(n),
        ties=shared.astype(np.intp),
        details={"exact": bool(options.exact)},
    )


def coded(values: Floats) -> NDArray[np.intp]:
    """Return scores as integers from 0 in ascending order; equal within rounding is equal.

    NaN becomes -1.
    """
    flat = values.ravel()
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    known = ~np.isnan(ordered)
    gap = ROUNDING * np.abs(ordered[known]).max(initial=0.0)
    codes = np.full(flat.size, -1, dtype=np.intp)
    steps = np.concatenate([[0], np.cumsum(np.diff(ordered[known]) > gap)])
    codes[order[known]] = steps[: known.sum()]
    return codes.reshape(values.shape)


def _counted(pairs: Pairs, codes: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
    """Compare the ranks of each pair's scores.

    One system's scores are counted in a table of all scores; there each of the others looks up what
    it needs. A table of all systems at once would have a column for each score of the experiment.

    Returns
    -------
    u, cubes, shared
        By pair: U of the first system; the sum of t^3 over the groups of t equal scores of both
        together; and the number of scores of both together that are not alone.
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


def _normal(
    u: Floats, n: NDArray[np.intp], m: NDArray[np.intp], ties: Floats, alternative: str
) -> Floats:
    total = (n + m).astype(np.float64)
    variance = n * m / 12 * (total + 1 - ties / (total * np.maximum(total - 1, 1)))
    away = {
        "two-sided": np.abs(u - n * m / 2),
        "greater": u - n * m / 2,
        "less": n * m / 2 - u,
    }[alternative]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(variance > 0, (away - 0.5) / np.sqrt(variance), -np.inf)
    sides = 2 if alternative == "two-sided" else 1
    return np.asarray(np.minimum(1.0, sides * ndtr(-z)))


def _exact(pairs: Pairs, codes: NDArray[np.intp], u: Floats, alternative: str) -> Floats:
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


@dataclass(frozen=True)
class ShiftInterval:
    """Limits of the shift: the differences between single scores that are not rejected."""

    pairs: Pairs

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        low = np.full(len(self.pairs), -np.inf)
        high = -low
        values = self.pairs.values
        counts = (~np.isnan(values)).sum(axis=0)
        # Missing scores last, on both sides: sums with them are above all others.
        up, down = (np.sort(np.nan_to_num(one, nan=np.inf), axis=0).T for one in (values, -values))
        n, m = counts[self.pairs.first], counts[self.pairs.second]
        spread = np.sqrt(n * m * (n + m + 1) / 12)
        rank = np.floor(n * m / 2 + ndtri((1 - level) / 2) * spread).astype(np.intp) - 1
        for part, block in self.pairs.slices(cells(self.pairs.topics)):
            some = np.flatnonzero(rank[part] >= 0)
            i, j, k = block.first[some], block.second[some], rank[part][some]
            low[part.start + some] = kth_sum(up[i], down[j], k)
            high[part.start + some] = 0.0 - kth_sum(down[i], up[j], k)
        return low, high
