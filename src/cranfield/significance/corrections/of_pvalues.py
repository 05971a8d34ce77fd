"""Corrections that need nothing but p-values, of any test."""

from __future__ import annotations

from functools import partial

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.significance.options import Options
from cranfield.significance.outcome import TOGETHER, Corrected, Interval, Level, Limits, Outcome
from cranfield.significance.pairs import Pairs


def uncorrected(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    return Corrected(outcome.pvalue)


def bonferroni(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Multiply p-values by their number; limits hold together by Bonferroni's inequality."""
    number = outcome.pvalue.size
    pvalue = np.minimum(1.0, outcome.pvalue * number)
    if number <= 1:
        return Corrected(pvalue)
    limits = partial(narrowed, outcome.interval, number)
    return Corrected(pvalue, interval=limits, holds_for=TOGETHER)


def narrowed(interval: Interval, pairs: float, level: Level) -> Limits:
    """Return limits that hold for so many pairs together, by Bonferroni's inequality."""
    return interval(1 - (1 - level) / pairs)


def holm(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Multiply the least by their number, the next by one less, and so on (Holm, 1979)."""
    ordered, order = _ascending(outcome.pvalue)
    left = np.arange(ordered.size, 0, -1)
    return Corrected(_in_place(np.maximum.accumulate(ordered * left), order))


def benjamini_hochberg(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Keep the false discovery rate of independent comparisons (1995)."""
    return Corrected(_step_up(outcome.pvalue, 1.0))


def benjamini_yekutieli(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Keep the false discovery rate however comparisons depend on each other (2001)."""
    place = np.arange(1, outcome.pvalue.size + 1)
    return Corrected(_step_up(outcome.pvalue, float((1 / place).sum())))


def _step_up(pvalues: Floats, dependence: float) -> Floats:
    ordered, order = _ascending(pvalues)
    raised = ordered * ordered.size * dependence / np.arange(1, ordered.size + 1)
    return _in_place(np.minimum.accumulate(raised[::-1])[::-1], order)


def _ascending(pvalues: Floats) -> tuple[Floats, Indices]:
    order = np.argsort(pvalues, kind="stable")
    return pvalues[order], order


def _in_place(adjusted: Floats, order: Indices) -> Floats:
    out = np.empty(adjusted.size)
    out[order] = np.minimum(1.0, adjusted)
    return out
