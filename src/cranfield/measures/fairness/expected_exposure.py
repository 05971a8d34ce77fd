r"""Expected exposure: do documents of equal relevance get equal exposure?

The target exposure :math:`\varepsilon^*` is that of a policy that ranks by relevance and orders
documents of equal grade at random: a grade with m documents, below b better ones, shares the
exposure of the ranks b + 1 to b + m. Of the exposure :math:`\varepsilon` of a ranking (Diaz and
others 2020),

.. math:: EE\text{-}L = \|\varepsilon - \varepsilon^*\|^2
    = \underbrace{\|\varepsilon\|^2}_{EE\text{-}D}
    - 2 \underbrace{\varepsilon^T \varepsilon^*}_{EE\text{-}R} + \|\varepsilon^*\|^2

over documents, or over groups of documents, whose exposure is the sum of that of their documents.
The measures see one ranking of a topic: for a policy that draws rankings at random they give what
each draw does, and not the expectation, which has to be taken before the square.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import measure
from cranfield.measures.fairness.browsing import Exposing, gathered, of_judged
from cranfield.measures.parameters import choice, parameter

_INFINITY = float("inf")

_ABOUT: dict[str, Any] = {
    "range": (0.0, _INFINITY),
    "family": "fairness",
    "needs": "graded judgments (binary ones do); groups of documents for by='group'",
    "scale_note": "not known to be interval",
    "beyond_grades": "which documents they are",
}


class _ExpectedExposure(Exposing):
    """What the measures share."""

    browsing: str = parameter(
        "geometric",
        choice("geometric", "cascade"),
        "how attention falls: 'geometric' as in RBP, 'cascade' as in ERR",
    )
    by: str = parameter(
        "document", choice("document", "group"), "whether documents or groups are exposed"
    )
    corpus: str = parameter(
        "judged",
        choice("judged", "open"),
        "whether documents judged not relevant share what exposure is left ('judged'), as in the"
        " authors' program, or so many documents do that none has any ('open')",
    )

    def _disparity(self, judged: JudgedRuns) -> Floats:
        if self.by == "document":
            return self.total(judged, 2)
        rows, exposed = self._grouped(judged)
        return rows.total(exposed**2)

    def _relevance(self, judged: JudgedRuns) -> Floats:
        if self.by == "document":
            key = ("expected exposure", *self._about)
            found: Floats | None = judged.views.get(key)
            if found is None:
                rows = judged.judged()
                exposed = self.exposure(judged, rows) * self._targets(judged)[rows.judgment]
                found = judged.views[key] = rows.total(exposed)
            return found.copy()
        groups = judged.groups(str(self))
        rows, exposed = self._grouped(judged)
        target = of_judged(judged, groups, self._targets(judged))
        return rows.total(exposed * target[rows.topic, rows.grade])

    def _whole(self, judged: JudgedRuns) -> Floats:
        """Squared length of the target; shape (topics, 1)."""
        target = self._targets(judged)
        if self.by == "group":
            groups = judged.groups(str(self))
            squares = (of_judged(judged, groups, target) ** 2).sum(axis=1)
        else:
            judgments = judged.judgments
            squares = np.bincount(judgments.topic, target**2, minlength=judgments.topics)
        return np.asarray(squares[:, None])

    def _grouped(self, judged: JudgedRuns) -> tuple[Rows, Floats]:
        groups = judged.groups(str(self))
        exposure = self.exposure(judged, groups.rows) * groups.rows.gains
        return gathered(groups.rows, exposure, len(groups.names))

    def _targets(self, judged: JudgedRuns) -> Floats:
        judgments = judged.judgments
        found: Floats | None = judgments.kept.get(("target", *self._about))
        if found is not None:
            return found
        counts = judgments.grade >= judgments.judged_from
        # All grades that are not relevant are one level.
        level = np.where(judgments.grade >= self.rel, judgments.grade, self.rel - 1)
        going_on = 1.0 - self.stop if self.browsing == "cascade" else 1.0
        out = np.zeros(level.size)
        for grade in np.unique(level):
            same = (level == grade) & counts
            size = np.bincount(judgments.topic[same], minlength=judgments.topics)
            better = judgments.count(int(grade) + 1)[:, 0]
            if grade >= self.rel:
                fall = self.p * going_on
                first = fall**better
            elif self.corpus == "open":
                continue
            else:
                fall = self.p
                first = (going_on * self.p) ** better
            shared = ratio(first * (1.0 - fall**size), size * (1.0 - fall))
            out[same] = shared[judgments.topic[same]]
        judgments.kept["target", *self._about] = out
        return out

    @property
    def _about(self) -> tuple[object, ...]:
        """All that the exposure of documents goes by."""
        return self.rel, self.browsing, self.p, self.stop, self.corpus


@measure(
    "EEL",
    summary="How far the exposure of documents, or groups, is from what relevance asks for.",
    formula=r"\|\varepsilon - \varepsilon^*\|^2",
    source="Diaz and others (2020)",
    lower_is_better=True,
    elsewhere={"TREC Fair Ranking 2019, 2020": "difference of expeval"},
    **_ABOUT,
)
class ExpectedExposureLoss(_ExpectedExposure):
    """EE-L, the loss; 0 is fair. A single ranking only reaches 0 where grades leave no choice."""

    def values(self, judged: JudgedRuns) -> Floats:
        loss = self._disparity(judged) - 2 * self._relevance(judged) + self._whole(judged)
        return np.maximum(loss, 0.0)


@measure(
    "EED",
    summary="How unequal the exposure of documents, or groups, is, whatever their relevance.",
    formula=r"\|\varepsilon\|^2",
    source="Diaz and others (2020)",
    lower_is_better=True,
    elsewhere={"TREC Fair Ranking 2019, 2020": "disparity of expeval"},
    **_ABOUT,
)
class ExpectedExposureDisparity(_ExpectedExposure):
    """EE-D, the disparity.

    A single ranking without groups has the same one whatever it ranks, but for how long it is and,
    with cascade browsing, where its relevant documents are.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        return self._disparity(judged)


@measure(
    "EER",
    summary="How much of the exposure goes where relevance asks for it.",
    formula=r"\varepsilon^T \varepsilon^*",
    source="Diaz and others (2020), without the factor 2 as in expeval",
    elsewhere={"TREC Fair Ranking 2019, 2020": "relevance of expeval"},
    **_ABOUT,
)
class ExpectedExposureRelevance(_ExpectedExposure):
    """EE-R, the relevance."""

    def values(self, judged: JudgedRuns) -> Floats:
        return self._relevance(judged)
