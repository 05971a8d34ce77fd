r"""Measures of NTCIR for graded relevance, based on the blended ratio (Sakai 2013, section 2.2).

The blended ratio combines precision and normalised cumulated gain. With :math:`C(r)` relevant
documents down to rank r, whose total gain is :math:`cg(r)`, and :math:`cg^*(r)` the gain of the
ideal ranking,

.. math:: BR(r) = \frac{C(r) + \beta \, cg(r)}{r + \beta \, cg^*(r)} \in [0, 1]

(equation 11). A document below grade `rel` is not relevant and has no gain. The blended ratio is
precision if :math:`\beta = 0`; the larger :math:`\beta`, the smaller the penalty for relevant
documents far down the ranking.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.spec import (
    POSITIVE_PROBABILITY,
    choice,
    number,
    optional,
    parameter,
    to_fraction,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, divide
from cranfield.measures.base import measure
from cranfield.measures.gains import (
    MAX_EXPONENT,
    MAX_GRADE_OR_TOPIC,
    NONNEGATIVE_GAINS,
    Gain,
    check_nonnegative,
    get_ideal_ranking,
    has_even_gain_sums,
    list_grades,
    look_up_total,
    select_relevant_rows,
    sum_by_topic,
)
from cranfield.measures.ranked.precision import SPACING_NOTE, RelevanceMeasure, find_divisor
from cranfield.measures.users.stopping import cache_stopping_probabilities


class _BlendedMeasure(
    RelevanceMeasure,
    family="blended ratio",
    needs="graded or binary judgments",
    scale_note=SPACING_NOTE,
):
    beta: float = parameter(
        1.0, number(0, 1e6), "weight of gain relative to precision in the blended ratio"
    )
    gains: Gain = NONNEGATIVE_GAINS

    @property
    def needs_ideal(self) -> bool:
        """True unless beta is 0, with which the blended ratio is precision."""
        return self.beta > 0

    def blend(self, n_relevant: Any, gain: Any, rank: Any, ideal_gain: Any) -> Any:
        """Return the blended ratio at a rank, from the counts and gains cumulated down to it."""
        return (n_relevant + self.beta * gain) / (rank + self.beta * ideal_gain)

    def _select_hits(self, judged: JudgedRuns) -> Rows:
        return select_relevant_rows(judged, self.rel, self.gains)

    def _get_ideal_ranking(self, judged: JudgedRuns) -> Rows:
        return get_ideal_ranking(judged, self.gains, self.rel)

    def _blend_hits(self, judged: JudgedRuns, hits: Rows) -> Floats:
        def compute() -> Floats:
            ideal = self._get_ideal_ranking(judged)
            ideal_gain, _ = look_up_total(ideal, ideal.cumulated, hits.topic, hits.rank)
            return np.asarray(self.blend(hits.row_numbers, hits.cumulated, hits.rank, ideal_gain))

        return judged.view(("blended", self.rel, self.beta, self.gains), compute)

    def _find_first_best_rank(self, hits: Rows) -> Ints:
        """Return r_p for each row: the rank of the first hit of the ranking's highest grade."""
        best_hits = hits.where(hits.grade == hits.at(hits.find_maxima(hits.grade)))
        return hits.at(best_hits.get_firsts(best_hits.rank, 0))


@measure(
    "Q",
    aliases=("QMeasure",),
    summary="Average precision for graded relevance: the blended ratio at each relevant document.",
    formula=r"\frac{1}{\min(k, RB)} \sum_{r \in \mathcal{R}} BR(r),"
    r" \quad BR(r) = \frac{C(r) + \beta \, cg(r)}{r + \beta \, cg^*(r)}",
    source="Sakai (2004); Sakai (2005)",
    parameter_sources={"denominator='min'": "Sakai (2013), equation (13)"},
    elsewhere={"NTCIREVAL": "Q-measure, Q@k"},
    expectation="pairs",
)
class QMeasure(_BlendedMeasure):
    """Q-measure, which equals `AP(denominator='min')` if beta is 0."""

    denominator: str = parameter(
        "min",
        choice("R", "min"),
        "divisor of the sum: 'R' is the number of relevant documents RB, 'min' is min(k, RB)",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        hits = self._select_hits(judged)
        divisor = find_divisor(self, judged.recall_base(self.rel))
        return divide(hits.total(self._blend_hits(judged, hits)), divisor)


@measure(
    "RMeasure",
    summary="Blended ratio at the recall base: R-precision for graded relevance.",
    formula=r"BR(RB) = \frac{C(RB) + \beta \, cg(RB)}{RB + \beta \, cg^*(RB)}",
    source="Sakai (2004); Sakai (2005)",
    at_usage="none",
    scale_note="on an interval scale on one topic if the values of 1 + beta * gain are equally"
    " spaced, as for binary relevance",
    beyond_length="how many relevant documents the topic has",
)
class RMeasure(_BlendedMeasure):
    """R-measure; 1 if all RB relevant documents of a topic are at ranks 1 to RB, in any order."""

    def is_evenly_spaced(self, max_grade: int) -> bool:
        """Return True if sums of 1 + beta * gain over relevant documents are equally spaced."""
        if max_grade > MAX_EXPONENT:
            return False
        grades = list_grades(max_grade)
        gains: Any = self.gains.as_fractions().compute_gains(grades)
        terms: Any = (grades >= self.rel) * (1 + to_fraction(self.beta) * gains)
        return has_even_gain_sums(terms, None)

    def values(self, judged: JudgedRuns) -> Floats:
        hits, ideal = self._select_hits(judged), self._get_ideal_ranking(judged)
        recall_base = judged.recall_base(self.rel)
        top_hits = hits.where(hits.rank <= hits.at(recall_base))
        # At most RB documents have a gain, so the ideal ranking has all of it at rank RB.
        gain, ideal_gain = top_hits.total(top_hits.gains), ideal.total(ideal.gains)
        ratios = self.blend(top_hits.n_rows, gain, np.maximum(recall_base, 1), ideal_gain)
        return np.where(recall_base > 0, ratios, 0.0)


@measure(
    "OMeasure",
    summary="Blended ratio at the first relevant document: reciprocal rank for graded relevance.",
    formula=r"BR(r_1), \quad r_1 = \min\{r : g_r \ge \mathit{rel}\}",
    source="Sakai (2006b)",
    elsewhere={"NTCIREVAL": "O-measure"},
)
class OMeasure(_BlendedMeasure):
    """O-measure; 0 when no relevant document is retrieved (in the top k)."""

    def values(self, judged: JudgedRuns) -> Floats:
        hits = self._select_hits(judged)
        return hits.total(np.where(hits.row_numbers == 1, self._blend_hits(judged, hits), 0.0))


@measure(
    "PMeasure",
    summary="Blended ratio at the first retrieved document of the highest retrieved grade.",
    formula=r"BR(r_p), \quad r_p = \min\{r : g_r = \max_i g_i \ge \mathit{rel}\}",
    source="Sakai (2006b)",
    elsewhere={"NTCIREVAL": "P-measure"},
)
class PMeasure(_BlendedMeasure):
    """P-measure; the highest grade is that of the top k, not that of the judgments."""

    def values(self, judged: JudgedRuns) -> Floats:
        hits = self._select_hits(judged)
        is_first_best = hits.rank == self._find_first_best_rank(hits)
        return hits.total(np.where(is_first_best, self._blend_hits(judged, hits), 0.0))


@measure(
    "PPlus",
    summary="Mean blended ratio at the relevant documents down to the first retrieved document of"
    " the highest retrieved grade.",
    formula=r"\frac{1}{C(r_p)} \sum_{r \in \mathcal{R}, r \le r_p} BR(r),"
    r" \quad r_p = \min\{r : g_r = \max_i g_i\}",
    source="Sakai (2006b)",
    elsewhere={"NTCIREVAL": "P-plus"},
)
class PPlusMeasure(_BlendedMeasure):
    """P+, for a user who looks for one highly relevant document."""

    def values(self, judged: JudgedRuns) -> Floats:
        hits = self._select_hits(judged)
        is_counted = hits.rank <= self._find_first_best_rank(hits)
        ratios = np.where(is_counted, self._blend_hits(judged, hits), 0.0)
        return divide(hits.total(ratios), hits.where(is_counted).n_rows)


@measure(
    "NCU",
    summary="Expected utility of users who stop at relevant documents, with unequal probabilities.",
    formula=r"\sum_{r \in \mathcal{R}} p(r) \, BR(r), \quad p(r) = \frac{g_r}{\sum g^*}"
    r" \text{ or } \frac{\gamma^{C(r) - 1}}{\sum_{j=1}^{RB} \gamma^{j-1}}",
    source="Sakai and Robertson (2008)",
    elsewhere={"NTCIREVAL": "NCUgu,P; NCUgu,BR; NCUrb,P; NCUrb,BR"},
)
class NormalisedCumulativeUtility(_BlendedMeasure):
    """Normalised cumulative utility.

    The stopping probability at a relevant document is proportional to its gain, or another weight
    of its grade (`stopping='graded'`); or to gamma^(n - 1) at the n-th relevant document
    (`stopping='rank-biased'`). Users who would stop at a document that is not retrieved (in the top
    k) have utility 0. With `gamma=1` all stopping probabilities are equal, and the score is
    `Q(denominator='R')` for utility `BR`, and AP for utility `P`.
    """

    stopping: str = parameter(
        "rank-biased",
        choice("graded", "rank-biased"),
        "stopping probability at relevant documents: 'graded', proportional to a weight of the"
        " grade; 'rank-biased', decreasing by the factor gamma with each relevant document",
    )
    stops: Gain | None = parameter(
        None,
        optional(check_nonnegative),
        "weight of a grade with stopping='graded'; by default the gain of the grade",
    )
    gamma: float = parameter(
        0.95,
        POSITIVE_PROBABILITY,
        "ratio of the stopping probabilities at a relevant document and at the one before, with"
        " stopping='rank-biased'",
    )
    utility: str = parameter(
        "BR", choice("BR", "P"), "utility at a rank: 'BR' is the blended ratio, 'P' precision"
    )

    @property
    def needs_ideal(self) -> bool:
        """True unless the utility is precision."""
        return self.utility != "P" and super().needs_ideal

    def weigh_stop(self, n_relevant: Any) -> Any:
        """Return the weight of stopping at the n-th relevant document, relative to the first."""
        return self.gamma ** (n_relevant - 1)

    def values(self, judged: JudgedRuns) -> Floats:
        hits = self._select_hits(judged)
        precision = hits.row_numbers / hits.rank
        utility = precision if self.utility == "P" else self._blend_hits(judged, hits)
        if self.stopping == "graded":
            weights = self.stops or self.gains
            judgments = judged.judgments
            is_relevant = judgments.grade >= max(self.rel, judgments.judged_from)
            judgment_weights = np.where(is_relevant, weights.compute_gains(judgments.grade), 0.0)
            total = hits.total(weights.compute_gains(hits.grade) * utility)
            return divide(total, sum_by_topic(judgments, judgment_weights))
        divisor = judged.recall_base(self.rel)
        if self.gamma < 1:
            # 1 + gamma + ... + gamma^(RB - 1), which is RB for gamma = 1.
            divisor = -np.expm1(divisor * np.log(self.gamma)) / (1 - self.gamma)
        return divide(hits.total(self.weigh_stop(hits.row_numbers) * utility), divisor)


@measure(
    "EBR",
    summary="Expected blended ratio at the rank where a user is satisfied and stops.",
    formula=r"\sum_{r \in \mathcal{R}} BR(r) \, R_r \prod_{i<r} (1 - R_i),"
    r" \quad R_i = \frac{g_i}{g_{max} + 1}",
    source="Sakai and Zeng (2021)",
    elsewhere={"NTCIREVAL": "EBR, EBR@k"},
)
class ExpectedBlendedRatio(_BlendedMeasure):
    """EBR: users stop as in ERR, and the blended ratio replaces the reciprocal rank.

    With `gains='exponential'` the satisfaction probability is that of ERR, (2^g - 1) / 2^max_grade.
    """

    max_grade: int | str | None = MAX_GRADE_OR_TOPIC

    def values(self, judged: JudgedRuns) -> Floats:
        hits = self._select_hits(judged)
        probabilities = cache_stopping_probabilities(self, judged, hits)
        return hits.total(probabilities * self._blend_hits(judged, hits))
