r"""User models of P, RR, AP, ERR, DCG, nDCG and Q, which are older than their user models.

=======  ==========================================================  ==============================
measure  continuation                                                 EU of it is
=======  ==========================================================  ==============================
P@k      1 up to rank k - 1, then 0                                   P@k
RR       1 until a relevant document, then 0                          RR
AP       :math:`\sum_{j>i} g_j/j \,/\, \sum_{j \ge i} g_j/j`          AP over the retrieved relevant
ERR      :math:`1 - R_i`                                              not ERR (see below)
nDCG@k   :math:`d(i) / d(i + 1)` up to rank k - 1, then 0             DCG@k over a constant
Q        :math:`n_{>i} / n_{\ge i}`, of relevant documents            not Q (see below)
=======  ==========================================================  ==============================

The user of AP (Moffat, Thomas and Scholer 2013) stops at relevant documents only, at rank i with a
probability in proportion to 1/i. Those who would stop at one that is not retrieved never reach it.
The other weights are scaled to a sum of 1, as in cwl_eval, so that EU is AP times RB / (relevant
documents retrieved).

The user of DCG and nDCG reads the top k with the weights of the discount d; gains are divided by
the highest one. The ideal of nDCG, another for each topic, does not belong to its user.

The user of Q (Sakai and Robertson 2008) stops at each retrieved relevant document with equal
probability. Q is the mean of the blended ratio at the rank of the stop, and AP that of precision,
times (relevant documents retrieved) / RB; they are not gains per rank, so EU(Q) is not Q.

ERR is not an expected utility: it is the mean of 1/i over the rank i at which the user is satisfied
(Azzopardi, Mackenzie and Moffat 2021). The expectations of its user are those of NERR8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.base.spec import parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, ratio
from cranfield.measures.base import Info, Measure
from cranfield.measures.gains import GAINS_DOC, MAX_GRADE, Discount, Gain, highest_of, no_loss
from cranfield.measures.grammar import parse_measure
from cranfield.measures.ranked.average_precision import AveragePrecision
from cranfield.measures.ranked.dcg import DCG, nDCG
from cranfield.measures.ranked.ntcir import QMeasure
from cranfield.measures.ranked.precision import Precision, ReciprocalRank
from cranfield.measures.users.model import LAST, Expected, StaticModel, UserModel
from cranfield.measures.users.page import Page
from cranfield.measures.users.stopping import ExpectedReciprocalRank, SatisfiedModel, satisfying


class PrecisionUser(StaticModel):
    """User of P@k, who reads all of the top k and nothing else."""

    info = Info("P", at_usage="required")

    @property
    def last(self) -> int | None:
        return self.cutoff

    def views(self, rank: Any) -> Any:
        return rank**0


class ReciprocalRankUser(SatisfiedModel):
    """User of RR, who stops at the first relevant document."""

    info = Info("RR")

    def satisfaction(self, gains: Floats) -> Floats:
        return np.where(gains != 0, 1.0, 0.0)


def _stopping_by(weights: Floats) -> Floats:
    """Return C of users who stop at each rank in proportion to its weight."""
    ahead = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    after = np.zeros(ahead.shape)
    after[:, :-1] = ahead[:, 1:]
    return ratio(after, ahead)


class AveragePrecisionUser(UserModel):
    """The user of AP."""

    info = Info("AP")

    def continuation(self, page: Page) -> Floats:
        return _stopping_by(page.gains / page.rank)

    def closed_form(self, judged: JudgedRuns, end: int | None, *, best: bool) -> Expected:
        """Return the sums of V and V g."""
        end = end or LAST
        if best:
            parts = [_page_sums(page) for page in self.lay_out(judged, end, best=True)]
            flat = np.concatenate([*parts, np.empty((3, 0))], axis=1)
            gain, share_sum, total = flat.reshape(3, *judged.shape[::-1]).transpose(0, 2, 1)
        else:
            rows = self.gaining_rows(judged)
            rows = rows.where(rows.rank <= end)
            share = rows.gains / rows.rank
            gain, share_sum = rows.total(rows.gains), rows.total(share)
            total = rows.total(share * rows.cumulated)
        # Without a relevant document all users stop at once.
        depth = np.where(share_sum > 0, ratio(gain, share_sum), 1.0)
        return Expected(ratio(total, share_sum), depth, depth)


def _page_sums(page: Page) -> Floats:
    """Return sums of g, of g / r and of cg g / r; shape (3, rankings)."""
    share = page.gains / page.rank
    total = np.einsum("ij,ij->i", share, np.cumsum(page.gains, axis=1))
    return np.stack([page.gains.sum(axis=1), share.sum(axis=1), total])


class _ScaledGains(UserModel):
    """Base class of users whose gains are those of a measure, divided by the highest one."""

    gains: Gain = parameter(Gain("exponential"), no_loss, GAINS_DOC)
    max_grade: int | None = MAX_GRADE

    def worth(self, judged: JudgedRuns, rows: Rows) -> Floats:
        highest = self._highest(judged)
        return np.asarray(self.gains.for_grades(rows.grade) / (highest if highest > 0 else 1.0))

    def _highest(self, judged: JudgedRuns) -> float:
        top = highest_of(judged, self.max_grade, str(self))
        return float(self.gains.for_grades(np.arange(top + 1)).max())


class ERRUser(SatisfiedModel, _ScaledGains):
    """User of ERR, whose gain is the probability of being satisfied."""

    info = Info("ERR")

    def worth(self, judged: JudgedRuns, rows: Rows) -> Floats:
        return np.asarray(satisfying(self.gains.for_grades(rows.grade), self._highest(judged)))

    def max_gain(self, judged: JudgedRuns) -> float:
        highest = self._highest(judged)
        return float(satisfying(highest, highest))


class DiscountedUser(StaticModel, _ScaledGains):
    """User of DCG@k and nDCG@k, who reads the top k with the weights of the discount."""

    info = Info("DCG", at_usage="required")
    discount: Discount = parameter(Discount(), Discount.parse, "divisor of the gain at a rank")

    @property
    def last(self) -> int | None:
        return self.cutoff

    def views(self, rank: Any) -> Any:
        return self.discount.for_ranks(np.ones(1)) / self.discount.for_ranks(rank)


class QUser(_ScaledGains):
    """User of Q, who stops at each retrieved relevant document with equal probability."""

    info = Info("Q")

    def worth(self, judged: JudgedRuns, rows: Rows) -> Floats:
        return np.where(rows.grade >= self.rel, super().worth(judged, rows), 0.0)

    def continuation(self, page: Page) -> Floats:
        return _stopping_by((page.gains > 0).astype(np.float64))


def _err_user(measure: ExpectedReciprocalRank) -> ERRUser:
    if isinstance(measure.max_grade, str):
        raise MeasureError(f"{measure}: its user model requires one scale of grades for all topics")
    return ERRUser(gains=measure.gains, max_grade=measure.max_grade)


def _discounted_user(measure: DCG | nDCG) -> DiscountedUser:
    if measure.cutoff is None:
        raise MeasureError(
            f"{measure}: its user model requires a cutoff, such as {measure.name}@10, as the"
            " weights of all ranks have no finite sum"
        )
    return DiscountedUser(gains=measure.gains, discount=measure.discount, cutoff=measure.cutoff)


_MODELS: dict[type[Measure], Callable[[Any], UserModel]] = {
    Precision: lambda measure: PrecisionUser(rel=measure.rel, cutoff=measure.cutoff),
    ReciprocalRank: lambda measure: ReciprocalRankUser(rel=measure.rel),
    AveragePrecision: lambda measure: AveragePrecisionUser(rel=measure.rel),
    ExpectedReciprocalRank: _err_user,
    DCG: _discounted_user,
    nDCG: _discounted_user,
    QMeasure: lambda measure: QUser(rel=measure.rel, gains=measure.gains),
}
"""Functions that create the user model of a measure."""


def user_model(measure: Measure | str) -> UserModel:
    """Return the user model of a measure, or of its text.

    Its `read` returns the probabilities of reading, continuing and stopping for rankings of gains.

    Raises
    ------
    MeasureError
        For a measure without a user model.

    Examples
    --------
    >>> reading = user_model("AP").read([1, 0, 1])
    >>> reading.viewed.tolist(), reading.last.tolist(), reading.depth.tolist()
    ([[1.0, 0.25, 0.25]], [[0.75, 0.0, 0.25]], [1.5])
    >>> user_model("nDCG@3").read([1, 0, 1]).viewed.round(3).tolist()
    [[1.0, 0.631, 0.5]]
    """
    if isinstance(measure, str):
        measure = parse_measure(measure)
    if isinstance(measure, UserModel):
        return measure
    for kind in type(measure).__mro__:
        if kind in _MODELS:
            return _MODELS[kind](measure)
    raise MeasureError(f"{measure} has no user model")
