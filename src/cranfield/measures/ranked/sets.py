"""Measures of the retrieved set, whatever its order."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.scale_types import Scale
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.parameters import fraction_of, integer, number, parameter
from cranfield.measures.ranked.precision import REL, REL_DOC

_NOTE = "interval for binary relevance and sets of one size (Ferrante et al. 2019)"


class _SetMeasure(Measure):
    """The pieces that all set measures are made of."""

    def _precision(self, judged: JudgedRuns, rel: int) -> Floats:
        return ratio(judged.relevant(rel).count, judged.retrieved)

    def _recall(self, judged: JudgedRuns, rel: int) -> Floats:
        return ratio(judged.relevant(rel).count, judged.recall_base(rel))

    def _f(self, judged: JudgedRuns, rel: int, beta: float) -> Floats:
        precision, recall = self._precision(judged, rel), self._recall(judged, rel)
        weight = beta**2
        return ratio((weight + 1) * precision * recall, weight * precision + recall)


@measure(
    "SetP",
    summary="Share of relevant documents among the retrieved.",
    formula=r"|A \cap B| / |B|",
    source="Ferro and Maistro (2024), equation (1)",
    family="sets",
    scale_note=_NOTE,
    elsewhere={"trec_eval": "set_P", "ir_measures": "SetP", "ranx": "precision"},
    beyond_length="how many documents are retrieved",
    monotone=True,
    counts=True,
    one_size=True,
)
class SetPrecision(_SetMeasure):
    """Precision of the retrieved set."""

    rel: int = parameter(1, REL, REL_DOC)

    def values(self, judged: JudgedRuns) -> Floats:
        """Relevant retrieved over retrieved."""
        return self._precision(judged, self.rel)


@measure(
    "SetR",
    summary="Share of the relevant documents that is retrieved.",
    formula=r"|A \cap B| / |A|",
    source="Ferro and Maistro (2024), equation (1)",
    family="sets",
    scale=Scale.INTERVAL,
    scale_note=_NOTE,
    elsewhere={"trec_eval": "set_recall", "ir_measures": "SetR", "ranx": "recall"},
    monotone=True,
    counts=True,
)
class SetRecall(_SetMeasure):
    """Recall of the retrieved set."""

    rel: int = parameter(1, REL, REL_DOC)

    def values(self, judged: JudgedRuns) -> Floats:
        """Relevant retrieved over RB."""
        return self._recall(judged, self.rel)


@measure(
    "SetRelP",
    summary="Set precision, relative to the best that the sizes of the sets allow.",
    formula=r"|A \cap B| / \min(|A|, |B|)",
    source="trec_eval, measure set_relative_P",
    family="sets",
    elsewhere={"trec_eval": "set_relative_P", "ir_measures": "SetP(relative=True)"},
    beyond_length="how many documents are retrieved",
    monotone=True,
    counts=True,
)
class SetRelativePrecision(_SetMeasure):
    """Relative precision of the retrieved set."""

    rel: int = parameter(1, REL, REL_DOC)

    def values(self, judged: JudgedRuns) -> Floats:
        """Relevant retrieved over min(retrieved, RB)."""
        best = np.minimum(judged.retrieved, judged.recall_base(self.rel))
        return ratio(judged.relevant(self.rel).count, best)


@measure(
    "SetAP",
    summary="Set precision times set recall: average precision without an order.",
    formula=r"|A \cap B|^2 / (|A| \, |B|)",
    source="trec_eval, measure set_map",
    family="sets",
    elsewhere={"trec_eval": "set_map", "ir_measures": "SetAP"},
    beyond_length="how many documents are retrieved",
    counts=True,
)
class SetAveragePrecision(_SetMeasure):
    """Average precision if every relevant document had the precision of the set."""

    rel: int = parameter(1, REL, REL_DOC)

    def values(self, judged: JudgedRuns) -> Floats:
        """Squared relevant retrieved over retrieved times RB."""
        found = judged.relevant(self.rel).count.astype(np.float64)
        return ratio(found * found, judged.retrieved * judged.recall_base(self.rel))


@measure(
    "SetF",
    summary="F-measure: weighted harmonic mean of set precision and set recall.",
    formula=r"\frac{(\beta^2 + 1) P R}{\beta^2 P + R}",
    source="Sakai (2013), equation (5)",
    family="sets",
    scale_note=_NOTE,
    elsewhere={
        "trec_eval": "set_F.x with x = beta squared",
        "ir_measures": "SetF (for beta = 1)",
        "ranx": "f1",
    },
    beyond_length="how many documents are retrieved",
    monotone=True,
    counts=True,
    one_size=True,
)
class FMeasure(_SetMeasure):
    """F-measure; recall is `beta` times as important as precision."""

    rel: int = parameter(1, REL, REL_DOC)
    beta: float = parameter(1.0, number(0, 1e6), "importance of recall relative to precision")

    def values(self, judged: JudgedRuns) -> Floats:
        """Weighted harmonic mean; 0 when both are 0."""
        return self._f(judged, self.rel, self.beta)


@measure(
    "SetE",
    summary="E-measure: one minus the F-measure; lower is better.",
    formula=r"1 - \frac{(\beta^2 + 1) P R}{\beta^2 P + R}",
    source="Sakai (2013), equation (4); equation (3) with alpha / Prec + (1 - alpha) / Rec",
    lower_is_better=True,
    family="sets",
    scale_note=_NOTE,
    elsewhere={},
    beyond_length="how many documents are retrieved",
    monotone=True,
    counts=True,
    one_size=True,
)
class EMeasure(_SetMeasure):
    """E-measure of van Rijsbergen; with `alpha` = 1 / (beta^2 + 1)."""

    rel: int = parameter(1, REL, REL_DOC)
    beta: float = parameter(1.0, number(0, 1e6), "importance of recall relative to precision")

    def values(self, judged: JudgedRuns) -> Floats:
        """One minus F."""
        return 1.0 - self._f(judged, self.rel, self.beta)


_COEFFICIENT = number(-1e15, 1e15)


@measure(
    "Utility",
    summary="Worth of the retrieved set by a price for each kind of document.",
    formula=r"a\,|A \cap B| + b\,|B \setminus A| + c\,|A \setminus B| + d\,(D - |A \cup B|)",
    source="trec_eval, measure utility",
    range=(float("-inf"), float("inf")),
    family="sets",
    scale=Scale.INTERVAL,
    scale_note="a linear function of counts",
    elsewhere={"trec_eval": "utility_a,b,c,d"},
    beyond_length="how many documents are retrieved",
    counts=True,
)
class Utility(_SetMeasure):
    """Linear utility of the contingency table; `docs` is the size D of the collection."""

    rel: int = parameter(1, REL, REL_DOC)
    a: float = parameter(1.0, _COEFFICIENT, "worth of a relevant retrieved document")
    b: float = parameter(-1.0, _COEFFICIENT, "worth of a retrieved document that is not relevant")
    c: float = parameter(0.0, _COEFFICIENT, "worth of a relevant document that is not retrieved")
    d: float = parameter(0.0, _COEFFICIENT, "worth of any other document of the collection")
    docs: int = parameter(0, integer(0, 10**15), "documents in the collection")

    @property
    def needs_one_size(self) -> bool:
        """True but where a step is a whole multiple of what a document not relevant costs."""
        a, b, c, d = map(fraction_of, (self.a, self.b, self.c, self.d))
        return bool(a - c and b - d) and ((a - c) / (b - d)).denominator != 1

    def values(self, judged: JudgedRuns) -> Floats:
        """Weighted sum of the four counts."""
        found, base = judged.relevant(self.rel).count, judged.recall_base(self.rel)
        rest = self.docs + found - judged.retrieved - base
        total = self.a * found + self.b * (judged.retrieved - found) + self.c * (base - found)
        out: Floats = total + self.d * rest
        return out
