"""Lists of documents: which of them a collection has, and which may not be retrieved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools
from cranfield.base.errors import InputError
from cranfield.collection.keys import DocIndex
from cranfield.sources.chunks import CHUNK, TOGETHER, Source
from cranfield.sources.columns import check_parquet_file, reading_parquet

_BLANKS = r" \t\x0b\f\r"
_ROWS = 1 << 20
"""Rows of a table taken at a time."""

_NAMES = ("doc", "doc_id", "docno", "docid", "document", "document_id", "pid", "id")


def outside(docs: pl.Series, path: Path) -> Bools:
    """Tell which documents are not in a list of them.

    Parameters
    ----------
    docs
        Documents of a run, any of them several times.
    path
        A text file, of which the first word of each line counts, or a Parquet file with a column
        of documents; ten million are read a part at a time, and never held.

    Raises
    ------
    InputError
        For a list that cannot be read.
    """
    missing = np.ones(len(docs), dtype=bool)
    if not len(docs):
        return missing
    index = DocIndex(docs)
    for part in _listed(path):
        missing[index.pairs(part)[1]] = False
        if not missing.any():
            break
    return missing


def _listed(path: Path) -> Iterator[pl.Series]:
    source = Source(str(path))
    if source.suffix == ".parquet":
        yield from _of_table(path)
        return
    for chunk in source.chunks(TOGETHER * CHUNK):
        yield _first_words(_text(chunk, source.name))


def _of_table(path: Path) -> Iterator[pl.Series]:
    check_parquet_file(str(path))
    with reading_parquet(str(path)):
        table = pl.scan_parquet(path, glob=False)
        names = table.collect_schema().names()
        rows = table.select(pl.len()).collect().item()
    if not names:
        raise InputError("has no column of documents", source=str(path))
    name = next((name for name in names if name.lower() in _NAMES), names[0])
    for start in range(0, rows, _ROWS):
        with reading_parquet(str(path)):
            part = table.select(pl.col(name).cast(pl.String)).slice(start, _ROWS).collect()
        yield part.to_series().drop_nulls()


def _text(chunk: bytes, source: str) -> bytes:
    try:
        chunk.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte 0x{chunk[error.start]:02x} is not valid UTF-8 text", source=source
        ) from None
    return chunk


def _first_words(text: bytes) -> pl.Series:
    text = text.replace(b"\r\n", b"\n")
    # The first line is there for a mark of byte order, which the CSV reader would take away.
    words = pl.read_csv(
        b"-\n" + text,
        has_header=False,
        separator=" ",
        quote_char=None,
        schema={"doc": pl.String},
        truncate_ragged_lines=True,
    )["doc"][1:]
    if words.null_count() or any(blank in text for blank in (b"\t", b"\v", b"\f", b"\r")):
        lines = pl.Series("doc", text.decode().split("\n"), dtype=pl.String)
        words = lines.str.extract(f"^[{_BLANKS}]*([^{_BLANKS}]+)")
    return words.drop_nulls()


def unlike(docs: pl.Series, pattern: str) -> Bools:
    """Tell which documents are not wholly like a pattern of the rules."""
    return ~docs.str.contains(f"^(?:{pattern})$").to_numpy()


def excluded(topics: pl.Series, docs: pl.Series, path: Path) -> Bools:
    """Tell which rows are not to be retrieved.

    Parameters
    ----------
    topics, docs
        Topic and document of each row of a run.
    path
        Lines of topic and document; or judgments, of which the first and the third column count.
    """
    asked = pl.DataFrame({"row": np.arange(len(docs)), "topic": topics, "doc": docs})
    hits = [asked.join(part, on=["topic", "doc"], how="semi")["row"] for part in _pairs(path)]
    out = np.zeros(len(docs), dtype=bool)
    out[pl.concat(hits).to_numpy() if hits else []] = True
    return out


def _pairs(path: Path) -> Iterator[pl.DataFrame]:
    source = Source(str(path))
    first_line = 1
    for chunk in source.chunks(TOGETHER * CHUNK):
        lines = pl.Series(_text(chunk, source.name).decode().split("\n"), dtype=pl.String)
        words = pl.DataFrame({"words": lines.str.extract_all(f"[^{_BLANKS}]+")}).with_columns(
            count=pl.col("words").list.len()
        )
        wrong = (~words["count"].is_in([0, 2, 4])).arg_true()
        if len(wrong):
            raise InputError(
                f"{words['count'][wrong[0]]} columns where a line has 2 (topic doc) or 4"
                " (topic subtopic doc grade)",
                source=source.name,
                line=first_line + wrong[0],
            )
        first_line += chunk.count(b"\n")
        third = pl.col("words").list.get(pl.when(pl.col("count") == 4).then(2).otherwise(1))
        yield words.filter(pl.col("count") > 0).select(
            topic=pl.col("words").list.first(), doc=third
        )
