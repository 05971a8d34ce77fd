"""Write runs and judgments to files atomically."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from os import PathLike, fspath
from typing import IO, Any

import polars as pl

from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_choice,
    check_integer,
    quote,
)
from cranfield.base.files import open_atomically
from cranfield.collection.files.lines import QRELS, QRELS_FORMATS
from cranfield.collection.files.reading import read_qrels, read_run
from cranfield.collection.judged.ranking import order_documents
from cranfield.collection.metadata.reading import format_header
from cranfield.collection.policies import SAMPLING_COLUMNS
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.sources.archives import find_compressor
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source

WRITERS: dict[str, Callable[[pl.DataFrame, Any], Any]] = {
    "csv": lambda frame, out: frame.write_csv(out),
    "tsv": lambda frame, out: frame.write_csv(out, separator="\t"),
    "json": lambda frame, out: frame.write_json(out),
    "jsonl": lambda frame, out: frame.write_ndjson(out),
    "parquet": lambda frame, out: frame.write_parquet(out),
}
"""Functions that write a data frame, by format with named columns, which can hold any column."""

_FORMATS_HINT = f"use one of: {', '.join(WRITERS)}"

_BLOCK = 1 << 20
"""Number of rows converted to lines at a time, so that the whole text is never in memory."""

_TEXT_LAYOUTS = {"trec": QRELS, **QRELS_FORMATS}


def write_run(
    run: Any,
    path: str | PathLike[str],
    *,
    limit: int | None = None,
    metadata: bool = False,
    format: str = "auto",
) -> None:
    """Write a run, with ranks by score and descending id; the suffix selects the compression.

    Parameters
    ----------
    run
        A run, in any form that :func:`read_run` reads.
    path
        File to write (`.gz`, `.bz2`, `.xz`, `.zst` are compressed), or `-` for standard output.
    limit
        Maximum number of documents written per topic; None for all.
    metadata
        Whether to write the metadata of the run, if there are any, as a header of comments. A
        header of comments that was read is written unchanged.
    format
        One of `trec`, `csv`, `tsv`, `json`, `jsonl`, `parquet`. By default the format of the
        suffix, and TREC text for other files. Other formats have the columns topic, doc, score,
        rank and system.

    Raises
    ------
    CranfieldError
        In TREC text, for an id or name that is empty or contains a blank, or a topic that begins
        with `#` or a byte order mark.
    InputError
        If the run or requested metadata cannot be read, or the file cannot be written.
    PolicyError
        For an unknown format, an invalid limit, or metadata in a format without comments.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.write_run(cf.read_run({"q": {"d 1": 2.0, "d 2": 3.5}}, name="bm25"), "-", format="csv")
    topic,doc,score,rank,system
    q,d 2,3.5,1,bm25
    q,d 1,2.0,2,bm25
    """
    check_choice("format", format, ("auto", "trec", *WRITERS))
    form = format if format != "auto" else FORMAT_OF_SUFFIX.get(Source(fspath(path)).suffix, "trec")
    if limit is not None:
        check_integer("limit", limit, 1)
    if metadata and form != "trec":
        raise PolicyError(f"metadata can be written only in the format trec, got {form}")
    run = run if isinstance(run, Run) else read_run(run)
    order = order_documents(run, "trec")
    rows = order.rows
    frame = run.to_polars()[rows].with_columns(rank=pl.Series(order.compute_ranks(rows)))
    if limit is not None:
        frame = frame.filter(pl.col("rank") <= min(limit, len(frame)))
    run.warn_of_empty_topics()
    if form != "trec":
        table_with_names = frame.select("topic", "doc", "score", "rank", system=pl.lit(run.name))
        write_table(table_with_names, path, form)
        return
    # Scores are written so that they read back as the same 64 bits.
    q0, tag = pl.lit("Q0").alias("q0"), pl.lit(run.name).alias("tag")
    table = frame.select("topic", q0, "doc", "rank", "score", tag)
    write_lines(table, path, head=format_header(run.metadata_source) if metadata else b"")


def write_qrels(qrels: Any, path: str | PathLike[str], *, format: str = "auto") -> None:
    """Write judgments with all columns, in order; the suffix selects the compression, if any.

    Parameters
    ----------
    qrels
        Judgments, in any form that :func:`read_qrels` reads.
    path
        File to write (`.gz`, `.bz2`, `.xz`, `.zst` are compressed), or `-` for standard output.
    format
        One of `trec`, `prels`, `xqrels`, `csv`, `tsv`, `json`, `jsonl`, `parquet`. By default the
        format of the suffix. Other files have lines of text, in the format with all columns:
        `xqrels` with `stratum`, `prels` with `inclusion`, else `trec`. To read `xqrels` or `prels`,
        pass the format to :func:`read_qrels`.

    Raises
    ------
    CranfieldError
        If the format cannot represent a column, or requires a column that is absent; in text, as
        for :func:`write_run`.
    InputError
        If the judgments cannot be read, or the file cannot be written.
    PolicyError
        For an unknown format.

    Examples
    --------
    >>> import cranfield as cf
    >>> rows = [{"topic": "q", "doc": "d", "grade": 1, "stratum": "a", "inclusion": 0.5}]
    >>> cf.write_qrels(cf.read_qrels(rows), "sample.txt")
    Traceback (most recent call last):
    cranfield.CranfieldError: no text format has both columns stratum and inclusion; use one of: ...
    """
    check_choice("format", format, ("auto", *_TEXT_LAYOUTS, *WRITERS))
    frame = (qrels if isinstance(qrels, Qrels) else read_qrels(qrels)).to_polars()
    form = format if format != "auto" else FORMAT_OF_SUFFIX.get(Source(fspath(path)).suffix, "")
    if not form:
        forms = [name for name, column in SAMPLING_COLUMNS.items() if column in frame.columns]
        if len(forms) > 1:
            pair = " and ".join(SAMPLING_COLUMNS.values())
            raise CranfieldError(f"no text format has both columns {pair}; {_FORMATS_HINT}")
        form = forms[0] if forms else "trec"
    if form not in _TEXT_LAYOUTS:
        write_table(frame, path, form)
        return
    layout = _TEXT_LAYOUTS[form]
    if extra_names := [
        quote(name) for name in frame.columns if name not in layout.selected_columns
    ]:
        raise CranfieldError(f"the format {form} has no column {extra_names[0]}; {_FORMATS_HINT}")
    required = [name for name in layout.selected_columns if name != "subtopic"]
    if missing_names := [quote(name) for name in required if name not in frame.columns]:
        raise CranfieldError(
            f"the format {form} requires judgments with a column {missing_names[0]}"
        )
    # Judgments may lack the columns of the iteration and of the sampling method.
    columns = {name: name if name in frame.columns else pl.lit("0") for name in layout.columns}
    write_lines(frame.select(**columns), path)


def write_table(frame: pl.DataFrame, path: str | PathLike[str], form: str) -> None:
    """Write a data frame in a format with named columns."""
    with _open_output(path) as out:
        WRITERS[form](frame, out)


def write_lines(table: pl.DataFrame, path: str | PathLike[str], *, head: bytes = b"") -> None:
    """Write a table with a column `topic` as lines with blanks between columns, after `head`."""
    for column in table.select(pl.col(pl.String)):
        invalid = column.filter(column.str.contains(r"[ \t\v\f\r\n]") | (column == ""))
        if invalid.len():
            reason = f"{column.name} {quote(invalid[0])} is empty or contains a blank"
            raise CranfieldError(f"{reason}; {_FORMATS_HINT}")
    for prefix, description in (("#", "a comment"), ("\ufeff", "a byte order mark")):
        invalid = table["topic"].filter(table["topic"].str.starts_with(prefix))
        if invalid.len():
            reason = f"a topic must not begin with {quote(prefix)}, which would be read as"
            raise CranfieldError(f"{reason} {description}, got {quote(invalid[0])}")
    with _open_output(path) as out:
        out.write(head)
        for start in range(0, max(1, table.height), _BLOCK):
            rows = table[start : start + _BLOCK]
            rows.write_csv(out, include_header=False, separator=" ", quote_style="never")


@contextmanager
def _open_output(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file, compressed by its suffix, or standard output; write when the context ends."""
    compressor = find_compressor(fspath(path))
    if compressor is None and fspath(path) != "-":
        with open_atomically(path) as file:
            yield file
        return
    text = BytesIO()
    yield text
    data = text.getvalue() if compressor is None else compressor(text.getvalue())
    if fspath(path) == "-":
        # Earlier output is written first. The standard output of notebooks accepts text only.
        sys.stdout.flush()
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(data)
        else:
            sys.stdout.write(data.decode(errors="backslashreplace"))
        return
    with open_atomically(path) as file:
        file.write(data)
