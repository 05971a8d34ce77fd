"""Optimised interleaving: lists, constraints, optimum, and one answer where there are many."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import cranfield as cf
from cranfield import PolicyError
from tests.online.interleaving.enumeration import ORDERS_OF_4, by_name, made


def test_printed_probabilities() -> None:
    linear = {
        "abcd bdca": {"abdc": 0.25, "badc": 0.35, "bdac": 0.40},
        "abc bca": {"abc": 1 / 3, "bac": 1 / 3, "bca": 1 / 3},
        "abcd bcda": dict.fromkeys(["abcd", "bacd", "bcad", "bcda"], 0.25),
        "abcd dcba": {"adcb": 0.5, "dabc": 0.5},
    }
    inverse = {
        "abcd bdca": {"abdc": 0.40, "badc": 0.35, "bdac": 0.25},
        "abc bca": {"abc": 3 / 7, "bac": 13 / 35, "bca": 1 / 5},
        "12 23": {"12": 3 / 7, "21": 13 / 35, "23": 1 / 5},
    }
    for method, cases in {"OI": linear, "Optimised(credit='inverse')": inverse}.items():
        for pair, expected in cases.items():
            law = made(*pair.split(), method=method).compute_distribution()
            assert by_name(law) == pytest.approx(expected, abs=1e-12)
            assert law.imbalance is not None and law.imbalance.max() < 1e-12


def credits_of(rankings: tuple[str, ...], word: str, credit: str) -> np.ndarray:
    ranks = np.array([[one.index(doc) + 1 for doc in word] for one in rankings], dtype=float)
    return -ranks if credit == "linear" else 1 / ranks


def made_of_prefixes(rankings: tuple[str, ...], word: str) -> bool:
    """Whether each document comes right after a prefix of one of the rankings."""
    return all(
        any(set(one[: one.index(doc)]) <= set(word[:k]) for one in rankings)
        for k, doc in enumerate(word)
    )


def entropy(credits: np.ndarray) -> float:
    attention = 1 / np.arange(1, credits.shape[1] + 1)
    attention /= attention.sum()
    first, second = (attention[sign * (credits[0] - credits[1]) > 0].sum() for sign in (1, -1))
    if min(first, second) == 0:
        return 0.0
    a, b = first / (first + second), second / (first + second)
    return float((first + second) * (a * np.log(a) + b * np.log(b)))


def variance(credits: np.ndarray) -> float:
    seen = (credits / np.arange(1, credits.shape[1] + 1)).sum(axis=1)
    return float(((seen - seen.mean()) ** 2).sum())


@pytest.mark.parametrize(
    "method, credit, of_lists",
    [
        ("Optimised", "linear", entropy),
        ("Optimised", "inverse", entropy),
        ("OM", "inverse", variance),
    ],
)
def test_all_orders_of_four(method: str, credit: str, of_lists: object) -> None:
    """Constraints to 1e-9, and no better point by a program that has no second objective."""
    assert callable(of_lists)
    for other in ORDERS_OF_4[::2]:
        rankings = "abcd", other
        words = [one for one in ORDERS_OF_4 if made_of_prefixes(rankings, one)]
        each = [credits_of(rankings, word, credit) for word in words]
        cost = np.array([of_lists(one) for one in each])
        down_to = np.array([(one[0] - one[1]).cumsum() for one in each]).T
        best = linprog(cost, A_eq=np.r_[down_to, np.ones((1, len(words)))], b_eq=[0, 0, 0, 0, 1])
        law = by_name(made(*rankings, method=f"{method}(credit='{credit}')").compute_distribution())
        p = np.array([law.pop(word, 0.0) for word in words])
        assert law == {} and best.success
        assert np.abs(down_to @ p).max() < 1e-9
        assert p.sum() == pytest.approx(1, abs=1e-12) and p.min() >= 0
        assert cost @ p == pytest.approx(best.fun, abs=1e-9)


def test_many_rankers_have_equal_credit() -> None:
    law = made("abcd", "bdca", "dacb", method="OM").compute_distribution()
    assert law.imbalance is not None and law.imbalance.max() < 1e-9
    interleaver = made("abcd", "bdca", "dacb", method="OM")
    for k in range(1, 5):
        clicks = np.broadcast_to(np.arange(4) < k, law.lists.shape)
        expected = law.probabilities @ interleaver.credits(law.lists, clicks)
        assert np.ptp(expected) < 1e-9


def test_what_cannot_be_unbiased_says_so() -> None:
    """A click on what the second ranker alone has is its credit, wherever that is shown."""
    assert repr(made("ab", "ab", method="OI").compute_distribution()) == "Distribution(1 list)"
    unequal = made("a", "abc", method="Optimised", length=3)
    biased = unequal.compute_distribution()
    assert biased.imbalance == pytest.approx([0, 0, 1])
    assert "expected credits differ by up to 1" in repr(biased)
    with pytest.raises(PolicyError, match="no unbiased solution.*differ by up to 1"):
        made("a", "abc", method="Optimised(infeasible='refuse')", length=3).compute_distribution()


def test_slack_buys_variance_with_bias() -> None:
    rankings = "abcd", "bcda", "dacb"
    exact = made(*rankings, method="OM").compute_distribution()
    rough = made(*rankings, method="OM(slack=0.001)").compute_distribution()
    dear = made(*rankings, method="OM(slack=1000)").compute_distribution()
    assert rough.imbalance is not None and dear.imbalance is not None
    assert rough.imbalance.max() > 0.01 > 1e-9 > dear.imbalance.max()
    assert by_name(dear) == pytest.approx(by_name(exact), abs=1e-9)


def test_many_allowed_lists_are_drawn() -> None:
    rng = np.random.default_rng(1)
    rankings = ["".join(rng.permutation(list("abcdefghij"))) for _ in range(4)]
    law = made(*rankings, method="OM(candidates=300)").compute_distribution()
    again = made(*rankings, method="OM(candidates=300)").compute_distribution()
    assert len(law) <= 301 and (law.probabilities == again.probabilities).all()
    assert law.imbalance is not None and law.imbalance.max() < 0.2
    other = made(*rankings, method="OM(candidates=300, seed=1)").compute_distribution()
    assert len(other) != len(law) or (other.lists != law.lists).any()


def test_forty_documents_of_two_real_lengths() -> None:
    first = [f"d{k}" for k in range(40)]
    second = first[::-1][:25] + [f"e{k}" for k in range(5)]
    law = cf.online.interleave([first, second], "OI", length=10).compute_distribution()
    assert law.imbalance is not None and law.probabilities.sum() == pytest.approx(1, abs=1e-12)
