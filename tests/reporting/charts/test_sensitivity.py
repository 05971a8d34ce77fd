"""The chart of impressions needed."""

from __future__ import annotations

import polars as pl
import pytest

from cranfield.base.errors import CranfieldError
from cranfield.meta import Sensitivity, interleaving_sensitivity
from cranfield.reporting import charts

RUNS = {
    "<b>a</b>": {"q": {"x": 2.0, "y": 1.0}},
    "b": {"q": {"y": 2.0, "z": 1.0}},
    "same": {"q": {"y": 2.0, "z": 1.0}},
}


@pytest.fixture(scope="module")
def study() -> Sensitivity:
    return interleaving_sensitivity(
        RUNS, {"q": {"x": 1}}, "RR", methods="TeamDraft", users="perfect,random", impressions=40
    )


def test_points_are_the_pairs(study: Sensitivity) -> None:
    made = charts.sensitivity_chart(study).to_dict()
    assert [panel["title"] for panel in made["concat"]] == ["perfect", "random"]
    rows = [row for of in made["datasets"].values() for row in of]
    wanted = study.pairs.filter(pl.col("needed").is_not_null())
    assert sorted(row["needed"] for row in rows) == sorted(wanted["needed"])
    assert min(row["difference"] for row in rows) >= 0


def test_nothing_to_draw(study: Sensitivity) -> None:
    none = Sensitivity(vars(study), pairs=study.pairs.with_columns(needed=pl.lit(None, pl.Float64)))
    with pytest.raises(CranfieldError, match="no pair of systems"):
        charts.sensitivity_chart(none)
