"""Nugget scores of the TREC RAG track: AutoNuggetizer's numbers, and the layout of its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield import evaluate_answers
from cranfield.base.errors import InputError
from cranfield.texts import judge_answers, read_nugget_assignments
from tests.collection.refusals import refuses, warns, written

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(missing and counted as 0|is 0 for every system|counted as empty)"
)

WORDS = {"v": "vital", "o": "okay", "s": "support", "p": "partial_support", "n": "not_support"}

# (topic, run, importance and assignment of each nugget by their first letters, and all_score,
# strict_all_score, vital_score, strict_vital_score as nuggetizer 0.0.5 computes them)
ORACLE = [
    ("1", "a", "vvo", "npn", (0.16666666666666666, 0.0, 0.25, 0.0)),
    ("1", "b", "vvo", "nsn", (0.3333333333333333, 0.3333333333333333, 0.5, 0.5)),
    ("2", "a", "voovv", "npnnp", (0.2, 0.0, 0.16666666666666666, 0.0)),
    ("2", "b", "voovv", "pnssn", (0.5, 0.4, 0.5, 0.3333333333333333)),
    ("3", "a", "oooo", "snpn", (0.375, 0.25, 0.0, 0.0)),
    ("3", "b", "oooo", "snss", (0.75, 0.75, 0.0, 0.0)),
]
WANTED = ["AllScore", "AllScore(strict=True)", "VitalScore", "VitalScore(strict=True)"]


def record(topic: str, run: str, importance: str, assignment: str) -> dict[str, Any]:
    nuggets = [
        {"text": f"fact {k}", "importance": WORDS[i], "assignment": WORDS[a]}
        for k, (i, a) in enumerate(zip(importance, assignment, strict=True))
    ]
    return {"query": "?", "qid": topic, "run_id": run, "response_length": 5, "nuggets": nuggets}


def test_autonuggetizers_numbers(tmp_path: Path) -> None:
    path = tmp_path / "assignments.jsonl"
    path.write_text("".join(json.dumps(record(*row[:4])) + "\n" for row in ORACLE))
    judged = read_nugget_assignments(path)
    found = evaluate_answers(judged, WANTED)
    for topic, run, _, _, values in ORACLE:
        t, s = judged.topics.index(topic), judged.systems.index(run)
        assert [found[name].values[t, s] for name in WANTED] == pytest.approx(list(values))
    assert cf.compare(found["AllScore"]).systems == ("a", "b")


def test_weighted_by_hand() -> None:
    # vital: 1 and 1/2; okay: 1/2 and 0. (1.5 + 0.5 * 0.5) / (2 + 0.5 * 2); strict: 1 / 3.
    judged = read_nugget_assignments([record("1", "a", "vvoo", "sppn")])
    wanted = ["WeightedScore", "WeightedScore(strict=True)", "WeightedScore(okay=1)", "AllScore"]
    found = [scores.values[0, 0] for scores in evaluate_answers(judged, wanted).values()]
    assert found == pytest.approx([1.75 / 3, 1 / 3, 0.5, 0.5])
    # Of one kind only: (1 + 0.5) / 2.
    judged = read_nugget_assignments([record("1", "a", "oo", "sp"), record("2", "a", "vv", "sp")])
    scores = evaluate_answers(judged, "WeightedScore")["WeightedScore"]
    assert scores.values[:, 0].tolist() == [0.75, 0.75]


def test_tables_say_the_same() -> None:
    rows = [
        {"topic": "1", "system": "a", "nugget": "x", "support": "Partial Support"},
        {"topic": "1", "system": "a", "nugget": "y", "support": 1},
        {"topic": "1", "system": "b", "nugget": "y", "support": "no_support"},
    ]
    judged = judge_answers(rows, {"1": {"x": "vital", "y": "okay"}})
    assert judged.is_answered.all()
    found = evaluate_answers(judged, WANTED)
    assert [scores.values[0].tolist() for scores in found.values()] == [
        [0.75, 0],
        [0.5, 0],
        [0.5, 0],
        [0, 0],
    ]


def test_text_that_is_listed_twice_is_two_nuggets() -> None:
    one = record("1", "a", "vo", "sn")
    for nugget in one["nuggets"]:
        nugget["text"] = "same"
    judged = read_nugget_assignments([one])
    assert judged.nuggets.ids == ("same", "same #2")
    assert evaluate_answers(judged, "AllScore")["AllScore"].values[0, 0] == 0.5


def test_length_of_the_answer() -> None:
    one = {**record("1", "a", "v", "s"), "answer_text": "a b c"}
    assert read_nugget_assignments([one]).length.tolist() == [[3.0]]


def test_failed_labels_count_as_no_support_and_are_counted() -> None:
    one = record("1", "a", "vvo", "sss")
    one["nuggets"][1]["assignment"] = "failed"
    one["nuggets"][2]["importance"] = "failed"
    judged = warns("2 labels with value 'failed'", read_nugget_assignments, [one])
    found = evaluate_answers(judged, ["AllScore", "VitalScore"])
    assert [scores.values[0, 0] for scores in found.values()] == [pytest.approx(2 / 3), 0.5]


def test_failed_labels_are_those_of_their_file(tmp_path: Path) -> None:
    failed, good = record("1", "a", "v", "s"), record("1", "b", "v", "s")
    failed["nuggets"][0]["assignment"] = "failed"
    for name, one in (("first.jsonl", failed), ("second.jsonl", good)):
        (tmp_path / name).write_text(json.dumps(one) + "\n")
    paths = [tmp_path / "first.jsonl", tmp_path / "second.jsonl"]
    warns("first.jsonl: 1 label with value 'failed'", read_nugget_assignments, paths)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nuggets": []}, "a.jsonl:2: has no nuggets (topic '1')"),
        ({"nuggets": None}, "a.jsonl:2: has no nuggets (topic '1')"),
        ({"nuggets": ["x"]}, "a.jsonl:2: expected a nugget with a text, got 'x' (topic '1')"),
        ({"run_id": "a"}, "a.jsonl:2: expected one answer of system 'a', got a second (topic '1')"),
        ({"qid": None}, "a.jsonl:2: has no topic"),
        (
            {"nuggets": [{"text": "x", "importance": "vital", "assignment": "support"}]},
            "a.jsonl:2: expected the nuggets and importance of the topic's first answer, got other"
            " ones (such as 'x') (topic '1')",
        ),
        (
            {"nuggets": [{"text": "fact 0", "importance": "vital", "assignment": "maybe"}]},
            "a.jsonl:2: support 'maybe' is not full, partial, none or",
        ),
        (
            {"nuggets": [{"text": "fact 0", "importance": "vital"}]},
            "a.jsonl:2: nugget 'fact 0' has no assignment (topic '1')",
        ),
    ],
)
def test_wrong_lines_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [record("1", "a", "v", "s"), {**record("1", "b", "v", "s"), **change}]
    Path("a.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    with pytest.raises(InputError) as error:
        read_nugget_assignments("a.jsonl")
    assert message in str(error.value)


def test_truncated_emoji() -> None:
    nugget = {"text": "born \ud83d", "importance": "vital", "assignment": "support"}
    with pytest.raises(InputError, match="row 1: nugget .* is not valid Unicode text"):
        read_nugget_assignments([{"qid": "q", "run_id": "a", "nuggets": [nugget]}])


def test_what_is_no_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    refuses(r"a\.jsonl:1: is not valid JSON", read_nugget_assignments, written(path, '{"qid": 1\n'))
    path.write_text("[1]\n")
    refuses(r"a\.jsonl:1: expected records .*, got a list", read_nugget_assignments, path)
    refuses("is empty", read_nugget_assignments, written(path, ""))
    refuses("int cannot be read", read_nugget_assignments, 3)


def test_arrays_and_retrieved_documents(tmp_path: Path) -> None:
    path = tmp_path / "assignments.json"
    path.write_text(json.dumps([record("1", "a", "vvo", "npn")]))
    assert read_nugget_assignments(path).systems == ("a",)
    retrieved = {**record("1", "a", "v", "s"), "docid": "d1", "candidate_text": "x"}
    path.write_text(json.dumps([retrieved]))
    refuses("assigned to retrieved documents", read_nugget_assignments, path)
    refuses(r"expected one of: \.json, \.js", read_nugget_assignments, tmp_path / "assignments.csv")


def test_runs_are_named_by_any_column_of_systems() -> None:
    rows = [record("1", "a", "vvo", "npn"), record("1", "b", "vvo", "nsn")]
    renamed = [{"system": row.pop("run_id"), **row} for row in rows]
    assert read_nugget_assignments(renamed).systems == ("a", "b")


def test_gold_nuggets_of_autonuggetizer(tmp_path: Path) -> None:
    path = tmp_path / "nuggets.jsonl"
    path.write_text(json.dumps(record("1", "a", "vo", "nn")) + "\n")
    judged = judge_answers({"a": {"1": ["fact 1"]}}, path)
    assert (judged.topics, judged.nuggets.ids) == (("1",), ("fact 0", "fact 1"))
    assert evaluate_answers(judged, "VitalScore").to_dict("a") == {"VitalScore": 0.0}
    with pytest.raises(InputError, match="expected nuggets with a text, got"):
        judge_answers({"a": {"1": []}}, [{"qid": "1", "nuggets": ["fact"]}])
