"""Counts, and the shares of judged and unjudged documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.scale_types import Scale
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.ranked.precision import OfCounts, OfRelevance

_COUNT = {
    "range": (0.0, float("inf")),
    "family": "counts",
    "aggregate": "sum",
    "scale": Scale.RATIO,
    "source": "trec_eval",
}


@measure(
    "NumQ",
    summary="Number of topics that count.",
    formula="1",
    at_wanted="none",
    elsewhere={"trec_eval": "num_q", "ir_measures": "NumQ"},
    beyond_grades="what was retrieved and judged",
    **_COUNT,
)
class NumTopics(Measure):
    """1 a topic; the sum is the number of topics."""

    def values(self, judged: JudgedRuns) -> Floats:
        return np.ones(judged.shape)


@measure(
    "NumRet",
    summary="Documents retrieved.",
    formula="|B|",
    elsewhere={"trec_eval": "num_ret", "ir_measures": "NumRet"},
    beyond_grades="what was retrieved and judged",
    **_COUNT,
)
class NumRetrieved(Measure):
    """Documents retrieved (in the top k)."""

    def values(self, judged: JudgedRuns) -> Floats:
        return judged.retrieved.astype(np.float64)


@measure(
    "NumRel",
    summary="Relevant documents of the topic: the recall base.",
    formula="RB = |A|",
    at_wanted="none",
    elsewhere={"trec_eval": "num_rel", "ir_measures": "NumRel"},
    beyond_grades="what was retrieved and judged",
    **_COUNT,
)
class NumRelevant(OfRelevance):
    """Recall base; it counts for missing topics too."""

    def values(self, judged: JudgedRuns) -> Floats:
        return np.broadcast_to(judged.recall_base(self.rel), judged.shape).astype(np.float64)


@measure(
    "NumRelRet",
    summary="Relevant documents retrieved.",
    formula=r"|A \cap B|",
    elsewhere={"trec_eval": "num_rel_ret", "ir_measures": "NumRelRet"},
    **_COUNT,
)
class NumRelevantRetrieved(OfCounts):
    """Relevant documents retrieved (in the top k)."""

    def share(self, found: Any, retrieved: Any, relevant: Any) -> Any:
        return found


@measure(
    "NumNonrelRet",
    summary="Documents retrieved that are judged not relevant.",
    formula=r"|\{r : d_r \text{ judged}, g_r < \mathit{rel}\}|",
    elsewhere={"trec_eval": "num_nonrel_judged_ret"},
    beyond_grades="what was retrieved and judged",
    **_COUNT,
)
class NumNonrelevantRetrieved(OfRelevance):
    """Judged non-relevant documents retrieved (in the top k)."""

    def values(self, judged: JudgedRuns) -> Floats:
        found = judged.relevant(self.rel).count
        return (judged.judged().count - found).astype(np.float64)


@measure(
    "Judged",
    summary="Share of the retrieved documents (in the top k) that is judged.",
    formula=r"|\{r \le k : d_r \text{ judged}\}| \,/\, \min(k, n)",
    source="ir_measures",
    family="counts",
    scale=Scale.RATIO,
    elsewhere={"ir_measures": "Judged@k"},
    beyond_grades="which documents are judged",
)
class JudgedShare(Measure):
    """A short list is divided by its length."""

    def values(self, judged: JudgedRuns) -> Floats:
        return ratio(judged.judged().count, judged.retrieved)


@measure(
    "Unjudged",
    summary="Unjudged documents in the top k, over k.",
    formula=r"|\{r \le k : d_r \text{ unjudged}\}| \,/\, k",
    source="trec_eval 10, measure unj",
    lower_is_better=True,
    family="counts",
    at_wanted="required",
    scale=Scale.RATIO,
    elsewhere={"trec_eval": "unj_k (version 10)"},
    beyond_grades="which documents are judged",
)
class UnjudgedShare(Measure):
    """A short list is divided by k, so this is not one minus Judged."""

    def values(self, judged: JudgedRuns) -> Floats:
        return (judged.retrieved - judged.judged().count) / float(self.cutoff or 1)
