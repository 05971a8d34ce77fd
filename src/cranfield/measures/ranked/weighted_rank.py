r"""Measures of one relevant document at a graded rank: weighted reciprocal rank, and iRBU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import (
    MAX_GRADE,
    POSITIVE_GAINS,
    SCALE_END,
    Gain,
    gained,
    highest_of,
    pairs,
)
from cranfield.measures.parameters import number, optional, parameter
from cranfield.measures.ranked.precision import OfRelevance
from cranfield.measures.users.expected_reciprocal_rank import stopping_at


def _betas(value: Any) -> Gain:
    if isinstance(value, Gain):
        return value
    if isinstance(value, Mapping) and value:
        checked = pairs(value)
        if all(grade >= 0 and beta > 1 for grade, beta in checked):
            return Gain(checked)
    raise ValueError("a mapping of grades to numbers above 1, such as {1: 3, 2: 2}")


@measure(
    "WRR",
    summary="Reciprocal rank of the first relevant document, higher for a higher grade.",
    formula=r"\frac{1}{r_1 - 1 / \beta_{g(r_1)}}, \quad r_1 = \min\{r : g_r \ge \mathit{rel}\},"
    r" \quad \beta_g > 1",
    source="Eguchi and others (2003), NTCIR-3 Web; Sakai (2013), section 2.2",
    range=(0.0, float("inf")),
    family="precision and recall",
    needs="graded judgments (binary ones do)",
    scale_note="not interval: the steps between ranks are unequal",
)
class WeightedReciprocalRank(OfRelevance):
    r"""Weighted reciprocal rank; 0 when no relevant document is retrieved (in the top k).

    The first relevant document is always the one for which
    :math:`1 / (r - 1/\beta)` is largest, since :math:`\beta > 1`. By default the highest grade has
    :math:`\beta = 2`, the next one 3, and so on; the score can then be up to 2, at rank 1. In a
    mapping, a relevant grade that is not named has an infinite beta: its rank counts as in RR.
    """

    betas: Gain | None = parameter(
        None,
        optional(_betas),
        "beta of a grade, a number above 1, the smaller the more the grade is worth; by default 2"
        " for the highest grade, 3 for the next",
    )
    max_grade: int | None = MAX_GRADE

    def worth(self, rank: Any, grades: NDArray[Any], highest: int) -> Any:
        if self.betas is None:
            return 1 / (rank - 1 / (highest - grades + 2))
        return 1 / (rank - ratio(np.array(1), self.betas.named(grades)))

    def values(self, judged: JudgedRuns) -> Floats:
        hits, highest = judged.relevant(self.rel), 0
        if self.betas is None:
            highest = highest_of(judged, self.max_grade, str(self))
        worth = self.worth(hits.rank, hits.grade, highest)
        return hits.total(np.where(hits.seen == 1, worth, 0.0))


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
        0.99,
        number(0, 1, open_low=True),
        "utility that is left after each document read, of what it was before",
    )
    gains: Gain = POSITIVE_GAINS
    max_grade: int | str | None = SCALE_END

    def utility(self, rank: Any) -> Any:
        return self.p**rank

    def values(self, judged: JudgedRuns) -> Floats:
        rows = gained(judged, self.gains)
        stop = stopping_at(judged, rows, self.gains, self.max_grade, str(self))
        return rows.total(stop * rows.by_rank(self.utility))
