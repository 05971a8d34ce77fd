"""Means with confidence intervals: the result of all estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.shares import clopper_pearson
from cranfield.base.words import counted
from cranfield.collection.judged.segments import ratio
from cranfield.tabular.frames import Framed

SAME = 1e-12
"""Relative error below which values vary by rounding only."""

EQUAL = "all values equal"


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedMeans(Framed):
    """Means with confidence intervals; made by :func:`corrected_mean` and :func:`stratified_mean`.

    Attributes
    ----------
    estimate, standard_error, low, high
        The mean, its standard error and its interval; shape (means,), or () for one mean. If the
        human labels do not vary the estimated standard error is 0, which says nothing on the other
        items: the interval is NaN, or that of a proportion.
    lambda_
        How much of the judge was used, from 0 (humans only) to 1; the mean over folds.
    human, items
        Human labels, and all items, these included.
    freedom
        Degrees of freedom of the t quantile.
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
        of_limits: tuple[Floats, Floats] | None = None,
        proportion: Bools | bool = False,
    ) -> CorrectedMeans:
        """Add intervals by the t distribution; by the normal one where the freedom is infinite.

        Intervals may use another variance and its degrees of freedom, where the own are not known
        well. Where `proportion` says that labels lie from 0 to 1 and are all equal to one end, the
        interval is that of Clopper and Pearson.
        """
        error = np.sqrt(variance)
        wide, known = (variance, freedom) if of_limits is None else of_limits
        half = stdtrit(known, 1 - self.alpha / 2) * np.sqrt(wide)
        low, high = estimate - half, estimate + half
        constant = (error <= SAME * np.abs(estimate)) & ~np.asarray(self.complete)
        unknown = constant & ~(half > SAME * np.abs(estimate))
        exact = unknown & proportion
        by_count = clopper_pearson(np.rint(estimate * self.human), self.human, 1 - self.alpha)
        low, high = (
            np.where(exact, bound, np.where(unknown, np.nan, end))
            for bound, end in zip(by_count, (low, high), strict=True)
        )
        notes = []
        if exact.any():
            notes.append(f"{EQUAL}: the interval is that of Clopper and Pearson for a proportion")
        if (unknown & ~exact).any():
            notes.append(f"{EQUAL}: no interval can be computed")
        if self.human.size > 1:
            many = (exact.sum(), (unknown & ~exact).sum())
            notes = [
                f"{counted(int(number), 'mean')}: {note}"
                for number, note in zip(filter(None, many), notes, strict=True)
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
            freedom=shown(freedom),
            alpha=self.alpha,
            folds=self.folds,
            seed=self.seed,
            notes=tuple(notes),
        )


def satterthwaite(parts: Floats, counts: Any) -> Floats:
    """Degrees of freedom of a sum of variances, of so many values each; shape (rows, parts).

    Infinite where nothing is left to chance, as then any number does.
    """
    below = ratio(parts**2, np.maximum(counts - 1, 1)).sum(axis=1)
    freedom = ratio(parts.sum(axis=1) ** 2, below)
    return np.where(freedom > 0, freedom, np.inf)
