"""P-values corrected together, against SciPy's false discovery rates and the definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from cranfield.significance.corrections.pvalue_corrections import adjust_pvalues

PVALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(PVALUES)
def test_false_discovery_rates_are_those_of_scipy(pvalues: list[float]) -> None:
    for name in ("bh", "by"):
        expected = false_discovery_control(pvalues, method=name)
        np.testing.assert_allclose(adjust_pvalues(pvalues, name), expected, atol=1e-12)


@given(PVALUES)
def test_sidak_and_hommel_are_those_of_statsmodels(pvalues: list[float]) -> None:
    for name in ("sidak", "hommel"):
        with np.errstate(divide="ignore"):
            expected = multipletests(pvalues, method=name)[1]
        np.testing.assert_allclose(adjust_pvalues(pvalues, name), expected, atol=1e-12)


@given(PVALUES)
def test_holm_is_closed_testing_by_bonferroni(pvalues: list[float]) -> None:
    """Each step tests what is left; a step is not passed by less than those before it."""
    order = np.argsort(pvalues, kind="stable")
    expected, least = np.empty(len(pvalues)), 0.0
    for place, k in enumerate(order):
        least = max(least, min(1.0, pvalues[k] * (len(pvalues) - place)))
        expected[k] = least
    np.testing.assert_allclose(adjust_pvalues(pvalues, "holm"), expected, atol=1e-15)
    together = np.minimum(1.0, np.array(pvalues) * len(pvalues))
    np.testing.assert_allclose(adjust_pvalues(pvalues, "bonferroni"), together, atol=1e-15)
    assert adjust_pvalues(pvalues, "none").tolist() == pvalues


def test_what_is_no_number_counts_for_nothing_and_shapes_stay() -> None:
    found = adjust_pvalues(np.array([[0.01, np.nan], [0.04, 0.03]]))
    np.testing.assert_allclose(found, [[0.03, np.nan], [0.06, 0.06]])
