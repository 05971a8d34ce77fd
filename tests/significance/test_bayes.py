"""Bayesian comparisons, against closed forms, SciPy and baycomp."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.scores import Scores
from cranfield.significance.bayes.comparison import METHODS, BayesianComparison, compare_bayes

ROOT_HALF = 1 - np.sqrt(0.5)


def pair(one: Any, other: Any, **more: Any) -> Scores:
    values = np.column_stack([one, other]).astype(float)
    return Scores(values, tuple(map(str, range(len(values)))), ("a", "b"), **more)


def some(n: int = 30, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    first = rng.beta(2, 3, n)
    return first, np.clip(first + rng.normal(-0.01, 0.05, n), 0, 1)


def chances(found: BayesianComparison) -> tuple[float, float, float]:
    return found.p_worse, found.p_equivalent, found.p_better


@pytest.mark.parametrize("n", [2, 5, 50])
@pytest.mark.parametrize("rope", [0.0, 0.01, 0.1])
def test_t_against_scipy(n: int, rope: float) -> None:
    one, other = some(n)
    found = compare_bayes(pair(one, other), "a", "b", rope=rope, level=0.9)
    posterior = stats.t(n - 1, (one - other).mean(), stats.sem(one - other))
    want = (posterior.cdf(-rope), posterior.cdf(rope) - posterior.cdf(-rope), posterior.sf(rope))
    assert chances(found) == pytest.approx(want, abs=1e-14)
    assert found.interval == pytest.approx(posterior.interval(0.9), abs=1e-14)
    assert (found.samples, found.seed, found.prior) == (None, None, None)


def test_t_without_rope_is_the_one_sided_test() -> None:
    one, other = some()
    found = compare_bayes(pair(one, other), "a", "b", rope=0)
    test = stats.ttest_rel(one, other, alternative="greater")
    assert found.p_worse == pytest.approx(test.pvalue, abs=1e-14)
    want = stats.ttest_rel(one, other).confidence_interval(0.95)
    assert found.interval == pytest.approx((want.low, want.high), abs=1e-14)


@pytest.mark.parametrize("rope", [0.005, 0.02])
def test_t_against_baycomp(rope: float) -> None:
    """baycomp's variance is of cross-validation; scaling the deviations undoes that."""
    baycomp = pytest.importorskip("baycomp")
    one, other = some(40)
    d = one - other
    n = d.size
    shrunk = d.mean() + (d - d.mean()) * np.sqrt((1 / n) / (1 / n + 1 / (n - 1)))
    want = baycomp.CorrelatedTTest.probs(np.zeros(n), shrunk, rope)
    found = compare_bayes(pair(one, other), "a", "b", rope=rope)
    assert chances(found) == pytest.approx(want, abs=1e-13)


@pytest.mark.parametrize("rope", [0.0, 0.02, 0.06])
@pytest.mark.parametrize("n", [3, 10, 30])
def test_signed_rank_against_baycomp(n: int, rope: float) -> None:
    baycomp = pytest.importorskip("baycomp")
    one, other = some(n, seed=n)
    if n == 10:
        # On a grid of eighths sums at the border of the rope are exact, and count half.
        one, other, rope = np.round(8 * one) / 8, np.round(6 * other) / 8, rope * 6.25
    options = {"nsamples": 10_000, "random_state": 3}
    want = baycomp.SignedRankTest.probs(other, one, rope, **options)
    want = want if len(want) == 3 else (want[0], 0.0, want[1])
    found = compare_bayes(pair(one, other), "a", "b", rope=rope, method="signed-rank")
    # Four standard errors of the difference of two Monte Carlo estimates.
    assert chances(found) == pytest.approx(want, abs=4 * np.sqrt(0.25 / 10_000 + 0.25 / 50_000))


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("prior", [0.5, 2.0])
def test_signed_rank_in_closed_form(n: int, prior: float) -> None:
    """All differences are 1; sums with the prior's 0 are within the rope, those of two are not.

    Then theta_better is (1 - w)^2 with the weight w of the prior, which has a beta distribution.
    """
    samples = 200_000
    found = compare_bayes(
        pair(np.ones(n), np.zeros(n)),
        "a",
        "b",
        rope=0.75,
        method="signed-rank",
        prior=prior,
        samples=samples,
    )
    weight = stats.beta(prior, n)
    error = 4 * np.sqrt(0.25 / samples)
    assert found.p_better == pytest.approx(weight.cdf(ROOT_HALF), abs=error)
    assert found.p_equivalent == pytest.approx(weight.sf(ROOT_HALF), abs=error)
    assert found.p_worse == 0


def test_pseudo_median_in_closed_form() -> None:
    """Differences of 1: it is 0 where w^2 > 1/2, 1 where (1 - w)^2 > 1/2, else the average 1/2."""
    weight = stats.beta(0.5, 3)
    scores = pair(np.ones(3), np.zeros(3))
    shares = {0.0: weight.sf(np.sqrt(0.5)), 0.5: weight.sf(ROOT_HALF), 1.0: 1.0}
    for level in (0.2, 0.6, 0.9, 0.95, 0.99):
        found = compare_bayes(scores, "a", "b", method="signed-rank", level=level)
        for limit, share in zip(found.interval, ((1 - level) / 2, (1 + level) / 2), strict=True):
            assert limit == next(value for value, upto in shares.items() if upto >= share)


def naive(d: Floats, seed: int, samples: int, level: float) -> tuple[float, float]:
    """The interval of the pseudo-median, sample by sample."""
    z = np.concatenate([[0.0], d])
    weights = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed))).dirichlet(
        [0.5, *np.ones(d.size)], samples
    )
    averages = np.add.outer(z, z).ravel() / 2
    order = np.argsort(averages)
    medians = []
    for w in weights:
        upto = np.cumsum(np.outer(w, w).ravel()[order])
        medians.append(averages[order][np.searchsorted(upto, 0.5)])
    medians.sort()
    outside = int((1 - level) / 2 * samples)
    return medians[outside], medians[samples - 1 - outside]


@pytest.mark.parametrize("n", [2, 7, 20])
def test_interval_of_signed_rank_one_by_one(n: int) -> None:
    one, other = some(n, seed=n)
    found = compare_bayes(
        pair(one, other), "a", "b", method="signed-rank", samples=800, seed=5, level=0.9
    )
    assert found.interval == pytest.approx(naive(one - other, 5, 800, 0.9), abs=1e-12)


@settings(max_examples=25)
@given(st.integers(0, 50), st.integers(2, 15), st.sampled_from([0.8, 0.95]))
def test_interval_and_probability_agree(seed: int, n: int, level: float) -> None:
    """An interval above 0 says that the system is better; one that touches 0 need not, for the
    prior puts some weight on exactly 0.
    """
    one, other = some(n, seed)
    found = compare_bayes(
        pair(one, other), "a", "b", rope=0, method="signed-rank", level=level, samples=1000
    )
    outside = (1 - level) / 2 + 1e-3
    low, high = found.interval
    assert low <= 0 or found.p_worse <= outside
    assert high >= 0 or found.p_better <= outside


@settings(max_examples=25)
@example(0, 10, 0.0, "hierarchical")
@given(
    st.integers(0, 50),
    st.integers(2, 15),
    st.sampled_from([0.0, 0.01, 0.05]),
    st.sampled_from(METHODS),
)
def test_exchanged_systems(seed: int, n: int, rope: float, method: str) -> None:
    one, other = some(n, seed)
    options: dict[str, Any] = {"rope": rope, "method": method, "samples": 500}
    found = compare_bayes(pair(one, other), "a", "b", **options)
    turned = compare_bayes(pair(one, other), "b", "a", **options)
    assert chances(turned)[::-1] == pytest.approx(chances(found), abs=1e-12)
    assert turned.interval == pytest.approx((-found.interval[1], -found.interval[0]), abs=1e-12)
    assert sum(chances(found)) == pytest.approx(1, abs=1e-12)
    assert all(0 <= p <= 1 for p in chances(found))


def test_lower_is_better_exchanges_the_sides() -> None:
    one, other = some()
    for method in METHODS:
        found = compare_bayes(pair(one, other), "a", "b", method=method, samples=500)
        lower = compare_bayes(
            pair(one, other, lower_is_better=True), "a", "b", method=method, samples=500
        )
        assert chances(lower)[::-1] == chances(found)
        assert lower.interval == found.interval


def test_same_seed_same_result() -> None:
    scores = pair(*some())
    options: dict[str, Any] = {"method": "signed-rank", "rope": 0.02, "samples": 2000}
    found = compare_bayes(scores, "a", "b", seed=4, **options)
    assert compare_bayes(scores, "a", "b", seed=4, **options) == found
    assert compare_bayes(scores, "a", "b", seed=5, **options) != found
    assert (found.seed, found.samples, found.prior) == (4, 2000, 0.5)


def test_many_topics_are_done_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = pair(*some(40))
    options: dict[str, Any] = {"method": "signed-rank", "rope": 0.02, "samples": 3000}
    whole = compare_bayes(scores, "a", "b", **options)
    monkeypatch.setattr("cranfield.significance.bayes.dirichlet_signed_rank.KEPT", 41 * 700)
    parts = compare_bayes(scores, "a", "b", **options)
    assert chances(parts) == pytest.approx(chances(whole), abs=1e-12)
    assert parts.interval == pytest.approx(whole.interval, abs=0.005)


def test_differences_that_do_not_vary() -> None:
    x = np.linspace(0, 0.5, 10)
    same = pair(x, x)
    options: dict[str, Any] = {"method": "signed-rank", "samples": 500}
    assert chances(compare_bayes(same, "a", "b", **options)) == (0, 1, 0)
    assert chances(compare_bayes(same, "a", "b", rope=0, **options)) == (0.5, 0, 0.5)
    assert compare_bayes(same, "a", "b", **options).interval == (0, 0)
    for constant in (same, pair(x * 1e-310, same.values[:, 0] * 0), pair(x + 0.1, x)):
        for rope in (0, 0.01, 0.1):
            with pytest.raises(CranfieldError, match="requires differences that vary, got .* 10"):
                compare_bayes(constant, "a", "b", rope=rope)


def test_a_probability_that_rounds_to_1_is_not_called_certain() -> None:
    random = np.random.default_rng(4)
    x = random.random(40)
    shown = str(compare_bayes(pair(x + 0.2 + 0.01 * random.random(40), x), "a", "b"))
    assert "P(a is better) > 0.9999" in shown and "P(a is worse) < 0.0001" in shown
    assert "1.0000" not in shown and "0.0000" not in shown


def test_topics_left_out() -> None:
    one, other = some(10)
    holes = one.copy()
    holes[3] = np.nan
    with pytest.raises(
        CranfieldError, match="system 'a' on topic '3' has no score; missing='drop'"
    ):
        compare_bayes(pair(holes, other), "a", "b")
    with pytest.raises(CranfieldError, match="system 'b' on topic '3'"):
        compare_bayes(pair(other, holes), "a", "b")
    found = compare_bayes(pair(holes, other), "a", "b", missing="drop")
    kept = np.arange(10) != 3
    whole = compare_bayes(pair(one[kept], other[kept]), "a", "b")
    assert found == replace(whole, left_out=1)
    assert "9 topics (1 left out for lack of a score)" in str(found)


def test_table_and_text() -> None:
    scores = pair(*some(), measure="AP")
    found = compare_bayes(scores, "a", "b", method="signed-rank", samples=1000, rope=0.02)
    text = str(found)
    assert text.startswith(
        "AP: Bayesian signed-rank test of a and b, 30 topics; 1,000 samples, seed 0\n"
    )
    assert "credible interval of the pseudo-median" in text
    assert "P(practically equivalent, averages of two topics within 0.02) = " in text
    assert found.to_polars().row(0, named=True)["p better"] == found.p_better


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "sign"}, "method 'sign' is none of t, signed-rank, hierarchical"),
        ({"missing": "zero"}, "missing 'zero' is none of error, drop"),
        ({"rope": -0.1}, "practical equivalence must be 0 or more, not -0.1"),
        ({"rope": float("nan")}, "practical equivalence must be 0 or more"),
        ({"level": 1.0}, "level must be a number between 0 and 1"),
        ({"prior": 0.0}, "strength of the prior must be above 0"),
        ({"samples": 0}, "samples must be 1 or more"),
        ({"seed": -1}, "seed must be 0 or more"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        compare_bayes(pair(*some()), "a", "b", **options)


def test_wrong_scores() -> None:
    scores = pair(*some(5))
    with pytest.raises(PolicyError, match="there is no system 'c'"):
        compare_bayes(scores, "a", "c")
    with pytest.raises(PolicyError, match="'a' cannot be compared with itself"):
        compare_bayes(scores, "a", "a")
    with pytest.raises(CranfieldError, match="two topics at least, not 1"):
        compare_bayes(pair([0.1], [0.2]), "a", "b")
    with pytest.raises(CranfieldError, match="two topics at least, not 0"):
        compare_bayes(pair([np.nan], [0.2]), "a", "b", missing="drop")
    with pytest.raises(CranfieldError, match="infinite"):
        compare_bayes(pair([0.1, np.inf], [0.2, 0.3]), "a", "b")
    with pytest.raises(CranfieldError, match="by shard"):
        compare_bayes(Scores(np.zeros((2, 2, 2)), ("1", "2"), ("a", "b")), "a", "b")


def test_limits_of_what_is_masked_are_unknown() -> None:
    scores = cf.read_scores({"x": {"1": 0.2, "2": 0.4}, "y": {"1": 0.4, "2": 0.5}})
    found = cf.significance.fit_bayes(scores, samples=400)
    samples = np.arange(100.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        masked = found.limits(np.ma.array(samples, mask=samples > 1))
    assert np.isnan(masked).all() and np.isfinite(found.limits(samples)).all()
    with pytest.raises(CranfieldError, match="samples are numbers"):
        found.limits(["x"])  # type: ignore[arg-type]
