"""Expectations of the user model of a measure: EU, ETU, EC, ETC, Depth, Residual."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import isinf
from typing import ClassVar

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.base.spec import integer, optional, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import Info, Measure
from cranfield.measures.users.effort import LENGTH
from cranfield.measures.users.model import Expectations, UserModel
from cranfield.measures.users.page import weigh_lengths
from cranfield.measures.users.standard_models import user_model
from cranfield.measures.wrapping import Wrapper, wrapper_measure

_INFINITY = float("inf")


class Expectation(
    Wrapper, family="user models", source="Moffat and others (2017); Azzopardi and others (2019)"
):
    """Base class of expectations of the user model of a measure."""

    depth: int | None = parameter(
        None,
        optional(integer(1, 100_000)),
        "last rank that a user reads; by default the cutoff for P, DCG, nDCG, SDCG, NERR8 and"
        " NERR9, none for RBP, INST and INSQ, whose infinite sums are known, and otherwise 1000",
    )
    inner_example = "RBP"
    scores_cut_rankings = True
    description: ClassVar[str]
    """Format of the summary; {} stands for the inner measure."""
    field_name: ClassVar[str] = "utility"
    """Attribute of :class:`Expectations` that is the score."""
    model: UserModel
    unit: float | None = None
    fixed: float = 0.0
    missing: float | None = None

    def check(self, inner: Measure) -> None:
        name = self.outer_info.name
        if isinstance(inner, Expectation):
            raise MeasureError(
                f"{name}: expected a measure with a user model, such as RBP, got {inner}"
            )
        if self.depth is not None and "depth" in inner.parameters:
            # Only the inner measure keeps the depth, so that equal measures have one text form.
            inner = inner(depth=self.depth)
            vars(self).update(inner=inner, depth=None)
        vars(self)["model"] = user_model(inner)
        if self.unit is None and (self.fixed != 0.0 or self.missing is not None):
            raise MeasureError(
                f"{name}: fixed and missing require unit, the cost per unit of length"
            )
        if self.unit is not None and self.model.reads_lengths:
            raise MeasureError(
                f"{name}: unit cannot be combined with {inner}, which has its own costs"
            )

    def combine_info(self) -> Info:
        inner = self.inner.info
        pairs = getattr(getattr(self.model, "gains", None), "kind", None)
        # Gains of U may be above 1, and so may a mean gain; total gains have no highest value.
        max_gain = max(1.0, *(gain for _, gain in pairs)) if isinstance(pairs, tuple) else 1.0
        low, high = self.outer_info.range
        return replace(
            self.outer_info,
            range=(low, high) if isinf(high) else (low * max_gain, high * max_gain),
            summary=self.description.format(self.inner),
            at_parameter=inner.at_parameter,
            at_usage=inner.at_usage,
            needs=inner.needs,
            inputs=inner.inputs,
            scale=inner.scale,
            needs_one_size=inner.needs_one_size,
        )

    def values(self, judged: JudgedRuns) -> Floats:
        scores: Floats = getattr(self._get_expectations(judged), self.field_name)
        return scores.copy()

    def _get_expectations(self, judged: JudgedRuns, *, is_filled: bool = False) -> Expectations:
        if self.unit is None:
            return self.model.get_expectations(judged, depth=self.depth, is_filled=is_filled)
        costs = partial(weigh_lengths, unit=self.unit, fixed=self.fixed, missing=self.missing)
        return self.model.compute_expected(
            judged, depth=self.depth, is_filled=is_filled, costs=costs
        )


class _CostExpectation(Expectation, range=(0.0, _INFINITY), lower_is_better=True):
    unit: float | None = parameter(
        None,
        optional(LENGTH),
        "cost per unit of length, for costs by the lengths of documents; by default costs"
        " are those of the model: seconds in TBG, characters in U, otherwise 1 per rank",
    )
    fixed: float = parameter(0.0, LENGTH, "cost of each rank in addition to that of its length")
    missing: float | None = parameter(
        None,
        optional(LENGTH),
        "length to assume for documents without a known length, and for ranks beyond the"
        " list; by default an unknown length is an error, and ranks beyond the list have length 0",
    )


@wrapper_measure(
    "EU",
    summary="Gain per rank read: the expected utility of a measure's user model.",
    formula=r"\sum_r W(r) \, g_r",
)
class EU(Expectation):
    r"""Expected utility of a measure with a user model, such as `EU(RBP(p=0.8))`.

    Measures with a user model are P, RR, AP, ERR, RBP, SDCG, DCG and nDCG with a cutoff, Q, INST,
    INSQ, NERR8 to NERR11, BPM, BPMDynamic, TBG, U, CWL, and user-defined models.

    Notes
    -----
    EU is the sum of W(r) g(r) over the ranks r (Moffat and others 2017, section 2). V(r) is the
    probability that a user reads rank r, W(r) is V(r) divided by the sum of V, L(r) is the
    probability that rank r is the last one read, g(r) is the gain of the document, and c(r) the
    cost of reading it. Unjudged documents, and ranks beyond the list or the cutoff, have no gain.
    Differences from cwl_eval, in which n is the last rank:

    ============  =====================================  =========================================
    model         here                                   cwl_eval 1.0.12
    ============  =====================================  =========================================
    all           V(r) g(r) in ETU, V(r) c(r) in ETC:    L(n) excludes users who continue, so
                  all stop at the last rank              that ETU is below EU times depth
    RBP           no last rank (Moffat and Zobel 2008)   weights of 1000 ranks, normalised:
                                                         `EU(RBP, depth=1000)`
    INST, INSQ    no last rank                           1000 ranks: `depth=1000`
    AP            AP divides by the number of relevant   as EU(AP)
                  docs, EU(AP) by those retrieved
    TBG           a sum (Smucker and Clarke 2012); EU    a rate, of the raw gains; EU(TBG)
                  is the rate                            is .4928 times that
    U             a sum at the end of each text          a rate, at the start of each text; no
                  (Sakai 2013, equation 19)              weight for rank n
    BPMDynamic    T and K change with the gains          K is constant: `hc=0`
    ============  =====================================  =========================================

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"b": 3, "c": 2}}
    >>> measures = ["EU(P@2)", "EU(RBP(p=0.5))", "EU(RBP(p=0.5), depth=2)", "EU(AP)", "AP"]
    >>> cf.evaluate(run, qrels, measures).by_system().row(0)[1:]
    (0.5, 0.5, 0.666..., 1.0, 0.5)
    """

    description = "Gain per rank that the user of {} reads."


@wrapper_measure(
    "ETU",
    summary="Gain until the user stops: the expected total utility of a measure's user model.",
    formula=r"\sum_r V(r) \, g_r",
    range=(0.0, _INFINITY),
)
class ETU(Expectation):
    """Expected total utility: the sum of V(r) g(r), which is EU times Depth; see :class:`EU`.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"b": 3, "c": 2}}
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, "ETU(INST(T=2))").by_system().rows()
    [('run', 1.0)]
    """

    description = "Gain until the user of {} stops."
    field_name = "total_utility"


@wrapper_measure(
    "EC",
    summary="Cost per rank read: the expected cost of a measure's user model.",
    formula=r"\sum_r W(r) \, c_r",
)
class EC(_CostExpectation):
    """Expected cost per rank read: the sum of W(r) c(r); see :class:`EU`.

    Where costs depend on length, the default depth is 1000 also for RBP, INST and INSQ.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels, run, words = {"q": {"a": 1}}, {"q": {"b": 3, "c": 2}}, {"b": 100, "c": 300}
    >>> ev = cf.evaluate(run, qrels, ["EC(P@2, unit=1)", "ETC(P@2, unit=1)"], lengths=words)
    >>> ev.by_system().row(0)[1:]
    (200.0, 400.0)
    """

    description = "Cost per rank that the user of {} reads."
    field_name = "cost"


@wrapper_measure(
    "ETC",
    summary="Total cost until the user stops: the expected total cost of a measure's user model.",
    formula=r"\sum_r V(r) \, c_r",
)
class ETC(_CostExpectation):
    """Expected total cost: the sum of V(r) c(r); see :class:`EU` and :class:`EC`."""

    description = "Total cost until the user of {} stops."
    field_name = "total_cost"


@wrapper_measure(
    "Depth",
    summary="Expected number of ranks that a user reads, by the user model of a measure.",
    formula=r"\sum_r V(r) = 1 / W(1)",
    range=(1.0, _INFINITY),
    lower_is_better=True,
)
class Depth(Expectation):
    """Expected depth; cwl_eval calls it expected items.

    Lower is better, as users who collect gain early stop early. In static models all runs have the
    same depth.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.evaluate({"q": {"b": 1}}, {"q": {"b": 1}}, "Depth(RBP(p=0.9))").by_system().rows()
    [('run', 10.0...)]
    """

    description = "Expected number of ranks that the user of {} reads."
    field_name = "depth"


@wrapper_measure(
    "Residual",
    summary="Increase of the expected utility (EU) if all unjudged ranks had the highest gain.",
    formula=r"EU[g_r = g_{max} \text{ at ranks without a judgment}] - EU",
    range=(-1.0, 1.0),
    lower_is_better=True,
    beyond_grades="which documents are judged",
)
class Residual(Expectation):
    """EU if all unjudged ranks have the highest gain, minus EU if they have gain 0.

    Unjudged ranks include those beyond the list or the cutoff (Moffat and Zobel 2008, section 5;
    Moffat and others 2017). The difference may be below 0 in models whose users stop
    earlier with more gain.

    Examples
    --------
    >>> import cranfield as cf
    >>> measures = ["Residual(P@4)", "Residual(RBP(p=0.5))"]
    >>> cf.evaluate({"q": {"a": 3, "x": 2}}, {"q": {"a": 1}}, measures).by_system().row(0)[1:]
    (0.75, 0.5)
    """

    description = "Increase of EU({}) if all unjudged ranks had the highest gain."

    def values(self, judged: JudgedRuns) -> Floats:
        max_utility = self._get_expectations(judged, is_filled=True).utility
        increase = max_utility - self._get_expectations(judged).utility
        # Rounding may give a small difference where every rank is judged.
        return np.where(np.abs(increase) < 1e-14, 0.0, increase)
