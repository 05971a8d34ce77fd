"""The measures of texts as a catalogue: names, text forms, declarations."""

from __future__ import annotations

import pytest

import cranfield as cf
from cranfield import measures
from cranfield.base.errors import MeasureError
from cranfield.evaluation.evaluation import evaluate_answers
from cranfield.measures.families import KINDS, REGISTRY
from cranfield.measures.grammar import parse_measure, parse_measures
from cranfield.texts import judge_answers
from tests.collection.refusals import refuses


@pytest.mark.parametrize("name", REGISTRY.where(kind=KINDS[2]))
def test_each_measure_declares_itself(name: str) -> None:
    kind = REGISTRY[name]
    info = kind.info
    assert info.name == name == kind().name
    assert info.summary.endswith(".")
    assert info.formula
    assert info.source
    assert info.family
    assert info.needs
    assert info.range[0] == 0
    assert getattr(measures, name) == kind()
    assert info.at_usage == "none"
    assert all(one.doc for one in kind.parameters.values())
    assert parse_measure(name) == kind()


def test_defaults_are_not_shown() -> None:
    assert str(parse_measure("SSharp(L=1000, beta=1)")) == "SSharp"
    assert parse_measure("RougeS(gap=None)") == measures.RougeS()
    found = parse_measures(["TFlat", measures.TFlat(), "SFlat"])
    assert [str(one) for one in found] == ["TFlat", "SFlat"]


def test_a_measure_of_something_else_is_refused() -> None:
    judged = judge_answers({"a": {"q": ["x"]}}, {"q": {"x": 1}})
    with pytest.raises(MeasureError, match="RougeL is computed from summaries and .*, got answers"):
        evaluate_answers(judged, "RougeL")
    refuses("TFlat is computed from answers", evaluate_answers, {}, "TFlat", error=MeasureError)
    refuses("nDCG is computed from rankings", evaluate_answers, judged, "nDCG", error=MeasureError)
    with pytest.raises(MeasureError, match="RougeL is computed from summaries.*, got rankings"):
        cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, "RougeL")
