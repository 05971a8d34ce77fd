"""Sums, geometric means and medians: the statistic that is tested, against SciPy and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.significance import compare_measures, rank_sets
from cranfield.significance.resampling import draw_topic_counts
from tests.significance.helpers import covid


@pytest.fixture(scope="module")
def gmap() -> cf.Scores:
    return covid("GMAP")


def test_gmap_compares_geometric_means(gmap: cf.Scores) -> None:
    """Means by SciPy; 176 pairs by a program that shares no code and draws other resamples."""
    found = cf.compare(gmap)
    floored = np.maximum(gmap.values, 1e-5)
    np.testing.assert_allclose(found.means, stats.gmean(floored, axis=0), rtol=1e-12)
    means = dict(zip(found.systems, found.means, strict=True))
    assert means["covidex.r5.2s.lr"] == pytest.approx(0.2342, abs=5e-5)
    assert means["udel_fang_ltr_split"] == pytest.approx(0.2148, abs=5e-5)
    assert means["rk_ir_trf_logit_rr"] == pytest.approx(0.2113, abs=5e-5)
    assert found.mean_of == "geometric mean"
    assert found.interval_of == "log ratio of geometric means"
    assert "log ratio of " in repr(found[found.systems[0], found.systems[1]])
    assert found.count() == 176
    pair = found["udel_fang_ltr_split", "rk_ir_trf_logit_rr"]
    assert np.exp(pair.difference) == pytest.approx(
        means["udel_fang_ltr_split"] / means["rk_ir_trf_logit_rr"]
    )
    # A paired t-test of log scores.
    two = gmap.select(systems=["udel_fang_ltr_split", "uab.idf"])
    by_t = cf.compare(two, test="t")
    known = stats.ttest_rel(*np.log(np.maximum(two.values, 1e-5)).T)
    assert by_t.adjusted_pvalues[0] == pytest.approx(known.pvalue, rel=1e-9)
    interval = known.confidence_interval(0.95)
    assert [ends[0] for ends in by_t.interval] == pytest.approx([interval.low, interval.high])


def test_geometric_means_everywhere(gmap: cf.Scores) -> None:
    """Sets of ranks, several measures, intervals around means, margins."""
    some = gmap.select(systems=gmap.systems[:8])
    found = cf.compare(some)
    np.testing.assert_array_equal(rank_sets(some).interval, found.rank_sets().interval)
    alone = compare_measures({"GMAP": some})
    np.testing.assert_array_equal(alone.pvalues[:, 0], found.adjusted_pvalues)
    best = int(found.order[0])
    around = found.find_mean_bounds(best)
    assert around is not None
    differs = found.to_matrix(found.is_significant().astype(float))[best] > 0
    outside = (around[0] > around[1][best]) | (around[1] < around[0][best])
    np.testing.assert_allclose(np.sqrt(around[0] * around[1]), found.means)
    np.testing.assert_array_equal(outside, differs)
    margin = found.equivalence("25%").margin
    assert margin == pytest.approx(np.full(len(found), np.log(1.25)))
    with pytest.raises(PolicyError, match="must be a percentage"):
        found.equivalence(0.02)
    plain = cf.compare(replace(some, aggregate="mean"), statistic="geometric-mean")
    np.testing.assert_array_equal(plain.adjusted_pvalues, found.adjusted_pvalues)
    arithmetic = cf.compare(some, statistic="mean")
    np.testing.assert_allclose(arithmetic.means, some.values.mean(axis=0))


def test_sums_are_means_times_topics() -> None:
    values = np.random.default_rng(2).integers(0, 9, (12, 4)).astype(float)
    topics, systems = (tuple(map(str, range(size))) for size in values.shape)
    sums = cf.Scores(values, topics, systems, measure="NumRelRet", aggregate="sum")
    found, means = cf.compare(sums), cf.compare(values)
    np.testing.assert_allclose(found.means, values.sum(axis=0))
    np.testing.assert_array_equal(found.adjusted_pvalues, means.adjusted_pvalues)
    np.testing.assert_allclose(found.interval, np.array(means.interval) * 12)
    assert (found.mean_of, found.interval_of) == ("sum", "difference of sums")
    uneven = values.copy()
    uneven[3, 1] = np.nan
    with pytest.raises(CranfieldError, match="sums of scores require the same topics"):
        cf.compare(replace(sums, values=uneven), test="welch")


def test_intervals_of_sums_by_tests_of_medians() -> None:
    scores = {"a": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "b": [0.2, 0.5, 0.4, 0.9, 0.9, 0.8]}
    by_mean, by_sum = (cf.compare(scores, test="sign", statistic=of) for of in ("mean", "sum"))
    np.testing.assert_allclose(by_sum.interval, 6 * np.array(by_mean.interval), rtol=1e-12)
    assert by_sum.interval_of == f"{by_mean.interval_of} times number of topics"


@pytest.mark.parametrize("correction", ["none", "holm", "bootstrap-max"])
@pytest.mark.parametrize("topics", [2, 3, 5, 6])
def test_medians_of_few_topics_are_not_below_sign_flips(topics: int, correction: str) -> None:
    base = np.linspace(0.5, 0.9, topics)
    values = np.stack([base, base - 0.1, base - np.linspace(0.2, 0.4, topics)], axis=1)
    found = cf.compare(values, statistic="median", correction=correction, resamples=999)
    factor = 3 if correction == "holm" else 1
    assert found.adjusted_pvalues.min() == min(1, factor * 2.0 ** (1 - topics))
    assert found.n_without_interval == 0
    assert np.isinf(found.interval).all() == (factor * 2.0 ** (1 - topics) > 0.05)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("topics", [7, 12])
def test_medians_by_hand(topics: int, alternative: str) -> None:
    """One resample after the other, each median by NumPy."""
    values = np.random.default_rng(topics).integers(0, 20, (topics, 4)) / 16
    baseline = None if alternative == "two-sided" else "1"
    found = cf.compare(
        values, statistic="median", alternative=alternative, baseline=baseline, resamples=199
    )
    assert (found.test, found.correction) == ("bootstrap-median", "bootstrap-max")
    counts = draw_topic_counts(199, topics, 0).astype(int)
    medians = np.median(values, axis=0)
    np.testing.assert_allclose(found.means, medians)
    centred = np.array(
        [np.median(np.repeat(values, row, axis=0), axis=0) - medians for row in counts]
    )
    side = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}[alternative]
    drawn = side(centred[:, found.first] - centred[:, found.second])
    observed = side(medians[found.first] - medians[found.second])
    raw = (1 + (drawn >= observed - 1e-9).sum(axis=0)) / 200
    together = (1 + (drawn.max(axis=1)[:, None] >= observed - 1e-9).sum(axis=0)) / 200
    assert found.raw_pvalues.tolist() == pytest.approx(raw.tolist())
    assert found.adjusted_pvalues.tolist() == pytest.approx(together.tolist())
    low, high = found.interval
    assert (((low > 0) | (high < 0)) == found.is_significant()).all()
    quantile = np.sort(drawn.max(axis=1))[199 - 10]
    if alternative == "two-sided":
        np.testing.assert_allclose(high - found.difference, quantile, rtol=1e-9)
