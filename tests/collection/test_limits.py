"""Files that hold far too much are refused early, by limits that the environment changes."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import cranfield as cf
from tests.collection.refusals import refuses, written

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize(("form", "name"), [("gz", "a.run"), ("bz2", "a.csv"), ("xz", "a.json")])
def test_archives_that_become_far_larger(
    form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cranfield.sources.archives._ALWAYS_ALLOWED", 1 << 20)
    file = tmp_path / f"{name}.{form}"
    # Archives may stand one behind the other.
    file.write_bytes(PACKED[form](b"1 Q0 a 1 2.5 t\n" * (1 << 12)) * 24)
    refuses("decompresses to more than 200 times its size", cf.read_run, file)


def test_lines_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRANFIELD_MAX_LINE", "1000")
    monkeypatch.setattr("cranfield.sources.chunks.CHUNK_BYTES", 1 << 16)
    file = tmp_path / "a.run"
    file.write_bytes(b"1 Q0 a 1 2.5 t\n" * 5_000 + b"1 Q0 " + b"a" * 70_000)
    refuses("line of more than 1,000 bytes; CRANFIELD_MAX_LINE", cf.read_run, file)
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"1": {f"d{k}": k for k in range(9_999)}}))
    assert len(cf.read_run(file)) == 9_999
    monkeypatch.setenv("CRANFIELD_MAX_LINE", "-1")
    refuses("CRANFIELD_MAX_LINE must be a", cf.read_run, tmp_path / "a.run", error=cf.PolicyError)


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl", "a.parquet"])
def test_what_begins_with_zeros(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRANFIELD_MAX_BLANK", "100000")
    file = tmp_path / name
    file.write_bytes(b"\0" * 9_000_000)
    refuses("begins with 100,000 bytes of blanks or zeros", cf.read_run, file)


@pytest.mark.parametrize("line", [b"# x\n", b"  \n"])
def test_comments_and_blank_lines(
    line: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRANFIELD_MAX_BLANK", "50000")
    monkeypatch.setattr("cranfield.sources.chunks.CHUNK_BYTES", 40_000)
    file = tmp_path / "a.run"
    row = b"1 Q0 a 1 2.5 t\n"
    file.write_bytes(line * (40_000 // len(line)) + row)
    assert len(cf.read_run(file)) == 1
    file.write_bytes(row + line * (130_000 // len(line)) + row)
    refuses("50,000 bytes of consecutive blank lines and comments", cf.read_run, file)


def test_lines_of_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRANFIELD_MAX_BLANK", "1000")
    monkeypatch.setenv("CRANFIELD_MAX_LINE", "2500")
    file = tmp_path / "a.csv"
    head, rows = b"topic,doc,score\n", b"".join(b"1,d%d,2.5\n" % k for k in range(1000))
    file.write_bytes(head + rows)
    assert len(cf.read_run(file)) == 1000
    file.write_bytes(head + rows + b"1,%s,2.5\n" % (b"d" * 4000))
    refuses("line of more than 2,500 bytes", cf.read_run, file)


def test_objects_and_elements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRANFIELD_MAX_PARTS", "30")
    records = [{"topic": "1", "doc": f"d{k}", "score": k} for k in range(31)]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(records))
    refuses(
        "more than 30 JSON objects, JSON arrays or XML tags; CRANFIELD_MAX_PART", cf.read_run, file
    )
    assert len(cf.read_run(written(file, json.dumps(records[1:])))) == 30
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    refuses("more than 30 JSON objects, JSON arrays or XML tags", cf.read_run, file)
    file = tmp_path / "a.xml"
    file.write_text(f"<sessiontrack2013>{'<session/>' * 30}</sessiontrack2013>")
    refuses("more than 30 JSON objects, JSON arrays or XML tags", cf.read_sessions, file)


def test_text_that_rows_share(tmp_path: Path) -> None:
    """A dictionary makes of one long text and many rows a small file."""
    rows = 2_000
    text = pl.Series("doc", ["x" * 100_000]).new_from_index(0, rows)
    for kind in (pl.String, pl.Categorical):
        table = pl.DataFrame({"topic": [str(k) for k in range(rows)], "score": [1.0] * rows})
        file = tmp_path / "a.parquet"
        table.with_columns(text.cast(kind)).write_parquet(file)
        refuses("decompresses to more than 200 times its size", cf.read_run, file)


def test_many_columns(tmp_path: Path) -> None:
    """Which of them tells systems apart is looked for in the first ones."""
    file = tmp_path / "a.csv"
    names = ",".join(["topic", "doc", "score", *(f"c{k}" for k in range(2_000))])
    file.write_text(f"{names}\n" + ("1,a,2" + ",x" * 2_000 + "\n") * 2)
    with pytest.warns(match="not used"), pytest.raises(cf.InputError, match="document twice"):
        cf.read_run(file)
