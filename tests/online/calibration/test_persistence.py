"""Persistence of users, against known depths and all hidden states; moves between clicks."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.online.click_models.models import CascadeModel
from cranfield.online.log.query_log import QueryLog, make_log
from tests.online.click_models.test_as_measures import some_log, trained
from tests.online.refusals import check_refused


def geometric_log(p: float, pages: int, length: int, seed: int = 0) -> QueryLog:
    """Users click on all that they read."""
    rng = np.random.default_rng(seed)
    depth = np.minimum(rng.geometric(1 - p, pages), length)
    page = np.repeat(np.arange(pages), depth)
    rank = np.arange(page.size) - np.repeat(np.cumsum(depth) - depth, depth) + 1
    shown = pl.DataFrame({"page": np.arange(pages), "rank": [list(range(1, length + 1))] * pages})
    names = [f"{one}" for one in range(pages)]
    users = [f"u{one // 5}" for one in range(pages)]
    return make_log(
        pl.DataFrame({"id": names, "query": names, "user": users}),
        shown.explode("rank").with_columns(doc=pl.format("d{}", "rank"), grade=pl.lit(1)),
        pl.DataFrame({"page": page, "rank": rank}).with_columns(doc=pl.format("d{}", "rank")),
    )


def test_users_who_go_on_with_the_same_chance() -> None:
    log = geometric_log(0.7, 4000, 10)
    found = cf.online.rbp_persistence(log)
    # What is censored at rank 10 is no stop: the mean of plain depths would be too low.
    assert abs(found.p - 0.7) < 4 * found.error
    depth = log.clicks.group_by("page").agg(pl.col("rank").max())["rank"].to_numpy()
    assert found.p == pytest.approx((depth - 1).sum() / np.minimum(depth, 9).sum(), abs=1e-12)
    # The information of the likelihood says much the same.
    trials = np.minimum(depth, 9).sum()
    assert found.error == pytest.approx(np.sqrt(found.p * (1 - found.p) / trials), rel=0.05)
    assert found.low < found.p < found.high
    assert str(found.measure()) == f"RBP(p={found.p!r})"
    by_user = cf.online.rbp_persistence(log, unit="user")
    assert by_user.n_units == 800 and by_user.p == found.p
    assert by_user.error == pytest.approx(found.error, rel=0.15)


def test_a_page_without_a_user_is_a_unit_of_its_own() -> None:
    log = geometric_log(0.7, 100, 10)
    log = replace(log, pages=log.pages.with_columns(user=pl.lit(None, pl.String)))
    found, by_user = (cf.online.rbp_persistence(log, unit=unit) for unit in ("page", "user"))
    assert (by_user.n_units, by_user.error) == (100, found.error)
    assert by_user.notes == ("100 pages without user, each treated as a separate user",)
    assert by_user.notes[0] in str(by_user) and not found.notes


@pytest.mark.parametrize("name", ["CM", "SDBN", "DCM", "DBN", "CCM"])
def test_examination_given_all_clicks(name: str) -> None:
    """Each page against all depths at which its user may have stopped, one after another."""
    model = trained(name)
    kept = {key: one["value"].to_list() for key, one in model.parameters.items()}
    grades = model.items.frame["grade"].to_list()
    pages = model.extract_patterns(some_log())
    assert isinstance(model.model, CascadeModel)
    seen = model.model.compute_posterior(model.values, pages).examination
    for pattern in range(0, len(pages), 7):
        here = np.flatnonzero(pages.pattern == pattern)
        clicks = pages.clicks[here]
        if name == "CM" and clicks.sum() > 1:
            continue  # Impossible by that model.
        items = pages.codes[here]
        assert len(grades) > items.max()
        chance = np.zeros(len(here))
        for depth in range(1, len(here) + 1):
            total = 0.0
            for happy in product((0, 1), repeat=depth):
                one = 1.0
                for at in range(len(here)):
                    if at >= depth:
                        one *= not clicks[at]
                        continue
                    a = kept["attractiveness"][items[at]]
                    s = {"CM": 1.0, "CCM": a, "DCM": 0.0}.get(name)
                    s = kept["satisfaction"][items[at]] if s is None else s
                    one *= a if clicks[at] else 1 - a
                    joy = s if clicks[at] else 0.0
                    one *= joy if happy[at] else 1 - joy
                    if name == "CCM":
                        on = kept["continuation"][0 if not clicks[at] else 1 + happy[at]]
                    elif name == "DCM":
                        on = kept["continuation"][at] if clicks[at] else 1.0
                    else:
                        on = kept.get("continuation", [1.0])[0] * (not happy[at])
                    if at < depth - 1:
                        one *= on
                    elif depth < len(here):
                        one *= 1 - on
                total += one
            chance[:depth] += total
        np.testing.assert_allclose(seen[here], chance / chance[0], atol=1e-12)


def test_depth_by_a_model() -> None:
    """Users who click on all they read are known; by the model others may have read on."""
    log = geometric_log(0.7, 3000, 10)
    model = cf.online.train(log, "DBN(alpha=1, beta=1)", tied="grade")
    found = cf.online.rbp_persistence(log, model=model)
    assert found.n_pages == 3000 and found.by == "DBN(alpha=1, beta=1)"
    assert found.p == pytest.approx(cf.online.rbp_persistence(log).p, abs=0.01)
    some = cf.online.rbp_persistence(some_log(), model=trained("DBN"))
    assert some.p > cf.online.rbp_persistence(some_log()).p


def test_pages_without_a_click_are_counted() -> None:
    log = geometric_log(0.5, 20, 4)
    log = make_log(log.pages, log.results, log.clicks.filter(pl.col("page") >= 3))
    found = cf.online.rbp_persistence(log)
    assert (found.n_pages, found.n_excluded) == (17, 3)


def test_mistakes_and_edges() -> None:
    one, first = geometric_log(0.5, 1, 3), geometric_log(0.5, 30, 1)
    found = cf.online.rbp_persistence(one)
    assert np.isnan(found.error) and "nan" not in repr(found)
    silent = make_log(first.pages, first.results, first.clicks[:0])
    unknown = make_log(first.pages, first.results)
    persistence = cf.online.rbp_persistence
    check_refused(
        (lambda: persistence(first), "expected a page with several results and a click"),
        (lambda: persistence(silent), "expected a page with several results and a click"),
        (lambda: persistence(unknown), "requires clicks"),
        (lambda: persistence(one, unit="session"), "session"),
        (lambda: persistence(some_log(), model=trained("PBM")), "read from rank to rank"),
        (lambda: persistence(one, confidence=1), "confidence"),
    )


def log_of_moves(*, dwell: bool = True) -> QueryLog:
    columns = {"page": [0, 0, 0, 0, 1, 2, 2, 2], "rank": [2, 1, 1, 3, 4, 1, 12, 2]}
    columns["dwell"] = [10, 30, None, 50, 5, 20, 7, 40]  # type: ignore[list-item]
    frame = pl.DataFrame(columns, schema_overrides={"dwell": pl.Float64})
    frame = frame.with_columns(doc=pl.format("d{}", "rank"), censored=pl.col("rank") == 3)
    results = pl.DataFrame({"page": [0, 1, 2], "rank": [list(range(1, 13))] * 3}).explode("rank")
    results = results.with_columns(doc=pl.format("d{}", "rank"), grade=pl.col("rank") % 2)
    pages = pl.DataFrame({"id": ["a", "b", "c"], "query": ["q", "q", "r"]})
    return make_log(pages, results, frame if dwell else frame.drop("dwell", "censored"))


def test_moves_are_counted_in_order() -> None:
    moves = cf.online.click_moves(log_of_moves(), ranks=4)
    assert moves.counts.tolist() == [[1, 0, 1, 0], [1, 0, 0, 0], [0] * 4, [0] * 4]
    assert (moves.n_pages, moves.n_excluded, moves.n_unknown) == (1, 2, 1)
    assert repr(moves) == "ClickMoves(3 moves, 4 ranks, 1 page, 2 moves excluded)"
    assert moves.to_polars()["moves"].sum() == 3


def test_times_of_censored_clicks_count() -> None:
    moves = cf.online.click_moves(log_of_moves(), ranks=4)
    known = {(by, value): mean for by, value, mean, *_ in moves.dwell_times.iter_rows()}
    # Rank 3 has a censored time alone; of grade 1 are ranks 1 and 3.
    assert known == {
        ("rank", 1): 25.0,
        ("rank", 2): 25.0,
        ("rank", 4): 5.0,
        ("grade", 0): pytest.approx(55 / 3),
        ("grade", 1): 50.0,
    }


def test_one_is_added_to_moves() -> None:
    moves = cf.online.click_moves(log_of_moves(), ranks=3)
    made = moves.measure()
    assert str(made) == "MP(moves={1: {2: 1, 3: 2}, 2: {1: 2, 3: 1}, 3: {1: 1, 2: 1}})"
    assert cf.parse_measure(str(made)) == made
    loops = moves.measure(loops=True, prior=0.5)
    assert "1: {1: 1.5, 2: 0.5, 3: 1.5}" in str(loops)
    timed = moves.measure(dwell_by="grade", states="relevant")
    assert "dwell={0: 25, 1: 50}, dwell_by='grade'" in str(timed)
    assert cf.parse_measure(str(timed)) == timed


def test_mistakes_of_moves() -> None:
    moves = cf.online.click_moves(log_of_moves(dwell=False))
    assert moves.n_unknown == 7
    check_refused(
        (lambda: cf.online.click_moves(log_of_moves(), ranks=1), "ranks"),
        (lambda: moves.measure(dwell_by="rank"), "expected a rank with a mean dwell time"),
        (lambda: moves.measure(dwell_by="page"), "dwell_by"),
        (lambda: moves.measure(prior=0), "prior must be a number above 0"),
    )


def test_an_empty_log() -> None:
    pages = pl.DataFrame({"id": ["a"], "query": ["q"]})
    none = pl.DataFrame(schema={"page": pl.Int64, "rank": pl.Int32, "doc": pl.String})
    moves = cf.online.click_moves(make_log(pages, None, none))
    assert moves.counts.sum() == 0 and moves.n_pages == 0
    assert cf.parse_measure(str(moves.measure())) == moves.measure()
