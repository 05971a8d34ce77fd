r"""D-measures: measures with the global gain of documents over all intents.

The global gain of a document is :math:`GG = \sum_i Pr(i|q) \, g_i`, where :math:`g_i` is the gain
of its grade for intent i. Global gains replace the gains of the inner measure, also in its ideal
ranking (Sakai and Song 2011; Sakai 2013, equations (27) and (28)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints, slice_rows
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Groups, Judgments, Rows, join_ranges, number_rows
from cranfield.measures.base import Measure
from cranfield.measures.gains import LINEAR_GAIN, Gain, find_max_grade
from cranfield.measures.users.model import UnitGains
from cranfield.measures.wrapping import Wrapper, wrapper_measure

_FAMILY = "diversity"
_NEEDS = "judgments by subtopic"
MAX_BLOCK_GAINS = 2**20
"""Approximate maximum number of gains, by document and intent, of a block of documents."""

GainFunction = Callable[[Any], Floats]

_GRADE_PARAMETERS = ("betas", "thresholds", "clicks", "by_grade")
"""Parameters of measures that use grades directly, and so cannot be computed from global gains."""


@dataclass(frozen=True, eq=False)
class LevelGain(Gain):
    """Gains by level, an index into an array; level 0 has gain 0."""

    kind: str = "levels"
    levels: Floats = field(default_factory=lambda: np.zeros(1))

    # Each collection has its own levels, so gains of equal kind need not be equal.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def compute_gains(self, grades: NDArray[Any]) -> Floats:
        return np.asarray(self.levels[np.maximum(grades, 0)])


class _GlobalGainMeasure(Wrapper, family=_FAMILY, inputs=("intents",)):
    counts_navigational_once = False
    """Whether only the first answer to a navigational intent counts."""

    _own_input = "intents"
    _requires_mean = _requires_higher_is_better = True

    def check(self, inner: Measure) -> None:
        super().check(inner)
        uses_grades = any(parameter in inner.parameters for parameter in _GRADE_PARAMETERS)
        uses_grades |= getattr(inner, "dwell_by", "") == "grade"
        has_stops = getattr(inner, "stops", None) is not None
        uses_grades |= has_stops and getattr(inner, "stopping", "") == "graded"
        if uses_grades or "inner" in vars(inner) or "clicks" in inner.info.inputs:
            raise MeasureError(
                f"{self.outer_info.name}: {inner} cannot be the inner measure, as it cannot be"
                " computed from gains that are summed over intents"
            )

    def values(self, judged: JudgedRuns) -> Floats:
        rel = int(getattr(self.inner, "rel", 1))
        gains = getattr(self.inner, "gains", LINEAR_GAIN) or LINEAR_GAIN
        is_binary = gains.kind == "binary"
        if gains.kind == "graded":
            gains = LINEAR_GAIN
        # U scales gains itself, before they are summed over intents.
        scale_gains = getattr(self.inner, "scale_gains", None)
        max_gain = None if scale_gains else self._find_max_gain(judged, gains)
        gains_key = str(self.inner) if scale_gains else gains
        key = (self.counts_navigational_once, rel, gains_key, max_gain)
        compute_intent_gains: GainFunction
        if scale_gains:
            compute_intent_gains = partial(scale_gains, judged)
        else:
            # With binary gains, equation (27) is the probability that the document is relevant.
            compute_intent_gains = np.ones_like if is_binary else gains.compute_gains
        runs, level_gains = judged.view(
            key, lambda: self._set_global_gains(judged, compute_intent_gains, rel, max_gain)
        )
        inner_parameters: dict[str, Any] = {"rel": 1, "gains": level_gains}
        if is_binary or isinstance(getattr(self.inner, "max_grade", None), int):
            inner_parameters["max_grade"] = None
        inner_parameters = {
            name: value for name, value in inner_parameters.items() if name in self.inner.parameters
        }
        return np.asarray(self.inner(**inner_parameters).score(runs))

    def _find_max_gain(self, judged: JudgedRuns, gains: Gain) -> float | None:
        """Return the highest gain of the scale; None if the inner measure does not fix it."""
        if gains.kind == "binary" or (
            isinstance(self.inner, UnitGains) and isinstance(gains.kind, tuple)
        ):
            return 1.0
        max_grade = getattr(self.inner, "max_grade", None)
        if not isinstance(max_grade, int):
            return None
        return gains.find_max_gain(find_max_grade(judged, max_grade, str(self)))

    def _set_global_gains(
        self, judged: JudgedRuns, compute_gains: GainFunction, rel: int, max_gain: float | None
    ) -> tuple[JudgedRuns, LevelGain]:
        """Replace grades by levels of global gain; also return the gains of the levels."""
        intents = judged.intents(str(self), rel)
        judgments, documents = judged.judgments, judged.documents
        min_grade = max(rel, judgments.judged_from)
        relevant_docs = np.unique(
            intents.find_relevant_pairs(np.arange(judgments.topic.size), min_grade)[0]
        )
        judgment_gains = np.zeros(judgments.topic.size)
        answer_blocks = []
        for block in slice_rows(relevant_docs.size, intents.exists.shape[1], MAX_BLOCK_GAINS):
            docs = relevant_docs[block]
            grades = intents.compute_grades(docs)
            probabilities = intents.probability[judgments.topic[docs]]
            terms = compute_gains(grades) * (grades >= min_grade) * probabilities
            judgment_gains[docs] = terms.sum(axis=1)
            if self.counts_navigational_once:
                row, intent = np.nonzero(terms)
                answer_blocks.append((docs[row], intent, terms[row, intent]))
        row_gains = judgment_gains[documents.judgment]
        if answer_blocks:
            judgment, intent, gain = (
                np.concatenate(column) for column in zip(*answer_blocks, strict=True)
            )
            row_gains = _sum_gains_once(documents, judgment, intent, gain, intents.is_navigational)
        levels = np.unique(np.concatenate([[0.0, max_gain or 0.0], judgment_gains, row_gains]))
        min_judged_grade = judgments.judged_from

        def find_levels(gains: Floats, grades: Ints) -> Ints:
            return np.where(grades < min_judged_grade, grades, np.searchsorted(levels, gains))

        grade = find_levels(judgment_gains, judgments.grade)
        order = np.lexsort((-grade, judgments.topic))
        new_index = np.argsort(order)
        runs = replace(
            judged,
            documents=Rows(
                documents.cell,
                documents.rank,
                find_levels(row_gains, documents.grade),
                documents.shape,
                source=new_index[documents.judgment],
            ),
            judgments=Judgments(
                judgments.n_topics,
                judgments.topic[order],
                grade[order],
                min_judged_grade,
                max(levels.size - 1, 0),
            ),
            side_data=replace(
                judged.side_data,
                intents=None,
                groups=_reorder_groups(judged.side_data.groups, new_index),
            ),
            views={},
        )
        return runs, LevelGain(levels=levels)


def _reorder_groups(groups: Groups | None, new_index: Ints) -> Groups | None:
    if groups is None:
        return None
    judgment = new_index[groups.judgment]
    order = np.lexsort((groups.group, judgment))
    return replace(
        groups, judgment=judgment[order], group=groups.group[order], weight=groups.weight[order]
    )


def _sum_gains_once(
    rows: Rows, judgment: Ints, intent: Ints, gain: Floats, is_navigational: NDArray[np.bool_]
) -> Floats:
    """Return the gain of each row, counting only the first answer to a navigational intent."""
    starts, stops = (np.searchsorted(judgment, rows.judgment, side) for side in ("left", "right"))
    row, entry = join_ranges(starts, stops)
    entry_intent = intent[entry]
    hits = np.flatnonzero((gain[entry] > 0) & is_navigational[rows.topic[row], entry_intent])
    key = rows.cell[row[hits]] * is_navigational.shape[1] + entry_intent[hits]
    order = np.argsort(key, kind="stable")
    repeats = hits[order[number_rows(key[order]) > 1]]
    entry_gains = gain[entry]
    entry_gains[repeats] = 0.0
    return np.bincount(row, weights=entry_gains, minlength=rows.cell.size).astype(float)


@wrapper_measure(
    "D",
    summary="Version of a measure for several intents: it scores the sums of gains over intents.",
    formula=r"M \text{ with } GG(r) = \sum_i Pr(i|q) \, g_i(r) \text{ in place of } g(r)",
    source="Sakai and Song (2011)",
    needs=_NEEDS,
    elsewhere={"NTCIREVAL": "M of Dnev files", "in the papers": "D-nDCG is D(nDCG@k)"},
)
class GlobalGain(_GlobalGainMeasure):
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


@wrapper_measure(
    "DIN",
    summary="Version D of a measure; of answers to a navigational intent only the first counts.",
    formula=r"GG^{DIN}(r) = \sum_{i \text{ inf}} Pr(i|q) \, g_i(r)"
    r" + \sum_{j \text{ nav}} isnew_j(r) \, Pr(j|q) \, g_j(r)",
    source="Sakai (2012)",
    needs=_NEEDS + " and types of intents",
    elsewhere={"NTCIREVAL": "M of DINnev files", "in the papers": "DIN-nDCG is DIN(nDCG@k)"},
)
class TypeSensitiveGlobalGain(_GlobalGainMeasure):
    """The DIN-version of a measure; the ideal ranking is that of the D-version."""

    counts_navigational_once = True
