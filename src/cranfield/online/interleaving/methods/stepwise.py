"""Lists that are made a document at a time: drawn in batches, or enumerated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import PolicyError
from cranfield.online.interleaving.distribution import NOBODY, Distribution
from cranfield.online.interleaving.rankings import Rankings


@dataclass
class Shown:
    """What some lists show so far."""

    lists: Indices  # Shape (lists, length); -1 from `rank` on
    teams: Indices
    rank: int  # Number of ranks that are filled
    # Whether a document is not shown yet, shape (lists, documents + 1); the last column belongs to
    # the code -1, and is false
    left: Bools

    @classmethod
    def nothing(cls, number: int, length: int, docs: int) -> Shown:
        left = np.ones((number, docs + 1), dtype=bool)
        left[:, -1] = False
        empty = np.full((number, length), NOBODY, dtype=np.intp)
        return cls(empty, empty.copy(), 0, left)

    def show(self, docs: Indices, teams: Indices) -> None:
        self.lists[:, self.rank] = docs
        self.teams[:, self.rank] = teams
        self.left[np.arange(len(docs)), docs] = False
        self.rank += 1

    def picked(self, rows: Indices) -> Shown:
        return Shown(self.lists[rows], self.teams[rows], self.rank, self.left[rows])


Options = tuple[Indices, Indices, Floats]
"""Documents, teams and relative chances of what may come next, each of shape (lists, options)."""


@dataclass(frozen=True)
class Steps:
    """Lists that grow by a law: what may come next, given what is shown."""

    rankings: Rankings
    length: int
    # The law. Where no option has a chance, a list ends
    options: Callable[[Rankings, Shown], Options]

    @property
    def width(self) -> int:
        return self.length

    @property
    def _ranks(self) -> int:
        return min(self.length, len(self.rankings.docs))

    def drawn(self, uniforms: Floats) -> tuple[Indices, Indices]:
        shown = Shown.nothing(len(uniforms), self.length, len(self.rankings.docs))
        rows = np.arange(len(uniforms))
        for rank in range(self._ranks):
            docs, teams, chances = self.options(self.rankings, shown)
            below = np.cumsum(chances, axis=1)
            total = below[:, -1]
            target = np.minimum(uniforms[:, rank] * total, np.nextafter(total, 0))
            option = (below <= target[:, None]).sum(axis=1)
            ended = total <= 0
            option[ended] = 0
            shown.show(
                np.where(ended, NOBODY, docs[rows, option]),
                np.where(ended, NOBODY, teams[rows, option]),
            )
        return shown.lists, shown.teams

    def enumerated(self, limit: int) -> Distribution:
        listed = self.listed(limit)
        if listed is None:
            raise PolicyError(
                f"there are more than {limit:,} lists; a greater limit or a smaller length"
                " lets them be enumerated, and any number of them can be drawn"
            )
        return listed

    def listed(self, limit: int) -> Distribution | None:
        """List all of them; None where there are more than `limit`."""
        shown = Shown.nothing(1, self.length, len(self.rankings.docs))
        probabilities = np.ones(1)
        for _ in range(self._ranks):
            docs, teams, chances = self.options(self.rankings, shown)
            row, option = np.nonzero(chances)
            total = chances.sum(axis=1)
            ended = np.flatnonzero(total <= 0)
            if row.size + ended.size > limit:
                return None
            share = probabilities[row] * chances[row, option] / total[row]
            probabilities = np.r_[share, probabilities[ended]]
            nobody = np.full(ended.size, NOBODY)
            shown = shown.picked(np.r_[row, ended])
            shown.show(np.r_[docs[row, option], nobody], np.r_[teams[row, option], nobody])
        order = np.lexsort(np.c_[shown.lists, shown.teams].T[::-1])
        return Distribution(
            self.rankings, shown.lists[order], shown.teams[order], probabilities[order]
        )


def best_left(rankings: Rankings, shown: Shown) -> Indices:
    """Return the best document of each ranker that is not shown, shape (lists, rankers); or -1."""
    # As many documents are shown as ranks are filled: one of the next is left, if any is.
    tops = rankings.orders[:, : shown.rank + 1]
    best = np.empty((len(shown.lists), len(tops)), dtype=np.intp)
    for ranker, top in enumerate(tops):
        left = shown.left[:, top]
        first = left.argmax(axis=1)
        best[:, ranker] = np.where(left[np.arange(len(left)), first], top[first], NOBODY)
    return best


def in_turn(shown: Shown, able: Bools) -> Floats:
    """Tell which rankers may give the next document: shape (lists, rankers), 1 or 0.

    In each round every ranker gives one document, in random order; those that are not able to are
    passed over.
    """
    teams = shown.teams[:, : shown.rank]
    rankers = able.shape[1]
    given = np.stack([np.count_nonzero(teams == one, axis=1) for one in range(rankers)], axis=1)
    given = np.where(able, given, shown.lists.shape[1] + 1)
    turn: Bools = able & (given == given.min(axis=1, keepdims=True))
    return turn.astype(np.float64)
