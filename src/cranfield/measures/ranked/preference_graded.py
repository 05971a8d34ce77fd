r"""Preference for graded relevance: how seldom less relevant documents stand above others.

Examples
--------
>>> import cranfield as cf
>>> from cranfield.measures.ranked.preference_graded import GradedPreference
>>> run, qrels = {"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 1, "b": 0, "c": 3, "d": 2}}
>>> rpref = GradedPreference()
>>> found = cf.evaluate(run, qrels, [rpref, rpref(form="relative"), rpref(form="N")])
>>> [round(float(scores.values[0, 0]), 4) for scores in found.values()]
[0.3889, 0.0833, 0.25]
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.gained import GAINS_DOC, gained, ideal, no_loss
from cranfield.measures.gains import LINEAR, Gain
from cranfield.measures.parameters import choice, parameter
from cranfield.measures.users.unit_gains import MAX_GRADE, highest_of


@measure(
    "Rpref",
    summary="How seldom judged documents stand above more relevant ones, by what they lack.",
    formula=r"\frac{1}{\sum g^*} \sum_{r \in \mathcal{R}} g_r \left(1 - \frac{1}{d_r}"
    r" \sum_{i < r, g_i < g_r} \frac{g_r - g_i}{g_r} \right), \quad d_r = r",
    source="De Beer and Moens (2006); form relative2: Sakai (2007)",
    family="incomplete judgments",
    needs="graded judgments (binary ones do)",
    scale_note="not interval: the steps between ranks are unequal",
    elsewhere={"NTCIREVAL": "rpref_N, rpref_relative, rpref_relative2 (option -j)"},
    beyond_grades="which documents are judged",
)
class GradedPreference(Measure):
    r"""rpref: each relevant document by its gain, less for those above it that have less.

    Unjudged documents are left out of the ranking. A document above counts by the share of the
    gain that it lacks. What that sum is divided by is the form:

    - `N`: the most that it could be for a document of the highest grade,
      :math:`d_r = \sum_d (1 - g_d / g_{max})` over all judged documents; binary, it is bpref_N.
    - `relative`: the number of documents above, :math:`d_r = r - 1`, and a document at rank 1
      counts nothing, which is its flaw: the ideal ranking does not score 1.
    - `relative2`, the default: the rank, :math:`d_r = r`, which mends that (Sakai 2007); binary,
      it is AP of the condensed list.
    """

    form: str = parameter(
        "relative2",
        choice("relative2", "relative", "N"),
        "what the misplaced documents are counted against: 'relative2' the rank, 'relative' those"
        " above, 'N' all that could be misplaced",
    )
    gains: Gain = parameter(LINEAR, no_loss, GAINS_DOC)
    max_grade: int | None = MAX_GRADE

    def values(self, judged: JudgedRuns) -> Floats:
        """Sum over relevant documents of the gain less what is misplaced, over the ideal gain."""
        hits = gained(judged.condensed(), self.gains)
        worth, misplaced = hits.gains, _misplaced(hits)
        best = ideal(judged, self.gains)
        if self.form == "N":
            highest = highest_of(judged, self.max_grade, str(self))
            most = self.gains.of(np.arange(highest + 1)).max()
            judgments = judged.judgments
            counted = judgments.count(judgments.judged_from)
            share = ratio(misplaced, hits.at(counted - best.total(best.gains) / most))
        elif self.form == "relative":
            # By the definition a document at rank 1 has nothing to be preferred to.
            share = np.where(hits.rank == 1, 1.0, ratio(misplaced, hits.rank - 1))
        else:
            share = misplaced / hits.rank
        return ratio(hits.total(worth * (1.0 - share)), best.total(best.gains))


def _misplaced(hits: Rows) -> Floats:
    """For each row the share of its gain that those above lack, added up over them."""
    own = hits.gains
    # Every other document above has no gain at all.
    out: Floats = (hits.rank - hits.seen).astype(np.float64)
    for level in np.unique(own)[:-1]:
        above = hits.counted(own == level)
        out += np.where(own > level, above * (own - level) / own, 0.0)
    return out
