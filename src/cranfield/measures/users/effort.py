"""User models with a target gain, costs or a discount: TBG, U, BPM, INST, INSQ, SDCG.

Unjudged documents, and ranks beyond the end of the list or the cutoff, have no gain. Other
expectations of these models are measures such as `ETU(INST)`, `Depth(INST)` and `Residual(INST)`.

Users of INST and INSQ continue from rank i with probability ((i + a - 1) / (i + a))^2, where a is
2T minus the gain so far (INSQ: 2T). Between two gains a is constant, and the product of these
probabilities telescopes: rank i is read with probability proportional to 1 / (i - 1 + a)^2. Sums of
such probabilities are differences of the trigamma function, even over infinite rankings. Where
every rank gains 1, i + a is constant, and the probabilities decrease geometrically.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.base.spec import (
    POSITIVE_PROBABILITY,
    PROBABILITY,
    integer,
    number,
    optional,
    parameter,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, divide
from cranfield.measures.base import MAX_SUMMED_RANKS, measure
from cranfield.measures.gains import MAX_GRADE, Discount, Gain, check_nonnegative, find_max_grade
from cranfield.measures.ranked.precision import REL, REL_DOC, SPACING_NOTE
from cranfield.measures.users.model import (
    DEFAULT_MAX_RANK,
    CutoffModel,
    Expectations,
    StaticModel,
    UserModel,
)
from cranfield.measures.users.page import (
    Page,
    fill_lengths,
    join_pages,
    shift_ranks,
    weigh_lengths,
)

_TIME = number(0, 1e6)
LENGTH = number(0, 1e15)


@measure(
    "TBG",
    summary="Sum of gains, each halved for every h seconds spent on the documents above.",
    formula=r"\Pr_{click} \Pr_{save} \sum_r g_r \, e^{-T(r) \ln 2 / h}, \quad"
    r" T(r) = \sum_{k<r} \left( T_S + \Pr_{click}(k) \, (a L(k) + b) \right)",
    source="Smucker and Clarke (2012)",
    range=(0.0, float("inf")),
    inputs=("lengths",),
    needs="the lengths of all retrieved documents, in words",
    elsewhere={"cwl_eval": "TBG-H@h, which is a rate: EU(TBG) divided by click * save"},
)
class TimeBiasedGain(UserModel):
    r"""Time-biased gain, with the values that Smucker and Clarke (2012) calibrated.

    The gain of a relevant document is the probability of a click on its summary times the
    probability of recognising it as relevant, .64 * .77 = .4928; other documents have no gain.
    Users read every summary. After a click they also read the document, for 7.8 seconds plus 0.018
    seconds per word. Unjudged documents are clicked like non-relevant documents. As an extension of
    the paper, gains may be graded; they are then multiplied by .4928.

    TBG is the total utility of its user model, `ETU(TBG)`. The costs `ETC(TBG)` are in seconds, and
    include the time for summaries at ranks beyond the end of the list.

    Examples
    --------
    >>> import cranfield as cf
    >>> run, words = {"q": {"a": 2, "b": 1}}, {"a": 1000, "b": 500}
    >>> cf.evaluate(run, {"q": {"b": 1}}, "TBG", lengths=words).by_system().rows()
    [('run', 0.471...)]
    """

    h: float = parameter(224.0, number(0, 1e9, excludes_low=True), "half-life of gains, in seconds")
    summary: float = parameter(4.4, _TIME, "seconds to read a summary (T_S)")
    click: float = parameter(
        0.64, POSITIVE_PROBABILITY, "probability of a click on a relevant document"
    )
    click_other: float = parameter(0.39, PROBABILITY, "probability of a click on another document")
    save: float = parameter(
        0.77,
        POSITIVE_PROBABILITY,
        "probability that a clicked relevant document is recognised as relevant",
    )
    a: float = parameter(0.018, _TIME, "seconds to read a word")
    b: float = parameter(7.8, _TIME, "seconds per document, in addition to those for its words")
    unit: float = parameter(1.0, LENGTH, "number of words in one unit of the lengths")
    missing: float | None = parameter(
        None, optional(LENGTH), "length to assume for documents without a known length"
    )

    reads_lengths = True

    def compute_document_gains(self, judged: JudgedRuns, rows: Rows) -> Floats:
        return self.click * self.save * super().compute_document_gains(judged, rows)

    def find_max_gain(self, judged: JudgedRuns) -> float:
        return self.click * self.save

    def compute_costs(self, page: Page) -> Floats:
        """Return the seconds for each rank; beyond the list, the seconds to read a summary."""
        click = np.where(page.gains > 0, self.click, self.click_other)
        reading = self.a * self.unit * fill_lengths(page, self.missing) + self.b
        return self.summary + np.where(page.has_document, click * reading, 0.0)

    def continuation(self, page: Page) -> Floats:
        return np.asarray(np.exp2(-page.costs / self.h))

    def values(self, judged: JudgedRuns) -> Floats:
        # Ranks beyond the lists have no gain.
        depth = max(int(judged.n_retrieved.max(initial=0)), 1)
        return self.compute_expected(judged, depth=depth).total_utility


@measure(
    "U",
    aliases=("UMeasure",),
    summary="Sum of gains, which decrease linearly to 0 until L characters are read.",
    formula=r"\frac{1}{N} \sum_r g(r) \max\left(0, 1 - \frac{pos(r)}{L}\right), \quad"
    r" pos(r) = \sum_{k \le r} \left( |s_k| + [g(k) > 0] \, F \, |d_k| \right),"
    r" \quad g(r) = \frac{2^{\mathit{grade}_r} - 1}{2^{\mathit{grade}_{max}}}",
    source="Sakai and Dou (2013)",
    range=(0.0, float("inf")),
    inputs=("lengths",),
    needs="the lengths of relevant retrieved documents, in characters",
    elsewhere={
        "cwl_eval": "U-L@L, divided by L, with the gain of a document at the start of its text"
    },
)
class UMeasure(UserModel):
    r"""The U-measure of a ranked list, read from top to bottom (Sakai 2013, figure 5 (b)).

    The text that a user reads consists of the snippet of each rank, followed by the proportion F of
    the document if it is relevant. Gains are discounted at the end of the text of each document.
    Unjudged documents are skipped like non-relevant ones, so that only lengths of relevant
    documents matter. Gains are (2^g - 1) / 2^max_grade, or g / (max_grade + 1) with `linear`, or
    those of a mapping. Scores are divided by the constant N, and not normalised otherwise.

    `ETU(U)` is U times N, divided by the discount at the end of the first text, as users of the
    C/W/L framework always read the first rank. Costs are in characters.

    Examples
    --------
    >>> import cranfield as cf
    >>> run, characters = {"q": {"a": 2, "b": 1}}, {"b": 5000}
    >>> ev = cf.evaluate(run, {"q": {"b": 1}}, "U(L=2000, gains={1: 1})", lengths=characters)
    >>> ev.by_system().rows()  # 200 + 200 + .2 * 5000 characters
    [('run', 0.3...)]
    """

    rel: int = parameter(1, REL, REL_DOC)
    gains: Gain = parameter(
        Gain("exponential"),
        check_nonnegative,
        "gain of a grade: 'exponential', (2^g - 1) / 2^max_grade; 'linear', g /"
        " (max_grade + 1); or a mapping of grades to gains, in which a grade that is not"
        " listed has gain 0",
    )
    max_grade: int | None = MAX_GRADE
    L: float = parameter(
        132000.0,
        number(0, 1e15, excludes_low=True),
        "number of characters after which documents have no gain",
    )
    snippet: float = parameter(200.0, LENGTH, "characters of a snippet")
    F: float = parameter(0.2, number(0, 1), "proportion of a relevant document that is read")
    N: float = parameter(1.0, number(0, 1e15, excludes_low=True), "divisor of scores")
    unit: float = parameter(1.0, LENGTH, "number of characters in one unit of the lengths")
    missing: float | None = parameter(
        None, optional(LENGTH), "length to assume for documents without a known length"
    )

    reads_lengths = True

    def compute_document_gains(self, judged: JudgedRuns, rows: Rows) -> Floats:
        return self.scale_gains(judged, rows.grade) * (rows.grade >= self.rel)

    def scale_gains(self, judged: JudgedRuns, grades: Any) -> Floats:
        """Return gains by grade, on the scale of the judgments; D(U) sums them over intents."""
        return self._find_scale(judged) * self._compute_raw_gains(grades)

    def find_max_gain(self, judged: JudgedRuns) -> float:
        grades = self.gains.list_candidate_grades(find_max_grade(judged, self.max_grade, str(self)))
        return float(self._find_scale(judged) * self._compute_raw_gains(grades).max())

    def _compute_raw_gains(self, grades: Any) -> Floats:
        if isinstance(self.gains.kind, str):
            return self.gains.compute_gains(grades)
        return np.asarray(self.gains.look_up_gains(grades))

    def _find_scale(self, judged: JudgedRuns) -> float:
        if self.gains.kind not in {"exponential", "linear"}:
            return 1.0
        max_grade = find_max_grade(judged, self.max_grade, str(self))
        return 1.0 / (self.gains.find_max_gain(max_grade) + 1.0)

    def compute_costs(self, page: Page) -> Floats:
        """Return the number of characters to read at each rank; of a snippet beyond the list."""
        text = np.where((page.gains > 0) & page.has_document, fill_lengths(page, self.missing), 0.0)
        return np.asarray(self.snippet + self.F * self.unit * text)

    def compute_discounts(self, page: Page) -> Floats:
        """Return the discount D(pos) at the end of the text of each rank."""
        return np.maximum(0.0, 1.0 - np.cumsum(page.costs, axis=1) / self.L)

    def continuation(self, page: Page) -> Floats:
        discounts = self.compute_discounts(page)
        return divide(shift_ranks(discounts), discounts)

    def values(self, judged: JudgedRuns) -> Floats:
        depth = max(int(judged.n_retrieved.max(initial=0)), 1)
        scores_by_page = (
            np.einsum("ij,ij->i", page.gains, self.compute_discounts(page))
            for page in self.yield_pages(judged, depth)
        )
        return join_pages(scores_by_page, judged.shape) / self.N


# Below 1/2 a continuation probability may be outside [0, 1].
GAIN_TARGET = number(0.5, 1000)


def compute_insq_views(target: Any, rank: Any) -> Any:
    """Return V(r) of INSQ, the product of ((i + 2T - 1) / (i + 2T))^2 over the ranks i < r."""
    return (2 * target / (rank + 2 * target - 1)) ** 2


class _GainTargetModel(UserModel, scale_note=SPACING_NOTE):
    T: float = parameter(
        1.0,
        GAIN_TARGET,
        "target gain: the total gain that the user wants; with binary gains, a number of documents",
    )
    depth: int | None = parameter(
        None,
        optional(integer(1)),
        "last rank that a user reads; by default no limit, so that weights continue beyond the"
        " list",
    )

    @property
    def max_rank(self) -> int | None:
        return self.depth


@measure(
    "INST",
    summary="Gain per document of a user with target gain T, whose stopping probabilities increase"
    " with the collected gain.",
    formula=r"\frac{\sum_r V(r) \, g_r}{\sum_r V(r)}, \quad V(r) = \prod_{i<r} C(i), \quad"
    r" C(i) = \left( \frac{i + T + T_i - 1}{i + T + T_i} \right)^2,"
    r" \quad T_i = T - \sum_{j \le i} g_j",
    source="Moffat and others (2015); Moffat and others (2017)",
    elsewhere={"cwl_eval": "EU of INST-T=..., with depth=1000"},
)
class INST(_GainTargetModel):
    """INST, by default of an infinite ranking; ranks beyond the list have no gain."""

    def continuation(self, page: Page) -> Floats:
        return _compute_continuation(page.rank + 2.0 * self.T - np.cumsum(page.gains, axis=1))

    def sum_exactly(self, judged: JudgedRuns, end: int | None, *, is_filled: bool) -> Expectations:
        """Sum over the intervals between two gains, each in closed form."""
        rows = self.select_special_rows(judged, is_filled=is_filled, end=end)
        fill_gain = float(is_filled)
        n_filled = rows.rank - rows.row_numbers
        levels = 2.0 * self.T - rows.cumulate(rows.gains) - fill_gain * n_filled
        ends = rows.rank.astype(np.float64)
        rank, a = rows.get_previous(ends, 0.0), rows.get_previous(levels, 2.0 * self.T)
        views = rows.cumulate_products(_compute_reach_probability(rank, a, ends, fill_gain))
        depth = rows.total(rows.get_previous(views, 1.0) * _compute_depth(rank, a, ends, fill_gain))
        last_rank, last_a = rows.get_lasts(ends, 0.0), rows.get_lasts(levels, 2.0 * self.T)
        stop = np.full(rows.shape, np.inf if end is None else float(end))
        depth_below = _compute_depth(last_rank, last_a, stop, fill_gain)
        depth = depth + rows.get_lasts(views, 1.0) * depth_below
        if is_filled:
            return Expectations(depth - rows.total((1.0 - rows.gains) * views), depth, depth)
        return Expectations(rows.total(rows.gains * views), depth, depth)


@measure(
    "INSQ",
    summary="Gain per document of a user with target gain T, whose stopping probabilities do not"
    " depend on the collected gain.",
    formula=r"\sum_r W(r) \, g_r, \quad W(r) \propto \frac{1}{(r + 2T - 1)^2}",
    source="Moffat and others (2012)",
    elsewhere={"cwl_eval": "EU of INSQ-T=..., with depth=1000"},
    is_linear=True,
    expectation="documents",
)
class INSQ(_GainTargetModel, StaticModel):
    """INSQ, by default of an infinite ranking, with which the sum of V is 4 T^2 trigamma(2T)."""

    def views(self, rank: Any) -> Any:
        return compute_insq_views(self.T, rank)

    def compute_expected_depth(self, end: int | None) -> float:
        tail = 0.0 if end is None else float(trigamma(2.0 * self.T + end))
        return 4.0 * self.T**2 * (float(trigamma(2.0 * self.T)) - tail)


@measure(
    "SDCG",
    summary="Scaled DCG: gain per document of a user who reads the top k with the weights of DCG.",
    formula=r"\sum_{r=1}^{k} W(r) \, g_r, \quad"
    r" W(r) = \frac{1 / \log_2(r + 1)}{\sum_{j=1}^{k} 1 / \log_2(j + 1)}",
    source="Moffat and others (2013)",
    at_usage="required",
    scale_note="in general not on an interval scale; it is DCG divided by a constant",
    elsewhere={"cwl_eval": "EU of NDCG-k@..."},
    is_linear=True,
    expectation="documents",
)
class ScaledDCG(CutoffModel):
    """DCG divided by its maximum for k ranks; unlike nDCG, it does not use the ideal ranking."""

    discount = Discount()

    def views(self, rank: Any) -> Any:
        return 1.0 / self.discount.compute_divisors(rank)

    def compute_expected_depth(self, end: int | None) -> float:
        if end is None or end <= MAX_SUMMED_RANKS:
            return super().compute_expected_depth(end)
        # Euler-Maclaurin formula; its next term is below floating-point precision.
        logs = np.log(np.array([MAX_SUMMED_RANKS, end]) + 1.0)
        ends = 0.5 / logs - np.exp(-logs) / (12.0 * logs**2)
        tail = _integrate_reciprocal_log(*logs) + float(ends[1] - ends[0])
        return super().compute_expected_depth(MAX_SUMMED_RANKS) + float(np.log(2.0)) * tail


def _integrate_reciprocal_log(low: float, high: float) -> float:
    """Integrate 1 / ln(x) from exp(low) to exp(high)."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    cuts = np.linspace(low, high, 2 + int(high - low))
    half_widths = np.diff(cuts)[:, None] / 2.0
    points = cuts[:-1, None] + half_widths * (1.0 + nodes)
    return float((half_widths * weights * np.exp(points) / points).sum())


def trigamma(x: ArrayLike) -> Floats:
    r"""Compute the trigamma function, the sum of 1 / (x + i)^2 over i = 0, 1, ..., for x > 0.

    Source: Abramowitz and Stegun, 6.4.10 and 6.4.12. The value for infinity is 0.
    """
    values = np.asarray(x, dtype=np.float64)
    # From 16 the relative error of the series is below 1e-13.
    is_small = values < 16.0
    small_values, sums = values[is_small], np.zeros(np.count_nonzero(is_small))
    for step in range(16):
        sums += 1.0 / (small_values + step) ** 2
    large_values = 1.0 / np.where(is_small, values + 16.0, values)
    square = large_values * large_values
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    trigammas = np.asarray(large_values * (1.0 + large_values / 2 + series))
    trigammas[is_small] += sums
    return trigammas


def _compute_reach_probability(rank: Floats, a: Floats, end: Floats, fill_gain: float) -> Floats:
    """Compute the probability of reaching `end` from `rank` (0 is the start) past equal gains."""
    is_start = rank == 0
    if fill_gain:
        return np.asarray(_compute_continuation(rank + a) ** (end - rank - is_start))
    return np.asarray(((rank + a - np.where(is_start, 0.0, 1.0)) / (end + a - 1.0)) ** 2)


def _compute_depth(rank: Floats, a: Floats, end: Floats, fill_gain: float) -> Floats:
    """Compute the expected number of ranks read from `rank` + 1 to `end`, if `rank` is read."""
    is_start = rank == 0
    if fill_gain:
        c = _compute_continuation(rank + a)
        return np.asarray(np.where(is_start, 1.0, c) * (1.0 - c ** (end - rank)) / (1.0 - c))
    factor = (rank + a - np.where(is_start, 0.0, 1.0)) ** 2
    return np.asarray(factor * (trigamma(rank + a) - trigamma(end + a)))


def _compute_continuation(level: Any) -> Floats:
    return np.asarray(((level - 1.0) / level) ** 2)


SUM_TOLERANCE = 1e-9
"""Rounding error up to which a sum of gains or costs is considered to reach a limit."""

_CONTINUES = r"[\sum_{j \le i} g_j < T_i] \, [\sum_{j \le i} c_j < K_i]"


class _BejeweledPlayerModel(UserModel, scale_note=SPACING_NOTE):
    """Base class of Bejeweled player models (BPM)."""

    T: float = parameter(1.0, number(0, 1e9), "total gain at which the user stops")
    K: float = parameter(
        10.0, number(0, 1e15), "total cost at which the user stops; see unit for the costs"
    )
    unit: float | None = parameter(
        None,
        optional(number(0, 1e15)),
        "cost per unit of length; by default the cost of each rank is 1",
    )
    missing: float | None = parameter(
        None,
        optional(LENGTH),
        "length to assume for documents without a known length, and for ranks beyond the list",
    )

    @property
    def reads_lengths(self) -> bool:
        return self.unit is not None

    def compute_costs(self, page: Page) -> Floats:
        if self.unit is None:
            return super().compute_costs(page)
        return weigh_lengths(page, self.unit, missing=self.missing)

    def continuation(self, page: Page) -> Floats:
        total_gain = np.cumsum(page.gains, axis=1)
        total_cost = np.cumsum(self.compute_costs(page), axis=1)
        max_gain, max_cost = self.compute_limits(page.rank, total_gain - page.gains)
        # Ten gains of .1 reach T = 1, although their sum in floating point does not.
        is_below_gain = total_gain < max_gain - SUM_TOLERANCE
        is_below_cost = total_cost < max_cost - SUM_TOLERANCE
        return np.asarray(is_below_gain & is_below_cost, dtype=np.float64)

    def compute_limits(self, rank: Any, prior_gain: Any) -> tuple[Any, Any]:
        """Return T and K at each rank; `prior_gain` is the total gain of the ranks above."""
        return self.T, self.K

    def find_max_depth(self) -> float:
        """Bound the number of ranks read, before rounding up, if each rank costs 1."""
        raise NotImplementedError

    def get_expectations(
        self, judged: JudgedRuns, *, depth: int | None = None, is_filled: bool = False
    ) -> Expectations:
        if self.unit is None:
            max_rank = self.limit_rank(depth) or DEFAULT_MAX_RANK
            depth = max(1, int(min(float(max_rank), np.ceil(self.find_max_depth()) + 1.0)))
        return super().get_expectations(judged, depth=depth, is_filled=is_filled)


@measure(
    "BPM",
    summary="Gain per document of a user who stops at a total gain of T, or a total cost of K.",
    formula=rf"\sum_r W(r) \, g_r, \quad C(i) = {_CONTINUES}, \quad T_i = T, \; K_i = K",
    source="Zhang and others (2017)",
    elsewhere={"cwl_eval": "EU of BPM-Static-T=...-K=...", "ir_measures": "BPM(T=...)@K"},
)
class BPM(_BejeweledPlayerModel):
    """The static model, in which T and K are constant."""

    @property
    def last_rank(self) -> int | None:
        max_cost_rank = None if self.reads_lengths else max(1, ceil(self.K))
        ranks = (self.limit_rank(self.cutoff), max_cost_rank)
        return min((rank for rank in ranks if rank), default=None)

    def find_max_depth(self) -> float:
        return self.K


@measure(
    "BPMDynamic",
    summary="BPM of a user whose limits T and K increase with the quality of the documents.",
    formula=rf"\sum_r W(r) \, g_r, \quad C(i) = {_CONTINUES}, \quad"
    r" T_i = T + h_b \sum_{j<i} (g_j - g_{med}), \; K_i = K + h_c \sum_{j<i} (g_j - g_{med})",
    source="Zhang and others (2017); Azzopardi and others (2019)",
    elsewhere={"cwl_eval": "EU of BPM-Dynamic, in which K is constant (hc=0)"},
)
class BPMDynamic(_BejeweledPlayerModel):
    """The dynamic model: gains above `median` raise both limits, and gains below it lower them."""

    hb: float = parameter(
        1.0, number(0, 1e6), "increase of the target gain T per unit of gain above median"
    )
    hc: float = parameter(
        1.0, number(0, 1e6), "increase of the cost limit K per unit of gain above median"
    )
    median: float = parameter(0.5, number(0, 1), "gain that changes neither T nor K")

    def compute_limits(self, rank: Any, prior_gain: Any) -> tuple[Any, Any]:
        change = prior_gain - self.median * (rank - 1)
        return self.T + self.hb * change, self.K + self.hc * change

    def find_max_depth(self) -> float:
        rise = self.hc * (1.0 - self.median)
        return (self.K - rise) / (1.0 - rise) if rise < 1.0 else float("inf")
