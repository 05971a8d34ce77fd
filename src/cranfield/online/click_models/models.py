"""Click models: click-through rates, examination models, and cascade models.

In the formulas, C_r and E_r are 1 if rank r, with document d_r of query q, is clicked or examined;
parameters are click rates (rho), attractiveness (a), satisfaction (s), examination (x), and
continuation (lambda, gamma, tau).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.spec import OPEN_PROBABILITY, number, optional, parameter
from cranfield.online.click_models.model import (
    TINY,
    EMModel,
    PageModel,
    Patterns,
    Tallies,
    Tally,
    Values,
    compute_cell_index,
    select_values,
    sum_by_index,
)

TrialCounts = dict[str, tuple[Floats, Floats]]


class RateModel(PageModel):
    """Base class of models whose only parameter is the click probability (click-through rate)."""

    def count_trials(self, pages: Patterns) -> TrialCounts:
        return {"rate": (pages.clicks * pages.result_weights, pages.result_weights)}

    def predict_clicks(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        return np.full(item.size, select_values(values["rate"], rank))


class GCTR(RateModel):
    """A single click rate for all results.

    .. math:: P(C_r = 1) = \\rho
    """

    name = "GCTR"
    aliases = ("RCM",)
    source = "Chuklin, Markov and de Rijke (2015)"
    variables: ClassVar = {"rate": ""}


class RCTR(RateModel):
    """A click rate for each rank.

    .. math:: P(C_r = 1) = \\rho_r
    """

    name = "RCTR"
    source = "Craswell et al. (2008)"
    variables: ClassVar = {"rate": "rank"}


class DCTR(RateModel):
    """A click rate for each document of a query.

    .. math:: P(C_r = 1) = \\rho_{q d_r}
    """

    name = "DCTR"
    source = "Craswell et al. (2008)"
    variables: ClassVar = {"rate": "item"}

    def predict_clicks(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        return values["rate"][item]


class ExaminationModel(EMModel):
    """Base class of models in which a click requires examination and attraction, both hidden."""

    def make_expectation(self, pages: Patterns) -> Callable[[Values], tuple[Tallies, float]]:
        n_items = pages.items.size
        n_cells = self.count_values(n_items, pages.n_ranks)["examination"]
        # Results with the same item and cell have the same expectation.
        keys = pages.codes * n_cells + pages.index_values(self.variables["examination"])
        distinct_keys, groups = np.unique(keys, return_inverse=True)
        item, cell = distinct_keys // n_cells, distinct_keys % n_cells
        clicks = sum_by_index(groups, pages.result_weights * pages.clicks, distinct_keys.size)
        non_clicks = sum_by_index(groups, pages.result_weights, distinct_keys.size) - clicks
        impressions = clicks + non_clicks
        item_trials = sum_by_index(item, impressions, n_items)
        cell_trials = sum_by_index(cell, impressions, n_cells)

        def expect(values: Values) -> tuple[Tallies, float]:
            a, x = values["attractiveness"][item], values["examination"][cell]
            click = a * x
            no_click = 1 - click
            scale = non_clicks / np.maximum(no_click, TINY)
            attractions = sum_by_index(item, clicks + scale * (a - click), n_items)
            examinations = sum_by_index(cell, clicks + scale * (x - click), n_cells)
            log_likelihood = clicks @ np.log(np.maximum(click, TINY))
            log_likelihood += non_clicks @ np.log(np.maximum(no_click, TINY))
            tallies = {"attractiveness": Tally(attractions, item_trials)}
            tallies["examination"] = Tally(examinations, cell_trials)
            return tallies, float(log_likelihood)

        return expect


class PBM(ExaminationModel):
    """The position-based model: users click on a document that they examine and that attracts them.

    .. math:: P(C_r = 1) = a_{q d_r} x_r
    """

    name = "PBM"
    source = "Craswell et al. (2008)"
    variables: ClassVar = {"attractiveness": "item", "examination": "rank"}

    def predict_clicks(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        examination = select_values(values["examination"], rank)
        return np.asarray(values["attractiveness"][item] * examination)


class UBM(ExaminationModel):
    """The user browsing model: examination depends on the rank and the last click above.

    .. math:: P(C_r = 1 \\mid \\text{last click } r') = a_{q d_r} x_{r r'}

    The marginal probability of a click is a sum over all possible last clicks. Ranks below the
    longest training page have the examination probability of its last rank, at the same distance
    from the last click, or after a click at the first rank if that page is shorter.
    """

    name = "UBM"
    source = "Dupret and Piwowarski (2008)"
    variables: ClassVar = {"attractiveness": "item", "examination": "rank and last click"}

    def start_state(self, n_pages: int) -> Indices:
        return np.full(n_pages, -1)

    def predict_clicks(self, values: Values, rank: int, item: Indices, state: Indices) -> Floats:
        examination = values["examination"]
        # The last trained rank n has the last n of n (n + 1) / 2 values.
        n_beyond = max(rank + 1 - (isqrt(8 * (examination.size - 1) + 1) - 1) // 2, 0)
        last_click = np.where(state < 0, state, np.maximum(state - n_beyond, 0))
        index = compute_cell_index(rank - n_beyond, last_click)
        return np.asarray(values["attractiveness"][item] * examination[index])

    def update_state(
        self, values: Values, rank: int, item: Indices, state: Indices, p: Floats, is_clicked: Bools
    ) -> Indices:
        return np.where(is_clicked, rank, state)

    def compute_click_probabilities(self, values: Values, pages: Patterns) -> Floats:
        probabilities = np.empty(pages.codes.size)
        # Probability that a rank has the last click; the first row is for no click.
        last_click = np.zeros((pages.n_ranks + 1, len(pages)))
        last_click[0] = 1.0
        for rank, rows in enumerate(pages.slices):
            size = rows.stop - rows.start
            last_above = last_click[: rank + 1, :size]
            last_ranks = np.arange(-1, rank)[:, np.newaxis]
            click = self.predict_clicks(values, rank, pages.codes[rows], last_ranks) * last_above
            last_above -= click
            probabilities[rows] = last_click[rank + 1, :size] = click.sum(axis=0)
        return probabilities


Continuation = tuple[Any, Any, Any]
"""Continuation probabilities after no click, an unsatisfying click and a satisfying click."""

Continuing = tuple[Any, Any]  # Continuation probabilities without a click, and after a click


@dataclass(frozen=True, eq=False)
class Posterior:
    """Probabilities of the hidden states of each result, given all clicks of the page."""

    examination: Floats  # Probability of examination; 1 for clicked results
    attraction: Floats  # Probability of attraction; 1 for clicked results
    satisfaction: Floats  # Probability that a click satisfies; 0 without a click
    # Joint probabilities of continuing and of: examination without a click, an unsatisfying click,
    # a satisfying click; shape (3, results)
    continuation: Floats
    likelihood: Floats  # Probability of the observation, given the clicks above


def infer_posterior(pages: Patterns, a: Floats, s: Floats, continuation: Continuation) -> Posterior:
    r"""Compute the posterior by the forward-backward algorithm.

    Let e be the probability of examination given the clicks above, a the attractiveness of the
    result, t_1 the probability of continuing after no click, z the indicator (0 or 1) that nothing
    is clicked at or below a rank, and :math:`\beta_r = P(c_r, \dots \mid E_r = 1)` for the clicks
    c and the examination E of ranks. The examination of a result without a click has the odds
    :math:`e(1-a)[t_1\beta_{r+1} + (1-t_1)z_{r+1}]` to :math:`(1-e)z_{r+1}`. All results above a
    click are examined, so beta matters only below the deepest click; it is 1 elsewhere, so that
    products over long pages do not underflow.
    """
    t1, t2, t3 = continuation
    clicks = pages.clicks
    is_below = pages.rank >= pages.deepest_clicks[pages.pattern]  # Nothing is clicked below.
    is_tail = is_below & ~clicks
    after_click = (1 - s) * t2 + s * t3
    examination, beta = np.empty(clicks.size), np.empty(clicks.size)
    e = np.ones(len(pages))
    for rows in pages.slices:
        e = e[: rows.stop - rows.start]
        examination[rows] = e
        click = e * a[rows]
        after_no_click = t1 * (e - click) / np.maximum(1 - click, TINY)
        e = np.where(clicks[rows], after_click[rows], after_no_click)
    b = np.ones(len(pages))
    for rows in reversed(pages.slices):
        b_above = b[: rows.stop - rows.start]
        beta[rows] = b_above
        b_above[:] = np.where(is_tail[rows], (1 - a[rows]) * (t1 * b_above + (1 - t1)), 1.0)
    # Likelihoods of the clicks below if users continue, and if they end here
    on1, on2, on3 = (t * beta for t in continuation)
    end1, end2, end3 = ((1 - t) * is_below for t in continuation)
    probability = examination * a
    smoothed = (examination - probability) * (on1 + end1)
    smoothed = np.where(is_tail, smoothed / np.maximum(smoothed + (1 - examination), TINY), 1.0)
    satisfying, unsatisfying = s * (on3 + end3), (1 - s) * (on2 + end2)
    satisfaction = np.where(clicks, satisfying / np.maximum(satisfying + unsatisfying, TINY), 0.0)
    dissatisfaction = np.where(clicks, 1 - satisfaction, 0.0)
    unclicked = np.where(clicks, 0.0, smoothed)
    cases = (unclicked, on1, end1), (dissatisfaction, on2, end2), (satisfaction, on3, end3)
    joint_continuation = np.stack([p * on / np.maximum(on + end, TINY) for p, on, end in cases])
    attraction = np.where(clicks, 1.0, (1 - smoothed) * a)
    likelihood = np.where(clicks, probability, 1 - probability)
    return Posterior(smoothed, attraction, satisfaction, joint_continuation, likelihood)


class CascadeModel(PageModel):
    """Base class of models whose users read from the top down; the state is P(examination)."""

    def get_continuations(self, values: Values, rank: int | Indices, item: Indices) -> Continuing:
        """Return the probabilities of continuing without a click, and after a click."""
        raise NotImplementedError

    def compute_posterior(self, values: Values, pages: Patterns) -> Posterior:
        """Compute the probabilities of hidden states, given all clicks of each page."""
        # By default, users continue without a click, or after one that did not satisfy.
        a = values["attractiveness"][pages.codes]
        _, after_click = self.get_continuations(values, pages.rank, pages.codes)
        return infer_posterior(pages, a, 1 - np.broadcast_to(after_click, a.shape), (1.0, 1.0, 0.0))

    def predict_clicks(self, values: Values, rank: int, item: Indices, state: Floats) -> Floats:
        return np.asarray(state * values["attractiveness"][item])

    def update_state(
        self, values: Values, rank: int, item: Indices, state: Floats, p: Floats, is_clicked: Bools
    ) -> Floats:
        without_click, after_click = self.get_continuations(values, rank, item)
        examination = (state - p) / np.maximum(1 - p, TINY)
        return np.asarray(np.where(is_clicked, after_click, examination * without_click))

    def compute_click_probabilities(self, values: Values, pages: Patterns) -> Floats:
        probabilities = np.empty(pages.codes.size)
        examination = np.ones(len(pages))
        for rank, rows in enumerate(pages.slices):
            item = pages.codes[rows]
            examination = examination[: item.size]
            a = values["attractiveness"][item]
            without_click, after_click = self.get_continuations(values, rank, item)
            probabilities[rows] = examination * a
            examination = examination * ((1 - a) * without_click + a * after_click)
        return probabilities


def count_down_to(pages: Patterns, last_examined: Indices) -> tuple[Floats, Floats]:
    """Count clicks and results down to the last examined rank of each page."""
    weights = pages.result_weights * (pages.rank <= last_examined[pages.pattern])
    return weights * pages.clicks, weights


def count_down_to_click(pages: Patterns) -> tuple[Floats, Floats]:
    """Count clicks and results down to the deepest click, or on the whole page without a click."""
    deepest_ranks = pages.deepest_clicks
    return count_down_to(pages, np.where(deepest_ranks < 0, pages.lengths, deepest_ranks))


class CM(CascadeModel):
    """The cascade model: users read down to the first document that attracts them, and click it.

    .. math:: P(C_r = 1) = a_{q d_r} \\prod_{j<r} (1 - a_{q d_j})

    A second click is impossible. With a floor, conditional probabilities are computed as in
    PyClick: as above down to the first click, and equal to the floor for all observations below it.
    These probabilities do not sum to 1; use them only for comparisons with results of PyClick.
    """

    name = "CM"
    source = "Craswell et al. (2008)"
    variables: ClassVar = {"attractiveness": "item"}

    floor: float = parameter(
        0.0, number(0, 1, excludes_high=True), "probability of observations below the first click"
    )

    def get_continuations(self, values: Values, rank: int | Indices, item: Indices) -> Continuing:
        return 1.0, 0.0

    def count_trials(self, pages: Patterns) -> TrialCounts:
        first_clicks = pages.lengths.copy()
        is_first = pages.clicks & (pages.last_clicks < 0)
        first_clicks[pages.pattern[is_first]] = pages.rank[is_first]
        return {"attractiveness": count_down_to(pages, first_clicks)}

    def compute_conditional_probabilities(self, values: Values, pages: Patterns) -> Floats:
        if not self.floor:
            return super().compute_conditional_probabilities(values, pages)
        probabilities = self.compute_click_probabilities(values, pages)
        conditional = np.where(pages.clicks, probabilities, 1 - probabilities)
        return np.where(pages.last_clicks >= 0, self.floor, conditional)


class DCM(CascadeModel):
    """The dependent click model: after a click, users continue with a probability by rank.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = 1 - C_r + \\lambda_r C_r

    The user of a page is assumed to stop at the lowest click.
    """

    name = "DCM"
    source = "Guo, Liu and Wang (2009)"
    variables: ClassVar = {"attractiveness": "item", "continuation": "rank"}

    def get_continuations(self, values: Values, rank: int | Indices, item: Indices) -> Continuing:
        return 1.0, select_values(values["continuation"], rank)

    def count_trials(self, pages: Patterns) -> TrialCounts:
        clicks = pages.result_weights * pages.clicks
        continued = clicks * (pages.rank < pages.deepest_clicks[pages.pattern])
        return {"attractiveness": count_down_to_click(pages), "continuation": (continued, clicks)}


class SDBN(CascadeModel):
    """The simplified dynamic Bayesian network: users stop only when a document satisfies.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = 1 - s_{q d_r} C_r

    The lowest click of a page is assumed to be the satisfying one.
    """

    name = "SDBN"
    source = "Chapelle and Zhang (2009)"
    variables: ClassVar = {"attractiveness": "item", "satisfaction": "item"}

    def get_continuations(self, values: Values, rank: int | Indices, item: Indices) -> Continuing:
        return 1.0, 1 - values["satisfaction"][item]

    def count_trials(self, pages: Patterns) -> TrialCounts:
        clicks = pages.result_weights * pages.clicks
        satisfied = clicks * (pages.rank == pages.deepest_clicks[pages.pattern])
        return {"attractiveness": count_down_to_click(pages), "satisfaction": (satisfied, clicks)}


class DynamicModel(EMModel, CascadeModel):
    """Base class of models in which continuation depends on whether a click satisfied the user.

    Without a parameter of satisfaction, a clicked document satisfies with the probability with
    which it attracts. A single continuation probability applies to users who are not satisfied.
    """

    def get_satisfaction(self, values: Values) -> Floats:
        """Return the probability that each item satisfies a user who clicked it."""
        return values["satisfaction" if "satisfaction" in self.variables else "attractiveness"]

    def get_continuation_parameters(self, values: Values) -> Continuation:
        first, *probabilities = values["continuation"].tolist()
        return (first, probabilities[0], probabilities[1]) if self.cases else (first, first, 0.0)

    def get_continuations(self, values: Values, rank: int | Indices, item: Indices) -> Continuing:
        t1, t2, t3 = self.get_continuation_parameters(values)
        s = self.get_satisfaction(values)[item]
        return t1, (1 - s) * t2 + s * t3

    def compute_posterior(self, values: Values, pages: Patterns) -> Posterior:
        a, s = values["attractiveness"][pages.codes], self.get_satisfaction(values)[pages.codes]
        return infer_posterior(pages, a, s, self.get_continuation_parameters(values))

    def make_expectation(self, pages: Patterns) -> Callable[[Values], tuple[Tallies, float]]:
        n_items, weight = pages.items.size, pages.result_weights
        impressions = sum_by_index(pages.codes, weight, n_items)
        clicks = sum_by_index(pages.codes, weight * pages.clicks, n_items)
        # Continuation cannot be observed at the last rank of a page.
        inner_weight = weight * (pages.rank < pages.lengths[pages.pattern] - 1)

        def expect(values: Values) -> tuple[Tallies, float]:
            states = self.compute_posterior(values, pages)
            attractions = sum_by_index(pages.codes, weight * states.attraction, n_items)
            satisfactions = sum_by_index(pages.codes, weight * states.satisfaction, n_items)
            dissatisfaction = np.where(pages.clicks, 1 - states.satisfaction, 0.0)
            no_click = states.examination * ~pages.clicks
            cases = np.stack([no_click, dissatisfaction, states.satisfaction])
            tallies = {"attractiveness": Tally(attractions, impressions)}
            if "satisfaction" in self.variables:
                tallies["satisfaction"] = Tally(satisfactions, clicks)
            else:
                tallies["attractiveness"] = Tally(attractions + satisfactions, impressions + clicks)
            counts = states.continuation @ inner_weight, cases @ inner_weight
            if not self.cases:
                counts = counts[0][:2].sum(keepdims=True), counts[1][:2].sum(keepdims=True)
            tallies["continuation"] = Tally(*counts)
            return tallies, float(weight @ np.log(np.maximum(states.likelihood, TINY)))

        return expect

    def compute_relevance(self, values: Values) -> Floats:
        return np.asarray((values["attractiveness"] * self.get_satisfaction(values))[:-1])


class DBN(DynamicModel):
    """The dynamic Bayesian network: users stop if satisfied, or abandon the page at any rank.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = \\gamma (1 - s_{q d_r} C_r)
    """

    name = "DBN"
    source = "Chapelle and Zhang (2009)"
    variables: ClassVar = {"attractiveness": "item", "satisfaction": "item", "continuation": ""}

    gamma: float | None = parameter(
        None, optional(OPEN_PROBABILITY), "probability of continuation; estimated by default"
    )

    def get_fixed_values(self) -> dict[str, float]:
        return {} if self.gamma is None else {"continuation": self.gamma}


class CCM(DynamicModel):
    """The click chain model: satisfaction is as probable as attraction; continuation has 3 cases.

    .. math:: P(E_{r+1} = 1 \\mid E_r = 1) = (1 - C_r)\\tau_1
        + C_r [(1 - a_{q d_r})\\tau_2 + a_{q d_r}\\tau_3]
    """

    name = "CCM"
    source = "Guo, Liu, Kannan, Minka, Taylor, Wang and Faloutsos (2009)"
    variables: ClassVar = {"attractiveness": "item", "continuation": "case"}
    cases = ("no click", "click, not satisfied", "click, satisfied")
