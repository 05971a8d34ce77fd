"""Wrong arguments and scores are refused by every study in one line that names the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield import meta
from cranfield.base.errors import CranfieldError
from cranfield.meta.collection_studies.pools import pools, trace_runs
from cranfield.meta.reproduction import order_agreement, position_tau, union_tau
from cranfield.meta.reproduction_result import check_bounds
from cranfield.meta.scale_study import parse_scale_options
from cranfield.meta.test_studies.fast_tests import PairDecisions
from cranfield.meta.test_studies.splits import agreement, publication_bias
from tests.significance.helpers import Refusals, cases, options, scored

# Without types, which forbid much of what is wrong here.
study: Any = meta

SOME = scored(np.random.default_rng(0).random((12, 6)))
GAP = scored(np.where(np.arange(12)[:, None] == [2, 20, 20, 20, 20, 20], np.nan, SOME.values))
ENDLESS = scored(np.where(np.arange(12)[:, None] == 2, np.inf, SOME.values))
SHARDS = scored(np.random.default_rng(1).random((12, 6, 2)))
FEWER_SYSTEMS = SOME.select(systems=SOME.systems[:5])
FEWER_TOPICS = SOME.select(topics=SOME.topics[:9])
ONE_SYSTEM = SOME.select(systems=["s0"])
ONE_TOPIC = SOME.select(topics=["q0"])
FLAT = scored(np.full((12, 6), 0.1))
THREE: dict[str, Any] = {"A": SOME, "B": SOME, "G": SOME}

RUNS = {
    "A-1": {"t": {"x": 3.0, "y": 2.0, "z": 1.0}},
    "A-2": {"t": {"y": 3.0, "new": 2.0}},
    "B-1": {"t": {"z": 3.0, "x": 2.0}},
    "first new": {"t": {"new": 1.0}},
}
QRELS = {"t": {"x": 1, "y": 0, "z": 2}}
TEAMS = {"A-1": "A", "A-2": "A", "B-1": "B", "first new": "C"}
RUN = RUNS["A-1"]
BASE: dict[str, Any] = {"baseline": RUN}
JUDGED = cf.judge(RUNS, QRELS).binarise()
T = [("t", "none")]
FIRST = PairDecisions(np.array([1, -1], dtype=np.int8), np.array([True, False]))
OTHER = PairDecisions(np.array([1], dtype=np.int8), np.array([True]))


BY_SHARD = cf.Scores(np.full((2, 1, 3), 0.5), ("q", "r"), ("baseline",))


def reproduced(first: Any, second: Any, **more: Any) -> Any:
    return study.reproduce(first, second, **{"qrels": QRELS, "measures": "P@1", **more})


def one_run(value: float, measure: str = "") -> cf.Scores:
    return cf.Scores(np.array([[value]]), ("q",), ("baseline",), measure)


JUDGING: dict[str, Callable[..., Any]] = {
    "pools": lambda **more: pools(RUNS, QRELS, **{"depth": 1, **more}),
    "pool_depths": lambda **more: study.pool_depths(RUNS, QRELS, "P@1", 1, **more),
    "pooling": lambda **more: study.pooling(
        RUNS, QRELS, "P@1", **{"contributors": None, "depth": 1, **more}
    ),
    "leave_one_out": lambda **more: study.leave_one_out(RUNS, QRELS, "P@1", **{"depth": 1, **more}),
    "reproduce": lambda **more: reproduced(RUN, RUN, **more),
    "replicate": lambda **more: study.replicate(
        RUN, RUN, qrels=QRELS, other_qrels=QRELS, measures="P@1", **more
    ),
}
"""Studies of runs, which take the policies of judging."""


@pytest.mark.parametrize("name", JUDGING)
def test_policies_of_judging(name: str) -> None:
    JUDGING[name](topics="intersection", jobs=1)
    for wrong in ({"foo": 1}, {"topics": "some"}, {"ties": "coin"}):
        [option] = wrong
        with pytest.raises(CranfieldError, match=option):
            JUDGING[name](**wrong)
    if not name.startswith("rep"):
        # What is not judged is what pools are about.
        with pytest.raises(CranfieldError, match="unjudged"):
            JUDGING[name](unjudged="drop")


REFUSALS: Refusals = {
    "pools": options(
        JUDGING["pools"],
        ({"contributors": ["first new"], "depth": None}, "system 'first new' .* rank 1"),
        ({"depth": 0}, "depth must be an integer from 1"),
        ({"depth": 2.5}, "depth must be an integer from 1"),
        ({"rel": 0}, "rel must be an integer >= 1"),
        ({"contributors": "judged", "depth": None}, "requires the depth"),
        ({"contributors": "all"}, "'all'"),
        ({"contributors": 3}, "'3'"),
        ({"contributors": ["nobody"]}, "system 'nobody'"),
        ({"contributors": []}, "at least one contributor"),
        ({"teams": {"A-1": "A"}}, "system 'A-2' has no team"),
    ),
    "pool depths": options(
        lambda **more: study.pool_depths(RUNS, QRELS, "AP", **more),
        ({"depths": []}, "depth"),
        ({"depths": [10, 0]}, "depth of pools must be an integer from 1"),
        ({"depths": 2.5}, "2.5"),
        ({"depths": [1, 2, 3], "pool_depth": 1}, "pools must be an integer from 1 to 1, got 2"),
        ({"pool_depth": 0}, "pool_depth must be an integer from 1"),
        ({"contributors": "judged"}, "requires the depth of the pool"),
        ({"depths": "ten"}, "expected a list, got 'ten'"),
        ({"top": 0}, "top must be an integer from 1"),
        ({"rel": "high"}, "rel must be an integer >= 1"),
        ({"lists": "cooked"}, "unknown list 'cooked'; expected one of: raw, condensed"),
        ({"lists": ()}, "list"),
    ),
    "pooling": options(
        JUDGING["pooling"],
        ({"methods": []}, "method"),
        ({"methods": "deep"}, "unknown pooling method 'deep'"),
        ({"budgets": []}, "budget"),
        ({"budgets": [0]}, "budget must be an integer from 1"),
        ({"budgets": "x"}, "expected a list, got 'x'"),
        ({"depth": 0}, "depth must be an integer from 1"),
        ({"repeats": 0}, "repeats must be an integer from 1"),
        ({"test": "anova-3"}, "by shard"),
        ({"contributors": ["nobody"]}, "system 'nobody'"),
    ),
    "leave one out": [
        *options(
            lambda **more: study.leave_one_out(
                RUNS, QRELS, **{"measures": "AP", "depth": 3, "teams": TEAMS, **more}
            ),
            ({"others": "lose"}, "unknown others 'lose'; expected one of: keep, drop"),
            ({"lists": ["raw", "new"]}, "unknown list 'new'; expected one of"),
            ({"teams": lambda name: "us"}, "team 'us'"),
            ({"measures": "XYZ"}, "XYZ"),
            ({"jobs": 0}, "jobs must be an integer"),
        ),
        (lambda: study.leave_one_out(trace_runs(RUNS, QRELS), QRELS, "AP"), "already judged"),
        (lambda: JUDGING["leave_one_out"](teams=TEAMS).judge_without("Z"), "team 'Z'"),
    ],
    "concordance": [
        *options(
            lambda gold="G", **more: study.concordance({**THREE, **more}, gold),
            ({"gold": "X"}, "'X'"),
            ({"gold": ["A", "G"]}, "two measures"),
            ({"gold": []}, "gold measure"),
            ({"gold": ["G", "G"]}, "'G'"),
            ({"gold": [3]}, "unknown measure '3'"),
            ({"B": 3}, "int"),
            ({"B": FEWER_SYSTEMS}, "'B' lacks system 's5', which 'A' has"),
            ({"A": FEWER_TOPICS}, "'A' lacks topic 'q9', which 'B' has"),
            ({"gold": FEWER_SYSTEMS}, "'gold 1' lacks system 's5'"),
            ({"B": ENDLESS}, "'B' has an infinite score"),
            ({"B": SHARDS}, "'B' has scores by shard"),
        ),
        (lambda: study.concordance(3, "G"), "int"),
        (lambda: study.concordance({}, "G"), "at least one measure"),
        (lambda: study.concordance({1: SOME, "1": SOME}, "1"), "must be unique, got '1' twice"),
        (lambda: study.concordance(dict.fromkeys("ABG", ONE_SYSTEM), "G"), "1"),
    ],
    "correlations": [
        *options(
            lambda **more: study.correlate(THREE, **more),
            ({"method": "gamma"}, "unknown method 'gamma'; expected one of: tau, tau-a"),
            ({"missing": "none"}, "unknown missing 'none'; expected one of"),
            ({"method": "tau-ap", "ties": "w"}, "unknown ties 'w'"),
            ({"method": "rbo", "p": 1}, "p must be a number between 0 and 1"),
        ),
        (lambda: study.correlate(SOME), "two measures"),
        (lambda: study.correlate({"A": SOME}), "two measures"),
        (lambda: study.correlate([SOME, SOME]), "mapping"),
        (lambda: study.correlate(None), "mapping"),
        (lambda: study.correlate({**THREE, "B": SHARDS}), "'B' has scores by shard"),
        (lambda: study.correlate({**THREE, "B": ENDLESS}), "'B' has an infinite score"),
        (lambda: study.correlate({**THREE, "B": FEWER_SYSTEMS}), "'B' lacks system 's5'"),
        (lambda: study.correlate({**THREE, "A": FEWER_TOPICS}), "'A' lacks topic 'q9'"),
        (lambda: study.correlate(dict.fromkeys("AB", ONE_SYSTEM)), "two systems"),
        (lambda: study.correlate({**THREE, "B": GAP}), "system 's0' on topic 'q2' .*of 'B'"),
    ],
    "discriminative power": [
        *options(
            lambda **more: study.discriminative_power(THREE, **more),
            ({"test": "u"}, "unknown test 'u'"),
            ({"test": "t", "correction": "tukey"}, "'tukey' cannot be combined with test 't'"),
            ({"alpha": 5}, "alpha must be a number between 0 and 1"),
            ({"resamples": 0}, "resamples must be an integer"),
            ({"jobs": 0}, "jobs must be an integer"),
        ),
        (lambda: study.discriminative_power({**THREE, "B": FEWER_SYSTEMS}), "'B' lacks system"),
        (lambda: study.discriminative_power({"M": GAP}), "'M': system 's0' on topic 'q2'"),
        (lambda: study.discriminative_power(None), "NoneType"),
    ],
    "innate orders": [
        (lambda: study.innate_orders({"x": 1}), "judge"),
        (lambda: study.innate_orders(JUDGED, 0), "depth"),
        (lambda: study.innate_orders(cf.judge({"q": {"d": 1.0}}, {"q": {"d": 1}})), "1"),
    ],
    "swaps": [
        *options(
            lambda **more: study.swap_method(SOME, **more),
            ({"sizes": [7]}, "size of topic sets must be an integer from 1 to 6, got 7"),
            ({"sizes": [1], "test": "t"}, "an integer from 2 to 6, got 1"),
            ({"sizes": "5"}, "expected a list, got '5'"),
            ({"sizes": []}, "size"),
            ({"repeats": 0}, "repeats must be an integer from 1"),
            ({"bins": [0.1, 0.2]}, "bins"),
            ({"bins": [0, 0.2, 0.1]}, "bins"),
            ({"bins": [0, np.inf]}, "bins"),
            ({"bins": []}, "bins"),
            ({"ties": "half"}, "unknown ties 'half'; expected one of: apart, swaps"),
            ({"test": "q"}, "unknown test 'q'"),
            ({"test": "t", "correction": "q"}, "unknown correction 'q'"),
        ),
        (lambda: study.swap_method(SOME, repeats=1).find_smallest_differences(5), "5"),
        (
            lambda: study.swap_method(SOME, repeats=1).extrapolate_rates(0),
            "size must be an integer",
        ),
        (lambda: study.swap_method(GAP), "system 's0' on topic 'q2' has no score"),
        (lambda: study.swap_method(ENDLESS), "system 's0' on topic 'q2' has an infinite score"),
        (lambda: study.swap_method(ONE_SYSTEM), "1"),
        (lambda: study.swap_method(ONE_TOPIC), "1 topic"),
        (lambda: study.swap_method(SHARDS), "by shard"),
    ],
    "scales": [
        *options(
            lambda measures=("P",), **more: study.study_scales(JUDGED, measures, **more),
            ({"cutoffs": "5"}, "expected a list"),
            ({"cutoffs": None}, "cutoff must be an integer >= 1, got None"),
            ({"cutoffs": []}, "cutoff"),
            ({"cutoffs": [0]}, "cutoff must be an integer >= 1"),
            ({"cutoffs": [2.5]}, "cutoff must be an integer"),
            ({"cutoffs": ["5"]}, "cutoff must be an integer"),
            ({"measures": []}, "measure"),
            ({"measures": ["P", "Precision"]}, "measure P"),
            ({"measures": ["P@5"]}, "cutoff"),
            ({"measures": [cf.parse_measure("P@5")]}, "cutoff"),
            ({"measures": ["nDGC"]}, "did you mean"),
            ({"measures": ["interval"]}, "inner measure"),
            ({"measures": ["P", "Bpref"]}, "ranked grades"),
            ({"measures": ["P", "Rprec"]}, "Rprec"),
            ({"measures": ["interval(P)"]}, "interval-scaled"),
            ({"tests": (), "alpha": 2}, "alpha must be a number between 0 and 1"),
            ({"tests": "t"}, "expected a list"),
            ({"tests": [3]}, "3"),
            ({"tests": T + T}, "test t"),
            ({"tests": [("t", "tukey")]}, "'tukey' cannot be combined with"),
            ({"tests": [("tt", "none")]}, "tt"),
            ({"tests": [("anova-3", "tukey")]}, "by shard"),
            ({"ties": "first"}, "unique, mid, min, max"),
            ({"exact_n": -1}, "exact_n"),
        ),
        (lambda: study.study_scales([JUDGED], ["P"]), "list"),
        (
            lambda: parse_scale_options(["RR"], [100], T, "mid").check_feasibility(1, 100),
            "RR@100.*'unique'",
        ),
        (lambda: parse_scale_options(["DCG"], [20], T).check_feasibility(9, 100), "DCG@20"),
    ],
    "agreement of tests": [
        (lambda: publication_bias(1, "many", 1, 1), "AD.*'many'"),
        (lambda: publication_bias(None, 1, 1, 1), "AA.*None"),
        (lambda: publication_bias([1, 2], [1, 2, 3], 0, 0), r"\(2,\), \(3,\)"),
        *(
            (lambda wrong=wrong: agreement(*wrong), words)
            for bad, words in (
                ([], "the result of at least one test"),
                ([OTHER], "1 and 2"),
                ("t", "expected a list, got 't'"),
            )
            for wrong in ((bad, [FIRST]), ([FIRST], bad))
        ),
    ],
    "tests": [
        *options(
            lambda **more: study.split_topics(SOME, **{"sizes": [5], "repeats": 2, **more}),
            ({"sizes": [7]}, "size of topic sets must be an integer from 2 to 6, got 7"),
            ({"sizes": [1]}, "size of topic sets must be an integer from 2 to 6, got 1"),
            ({"sizes": []}, "size"),
            ({"repeats": 0}, "repeats must be an integer from 1 to 1,000,000, got 0"),
            ({"seed": -1}, "seed must be an integer >= 0, got -1"),
            ({"tests": []}, "test"),
            ({"tests": ["t", "t+holm"]}, "test t"),
            ({"tests": ["anova-3"]}, "by shard"),
            ({"tests": ["t+tukey"]}, "'tukey' cannot be combined with test 't'; use "),
            ({"tests": [3]}, "3"),
            ({"tests": ["nope"]}, "unknown test 'nope'"),
            ({"systems": ["s0", "zz"]}, "system 'zz'"),
            ({"systems": ["s0"]}, "two systems, got 1"),
            ({"teams": {"s0": "a"}}, "system 's1' has no team"),
            ({"teams": 7}, "teams"),
            ({"teams": lambda _: "all systems"}, "'all systems'"),
            ({"jobs": 0}, "jobs must be an integer from 1 to 100,000, got 0"),
            ({"alpha": 2}, "alpha must be a number between 0 and 1 .exclusive., got 2"),
            ({"by_shard": SOME}, "by_shard"),
            ({"by_shard": SHARDS.select(systems=SHARDS.systems[1:])}, "lacks system 's0'"),
        ),
        *(
            (
                lambda missing=missing: study.split_topics(
                    GAP, ["t"], sizes=[5], repeats=1, missing=missing
                ),
                "system 's0' on topic 'q2' has no score",
            )
            for missing in (None, "error")
        ),
        (lambda: study.split_topics(ENDLESS, ["t"], sizes=[5], missing="zero"), "infinite"),
        (lambda: study.split_topics(replace(SHARDS, axis="replicate"), ["t"]), "by replicate"),
        (lambda: study.false_positives(SOME, null="swapped", sizes=[13]), "from 2 to 12, got 13"),
        (lambda: study.false_positives(SOME, ["t"], null="other"), "null"),
        (lambda: study.power_of_tests(SOME, ["t"], population="other"), "population"),
        (lambda: study.power_of_tests(SOME, ["t"], edges=[0.1, 0.05]), "edges"),
        (lambda: study.power_of_tests(SOME, ["t"], edges=[0.1, float("nan")]), "edges"),
        (
            lambda: study.power_of_tests(
                SOME, ["anova-3"], population="simulated", by_shard=SHARDS
            ),
            "by shard",
        ),
    ],
    "topics": [
        (lambda: study.extrapolate(SOME, correction="holm"), "unknown correction 'holm'"),
        (lambda: study.extrapolate([[0.1, 0.3], [0.2, 0.4]]), "no error|array|scores"),
        (lambda: study.extrapolate(SOME, alpha=2.0), "alpha"),
        *(
            (lambda sizes=sizes: study.extrapolate(SOME, sizes), "topic|size")
            for sizes in ([1], [], [2.5])
        ),
        (lambda: study.facets(SOME), "by shard"),
        (lambda: study.facets(scored(SHARDS.values[:, :, :1])), "two shards"),
        (lambda: study.facets(scored(np.ones((4, 3, 2)))), "different scores, got equal scores"),
        (lambda: study.facets(SHARDS).compute_relative(0), "topics"),
        (lambda: study.generalizability(FLAT), "different scores, got equal scores"),
        (lambda: study.generalizability(SHARDS), "by shard"),
        (lambda: study.generalizability(SOME, missing="available"), "available"),
        (lambda: study.generalizability(GAP), "has no score"),
        (lambda: study.generalizability(ONE_SYSTEM), "two systems"),
        *(
            (lambda c=c: study.generalizability(SOME, confidence=c), "confidence must be")
            for c in (0, 1, 1.5, True, "0.9")
        ),
        *(
            (
                lambda n=n: study.generalizability(SOME).compute_relative(n),
                "topics must be an integer",
            )
            for n in (0, 2.5, True)
        ),
        (lambda: study.generalizability(SOME).find_required_topics(1.0), "target must be"),
        *options(
            lambda **more: study.stability(SOME, **{"repeats": 2, **more}),
            *(({"sizes": sizes}, "size") for sizes in ([1], [], [2.5], [12], [13])),
            ({"repeats": 0}, "repeats"),
            ({"seed": -1}, "seed"),
            ({"alpha": 0}, "alpha"),
            ({"confidence": 1}, "confidence"),
            ({"confidence": "0.9"}, "confidence"),
            *(({"top": top}, "top") for top in ([0], [7], [], "3")),
            ({"replace": "yes"}, "replace"),
            ({"test": "no-such-test"}, "no-such-test"),
            ({"test": "anova-3"}, "by shard"),
            ({"correction": "max"}, "max"),
            ({"missing": "available"}, "available"),
            ({"jobs": 0}, "jobs"),
        ),
        (lambda: study.stability(SHARDS), "by shard"),
        (lambda: study.stability(GAP), "has no score"),
        (lambda: study.stability(SOME.select(topics=SOME.topics[:2])), "3 topics, got 2"),
    ],
    "interleaving": [
        *options(
            lambda **more: study.interleaving_sensitivity(RUNS, QRELS, "nDCG@3", **more),
            ({"methods": "Draft"}, "Draft"),
            ({"methods": []}, "method"),
            ({"users": "keen"}, "unknown user 'keen'; expected one of:"),
            ({"stop": "never"}, "unknown stop 'never'; expected one of:"),
            ({"pairs": 0}, "pairs must be"),
            ({"impressions": 0}, "impressions must be"),
            ({"length": 0}, "length must be"),
            ({"power": 1.0}, "power"),
            ({"shops": 3}, "'shops'"),
        ),
        (lambda: study.interleaving_sensitivity(RUNS, {"t": {"x": 3, "y": 1}}, impressions=5), "4"),
        (lambda: study.interleaving_sensitivity({"a": RUN}, QRELS), "two systems"),
        (lambda: study.interleaving_sensitivity(RUNS, QRELS, ties="expected"), "require one order"),
        (lambda: study.interleaving_sensitivity(RUNS, QRELS, ["AP", "RR"]), "one measure"),
    ],
    "reproduction": [
        *options(
            lambda first=BASE, second=BASE, **more: reproduced(first, second, **more),
            ({"ties": "expected"}, "require one order"),
            ({"second": {**BASE, "advanced": RUN}}, "baseline"),
            ({"first": {**BASE, "better": RUN}}, "'better'"),
            ({"test": "welch"}, "same topics"),
            ({"test": "anova-2"}, "same topics"),
            ({"test": "x"}, "x"),
            ({"p": 2}, "p must be a number between 0 and 1"),
            ({"depth": 0}, "depth"),
            ({"seed": -1}, "seed must be an integer"),
        ),
        *options(
            lambda first=None, second=None, **more: study.reproduce_scores(
                first or {"baseline": [0.1, 0.2]}, second or {"baseline": [0.1, 0.2]}, **more
            ),
            ({"first": {"bm25": [0.1, 0.2]}}, "'bm25'"),
            ({"first": {"baseline": {"q1": 0.1}}, "second": {"baseline": {"q2": 0.1}}}, "topic"),
            ({"first": {"AP": one_run(0.1, "AP")}, "second": {"RR": one_run(0.1, "RR")}}, "'AP'"),
            (
                {
                    "first": {"baseline": one_run(0.1, "AP"), "advanced": one_run(0.1, "RR")},
                    "second": one_run(0.1, "AP"),
                },
                "'AP' and 'RR'",
            ),
            ({"first": BY_SHARD, "second": BY_SHARD}, "by shard"),
            ({"first": one_run(np.inf), "second": one_run(np.inf)}, "finite"),
            ({"first": {"baseline": [1e200, 1]}}, "finite"),
            ({"first": {"baseline": FEWER_SYSTEMS}, "second": {"baseline": FEWER_SYSTEMS}}, "5"),
        ),
        (
            lambda: study.replicate_scores(
                {"baseline": [0.1, 0.2]}, {"baseline": [0.1, 0.2]}, test="t"
            ),
            "topics of their own|different topics",
        ),
        (lambda: study.reproduce_scores({"baseline": [1e200]}, {"baseline": [0]}), "finite"),
        *(
            (lambda bounds=bounds: check_bounds(bounds), "bounds")
            for bounds in ((1, 0), (0, np.inf), (0,), 3, ("a", 1), (0, 0))
        ),
        (lambda: union_tau(["a", "b", "a"], ["a"]), "document 'a'"),
        (lambda: position_tau("abc", ["a"]), "document ids"),
        *(
            (lambda p=p: order_agreement(RUN, RUN, p=p), "p must be a number between 0 and 1")
            for p in (0, 1, -0.5, "0.9", True, float("nan"))
        ),
        (lambda: order_agreement(RUN, RUN, depth=0), "depth must be an integer >= 1"),
    ],
}


@pytest.mark.parametrize(("call", "message"), cases(REFUSALS))
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(CranfieldError, match=message) as refused:
        call()
    assert "\n" not in str(refused.value)
