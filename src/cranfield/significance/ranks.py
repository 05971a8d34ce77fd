"""Ranks of numbers that are equal within rounding, and numbers of a rank."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.significance.pairs import ROUNDING


def mid_ranks(ordered: Floats, gap: Floats) -> tuple[Floats, Floats]:
    """Return twice the mid-ranks of rows of ascending numbers, and how tied they are.

    `ordered` ascends along its rows, shape (rows, n), and infinities at the end are not ranked.
    Neighbours that are no further apart than `gap`, shape (rows,), are tied. Twice a rank is an
    integer, 0 where infinite; of ties the sum over groups of t of them of t^3 - t is returned.
    """
    rows, n = ordered.shape
    position = np.arange(n)
    with np.errstate(invalid="ignore"):
        begins = np.diff(ordered, axis=1) > gap[:, None]
    finite = np.isfinite(ordered)
    starts = np.zeros((rows, n), dtype=np.intp)
    starts[:, 1:] = np.where(begins, position[1:], 0)
    starts = np.maximum.accumulate(starts, axis=1)
    ends = np.full((rows, n), n - 1, dtype=np.intp)
    ends[:, :-1] = np.where(begins | (finite[:, :-1] & ~finite[:, 1:]), position[:-1], n - 1)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    size = (ends - starts + 1).astype(np.float64)
    ranks = np.where(finite, starts + ends + 2, 0).astype(np.float64)
    ties = np.where(finite, size**2 - 1, 0.0).sum(axis=1)
    return ranks, ties


def ranked_together(values: Floats) -> tuple[Floats, float, int]:
    """Rank all scores together, equal ones by their mid-rank; NaN stays.

    Returns the ranks, the sum of t^3 - t over groups of t equal scores, and how many scores follow
    an equal one.
    """
    flat = values.ravel()
    order = np.argsort(flat, kind="stable")[: int((~np.isnan(flat)).sum())]
    ordered = flat[order][None]
    gap = ROUNDING * np.abs(ordered).max(initial=0.0)
    doubled, ties = mid_ranks(ordered, np.array([gap]))
    ranks = np.full(flat.shape, np.nan)
    ranks[order] = doubled[0] / 2
    return ranks.reshape(values.shape), float(ties[0]), int((np.diff(doubled[0]) == 0).sum())


def coded(values: Floats) -> Indices:
    """Return scores as integers from 0 in ascending order, equal within rounding; NaN as -1."""
    flat = values.ravel()
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    known = ~np.isnan(ordered)
    gap = ROUNDING * np.abs(ordered[known]).max(initial=0.0)
    codes = np.full(flat.size, -1, dtype=np.intp)
    steps = np.concatenate([[0], np.cumsum(np.diff(ordered[known]) > gap)])
    codes[order[known]] = steps[: known.sum()]
    return codes.reshape(values.shape)


def order_statistics(values: Floats, ranks: Indices) -> Floats:
    """Return of each row the numbers of its ranks, from 0; rows are put in another order.

    From shapes (rows, n) and (rows, k) to (rows, k); ranks outside are those of the ends.
    """
    ranks = np.clip(ranks, 0, values.shape[1] - 1)
    values.partition(np.unique(ranks), axis=1)
    return np.take_along_axis(values, ranks, axis=1)
