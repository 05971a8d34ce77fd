"""Who contributed what to the pool."""

from __future__ import annotations

from typing import Any

import pytest

import cranfield as cf
from cranfield.meta.collection_studies.pools import pools


def ranked(*docs: str) -> dict[str, float]:
    return {doc: float(-rank) for rank, doc in enumerate(docs)}


# Figure 18 of Sakai (2013) in small: the pool of one topic is the union of three teams' documents.
# Team A has two runs. Only A found a3 and a4, only B found b3, C found nothing alone.
RUNS = {
    "A-1": {"t": ranked("ab", "abc", "a3")},
    "A-2": {"t": ranked("abc", "a3", "a4", "late")},
    "B-1": {"t": ranked("b3", "ab", "bc")},
    "C-1": {"t": ranked("abc", "bc", "ab")},
}
QRELS = {"t": {"ab": 1, "abc": 2, "a3": 1, "a4": 0, "b3": 1, "bc": 0, "late": 1, "other": 1}}
TEAMS = {"A-1": "A", "A-2": "A", "B-1": "B", "C-1": "C"}


def unique(found: Any, team: str) -> set[str]:
    return set(found.runs.doc.filter(found.owner == found.teams.index(team)).to_list())


def left(found: Any, team: str, others: str = "keep") -> set[str]:
    kept = found.without(found.teams.index(team), others)
    return set(found.runs.doc.filter(kept).to_list())


def test_figure_18() -> None:
    found = pools(RUNS, QRELS, teams=TEAMS, depth=3)
    assert found.teams == ("A", "B", "C")
    assert [unique(found, team) for team in "ABC"] == [{"a3", "a4"}, {"b3"}, set()]
    # LOO_A = C_B or C_C, and what is judged from elsewhere.
    assert left(found, "A", "drop") == {"ab", "abc", "b3", "bc"}
    assert left(found, "A") == {"ab", "abc", "b3", "bc", "late", "other"}
    assert left(found, "C") == set(QRELS["t"])
    assert found.outside == 2
    columns = ("team", "systems", "contributed", "contributed relevant", "unique")
    assert found.by_team.select(*columns, "unique relevant", "topics", "unjudged").rows() == [
        ("A", 2, 4, 3, 2, 1, 1, 0),
        ("B", 1, 3, 2, 1, 1, 1, 0),
        ("C", 1, 3, 2, 0, 0, 0, 0),
    ]
    assert repr(found) == (
        "Pools(3 teams, 4 contributing runs, depth 3: 6 judgments, 2 of other documents)"
    )


def test_a_run_alone_loses_what_its_team_mates_have_too() -> None:
    by_run = pools(RUNS, QRELS, depth=3)
    assert by_run.teams == ("A-1", "A-2", "B-1", "C-1")
    assert [unique(by_run, team) for team in by_run.teams] == [set(), {"a4"}, {"b3"}, set()]


def test_a_run_that_did_not_contribute_protects_nothing() -> None:
    found = pools(RUNS, QRELS, teams=TEAMS, depth=3, contributors=["A-1", "C-1"])
    assert unique(found, "A") == {"a3"}
    assert unique(found, "C") == {"bc"}
    assert found.by_team.select("team", "contributing", "unique").rows() == [
        ("A", 1, 1),
        ("B", 0, 0),
        ("C", 1, 1),
    ]
    assert found.by_system()["contributes"].to_list() == [True, False, False, True]


def test_the_depth_is_found_where_judgments_end() -> None:
    runs = {
        "short": {"1": ranked("a", "b"), "2": ranked("a")},
        "full": {"1": ranked("a", "b", "c", "new"), "2": ranked("b", "a", "c", "d")},
        "deep": {"1": ranked("b", "a", "c", "d", "e"), "2": ranked("a", "b", "c", "new", "e")},
    }
    judged = dict.fromkeys("abcde", 1)
    found = pools(runs, {"1": judged, "2": judged})
    assert (found.depth, found.depth_inferred) == (3, True)
    # A run whose documents are all judged sets no limit.
    assert found.judged_depth.tolist() == [2, 3, 3]
    assert pools(runs, {"1": judged, "2": judged}, contributors=["short"]).depth == 2
    assert not pools(runs, {"1": judged, "2": judged}, depth=3).depth_inferred


def test_judged_contributors_are_those_with_all_their_top_documents_judged() -> None:
    runs = {
        "in": {"1": ranked("a", "b", "new")},
        "out": {"1": ranked("a", "new", "b")},
        "short": {"1": ranked("b")},
    }
    found = pools(runs, {"1": {"a": 1, "b": 0}}, contributors="judged", depth=2)
    assert found.contributes.tolist() == [True, False, True]
    assert found.by_team["unjudged"].to_list() == [0, 0, 0]
    with pytest.raises(cf.PolicyError, match="at most the top 2; choose a depth of at most 2, or "):
        pools({"in": runs["in"]}, {"1": {"a": 1, "b": 0}}, contributors="judged", depth=3)


def test_documents_without_judgment_in_the_pool_are_counted() -> None:
    runs = {"a": {"1": ranked("x", "new", "y")}, "b": {"1": ranked("x")}}
    found = pools(runs, {"1": {"x": 1, "y": 0}}, depth=3)
    assert found.by_team.select("team", "unjudged").rows() == [("a", 1), ("b", 0)]


def test_a_grade_below_zero_is_in_the_pool() -> None:
    runs = {"a": {"1": ranked("x", "y")}, "b": {"1": ranked("x", "z")}}
    for negative in ("judged", "unjudged"):
        found = pools(runs, {"1": {"x": -1, "y": 1, "z": 1}}, negative=negative)
        assert found.depth == 2
        assert unique(found, "a") == {"y"}


def test_topics_that_nobody_judged_say_nothing_of_the_depth() -> None:
    runs = {"a": {"1": ranked("x", "y"), "9": ranked("n")}, "b": {"1": ranked("y")}}
    for topics in ("qrels", "run", "intersection"):
        found = pools(runs, {"1": {"x": 1, "y": 1}}, topics=topics)
        assert (found.depth, found.by_team["unjudged"].to_list()) == (2, [0, 0])


def test_ranks_follow_the_policy_for_ties() -> None:
    runs = {"a": {"1": {"x": 1.0, "y": 1.0}}, "b": {"1": {"z": 1.0}}}
    qrels = {"1": {"x": 1, "y": 1, "z": 1}}
    assert unique(pools(runs, qrels, depth=1), "a") == {"y"}
    assert unique(pools(runs, qrels, depth=1, ties="id-ascending"), "a") == {"x"}


def test_the_bundled_collection() -> None:
    covid = cf.bundled.trec_covid()
    found = pools(covid.runs, covid.qrels, teams=covid.teams, depth=5)
    assert len(found.teams) == len(set(covid.teams.values()))
    inside = int((found.contributors > 0).sum())
    assert inside + found.outside == len(covid.qrels)
    assert found.by_team["unique"].sum() == int((found.contributors == 1).sum())


def test_the_half_that_is_judged_deepest_is_taken_where_not_all_are() -> None:
    runs = {
        **{name: {"1": {"a": 3.0, "b": 2.0, "c": 1.0}} for name in ("x", "y")},
        "z": {"1": {"n": 3.0, "a": 2.0, "b": 1.0}},
    }
    found = pools(runs, {"1": {"a": 1, "b": 0}})
    assert (found.depth, found.depth_inferred, found.contributes.tolist()) == (
        2,
        True,
        [True, True, False],
    )
