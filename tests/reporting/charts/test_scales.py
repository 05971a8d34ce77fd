"""Charts of scales: what is drawn is what the papers print, or what counting all runs gives."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.reporting.charts.scales import (
    LINE_HEIGHT,
    SPACING_HEIGHT,
    accumulate_proportions,
    distribution_chart,
    list_runs_by_value,
    make_curve_points,
    spacing_chart,
)
from cranfield.reporting.charts.theme import space_out

DCG = "DCG(discount='max(1,log2(rank))')"
FIGURE_2 = {"P": "P", "AP": "AP", "RR": "RR", "RBP": "RBP(p=0.3)", "DCG": DCG}

AP_BY_HAND = {
    "0000": "0",
    "0001": "1/16",
    "0010": "1/12",
    "0100": "1/8",
    "0011": "5/24",
    "0101": "1/4",
    "1000": "1/4",
    "0110": "7/24",
    "1001": "3/8",
    "1010": "5/12",
    "0111": "23/48",
    "1100": "1/2",
    "1011": "29/48",
    "1101": "11/16",
    "1110": "3/4",
    "1111": "1",
}


def rows(layer: dict[str, Any], chart: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a layer draws, wherever the rows stand."""
    data = layer["data"]
    found: list[dict[str, Any]] = (
        data["values"] if "values" in data else chart["datasets"][data["name"]]
    )
    return found


def drawn(chart: Any, panel: int, layer: int) -> list[dict[str, Any]]:
    found = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    return rows(found["concat"][panel]["layer"][layer], found)


def marks(chart: Any, panel: int) -> dict[str, float]:
    """Value of each run, by the squares of a panel."""
    return {run: row["value"] for row in drawn(chart, panel, 2) for run in row["runs"].split()}


def test_spacing_of_average_precision_by_hand() -> None:
    found = marks(spacing_chart("AP", 4), 0)
    assert found.keys() == AP_BY_HAND.keys()
    for run, value in AP_BY_HAND.items():
        assert found[run] == pytest.approx(float(Fraction(value)), abs=1e-15)


def test_spacing_of_figure_2() -> None:
    chart = spacing_chart(FIGURE_2, 4)
    spec = chart.to_dict(validate=False)
    assert [panel["title"]["text"] for panel in spec["concat"]] == list(FIGURE_2)
    assert "all runs of length 4" in spec["description"]
    runs = ["".join(bits) for bits in product("01", repeat=4)]
    by_hand = {
        0: {run: run.count("1") / 4 for run in runs},
        2: {run: 1 / (run.index("1") + 1) if "1" in run else 0.0 for run in runs},
        3: {run: sum(0.7 * 0.3**k for k, bit in enumerate(run) if bit == "1") for run in runs},
        4: {
            run: sum(1 / max(1, np.log2(k + 1)) for k, bit in enumerate(run) if bit == "1")
            for run in runs
        },
    }
    for panel, expected in by_hand.items():
        assert marks(spec, panel) == pytest.approx(expected, abs=1e-12)
    # Example 12 of the paper: 12 values, the highest 3.131.
    assert len(drawn(spec, 4, 2)) == 12
    assert max(row["value"] for row in drawn(spec, 4, 2)) == pytest.approx(3.131, abs=5e-4)
    assert spec["concat"][0]["title"]["subtitle"] == "5 values, all steps 0.25"
    assert spec["concat"][1]["title"]["subtitle"] == "15 values, steps 0.0208 to 0.25"


@pytest.mark.parametrize(
    ("measure", "length", "grades"), [("AP", 4, 1), ("ERR", 3, 2), ("P", 8, 1)]
)
def test_labels_do_not_cover_each_other(measure: str, length: int, grades: int) -> None:
    chart = spacing_chart(measure, length, grades)
    labels = drawn(chart, 0, 3)
    scale = chart.to_dict(validate=False)["concat"][0]["layer"][2]["encoding"]["y"]["scale"][
        "domain"
    ]
    pixel = [SPACING_HEIGHT * row["position"] / (scale[1] - scale[0]) for row in labels]
    size = [LINE_HEIGHT * (row["label"].count("\n") + 1) for row in labels]
    for k in range(len(labels) - 1):
        assert pixel[k + 1] - pixel[k] >= (size[k] + size[k + 1]) / 2 - 1e-6
    # A label leads to its own value, and all are there if there is room.
    known = {row["value"] for row in drawn(chart, 0, 2)}
    assert {row["value"] for row in labels} == known


def test_some_labels_are_left_out_but_no_mark() -> None:
    chart = spacing_chart("AP", 8)
    assert len(drawn(chart, 0, 2)) == cf.image("AP", 8).size == 225
    assert 10 < len(drawn(chart, 0, 3)) < 60


def test_judgments_stretch_the_values() -> None:
    assert marks(spacing_chart("AP", 2, judgments=4), 0)["11"] == 0.5
    assert list_runs_by_value(cf.image("R", 2, judgments=4))["value"].to_list() == [0, 0.25, 0.5]


def test_grades_are_written_so_that_they_can_be_read() -> None:
    assert list_runs_by_value(cf.image("DCG", 2, 11))["runs"][-1].to_list() == ["11,11"]


def test_what_section_7_says_of_figure_3() -> None:
    """P at 5: 20% of the runs have .2, 30% .4, and so on (rounded there); RR: 5 values from .2."""
    found = accumulate_proportions(cf.image("P", 5)).with_columns(
        own=pl.col("runs") - pl.col("runs below")
    )
    assert found["own"].round(1).to_list() == [0.0, 0.2, 0.3, 0.3, 0.2, 0.0]
    for length, below in ((5, 1), (10, 6), (20, 16), (30, 26)):
        values = accumulate_proportions(cf.image("RR", length))["value"]
        assert (values >= 0.2).sum() == 5
        assert (values < 0.2).sum() == below


@pytest.mark.parametrize(
    ("measure", "length", "grades"), [("AP", 6, 1), (DCG, 7, 1), ("ERR", 4, 2), ("RBP", 6, 1)]
)
def test_shares_by_listing_all_runs(measure: str, length: int, grades: int) -> None:
    runs = np.array(list(product(range(grades + 1), repeat=length)))
    all_values = np.round(cf.scales.score_runs(measure, runs, grades=grades), 10)
    found = accumulate_proportions(cf.image(measure, length, grades))
    distinct = np.unique(all_values)
    np.testing.assert_allclose(found["value"], distinct, atol=1e-9)
    upto = (all_values[None, :] <= distinct[:, None]).mean(axis=1)
    below = (all_values[None, :] < distinct[:, None]).mean(axis=1)
    np.testing.assert_allclose(found["runs"], upto, atol=1e-12)
    np.testing.assert_allclose(found["runs below"], below, atol=1e-12)
    np.testing.assert_allclose(found["values"], np.linspace(0, 1, distinct.size), atol=1e-12)


def test_long_runs_are_sampled_with_exact_shares() -> None:
    """Those of RBP with p = 1/2 are what the numbers spell, in 2^30."""
    found = accumulate_proportions(cf.image("RBP(p=0.5)", 30))
    assert len(found) > 1000
    spelled = (found["value"] * 2**30).round()
    np.testing.assert_allclose(found["values"], spelled / (2**30 - 1), atol=1e-12)
    np.testing.assert_allclose(found["runs"], (spelled + 1) / 2**30, atol=1e-12)
    gaps = np.diff(found["values"].to_numpy())
    assert gaps.max() < 0.005


def test_shares_of_values_where_runs_cannot_be_counted() -> None:
    found = accumulate_proportions(cf.image("P", 200))
    assert found["runs"].null_count() == len(found)
    assert found["values"].is_sorted()
    assert found["value"].is_sorted()
    chart = distribution_chart("P", 200).to_dict(validate=False)
    assert len(chart["concat"][0]["layer"]) == 2


def test_curves_keep_level_pieces_and_ends() -> None:
    table = accumulate_proportions(cf.image("RR", 3))
    runs = make_curve_points(table, "runs").select("proportion", "value").rows()
    third = 1 / 3
    assert runs == [
        *((0.0, 0.0), (0.125, 0.0), (0.125, third), (0.25, third)),
        *((0.25, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0)),
    ]
    thinned = make_curve_points(accumulate_proportions(cf.image("RBP(p=0.8)", 12)), "values")
    assert thinned["proportion"][0] == 0
    assert thinned["proportion"][-1] == 1
    assert len(thinned) < 1000


def test_an_interval_scale_is_a_straight_line() -> None:
    chart = distribution_chart(["RBP(p=0.5)", "RBP(p=0.3)"], 6)
    farthest = []
    for panel in (0, 1):
        line = drawn(chart, panel, 2)
        low, high = line[0]["value"], line[-1]["value"]
        off = [abs(row["value"] - low - row["proportion"] * (high - low)) for row in line]
        farthest.append(max(off))
    assert farthest[0] < 1e-12 < 0.1 < farthest[1]


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0.5, 9)), min_size=1, max_size=12))
def test_apart_moves_no_more_than_needed(things: list[tuple[float, float]]) -> None:
    things.sort()
    wanted, sizes = (np.array(one) for one in zip(*things, strict=True))
    found = space_out(wanted, sizes)
    room = (sizes[1:] + sizes[:-1]) / 2
    assert (np.diff(found) >= room - 1e-9).all()
    if (np.diff(wanted) >= room).all():
        np.testing.assert_allclose(found, wanted, atol=1e-9)
    # Things that touch move as one, and together they stay where they want to be.
    assert found.mean() == pytest.approx(wanted.mean(), abs=1e-7)
    inside = space_out(wanted, sizes, 0, 200)
    assert inside[0] >= sizes[0] / 2 - 1e-9
    assert inside[-1] <= 200 - sizes[-1] / 2 + 1e-9


def test_charts_can_be_rendered() -> None:
    import vl_convert

    for chart in (spacing_chart(["P", DCG], 3), distribution_chart("AP", [3, 4])):
        assert "<svg" in vl_convert.vegalite_to_svg(chart.to_json())
