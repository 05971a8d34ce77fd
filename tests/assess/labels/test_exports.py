"""Exports of annotation tools, wide tables and labels in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


def _json(path: Path, data: list[Any], *, lines: bool = False) -> Path:
    path.write_text("\n".join(map(json.dumps, data)) if lines else json.dumps(data))
    return path


def test_label_studio(tmp_path: Path) -> None:
    path = _json(tmp_path / "export.json", LABEL_STUDIO)
    with pytest.warns(CranfieldWarning, match="1 skipped task excluded"):
        labels = read_labels(path, grades=WORDS)
    expected = [("q1", "d1", "1", 1), ("q1", "d1", "b@x.org", 0), ("q1", "d2", "2", 1)]
    assert _rows(labels) == expected
    with (
        pytest.warns(CranfieldWarning),
        pytest.raises(InputError, match=r"grade 'Relevant' .*grades=\{'Relevant': 1, "),
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
        ({"annotations": [_annotation(1, *[_result({"rating": 1})] * 2)]}, "answered twice"),
        ({"annotations": None}, "task '1': expected data and annotations"),
        ({"annotations": [_annotation(1)]}, "has no grade"),
    ],
)
def test_tasks_that_are_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    first = {"id": 0, "data": {"doc": "z"}, "annotations": [_annotation(1, _result({"rating": 1}))]}
    data = [first, {"id": 1, "data": {"doc": "x"}, **change}]
    with pytest.raises(InputError, match=words):
        read_labels(_json(tmp_path / "export.json", data))


def test_prodigy(tmp_path: Path) -> None:
    with pytest.warns(CranfieldWarning, match="1 skipped task excluded"):
        labels = read_labels(_json(tmp_path / "a.jsonl", PRODIGY, lines=True))
    assert _rows(labels) == [("q1", "d1", "ann", 2), ("q1", "d1", "bob", 0)]
    labels = read_labels(_json(tmp_path / "b.jsonl", BINARY, lines=True))
    assert _rows(labels) == [("all", "5", "ann", 1), ("all", "6", "ann", 0)]


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
    with pytest.raises(InputError, match="has no column 'Judge C' of worker_columns"):
        read_labels(path, worker_columns=["Judge C"])
    with pytest.raises(InputError, match="worker_columns="):
        read_labels(path)
    for wrong in ([], ["Judge A", "Judge A"]):
        with pytest.raises(PolicyError, match="worker_columns"):
            read_labels(path, worker_columns=wrong)
    with pytest.raises(PolicyError, match="worker_columns applies to one table"):
        read_labels({"a": path}, worker_columns=names)
    with pytest.raises(cf.CranfieldError, match="worker_columns"):
        read_labels(path, worker_columns="Judge A")
