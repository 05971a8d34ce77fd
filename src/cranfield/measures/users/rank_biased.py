"""Measures that model how far a user reads: rank-biased precision and expected reciprocal rank."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.scale_types import Scale
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.gained import GAINS_DOC, gained, ideal, no_loss
from cranfield.measures.gains import Gain
from cranfield.measures.parameters import choice, number, parameter
from cranfield.measures.users.model import StaticModel
from cranfield.measures.users.unit_gains import (
    MAX_GRADE,
    SCALE_END,
    UnitGains,
    highest_of,
    top_gain,
)

__all__ = [
    "MAX_GRADE",
    "ExpectedReciprocalRank",
    "NormalisedExpectedReciprocalRank",
    "RankBiasedPrecision",
    "RankBiasedResidual",
    "UnitGains",
    "highest_of",
    "stopping",
]

_P = number(0, 1, open_low=True, open_high=True)
_P_DOC = "persistence: the chance that a user goes on to the next document"


@measure(
    "RBP",
    summary="Expected gain a document of a user who goes on with probability p.",
    formula=r"(1 - p) \sum_r g_r \, p^{r-1}",
    source="Moffat and Zobel (2008); Sakai (2013), section 2.2",
    family="user models",
    scale_note="interval for p = 1/2 and binary gains, ordinal for p < 1/2 (Ferrante et al. 2019)",
    scale=Scale.ORDINAL,
    elsewhere={
        "ir_measures": "RBP(p=...)",
        "ranx": "rbp.p",
        "trec_eval": "rbp (version 10) is gains='graded', p=0.9",
    },
    monotone=True,
)
class RankBiasedPrecision(StaticModel):
    """Rank-biased precision.

    Gains are in [0, 1]: `binary` (grade >= rel), `graded` (grade / max_grade), or a mapping in
    which a grade that is not named has gain 0.
    """

    p: float = parameter(0.8, _P, _P_DOC)

    @property
    def scale(self) -> Scale:
        """Interval for p = 1/2 and binary gains, where scores are the numbers that runs spell."""
        binary = self.gains.kind == "binary" and self.cutoff is not None
        return Scale.INTERVAL if binary and self.p == 0.5 else super().scale

    @property
    def last(self) -> int | None:
        """None: ranks go on for ever."""
        return None

    def seen(self, rank: Floats) -> Floats:
        """Return p^(r-1)."""
        return np.asarray(self.p ** (rank - 1.0))

    def endless(self) -> float:
        """Sum of a geometric series."""
        return 1.0 / (1.0 - self.p)

    def values(self, judged: JudgedRuns) -> Floats:
        """Sum of gains by the chance that the rank is read."""
        rows = self.gaining(judged)
        return rows.total(rows.gains * (1.0 - self.p) * rows.by_rank(self.seen))


@measure(
    "RBPResidual",
    summary="How much RBP could still rise: the weight of what is unjudged or not retrieved.",
    formula=r"p^n + (1 - p) \sum_{r \text{ unjudged}} p^{r-1}",
    source="Moffat and Zobel (2008), section 5",
    lower_is_better=True,
    family="user models",
    elsewhere={"trec_eval": "rbp_resid (version 10), p=0.9; 0 when nothing is unjudged"},
    beyond_grades="which documents are judged",
)
class RankBiasedResidual(Measure):
    """Residual of RBP: `tail` beyond the end of the list, `unjudged` within it, or both.

    In total it is `Residual(RBP)`.
    """

    p: float = parameter(0.8, _P, _P_DOC)
    part: str = parameter(
        "total", choice("total", "tail", "unjudged"), "which part of the uncertainty"
    )

    def values(self, judged: JudgedRuns) -> Floats:
        """Weight of all ranks that no judgment covers."""
        rows = judged.judged()
        tail = self.p**judged.retrieved
        seen = rows.total(rows.by_rank(lambda rank: (1.0 - self.p) * self.p ** (rank - 1)))
        # Rounding may leave a trace below 0 where every document is judged.
        unjudged = np.maximum(1.0 - tail - seen, 0.0)
        unjudged[judged.retrieved == rows.count] = 0.0
        parts = {"tail": tail, "unjudged": unjudged, "total": tail + unjudged}
        return parts[self.part]


def stopping(rows: Rows, top: float | Floats) -> Floats:
    """Chance that a user stops at each row, satisfied: ERR's probability of stopping.

    A document satisfies with probability gain / (highest gain + 1), which is
    (2^g - 1) / 2^max_grade for exponential gains. `top` is the highest gain.
    """
    stop = rows.gains / (top + 1.0)
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

    def _err(self, judged: JudgedRuns) -> Floats:
        rows = gained(judged, self.gains)
        stop = stopping_at(judged, rows, self.gains, self.max_grade, str(self))
        return rows.total(stop / rows.rank)

    def _ideal_err(self, judged: JudgedRuns) -> Floats:
        best = ideal(judged, self.gains)
        if self.cutoff is not None:
            best = best.where(best.rank <= self.cutoff)
        top = top_gain(judged, self.gains, self.max_grade, best, str(self))
        return best.total(stopping(best, top) / best.rank)


@measure(
    "ERR",
    summary="Expected reciprocal rank at which a user stops, satisfied.",
    formula=r"\sum_r \frac1r R_r \prod_{i<r} (1 - R_i),"
    r" \quad R_i = \frac{2^{g_i} - 1}{2^{g_{max}}}",
    source="Chapelle and others (2009); Sakai (2013), section 2.2",
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
        """Sum over ranks of the chance to stop there, over the rank."""
        return self._err(judged)


@measure(
    "nERR",
    summary="ERR over that of the ideal ranking of all judged documents.",
    formula=r"ERR@k \,/\, iERR@k",
    source="Sakai (2013), section 2.2",
    family="user models",
    needs="graded judgments (binary ones do)",
    scale_note="not interval; within a topic it is ERR by a constant",
    elsewhere={"NTCIREVAL": "nERR@k with gains='linear'"},
    monotone=True,
)
class NormalisedExpectedReciprocalRank(_ERR):
    """ERR, normalised."""

    def values(self, judged: JudgedRuns) -> Floats:
        """ERR over ideal ERR."""
        return ratio(self._err(judged), self._ideal_err(judged))
