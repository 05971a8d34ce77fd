"""Always-valid limits, the bootstrap over units, sizes and A/A tests, against other programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from cranfield.base.errors import InputError, PolicyError
from cranfield.online import (
    Experiment,
    Metric,
    analyse_experiment,
    experiment_size,
    read_log,
    simulate_aa_tests,
    simulated_log,
    sums_by_unit,
)
from cranfield.online.experiments.estimates import (
    SEQUENTIAL,
    Effects,
    always_valid_inference,
    compute_half_width,
    compute_percentiles,
    resample_means,
)
from cranfield.significance.power_and_width import compute_t_test_power


def test_sequential_figures_of_gbstats() -> None:
    """Tests of gbstats 0.8.0 (MIT), relative, tuned for 1,000 and 5,000 units."""

    def found(tuned: int, *arms: tuple[float, float, float]) -> list[float]:
        parts = [np.array(one) for pair in zip(*arms, strict=True) for one in pair]
        method = SEQUENTIAL.parse(f"CS(tuned={tuned})")
        width = compute_half_width(
            method.get_variance_ratio(parts[2], parts[4] + parts[5], 0.05), 0.05
        )
        one = Effects(*parts)
        low, high = one.compute_lift_interval(lambda _: width, "linear")
        return [round(float(x), 5) for x in (one.lift, low, high)]

    def mean(n: int, total: float, squares: float) -> tuple[float, float, float]:
        return total / n, (squares - total**2 / n) / (n - 1) / n, float(n)

    def share(n: int, total: int) -> tuple[float, float, float]:
        p = total / n
        return p, p * (1 - p) / n, float(n)

    a, b = mean(3000, 1396.87, 52377.9767), mean(3461, 2422.7, 134698.29)
    assert found(1000, a, b) == [0.50336, -0.55844, 1.56516]
    assert found(5000, share(3000, 1396), share(3461, 2422))[1:] == [0.40098, 0.60675]


def test_the_formulas_written_out() -> None:
    d, s, n, alpha, tau = 0.3, 0.11, 800.0, 0.05, 0.2
    rho2 = (-2 * np.log(alpha) + np.log(1 - 2 * np.log(alpha))) / 5000
    half = s * np.sqrt(2 * (n * rho2 + 1) / (n * rho2) * np.log(np.sqrt(n * rho2 + 1) / alpha))
    low, high, _ = always_valid_inference([d], [s], [n], "CS(tuned=5000)", alpha=alpha)
    assert (low[0], high[0]) == pytest.approx((d - half, d + half))
    v = s**2 * n
    big = np.sqrt(v / (v + n * tau**2)) * np.exp(n**2 * tau**2 * d**2 / (2 * v * (v + n * tau**2)))
    assert always_valid_inference([d], [s], [n], "mSPRT(tau=0.2)")[2][0] == pytest.approx(1 / big)


def test_p_is_below_alpha_where_limits_leave_out_0_and_never_rises() -> None:
    random = np.random.default_rng(0)
    n = np.arange(10, 500)
    d, s = random.normal(0, 1, 490).cumsum() / n + 0.15, 1 / np.sqrt(n)
    for method in ("CS(tuned=300)", "mSPRT(tau=0.3)"):
        low, high, p = always_valid_inference(d, s, n, method)
        outside = (low > 0) | (high < 0)
        assert ((np.maximum.accumulate(outside)) == (p <= 0.05)).all()
        assert (np.diff(p) <= 0).all()
    assert always_valid_inference([1.0], [0.0], [10.0])[2].tolist() == [1.0]
    with pytest.raises(PolicyError, match="difference must be finite"):
        always_valid_inference([-np.inf], [0.0], [10.0])
    with pytest.raises(PolicyError):
        SEQUENTIAL.parse("mSPRT(tau=0)")


def test_one_look_may_be_a_number() -> None:
    one, looks = (
        always_valid_inference(0.1, 0.02, 1000),
        always_valid_inference([0.1], [0.02], [1000]),
    )
    assert [float(value) for value in one] == [values[0] for values in looks]


def test_looks_are_those_of_the_units_so_far() -> None:
    random = np.random.default_rng(4)
    table = {"variant": random.choice(["a", "b"], 300), "x": random.normal(size=300)}
    table["t"] = random.permutation(300)
    found = analyse_experiment(table, "x", sequential="CS(tuned=100)", looks=[50, 120], time="t")
    assert found.looks is not None
    assert found.looks["units"].to_list() == [50, 120, 300]
    order = np.argsort(table["t"])[:120]
    x, variant = table["x"][order], table["variant"][order]
    difference = x[variant == "b"].mean() - x[variant == "a"].mean()
    assert found.looks["difference"][1] == pytest.approx(difference)
    assert found.pvalues[0, 0] == pytest.approx(found.looks["p"][-1])
    assert found.low[0, 0] == pytest.approx(found.looks["low"][-1])
    assert "always-valid test by CS(tuned=100)" in str(found)


@pytest.mark.parametrize("weights", ["poisson", "multinomial"])
def test_the_bootstrap_is_a_loop_over_resamples(weights: str) -> None:
    random = np.random.default_rng(8)
    columns = np.column_stack([np.ones(60), random.lognormal(size=60), random.poisson(3, 60)])
    arm = np.repeat([0, 1], [25, 35])
    found = resample_means(columns, arm, 2, resamples=4000, weights=weights, seed=3)
    again = resample_means(columns, arm, 2, resamples=4000, weights=weights, seed=3)
    assert (found == again).all()
    ratio = found[1, :, 1] / found[1, :, 2]
    naive = []
    for _ in range(4000):
        some = random.integers(0, 35, 35)
        if weights == "poisson":
            some = np.repeat(np.arange(35), random.poisson(1, 35))
        own = columns[25:][some]
        naive.append(own[:, 1].sum() / own[:, 2].sum())
    assert ratio.std() == pytest.approx(np.std(naive), rel=0.06)
    assert np.quantile(ratio, [0.1, 0.9]) == pytest.approx(np.quantile(naive, [0.1, 0.9]), rel=0.05)


def test_percentiles_leave_whole_tails() -> None:
    assert compute_percentiles(np.arange(1.0, 1000.0), 0.95) == (25.0, 975.0)
    assert compute_percentiles(np.arange(3.0), 0.95) == (-np.inf, np.inf)


def test_bootstrap_and_delta_agree_on_many_units() -> None:
    random = np.random.default_rng(6)
    pages = random.poisson(4, 1500) + 1
    clicks = random.binomial(pages, random.beta(2, 5, 1500))
    table = {"variant": np.tile(["a", "b"], 750), "clicks": clicks, "pages": pages}
    delta = analyse_experiment(table, "clicks/pages")
    boot = analyse_experiment(table, "clicks/pages", errors="bootstrap", seed=1)
    assert boot.low[0, 0] == pytest.approx(delta.low[0, 0], abs=0.1 * delta.error[0, 0])
    assert boot.lift_high[0, 0] == pytest.approx(delta.lift_high[0, 0], abs=0.006)
    assert boot.pvalues[0, 0] == pytest.approx(delta.pvalues[0, 0], abs=0.03)
    assert (boot.resamples, boot.seed) == (2000, 1)


def test_published_sizes() -> None:
    """Kohavi et al. (2009): 16 s^2 / d^2 units in each variant."""
    rate = experiment_size(mean=0.05, deviation=(0.05 * 0.95) ** 0.5, lift=0.05)
    assert rate.rule / 2 == pytest.approx(121_600)
    revenue = experiment_size(mean=3.75, deviation=30, lift=0.05)
    assert revenue.rule / 2 == pytest.approx(409_600)
    assert abs(rate.units / rate.rule - 1) < 0.02
    assert "rule of thumb for power 0.8: 243,200 units" in str(rate)
    options: dict[str, Any] = {"mean": 0.05, "deviation": 0.2, "lift": 0.05}
    for other in ({"treatment_proportion": 0.1}, {"alpha": 0.01}, {"alternative": "greater"}):
        assert "rule of thumb" not in str(experiment_size(**options, **other))


ONE_SIDED = {"units": 375, "treatment_proportion": 0.6, "lift": 0.2, "alternative": "greater"}


@pytest.mark.parametrize(
    ("options", "figure", "expected"),
    [
        ({"lift": 0.1}, "units", 3142),  # 2 x 1570.733
        ({"lift": 0.1, "alternative": "greater"}, "units", 2475),  # 2 x 1237.188
        ({"units": 3000, "treatment_proportion": 2 / 3}, "lift", 0.10853956930843847),
        ({"units": 375, "treatment_proportion": 0.6, "lift": 0.2}, "power", 0.4731568976166253),
        (ONE_SIDED, "power", 0.5983468593752835),
        ({"units": 100, "alternative": "greater"}, "lift", 0.5007641),
    ],
)
def test_sizes_of_statsmodels(options: Any, figure: str, expected: float) -> None:
    """statsmodels 0.15.0: TTestIndPower().power and .solve_power."""
    power: dict[str, Any] = {} if figure == "power" else {"power": 0.8}
    found = getattr(experiment_size(mean=1.0, deviation=1.0, **power, **options), figure)
    assert found == pytest.approx(expected, abs=1e-7 if expected == 0.5007641 else 1e-9)


def test_one_sided_lifts_reach_their_power() -> None:
    how: dict[str, Any] = {"mean": 1, "deviation": 1, "units": 100, "alternative": "greater"}
    found = experiment_size(**how, power=0.8)
    assert experiment_size(**how, lift=found.lift).power == pytest.approx(0.8)
    assert compute_t_test_power(np.array(0.0), np.array(98.0), 0.05, "greater") == pytest.approx(
        0.05
    )


def test_a_covariate_saves_units() -> None:
    plain = experiment_size(mean=2, deviation=3, lift=0.1)
    helped = experiment_size(mean=2, deviation=3, lift=0.1, correlation=0.6, daily=100)
    assert helped.units / plain.units == pytest.approx(0.64, abs=0.002)
    assert helped.days == np.ceil(helped.units / 100)


@pytest.mark.parametrize("odd", [{"lift": np.uint64(2**64 - 1)}, {"units": 2**63, "power": 0.8}])
def test_plans_are_tables_whatever_numbers_are_given(odd: Any) -> None:
    """Columns of 128 bits are none of pandas."""
    try:
        found = experiment_size(mean=1, deviation=1, **odd)
    except PolicyError as error:
        assert "units must be an integer from 4 to 1,000,000,000,000, got" in str(error)
    else:
        assert found.to_pandas()["lift"].dtype == float


def test_aa_tests_are_analyses_of_assigned_units() -> None:
    random = np.random.default_rng(9)
    table = {"user": [f"u{k}" for k in range(200)], "pages": random.poisson(4, 200) + 1}
    table |= {"clicks": random.poisson(2, 200), "past": random.poisson(2, 200)}
    metrics = {"ctr": Metric("clicks/pages", covariate="past")}
    found = simulate_aa_tests(table, metrics, unit="user", n_tests=20)
    for k in (0, 7, 19):
        variant = Experiment(f"replay-{k}").assign(table["user"]).to_list()
        one = analyse_experiment({**table, "variant": variant}, metrics, unit="user")
        assert found.pvalues[0, k] == pytest.approx(one.pvalues[0, 0], rel=1e-9)


def test_aa_tests_of_a_log_keep_the_level() -> None:
    found = simulate_aa_tests(simulated_log(), ["CTR", "Abandonment"], n_tests=150)
    table = found.to_polars()
    assert table["test"].to_list() == ["CTR", "Abandonment", "(sample ratio)"]
    assert (table["low"] < 0.05).all()
    assert (table["high"] > 0.05).all()


def test_an_effect_that_changed_its_sign_after_a_significant_look_is_undecided() -> None:
    random = np.random.default_rng(0)
    variant = np.tile(["control", "treatment"], 1000)
    x = random.normal(0, 1, 2000) + (variant == "treatment") * np.repeat([1.0, -0.4], [400, 1600])
    table = {"variant": variant, "x": x, "t": np.arange(2000)}
    options: dict[str, Any] = {"sequential": "CS(tuned=500)", "time": "t"}
    report = analyse_experiment(table, "x", looks=[400], **options)
    assert report.looks is not None
    assert report.looks["low"][0] > 0 > report.looks["difference"][-1]
    assert report.pvalues[0, 0] < 1e-6
    assert report.verdicts == (("undecided",),)
    assert any("at an earlier look in the opposite direction" in note for note in report.notes)
    rising_x = x + (variant == "treatment") * np.repeat([0.0, 1.4], [400, 1600])
    report = analyse_experiment(table | {"x": rising_x}, "x", looks=[400], **options)
    assert report.verdicts == (("better",),)


def test_looks_at_few_units_decide_nothing() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=100)
    x[:4] = [0, 5, 1e-9, 5]
    table = {"variant": ["control", "treatment"] * 50, "x": x, "t": np.arange(100)}
    options: dict[str, Any] = {"sequential": "CS(tuned=10)", "time": "t"}
    report = analyse_experiment(table, "x", looks=[4, 20], **options)
    assert report.looks is not None
    assert report.looks["p"][0] == 1
    assert report.looks["low"][0] == -np.inf
    assert np.isfinite(report.looks["low"][1])


def test_looks_of_a_log_go_by_the_first_page_of_a_user() -> None:
    """The names of users are in the opposite order of their times."""
    n = 60
    users = [f"u{n - k:02}" for k in range(n)]
    variants = ["control", "treatment"] * (n // 2)
    pages = {"page": range(n), "query": ["q"] * n, "user": users, "variant": variants}
    results = {"page": range(n), "rank": [1] * n, "doc": ["d"] * n}
    clicked = [k for k in range(n) if k < 30 and k % 2]
    clicks = {"page": clicked, "rank": [1] * len(clicked)}
    log = read_log({**pages, "time": [1_772_000_000 + k for k in range(n)]}, results, clicks)
    options: dict[str, Any] = {"sequential": "CS(tuned=50)", "looks": [30, 500]}
    report = analyse_experiment(log, "UCTR", **options)
    assert report.looks is not None
    assert report.looks["difference"].to_list() == [1.0, 0.5]
    assert "the data has 60 units, so these looks were not reached: 500" in report.notes
    with pytest.raises(InputError, match="an analysis at several looks requires column 'time'"):
        analyse_experiment(read_log(pages, results, clicks), "UCTR", **options)
    with pytest.raises(PolicyError, match="looks requires a log or a table of units"):
        analyse_experiment(sums_by_unit(log, "UCTR", "user"), "UCTR", **options)


def test_a_note_on_looks_without_times() -> None:
    table = {"variant": ["control", "treatment"] * 20, "x": range(40)}
    report = analyse_experiment(table, "x", sequential="CS(tuned=10)", looks=[20])
    assert "looks are in the order of rows, because time is not set" in report.notes


@pytest.mark.parametrize("times", [["2026-01-01", "2026-01-02", "2026-01-03"], [3, 20, 100]])
def test_looks_do_not_depend_on_the_order_of_units_of_the_same_time(times: list[Any]) -> None:
    """Of 40, 30 and 30 units at three times, looks are at 40, 70 and 100 units."""
    x = np.random.default_rng(0).normal(size=100)
    table = pl.DataFrame(
        {
            "variant": np.tile(["control", "treatment"], 50),
            "x": x,
            "t": np.repeat(times, [40, 30, 30]),
        }
    )
    options: dict[str, Any] = {"sequential": "CS(tuned=50)", "looks": [15, 30, 40, 60], "time": "t"}
    reports = [analyse_experiment(rows, "x", **options) for rows in (table, table.sort("x"))]
    for report in reports:
        assert report.looks is not None
        assert report.looks["units"].to_list() == [40, 70, 100]
        assert report.looks["difference"][1] == pytest.approx(x[1:70:2].mean() - x[:70:2].mean())
        assert any(note.startswith("looks at 15, 30, 60 units") for note in report.notes)
    assert reports[0].pvalues[0, 0] == pytest.approx(reports[1].pvalues[0, 0])
