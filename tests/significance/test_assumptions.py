"""Checks of the assumptions of the analysis of variance."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS

from cranfield.base.arrays import Floats
from cranfield.significance.models.anova import fit_one_way, fit_two_way
from cranfield.significance.models.assumptions import (
    Assumptions,
    check_assumptions,
    compute_normal_medians,
)
from tests.conftest import ADHOC8


def two_way_check(values: Floats, alpha: float = 0.05) -> Assumptions:
    table, _ = fit_two_way(values)
    return check_assumptions(table.residuals, table.fitted, alpha=alpha)


def additive(seed: int = 0, topics: int = 50, systems: int = 6) -> Floats:
    rng = np.random.default_rng(seed)
    error = rng.normal(scale=0.1, size=(topics, systems))
    return np.asarray(rng.random((topics, 1)) + rng.random(systems) + error)


def skewed(topics: int = 50) -> Floats:
    rng = np.random.default_rng(0)
    spread = np.array([0.02, 0.05, 0.3])
    return np.asarray(rng.random((topics, 1)) + rng.exponential(spread, (topics, 3)))


@pytest.mark.parametrize(
    ("shape", "name", "test"),
    [
        ((40, 5), "Shapiro-Wilk", stats.shapiro),
        ((100, 51), "D'Agostino-Pearson", stats.normaltest),
    ],
)
def test_normality_against_scipy(shape: tuple[int, int], name: str, test: Any) -> None:
    residuals = np.random.default_rng(0).gamma(3, size=shape)
    found, want = check_assumptions(residuals), test(residuals.ravel())
    assert found.normality is not None
    assert found.normality.test == name
    assert found.normality.statistic == pytest.approx(want.statistic)
    assert found.normality.pvalue == pytest.approx(want.pvalue)
    assert found.skewness == pytest.approx(stats.skew(residuals.ravel()))
    assert found.kurtosis == pytest.approx(stats.kurtosis(residuals.ravel()))


@pytest.mark.parametrize("n", [3, 4, 50, 101])
def test_quantile_points_against_scipy(n: int) -> None:
    residuals = np.random.default_rng(n).normal(size=(n, 1))
    found = check_assumptions(residuals)
    theory, ordered = stats.probplot(residuals.ravel(), fit=False)
    np.testing.assert_allclose(found.quantiles, theory, atol=1e-12)
    np.testing.assert_array_equal(found.ordered_residuals, ordered)
    np.testing.assert_allclose(
        compute_normal_medians(n), -compute_normal_medians(n)[::-1], atol=1e-12
    )


def test_equal_variances_against_scipy() -> None:
    residuals = np.random.default_rng(0).normal(size=(30, 4)) * [1, 1, 2, 1.5]
    residuals[3, 2] = np.nan
    columns = [column[~np.isnan(column)] for column in residuals.T]
    found = check_assumptions(residuals)
    assert found.brown_forsythe is not None and found.bartlett is not None
    for one, want in (
        (found.brown_forsythe, stats.levene(*columns, center="median")),
        (found.bartlett, stats.bartlett(*columns)),
    ):
        assert one.statistic == pytest.approx(want.statistic)
        assert one.pvalue == pytest.approx(want.pvalue)
    np.testing.assert_allclose(found.variances, [column.var(ddof=1) for column in columns])
    assert not found.is_balanced


@pytest.mark.parametrize("strength", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("shape", [(2, 3), (5, 2), (20, 6)])
def test_additivity_against_least_squares(shape: tuple[int, int], strength: float) -> None:
    """Tukey's F is the square of t of the product of effects, put into the model as a covariate."""
    topics, systems = shape
    values = additive(1, topics, systems)
    rows = values.mean(axis=1) - values.mean()
    columns = values.mean(axis=0) - values.mean()
    values = values + strength * np.outer(rows, columns)
    rows = values.mean(axis=1) - values.mean()
    columns = values.mean(axis=0) - values.mean()
    topic, system = (index.ravel() for index in np.indices(shape))
    design = np.column_stack(
        [
            np.ones(values.size),
            *[topic == t for t in range(1, topics)],
            *[system == s for s in range(1, systems)],
            np.outer(rows, columns).ravel(),
        ]
    ).astype(float)
    fit = OLS(values.ravel(), design).fit()
    found = two_way_check(values).additivity
    assert found is not None
    assert found.statistic == pytest.approx(fit.tvalues[-1] ** 2, rel=1e-6)
    assert found.pvalue == pytest.approx(fit.pvalues[-1], rel=1e-6, abs=1e-14)


def test_product_of_effects_is_not_additive() -> None:
    rng = np.random.default_rng(0)
    values = np.outer(rng.random(30), rng.random(8)) + rng.normal(scale=0.01, size=(30, 8))
    found = two_way_check(values)
    assert "additive effects" in found.violated_assumptions
    assert any("not additive" in note for note in found.notes)


def test_notes_of_what_is_fine() -> None:
    found = two_way_check(additive(3), alpha=0.01)
    assert found.violated_assumptions == ()
    assert found.notes[0] == "No test rejects an assumption at this level."
    assert repr(found).endswith("rejected: none)")


def test_notes_of_what_is_not() -> None:
    found = two_way_check(skewed())
    assert found.violated_assumptions[:2] == ("normal errors", "equal variances")
    notes = " ".join(found.notes)
    assert "With 50 topics a test of means hardly depends on normality" in notes
    assert "use the p of System corrected" in notes and "Independence" in notes
    few = two_way_check(np.random.default_rng(0).exponential(size=(12, 6)) ** 2)
    assert "With 12 topics, fewer than 20, this may matter" in " ".join(few.notes)
    holes = np.random.default_rng(0).exponential([0.02, 0.05, 0.3], (50, 3))
    holes[0, 0] = np.nan
    table, _ = fit_one_way(holes)
    unbalanced = check_assumptions(table.residuals, table.fitted)
    assert "With missing scores" in " ".join(unbalanced.notes)
    assert "Tukey's test of non-additivity, which requires a score" in unbalanced.skipped_tests[0]


def test_table_and_text() -> None:
    found = two_way_check(skewed())
    frame = found.to_polars()
    assert frame["assumption"].to_list() == [one.assumption for one in found.checks]
    assert frame["rejected"].to_list()[0] is True
    text = str(found)
    assert text.startswith("50 topics, 3 systems; alpha 0.05; rejected: normal errors")
    assert "Brown-Forsythe" in text and "Independence of topics" in text


def test_bartlett_alone_violates_nothing() -> None:
    """It is as much a test of normality."""
    rng = np.random.default_rng(5)
    residuals = rng.standard_t(3, size=(60, 4))
    found = check_assumptions(residuals)
    assert found.bartlett is not None and found.bartlett.pvalue < 0.05
    assert "equal variances" not in found.violated_assumptions


def test_two_systems_cannot_differ_in_variance() -> None:
    found = two_way_check(additive(0, 20, 2))
    assert found.brown_forsythe is None and found.bartlett is None
    assert any("two systems on the same topics" in reason for reason in found.skipped_tests)
    assert any(note.startswith("Skipped: tests of equal") for note in found.notes)


def test_one_system_and_one_topic_a_system() -> None:
    found = check_assumptions(np.random.default_rng(0).normal(size=(30, 1)))
    assert [one.test for one in found.checks] == ["Shapiro-Wilk"]
    assert len(found.skipped_tests) == 2
    found = check_assumptions([[0.1, -0.2, 0.3, np.nan]])
    assert found.brown_forsythe is None and np.isnan(found.variances).all()


def test_nothing_left_over() -> None:
    rows, columns = np.array([[0.1], [0.3], [0.7]]), np.array([0.1, 0.2, 0.4])
    found = two_way_check(rows + columns)
    assert found.checks == () and found.violated_assumptions == ()
    assert np.isnan(found.skewness) and np.isnan(found.kurtosis)
    assert found.to_polars().is_empty()
    assert "as all residuals are equal" in " ".join(found.skipped_tests)
    assert "no residual variation" in " ".join(found.skipped_tests)
    assert "Skipped" in str(found)


def test_systems_whose_residuals_do_not_vary() -> None:
    none = check_assumptions(np.tile([1.0, 2.0, 3.0], (5, 1)))
    assert none.brown_forsythe is None and "no system's residuals vary" in none.skipped_tests[0]
    one = np.random.default_rng(0).normal(size=(10, 3))
    one[:, 1] = 0
    found = check_assumptions(one)
    assert found.brown_forsythe is not None and found.bartlett is None
    # Residuals whose variances are equal but for rounding; SciPy's p of Bartlett's test is NaN.
    for seed in range(20):
        table, _ = fit_one_way(np.random.default_rng(seed).random((5, 1)) + np.zeros(3))
        assert all(one.pvalue > 0.999 for one in check_assumptions(table.residuals).checks[1:])


@pytest.mark.parametrize("unit", [2.0**-540, 2.0**290])
def test_very_small_and_very_large_residuals(unit: float) -> None:
    table, _ = fit_two_way(additive())
    one = check_assumptions(table.residuals, table.fitted)
    other = check_assumptions(table.residuals * unit, table.fitted * unit)
    assert [check.pvalue for check in other.checks] == [check.pvalue for check in one.checks]
    assert (other.skewness, other.kurtosis) == (one.skewness, one.kurtosis)


def test_additivity_needs_an_additive_model_with_effects() -> None:
    values = additive()
    table, _ = fit_one_way(values)
    found = check_assumptions(table.residuals, table.fitted)
    assert found.additivity is None and "which requires two topics" in found.skipped_tests[0]
    bent = table.fitted + np.random.default_rng(0).random(values.shape)
    found = check_assumptions(table.residuals, bent)
    assert found.additivity is None and "not sums of topic and system" in found.skipped_tests[0]
    assert "requires the fitted values" in check_assumptions(table.residuals).skipped_tests[0]


def test_trec_8_violates_what_it_is_known_to_violate() -> None:
    """Ferro and Maistro (2024), section 4.2.5: neither normal nor of equal variance."""
    table = pl.read_csv(ADHOC8).to_numpy()
    assert two_way_check(table).violated_assumptions[:2] == ("normal errors", "equal variances")
