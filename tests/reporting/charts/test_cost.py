"""The chart of cost beside effect: points, front, names and axes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.reporting import charts
from tests.reporting.charts.drawn import HOSTILE, spec_of

SCORES = {"bm25": [0.5, 0.4], "dup": [0.5, 0.4], "dense": [0.6, 0.5], "slow": [0.5, 0.5]}
COSTS = {
    "bm25": {"seconds": 2, "dollars": 0},
    "dup": {"seconds": 2, "dollars": 0},
    "dense": {"seconds": 9, "dollars": 1},
    "slow": {"seconds": 95, "dollars": 2},
}


def test_costs_with_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("system;seconds;note\nbm25;1,5;x\ndense;2,25;y\n")
    costs = {"bm25": {"seconds": 1.5}, "dense": {"seconds": 2.25}}
    found, expected = (cf.cost_effectiveness(SCORES, costs) for costs in (path, costs))
    assert found.rows.equals(expected.rows)


def test_points_front_and_names() -> None:
    found = cf.cost_effectiveness(SCORES, COSTS)
    spec = spec_of(found.plot.cost())
    line, points, names = (spec["datasets"][one["data"]["name"]] for one in spec["layer"])
    assert [row["amount"] for row in line] == [2, 2, 9]
    assert [row["status"] for row in points] == [*["on the front"] * 3, "dominated"]
    # Equal points share one text.
    assert [row["system"] for row in names] == ["bm25, dup", "dense", "slow"]
    assert "3 of 4 systems on the Pareto front" in spec["title"]["text"]
    x = [
        charts.cost_chart(found, name).to_dict()["layer"][0]["encoding"]["x"]
        for name in COSTS["dup"]
    ]
    assert x[0]["scale"] == {"type": "log"} and "scale" not in x[1]
    with pytest.raises(cf.PolicyError, match="joules"):
        charts.cost_chart(found, "joules")


def test_lower_is_better_and_many_systems() -> None:
    values = np.random.default_rng(1).random((3, 40))
    names = tuple(f"s{k}" for k in range(40))
    scores = cf.Scores(values, tuple("abc"), names, "error", lower_is_better=True)
    spec = spec_of(
        charts.cost_chart(cf.cost_effectiveness(scores, dict(zip(names, range(40), strict=True))))
    )
    assert spec["layer"][0]["encoding"]["y"]["scale"]["reverse"] is True
    line, points, texts = (spec["datasets"][one["data"]["name"]] for one in spec["layer"])
    assert len(points) == 40 and len(texts) == len(line) < 25


def test_names_are_data() -> None:
    names = [f"s{k}" for k in range(len(HOSTILE))]
    scores = {name: [k / 10, k / 20] for k, name in enumerate(names)}
    found = cf.cost_effectiveness(scores, {name: k for k, name in enumerate(names)})
    rows = found.rows.with_columns(pl.Series("system", HOSTILE), cost=pl.lit("<img src=x>"))
    spec = spec_of(charts.cost_chart(replace(found, rows=rows)))
    fields = {field for table in spec["datasets"].values() for row in table for field in row}
    assert fields == {"system", "mean", "amount", "status", "proportion"}
