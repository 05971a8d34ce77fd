"""The swap method."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from cranfield.meta.measure_studies.swap_method import Swaps, choose_bins, swap_method
from cranfield.meta.test_studies.fast_tests import draw_topic_sets
from cranfield.scores import Scores
from tests.significance.helpers import scored

BINS = tuple(k / 100 for k in range(21))


def some_scores(seed: int = 0, topics: int = 12, systems: int = 6) -> np.ndarray:
    """Scores as P@10 gives them: with ties, within topics and of means."""
    random = np.random.default_rng(seed)
    return random.binomial(10, np.linspace(0.3, 0.6, systems), (topics, systems)) / 10


def loops(
    values: np.ndarray, size: int, repeats: int, seed: int, ties: str, alpha: float | None
) -> list[list[int]]:
    """Count pairs, comparisons, swaps and ties by bin, loop by loop."""
    counts = [[0] * 4 for _ in BINS]
    for repeat in range(repeats):
        mine, other = draw_topic_sets(len(values), size, repeat, seed)
        for x, y in combinations(range(values.shape[1]), 2):
            # Tenths, added as whole numbers.
            d1 = int(np.rint(10 * (values[mine, x] - values[mine, y])).sum())
            d2 = int(np.rint(10 * (values[other, x] - values[other, y])).sum())
            # |d1| / (10 size) in hundredths, rounded down.
            place = min(abs(d1) * 10 // size, 20)
            counts[place][0] += 1
            if alpha is not None:
                differences = values[mine, x] - values[mine, y]
                if not differences.any() or not stats.ttest_1samp(differences, 0).pvalue <= alpha:
                    continue
            counts[place][1] += 1
            counts[place][2] += d1 * d2 < 0 or (ties == "swaps" and d1 * d2 == 0)
            counts[place][3] += d1 * d2 == 0
    return counts


@pytest.mark.parametrize("ties", ["apart", "swaps"])
def test_against_loops(ties: str) -> None:
    values = some_scores()
    found = swap_method(scored(values), sizes=[1, 4, 6], repeats=60, seed=3, ties=ties, bins=BINS)
    for size in (1, 4, 6):
        rows = found.rates.filter(size=size)
        wanted = loops(values, size, 60, 3, ties, None)
        assert rows["pairs", "comparisons", "swaps", "ties"].rows() == [tuple(r) for r in wanted]
        rates = [swaps / n if n else None for _, n, swaps, _ in wanted]
        assert rows["rate"].to_list() == rates
        assert rows["low"].to_list() == list(BINS)
        assert rows["high"].to_list() == [*BINS[1:], np.inf]
    total = found.overall.row(1, named=True)
    by_hand = np.sum(loops(values, 4, 60, 3, ties, None), axis=0)
    assert total["pairs"] == 60 * 15 == by_hand[0]
    assert (total["swaps"], total["ties"]) == (by_hand[2], by_hand[3])
    assert total["rate"] == by_hand[2] / by_hand[1]


def test_with_a_test_against_loops_and_scipy() -> None:
    values = some_scores(1) + 0.1 * (np.arange(6) > 3)
    found = swap_method(scored(values), sizes=[6], repeats=25, test="t", alpha=0.1, bins=BINS)
    wanted = loops(values, 6, 25, 0, "apart", 0.1)
    assert found.rates["pairs", "comparisons", "swaps", "ties"].rows() == [tuple(r) for r in wanted]
    assert (found.test, found.correction, found.alpha) == ("t", "none", 0.1)
    assert 0 < found.overall["comparisons"][0] < found.overall["pairs"][0]


@pytest.mark.parametrize("test", ["sign", "signed-rank", "randomisation"])
def test_a_test_lowers_the_rate(test: str) -> None:
    scores = scored(some_scores(2, 20))
    every = swap_method(scores, sizes=[10])
    passed = swap_method(scores, sizes=[10], test=test, resamples=100)
    assert passed.overall["pairs"][0] == every.overall["comparisons"][0]
    assert 0 < passed.overall["comparisons"][0] < every.overall["comparisons"][0]
    assert passed.overall["rate"][0] < every.overall["rate"][0]


def test_topic_sets() -> None:
    sets = np.array([draw_topic_sets(9, 4, repeat, 0) for repeat in range(2000)])
    assert sets.shape == (2000, 2, 4)
    for both in sets:
        assert len(set(both.ravel())) == 8
    # Each topic is in a set as often as any other: 2000 * 4 / 9, give or take.
    for k in (0, 1):
        counts = np.bincount(sets[:, k].ravel(), minlength=9)
        assert stats.chisquare(counts).pvalue > 1e-3
    again = np.array([draw_topic_sets(9, 9, repeat, 0, replacement=True) for repeat in range(500)])
    assert again.shape == (500, 2, 9) and len(set(again[0, 0])) < 9
    assert not (np.array(draw_topic_sets(9, 4, 0, 1)) == sets[0]).all()


def test_systems_that_are_the_same_or_always_better() -> None:
    values = some_scores()[:, :1]
    found = swap_method(scored(np.hstack([values, values, values + 0.25])), sizes=[5], repeats=10)
    rates = found.rates.filter(pl.col("pairs") > 0)
    assert rates["low", "comparisons", "swaps", "ties", "rate"].rows() == [
        (0.0, 10, 0, 10, 0.0),
        (0.2, 20, 0, 0, 0.0),
    ]
    as_swaps = swap_method(scored(np.hstack([values, values])), sizes=[5], ties="swaps")
    assert as_swaps.overall.row(0) == (5, 50, 50, 50, 50, 1.0)


def test_differences_at_the_edge_of_a_bin() -> None:
    """Means of two tenths that are not exact as floats."""
    for step in range(1, 20):
        values = np.zeros((6, 2))
        values[:, 1] = step / 100
        values += np.array([[0.1], [0.2], [0.3], [0.7], [0.05], [0.6]])
        rates = swap_method(scored(values), sizes=[3], repeats=20, bins=BINS).rates
        [low] = rates.filter(pl.col("pairs") > 0)["low"].to_list()
        assert low == BINS[step]


def test_smallest_difference() -> None:
    rates = pl.DataFrame(
        {
            "size": [5] * 5 + [10] * 5 + [15] * 5,
            "low": [0.0, 0.1, 0.2, 0.3, 0.4] * 3,
            "comparisons": [100, 60, 40, 0, 20, 100, 60, 40, 20, 20, 10, 10, 10, 10, 10],
            "swaps": [30, 2, 3, 0, 1, 4, 1, 0, 0, 0, *[5] * 5],
        }
    )
    found = Swaps({}, sizes=(5, 10, 15), rates=rates).find_smallest_differences()
    assert found.rows() == [(5, 0.4, 20 / 220), (10, 0.0, 1.0), (15, None, None)]


def test_few_comparisons_with_large_differences_are_joined() -> None:
    """One of 4 comparisons in the top bin swaps, and one of 30 from 0.2 on: below 5%."""
    rates = pl.DataFrame(
        {"size": [5] * 4, "low": [0.0, 0.1, 0.2, 0.3], "comparisons": [90, 40, 26, 4]}
    ).with_columns(swaps=pl.Series([30, 8, 0, 1]))
    one = Swaps({}, sizes=(5,), rates=rates)
    assert one.find_smallest_differences().rows() == [(5, 0.2, 30 / 160)]
    # 4 comparisons are enough for an error of 0.25, and 1 of 4 is not above it.
    assert one.find_smallest_differences(0.25).rows() == [(5, 0.1, 70 / 160)]
    assert one.find_smallest_differences(0.2).rows() == [(5, 0.1, 70 / 160)]


def test_bins_by_default() -> None:
    assert choose_bins(np.array([[0.0, 1.0]])) == (*BINS, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8)
    assert choose_bins(np.array([[0.1, 0.1]])) == (0.0,)
    assert choose_bins(np.array([[0.0, 0.05], [0.3, 0.3]])) == tuple(k / 200 for k in range(10))
    assert choose_bins(np.array([[0.0, 100.0]]))[-3:] == (50.0, 60.0, 80.0)


def test_extrapolation_against_curve_fit() -> None:
    found = swap_method(scored(some_scores(5, 60, 12)), repeats=20)
    fit = found.extrapolate_rates(100)
    assert tuple(fit["low"]) == found.bins
    for row in fit.head(8).iter_rows(named=True):
        mine = found.rates.filter(pl.col("low") == row["low"], pl.col("comparisons") > 0)
        sizes, rates = mine["size"].to_numpy(), mine["rate"].to_numpy()
        wanted, _ = optimize.curve_fit(
            lambda n, a, b: a * np.exp(-b * n),
            sizes,
            rates,
            p0=(0.4, 0.01),
            sigma=1 / np.sqrt(mine["comparisons"].to_numpy()),
            bounds=([0, 0], [1, np.inf]),
        )
        np.testing.assert_allclose((row["a1"], row["a2"]), wanted, rtol=1e-3, atol=1e-6)
        assert row["rate"] == pytest.approx(row["a1"] * np.exp(-100 * row["a2"]))


def test_extrapolation_of_what_is_exponential() -> None:
    sizes = np.arange(1, 21)
    comparisons = np.full(20, 1_000)
    rates = pl.DataFrame(
        {
            "size": [*sizes, *sizes[:2], *sizes],
            "low": [0.0] * 20 + [0.1] * 2 + [0.2] * 20,
            "high": [0.1] * 20 + [0.2] * 2 + [np.inf] * 20,
            "comparisons": [*comparisons, *comparisons[:2], *comparisons],
            "rate": [*(0.45 * np.exp(-0.03 * sizes)), 0.5, 0.5, *(0.0 * sizes)],
        }
    )
    some = Swaps({}, rates=rates)
    known, few, never = some.extrapolate_rates(50).rows()
    assert known[2:] == pytest.approx((0.45, 0.03, 0.0, 0.45 * np.exp(-1.5)), abs=1e-6)
    assert few == (0.1, 0.2, None, None, None, None)
    assert never[-1] == pytest.approx(0.0, abs=1e-6)


@given(st.integers(0, 30), st.sampled_from([0.5, 2.0, 3.0]), st.floats(-1, 1))
@settings(max_examples=15, deadline=None)
def test_names_order_and_units_do_not_matter(seed: int, unit: float, origin: float) -> None:
    values = some_scores(seed)
    order = np.random.default_rng(seed).permutation(6)
    plain = swap_method(scored(values), sizes=[2, 6], repeats=10, bins=BINS).rates
    other = Scores(
        unit * values[:, order] + origin,
        tuple("abcdefghijkl"),
        tuple(f"x{k}" for k in order),
        lower_is_better=True,
    )
    found = swap_method(other, sizes=[6, 2], repeats=10, bins=[unit * b for b in BINS]).rates
    counts = ("size", "pairs", "comparisons", "swaps", "ties", "rate")
    assert found.select(counts).equals(plain.select(counts))


def test_more_repeats_and_sizes_add_parts(tmp_path: Path) -> None:
    scores = scored(some_scores())
    plain = swap_method(scores, sizes=[3, 6], repeats=120)
    first = swap_method(scores, sizes=[6], repeats=50, folder=tmp_path)
    assert first.overall["pairs"].to_list() == [750]
    done: list[tuple[int, int]] = []
    again = swap_method(
        scores,
        sizes=[3, 6],
        repeats=120,
        folder=tmp_path,
        progress=lambda k, n: done.append((k, n)),
    )
    assert done[0] == (1, 6) and done[-1] == (6, 6)
    assert again.rates.equals(plain.rates)


def test_sizes_by_default() -> None:
    assert swap_method(scored(some_scores(topics=9)), repeats=1).sizes == (1, 2, 3, 4)
    assert swap_method(scored(some_scores(topics=9)), repeats=1, test="t").sizes == (2, 3, 4)
    many = swap_method(scored(some_scores(topics=200)), repeats=1).sizes
    assert len(many) == 25 and (many[0], many[-1]) == (1, 100)
    whole = swap_method(scored(some_scores(topics=9)), repeats=1, replacement=True)
    assert whole.sizes[-1] == 9 and whole.replacement


def test_representation() -> None:
    found = swap_method(scored(np.ones((4, 3)), measure="AP"), sizes=[2], repeats=10)
    assert repr(found) == (
        "Swaps(AP: swap method: 3 systems, 10 repeats, seed 0; 0.0% of comparisons swapped with two"
        " sets of 2 topics)"
    )
    none = swap_method(scored(np.ones((4, 3))), sizes=[2], repeats=10, test="t")
    assert repr(none) == (
        "Swaps(swap method: 3 systems, 10 repeats, seed 0, t at 0.05; no pair compared with two"
        " sets of 2 topics)"
    )
    assert none.find_smallest_differences().rows() == [(2, None, None)]
