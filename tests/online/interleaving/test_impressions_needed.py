"""Impressions that the sign test needs: against sums of binomial chances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from cranfield.online import impressions_needed


def _power(n: int, share: float, alpha: float) -> float:
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
    enough = [_power(n, share, alpha) >= power for n in range(1, 80)]
    wanted = 1 + max(k for k, one in enumerate(enough, 1) if not one)
    assert impressions_needed(share, power=power, alpha=alpha) == wanted
    assert impressions_needed(1 - share, power=power, alpha=alpha) == wanted
    assert impressions_needed(share, 0.25, power=power, alpha=alpha) == 4 * wanted


def test_exact_and_approximate_numbers_meet() -> None:
    # On either side of 2,000 impressions that decide.
    few, many = impressions_needed(0.5314), impressions_needed(0.5312)
    assert few / many == pytest.approx((0.0312 / 0.0314) ** 2, rel=0.03)
    assert impressions_needed(0.5) == np.inf
