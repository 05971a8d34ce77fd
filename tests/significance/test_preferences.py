"""Preferences between rankings: worked examples, a plain loop, and laws."""

from __future__ import annotations

from itertools import combinations
from math import inf, log2
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import cranfield as cf
from cranfield.significance.preferences import PREFERENCES, find_innate_order

FIRST, SECOND = [1.0, 4, 9, inf], [2.0, 3, 7, 20]


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "RPP": -0.5,
        "RPP-inverse": -0.04,
        "RPP-DCG": -0.2192399000157966,
        "lexiprecision": 1,
        "lexirecall": -1,
        "rr-lexiprecision": 0.5,
    }.items(),
)
def test_a_worked_example(name: str, expected: float) -> None:
    """Values of the program of Diaz and others on ranks 1, 4, 9 and none against 2, 3, 7, 20."""
    prefer = PREFERENCES[name]
    found = prefer(np.array([FIRST]), np.array([SECOND]))
    np.testing.assert_allclose(found, [expected], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(prefer(np.array([SECOND]), np.array([FIRST])), -found)


def by_hand(name: str, x: list[float], y: list[float]) -> float:
    signs = [(a < b) - (a > b) for a, b in zip(x, y, strict=True)]
    if name.startswith("RPP"):
        each = [
            1 / log2(i + 1) if name == "RPP-DCG" else (1.0 if name == "RPP" else 1 / i)
            for i in range(1, len(x) + 1)
        ]
        return sum(w * s for w, s in zip(each, signs, strict=True)) / sum(each)
    levels = [i for i, sign in enumerate(signs) if sign]
    if not levels:
        return 0
    if name == "rr-lexiprecision":
        return 1 / x[levels[0]] - 1 / y[levels[0]]
    return signs[levels[0] if name == "lexiprecision" else levels[-1]]


def test_runs_against_a_plain_loop() -> None:
    rng = np.random.default_rng(3)
    grades = {
        f"q{t}": {f"d{k}": int(g) for k, g in enumerate(rng.integers(0, 3, 12))} for t in range(9)
    }
    grades["none"] = {"d0": 0}
    runs = {
        f"s{s}": {
            topic: {
                f"d{k}": float(rng.random()) for k in rng.permutation(16)[: rng.integers(1, 12)]
            }
            for topic in [*grades][: 10 - (s == 2)]
        }
        for s in range(4)
    }
    for rel in (1, 2):
        table = cf.compare_preferences(cf.judge(runs, grades), list(PREFERENCES), rel=rel)
        assert any("1 topic excluded" in note for note in table.notes)
        topics = [t for t, one in grades.items() if max(one.values()) >= rel]
        assert table.n_topics == len(topics)
        rows = iter(table.to_polars().iter_rows(named=True))
        for name in PREFERENCES:
            for first, second in combinations(runs, 2):
                values = []
                for topic in topics:
                    judged = [d for d, g in grades[topic].items() if g >= rel]
                    ranks = []
                    for system in (first, second):
                        scores = runs[system].get(topic, {})
                        order = sorted(scores, key=lambda d: -scores[d])
                        found = sorted(order.index(d) + 1 for d in judged if d in scores)
                        ranks.append([*found, *[inf] * (len(judged) - len(found))])
                    values.append(by_hand(name, *ranks))
                row = next(rows)
                assert (row["preference"], row["system"], row["other"]) == (name, first, second)
                assert row["mean"] == pytest.approx(np.mean(values), abs=1e-12)
                wins = sum(value > 1e-12 for value in values)
                losses = sum(value < -1e-12 for value in values)
                assert (row["wins"], row["losses"]) == (wins, losses)
                assert row["ties"] == len(topics) - wins - losses


def test_innate_orders_are_those_of_the_study() -> None:
    covid = cf.bundled.trec_covid()
    judged = cf.judge(covid.runs[:4], covid.qrels)
    table = cf.compare_preferences(judged, "innate@10").to_polars()
    study = cf.meta.innate_orders(judged, 10).pairs
    assert table["wins"].to_list() == study["better"].to_list()
    assert table["p"].to_list() == study["p"].to_list()
    # (2, 0) and (1, 1): the best document against the more relevant ones.
    assert find_innate_order(np.array([[2, 0]]), np.array([[1, 1]])).tolist() == [2]
    assert find_innate_order(np.array([[2, 0]]), np.array([[0, 2]])).tolist() == [1]


def test_baseline_and_correction() -> None:
    covid = cf.bundled.trec_covid()
    judged = cf.judge(covid.runs[:4], covid.qrels)
    name = judged.systems[2]
    table = cf.compare_preferences(judged, baseline=name, correction="bonferroni").to_polars()
    assert set(table["other"]) == {name} and table.height == 4 * 3
    expected = (table["p"] * 3).clip(upper_bound=1).to_list()
    assert table["adjusted p"].to_list() == pytest.approx(expected)


def test_refusals() -> None:
    qrels, run = {"q": {"a": 0}}, {"q": {"a": 1.0}}
    with pytest.raises(cf.CranfieldError, match="two systems"):
        cf.compare_preferences(cf.judge(run, qrels))
    two = cf.judge({"x": run, "y": run}, qrels)
    with pytest.raises(cf.CranfieldError, match="no topic"):
        cf.compare_preferences(two)
    with pytest.raises(cf.PolicyError, match="lexirecall"):
        cf.compare_preferences(two, "lexirecal")
    with pytest.raises(cf.PolicyError, match="judged runs"):
        cf.compare_preferences(run)  # type: ignore[arg-type]


def innate(first: list[int], second: list[int]) -> str:
    """The innate order of two rankings: signs of the lead in documents of each grade or more."""
    signs = set()
    for lowest in (1, 2):
        lead = 0
        for grade, other in zip(first, second, strict=True):
            lead += int(grade >= lowest) - int(other >= lowest)
            signs |= {np.sign(lead)} - {0}
    if not signs:
        return "same"
    return "open" if len(signs) == 2 else "better" if signs == {1} else "worse"


def test_corroboration_is_binomtest_beside_the_test_of_the_measure() -> None:
    covid = cf.bundled.trec_covid()
    runs = [covid.runs[k] for k in (0, 5, 20, 39)]
    evaluation = cf.evaluate(runs, covid.qrels, "AP@10")
    table = cf.corroborate(evaluation, test="t", correction="holm")
    comparison = cf.compare(evaluation["AP@10"], test="t", correction="holm")
    grades = evaluation.judged.grades_by_rank(10).clip(0).tolist()
    systems = list(evaluation.systems)
    raw = []
    for k, row in enumerate(table.to_polars().to_dicts()):
        first, second = systems.index(row["system"]), systems.index(row["other"])
        orders = [innate(topic[first], topic[second]) for topic in grades]
        for word in ("better", "worse", "same", "open"):
            assert row[word] == orders.count(word)
        raw.append(binomtest(row["better"], row["better"] + row["worse"]).pvalue)
        assert row["p"] == comparison.adjusted_pvalues[k]
        assert row["difference"] == pytest.approx(comparison.difference[k])
    order = np.argsort(raw)
    adjusted = np.maximum.accumulate([raw[k] * (len(raw) - i) for i, k in enumerate(order)])
    corrected = np.empty(len(raw))
    corrected[order] = np.minimum(adjusted, 1)
    assert table.to_polars()["innate p"].to_list() == pytest.approx(corrected.tolist())
    for row, p, significant in zip(
        table.to_polars().to_dicts(), corrected, comparison.is_significant(), strict=True
    ):
        agrees = (row["difference"] > 0) == (row["better"] > row["worse"])
        expected = ("yes" if agrees else "contradicted") if p <= 0.05 else "no"
        assert row["corroborated"] == (expected if significant else None)
    assert "significant pairs corroborated" in str(table)


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"statistic": "sum"}, "shown are of sums"),
        ({"statistic": "geometric-mean", "test": "t"}, "log ratios of geometric means"),
        ({"test": "bootstrap-median"}, "shown are of medians"),
        ({"test": "friedman"}, "rank 1 is the best"),
        ({"test": "sign"}, "without the better mean"),
    ],
)
def test_the_difference_is_that_of_the_test(options: dict[str, Any], note: str) -> None:
    # The first system is slightly better on 17 topics, and much worse on 3.
    ranks = {f"t{k:02}": (9, 10) if k < 17 else (11, 1) for k in range(20)}

    def rank(position: int) -> dict[str, float]:
        return {"r" if k == position else f"n{k}": -float(k) for k in range(1, 11)}

    runs = {
        name: {topic: rank(positions[k]) for topic, positions in ranks.items()}
        for k, name in enumerate("ab")
    }
    evaluation = cf.evaluate(runs, {topic: {"r": 1, "n1": 0} for topic in ranks}, "nDCG@10")
    table, comparison = cf.corroborate(evaluation, **options), cf.compare(evaluation, **options)
    assert table.rows["difference"].to_list() == comparison.difference.tolist()
    assert table.rows.row(0)[4:6] == (17, 3) and any(note in text for text in table.notes)


def test_a_swap_on_every_topic_is_corroborated() -> None:
    # The first system is innately better on each of twelve topics.
    qrels = {str(k): {"a": 1, "b": 0} for k in range(12)}
    runs = {"x": dict.fromkeys(qrels, {"a": 2.0, "b": 1.0})}
    runs["y"] = {topic: {"b": 2.0, "a": 1.0} for topic in qrels}
    table = cf.corroborate(cf.evaluate(runs, qrels, "P@1"), test="sign")
    assert table.rows.row(0)[4:8] == (12, 0, 0, 0)
    assert table.rows["innate p"][0] == pytest.approx(2 * 0.5**12)
    assert table.rows["corroborated"].to_list() == ["yes"]


def test_corroboration_refusals() -> None:
    covid = cf.bundled.trec_covid()
    with pytest.raises(cf.PolicyError, match="cutoff, such as AP@10, got AP$"):
        cf.corroborate(cf.evaluate(covid.runs[:2], covid.qrels, "AP"))
    with pytest.raises(cf.PolicyError, match="a single measure, got P@5, P@10"):
        cf.corroborate(cf.evaluate(covid.runs[:2], covid.qrels, ["P@5", "P@10"]))
    with pytest.raises(cf.PolicyError, match="evaluation of runs, got dict"):
        cf.corroborate({})  # type: ignore[arg-type]
