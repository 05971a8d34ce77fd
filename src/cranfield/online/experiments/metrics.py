"""Metrics of an experiment: means and ratios of means of columns, with or without a covariate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError, quoted
from cranfield.online.experiments.moments import Moments
from cranfield.significance.comparison.equivalence import read_margin

THETAS = ("pooled", "within")
"""Over what the coefficient of a covariate is taken: all units, or units within their variant."""

ONES = 0
"""The column whose values are all 1, below the mean."""


@dataclass(frozen=True)
class Metric:
    """A mean over units, or a ratio of two means, such as clicks per page.

    Parameters
    ----------
    value
        Column, or two: `revenue`, or `clicks/pages`, the sum of the first over the sum of the
        second. A pair of names where a name has a slash.
    covariate
        Column, or two, of the same units before the experiment, which takes out what was there
        before (CUPED). It has to be known before a unit is exposed: what the experiment can change
        is no covariate.
    good
        Whether `up` or `down` is better; by default what a measure of a log declares, or else `up`.
    margin
        Non-inferiority margin, the largest loss that is still accepted: a number is in the unit of
        the metric; a percentage such as `"2%"` is relative to the mean of the control.

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
        more = [
            f"{name}={_plain(value)!r}"
            for name in ("covariate", "good", "margin")
            if (value := getattr(self, name)) is not None
        ]
        return f"Metric({', '.join([repr(_plain(self.value)), *more])})"


def _plain(given: Any) -> Any:
    """Return text that may show itself in another way as a text of Python."""
    return str.__str__(given) if isinstance(given, str) else given


def _two(given: Any) -> tuple[str, str]:
    parts: Any = given.split("/") if isinstance(given, str) else given
    named = isinstance(parts, (list, tuple)) and all(isinstance(one, str) for one in parts)
    if not (named and 1 <= len(parts) <= 2 and all(one.strip() for one in parts)):
        raise PolicyError(f"a metric is a column or two, such as clicks/pages, not {quoted(given)}")
    return (parts[0].strip(), parts[1].strip() if len(parts) == 2 else "")


def read_metrics(metrics: Any) -> dict[str, Metric]:
    """Return metrics by name, of a mapping, or of names of columns."""
    if isinstance(metrics, (str, Metric)):
        metrics = [metrics]
    if isinstance(metrics, Sequence):
        named = [(one.value if isinstance(one, Metric) else one, one) for one in metrics]
        metrics = {
            name if isinstance(name, str) else "/".join(filter(None, _two(name))): one
            for name, one in named
        }
    if not isinstance(metrics, Mapping) or not metrics:
        raise PolicyError("metrics are columns by name, one at least")
    return {
        str(name): one if isinstance(one, Metric) else Metric(one) for name, one in metrics.items()
    }


@dataclass(frozen=True)
class Placed:
    """A metric whose columns are known by their place; -1 where it has no covariate."""

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
    # How the mean changes with the means of all columns, shape (..., variants, columns), with which
    # covariances of several metrics are taken
    gradient: Floats
    # The same metric, with the same coefficient, of other means of columns
    at: Callable[[Floats], Floats]


def arm_means(
    found: Moments, metric: Placed, theta: str = "pooled", whole: Moments | None = None
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
    value, gradient = _ratio(found, metric.above, metric.below)
    factor = middle = np.zeros(found.count.shape[:-1])[..., None]
    if metric.covariate >= 0:
        whole = found.together(-1) if whole is None else whole
        before, slope = _ratio(found, metric.covariate, metric.covariate_below)
        centre, whole_slope = _ratio(whole, metric.covariate, metric.covariate_below)
        if theta == "pooled":
            _, whole_gradient = _ratio(whole, metric.above, metric.below)
            shared = _product(whole_gradient, whole.scatter, whole_slope)
            own = _product(whole_slope, whole.scatter, whole_slope)
        else:
            shared = _product(gradient, found.scatter, slope).sum(axis=-1)
            own = _product(slope, found.scatter, slope).sum(axis=-1)
        # A covariate that does not vary says nothing.
        factor = np.divide(shared, own, out=np.zeros_like(shared), where=own > 0)[..., None]
        middle = centre[..., None]
        value = value - factor * (before - middle)
        gradient = gradient - factor[..., None] * slope
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = _product(gradient, found.covariance, gradient) / found.count

    def at(mean: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = mean[..., metric.above] / mean[..., metric.below]
            if metric.covariate < 0:
                return plain
            past = mean[..., metric.covariate] / mean[..., metric.covariate_below]
            return np.asarray(plain - factor * (past - middle))

    return ArmMeans(value, np.maximum(squared, 0.0), found.count, gradient, at)


def _ratio(found: Moments, above: int, below: int) -> tuple[Floats, Floats]:
    """Return a ratio of means, and how it changes with the means of all columns."""
    with np.errstate(divide="ignore", invalid="ignore"):
        under = found.mean[..., below]
        value = found.mean[..., above] / under
        gradient = np.zeros_like(found.mean)
        gradient[..., above] += 1 / under
        gradient[..., below] -= value / under
    bad = ~np.isfinite(value)
    if bad.any():
        value = np.where(bad, np.nan, value)
        gradient = np.where(bad[..., None], np.nan, gradient)
    return value, gradient


def _product(left: Floats, matrix: Floats, right: Floats) -> Floats:
    return np.asarray(np.einsum("...i,...ij,...j->...", left, matrix, right))
