"""What sums up the columns of a table of values; NaN is no value."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError

FLOOR = 1e-5
"""Scores below it count as it in a geometric mean, as in trec_eval's gm_map."""


@dataclass(frozen=True, eq=False)
class Averages:
    """Values summed up along their first axis, for scores that of the topics; NaN is 'no score'."""

    values: Floats

    def _over_topics(self, function: Any) -> Floats:
        """Apply to each system's scores; NaN for a system that has none."""
        out = np.full(self.values.shape[1:], np.nan)
        some = ~np.isnan(self.values).all(axis=0)
        if some.any():
            # A sum that floats cannot hold is infinite.
            with np.errstate(over="ignore"):
                out[some] = function(self.values[:, some], axis=0)
        return out

    def counts(self) -> Any:
        """Topics that have a score; shape (systems,)."""
        return (~np.isnan(self.values)).sum(axis=0)

    def mean(self) -> Floats:
        """Arithmetic mean over the topics that have a score; shape (systems,)."""
        return self._over_topics(np.nanmean)

    def median(self) -> Floats:
        """Median over the topics that have a score; shape (systems,)."""
        return self._over_topics(np.nanmedian)

    def std(self) -> Floats:
        """Sample standard deviation over topics (divisor n - 1); NaN for one topic."""
        counts = self.counts()
        deviations = self.values - self.mean()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.where(
                counts > 1, np.sqrt(np.nansum(deviations**2, axis=0) / (counts - 1)), np.nan
            )

    def sum(self) -> Floats:
        """Sum over topics; shape (systems,)."""
        return self._over_topics(np.nansum)

    def geometric_mean(self, floor: float = FLOOR) -> Floats:
        """Geometric mean, scores below `floor` taken as `floor`; shape (systems,)."""
        if isinstance(floor, bool) or not isinstance(floor, Real) or not floor >= 0:
            raise PolicyError(f"floor is a number from 0, not {floor!r}")
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self.values, floor))
        return np.exp(Averages(logs).mean())

    def mean_along(self, *axes: int) -> Floats:
        """Arithmetic mean along any axes, of what has a score."""
        with warnings.catch_warnings():
            # What has no score at all has no mean.
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.asarray(np.nanmean(self.values, axis=axes))
