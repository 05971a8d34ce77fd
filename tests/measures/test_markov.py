"""Markov precision beside chains that are solved, and measures of click models beside loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.base.arrays import Floats
from tests.measures.rankings import judge_rankings, values

rankings = st.lists(st.none() | st.integers(0, 2), min_size=1, max_size=12)


def chain(places: list[int], moves: str, distance: str, loops: bool) -> Floats:
    """Solve for the invariant distribution of the chain on these ranks."""
    size = len(places)
    weight = np.zeros((size, size))
    for a, i in enumerate(places):
        for b, j in enumerate(places):
            if (a == b and not loops) or (moves == "local" and abs(a - b) > 1):
                continue
            d = abs(i - j)
            weight[a, b] = {"inverse": 1 / (d + 1), "log": 1 / math.log10(d + 2), "none": 1}[
                distance
            ]
    if size == 1:
        return np.ones(1)
    steps = weight / weight.sum(axis=1, keepdims=True)
    equations = np.vstack([steps.T - np.eye(size), np.ones(size)])
    wanted = np.append(np.zeros(size), 1.0)
    return np.asarray(np.linalg.lstsq(equations, wanted, rcond=None)[0])


@pytest.mark.parametrize("distance", ["inverse", "log", "none"])
@pytest.mark.parametrize("moves", ["global", "local"])
@pytest.mark.parametrize("states", ["all", "relevant"])
@settings(max_examples=8)
@given(rankings, rankings, st.integers(1, 2), st.booleans())
def test_chains(
    states: str,
    moves: str,
    distance: str,
    one: list[int | None],
    two: list[int | None],
    rel: int,
    loops: bool,
) -> None:
    text = (
        f"MP(states='{states}', moves='{moves}', distance='{distance}', loops={loops}, rel={rel})"
    )
    found = values(judge_rankings(one, two), text)
    for ranking, score in zip((one, two), found, strict=True):
        hits = [i for i, grade in enumerate(ranking, 1) if grade is not None and grade >= rel]
        if not hits:
            assert score == 0
            continue
        places = hits if states == "relevant" else list(range(1, len(ranking) + 1))
        often = dict(zip(places, chain(places, moves, distance, loops), strict=True))
        total = sum(often[i] for i in hits)
        expected = sum(often[i] / total * (n / i) for n, i in enumerate(hits, 1))
        assert score == pytest.approx(expected, abs=1e-10)


def test_cutoff() -> None:
    assert values(judge_rankings([0, 1, 0, 1]), "MP@2") == [0.5]


def clicked(
    ranking: list[int | None],
    clicks: dict[int, float],
    satisfies: dict[int, float],
    examined: dict[int, float],
) -> tuple[float, float]:
    """UM with binary gains, and rrM."""
    utility = effort = 0.0
    here, still = examined.get(1, 1.0) if examined else 1.0, 1.0
    for rank, judged_grade in enumerate(ranking, 1):
        grade = judged_grade or 0
        here = examined.get(rank, here)
        click = clicks.get(grade, 0.0) * still * here
        utility += click * (judged_grade is not None and grade >= 1)
        if judged_grade is not None:
            effort += satisfies.get(grade, 0.0) * click / rank
        still *= 1 - clicks.get(grade, 0.0) * satisfies.get(grade, 0.0)
    return utility, effort


@settings(max_examples=12)
@given(rankings, rankings)
def test_click_models(one: list[int | None], two: list[int | None]) -> None:
    clicks, satisfies = {0: 0.2, 1: 0.5, 2: 0.9}, {0: 0.1, 1: 0.4, 2: 0.8}
    for examined in ({}, {1: 1.0, 2: 0.7, 5: 0.3}):
        options = f"clicks={clicks}, satisfies={satisfies}"
        options += f", examined={examined}" if examined else ""
        runs = judge_rankings(one, two)
        expected = [clicked(ranking, clicks, satisfies, examined) for ranking in (one, two)]
        assert values(runs, f"uM({options})") == pytest.approx([u for u, _ in expected])
        assert values(runs, f"rrM({options})") == pytest.approx([e for _, e in expected])
