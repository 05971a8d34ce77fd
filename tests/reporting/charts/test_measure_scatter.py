"""Measure against measure, a point for each system."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

import cranfield as cf
from cranfield.reporting.charts import measure_scatter
from tests.reporting.charts.drawn import rows_with, spec_of

QRELS = {str(t): {f"d{k}": int((k + t) % 3 == 0) for k in range(8)} for t in range(6)}


def runs_of(systems: int) -> dict[str, dict[str, dict[str, float]]]:
    rng = np.random.default_rng(2)
    return {
        f"s{k}": {
            topic: {doc: float(rng.random()) for doc in docs} for topic, docs in QRELS.items()
        }
        for k in range(systems)
    }


@pytest.mark.parametrize("systems", [4, 30])
def test_points_are_means_and_the_title_has_their_tau(systems: int) -> None:
    evaluation = cf.evaluate(runs_of(systems), QRELS, ["AP", "P@3", "SetE@3"])
    chart = measure_scatter(evaluation, ["AP", "SetE@3"])
    rows = rows_with(chart, "system", "x", "y")
    means = [evaluation[name].mean() for name in ("AP", "SetE@3")]
    assert [row["x"] for row in rows][:systems] == pytest.approx(means[0].tolist())
    assert [row["y"] for row in rows][:systems] == pytest.approx(means[1].tolist())
    spec = spec_of(chart)
    tau = kendalltau(means[0].round(10), -means[1].round(10)).statistic
    assert spec["title"]["subtitle"] == [f"{systems} systems; Kendall's tau {tau:.3f}."]
    # Lower is better by the measure of the vertical axis.
    scales = [spec["layer"][0]["encoding"][axis]["scale"]["reverse"] for axis in "xy"]
    assert scales == [False, True]
    # Many systems have no names, but in tooltips.
    assert len(spec["layer"]) == (2 if systems < 26 else 1)


def test_no_name_overlaps_another() -> None:
    scores = {"near": [0.5, 0.5], "near, too": [0.5, 0.51], "far": [0.1, 0.9]}
    evaluation = cf.evaluate(runs_of(3), QRELS, ["AP", "P@3"])
    tables = {
        name: replace(table, systems=tuple(scores), values=np.tile(row, (len(QRELS), 1)))
        for (name, table), row in zip(
            evaluation.items(), np.transpose([*scores.values()]), strict=True
        )
    }
    chart = measure_scatter(replace(evaluation, scores=tables))
    names = [{row["system"] for row in rows} for rows in spec_of(chart)["datasets"].values()]
    assert sorted(map(len, names)) == [2, 3]
    assert {"near", "far"} in names


def test_refusals() -> None:
    evaluation = cf.evaluate(runs_of(2), QRELS, ["AP", "P@3", "RR"])
    with pytest.raises(cf.PolicyError, match="expected two measures, got 3: AP, P@3, RR"):
        measure_scatter(evaluation)
    with pytest.raises(cf.PolicyError, match="measure 'nDCG'"):
        measure_scatter(evaluation, ["AP", "nDCG"])


def test_all_tied() -> None:
    evaluation = cf.evaluate({"a": {"1": {"x": 1.0}}}, {"1": {"x": 1}}, ["AP", "RR"])
    [subtitle] = spec_of(measure_scatter(evaluation))["title"]["subtitle"]
    assert subtitle == "1 system; Kendall's tau is undefined, as all systems are tied by a measure."
