"""Reading nuggets and answers: every form of input, and what is wrong with it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cranfield import evaluate_answers
from cranfield.base.errors import CranfieldWarning, InputError, MeasureError
from cranfield.sources.values import parse_number
from cranfield.texts import judge_answers, read_nuggets
from tests.collection.refusals import refuses, warns, written

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(missing and counted as 0|is 0 for every system|counted as empty)"
)

ROWS = [
    {"topic": "q1", "nugget": "a", "weight": 2, "vital_length": 5},
    {"topic": "q1", "nugget": "b", "weight": 1, "vital_length": 3},
    {"topic": "q2", "nugget": "a", "weight": 1, "vital_length": 4},
]


def test_nuggets_in_every_form(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS)
    (tmp_path / "n.csv").write_bytes(frame.write_csv().encode())
    (tmp_path / "n.tsv").write_bytes(frame.write_csv(separator="\t").encode())
    frame.write_parquet(tmp_path / "n.parquet")
    (tmp_path / "n.json").write_text(json.dumps(ROWS))
    (tmp_path / "n.jsonl").write_text("\n".join(map(json.dumps, ROWS)) + "\n\n")
    text = "".join(" ".join(map(str, row.values())) + " more\n" for row in ROWS)
    (tmp_path / "n.nuggets.gz").write_bytes(gzip.compress(text.encode()))
    nested: dict[str, dict[str, dict[str, Any]]] = {}
    for row in ROWS:
        rest = {key: row[key] for key in ("weight", "vital_length")}
        nested.setdefault(str(row["topic"]), {})[str(row["nugget"])] = rest
    forms = [
        *(tmp_path / f"n.{kind}" for kind in ("csv", "tsv", "parquet", "json", "jsonl")),
        tmp_path / "n.nuggets.gz",
        *(frame, frame.to_pandas(), frame.lazy()),
        *(ROWS, [tuple(row.values()) for row in ROWS], nested, read_nuggets(ROWS)),
    ]
    for form in forms:
        found = read_nuggets(form)
        assert (found.topics, found.ids) == (("q1", "q2"), ("a", "b", "a"))
        assert found.topic.tolist() == [0, 0, 1]
        assert found.weight.tolist() == [2, 1, 1]
        assert found.vital_length.tolist() == [5, 3, 4]


def test_answers_in_every_form(tmp_path: Path) -> None:
    rows = [
        {"topic": "q1", "system": "s", "nugget": "a", "position": 9, "length": 30},
        {"topic": "q1", "system": "s", "nugget": "b", "position": 20, "length": 30},
        {"topic": "q2", "system": "s", "nugget": None, "position": None, "length": 12},
    ]
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "a.csv")
    (tmp_path / "s").write_text("q1 syslen= 30\nq1 a 9\nq1 b 20\n\nq2 syslen= 12\n")
    nested = {"s": {"q1": {"nuggets": {"a": 9, "b": 20}, "length": 30}, "q2": {"text": "a" * 12}}}
    for form in (rows, frame, frame.to_pandas(), tmp_path / "a.csv", tmp_path / "s", nested):
        found = judge_answers(form, ROWS)
        assert found.systems == ("s",)
        assert found.length.tolist() == [[30], [12]]
        assert found.position.tolist() == [9, 20]
        assert found.is_answered.all()
    assert judge_answers(tmp_path / "s", ROWS, name="mine").systems == ("mine",)
    assert repr(found) == "JudgedAnswers(2 topics, 1 system, 2 matches)"


def test_topics_without_nuggets_are_counted() -> None:
    with pytest.warns(CranfieldWarning, match=r"answers to 1 topic without nuggets .*\('q9'\)"):
        found = judge_answers({"s": {"q9": [], "q1": ["a"]}}, ROWS)
    assert found.is_answered.tolist() == [[True], [False]]


def test_rows_of_an_answer_are_joined(tmp_path: Path) -> None:
    rows = [
        ("q1", "a", None, "full"),
        ("q1", None, 10, None),
        ("q1", None, None, None),
        ("q1", "b", None, "none"),
        *(("q9", None, length, None) for length in (1, 2)),
    ]
    names = ("topic", "nugget", "length", "support")
    table = [{"system": "s", **dict(zip(names, row, strict=True))} for row in rows]
    with pytest.warns(CranfieldWarning, match="answers to 1 topic without nuggets"):
        found = judge_answers(table, ROWS)
    assert (found.length[0, 0], found.is_answered.tolist()) == (10, [[True], [False]])
    assert (found.cell.tolist(), found.nugget.tolist(), found.support.tolist()) == ([0], [0], [1])
    reason = "row 7: the answer of 's' has two lengths, 10 and 20"
    refuses(reason, judge_answers, [*table, {**table[1], "length": 20}], ROWS)
    files = [tmp_path / name for name in ("one.csv", "two.csv")]
    for file in files:
        file.write_text("topic,system,nugget\nq1,s,a\n")
    reason = "two.csv:2: nugget 'a' is matched twice by system 's'"
    refuses(reason, judge_answers, files, ROWS)


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("n", "q1 a 3 5\nq1 a 2 5", "n:2: nugget 'a' occurs twice (topic 'q1')"),
        ("n", "q1 a -3 5", "n:1: weight '-3' is not a number of at least 0 (topic 'q1')"),
        ("n", "q1 a 3 -5", "n:1: vital length '-5' is not a number of at least 0 (topic 'q1')"),
        ("n", "q1 a 1e99 5", "n:1: weight '1e99' is not a number of at least 0 and at most 1e+15"),
        ("n", "q1 a 3 nan", "n:1: vital length 'nan' is not a number of at least 0 (topic 'q1')"),
        ("n", "\nq1 a 3", "n:2: expected 4 columns (topic nugget weight"),
        ("n", "", "n: is empty"),
        ("n", "q1 a 3 5\nq1 \xff 3 5", "n:2: is not UTF-8 text"),
        ("r", "q1 syslen= 5\nq1 x 3", "r:2: unknown gold nugget 'x' (topic 'q1')"),
        ("r", "q1 syslen= 5\nq9 a 3", "r:2: unknown gold nugget 'a' (topic 'q9')"),
        ("r", "q1 a 3\nq1 a 9", "r:2: nugget 'a' is matched twice by system 'r' (topic 'q1')"),
        ("r", "q1 syslen= -5", "r:1: length '-5' is not a number of at least 0 (topic 'q1')"),
        ("r", "q1 a -1", "r:1: position '-1' is not a number of at least 0 (topic 'q1')"),
        ("r", "q1 a 1_0", "r:1: position '1_0' is not a number of at least 0 (topic 'q1')"),
        (
            "r",
            "q1 syslen= 5\nq1 syslen= 6",
            "r:2: the answer of 'r' has two lengths, ",
        ),
        ("r", "q1", "r:1: expected 2 columns (topic nugget) in a line of answers, got 1"),
    ],
)
def test_wrong_lines_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, lines: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(lines.encode("latin-1"))
    with pytest.raises(InputError) as error:
        read_nuggets(name) if name == "n" else judge_answers(name, ROWS)
    assert str(error.value).startswith(message)


def test_wrong_data_is_an_input_error() -> None:
    nugget = {"topic": "q", "nugget": "a"}
    nuggets: list[Any] = [{"q": 3}, {}, [], 3, b"q a 1 2", ["q"], [{"topic": "q"}], "no such file"]
    nuggets += [{"q": {"a": "vital", "b": 2}}, {"q": {"a": 1, "b": {}}}]
    nuggets += [[nugget | {"importance": "great"}], [nugget | {"weight": True}]]
    nuggets.append(pl.DataFrame({"topic": ["q"], "weight": [1]}))
    for wrong in nuggets:
        refuses("", read_nuggets, wrong)
    answers: list[Any] = [{"s": 3}, {"s": {"q1": 3}}, {"s": {"q1": ["zz"]}}, {}, [], 3]
    for wrong in [*answers, {"s": {"q1": ["a", "a"]}}]:
        refuses("", judge_answers, wrong, ROWS)
    rows = [nugget | {"assessor": k, "weight": k} for k in (1, 2)]
    refuses("row 2: nugget 'a' has more than one weight", read_nuggets, rows)


def test_several_lists_of_a_topic_need_labels_throughout() -> None:
    refuses("nugget 'b' has no weight, but other nuggets", read_nuggets, {"q": {"a": 1, "b": {}}})
    # Votes do not replace a missing weight.
    rows = [("q", "a", None, "vital"), ("q", "b", 5, "okay"), ("r", "a", None, "vital")]
    table = [dict(zip(("topic", "nugget", "weight", "importance"), r, strict=True)) for r in rows]
    refuses("nugget 'a' has no weight, but other nuggets", read_nuggets, table)
    assert read_nuggets([{**table[0], "weight": 6}, *table[1:]]).weight.tolist() == [6, 5, 1]


def test_json_with_a_name_twice(tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text('[{"topic": "q", "topic": "r", "nugget": "a"}]')
    refuses("'topic' is repeated in an object", read_nuggets, tmp_path / "n.json")
    refuses("expected an array of nuggets", read_nuggets, written(tmp_path / "n.json", '{"q": 1}'))


def test_numbers() -> None:
    assert [parse_number(one) for one in ("٣", "1,5", b"1", [1], 10**400)] == [None] * 5


def test_scores_have_labels_and_names() -> None:
    judged = judge_answers({"s": {"q1": ["a"]}, "t": {"q2": ["a"]}}, ROWS)
    scores = evaluate_answers(judged, "WRecall")["WRecall"]
    assert (scores.topics, scores.systems, scores.measure) == (("q1", "q2"), ("s", "t"), "WRecall")
    assert scores.values.tolist() == [[pytest.approx(2 / 3), 0], [0, 1]]


def test_length_in_words_is_not_used() -> None:
    gold = {"q": {"a": "vital"}}
    for name, length in (("characters", 90), ("answer_length", 90), ("words", None)):
        rows = [
            {"topic": "q", "system": s, "nugget": "a", name: n} for s, n in (("a", 90), ("b", 80))
        ]
        if length is not None:
            assert judge_answers(rows, gold).length.tolist() == [[90, 80]]
            continue
        judged = warns(f"columns not used: '{name}'", judge_answers, rows, gold)
        with pytest.raises(MeasureError, match="requires the length of each answer"):
            evaluate_answers(judged, "NuggetPrecision")


def test_vital_nuggets_that_weigh_less_are_reported(recwarn: pytest.WarningsRecorder) -> None:
    def nuggets(*weights: float) -> Any:
        labels = ("vital", "vital", "okay")
        rows = zip("abc", weights, labels, strict=True)
        return {"q": {name: {"weight": w, "importance": label} for name, w, label in rows}}

    with pytest.warns(CranfieldWarning, match="1 vital nugget .'b'. with less weight than an okay"):
        assert read_nuggets(nuggets(3, 1, 2)).weight.tolist() == [3, 1, 2]
    recwarn.clear()
    read_nuggets(nuggets(3, 2, 2))
    read_nuggets(
        {"q": {"a": "vital", "b": "okay"}, "r": {"a": {"weight": 9, "importance": "okay"}}}
    )
    assert not recwarn.list


@pytest.mark.parametrize("column", ["covered", "is_match", "verdict", "grade", "score"])
def test_unread_labels_of_matches_are_refused(column: str) -> None:
    rows = [{"topic": "q", "system": "a", "nugget": str(k), column: k} for k in range(2)]
    with pytest.raises(InputError, match=f"'{column}' .* may be the support .* rename it to"):
        judge_answers(rows, {"q": ["0", "1"]})
    renamed = [{"support": row.pop(column), **row} for row in rows]
    judged = judge_answers(renamed, {"q": ["0", "1"]})
    assert evaluate_answers(judged, "NuggetRecall").to_dict("a") == {"NuggetRecall": 0.5}


@pytest.mark.parametrize("values", [("yes", "no"), (True, False), (1, 0)])
def test_vital_may_be_yes_or_no(values: tuple[Any, Any]) -> None:
    rows = [{"topic": "q", "nugget": str(k), "is_vital": value} for k, value in enumerate(values)]
    judged = judge_answers({"a": {"q": ["0"]}}, rows)
    assert evaluate_answers(judged, ["WRecall"]).to_dict("a") == {"WRecall": 1.0}
    with pytest.raises(InputError, match="'1' is not vital or okay; numbers require a column"):
        read_nuggets([{"topic": "q", "nugget": "n", "importance": 1}])
    with pytest.raises(InputError, match="expected importance or vital, got both"):
        read_nuggets([{**row, "importance": "okay"} for row in rows])
