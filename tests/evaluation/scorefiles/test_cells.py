"""Numbers as they are written, and what separates them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.base.errors import InputError
from tests.collection.refusals import refuses
from tests.evaluation.scorefiles.files import read


@pytest.mark.filterwarnings("ignore:.*outside its range")
@pytest.mark.parametrize(
    ("cell", "score"),
    [
        *(("1e5", "100000.0"), (" 1.0 ", "1.0"), ("-.5", "-0.5"), ("+1.", "1.0")),
        *(("nan", "nan"), ("NaN", "nan"), ("", "nan"), ("N/A", "nan"), ("-", "nan")),
    ],
)
def test_numbers(cell: str, score: str, tmp_path: Path) -> None:
    both = f"[[{score}], [0.0]]"
    assert str(read(f"topic,a\nq1,{cell}\nq2,0\n", tmp_path).values.tolist()) == both
    if cell.strip():
        text = f"map\tq1\t{cell}\nmap\tq2\t0\n"
        assert str(read(text, tmp_path, "s.eval").values.tolist()) == both


@pytest.mark.parametrize("column", ["topic", "system"])
def test_a_label_that_is_a_list_is_refused(column: str, tmp_path: Path) -> None:
    row = {"topic": "q1", "system": "a", "score": 1}
    rows = [row, row | {"topic": "q2"} | {column: ["x"]}]
    lines = "\n".join(map(json.dumps, rows))
    for text, place in ((json.dumps(rows), "s.json"), (lines, "s.jsonl:2")):
        with pytest.raises(InputError, match=f"{place}: {column} .* is not text or a number"):
            read(text, tmp_path, place.split(":")[0])


@pytest.mark.parametrize(
    "cell", ["1_0", "inf", "-Infinity", "1e999", "٣", "0x1", "1e", "−1", "1 0"]
)
def test_what_is_no_number(cell: str, tmp_path: Path) -> None:
    for text, name in (
        (f"topic,a\nq1,0\nq2,{cell}\n", "s.csv"),
        (f"topic,system,score\nq1,a,0\nq2,a,{cell}\n", "s.csv"),
        (f"map\tq1\t0\nmap\tq2\t{cell}\n", "s.eval"),
        (f'{{"topic": "q1", "a": 0}}\n\n{{"topic": "q2", "a": "{cell}"}}', "s.jsonl"),
    ):
        refuses(r":[23]: score .* is not a finite number .topic 'q2'", read, text, tmp_path, name)
    refuses("is not a finite number", cf.read_scores, {"a": {"q1": cell}})


def test_a_separator_declared_for_excel(tmp_path: Path) -> None:
    for mark in ",;":
        text = f"sep={mark}\ntopic,a,b\nq1,0.5,1\n".replace(",", mark)
        assert read(text, tmp_path).values.tolist() == [[0.5, 1]]
    (tmp_path / "q.csv").write_text("sep=,\ntopic,doc,grade\nq1,d1,x\n")
    refuses("q.csv:3: grade 'x'", cf.read_qrels, tmp_path / "q.csv")


def test_semicolons(tmp_path: Path) -> None:
    for name in ("s.csv", "s.txt"):
        scores = read("topic;a;b\nq1;0.5;1\nq2;;.25\n", tmp_path, name)
        assert str(scores.values.tolist()) == "[[0.5, 1.0], [nan, 0.25]]"
        scores = read("topic;a;b\n1,5;0,5;1\nq2;;,25\n", tmp_path, name)
        assert str(scores.values.tolist()) == "[[0.5, 1.0], [nan, 0.25]]"
        assert (scores.topics, scores.systems) == (("1,5", "q2"), ("a", "b"))
    assert read("a;b\n0,5;1\n,25;0\n", tmp_path).values.tolist() == [[0.5, 1], [0.25, 0]]
    assert read("topic\ta\nq1\t.5\n", tmp_path).values.tolist() == [[0.5]]
