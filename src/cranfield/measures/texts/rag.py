r"""Nugget scores of the TREC RAG track (Pradeep et al. 2024, 2025).

An answer supports a gold nugget fully, in part, or not at all: :math:`s(v)` is 1, 1/2 or 0. A
strict score takes support in part for none. A nugget is vital if a good answer must have it, else
okay.

Examples
--------
>>> from cranfield import evaluate_answers
>>> from cranfield.texts import judge_answers
>>> gold = {"q": {"born": "vital", "died": "vital", "hair": "okay"}}
>>> rows = [("q", "born", None, "support"), ("q", "died", None, "partial_support")]
>>> answers = [dict(zip(("topic", "nugget", "position", "support"), row)) for row in rows]
>>> wanted = ["AllScore", "VitalScore", "VitalScore(strict=True)", "WeightedScore"]
>>> found = evaluate_answers(judge_answers(answers, gold), wanted)
>>> {name: float(scores.values[0, 0]) for name, scores in found.items()}
{'AllScore': 0.5, 'VitalScore': 0.75, 'VitalScore(strict=True)': 0.5, 'WeightedScore': 0.6}
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import measure
from cranfield.measures.parameters import flag, number, parameter
from cranfield.measures.texts.base import OfTexts
from cranfield.texts.answers import JudgedAnswers

_FAMILY = "nuggets of RAG"
_SOURCE = "Pradeep et al. (2024), Pradeep et al. (2025)"
_NEEDS = "labels vital and okay of nuggets, support of each"


class _Score(OfTexts):
    """What the nugget scores share: the support of each nugget, summed with a weight."""

    reads = JudgedAnswers
    strict: bool = parameter(False, flag, "whether support in part counts as none")

    def _mean(self, judged: JudgedAnswers, weights: Floats) -> Floats:
        """Mean support of a topic's nuggets by weight; 0 where no nugget has any."""
        support = judged.full if self.strict else judged.support
        found = judged.total(support * judged.of_matches(weights))
        return ratio(found, judged.nuggets.total(weights)[:, None])


@measure(
    "AllScore",
    summary="Mean support of all gold nuggets.",
    formula=r"\frac{1}{|V^*|} \sum_{v \in V^*} s(v)",
    source=_SOURCE,
    family=_FAMILY,
    needs="support of each nugget",
    elsewhere={"TREC RAG": "All, All Strict", "AutoNuggetizer": "all_score, strict_all_score"},
)
class AllScore(_Score):
    """All score, and with `strict=True` all strict."""

    def values(self, judged: JudgedAnswers) -> Floats:
        """Mean support of all nuggets."""
        return self._mean(judged, np.ones(len(judged.nuggets.ids)))


@measure(
    "VitalScore",
    summary="Mean support of the vital nuggets.",
    formula=r"\frac{1}{|V^*_{vital}|} \sum_{v \in V^*_{vital}} s(v)",
    source=_SOURCE,
    family=_FAMILY,
    needs=_NEEDS,
    elsewhere={
        "TREC RAG": "Vital, Vital Strict",
        "AutoNuggetizer": "vital_score, strict_vital_score",
    },
)
class VitalScore(_Score):
    """Vital score, and with `strict=True` vital strict, the track's main score.

    It is 0 for a topic without vital nuggets, where it is undefined.
    """

    def values(self, judged: JudgedAnswers) -> Floats:
        """Mean support of the vital nuggets."""
        judged.require(self, "vital")
        return self._mean(judged, judged.nuggets.vital)


@measure(
    "WeightedScore",
    summary="Mean support of all gold nuggets, those that are okay with less weight.",
    formula=r"\frac{\sum_{v \in V^*_{vital}} s(v) + w \sum_{v \in V^*_{okay}} s(v)}"
    r"{|V^*_{vital}| + w |V^*_{okay}|}",
    source=_SOURCE,
    family=_FAMILY,
    needs=_NEEDS,
    elsewhere={"TREC RAG": "Weighted, Weighted Strict"},
)
class WeightedScore(_Score):
    """Weighted score, and with `strict=True` weighted strict."""

    okay: float = parameter(
        0.5, number(0, 1e6), "weight of a nugget that is okay; a vital one has 1"
    )

    def values(self, judged: JudgedAnswers) -> Floats:
        """Mean support of all nuggets by weight."""
        judged.require(self, "vital")
        vital = judged.nuggets.vital
        return self._mean(judged, vital + self.okay * (1.0 - vital))
