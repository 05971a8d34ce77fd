"""Rank-biased precision, of users who go on with the same chance from rank to rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import gains_evenly_spaced
from cranfield.measures.parameters import TRUE_SHARE, choice, fraction_of, parameter
from cranfield.measures.users.model import StaticModel

_P = TRUE_SHARE
_P_DOC = "persistence: the chance that a user goes on to the next document"


@measure(
    "RBP",
    summary="Expected gain a document of a user who goes on with probability p.",
    formula=r"(1 - p) \sum_r g_r \, p^{r-1}",
    source="Moffat and Zobel (2008)",
    family="user models",
    scale_note="interval for p = 1/b with a whole number b and gains in at least b - 1 equal steps:"
    " p = 1/2 and binary gains (Ferrante et al. 2019), p = 1/3 and gains of grades 0 to 2",
    elsewhere={
        "ir_measures": "RBP(p=...)",
        "ranx": "rbp.p",
        "trec_eval": "rbp (version 10) is gains='graded', p=0.9",
    },
    monotone=True,
    linear=True,
)
class RankBiasedPrecision(StaticModel):
    """Rank-biased precision.

    Gains are in [0, 1]: `binary` (grade >= rel), `graded` (grade / max_grade), or a mapping in
    which a grade that is not named has gain 0.
    """

    p: float = parameter(0.8, _P, _P_DOC)

    def evenly_spaced(self, highest: int) -> bool:
        """Return True if gains in m equal steps are digits of a base 1/p of at most m + 1."""
        gains = self.exact_gains(highest)
        return gains is not None and gains_evenly_spaced(
            gains, self.cutoff, 1 / fraction_of(self.p)
        )

    @property
    def last(self) -> int | None:
        return None

    def seen(self, rank: Any) -> Any:
        return self.p ** (rank - 1)

    def endless(self) -> Any:
        return 1 / (1 - self.p)

    def values(self, judged: JudgedRuns) -> Floats:
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
        rows = judged.judged()
        tail = self.p**judged.retrieved
        seen = rows.total(rows.by_rank(lambda rank: (1.0 - self.p) * self.p ** (rank - 1)))
        # Rounding may leave a trace below 0 where every document is judged.
        unjudged = np.maximum(1.0 - tail - seen, 0.0)
        unjudged[judged.retrieved == rows.count] = 0.0
        parts = {"tail": tail, "unjudged": unjudged, "total": tail + unjudged}
        return parts[self.part]
