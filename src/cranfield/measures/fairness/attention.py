r"""Equity of attention: does each document, or group, get attention in proportion to relevance?

With the attention :math:`a_d` that a ranking gives and the relevance :math:`\rho_d`, each summing
to 1 over a topic (Biega, Gummadi and Weikum 2018),

.. math:: IAA = \sum_d | a_d - \rho_d |

The source sums attention and relevance over many rankings before it compares them, so that what one
ranking gives too little of the next can make up for. A mean of these scores over topics is not
that: :func:`amortised_inequity` is, for groups, which unlike documents come back in every topic.
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
from cranfield.measures.gains import GAINS_DOC, LINEAR, Gain, no_loss
from cranfield.measures.parameters import choice, parameter


@measure(
    "IAA",
    summary="How far attention is from being in proportion to relevance.",
    formula=r"\sum_d | a_d - \rho_d |",
    source="Biega, Gummadi and Weikum (2018), for one ranking",
    range=(0.0, 2.0),
    lower_is_better=True,
    family="fairness",
    needs="graded judgments (binary ones do); groups of documents for by='group'",
    scale_note="not known to be interval",
    beyond_grades="which documents they are",
)
class InequityOfAttention(Exposing):
    """Inequity of attention; 0 is fair, and 0 for a topic without relevance.

    Relevance that is not retrieved counts, and so does attention for documents that are not
    relevant or not judged. For groups, only documents with a group share in attention and
    relevance. An empty ranking gives no attention, and scores 1.

    FairRankTune 0.0.7 (`IAA`) compares attention and relevance as they are, with no sum of 1.
    """

    gains: Gain = parameter(LINEAR, no_loss, GAINS_DOC + ", as what a document deserves")
    by: str = parameter(
        "document", choice("document", "group"), "whether documents or groups get attention"
    )

    def values(self, judged: JudgedRuns) -> Floats:
        if self.by == "group":
            rows, got, deserved = self.of_groups(judged)
        else:
            judgments = judged.judgments
            worth = self._worth(judged)
            whole = np.bincount(judgments.topic, worth, minlength=judgments.topics)[:, None]
            rows = judged.relevant(self.rel)
            rows = rows.where(worth[rows.judgment] > 0)
            got = ratio(self.exposure(judged, rows), rows.at(self.total(judged)))
            deserved = ratio(worth[rows.judgment], whole[rows.topic, 0])
        # What is not in these rows has either attention or relevance, and nothing to set it off.
        some = np.ones(judged.shape)
        if self.by == "group":
            given = rows.total(got) > 0
            owed = self._owed(judged).sum(axis=1)[:, None] > 0
        else:
            given, owed = judged.retrieved > 0, whole > 0
        attention = np.where(given, some - rows.total(got), 0.0)
        relevance = some - rows.total(deserved)
        apart = rows.total(np.abs(got - deserved)) + attention + relevance
        return np.where(owed, np.clip(apart, 0.0, 2.0), 0.0)

    def of_groups(self, judged: JudgedRuns) -> tuple[Rows, Floats, Floats]:
        """Attention and relevance of the groups that each ranking has, each as a share."""
        groups = judged.groups(str(self))
        exposure = self.exposure(judged, groups.rows) * groups.rows.gains
        rows, exposed = gathered(groups.rows, exposure, len(groups.names))
        got = ratio(exposed, rows.at(rows.total(exposed)))
        return rows, got, self._owed(judged)[rows.topic, rows.grade]

    def _owed(self, judged: JudgedRuns) -> Floats:
        """Share of relevance of each group; shape (topics, groups)."""
        owed = of_judged(judged, judged.groups(str(self)), self._worth(judged))
        return ratio(owed, owed.sum(axis=1, keepdims=True))

    def _worth(self, judged: JudgedRuns) -> Floats:
        grades = judged.judgments.grade
        counts = grades >= max(self.rel, judged.judgments.judged_from)
        return np.where(counts, self.gains.of(grades), 0.0)


def amortised_inequity(judged: JudgedRuns, **parameters: Any) -> Floats:
    r"""Inequity of attention of groups over all topics together.

    Notes
    -----
    Biega, Gummadi and Weikum (2018), over m topics, divided by m:

    .. math:: \frac1m \sum_g \Bigl| \sum_t a_{tg} - \sum_t \rho_{tg} \Bigr|

    Topics that have no relevance for any group, and rankings without documents of a group, add
    nothing on either side.
    """
    measure = InequityOfAttention(**{**parameters, "by": "group"})
    view = judged.condensed() if measure.judged_only else judged
    view = view if measure.cutoff is None else view.top(measure.cutoff)
    rows, got, _ = measure.of_groups(view)
    owed = measure._owed(view)
    systems = view.shape[1]
    counts = (rows.total(got) > 0) & (owed.sum(axis=1) > 0)[:, None] & view.scored
    sums = np.zeros((systems, owed.shape[1]))
    system = rows.cell // view.shape[0]
    np.add.at(sums, (system, rows.grade), got * rows.at(counts))
    sums -= counts.T.astype(np.float64) @ owed
    return ratio(np.abs(sums).sum(axis=1), counts.sum(axis=0))
