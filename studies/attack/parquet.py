"""Runs in Parquet whose bytes are changed: read right, or refused in one line, and nothing else.

The files are written by two libraries in several ways. What can be read has to be what pyarrow
reads. Where pyarrow refuses a file, such as by the checksums of its pages, which it compares, other
numbers than those of the whole file are a finding, if there are checksums to tell. A finding is
also any other exception, the end of the process, and anything printed.
"""

from __future__ import annotations

import io
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from cranfield import CranfieldError, read_run
from studies.attack import Outcome
from studies.attack.work.in_order import in_worker, work

PATIENCE = 5
"""Seconds."""

ROWS = 60

Rows = set[tuple[str, str, float]]


def attack(seed: int, cases: int) -> Iterator[Outcome]:
    """Yield what became of changed files."""
    return in_worker(__name__, seed, cases)


def files(draw: random.Random) -> Iterator[tuple[str, bytes]]:
    """Make the whole files, by their kinds."""
    plain = pl.DataFrame(
        {
            "topic": [f"q{number // 10}" for number in range(ROWS)],
            "doc": [f"d{draw.randrange(999)}-{number}" for number in range(ROWS)],
            "score": [draw.random() for _ in range(ROWS)],
            "tag": ["a"] * ROWS,
        }
    )
    odd = plain.with_columns(
        pl.col("tag").cast(pl.Categorical),
        extra=pl.Series([[number, None] for number in range(ROWS)]),
        pair=pl.struct("topic", "score"),
        yes=pl.Series([None if number % 3 else True for number in range(ROWS)]),
    )
    for table in (plain, odd):
        for packing in ("uncompressed", "snappy", "zstd", "lz4", "gzip", "brotli"):
            made = io.BytesIO()
            table.write_parquet(made, compression=packing)
            yield f"polars, {packing}", made.getvalue()
        ways: list[dict[str, Any]] = [
            {"compression": "none"},
            {"data_page_version": "2.0", "compression": "zstd"},
            {"use_dictionary": False},
            {"write_page_checksum": True},
            {"write_page_checksum": True, "data_page_version": "2.0"},
            {"row_group_size": 13, "data_page_size": 64, "write_page_index": True},
        ]
        for way in ways:
            made = io.BytesIO()
            pq.write_table(table.to_arrow(), made, **way)
            yield f"pyarrow, {way}", made.getvalue()


def changed(draw: random.Random, whole: bytes) -> tuple[str, bytes]:
    """Cut, cut out, or write other bytes to the footer, the pages, or anywhere."""
    data = bytearray(whole)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    where = {
        "footer": (footer, len(data) - 8),
        "pages": (4, footer),
        "anywhere": (0, len(data)),
        "length of the footer": (len(data) - 8, len(data) - 4),
    }
    how = draw.choice(["cut", "cut out", "twice", *where, "footer", "pages"])
    start = draw.randrange(len(data))
    end = min(len(data), start + draw.randrange(1, 40))
    if how == "cut":
        del data[start:]
    elif how == "cut out":
        del data[start:end]
    elif how == "twice":
        data[start:start] = data[start:end]
    else:
        for _ in range(draw.choice((1, 1, 1, 2, 5))):
            place = draw.randrange(*where[how])
            flipped = data[place] ^ 1 << draw.randrange(8)
            data[place] = draw.choice((flipped, 0, 0x7F, 0x80, 0xFF, draw.randrange(256)))
    return how, bytes(data)


def rows_by_pyarrow(data: bytes) -> Rows | None:
    """Read a file with checksums compared; None if that cannot be done."""
    try:
        table = pq.read_table(
            io.BytesIO(data), page_checksum_verification=True, columns=["topic", "doc", "score"]
        )
        columns = [table.column(name).to_pylist() for name in ("topic", "doc", "score")]
    except Exception:
        return None
    return set(zip(*columns, strict=True))


def cases(seed: int) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield changed files without end."""
    draw = random.Random(seed)
    kinds = [(kind, data, rows_by_pyarrow(data)) for kind, data in files(draw)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        while True:
            kind, whole, rows = draw.choice(kinds)
            how, data = changed(draw, whole)
            name = f"{kind}: {how}"
            yield name, partial(judged, name, path, data, rows, "checksum" in kind)


def judged(name: str, path: Path, data: bytes, whole: Rows | None, sums: bool) -> Outcome:
    """Read a changed file, and say what became of it."""
    path.write_bytes(data)
    start = time.monotonic()
    try:
        run = read_run(path)
    except CranfieldError as error:
        line = str(error)
        fine = line.isprintable() and len(line) < 1000 and time.monotonic() - start < PATIENCE
        return Outcome(name, "refused" if fine else "finding", "" if fine else ascii(line[:200]))
    except BaseException as error:
        return Outcome(name, "finding", f"{type(error).__name__}: {ascii(str(error))[:200]}")
    found = set(run.to_polars().select("topic", "doc", "score").rows())
    if found == whole:
        return Outcome(name, "right")
    wanted = rows_by_pyarrow(data)
    if wanted == found or (wanted is None and not sums):
        return Outcome(name, "right")
    return Outcome(name, "finding", "other rows are read, without a word")


if __name__ == "__main__":
    work(cases)
