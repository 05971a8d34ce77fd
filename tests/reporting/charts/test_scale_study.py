"""Charts of the study of scales show the numbers of its tables, each once."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.meta import ScaleStudy, study_scales
from cranfield.reporting.charts.studies import scale_pairs_chart, scale_tau_chart


@cache
def study() -> ScaleStudy:
    covid = cf.bundled.trec_covid()
    judged = cf.judge(covid.runs[:12], covid.qrels).binarise()
    return study_scales(judged, ["P", "RR", "AP", "RBP(p=0.5)"], cutoffs=[5, 10], tests=())


def drawn(chart: Any, layer: int) -> list[dict[str, Any]]:
    spec = chart.to_dict(validate=False)
    data = spec["layer"][layer]["data"]
    found: list[dict[str, Any]] = (
        data["values"] if "values" in data else spec["datasets"][data["name"]]
    )
    return found


@pytest.mark.parametrize("kind", ["overall", "by topic", "lowest"])
def test_tau_by_length(kind: str) -> None:
    found = {
        (row["cutoff"], row["measure"]): row["tau"]
        for row in drawn(scale_tau_chart(study(), kind=kind), 0)
    }
    table = study().correlation
    assert found == {
        (cutoff, measure): tau
        for cutoff, measure, tau in table.select("cutoff", "measure", kind).rows()
    }
    assert found[5, "P"] == 1


def test_names_stand_beside_the_ends_of_lines() -> None:
    labels = drawn(scale_tau_chart(study()), 2)
    assert sorted(row["measure"] for row in labels) == sorted(study().measures)
    at_end = {
        row["measure"]: row["overall"]
        for row in study().correlation.filter(cutoff=10).iter_rows(named=True)
    }
    assert {row["measure"]: row["tau"] for row in labels} == at_end
    # P and RBP(p=0.5) end in the same point, and have their names one above the other.
    places = {row["measure"]: row["position"] for row in labels}
    assert places["P"] != places["RBP(p=0.5)"]


def test_pairs_before_and_after() -> None:
    chart = scale_pairs_chart(study(), cutoff=5)
    table = study().pairs.filter(cutoff=5)
    found = {(row["pair"], row["version"]): row["tau"] for row in drawn(chart, 1)}
    assert len(found) == 2 * len(table) == 12
    for row in table.iter_rows(named=True):
        pair = f"{row['first']} and {row['second']}"
        assert found[pair, "original"] == row["original"]
        assert found[pair, "interval-scaled"] == row["interval"]
    order = chart.to_dict(validate=False)["layer"][0]["encoding"]["y"]["scale"]["domain"]
    change = [found[pair, "interval-scaled"] - found[pair, "original"] for pair in order]
    assert change == sorted(change, reverse=True)


def test_the_longest_runs_by_default() -> None:
    title = scale_pairs_chart(study()).to_dict(validate=False)["layer"][0]["encoding"]["x"]["title"]
    assert title.endswith("length 10")


def test_unknown_correlations_are_left_out() -> None:
    """Two systems that tie have no tau."""
    gone = study().correlation.with_columns(
        overall=pl.when(pl.col("measure") == "AP").then(float("nan")).otherwise("overall")
    )
    chart = scale_tau_chart(ScaleStudy(vars(study()), correlation=gone))
    assert {row["measure"] for row in drawn(chart, 2)} == {"P", "RR", "RBP(p=0.5)"}
    assert {row["tau"] for row in drawn(chart, 0) if row["measure"] == "AP"} == {None}
    nothing = gone.with_columns(overall=float("nan"))
    scale_tau_chart(ScaleStudy(vars(study()), correlation=nothing)).to_dict(validate=False)
