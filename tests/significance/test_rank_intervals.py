"""Rank tests: limits are order statistics, to the last bit, and nothing takes too much memory."""

from __future__ import annotations

import pickle
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from cranfield.base.arrays import Floats
from cranfield.significance.options import Options
from cranfield.significance.pairs import Pairs, all_pairs
from cranfield.significance.tests import signs
from cranfield.significance.tests.catalogue import find_test
from cranfield.significance.tests.kth_smallest_sum import kth_sum
from cranfield.significance.tests.rank_sum import RankSums, rank_sum_test, shift_limits
from cranfield.significance.tests.signs import order_limit, sums_at_most

KINDS = ("plain", "tenths", "halves", "spread")


def drawn(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Floats:
    """Return scores: all different, with ties, nearly all tied, or of very different sizes."""
    if kind == "spread":
        return np.asarray(rng.lognormal(0, 5, shape))
    values = rng.random(shape)
    return {"plain": values, "tenths": np.round(values, 1), "halves": np.round(2 * values) / 2}[
        kind
    ]


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(1, 40), st.integers(1, 40))
def test_kth_sum(seed: int, kind: str, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (np.sort(drawn(rng, kind, (3, size)), axis=1) for size in (n, m))
    x[1, (n + 1) // 2 :] = np.inf  # a row may have fewer numbers
    sums = np.sort((x[:, :, None] + y[:, None, :]).reshape(3, -1), axis=1)
    k = rng.integers(0, np.isfinite(sums).sum(axis=1))
    assert (kth_sum(x, y, k) == sums[np.arange(3), k]).all()
    i, j = np.triu_indices(m)
    walsh = np.sort(y[:, i] + y[:, j], axis=1)
    for rank in (0, walsh.shape[1] // 3, walsh.shape[1] - 1):
        assert (kth_sum(y, y, rank, triangle=True) == walsh[:, rank]).all()


def walsh_limits(pairs: Pairs, options: Options, level: float) -> tuple[Floats, Floats]:
    """Return the limits from all averages."""
    d = pairs.differences()
    n = d.shape[1]
    i, j = np.triu_indices(n)
    walsh = np.sort((d[:, i] + d[:, j]) / 2, axis=1)
    rank: int | None
    if n <= options.exact_n:
        rank = order_limit(
            sums_at_most(2 * np.arange(1, n + 1, dtype=np.int32)[None])[0, ::2], level
        )
    else:
        spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        rank = int(np.floor(len(i) / 2 + ndtri((1 - level) / 2) * spread)) - 1
    if rank is None or rank < 0:
        return np.full(len(d), -np.inf), np.full(len(d), np.inf)
    return walsh[:, rank], walsh[:, len(i) - 1 - rank]


@pytest.mark.parametrize("topics", [2, 5, 9, 25, 26, 61, 130])
@pytest.mark.parametrize("kind", KINDS)
def test_signed_rank_limits_are_walsh_averages(topics: int, kind: str) -> None:
    pairs = all_pairs(drawn(np.random.default_rng(topics), kind, (topics, 5)))
    options = Options()
    for level in (0.5, 0.95, 0.9999):
        found = signs.walsh_limits(pairs, options, level)
        for ours, theirs in zip(found, walsh_limits(pairs, options, level), strict=True):
            assert (ours == theirs).all()


@pytest.mark.parametrize("topics", [2, 5, 30, 121])
@pytest.mark.parametrize("kind", KINDS)
def test_rank_sum_limits_are_differences(topics: int, kind: str) -> None:
    rng = np.random.default_rng(topics)
    values = drawn(rng, kind, (topics, 5))
    if topics > 2:
        values[rng.random(values.shape) < 0.3] = np.nan
        values[:2] = drawn(rng, kind, (2, 5))
    pairs = all_pairs(values)
    for level in (0.5, 0.95, 0.9999):
        low, high = shift_limits(pairs, level)
        for k, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True)):
            x, y = (one[~np.isnan(one)] for one in (values[:, i], values[:, j]))
            shifts = np.sort((x[:, None] - y).ravel())
            spread = np.sqrt(x.size * y.size * (x.size + y.size + 1) / 12)
            rank = int(np.floor(shifts.size / 2 + ndtri((1 - level) / 2) * spread)) - 1
            known = (shifts[rank], shifts[-1 - rank]) if rank >= 0 else (-np.inf, np.inf)
            assert (low[k], high[k]) == known


@pytest.mark.parametrize("kind", KINDS)
def test_rank_sum_counts_what_is_equal(kind: str) -> None:
    rng = np.random.default_rng(3)
    values = drawn(rng, kind, (20, 6))
    values[3:9, 2] = values[15:, 4] = np.nan
    pairs = all_pairs(values)
    found = rank_sum_test(pairs, Options())
    for k, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True)):
        x, y = (one[~np.isnan(one)] for one in (values[:, i], values[:, j]))
        assert found.statistic[k] == (x[:, None] > y).sum() + (x[:, None] == y).sum() / 2
        _, counts = np.unique(np.concatenate([x, y]), return_counts=True)
        assert found.ties[k] == counts[counts > 1].sum()


def peak(test: str, values: Floats) -> float:
    """Return the megabytes that a test and its limits take."""
    tracemalloc.start()
    find_test(test).run(all_pairs(values), Options()).interval(0.95)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size / 2**20


@pytest.mark.parametrize("test", ["sign", "signed-rank", "rank-sum"])
def test_memory_is_bounded(test: str) -> None:
    rng = np.random.default_rng(0)
    # All scores of the experiment are different; all averages of a pair are 24 millions.
    assert peak(test, rng.random((100, 200))) < 130
    assert peak(test, rng.random((7000, 2))) < 130


@pytest.mark.parametrize("test", ["sign", "signed-rank", "rank-sum"])
def test_results_keep_scores_not_differences(test: str) -> None:
    values = np.random.default_rng(0).random((300, 60))
    pairs = all_pairs(values)
    found = find_test(test).run(pairs, Options())
    size = len(pickle.dumps(found))
    assert size < 2 * values.nbytes + 100 * len(pairs)
    again = pickle.loads(pickle.dumps(found))
    assert (np.array(again.interval(0.9)) == np.array(found.interval(0.9))).all()


@pytest.mark.parametrize("ranks", [(2, 4, 6, 8, 10), (3, 3, 6, 9, 9, 12), (5, 5, 5, 5, 10), (2, 4)])
def test_rank_sums(ranks: tuple[int, ...]) -> None:
    for n in range(1, len(ranks)):
        sums = np.array([sum(some) for some in combinations(ranks, n)])
        tails = RankSums(np.array(ranks), n)
        for total in range(sums.min(), sums.max() + 1):
            low, high = tails(total)
            assert low == pytest.approx((sums <= total).mean(), abs=1e-15)
            assert high == pytest.approx((sums >= total).mean(), abs=1e-15)


def test_sums_of_short_lists() -> None:
    row = np.array([[1.0, 2.0, 4.0]])
    assert kth_sum(row, np.array([[10.0, 20.0]]), 2).tolist() == [14.0]
    # Of a triangle 2, 3, 5; 4, 6; 8.
    assert kth_sum(row, row, 2, triangle=True).tolist() == [4.0]
