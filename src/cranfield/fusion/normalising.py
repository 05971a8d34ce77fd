"""Scores of runs made comparable: normalised for each run and topic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError
from cranfield.collection.judged.segments import ratio
from cranfield.fusion.names import NORMS
from cranfield.fusion.rankings import Rankings


def min_max(given: Rankings) -> Floats:
    r"""From 0 to 1, :math:`(s - \min s) / (\max s - \min s)`; 1 where all are equal."""
    # Halves, so that the difference of two scores cannot overflow.
    halves = given.scores / 2
    low, high = (_over(given, halves, by) for by in (np.minimum, np.maximum))
    above, width = (halves - low[given.cell]), (high - low)[given.cell]
    return np.where(width > 0, ratio(above, width), 1.0)


def by_max(given: Rankings) -> Floats:
    r""":math:`s / \max s`, of scores whose highest is above 0."""
    high = _over(given, given.scores, np.maximum)[given.cell]
    if (high <= 0).any():
        row = int(np.argmax(high <= 0))
        raise InputError(
            "norm 'max' needs a highest score above 0",
            source=given.systems[given.system[row]],
            topic=given.topics[given.topic[given.ranked[row]]],
        )
    return np.asarray(given.scores / high)


def by_sum(given: Rankings) -> Floats:
    r""":math:`(s - \min s) / \sum (s - \min s)`; 1/n where all n are equal."""
    scores = _scaled(given)
    above = scores - _over(given, scores, np.minimum)[given.cell]
    total = np.bincount(given.cell, weights=above, minlength=given.lists.size - 1)[given.cell]
    return np.where(total > 0, ratio(above, total), 1 / _lengths(given))


def z_score(given: Rankings) -> Floats:
    """How many standard deviations above the run's mean for the topic; 0 where all are equal."""
    cells, lengths = given.lists.size - 1, np.maximum(np.diff(given.lists), 1)
    scores = _scaled(given)
    mean = np.bincount(given.cell, weights=scores, minlength=cells) / lengths
    above = scores - mean[given.cell]
    variance = np.bincount(given.cell, weights=above**2, minlength=cells) / lengths
    return ratio(above, np.sqrt(variance)[given.cell])


def by_rank(given: Rankings) -> Floats:
    """Of n documents the one of rank r has 1 - (r - 1)/n, whatever its score."""
    return np.asarray(1 - (given.rank - 1) / _lengths(given))


def borda(given: Rankings) -> Floats:
    """Of n documents that the runs have together, rank r of a run has 1 - (r - 1)/n."""
    size = np.diff(given.starts)[given.topic[given.ranked]]
    return np.asarray(1 - (given.rank - 1) / size)


BY_NORM: dict[str, Callable[[Rankings], Floats]] = dict(
    zip(
        NORMS,
        (min_max, by_max, by_sum, z_score, by_rank, borda, lambda given: given.scores),
        strict=True,
    )
)
"""Ways to normalise the scores of a run for a topic."""


def absent(given: Rankings, norm: str) -> Floats | None:
    """Return what a document has that a run does not rank, by ranking; None where that is 0.

    By `borda` it is the mean of the places that are left, 1/2 - (m - 1)/(2 n) of a run with m of
    the n documents (Renda and Straccia 2003). Infinite of runs without any document for a topic.
    """
    if norm != "borda":
        return None
    lengths = np.diff(given.lists).reshape(len(given.topics), -1)
    share = 0.5 - (lengths - 1) / (2 * np.diff(given.starts)[:, None])
    return np.where(lengths > 0, share, np.inf)


def _lengths(given: Rankings) -> Ints:
    return np.asarray(np.diff(given.lists)[given.cell])


def _scaled(given: Rankings) -> Floats:
    """Divide the scores of each ranking by a power of 2, so that sums and squares can be held.

    They keep their digits, and so does what is made of them by norms that no factor changes.
    """
    _, power = np.frexp(_over(given, np.abs(given.scores), np.maximum))
    return np.asarray(np.ldexp(given.scores, -power[given.cell]))


def _over(given: Rankings, values: Floats, by: np.ufunc) -> Floats:
    """Reduce values over each ranking; 0 of one without documents."""
    found = np.zeros(given.lists.size - 1)
    some = np.flatnonzero(np.diff(given.lists))
    if some.size:
        found[some] = by.reduceat(values, given.lists[some])
    return found
