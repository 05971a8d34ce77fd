"""Results of a comparison by pair of systems, and compact letter displays of systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from math import isnan
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Indices, argsort_best, is_best_value, remove_noise
from cranfield.base.errors import PolicyError, as_numbers, check_number, check_proportion, quote
from cranfield.base.scale_types import Scale
from cranfield.base.text import inflect, sanitise
from cranfield.result import Column, Columns, declare_bounds
from cranfield.scores import Scores
from cranfield.significance.comparison.rank_sets import RankSets, name_method
from cranfield.significance.differences import (
    ALL_COMPARISONS,
    ALL_PAIRS,
    BONFERRONI,
    PAIR_COLUMNS,
    SIDAK,
    IntervalFunction,
    append_values,
    make_infinite_bounds,
    make_pair_frame,
)
from cranfield.significance.models.anova import Omnibus
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.prepare import LOG_RATIO
from cranfield.significance.registry import CORRECTIONS, TestInfo, find_test
from cranfield.tabular import format_pvalue

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
RIGHT_SIGNS = "significant differences have the right sign"  # end of a note on rank sets

PAIRS: Columns = {
    **PAIR_COLUMNS,
    "difference": Column(
        "Mean (or sum, median, mean rank) of the first system minus the second; for geometric"
        " means, the logarithm of their ratio."
    ),
    **declare_bounds("confidence interval", "; NaN if it would contradict the test decision"),
    "statistic": Column("Test statistic, such as t; its formula depends on the test."),
    "raw p": Column("p-value before the correction for multiple comparisons.", is_pvalue=True),
    "p": Column("Adjusted p-value.", is_pvalue=True),
    "effect": Column("Effect size, such as Cohen's d; its kind depends on the test."),
    "n": Column("Number of observations of the pair that the test uses."),
    "zeros": Column("Number of topics on which scores count as equal; 0 if the test counts none."),
    "ties": Column("Number of tied values in signed-rank and rank-sum tests; 0 in other tests."),
    "significant": Column("Whether the adjusted p-value is at most alpha."),
}
"""Columns of :meth:`ComparedPairs.tabulate_pairs`."""


def find_groups(is_different: NDArray[np.bool_], order: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Compute the groups of a compact letter display (Piepho 2004; Gramm et al. 2007).

    Groups are cliques of the graph that connects systems without a significant difference, added
    greedily, in `order` of the systems, until they contain every edge. If decisions follow the
    order of means, as with Tukey's HSD on a balanced design, the number of groups is minimal.
    """
    is_similar = ~is_different[np.ix_(order, order)]
    np.fill_diagonal(is_similar, True)
    is_uncovered = np.triu(is_similar)
    groups: list[NDArray[np.bool_]] = []
    for first in range(len(order)):
        while is_uncovered[first].any():
            is_member = np.zeros(len(order), dtype=bool)
            # Begin with a pair that is in no group yet; it may be a system and itself.
            is_member[[first, int(is_uncovered[first].argmax())]] = True
            candidates = np.flatnonzero(is_similar[is_member].all(axis=0) & ~is_member)
            is_later = candidates > first
            for candidate in (*candidates[is_later], *candidates[~is_later][::-1]):
                if is_similar[candidate][is_member].all():
                    is_member[candidate] = True
            is_uncovered[np.ix_(is_member, is_member)] = False
            groups.append(is_member)
    # Drop the groups that are subsets of another group; no two groups are equal.
    maximal_groups = [
        group
        for group in groups
        if not any(group is not superset and (group <= superset).all() for superset in groups)
    ]
    return [order[np.flatnonzero(is_member)] for is_member in maximal_groups]


def assign_letters(groups: Sequence[NDArray[np.intp]], n_systems: int) -> list[str]:
    """Return the letters of each system's groups, with commas if there are over 26 groups."""
    names_by_system: list[list[str]] = [[] for _ in range(n_systems)]
    for k, group in enumerate(groups):
        for system in group:
            names_by_system[system].append(name_group(k))
    separator = "" if len(groups) <= len(ALPHABET) else ","
    return [separator.join(names) for names in names_by_system]


def name_group(k: int) -> str:
    """Return the name of the k-th group: `a` is 0, `z` 25, `aa` 26."""
    name = ""
    k += 1
    while k:
        k, digit = divmod(k - 1, len(ALPHABET))
        name = ALPHABET[digit] + name
    return name


def parse_group_name(name: str) -> int:
    """Return the index of the group with a name; the inverse of :func:`name_group`."""
    ordinal = 0
    for character in name:
        ordinal = ordinal * len(ALPHABET) + ALPHABET.index(character) + 1
    return ordinal - 1


def shorten_letters(letters: str) -> str:
    """Write three or more consecutive group names as a range: `a-c` for `a,b,c`."""
    names = letters.split(",")
    if len(names) < 3:
        return letters
    ranges: list[str] = []
    # Consecutive groups have a constant difference of group index and position.
    for _, items in groupby(enumerate(names), lambda item: parse_group_name(item[1]) - item[0]):
        first, *others = (name for _, name in items)
        ranges += [f"{first}-{others[-1]}"] if len(others) > 1 else [first, *others]
    return ",".join(ranges)


def describe_missing_intervals(n_pairs: int) -> list[str]:
    """Return a line on pairs without an interval, if there are any."""
    if not n_pairs:
        return []
    return [
        f"{inflect(n_pairs, 'pair')} without an interval: the test decision is not based on the"
        " interval, which would contradict it"
    ]


@dataclass(frozen=True, eq=False, repr=False)
class PairComparison:
    """Comparison of two systems, such as `comparison["bm25", "dense"]`.

    Attributes
    ----------
    first, second
        The systems, in the requested order.
    difference
        Mean, or other `mean_of` of the comparison, of the first system minus the second; for
        geometric means the log ratio.
    interval
        Confidence interval of the quantity that `interval_of` of the comparison names; NaN if the
        interval would contradict the test decision.
    pvalue
        Adjusted p-value; a one-sided p-value refers to the order of the systems in the comparison.
    effect
        The effect size, as the test defines it.
    is_significant
        Whether the adjusted p-value is at most alpha.
    """

    first: str
    second: str
    difference: float
    interval: tuple[float, float]
    pvalue: float
    effect: float
    is_significant: bool
    _between: str

    def __repr__(self) -> str:
        low, high = self.interval
        interval = "" if isnan(low) else f" from {low:.4g} to {high:.4g},"
        kind = "log ratio of " * (self._between == "to")
        return (
            f"PairComparison({kind}{quote(self.first)} {self._between} {quote(self.second)}:"
            f" {self.difference:.4g},{interval} p = {format_pvalue(self.pvalue)})"
        )


MEAN_DIFFERENCES = ("mean difference", "difference of means", "difference of medians")
"""Quantities (`TestInfo.interval`) in the unit of the statistic of systems."""

SCORE_STATISTICS = ("mean", "sum", "geometric mean", "median")
"""Statistics (`mean_of`) of scores, not of ranks."""

SIMULTANEOUS_KINDS = (ALL_PAIRS, BONFERRONI, SIDAK, ALL_COMPARISONS)
"""Kinds of intervals (`interval_kind`) that are simultaneous."""


@dataclass(frozen=True, eq=False, repr=False)
class ComparedPairs:
    """Data of a :class:`PairwiseComparison`, which adds tables and text."""

    test: str
    correction: str
    alternative: str
    alpha: float
    measure: str
    systems: tuple[str, ...]
    means: Floats
    mean_of: str
    statistic_of_topics: str
    n_topics: int
    first: Indices
    second: Indices
    difference: Floats
    statistic: Floats
    effect: Floats
    raw_pvalues: Floats
    adjusted_pvalues: Floats
    n: Indices
    zeros: Indices
    ties: Indices
    interval_of: str
    interval_kind: str
    two_sided_interval: IntervalFunction = field(repr=False)
    pair_interval: IntervalFunction = field(repr=False)
    scores: Scores = field(repr=False)
    half_widths: Floats | None = None
    anova: AnovaTable | None = None
    omnibus: Omnibus | None = None
    baselines: tuple[str, ...] = ()
    scale: Scale = Scale.INTERVAL
    measure_scale: Scale | None = None
    lower_is_better: bool = False
    seed: int | None = None
    resamples: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def info(self) -> TestInfo:
        """Declaration of the test."""
        return find_test(self.test).info

    def __len__(self) -> int:
        """Return the number of pairs compared."""
        return self.first.size

    @property
    def difference_name(self) -> str:
        """Name of :attr:`difference`, such as `difference of means`."""
        return LOG_RATIO if self.mean_of == "geometric mean" else f"difference of {self.mean_of}s"

    @property
    def between_names(self) -> str:
        """Word between the names of a pair: `minus` for differences, `to` for ratios."""
        return "to" if self.mean_of == "geometric mean" else "minus"

    @property
    def difference_from(self) -> str:
        """Label of a comparison with a reference: `difference from` or `ratio to`."""
        return "ratio to" if self.mean_of == "geometric mean" else "difference from"

    @cached_property
    def interval(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the confidence interval, by pair; computed when first used.

        One-sided tests have at most one finite bound. Both bounds are NaN if the interval would
        contradict the decision on the pair, as in later steps of a step-down correction.
        """
        return self.compute_interval(self.alpha)

    def compute_interval(self, alpha: float) -> tuple[Floats, Floats]:
        """Return lower and upper bounds at confidence 1 - alpha, by pair."""
        low, high = self.compute_bounds(alpha)
        is_contradicted = self.find_contradicted(low, high, alpha)
        return np.where(is_contradicted, np.nan, low), np.where(is_contradicted, np.nan, high)

    def find_contradicted(self, low: Floats, high: Floats, alpha: float) -> Bools:
        """Return a mask of the pairs whose interval contradicts the test decision."""
        with np.errstate(invalid="ignore"):
            is_without_0 = (low > 0) | (high < 0)
        return np.asarray(is_without_0 != self.is_significant(alpha))

    @property
    def n_without_interval(self) -> int:
        """Number of pairs whose interval would contradict the test decision."""
        return int(self.find_contradicted(*self.compute_bounds(self.alpha), self.alpha).sum())

    def compute_bounds(self, alpha: float) -> tuple[Floats, Floats]:
        """Return the bounds of :meth:`compute_interval`, without setting any to NaN."""
        check_proportion("alpha", alpha)
        if self.alternative == "two-sided":
            return self.two_sided_interval(1 - alpha)
        bottom, top = make_infinite_bounds(len(self))
        low, high = (bottom, top) if alpha >= 0.5 else self.two_sided_interval(1 - 2 * alpha)
        # Rank 1 is the best, so mean ranks are lower for higher scores.
        is_reversed = self.mean_of == "mean rank" and not self.scores.lower_is_better
        return (low, top) if (self.alternative == "greater") != is_reversed else (bottom, high)

    def to_matrix(self, by_pair: NDArray[Any], *, mirrored: float | None = 1.0) -> Floats:
        """Arrange values by pair in a matrix, system by system; NaN for pairs not compared.

        Row and column are the first and the second system. The transposed cells have the values
        times `mirrored`, or NaN if it is None.
        """
        by_pair = as_numbers(by_pair, "values of pairs")
        out = np.full((len(self.systems), len(self.systems)), np.nan)
        out[self.first, self.second] = by_pair
        if mirrored is not None:
            with np.errstate(invalid="ignore", over="ignore"):
                out[self.second, self.first] = by_pair * mirrored
        return out

    @property
    def pvalue_matrix(self) -> Floats:
        """Adjusted p-values, system by system; NaN for pairs not compared.

        A one-sided p-value is only in the cell whose row is the first system of the pair.
        """
        return self.to_matrix(
            self.adjusted_pvalues, mirrored=1.0 if self.alternative == "two-sided" else None
        )

    def is_significant(self, alpha: float | None = None) -> Bools:
        """Return a mask of the significantly different pairs: adjusted p-value at most alpha."""
        level = self.alpha if alpha is None else alpha
        check_number("alpha", level)
        return np.asarray(self.adjusted_pvalues <= float(level))

    @property
    def tests_difference(self) -> bool:
        """Whether the test is about :attr:`difference`, not about signs or ranks by topic."""
        return self.interval_of in (*MEAN_DIFFERENCES, self.difference_name)

    @property
    def direction(self) -> Floats:
        """1 for pairs whose first system is better by the tested quantity, -1 if worse, else 0.

        Sign and rank tests can favour the system with the worse mean; the direction of these tests
        is the sign of the effect size.
        """
        estimate = self.difference if self.tests_difference else self.effect
        return np.sign(estimate) * (-1.0 if self.lower_is_better else 1.0)

    @property
    def lacks_better_mean(self) -> Bools:
        """Mask of the significant pairs whose test favours a system without the better mean."""
        advantage = -self.difference if self.lower_is_better else self.difference
        return np.asarray(self.is_significant() & (self.direction * advantage <= 0))

    def get_direction_notes(self) -> list[str]:
        """Return a note if significant differences favour systems without the better mean."""
        pairs = np.flatnonzero(self.lacks_better_mean)
        if not pairs.size:
            return []
        k = pairs[0]
        names = sanitise(self.systems[self.first[k]]), sanitise(self.systems[self.second[k]])
        better, worse = names if self.direction[k] > 0 else names[::-1]
        verb = "favours" if pairs.size == 1 else "favour"
        return [
            f"{pairs.size:,} of {inflect(self.count(), 'significant difference')} {verb} a system"
            f" without the better {self.mean_of}, such as {better} over {worse}: this test is about"
            f" the {self.interval_of}, not the {self.mean_of}"
        ]

    def is_worse(self, alpha: float | None = None) -> Bools:
        """Return a mask of pairs whose first system is significantly worse than the second."""
        return np.asarray((self.direction < 0) & self.is_significant(alpha))

    @property
    def tested_verdict(self) -> str:
        """Conclusion of a one-sided test that rejects: the first system is `better` or `worse`."""
        is_reversed = self.scores.lower_is_better
        return "better" if (self.alternative == "greater") != is_reversed else "worse"

    def count(self, alpha: float | None = None) -> int:
        """Return the number of pairs that differ significantly."""
        return int(self.is_significant(alpha).sum())

    def list_significant_pairs(self, alpha: float | None = None) -> pl.DataFrame:
        """Return the rows of the significantly different pairs, smallest p-value first."""
        return self.tabulate_pairs(alpha).filter("significant").sort("p")

    @property
    def order(self) -> Indices:
        """Indices of the systems, from the best mean to the worst; ties keep their order."""
        return argsort_best(remove_noise(self.means), self.lower_is_better)

    @property
    def best(self) -> tuple[int, ...]:
        """Indices of the systems with the best mean; means may differ by rounding errors."""
        is_best = is_best_value(self.means, self.lower_is_better)
        return tuple(np.flatnonzero(is_best).tolist())

    def groups(self, alpha: float | None = None) -> dict[str, str]:
        """Assign letters to groups of systems that do not differ significantly.

        Returns
        -------
        dict
            Letters by system, from the best system to the worst. Two systems share a letter if and
            only if they do not differ significantly.

        Raises
        ------
        PolicyError
            Unless all pairs were compared by a two-sided test.
        """
        self.require_all_pairs("groups")
        groups = find_groups(self.to_matrix(self.is_significant(alpha)) == 1, self.order)
        letters = assign_letters(groups, len(self.systems))
        return {self.systems[k]: letters[k] for k in self.order}

    @property
    def top_group(self) -> tuple[str, ...]:
        """The best system, and the systems that do not differ significantly from it."""
        self.require_all_pairs("top groups")
        is_different = self.to_matrix(self.is_significant())[self.order[0]] == 1
        return tuple(self.systems[k] for k in self.order if not is_different[k])

    @property
    def assumes_right_signs(self) -> bool:
        """Whether rank sets assume that differences have the right sign; False for Tukey's HSD."""
        correction = CORRECTIONS[self.correction]
        return not (correction.pools_errors or correction.assumes_one_variance)

    def rank_sets(self) -> RankSets:
        """Return confidence sets of the rank of each system, from the decisions on all pairs.

        A system is better than the systems from which it differs significantly and whose mean is
        worse; pairs whose test favours a system without the better mean are undecided. The sets
        contain all true ranks simultaneously with probability 1 - alpha if the comparison controls
        the family-wise error rate including directional errors, as Tukey's HSD does. Other
        corrections control only false rejections, so a note says that the directions of
        significant differences are assumed to be right.
        :func:`cranfield.significance.rank_sets` also returns the smaller, marginal sets.

        Raises
        ------
        PolicyError
            Unless all pairs were compared by a two-sided test, with family-wise error control.
        """
        self.require_all_pairs("confidence sets of ranks")
        correction = CORRECTIONS[self.correction]
        if correction.controls != "FWER" and len(self) > 1:
            corrections = [CORRECTIONS[name] for name in self.info.corrections]
            corrections = [c for c in corrections if c.controls == "FWER"]
            names = [c.name for c in corrections if not c.requires_one_baseline]
            raise PolicyError(
                "confidence sets of ranks require a correction that controls the family-wise error"
                f" rate, one of: {', '.join(names)}; got {correction.name}"
            )
        notes = self.notes
        if self.assumes_right_signs:
            notes = (*notes, f"confidence sets of ranks assume that {RIGHT_SIGNS}")
        return RankSets(
            measure=self.measure,
            systems=self.systems,
            means=self.means,
            n_topics=self.n_topics,
            difference=np.nan_to_num(self.to_matrix(self.difference, mirrored=-1.0)),
            pvalues=np.nan_to_num(
                self.to_matrix(np.where(self.lacks_better_mean, 1.0, self.adjusted_pvalues)),
                nan=1.0,
            ),
            own_pvalues=None,
            alpha=self.alpha,
            method=name_method(self.info, correction),
            mean_of=self.mean_of,
            lower_is_better=self.lower_is_better,
            resamples=self.resamples,
            seed=self.seed,
            notes=notes,
        )

    def find_mean_bounds(self, reference: int) -> tuple[Floats, Floats] | None:
        """Return bounds to draw around each mean, or None.

        If the comparison has half-widths, the bounds are the mean minus and plus the half-width;
        for geometric means, this holds for their logarithms. Otherwise the bounds are the mean of
        the reference system, given by its index, plus the interval of the difference from it: a
        system differs significantly from the reference if its bounds exclude the reference mean;
        bounds are NaN without such an interval. Without half-widths, the result is None if
        intervals are one-sided, not simultaneous, or not of differences of statistics.
        """
        if self.half_widths is not None:
            if self.statistic_of_topics == "geometric-mean":
                ratio = np.exp(self.half_widths)
                return self.means / ratio, self.means * ratio
            return self.means - self.half_widths, self.means + self.half_widths
        if (
            self.mean_of not in SCORE_STATISTICS
            or self.info.interval not in MEAN_DIFFERENCES
            or self.interval_kind not in SIMULTANEOUS_KINDS
            or self.alternative != "two-sided"
        ):
            return None
        low, high = (self.to_matrix(bounds, mirrored=None) for bounds in self.interval)
        pair, opposite = (self.first, self.second), (self.second, self.first)
        low[opposite], high[opposite] = -high[pair], -low[pair]
        centre = self.means[reference]
        low[reference, reference] = high[reference, reference] = 0.0
        if self.statistic_of_topics == "geometric-mean":
            return centre * np.exp(low[:, reference]), centre * np.exp(high[:, reference])
        return centre + low[:, reference], centre + high[:, reference]

    def require_all_pairs(self, purpose: str) -> None:
        """Raise unless all pairs were compared, by a two-sided test."""
        if self.baselines:
            raise PolicyError(
                f"{purpose} require a comparison of all pairs, without a baseline; got"
                f" {', '.join(self.baselines)}"
            )
        if self.alternative != "two-sided":
            raise PolicyError(f"{purpose} require a two-sided test, got {self.alternative}")

    def ranking(self) -> pl.DataFrame:
        """Return the systems from best to worst, with means, intervals, rank sets and groups.

        The columns `low` and `high` require half-widths, the columns `groups` and `ranks` a
        two-sided comparison of all pairs. Confidence sets of ranks, such as `2-5`, also require
        control of the family-wise error rate.
        """
        order = self.order
        names, means = [self.systems[k] for k in order], self.means[order]
        columns: dict[str, Any] = {"system": names, self.mean_of: means}
        if self.half_widths is not None and (bounds := self.find_mean_bounds(0)) is not None:
            columns |= {"low": bounds[0][order], "high": bounds[1][order]}
        if not self.baselines and self.alternative == "two-sided":
            if CORRECTIONS[self.correction].controls == "FWER" or len(self) == 1:
                low, high = (ranks[order].tolist() for ranks in self.rank_sets().interval)
                columns["ranks"] = [
                    str(best) if best == worst else f"{best}-{worst}"
                    for best, worst in zip(low, high, strict=True)
                ]
            columns["groups"] = list(self.groups().values())
        return pl.DataFrame(columns)

    def tabulate_pairs(self, alpha: float | None = None) -> pl.DataFrame:
        """Return a data frame of pairs, with intervals and decisions at a significance level.

        Parameters
        ----------
        alpha
            The level; by default that of the comparison.
        """
        interval = self.interval if alpha is None else self.compute_interval(alpha)
        pvalues = self.raw_pvalues, self.adjusted_pvalues
        counts = self.n, self.zeros, self.ties
        values = self.difference, *interval, self.statistic, *pvalues, self.effect, *counts
        names = make_pair_frame(self.systems, self.first, self.second)
        return append_values(names, PAIRS, *values, self.is_significant(alpha))
