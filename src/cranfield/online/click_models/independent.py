"""Models in which clicks on a page do not depend on each other: click rates, and by position."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.online.click_models.model import (
    TINY,
    Climbing,
    Fit,
    Model,
    Tallies,
    Tally,
    Values,
    at_rank,
    sums,
)
from cranfield.online.click_models.patterns import Patterns


class Rate(Model):
    """A click rate of some kind: the chance of a click is that parameter."""

    def place(self, pages: Patterns) -> Indices:
        """Which value of the parameter each result has."""
        return pages.codes

    def fit(self, pages: Patterns) -> Fit:
        size = self.sizes(pages.items.size, pages.ranks)["rate"]
        tally = Tally.of(self.place(pages), pages.clicks * pages.weight, pages.weight, size)
        return Fit({"rate": tally})

    def chance(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        return np.full(item.size, at_rank(values["rate"], rank))

    def chances(self, values: Values, pages: Patterns) -> Floats:
        return independent_chances(self, values, pages)


def independent_chances(model: Model, values: Values, pages: Patterns) -> Floats:
    nothing = np.ones(len(pages))
    return np.concatenate(
        [
            model.chance(values, rank, pages.codes[at], nothing[: at.stop - at.start])
            for rank, at in enumerate(pages.slices)
        ]
    )


class GCTR(Rate):
    """One click rate for all results.

    .. math:: P(C_r = 1) = \\rho
    """

    name = "GCTR"
    source = "Chuklin, Markov and de Rijke (2015)"
    by: ClassVar = {"rate": ""}

    def place(self, pages: Patterns) -> Indices:
        return np.zeros_like(pages.codes)

    def chance(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        return np.full(item.size, values["rate"][0])

    def relevance(self, values: Values) -> Floats:
        raise self.error("GCTR says nothing of documents")


class RCTR(Rate):
    """A click rate for each rank.

    .. math:: P(C_r = 1) = \\rho_r
    """

    name = "RCTR"
    source = "Craswell et al. (2008)"
    by: ClassVar = {"rate": "rank"}

    def place(self, pages: Patterns) -> Indices:
        return pages.rank

    def relevance(self, values: Values) -> Floats:
        raise self.error("RCTR says nothing of documents")


class DCTR(Rate):
    """A click rate for each document of a query.

    .. math:: P(C_r = 1) = \\rho_{q d_r}
    """

    name = "DCTR"
    source = "Craswell et al. (2008)"
    by: ClassVar = {"rate": "item"}

    def chance(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        return values["rate"][item]

    def relevance(self, values: Values) -> Floats:
        return values["rate"][:-1]


class Examined(Climbing):
    """A click is examination, in some cell, and attractiveness: both hidden without a click."""

    def cells(self, pages: Patterns) -> Indices:
        """Which value of examination each result has."""
        raise NotImplementedError

    def expecting(self, pages: Patterns) -> Callable[[Values], tuple[Tallies, float]]:
        cells = self.sizes(pages.items.size, pages.ranks)["examination"]
        # Results that are alike in item and cell are alike in what is expected of them.
        key, alike = np.unique(pages.codes * cells + self.cells(pages), return_inverse=True)
        item, cell = key // cells, key % cells
        clicked = sums(alike, pages.weight * pages.clicks, key.size)
        missed = sums(alike, pages.weight, key.size) - clicked
        items = pages.items.size
        shown = clicked + missed
        by_item, by_cell = sums(item, shown, items), sums(cell, shown, cells)

        def expect(values: Values) -> tuple[Tallies, float]:
            a, x = values["attractiveness"][item], values["examination"][cell]
            both = a * x
            none = 1 - both
            share = missed / np.maximum(none, TINY)
            hits = sums(item, clicked + share * (a - both), items)
            seen = sums(cell, clicked + share * (x - both), cells)
            value = clicked @ np.log(np.maximum(both, TINY))
            value += missed @ np.log(np.maximum(none, TINY))
            found = {"attractiveness": Tally(hits, by_item), "examination": Tally(seen, by_cell)}
            return found, float(value)

        return expect

    def relevance(self, values: Values) -> Floats:
        return values["attractiveness"][:-1]


class PBM(Examined):
    """The position-based model: a rank is examined, and an examined document attracts.

    .. math:: P(C_r = 1) = a_{q d_r} x_r
    """

    name = "PBM"
    source = "Craswell et al. (2008)"
    by: ClassVar = {"attractiveness": "item", "examination": "rank"}

    def cells(self, pages: Patterns) -> Indices:
        return pages.rank

    def chance(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        seen = at_rank(values["examination"], rank)
        return np.asarray(values["attractiveness"][item] * seen)

    def chances(self, values: Values, pages: Patterns) -> Floats:
        return independent_chances(self, values, pages)
