"""Tukey's HSD bootstrapped over topics: against exact arithmetic, and what must hold."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.significance import rank_sets
from cranfield.significance.resampling import draw_topic_counts
from tests.significance import reference_tukey_bootstrap as reference
from tests.significance.helpers import scored

RESAMPLES = 199


def scores_of(kind: str, topics: int, systems: int, seed: int) -> Any:
    """Draw scores; `tied` are eighths, whose sums are exact and often equal."""
    random = np.random.default_rng([topics, systems, seed])
    if kind == "tied":
        return random.integers(0, 9, (topics, systems)) / 8
    spread = random.uniform(0.05, 0.5, systems)
    return random.normal(size=(topics, 1)) + random.normal(size=(topics, systems)) * spread


def exact(values: Any, resamples: int, seed: int, *rest: Any) -> tuple[Any, Any]:
    """Return p-values and intervals of exact arithmetic, on the library's resamples."""
    rows = [[Fraction(float(value)) for value in row] for row in values]
    counts = [
        [int(count) for count in row] for row in draw_topic_counts(resamples, len(values), seed)
    ]
    return reference.outcome(rows, counts, *rest)


def same_outcome(found: cf.PairwiseComparison, expected: tuple[Any, Any]) -> None:
    pvalues, intervals = expected
    assert found.adjusted_pvalues.tolist() == [float(p) for p in pvalues]
    np.testing.assert_allclose(np.transpose(found.interval), intervals, rtol=1e-9)


@pytest.mark.parametrize("kind", ["normal", "tied"])
@pytest.mark.parametrize(("topics", "systems"), [(3, 3), (4, 5), (12, 4), (20, 3)])
def test_all_pairs_against_exact_arithmetic(kind: str, topics: int, systems: int) -> None:
    values = scores_of(kind, topics, systems, 1)
    found = cf.compare(scored(values), resamples=RESAMPLES, seed=1)
    assert found.correction == "bootstrap-tukey"
    same_outcome(found, exact(values, RESAMPLES, 1, list(combinations(range(systems), 2))))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("baselines", [[2], [1, 3]])
def test_baselines_against_exact_arithmetic(alternative: Any, baselines: list[int]) -> None:
    values = scores_of("tied", 15, 5, 7) + np.array([0, 0.5, 0.25, 0.125, 0])
    pairs = [(s, b) for b in baselines for s in range(5) if s not in baselines]
    found = cf.compare(
        values,
        baseline=[str(b + 1) for b in baselines],
        alternative=alternative,
        resamples=99,
        seed=3,
    )
    same_outcome(found, exact(values, 99, 3, pairs, alternative))


def test_two_systems_are_the_bootstrap_test() -> None:
    values = scores_of("tied", 11, 2, 1)
    pair = cf.compare(values, test="anova-2", resamples=RESAMPLES, seed=5)
    same_outcome(pair, exact(values, RESAMPLES, 5, [(0, 1)]))
    plain = cf.compare(values, resamples=RESAMPLES, seed=5)
    assert (plain.test, plain.correction) == ("bootstrap", "none")
    assert plain.adjusted_pvalues.tolist() == pair.adjusted_pvalues.tolist()
    np.testing.assert_allclose(plain.interval, pair.interval, rtol=1e-12)


def test_shards_are_compared_by_topic_means() -> None:
    random = np.random.default_rng(8)
    shards = random.normal(size=(14, 4, 3)) + np.array([0, 0.3, 0.6, 0.9])[:, None]
    names = [tuple(map(str, range(size))) for size in shards.shape]
    found = cf.compare(cf.Scores(shards, names[0], names[1]), resamples=RESAMPLES)
    flat = cf.compare(shards.mean(axis=2), resamples=RESAMPLES)
    assert found.test == "random-topics"
    assert found.adjusted_pvalues.tolist() == flat.adjusted_pvalues.tolist()
    np.testing.assert_allclose(found.interval, flat.interval, rtol=1e-12)


def test_the_statistic_is_tukeys() -> None:
    """Of the same scores Tukey's q by the root of 2; the error is that of two-way ANOVA."""
    values = scores_of("normal", 25, 6, 2)
    found = cf.compare(values, resamples=RESAMPLES)
    tukey = cf.compare(values, correction="tukey")
    np.testing.assert_allclose(found.statistic, tukey.statistic / math.sqrt(2), rtol=1e-12)


def test_a_resample_is_the_same_for_any_threads_order_and_scale() -> None:
    values = scores_of("normal", 30, 7, 3)
    found = cf.compare(values, resamples=499, seed=1)
    assert found.adjusted_pvalues.tolist() == (
        cf.compare(values, resamples=499, seed=1, jobs=1).adjusted_pvalues.tolist()
    )
    scaled = cf.compare(values * 4 + 3, resamples=499, seed=1)
    assert scaled.adjusted_pvalues.tolist() == found.adjusted_pvalues.tolist()
    other = cf.compare(values, resamples=499, seed=2)
    assert other.adjusted_pvalues.tolist() != found.adjusted_pvalues.tolist()
    order = [3, 1, 5, 0, 4, 2, 6]
    moved = cf.compare(values[:, order], resamples=499, seed=1)
    np.testing.assert_array_equal(moved.pvalue_matrix, found.pvalue_matrix[np.ix_(order, order)])


def test_rank_sets_are_those_of_the_comparison() -> None:
    values = scores_of("normal", 20, 8, 4) + np.linspace(0, 1, 8)
    board, found = rank_sets(values, seed=2), cf.compare(values, seed=2)
    np.testing.assert_array_equal(board.interval, found.rank_sets().interval)
    assert board.own_interval is not None
    assert (board.own_interval[0] >= board.interval[0]).all()
    assert (board.own_interval[1] <= board.interval[1]).all()
    ranks = found.ranking()["ranks"].to_list()
    assert ranks == [
        str(a) if a == b else f"{a}-{b}"
        for a, b in zip(board.to_polars()["from"], board.to_polars()["to"], strict=True)
    ]


def test_own_ranks_against_a_family_for_each_system() -> None:
    """The pairs of one system with all others are the comparison with that system as baseline."""
    values = scores_of("normal", 16, 6, 5) + np.linspace(0, 0.5, 6)
    board = rank_sets(values, seed=4, resamples=RESAMPLES)
    assert board.own_pvalues is not None
    for system in range(6):
        alone = cf.compare(
            values, test="anova-2", baseline=str(system + 1), seed=4, resamples=RESAMPLES
        )
        assert board.own_pvalues[system, alone.first].tolist() == alone.adjusted_pvalues.tolist()
