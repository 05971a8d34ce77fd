"""Expected reciprocal rank, and the chance to be satisfied and stop that it shares with others."""

from __future__ import annotations

from typing import Any

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import (
    GAINS_DOC,
    POSITIVE_GAINS,
    SCALE_END,
    Gain,
    gained,
    ideal,
    no_loss,
    top_gain,
)
from cranfield.measures.parameters import POSITIVE_SHARE, parameter


def satisfying(gain: Any, top: Any) -> Any:
    """Chance that a document of a gain satisfies, where the highest gain is `top`.

    For exponential gains that is (2^g - 1) / 2^max_grade.
    """
    return gain / (top + 1)


def stopping(rows: Rows, top: float | Floats) -> Floats:
    """Chance that a user stops at each row, satisfied; `top` is the highest gain."""
    stop = satisfying(rows.gains, top)
    going_on = rows.running_product(1.0 - stop)
    out: Floats = rows.before(going_on, 1.0) * stop
    return out


def stopping_at(
    judged: JudgedRuns, rows: Rows, gains: Gain, max_grade: int | str | None, name: str
) -> Floats:
    """Chance that a user stops at each row, as in `stopping`, kept with the judged runs."""
    key = ("stopping", rows, gains, max_grade)
    found: Floats | None = judged.views.get(key)
    if found is None:
        top = top_gain(judged, gains, max_grade, rows, name)
        found = judged.views[key] = stopping(rows, top)
    return found


class _ERR(Measure):
    gains: Gain = parameter(
        Gain("exponential"),
        no_loss,
        GAINS_DOC + "; a document satisfies with probability gain / (highest gain + 1)",
    )
    max_grade: int | str | None = SCALE_END

    def worth(self, stop: Any, rank: Any) -> Any:
        return stop / rank

    def _err(self, judged: JudgedRuns) -> Floats:
        rows = gained(judged, self.gains)
        stop = stopping_at(judged, rows, self.gains, self.max_grade, str(self))
        return rows.total(self.worth(stop, rows.rank))

    def _ideal_err(self, judged: JudgedRuns) -> Floats:
        best = ideal(judged, self.gains)
        if self.cutoff is not None:
            best = best.where(best.rank <= self.cutoff)
        top = top_gain(judged, self.gains, self.max_grade, best, str(self))
        return best.total(self.worth(stopping(best, top), best.rank))


@measure(
    "ERR",
    summary="Expected reciprocal rank at which a user stops, satisfied.",
    formula=r"\sum_r \frac1r R_r \prod_{i<r} (1 - R_i),"
    r" \quad R_i = \frac{2^{g_i} - 1}{2^{g_{max}}}",
    source="Chapelle and others (2009)",
    family="user models",
    needs="graded judgments (binary ones do)",
    scale_note="not interval (Ferrante et al. 2019)",
    elsewhere={
        "gdeval": "ERR@k with max_grade=4",
        "ir_measures": "ERR@k is max_grade=4",
        "NTCIREVAL": "ERR@k with gains='linear'",
    },
    monotone=True,
)
class ExpectedReciprocalRank(_ERR):
    """ERR; a document of grade g satisfies with probability (2^g - 1) / 2^max_grade.

    With `gains='linear'` the probability is g / (max_grade + 1), as in NTCIREVAL; with
    `max_grade='topic'` the scale of each topic ends at the highest grade that it has.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        return self._err(judged)


@measure(
    "nERR",
    summary="ERR over that of the ideal ranking of all judged documents.",
    formula=r"ERR@k \,/\, iERR@k",
    source="Chapelle and others (2009); Sakai and Song (2011)",
    family="user models",
    needs="graded judgments (binary ones do)",
    scale_note="not interval; within a topic it is ERR by a constant",
    elsewhere={"NTCIREVAL": "nERR@k with gains='linear'"},
    monotone=True,
)
class NormalisedExpectedReciprocalRank(_ERR):
    """ERR, normalised."""

    def values(self, judged: JudgedRuns) -> Floats:
        return ratio(self._err(judged), self._ideal_err(judged))


@measure(
    "iRBU",
    summary="Expected utility at the rank where a user stops, satisfied: the less, the lower.",
    formula=r"\sum_r p^r R_r \prod_{i<r} (1 - R_i), \quad R_i = \frac{g_i}{g_{max} + 1}",
    source="Sakai and Zeng (2019), from the rank-biased utility of Amigó and others (2018)",
    family="user models",
    needs="graded judgments (binary ones do)",
    scale_note="not interval: what a document adds depends on those above it",
    elsewhere={"NTCIREVAL": "iRBU@k (option -rbup)"},
)
class IntentwiseRankBiasedUtility(Measure):
    """Intentwise rank-biased utility: ERR, with p^r in place of the reciprocal rank.

    With `gains='exponential'` the chance to be satisfied is that of ERR, (2^g - 1) / 2^max_grade.
    """

    p: float = parameter(
        0.99, POSITIVE_SHARE, "utility that is left after each document read, of what it was before"
    )
    gains: Gain = POSITIVE_GAINS
    max_grade: int | str | None = SCALE_END

    def utility(self, rank: Any) -> Any:
        return self.p**rank

    def values(self, judged: JudgedRuns) -> Floats:
        rows = gained(judged, self.gains)
        stop = stopping_at(judged, rows, self.gains, self.max_grade, str(self))
        return rows.total(stop * rows.by_rank(self.utility))
