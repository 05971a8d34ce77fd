"""The result of a comparison, with everything in it that a reader has to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.optional import optional_module
from cranfield.base.scale_types import Scale
from cranfield.scores import Scores
from cranfield.significance.comparison import describing, frames
from cranfield.significance.comparison.groups import groups_of, letters_of
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.models.kruskal_friedman import Omnibus
from cranfield.significance.outcome import Interval
from cranfield.significance.registry import TestInfo, find_test
from cranfield.tabular.table import SHOWN, Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseComparison:
    """Which systems differ, by how much, and how sure that is.

    Attributes
    ----------
    test, correction
        Names of the test and of the correction for many comparisons.
    alternative, alpha
        Options of the test: the alternative hypothesis, and the significance level.
    measure
        Text form of the measure; empty where it is not known.
    systems
        The systems.
    means
        Mean score, or mean rank where the test goes by ranks, of each system.
    mean_of
        What they are means of.
    topics
        Number of topics.
    first, second
        Indices of the systems of each pair.
    difference
        Mean of the first minus that of the second, by pair.
    statistic, effect
        As the test defines them, by pair.
    raw_pvalues, adjusted_pvalues
        P-values before and after the correction, by pair; the same for Tukey's and Dunnett's
        tests, which correct while they test.
    n, zeros, ties
        By pair: observations that count, topics without difference, differences or scores that
        share their rank.
    interval_of, interval_kind
        What the confidence limits are limits of, and whether they hold for all pairs together.
    scores
        The scores that were compared, after the policy for missing ones.
    half_widths
        Half the width of an interval around each mean, such that systems whose intervals do not
        overlap differ; None where the correction has none, or means of different numbers of scores.
    anova, omnibus
        The table of an analysis of variance; the test of all systems together by ranks.
    baselines
        Systems that the others were compared with; none when all pairs were.
    scale, measure_scale
        The scale that the test assumes, and the one that the measure declares.
    seed, resamples
        Of a test that draws random numbers, else None.
    options
        All options of the comparison as they were given, used by this test or not.
    details, notes
        What else is worth keeping, and what a reader should be told.

    Examples
    --------
    >>> import cranfield as cf
    >>> found = cf.compare({"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]})
    >>> print(found)
    Paired t-test; alpha 0.05
    2 systems, 4 topics, 1 pair: 1 differs
    low, high: 0.95 confidence limits of the mean difference, each pair alone
    note: the paired t-test is two-way ANOVA with Tukey's HSD of two systems
    <BLANKLINE>
    first  second  difference      low     high        t       p   effect
    bm25   dense      -0.1500  -0.2419  -0.0581  -5.1962  0.0138  -2.5981  *
    """

    test: str
    correction: str
    alternative: str
    alpha: float
    measure: str
    systems: tuple[str, ...]
    means: Floats
    mean_of: str
    topics: int
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    difference: Floats
    statistic: Floats
    effect: Floats
    raw_pvalues: Floats
    adjusted_pvalues: Floats
    n: NDArray[np.intp]
    zeros: NDArray[np.intp]
    ties: NDArray[np.intp]
    interval_of: str
    interval_kind: str
    limits: Interval = field(repr=False)
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
        """What the test declares of itself."""
        return find_test(self.test).info

    def __len__(self) -> int:
        """Return the number of pairs compared."""
        return self.first.size

    @cached_property
    def interval(self) -> tuple[Floats, Floats]:
        """Lower and upper confidence limits, by pair; computed when first asked for.

        One-sided tests have one finite limit.
        """
        return self.interval_at(self.alpha)

    def interval_at(self, alpha: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at confidence 1 - alpha, by pair."""
        if self.alternative == "two-sided":
            return self.limits(1 - alpha)
        if alpha >= 0.5:
            low, high = np.full(len(self), -np.inf), np.full(len(self), np.inf)
        else:
            low, high = self.limits(1 - 2 * alpha)
        if self.alternative == "greater":
            return low, np.full(len(self), np.inf)
        return np.full(len(self), -np.inf), high

    def matrix(self, by_pair: NDArray[Any], *, mirrored: float | None = 1.0) -> Floats:
        """Arrange values of pairs by system and system.

        Parameters
        ----------
        by_pair
            A value for each pair.
        mirrored
            What the value is multiplied with on the other side; None leaves that side empty.

        Returns
        -------
        array
            Shape (systems, systems), NaN where nothing was compared.
        """
        out = np.full((len(self.systems), len(self.systems)), np.nan)
        out[self.first, self.second] = by_pair
        if mirrored is not None:
            out[self.second, self.first] = np.asarray(by_pair) * mirrored
        return out

    @property
    def pvalues(self) -> Floats:
        """Adjusted p-values, system by system; NaN where nothing was compared.

        One-sided p-values stand only where the row is the first system of the pair.
        """
        return self.matrix(
            self.adjusted_pvalues, mirrored=1.0 if self.alternative == "two-sided" else None
        )

    def is_significant(self, alpha: float | None = None) -> NDArray[np.bool_]:
        """Return whether each pair differs significantly: its p-value is at most alpha."""
        return np.asarray(self.adjusted_pvalues <= (self.alpha if alpha is None else alpha))

    def count(self, alpha: float | None = None) -> int:
        """Return how many pairs differ significantly."""
        return int(self.is_significant(alpha).sum())

    def significant(self, alpha: float | None = None) -> pl.DataFrame:
        """Return the table of the pairs that differ, those with the smallest p-value first."""
        return self.to_polars(alpha).filter("significant").sort("p")

    @property
    def order(self) -> NDArray[np.intp]:
        """The systems from the best to the worst mean."""
        sign = 1 if self.lower_is_better else -1
        return np.argsort(sign * self.means, kind="stable")

    def groups(self, alpha: float | None = None) -> dict[str, str]:
        """Name the groups of systems that are not separated, by letters.

        Returns
        -------
        dict
            From the best system to the worst: its letters. Two systems have a letter in common
            exactly when they do not differ significantly.

        Raises
        ------
        PolicyError
            When only comparisons with a baseline were made.
        """
        describing.all_pairs_wanted(self, "groups")
        different = np.nan_to_num(self.matrix(self.is_significant(alpha).astype(float))) > 0
        found = groups_of(different, self.order)
        letters = letters_of(found, len(self.systems))
        return {self.systems[k]: letters[k] for k in self.order}

    @property
    def top_group(self) -> tuple[str, ...]:
        """The best system, and those that do not differ from it."""
        describing.all_pairs_wanted(self, "a top group")
        best = self.order[0]
        different = self.matrix(self.is_significant().astype(float))[best]
        return tuple(self.systems[k] for k in self.order if k == best or not different[k])

    def ranking(self) -> pl.DataFrame:
        """Return the systems from best to worst: mean, interval and groups where there are any."""
        return frames.by_system(self)

    def to_polars(self, alpha: float | None = None) -> pl.DataFrame:
        """Return a table with a row a pair; limits and significance at `alpha`, if it is given."""
        return frames.by_pair(self, alpha)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of pairs as a pandas data frame."""
        optional_module("pandas")
        return self.to_polars().to_pandas()

    def table(self, places: int | None = None) -> Table:
        """Return the table that is shown: the ranking with groups, or the pairs with a baseline.

        Parameters
        ----------
        places
            Decimals; by default four, or more where all means are small.
        """
        return describing.table_of(self, places)

    def to_latex(self, places: int | None = None, **how: Any) -> str:
        """Return that table for booktabs; other options as for :meth:`Table.to_latex`."""
        return self.table(places).to_latex(**how)

    def _repr_html_(self) -> str:
        anova = "" if self.anova is None else self.anova.table().to_html()
        return anova + self.table().to_html(limit=SHOWN)

    def heading(self) -> list[str]:
        """Return what was done and found, in a few lines."""
        return describing.heading(self)

    def __str__(self) -> str:
        return describing.text_of(self)

    def __repr__(self) -> str:
        return f"PairwiseComparison({'; '.join(self.heading()[:2])})"
