"""Fairness of tops and pairs: enumeration of rankings, fairsearchcore's tables, properties."""

from __future__ import annotations

from itertools import combinations, product
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield.measures.fairness.parity  # noqa: F401
from cranfield.base.errors import MeasureError
from cranfield.measures.fairness.parity import compute_required_counts
from tests.measures.fairness_cases import Case, cases

NAMES = ("rND", "rKL", "rRD")


def apart(name: str, seen: int, top: int, protected: int, size: int) -> float:
    if name == "rND":
        return abs(seen / top - protected / size)
    if name == "rRD":
        inside = seen / (top - seen) if top > seen else 0.0
        return abs(inside - protected / (size - protected))
    pairs = ((seen / top, protected / size), (1 - seen / top, 1 - protected / size))
    return sum(a * log2(a / b) for a, b in pairs if a)


def unfairness(name: str, flags: tuple[bool, ...], step: int, last: int) -> float:
    """Sum over cut points, before it is normalised."""
    return sum(
        apart(name, sum(flags[:top]), top, sum(flags), len(flags)) / log2(top)
        for top in range(step, min(last, len(flags)) + 1, step)
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("last", [8, 4])
@settings(max_examples=10)
@given(st.lists(st.booleans(), min_size=2, max_size=8), st.sampled_from([2, 3]))
def test_definition(name: str, last: int, flags: list[bool], step: int) -> None:
    docs = "abcdefgh"[: len(flags)]
    groups = {doc: {"x" if flag else "y": 1.0} for doc, flag in zip(docs, flags, strict=True)}
    case = Case(tuple(docs), {"a": 1}, groups)
    if not any(flags):
        return
    found = case.evaluate(f"{name}(protected='x', step={step})@{last}")
    plain = case.evaluate(f"{name}(normalised=False, protected='x', step={step})@{last}")
    if all(flags):
        assert found == plain == 0.0
        return
    size = len(flags)
    all_of = [
        unfairness(name, tuple(i in chosen for i in range(size)), step, last)
        for chosen in combinations(range(size), sum(flags))
    ]
    value, worst = unfairness(name, tuple(flags), step, last), max(all_of)
    assert plain == pytest.approx(value, abs=1e-12)
    assert found == pytest.approx(value / worst if worst > 1e-12 else 0.0, abs=1e-9)


def test_documents_without_a_group_count_as_not_protected() -> None:
    with_group = Case(tuple("abcd"), {"a": 1}, {"a": {"x": 1.0}, "b": {"y": 1.0}})
    without = Case(tuple("abcd"), {"a": 1}, {"a": {"x": 1.0}})
    for name in NAMES:
        text = f"{name}(protected='x', step=2)"
        assert with_group.evaluate(text) == without.evaluate(text) > 0


FAIRSEARCHCORE = {
    (10, 0.5, 0.1): "0 0 0 1 1 1 2 2 3 3",
    (20, 0.3, 0.1): "0 0 0 0 0 0 1 1 1 1 1 2 2 2 2 3 3 3 3 3",
    (30, 0.6, 0.15): "0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 8 8 9 9 10 10 11 11 12 12 13 14 14 15 15",
}
"""fairsearchcore 1.0.4, MTableGenerator(k, p, alpha, adjust_alpha=False)."""


@pytest.mark.parametrize(("k", "share", "alpha"), FAIRSEARCHCORE)
def test_fairsearchcore(k: int, share: float, alpha: float) -> None:
    wanted = [int(one) for one in FAIRSEARCHCORE[k, share, alpha].split()]
    assert list(compute_required_counts(k, share, alpha, False)) == wanted


ADJUSTED = {
    (20, 0.3, 0.1): "0 0 0 0 0 0 0 1 1 1 1 1 1 2 2 2 2 2 3 3",
    (40, 0.25, 0.05): "0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 2 2 2 2 2 2 3 3 3 3 3 3"
    " 4 4 4 4 4 4 5 5",
}
"""The same with adjust_alpha=True, where its nearest table does not reject more than alpha."""


@pytest.mark.parametrize(("k", "share", "alpha"), ADJUSTED)
def test_fairsearchcore_adjusted(k: int, share: float, alpha: float) -> None:
    assert compute_required_counts(k, share, alpha, True) == tuple(
        map(int, ADJUSTED[k, share, alpha].split())
    )


@pytest.mark.parametrize(("share", "alpha"), [(0.5, 0.1), (0.3, 0.1), (0.7, 0.2)])
def test_the_chance_to_reject_is_kept(share: float, alpha: float) -> None:
    """Over all 2^10 rankings; nothing is lowered where that is not needed."""
    draws = np.array(list(product([0, 1], repeat=10)))
    chance = np.prod(np.where(draws == 1, share, 1 - share), axis=1)

    def rejected(needed: np.ndarray) -> float:
        return float(chance[(np.cumsum(draws, axis=1) < needed).any(axis=1)].sum())

    needed = np.array(compute_required_counts(10, share, alpha, True))
    assert rejected(needed) <= alpha
    plain = np.array(compute_required_counts(10, share, alpha, False))
    assert (needed == plain).all() == (rejected(plain) <= alpha)


def test_ranked_group_fairness() -> None:
    groups = {doc: {"x" if doc in "cf" else "y": 1.0} for doc in "abcdef"}
    case = Case(tuple("abdcef"), {"a": 1}, groups)
    # Tops of 4 and 5 need one of x each, as does the top of 6.
    assert case.evaluate("FAIR(adjusted=False, protected='x')@6") == 1.0
    late = Case(tuple("abdecf"), {"a": 1}, groups)
    assert late.evaluate("FAIR(adjusted=False, protected='x')@6") == 0.0
    assert late.evaluate("FAIR(adjusted=False, protected='x')@3") == 1.0
    assert late.evaluate("FAIR(adjusted=False, protected='x', p=0.1)@6") == 1.0


@settings(max_examples=10)
@given(cases(binary=True))
def test_pairs(case: Case) -> None:
    docs = [doc for doc in case.ranking if doc in case.groups]
    if not any("x" in own for own in case.groups.values()):
        return
    place = {doc: i for i, doc in enumerate(case.ranking)}

    def share(first: list[str], second: list[str]) -> float | None:
        above = [place[a] < place[b] for a in first for b in second]
        return sum(above) / len(above) if above else None

    sides = [[d for d in docs if ("x" in case.groups[d]) == one] for one in (True, False)]
    found = share(*sides)
    wanted = abs(2 * found - 1) if found is not None else 0.0
    assert case.evaluate("PairParity(protected='x')") == pytest.approx(wanted, abs=1e-12)
    good, bad = (
        [[d for d in side if d in case.grades and (case.grades[d] >= 1) == one] for side in sides]
        for one in (True, False)
    )
    one, two = share(good[0], bad[1]), share(good[1], bad[0])
    wanted = abs(one - two) if one is not None and two is not None else 0.0
    text = "PairParity(pairs='relevant', protected='x')"
    assert case.evaluate(text) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("text", ["rND", "rKL", "rRD", "PairParity", "FAIR@5"])
def test_the_protected_group_is_needed(text: str) -> None:
    case = Case(("a",), {"a": 1}, {"a": {"x": 1.0}})
    with pytest.raises(MeasureError, match="requires protected="):
        case.evaluate(text)


def test_very_long_tests_are_refused() -> None:
    case = Case(("a",), {"a": 1}, {"a": {"x": 1.0}})
    with pytest.raises(MeasureError, match="cutoff must be at most"):
        case.evaluate("FAIR(protected='x')@100000")
