"""Corrections of p-values and their distributions: SciPy, statsmodels, tables, plain versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

import cranfield as cf
from cranfield.significance import compare_measures
from cranfield.significance.corrections.pvalue_corrections import adjust_pvalues
from cranfield.significance.corrections.resampled import CentredPairs, adjust_by_max_t, step_down
from cranfield.significance.corrections.studentised import (
    compute_maximum_sf,
    studentised_range_isf,
    studentised_range_sf,
)
from cranfield.significance.differences import pair_all
from cranfield.significance.registry import TestOptions
from cranfield.significance.resampling import draw_signs, draw_topic_counts

# Tests without this choice warn; it is passed to all.
pytestmark = pytest.mark.filterwarnings("ignore:exact has no effect")

SIDES = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}
FIRST, SECOND = np.triu_indices(4, 1)


def four_systems(topics: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(0, [0.1, 0.5, 0.2, 0.3], (topics, 4)) + np.array([0, 0.4, 0.05, 0.2])


def student(differences: Any) -> Any:
    """Return Student's t of each column."""
    n = len(differences)
    return differences.mean(axis=0) / (differences.std(axis=0, ddof=1) / np.sqrt(n))


def plain(observed: Any, resampled: Any, side: str) -> tuple[list[float], list[float]]:
    """Westfall and Young's algorithm 4.1: step down by the largest t of each resample."""
    t, drawn = SIDES[side](observed), SIDES[side](np.array(resampled))
    p, last = np.empty(t.size), 0.0
    for pair in np.argsort(-t):
        largest = drawn[:, t <= t[pair]].max(axis=1)
        last = max(last, ((largest >= t[pair] - 1e-9).sum() + 1) / (len(drawn) + 1))
        p[pair] = last
    return p.tolist(), np.sort(drawn.max(axis=1)).tolist()


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n", [5, 12])
def test_sign_flips_against_a_plain_version(side: str, n: int) -> None:
    for seed in range(3):
        values = four_systems(n, seed)
        d = values[:, FIRST] - values[:, SECOND]
        flipped = [student(row[:, None] * d) for row in draw_signs(99, n, seed)]
        found = adjust_by_max_t(pair_all(values), TestOptions(side, resamples=99, seed=seed))
        assert found.tolist() == pytest.approx(plain(student(d), flipped, side)[0], abs=1e-12)


@pytest.mark.parametrize("side", SIDES)
def test_resampled_topics_against_a_plain_version(side: str) -> None:
    for seed in range(3):
        values = four_systems(12, seed)
        d = values[:, FIRST] - values[:, SECOND]
        rows = draw_topic_counts(99, 12, seed).astype(int)
        resampled = [student(np.repeat(d - d.mean(axis=0), row, axis=0)) for row in rows]
        options = TestOptions(side, resamples=99, seed=seed)
        pvalue, largest = step_down([CentredPairs(pair_all(values))], options)
        expected = plain(student(d), resampled, side)
        assert pvalue.tolist() == pytest.approx(expected[0], abs=1e-12)
        assert largest.tolist() == pytest.approx(expected[1], rel=1e-9)


@pytest.mark.parametrize(
    ("correction", "test"), [("max-t", "randomisation"), ("bootstrap-max-t", "bootstrap")]
)
def test_one_pair_is_the_test_of_one_pair(correction: str, test: str) -> None:
    """For one pair the largest t is its own; under sign flips it rises with the mean difference."""
    values = np.random.default_rng(0).random((40, 2)) + np.array([0, 0.1])
    drawn: dict[str, Any] = {"resamples": 999, "seed": 5}
    alone = cf.compare(values, test=test, correction="none", exact=False, **drawn)
    found = cf.compare(values, test="t", correction=correction, **drawn)
    assert found.adjusted_pvalues[0] == alone.raw_pvalues[0]
    if test == "bootstrap":
        np.testing.assert_allclose(found.interval, alone.interval, rtol=1e-12)


@pytest.mark.parametrize("correction", ["max-t", "bootstrap-max-t"])
def test_what_must_hold(correction: str) -> None:
    values = np.random.default_rng(7).random((30, 6)) * np.array([0.1, 0.2, 0.4, 0.8, 1, 1])

    def compared(of: Any, **more: Any) -> cf.PairwiseComparison:
        options: dict[str, Any] = {"test": "t", "correction": correction, "resamples": 499}
        return cf.compare(of, **{**options, "seed": 1, **more})

    found = compared(values)
    assert (found.correction, found.seed, found.resamples) == (correction, 1, 499)
    p = found.adjusted_pvalues
    np.testing.assert_array_equal(p, compared(values, jobs=1).adjusted_pvalues)
    np.testing.assert_array_equal(p, compared(values * 4 + 3).adjusted_pvalues)
    assert not np.array_equal(p, compared(values, seed=2).adjusted_pvalues)
    order = [3, 1, 5, 0, 4, 2]
    moved = compared(values[:, order])
    np.testing.assert_array_equal(moved.pvalue_matrix, found.pvalue_matrix[np.ix_(order, order)])
    # Fewer pairs are corrected less.
    few = compared(values, baseline="1")
    assert (few.adjusted_pvalues <= found.pvalue_matrix[0, 1:]).all()
    # A system does not differ from its copy, and constant scores do not differ at all.
    twin = np.column_stack([values[:, :2], values[:, 0]])
    assert compared(twin).adjusted_pvalues[1] == 1.0
    assert (compared(np.ones((5, 3))).adjusted_pvalues == 1.0).all()


@pytest.mark.parametrize(
    ("test", "correction"), [("randomisation", "randomised-tukey"), ("t", "max-t")]
)
def test_the_advice_on_assumptions_can_be_followed(test: str, correction: str) -> None:
    """The recommended correction is not one that the test refuses."""
    x = np.random.default_rng(0).normal(size=(40, 5)) * [0.01, 0.01, 0.01, 0.01, 1]
    notes = cf.compare(x, test=test, correction=correction, resamples=99).notes
    assert any("bootstrap-tukey with the test anova-2" in note for note in notes)


def test_it_holds_its_level_where_variances_differ() -> None:
    """Tukey's HSD calls pairs of noisy systems different too often; max-T does not."""
    sets, wrong, told = 100, {"tukey": 0, "max-t": 0}, 0
    deviations = np.array([0.03] * 6 + [0.3, 0.3])
    for k in range(sets):
        rng = np.random.default_rng(k)
        values = rng.normal(0, deviations, (20, 8)) + rng.normal(0, 0.2, (20, 1))
        wrong["max-t"] += (
            adjust_by_max_t(pair_all(values), TestOptions(resamples=299, seed=k)).min() <= 0.05
        )
        found = cf.compare(values, correction="tukey")
        wrong["tukey"] += found.adjusted_pvalues.min() <= 0.05
        told += any("bootstrap-tukey" in note for note in found.notes)
    assert told > 0.9 * sets
    equal = np.random.default_rng(5).normal(0, 1, (50, 8))
    notes = cf.compare(equal, correction="tukey").notes
    assert not any("bootstrap-tukey" in note for note in notes)
    # Two standard errors of .05 in 100 sets are .044.
    assert wrong["max-t"] / sets < 0.096 < wrong["tukey"] / sets


def test_intervals_are_those_of_the_single_step() -> None:
    values = np.random.default_rng(3).normal(0, 0.1, (25, 8)) + np.linspace(0, 0.2, 8)
    found = cf.compare(values, test="t", correction="bootstrap-max-t", resamples=999, seed=2)
    assert found.interval_kind == "all pairs simultaneously"
    # The largest difference is judged by a single step.
    top = np.argmax(np.abs(found.statistic))
    for alpha in (0.001, 0.01, 0.02, 0.05, 0.2, 0.5):
        low, high = found.compute_interval(alpha)
        assert (found.adjusted_pvalues[top] <= alpha) == (low[top] > 0 or high[top] < 0)
    too_few = cf.compare(values, test="t", correction="bootstrap-max-t", resamples=9)
    assert np.isinf(too_few.interval).all()


def test_a_pair_without_variation_is_tested_by_sign_flips() -> None:
    """As alone, with Bonferroni's correction for three pairs."""
    base = np.random.default_rng(1).random(12)
    values = {"a": base, "b": base + 0.25, "c": np.random.default_rng(2).random(12)}
    found = cf.compare(values, test="t", correction="bootstrap-max-t", resamples=199)
    assert found.adjusted_pvalues[0] == 3 * 2.0**-11
    assert [ends[0] for ends in found.interval] == pytest.approx([-0.25, -0.25])
    joint = compare_measures({"x": values}, correction="bootstrap-max-t", resamples=199)
    np.testing.assert_array_equal(joint.pvalues[:, 0], found.adjusted_pvalues)
    np.testing.assert_array_equal(np.array(joint.interval)[:, :, 0], found.interval)
    rest = cf.compare({k: values[k] for k in "ac"}, test="t", correction="none")
    assert found.adjusted_pvalues[1] >= rest.adjusted_pvalues[0] / 10


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_p_of_no_difference_is_between_those_beside_it(alternative: str) -> None:
    """A mean difference of exactly 0 was 1 once, above that of pairs on the wrong side."""
    noise = np.random.default_rng(4).integers(-8, 9, (20, 4)) / 64
    # Sums of such numbers are exact, and so are means that are none.
    noise[0] -= noise.sum(axis=0)
    values = 0.5 + noise + np.array([4, 4, 5, 3]) / 64
    found = cf.compare(
        {str(k): column.tolist() for k, column in enumerate(values.T)},
        test="t",
        correction="bootstrap-max-t",
        alternative=alternative,
        baseline="0",
        resamples=499,
    )
    assert (found.difference == 0).sum() == 1
    side = found.statistic if alternative == "greater" else -found.statistic
    falling = found.adjusted_pvalues[np.argsort(-side)]
    assert (np.diff(falling) >= 0).all()
    assert falling[-1] < 1


PVALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(PVALUES)
def test_false_discovery_rates_are_those_of_scipy(pvalues: list[float]) -> None:
    for name in ("bh", "by"):
        expected = false_discovery_control(pvalues, method=name)
        np.testing.assert_allclose(adjust_pvalues(pvalues, name), expected, atol=1e-12)


@given(PVALUES)
def test_sidak_and_hommel_are_those_of_statsmodels(pvalues: list[float]) -> None:
    for name in ("sidak", "hommel"):
        with np.errstate(divide="ignore"):
            expected = multipletests(pvalues, method=name)[1]
        np.testing.assert_allclose(adjust_pvalues(pvalues, name), expected, atol=1e-12)


@given(PVALUES)
def test_holm_is_closed_testing_by_bonferroni(pvalues: list[float]) -> None:
    """Each step tests what is left; a step is not passed by less than those before it."""
    order = np.argsort(pvalues, kind="stable")
    expected, least = np.empty(len(pvalues)), 0.0
    for place, k in enumerate(order):
        least = max(least, min(1.0, pvalues[k] * (len(pvalues) - place)))
        expected[k] = least
    np.testing.assert_allclose(adjust_pvalues(pvalues, "holm"), expected, atol=1e-15)
    together = np.minimum(1.0, np.array(pvalues) * len(pvalues))
    np.testing.assert_allclose(adjust_pvalues(pvalues, "bonferroni"), together, atol=1e-15)
    assert adjust_pvalues(pvalues, "none").tolist() == pvalues


def test_what_is_no_number_counts_for_nothing_and_shapes_stay() -> None:
    found = adjust_pvalues(np.array([[0.01, np.nan], [0.04, 0.03]]))
    np.testing.assert_allclose(found, [[0.03, np.nan], [0.06, 0.06]])


DFS = (1.0, 2.0, 9.0, 196.0, np.inf)


@pytest.mark.parametrize("df", DFS)
@pytest.mark.parametrize("groups", [2, 3, 20, 129])
def test_range_equals_scipy(groups: int, df: float) -> None:
    q = np.array([0.05, 1.5, 2.5, 3.5, 4.5, 9.0, 25.0])
    theirs = stats.studentized_range.sf(q, groups, df)
    np.testing.assert_allclose(studentised_range_sf(q, groups, df), theirs, atol=1e-9)


@pytest.mark.parametrize("df", DFS)
@pytest.mark.parametrize("groups", [3, 1000])
def test_interpolated_values_are_the_computed_ones(groups: int, df: float) -> None:
    many = np.linspace(0.01, 20, 5000)
    found = studentised_range_sf(many, groups, df)
    some = np.array([3, 700, 1234, 2500, 3100, 4999])
    np.testing.assert_allclose(found[some], studentised_range_sf(many[some], groups, df), rtol=1e-9)
    assert (np.diff(found) <= 1e-12).all()


@pytest.mark.parametrize("probability", [0.5, 0.05, 0.01, 1e-6])
@pytest.mark.parametrize(("groups", "df"), [(2, 7.0), (3, 2.0), (40, 1911.0), (129, np.inf)])
def test_quantile_is_the_inverse(groups: int, df: float, probability: float) -> None:
    q = studentised_range_isf(probability, groups, df)
    assert studentised_range_sf(q, groups, df) == pytest.approx(probability, rel=1e-9)
    listed: Any = [probability, probability / 2]
    assert studentised_range_isf(listed, groups, df).tolist()[0] == pytest.approx(q, rel=1e-12)


def test_edges() -> None:
    q = np.array([[-1.0, 0.0], [np.nan, np.inf]])
    for groups in (2, 5):
        found = studentised_range_sf(q, groups, 10)
        assert found[0].tolist() == [1.0, 1.0]
        assert np.isnan(found[1, 0])
        assert found[1, 1] == 0.0
    assert studentised_range_sf(np.array([1e3, 1e8]), 5, np.inf).tolist() == [0.0, 0.0]
    # With one degree of freedom the tail falls only as fast as 1 / q.
    far = studentised_range_sf(np.array([1e6, 1e7]), 5, 1)
    assert far[0] / far[1] == pytest.approx(10, rel=1e-6)


@pytest.mark.parametrize(
    ("comparisons", "df", "is_two_sided", "critical"),
    # Dunnett's tables, 5%.
    [(2, 10, True, 2.57), (4, 20, True, 2.65), (3, np.inf, True, 2.35), (2, 10, False, 2.15)],
)
def test_dunnett_tables(comparisons: int, df: float, is_two_sided: bool, critical: float) -> None:
    found = compute_maximum_sf(np.array([critical]), comparisons, df, is_two_sided=is_two_sided)
    assert found[0] == pytest.approx(0.05, abs=6e-4)


@pytest.mark.parametrize(
    ("t", "comparisons", "df", "is_two_sided"),
    [(2.0, 3, 12, True), (-1.0, 3, 12, False)],
)
def test_dunnett_is_multivariate_t(t: float, comparisons: int, df: int, is_two_sided: bool) -> None:
    correlation = np.full((comparisons, comparisons), 0.5) + 0.5 * np.eye(comparisons)
    joint = stats.multivariate_t(shape=correlation, df=df, seed=1)
    edge = np.full(comparisons, t)
    inside = joint.cdf(edge, lower_limit=-edge if is_two_sided else None, maxpts=1_000_000)
    found = compute_maximum_sf(np.array([t]), comparisons, df, is_two_sided=is_two_sided)
    assert found[0] == pytest.approx(1 - inside, abs=5e-6)


def test_many_degrees_of_freedom_come_near_to_infinitely_many() -> None:
    known = studentised_range_sf(3.5, 4, np.inf).item()
    first = 1e5 * (studentised_range_sf(3.5, 4, 1e5).item() - known)
    for df in (0.999e6, 1.001e6, 1e7, 1e8):
        # What is left falls with 1 / df.
        assert df * (studentised_range_sf(3.5, 4, df).item() - known) == pytest.approx(first, 1e-3)
    for df in (1e10, 1e12, 1e13, 1e18, 1e300):
        assert studentised_range_sf(3.5, 4, df).item() == pytest.approx(known, rel=1e-9)
        assert studentised_range_isf(0.05, 3, df) == pytest.approx(
            studentised_range_isf(0.05, 3, np.inf), rel=1e-9
        )
