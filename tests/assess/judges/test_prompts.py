"""Prompts and answers: texts as they are, a stated rule, and every answer counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cranfield.assess import compare_judges, make_prompts, parse_answers, read_judges
from cranfield.assess.judges.prompts import ONLY_NUMBER
from cranfield.base.errors import CranfieldError, CranfieldWarning, InputError
from tests.cli.running import cranfield

TEMPLATE = 'Query: {topic}\nDoc: {document.title}: {document}\nReply {"grade": N} {other} {{topic}}'
TOPICS = {"q1": "cats", "q2": "dogs & {document}"}
DOCUMENTS = pl.DataFrame(
    {"_id": ["d1", "d2", "d3"], "title": ["T", None, "V"], "text": ["a\n{topic}", '"b" \\1', "é"]}
)
PAIRS = [("q1", "d1"), ("q2", "d2"), ("q2", "d3")]


def test_placeholders_are_replaced_once_and_nothing_else() -> None:
    prompts = make_prompts(PAIRS, TOPICS, DOCUMENTS, TEMPLATE)
    end = '\nReply {"grade": N} {other} '
    assert prompts["prompt"].to_list() == [
        f"Query: cats\nDoc: T: a\n{{topic}}{end}{{cats}}",
        f'Query: dogs & {{document}}\nDoc: : "b" \\1{end}{{dogs & {{document}}}}',
        f"Query: dogs & {{document}}\nDoc: V: é{end}{{dogs & {{document}}}}",
    ]
    assert prompts.select("topic", "doc").rows() == PAIRS
    other = make_prompts(PAIRS, TOPICS, DOCUMENTS, TEMPLATE + ".")
    assert not {*prompts["id"]} & {*other["id"]}
    assert len({*prompts["id"]}) == 3


def test_every_answer_is_counted() -> None:
    documents = {f"d{k}": str(k) for k in range(7)}
    pairs = [("q1", doc) for doc in documents]
    prompts = make_prompts(pairs, TOPICS, documents, "{topic} {document}")
    replies = ["grade 2", "2, so 2", "1 or 2", "none", "  ", None, "0", "grade: -1"]
    places = [0, 1, 2, 3, 4, 5, 5, 0]
    answers = [
        {"id": f"batch_{k}", "custom_id": prompts["id"][k], "output": text}
        for k, text in zip(places, replies, strict=True)
    ]
    parsed = parse_answers(prompts, answers)
    outcomes = ["parsed", "parsed", "unparsed", "unparsed", "refused", "parsed", "missing"]
    assert parsed.rows["outcome"].to_list() == outcomes
    assert parsed.rows["grade"].to_list() == [-1, 2, None, None, None, 0, None]
    assert parsed.heading() == [
        "parse rate 42.9%: 3 of 7 prompts have a grade; 6 answered, 2 unparsed, 1 refused,"
        " 1 missing; 2 duplicate answers",
        "rule: the only number in the answer of the LLM",
    ]
    [judge] = read_judges(parsed.labels)
    assert (len(judge.labels), judge.n_unparsed) == (3, 3)


@pytest.mark.parametrize(
    ("grades", "expected"),
    [(r"score: ([0-3])", [3, None]), ({"yes": 1, "no": 0}, [None, 1])],
)
def test_rules(grades: Any, expected: list[int | None]) -> None:
    prompts = make_prompts(PAIRS[:2], TOPICS, DOCUMENTS, TEMPLATE)
    answers = [{"id": prompts["id"][0], "text": "2 of 4, score: 3"}]
    answers += [{"id": prompts["id"][1], "text": " yes\n"}]
    assert parse_answers(prompts, answers, grades=grades).rows["grade"].to_list() == expected


def grades_of(texts: list[Any], grades: Any) -> list[int | None]:
    documents = {f"d{k}": "x" for k in range(len(texts))}
    prompts = make_prompts(
        [("q1", doc) for doc in documents], TOPICS, documents, "{topic} {document}"
    )
    rows = [{"id": name, "text": text} for name, text in zip(prompts["id"], texts, strict=True)]
    return parse_answers(prompts, rows, grades=grades).rows["grade"].to_list()


def test_words_in_any_case_and_with_punctuation() -> None:
    texts = ["Yes", "**NO**.", " yes!", "yes, no", "not yes", "-", ""]
    assert grades_of(texts, {"yes": 1, "no": 0}) == [1, 0, 1, None, None, None, None]
    texts = ["Not  Relevant.", "Relevant", "irrelevant"]
    assert grades_of(texts, {"relevant": 1, "not relevant": 0}) == [0, 1, None]
    # Words that differ in case only are as in the mapping, and signs count.
    assert grades_of(["a", "A", "A."], {"a": 1, "A": 2}) == [1, 2, None]
    assert grades_of(["1", "-1", "1."], {"1": 1, "0": 0}) == [1, None, 1]


def test_answers_without_a_match_have_no_grade() -> None:
    assert grades_of(["score: 2", "7", "2", "score: 7"], r"score: ([0-2])") == [2] + [None] * 3


def test_a_whole_number_is_a_grade_in_any_form() -> None:
    """Grades of models are often floats: 2.0 is the grade 2, as in judgments; 2.5 is none."""
    texts = [2.0, "2.0", "score: 2.00.", "-1.0", "3", 2.5, "2.05", "1.0 or 2", "1.0.2"]
    assert grades_of(texts, ONLY_NUMBER) == [2, 2, 2, -1, 3, None, None, None, None]


@pytest.mark.parametrize(
    ("pairs", "topics", "documents", "template", "reason"),
    [
        (PAIRS, TOPICS, DOCUMENTS, "{topic}", "placeholders {topic} and {document}"),
        (PAIRS, TOPICS, DOCUMENTS, "{topic.x} {document}", "{topic.x} of the template"),
        (PAIRS, {"q1": "x"}, DOCUMENTS, TEMPLATE, "the topic has no text (topic 'q2'"),
        (PAIRS, TOPICS, DOCUMENTS[:2], TEMPLATE, "the document has no text (topic 'q2'"),
        (PAIRS * 2, TOPICS, DOCUMENTS, TEMPLATE, "the pair occurs twice"),
        (PAIRS, TOPICS, pl.concat([DOCUMENTS] * 2), TEMPLATE, "document d1 occurs twice"),
    ],
)
def test_refusals(pairs: Any, topics: Any, documents: Any, template: str, reason: str) -> None:
    with pytest.raises(CranfieldError) as error:
        make_prompts(pairs, topics, documents, template)
    assert reason in str(error.value)


def choice(text: str | None, **more: Any) -> dict[str, Any]:
    return {"index": 0, "message": {"role": "assistant", "content": text}, **more}


def openai(*choices: Any) -> dict[str, Any]:
    return {"response": {"status_code": 200, "body": {"id": "x", "choices": [*choices]}}}


def anthropic(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"result": {"type": "succeeded", "message": {"content": [*parts], **more}}}


def gemini(*parts: Any, end: str = "STOP") -> dict[str, Any]:
    return {"response": {"candidates": [{"content": {"parts": [*parts]}, "finishReason": end}]}}


def openai_output(*items: Any, status: str) -> dict[str, Any]:
    return {"response": {"status_code": 200, "body": {"status": status, "output": [*items]}}}


MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "score: 1"}]}


@pytest.mark.parametrize(
    ("key", "record", "grade"),
    [
        ("custom_id", openai(choice("score: 2", finish_reason="stop")), 2),
        ("custom_id", openai(choice("score: 2", finish_reason="length")), None),
        ("custom_id", openai(choice(None, refusal="I cannot score: 2")), None),
        ("custom_id", {"response": None, "error": {"code": "batch_expired"}}, None),
        ("custom_id", {"response": {"status_code": 400, "body": {"error": "1"}}}, None),
        ("custom_id", openai_output({"type": "reasoning"}, MESSAGE, status="completed"), 1),
        ("custom_id", openai_output(MESSAGE, status="incomplete"), None),
        ("custom_id", anthropic({"type": "thinking"}, {"type": "text", "text": "score: 2"}), 2),
        ("custom_id", anthropic({"text": "score: 2"}, stop_reason="max_tokens"), None),
        ("custom_id", {"result": {"type": "expired"}}, None),
        ("key", gemini({"text": "score: 0", "thought": True}, {"text": "score: 1"}), 1),
        ("key", {"response": {"candidates": [{"finishReason": "SAFETY"}]}}, None),
        ("key", gemini({"text": "score: 2"}, end="RECITATION"), None),
        ("custom_id", anthropic({"text": "score: 2"}, stop_reason="refusal"), None),
        ("custom_id", openai(choice("score: 2", refusal="no")), None),
        ("id", {"text": "score: 2", "finish_reason": "stop", "error": None}, 2),
        ("id", {"text": "score: 2", "finish_reason": "length"}, None),
        ("id", {"text": "score: 2", "stop_reason": "max_tokens"}, None),
        ("id", {"text": "score: 2", "error": "timeout"}, None),
        ("recordId", {"modelOutput": {"content": [{"text": "score: 2"}]}}, 2),
    ],
)
def test_results_of_batches(key: str, record: Any, grade: int | None, tmp_path: Path) -> None:
    prompts = make_prompts(PAIRS[:1], TOPICS, DOCUMENTS, TEMPLATE)
    (tmp_path / "out.jsonl").write_text(json.dumps({key: prompts["id"][0], **record}) + "\n")
    row = parse_answers(prompts, tmp_path / "out.jsonl").rows.row(0, named=True)
    assert row["grade"] == grade
    assert row["outcome"] == ("refused" if grade is None else "parsed")


@pytest.mark.parametrize("record", [openai(choice("1"), choice("2")), {"response": {"x": "1"}}])
def test_responses_without_a_single_text(record: Any) -> None:
    prompts = make_prompts(PAIRS[:1], TOPICS, DOCUMENTS, TEMPLATE)
    with pytest.raises(InputError, match="write the content of the message to a column text"):
        parse_answers(prompts, [{"id": prompts["id"][0], **record}])


def test_truncated_emoji(tmp_path: Path) -> None:
    prompts = make_prompts(PAIRS[:2], TOPICS, DOCUMENTS, TEMPLATE)
    path, ends = tmp_path / "a.jsonl", "x\ud83d"
    rows = [{"id": name, "text": end} for name, end in zip(prompts["id"], ends, strict=True)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(InputError, match=r"a.jsonl:2: text .* is not valid Unicode text"):
        parse_answers(prompts, path)
    labels = [{"qid": "q", "docid": f"d{ord(end)}", "judgment": 1, "query": end} for end in ends]
    with pytest.warns(CranfieldWarning, match="columns not used: 'query'"):
        [judge] = read_judges({"llm": labels})
    assert len(judge.labels) == 2


def test_line_of_a_repeated_pair(tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text("q1 d1\nq2 d2\nq1 d1\n")
    with pytest.raises(InputError, match=r"pairs.txt:3: the pair occurs twice"):
        make_prompts(tmp_path / "pairs.txt", TOPICS, DOCUMENTS, TEMPLATE)


def test_the_command_writes_prompts_and_reads_answers(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text("q1 0 d1\nq2 Q0 d2 1 3.5 run\nq2 d3\n")
    (tmp_path / "topics.tsv").write_text("qid\tquery\nq1\tcats\nq2\tdogs\n")
    DOCUMENTS.write_ndjson(tmp_path / "docs.jsonl")
    (tmp_path / "t.txt").write_text(TEMPLATE)
    files = ("pool.txt", "topics.tsv", "docs.jsonl")
    cranfield(tmp_path, "prompts", "--template", "t.txt", *files, "-o", "p.jsonl")
    prompts = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [list(row) for row in prompts] == [["id", "topic", "doc", "prompt"]] * 3
    assert prompts[0]["prompt"].startswith("Query: cats\nDoc: T: a\n{topic}")
    answers = [{"id": row["id"], "text": f"score: {k}"} for k, row in enumerate(prompts)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    _, err = cranfield(tmp_path, "prompts", "p.jsonl", "a.jsonl", "-o", "llm.csv")
    assert err.startswith("parse rate 100.0%: 3 of 3 prompts have a grade")
    people = {"q1": {"d1": 0}, "q2": {"d2": 1, "d3": 2}}
    row = compare_judges(people, str(tmp_path / "llm.csv")).to_polars().row(0, named=True)
    assert (row["judge"], row["pairs"], row["agreement"]) == ("llm", 3, 1.0)
    (tmp_path / "b.jsonl").write_text('{"id": "z", "text": "1"}\n')
    _, err = cranfield(tmp_path, "prompts", "p.jsonl", "b.jsonl", status=2)
    assert "b.jsonl:1: expected the id of a prompt, such as '" in err and "got 'z'" in err
    _, err = cranfield(tmp_path, "prompts", "p.jsonl", status=2)
    assert "expected PROMPTS ANSWERS, or --template, got 1 file" in err
    _, err = cranfield(tmp_path, "prompts", *files, "--template", "no.txt", status=2)
    assert "no.txt" in err


def test_answers_that_are_numbers_or_objects() -> None:
    prompts = make_prompts([("q", "a")], {"q": "x"}, {"a": "y"}, "{topic} {document}")
    [identifier] = prompts["id"]
    parsed = parse_answers(prompts, [{"id": identifier, "text": 2}])
    assert parsed.labels.rows() == [("q", "a", 2)]
    with pytest.raises(InputError, match="is not text"):
        parse_answers(prompts, [{"id": identifier, "text": {"score": "2"}}])
