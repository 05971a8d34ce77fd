"""Experiments from totals, beside statsmodels, SciPy, tea-tasting and rows; sample ratios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest, chisquare, ttest_ind_from_stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

import cranfield as cf
from cranfield import online
from cranfield.online.experiments import totals as module
from cranfield.online.experiments.report import sample_ratio
from tests.cli.running import cranfield

COUNTS = {"control": (500, 10_000), "new": (575, 10_100)}


@pytest.mark.parametrize("rows", [10**6, 0], ids=["as rows", "by moments"])
def test_proportions_are_those_of_statsmodels(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", rows)
    report = online.analyse_totals(COUNTS)
    control, new = (DescrStatsW([0, 1], weights=[n - x, x]) for x, n in COUNTS.values())
    both = CompareMeans(new, control)
    effects = report.to_polars()
    assert_allclose(report.pvalues, both.ttest_ind(usevar="unequal")[1], rtol=1e-9)
    bounds = effects.select("low", "high").row(0)
    assert_allclose(bounds, both.tconfint_diff(usevar="unequal"), rtol=1e-9)
    assert_allclose(effects["difference"][0], 575 / 10_100 - 0.05, rtol=1e-12)


TEA_TASTING = [0.13861386138613851, 0.013270294502978341, 0.279462678787572]
"""Relative effect and its interval by tea-tasting 1.14.0: `Mean("x")` of the rows of COUNTS."""


def test_lifts_are_those_of_tea_tasting() -> None:
    report = online.analyse_totals(COUNTS, lift="log")
    row = report.to_polars().row(0, named=True)
    assert_allclose([row["lift"], row["lift low"], row["lift high"]], TEA_TASTING, rtol=1e-9)


def test_means_are_those_of_scipy() -> None:
    totals = {"old": (52_000.0, 310_000.0, 10_000), "b": (53_500.0, 330_000.0, 10_050)}
    report = online.analyse_totals(totals, control="old")
    stats = []
    for total, squares, n in totals.values():
        stats.append((total / n, np.sqrt((squares - total**2 / n) / (n - 1)), n))
    expected = ttest_ind_from_stats(*stats[1], *stats[0], equal_var=False)
    assert_allclose(report.pvalues, expected.pvalue, rtol=1e-9)
    assert "skewness" in " ".join(report.notes)


def test_totals_of_rows_are_analysed_as_the_rows() -> None:
    values = {"control": np.arange(40) % 7, "new": np.arange(50) % 11, "x": np.arange(45) % 5}
    totals = {name: (v.sum(), (v**2).sum(), v.size) for name, v in values.items()}
    table = {
        "variant": np.repeat(list(values), [v.size for v in values.values()]),
        "mean": np.concatenate([*values.values()]),
    }
    rows = online.analyse_experiment(table, ["mean"], errors="delta")
    report = online.analyse_totals(totals)
    assert report.verdicts == rows.verdicts
    for name in ("low", "high", "p", "adjusted p", "lift low"):
        assert_allclose(report.to_polars()[name], rows.to_polars()[name], rtol=1e-9)


def test_a_method_of_the_lift_that_permutation_does_not_use_is_noted() -> None:
    totals, weights = {"control": (900, 9000), "new": (130, 1000)}, {"control": 0.9, "new": 0.1}
    found = online.analyse_totals(totals, weights=weights, lift="linear")
    assert found.tests == (("permutation",),)
    assert any(note.startswith("lift='linear' has no effect") for note in found.notes)
    for lift, rates in (("fieller", totals), ("linear", {"control": (90, 900), "new": (99, 900)})):
        found = online.analyse_totals(rates, weights=weights, lift=lift, srm="warn")
        assert not any("has no effect" in note for note in found.notes)


def test_totals_of_equal_values_have_no_variance() -> None:
    """For 77 and 101 times 9.99, sums of squares and squared sums differ by rounding."""
    totals = {name: (9.99 * n, 9.99**2 * n, n) for name, n in (("control", 77), ("new", 101))}
    found = online.analyse_totals(totals)
    assert found.comparisons.select("difference", "error", "p").row(0) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("n", [12, 1000])
def test_the_exact_p_value_has_one_form_in_notes_and_tables(n: int) -> None:
    """Of 1,000 and 1,000 units, 1 in 10^600 assignments separates the values 0.1 and 0.05."""
    found = online.analyse_totals({"control": (n / 10, n / 100, n), "new": (n / 20, n / 400, n)})
    form = "7e-07" if n == 12 else "<1e-300"
    assert f" {form} " in str(found)
    assert any(f"p = {form} is from the exact permutation test" in note for note in found.notes)


def test_unequal_variants_are_a_mismatch() -> None:
    report = online.analyse_totals({"control": (500, 10_000), "new": (575, 12_000)})
    assert report.is_stopped
    assert report.verdicts == (("no verdict",),)


@pytest.mark.parametrize(
    ("totals", "message"),
    [
        ({"control": (5, 10)}, "two or more variants"),
        ("control=5/10", "two or more variants"),
        ({"control": (5, 10), "b": (1, 2, 3)}, "for each variant"),
        ({"control": (11, 10), "b": (1, 10)}, "an integer from 0 to 10"),
        ({"control": (1.5, 10), "b": (1, 10)}, "an integer from 0 to 10"),
        ({"control": (1, 1), "b": (1, 10)}, "number of units >= 2"),
        ({"control": (1, float("nan")), "b": (1, 10)}, "number of units >= 2"),
        ({"control": (10, 5, 10), "b": (10, 20, 10)}, "at least 10"),
        ({"control": (10, 20, 10), "b": (10, 20, 9)}, "permutation test"),
        ({"x": (5, 10), "y": (5, 10)}, "control"),
    ],
)
def test_impossible_totals_are_refused(totals: Any, message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        online.analyse_totals(totals)


def test_counts_on_the_command_line(tmp_path: Path) -> None:
    counts = ("online", "experiment", "--counts", "control=500/10000,new=575/10100")
    out, _ = cranfield(tmp_path, *counts)
    assert "0.0289" in out and "better" in out
    out, _ = cranfield(
        tmp_path, *counts, "--lower-is-better", "proportion", "--margin", "proportion=2%"
    )
    assert "proportion is worse (higher) by at least 2%" in out
    assert "worse" in out.splitlines()[-4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--counts", "control=5/10,b=7/10", "--lower-is-better", "x"],
            "unknown metric 'x'; expected one",
        ),
        (["--counts", "control=5/10,b=7"], "SUCCESSES/UNITS"),
        (["--counts", "control=5/10 b=6/10"], "separated by commas, got 'control=5/10 b=6/10'"),
        (["--counts", "control=5/10,control=7/10"], "one total per variant, got two"),
        (["--counts", "control=5/10,b=7/10", "--unit", "user"], "--unit cannot be combined"),
        ([__file__, "--counts", "control=5/10,b=7/10"], "DATA cannot be combined"),
        ([], "--metric"),
        (["--metric", "x"], "DATA or --counts"),
    ],
)
def test_options_that_cannot_be_combined(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    _, err = cranfield(tmp_path, "online", "experiment", *arguments, status=2)
    assert message in err


def test_published_counts() -> None:
    """Kohavi, Tang and Xu (2020), chapter 21: p = 1.8E-6."""
    found = sample_ratio({"control": 821_588, "treatment": 815_482})
    assert found.pvalue == pytest.approx(1.82179e-6, rel=1e-5)
    assert found.is_mismatch


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
    assert sample_ratio({"a": 40}, {"a": 0.5, "b": 0.5}).is_mismatch
    table = sample_ratio({"a": 40}, {"a": 0.5, "b": 0.5}).to_polars()
    assert table["units"].to_list() == [40, 0]
    assert table["expected"].to_list() == [20.0, 20.0]
