"""Mutated tables are read with the promised value, or refused, or something is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collection.mutated_tables import make, shown, tried
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
