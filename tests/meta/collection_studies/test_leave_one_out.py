"""Leaving out contributors, against smaller judgments that are written out."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

import cranfield as cf
from cranfield.meta.collection_studies.leave_one_out import LeaveOneOut, leave_one_out
from tests.meta.collection_studies.test_pools import QRELS, RUNS, TEAMS, ranked

Grades = dict[str, dict[str, int]]
Rankings = dict[str, dict[str, list[str]]]


def by_system(found: LeaveOneOut, measure: str, kind: str, column: str) -> dict[str, Any]:
    rows = found.systems.filter(pl.col("measure") == measure, pl.col("list") == kind)
    return dict(zip(rows["system"], rows[column], strict=True))


def taken(
    rankings: Rankings, qrels: Grades, teams: dict[str, str], team: str, depth: int, others: str
) -> Grades:
    """Write out the judgments without a team's unique contributions, set by set."""
    left: Grades = {}
    for topic, grades in qrels.items():
        own: set[str] = set()
        rest: set[str] = set()
        for system, lists in rankings.items():
            (own if teams[system] == team else rest).update(lists.get(topic, [])[:depth])
        kept = {
            doc: grade
            for doc, grade in grades.items()
            if doc in rest or (doc not in own and others == "keep")
        }
        if kept:
            left[topic] = kept
    return left


def test_a_drop_of_minus_zero_has_no_sign() -> None:
    found = leave_one_out(RUNS, QRELS, ["AP"], teams=TEAMS, depth=3, lists="raw")
    zero = pl.lit(-0.0)
    drops = found.summary.with_columns(zero.alias("mean drop %"), zero.alias("largest drop %"))
    object.__setattr__(found, "summary", drops)
    assert "loses 0.0% of its score on average, 0.0% at most" in found.verdict[0]


def test_figure_18_by_hand() -> None:
    found = leave_one_out(RUNS, QRELS, ["P@3", "AP"], teams=TEAMS, depth=3, lists="raw")
    assert by_system(found, "P@3", "raw", "before") == pytest.approx(
        {"A-1": 1.0, "A-2": 2 / 3, "B-1": 2 / 3, "C-1": 2 / 3}
    )
    # Without A's a3 its runs lose one of three; B loses b3; C loses nothing.
    assert by_system(found, "P@3", "raw", "after") == pytest.approx(
        {"A-1": 2 / 3, "A-2": 1 / 3, "B-1": 1 / 3, "C-1": 2 / 3}
    )
    assert by_system(found, "P@3", "raw", "change %") == pytest.approx(
        {"A-1": -100 / 3, "A-2": -50, "B-1": -50, "C-1": 0}
    )
    assert by_system(found, "P@3", "raw", "rank before") == {
        "A-1": 1, "A-2": 2, "B-1": 2, "C-1": 2,
    }  # fmt: skip
    # A-1 falls to 2/3, which no other system exceeds; A-2 and B-1 fall behind all others.
    assert by_system(found, "P@3", "raw", "rank after") == {
        "A-1": 1, "A-2": 4, "B-1": 4, "C-1": 2,
    }  # fmt: skip
    # AP of A-1 has RB = 6 before, and 5 without a3: (1 + 1) / 5, not 3 / 6.
    assert by_system(found, "AP", "raw", "before")["A-1"] == pytest.approx(3 / 6)
    assert by_system(found, "AP", "raw", "after")["A-1"] == pytest.approx(2 / 5)
    [row] = found.summary.filter(pl.col("measure") == "P@3").to_dicts()
    assert row["mean drop"] == pytest.approx(1 / 4)
    assert row["largest drop"] == pytest.approx(1 / 3)
    assert row["largest drop %"] == pytest.approx(50)
    assert (row["largest gain"], row["largest rank change"]) == (0.0, 2)
    assert found.rankings.filter(pl.col("team") == "C")["tau"].to_list() == [1.0, 1.0]
    assert (
        repr(found)
        == "LeaveOneOut(leave-one-out test by team: 3 teams, 4 contributing runs, pool depth 3)"
    )


def test_condensed_lists_by_hand() -> None:
    # b1 alone brought y. Without it, x moves up to rank 1 in b1's condensed list.
    runs = {"a1": {"q": ranked("x", "n")}, "b1": {"q": ranked("y", "x")}}
    found = leave_one_out(runs, {"q": {"x": 1, "y": 0, "n": 0}}, "RR", depth=2)
    assert by_system(found, "RR", "raw", "after") == {"a1": 1.0, "b1": 0.5}
    assert by_system(found, "RR", "condensed", "before") == {"a1": 1.0, "b1": 0.5}
    assert by_system(found, "RR", "condensed", "after") == {"a1": 1.0, "b1": 1.0}
    assert found.summary["largest gain"].to_list() == [0.0, 0.5]
    assert found.summary["largest drop"].to_list() == [0.0, 0.0]


def covid() -> tuple[Any, Grades, Rankings, dict[str, str]]:
    some = cf.bundled.trec_covid()
    runs = some.runs[:12]
    qrels: Grades = {}
    for topic, doc, grade in some.qrels.to_polars().select("topic", "doc", "grade").rows():
        qrels.setdefault(topic, {})[doc] = grade
    rankings: Rankings = {}
    for run in runs:
        rows = run.to_polars().sort("score", "doc", descending=True)
        lists = rows.group_by("topic", maintain_order=True).agg("doc").rows()
        rankings[run.name] = dict(lists)
    return runs, qrels, rankings, some.teams


@pytest.mark.parametrize("others", ["keep", "drop"])
def test_the_bundled_collection_against_judgments_written_out(others: str) -> None:
    runs, qrels, rankings, teams = covid()
    measures = ["AP", "nDCG@20", "Bpref", "infAP", "ERR@10", "GMAP"]
    found = leave_one_out(runs, qrels, measures, teams=teams, depth=10, others=others)
    # The team whose unique documents are most, and one with several runs.
    for team in found.teams.sort("unique relevant", "team")["team"].to_list()[-1:]:
        smaller = taken(rankings, qrels, teams, team, 10, others)
        full = taken(rankings, qrels, teams, "nobody", 10, others)
        assert len(smaller) == 50
        unjudged: Any
        for kind, unjudged in (("raw", "nonrelevant"), ("condensed", "condensed")):
            after = cf.evaluate(runs, smaller, measures, unjudged=unjudged)
            before = cf.evaluate(runs, full, measures, unjudged=unjudged)
            for measure in measures:
                one, other = before[measure].overall(), after[measure].overall()
                first = by_system(found, measure, kind, "before")
                then = by_system(found, measure, kind, "after")
                rank = by_system(found, measure, kind, "rank after")
                np.testing.assert_allclose(list(first.values()), one, atol=1e-12)
                for s, system in enumerate(before.systems):
                    if teams[system] == team:
                        assert then[system] == pytest.approx(other[s], abs=1e-12)
                        better = np.delete(one, s) > other[s] + 1e-8
                        assert rank[system] == 1 + better.sum()
                [row] = found.rankings.filter(
                    pl.col("measure") == measure, pl.col("list") == kind, pl.col("team") == team
                ).to_dicts()
                expected = kendalltau(np.round(one, 8), np.round(other, 8)).statistic
                assert row["tau"] == pytest.approx(expected, abs=1e-12)


DOCS = [f"d{k}" for k in range(7)]
LISTS = st.lists(st.sampled_from(DOCS), unique=True, min_size=1)
COLLECTIONS = st.tuples(
    st.lists(st.tuples(LISTS, LISTS), min_size=2, max_size=4),
    st.tuples(
        st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 2), min_size=1),
        st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 2), min_size=1),
    ),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.integers(1, 4),
    st.sampled_from(["keep", "drop"]),
)
SMALL = ["AP", "nDCG@3", "Bpref", "infAP", "P@2"]


def small(
    lists: list[tuple[list[str], list[str]]], judged: Any, labels: list[int]
) -> tuple[Rankings, Grades, dict[str, str]]:
    rankings = {f"s{k}": {"1": one, "2": two} for k, (one, two) in enumerate(lists)}
    # Two teams at least.
    teams = {f"s{k}": f"t{0 if k == 0 else labels[k] + 1}" for k in range(len(lists))}
    return rankings, {"1": judged[0], "2": judged[1]}, teams


def runs_of(rankings: Rankings) -> dict[str, dict[str, dict[str, float]]]:
    return {
        system: {topic: ranked(*docs) for topic, docs in lists.items()}
        for system, lists in rankings.items()
    }


def means(runs: Any, qrels: Grades, kind: str) -> dict[str, list[float]]:
    """Mean scores over both topics; one without judgments left counts 0."""
    if not qrels:
        return {measure: [0.0] * len(runs) for measure in SMALL}
    unjudged: Any = {"raw": "nonrelevant", "condensed": "condensed"}[kind]
    scores = cf.evaluate(runs, qrels, SMALL, unjudged=unjudged)
    return {m: (scores[m].values.sum(axis=0) / 2).tolist() for m in SMALL}


@settings(max_examples=10)
@given(COLLECTIONS)
def test_any_small_collection(given_: Any) -> None:
    lists, judged, labels, depth, others = given_
    rankings, qrels, teams = small(lists, judged, labels)
    runs = runs_of(rankings)
    found = leave_one_out(runs, qrels, SMALL, teams=teams, depth=depth, others=others)
    for kind in ("raw", "condensed"):
        full = means(runs, taken(rankings, qrels, teams, "nobody", depth, others), kind)
        for team in sorted(set(teams.values())):
            after = means(runs, taken(rankings, qrels, teams, team, depth, others), kind)
            for measure in SMALL:
                before = list(by_system(found, measure, kind, "before").values())
                assert before == pytest.approx(full[measure], abs=1e-12)
                then = by_system(found, measure, kind, "after")
                for system, expected in zip(rankings, after[measure], strict=True):
                    if teams[system] == team:
                        assert then[system] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=10)
@given(COLLECTIONS, st.randoms(use_true_random=False))
def test_the_order_of_systems_does_not_matter(given_: Any, mixer: random.Random) -> None:
    lists, judged, labels, depth, others = given_
    rankings, qrels, teams = small(lists, judged, labels)
    runs = runs_of(rankings)
    names = list(runs)
    mixer.shuffle(names)
    options: dict[str, Any] = {"teams": teams, "depth": depth, "others": others}
    one = leave_one_out(runs, qrels, ["AP", "P@2"], **options)
    other = leave_one_out({name: runs[name] for name in names}, qrels, ["AP", "P@2"], **options)
    key = ["measure", "list", "system"]
    assert one.systems.sort(key).equals(other.systems.sort(key))
    assert one.teams.equals(other.teams)
    same = pl.col("tau").round(12), pl.col("mean drop").round(12)
    assert one.rankings.with_columns(same).equals(other.rankings.with_columns(same))


def test_a_team_whose_documents_others_have_too_changes_nothing() -> None:
    runs = {
        "a": {"1": ranked("x", "y", "z")},
        "b": {"1": ranked("y", "x")},
        "c": {"1": ranked("z", "w", "y")},
    }
    found = leave_one_out(runs, {"1": {"x": 1, "y": 2, "z": 0, "w": 1}}, ["AP", "Bpref"], depth=3)
    assert found.teams["unique"].to_list() == [0, 0, 1]
    for team in ("a", "b"):
        rows = found.systems.filter(pl.col("team") == team)
        assert rows["difference"].to_list() == [0.0] * 4
        assert found.rankings.filter(pl.col("team") == team)["tau"].to_list() == [1.0] * 4


def test_a_measure_that_wants_low_scores() -> None:
    runs = {"a": {"1": ranked("x", "y")}, "b": {"1": ranked("y", "z")}}
    found = leave_one_out(runs, {"1": {"x": 0, "y": 1, "z": 0}}, "Unjudged@2", lists="raw")
    # Each loses the judgment of one of its two documents: that is a change for the worse.
    assert found.systems["difference"].to_list() == [0.5, 0.5]
    assert found.summary["mean drop"].to_list() == [0.5]
    assert found.rankings["largest drop"].to_list() == [0.5, 0.5]
    assert found.systems.select("rank before", "rank after").rows() == [(1, 2), (1, 2)]
    assert found.systems["change %"].to_list() == [None, None]


def test_the_summary_leaves_out_teams_that_did_not_contribute() -> None:
    runs = {"a": {"1": ranked("x", "y")}, "b": {"1": ranked("y")}, "c": {"1": ranked("x")}}
    options: dict[str, Any] = {"depth": 2, "contributors": ["a", "b"], "lists": "raw"}
    found = leave_one_out(runs, {"1": {"x": 1, "y": 1}}, "AP", **options)
    assert found.systems["difference"].to_list() == [-0.0 + 0.5 - 1.0, 0.0, 0.0]
    assert found.summary["mean drop"].to_list() == [0.25]


def test_systems_without_a_score_have_no_rank() -> None:
    runs = {"a": {"1": ranked("x")}, "b": {"1": ranked("y")}, "none": {"7": ranked("x")}}
    found = leave_one_out(
        runs, {"1": {"x": 1, "y": 1}}, "AP", depth=1, topics="intersection", lists="raw"
    )
    row = found.systems.row(2, named=True)
    assert [row[name] for name in ("before", "after", "difference", "rank before")] == [None] * 4
    assert found.systems["rank after"].to_list() == [2, 2, None]


def test_runs_that_are_not_named_as_contributors_are_not_said_to_be_unjudged() -> None:
    runs = {name: {"q": ranked("x", "y", "z")} for name in "abc"}
    qrels = {"q": dict.fromkeys("xyz", 1)}
    assert len(leave_one_out(runs, qrels, "AP", contributors=["a", "b"]).heading()) == 1
    runs["c"] = {"q": ranked("new", "x")}
    assert "1 run" in leave_one_out(runs, qrels, "AP").heading()[1]
