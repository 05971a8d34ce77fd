"""Metrics of an experiment, from sufficient statistics of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import PolicyError, check_choice, quoted
from cranfield.significance.comparison.equivalence import read_margin


@dataclass(frozen=True, eq=False)
class Moments:
    """Numbers, means and scatter of columns by group."""

    count: Floats  # Number of units, shape (...,), such as (segments, variants)
    mean: Floats  # Shape (..., columns)
    scatter: Floats  # Sums of products of deviations from the mean, shape (..., columns, columns)

    @property
    def covariance(self) -> Floats:
        """Covariances, by one less than units; NaN of fewer than two."""
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = self.scatter / np.maximum(self.count - 1, 0)[..., None, None]
        return np.where((self.count > 1)[..., None, None], covariance, np.nan)

    def together(self) -> Moments:
        """Merge all groups along the last axis."""
        axis = self.count.ndim - 1
        merged = self._added(lambda array: array.sum(axis=axis, keepdims=True), axis)
        parts = (merged.count, merged.mean, merged.scatter)
        return Moments(*(np.squeeze(part, axis) for part in parts))

    def so_far(self) -> Moments:
        """Merge each group with all those before it along the first axis."""
        return self._added(lambda array: np.cumsum(array, axis=0), 0)

    def _added(self, add: Callable[[Floats], Floats], axis: int) -> Moments:
        """Add sums around a centre that is near all means, so that nothing cancels."""
        some = (self.count > 0)[..., None]
        sums = np.where(some, self.count[..., None] * self.mean, 0.0)
        number = np.maximum(self.count.sum(axis=axis, keepdims=True), 1)[..., None]
        centre = sums.sum(axis=axis, keepdims=True) / number
        apart = np.where(some, self.mean - centre, 0.0)
        moved = self.count[..., None] * apart
        count, first = add(self.count), add(moved)
        second = add(self.scatter + moved[..., :, None] * apart[..., None, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = first / count[..., None]
        scatter = second - np.nan_to_num(first[..., :, None] * shift[..., None, :])
        return Moments(count, centre + shift, scatter)


def moments(columns: Floats, group: Indices, shape: tuple[int, ...]) -> Moments:
    """Return the moments of each group of units."""
    inside = group >= 0
    if not inside.all():
        columns, group = columns[inside], group[inside]
    groups, width = int(np.prod(shape)), columns.shape[1]
    count = np.bincount(group, minlength=groups).astype(np.float64)
    # A unit of each group: columns with equal values have exactly that mean.
    some = np.zeros((groups, width))
    some[group] = columns
    varies, mean = columns != some[group], np.empty((groups, width))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(width):
            mean[:, k] = np.bincount(group, weights=columns[:, k], minlength=groups) / count
            same = (count > 0) & (np.bincount(group, weights=varies[:, k], minlength=groups) == 0)
            mean[same, k] = some[same, k]
    apart = columns - mean[group]
    # Equal values may differ from their mean by rounding.
    apart[np.abs(apart) <= 2.0**-50 * np.abs(mean)[group]] = 0.0
    scatter = np.empty((groups, width, width))
    for i in range(width):
        for j in range(i, width):
            sums = np.bincount(group, weights=apart[:, i] * apart[:, j], minlength=groups)
            scatter[:, i, j] = scatter[:, j, i] = sums
    return Moments(
        count.reshape(shape), mean.reshape(*shape, width), scatter.reshape(*shape, width, width)
    )


def skewness(values: Floats) -> float:
    """Return the standardised third moment; 0 if nothing varies."""
    centred = values - values.mean()
    variance = float((centred**2).mean())
    return float((centred**3).mean() / variance**1.5) if variance > 0 else 0.0


THETAS = ("pooled", "within")
"""Units for the coefficient of a covariate: all of them, or units within their variant."""

ONES = 0
"""Place of the column of ones, the denominator of a mean."""


@dataclass(frozen=True)
class Metric:
    """A mean over units, or a ratio of two means, such as clicks per page.

    Parameters
    ----------
    value
        Column, or two: `revenue`, or `clicks/pages`, the sum of the first over the sum of the
        second. A pair of names where a name has a slash.
    covariate
        Pre-experiment values of the same units, for variance reduction (CUPED): a column, or the
        ratio of two. It has to be known before a unit is exposed: what the experiment can change is
        no covariate.
    good
        Whether `up` or `down` is better; by default what a measure of a log declares, or else `up`.
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
        self.parts()
        if self.good is not None:
            check_choice("good", self.good, ("up", "down"))
        if self.margin is not None:
            read_margin(self.margin)

    def parts(self) -> tuple[str, str, str, str]:
        """Return value and covariate as numerator and denominator each; empty for none."""
        covariate = ("", "") if self.covariate is None else _two(self.covariate)
        return (*_two(self.value), *covariate)

    def __repr__(self) -> str:
        names = [name for name in list(vars(self))[1:] if getattr(self, name) is not None]
        more = [f"{name}={getattr(self, name)!r}" for name in names]
        return f"Metric({', '.join([repr(self.value), *more])})"


def _two(value: Any) -> tuple[str, str]:
    parts: Any = value.split("/") if isinstance(value, str) else value
    named = isinstance(parts, (list, tuple)) and all(isinstance(part, str) for part in parts)
    if not (named and 1 <= len(parts) <= 2 and all(part.strip() for part in parts)):
        raise PolicyError(
            "a metric must be a column or a ratio of two, such as clicks/pages, got"
            f" {quoted(value)}"
        )
    return (parts[0].strip(), parts[1].strip() if len(parts) == 2 else "")


def read_metrics(metrics: Any) -> dict[str, Metric]:
    """Return metrics by name, of a mapping, or of names of columns."""
    if isinstance(metrics, (str, Metric)):
        metrics = [metrics]
    if isinstance(metrics, Sequence):
        listed = [one if isinstance(one, Metric) else Metric(one) for one in metrics]
        metrics = {
            one.value
            if isinstance(one.value, str)
            else "/".join(filter(None, one.parts()[:2])): one
            for one in listed
        }
    if not isinstance(metrics, Mapping) or not metrics:
        raise PolicyError("metrics must be columns by name, at least one")
    return {
        str(name): one if isinstance(one, Metric) else Metric(one) for name, one in metrics.items()
    }


@dataclass(frozen=True)
class Placed:
    """A metric by column numbers; -1 if it has no covariate."""

    above: int
    below: int = ONES
    covariate: int = -1
    covariate_below: int = ONES


@dataclass(frozen=True, eq=False)
class ArmMeans:
    """Means of variants, with their squared errors."""

    value: Floats  # Shape (..., variants)
    squared: Floats  # Squared standard errors, in the same shape
    count: Floats  # Units, in the same shape
    # Gradient by the means of all columns, shape (..., variants, columns)
    gradient: Floats
    # The same metric, with the same coefficient, of other means of columns
    at: Callable[[Floats], Floats]


def arm_means(
    groups: Moments, metric: Placed, theta: str = "pooled", whole: Moments | None = None
) -> ArmMeans:
    r"""Estimate a metric of each variant from moments of shape (..., variants).

    A ratio of means R = x/y has the variance of x - R y by the squared mean of y (delta method:
    Deng et al., 2018). With a covariate C, itself a mean or a ratio,

    .. math:: R_j - \theta (C_j - \bar{C}), \quad
        \theta = \frac{\mathrm{cov}(R, C)}{\mathrm{var}(C)}

    (CUPED: Deng et al., 2013) with covariances of linearised values over all units, or of units
    within their variant. With `whole`, the moments of all units are these instead of the sums over
    the variants.
    """
    check_choice("theta", theta, THETAS)
    value, gradient = _ratio(groups, metric.above, metric.below)
    factor = middle = np.zeros(groups.count.shape[:-1])[..., None]
    if metric.covariate >= 0:
        whole = groups.together() if whole is None else whole
        before, slope = _ratio(groups, metric.covariate, metric.covariate_below)
        centre, whole_slope = _ratio(whole, metric.covariate, metric.covariate_below)
        if theta == "pooled":
            _, whole_gradient = _ratio(whole, metric.above, metric.below)
            shared = _product(whole_gradient, whole.scatter, whole_slope)
            own = _product(whole_slope, whole.scatter, whole_slope)
        else:
            shared = _product(gradient, groups.scatter, slope).sum(axis=-1)
            own = _product(slope, groups.scatter, slope).sum(axis=-1)
        # A covariate without variance carries no information.
        factor = np.divide(shared, own, out=np.zeros_like(shared), where=own > 0)[..., None]
        middle = centre[..., None]
        value = value - factor * (before - middle)
        gradient = gradient - factor[..., None] * slope

    def at(mean: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = mean[..., metric.above] / mean[..., metric.below]
            if metric.covariate < 0:
                return plain
            past = mean[..., metric.covariate] / mean[..., metric.covariate_below]
            return np.asarray(plain - factor * (past - middle))

    return ArmMeans(value, squared_error(groups, gradient), groups.count, gradient, at)


def squared_error(groups: Moments, gradient: Floats) -> Floats:
    """Return the squared standard error of a function of means, by the delta method."""
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = _product(gradient, groups.covariance, gradient) / groups.count
    return np.maximum(squared, 0.0)


def _ratio(groups: Moments, above: int, below: int) -> tuple[Floats, Floats]:
    """Return a ratio of means, and its gradient by the means of all columns."""
    with np.errstate(divide="ignore", invalid="ignore"):
        under = groups.mean[..., below]
        value = groups.mean[..., above] / under
        gradient = np.zeros_like(groups.mean)
        gradient[..., above] += 1 / under
        gradient[..., below] -= value / under
    bad = ~np.isfinite(value)
    if bad.any():
        value = np.where(bad, np.nan, value)
        gradient = np.where(bad[..., None], np.nan, gradient)
    return value, gradient


def _product(left: Floats, matrix: Floats, right: Floats) -> Floats:
    return np.asarray(np.einsum("...i,...ij,...j->...", left, matrix, right))
