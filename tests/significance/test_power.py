"""Power and topic set sizes, against SciPy, statsmodels, R's documentation and a book."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import FTestAnovaPower, FTestPower, TTestPower

from cranfield.significance import expected_width, power_anova, power_t, topics_needed, variance
from tests.conftest import ADHOC8
from tests.significance.helpers import scored

CASES = [
    (n, difference, variance, alpha)
    for n in (2, 3, 10, 50, 200)
    for difference, variance in ((0.01, 0.02), (0.05, 0.01), (0.3, 0.02))
    for alpha in (0.05, 0.001)
]


@pytest.mark.parametrize(("n", "difference", "variance", "alpha"), CASES)
def test_t_against_scipy_and_statsmodels(
    n: int, difference: float, variance: float, alpha: float
) -> None:
    effect = difference / np.sqrt(2 * variance)
    for alternative, other in (("two-sided", "two-sided"), ("greater", "larger")):
        found = float(
            power_t(
                n, difference=difference, variance=variance, alpha=alpha, alternative=alternative
            )
        )
        want = TTestPower().power(effect, n, alpha, alternative=other)
        # Of the tail on the wrong side SciPy, and so statsmodels, knows nothing when it is tiny.
        assert found == pytest.approx(1.0 if np.isnan(want) else want, abs=1e-10)
        side = alpha / 2 if alternative == "two-sided" else alpha
        critical = stats.t.isf(side, n - 1)
        far = stats.nct.sf(critical, n - 1, np.sqrt(n) * effect)
        near = np.nan_to_num(stats.nct.cdf(-critical, n - 1, np.sqrt(n) * effect))
        assert found == pytest.approx(far + (alternative == "two-sided") * near, abs=1e-10)
    less = power_t(n, difference=difference, variance=variance, alpha=alpha, alternative="less")
    assert float(less) == found


@pytest.mark.parametrize(("n", "difference", "variance", "alpha"), CASES)
@pytest.mark.parametrize("systems", [2, 5, 60])
def test_anova_against_scipy_and_statsmodels(
    n: int, difference: float, variance: float, alpha: float, systems: int
) -> None:
    noncentrality = n * difference**2 / (2 * variance)
    total = n * systems
    options: dict[str, Any] = {"systems": systems, "difference": difference}
    options |= {"variance": variance, "alpha": alpha}
    one = float(power_anova(n, model="anova-1", **options))
    effect = np.sqrt(noncentrality / total)
    want = FTestAnovaPower().power(effect, total, alpha, k_groups=systems)
    assert one == pytest.approx(want, abs=1e-10)
    two = float(power_anova(n, model="anova-2", **options))
    error = (systems - 1) * (n - 1)
    critical = stats.f.isf(alpha, systems - 1, error)
    want = stats.ncf.sf(critical, systems - 1, error, noncentrality)
    assert two == pytest.approx(want, abs=1e-10)
    # statsmodels computes the noncentrality from the degrees of freedom, which it takes in reverse.
    effect = np.sqrt(noncentrality / (error + systems))
    want = FTestPower().power(effect, error, systems - 1, alpha)
    assert two == pytest.approx(want, abs=1e-10)


def test_what_r_prints() -> None:
    """The examples of R's power.t.test and power.anova.test, and of the package pwr."""
    two: dict[str, Any] = {"systems": 2, "model": "anova-1"}
    assert float(power_anova(20, difference=1, variance=1, **two)) == pytest.approx(
        0.8689528, abs=1e-6
    )
    found = topics_needed("anova-1", systems=2, difference=1, variance=1, power=0.9)
    assert found.topics == 23  # n = 22.02110
    # A variance between groups of 1 and one within of 3: noncentrality 3 n / 3.
    four: dict[str, Any] = {"systems": 4, "difference": np.sqrt(6), "variance": 3}
    assert float(power_anova(5, model="anova-1", **four)) == pytest.approx(0.3535594, abs=5e-8)
    assert topics_needed("anova-1", power=0.8, **four).topics == 12  # n = 11.92613
    # pwr.anova.test(f = .28, k = 4)
    cohen: dict[str, Any] = {"systems": 4, "difference": 0.28 * np.sqrt(8), "variance": 1}
    assert float(power_anova(20, model="anova-1", **cohen)) == pytest.approx(0.5149793, abs=5e-8)
    assert topics_needed("anova-1", power=0.8, **cohen).topics == 36  # n = 35.75789
    # pwr.t.test(d = .2, n = 60, sig.level = .10, type = "one.sample")
    power = power_t(60, difference=0.2, variance=0.5, alpha=0.10)
    assert float(power) == pytest.approx(0.4555818, abs=5e-8)


def test_example_of_vidakovic() -> None:
    """Vidakovic (2011), Statistics for Bioengineering Sciences, example 11.8: noncentrality n/4."""
    options: dict[str, Any] = {"systems": 4, "difference": np.sqrt(0.5), "variance": 1.0}
    assert float(power_anova(60, model="anova-1", **options)) == pytest.approx(0.9122, abs=5e-5)
    assert topics_needed("anova-1", power=0.9, **options).topics == 58  # fzero gives 57.6731


@given(
    st.integers(2, 1000), st.floats(0.001, 1), st.floats(0.0001, 1), st.sampled_from([0.05, 0.01])
)
def test_two_systems_have_the_power_of_the_t_test(
    n: int, difference: float, variance: float, alpha: float
) -> None:
    options: dict[str, Any] = {"difference": difference, "variance": variance, "alpha": alpha}
    found = float(power_anova(n, systems=2, **options))
    assert found == pytest.approx(float(power_t(n, **options)), abs=1e-13)


@settings(max_examples=25)
@given(
    st.integers(2, 40),
    st.floats(1e-4, 100),
    st.floats(1e-4, 100),
    st.sampled_from([0.2, 0.05, 1e-4]),
    st.sampled_from(["t", "greater", "anova-1", "anova-2"]),
)
def test_power_rises_with_topics_and_stays_in_bounds(
    systems: int, difference: float, variance: float, alpha: float, design: str
) -> None:
    n = np.unique(np.geomspace(2, 1e6, 16).astype(int))
    options: dict[str, Any] = {"difference": difference, "variance": variance, "alpha": alpha}
    if design.startswith("anova"):
        power = power_anova(n, systems=systems, model=design, **options)
    else:
        power = power_t(n, alternative="greater" if design == "greater" else "two-sided", **options)
    assert power.shape == n.shape
    assert (power >= alpha - 1e-9).all() and (power <= 1 + 1e-9).all()
    assert (np.diff(power) >= -1e-9).all()


def test_where_scipy_underflows_the_power_is_one() -> None:
    found = power_t([7, 47, 681], difference=10, variance=0.001)
    np.testing.assert_allclose(found, 1.0, atol=1e-12)
    assert float(power_anova(1000, systems=10, difference=5, variance=0.01)) == pytest.approx(1.0)
    assert topics_needed("t", difference=1, variance=1e-12).topics == 2


def test_expected_width_of_very_many_topics() -> None:
    """The mean of a standard deviation is 1 - 1/(4 (n - 1)) of it, for large n."""
    n = np.array([1e6, 1e9, 1e15, 1e300])
    want = 2 * stats.norm.ppf(0.975) * np.sqrt(2 * 0.02 / n) * (1 - 1 / (4 * n))
    np.testing.assert_allclose(expected_width(n, variance=0.02)[1:], want[1:], rtol=1e-8)
    # Its quantile is that of the t distribution.
    np.testing.assert_allclose(expected_width(n, variance=0.02)[0], want[0], rtol=2e-6)


def test_expected_width_against_the_chi_distribution() -> None:
    n = np.array([2, 3, 10, 50, 1000])
    mean_of_s = np.sqrt(2 * 0.02) * stats.chi.mean(n - 1) / np.sqrt(n - 1)
    want = 2 * stats.t.isf(0.005, n - 1) * mean_of_s / np.sqrt(n)
    np.testing.assert_allclose(expected_width(n, variance=0.02, alpha=0.01), want, rtol=1e-11)


@given(st.floats(1e-4, 1), st.floats(0.001, 0.5))
def test_width_falls_with_topics(variance: float, alpha: float) -> None:
    found = expected_width(np.arange(2, 200), variance=variance, alpha=alpha)
    assert (np.diff(found) < 0).all()


@settings(max_examples=25)
@given(
    st.sampled_from(["t", "anova-1", "anova-2", "interval"]),
    st.floats(0.02, 0.5),
    st.floats(0.001, 0.2),
    st.integers(2, 30),
    st.sampled_from([0.1, 0.05, 0.01]),
    st.sampled_from([0.1, 0.5, 0.8, 0.95]),
)
def test_one_topic_less_is_not_enough(
    design: str, goal: float, variance: float, systems: int, alpha: float, power: float
) -> None:
    options: dict[str, Any] = {"variance": variance, "alpha": alpha}
    if design == "interval":
        found = topics_needed(design, width=goal, **options)
        assert found.achieved <= goal
        if found.topics > 2:
            assert float(expected_width(found.topics - 1, **options)) > goal
        return
    options["difference"] = goal
    if design == "t":
        found = topics_needed(design, power=power, **options)
        before = power_t(max(2, found.topics - 1), **options)
    else:
        found = topics_needed(design, power=power, systems=systems, **options)
        before = power_anova(max(2, found.topics - 1), systems=systems, model=design, **options)
    assert found.achieved >= power
    assert found.topics == 2 or float(before) < power


def test_result_says_all() -> None:
    found = topics_needed("anova-1", variance=0.02, difference=0.1, systems=10, power=0.9)
    assert (found.design, found.power, found.width, found.systems) == ("anova-1", 0.9, None, 10)
    text = str(found)
    assert text.startswith(f"{found.topics} topics: one-way ANOVA of 10 systems detects that")
    assert "at least 0.9" in text and "variance of a score 0.02, alpha 0.05" in text
    assert "confidence interval" in str(topics_needed("interval", variance=0.02, width=0.1))
    one = topics_needed("t", variance=0.02, difference=0.1, alternative="less")
    assert "one-sided (less)" in str(one)
    assert one.topics < topics_needed("t", variance=0.02, difference=0.1).topics


def test_variance_of_two_systems_is_half_that_of_their_differences() -> None:
    values = np.random.default_rng(0).random((30, 2))
    want = (values[:, 0] - values[:, 1]).var(ddof=1) / 2
    assert variance(scored(values)) == pytest.approx(want, rel=1e-12)


def test_variance_of_one_way_is_the_mean_of_the_variances() -> None:
    values = np.random.default_rng(0).random((30, 6))
    found = variance(scored(values), model="anova-1")
    assert found == pytest.approx(values.var(axis=0, ddof=1).mean(), rel=1e-12)
    assert variance(scored(values[:, :1]), model="anova-1") == pytest.approx(
        values[:, 0].var(ddof=1)
    )


def test_variance_leaves_out_missing_scores_of_one_way() -> None:
    values = np.random.default_rng(0).random((10, 3))
    values[0, 0] = np.nan
    holes = np.concatenate([values, np.full((10, 1), np.nan)], axis=1)
    squares = np.nansum((values - np.nanmean(values, axis=0)) ** 2)
    assert variance(scored(holes), model="anova-1") == pytest.approx(squares / (29 - 3))


def test_pooled_variance() -> None:
    rng = np.random.default_rng(1)
    several = [scored(rng.random((20, 4))), scored(0.1 * rng.random((50, 10)))]
    df = [19 * 3, 49 * 9]
    parts = [variance(one) for one in several]
    assert variance(iter(several)) == pytest.approx(np.average(parts, weights=df))


def test_variance_of_trec_8() -> None:
    """Ferro and Maistro (2024), table 1: the mean square of the error is .0136."""
    table = pl.read_csv(ADHOC8).to_numpy()
    assert table.shape == (50, 129)
    assert round(variance(scored(table)), 4) == 0.0136


def test_power_without_sphericity() -> None:
    """Where 4 of 9 directions vary, alike, F with both degrees of freedom of 4 in 9 is exact."""
    n, m, some, difference, variance = 12, 10, 4, 0.2, 0.02
    epsilon = some / (m - 1)
    formula = power_anova(
        n, systems=m, difference=difference, variance=variance, epsilon=epsilon
    ).item()
    df = (some, some * (n - 1))
    limit = stats.f.isf(0.05, *df)
    shift = epsilon * n * difference**2 / (2 * variance)
    assert formula == pytest.approx(stats.ncf.sf(limit, *df, shift), abs=1e-6)
    assert "epsilon 0.5" in str(
        topics_needed(systems=4, difference=0.1, variance=0.02, epsilon=0.5)
    )
