"""Optimised interleaving: lists drawn so that random clicks favour no ranker."""

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
    Options,
    Rankings,
    Shown,
    Steps,
    divided,
)
from cranfield.online.interleaving.methods import best_left

_ZERO = 1e-9
"""Reduced costs and probabilities up to this are 0."""


def minimised(costs: Sequence[Floats], matrix: Floats, sums: Floats) -> Floats:
    """Minimise the first costs, among the optima the second costs, and so on.

    Over x >= 0 with matrix @ x = sums. Variables with a positive reduced cost are 0 in every
    optimum, so each later program has the other columns alone, and no tolerance on earlier costs.
    """
    from scipy.optimize import linprog

    columns = np.arange(matrix.shape[1])
    point = np.zeros(0)
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    for cost in costs:
        scale = max(float(np.abs(cost[columns]).max()), 1e-300)
        scaled, left = cost[columns] / scale, matrix[:, columns]
        optimum = linprog(scaled, A_eq=left, b_eq=sums, options=options)
        if not optimum.success:
            raise CranfieldError(f"no optimum was found: {optimum.message}")
        reduced = scaled - optimum.eqlin.marginals @ left
        on_face = (reduced <= _ZERO) | (optimum.x > _ZERO)
        point, columns = optimum.x[on_face], columns[on_face]
    solution = np.zeros(matrix.shape[1])
    solution[columns] = _polished(point, matrix[:, columns], sums)
    return solution


def _polished(point: Floats, matrix: Floats, sums: Floats) -> Floats:
    """Reduce the errors of the equations to rounding, on the columns that are not 0."""
    polished = np.where(point > _ZERO, point, 0.0)
    used = np.flatnonzero(polished)
    for _ in range(3):
        error = sums - matrix @ polished
        polished[used] += np.linalg.lstsq(matrix[:, used], error, rcond=None)[0]
    return np.maximum(polished, 0.0)


_NO_BIAS = 1e-9
"""Differences of expected credit up to this are no bias."""


class _Optimising(InterleavingMethod):
    """Base of optimised methods: credit by rank, constraints, linear program."""

    credit: str
    outcome: str = parameter("difference", choice("sign", "difference"), "as of others")
    slack: float | None = parameter(
        None,
        optional(number(0)),
        "cost of a unit of bias, at each rank; None: no bias, if it can be avoided",
    )
    infeasible: str = parameter(
        "relax",
        choice("relax", "refuse"),
        "if bias cannot be avoided: 'relax' minimises its sum over ranks and reports it",
    )
    candidates: int = parameter(
        2_000,
        integer(1, 100_000),
        "lists that get a probability; if more are allowed, so many of them are drawn",
    )
    seed: int = parameter(0, integer(0), "seed of these draws")

    def credit_of(self, rankings: Rankings) -> Floats:
        """Credit for a click on each document, shape (rankers, documents)."""
        ranks = rankings.ranks.astype(np.float64)
        return -ranks if self.credit == "linear" else 1 / ranks

    def cost(self, credits: Floats) -> Floats:
        """Cost of each list, from credits of shape (rankers, lists, ranks)."""
        raise NotImplementedError

    def lists(self, rankings: Rankings, length: int) -> Distribution:
        shown = self._allowed(rankings, length)
        credits = np.c_[self.credit_of(rankings), np.zeros(len(rankings.rankers))][:, shown]
        # A row for each pair of rankers and rank, pairs first; in units of the largest credit.
        pairs = combinations(credits.cumsum(axis=2), 2)
        bias = np.concatenate([(first - second).T for first, second in pairs])
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
        """Solve the linear program, whose variables are probabilities, bias by rank, and slacks."""
        rows, lists = bias.shape
        allowed = np.tile(np.eye(length), (2 * rows // length, 1))
        matrix = np.block(
            [
                [np.ones((1, lists)), np.zeros((1, length + 2 * rows))],
                [np.concatenate([bias, -bias]), -allowed, np.eye(2 * rows)],
            ]
        )
        bias_cost, list_cost, ties = np.zeros((3, matrix.shape[1]))
        bias_cost[lists : lists + length] = 1
        list_cost[:lists] = cost
        # Square roots of 1, 2, ... make the optimum almost surely unique, and prefer early lists.
        ties[:lists] = np.sqrt(1 + np.arange(lists))
        if self.slack is None:
            costs = [bias_cost, list_cost, ties]
        else:
            costs = [list_cost + self.slack * unit * bias_cost, ties]
        p = minimised(costs, matrix, np.r_[1.0, np.zeros(2 * rows)])[:lists]
        return np.asarray(p / p.sum())

    def _allowed(self, rankings: Rankings, length: int) -> Indices:
        """Return lists whose prefixes are unions of prefixes of the rankings, sorted by codes."""
        steps = Steps(rankings, length, _prefixes)
        distribution = steps.listed(self.candidates)
        if distribution is not None:
            return distribution.lists
        drawn, _ = steps.drawn(uniforms(self.seed, 0, self.candidates, length))
        own = np.full((len(rankings.rankers), length), NOBODY, dtype=np.intp)
        top = rankings.orders[:, :length]
        own[:, : top.shape[1]] = top
        return np.unique(np.concatenate([own[rankings.sizes >= length], drawn]), axis=0)

    def credits(self, rankings: Rankings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        credit = np.where(clicks, self.credit_of(rankings)[:, lists], 0.0)
        return np.asarray(credit.sum(axis=2).T)


def _prefixes(rankings: Rankings, shown: Shown) -> Options:
    best = best_left(rankings, shown)
    new = best >= 0
    for ranker in range(1, best.shape[1]):
        new[:, ranker] &= (best[:, :ranker] != best[:, ranker, None]).all(axis=1)
    return best, np.broadcast_to(NOBODY, best.shape), new.astype(np.float64)


class Optimised(_Optimising):
    """The most sensitive distribution of lists of two rankers for which random clicks are unbiased.

    Every prefix of a list is a union of prefixes of the rankings. Down to each rank the expected
    credits of both rankers are equal: a linear program, in which the sensitivity s(L) = (1 - w_T)
    H(w_A / (w_A + w_B)) is maximised, H the entropy and w the attention 1 / rank to documents that
    A or B ranks higher, or neither. Among several optima, the one with the smallest sum of
    p_i sqrt(i) is chosen, lists in order of the first ranking.
    """

    name = "Optimised"
    source = "Radlinski and Craswell (2013)"
    max_rankers: ClassVar[int | None] = 2
    credit: str = parameter(
        "linear",
        choice("linear", "inverse"),
        "of a click: minus the rank, or 1 / rank; documents that a ranking lacks come last",
    )

    def cost(self, credits: Floats) -> Floats:
        attention = 1 / np.arange(1.0, credits.shape[2] + 1)
        difference = credits[0] - credits[1]
        first = (difference > 0) @ attention / attention.sum()
        second = (difference < 0) @ attention / attention.sum()
        either = first + second
        share = divided(first, either, 0.0)
        p = np.clip([share, 1 - share], 1e-300, 1)
        return np.asarray(either * (p * np.log(p)).sum(axis=0))


class OptimisedMultileaving(_Optimising):
    """Equal expected credits of any number of rankers, and the least expected variance.

    The variance of a list is the sum over rankers of (credit weighted by attention 1 / rank, minus
    its mean over rankers)^2. Note that this is minimised, whereas Radlinski and Craswell maximise
    sensitivity. With `slack` it is roughly optimised (Manabe et al. 2017).
    """

    name = "OptimisedMultileaving"
    source = "Schuth et al. (2014); Manabe et al. (2017)"
    credit: str = parameter("inverse", choice("linear", "inverse"), "as of Optimised")

    def cost(self, credits: Floats) -> Floats:
        weighted = credits @ (1 / np.arange(1.0, credits.shape[2] + 1))
        return np.asarray(((weighted - weighted.mean(axis=0)) ** 2).sum(axis=0))
