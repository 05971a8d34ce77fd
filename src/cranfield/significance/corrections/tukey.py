"""Tukey's honestly significant difference, for any model of all systems."""

from __future__ import annotations

from functools import partial

import numpy as np

from cranfield.significance.corrections.studentised import (
    studentised_range_isf,
    studentised_range_sf,
)
from cranfield.significance.difference_by_error import ratio
from cranfield.significance.models.fitted_model import Model
from cranfield.significance.options import Options
from cranfield.significance.outcome import TOGETHER, Corrected, Limits, Outcome
from cranfield.significance.pairs import Pairs


def tukey(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Compare all pairs of a model's systems, whichever pairs are asked for.

    Ferro and Maistro (2024), equations 9 to 11: the signed studentised difference q, its p-value,
    and half the width of the interval around each mean. For means of different numbers of scores
    it is Tukey and Kramer's version, which has no such widths.
    """
    model, groups = outcome.of_model, outcome.of_model.means.size
    q = ratio(model.differences(pairs), model.standard_errors(pairs) / np.sqrt(2))
    # Before the quantile: the last bits of both depend on what the distribution computed first.
    pvalue = np.where(q == 0, 1.0, studentised_range_sf(np.abs(q), groups, model.df))
    halves = None
    if model.balanced:
        quantile = studentised_range_isf(options.alpha, groups, model.df)
        halves = np.asarray(quantile / 2 * np.sqrt(model.error / model.counts))
    return Corrected(
        pvalue,
        statistic=q,
        interval=partial(tukey_limits, model, pairs),
        holds_for=TOGETHER,
        half_widths=halves,
    )


def tukey_limits(model: Model, pairs: Pairs, level: float) -> Limits:
    quantile = studentised_range_isf(1 - level, model.means.size, model.df)
    return model.limits(pairs, quantile / np.sqrt(2))
