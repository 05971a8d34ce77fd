"""Means with limits: what estimates of all kinds come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.judged.segments import ratio
from cranfield.tabular.frames import Framed


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedMeans(Framed):
    """Means with confidence limits; made by :func:`corrected_mean` and :func:`stratified_mean`.

    Attributes
    ----------
    estimate, standard_error, low, high
        The mean, its standard error and its limits; shape (means,), or () for one mean.
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
        return (
            f"CorrectedMeans({self.estimate:.4f} [{self.low:.4f}, {self.high:.4f}],"
            f" {self.human} human labels of {self.items:,}, lambda {self.lambda_:.2f})"
        )


@dataclass(frozen=True, eq=False)
class Drawn:
    """What was drawn and how: the same for all means; `one` for a single mean without an axis."""

    human: Ints
    items: int
    alpha: float
    folds: int
    seed: int
    one: bool = False

    def means(
        self,
        estimate: Floats,
        variance: Floats,
        lambda_: Floats,
        freedom: Floats,
        of_limits: tuple[Floats, Floats] | None = None,
    ) -> CorrectedMeans:
        """Add limits by the t distribution; by the normal one where the freedom is infinite.

        Limits may go by another variance and its degrees of freedom, where the own are not known
        well.
        """
        error = np.sqrt(variance)
        wide, known = (variance, freedom) if of_limits is None else of_limits
        half = stdtrit(known, 1 - self.alpha / 2) * np.sqrt(wide)
        low, high = estimate - half, estimate + half

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
        )


def satterthwaite(parts: Floats, counts: Any) -> Floats:
    """Degrees of freedom of a sum of variances, of so many values each; shape (rows, parts).

    Infinite where nothing is left to chance, as then any number does.
    """
    below = ratio(parts**2, np.maximum(counts - 1, 1)).sum(axis=1)
    freedom = ratio(parts.sum(axis=1) ** 2, below)
    return np.where(freedom > 0, freedom, np.inf)
