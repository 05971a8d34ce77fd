"""Measures of answers: nuggets, one click access, citations.

In the TREC RAG track an assessor labels whether a citation supports its sentence fully, partially,
or not at all, :math:`s(c)` being 1, 1/2 or 0 (Thakur et al. 2025). ALCE has binary labels: whether
the citations of a sentence support it jointly, and which of them are redundant (Gao et al. 2023).

An answer of length l contains the nuggets :math:`V` of the gold nuggets :math:`V^*`, each with a
weight w(v). Recall is weighted, except that of `NuggetRecall`. As incorrect nuggets are not
labelled, precision allows each matched nugget a number of characters, and the remaining text of the
answer is noise.

In one click access an assessor marks the end pos(v) of each gold nugget (iUnit) in the answer. A
nugget has a weight w(v) and a vital string of |vs(v)| characters, its shortest text. The ideal
answer is the pseudo minimal output (PMO), the concatenated vital strings in descending order of
weight, and of equal weights in ascending order of length; :math:`pos^*(v)` is the end of each.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Bools, Floats
from cranfield.base.spec import choice, flag, number, parameter
from cranfield.collection.judged.rows import divide
from cranfield.measures.base import measure
from cranfield.measures.ranked.sets import f_measure
from cranfield.measures.texts import TextMeasure, divide_by_topic, warn_of_zeros
from cranfield.texts.answers import JudgedAnswers
from cranfield.texts.citations import JudgedCitations
from cranfield.texts.gold import Nuggets

_CITATIONS = "citations"
_SUPPORT_SOURCE = "Thakur et al. (2025)"
_ALCE_SOURCE = "Gao et al. (2023)"
_NO_CITATIONS = "no answer has a citation"
_ALCE_NEEDS = (
    "labels whether the citations of a sentence jointly support it, and, for each citation, whether"
    " the other citations do"
)

_SUPPORT_NEEDS = "degree of support by each citation; all sentences, even without citations"


class _SupportMeasure(TextMeasure, family=_CITATIONS, needs=_SUPPORT_NEEDS):
    """Base class of measures of degrees of support, 1, 1/2 or 0."""

    data_class = JudgedCitations
    counted: str = parameter(
        "first",
        choice("first", "all"),
        "citations of a sentence that count: 'first', the only one judged at TREC 2024, or 'all'",
    )

    def _is_counted(self, judged: JudgedCitations) -> Bools:
        return judged.position == 1 if self.counted == "first" else judged.position > 0

    def _compute_precision(self, judged: JudgedCitations) -> Floats:
        is_counted = self._is_counted(judged)
        cell = judged.cell[judged.sentence[is_counted]]
        n_citations = judged.total(cell, np.ones(len(cell)))
        warn_of_zeros(self, judged, n_citations.sum(axis=1), _NO_CITATIONS)
        return divide(judged.total(cell, judged.support[is_counted]), n_citations)

    def _compute_recall(self, judged: JudgedCitations) -> Floats:
        is_counted = self._is_counted(judged)
        support = np.zeros(len(judged.cell))
        np.maximum.at(support, judged.sentence[is_counted], judged.support[is_counted])
        return divide(judged.total(judged.cell, support), judged.n_sentences)


@measure(
    "CitationPrecision",
    summary="Mean support of the citations for their sentences.",
    formula=r"\frac{1}{|C|} \sum_{c \in C} s(c)",
    source=_SUPPORT_SOURCE,
    needs="degree of support by each citation",
    elsewhere={"TREC RAG": "weighted precision"},
)
class CitationPrecision(_SupportMeasure):
    """Weighted precision; 0 for an answer without citations, where it is undefined."""

    def values(self, judged: JudgedCitations) -> Floats:
        return self._compute_precision(judged)


@measure(
    "CitationRecall",
    summary="Mean support of the sentences by their citations.",
    formula=r"\frac{1}{|S|} \sum_{j \in S} \max_{c \in C_j} s(c)",
    source=_SUPPORT_SOURCE,
    elsewhere={"TREC RAG": "weighted recall"},
)
class CitationRecall(_SupportMeasure):
    """Weighted recall; a sentence without citations counts as unsupported.

    If several citations of a sentence count (`counted='all'`), its support is the highest of them.
    """

    def values(self, judged: JudgedCitations) -> Floats:
        return self._compute_recall(judged)


@measure(
    "CitationF",
    summary="F-measure of citation precision and citation recall.",
    formula=r"\frac{(1 + \beta^2) P R}{\beta^2 P + R}",
    source=_SUPPORT_SOURCE + " for precision and recall",
)
class CitationF(_SupportMeasure):
    """F-measure of weighted precision and recall."""

    beta: float = parameter(1.0, number(0, 1e6), "weight of recall relative to precision")

    def values(self, judged: JudgedCitations) -> Floats:
        return np.asarray(
            f_measure(self._compute_precision(judged), self._compute_recall(judged), self.beta)
        )


class _ALCEMeasure(TextMeasure, family=_CITATIONS, needs=_ALCE_NEEDS, source=_ALCE_SOURCE):
    data_class = JudgedCitations

    def _compute_joint_support(self, judged: JudgedCitations) -> Floats:
        """Return 1 for each sentence that its citations jointly support, else 0."""
        n_citations = judged.n_citations
        is_supported = np.zeros(len(judged.cell))
        is_supported[judged.sentence] = judged.support >= 1
        # By default the joint support of a single citation is its own support.
        support = np.where((n_citations == 1) & np.isnan(judged.joint), is_supported, judged.joint)
        unlabelled_rows = np.flatnonzero(np.isnan(support) & (n_citations > 1))
        if unlabelled_rows.size:
            fact = "the column `joint`: whether all citations of a sentence support it jointly"
            raise judged.make_missing_error(self, fact, int(unlabelled_rows[0]))
        return np.where(n_citations > 0, support, 0.0)


@measure(
    "ALCERecall",
    summary="Proportion of the sentences that their citations jointly support.",
    formula=r"\frac{1}{|S|} \sum_{j \in S} [C_j \models j]",
    elsewhere={"ALCE": "citation_rec"},
)
class ALCERecall(_ALCEMeasure):
    """Citation recall of ALCE; a sentence without citations is not supported."""

    def values(self, judged: JudgedCitations) -> Floats:
        return divide(
            judged.total(judged.cell, self._compute_joint_support(judged)), judged.n_sentences
        )


@measure(
    "ALCEPrecision",
    summary="Proportion of the citations that support their sentence and are not redundant.",
    formula=r"\frac{1}{|C|} \sum_{j \in S} \sum_{c \in C_j} [C_j \models j] \,"
    r" \left(1 - [c \not\models j] \, [C_j \setminus \{c\} \models j]\right)",
    elsewhere={"ALCE": "citation_prec"},
)
class ALCEPrecision(_ALCEMeasure):
    """Citation precision of ALCE.

    Citations support a sentence if all of them jointly do. A citation is redundant if it does not
    support the sentence alone, and the other citations do. Only full support (1) counts as support.
    The score is 0 for an answer without citations.
    """

    def values(self, judged: JudgedCitations) -> Floats:
        joint_support = self._compute_joint_support(judged)[judged.sentence]
        has_others = judged.n_citations[judged.sentence] > 1
        may_be_redundant = has_others & (joint_support > 0) & (judged.support < 1)
        unlabelled_rows = np.flatnonzero(may_be_redundant & np.isnan(judged.is_supported_without))
        if unlabelled_rows.size:
            fact = (
                "the column `without`: for each citation that does not support its sentence alone,"
                " whether the other citations do"
            )
            raise judged.make_missing_error(self, fact, int(judged.sentence[unlabelled_rows[0]]))
        is_redundant = may_be_redundant & (judged.is_supported_without > 0)
        cell = judged.cell[judged.sentence]
        n_useful = judged.total(cell, np.where(is_redundant, 0.0, joint_support))
        n_citations = judged.total(cell, np.ones(len(cell)))
        warn_of_zeros(self, judged, n_citations.sum(axis=1), _NO_CITATIONS)
        return divide(n_useful, n_citations)


_ALLOWANCE = parameter(100.0, number(0, 1e12), "characters allowed for each matched nugget")


class NuggetMeasure(TextMeasure, family="nuggets"):
    """Base class of measures of matched nuggets; partial support is not a match."""

    data_class = JudgedAnswers


@measure(
    "NuggetRecall",
    summary="Proportion of the gold nuggets that the answer contains.",
    formula=r"\frac{|V|}{|V^*|}",
    source="Voorhees (2003)",
    needs="gold nuggets",
    elsewhere={"NTCIREVAL": "Recall"},
)
class NuggetRecall(NuggetMeasure):
    """Nugget recall with equal weights of nuggets."""

    def values(self, judged: JudgedAnswers) -> Floats:
        nuggets = judged.nuggets
        n_nuggets = nuggets.total(np.ones(len(nuggets.ids)))[:, None]
        return divide(judged.total(judged.full_support), n_nuggets)


def compute_weighted_recall(measure: NuggetMeasure, judged: JudgedAnswers) -> Floats:
    """Divide the weight of the matched nuggets by that of all nuggets (Sakai 2013, equation 40)."""
    nuggets = judged.nuggets
    totals = judged.total(judged.full_support * judged.get_nugget_values(nuggets.weight))
    return divide_by_topic(
        measure, judged, totals, nuggets.total(nuggets.weight), "all nuggets have weight 0"
    )


def compute_allowed_precision(judged: JudgedAnswers, allowance: float) -> Floats:
    """Compute the proportion of the answer that is not noise (Sakai 2013, equation 41)."""
    n_matched = judged.total(judged.full_support)
    length = np.where(judged.is_answered, judged.length, 0.0)
    noise = divide(np.maximum(0.0, length - allowance * n_matched), length)
    return np.where((length > 0) | (n_matched > 0), 1.0 - noise, 0.0)


@measure(
    "WRecall",
    summary="Proportion of the weight of the gold nuggets that the answer contains.",
    formula=r"\frac{\sum_{v \in V} w(v)}{\sum_{v \in V^*} w(v)}",
    source="Lin and Demner-Fushman (2006)",
    needs="weights of nuggets, or labels 'vital' or 'okay'",
    elsewhere={"NTCIREVAL": "W-recall"},
)
class WRecall(NuggetMeasure):
    """Weighted nugget recall; the recall of TREC if vital nuggets weigh 1 and okay nuggets 0."""

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "weight")
        return compute_weighted_recall(self, judged)


@measure(
    "NuggetPrecision",
    summary="Proportion of the answer's length within the characters allowed for its nuggets.",
    formula=r"1 - \frac{\max(0, l - \mathit{allow})}{l}, \quad"
    r" \mathit{allow} = \mathit{allowance} \cdot |V|",
    source="Voorhees (2003)",
    needs="lengths of answers",
)
class NuggetPrecision(NuggetMeasure):
    """Nugget precision with an allowance; 0 for an empty answer without matched nuggets."""

    allowance: float = _ALLOWANCE

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "length")
        return compute_allowed_precision(judged, self.allowance)


@measure(
    "NuggetF",
    summary="F-measure of weighted nugget recall and of precision with an allowance.",
    formula=r"\frac{(\beta^2 + 1) \mathit{Prec}_{allow} \, \mathit{WRec}}"
    r"{\beta^2 \mathit{Prec}_{allow} + \mathit{WRec}}",
    source="Voorhees (2003); Lin and Demner-Fushman (2006)",
    needs="weights of nuggets, or labels 'vital' or 'okay'; lengths of answers",
)
class NuggetF(NuggetMeasure):
    """F-measure of the TREC question answering track, where beta was 5 in 2003, then 3."""

    beta: float = parameter(3.0, number(0, 1e6), "weight of recall relative to precision")
    allowance: float = _ALLOWANCE

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "weight", "length")
        precision = compute_allowed_precision(judged, self.allowance)
        return np.asarray(f_measure(precision, compute_weighted_recall(self, judged), self.beta))


_RAG = "nuggets of RAG"
_RAG_SOURCE = "Pradeep et al. (2024), Pradeep et al. (2025)"
_RAG_NEEDS = "labels 'vital' or 'okay' of nuggets; the degree of support of each nugget"


class _NuggetScore(TextMeasure, family=_RAG, needs=_RAG_NEEDS, source=_RAG_SOURCE):
    """Base class of nugget scores of the TREC RAG track, weighted means of support.

    An answer supports a gold nugget fully, partially, or not at all: s(v) is 1, 1/2 or 0. A strict
    score counts partial support as no support. A nugget is vital if a good answer must have it,
    else okay.
    """

    data_class = JudgedAnswers
    strict: bool = parameter(False, flag, "whether partial support counts as no support")

    def _compute_mean(self, judged: JudgedAnswers, weights: Floats) -> Floats:
        """Compute the weighted mean of the support of nuggets; 0 on topics without weights."""
        support = judged.full_support if self.strict else judged.support
        totals = judged.total(support * judged.get_nugget_values(weights))
        return divide_by_topic(
            self, judged, totals, judged.nuggets.total(weights), "no vital nuggets"
        )


@measure(
    "AllScore",
    summary="Mean support of all gold nuggets.",
    formula=r"\frac{1}{|V^*|} \sum_{v \in V^*} s(v)",
    needs="degree of support of each nugget",
    elsewhere={"TREC RAG": "All, All Strict", "AutoNuggetizer": "all_score, strict_all_score"},
)
class AllScore(_NuggetScore):
    """Score "All" of the TREC RAG track; with `strict=True` "All Strict"."""

    def values(self, judged: JudgedAnswers) -> Floats:
        return self._compute_mean(judged, np.ones(len(judged.nuggets.ids)))


@measure(
    "VitalScore",
    summary="Mean support of the vital nuggets.",
    formula=r"\frac{1}{|V^*_{vital}|} \sum_{v \in V^*_{vital}} s(v)",
    elsewhere={
        "TREC RAG": "Vital, Vital Strict",
        "AutoNuggetizer": "vital_score, strict_vital_score",
    },
)
class VitalScore(_NuggetScore):
    """Score "Vital" of the TREC RAG track; with `strict=True` "Vital Strict", its main score.

    The score of a topic without vital nuggets is undefined, and reported as 0.
    """

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "vital")
        return self._compute_mean(judged, judged.nuggets.vital)


@measure(
    "WeightedScore",
    summary="Mean support of all gold nuggets, with less weight for those labelled okay.",
    formula=r"\frac{\sum_{v \in V^*_{vital}} s(v) + w \sum_{v \in V^*_{okay}} s(v)}"
    r"{|V^*_{vital}| + w |V^*_{okay}|}",
    elsewhere={"TREC RAG": "Weighted, Weighted Strict"},
)
class WeightedScore(_NuggetScore):
    """Score "Weighted" of the TREC RAG track; with `strict=True` "Weighted Strict"."""

    okay: float = parameter(0.5, number(0, 1e6), "weight of okay nuggets; vital nuggets weigh 1")

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "vital")
        vital = judged.nuggets.vital
        return self._compute_mean(judged, vital + self.okay * (1.0 - vital))


_S_NEEDS = "nuggets with weights and lengths of vital strings; positions of matches in answers"
_T_NEEDS = "nuggets with lengths of vital strings; lengths of answers"
_S_FORMULA = (
    r"\frac{\sum_{v \in V} w(v) \max(0, L - \mathit{pos}(v))}"
    r"{\sum_{v \in V^*} w(v) \max(0, L - \mathit{pos}^*(v))}"
)
_T_FORMULA = r"\frac{\sum_{v \in V} |\mathit{vs}(v)|}{l}"

_PATIENCE = parameter(
    1000.0, number(0, 1e12, excludes_low=True), "number of characters after which the reader stops"
)


def compute_ideal_ends(nuggets: Nuggets) -> Floats:
    """Compute the end of each nugget's vital string in the ideal answer, the PMO."""
    order = np.lexsort((nuggets.vital_length, -nuggets.weight, nuggets.topic))
    lengths = nuggets.vital_length[order]
    ends = np.cumsum(lengths)
    offsets = np.concatenate([[0.0], np.cumsum(nuggets.total(nuggets.vital_length))[:-1]])
    nugget_ends = np.empty(len(order))
    nugget_ends[order] = ends - offsets[nuggets.topic[order]]
    return nugget_ends


def compute_s_measure(measure: NuggetMeasure, judged: JudgedAnswers, patience: float) -> Floats:
    """Compute weighted recall, discounted by position (Sakai 2013, equation 44)."""
    nuggets = judged.nuggets
    # Only nuggets with partial support, which does not count, have no position.
    discount = np.maximum(0.0, patience - np.nan_to_num(judged.position))
    gain = judged.total(judged.full_support * judged.get_nugget_values(nuggets.weight) * discount)
    ideal_discount = np.maximum(0.0, patience - compute_ideal_ends(nuggets))
    reason = f"the ideal answer has no nugget with a weight above 0 before character {patience:g}"
    ideal_gain = nuggets.total(nuggets.weight * ideal_discount)
    return divide_by_topic(measure, judged, gain, ideal_gain, reason)


def compute_t_measure(measure: NuggetMeasure, judged: JudgedAnswers) -> Floats:
    """Divide the length of matched vital strings by that of the text (Sakai 2013, equation 45)."""
    total_length = judged.nuggets.total(judged.nuggets.vital_length)
    warn_of_zeros(measure, judged, total_length, "the vital strings of all nuggets are empty")
    lengths = judged.get_nugget_values(judged.nuggets.vital_length)
    matched_length = judged.total(judged.full_support * lengths)
    return divide(matched_length, np.where(judged.is_answered, judged.length, 0.0))


class _OneClickMeasure(
    NuggetMeasure, family="one click access", needs=_S_NEEDS, source="Sakai and Kato (2012)"
):
    """Base class of measures of one click access."""


@measure(
    "SMeasure",
    summary="Weighted nugget recall, discounted by the position of the nugget in the text.",
    formula=_S_FORMULA,
    source="Sakai, Kato and Song (2011)",
    range=(0.0, float("inf")),
    elsewhere={"NTCIREVAL": "S-measure"},
)
class SMeasure(_OneClickMeasure):
    """S-measure; above 1 if an answer is better than the pseudo minimal output."""

    L: float = _PATIENCE

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "weight", "vital_length", "position")
        return compute_s_measure(self, judged, self.L)


@measure(
    "SFlat",
    summary="S-measure, at most 1.",
    formula=rf"\min\left(1, {_S_FORMULA}\right)",
    elsewhere={"NTCIREVAL": "S-flat"},
)
class SFlat(SMeasure):
    """S-flat: the S-measure, with values above 1 replaced by 1."""

    def values(self, judged: JudgedAnswers) -> Floats:
        return np.minimum(1.0, super().values(judged))


@measure(
    "TMeasure",
    summary="Length of the vital strings of matched nuggets, divided by that of the answer.",
    formula=_T_FORMULA,
    range=(0.0, float("inf")),
    needs=_T_NEEDS,
    elsewhere={"NTCIREVAL": "T-measure"},
)
class TMeasure(_OneClickMeasure):
    """T-measure; above 1 if nuggets take less text than their vital strings."""

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "vital_length", "length")
        return compute_t_measure(self, judged)


@measure(
    "TFlat",
    summary="T-measure, at most 1.",
    formula=rf"\min\left(1, {_T_FORMULA}\right)",
    needs=_T_NEEDS,
    elsewhere={"NTCIREVAL": "T-flat"},
)
class TFlat(TMeasure):
    """T-flat: the T-measure, with values above 1 replaced by 1."""

    def values(self, judged: JudgedAnswers) -> Floats:
        return np.minimum(1.0, super().values(judged))


@measure(
    "SSharp",
    summary="F-measure of S-flat and T-flat, for short answers with important nuggets first.",
    formula=r"\frac{(1 + \beta^2) \, T\flat \, S\flat}{\beta^2 \, T\flat + S\flat}",
    needs=f"{_S_NEEDS}, lengths of answers",
    elsewhere={"NTCIREVAL": "F-flat"},
)
class SSharp(_OneClickMeasure):
    """S#: with beta above 1, S-flat has more weight than T-flat; F-flat of NTCIREVAL has beta 1."""

    L: float = _PATIENCE
    beta: float = parameter(1.0, number(0, 1e6), "weight of S-flat relative to T-flat")

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "weight", "vital_length", "position", "length")
        t_flat = np.minimum(1.0, compute_t_measure(self, judged))
        s_flat = np.minimum(1.0, compute_s_measure(self, judged, self.L))
        return np.asarray(f_measure(t_flat, s_flat, self.beta))
