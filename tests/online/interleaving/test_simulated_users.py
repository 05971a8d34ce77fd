"""Simulated users: against the enumeration of everything that may happen, and by frequency."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.streams import draw_uniforms
from cranfield.online import CascadeUser, simulated_user
from cranfield.online.interleaving.checks import PRESETS, STOP_RULES


def _vectors(user: CascadeUser, grades: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Enumerate what a user may do at each rank, and sum the chances by click vector."""
    found: dict[tuple[int, ...], float] = {}
    for coins in product(product((0, 1), repeat=2), repeat=len(grades)):
        chance, clicks, going = 1.0, [], True
        for grade, (click, stop) in zip(grades, coins, strict=True):
            chance *= user.click[grade] if click else 1 - user.click[grade]
            chance *= user.stop[grade] if stop else 1 - user.stop[grade]
            clicks.append(int(going and click))
            if stop and (user.stop_after == "examined" or click):
                going = False
        vector = tuple(clicks)
        found[vector] = found.get(vector, 0.0) + chance
    return found


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("stop", STOP_RULES)
def test_chances_are_those_of_all_click_vectors(name: str, stop: str) -> None:
    for size, (a, b, c) in product((2, 3, 5), product((0, 1, -1), repeat=3)):
        user, grades = simulated_user(name, size, stop), (a % size, b % size, c % size)
        vectors = _vectors(user, grades)
        assert sum(vectors.values()) == pytest.approx(1, abs=1e-12)
        wanted = sum(p * np.array(vector) for vector, p in vectors.items())
        assert user.compute_click_probabilities([grades])[0] == pytest.approx(
            wanted, rel=0, abs=1e-12
        )


@pytest.mark.parametrize("stop", STOP_RULES)
def test_click_vectors_come_as_often_as_enumerated(stop: str) -> None:
    user = CascadeUser((0.3, 0.6, 0.9), (0.1, 0.4, 0.7), stop_after=stop)
    grades, pages = (0, 2, 1, 1), 200_000
    clicks = user.draw_clicks(np.tile(grades, (pages, 1)), draw_uniforms(5, 0, pages, 8))
    vectors = _vectors(user, grades)
    code = clicks @ [8, 4, 2, 1]
    found = np.bincount(code, minlength=16) / pages
    wanted = np.zeros(16)
    for vector, chance in vectors.items():
        wanted[np.dot(vector, [8, 4, 2, 1])] = chance
    error = np.sqrt(wanted * (1 - wanted) / pages)
    assert (np.abs(found - wanted) <= 4.5 * error + 1e-12).all()


@given(st.lists(st.integers(-1, 1), min_size=1, max_size=12), st.sampled_from(STOP_RULES))
def test_ended_lists_and_single_pages(grades: list[int], stop: str) -> None:
    user = simulated_user("informational", stop_after=stop)
    rows = np.array([grades] * 3)
    numbers = draw_uniforms(1, 0, 3, 2 * len(grades))
    clicks = user.draw_clicks(rows, numbers)
    assert not clicks[rows < 0].any()
    assert (user.compute_click_probabilities(rows)[rows < 0] == 0).all()
    # A page is what it is alone, and its top what it is without the rest.
    assert (user.draw_clicks(rows[1:2], numbers[1:2]) == clicks[1:2]).all()
    assert (user.draw_clicks(rows[:, :1], numbers) == clicks[:, :1]).all()


def test_perfect_and_stopping_after_clicks() -> None:
    grades = np.array([[0, 1, 0, 1]])
    numbers = draw_uniforms(2, 0, 1, 8)
    assert simulated_user("perfect").draw_clicks(grades, numbers).tolist() == [[False, True] * 2]
    never = CascadeUser((0.0, 1.0), (1.0, 1.0), stop_after="clicked")
    assert never.draw_clicks(grades, numbers).tolist() == [[False, True, False, False]]
    at_once = CascadeUser((0.0, 1.0), (1.0, 1.0))
    assert not at_once.draw_clicks(grades, numbers).any()
