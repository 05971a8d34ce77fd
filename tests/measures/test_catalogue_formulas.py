"""Formulas of the catalogue that divide by something, computed term by term for one topic."""

from __future__ import annotations

from math import log2

import pytest

import cranfield as cf

RANKING = "abcde"
ANSWERS = {"a": {"x"}, "b": set(), "c": {"x", "y"}, "d": {"y"}, "e": {"x"}}
"""Intents that each document answers."""
PROBABILITIES = {"x": 0.5, "y": 0.3, "z": 0.2}
"""No document answers z, so that it does not count."""
GRADES = {"a": 1, "b": 0, "c": 3, "d": 2, "e": 1, "f": 3, "g": 1}


def value(measure: str, *, intents: bool = False) -> float:
    run = {"q": {doc: float(-rank) for rank, doc in enumerate(RANKING)}}
    if not intents:
        return float(cf.evaluate(run, {"q": GRADES}, measure)[measure].values[0, 0])
    rows = [
        {"topic": "q", "doc": doc, "grade": int(one in answered), "subtopic": one}
        for doc, answered in ANSWERS.items()
        for one in PROBABILITIES
    ]
    scores = cf.evaluate(run, rows, measure, intents={"q": PROBABILITIES})
    return float(scores[measure].values[0, 0])


def gains(alpha: float) -> list[float]:
    """ng(r) of each rank."""
    seen = dict.fromkeys(PROBABILITIES, 0)
    out = []
    for doc in RANKING:
        out.append(sum(PROBABILITIES[i] * (1 - alpha) ** seen[i] for i in ANSWERS[doc]))
        for i in ANSWERS[doc]:
            seen[i] += 1
    return out


@pytest.mark.parametrize("alpha", [0.5, 0.2])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_novelty_over_a_perfect_list(alpha: float, k: int) -> None:
    whole = PROBABILITIES["x"] + PROBABILITIES["y"]
    for name, discount in (("alpha_DCG", lambda r: log2(r + 1)), ("ERR_IA", lambda r: r)):
        found = sum(gain / discount(r) for r, gain in enumerate(gains(alpha)[:k], 1))
        perfect = sum(whole * (1 - alpha) ** (r - 1) / discount(r) for r in range(1, k + 1))
        form = f"alpha={alpha}"
        assert value(f"{name}({form})@{k}", intents=True) == pytest.approx(found / perfect)
        assert value(f"{name}({form}, over='none')@{k}", intents=True) == pytest.approx(found)
    beta = 0.5
    found = sum(beta ** (r - 1) * gain for r, gain in enumerate(gains(alpha), 1))
    assert value(f"NRBP(alpha={alpha})", intents=True) == pytest.approx(
        (1 - (1 - alpha) * beta) / whole * found
    )


@pytest.mark.parametrize("k", [2, 4, 5])
def test_graded_average_precision_of_the_k_best(k: int) -> None:
    grades = [GRADES[doc] for doc in RANKING][:k]
    ideal = sorted(GRADES.values(), reverse=True)
    number = len([grade for grade in ideal if grade > 0])
    found = sum(sum(grades[:r]) / r for r in range(1, k + 1) if grades[r - 1] > 0)
    best = sum(sum(ideal[:r]) / r for r in range(1, min(k, number) + 1))
    assert value(f"gAP@{k}") == pytest.approx(found / best)
    # With equal weights of thresholds G(g) is g, and a topic's grades are 1, 2 and 3.
    found = sum(sum(min(grade, grades[r - 1]) for grade in grades[:r]) / r for r in range(1, k + 1))
    most = sum(min(k, len([grade for grade in ideal if grade >= j])) for j in (1, 2, 3))
    assert value(f"GAP@{k}") == pytest.approx(found / most)


def test_shares_of_attention_and_relevance() -> None:
    attention = [1 / max(1, log2(rank)) for rank in range(1, len(RANKING) + 1)]
    got = dict(zip(RANKING, (one / sum(attention) for one in attention), strict=True))
    owed = {doc: grade / sum(GRADES.values()) for doc, grade in GRADES.items()}
    expected = sum(abs(got.get(doc, 0.0) - owed[doc]) for doc in GRADES)
    assert value("IAA") == pytest.approx(expected)
