"""ROUGE: Google's rouge-score, Lin's examples, and counting by brute force."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield import evaluate_answers
from cranfield.base.errors import CranfieldWarning, InputError, PolicyError
from cranfield.measures.texts.rouge import count_pairs, count_skip_overlap
from cranfield.texts import judge_answers, judge_summaries
from tests.collection.refusals import refuses, warns, written
from tests.conftest import ROOT

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(missing and counted as 0|is 0 for every system|counted as empty|letters other than)"
)

ORACLE = json.loads((ROOT / "tests/data/texts/rouge_score.json").read_text("utf-8"))
"""Texts with precision, recall and F of rouge-score 0.1.2, without stemming."""
FORMS = {
    "rouge1": "RougeN(n=1, of={!r})",
    "rouge2": "RougeN(n=2, of={!r})",
    "rouge3": "RougeN(n=3, of={!r})",
    "rougeL": "RougeL(of={!r})",
    "rougeLsum": "RougeLsum(of={!r})",
}


def one_score(measure: str, text: str, *references: str, tokeniser: str = "alphanumeric") -> float:
    judged = judge_summaries({"s": {"q": text}}, {"q": list(references)}, tokeniser=tokeniser)
    (scores,) = evaluate_answers(judged, measure).values()
    return float(scores.values[0, 0])


@pytest.mark.parametrize("kind", FORMS)
def test_rouge_score(kind: str) -> None:
    texts, references = (
        {str(k): pair[key] for k, pair in enumerate(ORACLE)} for key in ("text", "reference")
    )
    judged = judge_summaries({"s": texts}, references)
    for place, of in enumerate(("precision", "recall", "F")):
        (scores,) = evaluate_answers(judged, FORMS[kind].format(of)).values()
        wanted = [pair["scores"][kind][place] for pair in ORACLE]
        assert scores.values[:, 0] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "references", "exact", "f1"),
    [
        ("The cat sat down.", ["cat sat down"], 1, 1),
        ("a dog", ["cat", "A cat, a dog"], 0, 2 / 3),
        ("down sat cat", ["the cat sat down"], 0, 1),
        ("U.S. Navy's", ["no", "US navys"], 1, 1),
        ("\u201cyes\u201d", ["yes"], 0, 0),
    ],
)
def test_answers_to_questions_as_squad(
    text: str, references: list[str], exact: float, f1: float
) -> None:
    # Worked out by hand by the definitions of Rajpurkar et al. (2016).
    for measure, wanted in (("ExactMatch", exact), ("exact_match", exact), ("RougeN(of='F')", f1)):
        assert one_score(measure, text, *references, tokeniser="squad") == pytest.approx(wanted)


def test_an_answer_of_an_article_is_an_empty_text_for_squad() -> None:
    judged = warns(
        "2 texts without words", judge_summaries, {"q": "A"}, {"q": "the"}, tokeniser="squad"
    )
    assert evaluate_answers(judged, "EM")["EM"].values.tolist() == [[1]]


def test_several_references_as_rouge_score() -> None:
    # rouge-score 0.1.2, score_multi
    references = ["the cat sat on the mat", "a cat is here on a mat"]
    wanted = {
        **{"RougeN(of='F')": 0.7272727273, "RougeN(n=2, of='F')": 0.4444444444},
        **{"RougeN(n=3, of='F')": 0.2857142857, "RougeL": 0.7272727273},
    }
    for measure, value in wanted.items():
        assert one_score(measure, "a cat on the mat", *references) == pytest.approx(value)
    each = [one_score("RougeL", "a cat on the mat", one) for one in references]
    mean = one_score("RougeL(references='average')", "a cat on the mat", *references)
    assert mean == pytest.approx(sum(each) / 2)


def test_examples_of_lin() -> None:
    # Lin (2004), sections 3.1, 3.2 and 4
    reference = "police killed the gunman"
    for text, skip, common in (
        ("police kill the gunman", 3 / 6, 3 / 4),
        ("the gunman kill police", 1 / 6, 2 / 4),
        ("the gunman police killed", 2 / 6, 2 / 4),
    ):
        assert one_score("RougeS", text, reference) == pytest.approx(skip)
        assert one_score("RougeL", text, reference) == pytest.approx(common)
    # The words 4 and 2 of 6 pairs, of 4 + 6 units.
    assert one_score("RougeSU", "the gunman police killed", reference) == pytest.approx(0.6)
    union = "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5"
    assert one_score("RougeLsum(of='recall')", union, "w1 w2 w3 w4 w5") == pytest.approx(4 / 5)


def test_beta() -> None:
    text, reference = "a b x y", "a b"
    assert one_score("RougeS(beta=2)", text, reference) == pytest.approx(5 / 6 / (4 / 6 + 1))
    assert one_score("RougeN(beta=0, of='F')", text, reference) == one_score(
        "RougeN(of='precision')", text, reference
    )


WORDS = st.lists(st.integers(0, 4), max_size=12)


def skip_bigrams(words: list[int], gap: int | None) -> Counter[tuple[int, int]]:
    places = combinations(range(len(words)), 2)
    return Counter((words[i], words[j]) for i, j in places if gap is None or j - i - 1 <= gap)


@settings(max_examples=50, deadline=None)
@given(WORDS, WORDS, st.none() | st.integers(0, 6))
def test_skip_bigrams_by_brute_force(
    text: list[int], reference: list[int], gap: int | None
) -> None:
    one, other = skip_bigrams(text, gap), skip_bigrams(reference, gap)
    wanted = (sum((one & other).values()), sum(one.values()), sum(other.values()))
    assert count_skip_overlap(text, reference, gap) == wanted
    assert count_pairs(len(text), gap) == wanted[1]
    common = wanted[0] + sum((Counter(text) & Counter(reference)).values())
    whole = wanted[1] + len(text) + wanted[2] + len(reference)
    shown = [" ".join(f"w{word}" for word in words) for words in (text, reference)]
    value = one_score(f"RougeSU(gap={gap})", *shown)
    assert value == pytest.approx(2 * common / whole if whole else 0.0)
    if gap == 0:
        assert one_score("RougeS(gap=0)", *shown) == pytest.approx(
            one_score("RougeN(n=2, of='F')", *shown)
        )


def test_tokenisers() -> None:
    assert one_score("RougeN", "The cat.", "the cat", tokeniser="whitespace") == 0
    assert one_score("RougeN", "The cat.", "the cat") == 1
    judged = judge_summaries({"s": {"q": "日本語"}}, {"q": "日本"}, tokeniser=list)
    assert judged.settings == {"tokeniser": "own function"}
    [scores] = evaluate_answers(judged, "RougeN(of='precision')").values()
    assert scores.values[0, 0] == pytest.approx(2 / 3)
    for wrong in ("porter", 3):
        refuses(
            "expected a function or one of: alphanumeric, unicode, squad, whitespace",
            judge_summaries,
            {"s": {"q": "a"}},
            {"q": "a"},
            tokeniser=wrong,
            error=PolicyError,
        )
    with pytest.raises(PolicyError, match="must return a list of words"):
        judge_summaries({"s": {"q": "a"}}, {"q": "a"}, tokeniser=len)  # type: ignore[arg-type]


def test_tables_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text('topic,summary\nq,"the cat,\nand a dog"\nr,a bird\n')
    references = [
        {"topic": "q", "reference": "cat and dog"},
        {"topic": "r", "reference": ""},
        {"topic": "q", "reference": "dogs"},
        {"topic": "t", "reference": "missing"},
    ]
    with pytest.warns(CranfieldWarning, match="reference text of topic 'r' is empty") as warned:
        judged = judge_summaries(path, references)
    assert [Path(warning.filename) for warning in warned] == [Path(__file__)] * 2
    assert (judged.topics, judged.systems) == (("q", "r", "t"), ("mine",))
    assert evaluate_answers(judged, "RougeN")["RougeN"].values.tolist() == [[1], [0], [0]]
    assert repr(judged) == "JudgedSummaries(3 topics, 1 system, 2 texts)"


def test_wrong_texts() -> None:
    warns(r"1 topic without references", judge_summaries, {"s": {"q": "a", "r": "b"}}, {"q": "a"})
    rows = [("q", "s", "a"), ("q", "s", "b")]
    table = [dict(zip(("topic", "system", "text"), row, strict=True)) for row in rows]
    refuses(r"row 2: is a second text of system 's' \(topic", judge_summaries, table, {"q": "a"})
    others = [{**row, "topic": "r"} for row in table]
    warns("1 topic without references", judge_summaries, [table[0], *others], {"q": "a"})
    replicates = [{**row, "replicate": k} for k, row in enumerate(table)]
    refuses(r"'replicate' .* name the systems", judge_summaries, replicates, {"q": "a"})
    for texts, references in (
        ({"s": {"q": 3}}, {"q": "a"}),
        ({"s": "a"}, {"q": "a"}),
        ({"s": {"q": "a"}}, {"q": []}),
        ({"s": {"q": "a"}}, {"q": [None]}),
        ({"s": {"q": "a"}}, 3),
        ([{"topic": "q", "text": 3}], {"q": "a"}),
        ([{"topic": "q"}], {"q": "a"}),
    ):
        refuses("", judge_summaries, texts, references)


def test_references_of_several_systems_are_refused() -> None:
    texts = [
        {"topic": "q", "system": name, "text": text} for name, text in (("a", "x y"), ("b", "z"))
    ]
    gold = [{"topic": "q", "text": "x y"}]
    refuses(r"got texts of several systems \('a', 'b'\); exchange", judge_summaries, gold, texts)
    scores = evaluate_answers(judge_summaries(texts, gold), "RougeN(n=1)")
    assert [one.values.tolist() for one in scores.values()] == [[[1.0, 0.0]]]
    named = [{**row, "system": "gold"} for row in gold]
    assert len(judge_summaries(texts, [*named, *named]).references[0]) == 2


QA_ROWS = [
    {"question": "who?", "answer": "It was Ann", "ground_truth": "Ann"},
    {"question": "when?", "answer": "in May", "ground_truth": "June"},
]
QA_FORMS: dict[str, list[dict[str, Any]]] = {
    "ragas before 0.2": QA_ROWS,
    "ragas": [
        {"user_input": row["question"], "response": row["answer"], "reference": row["ground_truth"]}
        for row in QA_ROWS
    ],
    "predictions": [
        {"id": row["question"], "prediction": row["answer"], "answers": [row["ground_truth"]]}
        for row in QA_ROWS
    ],
    "Hugging Face's SQuAD": [
        {
            "question": row["question"],
            "prediction_text": row["answer"],
            "answers": {"text": [row["ground_truth"]], "answer_start": [0]},
        }
        for row in QA_ROWS
    ],
}


@pytest.mark.parametrize("form", QA_FORMS)
@pytest.mark.filterwarnings("ignore:.*columns not used")
def test_texts_and_references_in_one_table_are_told_apart(form: str) -> None:
    judged = judge_summaries(QA_FORMS[form], QA_FORMS[form], name="mine")
    # "it was ann" and "ann": precision 1/3, recall 1.
    assert evaluate_answers(judged, "RougeN(of='F')").to_dict("mine") == pytest.approx(
        {"RougeN(of='F')": 0.25}
    )


TWO_TEXTS = {"s": {"q1": "the cat sat", "q2": "a dog"}}
LISTS = [["the cat sat", "x y"], ["a dog"]]
LISTS_IN_CELLS: dict[str, Any] = {
    "Python": str,
    "JSON": json.dumps,
    "NumPy": lambda texts: str(np.array(texts)),
    "Hugging Face": lambda texts: str({"text": texts, "answer_start": [0] * len(texts)}),
}


@pytest.mark.parametrize("form", LISTS_IN_CELLS)
def test_lists_of_references_written_as_text_are_refused(form: str, tmp_path: Path) -> None:
    cells = [LISTS_IN_CELLS[form](texts) for texts in LISTS]
    table = pl.DataFrame({"topic": ["q1", "q2"], "reference": cells})
    table.write_csv(path := tmp_path / "references.csv")
    for references in (path, table, dict(table.iter_rows())):
        refuses("expected one reference text, got the list", judge_summaries, TWO_TEXTS, references)
    mixed = {"q1": cells[0], "q2": "a dog"}
    warns("may be a list of texts; write a row for each", judge_summaries, TWO_TEXTS, mixed)


def test_lists_of_references_count_as_several_texts(tmp_path: Path) -> None:
    frame = pl.DataFrame({"topic": ["q1", "q2"], "reference": LISTS})
    frame.write_parquet(path := tmp_path / "references.parquet")
    arrays = pl.Series([np.array(texts) for texts in LISTS], dtype=pl.Object)
    for references in (frame, path, frame.with_columns(reference=arrays)):
        judged = judge_summaries(TWO_TEXTS, references)
        assert evaluate_answers(judged, "RougeL(of='F')").to_dict("s") == {"RougeL(of='F')": 1.0}
    # A text may look like a list: as the item of a list, and without quotes in the brackets.
    for text in ("['a', 'b']", "[0, 1]", "[sic] 'a'"):
        assert len(judge_summaries({"q": "a"}, {"q": [text]}).references[0]) == 1
    assert len(judge_summaries({"q": "0"}, {"q": "[0, 1]"}).references[0]) == 1


def test_json_of_squad_and_alce(tmp_path: Path) -> None:
    questions = [{"id": "7", "answers": [{"text": "Ann"}, {"text": "Ann Lee"}]}]
    squad, predictions = tmp_path / "dev.json", tmp_path / "mine.json"
    squad.write_text(json.dumps({"data": [{"title": "t", "paragraphs": [{"qas": questions}]}]}))
    judged = judge_summaries(written(predictions, json.dumps({"7": "Ann"})), squad)
    assert (judged.topics, judged.systems, len(judged.references[0])) == (("7",), ("mine",), 2)
    assert evaluate_answers(judged, "RougeN").to_dict("mine") == {"RougeN": 1.0}
    alce = {"args": {}, "data": [{"question": "who?", "answer": "Ann", "output": "It was Ann."}]}
    assert evaluate_answers(judge_summaries(alce, alce), "RougeN").to_dict("run") == {"RougeN": 1.0}
    others: list[Any] = [[{"x": 1}, {"paragraphs": 3}], [{"paragraphs": [{"qas": [{}]}]}]]
    for other in others:
        refuses("expected .* the format of SQuAD", judge_summaries, predictions, {"data": other})


def test_systems_without_a_topic_with_references_are_refused() -> None:
    reason = "topics without references: '1'; topics with references: 'q1', 'q2'"
    refuses(reason, judge_summaries, {"a": {"q1": "x"}, "b": {"1": "x"}}, {"q1": "x", "q2": "y"})
    refuses(
        "system 'b' has no answer for a topic with nuggets; topics without nuggets",
        judge_answers,
        {"a": {"q1": ["n"]}, "b": {"1": []}},
        {"q1": ["n"]},
    )


def test_empty_texts_are_missing_answers(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("qid,answer\n1,yes\n2,\n")
    with pytest.warns(CranfieldWarning, match="1 answer is missing .*: topic '2' of 'mine'"):
        judged = judge_summaries(path, {"1": "yes", "2": "no"})
    assert evaluate_answers(judged, "RougeN")["RougeN"].values.tolist() == [[1.0], [0.0]]
    path.write_text("qid,answer,seed\n1,yes,1\n1,no,2\n")
    reason = "3: is a second text of system 'mine'; a column system names"
    with pytest.warns(CranfieldWarning, match="'seed'"), pytest.raises(InputError, match=reason):
        judge_summaries(path, {"1": "yes"})
