"""Corrections that need nothing but p-values, of any test."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, check_choice, numbers
from cranfield.significance.corrections.correction import CORRECTIONS, declared_correction
from cranfield.significance.differences import (
    BONFERRONI,
    Corrected,
    Interval,
    Level,
    Limits,
    Outcome,
    Pairs,
)
from cranfield.significance.registry import Options


def adjusted(pvalues: ArrayLike, correction: str = "holm") -> Floats:
    """Correct p-values that are looked at together, by a correction that needs nothing else.

    Parameters
    ----------
    pvalues
        From 0 to 1, any shape. NaN, which is of no test, stays and counts for nothing.
    correction
        Name of one that goes by p-values alone: `none`, `bonferroni`, `holm`, `bh` or `by`.

    Returns
    -------
    array
        Adjusted p-values, in the same shape.

    Raises
    ------
    PolicyError
        For what is no p-value, and for a correction that needs more.

    Examples
    --------
    >>> adjusted([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    name = CORRECTIONS.find(correction)
    check_choice("correction of p-values", name, LAWS)
    given = numbers(pvalues, "p-values")
    known = ~np.isnan(given)
    if ((given[known] < 0) | (given[known] > 1)).any():
        raise PolicyError("p-values lie between 0 and 1")
    out = np.full(given.shape, np.nan)
    out[known] = LAWS[name](given[known])
    return out


@declared_correction("none", aliases=("uncorrected",), bounds="each comparison")
def uncorrected(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    r"""not corrected for many comparisons.

    does: no correction: each comparison errs in alpha of the cases where there is nothing
    """
    return Corrected(outcome.pvalue)


@declared_correction("bonferroni", aliases=("bonf",), multiplies=True)
def bonferroni(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    r"""Bonferroni's correction.

    does: p times the number of comparisons
    source: Bonferroni (1936)
    """
    return _with_inequality("bonferroni", outcome)


def _with_inequality(law: str, outcome: Outcome) -> Corrected:
    """Correct, with intervals that hold together by Bonferroni's inequality."""
    pvalue = LAWS[law](outcome.pvalue)
    if pvalue.size <= 1:
        return Corrected(pvalue)
    limits = partial(narrowed, outcome.interval, pvalue.size)
    return Corrected(pvalue, interval=limits, holds_for=BONFERRONI)


def narrowed(interval: Interval, pairs: int, level: Level) -> Limits:
    """Return limits that hold for so many pairs together, by Bonferroni's inequality."""
    return interval(1 - (1 - level) / pairs)


@declared_correction("holm", aliases=("holm-bonferroni",), multiplies=True)
def holm(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    r"""Holm's correction.

    does: Bonferroni's correction step by step; as strict on errors, never weaker
    source: Holm (1979)

    Intervals are Bonferroni's, which need no order of the pairs.
    """
    return _with_inequality("holm", outcome)


@declared_correction(
    "bh", aliases=("fdr", "fdr-bh", "benjamini-hochberg"), bounds="share of errors"
)
def benjamini_hochberg(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    r"""false discovery rate of Benjamini and Hochberg.

    does: Benjamini and Hochberg: at most alpha of the differences found are expected to be none
        (false discovery rate)
    assumes: comparisons are independent, or depend on each other positively
    source: Benjamini and Hochberg (1995)
    """
    return _with_coverage_rate("bh", outcome)


@declared_correction("by", aliases=("fdr-by", "benjamini-yekutieli"), bounds="share of errors")
def benjamini_yekutieli(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    r"""false discovery rate of Benjamini and Yekutieli.

    does: Benjamini and Yekutieli: the same, however the comparisons depend on each other
    source: Benjamini and Yekutieli (2001)
    """
    return _with_coverage_rate("by", outcome)


def _with_coverage_rate(law: str, outcome: Outcome) -> Corrected:
    """Correct, with intervals that have the false coverage rate of the selected pairs.

    Of m pairs with R rejected at level q, each interval has level 1 - R q / m; it leaves out 0
    exactly where the pair is rejected. By the law of dependent p-values q is divided by the sum of
    1 / i up to m. Source: Benjamini and Yekutieli (2005).
    """
    pvalue = LAWS[law](outcome.pvalue)
    if pvalue.size <= 1:
        return Corrected(pvalue)
    dependence = _harmonic(pvalue.size) if law == "by" else 1.0
    limits = partial(limits_of_selected, outcome.interval, pvalue, dependence)
    return Corrected(pvalue, interval=limits, holds_for=SELECTED)


def limits_of_selected(
    interval: Interval, pvalue: Floats, dependence: float, level: Level
) -> Limits:
    tail = 1 - np.asarray(level)
    # 1 - level is not quite alpha, as floats.
    rejected = (pvalue <= np.reshape(tail, (-1, 1)) * (1 + 1e-12)).sum(axis=1)
    part = np.maximum(rejected, 1).reshape(tail.shape) / (pvalue.size * dependence)
    return interval(1 - tail * part)


SELECTED = "the significant pairs, of which a proportion of alpha is expected to miss"
"""What intervals with a false coverage rate hold for."""


def _harmonic(number: int) -> float:
    """Return the sum of 1 / i up to a number."""
    return float((1 / np.arange(1, number + 1)).sum())


def _holm(pvalues: Floats) -> Floats:
    order = np.argsort(pvalues, kind="stable")
    raised = pvalues[order] * np.arange(pvalues.size, 0, -1)
    out = np.empty(pvalues.size)
    out[order] = np.minimum(1.0, np.maximum.accumulate(raised))
    return out


def _step_up(pvalues: Floats, dependence: float = 1.0) -> Floats:
    order = np.argsort(pvalues, kind="stable")
    raised = pvalues[order] * pvalues.size * dependence / np.arange(1, pvalues.size + 1)
    out = np.empty(pvalues.size)
    out[order] = np.minimum(1.0, np.minimum.accumulate(raised[::-1])[::-1])
    return out


LAWS: dict[str, Callable[[Floats], Floats]] = {
    "none": np.copy,
    "bonferroni": lambda pvalues: np.minimum(1.0, pvalues * pvalues.size),
    "holm": _holm,
    "bh": _step_up,
    "by": lambda pvalues: _step_up(pvalues, _harmonic(pvalues.size)),
}
"""What becomes of p-values, by the name of the correction."""
