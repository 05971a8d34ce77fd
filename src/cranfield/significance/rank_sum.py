"""Wilcoxon's rank sum test, which is Mann and Whitney's U test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from cranfield.errors import PolicyError
from cranfield.scale import Scale
from cranfield.significance.options import Options
from cranfield.significance.outcome import Floats, Outcome
from cranfield.significance.pairs import BLOCK, ROUNDING, Pairs, mid_ranks
from cranfield.significance.registry import TestInfo, declared

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
    held = _counts(coded(pairs.values))
    u = _wins(held)[pairs.first, pairs.second]
    ties = _cubes(held)[pairs.first, pairs.second] - (n + m)
    if options.exact:
        pvalue = _exact(pairs, u, n, options.alternative)
    else:
        pvalue = _normal(u, n, m, ties, options.alternative)
    shared = _shared(held)[pairs.first, pairs.second]
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


def _counts(codes: NDArray[np.intp]) -> Floats:
    """Count how often each system has each score; shape (systems, scores)."""
    systems = codes.shape[1]
    scores = int(codes.max(initial=0)) + 1
    cells = np.where(codes < 0, -1, codes + scores * np.arange(systems))
    found = np.bincount(cells[cells >= 0], minlength=systems * scores)
    return found.reshape(systems, scores).astype(np.float64)


def _wins(held: Floats) -> Floats:
    """Return U of each row's system against each column's."""
    below = np.cumsum(held, axis=1) - held / 2
    return np.asarray(held @ below.T)


def _cubes(held: Floats) -> Floats:
    """Return the sum of t^3 over the groups of t equal scores of two systems together."""
    square = held**2
    cubes = (square * held).sum(axis=1)
    # Only scores that several results share make a difference to the mixed terms.
    mixed = square @ held.T
    return np.asarray(cubes[:, None] + cubes + 3 * (mixed + mixed.T))


def _shared(held: Floats) -> Floats:
    """Count the scores of two systems together that are not alone."""
    once = (held == 1).astype(np.float64)
    alone = once @ (held == 0).T.astype(np.float64)
    counts = held.sum(axis=1)
    return np.asarray(counts[:, None] + counts - alone - alone.T)


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


def _exact(pairs: Pairs, u: Floats, n: NDArray[np.intp], alternative: str) -> Floats:
    """Return exact p-values; pairs with the same ranks and sizes share one null distribution."""
    if 2 * pairs.topics > MOST_EXACT:
        raise PolicyError(f"the exact rank sum test takes at most {MOST_EXACT} scores a pair")
    codes = coded(pairs.values).T.astype(np.float64)
    codes[codes < 0] = np.inf
    parts = []
    for block in pairs.blocks(2 * pairs.topics):
        both = np.sort(np.hstack([codes[block.first], codes[block.second]]), axis=1)
        parts.append(mid_ranks(both, np.full(len(block), 0.5))[0].astype(np.int32))
    shapes = np.hstack([n[:, None].astype(np.int32), np.concatenate(parts)])
    patterns, which = np.unique(shapes, axis=0, return_inverse=True)
    rank_sum = np.rint(2 * u).astype(np.intp) + n * (n + 1)
    low, high = np.empty(len(pairs)), np.empty(len(pairs))
    for k, pattern in enumerate(patterns):
        chances = _rank_sums(pattern[1:][pattern[1:] > 0], int(pattern[0]))
        same = which.ravel() == k
        # Each tail is added up from its own end, so that small ones keep their digits.
        low[same] = np.cumsum(chances)[rank_sum[same]]
        high[same] = np.cumsum(chances[::-1])[::-1][rank_sum[same]]
    if alternative == "two-sided":
        return np.asarray(np.minimum(1.0, 2 * np.minimum(low, high)))
    return np.asarray(np.minimum(1.0, high if alternative == "greater" else low))


def _rank_sums(ranks: NDArray[np.intp], n: int) -> Floats:
    """Return P(sum of n of the ranks, drawn without replacement, = s), by s."""
    chances = np.zeros((n + 1, int(ranks.sum()) + 1))
    chances[0, 0] = 1.0
    for drawn, rank in enumerate(ranks):
        # Chance of having k of the ranks so far, so that no count ever overflows.
        k = np.arange(1, n + 1)[:, None]
        left = ranks.size - drawn
        taken = np.clip((n - (k - 1)) / left, 0.0, 1.0)
        stays = np.clip(1 - (n - np.arange(n + 1)[:, None]) / left, 0.0, 1.0)
        moved = chances[:-1, : chances.shape[1] - rank] * taken
        chances *= stays
        chances[1:, rank:] += moved
    return np.asarray(chances[n])


@dataclass(frozen=True)
class ShiftInterval:
    """Limits of the shift: the differences between single scores that are not rejected."""

    pairs: Pairs

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        low = np.full(len(self.pairs), -np.inf)
        high = -low
        counts = (~np.isnan(self.pairs.values)).sum(axis=0)
        packed = np.sort(self.pairs.values, axis=0)  # NaN last
        done = 0
        for block in self.pairs.blocks(self.pairs.topics**2, 4 * BLOCK):
            n, m = counts[block.first], counts[block.second]
            shifts = packed.T[block.first][:, :, None] - packed.T[block.second][:, None, :]
            shifts = np.sort(shifts.reshape(len(block), -1), axis=1)
            spread = np.sqrt(n * m * (n + m + 1) / 12)
            rank = np.floor(n * m / 2 + ndtri((1 - level) / 2) * spread).astype(np.intp) - 1
            some = np.flatnonzero(rank >= 0)
            low[done + some] = shifts[some, rank[some]]
            high[done + some] = shifts[some, (n * m)[some] - 1 - rank[some]]
            done += len(block)
        return low, high
