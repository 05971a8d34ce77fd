"""Interleaving methods that draw lists document by document, or optimise their probabilities.

Given a list, an assignment of its documents to rankers is a path over its ranks. If any ranker may
give any document, ranks are independent; if rankers take turns in rounds, a path remembers who had
a turn. Sums over paths are computed rank by rank, for many lists at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.spec import choice, flag, integer, number, optional, parameter
from cranfield.base.streams import draw_uniforms
from cranfield.online.interleaving.method import (
    NOBODY,
    OUTCOME_TEXT,
    Candidates,
    Distribution,
    IndexPair,
    InterleavingMethod,
    Orderings,
    Prefixes,
    StepwiseDistribution,
    divide,
)


def find_best_available_docs(rankings: Orderings, prefixes: Prefixes) -> Indices:
    """Find the best available document of each ranker, -1 for none; shape (lists, rankers)."""
    # If any document is available, one of the first rank + 1 documents is.
    tops = rankings.orders[:, : prefixes.rank + 1]
    best_docs = np.empty((len(prefixes.lists), len(tops)), dtype=np.intp)
    for ranker, top in enumerate(tops):
        is_available = prefixes.is_available[:, top]
        position = is_available.argmax(axis=1)
        best_docs[:, ranker] = np.where(is_available.any(axis=1), top[position], NOBODY)
    return best_docs


def weigh_turns(prefixes: Prefixes, has_docs: Bools) -> Floats:
    """Return weight 1 for rankers that may give the next document of this round, else 0."""
    teams = prefixes.teams[:, : prefixes.rank]
    rankers = range(has_docs.shape[1])
    counts = np.stack([np.count_nonzero(teams == k, axis=1) for k in rankers], axis=1)
    counts = np.where(has_docs, counts, prefixes.lists.shape[1] + 1)
    has_turn: Bools = has_docs & (counts == counts.min(axis=1, keepdims=True))
    return has_turn.astype(np.float64)


class Balanced(InterleavingMethod):
    """The ranking whose pointer is behind gives the next document; one coin toss breaks all ties.

    The list ends when the shorter ranking ends. A pointer also moves if its document is already in
    the list (algorithm 1 as printed in Ferro and Maistro, 2024, leaves it there and never ends).
    The credit of a ranking is the number of clicks on its top k, where k is the better of the two
    ranks of the lowest clicked document. This method is biased.
    """

    name = "Balanced"
    aliases = ("BI",)
    source = "Joachims (2002); Radlinski, Kurup and Joachims (2008)"
    max_rankers = 2

    def lists(self, rankings: Orderings, length: int) -> Distribution:
        lists = np.full((2, length), NOBODY, dtype=np.intp)
        for coin, row in enumerate(lists):
            order = [coin, 1 - coin]
            pairs, (size, other_size) = rankings.orders[order].T, rankings.sizes[order]
            # The rankings take turns; the one that ends first gives the last document.
            n_turns = max(2 * size - 1 if size <= other_size else 2 * other_size, 0)
            codes = list(dict.fromkeys(pairs.ravel()[:n_turns].tolist()))[:length]
            row[: len(codes)] = codes
        nobody = np.full_like(lists, NOBODY)
        return Distribution(rankings, lists, nobody, np.array([0.5, 0.5])).merge_teams()

    def credits(self, rankings: Orderings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        ranks = rankings.ranks[:, lists]
        lowest_click = lists.shape[1] - 1 - clicks[:, ::-1].argmax(axis=1)
        depth = ranks[:, np.arange(len(lists)), lowest_click].min(axis=0)
        # A missing document is not among the top k, even if its nominal rank is.
        is_within = (ranks <= depth[:, None]) & ~rankings.is_missing[:, lists]
        return np.asarray((is_within & clicks).sum(axis=2, dtype=np.float64).T)


class TeamDraft(InterleavingMethod):
    """In each round, rankers in random order each add and own their best document not yet shown.

    A ranker without documents left is skipped. The credit of a ranker is the number of clicks on
    its documents. With more than two rankers, the method is team draft multileaving.
    """

    name = "TeamDraft"
    aliases: ClassVar[tuple[str, ...]] = ("TD", "TDI", "TDM", "TeamDraftMultileaving")
    source = "Radlinski, Kurup and Joachims (2008); Schuth et al. (2014)"
    has_team_credit = True
    common_prefix: str = parameter(
        "teams",
        choice("teams", "nobody"),
        "owner of the common prefix of all rankings: 'teams', as drafted, or 'nobody'",
    )

    def lists(self, rankings: Orderings, length: int) -> StepwiseDistribution:
        return StepwiseDistribution(rankings, length, self.list_candidates)

    def list_candidates(self, rankings: Orderings, prefixes: Prefixes) -> Candidates:
        docs = find_best_available_docs(rankings, prefixes)
        if self.common_prefix == "nobody" and prefixes.rank < rankings.common_prefix_length:
            return docs[:, :1], np.full((len(docs), 1), NOBODY), np.ones((len(docs), 1))
        teams = np.broadcast_to(np.arange(docs.shape[1]), docs.shape)
        return docs, teams, weigh_turns(prefixes, docs >= 0)

    def credits(self, rankings: Orderings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        return count_team_clicks(rankings, clicks, teams)


class SOSM(TeamDraft):
    """Lists of team draft; the credit of a click is r^-3 for the rank r among documents shown.

    In sample-only scored multileaving each ranker orders the documents of the list; documents that
    its ranking lacks are last.
    """

    name = "SOSM"
    aliases = ("SampleOnlyScoredMultileaving",)
    source = "Brost et al. (2016)"
    has_team_credit = False

    def credits(self, rankings: Orderings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        ranks = np.where(lists >= 0, rankings.ranks[:, lists], np.iinfo(np.int64).max)
        credits = np.zeros((len(lists), len(ranks)))
        for position in range(lists.shape[1]):
            list_ranks = 1 + (ranks < ranks[:, :, position, None]).sum(axis=2)
            credits += clicks[:, position, None] * list_ranks.T**-3.0
        return credits


def count_team_clicks(rankings: Orderings, clicks: Bools, teams: Indices) -> Floats:
    rankers = range(len(rankings.rankers))
    counts = [np.count_nonzero(clicks & (teams == k), axis=1) for k in rankers]
    return np.stack(counts, axis=1).astype(np.float64)


_MAX_RANKERS = 10  # Maximum number of rankers that take turns: paths have 2^rankers states
Update = Callable[[Floats, int, int], Floats]  # New sums for a rank and a ranker


def compute_expected_clicks(
    probabilities: Floats, clicks: Bools, is_filled: Bools, has_replacement: bool
) -> Floats:
    """Compute the expected clicks on the documents of each ranker, shape (lists, rankers)."""

    def update(sums: Floats, rank: int, ranker: int) -> Floats:
        new_sums = sums.copy()
        new_sums[:, 1 + ranker] += sums[:, 0] * clicks[:, rank]
        return new_sums

    starts = np.zeros(probabilities.shape[2])
    return _sum_over_paths(probabilities, is_filled, has_replacement, starts, update)


def compute_difference_distribution(
    probabilities: Floats,
    clicks: Bools,
    is_filled: Bools,
    has_replacement: bool,
    pair: tuple[int, int],
) -> Floats:
    """Compute the distribution of one ranker's clicks minus another's, from -max_clicks up."""
    max_clicks = int(clicks.sum(axis=1).max(initial=0))
    signs = [int(k == pair[0]) - int(k == pair[1]) for k in range(probabilities.shape[2])]

    def update(sums: Floats, rank: int, ranker: int) -> Floats:
        if not signs[ranker]:
            return sums
        new_sums = sums.copy()
        clicked = clicks[:, rank]
        # No path has more clicks than the list, so no value is rolled over the end.
        new_sums[clicked, 1:] = np.roll(sums[clicked, 1:], signs[ranker], axis=1)
        return new_sums

    starts = np.eye(1, 2 * max_clicks + 1, max_clicks)[0]
    return _sum_over_paths(probabilities, is_filled, has_replacement, starts, update)


def _sum_over_paths(
    probabilities: Floats, is_filled: Bools, has_replacement: bool, starts: Floats, update: Update
) -> Floats:
    """Update sums along all paths, and weight them by the path's probability given the list."""
    n_lists, n_ranks, n_rankers = probabilities.shape
    if not has_replacement and n_rankers > _MAX_RANKERS:
        requirement = f"marginal credit without replacement requires at most {_MAX_RANKERS} rankers"
        raise PolicyError(f"{requirement}, got {n_rankers}; use scoring='assigned'")
    # The first sum is the probability itself.
    paths = {0: np.tile(np.r_[1.0, starts], (n_lists, 1))}
    for rank in range(n_ranks):
        has_docs = ~np.isnan(probabilities[:, rank])
        weights = np.nan_to_num(probabilities[:, rank])
        has_ended = ~is_filled[:, rank]
        new_paths: dict[int, Floats] = {}
        for old_turns, sums in paths.items():
            is_free = [has_replacement or not old_turns >> k & 1 for k in range(n_rankers)]
            has_turn = has_docs & is_free
            is_new_round = ~has_turn.any(axis=1)
            has_turn[is_new_round] = has_docs[is_new_round]
            ranker_weights = weights * has_turn / np.maximum(has_turn.sum(axis=1, keepdims=True), 1)
            for ranker in range(n_rankers):
                updated_sums = update(sums, rank, ranker)
                bit = 0 if has_replacement else 1 << ranker
                for turns, rows in ((old_turns | bit, ~is_new_round), (bit, is_new_round)):
                    weight = ranker_weights[:, ranker] * rows
                    if weight.any():
                        new_paths[turns] = new_paths.get(turns, 0) + updated_sums * weight[:, None]
            if has_ended.any():
                new_paths[old_turns] = new_paths.get(old_turns, 0) + sums * has_ended[:, None]
        total = sum(sums[:, 0] for sums in new_paths.values())
        if np.any(total == 0):
            raise PolicyError("a list cannot have been drawn by this method from these rankings")
        paths = {turns: sums / np.asarray(total)[:, None] for turns, sums in new_paths.items()}
    return np.asarray(sum(sums[:, 1:] for sums in paths.values()))


class Probabilistic(InterleavingMethod):
    """At each rank a random ranker gives a document, drawn by a softmax over its ranks.

    A ranker draws document d with P(d) = r(d)^-tau / (sum of r^-tau over its documents that are not
    yet shown). With marginal scoring a click is divided among the rankers by the probability that
    they gave the document, given the list. The outcome is the expected sign of the difference of
    clicks (or the expected difference), computed exactly over all assignments of documents to
    rankers, without enumerating them.
    """

    name = "Probabilistic"
    aliases = ("PI", "PM", "ProbabilisticMultileaving")
    source = "Hofmann, Whiteson and de Rijke (2011); Schuth et al. (2015)"
    tau: float = parameter(3, number(0, 50), "exponent: P(document) is proportional to rank^-tau")
    replace: bool = parameter(
        True,
        flag,
        "True: any ranker may fill each rank; False: rankers take turns, as in team draft",
    )
    scoring: str = parameter(
        "marginal",
        choice("marginal", "assigned"),
        "credit of a click: 'marginal', to all rankers by the probability that they gave the"
        " document; 'assigned', to the ranker that gave it",
    )

    @property
    def has_team_credit(self) -> bool:
        return self.scoring == "assigned"

    def compute_weights(self, rankings: Orderings) -> Floats:
        """Return the softmax weight of each document by ranker, shape (rankers, documents)."""
        powers = rankings.ranks.astype(np.float64) ** -self.tau
        return np.where(rankings.is_missing, 0.0, powers)

    def lists(self, rankings: Orderings, length: int) -> StepwiseDistribution:
        weights = self.compute_weights(rankings)
        n_rankers, n_docs = weights.shape
        docs = np.tile(np.arange(n_docs), n_rankers)[None]
        teams = np.repeat(np.arange(n_rankers), n_docs)[None]

        def list_candidates(rankings: Orderings, prefixes: Prefixes) -> Candidates:
            is_available = prefixes.is_available[:, :-1]
            # Available weights are summed, not obtained by difference, to be exactly 0 for none.
            sums = _sum_weights(is_available, weights)
            has_docs = sums > 0
            turn_weights = has_docs.astype(np.float64)
            if not self.replace:
                turn_weights = weigh_turns(prefixes, has_docs)
            factors = divide(turn_weights, sums, 0.0)
            shape = (len(is_available), n_rankers * n_docs)
            doc_weights = (factors[:, :, None] * weights * is_available[:, None]).reshape(shape)
            return np.broadcast_to(docs, shape), np.broadcast_to(teams, shape), doc_weights

        return StepwiseDistribution(rankings, length, list_candidates)

    def compute_probabilities(self, rankings: Orderings, lists: Indices) -> Floats:
        """Compute P(ranker draws document), shape (lists, ranks, rankers); NaN if none is left."""
        weights = np.c_[self.compute_weights(rankings), np.zeros(len(rankings.rankers))].T
        shown_weights = weights[lists]
        is_unlisted = np.ones((len(lists), len(weights)), dtype=bool)
        is_unlisted[np.arange(len(lists))[:, None], lists] = False
        remaining_weights = shown_weights[:, ::-1].cumsum(axis=1)[:, ::-1]
        total_weights = _sum_weights(is_unlisted, weights.T)[:, None] + remaining_weights
        return divide(shown_weights, total_weights, np.nan)

    def credits(self, rankings: Orderings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        if self.has_team_credit:
            return count_team_clicks(rankings, clicks, teams)
        probabilities = self.compute_probabilities(rankings, lists)
        return compute_expected_clicks(probabilities, clicks, lists >= 0, self.replace)

    def outcomes(
        self, rankings: Orderings, lists: Indices, clicks: Bools, teams: Indices, pair: IndexPair
    ) -> Floats:
        if self.outcome == "difference" or self.has_team_credit:
            return super().outcomes(rankings, lists, clicks, teams, pair)
        arguments = self.compute_probabilities(rankings, lists), clicks, lists >= 0, self.replace
        distribution = compute_difference_distribution(*arguments, pair)
        middle = distribution.shape[1] // 2
        losses, wins = distribution[:, :middle], distribution[:, middle + 1 :]
        return np.asarray(wins.sum(axis=1) - losses.sum(axis=1))


def _sum_weights(mask: Bools, weights: Floats) -> Floats:
    """Sum the weights of the documents in each row of a mask; shape (lists, rankers)."""
    # The rounding of a matrix product would depend on the number of rows.
    return np.asarray(np.einsum("ld,rd->lr", mask.astype(np.float64), weights))


class PairwisePreference(InterleavingMethod):
    """Rank k shows a random document of the rankers' top k; credit is by pairs of documents.

    A clicked document is preferred to unclicked documents above it, and to an unclicked document
    directly below. A pair counts if both documents are shown at rank r or below, where r is the
    first rank at which both could be shown; its weight is 1 / P(neither is shown above r). A ranker
    gets the weights of the pairs that it orders in the same way, minus the weights of the pairs
    that it orders in the opposite way.
    """

    name = "PairwisePreference"
    aliases = ("PPM", "PairwisePreferenceMultileaving")
    source = "Oosterhuis and de Rijke (2017)"
    pairs: str = parameter(
        "joachims",
        choice("joachims", "all"),
        "unclicked documents to which a clicked document is preferred: 'joachims', those above it"
        " and the next one; 'all', all down to the rank below the lowest click, as in the authors'"
        " code",
    )
    outcome: str = parameter("difference", choice("sign", "difference"), OUTCOME_TEXT)
    mean: bool = parameter(False, flag, "divide by the number of pairs, as in the authors' code")

    def lists(self, rankings: Orderings, length: int) -> StepwiseDistribution:
        best_ranks, docs = rankings.best_ranks, np.arange(len(rankings.docs))

        def list_candidates(rankings: Orderings, prefixes: Prefixes) -> Candidates:
            is_candidate = prefixes.is_available[:, :-1] & (best_ranks <= prefixes.rank + 1)
            shape = is_candidate.shape
            nobody = np.broadcast_to(NOBODY, shape)
            return np.broadcast_to(docs, shape), nobody, is_candidate.astype(np.float64)

        return StepwiseDistribution(rankings, length, list_candidates)

    def credits(self, rankings: Orderings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        length = lists.shape[1]
        best_ranks = rankings.best_ranks[lists]
        ranks = rankings.ranks[:, lists]
        weights_by_ranks = weigh_pairs(rankings, length)
        # One rank below the lowest click
        end = np.where(clicks.any(axis=1), length - clicks[:, ::-1].argmax(axis=1), 0)
        credits = np.zeros((len(rankings.rankers), len(lists)))
        n_pairs = np.zeros(len(lists))
        for clicked in range(length):
            for other in range(length):
                is_preferred = clicks[:, clicked] & ~clicks[:, other] & (lists[:, other] >= 0)
                if self.pairs == "all":
                    is_preferred &= other <= end
                elif other > clicked + 1:
                    continue
                first_ranks = np.maximum(best_ranks[:, clicked], best_ranks[:, other])
                is_counted = is_preferred & (min(clicked, other) + 1 >= first_ranks)
                if not is_counted.any():
                    continue
                rows = np.flatnonzero(is_counted)
                better_ranks = np.minimum(best_ranks[rows, clicked], best_ranks[rows, other])
                weights = weights_by_ranks[better_ranks, first_ranks[rows]]
                if np.isinf(weights).any():
                    raise PolicyError(f"a list cannot have been drawn by {self}")
                agreement = np.sign(ranks[:, rows, other] - ranks[:, rows, clicked])
                credits[:, rows] += weights * agreement
                n_pairs[rows] += 1
        if self.mean:
            credits /= np.maximum(n_pairs, 1)
        return credits.T


def weigh_pairs(rankings: Orderings, length: int) -> Floats:
    """Compute weights of pairs of documents, by the better and the worse of their best ranks.

    The weight is 1 / w, where w is the product of 1 - 1 / n(x) over the ranks x from the better
    rank to just before the worse rank, and n(x) is the number of documents in the top x of any
    ranker minus the x - 1 documents shown above.
    """
    best_ranks = np.minimum(rankings.best_ranks, length + 1)
    union_sizes: Ints = np.bincount(best_ranks, minlength=length + 2).cumsum()
    weights = np.ones((length + 1, length + 1))
    for better in range(1, length + 1):
        for worse in range(better + 1, length + 1):
            n_remaining = union_sizes[worse - 1] - (worse - 2)
            factor = n_remaining / (n_remaining - 1) if n_remaining > 1 else np.inf
            weights[better, worse] = weights[better, worse - 1] * factor
    return weights


_ZERO_TOLERANCE = 1e-9  # Reduced costs and probabilities up to this value are treated as 0


def minimise_in_order(costs: Sequence[Floats], matrix: Floats, sums: Floats) -> Floats:
    """Minimise costs in lexicographic order, subject to x >= 0 and matrix @ x = sums."""
    from scipy.optimize import linprog

    # Variables with a positive reduced cost are 0 in every optimum, so that each later program has
    # only the remaining columns, and needs no tolerance on earlier costs.
    columns = np.arange(matrix.shape[1])
    point = np.zeros(0)
    options = {f"{problem}_feasibility_tolerance": 1e-10 for problem in ("primal", "dual")}
    for cost in costs:
        scale = max(float(np.abs(cost[columns]).max()), 1e-300)
        scaled_cost, submatrix = cost[columns] / scale, matrix[:, columns]
        optimum = linprog(scaled_cost, A_eq=submatrix, b_eq=sums, options=options)
        if not optimum.success:
            raise CranfieldError(f"the optimisation failed: {optimum.message}")
        reduced_costs = scaled_cost - optimum.eqlin.marginals @ submatrix
        is_optimal = (reduced_costs <= _ZERO_TOLERANCE) | (optimum.x > _ZERO_TOLERANCE)
        point, columns = optimum.x[is_optimal], columns[is_optimal]
    solution = np.zeros(matrix.shape[1])
    solution[columns] = np.where(point > _ZERO_TOLERANCE, point, 0.0)
    # The nonzero variables are adjusted until the residuals are rounding errors.
    nonzero = np.flatnonzero(solution)
    for _ in range(3):
        residual = sums - matrix[:, columns] @ solution[columns]
        solution[nonzero] += np.linalg.lstsq(matrix[:, nonzero], residual, rcond=None)[0]
    return np.maximum(solution, 0.0)


_BIAS_TOLERANCE = 1e-9  # Differences of expected credit up to this value are treated as 0


class _OptimisedMethod(InterleavingMethod):
    credit: str
    outcome: str = parameter("difference", choice("sign", "difference"), OUTCOME_TEXT)
    slack: float | None = parameter(
        None,
        optional(number(0)),
        "cost of one unit of bias at each rank; None: no bias, unless it is unavoidable",
    )
    infeasible: str = parameter(
        "relax",
        choice("relax", "refuse"),
        "if bias cannot be avoided, without `slack`: 'relax' minimises its sum over ranks and"
        " reports it, 'refuse' raises an error",
    )
    candidates: int = parameter(
        2_000,
        integer(1, 100_000),
        "number of lists to draw if more are possible; the distinct lists and the rankings that"
        " are long enough get a probability",
    )
    seed: int = parameter(0, integer(0), "seed of the random sample of lists")

    def get_click_credits(self, rankings: Orderings) -> Floats:
        """Return the credit for a click on each document, shape (rankers, documents)."""
        ranks = rankings.ranks.astype(np.float64)
        return -ranks if self.credit == "linear" else 1 / ranks

    def compute_cost(self, credits: Floats) -> Floats:
        """Compute the cost of each list, from credits of shape (rankers, lists, ranks)."""
        raise NotImplementedError

    def lists(self, rankings: Orderings, length: int) -> Distribution:
        # Prefixes of lists are unions of prefixes of the rankings; lists are sorted by codes.
        distribution = StepwiseDistribution(rankings, length, list_new_candidates)
        if (enumeration := distribution.enumerate(self.candidates)) is not None:
            codes = enumeration.lists
        else:
            samples, _ = distribution.draw(draw_uniforms(self.seed, 0, self.candidates, length))
            long_rankings = rankings.orders[rankings.sizes >= length, :length].reshape(-1, length)
            codes = np.unique(np.concatenate([long_rankings, samples]), axis=0)
        credits = np.c_[self.get_click_credits(rankings), np.zeros(len(rankings.rankers))][:, codes]
        # One row per pair of rankers and rank, sorted by pair
        pairs = combinations(credits.cumsum(axis=2), 2)
        bias = np.concatenate([(first - second).T for first, second in pairs])
        scale = max(float(np.abs(bias).max(initial=0)), 1e-300)
        p = self._solve_probabilities(bias / scale, self.compute_cost(credits), length, scale)
        imbalance = np.abs(bias @ p).reshape(-1, length).max(axis=0)
        if self.infeasible == "refuse" and self.slack is None and imbalance.max() > _BIAS_TOLERANCE:
            problem = f"{self} has no unbiased solution for these rankings"
            raise PolicyError(f"{problem}: expected credits differ by up to {imbalance.max():.6g}")
        is_positive = p > 0
        nobody = np.full_like(codes[is_positive], NOBODY)
        return Distribution(rankings, codes[is_positive], nobody, p[is_positive], imbalance)

    def _solve_probabilities(self, bias: Floats, cost: Floats, length: int, scale: float) -> Floats:
        """Solve the linear program, whose variables are probabilities, bias by rank, and slacks."""
        n_rows, n_lists = bias.shape
        allowances = np.tile(np.eye(length), (2 * n_rows // length, 1))
        sum_constraint = [np.ones((1, n_lists)), np.zeros((1, length + 2 * n_rows))]
        bias_constraints = [np.concatenate([bias, -bias]), -allowances, np.eye(2 * n_rows)]
        matrix = np.block([sum_constraint, bias_constraints])
        bias_cost, list_cost, tie_cost = np.zeros((3, matrix.shape[1]))
        bias_cost[n_lists : n_lists + length] = 1
        list_cost[:n_lists] = cost
        # Square roots of 1, 2, ... make the optimum unique in general, and favour the first lists.
        tie_cost[:n_lists] = np.sqrt(1 + np.arange(n_lists))
        costs = [bias_cost, list_cost, tie_cost]
        if self.slack is not None:
            costs = [list_cost + self.slack * scale * bias_cost, tie_cost]
        p = minimise_in_order(costs, matrix, np.r_[1.0, np.zeros(2 * n_rows)])[:n_lists]
        return np.asarray(p / p.sum())

    def credits(self, rankings: Orderings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        credit = np.where(clicks, self.get_click_credits(rankings)[:, lists], 0.0)
        return np.asarray(credit.sum(axis=2).T)


def list_new_candidates(rankings: Orderings, prefixes: Prefixes) -> Candidates:
    docs = find_best_available_docs(rankings, prefixes)
    is_new = docs >= 0
    for ranker in range(1, docs.shape[1]):
        is_new[:, ranker] &= (docs[:, :ranker] != docs[:, ranker, None]).all(axis=1)
    return docs, np.broadcast_to(NOBODY, docs.shape), is_new.astype(np.float64)


class Optimised(_OptimisedMethod):
    """The most sensitive distribution of lists of two rankers that is unbiased for random clicks.

    Every prefix of a list is a union of prefixes of the rankings. A linear program maximises the
    sensitivity s(L) = (1 - w_T) H(w_A / (w_A + w_B)), under the constraint, unless `slack` is set,
    that the expected credits of both rankers are equal down to each rank. H is the entropy, and
    w_A, w_B and w_T are the proportions of attention (1 / rank) to documents that A ranks higher,
    that B ranks higher, and that both rank equally. Among several optima, the one with the smallest
    sum of p_i sqrt(i) is chosen, with lists in the order of the first ranking.
    """

    name = "Optimised"
    aliases = ("OI", "Optimized")
    source = "Radlinski and Craswell (2013)"
    max_rankers: ClassVar[int | None] = 2
    credit: str = parameter(
        "linear",
        choice("linear", "inverse"),
        "credit of a click: 'linear', minus the rank, or 'inverse', 1 / rank; a document that a"
        " ranking lacks has the rank after its last document",
    )

    def compute_cost(self, credits: Floats) -> Floats:
        attention = 1 / np.arange(1.0, credits.shape[2] + 1)
        difference = credits[0] - credits[1]
        w_a, w_b = (m @ attention / attention.sum() for m in (difference > 0, difference < 0))
        total = w_a + w_b
        fraction = divide(w_a, total, 0.0)
        p = np.clip([fraction, 1 - fraction], 1e-300, 1)
        return np.asarray(total * (p * np.log(p)).sum(axis=0))


class OptimisedMultileaving(_OptimisedMethod):
    """The distribution of lists with equal expected credits of all rankers and the least variance.

    The variance of a list is the sum over rankers of the squared deviation of their credit,
    weighted by attention 1 / rank, from its mean over rankers. The expected variance is minimised,
    whereas Radlinski and Craswell maximise sensitivity. With `slack` this is roughly optimised
    multileaving (Manabe et al. 2017).
    """

    name = "OptimisedMultileaving"
    aliases = ("OM", "OptimizedMultileaving")
    source = "Schuth et al. (2014); Manabe et al. (2017)"
    credit: str = parameter("inverse", choice("linear", "inverse"), "as for Optimised")

    def compute_cost(self, credits: Floats) -> Floats:
        weighted_credits = credits @ (1 / np.arange(1.0, credits.shape[2] + 1))
        return np.asarray(((weighted_credits - weighted_credits.mean(axis=0)) ** 2).sum(axis=0))
