"""Every study on a few runs, computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl

import cranfield as cf
from cranfield import meta
from cranfield.result import Result

COVID = cf.bundled.trec_covid()
RUNS = list(COVID.runs[:6])
JUDGED = cf.judge(RUNS, COVID.qrels)
SCORED = cf.score(JUDGED, ["AP", "nDCG@10", "P@10", "RR"])
AP = SCORED["AP"]
FIRST, SECOND = AP.systems[:2]
PREFERRED = pl.DataFrame(
    {
        "topic": [str(k % 40 + 1) for k in range(60)],
        "first": [FIRST] * 60,
        "second": [SECOND] * 60,
        "preferred": [(1, 1, 2, 1, 0)[k % 5] for k in range(60)],
    }
)
PREDICTORS = {"topic": AP.topics, "a": AP.values[:, 0], "b": AP.values[:, 1:3].sum(axis=1)}
POOLED: dict[str, Any] = {"depth": 5, "contributors": [run.name for run in RUNS]}
NINE_TOPICS = COVID.qrels.to_polars().filter(pl.col("topic").str.len_chars() == 1)

STUDIED: dict[str, Callable[[], Result]] = {
    "scales": lambda: meta.study_scales(JUDGED, ["P", "RBP(p=0.8)", "DCG"], cutoffs=[5]),
    "tests": lambda: meta.split_topics(AP, ["t"], sizes=[10], repeats=2),
    "false-positives": lambda: meta.false_positives(AP, ["t"], repeats=2),
    "power-of-tests": lambda: meta.power_of_tests(AP, ["anova-2", "t"], repeats=20),
    "discriminative-power": lambda: meta.discriminative_power(SCORED, resamples=20),
    "swaps": lambda: meta.swap_method(AP, sizes=[10], repeats=5),
    "pool-depth": lambda: meta.pool_depths(RUNS, COVID.qrels, "P@5", depths=[2]),
    "pooling": lambda: meta.pooling(RUNS, COVID.qrels, "P@5", budgets=[5], **POOLED),
    "leave-one-out": lambda: meta.leave_one_out(RUNS, COVID.qrels, "P@5", depth=3),
    "predictive-power": lambda: meta.predictive_power(SCORED, PREFERRED),
    "concordance": lambda: meta.concordance(SCORED, "P@10"),
    "innate-orders": lambda: meta.innate_orders(JUDGED, 10, ["P@10", "nDCG@10"]),
    "prediction": lambda: meta.prediction(AP, PREDICTORS),
    "stability": lambda: meta.stability(AP, sizes=[10], repeats=5),
    "generalizability": lambda: meta.generalizability(AP),
    "facets": lambda: meta.facets(cf.evaluate(RUNS, COVID.qrels, "AP", shards=3)["AP"]),
    "reproduction": lambda: meta.reproduce(
        {"baseline": RUNS[0], "advanced": RUNS[2]},
        {"baseline": RUNS[1], "advanced": RUNS[3]},
        qrels=COVID.qrels,
        measures=["AP", "P@10"],
    ),
    "correlations": lambda: meta.correlate(SCORED),
    "extrapolation": lambda: meta.extrapolate(AP),
    "interleaving": lambda: meta.interleaving_sensitivity(RUNS[:3], NINE_TOPICS, impressions=9),
}


@cache
def studied(name: str) -> Result:
    return STUDIED[name]()
