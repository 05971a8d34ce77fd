"""Team draft and balanced interleaving, against the definitions gone through by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.online.interleaving.enumeration import (
    ORDERS_OF_4,
    by_name,
    made,
    mean_outcome,
    team_draft,
    with_teams,
)


def test_team_draft_is_its_enumeration() -> None:
    for other in ORDERS_OF_4:
        law = with_teams(made("abcd", other, method="TeamDraft").distribution())
        expected = team_draft(["abcd", other], 4)
        assert law.keys() == expected.keys()
        assert all(law[key] == pytest.approx(float(p), abs=1e-12) for key, p in expected.items())


@pytest.mark.parametrize("rankings", [("ab", "bcda"), ("abc", "bca", "cab"), ("a", "b", "bc")])
def test_team_draft_of_unequal_and_many_rankings(rankings: tuple[str, ...]) -> None:
    law = with_teams(made(*rankings, method="TDM", length=3).distribution())
    expected = team_draft(rankings, 3)
    assert law.keys() == expected.keys()
    assert all(law[key] == pytest.approx(float(p), abs=1e-12) for key, p in expected.items())


def test_printed_values() -> None:
    quarter = made("abcd", "bdca", method="TeamDraft").distribution()
    assert by_name(quarter) == dict.fromkeys(["abcd", "abdc", "bacd", "badc"], 0.25)
    for pair, bias in {"abc bca": -1 / 3, "abcd bdca": -1 / 4, "abcd bcda": -1 / 2}.items():
        assert mean_outcome(made(*pair.split(), method="Balanced")) == pytest.approx(bias)


def test_a_common_prefix_may_be_nobodys() -> None:
    nobodys = made("abcd", "abdc", method="TeamDraft(common_prefix='nobody')")
    assert with_teams(nobodys.distribution()) == {
        ("abcd", (-1, -1, 0, 1)): 0.5,
        ("abdc", (-1, -1, 1, 0)): 0.5,
    }
    clicks = np.ones((1, 4), dtype=bool)
    assert nobodys.credits([[0, 1, 2, 3]], clicks, [[-1, -1, 0, 1]]).tolist() == [[1, 1]]


def balanced(first: str, second: str, coin: int, length: int) -> str:
    """Algorithm 1 of Ferro and Maistro (2024), with both pointers moving always."""
    shown = ""
    a = b = 0
    while a < len(first) and b < len(second) and len(shown) < length:
        if a < b or (a == b and coin == 0):
            shown += first[a] if first[a] not in shown else ""
            a += 1
        else:
            shown += second[b] if second[b] not in shown else ""
            b += 1
    return shown


@pytest.mark.parametrize("pair", ["abcd bdca", "ab cdef", "abcd e", "a a", "abc def"])
def test_balanced_is_the_algorithm(pair: str) -> None:
    first, second = pair.split()
    for length in (1, 2, 3, 6):
        expected: dict[str, float] = {}
        for coin in (0, 1):
            shown = balanced(first, second, coin, length)
            expected[shown] = expected.get(shown, 0) + 0.5
        law = made(first, second, method="Balanced", length=length).distribution()
        assert by_name(law) == expected


def test_credit_of_balanced_is_clicks_on_the_tops() -> None:
    """List abcd from abcd and bdca; d at rank 2 of the second: the tops are ab and bd."""
    interleaver = made("abcd", "bdca", method="Balanced")
    clicks = np.array([[True, False, False, True], [False, True, False, False], [False] * 4])
    assert interleaver.credits([[0, 1, 2, 3]] * 3, clicks).tolist() == [[1, 1], [0, 1], [0, 0]]
