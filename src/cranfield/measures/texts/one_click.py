r"""Measures of one click access: important things first, and little else (Sakai 2013, section 3.3).

An answer is a text; an assessor marked where each gold nugget (iUnit) that it has ends, pos(v). A
nugget has a weight w(v) and a vital string of |vs(v)| characters, the least text that says it. The
pseudo minimal output (PMO) is the ideal: the vital strings one after the other, by falling weight,
and where weights are equal, by rising length; :math:`pos^*(v)` is where each ends.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import measure
from cranfield.measures.parameters import number, parameter
from cranfield.measures.ranked.sets import f_measure
from cranfield.measures.texts import per_topic, warn_undefined
from cranfield.measures.texts.nugget_measures import NuggetMeasure
from cranfield.texts.answers import JudgedAnswers
from cranfield.texts.gold import Nuggets

_FAMILY = "one click access"
_S_NEEDS = "weights and vital string lengths of nuggets, positions in answers"
_T_NEEDS = "vital string lengths of nuggets, lengths of answers"
_S = (
    r"\frac{\sum_{v \in V} w(v) \max(0, L - \mathit{pos}(v))}"
    r"{\sum_{v \in V^*} w(v) \max(0, L - \mathit{pos}^*(v))}"
)
_T = r"\frac{\sum_{v \in V} |\mathit{vs}(v)|}{l}"


_PATIENCE = parameter(
    1000.0, number(0, 1e12, open_low=True), "characters after which a reader has no patience left"
)


def minimal_output(nuggets: Nuggets) -> Floats:
    """Return where each nugget's vital string ends in the pseudo minimal output."""
    order = np.lexsort((nuggets.vital_length, -nuggets.weight, nuggets.topic))
    lengths = nuggets.vital_length[order]
    ends = np.cumsum(lengths)
    before = np.concatenate([[0.0], np.cumsum(nuggets.total(nuggets.vital_length))[:-1]])
    out = np.empty(len(order))
    out[order] = ends - before[nuggets.topic[order]]
    return out


def s_measure(measure: NuggetMeasure, judged: JudgedAnswers, patience: float) -> Floats:
    """Weighted recall that falls with the position (Sakai 2013, equation 44)."""
    gold = judged.nuggets
    # A nugget without a position is one of partial support, which does not count.
    left = np.maximum(0.0, patience - np.nan_to_num(judged.position))
    gain = judged.total(judged.full * judged.of_matches(gold.weight) * left)
    best = gold.total(gold.weight * np.maximum(0.0, patience - minimal_output(gold)))
    lacks = f"no nugget with a weight ends before character {patience:g}"
    return per_topic(measure, judged, gain, best, lacks)


def t_measure(measure: NuggetMeasure, judged: JudgedAnswers) -> Floats:
    """Vital strings of the matched nuggets over the length (Sakai 2013, equation 45)."""
    whole = judged.nuggets.total(judged.nuggets.vital_length)
    warn_undefined(measure, judged, whole, "all vital strings are empty")
    vital = judged.total(judged.full * judged.of_matches(judged.nuggets.vital_length))
    return ratio(vital, np.where(judged.answered, judged.length, 0.0))


@measure(
    "SMeasure",
    summary="Weighted nugget recall of a reader whose patience runs out along the text.",
    formula=_S,
    source="Sakai, Kato and Song (2011)",
    range=(0.0, float("inf")),
    family=_FAMILY,
    needs=_S_NEEDS,
    elsewhere={"NTCIREVAL": "S-measure"},
)
class SMeasure(NuggetMeasure):
    """S-measure; above 1 where an answer is better than the pseudo minimal output."""

    L: float = _PATIENCE

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "weight", "vital_length", "position")
        return s_measure(self, judged, self.L)


@measure(
    "SFlat",
    summary="S-measure, at most 1.",
    formula=rf"\min\left(1, {_S}\right)",
    source="Sakai and Kato (2012)",
    family=_FAMILY,
    needs=_S_NEEDS,
    elsewhere={"NTCIREVAL": "S-flat"},
)
class SFlat(SMeasure):
    """S-flat."""

    def values(self, judged: JudgedAnswers) -> Floats:
        return np.minimum(1.0, super().values(judged))


@measure(
    "TMeasure",
    summary="Share of the answer that its nuggets need at the least: nugget precision.",
    formula=_T,
    source="Sakai and Kato (2012)",
    range=(0.0, float("inf")),
    family=_FAMILY,
    needs=_T_NEEDS,
    elsewhere={"NTCIREVAL": "T-measure"},
)
class TMeasure(NuggetMeasure):
    """T-measure; above 1 where nuggets are said in less than their vital strings."""

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "vital_length", "length")
        return t_measure(self, judged)


@measure(
    "TFlat",
    summary="T-measure, at most 1.",
    formula=rf"\min\left(1, {_T}\right)",
    source="Sakai and Kato (2012)",
    family=_FAMILY,
    needs=_T_NEEDS,
    elsewhere={"NTCIREVAL": "T-flat"},
)
class TFlat(TMeasure):
    """T-flat."""

    def values(self, judged: JudgedAnswers) -> Floats:
        return np.minimum(1.0, super().values(judged))


@measure(
    "SSharp",
    summary="F-measure of S-flat and T-flat: important things first, and little else.",
    formula=r"\frac{(1 + \beta^2) \, T\flat \, S\flat}{\beta^2 \, T\flat + S\flat}",
    source="Sakai and Kato (2012)",
    family=_FAMILY,
    needs=f"{_S_NEEDS}, lengths of answers",
    elsewhere={"NTCIREVAL": "F-flat"},
)
class SSharp(NuggetMeasure):
    """S#: beta above 1 gives S-flat more weight; NTCIREVAL's F-flat has 1."""

    L: float = _PATIENCE
    beta: float = parameter(1.0, number(0, 1e6), "how much more S-flat weighs than T-flat")

    def values(self, judged: JudgedAnswers) -> Floats:
        judged.require(self, "weight", "vital_length", "position", "length")
        scores: Floats = f_measure(
            np.minimum(1.0, t_measure(self, judged)),
            np.minimum(1.0, s_measure(self, judged, self.L)),
            self.beta,
        )
        return scores
