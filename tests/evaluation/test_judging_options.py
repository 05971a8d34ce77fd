"""Policies as typed arguments, whose types say what the catalogue says; scores as plain dicts."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest

import cranfield as cf
from cranfield.collection import policies
from cranfield.collection.judged.judging import JudgingOptions
from cranfield.evaluation.evaluate_runs import SessionOptions
from tests.collection.refusals import refuses


@pytest.mark.parametrize("name", policies.CHOICES)
def test_types_list_the_choices(name: str) -> None:
    assert get_args(getattr(policies, name.capitalize())) == tuple(policies.CHOICES[name])


def test_types_list_the_presets() -> None:
    assert get_args(policies.Compat) == tuple(policies.PRESETS)


def test_what_judge_takes_evaluate_takes() -> None:
    judged = inspect.signature(cf.judge).parameters
    named = [name for name, one in judged.items() if one.kind is one.KEYWORD_ONLY]
    assert JudgingOptions.__annotations__.keys() == {*named} - {"compat"}
    for function in (cf.evaluate, cf.score_samplings):
        shown = inspect.signature(function).parameters
        assert all(shown[name].default == judged[name].default for name in named)
        order = [name for name in shown if name in JudgingOptions.__annotations__]
        assert order == [name for name in named if name != "compat"]
        assert not any(one.kind is one.VAR_KEYWORD for one in shown.values())


def test_options_of_shards_are_those_that_are_taken() -> None:
    run = {"q": {f"d{k}": 9 - k for k in range(9)}}
    qrels = {"q": {f"d{k}": 1 for k in range(0, 9, 2)}}
    shown = inspect.signature(cf.evaluate).parameters
    given = {name: shown[name].default for name in ("unmapped", "rel", "seed")}
    one, same = (cf.evaluate(run, qrels, "RR", shards=2, **more) for more in ({}, given))
    assert one["RR"].values.tolist() == same["RR"].values.tolist()


def test_options_of_sessions_have_names() -> None:
    shown = inspect.signature(cf.evaluate_sessions).parameters
    assert not any(one.kind is one.VAR_KEYWORD for one in shown.values())
    judged = inspect.signature(cf.judge).parameters
    for name in SessionOptions.__annotations__:
        assert shown[name].annotation == judged[name].annotation
    rows = {"session": ["s", "s"], "query": [1, 2], "rank": [1, 1], "doc": ["a", "b"]}
    given: dict[str, Any] = {"topics": {"s": "t"}}
    found = cf.evaluate_sessions(
        rows, {"t": {"b": 1, "a": -1}}, "P@2", **given, negative="unjudged"
    )
    assert found["P@2"].values.tolist() == [[0.5]]
    refuses(
        "nagative",
        cf.evaluate_sessions,
        rows,
        {"t": {"b": 1}},
        "P@2",
        **given,
        nagative="unjudged",
        error=TypeError,
    )


def test_what_was_not_evaluated_is_not_in_it() -> None:
    found = cf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"b": 1}}, ["AP", "nDCG@10"])
    assert "AP" in found and "map" in found and "ndcg_cut_10" in found
    assert cf.parse_measure("AP") in found
    for other in ("nope", "P@5", "nDCG", "", "P(", 3, None, 2.5):
        assert other not in found


RUNS = {"x": {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}, "y": {"q1": {"b": 2, "a": 1}}}
QRELS = {"q1": {"b": 1}, "q2": {"c": 1}}


def test_overall_values_by_measure_and_system() -> None:
    ev = cf.evaluate(RUNS, QRELS, ["RR", "NumRelRet"])
    assert ev.to_dict() == {"RR": {"x": 0.75, "y": 0.5}, "NumRelRet": {"x": 2.0, "y": 1.0}}
    assert ev.to_dict("y") == {"RR": 0.5, "NumRelRet": 1.0}
    refuses("unknown system 'z'", ev.to_dict, "z", error=cf.PolicyError)


def test_scores_of_one_system() -> None:
    ev = cf.evaluate(RUNS, QRELS, "RR")
    assert ev["RR"]["x"] == {"q1": 0.5, "q2": 1.0}
    assert ev["RR"]["y"]["q2"] == 0.0
    refuses("unknown system 'xx'; did you mean 'x'", lambda: ev["RR"]["xx"], error=cf.PolicyError)
    refuses("not iterable", list, ev["RR"], error=TypeError)


def test_what_is_no_measure_is_no_key() -> None:
    ev = cf.evaluate(RUNS, QRELS, "RR")
    assert ev.get("foo") is ev.get("nDCG") is None
    assert "foo" not in ev
    for error in (KeyError, cf.MeasureError):
        with pytest.raises(error, match=r"^unknown measure 'foo'; `cranfield measures` lists"):
            ev["foo"]


def test_systems_and_topics_that_are_asked_for_elsewhere() -> None:
    ev = cf.evaluate(RUNS, QRELS, "RR")
    refuses(r"'x' is a system.*; use evaluation\['RR'\]\['x'\]", lambda: ev["x"], error=KeyError)
    refuses(r"evaluation\['RR'\].select\(topics='q1'\)", lambda: ev["q1"], error=KeyError)
    with pytest.raises(cf.PolicyError, match=r"'q1' is a topic.*; use select\(topics='q1'\)"):
        ev["RR"]["q1"]


def test_scores_by_shard_are_no_dict() -> None:
    ev = cf.evaluate(RUNS, QRELS, "RR", shards={"a": "l", "b": "l", "c": "r"})
    for asked in (lambda: ev["RR"]["x"], ev["RR"].to_dict, ev.to_dict, lambda: ev.to_dict("x")):
        refuses("average them over shards first", asked, error=cf.PolicyError)
