"""Power and topic set sizes, against SciPy, statsmodels, MBESS and R's documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import nct
from statsmodels.stats.power import FTestAnovaPower, FTestPower, TTestPower

import cranfield as cf
from cranfield.significance import (
    Resampled,
    expected_width,
    fit_simulator,
    power_anova,
    power_of_published,
    power_pairs,
    power_t,
    topics_needed,
    variance,
)
from cranfield.significance.published import PublishedPower
from tests.cli.running import cranfield
from tests.conftest import ADHOC8
from tests.significance.helpers import covid, scored

CASES = [
    (n, difference, variance, alpha)
    for n in (2, 10, 200)
    for difference, variance in ((0.01, 0.02), (0.05, 0.01), (0.3, 0.02))
    for alpha in (0.05, 0.001)
]


@pytest.mark.parametrize(("n", "difference", "variance", "alpha"), CASES)
def test_t_against_statsmodels(n: int, difference: float, variance: float, alpha: float) -> None:
    effect = difference / np.sqrt(2 * variance)
    options: dict[str, Any] = {"difference": difference, "variance": variance, "alpha": alpha}
    for alternative, other in (("two-sided", "two-sided"), ("greater", "larger")):
        found = float(power_t(n, alternative=alternative, **options))
        want = TTestPower().power(effect, n, alpha, alternative=other)
        # Of the tail on the wrong side SciPy, and so statsmodels, knows nothing when it is tiny.
        assert found == pytest.approx(1.0 if np.isnan(want) else want, abs=1e-10)
    assert float(power_t(n, alternative="less", **options)) == found


@pytest.mark.parametrize(("n", "difference", "variance", "alpha"), CASES)
@pytest.mark.parametrize("systems", [2, 5, 60])
def test_anova_against_statsmodels(
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
    # statsmodels computes the noncentrality from the degrees of freedom, which it takes in reverse.
    effect = np.sqrt(noncentrality / (error + systems))
    want = FTestPower().power(effect, error, systems - 1, alpha)
    assert two == pytest.approx(want, abs=1e-10)


def test_what_r_prints() -> None:
    """The examples of R's power.anova.test, and of the package pwr."""
    # A variance between groups of 1 and one within of 3: noncentrality 3 n / 3.
    four: dict[str, Any] = {"systems": 4, "difference": np.sqrt(6), "variance": 3}
    assert float(power_anova(5, model="anova-1", **four)) == pytest.approx(0.3535594, abs=5e-8)
    assert topics_needed("anova-1", power=0.8, **four).n_topics == 12  # n = 11.92613
    # pwr.t.test(d = .2, n = 60, sig.level = .10, type = "one.sample")
    power = power_t(60, difference=0.2, variance=0.5, alpha=0.10)
    assert float(power) == pytest.approx(0.4555818, abs=5e-8)


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
    n = np.unique(np.geomspace(2, 1e6, 8).astype(int))
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
    assert topics_needed("t", difference=1, variance=1e-12).n_topics == 2


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
        if found.n_topics > 2:
            assert float(expected_width(found.n_topics - 1, **options)) > goal
        return
    options["difference"] = goal
    if design == "t":
        found = topics_needed(design, power=power, **options)
        before = power_t(max(2, found.n_topics - 1), **options)
    else:
        found = topics_needed(design, power=power, systems=systems, **options)
        before = power_anova(max(2, found.n_topics - 1), systems=systems, model=design, **options)
    assert found.achieved >= power
    assert found.n_topics == 2 or float(before) < power


def test_result_says_all() -> None:
    found = topics_needed("anova-1", variance=0.02, difference=0.1, systems=10, power=0.9)
    assert (found.design, found.power, found.width, found.systems) == ("anova-1", 0.9, None, 10)
    text = str(found)
    assert text.startswith(f"{found.n_topics} topics: one-way ANOVA of 10 systems detects that")
    assert "at least 0.9" in text and "variance of a score 0.02, alpha 0.05" in text
    assert "confidence interval" in str(topics_needed("interval", variance=0.02, width=0.1))
    one = topics_needed("t", variance=0.02, difference=0.1, alternative="less")
    assert "one-sided (less)" in str(one)
    assert one.n_topics < topics_needed("t", variance=0.02, difference=0.1).n_topics


def test_variance_of_one_way() -> None:
    """The sum of squares within systems, without missing scores, over its degrees of freedom."""
    values = np.random.default_rng(0).random((10, 3))
    values[0, 0] = np.nan
    holes = np.concatenate([values, np.full((10, 1), np.nan)], axis=1)
    squares = np.nansum((values - np.nanmean(values, axis=0)) ** 2)
    assert variance(scored(holes), model="anova-1") == pytest.approx(squares / (29 - 3))
    alone = variance(scored(values[:, 1:2]), model="anova-1")
    assert alone == pytest.approx(values[:, 1].var(ddof=1))


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


# Pairs of systems

SETS = 200


def normal(systems: int, topics: int = 4000) -> Resampled:
    """Return a population that is normal, but for its finite size, with means of 0."""
    random = np.random.default_rng(8)
    values = random.normal(0, 0.2, (topics, 1)) + random.normal(0, 0.1, (topics, systems))
    return Resampled(values - values.mean(axis=0))


@pytest.mark.parametrize("topics", [10, 60])
def test_two_normal_systems_against_the_noncentral_t(topics: int) -> None:
    pool = normal(2)
    variance = float(np.var(np.diff(pool.values, axis=1))) / 2
    want = float(power_t(topics, difference=0.05, variance=variance))
    found = power_pairs(pool, topics=topics, difference=0.05, sets=SETS, seed=topics)
    error = np.sqrt(want * (1 - want) / SETS)
    assert abs(found.average[0] - want) < 4 * error
    assert found.any_pair == found.every_pair == found.average
    assert found.power_by_pair.shape == (1, 1)


def test_topics_needed_for_two_systems() -> None:
    pool = normal(2)
    variance = float(np.var(np.diff(pool.values, axis=1))) / 2
    want = topics_needed("t", difference=0.12, variance=variance).n_topics
    found = power_pairs(pool, difference=0.12, sets=100, test="t")
    assert found.n_needed == pytest.approx(want, abs=3)
    assert found.n_needed in found.topics


def test_many_systems() -> None:
    """Power rises with topics, and falls with systems; one mean apart is in m - 1 pairs."""
    some: dict[str, Any] = {"topics": [20, 40], "difference": 0.08, "sets": 40, "test": "anova-2"}
    few, many = (power_pairs(normal(m), correction="tukey", **some) for m in (3, 8))
    for one in (few, many):
        assert one.topics.tolist() == [20, 40]
        assert (one.every_pair <= one.average).all()
        assert (one.average <= one.any_pair).all()
        assert (np.diff(one.average) > 0).all()
        assert (one.errors < 0.15).all()
    assert (many.average < few.average).all()
    assert (many.test, many.correction) == ("anova-2", "tukey")
    assert many.power_by_pair.shape == (2, 28)
    none = power_pairs(normal(8), correction="none", **some)
    assert (none.average > many.average).all()
    assert (none.errors > 0.3).all()


def test_means_of_the_pilot_and_streams() -> None:
    pilot = covid("P@10", slice(None, None, 10))
    options: dict[str, Any] = {"test": "t", "correction": "max-t", "sets": 30, "resamples": 199}
    found = power_pairs(pilot, topics=[50, 20], jobs=2, **options)
    size: Any = np.int64(20)
    again = power_pairs(fit_simulator(pilot), topics=size, jobs=1, **options)
    assert found.topics.tolist() == [20, 50]
    assert (found.power_by_pair[0] == again.power_by_pair[0]).all()
    assert found.difference is None
    # The pair that is farthest apart is found most often.
    true = np.abs(pilot.mean()[found.first] - pilot.mean()[found.second])
    assert found.power_by_pair[1, np.argmax(true)] == found.power_by_pair[1].max()
    assert str(found).splitlines()[0].startswith("t, max-t: 4 systems, the pilot's means;")


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(("t", "topics"), [(2.4, 50), (-0.3, 50), (4.2, 12)])
def test_power_and_topics(t: float, topics: int, alternative: str) -> None:
    result = power_of_published([(t, topics)], alternative=alternative, alpha=0.01, power=0.9)
    names = {"greater": "larger", "less": "smaller"}
    oracle = TTestPower()
    options = {"alpha": 0.01, "alternative": names.get(alternative, alternative)}
    effect = t / np.sqrt(topics)
    assert result.effect[0] == pytest.approx(effect)
    is_against = (alternative == "greater" and t < 0) or (alternative == "less" and t > 0)
    assert result.power[0] == pytest.approx(oracle.power(effect, topics, **options), rel=1e-7)
    if is_against:
        assert result.to_polars()["needed"][0] is None
        assert f"opposite to the alternative '{alternative}'" in result.notes[0]
    else:
        needed = int(result.needed[0])
        assert oracle.power(effect, needed, **options) >= 0.9 - 1e-9
        assert needed == 2 or oracle.power(effect, needed - 1, **options) < 0.9


@pytest.mark.parametrize("t", [-8.0, 0.0, 3.3, 40.0])
def test_the_interval_inverts_the_noncentral_t(t: float) -> None:
    result = power_of_published([(t, 30)], alpha=0.1)
    low, high = result.low[0] * np.sqrt(30), result.high[0] * np.sqrt(30)
    assert nct.sf(t, 29, low) == pytest.approx(0.05, rel=1e-6)
    assert nct.cdf(t, 29, high) == pytest.approx(0.05, rel=1e-6)
    assert result.low[0] < result.effect[0] < result.high[0]


def test_interval_of_another_program() -> None:
    """conf.limits.nct(ncp=2.83, df=126) of the R package MBESS: 0.8337502 and 4.815359."""
    result = power_of_published([(2.83, 127)])
    limits = np.array([result.low[0], result.high[0]]) * np.sqrt(127)
    assert limits == pytest.approx([0.8337502, 4.815359], abs=1e-6)


def test_power_at_the_level_is_about_one_half() -> None:
    """Post-hoc power says nothing that the p-value does not."""
    result = power_of_published([(2.0096, 50)])
    assert result.p[0] == pytest.approx(0.05, abs=1e-4)
    assert result.power[0] == pytest.approx(0.5, abs=0.02)
    assert result.to_polars()["needed at bound"][0] is None or result.low[0] < 0.001


def test_no_effect_needs_no_number_of_topics() -> None:
    result = power_of_published([(0.0, 10, "none"), (1e-4, 10, "tiny")])
    assert result.to_polars()["needed"].to_list() == [None, None]
    assert result.notes == (
        "tiny: the power of 0.8 for this effect requires more than 10,000,000 topics",
    )


def test_command(tmp_path: Path) -> None:
    (tmp_path / "published.csv").write_text("name,t,topics\nours,2.4,50\n2,1.1,25\n")
    args = ("compare", "--scores", "published.csv", "--as", "power")
    out, _ = cranfield(tmp_path, *args, "-f", "csv")
    header, *rows = out.splitlines()
    assert header.split(",") == list(PublishedPower.columns)
    frame = power_of_published([(2.4, 50, "ours"), (1.1, 25, "2")]).to_polars()
    assert [float(row.split(",")[4]) for row in rows] == frame["effect"].to_list()
    out, _ = cranfield(tmp_path, *args, "--alpha", "0.01", "--alternative", "greater")
    assert "2 paired t-tests, one-sided (greater), alpha 0.01" in out
    table = "paper,t,n,alternative,alpha,test\nA,2.5,50,Greater,.01,paired t-test\n"
    (tmp_path / "published.csv").write_text(table)
    out, _ = cranfield(tmp_path, *args, "--alpha", "0.01", "--alternative", "greater", "-f", "csv")
    assert out.splitlines()[1].startswith("A,2.5,50,0.0079")
    _, err = cranfield(tmp_path, *args, "-m", "AP", status=2)
    assert "--measure cannot be combined with --as power" in err
    _, err = cranfield(tmp_path, "compare", "--as", "power", status=2)
    assert "--as power requires one --scores FILE with columns t and topics" in err
    (tmp_path / "published.csv").write_text("t,topics\n2.4,1\n")
    _, err = cranfield(tmp_path, *args, status=2)
    assert "published.csv:2: expected topics >= 2, got 1" in err


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([(2.4, 1)], {}, "row 1: expected topics >= 2, got 1"),
        ([{"topics": 5}], {}, "has no t column"),
        *(
            (
                [{"t": 2, "n": 20}, {"t": 2.5, "n": 50, column: value}],
                {},
                f"row 2: expected al.*, as in the options, got .?{value}",
            )
            for column, value in (("alternative", "greater"), ("significance level", 0.01))
        ),
        ([{"t": 2.5, "topics": 50, "tails": 1}], {}, "expected alternative 'two-sided', as in"),
        ([{"t": 2.5, "topics": 50, "test": "Welch"}], {}, "a paired t-test, got 'Welch'"),
        ([(2.4, 10)], {"alternative": "both"}, "alternative"),
        ([(2.4, 10)], {"alpha": 5}, "alpha"),
        ([(2.4, 10)], {"alpha": 0.6, "alternative": "less"}, "one-sided test must be below 0.5"),
    ],
)
def test_refusals(rows: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.PolicyError if options else cf.InputError, match=message):
        power_of_published(rows, **options)


def test_no_design_exceeds_the_maximum_number_of_topics() -> None:
    # 12 million topics would be enough.
    with pytest.raises(cf.CranfieldError, match="more than 10,000,000 topics"):
        topics_needed("t", difference=1.144e-4, variance=0.01)
    assert topics_needed("t", difference=1.26e-4, variance=0.01).n_topics < 10_000_000
