r"""User models of P, RR, AP, ERR, DCG, nDCG and Q.

=======  ==========================================================  ==============================
measure  continuation                                                expected utility EU
=======  ==========================================================  ==============================
P@k      1 up to rank k - 1, then 0                                  P@k
RR       1 until a relevant document, then 0                         RR
AP       :math:`\sum_{j>i} g_j/j \,/\, \sum_{j \ge i} g_j/j`         not AP (see below)
ERR      :math:`1 - R_i`                                             not ERR (see below)
nDCG@k   :math:`d(i) / d(i + 1)` up to rank k - 1, then 0            DCG@k divided by a constant
Q        :math:`n_{>i} / n_{\ge i}`, of relevant documents           not Q (see below)
=======  ==========================================================  ==============================

The user of AP (Moffat, Thomas and Scholer 2013) stops at relevant documents only, at rank i with a
probability proportional to 1/i. Relevant documents that are not retrieved are ignored, and the
other weights are scaled to a sum of 1, as in cwl_eval, so that EU is AP times (relevant documents)
/ (relevant documents retrieved).

The user of DCG and nDCG reads rank i of the top k with a probability proportional to 1 / d(i),
where d(i) is the divisor of the discount; gains are divided by the highest gain. The ideal ranking
of nDCG depends on the topic and is not part of the user model.

The user of Q (Sakai and Robertson 2008) stops at each retrieved relevant document with equal
probability. The mean blended ratio at the rank of the stop, times (relevant documents retrieved) /
(relevant documents), is Q; with precision in its place, AP. The blended ratio is not a gain per
rank, so EU(Q) is not Q.

ERR is not an expected utility: it is the mean of 1/i over the rank i at which the user is satisfied
(Azzopardi, Mackenzie and Moffat 2021). The expectations of its user model are those of
NERR8@1000.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.base.spec import parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, divide
from cranfield.measures.base import Info, Measure
from cranfield.measures.gains import (
    GAINS_DOC,
    MAX_GRADE,
    Discount,
    Gain,
    check_nonnegative,
    find_max_grade,
)
from cranfield.measures.grammar import parse_measure
from cranfield.measures.ranked.average_precision import AveragePrecision
from cranfield.measures.ranked.dcg import DCG, nDCG
from cranfield.measures.ranked.ntcir import QMeasure
from cranfield.measures.ranked.precision import Precision, ReciprocalRank
from cranfield.measures.users.model import DEFAULT_MAX_RANK, CutoffModel, Expectations, UserModel
from cranfield.measures.users.page import Page, join_pages, shift_ranks
from cranfield.measures.users.stopping import (
    ExpectedReciprocalRank,
    SatisfiedModel,
    compute_satisfaction,
)


class PrecisionUser(CutoffModel):
    """User model of P@k: users read exactly the top k."""

    info = Info("P", at_usage="required")

    def views(self, rank: Any) -> Any:
        return rank**0


class ReciprocalRankUser(SatisfiedModel):
    """User model of RR: users stop at the first relevant document."""

    info = Info("RR")

    def find_satisfaction(self, gains: Floats) -> Floats:
        return np.where(gains != 0, 1.0, 0.0)


def _compute_continuation(weights: Floats) -> Floats:
    """Return C for users who stop at each rank with a probability proportional to its weight."""
    remaining_weights = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    return divide(shift_ranks(remaining_weights), remaining_weights)


class AveragePrecisionUser(UserModel):
    """User model of AP: users stop at relevant ranks, with probabilities proportional to 1/r."""

    info = Info("AP")

    def continuation(self, page: Page) -> Floats:
        return _compute_continuation(page.gains / page.rank)

    def sum_exactly(self, judged: JudgedRuns, end: int | None, *, is_filled: bool) -> Expectations:
        end = end or DEFAULT_MAX_RANK
        if is_filled:
            sums_by_page = map(_sum_page, self.yield_pages(judged, end, is_filled=True))
            gain, weight_sum, total = join_pages(sums_by_page, judged.shape)
        else:
            rows = self.select_gaining_rows(judged)
            rows = rows.where(rows.rank <= end)
            weights = rows.gains / rows.rank
            gain, weight_sum = rows.total(rows.gains), rows.total(weights)
            total = rows.total(weights * rows.cumulated)
        # Without a relevant document all users stop at rank 1.
        depth = np.where(weight_sum > 0, divide(gain, weight_sum), 1.0)
        return Expectations(divide(total, weight_sum), depth, depth)


def _sum_page(page: Page) -> Floats:
    """Return the sums of g, g / r and cg(r) g / r over the ranks r; shape (3, rankings)."""
    weights = page.gains / page.rank
    total = np.einsum("ij,ij->i", weights, np.cumsum(page.gains, axis=1))
    return np.stack([page.gains.sum(axis=1), weights.sum(axis=1), total])


class _ScaledGainsUser(UserModel):
    """Base class of user models with the gains of a measure, divided by the highest gain."""

    gains: Gain = parameter(Gain("exponential"), check_nonnegative, GAINS_DOC)
    max_grade: int | None = MAX_GRADE

    def compute_document_gains(self, judged: JudgedRuns, rows: Rows) -> Floats:
        divisor = self._find_max_raw_gain(judged) or 1.0
        return np.asarray(self.gains.compute_gains(rows.grade) / divisor)

    def _find_max_raw_gain(self, judged: JudgedRuns) -> float:
        return self.gains.find_max_gain(find_max_grade(judged, self.max_grade, str(self)))


class ERRUser(SatisfiedModel, _ScaledGainsUser):
    """User model of ERR: the gain is the probability of satisfaction."""

    info = Info("ERR")

    def compute_document_gains(self, judged: JudgedRuns, rows: Rows) -> Floats:
        gains, max_gain = self.gains.compute_gains(rows.grade), self._find_max_raw_gain(judged)
        return np.asarray(compute_satisfaction(gains, max_gain))

    def find_max_gain(self, judged: JudgedRuns) -> float:
        max_gain = self._find_max_raw_gain(judged)
        return float(compute_satisfaction(max_gain, max_gain))


class DiscountedUser(CutoffModel, _ScaledGainsUser):
    """User model of DCG@k and nDCG@k: users read the top k with the weights of the discount."""

    info = Info("DCG", at_usage="required")
    discount: Discount = parameter(Discount(), Discount.parse, "divisor of the gain at a rank")

    def views(self, rank: Any) -> Any:
        return self.discount.compute_divisors(np.ones(1)) / self.discount.compute_divisors(rank)


class QUser(_ScaledGainsUser):
    """User model of Q: users stop at each retrieved relevant document with equal probability."""

    info = Info("Q")

    def compute_document_gains(self, judged: JudgedRuns, rows: Rows) -> Floats:
        return np.where(rows.grade >= self.rel, super().compute_document_gains(judged, rows), 0.0)

    def continuation(self, page: Page) -> Floats:
        return _compute_continuation((page.gains > 0).astype(np.float64))


def _make_err_user(measure: ExpectedReciprocalRank) -> ERRUser:
    if isinstance(measure.max_grade, str):
        raise MeasureError(
            f"{measure}: its user model requires one max_grade for all topics, got 'topic'"
        )
    return ERRUser(gains=measure.gains, max_grade=measure.max_grade)


def _make_discounted_user(measure: DCG | nDCG) -> DiscountedUser:
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
    ExpectedReciprocalRank: _make_err_user,
    DCG: _make_discounted_user,
    nDCG: _make_discounted_user,
    QMeasure: lambda measure: QUser(rel=measure.rel, gains=measure.gains),
}
"""Functions that create the user model of a measure."""


def user_model(measure: Measure | str) -> UserModel:
    """Return the user model of a measure or text form.

    Its method `read` computes viewing, continuation and stopping probabilities of rankings.

    Raises
    ------
    MeasureError
        For an unknown measure, or one without a user model.

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
    for measure_class in type(measure).__mro__:
        if measure_class in _MODELS:
            return _MODELS[measure_class](measure)
    choices = f"one of: {', '.join(measure_class.info.name for measure_class in _MODELS)}"
    raise MeasureError(f"{measure} has no user model; use a model such as RBP, or {choices}")
