"""Chances of hidden states are exact: equal to the sum over all of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.online.click_models.model import Climbing, Items, Tally, patterns_of
from cranfield.online.click_models.models import CCM, DBN, Dynamic
from cranfield.online.click_models.trained import ClickModel
from cranfield.online.log.query_log import made_log
from tests.online.click_models.pages import hidden_states, log_of, random_pages

PAGES = random_pages(3, 1000, docs=5)


@pytest.mark.parametrize("model", [DBN(), CCM()])
def test_posteriors_are_those_of_enumeration(model: Dynamic) -> None:
    log = log_of(PAGES)
    pages = patterns_of(log, Items.of(log, None))
    rng = np.random.default_rng(1)
    values = {
        name: rng.uniform(0.05, 0.95, size + 1)
        for name, size in model.sizes(pages.items.size, pages.ranks).items()
    }
    found = model.posterior(values, pages)
    a, s = values["attractiveness"], model.satisfaction(values)
    worst = 0.0
    done: dict[int, None] = {}
    for number, (_, _, clicks) in enumerate(PAGES):
        pattern = int(pages.page[number])
        if pattern in done:
            continue
        done[pattern] = None
        at = pages.starts[: len(clicks)] + pattern
        assert pages.clicks[at].tolist() == [bool(one) for one in clicks]
        codes = pages.codes[at]
        total, parts = hidden_states(a[codes], s[codes], model.going(values), clicks)
        inner = parts[4][:, :-1]
        for ours, theirs in (
            (found.likelihood[at].prod(), total),
            (found.examined[at], parts[0]),
            (found.attracted[at], parts[1]),
            (found.satisfied[at], parts[2]),
            (found.went_on[:, at][:, :-1], inner),
        ):
            worst = max(worst, float(np.abs(ours - theirs).max(initial=0)))
    assert len(done) > 300
    assert worst < 1e-12


@pytest.mark.parametrize("name", ["PBM", "UBM", "DBN", "CCM", "DBN(gamma=0.9)"])
def test_the_objective_never_falls(name: str) -> None:
    log = log_of(PAGES)
    for prior in ({}, {"alpha": 1.0, "beta": 1.0}, {"alpha": 1.0, "beta": 3.0}):
        kind = cf.online.parse_model(name)(**prior)
        objective = cf.online.train(log, kind).objective
        assert objective.size == 51
        assert np.diff(objective).min() > -1e-9
    assert isinstance(kind, Climbing)
    stopped = cf.online.train(log, kind(tolerance=0.1, alpha=2, beta=2)).objective
    assert stopped.size < 51
    assert np.diff(stopped)[-1] < 0.1
    assert np.diff(stopped)[:-1].min(initial=1) >= 0.1


def test_long_pages_do_not_vanish() -> None:
    """Chances of a page of 3000 are far below the smallest float."""
    docs = tuple(f"d{k}" for k in range(3000))
    pages = [("q", docs, (0,) * 2999 + (1,)), ("q", docs, (1,) * 3000), ("q", docs, (0,) * 3000)]
    for name in ("DBN(iterations=3)", "CCM(iterations=3)"):
        found = cf.online.train(log_of(pages), name)
        assert np.isfinite(found.objective).all()
        assert all(np.isfinite(one["value"].to_numpy()).all() for one in found.parameters.values())


def test_simulated_pages_give_their_parameters_back() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"query": ["q"] * 20, "doc": [f"d{k}" for k in range(20)]})
    many = np.full(20, 1e12)
    going = 0.8
    truth = ClickModel(
        DBN(),
        Items(None, frame),
        10,
        {
            "attractiveness": Tally(many * rng.uniform(0.2, 0.8, 20), many),
            "satisfaction": Tally(many * rng.uniform(0.2, 0.8, 20), many),
            "continuation": Tally(many[:1] * going, many[:1]),
        },
        np.empty(0),
        1,
    )
    parts = [
        truth.simulate({"q": [f"d{k}" for k in rng.permutation(20)[:10]]}, 1000, seed=seed)
        for seed in range(200)
    ]
    first = np.repeat(np.arange(200), [one.pages.height for one in parts]) * 1000
    assert first.size == 200_000
    shift = [
        (
            one.results.with_columns(page=pl.col("page") + 1000 * k),
            one.clicks.with_columns(page=pl.col("page") + 1000 * k),
        )
        for k, one in enumerate(parts)
    ]
    log = made_log(
        pl.concat([one.pages for one in parts]),
        pl.concat([one for one, _ in shift]),
        pl.concat([one for _, one in shift]),
    )
    found = cf.online.train(log, "DBN")
    assert abs(found.parameters["continuation"]["value"][0] - going) < 0.01
    for name in ("attractiveness", "satisfaction"):
        ours = found.items.frame.with_columns(found.parameters[name]["value"])
        both = ours.join(
            frame.with_columns(true=truth.parameters[name]["value"]), on=["query", "doc"]
        )
        assert np.abs((both["value"] - both["true"]).to_numpy()).max() < 0.02
