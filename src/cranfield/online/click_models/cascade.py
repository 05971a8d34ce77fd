"""Models of users who go down the list and stop: counted, since what is hidden is assumed."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.measures.parameters import number, parameter
from cranfield.online.click_models.model import TINY, Fit, Model, Tally, Values, at_rank
from cranfield.online.click_models.patterns import Patterns


class Cascade(Model):
    """Users examine from the top; what is known of them is the chance that they still do."""

    def stays(self, values: Values, rank: int, item: Indices, a: Floats) -> tuple[Any, Any]:
        """Return the chances to go on after no click, and after a click."""
        raise NotImplementedError

    def chance(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        return np.asarray(state * values["attractiveness"][item])

    def after(
        self,
        values: Values,
        rank: int,
        item: Indices,
        state: Floats,
        chance: Floats,
        click: Bools,
    ) -> Floats:
        a = values["attractiveness"][item]
        missed, clicked = self.stays(values, rank, item, a)
        still = (state - chance) / np.maximum(1 - chance, TINY)
        return np.asarray(np.where(click, clicked, still * missed))

    def chances(self, values: Values, pages: Patterns) -> Floats:
        out = np.empty(pages.codes.size)
        seen = np.ones(len(pages))
        for rank, at in enumerate(pages.slices):
            item = pages.codes[at]
            seen = seen[: item.size]
            a = values["attractiveness"][item]
            missed, clicked = self.stays(values, rank, item, a)
            out[at] = seen * a
            seen = seen * ((1 - a) * missed + a * clicked)
        return out

    def relevance(self, values: Values) -> Floats:
        return values["attractiveness"][:-1]


def attracted(pages: Patterns, until: Indices) -> Tally:
    """Count clicks among results down to a rank of each page, which are those examined."""
    seen = pages.weight * (pages.rank <= until[pages.pattern])
    return Tally.of(pages.codes, seen * pages.clicks, seen, pages.items.size)


def down_to_last_click(pages: Patterns) -> Indices:
    """Rank of the lowest click; of pages without a click, the last rank."""
    return np.where(pages.lowest < 0, pages.lengths, pages.lowest)


class CM(Cascade):
    """The cascade model: users go down to the first document that attracts, and stop.

    .. math:: P(C_r = 1) = a_{q d_r} \\prod_{j<r} (1 - a_{q d_j})

    A second click is impossible. With a floor, conditional chances are those of PyClick: down to
    the first click those above, and the floor for whatever is observed below it. These are no
    chances of anything; they serve to compare with what was computed so.
    """

    name = "CM"
    source = "Craswell et al. (2008)"
    by: ClassVar = {"attractiveness": "item"}

    floor: float = parameter(0.0, number(0, 1, open_high=True), "of conditional chances")

    def stays(self, values: Values, rank: int, item: Indices, a: Floats) -> tuple[Any, Any]:
        return 1.0, 0.0

    def fit(self, pages: Patterns) -> Fit:
        clicked = np.flatnonzero(pages.clicks)[::-1]
        first = pages.lengths.copy()
        first[pages.pattern[clicked]] = pages.rank[clicked]
        return Fit({"attractiveness": attracted(pages, first)})

    def conditional(self, values: Values, pages: Patterns) -> Floats:
        if not self.floor:
            return super().conditional(values, pages)
        chances = self.chances(values, pages)
        observed = np.where(pages.clicks, chances, 1 - chances)
        return np.where(pages.last >= 0, self.floor, observed)


class DCM(Cascade):
    """The dependent click model: after a click, users go on with a chance that goes by rank.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = 1 - C_r + \\lambda_r C_r

    The lowest click of a page is taken to be where its user stopped.
    """

    name = "DCM"
    source = "Guo, Liu and Wang (2009)"
    by: ClassVar = {"attractiveness": "item", "continuation": "rank"}

    def stays(self, values: Values, rank: int, item: Indices, a: Floats) -> tuple[Any, Any]:
        return 1.0, at_rank(values["continuation"], rank)

    def fit(self, pages: Patterns) -> Fit:
        clicks = pages.weight * pages.clicks
        on = clicks * (pages.rank < pages.lowest[pages.pattern])
        return Fit(
            {
                "attractiveness": attracted(pages, down_to_last_click(pages)),
                "continuation": Tally.of(pages.rank, on, clicks, pages.ranks),
            }
        )


class SDBN(Cascade):
    """The simplified dynamic Bayesian network: users stop only when a document satisfies.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = 1 - s_{q d_r} C_r

    The lowest click of a page is taken to be the satisfying one.
    """

    name = "SDBN"
    source = "Chapelle and Zhang (2009)"
    by: ClassVar = {"attractiveness": "item", "satisfaction": "item"}

    def stays(self, values: Values, rank: int, item: Indices, a: Floats) -> tuple[Any, Any]:
        return 1.0, 1 - values["satisfaction"][item]

    def fit(self, pages: Patterns) -> Fit:
        clicks = pages.weight * pages.clicks
        end = clicks * (pages.rank == pages.lowest[pages.pattern])
        return Fit(
            {
                "attractiveness": attracted(pages, down_to_last_click(pages)),
                "satisfaction": Tally.of(pages.codes, end, clicks, pages.items.size),
            }
        )

    def relevance(self, values: Values) -> Floats:
        return np.asarray((values["attractiveness"] * values["satisfaction"])[:-1])
