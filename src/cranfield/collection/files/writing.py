"""Write runs and judgments; a file appears whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path

import polars as pl

from cranfield.base.errors import CranfieldError, quoted
from cranfield.base.whole_files import whole_file
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run


def write_run(run: Run, path: str | PathLike[str], *, depth: int | None = None) -> None:
    """Write a run as a TREC file, ranks from 1 in the order by score; packed if the suffix says so.

    Parameters
    ----------
    path
        File to write (`.gz`, `.bz2`, `.xz`, `.zst` are packed), or `-` for standard output.
    depth
        Documents a topic to write at the most; None for all.

    Raises
    ------
    CranfieldError
        When an id holds a blank, which the format cannot express.
    """
    order = order_of(run, "trec")
    rows = order.rows
    frame = run.to_polars()[rows].with_columns(rank=pl.Series(order.ranks_of(rows)))
    if depth is not None:
        frame = frame.filter(pl.col("rank") <= depth)
    table = frame.select(
        "topic",
        pl.lit("Q0").alias("q0"),
        "doc",
        "rank",
        # A number that reads back as the same 64 bits.
        pl.col("score"),
        pl.lit(run.name).alias("tag"),
    )
    _write(table, path, ("topic", "doc", "tag"))


def write_qrels(qrels: Qrels, path: str | PathLike[str]) -> None:
    """Write judgments as a TREC file, in their order; packed if the suffix says so.

    Raises
    ------
    CranfieldError
        When an id holds a blank, which the format cannot express.
    """
    frame = qrels.to_polars()
    if "subtopic" not in frame.columns:
        frame = frame.with_columns(subtopic=pl.lit("0"))
    _write(frame.select("topic", "subtopic", "doc", "grade"), path, ("topic", "subtopic", "doc"))


def _write(table: pl.DataFrame, path: str | PathLike[str], ids: tuple[str, ...]) -> None:
    for column in ids:
        bad = table[column].filter(
            table[column].str.contains(r"[ \t\v\f\r\n]") | (table[column] == "")
        )
        if bad.len():
            raise CranfieldError(f"{column} {quoted(bad[0])} is empty or holds a blank")
    for start, what in (("#", "a comment"), ("\ufeff", "the mark of UTF-8 text")):
        if table["topic"].str.starts_with(start).any():
            raise CranfieldError(f"a topic that begins like {what} would not be read back")
    text = io.BytesIO()
    table.write_csv(text, include_header=False, separator=" ", quote_style="never")
    data = _packer(fspath(path))(text.getvalue())
    if fspath(path) == "-":
        sys.stdout.buffer.write(data)
        return
    with whole_file(path) as out:
        out.write(data)


def _packer(path: str) -> Callable[[bytes], bytes]:
    suffix = Path(path).suffix.lower()
    if suffix == ".zst":
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        return zstd.compress
    packers: dict[str, Callable[[bytes], bytes]] = {
        # No time stamp, so that the same run gives the same bytes.
        ".gz": lambda data: gzip.compress(data, mtime=0),
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
    }
    return packers.get(suffix, bytes)
