"""Estimated values of policies with confidence intervals, and summaries of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.errors import PolicyError
from cranfield.base.streams import stream
from cranfield.base.text import counted
from cranfield.collection.judged.rows import ratio
from cranfield.result import Column, Columns, Result
from cranfield.significance.differences import t_interval

BLOCK_DRAWS = 2**21  # Number of values drawn at a time; results of a seed depend on it

TOLERANCE = 1e-12  # Relative standard error below which values differ by rounding only

Interval = tuple[float, int, int]  # Level, resamples of units (0: t), seed
STUDENT: Interval = (0.95, 0, 0)  # A 95% interval by Student's t


class Means(NamedTuple):
    """Means of the policy and the log, and their difference, with intervals; each of shape (3,).

    An interval is NaN if the mean is the same in all units.
    """

    estimate: Floats
    standard_error: Floats
    low: Floats
    high: Floats

    def notes(self, n_units: int, unit: str) -> list[str]:
        """Return notes on missing intervals of the policy, the log, or their difference."""
        names = np.array(VALUES)[np.isnan(self.low) & ~np.isnan(self.estimate)]
        cause = f"{', '.join(names)}: equal in all {unit}s"
        cause = f"one {unit} only" if n_units < 2 else cause
        return [f"{cause}: no interval can be computed"] if names.size or n_units < 2 else []


VALUES = ("policy", "logged", "difference")  # Names of the means


def compare_ratios(
    totals: NDArray[Any], numbers: Floats, code: Indices, n_units: int, interval: Interval = STUDENT
) -> Means:
    r"""Compare two ratios of sums over units, :math:`R = \sum_u t_u / \sum_u n_u`.

    By the delta method, the variance is that of the sum over units of
    :math:`(t_u - R n_u) / \sum n`; with n = 1 in each unit, R is a mean.
    """
    columns = np.concatenate([totals, numbers], axis=1).T
    sums = np.stack([np.bincount(code, weights=values, minlength=n_units) for values in columns])
    estimate = _append_difference(_ratio(sums.sum(axis=1)))
    if n_units < 2:
        return Means(estimate, *np.full((3, 3), np.nan))
    denominators = sums[2:].sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = _append_difference((sums[:2] - estimate[:2, None] * sums[2:]) / denominators)
    error = np.sqrt(n_units / (n_units - 1) * (terms**2).sum(axis=1))
    confidence, resamples, seed = interval
    if resamples:
        samples = np.empty((resamples, 3))
        uniform = np.full(n_units, 1 / n_units)
        for block, rows in enumerate(row_slices(resamples, n_units, BLOCK_DRAWS)):
            counts = stream(seed, block).multinomial(n_units, uniform, size=rows.stop - rows.start)
            samples[rows] = _append_difference(_ratio(sums @ counts.T.astype(np.float64))).T
        tail = (1 - confidence) / 2
        low, high = np.nanquantile(samples, [tail, 1 - tail], axis=0)
    else:
        low, high = t_interval(estimate, error, n_units - 1, confidence)
    is_constant = error <= TOLERANCE * np.abs(estimate)
    return Means(estimate, error, *(np.where(is_constant, np.nan, bound) for bound in (low, high)))


def _ratio(sums: NDArray[Any]) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:2] / sums[2:])


def _append_difference(values: Floats) -> Floats:
    return np.concatenate([values, values[:1] - values[1:]])


MIN_SAMPLE_SIZE = 100  # Effective sample size below which intervals are unreliable
MAX_PROPORTION = 0.05  # Proportion of the sum above which one weight has too much influence
MAX_DEVIATION = 3.0  # Maximum number of standard errors by which the mean weight may differ from 1


@dataclass(frozen=True)
class WeightSummary:
    """Summary of weights, after clipping.

    Attributes
    ----------
    number
        Number of weights: one per action, or per list.
    effective
        Effective sample size :math:`(\\sum w)^2 / \\sum w^2` (Kish, 1965).
    mean, largest
        Mean and largest weight; the expected mean is 1 if weights are not clipped.
    heaviest
        Proportion of the sum of weights in the largest 1% of weights.
    clip, clipped
        Maximum weight, None for no limit, and the proportion of clipped weights.
    """

    number: int
    effective: float
    mean: float
    largest: float
    heaviest: float
    clip: float | None = None
    clipped: float = 0.0

    @classmethod
    def from_weights(cls, weights: Floats, clip: float | None) -> WeightSummary:
        """Clip and summarise weights."""
        clipped = weights if clip is None else np.minimum(weights, clip)
        if not clipped.size or not np.isfinite(clipped).all():
            raise PolicyError("weights must be one or more finite numbers")
        with np.errstate(over="ignore"):
            total, squares = clipped.sum(), np.square(clipped).sum()
            is_finite = np.isfinite(np.square(total) + squares)
        if not is_finite:
            raise PolicyError("weights must have a finite sum of squares")
        size = int(np.ceil(0.01 * clipped.size))
        top = np.partition(clipped, -size)[-size:].sum()
        effective, heaviest = ratio(np.square(total), squares), ratio(top, total)
        values = effective, clipped.mean(), clipped.max(), heaviest
        clipping = () if clip is None else (clip, (weights > clip).mean())
        return cls(clipped.size, *map(float, (*values, *clipping)))

    def __str__(self) -> str:
        note = "" if self.clip is None else f", {100 * self.clipped:.2f}% clipped at {self.clip:g}"
        heaviest = f"the largest 1% of them sum to {100 * self.heaviest:.1f}% of the total"
        weights = f"mean {self.mean:.4f}, largest {self.largest:.4g}, {heaviest}{note}"
        size = f"{self.effective:,.1f} of {self.number:,}"
        return f"effective sample size {size}; weights: {weights}"

    def warnings(self) -> list[str]:
        """Return reasons to doubt an estimate with these weights."""
        warnings = []
        if self.effective < MIN_SAMPLE_SIZE:
            size = f"effective sample size {self.effective:.1f}"
            warnings.append(f"{size}: confidence intervals are unreliable")
        if self.largest > MAX_PROPORTION * self.mean * self.number:
            percentage = 100 * self.largest / (self.mean * self.number) if self.mean else 0.0
            warnings.append(f"one weight is {percentage:.0f}% of the sum of weights")
        if self.clipped:
            percentage = 100 * self.clipped
            warnings.append(f"{percentage:.2f}% of weights are clipped, which biases the estimate")
        return warnings


@dataclass(frozen=True, eq=False, repr=False)
class PolicyValue(Result):
    """Estimated value of a policy; returned by :func:`policy_value` and :func:`run_value`.

    Attributes
    ----------
    estimator
        Name of the estimator.
    means
        Columns of the table as arrays, for the policy, the log, and the difference.
    estimate, standard_error, low, high
        Value of the policy: mean over lists of the sum of rewards, with its standard error and
        confidence interval.
    lists, units, unit
        Number of lists, number of independent units of lists, and name of the unit.
    weights
        Summary of the weights; None without weights.
    unseen
        Proportion of the policy's results that the log never shows at their rank; NaN if
        unknown.
    interval
        Confidence level of the intervals, number of bootstrap resamples (0: Student's t), and seed.
    warnings
        Reasons to doubt the estimate.
    """

    name: ClassVar[str] = "values"
    columns: ClassVar[Columns] = {
        "value": Column("`policy`, `logged`, or their `difference`.", key=True),
        "estimate": Column("Mean over lists of the sum of rewards.", decimals=6),
        "standard_error": Column("Standard error of the estimate; null for one unit.", decimals=6),
        "low": Column("Lower bound of the confidence interval; null if there is none.", decimals=6),
        "high": Column("Upper bound of the interval.", decimals=6),
    }

    estimator: str
    means: Means
    lists: int
    units: int
    unit: str
    weights: WeightSummary | None
    unseen: float
    interval: Interval
    warnings: tuple[str, ...]

    def __getattr__(self, name: str) -> float:
        if name not in Means._fields:
            raise AttributeError(f"PolicyValue has no attribute {name!r}")
        return float(getattr(self.means, name)[0])

    @property
    def logged(self) -> float:
        """Value of the logged lists, in the same unit of reward."""
        return float(self.means.estimate[1])

    @property
    def relative(self) -> float:
        """The estimate divided by the value of the logged lists; NaN if this value is 0."""
        return self.estimate / self.logged if self.logged else float("nan")

    @property
    def ess(self) -> float:
        """Effective sample size; NaN without weights."""
        return float("nan") if self.weights is None else self.weights.effective

    def _frame(self) -> pl.DataFrame:
        frame = pl.DataFrame({"value": VALUES, **self.means._asdict()})
        return frame.with_columns(pl.selectors.float().fill_nan(None))

    def facts(self) -> dict[str, Any]:
        return {name: fact for name, fact in super().facts().items() if name != "interval"}

    def note_lines(self) -> list[str]:
        return [f"note: {warning}" for warning in self.warnings]

    def heading(self) -> list[str]:
        lists = counted(self.lists, "list")
        if self.unit != "list":
            lists += f" by {self.unit}, {self.units:,} of them"
        weights = [] if self.weights is None else [str(self.weights)]
        confidence, resamples, seed = self.interval
        method = f"bootstrap, {resamples:,} samples, seed {seed}" if resamples else "Student's t"
        intervals = f"low, high: {confidence:g} confidence intervals, {method}, by {self.unit}"
        return [f"{self.estimator}: {self.estimate:.6g}, {lists}", *weights, intervals]
