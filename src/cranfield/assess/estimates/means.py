"""Prediction-powered means with intervals, from human labels of a sample and a judge's labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from math import prod
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import stdtrit

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import (
    PolicyError,
    as_numbers,
    check_integer,
    check_number,
    check_proportion,
    quote,
)
from cranfield.base.streams import make_stream
from cranfield.base.text import list_some, sanitise
from cranfield.collection.judged.rows import divide, number_rows
from cranfield.result import Column, Columns, Result

ROUNDING = 1e-12  # Relative rounding error, below which a value counts as 0
MAX_GRADE = 100  # Highest integer that counts as a grade
MIN_ERRORS = 8  # Minimum number of the judge's errors, or degrees of freedom, for a variance
FOLDS = 5  # Default number of folds for cross-fitting lambda
_MAX_LABEL = 1e100  # Maximum absolute label, so that sums of squares do not overflow


@dataclass(frozen=True)
class Fit:
    """Settings of an estimate: weight of the judge (None to learn it), cross-fitting and level."""

    lambda_: float | None = None
    folds: int = FOLDS
    seed: int = 0
    alpha: float = 0.05

    def __post_init__(self) -> None:
        check_proportion("alpha", self.alpha)
        check_integer("folds", self.folds, 1)
        check_integer("seed", self.seed, 0)
        if self.lambda_ is not None:
            check_number("lambda_", self.lambda_, 0, 1)

    def count_folds(self, size: int) -> int:
        """Return the number of folds for `size` items."""
        return min(int(self.folds), max(2, size))


@dataclass(frozen=True, eq=False, repr=False)
class PPIMeans(Result):
    """Means with confidence intervals; returned by :func:`ppi_mean` and :func:`stratified_mean`.

    Attributes
    ----------
    estimate, standard_error, low, high, lambda_, human, freedom
        Columns of the table; shape (means,), or () for one mean.
    n_items
        Number of items, with or without human labels.
    alpha
        One minus the confidence level.
    folds, seed
        Maximum number of folds and seed of cross-fitting; 0 folds if lambda was set.
    """

    name: ClassVar[str] = "means"
    columns: ClassVar[Columns] = {
        "estimate": Column("Estimated mean."),
        "standard_error": Column(
            "Standard error; 0 also if the sampled values are equal, although it is then unknown."
        ),
        "low": Column(
            "Lower confidence bound; NaN if the sampled values are equal, unless they are grades or"
            " (with strata) complete."
        ),
        "high": Column("Upper bound of the same confidence interval as `low`."),
        "lambda": Column(
            "Weight of the judge's labels, from 0 (human labels only) to 1; mean over folds."
        ),
        "human": Column("Number of human labels."),
        "freedom": Column(
            "Degrees of freedom of the t quantile; infinite for the normal quantile.", 1
        ),
    }

    estimate: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    lambda_: Floats
    human: Ints
    n_items: int
    freedom: Floats
    alpha: float
    folds: int
    seed: int
    _remarks: tuple[tuple[Bools, str], ...] = ()  # Notes, each with a mask of the affected means

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on means without an interval, or with one as wide as by human labels alone."""
        n_means = self.estimate.size
        return tuple(
            f"{is_affected.sum()} of {n_means} means: {note}" if n_means > 1 else note
            for is_affected, note in self._remarks
        )

    def _frame(self) -> pl.DataFrame:
        values = {**vars(self), "lambda": self.lambda_}
        return pl.DataFrame({name: np.atleast_1d(values[name]) for name in self.columns})

    def heading(self) -> list[str]:
        if self.estimate.ndim:
            return [f"{self.estimate.size} means of {self.n_items:,} items"]
        bounds = f"[{self.low:.4f}, {self.high:.4f}]"
        interval = "without interval: all values equal" if np.isnan(self.low) else bounds
        return [
            f"{self.estimate:.4f} {interval},"
            f" {self.human} human labels of {self.n_items:,}, lambda {self.lambda_:.2f}"
        ]


def name_notes(means: PPIMeans, names: Sequence[str]) -> list[str]:
    """Return the notes on means with the names of up to three means that they apply to."""
    return [
        f"mean of {list_some(map(sanitise, compress(names, is_affected)), 3)}: {note}"
        for is_affected, note in means._remarks
    ]


@dataclass(frozen=True, eq=False)
class HumanMean:
    """Variance of the mean of human labels, used if too few errors of the judge are known."""

    has_few_errors: Bools
    variance: Floats
    freedom: Floats


@dataclass(frozen=True, eq=False)
class GradeIntervals:
    r"""Intervals for means of grades from 0, such as binary labels, with any weight of the judge.

    They are defined in :func:`ppi_mean`. With lambda 0 and binary labels they equal the intervals
    of Agresti and Coull (1998); with lambda 1, those of Bonett and Price (2012) for paired
    proportions, except for the number of added pairs.
    """

    max_grade: Floats  # Highest grade of each mean; NaN if labels are not grades
    judge_mean: Floats  # Mean of the judge's labels, which has the weight lambda in the estimate
    variance: Floats  # Variance of the mean residual of human labels
    judge_variance: Floats  # Variance due to the judge's labels of other items
    inverse_size: Floats  # One over the effective number of human labels
    freedom: Floats  # Degrees of freedom of the quantile; infinite for independent labels

    def find_bounds(self, estimate: Floats, lambda_: Floats, alpha: float) -> tuple[Floats, Floats]:
        """Find the lower and the upper bound of each mean."""
        z = stdtrit(self.freedom, 1 - alpha / 2)
        added_weight = z**2 * self.inverse_size / (1 + z**2 * self.inverse_size)
        distance = lambda_ * self.judge_mean + self.max_grade * (1 - lambda_) / 2 - estimate
        centre = estimate + added_weight * distance
        added_variance = self.max_grade**2 * (1 + lambda_**2) / 4 + (1 - added_weight) * distance**2
        variance = (1 - added_weight) ** 2 * self.variance
        variance = variance + (added_weight / z) ** 2 * added_variance + self.judge_variance
        half_width = z * np.sqrt(variance)
        return np.maximum(centre - half_width, 0.0), np.minimum(centre + half_width, self.max_grade)


def find_highest_grade(y: Floats, f: Floats) -> Floats:
    """Return the highest label of each mean, at least 1; NaN if labels are not grades from 0."""
    max_grade = np.maximum(np.fmax.reduce(y, axis=1), f.max(axis=1)).clip(1.0)
    min_grade = np.minimum(np.fmin.reduce(y, axis=1), f.min(axis=1))
    is_integer = (np.isnan(y) | (y == np.trunc(y))).all(axis=1)
    has_range = ((min_grade == 0) | ((min_grade > 0) & (max_grade == 1))) & (max_grade <= MAX_GRADE)
    return np.where(is_integer & has_range, max_grade, np.nan)


def compute_intervals(
    estimate: Floats,
    variance: Floats,
    freedom: Floats,
    lambda_: Floats,
    n_human: Ints,
    n_items: int,
    fit: Fit,
    *,
    human_mean: HumanMean | None = None,
    grade_intervals: GradeIntervals | None = None,
    is_complete: Any = False,
    is_single: bool = False,
) -> PPIMeans:
    """Compute t intervals, or intervals of the human mean or of grades where they are required."""
    probability, standard_error = 1 - fit.alpha / 2, np.sqrt(variance)
    half_width = stdtrit(freedom, probability) * standard_error
    is_graded, notes = np.zeros(standard_error.shape, dtype=bool), []
    if human_mean is not None:
        is_wider = human_mean.has_few_errors & (human_mean.variance >= variance)
        human_half_width = stdtrit(human_mean.freedom, probability) * np.sqrt(human_mean.variance)
        half_width = np.where(is_wider, human_half_width, half_width)
        freedom = np.where(is_wider, human_mean.freedom, freedom)
        reason = (
            "the interval is as wide as by human labels alone, since human and judge's labels"
            " differ too rarely to estimate the errors of the judge"
        )
        notes.append((is_wider & (human_half_width > 0), reason))
    bounds: Any = (estimate - half_width, estimate + half_width)
    if grade_intervals is not None:
        is_graded = ~np.isnan(grade_intervals.max_grade) & ~np.asarray(is_complete)
        grade_bounds = grade_intervals.find_bounds(estimate, lambda_, fit.alpha)
        bounds = np.where(is_graded, grade_bounds, bounds)
        freedom = np.where(is_graded, grade_intervals.freedom, freedom)
    is_unknown = ~np.asarray(is_complete) & ~(half_width > ROUNDING * np.abs(estimate))
    low, high = np.where(is_unknown & ~is_graded, np.nan, bounds)
    notes.append((is_unknown, "no interval can be computed, as all values are equal"))
    remarks = [(is_affected & ~is_graded, note) for is_affected, note in notes]
    remarks = [(is_affected, note) for is_affected, note in remarks if is_affected.any()]
    columns: Any = estimate, standard_error, low, high, lambda_, n_human, freedom
    columns = [column[0] for column in columns] if is_single else columns
    names = ("estimate", "standard_error", "low", "high", "lambda_", "human", "freedom")
    values = dict(zip(names, columns, strict=True)) | {"alpha": fit.alpha, "seed": fit.seed}
    values["folds"] = fit.folds if fit.lambda_ is None else 0
    return PPIMeans(**values, n_items=n_items, _remarks=tuple(remarks))


def compute_satterthwaite_df(variances: Floats, counts: Any) -> Floats:
    """Compute Satterthwaite's degrees of freedom for sums of variances; infinite if all are 0."""
    denominator = divide(variances**2, np.maximum(counts - 1, 1)).sum(axis=1)
    freedom = divide(variances.sum(axis=1) ** 2, denominator)
    return np.where(freedom > 0, freedom, np.inf)


def sum_by_cell(values: Floats, cell: Ints, shape: tuple[int, ...]) -> Floats:
    """Sum values into an array; `cell` is the flat index of each value in the array."""
    sums = np.bincount(cell, weights=values, minlength=prod(shape))
    return sums.reshape(shape).astype(np.float64)


def sum_rows(values: Any, code: Ints, n_codes: int) -> Floats:
    """Sum the values of each row by code, an integer below `n_codes`; shape (rows, codes)."""
    n_rows = len(values)
    cell = (np.arange(n_rows)[:, None] * n_codes + code).ravel()
    return sum_by_cell(values.ravel(), cell, (n_rows, n_codes))


def compute_out_of_fold_moments(
    label: Floats, pred: Floats, cell: Ints, fold: Ints, n_folds: int, shape: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Compute cov(y, f) and var(f) outside each fold, or of all labels with a single fold."""
    products = (np.ones(label.size), label, pred, label * pred, pred * pred)
    sums = [sum_by_cell(values, cell * n_folds + fold, (*shape, n_folds)) for values in products]
    if n_folds > 1:
        sums = [total.sum(axis=-1, keepdims=True) - total for total in sums]
    n, y, f, yf, ff = sums
    return (
        np.where(n > 1, divide(yf - divide(y * f, n), n - 1), 0.0),
        np.where(n > 1, divide(ff - divide(f * f, n), n - 1), 0.0),
    )


def ppi_mean(
    human: Any,
    judge: Any,
    *,
    lambda_: float | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    alpha: float = 0.05,
    clusters: Any = None,
) -> PPIMeans:
    r"""Estimate a mean from few human labels and the labels of a judge for all items.

    With n human labels y, the judge's labels f of the same items, and of N others,

    .. math:: \hat\theta = \lambda \bar f_N + \frac1n \sum_i (y_i - \lambda f_i), \quad
        \widehat{var} = \lambda^2 \frac{s^2_N(f)}{N} + \frac{s^2_n(y - \lambda f)}{n}, \quad
        \lambda = \frac{cov(y, f)}{(1 + n/N)\, var(f)}

    with lambda clipped to [0, 1]. Humans label a random sample of the items, which are themselves a
    sample; no assumption is made on the errors of the judge. If lambda were learned from the labels
    to which it is applied, intervals would be too narrow; so the labels are divided into `folds`,
    and the lambda of a fold is learned from the other folds (cross-fitting). With fewer than two
    other items, or clusters of them, lambda is 0, whatever `lambda_` is.

    If human labels are grades, integers from 0 to 100 such as 0 and 1, and the lowest label of
    humans and judge is 0 (or the lowest is above 0 and the highest at most 1), the interval is our
    own extension of the interval of Agresti and Coull (1998) to residuals: z^2 pseudo-labels are
    added, a quarter each of the pairs (y, f) = (0, 0), (0, g), (g, 0) and (g, g), with g the
    highest grade of humans and judge. Its width is above 0 even if the sample has no error of the
    judge. Other labels have the t interval with n - 1 degrees of freedom. If humans and judge
    differ on fewer than 8 of these labels, and on less than half, the t interval is at least as
    wide as that of the human labels alone, with a note. It is NaN if its width would be 0.

    Source: Angelopoulos, Duchi and Zrnic (2023), PPI++; Zrnic and Candès (2024), cross-fitting;
    Bonett and Price (2012), paired proportions.

    Parameters
    ----------
    human
        Human labels as numbers, NaN for missing ones; shape (items,) or (means, items).
    judge
        Labels of the judge for all items; the same shape, or (items,) for all means.
    lambda_
        Weight of the judge, from 0 (human labels only) to 1 (PPI without power tuning); learned by
        default.
    folds
        Maximum number of folds for cross-fitting; with 1, lambda is learned from all labels, and
        intervals from few labels are too narrow.
    seed
        Seed of the random folds.
    alpha
        One minus the confidence level of the interval.
    clusters
        Cluster of each item, such as its topic, if items of the same cluster may depend on each
        other; shape (items,). Then clusters, not items, are the sampling units; for grades, the
        number of labels is divided by the design effect of clusters.

    Returns
    -------
    PPIMeans
        Means of shape (means,), or () for labels of shape (items,).

    Raises
    ------
    PolicyError
        For human labels of fewer than three items, or clusters, in a mean (two if lambda is set);
        for invalid shapes; for missing labels of the judge; for an option out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from cranfield.assess import ppi_mean
    >>> judge = np.tile([0.0, 1.0, 1.0, 0.0, 1.0], 40)
    >>> human = np.full(200, np.nan)
    >>> human[:10] = [0, 1, 1, 0, 0, 0, 1, 0, 0, 1]
    >>> ppi_mean(human, judge)
    PPIMeans(0.3873 [0.1851, 0.6919], 10 human labels of 200, lambda 0.72)
    >>> ppi_mean(human, judge, lambda_=0)
    PPIMeans(0.4000 [0.1671, 0.6884], 10 human labels of 200, lambda 0.00)
    >>> human[:10] = 1
    >>> ppi_mean(human, judge)
    PPIMeans(1.0000 [0.6791, 1.0000], 10 human labels of 200, lambda 0.00)
    """
    return estimate_means(human, judge, Fit(lambda_, folds, seed, alpha), clusters)


def estimate_means(
    human: Any, judge: Any, fit: Fit, clusters: Any = None, *, has_grade_intervals: bool = True
) -> PPIMeans:
    """Compute :func:`ppi_mean`; grades have t intervals if `has_grade_intervals` is False."""
    y, f, is_single = check_labels(human, judge, clusters)
    units = np.arange(y.shape[1]) if clusters is None else encode_clusters(clusters, y.shape[1])
    means = fit_means(y, f, units, fit)
    n, n_others = means.n_labels, y.shape[1] - means.n_labels
    # The linearised estimate is a sum of parts of human labels and of parts of other items.
    is_other, zeros = np.isnan(y), np.zeros(y.shape)
    label_part = np.zeros(y.shape)
    label_part[means.row, means.item] = (means.residual - means.mean[means.row]) / n[means.row]
    human_mean = np.where(is_other, 0.0, y).sum(axis=1) / n
    human_part = np.where(is_other, 0.0, y - human_mean[:, None]) / n[:, None]
    judge_mean = divide(np.where(is_other, f, 0.0).sum(axis=1), n_others)
    other_part = np.where(is_other, f - judge_mean[:, None], 0.0)
    other_part *= divide(means.lambda_, n_others)[:, None]
    variance, other_variance, human_variance = (
        _sum_variance(first, second, ~is_other, units)
        for first, second in ((label_part, other_part), (zeros, other_part), (human_part, zeros))
    )
    # Constant residuals carry no information on their variance.
    scale = np.abs(np.where(is_other, f, y)).max(axis=1)
    is_constant = np.abs(label_part).max(axis=1) * n <= ROUNDING * scale
    freedom = (means.n_units - 1).astype(np.float64)
    label_variance = np.where(is_constant, 0.0, np.maximum(variance - other_variance, 0.0))
    # Labels of a cluster are correlated, which reduces the effective number of labels.
    design_effect = divide(label_variance, divide((label_part**2).sum(axis=1) * n, n - 1.0))
    inverse_size = np.where(is_constant, 1 / means.n_units, np.maximum(design_effect, 1.0) / n)
    is_independent = means.n_units == n
    label_variance = np.where(is_independent, label_variance * (n - 1) / n, label_variance)
    freedom_of_grades = np.where(is_independent, np.inf, freedom)
    max_grade = find_highest_grade(y, f) if has_grade_intervals else np.full(n.size, np.nan)
    has_few_errors = mask_few_errors(y, f, n, means.lambda_)
    return compute_intervals(
        means.estimate,
        np.where(is_constant, 0.0, variance),
        freedom,
        means.lambda_,
        n,
        y.shape[1],
        fit,
        human_mean=HumanMean(has_few_errors, human_variance, freedom),
        grade_intervals=GradeIntervals(
            max_grade, judge_mean, label_variance, other_variance, inverse_size, freedom_of_grades
        ),
        is_single=is_single,
    )


def mask_few_errors(y: Floats, f: Floats, n_labels: Ints, lambda_: Floats) -> Bools:
    """Return a mask of the means with too few errors of the judge to estimate a variance."""
    n_errors = (~np.isnan(y) & (y != f)).sum(axis=1)
    return np.asarray((n_errors < MIN_ERRORS) & (2 * n_errors < n_labels) & (lambda_ > 0))


def _sum_variance(
    label_part: Floats, other_part: Floats, is_labelled: Bools, units: Ints
) -> Floats:
    """Compute the variance of a sum over units, with n / (n - 1) for each of its two parts."""
    parts = ((label_part, is_labelled), (other_part, ~is_labelled))
    if (units == np.arange(units.size)).all():
        first, second = (
            divide(n := mask.sum(axis=1), n - 1) * (terms**2).sum(axis=1) for terms, mask in parts
        )
        return np.asarray(first + second)
    n_units = int(units.max()) + 1

    def scale_sums(terms: Floats, mask: Bools) -> Floats:
        n = (sum_rows(mask, units, n_units) > 0).sum(axis=1)
        return np.asarray(sum_rows(terms, units, n_units) * np.sqrt(divide(n, n - 1))[:, None])

    return np.asarray(((scale_sums(*parts[0]) + scale_sums(*parts[1])) ** 2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class FittedMeans:
    """Prediction-powered means, with their terms by human label."""

    row: Ints  # Index of the mean of each human label
    item: Ints  # Item of each human label
    residual: Floats  # Human label minus lambda times the judge's label
    n_labels: Ints  # Number of human labels of each mean
    n_units: Ints  # Number of units with human labels of each mean
    mean: Floats  # Mean residual
    lambda_: Floats  # Mean lambda
    estimate: Floats


def fit_means(y: Floats, f: Floats, units: Ints, fit: Fit) -> FittedMeans:
    """Estimate means from human labels (NaN if missing) and a judge's; shape (means, items)."""
    n_means, n_items = y.shape
    f = np.broadcast_to(f, y.shape)
    row, item = np.nonzero(~np.isnan(y))
    n_labels = np.bincount(row, minlength=n_means)
    centred = f - f.mean(axis=1, keepdims=True)
    label, pred = y[row, item], centred[row, item]
    # Units are in the same random order for each mean; the labelled ones are assigned to folds.
    n_all_units = int(units.max(initial=-1)) + 1
    shuffled = make_stream(fit.seed).permutation(n_all_units)[units]
    labelled_units, unit_index = np.unique(row * n_all_units + shuffled[item], return_inverse=True)
    n_units = np.bincount(labelled_units // n_all_units, minlength=n_means)
    n_others = n_items - n_labels
    other_row, other_item = np.nonzero(np.isnan(y))
    other_units = np.unique(other_row * n_all_units + units[other_item]) // n_all_units
    # The variance of a judge's labels requires at least two units.
    has_variance = (np.bincount(other_units, minlength=n_means) > 1)[row]
    min_units = 3 if fit.lambda_ is None else 2
    if n_units.min(initial=min_units) < min_units:
        expected = f"human labels of at least {min_units} independent items, such as topics"
        raise PolicyError(f"expected {expected}, got {n_units.min()}")
    if fit.lambda_ is None:
        folds = fit.count_folds(int(n_units.max()))
        fold = (number_rows(labelled_units // n_all_units) - 1)[unit_index] % folds
        covariance, _ = compute_out_of_fold_moments(label, pred, row, fold, folds, (n_means,))
        judge_variance = divide((centred**2).sum(axis=1), np.full(n_means, max(n_items - 1, 1)))
        with np.errstate(over="ignore"):
            lambdas = divide(covariance[row, fold] * n_others[row], (n_items * judge_variance)[row])
        weight = np.where(has_variance, np.clip(lambdas, 0.0, 1.0), 0.0)
    else:
        weight = np.where(has_variance, fit.lambda_, 0.0)
    residual = label - weight * pred
    mean = divide(sum_by_cell(residual, row, (n_means,)), n_labels)
    lambda_ = divide(sum_by_cell(weight, row, (n_means,)), n_labels)
    labelled_sums = sum_by_cell(pred, row, (n_means,))
    # The judge's labels are centred, so those of other items sum to minus the labelled sum.
    estimate = mean - lambda_ * divide(labelled_sums, n_others)
    return FittedMeans(row, item, residual, n_labels, n_units, mean, lambda_, estimate)


def stratified_mean(
    human: Any,
    strata: Any,
    judge: Any = None,
    *,
    lambda_: float | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    alpha: float = 0.05,
) -> PPIMeans:
    r"""Estimate the mean of a population from human labels of a random sample of each stratum.

    With :math:`N_h` items of stratum h, of which :math:`n_h` are labelled, and residuals
    :math:`e = y - \lambda (f - \bar f_h)`, where :math:`\bar f_h` is the judge's mean over the
    entire stratum,

    .. math:: \hat\theta = \sum_h \frac{N_h}{N} \bar e_h, \quad \widehat{var} = \sum_h
        \left(\frac{N_h}{N}\right)^2 \left(1 - \frac{n_h}{N_h}\right) \frac{s_h^2(e)}{n_h}

    The items are the population, not a sample: a completely labelled stratum has no error. Without
    labels of a judge, the estimate is the stratified mean. Strata may be topics. They may also be
    the grades of a judge; then the labels of this judge add no further information.

    With a fixed lambda the estimate is unbiased over all samples. A learned lambda is cross-fitted:
    it is learned from the other folds, and the judge's mean is taken over the items of the stratum
    that are not labelled in these folds, so that the estimate is unbiased over samples and random
    folds. With `folds=1` it is biased.

    Intervals are as for :func:`ppi_mean`. For grades the effective number of labels is
    :math:`1 / \sum_h (N_h/N)^2 (1 - n_h/N_h) / n_h`; other labels have t intervals with
    Satterthwaite's degrees of freedom.

    Source: Cochran (1977), chapter 5, and chapter 7 with a judge; Fisch and others (2024),
    stratified prediction-powered inference.

    Parameters
    ----------
    human
        Human labels as numbers, NaN for missing ones; shape (items,) or (means, items).
    strata
        Stratum of each item; shape (items,).
    judge
        Labels of the judge for all items; the same shape as `human`, or (items,); or None.
    lambda_, folds, seed, alpha
        As for :func:`ppi_mean`.

    Returns
    -------
    PPIMeans
        Means of shape (means,), or () for labels of shape (items,).

    Raises
    ------
    PolicyError
        For an incomplete stratum with fewer than two human labels; else as for :func:`ppi_mean`.

    Examples
    --------
    >>> import numpy as np
    >>> human = np.full(100, np.nan)
    >>> human[:6] = [0, 0, 0, 1, 0, 0]
    >>> human[60:66] = [1, 1, 0, 1, 1, 1]
    >>> stratified_mean(human, np.repeat(["grade 0", "grade 1"], [60, 40]))
    PPIMeans(0.4333 [0.2426, 0.6544], 12 human labels of 100, lambda 0.00)
    """
    if judge is None:
        judge, lambda_ = np.zeros(np.shape(human)[-1:]), lambda_ or 0.0
    fit = Fit(lambda_, folds, seed, alpha)
    y, f, is_single = check_labels(human, judge, strata)
    code = encode_clusters(strata, y.shape[1])
    n_means, n_strata = y.shape[0], int(code.max(initial=-1)) + 1
    sizes = np.bincount(code, minlength=n_strata).astype(np.float64)
    mean = sum_rows(f, code, n_strata) / sizes
    row, item = np.nonzero(~np.isnan(y))
    cell = row * n_strata + code[item]
    n = np.bincount(cell, minlength=n_means * n_strata).reshape(n_means, n_strata)
    short_strata = np.argwhere((n < 2) & (n < sizes))
    if short_strata.size:
        mean_index, stratum = short_strata[0].tolist()
        raise PolicyError(
            f"expected human labels of at least 2 items of each stratum, or of all, got"
            f" {n[mean_index, stratum]} of {int(sizes[stratum])} items in stratum"
            f" {quote(np.asarray(strata)[np.argmax(code == stratum)])}"
        )
    pred, label = (f - mean[:, code])[row, item], y[row, item]
    scale = (sizes / sizes.sum()) ** 2 * divide(1 - n / sizes, n)
    weight, correction = np.full(label.size, lambda_ or 0.0), pred
    if lambda_ is None:
        # Items of each stratum are assigned to the folds in random order, round-robin.
        random_order = make_stream(seed).permutation(y.shape[1])[item]
        order = np.lexsort((random_order, cell))
        fold = np.empty(cell.size, dtype=np.int64)
        n_folds = fit.count_folds(int(n.max()))
        fold[order] = (number_rows(cell[order]) - 1) % n_folds
        # The lambda of a fold minimises the variance of the mean by the labels of other folds.
        numerator, denominator = (
            np.einsum("rh,rhk->rk", scale, moment)
            for moment in compute_out_of_fold_moments(label, pred, cell, fold, n_folds, n.shape)
        )
        weight = np.clip(divide(numerator, np.maximum(denominator, 0.0)), 0.0, 1.0)[row, fold]
        correction = _compute_corrections(pred, cell, fold, n_folds, np.tile(sizes, n_means))

    def compute_variances(values: Floats) -> Floats:
        """Compute the contribution of each stratum to the variance; shape (means, strata)."""
        centred = values - divide(sum_by_cell(values, cell, n.shape), n).ravel()[cell]
        return np.asarray(scale * divide(sum_by_cell(centred**2, cell, n.shape), n - 1))

    sums = sum_by_cell(label - weight * correction, cell, n.shape)
    (variance, freedom), (human_variance, human_freedom) = (
        (terms.sum(axis=1), compute_satterthwaite_df(terms, n))
        for terms in (compute_variances(label - weight * pred), compute_variances(label))
    )
    n_labels = n.sum(axis=1)
    mean_weight = divide(sum_by_cell(weight, row, (n_means,)), n_labels)
    has_few_errors = mask_few_errors(y, f, n_labels, mean_weight)
    max_grade, judge_mean = find_highest_grade(y, f), f.mean(axis=1)
    # Size of a simple random sample with the same variance, if all strata had the same variance.
    inverse_size, zeros = scale.sum(axis=1), np.zeros(n_means)
    estimate = divide(sums, n) @ sizes / sizes.sum()
    grade_intervals = GradeIntervals(
        max_grade, judge_mean, variance, zeros, inverse_size, zeros + np.inf
    )
    return compute_intervals(
        estimate,
        variance,
        freedom,
        mean_weight,
        n_labels,
        y.shape[1],
        fit,
        human_mean=HumanMean(has_few_errors, human_variance, human_freedom),
        grade_intervals=grade_intervals,
        is_complete=n_labels == y.shape[1],
        is_single=is_single,
    )


def _compute_corrections(
    pred: Floats, cell: Ints, fold: Ints, n_folds: int, size: Floats
) -> Floats:
    """Subtract the mean over items that are not labelled in other folds from the judge's labels."""
    # A fold is a random sample of these items, so that the difference has expectation 0 for any
    # lambda learned from the other folds. `pred` is centred by stratum.
    shape, code = (size.size, n_folds), cell * n_folds + fold
    sums, sizes = (sum_by_cell(values, code, shape) for values in (pred, np.ones(cell.size)))
    other_sums, other_counts = (
        ((total.sum(axis=1, keepdims=True) - total) / size[:, None])[cell, fold]
        for total in (sums, sizes)
    )
    return np.asarray(pred * (1 - other_counts) + other_sums)


def check_labels(human: Any, judge: Any, groups: Any) -> tuple[Floats, Floats, bool]:
    """Return human and judge labels, shape (means, items), and whether there is a single mean."""
    data = (human, judge, groups)
    # Lists also have an attribute `index`, but no `to_dict`.
    indices = [values.index for values in data if hasattr(values, "to_dict")]
    if not all(index.equals(indices[0]) for index in indices):
        raise PolicyError("pandas series must have the same index, got different labels or orders")
    if isinstance(human, list):
        human = [np.nan if label is None else label for label in human]
    y, f = as_numbers(human, "human labels"), as_numbers(judge, "labels of the judge")
    if y.ndim not in {1, 2} or f.shape not in {y.shape, y.shape[-1:]}:
        expected = f"human labels must have the shape of the judge's labels, {f.shape}"
        raise PolicyError(f"{expected}, got {y.shape}")
    if not np.isfinite(f).all():
        raise PolicyError("labels of the judge must be finite for all items, got NaN or infinity")
    if np.isinf(y).any():
        raise PolicyError("human labels must be finite, or NaN for missing ones, got infinity")
    max_label = max(np.nanmax(np.abs(labels), initial=0.0) for labels in (y, f))
    if max_label > _MAX_LABEL:
        reason = f"labels must be at most {_MAX_LABEL:g} in absolute value, got {max_label:g}"
        raise PolicyError(reason)
    human_labels = np.atleast_2d(y)
    return human_labels, np.broadcast_to(np.atleast_2d(f), human_labels.shape), y.ndim == 1


def encode_clusters(clusters: Any, n_items: int) -> Ints:
    """Return the index of the cluster or stratum of each item; shape (items,)."""
    names = np.asarray(clusters)
    if names.shape != (n_items,):
        expected = f"expected {n_items} clusters or strata, one per item"
        raise PolicyError(f"{expected}, got shape {names.shape}")
    return np.unique(names.astype(str), return_inverse=True)[1].astype(np.int64)
