"""Scores as plain dicts: of one system by topic, of all systems by measure."""

from __future__ import annotations

import pytest

import cranfield as cf
from tests.collection.refusals import refuses

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
