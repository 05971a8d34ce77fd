"""Precision and recall of the ranking, and measures derived from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.scale_types import Scale
from cranfield.base.spec import integer, number, optional, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import divide
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import (
    MAX_GRADE,
    Gain,
    GainMeasure,
    find_max_grade,
    get_ideal_ranking,
    make_gain_check,
    select_gains,
)

REL = integer(0)
REL_DOC = "lowest grade that counts as relevant"
SPACING_NOTE = "in general not on an interval scale: its values are not equally spaced"
_BINARY_NOTE = "on an interval scale for binary relevance and a fixed cutoff (Ferrante et al. 2019)"


def find_divisor(measure: Any, recall_base: Any) -> Any:
    """Return the divisor of sums over relevant documents, as `denominator` sets it."""
    is_limited = measure.denominator == "min" and measure.cutoff is not None
    return np.minimum(recall_base, measure.cutoff) if is_limited else recall_base


class RelevanceMeasure(Measure):
    """Base class of measures with a lowest relevant grade."""

    rel: int = parameter(1, REL, REL_DOC)


class CountMeasure(RelevanceMeasure):
    """Base class of measures of counts: retrieved, relevant, and relevant retrieved."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        """Compute scores from counts of documents; arrays of fractions give exact scores."""
        raise NotImplementedError

    def values(self, judged: JudgedRuns) -> Floats:
        n_hits, n_relevant = judged.relevant(self.rel).n_rows, judged.recall_base(self.rel)
        return np.asarray(self.score_counts(n_hits, judged.n_retrieved, n_relevant), np.float64)


class CountAtCutoff(
    CountMeasure,
    family="precision and recall",
    at_usage="required",
    scale=Scale.INTERVAL,
    is_monotone=True,
    ignores_order=True,
    expectation="documents",
):
    """Base class of measures of the number of relevant documents in the top k."""


@measure(
    "P",
    aliases=("Precision",),
    summary="Proportion of relevant documents among the top k.",
    formula=r"P@k = \frac{1}{k} \sum_{r=1}^{k} [g_r \ge \mathit{rel}]",
    source="Cleverdon (1967); van Rijsbergen (1979)",
    scale_note=_BINARY_NOTE,
    elsewhere={"trec_eval": "P_k", "ir_measures": "P@k", "ranx": "precision@k"},
    is_linear=True,
)
class Precision(CountAtCutoff):
    """Precision at a cutoff; the divisor is the cutoff, even if the list is shorter."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return n_hits / (self.cutoff or 1)


@measure(
    "R",
    aliases=("Recall",),
    summary="Proportion of the relevant documents that are in the top k.",
    formula=r"R@k = \frac{1}{RB} \sum_{r=1}^{k} [g_r \ge \mathit{rel}]",
    source="Cleverdon (1967); van Rijsbergen (1979)",
    scale_note=_BINARY_NOTE + ", but not over topics of different recall bases",
    elsewhere={"trec_eval": "recall_k", "ir_measures": "R@k", "ranx": "recall@k"},
)
class Recall(CountAtCutoff):
    """Recall at a cutoff; 0 for a topic without relevant documents."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return divide(n_hits, n_relevant)


class _GainSumMeasure(
    GainMeasure,
    family="precision and recall",
    source="Kekäläinen and Järvelin (2002); Ferrante, Ferro and Pontarollo (2019), section 4.2",
    scale_note="on an interval scale for the measure's own order of rankings if gains are equally"
    " spaced; for the set-based total order of Ferrante, Ferro and Pontarollo (2019) not even on an"
    " ordinal scale with graded relevance, except for the shortest runs",
    at_usage="required",
    is_monotone=True,
    ignores_order=True,
    expectation="documents",
):
    def has_equal_weights(self) -> bool:
        return True


@measure(
    "gP",
    aliases=("GeneralisedPrecision",),
    summary="Graded precision: gain of the top k, divided by the highest gain of k documents.",
    formula=r"gP@k = \frac{1}{k} \sum_{r=1}^{k} \frac{g_r}{g_{max}}",
    is_linear=True,
)
class GeneralisedPrecision(_GainSumMeasure):
    """Generalised precision; shorter lists, too, are divided by the highest gain of k documents."""

    max_grade: int | None = MAX_GRADE

    def values(self, judged: JudgedRuns) -> Floats:
        max_grade = find_max_grade(judged, self.max_grade, str(self))
        max_total = np.array(self.gains.find_max_gain(max_grade) * float(self.cutoff or 1))
        rows = select_gains(judged, self.gains)
        return divide(rows.total(rows.gains), max_total)


@measure(
    "gR",
    aliases=("GeneralisedRecall",),
    summary="Graded recall: gain of the top k, divided by the gain of all judged documents.",
    formula=r"gR@k = \frac{\sum_{r=1}^{k} g_r}{\sum_{d} g_d}",
)
class GeneralisedRecall(_GainSumMeasure):
    """Generalised recall; 0 for a topic without gain."""

    def values(self, judged: JudgedRuns) -> Floats:
        ideal = get_ideal_ranking(judged, self.gains)
        rows = select_gains(judged, self.gains)
        return divide(rows.total(rows.gains), ideal.total(ideal.gains))


@measure(
    "NCG",
    aliases=("nCG",),
    summary="Normalised cumulated gain: gain of the top k, divided by the gain of the ideal top k.",
    formula=r"\frac{\sum_{r=1}^{k} g_r}{\sum_{r=1}^{k} g^*_r}",
    source="Järvelin and Kekäläinen (2002)",
)
class NormalisedCumulatedGain(_GainSumMeasure):
    """Normalised cumulated gain: nDCG without a discount; 0 for a topic without gain."""

    def values(self, judged: JudgedRuns) -> Floats:
        ideal = get_ideal_ranking(judged, self.gains, cutoff=self.cutoff)
        rows = select_gains(judged, self.gains)
        return divide(rows.total(rows.gains), ideal.total(ideal.gains))


@measure(
    "RelP",
    summary="Precision at k, divided by the highest precision that the recall base allows.",
    formula=r"\frac{1}{\min(k, RB)} \sum_{r=1}^{k} [g_r \ge \mathit{rel}]",
    source="trec_eval, measure relative_P",
    scale_note=_BINARY_NOTE + ", but not over topics of different recall bases",
    elsewhere={"trec_eval": "relative_P_k"},
)
class RelativePrecision(CountAtCutoff):
    """Relative precision, also called capped recall or R-cap."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return divide(n_hits, np.minimum(n_relevant, self.cutoff or 1))


_TWO_VALUES_NOTE = "on an interval scale, as it has only two values"


@measure(
    "Success",
    aliases=("HitRate",),
    summary="Whether there is a relevant document in the top k.",
    formula=r"\max_{r \le k} [g_r \ge \mathit{rel}]",
    source="trec_eval, measure success",
    scale_note=_TWO_VALUES_NOTE,
    elsewhere={"trec_eval": "success_k", "ir_measures": "Success@k", "ranx": "hit_rate@k"},
    expectation="stop",
)
class Success(CountAtCutoff):
    """1 if any of the top k is relevant, else 0; its mean is the success or hit rate."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return n_hits > 0


@measure(
    "Complete",
    aliases=("Completeness",),
    summary="Whether all relevant documents are in the top k.",
    formula=r"[RB > 0 \land R@k = 1]",
    source="van Rijsbergen (1979), recall",
    scale_note=_TWO_VALUES_NOTE,
    expectation="",
)
class Complete(CountAtCutoff):
    """1 if recall at the cutoff is 1, else 0; a topic without relevant documents scores 0."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return (n_hits == n_relevant) & (n_relevant > 0)


@measure(
    "Rprec",
    aliases=("RPrec",),
    summary="Precision at the recall base, where precision equals recall; or at a multiple of it.",
    formula=r"\frac{1}{c} \sum_{r=1}^{c} [g_r \ge \mathit{rel}],"
    r" \quad c = \lfloor m \cdot RB + 0.9 \rfloor",
    source="Buckley and Voorhees (2005)",
    parameter_sources={"multiple": "trec_eval"},
    at_usage="none",
    scale=Scale.INTERVAL,
    scale_note="on an interval scale for binary relevance on one topic, but not over topics of"
    " different recall bases",
    elsewhere={"trec_eval": "Rprec, Rprec_mult_m", "ir_measures": "Rprec", "ranx": "r-precision"},
    beyond_length="how many relevant documents the topic has",
    family="precision and recall",
    expectation="documents",
)
class RPrecision(RelevanceMeasure):
    """R-precision; with `multiple` it is Rprec_mult, rounded as in trec_eval."""

    multiple: float | None = parameter(
        None,
        optional(number(0, 1e6, excludes_low=True)),
        "multiple of the recall base RB at which precision is computed; by default 1",
    )

    def find_cutoffs(self, recall_base: Ints) -> Ints:
        """Return the cutoff c for each recall base."""
        multiple = 1.0 if self.multiple is None else self.multiple
        return np.asarray(np.floor(multiple * recall_base + 0.9), dtype=np.int64)

    def values(self, judged: JudgedRuns) -> Floats:
        cutoffs = self.find_cutoffs(judged.recall_base(self.rel))
        hits = judged.relevant(self.rel)
        return divide(hits.where(hits.rank <= hits.at(cutoffs)).n_rows, cutoffs)


@measure(
    "RR",
    aliases=("MRR",),
    summary="One over the rank of the first relevant document.",
    formula=r"1 / \min\{r : g_r \ge \mathit{rel}\}",
    source="Kantor and Voorhees (2000)",
    scale_note="not on an interval scale for cutoffs above 2: its values are not equally spaced"
    " (Ferrante et al. 2021)",
    elsewhere={
        "trec_eval": "recip_rank",
        "ir_measures": "RR (RR@k breaks ties by ascending document id)",
        "ranx": "mrr",
    },
    is_monotone=True,
    family="precision and recall",
    expectation="stop",
)
class ReciprocalRank(RelevanceMeasure):
    """Reciprocal rank; 0 when no relevant document is retrieved (in the top k)."""

    def score_rank(self, rank: Any) -> Any:
        return 1 / rank

    def values(self, judged: JudgedRuns) -> Floats:
        hits = judged.relevant(self.rel)
        return hits.find_maxima(self.score_rank(hits.rank))


@measure(
    "FirstRank",
    aliases=("MeanRank",),
    summary="Rank of the first relevant document, or k + 1 if none is in the top k.",
    formula=r"\min(\{r \le k : g_r \ge \mathit{rel}\} \cup \{k + 1\})",
    source="Cooper (1968): the search length for one document, plus 1",
    at_usage="required",
    range=(1.0, float("inf")),
    lower_is_better=True,
    scale=Scale.INTERVAL,
    scale_note="on an interval scale, as scores are the integers from 1 to k + 1",
    family="precision and recall",
    expectation="stop",
)
class FirstRank(RelevanceMeasure):
    """Rank of the first relevant document; its mean is the mean rank of known-item search.

    The cutoff is required so that short runs have no advantage: a run without a relevant document
    in the top k scores k + 1, even if it has fewer than k documents.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        hits = judged.relevant(self.rel)
        return hits.get_firsts(hits.rank, (self.cutoff or 1) + 1).astype(np.float64)


_check_betas = make_gain_check(
    "a mapping of grades >= 0 to numbers above 1, such as {1: 3, 2: 2}",
    is_valid=lambda pairs: all(grade >= 0 and beta > 1 for grade, beta in pairs),
)


@measure(
    "WRR",
    aliases=("WeightedRR",),
    summary="Reciprocal rank of the first relevant document, increased according to its grade.",
    formula=r"\frac{1}{r_1 - 1 / \beta_{g(r_1)}}, \quad r_1 = \min\{r : g_r \ge \mathit{rel}\},"
    r" \quad \beta_g = g_{max} - g + 2",
    source="Eguchi and others (2003)",
    range=(0.0, float("inf")),
    family="precision and recall",
    needs="graded or binary judgments",
    scale_note=SPACING_NOTE,
)
class WeightedReciprocalRank(RelevanceMeasure):
    r"""Weighted reciprocal rank; 0 when no relevant document is retrieved (in the top k).

    As :math:`\beta > 1`, the first relevant document is always the one with the largest
    :math:`1 / (r - 1/\beta)`. By default the highest grade has :math:`\beta = 2`, the next one 3,
    and so on, so that the maximum is 2, at rank 1. A relevant grade that is not listed in a mapping
    has an infinite beta: its rank counts as in RR.
    """

    betas: Gain | None = parameter(
        None,
        optional(_check_betas),
        "mapping of grades to betas above 1; a smaller beta gives a higher score; by default beta"
        " is 2 for the highest grade, 3 for the next lower grade, and so on",
    )
    max_grade: int | None = MAX_GRADE

    @property
    def uses_highest_grade(self) -> bool:
        return super().uses_highest_grade and self.betas is None

    def score_rank(self, rank: Any, grades: NDArray[Any], max_grade: int) -> Any:
        if self.betas is None:
            return 1 / (rank - 1 / (max_grade - grades + 2))
        return 1 / (rank - divide(np.array(1), self.betas.look_up_gains(grades)))

    def values(self, judged: JudgedRuns) -> Floats:
        hits, max_grade = judged.relevant(self.rel), 0
        if self.betas is None:
            max_grade = find_max_grade(judged, self.max_grade, str(self))
        values = self.score_rank(hits.rank, hits.grade, max_grade)
        return hits.total(np.where(hits.row_numbers == 1, values, 0.0))
