"""Comparisons of a campaign's runs where scores are missing."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.campaign.results.leaderboard import compared


@pytest.mark.parametrize("lower", [False, True])
def test_missing_scores_are_never_good_ones(lower: bool) -> None:
    values = np.random.default_rng(0).uniform(1, 2, size=(20, 3))
    values[:10, 2] = np.nan
    scores = cf.Scores(values, tuple(map(str, range(20))), ("a", "b", "gaps"), "x", "mean")
    found = compared(scores.with_direction(lower_is_better=lower))
    assert found.topics == (10 if lower else 20)
    assert lower or found.systems[found.order[-1]] == "gaps"
