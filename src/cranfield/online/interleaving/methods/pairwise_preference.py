"""Pairwise preference multileaving: clicks say which document is better, and so which ranker."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.errors import PolicyError
from cranfield.measures.parameters import choice, flag, parameter
from cranfield.online.interleaving.distribution import NOBODY
from cranfield.online.interleaving.methods.method import InterleavingMethod
from cranfield.online.interleaving.methods.stepwise import Options, Shown, Steps
from cranfield.online.interleaving.rankings import Rankings


class PairwisePreference(InterleavingMethod):
    """Rank k shows any document of the rankers' top k, all equally likely; pairs are compared.

    A clicked document is preferred to those without a click above it, and to the one directly
    below. A pair counts if both are shown at r or below, r being the first rank where both could be
    shown; it weighs 1 / P(both are left until r). A ranker gets the weights of the pairs that it
    orders likewise, less those of the pairs that it orders the other way.
    """

    name = "PairwisePreference"
    source = "Oosterhuis and de Rijke (2017)"
    pairs: str = parameter(
        "joachims",
        choice("joachims", "all"),
        "'all': preferred to all without a click down to one below the last click, as the authors'"
        " code has it",
    )
    outcome: str = parameter("difference", choice("sign", "difference"), "as of others")
    mean: bool = parameter(False, flag, "whether to divide by the number of pairs, as their code")

    def lists(self, rankings: Rankings, length: int) -> Steps:
        best, docs = rankings.best, np.arange(len(rankings.docs))

        def options(rankings: Rankings, shown: Shown) -> Options:
            candidates = shown.left[:, :-1] & (best <= shown.rank + 1)
            shape = candidates.shape
            nobody = np.broadcast_to(NOBODY, shape)
            return np.broadcast_to(docs, shape), nobody, candidates.astype(np.float64)

        return Steps(rankings, length, options)

    def credits(self, rankings: Rankings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        length = lists.shape[1]
        best = rankings.best[lists]
        ranks = rankings.ranks[:, lists]
        weight = pair_weights(rankings, length)
        last = np.where(clicks.any(axis=1), length - clicks[:, ::-1].argmax(axis=1), 0)
        credits = np.zeros((len(rankings.rankers), len(lists)))
        used = np.zeros(len(lists))
        for place in range(length):
            for other in range(length):
                prefers = clicks[:, place] & ~clicks[:, other] & (lists[:, other] >= 0)
                if self.pairs == "all":
                    prefers &= other <= last
                elif other > place + 1:
                    continue
                needed = np.maximum(best[:, place], best[:, other])
                counts = prefers & (min(place, other) + 1 >= needed)
                if not counts.any():
                    continue
                rows = np.flatnonzero(counts)
                least = np.minimum(best[rows, place], best[rows, other])
                each = weight[least, needed[rows]]
                if np.isinf(each).any():
                    raise PolicyError(f"a list cannot have been drawn by {self}")
                order = np.sign(ranks[:, rows, other] - ranks[:, rows, place])
                credits[:, rows] += each * order
                used[rows] += 1
        if self.mean:
            credits /= np.maximum(used, 1)
        return credits.T


def pair_weights(rankings: Rankings, length: int) -> Floats:
    """Weight of a pair by the best rank of its better and of its worse document.

    Shape (length + 1, length + 1): 1 / w, w the product over ranks x from the better to before the
    worse of 1 - 1 / (documents in the top x of any ranker, less the x - 1 that are shown).
    """
    union: Ints = np.bincount(np.minimum(rankings.best, length + 1), minlength=length + 2).cumsum()
    weights = np.ones((length + 1, length + 1))
    for better in range(1, length + 1):
        for worse in range(better + 1, length + 1):
            left = union[worse - 1] - (worse - 2)
            step = left / (left - 1) if left > 1 else np.inf
            weights[better, worse] = weights[better, worse - 1] * step
    return weights
