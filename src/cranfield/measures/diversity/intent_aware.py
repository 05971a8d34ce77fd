r"""Measures of diversified rankings that look at each intent by itself.

An intent-aware measure is the mean of a measure over the intents of a topic, by how likely they
are (Agrawal and others 2009; Sakai 2013, equation (26)). Intents without a relevant document do not
count; if probabilities were given, those of the others do not add up to 1 then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.collection.intents.by_intent import ByIntent, expected_by_intent
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import POSITIVE_GAINS, Gain
from cranfield.measures.parameters import choice, number, parameter
from cranfield.measures.ranked.average_precision import AveragePrecision
from cranfield.measures.ranked.ntcir import PPlusMeasure, QMeasure
from cranfield.measures.ranked.precision import REL, Precision
from cranfield.measures.wrapping import Wrapping, wrapping

_FAMILY = "diversity"
_NEEDS = "judgments by subtopic"

_ABOUT: dict[str, Any] = {"family": _FAMILY, "inputs": ("intents",)}


class OfIntents(Measure):
    """Measures to which a lowest grade that is relevant to an intent matters."""

    rel: int = parameter(1, REL, "lowest grade that is relevant to an intent")


def expected(measured: Measure, judged: JudgedRuns, name: str) -> Floats:
    """Mean of a measure over the intents, by how likely they are."""
    # Runs are split by intent after the cutoff, where nothing below it can matter.
    if measured.cutoff is not None and not measured.judged_only:
        judged = judged.top(measured.cutoff)
    rel = int(getattr(measured, "rel", 1))
    return expected_by_intent(judged, name, rel, lambda part: measured.score(part.judged))


@wrapping(
    "IA",
    summary="Intent-aware version of a measure: its mean over the intents of the topic.",
    formula=r"\sum_i Pr(i|q) \, M_i",
    source="Agrawal and others (2009)",
    needs=_NEEDS,
    elsewhere={"NTCIREVAL": "IA-M@k", "ndeval": "MAP-IA and P-IA@k are IA(AP) and IA(P@k)"},
    **_ABOUT,
)
class IntentAware(Wrapping):
    """The intent-aware version of any measure.

    Examples
    --------
    >>> import cranfield as cf
    >>> rows = [("q", "a", 1, "books"), ("q", "b", 2, "films"), ("q", "a", 0, "films")]
    >>> qrels = [dict(zip(("topic", "doc", "grade", "subtopic"), row)) for row in rows]
    >>> ev = cf.evaluate({"q": {"a": 2, "b": 1}}, qrels, ["IA(RR)"],
    ...                  intents={"q": {"books": 0.75, "films": 0.25}})
    >>> ev["IA(RR)"].values.tolist()
    [[0.875]]
    """

    def check(self, inner: Measure) -> None:
        if not inner.passes or inner.info.family == _FAMILY:
            raise MeasureError(f"IA: {inner} looks at the intents itself")
        if inner.info.aggregate != "mean":
            raise MeasureError(f"IA: {inner} is no measure that is averaged")
        if inner.info.family == "fairness" or set(inner.info.inputs) - {"lengths"}:
            raise MeasureError(f"IA: {inner} needs what is not known of each intent")

    def values(self, judged: JudgedRuns) -> Floats:
        return expected(self.inner, judged, str(self))


@measure(
    "AP_IA",
    summary="Intent-aware average precision.",
    formula=r"\sum_i Pr(i|q) \, AP_i",
    source="Agrawal and others (2009)",
    needs=_NEEDS,
    elsewhere={"ndeval": "MAP-IA", "ir_measures": "AP_IA", "the same": "IA(AP)"},
    **_ABOUT,
)
class AveragePrecisionIA(OfIntents):
    """IA(AP)."""

    def values(self, judged: JudgedRuns) -> Floats:
        return expected(AveragePrecision(rel=self.rel), judged, str(self))


@measure(
    "P_IA",
    summary="Intent-aware precision.",
    formula=r"\sum_i Pr(i|q) \, P_i@k",
    source="Agrawal and others (2009)",
    at_wanted="required",
    needs=_NEEDS,
    elsewhere={"ndeval": "P-IA@k", "ir_measures": "P_IA@k", "the same": "IA(P@k)"},
    **_ABOUT,
)
class PrecisionIA(OfIntents):
    """IA(P@k)."""

    def values(self, judged: JudgedRuns) -> Floats:
        return expected(Precision(rel=self.rel, cutoff=self.cutoff), judged, str(self))


@measure(
    "StRecall",
    summary="Share of the intents that some document answers: subtopic or intent recall.",
    formula=r"\frac{|\{i : \exists r \le k : I_i(r) = 1\}|}{|\{i\}|}",
    source="Zhai, Cohen and Lafferty (2003)",
    needs=_NEEDS,
    elsewhere={
        "ndeval": "strec@k",
        "ir_measures": "StRecall@k",
        "NTCIREVAL": "I-rec@k; I-rec@n is upto='intents'",
    },
    **_ABOUT,
)
class SubtopicRecall(OfIntents):
    """Subtopic recall; all intents with a relevant document count the same."""

    upto: str = parameter(
        "list",
        choice("list", "intents"),
        "how far: 'list' is the cutoff or the end, 'intents' as many ranks as there are intents",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        intents = judged.intents(str(self), self.rel)
        rows = judged.relevant(min(self.rel, 1))
        if self.upto == "intents":
            rows = rows.where(rows.rank <= intents.count[rows.topic, 0])
        of, place = intents.answers(rows.judgment, self.rel)
        there = intents.exists[rows.topic[of], place]
        size = intents.exists.shape[1]
        answered = np.unique(rows.cell[of[there]] * size + place[there]) // size
        cells = np.bincount(answered, minlength=judged.shape[0] * judged.shape[1])
        return ratio(cells.reshape(judged.shape[::-1]).T.astype(float), intents.count)


@measure(
    "PQ",
    summary="Q-measure for informational intents and P+ for navigational ones.",
    formula=r"\sum_{i \text{ inf}} Pr(i|q) \, Q_i + \sum_{j \text{ nav}} Pr(j|q) \, P^+_j",
    source="Sakai (2012)",
    needs=_NEEDS + " and types of intents",
    elsewhere={"NTCIREVAL": "PplusQ@k", "in the papers": "P+Q; P+Q# is Sharp(PQ@k)"},
    **_ABOUT,
)
class PPlusQ(OfIntents):
    """P+Q, sensitive to the types of intents; without types all are informational."""

    beta: float = parameter(
        1.0, number(0, 1e6), "weight of gain against precision in the blended ratio"
    )
    gains: Gain = POSITIVE_GAINS

    def values(self, judged: JudgedRuns) -> Floats:
        same: dict[str, Any] = {
            "rel": self.rel,
            "beta": self.beta,
            "gains": self.gains,
            "cutoff": self.cutoff,
        }
        informational, navigational = QMeasure(**same), PPlusMeasure(**same)

        def score(part: ByIntent) -> Floats:
            return np.where(
                part.navigational[:, None],
                navigational.score(part.judged),
                informational.score(part.judged),
            )

        return expected_by_intent(judged, str(self), self.rel, score)


@wrapping(
    "Sharp",
    summary="A measure of diversified rankings combined with intent recall.",
    formula=r"\gamma \, I\text{-}rec@k + (1 - \gamma) \, M@k",
    source="Sakai and Song (2011); Zhai, Cohen and Lafferty (2003)",
    needs=_NEEDS,
    elsewhere={
        "in the papers": "D#-nDCG is Sharp(D(nDCG@k)), DIN#-nDCG is Sharp(DIN(nDCG@k)),"
        " P+Q# is Sharp(PQ@k)"
    },
    **_ABOUT,
)
class Sharp(Wrapping):
    """D#-measures and the like: overall relevance and pure diversity in one number."""

    gamma: float = parameter(0.5, number(0, 1), "weight of intent recall")

    def check(self, inner: Measure) -> None:
        low, high = inner.info.range
        if (low, high) != (0.0, 1.0) or inner.info.lower_is_better:
            raise MeasureError(f"Sharp: {inner} is no score from 0 to 1, where more is better")

    def values(self, judged: JudgedRuns) -> Floats:
        recall = SubtopicRecall(
            rel=_lowest(self.inner), cutoff=self.cutoff, judged_only=self.judged_only
        ).score(judged)
        return self.gamma * recall + (1.0 - self.gamma) * self.inner.score(judged)


def _lowest(measure: Measure) -> int:
    while isinstance(inner := getattr(measure, "inner", None), Measure):
        measure = inner
    return int(getattr(measure, "rel", 1))
