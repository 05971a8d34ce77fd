"""GF and GFR: the definition written down a second time, a worked example, and properties."""

from __future__ import annotations

from math import log2, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import MeasureError
from tests.measures.fairness_cases import Case, cases

DIVERGENCES = ("jsd", "nmd", "rnod")


def divergence(name: str, p: list[float], q: list[float]) -> float:
    size = len(p)
    if name == "jsd":
        pairs = [
            (a, (a + b) / 2) for one, two in ((p, q), (q, p)) for a, b in zip(one, two, strict=True)
        ]
        return sum(a * log2(a / m) for a, m in pairs if a > 0) / 2
    if name == "nmd":
        return sum(abs(sum(p[: i + 1]) - sum(q[: i + 1])) for i in range(size)) / (size - 1)
    weighted = [
        sum(abs(i - j) * (p[j] - q[j]) ** 2 for j in range(size)) for i in range(size) if q[i] > 0
    ]
    return sqrt(sum(weighted) / len(weighted) / (size - 1))


def expected(
    case: Case, name: str, target: dict[str, float], top: int, cutoff: int
) -> tuple[float, float, float]:
    """ERR, iRBU with p = 0.9, and GF."""
    known = sorted(target)
    err = irbu = fairness = 0.0
    going_on = 1.0
    members: list[dict[str, float]] = []
    for rank, doc in enumerate(case.ranking[:cutoff], 1):
        if own := case.groups.get(doc):
            members.append({group: weight / sum(own.values()) for group, weight in own.items()})
        chance = (2 ** case.grades.get(doc, 0) - 1) / 2**top
        stop, going_on = going_on * chance, going_on * (1 - chance)
        err += stop / rank
        irbu += stop * 0.9**rank
        if members and sum(target.values()):
            achieved = [sum(one.get(g, 0.0) for one in members) / len(members) for g in known]
            wanted = [target[g] / sum(target.values()) for g in known]
            fairness += stop * (1 - divergence(name, achieved, wanted))
    return err, irbu, fairness


@settings(max_examples=30)
@given(
    cases(most=3),
    st.sampled_from(DIVERGENCES),
    st.sampled_from(["relevant", "judged", "equal", "given"]),
    st.sampled_from([2, 5, 8]),
)
def test_definition(case: Case, name: str, how: str, cutoff: int) -> None:
    known = sorted({group for own in case.groups.values() for group in own})
    if len(known) < 2:
        return
    target = dict.fromkeys(known, 1.0)
    shown = repr(how)
    if how == "given":
        # A group with a target of 0 makes the order-aware divergence asymmetric.
        target |= {known[0]: 0.0, known[1]: 3.0}
        shown = str(target)
    elif how != "equal":
        low = {"relevant": 1, "judged": 0}[how]
        target = {
            group: sum(
                case.groups.get(doc, {}).get(group, 0.0)
                for doc, grade in case.grades.items()
                if grade >= low
            )
            for group in known
        }
    inside = f"divergence='{name}', max_grade=4, target={shown}"
    err, irbu, fairness = expected(case, name, target, 4, cutoff)
    assert case.evaluate(f"GF({inside})@{cutoff}") == pytest.approx(fairness, abs=1e-12)
    value = case.evaluate(f"GFR({inside})@{cutoff}")
    assert value == pytest.approx((err + fairness) / 2, abs=1e-12)
    value = case.evaluate(f"GFR({inside}, p=0.9, relevance='iRBU')@{cutoff}")
    assert value == pytest.approx((irbu + fairness) / 2, abs=1e-12)


EXAMPLE = Case(
    ("d1", "d2", "d3", "d4"),
    {"d1": 2, "d2": 0, "d3": 1, "d4": 1},
    {doc: {group: 1.0} for doc, group in zip(("d1", "d2", "d3", "d4"), "ABBC", strict=True)},
)
"""Probabilities of a stop 0.75, 0, 0.0625, 0.046875."""


@pytest.mark.parametrize(
    ("name", "fairness"),
    [("jsd", 0.501072851020), ("nmd", 0.470052083333), ("rnod", 0.413577254441)],
)
def test_worked_example(name: str, fairness: float) -> None:
    inside = f"divergence='{name}'"
    assert EXAMPLE.evaluate(f"GF({inside})") == pytest.approx(fairness, abs=1e-12)
    mean = (0.782552083333 + fairness) / 2
    assert EXAMPLE.evaluate(f"GFR({inside})") == pytest.approx(mean, abs=1e-12)
    mean = (0.848171625469 + fairness) / 2
    value = EXAMPLE.evaluate(f"GFR({inside}, relevance='iRBU')")
    assert value == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "target", "value"),
    [
        ("jsd", (0.1, 0.3, 0.6), 0.067248898397),
        ("nmd", (0.1, 0.3, 0.6), 0.2),
        ("rnod", (0.1, 0.3, 0.6), 0.251661147842),
        ("rnod", (0.0, 0.4, 0.6), 0.234520787991),
        *((name, (0.0, 0.0, 1.0), 1.0) for name in DIVERGENCES),
    ],
)
def test_worked_divergences(name: str, target: tuple[float, ...], value: float) -> None:
    """One document, which satisfies with probability 1/2."""
    achieved = (1.0, 0.0, 0.0) if value == 1.0 else (0.2, 0.5, 0.3)
    groups = {"d": dict(zip("xyz", achieved, strict=True)), "e": dict.fromkeys("xyz", 1.0)}
    case = Case(("d",), {"d": 1}, groups)
    text = f"GF(divergence='{name}', target={dict(zip('xyz', target, strict=True))})"
    assert case.evaluate(text) == pytest.approx((1 - value) / 2, abs=1e-12)


def test_fair_lists_score_the_probability_of_a_stop() -> None:
    soft = {doc: {"x": 0.5, "y": 0.5} for doc in "abc"}
    case = Case(tuple("abc"), {"a": 0, "b": 1, "c": 1}, soft)
    assert [case.evaluate(f"GF(divergence='{name}')") for name in DIVERGENCES] == [0.75] * 3


def test_without_relevant_documents_or_groups_the_score_is_0() -> None:
    groups = {"a": {"x": 1.0}, "e": {"y": 1.0}}
    assert Case(("a", "b"), {"b": 0, "e": 1}, groups).evaluate("GFR") == 0.0
    assert Case(("b", "c"), {"b": 1}, groups).evaluate("GF") == 0.0
    assert Case(("b", "c"), {"b": 1}, groups).evaluate("GFR") == 0.25


@pytest.mark.parametrize("name", ["nmd", "rnod"])
def test_distances_require_two_groups(name: str) -> None:
    case = Case(("a",), {"a": 1}, {"a": {"x": 1.0}})
    assert case.evaluate("GF") == 0.5
    with pytest.raises(MeasureError, match="requires at least 2 groups, got 1"):
        case.evaluate(f"GF(divergence='{name}')")


def test_topics_and_systems_do_not_meet() -> None:
    runs = {
        "one": {"p": {"a": 3.0, "b": 2.0, "c": 1.0}, "q": {"c": 2.0, "d": 1.0}},
        "two": {"p": {"c": 2.0, "a": 1.0}, "q": {"b": 3.0, "d": 2.0, "a": 1.0}},
    }
    qrels = {"p": {"a": 1, "c": 2}, "q": {"d": 2, "a": 1}}
    groups = {"a": "x", "b": ["x", "y"], "c": "y", "d": {"y": 3.0, "z": 1.0}}
    texts = [f"{name}(divergence='{one}')" for name in ("GF", "GFR") for one in DIVERGENCES]
    whole = cf.evaluate(runs, qrels, texts, groups=groups)
    for s, name in enumerate(whole.systems):
        for t, topic in enumerate(whole.topics):
            one = cf.evaluate(
                {topic: runs[name][topic]}, {topic: qrels[topic]}, texts, groups=groups
            )
            for text in texts:
                assert whole[text].values[t, s] == pytest.approx(one[text].values[0, 0], abs=1e-12)
