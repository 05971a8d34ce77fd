"""Average precision, binary and graded, and the interpolated precision-recall curve."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.spec import choice, number, optional, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import divide
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import (
    NONNEGATIVE_GAINS,
    Gain,
    get_ideal_ranking,
    make_gain_check,
    select_gains,
)
from cranfield.measures.ranked.precision import RelevanceMeasure, find_divisor

_AP_NOTE = "not on an interval scale for the total orders of Ferrante et al. (2019)"
INFAP_EPSILON = 1e-5
"""Smoothing of proportions of relevant documents, as in trec_eval."""


class _AveragePrecisionBase(RelevanceMeasure, family="average precision", is_monotone=True):
    denominator: str = parameter(
        "R",
        choice("R", "min"),
        "divisor of the sum: 'R' is the number of relevant documents RB, 'min' is min(k, RB)",
    )

    def average_at_rank(self, n_hits: Any, rank: Any) -> Any:
        return n_hits / rank

    def values(self, judged: JudgedRuns) -> Floats:
        hits = judged.relevant(self.rel)
        precision = self.average_at_rank(hits.row_numbers, hits.rank)
        return divide(hits.total(precision), find_divisor(self, judged.recall_base(self.rel)))


@measure(
    "AP",
    aliases=("MAP",),
    summary="Mean over the relevant documents of the precision at their rank; 0 if not retrieved.",
    formula=r"\frac{1}{RB} \sum_{r \in \mathcal{R}} P@r",
    source="Buckley and Voorhees (2005)",
    parameter_sources={"denominator='min'": "Sakai (2013), equation (10)"},
    scale_note=_AP_NOTE,
    elsewhere={"trec_eval": "map, map_cut_k", "ir_measures": "AP", "ranx": "map"},
    expectation="pairs",
)
class AveragePrecision(_AveragePrecisionBase):
    """Average precision (Buckley and Voorhees); its mean over topics is MAP."""


@measure(
    "GMAP",
    summary="Average precision, aggregated over topics by the geometric mean.",
    formula=r"\exp \frac{1}{n} \sum_t \ln \max(AP_t, 10^{-5})",
    source="Voorhees (2004); Robertson (2006)",
    parameter_sources={"denominator='min'": "Sakai (2013), equation (10)"},
    aggregate="geometric",
    scale_note=_AP_NOTE + "; a geometric mean requires a ratio scale",
    elsewhere={"trec_eval": "gm_map"},
)
class GeometricAveragePrecision(_AveragePrecisionBase):
    """GMAP: AP for each topic; in the geometric mean, a score below 1e-5 counts as 1e-5."""


def _count_required_hits(recall: float, recall_base: Ints, rounding: str) -> Ints:
    """Return the number of relevant documents of each topic that a level of recall requires."""
    if rounding != "up":
        offset = 0.9 if rounding == "trec_eval-9" else 0.5
        return np.asarray(np.floor(recall * recall_base + offset).astype(np.int64))
    # Exactly the smallest m with m / RB >= recall; 0.7 is 7/10, not the float below it.
    level = Fraction(str(recall))
    bases, positions = np.unique(recall_base, return_inverse=True)
    n_hits = np.array([ceil(level * int(base)) for base in bases], dtype=np.int64)
    return n_hits[positions].reshape(recall_base.shape)


class _InterpolatedMeasure(
    RelevanceMeasure,
    family="average precision",
    source="van Rijsbergen (1979); Buckley and Voorhees (2005)",
    beyond_length="all judgments of the topic",
):
    rounding: str = parameter(
        "up",
        choice("up", "trec_eval-9", "trec_eval-10"),
        "rounding of the number of relevant documents that a level of recall requires: 'up', as"
        " defined; 'trec_eval-9' or 'trec_eval-10', as in that version of trec_eval",
    )

    def _interpolate_precision(self, judged: JudgedRuns, recall: float) -> Floats:
        """Return the highest precision at a level of recall or beyond, in each ranking."""
        hits = judged.relevant(self.rel)
        n_required = _count_required_hits(recall, judged.recall_base(self.rel), self.rounding)
        n_skipped = np.broadcast_to(np.maximum(n_required - 1, 0), judged.shape).T.ravel()
        cells = np.flatnonzero(n_skipped < hits.sizes)
        max_precision = np.zeros(hits.sizes.size)
        if cells.size:
            # Slices from the hit that reaches the level to the last hit of each cell; every second
            # slice of reduceat, between two cells, is ignored.
            starts = hits.starts[cells] + n_skipped[cells]
            stops = hits.starts[cells] + hits.sizes[cells]
            bounds = np.stack([starts, stops], axis=1).ravel()
            # The last slice needs no stop, which would be out of bounds.
            bounds = bounds[:-1] if bounds[-1] == hits.cell.size else bounds
            max_precision[cells] = np.maximum.reduceat(hits.row_numbers / hits.rank, bounds)[::2]
        return max_precision.reshape(judged.shape[::-1]).T


@measure(
    "IPrec",
    summary="Interpolated precision: the highest precision at a level of recall or beyond.",
    formula=r"iP(R_j) = \max_{R \ge R_j} P(R)",
    at_parameter="recall",
    at_usage="required",
    elsewhere={"trec_eval": "iprec_at_recall_x", "ir_measures": "IPrec@x"},
)
class InterpolatedPrecision(_InterpolatedMeasure):
    """Interpolated precision at a level of recall."""

    recall: float | None = parameter(None, optional(number(0, 1)), "level of recall")

    def values(self, judged: JudgedRuns) -> Floats:
        return self._interpolate_precision(judged, self.recall or 0.0)


@measure(
    "AP11",
    summary="Mean of the interpolated precision at recall 0, 0.1, ..., 1.",
    formula=r"\frac{1}{11} \sum_{i \in \{0, 0.1, \dots, 1\}} iP(i)",
    elsewhere={"trec_eval": "11pt_avg"},
)
class ElevenPointAveragePrecision(_InterpolatedMeasure):
    """11-point average precision, the measure of the early TRECs."""

    def values(self, judged: JudgedRuns) -> Floats:
        precisions = [self._interpolate_precision(judged, i / 10) for i in range(11)]
        return np.asarray(np.sum(precisions, axis=0) / 11.0)


@measure(
    "infAP",
    aliases=("InfAP",),
    summary="AP inferred from the judgments of a random sample of the pool.",
    formula=r"\frac{1}{RB} \sum_{r \in \mathcal{R}} \left( \frac1r + \frac{r-1}{r}"
    r" \frac{|d_{pool}|}{r-1} \frac{|rel| + \epsilon}{|rel| + |nonrel| + 2 \epsilon} \right)",
    source="Yilmaz and Aslam (2006), as in trec_eval",
    family="average precision",
    needs="judgments of a random sample of the pool; a grade below 0 marks documents not sampled",
    elsewhere={"trec_eval": "infAP", "ir_measures": "infAP"},
    beyond_grades="which documents are judged",
)
class InferredAveragePrecision(RelevanceMeasure):
    """Inferred average precision.

    Of the documents above rank r, d_pool are in the pool; of these, rel are judged relevant and
    nonrel judged not relevant. The score is AP, up to smoothing, if every retrieved document of
    the pool is judged.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        pool = judged.documents
        hit_rows = np.flatnonzero(pool.grade >= self.rel)
        hits = judged.relevant(self.rel)
        # Counts of documents of the pool above each relevant document.
        n_above, n_relevant = pool.row_numbers[hit_rows] - 1, hits.row_numbers - 1
        is_unsampled = pool.grade < 0
        n_unsampled = pool.cumulate_counts(is_unsampled)[hit_rows] if is_unsampled.any() else 0
        n_judged = n_above - n_unsampled
        proportion = (n_relevant + INFAP_EPSILON) / (n_judged + 2 * INFAP_EPSILON)
        precision = 1.0 / hits.rank + n_above / hits.rank * proportion
        precision = np.where(hits.rank == 1, 1.0, precision)
        return divide(hits.total(precision), judged.recall_base(self.rel))


_FAMILY = "average precision"
_NEEDS = "graded or binary judgments"
_GRADED_NOTE = "in general not on an interval scale: for binary relevance it is average precision"
_DENOMINATOR = parameter(
    "min",
    choice("R", "min"),
    "divisor: the sum for the ideal ranking of all relevant documents ('R'), or for"
    " the first k documents of the ideal ranking ('min')",
)

_check_thresholds = make_gain_check(
    "'uniform', 'linear' or a mapping of grades (at least 1) to weights of at least 0, not all 0,"
    " such as {1: 0.3, 2: 0.7}",
    *("uniform", "linear"),
    is_valid=lambda pairs: (
        all(grade >= 1 and weight >= 0 for grade, weight in pairs)
        and any(weight for _, weight in pairs)
    ),
)


@measure(
    "GAP",
    aliases=("GradedAP",),
    summary="Sum of precisions, expected over users who differ in the lowest grade they consider"
    " relevant, divided by that of the ideal ranking.",
    formula=r"\frac{\sum_r \frac1r \sum_{i \le r} G(\min(g_i, g_r))}"
    r"{\sum_j \pi_j \min(k, |\{d : g_d \ge j\}|)}, \quad G(g) = \sum_{j=1}^{g} \pi_j",
    source="Robertson, Kanoulas and Yilmaz (2010)",
    family=_FAMILY,
    needs=_NEEDS,
    scale_note=_GRADED_NOTE,
    elsewhere={"NTCIREVAL": "GAP, GAP@k (option -gap) with thresholds='linear'"},
)
class GradedAveragePrecision(Measure):
    r"""Graded average precision; pi_j is the proportion of users with lowest relevant grade j.

    The score is the mean of AP(rel=j) over j, weighted by pi_j times the divisor of AP(rel=j).
    Weights pi_j need not sum to 1: `uniform` gives all grades the same weight; `linear` is
    proportional to the grade, as in NTCIREVAL; a grade that a mapping does not list has weight 0.
    With `denominator='min'` (the default) the ideal ranking scores 1 at any cutoff.
    """

    thresholds: Gain = parameter(
        Gain("uniform"),
        _check_thresholds,
        "distribution of the lowest grade that users consider relevant: 'uniform',"
        " 'linear' (proportional to the grade), or a mapping of grades to weights",
    )
    denominator: str = _DENOMINATOR

    def sum_weights(self, grade: int) -> Any:
        """Sum the weights of the lowest relevant grades up to a grade."""
        if isinstance(self.thresholds.kind, tuple):
            return sum(weight for level, weight in self.thresholds.kind if level <= grade)
        return grade * (grade + 1) // 2 if self.thresholds.kind == "linear" else grade

    def values(self, judged: JudgedRuns) -> Floats:
        total = np.zeros(judged.shape)
        divisor = np.zeros((judged.shape[0], 1))
        previous_grade = 0
        grades = np.unique(judged.judgments.grade)
        for grade in grades[grades >= 1].tolist():
            # Thresholds between two grades of the judgments select the same documents.
            weight = self.sum_weights(grade) - self.sum_weights(previous_grade)
            previous_grade = grade
            hits = judged.relevant(grade)
            total += weight * hits.total(hits.row_numbers / hits.rank)
            divisor += weight * find_divisor(self, judged.recall_base(grade))
        return divide(total, divisor)


@measure(
    "gAP",
    aliases=("GeneralisedAP",),
    summary="Sum over relevant documents of the mean gain down to their rank, divided by the sum"
    " for the ideal ranking.",
    formula=r"\frac{\sum_{r \in \mathcal{R}} cg(r) / r}{\sum_{r=1}^{\min(k, RB)} cg^*(r) / r}",
    source="Kishida (2005)",
    family=_FAMILY,
    needs=_NEEDS,
    scale_note=_GRADED_NOTE,
)
class KishidaAveragePrecision(Measure):
    r"""Generalised average precision; documents with a gain above 0 are relevant.

    With `denominator='min'` (the default) the sum of the ideal ranking ends at the cutoff, so that
    the ideal ranking scores 1.
    """

    gains: Gain = NONNEGATIVE_GAINS
    denominator: str = _DENOMINATOR

    def average_at_rank(self, gain: Any, rank: Any) -> Any:
        return gain / rank

    def values(self, judged: JudgedRuns) -> Floats:
        rows = select_gains(judged, self.gains)
        cutoff = self.cutoff if self.denominator == "min" else None
        ideal = get_ideal_ranking(judged, self.gains, cutoff=cutoff)
        total = rows.total(self.average_at_rank(rows.cumulated, rows.rank))
        return divide(total, ideal.total(self.average_at_rank(ideal.cumulated, ideal.rank)))
