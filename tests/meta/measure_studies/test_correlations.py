"""Measures compared with each other, against SciPy and the coefficients one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import cranfield as cf
from cranfield.base.errors import CranfieldError
from cranfield.correlation import kendall_tau, rbo_of_scores, tau_ap
from cranfield.meta.measure_studies.correlations import METHODS, Correlations, correlate
from cranfield.scores import Scores

TOPICS, SYSTEMS = ("q1", "q2", "q3", "q4"), ("a", "b", "c", "d", "e", "f")


def _made(values: Any, topics: Any, systems: Any) -> Scores:
    return Scores(np.array(values), tuple(topics), tuple(systems))


def _scores(seed: int, **more: Any) -> Scores:
    values = np.random.default_rng(seed).integers(0, 6, (len(TOPICS), len(SYSTEMS))) / 5
    return Scores(values, TOPICS, SYSTEMS, **more)


THREE = {"one": _scores(1), "two": _scores(2), "three": _scores(3)}


def _one(x: NDArray[np.float64], y: NDArray[np.float64], method: str) -> float:
    if method == "tau":
        return float(stats.kendalltau(x, y).statistic)
    if method == "tau-a":
        return float(kendall_tau(x, y, variant="a"))
    if method == "tau-ap":
        return float(tau_ap(x, y, symmetric=True))
    if method == "rbo":
        return rbo_of_scores(x, y, 0.9, ties="b").ext
    return float((stats.pearsonr if method == "pearson" else stats.spearmanr)(x, y).statistic)


@pytest.mark.parametrize("method", METHODS)
def test_each_cell_is_that_of_its_pair(method: str) -> None:
    found = correlate(THREE, method=method)
    names = list(THREE)
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            x, y = THREE[one].values, THREE[other].values
            means = [np.round(values.mean(axis=0), 8) for values in (x, y)]
            assert found.overall[i, j] == pytest.approx(_one(means[0], means[1], method), abs=1e-7)
            each = [_one(a, b, method) for a, b in zip(x, y, strict=True)]
            np.testing.assert_allclose(found.topicwise[:, i, j], each, atol=1e-12)
            assert found.by_topic[i, j] == pytest.approx(np.mean(each))
            assert found.lowest[i, j] == pytest.approx(min(each))
    rows = found.pairs.rows(named=True)
    assert [(row["first"], row["second"]) for row in rows] == [
        ("one", "two"),
        ("one", "three"),
        ("two", "three"),
    ]
    for row, (i, j) in zip(rows, [(0, 1), (0, 2), (1, 2)], strict=True):
        assert row["overall"] == found.overall[i, j]
        assert row["lowest topic"] == TOPICS[int(found.topicwise[:, i, j].argmin())]
        assert row["topics"] == 4
    assert found.to_polars().equals(found.pairs)


def test_the_tables_of_a_study() -> None:
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs[:12], covid.qrels, ["P@10", "R@10", "nDCG@10"])
    found = correlate(ev)
    assert (found.systems, found.topics, found.measures) == (ev.systems, ev.topics, tuple(ev))
    assert repr(found) == "Correlations(Kendall's tau-b: 3 measures, 12 systems, 50 topics)"
    # Precision and recall order systems alike on each topic, and not over topics (section 3.3).
    by_name = {(row["first"], row["second"]): row for row in found.pairs.rows(named=True)}
    row = by_name["P@10", "R@10"]
    assert row["by topic"] == row["lowest"] == 1.0 > row["overall"]
    means = [np.round(ev[name].values.mean(axis=0), 8) for name in ("P@10", "nDCG@10")]
    expected = stats.kendalltau(*means).statistic
    assert by_name["P@10", "nDCG@10"]["overall"] == pytest.approx(expected, abs=1e-12)


def test_low_scores_that_are_good_are_turned_round() -> None:
    better = THREE["one"]
    worse = replace(better, values=1 - better.values, lower_is_better=True)
    for method in METHODS:
        found = correlate({"better": better, "worse": worse}, method=method)
        assert found.lower_is_better == ("worse",)
        np.testing.assert_allclose(found.topicwise[:, 0, 1], found.topicwise[:, 0, 0], atol=1e-12)
        # By tau-a ties count against full agreement.
        assert found.overall[0, 1] == pytest.approx(1.0) or method == "tau-a"


def test_a_measure_goes_by_its_own_aggregate() -> None:
    values = [[0.9, 0.4], [0.01, 0.4]]
    mean = _made(values, ("q1", "q2"), ("a", "b"))
    found = correlate({"mean": mean, "geometric": replace(mean, aggregate="geometric")})
    assert found.overall[0, 1] == -1.0 and found.lowest[0, 1] == 1.0


def test_what_differs_by_rounding_is_tied() -> None:
    exact = _made([[0.3, 0.3, 0.6, 0.1]], ["q"], "abcd")
    rounded = _made([[0.1 + 0.2, 0.3, 0.6, 0.1]], ["q"], "abcd")
    for method in ("tau", "tau-ap", "rbo", "spearman"):
        found = correlate({"exact": exact, "rounded": rounded}, method=method)
        assert found.overall[0, 1] == pytest.approx(1, abs=1e-12)
        assert found.lowest[0, 1] == pytest.approx(1, abs=1e-12)


def test_topics_without_an_order_do_not_count() -> None:
    values = THREE["one"].values.copy()
    values[2] = 0.1 + 0.2
    values[2, 0] = 0.3
    found = correlate({"one": replace(THREE["one"], values=values), "two": THREE["two"]})
    assert found.n_defined_topics.tolist() == [[3, 3], [3, 4]]
    assert np.isnan(found.topicwise[2]).tolist() == [[True, True], [True, False]]
    each = found.topicwise[[0, 1, 3], 0, 1]
    assert found.by_topic[0, 1] == pytest.approx(each.mean())
    constant = replace(THREE["one"], values=np.full((4, 6), 0.7))
    for method in ("tau", "tau-ap", "pearson", "spearman"):
        found = correlate({"constant": constant, "two": THREE["two"]}, method=method)
        row = found.pairs.row(0, named=True)
        assert row["overall"] is row["by topic"] is row["lowest"] is row["lowest topic"] is None
        assert row["topics"] == 0


def test_missing_scores() -> None:
    values = THREE["two"].values.copy()
    values[1, 2] = np.nan
    scores = {**THREE, "two": replace(THREE["two"], values=values)}
    dropped = correlate(scores, missing="drop")
    assert dropped.topics == ("q1", "q3", "q4")
    assert dropped.notes == ("1 topic excluded: no score of some systems",)
    kept = [0, 2, 3]
    picked = {
        name: replace(one, values=one.values[kept], topics=dropped.topics)
        for name, one in THREE.items()
    }
    np.testing.assert_array_equal(dropped.overall, correlate(picked).overall)
    filled = correlate(scores, missing="zero")
    assert filled.notes == ("1 missing score counted as 0",) and filled.topics == TOPICS
    values[1, 2] = 0
    scores["two"] = replace(THREE["two"], values=values)
    np.testing.assert_array_equal(filled.topicwise, correlate(scores, missing="error").topicwise)
    nothing = replace(THREE["two"], values=np.full((4, 6), np.nan))
    with pytest.raises(CranfieldError, match="no topic has a score of every system by every"):
        correlate({"one": THREE["one"], "two": nothing}, missing="drop")


@given(st.randoms(use_true_random=False), st.sampled_from(tuple(METHODS)))
@settings(max_examples=30)
def test_order_of_topics_and_systems_does_not_matter(random: Any, method: str) -> None:
    def shuffled(scores: Scores) -> Scores:
        topics, systems = (random.sample(range(len(n)), len(n)) for n in (TOPICS, SYSTEMS))
        values = scores.values[np.ix_(topics, systems)]
        return _made(values, [TOPICS[t] for t in topics], [SYSTEMS[s] for s in systems])

    plain = correlate(THREE, method=method)
    mixed = correlate({name: shuffled(one) for name, one in THREE.items()}, method=method)
    for what in ("overall", "by_topic", "lowest"):
        np.testing.assert_allclose(getattr(mixed, what), getattr(plain, what), atol=1e-12)


def test_arrays_and_mappings_are_scores() -> None:
    named = {name: THREE[name].select(systems=SYSTEMS[:4]) for name in ("one", "two")}
    arrays = {"x": named["one"].values, "y": named["two"].values}
    np.testing.assert_array_equal(correlate(arrays).overall, correlate(named).overall)


def test_options_are_kept() -> None:
    assert correlate(THREE, method="rbo", ties="w", p=0.5).options == {"ties": "w", "p": 0.5}
    assert correlate(THREE, method="tau-ap", ties="a").options == {"ties": "a"}
    assert correlate(THREE).options == {} and isinstance(correlate(THREE), Correlations)
