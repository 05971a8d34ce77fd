"""Experimental relatives of nDCG that trec_eval prints: averages over ranks, and G."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.gained import GAINS_DOC, gained, ideal, upto
from cranfield.measures.gains import LINEAR, Gain, gain
from cranfield.measures.parameters import parameter
from cranfield.measures.ranked.precision import REL, REL_DOC


def _discounted(rows: Rows) -> Floats:
    return rows.gains / rows.by_rank(lambda rank: np.log2(rank + 1))


@measure(
    "nDCGrel",
    summary="nDCG averaged over the ranks of the relevant documents.",
    formula=r"\frac{1}{|\{g > 0\}|} \left( \sum_{r: g_r > 0} \frac{DCG@r}{iDCG@r}"
    r" + m \frac{DCG}{iDCG} \right)",
    source="trec_eval, measure ndcg_rel",
    family="cumulated gain",
    needs="graded judgments (binary ones do)",
    elsewhere={"trec_eval": "ndcg_rel"},
    beyond_length="what else the topic has",
)
class nDCGAtRelevant(Measure):
    """Each of the m relevant documents not retrieved counts with nDCG at the end of the list."""

    gains: Gain = parameter(LINEAR, gain, GAINS_DOC)

    def values(self, judged: JudgedRuns) -> Floats:
        """Mean of nDCG at the relevant documents."""
        rows, best = gained(judged, self.gains), ideal(judged, self.gains)
        if not best.cell.size:
            return np.zeros(judged.shape)
        ideal_so_far = best.running(_discounted(best))
        here, _ = upto(best, ideal_so_far, rows.topic, rows.rank)
        positive = rows.gains > 0
        worth = _discounted(rows)
        at_hits = np.where(positive, ratio(rows.running(worth), here), 0.0)
        missed = best.count - rows.where(positive).count
        end = ratio(rows.total(worth), best.total(_discounted(best)))
        return ratio(rows.total(at_hits) + missed * end, best.count)


@measure(
    "RnDCG",
    summary="nDCG averaged over the ranks where the ideal gain falls to the next level.",
    formula=r"\text{mean of } DCG@c / iDCG@c \text{ over the ends } c"
    r" \text{ of the levels of gain, and at the end of the list}",
    source="trec_eval, measure Rndcg",
    family="cumulated gain",
    needs="graded judgments (binary ones do)",
    elsewhere={"trec_eval": "Rndcg"},
    beyond_length="what else the topic has",
)
class nDCGAtLevels(Measure):
    """The end of the list counts when it goes beyond the last level by two ranks or more."""

    rel: int = parameter(1, REL, "0 for a topic without a document of this grade")
    gains: Gain = parameter(LINEAR, gain, GAINS_DOC)

    def values(self, judged: JudgedRuns) -> Floats:
        """Mean of nDCG at the ends of the levels."""
        rows, best = gained(judged, self.gains), ideal(judged, self.gains)
        worth, ideal_worth = _discounted(rows), _discounted(best)
        total = np.zeros(judged.shape)
        terms = np.zeros(judged.shape)
        for level in np.unique(best.gains):
            inside = best.gains >= level
            end = best.where(inside).count
            reached = best.where(best.gains == level).count > 0
            so_far = rows.total(np.where(rows.rank <= rows.at(end), worth, 0.0))
            value = ratio(so_far, best.total(np.where(inside, ideal_worth, 0.0)))
            total += np.where(reached, value, 0.0)
            terms += reached
        beyond = (judged.retrieved > best.count + 1) & (best.count > 0)
        total += np.where(beyond, ratio(rows.total(worth), best.total(ideal_worth)), 0.0)
        value = ratio(total, terms + beyond)
        return np.where(judged.recall_base(self.rel) > 0, value, 0.0)


@measure(
    "G",
    summary="Gains discounted by how much more the ideal ranking would have gained so far.",
    formula=r"\frac{\sum_r g_r / \log_2(2 + ig(r) - cg(r))}{\sum g^*}",
    source="trec_eval, measure G",
    family="cumulated gain",
    needs="graded judgments (binary ones do)",
    elsewhere={"trec_eval": "G"},
    beyond_length="what else the topic has",
)
class NormalisedGain(Measure):
    """ig(r) is the ideal cumulated gain, counting 1 at least for each rank."""

    gains: Gain = parameter(LINEAR, gain, GAINS_DOC)

    def values(self, judged: JudgedRuns) -> Floats:
        """Sum of gains by the discount of lost gain, over the ideal sum."""
        rows, best = gained(judged, self.gains), ideal(judged, self.gains)
        cost = best.running(np.maximum(best.gains, 1.0))
        spent, within = upto(best, cost, rows.topic, rows.rank)
        spent = spent + (rows.rank - within)
        with np.errstate(invalid="ignore", divide="ignore"):
            lost = np.log2(2.0 + spent - rows.cumulated)
        return ratio(rows.total(ratio(rows.gains, lost)), best.total(best.gains))


@measure(
    "binG",
    summary="G with binary gains: each relevant document by the non-relevant ones above it.",
    formula=r"\frac{1}{RB} \sum_{r \in \mathcal{R}} \frac{1}{\log_2(2 + n_r)}",
    source="trec_eval, measure binG",
    family="cumulated gain",
    elsewhere={"trec_eval": "binG"},
)
class BinaryGain(Measure):
    """n_r documents that are not relevant stand above rank r."""

    rel: int = parameter(1, REL, REL_DOC)

    def values(self, judged: JudgedRuns) -> Floats:
        """Sum over the relevant documents, over RB."""
        hits = judged.relevant(self.rel)
        return ratio(
            hits.total(1.0 / np.log2(2 + hits.rank - hits.seen)), judged.recall_base(self.rel)
        )
