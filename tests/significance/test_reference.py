"""Tests with ties and by enumeration, against plain versions in whole numbers.

Scores are millionths. The plain versions know them as integers, so that ties are exact; the
library gets floats, where 0.3 - 0.2 and 0.2 - 0.1 differ by rounding.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from tests.significance.helpers import scored

MILLION = 10**6
SIDES = st.sampled_from(["two-sided", "greater", "less"])
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


@given(COLUMN, COLUMN, SIDES)
def test_sign(x: Any, y: Any, side: str) -> None:
    wins, losses = int((x > y).sum()), int((x < y).sum())
    expected = stats.binomtest(wins, wins + losses, alternative=side) if wins + losses else None
    statistic, p = compared(x, y, "sign", alternative=side)
    assert statistic == wins
    assert p == pytest.approx(expected.pvalue if expected else 1.0, abs=1e-12)


@settings(max_examples=30)
@given(COLUMN, COLUMN, SIDES)
def test_signed_rank_by_all_signs(x: Any, y: Any, side: str) -> None:
    d = (x - y)[x != y]
    ranks = stats.rankdata(np.abs(d))
    plus = float(ranks[d > 0].sum())
    possible = np.array(list(product([0, 1], repeat=d.size))) @ ranks
    statistic, p = compared(x, y, "signed-rank", alternative=side, exact=True)
    assert statistic == plus
    assert p == pytest.approx(tail(plus, possible, side), abs=1e-12)


@settings(max_examples=30)
@given(COLUMN, COLUMN, st.integers(3, 6), SIDES)
def test_rank_sum_by_all_choices(x: Any, y: Any, n: int, side: str) -> None:
    x, y = x[:n], y[:7]
    ranks = stats.rankdata(np.concatenate([x, y]))
    least = n * (n + 1) / 2
    possible = np.array([sum(some) for some in combinations(ranks.tolist(), n)]) - least
    statistic, p = compared(x, y, "rank-sum", alternative=side, exact=True)
    assert statistic == ranks[:n].sum() - least
    assert p == pytest.approx(tail(statistic, possible, side), abs=1e-12)


@settings(max_examples=30)
@given(COLUMN, COLUMN, SIDES)
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
