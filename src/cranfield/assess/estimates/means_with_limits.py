"""Means with confidence intervals: the result of all estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.words import counted
from cranfield.collection.judged.segments import ratio
from cranfield.tabular.frames import Framed

SAME = 1e-12
"""Relative error below which values vary by rounding only."""

HIGHEST = 100
"""Grade up to which whole numbers are grades."""

EQUAL = "all values equal"

FEW = 8
"""Errors of the judge, or equal parts of a variance, below which that is not estimated well."""


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedMeans(Framed):
    """Means with confidence intervals; made by :func:`corrected_mean` and :func:`stratified_mean`.

    Attributes
    ----------
    estimate, standard_error, low, high
        The mean, its standard error and its confidence interval; shape (means,), or () for one
        mean. If the labels do not vary, the estimated standard error is 0, which says nothing about
        the other items: the interval is that of a proportion, or NaN.
    lambda_
        How much of the judge was used, from 0 (humans only) to 1; the mean over folds.
    human, items
        Human labels, and all items, these included.
    freedom
        Degrees of freedom of the t quantile; infinite for the normal quantile.
    alpha
        One less the confidence.
    folds, seed
        Of cross-fitting; 0 folds where lambda was given.
    notes
        Why a mean has no interval, or another one.
    """

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

    def to_polars(self) -> pl.DataFrame:
        """Return a row a mean."""
        names = ("estimate", "standard_error", "low", "high", "lambda_", "human", "freedom")
        # A column of the table has no reason to avoid a word of Python.
        return pl.DataFrame(
            {name.rstrip("_"): np.atleast_1d(getattr(self, name)) for name in names}
        )

    def __repr__(self) -> str:
        if self.estimate.ndim:
            return f"CorrectedMeans({self.estimate.size} means of {self.items:,} items)"
        known = f"[{self.low:.4f}, {self.high:.4f}]"
        interval = "without interval: all values equal" if np.isnan(self.low) else known
        return (
            f"CorrectedMeans({self.estimate:.4f} {interval},"
            f" {self.human} human labels of {self.items:,}, lambda {self.lambda_:.2f})"
        )


FEW_ERRORS = "interval of human labels alone, as too few errors of the judge were seen"


@dataclass(frozen=True, eq=False)
class People:
    """Variance of the mean of human labels alone, and where to use it.

    few: whether too few errors of the judge were seen to estimate their number.
    """

    few: Bools
    variance: Floats
    freedom: Floats


@dataclass(frozen=True, eq=False)
class Proportions:
    r"""Intervals of means of grades from 0, such as binary labels, with any weight of the judge.

    high: the highest grade of each mean; NaN where labels are no grades.
    mean: the judge's mean, as lambda times it is in the estimate.
    variance: that of the mean residual of human labels, by their number.
    rest: the part of the judge's labels of other items in the variance.
    rate: one over the effective number of human labels.
    freedom: degrees of freedom of the quantile; infinite where labels are independent.

    The interval of Agresti and Coull (1998) adds z^2 pseudo-observations, half of them successes.
    This extension of our own adds pairs of labels (human, judge): (0, 0), (0, 1), (1, 0) and (1, 1)
    in equal parts, where 1 is the highest grade, with residuals y - lambda f. With lambda 0 and
    binary labels it is their interval, and with lambda 1 that of paired proportions of Bonett and
    Price (2012), but for the number that is added.
    """

    high: Floats
    mean: Floats
    variance: Floats
    rest: Floats
    rate: Floats
    freedom: Floats

    def limits(self, estimate: Floats, lambda_: Floats, alpha: float) -> tuple[Floats, Floats]:
        z = stdtrit(self.freedom, 1 - alpha / 2)
        added = z**2 * self.rate / (1 + z**2 * self.rate)
        apart = lambda_ * self.mean + self.high * (1 - lambda_) / 2 - estimate
        centre = estimate + added * apart
        of_added = self.high**2 * (1 + lambda_**2) / 4 + (1 - added) * apart**2
        variance = (1 - added) ** 2 * self.variance + (added / z) ** 2 * of_added + self.rest
        half = z * np.sqrt(variance)
        return np.maximum(centre - half, 0.0), np.minimum(centre + half, self.high)


def highest_grade(y: Floats, f: Floats) -> Floats:
    """Return the highest label of each mean; NaN where human labels are no grades from 0 to 100."""
    high = np.maximum(np.fmax.reduce(y, axis=1), f.max(axis=1)).clip(1.0)
    low = np.minimum(np.fmin.reduce(y, axis=1), f.min(axis=1))
    whole = (np.isnan(y) | (y == np.trunc(y))).all(axis=1)
    graded = whole & ((low == 0) | ((low > 0) & (high == 1))) & (high <= HIGHEST)
    return np.where(graded, high, np.nan)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Sample sizes and options, the same for all means; `one` for a single mean without axis.

    complete: whether all items have human labels and are all there are, so that nothing varies.
    """

    human: Ints
    items: int
    alpha: float
    folds: int
    seed: int
    one: bool = False
    complete: Bools | bool = False

    def means(
        self,
        estimate: Floats,
        variance: Floats,
        lambda_: Floats,
        freedom: Floats,
        *,
        people: People | None = None,
        proportions: Proportions | None = None,
    ) -> CorrectedMeans:
        """Add confidence intervals.

        They are t intervals; those of `people` alone where these saw few errors of the judge; and
        those of `proportions` where labels are grades.
        """
        error = np.sqrt(variance)
        half = stdtrit(freedom, 1 - self.alpha / 2) * error
        of_limits = freedom
        notes = []
        if people is not None:
            wider = people.few & (people.variance >= variance)
            alone = stdtrit(people.freedom, 1 - self.alpha / 2) * np.sqrt(people.variance)
            half, of_limits = (
                np.where(wider, one, other)
                for one, other in ((alone, half), (people.freedom, freedom))
            )
            notes.append((wider & (alone > 0), FEW_ERRORS))
        low, high = estimate - half, estimate + half
        exact = np.asarray(self.complete) | ~(half > SAME * np.abs(estimate))
        unknown = exact & ~np.asarray(self.complete)
        if proportions is not None:
            graded = ~np.isnan(proportions.high) & ~np.asarray(self.complete)
            limits = proportions.limits(estimate, lambda_, self.alpha)
            low, high = (
                np.where(graded, bound, end) for bound, end in zip(limits, (low, high), strict=True)
            )
            of_limits = np.where(graded, proportions.freedom, of_limits)
            notes = [(where & ~graded, note) for where, note in notes]
            unknown = unknown & ~graded
        low, high = (np.where(unknown, np.nan, end) for end in (low, high))
        notes.append((unknown, f"{EQUAL}: no interval can be computed"))
        several = self.human.size > 1
        said = [
            f"{counted(int(where.sum()), 'mean')}: {note}" if several else note
            for where, note in notes
            if where.any()
        ]

        def shown(values: Any) -> Any:
            return values[0] if self.one else values

        return CorrectedMeans(
            estimate=shown(estimate),
            standard_error=shown(error),
            low=shown(low),
            high=shown(high),
            lambda_=shown(lambda_),
            human=shown(self.human),
            items=self.items,
            freedom=shown(of_limits),
            alpha=self.alpha,
            folds=self.folds,
            seed=self.seed,
            notes=tuple(said),
        )


def satterthwaite(parts: Floats, counts: Any) -> Floats:
    """Degrees of freedom of a sum of variances, of so many values each; shape (rows, parts).

    Infinite where nothing is left to chance, as then any number does.
    """
    below = ratio(parts**2, np.maximum(counts - 1, 1)).sum(axis=1)
    freedom = ratio(parts.sum(axis=1) ** 2, below)
    return np.where(freedom > 0, freedom, np.inf)
