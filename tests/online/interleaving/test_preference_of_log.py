"""Preferences of the users of a log: against loops over its pages, and counts by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.online import (
    preference,
    preference_by_credits,
    preference_matrix,
    preference_matrix_by_credits,
    simulated_log,
)
from cranfield.online.log.query_log import QueryLog, made_log
from cranfield.significance.corrections.of_pvalues import adjusted


def _log(**columns: Any) -> QueryLog:
    """Three pages of two users, of which a, b own ranks 1 and 2, and nobody rank 3."""
    pages = pl.DataFrame({"id": ["x", "y", "z"], "query": ["q", "q", "r"], **columns})
    results = pl.DataFrame(
        [(page, rank, f"d{rank}", team) for page in range(3) for rank, team in _RANKS],
        schema=["page", "rank", "doc", "team"],
        orient="row",
    )
    clicks = pl.DataFrame(
        {
            "page": [0, 0, 0, 1, 2, 2, 2],
            "rank": [2, 1, 1, 1, 3, 2, None],
            "doc": ["d2", "d1", "d1", "d1", "d3", "d2", "off"],
            "dwell": [40.0, 3.0, None, 30.0, 90.0, 5.0, 50.0],
        }
    )
    return made_log(pages, results, clicks)


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
    found = preference(_log(), clicks=clicks, resamples=10)
    assert (found.wins, found.losses, found.ties) == wanted
    assert found.names == ("a", "b")


def test_order_of_names_turns_it_round() -> None:
    found = preference(_log(), names=("b", "a"), clicks="last")
    assert (found.wins, found.losses) == (1, 2)


def test_unit_must_be_named_where_users_come_again() -> None:
    log = _log(user=["ann", "bob", "ann"])
    with pytest.raises(PolicyError, match=r"users come again \(2 users, 3 pages\).*unit='user'"):
        preference(log)
    assert preference(log, "user").units == 2
    assert preference(log, "impression").units == 3
    assert preference(log, "query").units == 2
    with pytest.raises(PolicyError, match="sessions come again"):
        preference(_log(session=["s", "s", "t"]))
    assert preference(_log(user=["ann", "bob", "eve"])).unit == "impression"


def test_pages_without_users_are_units_of_their_own_and_told() -> None:
    found = preference(_log(user=["ann", None, None]), "user")
    assert found.units == 3
    assert found.notes[0] == "2 pages without user, each taken for one of its own"


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
    assert "2,501 pages without teams left aside" in found.notes


def test_pairs_of_which_not_both_took_part() -> None:
    credits = [[1, 0, np.nan], [np.nan, 1, 0], [0, 1, np.nan], [0, 1, np.nan], [1, np.nan, 0]]
    found = preference_matrix_by_credits(credits, names=["a", "b", "c"])
    rows = found.to_polars()["wins", "losses", "ties"].rows()
    assert rows == [(1, 2, 0), (1, 0, 0), (1, 0, 0)]
    assert "2 impressions in which not both took part left aside" in found.pairs[0].notes
    with pytest.raises(PolicyError, match="no impression in which both '1' and '3'"):
        preference_matrix_by_credits([[1, 0, np.nan]])


def test_matrix_is_its_pairs_and_their_correction() -> None:
    draw = np.random.default_rng(5)
    credits = draw.integers(0, 3, (200, 4)) + [0, 0, 1, 1]
    users = draw.integers(0, 60, 200)
    found = preference_matrix_by_credits(credits, users, unit="user", resamples=50)
    one = preference_by_credits(credits[:, [1, 3]], users, unit="user", resamples=50)
    assert found.pairs[4].to_polars().equals(one.to_polars())
    raw = [pair.pvalue for pair in found.pairs]
    assert found.pvalues.tolist() == adjusted(raw, "holm").tolist()
    np.testing.assert_array_equal(found.delta, -found.delta.T)
    assert found.delta[1, 3] == one.delta
    assert (found.significant == found.significant.T).all()


def test_cycles_are_told() -> None:
    cycle = [[2, 1, 0, 3]] * 30 + [[0, 2, 1, 3]] * 30 + [[1, 0, 2, 3]] * 30
    found = preference_matrix_by_credits(cycle, names="abcd", resamples=10)
    assert found.cycles() == [("a", "b", "c")]
    assert found.cycles(significant=True) == [("a", "b", "c")]
    assert "a > b > c > a" in str(found)
    few = preference_matrix_by_credits(cycle[29:31] + cycle[60:61], names="abcd", resamples=10)
    assert few.cycles() == [("a", "b", "c")]
    assert few.cycles(significant=True) == []
    straight = preference_matrix_by_credits([[3, 2, 1, 0]] * 9, names="abcd", resamples=10)
    assert straight.cycles() == []
    assert straight.error("abcd") == 0
    assert straight.error({"a": 0, "b": 1, "c": 2, "d": 3}) == 1
    assert straight.error("bacd") == pytest.approx(2 / 12)


def test_shortest_of_several_cycles() -> None:
    # a > b > c > d > a, and c > a: the triangle is told.
    wins = {("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("c", "a")}
    rows = []
    for i, j in wins:
        row = [np.nan] * 4
        row["abcd".index(i)], row["abcd".index(j)] = 1.0, 0.0
        rows.append(row)
    rows.append([np.nan, 1.0, np.nan, 1.0])  # b and d: a tie
    found = preference_matrix_by_credits(rows, names="abcd", resamples=10)
    assert found.cycles() == [("a", "b", "c")]


def test_matrix_of_a_log() -> None:
    found = preference_matrix(simulated_log(), "user", resamples=100)
    assert found.rankers == ("control", "treatment")
    assert found.pairs[0].wins == preference(simulated_log(), "user", resamples=1).wins


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda log: preference(log, "shop"), "unit 'shop' is none of"),
        (lambda log: preference(log, "user"), "needs the user of pages"),
        (lambda log: preference(log, names=("a", "c")), "no ranker 'c' in the log"),
        (lambda log: preference(log, names=("a",)), "between two rankers"),
        (lambda log: preference(log, clicks="some"), "clicks 'some' is none of"),
        (lambda log: preference(log, clicks="rank"), "clicks 'rank' is none of"),
        (lambda log: preference(made_log(log.pages)), "needs the team of results"),
        (
            lambda log: preference(
                made_log(log.pages, log.results.with_columns(team=pl.lit(None, pl.String)))
            ),
            "no result has a team",
        ),
        (lambda log: preference_matrix(log, names=("a",)), "two rankers or more"),
    ],
)
def test_wrong_questions(ask: Any, message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        ask(_log())
