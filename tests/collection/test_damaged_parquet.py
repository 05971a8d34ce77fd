"""Parquet that is damaged is refused in one line, and nothing is printed."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import cranfield as cf
from cranfield.sources.parquet import quiet_panics
from tests.collection import damaged_parquet as parquet
from tests.collection.refusals import refuses

TABLE = pl.DataFrame({"topic": ["1", "1"], "doc": ["a", "b"], "score": [2.5, 1.5]})


def written(table: pl.DataFrame = TABLE, **options: Any) -> bytes:
    out = io.BytesIO()
    table.write_parquet(out, **options)
    return out.getvalue()


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(cf.InputError) as caught:
        cf.read_run(path)
    return str(caught.value)


def test_attack_by_bytes() -> None:
    assert [*parquet.findings(7, 400)] == []


def test_counts_and_sizes(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    whole = written(compression="uncompressed")
    path.write_bytes(whole)
    assert len(cf.read_run(path)) == 2
    assert "footer is larger than the file" in refused(
        path, whole[:-8] + b"\xff\xff\xff\x7f" + whole[-4:]
    )
    assert "begin and end as Parquet" in refused(path, whole[:-1])
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    footer = b"\x15" * (len(whole) - 8 - start)
    assert "is truncated" in refused(path, whole[:start] + footer + whole[-8:])
    # The head of the first page, whose sizes and counts follow each other.
    assert "is not readable" in refused(path, whole[:4] + b"\xff" * 12 + whole[16:])


def test_declared_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is said to be there very often takes a few bytes."""
    monkeypatch.setattr("cranfield.sources.archives._ALWAYS_ALLOWED", 1 << 20)
    many = TABLE.head(1).select(pl.all().repeat_by(100_000).explode())
    said = refused(tmp_path / "a.parquet", written(many))
    assert "decompresses to more than 200 times its size; CRANFIELD_MAX_RATIO" in said


def test_checksums_of_pages(tmp_path: Path) -> None:
    out = io.BytesIO()
    pq.write_table(
        TABLE.to_arrow(),
        out,
        write_page_checksum=True,
        compression="none",
        use_dictionary=False,
        write_statistics=False,
    )
    data = out.getvalue()
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    assert cf.read_run(path).to_polars()["score"].to_list() == [2.5, 1.5]
    score = bytes.fromhex("0000000000000440")
    assert data.count(score) == 1
    assert "does not match its checksum" in refused(path, data.replace(score, score[::-1], 1))


def test_what_others_print_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    with quiet_panics(), quiet_panics():
        os.write(2, b"progress\n")
    assert capfd.readouterr().err == "progress\n"
    with pytest.raises(pl.exceptions.PanicException), quiet_panics():
        os.write(2, b"thread panicked\n")
        raise pl.exceptions.PanicException("x")
    assert capfd.readouterr().err == ""
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_lists_of_documents(tmp_path: Path) -> None:
    from cranfield.campaign.checks.checking import is_unlisted

    path = tmp_path / "docs.parquet"
    path.write_bytes(written())
    assert is_unlisted(pl.Series(["a", "z"]), path).tolist() == [False, True]
    path.write_bytes(written()[:-9])
    refuses("is not readable Parquet", is_unlisted, pl.Series(["a"]), path)
    path.write_bytes(b"")
    refuses("is empty", is_unlisted, pl.Series(["a"]), path)


def test_logs_that_are_scanned(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    data = written(pl.DataFrame({"page": [1, 2], "query": ["a", "b"]}))
    path.write_bytes(data)
    assert cf.online.scan_log(path)["pages"].collect().shape == (2, 2)
    path.write_bytes(data[:-20])
    refuses("begin and end as Parquet", cf.online.scan_log, path)
