"""Results of studies declare the columns of their tables, all of them and in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cranfield as cf
from cranfield import meta
from cranfield.meta.study import STUDIES
from cranfield.result import Result

COVID = cf.bundled.trec_covid()
RUNS = list(COVID.runs[:5])
JUDGED = cf.judge(RUNS, COVID.qrels)
SCORED = cf.score(JUDGED, ["AP", "nDCG@10", "P@10"])
AP = SCORED["AP"]
FIRST, SECOND = AP.systems[:2]
PREFERRED = [(topic, FIRST, SECOND, FIRST) for topic in AP.topics[:9]]
SIDES: dict[str, Any] = {
    "original": {"baseline": RUNS[0], "advanced": RUNS[2]},
    "reproduced": {"baseline": RUNS[1], "advanced": RUNS[3]},
}
POOLED: dict[str, Any] = {"depth": 5, "contributors": [run.name for run in RUNS]}

RESULTS: dict[str, Callable[[], Result]] = {
    "scales": lambda: meta.study_scales(JUDGED, ["P", "RBP(p=0.8)"], cutoffs=[5]),
    "tests": lambda: meta.split_topics(AP, ["t"], sizes=[10], repeats=2),
    "false-alarms": lambda: meta.false_alarms(AP, ["t"], repeats=2),
    "power-of-tests": lambda: meta.power_of_tests(AP, ["t"], repeats=2),
    "discriminative-power": lambda: meta.discriminative_power(SCORED, resamples=20),
    "swaps": lambda: meta.swap_method(AP, sizes=[10], repeats=5),
    "pool-depth": lambda: meta.pool_depths(RUNS, COVID.qrels, "P@5", depths=[2]),
    "pooling": lambda: meta.pooling(RUNS, COVID.qrels, "P@5", budgets=[5], **POOLED),
    "leave-one-out": lambda: meta.leave_one_out(RUNS, COVID.qrels, "P@5", depth=3),
    "predictive-power": lambda: meta.predictive_power(SCORED, PREFERRED),
    "concordance": lambda: meta.concordance(SCORED, "P@10"),
    "innate-orders": lambda: meta.innate_orders(JUDGED, 10, ["P@10"]),
    "stability": lambda: meta.stability(AP, sizes=[10], repeats=5),
    "generalizability": lambda: meta.generalizability(AP),
    "facets": lambda: meta.facets(cf.evaluate(RUNS, COVID.qrels, "AP", shards=2)["AP"]),
    "reproduction": lambda: meta.reproduce(**SIDES, qrels=COVID.qrels, measures=["P@10"]),
    "correlations": lambda: meta.correlate(SCORED),
    "extrapolation": lambda: meta.extrapolate(AP),
    "interleaving": lambda: meta.interleaving_sensitivity(RUNS[:3], COVID.qrels, impressions=5),
    "expected tau": lambda: meta.expected_tau(AP),
}


def test_every_study_is_here() -> None:
    assert {*RESULTS} == {*STUDIES, "expected tau"}


@pytest.mark.parametrize("name", RESULTS)
def test_columns_are_declared_in_their_order(name: str) -> None:
    result = RESULTS[name]()
    frames, declared = result.frames(), result.declared()
    assert {*frames} <= {*declared}
    assert {*frames} == {*declared} or name == "predictive-power"
    for table, frame in frames.items():
        columns = declared[table]
        by_name = [column for column in frame.columns if column in columns]
        assert by_name == [column for column in columns if column in frame.columns]
        assert by_name == frame.columns or "*" in columns
    text = str(result)
    assert all(line in text for line in result.heading())
    assert result.to_html() and result.to_latex() and result.to_json()
