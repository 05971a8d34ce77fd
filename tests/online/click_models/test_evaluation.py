"""Evaluation of click models beside plain sums and PyClick."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import mannwhitneyu

import cranfield as cf
from cranfield.base.errors import CranfieldWarning
from tests.conftest import ROOT
from tests.online.click_models.pages import log_of, pages_of_ten, random_pages

PAGES = random_pages(8, 300, longest=6)
OLD, NEW = log_of(PAGES[:200]), log_of(PAGES[200:])
MODELS = cf.online.train_models(OLD, ["GCTR", "PBM", "DBN"])


def test_figures_by_plain_sums() -> None:
    """Others are those of PyClick."""
    found = cf.online.evaluate_models(MODELS, NEW)
    assert found.to_polars()["model"].to_list() == ["GCTR", "PBM", "DBN"]
    clicks = np.array([click for page in PAGES[200:] for click in page[2]], dtype=bool)
    for place, model in enumerate(MODELS):
        chances = model.compute_click_probabilities(NEW)["probability"].to_numpy()
        given = model.compute_conditional_probabilities(NEW)["probability"]
        assert found.models["log-likelihood"][place] == pytest.approx(given.log().sum())
        clicked, missed = chances[clicks], chances[~clicks]
        area = mannwhitneyu(clicked, missed).statistic / len(clicked) / len(missed)
        assert found.models["AUC"][place] == pytest.approx(area)
        square = np.mean((chances - clicks) ** 2)
        assert found.models["RMSE"][place] == pytest.approx(square**0.5)
    numbers = [sum(len(page[2]) > r for page in PAGES[200:]) for r in range(6)]
    assert found.ranks["pages"].to_list() == 3 * numbers
    assert "3 models, highest log-likelihood" in repr(found)


def test_a_second_click_is_impossible_for_the_cascade_model() -> None:
    model = cf.online.train(OLD, "CM")
    found = cf.online.evaluate_models(model, NEW)
    again = sum(max(0, sum(clicks) - 1) for _, _, clicks in PAGES[200:])
    assert found.models["impossible"][0] == again
    assert found.models["log-likelihood"][0] == -np.inf
    assert found.ranks["perplexity"].is_finite().all()


def test_gain_and_its_limits() -> None:
    rank, pbm = cf.online.train_models(OLD, ["RCTR", "PBM"])
    found = cf.online.perplexity_gain(pbm, rank, NEW, resamples=400, seed=2)
    ranks = cf.online.evaluate_models([rank, pbm], NEW).ranks
    both = ranks["perplexity"].to_numpy().reshape(2, -1)
    a, b = both.mean(axis=1)
    assert found.gain == pytest.approx((a - b) / (a - 1))
    np.testing.assert_allclose(found.by_rank, (both[0] - both[1]) / (both[0] - 1))
    assert found.low < found.gain < found.high
    assert found.n_queries == 5
    again = cf.online.perplexity_gain(pbm, rank, NEW, resamples=400, seed=2)
    assert (again.low, again.high) == (found.low, found.high)
    one = cf.online.perplexity_gain(pbm, rank, NEW.select_pages(pl.col("query") == "q1"))
    assert np.isnan(one.low)
    assert "no interval: one query" in repr(one)
    same = cf.online.perplexity_gain(rank, rank, NEW)
    assert same.gain == 0
    assert np.isnan([same.low, same.high]).all()
    assert "no interval: all queries equal" in repr(same)


def test_relevance_beside_judgments() -> None:
    model = cf.online.train(OLD, "DCTR")
    worth = model.estimate_relevance()
    qrels = {
        query: {doc: int(value > 0.25) for doc, value in rows.select("doc", "relevance").rows()}
        for (query,), rows in worth.group_by("query")
    }
    found = cf.online.predict_relevance([model], qrels, ["nDCG@3", "P@1"])
    assert found.row(0) == ("DCTR", worth.height, 1.0, 1.0, 1.0)
    # The relevance of documents of other queries is not estimated, and does not count as 0.
    with pytest.warns(CranfieldWarning, match="1 judged query excluded: not in the log, such as"):
        other = cf.online.predict_relevance([model], qrels | {"?": {"z": 1}}, ["nDCG@3", "P@1"])
    assert other.row(0) == found.row(0)
    half = {query: dict.fromkeys(docs, 1) for query, docs in qrels.items()}
    assert np.isnan(cf.online.predict_relevance(model, half)["AUC"][0])


def test_rates_of_first_ranks_without_them() -> None:
    pages = pages_of_ten(3, 60, queries=2)
    found = cf.online.predict_rates(log_of(pages), "DCTR")
    for query, doc, number, rate, predicted in found.rows.iter_rows():
        own = [one for one in pages if one[0] == query]
        first = [clicks[0] for _, docs, clicks in own if docs[0] == doc]
        rest = [
            clicks[docs.index(doc)] for _, docs, clicks in own if doc in docs and docs[0] != doc
        ]
        assert (number, rate) == (len(first), np.mean(first))
        assert predicted == pytest.approx((sum(rest) + 1) / (len(rest) + 2))
    frame = found.rows
    apart = (frame["rate"] - frame["predicted"]).to_numpy() ** 2
    assert found.error == pytest.approx(np.average(apart, weights=frame["pages"]) ** 0.5)
    never = cf.online.predict_rates(log_of([("q", ("a", "b"), (1, 0))]), "DCTR")
    assert np.isnan(never.error)
    assert never.rows.is_empty()


PRINTED = json.loads((ROOT / "tests/data/online/pyclick.json").read_text())["models"]


@pytest.mark.parametrize("model", PRINTED)
def test_figures_are_those_of_pyclick(model: str) -> None:
    """The numbers were printed by PyClick 98e7e46 (markovi/PyClick, 2021) on Python 3.11.

    Each model's `train` on the first 300 of :func:`pages_of_ten` and, on the other 200,
    `LogLikelihood`, `Perplexity` and `PerplexityCond` of `pyclick.click_models.Evaluation`. Its
    figures of CM are with its own floor of 1e-6. PyClick's DBN and CCM are no
    expectation-maximisation and do not agree.
    """
    pages = pages_of_ten(11, 500)
    trained = cf.online.train(log_of(pages[:300]), model)
    found = cf.online.evaluate_models(trained, log_of(pages[300:]))
    row = found.to_polars().row(0, named=True)
    for name, expected in PRINTED[model].items():
        figure = (
            found.ranks[name.removesuffix(" by rank")] if isinstance(expected, list) else row[name]
        )
        np.testing.assert_allclose(figure, expected, rtol=1e-11)
