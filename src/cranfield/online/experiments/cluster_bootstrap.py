"""The bootstrap over units: each unit drawn with all that it did."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.checks import check_choice, check_whole
from cranfield.base.streams import stream
from cranfield.significance.bootstrap_t import drawn_counts
from cranfield.significance.resampling import as_integers, rank_of

WEIGHTS = ("poisson", "multinomial")
"""How often a unit is drawn: each on its own, or as many in all as there are."""

DRAWN = 2**20
"""Weights that are drawn at a time; it is part of what a seed means."""


def resampled_means(
    columns: Floats,
    arm: Indices,
    arms: int,
    *,
    resamples: int = 2000,
    weights: str = "poisson",
    seed: int = 0,
) -> Floats:
    """Draw units of each variant again and again, and take the means of their columns.

    Returned is an array of shape (variants, resamples, columns).

    Columns are scaled to integers, whose sums are exact, so that a seed means the same whatever
    adds. The first column must be all 1.
    """
    check_whole("resamples", resamples, 1, 10**6)
    check_choice("weights", weights, WEIGHTS)
    check_whole("the seed", seed, 0)
    out = np.full((arms, resamples, columns.shape[1]), np.nan)
    for k in range(arms):
        own = columns[arm == k]
        # A sum has some twice as many terms as units at most.
        scaled = [as_integers(column, 2 * len(own) + 64) for column in own.T]
        integers = np.stack([numbers for numbers, _ in scaled], axis=1)
        units = np.array([unit for _, unit in scaled])
        for part, counts in _weights(stream(seed, k), resamples, len(own), weights):
            sums = (counts @ integers) * units
            with np.errstate(divide="ignore", invalid="ignore"):
                out[k, part] = sums / sums[:, :1]
    return out


def _weights(
    random: np.random.Generator, resamples: int, units: int, weights: str
) -> Iterator[tuple[slice, Floats]]:
    if weights == "multinomial":
        yield from drawn_counts(random, resamples, units)
        return
    for part in row_slices(resamples, units, DRAWN):
        drawn = random.poisson(1.0, size=(part.stop - part.start, units))
        # A resample of few units may have none: it is drawn again.
        while (empty := ~drawn.any(axis=1)).any():
            drawn[empty] = random.poisson(1.0, size=(int(empty.sum()), units))
        yield part, drawn.astype(np.float64)


def percentiles(resampled: Floats, level: float) -> tuple[float, float]:
    """Return percentile limits of resampled values, NaN where one is not known."""
    if np.isnan(resampled).any():
        return np.nan, np.nan
    ordered = np.sort(resampled)
    rank = int(rank_of((1 - level) / 2, ordered.size))
    if rank < 1:
        return -np.inf, np.inf
    return float(ordered[rank - 1]), float(ordered[-rank])


def two_sided(resampled: Floats) -> float:
    """Return the p-value of 0 by percentiles: twice the smaller tail beyond it."""
    if np.isnan(resampled).any():
        return np.nan
    tail = min(int((resampled <= 0).sum()), int((resampled >= 0).sum()))
    return min(1.0, 2 * (tail + 1) / (resampled.size + 1))
