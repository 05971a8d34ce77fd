"""Cascades with hidden states, by expectation-maximisation with exact expectations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.measures.parameters import TRUE_SHARE, optional, parameter
from cranfield.online.click_models.cascade import Cascade
from cranfield.online.click_models.model import TINY, Climbing, Tallies, Tally, Values, sums
from cranfield.online.click_models.patterns import Patterns

Going = tuple[Any, Any, Any]
"""Chances to go on: without a click, after one that does not satisfy, after one that does."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Chances of hidden states given all clicks of the page, of each result."""

    examined: Floats  # Probability that it is examined; 1 where it is clicked
    attracted: Floats
    satisfied: Floats  # Probability that a click satisfies; 0 where there is none
    # Probabilities that it is examined without a click, clicked and not satisfying, clicked and
    # satisfying, and that the user goes on; shape (3, results)
    went_on: Floats
    likelihood: Floats  # Chance of what was observed of it, given the clicks above


def posterior(pages: Patterns, a: Floats, s: Floats, going: Going) -> Posterior:
    r"""Go down and up each page once.

    With e the chance of examination given the clicks above, z whether nothing is clicked at or
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
        chance = e * a[at]
        e = np.where(clicks[at], after_click[at], t1 * (e - chance) / np.maximum(1 - chance, TINY))
    b = np.ones(len(pages))
    for _, at in pages.upward():
        here = b[: at.stop - at.start]
        beta[at] = here
        here[:] = np.where(tail[at], (1 - a[at]) * (t1 * here + (1 - t1)), 1.0)
    on1, on2, on3 = t1 * beta, t2 * beta, t3 * beta
    end1, end2, end3 = (1 - t1) * below, (1 - t2) * below, (1 - t3) * below
    chance = examined * a
    seen = (examined - chance) * (on1 + end1)
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
        likelihood=np.where(clicks, chance, 1 - chance),
    )


class Dynamic(Climbing, Cascade):
    """Users go on with a chance that depends on whether a click satisfied them."""

    def satisfaction(self, values: Values) -> Floats:
        """Chance that each item satisfies who clicked it."""
        raise NotImplementedError

    def going(self, values: Values) -> Going:
        """Chances to go on."""
        raise NotImplementedError

    def stays(self, values: Values, rank: int, item: Indices, a: Floats) -> tuple[Any, Any]:
        t1, t2, t3 = self.going(values)
        s = self.satisfaction(values)[item]
        return t1, (1 - s) * t2 + s * t3

    def posterior(self, values: Values, pages: Patterns) -> Posterior:
        """Return the chances of hidden states, given all clicks of each page."""
        return posterior(
            pages,
            values["attractiveness"][pages.codes],
            self.satisfaction(values)[pages.codes],
            self.going(values),
        )

    def gathered(self, sums: tuple[Tally, Tally], cases: Tally) -> Tallies:
        """Pool attraction, satisfaction and the three cases of going on as parameters do."""
        raise NotImplementedError

    def expecting(self, pages: Patterns) -> Callable[[Values], tuple[Tallies, float]]:
        items, weight = pages.items.size, pages.weight
        clicked = weight * pages.clicks
        trials = [sums(pages.codes, one, items) for one in (weight, clicked)]
        inner = weight * (pages.rank < pages.lengths[pages.pattern] - 1)

        def expect(values: Values) -> tuple[Tallies, float]:
            found = self.posterior(values, pages)
            attracted = sums(pages.codes, weight * found.attracted, items)
            satisfied = sums(pages.codes, weight * found.satisfied, items)
            unsatisfied = np.where(pages.clicks, 1 - found.satisfied, 0.0)
            could = np.stack([found.examined * ~pages.clicks, unsatisfied, found.satisfied])
            tallies = self.gathered(
                (Tally(attracted, trials[0]), Tally(satisfied, trials[1])),
                Tally(found.went_on @ inner, could @ inner),
            )
            return tallies, float(weight @ np.log(np.maximum(found.likelihood, TINY)))

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

    gamma: float | None = parameter(None, optional(TRUE_SHARE), "continuation, if it is given")

    def held(self) -> dict[str, float]:
        return {} if self.gamma is None else {"continuation": self.gamma}

    def satisfaction(self, values: Values) -> Floats:
        return values["satisfaction"]

    def going(self, values: Values) -> Going:
        gamma = float(values["continuation"][0])
        return gamma, gamma, 0.0

    def gathered(self, sums: tuple[Tally, Tally], cases: Tally) -> Tallies:
        attraction, satisfaction = sums
        on = Tally(cases.hits[:2].sum(keepdims=True), cases.trials[:2].sum(keepdims=True))
        return {"attractiveness": attraction, "satisfaction": satisfaction, "continuation": on}


class CCM(Dynamic):
    """The click chain model: what attracts satisfies as often, and three chances to go on.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = (1 - C_r)\\tau_1
        + C_r [(1 - a_{q d_r})\\tau_2 + a_{q d_r}\\tau_3]
    """

    name = "CCM"
    source = "Guo, Liu, Kannan, Minka, Taylor, Wang and Faloutsos (2009)"
    by: ClassVar = {"attractiveness": "item", "continuation": "case"}
    cases = ("no click", "click, not satisfied", "click, satisfied")

    def satisfaction(self, values: Values) -> Floats:
        return values["attractiveness"]

    def going(self, values: Values) -> Going:
        t1, t2, t3 = values["continuation"][:3].tolist()
        return t1, t2, t3

    def gathered(self, sums: tuple[Tally, Tally], cases: Tally) -> Tallies:
        return {"attractiveness": sums[0] + sums[1], "continuation": cases}
