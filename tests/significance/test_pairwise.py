"""Tests of pairs against SciPy, on pairs of every kind, and plain versions in whole numbers."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.significance.differences import Outcome, Pairs
from cranfield.significance.registry import TestOptions, find_test
from tests.significance.helpers import scored

SIDES = ("two-sided", "greater", "less")
SIZES = (5, 10, 25, 50)


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
    found = find_test(test).run(pairs, TestOptions(**options))  # type: ignore[arg-type]
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
@pytest.mark.parametrize(
    ("test", "n", "exact"),
    [
        *(("signed-rank", n, False) for n in SIZES),
        *(("signed-rank", n, True) for n in (10, 40)),
        *(("rank-sum", n, None) for n in SIZES),
        *(("rank-sum", n, True) for n in (10, 25)),
    ],
)
def test_ranks(test: str, n: int, exact: bool | None, side: str) -> None:
    """By the normal approximation on all pairs, exactly on pairs without ties."""
    x, y = (some[:, : 60 if exact else None] for some in random_pairs(n))
    found = outcome(test, x, y, alternative=side, exact=exact)
    method: Any = "exact" if exact else "asymptotic"
    if test == "rank-sum":
        theirs = stats.mannwhitneyu(x, y, axis=0, alternative=side, method=method)
    else:
        theirs = stats.wilcoxon(x, y, axis=0, alternative=side, method=method, correction=False)
    agree(found.pvalue, theirs.pvalue)
    if test == "rank-sum" or side == "greater":
        agree(found.statistic, theirs.statistic)


# Scores are millionths. The plain versions know them as integers, so that ties are exact; the
# library gets floats, where 0.3 - 0.2 and 0.2 - 0.1 differ by rounding.
MILLION = 10**6
SIDE = st.sampled_from(["two-sided", "greater", "less"])
TENTHS = st.integers(0, 10).map(lambda k: k * 10**5)
COLUMN = st.lists(st.one_of(TENTHS, TENTHS, st.integers(0, MILLION)), min_size=9, max_size=9).map(
    np.array
)


def compared(x: Any, y: Any, test: str, **options: Any) -> tuple[float, float]:
    """Return statistic and p-value of a comparison of two systems."""
    result = cf.compare({"x": x / MILLION, "y": y / MILLION}, test=test, **options)
    return float(result.statistic[0]), float(result.raw_pvalues[0])


def tail(observed: float, possible: Any, side: str) -> float:
    """Return the p-value of a statistic among its equally likely values."""
    at_most, at_least = np.mean(possible <= observed), np.mean(possible >= observed)
    both = min(1.0, 2 * min(at_most, at_least))
    return float({"two-sided": both, "greater": at_least, "less": at_most}[side])


@given(COLUMN, COLUMN, SIDE)
def test_sign(x: Any, y: Any, side: str) -> None:
    wins, losses = int((x > y).sum()), int((x < y).sum())
    expected = stats.binomtest(wins, wins + losses, alternative=side) if wins + losses else None
    statistic, p = compared(x, y, "sign", alternative=side)
    assert statistic == wins
    assert p == pytest.approx(expected.pvalue if expected else 1.0, abs=1e-12)


@settings(max_examples=30)
@given(COLUMN, COLUMN, SIDE)
def test_signed_rank_by_all_signs(x: Any, y: Any, side: str) -> None:
    d = (x - y)[x != y]
    ranks = stats.rankdata(np.abs(d))
    plus = float(ranks[d > 0].sum())
    possible = np.array(list(product([0, 1], repeat=d.size))) @ ranks
    statistic, p = compared(x, y, "signed-rank", alternative=side, exact=True)
    assert statistic == plus
    assert p == pytest.approx(tail(plus, possible, side), abs=1e-12)


@settings(max_examples=30)
@given(COLUMN, COLUMN, st.integers(3, 6), SIDE)
def test_rank_sum_by_all_choices(x: Any, y: Any, n: int, side: str) -> None:
    x, y = x[:n], y[:7]
    ranks = stats.rankdata(np.concatenate([x, y]))
    least = n * (n + 1) / 2
    possible = np.array([sum(some) for some in combinations(ranks.tolist(), n)]) - least
    statistic, p = compared(x, y, "rank-sum", alternative=side, exact=True)
    assert statistic == ranks[:n].sum() - least
    assert p == pytest.approx(tail(statistic, possible, side), abs=1e-12)


@settings(max_examples=30)
@given(COLUMN, COLUMN, SIDE)
def test_randomisation_by_all_signs(x: Any, y: Any, side: str) -> None:
    d = x - y
    possible = np.array(list(product([1, -1], repeat=d.size))) @ d
    turn = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}[side]
    _, p = compared(x, y, "randomisation", alternative=side, exact=True)
    assert p == np.mean(turn(possible) >= turn(d.sum()))


def test_unpaired_bootstrap() -> None:
    """Sakai's figures 13 and 14: both samples are drawn from all scores."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, MILLION, (2, 12))
        drawn = rng.choice(np.concatenate([x, y]), (4000, 24))
        apart = np.abs(drawn[:, :12].mean(axis=1) - drawn[:, 12:].mean(axis=1))
        expected = np.mean(apart >= abs(x.mean() - y.mean()) - 1e-6)
        _, p = compared(x, y, "bootstrap-unpaired", resamples=4000)
        assert abs(p - expected) <= 4 * np.sqrt(2 * p * (1 - p) / 4000) + 1e-3


def test_randomised_tukey() -> None:
    """Carterette's test (Sakai's figure 15): the largest range of shuffled rows."""
    rng = np.random.default_rng(1)
    values = rng.random((9, 4)) + [0, 0.1, 0.2, 0.5]
    shuffled = rng.permuted(np.tile(values, (3000, 1, 1)), axis=2)
    ranges = np.ptp(shuffled.mean(axis=1), axis=1)
    result = cf.compare(values, test="randomisation", correction="randomised-tukey", resamples=3000)
    expected = (ranges[:, None] >= np.abs(result.difference)).mean(axis=0)
    error = np.sqrt(2 * expected * (1 - expected) / 3000)
    assert (np.abs(result.adjusted_pvalues - expected) <= 4 * error + 1e-3).all()


@settings(max_examples=30)
@given(st.lists(st.lists(TENTHS, min_size=4, max_size=4), min_size=3, max_size=8))
def test_pairs_of_mean_ranks(rows: list[list[int]]) -> None:
    """The studentised range of mean ranks, whose variance is that of the ranks as they are tied."""
    values = np.array(rows)
    first, second = np.triu_indices(4, 1)
    within = stats.rankdata(values, axis=1)
    overall = stats.rankdata(values).reshape(values.shape)
    for test, ranks, variance in (
        ("friedman", within, within.var(axis=1, ddof=1).mean()),
        ("kruskal-wallis", overall, overall.var(ddof=1)),
    ):
        if variance == 0:
            continue
        means = ranks.mean(axis=0)
        q = np.abs(means[first] - means[second]) / np.sqrt(variance / len(values))
        result = cf.compare(scored(values / MILLION), test=test)
        expected = stats.studentized_range.sf(q, 4, np.inf)
        np.testing.assert_allclose(result.adjusted_pvalues, expected, atol=1e-8)
        # SciPy's omnibus tests correct for ties as well.
        known = (stats.friedmanchisquare if test == "friedman" else stats.kruskal)(*values.T)
        assert result.omnibus is not None
        assert result.omnibus.statistic == pytest.approx(known.statistic, abs=1e-9)
        assert result.omnibus.pvalue == pytest.approx(known.pvalue, abs=1e-10)
