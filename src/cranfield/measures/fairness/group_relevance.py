r"""Group fairness for a user who stops when satisfied, alone and with relevance: GF and GFR.

A user of ERR stops at rank k, satisfied, with probability P(k). The documents down to there have
the distribution :math:`a_k` over the groups, which is compared with the target (Sakai, Kim and Kang
2023):

.. math:: GF = \sum_k P(k) \, (1 - Div(a_k \,\|\, \tau)), \quad GFR = \frac{1}{2} (Rel + GF)

where Rel is ERR or iRBU with the same P(k). The divergences are 0 for equal distributions and at
most 1; with cumulated proportions A and T of L groups in order, and q the target,

=======  ======================================================================================
`jsd`    Jensen-Shannon divergence with the binary logarithm, for groups without order
`nmd`    :math:`\frac{1}{L-1} \sum_i | A_i - T_i |`, the normalised match distance
`rnod`   :math:`\sqrt{OD / (L-1)}`, where OD is the mean over the groups with :math:`q_i > 0` of
         :math:`\sum_j |i-j| (p_j - q_j)^2`: the root normalised order-aware divergence
=======  ======================================================================================

These choices are of this library and were not checked against the full text of the source:

- :math:`a_k` is the mean over the documents down to rank k that have a group, and weights of a
  document in several groups are divided by their sum; where no document has a group, similarity
  to the target is 0.
- The highest grade is that of the collection, unless `max_grade` says otherwise.
- GFR is the plain mean, of relevance and one set of groups. For several sets evaluate GF with each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.base.spec import POSITIVE_PROBABILITY, Shares, choice, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Groups, Rows, ratio
from cranfield.measures.base import measure
from cranfield.measures.fairness.attention import TARGET_DOC, target_check, target_shares
from cranfield.measures.fairness.parity import row_keys
from cranfield.measures.gains import GAINS_DOC, SCALE_END, Gain, gain_rows, nonnegative_gains
from cranfield.measures.ranked.precision import RelevanceMeasure
from cranfield.measures.users.stopping import cached_stopping_probabilities

DIVERGENCES = ("jsd", "nmd", "rnod")


class _GroupFairness(
    RelevanceMeasure,
    family="fairness",
    source="Sakai, Kim and Kang (2023)",
    inputs=("groups",),
    needs="groups of documents, and judgments, graded or binary",
    scale_note="not known to be interval: a divergence of distributions",
):
    divergence: str = parameter(
        "jsd",
        choice(*DIVERGENCES),
        "divergence from the target: 'jsd', or 'nmd' or 'rnod' for ordered groups",
    )
    target: str | Shares = parameter("equal", target_check, TARGET_DOC)
    gains: Gain = parameter(
        Gain("exponential"),
        nonnegative_gains,
        GAINS_DOC + "; a document satisfies with probability gain / (highest gain + 1)",
    )
    max_grade: int | str | None = SCALE_END

    def stopping_rows(self, judged: JudgedRuns) -> tuple[Rows, Floats]:
        """Return the documents at which a user may stop, with the probability of each."""
        rows = gain_rows(judged, self.gains)
        return rows, cached_stopping_probabilities(
            judged, rows, self.gains, self.max_grade, str(self)
        )

    def fairness(self, judged: JudgedRuns, rows: Rows, stop: Floats) -> Floats:
        """Return the expected similarity of groups to the target at the rank of the stop."""
        groups = judged.groups(str(self))
        if self.divergence != "jsd" and len(groups.names) < 2:
            raise MeasureError(
                f"{self}: divergence={self.divergence!r} requires at least 2 groups, got 1"
            )
        target = target_shares(judged, groups, self.target, self.rel, str(self))
        documents = _first_groups(groups.rows)
        number = _running_sum(documents, np.ones(documents.cell.size), rows)
        shares = (ratio(members, number) for members in _members(groups, documents, rows))
        similarity = 1.0 - self._divergence(shares, target, rows)
        is_defined = (number > 0) & (target.sum(axis=1) > 0)[rows.topic]
        return rows.total(np.where(is_defined, stop * np.clip(similarity, 0.0, 1.0), 0.0))

    def _divergence(self, shares: Iterator[Floats], target: Floats, rows: Rows) -> Floats:
        """Compute the divergence of the proportions of groups from the target at each row."""
        number = target.shape[1]
        group = np.arange(number)
        # The distance of each group to those of the target, on average; shape (topics, groups).
        distance = ratio(
            (target > 0) @ np.abs(group[:, None] - group), (target > 0).sum(axis=1)[:, None]
        )
        out, excess = np.zeros(rows.cell.size), np.zeros(rows.cell.size)
        for i, share in enumerate(shares):
            target_share = target[rows.topic, i]
            if self.divergence == "jsd":
                middle = (share + target_share) / 2
                for proportion in (share, target_share):
                    is_positive = proportion > 0
                    logs = np.log2(proportion[is_positive] / middle[is_positive])
                    out[is_positive] += proportion[is_positive] * logs / 2
            elif self.divergence == "nmd":
                excess += share - target_share
                out += np.abs(excess)
            else:
                out += distance[rows.topic, i] * (share - target_share) ** 2
        if self.divergence == "jsd":
            return out
        out /= number - 1
        return np.asarray(np.sqrt(out)) if self.divergence == "rnod" else out


def _first_groups(rows: Rows) -> Rows:
    """Return a row for each document with a group, with the sum of its weights as the gain."""
    rows = rows.where(rows.gains > 0)
    first = np.diff(row_keys(rows), prepend=-1) != 0
    starts = np.flatnonzero(first)
    totals = np.add.reduceat(rows.gains, starts) if starts.size else rows.gains
    return rows.where(first).with_gains(totals)


def _running_sum(terms: Rows, values: Floats, rows: Rows) -> Floats:
    """Sum the values of `terms` down to the rank of each of `rows`, in the same cell."""
    positions = np.searchsorted(row_keys(terms), row_keys(rows), side="right") - 1
    is_same_cell = np.append(terms.cell, -1)[positions] == rows.cell
    return np.where(is_same_cell, np.append(terms.running(values), 0.0)[positions], 0.0)


def _members(groups: Groups, documents: Rows, rows: Rows) -> Iterator[Floats]:
    """Yield for each group its number of documents, by weight, down to each row."""
    gains = documents.gains
    for group in range(len(groups.names)):
        members = groups.rows.where((groups.rows.grade == group) & (groups.rows.gains > 0))
        place = np.searchsorted(row_keys(documents), row_keys(members))
        yield _running_sum(members, members.gains / gains[place], rows)


@measure(
    "GF",
    summary="Expected similarity of the groups down to the rank of the stop to a target.",
    formula=r"\sum_k P(k) \, (1 - Div(a_k \,\|\, \tau)), \quad"
    r" P(k) = R_k \prod_{i<k} (1 - R_i)",
)
class GroupFairness(_GroupFairness):
    """Group fairness of GFR; the probability of a stop is that of ERR.

    As a user stops at relevant documents only, it depends on relevance: a list without a relevant
    document scores 0, and a perfectly fair one the probability that the user is satisfied, below 1.
    `nmd` and `rnod` take groups in the order of their names. :math:`a_k` is over the documents that
    have a group, and 0 counts where none has: choices of this library.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        return self.fairness(judged, *self.stopping_rows(judged))


@measure(
    "GFR",
    summary="Group fairness and relevance: the mean of ERR or iRBU and of GF.",
    formula=r"\frac{1}{2} \sum_k P(k) \, (u(k) + 1 - Div(a_k \,\|\, \tau)),"
    r" \quad u(k) = 1/k \text{ or } p^k",
)
class GroupFairnessAndRelevance(_GroupFairness):
    """GFR of one set of groups; both parts have the probability of a stop of ERR.

    The plain mean, the highest grade of the collection, and documents without a group not counting
    in :math:`a_k`, are choices of this library. See `GF`.

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
        "ERR", choice("ERR", "iRBU"), "measure of relevance: 'ERR', or 'iRBU' with the same stops"
    )
    p: float = parameter(
        0.99,
        POSITIVE_PROBABILITY,
        "proportion of the utility that remains after each document (iRBU)",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        rows, stop = self.stopping_rows(judged)
        utility = rows.by_rank(lambda rank: 1 / rank if self.relevance == "ERR" else self.p**rank)
        return (rows.total(stop * utility) + self.fairness(judged, rows, stop)) / 2
