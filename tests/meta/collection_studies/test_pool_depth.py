"""Pools of smaller depth, against judgments that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.meta.collection_studies.leave_one_out import pool_depths
from tests.meta.collection_studies.test_pools import QRELS, RUNS, ranked

MEASURES = ["AP", "nDCG@20", "Bpref", "infAP"]


def test_by_hand() -> None:
    found = pool_depths(RUNS, QRELS, ["RR", "P@3"], [3, 1, 2], top=2, lists=("raw", "condensed"))
    # In the top 1: ab, abc, b3; in the top 2 also a3 and bc; in the top 3 also a4.
    columns = ("depth", "judged", "relevant", "unjudged", "largest unjudged", "lacking")
    assert found.pools.select(*columns).rows() == [
        (1, 3, 3, 2 / 8, 0.5, 0),
        (2, 5, 4, 0.0, 0.0, 0),
        (3, 6, 4, 0.0, 0.0, 0),
        (None, 8, 6, 0.0, 0.0, None),
    ]
    assert found.pools["judged proportion"].to_list() == [3 / 8, 5 / 8, 6 / 8, 1.0]
    precision = found.systems.filter(pl.col("measure") == "P@3", pl.col("list") == "raw")
    assert precision.filter(pl.col("depth") == 1)["score"].to_list() == pytest.approx(
        [2 / 3, 1 / 3, 2 / 3, 2 / 3]
    )
    assert precision.filter(pl.col("depth") == 1)["rank"].to_list() == [1, 4, 1, 1]
    assert precision.filter(pl.col("depth").is_null())["score"].to_list() == pytest.approx(
        [1.0, 2 / 3, 2 / 3, 2 / 3]
    )
    assert found.judge_to_depth(1).recall_base().tolist() == [[3]]


@pytest.mark.parametrize("depth", [1, 20])
def test_against_judgments_written_out(depth: int) -> None:
    covid = cf.bundled.trec_covid()
    runs = covid.runs[:8]
    found = pool_depths(runs, covid.qrels, MEASURES, depth, lists=("raw", "condensed"))
    top: set[tuple[str, str]] = set()
    for run in runs:
        rows = run.to_polars().sort("score", "doc", descending=True)
        best = rows.group_by("topic").head(depth)
        top.update(zip(best["topic"], best["doc"], strict=True))
    smaller: dict[str, dict[str, int]] = {}
    for topic, doc, grade in covid.qrels.to_polars().select("topic", "doc", "grade").rows():
        if (topic, doc) in top:
            smaller.setdefault(topic, {})[doc] = grade
    assert len(smaller) == 50
    judged = sum(len(docs) for docs in smaller.values())
    assert found.pools["judged"].to_list() == [judged, len(covid.qrels)]
    unjudged: Any
    for kind, unjudged in (("raw", "nonrelevant"), ("condensed", "condensed")):
        expected = cf.evaluate(runs, smaller, MEASURES, unjudged=unjudged)
        full = cf.evaluate(runs, covid.qrels, MEASURES, unjudged=unjudged)
        for measure in MEASURES:
            here = (pl.col("measure") == measure) & (pl.col("list") == kind)
            rows = found.systems.filter(here, pl.col("depth") == depth)
            np.testing.assert_allclose(rows["score"], expected[measure].mean(), atol=1e-12)
            [row] = found.rankings.filter(here).to_dicts()
            assert row["mean score"] == pytest.approx(expected[measure].mean().mean())
            assert row["tau"] == pytest.approx(
                tau(expected[measure].mean(), full[measure].mean()), abs=1e-12
            )
    unseen = [0, 0]
    for run in runs:
        rows = run.to_polars().sort("score", "doc", descending=True).group_by("topic").head(10)
        docs = zip(rows["topic"], rows["doc"], strict=True)
        unseen[0] += sum(doc not in smaller[topic] for topic, doc in docs)
        unseen[1] += len(rows)
    assert found.pools["unjudged"][0] == pytest.approx(unseen[0] / unseen[1])


def tau(one: Any, other: Any) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(np.round(one, 8), np.round(other, 8)).statistic)


def test_deeper_pools_hold_more_and_the_deepest_holds_all() -> None:
    covid = cf.bundled.trec_covid()
    found = pool_depths(covid.runs[:6], covid.qrels, "AP", [1, 5, 25, 100, 1000])
    assert found.pools["judged"].is_sorted() and found.pools["relevant"].is_sorted()
    # What none of these runs retrieved is lost at any depth.
    assert found.pools["judged"][3] == found.pools["judged"][4] < len(covid.qrels)


def test_contributors_alone_make_the_pool() -> None:
    runs = {"in": {"1": ranked("x", "y")}, "out": {"1": ranked("z", "n", "y")}}
    found = pool_depths(runs, {"1": {"x": 1, "y": 1, "z": 1}}, "AP", 2, contributors=["in"])
    assert found.pools["judged"].to_list() == [2, 3]
    assert found.contributors == ("in",)
    again = pool_depths(runs, {"1": {"x": 1, "y": 1, "z": 1}}, "AP", 2, contributors="judged")
    assert again.contributors == ("in",)
    assert again.systems.equals(found.systems)


def test_depths_by_default_are_below_that_of_the_pool() -> None:
    """Two runs judged to depth 8, and one of which the second document is not judged."""
    names = [f"d{k}" for k in range(20)]
    runs = {
        "a": {"1": ranked(*names)},
        "b": {"1": ranked(*names[:8], *names[:7:-1])},
        "late": {"1": ranked("d0", "d15", *names[1:8])},
    }
    qrels = {"1": dict.fromkeys(names[:8], 1)}
    every = pool_depths(runs, qrels, "AP", pool_depth=8, contributors="judged")
    assert every.depths == (1, 2, 5)
    assert every.contributors == ("a", "b")
    assert every.pools["lacking"].to_list() == [0, 0, 0, None]
    # All runs are judged to depth 1.
    assert pool_depths(runs, qrels, "AP").depths == (1,)
    found = pool_depths({"a": runs["a"], "b": runs["b"]}, qrels, "AP")
    assert found.depths == (1, 2, 5)
    assert pool_depths(runs, qrels, "AP", pool_depth=300).depths == (1, 2, 5, 10, 20, 50, 100)
    # `late` does not count as judged to a depth of 8 because a pool of depth 1 is looked at.
    shallow = pool_depths(runs, qrels, "AP", 1, pool_depth=8, contributors="judged")
    assert shallow.contributors == ("a", "b")


def test_topics_without_judgments_left_count() -> None:
    runs = {"a": {"1": ranked("x"), "2": ranked("n", "y")}, "b": {"1": ranked("x")}}
    found = pool_depths(runs, {"1": {"x": 1}, "2": {"y": 1}}, "P@1", 1)
    assert found.systems["score"].to_list() == [0.5, 0.5, 0.5, 0.5]
    assert found.rankings["tau"].to_list() == [None]
    assert found.pools["lacking"].to_list() == [1, None]
