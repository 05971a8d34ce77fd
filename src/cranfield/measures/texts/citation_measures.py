r"""Precision and recall of citations: do the documents that an answer cites support it?

In the TREC RAG track an assessor says of a citation whether it supports its sentence fully, in
part, or not at all, :math:`s(c)` being 1, 1/2 or 0 (Thakur et al. 2025). ALCE asks for yes or no:
whether the citations of a sentence support it together, and which of them are of no use (Gao et
al. 2023).
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import measure
from cranfield.measures.parameters import choice, number, parameter
from cranfield.measures.ranked.sets import f_measure
from cranfield.measures.texts import OfTexts, warn_undefined
from cranfield.texts.citations import JudgedCitations

_FAMILY = "citations"
_SUPPORT = "Thakur et al. (2025)"
_ALCE = "Gao et al. (2023)"
_NONE = "no answer has a citation"
_ALCE_NEEDS = "whether the citations of a sentence support it together, and without each"


class _Weighted(OfTexts):
    """What the measures of degrees of support share."""

    reads = JudgedCitations
    counted: str = parameter(
        "first",
        choice("first", "all"),
        "citations of a sentence that count: 'first' is the one that TREC 2024 had judged",
    )

    def _precision(self, judged: JudgedCitations) -> Floats:
        used = (judged.place == 1) if self.counted == "first" else (judged.place > 0)
        cell = judged.cell[judged.sentence[used]]
        count = judged.total(cell, np.ones(len(cell)))
        warn_undefined(self, judged, count.sum(axis=1), _NONE)
        return ratio(judged.total(cell, judged.support[used]), count)

    def _recall(self, judged: JudgedCitations) -> Floats:
        used = (judged.place == 1) if self.counted == "first" else (judged.place > 0)
        best = np.zeros(len(judged.cell))
        np.maximum.at(best, judged.sentence[used], judged.support[used])
        return ratio(judged.total(judged.cell, best), judged.sentences)


@measure(
    "CitationPrecision",
    summary="Mean support that citations give to their sentences.",
    formula=r"\frac{1}{|C|} \sum_{c \in C} s(c)",
    source=_SUPPORT,
    family=_FAMILY,
    needs="support of citations",
    elsewhere={"TREC RAG": "weighted precision"},
)
class CitationPrecision(_Weighted):
    """Weighted precision; 0 for an answer without citations, where it is undefined."""

    def values(self, judged: JudgedCitations) -> Floats:
        return self._precision(judged)


@measure(
    "CitationRecall",
    summary="Mean support that sentences get from their citations.",
    formula=r"\frac{1}{|S|} \sum_{j \in S} \max_{c \in C_j} s(c)",
    source=_SUPPORT,
    family=_FAMILY,
    needs="support of citations, all sentences",
    elsewhere={"TREC RAG": "weighted recall"},
)
class CitationRecall(_Weighted):
    """Weighted recall; a sentence without citations is not supported.

    With several citations of a sentence (`counted='all'`), its support is that of the best.
    """

    def values(self, judged: JudgedCitations) -> Floats:
        return self._recall(judged)


@measure(
    "CitationF",
    summary="F-measure of citation precision and citation recall.",
    formula=r"\frac{(1 + \beta^2) P R}{\beta^2 P + R}",
    source=_SUPPORT + " for precision and recall",
    family=_FAMILY,
    needs="support of citations, all sentences",
)
class CitationF(_Weighted):
    """F-measure of weighted precision and recall."""

    beta: float = parameter(1.0, number(0, 1e6), "how much more recall weighs than precision")

    def values(self, judged: JudgedCitations) -> Floats:
        scores: Floats = f_measure(self._precision(judged), self._recall(judged), self.beta)
        return scores


class _Alce(OfTexts):
    """What the measures of ALCE share."""

    reads = JudgedCitations

    def _joint(self, judged: JudgedCitations) -> Floats:
        """1 for each sentence that its citations support together, else 0."""
        count = judged.citations
        alone = np.zeros(len(judged.cell))
        alone[judged.sentence] = judged.support >= 1
        known = np.where(count == 1, alone, judged.joint)
        # One citation is the same alone and together, unless the table says otherwise.
        known = np.where((count == 1) & ~np.isnan(judged.joint), judged.joint, known)
        bad = np.flatnonzero(np.isnan(known) & (count > 1))
        if bad.size:
            what = "whether several citations support a sentence together (joint)"
            raise judged.lacking(self, what, int(bad[0]))
        return np.where(count > 0, known, 0.0)


@measure(
    "ALCERecall",
    summary="Share of the sentences that their citations support together.",
    formula=r"\frac{1}{|S|} \sum_{j \in S} [C_j \models j]",
    source=_ALCE,
    family=_FAMILY,
    needs=_ALCE_NEEDS,
    elsewhere={"ALCE": "citation_rec"},
)
class ALCERecall(_Alce):
    """Citation recall of ALCE; a sentence without citations is not supported."""

    def values(self, judged: JudgedCitations) -> Floats:
        return ratio(judged.total(judged.cell, self._joint(judged)), judged.sentences)


@measure(
    "ALCEPrecision",
    summary="Share of the citations that are of use to a sentence that is supported.",
    formula=r"\frac{1}{|C|} \sum_{j \in S} \sum_{c \in C_j} [C_j \models j] \,"
    r" \left(1 - [c \not\models j] \, [C_j \setminus \{c\} \models j]\right)",
    source=_ALCE,
    family=_FAMILY,
    needs=_ALCE_NEEDS,
    elsewhere={"ALCE": "citation_prec"},
)
class ALCEPrecision(_Alce):
    """Citation precision of ALCE.

    A citation is of no use if it does not support the sentence alone, and the others do without it.
    Only full support (1) is support. It is 0 for an answer without citations.
    """

    def values(self, judged: JudgedCitations) -> Floats:
        joint = self._joint(judged)[judged.sentence]
        several = judged.citations[judged.sentence] > 1
        asked = several & (joint > 0) & (judged.support < 1)
        bad = np.flatnonzero(asked & np.isnan(judged.without))
        if bad.size:
            what = "whether a sentence is supported without a citation that does not do so alone"
            raise judged.lacking(self, what + " (without)", int(judged.sentence[bad[0]]))
        useless = asked & (judged.without > 0)
        cell = judged.cell[judged.sentence]
        useful = judged.total(cell, np.where(useless, 0.0, joint))
        count = judged.total(cell, np.ones(len(cell)))
        warn_undefined(self, judged, count.sum(axis=1), _NONE)
        return ratio(useful, count)
