"""The distributions of Tukey and Dunnett, against SciPy and published tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cranfield.significance.corrections.studentised import (
    maximum_sf,
    studentised_range_isf,
    studentised_range_sf,
)

DFS = (1.0, 2.0, 9.0, 196.0, np.inf)


@pytest.mark.parametrize("df", DFS)
@pytest.mark.parametrize("groups", [2, 3, 20, 129])
def test_range_equals_scipy(groups: int, df: float) -> None:
    q = np.array([0.05, 1.5, 2.5, 3.5, 4.5, 9.0, 25.0])
    theirs = stats.studentized_range.sf(q, groups, df)
    np.testing.assert_allclose(studentised_range_sf(q, groups, df), theirs, atol=1e-9)


@pytest.mark.parametrize("df", DFS)
@pytest.mark.parametrize("groups", [3, 1000])
def test_interpolated_values_are_the_computed_ones(groups: int, df: float) -> None:
    many = np.linspace(0.01, 20, 5000)
    found = studentised_range_sf(many, groups, df)
    some = np.array([3, 700, 1234, 2500, 3100, 4999])
    np.testing.assert_allclose(found[some], studentised_range_sf(many[some], groups, df), rtol=1e-9)
    assert (np.diff(found) <= 1e-12).all()


@pytest.mark.parametrize("probability", [0.5, 0.05, 0.01, 1e-6])
@pytest.mark.parametrize(("groups", "df"), [(2, 7.0), (3, 2.0), (40, 1911.0), (129, np.inf)])
def test_quantile_is_the_inverse(groups: int, df: float, probability: float) -> None:
    q = studentised_range_isf(probability, groups, df)
    assert studentised_range_sf(q, groups, df) == pytest.approx(probability, rel=1e-9)


def test_edges() -> None:
    q = np.array([[-1.0, 0.0], [np.nan, np.inf]])
    for groups in (2, 5):
        found = studentised_range_sf(q, groups, 10)
        assert found[0].tolist() == [1.0, 1.0]
        assert np.isnan(found[1, 0])
        assert found[1, 1] == 0.0
    assert studentised_range_sf(np.array([1e3, 1e8]), 5, np.inf).tolist() == [0.0, 0.0]
    # With one degree of freedom the tail falls only as fast as 1 / q.
    far = studentised_range_sf(np.array([1e6, 1e7]), 5, 1)
    assert far[0] / far[1] == pytest.approx(10, rel=1e-6)


@pytest.mark.parametrize(
    ("comparisons", "df", "two_sided", "critical"),
    # Dunnett's tables, 5%.
    [(2, 10, True, 2.57), (4, 20, True, 2.65), (3, np.inf, True, 2.35), (2, 10, False, 2.15)],
)
def test_dunnett_tables(comparisons: int, df: float, two_sided: bool, critical: float) -> None:
    found = maximum_sf(np.array([critical]), comparisons, df, two_sided=two_sided)
    assert found[0] == pytest.approx(0.05, abs=6e-4)


@pytest.mark.parametrize(
    ("t", "comparisons", "df", "two_sided"),
    [(2.0, 3, 12, True), (-1.0, 3, 12, False)],
)
def test_dunnett_is_multivariate_t(t: float, comparisons: int, df: int, two_sided: bool) -> None:
    correlation = np.full((comparisons, comparisons), 0.5) + 0.5 * np.eye(comparisons)
    joint = stats.multivariate_t(shape=correlation, df=df, seed=1)
    edge = np.full(comparisons, t)
    inside = joint.cdf(edge, lower_limit=-edge if two_sided else None, maxpts=1_000_000)
    found = maximum_sf(np.array([t]), comparisons, df, two_sided=two_sided)
    assert found[0] == pytest.approx(1 - inside, abs=5e-6)


def test_many_degrees_of_freedom_come_near_to_infinitely_many() -> None:
    known = studentised_range_sf(3.5, 4, np.inf).item()
    first = 1e5 * (studentised_range_sf(3.5, 4, 1e5).item() - known)
    for df in (0.999e6, 1.001e6, 1e7, 1e8):
        # What is left falls with 1 / df.
        assert df * (studentised_range_sf(3.5, 4, df).item() - known) == pytest.approx(first, 1e-3)
    for df in (1e10, 1e12, 1e13, 1e18, 1e300):
        assert studentised_range_sf(3.5, 4, df).item() == pytest.approx(known, rel=1e-9)
        assert studentised_range_isf(0.05, 3, df) == pytest.approx(
            studentised_range_isf(0.05, 3, np.inf), rel=1e-9
        )
