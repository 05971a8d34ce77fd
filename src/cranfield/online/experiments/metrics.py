"""Metrics of an experiment, computed from sufficient statistics of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import PolicyError, check_choice, quoted
from cranfield.significance.comparison.equivalence import read_margin


@dataclass(frozen=True, eq=False)
class Moments:
    """Numbers of units, and means and scatter matrices of columns, by group."""

    count: Floats  # Number of units, shape (...,), such as (segments, variants)
    mean: Floats  # Shape (..., columns)
    scatter: Floats  # Sums of products of deviations from the mean, shape (..., columns, columns)

    @property
    def covariance(self) -> Floats:
        """Covariances with n - 1 in the denominator; NaN for fewer than two units."""
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = self.scatter / np.maximum(self.count - 1, 0)[..., None, None]
        return np.where((self.count > 1)[..., None, None], covariance, np.nan)

    def pooled(self) -> Moments:
        """Merge all groups along the last axis."""
        axis = self.count.ndim - 1
        merged = self._merge(lambda array: array.sum(axis=axis, keepdims=True), axis)
        return Moments(*(np.squeeze(array, axis) for array in vars(merged).values()))

    def cumulative(self) -> Moments:
        """Merge each group with all groups before it along the first axis."""
        return self._merge(lambda array: np.cumsum(array, axis=0), 0)

    def _merge(self, add: Callable[[Floats], Floats], axis: int) -> Moments:
        """Merge groups along an axis, with sums around a common centre to avoid cancellation."""
        is_nonempty = (self.count > 0)[..., None]
        sums = np.where(is_nonempty, self.count[..., None] * self.mean, 0.0)
        n_units = np.maximum(self.count.sum(axis=axis, keepdims=True), 1)[..., None]
        centre = sums.sum(axis=axis, keepdims=True) / n_units
        deviations = np.where(is_nonempty, self.mean - centre, 0.0)
        weighted = self.count[..., None] * deviations
        count, first_moment = add(self.count), add(weighted)
        second_moment = add(self.scatter + weighted[..., :, None] * deviations[..., None, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = first_moment / count[..., None]
        correction = first_moment[..., :, None] * shift[..., None, :]
        scatter = second_moment - np.nan_to_num(correction)
        return Moments(count, centre + shift, scatter)


def moments(columns: Floats, group: Indices, shape: tuple[int, ...]) -> Moments:
    """Compute the moments of each group of units; units with group -1 are excluded."""
    columns, group = columns[group >= 0], group[group >= 0]
    n_groups, width = int(np.prod(shape)), columns.shape[1]
    count = np.bincount(group, minlength=n_groups).astype(np.float64)
    # If all values of a column in a group are equal, the mean is exactly this value.
    examples = np.zeros((n_groups, width))
    examples[group] = columns
    differs, mean = columns != examples[group], np.empty((n_groups, width))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(width):
            mean[:, k] = np.bincount(group, weights=columns[:, k], minlength=n_groups) / count
            n_different = np.bincount(group, weights=differs[:, k], minlength=n_groups)
            is_constant = (count > 0) & (n_different == 0)
            mean[is_constant, k] = examples[is_constant, k]
    residuals = columns - mean[group]
    # Equal values may differ from their mean by rounding.
    residuals[np.abs(residuals) <= 2.0**-50 * np.abs(mean)[group]] = 0.0
    scatter = np.empty((n_groups, width, width))
    for i, j in combinations_with_replacement(range(width), 2):
        sums = np.bincount(group, residuals[:, i] * residuals[:, j], n_groups)
        scatter[:, i, j] = scatter[:, j, i] = sums
    return Moments(
        count.reshape(shape), mean.reshape(*shape, width), scatter.reshape(*shape, width, width)
    )


def skewness(values: Floats) -> float:
    """Compute the standardised third moment; 0 if all values are equal."""
    centred = values - values.mean()
    variance = float((centred**2).mean())
    return float((centred**3).mean() / variance**1.5) if variance > 0 else 0.0


THETAS = ("pooled", "within")  # Units that determine a coefficient: all, or by variant
ONES_COLUMN = 0  # Index of the column of ones, the denominator of a mean


@dataclass(frozen=True)
class Metric:
    """A mean over units, or a ratio of two means, such as clicks per page.

    Parameters
    ----------
    value
        A column such as `revenue`, or a ratio of two such as `clicks/pages`, the sum of the first
        divided by the sum of the second; as a pair of names if a name has a slash.
    covariate
        Pre-experiment values of the same units, for variance reduction (CUPED): a column, or the
        ratio of two. It must be known before a unit is exposed: a quantity that the experiment can
        change is not a valid covariate.
    good
        Whether `up` or `down` is better; by default `up`, or for a log the direction of the
        measure.
    margin
        Non-inferiority margin, the largest loss that is still accepted: a number is in the unit of
        the metric; a percentage such as `2%` is relative to the mean of the control.

    Examples
    --------
    >>> Metric("clicks/pages", covariate="clicks_before/pages_before")
    Metric('clicks/pages', covariate='clicks_before/pages_before')
    """

    value: str | tuple[str, str]
    covariate: str | tuple[str, str] | None = None
    good: str | None = None
    margin: float | str | None = None

    def __post_init__(self) -> None:
        numerator, _, covariate, _ = self.parts()
        if numerator == covariate:
            expected = "a covariate must be a column with values from before the experiment"
            raise PolicyError(f"{expected}, got the metric itself, {quoted(covariate)}")
        if self.good is not None:
            check_choice("good", self.good, ("up", "down"))
        if self.margin is not None:
            read_margin(self.margin)

    def parts(self) -> tuple[str, str, str, str]:
        """Return numerator and denominator of value and covariate; an empty string if missing."""
        covariate = ("", "") if self.covariate is None else _split_ratio(self.covariate)
        return (*_split_ratio(self.value), *covariate)

    def __repr__(self) -> str:
        value, *options = vars(self).items()
        arguments = [f"{name}={option!r}" for name, option in options if option is not None]
        return f"Metric({', '.join([repr(value[1]), *arguments])})"


def _split_ratio(value: Any) -> tuple[str, str]:
    parts: Any = value.split("/") if isinstance(value, str) else value
    is_text = isinstance(parts, (list, tuple)) and all(isinstance(part, str) for part in parts)
    if not (is_text and 1 <= len(parts) <= 2 and all(part.strip() for part in parts)):
        expected = "a metric must be a column or a ratio of two, such as clicks/pages"
        raise PolicyError(f"{expected}, got {quoted(value)}")
    return (parts[0].strip(), parts[1].strip() if len(parts) == 2 else "")


def read_metrics(metrics: Any) -> dict[str, Metric]:
    """Convert a mapping, or names of columns, to metrics by name."""
    if isinstance(metrics, (str, Metric)):
        metrics = [metrics]
    if isinstance(metrics, Sequence):
        metric_list = [item if isinstance(item, Metric) else Metric(item) for item in metrics]
        metrics = {
            m.value if isinstance(m.value, str) else "/".join(filter(None, m.parts()[:2])): m
            for m in metric_list
        }
    if not isinstance(metrics, Mapping) or not metrics:
        raise PolicyError(f"metrics must be one or more columns by name, got {quoted(metrics)}")
    items = metrics.items()
    return {str(k): item if isinstance(item, Metric) else Metric(item) for k, item in items}


@dataclass(frozen=True)
class MetricColumns:
    """Column numbers of a metric; `covariate` is -1 without a covariate."""

    numerator: int
    denominator: int = ONES_COLUMN
    covariate: int = -1
    covariate_denominator: int = ONES_COLUMN


@dataclass(frozen=True, eq=False)
class ArmMeans:
    """Values of a metric by variant, with squared standard errors."""

    value: Floats  # Shape (..., variants)
    squared: Floats  # Squared standard errors, of the same shape
    count: Floats  # Numbers of units, of the same shape
    # Gradient with respect to the means of all columns, shape (..., variants, columns)
    gradient: Floats
    # Computes the metric, with the same coefficient of a covariate, from means of columns
    evaluate: Callable[[Floats], Floats]


def arm_means(
    groups: Moments, metric: MetricColumns, theta: str = "pooled", all_units: Moments | None = None
) -> ArmMeans:
    r"""Estimate a metric of each variant from moments of shape (..., variants).

    A ratio of means R = x/y has the variance of x - R y divided by the squared mean of y (delta
    method: Deng et al., 2018). With a covariate C, itself a mean or a ratio,

    .. math:: R_j - \theta (C_j - \bar{C}), \quad
        \theta = \frac{\mathrm{cov}(R, C)}{\mathrm{var}(C)}

    (CUPED: Deng et al., 2013) with covariances of linearised values over all units, or over units
    within their variant. `all_units` has the moments of all units, by default those of the
    variants, merged.
    """
    value, gradient = _ratio(groups, metric.numerator, metric.denominator)
    factor = pivot = np.zeros(groups.count.shape[:-1])[..., None]
    if metric.covariate >= 0:
        all_units = groups.pooled() if all_units is None else all_units
        covariate_value, slope = _ratio(groups, metric.covariate, metric.covariate_denominator)
        centre, pooled_slope = _ratio(all_units, metric.covariate, metric.covariate_denominator)
        if theta == "pooled":
            _, pooled_gradient = _ratio(all_units, metric.numerator, metric.denominator)
            cov = _product(pooled_gradient, all_units.scatter, pooled_slope)
            var = _product(pooled_slope, all_units.scatter, pooled_slope)
        else:
            cov = _product(gradient, groups.scatter, slope).sum(axis=-1)
            var = _product(slope, groups.scatter, slope).sum(axis=-1)
        # A covariate without variance carries no information.
        factor = np.divide(cov, var, out=np.zeros_like(cov), where=var > 0)[..., None]
        pivot = centre[..., None]
        value = value - factor * (covariate_value - pivot)
        gradient = gradient - factor[..., None] * slope

    def evaluate(mean: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            unadjusted = mean[..., metric.numerator] / mean[..., metric.denominator]
            if metric.covariate < 0:
                return unadjusted
            covariate = mean[..., metric.covariate] / mean[..., metric.covariate_denominator]
            return np.asarray(unadjusted - factor * (covariate - pivot))

    return ArmMeans(value, squared_error(groups, gradient), groups.count, gradient, evaluate)


def squared_error(groups: Moments, gradient: Floats) -> Floats:
    """Compute the squared standard error of a function of means, by the delta method."""
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = _product(gradient, groups.covariance, gradient) / groups.count
    return np.maximum(squared, 0.0)


def _ratio(groups: Moments, numerator: int, denominator: int) -> tuple[Floats, Floats]:
    """Return a ratio of means, and its gradient with respect to the means of all columns."""
    with np.errstate(divide="ignore", invalid="ignore"):
        divisor = groups.mean[..., denominator]
        value = groups.mean[..., numerator] / divisor
        gradient = np.zeros_like(groups.mean)
        gradient[..., numerator] += 1 / divisor
        gradient[..., denominator] -= value / divisor
    is_defined = np.isfinite(value)
    return np.where(is_defined, value, np.nan), np.where(is_defined[..., None], gradient, np.nan)


def _product(left: Floats, matrix: Floats, right: Floats) -> Floats:
    return np.asarray(np.einsum("...i,...ij,...j->...", left, matrix, right))
