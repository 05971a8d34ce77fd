"""Max-T by topics drawn anew: against a naive version, and what must hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import cranfield as cf
from cranfield.significance.bootstrap_t import topic_counts
from cranfield.significance.corrections.bootstrap_max_t import CentredPairs, step_down
from cranfield.significance.options import Options
from cranfield.significance.pairs import Pairs, all_pairs

Floats = np.ndarray


def t_of(values: Floats, means: Floats, moderated: bool) -> dict[tuple[int, int], float]:
    """Student's t of each pair after means are taken off, written out over whole samples."""
    n, systems = values.shape
    pairs = list(itertools.combinations(range(systems), 2))
    variance = {(i, j): np.var(values[:, i] - values[:, j], ddof=1) for i, j in pairs}
    if moderated:
        # The mean square of the error of two-way ANOVA, twice, is the mean of all variances.
        common = np.mean(list(variance.values()))
        variance = {pair: (own + common) / 2 for pair, own in variance.items()}
    mean = (values - means).mean(axis=0)
    return {(i, j): (mean[i] - mean[j]) / np.sqrt(variance[i, j] / n) for i, j in pairs}


def naive(
    values: Floats, counts: Floats, alternative: str, moderated: bool
) -> tuple[list[float], list[float]]:
    """Step down by the largest t of each sample, one sample and one pair after the other."""
    sides: dict[str, Callable[[float], float]]
    sides = {"two-sided": abs, "greater": float, "less": lambda t: -t}
    side = sides[alternative]
    margin = 1 + 2 / len(values) if moderated else 1.0
    observed = {
        pair: side(t) / margin
        for pair, t in t_of(values, np.zeros(values.shape[1]), moderated).items()
    }
    falling = sorted(observed, key=lambda pair: -observed[pair])
    reaching, largest = dict.fromkeys(falling, 0), []
    for row in counts.astype(int):
        sample = np.repeat(values, row, axis=0)
        t = {p: side(x) for p, x in t_of(sample, values.mean(axis=0), moderated).items()}
        largest.append(max(t.values()))
        for place, pair in enumerate(falling):
            reaching[pair] += max(t[other] for other in falling[place:]) >= observed[pair] - 1e-9
    p, last = {}, 0.0
    for pair in falling:
        last = max(last, (reaching[pair] + 1) / (len(counts) + 1))
        p[pair] = last
    return [p[pair] for pair in observed], largest


@pytest.mark.parametrize("moderated", [False, True])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_against_a_naive_version(alternative: str, moderated: bool) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        values = rng.normal(0, [0.1, 0.5, 0.2, 0.3], (12, 4)) + np.array([0, 0.4, 0.05, 0.2])
        options = Options(alternative, resamples=99, seed=seed)
        one = CentredPairs.of(all_pairs(values), moderated=moderated)
        pvalue, largest = step_down([one], options)
        expected = naive(values, topic_counts(99, 12, seed), alternative, moderated)
        assert pvalue.tolist() == pytest.approx(expected[0], abs=1e-12)
        assert largest.tolist() == pytest.approx(expected[1], rel=1e-9)


def test_two_systems_are_a_bootstrap_test() -> None:
    values = np.random.default_rng(0).random((40, 2)) + np.array([0, 0.1])
    plain = cf.compare(values, test="bootstrap", correction="none", resamples=999, seed=5)
    for correction in ("bootstrap-max-t", "moderated-max-t"):
        found = cf.compare(values, test="t", correction=correction, resamples=999, seed=5)
        assert found.adjusted_pvalues[0] == plain.raw_pvalues[0]
        np.testing.assert_allclose(found.interval, plain.interval, rtol=1e-12)


@pytest.mark.parametrize("correction", ["bootstrap-max-t", "moderated-max-t"])
def test_what_must_hold(correction: str) -> None:
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


def test_limits_hold_together() -> None:
    """The share of samples whose largest t is beyond the limits is alpha; steps down gain more."""
    values = np.random.default_rng(3).normal(0, 0.1, (25, 8)) + np.linspace(0, 0.2, 8)
    found = cf.compare(values, test="t", correction="moderated-max-t", resamples=999, seed=2)
    low, high = found.interval
    assert found.interval_kind == "all pairs together"
    beyond = (low > 0) | (high < 0)
    assert (found.is_significant() >= beyond).all()
    # The largest difference is judged by a single step.
    top = np.argmax(np.abs(found.statistic))
    for alpha in (0.001, 0.01, 0.02, 0.05, 0.2, 0.5):
        low, high = found.interval_at(alpha)
        assert (found.adjusted_pvalues[top] <= alpha) == (low[top] > 0 or high[top] < 0)
    too_few = cf.compare(values, test="t", correction="moderated-max-t", resamples=9)
    assert np.isinf(too_few.interval).all()


def test_one_sided_limits_are_those_of_the_side() -> None:
    values = np.random.default_rng(4).normal(0, 0.1, (30, 4)) + np.array([0.2, 0.1, 0.05, 0])
    options = {"test": "t", "correction": "moderated-max-t", "resamples": 999, "seed": 0}
    greater = cf.compare(values, alternative="greater", **options)  # type: ignore[arg-type]
    less = cf.compare(-values, alternative="less", **options)  # type: ignore[arg-type]
    np.testing.assert_array_equal(greater.adjusted_pvalues, less.adjusted_pvalues)
    np.testing.assert_allclose(greater.interval[0], -less.interval[1])
    assert np.isposinf(greater.interval[1]).all()


def test_families_are_judged_together() -> None:
    """Two measures that are the same change nothing but their number; each has its own units."""
    values = np.random.default_rng(9).normal(0, 0.1, (20, 4)) + np.array([0, 0.05, 0.1, 0.1])
    options = Options(resamples=299, seed=6)
    one = CentredPairs.of(all_pairs(values), moderated=True)
    other = CentredPairs.of(all_pairs(values * 50), moderated=True)
    alone, largest = step_down([one], options)
    both, of_both = step_down([one, other], options)
    np.testing.assert_array_equal(both[:6], alone)
    np.testing.assert_array_equal(both[6:], alone)
    np.testing.assert_allclose(of_both, largest)


def test_it_holds_its_level_where_differences_are_skewed() -> None:
    """Systems lose much on one topic in ten, and gain a little on all others: equal means."""
    sets, systems, topics = 150, 6, 30
    wrong = 0
    for k in range(sets):
        rng = np.random.default_rng([11, k])
        values = rng.normal(0, 0.1, (topics, 1)) + rng.normal(0, 0.002, (topics, systems))
        values = values + 0.02 - 0.2 * (rng.random((topics, systems)) < 0.1)
        found = cf.compare(values, test="t", correction="moderated-max-t", resamples=299, seed=k)
        wrong += found.adjusted_pvalues.min() <= 0.05
    # Three standard errors of .05 in 150 sets are .053.
    assert wrong / sets < 0.104


def test_pairs_may_be_few() -> None:
    values = np.random.default_rng(5).random((15, 5))
    pairs = Pairs(values, np.array([0]), np.array([4]))
    pvalue, _ = step_down([CentredPairs.of(pairs, moderated=True)], Options(resamples=99))
    assert pvalue.shape == (1,)


@pytest.mark.parametrize("correction", ["moderated-max-t", "bootstrap-max-t"])
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_p_of_no_difference_is_between_those_beside_it(
    alternative: str, correction: str
) -> None:
    """A mean difference of exactly 0 was 1 once, above that of pairs on the wrong side."""
    noise = np.random.default_rng(4).integers(-8, 9, (20, 4)) / 64
    # Sums of such numbers are exact, and so are means that are none.
    noise[0] -= noise.sum(axis=0)
    values = 0.5 + noise + np.array([4, 4, 5, 3]) / 64
    found = cf.compare(
        {str(k): column.tolist() for k, column in enumerate(values.T)},
        test="t",
        correction=correction,
        alternative=alternative,
        resamples=499,
    )
    assert (found.difference == 0).sum() == 1
    side = found.statistic if alternative == "greater" else -found.statistic
    falling = found.adjusted_pvalues[np.argsort(-side)]
    assert (np.diff(falling) >= 0).all()
    assert falling[-1] < 1
