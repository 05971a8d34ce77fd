"""Skewed metrics with unequal splits: against SciPy, enumeration and naive loops."""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import fisher_exact, skew, ttest_ind

from cranfield.base.streams import make_stream
from cranfield.online import Metric, analyse_experiment
from cranfield.online.experiments import comparisons
from cranfield.online.experiments.comparisons import (
    Distortion,
    ExperimentOptions,
    PermutationTest,
    run_permutation_test,
)
from cranfield.online.experiments.estimates import (
    Effects,
    MetricColumns,
    compute_moments,
    compute_percentiles,
    compute_skewness,
    estimate_arms,
)

TENTH = {"control": 0.9, "treatment": 0.1}


def lognormal(seed: int, size: int = 1000, treated: int = 100) -> dict[str, Any]:
    values = np.exp(2 * np.random.default_rng(seed).normal(size=size))
    return {"variant": ["treatment"] * treated + ["control"] * (size - treated), "x": values}


def of_values(values: Any, treated: int, resamples: int, seed: int = 0) -> PermutationTest:
    """Permute plain means; the first values are those of the treatment."""
    values = np.asarray(values, dtype=float)
    inside = np.arange(values.size) < treated
    columns = np.stack([np.ones(values.size), values], axis=1)
    return run_permutation_test(
        columns, inside, MetricColumns(1), None, options(resamples, seed), 1
    )


def options(resamples: int, seed: int, theta: str = "pooled") -> ExperimentOptions:
    names: Any = dict.fromkeys(field.name for field in fields(ExperimentOptions))
    return ExperimentOptions(**names | {"theta": theta, "resamples": resamples, "seed": seed})


def test_tails_are_those_of_all_assignments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "MAX_ENUMERATED", 119)
    values = np.array([9.1, 4.2, 7.7, 0.3, 1.2, 2.5, 3.9, 0.8, 5.6, 1.1])
    found = of_values(values, 3, 6_000)
    every = []
    for places in combinations(range(10), 3):
        inside = np.isin(np.arange(10), places)
        every.append(ttest_ind(values[inside], values[~inside], equal_var=False).statistic)
    known = np.array(every)
    observed = ttest_ind(values[:3], values[3:], equal_var=False).statistic
    assert found.observed_statistic == pytest.approx(observed, rel=1e-9)
    assert not found.is_exact
    unique, count = np.unique(found.statistics.round(9), return_counts=True)
    assert unique == pytest.approx(np.unique(known.round(9)), abs=1e-8)
    # Each of the 120 assignments is drawn with the same probability.
    assert count.min() > 22
    some = 0.022
    for side, reached in (("greater", known >= observed), ("less", known <= observed)):
        assert found.compute_one_sided_pvalue(found.observed_statistic, side) == pytest.approx(
            reached.mean(), abs=some
        )
    two = 2 * min((known >= observed).mean(), (known <= observed).mean())
    assert found.compute_pvalue() == pytest.approx(two, abs=2 * some)


@pytest.mark.parametrize("theta", ["pooled", "within"])
@pytest.mark.parametrize("treated", [12, 30])
def test_ratios_with_covariates_are_recomputed_for_each_permutation(
    theta: str, treated: int
) -> None:
    random = np.random.default_rng(4)
    columns = np.exp(random.normal(size=(42, 5)))
    columns[:, 0] = 1
    inside = np.arange(42) < treated
    metric = MetricColumns(3, 1, 4, 2)
    found = run_permutation_test(columns, inside, metric, None, options(20, 5, theta), 2)

    def statistic(treatment: Any) -> float:
        both = compute_moments(columns, treatment.astype(np.intp), (2,))
        return float(Effects.from_arms(estimate_arms(both, metric, theta), 1).statistic)

    assert found.observed_statistic == pytest.approx(statistic(inside), rel=1e-9)
    draw, expected = make_stream(5, 2), []
    for _ in range(20):
        few = np.isin(np.arange(42), draw.choice(42, 12, replace=False, shuffle=False))
        expected.append(statistic(few if treated == 12 else ~few))
    assert found.statistics == pytest.approx(np.sort(expected), rel=1e-8)


def test_covariates_of_three_variants_are_those_of_all_units() -> None:
    random = np.random.default_rng(8)
    past = np.exp(2 * random.normal(size=300))
    table = {"variant": np.repeat(["control", "b", "c"], [200, 60, 40]), "past": past}
    table["x"] = past * np.exp(random.normal(size=300))
    metrics = {"x": Metric("x", covariate="past")}
    how: dict[str, Any] = {"weights": {"control": 2 / 3, "b": 0.2, "c": 2 / 15}}
    welch = analyse_experiment(table, metrics, errors="delta", **how)
    found = analyse_experiment(table, metrics, errors="permutation", **how)
    np.testing.assert_array_equal(found.difference, welch.difference)
    # The interval is studentised by the same statistic: both ends recover it.
    assert found.tests == (("permutation",) * 2,)
    assert ((found.low < found.difference) & (found.difference < found.high)).all()


@pytest.mark.parametrize("discrete", [False, True])
def test_intervals_exclude_0_if_and_only_if_the_test_rejects(discrete: bool) -> None:
    rejected = 0
    for seed in range(14):
        random = np.random.default_rng(seed)
        values = np.exp(1.5 * random.normal(size=120)) + 0.01
        if discrete:
            values = np.floor(values) + 1
        values[:20] *= random.choice([1, 3])
        table = {"variant": ["b"] * 20 + ["a"] * 100, "x": values}
        how: dict[str, Any] = {"weights": {"a": 5 / 6, "b": 1 / 6}, "errors": "permutation"}
        found = analyse_experiment(table, "x", resamples=399, **how)
        p = found.pvalues[0, 0]
        assert (not found.low[0, 0] <= 0 <= found.high[0, 0]) == (p <= 0.05)
        if not discrete:
            assert (not found.lift_low[0, 0] <= 0 <= found.lift_high[0, 0]) == (p <= 0.05)
        rejected += p <= 0.05
    assert 2 < rejected < 12


def test_the_lift_holds_the_ratios_that_are_not_rejected() -> None:
    table = lognormal(3)
    found = analyse_experiment(table, "x", weights=TENTH, errors="permutation", resamples=999)
    x, y = table["x"][100:], table["x"][:100]
    low, high = compute_percentiles(of_values(table["x"], 100, 999).statistics, 0.95)
    ends = []
    for lift in (found.lift_low[0, 0], found.lift_high[0, 0]):
        error = np.sqrt(y.var(ddof=1) / 100 + (1 + lift) ** 2 * x.var(ddof=1) / 900)
        ends.append((y.mean() - (1 + lift) * x.mean()) / error)
    assert ends == pytest.approx([high, low], rel=1e-9)


def test_lifts_of_negated_values_are_the_same() -> None:
    table = lognormal(3)
    how: dict[str, Any] = {"weights": TENTH, "errors": "permutation", "resamples": 999}
    found = analyse_experiment(table, "x", **how)
    negated = analyse_experiment(table | {"x": -table["x"]}, "x", **how)
    assert negated.low[0, 0] == -found.high[0, 0]
    assert negated.lift[0, 0] == found.lift[0, 0]
    assert negated.lift_low[0, 0] == pytest.approx(found.lift_low[0, 0], rel=1e-9)
    assert negated.lift_high[0, 0] == pytest.approx(found.lift_high[0, 0], rel=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_intervals_of_tied_statistics_contain_0(sign: int) -> None:
    """Assignments with the same counts in another order have the observed statistic."""
    for seed in range(60):
        values = sign * np.random.default_rng(seed).poisson(1.2, 12)
        table = {"variant": ["control"] * 6 + ["new"] * 6, "x": values}
        found = analyse_experiment(table, "x")
        if found.pvalues[0, 0] > 0.05:
            bounds = found.low, found.high, found.lift_low, found.lift_high
            low, high, lift_low, lift_high = (float(bound[0, 0]) for bound in bounds)
            assert np.isnan(low) or low <= 0 <= high
            assert np.isnan(lift_low) or lift_low <= 0 <= lift_high
            assert not any("excludes 0" in note for note in found.notes)


def test_skewness_of_a_difference() -> None:
    values = np.random.default_rng(1).exponential(size=500)
    assert compute_skewness(values) == pytest.approx(skew(values), rel=1e-12)
    assert compute_skewness(np.full(5, 0.1)) == 0
    found = Distortion.from_sizes(compute_skewness(values), 50, 450)
    # Cumulants of independent means: k3 / n^2, with signs, by the 3/2 power of the variance.
    variance, third = values.var(), skew(values) * values.var() ** 1.5
    expected = (third / 50**2 - third / 450**2) / (variance / 50 + variance / 450) ** 1.5
    assert found.difference_skewness == pytest.approx(expected, rel=1e-12)
    assert Distortion.from_sizes(compute_skewness(values), 250, 250).difference_skewness == 0
    # Against one mean of a huge control it is the rule of Kohavi et al.: n > 355 s^2.
    assert not Distortion(2.0, 2 / (355 * 4 + 1) ** 0.5).is_large
    assert Distortion(2.0, 2 / (355 * 4 - 1) ** 0.5).is_large


def test_distortion_of_welchs_test_is_that_of_a_simulation() -> None:
    random = np.random.default_rng(7)
    x, y = random.exponential(size=(8_000, 360)), random.exponential(size=(8_000, 40))
    welch = ttest_ind(y, x, axis=1, equal_var=False)
    rejected = welch.pvalue <= 0.05
    simulated = [(rejected & side).mean() for side in (welch.statistic < 0, welch.statistic > 0)]
    of_difference = 2 * (1 / 40**2 - 1 / 360**2) / (1 / 40 + 1 / 360) ** 1.5
    assert Distortion(2.0, of_difference).compute_tail_probabilities(0.05) == pytest.approx(
        simulated, abs=0.01
    )
    assert simulated[0] > 0.04


def test_skewed_metrics_of_unequal_splits_are_permuted() -> None:
    table = lognormal(7)
    found = analyse_experiment(table, "x", weights=TENTH)
    assert found.tests == (("permutation",),)
    assert (found.resamples, found.seed) == (2000, 0)
    assert any(note.startswith("x: skewness 6.9 with 10% of the units") for note in found.notes)
    # Welch's test finds it worse though the values are of one distribution.
    welch = analyse_experiment(table, "x", weights=TENTH, errors="delta")
    assert welch.verdicts == (("worse",),)
    assert found.verdicts == (("undecided",),)
    assert any("skewness 6.9" in note for note in welch.notes)
    exact = ttest_ind(table["x"][:100], table["x"][100:], equal_var=False)
    assert welch.pvalues[0, 0] == pytest.approx(exact.pvalue, rel=1e-9)
    again = analyse_experiment(table, "x", weights=TENTH, seed=1)
    assert again.pvalues[0, 0] == pytest.approx(found.pvalues[0, 0], abs=0.03)
    for other in ({"errors": "bootstrap"}, {"sequential": "CS"}):
        noted = analyse_experiment(table, "x", weights=TENTH, **other)  # type: ignore[arg-type]
        assert any("skewness 6.9" in note for note in noted.notes)


def test_equal_splits_and_symmetric_metrics_are_not() -> None:
    halves = lognormal(7, 1000, 500)
    assert analyse_experiment(halves, "x").tests == (("delta",),)
    normal = {**lognormal(7), "x": np.random.default_rng(3).normal(size=1000)}
    found = analyse_experiment(normal, "x", weights=TENTH)
    assert found.tests == (("delta",),)
    assert found.resamples == 0
    assert not any("skewness" in note for note in found.notes)


def test_what_does_not_vary_has_no_interval_and_an_exact_pvalue() -> None:
    for few, many in ((20, 20), (2, 2), (3, 7)):
        table = {"variant": ["b"] * few + ["a"] * many, "x": [1.0] * few + [0.0] * many}
        exact = fisher_exact([[few, 0], [0, many]], alternative="greater").pvalue
        for errors in ("auto", "delta", "bootstrap", "permutation"):
            found = analyse_experiment(table, "x", errors=errors, srm="warn")
            assert found.pvalues[0, 0] == pytest.approx(2 * exact, rel=1e-9)
            assert np.isnan([found.low, found.high, found.lift_low, found.lift_high]).all()
            assert any("no confidence interval of the difference" in note for note in found.notes)
            # Means of proportions keep Wilson's interval, which has a width.
            assert (found.mean_low < found.mean_high).all()
    table = {"variant": ["b"] * 6 + ["a"] * 6, "x": [3.5] * 6 + [2.5] * 6}
    found = analyse_experiment(table, "x")
    assert np.isnan([found.mean_low, found.mean_high]).all()
    note = "no confidence interval of the mean, because all values are equal in a, b"
    assert any(note in one for one in found.notes)
    same = analyse_experiment({"variant": ["b"] * 6 + ["a"] * 6, "x": [2.5] * 12}, "x")
    assert same.pvalues.tolist() == [[1.0]]
    assert np.isnan([same.low, same.high]).all()


def test_margins_are_absolute_or_relative() -> None:
    random = np.random.default_rng(3)
    x, y = random.normal(10, 1, 200), random.normal(9.95, 1, 200)
    table = {"variant": ["a"] * 200 + ["b"] * 200, "x": np.concatenate([x, y])}

    def tested(margin: float | str, sign: float = 1.0, better: str | None = None) -> float:
        signed = {**table, "x": sign * np.concatenate([x, y])}
        found = analyse_experiment(signed, {"x": Metric("x", margin=margin, better=better)})
        return float(found.noninferiority_pvalues[0, 0])

    def welch(one: Any, other: Any, side: str) -> float:
        return float(ttest_ind(one, other, equal_var=False, alternative=side).pvalue)

    assert tested(0.3) == pytest.approx(welch(y + 0.3, x, "greater"))
    assert tested("0.3") == tested(0.3)
    assert tested("5%") == pytest.approx(welch(y, 0.95 * x, "greater"))
    assert tested(0.3, better="lower") == pytest.approx(welch(y - 0.3, x, "less"))
    assert tested("5%", better="lower") == pytest.approx(welch(y, 1.05 * x, "less"))
    # Of a negative mean the loss is a share of its size.
    assert tested("5%", -1.0) == pytest.approx(welch(-y, -1.05 * x, "greater"))
    report = analyse_experiment(table, {"x": Metric("x", margin="5%")})
    assert report.verdicts == (("not worse",),)
    [line] = report.describe_margins()
    assert line.endswith("by at least 5% of the mean of the control; level 0.025")
    assert "noninferiority p" in report.to_polars().columns
    assert not any("margin" in note for note in report.notes)
    wide = analyse_experiment(table, {"x": Metric("x", margin=50)})
    [note] = [note for note in wide.notes if "margin" in note]
    assert note.startswith("x: the margin 50 is larger than the mean of the control, ")
    assert note.endswith("; if it is a percentage, write '50%'")


def test_margins_of_permuted_metrics_agree_with_their_intervals() -> None:
    table, decided = lognormal(7), 0
    for margin in (0.5, 2.0, 3.0, 4.0, 5.0):
        found = analyse_experiment(table, {"x": Metric("x", margin=margin)}, weights=TENTH)
        assert (found.noninferiority_pvalues[0, 0] <= 0.025) == (found.low[0, 0] > -margin)
        assert found.margins == (margin,)
        decided += found.noninferiority_pvalues[0, 0] <= 0.025
    assert 0 < decided < 5
