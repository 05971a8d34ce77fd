"""Measures inside ir_measures: the same scores as those of evaluate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest

import cranfield as cf
from cranfield.bridges.ir_measures import measure, provider, register, unregister
from cranfield.measures import REGISTRY
from cranfield.measures.families import KINDS
from docs.measure_properties.properties import representative


def made(topics: int = 6, size: int = 30) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(3)
    run, qrels = [], []
    for topic in range(topics):
        docs = rng.permutation(60)
        # The last topic is judged, and lacks results.
        if topic < topics - 1:
            run += [(f"q{topic}", f"d{d}", round(rng.random(), 1)) for d in docs[:size]]
        qrels += [(f"q{topic}", f"d{d}", int(rng.integers(0, 4)), "0") for d in docs[10:40]]
    return (
        pd.DataFrame(run, columns=["query_id", "doc_id", "score"]),
        pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance", "iteration"]),
    )


@pytest.fixture
def first() -> Iterator[None]:
    register()
    yield
    unregister()


PLAIN = [
    one
    for name, kind in REGISTRY.select(kind=KINDS[0]).items()
    if not kind.info.inputs and (one := representative(name)) is not None
]
"""The measures of rankings that go by grades."""


def test_every_measure_of_the_catalogue() -> None:
    run, qrels = made()
    judged = qrels.drop(columns="iteration").rename(columns={"relevance": "grade"})
    asked = [measure(str(one)) for one in PLAIN]
    found = ir_measures.calc(asked, qrels, run)
    overall: Any = found.aggregated
    ours = cf.evaluate(run, judged, PLAIN)
    values = {(str(one.measure), one.query_id): one.value for one in found.per_query}
    for one in asked:
        scores = ours[str(one)]
        for topic, value in zip(scores.topics, scores.values[:, 0], strict=True):
            assert values[str(one), topic] == pytest.approx(value, rel=0, abs=0, nan_ok=True)
        assert overall[one] == pytest.approx(scores.overall()[0], rel=1e-14, nan_ok=True)


@pytest.mark.usefixtures("first")
def test_measures_of_ir_measures() -> None:
    run, qrels = made()
    asked = [ir_measures.nDCG @ 10, ir_measures.P(rel=2) @ 5, ir_measures.AP, ir_measures.RR]
    asked += [ir_measures.SetF(beta=2.0), measure("Q@10")]
    found = ir_measures.calc_aggregate(asked, qrels, run)
    ours = cf.evaluate(run, qrels.drop(columns="iteration"), [str(one) for one in asked[:4]])
    for one in asked[:4]:
        assert found[one] == ours[str(one)].mean()[0]
    # Its own provider takes beta for what it weighs recall by.
    unregister()
    assert found[asked[4]] == pytest.approx(
        ir_measures.calc_aggregate([asked[4]], qrels, run)[asked[4]]
    )


@pytest.mark.usefixtures("first")
def test_register_twice_is_once() -> None:
    register()
    assert ir_measures.DefaultPipeline.providers.count(provider) == 1
    unregister()
    assert provider not in ir_measures.DefaultPipeline.providers


def test_subtopics() -> None:
    qrels = [ir_measures.Qrel("1", "a", 1, "1"), ir_measures.Qrel("1", "b", 1, "2")]
    run = [ir_measures.ScoredDoc("1", "c", 2.0), ir_measures.ScoredDoc("1", "b", 1.0)]
    asked = [measure("StRecall@2"), ir_measures.StRecall @ 2]
    assert provider.calc_aggregate(asked, qrels, run) == {asked[0]: 0.5, asked[1]: 0.5}


@pytest.mark.parametrize("run", [{}, {"1": {}}])
def test_nothing_was_retrieved(run: dict[str, Any]) -> None:
    assert provider.calc_aggregate([measure("AP")], {"1": {"a": 1}}, run) == {measure("AP"): 0.0}


def test_sums_and_geometric_means() -> None:
    run, qrels = made()
    asked = [measure("NumRet"), measure("GMAP"), measure("P@3")(rel=2), measure("AP") @ 3]
    found = provider.calc_aggregate(asked, qrels, run)
    ours = cf.evaluate(
        run, qrels.drop(columns="iteration"), ["NumRet", "GMAP", "P(rel=2)@3", "AP@3"]
    )
    for one in asked:
        assert found[one] == pytest.approx(ours[str(one)].overall()[0], rel=1e-14)


def test_what_is_no_measure() -> None:
    with pytest.raises(cf.MeasureError):
        measure("nonsense")
    assert not provider.supports(ir_measures.define(lambda qrels, run: [], name="nonsense"))


@pytest.mark.parametrize("text", ["Bpref", "Bpref(rel=2)", "AP(judged_only=True)"])
def test_grades_below_0_are_judged_unless_as_in_trec_eval(text: str) -> None:
    judged = {"1": {"a": 1, "b": -1, "c": 2, "e": 0}}
    run = {"1": {"b": 3.0, "x": 2.5, "c": 2.0, "a": 1.0, "e": 0.5}}
    theirs: Any = ir_measures.parse_measure(text)
    expected = ir_measures.calc_aggregate([theirs], judged, run)[theirs]
    as_there = cf.evaluate(run, judged, [theirs], compat="trec_eval")
    assert as_there.means().rows()[0][1] == pytest.approx(expected)
    assert cf.evaluate(run, judged, [theirs]).means().rows()[0][1] < expected
