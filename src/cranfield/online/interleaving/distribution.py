"""All lists that interleaving may show, with their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices
from cranfield.base.words import counted
from cranfield.online.interleaving.rankings import Rankings
from cranfield.tabular import frame_html

NOBODY = -1
"""Stands for no document, and for a document that is nobody's."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """Every list that may be shown, with its teams and its probability.

    Attributes
    ----------
    rankings
        What is interleaved.
    lists
        Codes of the documents, best first, shape (lists, length); -1 where a list has ended.
    teams
        Index of the ranker that each document was drawn from, of the same shape; -1 where that is
        nobody, or not said by the method.
    probabilities
        Shape (lists,); they add up to 1.
    imbalance
        Of optimised methods: the largest difference of two rankers' expected credits down to each
        rank, shape (length,), which is 0 unless the constraints could not be met.
    """

    rankings: Rankings
    lists: Indices
    teams: Indices
    probabilities: Floats
    imbalance: Floats | None = None

    width = 1
    """Random numbers that a draw takes."""

    def __len__(self) -> int:
        return len(self.lists)

    def __repr__(self) -> str:
        said = counted(len(self), "list")
        if self.imbalance is not None and self.imbalance.max(initial=0) > 1e-9:
            said += f", biased by up to {self.imbalance.max():.6g} of credit"
        return f"Distribution({said})"

    def _repr_html_(self) -> str:
        return frame_html(self.to_polars(), repr(self), limit=20)

    @cached_property
    def _cumulated(self) -> Floats:
        return np.cumsum(self.probabilities)

    def drawn(self, uniforms: Floats) -> tuple[Indices, Indices]:
        """Draw a list, and its teams, for each row of numbers from 0 to below 1."""
        of_all = self._cumulated
        row = np.searchsorted(of_all, uniforms[:, 0] * of_all[-1], side="right")
        row = np.minimum(row, np.flatnonzero(self.probabilities)[-1])
        return self.lists[row], self.teams[row]

    def enumerated(self, limit: int) -> Distribution:
        """Return all lists, which these are."""
        return self

    def of_lists(self) -> Distribution:
        """Add up the probabilities of equal lists, whatever their teams."""
        lists, which = np.unique(self.lists, axis=0, return_inverse=True)
        sums = np.zeros(len(lists))
        np.add.at(sums, which.ravel(), self.probabilities)
        nobody = np.full_like(lists, NOBODY)
        return Distribution(self.rankings, lists, nobody, sums, self.imbalance)

    def to_polars(self) -> pl.DataFrame:
        """Return a row a list: its documents, their teams (null: nobody), its probability."""
        docs = [*map(str, self.rankings.docs)]
        names = [*self.rankings.rankers, None]
        teams = [
            [names[team] for team in own[: np.count_nonzero(row >= 0)]]
            for row, own in zip(self.lists, self.teams.tolist(), strict=True)
        ]
        return pl.DataFrame(
            {
                "list": [[docs[code] for code in row if code >= 0] for row in self.lists.tolist()],
                "teams": teams,
                "probability": self.probabilities,
            },
            schema={
                "list": pl.List(pl.String),
                "teams": pl.List(pl.String),
                "probability": pl.Float64,
            },
        )
