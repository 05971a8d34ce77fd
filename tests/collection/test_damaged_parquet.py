"""Parquet that is damaged is read right, or refused in one line, and nothing is printed.

What is read of a changed file has to be what pyarrow reads of it, or what the whole file holds;
where pyarrow refuses a file, other values are a finding if the pages have checksums.
"""

from __future__ import annotations

import io
import os
import random
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import cranfield as cf
from cranfield.sources.parquet import quiet_panics
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
    assert [*findings(7, 400)] == []


def test_counts_and_sizes(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    whole = written(compression="uncompressed")
    path.write_bytes(whole)
    assert len(cf.read_run(path)) == 2
    assert "footer is larger than the file" in refused(
        path, whole[:-8] + b"\xff\xff\xff\x7f" + whole[-4:]
    )
    assert "begin and end with PAR1" in refused(path, whole[:-1])
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
    refuses("begin and end with PAR1", cf.online.scan_log, path)


ROWS = 60
NAMES = ["topic", "doc", "score"]


def files(draw: random.Random) -> Iterator[tuple[str, bytes]]:
    """Make the whole files."""
    plain = pl.DataFrame(
        {
            "topic": [f"q{number // 10}" for number in range(ROWS)],
            "doc": [f"d{draw.randrange(999)}-{number}" for number in range(ROWS)],
            "score": [draw.random() for _ in range(ROWS)],
            "tag": ["a"] * ROWS,
        }
    )
    nested = plain.with_columns(
        pl.col("tag").cast(pl.Categorical),
        extra=pl.Series([[number, None] for number in range(ROWS)]),
        pair=pl.struct("topic", "score"),
        yes=pl.Series([None if number % 3 else True for number in range(ROWS)]),
    )
    ways: list[dict[str, Any]] = [
        {"compression": "none"},
        {"data_page_version": "2.0", "compression": "zstd"},
        {"use_dictionary": False},
        {"write_page_checksum": True},
        {"write_page_checksum": True, "data_page_version": "2.0"},
        {"row_group_size": 13, "data_page_size": 64, "write_page_index": True},
    ]
    for table in (plain, nested):
        for compression in ("uncompressed", "snappy", "zstd", "lz4", "gzip", "brotli"):
            yield f"polars, {compression}", written(table, compression=compression)
        for way in ways:
            out = io.BytesIO()
            pq.write_table(table.to_arrow(), out, **way)
            yield f"pyarrow, {way}", out.getvalue()


def changed(draw: random.Random, whole: bytes) -> tuple[str, bytes]:
    """Cut, cut out, repeat, or write other bytes to the footer, the pages, or anywhere."""
    data = bytearray(whole)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    places = {
        "footer": (footer, len(data) - 8),
        "pages": (4, footer),
        "anywhere": (0, len(data)),
        "length of the footer": (len(data) - 8, len(data) - 4),
    }
    change = draw.choice(["cut", "cut out", "twice", *places, "footer", "pages"])
    start = draw.randrange(len(data))
    end = min(len(data), start + draw.randrange(1, 40))
    if change == "cut":
        del data[start:]
    elif change == "cut out":
        del data[start:end]
    elif change == "twice":
        data[start:start] = data[start:end]
    else:
        for _ in range(draw.choice((1, 1, 1, 2, 5))):
            place = draw.randrange(*places[change])
            flipped = data[place] ^ 1 << draw.randrange(8)
            data[place] = draw.choice((flipped, 0, 0x7F, 0x80, 0xFF, draw.randrange(256)))
    return change, bytes(data)


def rows_by_pyarrow(data: bytes) -> set[tuple[Any, ...]] | None:
    """Read a file with checksums compared; None if that cannot be done."""
    try:
        table = pq.read_table(io.BytesIO(data), page_checksum_verification=True, columns=NAMES)
        columns = [table.column(name).to_pylist() for name in NAMES]
    except Exception:
        return None
    return set(zip(*columns, strict=True))


def findings(seed: int, cases: int) -> Iterator[str]:
    """Yield what is wrong with the reading of changed files."""
    draw = random.Random(seed)
    kinds = [(kind, data, rows_by_pyarrow(data)) for kind, data in files(draw)]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as printed:
        path = Path(folder) / "a.parquet"
        for _ in range(cases):
            kind, whole, rows = draw.choice(kinds)
            change, data = changed(draw, whole)
            path.write_bytes(data)
            stderr = os.dup(2)
            os.dup2(printed.fileno(), 2)
            try:
                finding = finding_of(path, data, rows, "checksum" in kind)
            finally:
                os.dup2(stderr, 2)
                os.close(stderr)
            if os.fstat(printed.fileno()).st_size:
                finding = "prints to standard error"
                printed.truncate(0)
            if finding:
                yield f"{kind}: {change}: {finding}"


def finding_of(path: Path, data: bytes, whole: Any, checksums: bool) -> str:
    """Read a changed file, and return what is wrong with that."""
    start = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = cf.read_run(path)
    except cf.CranfieldError as error:
        line = str(error)
        clear = line.isprintable() and len(line) < 1000 and time.monotonic() - start < 5
        return "" if clear else ascii(line[:200])
    except BaseException as error:  # noqa: BLE001 (a panic of Rust is no Exception)
        return f"{type(error).__name__}: {ascii(str(error))[:200]}"
    expected = rows_by_pyarrow(data)
    is_right = {*run.to_polars().select(NAMES).rows()} in (whole, expected)
    no_rows = expected is None and not checksums
    return "" if is_right or no_rows else "other rows are read without an error"
