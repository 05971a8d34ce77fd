"""Which differences of means hold whatever the spacing of the scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.scores import Scores

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

ROUNDING = 2.0**-44
"""Scores that differ by less than this part of the largest are the same."""

BLOCK = 2**22
"""Numbers of a block of pairs."""


@dataclass(frozen=True, eq=False)
class Dominance:
    """For each pair of systems: does the order of their means survive every rescaling?

    Attributes
    ----------
    holds
        Whether the system with the higher mean has the higher mean under every increasing
        transformation of the scores.
    reversed
        Where it does not: whether a transformation turns the order over. Both are False for two
        systems whose scores are the same but for their topics.
    threshold
        Where the order can be turned over, a score: more topics of the system with the lower mean
        are above it. NaN elsewhere.
    above_first, above_second
        How many topics of the first and of the second system are above that threshold.
    """

    holds: NDArray[np.bool_]
    reversed: NDArray[np.bool_]
    threshold: Floats
    above_first: Indices
    above_second: Indices


def dominance(scores: Scores, first: Indices, second: Indices) -> Dominance:
    r"""Decide for pairs of systems whether one stochastically dominates the other.

    Parameters
    ----------
    scores
        Shape (topics, systems), without gaps; with shards, their means are taken.
    first, second
        Indices of the systems of each pair.

    Returns
    -------
    Dominance
        By pair.

    Notes
    -----
    The mean of f(A) is at least that of f(B) for every increasing f exactly when A's scores
    dominate B's stochastically (of first order; Lehmann 1955):

    .. math:: |\{t : a_t > x\}| \ge |\{t : b_t > x\}| \text{ for all } x,

    which for as many scores of both is to say that A's k-th smallest score is at least B's, for
    every k. Otherwise there is an x where the opposite holds, and an increasing transformation that
    tells scores above x from scores below it, and nearly nothing else, turns the means over.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.Scores(np.array([[.5, .4, .9], [.2, .1, .0]]), ("1", "2"), ("a", "b", "c"))
    >>> found = dominance(scores, np.array([0, 0]), np.array([1, 2]))
    >>> found.holds.tolist(), found.threshold.tolist()
    ([True, False], [nan, 0.0])
    """
    values = scores.values if scores.values.ndim == 2 else np.nanmean(scores.values, axis=2)
    topics = len(values)
    ordered = np.sort(values, axis=0).T
    gap = ROUNDING * np.abs(ordered).max(initial=0.0)
    parts = [
        _block(ordered, first[start:stop], second[start:stop], gap)
        for start, stop in _blocks(first.size, topics)
    ]
    columns = [np.concatenate([part[k] for part in parts]) for k in range(5)]
    return Dominance(*columns)


def _blocks(pairs: int, topics: int) -> list[tuple[int, int]]:
    size = max(1, BLOCK // max(1, topics))
    return [(start, min(start + size, pairs)) for start in range(0, pairs, size)] or [(0, 0)]


def _block(
    ordered: Floats, first: Indices, second: Indices, gap: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Floats, Indices, Indices]:
    a, b = ordered[first], ordered[second]
    ahead = a.mean(axis=1) >= b.mean(axis=1)
    better, worse = np.where(ahead[:, None], a, b), np.where(ahead[:, None], b, a)
    short = worse - better
    violated = short > gap
    turned = np.asarray(violated.any(axis=1))
    same = ~(np.abs(short) > gap).any(axis=1)
    # The k-th smallest score of the better system: as many of its scores are above as can be few.
    place = np.argmax(np.where(violated, short, -np.inf), axis=1)
    at = better[np.arange(first.size), place] if first.size else np.empty(0)
    above = [np.where(turned, (one > at[:, None] + gap).sum(axis=1), 0) for one in (a, b)]
    return np.asarray(~turned & ~same), turned, np.where(turned, at, np.nan), above[0], above[1]
