"""Confidence sets of the ranks of systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices, best_first
from cranfield.base.errors import check_share, check_whole
from cranfield.base.text import counted
from cranfield.result import Column, Columns, Result
from cranfield.significance.registry import Correction, TestInfo


def heading_of(info: TestInfo, correction: Correction, *, baseline: bool = False) -> str:
    """Name the test and the correction."""
    template = correction.baseline_heading if baseline else correction.heading
    if template:
        return template.format(error=info.error)
    return f"{info.title} with {correction.title}"


@dataclass(frozen=True, eq=False, repr=False)
class RankSets(Result):
    """Confidence sets of the ranks of systems; made by :func:`rank_sets` or by a comparison.

    Rows are ordered by rank, the best system first. The columns `own from` and `own to` are absent
    where :attr:`own_pvalues` is None.

    Attributes
    ----------
    measure
        Text form of the measure; empty where it is not known.
    systems, means
        The systems, and the statistic that they are ordered by.
    mean_of
        Name of that statistic, such as `mean` or `geometric mean`.
    topics
        Number of topics.
    difference
        Row minus column, shape (systems, systems).
    pvalues
        Adjusted p-values that the system with the better mean is the better one, of one family for
        all pairs; the same shape.
    own_pvalues
        The same, each row a family of its own: of that system with the others. None where these are
        not known.
    alpha
        1 minus the confidence.
    method
        Name of the test and the correction.
    lower_is_better
        Whether the better system is the one with lower scores.
    resamples, seed
        Of random samples; None where there are none.
    notes
        Notes on the comparison.
    """

    columns: ClassVar[Columns] = {
        "rank": Column("Observed rank: 1 plus the number of systems with a better mean."),
        "system": Column("System.", key=True),
        "*": Column("Statistic that systems are ordered by, under its name, such as mean."),
        "from": Column(
            "Best rank in the confidence set; the sets of all systems are simultaneous."
        ),
        "to": Column("Worst rank in it."),
        "own from": Column("Best rank in the confidence set of this system alone."),
        "own to": Column("Worst rank in it."),
    }

    measure: str
    systems: tuple[str, ...]
    means: Floats
    topics: int
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

    def at(self, alpha: float) -> RankSets:
        """Return the sets at confidence 1 - alpha."""
        check_share("alpha", alpha)
        return replace(self, alpha=alpha)

    @property
    def _ahead(self) -> Floats:
        return -self.difference if self.lower_is_better else self.difference

    @property
    def rank(self) -> Indices:
        """Observed ranks: 1 plus the number of systems with a better mean."""
        return np.asarray(1 + (self._ahead < 0).sum(axis=1))

    @property
    def interval(self) -> tuple[Indices, Indices]:
        """Best and worst rank of each system, all sets together at confidence 1 - alpha."""
        return self._limits(self.pvalues)

    @property
    def own_interval(self) -> tuple[Indices, Indices] | None:
        """The same, each set alone at that confidence; None where it is not known."""
        return None if self.own_pvalues is None else self._limits(self.own_pvalues)

    def _limits(self, pvalues: Floats) -> tuple[Indices, Indices]:
        is_significant = pvalues <= self.alpha
        better, worse = is_significant & (self._ahead > 0), is_significant & (self._ahead < 0)
        return 1 + worse.sum(axis=1), len(self.systems) - better.sum(axis=1)

    def among_best(self, places: int = 1) -> tuple[str, ...]:
        """Return the systems that may be among the best few, in order of their means.

        They include all systems that truly are among them with confidence 1 - alpha, simultaneously
        for any number of places.

        Parameters
        ----------
        places
            Number of top ranks; 1 for possible winners.
        """
        check_whole("places", places, 1)
        best, _ = self.interval
        return tuple(self.systems[k] for k in self.order if best[k] <= places)

    @property
    def order(self) -> Indices:
        """The systems from the best to the worst mean."""
        return best_first(self.means, self.lower_is_better)

    def _frame(self) -> pl.DataFrame:
        columns: dict[str, Any] = {
            "rank": self.rank,
            "system": pl.Series(self.systems, dtype=pl.String),
            self.mean_of: self.means,
        }
        columns["from"], columns["to"] = self.interval
        if self.own_interval is not None:
            columns["own from"], columns["own to"] = self.own_interval
        return pl.DataFrame(columns)[self.order]

    def heading(self) -> list[str]:
        """Return lines on the method, the confidence level and the number of possible winners."""
        measure = f"{self.measure}: " if self.measure else ""
        remark = "" if self.own_pvalues is None else "; own: each system alone"
        lines = [
            f"{measure}ranks by {self.method}",
            f"{counted(len(self.systems), 'system')}, {counted(self.topics, 'topic')}",
            f"from, to: {1 - self.alpha:.4g} confidence sets of ranks, all systems together"
            f"{remark}",
            f"{counted(len(self.among_best()), 'system')} may be the best",
        ]
        if self.resamples is not None:
            lines.append(f"{self.resamples:,} random samples, seed {self.seed}")
        return lines
