"""A 0 that stands for nothing found: missing answers, undefined measures, texts without words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield import texts
from cranfield.base.errors import CranfieldWarning, InputError, PolicyError
from tests.collection.refusals import refuses

GOLD = {"1": {"n": "vital"}, "2": {"m": "vital"}}


def scored(judged: Any, measure: str) -> list[list[float]]:
    found = cf.evaluate_answers(judged, measure)
    return [[round(one, 4) for one in row] for row in found[measure].values.tolist()]


MISSING: dict[str, Callable[[], Any]] = {
    "nuggets": lambda: texts.judge_answers({"a": {"1": ["n"], "2": ["m"]}, "b": {"1": []}}, GOLD),
    "assignments": lambda: texts.read_nugget_assignments(
        [
            {"qid": q, "run_id": run, "nuggets": [{"text": "n", **label}]}
            for q, run in (("1", "a"), ("2", "a"), ("1", "b"))
            for label in [{"importance": "vital", "assignment": "support"}]
        ]
    ),
    "citations": lambda: texts.read_citations(
        {"a": {"1": [["full"]], "2": [["full"]]}, "b": {"1": [[]]}}
    ),
    "references": lambda: texts.judge_summaries(
        {"a": {"1": "x", "2": "y"}, "b": {"1": "x"}}, {"1": "x", "2": "y"}
    ),
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_answer_is_reported_once(kind: str) -> None:
    with pytest.warns(CranfieldWarning) as told:
        MISSING[kind]()
    assert [str(one.message) for one in told] == [
        "1 answer is missing and counted as 0: topic '2' of 'b'"
    ]


@pytest.mark.parametrize("answer", [[], {"nuggets": [], "length": 5}, {"nuggets": [], "text": ""}])
def test_an_answer_without_nuggets_is_a_0_without_a_word(answer: Any) -> None:
    judged = texts.judge_answers({"a": {"1": answer}}, {"1": {"n": "vital"}})
    assert scored(judged, "VitalScore") == [[0.0]]


OTHER_SCRIPTS = {
    "Chinese": "我爱自然语言处理",
    "Russian": "съешь ещё этих мягких",
    "Hindi": "यह एक परीक्षण है",
    "Arabic": "هذا اختبار",
    "Greek": "αυτό είναι",
    "digits": "٣٤٥",
}


@pytest.mark.parametrize("text", OTHER_SCRIPTS.values(), ids=OTHER_SCRIPTS)
def test_texts_of_other_scripts_have_words(text: str) -> None:
    for one, other in ((text, "words"), ("words", text)):
        with pytest.raises(InputError, match="tokeniser='unicode'") as told:
            texts.judge_summaries({"a": {"q7": one}}, {"q7": other}, tokeniser="alphanumeric")
        assert told.value.topic == "q7"
    with pytest.warns(CranfieldWarning, match="tokeniser='unicode'.*topic 'q7'"):
        judged = texts.judge_summaries({"a": {"q7": text}}, {"q7": text})
    assert judged.settings == {"tokeniser": "unicode"}
    assert scored(judged, "RougeN(n=1)") == scored(judged, "RougeL") == [[1.0]]


# Words counted by hand: shared words, words of the text, words of the reference.
SHARED = {
    "Japanese": ("猫が大好きです", "猫が好きです", 6, 7, 6),
    "Russian": ("Съешь ещё булок", "съешь булок, да", 2, 3, 3),
    "Hindi": ("यह परीक्षण है", "यह एक परीक्षण है", 3, 3, 4),
    "mixed": ("BM25 и поиск", "поиск, BM25", 2, 3, 2),
}


@pytest.mark.parametrize("name", SHARED)
def test_words_by_unicode(name: str) -> None:
    text, reference, shared, n_text, n_reference = SHARED[name]
    judged = texts.judge_summaries({"a": {"q": text}}, {"q": reference}, tokeniser="unicode")
    expected = 2 * shared / (n_text + n_reference)
    assert scored(judged, "RougeN(n=1, of='F')") == [[round(expected, 4)]]


def test_an_own_tokeniser_without_words_is_named_without_advice() -> None:
    with pytest.raises(InputError, match="tokeniser found no words in 'a b'") as told:
        texts.judge_summaries({"a": {"1": "a b"}}, {"1": "a"}, tokeniser=lambda _: [])
    assert "whitespace" not in str(told.value)


def test_punctuation_is_no_text_and_reported() -> None:
    with pytest.warns(CranfieldWarning, match=r"1 text without words .* \(topic '1'\)"):
        judged = texts.judge_summaries({"a": {"1": "?! …"}}, {"1": "words"})
    assert scored(judged, "RougeL") == [[0.0]]


@pytest.mark.parametrize("text", ["Größe", "naïve idea", "C3 und ２", "word слово"])
def test_letters_that_are_dropped_are_reported(text: str) -> None:
    with pytest.warns(CranfieldWarning, match="ignored letters other than a to z") as told:
        texts.judge_summaries({"a": {"1": text, "2": text}}, {"1": text, "2": "plain"})
    assert len(told) == 1 and "of 2 topics" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        texts.judge_summaries({"a": {"1": text}}, {"1": text}, tokeniser="whitespace")


def one_click(weight: float, vital: float, position: float) -> Any:
    gold = {"1": {"n": {"weight": weight, "vital_length": vital}}}
    answer = {"nuggets": {"n": position}, "length": 10}
    return texts.judge_answers({"a": {"1": answer}}, gold)


UNDEFINED: dict[str, Callable[[], Any]] = {
    "VitalScore": lambda: texts.judge_answers({"a": {"1": ["n"]}}, {"1": {"n": "okay"}}),
    "VitalScore(strict=True)": lambda: texts.judge_answers({"a": {"1": []}}, {"1": {"n": "okay"}}),
    "WeightedScore(okay=0)": lambda: texts.judge_answers({"a": {"1": []}}, {"1": {"n": "okay"}}),
    "WRecall": lambda: one_click(0, 5, 5),
    "SMeasure": lambda: one_click(1, 2000, 5),
    "SFlat": lambda: one_click(0, 5, 5),
    "TMeasure": lambda: one_click(1, 0, 5),
    "CitationPrecision": lambda: texts.read_citations({"a": {"1": [[], []]}}),
    "CitationF": lambda: texts.read_citations({"a": {"1": [[]]}, "b": {"1": [[]]}}),
    "ALCEPrecision": lambda: texts.read_citations({"a": {"1": [[]]}}),
    "RougeN(n=2)": lambda: texts.judge_summaries({"a": {"1": "one"}}, {"1": ["one", "two"]}),
    "RougeS": lambda: texts.judge_summaries({"a": {"1": "one two"}}, {"1": "one"}),
    "RougeL": lambda: texts.judge_summaries({"a": {"1": "one"}}, {"1": ""}),
}


@pytest.mark.parametrize("measure", UNDEFINED)
def test_a_measure_that_is_undefined_for_a_topic_is_reported(measure: str) -> None:
    judged = UNDEFINED[measure]()
    with pytest.warns(CranfieldWarning, match=r"is 0 for every system on 1 topic \('1'\)") as told:
        assert {*scored(judged, measure)[0]} == {0.0}
    assert len(told) == 1


def test_a_real_0_is_a_value() -> None:
    judged = texts.judge_summaries({"a": {"1": "one two"}}, {"1": "three four"})
    for measure in ("RougeN(n=1)", "RougeN(n=2)", "RougeS", "RougeSU", "RougeL", "RougeLsum"):
        assert scored(judged, measure) == [[0.0]]
    cited = texts.read_citations({"a": {"1": [["none"], []]}})
    for measure in ("CitationPrecision", "CitationRecall", "CitationF", "ALCEPrecision"):
        assert scored(cited, measure) == [[0.0]]


def test_a_name_that_is_not_used_is_refused(tmp_path: Path) -> None:
    rows = "topic,system,nugget\n1,a,n\n"
    (tmp_path / "a.csv").write_text(rows)
    (tmp_path / "c.csv").write_text("topic,system,sentence,citation,support\n1,a,1,d,full\n")
    (tmp_path / "t.csv").write_text("topic,system,text\n1,a,x\n")
    label = {"text": "n", "importance": "vital", "assignment": "support"}
    reads: tuple[Callable[[], object], ...] = (
        lambda: texts.judge_answers(tmp_path / "a.csv", {"1": {"n": 1}}, name="x"),
        lambda: texts.judge_answers({"a": {"1": ["n"]}}, {"1": {"n": 1}}, name="x"),
        lambda: texts.read_citations(tmp_path / "c.csv", name="x"),
        lambda: texts.judge_summaries(tmp_path / "t.csv", {"1": "x"}, name="x"),
        lambda: texts.judge_summaries({"a": {"1": "x"}}, {"1": "x"}, name="x"),
        lambda: texts.read_nugget_assignments(
            [{"qid": "1", "run_id": "a", "nuggets": [label]}], name="x"
        ),
    )
    for read in reads:
        refuses("has no effect", read, error=PolicyError)
