"""What a method of interleaving is: how lists are drawn, and what clicks say of the rankers."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import PolicyError
from cranfield.measures.declared import Declared
from cranfield.measures.parameters import choice, parameter
from cranfield.online.interleaving.distribution import Distribution
from cranfield.online.interleaving.rankings import Rankings


class Lists(Protocol):
    """Where lists come from: numbers from 0 to 1 make draws, and all of them can be listed."""

    @property
    def width(self) -> int:
        """Random numbers that a draw takes."""

    def drawn(self, uniforms: Floats) -> tuple[Indices, Indices]:
        """Draw a list, and its teams, for each row of numbers from 0 to below 1."""

    def enumerated(self, limit: int) -> Distribution:
        """List all of them, unless there are more than `limit`."""


class InterleavingMethod(Declared):
    """A method of interleaving; its text form is its identity.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.parse_interleaving("team-draft")
    TeamDraft
    """

    error = PolicyError
    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """Where the definition stands."""
    most: ClassVar[int | None] = None
    """Number of rankers that it takes; None for two or more."""
    outcome: str = parameter(
        "sign",
        choice("sign", "difference"),
        "of an impression: the sign of the difference of credits, or the difference",
    )

    @classmethod
    def called(cls) -> str:
        return cls.name

    @property
    def by_team(self) -> bool:
        """Whether credit depends on which ranker gave a document."""
        return False

    def lists(self, rankings: Rankings, length: int) -> Lists:
        """Get ready to make lists of up to `length` documents."""
        raise NotImplementedError

    def credits(self, rankings: Rankings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        """Credit of each ranker for the clicks on each list, shape (lists, rankers)."""
        raise NotImplementedError

    def outcomes(
        self,
        rankings: Rankings,
        lists: Indices,
        clicks: Bools,
        teams: Indices,
        pair: tuple[int, int],
    ) -> Floats:
        """Outcome of each list between the rankers of a pair, above 0 if the first one wins."""
        first, second = self.credits(rankings, lists, clicks, teams)[:, list(pair)].T
        difference = first - second
        # Sums that differ by rounding alone are equal.
        equal = np.abs(difference) <= 1e-12 * (np.abs(first) + np.abs(second))
        difference[equal] = 0
        outcomes: Floats = difference if self.outcome == "difference" else np.sign(difference)
        return outcomes


def divided(above: Floats, below: Floats, otherwise: float) -> Floats:
    """Divide where there is something to divide by."""
    out = np.full(below.shape, otherwise)
    np.divide(above, below, out=out, where=below > 0)
    return out
