"""Nugget recall, precision and F of question answering; the catalogue of measures of texts."""

from __future__ import annotations

import pytest

import cranfield as cf
from cranfield import evaluate_answers, measures
from cranfield.base.errors import MeasureError
from cranfield.measures.families import KINDS, REGISTRY
from cranfield.measures.grammar import parse_measure, parse_measures
from cranfield.texts import judge_answers
from cranfield.texts.gold import count_characters
from tests.collection.refusals import refuses

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(missing and counted as 0|is 0 for every system|counted as empty)"
)

GOLD = {"q": {"a": "vital", "b": "vital", "c": "okay", "d": "okay"}}


def scores_of(answer: object, *measures: str, gold: object = None) -> list[float]:
    judged = judge_answers({"s": {"q": answer}}, GOLD if gold is None else gold)
    found = evaluate_answers(judged, list(measures))
    return [float(scores.values[0, 0]) for scores in found.values()]


def test_trec_question_answering_by_hand() -> None:
    # r = 1 of R = 2 vital, a = 1 okay: recall 1/2, allowance 200, precision 1 - (250 - 200) / 250.
    answer = {"nuggets": ["a", "c"], "length": 250}
    recall, precision, f3, f5 = scores_of(
        answer, "WRecall", "NuggetPrecision", "NuggetF", "NuggetF(beta=5)"
    )
    assert (recall, precision) == (0.5, 0.8)
    assert f3 == pytest.approx(10 * 0.8 * 0.5 / (9 * 0.8 + 0.5))
    assert f5 == pytest.approx(26 * 0.8 * 0.5 / (25 * 0.8 + 0.5))


def test_allowance() -> None:
    answer = {"nuggets": ["a", "c"], "length": 250}
    for allowance in (125, 200):
        assert scores_of(answer, f"NuggetPrecision(allowance={allowance})") == [1.0]
    assert scores_of(answer, "NuggetPrecision(allowance=50)") == [pytest.approx(0.4)]
    assert scores_of(answer, "NuggetPrecision(allowance=0)") == [0.0]


def test_length_leaves_white_space_out() -> None:
    assert count_characters(" ab\tc\n d\u00a0e ") == 5
    answer = {"nuggets": ["a"], "text": "x y " * 100}
    assert scores_of(answer, "NuggetPrecision") == [0.5]


def test_empty_answers_score_zero() -> None:
    wanted = ["NuggetRecall", "WRecall", "NuggetPrecision", "NuggetF"]
    assert scores_of({"nuggets": [], "length": 0}, *wanted) == [0, 0, 0, 0]
    assert scores_of({"nuggets": [], "length": 70}, *wanted) == [0, 0, 0, 0]
    judged = judge_answers({"s": {"q": {"nuggets": ["a"], "length": 9}}}, {**GOLD, "r": {"x": 1}})
    found = evaluate_answers(judged, wanted)
    assert [scores.values[1, 0] for scores in found.values()] == [0, 0, 0, 0]


def test_no_vital_nugget_is_zero() -> None:
    gold = {"q": {"a": "okay"}}
    assert scores_of(["a"], "WRecall", "NuggetRecall", gold=gold) == [0.0, 1.0]


def test_votes_of_assessors_are_weights() -> None:
    gold = {
        "q": {"a": ["vital", "vital", "okay"], "b": ["okay", "vital", "okay"], "c": ["okay"] * 3}
    }
    judged = judge_answers({"s": {"q": ["a"]}}, gold)
    assert judged.nuggets.weight.tolist() == [1.0, 0.5, 0.0]
    assert judged.nuggets.vital.tolist() == [1.0, 0.0, 0.0]
    assert scores_of(["a"], "WRecall", gold=gold) == [pytest.approx(2 / 3)]


def test_partial_support_is_no_match() -> None:
    answer = {"nuggets": {"a": {"support": "partial_support"}, "b": {"support": 1}}, "length": 50}
    assert scores_of(answer, "NuggetRecall", "WRecall") == [0.25, 0.5]


def test_what_is_lacking_is_said() -> None:
    refuses("NuggetF requires the length of each", scores_of, ["a"], "NuggetF", error=MeasureError)
    rows = [{"topic": "q", "nugget": "a"}]
    with pytest.raises(MeasureError, match="WRecall requires the weight of each nugget"):
        scores_of(["a"], "WRecall", gold=rows)


@pytest.mark.parametrize("name", REGISTRY.select(kind=KINDS[2]))
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
