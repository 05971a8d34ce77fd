"""What happens to the parts of a study on the disk never becomes a number."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import InputError
from cranfield.meta.work import run_parts


def part(shared: int, task: int) -> pl.DataFrame:
    return pl.DataFrame({"task": [task], "value": [task * 0.25 + shared]})


def study(folder: Path, shared: int = 1) -> list[float]:
    tasks = {"first": 1, "second": 2}
    found = run_parts(part, shared, tasks, about={"shared": shared}, folder=folder)
    values: list[float] = found["value"].to_list()
    return values


def test_any_byte_that_changes_is_seen(tmp_path: Path) -> None:
    assert study(tmp_path) == [1.25, 1.5]
    first = tmp_path / "first.parquet"
    data = first.read_bytes()
    for place in range(0, len(data), 7):
        spoilt = bytearray(data)
        spoilt[place] ^= 1 << place % 8
        first.write_bytes(spoilt)
        with pytest.warns(cf.CranfieldWarning, match=r"computed again: first\.parquet "):
            assert study(tmp_path) == [1.25, 1.5]
        assert first.read_bytes() == data
    assert (tmp_path / "damaged.txt").read_text().startswith("first.parquet ")


def test_parts_of_others_are_not_taken(tmp_path: Path) -> None:
    study(tmp_path / "one")
    study(tmp_path / "other", 8)
    first, second = (tmp_path / "one" / f"{name}.parquet" for name in ("first", "second"))
    first.write_bytes((tmp_path / "other" / "first.parquet").read_bytes())
    with pytest.warns(cf.CranfieldWarning, match=r"first\.parquet belongs to another study"):
        assert study(tmp_path / "one") == [1.25, 1.5]
    first.write_bytes(second.read_bytes())
    with pytest.warns(cf.CranfieldWarning, match=r"is renamed: it contains part second"):
        assert study(tmp_path / "one") == [1.25, 1.5]


@pytest.mark.parametrize("spoilt", [b"\xff{}", b"[" * 200_000, b"9" * 10_000, b""])
def test_a_study_json_that_nobody_can_read(tmp_path: Path, spoilt: bytes) -> None:
    (tmp_path / "study.json").write_bytes(spoilt)
    with pytest.raises(InputError, match=r"study\.json: is not JSON, or is damaged"):
        study(tmp_path)
