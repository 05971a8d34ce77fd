"""Max-T by topics drawn anew: against a naive version, and what must hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import cranfield as cf
from cranfield.significance.corrections.resampled import CentredPairs, step_down
from cranfield.significance.differences import Pairs, all_pairs
from cranfield.significance.registry import Options
from cranfield.significance.resampling import topic_counts

Floats = np.ndarray


def t_of(values: Floats, means: Floats) -> dict[tuple[int, int], float]:
    """Student's t of each pair after means are taken off, written out over whole samples."""
    n, systems = values.shape
    pairs = list(itertools.combinations(range(systems), 2))
    variance = {(i, j): np.var(values[:, i] - values[:, j], ddof=1) for i, j in pairs}
    mean = (values - means).mean(axis=0)
    return {(i, j): (mean[i] - mean[j]) / np.sqrt(variance[i, j] / n) for i, j in pairs}


def naive(values: Floats, counts: Floats, alternative: str) -> tuple[list[float], list[float]]:
    """Step down by the largest t of each sample, one sample and one pair after the other."""
    sides: dict[str, Callable[[float], float]]
    sides = {"two-sided": abs, "greater": float, "less": lambda t: -t}
    side = sides[alternative]
    observed = {pair: side(t) for pair, t in t_of(values, np.zeros(values.shape[1])).items()}
    falling = sorted(observed, key=lambda pair: -observed[pair])
    reaching, largest = dict.fromkeys(falling, 0), []
    for row in counts.astype(int):
        sample = np.repeat(values, row, axis=0)
        t = {p: side(x) for p, x in t_of(sample, values.mean(axis=0)).items()}
        largest.append(max(t.values()))
        for place, pair in enumerate(falling):
            reaching[pair] += max(t[other] for other in falling[place:]) >= observed[pair] - 1e-9
    p, last = {}, 0.0
    for pair in falling:
        last = max(last, (reaching[pair] + 1) / (len(counts) + 1))
        p[pair] = last
    return [p[pair] for pair in observed], sorted(largest)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_against_a_naive_version(alternative: str) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        values = rng.normal(0, [0.1, 0.5, 0.2, 0.3], (12, 4)) + np.array([0, 0.4, 0.05, 0.2])
        options = Options(alternative, resamples=99, seed=seed)
        pvalue, largest = step_down([CentredPairs.of(all_pairs(values))], options)
        expected = naive(values, topic_counts(99, 12, seed), alternative)
        assert pvalue.tolist() == pytest.approx(expected[0], abs=1e-12)
        assert largest.tolist() == pytest.approx(expected[1], rel=1e-9)


def test_two_systems_are_a_bootstrap_test() -> None:
    values = np.random.default_rng(0).random((40, 2)) + np.array([0, 0.1])
    plain = cf.compare(values, test="bootstrap", correction="none", resamples=999, seed=5)
    found = cf.compare(values, test="t", correction="bootstrap-max-t", resamples=999, seed=5)
    assert found.adjusted_pvalues[0] == plain.raw_pvalues[0]
    np.testing.assert_allclose(found.interval, plain.interval, rtol=1e-12)


def test_what_must_hold() -> None:
    correction = "bootstrap-max-t"
    rng = np.random.default_rng(7)
    values = rng.random((30, 6)) * np.array([0.1, 0.2, 0.4, 0.8, 1, 1])

    def p(of: Floats, **options: object) -> Floats:
        given = {"resamples": 499, "seed": 1} | options
        return cf.compare(of, test="t", correction=correction, **given).adjusted_pvalues  # type: ignore[arg-type]

    found = p(values)
    np.testing.assert_array_equal(found, p(values, jobs=1))
    np.testing.assert_array_equal(found, p(values * 4 + 3))
    assert not np.array_equal(found, p(values, seed=2))
    # Topics in another order are other samples, but systems in another order are not.
    order = [3, 1, 5, 0, 4, 2]
    matrix = cf.compare(
        values, test="t", correction=correction, resamples=499, seed=1
    ).pvalue_matrix
    other = cf.compare(values[:, order], test="t", correction=correction, resamples=499, seed=1)
    np.testing.assert_array_equal(other.pvalue_matrix, matrix[np.ix_(order, order)])
    # A system that is the same is no different, and all topics alike leave nothing to draw.
    twin = np.column_stack([values[:, :2], values[:, 0]])
    assert p(twin)[1] == 1.0
    assert (p(np.ones((5, 3))) == 1.0).all()


def test_intervals_never_contradict_decisions() -> None:
    """Those of the single step; a pair that only a later step rejects has none."""
    values = np.random.default_rng(3).normal(0, 0.1, (25, 8)) + np.linspace(0, 0.2, 8)
    found = cf.compare(values, test="t", correction="bootstrap-max-t", resamples=999, seed=2)
    assert found.interval_kind == "all pairs together"
    low, high = found.interval
    bounds = found.bounds_at(0.05)
    later = found.is_significant() & (bounds[0] <= 0) & (bounds[1] >= 0)
    assert later.any()
    np.testing.assert_array_equal(np.isnan(low), later)
    np.testing.assert_array_equal(np.isnan(high), later)
    assert found.without_interval == later.sum()
    # The largest difference is judged by a single step.
    top = np.argmax(np.abs(found.statistic))
    for alpha in (0.001, 0.01, 0.02, 0.05, 0.2, 0.5):
        low, high = found.interval_at(alpha)
        assert (found.adjusted_pvalues[top] <= alpha) == (low[top] > 0 or high[top] < 0)
    too_few = cf.compare(values, test="t", correction="bootstrap-max-t", resamples=9)
    assert np.isinf(too_few.interval).all()


def test_families_are_judged_together() -> None:
    """Two measures that are the same change nothing but their number; each has its own units."""
    values = np.random.default_rng(9).normal(0, 0.1, (20, 4)) + np.array([0, 0.05, 0.1, 0.1])
    options = Options(resamples=299, seed=6)
    family = CentredPairs.of(all_pairs(values))
    other = CentredPairs.of(all_pairs(values * 50))
    alone, largest = step_down([family], options)
    both, of_both = step_down([family, other], options)
    np.testing.assert_array_equal(both[:6], alone)
    np.testing.assert_array_equal(both[6:], alone)
    np.testing.assert_allclose(of_both, largest)


def test_a_pair_without_variation_has_no_evidence_in_resamples() -> None:
    base = np.random.default_rng(1).random(12)
    values = {"a": base, "b": base + 0.25, "c": np.random.default_rng(2).random(12)}
    found = cf.compare(values, test="t", correction="bootstrap-max-t", resamples=199)
    assert found.adjusted_pvalues[0] == 1.0
    assert np.isinf([ends[0] for ends in found.interval]).all()
    rest = cf.compare({k: values[k] for k in "ac"}, test="t", correction="none")
    assert found.adjusted_pvalues[1] >= rest.adjusted_pvalues[0] / 10


def test_pairs_may_be_few() -> None:
    values = np.random.default_rng(5).random((15, 5))
    pairs = Pairs(values, np.array([0]), np.array([4]))
    pvalue, _ = step_down([CentredPairs.of(pairs)], Options(resamples=99))
    assert pvalue.shape == (1,)


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
