r"""Measures of parity in the order of a ranking: of pairs of documents, or of prefixes.

:math:`P(A \succ B)` is the proportion of the pairs of a retrieved document of A and one of B in
which the document of A is ranked above. Pairwise parity is (Kuhlman and others 2019; by relevance:
Beutel and others 2019)

.. math:: | P(G \succ \bar G) - P(\bar G \succ G) |, \qquad
    | P(G_{rel} \succ \bar G_{non}) - P(\bar G_{rel} \succ G_{non}) |

At cut points :math:`i = s, 2s, ...` the number :math:`x_i` of protected documents in the top i is
compared with that of the whole ranking, S of N (Yang and Stoyanovich 2017). `rND` compares the
proportions :math:`x_i / i` and :math:`S / N`; `rRD` compares the ratios :math:`x_i / (i - x_i)` and
:math:`S / (N - S)`, where a ratio is 0 if its denominator is 0, and `rKL` uses the Kullback-Leibler
divergence of the proportions. Each sum is divided by Z, the highest value that N and S allow, so
that 0 is fair and 1 as unfair as possible. Z is computed exactly; the authors' program estimates it
from random rankings.

A cutoff of rND, rRD or rKL only limits the cut points: N and S refer to the whole ranking.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.scale_types import Scale
from cranfield.base.spec import (
    OPEN_PROBABILITY,
    any_name,
    choice,
    flag,
    integer,
    optional,
    parameter,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, divide
from cranfield.measures.base import Measure, measure
from cranfield.measures.fairness.attention import find_group_index
from cranfield.measures.ranked.precision import RelevanceMeasure


class _ProtectedGroup(Measure, family="fairness", inputs=("groups",), needs="groups of documents"):
    protected: str | None = parameter(None, optional(any_name), "protected group; required")


@measure(
    "PairParity",
    summary="Absolute difference between the probabilities that a document of a protected group is"
    " ranked above and below a document of another group.",
    formula=r"| P(G \succ \bar G) - P(\bar G \succ G) |",
    source="Kuhlman, VanValkenburg and Rundensteiner (2019), rank parity;"
    " Beutel and others (2019) for relevant documents",
    lower_is_better=True,
    scale_note="not known to be on an interval scale, as it is a difference of proportions",
)
class PairwiseParity(_ProtectedGroup, RelevanceMeasure):
    """Pairwise parity; 0 is fair, 1 if all documents of one side are above those of the other.

    The sides are the protected group and all other groups. Only retrieved documents with a known
    group count. With `pairs='relevant'` a pair consists of a relevant document of one side and a
    document of the other side that is judged not relevant. A score of 0 then means that relevant
    documents of both sides are equally often ranked above non-relevant documents of the other side.
    The score is also 0 if a side has no such pairs.

    The program of Kuhlman and others (`fare`, `rank_parity`) returns the two proportions instead of
    their difference; these are 1 and 0 if all documents belong to one side.
    """

    pairs: str = parameter(
        "all",
        choice("all", "relevant"),
        "pairs of documents that count: 'all', or 'relevant', a relevant and a non-relevant one",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        groups = judged.groups(str(self))
        members = groups.rows.where(groups.rows.gains > 0)
        is_protected = members.grade == find_group_index(groups, self.protected, str(self))
        keys = members.keys
        protected_keys = np.unique(keys[is_protected])
        other_keys = np.setdiff1d(keys, protected_keys)
        shape = judged.shape
        if self.pairs == "all":
            n_above, n_pairs = _count_pairs(protected_keys, other_keys, shape)
            return np.abs(divide(2 * n_above - n_pairs, n_pairs))
        rows = judged.judged()
        is_relevant = rows.grade >= self.rel
        relevant_keys = rows.where(is_relevant).keys
        nonrelevant_keys = rows.where(~is_relevant).keys
        proportions, is_defined = [], np.ones(shape, dtype=bool)
        for side, opposite in ((protected_keys, other_keys), (other_keys, protected_keys)):
            n_above, n_pairs = _count_pairs(
                np.intersect1d(side, relevant_keys),
                np.intersect1d(opposite, nonrelevant_keys),
                shape,
            )
            proportions.append(divide(n_above, n_pairs))
            is_defined &= n_pairs > 0
        return np.where(is_defined, np.abs(proportions[0] - proportions[1]), 0.0)


def _count_pairs(keys_a: Ints, keys_b: Ints, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Count the pairs with the document of the first side above, and all pairs, by cell."""
    n_topics, n_systems = shape
    cell = keys_a >> 32
    ends = np.searchsorted(keys_b, (cell + 1) << 32)
    n_below = ends - np.searchsorted(keys_b, keys_a)

    def sum_by_cell(cells: Ints, weights: Ints | None = None) -> Floats:
        sums = np.bincount(cells, weights=weights, minlength=n_topics * n_systems)
        return sums.reshape(n_systems, n_topics).T.astype(np.float64)

    return sum_by_cell(cell, n_below), sum_by_cell(cell) * sum_by_cell(keys_b >> 32)


def select_protected_rows(judged: JudgedRuns, protected: str | None, name: str) -> Rows:
    """Return the retrieved documents that have a positive weight in the protected group."""
    groups = judged.groups(name)
    is_member = groups.rows.grade == find_group_index(groups, protected, name)
    return groups.rows.where(is_member & (groups.rows.gains > 0))


class _PrefixParityMeasure(
    _ProtectedGroup,
    source="Yang and Stoyanovich (2017)",
    scale_note="not known to be on an interval scale",
    lower_is_better=True,
):
    """Base class of measures of parity at cut points; 0 if no document or all are protected."""

    step: int = parameter(10, integer(2, 10**6), "number of ranks between cut points")
    normalised: bool = parameter(
        True,
        flag,
        "whether to divide by the highest possible value Z; otherwise scores can be above 1",
    )

    def _compute_score_range(self) -> tuple[float, float]:
        return self.info.range if self.normalised else (0.0, float("inf"))

    def score(self, judged: JudgedRuns) -> Floats:
        view = judged.condense() if self.judged_only else judged
        rows = select_protected_rows(view, self.protected, str(self))
        n, s = view.n_retrieved, rows.n_rows
        depth = min(self.cutoff or 10**9, int(n.max(initial=0)))
        total = np.zeros(view.shape)
        for i in range(self.step, depth + 1, self.step):
            x = rows.where(rows.rank <= i).n_rows
            total += np.where(i <= n, self.compute_distances(x, i, n, s) / np.log2(i), 0.0)
        if self.normalised:
            pairs, pair_index = np.unique(
                np.stack((n.ravel(), s.ravel())), axis=1, return_inverse=True
            )
            max_totals = self._compute_max_totals(pairs, depth)[pair_index.ravel()]
            # Rounding may put the most unfair ranking slightly above 1.
            total = np.minimum(divide(total, max_totals.reshape(total.shape)), 1.0)
        return np.where((s > 0) & (s < n), total, 0.0)

    def _compute_max_totals(self, pairs: Ints, depth: int) -> Floats:
        """Compute the highest sum of distances for each pair of N and S by dynamic programming."""
        n, s = pairs[0][:, None], pairs[1][:, None]
        x = np.arange(int(s.max(initial=0)) + 1)[None, :]
        # Highest sum down to the current cut point, by number of protected documents.
        max_totals = np.where(x == 0, 0.0, -np.inf) + np.zeros(n.shape)
        for i in range(self.step, depth + 1, self.step):
            totals = max_totals.copy()
            for increase in range(1, min(self.step, x.size - 1) + 1):
                np.maximum(
                    totals[:, increase:], max_totals[:, :-increase], out=totals[:, increase:]
                )
            # There are s protected documents and n - s others.
            is_possible = (x <= np.minimum(s, i)) & (i - x <= n - s)
            term = self.compute_distances(np.minimum(x, i), i, n, s) / np.log2(i)
            new_totals = np.where(is_possible, totals + term, -np.inf)
            max_totals = np.where(i <= n, new_totals, max_totals)
        return np.asarray(max_totals.max(axis=1, initial=0.0))

    def compute_distances(self, x: Ints, i: int, n: Ints, s: Ints) -> Floats:
        """Compute distances of x protected documents among i from s protected ones among n."""
        raise NotImplementedError


@measure(
    "rND",
    summary="Distance between the proportions of a protected group in prefixes and in the ranking.",
    formula=r"\frac1Z \sum_i \frac{1}{\log_2 i} \left| \frac{x_i}{i} - \frac{S}{N} \right|",
    elsewhere={"FairRank": "rND, which discounts by log2(i + 1)"},
)
class NormalisedDiscountedDifference(_PrefixParityMeasure):
    """Normalised discounted difference."""

    def compute_distances(self, x: Ints, i: int, n: Ints, s: Ints) -> Floats:
        return np.asarray(np.abs(x / i - divide(s, n)))


@measure(
    "rRD",
    summary="Distance between the ratios of a protected group to others in prefixes and in the"
    " ranking.",
    formula=r"\frac1Z \sum_i \frac{1}{\log_2 i}"
    r" \left| \frac{x_i}{i - x_i} - \frac{S}{N - S} \right|",
    elsewhere={"FairRank": "rRD, in which the first ratio is replaced by the second if larger"},
)
class NormalisedDiscountedRatio(_PrefixParityMeasure):
    """Normalised discounted ratio; the protected group should be the smaller one."""

    def compute_distances(self, x: Ints, i: int, n: Ints, s: Ints) -> Floats:
        return np.abs(divide(x, i - x) - divide(s, n - s))


@measure(
    "rKL",
    summary="Divergence of the proportion of a protected group in prefixes from that in the"
    " ranking.",
    formula=r"\frac1Z \sum_i \frac{1}{\log_2 i}"
    r" D_{KL}\left( \tfrac{x_i}{i} \,\middle\|\, \tfrac{S}{N} \right)",
    elsewhere={"FairRank": "rKL, which replaces proportions of 0 and 1 by 0.001"},
)
class NormalisedDiscountedDivergence(_PrefixParityMeasure):
    """Normalised discounted Kullback-Leibler divergence, in bits."""

    def compute_distances(self, x: Ints, i: int, n: Ints, s: Ints) -> Floats:
        p, q = x / i, divide(s, n)
        return _compute_divergence_terms(p, q) + _compute_divergence_terms(1.0 - p, 1.0 - q)


def _compute_divergence_terms(p: Floats, q: Floats) -> Floats:
    """Compute p log2(p / q), or 0 if p or q is 0."""
    p, q = np.broadcast_arrays(p, q)
    is_positive = (p > 0) & (q > 0)
    logs = np.log2(np.divide(p, q, out=np.ones(p.shape), where=is_positive))
    return np.asarray(p * logs)


MAX_CUTOFF = 2000
"""Maximum number of ranks to test; exact probabilities of more ranks take too long."""


@measure(
    "FAIR",
    summary="Whether the number of protected documents in every prefix passes a binomial test.",
    formula=r"[\forall i \le k: x_i \ge F^{-1}(\alpha_c; i, p)]",
    source="Zehlike and others (2017)",
    at_usage="required",
    scale=Scale.ORDINAL,
    scale_note="it is the result of a test, 0 or 1",
    elsewhere={"fairsearchcore": "Fair(k, p, alpha).is_fair"},
)
class RankedGroupFairness(_ProtectedGroup):
    r"""Ranked group fairness (FA*IR): 1 if the test passes at all ranks down to the cutoff, else 0.

    The prefix of length i passes if it has at least :math:`m_i = F^{-1}(\alpha; i, p)` protected
    documents, the quantile of a binomial distribution with the required proportion p. As k
    prefixes are tested, :math:`\alpha` is lowered to the level :math:`\alpha_c` at which a random
    ranking with proportion p passes all tests with a probability of at least :math:`1 - \alpha`.
    The authors' program takes the level with the nearest probability, which may be below
    :math:`1 - \alpha`. A ranking shorter than k is tested down to its end; an empty ranking passes.
    """

    p: float = parameter(0.5, OPEN_PROBABILITY, "minimum proportion of the protected group")
    alpha: float = parameter(
        0.1, OPEN_PROBABILITY, "maximum probability of rejecting a fair ranking"
    )
    adjusted: bool = parameter(
        True, flag, "whether alpha is the family-wise error rate; otherwise that of each test"
    )

    def values(self, judged: JudgedRuns) -> Floats:
        assert self.cutoff is not None
        if self.cutoff > MAX_CUTOFF:
            raise MeasureError(
                f"{self}: cutoff must be at most {MAX_CUTOFF}, got {self.cutoff}; tests of more"
                " ranks take too long"
            )
        rows = select_protected_rows(judged, self.protected, str(self))
        # Required counts increase with the length of the prefix, from 0 at rank 0.
        counts = compute_required_counts(self.cutoff, self.p, self.alpha, self.adjusted)
        minima = np.array([0, *counts])
        final_counts = minima[judged.n_retrieved]
        # All tests pass if the first prefix that requires j contains the j-th protected document.
        numbers = rows.row_numbers
        is_in_time = (numbers <= rows.at(final_counts)) & (minima[rows.rank - 1] < numbers)
        return np.asarray((rows.total(is_in_time) == final_counts).astype(np.float64))


@lru_cache(maxsize=64)
def compute_required_counts(k: int, p: float, alpha: float, is_adjusted: bool) -> tuple[int, ...]:
    """Compute the number of protected documents that each prefix of up to k ranks requires."""
    from scipy.special import bdtr

    length = np.arange(1, k + 1)[:, None]
    counts = np.arange(k + 1)[None, :]
    cdf = np.where(counts < length, bdtr(np.minimum(counts, length), length, p), 1.0)

    def compute_quantiles(level: float) -> Ints:
        return np.asarray((cdf < level).sum(axis=1))

    if not is_adjusted:
        return tuple(map(int, compute_quantiles(alpha)))
    # The rejection probability is a step function that increases with the level.
    low, high = 0.0, alpha
    if _compute_rejection_probability(compute_quantiles(high), p) <= alpha:
        low = high
    for _ in range(50):
        middle = (low + high) / 2
        if _compute_rejection_probability(compute_quantiles(middle), p) <= alpha:
            low = middle
        else:
            high = middle
    return tuple(map(int, compute_quantiles(low)))


def _compute_rejection_probability(required_counts: Ints, p: float) -> float:
    """Compute the probability that a random ranking with proportion p fails a test."""
    # Probability of each number of protected documents if all tests have passed so far.
    probabilities = np.zeros(required_counts.size + 1)
    probabilities[0] = 1.0
    for count in required_counts:
        probabilities[1:] = probabilities[1:] * (1.0 - p) + probabilities[:-1] * p
        probabilities[0] *= 1.0 - p
        probabilities[:count] = 0.0
    return float(1.0 - probabilities.sum())
