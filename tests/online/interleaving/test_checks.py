"""Bias and fidelity, as the methods' papers claim them and as they are."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import cranfield as cf
from tests.online.interleaving.enumeration import ORDERS_OF_4, made, mean_outcome

UNBIASED = [
    *("TeamDraft", "TeamDraft(common_prefix='nobody')"),
    *("Probabilistic", "Probabilistic(replace=False)", "Probabilistic(scoring='assigned')"),
    *("Optimised", "Optimised(credit='inverse')", "OM"),
    *("PPM", "PPM(pairs='all')"),
]


@pytest.mark.parametrize("method", UNBIASED)
def test_no_bias_on_any_pair_of_orders(method: str) -> None:
    """Of three documents; of four by the orders of the second ranker, which stand for all pairs."""
    for other in [
        *map("".join, permutations("abc")),
        *ORDERS_OF_4[:: 5 if method == "PPM" else 12],
    ]:
        found = cf.online.bias([sorted(other), list(other)], method)
        assert found.max_outcome < 1e-12
        assert np.ptp(found.credits, axis=1).max() < 1e-12


def test_pairwise_credit_is_nothing_for_each_of_three_rankers() -> None:
    found = cf.online.bias([list("abcd"), list("bdca"), list("dacb")], "PPM")
    assert np.abs(found.credits).max() < 1e-12


@pytest.mark.parametrize("method", ["Balanced", "TeamDraft", "SOSM", "Optimised", "PPM"])
def test_bias_is_the_mean_over_clicks(method: str) -> None:
    for other in ORDERS_OF_4[::5]:
        found = cf.online.bias([list("abcd"), list(other)], method)
        interleaver = made("abcd", other, method=method)
        assert found.outcomes[0, 0, 1] == pytest.approx(mean_outcome(interleaver, 1), abs=1e-12)
        assert found.outcomes[1, 0, 1] == pytest.approx(mean_outcome(interleaver, -1), abs=1e-12)


def test_what_is_biased() -> None:
    """Signs of credits that differ in size are for who has the small ones, often."""
    bca = [list("abc"), list("bca")]
    for method, expected in {
        "Balanced": -1 / 3,
        "SOSM": -1 / 3,
        "Optimised(outcome='sign')": -1 / 3,
        "PPM(outcome='sign')": -1 / 6,
    }.items():
        assert cf.online.bias(bca, method).outcomes[0, 0, 1] == pytest.approx(expected)
    frame = cf.online.bias(bca, "Balanced").to_polars()
    assert frame["clicks"].to_list() == ["one click", "any clicks"]
    assert frame["outcome"].to_list() == pytest.approx([-1 / 3, -1 / 4])


def test_lists_of_different_lengths() -> None:
    """Balanced ends with the shorter ranking: lists a b and b a c."""
    found = cf.online.bias([["a", "b"], ["b", "c"]], "Balanced")
    assert found.outcomes[0, 0, 1] == pytest.approx((0 - 1 / 3) / 2)


@pytest.mark.parametrize(
    "method, ties",
    [("Balanced", 2), ("TeamDraft", 2), ("Probabilistic", 0), ("Optimised", 0), ("PPM", 0)],
)
def test_fidelity(method: str, ties: int) -> None:
    found = cf.online.fidelity(method)
    assert (found.wins, found.losses, found.ties) == (20 - ties, 0, ties)


def test_team_draft_does_not_see_one_document_moved_up() -> None:
    frame = cf.online.fidelity("TeamDraft").to_polars()
    blind = frame.filter(frame["outcome"].abs() < 1e-12).drop("outcome").rows()
    assert ("bca", "abc", "c") in blind
