"""Preferences of the users of a log: against loops over its pages, and counts by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.streams import draw_uniforms
from cranfield.online import (
    interleave,
    measure,
    preference,
    preference_by_credits,
    preference_matrix,
    preference_matrix_by_credits,
    read_log,
    simulated_log,
    simulated_user,
)
from cranfield.online.log.query_log import QueryLog, make_log
from cranfield.significance.corrections.pvalue_corrections import adjust_pvalues
from tests.online.refusals import check_refused


def small_log(**columns: Any) -> QueryLog:
    """Three pages of two users, of which a, b own ranks 1 and 2, and nobody rank 3."""
    pages = pl.DataFrame({"id": ["x", "y", "z"], "query": ["q", "q", "r"], **columns})
    shown = [(page, rank, f"d{rank}", team) for page in range(3) for rank, team in _RANKS]
    results = pl.DataFrame(shown, ["page", "rank", "doc", "team"], orient="row")
    clicks = pl.DataFrame(
        {
            "page": [0, 0, 0, 1, 2, 2, 2],
            "rank": [2, 1, 1, 1, 3, 2, None],
            "doc": ["d2", "d1", "d1", "d1", "d3", "d2", "off"],
            "dwell": [40.0, 3.0, None, 30.0, 90.0, 5.0, 50.0],
        }
    )
    return make_log(pages, results, clicks)


_RANKS = [(1, "a"), (2, "b"), (3, None)]


@pytest.mark.parametrize(
    ("clicks", "wanted"),
    [
        ("all", (1, 1, 1)),  # page 0: each one result, clicked once or twice
        ("first", (1, 1, 1)),  # b, a, nobody: a tie
        ("last", (2, 1, 0)),  # a, a, b
        ("sat", (1, 1, 1)),  # b, a, nobody
        ("dwell", (1, 2, 0)),  # 3 to 40, 30 to 0, 0 to 5
    ],
)
def test_weights_of_clicks(clicks: str, wanted: tuple[int, ...]) -> None:
    found = preference(small_log(), clicks=clicks, resamples=10)
    assert (found.wins, found.losses, found.ties) == wanted
    assert found.names == ("a", "b")


def test_dwell_is_named_among_the_weights_of_clicks() -> None:
    log = small_log()
    for clicks in (log.clicks, log.clicks.drop("dwell")):
        with pytest.raises(PolicyError, match="expected one of: all, first, last, sat, dwell$"):
            preference(replace(log, clicks=clicks), clicks="z")


def test_clicks_censored_below_the_minimum_dwell_are_of_unknown_dwell() -> None:
    log = small_log()
    censored = pl.Series("censored", [False, True, False, True, True, None, False])
    found = preference(replace(log, clicks=log.clicks.with_columns(censored)), clicks="sat")
    # Of the clicks with a rank, one has no dwell, and one is censored at 3 seconds.
    assert (
        found.notes[0] == "2 clicks with an unknown or censored dwell time treated as not satisfied"
    )


def test_unit_must_be_named_where_users_come_again() -> None:
    log = small_log(user=["ann", "bob", "ann"])
    reason = r"users have several pages \(2 users, 3 pages\).*unit='user'"
    with pytest.raises(PolicyError, match=reason):
        preference(log)
    assert preference(log, "user").n_units == 2
    assert preference(log, "impression").n_units == 3
    assert preference(log, "query").n_units == 2
    with pytest.raises(PolicyError, match="sessions have several pages"):
        preference(small_log(session=["s", "s", "t"]))
    assert preference(small_log(user=["ann", "bob", "eve"])).unit == "impression"


def test_pages_without_users_are_units_of_their_own_and_told() -> None:
    found = preference(small_log(user=["ann", None, None]), "user")
    assert found.n_units == 3
    assert found.notes[0] == "2 pages without user, each treated as a separate user"


def test_simulated_log_against_a_loop() -> None:
    log = simulated_log()
    found = preference(log, "user")
    teams = log.results.filter(pl.col("team").is_not_null())
    clicked = set(log.clicks.select("page", "rank").iter_rows())
    users = log.pages["user"]
    credit: dict[int, float] = {}
    for page, rank, team in teams.select("page", "rank", "team").iter_rows():
        won = 0 if (page, rank) not in clicked else 1 if team == "control" else -1
        credit[page] = credit.get(page, 0) + won
    signs = np.sign(list(credit.values()))
    assert (found.wins, found.losses) == ((signs > 0).sum(), (signs < 0).sum())
    by_user: dict[str, float] = {}
    for page, sign in zip(credit, signs, strict=True):
        by_user[users[page]] = by_user.get(users[page], 0) + sign
    ahead = np.sign(list(by_user.values()))
    assert (found.unit_wins, found.unit_losses) == ((ahead > 0).sum(), (ahead < 0).sum())
    assert "2,501 pages excluded: no method and no team" in found.notes


def test_pairs_of_which_not_both_took_part() -> None:
    credits = [[1, 0, np.nan], [np.nan, 1, 0], [0, 1, np.nan], [0, 1, np.nan], [1, np.nan, 0]]
    found = preference_matrix_by_credits(credits, names=["a", "b", "c"])
    rows = found.to_polars()["wins", "losses", "ties"].rows()
    assert rows == [(1, 2, 0), (1, 0, 0), (1, 0, 0)]
    note = "2 impressions excluded: not both rankers took part"
    assert note in found.pairs[0].notes
    with pytest.raises(PolicyError, match="no impression has credits of both '1' and '3'"):
        preference_matrix_by_credits([[1, 0, np.nan]])


def test_matrix_is_its_pairs_and_their_correction() -> None:
    draw = np.random.default_rng(5)
    credits = draw.integers(0, 3, (200, 4)) + [0, 0, 1, 1]
    users = draw.integers(0, 60, 200)
    found = preference_matrix_by_credits(credits, users, unit="user", resamples=50)
    one = preference_by_credits(credits[:, [1, 3]], users, unit="user", resamples=50)
    assert found.pairs[4].to_polars().equals(one.to_polars())
    raw = [pair.pvalue for pair in found.pairs]
    assert found.pvalues.tolist() == adjust_pvalues(raw, "holm").tolist()
    np.testing.assert_array_equal(found.delta, -found.delta.T)
    assert found.delta[1, 3] == one.delta
    assert (found.is_significant == found.is_significant.T).all()


def test_cycles_are_told() -> None:
    cycle = [[2, 1, 0, 3]] * 30 + [[0, 2, 1, 3]] * 30 + [[1, 0, 2, 3]] * 30
    found = preference_matrix_by_credits(cycle, names=[*"abcd"], resamples=10)
    assert found.find_cycles() == [("a", "b", "c")]
    assert found.find_cycles(requires_significance=True) == [("a", "b", "c")]
    assert "a > b > c > a" in str(found)
    few = preference_matrix_by_credits(cycle[29:31] + cycle[60:61], names=[*"abcd"], resamples=10)
    assert few.find_cycles() == [("a", "b", "c")]
    assert few.find_cycles(requires_significance=True) == []
    straight = preference_matrix_by_credits([[3, 2, 1, 0]] * 9, names=[*"abcd"], resamples=10)
    assert straight.find_cycles() == []
    assert straight.compute_error([*"abcd"]) == 0
    assert straight.compute_error({"a": 0, "b": 1, "c": 2, "d": 3}) == 1
    assert straight.compute_error([*"bacd"]) == pytest.approx(2 / 12)


def test_shortest_of_several_cycles() -> None:
    # a > b > c > d > a, and c > a: the triangle is told.
    wins = {("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("c", "a")}
    rows = [[{i: 1.0, j: 0.0}.get(name, np.nan) for name in "abcd"] for i, j in wins]
    rows.append([np.nan, 1.0, np.nan, 1.0])  # b and d: a tie
    found = preference_matrix_by_credits(rows, names=[*"abcd"], resamples=10)
    assert found.find_cycles() == [("a", "b", "c")]


def test_matrix_of_a_log() -> None:
    found = preference_matrix(simulated_log(), "user", resamples=100)
    assert found.rankers == ("control", "treatment")
    assert found.pairs[0].wins == preference(simulated_log(), "user", resamples=1).wins


def _interleaved(method: str) -> tuple[QueryLog, Any, np.ndarray[Any, Any]]:
    """Draw pages of two queries, click them, and keep them as a log; with their outcomes."""
    lists = {
        "q": {"old": ["a", "b", "c"], "new": ["b", "c", "a"]},
        "r": {"old": ["x", "y"], "new": ["z", "x"]},
    }
    pages: list[Any] = []
    results: list[Any] = []
    clicks: list[Any] = []
    wanted: list[float] = []
    for query, of in lists.items():
        made = interleave(of, method, 3)
        drawn = made.draw(20, 4)
        grades = np.where(drawn.lists >= 0, drawn.lists % 2, -1)
        clicked = simulated_user("informational").draw_clicks(grades, draw_uniforms(2, 0, 20, 6))
        wanted += made.outcomes(drawn.lists, clicked, drawn.teams).tolist()
        for k in range(20):
            page = len(pages)
            pages.append((f"{query}{k}", query, method))
            for rank, (code, team) in enumerate(zip(drawn.lists[k], drawn.teams[k], strict=True)):
                if code >= 0:
                    owner = None if team < 0 else made.rankers[team]
                    results.append((page, rank + 1, made.docs[code], owner))
                    clicks += [(page, rank + 1, made.docs[code])] * int(clicked[k, rank])
    log = make_log(
        pl.DataFrame(pages, schema=["id", "query", "method"], orient="row"),
        pl.DataFrame(results, schema=["page", "rank", "doc", "team"], orient="row"),
        pl.DataFrame(clicks, schema=["page", "rank", "doc"], orient="row"),
    )
    return log, lists, np.array(wanted)


@pytest.mark.parametrize(
    "method", ["Balanced", "TeamDraft", "Probabilistic", "Optimised", "PairwisePreference"]
)
def test_pages_are_compared_as_their_method_does(method: str) -> None:
    log, lists, wanted = _interleaved(method)
    found = preference(log, lists=lists, names=("old", "new"), resamples=10)
    assert found.wins == (wanted > 1e-9).sum()
    assert found.losses == (wanted < -1e-9).sum()
    if method != "TeamDraft":
        assert found.credit == pytest.approx(wanted.mean(), abs=1e-12)
    # By default A and B are in order of their names.
    assert preference(log, lists=lists, resamples=10).wins == found.losses
    without = make_log(log.pages.drop("method"), log.results, log.clicks)
    told = preference(without, lists=lists, method=method, resamples=10)
    assert told.wins == found.losses


def test_teams_and_team_draft_say_the_same() -> None:
    log, lists, _ = _interleaved("TeamDraft")
    one, other = preference(log, resamples=10), preference(log, lists=lists, resamples=10)
    assert one.to_polars().equals(other.to_polars())
    assert (one.wins, one.losses, one.ties) == (other.wins, other.losses, other.ties)


def test_lists_have_the_names_of_the_teams() -> None:
    log, lists, _ = _interleaved("TeamDraft")
    renamed = {q: {"old": by["old"], "newer": by["new"]} for q, by in lists.items()}
    message = "lists named like the teams in the log, such as 'new', got lists named 'newer', 'old'"
    with pytest.raises(CranfieldError, match=message):
        preference(log, lists=renamed)
    no_teams = make_log(log.pages, log.results.drop("team"), log.clicks)
    assert preference(no_teams, lists=renamed, method="Balanced", resamples=10).n_impressions


def test_the_first_click_without_times_is_noted() -> None:
    log = small_log()
    note = "first click: clicks have no times; on 2 pages with several clicked results, the order"
    assert any(note in line for line in preference(log, clicks="first", resamples=10).notes)
    assert not preference(log, resamples=10).notes
    noted = measure(log, ["ClickRank", "UCTR"]).notes
    assert noted[0].startswith("ClickRank: clicks have no times; on 2 pages")
    assert not measure(log, ["UCTR", "ClickRank(first='rank')"]).notes
    times = pl.Series([datetime(2026, 3, 1, 8, k, tzinfo=UTC) for k in range(7)])
    timed = make_log(log.pages, log.results, log.clicks.with_columns(time=times))
    assert not preference(timed, clicks="first", resamples=10).notes
    assert not measure(timed, "ClickRank").notes


def test_pages_of_one_team_are_noted() -> None:
    log = small_log()
    is_other = (pl.col("page") == 2) & (pl.col("team") == "b")
    results = log.results.with_columns(team=pl.when(~is_other).then("team"))
    result = preference(make_log(log.pages, results, log.clicks), resamples=10)
    assert result.notes == ("1 page with results of one team only, included",)
    assert not preference(log, resamples=10).notes


def test_wrong_lists() -> None:
    log, lists, _ = _interleaved("Balanced")
    half = {"q": lists["q"]}
    found = preference(log, lists=half, resamples=10)
    assert found.n_impressions == 20
    assert "20 pages excluded: no method, or no lists of the query" in found.notes
    of_log = partial(preference, log)
    other = {"q": {"old": ["a"], "new": ["b"]}}
    check_refused(
        (
            lambda: of_log(lists={"s": lists["q"]}),
            "expected pages with both an interleaving method and",
        ),
        (lambda: of_log(lists=other), "in none of the rankings"),
        (lambda: of_log(lists=lists, names=("old", "third")), "got none of 'third' for query"),
        (lambda: of_log(lists=lists, clicks="dwell"), "unknown clicks 'dwell'"),
        (lambda: of_log(method="Balanced"), "method requires"),
    )


def test_blanks_around_names_and_truth_values_of_clicks() -> None:
    rows = [
        ("p", "q", "u1", 1, "d1", "a", True),
        ("p", "q", "u1 ", 2, "d2", "b ", False),
        ("r ", "q", " u1", 1, "d1", " a", True),
        ("r", "q ", "u1", 2, "d2", "b", False),
        ("s", "q", "u2", 1, "d1", "a", False),
        ("s", "q", "u2", 2, "d2", "b", True),
    ]
    names = ("page", "query", "user", "rank", "doc", "team", "clicked")
    frame = pl.DataFrame(rows, schema=names, orient="row")
    for table in (frame, frame.with_columns(pl.col("clicked").cast(pl.String))):
        found = preference(read_log(table), unit="user", resamples=10)
        assert found.names == ("a", "b")
        assert (found.wins, found.losses, found.ties, found.n_units) == (2, 1, 0, 2)
    pages = {"page": [" p", "r", "s"], "query": ["q", "q", "q"], "user": ["u1", "u1", "u2"]}
    results = frame.select("page", "rank", "doc", "team")
    log = read_log(pages, results, {"page": ["p "], "rank": [2]})
    assert preference(log, "impression").losses == 1


def test_pages_without_results_of_a_team_are_reported() -> None:
    log = small_log(method=["TeamDraft"] * 3)
    log = replace(log, results=log.results.filter(pl.col("page") != 2))
    found = preference(log, resamples=10)
    assert (found.wins, found.losses, found.ties) == (1, 0, 2)
    assert "1 page on which no result has a team, counted as ties" in found.notes
