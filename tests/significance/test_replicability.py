"""On how many collections systems differ: against formulas, enumeration and simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import combine_pvalues, ttest_rel

from cranfield.base.errors import PolicyError
from cranfield.significance import replicability
from cranfield.significance.several.replicability import partial_conjunctions


@pytest.mark.parametrize("method", ["fisher", "bonferroni"])
def test_against_all_subsets(method: str) -> None:
    """At least u of n are false if in every n - u + 1 of them one is: the largest p of all subsets.

    So Benjamini and Heller (2008) derive their formulas; SciPy combines each subset by Fisher's.
    """
    pvalues = np.random.default_rng(1).beta(0.3, 1, size=(40, 5))
    found = partial_conjunctions(pvalues, method)
    for row, ours in zip(pvalues, found, strict=True):
        least = 0.0
        for u in range(1, 6):
            subsets = combinations(row, 6 - u)
            combined = (
                (combine_pvalues(some).pvalue for some in subsets)
                if method == "fisher"
                else (min(1, len(some) * min(some)) for some in subsets)
            )
            least = max(least, *combined)
            assert ours[u - 1] == pytest.approx(least, rel=1e-12)


def test_some_lack_a_collection() -> None:
    pvalues = np.array([[0.01, np.nan, 0.04, np.nan], [np.nan, 0.0, np.nan, np.nan]])
    found = partial_conjunctions(pvalues, "bonferroni")
    assert found.tolist() == [pytest.approx([0.02, 0.04, 1, 1]), [0, 1, 1, 1]]
    assert partial_conjunctions(pvalues, "fisher")[1].tolist() == [0, 1, 1, 1]


def test_the_number_is_too_large_in_few_cases() -> None:
    """Two of four collections differ: more than two are found in at most alpha of the cases.

    How often significant collections are more than two is far above.
    """
    random = np.random.default_rng(2)
    z = random.normal(size=(20_000, 4)) + [3, 3, 0, 0]
    p = ndtr(-z)
    for method in ("fisher", "bonferroni"):
        number = (partial_conjunctions(p, method) <= 0.05).sum(axis=1)
        assert (number > 2).mean() <= 0.053
        assert (number >= 1).mean() > 0.9
    assert ((p <= 0.05).sum(axis=1) > 2).mean() > 0.08


def test_of_scores() -> None:
    """One-sided t-tests of SciPy, in both directions, matched by names of systems."""
    random = np.random.default_rng(3)
    shifts = (0.3, 0.3, -0.3, 0)
    given = {}
    for k, shift in enumerate(shifts):
        old = random.random(20)
        new = old + shift + random.normal(size=20) * 0.2
        given[f"c{k}"] = {"new": new, "old": old} if k % 2 else {"old": old, "new": new}
    found = replicability(given, baseline="old")
    expected = [ttest_rel(c["new"], c["old"], alternative="greater").pvalue for c in given.values()]
    assert found.p_greater[0] == pytest.approx(expected)
    assert (found.p_greater + found.p_less)[0] == pytest.approx(1)
    assert (found.better.tolist(), found.worse.tolist()) == ([2], [1])
    assert found.to_polars().rows() == [("new", "old", 4, 2, 1)]
    assert found.by_collection().height == 4
    assert "on 4 collections, combined by Fisher" in str(found)
    strict = replicability(given, method="bonferroni", test="sign", alpha=1e-6)
    assert strict.better.tolist() == [0]
    many = {name: one | {"third": one["old"]} for name, one in given.items()}
    assert replicability(many).level == pytest.approx(0.05 / 2 / 3)
    assert replicability(many, correction="none").level == 0.025


def test_what_is_refused() -> None:
    same = {"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2, 0.3]}
    assert replicability({"1": same, "2": same}).better.tolist() == [0]
    with pytest.raises(PolicyError, match="a test of two systems, not anova-2"):
        replicability({"1": same, "2": same}, test="anova")
    with pytest.raises(PolicyError, match="method 'simes' is none of fisher, bonferroni"):
        replicability({"1": same, "2": same}, method="simes")


def test_a_constant_difference_is_as_sure_as_sign_flips_allow() -> None:
    """A t of infinity on two topics is no proof: one of four sign flips is as extreme."""
    few = {"a": [0.2, 0.4], "b": [0.3, 0.5]}
    more = {"a": [0.2, 0.4, 0.1, 0.3, 0.6, 0.5, 0.8], "b": [0.3, 0.5, 0.2, 0.4, 0.7, 0.6, 0.9]}
    found = replicability({"few": few, "more": more}, baseline="a")
    assert found.p_greater[0] == pytest.approx([1 / 4, 1 / 128])
    assert (found.p_less[0] > 0.99).all()
    assert found.better.tolist() == [1]
    assert "2 pairs of a collection differ by the same" in str(found)
    assert replicability({"x": few, "y": few}, baseline="a").better.tolist() == [0]
    assert combine_pvalues([1 / 4, 1 / 128]).pvalue < 0.025 < combine_pvalues([1 / 4] * 2).pvalue
    # Tests that are exact already are not changed.
    exact = replicability({"few": few, "more": more}, baseline="a", test="sign")
    assert exact.p_greater[0] == pytest.approx([1 / 4, 1 / 128])
