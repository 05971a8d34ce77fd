"""The interface of pytrec_eval against pytrec_eval itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import pytrec_eval as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.bridges import pytrec_eval as ours
from tests.conftest import TREC_EVAL

DOCS = st.sampled_from([f"d{i}" for i in range(12)] + ["ä", "Z"])
TOPICS = st.sampled_from(["1", "2", "10", "ü"])
SCORES = st.one_of(
    st.integers(-3, 3),
    st.floats(-1e30, 1e30),
    # Different in 64 bits, equal in 32.
    st.integers(0, 9).map(lambda k: 1 + k * 1e-9),
)
MEASURES = st.sampled_from(
    [
        {*theirs.supported_measures},
        {"all_trec"},
        {"official", "ndcg_cut_3"},
        {"set", "P.1,3", "P_7"},
        ["ndcg_cut.1,3", "map_cut.2", "recall_4", "success.2", "Rprec_mult.0.5"],
    ]
)


def equal(mine: dict[str, Any], other: dict[str, Any]) -> None:
    assert set(mine) == set(other)
    for topic, values in other.items():
        assert mine[topic].keys() == values.keys()
        for name, value in values.items():
            # What trec_eval leaves undefined, of a topic without relevant documents, is 0 here.
            other_value = 0.0 if math.isnan(value) else value
            wanted = pytest.approx(other_value, rel=1e-12, abs=1e-12)
            assert mine[topic][name] == wanted, (topic, name)


@settings(max_examples=30, deadline=None)
@given(
    # A topic without a grade of 0 or more takes the levels of the one before it, so that G there
    # reads counts that nobody wrote, and may go on for ever (`form_res_rels.c`, `m_G.c`).
    st.dictionaries(
        TOPICS,
        st.dictionaries(DOCS, st.integers(-1, 4), max_size=12).filter(
            lambda judged: max(judged.values(), default=-1) >= 0
        ),
        max_size=4,
    ),
    # A ranking without documents gets varying values there, which depend on those before it.
    st.dictionaries(TOPICS, st.dictionaries(DOCS, SCORES, min_size=1, max_size=12), max_size=4),
    MEASURES,
    st.integers(1, 3),
    st.booleans(),
)
def test_values_are_theirs(
    qrels: dict[str, dict[str, int]],
    run: dict[str, dict[str, float]],
    measures: Any,
    level: int,
    only_judged: bool,
) -> None:
    given_ = (qrels, measures, level, only_judged)
    equal(
        ours.RelevanceEvaluator(*given_).evaluate(run),
        theirs.RelevanceEvaluator(*given_).evaluate(run),
    )


def test_a_ranking_without_documents() -> None:
    qrels = {"1": {"a": 2, "b": 1, "c": 0}, "2": {"a": 1}, "3": {}}
    names = ["num_rel", "num_ret", "map", "num_q", "gm_map", "runid", "P_5"]
    evaluator = ours.RelevanceEvaluator(qrels, names, relevance_level=2)
    found = evaluator.evaluate({"2": {}, "3": {"a": 1.0}, "1": {}, "9": {}})
    nothing = dict.fromkeys(["num_ret", "map", "runid", "P_5"], 0.0)
    rest = {"num_q": 1.0, "gm_map": math.log(1e-5)} | nothing
    assert found == {"2": rest | {"num_rel": 0.0}, "1": rest | {"num_rel": 1.0}}
    assert evaluator.evaluate({}) == evaluator.evaluate(None) == evaluator.evaluate({"9": {}}) == {}
    assert ours.RelevanceEvaluator(qrels, []).evaluate({"1": {}}) == {"1": {}}
    assert ours.RelevanceEvaluator({}, ["map"]).evaluate({"1": {"a": 1}}) == {}


def test_names_are_theirs() -> None:
    assert ours.supported_measures == theirs.supported_measures
    for nickname, names in ours.supported_nicknames.items():
        assert names == theirs.supported_nicknames[nickname]
    assert set(theirs.__all__) <= set(ours.__all__)


@pytest.mark.parametrize("name", ["set_F", "set_F.2", "set_F_0.5"])
def test_the_key_of_set_f_has_no_parameter(name: str) -> None:
    judged, run = {"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 2.0}}
    expected = theirs.RelevanceEvaluator(judged, {name}).evaluate(run)
    found = ours.RelevanceEvaluator(judged, {name}).evaluate(run)
    assert found == {"1": pytest.approx(expected["1"])}
    assert [*found["1"]] == ["set_F"]


def test_files_and_averages_are_theirs() -> None:
    import gzip

    with gzip.open(TREC_EVAL / "qrels.test.gz", "rt") as file:
        lines = file.readlines()
    assert ours.parse_qrel(lines) == theirs.parse_qrel(lines)
    with gzip.open(TREC_EVAL / "results.test.gz", "rt") as file:
        rows = file.readlines()
    assert ours.parse_run(rows) == theirs.parse_run(rows)
    found = ours.RelevanceEvaluator(ours.parse_qrel(lines), {"all_trec"}).evaluate(
        ours.parse_run(rows)
    )
    for name in next(iter(found.values())):
        values = [row[name] for row in found.values()]
        mean = theirs.compute_aggregated_measure(name, values)
        assert ours.compute_aggregated_measure(name, values) == pytest.approx(mean, rel=1e-14)


def test_numbers_of_numpy() -> None:
    run = {"1": {"a": np.float32(0.5), "b": np.int64(1)}}
    found = ours.RelevanceEvaluator({"1": {"a": np.int64(1)}}, {"map"}).evaluate(run)  # type: ignore[arg-type,dict-item]
    assert found == {"1": {"map": 0.5}}


def test_what_is_refused() -> None:
    with pytest.raises(cf.MeasureError, match="unknown measure 'nonsense'"):
        ours.RelevanceEvaluator({"1": {"a": 1}}, {"nonsense"})
    with pytest.raises(ValueError, match="unknown measure"):
        ours.RelevanceEvaluator({"1": {"a": 1}}, {"P_"})
    # Of these, pytrec_eval makes an end of the process.
    with pytest.raises(cf.MeasureError):
        ours.RelevanceEvaluator({"1": {"a": 1}}, {"ndcg.5"})
    evaluator = ours.RelevanceEvaluator({"1": {"a": 1}}, {"map"})
    with pytest.raises(cf.InputError, match="finite"):
        evaluator.evaluate({"1": {"a": math.nan}})
    with pytest.raises(cf.InputError, match="lines:2: expected 4 columns, got 3"):
        ours.parse_qrel(["1 0 a 1", "1 0 a"])
    with pytest.raises(cf.InputError, match="occurs twice"):
        ours.parse_run(["1 Q0 a 1 1 t", "1 Q0 a 2 1 t"])
    with pytest.raises(cf.InputError, match="expected a number"):
        ours.parse_run(["1 Q0 a 1 x t"])


def test_names_are_in_the_order_of_pytrec_eval() -> None:
    qrels, run = {"1": {"d1": 1, "d2": 0}}, {"1": {"d1": 2.0, "d2": 1.0}}
    some = {"recip_rank", "ndcg_cut_100", "ndcg_cut.5,10", "map", "P.30,5"}
    for asked in (some, set(theirs.supported_measures)):
        expected, own = (
            list(module.RelevanceEvaluator(qrels, asked).evaluate(run)["1"])
            for module in (theirs, ours)
        )
        assert own == expected
