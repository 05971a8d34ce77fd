"""Position bias from documents that different rankers showed at different ranks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices

STEPS = 100
"""Newton steps at most; a handful is usual."""

SMALLEST = (1.0, 1e-2, 1e-4, 1e-6, 1e-8)
"""Documents without a click in a cell, at least; the last one is as good as none."""


class Harvest(NamedTuple):
    """Rates of documents that were seen at two ranks, summed by query.

    A row is a query, a rank and the other rank: `clicked` sums clicks over impressions there, each
    document weighing the same, and `not_clicked` what is left to the number of documents.
    """

    query: Indices
    rank: Indices
    other: Indices
    clicked: Floats
    not_clicked: Floats
    pairs: int


def harvest(shown: pl.DataFrame) -> Harvest:
    """Collect documents that a query shows at two ranks.

    `shown` has query, doc, rank and whether it was clicked.
    """
    cells = shown.group_by("query", "doc", "rank").agg(pl.col("clicked").mean())
    both = cells.join(cells.select("query", "doc", other="rank"), on=["query", "doc"])
    both = both.filter(pl.col("rank") != pl.col("other"))
    sums = both.group_by("query", "rank", "other").agg(pl.col("clicked").sum(), number=pl.len())
    sums = sums.sort("query", "rank", "other")
    clicked = sums["clicked"].to_numpy()
    return Harvest(
        (sums["query"].rank("dense").cast(pl.Int64) - 1).to_numpy().astype(np.intp),
        sums["rank"].to_numpy().astype(np.intp),
        sums["other"].to_numpy().astype(np.intp),
        clicked,
        sums["number"].to_numpy() - clicked,
        both.height // 2,
    )


def all_pairs(found: Harvest, depth: int) -> tuple[Floats, Floats]:
    r"""Estimate examination by rank, relative to rank 1, and errors of the logarithms.

    Clicks at rank k of documents seen at k and k' have chance :math:`x_k r_{kk'}` with r the same
    at both, and the likelihood of all pairs is maximised (Agarwal et al., 2019, AllPairs). In
    logarithms it is concave: Newton's method. Errors are those of a sandwich over queries. NaN for
    ranks that no pairs link with rank 1, 0 for those without a click in any pair.
    """
    value, error = np.full(depth, np.nan), np.full(depth, np.nan)
    clicks = np.bincount(found.rank, weights=found.clicked, minlength=depth + 1)
    seen = np.bincount(found.rank, minlength=depth + 1) > 0
    value[seen[1:] & (clicks[1:] == 0)] = 0.0
    linked = _linked(found, clicks > 0, depth)
    value[0], error[0] = 1.0, 0.0
    used = linked[found.rank] & linked[found.other]
    if not used.any():
        return value, error
    ranks = np.flatnonzero(linked)
    ranks = ranks[ranks > 1]
    low, high = np.minimum(found.rank, found.other), np.maximum(found.rank, found.other)
    pair = low * (depth + 1) + high
    of_pair = np.bincount(pair, weights=found.clicked * used, minlength=(depth + 1) ** 2)
    # A pair without any click says that its documents are never clicked.
    used &= of_pair[pair] > 0
    kept, column = np.unique(pair[used], return_inverse=True)
    cell, row = np.unique(pair[used] * (depth + 1) + found.rank[used], return_inverse=True)
    design = np.zeros((cell.size, ranks.size + kept.size))
    of_rank = np.full(depth + 1, -1)
    of_rank[ranks] = np.arange(ranks.size)
    place = of_rank[found.rank[used]]
    design[row[place >= 0], place[place >= 0]] = 1
    design[row, ranks.size + column] = 1
    c, n = (
        np.bincount(row, weights=part[used]).astype(np.float64)
        for part in (found.clicked, found.not_clicked)
    )
    beta = _newton(design, c, n, ranks.size)
    n = np.maximum(n, SMALLEST[-1])
    odds, slope = _terms(design @ beta)
    queries = int(found.query.max()) + 1
    score = np.zeros((queries, cell.size))
    np.add.at(
        score,
        (found.query[used], row),
        found.clicked[used] - found.not_clicked[used] * odds[row],
    )
    inverse = np.linalg.pinv(design.T @ (design * (n * slope)[:, None]))
    terms = score @ design @ inverse
    value[ranks - 1] = np.exp(beta[: ranks.size])
    if queries > 1:
        variance = queries / (queries - 1) * np.square(terms).sum(axis=0)
        error[ranks - 1] = np.sqrt(variance[: ranks.size])
    return value, error


def _terms(z: Floats) -> tuple[Floats, Floats]:
    """Odds e^z / (1 - e^z) and their derivative."""
    odds = np.exp(z) / -np.expm1(z)
    return odds, odds * (1 + odds)


def _newton(design: Floats, c: Floats, n: Floats, ranks: int) -> Floats:
    """Maximise the sum of c z + n log(1 - e^z), where z = design beta is at most 0.

    A cell that is always clicked has its maximum at z = 0, which is approached with ever smaller n.
    """
    beta = np.zeros(design.shape[1])
    pairs = design[:, ranks:]
    beta[ranks:] = np.log(np.clip((c @ pairs) / ((c + n) @ pairs), 1e-9, 0.95))
    for smallest in SMALLEST if n.min() < SMALLEST[0] else SMALLEST[-1:]:
        beta = _maximised(beta, design, c, np.maximum(n, smallest))
    return beta


def _maximised(beta: Floats, design: Floats, c: Floats, n: Floats) -> Floats:
    def worth(beta: Floats) -> float:
        z = design @ beta
        return float(c @ z + n @ np.log(-np.expm1(z))) if (z < 0).all() else -np.inf

    now = worth(beta)
    for _ in range(STEPS):
        odds, slope = _terms(design @ beta)
        curvature = design.T @ (design * (n * slope)[:, None])
        step = np.linalg.lstsq(curvature, design.T @ (c - n * odds), rcond=None)[0]
        size = 1.0
        while (after := worth(beta + size * step)) < now and size > 1e-12:
            size /= 2
        if after <= now:
            break
        beta, now = beta + size * step, after
    return beta


def _linked(found: Harvest, clicked: Bools, depth: int) -> Bools:
    """Ranks with clicks that pairs link with rank 1, directly or by way of others."""
    linked = np.zeros(depth + 1, dtype=bool)
    linked[1] = clicked[1]
    for _ in range(depth):
        linked[found.other[linked[found.rank]]] = True
        linked &= clicked
    return linked
