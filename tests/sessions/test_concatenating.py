"""Sessions as rankings: concatenation, judgments by session, current queries behind histories."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield import evaluate_sessions
from cranfield.base.errors import CranfieldWarning
from cranfield.sessions import read_sessions
from tests.sessions.samples import RUNS, XML, Grades, Lists, sessions_of, worlds

# The first queries of some sessions have no results.
pytestmark = pytest.mark.filterwarnings("ignore:.* positions in the session")

LISTS: Lists = {"s": [["a", "b", "c"], ["b", "d"], ["a", "e"]]}
CLICKS = [{"session": "s", "query": q, "rank": r} for q, r in [(1, 2), (1, 1), (3, 2)]]


@pytest.mark.parametrize(
    ("options", "docs", "queries"),
    [
        ({}, "abcde", [1, 1, 1, 2, 3]),
        ({"duplicates": "keep"}, "abcbdae", [1, 1, 1, 2, 2, 3, 3]),
        ({"depth": 2}, "abde", [1, 1, 2, 3]),
        ({"depth": 1}, "ab", [1, 2]),
        ({"until_click": True}, "abe", [1, 1, 3]),
        ({"until_click": True, "duplicates": "keep"}, "abae", [1, 1, 3, 3]),
        ({"until_click": True, "duplicates": "keep", "depth": 1}, "aa", [1, 3]),
    ],
)
def test_concatenation(options: dict[str, object], docs: str, queries: list[int]) -> None:
    lists = sessions_of(LISTS, CLICKS).concatenate(**options)  # type: ignore[arg-type]
    assert "".join(lists.rows["doc"]) == docs
    assert lists.rows["query"].to_list() == queries
    assert lists.rows["rank"].to_list() == [*range(1, len(docs) + 1)]
    assert lists.n_removed + lists.n_cut + len(docs) == 7


@settings(max_examples=8)
@given(worlds(), st.sampled_from([None, 1, 2]))
def test_measures_of_rankings(world: tuple[Lists, Grades], depth: int | None) -> None:
    """They score what a user gets who puts the lists together by hand."""
    lists, grades = world
    sessions = sessions_of(lists)
    by_hand = {
        name: {
            doc: -float(rank)
            for rank, doc in enumerate(
                dict.fromkeys(doc for docs in queries for doc in docs[:depth])
            )
        }
        for name, queries in lists.items()
    }
    measures = ["AP", "nDCG@3", "P@2", "RBP"]
    wanted = cf.evaluate(by_hand, grades, measures)
    ours = evaluate_sessions(sessions, grades, measures, depth=depth)
    given_ = cf.evaluate(sessions.concatenate(depth=depth), sessions.to_qrels(grades), measures)
    for measure in measures:
        assert ours[measure].topics == wanted[measure].topics
        np.testing.assert_allclose(ours[measure].values, wanted[measure].values)
        np.testing.assert_allclose(given_[measure].values, wanted[measure].values)


def test_judgments_by_session() -> None:
    """Two sessions of one topic have the same judgments; one without a judged topic has none."""
    rows = [
        {"session": s, "topic": t, "query": 1, "rank": 1, "doc": "a"}
        for s, t in [("1", "t"), ("2", "u"), ("3", "t")]
    ]
    qrels = read_sessions(rows).to_qrels(
        [("v", "x", 1), ("t", "a", 2), ("v", "y", 1), ("t", "b", 0)]
    )
    by_row = [("1", "a", 2), ("1", "b", 0), ("3", "a", 2), ("3", "b", 0)]
    assert qrels.to_polars().rows() == by_row


def test_subtopics_and_aspects_go_along() -> None:
    sessions = read_sessions(
        {"session": ["1", "2"], "topic": ["t", "t"], "query": [1, 1], "rank": [1, 1]}
        | {"doc": ["a", "b"]}
    )
    qrels = cf.read_qrels(
        pl.DataFrame({"topic": "t", "doc": ["a", "a"], "grade": [1, 1], "subtopic": ["x", "y"]})
    )
    judged = sessions.concatenate().judge(
        qrels, intents={"t": {"x": 0.75, "y": 0.25}}, aspects={"clear": {"t": {"b": 1}}}
    )
    intents = judged.intents("test")
    assert judged.topics == ("1", "2")
    assert intents.probability.tolist() == [[0.75, 0.25], [0.75, 0.25]]
    assert judged.aspect("clear", "test").queries("test").grade.tolist() == [1, 1]


def test_the_query_of_each_document_follows_views() -> None:
    judged = sessions_of(LISTS).concatenate().judge({"s": {"a": 1, "d": 0, "e": 2}})
    assert judged.queries("test").grade.tolist() == [1, 1, 1, 2, 3]
    assert judged.top(4).queries("test").grade.tolist() == [1, 1, 1, 2]
    assert judged.condense().queries("test").grade.tolist() == [1, 2, 3]
    assert judged.condense().queries("test").rank.tolist() == [1, 2, 3]
    assert judged.top(4).condense().queries("test").grade.tolist() == [1, 2]
    cut = sessions_of(LISTS).concatenate().judge({"s": {"a": 1}}, depth=2)
    assert cut.queries("test").grade.tolist() == [1, 1]


def test_systems_side_by_side() -> None:
    """The same sessions answered by two systems, one of which has nothing for the second."""
    one, two = (
        sessions_of(x, system=s).to_polars()
        for s, x in [("x", LISTS), ("y", {"s": [["e"]], "t": [["a"]]})]
    )
    sessions = read_sessions(pl.concat([one, two]).drop("clicks"))
    ev = evaluate_sessions(sessions, {"s": {"e": 1}, "t": {"a": 1}}, ["RR", "nsDCG"])
    assert ev["RR"].systems == ("x", "y")
    assert ev["RR"].values.tolist() == [[0.2, 1.0], [0.0, 1.0]]
    assert ev["nsDCG"].values[:, 1].tolist() == [1.0, 1.0]
    assert ev.by_system()["system"].to_list() == ["x", "y"]
    assert repr(ev) == "Evaluation(2 sessions, 2 systems: RR, nsDCG)"
    with pytest.raises(KeyError, match="AP was not evaluated. Evaluated measures: RR, nsDCG"):
        ev["AP"]
    assert ev["MRR"] is ev["RR"]


def test_current_queries_behind_histories() -> None:
    sessions = read_sessions(XML)
    with pytest.warns(CranfieldWarning, match="x: no results for 1 session, such as '54'"):
        both = sessions.append_runs(RUNS)
    assert (both.systems, both.names, both.topics) == (("x", "y"), ("33", "54"), ("25", "40"))
    last = both.results.filter(pl.col("query") == 4)
    assert last.select("system", "session", "rank", "doc").rows() == [
        (0, 0, 1, "n1"),
        (0, 0, 2, "n2"),
        (1, 0, 1, "clueweb12-0714wb-65-18806"),
        (1, 1, 1, "n3"),
    ]
    assert both.counts.n_results == 2 * 60 + 4
    assert both.counts.n_empty_lists == 1
    assert both.clicks.height == 22
    assert both.queries.filter(pl.col("query") == 4)["text"].to_list() == [
        *['general schedule pay tables "federal goverment"', '"employee fraud" "best practice"'] * 2
    ]
    grades = {"25": {"n1": 2}, "40": {"n3": 1}}
    sdcg = evaluate_sessions(both, grades, "sDCG")["sDCG"].values
    # Session 33 has 24 documents before, session 54 has 28; the query is the fourth.
    later = np.log(7) / np.log(4)
    np.testing.assert_allclose(
        sdcg, [[2 / (later * np.log2(26)), 0], [0, 1 / (later * np.log2(30))]]
    )


def test_runs_alone_are_scored_by_the_judgments_of_sessions() -> None:
    ev = cf.evaluate(
        RUNS, read_sessions(XML).to_qrels({"25": {"n2": 1}}, needs_current_query=True), "RR"
    )
    assert ev["RR"].topics == ("33",)
    assert ev["RR"].values.tolist() == [[0.5, 0.0]]


def test_topics_of_runs_without_a_session_are_reported() -> None:
    sessions = read_sessions(XML)
    with pytest.warns(CranfieldWarning, match="x: 1 topic excluded: not a session, such as '77'"):
        both = sessions.append_runs({"x": dict.fromkeys(("77", "33", "54"), {"a": 1.0})})
    assert both.counts.n_queries == 8


def test_sessions_that_a_run_does_not_answer() -> None:
    """Without current queries all sessions remain, and no score depends on the other runs."""
    log, runs = sessions_of({"1": [["a"]], "2": [["b"]]}), {"x": {"2": {"c": 1.0}}}
    with pytest.warns(CranfieldWarning, match="x: no results for 1 session, such as '1'"):
        both = log.append_runs(runs)
    assert both.names == ("1", "2")
    rows = [(0, 1, "a"), (1, 1, "b"), (1, 2, "c")]
    assert both.results.select("session", "query", "doc").rows() == rows
    with pytest.warns(CranfieldWarning, match="x: no results for 1 session"):
        beside = log.append_runs(runs | {"y": {"1": {"c": 1.0}, "2": {"c": 1.0}}})
    scores = [
        evaluate_sessions(sessions, {"1": {"a": 1}, "2": {"c": 1}}, "sDCG")["sDCG"].values[:, 0]
        for sessions in (both, beside)
    ]
    np.testing.assert_allclose(scores, [[1, 1 / (np.log2(5) / 2 * np.log2(3))]] * 2)
    # If the log names current queries, a session without one needs an answer.
    named = replace(log, current_queries=(None, "query"))
    assert named.append_runs(runs).names == ("2",)


def test_a_cutoff_without_the_last_list_is_reported() -> None:
    lists = {"s": [["a", "b", "c"], ["d"]], "t": [["a"], ["b", "c"]], "u": [["a", "b", "c", "d"]]}
    grades = {name: {"d": 1} for name in lists}
    measures = ["P@1", "P@2", "RR", "nDCG@2", "sDCG@1"]
    notes = [
        note
        for note in evaluate_sessions(sessions_of(lists), grades, measures).notes
        if "last query" in note
    ]
    assert [note.partition(" concatenated")[0] for note in notes] == [
        "P@1: in 2 of 2",
        "P@2 and nDCG@2: in 1 of 2",
    ]


def test_measures_that_do_not_depend_on_the_runs_are_reported() -> None:
    log = sessions_of({"s": [["a", "b"]]}, clicks={"session": ["s"], "query": [1], "rank": [2]})
    runs = {"x": {"s": {"c": 2.0, "d": 1.0}}, "y": {"s": {"d": 2.0, "c": 1.0}}}
    grades, measures = {"s": {"d": 1}}, ["ClickU(length=9)", "sDCG"]
    for until_click, names in ((False, "ClickU(length=9)"), (True, "ClickU(length=9) and sDCG")):
        notes = evaluate_sessions(
            log.append_runs(runs), grades, measures, until_click=until_click
        ).notes
        assert f"{names}: all systems have the same scores" in notes
