"""Preference: how seldom judged documents stand above those that are more relevant."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import MAX_GRADE, POSITIVE_GAINS, Gain, gained, highest_of, ideal
from cranfield.measures.parameters import choice, parameter
from cranfield.measures.ranked.precision import OfRelevance


class _Bpref(OfRelevance):
    form: str = parameter(
        "trec_eval",
        choice("trec_eval", "R", "N", "relative"),
        "'trec_eval' divides by min(R, N), 'R' and 'N' are Sakai's bpref_R and bpref_N,"
        " 'relative' divides by the documents above, and rank 1 counts nothing",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        # In the condensed list the rank tells how many judged documents stand above.
        hits = judged.condensed().relevant(self.rel)
        above = hits.rank - hits.seen
        base = judged.recall_base(self.rel)
        others = judged.nonrelevant_base(self.rel)
        if self.form == "N":
            worse, of = above, hits.at(others)
        elif self.form == "relative":
            # The form's flaw: a document at rank 1 has nothing to be preferred to.
            worse, of = np.where(hits.rank == 1, 1, above), np.maximum(hits.rank - 1, 1)
        else:
            worse = np.minimum(above, hits.at(base))
            of = hits.at(np.minimum(base, others) if self.form == "trec_eval" else base)
        return ratio(hits.total(1.0 - ratio(worse, of)), base)


@measure(
    "Bpref",
    summary="How seldom judged non-relevant documents stand above relevant ones.",
    formula=r"\frac{1}{R} \sum_{r \in \mathcal{R}} 1 - \frac{\min(n_r, R)}{\min(N, R)}",
    source="Buckley and Voorhees (2004)",
    parameter_sources={
        "form='trec_eval'": "trec_eval",
        "form='N'": "Sakai (2007a)",
        "form='relative'": "Sakai (2007a)",
    },
    family="incomplete judgments",
    elsewhere={
        "trec_eval": "bpref",
        "ir_measures": "Bpref",
        "ranx": "bpref",
        "NTCIREVAL": "bpref, bpref_R, bpref_N, bpref_relative (option -j)",
    },
    beyond_grades="which documents are judged",
)
class BinaryPreference(_Bpref):
    """Bpref: n_r judged non-relevant documents stand above; R and N are the judged counts.

    What the form `relative` lacks, a value at rank 1, AP of the condensed list has:
    `AP(judged_only=True)`.
    """


@measure(
    "GMBpref",
    summary="Bpref, summed up over topics by the geometric mean.",
    formula=r"\exp \frac{1}{n} \sum_t \ln \max(\mathit{bpref}_t, 10^{-5})",
    source="trec_eval, measure gm_bpref",
    family="incomplete judgments",
    aggregate="geometric",
    elsewhere={"trec_eval": "gm_bpref"},
    beyond_grades="which documents are judged",
)
class GeometricBinaryPreference(_Bpref):
    """Per topic it is bpref, and the mean over topics is geometric with a floor of 1e-5."""


@measure(
    "Rpref",
    summary="How seldom judged documents stand above more relevant ones, by what they lack.",
    formula=r"\frac{1}{\sum g^*} \sum_{r \in \mathcal{R}} g_r \left(1 - \frac{1}{d_r}"
    r" \sum_{i < r, g_i < g_r} \frac{g_r - g_i}{g_r} \right), \quad d_r = r",
    source="De Beer and Moens (2006)",
    parameter_sources={"form='relative2'": "Sakai (2007a)"},
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
    - `relative2`, the default: the rank, :math:`d_r = r`, which mends that (Sakai 2007a); binary,
      it is AP of the condensed list.
    """

    form: str = parameter(
        "relative2",
        choice("relative2", "relative", "N"),
        "what the misplaced documents are counted against: 'relative2' the rank, 'relative' those"
        " above, 'N' all that could be misplaced",
    )
    gains: Gain = POSITIVE_GAINS
    max_grade: int | None = MAX_GRADE

    @property
    def uses_highest_grade(self) -> bool:
        return super().uses_highest_grade and self.form == "N"

    def values(self, judged: JudgedRuns) -> Floats:
        hits = gained(judged.condensed(), self.gains)
        worth, misplaced = hits.gains, _misplaced(hits)
        best = ideal(judged, self.gains)
        if self.form == "N":
            highest = highest_of(judged, self.max_grade, str(self))
            most = self.gains.most(highest)
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
