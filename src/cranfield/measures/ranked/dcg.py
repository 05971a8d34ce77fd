"""Discounted cumulated gain, its normalised form, and variants of trec_eval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.base.scale_types import Scale
from cranfield.base.spec import choice, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, divide
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import (
    GAINS,
    Discount,
    Gain,
    GainMeasure,
    get_ideal_ranking,
    look_up_total,
    select_gains,
)
from cranfield.measures.ranked.precision import REL, REL_DOC, RelevanceMeasure


class DCGMeasure(GainMeasure, family="cumulated gain", is_monotone=True, expectation="documents"):
    """Base class of DCG and nDCG, which discount gains by rank."""

    discount: Discount = parameter(
        Discount(),
        Discount.parse,
        "divisor of the gain at a rank: 'log2(rank+1)', 'max(1,log2(rank))' or '1+log2(rank)',"
        " with any base above 1",
    )

    @classmethod
    def translate_parameters(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Translate the `dcg` parameter of ir_measures."""
        translated_parameters = dict(parameters)
        if "dcg" in translated_parameters:
            forms = {"log2": "linear", "exp-log2": "exponential"}
            form = translated_parameters.pop("dcg")
            if not isinstance(form, str) or form not in forms:
                raise MeasureError(
                    f"{cls.info.name}: dcg must be 'log2' or 'exp-log2', got {form!r}"
                )
            translated_parameters.setdefault("gains", forms[form])
        return translated_parameters

    def has_equal_weights(self) -> bool:
        """Return True if no rank up to the cutoff is discounted."""
        is_undiscounted = self.cutoff is not None and self.cutoff <= self.discount.base
        return self.discount.form == "max(1,log(rank))" and is_undiscounted

    def sum_discounted_gains(self, rows: Rows) -> Floats:
        """Sum the discounted gains of rows; shape (topics, systems)."""
        return rows.total(rows.gains / rows.map_ranks(self.discount.compute_divisors))


_PARAMETER_SOURCES = {
    "discount='log(rank+1)'": "Burges and others (2005)",
    "discount='1+log(rank)'": "Järvelin and others (2008)",
    "gains='exponential'": "Burges and others (2005)",
}


@measure(
    "DCG",
    summary="Gains of the retrieved documents, discounted by rank and summed.",
    formula=r"\sum_{r=1}^{k} \frac{g_r}{d(r)}, \quad d(r) = \log_2(r + 1)",
    source="Järvelin and Kekäläinen (2002)",
    parameter_sources=_PARAMETER_SOURCES,
    range=(0.0, float("inf")),
    scale=Scale.ORDINAL,
    scale_note=(
        "not on an interval scale, except for some bases and cutoffs, such as discount"
        " 'max(1,log10(rank))' with cutoff 10 (Ferrante et al. 2019)"
    ),
    elsewhere={"ranx": "dcg@k", "trec_eval": "dcg (version 10)"},
    is_linear=True,
)
class DCG(DCGMeasure):
    """Discounted cumulated gain."""

    def values(self, judged: JudgedRuns) -> Floats:
        return self.sum_discounted_gains(select_gains(judged, self.gains))


@measure(
    "nDCG",
    aliases=("NDCG", "MSnDCG"),
    summary="DCG divided by the DCG of the ideal ranking of all judged documents.",
    formula=r"\frac{DCG@k}{iDCG@k}, \quad d(r) = \log_2(r + 1)",
    source="Järvelin and Kekäläinen (2002)",
    parameter_sources={**_PARAMETER_SOURCES, "ideal='full'": "trec_eval"},
    scale_note="in general not on an interval scale: on one topic it is DCG times a constant",
    elsewhere={
        "trec_eval": "ndcg, ndcg_cut_k",
        "ir_measures": "nDCG@k",
        "ranx": "ndcg@k",
        "gdeval": "nDCG@k with gains='exponential'",
        "NTCIREVAL": "MSnDCG@k; nDCG@k of NTCIREVAL with discount='max(1,log2(rank))'",
    },
)
class nDCG(DCGMeasure):
    """Normalised discounted cumulated gain; 0 for a topic without gain.

    With `ideal='full'` the ideal ranking is not cut at k, as in `trec_eval -M k -m ndcg`.
    """

    ideal: str = parameter(
        "cut",
        choice("cut", "full"),
        "whether the ideal ranking ends at the cutoff ('cut') or not ('full')",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        cutoff = self.cutoff if self.ideal == "cut" else None
        ideal_dcg = self.sum_discounted_gains(get_ideal_ranking(judged, self.gains, cutoff=cutoff))
        return divide(self.sum_discounted_gains(select_gains(judged, self.gains)), ideal_dcg)


def _discount_gains(rows: Rows) -> Floats:
    return rows.gains / rows.map_ranks(lambda rank: np.log2(rank + 1))


@measure(
    "nDCGrel",
    summary="nDCG averaged over the ranks of the documents with a gain.",
    formula=r"\frac{1}{|\{g > 0\}|} \left( \sum_{r: g_r > 0} \frac{DCG@r}{iDCG@r}"
    r" + m \frac{DCG}{iDCG} \right)",
    source="trec_eval, measure ndcg_rel",
    family="cumulated gain",
    elsewhere={"trec_eval": "ndcg_rel"},
    beyond_length="all judgments of the topic",
)
class nDCGAtRelevant(GainMeasure):
    """Mean of nDCG at all documents with a gain; the m unretrieved ones have the final nDCG."""

    def values(self, judged: JudgedRuns) -> Floats:
        rows, ideal = select_gains(judged, self.gains), get_ideal_ranking(judged, self.gains)
        if not ideal.cell.size:
            return np.zeros(judged.shape)
        terms, ideal_terms = _discount_gains(rows), _discount_gains(ideal)
        ideal_dcg, _ = look_up_total(ideal, ideal.cumulate(ideal_terms), rows.topic, rows.rank)
        has_gain = rows.gains > 0
        ndcg_at_hits = np.where(has_gain, divide(rows.cumulate(terms), ideal_dcg), 0.0)
        n_missed = ideal.n_rows - rows.where(has_gain).n_rows
        last_ndcg = divide(rows.total(terms), ideal.total(ideal_terms))
        return divide(rows.total(ndcg_at_hits) + n_missed * last_ndcg, ideal.n_rows)


@measure(
    "RnDCG",
    summary="Mean of nDCG at the last rank of each level of gain in the ideal ranking.",
    formula=r"\text{mean of } DCG@c / iDCG@c \text{ over the ends } c"
    r" \text{ of the levels of gain, and at the end of a list longer by 2 or more}",
    source="trec_eval, measure Rndcg",
    family="cumulated gain",
    needs="graded or binary judgments",
    elsewhere={"trec_eval": "Rndcg"},
    beyond_length="all judgments of the topic",
)
class nDCGAtLevels(Measure):
    """Mean of nDCG at the end of each level of gain in the ideal ranking.

    If the ranking is at least two ranks longer than the ideal one, its final nDCG counts, too.
    """

    rel: int = parameter(1, REL, REL_DOC + "; the score is 0 without relevant documents")
    gains: Gain = GAINS

    def values(self, judged: JudgedRuns) -> Floats:
        rows, ideal = select_gains(judged, self.gains), get_ideal_ranking(judged, self.gains)
        terms, ideal_terms = _discount_gains(rows), _discount_gains(ideal)
        total, n_values = np.zeros(judged.shape), np.zeros(judged.shape)
        for level in np.unique(ideal.gains):
            is_at_least = ideal.gains >= level
            end = ideal.where(is_at_least).n_rows
            has_level = ideal.where(ideal.gains == level).n_rows > 0
            dcg = rows.total(np.where(rows.rank <= rows.at(end), terms, 0.0))
            ndcg = divide(dcg, ideal.total(np.where(is_at_least, ideal_terms, 0.0)))
            total += np.where(has_level, ndcg, 0.0)
            n_values += has_level
        is_longer = (judged.n_retrieved > ideal.n_rows + 1) & (ideal.n_rows > 0)
        total += np.where(is_longer, divide(rows.total(terms), ideal.total(ideal_terms)), 0.0)
        mean = divide(total, n_values + is_longer)
        return np.where(judged.recall_base(self.rel) > 0, mean, 0.0)


@measure(
    "G",
    summary="Gains discounted by the difference from the ideal cumulated gain at the same rank.",
    formula=r"\frac{\sum_r g_r / \log_2(2 + ig(r) - cg(r))}{\sum g^*}",
    source="trec_eval, measure G",
    family="cumulated gain",
    elsewhere={"trec_eval": "G"},
    beyond_length="all judgments of the topic",
)
class NormalisedGain(GainMeasure):
    """Gain discounted by ig(r) - cg(r): cg(r) is the sum of gains down to rank r, and ig(r) that of
    the ideal ranking, to which each rank, also beyond its end, adds at least 1.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        rows, ideal = select_gains(judged, self.gains), get_ideal_ranking(judged, self.gains)
        ideal_totals = ideal.cumulate(np.maximum(ideal.gains, 1.0))
        ideal_gain, ideal_rank = look_up_total(ideal, ideal_totals, rows.topic, rows.rank)
        ideal_gain = ideal_gain + (rows.rank - ideal_rank)
        with np.errstate(invalid="ignore", divide="ignore"):
            discount = np.log2(2.0 + ideal_gain - rows.cumulated)
        return divide(rows.total(divide(rows.gains, discount)), ideal.total(ideal.gains))


@measure(
    "binG",
    summary="G with binary gains: relevant documents, discounted by the number of non-relevant"
    " documents above.",
    formula=r"\frac{1}{RB} \sum_{r \in \mathcal{R}} \frac{1}{\log_2(2 + n_r)}",
    source="trec_eval, measure binG",
    family="cumulated gain",
    elsewhere={"trec_eval": "binG"},
)
class BinaryGain(RelevanceMeasure):
    """Binary gain discounted by n_r, the number of non-relevant documents above rank r."""

    def values(self, judged: JudgedRuns) -> Floats:
        hits = judged.relevant(self.rel)
        total = hits.total(1.0 / np.log2(2 + hits.rank - hits.row_numbers))
        return divide(total, judged.recall_base(self.rel))
