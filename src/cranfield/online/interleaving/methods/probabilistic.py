"""Probabilistic interleaving: any document may come next, the better ranked the likelier."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.measures.parameters import choice, flag, number, parameter
from cranfield.online.interleaving.methods.assignments import count_of_each, difference_of_counts
from cranfield.online.interleaving.methods.method import InterleavingMethod, divided
from cranfield.online.interleaving.methods.stepwise import Options, Shown, Steps, in_turn
from cranfield.online.interleaving.methods.team_draft import own_clicks
from cranfield.online.interleaving.rankings import Rankings


class Probabilistic(InterleavingMethod):
    """At each rank a random ranker gives a document, drawn by a softmax over its ranks.

    P(d) = r(d)^-tau / sum of r^-tau over its documents that are not shown. With marginal scoring a
    click is shared among the rankers by the probability that they gave the document, given the
    list. The outcome is the expected sign of the difference of clicks (or the expected difference),
    exactly: over all assignments of documents to rankers, without going through them.
    """

    name = "Probabilistic"
    source = "Hofmann, Whiteson and de Rijke (2011); Schuth et al. (2015)"
    tau: float = parameter(3, number(0, 50), "how steeply chances fall with rank")
    replace: bool = parameter(
        True,
        flag,
        "False: rankers take turns in rounds, as in team draft, in place of any at a rank",
    )
    scoring: str = parameter(
        "marginal",
        choice("marginal", "assigned"),
        "'assigned': a click is credit of the ranker that gave the document",
    )

    @property
    def by_team(self) -> bool:
        return self.scoring == "assigned"

    def weights(self, rankings: Rankings) -> Floats:
        """Weight of each document in the softmax of each ranker, shape (rankers, documents)."""
        powers = rankings.ranks.astype(np.float64) ** -self.tau
        return np.where(rankings.lacks, 0.0, powers)

    def lists(self, rankings: Rankings, length: int) -> Steps:
        weights = self.weights(rankings)
        rankers, docs = weights.shape
        every = np.tile(np.arange(docs), rankers)[None]
        teams = np.repeat(np.arange(rankers), docs)[None]

        def options(rankings: Rankings, shown: Shown) -> Options:
            left = shown.left[:, :-1]
            # A sum of what is left, not a difference: it is 0 when nothing is.
            sums = _summed(left, weights)
            able = sums > 0
            turn = able.astype(np.float64) if self.replace else in_turn(shown, able)
            share = divided(turn, sums, 0.0)
            chances = share[:, :, None] * weights * left[:, None]
            shape = (len(left), rankers * docs)
            return (
                np.broadcast_to(every, shape),
                np.broadcast_to(teams, shape),
                chances.reshape(shape),
            )

        return Steps(rankings, length, options)

    def chances(self, rankings: Rankings, lists: Indices) -> Floats:
        """Chance of each shown document, had each ranker given it; shape (lists, ranks, rankers).

        By what is left before its rank. NaN where a ranker has nothing left.
        """
        weights = np.c_[self.weights(rankings), np.zeros(len(rankings.rankers))].T
        shown = weights[lists]
        never = np.ones((len(lists), len(weights)), dtype=bool)
        never[np.arange(len(lists))[:, None], lists] = False
        left = _summed(never, weights.T)[:, None] + shown[:, ::-1].cumsum(axis=1)[:, ::-1]
        return divided(shown, left, np.nan)

    def credits(self, rankings: Rankings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        if self.by_team:
            return own_clicks(rankings, clicks, teams)
        return count_of_each(self.chances(rankings, lists), clicks, lists >= 0, self.replace)

    def outcomes(
        self,
        rankings: Rankings,
        lists: Indices,
        clicks: Bools,
        teams: Indices,
        pair: tuple[int, int],
    ) -> Floats:
        if self.outcome == "difference" or self.by_team:
            return super().outcomes(rankings, lists, clicks, teams, pair)
        chances = self.chances(rankings, lists)
        of = difference_of_counts(chances, clicks, lists >= 0, self.replace, pair)
        middle = of.shape[1] // 2
        outcomes: Floats = of[:, middle + 1 :].sum(axis=1) - of[:, :middle].sum(axis=1)
        return outcomes


def _summed(which: Bools, weights: Floats) -> Floats:
    """Add up the weights of some documents, for each list and ranker; shape (lists, rankers)."""
    # Not by a product of matrices, whose last bits depend on how many rows there are.
    sums: Floats = np.einsum("ld,rd->lr", which.astype(np.float64), weights)
    return sums
