"""Scores and effects beside those of the original experiment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from cranfield.base.arrays import Floats
from cranfield.meta import reproduction_result
from cranfield.meta.reproduction_result import is_within

UNIT = st.floats(0, 1, width=16)
PAIRS = arrays(np.float64, st.tuples(st.just(2), st.integers(1, 9)), elements=UNIT)


def of_arrays(name: str) -> Any:
    function = getattr(reproduction_result, name)
    return lambda *scores: function(*(np.asarray(one, dtype=float) for one in scores))


rmse, relative_improvement, effect_ratio = map(
    of_arrays, ("rmse", "relative_improvement", "effect_ratio")
)


def normalised_rmse(x: Any, y: Any, bounds: tuple[float, float] = (0.0, 1.0)) -> float:
    return reproduction_result.normalised_rmse(np.asarray(x, float), np.asarray(y, float), bounds)


def delta_relative_improvement(*scores: Any) -> float:
    return float(relative_improvement(*scores[:2]) - relative_improvement(*scores[2:]))


def test_by_hand() -> None:
    # Means .3 and .45; then .2 and .3.
    first, again = ([0.2, 0.4], [0.3, 0.6]), ([0.1, 0.1, 0.4], [0.1, 0.3, 0.5])
    assert relative_improvement(*first) == pytest.approx(0.5)
    assert effect_ratio(*first, *again) == pytest.approx(2 / 3)
    assert delta_relative_improvement(*first, *again) == pytest.approx(0.0, abs=1e-15)
    # Means .25 and .3: RI is .2.
    assert delta_relative_improvement(*first, [0.2, 0.3], [0.2, 0.4]) == pytest.approx(0.3)
    # Differences .1, -.3 and 0.
    assert rmse([0.5, 0.2, 0.9], [0.4, 0.5, 0.9]) == pytest.approx((0.1 / 3) ** 0.5)
    # At most .5, .8 and .9.
    largest = 0.25 + 0.64 + 0.81
    assert normalised_rmse([0.5, 0.2, 0.9], [0.4, 0.5, 0.9]) == pytest.approx(
        (0.1 / largest) ** 0.5
    )
    # The same in percent.
    found = normalised_rmse([50, 20, 90], [40, 50, 90], bounds=(0, 100))
    assert found == pytest.approx((0.1 / largest) ** 0.5)


@settings(max_examples=25)
@given(PAIRS)
def test_rmse_is_a_distance(pair: np.ndarray) -> None:
    one, two = pair
    assert rmse(one, two) == rmse(two, one) >= 0
    assert rmse(one, one) == 0 == normalised_rmse(one, one)
    assert 0 <= normalised_rmse(one, two) <= 1 + 1e-12
    farthest = np.where(one >= 0.5, 0.0, 1.0)
    assert normalised_rmse(one, farthest) == pytest.approx(1)
    assert rmse(one, two) == pytest.approx(np.linalg.norm(one - two) / np.sqrt(one.size))


@settings(max_examples=25)
@given(PAIRS, PAIRS, st.floats(0.1, 50), st.floats(-5, 5))
def test_effect_ratio_and_affine_maps(
    first: np.ndarray, again: np.ndarray, slope: float, shift: float
) -> None:
    assume(abs(np.diff(first, axis=0).mean()) > 1e-3)
    found = effect_ratio(*first, *again)
    assert effect_ratio(*first, *first) == pytest.approx(1)
    moved = effect_ratio(*(slope * first + shift), *(slope * again + shift))
    assert moved == pytest.approx(found, rel=1e-8, abs=1e-8)
    # To exchange the roles changes the sign of both effects.
    assert effect_ratio(*first[::-1], *again[::-1]) == pytest.approx(found)
    assert effect_ratio(*first, *again[::-1]) == pytest.approx(-found)


def test_ratios_over_nothing() -> None:
    nothing = [0.0, 0.0]
    assert np.isnan(effect_ratio([0.1, 0.2], [0.2, 0.1], nothing, [0.1, 0.1]))
    assert np.isnan(relative_improvement(nothing, [0.1, 0.2]))
    assert np.isnan(delta_relative_improvement([0.1], [0.2], [0.0], [0.2]))
    assert effect_ratio([0.1], [0.2], nothing, nothing) == 0
    # 0.1 + 0.2 is not 0.3: an effect by rounding is none.
    assert np.isnan(effect_ratio([0.3, 0.5], [0.1 + 0.2, 0.5], [0.1], [0.2]))


def test_scores_outside_the_bounds() -> None:
    assert not is_within(np.array([0.5, 1.5]), (0, 1))
    assert is_within(np.array([1 + 1e-15, 1.0]), (0, 1))
    assert normalised_rmse([1 + 1e-15], [1.0]) == pytest.approx(0)


def improvements(topics: int, others: int, seed: int = 3) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = rng.normal(0.05, 0.08, topics)
    y = rng.normal(0.04, 0.12, others)
    if topics == others:
        y += 0.6 * (x - 0.05)
    return x, y


def limits(x: Floats, y: Floats, *, paired: bool) -> tuple[float, float]:
    nothing = np.zeros_like
    return reproduction_result.effect_ratio_interval(nothing(x), x, nothing(y), y, is_paired=paired)


def test_limits_of_a_ratio_are_what_a_t_test_does_not_reject() -> None:
    """On the same topics, the paired t-test of y and r x."""
    x, y = improvements(40, 40)
    for ratio in limits(x, y, paired=True):
        assert ttest_1samp(y - ratio * x, 0).pvalue == pytest.approx(0.05, abs=1e-12)


def test_limits_of_a_ratio_with_topics_of_their_own() -> None:
    x, y = improvements(40, 70)
    low, high = limits(x, y, paired=False)
    own, other = x.var(ddof=1) / 40, y.var(ddof=1) / 70
    r2 = (y.mean() / x.mean()) ** 2
    df = (r2 * own + other) ** 2 / ((r2 * own) ** 2 / 39 + other**2 / 69)
    for ratio in (low, high):
        t = (y.mean() - ratio * x.mean()) / np.sqrt(other + ratio**2 * own)
        assert 2 * student.sf(abs(t), df) == pytest.approx(0.05, abs=1e-12)
    assert low < y.mean() / x.mean() < high


def test_limits_of_a_ratio_where_there_are_none() -> None:
    x, y = improvements(5, 5)
    assert limits(x - x.mean() + 0.001, y, paired=True) == (-np.inf, np.inf)
    assert np.isnan(limits(x[:1], y[:1], paired=True)).all()
    assert np.isnan(limits(np.zeros(4), y[:4], paired=True)).all()
    # Nothing varies.
    assert limits(np.full(4, 0.5), np.full(6, 0.25), paired=False) == pytest.approx((0.5, 0.5))
    for scale in (1e-60, 1e60):
        assert limits(scale * x, scale * y, paired=True) == pytest.approx(limits(x, y, paired=True))
