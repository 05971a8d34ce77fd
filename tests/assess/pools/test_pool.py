"""Pools against a plain computation from the definition, whatever the order of what is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assess.pools.pool import UNJUDGED_GRADE

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* no topic in common with", "ignore:.*rank column that contradicts"
)

Rankings = dict[str, dict[str, dict[str, float]]]

IDS = st.text(st.sampled_from("abZé\U0001f600~"), min_size=1, max_size=3)
RUNS: st.SearchStrategy[Rankings] = st.dictionaries(
    IDS,
    st.dictionaries(
        st.sampled_from(["10", "9", "q"]),
        st.dictionaries(IDS, st.integers(0, 2).map(float), min_size=1, max_size=6),
        min_size=1,
    ),
    min_size=1,
    max_size=4,
)


def plain(runs: Rankings, depth: int) -> dict[tuple[str, str], dict[str, int]]:
    """Rank of each (topic, document) by system: scores down, then ids down by bytes."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for system, run in runs.items():
        for topic, scores in run.items():
            ranking = sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)
            for rank, doc in enumerate(ranking[:depth], 1):
                found.setdefault((topic, doc), {})[system] = rank
    return found


def ranks(pool: cf.assess.Pool) -> dict[tuple[str, str], dict[str, int]]:
    found: dict[tuple[str, str], dict[str, int]] = {}
    for doc, system, rank in zip(pool.ranked, pool.system, pool.rank, strict=True):
        key = pool.topics[pool.topic[doc]], pool.docs[int(doc)]
        found.setdefault(key, {})[pool.systems[system]] = int(rank)
    return found


@given(RUNS, st.integers(1, 4), st.randoms())
@settings(max_examples=20, deadline=None)
def test_pool_is_what_the_definition_says(runs: Rankings, depth: int, random: Any) -> None:
    wanted = plain(runs, depth)
    pool = cf.assess.pool(runs, depth)
    assert ranks(pool) == wanted
    assert list(pool.systems) == sorted(runs, key=str.encode)
    frame = {row[:2]: row[2:] for row in pool.to_polars().rows()}
    assert frame == {key: (min(of.values()), len(of)) for key, of in wanted.items()}
    for topic, name in enumerate(pool.topics):
        docs = pool.docs[int(pool.starts[topic]) : int(pool.starts[topic + 1])].to_list()
        assert docs == sorted((d for t, d in wanted if t == name), key=str.encode)
    mixed = {
        system: {t: dict(random.sample(list(d.items()), len(d))) for t, d in run.items()}
        for system, run in random.sample(list(runs.items()), len(runs))
    }
    same_pool(cf.assess.pool(mixed, depth), pool)
    same_pool(pool.to_depth(1), cf.assess.pool(runs, 1))
    some = sorted(runs)[:2]
    fewer = cf.assess.pool(runs, depth, contributors=some)
    same_pool(pool.select_systems(some), fewer)


def same_pool(one: cf.assess.Pool, other: cf.assess.Pool) -> None:
    assert ranks(one) == ranks(other)
    assert one.systems == other.systems and one.docs.equals(other.docs)
    assert one.topics == other.topics and one.depth == other.depth
    for name in ("starts", "ranked", "ranking_starts"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_ranks_are_made_from_scores() -> None:
    lines = pl.DataFrame(
        {"topic": ["q"] * 3, "doc": ["a", "b", "c"], "rank": [1, 2, 3], "score": [1.0, 3.0, 2.0]}
    )
    with pytest.warns(cf.CranfieldWarning, match="has ranks that contradict the scores"):
        assert cf.assess.pool(lines, 2).docs.to_list() == ["b", "c"]
    assert cf.assess.pool(lines, 2, ties="rank").docs.to_list() == ["a", "b"]


def test_grades_and_what_is_unjudged() -> None:
    runs = {"a": {"1": {"x": 2.0, "y": 1.0}}, "b": {"1": {"x": 1.0}, "2": {"x": 1.0}}}
    pool = cf.assess.pool(runs, 5)
    qrels = {"1": {"y": -1, "other": 3}, "3": {"x": 1}}
    assert pool.get_grades(qrels).tolist() == [UNJUDGED_GRADE, -1, UNJUDGED_GRADE]
    assert pool.get_grades(qrels, negative="unjudged").tolist() == [UNJUDGED_GRADE] * 3
    missing = pool.find_unjudged(qrels)
    assert missing.to_polars().rows() == [("1", "x", 1, 2), ("2", "x", 1, 1)]
    assert missing.by_topic().rows() == [("1", 2, 1), ("2", 1, 1)]
    assert missing.by_system().rows() == [("a", 2, 1, 0), ("b", 2, 2, 1)]


def test_some_topics_are_pooled_as_if_the_runs_had_no_others() -> None:
    runs = {
        "a": {"1": {"x": 2.0, "y": 1.0}, "2": {"x": 1.0}},
        "b": {"1": {"z": 1.0}, "t": {"u": 1}},
    }
    with pytest.warns(cf.CranfieldWarning, match=r"^1 topic of the runs is not among .*: 't'$"):
        pool = cf.assess.pool(runs, 5, topics=["2", "1", "9"])
    same_pool(pool, cf.assess.pool({"a": runs["a"], "b": {"1": {"z": 1.0}}}, 5))
    with pytest.raises(cf.PolicyError, match="topics requires runs, got a pool"):
        cf.assess.pool(pool, 5, topics=["1"])


def test_names_are_different_and_there_is_a_run() -> None:
    run = cf.read_run({"1": {"x": 2.0}}, name="a")
    with pytest.raises(cf.InputError, match="two runs have the name 'a'"):
        cf.assess.pool([run, run], 1)
    with pytest.raises(cf.InputError, match="expected at least one run"):
        cf.assess.pool([], 1)
    with pytest.raises(cf.PolicyError, match="from 1 to 2"):
        cf.assess.pool(run, 2).to_depth(3)
