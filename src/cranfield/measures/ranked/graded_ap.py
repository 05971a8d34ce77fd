r"""Average precision for graded relevance: by thresholds of users, and by means of gains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import POSITIVE_GAINS, Gain, gained, ideal, pairs
from cranfield.measures.parameters import choice, parameter
from cranfield.measures.ranked.precision import summed_over

_FAMILY = "average precision"
_NEEDS = "graded judgments (binary ones do)"
_NOTE = "not interval: with one grade it is average precision"
_DENOMINATOR = parameter(
    "min",
    choice("R", "min"),
    "what the sum is divided by: its value for the ideal ranking of all relevant documents ('R'),"
    " or of the k best ('min')",
)


def _thresholds(value: Any) -> Gain:
    if isinstance(value, Gain):
        return value
    if value in ("uniform", "linear"):
        return Gain(value)
    if isinstance(value, Mapping) and value:
        checked = pairs(value)
        positive = any(weight > 0 for _, weight in checked)
        if positive and all(grade >= 1 and weight >= 0 for grade, weight in checked):
            return Gain(checked)
    raise ValueError(
        "'uniform', 'linear' or a mapping of grades from 1 on to weights of at least 0, not all 0,"
        " such as {1: 0.3, 2: 0.7}"
    )


@measure(
    "GAP",
    summary="Average precision that users expect who differ in the lowest grade they call"
    " relevant.",
    formula=r"\frac{\sum_r \frac1r \sum_{i \le r} G(\min(g_i, g_r))}{\sum_{d} G(g_d)},"
    r" \quad G(g) = \sum_{j=1}^{g} \pi_j",
    source="Robertson, Kanoulas and Yilmaz (2010)",
    family=_FAMILY,
    needs=_NEEDS,
    scale_note=_NOTE,
    elsewhere={"NTCIREVAL": "GAP, GAP@k (option -gap) with thresholds='linear'"},
)
class GradedAveragePrecision(Measure):
    r"""Graded average precision: a user calls grades from j on relevant with probability pi_j.

    It is the mean of AP(rel=j) weighted by pi_j and the number of documents that are relevant
    from grade j on. Only the proportions of the weights matter. `uniform` gives all grades the
    same; `linear` goes by the grade, as NTCIREVAL does; in a mapping, a grade that is not named
    has none. With `denominator='min'` (the default) the ideal ranking scores 1 at any cutoff.
    """

    thresholds: Gain = parameter(
        Gain("uniform"),
        _thresholds,
        "how often a grade is the lowest that users call relevant: 'uniform', 'linear' (by the"
        " grade), or a mapping of grades to weights",
    )
    denominator: str = _DENOMINATOR

    def weight(self, grade: int) -> Any:
        """Weight of the thresholds up to a grade: how often a document of it is relevant."""
        if isinstance(self.thresholds.kind, tuple):
            return sum(weight for named, weight in self.thresholds.kind if named <= grade)
        return grade * (grade + 1) // 2 if self.thresholds.kind == "linear" else grade

    def values(self, judged: JudgedRuns) -> Floats:
        above = np.zeros(judged.shape)
        most = np.zeros((judged.shape[0], 1))
        below = 0
        grades = np.unique(judged.judgments.grade)
        for grade in grades[grades >= 1].tolist():
            # Users between two grades that occur see the same documents as relevant.
            weight = self.weight(grade) - self.weight(below)
            below = grade
            hits = judged.relevant(grade)
            base = summed_over(self, judged.recall_base(grade))
            above += weight * hits.total(hits.seen / hits.rank)
            most += weight * base
        return ratio(above, most)


@measure(
    "gAP",
    summary="Mean gain so far at each relevant document, over that of the ideal ranking.",
    formula=r"\frac{\sum_{r \in \mathcal{R}} cg(r) / r}{\sum_{r=1}^{RB} cg^*(r) / r}",
    source="Kishida (2005)",
    family=_FAMILY,
    needs=_NEEDS,
    scale_note=_NOTE,
)
class KishidaAveragePrecision(Measure):
    r"""Generalised average precision; relevant is what has a gain.

    With `denominator='min'` (the default) the sum of the ideal ranking ends at the cutoff, so that
    the ideal ranking scores 1.
    """

    gains: Gain = POSITIVE_GAINS
    denominator: str = _DENOMINATOR

    def mean_so_far(self, gain: Any, rank: Any) -> Any:
        return gain / rank

    def values(self, judged: JudgedRuns) -> Floats:
        rows, best = gained(judged, self.gains), ideal(judged, self.gains)
        if self.cutoff is not None and self.denominator == "min":
            best = best.where(best.rank <= self.cutoff)
        above = rows.total(self.mean_so_far(rows.cumulated, rows.rank))
        return ratio(above, best.total(self.mean_so_far(best.cumulated, best.rank)))
