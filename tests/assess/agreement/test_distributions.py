"""Divergences of distributions of labels, and CEM-ORD: the formulas written out, and SciPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import wasserstein_distance

import cranfield as cf
from cranfield.assess import cem_ord, divergence
from cranfield.assess.agreement.distributions import DIVERGENCES

COUNTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=5).filter(
    lambda counts: all(map(sum, zip(*counts, strict=True)))
)


def order_aware(p: Sequence[float], q: Sequence[float]) -> float:
    """OD(p || q), class by class."""
    used = [i for i in range(len(q)) if q[i] > 0]
    totals = [sum(abs(i - j) * (p[j] - q[j]) ** 2 for j in range(len(p))) for i in used]
    return sum(totals) / len(used)


@settings(max_examples=20)
@given(COUNTS)
def test_formulas(counts: list[tuple[int, int]]) -> None:
    p, q = ([float(c) / sum(column) for c in column] for column in zip(*counts, strict=True))
    top = len(p) - 1
    classes = range(len(p))
    expected = {
        "NMD": wasserstein_distance(classes, classes, p, q) / top,
        "RNOD": math.sqrt(order_aware(p, q) / top),
        "RSNOD": math.sqrt((order_aware(p, q) + order_aware(q, p)) / 2 / top),
        "JSD": jensenshannon(p, q, base=2) ** 2,
    }
    for name, value in expected.items():
        assert divergence(p, q, name) == pytest.approx(value, abs=1e-9)
    assert divergence([p, q], q, "NMD").tolist() == pytest.approx([expected["NMD"], 0])


def closeness(assigned: Sequence[int], gold: Sequence[int]) -> float:
    """CEM-ORD by steps from the assigned class to the gold class."""

    def near(start: int, end: int) -> float:
        mass = gold.count(start) / 2
        while start != end:
            start += 1 if end > start else -1
            mass += gold.count(start)
        return -math.log2(mass / len(gold))

    pairs = zip(assigned, gold, strict=True)
    return sum(near(*pair) for pair in pairs) / sum(near(label, label) for label in gold)


LABELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


@settings(max_examples=20)
@given(LABELS)
def test_closeness(labels: list[tuple[int, int]]) -> None:
    assigned, gold = zip(*labels, strict=True)
    assert cem_ord(assigned, gold, range(5)) == pytest.approx(closeness(assigned, gold))
    assert 0 <= cem_ord(assigned, gold, range(5)) <= 1
    assert cem_ord(gold, gold, range(5)) == pytest.approx(1)


def test_fairness_of_groups_has_the_same_divergences() -> None:
    """GF of one document that satisfies with probability 1/2 is half its similarity."""
    run, qrels, groups = {"q": {"a": 1.0}}, {"q": {"a": 1}}, {"a": "2", "b": "1", "c": "3"}
    for name in ("JSD", "NMD", "RNOD"):
        measure = f"GF(divergence='{name.lower()}', max_grade=1)"
        [[score]] = cf.evaluate(run, qrels, measure, groups=groups)[measure].values
        assert score == pytest.approx((1 - divergence((0, 1, 0), (1 / 3, 1 / 3, 1 / 3), name)) / 2)


def test_table_of_judges() -> None:
    rng = np.random.default_rng(5)
    gold = {f"t{t}": {f"d{d}": int(rng.integers(0, 3)) for d in range(12)} for t in range(6)}
    judge = {
        topic: {doc: min(2, grade + int(rng.integers(0, 2))) for doc, grade in docs.items()}
        for topic, docs in gold.items()
    }
    comparison = cf.assess.compare_judges(gold, {"llm": judge}, scale=(0, 2))
    table = comparison.tabulate_distributions()
    assert (table["judge"] == "llm").all()
    values = dict(table.select("measure", "value").iter_rows())

    def flat(docs: dict[str, dict[str, int]]) -> list[int]:
        return [grade for of_topic in docs.values() for grade in of_topic.values()]

    def shares(grades: list[int]) -> list[float]:
        return [grades.count(grade) / len(grades) for grade in range(3)]

    people, labels = flat(gold), flat(judge)
    for name in DIVERGENCES:
        assert values[name] == pytest.approx(divergence(shares(labels), shares(people), name))
    assert values["CEM-ORD"] == pytest.approx(closeness(labels, people))
    means = dict(table.select("measure", "mean").iter_rows())
    by_topic = [
        divergence(shares([*judge[topic].values()]), shares([*gold[topic].values()]), "RNOD")
        for topic in gold
    ]
    assert means["RNOD"] == pytest.approx(np.mean(by_topic))
    assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1], [1]), "estimate must be proportions of at least 2 classes"),
        (([0, 0], [0.5, 0.5]), "estimate must be .*, got a sum of 0"),
        (([0.5, 0.5], [0.5, 0.7]), "gold must be .*, got a sum of 1.2"),
        (([-0.5, 1.5], [0.5, 0.5]), "got a proportion below 0"),
        (([0.5, 0.5], [0.2, 0.3, 0.5]), "many classes in both distributions, got 2 and 3"),
        (([[0.5, 0.5]] * 3, [[0.5, 0.5]] * 2), r"shapes that broadcast, got \(3, 2\) and"),
        ((["a", "b"], [0.5, 0.5]), "estimate must be proportions"),
        (([0.5, 0.5], [0.5, 0.5], "KL"), "measure 'KL'"),
    ],
)
def test_divergence_refuses(arguments: Any, message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        divergence(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0], [0, 1]), "gold classes, at least one, got 2 and 1"),
        (([], [], [0, 1]), "got 0 and 0"),
        ((["2"], ["0"], ["0", "1"]), "unknown class '2'; expected one of: 0, 1"),
        ((["1"], ["0"], ["0", "0", "1"]), "classes must be distinct, got 0, 0, 1"),
    ],
)
def test_cem_ord_refuses(arguments: Any, message: str) -> None:
    with pytest.raises(cf.PolicyError, match=message):
        cem_ord(*arguments)
