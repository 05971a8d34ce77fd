"""Mutated tables are read with the promised value, or refused, or something is said."""

from __future__ import annotations

import csv
import itertools
from codecs import BOM_UTF8
from pathlib import Path

import pytest

from tests.collection.mutated_tables import make, shown, tried, with_commas, written
from tests.collection.table_readers import READERS

CASES = 12


@pytest.mark.parametrize("reader", READERS)
def test_no_value_is_wrong_without_a_message(reader: str, tmp_path: Path) -> None:
    for index in range(CASES):
        outcome, text = tried(make(7, index, reader), tmp_path)
        assert outcome != "FAILED", f"{shown(7, index, reader)}\n{text}"


@pytest.mark.parametrize("reader", READERS)
def test_a_valid_table_has_its_value(reader: str, tmp_path: Path) -> None:
    for index in range(2):
        assert tried(make(7, index, reader, mutations=False), tmp_path)[0] == "equal"


@pytest.mark.parametrize("reader", READERS)
def test_a_table_with_semicolons_and_decimal_commas_has_its_value(
    reader: str, tmp_path: Path
) -> None:
    cases = (make(7, index, reader, mutations=False) for index in itertools.count())
    for case in itertools.islice((case for case in cases if case.form in ("csv", "tsv")), 4):
        case.sep = ";"
        rows = with_commas(case, [[str(cell) for cell in row] for row in case.rows])
        data = written([case.names, *rows], ";", csv.QUOTE_ALL if case.form == "csv" else 0)
        case.data = BOM_UTF8 + data.replace(b"\n", b"\r\n")
        outcome, text = tried(case, tmp_path)
        assert outcome == "equal", f"{case.data.decode()}\n{text}"
