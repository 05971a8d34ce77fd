"""Bayesian comparisons, against SciPy and samples of the posterior."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError
from cranfield.scores import Scores
from cranfield.significance.bayes import BayesianComparison, compare_bayes
from cranfield.significance.effects import effect_sizes


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


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_effect_size_against_samples_of_the_posterior(n: int) -> None:
    """The variance is drawn from its scaled inverse chi-squared, and the mean given it."""
    one, other = some(n)
    d = one - other
    rng = np.random.default_rng(n)
    samples = 400_000
    deviation = d.std(ddof=1) * np.sqrt((n - 1) / rng.chisquare(n - 1, samples))
    drawn = rng.normal(d.mean(), deviation / np.sqrt(n)) / deviation
    found = compare_bayes(pair(one, other), "a", "b", level=0.9)
    error = 4 * np.sqrt(0.05 * 0.95 / samples)
    assert (drawn < found.effect_interval[0]).mean() == pytest.approx(0.05, abs=error)
    assert (drawn > found.effect_interval[1]).mean() == pytest.approx(0.05, abs=error)
    assert found.effect == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(samples))


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_limits_of_the_effect_size_are_those_of_cohens_d(level: float) -> None:
    one, other = some(20)
    found = compare_bayes(pair(one, other), "a", "b", level=level)
    cohen = effect_sizes(pair(one, other), kind="cohen", confidence=level)
    assert found.effect_interval == pytest.approx((cohen.low[0], cohen.high[0]), rel=1e-12)
    assert 0 < found.effect / cohen.effect[0] < 1


def test_lower_is_better_exchanges_the_sides() -> None:
    one, other = some()
    found = compare_bayes(pair(one, other), "a", "b")
    lower = compare_bayes(pair(one, other, lower_is_better=True), "a", "b")
    assert chances(lower)[::-1] == chances(found)
    assert (lower.interval, lower.effect_interval) == (found.interval, found.effect_interval)


def test_differences_that_do_not_vary() -> None:
    x = np.linspace(0, 0.5, 10)
    same = pair(x, x)
    for constant in (same, pair(x * 1e-310, same.values[:, 0] * 0), pair(x + 0.1, x)):
        for rope in (0, 0.01, 0.1):
            with pytest.raises(CranfieldError, match="differences that vary by topic, got .* 10"):
                compare_bayes(constant, "a", "b", rope=rope)


def test_a_probability_that_rounds_to_1_is_not_called_certain() -> None:
    random = np.random.default_rng(4)
    x = random.random(40)
    shown = str(compare_bayes(pair(x + 0.2 + 0.01 * random.random(40), x), "a", "b"))
    assert "P(a is better) > 0.9999" in shown and "P(a is worse) < 0.0001" in shown
    assert "1.0000" not in shown and "0.0000" not in shown


def test_topics_without_a_score_are_excluded() -> None:
    one, other = some(10)
    holes = np.where(np.arange(10) == 3, np.nan, one)
    for name, values in (("a", (holes, other)), ("b", (other, holes))):
        with pytest.raises(
            CranfieldError, match=f"system '{name}' on topic '3' has no score; missing='drop'"
        ):
            compare_bayes(pair(*values), "a", "b")
    found = compare_bayes(pair(holes, other), "a", "b", missing="drop")
    whole = compare_bayes(pair(np.delete(one, 3), np.delete(other, 3)), "a", "b")
    assert found == replace(whole, n_excluded=1)
    assert "9 topics (1 excluded: a score is missing)" in str(found)


def test_table_and_text() -> None:
    scores = pair(*some(), measure="AP")
    found = compare_bayes(scores, "a", "b", rope=0.02)
    text = str(found)
    assert text.startswith("AP: Bayesian paired t-test of a and b, 30 topics\n")
    assert "P(practically equivalent, within 0.02) = " in text
    row = found.to_polars().row(0, named=True)
    assert row["p better"] == found.p_better
    assert (row["low"], row["high"]) == found.interval
    assert (row["effect low"], row["effect high"]) == found.effect_interval
