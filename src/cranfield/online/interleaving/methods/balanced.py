"""Balanced interleaving: the rankings are gone through side by side."""

from __future__ import annotations

from itertools import chain

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.online.interleaving.distribution import NOBODY, Distribution
from cranfield.online.interleaving.methods.method import InterleavingMethod
from cranfield.online.interleaving.rankings import Rankings


class Balanced(InterleavingMethod):
    """The pointer that is behind moves first, ties by one coin a list; until a ranking ends.

    A pointer also moves where its document is in the list already (as printed in Ferro and Maistro
    2024, algorithm 1, it would not, and never end). Credit is the number of clicks on a ranking's
    top k, k being the better rank of the lowest clicked document. It is biased.
    """

    name = "Balanced"
    source = "Joachims (2002); Radlinski, Kurup and Joachims (2008)"
    most = 2

    def lists(self, rankings: Rankings, length: int) -> Distribution:
        made = [_merged(rankings, coin, length) for coin in (0, 1)]
        lists = np.full((2, length), NOBODY, dtype=np.intp)
        for row, codes in zip(lists, made, strict=True):
            row[: len(codes)] = codes
        halves = np.array([0.5, 0.5])
        return Distribution(rankings, lists, np.full_like(lists, NOBODY), halves).of_lists()

    def credits(self, rankings: Rankings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        ranks = rankings.ranks[:, lists]
        last = lists.shape[1] - 1 - clicks[:, ::-1].argmax(axis=1)
        depth = ranks[:, np.arange(len(lists)), last].min(axis=0)
        # What a ranking lacks is in none of its tops, also where the top is as deep as its end.
        within = (ranks <= depth[:, None]) & ~rankings.lacks[:, lists]
        credits: Floats = (within & clicks).sum(axis=2, dtype=np.float64).T
        return credits


def _merged(rankings: Rankings, coin: int, length: int) -> list[int]:
    """Take from both in turns, from the one that the coin names first, until one has ended."""
    first, second = rankings.orders[[coin, 1 - coin]].tolist()
    sizes = rankings.sizes[[coin, 1 - coin]]
    # The first that ends is the last that gives a document.
    steps = int(2 * sizes[0] - 1 if sizes[0] <= sizes[1] else 2 * sizes[1])
    turns = list(chain.from_iterable(zip(first, second, strict=True)))[: max(steps, 0)]
    return list(dict.fromkeys(turns))[:length]
