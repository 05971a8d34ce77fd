"""Discounted cumulated gain and its normalised form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.base.scale_types import Scale
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.gained import GAINS_DOC, gained, ideal
from cranfield.measures.gains import LINEAR, Discount, Gain, gain
from cranfield.measures.parameters import choice, parameter


class Discounted(Measure):
    """Sums of discounted gains: what DCG and nDCG share."""

    gains: Gain = parameter(LINEAR, gain, GAINS_DOC)
    discount: Discount = parameter(
        Discount(),
        Discount.parse,
        "divisor of the gain at a rank: 'log2(rank+1)', 'max(1,log2(rank))', '1+log2(rank)',"
        " with any base",
    )

    @classmethod
    def translated(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Understand the `dcg` parameter of ir_measures."""
        own = dict(parameters)
        if "dcg" in own:
            forms = {"log2": "linear", "exp-log2": "exponential"}
            form = own.pop("dcg")
            if not isinstance(form, str) or form not in forms:
                raise MeasureError(f"{cls.info.name}: dcg={form!r} is not 'log2' or 'exp-log2'")
            own.setdefault("gains", forms[form])
        return own

    @property
    def scale(self) -> Scale:
        """Interval up to the rank where discounting begins, with linear gains."""
        flat = self.discount.form == "max(1,log(rank))" and self.gains == LINEAR
        within = self.cutoff is not None and self.cutoff <= self.discount.base
        return Scale.INTERVAL if flat and within else super().scale

    def sum(self, rows: Rows) -> Floats:
        """Sum of discounted gains."""
        return rows.total(rows.gains / rows.by_rank(self.discount.of))


@measure(
    "DCG",
    summary="Gains of the retrieved documents, discounted by rank and summed.",
    formula=r"\sum_{r=1}^{k} \frac{g_r}{d(r)}, \quad d(r) = \log_2(r + 1)",
    source="Järvelin and Kekäläinen (2002); Ferro and Maistro (2024), equation (5), is"
    " discount='max(1,log2(rank))'",
    range=(0.0, float("inf")),
    family="cumulated gain",
    needs="graded judgments (binary ones do)",
    scale=Scale.ORDINAL,
    scale_note="not interval but for special bases and cutoffs, such as base 10 up to rank 10"
    " (Ferrante et al. 2019)",
    elsewhere={"ranx": "dcg@k", "trec_eval": "dcg (version 10)"},
    monotone=True,
)
class DCG(Discounted):
    """Discounted cumulated gain."""

    def values(self, judged: JudgedRuns) -> Floats:
        """Sum of gain over discount."""
        return self.sum(gained(judged, self.gains))


@measure(
    "nDCG",
    summary="DCG over that of the ideal ranking of all judged documents.",
    formula=r"\frac{DCG@k}{iDCG@k}, \quad d(r) = \log_2(r + 1)",
    source="Järvelin and Kekäläinen (2002); Sakai (2013), equation (6);"
    " Ferro and Maistro (2024), equation (6)",
    family="cumulated gain",
    needs="graded judgments (binary ones do)",
    scale_note="not interval; within a topic it is DCG by a constant",
    elsewhere={
        "trec_eval": "ndcg, ndcg_cut_k",
        "ir_measures": "nDCG@k",
        "ranx": "ndcg@k",
        "gdeval": "nDCG@k with gains='exponential'",
        "NTCIREVAL": "MSnDCG@k; nDCG@k there has discount='max(1,log2(rank))'",
    },
    monotone=True,
)
class nDCG(Discounted):
    """Normalised discounted cumulated gain; 0 for a topic without gain.

    With `ideal='full'` the ideal ranking is not cut at k: what `trec_eval -M k -m ndcg` does.
    """

    ideal: str = parameter(
        "cut", choice("cut", "full"), "whether the ideal ranking is cut at k too"
    )

    def values(self, judged: JudgedRuns) -> Floats:
        """DCG over iDCG."""
        best = ideal(judged, self.gains)
        if self.cutoff is not None and self.ideal == "cut":
            best = best.where(best.rank <= self.cutoff)
        return ratio(self.sum(gained(judged, self.gains)), self.sum(best))
