r"""Measures of parity in the order of a ranking: of pairs, or of its tops.

With :math:`P(A \succ B)` the proportion of the pairs of retrieved documents of A and of B in which
that of A stands above (Kuhlman and others 2019; by relevance: Beutel and others 2019),

.. math:: | P(G \succ \bar G) - P(\bar G \succ G) |, \qquad
    | P(G_{rel} \succ \bar G_{non}) - P(\bar G_{rel} \succ G_{non}) |

At cut points :math:`i = s, 2s, ...` the protected documents :math:`x_i` of the top i are compared
with those of the whole ranking, S of N (Yang and Stoyanovich 2017):

.. math:: rND = \frac1Z \sum_i \frac{1}{\log_2 i} \left| \frac{x_i}{i} - \frac{S}{N} \right|

`rRD` compares the ratios :math:`x_i / (i - x_i)` and :math:`S / (N - S)` instead, where one of a
numerator or a denominator 0 counts as 0, and `rKL` takes the Kullback-Leibler divergence of the
proportions. Z is the highest value that N and S allow, so that 0 is fair and 1 as unfair as can be.
It is computed exactly; the authors' program estimates it from rankings that it draws.

The whole ranking counts for N and S, also with a cutoff, which only ends the cut points.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.scale_types import Scale
from cranfield.base.spec import OPEN_PROBABILITY, choice, flag, integer, name, optional, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, places_in, ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.fairness.attention import group_index
from cranfield.measures.ranked.precision import RelevanceMeasure


@measure(
    "PairParity",
    summary=(
        "Probability that a document of one group is ranked above a document of the"
        " other, minus the reverse probability."
    ),
    formula=r"| P(G \succ \bar G) - P(\bar G \succ G) |",
    source="Kuhlman, VanValkenburg and Rundensteiner (2019), rank parity;"
    " Beutel and others (2019) for relevant documents",
    lower_is_better=True,
    family="fairness",
    inputs=("groups",),
    needs="groups of documents",
    scale_note="not known to be interval: a difference of proportions",
)
class PairwiseParity(RelevanceMeasure):
    """Pair-wise parity; 0 is fair, 1 where one side stands above the other throughout.

    Only retrieved documents with a known group count. With `pairs='relevant'` each pair is of a
    relevant document of one side and one judged not relevant of the other: 0 means that relevant
    documents of both sides are ranked correctly equally often. It is 0 where a side
    has no such pairs.

    The program of Kuhlman and others (`fare`, `rank_parity`) gives the two proportions of which
    this is the difference, and 1 and 0 where there is one side only.
    """

    protected: str | None = parameter(None, optional(name), "protected group; required")
    pairs: str = parameter(
        "all", choice("all", "relevant"), "which pairs count: 'all', or those that relevance orders"
    )

    def values(self, judged: JudgedRuns) -> Floats:
        groups = judged.groups(str(self))
        members = groups.rows.where(groups.rows.gains > 0)
        is_protected = members.grade == group_index(groups, self.protected, str(self))
        inside, outside = _sides(row_keys(members), is_protected)
        shape = judged.shape
        if self.pairs == "all":
            n_above, n_pairs = _count_pairs(inside, outside, shape)
            return np.abs(ratio(2 * n_above - n_pairs, n_pairs))
        rows = judged.judged()
        relevant, irrelevant = (
            row_keys(rows.where((rows.grade >= self.rel) == is_relevant))
            for is_relevant in (True, False)
        )
        shares, is_defined = [], np.ones(shape, dtype=bool)
        for side, opposite in ((inside, outside), (outside, inside)):
            n_above, n_pairs = _count_pairs(
                _intersect(side, relevant), _intersect(opposite, irrelevant), shape
            )
            shares.append(ratio(n_above, n_pairs))
            is_defined &= n_pairs > 0
        return np.where(is_defined, np.abs(shares[0] - shares[1]), 0.0)


def row_keys(rows: Rows) -> Ints:
    """Combine cell and rank of each row into one number; ranks stay far below 2^31."""
    return rows.cell << 32 | rows.rank


def _sides(keys: Ints, is_protected: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return the documents with a protected row, and all others; keys are in order."""
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    if not first.size:
        return keys, keys
    protected = np.logical_or.reduceat(is_protected, first)
    return keys[first[protected]], keys[first[~protected]]


def _intersect(keys: Ints, other_keys: Ints) -> Ints:
    """Return the keys that are also in `other_keys`; both are in order."""
    return keys[places_in(other_keys, keys)[1]]


def _count_pairs(first: Ints, second: Ints, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Count the pairs with the document of the first side above, and all pairs."""
    topics, systems = shape
    cell = first >> 32
    ends = np.searchsorted(second, (cell + 1) << 32)
    below = ends - np.searchsorted(second, first)

    def table(cells: Ints, weights: Ints | None = None) -> Floats:
        flat = np.bincount(cells, weights=weights, minlength=topics * systems)
        return flat.reshape(systems, topics).T.astype(np.float64)

    return table(cell, below), table(cell) * table(second >> 32)


def protected_rows(judged: JudgedRuns, protected: str | None, measure: str) -> Rows:
    """Return the retrieved documents of a group, whatever their weight in it."""
    groups = judged.groups(measure)
    is_member = groups.rows.grade == group_index(groups, protected, measure)
    return groups.rows.where(is_member & (groups.rows.gains > 0))


class _Prefixes(
    Measure,
    family="fairness",
    inputs=("groups",),
    needs="groups of documents",
    source="Yang and Stoyanovich (2017)",
    scale_note="not known to be interval",
    lower_is_better=True,
):
    """Base class of measures of prefixes."""

    protected: str | None = parameter(None, optional(name), "protected group; required")
    step: int = parameter(10, integer(2, 10**6), "ranks from one cut point to the next")
    normalised: bool = parameter(
        True,
        flag,
        "whether to divide by the highest possible value Z; without it scores can be above 1",
    )

    def score(self, judged: JudgedRuns) -> Floats:
        view = judged.condensed() if self.judged_only else judged
        rows = protected_rows(view, self.protected, str(self))
        size, protected = view.retrieved, rows.count
        last = min(self.cutoff or 10**9, int(size.max(initial=0)))
        out = np.zeros(view.shape)
        for point in range(self.step, last + 1, self.step):
            n_protected = rows.where(rows.rank <= point).count
            term = self.distance(n_protected, point, size, protected) / np.log2(point)
            out += np.where(point <= size, term, 0.0)
        if self.normalised:
            pairs, row_of_pair = np.unique(
                np.stack((size.ravel(), protected.ravel())), axis=1, return_inverse=True
            )
            out = ratio(out, self._highest(pairs, last)[row_of_pair.ravel()].reshape(out.shape))
            # Rounding may put the most unfair ranking slightly above 1.
            out = np.minimum(out, 1.0)
        return np.where((protected > 0) & (protected < size), out, 0.0)

    def _highest(self, pairs: Ints, last: int) -> Floats:
        """Return the highest value for each pair of N and S, by dynamic programming."""
        size, protected = pairs[0][:, None], pairs[1][:, None]
        counts = np.arange(int(protected.max(initial=0)) + 1)[None, :]
        best = np.where(counts == 0, 0.0, -np.inf) + np.zeros(size.shape)
        for point in range(self.step, last + 1, self.step):
            reach = best.copy()
            for added in range(1, min(self.step, counts.size - 1) + 1):
                np.maximum(reach[:, added:], best[:, :-added], out=reach[:, added:])
            # A top has at most all protected documents, and at most all others.
            fits = (counts <= np.minimum(protected, point)) & (point - counts <= size - protected)
            term = self.distance(np.minimum(counts, point), point, size, protected) / np.log2(point)
            best = np.where(point <= size, np.where(fits, reach + term, -np.inf), best)
        return np.asarray(best.max(axis=1, initial=0.0))

    def distance(self, n_protected: Ints, point: int, size: Ints, protected: Ints) -> Floats:
        raise NotImplementedError


@measure(
    "rND",
    summary=(
        "Distance between the proportion of a protected group in prefixes and in the whole ranking."
    ),
    formula=r"\frac1Z \sum_i \frac{1}{\log_2 i} \left| \frac{x_i}{i} - \frac{S}{N} \right|",
    elsewhere={"FairRank": "rND, which discounts by log2(i + 1)"},
)
class NormalisedDiscountedDifference(_Prefixes):
    """Normalised discounted difference."""

    def distance(self, n_protected: Ints, point: int, size: Ints, protected: Ints) -> Floats:
        return np.asarray(np.abs(n_protected / point - ratio(protected, size)))


@measure(
    "rRD",
    summary=(
        "Distance between the ratio of a protected group to others in prefixes and"
        " in the whole ranking."
    ),
    formula=r"\frac1Z \sum_i \frac{1}{\log_2 i}"
    r" \left| \frac{x_i}{i - x_i} - \frac{S}{N - S} \right|",
    elsewhere={"FairRank": "rRD, which takes the smaller of both ratios for the first"},
)
class NormalisedDiscountedRatio(_Prefixes):
    """Normalised discounted ratio; for a protected group that is the smaller one."""

    def distance(self, n_protected: Ints, point: int, size: Ints, protected: Ints) -> Floats:
        return np.abs(ratio(n_protected, point - n_protected) - ratio(protected, size - protected))


@measure(
    "rKL",
    summary=(
        "Divergence of the proportion of a protected group in prefixes from its"
        " proportion in the whole ranking."
    ),
    formula=r"\frac1Z \sum_i \frac{1}{\log_2 i}"
    r" D_{KL}\left( \tfrac{x_i}{i} \,\middle\|\, \tfrac{S}{N} \right)",
    elsewhere={"FairRank": "rKL, which takes 0.001 for proportions of 0 and 1"},
)
class NormalisedDiscountedDivergence(_Prefixes):
    """Normalised discounted Kullback-Leibler divergence, in bits."""

    def distance(self, n_protected: Ints, point: int, size: Ints, protected: Ints) -> Floats:
        share, overall = n_protected / point, ratio(protected, size)
        return _bits(share, overall) + _bits(1.0 - share, 1.0 - overall)


def _bits(share: Floats, overall: Floats) -> Floats:
    share, overall = np.broadcast_arrays(share, overall)
    is_positive = (share > 0) & (overall > 0)
    logs = np.log2(np.divide(share, overall, out=np.ones(share.shape), where=is_positive))
    return np.asarray(share * logs)


MAX_CUTOFF = 2000
"""Maximal number of ranks tested; exact probabilities of more take too long."""


@measure(
    "FAIR",
    summary="Whether every prefix has as many protected documents as a fair draw would give.",
    formula=r"[\forall i \le k: x_i \ge F^{-1}(\alpha_c; i, p)]",
    source="Zehlike and others (2017)",
    family="fairness",
    inputs=("groups",),
    at_usage="required",
    needs="groups of documents",
    scale=Scale.ORDINAL,
    scale_note="a verdict, 0 or 1",
    elsewhere={"fairsearchcore": "Fair(k, p, alpha).is_fair"},
)
class RankedGroupFairness(Measure):
    r"""Ranked group fairness (FA*IR): 1 where the test passes at all ranks to the cutoff, 0 else.

    The prefix of length i passes if it has at least :math:`m_i = F^{-1}(\alpha; i, p)` protected
    documents, the quantile of a binomial distribution with the required proportion p. As k
    prefixes are tested, :math:`\alpha` is lowered until a ranking drawn with probability p passes
    them all with a probability of at least :math:`1 - \alpha`. The authors' program takes the table
    whose probability is nearest to that, which may reject more often. A shorter ranking is tested
    down to its end, so an empty one passes.
    """

    protected: str | None = parameter(None, optional(name), "protected group; required")
    p: float = parameter(0.5, OPEN_PROBABILITY, "lowest proportion that the group should have")
    alpha: float = parameter(0.1, OPEN_PROBABILITY, "probability of rejecting a fair ranking")
    adjusted: bool = parameter(
        True, flag, "whether alpha is the error rate of all prefixes together, instead of each"
    )

    def values(self, judged: JudgedRuns) -> Floats:
        assert self.cutoff is not None
        if self.cutoff > MAX_CUTOFF:
            raise MeasureError(
                f"{self}: cutoff must be at most {MAX_CUTOFF}, as the test adjusts alpha over"
                " all prefixes"
            )
        rows = protected_rows(judged, self.protected, str(self))
        # Minima rise with the length of the prefix, from 0 at rank 0.
        lowest = np.array([0, *minima(self.cutoff, self.p, self.alpha, self.adjusted)])
        min_protected = lowest[judged.retrieved]
        number = rows.seen
        in_time = (number <= rows.at(min_protected)) & (lowest[rows.rank - 1] < number)
        return np.asarray((rows.total(in_time) == min_protected).astype(np.float64))


@lru_cache(maxsize=64)
def minima(k: int, share: float, alpha: float, adjusted: bool) -> tuple[int, ...]:
    from scipy.special import bdtr

    tops = np.arange(1, k + 1)[:, None]
    counts = np.arange(k + 1)[None, :]
    below = np.where(counts < tops, bdtr(np.minimum(counts, tops), tops, share), 1.0)

    def minimum_of(significance: float) -> Floats:
        return np.asarray((below < significance).sum(axis=1))

    if not adjusted:
        return tuple(map(int, minimum_of(alpha)))
    # The rejection probability is a step function that rises with the level.
    low, high = 0.0, alpha
    if _rejection_probability(minimum_of(high), share) <= alpha:
        low = high
    for _ in range(50):
        middle = (low + high) / 2
        if _rejection_probability(minimum_of(middle), share) <= alpha:
            low = middle
        else:
            high = middle
    return tuple(map(int, minimum_of(low)))


def _rejection_probability(n_required: Floats, share: float) -> float:
    """Return the probability that a ranking drawn with this proportion fails a prefix."""
    chances = np.zeros(n_required.size + 1)
    chances[0] = 1.0
    for minimum in n_required:
        chances[1:] = chances[1:] * (1.0 - share) + chances[:-1] * share
        chances[0] *= 1.0 - share
        chances[:minimum] = 0.0
    return float(1.0 - chances.sum())
