"""Counting pairs with a small sum: how many (a, b) have a + b below x, for many x at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.threads import one_by_one

CHUNK = 2**17
"""Numbers of the inner side that are searched at a time: they fit into a core's cache."""
TASK = 2**19
"""Pairs of a query and a number of the outer side that are looked up at a time."""

MOST_NEAR = 2**20
"""Pairs that floats cannot decide, for one call."""


class Near(NamedTuple):
    """Pairs (a, b) whose sum is so close to x that floats cannot tell: indices of x, of a, of b."""

    query: Ints
    outer: Ints
    inner: Ints


class Counted(NamedTuple):
    """Pairs, or their weight, that are surely below each x, and those that floats cannot decide."""

    below: Ints
    near: Near


def flat_ranges(start: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Write out ranges: for each number of each range, which range and the number.

    >>> [part.tolist() for part in flat_ranges(np.array([5, 9]), np.array([2, 1]))]
    [[0, 0, 1], [5, 6, 9]]
    """
    which = np.repeat(np.arange(count.size), count)
    shift = start - (np.cumsum(count) - count)
    return which, np.arange(which.size) + shift[which]


def count_pairs(
    inner: Floats,
    outer: Floats,
    x: Floats,
    slack: float,
    *,
    weights: tuple[Ints, Ints] | None = None,
    jobs: int | None = None,
) -> Counted:
    """Count the pairs of an outer and an inner number whose sum is below x, for many x.

    Both sides ascend. Pairs within the slack of x are not counted, but returned. With weights of
    the inner and of the outer numbers a pair counts as their product.

    For every outer number a binary search among the inner ones does it. Searching a large array
    costs a cache miss a step; so the inner side is taken in pieces that fit into the cache, each
    with all the queries and outer numbers that lead into it. A piece begins in the middle of a
    gap that is wider than the slack, so that whatever is near x lies in the same piece.
    """
    starts = _pieces(inner, 4 * slack)
    edges = np.concatenate([[-np.inf], (inner[starts[1:] - 1] + inner[starts[1:]]) / 2, [np.inf]])
    ends = np.append(starts[1:], inner.size)
    # Outer numbers up to this one lead into a piece, or a later one, for each query.
    upto = np.searchsorted(outer, x[:, None] - edges[None, :], side="right").astype(np.int64)
    cumulative = None if weights is None else np.concatenate([[0], np.cumsum(weights[0])])

    def task(where: tuple[int, int, int]) -> tuple[int, Ints, Near]:
        piece, first, last = where
        begin = upto[first:last, piece + 1]
        count = upto[first:last, piece] - begin
        query, other = flat_ranges(begin, count)
        keys = x[first:last][query] - outer[other]
        part = inner[starts[piece] : ends[piece]]
        place = np.searchsorted(part, keys - slack)
        padded = np.append(part, np.inf)
        close = np.flatnonzero(padded[place] <= keys + slack)
        many = np.searchsorted(part, keys[close] + slack, side="right") - place[close]
        if many.sum() > MOST_NEAR:
            raise too_near()
        which, inside = flat_ranges(place[close] + starts[piece], many)
        close = close[which]
        place += starts[piece]
        terms = place
        if weights is not None and cumulative is not None:
            terms = cumulative[place] * weights[1][other]
        running = np.concatenate([[0], np.cumsum(terms)])
        border = np.concatenate([[0], np.cumsum(count)])
        below = running[border[1:]] - running[border[:-1]]
        return first, below, Near(query[close] + first, other[close], inside)

    total = np.zeros(x.size, dtype=np.int64)
    undecided = []
    close = 0
    for first, below, near in one_by_one(task, _tasks(upto), jobs):
        total[first : first + below.size] += below
        undecided.append(near)
        close += near.query.size
        if close > MOST_NEAR:
            raise too_near()
    empty = np.zeros(0, dtype=np.int64)
    joined = [np.concatenate([empty, *parts]) for parts in zip(*undecided, strict=True)]
    return Counted(total, Near(*joined) if joined else Near(empty, empty, empty))


def too_near() -> PolicyError:
    return PolicyError(
        "too many values of the image lie closer to each other than floats can tell; rank the runs"
        " themselves with rank_runs, or fewer at a time"
    )


def _pieces(inner: Floats, gap: float) -> Ints:
    """Where pieces start: at the widest gap near each multiple of the piece's size."""
    nominal = np.arange(CHUNK, inner.size - 64, CHUNK)
    around = nominal[:, None] + np.arange(-32, 32)[None, :]
    gaps = inner[around] - inner[around - 1]
    best = gaps.argmax(axis=1)
    rows = np.arange(nominal.size)
    kept = gaps[rows, best] > gap
    return np.concatenate([[0], around[rows, best][kept]]).astype(np.int64)


def _tasks(upto: Ints) -> Iterator[tuple[int, int, int]]:
    for piece in range(upto.shape[1] - 1):
        running = np.cumsum(upto[:, piece] - upto[:, piece + 1])
        cuts = np.searchsorted(running, np.arange(TASK, int(running[-1]), TASK))
        cuts = np.unique(np.concatenate([[0], cuts, [running.size]]))
        yield from ((piece, int(a), int(b)) for a, b in pairwise(cuts))
