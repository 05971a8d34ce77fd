"""The click models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.spec import TRUE_SHARE, number, optional, parameter
from cranfield.online.click_models.model import (
    TINY,
    Climbing,
    Model,
    Patterns,
    Tallies,
    Tally,
    Values,
    at_rank,
    cell,
    sums,
)

Counts = dict[str, tuple[Floats, Floats]]


class Rate(Model):
    """Base of click rates: the probability of a click is the only parameter."""

    def counts(self, pages: Patterns) -> Counts:
        return {"rate": (pages.clicks * pages.weight, pages.weight)}

    def click_probability(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        return np.full(item.size, at_rank(values["rate"], rank))


class GCTR(Rate):
    """One click rate for all results.

    .. math:: P(C_r = 1) = \\rho
    """

    name = "GCTR"
    aliases = ("RCM",)
    source = "Chuklin, Markov and de Rijke (2015)"
    by: ClassVar = {"rate": ""}


class RCTR(Rate):
    """A click rate for each rank.

    .. math:: P(C_r = 1) = \\rho_r
    """

    name = "RCTR"
    source = "Craswell et al. (2008)"
    by: ClassVar = {"rate": "rank"}


class DCTR(Rate):
    """A click rate for each document of a query.

    .. math:: P(C_r = 1) = \\rho_{q d_r}
    """

    name = "DCTR"
    source = "Craswell et al. (2008)"
    by: ClassVar = {"rate": "item"}

    def click_probability(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        return values["rate"][item]


class Examined(Climbing):
    """A click is examination, in some cell, and attractiveness: both hidden without a click."""

    def expecting(self, pages: Patterns) -> Callable[[Values], tuple[Tallies, float]]:
        items = pages.items.size
        cells = self.sizes(items, pages.ranks)["examination"]
        # Results of the same item and cell have the same expectation.
        place = pages.codes * cells + pages.places(self.by["examination"])
        key, alike = np.unique(place, return_inverse=True)
        item, cell = key // cells, key % cells
        clicked = sums(alike, pages.weight * pages.clicks, key.size)
        missed = sums(alike, pages.weight, key.size) - clicked
        impressions = clicked + missed
        by_item, by_cell = sums(item, impressions, items), sums(cell, impressions, cells)

        def expect(values: Values) -> tuple[Tallies, float]:
            a, x = values["attractiveness"][item], values["examination"][cell]
            click = a * x
            none = 1 - click
            share = missed / np.maximum(none, TINY)
            hits = sums(item, clicked + share * (a - click), items)
            seen = sums(cell, clicked + share * (x - click), cells)
            value = clicked @ np.log(np.maximum(click, TINY))
            value += missed @ np.log(np.maximum(none, TINY))
            tallies = {"attractiveness": Tally(hits, by_item), "examination": Tally(seen, by_cell)}
            return tallies, float(value)

        return expect


class PBM(Examined):
    """The position-based model: a rank is examined, and an examined document attracts.

    .. math:: P(C_r = 1) = a_{q d_r} x_r
    """

    name = "PBM"
    source = "Craswell et al. (2008)"
    by: ClassVar = {"attractiveness": "item", "examination": "rank"}

    def click_probability(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        seen = at_rank(values["examination"], rank)
        return np.asarray(values["attractiveness"][item] * seen)


class UBM(Examined):
    """The user browsing model: examination depends on the rank and the last click above.

    .. math:: P(C_r = 1 \\mid \\text{last click } r') = a_{q d_r} x_{r r'}

    The probability of a click whatever is above is a sum over the last clicks there may be. Ranks
    beyond the longest trained page have the examination of its last rank, at the same distance from
    the last click.
    """

    name = "UBM"
    source = "Dupret and Piwowarski (2008)"
    by: ClassVar = {"attractiveness": "item", "examination": "rank and last click"}

    def start(self, pages: int) -> Indices:
        return np.full(pages, -1)

    def click_probability(self, values: Values, rank: int, item: Indices, state: Indices) -> Floats:
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
        probability: Floats,
        click: Bools,
    ) -> Indices:
        return np.where(click, rank, state)

    def click_probabilities(self, values: Values, pages: Patterns) -> Floats:
        out = np.empty(pages.codes.size)
        # The probability that a rank is the last one with a click, none being the first row.
        last = np.zeros((pages.ranks + 1, len(pages)))
        last[0] = 1.0
        for rank, at in enumerate(pages.slices):
            size = at.stop - at.start
            before = last[: rank + 1, :size]
            click = before * self.click_probability(
                values, rank, pages.codes[at], np.arange(-1, rank)[:, np.newaxis]
            )
            before -= click
            out[at] = last[rank + 1, :size] = click.sum(axis=0)
        return out


Going = tuple[Any, Any, Any]
"""Continuation probabilities: without a click, after an unsatisfying and a satisfying click."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Probabilities of the hidden states of each result, given all clicks of the page."""

    examined: Floats  # Probability that it is examined; 1 where it is clicked
    attracted: Floats
    satisfied: Floats  # Probability that a click satisfies; 0 where there is none
    # Probabilities that it is examined without a click, clicked and not satisfying, clicked and
    # satisfying, and that the user goes on; shape (3, results)
    went_on: Floats
    likelihood: Floats  # Probability of the observation, given the clicks above


def posterior(pages: Patterns, a: Floats, s: Floats, going: Going) -> Posterior:
    r"""Go down and up each page once.

    With e the probability of examination given the clicks above, z whether nothing is clicked at or
    below, and \(\beta_r = P(c_r, \dots \mid E_r = 1)\), that a result without a click is examined
    has the odds :math:`e(1-a)[t_1\beta_{r+1} + (1-t_1)z_{r+1}]` to :math:`(1-e)z_{r+1}`. Above a
    click all is examined, so beta counts below the lowest one only, and is 1 elsewhere: no product
    of a long page vanishes.
    """
    t1, t2, t3 = going
    clicks = pages.clicks
    below = pages.rank >= pages.lowest[pages.pattern]  # Nothing is clicked below.
    tail = below & ~clicks
    after_click = (1 - s) * t2 + s * t3
    examined, beta = np.empty(clicks.size), np.empty(clicks.size)
    e = np.ones(len(pages))
    for at in pages.slices:
        e = e[: at.stop - at.start]
        examined[at] = e
        probability = e * a[at]
        e = np.where(
            clicks[at], after_click[at], t1 * (e - probability) / np.maximum(1 - probability, TINY)
        )
    b = np.ones(len(pages))
    for at in reversed(pages.slices):
        here = b[: at.stop - at.start]
        beta[at] = here
        here[:] = np.where(tail[at], (1 - a[at]) * (t1 * here + (1 - t1)), 1.0)
    on1, on2, on3 = t1 * beta, t2 * beta, t3 * beta
    end1, end2, end3 = (1 - t1) * below, (1 - t2) * below, (1 - t3) * below
    probability = examined * a
    seen = (examined - probability) * (on1 + end1)
    seen = np.where(tail, seen / np.maximum(seen + (1 - examined), TINY), 1.0)
    yes, no = s * (on3 + end3), (1 - s) * (on2 + end2)
    satisfied = np.where(clicks, yes / np.maximum(yes + no, TINY), 0.0)
    unsatisfied = np.where(clicks, 1 - satisfied, 0.0)
    went_on = np.stack(
        [
            np.where(clicks, 0.0, seen) * on1 / np.maximum(on1 + end1, TINY),
            unsatisfied * on2 / np.maximum(on2 + end2, TINY),
            satisfied * on3 / np.maximum(on3 + end3, TINY),
        ]
    )
    return Posterior(
        examined=seen,
        attracted=np.where(clicks, 1.0, (1 - seen) * a),
        satisfied=satisfied,
        went_on=went_on,
        likelihood=np.where(clicks, probability, 1 - probability),
    )


class Cascade(Model):
    """Users examine results from the top; the state is the probability that they still do."""

    def stays(self, values: Values, rank: int | Indices, item: Indices) -> tuple[Any, Any]:
        """Return the probabilities to go on after no click, and after a click."""
        raise NotImplementedError

    def posterior(self, values: Values, pages: Patterns) -> Posterior:
        """Return the probabilities of hidden states, given all clicks of each page.

        By default all users continue without a click, and those who continue after one were not
        satisfied.
        """
        a = values["attractiveness"][pages.codes]
        _, clicked = self.stays(values, pages.rank, pages.codes)
        return posterior(pages, a, 1 - np.broadcast_to(clicked, a.shape), (1.0, 1.0, 0.0))

    def click_probability(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        return np.asarray(state * values["attractiveness"][item])

    def after(
        self,
        values: Values,
        rank: int,
        item: Indices,
        state: Floats,
        probability: Floats,
        click: Bools,
    ) -> Floats:
        missed, clicked = self.stays(values, rank, item)
        still = (state - probability) / np.maximum(1 - probability, TINY)
        return np.asarray(np.where(click, clicked, still * missed))

    def click_probabilities(self, values: Values, pages: Patterns) -> Floats:
        out = np.empty(pages.codes.size)
        seen = np.ones(len(pages))
        for rank, at in enumerate(pages.slices):
            item = pages.codes[at]
            seen = seen[: item.size]
            a = values["attractiveness"][item]
            missed, clicked = self.stays(values, rank, item)
            out[at] = seen * a
            seen = seen * ((1 - a) * missed + a * clicked)
        return out


def down_to(pages: Patterns, until: Indices) -> tuple[Floats, Floats]:
    """Return clicks and results down to a rank of each page, which are those examined."""
    seen = pages.weight * (pages.rank <= until[pages.pattern])
    return seen * pages.clicks, seen


def down_to_last_click(pages: Patterns) -> tuple[Floats, Floats]:
    """Return clicks and results down to the lowest click, and all of pages without a click."""
    return down_to(pages, np.where(pages.lowest < 0, pages.lengths, pages.lowest))


class CM(Cascade):
    """The cascade model: users go down to the first document that attracts, and stop.

    .. math:: P(C_r = 1) = a_{q d_r} \\prod_{j<r} (1 - a_{q d_j})

    A second click is impossible. With a floor, conditional probabilities are those of PyClick: down
    to the first click those above, and the floor for whatever is observed below it. These are not
    probabilities; they serve comparisons with figures computed in this way.
    """

    name = "CM"
    source = "Craswell et al. (2008)"
    by: ClassVar = {"attractiveness": "item"}

    floor: float = parameter(0.0, number(0, 1, open_high=True), "of conditional probabilities")

    def stays(self, values: Values, rank: int | Indices, item: Indices) -> tuple[Any, Any]:
        return 1.0, 0.0

    def counts(self, pages: Patterns) -> Counts:
        clicked = np.flatnonzero(pages.clicks)[::-1]
        first = pages.lengths.copy()
        first[pages.pattern[clicked]] = pages.rank[clicked]
        return {"attractiveness": down_to(pages, first)}

    def conditional(self, values: Values, pages: Patterns) -> Floats:
        if not self.floor:
            return super().conditional(values, pages)
        probabilities = self.click_probabilities(values, pages)
        observed = np.where(pages.clicks, probabilities, 1 - probabilities)
        return np.where(pages.last >= 0, self.floor, observed)


class DCM(Cascade):
    """The dependent click model: after a click, users go on with a probability by rank.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = 1 - C_r + \\lambda_r C_r

    The lowest click of a page is taken to be where its user stopped.
    """

    name = "DCM"
    source = "Guo, Liu and Wang (2009)"
    by: ClassVar = {"attractiveness": "item", "continuation": "rank"}

    def stays(self, values: Values, rank: int | Indices, item: Indices) -> tuple[Any, Any]:
        return 1.0, at_rank(values["continuation"], rank)

    def counts(self, pages: Patterns) -> Counts:
        clicks = pages.weight * pages.clicks
        on = clicks * (pages.rank < pages.lowest[pages.pattern])
        return {"attractiveness": down_to_last_click(pages), "continuation": (on, clicks)}


class SDBN(Cascade):
    """The simplified dynamic Bayesian network: users stop only when a document satisfies.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = 1 - s_{q d_r} C_r

    The lowest click of a page is taken to be the satisfying one.
    """

    name = "SDBN"
    source = "Chapelle and Zhang (2009)"
    by: ClassVar = {"attractiveness": "item", "satisfaction": "item"}

    def stays(self, values: Values, rank: int | Indices, item: Indices) -> tuple[Any, Any]:
        return 1.0, 1 - values["satisfaction"][item]

    def counts(self, pages: Patterns) -> Counts:
        clicks = pages.weight * pages.clicks
        end = clicks * (pages.rank == pages.lowest[pages.pattern])
        return {"attractiveness": down_to_last_click(pages), "satisfaction": (end, clicks)}


class Dynamic(Climbing, Cascade):
    """Users go on with a probability that depends on whether a click satisfied them.

    Without a parameter of its own, satisfaction is as likely as attraction. If there is one
    probability to go on, it is that of users who are not satisfied.
    """

    def satisfaction(self, values: Values) -> Floats:
        """Return the probability that each item satisfies a user who clicked it."""
        return values["satisfaction" if "satisfaction" in self.by else "attractiveness"]

    def going(self, values: Values) -> Going:
        """Return the continuation probabilities."""
        first, *others = values["continuation"].tolist()
        return (first, others[0], others[1]) if self.cases else (first, first, 0.0)

    def stays(self, values: Values, rank: int | Indices, item: Indices) -> tuple[Any, Any]:
        t1, t2, t3 = self.going(values)
        s = self.satisfaction(values)[item]
        return t1, (1 - s) * t2 + s * t3

    def posterior(self, values: Values, pages: Patterns) -> Posterior:
        return posterior(
            pages,
            values["attractiveness"][pages.codes],
            self.satisfaction(values)[pages.codes],
            self.going(values),
        )

    def expecting(self, pages: Patterns) -> Callable[[Values], tuple[Tallies, float]]:
        items, weight = pages.items.size, pages.weight
        clicked = weight * pages.clicks
        trials = [sums(pages.codes, weights, items) for weights in (weight, clicked)]
        inner = weight * (pages.rank < pages.lengths[pages.pattern] - 1)

        def expect(values: Values) -> tuple[Tallies, float]:
            hidden = self.posterior(values, pages)
            attracted = sums(pages.codes, weight * hidden.attracted, items)
            satisfied = sums(pages.codes, weight * hidden.satisfied, items)
            unsatisfied = np.where(pages.clicks, 1 - hidden.satisfied, 0.0)
            possible = np.stack([hidden.examined * ~pages.clicks, unsatisfied, hidden.satisfied])
            tallies = {"attractiveness": Tally(attracted, trials[0])}
            if "satisfaction" in self.by:
                tallies["satisfaction"] = Tally(satisfied, trials[1])
            else:
                tallies["attractiveness"] = Tally(attracted + satisfied, trials[0] + trials[1])
            continued, tried = hidden.went_on @ inner, possible @ inner
            if not self.cases:
                continued, tried = continued[:2].sum(keepdims=True), tried[:2].sum(keepdims=True)
            tallies["continuation"] = Tally(continued, tried)
            return tallies, float(weight @ np.log(np.maximum(hidden.likelihood, TINY)))

        return expect

    def relevance(self, values: Values) -> Floats:
        return np.asarray((values["attractiveness"] * self.satisfaction(values))[:-1])


class DBN(Dynamic):
    """The dynamic Bayesian network: users stop satisfied, or for no reason at any rank.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = \\gamma (1 - s_{q d_r} C_r)
    """

    name = "DBN"
    source = "Chapelle and Zhang (2009)"
    by: ClassVar = {"attractiveness": "item", "satisfaction": "item", "continuation": ""}

    gamma: float | None = parameter(
        None, optional(TRUE_SHARE), "probability of continuation; estimated by default"
    )

    def held(self) -> dict[str, float]:
        return {} if self.gamma is None else {"continuation": self.gamma}


class CCM(Dynamic):
    """The click chain model: attraction and satisfaction have one probability, continuation three.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = (1 - C_r)\\tau_1
        + C_r [(1 - a_{q d_r})\\tau_2 + a_{q d_r}\\tau_3]
    """

    name = "CCM"
    source = "Guo, Liu, Kannan, Minka, Taylor, Wang and Faloutsos (2009)"
    by: ClassVar = {"attractiveness": "item", "continuation": "case"}
    cases = ("no click", "click, not satisfied", "click, satisfied")
