r"""Compatibility: rank-biased overlap of a ranking with the ideal one.

The ideal ranking holds the relevant documents by falling grade, those of equal grade in the order
that the run has them, and those that it does not retrieve last among their grade. With
:math:`A_i` documents in common down to rank i (Clarke, Vtyurina and Smucker 2020, 2021),

.. math:: \frac{\sum_{i=1}^{D} p^{i-1} A_i / i}{\sum_{i=1}^{D} p^{i-1} \min(i, RB) / i}

where the divisor is the overlap of the ideal ranking with itself; with `normalised=False` it is the
sum of all :math:`p^{i-1}` to D, as if every depth could be filled. D is the length of the longer of
the two, as in ir_measures; with a cutoff k it is k: `Compat@1000` is the authors' program.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.parameters import (
    TRUE_SHARE,
    check_ranks,
    flag,
    integer,
    name,
    optional,
    parameter,
)
from cranfield.measures.ranked.precision import REL_DOC

_FAMILY = "preferences"
_NOTE = "not known to be interval: ranks count by depth"


class _Compatibility(Measure):
    rel: int = parameter(1, integer(1), REL_DOC + ", and stands in the ideal ranking")
    p: float = parameter(0.95, TRUE_SHARE, "persistence: how deep the overlap is looked at")
    normalised: bool = parameter(
        True, flag, "whether to divide by the overlap of the ideal ranking with itself"
    )

    def _overlap(self, judged: JudgedRuns, sign: int = 1) -> Floats:
        """Compatibility with the ideal of relevant documents; of harmful ones for sign -1."""
        known, judgments = judged.judged(), judged.judgments
        rows = judged.relevant(self.rel) if sign == 1 else known.where(-known.grade >= self.rel)
        chosen = (sign * judgments.grade >= self.rel) & (judgments.grade >= judgments.judged_from)
        grades, topics = sign * judgments.grade[chosen], judgments.topic[chosen]
        base = np.bincount(topics, minlength=judgments.topics)[:, None]
        ideal_rank = _better(rows, sign * rows.grade, grades, topics, judgments.topics)
        ideal_rank += _above(rows)
        depth = np.maximum(judged.retrieved, base)
        if self.cutoff is not None:
            check_ranks(self.cutoff, self)
            depth = np.full_like(depth, self.cutoff)
        # What a document adds that both rankings have from rank m on: a sum over depths m to D.
        depths = np.arange(1, int(depth.max(initial=1)) + 1)
        upto = np.concatenate(([0.0], np.cumsum(self.p ** (depths - 1.0) / depths)))
        end = rows.at(upto[depth])
        met = np.minimum(np.maximum(rows.rank, ideal_rank), depths.size + 1)
        found = rows.total(np.maximum(end - upto[met - 1], 0.0))
        if not self.normalised:
            return ratio(found * (1.0 - self.p), 1.0 - self.p**depth)
        full = np.minimum(base, depth)
        best = (1.0 - self.p**full) / (1.0 - self.p) + base * (upto[depth] - upto[full])
        # Rounding may leave the best ranking a trace above 1.
        return np.minimum(ratio(found, best), 1.0)


def _better(rows: Rows, grade: Ints, grades: Ints, topics: Ints, number: int) -> Ints:
    out = np.zeros(grade.size, dtype=np.int64)
    for one in np.unique(grade):
        higher = np.bincount(topics[grades > one], minlength=number)
        same = grade == one
        out[same] = higher[rows.topic[same]]
    return out


def _above(rows: Rows) -> Ints:
    """Place of each row among those of its cell and grade, from 1."""
    out = np.zeros(rows.grade.size, dtype=np.int64)
    for grade in np.unique(rows.grade):
        same = rows.grade == grade
        out[same] = rows.counted(same)[same]
    return out


@measure(
    "Compat",
    summary="Rank-biased overlap of the ranking with the ideal one nearest to it.",
    formula=r"\sum_{i=1}^{D} p^{i-1} \frac{A_i}{i} \,\Big/\,"
    r" \sum_{i=1}^{D} p^{i-1} \frac{\min(i, RB)}{i}",
    source="Clarke, Vtyurina and Smucker (2021)",
    family=_FAMILY,
    needs="graded judgments (binary ones do)",
    scale_note=_NOTE,
    elsewhere={
        "ir_measures": "Compat(p=...), whose ideal takes unretrieved documents for scored 0",
        "compatibility.py": "Compat@1000",
    },
    beyond_grades="which documents they are",
)
class Compatibility(_Compatibility):
    """Compatibility; 0 for a topic without relevant documents."""

    def values(self, judged: JudgedRuns) -> Floats:
        return self._overlap(judged)


@measure(
    "CompatDiff",
    summary="Compatibility with helpful documents less that with harmful ones.",
    formula=r"Compat_{help} - Compat_{harm}",
    source="Clarke, Vtyurina and Smucker (2021); Clarke and others (2020)",
    range=(-1.0, 1.0),
    family=_FAMILY,
    needs="grades below 0 for harmful documents, or judgments of harm as an aspect",
    scale_note=_NOTE,
    beyond_grades="which documents they are",
)
class CompatibilityDifference(_Compatibility):
    """Help less harm.

    Harmful documents are those of grade -rel and below, the lowest grade the most harmful; or, with
    `harm='name'`, those of grade rel and above in the judgments on that aspect, the highest grade
    the most harmful, which is how the tracks split their files.
    """

    harm: str | None = parameter(
        None, optional(name), "aspect that says how harmful a document is; else grades below 0"
    )

    def values(self, judged: JudgedRuns) -> Floats:
        if self.harm is None:
            return self._overlap(judged) - self._overlap(judged, -1)
        return self._overlap(judged) - self._overlap(judged.aspect(self.harm, str(self)))
