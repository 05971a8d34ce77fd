"""Effect sizes: against R's effectsize, noncentral distributions, and simulation; risk by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.special import gammaln, ndtr
from scipy.stats import ncf, nct, norm, ttest_1samp

import cranfield as cf
from cranfield import compare
from cranfield.significance.effects import (
    KINDS,
    anova_effect_sizes,
    compute_bias_correction,
    effect_sizes,
    find_noncentrality,
)
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.risk_sensitivity import risk
from tests.significance.helpers import covid, scored

SCORES = covid("nDCG@20", slice(5))

# effectsize 0.8.3 of R 4.2: cohens_d(v[, 1], v[, j], paired = TRUE) and hedges_g(...) of the first
# system and each other one; limits of the former. Those of hedges_g are multiplied by J there.
OF_R = np.array(
    [
        [0.0167830979968, -0.2605028963924, 0.2938983075158, 0.0165246748284],
        [0.1906749994480, -0.0900050118709, 0.4694482020843, 0.1877390196010],
        [0.3860584648622, 0.0967526093505, 0.6717003642535, 0.3801140050438],
        [0.476267474023, 0.181381708816, 0.766786359616, 0.468933991870],
    ]
)


def test_against_r() -> None:
    raw, unbiased = (effect_sizes(SCORES, kind=kind) for kind in ("cohen", "hedges"))
    assert raw.effect[:4] == pytest.approx(OF_R[:, 0], abs=1e-12)
    # R's limits are by optimisation, to some 1e-5.
    assert raw.low[:4] == pytest.approx(OF_R[:, 1], abs=2e-5)
    assert raw.high[:4] == pytest.approx(OF_R[:, 2], abs=2e-5)
    assert unbiased.effect[:4] == pytest.approx(OF_R[:, 3], abs=1e-12)
    assert (unbiased.low == raw.low).all()


def anova_table() -> AnovaTable:
    table = compare(SCORES, test="anova-2").anova
    assert table is not None
    return table


def test_factors_against_r() -> None:
    """Of R: summary(aov(y ~ t + s)), effectsize:::.get_ncp_F(F, df, 196, .95), omega_squared."""
    found = anova_effect_sizes(anova_table())
    centre = np.array([[593.122669291, 988.710424025], [3.09807473062, 36.25455884716]])
    assert found.select("low", "high").to_numpy() == pytest.approx(
        centre / (centre + 250), abs=1e-5
    )
    assert found["eta2"].to_list() == pytest.approx([0.8085277180898, 0.0866830811177], abs=1e-12)
    assert found["omega2"].to_list() == pytest.approx([0.7569622676961, 0.0551861855838], abs=1e-12)


def chance_below(t: float, df: float, centre: float) -> float:
    """P(T <= t) of a noncentral t, by quadrature over the density of S."""

    def density(s: float) -> float:
        log = np.log(2) + df / 2 * np.log(df / 2) - gammaln(df / 2) + (df - 1) * np.log(s)
        return float(ndtr(t * s - centre) * np.exp(log - df * s * s / 2))

    step = 5 / abs(t or 1)
    near = centre / (t or 1)
    points = sorted({1.0, *np.clip([near - step, near, near + step], 1e-9, 9)})
    return float(quad(density, 1e-300, 10, points=points, limit=2000, epsabs=1e-12)[0])


@pytest.mark.parametrize("df", [1, 2, 9, 49, 1911])
def test_limits_of_noncentrality(df: int) -> None:
    t = np.array([-30.0, -3.0, 0.0, 0.5, 2.0, 12.0, 200.0])
    for confidence in (0.5, 0.95, 0.999):
        tail = (1 - confidence) / 2
        low, high = find_noncentrality(t, df, confidence)
        for one, below, above in zip(t, low, high, strict=True):
            assert chance_below(one, df, below) == pytest.approx(1 - tail, abs=1e-8)
            assert chance_below(one, df, above) == pytest.approx(tail, abs=1e-8)
    # Beyond what is computed limits go with t, and nothing breaks.
    low, high = find_noncentrality(np.array([1e9, -1e9]), df, 0.95)
    assert low == pytest.approx(-high[::-1], rel=1e-12)
    assert (np.isfinite(low) & (low < high)).all()


def test_limits_at_a_confidence_next_to_1() -> None:
    confidence = 1 - 1.1e-16
    low, high = (float(one[0]) for one in find_noncentrality(np.array([2.1]), 9, confidence))
    tail = (1 - confidence) / 2
    assert nct.sf(2.1, 9, low) == pytest.approx(tail, rel=1e-3)
    assert nct.cdf(2.1, 9, high) == pytest.approx(tail, rel=1e-3)


def test_limits_of_noncentrality_of_f() -> None:
    table = anova_table()
    [_, row] = anova_effect_sizes(table, confidence=0.9).rows(named=True)
    for share, below in ((row["low"], 0.95), (row["high"], 0.05)):
        centre = share * 250 / (1 - share)
        assert ncf.cdf(table.f[1], 4, 196, centre) == pytest.approx(below, abs=1e-9)


def test_kinds_by_hand() -> None:
    x, y = SCORES.values[:, 0], SCORES.values[:, 4]
    d = x - y
    n, r = len(d), np.corrcoef(x, y)[0, 1]
    a, b = x.var(ddof=1), y.var(ddof=1)
    mean = (a + b) / 2
    at = next(
        k
        for k, pair in enumerate(zip(*np.triu_indices(5, 1), strict=True))
        if tuple(map(int, pair)) == (0, 4)
    )
    found = {kind: effect_sizes(SCORES, kind=kind) for kind in KINDS}
    # Bonett (2008): of the mean variance, and of that of one system.
    raw = d.mean() / np.sqrt(mean)
    first = raw**2 * (a**2 + b**2 + 2 * r**2 * a * b) / (8 * (n - 1) * mean**2)
    half = 1.959963984540054 * np.sqrt(first + d.var(ddof=1) / ((n - 1) * mean))
    assert (found["average"].low[at], found["average"].high[at]) == (
        pytest.approx(raw - half, abs=1e-12),
        pytest.approx(raw + half, abs=1e-12),
    )
    raw = d.mean() / np.sqrt(b)
    half = 1.959963984540054 * np.sqrt(raw**2 / (2 * (n - 1)) + d.var(ddof=1) / ((n - 1) * b))
    glass = found["glass"]
    assert (glass.low[at], glass.high[at]) == pytest.approx((raw - half, raw + half), abs=1e-12)
    assert glass.effect[at] == pytest.approx(
        raw * compute_bias_correction(np.array([49.0]))[0], abs=1e-12
    )
    model = anova_table()
    assert found["anova"].effect[at] == pytest.approx(d.mean() / np.sqrt(model.ms_error), abs=1e-12)
    assert not glass.is_exact and found["anova"].is_exact
    only = effect_sizes(SCORES, kind="glass", baseline=SCORES.systems[4])
    assert only.effect[0] == glass.effect[at]


def test_bias_correction_of_few_and_many_topics() -> None:
    assert compute_bias_correction(np.array([1.0, np.inf])).tolist() == pytest.approx(
        [np.nan, 1.0], nan_ok=True
    )
    large = np.array([1e9, 1e15, 1e300])
    assert compute_bias_correction(large) == pytest.approx(1 - 3 / (4 * large), rel=1e-14)
    # Hedges's approximation.
    assert compute_bias_correction(np.array([20.0]))[0] == pytest.approx(1 - 3 / 79, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_edges(kind: str) -> None:
    rng = np.random.default_rng(1)
    one = rng.random(6)
    same = effect_sizes({"a": one, "b": one, "c": rng.random(6)}, kind=kind)
    assert (same.difference[0], same.effect[0]) == (0, 0)
    constant = effect_sizes({"a": [1.0] * 3, "b": [0.5] * 3}, kind=kind)
    assert np.isposinf(constant.effect[0])
    assert np.isnan([constant.low[0], constant.high[0]]).all()
    assert "1 pair without an interval" in str(constant) and "nan" not in str(constant)
    assert "without an interval" not in str(effect_sizes(SCORES, kind=kind))
    assert np.isfinite(effect_sizes(SCORES, kind=kind).to_polars().drop("first", "second")).all()
    two = effect_sizes(SCORES.select(SCORES.topics[:2]), kind=kind)
    assert (two.low <= two.high).all()
    tiny = effect_sizes(1e-9 * SCORES.values, kind=kind)
    assert tiny.effect == pytest.approx(effect_sizes(SCORES, kind=kind).effect, rel=1e-6)
    huge = effect_sizes(2.0**300 * SCORES.values, kind=kind)
    assert huge.effect.tolist() == effect_sizes(SCORES, kind=kind).effect.tolist()
    assert str(same).startswith(KINDS[kind].title)


def test_scores_without_residuals_have_no_interval() -> None:
    # The residuals of 0.1 and 0.2 differ from 0 by rounding.
    result = effect_sizes({"a": [0.1, 0.1, 0.1], "b": [0.2, 0.2, 0.2]}, kind="anova")
    [(_, _, _, effect, low, high)] = result.rows.rows()
    assert effect == -np.inf
    assert np.isnan([low, high]).all()
    assert len(result.notes) == 1


def test_factors_where_nothing_varies() -> None:
    for test in ("anova-1", "anova-2"):
        table = compare(np.full((5, 3), 0.3), test=test).anova
        assert table is not None
        for row in anova_effect_sizes(table).rows():
            assert row[1:] == (None, None, None, None)


RISKY = arrays(np.float64, (6, 3), elements=st.floats(0.015625, 1, width=16))


@settings(max_examples=20)
@given(RISKY, st.sampled_from([0.0, 1.0, 5.0]))
def test_against_a_baseline(values: Any, alpha: float) -> None:
    """U_risk by its formula; T_risk is the statistic of SciPy of the weighed differences."""
    found = risk(values, baseline="1", alpha=alpha)
    for system in range(1, 3):
        weighed = [
            d if d >= 0 else (1 + alpha) * d for d in (values[:, system] - values[:, 0]).tolist()
        ]
        assert found.u_risk[system] == pytest.approx(np.mean(weighed))
        if np.ptp(weighed) > 1e-9:
            test = ttest_1samp(weighed, 0)
            assert found.t_risk[system] == pytest.approx(test.statistic)
            assert found.pvalue[system] == pytest.approx(test.pvalue)
    assert found.u_risk[0] == 0


@settings(max_examples=20)
@given(RISKY, st.sampled_from([0.0, 5.0]))
def test_without_a_baseline(values: Any, alpha: float) -> None:
    """Z_risk and Geo_risk, written out."""
    found = risk(values, alpha=alpha)
    whole = values.sum()
    for system in range(3):
        z = 0.0
        for topic in range(6):
            e = values[topic].sum() * values[:, system].sum() / whole
            part = (values[topic, system] - e) / e**0.5
            z += part if part >= 0 else (1 + alpha) * part
        assert found.z_risk[system] == pytest.approx(z, abs=1e-9)
        geo = (values[:, system].mean() * norm.cdf(z / 6)) ** 0.5
        assert found.geo_risk[system] == pytest.approx(geo, abs=1e-9)
    assert found.to_polars().columns == ["system", "z_risk", "geo_risk"]


def test_equal_systems() -> None:
    """Where all do the same nobody risks anything: Z is 0, and Geo is sqrt(mean / 2)."""
    found = risk(scored(np.tile([[0.5], [0.25]], (1, 3))), baseline="s0")
    assert found.z_risk == pytest.approx(np.zeros(3))
    assert found.geo_risk == pytest.approx(np.full(3, (0.375 / 2) ** 0.5))
    assert np.isnan(found.t_risk).all()
    assert found.wins.tolist() == found.losses.tolist() == [0, 0, 0]


def test_of_an_evaluation() -> None:
    """Scores of an evaluation go in as they are."""
    runs = {"old": {"1": {"a": 1}, "2": {"b": 1}}, "new": {"1": {"b": 1}, "2": {"a": 1}}}
    ev = cf.evaluate(runs, {"1": {"a": 1}, "2": {"a": 1}}, "P@1")
    found = risk(ev["P@1"], baseline="old")
    assert found.u_risk.tolist() == [0.0, -0.5]
    assert repr(found) == "Risk(2 systems, 2 topics, baseline old, alpha 1)"
