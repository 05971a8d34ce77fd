"""Tests of equivalence and non-inferiority within a margin, by confidence intervals."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import PolicyError, quote
from cranfield.base.text import format_prefix, inflect
from cranfield.result import Column, Columns, Result, declare_bounds
from cranfield.significance.comparison.compared_pairs import (
    SCORE_STATISTICS,
    ComparedPairs,
    describe_missing_intervals,
)
from cranfield.significance.differences import (
    ALL_COMPARISONS,
    ALL_PAIRS,
    BONFERRONI,
    PAIR_COLUMNS,
    IntervalFunction,
    append_values,
    make_pair_frame,
)

VERDICTS = (
    "superior",
    "inferior",
    "different within the margin",
    "equivalent",
    "non-inferior",
    "non-superior",
    "undecided",
)
"""Verdicts on the first system of a pair, compared with the second."""

N_BISECTIONS = 52  # more bisections do not change a confidence level in double precision


@dataclass(frozen=True, eq=False, repr=False)
class Equivalence(Result):
    """Tests of equivalence and non-inferiority of pairs of systems within a margin.

    Two one-sided tests (Schuirmann, 1987): systems are equivalent at level alpha if differences
    below the lower margin and above the upper margin are both rejected at alpha, that is, if the
    1 - 2 alpha interval of the difference lies within the margin. The test of the comparison
    provides the interval, so equivalence has the same assumptions as this test.

    Attributes
    ----------
    comparison
        The comparison of the systems.
    margin
        Margin below which differences are negligible, by pair, in the unit of the difference.
    requested_margin
        The margin as requested, such as `2%`.
    two_sided_interval
        Confidence interval of the comparison, as a function of the confidence level.
    scope
        Scope of the verdicts: each pair, unadjusted, or all pairs simultaneously.
    n_tails
        Number k in the confidence level 1 - k alpha of an interval: 2 for the interval of one
        pair, unadjusted or with Bonferroni's correction; 1 for intervals of all pairs at once.
    n_tests
        Number of pairs, if Bonferroni's correction makes the verdicts simultaneous: p-values are
        multiplied by it, and alpha is divided by it. Otherwise 1.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"old": [0.2, 0.4, 0.3, 0.5], "new": [0.21, 0.4, 0.32, 0.49]}
    >>> print(cf.compare(scores, test="t").equivalence(0.03))
    Equivalence within 0.03: Paired t-test; alpha 0.05
    1 pair: 1 equivalent
    low, high: 90% confidence interval of the mean difference, each pair, unadjusted
    p difference: adjusted p-value of the comparison; p equivalence: ...
    ruled out: differences above this size, in either direction, are outside the interval
    <BLANKLINE>
    first  second  difference      low    high  margin  p difference  p equivalence ...
    old    new        -0.0050  -0.0202  0.0102  0.0300        0.4950         0.0152 ...
    """

    columns: ClassVar[Columns] = {
        **PAIR_COLUMNS,
        "difference": Column("As in the comparison: first system minus second, or log ratio."),
        **declare_bounds(
            "confidence interval that is compared with the margin",
            "; NaN if it would contradict the test decision",
        ),
        "margin": Column("Margin, in the unit of the difference."),
        "p difference": Column(
            "Adjusted p-value of the comparison, against the hypothesis that the systems do not"
            " differ.",
            is_pvalue=True,
        ),
        "p equivalence": Column(
            "p-value of the two one-sided tests against the hypothesis that the systems differ by"
            " the margin or more.",
            is_pvalue=True,
        ),
        "p non-inferiority": Column(
            "p-value of the one-sided test against the hypothesis that the first system is worse by"
            " the margin or more.",
            is_pvalue=True,
        ),
        "p non-superiority": Column(
            "p-value of the one-sided test against the hypothesis that the first system is better"
            " by the margin or more.",
            is_pvalue=True,
            display=False,
        ),
        "ruled out": Column(
            "Differences above this size, in either direction, are outside the interval: the"
            " larger absolute value of its two bounds."
        ),
        "verdict": Column(f"Verdict on the first system, one of: {', '.join(VERDICTS)}."),
    }

    comparison: ComparedPairs
    margin: Floats
    requested_margin: str
    two_sided_interval: IntervalFunction
    scope: str
    n_tails: int
    n_tests: int

    @property
    def level(self) -> float:
        """Confidence level of the intervals that are compared with the margin."""
        return 1 - self.n_tails * self.comparison.alpha

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the difference at confidence `level`, by pair.

        Both bounds are NaN if the interval contains 0 although the pair is significantly different,
        as in later steps of a step-down correction.
        """
        (low, high), is_contradicted = self.bounds, self._is_contradicted
        return np.where(is_contradicted, np.nan, low), np.where(is_contradicted, np.nan, high)

    @property
    def _is_contradicted(self) -> Bools:
        """Mask of the significantly different pairs whose interval contains 0."""
        low, high = self.bounds
        return np.asarray(self.comparison.is_significant() & (low <= 0) & (high >= 0))

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Bounds of `interval`, without setting any to NaN; verdicts depend on them."""
        if self.level <= 0:
            raise PolicyError(
                f"equivalence requires an alpha below 0.5, got {self.comparison.alpha:g}"
            )
        return self.two_sided_interval(1 - (1 - self.level) / self.n_tests)

    @property
    def ruled_out(self) -> Floats:
        """The number that a margin must exceed to make the pair equivalent, by pair.

        Larger differences, in either direction, can be ruled out.
        """
        low, high = self.bounds
        return np.maximum(np.maximum(-low, high), 0.0)

    @property
    def _margin_masks(self) -> tuple[Bools, Bools]:
        """Masks of pairs whose interval is above minus the margin, and below the margin."""
        low, high = self.bounds
        return low > -self.margin, high < self.margin

    @property
    def is_equivalent(self) -> Bools:
        """Mask of the equivalent pairs, which may nevertheless differ significantly."""
        return np.logical_and(*self._margin_masks)

    @property
    def is_non_inferior(self) -> Bools:
        """Mask of pairs whose first system is, by the interval, not worse by the margin or more."""
        return self._margin_masks[self.comparison.lower_is_better]

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Verdict on the first system of each pair, compared with the second.

        `superior`, `inferior`: significantly different, and the interval is not within the margin.
        `different within the margin`: significantly different, and the interval is within it.
        `equivalent`: not significantly different, and the interval is within the margin.
        `non-inferior`: not worse by the margin or more. `non-superior`: not better by the margin or
        more. `undecided`: all other pairs.
        """
        comparison = self.comparison
        is_not_worse, is_not_better = self._margin_masks
        if comparison.lower_is_better:
            is_not_worse, is_not_better = is_not_better, is_not_worse
        is_different, is_within = comparison.is_significant(), is_not_worse & is_not_better
        is_outside = is_different & ~is_within
        is_superior = is_outside & (comparison.direction > 0)
        cases = (is_superior, is_outside, is_different, is_within, is_not_worse, is_not_better)
        return tuple(np.select(cases, VERDICTS[:-1], VERDICTS[-1]).tolist())

    @cached_property
    def pvalues(self) -> tuple[Floats, Floats]:
        """P-values against `worse by the margin or more` and `better by the margin or more`.

        Each p-value is the smallest alpha at which the interval rejects the hypothesis, found by
        bisection. Before it is multiplied by the number of tests, its error is below 1e-15, or
        below 1 / `resamples` for resampled intervals.
        """
        lower, upper = (self._find_one_sided_pvalues(side * self.margin, side) for side in (-1, 1))
        return (upper, lower) if self.comparison.lower_is_better else (lower, upper)

    @property
    def p_equivalent(self) -> Floats:
        """P-value of equivalence by pair: the larger of the one-sided p-values."""
        return np.maximum(*self.pvalues)

    def _find_one_sided_pvalues(self, bound: Floats, side: int) -> Floats:
        """Return p-values against differences above a bound (`side` 1), or below a bound (-1)."""

        def rejects(alpha: Floats, is_opposite: Bools) -> Bools:
            low, high = self.two_sided_interval(1 - self.n_tails * alpha)
            is_below, is_above = high < bound, low > bound
            if side < 0:
                is_below, is_above = is_above, is_below
            return np.asarray(np.where(is_opposite, is_above, is_below))

        comparison, n_pairs, max_alpha = self.comparison, len(self.comparison), 1 / self.n_tails
        low, high = np.zeros(n_pairs), np.full(n_pairs, max_alpha)
        # If the estimate is beyond the bound, p is 1 minus p of the opposite test, above 1/2.
        is_opposite = ~rejects(high * (1 - 1e-9), np.zeros(n_pairs, dtype=bool))
        n_resamples = comparison.info.is_random and comparison.resamples
        for _ in range(n_resamples.bit_length() + 4 if n_resamples else N_BISECTIONS):
            middle = (low + high) / 2
            is_rejected = rejects(middle, is_opposite)
            low, high = np.where(is_rejected, low, middle), np.where(is_rejected, middle, high)
        opposite_pvalues = 1 - high if self.n_tails == 2 else np.ones(n_pairs)
        pvalues = np.where(is_opposite, opposite_pvalues, high)
        return np.asarray(np.minimum(1.0, self.n_tests * pvalues))

    def count(self) -> dict[str, int]:
        """Return the number of pairs by verdict, for verdicts that occur."""
        counts = Counter(self.verdicts)
        return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}

    def _frame(self) -> pl.DataFrame:
        comparison = self.comparison
        rows = make_pair_frame(comparison.systems, comparison.first, comparison.second)
        values = comparison.difference, *self.interval, self.margin
        pvalues = comparison.adjusted_pvalues, self.p_equivalent, *self.pvalues
        return append_values(rows, self.columns, *values, *pvalues, self.ruled_out, self.verdicts)

    def heading(self) -> list[str]:
        comparison = self.comparison
        verdicts = ", ".join(f"{n_pairs:,} {verdict}" for verdict, n_pairs in self.count().items())
        lines = [
            f"{format_prefix(comparison.measure)}Equivalence within {self.requested_margin}:"
            f" {comparison.info.title}; alpha {comparison.alpha:g}",
            f"{inflect(len(comparison), 'pair')}: {verdicts}",
            f"low, high: {100 * self.level:.4g}% confidence interval of the"
            f" {comparison.interval_of}, {self.scope}",
            "p difference: adjusted p-value of the comparison; p equivalence: p-value of the null"
            " hypothesis that the systems differ by the margin or more; p non-inferiority:"
            " p-value of the null hypothesis that the first system is worse by the margin or more",
            "ruled out: differences above this size, in either direction, are outside the interval",
            *describe_missing_intervals(int(self._is_contradicted.sum())),
        ]
        if comparison.mean_of not in SCORE_STATISTICS:
            return [*lines, f"the margin is in {comparison.mean_of}s, not in units of the scores"]
        if "%" not in self.requested_margin:
            return lines
        meaning = (
            f"{self.requested_margin} of the {comparison.mean_of} of the second system, which is"
            " treated as known without error"
        )
        if comparison.mean_of == "geometric mean":
            meaning = f"the log ratio of geometric means that are {self.requested_margin} apart"
        return [*lines, f"the margin is {meaning}"]


def equivalence(comparison: ComparedPairs, margin: float | str) -> Equivalence:
    """Test which pairs of a comparison are equivalent within a margin, absolute or a percentage."""
    is_uncorrected = len(comparison) == 1 or comparison.correction == "none"
    is_joint = not is_uncorrected and comparison.interval_kind in (ALL_PAIRS, ALL_COMPARISONS)
    is_bonferroni = not (is_uncorrected or is_joint)
    return Equivalence(
        comparison=comparison,
        margin=_compute_margins(comparison, margin),
        requested_margin=f"{margin:g}" if isinstance(margin, (int, float)) else str(margin).strip(),
        two_sided_interval=comparison.two_sided_interval if is_joint else comparison.pair_interval,
        scope=BONFERRONI if is_bonferroni else comparison.interval_kind,
        n_tails=1 if is_joint else 2,
        n_tests=len(comparison) if is_bonferroni else 1,
    )


def read_margin(margin: float | str) -> tuple[float, bool]:
    """Return the size of a margin, and whether it is a percentage."""
    text = str(margin).strip()
    try:
        size = float(text.removesuffix("%"))
    except ValueError:
        size = np.nan
    if isinstance(margin, bool) or not (np.isfinite(size) and size > 0):
        raise PolicyError(
            f"margin must be a number above 0 or a percentage such as '2%', got {quote(margin)}"
        )
    return size, text.endswith("%")


def _compute_margins(comparison: ComparedPairs, margin: float | str) -> Floats:
    size, is_percentage = read_margin(margin)
    measure = comparison.scores.definition
    low, high = (-np.inf, np.inf) if measure is None else measure.info.range
    if comparison.mean_of == "geometric mean":
        if not is_percentage:
            raise PolicyError(
                f"a margin of geometric means must be a percentage such as '2%', got {margin}"
            )
        return np.full(len(comparison), np.log1p(size / 100))
    if is_percentage:
        if comparison.mean_of not in SCORE_STATISTICS:
            raise PolicyError(
                f"{comparison.info.title} compares mean ranks; its margin cannot be a percentage,"
                f" got {margin}"
            )
        return size / 100 * np.abs(comparison.means[comparison.second])
    # No two scores can differ by more than the range of the measure.
    if comparison.mean_of == "mean" and size >= high - low:
        raise PolicyError(
            f"margin must be below {high - low:g}, the width of the range of {comparison.measure},"
            f" got {size:g}; a percentage is written as '{size:g}%'"
        )
    return np.full(len(comparison), size)
