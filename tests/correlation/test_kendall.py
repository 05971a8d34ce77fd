"""Rank correlation against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from cranfield.correlation import kendall_tau


@pytest.mark.parametrize("values", [2, 5, 1000])
def test_kendall_tau_is_that_of_scipy(values: int) -> None:
    rng = np.random.default_rng(values)
    x, y = rng.integers(0, values, (2, 30, 12)) / 7
    found = kendall_tau(x, y)
    expected = [kendalltau(a, b).statistic for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_kendall_tau_without_an_answer() -> None:
    assert np.isnan(kendall_tau([1, 1, 1], [1, 2, 3]))
    assert np.isnan(kendall_tau([1, np.nan, 1], [1, 2, 3]))
    assert kendall_tau([1, 2, 3], [3, 2, 1]) == -1.0
