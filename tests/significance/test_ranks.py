"""Rank tests: limits are order statistics, to the last bit; of mean ranks 1 is the best."""

from __future__ import annotations

import pickle
import tracemalloc
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import binomtest, friedmanchisquare, kruskal, rankdata

import cranfield as cf
from cranfield import compare
from cranfield.base.arrays import Floats
from cranfield.significance.differences import pair_all
from cranfield.significance.pairwise import ranks as signs
from cranfield.significance.pairwise.ranks import (
    RankSums,
    bound_shift,
    rank_sum_test,
    select_kth_sum,
)
from cranfield.significance.registry import TestOptions, find_test
from tests.cli.running import cranfield

KINDS = ("plain", "tenths", "halves", "spread")


def drawn(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Floats:
    """Return scores: all different, with ties, nearly all tied, or of very different sizes."""
    if kind == "spread":
        return np.asarray(rng.lognormal(0, 5, shape))
    values = rng.random(shape)
    return {"plain": values, "tenths": np.round(values, 1), "halves": np.round(2 * values) / 2}[
        kind
    ]


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(1, 40), st.integers(1, 40))
def test_kth_sum(seed: int, kind: str, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (np.sort(drawn(rng, kind, (3, size)), axis=1) for size in (n, m))
    x[1, (n + 1) // 2 :] = np.inf  # a row may have fewer numbers
    sums = np.sort((x[:, :, None] + y[:, None, :]).reshape(3, -1), axis=1)
    k = rng.integers(0, np.isfinite(sums).sum(axis=1))
    assert (select_kth_sum(x, y, k) == sums[np.arange(3), k]).all()
    i, j = np.triu_indices(m)
    walsh = np.sort(y[:, i] + y[:, j], axis=1)
    for rank in (0, walsh.shape[1] // 3, walsh.shape[1] - 1):
        assert (select_kth_sum(y, y, rank, is_triangle=True) == walsh[:, rank]).all()


def bound_pseudo_median(d: Floats, level: float) -> tuple[float, float]:
    """Return the limits of one pair from all averages of the differences that are not 0."""
    d = d[d != 0]
    # Sizes that are equal but for rounding.
    sizes = rankdata(np.abs(d).round(12) if np.abs(d).max(initial=0.0) < 10 else np.abs(d))
    n = d.size
    if not n:
        return -np.inf, np.inf
    if n <= 25:
        # Every sum of some of the ranks, and in how many ways.
        ways = Counter({0.0: 1})
        for rank in sizes:
            ways += Counter({total + rank: many for total, many in ways.items()})
        sums = np.array(sorted(ways))
        chances = np.cumsum([ways[one] for one in sums]) / 2**n
        below = sums[chances <= (1 - level) / 2 * (1 + 1e-12)]
        rejected = float(below.max(initial=-1.0))
    else:
        _, ties = np.unique(sizes, return_counts=True)
        variance = n * (n + 1) * (2 * n + 1) / 24 - (ties**3 - ties).sum() / 48
        rejected = n * (n + 1) / 4 + ndtri((1 - level) / 2) * np.sqrt(variance)
    if rejected < 0:
        return -np.inf, np.inf
    i, j = np.triu_indices(n)
    walsh = np.sort((d[i] + d[j]) / 2)
    return walsh[int(rejected)], walsh[len(i) - 1 - int(rejected)]


@pytest.mark.parametrize("topics", [2, 9, 25, 26, 130])
@pytest.mark.parametrize("kind", KINDS)
def test_signed_rank_limits_are_walsh_averages(topics: int, kind: str) -> None:
    pairs = pair_all(drawn(np.random.default_rng(topics), kind, (topics, 5)))
    for level in (0.5, 0.95, 0.9999):
        found = np.array(signs.bound_pseudo_median(pairs, TestOptions(), level)).T
        for ours, d in zip(found, pairs.compute_differences(), strict=True):
            # Where ranks are tied, a limit of 0 may stand beside it, by as much as rounds.
            assert ours.tolist() == pytest.approx(bound_pseudo_median(d, level), rel=0, abs=1e-12)


@pytest.mark.filterwarnings("ignore:an array of scores has shape")
@settings(max_examples=50)
@given(
    st.sampled_from(["sign", "signed-rank"]),
    st.sampled_from(["two-sided", "greater", "less"]),
    st.integers(0, 10**6),
    st.integers(2, 50),
    st.sampled_from([1, 2, 5, 100]),
    st.floats(0.001, 0.45),
)
def test_interval_and_p_agree(
    test: str, side: str, seed: int, topics: int, values: int, alpha: float
) -> None:
    """Few values have many differences that are 0, and many that are tied."""
    scores = np.random.default_rng(seed).integers(0, values + 1, (topics, 5)) / values
    baseline = None if side == "two-sided" else "1"
    for correction in ("none", "bonferroni"):
        one_sided: Any = {"alternative": side, "baseline": baseline}
        found = compare(scores, test=test, correction=correction, alpha=alpha, **one_sided)
        low, high = found.interval
        # Where p differs from alpha by rounding only, there may be no interval.
        apart = ~np.isclose(found.adjusted_pvalues, alpha, rtol=1e-11, atol=0)
        assert (low <= high)[apart].all()
        excludes_zero = (low > 0) | (high < 0)
        assert (excludes_zero == found.is_significant())[~np.isnan(low)].all()


def test_sign_test_with_a_threshold() -> None:
    """Of 12 topics 2 differ by at most .01, and 1 by .01 but for rounding; 8 of 9 are won."""
    d = np.array([0.01, -0.004, 0.1 + 0.2 - 0.29, *[0.02] * 7, 0.3, -0.05])
    scores = np.stack([0.5 + d, np.full(12, 0.5)], axis=1)
    found = compare(scores, test="sign", threshold=0.01)
    assert (found.n[0], found.zeros[0], found.statistic[0]) == (9, 3, 8)
    assert found.adjusted_pvalues[0] == pytest.approx(binomtest(8, 9).pvalue, abs=1e-15)
    assert "differences of at most 0.01 count as ties" in found.notes
    assert [limit[0] for limit in found.interval] == pytest.approx([0.02, 0.02])
    assert compare(scores, test="sign").statistic[0] == 10
    # Equal scores are not claimed where all differences are ties.
    assert any("by more than 0.5" in n for n in compare(scores, test="sign", threshold=0.5).notes)


@pytest.mark.parametrize("topics", [2, 5, 30, 121])
@pytest.mark.parametrize("kind", KINDS)
def test_rank_sum_limits_are_differences(topics: int, kind: str) -> None:
    rng = np.random.default_rng(topics)
    values = drawn(rng, kind, (topics, 5))
    if topics > 2:
        values[rng.random(values.shape) < 0.3] = np.nan
        values[:2] = drawn(rng, kind, (2, 5))
    pairs = pair_all(values)
    for level in (0.5, 0.95, 0.9999):
        low, high = bound_shift(pairs, level)
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
    pairs = pair_all(values)
    found = rank_sum_test(pairs, TestOptions())
    for k, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True)):
        x, y = (one[~np.isnan(one)] for one in (values[:, i], values[:, j]))
        assert found.statistic[k] == (x[:, None] > y).sum() + (x[:, None] == y).sum() / 2
        _, counts = np.unique(np.concatenate([x, y]), return_counts=True)
        assert np.asarray(found.n_ties)[k] == counts[counts > 1].sum()


def peak(test: str, values: Floats) -> float:
    """Return the megabytes that a test and its limits take."""
    tracemalloc.start()
    find_test(test).run(pair_all(values), TestOptions()).interval(0.95)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size / 2**20


@pytest.mark.parametrize("test", ["sign", "signed-rank", "rank-sum"])
def test_memory_is_bounded(test: str) -> None:
    rng = np.random.default_rng(0)
    # All scores are different: all averages of all pairs have 160 MB, of the second pair 34 MB.
    assert peak(test, rng.random((60, 150))) < 130
    assert peak(test, rng.random((3000, 2))) < 20


@pytest.mark.parametrize("test", ["sign", "signed-rank", "rank-sum"])
def test_results_keep_scores_not_differences(test: str) -> None:
    values = np.random.default_rng(0).random((300, 20))
    pairs = pair_all(values)
    found = find_test(test).run(pairs, TestOptions())
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


VALUES = np.random.default_rng(0).random((12, 3)) + [0.0, 0.5, 0.2]


def _scores(*, lower: bool) -> cf.Scores:
    values = -VALUES if lower else VALUES
    topics = tuple(map(str, range(12)))
    return cf.Scores(
        values, topics=topics, systems=tuple("abc"), measure="m", lower_is_better=lower
    )


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("test", ["friedman", "kruskal-wallis"])
def test_rank_one_is_the_best(test: str, lower: bool) -> None:
    found = cf.compare(_scores(lower=lower), test=test)
    by_topic = test == "friedman"
    ranks = rankdata(-VALUES, axis=1) if by_topic else rankdata(-VALUES).reshape(12, 3)
    assert found.means == pytest.approx(ranks.mean(axis=0))
    assert found.difference == pytest.approx(found.means[found.first] - found.means[found.second])
    low, high = found.interval
    assert ((low <= found.difference) & (found.difference <= high)).all()
    assert (np.sign(found.statistic) == np.sign(found.difference)).all()
    assert [found.systems[k] for k in found.order] == ["b", "c", "a"]
    assert next(iter(found.groups())) == "b"
    assert found.omnibus is not None
    expected = (friedmanchisquare if by_topic else kruskal)(*VALUES.T)
    assert found.omnibus.statistic == pytest.approx(expected.statistic)
    assert found.rank_sets().to_polars()["system"][0] == "b"


def test_nemenyi_is_found_by_name_and_equals_scikit_posthocs() -> None:
    """P-values of posthoc_nemenyi_friedman of scikit-posthocs 0.17.1, in order of the pairs."""
    rows = "3957 2864 1793 5682 4398 1576 2947 3869 6792 1485"
    values = np.array([[*map(float, row)] for row in rows.split()])
    scores = cf.Scores(values, topics=tuple(map(str, range(10))), systems=tuple("abcd"))
    found = cf.compare(scores, test="Nemenyi")
    assert (found.test, found.correction) == ("friedman", "tukey")
    expected = [
        *(0.028563407572000488, 0.002988935142544946, 0.1601258765249841),
        *(0.8998835057401947, 0.8998835057401947, 0.5083531516134436),
    ]
    assert found.adjusted_pvalues == pytest.approx(expected, abs=1e-12)
    with pytest.raises(cf.PolicyError, match="'Nemenyi': for Nemenyi's test use"):
        cf.compare(scores, test="friedman", correction="Nemenyi")


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(("alternative", "better"), [("greater", True), ("less", False)])
def test_one_sided_tests_are_of_the_scores(alternative: str, better: bool, lower: bool) -> None:
    options: dict[str, Any] = {"test": "friedman", "alternative": alternative, "baseline": "a"}
    found = cf.compare(_scores(lower=lower), **options)
    assert found.tested_verdict == ("better" if better != lower else "worse")
    # b has higher scores than a, or lower ones where these are better.
    assert found.is_significant().tolist() == [better != lower, False]
    low, high = found.interval
    assert (np.isinf(low) if better != lower else np.isinf(high)).all()
    covered = low[0] <= 0 <= high[0]
    assert covered == (not found.is_significant()[0])


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "json", "csv", "prose", "ranks"])
def test_outputs_have_rank_one_for_the_best(tmp_path: Path, form: str) -> None:
    rows = (f"m,{t},{s},{VALUES[t, k]}\n" for t in range(12) for k, s in enumerate("abc"))
    (tmp_path / "scores.csv").write_text("measure,topic,system,score\n" + "".join(rows))
    option = ("--as", form) if form in {"prose", "ranks"} else ("--format", form)
    given = ("compare", "--scores", "scores.csv", "--test", "friedman")
    out, _ = cranfield(tmp_path, *given, *option)
    if form == "prose":
        assert "b has the lowest mean rank, 1.25" in out
    elif form != "csv":
        assert "1.25" in out
        assert "2.75" not in out
    else:
        assert "-1.16" in out or "1.16" in out
