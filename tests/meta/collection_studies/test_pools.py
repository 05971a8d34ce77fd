"""Who contributed what to the pool."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import InputError, PolicyError
from cranfield.evaluation.evaluation import find_tie_effects
from cranfield.meta.collection_studies.pools import (
    QRELS_INDEX,
    pools,
    restrict_judgments,
    trace_runs,
)
from cranfield.meta.collection_studies.rankings import teams_of


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


def judged_docs(judged: cf.JudgedRuns, qrels: Any) -> pl.Series:
    """Documents of the judgments of traced runs."""
    return cf.read_qrels(qrels).docs.gather(judged.judgments.columns[QRELS_INDEX])


def unique(found: Any, team: str, qrels: Any = QRELS) -> set[str]:
    docs = judged_docs(found.runs, qrels)
    return set(docs.filter(found.owner == found.teams.index(team)).to_list())


def left(found: Any, team: str, others: str = "keep") -> set[str]:
    kept = found.exclude_team(found.teams.index(team), others)
    return set(judged_docs(found.runs, QRELS).filter(kept).to_list())


def test_figure_18() -> None:
    found = pools(RUNS, QRELS, teams=TEAMS, depth=3)
    assert found.teams == ("A", "B", "C")
    assert [unique(found, team) for team in "ABC"] == [{"a3", "a4"}, {"b3"}, set()]
    # LOO_A = C_B or C_C, and what is judged from elsewhere.
    assert left(found, "A", "drop") == {"ab", "abc", "b3", "bc"}
    assert left(found, "A") == {"ab", "abc", "b3", "bc", "late", "other"}
    assert left(found, "C") == set(QRELS["t"])
    assert found.n_outside == 2
    columns = ("team", "systems", "contributed", "contributed relevant", "unique")
    assert found.by_team.select(*columns, "unique relevant", "topics", "unjudged").rows() == [
        ("A", 2, 4, 3, 2, 1, 1, 0),
        ("B", 1, 3, 2, 1, 1, 1, 0),
        ("C", 1, 3, 2, 0, 0, 0, 0),
    ]
    assert repr(found) == (
        "Pools(3 teams, 4 contributing runs, depth 3: 6 judgments in the pool, 2 outside)"
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
    assert (found.depth, found.is_depth_inferred) == (3, True)
    # A run whose documents are all judged sets no limit.
    assert found.judged_depth.tolist() == [2, 3, 3]
    assert pools(runs, {"1": judged, "2": judged}, contributors=["short"]).depth == 2
    assert not pools(runs, {"1": judged, "2": judged}, depth=3).is_depth_inferred


def test_judged_contributors_are_those_with_all_their_top_documents_judged() -> None:
    runs = {
        "in": {"1": ranked("a", "b", "new")},
        "out": {"1": ranked("a", "new", "b")},
        "short": {"1": ranked("b")},
    }
    found = pools(runs, {"1": {"a": 1, "b": 0}}, contributors="judged", depth=2)
    assert found.is_contributor.tolist() == [True, False, True]
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
        qrels = {"1": {"x": -1, "y": 1, "z": 1}}
        found = pools(runs, qrels, negative=negative)
        assert found.depth == 2
        assert unique(found, "a", qrels) == {"y"}


def test_topics_that_nobody_judged_say_nothing_of_the_depth() -> None:
    runs = {"a": {"1": ranked("x", "y"), "9": ranked("n")}, "b": {"1": ranked("y")}}
    for topics in ("qrels", "run", "intersection"):
        found = pools(runs, {"1": {"x": 1, "y": 1}}, topics=topics)
        assert (found.depth, found.by_team["unjudged"].to_list()) == (2, [0, 0])


def test_ranks_follow_the_policy_for_ties() -> None:
    runs = {"a": {"1": {"x": 1.0, "y": 1.0}}, "b": {"1": {"z": 1.0}}}
    qrels = {"1": {"x": 1, "y": 1, "z": 1}}
    assert unique(pools(runs, qrels, depth=1), "a", qrels) == {"y"}
    assert unique(pools(runs, qrels, depth=1, ties="id-ascending"), "a", qrels) == {"x"}


def test_the_bundled_collection() -> None:
    covid = cf.bundled.trec_covid()
    found = pools(covid.runs, covid.qrels, teams=covid.teams, depth=5)
    assert len(found.teams) == len(set(covid.teams.values()))
    inside = int((found.n_contributing_teams > 0).sum())
    assert inside + found.n_outside == len(covid.qrels)
    assert found.by_team["unique"].sum() == int((found.n_contributing_teams == 1).sum())


def test_the_half_that_is_judged_deepest_is_taken_where_not_all_are() -> None:
    runs = {
        **{name: {"1": {"a": 3.0, "b": 2.0, "c": 1.0}} for name in ("x", "y")},
        "z": {"1": {"n": 3.0, "a": 2.0, "b": 1.0}},
    }
    found = pools(runs, {"1": {"a": 1, "b": 0}})
    assert (found.depth, found.is_depth_inferred, found.is_contributor.tolist()) == (
        2,
        True,
        [True, True, False],
    )


# Judged runs that know their judgments


@pytest.mark.parametrize("measure", ["IAA@5", "EEL@5", "AP"])
def test_rows_know_their_judgments(measure: str) -> None:
    """All judgments, and half of them, against the same judged anew."""
    random = np.random.default_rng(4)
    docs = [f"d{k}" for k in range(20)]
    runs = {
        name: {
            t: {d: float(x) for d, x in zip(random.permutation(docs)[:12], range(12), strict=True)}
            for t in "qr"
        }
        for name in "xy"
    }
    qrels = {t: {d: int(random.choice([0, 1, 2])) for d in docs} for t in "qr"}
    qrels["q"]["d0"] = qrels["r"]["d0"] = 2
    found = trace_runs(runs, qrels)
    fewer = {t: {d: g for d, g in one.items() if int(d[1:]) % 2 == 0} for t, one in qrels.items()}
    kept = judged_docs(found, qrels).is_in(sorted(fewer["q"])).to_numpy()
    for judged, anew in ((found, qrels), (restrict_judgments(found, kept), fewer)):
        values = cf.score(judged, measure)[measure].values
        assert values.tolist() == cf.evaluate(runs, anew, measure)[measure].values.tolist()


def test_ties_have_grades() -> None:
    """Ties move scores of traced runs as they move those of the same runs judged as usual."""
    docs = [f"d{k}" for k in range(8)]
    runs = {"x": {"q": dict.fromkeys(docs, 1.0), "r": dict.fromkeys(docs[2:], 2.0)}}
    qrels = {"q": {d: k % 4 - 1 for k, d in enumerate(docs)}, "r": dict.fromkeys(docs, 1)}
    usual = cf.evaluate(runs, qrels, ["ERR@3", "AP"])
    judged = trace_runs(runs, qrels)
    effects = find_tie_effects(judged, cf.score(judged, ["ERR@3", "AP"]))
    assert effects == find_tie_effects(usual.judged, usual.scores)
    # The best order on q begins with grades 2, 2, 1 and the worst with -1, -1, 0; r has one grade.
    best = 3 / 4 + 1 / 4 * 3 / 4 / 2 + 1 / 16 * 1 / 4 / 3
    assert effects[0].effect == pytest.approx(best / 2)


# Teams of systems

SYSTEMS = ["uni-1", "uni-2", "lab-1"]


@pytest.mark.filterwarnings("ignore:.*columns not used")
def test_every_way_says_the_same(tmp_path: Path) -> None:
    rows = {
        "tag": [*SYSTEMS, "more"],
        "Team": ["uni", "uni", "lab", "x"],
        "P@20": [1, 2, 3, 4],
    }
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "teams.csv")
    frame.write_csv(tmp_path / "teams.tsv", separator="\t")
    lines = (tmp_path / "teams.csv").read_text().splitlines()
    (tmp_path / "lines.csv").write_text("\n\n".join(lines))
    ways: list[Any] = [
        tmp_path / "lines.csv",
        {"uni-1": "uni", "uni-2": "uni", "lab-1": "lab", "more": "x"},
        lambda name: name.split("-")[0],
        re.compile("^[a-z]+"),
        re.compile("^(.+)-"),
        frame,
        frame.lazy(),
        tmp_path / "teams.csv",
        str(tmp_path / "teams.tsv"),
    ]
    for way in ways:
        assert teams_of(SYSTEMS, way) == ("uni", "uni", "lab")


def test_each_system_is_its_own_team_by_default() -> None:
    assert teams_of(SYSTEMS) == tuple(SYSTEMS)


@pytest.mark.parametrize(
    ("teams", "error", "message"),
    [
        ({"uni-1": "uni"}, PolicyError, "system 'uni-2' has no team"),
        (re.compile("^uni"), PolicyError, "system 'lab-1' has no team"),
        (dict.fromkeys(SYSTEMS, pl.LazyFrame()), PolicyError, "system 'uni-1' has no team"),
        (dict.fromkeys(SYSTEMS, float("nan")), PolicyError, "system 'uni-1' has no team"),
        (lambda name: None, PolicyError, "system 'uni-1' has no team"),
        (7, PolicyError, "got int"),
        ("no-such-file.csv", InputError, "no-such-file.csv: cannot be read"),
        (pl.DataFrame({"a": SYSTEMS}), InputError, "has no system column"),
        (pl.DataFrame({"run": SYSTEMS}), InputError, "has no team column"),
        (
            pl.DataFrame({"run": ["uni-1", "uni-1"], "team": ["a", "b"]}),
            InputError,
            "system 'uni-1' has the teams 'a' and 'b'",
        ),
        (
            pl.DataFrame({"run": [*SYSTEMS, "x"], "team": [*"aab", " "]}),
            InputError,
            "row 4: expected a team",
        ),
        (
            pl.DataFrame({"run": [*SYSTEMS, None], "team": [*"aabb"]}),
            InputError,
            "row 4: expected a system",
        ),
    ],
)
def test_what_does_not_fit_is_said(teams: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        teams_of(SYSTEMS, teams)
