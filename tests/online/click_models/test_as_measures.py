"""Trained click models as measures and user models, beside their own chances on the same pages."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.online.log.query_log import QueryLog, make_log

KINDS: list[list[int | None]] = [[1, 0, 2, None, 0, 2], [0, 0, 1, 2, 1], [2, None, 0, 1, 2, 0]]
PAGES = [kind[at:] + kind[:at] for kind in KINDS for at in range(len(kind))]
MODELS = ("DCTR", "PBM", "CM", "UBM", "DCM", "CCM", "DBN", "SDBN")


@cache
def some_log() -> QueryLog:
    """Pages of some queries, clicked at random, the better and the higher the more."""
    rng = np.random.default_rng(5)
    pages, results, clicks = [], [], []
    for page in range(30 * len(PAGES)):
        grades = PAGES[page % len(PAGES)]
        pages.append({"id": f"p{page}", "query": f"q{page % len(PAGES):02}"})
        for rank, grade in enumerate(grades, 1):
            doc = f"d{rank}"
            results.append({"page": page, "rank": rank, "doc": doc, "grade": grade})
            if rng.random() < (0.2 + 0.3 * (grade or 0)) * 0.7 ** (rank - 1):
                clicks.append({"page": page, "rank": rank, "doc": doc})
    schema = {"page": pl.Int64, "rank": pl.Int64, "doc": pl.String, "grade": pl.Int64}
    return make_log(pl.DataFrame(pages), pl.DataFrame(results, schema), pl.DataFrame(clicks))


@cache
def trained(model: str) -> cf.online.ClickModel:
    return cf.online.train(some_log(), model, tied="grade")


def judged() -> cf.JudgedRuns:
    run = {
        f"q{q:02}": {f"d{rank}": -float(rank) for rank in range(1, len(one) + 1)}
        for q, one in enumerate(PAGES)
    }
    grades = {
        f"q{q:02}": {f"d{rank}": grade for rank, grade in enumerate(one, 1) if grade is not None}
        for q, one in enumerate(PAGES)
    }
    return cf.judge(run, grades)


def scored(measure: cf.Measure) -> list[float]:
    [scores] = cf.score(judged(), measure).values()
    return [float(one) for one in scores.values[:, 0]]


@pytest.mark.parametrize("name", MODELS)
def test_utility_is_the_sum_of_the_models_own_chances(name: str) -> None:
    model = trained(name)
    chances = model.compute_click_probabilities(some_log()).filter(pl.col("page") < len(PAGES))
    gains = [0.0 if grade is None else grade / 2 for page in PAGES for grade in page]
    each = chances.with_columns(gain=pl.Series(gains)).group_by("page", maintain_order=True)
    expected = each.agg((pl.col("probability") * pl.col("gain")).sum())["probability"].to_list()
    measure = model.measure("utility", separates_unjudged=True, gains="graded")
    assert scored(measure) == pytest.approx(expected, abs=1e-12)
    assert cf.parse_measure(str(measure)) == measure
    assert scored(cf.parse_measure(str(measure))) == scored(measure)


@pytest.mark.parametrize("name", ["DBN", "SDBN", "CM", "CCM", "DCM"])
def test_effort_is_the_sum_of_satisfied_clicks_by_rank(name: str) -> None:
    model = trained(name)
    chances = model.compute_click_probabilities(some_log()).filter(pl.col("page") < len(PAGES))
    values = {key: one["value"].to_list() for key, one in model.parameters.items()}
    kinds = model.items.frame["grade"].to_list()
    expected = [0.0] * len(PAGES)
    grades = [grade for page in PAGES for grade in page]
    for (page, rank, _, chance, *_), grade in zip(chances.iter_rows(), grades, strict=True):
        item = kinds.index(grade)
        if name == "DCM":
            satisfied = 1 - values["continuation"][rank - 1]
        elif name == "CM":
            satisfied = 1.0
        else:
            satisfied = values["attractiveness" if name == "CCM" else "satisfaction"][item]
        expected[page] += chance * satisfied / rank
    measure = model.measure("effort", separates_unjudged=True)
    assert scored(measure) == pytest.approx(expected, abs=1e-12)
    assert cf.parse_measure(str(measure)) == measure


def test_documents_without_a_judgment_are_as_grade_0_by_default() -> None:
    model = trained("DBN")
    assert "None" not in str(model.measure())
    assert str(model.measure(separates_unjudged=True)).startswith("uM(clicks={None: 0.")


def test_cutoff_and_digits() -> None:
    model = trained("UBM")
    assert model.measure().cutoff == 6
    short = model.measure(cutoff=2, digits=1)
    assert str(short).endswith("@2") and "3: {" not in str(short)
    whole = model.measure("utility", cutoff=2)
    assert abs(scored(whole)[0] - scored(short)[0]) < 0.2
    assert scored(whole)[0] == pytest.approx(scored(model.measure() @ 2)[0], abs=1e-12)


@pytest.mark.parametrize("name", ["DBN", "SDBN", "CM", "CCM", "PBM"])
def test_users_of_models(name: str) -> None:
    """ETU with the gain of a click is the utility; C is that of the papers."""
    model = trained(name)
    clicks = dict(model.parameters["attractiveness"].select("grade", "value").rows())
    user = model.make_user_model(
        separates_unjudged=True, gains={g: v for g, v in clicks.items() if g}
    )
    utility = model.measure("utility", separates_unjudged=True, gains="binary")
    told = cf.parse_measure(f"ETU({user})")
    # In C/W/L all read the first rank, and by PBM a share of them.
    share = model.parameters["examination"]["value"][0] if name == "PBM" else 1.0
    expected_total = [one / share for one in scored(utility)]
    assert scored(told) == pytest.approx(expected_total, abs=1e-12)
    reading = user.read([0.0, 0.0, 0.0], grades=[2, np.nan, 0])
    kept = {key: one["value"].to_list() for key, one in model.parameters.items()}
    at = [model.items.frame["grade"].to_list().index(grade) for grade in (2, None, 0)]
    a = np.array(kept["attractiveness"])[at]
    if name in {"DBN", "SDBN"}:
        gamma = kept.get("continuation", [1.0])[0]
        expected = gamma * (1 - a * np.array(kept["satisfaction"])[at])
    elif name == "CCM":
        t1, t2, t3 = kept["continuation"]
        expected = (1 - a) * t1 + a * ((1 - a) * t2 + a * t3)
    elif name == "CM":
        expected = 1 - a
    else:
        x = np.array(kept["examination"])
        expected = x[1:4] / x[:3]
    np.testing.assert_allclose(reading.continuation[0], expected, atol=1e-12)
    for wrapper in ("EU", "EC", "Depth", "Residual"):
        assert np.isfinite(scored(cf.parse_measure(f"{wrapper}({user})"))).all()


def test_a_saved_model_is_the_same_measure(tmp_path: object) -> None:
    path = f"{tmp_path}/model.json"
    trained("DBN").save(path)
    again = cf.online.ClickModel.load(path)
    assert again.measure("effort") == trained("DBN").measure("effort")
    assert again.make_user_model() == trained("DBN").make_user_model()
