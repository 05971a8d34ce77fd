"""Click models on lists of any length, beside plain loops over pages, results and clicks."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

import cranfield as cf
from cranfield.online.click_models.model import MODELS, EMModel
from tests.online.click_models.pages import Page, hidden_states, log_of, random_pages

PAGES = [*random_pages(8, 300, longest=6), ("q0", ("d9",), (1,)), ("q0", ("d9",), (0,))]
LOG = log_of(PAGES)
Counts = dict[Any, list[float]]


def value(counts: Counts, key: Any) -> float:
    hits, trials = counts[key]
    return (hits + 1) / (trials + 2)


def test_counts_and_standard_deviations() -> None:
    """Satisfaction is counted over clicks, by whether they are the last ones; Beta(2, 2) priors."""
    pages = [("q", ("a", "b", "c"), clicks) for clicks in [(1, 0, 1), (1, 0, 0), (0, 0, 0)]]
    parameters = cf.online.train(log_of([*pages, ("q", ("a",), (1,))]), "SDBN").parameters
    rows = {name: frame.sort("doc").rows_by_key("doc") for name, frame in parameters.items()}
    expected = {"a": (3, 4), "b": (0, 2), "c": (1, 2)}, {"a": (2, 3), "b": (0, 0), "c": (1, 1)}
    for name, counts in zip(("attractiveness", "satisfaction"), expected, strict=True):
        for doc, (hits, trials) in counts.items():
            [(_, value_, error, *found)] = rows[name][doc]
            mass = beta(hits + 2, trials - hits + 2)
            assert found == [hits, trials]
            assert (value_, error) == pytest.approx(((hits + 1) / (trials + 2), mass.std()))


@pytest.mark.parametrize("name", ["DBN", "CCM"])
def test_steps_of_hidden_states_by_enumeration(name: str) -> None:
    pages = random_pages(2, 60, longest=4)
    a: Any = defaultdict(lambda: 0.5)
    s: Any = defaultdict(lambda: 0.5)
    going = (0.5, 0.5, 0.0) if name == "DBN" else (0.5, 0.5, 0.5)
    likelihood = []
    for _ in range(3):
        by_item: Counts = defaultdict(lambda: [0.0, 0.0])
        satisfied: Counts = defaultdict(lambda: [0.0, 0.0])
        cases = np.zeros((3, 2))
        total = 0.0
        for query, docs, clicks in pages:
            keys = [(query, doc) for doc in docs]
            attract = [a[key] for key in keys]
            satisfy = [s[key] for key in keys] if name == "DBN" else attract
            chance, parts = hidden_states(attract, satisfy, going, clicks)
            total += np.log(chance)
            for r, key in enumerate(keys):
                by_item[key][0] += parts[1][r]
                by_item[key][1] += 1
                if clicks[r]:
                    satisfied[key][0] += parts[2][r]
                    satisfied[key][1] += 1
            cases += np.stack([parts[4][:, :-1].sum(axis=1), parts[3][:, :-1].sum(axis=1)], axis=1)
        likelihood.append(total)
        if name == "DBN":
            on, could = cases[:2].sum(axis=0)
            gamma = (on + 1) / (could + 2)
            going = (gamma, gamma, 0.0)
            s = {key: value(satisfied, key) if key in satisfied else 0.5 for key in by_item}
        else:
            for key, (hits, trials) in satisfied.items():
                by_item[key][0] += hits
                by_item[key][1] += trials
            going = tuple((on + 1) / (could + 2) for on, could in cases)
        a = {key: value(by_item, key) for key in by_item}
    model = cf.online.train(log_of(pages), f"{name}(iterations=3)")
    learnt = model.parameters["continuation"]["value"].to_list()
    np.testing.assert_allclose(learnt, going[: len(learnt)] if name == "CCM" else going[:1])
    attractiveness = model.parameters["attractiveness"].select("query", "doc", "value")
    for query, doc, one in attractiveness.rows():
        assert one == pytest.approx(a[query, doc], abs=1e-12)
    values = 2 * len(a) + 1 if name == "DBN" else len(a) + 3
    prior = values * np.log(0.25)
    assert model.objective[0] == pytest.approx(likelihood[0] + prior, abs=1e-9)


def test_gamma_may_be_given() -> None:
    model = cf.online.train(LOG, "DBN(gamma=0.9)")
    row = model.parameters["continuation"].row(0, named=True)
    assert row["value"] == 0.9
    assert row["error"] is None


@pytest.mark.parametrize("name", list(MODELS))
def test_chances_are_the_marginals_of_a_distribution(name: str) -> None:
    """Over all clicks there may be on a page, conditional chances multiply to a distribution."""
    model = cf.online.train(LOG, name)
    docs = ("d3", "d0", "d5", "unheard of", "d1")
    every = list(product((0, 1), repeat=5))
    log = log_of([("q1", docs, one) for one in every])
    found = model.compute_conditional_probabilities(log)
    chance = found["probability"].to_numpy().reshape(32, 5).prod(axis=1)
    assert chance.sum() == pytest.approx(1, abs=1e-12)
    marginal = chance @ np.array(every)
    full = model.compute_click_probabilities(log)["probability"].to_numpy().reshape(32, 5)
    np.testing.assert_allclose(full, np.tile(marginal, (32, 1)), atol=1e-12)
    unseen = found["unseen"].to_numpy().reshape(32, 5)[0].tolist()
    assert unseen == [False, False, False, "item" in model.model.variables.values(), False]


@pytest.mark.parametrize("name", list(MODELS))
def test_simulated_clicks_have_these_chances(name: str) -> None:
    model = cf.online.train(LOG, name)
    lists = {"q1": ["d3", "d0", "d5", "d1"], "q2": ["d1"], "q3": []}
    log = model.simulate(lists, 4000, seed=3)
    assert log.pages.height == 12_000
    results = log.results_with_clicks
    shown = results.with_columns(query=log.pages["query"].gather(results["page"]))
    seen = shown.group_by("query", "rank").agg(pl.col("clicks").mean()).sort("query", "rank")
    pages: list[Page] = [("q1", tuple(lists["q1"]), (0,) * 4), ("q2", ("d1",), (0,))]
    chance = model.compute_click_probabilities(log_of(pages))["probability"].to_numpy()
    spread = np.sqrt(chance * (1 - chance) / 4000)
    assert (np.abs(seen["clicks"].to_numpy() - chance) <= 5 * spread).all()
    few = model.simulate(lists, 10, seed=3)
    same = log.results_with_clicks.filter(pl.col("page") < 10)["clicks"]
    assert few.results_with_clicks.filter(pl.col("page") < 10)["clicks"].equals(same)


@pytest.mark.parametrize("name", ["RCTR", "PBM", "DCM"])
def test_ranks_beyond_training_have_the_value_of_the_last_rank(name: str) -> None:
    """Each page repeats one document; its chance depends on the rank alone."""
    pages = [("q", ("a",) * 3, clicks) for clicks in [(1, 0, 0), (1, 1, 0), (0, 0, 1), (0, 0, 0)]]
    model = cf.online.train(log_of(pages), name)
    deep = model.compute_click_probabilities(log_of([("q", ("a",) * 6, (0,) * 6)]))
    kept = model.parameters[[*model.model.variables][-1]]["value"].to_list()
    kept += [kept[-1]] * 3
    attract = 1.0 if name == "RCTR" else model.parameters["attractiveness"]["value"][0]
    if name == "DCM":
        stays = np.cumprod([1, *(1 - attract + attract * one for one in kept)])
        kept = stays[:6].tolist()
    assert deep["probability"].to_list() == pytest.approx([attract * one for one in kept])
    assert deep["unseen"].to_list() == [False] * 3 + [True] * 3


def test_ubm_beyond_training_goes_by_the_distance_from_the_last_click() -> None:
    model = cf.online.train(LOG, "UBM")
    frame = model.parameters["examination"]
    rows = frame.select("rank", "last", "value").iter_rows()
    seen = {(rank, last): value for rank, last, value in rows}
    docs = ("d0", "d1", "d2") * 3
    deepest = max(rank for rank, _ in seen)
    assert deepest == 6
    of_query = model.estimate_relevance().filter(pl.col("query") == "q0")
    worth = dict(of_query.select("doc", "relevance").iter_rows())
    for clicked in range(10):
        clicks = tuple(int(rank == clicked) for rank in range(1, 10))
        log = log_of([("q0", docs, clicks)])
        given = model.compute_conditional_probabilities(log)["probability"].to_list()
        for rank in range(1, 10):
            last = clicked if clicked < rank else 0
            at = min(rank, deepest)
            above = 0 if not last else max(last - (rank - at), 1)
            chance = worth[docs[rank - 1]] * seen[at, above]
            assert given[rank - 1] == pytest.approx(chance if rank == clicked else 1 - chance)


def test_tied_by_grade_unjudged_is_a_class() -> None:
    grades = {(f"q{q}", f"d{d}"): (q + d) % 3 for q in range(5) for d in range(5)}
    graded = log_of(PAGES, grades)
    model = cf.online.train(graded, "SDBN", tied="grade")
    assert model.parameters["attractiveness"]["grade"].to_list() == [None, 0, 1, 2]
    qrels: Any = defaultdict(dict)
    for (query, doc), grade in grades.items():
        qrels[query][doc] = grade
    again = cf.online.train(LOG, "SDBN", tied="grade", qrels=dict(qrels))
    for name, frame in model.parameters.items():
        assert frame.equals(again.parameters[name])
    clicked = sum(sum(clicks) for _, _, clicks in PAGES)
    assert model.parameters["satisfaction"]["trials"].sum() == clicked
    user = model.make_user()
    grades_shown = np.array([[0, 2, -1], [2, 0, 1], [7, -1, -1]])
    numbers = np.zeros((3, 6))
    assert user.draw_clicks(grades_shown, numbers).tolist() == (grades_shown >= 0).tolist()


def test_what_is_worth_to_users() -> None:
    model = cf.online.train(LOG, "SDBN")
    worth = model.estimate_relevance()
    a, s = (model.parameters[one]["value"] for one in ("attractiveness", "satisfaction"))
    assert worth["relevance"].equals((a * s).alias("relevance"))
    qrels = model.as_qrels(0.3)
    assert int(qrels.grades.sum()) == int((worth["relevance"] >= 0.3).sum())
    run = model.as_run()
    assert len(run) == worth.height


def test_repeated_clicks_and_clicks_off_the_list() -> None:
    pages: list[Page] = [("q", ("a", "b"), (1, 0)), ("q", ("b", "a"), (0, 1))]
    plain = log_of(pages)
    clicks = pl.concat(
        [plain.clicks, plain.clicks, plain.clicks.with_columns(rank=pl.lit(9, dtype=pl.Int32))]
    )
    odd = cf.online.QueryLog(plain.pages, plain.results, clicks)
    for name in MODELS:
        ours, theirs = (cf.online.train(one, name).parameters for one in (odd, plain))
        assert all(ours[one].equals(theirs[one]) for one in ours)


@pytest.mark.parametrize("name", ["PBM", "UBM", "DBN", "CCM", "DBN(gamma=0.9)"])
def test_the_objective_never_falls(name: str) -> None:
    log = log_of(random_pages(3, 400, docs=5))
    for prior in ({}, {"alpha": 1.0, "beta": 1.0}, {"alpha": 1.0, "beta": 3.0}):
        kind = cf.online.parse_model(name)(**prior)
        objective = cf.online.train(log, kind).objective
        assert objective.size == 51
        assert np.diff(objective).min() > -1e-9
    assert isinstance(kind, EMModel)
    stopped = cf.online.train(log, kind(tolerance=0.1, alpha=2, beta=2)).objective
    assert stopped.size < 51
    assert np.diff(stopped)[-1] < 0.1
    assert np.diff(stopped)[:-1].min(initial=1) >= 0.1


def test_long_pages_do_not_vanish() -> None:
    """Chances of a page of 1500 are far below the smallest float."""
    docs = tuple(f"d{k}" for k in range(1500))
    pages = [("q", docs, (0,) * 1499 + (1,)), ("q", docs, (1,) * 1500), ("q", docs, (0,) * 1500)]
    for name in ("DBN(iterations=3)", "CCM(iterations=3)"):
        found = cf.online.train(log_of(pages), name)
        assert np.isfinite(found.objective).all()
        assert all(np.isfinite(one["value"].to_numpy()).all() for one in found.parameters.values())
