"""Corrections of studentised statistics: Tukey's HSD and Dunnett's test.

Both tests require P(X / S >= q), where X is the range (Tukey) or a maximum (Dunnett) of normal
variables and S an independent estimate of their standard deviation with `df` degrees of freedom.
Only the tail probability of X differs between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, overload

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import gammaln, log_ndtr, ndtr, stdtr, stdtrit

from cranfield.base.arrays import Floats, slice_rows
from cranfield.base.errors import PolicyError, as_numbers, check_integer, check_number
from cranfield.significance.differences import (
    ALL_COMPARISONS,
    ALL_PAIRS,
    Bounds,
    Level,
    Outcome,
    Pairs,
    SystemModel,
    compute_t_pvalue,
    compute_t_quantile,
    orient,
    standardise_difference,
)
from cranfield.significance.registry import TestOptions, register_correction

Tail = Callable[[Floats], Floats]
DEGREE = 20  # degree of the Chebyshev polynomial on each panel
PANEL_WIDTH = 0.125  # width of a panel, in log(1 + q)
LOG_RANGE = 42.0  # integration ends where an integrand is exp(-42) of its peak
MAX_LOG_STEP = 0.05  # largest step of the trapezoidal rule in log S
Z_STEP = 0.1  # step of the rule in the largest normal variable, for an error below 1e-14
MAX_RANGE = 80.0  # larger ranges of normal variables have probabilities below the smallest float
MAX_Z = 9.0  # standard deviations beyond which a normal density is negligible


class Interpolator:
    """Interpolate a positive function that is smooth in log(1 + x) by polynomials on panels."""

    def __init__(self, function: Tail) -> None:
        self.function = function
        self._panels: dict[int, Floats] = {}

    def __call__(self, x: Floats) -> Floats:
        """Return the interpolated values; 0 if they are below the smallest float."""
        u = np.log1p(x)
        panel = np.floor(u / PANEL_WIDTH).astype(np.intp)
        panels, index = np.unique(panel, return_inverse=True)
        coefficients = np.array([self._compute_coefficients(key) for key in panels.tolist()]).T
        t = 2 * (u / PANEL_WIDTH - panel) - 1
        return np.asarray(np.exp(chebyshev.chebval(t, coefficients[:, index], tensor=False)))

    @np.errstate(divide="ignore", invalid="ignore")
    def _compute_coefficients(self, panel: int) -> Floats:
        def log_function(t: Floats) -> Any:
            return np.log(self.function(np.expm1((panel + (t + 1) / 2) * PANEL_WIDTH)))

        if panel not in self._panels:
            coefficients: Floats = chebyshev.chebinterpolate(log_function, DEGREE)
            # The function is 0 on a panel with a value below the smallest float.
            is_zero = not np.isfinite(coefficients).all()
            self._panels[panel] = np.append(-np.inf, np.zeros(DEGREE)) if is_zero else coefficients
        return self._panels[panel]


_LARGE_DF = 1e6  # above this, the density of S is narrow
_INFINITE_DF = 1e12  # above this, S is treated as constant


class StudentisedMaximum:
    """Distribution of X / S: range or maximum of normal variables over an estimate of their SD."""

    def __init__(self, tail: Tail, df: float) -> None:
        self.df = df
        self._tail = tail  # P(X >= w) for w >= 0
        self._interpolated_tail = Interpolator(tail)
        self._interpolator = Interpolator(self._integrate_tail)

    def sf(self, q: Floats) -> Floats:
        """Return P(X / S >= q), with a relative error below 1e-9; 1 for q <= 0, NaN for NaN."""
        q = np.asarray(q, dtype=np.float64)
        out = np.where(np.isnan(q), np.nan, 1.0)
        out[np.isposinf(q)] = 0.0
        is_positive = (q > 0) & np.isfinite(q)
        positive_q = q[is_positive]
        if positive_q.size:
            n_panels = np.unique(np.floor(np.log1p(positive_q) / PANEL_WIDTH)).size
            has_few_values = positive_q.size <= 2 * (DEGREE + 1) * n_panels
            compute_tail = self._integrate_tail if has_few_values else self._interpolator
            out[is_positive] = np.clip(compute_tail(positive_q), 0.0, 1.0)
        return out

    def isf(self, probability: Floats | float) -> Floats | float:
        """Return the q with P(X / S >= q) = `probability`, between 0 and 1, by bisection."""
        target = np.atleast_1d(np.asarray(probability, dtype=np.float64))
        low, high = np.zeros_like(target), np.full_like(target, 8.0)
        while (is_above_bound := self._interpolator(high) > target).any():
            high[is_above_bound] *= 4
        for _ in range(53):
            middle = (low + high) / 2
            is_above = self._interpolator(middle) > target
            low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
        return high if np.ndim(probability) else float(high[0])

    def _integrate_tail(self, q: Floats) -> Floats:
        """Compute E[tail(q S)], where df S^2 is chi-squared, by the trapezoidal rule in log S."""
        df = self.df
        if df > _INFINITE_DF:
            return self._tail(q)
        # Bounds beyond which the density in x = log S, exp(df (x - exp(2 x) / 2)), is negligible.
        if df > _LARGE_DF:
            # Stirling's series avoids the difference of large, nearly equal numbers.
            log_constant = np.log(2) + np.log(df / (4 * np.pi)) / 2 - 1 / (6 * df)
            lower = -np.sqrt(3 * LOG_RANGE / df)
        else:
            log_constant = np.log(2) + df / 2 * (np.log(df / 2) - 1) - gammaln(df / 2)
            lower = -(LOG_RANGE / df + 0.5 + np.sqrt(LOG_RANGE / df))
        upper = 0.5 * np.log1p(2 * (LOG_RANGE / df + np.sqrt(LOG_RANGE / df)))
        step = min(0.5 / np.sqrt(2 * df), MAX_LOG_STEP)
        # For large q the product with a normal tail has its peak at a smaller S.
        shift = 0.5 * np.log(df / (df + q**2 / 2))
        n_points = int(np.ceil((upper - lower - float(shift.min())) / step)) + 1
        out = np.empty_like(q)
        for rows in slice_rows(q.size, n_points, 2**19):
            starts = lower + shift[rows, None]
            widths = (upper - starts) / (n_points - 1)
            x = starts + widths * np.arange(n_points)
            s = np.exp(x)
            density = np.exp(log_constant + df * (x - np.expm1(2 * x) / 2))
            w = q[rows, None] * s
            tails = self._interpolated_tail(w.ravel()).reshape(w.shape)
            out[rows] = (tails * density).sum(axis=1) * widths[:, 0]
        return out


def studentised_range_sf(q: Floats | float, n_groups: int, df: float) -> Floats:
    r"""Compute the upper tail probability P(Q >= q) of the studentised range of `n_groups` means.

    .. math:: P(Q \ge q) = \int_0^\infty f_{df}(s)\, [1 - R(q s)]\, ds

    where R is the CDF of the range of `n_groups` standard normal variables, and f the density of an
    estimate of their standard deviation with `df` degrees of freedom.

    Parameters
    ----------
    q
        Values of the studentised range, any shape.
    n_groups
        Number of means, at least 2.
    df
        Degrees of freedom of the error, positive; may be infinite.

    Returns
    -------
    array
        Upper tail probabilities, with relative errors near 1e-12; up to 1e-9 for df near 10^6.

    Raises
    ------
    PolicyError
        For fewer than 2 groups, or degrees of freedom that are not positive.

    Notes
    -----
    Source: Ferro and Maistro (2024), equation 10. The integrals use the trapezoidal rule, which
    converges exponentially for such integrands. For thousands of values, the probability is
    computed at a few hundred points and interpolated by Chebyshev polynomials.

    Examples
    --------
    >>> studentised_range_sf(3.633160, n_groups=3, df=30).round(4).item()
    0.0397
    """
    _check_arguments(n_groups, df)
    values = as_numbers(q, "q")
    if n_groups == 2:
        # The range of two means is their absolute difference: Student's t-test.
        t = np.maximum(values, 0) / np.sqrt(2)
        tail = 2 * (ndtr(-t) if np.isinf(df) else stdtr(df, -t))
        return np.asarray(np.where(values > 0, tail, np.where(np.isnan(values), np.nan, 1.0)))
    return make_range_distribution(n_groups, float(df)).sf(values)


@overload
def studentised_range_isf(probability: float, n_groups: int, df: float) -> float: ...
@overload
def studentised_range_isf(probability: Floats, n_groups: int, df: float) -> Floats: ...
def studentised_range_isf(probability: Floats | float, n_groups: int, df: float) -> Floats | float:
    """Compute the quantile q of the studentised range with P(Q >= q) = `probability`.

    Parameters
    ----------
    probability
        Upper tail probability, between 0 and 1; a number or an array.
    n_groups, df
        As for :func:`studentised_range_sf`.

    Raises
    ------
    PolicyError
        For a probability that is not between 0 and 1, or an invalid `n_groups` or `df`.

    Examples
    --------
    >>> round(studentised_range_isf(0.05, n_groups=3, df=10), 4)
    3.8768
    """
    _check_arguments(n_groups, df)
    if not np.all((np.asarray(probability) > 0) & (np.asarray(probability) < 1)):
        raise PolicyError(f"probability must be between 0 and 1, got {probability}")
    if n_groups == 2:
        quantile = -np.sqrt(2) * stdtrit(min(df, 1e300), np.asarray(probability) / 2)
        return quantile if quantile.ndim else float(quantile)
    return make_range_distribution(n_groups, float(df)).isf(probability)


@lru_cache(maxsize=64)
def make_range_distribution(n_groups: int, df: float) -> StudentisedMaximum:
    """Return the distribution of the studentised range, with a cache of computed panels."""
    return StudentisedMaximum(partial(compute_range_tail, n_groups=n_groups), df)


def compute_range_tail(w: Floats, n_groups: int) -> Floats:
    """Return P(range >= w) of `n_groups` standard normal variables, for w >= 0."""
    # Integrate over the largest variable: at least one other must be more than w below it.
    w = np.minimum(w, MAX_RANGE)
    max_z = MAX_Z + w.max(initial=0.0) / 2
    z = np.arange(-MAX_Z, max_z + Z_STEP, Z_STEP)
    log_density = np.log(n_groups) - z**2 / 2 - 0.5 * np.log(2 * np.pi)
    log_density += (n_groups - 1) * log_ndtr(z)
    weights = np.exp(log_density) * Z_STEP
    cdf = ndtr(z)
    out = np.empty(w.shape)
    for rows in slice_rows(w.size, z.size, 2**18):
        # A ratio of nearly equal numbers, unlike their difference, does not lose precision.
        out[rows] = compute_any_probability(n_groups - 1, ndtr(z - w[rows, None]) / cdf) @ weights
    return np.minimum(out, 1.0)


def compute_any_probability(n_events: int, probability: Floats) -> Floats:
    """Return the probability that one or more of equally probable, independent events occur."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(n_events * np.log1p(-np.minimum(probability, 1.0))))


def _check_arguments(n_groups: int, df: float) -> None:
    check_integer("n_groups", n_groups, 2)
    check_number("df", df, above=0, maximum=np.inf)


@register_correction(
    "dunnett",
    families=("anova",),
    requires_one_baseline=True,
    requires_equal_counts=True,
    assumes_one_variance=True,
)
def dunnett(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Dunnett's test.

    does: Dunnett's test: all systems against one baseline
    assumes: errors are independent and normal, with one variance for all systems
    source: Dunnett (1955)

    The statistics of any two pairs have a correlation of 1/2, because they share the baseline,
    their second system; p is the tail probability of the largest statistic.
    """
    model, alternative = outcome.required_model, options.alternative
    if not model.is_balanced:
        raise PolicyError(
            "Dunnett's test requires the same number of scores for each system, got"
            f" {model.counts.min():g} to {model.counts.max():g}; use the correction holm"
        )
    t = standardise_difference(model.subtract(pairs), model.estimate_errors(pairs))
    pvalue = compute_t_pvalue(t, model.df, alternative)
    if len(pairs) > 1:
        oriented_t = orient(t, alternative)
        pvalue = compute_maximum_sf(
            oriented_t, len(pairs), model.df, is_two_sided=options.is_two_sided
        )
    interval = partial(bound_by_dunnett, model, pairs, options.is_two_sided)
    return replace(
        outcome, pvalue=pvalue, statistic=t, interval=interval, interval_kind=ALL_COMPARISONS
    )


def bound_by_dunnett(model: SystemModel, pairs: Pairs, is_two_sided: bool, level: Level) -> Bounds:
    if len(pairs) == 1:
        return model.compute_interval(pairs, compute_t_quantile(level, model.df))
    # A one-sided test uses one of the two bounds, each with half of the error probability.
    tail = 1 - level if is_two_sided else (1 - level) / 2
    distribution = _make_max_distribution(len(pairs), is_two_sided, model.df)
    return model.compute_interval(pairs, distribution.isf(tail))


@lru_cache(maxsize=64)
def _make_max_distribution(n_comparisons: int, is_two_sided: bool, df: float) -> StudentisedMaximum:
    """Return the distribution of the largest t, with a cache of computed panels."""
    return StudentisedMaximum(
        partial(_compute_maximum_tail, n_comparisons=n_comparisons, is_two_sided=is_two_sided), df
    )


def make_quadrature(df: float, step: float) -> tuple[Floats, Floats]:
    """Return nodes and weights for expectations over S = sqrt(chi-squared / df)."""
    # The trapezoidal rule in log S; noncentral t and F of SciPy 1.17 are NaN if they underflow.
    ratio = LOG_RANGE / df
    low, high = -(ratio + 0.5 + np.sqrt(ratio)), 0.5 * np.log1p(2 * (ratio + np.sqrt(ratio)))
    x = np.arange(low, high, min(0.5 / np.sqrt(2 * df), step))
    s = np.exp(x)
    log_weights = df * (x - s**2 / 2)
    weights = np.exp(log_weights - log_weights.max())
    return s, weights / weights.sum()


def compute_maximum_sf(t: Floats, n_comparisons: int, df: float, *, is_two_sided: bool) -> Floats:
    """Return P(maximum >= t) for the largest of the statistics against one baseline."""
    out = _make_max_distribution(n_comparisons, is_two_sided, df).sf(t)
    is_negative = t <= 0
    if not is_two_sided and is_negative.any():
        # The interpolated tail requires t > 0: integrate over S.
        out[is_negative] = 1 - _compute_maximum_cdf(t[is_negative], n_comparisons, df)
    return out


def _compute_maximum_tail(w: Floats, n_comparisons: int, is_two_sided: bool) -> Floats:
    """Return P(maximum >= w) for a known variance, by integrating over the baseline's variable."""
    distance = np.sqrt(2) * np.minimum(w, MAX_RANGE)[:, None]
    z = np.arange(-MAX_Z - distance.max(initial=0.0), MAX_Z + Z_STEP, Z_STEP)
    weights = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * Z_STEP
    out = np.empty(distance.shape[0])
    for rows in slice_rows(out.size, z.size, 2**18):
        probability = ndtr(-z - distance[rows])
        if is_two_sided:
            probability = probability + ndtr(z - distance[rows])
        out[rows] = compute_any_probability(n_comparisons, probability) @ weights
    return np.minimum(out, 1.0)


def _compute_maximum_cdf(t: Floats, n_comparisons: int, df: float) -> Floats:
    """Return P(maximum < t) for t <= 0."""
    if np.isinf(df):
        return 1 - _compute_maximum_tail(t, n_comparisons, is_two_sided=False)
    s, weights = make_quadrature(df, MAX_LOG_STEP)
    cdf = 1 - _compute_maximum_tail((t[:, None] * s).ravel(), n_comparisons, is_two_sided=False)
    return np.asarray(cdf.reshape(t.size, -1) @ weights)


@register_correction(
    "tukey",
    aliases=("hsd", "tukey-hsd"),
    families=("anova", "glm", "ranks"),
    covers_all_pairs=True,
    assumes_one_variance=True,
    symbol="q",
)
def tukey(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Tukey's HSD.

    does: Tukey's honestly significant difference: all pairs of the systems of a model, with a
        family-wise error rate of at most alpha
    assumes: errors are independent and normal, with one variance for all systems
    source: Tukey (1949a)

    Equations 9 to 11 of Ferro and Maistro (2024) define the signed studentised difference q, its
    p-value, and the half-width of the interval around each mean. For unequal numbers of scores this
    is the Tukey-Kramer test, which has no half-widths.
    """
    model = outcome.required_model
    n_groups = model.means.size
    q = standardise_difference(model.subtract(pairs), model.estimate_errors(pairs) / np.sqrt(2))
    # Compute p before the quantile: panels are cached, so the last bits depend on this order.
    pvalue = np.where(q == 0, 1.0, studentised_range_sf(np.abs(q), n_groups, model.df))
    half_widths = None
    if model.is_balanced:
        quantile = studentised_range_isf(options.alpha, n_groups, model.df)
        half_widths = np.asarray(quantile / 2 * np.sqrt(model.error_variance / model.counts))
    return replace(
        outcome,
        pvalue=pvalue,
        statistic=q,
        interval=partial(bound_by_tukey, model, pairs),
        interval_kind=ALL_PAIRS,
        half_widths=half_widths,
    )


def bound_by_tukey(model: SystemModel, pairs: Pairs, level: Level) -> Bounds:
    quantile = studentised_range_isf(1 - level, model.means.size, model.df)
    return model.compute_interval(pairs, quantile / np.sqrt(2))
