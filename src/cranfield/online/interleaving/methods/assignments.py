"""Which rankers gave the documents of a list: all assignments at once, without listing them.

Given a list, an assignment is a path over its ranks. Where any ranker may give any document, ranks
are independent; where rankers take turns in rounds, a path remembers who had a turn. Sums over
paths go forward rank by rank, for many lists at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import PolicyError

_MOST = 10
"""Rankers that take turns; what a path remembers is one of 2^rankers sets."""

Move = Callable[[Floats, int, int], Floats]
"""What becomes of the sums of a path when, at a rank, a ranker gives the document."""


def count_of_each(chances: Floats, clicks: Bools, filled: Bools, replace: bool) -> Floats:
    """Expected number of clicks on the documents that each ranker gave, shape (lists, rankers)."""

    def move(sums: Floats, rank: int, ranker: int) -> Floats:
        moved = sums.copy()
        moved[:, 1 + ranker] += sums[:, 0] * clicks[:, rank]
        return moved

    return _forward(chances, filled, replace, chances.shape[2], move)


def difference_of_counts(
    chances: Floats, clicks: Bools, filled: Bools, replace: bool, pair: tuple[int, int]
) -> Floats:
    """Distribution of the clicks of one ranker less those of another, shape (lists, 2 most + 1).

    From -most to most, where most is the largest number of clicks of a list. With replacement it is
    that of a sum of independent terms: a Poisson binomial distribution, for two rankers.
    """
    most = int(clicks.sum(axis=1).max(initial=0))
    signs = [int(one == pair[0]) - int(one == pair[1]) for one in range(chances.shape[2])]

    def move(sums: Floats, rank: int, ranker: int) -> Floats:
        if not signs[ranker]:
            return sums
        moved = sums.copy()
        clicked = clicks[:, rank]
        # Nothing falls off the end: no path has more clicks than there are.
        moved[clicked, 1:] = np.roll(sums[clicked, 1:], signs[ranker], axis=1)
        return moved

    return _forward(chances, filled, replace, 2 * most + 1, move, most)


def _forward(
    chances: Floats, filled: Bools, replace: bool, width: int, move: Move, start: int | None = None
) -> Floats:
    """Sum over all paths, weighted by their probability given the list; shape (lists, width).

    The first of the sums is the probability itself, the others are what is asked for; `start` is
    one of these that is 1 before the first rank.
    """
    lists, ranks, rankers = chances.shape
    if not replace and rankers > _MOST:
        raise PolicyError(f"marginal credit without replacement takes at most {_MOST} rankers")
    first = np.zeros((lists, 1 + width))
    first[:, 0] = 1
    if start is not None:
        first[:, 1 + start] = 1
    paths = {0: first}
    for rank in range(ranks):
        able = ~np.isnan(chances[:, rank])
        likely = np.nan_to_num(chances[:, rank])
        ended = ~filled[:, rank]
        after: dict[int, Floats] = {}
        for had_turn, sums in paths.items():
            free = able & [replace or not had_turn >> one & 1 for one in range(rankers)]
            over = ~free.any(axis=1)
            free[over] = able[over]
            share = likely * free / np.maximum(free.sum(axis=1, keepdims=True), 1)
            for ranker in range(rankers):
                moved = move(sums, rank, ranker)
                bit = 0 if replace else 1 << ranker
                for had, rows in ((had_turn | bit, ~over), (bit, over)):
                    weight = share[:, ranker] * rows
                    if weight.any():
                        after[had] = after.get(had, 0) + moved * weight[:, None]
            if ended.any():
                after[had_turn] = after.get(had_turn, 0) + sums * ended[:, None]
        total = sum(sums[:, 0] for sums in after.values())
        if np.any(total == 0):
            raise PolicyError("a list cannot have been drawn by this method from these rankings")
        paths = {had: sums / np.asarray(total)[:, None] for had, sums in after.items()}
    return np.asarray(sum(sums[:, 1:] for sums in paths.values()))
