"""Formats of judgments are declared in one place: reading, writing and the command follow it."""

from __future__ import annotations

from pathlib import Path

import cranfield as cf
from cranfield.collection.files.lines import QRELS_FORMATS
from cranfield.collection.policies import FORMATS, OF_QRELS, OF_SAMPLES


def test_declared_formats_are_read_and_written(tmp_path: Path) -> None:
    assert {*OF_SAMPLES} <= {*OF_QRELS} <= {*FORMATS}
    for name, columns in OF_QRELS.items():
        row = {"topic": "q", "doc": "d", "grade": 1, "stratum": "a", "inclusion": 0.5}
        read = tuple(column for column, kind in columns.items() if kind is not None)
        assert QRELS_FORMATS[name].read == read
        assert list(QRELS_FORMATS[name].columns) == list(columns)
        judgments = cf.read_qrels([{column: row[column] for column in read}])
        cf.write_qrels(judgments, tmp_path / name, format=name)
        again = cf.read_qrels(tmp_path / name, format=name)
        assert again.to_polars().equals(judgments.to_polars())
