"""Measures for incomplete judgments: by preference, or inferred from a sample of the pool.

A sample is either stratified (every judgment has a stratum, and a grade below 0 marks a document of
the pool that was not sampled), or has a known inclusion probability for every document. Strata and
inclusion probabilities are the columns `stratum` and `inclusion` of the judgments: see the formats
`xqrels` and `prels` of :func:`cranfield.read_qrels`.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import POSITIVE_PROBABILITY, choice, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, divide
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import (
    MAX_GRADE,
    NONNEGATIVE_GAINS,
    Gain,
    find_max_grade,
    get_ideal_ranking,
    select_gains,
    sum_by_topic,
)
from cranfield.measures.ranked.average_precision import INFAP_EPSILON
from cranfield.measures.ranked.precision import SPACING_NOTE, RelevanceMeasure


class _Bpref(
    RelevanceMeasure, family="incomplete judgments", beyond_grades="which documents are judged"
):
    form: str = parameter(
        "trec_eval",
        choice("trec_eval", "R", "N", "relative"),
        "divisor of the number of judged non-relevant documents above a relevant one, on a topic"
        " with R relevant and N non-relevant documents: 'trec_eval', min(R, N); 'R' (bpref_R); 'N'"
        " (bpref_N); 'relative', the number of judged documents above (bpref_relative)",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        # In the condensed list all documents above are judged.
        hits = judged.condense().relevant(self.rel)
        n_above = hits.rank - hits.row_numbers
        n_relevant = judged.recall_base(self.rel)
        n_nonrelevant = judged.nonrelevant_base(self.rel)
        if self.form == "N":
            n_misplaced, divisor = n_above, hits.at(n_nonrelevant)
        elif self.form == "relative":
            # By definition a document at rank 1 adds nothing.
            n_misplaced = np.where(hits.rank == 1, 1, n_above)
            divisor = np.maximum(hits.rank - 1, 1)
        else:
            n_misplaced = np.minimum(n_above, hits.at(n_relevant))
            limit = np.minimum(n_relevant, n_nonrelevant)
            divisor = hits.at(limit if self.form == "trec_eval" else n_relevant)
        return divide(hits.total(1.0 - divide(n_misplaced, divisor)), n_relevant)


@measure(
    "Bpref",
    aliases=("BPref", "bpref"),
    summary="Preference of relevant documents over judged non-relevant ones.",
    formula=r"\frac{1}{R} \sum_{r \in \mathcal{R}} 1 - \frac{\min(n_r, R)}{\min(N, R)}",
    source="Buckley and Voorhees (2004)",
    parameter_sources={
        "form='trec_eval'": "trec_eval",
        "form='N'": "Sakai (2007a)",
        "form='relative'": "Sakai (2007a)",
    },
    elsewhere={
        "trec_eval": "bpref",
        "ir_measures": "Bpref",
        "ranx": "bpref",
        "NTCIREVAL": "bpref, bpref_R, bpref_N, bpref_relative (option -j)",
    },
)
class BinaryPreference(_Bpref):
    """Bpref, by the number n_r of judged non-relevant documents above each relevant document.

    R and N are the numbers of documents judged relevant and not relevant. In the form `relative` a
    document at rank 1 adds nothing; with the divisor r instead of r - 1, the score would be AP of
    the condensed list, `AP(judged_only=True)`.
    """


@measure(
    "GMBpref",
    summary="Bpref, aggregated over topics by the geometric mean.",
    formula=r"\exp \frac{1}{n} \sum_t \ln \max(\mathit{bpref}_t, 10^{-5})",
    source="trec_eval, measure gm_bpref",
    aggregate="geometric",
    elsewhere={"trec_eval": "gm_bpref"},
)
class GeometricBinaryPreference(_Bpref):
    """Bpref for each topic; in the geometric mean, a score below 1e-5 counts as 1e-5."""


@measure(
    "Rpref",
    aliases=("rpref",),
    summary="Preference of relevant documents over judged documents of lower gain, weighted by the"
    " difference of gains.",
    formula=r"\frac{1}{\sum g^*} \sum_{r \in \mathcal{R}} g_r \left(1 - \frac{1}{d_r}"
    r" \sum_{i < r, g_i < g_r} \frac{g_r - g_i}{g_r} \right), \quad d_r = r",
    source="De Beer and Moens (2006)",
    parameter_sources={"form='relative2'": "Sakai (2007a)"},
    family="incomplete judgments",
    needs="graded or binary judgments",
    scale_note=SPACING_NOTE,
    elsewhere={"NTCIREVAL": "rpref_N, rpref_relative, rpref_relative2 (option -j)"},
    beyond_grades="which documents are judged",
)
class GradedPreference(Measure):
    r"""rpref: the gain of each relevant document, reduced by documents of lower gain above it.

    Unjudged documents are removed from the ranking. For a relevant document at rank r, a document
    of lower gain above, at rank i, counts with the relative loss of gain :math:`(g_r - g_i) / g_r`.
    The parameter `form` sets the divisor :math:`d_r` of the sum of these losses:

    - `N`: the maximum of the sum for a document of the highest grade,
      :math:`d_r = \sum_d (1 - g_d / g_{max})` over all judged documents. With binary gains the
      score is bpref_N.
    - `relative`: the number of documents above, :math:`d_r = r - 1`. A document at rank 1 adds
      nothing, so that the ideal ranking scores less than 1.
    - `relative2`, the default: the rank, :math:`d_r = r`, with which the ideal ranking scores 1
      (Sakai 2007a). With binary gains the score is AP of the condensed list.
    """

    form: str = parameter(
        "relative2",
        choice("relative2", "relative", "N"),
        "divisor of the sum of losses of gain by documents above: 'relative2', the rank;"
        " 'relative', the number of documents above; 'N', the highest possible sum",
    )
    gains: Gain = NONNEGATIVE_GAINS
    max_grade: int | None = MAX_GRADE

    @property
    def uses_highest_grade(self) -> bool:
        return super().uses_highest_grade and self.form == "N"

    def values(self, judged: JudgedRuns) -> Floats:
        hits = select_gains(judged.condense(), self.gains)
        losses = _sum_losses(hits)
        ideal = get_ideal_ranking(judged, self.gains)
        ideal_gain = ideal.total(ideal.gains)
        if self.form == "N":
            max_grade = find_max_grade(judged, self.max_grade, str(self))
            max_gain = self.gains.find_max_gain(max_grade)
            n_judged = judged.judgments.count(judged.judgments.judged_from)
            penalty = divide(losses, hits.at(n_judged - ideal_gain / max_gain))
        elif self.form == "relative":
            # By definition a document at rank 1 adds nothing.
            penalty = np.where(hits.rank == 1, 1.0, divide(losses, hits.rank - 1))
        else:
            penalty = losses / hits.rank
        return divide(hits.total(hits.gains * (1.0 - penalty)), ideal_gain)


def _sum_losses(hits: Rows) -> Floats:
    """Sum, for each row, the relative losses of gain due to the documents above it."""
    gains = hits.gains
    # Documents above that are not among the rows have no gain: their relative loss is 1.
    losses: Floats = (hits.rank - hits.row_numbers).astype(np.float64)
    for level in np.unique(gains)[:-1]:
        n_above = hits.cumulate_counts(gains == level)
        losses += np.where(gains > level, n_above * (gains - level) / gains, 0.0)
    return losses


_STRATA_NEEDS = (
    "judgments of a stratified sample of the pool (column `stratum`); a grade below 0 marks"
    " documents not sampled"
)
_PRIOR = parameter(
    1 / 3,
    POSITIVE_PROBABILITY,
    "assumed probability of relevance in a stratum of which no document above the rank is"
    " sampled: 1/3 in sample_eval.pl, 1/2 in infAP of trec_eval",
)


class _EstimatedMeasure(
    Measure,
    family="incomplete judgments",
    inputs=("columns",),
    source="Yilmaz, Kanoulas and Aslam (2008), as in sample_eval.pl",
    scale_note="not known to be on an interval scale, as it is an estimate of a measure",
):
    """Base class of estimates of a measure from a sample of judgments."""


def _number_strata(judged: JudgedRuns, name: str) -> tuple[Ints, Floats]:
    """Return the stratum of each judgment, numbered over all topics, and its weight N_s / n_s."""
    judgments = judged.judgments
    # As text, so that labels of any type are comparable.
    labels = np.asarray(judged.column("stratum", name), str)
    _, label = np.unique(labels, return_inverse=True)
    pairs = judgments.topic * (label.max(initial=0) + 1) + label
    _, code = np.unique(pairs, return_inverse=True)
    n_documents = np.bincount(code)
    n_sampled = np.bincount(code[judgments.grade >= 0], minlength=n_documents.size)
    weight = divide(n_documents, n_sampled)
    return code, weight[code]


def _estimate_relevant_counts(
    pool: Rows, strata: Ints, rel: int, prior: float
) -> tuple[Floats, Floats]:
    """Return the expected number of relevant documents down to each row, and the increase there."""
    key = pool.cell * (strata.max(initial=0) + 1) + strata[pool.judgment]
    order = np.argsort(key, kind="stable")
    rows = Rows(key[order], pool.rank[order], pool.grade[order], pool.shape)
    is_sampled = rows.grade >= 0
    is_relevant = (rows.grade >= rel) & is_sampled

    def estimate(n_documents: Ints, n_relevant: Ints, n_sampled: Ints) -> Floats:
        divisor = n_sampled + INFAP_EPSILON / prior
        return np.asarray(n_documents * (n_relevant + INFAP_EPSILON) / divisor)

    n_relevant, n_sampled = rows.cumulate_counts(is_relevant), rows.cumulate_counts(is_sampled)
    numbers = rows.row_numbers
    estimate_at_row = estimate(numbers, n_relevant, n_sampled)
    estimate_above = estimate(numbers - 1, n_relevant - is_relevant, n_sampled - is_sampled)
    step = np.empty(key.size)
    step[order] = estimate_at_row - estimate_above
    # A row changes only the estimate of its own stratum, so the steps sum to the total over strata.
    return pool.cumulate(step), step


@measure(
    "xinfAP",
    summary="AP inferred from the judgments of a stratified sample of the pool.",
    formula=r"\frac{1}{\hat{R}} \sum_s \frac{N_s}{n_s} \sum_{r \in \mathcal{R}_s} \frac1r \left("
    r"1 + \sum_t d_t(r) \frac{|rel_t(r)| + \epsilon}{n_t(r) + \epsilon / p_0} \right),"
    r" \quad \hat{R} = \sum_s \frac{N_s}{n_s} |rel_s|",
    needs=_STRATA_NEEDS,
    elsewhere={"sample_eval.pl": "infAP (xinfAP@1000)"},
)
class ExtendedInferredAP(_EstimatedMeasure, RelevanceMeasure):
    r"""Extended inferred AP.

    Of the :math:`N_s` documents of stratum s, :math:`n_s` are sampled; above rank r there are
    :math:`d_t(r)` documents of stratum t, of which :math:`n_t(r)` are sampled; :math:`p_0` is
    `prior`. With one stratum and `prior=0.5` the score is infAP; if the whole pool is sampled it is
    AP, except for smoothing.
    """

    prior: float = _PRIOR

    def values(self, judged: JudgedRuns) -> Floats:
        pool = judged.documents
        strata, weight = _number_strata(judged, str(self))
        n_expected, step = _estimate_relevant_counts(pool, strata, self.rel, self.prior)
        is_relevant = (pool.grade >= self.rel) & (pool.grade >= 0)
        hits = pool.where(is_relevant)
        precision = (1.0 + (n_expected - step)[is_relevant]) / hits.rank
        total = hits.total(weight[hits.judgment] * precision)
        return divide(total, _estimate_recall_base(judged, weight, self.rel))


@measure(
    "infP",
    summary="Precision at k inferred from a stratified sample of the pool.",
    formula=r"\frac1k \sum_s d_s(k) \frac{|rel_s(k)| + \epsilon}{n_s(k) + \epsilon / p_0}",
    at_usage="required",
    needs=_STRATA_NEEDS,
    elsewhere={"sample_eval.pl": "iPk"},
)
class InferredPrecision(_EstimatedMeasure, RelevanceMeasure):
    """Inferred precision; the divisor is the cutoff, even for shorter lists; p_0 is `prior`."""

    prior: float = _PRIOR

    def values(self, judged: JudgedRuns) -> Floats:
        strata, _ = _number_strata(judged, str(self))
        _, step = _estimate_relevant_counts(judged.documents, strata, self.rel, self.prior)
        return judged.documents.total(step) / float(self.cutoff or 1)


@measure(
    "infNDCG",
    aliases=("infnDCG",),
    summary="nDCG inferred from the judgments of a stratified sample of the pool.",
    formula=r"\frac{1}{\widehat{iDCG}} \sum_s \frac{d_s(k)}{n_s(k)} \sum_{r \in s}"
    r" \frac{g_r}{\log_2(r + 1)}",
    range=(0.0, float("inf")),
    needs="graded " + _STRATA_NEEDS,
    elsewhere={"sample_eval.pl": "infNDCG (infNDCG@1000)"},
)
class InferredNDCG(_EstimatedMeasure):
    r"""Inferred nDCG; an estimate, which can be above 1.

    In each stratum the mean discounted gain of the sampled documents in the list estimates the mean
    of all :math:`d_s(k)` documents in the list. The ideal ranking is estimated, too: its number of
    documents of each gain is estimated from the sample and rounded. The ideal ranking ends at the
    cutoff.
    """

    gains: Gain = NONNEGATIVE_GAINS

    def values(self, judged: JudgedRuns) -> Floats:
        pool = judged.documents
        strata, weight = _number_strata(judged, str(self))
        n_strata = strata.max(initial=0) + 1
        groups, group = np.unique(pool.cell * n_strata + strata[pool.judgment], return_inverse=True)
        is_sampled = pool.grade >= 0
        gains = np.where(is_sampled, self.gains.compute_gains(pool.grade), 0.0)
        terms = gains / np.log2(pool.rank + 1)
        sample_dcg = np.bincount(group, weights=terms, minlength=groups.size)
        n_sampled = np.bincount(group[is_sampled], minlength=groups.size)
        dcg = divide(np.bincount(group) * sample_dcg, n_sampled)
        n_topics, n_systems = judged.shape
        cell_dcg = np.bincount(groups // n_strata, weights=dcg, minlength=n_topics * n_systems)
        return divide(cell_dcg.reshape(n_systems, n_topics).T, self._find_ideal_dcg(judged, weight))

    def _find_ideal_dcg(self, judged: JudgedRuns, weight: Floats) -> Floats:
        """Compute the DCG of the estimated ideal ranking of each topic; shape (topics, 1)."""
        judgments = judged.judgments
        gains = np.where(judgments.grade >= 0, self.gains.compute_gains(judgments.grade), 0.0)
        levels = np.unique(gains[gains > 0])[::-1]
        ends = np.zeros((levels.size + 1, judgments.n_topics), dtype=np.int64)
        for i, level in enumerate(levels):
            n_docs = sum_by_topic(judgments, np.where(gains == level, weight, 0.0))[:, 0]
            ends[i + 1] = ends[i] + np.floor(n_docs + 0.5)
        if self.cutoff is not None:
            ends = np.minimum(ends, self.cutoff)
        discounts = 1.0 / np.log2(np.arange(2, ends.max(initial=0) + 2))
        sums = np.concatenate([[0.0], np.cumsum(discounts)])[ends]
        dcg: Floats = levels @ np.diff(sums, axis=0)
        return dcg[:, None]


@measure(
    "statAP",
    aliases=("StatAP",),
    summary="AP estimated from a sample with a known inclusion probability for each document.",
    formula=r"\frac{1}{\hat{R}} \sum_{r \in \mathcal{R}} \frac{1}{\pi_r} \frac1r \left("
    r" 1 + \sum_{i \in \mathcal{R}, i < r} \frac{1}{\pi_i} \right),"
    r" \quad \hat{R} = \sum_{d \text{ relevant}} \frac{1}{\pi_d}",
    source="Aslam and Pavlu (2007)",
    range=(0.0, float("inf")),
    needs="judgments of a random sample, each with its inclusion probability (column `inclusion`)",
    elsewhere={"statAP_MQ_eval": "AP"},
)
class StatisticalAP(_EstimatedMeasure, RelevanceMeasure):
    r"""statAP; an estimate, which can be above 1.

    Documents that were judged but not sampled have inclusion probability 0 and count as unjudged.
    If documents are sampled independently, the sum and :math:`\hat{R}` are unbiased. If all
    probabilities are 1 the score is AP.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        inclusion = np.asarray(judged.column("inclusion", str(self)))
        if inclusion.dtype.kind not in "fiu":
            raise MeasureError(
                f"{self}: column `inclusion` must contain numbers, got {str(inclusion[0])!r}"
            )
        is_invalid = ~((inclusion >= 0) & (inclusion <= 1))
        if is_invalid.any():
            raise MeasureError(
                f"{self}: inclusion probabilities must be from 0 to 1, got"
                f" {inclusion[is_invalid][0]}"
            )
        weight = divide(np.ones(inclusion.size), inclusion)
        hits = judged.relevant(self.rel)
        hits = hits.where(inclusion[hits.judgment] > 0)
        hit_weight = weight[hits.judgment]
        precision = (1.0 + hits.cumulate(hit_weight) - hit_weight) / hits.rank
        total = hits.total(hit_weight * precision)
        return divide(total, _estimate_recall_base(judged, weight, self.rel))


def _estimate_recall_base(judged: JudgedRuns, weight: Floats, rel: int) -> Floats:
    """Estimate the number of relevant documents of each topic; shape (topics, 1)."""
    judgments = judged.judgments
    is_relevant = judgments.grade >= max(rel, 0, judgments.judged_from)
    return sum_by_topic(judgments, np.where(is_relevant, weight, 0.0))
