"""Corrected scores of systems, their differences, and values that comparisons take."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from cranfield.assess.estimates.by_document import Documents
from cranfield.assess.estimates.by_topic import Topics
from cranfield.assess.estimates.means_with_limits import CorrectedMeans
from cranfield.base.arrays import Floats
from cranfield.base.words import counted
from cranfield.scores import Scores
from cranfield.tabular import Table, from_frame
from cranfield.tabular.frames import Framed


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedScores(Framed):
    """Mean scores of systems with limits; made by :func:`corrected_scores`.

    Attributes
    ----------
    measure
        Text form of the measure.
    judge
        Name of the judge.
    unit
        What people judged a sample of: `topic` or `document`.
    means
        Estimates, standard errors and limits; an entry a system.
    by_judge
        Mean scores by the labels of the judge alone; shape (systems,).
    scores
        Values by topic whose means are the estimates, for :func:`cranfield.compare`. By topic they
        are of the topics that people judged, each with its share of the others; by document they
        are estimates of all topics, which can be below 0, or above the range of the measure.
    topics
        Topics in all.
    fixed_topics
        Whether errors are those of the sample of documents alone.
    notes
        What a reader should be told.
    """

    measure: str
    judge: str
    unit: str
    means: CorrectedMeans
    by_judge: Floats
    scores: Scores
    topics: int
    fixed_topics: bool
    notes: tuple[str, ...]
    _data: Topics | Documents

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return self.scores.systems

    def to_polars(self) -> pl.DataFrame:
        """Return a row a system: the estimate, its error and limits, and what the judge says."""
        first = pl.DataFrame({"system": pl.Series(self.systems, dtype=pl.String)})
        by_judge = pl.Series("by judge", self.by_judge)
        return first.hstack(_columns(self.means)).with_columns(by_judge)

    def tables(self) -> list[Table]:
        """Return what people read."""
        judged = counted(self.means.items, self.unit)
        said = f"{self.means.human[0]:,} of {judged} judged by people"
        title = f"{self.measure} by {self.judge}, corrected: {said}"
        what = "this sample of documents" if self.fixed_topics else "topics like these"
        notes = [
            f"low, high: {100 - 100 * self.means.alpha:g}% limits, each by itself, for {what}",
            "lambda: how much of the judge was used, from 0 to 1; by judge: its labels alone",
        ]
        if self.means.folds:
            parts = f"lambda is learned in {self.means.folds} parts from the other ones"
            notes.append(f"{parts}, seed {self.means.seed}")
        shown = from_frame(self.to_polars(), title, left=("system",))
        return [Table(title, shown.head, shown.rows, shown.left, notes)]

    def differences(self, baseline: str | None = None) -> pl.DataFrame:
        """Return limits of the differences of all pairs of systems, or from a baseline.

        By topic, the difference of two systems is corrected as a score of its own is, with its own
        lambda: what a judge grants to both of them cancels. The limits hold for each pair by
        itself; :func:`cranfield.compare` of `scores` has those that hold for all together.

        Returns
        -------
        polars.DataFrame
            `system`, `other`, and the estimate, error and limits of the first less the second.

        Raises
        ------
        PolicyError
            For an unknown system.
        """
        many = range(len(self.systems))
        if baseline is None:
            pairs = list(combinations(many, 2))
        else:
            # Names are looked up where all are: unknown ones are refused with the nearest.
            [name] = self.scores.select(systems=baseline).systems
            pairs = [(k, self.systems.index(name)) for k in many if self.systems[k] != name]
        one, other = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        names = pl.Series(self.systems, dtype=pl.String)
        first = pl.DataFrame({"system": names.gather(one), "other": names.gather(other)})
        return first.hstack(_columns(self._data.differences(one, other)))

    def __repr__(self) -> str:
        judged = counted(self.means.items, self.unit)
        return (
            f"CorrectedScores({self.measure}, {counted(len(self.systems), 'system')}:"
            f" {self.means.human[0]:,} of {judged} judged by people)"
        )


def _columns(means: CorrectedMeans) -> pl.DataFrame:
    return means.to_polars().drop("human", "freedom")
