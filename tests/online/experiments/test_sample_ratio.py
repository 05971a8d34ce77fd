"""Sample ratio mismatch, against published figures and SciPy."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import binomtest, chisquare

from cranfield.online.experiments.report import sample_ratio


def test_published_counts() -> None:
    """Kohavi, Tang and Xu (2020), chapter 21: p = 1.8E-6."""
    found = sample_ratio({"control": 821_588, "treatment": 815_482})
    assert found.pvalue == pytest.approx(1.82179e-6, rel=1e-5)
    assert found.alarm


def test_a_small_p_above_the_threshold_is_reported_with_it() -> None:
    """At p = .001 an imbalance is likely, although it is no mismatch by the threshold."""
    [line] = sample_ratio({"control": 2537, "new": 2309}).heading()
    assert line.startswith(
        "no sample ratio mismatch: control 2,537 : new 2,309, expected 0.5 : 0.5;"
    )
    assert line.endswith("p 0.00105572 (alarm below 0.0005)")
    [line] = sample_ratio({"control": 2537, "new": 2463}).heading()
    assert line.endswith("p 0.295322")


def test_users_of_tea_tasting() -> None:
    counts: dict[Any, int] = {0: 2023, 1: 1977}
    assert sample_ratio(counts).variant.tolist() == ["0", "1"]
    assert sample_ratio(counts).pvalue == pytest.approx(0.46702758, abs=1e-8)
    assert sample_ratio(counts, method="exact").pvalue == pytest.approx(0.47677126, abs=1e-8)


def test_against_scipy() -> None:
    weights = {"a": 0.2, "b": 0.3, "c": 0.5}
    found = sample_ratio({"a": 450, "b": 640, "c": 910}, weights)
    expected = chisquare([450, 640, 910], [400, 600, 1000])
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-10)
    few = sample_ratio({"a": 7, "b": 20}, {"a": 0.4, "b": 0.6})
    assert few.method == "exact"
    assert few.pvalue == pytest.approx(binomtest(7, 27, 0.4).pvalue, rel=1e-10)
    three = sample_ratio({"a": 0, "b": 0, "c": 30}, weights)
    assert three.pvalue == pytest.approx(3 * binomtest(30, 30, 0.5).pvalue, rel=1e-10)


def test_a_variant_without_units_counts() -> None:
    assert sample_ratio({"a": 40}, {"a": 0.5, "b": 0.5}).alarm
    table = sample_ratio({"a": 40}, {"a": 0.5, "b": 0.5}).to_polars()
    assert table["units"].to_list() == [40, 0]
    assert table["expected"].to_list() == [20.0, 20.0]
