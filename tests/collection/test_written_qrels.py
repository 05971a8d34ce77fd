"""Judgments are written with all their columns, or not at all, in all formats of judgments."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.collection.files.lines import QRELS_FORMATS
from cranfield.collection.policies import FORMATS, JUDGMENT_FORMATS, SAMPLING_COLUMNS
from cranfield.collection.qrels import Qrels
from tests.collection.refusals import refuses

pytestmark = pytest.mark.filterwarnings("ignore:.* read as text, not as missing")

IDS = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=9)
ROWS = st.lists(
    st.tuples(IDS, IDS, st.integers(-2, 3), IDS, st.floats(0, 1)), min_size=1, max_size=8,
    unique_by=lambda row: row[:2],
)  # fmt: skip


def judgments(rows: list[tuple[Any, ...]], *others: str) -> Qrels:
    names = ("topic", "doc", "grade", "stratum", "inclusion")
    return cf.read_qrels(
        [
            {k: v for k, v in zip(names, row, strict=True) if k in (*names[:3], *others)}
            for row in rows
        ]
    )


def back(qrels: Qrels, name: str, format: str = "auto") -> Qrels:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        cf.write_qrels(qrels, path, format=format)
        return cf.read_qrels(path, format=format)


@given(ROWS, st.sampled_from(["a.csv", "a.tsv.gz", "a.json", "a.jsonl.zst", "a.parquet"]))
def test_named_columns_hold_everything(rows: list[tuple[Any, ...]], name: str) -> None:
    qrels = judgments(rows, "stratum", "inclusion")
    assert back(qrels, name).to_polars().equals(qrels.to_polars())


@given(ROWS, st.sampled_from(["xqrels", "prels"]))
def test_lines_of_samples(rows: list[tuple[Any, ...]], form: str) -> None:
    rows = [(f"t{topic}", *rest) for topic, *rest in rows]
    qrels = judgments(rows, {"xqrels": "stratum", "prels": "inclusion"}[form])
    assert back(qrels, "a.txt.xz", format=form).to_polars().equals(qrels.to_polars())


def test_columns_choose_the_lines(tmp_path: Path) -> None:
    row = [("q", "d", 1, "s", 1 / 3)]
    expected = {(): "q 0 d 1\n", ("stratum",): "q 0 d s 1\n"}
    expected["inclusion",] = "q d 1 0 0.3333333333333333\n"
    for others, line in expected.items():
        cf.write_qrels(judgments(row, *others), tmp_path / "a")
        assert (tmp_path / "a").read_text() == line


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    both = judgments([("q", "d", 1, "s", 0.5)], "stratum", "inclusion")
    refused = {
        "auto": "no text format has both columns stratum and inclusion; use one of: csv, tsv",
        "trec": "trec has no column 'stratum'; use one of: csv, tsv",
        "xqrels": "xqrels has no column 'inclusion'",
        "prels": "prels has no column 'stratum'",
        "xml": "unknown format 'xml'; expected one of: auto, trec, prels, xqrels, csv",
    }
    for form, reason in refused.items():
        refuses(reason, cf.write_qrels, both, tmp_path / "a", format=form, error=cf.CranfieldError)
    plain = judgments([("q", "d", 1, "s", 0.5)])
    refuses(
        "prels requires judgments with a column 'inclusion'",
        cf.write_qrels,
        plain,
        tmp_path / "a",
        format="prels",
        error=cf.CranfieldError,
    )
    classes = cf.read_qrels([{"topic": "q", "doc": "d", "grade": 1, "class": "x"}])
    with pytest.raises(cf.CranfieldError, match="trec has no column 'class'"):
        cf.write_qrels(classes, tmp_path / "a")
    intents = [{"topic": "q", "doc": "d", "grade": 1, "subtopic": s, "stratum": 1} for s in "ab"]
    with pytest.raises(cf.CranfieldError, match="xqrels has no column 'subtopic'"):
        cf.write_qrels(cf.read_qrels(intents), tmp_path / "a")
    blank = judgments([("q", "d", 1, "a b", 0.5)], "stratum")
    with pytest.raises(cf.CranfieldError, match="stratum 'a b' is empty or contains a blank"):
        cf.write_qrels(blank, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_name_with_a_suffix_of_a_table_is_a_table(tmp_path: Path) -> None:
    cf.write_qrels(judgments([("q 1", 'a"b,c', 1, "", 0)]), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == 'topic,doc,grade\nq 1,"a""b,c",1\n'


def test_declared_formats_are_read_and_written(tmp_path: Path) -> None:
    assert {*SAMPLING_COLUMNS} <= {*JUDGMENT_FORMATS} <= {*FORMATS}
    for name, columns in JUDGMENT_FORMATS.items():
        row = {"topic": "q", "doc": "d", "grade": 1, "stratum": "a", "inclusion": 0.5}
        read = tuple(column for column, kind in columns.items() if kind is not None)
        assert QRELS_FORMATS[name].selected_columns == read
        assert list(QRELS_FORMATS[name].columns) == list(columns)
        judgments = cf.read_qrels([{column: row[column] for column in read}])
        cf.write_qrels(judgments, tmp_path / name, format=name)
        again = cf.read_qrels(tmp_path / name, format=name)
        assert again.to_polars().equals(judgments.to_polars())
