"""Measures of the retrieved set, which ignore its order; and counts of its documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.scale_types import Scale
from cranfield.base.spec import integer, number, parameter, to_fraction
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import divide
from cranfield.measures.base import Measure, measure
from cranfield.measures.ranked.precision import CountAtCutoff, CountMeasure, RelevanceMeasure

_BETA = parameter(1.0, number(0, 1e6), "importance of recall relative to precision")


class _SetMeasure(
    CountMeasure,
    family="sets",
    scale=Scale.INTERVAL,
    scale_note="on an interval scale for binary relevance and sets of equal size"
    " (Ferrante et al. 2019)",
    is_monotone=True,
    ignores_order=True,
):
    """Base class of measures of sets on an interval scale, at least among sets of one size."""


class _OneSizeMeasure(
    _SetMeasure, beyond_length="how many documents are retrieved", needs_one_size=True
):
    """Base class of measures of sets whose steps depend on the size of the set."""


def f_measure(precision: Any, recall: Any, beta: Any) -> Any:
    r"""Compute the F-measure, in which recall is beta times as important as precision.

    .. math:: F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}

    F is 0 where precision and recall are both 0. Source: Sakai (2013), equations 5, 39, 42 and 46.
    """
    return divide((1 + beta**2) * precision * recall, beta**2 * precision + recall)


@measure(
    "SetP",
    summary="Proportion of relevant documents among the retrieved documents.",
    formula=r"|A \cap B| / |B|",
    source="Kent and others (1955); Cleverdon (1967)",
    elsewhere={"trec_eval": "set_P", "ir_measures": "SetP", "ranx": "precision"},
)
class SetPrecision(_OneSizeMeasure):
    """Precision of the retrieved set."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return divide(n_hits, n_retrieved)


@measure(
    "SetR",
    summary="Proportion of the relevant documents that are retrieved.",
    formula=r"|A \cap B| / |A|",
    source="Kent and others (1955); Cleverdon (1967)",
    elsewhere={"trec_eval": "set_recall", "ir_measures": "SetR", "ranx": "recall"},
)
class SetRecall(_SetMeasure):
    """Recall of the retrieved set."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return divide(n_hits, n_relevant)


@measure(
    "SetRelP",
    summary="Set precision, divided by the highest value that the sizes of the sets allow.",
    formula=r"|A \cap B| / \min(|A|, |B|)",
    source="trec_eval, measure set_relative_P",
    elsewhere={"trec_eval": "set_relative_P", "ir_measures": "SetP(relative=True)"},
)
class SetRelativePrecision(_OneSizeMeasure):
    """Relative precision of the retrieved set."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return divide(n_hits, np.minimum(n_retrieved, n_relevant))


@measure(
    "SetAP",
    summary="Set precision times set recall: average precision without an order.",
    formula=r"|A \cap B|^2 / (|A| \, |B|)",
    source="trec_eval, measure set_map",
    elsewhere={"trec_eval": "set_map", "ir_measures": "SetAP"},
    beyond_length="how many documents are retrieved",
    family="sets",
    ignores_order=True,
)
class SetAveragePrecision(CountMeasure):
    """AP if the precision at each retrieved relevant document were that of the retrieved set."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return divide(n_hits * n_hits, n_retrieved * n_relevant)


@measure(
    "SetF",
    summary="F-measure: weighted harmonic mean of set precision and set recall.",
    formula=r"\frac{(\beta^2 + 1) P R}{\beta^2 P + R}",
    source="van Rijsbergen (1979); Chinchor (1992)",
    elsewhere={
        "trec_eval": "set_F.x with x = beta squared",
        "ir_measures": "SetF(beta=x) with x = beta squared",
        "ranx": "f1",
    },
)
class FMeasure(_OneSizeMeasure):
    """F-measure; recall is `beta` times as important as precision."""

    beta: float = _BETA

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return f_measure(divide(n_hits, n_retrieved), divide(n_hits, n_relevant), self.beta)


@measure(
    "F",
    aliases=("F1",),
    summary="F-measure at a cutoff: weighted harmonic mean of P@k and R@k.",
    formula=r"\frac{(\beta^2 + 1) P@k \, R@k}{\beta^2 P@k + R@k}",
    source="van Rijsbergen (1979); Chinchor (1992)",
    scale_note="on an interval scale for binary relevance on one topic, but not over topics of"
    " different recall bases",
    elsewhere={"ranx": "f1@k (equal for lists of at least k documents)"},
)
class FAtCutoff(CountAtCutoff):
    """F-measure of the top k; precision is divided by the cutoff also for shorter lists."""

    beta: float = _BETA

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return f_measure(n_hits / (self.cutoff or 1), divide(n_hits, n_relevant), self.beta)


@measure(
    "SetE",
    summary="E-measure: one minus the F-measure; lower is better.",
    formula=r"1 - \frac{(\beta^2 + 1) P R}{\beta^2 P + R}",
    source="van Rijsbergen (1974); van Rijsbergen (1979)",
    lower_is_better=True,
)
class EMeasure(_OneSizeMeasure):
    """E-measure of van Rijsbergen, whose alpha is 1 / (beta^2 + 1)."""

    beta: float = _BETA

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return 1 - f_measure(divide(n_hits, n_retrieved), divide(n_hits, n_relevant), self.beta)


_VALUE = number(-1e15, 1e15)


@measure(
    "Utility",
    summary="Utility of the retrieved set, with a value for each kind of document.",
    formula=r"a\,|A \cap B| + b\,|B \setminus A| + c\,|A \setminus B| + d\,(D - |A \cup B|)",
    source="trec_eval, measure utility",
    range=(float("-inf"), float("inf")),
    scale=Scale.INTERVAL,
    scale_note="on an interval scale, as it is a linear function of counts",
    elsewhere={"trec_eval": "utility_a,b,c,d"},
    beyond_length="how many documents are retrieved",
    family="sets",
    ignores_order=True,
)
class Utility(CountMeasure):
    """Linear utility of the contingency table; `docs` is the size D of the collection."""

    a: float = parameter(1.0, _VALUE, "value of a relevant retrieved document")
    b: float = parameter(-1.0, _VALUE, "value of a retrieved document that is not relevant")
    c: float = parameter(0.0, _VALUE, "value of a relevant document that is not retrieved")
    d: float = parameter(0.0, _VALUE, "value of any other document of the collection")
    docs: int = parameter(0, integer(0, 10**15), "number of documents in the collection")

    @property
    def needs_one_size(self) -> bool:
        """False if a = c, if b = d, or if a - c is an integer multiple of b - d; otherwise True."""
        a, b, c, d = map(to_fraction, (self.a, self.b, self.c, self.d))
        return bool(a - c and b - d) and ((a - c) / (b - d)).denominator != 1

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        n_others = self.docs + n_hits - n_retrieved - n_relevant
        total = self.a * n_hits + self.b * (n_retrieved - n_hits) + self.c * (n_relevant - n_hits)
        return total + self.d * n_others


class _SummedCount(
    Measure,
    range=(0.0, float("inf")),
    family="counts",
    aggregate="sum",
    scale=Scale.RATIO,
    source="trec_eval",
    beyond_grades="counts of retrieved and judged documents",
):
    """Base class of counts, which are summed over topics."""


@measure(
    "NumQ",
    summary="Number of evaluated topics (1 for each topic).",
    formula="1",
    at_usage="none",
    elsewhere={"trec_eval": "num_q", "ir_measures": "NumQ"},
)
class NumTopics(_SummedCount):
    """1 for each topic; the sum is the number of topics."""

    def values(self, judged: JudgedRuns) -> Floats:
        return np.ones(judged.shape)


@measure(
    "NumRet",
    summary="Number of retrieved documents.",
    formula="|B|",
    elsewhere={"trec_eval": "num_ret", "ir_measures": "NumRet"},
)
class NumRetrieved(_SummedCount):
    """Number of retrieved documents (in the top k)."""

    def values(self, judged: JudgedRuns) -> Floats:
        return judged.n_retrieved.astype(np.float64)


@measure(
    "NumRel",
    summary="Number of relevant documents of the topic: the recall base.",
    formula="RB = |A|",
    at_usage="none",
    elsewhere={"trec_eval": "num_rel", "ir_measures": "NumRel"},
)
class NumRelevant(_SummedCount, RelevanceMeasure):
    """Recall base, also of topics that are missing from a run."""

    def values(self, judged: JudgedRuns) -> Floats:
        return np.broadcast_to(judged.recall_base(self.rel), judged.shape).astype(np.float64)


@measure(
    "NumRelRet",
    summary="Number of relevant documents retrieved.",
    formula=r"|A \cap B|",
    elsewhere={"trec_eval": "num_rel_ret", "ir_measures": "NumRelRet"},
    beyond_grades="",
    is_linear=True,
    expectation="documents",
)
class NumRelevantRetrieved(_SummedCount, CountMeasure):
    """Number of relevant documents retrieved (in the top k)."""

    def score_counts(self, n_hits: Any, n_retrieved: Any, n_relevant: Any) -> Any:
        return n_hits


@measure(
    "NumNonrelRet",
    summary="Number of retrieved documents that are judged not relevant.",
    formula=r"|\{r : d_r \text{ judged}, g_r < \mathit{rel}\}|",
    elsewhere={"trec_eval": "num_nonrel_judged_ret"},
    is_linear=True,
)
class NumNonrelevantRetrieved(_SummedCount, RelevanceMeasure):
    """Number of retrieved documents (in the top k) that are judged not relevant."""

    def values(self, judged: JudgedRuns) -> Floats:
        n_relevant = judged.relevant(self.rel).n_rows
        return (judged.judged().n_rows - n_relevant).astype(np.float64)


@measure(
    "Judged",
    summary="Proportion of the retrieved documents (in the top k) that are judged.",
    formula=r"|\{r \le k : d_r \text{ judged}\}| \,/\, \min(k, n)",
    source="ir_measures",
    family="counts",
    scale=Scale.RATIO,
    elsewhere={"ir_measures": "Judged@k"},
    beyond_grades="which documents are judged",
    expectation="documents",
)
class JudgedProportion(Measure):
    """Proportion of judged documents; the divisor is k, or the length of a shorter list."""

    def values(self, judged: JudgedRuns) -> Floats:
        return divide(judged.judged().n_rows, judged.n_retrieved)


@measure(
    "Unjudged",
    summary="Number of unjudged documents in the top k, divided by k.",
    formula=r"|\{r \le k : d_r \text{ unjudged}\}| \,/\, k",
    source="trec_eval 10, measure unj",
    lower_is_better=True,
    family="counts",
    at_usage="required",
    scale=Scale.RATIO,
    elsewhere={"trec_eval": "unj_k (version 10)"},
    beyond_grades="which documents are judged",
)
class UnjudgedProportion(Measure):
    """Proportion of unjudged documents; unlike for `Judged` the divisor is k for all lists."""

    def values(self, judged: JudgedRuns) -> Floats:
        return (judged.n_retrieved - judged.judged().n_rows) / float(self.cutoff or 1)
