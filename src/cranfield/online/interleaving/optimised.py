"""Optimised interleaving: lists drawn so that no click without a reason prefers a ranker."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.spec import choice, integer, number, optional, parameter
from cranfield.base.streams import uniforms
from cranfield.online.interleaving.method import (
    NOBODY,
    Distribution,
    InterleavingMethod,
    Rankings,
    divided,
)
from cranfield.online.interleaving.methods import Options, Shown, Steps, best_left

_ZERO = 1e-9
"""Reduced costs and shares up to it are none."""


def least(costs: Sequence[Floats], matrix: Floats, sums: Floats) -> Floats:
    """Minimise the first costs, of all such points the second, and so on.

    Over x >= 0 with matrix @ x = sums. What has a positive reduced cost is 0 in every optimum, so
    each later program has the other columns alone, and no tolerance on the earlier costs.
    """
    from scipy.optimize import linprog

    kept = np.arange(matrix.shape[1])
    point = np.zeros(0)
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    for cost in costs:
        scale = max(float(np.abs(cost[kept]).max()), 1e-300)
        found = linprog(cost[kept] / scale, A_eq=matrix[:, kept], b_eq=sums, options=options)
        if not found.success:
            raise CranfieldError(f"no optimum was found: {found.message}")
        reduced = cost[kept] / scale - found.eqlin.marginals @ matrix[:, kept]
        on_face = (reduced <= _ZERO) | (found.x > _ZERO)
        point, kept = found.x[on_face], kept[on_face]
    solution = np.zeros(matrix.shape[1])
    solution[kept] = _polished(point, matrix[:, kept], sums)
    return solution


def _polished(point: Floats, matrix: Floats, sums: Floats) -> Floats:
    """Meet the equations as well as floats can, on the columns that are not 0."""
    polished = np.where(point > _ZERO, point, 0.0)
    used = np.flatnonzero(polished)
    for _ in range(3):
        error = sums - matrix @ polished
        polished[used] += np.linalg.lstsq(matrix[:, used], error, rcond=None)[0]
    return np.maximum(polished, 0.0)


_NO_BIAS = 1e-9
"""Differences of expected credit up to it are none."""


class _Optimising(InterleavingMethod):
    """What optimised methods share: credit by rank, constraints, linear program."""

    credit: str
    outcome: str = parameter("difference", choice("sign", "difference"), "as of others")
    slack: float | None = parameter(
        None,
        optional(number(0)),
        "what a unit of bias costs, at each rank; None: there is none, if there can be none",
    )
    infeasible: str = parameter(
        "relax",
        choice("relax", "refuse"),
        "where bias cannot be avoided: 'relax' makes its sum over ranks the least, and says it",
    )
    candidates: int = parameter(
        2_000,
        integer(1, 100_000),
        "lists that get a probability; if more are allowed, so many draws of them do",
    )
    seed: int = parameter(0, integer(0), "of drawing them")

    def credit_of(self, rankings: Rankings) -> Floats:
        """Credit for a click on each document, shape (rankers, documents)."""
        ranks = rankings.ranks.astype(np.float64)
        return -ranks if self.credit == "linear" else 1 / ranks

    def cost(self, credits: Floats) -> Floats:
        """Tell how little lists say of the rankers, by credits of shape (rankers, lists, ranks)."""
        raise NotImplementedError

    def lists(self, rankings: Rankings, length: int) -> Distribution:
        shown = self._allowed(rankings, length)
        of_all = np.c_[self.credit_of(rankings), np.zeros(len(rankings.rankers))]
        credits = of_all[:, shown]
        down_to = credits.cumsum(axis=2)
        pairs = combinations(range(len(credits)), 2)
        # A row a pair of rankers and rank, pairs first; in units of the largest credit.
        bias = np.concatenate([(down_to[a] - down_to[b]).T for a, b in pairs])
        unit = max(float(np.abs(bias).max(initial=0)), 1e-300)
        p = self._probabilities(bias / unit, self.cost(credits), length, unit)
        imbalance = np.abs(bias @ p).reshape(-1, length).max(axis=0)
        if self.infeasible == "refuse" and self.slack is None and imbalance.max() > _NO_BIAS:
            raise PolicyError(
                f"{self} has no unbiased solution for these rankings:"
                f" expected credits differ by up to {imbalance.max():.6g}"
            )
        chosen = p > 0
        nobody = np.full_like(shown[chosen], NOBODY)
        return Distribution(rankings, shown[chosen], nobody, p[chosen], imbalance)

    def _probabilities(self, bias: Floats, cost: Floats, length: int, unit: float) -> Floats:
        """Solve for the probabilities of lists; beside them, bias at each rank and gaps to it."""
        rows, lists = bias.shape
        allowed = np.tile(np.eye(length), (2 * rows // length, 1))
        matrix = np.block(
            [
                [np.ones((1, lists)), np.zeros((1, length + 2 * rows))],
                [np.concatenate([bias, -bias]), -allowed, np.eye(2 * rows)],
            ]
        )
        least_bias, of_lists, ties = np.zeros((3, matrix.shape[1]))
        least_bias[lists : lists + length] = 1
        of_lists[:lists] = cost
        # The square roots of 1, 2, ... let hardly any two points be equal, and prefer early lists.
        ties[:lists] = np.sqrt(1 + np.arange(lists))
        if self.slack is None:
            costs = [least_bias, of_lists, ties]
        else:
            costs = [of_lists + self.slack * unit * least_bias, ties]
        p = least(costs, matrix, np.r_[1.0, np.zeros(2 * rows)])[:lists]
        shares: Floats = p / p.sum()
        return shares

    def _allowed(self, rankings: Rankings, length: int) -> Indices:
        """Lists of which every prefix is made of prefixes of the rankings, in order of codes."""
        steps = Steps(rankings, length, _prefixes)
        listed = steps.listed(self.candidates)
        if listed is not None:
            return listed.lists
        drawn, _ = steps.drawn(uniforms(self.seed, 0, self.candidates, length))
        own = np.full((len(rankings.rankers), length), NOBODY, dtype=np.intp)
        top = rankings.orders[:, :length]
        own[:, : top.shape[1]] = top
        return np.unique(np.concatenate([own[rankings.sizes >= length], drawn]), axis=0)

    def credits(self, rankings: Rankings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        credits: Floats = np.where(clicks, self.credit_of(rankings)[:, lists], 0.0).sum(axis=2).T
        return credits


def _prefixes(rankings: Rankings, shown: Shown) -> Options:
    best = best_left(rankings, shown)
    new = best >= 0
    for ranker in range(1, best.shape[1]):
        new[:, ranker] &= (best[:, :ranker] != best[:, ranker, None]).all(axis=1)
    return best, np.broadcast_to(NOBODY, best.shape), new.astype(np.float64)


class Optimised(_Optimising):
    """Lists that say most of two rankers, so likely that no random click is for either.

    Every prefix of a list is made of prefixes of the rankings. Down to each rank the expected
    credits of both rankers are equal: a linear program, in which s(L) = (1 - w_T) H(w_A / (w_A +
    w_B)) is maximised, H the entropy and w the attention 1 / rank to documents that A or B ranks
    higher, or neither. Of several optima that with the least sum of p_i sqrt(i) is taken, lists in
    order of the first ranking.
    """

    name = "Optimised"
    source = "Radlinski and Craswell (2013)"
    most: ClassVar[int | None] = 2
    credit: str = parameter(
        "linear",
        choice("linear", "inverse"),
        "for a click: minus the rank, or 1 / rank; what a ranking lacks is behind its last",
    )

    def cost(self, credits: Floats) -> Floats:
        attention = 1 / np.arange(1.0, credits.shape[2] + 1)
        difference = credits[0] - credits[1]
        first = (difference > 0) @ attention / attention.sum()
        second = (difference < 0) @ attention / attention.sum()
        either = first + second
        share = divided(first, either, 0.0)
        p = np.clip([share, 1 - share], 1e-300, 1)
        negative: Floats = either * (p * np.log(p)).sum(axis=0)
        return negative


class OptimisedMultileaving(_Optimising):
    """The same for any number of rankers: equal expected credits, and the least expected variance.

    The variance of a list is the sum over rankers of (credit weighted by attention 1 / rank, less
    its mean over rankers)^2. Note that this is minimised, where Radlinski and Craswell maximise
    what they call sensitivity. With `slack` it is roughly optimised (Manabe et al. 2017).
    """

    name = "OptimisedMultileaving"
    source = "Schuth et al. (2014); Manabe et al. (2017)"
    credit: str = parameter("inverse", choice("linear", "inverse"), "as of Optimised")

    def cost(self, credits: Floats) -> Floats:
        weighted = credits @ (1 / np.arange(1.0, credits.shape[2] + 1))
        variance: Floats = ((weighted - weighted.mean(axis=0)) ** 2).sum(axis=0)
        return variance
