"""Equivalence: against statsmodels, by hand, and by what limits say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import wilcoxon

from cranfield import compare
from cranfield.significance.comparison.equivalence import VERDICTS

OLD, NEW = [0.2, 0.4, 0.3, 0.5], [0.21, 0.4, 0.32, 0.49]


def scores(topics: int = 30, systems: int = 6, step: float = 0.01) -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.normal(0.4, 0.1, (topics, 1)) + rng.normal(0, 0.03, (topics, systems))
    return values + step * np.arange(systems)


def test_against_statsmodels() -> None:
    """Of statsmodels 0.14: ttost_paired(np.array(OLD), np.array(NEW), -0.03, 0.03)."""
    found = compare({"old": OLD, "new": NEW}, test="t").equivalence(0.03)
    not_worse, not_better = found.pvalues
    assert not_worse[0] == pytest.approx(0.015233145831085518, abs=1e-14)
    assert not_better[0] == pytest.approx(0.0061537759107431565, abs=1e-14)
    assert found.p_equivalent[0] == not_worse[0]


def test_pairs_by_hand() -> None:
    values = scores()
    found = compare(values, test="t", correction="none").equivalence(0.02)
    n = len(values)
    for k, (i, j) in enumerate(zip(*np.triu_indices(6, 1), strict=True)):
        d = values[:, i] - values[:, j]
        error = d.std(ddof=1) / np.sqrt(n)
        for p, sign in zip(found.pvalues, (1, -1), strict=True):
            t = (sign * d.mean() + 0.02) / error
            assert p[k] == pytest.approx(student.sf(t, n - 1), abs=1e-14)
        half = student.ppf(0.95, n - 1) * error
        assert found.ruled_out[k] == pytest.approx(abs(d.mean()) + half, abs=1e-15)
    assert found.count() == {"inferior": 10, "equivalent": 4, "non-superior": 1}
    # Many pairs: each p by their number, and the verdicts by it.
    together = compare(values, test="t", correction="holm").equivalence(0.02)
    assert together.p_equivalent == pytest.approx(np.minimum(1, 15 * found.p_equivalent), abs=1e-12)
    narrow = compare(values, test="t", correction="bonferroni").equivalence(0.02)
    assert narrow.p_equivalent == pytest.approx(together.p_equivalent, abs=1e-11)
    assert np.array(narrow.interval) == pytest.approx(np.array(together.interval), abs=1e-12)


CASES = (
    *(("t", c) for c in ("none", "holm", "bonferroni", "max-t", "bootstrap-max-t")),
    *(("anova-2", c) for c in ("tukey", "bh")),
    *(("randomisation", c) for c in ("none", "randomised-tukey")),
    *((test, "none") for test in ("sign", "signed-rank", "rank-sum", "welch", "bootstrap")),
    *((test, "none") for test in ("bootstrap-unpaired", "bootstrap-anova")),
)


@pytest.mark.parametrize(("test", "correction"), CASES)
def test_p_and_ruled_out_say_what_verdicts_say(test: str, correction: str) -> None:
    compared = compare(scores(30, 5), test=test, correction=correction, resamples=499)
    found = compared.equivalence(0.03)
    assert ((found.p_equivalent <= 0.05) == found.is_equivalent).all()
    assert ((found.ruled_out < 0.03) == found.is_equivalent).all()
    assert {*found.verdicts} <= {*VERDICTS}
    for p, bound in zip(found.pvalues, (-found.bounds[0], found.bounds[1]), strict=True):
        assert ((p <= 0.05) == (bound < 0.03)).all()


def test_limits_at_many_levels_are_those_at_each() -> None:
    values = scores(20, 5)
    levels = np.array([0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 0.2, 0.3, 0.4, 0.6])
    for test, correction in CASES:
        interval = compare(
            values, test=test, correction=correction, resamples=299
        ).two_sided_interval
        low, high = interval(levels)
        for k, level in enumerate(levels):
            one = interval(float(level))
            assert (low[k], high[k]) == pytest.approx((one[0][k], one[1][k]), abs=1e-12)


def test_signed_rank_p_is_that_of_shifted_scores() -> None:
    d = scores(15, 2)
    found = compare(d, test="signed-rank").equivalence(0.05)
    for p, sign in zip(found.pvalues, (1, -1), strict=True):
        shifted = sign * (d[:, 0] - d[:, 1]) + 0.05
        exact = wilcoxon(shifted, alternative="greater", method="exact").pvalue
        assert p[0] == pytest.approx(exact, abs=1e-12)


def test_relative_margin_and_baseline() -> None:
    values = scores()
    found = compare(values, baseline="6").equivalence("5%")
    assert found.margin == pytest.approx(np.full(5, 0.05 * values[:, 5].mean()))
    assert found.n_tails == 1  # Dunnett's limits hold for all comparisons
    assert "the mean of the second system" in str(found)
    assert "95% confidence interval" in str(found)


def test_nothing_differs() -> None:
    same = compare({"a": OLD * 3, "b": OLD * 3}, test="t").equivalence(0.01)
    assert same.verdicts == ("equivalent",)
    assert same.ruled_out[0] == 0
    # Any shift of 12 equal scores is rejected by 1 of 2^12 assignments of signs on each side.
    assert same.p_equivalent[0] == pytest.approx(2 / 2**12 / 2, rel=1e-6)
    few = compare({"a": OLD, "b": NEW}, test="sign").equivalence(0.03)
    assert few.verdicts == ("undecided",)
    assert np.isinf(few.ruled_out[0])


def test_a_margin_of_mean_ranks_is_named() -> None:
    unit = "the margin is in mean ranks, not in units of the scores"
    assert unit in compare(scores(), test="friedman").equivalence(0.5).heading()
    assert unit not in compare(scores(), test="t").equivalence(0.5).heading()


@pytest.mark.parametrize(
    "test", ["t", "bootstrap", "bootstrap-shift", "randomisation", "signed-rank", "sign"]
)
@pytest.mark.parametrize("systems", [2, 3])
def test_equal_scores_are_equivalent_whatever_the_other_systems(test: str, systems: int) -> None:
    scores = np.random.default_rng(3).random((25, 2))
    values = {"old": scores[:, 0], "new": scores[:, 0], "other": scores[:, 1]}
    values = dict([*values.items()][:systems])
    result = compare(values, test=test, baseline="old", resamples=199).equivalence(0.01)
    assert result.comparison.adjusted_pvalues[0] == 1
    assert [bound[0] for bound in result.interval] == [0, 0]
    assert result.verdicts[0] == "equivalent"


def test_an_interval_that_contradicts_the_decision_is_withheld() -> None:
    random = np.random.default_rng(5)
    base = random.normal(0.5, 0.15, 30)
    values = {f"s{k}": base + random.normal(0.015 * k, 0.05, 30) for k in range(6)}
    comparison = compare(values, test="t", correction="bootstrap-max-t", resamples=999)
    result = comparison.equivalence("5%")
    low, high = result.bounds
    is_contradicted = comparison.is_significant() & (low <= 0) & (high >= 0)
    assert is_contradicted.any()
    assert not is_contradicted.all()
    for column in (*result.interval, result.to_polars()["low"], result.to_polars()["high"]):
        np.testing.assert_array_equal(np.isnan(np.asarray(column)), is_contradicted)
    assert f"{is_contradicted.sum()} pair" in str(result)
