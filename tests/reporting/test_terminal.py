"""Tables of scores on terminals."""

from __future__ import annotations

import pytest

from cranfield.reporting.terminal import draw_table
from cranfield.tabular import Table


def test_names_and_numbers_are_not_cut_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    names, measures = ["a_long_name_of_run_1", "a_long_name_of_run_2"], ["AP", "nDCG@10", "RBP"]
    rows = [[name, "0.1234", "0.1235", "0.1236"] for name in names]
    text = draw_table(Table("", ["system", *measures], rows, left=(0,)), is_on_terminal=True)
    assert "…" not in text
    for name in names:
        [line] = [line for line in text.splitlines() if name in line]
        assert line.split()[1:] == ["0.1234", "0.1235", "0.1236"]
