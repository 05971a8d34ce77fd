r"""D-measures: measures with the global gain of documents over all intents.

The global gain of a document is :math:`GG = \sum_i Pr(i|q) \, g_i`, where :math:`g_i` is the gain
of its grade for intent i. The measure inside then has these gains in place of those of grades, and
an ideal ranking by global gain (Sakai and Song 2011; Sakai 2013, equations (27) and (28)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints, row_slices
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Groups, Judgments, Rows, places, ranges
from cranfield.measures.base import Measure
from cranfield.measures.gains import LINEAR, Gain, highest_of
from cranfield.measures.users.model import UnitGains
from cranfield.measures.wrapping import Wrapping, wrapping

_FAMILY = "diversity"
_NEEDS = "judgments by subtopic"
BLOCK = 2**20
"""Number of gains by intent that are held in memory at a time."""

_BY_GRADE = ("betas", "thresholds", "clicks", "by_grade")
"""Parameters that use the grades themselves; their measures cannot have global gains."""


@dataclass(frozen=True, eq=False)
class LevelGain(Gain):
    """Gains by level, an index into a table; level 0 has none."""

    kind: str = "levels"
    levels: Floats = field(default_factory=lambda: np.zeros(1))

    # Tables are of one collection each, so equal names do not make equal gains.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def for_grades(self, grades: NDArray[Any]) -> Floats:
        return np.asarray(self.levels[np.maximum(grades, 0)])


class _Global(Wrapping, family=_FAMILY, inputs=("intents",)):
    navigational_once = False

    def check(self, inner: Measure) -> None:
        if not inner.scores_cut_rankings or inner.info.family == _FAMILY:
            raise MeasureError(
                f"{self.about.name}: {inner} uses intents itself, so it cannot be inside"
            )
        if inner.info.aggregate != "mean" or inner.info.lower_is_better:
            raise MeasureError(
                f"{self.about.name}: {inner} is not a measure of gain that is averaged over topics"
            )
        by_grade = any(name in inner.parameters for name in _BY_GRADE)
        by_grade |= getattr(inner, "dwell_by", "") == "grade"
        if by_grade or "inner" in vars(inner) or "clicks" in inner.info.inputs:
            raise MeasureError(
                f"{self.about.name}: {inner} has no gains to be replaced by global gains"
            )

    def values(self, judged: JudgedRuns) -> Floats:
        rel = int(getattr(self.inner, "rel", 1))
        gains = getattr(self.inner, "gains", LINEAR) or LINEAR
        binary = gains.kind == "binary"
        if gains.kind == "graded":
            gains = LINEAR
        # A measure that scales its gains does so before they are added up.
        scaled = getattr(self.inner, "gain_of", None)
        top = None if scaled else self._top(judged, gains)
        key = (self.navigational_once, rel, str(self.inner) if scaled else gains, top)
        # With binary gains, equation (27) is the probability that the document is relevant.
        local = partial(scaled, judged) if scaled else np.ones_like if binary else gains.for_grades
        compute = partial(
            with_global_gains, judged, local, rel, self.navigational_once, str(self), top
        )
        runs, levels = judged.view(key, compute)
        inner_parameters: dict[str, Any] = {"rel": 1} if "rel" in self.inner.parameters else {}
        if binary or isinstance(getattr(self.inner, "max_grade", None), int):
            inner_parameters |= {"max_grade": None} if "max_grade" in self.inner.parameters else {}
        if "gains" in self.inner.parameters:
            inner_parameters["gains"] = levels
        out: Floats = self.inner(**inner_parameters).score(runs)
        return out

    def _top(self, judged: JudgedRuns, gains: Gain) -> float | None:
        """Return the gain at the end of the scale if the inner measure sets one."""
        if gains.kind == "binary" or (
            isinstance(self.inner, UnitGains) and isinstance(gains.kind, tuple)
        ):
            return 1.0
        end = getattr(self.inner, "max_grade", None)
        if not isinstance(end, int):
            return None
        highest_of(judged, end, str(self))
        return float(gains.for_grades(np.arange(end + 1)).max())


def with_global_gains(
    judged: JudgedRuns,
    gains: Callable[[Any], Floats],
    rel: int,
    navigational_once: bool,
    name: str,
    top: float | None = None,
) -> tuple[JudgedRuns, LevelGain]:
    """Replace grades by levels of global gain (0 for none); also return the gain of each level.

    `top` is the gain at the end of the scale, by default the highest global gain.
    """
    intents = judged.intents(name, rel)
    judgments, documents = judged.judgments, judged.documents
    min_grade = max(rel, judgments.judged_from)
    relevant_docs = np.unique(intents.answers(np.arange(judgments.topic.size), min_grade)[0])
    of_judgment = np.zeros(judgments.topic.size)
    parts = []
    for block in row_slices(relevant_docs.size, intents.exists.shape[1], BLOCK):
        docs = relevant_docs[block]
        grades = intents.grades(docs)
        worth = gains(grades) * (grades >= min_grade) * intents.probability[judgments.topic[docs]]
        of_judgment[docs] = worth.sum(axis=1)
        if navigational_once:
            gain_index, place = np.nonzero(worth)
            parts.append((docs[gain_index], place, worth[gain_index, place]))
    of_row = of_judgment[documents.judgment]
    if parts:
        gain_index, place, gain = (np.concatenate(column) for column in zip(*parts, strict=True))
        of_row = _gain_once(documents, gain_index, place, gain, intents.navigational)
    levels = np.unique(np.concatenate([[0.0, top or 0.0], of_judgment, of_row]))
    low = judgments.judged_from

    def level(gain: Floats, grade: Ints) -> Ints:
        return np.where(grade < low, grade, np.searchsorted(levels, gain))

    grade = level(of_judgment, judgments.grade)
    order = np.lexsort((-grade, judgments.topic))
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.arange(order.size)
    runs = replace(
        judged,
        documents=Rows(
            documents.cell,
            documents.rank,
            level(of_row, documents.grade),
            documents.shape,
            source=number[documents.judgment],
        ),
        judgments=Judgments(
            judgments.topics, judgments.topic[order], grade[order], low, max(levels.size - 1, 0)
        ),
        annotations=replace(
            judged.annotations,
            intents=None,
            groups=_reorder_groups(judged.annotations.groups, number),
        ),
        views={},
    )
    return runs, LevelGain(levels=levels)


def _reorder_groups(groups: Groups | None, number: Ints) -> Groups | None:
    if groups is None:
        return None
    judgment = number[groups.judgment]
    order = np.lexsort((groups.group, judgment))
    return replace(
        groups, judgment=judgment[order], group=groups.group[order], weight=groups.weight[order]
    )


def _gain_once(
    rows: Rows, judgment: Ints, place: Ints, gain: Floats, navigational: NDArray[np.bool_]
) -> Floats:
    """Return the gain of each row if only the first document of a navigational intent counts."""
    starts, stops = (np.searchsorted(judgment, rows.judgment, side) for side in ("left", "right"))
    row, entry = ranges(starts, stops)
    entry_place = place[entry]
    satisfying = np.flatnonzero((gain[entry] > 0) & navigational[rows.topic[row], entry_place])
    key = rows.cell[row[satisfying]] * navigational.shape[1] + entry_place[satisfying]
    order = np.argsort(key, kind="stable")
    is_repeat = satisfying[order[places(key[order]) > 1]]
    worth = gain[entry]
    worth[is_repeat] = 0.0
    return np.bincount(row, weights=worth, minlength=rows.cell.size).astype(float)


@wrapping(
    "D",
    summary="Version of a measure for several intents, by global gain and one ideal ranking.",
    formula=r"M \text{ with } GG(r) = \sum_i Pr(i|q) \, g_i(r) \text{ in place of } g(r)",
    source="Sakai and Song (2011)",
    needs=_NEEDS,
    elsewhere={"NTCIREVAL": "M of Dnev files", "in the papers": "D-nDCG is D(nDCG@k)"},
)
class GlobalGain(_Global):
    """The D-version of a measure.

    Examples
    --------
    >>> import cranfield as cf
    >>> rows = [("q", "a", 1, "books"), ("q", "b", 2, "films"), ("q", "a", 0, "films")]
    >>> qrels = [dict(zip(("topic", "doc", "grade", "subtopic"), row)) for row in rows]
    >>> ev = cf.evaluate({"q": {"a": 2, "b": 1}}, qrels, ["D(nDCG@10)"],
    ...                  intents={"q": {"books": 0.75, "films": 0.25}})
    >>> ev["D(nDCG@10)"].values.tolist()
    [[1.0]]
    """


@wrapping(
    "DIN",
    summary="D-version in which only the first answer to a navigational intent counts.",
    formula=r"GG^{DIN}(r) = \sum_{i \text{ inf}} Pr(i|q) \, g_i(r)"
    r" + \sum_{j \text{ nav}} isnew_j(r) \, Pr(j|q) \, g_j(r)",
    source="Sakai (2012)",
    needs=_NEEDS + " and types of intents",
    elsewhere={"NTCIREVAL": "M of DINnev files", "in the papers": "DIN-nDCG is DIN(nDCG@k)"},
)
class TypeSensitiveGlobalGain(_Global):
    """The DIN-version of a measure; the ideal ranking is that of its D-version."""

    navigational_once = True
