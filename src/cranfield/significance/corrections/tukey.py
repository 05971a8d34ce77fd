"""Tukey's honestly significant difference, for any model of all systems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.significance.corrections.studentised_range import (
    studentised_range_isf,
    studentised_range_sf,
)
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.pairs import Pairs
from cranfield.significance.tests.student_t import ratio


def tukey(model: Model, pairs: Pairs) -> tuple[Floats, Floats]:
    """Compare all pairs of a model's systems.

    Parameters
    ----------
    model
        Means with a common error.
    pairs
        The pairs asked for; the correction is for all pairs of the systems in any case.

    Returns
    -------
    q, pvalue
        The signed studentised difference and its p-value, by pair.

    Notes
    -----
    Ferro and Maistro (2024), equations 9 and 10. For means of different numbers of scores, Tukey
    and Kramer's version.
    """
    q = ratio(model.differences(pairs), model.standard_errors(pairs) / np.sqrt(2))
    groups = model.means.size
    return q, np.where(q == 0, 1.0, studentised_range_sf(np.abs(q), groups, model.df))


def half_widths(model: Model, alpha: float) -> Floats:
    """Return half the width of the interval around each mean: who does not overlap, differs.

    Ferro and Maistro (2024), equation 11.
    """
    quantile = studentised_range_isf(alpha, model.means.size, model.df)
    return np.asarray(quantile / 2 * np.sqrt(model.error / model.counts))


@dataclass(frozen=True)
class TukeyInterval:
    """Simultaneous limits of all differences."""

    model: Model
    pairs: Pairs

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        quantile = studentised_range_isf(1 - level, self.model.means.size, self.model.df)
        half = quantile / np.sqrt(2) * self.model.standard_errors(self.pairs)
        difference = self.model.differences(self.pairs)
        return difference - half, difference + half
