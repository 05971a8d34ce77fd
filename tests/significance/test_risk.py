"""Risk of systems: by hand, against SciPy, and what must always hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, ttest_1samp

import cranfield as cf
from cranfield.significance.risk_sensitivity import risk
from tests.significance.helpers import scored

VALUES = arrays(np.float64, (6, 3), elements=st.floats(0.015625, 1, width=16))


@settings(max_examples=20)
@given(VALUES, st.sampled_from([0.0, 1.0, 5.0]))
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
@given(VALUES, st.sampled_from([0.0, 5.0]))
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
