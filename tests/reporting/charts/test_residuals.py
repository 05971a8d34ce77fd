"""Charts of residuals: every residual once, and nothing cut off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.reporting.charts.topics import residual_plots
from cranfield.significance.models.anova_table import AnovaTable


def drawn(table: AnovaTable) -> tuple[list[dict[str, float]], Any]:
    """Return the points of the chart, which both panels share, and the right panel."""
    chart = residual_plots(table).to_dict()
    left, right = chart["hconcat"]
    name = left["layer"][0]["data"]["name"]
    assert right["layer"][0]["data"]["name"] == name
    return chart["datasets"][name], right


@pytest.mark.parametrize("systems", [3, 130])
def test_all_residuals_are_drawn(systems: int) -> None:
    values = np.random.default_rng(0).random((50, systems))
    scores = cf.Scores(values, tuple(map(str, range(50))), tuple(map(str, range(systems))))
    table = cf.compare(scores).anova
    assert table is not None
    rows, right = drawn(table)
    assert len(rows) == values.size
    np.testing.assert_allclose([row["residual"] for row in rows], np.sort(table.residuals.ravel()))
    theirs, _ = stats.probplot(table.residuals.ravel())
    # Filliben's quantiles there, Blom's here: they differ in the tails, and little.
    ours = np.array([row["normal"] for row in rows])
    assert np.abs(ours - theirs[0]).max() < 0.1
    assert right["layer"][0]["encoding"]["x"]["title"] == "quantile of a normal distribution"


def test_gaps_are_left_out() -> None:
    values = np.random.default_rng(0).random((6, 3, 2))
    values[1, :, 0] = np.nan
    scores = cf.Scores(values, tuple("123456"), tuple("abc"))
    table = cf.compare(scores, missing="available").anova
    assert table is not None
    assert len(drawn(table)[0]) == 33
