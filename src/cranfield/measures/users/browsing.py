r"""Measures of click models where examination depends on earlier clicks: EBU, DCM, CCM and UBM.

=====  ===========================================  ==============================================
model  probability of continuing after a click;     probability that a click satisfies, for the
       without a click                              effort measure
=====  ===========================================  ==============================================
EBU    :math:`1 - l_i`, by grade; :math:`\gamma`    not defined
DCM    :math:`\lambda_i`, by rank; 1                :math:`1 - \lambda_i`
CCM    :math:`(1-c_i)\tau_2 + c_i\tau_3`;           :math:`c_i`
       :math:`\tau_1`
UBM    not defined: a user whose last click was at  not defined
       rank j examines rank i with probability
       :math:`x_{ij}`
=====  ===========================================  ==============================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.spec import PROBABILITY, optional, parameter
from cranfield.measures.base import measure
from cranfield.measures.users.clicks import (
    SOURCE,
    ChainMeasure,
    EffortMeasure,
    GradedPage,
    ProbabilityLookup,
    ProbabilityMapping,
    UtilityMeasure,
    check_by_grade,
    check_by_rank,
    format_by_rank,
    look_up_value,
)

_UTILITY = r"\sum_i P[C_i = 1] \, g_i"
_EFFORT = r"\sum_i \frac1i \, s_i \, P[C_i = 1]"
_CHAIN = r", \quad P[C_i = 1] = c_i \prod_{j<i} "


@measure(
    "EBU",
    summary="Expected gain of clicked documents if users may leave after a click.",
    formula=_UTILITY + _CHAIN + r"\left( c_j (1 - l_j) + (1 - c_j) \gamma \right)",
    source="Yilmaz and others (2010); Chuklin and others (2013)",
    is_linear=True,
)
class ExpectedBrowsingUtility(ChainMeasure, UtilityMeasure):
    r"""Expected browsing utility.

    Users leave after a click with a probability that depends on the grade of the document, and
    without a click with probability :math:`1 - \gamma`. The score is the utility of a DBN if the
    probability of leaving after a click is :math:`1 - \gamma(1 - s)`.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> text = "EBU(clicks={0: 0.5, 1: 0.8}, leaves={1: 0.5}, gamma=0.9)"
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, text).by_system().rows()
    [('run', 1.240...)]
    """

    leaves: ProbabilityMapping | None = parameter(
        None,
        optional(check_by_grade),
        "probability that a user leaves after a click, by the grade of the clicked"
        " document; 0 for a grade that is not listed",
    )
    gamma: float = parameter(
        1.0, PROBABILITY, "probability that a user who does not click goes on to the next rank"
    )

    @property
    def is_linear(self) -> bool:
        return super().is_linear and self.leaves is None and self.gamma == 1

    def continuation(self, probabilities: ProbabilityLookup, rank: Any) -> Any:
        click = probabilities(self.clicks)
        return click * (1 - probabilities(self.leaves)) + (1 - click) * self.gamma


class _DCM(ChainMeasure, source=SOURCE + "; Guo, Liu and Wang (2009)"):
    continues: ProbabilityMapping | None = parameter(
        None,
        optional(check_by_rank),
        "probability that a user goes on after a click, by rank; ranks after the last listed rank"
        " have its probability",
    )
    required_parameters = (("continues", "{1: 0.6, 2: 0.5}"),)

    def continuation(self, probabilities: ProbabilityLookup, rank: Any) -> Any:
        return 1 - probabilities(self.clicks) * (1 - look_up_value(self.continues, rank))


_DCM_CHAIN = _CHAIN + r"\left( 1 - c_j (1 - \lambda_j) \right)"


@measure(
    "uDCM",
    summary="Expected gain of clicked documents, by the dependent click model.",
    formula=_UTILITY + _DCM_CHAIN,
)
class DCMUtility(_DCM, UtilityMeasure):
    """Utility by the dependent click model: continuation after a click depends on the rank.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> text = "uDCM(clicks={0: 0.2, 1: 0.8}, continues={1: 0.5, 2: 0})"
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, text).by_system().rows()
    [('run', 1.184...)]
    """


@measure(
    "rrDCM",
    summary="Expected reciprocal rank at which a user stops, by the dependent click model.",
    formula=_EFFORT + r", \quad s_i = 1 - \lambda_i" + _DCM_CHAIN,
)
class DCMEffort(_DCM, EffortMeasure):
    r"""Effort by the dependent click model: users who stop after a click are satisfied.

    The score is ERR with :math:`R = c(1 - \lambda)` only if :math:`\lambda` is the same at each
    rank, a condition that Ferro and Maistro (2024, footnote 26) omit.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> texts = ["rrDCM(clicks={1: 0.8}, continues={1: 0.375})", "ERR"]
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, texts).by_system().row(0)[1:]
    (0.583..., 0.583...)
    """

    def compute_click_satisfaction(self, probabilities: ProbabilityLookup, rank: Any) -> Any:
        return 1 - look_up_value(self.continues, rank)


class _CCM(
    ChainMeasure, source=SOURCE + "; Guo, Liu, Kannan, Minka, Taylor, Wang and Faloutsos (2009)"
):
    tau1: float | None = parameter(
        None, optional(PROBABILITY), "probability that a user who does not click goes on"
    )
    tau2: float | None = parameter(
        None, optional(PROBABILITY), "probability of going on after a click that does not satisfy"
    )
    tau3: float | None = parameter(
        None, optional(PROBABILITY), "probability of going on after a click that satisfies"
    )
    required_parameters = (("tau1", "0.9"), ("tau2", "0.8"), ("tau3", "0.3"))

    def continuation(self, probabilities: ProbabilityLookup, rank: Any) -> Any:
        click = probabilities(self.clicks)
        after_click = (1 - click) * self.tau2 + click * self.tau3
        return (1 - click) * self.tau1 + click * after_click


_CCM_CHAIN = _CHAIN + r"\left( (1-c_j)\tau_1 + c_j((1-c_j)\tau_2 + c_j\tau_3) \right)"


@measure(
    "uCCM",
    summary="Expected gain of clicked documents, by the click chain model.",
    formula=_UTILITY + _CCM_CHAIN,
)
class CCMUtility(_CCM, UtilityMeasure):
    """Utility by the click chain model.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> text = "uCCM(clicks={0: 0, 1: 0.5}, tau1=1, tau2=0.5, tau3=0.5)"
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, text).by_system().rows()
    [('run', 0.875)]
    """


@measure(
    "rrCCM",
    summary="Expected reciprocal rank at which a user is satisfied, by the click chain model.",
    formula=_EFFORT + r", \quad s_i = c_i" + _CCM_CHAIN,
    range=(0.0, float("inf")),
)
class CCMEffort(_CCM, EffortMeasure):
    """Effort by the click chain model, with equal probabilities of click and satisfaction.

    Satisfied users may continue and be satisfied again, so scores can be above 1.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> text = "rrCCM(clicks={0: 0, 1: 0.5}, tau1=1, tau2=0.5, tau3=0.5)"
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, text).by_system().rows()
    [('run', 0.3125)]
    """

    def compute_click_satisfaction(self, probabilities: ProbabilityLookup, rank: Any) -> Any:
        return probabilities(self.clicks)


@dataclass(frozen=True)
class BrowsingProbabilities:
    """Examination probabilities: a row for each rank, a value for each rank of the last click.

    Rank 0 stands for no click.
    """

    rows: tuple[tuple[float, ...], ...]

    @property
    def text(self) -> str:
        return format_by_rank(dict(enumerate(row)) for row in self.rows)


def parse_browsing_probabilities(value: Any) -> BrowsingProbabilities:
    """Convert a mapping of ranks; raise a ValueError with the expected form for other values."""
    if isinstance(value, BrowsingProbabilities):
        return value
    description = (
        "a mapping of each rank, from 1, to probabilities by the rank of the last click above"
        " (0 for no click), such as {1: {0: 1}, 2: {0: 0.9, 1: 0.7}}"
    )
    if not isinstance(value, Mapping) or not value or {*value} != {*range(1, len(value) + 1)}:
        raise ValueError(description)
    rows = []
    for rank in range(1, len(value) + 1):
        row = value[rank]
        if not isinstance(row, Mapping) or {*row} != {*range(rank)}:
            raise ValueError(description)
        rows.append(tuple(PROBABILITY(row[click_rank]) for click_rank in range(rank)))
    return BrowsingProbabilities(tuple(rows))


@measure(
    "uUBM",
    summary="Expected gain of clicked documents, by the user browsing model.",
    formula=_UTILITY
    + r", \quad P[C_i = 1] = \sum_{j<i} P[\text{last click above } i \text{ at } j]"
    r" \, c_i \, x_{ij}",
    source=SOURCE + "; Dupret and Piwowarski (2008)",
)
class UBMUtility(UtilityMeasure):
    """Utility by the user browsing model, which depends on the rank of the last click.

    Ranks beyond the last listed rank are not examined. There is no measure of effort, as the model
    does not include satisfaction.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> probabilities = "{1: {0: 1}, 2: {0: 0.9, 1: 0.8}, 3: {0: 0.5, 1: 0.5, 2: 1}}"
    >>> text = f"uUBM(clicks={{0: 0, 1: 0.5}}, examined_after={probabilities})"
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, text).by_system().rows()
    [('run', 0.75)]
    """

    examined_after: BrowsingProbabilities | None = parameter(
        None,
        optional(parse_browsing_probabilities),
        "probability that a rank is examined, by rank and by the rank of the last click"
        " above (0 for no click); all combinations must be listed",
    )
    required_parameters = (("examined_after", "{1: {0: 1}, 2: {0: 0.9, 1: 0.7}}"),)

    def predict_clicks(self, page: GradedPage) -> Floats:
        assert self.examined_after is not None
        click = page.look_up(self.clicks)
        clicks_by_rank = np.zeros(click.shape)
        # Probability of the rank of the last click so far; index 0 stands for no click.
        last_click = np.zeros((len(self.examined_after.rows) + 1, click.shape[0]))
        last_click[0] = 1.0
        for rank, row in enumerate(self.examined_after.rows[: click.shape[1]], 1):
            clicks = last_click[:rank] * (np.array(row)[:, np.newaxis] * click[:, rank - 1])
            last_click[:rank] -= clicks
            clicks_by_rank[:, rank - 1] = last_click[rank] = clicks.sum(axis=0)
        return clicks_by_rank
