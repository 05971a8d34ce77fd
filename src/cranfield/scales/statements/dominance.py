"""Which differences of means hold whatever the spacing of the scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.arrays import Floats, Indices
from cranfield.base.checks import indices
from cranfield.base.errors import PolicyError
from cranfield.scores import Scores
from cranfield.significance.prepare import as_scores

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


def dominance(scores: Any, first: ArrayLike, second: ArrayLike) -> Dominance:
    r"""Decide for pairs of systems whether one stochastically dominates the other.

    Parameters
    ----------
    scores
        :class:`cranfield.Scores`, or what :func:`cranfield.compare` takes: a mapping of systems, a
        data frame, or an array of shape (topics, systems). NaN is no score; with shards, their
        means are taken.
    first, second
        Indices of the systems of each pair.

    Raises
    ------
    PolicyError
        For what are no scores, and for systems that are no indices or not in pairs.

    Notes
    -----
    The mean of f(A) is at least that of f(B) for every increasing f exactly when A's scores
    dominate B's stochastically (of first order; Lehmann 1955):

    .. math:: \frac{|\{t : a_t > x\}|}{n} \ge \frac{|\{t : b_t > x\}|}{m} \text{ for all } x,

    whatever bar x is set, at least as large a share of A's scores is above it. Otherwise there is
    an x where the opposite holds, and an increasing transformation that tells scores above x from
    scores below it, and nearly nothing else, turns the means over. Nothing in this says which
    system is the better one: of a measure for which low is good it is that with the lower mean.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.Scores(np.array([[.5, .4, .9], [.2, .1, .0]]), ("1", "2"), ("a", "b", "c"))
    >>> found = dominance(scores, np.array([0, 0]), np.array([1, 2]))
    >>> found.holds.tolist(), found.threshold.tolist()
    ([True, False], [nan, 0.0])
    """
    if not isinstance(scores, (Scores, Mapping, np.ndarray)) and not hasattr(scores, "columns"):
        raise PolicyError(
            "dominance takes Scores, scores by system, a data frame or an array, not"
            f" {type(scores).__name__}"
        )
    given = as_scores(scores)
    size = len(given.systems)
    first, second = indices(first, "first", size), indices(second, "second", size)
    if first.size != second.size:
        raise PolicyError(
            f"a pair has a first and a second system; there are {first.size} and {second.size}"
        )
    columns = np.ascontiguousarray(given.over_shards().values.T)
    gap = ROUNDING * np.nanmax(np.abs(columns), initial=0.0)
    parts = [
        _block(columns[first[start:stop]], columns[second[start:stop]], float(gap))
        for start, stop in _blocks(first.size, 2 * columns.shape[1])
    ]
    return Dominance(*(np.concatenate([part[k] for part in parts]) for k in range(5)))


def _blocks(pairs: int, topics: int) -> list[tuple[int, int]]:
    size = max(1, BLOCK // max(1, topics))
    return [(start, min(start + size, pairs)) for start in range(0, pairs, size)] or [(0, 0)]


def _block(
    a: Floats, b: Floats, gap: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Floats, Indices, Indices]:
    topics = a.shape[1]
    n, m = (np.maximum((~np.isnan(one)).sum(axis=1), 1)[:, None] for one in (a, b))
    means = (np.nansum(a, axis=1) / n[:, 0], np.nansum(b, axis=1) / m[:, 0])
    # All scores of both, each counting as much as its system has scores less: sums are integers.
    both = np.hstack([a, b])
    counts = np.where(np.arange(2 * topics) < topics, m, -n) * ~np.isnan(both)
    counts = np.where((means[0] >= means[1])[:, None], counts, -counts)
    order = np.argsort(both, axis=1, kind="stable")
    ordered = np.take_along_axis(both, order, axis=1)
    counts = np.take_along_axis(counts, order, axis=1)
    above = counts.sum(axis=1)[:, None] - np.cumsum(counts, axis=1)
    # Equal scores are passed together: only behind the last of them is the count one of a bar.
    apart = np.ones(ordered.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        apart[:, :-1] = ~(np.diff(ordered, axis=1) <= gap)
    above = np.where(apart & ~np.isnan(ordered), above, 0)
    turned = np.asarray((above < 0).any(axis=1))
    same = ~(above != 0).any(axis=1)
    place = np.argmin(above, axis=1) if a.size else np.zeros(0, dtype=np.intp)
    at = ordered[np.arange(len(ordered)), place]
    over = [np.where(turned, (one > at[:, None] + gap).sum(axis=1), 0) for one in (a, b)]
    return np.asarray(~turned & ~same), turned, np.where(turned, at, np.nan), over[0], over[1]
