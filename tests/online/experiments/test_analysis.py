"""Analysis of experiments, against tea-tasting, gbstats, statsmodels and naive loops."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError, PolicyError
from cranfield.online import (
    ExperimentReport,
    Metric,
    QueryLog,
    analyse_experiment,
    analyse_totals,
    read_log,
    simulate_aa_tests,
    simulated_log,
    sums_by_unit,
)
from cranfield.online.experiments.estimates import (
    Effects,
    MetricColumns,
    Moments,
    estimate_arms,
    resample_means,
)
from cranfield.significance.differences import compute_t_quantile

DATA = Path(__file__).parents[2] / "data" / "online"
USERS = DATA / "users.csv"

TEA_TASTING = json.loads((DATA / "tea_tasting.json").read_text())
PLACED = {
    "orders": MetricColumns(2),
    "revenue by its past": MetricColumns(3, 0, 6, 0),
    "orders/sessions": MetricColumns(2, 1),
    "orders/sessions by their past": MetricColumns(2, 1, 5, 4),
}

METRICS = {
    "orders": Metric("orders"),
    "revenue": Metric("revenue", covariate="revenue_covariate"),
    "rate": Metric("orders/sessions", covariate="orders_covariate/sessions_covariate"),
}


def row_of(effects: Effects, lift: str = "log") -> list[float]:
    critical = partial(compute_t_quantile, 0.95)
    row = [
        effects.control,
        effects.treatment,
        effects.difference,
        *effects.compute_interval(critical),
    ]
    row += [effects.lift, *effects.compute_lift_interval(critical, lift), effects.compute_pvalue()]
    return [float(value) for value in row]


@pytest.mark.parametrize("name", PLACED)
def test_sufficient_statistics_give_what_tea_tasting_gives(name: str) -> None:
    known = json.loads((DATA / "users_4000.json").read_text())
    mean, scatter = np.ones((2, 7)), np.zeros((2, 7, 7))
    mean[:, 1:], scatter[:, 1:, 1:] = known["mean"], known["scatter"]
    arms = estimate_arms(
        Moments(np.array(known["count"], dtype=float), mean, scatter), PLACED[name]
    )
    expected = TEA_TASTING["4000 users"][name]
    np.testing.assert_allclose(row_of(Effects.from_arms(arms, 1)), expected, 1e-10)


def test_a_table_gives_what_tea_tasting_gives() -> None:
    found = analyse_experiment(USERS, METRICS, unit="user", correction="none")
    table = found.to_polars().select(TEA_TASTING["columns"])
    for row, name in zip(table.iter_rows(), METRICS, strict=True):
        np.testing.assert_allclose(row, TEA_TASTING["200 users"][name], 1e-10)
    # The same in any order of rows, and with rows that are parts of a user.
    frame = pl.read_csv(USERS)
    values = pl.exclude("user", "variant")
    parts = pl.concat(frame.with_columns(values * part) for part in (0.25, 0.75))
    shuffled = parts.sample(fraction=1, shuffle=True, seed=1)
    again = analyse_experiment(shuffled, METRICS, unit="user")
    np.testing.assert_allclose(again.pvalues, found.pvalues, 1e-9)
    note = "400 rows summed by user: 200 units; for a mean over rows, use a ratio"
    assert note in again.notes
    assert not any("count as one unit" in note for note in again.notes)


def test_rows_of_an_unknown_user_are_said() -> None:
    users = ["NA", "u", "v", "NA", "w", "x"]
    table = {"user": users, "variant": list("AABABB"), "sold": [1, 2, 3, 4, 5, 6]}
    found = analyse_experiment(table, {"revenue": "sold"}, unit="user")
    assert any("2 rows of user 'NA' count as one unit" in note for note in found.notes)


@pytest.mark.parametrize("path", ["log.csv", Path("log.csv")])
def test_a_file_of_a_log_is_read_first(path: Any) -> None:
    log = simulated_log()
    for call in (
        lambda: cf.online.measure(path, "CTR"),
        lambda: analyse_experiment(log, "CTR", before=path),
    ):
        with pytest.raises(InputError, match="read_log reads a file"):
            call()


def test_the_deviation_of_a_ratio_follows_from_the_error_of_the_difference() -> None:
    """As the docstring of experiment_size: error times the root of n w (1 - w)."""
    found = analyse_experiment(USERS, {"rate": "orders/sessions"}, unit="user", errors="delta")
    frame = pl.read_csv(USERS)
    orders, sessions = (frame[name].to_numpy() for name in ("orders", "sessions"))
    deviation = ((orders - orders.sum() / sessions.sum() * sessions) / sessions.mean()).std()
    n, w = found.units.sum(), found.units[1] / found.units.sum()
    assert found.error[0, 0] * (n * w * (1 - w)) ** 0.5 == pytest.approx(deviation, rel=0.02)


def test_means_adjusted_for_a_covariate_are_noted(tmp_path: Path) -> None:
    found = analyse_experiment(USERS, METRICS, unit="user", correction="none")
    [revenue, rate] = [note for note in found.notes if "adjusted for" in note]
    raw = analyse_experiment(USERS, {name: m.value for name, m in METRICS.items()}, unit="user")
    for k, (note, name) in enumerate(((revenue, "revenue_covariate"), (rate, "orders_covariate/"))):
        change = (found.error[k + 1, 0] / raw.error[k + 1, 0]) ** 2 - 1
        assert name in note and f"by {change:+.1%}" in note and change < 0
    assert found.theta == "pooled" and not raw.theta
    assert not any("adjusted" in note for note in raw.notes)
    for report, is_adjusted in ((found, True), (raw, False)):
        page = cf.report(report, tmp_path / "page.html").read_text()
        assert ("coefficient of covariates" in page) == ("adjusted for" in page) == is_adjusted


@pytest.mark.parametrize(
    ("unit", "assigned", "is_noted"),
    [
        ("session", "user", True),
        ("session", "session", False),
        ("row", "user", True),
        ("row", "session", False),
        ("user", "user", False),
    ],
)
def test_units_smaller_than_the_users_of_a_variant_are_noted(
    unit: str, assigned: str, is_noted: bool
) -> None:
    """Of 100 users with four sessions each, users or sessions are assigned to variants."""
    random = np.random.default_rng(4)
    rows = pl.DataFrame({"session": np.arange(400), "user": np.arange(400) % 100})
    arm = random.integers(0, 2, 400)[rows[assigned].to_numpy()]
    arm[:2] = 1 - arm[:2]  # Two users have a session in each variant.
    rows = rows.select(
        pl.concat_str(pl.lit("s"), "session").alias("session"),
        pl.concat_str(pl.lit("u"), "user").alias("user"),
        pl.Series("variant", np.array(["control", "new"])[arm]),
        pl.Series("clicks", random.integers(0, 5, 400)),
    )
    found = analyse_experiment(rows, "clicks", unit=unit)
    noted = [note for note in found.notes if "if users were randomised" in note]
    assert len(noted) == is_noted
    if is_noted:
        assert noted[0].startswith("98 of 100 users") and "unit='user'" in noted[0]
    if unit != "row":
        pages = rows.rename({"session": "session_id"}).with_row_index("page_id")
        log = read_log(pages.with_columns(query=pl.lit("q")).drop("clicks"))
        notes = analyse_experiment(log, ["QueriesPerSession"], unit=unit).notes
        assert any("if users were randomised" in note for note in notes) == is_noted


def test_theta_within_variants_is_the_analysis_of_covariance() -> None:
    """statsmodels 0.15.0: ols("revenue ~ variant + revenue_covariate")."""
    found = analyse_experiment(USERS, {"x": METRICS["revenue"]}, theta="within")
    assert found.difference[0, 0] == pytest.approx(1.210649623580731, abs=1e-10)


def summed(number: int, total: float, squares: float) -> tuple[float, float, float]:
    mean = total / number
    return mean, (squares - total**2 / number) / (number - 1) / number, number


def test_figures_of_gbstats() -> None:
    """Tests of gbstats 0.8.0 (MIT): absolute, and relative by the linear delta method."""
    a, b = summed(3407, 1396.87, 52377.9767), summed(3461, 2422.7, 134698.29)
    parts = [np.array(one) for pair in zip(a, b, strict=True) for one in pair]
    row = [round(value, 5) for value in row_of(Effects(*parts), "linear")[2:]]
    assert row == [0.29, 0.04538, 0.53462, 0.70732, -0.03526, 1.44989, 0.02016]


@settings(max_examples=25)
@given(st.lists(st.integers(0, 5), min_size=8, max_size=30), st.data())
def test_p_values_are_those_of_welch(values: list[int], data: Any) -> None:
    arm = [k % 2 for k in range(len(values))]
    shift = data.draw(st.sampled_from([0.0, 1e6]))
    table = {"variant": ["ab"[k] for k in arm], "x": [one + shift for one in values]}
    x, y = (np.array(values, dtype=float)[np.array(arm) == k] for k in (0, 1))
    found = analyse_experiment(table, "x", control="a", errors="delta")
    if min(x.std(), y.std()) == 0:
        if max(x.std(), y.std()) == 0:
            exact = min(1.0, 2 / comb(len(values), len(x)))
            assert found.pvalues[0, 0] == (1.0 if x[0] == y[0] else pytest.approx(exact))
        return
    assert found.pvalues[0, 0] == pytest.approx(ttest_ind(y, x, equal_var=False).pvalue, rel=1e-6)


def test_lifts_by_three_methods_agree_where_means_are_sure() -> None:
    known = (np.array(10.0), np.array(11.0), np.array(1e-6), np.array(1e-6), *[np.array(1e4)] * 2)
    log, *others = (row_of(Effects(*known), how)[6:8] for how in ("log", "linear", "fieller"))
    np.testing.assert_allclose(others, [log, log], atol=1e-7)
    # A control that may be 0 has no end by Fieller, and none of the logarithm below 0.
    unsure = Effects(*map(np.array, (0.1, 1.0, 1.0, 1.0, 50.0, 50.0)))
    assert row_of(unsure, "fieller")[6:8] == [-np.inf, np.inf]
    negative = Effects(*map(np.array, (-0.1, 1.0, 1.0, 1.0, 50.0, 50.0)))
    assert np.isnan(row_of(negative)[6:8]).all()


def test_sample_ratio_comes_first_and_stops_the_verdict() -> None:
    table = {"variant": ["a"] * 300 + ["b"] * 200, "x": np.arange(500) % 7}
    found = analyse_experiment(table, "x")
    assert str(found).startswith("SAMPLE RATIO MISMATCH") and found.is_stopped
    assert np.isnan([found.pvalues, found.lift_low]).all()
    assert np.isnan([found.mean_low, found.mean_high]).all()
    assert found.verdicts == (("no verdict",),)
    warned = analyse_experiment(table, "x", srm="warn")
    assert str(warned).startswith("SAMPLE RATIO MISMATCH")
    assert np.isfinite(warned.pvalues).all()
    as_planned = analyse_experiment(table, "x", weights={"a": 0.6, "b": 0.4})
    assert not as_planned.is_stopped


def test_a_mismatch_of_one_day_stops_it_too() -> None:
    days = np.repeat(["2026-03-01", "2026-03-02"], 400)
    variant = np.tile(["a", "b"], 400)
    variant[:40] = "a"
    table = {"variant": variant, "x": np.arange(800) % 7, "time": days}
    assert not analyse_experiment(table, "x").is_stopped
    found = analyse_experiment(table, "x", time="time")
    variant[40:90] = "a"
    variant[400:490] = "b"
    stopped = analyse_experiment({**table, "variant": variant}, "x", time="time")
    assert found.sample_ratios["level"].to_list() == ["2026-03-01", "2026-03-02"]
    assert stopped.is_stopped and not (found.is_stopped or stopped.sample_ratio.is_mismatch)


@pytest.mark.parametrize(
    "times",
    [
        [20260301, 20260302],
        [1772352000, 1772440000],
        [1772352000000, 1772440000000.0],
        ["2026-03-01 08:00", "2026-03-02 08:00"],
        [1, 2],
    ],
)
def test_days_as_numbers_are_tested_too(times: list[Any]) -> None:
    """One day has 300 : 100 units, the other 100 : 300."""
    name = "day" if times == [1, 2] else "time"
    variant = np.repeat(["a", "b", "a", "b"], [300, 100, 100, 300])
    table = {"variant": variant, "x": np.arange(800) % 7, name: np.repeat(times, 400)}
    report = analyse_experiment(table, "x", time=name)
    assert report.is_stopped and report.sample_ratios["units"].to_list() == [400, 400]


def test_days_that_cannot_be_tested_are_noted() -> None:
    table = {"variant": ["a", "b"] * 20, "x": np.arange(40) % 7, "t": np.arange(40)}
    notes = analyse_experiment(table, "x", time="t").notes
    assert "sample ratios by day are not tested, as t has numbers instead of dates" in notes


def test_a_unit_that_is_always_in_two_variants_was_not_randomised() -> None:
    pages = {"page": range(4), "query": ["a", "a", "b", "b"], "variant": ["control", "new"] * 2}
    log = read_log(pages, None, {"page": [0], "rank": [1]})
    reason = "got 'query': 2 of 2 units in more than one variant, such"
    for measure in ("UCTR", "QCTR"):
        with pytest.raises(InputError, match=reason):
            analyse_experiment(log, measure, unit="query")


@pytest.mark.parametrize(("mixed", "is_refused"), [(10, False), (11, True), (19, True)])
def test_a_unit_that_is_mostly_in_two_variants_was_not_randomised(
    mixed: int, is_refused: bool
) -> None:
    """Of 20 units, some have both variants, and each other one has one variant."""
    variants = [["x", "y"] if k < mixed else ["xy"[k % 2]] * 2 for k in range(20)]
    table = {
        "query": [f"q{k // 2}" for k in range(40)],
        "variant": sum(variants, []),
        "n": [k % 7 for k in range(40)],
    }
    log = read_log(
        {"page": range(40), "query": table["query"], "variant": table["variant"]},
        None,
        {"page": [0, 30, 39], "rank": [1, 1, 1]},
    )
    for source, metric in ((table, "n"), (log, "UCTR")):
        if is_refused:
            with pytest.raises(InputError, match=f"{mixed} of 20 units in more than one variant"):
                analyse_experiment(source, metric, unit="query", control="x")
        else:
            found = analyse_experiment(source, metric, unit="query", control="x")
            assert found.units.sum() == 20 - mixed


def test_units_in_two_variants_are_counted() -> None:
    variants = ["x", "y", "x", "x", "y", "y", None, None]
    table = {"user": [*"aabcdeff"], "variant": variants, "n": [1.0] * 8}
    found = analyse_experiment(table, "n", unit="user", control="x")
    assert found.units.tolist() == [2, 2]
    assert any("1 unit excluded: in more than one variant" in note for note in found.notes)
    assert any("1 user excluded: no variant" in note for note in found.notes)
    with pytest.raises(InputError, match="'a'"):
        analyse_experiment(table, "n", unit="user", mixed="error")


def test_missing_values_are_an_error_or_said() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=60).tolist()
    table = {"variant": ["a", "b"] * 30, "x": [None, *x[1:]]}
    dropped = analyse_experiment(table, "x", missing="drop")
    assert dropped.means[0].tolist() == pytest.approx([np.mean(x[2::2]), np.mean(x[1::2])])
    zero = analyse_experiment(table, "x", missing="zero")
    assert zero.means[0, 0] == pytest.approx(sum(x[2::2]) / 30)


def test_a_share_has_wilsons_limits() -> None:
    """statsmodels 0.15.0: proportion_confint(30, 200, method="wilson")."""
    table = {"variant": ["a"] * 200 + ["b"] * 200, "x": ([1] * 30 + [0] * 170) * 2}
    found = analyse_experiment(table, "x")
    limits = found.mean_low[0, 0], found.mean_high[0, 0]
    assert limits == pytest.approx((0.10713593562241994, 0.2060557928416666), abs=1e-12)


def test_the_overall_criterion_has_the_variance_of_the_sum() -> None:
    frame = pl.read_csv(USERS)
    weights = {"orders": 0.7, "revenue": -0.2}
    found = analyse_experiment(frame, ["orders", "revenue"], oec=weights)
    control = frame.filter(pl.col("variant") == 0)
    total = sum(w * frame[name] / control[name].std() for name, w in weights.items())
    other = analyse_experiment(frame.with_columns(total=total), "total")
    assert found.metrics[-1] == "OEC"
    assert found.pvalues[-1, 0] == pytest.approx(other.pvalues[0, 0], rel=1e-10)
    assert found.difference[-1, 0] == pytest.approx(other.difference[0, 0], rel=1e-10)
    assert np.isnan(found.lift[-1, 0])


def test_segments_and_their_interaction() -> None:
    random = np.random.default_rng(5)
    device = np.repeat(["phone", "desk"], 400)
    variant = np.tile(["a", "b"], 400)
    x = random.normal(size=800) + (device == "phone") * (variant == "b")
    table = {"variant": variant, "x": x, "device": device}
    found = analyse_experiment(table, "x", segments=["device"])
    assert found.segments is not None and found.interactions is not None
    for level, difference, p in found.segments.select("level", "difference", "p").iter_rows():
        own = [x[(device == level) & (variant == one)] for one in "ab"]
        assert difference == pytest.approx(own[1].mean() - own[0].mean())
        assert p == pytest.approx(ttest_ind(*own, equal_var=False).pvalue)
    desk, phone = found.segments["difference"]
    errors = [
        sum(x[(device == level) & (variant == one)].var(ddof=1) / 200 for one in "ab")
        for level in ("desk", "phone")
    ]
    expected = (phone - desk) ** 2 / sum(errors)
    assert found.interactions["statistic"][0] == pytest.approx(expected)
    assert found.interactions["p"][0] < 1e-6


def test_several_variants_are_corrected_together() -> None:
    random = np.random.default_rng(2)
    table = {"variant": list("abc") * 50, "x": random.normal(size=150)}
    plain = analyse_experiment(table, "x", correction="none", control="b")
    holm = analyse_experiment(table, "x", control="b")
    assert plain.variants == ("b", "a", "c")
    low, high = sorted(plain.pvalues[0])
    expected = [min(1, 2 * low), max(high, min(1, 2 * low))]
    assert sorted(holm.adjusted_pvalues[0]) == pytest.approx(expected)
    wide = analyse_experiment(table, "x", correction="bonferroni", control="b")
    assert (wide.high > plain.high).all()


def test_what_is_the_same_in_unequal_variants_does_not_differ() -> None:
    """The mean of 700 times .1 is not that of 300 times .1, in floats."""
    for few, many in ((3, 3), (3, 7), (300, 700), (1000, 777)):
        table = {"variant": ["a"] * few + ["b"] * many, "x": [0.1] * (few + many)}
        found = analyse_experiment(table, "x", srm="warn")
        assert found.difference.tolist() == [[0.0]]
        assert found.pvalues.tolist() == [[1.0]]


def test_weights_go_by_name_in_segments_too() -> None:
    table = {"variant": ["control"] * 900 + ["new"] * 100, "x": np.arange(1000) % 7}
    table["half"] = ["first", "second"] * 500
    one, other = (
        analyse_experiment(table, "x", weights=dict(given), segments=["half"])
        for given in ([("new", 0.1), ("control", 0.9)], [("control", 0.9), ("new", 0.1)])
    )
    assert not one.is_stopped and one.sample_ratios.equals(other.sample_ratios)
    assert tuple(one.sample_ratio.variant) == one.variants == ("control", "new")


def test_a_column_may_be_named_1() -> None:
    table = {"variant": ["a", "b"] * 2, "1": [1, 2, 3, 5], "2": [2, 2, 2, 1]}
    assert analyse_experiment(table, "1").means.tolist() == [[2.0, 3.5]]
    ratio = analyse_experiment({**table, "3": [8, 6, 4, 1]}, "3/1").means
    assert ratio.tolist() == [[3.0, 1.0]]


@pytest.mark.parametrize(
    ("names", "control"),
    [
        (("new", "old"), "old"),
        (("A", "B"), "A"),
        (("a", "b", "Control"), "Control"),
        (("blue", "Baseline"), "Baseline"),
        ((1, 0), "0"),
    ],
)
def test_the_control_is_the_variant_whose_name_says_so(names: Any, control: str) -> None:
    found = analyse_experiment({"variant": [*names] * 3, "x": [*range(3 * len(names))]}, "x")
    assert found.control == control
    assert f"control: {control}" in str(found).splitlines()


@pytest.mark.parametrize("names", [("blue", "red"), ("old", "a"), (7, 5)])
@pytest.mark.parametrize("weighed", [False, True])
def test_no_control_is_guessed(names: tuple[Any, Any], weighed: bool) -> None:
    table = {"variant": [*names] * 3, "x": [1, 2, 3, 5, 4, 4]}
    weights = dict.fromkeys(names, 0.5) if weighed else None
    both = ", ".join(map(str, names if weighed else sorted(names)))
    with pytest.raises(PolicyError, match=rf"are {both}; set which .*: control='\.\.\.'"):
        analyse_experiment(table, "x", weights=weights)
    assert analyse_experiment(table, "x", control=names[1]).control == str(names[1])


def test_variants_that_differ_in_case_are_two_variants() -> None:
    table = {"variant": ["control", "CONTROL"] * 3, "x": [1, 2, 3, 5, 4, 4]}
    with pytest.raises(PolicyError, match="are CONTROL, control; set which"):
        analyse_experiment(table, "x")
    with pytest.warns(CranfieldWarning, match="'CONTROL' and 'control' differ only in case"):
        assert analyse_experiment(table, "x", control="CONTROL").control == "CONTROL"
    weights = {"control": 0.5, "CONTROL": 0.5}
    assert analyse_experiment(table, "x", control="control", weights=weights).control == "control"


@pytest.mark.parametrize("cell", ["NULL", "nan", "N/A", "\\N", " ", "<NA>", None])
def test_words_of_databases_and_pandas_for_missing_values(cell: Any) -> None:
    table = {"variant": ["a", "b"] * 3, "x": [cell, 2, 3, 5, 4, 4]}
    with pytest.raises(InputError, match="column 'x' has no value in 1 row; missing='drop'"):
        analyse_experiment(table, "x")
    assert analyse_experiment(table, "x", missing="drop").means[0, 0] == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("name", "value"), [("latency_ms", "latency_ms"), ("churned", "churned"), ("r", "errors/pages")]
)
def test_names_of_metrics_that_are_better_if_lower_are_noted(name: str, value: str) -> None:
    column = np.arange(40) % 3 + np.arange(40) % 2 * 5
    table = {"variant": ["a", "b"] * 20, "pages": [7] * 40, value.split("/", maxsplit=1)[0]: column}
    found = analyse_experiment(table, {name: value})
    assert found.verdicts == (("better",),)
    note = f"{name}: higher values are treated as better; if lower is better, set Metric"
    assert any(line.startswith(note) for line in found.notes)
    stated = analyse_experiment(table, {name: Metric(value, better="lower")})
    assert stated.verdicts == (("worse",),)
    assert not any("higher values" in line for line in stated.notes)


def test_a_value_that_is_missing_in_one_row_is_missing_in_the_unit() -> None:
    table = {"variant": [*"aaaabb"], "user": [*"uuvwxy"], "clicks": [1, None, 2, 1, 1, 0]}
    table["pages"] = [2, 9, 4, 2, 2, 2]
    found = analyse_experiment(table, "clicks/pages", unit="user", missing="drop")
    assert found.means[0, 0] == 3 / 6
    assert "1 missing value excluded from the means of their metrics" in found.notes
    zero = analyse_experiment(table, "clicks/pages", unit="user", missing="zero")
    assert zero.means[0, 0] == pytest.approx(4 / 17)
    assert "1 missing value counted as 0" in zero.notes


def test_clicks_on_no_pages_are_reported() -> None:
    table = {"variant": [*"aabb"], "clicks": [1, 2, 1, 0], "pages": [2, 0, 4, 0]}
    found = analyse_experiment(table, {"ctr": "clicks/pages"}, unit=None)
    assert "ctr: 1 row with pages = 0, but clicks other than 0" in found.notes


def test_pages_without_a_variant_are_counted() -> None:
    none = simulated_log().pages["variant"].null_count()
    notes = analyse_experiment(simulated_log(), ["CTR"]).notes
    assert f"{none} pages excluded: no variant" in notes


def anonymous(every: int) -> QueryLog:
    """Return the simulated log without the user of some pages of both variants."""
    log = simulated_log()
    nobody = pl.int_range(pl.len()) % every == 0
    user = pl.when(~nobody).then("user")
    return replace(log, pages=log.pages.with_columns(user=user))


def test_pages_without_a_user_are_excluded_and_counted() -> None:
    log = anonymous(10)
    assigned = log.pages["variant"].is_not_null()
    number = int((assigned & log.pages["user"].is_null()).sum())
    share = number / assigned.sum()
    found = analyse_experiment(log, ["CTR", "UCTR"])
    known = analyse_experiment(log.select_pages(pl.col("user").is_not_null()), ["CTR", "UCTR"])
    np.testing.assert_array_equal(found.units, known.units)
    np.testing.assert_array_equal(found.means, known.means)
    assert f"{number} pages ({share:.1%}) excluded: no user" in found.notes
    assert not any("more than one variant" in note for note in found.notes)
    all_pages = log.pages["user"].null_count()
    past = f"{all_pages} pages before the experiment ({all_pages / log.pages.height:.1%})"
    earlier = replace(log, pages=log.pages.with_columns(pl.col("time").dt.offset_by("-1y")))
    assert f"{past} excluded: no user" in analyse_experiment(log, "CTR", before=earlier).notes
    with pytest.raises(InputError, match="before must end before the experiment starts"):
        analyse_experiment(log, "CTR", before=log)
    strangers = replace(earlier, pages=earlier.pages.with_columns(user="new " + pl.col("user")))
    with pytest.raises(InputError, match="the log before the experiment has no user"):
        analyse_experiment(log, "CTR", before=strangers)
    analyse_experiment(log, "CTR", mixed="error")


def test_sums_and_aa_tests_count_pages_without_a_user() -> None:
    log = anonymous(7)
    nobody = log.pages["user"].null_count()
    for source in (log, {"pages": log.pages.with_row_index("page"), "clicks": log.clicks}):
        sums = sums_by_unit(source, "UCTR")
        assert (sums.n_unassigned, sums.n_pages) == (nobody, log.pages.height)
    assert sums_by_unit(log, "UCTR", unit="query").n_unassigned == 0
    with pytest.warns(CranfieldWarning, match=f"{nobody} pages .* excluded: no user"):
        simulate_aa_tests(log, "UCTR", n_tests=2)


def test_resamples_without_any_unit_of_a_variant_are_not_drawn() -> None:
    """Poisson weights of 5 units are all 0 in one sample of 150, which would have no mean."""
    values = np.array([[1, 5], [1, 3], [1, 6], [1, 4], [1, 5], [1, 1], [1, 2], [1, 3], [1, 2]])
    arm = np.array([0] * 5 + [1] * 4)
    drawn = resample_means(values, arm, 2, resamples=2000, weights="poisson", seed=0)
    assert np.isfinite(drawn).all()


def four_metrics(**options: Any) -> ExperimentReport:
    """Analyse metrics with effects, of which one is significant only without a correction."""
    random = np.random.default_rng(3)
    variant = np.repeat(["control", "new"], 400)
    effects = {"weak": 0.15, "clear": 0.16, "strong": 0.3, "none": 0.0}
    table: dict[str, Any] = {"variant": variant}
    for name, effect in effects.items():
        table[name] = random.normal(5, 1, 800) + effect * (variant == "new")
    return analyse_experiment(table, {name: name for name in effects}, **options)


@pytest.mark.parametrize("correction", ["holm", "hommel", "bonferroni", "sidak", "bh", "by"])
def test_decisions_that_differ_from_their_interval_are_named(correction: str) -> None:
    report = four_metrics(correction=correction)
    low, high = report.low[:, 0], report.high[:, 0]
    excluded = (low > 0) | (high < 0)
    differs = excluded != report.is_significant()[:, 0]
    listed = ", ".join(f"{name} of new" for name in np.array(report.metrics)[differs])
    expected = [
        f"{listed}: not significant after the correction {correction}, though the unadjusted"
        " confidence interval excludes 0"
    ]
    assert [note for note in report.notes if "interval" in note] == expected * bool(listed)
    assert bool(listed) == (correction in {"holm", "hommel", "by"})
    scope = "simultaneous" if correction in {"bonferroni", "sidak"} else "unadjusted"
    assert f"; {scope} 95% confidence intervals" in report.describe_methods()[0]


def test_nothing_is_unadjusted_without_a_correction_or_with_one_comparison() -> None:
    assert "; 95% confidence intervals" in four_metrics(correction="none").describe_methods()[0]
    one = analyse_totals({"control": (500, 10_000), "new": (575, 10_100)})
    assert "; 95% confidence intervals" in one.describe_methods()[0]


@pytest.mark.parametrize("errors", ["delta", "bootstrap"])
@pytest.mark.parametrize("correction", ["bonferroni", "sidak"])
def test_simultaneous_intervals_are_those_of_the_family_without_the_oec(
    correction: str, errors: str
) -> None:
    how: dict[str, Any] = {"errors": errors, "resamples": 300}
    with_oec = four_metrics(correction=correction, oec={"weak": 1, "strong": 1}, **how)
    without = four_metrics(correction=correction, **how)
    np.testing.assert_array_equal(with_oec.low[:-1], without.low)
    np.testing.assert_array_equal(with_oec.adjusted_pvalues[:-1], without.adjusted_pvalues)
    alone = four_metrics(correction="none", oec={"weak": 1, "strong": 1}, **how)
    np.testing.assert_array_equal(with_oec.low[-1], alone.low[-1])


def test_a_note_on_measures_whose_values_are_censored() -> None:
    log = simulated_log()
    notes = analyse_experiment(log, ["CTR", "TimeToClick"]).notes
    reason = "censored values are excluded, so means are biased if variants differ in censoring"
    assert f"TimeToClick: {reason}" in notes
    assert not any("censored" in note for note in analyse_experiment(log, "CTR").notes)
