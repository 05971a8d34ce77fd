"""Measures for incomplete judgments: by preference, or inferred from a sample of the pool.

A sample is stratified (every judgment has a stratum, and a grade below 0 marks a document of the
pool that was not sampled), or every sampled document has a known inclusion probability.
Both come with the judgments, as columns `stratum` and `inclusion`: see the formats `xqrels` and
`prels` of :func:`cranfield.read_qrels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import POSITIVE_PROBABILITY, choice, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import (
    MAX_GRADE,
    POSITIVE_GAINS,
    Gain,
    gain_rows,
    highest_grade,
    ideal_rows,
)
from cranfield.measures.ranked.average_precision import INFAP_EPSILON
from cranfield.measures.ranked.precision import RelevanceMeasure


class _Bpref(
    RelevanceMeasure, family="incomplete judgments", beyond_grades="which documents are judged"
):
    form: str = parameter(
        "trec_eval",
        choice("trec_eval", "R", "N", "relative"),
        "'trec_eval' divides by min(R, N), 'R' and 'N' are Sakai's bpref_R and bpref_N,"
        " 'relative' divides by the number of documents above; a document at rank 1 adds nothing",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        # In the condensed list all documents above are judged.
        hits = judged.condensed().relevant(self.rel)
        above = hits.rank - hits.seen
        base = judged.recall_base(self.rel)
        nonrelevant = judged.nonrelevant_base(self.rel)
        if self.form == "N":
            misplaced, divisor = above, hits.at(nonrelevant)
        elif self.form == "relative":
            # The form's flaw: a document at rank 1 has nothing to be preferred to.
            misplaced, divisor = np.where(hits.rank == 1, 1, above), np.maximum(hits.rank - 1, 1)
        else:
            misplaced = np.minimum(above, hits.at(base))
            divisor = hits.at(np.minimum(base, nonrelevant) if self.form == "trec_eval" else base)
        return ratio(hits.total(1.0 - ratio(misplaced, divisor)), base)


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
    """Bpref: n_r judged non-relevant documents stand above; R and N are the judged counts.

    With r instead of r - 1 as its divisor, the form `relative` would be AP of the condensed list,
    `AP(judged_only=True)`.
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
    """Per topic it is bpref, and the mean over topics is geometric with a floor of 1e-5."""


@measure(
    "Rpref",
    aliases=("rpref",),
    summary=(
        "Preference of judged documents over less relevant ones, weighted by the"
        " difference of gains."
    ),
    formula=r"\frac{1}{\sum g^*} \sum_{r \in \mathcal{R}} g_r \left(1 - \frac{1}{d_r}"
    r" \sum_{i < r, g_i < g_r} \frac{g_r - g_i}{g_r} \right), \quad d_r = r",
    source="De Beer and Moens (2006)",
    parameter_sources={"form='relative2'": "Sakai (2007a)"},
    family="incomplete judgments",
    needs="graded or binary judgments",
    scale_note="not interval: the steps between ranks are unequal",
    elsewhere={"NTCIREVAL": "rpref_N, rpref_relative, rpref_relative2 (option -j)"},
    beyond_grades="which documents are judged",
)
class GradedPreference(Measure):
    r"""rpref: the gain of each relevant document, reduced by documents of lower gain above it.

    Unjudged documents are removed from the ranking. A document above counts by the proportion of
    the gain that it lacks. The form is the divisor of that sum:

    - `N`: its maximum for a document of the highest grade,
      :math:`d_r = \sum_d (1 - g_d / g_{max})` over all judged documents; binary, it is bpref_N.
    - `relative`: the number of documents above, :math:`d_r = r - 1`; a document at rank 1 adds
      nothing, so that the ideal ranking does not score 1.
    - `relative2`, the default: the rank, :math:`d_r = r`, which corrects this (Sakai 2007a);
      binary, it is AP of the condensed list.
    """

    form: str = parameter(
        "relative2",
        choice("relative2", "relative", "N"),
        (
            "divisor of the number of misplaced documents: 'relative2', the rank; 'relative',"
            " the number of documents above; 'N', the number of documents that could be"
            " misplaced"
        ),
    )
    gains: Gain = POSITIVE_GAINS
    max_grade: int | None = MAX_GRADE

    @property
    def uses_highest_grade(self) -> bool:
        return super().uses_highest_grade and self.form == "N"

    def values(self, judged: JudgedRuns) -> Floats:
        hits = gain_rows(judged.condensed(), self.gains)
        worth, misplaced = hits.gains, _misplaced_gain(hits)
        best = ideal_rows(judged, self.gains)
        if self.form == "N":
            highest = highest_grade(judged, self.max_grade, str(self))
            max_gain = self.gains.max_gain(highest)
            judgments = judged.judgments
            counted = judgments.count(judgments.judged_from)
            share = ratio(misplaced, hits.at(counted - best.total(best.gains) / max_gain))
        elif self.form == "relative":
            # By the definition a document at rank 1 has nothing to be preferred to.
            share = np.where(hits.rank == 1, 1.0, ratio(misplaced, hits.rank - 1))
        else:
            share = misplaced / hits.rank
        return ratio(hits.total(worth * (1.0 - share)), best.total(best.gains))


def _misplaced_gain(hits: Rows) -> Floats:
    """Sum, for each row, the proportions of its gain that the documents above lack."""
    gains = hits.gains
    # Every other document above has no gain at all.
    out: Floats = (hits.rank - hits.seen).astype(np.float64)
    for level in np.unique(gains)[:-1]:
        above = hits.counted(gains == level)
        out += np.where(gains > level, above * (gains - level) / gains, 0.0)
    return out


_STRATA = (
    "judgments of a stratified sample of the pool (column `stratum`); a grade below"
    " 0 marks documents not sampled"
)
_PRIOR = parameter(
    1 / 3,
    POSITIVE_PROBABILITY,
    "probability of relevance in a stratum with no sampled document above: 1/3 in"
    " sample_eval.pl, 1/2 in trec_eval's infAP",
)

_ABOUT: dict[str, Any] = {
    "family": "incomplete judgments",
    "inputs": ("columns",),
    "scale_note": "not known to be interval: an estimate of a measure",
}


@dataclass(frozen=True, eq=False)
class _Strata:
    """Strata of the judged runs."""

    code: Ints  # stratum of each judgment, numbered over all topics
    weight: Floats  # documents of its stratum for each that is sampled; shape (judgments,)
    sampled: NDArray[np.bool_]  # whether each judgment is sampled


def _strata(judged: JudgedRuns, name: str) -> _Strata:
    """Number the strata and weigh their documents; `name` is the measure that needs them."""
    judgments = judged.judgments
    # As text, so that labels of any types can be distinguished.
    _, label = np.unique(np.asarray(judged.column("stratum", name), str), return_inverse=True)
    pairs = judgments.topic * (label.max(initial=0) + 1) + label
    _, code = np.unique(pairs, return_inverse=True)
    sampled = judgments.grade >= 0
    size = np.bincount(code)
    weight = ratio(size, np.bincount(code[sampled], minlength=size.size))
    return _Strata(code, weight[code], sampled)


def _expected_relevant(
    pool: Rows, strata: _Strata, rel: int, prior: float
) -> tuple[Floats, Floats]:
    """Return the expected number of relevant documents up to each row, and the step there."""
    key = pool.cell * (strata.code.max(initial=0) + 1) + strata.code[pool.judgment]
    order = np.argsort(key, kind="stable")
    rows = Rows(key[order], pool.rank[order], pool.grade[order], pool.shape)
    relevant = (rows.grade >= rel) & (rows.grade >= 0)
    sampled = rows.grade >= 0

    def share(documents: Ints, n_relevant: Ints, n_sampled: Ints) -> Floats:
        out: Floats = documents * (n_relevant + INFAP_EPSILON) / (n_sampled + INFAP_EPSILON / prior)
        return out

    n_relevant, n_sampled = rows.counted(relevant), rows.counted(sampled)
    after = share(rows.seen, n_relevant, n_sampled)
    before = share(rows.seen - 1, n_relevant - relevant, n_sampled - sampled)
    step = np.empty(key.size)
    step[order] = after - before
    # Only the stratum of a row changes there, so that the steps add up to the sum over strata.
    return pool.running(step), step


@measure(
    "xinfAP",
    summary="AP inferred from a stratified sample of the pool that was judged.",
    formula=r"\frac{1}{\hat{R}} \sum_s \frac{N_s}{n_s} \sum_{r \in \mathcal{R}_s} \frac1r \left("
    r"1 + \sum_t d_t(r) \frac{|rel_t(r)| + \epsilon}{n_t(r) + \epsilon / p_0} \right),"
    r" \quad \hat{R} = \sum_s \frac{N_s}{n_s} |rel_s|",
    source="Yilmaz, Kanoulas and Aslam (2008), as in sample_eval.pl",
    needs=_STRATA,
    elsewhere={"sample_eval.pl": "infAP is xinfAP@1000"},
    **_ABOUT,
)
class ExtendedInferredAP(RelevanceMeasure):
    r"""Extended inferred AP.

    Of the :math:`N_s` documents of a stratum :math:`n_s` are sampled; above rank r stand
    :math:`d_t(r)` of stratum t, of which :math:`n_t(r)` are sampled. With one stratum and
    `prior=0.5` it is infAP; when all of the pool is sampled it is AP, except for the smoothing.
    """

    prior: float = _PRIOR

    def values(self, judged: JudgedRuns) -> Floats:
        pool = judged.documents
        strata = _strata(judged, str(self))
        expected, step = _expected_relevant(pool, strata, self.rel, self.prior)
        relevant = (pool.grade >= self.rel) & (pool.grade >= 0)
        hits = pool.where(relevant)
        precision = (1.0 + (expected - step)[relevant]) / hits.rank
        total = hits.total(strata.weight[hits.judgment] * precision)
        return ratio(total, _relevant(judged, strata.weight, self.rel))


@measure(
    "infP",
    summary="Precision at k inferred from a stratified sample of the pool.",
    formula=r"\frac1k \sum_s d_s(k) \frac{|rel_s(k)| + \epsilon}{n_s(k) + \epsilon / p_0}",
    source="Yilmaz, Kanoulas and Aslam (2008), as in sample_eval.pl",
    at_usage="required",
    needs=_STRATA,
    elsewhere={"sample_eval.pl": "iPk"},
    **_ABOUT,
)
class InferredPrecision(RelevanceMeasure):
    """Inferred precision; a shorter list is divided by the cutoff all the same."""

    prior: float = _PRIOR

    def values(self, judged: JudgedRuns) -> Floats:
        strata = _strata(judged, str(self))
        _, step = _expected_relevant(judged.documents, strata, self.rel, self.prior)
        return judged.documents.total(step) / float(self.cutoff or 1)


@measure(
    "infNDCG",
    aliases=("infnDCG",),
    summary="nDCG inferred from a stratified sample of the pool that was judged.",
    formula=r"\frac{1}{\widehat{iDCG}} \sum_s \frac{d_s(k)}{n_s(k)} \sum_{r \in s}"
    r" \frac{g_r}{\log_2(r + 1)}",
    source="Yilmaz, Kanoulas and Aslam (2008), as in sample_eval.pl",
    range=(0.0, float("inf")),
    needs=_STRATA + "; graded",
    elsewhere={"sample_eval.pl": "infNDCG is infNDCG@1000"},
    **_ABOUT,
)
class InferredNDCG(Measure):
    r"""Inferred nDCG; an estimate, which can be above 1.

    In each stratum the mean discounted gain of the sampled documents in the list stands for that of
    all :math:`d_s(k)` of them. The ideal ranking has for each gain the number of documents that is
    estimated from the sample, rounded, and ends at the cutoff.
    """

    gains: Gain = POSITIVE_GAINS

    def values(self, judged: JudgedRuns) -> Floats:
        pool = judged.documents
        strata = _strata(judged, str(self))
        n_strata = strata.code.max(initial=0) + 1
        groups, group = np.unique(
            pool.cell * n_strata + strata.code[pool.judgment], return_inverse=True
        )
        sampled = pool.grade >= 0
        worth = np.where(sampled, self.gains.for_grades(pool.grade), 0.0) / np.log2(pool.rank + 1)
        gain = np.bincount(group, weights=worth, minlength=groups.size)
        n_sampled = np.bincount(group[sampled], minlength=groups.size)
        of_group = ratio(np.bincount(group) * gain, n_sampled)
        topics, systems = judged.shape
        flat = np.bincount(groups // n_strata, weights=of_group, minlength=topics * systems)
        return ratio(flat.reshape(systems, topics).T, self._ideal(judged, strata))

    def _ideal(self, judged: JudgedRuns, strata: _Strata) -> Floats:
        """Compute the DCG of the estimated ideal ranking of each topic; shape (topics, 1)."""
        judgments = judged.judgments
        gains = np.where(strata.sampled, self.gains.for_grades(judgments.grade), 0.0)
        levels = np.unique(gains[gains > 0])[::-1]
        counts = [
            np.bincount(
                judgments.topic,
                weights=np.where(gains == level, strata.weight, 0.0),
                minlength=judgments.topics,
            )
            for level in levels
        ]
        ends = np.zeros((levels.size + 1, judgments.topics), dtype=np.int64)
        if counts:
            ends[1:] = np.cumsum(np.floor(np.array(counts) + 0.5), axis=0)
        if self.cutoff is not None:
            ends = np.minimum(ends, self.cutoff)
        discounts = 1.0 / np.log2(np.arange(2, ends.max(initial=0) + 2))
        sums = np.concatenate([[0.0], np.cumsum(discounts)])[ends]
        out: Floats = levels @ np.diff(sums, axis=0) if levels.size else np.zeros(judgments.topics)
        return out[:, None]


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
    **_ABOUT,
)
class StatisticalAP(RelevanceMeasure):
    r"""statAP; an estimate, which can be above 1.

    Documents judged without being sampled have an inclusion probability of 0 and count as unjudged.
    When documents are sampled independently, the sum and :math:`\hat{R}` are unbiased. With all
    probabilities 1 it is AP.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        chances = np.asarray(judged.column("inclusion", str(self)))
        if chances.dtype.kind not in "fiu":
            raise MeasureError(f"{self}: inclusion probabilities must be numbers")
        is_invalid = ~((chances >= 0) & (chances <= 1))
        if is_invalid.any():
            raise MeasureError(
                f"{self}: inclusion probabilities must be from 0 to 1, got {chances[is_invalid][0]}"
            )
        weight = ratio(np.ones(chances.size), chances)
        hits = judged.relevant(self.rel)
        hits = hits.where(chances[hits.judgment] > 0)
        worth = weight[hits.judgment]
        precision = (1.0 + hits.running(worth) - worth) / hits.rank
        return ratio(hits.total(worth * precision), _relevant(judged, weight, self.rel))


def _relevant(judged: JudgedRuns, weight: Floats, rel: int) -> Floats:
    """Estimate the number of relevant documents of each topic; shape (topics, 1)."""
    judgments = judged.judgments
    relevant = judgments.grade >= max(rel, 0, judgments.judged_from)
    out: Floats = np.bincount(
        judgments.topic, weights=np.where(relevant, weight, 0.0), minlength=judgments.topics
    ).astype(np.float64)
    return out[:, None]
