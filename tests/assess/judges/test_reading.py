"""Label sets from files and from memory, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import InputError
from tests.cli.running import cranfield

PEOPLE = {"q1": {"a": 0, "b": 3}, "q2": {"a": 1}}
LINES = "q1 0 a 1\nq1 0 b  3 \nq2\t0\ta\t2\n"
ROWS = [("q1", "a", 1), ("q1", "b", 3), ("q2", "a", 2)]


def record(topic: str, doc: str, grade: object, status: object = 1) -> dict[str, object]:
    """Make an answer as UMBRELA writes it."""
    texts = {"query": f"text of {topic}", "passage": "a passage", "doc": {"segment": "a passage"}}
    answer = {"model": "gpt", "prediction": f"##final score: {grade}", "judgment": grade}
    return {"qid": topic, "docid": doc, **texts, **answer, "result_status": status}


def as_json_lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def of(judge: cf.assess.Judge) -> list[tuple[str, str, int]]:
    return judge.labels.to_polars().select("topic", "doc", "grade").rows()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.txt").write_text(LINES)
    rows = [record(*row) for row in ROWS]
    rows.insert(1, record("q1", "x", 0, 0))
    (tmp_path / "two.jsonl").write_text(as_json_lines(rows))
    (tmp_path / "three.csv").write_text(
        "query_id,doc_id,relevance\n" + "".join(f"{t},{d},{g}\n" for t, d, g in ROWS)
    )
    return tmp_path


def test_files_of_a_folder_are_read_in_order_of_name(folder: Path) -> None:
    judges = cf.assess.read_judges(folder)
    assert [one.name for one in judges] == ["one", "three", "two"]
    assert [of(one) for one in judges] == [ROWS] * 3
    assert [one.n_unparsed for one in judges] == [0, 0, 1]
    assert repr(judges[2]) == "Judge('two': 3 labels, 1 unparsed)"


def test_names_and_patterns(folder: Path) -> None:
    given = [f"mine={folder}/one.txt", f"{folder}/t*"]
    assert [one.name for one in cf.assess.read_judges(given)] == ["mine", "three", "two"]
    with pytest.raises(cf.PolicyError, match="two judges have the name 'one'; set distinct"):
        cf.assess.read_judges([folder, folder / "one.txt"])
    with pytest.raises(cf.PolicyError, match="at least one judge"):
        cf.assess.read_judges([])


@pytest.mark.parametrize(
    "labels",
    [
        ROWS,
        {"q1": {"a": 1, "b": 3}, "q2": {"a": 2}},
        pl.DataFrame(ROWS, schema=["topic", "doc", "grade"], orient="row"),
        cf.read_qrels(ROWS),
        [record(*row) for row in ROWS],
    ],
)
def test_labels_in_memory(labels: object) -> None:
    [alone] = cf.assess.read_judges(labels)
    [named] = cf.assess.read_judges({"llm": labels})
    assert of(alone) == of(named) == ROWS
    assert (alone.name, named.name) == ("judge", "llm")
    assert cf.assess.read_judges([named]) == (named,)


@pytest.mark.parametrize("absent", [None, "", float("nan")])
def test_an_answer_without_a_grade_is_no_grade_0(absent: object) -> None:
    rows = [record("q1", "a", 0), record("q1", "b", absent), record("q2", "a", 0, 0)]
    [judge] = cf.assess.read_judges({"llm": rows})
    assert (of(judge), judge.n_unparsed) == ([("q1", "a", 0)], 2)
    found = cf.assess.compare_judges(PEOPLE, judge)
    row = found.to_polars().row(0, named=True)
    assert (row["pairs"], row["missing"], row["unparsed"], row["agreement"]) == (1, 2, 2, 1)


@pytest.mark.parametrize("name", ["model", "Judge", "model_name"])
def test_labels_of_several_judges_are_not_those_of_one(name: str) -> None:
    rows = [{"topic": "q", "doc": doc, "grade": 1, name: of} for doc, of in ("ax", "by")]
    with pytest.raises(cf.InputError, match=f"column '{name}' .'x', 'y'. may be the judge of rows"):
        cf.assess.read_judges({"llm": rows})
    [judge] = cf.assess.read_judges({"llm": [{**row, name: "x"} for row in rows]})
    assert len(judge.labels) == 2


@pytest.mark.parametrize("status", ["oops", 0.5])
def test_a_status_that_says_nothing_is_no_parsed_answer(status: object) -> None:
    rows = [record("q1", "a", 0), record("q1", "b", 0) | {"result_status": status}]
    with pytest.raises(cf.InputError, match="result_status '.*' is not an integer"):
        cf.assess.read_judges({"llm": rows})


@pytest.mark.parametrize(("status", "docs"), [(True, "ab"), ("False", "a"), ("1", "ab"), (0, "a")])
def test_a_status_may_be_true_or_false_among_ones(status: object, docs: str) -> None:
    rows = [record("q1", "a", 0), record("q1", "b", 0) | {"result_status": status}]
    [judge] = cf.assess.read_judges({"llm": rows})
    assert of(judge) == [("q1", doc, 0) for doc in docs]


def test_an_answer_that_was_asked_for_again_is_one_label() -> None:
    rows = [record("q1", "a", 0, 0), record("q1", "a", 2)]
    [judge] = cf.assess.read_judges({"llm": rows})
    assert of(judge) == [("q1", "a", 2)]


PROMPTS = {"v0": None, "v1": 2, "v2": 1}


@pytest.mark.filterwarnings("ignore:.*columns not used")
@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("x.txt", "q1 0 a 5\n", "x.txt:1: grade 5 is outside the scale 0 to 3"),
        ("x.txt", "q1 0 a 1\n\nq1 0 b -1\n", "x.txt:3: grade -1 is outside the scale 0 to 3"),
        ("x.txt", "q1 0 a 1.5\n", "x.txt:1: grade '1.5' is not an integer"),
        ("x.txt", "q1 0 a NaN\n", "x.txt:1: grade 'NaN' is not an integer"),
        ("x.txt", "q1 0 a 1\nq1 0 a 2\n", "x.txt:2: document judged twice"),
        (
            "x.jsonl",
            as_json_lines(
                [record("q1", "a", grade) | {"prompt": name} for name, grade in PROMPTS.items()]
            ),
            "x.jsonl:3: document judged twice in one topic, first in line 2; column 'prompt'"
            " distinguishes them (2 values: 'v1', 'v2')",
        ),
        ("x.txt", "q1 a\n", "x.txt:1: expected 4 columns"),
        ("x.txt", "q7 0 a 1\n", "first label is of ('q7', 'a')"),
        ("x.txt", "", "x.txt: is empty"),
        ("x.csv", ",,,\n", "x.csv: is empty"),
        ("x.csv", "\x1f", "x.csv: is empty"),
        ("x.csv", "topic,doc,grade\n", "x.csv: is empty"),
        ("x.jsonl", as_json_lines([record("q1", "a", 1), record("q1", "b", 9)]), ":2: grade 9 is"),
        ("x.jsonl", as_json_lines([record("q1", "a", 2.5)]), ":1: grade '2.5' is not an integer"),
        ("x.jsonl", as_json_lines([record("q1", "a", "x")]), ":1: grade 'x' is not an integer"),
        ("x.jsonl", as_json_lines([record("q1", "a", 0, 0)]), "got 1 answer without a grade"),
        ("x.jsonl", '{"qid": "q1"}\n', "x.jsonl: has no doc column"),
        ("x.jsonl", "{", "x.jsonl:1: "),
        ("x.csv", "topic,doc,grade\nq1,a,1\nq1,b,7\n", "x.csv:3: grade 7 is outside the scale"),
    ],
)
def test_what_is_refused_names_file_and_line(
    tmp_path: Path, name: str, text: str, wrong: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(cf.CranfieldError) as error:
        cf.assess.compare_judges(PEOPLE, tmp_path / name)
    assert wrong in str(error.value)
    assert "\n" not in str(error.value)


def test_grades_off_the_scale_are_cut_when_asked_for() -> None:
    judge = {"llm": {"q1": {"a": -1, "b": 10}, "q2": {"a": 1}}}
    with pytest.raises(cf.InputError, match="use clip=True to clip grades"):
        cf.assess.compare_judges(PEOPLE, judge)
    found = cf.assess.compare_judges(PEOPLE, judge, clip=True)
    assert found.to_polars()["clipped"].to_list() == [2]
    assert found.to_polars()["agreement"].to_list() == [1.0]
    assert found.notes[0] == "llm: 2 grades outside the scale 0 to 3 clipped to it"
    shifted = {"llm": {"q1": {"a": 1, "b": 4}, "q2": {"a": 2}}}
    notes = cf.assess.compare_judges(PEOPLE, shifted, clip=True).notes
    assert notes[1].startswith("llm: grades 1 to 4 may be on another scale than 0")
    wider = cf.assess.compare_judges(PEOPLE, {"llm": {"q1": {"b": 10}}}, scale="0..10")
    assert wider.scale == tuple(range(11))
    assert wider.statistics[1] == "kappa 0|1"


def test_grades_of_people_are_held_to_a_declared_scale() -> None:
    judge = {"llm": {"q1": {"a": 1, "b": 1}}}
    with pytest.raises(cf.InputError, match="grade 3 is outside the scale 0 to 1 that"):
        cf.assess.compare_judges(PEOPLE, judge, scale=(0, 1))
    assert cf.assess.compare_judges(PEOPLE, judge, scale=(0, 1), clip=True).scale == (0, 1)


def test_ids_of_any_kind(tmp_path: Path) -> None:
    long = "d" * 100_000
    people = {"É": {long: 1, "ü": 0}, "007": {"7": 1}, "7": {"7": 0}}
    text = f"É 0 {long} 1\nÉ 0 ü 0\n007 0 7 1\n7 0 7 0\n"
    (tmp_path / "x.txt").write_text(text)
    found = cf.assess.compare_judges(people, tmp_path / "x.txt")
    assert found.to_polars()["pairs"].to_list() == [4]
    assert found.to_polars()["kappa"].to_list() == [1.0]


def test_answers_as_words_and_texts(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    rows = [("q1", "a", "##final score: 2", 1), ("q1", "b", "?", 0), ("q2", "a", "1", 1)]
    path.write_text(as_json_lines([record(*row) for row in rows]))
    [judge] = cf.assess.read_judges(path, grades=r"score: (\d)")
    assert (of(judge), judge.n_unparsed) == ([("q1", "a", 2), ("q2", "a", 1)], 1)
    path.write_text(as_json_lines([record("q1", "a", "score: 1"), record("q1", "b", "none")]))
    [judge] = cf.assess.read_judges(path, grades=r"score: (\d)")
    assert (of(judge), judge.n_unparsed) == ([("q1", "a", 1)], 1)
    with pytest.raises(InputError, match="judge.jsonl: .* got none that grades="):
        cf.assess.read_judges(path, grades=r"grade: (\d)")
    path.write_text(as_json_lines([record("q1", "a", "Relevant"), record("q1", "b", "No")]))
    [judge] = cf.assess.read_judges(path, grades={"Relevant": 2, "No": 0})
    assert of(judge) == [("q1", "a", 2), ("q1", "b", 0)]
    people = tmp_path / "people.qrels"
    people.write_text("q1 0 a 2\nq1 0 b 0\n")
    (tmp_path / "s.yml").write_text("map-grades: {Relevant: 2, 'No': 0}\n")
    options = ["--settings", str(tmp_path / "s.yml"), "--table", "agreement", "--format", "csv"]
    out, _ = cranfield(tmp_path, "judges", str(people), str(path), *options)
    assert out.splitlines()[1].startswith("judge,2,2,0,0,0,0,0,1.0")


def test_a_map_of_some_grades_of_people(tmp_path: Path) -> None:
    """A map of 1..3 to 0..2 for a judge must not change two of the three grades of people."""
    (tmp_path / "people.qrels").write_text("q 0 a 2\nq 0 b 1\nq 0 c 0\n")
    (tmp_path / "llm.qrels").write_text("q 0 a 3\nq 0 b 2\nq 0 c 1\n")
    (tmp_path / "s.yml").write_text("map-grades: {1: 0, 2: 1, 3: 2}\n")
    command = ("judges", "people.qrels", "llm.qrels", "--settings", "s.yml", "-f", "csv")
    _, error = cranfield(tmp_path, *command, status=2)
    assert "but does not contain '0'; map all grades" in error
    (tmp_path / "people.qrels").write_text("q 0 a 3\nq 0 b 2\nq 0 c 1\n")
    out, _ = cranfield(tmp_path, *command, "--table", "agreement")
    assert out.splitlines()[1].startswith("llm,3,3,0,0,0,0,0,1.0")


def test_records_of_umbrela_without_ids(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    row = record("q1", "a", 2)
    path.write_text(as_json_lines([{k: row[k] for k in ("query", "passage", "judgment")}]))
    with pytest.raises(InputError, match="judge.jsonl: expected ids .* output of UMBRELA"):
        cf.assess.read_judges(path)


@pytest.mark.parametrize(
    "answer",
    [
        {"id": "r", "custom_id": "p", "response": {"body": {}}, "error": None},
        {"custom_id": "p", "result": {"type": "succeeded", "message": {"content": []}}},
        {"key": "p", "response": {"candidates": []}},
        {"id": "p", "text": "2"},
    ],
)
def test_answers_to_prompts_are_not_labels(tmp_path: Path, answer: dict[str, Any]) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_text(as_json_lines([answer]))
    with pytest.raises(InputError, match="batch.jsonl: .* `cranfield prompts PROMPTS ANSWERS`"):
        cf.assess.read_judges(path)


def test_answers_without_a_grade_are_noted_for_each_unit() -> None:
    people = {f"q{t}": {"a": t % 2, "b": 1, "c": 0} for t in range(8)}
    rows = [
        {"topic": topic, "doc": doc, "grade": None if topic == "q3" and doc == "c" else 1}
        for topic in people
        for doc in "abc"
    ]
    run = {topic: {"a": 3.0, "b": 2.0, "c": 1.0} for topic in people}
    options: Any = {"lambda_": 0.5}
    topic = cf.assess.ppi_scores({"r": run}, people, {"llm": rows}, "P@3", **options)
    assert any(note.startswith("1 answer of llm without a grade") for note in topic.notes)
    judgments = [(t, d, g, 1.0) for t, row in people.items() for d, g in row.items()]
    sample = pl.DataFrame(judgments, ["topic", "doc", "grade", "inclusion"], orient="row")
    options["unit"] = "document"
    document = cf.assess.ppi_scores({"r": run}, sample, {"llm": rows}, "P@3", **options)
    note = "counted as grade 0; answers of llm without a grade: 1"
    assert any(note in text for text in document.notes)
    for call in (
        lambda: cf.assess.ppi_grades(people, {"llm": rows}),
        lambda: cf.assess.ppi_scores({"r": run}, people, {"llm": rows}, "P@3", **options),
    ):
        with pytest.raises(InputError, match="answers of llm without a grade: 1"):
            call()


def test_a_boolean_status_is_not_a_grade(recwarn: pytest.WarningsRecorder) -> None:
    rows = [record("q1", "a", 2), record("q1", "b", 0)]
    rows = [row | {"result_status": value} for row, value in zip(rows, (True, False), strict=True)]
    [judge] = cf.assess.read_judges({"llm": rows})
    assert (judge.labels.grades.tolist(), judge.n_unparsed) == ([2], 1)
    assert not recwarn.list
    with pytest.warns(cf.CranfieldWarning, match="grades are Boolean"):
        cf.assess.read_judges({"llm": [row | {"judgment": True} for row in rows]})
