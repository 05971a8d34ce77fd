"""What the tests know of lists: by name, and enumerated with fractions, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import factorial

import numpy as np

from cranfield.online import Distribution, Interleaver, interleave

Law = dict[tuple[str, tuple[int, ...]], Fraction]
"""Probability of each list with its teams."""

ORDERS_OF_4 = ["".join(order) for order in permutations("abcd")]


def made(*rankings: str, method: str, length: int | None = None) -> Interleaver:
    longest = length or max(map(len, rankings))
    return interleave([list(one) for one in rankings], method, longest)


def by_name(distribution: Distribution) -> dict[str, float]:
    """Probability of each list, as one word."""
    merged = distribution.merge_teams()
    words = [
        "".join(str(distribution.rankings.docs[code]) for code in row if code >= 0)
        for row in merged.lists.tolist()
    ]
    return dict(zip(words, merged.probabilities.tolist(), strict=True))


def with_teams(distribution: Distribution) -> dict[tuple[str, tuple[int, ...]], float]:
    docs = distribution.rankings.docs
    return {
        ("".join(docs[code] for code in row if code >= 0), tuple(own)): p
        for row, own, p in zip(
            distribution.lists.tolist(),
            distribution.teams.tolist(),
            distribution.probabilities.tolist(),
            strict=True,
        )
    }


def team_draft(rankings: Sequence[str], length: int) -> Law:
    """Go through all permutations of all rounds, as the definition says."""
    law: Law = {}
    orders = list(permutations(range(len(rankings))))
    for rounds in product(orders, repeat=length):
        shown, teams = "", []
        for ranker in (one for order in rounds for one in order):
            rest = [doc for doc in rankings[ranker] if doc not in shown]
            if rest and len(shown) < length:
                shown += rest[0]
                teams.append(ranker)
        key = (shown, tuple(teams) + (-1,) * (length - len(teams)))
        law[key] = law.get(key, Fraction(0)) + Fraction(1, factorial(len(rankings)) ** length)
    return law


def clicks_on(lists: np.ndarray, number: int) -> Iterator[np.ndarray]:
    """Yield truth values for every one, or every set, of the ranks."""
    for chosen in product([False, True], repeat=lists.shape[1]):
        if number < 0 or sum(chosen) == number:
            yield np.broadcast_to(np.array(chosen), lists.shape)


def mean_outcome(interleaver: Interleaver, clicks: int = 1) -> float:
    """Expected outcome where so many ranks, or any (-1), are clicked at random."""
    law = interleaver.compute_distribution()
    means = [
        float(law.probabilities @ interleaver.outcomes(law.lists, clicked, law.teams))
        for clicked in clicks_on(law.lists, clicks)
    ]
    return float(np.mean(means))
