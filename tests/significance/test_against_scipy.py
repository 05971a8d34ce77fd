"""Tests of pairs against SciPy, on a thousand pairs of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cranfield.base.arrays import Floats
from cranfield.significance.differences import Outcome, Pairs
from cranfield.significance.registry import Options, find_test

SIDES = ("two-sided", "greater", "less")
SIZES = (5, 10, 25, 50)
KINDS = ("continuous", "grid", "alike", "tiny", "constant", "same")


def random_pairs(n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """250 pairs of n scores: continuous, on a grid with ties, mostly equal, tiny, constant."""
    rng = np.random.default_rng([seed, n])
    x, y = rng.random((2, n, 250))
    # Steps of 1/8 and 1/4 leave no doubt about which differences are equal.
    x[:, 60:120], y[:, 60:120] = rng.integers(0, 9, (2, n, 60)) / 8
    x[:, 120:160] = rng.integers(0, 5, (n, 40)) / 4
    other = rng.integers(0, 5, (n, 40)) / 4
    y[:, 120:160] = np.where(rng.random((n, 40)) < 0.7, x[:, 120:160], other)
    x[:, 160:200], y[:, 160:200] = rng.integers(0, 99, (2, n, 40)) * 2.0**-40
    x[:, 200:240] = 0.5
    y[:, 200:240] = np.where(rng.random((n, 40)) < 0.5, 0.5, rng.integers(0, 9, (n, 40)) / 8)
    x[:, 240:250] = y[:, 240:250] = rng.integers(0, 9, (n, 10)) / 8
    y[:, 245:250] += 0.25
    return x, y


def outcome(test: str, x: Floats, y: Floats, **options: object) -> Outcome:
    count = x.shape[1]
    pairs = Pairs(np.hstack([x, y]), np.arange(count), count + np.arange(count))
    found = find_test(test).run(pairs, Options(**options))  # type: ignore[arg-type]
    assert isinstance(found, Outcome)
    return found


def agree(ours: Floats, theirs: Floats, known: Floats | None = None) -> None:
    """Equal to 1e-12, wherever SciPy has an answer."""
    some = ~np.isnan(theirs) if known is None else known
    assert some.sum() > len(ours) / 2
    np.testing.assert_allclose(ours[some], theirs[some], rtol=1e-11, atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("test", ["t", "t-unpaired", "welch"])
def test_t(test: str, n: int, side: str) -> None:
    x, y = random_pairs(n)
    found = outcome(test, x, y, alternative=side)
    if test == "t":
        theirs = stats.ttest_rel(x, y, axis=0, alternative=side)
    else:
        theirs = stats.ttest_ind(x, y, axis=0, alternative=side, equal_var=test == "t-unpaired")
    # Without variance there is nothing to divide by: a convention of ours.
    varies = np.std(x - y if test == "t" else np.vstack([x, y]), axis=0) > 1e-15
    if test != "t":
        varies &= np.std(x, axis=0) + np.std(y, axis=0) > 1e-15
    agree(found.statistic, theirs.statistic, varies)
    agree(found.pvalue, theirs.pvalue, varies)
    low, high = found.interval(0.95)
    if side == "two-sided":
        limits = theirs.confidence_interval(0.95)
        agree(low, limits.low, varies)
        agree(high, limits.high, varies)


@pytest.mark.parametrize("unit", [2.0**-300, 2.0**300])
@pytest.mark.parametrize("test", ["t", "t-unpaired", "welch"])
def test_t_in_any_unit(test: str, unit: float) -> None:
    """The degrees of freedom of Welch take squares of variances, which may be no floats."""
    x, y = random_pairs(10)
    one, other = outcome(test, x, y), outcome(test, x * unit, y * unit)
    assert other.pvalue.tolist() == one.pvalue.tolist()


@pytest.mark.parametrize("side", SIDES)
def test_t_without_variance(side: str) -> None:
    x = np.full((10, 2), 0.3)
    y = x - np.array([0.0, 0.1])
    found = outcome("t", x, y, alternative=side)
    assert found.statistic.tolist() == [0.0, np.inf]
    assert found.pvalue.tolist() == [1.0, float(side == "less")]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n", SIZES)
def test_signed_rank_by_normal_approximation(n: int, side: str) -> None:
    x, y = random_pairs(n)
    found = outcome("signed-rank", x, y, alternative=side, exact=False)
    theirs = stats.wilcoxon(x, y, axis=0, alternative=side, method="asymptotic", correction=False)
    agree(found.pvalue, theirs.pvalue)
    if side == "greater":
        agree(found.statistic, theirs.statistic)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n", [10, 40])
def test_signed_rank_exact_without_ties(n: int, side: str) -> None:
    x, y = (some[:, :60] for some in random_pairs(n))
    found = outcome("signed-rank", x, y, alternative=side, exact=True)
    theirs = stats.wilcoxon(x, y, axis=0, alternative=side, method="exact")
    agree(found.pvalue, theirs.pvalue)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n", SIZES)
def test_rank_sum(n: int, side: str) -> None:
    x, y = random_pairs(n)
    found = outcome("rank-sum", x, y, alternative=side)
    theirs = stats.mannwhitneyu(
        x, y, axis=0, alternative=side, method="asymptotic", use_continuity=True
    )
    agree(found.statistic, theirs.statistic)
    agree(found.pvalue, theirs.pvalue)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n", [10, 25])
def test_rank_sum_exact_without_ties(n: int, side: str) -> None:
    x, y = (some[:, :60] for some in random_pairs(n))
    found = outcome("rank-sum", x, y, alternative=side, exact=True)
    theirs = stats.mannwhitneyu(x, y, axis=0, alternative=side, method="exact")
    agree(found.pvalue, theirs.pvalue)
