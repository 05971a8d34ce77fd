"""Files that hold far too much are refused early, by limits that the environment changes."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

import cranfield as cf

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("form", PACKED)
@pytest.mark.parametrize("name", ["a.run", "a.csv", "a.json"])
def test_archives_that_become_far_larger(form: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.{form}"
    file.write_bytes(PACKED[form](b"# \n" * (12 << 20)))
    with pytest.raises(cf.InputError, match="holds more than 200 times its size"):
        cf.read_run(file)


def test_lines_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRANFIELD_MAX_LINE", "1000")
    file = tmp_path / "a.run"
    file.write_bytes(b"1 Q0 a 1 2.5 t\n" * 300_000 + b"1 Q0 " + b"a" * 4_000_000)
    with pytest.raises(cf.InputError, match="line of more than 1,000 bytes; CRANFIELD_MAX_LINE"):
        cf.read_run(file)
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"1": {f"d{k}": k for k in range(99_999)}}))
    assert len(cf.read_run(file)) == 99_999
    monkeypatch.setenv("CRANFIELD_MAX_LINE", "-1")
    with pytest.raises(cf.PolicyError, match="CRANFIELD_MAX_LINE is '-1'"):
        cf.read_run(tmp_path / "a.run")


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl", "a.parquet"])
def test_what_begins_with_zeros(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRANFIELD_MAX_BLANK", "100000")
    file = tmp_path / name
    file.write_bytes(b"\0" * 9_000_000)
    with pytest.raises(cf.InputError, match="begins with 100,000 bytes of blanks and zeros"):
        cf.read_run(file)
