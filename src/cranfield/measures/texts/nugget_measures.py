r"""Nugget recall and precision of answers, as in question answering (Sakai 2013, section 3.3).

An answer of length l has the nuggets :math:`V` of the gold nuggets :math:`V^*`, each with a weight
w(v). Recall is by weight; precision has no nuggets to count that are wrong, so it allows each
matched nugget some characters, and takes the rest of the answer for noise.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import measure
from cranfield.measures.parameters import flag, number, parameter
from cranfield.measures.ranked.sets import f_measure
from cranfield.measures.texts import OfTexts, per_topic
from cranfield.texts.answers import JudgedAnswers

_FAMILY = "nuggets"


_ALLOWANCE = parameter(100.0, number(0, 1e12), "characters that each matched nugget may use")


class NuggetMeasure(OfTexts):
    """What measures of matched nuggets share; a nugget of partial support is not matched."""

    reads = JudgedAnswers


@measure(
    "NuggetRecall",
    summary="Share of the gold nuggets that the answer has.",
    formula=r"\frac{|V|}{|V^*|}",
    source="Voorhees (2003)",
    family=_FAMILY,
    needs="gold nuggets",
    elsewhere={"NTCIREVAL": "Recall"},
)
class NuggetRecall(NuggetMeasure):
    """Nugget recall, each nugget alike."""

    def values(self, judged: JudgedAnswers) -> Floats:
        gold = judged.nuggets
        return ratio(judged.total(judged.full), gold.total(np.ones(len(gold.ids)))[:, None])


def weighted_recall(measure: NuggetMeasure, judged: JudgedAnswers) -> Floats:
    """Weight of the matched nuggets over that of all (Sakai 2013, equation 40)."""
    gold = judged.nuggets
    found = judged.total(judged.full * judged.of_matches(gold.weight))
    return per_topic(measure, judged, found, gold.total(gold.weight), "no nugget has a weight")


def allowed_precision(judged: JudgedAnswers, allowance: float) -> Floats:
    """Share of the answer that is not noise (Sakai 2013, equation 41)."""
    matched = judged.total(judged.full)
    length = np.where(judged.answered, judged.length, 0.0)
    allow = allowance * matched
    noise = ratio(np.maximum(0.0, length - allow), length)
    return np.where((length > 0) | (matched > 0), 1.0 - noise, 0.0)


@measure(
    "WRecall",
    summary="Share of the weight of the gold nuggets that the answer has.",
    formula=r"\frac{\sum_{v \in V} w(v)}{\sum_{v \in V^*} w(v)}",
    source="Lin and Demner-Fushman (2006)",
    family=_FAMILY,
    needs="weights of nuggets, or labels vital and okay",
    elsewhere={"NTCIREVAL": "W-recall"},
)
class WRecall(NuggetMeasure):
    """Weighted nugget recall; with the weights 1 and 0 of vital and okay, TREC's nugget recall."""

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "weight")
        return weighted_recall(self, judged)


@measure(
    "NuggetPrecision",
    summary="Share of the answer's text that its nuggets may use.",
    formula=r"1 - \frac{\max(0, l - \mathit{allow})}{l}, \quad"
    r" \mathit{allow} = \mathit{allowance} \cdot |V|",
    source="Voorhees (2003)",
    family=_FAMILY,
    needs="lengths of answers",
)
class NuggetPrecision(NuggetMeasure):
    """Nugget precision with an allowance; 0 for an empty answer, where it is undefined."""

    allowance: float = _ALLOWANCE

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "length")
        return allowed_precision(judged, self.allowance)


@measure(
    "NuggetF",
    summary="F-measure of weighted nugget recall and of precision with an allowance.",
    formula=r"\frac{(\beta^2 + 1) \mathit{Prec}_{allow} \, \mathit{WRec}}"
    r"{\beta^2 \mathit{Prec}_{allow} + \mathit{WRec}}",
    source="Voorhees (2003); Lin and Demner-Fushman (2006)",
    family=_FAMILY,
    needs="weights of nuggets, or labels vital and okay; lengths of answers",
)
class NuggetF(NuggetMeasure):
    """F-measure of TREC's question answering, where beta was 3 from 2004 on (5 in 2003)."""

    beta: float = parameter(3.0, number(0, 1e6), "how much more recall weighs than precision")
    allowance: float = _ALLOWANCE

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "weight", "length")
        precision = allowed_precision(judged, self.allowance)
        scores: Floats = f_measure(precision, weighted_recall(self, judged), self.beta)
        return scores


_RAG = "nuggets of RAG"
_RAG_SOURCE = "Pradeep et al. (2024), Pradeep et al. (2025)"
_RAG_NEEDS = "labels vital and okay of nuggets, support of each"


class _Score(OfTexts):
    """Nugget scores of the TREC RAG track: the support of each nugget, summed with a weight.

    An answer supports a gold nugget fully, in part, or not at all: s(v) is 1, 1/2 or 0. A strict
    score takes support in part for none. A nugget is vital if a good answer must have it, else
    okay.
    """

    reads = JudgedAnswers
    strict: bool = parameter(False, flag, "whether support in part counts as none")

    def _mean(self, judged: JudgedAnswers, weights: Floats) -> Floats:
        """Mean support of a topic's nuggets by weight; 0 where no nugget has any."""
        support = judged.full if self.strict else judged.support
        found = judged.total(support * judged.of_matches(weights))
        return per_topic(self, judged, found, judged.nuggets.total(weights), "no vital nuggets")


@measure(
    "AllScore",
    summary="Mean support of all gold nuggets.",
    formula=r"\frac{1}{|V^*|} \sum_{v \in V^*} s(v)",
    source=_RAG_SOURCE,
    family=_RAG,
    needs="support of each nugget",
    elsewhere={"TREC RAG": "All, All Strict", "AutoNuggetizer": "all_score, strict_all_score"},
)
class AllScore(_Score):
    """All score, and with `strict=True` all strict."""

    def values(self, judged: JudgedAnswers) -> Floats:
        return self._mean(judged, np.ones(len(judged.nuggets.ids)))


@measure(
    "VitalScore",
    summary="Mean support of the vital nuggets.",
    formula=r"\frac{1}{|V^*_{vital}|} \sum_{v \in V^*_{vital}} s(v)",
    source=_RAG_SOURCE,
    family=_RAG,
    needs=_RAG_NEEDS,
    elsewhere={
        "TREC RAG": "Vital, Vital Strict",
        "AutoNuggetizer": "vital_score, strict_vital_score",
    },
)
class VitalScore(_Score):
    """Vital score, and with `strict=True` vital strict, the track's main score.

    It is 0 for a topic without vital nuggets, where it is undefined.
    """

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "vital")
        return self._mean(judged, judged.nuggets.vital)


@measure(
    "WeightedScore",
    summary="Mean support of all gold nuggets, those that are okay with less weight.",
    formula=r"\frac{\sum_{v \in V^*_{vital}} s(v) + w \sum_{v \in V^*_{okay}} s(v)}"
    r"{|V^*_{vital}| + w |V^*_{okay}|}",
    source=_RAG_SOURCE,
    family=_RAG,
    needs=_RAG_NEEDS,
    elsewhere={"TREC RAG": "Weighted, Weighted Strict"},
)
class WeightedScore(_Score):
    """Weighted score, and with `strict=True` weighted strict."""

    okay: float = parameter(
        0.5, number(0, 1e6), "weight of a nugget that is okay; a vital one has 1"
    )

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "vital")
        vital = judged.nuggets.vital
        return self._mean(judged, vital + self.okay * (1.0 - vital))
