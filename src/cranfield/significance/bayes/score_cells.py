"""Scores as cells of a normal scale: what has the same score is known to be in the same cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import CranfieldError

SHARED = 0.01
"""Share of the scores above which equal ones are a cell; of fewer the middle stands for all."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Scores, shape (topics, systems), as places on a scale where all together are normal.

    A score is at its `place`; where `shared`, it is anywhere between `low` and `high`. Expected
    scores go by `steps`: the rise of the score at each of the `cuts`, above `least`.
    """

    place: Floats
    low: Floats
    high: Floats
    shared: Bools
    cuts: Floats
    steps: Floats
    least: float

    def expected(self, mean: Floats, spread: Floats) -> Floats:
        """Return the expected score of normal places; all arrays have the same shape."""
        found = np.full(mean.shape, self.least)
        for cut, step in zip(self.cuts, self.steps, strict=True):
            found += step * ndtr((mean - cut) / spread)
        return found


def cells_of(values: Floats) -> Cells:
    """Find the cells: places are normal scores of the ranks among the scores of all systems.

    The unit is the standard deviation of what topic and system leave over.
    """
    # What differs by rounding is equal.
    largest = float(np.abs(values).max()) or 1.0
    score, which, count = np.unique(
        np.round(values / largest, 12), return_inverse=True, return_counts=True
    )
    if score.size < 3:
        raise CranfieldError(
            "the hierarchical model needs three different scores at least; take the method"
            " 'signed-rank'"
        )
    which = which.reshape(values.shape)
    upto = np.cumsum(count) / values.size
    upto[-1] = 1.0
    edges = ndtri(np.concatenate([[0.0], upto]))
    place = ndtri(upto - count / values.size / 2)[which]
    rest = place - place.mean(axis=0) - place.mean(axis=1)[:, None] + place.mean()
    topics, systems = values.shape
    unit = float(np.sqrt((rest**2).sum() / ((topics - 1) * (systems - 1))))
    unit = unit if unit > 1e-9 else 1.0
    # Cells of less than a hundredth are put together for expected scores.
    group = np.minimum(np.floor(upto * 100 - 1e-9), 99).astype(np.intp)
    last = np.append(np.flatnonzero(np.diff(group)), score.size - 1)
    weight = np.add.reduceat(count, np.append(0, last[:-1] + 1))
    middle = largest * np.add.reduceat(count * score, np.append(0, last[:-1] + 1)) / weight
    shared = (count > 1) & (count > SHARED * values.size)
    return Cells(
        place=place / unit,
        low=edges[:-1][which] / unit,
        high=edges[1:][which] / unit,
        shared=shared[which],
        cuts=edges[1:][last[:-1]] / unit,
        steps=np.diff(middle),
        least=float(middle[0]),
    )
