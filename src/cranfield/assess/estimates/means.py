"""Means with confidence intervals, from few human labels and many labels of a judge.

Prediction-powered estimates: of a random sample of items, or of a random part of each stratum.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import stdtrit

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import (
    PolicyError,
    check_number,
    check_share,
    check_whole,
    numbers,
    quoted,
)
from cranfield.base.streams import stream
from cranfield.base.text import counted
from cranfield.collection.judged.rows import places, ratio
from cranfield.result import Column, Columns, Result

SAME = 1e-12
"""Relative error of rounding."""

HIGHEST = 100
"""Highest whole number that counts as a grade."""

FEW = 8
"""Minimum number of errors of the judge, or of equal parts of a variance, for its estimate."""

FOLDS = 5
"""Parts of the human labels; lambda of one is learned from the others."""

_LARGEST = 1e100
"""Largest absolute label whose square can be summed."""


@dataclass(frozen=True)
class Fit:
    """Weight of the judge, None to learn it by cross-fitting, and the level of the intervals."""

    lambda_: float | None = None
    folds: int = FOLDS
    seed: int = 0
    alpha: float = 0.05

    def __post_init__(self) -> None:
        check_share("alpha", self.alpha)
        check_whole("folds", self.folds, 1)
        check_whole("seed", self.seed, 0)
        if self.lambda_ is not None:
            check_number("lambda_", self.lambda_, 0, 1)

    def n_folds(self, size: int) -> int:
        """Return the number of folds that are not empty with `size` things."""
        return min(int(self.folds), max(2, size))


@dataclass(frozen=True, eq=False, repr=False)
class PPIMeans(Result):
    """Means with confidence intervals; made by :func:`ppi_mean` and :func:`stratified_mean`.

    Attributes
    ----------
    estimate, standard_error, low, high, lambda_, human, freedom
        The columns; shape (means,), or () for one mean.
    items
        Number of items, with human labels or without.
    alpha
        One minus the confidence level.
    folds, seed
        Folds and seed of cross-fitting; 0 folds if lambda was given.
    notes
        Means without an interval, or with another one.
    """

    name: ClassVar[str] = "means"
    columns: ClassVar[Columns] = {
        "estimate": Column("Estimated mean."),
        "standard_error": Column(
            "Standard error of the estimate; 0, and without information, if the labels do not vary."
        ),
        "low": Column(
            "Lower confidence bound; of a proportion, or NaN, if the labels do not vary."
        ),
        "high": Column("Upper bound of the interval."),
        "lambda": Column("Weight of the judge, from 0 (humans only) to 1; the mean over folds."),
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
    items: int
    freedom: Floats
    alpha: float
    folds: int
    seed: int
    notes: tuple[str, ...] = ()

    def _frame(self) -> pl.DataFrame:
        values = {**vars(self), "lambda": self.lambda_}
        return pl.DataFrame({name: np.atleast_1d(values[name]) for name in self.columns})

    def heading(self) -> list[str]:
        """Return one line: the number of means, or the mean with its interval."""
        if self.estimate.ndim:
            return [f"{self.estimate.size} means of {self.items:,} items"]
        bounds = f"[{self.low:.4f}, {self.high:.4f}]"
        interval = "without interval: all values equal" if np.isnan(self.low) else bounds
        return [
            f"{self.estimate:.4f} {interval},"
            f" {self.human} human labels of {self.items:,}, lambda {self.lambda_:.2f}"
        ]


@dataclass(frozen=True, eq=False)
class HumanMean:
    """Variance of the mean of human labels alone; `few` where it is the safer one."""

    few: Bools
    variance: Floats
    freedom: Floats


@dataclass(frozen=True, eq=False)
class Proportions:
    r"""Intervals of means of grades from 0, such as binary labels, with any weight of the judge.

    high: the highest grade of each mean; NaN where labels are not grades.
    mean: the judge's mean, which the estimate has lambda times.
    variance: that of the mean residual of human labels, by their number.
    judge_variance: the part of the judge's labels of other items in the variance.
    rate: one over the effective number of human labels.
    freedom: degrees of freedom of the quantile; infinite for independent labels.

    The interval of Agresti and Coull (1998) adds z^2 pseudo-observations, half of them successes.
    This extension of our own adds pairs of labels (human, judge): (0, 0), (0, 1), (1, 0) and (1, 1)
    in equal parts, where 1 is the highest grade, with residuals y - lambda f. With lambda 0 and
    binary labels it is their interval, and with lambda 1 that of paired proportions of Bonett and
    Price (2012), except for the number of added pairs.
    """

    high: Floats
    mean: Floats
    variance: Floats
    judge_variance: Floats
    rate: Floats
    freedom: Floats

    def bounds(self, estimate: Floats, lambda_: Floats, alpha: float) -> tuple[Floats, Floats]:
        z = stdtrit(self.freedom, 1 - alpha / 2)
        added = z**2 * self.rate / (1 + z**2 * self.rate)
        apart = lambda_ * self.mean + self.high * (1 - lambda_) / 2 - estimate
        centre = estimate + added * apart
        of_added = self.high**2 * (1 + lambda_**2) / 4 + (1 - added) * apart**2
        variance = (
            (1 - added) ** 2 * self.variance + (added / z) ** 2 * of_added + self.judge_variance
        )
        half = z * np.sqrt(variance)
        return np.maximum(centre - half, 0.0), np.minimum(centre + half, self.high)


def highest_grade(y: Floats, f: Floats) -> Floats:
    """Return the highest label of each mean; NaN if human labels are not grades from 0 to 100."""
    high = np.maximum(np.fmax.reduce(y, axis=1), f.max(axis=1)).clip(1.0)
    low = np.minimum(np.fmin.reduce(y, axis=1), f.min(axis=1))
    whole = (np.isnan(y) | (y == np.trunc(y))).all(axis=1)
    graded = whole & ((low == 0) | ((low > 0) & (high == 1))) & (high <= HIGHEST)
    return np.where(graded, high, np.nan)


def with_intervals(
    estimate: Floats,
    variance: Floats,
    lambda_: Floats,
    freedom: Floats,
    human: Ints,
    items: int,
    fit: Fit,
    *,
    alone: HumanMean | None = None,
    proportions: Proportions | None = None,
    complete: Any = False,
    single: bool = False,
) -> PPIMeans:
    """Add confidence intervals to estimated means.

    They are t intervals; those of human labels `alone` if too few errors of the judge were seen;
    and those of `proportions` where labels are grades. Means of `complete` human labels are exact.
    """
    complete = np.asarray(complete)
    error = np.sqrt(variance)
    half = stdtrit(freedom, 1 - fit.alpha / 2) * error
    notes = []
    if alone is not None:
        wider = alone.few & (alone.variance >= variance)
        half_alone = stdtrit(alone.freedom, 1 - fit.alpha / 2) * np.sqrt(alone.variance)
        half = np.where(wider, half_alone, half)
        freedom = np.where(wider, alone.freedom, freedom)
        reason = "interval of human labels alone, as too few errors of the judge were seen"
        notes.append((wider & (half_alone > 0), reason))
    low, high = estimate - half, estimate + half
    unknown = ~complete & ~(half > SAME * np.abs(estimate))
    if proportions is not None:
        graded = ~np.isnan(proportions.high) & ~complete
        bounds = proportions.bounds(estimate, lambda_, fit.alpha)
        low, high = np.where(graded, bounds, (low, high))
        freedom = np.where(graded, proportions.freedom, freedom)
        notes = [(where & ~graded, note) for where, note in notes]
        unknown = unknown & ~graded
    low, high = np.where(unknown, np.nan, (low, high))
    notes.append((unknown, "all values equal: no interval can be computed"))

    values: list[Any] = [estimate, error, low, high, lambda_, human, freedom]
    estimate, error, low, high, lambda_, human, freedom = (
        [column[0] for column in values] if single else values
    )
    return PPIMeans(
        *(estimate, error, low, high, lambda_, human, items, freedom),
        alpha=fit.alpha,
        folds=fit.folds if fit.lambda_ is None else 0,
        seed=fit.seed,
        notes=tuple(
            f"{counted(int(where.sum()), 'mean')}: {note}" if human.size > 1 else note
            for where, note in notes
            if where.any()
        ),
    )


def satterthwaite(parts: Floats, counts: Any) -> Floats:
    """Degrees of freedom of a sum of variances of `counts` values each; infinite if it is 0."""
    below = ratio(parts**2, np.maximum(counts - 1, 1)).sum(axis=1)
    freedom = ratio(parts.sum(axis=1) ** 2, below)
    return np.where(freedom > 0, freedom, np.inf)


def summed(values: Floats, cell: Ints, shape: tuple[int, ...]) -> Floats:
    """Sum values by cell, an index into an array of the shape."""
    sums = np.bincount(cell, weights=values, minlength=prod(shape))
    return sums.reshape(shape).astype(np.float64)


def sums_by(values: Any, code: Ints, size: int) -> Floats:
    """Sum each row by code; shape (rows, size)."""
    rows = len(values)
    cell = (np.arange(rows)[:, None] * size + code).ravel()
    return summed(values.ravel(), cell, (rows, size))


def moments_outside(
    label: Floats, guess: Floats, cell: Ints, fold: Ints, folds: int, shape: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Return covariance and variance of guesses outside of each fold; shape (*shape, folds)."""
    products = (np.ones(label.size), label, guess, label * guess, guess * guess)
    sums = [summed(values, cell * folds + fold, (*shape, folds)) for values in products]
    if folds > 1:
        sums = [total.sum(axis=-1, keepdims=True) - total for total in sums]
    n, y, f, yf, ff = sums
    return (
        np.where(n > 1, ratio(yf - ratio(y * f, n), n - 1), 0.0),
        np.where(n > 1, ratio(ff - ratio(f * f, n), n - 1), 0.0),
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

    with lambda cut to [0, 1]. Humans label a random sample of the items, which are themselves a
    sample; the judge may be wrong in any way. A lambda learned from the labels it is used on makes
    intervals too short, so each of `folds` parts of them has the lambda of the others
    (cross-fitting). With fewer than two other items lambda is 0, even if another one is given.

    If human labels are grades, which are whole numbers from 0 to 100 such as 0 and 1, the interval
    is our own extension of that of Agresti and Coull (1998) to residuals: z^2 pseudo-labels are
    added, a quarter each of the pairs (y, f) = (0, 0), (0, g), (g, 0) and (g, g), with g the
    highest grade of humans and judge. Its width is not 0 if the sample has no error of the judge.
    Other labels have the t interval with n - 1 degrees of freedom; if humans and judge differ on
    fewer than 8 labels, and on less than half, that of the human labels alone, with a note. If such
    labels are all equal the interval is NaN.

    Source: Angelopoulos, Duchi and Zrnic (2023), PPI++; Zrnic and Candès (2024), cross-fitting;
    Bonett and Price (2012), paired proportions.

    Parameters
    ----------
    human
        Human labels as numbers, NaN for missing ones; shape (items,) or (means, items).
    judge
        The judge's labels of all items; the same shape, or (items,) for all means.
    lambda_
        Weight of the judge: 0 is human labels only, 1 is plain PPI; learned by default.
    folds
        Parts for cross-fitting, 2 or more; 1 learns one lambda from all labels, and intervals from
        few of them are too short.
    seed
        Seed of the random parts.
    alpha
        One minus the confidence level of the interval.
    clusters
        Cluster of each item, such as its topic, shape (items,): items of one cluster may depend on
        each other. The clusters are then the sample; for grades, the number of labels is divided by
        the design effect of clusters.

    Returns
    -------
    PPIMeans
        With an entry a mean; no axis for one.

    Raises
    ------
    PolicyError
        For fewer than three human labels of a mean (two with a given lambda), or fewer than three
        clusters with any; for a gap in the judge's labels; for an option out of its range.

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
    human: Any, judge: Any, fit: Fit, clusters: Any = None, *, proportions: bool = True
) -> PPIMeans:
    """Compute :func:`ppi_mean`; without `proportions`, grades have t intervals."""
    y, f, single = check_labels(human, judge)
    units = np.arange(y.shape[1]) if clusters is None else cluster_codes(clusters, y.shape[1])
    means = fit_means(y, f, units, fit)
    count, n_others = means.count, y.shape[1] - means.count
    # The two parts of the linearised estimate: of each human label, and of each other item.
    other = np.isnan(y)
    own = np.zeros(y.shape)
    own[means.row, means.item] = (means.residual - means.mean[means.row]) / count[means.row]
    labels = np.where(other, 0.0, y)
    alone = np.where(other, 0.0, y - (labels.sum(axis=1) / count)[:, None]) / count[:, None]
    mean = ratio(np.where(other, f, 0.0).sum(axis=1), n_others)
    far = np.where(other, f - mean[:, None], 0.0) * ratio(means.lambda_, n_others)[:, None]
    nothing = np.zeros(y.shape)
    variance, of_rest, of_people = (
        _sum_variance(first, second, ~other, units)
        for first, second in ((own, far), (nothing, far), (alone, nothing))
    )
    # Equal residuals have no information on their variance.
    scale = np.abs(np.where(other, f, y)).max(axis=1)
    constant = np.abs(own).max(axis=1) * count <= SAME * scale
    freedom = (means.units - 1).astype(np.float64)
    of_labels = np.where(constant, 0.0, np.maximum(variance - of_rest, 0.0))
    # Labels of a cluster are correlated: fewer independent labels have the same variance.
    alike = ratio(of_labels, ratio((own**2).sum(axis=1) * count, count - 1.0))
    rate = np.where(constant, 1 / means.units, np.maximum(alike, 1.0) / count)
    independent = means.units == count
    of_labels = np.where(independent, of_labels * (count - 1) / count, of_labels)
    free = np.where(independent, np.inf, freedom)
    return with_intervals(
        means.estimate,
        np.where(constant, 0.0, variance),
        means.lambda_,
        freedom,
        count,
        y.shape[1],
        fit,
        alone=HumanMean(few_errors(y, f, count, means.lambda_), of_people, freedom),
        proportions=Proportions(highest_grade(y, f), mean, of_labels, of_rest, rate, free)
        if proportions
        else None,
        single=single,
    )


def few_errors(y: Floats, f: Floats, count: Ints, lambda_: Floats) -> Bools:
    """Return which means rest on too few errors of the judge to estimate their variance."""
    errors = (~np.isnan(y) & (y != f)).sum(axis=1)
    return np.asarray((errors < FEW) & (2 * errors < count) & (lambda_ > 0))


def _sum_variance(own: Floats, far: Floats, labelled: Bools, units: Ints) -> Floats:
    """Variance of a sum of independent units, each part with its number of units less one."""
    parts = ((own, labelled), (far, ~labelled))
    if (units == np.arange(units.size)).all():
        sizes = [here.sum(axis=1) for _, here in parts]
        first, second = (
            ratio(size, size - 1) * (part**2).sum(axis=1)
            for (part, _), size in zip(parts, sizes, strict=True)
        )
        return np.asarray(first + second)
    size = int(units.max()) + 1

    def scaled(part: Floats, here: Bools) -> Floats:
        count = (sums_by(here, units, size) > 0).sum(axis=1)
        return np.asarray(sums_by(part, units, size) * np.sqrt(ratio(count, count - 1))[:, None])

    return np.asarray(((scaled(*parts[0]) + scaled(*parts[1])) ** 2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class FittedMeans:
    """Corrected means; row, item and residual (label less lambda times the judge's) by label."""

    row: Ints
    item: Ints
    residual: Floats
    count: Ints
    units: Ints
    mean: Floats
    lambda_: Floats
    estimate: Floats


def fit_means(y: Floats, f: Floats, units: Ints, fit: Fit) -> FittedMeans:
    """Fit rows of human labels (NaN for none) and of the judge's; shape (rows, items) both."""
    rows, items = y.shape
    f = np.broadcast_to(f, y.shape)
    row, item = np.nonzero(~np.isnan(y))
    count = np.bincount(row, minlength=rows)
    near = f - f.mean(axis=1, keepdims=True)
    label, guess = y[row, item], near[row, item]
    # Units in random order, the same in each row; of these, the labelled ones are dealt to folds.
    size = int(units.max(initial=-1)) + 1
    shuffled = stream(fit.seed).permutation(size)[units]
    labelled, unit_of = np.unique(row * size + shuffled[item], return_inverse=True)
    n_units = np.bincount(labelled // size, minlength=rows)
    n_others = items - count
    far_row, far_item = np.nonzero(np.isnan(y))
    far = np.unique(far_row * size + units[far_item]) // size
    # Labels of the judge for one single unit have no variance.
    usable = (np.bincount(far, minlength=rows) > 1)[row]
    check_counts(n_units, 3 if fit.lambda_ is None else 2)
    if fit.lambda_ is None:
        folds = fit.n_folds(int(n_units.max()))
        fold = (places(labelled // size) - 1)[unit_of] % folds
        covariance, _ = moments_outside(label, guess, row, fold, folds, (rows,))
        spread = ratio((near**2).sum(axis=1), np.full(rows, max(items - 1, 1)))
        with np.errstate(over="ignore"):
            learned = ratio(covariance[row, fold] * n_others[row], (items * spread)[row])
        weight = np.where(usable, np.clip(learned, 0.0, 1.0), 0.0)
    else:
        weight = np.where(usable, fit.lambda_, 0.0)
    residual = label - weight * guess
    mean = ratio(summed(residual, row, (rows,)), count)
    lam = ratio(summed(weight, row, (rows,)), count)
    labelled_sums = summed(guess, row, (rows,))
    # All guesses add up to 0, so those of the other items add up to minus the known ones.
    estimate = mean - lam * ratio(labelled_sums, n_others)
    return FittedMeans(row, item, residual, count, n_units, mean, lam, estimate)


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
    r"""Estimate the mean of a population from human labels of a random part of each stratum.

    With :math:`N_h` items of stratum h, of which :math:`n_h` are labelled, and residuals
    :math:`e = y - \lambda (f - \bar f_h)`, where the judge's mean is that of the whole stratum,

    .. math:: \hat\theta = \sum_h \frac{N_h}{N} \bar e_h, \quad \widehat{var} = \sum_h
        \left(\frac{N_h}{N}\right)^2 \left(1 - \frac{n_h}{N_h}\right) \frac{s_h^2(e)}{n_h}

    The items are the whole population, not a sample: a completely labelled stratum has no error.
    Without labels of a judge it is the stratified mean. Strata may be topics, or the grades of a
    judge, which then adds nothing further.

    A given lambda leaves the estimate unbiased over all samples. A learned one is cross-fitted: the
    labels of a fold have the lambda of the other folds, and their difference from the judge's mean
    is taken in the part of the stratum that is not labelled in those; so the estimate is unbiased
    over samples and random folds. With `folds=1` it is biased.

    Intervals are as for :func:`ppi_mean`. For grades the number of labels is
    :math:`1 / \sum_h (N_h/N)^2 (1 - n_h/N_h) / n_h`; others have the t interval with
    Satterthwaite's degrees of freedom.

    Source: Cochran (1977), chapter 5, and with a judge 7; Fisch and others (2024), stratified
    prediction-powered inference.

    Parameters
    ----------
    human
        Human labels as numbers, NaN for missing ones; shape (items,) or (means, items).
    strata
        Stratum of each item; shape (items,).
    judge
        The judge's labels of all items; the same shape as `human`, or (items,); or None.
    lambda_, folds, seed, alpha
        As for :func:`ppi_mean`.

    Returns
    -------
    PPIMeans
        With an entry a mean; no axis for one.

    Raises
    ------
    PolicyError
        For a stratum with fewer than two human labels that has more items than labels.

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
    y, f, single = check_labels(human, judge)
    code = cluster_codes(strata, y.shape[1])
    rows, n_strata = y.shape[0], int(code.max(initial=-1)) + 1
    size = np.bincount(code, minlength=n_strata).astype(np.float64)
    mean = sums_by(f, code, n_strata) / size
    row, item = np.nonzero(~np.isnan(y))
    cell = row * n_strata + code[item]
    count = np.bincount(cell, minlength=rows * n_strata).reshape(rows, n_strata)
    short = np.argwhere((count < 2) & (count < size))
    if short.size:
        mean_of, stratum = short[0].tolist()
        raise PolicyError(
            f"stratum {quoted(np.asarray(strata)[np.argmax(code == stratum)])} has"
            f" {count[mean_of, stratum]} human labels of {int(size[stratum])} items; expected at"
            " least 2, or all"
        )
    guess, label = (f - mean[:, code])[row, item], y[row, item]
    scale = (size / size.sum()) ** 2 * ratio(1 - count / size, count)
    weight, correction = np.full(label.size, lambda_ or 0.0), guess
    if lambda_ is None:
        # Items of each stratum in random order are dealt to the folds, one after the other.
        shuffled = stream(seed).permutation(y.shape[1])[item]
        order = np.lexsort((shuffled, cell))
        fold = np.empty(cell.size, dtype=np.int64)
        n_folds = fit.n_folds(int(count.max()))
        fold[order] = (places(cell[order]) - 1) % n_folds
        # Of each fold the lambda with the least variance of the mean by the labels of the others.
        top, below = (
            np.einsum("rh,rhk->rk", scale, moment)
            for moment in moments_outside(label, guess, cell, fold, n_folds, count.shape)
        )
        weight = np.clip(ratio(top, np.maximum(below, 0.0)), 0.0, 1.0)[row, fold]
        correction = _independent_corrections(guess, cell, fold, n_folds, np.tile(size, rows))

    def variances(values: Floats) -> Floats:
        """Return parts of the variance of the mean; shape (means, strata)."""
        centred = values - ratio(summed(values, cell, count.shape), count).ravel()[cell]
        return np.asarray(scale * ratio(summed(centred**2, cell, count.shape), count - 1))

    sums = summed(label - weight * correction, cell, count.shape)
    parts, alone = variances(label - weight * guess), variances(label)
    labels = count.sum(axis=1)
    used = ratio(summed(weight, row, (rows,)), labels)
    variance, no_judge_variance = parts.sum(axis=1), np.zeros(rows)
    # The rate of a simple random sample with the same variance, if all strata were alike.
    rate = scale.sum(axis=1)
    return with_intervals(
        ratio(sums, count) @ size / size.sum(),
        variance,
        used,
        satterthwaite(parts, count),
        labels,
        y.shape[1],
        fit,
        alone=HumanMean(
            few_errors(y, f, labels, used), alone.sum(axis=1), satterthwaite(alone, count)
        ),
        proportions=Proportions(
            highest_grade(y, f),
            f.mean(axis=1),
            variance,
            no_judge_variance,
            rate,
            np.full(rows, np.inf),
        ),
        complete=labels == y.shape[1],
        single=single,
    )


def _independent_corrections(
    guess: Floats, cell: Ints, fold: Ints, folds: int, size: Floats
) -> Floats:
    """Return the judge's labels less the mean of the items without a label in other folds."""
    # A fold is a random sample of those items: the difference has the expectation 0, whatever
    # lambda was learned from the other folds. `guess` is centred by stratum.
    shape = size.size, folds
    code = cell * folds + fold
    sums, sizes = (summed(values, code, shape) for values in (guess, np.ones(cell.size)))
    others, counts = (total.sum(axis=1, keepdims=True) - total for total in (sums, sizes))
    share = 1 - counts / size[:, None]
    return np.asarray(guess * share[cell, fold] + (others / size[:, None])[cell, fold])


def check_labels(human: Any, judge: Any) -> tuple[Floats, Floats, bool]:
    """Return human and judge's labels, shape (means, items), and whether there is no first axis."""
    y, f = numbers(human, "human labels"), numbers(judge, "labels of the judge")
    if y.ndim not in {1, 2} or f.shape not in {y.shape, y.shape[-1:]}:
        raise PolicyError(f"expected human labels of the judge's shape {f.shape}, got {y.shape}")
    if not np.isfinite(f).all():
        raise PolicyError("labels of the judge must be finite for every item")
    if np.isinf(y).any():
        raise PolicyError("human labels must be finite, or NaN for missing ones")
    if max(np.abs(labels).max(initial=0, where=~np.isnan(labels)) for labels in (y, f)) > _LARGEST:
        raise PolicyError(f"labels must be at most {_LARGEST:g}, as their squares are summed")
    table = np.atleast_2d(y)
    return table, np.broadcast_to(np.atleast_2d(f), table.shape), y.ndim == 1


def cluster_codes(clusters: Any, items: int) -> Ints:
    """Number the clusters; shape (items,)."""
    names = np.asarray(clusters)
    if names.shape != (items,):
        raise PolicyError(f"expected {items} clusters, one per item, got shape {names.shape}")
    return np.unique(names.astype(str), return_inverse=True)[1].astype(np.int64)


def check_counts(counts: Ints, min_labels: int) -> None:
    if counts.min(initial=min_labels) < min_labels:
        hint = " (2 if lambda_ is set)" if min_labels > 2 else ""
        raise PolicyError(
            f"expected at least {min_labels} independent human labels{hint}, got {counts.min()}"
        )
