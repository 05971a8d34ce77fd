"""Team draft: rankers take turns, as captains who pick their teams."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.measures.parameters import choice, parameter
from cranfield.online.interleaving.distribution import NOBODY
from cranfield.online.interleaving.methods.method import InterleavingMethod
from cranfield.online.interleaving.methods.stepwise import (
    Options,
    Shown,
    Steps,
    best_left,
    in_turn,
)
from cranfield.online.interleaving.rankings import Rankings


class TeamDraft(InterleavingMethod):
    """In each round each ranker, in random order, gives its best document not shown, and owns it.

    A ranker without documents left is passed over. Credit is the number of clicks on own documents.
    With more than two rankers it is team draft multileaving.
    """

    name = "TeamDraft"
    source = "Radlinski, Kurup and Joachims (2008); Schuth et al. (2014)"
    common_prefix: str = parameter(
        "teams",
        choice("teams", "nobody"),
        "'nobody': documents that all rankers have first, in one order, are in no team",
    )

    @property
    def by_team(self) -> bool:
        return True

    def lists(self, rankings: Rankings, length: int) -> Steps:
        return Steps(rankings, length, self.options)

    def options(self, rankings: Rankings, shown: Shown) -> Options:
        best = best_left(rankings, shown)
        if self.common_prefix == "nobody" and shown.rank < rankings.common_prefix:
            return best[:, :1], np.full((len(best), 1), NOBODY), np.ones((len(best), 1))
        teams = np.broadcast_to(np.arange(best.shape[1]), best.shape)
        return best, teams, in_turn(shown, best >= 0)

    def credits(self, rankings: Rankings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        return own_clicks(rankings, clicks, teams)


class SOSM(TeamDraft):
    """Shown as team draft; a click is worth r^-3, r being the document's rank among those shown.

    Sample-only scored multileaving: the documents of the list alone are ranked, as the ranker
    orders them, and those that it lacks behind.
    """

    name = "SOSM"
    source = "Brost et al. (2016)"

    @property
    def by_team(self) -> bool:
        return False

    def credits(self, rankings: Rankings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        ranks = np.where(lists >= 0, rankings.ranks[:, lists], np.iinfo(np.int64).max)
        credits = np.zeros((len(lists), len(ranks)))
        for place in range(lists.shape[1]):
            among = 1 + (ranks < ranks[:, :, place, None]).sum(axis=2)
            credits += clicks[:, place, None] * among.T**-3.0
        return credits


def own_clicks(rankings: Rankings, clicks: Bools, teams: Indices) -> Floats:
    """Count the clicks on the documents of each team."""
    rankers = range(len(rankings.rankers))
    own = [np.count_nonzero(clicks & (teams == one), axis=1) for one in rankers]
    return np.stack(own, axis=1).astype(np.float64)
