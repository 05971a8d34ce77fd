"""Exports of annotation tools, wide tables and labels in words."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.assess import read_labels
from cranfield.base.errors import CranfieldWarning, InputError, PolicyError

WORDS = {"Relevant": 1, "Not relevant": 0}


def _result(value: dict[str, Any], question: str = "relevance") -> dict[str, Any]:
    return {"from_name": question, "to_name": "text", "type": [*value][0], "value": value}


def _annotation(worker: Any, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 1, "completed_by": worker, "result": [*results], **more}


LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"query": "q1", "doc_id": "d1", "text": "first"},
        "annotations": [
            _annotation(1, _result({"choices": ["Relevant"]})),
            _annotation({"id": 7, "email": "b@x.org"}, _result({"choices": ["Not relevant"]})),
        ],
    },
    {
        "id": 2,
        "data": {"query": "q1", "doc_id": "d2", "text": "second"},
        "annotations": [
            _annotation(1, was_cancelled=True),
            _annotation(2, _result({"choices": ["Relevant"]})),
        ],
    },
]
PRODIGY = [
    {"text": "first", "meta": {"query": "q1", "doc": "d1"}, "options": [{"id": 0}, {"id": 2}],
     "accept": [2], "answer": "accept", "_annotator_id": "ann", "_input_hash": 5},
    {"text": "second", "meta": {"query": "q1", "doc": "d2"}, "options": [{"id": 0}, {"id": 2}],
     "accept": [], "answer": "ignore", "_annotator_id": "ann", "_input_hash": 6},
    {"text": "first", "meta": {"query": "q1", "doc": "d1"}, "options": [{"id": 0}, {"id": 2}],
     "accept": [0], "answer": "accept", "_session_id": "bob", "_input_hash": 5},
]  # fmt: skip
BINARY = [
    {"text": "a", "label": "REL", "answer": "accept", "_annotator_id": "ann", "_input_hash": 5},
    {"text": "b", "label": "REL", "answer": "reject", "_annotator_id": "ann", "_input_hash": 6},
]


def _rows(labels: Any) -> list[tuple[Any, ...]]:
    return list(labels.to_polars().select("topic", "doc", "worker", "grade").rows())


def _json(path: Path, data: Any, *, lines: bool = False) -> Path:
    path.write_text("\n".join(map(json.dumps, data)) if lines else json.dumps(data))
    return path


def test_label_studio(tmp_path: Path) -> None:
    path = _json(tmp_path / "export.json", LABEL_STUDIO)
    with pytest.warns(CranfieldWarning, match="1 skipped or unsubmitted answer excluded"):
        labels = read_labels(path, grades=WORDS)
    expected = [("q1", "d1", "1", 1), ("q1", "d1", "b@x.org", 0), ("q1", "d2", "2", 1)]
    assert _rows(labels) == expected
    with (
        pytest.warns(CranfieldWarning),
        pytest.raises(InputError, match=r"grade 'Relevant' .*grades=\{'Relevant': GRADE, "),
    ):
        read_labels(path)


def test_questions_of_label_studio_are_columns(tmp_path: Path) -> None:
    both = [_result({"rating": 3}, "quality"), _result({"choices": ["2"]}, "usefulness")]
    data = [{"id": 4, "data": {"text": "x"}, "annotations": [_annotation(1, *both)]}]
    path = _json(tmp_path / "export.json", data)
    for question, grade in (("quality", 3), ("usefulness", 2)):
        labels = read_labels(path, columns={"grade": question})
        assert _rows(labels) == [("all", "4", "1", grade)]
    with pytest.raises(InputError, match="no grade column.*'quality', 'u"):
        read_labels(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"annotations": [_annotation(1, _result({"choices": ["a", "b"]}))]}, "expected one label"),
        (
            {"annotations": [_annotation(1, *[_result({"rating": 1})] * 2)]},
            "two answers by one worker; write a task for each document",
        ),
        ({"annotations": None}, "task '1': expected data and a list of annotations, got "),
        ({"annotations": [_annotation(1)]}, "has no grade"),
        ({"annotations": [3]}, "task '1': expected a record in annotations, got '3'"),
        ({"annotations": [{"result": 3}]}, "task '1': expected a list in result, got '3'"),
        ({"annotations": [{"result": [{"value": "rating"}]}]}, "expected a record in value"),
    ],
)
def test_tasks_that_are_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    first = {"id": 0, "data": {"doc": "z"}, "annotations": [_annotation(1, _result({"rating": 1}))]}
    data = [first, {"id": 1, "data": {"doc": "x"}, **change}]
    with pytest.raises(InputError, match=words):
        read_labels(_json(tmp_path / "export.json", data))


def test_json_of_workers_is_read_as_in_memory(tmp_path: Path) -> None:
    grades = {"ann": {"1": {"a": 2, "b": 0}}, "bob": {"1": {"a": 1}, "2": {"c": 0}}}
    workers = _json(tmp_path / "workers.json", grades)
    assert _rows(read_labels(workers)) == _rows(read_labels(grades))
    files = {name: _json(tmp_path / f"{name}.json", topics) for name, topics in grades.items()}
    assert _rows(read_labels(files)) == _rows(read_labels(grades))
    deep = {"ann": {"q1": {"d1": {"label": "2"}}}}
    for data, message in (
        ({}, "expected an array of labels"),
        (grades["ann"], "no worker column"),
        (deep, "is not an integer"),
        ({"ann": {"q1": {"d1": {"a": {"b": 1}}}}}, "is not an integer"),
    ):
        with pytest.raises(InputError, match=message):
            read_labels(_json(workers, data))
    assert _rows(read_labels(_json(workers, deep), grades=r"(\d)")) == [("q1", "d1", "ann", 2)]


def test_prodigy(tmp_path: Path) -> None:
    with pytest.warns(CranfieldWarning, match="1 skipped or unsubmitted answer excluded"):
        labels = read_labels(_json(tmp_path / "a.jsonl", PRODIGY, lines=True))
    assert _rows(labels) == [("q1", "d1", "ann", 2), ("q1", "d1", "bob", 0)]
    labels = read_labels(_json(tmp_path / "b.jsonl", BINARY, lines=True))
    assert _rows(labels) == [("all", "5", "ann", 1), ("all", "6", "ann", 0)]
    # Some tools keep only the name of the annotator.
    short = [{**task, "doc": k} for k, task in enumerate(BINARY)]
    short = [{k: v for k, v in task.items() if k != "_input_hash"} for task in short]
    labels = read_labels(_json(tmp_path / "c.jsonl", short, lines=True))
    assert _rows(labels) == [("all", "0", "ann", 1), ("all", "1", "ann", 0)]


def test_doccano(tmp_path: Path) -> None:
    for name, grades in (("ann", "20"), ("bob", "10")):
        data = [
            {"id": k, "text": "x", "label": [grade], "Comments": []}
            for k, grade in enumerate(grades, 1)
        ]
        _json(tmp_path / f"{name}.jsonl", data, lines=True)
    labels = read_labels({name: tmp_path / f"{name}.jsonl" for name in ("ann", "bob")})
    assert [row[1:] for row in _rows(labels)] == [
        ("1", "ann", 2), ("2", "ann", 0), ("1", "bob", 1), ("2", "bob", 0),
    ]  # fmt: skip
    wrong = _json(tmp_path / "c.jsonl", [{"id": 1, "label": ["1"]}, {"id": 2, "label": ["x"]}])
    wrong.write_text('{"id": 1, "label": ["1"]}\n\n{"id": 2, "label": ["x"]}\n')
    with pytest.raises(InputError, match=r"c\.jsonl:3: grade 'x'"):
        read_labels({"c": wrong})


def test_a_column_for_each_worker(tmp_path: Path) -> None:
    path = tmp_path / "book.csv"
    path.write_text("query,docid,Judge A,Judge B\nsocks,d1,2,3\nsocks,d2,0,\nsocks,d3,,oops\n")
    names = ["Judge A", "Judge B"]
    with pytest.raises(InputError, match=r"book\.csv:4: grade 'oops'"):
        read_labels(path, worker_columns=names)
    words = {"oops": 9, "0": 0, "2": 2, "3": 3}
    labels = read_labels(path, worker_columns=names, grades=words)
    assert _rows(labels) == [
        ("socks", "d1", "Judge A", 2), ("socks", "d1", "Judge B", 3), ("socks", "d2", "Judge A", 0),
        ("socks", "d3", "Judge B", 9),
    ]  # fmt: skip
    with pytest.raises(InputError, match="worker_columns: unknown column 'Judge C'"):
        read_labels(path, worker_columns=["Judge C"])
    with pytest.raises(InputError, match="worker_columns: unknown column ''"):
        read_labels(path, worker_columns=[""])
    with pytest.raises(InputError, match="worker_columns="):
        read_labels(path)
    for wrong in ([], ["Judge A", "Judge A"]):
        with pytest.raises(PolicyError, match="worker_columns"):
            read_labels(path, worker_columns=wrong)
    with pytest.raises(PolicyError, match="worker_columns applies to one table"):
        read_labels({"a": path}, worker_columns=names)
    with pytest.raises(cf.CranfieldError, match="worker_columns"):
        read_labels(path, worker_columns="Judge A")


def test_mturk_batch(tmp_path: Path) -> None:
    """Two HITs of two workers, who agree on one of them; observed agreement 0.5."""
    head = "HITId,AssignmentId,WorkerId,AssignmentStatus,Input.topic,Input.docid,Answer.relevance"
    rows = ["H1,A1,w1,Approved,q1,d1,2", "H1,A2,w2,Approved,q1,d1,1"]
    rows += ["H2,A3,w1,Approved,q1,d2,0", "H2,A4,w2,Approved,q1,d2,0"]
    path = tmp_path / "batch.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    with pytest.warns(CranfieldWarning, match="columns not used: 'HITId', 'AssignmentId'"):
        labels = read_labels(path)
    expected = [("q1", "d1", "w1", 2), ("q1", "d1", "w2", 1)]
    assert _rows(labels) == [*expected, ("q1", "d2", "w1", 0), ("q1", "d2", "w2", 0)]
    agreement = cf.assess.agreement_of(labels, "observed", interval="none")
    assert agreement.to_polars()["value"].to_list() == [0.5]
    # Rejected assignments do not count, and are not dropped silently.
    path.write_text("\n".join([head, *rows]).replace("w2,Approved", "w2,Rejected"))
    with pytest.raises(InputError, match="'AssignmentStatus' .'Approved', 'Rejected'."):
        read_labels(path)


def test_toloka_pool(tmp_path: Path) -> None:
    path = tmp_path / "pool.tsv"
    names = ["INPUT:query", "INPUT:docid", "OUTPUT:result", "GOLDEN:result", "ASSIGNMENT:worker_id"]
    rows = [[*names, "ASSIGNMENT:status"], ["q", "d", "1", "", "w1", "APPROVED"]]
    rows += [[], ["q", "d", "0", "", "w2", "APPROVED"]]
    path.write_text("\n".join("\t".join(row) for row in rows))
    labels = read_labels(path, columns={"grade": "result"})
    assert _rows(labels) == [("q", "d", "w1", 1), ("q", "d", "w2", 0)]
    path.write_text(path.read_text().replace("w2\tAPPROVED", "w2\tREJECTED"))
    with pytest.raises(InputError, match="'ASSIGNMENT:status' .'APPROVED', 'REJECTED'."):
        read_labels(path, columns={"grade": "result"})


def test_columns_of_workers_without_documents(tmp_path: Path) -> None:
    """A matrix of ratings of R: a row for each unit."""
    path = tmp_path / "ratings.csv"
    path.write_text("rater1,rater2\n1,1\n2,\n0,1\n")
    labels = read_labels(path, worker_columns=["rater1", "rater2"])
    first = [("all", "1", "rater1", 1), ("all", "1", "rater2", 1), ("all", "2", "rater1", 2)]
    assert _rows(labels) == [*first, ("all", "3", "rater1", 0), ("all", "3", "rater2", 1)]


FIELDS = {"query": "q", "docid": "d"}
ARGILLA = {
    "nested": {
        **{"id": "r", "status": "pending", "fields": FIELDS, "metadata": {}, "suggestions": {}},
        "responses": {"rel": [{"user_id": "u1", "value": 2}, {"user_id": "u2", "value": 0}]},
    },
    "flat": {
        **{"id": "r", "status": "pending", **FIELDS, "rel.suggestion": 1},
        **{"rel.responses": [2, 0, 1], "rel.responses.users": ["u1", "u2", "u3"]},
        "rel.responses.status": ["submitted", "submitted", "discarded"],
    },
    "columns of version 1": {
        **{"id": "r", **FIELDS, "rel-suggestion": 1},
        "rel": [
            {"user_id": "u1", "value": 2, "status": "submitted"},
            {"user_id": "u2", "value": 0, "status": "submitted"},
            {"user_id": "u3", "value": 1, "status": "draft"},
        ],
    },
    "records of version 1": {
        **{"id": "r", "fields": FIELDS},
        "responses": [
            {"user_id": "u1", "status": "submitted", "values": {"rel": {"value": 2}}},
            {"user_id": "u2", "status": "submitted", "values": {"rel": {"value": 0}}},
            {"user_id": "u3", "status": "discarded", "values": {"rel": {"value": 1}}},
        ],
    },
}


@pytest.mark.parametrize("form", ARGILLA)
def test_argilla(form: str, tmp_path: Path) -> None:
    """Responses that are drafts or discarded are not labels."""
    path = tmp_path / "records.json"
    unanswered = {"id": "s", "fields": {"query": "q", "docid": "e"}, "responses": {}}
    path.write_text(json.dumps([unanswered, ARGILLA[form]]))
    skipped = "1 skipped or unsubmitted answer excluded"
    with nullcontext() if form == "nested" else pytest.warns(CranfieldWarning, match=skipped):
        labels = read_labels(path)
    assert _rows(labels) == [("q", "d", "u1", 2), ("q", "d", "u2", 0)]


def test_doccano_with_users_or_names(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    label = {"label": "2", "user": 3}
    row = {"id": 1, "text": "a", "annotations": [label, {**label, "user": 4}], "meta": {}}
    path.write_text(json.dumps(row) + "\n")
    assert _rows(read_labels(path)) == [("all", "1", "3", 2), ("all", "1", "4", 2)]
    # Before version 1.5, labels are keys of the database of doccano.
    row["annotations"] = [{"label": key, "user": key} for key in (12, 13)]
    path.write_text(json.dumps(row) + "\n")
    for grades in (None, {12: 0, 13: 1}):
        with pytest.raises(InputError, match="no grade column .*; columns: .*, 'label_id'"):
            read_labels(path, grades=grades)
    labels = read_labels(path, columns={"grade": "label_id"}, grades={12: 0, 13: 1})
    assert _rows(labels) == [("all", "1", "12", 0), ("all", "1", "13", 1)]
    path.write_text('{"id":1,"text":"a","label":["2"],"username":"ann"}\n')
    assert _rows(read_labels(path)) == [("all", "1", "ann", 2)]


def test_kili(tmp_path: Path) -> None:
    def label(email: str, name: str, **more: Any) -> dict[str, Any]:
        response = {"JOB": {"categories": [{"name": name, "confidence": 100}]}}
        return {"author": {"email": email}, "jsonResponse": response, **more}

    assets = [
        {
            "id": "c1",
            "externalId": "d1",
            "jsonMetadata": {"query_id": "q1"},
            "labels": [
                label("ann@x.org", "NO", isLatestLabelForUser=False),
                label("ann@x.org", "YES", isLatestLabelForUser=True),
                label("bob@x.org", "NO", labelType="REVIEW"),
                label("model@x.org", "NO", labelType="PREDICTION"),
            ],
        }
    ]
    path = tmp_path / "kili.json"
    path.write_text(json.dumps(assets))
    with pytest.warns(CranfieldWarning, match="1 skipped or unsubmitted answer excluded"):
        labels = read_labels(path, grades={"YES": 1, "NO": 0})
    assert _rows(labels) == [("q1", "d1", "ann@x.org", 1), ("q1", "d1", "bob@x.org", 0)]


def test_cut_points_and_patterns(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("doc,worker,grade\na,x,0.9\na,y,0.5\nb,x,0.1\n")
    with pytest.raises(InputError, match=r"ratings.csv:2: grade '0.9' .* maps real numbers"):
        read_labels(path)
    labels = read_labels(path, grades=[0.5, 0.8])
    assert [row[3] for row in _rows(labels)] == [2, 1, 0]
    assert labels.grades.tolist() == [0, 1, 2]
    path.write_text("doc,worker,grade\na,x,I say 7: score: 2\nb,x,score: 0\nc,x,1\n")
    assert [row[3] for row in _rows(read_labels(path, grades=r"score: (\d)"))] == [2, 0, 1]
    path.write_text("doc,worker,grade\na,x,score: 2 or score: 1\n")
    with pytest.raises(InputError, match="must match one integer in .*got several"):
        read_labels(path, grades=r"score: (\d)")
    rated = _json(
        tmp_path / "ratings.json", [{"doc": "a", "worker": "x", "grade": [{"rating": 3}]}]
    )
    with pytest.raises(InputError, match=r"grades='\(\\d\+\)' extracts the number"):
        read_labels(rated)
    assert [row[3] for row in _rows(read_labels(rated, grades=r"(\d+)"))] == [3]
    for pattern, message in (
        (r"score: (", "regular expression"),
        (r"(a)(b)", "one group"),
        (r"score: \d", r"must be a mapping .* got 'score: "),
    ):
        with pytest.raises(PolicyError, match=message):
            read_labels(path, grades=pattern)


def test_a_frame_of_ratings_with_ids() -> None:
    """A Quepid book: the judges agree on one of the two documents that both rated."""
    frame = pl.DataFrame(
        {"query": ["q", "q", "r"], "docid": ["a", "b", "c"], "Ann": [3, 0, 1], "Bob": [2, 0, None]}
    )
    agreement = cf.assess.agreement_of(frame, "observed", interval="none")
    row = agreement.to_polars().row(0, named=True)
    assert (row["value"], row["assessors"]) == (0.5, "Ann, Bob")
