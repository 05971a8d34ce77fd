"""Judgments of two columns, which list the relevant documents; and those of Cranfield."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError
from tests.collection.refusals import refuses, warns

ROWS = [("300", "7067032"), ("300", "7067056"), ("301", "12")]


def test_two_columns(tmp_path: Path) -> None:
    lines = "".join(f"{topic}\t{doc}\n" for topic, doc in ROWS)
    (tmp_path / "ref.tsv").write_text(lines)
    (tmp_path / "ref.txt").write_text(lines)
    (tmp_path / "nano.tsv").write_text("query-id\tcorpus-id\n" + lines)
    (tmp_path / "nano.csv").write_text("query-id,corpus-id\n" + lines.replace("\t", ","))
    frame = pd.DataFrame(ROWS, columns=["query-id", "corpus-id"])
    files = [tmp_path / name for name in ("ref.tsv", "ref.txt", "nano.tsv", "nano.csv")]
    for data in (*files, frame, frame.to_dict("records")):
        with pytest.warns(CranfieldWarning, match="each document is read as relevant") as told:
            found = cf.read_qrels(data)
        assert found.to_polars().rows() == [(topic, doc, 1) for topic, doc in ROWS]
        assert len(told) == 1


def test_what_is_no_list_of_relevant_documents(tmp_path: Path) -> None:
    for name, text, said in (
        ("cut.txt", "q1\t0\nq1\t0\n", "a.*cut.txt:1: expected 4 columns"),
        ("blank.txt", "q1 d1\nq1 d2\n", "blank.txt:1: expected 4 columns"),
        ("head.txt", "query_id\tdoc_id\nq1\td2\n", "head.txt:1: expected 4 .*; remove the header"),
        ("four.txt", "user item rating time\n1 2 3 4\n", "four.txt:1: .*is a header, remove it"),
        ("mixed.txt", "q1\td1\nq1\td2\t1\n", "mixed.txt:2: "),
    ):
        (tmp_path / name).write_text(text)
        refuses(said.removeprefix("a.*"), cf.read_qrels, tmp_path / name)
    refuses("has no grade column", cf.read_qrels, [{"qid": "q1", "docid": "d1"}], grades={"a": 1})
    with pytest.raises(InputError, match="a table of topic and doc alone lists relevant documents"):
        cf.read_qrels([{"qid": "q1", "docid": "d1", "time": 5}])
    qrels = warns(
        "each document is read as relevant",
        cf.read_qrels,
        [{"user": "u1", "clicked": "d1"}],
        columns={"topic": "user", "doc": "clicked"},
    )
    assert qrels.to_polars().rows() == [("u1", "d1", 1)]


def test_the_judgments_of_cranfield(tmp_path: Path) -> None:
    # As `cranqrel` is written: several blanks, some at the end of lines, and grades of -1.
    (tmp_path / "cranqrel").write_text("1 184  2\n1    29  2\n1 31  -1 \n 2 12 3\n")
    assert cf.read_qrels(tmp_path / "cranqrel").to_polars().rows() == [
        ("1", "184", 2),
        ("1", "29", 2),
        ("1", "31", -1),
        ("2", "12", 3),
    ]
