"""Charts of studies of a collection: what is drawn is what the studies found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.meta import LeaveOneOut, Pooling, Stability, leave_one_out, pooling, stability
from cranfield.reporting.charts.studies import (
    leave_one_out_chart,
    pooling_chart,
    stability_chart,
)

RUNS = {
    "a1": {"q": {"x": 3.0, "y": 2.0, "n": 1.0}},
    "a2": {"q": {"x": 3.0, "w": 2.0, "n": 1.0}},
    "b1": {"q": {"y": 3.0, "z": 2.0, "n": 1.0}},
}
QRELS = {"q": {"x": 1, "y": 1, "z": 1, "n": 0, "w": 0}}
TEAMS = {"a1": "A", "a2": "A", "b1": "B"}


def study(measure: str = "AP", **options: Any) -> Stability:
    random = np.random.default_rng(1)
    values = random.random((10, 1)) + 0.3 * random.random((10, 5)) + np.linspace(0, 0.5, 5)
    scores = cf.Scores(values, tuple(map(str, range(10))), tuple("abcde"), measure=measure)
    return stability(scores, **{"sizes": [3, 6, 9], "repeats": 30, **options})


def left(**options: Any) -> LeaveOneOut:
    return leave_one_out(RUNS, QRELS, ["AP", "P@2"], **{"teams": TEAMS, **options})


def data(made: dict[str, Any], layer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that a layer of a panel draws; layers of the same data share them."""
    [panel] = [one for one in made["concat"] if any(layer is part for part in one["layer"])]
    source = layer.get("data") or panel["data"]
    found: list[dict[str, Any]] = made["datasets"][source["name"]]
    return found


def test_lines_and_bands_of_stability() -> None:
    found = study()
    made = stability_chart(found).to_dict()
    for panel, name in zip(made["concat"], ("significant", "tau", "confirmed"), strict=True):
        band, line = panel["layer"]
        rows = data(made, line)
        assert data(made, band) == rows
        assert [row["topics"] for row in rows] == [3, 6, 9]
        assert [row["mean"] for row in rows] == pytest.approx(found.by_size[name].to_list())
        if name != "confirmed":
            for end in ("low", "high"):
                wanted = found.by_size[f"{name} {end}"].to_list()
                assert [row[end] for row in rows] == pytest.approx(wanted)
        else:
            for row in rows:
                shares = found.samples.filter(topics=row["topics"])["confirmed"].to_numpy()
                inside = (shares / found.n_significant >= row["low"]) & (
                    shares / found.n_significant <= row["high"]
                )
                assert inside.mean() >= 0.95
    # One study needs no legend.
    assert made["concat"][0]["layer"][1]["encoding"]["color"]["legend"] is None


def test_stability_of_two_measures_and_of_two_tests() -> None:
    made = stability_chart([study("AP"), study("RR")]).to_dict()
    for panel in made["concat"]:
        names = {row["measure"] for row in data(made, panel["layer"][0])}
        assert names == {"AP", "RR"}
    two = stability_chart([study(), study(test="t")]).to_dict()
    colour = two["concat"][0]["layer"][1]["encoding"]["color"]
    assert colour["scale"]["domain"] == ["AP, anova-2", "AP, t"]


def test_where_nothing_is_significant() -> None:
    values = np.random.default_rng(2).random((6, 3))
    found = stability(values, sizes=[3], repeats=5)
    assert found.n_significant == 0
    made = stability_chart(found).to_dict()
    assert [row["mean"] for row in data(made, made["concat"][2]["layer"][0])] == [None]


def test_points_of_leaving_out() -> None:
    found = left()
    made = leave_one_out_chart(found, "P@2").to_dict()
    assert [panel["title"] for panel in made["concat"]] == [
        "P@2, raw lists",
        "Ranks by P@2",
        "P@2, condensed lists",
        "Ranks by P@2",
    ]
    for panel, kind in zip(made["concat"][::2], ("raw", "condensed"), strict=True):
        line, points = panel["layer"]
        rows = found.systems.filter(measure="P@2", list=kind)
        drawn = data(made, points)
        assert [row["system"] for row in drawn] == ["a1", "a2", "b1"]
        for what in ("before", "after"):
            assert [row[f"score {what}"] for row in drawn] == rows[what].to_list()
            assert [row[f"rank {what}"] for row in drawn] == rows[f"rank {what}"].to_list()
        assert [row["runs of the team"] for row in drawn] == ["2 runs", "2 runs", "1 run"]
        for end in data(made, line):
            assert end["x"] == end["y"]
        low, high = points["encoding"]["x"]["scale"]["domain"]
        assert low <= rows["after"].min() and rows["before"].max() <= high


def test_runs_left_out_alone_have_one_colour() -> None:
    made = leave_one_out_chart(left(teams=None, lists="raw")).to_dict()
    assert len(made["concat"]) == 2
    assert "value" in made["concat"][0]["layer"][1]["encoding"]["color"]
    assert made["concat"][0]["layer"][1]["encoding"]["y"]["title"].endswith(
        "that only the run contributed"
    )


def test_they_can_be_drawn(tmp_path: Path) -> None:
    for name, chart in (
        ("s", stability_chart(study())),
        ("l", leave_one_out_chart(left())),
        ("p", pooling_chart(pooled())),
    ):
        chart.save(tmp_path / f"{name}.svg")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()[:200]


def pooled(**options: Any) -> Pooling:
    given = {"methods": "depth,random", "budgets": [1, 2], "repeats": 3, "depth": 3}
    return pooling(RUNS, QRELS, ["AP", "P@2"], **{**given, **options})


def test_found_against_judged() -> None:
    found = pooled(budgets=[1, 2])
    made = pooling_chart(found).to_dict()
    first, *others = made["concat"]
    rows = made["datasets"][first["layer"][0].get("data", first.get("data"))["name"]]
    assert [row["method"] for row in rows] == ["depth", "depth", "random", "random"]
    judged = found.documents.head(-1)
    assert [row["value"] for row in rows] == judged["of pool"].to_list()
    assert [row["judged"] for row in rows] == judged["judged"].to_list()
    spread = judged["relevant sd"].fill_null(0.0) / found.documents["relevant"][-1]
    assert [row["high"] - row["value"] for row in rows] == pytest.approx(spread.to_list())
    assert [panel["title"] for panel in others] == ["AP", "P@2"]
    for panel, measure in zip(others, ("AP", "P@2"), strict=True):
        rows = made["datasets"][panel["layer"][0].get("data", panel.get("data"))["name"]]
        taus = found.rankings.filter(pl.col("method").is_not_null(), measure=measure)["tau"]
        assert [row["value"] for row in rows] == taus.to_list()
    both = pooling_chart(pooled(lists=["raw", "condensed"]), "drop %").to_dict()["concat"]
    assert [panel["title"] for panel in both[1:]] == [
        f"{measure}, {kind} lists" for measure in ("AP", "P@2") for kind in ("raw", "condensed")
    ]
