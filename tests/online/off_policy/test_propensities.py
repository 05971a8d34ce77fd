"""Propensities of ranks, and what clicks on old pages say of a new ranker."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import optimize

import cranfield as cf
from cranfield.online import QueryLog, rank_propensities, run_value
from cranfield.online.off_policy.run_value import RankPairs, estimate_all_pairs
from tests.online.click_models.pages import log_of as log_of_pages
from tests.online.refusals import check_refused


def log_of(pages: list[tuple[str, str, str]], **results: Any) -> QueryLog:
    """Make a log of pages: a query, the documents in order, and those clicked; a letter each."""
    clicked = [(query, tuple(d), tuple(int(x in hit) for x in d)) for query, d, hit in pages]
    log = log_of_pages(clicked)
    return replace(log, results=log.results.with_columns(**results))


def exact_log(looks: list[float], attracts: dict[str, float], orders: list[str]) -> QueryLog:
    """Sixteen pages of each order, whose documents are clicked as often as they should be."""
    pages = []
    for query in ("q1", "q2"):
        for docs in orders:
            often = [round(16 * looks[k] * attracts[d]) for k, d in enumerate(docs)]
            assert often == [16 * looks[k] * attracts[d] for k, d in enumerate(docs)]
            pages += [
                (query, docs, "".join(d for d, n in zip(docs, often, strict=True) if i < n))
                for i in range(16)
            ]
    return log_of(pages)


LOOKS = [1.0, 0.5, 0.25]
ATTRACTS = {"a": 1.0, "b": 0.5, "c": 0.25}


@pytest.mark.parametrize("method", ["swaps", "AllPairs"])
def test_clicks_as_they_should_be(method: str) -> None:
    """Where clicks are what the position-based model expects, its chances are found exactly."""
    log = exact_log(LOOKS, ATTRACTS, ["abc", "bac", "cba"])
    found = rank_propensities(log, method, depth=3)
    assert found.propensity == pytest.approx(LOOKS, abs=1e-9)
    # Both queries say the same: their spread is no evidence, but rank 1 is 1 by definition.
    assert (found.low[0], found.high[0]) == (1, 1)
    assert np.isnan([found.low[1:], found.high[1:]]).all()
    assert any("rank 2, 3: no confidence interval, because" in note for note in found.notes)


def test_orders_shown_unequally_often_weigh_the_same() -> None:
    often = exact_log(LOOKS[:2], {"a": 1.0, "b": 0.5}, ["ab", "ab", "ab", "ba"])
    for method in ("swaps", "AllPairs"):
        assert rank_propensities(often, method, depth=2).propensity == pytest.approx(LOOKS[:2])


def test_em_is_the_position_based_model() -> None:
    log = cf.online.simulated_log()
    found = rank_propensities(log, "EM", depth=4)
    values = cf.online.train(log, "PBM").parameters["examination"]["value"].to_numpy()
    assert found.propensity == pytest.approx(values[:4] / values[0])
    assert np.isnan(found.low).all()


def harvested(seed: int, depth: int) -> RankPairs:
    draw = np.random.default_rng(seed)
    rows = [(q, k, j) for q in range(6) for k, j in np.ndindex(depth, depth) if k != j]
    query, rank, other = np.array(rows).T
    number = draw.integers(1, 5, len(rows)).astype(np.float64)
    clicked = number * draw.uniform(0.02, 0.6, len(rows))
    return RankPairs(query, rank + 1, other + 1, clicked, number - clicked)


@pytest.mark.parametrize("seed", range(3))
def test_all_pairs_is_the_maximum(seed: int) -> None:
    """The same likelihood in the chances themselves, maximised by SciPy."""
    depth = 4
    found = harvested(seed, depth)
    pairs = {pair: i for i, pair in enumerate((k, j) for k in range(1, 5) for j in range(k + 1, 5))}
    own = np.array([pairs[min(p), max(p)] for p in zip(found.rank, found.other_rank, strict=True)])

    def loss(z: Any) -> float:
        chance = np.exp(z[found.rank - 1] + z[depth + own])
        if (chance >= 1).any():
            return 1e9
        return -float((found.clicks * np.log(chance) + found.non_clicks * np.log1p(-chance)).sum())

    best = optimize.minimize(
        loss, np.full(depth + len(pairs), -1.0), method="BFGS", options={"gtol": 1e-7}
    )
    value, error = estimate_all_pairs(found, depth)
    assert value == pytest.approx(np.exp(best.x[:depth] - best.x[0]), rel=2e-4)
    assert (error[1:] > 0).all()


def test_error_is_near_that_of_the_jackknife() -> None:
    found = harvested(1, 4)
    value, error = estimate_all_pairs(found, 4)
    left = []
    for query in range(6):
        keep = found.query != query
        kept = {name: getattr(found, name)[keep] for name in found._fields[:5]}
        kept["query"] = np.unique(kept["query"], return_inverse=True)[1]
        part = RankPairs(**kept)
        left.append(np.log(estimate_all_pairs(part, 4)[0][1:]))
    spread = np.sqrt(5 / 6 * np.square(np.array(left) - np.mean(left, axis=0)).sum(axis=0))
    assert error[1:] == pytest.approx(spread, rel=0.25)


def test_what_nothing_links_is_unknown() -> None:
    log = exact_log([1.0, 0.5, 0.25], ATTRACTS, ["abc", "bac"])
    found = rank_propensities(log, depth=4)
    assert np.isnan(found.propensity[2:]).all()
    cause = "no clicked documents shown at several ranks link this rank with rank 1"
    assert f"rank 3, 4: propensity unknown, because {cause}" in found.notes
    swaps, model = (rank_propensities(log, method, depth=4).notes for method in ("swaps", "EM"))
    assert (
        "rank 3, 4: propensity unknown, because no swapped document was clicked at rank 1" in swaps
    )
    assert "rank 4: propensity unknown, because no page has a result at this rank" in model
    none = log_of([("q", "ab", "b"), ("q", "ba", "b")])
    # What rank 2 would be worth, rank 1 without clicks of a cannot tell; rank 2 has no zero.
    assert rank_propensities(none, depth=2).propensity[0] == 1


def test_ranks_without_clicks() -> None:
    log = log_of([("q", "ab", "a"), ("q", "ba", "b"), ("r", "ab", "a"), ("r", "ba", "")])
    assert rank_propensities(log, depth=2).propensity.tolist() == [1.0, 0.0]


RELEVANT = {"a": 0.75, "b": 0.5, "c": 0.25}


@pytest.mark.parametrize("measure", ["DCG@2", "P@3", "RBP(p=0.8)"])
def test_right_on_average_over_all_clicks(measure: str) -> None:
    """The mean over all that users could click is the measure of the new ranking."""
    run = cf.read_run({"q": {"c": 3.0, "a": 2.0, "b": 1.0}})
    mean = 0.0
    for hits in product([False, True], repeat=3):
        chance = 1.0
        for rank, (doc, hit) in enumerate(zip("abc", hits, strict=True)):
            click = LOOKS[rank] * RELEVANT[doc]
            chance *= click if hit else 1 - click
        log = log_of([("q", "abc", "".join(d for d, h in zip("abc", hits, strict=True) if h))])
        mean += chance * run_value(log, run, measure, LOOKS).estimate
    score = {
        "DCG@2": 0.25 + 0.75 / np.log2(3),
        "P@3": 1.5 / 3,
        "RBP(p=0.8)": 0.2 * (0.25 + 0.75 * 0.8 + 0.5 * 0.64),
    }[measure]
    assert mean == pytest.approx(score, abs=1e-12)


def test_what_is_told_of_a_run() -> None:
    log = log_of([("q", "ab", "b"), ("r", "ab", "a")])
    run = cf.read_run({"q": {"b": 3.0, "x": 2.0}})
    found = run_value(log, run, "DCG@2", {1: 1.0})
    assert found.estimate == 0
    assert "1 page of queries without a ranking" in found.warnings[0]
    assert "1 click excluded: probability of examining" in found.warnings[1]
    share = (1 / np.log2(3)) / (1 + 1 / np.log2(3))
    assert found.unseen == pytest.approx(share)
    assert found.warnings[-1] == "no clicked document has a gain in the run"
    clipped = run_value(log, run, "DCG@2", [1.0, 0.1], clip=4)
    assert clipped.estimate == pytest.approx(4 / 2)


def test_propensities_of_the_log_itself() -> None:
    log = log_of([("q", "ab", "b")], propensity=pl.Series([1.0, 0.5]))
    run = cf.read_run({"q": {"b": 3.0, "a": 2.0}})
    assert run_value(log, run, "DCG@2").estimate == pytest.approx(2.0)
    assert run_value(log, run, "DCG@2", {1: 1.0, 2: 0.5}).estimate == pytest.approx(2.0)
    bad = log_of([("q", "ab", "b")], propensity=pl.Series([1.0, 0.0]))
    value = partial(run_value, log, run, "DCG@2")
    other = cf.read_run({"zz": {"a": 1.0}}), cf.read_run({"q": {"x": 1.0}})
    check_refused(
        (lambda: run_value(bad, run, "DCG@2"), "log: expected examination .*, got 0 at rank 2"),
        (lambda: run_value(log_of([("q", "ab", "b")]), run), "column 'propensity' of results"),
        (lambda: run_value(log, run, "nDCG@2"), "nDCG@2"),
        (lambda: value([1.2, 0.5]), "examination: expected .*, got 1.2 at rank 1"),
        (lambda: value({1: 1.2, 2: 0.5}), "examination: expected .*, got 1.2 at rank 1"),
        (lambda: value({0: 1.0, 1: 0.5}), "ranks of examination must be at least 1, got 0"),
        *[(partial(run_value, log, one, "DCG@2"), "of the run .results for 'q'") for one in other],
    )


@pytest.mark.parametrize("method", ["swaps", "AllPairs", "EM"])
@pytest.mark.parametrize("looks", [[0.25, 1.0, 0.5], [0.5, 0.25, 1.0], [0.5, 1.0, 0.0]])
def test_propensities_above_that_of_rank_1(method: str, looks: list[float]) -> None:
    """They are relative: the ratio of two values is the same as by the true probabilities."""
    log = exact_log(looks, {"a": 0.75, "b": 0.5, "c": 0.25}, ["abc", "bac", "cba"])
    run = cf.read_run({query: {"b": 3.0, "a": 2.0, "c": 1.0} for query in ("q1", "q2")})
    found = rank_propensities(log, method, depth=3)
    assert found.propensity[1:].max() > 1.5
    value = run_value(log, run, "DCG@3", found)
    assert any("exceeds that of rank 1" in note for note in value.warnings)
    if method != "EM":  # It has priors.
        true = run_value(log, run, "DCG@3", {k: x for k, x in enumerate(looks, 1) if x})
        ratio = value.means.estimate[0] / value.means.estimate[1]
        assert ratio == pytest.approx(true.means.estimate[0] / true.means.estimate[1])
        scale = found.propensity[: len(looks)] * looks[0]
        np.testing.assert_allclose(scale, looks, atol=1e-9)


def test_documents_that_are_always_clicked_at_a_rank() -> None:
    # The likelihood is c log r + (n - c) log(1 - r) + n log(x r) with x r <= 1: x = 1 / r.
    rows: dict[str, Any] = {"page": range(400), "query": [*"abcde"] * 80, "doc": ["d"] * 400}
    rows |= {"rank": np.repeat([1, 2], 200), "clicked": [k % 4 == 0 or k > 199 for k in range(400)]}
    found = rank_propensities(cf.online.read_log(rows), "AllPairs", depth=2)
    assert found.propensity[1] == pytest.approx(4.0, rel=1e-6)


@pytest.mark.parametrize("method", ["swaps", "AllPairs"])
def test_the_same_log_gives_the_same_bits_each_time(method: str) -> None:
    log = cf.online.simulated_log()
    made = [rank_propensities(log, method, depth=5) for _ in range(6)]
    assert len({repr((one.propensity.tolist(), one.low.tolist())) for one in made}) == 1


@pytest.mark.parametrize("method", ["swaps", "AllPairs"])
def test_queries_without_pairs_do_not_narrow_intervals(method: str) -> None:
    hits = {"q1": ["a", "b", "a"], "q2": ["a", "a", ""], "q3": ["ab", "b", "b"]}
    orders = ("ab", "ba", "ba")
    pages = [(query, orders[k], hit) for query, of in hits.items() for k, hit in enumerate(of)]
    few = rank_propensities(log_of(pages), method, depth=2)
    others = [(f"other{k}", "xy", "x") for k in range(100)]
    many = rank_propensities(log_of(pages + others), method, depth=2)
    assert np.isfinite([few.low[1], few.high[1]]).all()
    assert (many.low[1], many.high[1]) == pytest.approx((few.low[1], few.high[1]))
    assert any("effective number of queries 3.0" in note for note in many.notes)


def test_logs_without_propensities() -> None:
    unclicked, once = log_of([("q", "ab", ""), ("q", "ba", "")]), log_of([("q", "ab", "b")])
    reason = "an estimate of propensities requires clicks, got none"
    methods = ("swaps", "AllPairs", "EM")
    check_refused(
        *[(partial(rank_propensities, unclicked, method, depth=2), reason) for method in methods],
        (lambda: rank_propensities(once), "requires documents shown at several ranks"),
    )


def test_nothing_is_relative_to_a_rank_without_clicks() -> None:
    log = log_of([("q", "abc", "b"), ("q", "bac", "a"), ("q", "acb", "")])
    assert rank_propensities(log, depth=3).rows["propensity"].to_list() == [1, None, None]
