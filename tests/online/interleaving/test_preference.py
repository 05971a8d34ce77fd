"""Preferences of interleaving: against SciPy, published outcomes and naive loops."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, ttest_1samp

from cranfield.online import (
    impressions_needed,
    preference_by_credits,
    preference_matrix_by_credits,
    preference_of,
)

ROUND_1 = [
    ("Baseline", 0.4691, 91, 103, 467),
    ("UiS-Mira", 0.3413, 71, 137, 517),
    ("UiS-Jern", 0.3277, 58, 119, 488),
    ("UiS-UiS", 0.2827, 54, 137, 508),
    ("GESIS", 0.2685, 40, 109, 374),
    ("Exploitative Baseline", 0.5527, 3030, 2452, 19055),
    ("Uniform Baseline", 0.2161, 430, 1560, 1346),
]
"""Printed outcomes of LL4IR round 1 (CLEF 2015): system, outcome, wins, losses, ties."""


@pytest.mark.parametrize(("system", "outcome", "wins", "losses", "ties"), ROUND_1)
def test_published_outcomes(system: str, outcome: float, wins: int, losses: int, ties: int) -> None:
    found = preference_of(wins, losses, ties, names=(system, "site"))
    assert round(found.outcome, 4) == outcome
    assert found.pvalue == pytest.approx(binomtest(wins, wins + losses).pvalue, rel=1e-9)
    exact = binomtest(wins, wins + losses).proportion_ci(method="exact")
    assert found.outcome_interval == found.unit_interval == pytest.approx(tuple(exact), abs=1e-12)
    decided = (wins + losses) / found.n_impressions
    delta = [decided * (bound - 0.5) for bound in exact]
    assert found.delta_interval == pytest.approx(delta, abs=1e-12)
    share = (wins + ties / 2) / (wins + losses + ties)
    assert found.delta == pytest.approx(share - 0.5, abs=1e-15)


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from([0.5, 0.28, 0.9, 1 / 3, 0.01]))
def test_sign_test_is_the_binomial_one(wins: int, losses: int, expected: float) -> None:
    if wins + losses == 0:
        return
    found = preference_of(wins, losses, expected=expected)
    sides = ("less", "greater")
    tails = [binomtest(wins, wins + losses, expected, side).pvalue for side in sides]
    assert found.pvalue == pytest.approx(min(1, 2 * min(tails)), rel=1e-9, abs=1e-200)
    turned = preference_of(losses, wins, expected=1 - expected)
    assert turned.pvalue == pytest.approx(found.pvalue, rel=1e-9)
    assert turned.z == pytest.approx(-found.z, abs=1e-12)


def test_extreme_tails_are_exact() -> None:
    found = preference_of(20, 2256, expected=0.28)
    tail = sum(
        comb(2276, k) * Fraction(28, 100) ** k * Fraction(72, 100) ** (2276 - k) for k in range(21)
    )
    assert found.pvalue == pytest.approx(float(2 * tail), rel=1e-8)


@pytest.mark.parametrize("expected", [0.5, 0.28])
@pytest.mark.parametrize("confidence", [0.95, 0.9])
def test_intervals_exclude_the_expected_share_if_and_only_if_the_test_rejects(
    expected: float, confidence: float
) -> None:
    alpha, rejected = round(1 - confidence, 12), 0
    for size in (1, 5, 6, 17, 40, 100):
        for wins in range(size + 1):
            found = preference_of(wins, size - wins, 7, expected=expected, confidence=confidence)
            low, high = found.outcome_interval
            assert (not low <= expected <= high) == (found.pvalue <= alpha)
            # The bounds themselves: each tail is alpha / 2 there.
            if wins:
                assert binom.sf(wins - 1, size, low) == pytest.approx(alpha / 2, rel=1e-9)
            if expected == 0.5:
                below, above = found.delta_interval
                assert (not below <= 0 <= above) == (found.delta_pvalue <= alpha)
            rejected += found.pvalue <= alpha
    assert 40 < rejected < 140


def test_units_that_are_all_alike_have_no_bootstrap_interval() -> None:
    users = ["a", "a", "b", "b", "c", "c"]
    found = preference_by_credits([[1, 0]] * 6, users, unit="user")
    assert np.isnan([*found.outcome_interval, *found.delta_interval]).all()
    assert np.isnan([found.outcome_pvalue, found.delta_pvalue, found.credit_pvalue]).all()
    assert found.unit_interval == pytest.approx((0.025 ** (1 / 3), 1.0), rel=1e-12)
    assert found.pvalue == 0.25
    assert any("equal in all bootstrap samples" in note for note in found.notes)


def test_bootstrap_intervals_agree_with_their_pvalues() -> None:
    draw, excluded = np.random.default_rng(2), 0
    for seed in range(15):
        credits = draw.integers(0, 3, (60, 2)) + (draw.random(60) < 0.25)[:, None] * [1, 0]
        users = draw.integers(0, 20, 60)
        found = preference_by_credits(credits, users, unit="user", resamples=999, seed=seed)
        for limits, pvalue, null in (
            (found.outcome_interval, found.outcome_pvalue, 0.5),
            (found.delta_interval, found.delta_pvalue, 0.0),
        ):
            assert (not limits[0] <= null <= limits[1]) == (pvalue <= 0.05)
            excluded += pvalue <= 0.05
    assert 3 < excluded < 27


def _users(seed: int = 3) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    users = draw.integers(0, 40, 400)
    return draw.integers(0, 3, (400, 2)) + (users[:, None] % 3 == 0), users


def test_by_unit_against_loops() -> None:
    credits, users = _users()
    found = preference_by_credits(credits, users, unit="user", resamples=20_000)
    difference = credits[:, 0] - credits[:, 1]
    each = [np.sign(difference[users == user]) for user in np.unique(users)]
    ahead = [np.sign(one.sum()) for one in each]
    assert (found.unit_wins, found.unit_losses) == (ahead.count(1), ahead.count(-1))
    assert found.wins == (difference > 0).sum()
    sign_test = binomtest(ahead.count(1), ahead.count(1) + ahead.count(-1))
    assert found.pvalue == pytest.approx(sign_test.pvalue)
    means = [difference[users == user].mean() for user in np.unique(users)]
    by_t = ttest_1samp(means, 0)
    assert found.credit == pytest.approx(np.mean(means), abs=1e-12)
    assert found.credit_pvalue == pytest.approx(by_t.pvalue, rel=1e-9)
    assert found.credit_interval == pytest.approx(tuple(by_t.confidence_interval()), abs=1e-12)
    # The bootstrap by a loop, with other random numbers.
    draw, samples = np.random.default_rng(1), []
    for _ in range(4000):
        signs = np.concatenate([each[k] for k in draw.integers(0, len(each), len(each))])
        samples.append(((signs > 0).sum() / (signs != 0).sum(), signs.mean() / 2))
    limits = np.quantile(samples, [0.025, 0.975], axis=0).T
    assert found.outcome_interval == pytest.approx(tuple(limits[0]), abs=0.006)
    assert found.delta_interval == pytest.approx(tuple(limits[1]), abs=0.006)


def test_counts_and_credits_say_the_same_to_the_bit() -> None:
    credits = np.array([[1, 0]] * 9 + [[0, 2]] * 4 + [[1, 1]] * 7)
    one, other = preference_by_credits(credits, seed=4), preference_of(9, 4, 7)
    assert one.to_polars()[:2].equals(other.to_polars())
    assert one.resamples == 0
    assert (one.pvalue, one.z) == (other.pvalue, other.z)


def test_outcomes_are_differences_of_credit() -> None:
    credits, users = _users()
    difference = credits[:, 0] - credits[:, 1]
    one, other = (
        preference_by_credits(x, users, unit="user", resamples=50) for x in (difference, credits)
    )
    assert one.to_polars().equals(other.to_polars())


def test_rounding_is_a_tie() -> None:
    found = preference_by_credits([0.1 + 0.2 - 0.3, 1e-3])
    assert (found.wins, found.losses, found.ties) == (1, 0, 1)


def test_expected_share_has_no_sign_test_by_unit() -> None:
    credits, users = _users()
    found = preference_by_credits(credits, users, unit="user", expected=0.3, resamples=100)
    assert np.isnan(found.pvalue)
    assert "no sign test by user: the expected proportion" in found.notes[0]
    low, high = found.outcome_interval
    assert (not low <= 0.3 <= high) == (found.outcome_pvalue <= 0.05)
    assert np.isnan(found.delta_pvalue)
    significant = found.outcome_pvalue <= 0.05
    assert ("Users prefer" in found.verdict) == significant
    assert "bootstrap by user" in found.verdict


def test_ties_only_and_one_impression() -> None:
    none = preference_of(0, 0, 5)
    assert np.isnan(none.outcome) and (none.pvalue, none.delta) == (1, 0)
    assert "No impression decides" in none.verdict
    one = preference_by_credits([[1.0, 0.0]])
    assert (one.outcome, one.pvalue) == (1.0, 1.0)
    assert np.isnan(one.credit_interval).all()
    same = preference_by_credits([[1.0, 0.0]] * 3)
    assert np.isnan([*same.credit_interval, same.credit_pvalue]).all()


def test_summary_in_words() -> None:
    found = preference_of(3030, 2452, 19055, names=("new", "site"))
    assert found.verdict == (
        "Of 5,482 impressions that decide between new and site, new wins 3,030 (55.3%, without"
        " 19,055 ties) and site 2,452. Users prefer new (sign test by impression: p = 6.2e-15)."
    )
    assert "prefer site" in preference_of(2452, 3030, names=("new", "site")).verdict


@pytest.mark.parametrize(
    ("counts", "expected", "preferred"),
    [
        ((60, 89, 0), 0.28, "A"),
        ((20, 129, 0), 0.28, "B"),
        ((60, 89, 0), 0.5, "B"),
        ((40, 109, 374), 0.28, None),
        ((80, 69, 5), 0.72, "B"),
    ],
)
def test_the_sentence_goes_by_the_expected_share(
    counts: tuple[int, int, int], expected: float, preferred: str | None
) -> None:
    found = preference_of(*counts, expected=expected)
    p = binomtest(counts[0], counts[0] + counts[1], expected).pvalue
    assert (p <= 0.05) == (preferred is not None)
    said = found.verdict
    assert ("Users prefer" in said) == (preferred is not None)
    assert preferred is None or f"Users prefer {preferred} " in said
    assert (f"{100 * expected:g}% if rankers are equal" in said) == (expected != 0.5)
    # The interval of the outcome excludes the expected share where the test rejects.
    low, high = found.outcome_interval
    assert (not low <= expected <= high) == (preferred is not None)


def test_the_sentence_of_users_goes_by_the_bootstrap_if_half_is_not_expected() -> None:
    random = np.random.default_rng(2)
    units = np.repeat(np.arange(60), 4)
    wins = random.random(240) < 0.4
    outcomes = np.where(wins, 1.0, -1.0)
    by_half = preference_by_credits(outcomes, units, unit="user", resamples=500)
    other = preference_by_credits(outcomes, units, unit="user", expected=0.2, resamples=500)
    assert "Users prefer B (sign test by user" in by_half.verdict
    assert "Users prefer A (bootstrap by user" in other.verdict


def test_the_p_value_of_a_verdict_does_not_round_to_the_other_side_of_alpha() -> None:
    assert 0.05 < binomtest(10, 32).pvalue < 0.0505
    verdict = preference_of(10, 22).verdict
    assert "not significant at 0.05 (sign test by impression: p = 0.0501)" in verdict
    assert "p < 1e-300" in preference_of(40_000, 10_000).verdict
    assert "undefined of 0 impressions without a tie" in str(preference_of(0, 0, 5))


def test_headings_state_the_level_and_the_resamples_of_intervals() -> None:
    credits, units = [[1, 0], [0, 1], [1, 0]], ["u", "u", "v"]
    options: dict[str, Any] = {"units": units, "confidence": 0.9, "resamples": 20, "seed": 3}
    preference = preference_by_credits(credits, expected=0.4, **options)
    assert "90% confidence intervals (20 resamples, seed 3)" in str(preference)
    assert "nan" not in str(preference)
    matrix = preference_matrix_by_credits(credits, **options)
    assert "90% confidence intervals of Delta (20 resamples, seed 3)" in str(matrix)
    assert matrix.facts()["confidence"] == 0.9


def power_of(n: int, share: float, alpha: float) -> float:
    """Sum the chances of all counts that the test rejects, which doubles the smaller tail."""
    count = np.arange(n + 1)
    rejected = 2 * binom.cdf(np.minimum(count, n - count), n, 0.5) <= alpha
    return float(binom.pmf(count, n, share)[rejected].sum())


@pytest.mark.parametrize(
    ("share", "alpha", "power"), [(0.75, 0.05, 0.8), (0.9, 0.01, 0.9), (1.0, 0.05, 0.8)]
)
def test_least_number_from_which_on_the_power_stays(
    share: float, alpha: float, power: float
) -> None:
    enough = [power_of(n, share, alpha) >= power for n in range(1, 80)]
    wanted = 1 + max(k for k, one in enumerate(enough, 1) if not one)
    assert impressions_needed(share, power=power, alpha=alpha) == wanted
    assert impressions_needed(1 - share, power=power, alpha=alpha) == wanted
    assert impressions_needed(share, 0.25, power=power, alpha=alpha) == 4 * wanted


def test_exact_and_approximate_numbers_meet() -> None:
    # On either side of 2,000 impressions that decide.
    few, many = impressions_needed(0.5314), impressions_needed(0.5312)
    assert few / many == pytest.approx((0.0312 / 0.0314) ** 2, rel=0.03)
    assert impressions_needed(0.5) == np.inf
