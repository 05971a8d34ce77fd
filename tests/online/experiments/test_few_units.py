"""Few units, and variants without variance: against enumeration, Fisher's test and A/A data."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import hypergeom, ttest_ind

from cranfield.online import Metric, analyse_experiment, simulate_aa_tests


def table(first: Any, second: Any) -> dict[str, Any]:
    return {"variant": ["a"] * len(first) + ["b"] * len(second), "x": [*first, *second]}


def enumerated(first: Any, second: Any) -> float:
    """Return twice the smaller tail of Welch's statistic over all assignments."""
    values, places = np.array([*first, *second], dtype=float), range(len(first) + len(second))
    treated = np.array([*combinations(places, len(second))])
    control = np.array([[k for k in places if k not in own] for own in treated])
    known = ttest_ind(values[treated], values[control], axis=1, equal_var=False).statistic
    own = ttest_ind(second, first, equal_var=False).statistic
    tails = (known >= own - 1e-9).mean(), (known <= own + 1e-9).mean()
    return float(min(1.0, 2 * min(tails)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1.0, 2.5, 3.0, 1.5], [4.0, 2.8, 5.5, 6.0, 3.5]),
        ([0.0, 0.0], [1.0, 0.99]),
        ([0.0, 0.0, 0.0], [1.0, 1.0, 0.98]),
        ([0.0, 0.01, 0.0], [1.0, 1.0, 1.0]),
        ([3.0, 1.0, 4.0, 1.0, 5.0], [9.0, 2.0, 6.0, 5.0, 3.0]),
        ([0, 0, 0, 1], [1, 1, 0, 1]),
    ],
)
def test_few_units_are_tested_by_all_assignments(first: list[float], second: list[float]) -> None:
    found = analyse_experiment(table(first, second), "x")
    p = found.pvalues[0, 0]
    assert found.tests == (("exact permutation",),)
    assert p == pytest.approx(enumerated(first, second), abs=1e-12)
    assert (not found.low[0, 0] <= 0 <= found.high[0, 0]) == (p <= 0.05)
    assert found.resamples == 0
    assert any("few units" in note for note in found.notes)


def test_four_units_that_differ_wholly_are_one_of_three_pairs_of_assignments() -> None:
    found = analyse_experiment(table([0, 0], [1, 1]), "x")
    assert found.pvalues[0, 0] == pytest.approx(1 / 3)
    assert found.verdicts == (("undecided",),)
    assert np.isnan([found.low[0, 0], found.high[0, 0]]).all()


@pytest.mark.parametrize("events", [3, 5, 8])
def test_a_variant_without_variance_is_tested_by_permutation(events: int) -> None:
    """Events in one variant only: the tail is hypergeometric, as in Fisher's exact test."""
    data = table([0] * 200, [1] * events + [0] * (200 - events))
    found = analyse_experiment(data, "x")
    exact = 2 * hypergeom(400, events, 200).pmf(events)
    assert found.pvalues[0, 0] == pytest.approx(exact, abs=0.02)
    welch = analyse_experiment(data, "x", errors="delta")
    assert welch.pvalues[0, 0] < 0.7 * exact


@pytest.mark.parametrize("how", [{"errors": "bootstrap"}, {"sequential": "CS(tuned=100)"}])
def test_methods_for_many_units_decide_nothing_of_few(how: dict[str, Any]) -> None:
    found = analyse_experiment(table([0, 0.1, 0], [1, 1, 1]), "x", **how)
    assert np.isnan([found.low, found.high, found.lift_low, found.pvalues]).all()
    assert found.verdicts == (("undecided",),)
    assert any("so no test is made" in note for note in found.notes)
    many = analyse_experiment(table([0, 0.1] * 6, [1, 1.1] * 6), "x", **how)
    assert many.verdicts == (("better",),)


def test_ratios_and_covariates_of_few_units_are_enumerated_too() -> None:
    random = np.random.default_rng(2)
    data = table(random.normal(size=4), random.normal(size=5))
    data |= {"pages": random.integers(1, 9, 9), "before": random.normal(size=9)}
    metrics = {"ratio": "x/pages", "less": Metric("x", covariate="before")}
    found = analyse_experiment(data, metrics)
    assert found.tests == (("exact permutation",),) * 2
    # P-values are multiples of 2 / 126.
    assert found.pvalues * 63 == pytest.approx(np.rint(found.pvalues * 63))


def test_levels_of_few_units_or_without_variance_are_not_tested() -> None:
    random = np.random.default_rng(6)
    level = np.array(["big"] * 60 + ["small"] * 6 + ["flat"] * 40)
    variant = np.tile(["a", "b"], 53)
    x = random.normal(size=106)
    x[66:] = (variant[66:] == "b") * (random.random(40) < 0.3)
    data = {"variant": variant, "x": x, "level": level}
    found = analyse_experiment(data, "x", segments=["level"])
    assert found.segments is not None and found.interactions is not None
    p = dict(found.segments.select("level", "p").iter_rows())
    assert np.isnan([p["small"], p["flat"]]).all()
    welch = ttest_ind(x[:60][::2], x[:60][1::2], equal_var=False)
    assert p["big"] == pytest.approx(welch.pvalue, rel=1e-9)
    assert found.segments.filter(pl.col("level") != "big")["low"].is_nan().all()
    assert any("not tested" in note for note in found.notes)


def test_a_sequential_report_states_one_p_value() -> None:
    found = analyse_experiment(table([0] * 20, [1] * 20), "x", sequential="CS(tuned=100)")
    assert found.pvalues[0, 0] == 1.0
    assert not any("p =" in note for note in found.notes)


COUNTS = np.random.default_rng(4).integers(1, 9, 60)
GAMMA = np.random.default_rng(0).gamma(2.0, 3.0, 400).round(2)
ALTERNATING = np.where(np.arange(400) % 2, "b", "a")


@pytest.mark.parametrize(
    ("columns", "metric"),
    [
        *(({"x": price * COUNTS, "k": COUNTS}, "x/k") for price in (0.1, 0.7, 4.95, 9.99)),
        *(({"x": COUNTS, "k": number * COUNTS}, "x/k") for number in (3, 7, 10)),
        ({"x": np.where(ALTERNATING == "a", 0.3, 0.1 + 0.2)}, "x"),
        *(
            ({"x": x, "y": y}, Metric("x", covariate="y"))
            for x in (GAMMA, GAMMA - GAMMA.mean())
            for y in (GAMMA * 100, GAMMA * 0.9, 2 * GAMMA + 1, -GAMMA, GAMMA / 3, GAMMA + 1e6)
        ),
    ],
)
def test_values_that_differ_by_rounding_are_equal(columns: dict[str, Any], metric: Any) -> None:
    """With exact arithmetic, all units have the same value, so every assignment has p = 1."""
    data: dict[str, Any] = {name: [*values, *values] for name, values in columns.items()}
    data |= {"variant": np.resize(ALTERNATING, len(data["x"]))}
    found = analyse_experiment(data, metric, control="a")
    assert found.comparisons.select("difference", "lift", "error", "p").row(0) == (0, 0, 0, 1)
    assert found.verdicts == (("undecided",),)
    if isinstance(metric, Metric):
        assert any("the covariate y determines the values" in note for note in found.notes)
    elif metric == "x/k":
        assert (simulate_aa_tests(data, metric, n_tests=50).pvalues[0] == 1).all()


def test_small_but_real_differences_are_decided() -> None:
    prices = np.random.default_rng(1).normal(1, 1e-5, 400) + 1e-5 * (ALTERNATING == "b")
    counts = np.resize(COUNTS, 400)
    data = {"variant": ALTERNATING, "x": prices * counts, "k": counts}
    assert analyse_experiment(data, "x/k").verdicts == (("better",),)
    assert analyse_experiment(data | {"x": 1e6 + prices}, "x").verdicts == (("better",),)
    # Constant values that differ are one assignment, and its mirror image, of all.
    data["x"] = data["k"] * np.where(ALTERNATING == "a", 0.1, 0.1 + 1e-9)
    found = analyse_experiment(data, "x/k")
    assert found.pvalues[0, 0] == pytest.approx(2 / comb(400, 200), rel=1e-9)
    assert found.verdicts == (("better",),)
