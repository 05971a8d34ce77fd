"""The study of pooling, against a pool judged by hand and judgments that are written out."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import kendalltau

import cranfield as cf
from cranfield.meta import Pooling, leave_one_out, pooling
from cranfield.meta.collection_studies.pooling import parse_methods


def ranked(docs: str) -> dict[str, float]:
    return {doc: float(-place) for place, doc in enumerate(docs.split())}


RUNS = {
    "A": {"q": ranked("a b c d e")},
    "B": {"q": ranked("b a f g c")},
    "C": {"q": ranked("h i b j a")},
    "D": {"q": ranked("k l")},
}
RELEVANT = "acfil"
QRELS = {"q": {doc: int(doc in RELEVANT) for doc in "abcdefghijkl"}}
ORDERS = {
    "depth": "a b h k i l c f d g j e",
    "RRF": "b a c h k i l f d g j e",
    "Hedge": "b k a c d e h f g i j l",
    "MTF": "a b h k c d e f g i j l",
    "MTF(seen='skip')": "a b f g h k c d e i j l",
    "MaxMean": "a b c d f g e h k i j l",
}


def test_by_hand() -> None:
    found = pooling(RUNS, QRELS, "P@2", methods=ORDERS, budgets=[3, 5, 8], depth=5)
    for method, order in ORDERS.items():
        rows = found.documents.filter(method=method)
        asked = [order.split()[:budget] for budget in (3, 5, 8)]
        relevant = [sum(doc in RELEVANT for doc in docs) for docs in asked]
        assert rows["requested"].to_list() == [3.0, 5.0, 8.0]
        assert rows["relevant"].to_list() == relevant
        assert rows["of pool"].to_list() == pytest.approx([one / 5 for one in relevant])
        for budget, docs in zip((3, 5, 8), asked, strict=True):
            known = [
                sum(doc in docs and doc in RELEVANT for doc in list(run["q"])[:2]) / 2
                for run in RUNS.values()
            ]
            of = found.systems.filter(method=method, budget=budget)
            assert of["score"].to_list() == known
            [row] = found.rankings.filter(method=method, budget=budget).to_dicts()
            error = np.sqrt(np.mean((np.array(known) - [0.5, 0.5, 0.5, 0.5]) ** 2))
            assert row["rmse"] == pytest.approx(error)
    whole = found.documents.tail(1).to_dicts()[0]
    assert (whole["method"], whole["budget"], whole["requested"], whole["relevant"]) == (
        *(None, None),
        *(12, 5),
    )


def test_left_out_by_hand() -> None:
    found = pooling(RUNS, QRELS, "P@2", methods="depth", budgets=[4, 6], depth=5)
    # The first four are a b h k: h is only in C, k only in D; of them a is relevant, in three runs.
    of = found.systems.filter(budget=4)
    assert of["score"].to_list() == [0.5, 0.5, 0.0, 0.0]
    assert of["score without"].to_list() == [0.5, 0.5, 0.0, 0.0]
    # With i, only in C, and l, only in D, both get half, and lose it when they are left out.
    of = found.systems.filter(budget=6)
    assert of["score"].to_list() == [0.5, 0.5, 0.5, 0.5]
    assert of["score without"].to_list() == [0.5, 0.5, 0.0, 0.0]
    assert of["rank"].to_list() == [1, 1, 1, 1]
    assert of["rank without"].to_list() == [1, 1, 4, 4]
    [row] = found.rankings.filter(budget=6).to_dicts()
    assert (row["drop"], row["drop %"], row["largest drop"], row["fall"]) == (0.25, 50, 0.5, 3)
    # C and D together.
    teams = {"A": "1", "B": "2", "C": "3", "D": "3"}
    again = pooling(RUNS, QRELS, "P@2", methods="depth", budgets=6, depth=5, teams=teams)
    assert again.unit == "team"
    assert again.systems["score without"].to_list()[:4] == [0.5, 0.5, 0.0, 0.0]


MEASURES = ["AP", "nDCG@10"]
METHODS = ("depth", "MaxMean", "MTF(seen='skip')")
DEPTH = 8
SOME = 7


@pytest.fixture(scope="module")
def covid() -> Any:
    return cf.bundled.trec_covid()


@pytest.fixture(scope="module")
def judged_by_all(covid: Any) -> dict[str, Any]:
    """Scores by all judgments, by what unjudged documents count as."""
    runs = covid.runs[:SOME]
    ways: tuple[Any, ...] = ("nonrelevant", "condensed")
    return {one: cf.evaluate(runs, covid.qrels, MEASURES, unjudged=one) for one in ways}


@pytest.fixture(scope="module")
def study(covid: Any) -> Pooling:
    return pooling(
        covid.runs[:SOME],
        covid.qrels,
        MEASURES,
        methods=METHODS,
        budgets=[5, 20],
        depth=DEPTH,
        contributors=None,
        teams=lambda name: name[:2],
        lists=["raw", "condensed"],
    )


def written_out(covid: Any, docs: set[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Judgments of these documents; a topic stays without any, by a document that nobody has."""
    out: dict[str, dict[str, int]] = {topic: {"nothing": 0} for topic in covid.qrels.topics}
    grades = all_grades()
    for topic, doc in sorted(docs & grades.keys()):
        out[topic][doc] = grades[topic, doc]
    return out


@cache
def all_grades() -> dict[tuple[str, str], int]:
    rows = cf.bundled.trec_covid().qrels.to_polars().select("topic", "doc", "grade").rows()
    return {(topic, doc): grade for topic, doc, grade in rows}


def top(covid: Any, depth: int) -> dict[str, set[tuple[str, str]]]:
    out = {}
    for run in covid.runs[:SOME]:
        rows = run.to_polars().sort("score", "doc", descending=True).group_by("topic").head(depth)
        out[run.name] = set(zip(rows["topic"], rows["doc"], strict=True))
    return out


@pytest.mark.parametrize(("method", "budget"), [*zip(METHODS, (5, 20, 5), strict=True)])
def test_against_judgments_written_out(
    covid: Any, judged_by_all: dict[str, Any], study: Pooling, method: str, budget: int
) -> None:
    runs = covid.runs[:SOME]
    order = cf.assess.order(runs, method, covid.qrels, depth=DEPTH).to_polars()
    asked = order.group_by("topic", maintain_order=True).head(budget)
    docs = set(zip(asked["topic"], asked["doc"], strict=True))
    qrels = written_out(covid, docs)
    own = top(covid, DEPTH)
    unjudged: Any
    for kind, unjudged in (("raw", "nonrelevant"), ("condensed", "condensed")):
        full = judged_by_all[unjudged]
        part = cf.evaluate(runs, qrels, MEASURES, unjudged=unjudged)
        without = {}
        for team in {"el", "UP", "co"} & {name[:2] for name in own}:
            mine = set.union(*(own[name] for name in own if name[:2] == team))
            others = set.union(set(), *(own[name] for name in own if name[:2] != team))
            smaller = written_out(covid, docs - (mine - others))
            without[team] = cf.evaluate(runs, smaller, MEASURES, unjudged=unjudged)
        for measure in MEASURES:
            where = {"measure": measure, "list": kind, "method": method, "budget": budget}
            rows = study.systems.filter(**where)
            before, after = full[measure].mean(), part[measure].mean()
            np.testing.assert_allclose(rows["score"], after, rtol=0, atol=1e-12)
            np.testing.assert_allclose(rows["full score"], before, rtol=0, atol=1e-12)
            [row] = study.rankings.filter(**where).to_dicts()
            assert row["tau"] == pytest.approx(kendalltau(before, after).statistic)
            assert row["rmse"] == pytest.approx(np.sqrt(np.mean((before - after) ** 2)))
            assert row["tau ap"] == pytest.approx(float(cf.correlation.tau_ap(after, before)))
            assert pairs(full[measure], part[measure]) == tuple(
                row[name] for name in ("significant", "confirmed", "lost", "new", "reversed")
            )
            for team, scores in without.items():
                for system, score in zip(part.systems, scores[measure].mean(), strict=True):
                    if system[:2] == team:
                        [there] = rows.filter(system=system)["score without"]
                        assert there == pytest.approx(score, abs=1e-12)


def pairs(full: Any, part: Any) -> tuple[int, ...]:
    """Pairs that are significant, found again, lost, new and reversed, by `compare`."""
    signs = []
    for one in (full, part):
        made = cf.compare(one, test="anova-2", correction="tukey")
        signs.append(np.sign(made.difference) * made.is_significant())
    then, now = signs
    return (
        int((now != 0).sum()),
        int((then * now > 0).sum()),
        int(((then != 0) & (now == 0)).sum()),
        int(((then == 0) & (now != 0)).sum()),
        int((then * now < 0).sum()),
    )


def test_the_whole_pool_is_where_every_method_ends(covid: Any, study: Pooling) -> None:
    assert study.documents["relevant"].diff().drop_nulls().len() > 0
    for method in METHODS:
        found = study.documents.filter(method=method)["relevant"].to_list()
        assert found == sorted(found)
    far = pooling(covid.runs[:4], covid.qrels, "AP", methods=METHODS, budgets=10**6, depth=3)
    for method in METHODS:
        for frame in (far.documents, far.rankings):
            rows = frame.drop("budget").filter(pl.col("method") == method)
            assert_frame_equal(
                rows.drop("method"),
                frame.filter(pl.col("method").is_null()).drop("method", "budget"),
            )


def test_others_dropped_all_judgments_are_those_of_the_pool(covid: Any) -> None:
    runs = covid.runs[:6]
    given: dict[str, Any] = {"methods": "depth", "budgets": 1, "depth": 5}
    given |= {"contributors": None, "others": "drop"}
    made = pooling(runs, covid.qrels, "AP", **given)
    left = leave_one_out(runs, covid.qrels, "AP", depth=5, others="drop", lists="raw")
    rows = made.systems.filter(pl.col("method").is_null())
    np.testing.assert_allclose(rows["score"], left.systems["before"], atol=1e-12)
    assert rows["score"].to_list() == rows["full score"].to_list()
    np.testing.assert_allclose(rows["score without"], left.systems["after"], atol=1e-12)
    assert rows["rank without"].to_list() == left.systems["rank after"].to_list()
    [row] = made.rankings.filter(pl.col("method").is_null()).to_dicts()
    assert row["drop"] == pytest.approx(left.summary["mean drop"].item())
    assert (row["tau"], row["rmse"], row["lost"], row["new"]) == (1, 0, 0, 0)
    assert made.documents["of all"].to_list() == made.documents["of pool"].to_list()
    assert made.notes[0].startswith("removed ")


def test_repeats(covid: Any) -> None:
    runs = covid.runs[:6]
    given: dict[str, Any] = {"budgets": [5, 20], "depth": 5, "contributors": None}
    made = pooling(runs, covid.qrels, "AP", methods="Thompson,depth", repeats=4, seed=7, **given)
    assert made.documents["repeats"].to_list() == [4, 4, 1, 1, 1]
    drawn = made.samples.filter(method="Thompson", budget=5)["relevant"].to_list()
    for repeat, relevant in enumerate(drawn):
        order = cf.assess.order(runs, "Thompson", covid.qrels, depth=5, seed=7 + repeat)
        assert relevant == order.count_relevant([5]).item()
    [row] = made.documents.filter(method="Thompson", budget=5).to_dicts()
    assert row["relevant"] == np.mean(drawn)
    assert row["relevant sd"] == pytest.approx(np.std(drawn, ddof=1))
    assert made.documents.filter(method="depth")["relevant sd"].to_list() == [None, None]
    # More repeats do not change the first ones.
    fewer = pooling(runs, covid.qrels, "AP", methods="Thompson", repeats=2, seed=7, **given)
    assert fewer.samples.filter(budget=5)["relevant"].to_list() == drawn[:2]


def test_one_queue_over_all_topics_buys_as_much(covid: Any) -> None:
    runs = covid.runs[:5]
    made = pooling(
        runs,
        covid.qrels,
        "AP",
        methods=["MTF", "MTF(scope='global')"],
        budgets=[4, 12],
        depth=5,
        contributors=None,
    )
    both = made.documents.group_by("budget", maintain_order=True).agg("requested", "relevant")
    assert all(asked[0] == asked[1] for asked in both["requested"][:2].to_list())
    order = cf.assess.order(runs, "MTF(scope='global')", covid.qrels, depth=5)
    size = int(both["requested"][0][0])
    first = order.grades[order.sequence[:size]] >= 1
    assert both["relevant"][0][1] == first.sum()


def test_unjudged_documents_and_topics() -> None:
    runs = {
        "in": {"1": ranked("x y"), "2": ranked("z")},
        "out": {"1": ranked("u x"), "3": ranked("v")},
    }
    qrels = {"1": {"x": 1, "y": 0}, "2": {"z": 2}}
    made = pooling(runs, qrels, "RR", methods="depth", budgets=[1, 9], depth=2, contributors=None)
    assert made.documents["requested"].to_list() == [2, 4, 4]
    assert made.documents["judged"].to_list() == [1, 3, 3]
    assert made.notes[0].startswith("the pool has 1 document without a judgment;")
    assert made.notes[1] == "excluded 1 topic without judgments"
    judged = pooling(runs, qrels, "RR", methods="depth", budgets=1, depth=1)
    assert judged.pool.systems == ("in",)
    assert judged.documents["relevant"].to_list() == [2, 2]
    alone = pooling({"in": runs["in"]}, qrels, "RR", methods="depth", budgets=1, depth=1)
    assert alone.rankings["drop"].to_list() == [None, None]
    assert alone.rankings["significant"].to_list() == [None, None]
    assert alone.notes[-1].startswith("significant pairs are not counted")
    text = "".join(table.to_text() for table in alone.tables())
    assert "whole pool" in text and "differ significantly" not in text


def test_grades_below_zero() -> None:
    runs = {"a": {"q": ranked("x y")}, "b": {"q": ranked("y z")}}
    qrels = {"q": {"x": -2, "y": 1, "z": 0}}
    given: dict[str, Any] = {"methods": "depth", "budgets": 3, "depth": 2}
    assert pooling(runs, qrels, "RR", **given).documents["judged"][0] == 3
    some = pooling(runs, qrels, "RR", negative="unjudged", **given)
    assert (some.documents["requested"][0], some.documents["judged"][0]) == (3, 2)


def test_methods() -> None:
    text = "depth, MTF(seen='skip',scope='global'),RRF(k=10),depth-k"
    assert [str(one) for one in parse_methods(text)] == [
        "depth",
        "MTF(scope='global', seen='skip')",
        "RRF(k=10)",
    ]


def test_budgets_by_default_are_below_the_largest_topic() -> None:
    docs = [f"d{k:02d}" for k in range(30)]
    runs = {
        "a": {"q": {doc: 100.0 - k for k, doc in enumerate(docs)}, "p": {"x": 1.0}},
        "b": {"q": {doc: float(k) for k, doc in enumerate(docs)}, "p": {"x": 1.0}},
    }
    qrels = {"q": dict.fromkeys(docs, 1), "p": {"x": 1}}
    deep = pooling(runs, qrels, "AP", methods="depth,RRF", depth=12)
    assert deep.budgets == (5, 10, 20)
    # All documents are relevant: every method finds as many.
    assert deep.verdict[0].startswith(
        "With 5 judgments per topic, the largest number of relevant documents is found by depth"
        " and RRF: "
    )
    assert pooling(runs, qrels, "AP", methods="depth", depth=2).budgets == (1,)


def test_the_heading_counts_the_relevant_documents_of_the_pool_if_others_are_dropped() -> None:
    options: dict[str, Any] = {"methods": "depth", "budgets": [1], "depth": 1}
    options["contributors"] = ["A"]
    kept, dropped = (
        pooling(RUNS, QRELS, "P@2", others=others, **options) for others in ("keep", "drop")
    )
    assert "5 relevant documents in all judgments" in kept.heading()[0]
    assert "1 relevant document in the pool" in dropped.heading()[0]
