"""Random-effects meta-analysis of estimates from several studies, for many quantities at once.

The studies are collections. Estimates y and their variances v have shape (rows, collections), with
a row for each quantity. A missing estimate has y = 0 and an infinite v, so that its weight is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import chdtrc

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.streams import stream
from cranfield.significance.differences import BLOCK

Function = Callable[[Floats], Floats]

GRID = np.concatenate([[0.0], np.logspace(-8, 1, 73)])
"""Grid of tau^2, in units of the squared range of the estimates, for the likelihood."""

TAU2_GRID = np.concatenate([[0.0], np.logspace(-3, 9, 37)])
"""Grid of tau^2, in units of its estimate from Q, for the interpolation of samples."""

MIN_VARIANCE = 2.0**-100  # relative to the largest; smaller variances would not change weights
N_BISECTIONS = 80  # of an interval that contains a root; more than the 53 bits of a float


@dataclass(frozen=True, eq=False)
class Pooled:
    """Results of a meta-analysis by row; NaN if they require two collections and there is one."""

    places: Indices  # number of collections
    estimate: Floats
    error: Floats  # standard error of the estimate
    tau2: Floats  # variance between collections
    q: Floats  # Cochran's Q
    q_pvalue: Floats
    i2: Floats  # proportion of the variance that is between collections


def pool(y: Floats, v: Floats, tau2_by: str, errors: str) -> Pooled:
    """Pool the estimates of each row with weights 1 / (v + tau^2)."""
    slices = list(row_slices(len(y), y.shape[1] * GRID.size, BLOCK)) or [slice(0, 0)]
    blocks = [_pool(y[rows], v[rows], tau2_by, errors) for rows in slices]
    names = [field.name for field in fields(Pooled)]
    return Pooled(*(np.concatenate([getattr(block, name) for block in blocks]) for name in names))


def predict(y: Floats, v: Floats, level: float, resamples: int, seed: int) -> tuple[Floats, Floats]:
    """Return the prediction interval of the true value in another collection, by row.

    It is the parametric bootstrap interval of Nagashima, Noma and Furukawa (2019), of draws of
    tau^2, of a mean, and of a value around it; infinite for fewer than two collections.
    """
    low, high = np.full(len(y), -np.inf), np.full(len(y), np.inf)
    has_estimate = np.isfinite(v)
    for row in np.flatnonzero(has_estimate.sum(axis=1) > 1):
        columns = has_estimate[row]
        n_collections = int(columns.sum())
        random = stream(seed, n_collections)
        chi2 = random.chisquare(1, (resamples, n_collections - 1))
        normal = random.normal(size=resamples)
        student = random.standard_t(n_collections - 1, resamples)
        # In units of the largest error, so that squares of weights do not overflow.
        unit = float(np.sqrt(v[row, columns].max())) or 1.0
        errors = np.maximum(v[row, columns] / unit / unit, MIN_VARIANCE)
        estimates = y[row, columns] / unit
        tau2 = _draw_tau2(estimates, errors, chi2)
        weights = 1 / (errors + tau2[:, None])
        mean, squares = _weighted(estimates, weights)
        error = np.sqrt(squares / (n_collections - 1) / weights.sum(axis=1))
        values = mean + normal * np.sqrt(tau2) - student * error
        low[row], high[row] = unit * np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return low, high


def _draw_tau2(y: Floats, v: Floats, chi2: Floats) -> Floats:
    """Draw tau^2 from its confidence distribution: the values that give the observed Q."""
    w = 1 / v
    _, q = _weighted(y, w)
    products = np.outer(w, w) / w.sum()
    np.fill_diagonal(products, 0.0)
    # The diagonal is a sum of products, as differences of large weights would cancel.
    form = np.diag(products.sum(axis=1)) - products
    # Q exceeds k - 1 by tau^2 times the trace on average.
    grid = TAU2_GRID * max(float(q), 1.0) / np.trace(form)
    # Given tau^2, Q is a sum of chi-squared variables, weighted by eigenvalues that depend on it.
    deviations = np.sqrt(v + grid[:, None])
    forms = deviations[:, :, None] * form * deviations[:, None, :]
    sums = chi2 @ np.linalg.eigvalsh(forms)[:, 1:].T
    upper = np.minimum((sums < q).sum(axis=1), grid.size - 1)
    lower = np.maximum(upper - 1, 0)
    draws = np.arange(len(chi2))
    start, end = sums[draws, lower], sums[draws, upper]
    fraction = np.divide(q - start, end - start, out=np.zeros(len(chi2)), where=end > start)
    return np.asarray(grid[lower] + np.clip(fraction, 0, 1) * (grid[upper] - grid[lower]))


def _pool(y: Floats, v: Floats, tau2_by: str, errors: str) -> Pooled:
    has_estimate = np.isfinite(v)
    # In units of the largest error, so that squares of weights do not overflow.
    unit = np.sqrt(np.where(has_estimate, v, 0.0).max(axis=1, initial=0.0))
    unit[unit == 0] = 1.0
    y, v = y / unit[:, None], np.maximum(v / unit[:, None] / unit[:, None], MIN_VARIANCE)
    n_collections = has_estimate.sum(axis=1)
    is_pooled = n_collections > 1
    df = n_collections - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        fixed_weights = 1 / v
        _, q = _weighted(y, fixed_weights)
        tau2 = np.where(is_pooled, np.maximum(TAU2_BY[tau2_by](y, v, df), 0.0), 0.0)
        weights = 1 / (v + tau2[:, None])
        total = weights.sum(axis=1)
        estimate, squares = _weighted(y, weights)
        error = ERRORS[errors](squares / df) / np.sqrt(total)
        # The variance of a typical estimate (Higgins and Thompson, 2002, equation 9).
        sum_fixed = fixed_weights.sum(axis=1)
        typical_v = df * sum_fixed / (sum_fixed**2 - (fixed_weights**2).sum(axis=1))
        results = (error * unit, tau2 * unit**2, q, chdtrc(df, q), tau2 / (tau2 + typical_v))
    pooled = (np.where(is_pooled, result, np.nan) for result in results)
    return Pooled(n_collections, estimate * unit, *pooled)


def _weighted(y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted mean of each row, and the weighted sum of squares around it."""
    mean = (weights * y).sum(axis=-1) / weights.sum(axis=-1)
    return mean, (weights * (y - mean[..., None]) ** 2).sum(axis=-1)


def _by_moments(y: Floats, v: Floats, df: Floats) -> Floats:
    """Estimate tau^2 by DerSimonian and Laird (1986), equation 8."""
    weights = 1 / v
    _, q = _weighted(y, weights)
    total = weights.sum(axis=1)
    return np.asarray((q - df) / (total - (weights**2).sum(axis=1) / total))


def _by_paule_mandel(y: Floats, v: Floats, df: Floats) -> Floats:
    """Estimate tau^2 such that the weighted sum of squares is k - 1 (Paule and Mandel, 1982)."""

    def excess(tau2: Floats) -> Floats:
        return _weighted(y, 1 / (v + tau2[:, None]))[1] - df

    largest = _weighted(y, np.isfinite(v).astype(np.float64))[1] / df
    return _find_root(excess, np.zeros(len(y)), largest)


def _by_reml(y: Floats, v: Floats, df: Floats) -> Floats:
    """Estimate tau^2 by restricted maximum likelihood (Viechtbauer, 2005)."""
    has_estimate = np.isfinite(v)
    highest = np.where(has_estimate, y, -np.inf).max(axis=1)
    span = highest - np.where(has_estimate, y, np.inf).min(axis=1)
    unit = np.where(span > 0, span, 1.0)
    z, u = y / unit[:, None], v / unit[:, None] ** 2
    likelihood = _restricted_likelihood(z[:, None], u[:, None], GRID[:, None])
    # The likelihood may have several maxima: the highest on a grid is refined by bisection.
    best = likelihood.argmax(axis=1)

    def slope(tau2: Floats) -> Floats:
        w = 1 / (u + tau2[:, None])
        mean, _ = _weighted(z, w)
        squares = (w**2).sum(axis=1)
        total = w.sum(axis=1)
        deviations = ((w * (z - mean[:, None])) ** 2).sum(axis=1)
        return np.asarray(deviations - (total - squares / total))

    bounds = GRID[np.maximum(best - 1, 0)], GRID[np.minimum(best + 1, GRID.size - 1)]
    return np.asarray(np.where(span > 0, _find_root(slope, *bounds) * unit**2, 0.0))


def _restricted_likelihood(y: Floats, v: Floats, tau2: Floats) -> Floats:
    """Return twice the restricted log-likelihood, up to a constant."""
    weights = 1 / (v + tau2)
    log_weights = np.log(weights, where=weights > 0, out=np.zeros_like(weights)).sum(axis=-1)
    return np.asarray(log_weights - np.log(weights.sum(axis=-1)) - _weighted(y, weights)[1])


def _find_root(function: Function, low: Floats, high: Floats) -> Floats:
    """Find the roots of decreasing functions between bounds; `low` if they are negative there."""
    is_at_start, start = function(low) <= 0, low
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2
        is_above = function(middle) > 0
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return np.asarray(np.where(is_at_start, start, (low + high) / 2))


TAU2_BY: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "reml": _by_reml,
    "paule-mandel": _by_paule_mandel,
    "dersimonian-laird": _by_moments,
}
"""Estimators of the variance between collections."""

ERRORS: dict[str, Function] = {
    "hartung-knapp": np.sqrt,
    "hartung-knapp-ad-hoc": lambda ratio: np.sqrt(np.maximum(ratio, 1.0)),
    "normal": np.ones_like,
}
"""Factor of 1 / sqrt(sum of weights) in the standard error, as a function of the weighted mean
square."""
