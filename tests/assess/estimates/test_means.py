"""Means of few human and many labels of a judge, against other programs and enumeration."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from cranfield import PolicyError
from cranfield.assess import allocation, ppi_mean, stratified_mean
from cranfield.base.arrays import Floats
from cranfield.base.streams import make_stream

NONE = np.nan
HUMAN = np.array([0.13, -0.13, 0.64, 0.1, -0.54, 0.36, 1.3, 0.95, *[NONE] * 12])
JUDGE = np.array(
    [-0.36, -1.25, 2.12, -0.43, 0.01, -0.04, 2.37, 1.89, 0.21, -2.96]
    + [-0.32, 0.71, -0.39, -0.75, 1.07, -1.76, -0.99, 0.75, 0.3, 2.63]
)


# Against glide-py 0.11.0


def test_one_lambda_of_all_labels_is_ppi_plus_plus() -> None:
    # PPIMeanEstimator of glide-py 0.11.0, power_tuning=True and False.
    tuned, plain = ppi_mean(HUMAN, JUDGE, folds=1), ppi_mean(HUMAN, JUDGE, lambda_=1)
    assert tuned.estimate == pytest.approx(0.21580163301021388, abs=1e-14)
    assert tuned.standard_error == pytest.approx(0.16285934358096973, abs=1e-14)
    assert plain.estimate == pytest.approx(-0.3125, abs=1e-14)
    assert plain.standard_error == pytest.approx(0.5314927062088874, abs=1e-14)
    assert plain.high - plain.estimate == pytest.approx(
        stats.t.ppf(0.975, 7) * plain.standard_error
    )


def test_clusters_that_are_labelled_as_a_whole() -> None:
    # ClusteredPPIMeanEstimator of glide-py 0.11.0, power_tuning=False; clusters of equal sizes.
    clusters = np.repeat(list("ABCDEFGHIJ"), 2)
    found = ppi_mean(HUMAN, JUDGE, lambda_=1, clusters=clusters)
    assert found.estimate == pytest.approx(-0.3125, abs=1e-14)
    assert found.standard_error == pytest.approx(0.5419451848050071, abs=1e-14)
    assert found.freedom == 3


def test_clusters_of_one_item_are_none() -> None:
    names = [f"c{i}" for i in range(20)]
    for lambda_ in (0.0, 0.3, 1.0):
        one = ppi_mean(HUMAN, JUDGE, lambda_=lambda_)
        other = ppi_mean(HUMAN, JUDGE, lambda_=lambda_, clusters=names)
        assert one.estimate == pytest.approx(other.estimate, abs=1e-14)
        assert one.standard_error == pytest.approx(other.standard_error, abs=1e-14)


# Against a naive version


def naive(human: Floats, judge: Floats, folds: int, seed: int) -> tuple[float, float]:
    items = [
        i for i in make_stream(seed).permutation(human.size).argsort() if not np.isnan(human[i])
    ]
    n, rest = len(items), [i for i in range(human.size) if np.isnan(human[i])]
    terms, used = [], []
    for fold in range(folds):
        inside = items[fold::folds]
        others = [i for i in items if i not in inside]
        covariance = np.cov(human[others], judge[others])[0, 1]
        lambda_ = covariance / ((1 + n / len(rest)) * judge.var(ddof=1))
        lambda_ = min(max(lambda_, 0.0), 1.0)
        terms += [human[i] - lambda_ * (judge[i] - judge.mean()) for i in inside]
        used += [lambda_] * len(inside)
    mean = float(np.mean(used))
    estimate = np.mean(terms) + mean * (judge[rest].mean() - judge.mean())
    variance = np.var(terms, ddof=1) / n + mean**2 * judge[rest].var(ddof=1) / len(rest)
    return float(estimate), float(np.sqrt(variance))


def test_more_folds_than_labels() -> None:
    """Folds that get nothing change nothing, however many they are."""
    many = int((~np.isnan(HUMAN)).sum())
    found = ppi_mean(HUMAN, JUDGE, folds=many)
    strata = np.arange(HUMAN.size) % 2
    stratified = stratified_mean(HUMAN, strata, JUDGE, folds=many)
    for folds in (many + 1, 10**18, np.uint64(2**64 - 1)):
        assert ppi_mean(HUMAN, JUDGE, folds=folds).estimate == found.estimate  # type: ignore[arg-type]
        again = stratified_mean(HUMAN, strata, JUDGE, folds=folds)  # type: ignore[arg-type]
        assert again.estimate == stratified.estimate


@pytest.mark.parametrize(("folds", "seed"), [(2, 0), (5, 3), (8, 1)])
def test_cross_fitting(folds: int, seed: int) -> None:
    rng = np.random.default_rng(4)
    rows = np.array([HUMAN, rng.permutation(HUMAN), rng.normal(size=20)])
    rows[2, 3:9] = NONE
    found = ppi_mean(rows, JUDGE, folds=folds, seed=seed)
    for row, human in enumerate(rows):
        estimate, error = naive(human, JUDGE, folds, seed)
        assert found.estimate[row] == pytest.approx(estimate, abs=1e-13)
        assert found.standard_error[row] == pytest.approx(error, abs=1e-13)
    # A row does not depend on the others.
    alone = ppi_mean(rows[2], JUDGE, folds=folds, seed=seed)
    assert float(alone.estimate) == found.estimate[2]
    assert found.human.tolist() == [8, 8, 14]
    assert found.to_polars().height == 3


@given(st.integers(0, 99), st.floats(-5, 5), st.floats(0.1, 9))
def test_units_of_measurement(seed: int, shift: float, factor: float) -> None:
    """What the judge adds to all does not matter; what both multiply by, multiplies all."""
    rng = np.random.default_rng(seed)
    human, judge = rng.normal(size=(2, 25))
    human[9:] = NONE
    one = ppi_mean(human, judge)
    other = ppi_mean(factor * human, factor * judge + shift)
    assert other.lambda_ == pytest.approx(float(one.lambda_), abs=1e-9)
    assert other.estimate == pytest.approx(factor * one.estimate, abs=1e-9)
    assert other.low == pytest.approx(factor * one.low, abs=1e-9)


@pytest.mark.parametrize("clusters", [None, [0, 1, 2, 3, 4, 4, 4]])
@pytest.mark.parametrize("lambda_", [None, 0.5, 1.0])
def test_one_other_item_or_cluster_has_no_spread(
    lambda_: float | None, clusters: list[int] | None
) -> None:
    # The judge is right of all that people labelled: residuals alone would have no error at all.
    judge = np.array([0.0, 1.0, 1.0, 3.0, 9.0, 8.0, 7.0])[: None if clusters else 5]
    human = np.where(np.arange(judge.size) < 4, judge, np.nan)
    found = ppi_mean(human, judge, lambda_=lambda_, clusters=clusters)
    alone = ppi_mean(human[:4], judge[:4], lambda_=0)
    assert found.lambda_ == 0
    assert found.estimate == pytest.approx(1.25)
    assert found.standard_error == pytest.approx(alone.standard_error)


def test_what_the_judge_cannot_add() -> None:
    human, rest = HUMAN[:8], np.full(12, NONE)
    constant = ppi_mean(np.append(human, rest), np.ones(20))
    assert constant.estimate == human.mean()
    assert constant.lambda_ == 0
    # An opposed judge is cut to none.
    opposed = np.append(-human, np.zeros(12))
    assert ppi_mean(HUMAN, opposed).lambda_ == 0
    everything = ppi_mean(human, JUDGE[:8])
    assert everything.estimate == pytest.approx(human.mean(), abs=1e-15)
    assert everything.standard_error == pytest.approx(human.std(ddof=1) / np.sqrt(8), abs=1e-15)
    perfect = ppi_mean(HUMAN, np.where(np.isnan(HUMAN), JUDGE, HUMAN), lambda_=1)
    assert perfect.estimate == pytest.approx(np.nanmean(np.where(np.isnan(HUMAN), JUDGE, np.nan)))


# Strata


def test_every_sample_of_a_small_whole() -> None:
    """Over all samples the mean estimate is the truth, and the mean variance its variance."""
    truth = np.array([0.0, 1, 3, 1, 2, 2, 0, 5, 1])
    judge = np.array([1.0, 1, 2, 0, 3, 2, 1, 3, 3])
    strata = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    draws = product(combinations(range(4), 2), combinations(range(4, 9), 3))
    human = np.full((60, 9), NONE)
    for row, (one, two) in enumerate(draws):
        human[row, [*one, *two]] = truth[[*one, *two]]
    for lambda_ in (0.0, 0.6, 1.0):
        found = stratified_mean(human, strata, judge, lambda_=lambda_)
        assert found.estimate.mean() == pytest.approx(truth.mean(), abs=1e-14)
        variance = (found.standard_error**2).mean()
        assert variance == pytest.approx(found.estimate.var(), abs=1e-14)


def test_whole_strata_have_no_error() -> None:
    found = stratified_mean([1.0, 2.0, 3.0], ["a", "b", "b"], [1, 1, 1])
    assert found.estimate == 2 and found.standard_error == 0
    assert found.low == found.high == 2.0


@pytest.mark.parametrize(("ones", "n"), [(0, 10), (10, 10), (1, 20), (9, 30), (25, 50)])
def test_binary_labels_alone_have_the_interval_of_agresti_and_coull(ones: int, n: int) -> None:
    human = np.full(100, NONE)
    human[:n] = np.arange(n) < ones
    found = ppi_mean(human, np.tile([0.0, 1.0], 50), lambda_=0, alpha=0.1)
    expected = proportion_confint(ones, n, alpha=0.1, method="agresti_coull")
    assert (found.low, found.high) == pytest.approx(np.clip(expected, 0, 1), abs=1e-12)
    assert found.freedom == np.inf


@pytest.mark.parametrize("highest", [1, 3])
@pytest.mark.parametrize("lambda_", [0.0, 0.6, 1.0])
def test_pseudo_observations_of_both_labels(lambda_: float, highest: int) -> None:
    """The interval is that of the labels with a quarter of z^2 of each pair of labels added."""
    rng = np.random.default_rng(2)
    judge = np.where(rng.random(400) < 0.3, rng.integers(1, highest + 1, 400), 0).astype(float)
    human = np.where(np.arange(400) < 40, judge, NONE)
    human[[3, 7]] = highest - judge[[3, 7]]
    found = ppi_mean(human, judge, lambda_=lambda_)
    z = stats.norm.ppf(0.975)
    added = highest * np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    y, f = np.append(human[:40], added[0]), np.append(judge[:40], added[1])
    weight = np.append(np.ones(40), np.full(4, z**2 / 4))
    residual = y - lambda_ * f
    centre = np.average(residual, weights=weight)
    spread = np.average((residual - centre) ** 2, weights=weight) / weight.sum()
    middle = centre + lambda_ * judge[40:].mean()
    rest = lambda_**2 * judge[40:].var(ddof=1) / 360
    half = z * np.sqrt(spread + rest)
    assert found.low == pytest.approx(max(middle - half, 0.0), abs=1e-12)
    assert found.high == pytest.approx(middle + half, abs=1e-12)


def test_equal_labels_that_are_no_grades_have_no_interval() -> None:
    judge = np.tile([0.0, 1.0], 50)
    human = np.full(100, NONE)
    human[:10] = 1.0
    strata = np.repeat(["a", "b"], [5, 95])
    without = [ppi_mean(human, judge - 0.5), ppi_mean(human / 3, judge)]
    for one in (*without, stratified_mean(human / 2, strata)):
        assert np.isnan([one.low, one.high]).all()
        assert one.notes == ("no interval can be computed, as all values are equal",)
        assert "without interval: all values equal" in repr(one)
    # Grades have an interval, and clusters count as one label each.
    found = [ppi_mean(human, judge), ppi_mean(human, judge, clusters=np.arange(100) // 2)]
    widths = [one.high - one.low for one in (*found, stratified_mean(human, strata))]
    assert 0 < widths[0] < widths[1] < 1 and 0 < widths[2] < 1


def test_means_without_variance_among_others() -> None:
    judge = np.tile([0.0, 1.0], 50)
    human = np.full((3, 100), NONE)
    human[0, :10], human[1, :10], human[2, :10] = 1.0, 0.4, np.arange(10) % 3 == 0
    found = ppi_mean(human, judge)
    assert np.isnan(found.low).tolist() == [False, True, False]
    assert found.low[2] == ppi_mean(human[2], judge).low
    assert [note.partition(":")[0] for note in found.notes] == ["1 of 3 means"]


@pytest.mark.parametrize("strata", [False, True])
def test_a_judge_that_is_never_seen_wrong(strata: bool) -> None:
    """Scores of a judge without a visible error have an interval as wide as human labels alone."""
    rng = np.random.default_rng(3)
    judge = rng.random(200)
    human = np.where(np.arange(200) % 10 == 0, judge, NONE)
    if strata:
        groups = np.arange(200) // 100
        found = stratified_mean(human, groups, judge, lambda_=1)
        alone = stratified_mean(human, groups)
    else:
        found, alone = (ppi_mean(human, judge, lambda_=one) for one in (1, 0))
    assert found.high - found.low == pytest.approx(alone.high - alone.low)
    assert (found.low + found.high) / 2 == pytest.approx(found.estimate)
    assert found.notes[0].startswith("the interval is as wide as by human labels alone")
    assert len(found.notes) == 1 and not alone.notes


@pytest.mark.parametrize(
    ("right", "sizes", "labels"), [(0.95, [1000], 20), (0.95, [60, 40], 6), (0.6, [60, 40], 6)]
)
def test_coverage_with_a_good_judge(right: float, sizes: list[int], labels: int) -> None:
    """Of 95% intervals at least 92% contain the mean, also if the judge is seldom wrong."""
    rng = np.random.default_rng(5)
    strata = np.repeat(np.arange(len(sizes)), sizes)
    samples = 400
    human = np.full((samples, strata.size), NONE)
    truth = (rng.random(strata.size) < 0.2).astype(float)
    judge = np.where(rng.random(strata.size) < right, truth, 1 - truth)
    for row in human:
        for code in range(len(sizes)):
            some = rng.choice(np.flatnonzero(strata == code), labels, replace=False)
            row[some] = truth[some]
    single = len(sizes) == 1
    found = ppi_mean(human, judge) if single else stratified_mean(human, strata, judge)
    covered = (found.low <= truth.mean()) & (truth.mean() <= found.high)
    assert covered.mean() > 0.92


def test_folds_of_one_lambda_are_the_difference_estimator() -> None:
    """A judge of half the spread of people has lambda 1 in all folds: as if it had been given."""
    rng = np.random.default_rng(1)
    truth, strata = rng.normal(size=60), np.repeat([0, 1, 2], 20)
    human = np.where(np.arange(60) % 20 < 12, truth, NONE)
    # What the judge adds to all of a stratum does not matter.
    judge = truth / 2 + rng.normal(size=60) / 50 + 3 * strata
    learned = stratified_mean(human, strata, judge)
    given = stratified_mean(human, strata, judge, lambda_=1)
    assert learned.lambda_ == 1
    assert learned.estimate == pytest.approx(given.estimate, abs=1e-13)
    assert learned.standard_error == pytest.approx(given.standard_error, abs=1e-13)


def test_cross_fitting_in_strata_is_unbiased() -> None:
    """Over all samples, and many random folds, the mean estimate is the truth."""
    truth = np.array([0, 0, 1, 1, 5, 0, 1, 0, 2.0])
    judge = np.array([0, 1, 1, 2, 3, 0, 1, 2, 2.0])
    strata = np.repeat([0, 1], [5, 4])
    draws = list(product(combinations(range(5), 3), combinations(range(5, 9), 3)))
    human = np.full((len(draws), 9), NONE)
    for row, (one, two) in enumerate(draws):
        human[row, [*one, *two]] = truth[[*one, *two]]
    means = [
        stratified_mean(human, strata, judge, folds=2, seed=seed).estimate.mean()
        for seed in range(300)
    ]
    error = np.std(means) / np.sqrt(len(means))
    assert abs(np.mean(means) - truth.mean()) < 3 * error
    assert error < 0.01


def brute(sizes: list[int], spreads: list[float], labels: int) -> float:
    """The least variance of a stratified mean by any allocation."""
    best = np.inf
    for some in product(*(range(min(2, size), size + 1) for size in sizes)):
        if sum(some) == labels:
            best = min(best, variance_of(sizes, spreads, some))
    return best


def variance_of(sizes: Any, spreads: Any, labels: Any) -> float:
    size, spread, count = (np.asarray(one, float) for one in (sizes, spreads, labels))
    return float((size**2 * (1 - count / size) * spread**2 / count).sum())


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.sampled_from([0.0, 0.3, 1.0, 2.0])), min_size=1, max_size=3
    ),
    st.data(),
)
def test_allocation_is_near_the_best(strata: list[tuple[int, float]], data: Any) -> None:
    sizes, spreads = [one for one, _ in strata], [one for _, one in strata]
    least = sum(min(2, size) for size in sizes)
    labels = data.draw(st.integers(least, sum(sizes)))
    found = allocation(sizes, spreads, labels)
    assert found.sum() == labels
    assert (found <= sizes).all() and (found >= np.minimum(sizes, 2)).all()
    # Rounding costs a little: no label more or less somewhere is worth more than a label.
    assert (
        variance_of(sizes, spreads, found) <= brute(sizes, spreads, max(labels - 1, least)) + 1e-9
    )


def test_series_of_items_in_another_order() -> None:
    """Labels are matched by position, so indices that differ are refused."""
    human, judge = pd.Series(HUMAN), pd.Series(JUDGE)
    expected = ppi_mean(HUMAN, JUDGE).estimate
    assert ppi_mean(human, judge).estimate == expected
    assert ppi_mean(human, JUDGE).estimate == expected
    assert (
        ppi_mean([None if label != label else label for label in HUMAN], JUDGE).estimate == expected
    )
    for pair in ((human[::-1], judge), (human, judge.rename(lambda item: item + 1))):
        with pytest.raises(
            PolicyError, match="must have the same index, got different labels or orders"
        ):
            ppi_mean(*pair)
    strata = pd.Series(np.repeat(["a", "b"], 10), index=human.index[::-1])
    with pytest.raises(PolicyError, match="must have the same index"):
        stratified_mean(human, strata, judge)
