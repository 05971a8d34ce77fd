"""Results of studies declare the columns of their tables, all of them and in their order."""

from __future__ import annotations

import pytest

from cranfield import meta
from cranfield.meta.study import STUDIES
from tests.meta.studies import AP, STUDIED, studied
from tests.result_forms import check_forms


def test_every_study_is_here() -> None:
    assert {*STUDIED} == {*STUDIES}


@pytest.mark.parametrize("name", [*STUDIED, "expected tau"])
def test_columns_are_declared_in_their_order(name: str) -> None:
    result = meta.expected_tau(AP) if name == "expected tau" else studied(name)
    frames, declared = result.frames(), result.get_columns()
    assert {*frames} <= {*declared}
    assert {*frames} == {*declared} or name == "predictive-power"
    for table, frame in frames.items():
        columns = declared[table]
        by_name = [column for column in frame.columns if column in columns]
        assert by_name == [column for column in columns if column in frame.columns]
        assert by_name == frame.columns or "*" in columns
    text = str(result)
    assert all(line in text for line in result.heading())
    check_forms(result)
