"""Metrics of an experiment, and differences between variants for one or several looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from cranfield.base.arrays import Bools, Floats, Indices, slice_rows
from cranfield.base.errors import PolicyError, check_choice, check_proportion, quote
from cranfield.base.spec import Registry, Spec, number, parameter
from cranfield.base.streams import make_stream
from cranfield.significance.comparison.equivalence import read_margin
from cranfield.significance.differences import (
    ROUNDING,
    bound_by_fieller,
    compute_difference_pvalues,
    compute_tail_pvalues,
    orient,
    standardise_difference,
)
from cranfield.significance.resampling import as_integers, count_in_tail, draw_counts


@dataclass(frozen=True, eq=False)
class Moments:
    """Numbers of units, means of columns and scatter matrices, by group."""

    n_units: Floats  # Number of units, shape (...,), such as (segments, variants)
    mean: Floats  # Shape (..., columns)
    scatter: Floats  # Sums of products of deviations from the mean, shape (..., columns, columns)

    @property
    def covariance(self) -> Floats:
        """Covariances with n - 1 in the denominator; NaN for fewer than two units."""
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = self.scatter / np.maximum(self.n_units - 1, 0)[..., None, None]
        return np.where((self.n_units > 1)[..., None, None], covariance, np.nan)

    def pool(self) -> Moments:
        """Merge all groups along the last axis."""
        axis = self.n_units.ndim - 1
        merged = self._merge(lambda array: array.sum(axis=axis, keepdims=True), axis)
        return Moments(*(np.squeeze(array, axis) for array in vars(merged).values()))

    def accumulate(self) -> Moments:
        """Merge each group with all groups before it along the first axis."""
        return self._merge(lambda array: np.cumsum(array, axis=0), 0)

    def _merge(self, add: Callable[[Floats], Floats], axis: int) -> Moments:
        """Merge groups along an axis, with sums around a common centre to avoid cancellation."""
        is_nonempty = (self.n_units > 0)[..., None]
        sums = np.where(is_nonempty, self.n_units[..., None] * self.mean, 0.0)
        n_total = np.maximum(self.n_units.sum(axis=axis, keepdims=True), 1)[..., None]
        centre = sums.sum(axis=axis, keepdims=True) / n_total
        deviations = np.where(is_nonempty, self.mean - centre, 0.0)
        totals = self.n_units[..., None] * deviations
        n_units, first_moment = add(self.n_units), add(totals)
        second_moment = add(self.scatter + totals[..., :, None] * deviations[..., None, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = first_moment / n_units[..., None]
        correction = first_moment[..., :, None] * shift[..., None, :]
        scatter = second_moment - np.nan_to_num(correction)
        return Moments(n_units, centre + shift, scatter)


def compute_moments(columns: Floats, group: Indices, shape: tuple[int, ...]) -> Moments:
    """Compute the moments of each group of units; units with group -1 are excluded."""
    columns, group = columns[group >= 0], group[group >= 0]
    n_groups, width = int(np.prod(shape)), columns.shape[1]
    n_units = np.bincount(group, minlength=n_groups).astype(np.float64)
    # If all values of a column in a group are equal, the mean is exactly this value.
    examples = np.zeros((n_groups, width))
    examples[group] = columns
    is_different, mean = columns != examples[group], np.empty((n_groups, width))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(width):
            mean[:, k] = np.bincount(group, weights=columns[:, k], minlength=n_groups) / n_units
            n_different = np.bincount(group, weights=is_different[:, k], minlength=n_groups)
            is_constant = (n_units > 0) & (n_different == 0)
            mean[is_constant, k] = examples[is_constant, k]
    residuals = columns - mean[group]
    # Equal values may differ from their mean by rounding.
    residuals[np.abs(residuals) <= 2.0**-50 * np.abs(mean)[group]] = 0.0
    scatter = np.empty((n_groups, width, width))
    for i, j in combinations_with_replacement(range(width), 2):
        sums = np.bincount(group, residuals[:, i] * residuals[:, j], n_groups)
        scatter[:, i, j] = scatter[:, j, i] = sums
    scatter = scatter.reshape(*shape, width, width)
    return Moments(n_units.reshape(shape), mean.reshape(*shape, width), scatter)


def compute_skewness(values: Floats) -> float:
    """Compute the standardised third moment; 0 if all values are equal."""
    centred = values - values.mean()
    variance = float((centred**2).mean())
    return float((centred**3).mean() / variance**1.5) if variance > 0 else 0.0


THETAS = ("pooled", "within")  # Coefficient of a covariate: over all units, or within variants
ONES_COLUMN = 0  # Index of the column of ones, the denominator of a mean


@dataclass(frozen=True)
class Metric:
    """A mean over units, or a ratio of two means, such as clicks per page.

    Parameters
    ----------
    value
        A column such as `revenue`, or a ratio of two columns such as `clicks/pages`: the sum of the
        first divided by the sum of the second. Names with a slash are set as a tuple of names.
    covariate
        Pre-experiment values of the same units, for variance reduction (CUPED): a column, or a
        ratio of two columns. They must be known before a unit is exposed; values that the
        experiment can change are not a valid covariate.
    better
        Whether `higher` or `lower` values are better; by default `higher`, or for a log the
        direction of the measure.
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
    better: str | None = None
    margin: float | str | None = None

    def __post_init__(self) -> None:
        numerator, _, covariate, _ = self.list_columns()
        if numerator == covariate:
            expected = "a covariate must be a column with values from before the experiment"
            raise PolicyError(f"{expected}, got the metric itself, {quote(covariate)}")
        if self.better is not None:
            check_choice("better", self.better, ("higher", "lower"))
        if self.margin is not None:
            read_margin(self.margin)

    def list_columns(self) -> tuple[str, str, str, str]:
        """List numerator and denominator of value and covariate; "" for a missing name."""
        covariate = ("", "") if self.covariate is None else _split_ratio(self.covariate)
        return (*_split_ratio(self.value), *covariate)

    def __repr__(self) -> str:
        value, *options = vars(self).items()
        arguments = [f"{name}={option!r}" for name, option in options if option is not None]
        return f"Metric({', '.join([repr(value[1]), *arguments])})"


def _split_ratio(value: Any) -> tuple[str, str]:
    names: Any = value.split("/") if isinstance(value, str) else value
    has_texts = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
    if not (has_texts and 1 <= len(names) <= 2 and all(name.strip() for name in names)):
        expected = "a metric must be a column or a ratio of two columns, such as clicks/pages"
        raise PolicyError(f"{expected}, got {quote(value)}")
    return (names[0].strip(), names[1].strip() if len(names) == 2 else "")


def read_metrics(metrics: Any) -> dict[str, Metric]:
    """Convert names of columns, or a mapping of names to metrics, to metrics by name."""
    if isinstance(metrics, (str, Metric)):
        metrics = [metrics]
    if isinstance(metrics, Sequence):
        metric_list = [item if isinstance(item, Metric) else Metric(item) for item in metrics]
        metrics = {
            m.value if isinstance(m.value, str) else "/".join(filter(None, m.list_columns()[:2])): m
            for m in metric_list
        }
    if not isinstance(metrics, Mapping) or not metrics:
        expected = "metrics must be one or more columns, or a mapping of names to columns"
        raise PolicyError(f"{expected}, got {quote(metrics)}")
    items = metrics.items()
    return {str(k): item if isinstance(item, Metric) else Metric(item) for k, item in items}


@dataclass(frozen=True)
class MetricColumns:
    """Indices of the columns of a metric; `covariate` is -1 without a covariate."""

    numerator: int
    denominator: int = ONES_COLUMN
    covariate: int = -1
    covariate_denominator: int = ONES_COLUMN


@dataclass(frozen=True, eq=False)
class ArmMeans:
    """Values of a metric by variant, with squared standard errors."""

    value: Floats  # Shape (..., variants)
    squared_error: Floats  # Squared standard errors, of the same shape
    n_units: Floats  # Numbers of units, of the same shape
    # Gradient with respect to the means of all columns, shape (..., variants, columns)
    gradient: Floats
    # Computes the metric, with the same coefficient of a covariate, from means of columns
    evaluate: Callable[[Floats], Floats]

    @classmethod
    def from_gradient(
        cls, groups: Moments, value: Floats, gradient: Floats, evaluate: Callable[[Floats], Floats]
    ) -> ArmMeans:
        """Compute squared standard errors by the delta method; differences by rounding become 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = _multiply(gradient, groups.covariance, gradient) / groups.n_units
        value_error, scatter_error = _bound_rounding(groups, gradient)
        is_constant = _multiply(gradient, groups.scatter, gradient) <= scatter_error
        squared_error = np.maximum(np.where(is_constant, np.minimum(variance, 0), variance), 0.0)
        is_equal = np.abs(value - value[..., :1]) <= np.maximum(value_error, value_error[..., :1])
        is_equal &= (squared_error == 0) & (squared_error[..., :1] == 0)
        value = np.where(is_equal, value[..., :1], value)
        return cls(value, squared_error, groups.n_units, gradient, evaluate)


def estimate_arms(
    groups: Moments, metric: MetricColumns, theta: str = "pooled", all_units: Moments | None = None
) -> ArmMeans:
    r"""Estimate a metric of each variant from moments of shape (..., variants).

    A ratio of means R = x/y has the variance of x - R y divided by the squared mean of y (delta
    method: Deng et al., 2018). With a covariate C, which is a mean or a ratio, the metric is

    .. math:: R_j - \theta (C_j - \bar{C}), \quad
        \theta = \frac{\mathrm{cov}(R, C)}{\mathrm{var}(C)}

    (CUPED: Deng et al., 2013) for variant j, where :math:`\bar C` is C over all units. Covariances
    of linearised values are over all units (`theta` is "pooled") or within variants ("within").
    `all_units` has the moments of all units; by default, those of the variants are merged.
    """
    value, gradient = _divide(groups, metric.numerator, metric.denominator)
    factor = pivot = np.zeros(groups.n_units.shape[:-1])[..., None]
    if metric.covariate >= 0:
        all_units = groups.pool() if all_units is None else all_units
        covariate_value, slope = _divide(groups, metric.covariate, metric.covariate_denominator)
        centre, pooled_slope = _divide(all_units, metric.covariate, metric.covariate_denominator)
        if theta == "pooled":
            _, pooled_gradient = _divide(all_units, metric.numerator, metric.denominator)
            cov = _multiply(pooled_gradient, all_units.scatter, pooled_slope)
            var = _multiply(pooled_slope, all_units.scatter, pooled_slope)
        else:
            cov = _multiply(gradient, groups.scatter, slope).sum(axis=-1)
            var = _multiply(slope, groups.scatter, slope).sum(axis=-1)
        # A covariate without variance has no effect.
        is_varying = var > _bound_rounding(all_units, pooled_slope)[1]
        factor = np.divide(cov, var, out=np.zeros_like(cov), where=is_varying)[..., None]
        pivot = centre[..., None]
        value = value - factor * (covariate_value - pivot)
        gradient = gradient - factor[..., None] * slope

    def evaluate(mean: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = mean[..., metric.numerator] / mean[..., metric.denominator]
            if metric.covariate < 0:
                return ratio
            covariate = mean[..., metric.covariate] / mean[..., metric.covariate_denominator]
            return np.asarray(ratio - factor * (covariate - pivot))

    return ArmMeans.from_gradient(groups, value, gradient, evaluate)


def _bound_rounding(groups: Moments, gradient: Floats) -> tuple[Floats, Floats]:
    """Return the largest rounding errors of a function of means, and of the function's scatter."""
    # The error of a sum of n products is at most proportional to n.
    rounding = np.maximum(ROUNDING, groups.n_units * 2.0**-54)
    weights, scatter = np.abs(gradient), np.abs(groups.scatter)
    squares = np.diagonal(scatter, axis1=-2, axis2=-1) / np.maximum(groups.n_units, 1)[..., None]
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.hypot(groups.mean, np.sqrt(squares))
        value_error = rounding * (weights * sizes).sum(axis=-1)
        scatter_error = rounding * _multiply(weights, scatter, weights)
        return value_error, np.maximum(scatter_error, groups.n_units * value_error**2)


def _divide(groups: Moments, numerator: int, denominator: int) -> tuple[Floats, Floats]:
    """Divide two means; also return the gradient with respect to the means of all columns."""
    with np.errstate(divide="ignore", invalid="ignore"):
        divisor = groups.mean[..., denominator]
        value = groups.mean[..., numerator] / divisor
        gradient = np.zeros_like(groups.mean)
        gradient[..., numerator] += 1 / divisor
        gradient[..., denominator] -= value / divisor
    is_defined = np.isfinite(value)
    return np.where(is_defined, value, np.nan), np.where(is_defined[..., None], gradient, np.nan)


def _multiply(left: Floats, matrix: Floats, right: Floats) -> Floats:
    return np.asarray(np.einsum("...i,...ij,...j->...", left, matrix, right))


INFERENCE = ("low", "high", "lift low", "lift high", "p")  # Columns of the report

LIFT_METHODS = ("log", "linear", "fieller")  # Methods for the confidence interval of the lift
CriticalValue = Callable[[Floats], Floats]  # Critical values by degrees of freedom

Bounds = tuple[Floats, Floats]  # Lower and upper bounds

MIN_UNITS = 10  # Number of units in a variant below which Welch's test is unreliable


@dataclass(frozen=True, eq=False)
class Effects:
    """Means of two variants, and inference on their difference; arrays of one shape."""

    control: Floats  # Mean of the control
    treatment: Floats  # Mean of the other variant
    control_squared_error: Floats  # Squared standard errors of the two means
    treatment_squared_error: Floats
    n_control_units: Floats  # Numbers of units of the two variants
    n_treatment_units: Floats

    @classmethod
    def from_arms(cls, arms: ArmMeans, treatment: int) -> Effects:
        """Compare a variant of the last axis with the first one, the control."""
        arrays = arms.value, arms.squared_error, arms.n_units
        return cls(*(array[..., k] for array in arrays for k in (0, treatment)))

    @property
    def difference(self) -> Floats:
        """Mean of the treatment minus mean of the control."""
        return self.treatment - self.control

    @property
    def lift(self) -> Floats:
        """Difference relative to the mean of the control; NaN if this mean is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.control == 0, np.nan, self.treatment / self.control - 1)

    @property
    def n_units(self) -> Floats:
        """Total number of units of the two variants."""
        return self.n_control_units + self.n_treatment_units

    @property
    def has_few_units(self) -> Bools:
        """Whether a variant has too few units for Welch's test."""
        return np.asarray(np.minimum(self.n_control_units, self.n_treatment_units) < MIN_UNITS)

    @property
    def is_constant(self) -> Bools:
        """Whether the values of a variant are all equal."""
        return np.asarray((self.control_squared_error == 0) | (self.treatment_squared_error == 0))

    @property
    def has_zeros_only(self) -> Bools:
        """Whether all values of the treatment are 0, so that a ratio has no standard error."""
        return np.asarray((self.treatment == 0) & (self.treatment_squared_error == 0))

    @property
    def standard_error(self) -> Floats:
        return np.sqrt(self.control_squared_error + self.treatment_squared_error)

    @property
    def df(self) -> Floats:
        return self._compute_df(self.control_squared_error, self.treatment_squared_error)

    def _compute_df(self, control: Floats, treatment: Floats) -> Floats:
        # Proportions are used since squares of variances may underflow.
        with np.errstate(divide="ignore", invalid="ignore"):
            proportion = control / (control + treatment)
            n, m = self.n_control_units - 1, self.n_treatment_units - 1
            df = 1 / (proportion**2 / n + (1 - proportion) ** 2 / m)
        return np.nan_to_num(df, nan=1.0, posinf=1.0)

    @property
    def statistic(self) -> Floats:
        """Difference divided by its standard error; 0 if the means are equal."""
        return standardise_difference(self.difference, self.standard_error)

    def compute_pvalue(self, alternative: str = "two-sided") -> Floats:
        """Compute the p-value of Welch's test; NaN if the standard error is unknown.

        If values are constant within both variants and the means differ, it is the p-value of the
        exact permutation test: no other assignment of the units has so large a difference.
        """
        statistics = self.statistic, self.standard_error, self.df
        pvalue = compute_difference_pvalues(*statistics, alternative)
        n, m = self.n_control_units, self.n_treatment_units
        log_assignments = gammaln(n + m + 1) - gammaln(n + 1) - gammaln(m + 1)
        tail = np.where(orient(self.difference, alternative) > 0, np.exp(-log_assignments), 1.0)
        is_separated = (self.standard_error == 0) & (self.difference != 0)
        pvalue = np.where(is_separated, compute_tail_pvalues(tail, alternative), pvalue)
        return np.where(np.isnan(self.standard_error + self.difference), np.nan, pvalue)

    def compute_interval(self, critical_value: CriticalValue) -> Bounds:
        """Compute the interval of the difference; NaN if both variants have constant values."""
        with np.errstate(invalid="ignore"):
            standard_error = np.where(self.standard_error == 0, np.nan, self.standard_error)
            half_width = critical_value(self.df) * standard_error
        return self.difference - half_width, self.difference + half_width

    def compute_lift_interval(self, critical_value: CriticalValue, method: str = "log") -> Bounds:
        r"""Compute the confidence interval of the lift.

        `log` is computed for the logarithm of the ratio of means m, with squared standard error
        :math:`v_0/m_0^2 + v_1/m_1^2` for squared standard errors v of the means; `linear` for the
        ratio itself, by the delta method; `fieller` contains the ratios that a test does not
        reject, and is unbounded if the mean of the control may be 0. The bounds are NaN if the
        method has no interval, values are constant within both variants, the mean of the control is
        0, or all values of the treatment are 0.
        """
        control, treatment = self.control, self.treatment
        v, w = self.control_squared_error, self.treatment_squared_error
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            quotient = treatment / control
            if method == "fieller":
                critical_square = critical_value(self._compute_df(v * quotient**2, w)) ** 2
                covariance = np.zeros_like(control)
                low, high = bound_by_fieller(control, treatment, v, w, covariance, critical_square)
            elif method == "linear":
                ratio_error = np.sqrt(w / control**2 + v / control**2 * quotient**2)
                half_width = critical_value(self.df) * ratio_error
                low, high = quotient - half_width, quotient + half_width
            else:
                a, b = v / control**2, w / treatment**2
                factor = np.exp(critical_value(self._compute_df(a, b)) * np.sqrt(a + b))
                ratio = np.where(quotient > 0, quotient, np.nan)
                low, high = ratio / factor, ratio * factor
        is_undefined = ~np.isfinite(quotient) | (self.standard_error == 0) | self.has_zeros_only
        return np.where(is_undefined, np.nan, low - 1), np.where(is_undefined, np.nan, high - 1)

    def compute_inference(self, critical_value: CriticalValue, lift: str) -> tuple[Floats, ...]:
        lift_bounds = self.compute_lift_interval(critical_value, lift)
        return (*self.compute_interval(critical_value), *lift_bounds, self.compute_pvalue())

    def shift_by_margin(self, margin: float | str, better: str) -> Effects:
        """Shift the control by the margin, the largest accepted loss: a number or a percentage."""
        size, is_percentage = read_margin(margin)
        sign = -1 if better == "higher" else 1
        factor = 1 + sign * size / 100 * np.sign(self.control) if is_percentage else np.ones(())
        control = self.control * factor + (0.0 if is_percentage else sign * size)
        squared_error = self.control_squared_error * factor**2
        return replace(self, control=control, control_squared_error=squared_error)


class Sequential(Spec):
    r"""A sequential method, valid at every look, from a mixture of likelihood ratios.

    For an estimate d with standard error s, and a prior variance r s^2 of the parameter,

    .. math:: \log \Lambda = -\frac12 \log(1 + r) + \frac{d^2}{s^2} \frac{r}{2 (1 + r)}

    Without a difference, the probability that :math:`\log \Lambda` ever reaches
    :math:`\log(1/\alpha)` is at most alpha for normal estimates with known variance (Robbins,
    1970), and approximately so for means of many units. So the p-value is the smallest
    :math:`1/\Lambda` at any look.
    """

    name: ClassVar[str]

    def get_variance_ratio(self, squared_error: Floats, units: Floats, alpha: float) -> Floats:
        """Return the prior variance divided by the squared standard error, for each look."""
        raise NotImplementedError


class ConfidenceSequence(Sequential):
    r"""Asymptotic confidence sequence, narrowest near the number of units for which it is tuned.

    .. math:: d \pm s \sqrt{\frac{2 (N\rho^2 + 1)}{N \rho^2} \log\frac{\sqrt{N\rho^2+1}}{\alpha}},
        \quad \rho^2 = \frac{-2 \log\alpha + \log(1 - 2 \log\alpha)}{N^*}

    for N units, tuned for :math:`N^*`. Source: Waudby-Smith et al. (2024), as implemented in
    GrowthBook.
    """

    name = "CS"
    tuned = parameter(5000, number(1), "total number of units at which intervals are narrowest")

    def get_variance_ratio(self, squared_error: Floats, units: Floats, alpha: float) -> Floats:
        log_term = -2 * np.log(alpha)
        return np.asarray(units * (log_term + np.log(1 + log_term)) / self.tuned)


class MixtureSPRT(Sequential):
    r"""Mixture sequential probability ratio test, with a normal prior of the difference.

    .. math:: \Lambda = \sqrt{\frac{V}{V + n \tau^2}}
        \exp\left(\frac{n^2 \tau^2 d^2}{2 V (V + n \tau^2)}\right)

    where V/n is the variance of the difference d of n units, and tau the prior standard deviation.
    Source: Johari, Pekelis and Walsh (2015).
    """

    name = "mSPRT"
    tau = parameter(0.1, number(0, excludes_low=True), "assumed standard deviation of true effects")

    def get_variance_ratio(self, squared_error: Floats, units: Floats, alpha: float) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(self.tau**2 / squared_error)


SEQUENTIAL: Registry[type[Sequential]] = Registry(
    "sequential method",
    components={"CS": ConfidenceSequence, "mSPRT": MixtureSPRT},
    aliases={"confidence-sequence": "CS", "MixtureSPRT": "mSPRT"},
    base=Sequential,
)


def compute_half_width(variance_ratio: Floats, alpha: float) -> Floats:
    """Compute the half-width in standard errors: the z whose likelihood ratio is 1/alpha."""
    threshold = np.log1p(variance_ratio) / 2 - np.log(alpha)
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(2 * (1 + 1 / variance_ratio) * threshold))


def always_valid_inference(
    difference: ArrayLike,
    error: ArrayLike,
    units: ArrayLike,
    method: str | Sequential = "CS",
    *,
    alpha: float = 0.05,
) -> tuple[Floats, Floats, Floats]:
    r"""Compute intervals and p-values of differences that are valid at every look.

    Parameters
    ----------
    difference, error
        Estimate so far and its standard error at each look, or one look; looks are the last axis.
    units
        Number of units of both variants so far, at each look.
    method
        `CS(tuned=5000)`: asymptotic confidence sequence, narrowest near that number of units; or
        `mSPRT(tau=0.1)`: mixture test with the assumed standard deviation of the true difference.
        The method must be chosen before the first look.
    alpha
        Significance level, over all looks.

    Returns
    -------
    low, high
        Bounds of the confidence interval at each look; infinite if the standard error is 0 or NaN.
    p
        Smallest p-value so far, at each look.

    Raises
    ------
    PolicyError
        For an infinite difference, an unknown method, or an alpha that is not between 0 and 1.

    Examples
    --------
    >>> _, _, p = always_valid_inference([0.1, 0.1], [0.05, 0.02], [1000, 6000], "CS(tuned=5000)")
    >>> p.round(4).tolist()
    [0.4716, 0.0]
    """
    sequential = SEQUENTIAL.parse(method)
    check_proportion("alpha", alpha)
    d, s, n = (np.asarray(values, dtype=np.float64) for values in (difference, error, units))
    if np.isinf(d).any():
        raise PolicyError(f"difference must be finite or NaN, got {d[np.isinf(d)][0]:g}")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        variance_ratio = sequential.get_variance_ratio(s**2, n, alpha)
        z = np.where(s > 0, d / s, 0.0)
        # Without variance there is neither evidence nor an interval.
        has_variance = (s > 0) & np.isfinite(s)
        half_widths = np.where(has_variance, compute_half_width(variance_ratio, alpha) * s, np.inf)
        # The factor r / (1 + r) of the likelihood ratio is 1 for infinite r.
        factor = variance_ratio / (1 + np.minimum(variance_ratio, 1e300))
        factor = np.where(np.isinf(variance_ratio), 1.0, factor)
        log_ratio = z**2 * factor / 2 - np.log1p(variance_ratio) / 2
        log_ratio = np.where(has_variance, log_ratio, 0.0)
    p = np.minimum(1.0, np.exp(-log_ratio))
    if p.ndim:
        p = np.minimum.accumulate(p, axis=-1)
    return d - half_widths, d + half_widths, p


BOOTSTRAP_WEIGHTS = ("poisson", "multinomial")  # Bootstrap weights: independent, or of fixed sum
BLOCK_DRAWS = 2**20  # Maximum number of weights drawn at a time; results for a seed depend on it


def resample_means(
    columns: Floats, codes: Indices, n_variants: int, *, resamples: int, weights: str, seed: int
) -> Floats:
    """Compute means of columns over resampled units, shape (variants, resamples, columns)."""
    # Columns, of which the first is all 1, are scaled to integers, so that sums are exact.
    means = np.full((n_variants, resamples, columns.shape[1]), np.nan)
    for k in range(n_variants):
        variant_columns = columns[codes == k]
        # The weights of a sum add up to at most about twice the number of units.
        max_terms = 2 * len(variant_columns) + 64
        scaled_columns = [as_integers(column, max_terms) for column in variant_columns.T]
        integers = np.stack([values for values, _ in scaled_columns], axis=1)
        scales = np.array([scale for _, scale in scaled_columns])
        draws = _draw_weights(make_stream(seed, k), resamples, len(variant_columns), weights)
        for rows, counts in draws:
            sums = (counts @ integers) * scales
            with np.errstate(divide="ignore", invalid="ignore"):
                means[k, rows] = sums / sums[:, :1]
    return means


def _draw_weights(
    rng: np.random.Generator, resamples: int, n_units: int, weights: str
) -> Iterator[tuple[slice, Floats]]:
    if weights == "multinomial":
        yield from draw_counts(rng, resamples, n_units)
        return
    for rows in slice_rows(resamples, n_units, BLOCK_DRAWS):
        draws = rng.poisson(1.0, size=(rows.stop - rows.start, n_units))
        # A resample of few units may be empty, and is drawn again.
        while (is_empty := ~draws.any(axis=1)).any():
            draws[is_empty] = rng.poisson(1.0, size=(int(is_empty.sum()), n_units))
        yield rows, draws.astype(np.float64)


def compute_percentiles(values: Floats, level: float) -> tuple[float, float]:
    """Return a percentile interval; NaN if a value is NaN, infinite for too few values."""
    if np.isnan(values).any():
        return np.nan, np.nan
    sorted_values = np.sort(values)
    rank = int(count_in_tail((1 - level) / 2, sorted_values.size))
    if rank < 1:
        return -np.inf, np.inf
    return float(sorted_values[rank - 1]), float(sorted_values[-rank])


def compute_tail_pvalue(values: Floats) -> float:
    """Compute the two-sided p-value of no effect (0): twice that of the smaller tail."""
    if np.isnan(values).any():
        return np.nan
    tail = min(int((values <= 0).sum()), int((values >= 0).sum()))
    return min(1.0, 2 * (tail + 1) / (values.size + 1))
