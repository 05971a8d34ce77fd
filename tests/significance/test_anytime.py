"""Comparisons at any time: numbers of confseq, enumeration, and errors at the worst stop."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.scores import Scores
from cranfield.significance.anytime.betting import BETS, PRIOR, log_capital, lower_limits
from cranfield.significance.anytime.comparison import (
    AnytimeComparison,
    compare_anytime,
    spend_alpha,
)

D = np.array([0.3, -0.1, 0.5, 0.25, 0, 0.4, -0.2, 0.6, 0.35, 0.1, 0.45, 0.2])


def of(differences: Any, **options: Any) -> AnytimeComparison:
    d = np.asarray(differences, dtype=float)
    scores = {"a": np.clip(d, 0, None).tolist(), "b": np.clip(-d, 0, None).tolist()}
    return compare_anytime(scores, **({"bounds": (0, 1)} | options))


def test_against_confseq() -> None:
    """confseq 0.0.11, diversified_betting_mart of the same bets, trunc_scale=1; its
    cs_from_martingale with breaks=4000, whose limits are a cell of the grid, .0005, too wide.
    """
    found = of(D, alpha=0.2)
    want = [0.592082769252, 0.553187613785, 0.730090149248, 0.858266450431, 0.858266450431]
    want += [1.110311979173, 0.937673687049, 1.358628863729, 1.740900338391, 1.886139034517]
    want += [2.601807671794, 3.056207991974]
    assert found.e_values[0] == pytest.approx(want, rel=1e-11)
    low, high = found.interval
    wide_low = [-0.917, -0.7355, -0.5315, -0.4025, -0.3385, -0.251]
    wide_low += [-0.244, -0.17, -0.124, -0.104, -0.064, -0.0445]
    wide_high = [0.9555, 0.7855, 0.7175, 0.64, 0.559, 0.536]
    wide_high += [0.4685, 0.4685, 0.4685, 0.4445, 0.4445, 0.428]
    assert ((low[0] - wide_low > 0) & (low[0] - wide_low < 5.1e-4)).all()
    assert ((wide_high - high[0] > 0) & (wide_high - high[0] < 5.1e-4)).all()


def test_by_hand() -> None:
    """One difference of 1/2, within 1: a bet b makes 1 + b / 2 of its part of the capital."""
    weights = [Fraction(1, (k + 1) * (k + 2)) for k in range(7)] + [Fraction(1, 8)]
    assert sum(weights) == 1
    capital = sum(w * (1 + Fraction(999, 1000) / 2**k / 2) for k, w in enumerate(weights))
    assert of([0.5]).e_values[0, 0] == pytest.approx(float(capital / 2), rel=1e-14)
    assert of([0.5], alternative="greater").e_values[0, 0] == pytest.approx(float(capital))
    assert of([0.5]).adjusted_pvalues[0, 0] == 1


def test_capital_is_fair() -> None:
    """Over all series of fair differences of -.25 and .75 the capital is 1 on the average."""
    series = np.array(list(product([-0.25, 0.75], repeat=7)))
    chance = np.where(series > 0, 0.25, 0.75).prod(axis=1)
    assert chance @ np.exp(log_capital(series, 1.0)) == pytest.approx(np.ones(7), rel=1e-13)
    assert chance @ np.exp(log_capital(-series, 1.0)) == pytest.approx(np.ones(7), rel=1e-13)


FAIR: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda rng, shape: np.clip(rng.normal(0, 0.15, shape), -1, 1),
    "rare losses": lambda rng, shape: np.where(rng.random(shape) < 0.1, -0.9, 0.1),
    "large": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "spread grows": lambda rng, shape: (
        rng.choice([-1.0, 1.0], shape) * np.linspace(0.01, 0.9, shape[1])
    ),
}


@pytest.mark.parametrize("kind", FAIR)
def test_error_at_the_worst_stop(kind: str) -> None:
    """Of 1,500 series the share that ever reaches .05 in 120 topics; t reaches it far oftener."""
    d = FAIR[kind](np.random.default_rng(1), (1500, 120))
    log_e = np.maximum(log_capital(d, 1.0), log_capital(-d, 1.0)) - np.log(2)
    assert (log_e.max(axis=1) >= np.log(20)).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1500)
    if kind == "normal":
        n = np.arange(2, 121)
        mean = np.cumsum(d, axis=1)[:, 1:] / n
        variance = (np.cumsum(d**2, axis=1)[:, 1:] - n * mean**2) / (n - 1)
        p = 2 * stats.t.sf(np.abs(mean) / np.sqrt(variance / n), n - 1)
        assert (p.min(axis=1) <= 0.05).mean() > 0.25


def test_limits_cover_at_all_looks() -> None:
    rng = np.random.default_rng(2)
    d = rng.beta(2, 3, (400, 60)) - rng.beta(2, 4, (400, 60))
    mean, looks = 2 / 5 - 2 / 6, np.arange(1, 61)
    low = lower_limits(d, looks, 1.0, np.log(2 / 0.1))
    high = -lower_limits(-d, looks, 1.0, np.log(2 / 0.1))
    assert (np.diff(low) >= 0).all() and (np.diff(high) <= 0).all()
    missed = ((low > mean) | (high < mean)).any(axis=1).mean()
    assert missed <= 0.1 + 3 * np.sqrt(0.09 / 400)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_limits_and_p_agree(alternative: str) -> None:
    rng = np.random.default_rng(3)
    for shift in (-0.2, 0.0, 0.15):
        found = of(np.clip(rng.normal(shift, 0.2, 40), -1, 1), alternative=alternative, alpha=0.1)
        low, high = found.interval
        outside = (low > 0) | (high < 0)
        assert (outside == found.is_significant()).all()
        assert found.decided[0] == (found.looks[outside[0]][0] if outside.any() else 0)


def test_limits_are_where_the_capital_is_enough() -> None:
    low = float(lower_limits(D[None], np.array([12]), 1.0, np.log(20))[0, 0])
    grown = ((1 + BETS[:, None] * (D - low) / (low + 1)).prod(axis=1) * PRIOR).sum()
    assert grown == pytest.approx(20, rel=1e-9)


def test_order_of_topics_does_not_matter_at_the_end() -> None:
    turned = of(D[::-1], looks=[12])
    assert turned.e_values == pytest.approx(of(D, looks=[12]).e_values, rel=1e-13)
    assert turned.interval[0] == pytest.approx(of(D, looks=[12]).interval[0], abs=1e-12)


def test_fewer_looks_say_less() -> None:
    every, few = of(D), of(D, looks=[4, 12])
    assert few.e_values.tolist() == every.e_values[:, [3, 11]].tolist()
    assert few.looks.tolist() == [4, 12]
    assert few.interval[0][0, 1] <= every.interval[0][0, 11] + 1e-12
    assert of(np.tile(D, 20)).looks.size == 100


def test_corrections() -> None:
    rng = np.random.default_rng(4)
    values = np.clip(rng.normal([0.4, 0.42, 0.6, 0.65], 0.1, (60, 4)), 0, 1)
    scores = Scores(values, tuple(map(str, range(60))), ("a", "b", "c", "d"))
    alone = compare_anytime(scores, bounds=(0, 1), correction="none")
    p, e = alone.adjusted_pvalues[:, -1], alone.e_values[:, -1]
    both = compare_anytime(scores, bounds=(0, 1), correction="bonferroni")
    assert both.adjusted_pvalues[:, -1] == pytest.approx(np.minimum(1, 6 * p))
    wider = compare_anytime(scores, bounds=(0, 1), correction="none", alpha=0.05 / 6)
    assert both.interval[0] == pytest.approx(wider.interval[0], abs=1e-12)
    holm = compare_anytime(scores, bounds=(0, 1))
    assert holm.correction == "holm"
    assert (holm.adjusted_pvalues <= both.adjusted_pvalues + 1e-15).all()
    assert (np.diff(holm.adjusted_pvalues) <= 0).all()
    # e-BH: the k largest e-values of which the least is at least 6 / (k alpha).
    found = compare_anytime(scores, bounds=(0, 1), correction="bh")
    ordered = np.sort(e)[::-1]
    k = max([k for k in range(1, 7) if ordered[k - 1] >= 6 / (k * 0.05)], default=0)
    assert int(found.is_significant()[:, -1].sum()) == k > 0
    against = compare_anytime(scores, bounds=(0, 1), baseline="a")
    assert (against.first.tolist(), against.second.tolist()) == ([1, 2, 3], [0, 0, 0])


def test_range_of_the_measure_and_text() -> None:
    covid = cf.bundled.trec_covid()
    scores = cf.evaluate(covid.runs[::20], covid.qrels, "nDCG@20")["nDCG@20"]
    found = compare_anytime(scores)
    assert found.bounds == (0, 1)
    assert "nDCG@20: comparison at any time by bets; alpha 0.05" in str(found)
    assert "1 pair, 50 topics, 50 looks; scores within 0 and 1" in str(found)
    assert repr(found).startswith("AnytimeComparison(nDCG@20: comparison at any time by bets;")
    frame = found.to_polars()
    assert frame.shape == (50, 9)
    assert frame["topics"].to_list() == list(range(1, 51))


def test_hostile() -> None:
    with np.errstate(all="raise", under="ignore"):
        same = of(np.zeros(30))
        assert (same.e_values == 0.5).all() and (same.adjusted_pvalues == 1).all()
        assert (same.interval[0] < 0).all() and (same.interval[1] > 0).all()
        sure = of(np.ones(5000), looks=[5000])
        assert sure.adjusted_pvalues[0, 0] == 0 or sure.adjusted_pvalues[0, 0] < 1e-300
        assert 0.99 < sure.interval[0][0, 0] <= 1
        tiny = of(np.full(10, 1e-12))
        assert tiny.e_values == pytest.approx(0.5)
        assert of(-np.ones(50)).interval[1][0, -1] < -0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": None}, "what scores can be is not known: give bounds"),
        ({"bounds": (0, np.inf)}, "finite bounds"),
        ({"bounds": (1, 0)}, "the lower bound must be below the upper one, not 1, 0"),
        ({"bounds": 1}, "bounds are two numbers, not 1"),
        ({"correction": "tukey"}, "correction 'tukey' is none of none, bonferroni, holm, bh"),
        ({"looks": [0]}, "a look must be a whole number from 1 to 12, not 0"),
        ({"looks": [3, 2]}, "looks are ascending numbers of topics"),
        ({"looks": []}, "looks are ascending numbers of topics"),
        ({"alternative": "more"}, "alternative 'more'"),
        ({"alpha": 2}, "alpha must be a number between 0 and 1"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        of(D, **options)


def test_wrong_scores() -> None:
    with pytest.raises(CranfieldError, match=r"system 'a' on topic '3' has 0.5, which is not with"):
        of(D, bounds=(0, 0.4))
    with pytest.raises(CranfieldError, match="two systems, not 1"):
        compare_anytime({"a": [0.1]}, bounds=(0, 1))
    with pytest.raises(CranfieldError, match="has no score"):
        compare_anytime({"a": [0.1, 0.2], "b": [0.1]}, bounds=(0, 1))
    values: Floats = np.zeros((2, 2, 2))
    with pytest.raises(PolicyError, match="by shard"):
        compare_anytime(Scores(values, ("1", "2"), ("a", "b")), bounds=(0, 1))


def test_spending() -> None:
    levels = spend_alpha(np.arange(1, 200_001), 0.05)
    assert levels.sum() == pytest.approx(0.05, rel=1e-5)
    assert levels.sum() < 0.05
    assert levels[1] == pytest.approx(levels[0] / 4)
    with pytest.raises(PolicyError, match="nights are counted from 1"):
        spend_alpha([0])
    with pytest.raises(PolicyError, match="alpha must be a number between 0 and 1"):
        spend_alpha(1, 1.5)
