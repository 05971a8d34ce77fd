"""The user browsing model: examination by rank, and by the rank of the last click above."""

from __future__ import annotations

from math import isqrt
from typing import ClassVar

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.online.click_models.independent import Examined
from cranfield.online.click_models.model import Values
from cranfield.online.click_models.patterns import Patterns


class UBM(Examined):
    """The user browsing model: examination goes by rank and by the last click above.

    .. math:: P(C_r = 1 \\mid \\text{last click } r') = a_{q d_r} x_{r r'}

    The chance of a click whatever is above is a sum over the last clicks there may be. Ranks beyond
    the longest trained page have the examination of its last rank, at the same distance from the
    last click.
    """

    name = "UBM"
    source = "Dupret and Piwowarski (2008)"
    by: ClassVar = {"attractiveness": "item", "examination": "rank and last click"}

    def cells(self, pages: Patterns) -> Indices:
        return cell(pages.rank, pages.last)

    def start(self, pages: int) -> Indices:
        return np.full(pages, -1)

    def chance(self, values: Values, rank: int, item: Indices, state: Indices) -> Floats:
        seen = values["examination"]
        # The last trained rank, n, has the last n of its n (n + 1) / 2 values.
        beyond = max(rank + 1 - (isqrt(8 * (seen.size - 1) + 1) - 1) // 2, 0)
        above = np.where(state < 0, state, np.maximum(state - beyond, 0))
        return np.asarray(values["attractiveness"][item] * seen[cell(rank - beyond, above)])

    def after(
        self,
        values: Values,
        rank: int,
        item: Indices,
        state: Indices,
        chance: Floats,
        click: Bools,
    ) -> Indices:
        return np.where(click, rank, state)

    def chances(self, values: Values, pages: Patterns) -> Floats:
        out = np.empty(pages.codes.size)
        # The chance that a rank is the last one with a click, none being the first row.
        last = np.zeros((pages.ranks + 1, len(pages)))
        last[0] = 1.0
        for rank, at in enumerate(pages.slices):
            size = at.stop - at.start
            before = last[: rank + 1, :size]
            click = before * self.chance(
                values, rank, pages.codes[at], np.arange(-1, rank)[:, np.newaxis]
            )
            before -= click
            out[at] = last[rank + 1, :size] = click.sum(axis=0)
        return out


def cell(rank: int | Indices, last: Indices) -> Indices:
    """Place of examination at a rank after a last click, both from 0, -1 for none."""
    return np.asarray(rank * (rank + 1) // 2 + last + 1)
