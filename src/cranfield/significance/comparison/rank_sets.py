"""Confidence sets of the ranks of systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices, argsort_best, remove_noise
from cranfield.base.errors import check_integer, check_proportion
from cranfield.base.text import format_prefix, inflect
from cranfield.result import Column, Columns, Result
from cranfield.significance.registry import Correction, TestInfo


def name_method(info: TestInfo, correction: Correction, *, has_baseline: bool = False) -> str:
    """Return the name of a test with its correction, for headings and prose."""
    template = correction.baseline_heading if has_baseline else correction.heading
    if template:
        return template.format(error=info.error)
    return f"{info.title}{', ' if correction.name == 'none' else ' with '}{correction.title}"


@dataclass(frozen=True, eq=False, repr=False)
class RankSets(Result):
    """Confidence sets of the ranks of systems; returned by :func:`rank_sets` or by a comparison.

    Rows are ordered by rank, the best system first. The columns `own from` and `own to` are absent
    if :attr:`own_pvalues` is None.

    Attributes
    ----------
    measure
        Name of the measure; empty where it is not known.
    systems, means
        Names of the systems, and the statistic that orders them.
    mean_of
        Name of this statistic, such as `mean` or `geometric mean`.
    n_topics
        Number of topics.
    difference
        Differences, or log ratios of geometric means, row minus column, shape (systems, systems).
    pvalues
        Adjusted p-values of the differences, in one family of all pairs, shape (systems, systems).
    own_pvalues
        Adjusted p-values with one family for each row: the pairs of its system with all others.
        None if they were not computed.
    alpha
        1 minus the confidence level.
    method
        Name of the test and the correction.
    lower_is_better
        Whether lower scores are better.
    resamples, seed
        Number of resamples and seed; None if the comparison does not resample.
    notes
        Notes on the comparison.
    """

    columns: ClassVar[Columns] = {
        "rank": Column("Observed rank: 1 plus the number of systems with a better mean."),
        "system": Column("System.", key=True),
        "*": Column("Statistic that orders the systems; the column has its name, such as mean."),
        "from": Column(
            "Best rank in the confidence set; the sets of all systems are simultaneous."
        ),
        "to": Column("Worst rank in the confidence set."),
        "own from": Column("Best rank in the confidence set of this system alone (marginal)."),
        "own to": Column("Worst rank in the confidence set of this system alone (marginal)."),
    }

    measure: str
    systems: tuple[str, ...]
    means: Floats
    n_topics: int
    difference: Floats
    pvalues: Floats
    own_pvalues: Floats | None
    alpha: float
    method: str
    mean_of: str = "mean"
    lower_is_better: bool = False
    resamples: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()

    def with_alpha(self, alpha: float) -> RankSets:
        """Return the sets at confidence 1 - alpha."""
        check_proportion("alpha", alpha)
        return replace(self, alpha=alpha)

    @property
    def _advantage(self) -> Floats:
        """Differences, row minus column, positive if the row is better."""
        return -self.difference if self.lower_is_better else self.difference

    @property
    def rank(self) -> Indices:
        """Observed ranks: 1 plus the number of systems with a better mean."""
        return np.asarray(1 + (self._advantage < 0).sum(axis=1))

    @property
    def interval(self) -> tuple[Indices, Indices]:
        """Best and worst rank of each system, simultaneous at confidence 1 - alpha."""
        return self._find_rank_bounds(self.pvalues)

    @property
    def own_interval(self) -> tuple[Indices, Indices] | None:
        """Best and worst rank of each system, marginal at confidence 1 - alpha, or None."""
        return None if self.own_pvalues is None else self._find_rank_bounds(self.own_pvalues)

    def _find_rank_bounds(self, pvalues: Floats) -> tuple[Indices, Indices]:
        is_better, is_worse = (
            (pvalues <= self.alpha) & (sign * self._advantage > 0) for sign in (1, -1)
        )
        return 1 + is_worse.sum(axis=1), len(self.systems) - is_better.sum(axis=1)

    def find_possible_best(self, n_best: int = 1) -> tuple[str, ...]:
        """Return the systems that may be among the best `n_best` systems, in order of their means.

        With confidence 1 - alpha, the result includes all systems that truly are among the best
        `n_best`, simultaneously for all values of `n_best`; 1 gives the possible winners.
        """
        check_integer("n_best", n_best, 1)
        best_ranks, _ = self.interval
        return tuple(self.systems[k] for k in self.order if best_ranks[k] <= n_best)

    @property
    def order(self) -> Indices:
        """Indices of the systems, from the best mean to the worst."""
        return argsort_best(remove_noise(self.means), self.lower_is_better)

    def _frame(self) -> pl.DataFrame:
        systems = pl.Series(self.systems, dtype=pl.String)
        columns: dict[str, Any] = {"rank": self.rank, "system": systems, self.mean_of: self.means}
        columns["from"], columns["to"] = self.interval
        if self.own_interval is not None:
            columns["own from"], columns["own to"] = self.own_interval
        return pl.DataFrame(columns)[self.order]

    def heading(self) -> list[str]:
        own_sets_text = "; own from, own to: marginal confidence sets"
        lines = [
            f"{format_prefix(self.measure)}ranks by {self.method}",
            f"{inflect(len(self.systems), 'system')}, {inflect(self.n_topics, 'topic')}",
            f"from, to: {100 * (1 - self.alpha):.4g}% simultaneous confidence sets of all"
            f" ranks{'' if self.own_pvalues is None else own_sets_text}",
            f"{inflect(len(self.find_possible_best()), 'system')} may be the best",
        ]
        if self.resamples is not None:
            lines.append(f"{self.resamples:,} random samples, seed {self.seed}")
        return lines
