"""What a model of all systems says of each: a mean, and how well it is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.significance.pairs import Pairs


@dataclass(frozen=True, eq=False)
class Model:
    """The means of all systems, or their mean ranks, with one error for all.

    `error` is the mean square of the error, the estimated variance of one observation, with `df`
    degrees of freedom, infinite where it is known; `counts` are the observations behind each mean.
    Mean ranks rise with the scores; `top` less such a mean is the mean rank from the highest score.
    """

    means: Floats
    error: float
    counts: Floats
    df: float
    of: str = "mean"
    top: float = 0.0

    @property
    def balanced(self) -> bool:
        return bool((self.counts == self.counts[0]).all())

    def differences(self, pairs: Pairs) -> Floats:
        """Return the differences of the means of each pair; those by rounding are 0."""
        if self.of == "mean":
            return pairs.differences_of(self.means)
        difference = pairs.of_systems(self.means)
        slack = 1e-12 * self.means.max(initial=0.0)
        return np.asarray(np.where(np.abs(difference) <= slack, 0.0, difference))

    def standard_errors(self, pairs: Pairs) -> Floats:
        each = 1 / self.counts
        return np.asarray(np.sqrt(self.error * (each[pairs.first] + each[pairs.second])))

    def limits(self, pairs: Pairs, quantile: Floats | float) -> tuple[Floats, Floats]:
        half = quantile * self.standard_errors(pairs)
        difference = self.differences(pairs)
        return difference - half, difference + half
