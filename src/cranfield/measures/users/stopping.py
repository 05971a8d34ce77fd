r"""User models in which users stop at random or when satisfied: RBP, ERR, NERR.

Users who read a document of gain g are satisfied with probability s(g), and stop; otherwise their
continuation depends on the rank. If V' are the view probabilities of users who are never satisfied
(Azzopardi, Mackenzie and Moffat 2021),

.. math:: V(r) = V'(r) \prod_{i<r} (1 - s(g_i)), \quad C(r) = \frac{V'(r+1)}{V'(r)} (1 - s(g_r))

Ranks without a judgment all have the same gain. Between two judged ranks the product is therefore
geometric, and sums of V over the ranks in between are differences of precomputed sums.

NERR8 to NERR11 have the numbers of their equations in the paper; gains, from 0 to 1, are
probabilities of satisfaction. ERR is not in the C/W/L framework.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.spec import (
    OPEN_PROBABILITY,
    POSITIVE_PROBABILITY,
    choice,
    parameter,
    to_fraction,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, divide
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import (
    GAINS_DOC,
    MAX_GRADE_OR_TOPIC,
    NONNEGATIVE_GAINS,
    P_DOC,
    Gain,
    check_nonnegative,
    find_highest_gain,
    get_ideal_ranking,
    has_even_gain_sums,
    select_gains,
)
from cranfield.measures.ranked.precision import SPACING_NOTE
from cranfield.measures.users.effort import GAIN_TARGET, compute_insq_views
from cranfield.measures.users.model import (
    DEFAULT_MAX_RANK,
    Expectations,
    StaticModel,
    UserModel,
    divide_views,
    list_ranks,
)
from cranfield.measures.users.page import Page


@measure(
    "RBP",
    summary="Expected gain per document of a user who continues with probability p.",
    formula=r"(1 - p) \sum_r g_r \, p^{r-1}",
    source="Moffat and Zobel (2008)",
    scale_note="on an interval scale for p = 1/b with an integer b and gains in at least b - 1"
    " equal steps: p = 1/2 and binary gains (Ferrante et al. 2019), p = 1/3 and gains of grades"
    " 0 to 2",
    elsewhere={
        "ir_measures": "RBP(p=...)",
        "ranx": "rbp.p",
        "trec_eval": "rbp (version 10) with gains='graded', p=0.9",
    },
    is_monotone=True,
    is_linear=True,
    expectation="documents",
)
class RankBiasedPrecision(StaticModel):
    """Rank-biased precision.

    Gains are in [0, 1]: `binary` (grade >= rel), `graded` (grade / max_grade), or a mapping, in
    which a grade that is not listed has gain 0.
    """

    p: float = parameter(0.8, OPEN_PROBABILITY, P_DOC)

    def is_evenly_spaced(self, max_grade: int) -> bool:
        """Return True if all scores are equally spaced, by the values of gains and p."""
        gains = self.compute_exact_gains(max_grade)
        return gains is not None and has_even_gain_sums(gains, self.cutoff, 1 / to_fraction(self.p))

    max_rank = None

    def views(self, rank: Any) -> Any:
        return self.p ** (rank - 1)

    def compute_total_depth(self) -> Any:
        return 1 / (1 - self.p)

    def values(self, judged: JudgedRuns) -> Floats:
        rows = self.select_gaining_rows(judged)
        return rows.total(rows.gains * (1.0 - self.p) * rows.map_ranks(self.views))


@measure(
    "RBPResidual",
    summary="Largest possible increase of RBP: the weight of ranks without a judged document.",
    formula=r"p^n + (1 - p) \sum_{r \text{ unjudged}} p^{r-1}",
    source="Moffat and Zobel (2008), section 5",
    lower_is_better=True,
    family="user models",
    elsewhere={"trec_eval": "rbp_resid (version 10) with p=0.9; 0 if no document is unjudged"},
    beyond_grades="which documents are judged",
)
class RankBiasedResidual(Measure):
    """Residual of RBP: beyond the end of the list (`tail`), within it (`unjudged`), or both.

    `part='total'` is the same as `Residual(RBP)`. In the formula, n is the length of the list.
    """

    p: float = parameter(0.8, OPEN_PROBABILITY, P_DOC)
    part: str = parameter(
        "total",
        choice("total", "tail", "unjudged"),
        "part of the residual: 'tail', of ranks beyond the end of the list; 'unjudged', of unjudged"
        " documents in it; or 'total', of both",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        rows = judged.judged()
        tail = self.p**judged.n_retrieved
        judged_weight = rows.total(
            rows.map_ranks(lambda rank: (1.0 - self.p) * self.p ** (rank - 1))
        )
        # Rounding may give a value below 0 where every document is judged.
        unjudged = np.maximum(1.0 - tail - judged_weight, 0.0)
        unjudged[judged.n_retrieved == rows.n_rows] = 0.0
        parts = {"tail": tail, "unjudged": unjudged, "total": tail + unjudged}
        return parts[self.part]


def compute_satisfaction(gain: Any, max_gain: Any) -> Any:
    """Return the probability that a document satisfies; `max_gain` is the highest gain.

    For exponential gains the probability is (2^g - 1) / 2^max_grade.
    """
    return gain / (max_gain + 1)


def compute_stopping_probabilities(rows: Rows, max_gain: float | Floats) -> Floats:
    """Return the probability of stopping at each row; `max_gain` is the highest gain."""
    stop = compute_satisfaction(rows.gains, max_gain)
    continuation = rows.cumulate_products(1.0 - stop)
    return np.asarray(rows.get_previous(continuation, 1.0) * stop)


def cache_stopping_probabilities(measure: Any, judged: JudgedRuns, rows: Rows) -> Floats:
    """Return the probability of stopping at each row, cached with the judged runs."""
    gains, max_grade = measure.gains, measure.max_grade

    def compute() -> Floats:
        max_gain = find_highest_gain(judged, gains, max_grade, rows, str(measure))
        return compute_stopping_probabilities(rows, max_gain)

    return judged.view(("stopping", rows, gains, max_grade), compute)


SATISFYING_GAINS = parameter(
    Gain("exponential"),
    check_nonnegative,
    GAINS_DOC + "; a document satisfies with probability gain / (highest gain + 1)",
)


class _ERRMeasure(
    Measure, family="user models", needs="graded or binary judgments", is_monotone=True
):
    gains: Gain = SATISFYING_GAINS
    max_grade: int | str | None = MAX_GRADE_OR_TOPIC

    def score_stop(self, stop: Any, rank: Any) -> Any:
        """Return the contribution of a rank to the score, from its stopping probability."""
        return stop / rank

    def values(self, judged: JudgedRuns) -> Floats:
        rows = select_gains(judged, self.gains)
        stop = cache_stopping_probabilities(self, judged, rows)
        return rows.total(self.score_stop(stop, rows.rank))


@measure(
    "ERR",
    summary="Expected reciprocal rank at which a user is satisfied and stops.",
    formula=r"\sum_r \frac1r R_r \prod_{i<r} (1 - R_i),"
    r" \quad R_i = \frac{2^{g_i} - 1}{2^{g_{max}}}",
    source="Chapelle and others (2009)",
    scale_note="in general not on an interval scale (Ferrante et al. 2019)",
    elsewhere={
        "gdeval": "ERR@k with max_grade=4",
        "ir_measures": "ERR@k with max_grade=4",
        "NTCIREVAL": "ERR@k with gains='linear'",
    },
    expectation="stop",
)
class ExpectedReciprocalRank(_ERRMeasure):
    """ERR; a document of grade g satisfies with probability (2^g - 1) / 2^max_grade.

    With `gains='linear'` the probability is g / (max_grade + 1), as in NTCIREVAL.
    """


@measure(
    "nERR",
    summary="ERR divided by the ERR of the ideal ranking of all judged documents.",
    formula=r"ERR@k \,/\, iERR@k",
    source="Chapelle and others (2009); Sakai and Song (2011)",
    scale_note="in general not on an interval scale: on one topic it is ERR times a constant",
    elsewhere={"NTCIREVAL": "nERR@k with gains='linear'"},
    expectation="stop",
)
class NormalisedExpectedReciprocalRank(_ERRMeasure):
    """ERR divided by that of the ideal ranking."""

    def values(self, judged: JudgedRuns) -> Floats:
        ideal = get_ideal_ranking(judged, self.gains, cutoff=self.cutoff)
        max_gain = find_highest_gain(judged, self.gains, self.max_grade, ideal, str(self))
        stop = compute_stopping_probabilities(ideal, max_gain)
        return divide(super().values(judged), ideal.total(self.score_stop(stop, ideal.rank)))


@measure(
    "iRBU",
    summary="Expected utility p^r of the rank r at which a user is satisfied and stops.",
    formula=r"\sum_r p^r R_r \prod_{i<r} (1 - R_i), \quad R_i = \frac{g_i}{g_{max} + 1}",
    source="Sakai and Zeng (2019), from the rank-biased utility of Amigó and others (2018)",
    family="user models",
    needs="graded or binary judgments",
    scale_note="in general not on an interval scale: gains depend on the documents above",
    elsewhere={"NTCIREVAL": "iRBU@k (option -rbup)"},
    expectation="stop",
)
class IntentwiseRankBiasedUtility(Measure):
    """Intentwise rank-biased utility: ERR, with p^r in place of the reciprocal rank.

    With `gains='exponential'` the satisfaction probability is that of ERR, (2^g - 1) / 2^max_grade.
    """

    p: float = parameter(
        0.99,
        POSITIVE_PROBABILITY,
        "proportion of the utility that remains after each document read",
    )
    gains: Gain = NONNEGATIVE_GAINS
    max_grade: int | str | None = MAX_GRADE_OR_TOPIC

    def compute_utility(self, rank: Any) -> Any:
        return self.p**rank

    def values(self, judged: JudgedRuns) -> Floats:
        rows = select_gains(judged, self.gains)
        stop = cache_stopping_probabilities(self, judged, rows)
        return rows.total(stop * rows.map_ranks(self.compute_utility))


_WEIGHTED = r"\sum_r W(r) \, g_r, \quad C(i) = "
_SOURCE = "Azzopardi and others (2021), equation ({})"


class SatisfiedModel(UserModel, scale_note=SPACING_NOTE):
    """Base class of models of users who stop when satisfied, or at any rank out of impatience."""

    def compute_patience(self, rank: Any) -> Any:
        """Return V', the probability that users who are never satisfied read a rank; 1 here."""
        return rank**0

    def find_satisfaction(self, gains: Floats) -> Floats:
        """Return the probability that a gain satisfies the user; by default the gain itself."""
        return gains

    def continuation(self, page: Page) -> Floats:
        patience = divide_views(self.compute_patience, page.gains.shape[1])
        return np.asarray(patience * (1.0 - self.find_satisfaction(page.gains)))

    def sum_exactly(self, judged: JudgedRuns, end: int | None, *, is_filled: bool) -> Expectations:
        end = end or DEFAULT_MAX_RANK
        rows = self.select_special_rows(judged, is_filled=is_filled, end=end)
        fill_gain = self.find_max_gain(judged) if is_filled else 0.0
        # u: probability that a rank without a row does not satisfy.
        u = 1.0 - float(self.find_satisfaction(np.array([fill_gain]))[0])
        patience = np.asarray(self.compute_patience(list_ranks(end)))
        # tails[r], r from 0 to end + 1: the sum of V'(i) u^(i - r - 1) over the ranks i > r.
        sums = [*accumulate(patience[::-1].tolist(), lambda below, v: v + u * below)]
        tails = np.array([0.0, 0.0, *sums])[::-1]
        powers = u ** np.arange(float(end + 1))
        continuation = rows.cumulate_products(1.0 - self.find_satisfaction(rows.gains))
        # Probability that none of the ranks without a row above each row satisfies.
        fill_factor = powers[rows.rank - rows.row_numbers]
        views = patience[rows.rank - 1] * rows.get_previous(continuation, 1.0) * fill_factor
        next_rank = rows.get_next(rows.rank, end + 1)
        interval = tails[rows.rank] - powers[next_rank - rows.rank - 1] * tails[next_rank - 1]
        filled_depth = rows.total(continuation * fill_factor * interval)
        first_rank = rows.get_firsts(rows.rank, end + 1)
        filled_depth += tails[0] - powers[first_rank - 1] * tails[first_rank - 1]
        depth = filled_depth + rows.total(views)
        total = fill_gain * filled_depth + rows.total(rows.gains * views)
        return Expectations(total, depth, depth)


class _SatisfiedAtCutoff(SatisfiedModel, at_usage="required"):
    @property
    def max_rank(self) -> int | None:
        return self.cutoff


@measure(
    "NERR8",
    summary="Gain per document of a user who reads the top k until satisfied.",
    formula=_WEIGHTED + r"1 - g_i \text{ for } i < k, \text{ then } 0",
    source=_SOURCE.format(8),
    elsewhere={"cwl_eval": "EU of NERR-EQ8@k=...", "ir_measures": "NERR8@k"},
)
class NERR8(_SatisfiedAtCutoff):
    """User model of ERR with a cutoff."""


@measure(
    "NERR9",
    summary="Gain per document of a user who reads the top k until satisfied or tired.",
    formula=_WEIGHTED + r"\frac{i}{i + 1} (1 - g_i) \text{ for } i < k, \text{ then } 0",
    source=_SOURCE.format(9),
    elsewhere={"cwl_eval": "EU of NERR-EQ9@k=...", "ir_measures": "NERR9@k"},
)
class NERR9(_SatisfiedAtCutoff):
    """User model with the discount of ERR: 1/i is the probability V' of reading rank i."""

    def compute_patience(self, rank: Any) -> Any:
        return 1 / rank


@measure(
    "NERR10",
    summary="Gain per document of a user of RBP who stops when satisfied.",
    formula=_WEIGHTED + r"p \, (1 - g_i)",
    source=_SOURCE.format(10),
    elsewhere={"cwl_eval": "EU of NERR-EQ10@phi=...", "ir_measures": "NERR10(p=...)"},
)
class NERR10(SatisfiedModel):
    """User model of RBP with satisfaction."""

    p: float = parameter(
        0.9,
        OPEN_PROBABILITY,
        "probability that a user who is not satisfied continues to the next document",
    )

    def compute_patience(self, rank: Any) -> Any:
        return self.p ** (rank - 1)


@measure(
    "NERR11",
    summary="Gain per document of a user of INSQ who stops when satisfied.",
    formula=_WEIGHTED + r"\left( \frac{i + 2T - 1}{i + 2T} \right)^2 (1 - g_i)",
    source=_SOURCE.format(11),
    elsewhere={"cwl_eval": "EU of NERR-EQ11@T=...", "ir_measures": "NERR11(T=...)"},
)
class NERR11(SatisfiedModel):
    """User model of INSQ with satisfaction."""

    T: float = parameter(1.0, GAIN_TARGET, "target gain: the total gain that the user wants")

    def compute_patience(self, rank: Any) -> Any:
        return compute_insq_views(self.T, rank)
