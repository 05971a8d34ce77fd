"""Tukey's HSD bootstrapped over topics, and several measures: exact arithmetic, what must hold."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.significance import compare_measures, rank_sets
from cranfield.significance.resampling import draw_topic_counts
from tests.significance import reference_tukey_bootstrap as reference
from tests.significance.helpers import scored

RESAMPLES = 99


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
@pytest.mark.parametrize(("topics", "systems"), [(3, 3), (4, 5), (12, 4)])
def test_all_pairs_against_exact_arithmetic(kind: str, topics: int, systems: int) -> None:
    values = scores_of(kind, topics, systems, 1)
    found = cf.compare(scored(values), resamples=RESAMPLES, seed=1)
    assert found.correction == "bootstrap-tukey"
    same_outcome(found, exact(values, RESAMPLES, 1, list(combinations(range(systems), 2))))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("baselines", [[2], [1, 3]])
def test_baselines_against_exact_arithmetic(alternative: Any, baselines: list[int]) -> None:
    values = scores_of("tied", 12, 4, 7) + np.array([0, 0.5, 0.25, 0.125])
    pairs = [(s, b) for b in baselines for s in range(4) if s not in baselines]
    names = [str(b + 1) for b in baselines]
    found = cf.compare(values, baseline=names, alternative=alternative, resamples=99, seed=3)
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


def two_measures() -> dict[str, cf.Scores]:
    random = np.random.default_rng(8)
    values = random.gamma(0.7, 0.3, size=(15, 4)) + np.arange(4) * 0.25
    other = 5 * values + random.normal(size=(15, 4)) - np.arange(4)
    return {"one": scored(values), "other": scored(other)}


def test_by_hand() -> None:
    """Each pair of each measure beside the largest t of itself and all below it."""
    given = two_measures()
    found = compare_measures(given, correction="bootstrap-max-t", resamples=499, seed=2)
    counts = draw_topic_counts(499, 15, 2).astype(int)
    t, resampled, error = [], [], []
    for one in given.values():
        for j in range(4):
            for k in range(j + 1, 4):
                d = one.values[:, j] - one.values[:, k]
                error.append(d.std(ddof=1) / np.sqrt(15))
                t.append(abs(d.mean()) / error[-1])
                drawn = np.array([np.repeat(d - d.mean(), row) for row in counts])
                spread = drawn.std(axis=1, ddof=1) / np.sqrt(15)
                resampled.append(np.abs(drawn.mean(axis=1)) / spread)
    expected, above = np.empty(12), 0.0
    for place in np.argsort(t)[::-1]:
        below = [k for k in range(12) if t[k] <= t[place]]
        largest = np.max([resampled[k] for k in below], axis=0)
        above = max(above, (1 + (largest >= t[place] * (1 - 1e-9)).sum()) / 500)
        expected[place] = above
    assert found.pvalues.T.ravel() == pytest.approx(expected, abs=1e-12)
    half = np.sort(np.max(resampled, axis=0))[499 - 25] * np.array(error)
    shown = ((found.interval[1] - found.interval[0]) / 2).T.ravel()
    by_later_steps = (found.pvalues.T.ravel() <= 0.05) & (abs(found.difference.T.ravel()) <= half)
    assert np.isnan(shown).tolist() == by_later_steps.tolist()
    assert shown[~by_later_steps] == pytest.approx(half[~by_later_steps])
    assert {*found.verdicts.ravel().tolist()} >= {-1, 0}


def test_beside_one_measure() -> None:
    """One measure alone, and twice: as `compare` says; two cost something, and not each."""
    given = two_measures()
    alone = cf.compare(given["one"], seed=4)
    one = compare_measures({"one": given["one"]}, seed=4)
    twice = compare_measures({"one": given["one"], "again": given["one"]}, seed=4, jobs=3)
    assert one.pvalues[:, 0].tolist() == alone.adjusted_pvalues.tolist()
    assert twice.pvalues.tolist() == np.repeat(one.pvalues, 2, axis=1).tolist()
    assert one.interval[0][:, 0] == pytest.approx(alone.interval[0])
    both = compare_measures(given, seed=4)
    assert (both.pvalues[:, :1] >= one.pvalues).all()


def test_pooled_errors_against_exact_arithmetic() -> None:
    """Each measure has one error; of each resample the largest statistic of both counts."""
    given = {name: one.values.round(2) for name, one in two_measures().items()}
    found = compare_measures({k: scored(v) for k, v in given.items()}, resamples=99, seed=2)
    counts = [[int(n) for n in row] for row in draw_topic_counts(99, 15, 2)]
    pairs = list(combinations(range(4), 2))
    observed: list[Any] = []
    largest: list[Any] = []
    for values in given.values():
        rows = [[Fraction(float(value)) for value in row] for row in values]
        observed += reference.statistic_signed_squares(rows, pairs, "two-sided")
        largest.append(reference.maximum_signed_squares(rows, counts, pairs, "two-sided"))
    both = [max(pair) for pair in zip(*largest, strict=True)]
    expected = [(1 + sum(most >= t for most in both)) / 100 for t in observed]
    assert found.pvalues.T.ravel().tolist() == expected


def test_directions() -> None:
    """What is better depends on the measure; contradictions are counted."""
    random = np.random.default_rng(1)
    values = random.normal(size=(20, 2)) * 0.01 + [0, 1]
    same = random.normal(size=(20, 2))
    given = {
        "up": scored(values),
        "cost": scored(values, lower_is_better=True),
        "nothing": scored(same),
    }
    found = compare_measures(given, resamples=999)
    assert found.verdicts.tolist() == [[-1, 1, 0]]
    assert found.count_measures().rows() == [("s0", "s1", 1, 1)]
    assert (
        "1 pair significantly different by at least one measure, 0 of them significant in the same"
        " direction by every measure, 1 in opposite directions by different measures"
    ) in str(found)
    assert "lower scores of the measure are better" in str(found)
    # No t-test was run.
    assert "t-test" not in str(found)
    turned = compare_measures(given, resamples=999, baseline="s0")
    assert turned.verdicts.tolist() == [[1, -1, 0]]
    assert turned.to_polars()["measure"].to_list() == ["up", "cost", "nothing"]


@pytest.mark.parametrize("correction", ["bootstrap-tukey", "bootstrap-max-t"])
def test_joint_decisions_that_depend_on_the_seed_have_a_note(correction: str) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 1, (30, 3)) + [0.0, 0.3, 0.6]
    given = {"x": scored(values), "y": scored(values + rng.normal(0, 1, (30, 3)))}
    compare = partial(compare_measures, given, correction=correction, resamples=500)
    pvalues = [p for p in compare().pvalues.ravel().tolist() if 0.01 < p < 0.9]
    assert len({*pvalues}) > 2
    for alpha in (*pvalues, min(pvalues) / 9):
        found = compare(alpha=alpha)
        error = 1.96 * np.sqrt(alpha * (1 - alpha) / 500)
        n_close = int((np.abs(found.pvalues - alpha) <= error).sum())
        notes = [note for note in found.notes if "another seed" in note]
        assert len(notes) == (n_close > 0) == (alpha in pvalues)
        for note in notes:
            close = np.abs(found.pvalues - alpha).T.ravel() <= error
            measure, pair = divmod(int(np.flatnonzero(close)[0]), len(found))
            first, second = (found.systems[side[pair]] for side in (found.first, found.second))
            assert note.startswith(f"{n_close} p-value")
            assert f"({first} and {second} by {found.measures[measure]}: p = " in note
            assert "more resamples" in note and "more resamples" not in found.prose()
    # Constant differences have exact p-values.
    constant = {"x": scored(np.arange(5)[:, None] + np.arange(3))}
    compare = partial(compare_measures, constant, correction=correction, resamples=100)
    alpha = float(compare().pvalues.min())
    assert alpha < 1
    found = compare(alpha=alpha)
    assert not any("another seed" in note for note in found.notes)


@pytest.mark.filterwarnings("error")
def test_odd_scores() -> None:
    """Measures that say nothing do no harm; a topic that lacks a score of any is left out."""
    values = np.random.default_rng(1).normal(size=(20, 3))
    found = compare_measures({"a": scored(values), "b": scored(np.full((20, 3), 0.5))})
    assert found.pvalues[:, 1].tolist() == [1, 1, 1]
    alone = compare_measures({"a": scored(values)})
    assert found.pvalues[:, 0].tolist() == alone.pvalues[:, 0].tolist()
    gaps = values.copy()
    gaps[3, 1] = np.nan
    kept = compare_measures({"a": scored(values), "b": scored(gaps)}, missing="drop")
    assert kept.n_topics == 19
    assert "1 topic excluded: no score of some systems" in kept.notes
    mixed = scored(values).select(systems=["s2", "s0", "s1"])
    again = compare_measures({"a": scored(values), "b": mixed})
    assert again.difference[:, 0].tolist() == again.difference[:, 1].tolist()


def test_a_note_of_all_measures_is_said_once() -> None:
    one = {"a": [0.1, 0.4, 0.3, 0.2], "b": [0.2, 0.3, 0.6, 0.5]}
    found = compare_measures({"x": cf.read_scores(_named(one)), "y": cf.read_scores(_named(one))})
    assert len(found.notes) == len(set(found.notes))


def _named(values: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {name: {str(k): v for k, v in enumerate(some)} for name, some in values.items()}


def test_a_measure_that_hardly_varies_is_named_jointly() -> None:
    """One of 12 topics decides: it is absent from (11/12)^12 = 35% of the resamples."""
    random = np.random.default_rng(2)
    clear = random.random((12, 3)) * 0.1 + np.array([0.1, 0.4, 0.8])
    flat = np.ones((12, 3))
    flat[0, 0] = 0.5
    joint = compare_measures({"AP": scored(clear), "RR": scored(flat)})
    assert 0.3 < joint.pvalues.min() < 0.4
    assert any(f"{joint.pvalues.min():.2g}; this is due to RR" in note for note in joint.notes)
    alone = compare_measures({"AP": scored(clear)})
    assert alone.pvalues.max() < 0.05
    assert not any("can be below" in note for note in alone.notes)
