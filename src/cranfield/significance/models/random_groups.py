"""The mean of groups that are a sample of all groups, from some observations of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from cranfield.base.arrays import Floats

RATIOS = np.concatenate([[0.0], np.logspace(-6, 8, 113)])
"""Variances between groups, by that within, near one of which is the likeliest."""


@dataclass(frozen=True, eq=False)
class GroupsFit:
    """The estimated mean, its variance with degrees of freedom, and the two variances behind it.

    All variances are of one column; that within is NaN where no group has two observations.
    """

    mean: Floats
    variance: float
    df: float
    between: float
    within: float


@dataclass(frozen=True, eq=False)
class RandomGroups:
    r"""Observations in groups, by column: a mean, a random effect of the group, and an error.

    .. math:: y_{ti} = \mu + u_t + e_{ti}, \quad u_t \sim N(0, \sigma_u^2), \quad
        e_{ti} \sim N(0, \sigma_e^2), \quad i = 1, \dots, n_t

    Columns have means of their own and share both variances. They are a rotation of so many
    independent `copies` of this model: as many as there are, or one less where rows add up to 0.

    `means`, shape (groups, columns), and `counts` are of the groups, `group` says which one a row
    is of, and `centre` is the mean of all rows; `between` and `within` are sums of squares.
    """

    means: Floats
    counts: Floats
    group: NDArray[np.intp]
    centre: Floats
    apart: Floats
    between: float
    within: float
    copies: int

    @classmethod
    def of(cls, rows: Floats, labels: NDArray[np.intp], copies: int, least: float) -> RandomGroups:
        """Sum up rows by group; what is not above `least` is rounding."""
        _, group, numbers = np.unique(labels, return_inverse=True, return_counts=True)
        counts = numbers.astype(np.float64)
        sums = np.zeros((counts.size, rows.shape[1]))
        np.add.at(sums, group, rows)
        means, centre = sums / counts[:, None], rows.mean(axis=0)
        apart, rest = means - centre, rows - means[group]
        for part in (apart, rest):
            part[np.abs(part) <= least] = 0.0
        between = float((counts[:, None] * apart**2).sum())
        return cls(means, counts, group, centre, apart, between, float((rest**2).sum()), copies)

    def fit(self) -> GroupsFit:
        """Estimate by restricted maximum likelihood.

        In groups of one size the variance of the mean is that between groups, with the degrees of
        freedom of so many groups, whether or not that is more than what is due to the error. In
        others it is the estimate, with degrees of freedom by Satterthwaite from the observed
        information, as lmerTest has them; a variance of 0 between groups then counts as known.
        """
        n, groups = self.counts, self.counts.size
        total, df = float(n.sum()), self.copies * (groups - 1.0)
        products = self.apart @ self.apart.T
        ratio = self._likeliest(products)
        if np.isinf(ratio):
            weights = np.ones(groups)
            between = _spread(products, weights[None, :])[0].item() / df
            within = 0.0 if total > groups else np.nan
            variance = between / groups
        else:
            weights = n / (1 + n * ratio)
            left = self.within + _spread(products, weights[None, :])[0].item()
            within = left / (self.copies * (total - 1))
            between, variance = ratio * within, within / float(weights.sum())
        if (n == n[0]).all():
            variance = self.between / df / total
        elif ratio == 0:
            df = self.copies * (total - 1)
        elif np.isfinite(ratio):
            df = self._satterthwaite(weights, products / within, self.within / within)
        mean = self.centre + weights @ self.apart / weights.sum()
        return GroupsFit(mean, variance, df, between, within)

    def _likeliest(self, products: Floats) -> float:
        """Return the variance between groups by that within where the likelihood is largest."""
        if self.within == 0:
            return np.inf
        if not self.apart.any():
            return 0.0
        deviance, _ = self._profile(RATIOS, products)
        best = int(deviance.argmin())
        if best == RATIOS.size - 1:
            return np.inf
        low, high = RATIOS[max(best - 1, 0)], RATIOS[best + 1]

        def slope(ratio: float) -> float:
            return float(self._profile(np.array([ratio]), products)[1][0])

        if slope(low) < 0 < slope(high):
            return float(brentq(slope, low, high, xtol=1e-300, rtol=1e-14))
        return float(RATIOS[best])

    def _profile(self, ratios: Floats, products: Floats) -> tuple[Floats, Floats]:
        """Return -2 log likelihood, but for a constant, and its slope, at the best variance."""
        n, total = self.counts, self.counts.sum()
        weights = n / (1 + n * ratios[:, None])
        spread, squares = _spread(products, weights)
        together = weights.sum(axis=1)
        left = self.within + spread
        deviance = (total - 1) * np.log(left) - np.log(weights).sum(axis=1) + np.log(together)
        falls = -(weights**2 * squares).sum(axis=1)
        slope = (total - 1) * falls / left + together - (weights**2).sum(axis=1) / together
        return deviance, slope

    def _satterthwaite(self, weights: Floats, products: Floats, within: float) -> float:
        """Return 2 E[V]^2 / Var[V] of the variance V of the mean; the unit is that within."""
        n, p, w, sum_w = self.counts, self.copies, weights, weights.sum()
        share = w / sum_w
        centred = products - (products @ share)[:, None]
        centred = centred - share @ centred
        # How weights change with both variances, and the deviance with weights.
        change = -np.stack([w**2, w**2 / n])
        slope = p * (1 / sum_w - 1 / w) + np.diag(centred)
        curve = p * (np.diag(1 / w**2) - 1 / sum_w**2) - 2 * centred / sum_w
        bend = 2 * np.stack([w**3, w**3 / n, w**3 / n**2]) @ slope
        information = change @ curve @ change.T + bend[[[0, 1], [1, 2]]]
        information[1, 1] += 2 * within - p * (n.sum() - n.size)
        gradient = -change.sum(axis=1) / sum_w**2
        covariance = 2 * np.linalg.inv(information)
        return float(2 / sum_w**2 / (gradient @ covariance @ gradient))


def _spread(products: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted sums of squares around weighted means, and the squares, by set of weights.

    `products` are those of the rows, with each other; weights have shape (sets, rows).
    """
    shares = weights / weights.sum(axis=1, keepdims=True)
    to_mean = shares @ products
    squares = np.diag(products) - 2 * to_mean + (to_mean * shares).sum(axis=1, keepdims=True)
    return (weights * squares).sum(axis=1), squares
