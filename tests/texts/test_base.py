"""The measures of texts as a catalogue: names, text forms, declarations."""

from __future__ import annotations

import sys
from subprocess import run
from typing import Any

import pytest

import cranfield.measures.texts as texts
from cranfield.base.errors import MeasureError
from cranfield.evaluation.of_answers import evaluate_answers
from cranfield.measures.base import ALIASES, REGISTRY
from cranfield.measures.texts import TEXT_MEASURES, parse_text_measure, parse_text_measures
from cranfield.measures.texts.base import KINDS
from cranfield.texts import judge_answers


@pytest.mark.parametrize("name", TEXT_MEASURES)
def test_each_measure_declares_itself(name: str) -> None:
    info, kind = TEXT_MEASURES[name], KINDS[name]
    assert info.name == name == kind().name
    assert info.summary.endswith(".")
    assert info.formula
    assert info.source
    assert info.family
    assert info.needs
    assert info.range[0] == 0
    assert name not in REGISTRY
    assert name not in ALIASES
    assert getattr(texts, name) is kind
    assert all(one.doc for one in kind.parameters.values())
    assert parse_text_measure(name) == kind()


@pytest.mark.parametrize(
    "text",
    [
        "SMeasure(L=500)",
        "SSharp(L=250.5, beta=10)",
        "NuggetF(allowance=50, beta=1)",
        "AllScore(strict=True)",
        "RougeN(n=2, of='F')",
        "RougeS(gap=4, references='average')",
        "CitationRecall(counted='all')",
    ],
)
def test_text_forms_read_back(text: str) -> None:
    made = parse_text_measure(text)
    assert str(made) == repr(made) == text
    assert parse_text_measure(f" {made} ") == made
    assert hash(made) == hash(parse_text_measure(text))


def test_defaults_are_not_shown() -> None:
    assert str(parse_text_measure("SSharp(L=1000, beta=1)")) == "SSharp"
    assert parse_text_measure("RougeS(gap=None)") == texts.RougeS()
    found = parse_text_measures(["TFlat", texts.TFlat(), "SFlat"])
    assert [str(one) for one in found] == ["TFlat", "SFlat"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("smeasure", "did you mean SMeasure?"),
        ("nonsense", "there is no measure of texts 'nonsense'"),
        ("SMeasure(l=3)", "SMeasure has no parameter 'l' (it has: L)"),
        ("SMeasure(L='x')", "SMeasure: L='x' is not a number above 0"),
        ("SMeasure(500)", "the form is Name(param=value)"),
        ("SMeasure(**{})", "the form is Name(param=value)"),
        ("SMeasure@10", "the form is Name(param=value)"),
        ("SMeasure(L=print())", "the form is Name(param=value)"),
        ("", "the form is Name(param=value)"),
        ("(" * 1000, "the form is Name(param=value)"),
        ("RougeN(of='F1')", "RougeN: of='F1' is not one of 'recall', 'precision', 'F'"),
        (3, "int is neither a measure of texts nor its text"),
    ],
)
def test_wrong_texts(text: str, message: str) -> None:
    with pytest.raises(MeasureError) as error:
        parse_text_measure(text)
    assert message in str(error.value)


def test_nothing_given() -> None:
    wrongs: list[Any] = [[], 3, None]
    for wrong in wrongs:
        with pytest.raises(MeasureError):
            parse_text_measures(wrong)


def test_measures_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        texts.SMeasure().L = 3


def test_a_measure_of_something_else_is_refused() -> None:
    judged = judge_answers({"a": {"q": ["x"]}}, {"q": {"x": 1}})
    with pytest.raises(MeasureError, match="RougeL is computed from JudgedSummaries, not Judged"):
        evaluate_answers(judged, "RougeL")
    with pytest.raises(MeasureError, match="TFlat is computed from JudgedAnswers, not dict"):
        evaluate_answers({}, "TFlat")


def test_the_package_does_not_load_with_cranfield() -> None:
    code = "import sys, cranfield; assert not [m for m in sys.modules if 'cranfield.texts' in m]"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
