"""The Bayesian signed-rank test: distributions of differences, drawn from a Dirichlet process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, row_slices
from cranfield.base.streams import stream

Chances = tuple[float, float, float]
Limits = tuple[float, float]

KEPT = 2**23
"""Weights in memory at a time. The interval is of no more samples than they make: of all 50,000 up
to 166 topics, of 8,380 at 1,000 topics."""


def signed_rank(
    difference: Floats,
    rounding: float,
    rope: float,
    level: float,
    *,
    prior: float,
    samples: int,
    seed: int,
) -> tuple[Chances, Limits]:
    """Compare by sums of two differences; those no further apart than `rounding` are equal.

    Returned are the shares of samples in which most sums are below the region of practical
    equivalence, within it, and above it; and the limits of the pseudo-median.
    """
    observed = np.concatenate([[0.0], difference])
    strength = np.concatenate([[prior], np.ones(difference.size)])
    order = np.argsort(observed, kind="stable")
    z = observed[order]
    random = stream(seed)
    won = np.zeros(3)
    kept = None
    for part in row_slices(samples, observed.size, KEPT):
        # Drawn in the order of topics, so that weights do not depend on the systems.
        drawn = random.dirichlet(strength, part.stop - part.start)
        weights = Weights(z, drawn[:, order].T, rounding)
        below = weights.at_most(-2 * rope)
        above = 1 - weights.at_most(2 * rope)
        theta = np.stack([below, 1 - below - above, above])
        # Regions that tie share the sample; only rounding could tell them apart.
        best = theta >= theta.max(axis=0) - 1e-12
        won += (best / best.sum(axis=0)).sum(axis=1)
        kept = kept or weights
    assert kept is not None
    shares = [float(count) / samples for count in won]
    return (shares[0], shares[1], shares[2]), pseudo_median(kept, level)


class Weights:
    """Random weights, shape (n, samples), of n ascending differences: sampled distributions."""

    def __init__(self, z: Floats, weights: Floats, rounding: float) -> None:
        self.z, self.rounding = z, rounding
        self.weights = np.ascontiguousarray(weights)
        self.running = np.zeros((z.size + 1, weights.shape[1]))
        np.cumsum(self.weights, axis=0, out=self.running[1:])

    def at_most(self, limit: float, equal: float = 0.5) -> Floats:
        """Return the probability of z_i + z_j <= limit; of equality that part is counted."""
        # For each i, a sum is at most the limit for the first so many j.
        below = np.searchsorted(self.z, limit - self.z - self.rounding, side="left")
        upto = np.searchsorted(self.z, limit - self.z + self.rounding, side="right")
        found = self._sum(upto)
        if equal < 1 and (below != upto).any():
            found = equal * found + (1 - equal) * self._sum(below)
        return found

    def _sum(self, first: NDArray[np.intp]) -> Floats:
        return np.asarray(np.einsum("ib,ib->b", self.weights, self.running[first]))


def pseudo_median(weights: Weights, level: float) -> Limits:
    """Return limits of the median of the average of two differences, from the samples."""
    z = weights.z
    averages = np.unique(np.concatenate([(z[k:] + z[k]) / 2 for k in range(z.size)]))
    samples = weights.weights.shape[1]
    outside = int((1 - level) / 2 * samples)

    def first_with(count: int) -> float:
        # The medians are averages; find the least that so many of them do not exceed.
        low, high = 0, averages.size - 1
        while low < high:
            middle = (low + high) // 2
            reached = int((weights.at_most(2 * averages[middle], equal=1.0) >= 0.5).sum())
            low, high = (low, middle) if reached >= count else (middle + 1, high)
        return float(averages[low])

    return first_with(outside + 1), first_with(samples - outside)
