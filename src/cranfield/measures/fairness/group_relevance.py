r"""Group fairness for a user who stops when satisfied, alone and with relevance: GF and GFR.

In the user model of ERR, a user is satisfied at rank k and stops with probability P(k). The
distribution :math:`a_k` over the groups of the documents at ranks 1 to k is compared with the
target (Sakai, Kim and Kang 2023):

.. math:: GF = \sum_k P(k) \, (1 - Div(a_k \,\|\, \tau)), \quad GFR = \frac{1}{2} (Rel + GF)

where Rel is ERR or iRBU with the same P(k). The divergences are 0 for equal distributions and at
most 1. With distributions p and q (the target) over L groups, and their cumulated sums A and T:

=======  ======================================================================================
`jsd`    Jensen-Shannon divergence with the binary logarithm, for groups without order
`nmd`    :math:`\frac{1}{L-1} \sum_i | A_i - T_i |`, the normalised match distance
`rnod`   :math:`\sqrt{OD / (L-1)}`, where OD is the mean over the groups with :math:`q_i > 0` of
         :math:`\sum_j |i-j| (p_j - q_j)^2`: the root normalised order-aware divergence
=======  ======================================================================================

The following choices are those of this library; they were not checked against the full text of the
source:

- :math:`a_k` is the mean over the documents down to rank k that have a group, and weights of a
  document in several groups are divided by their sum; if no document has a group, similarity to the
  target is 0.
- The highest grade is by default that of the collection.
- GFR is the unweighted mean of relevance and GF for one attribute of documents. For several
  attributes, evaluate GF for the groups of each attribute.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.base.spec import POSITIVE_PROBABILITY, NamedWeights, choice, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Groups, Rows, divide
from cranfield.measures.base import measure
from cranfield.measures.fairness.attention import (
    TARGET_DOC,
    check_target_distribution,
    compute_target_distribution,
)
from cranfield.measures.gains import MAX_GRADE_OR_TOPIC, Gain, select_gains
from cranfield.measures.ranked.precision import RelevanceMeasure
from cranfield.measures.users.stopping import SATISFYING_GAINS, cache_stopping_probabilities

DIVERGENCES = ("jsd", "nmd", "rnod")


class _GroupFairnessMeasure(
    RelevanceMeasure,
    family="fairness",
    source="Sakai, Kim and Kang (2023)",
    inputs=("groups",),
    needs="groups of documents; graded or binary judgments",
    scale_note="not known to be on an interval scale, as it is a divergence of distributions",
):
    divergence: str = parameter(
        "jsd",
        choice(*DIVERGENCES),
        "divergence from the target: 'jsd' (Jensen-Shannon); for ordered groups 'nmd' (normalised"
        " match distance) or 'rnod' (root normalised order-aware divergence)",
    )
    target: str | NamedWeights = parameter("equal", check_target_distribution, TARGET_DOC)
    gains: Gain = SATISFYING_GAINS
    max_grade: int | str | None = MAX_GRADE_OR_TOPIC

    def find_stopping_rows(self, judged: JudgedRuns) -> tuple[Rows, Floats]:
        """Return the documents at which users may stop, and the stopping probability of each."""
        rows = select_gains(judged, self.gains)
        return rows, cache_stopping_probabilities(self, judged, rows)

    def compute_fairness(self, judged: JudgedRuns, rows: Rows, probabilities: Floats) -> Floats:
        """Compute the expected similarity to the target at the rank where the user stops."""
        groups = judged.groups(str(self))
        if self.divergence != "jsd" and len(groups.names) < 2:
            raise MeasureError(
                f"{self}: divergence={self.divergence!r} requires at least 2 groups, got"
                f" {len(groups.names)}"
            )
        target = compute_target_distribution(judged, groups, self.target, self.rel, str(self))
        documents = _select_documents_with_groups(groups.rows)
        n_documents = _sum_down_to_rows(documents, np.ones(documents.cell.size), rows)
        counts = _yield_group_counts(groups, documents, rows)
        proportions = (divide(count, n_documents) for count in counts)
        similarity = 1.0 - self._find_divergence(proportions, target, rows)
        is_defined = (n_documents > 0) & (target.sum(axis=1) > 0)[rows.topic]
        return rows.total(np.where(is_defined, probabilities * np.clip(similarity, 0.0, 1.0), 0.0))

    def _find_divergence(self, proportions: Iterator[Floats], target: Floats, rows: Rows) -> Floats:
        """Compute the divergence of the proportions of groups from the target at each row."""
        n_groups = target.shape[1]
        group_indices = np.arange(n_groups)
        # Mean distance of each group to the groups of the target; shape (topics, groups).
        distance = divide(
            (target > 0) @ np.abs(group_indices[:, None] - group_indices),
            (target > 0).sum(axis=1)[:, None],
        )
        divergence, excess = np.zeros(rows.cell.size), np.zeros(rows.cell.size)
        for i, p in enumerate(proportions):
            q = target[rows.topic, i]
            if self.divergence == "jsd":
                mixture = (p + q) / 2
                for proportion in (p, q):
                    is_positive = proportion > 0
                    logs = np.log2(proportion[is_positive] / mixture[is_positive])
                    divergence[is_positive] += proportion[is_positive] * logs / 2
            elif self.divergence == "nmd":
                excess += p - q
                divergence += np.abs(excess)
            else:
                divergence += distance[rows.topic, i] * (p - q) ** 2
        if self.divergence == "jsd":
            return divergence
        divergence /= n_groups - 1
        return np.asarray(np.sqrt(divergence)) if self.divergence == "rnod" else divergence


def _select_documents_with_groups(rows: Rows) -> Rows:
    """Return a row for each document with a group, with the sum of its weights as the gain."""
    rows = rows.where(rows.gains > 0)
    is_first = np.diff(rows.keys, prepend=-1) != 0
    totals = np.add.reduceat(rows.gains, np.flatnonzero(is_first))
    return rows.where(is_first).with_gains(totals)


def _sum_down_to_rows(terms: Rows, values: Floats, rows: Rows) -> Floats:
    """Sum the values of `terms` down to the rank of each of `rows`, in the same cell."""
    positions = np.searchsorted(terms.keys, rows.keys, side="right") - 1
    is_same_cell = np.append(terms.cell, -1)[positions] == rows.cell
    return np.where(is_same_cell, np.append(terms.cumulate(values), 0.0)[positions], 0.0)


def _yield_group_counts(groups: Groups, documents: Rows, rows: Rows) -> Iterator[Floats]:
    """Yield the number of documents of each group, by weight, down to each row."""
    for group in range(len(groups.names)):
        members = groups.rows.where((groups.rows.grade == group) & (groups.rows.gains > 0))
        positions = np.searchsorted(documents.keys, members.keys)
        yield _sum_down_to_rows(members, members.gains / documents.gains[positions], rows)


@measure(
    "GF",
    summary="Similarity of the groups to a target distribution, down to the rank where users stop.",
    formula=r"\sum_k P(k) \, (1 - Div(a_k \,\|\, \tau)), \quad"
    r" P(k) = R_k \prod_{i<k} (1 - R_i)",
)
class GroupFairness(_GroupFairnessMeasure):
    """Group fairness of GFR; stopping probabilities are those of ERR.

    As users stop only at relevant documents, the score depends on relevance: a list without a
    document that has a gain scores 0, and a perfectly fair list scores the probability that the
    user is satisfied, which is below 1. For `nmd` and `rnod` groups are ordered by name.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        return self.compute_fairness(judged, *self.find_stopping_rows(judged))


@measure(
    "GFR",
    summary="Group fairness and relevance: the mean of ERR or iRBU and of GF.",
    formula=r"\frac{1}{2} \sum_k P(k) \, (u(k) + 1 - Div(a_k \,\|\, \tau)),"
    r" \quad u(k) = 1/k \text{ or } p^k",
)
class GroupFairnessAndRelevance(_GroupFairnessMeasure):
    """GFR for one attribute of documents; in both terms users stop as in ERR.

    :mod:`cranfield.measures.fairness.group_relevance` lists the choices of this library.

    Examples
    --------
    >>> import cranfield as cf
    >>> run, qrels = {"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 2, "b": 0, "c": 1}}
    >>> groups = {"a": "1", "b": "2", "c": "2"}
    >>> ev = cf.evaluate(run, qrels, ["GF", "GFR", "GFR(divergence='nmd')"], groups=groups)
    >>> ev.by_system().rows()
    [('run', 0.577..., 0.674..., 0.598...)]
    """

    relevance: str = parameter(
        "ERR",
        choice("ERR", "iRBU"),
        "measure of relevance: 'ERR', or 'iRBU' with the same stopping probabilities",
    )
    p: float = parameter(
        0.99,
        POSITIVE_PROBABILITY,
        "proportion of the utility that remains after each document (iRBU)",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        rows, probabilities = self.find_stopping_rows(judged)
        utility = rows.map_ranks(lambda rank: 1 / rank if self.relevance == "ERR" else self.p**rank)
        fairness = self.compute_fairness(judged, rows, probabilities)
        return (rows.total(probabilities * utility) + fairness) / 2
