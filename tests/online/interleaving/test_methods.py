"""Methods of interleaving, against their definitions, enumeration and printed values."""

from __future__ import annotations

from itertools import permutations, product
from math import prod

import numpy as np
import pytest

import cranfield as cf
from cranfield import PolicyError
from tests.online.interleaving.enumeration import (
    ORDERS_OF_4,
    by_name,
    clicks_on,
    made,
    mean_outcome,
    team_draft,
    with_teams,
)


def softmax_chance(ranking: str, shown: str, doc: str, tau: float = 3) -> float:
    """Chance that a ranker gives a document, by the definition."""
    left = {one: (1 + k) ** -tau for k, one in enumerate(ranking) if one not in shown}
    return left.get(doc, 0.0) / sum(left.values()) if left else 0.0


def test_every_list_of_probabilistic_is_its_product() -> None:
    for other in ORDERS_OF_4[::4]:
        law = with_teams(made("abcd", other, method="Probabilistic").compute_distribution())
        assert len(law) == 24 * 16
        for (word, teams), p in law.items():
            chances = [
                0.5 * softmax_chance(("abcd", other)[team], word[:k], word[k])
                for k, team in enumerate(teams)
            ]
            assert p == pytest.approx(prod(chances), abs=1e-12)


def test_printed_probabilities() -> None:
    law = by_name(made("abc", "bca", method="Probabilistic").compute_distribution())
    assert law == pytest.approx(
        {"abc": 0.370429, "acb": 0.075786, "bac": 0.288709}
        | {"bca": 0.195354, "cab": 0.032232, "cba": 0.037489},
        abs=5e-7,
    )
    one = by_name(made("012", "012", method="PM", length=1).compute_distribution())
    assert one == pytest.approx({"0": 0.86056, "1": 0.10757, "2": 0.03187}, abs=5e-6)
    two = by_name(made("01", "12", method="PM", length=1).compute_distribution())
    assert two == pytest.approx({"0": 0.44444, "1": 0.5, "2": 0.05556}, abs=5e-6)
    turns = by_name(made("12", "13", method="PM(replace=False)", length=2).compute_distribution())
    assert turns == pytest.approx(
        {"12": 0.4444, "13": 0.4444, "21": 0.0494, "31": 0.0494, "23": 0.0062, "32": 0.0062},
        abs=5e-5,
    )
    marginals = made("1234", "2341", method="Probabilistic").credits(
        [[0, 1, 2, 3]] * 4, np.eye(4, dtype=bool)
    )
    first = [0.984615385, 0.449820789, 0.476900149, 0.5]
    assert marginals[:, 0] == pytest.approx(first, abs=5e-10)
    assert marginals.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("rankings", [("abcd", "bdca"), ("abc", "cd"), ("abcd", "dcba", "bad")])
def test_marginal_scoring_is_the_sum_over_assignments(
    rankings: tuple[str, ...], replace: bool
) -> None:
    """Credits and outcomes given a list, from the joint law of lists and teams."""
    interleaver = made(*rankings, method=f"Probabilistic(replace={replace})", length=4)
    law = interleaver.compute_distribution()
    lists = law.merge_teams().lists
    for clicks in list(clicks_on(lists, -1))[1::3]:
        clicked = clicks & (lists >= 0)
        credits = interleaver.credits(lists, clicked)
        signs = interleaver.outcomes(lists, clicked)
        for row, shown in enumerate(lists):
            same = (law.lists == shown).all(axis=1)
            p = law.probabilities[same] / law.probabilities[same].sum()
            own = [(law.teams[same] == one) & clicked[row] for one in range(len(rankings))]
            counts = np.array([one.sum(axis=1) for one in own])
            assert credits[row] == pytest.approx(counts @ p, abs=1e-12)
            assert signs[row] == pytest.approx(np.sign(counts[0] - counts[1]) @ p, abs=1e-12)


def test_marginals_where_nearly_everything_is_shown() -> None:
    """What is left is a sum, not a difference: the last of 50 is given for certain."""
    docs = [chr(200 + k) for k in range(50)]
    interleaver = made("".join(docs), "".join(docs[::-1]), method="Probabilistic(tau=6)")
    last = np.zeros((20, 50), dtype=bool)
    last[:, -1] = True
    credits = interleaver.credits(interleaver.draw(20, seed=1).lists, last)
    assert credits == pytest.approx(0.5, abs=1e-14)


def test_no_clicks_and_wrong_lists() -> None:
    interleaver = made("abc", "cab", method="Probabilistic(replace=False)")
    none = np.zeros((1, 3), dtype=bool)
    assert interleaver.outcomes([[0, 1, 2]], none).tolist() == [0]
    assert interleaver.credits(np.empty((0, 3), dtype=int), none[:0]).shape == (0, 2)
    impossible = made("a", "bc", method="Probabilistic(replace=False)")
    with pytest.raises(PolicyError, match="cannot have been drawn"):
        impossible.credits([[1, 2, 0]], none)


def test_sosm_ranks_the_shown_documents_alone() -> None:
    """Of a, c and d, the second ranker (bdca) has d, c, a."""
    interleaver = made("abcd", "bdca", method="SOSM", length=3)
    clicks = np.array([[True, False, False], [False, True, True]])
    credits = interleaver.credits([[0, 2, 3]] * 2, clicks)
    assert credits == pytest.approx(np.array([[1, 1 / 27], [1 / 8 + 1 / 27, 1 / 8 + 1]]))


def pairwise(rankings: tuple[str, ...], shown: str, clicked: str, pairs: str) -> list[float]:
    """Scores by equations of the paper, gone through pair by pair."""
    scores = [0.0] * len(rankings)

    def rank(ranking: str, doc: str) -> int:
        return ranking.index(doc) + 1 if doc in ranking else len(ranking) + 1

    lowest = max((shown.index(doc) for doc in clicked), default=-1)
    for better, worse in product(clicked, shown):
        i, j = shown.index(better), shown.index(worse)
        down_to = i + 1 if pairs == "joachims" else lowest + 1
        if worse in clicked or (j > i and j > down_to) or (pairs == "all" and j > lowest + 1):
            continue
        best = [min(rank(one, doc) for one in rankings) for doc in (better, worse)]
        if min(i, j) + 1 < max(best):
            continue
        w = 1.0
        for x in range(min(best), max(best)):
            union = {doc for one in rankings for doc in one[:x]}
            w *= 1 - 1 / (len(union) - (x - 1))
        for k, one in enumerate(rankings):
            scores[k] += np.sign(rank(one, worse) - rank(one, better)) / w
    return scores


@pytest.mark.parametrize("pairs", ["joachims", "all"])
@pytest.mark.parametrize("rankings", [("abc", "bca"), ("abcd", "bdca"), ("abc", "cab", "bcda")])
def test_pairwise_preferences_are_those_of_the_paper(rankings: tuple[str, ...], pairs: str) -> None:
    length = max(map(len, rankings))
    interleaver = made(*rankings, method=f"PPM(pairs='{pairs}')")
    law = interleaver.compute_distribution()
    for clicks in clicks_on(law.lists, -1):
        credits = interleaver.credits(law.lists, clicks)
        for row, codes in enumerate(law.lists):
            shown = "".join(str(interleaver.docs[code]) for code in codes)
            clicked = "".join(shown[k] for k in range(length) if clicks[row, k])
            assert credits[row] == pytest.approx(pairwise(rankings, shown, clicked, pairs))


def test_pairwise_lists_are_uniform_steps() -> None:
    for other in ORDERS_OF_4:
        expected: dict[str, float] = {}
        for order in permutations("abcd"):
            p = 1.0
            for k, doc in enumerate(order):
                candidates = set("abcd"[: k + 1] + other[: k + 1]) - set(order[:k])
                p *= (doc in candidates) / len(candidates)
            if p:
                expected["".join(order)] = p
        law = by_name(made("abcd", other, method="PPM").compute_distribution())
        assert law == pytest.approx(expected, abs=1e-12)


def test_a_short_ranking_puts_nothing_into_the_top_of_pairwise_lists() -> None:
    """What a ranking lacks is not in its top k, however long the other one is."""
    short = made("a", "abcdefgh", method="PPM", length=3)
    assert by_name(short.compute_distribution()) == {"abc": 1.0}
    for rankings in [("a", "abc"), ("acdb", "b", "ebd"), ("ab", "cdef"), ("abc", "dc", "a")]:
        found = cf.online.bias([list(one) for one in rankings], "PPM", 4)
        assert np.abs(found.outcomes).max() < 1e-12


def test_printed_values_of_pairwise_preferences() -> None:
    clicks = np.zeros((3, 5), dtype=bool)
    clicks[[0, 1, 2, 2], [1, 2, 1, 2]] = True
    three = made("01234", "01243", "21403", method="PPM")
    scores = three.credits([[0, 1, 2, 3, 4]] * 3, clicks)
    assert scores.tolist() == [[2, 2, -2], [-3, -3, 3], [-1, -1, 1]]
    mean = made("01234", "01243", "21403", method="PPM(mean=True)")
    of_two_pairs = mean.credits([[0, 1, 2, 3, 4]], clicks[1:2])
    assert of_two_pairs == pytest.approx(np.array([[-1.5, -1.5, 1.5]]))


def test_what_is_clicked_alone_and_ranked_higher_by_the_second() -> None:
    """Documents abc and bca, with c clicked wherever it is shown."""
    expected = {"TeamDraft": 0.0, "Probabilistic": -0.189708626, "PPM": -2.0, "Optimised": -1.0}
    for method, value in expected.items():
        interleaver = made("abc", "bca", method=method)
        law = interleaver.compute_distribution()
        outcomes = interleaver.outcomes(law.lists, law.lists == 2, law.teams)
        assert law.probabilities @ outcomes == pytest.approx(value, abs=5e-10)
    pairs = made("abc", "bca", method="PPM")
    law = pairs.compute_distribution()
    assert law.probabilities @ pairs.credits(law.lists, law.lists == 2) == pytest.approx([-2, 0])
    assert mean_outcome(made("abc", "bca", method="Probabilistic")) == pytest.approx(0, abs=1e-12)


def test_team_draft_is_its_enumeration() -> None:
    for other in ORDERS_OF_4:
        law = with_teams(made("abcd", other, method="TeamDraft").compute_distribution())
        expected = team_draft(["abcd", other], 4)
        assert law.keys() == expected.keys()
        assert all(law[key] == pytest.approx(float(p), abs=1e-12) for key, p in expected.items())


@pytest.mark.parametrize("rankings", [("ab", "bcda"), ("abc", "bca", "cab"), ("a", "b", "bc")])
def test_team_draft_of_unequal_and_many_rankings(rankings: tuple[str, ...]) -> None:
    law = with_teams(made(*rankings, method="TDM", length=3).compute_distribution())
    expected = team_draft(rankings, 3)
    assert law.keys() == expected.keys()
    assert all(law[key] == pytest.approx(float(p), abs=1e-12) for key, p in expected.items())


def test_printed_values() -> None:
    quarter = made("abcd", "bdca", method="TeamDraft").compute_distribution()
    assert by_name(quarter) == dict.fromkeys(["abcd", "abdc", "bacd", "badc"], 0.25)
    for pair, bias in {"abc bca": -1 / 3, "abcd bdca": -1 / 4, "abcd bcda": -1 / 2}.items():
        assert mean_outcome(made(*pair.split(), method="Balanced")) == pytest.approx(bias)


def test_a_common_prefix_may_be_nobodys() -> None:
    nobodys = made("abcd", "abdc", method="TeamDraft(common_prefix='nobody')")
    assert with_teams(nobodys.compute_distribution()) == {
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
        law = made(first, second, method="Balanced", length=length).compute_distribution()
        assert by_name(law) == expected


def test_credit_of_balanced_is_clicks_on_the_tops() -> None:
    """List abcd from abcd and bdca; d at rank 2 of the second: the tops are ab and bd."""
    interleaver = made("abcd", "bdca", method="Balanced")
    clicks = np.array([[True, False, False, True], [False, True, False, False], [False] * 4])
    assert interleaver.credits([[0, 1, 2, 3]] * 3, clicks).tolist() == [[1, 1], [0, 1], [0, 0]]
