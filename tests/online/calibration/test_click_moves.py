"""Moves between clicks, and times at them, counted by hand."""

from __future__ import annotations

import polars as pl
import pytest

import cranfield as cf
from cranfield.online.log.query_log import QueryLog, log_from_tables
from tests.online.refusals import check_refused


def some_log(*, dwell: bool = True) -> QueryLog:
    columns = {"page": [0, 0, 0, 0, 1, 2, 2, 2], "rank": [2, 1, 1, 3, 4, 1, 12, 2]}
    columns["dwell"] = [10, 30, None, 50, 5, 20, 7, 40]  # type: ignore[list-item]
    frame = pl.DataFrame(columns, schema_overrides={"dwell": pl.Float64})
    frame = frame.with_columns(doc=pl.format("d{}", "rank"), censored=pl.col("rank") == 3)
    results = pl.DataFrame({"page": [0, 1, 2], "rank": [list(range(1, 13))] * 3}).explode("rank")
    results = results.with_columns(doc=pl.format("d{}", "rank"), grade=pl.col("rank") % 2)
    pages = pl.DataFrame({"id": ["a", "b", "c"], "query": ["q", "q", "r"]})
    return log_from_tables(pages, results, frame if dwell else frame.drop("dwell", "censored"))


def test_moves_are_counted_in_order() -> None:
    moves = cf.online.click_moves(some_log(), ranks=4)
    assert moves.counts.tolist() == [[1, 0, 1, 0], [1, 0, 0, 0], [0] * 4, [0] * 4]
    assert (moves.pages, moves.excluded, moves.unknown) == (1, 2, 1)
    assert repr(moves) == "ClickMoves(3 moves, 4 ranks, 1 page, 2 excluded)"
    assert moves.to_polars()["moves"].sum() == 3


def test_times_of_censored_clicks_count() -> None:
    moves = cf.online.click_moves(some_log(), ranks=4)
    known = {(by, value): mean for by, value, mean, *_ in moves.stays.iter_rows()}
    # Rank 3 has a censored time alone; of grade 1 are ranks 1 and 3.
    assert known == {
        ("rank", 1): 25.0,
        ("rank", 2): 25.0,
        ("rank", 4): 5.0,
        ("grade", 0): pytest.approx(55 / 3),
        ("grade", 1): 50.0,
    }


def test_one_is_added_to_moves() -> None:
    moves = cf.online.click_moves(some_log(), ranks=3)
    made = moves.measure()
    assert str(made) == "MP(moves={1: {2: 1, 3: 2}, 2: {1: 2, 3: 1}, 3: {1: 1, 2: 1}})"
    assert cf.parse_measure(str(made)) == made
    loops = moves.measure(loops=True, prior=0.5)
    assert "1: {1: 1.5, 2: 0.5, 3: 1.5}" in str(loops)
    timed = moves.measure(stays="grade", states="relevant")
    assert "dwell={0: 25, 1: 50}, dwell_by='grade'" in str(timed)
    assert cf.parse_measure(str(timed)) == timed


def test_mistakes() -> None:
    moves = cf.online.click_moves(some_log(dwell=False))
    assert moves.unknown == 7
    check_refused(
        (lambda: cf.online.click_moves(some_log(), ranks=1), "ranks"),
        (lambda: moves.measure(stays="rank"), "no clicks with both a dwell time and a rank"),
        (lambda: moves.measure(stays="page"), "stays"),
        (lambda: moves.measure(prior=0), "prior must be a number above 0"),
    )


def test_an_empty_log() -> None:
    pages = pl.DataFrame({"id": ["a"], "query": ["q"]})
    none = pl.DataFrame(schema={"page": pl.Int64, "rank": pl.Int32, "doc": pl.String})
    moves = cf.online.click_moves(log_from_tables(pages, None, none))
    assert moves.counts.sum() == 0 and moves.pages == 0
    assert cf.parse_measure(str(moves.measure())) == moves.measure()
