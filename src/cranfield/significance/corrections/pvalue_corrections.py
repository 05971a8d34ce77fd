"""Corrections of p-values, for any test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, as_numbers, check_choice
from cranfield.significance.differences import (
    BONFERRONI,
    SIDAK,
    Bounds,
    IntervalFunction,
    Level,
    Outcome,
    Pairs,
)
from cranfield.significance.registry import CORRECTIONS, TestOptions, register_correction


def adjust_pvalues(pvalues: ArrayLike, correction: str = "holm") -> Floats:
    """Adjust the p-values of multiple comparisons by a correction of :data:`ADJUSTMENTS`.

    NaN remains NaN and does not count as a comparison.

    >>> adjust_pvalues([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    name = CORRECTIONS.find(correction)
    check_choice("correction of p-values", name, ADJUSTMENTS)
    values = as_numbers(pvalues, "p-values")
    is_number = ~np.isnan(values)
    if ((values[is_number] < 0) | (values[is_number] > 1)).any():
        raise PolicyError(
            f"p-values must be from 0 to 1, got {np.nanmin(values):g} to {np.nanmax(values):g}"
        )
    out = np.full(values.shape, np.nan)
    out[is_number] = ADJUSTMENTS[name](values[is_number])
    return out


@register_correction("none", aliases=("uncorrected",), controls="each comparison")
def uncorrected(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""not corrected for multiple comparisons.

    does: no correction: the Type I error rate of each comparison is alpha
    """
    return outcome


@register_correction("bonferroni", aliases=("bonf",), multiplies_pvalues=True)
def bonferroni(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Bonferroni's correction.

    does: p times the number of comparisons
    source: Bonferroni (1936)
    """
    return _correct_outcome("bonferroni", outcome, bound_by_bonferroni)


def _correct_outcome(
    correction: str,
    outcome: Outcome,
    bound_intervals: Callable[[IntervalFunction, Floats, Level], Bounds],
    interval_kind: str = BONFERRONI,
) -> Outcome:
    """Adjust the p-values of an outcome, and the intervals if there are several pairs."""
    pvalue = ADJUSTMENTS[correction](outcome.pvalue)
    if pvalue.size <= 1:
        return replace(outcome, pvalue=pvalue)
    bounds = partial(bound_intervals, outcome.interval, pvalue)
    return replace(outcome, pvalue=pvalue, interval=bounds, interval_kind=interval_kind)


def bound_by_bonferroni(interval: IntervalFunction, pvalue: Floats, level: Level) -> Bounds:
    return interval(1 - (1 - level) / pvalue.size)


def bound_by_sidak(interval: IntervalFunction, pvalue: Floats, level: Level) -> Bounds:
    return interval(level ** (1 / pvalue.size))


def bound_selected_pairs(
    interval: IntervalFunction, pvalue: Floats, level: Level, dependence: float = 1.0
) -> Bounds:
    """Return intervals that control the false coverage rate (Benjamini and Yekutieli, 2005).

    If R of m pairs are rejected at level q, each interval has level 1 - R q / m, with an R of at
    least 1. For any dependence of p-values, q is divided by `dependence`, the sum of 1 / i up to m.
    """
    tail = 1 - np.asarray(level)
    # 1 - level differs from alpha by rounding.
    n_rejected = (pvalue <= np.reshape(tail, (-1, 1)) * (1 + 1e-12)).sum(axis=1)
    proportion = np.maximum(n_rejected, 1).reshape(tail.shape) / (pvalue.size * dependence)
    return interval(1 - tail * proportion)


SIGNIFICANT_PAIRS = (
    "the significant pairs (at most a proportion alpha of these intervals is expected to miss"
    " the true difference)"
)
"""Kind of intervals that control the false coverage rate."""


@register_correction("holm", aliases=("holm-bonferroni",), multiplies_pvalues=True)
def holm(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Holm's correction.

    does: step-down version of Bonferroni's correction; controls the same error rate, and is never
        less powerful
    source: Holm (1979)

    Intervals are Bonferroni's, which do not depend on the order of the pairs.
    """
    return _correct_outcome("holm", outcome, bound_by_bonferroni)


@register_correction("sidak", aliases=("šidák",), multiplies_pvalues=True)
def sidak(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Sidak's correction.

    does: 1 - (1 - p)^m for m comparisons; slightly more powerful than Bonferroni's correction
    assumes: comparisons are independent, or two-sided tests of normally distributed differences
    source: Sidak (1967)
    """
    return _correct_outcome("sidak", outcome, bound_by_sidak, SIDAK)


@register_correction("hommel")
def hommel(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Hommel's correction.

    does: closed testing procedure with Simes' test; never less powerful than Holm's correction
    assumes: comparisons are independent or positively dependent
    source: Hommel (1988)

    Intervals are Bonferroni's, which do not depend on the order of the pairs.
    """
    return _correct_outcome("hommel", outcome, bound_by_bonferroni)


@register_correction("bh", aliases=("fdr", "fdr-bh", "benjamini-hochberg"), controls="FDR")
def benjamini_hochberg(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Benjamini and Hochberg's correction.

    does: Benjamini and Hochberg: the expected proportion of false positives among the rejections
        (false discovery rate) is at most alpha
    assumes: comparisons are independent or positively dependent
    source: Benjamini and Hochberg (1995)
    """
    return _correct_outcome("bh", outcome, bound_selected_pairs, SIGNIFICANT_PAIRS)


@register_correction("by", aliases=("fdr-by", "benjamini-yekutieli"), controls="FDR")
def benjamini_yekutieli(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Benjamini and Yekutieli's correction.

    does: Benjamini and Yekutieli: the false discovery rate is at most alpha under any dependence
        of the comparisons
    source: Benjamini and Yekutieli (2001)
    """
    bound = partial(bound_selected_pairs, dependence=_compute_harmonic(outcome.pvalue.size))
    return _correct_outcome("by", outcome, bound, SIGNIFICANT_PAIRS)


def _compute_harmonic(n: int) -> float:
    """Return the n-th harmonic number, the sum of 1 / i for i up to n."""
    return float((1 / np.arange(1, n + 1)).sum())


def _allow_any_order(adjust: Callable[..., Floats]) -> Callable[..., Floats]:
    """Turn an adjustment of ascending p-values into one of p-values in any order."""

    def adjust_in_any_order(pvalues: Floats, *dependence: float) -> Floats:
        order = np.argsort(pvalues, kind="stable")
        return np.minimum(1.0, adjust(pvalues[order], *dependence))[np.argsort(order)]

    return adjust_in_any_order


@_allow_any_order
def _adjust_holm(ascending_p: Floats) -> Floats:
    return np.maximum.accumulate(ascending_p * np.arange(ascending_p.size, 0, -1))


@_allow_any_order
def _adjust_hommel(ascending_p: Floats) -> Floats:
    """Adjust by Simes' test for each possible number of true hypotheses."""
    n = ascending_p.size
    adjusted_pvalues = ascending_p.copy()
    for n_true in range(n, 1, -1):
        # Simes' test of the n_true largest p-values, and of each smaller one with n_true - 1.
        simes_p = n_true * ascending_p[n - n_true + 1 :] / np.arange(2, n_true + 1)
        closed_p = np.minimum(simes_p.min(), n_true * ascending_p)
        closed_p[n - n_true + 1 :] = closed_p[n - n_true]
        np.maximum(adjusted_pvalues, closed_p, out=adjusted_pvalues)
    return adjusted_pvalues


@_allow_any_order
def _adjust_by_step_up(ascending_p: Floats, dependence: float = 1.0) -> Floats:
    multiplied_p = ascending_p * ascending_p.size * dependence / np.arange(1, ascending_p.size + 1)
    return np.minimum.accumulate(multiplied_p[::-1])[::-1]


def _adjust_sidak(pvalues: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(pvalues.size * np.log1p(-pvalues)))


ADJUSTMENTS: dict[str, Callable[[Floats], Floats]] = {
    "none": np.copy,
    "bonferroni": lambda pvalues: np.minimum(1.0, pvalues * pvalues.size),
    "sidak": _adjust_sidak,
    "holm": _adjust_holm,
    "hommel": _adjust_hommel,
    "bh": _adjust_by_step_up,
    "by": lambda pvalues: _adjust_by_step_up(pvalues, _compute_harmonic(pvalues.size)),
}
"""Functions that adjust p-values, by the name of the correction."""
