"""Binary preference: measures of judged documents only."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.parameters import choice, parameter
from cranfield.measures.ranked.precision import REL, REL_DOC


class _Bpref(Measure):
    rel: int = parameter(1, REL, REL_DOC)
    form: str = parameter(
        "trec_eval",
        choice("trec_eval", "R", "N", "relative"),
        "'trec_eval' divides by min(R, N), 'R' and 'N' are Sakai's bpref_R and bpref_N,"
        " 'relative' divides by the documents above, and rank 1 counts nothing",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        """Share of judged non-relevant documents below each relevant one."""
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
    source="Buckley and Voorhees (2004) as in trec_eval;"
    " forms R and N: Sakai (2013), equations (22) and (23)",
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
