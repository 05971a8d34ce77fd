"""The columns of a run as they are written: text with its line numbers, whatever is wrong with it.

Lines are taken as the readers of runs take them: empty lines and comments count as lines and are
nothing else, and blanks of any kind stand between the columns, or semicolons in format `ntcir`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Ints
from cranfield.collection.files.layouts import RUN
from cranfield.collection.files.regular import (
    all_by_tabs,
    columns_of_lines,
    made_regular,
    separator_of,
)

NAMES = tuple(RUN.columns)
_BLANKS = " \t\v\f\r"


@dataclass(frozen=True)
class RawColumns:
    """Lines of a run, some of them bad.

    frame: the six columns as text; null where that is not known, because the line is broken or the
        bytes are no text.
    lines: number of each line in the file; shape (rows,).
    widths: how many columns each line has; shape (rows,).
    broken: lines that no reader takes apart, of which nothing but a first word is known, as topic;
        shape (rows,).
    undecoded: lines with bytes that are no UTF-8, and the first such byte of each.
    """

    frame: pl.DataFrame
    lines: Ints
    widths: Ints
    broken: Bools
    undecoded: tuple[Ints, Ints]


def raw_columns(
    chunk: bytes, first_line: int, form: str, names: Sequence[str] = NAMES
) -> RawColumns:
    """Take whole lines apart; the form is `trec`, of any columns, or `ntcir`."""
    text, undecoded = _decoded(chunk, first_line)
    if form == "ntcir":
        frame, lines, widths = _semicolons(text, first_line)
    else:
        frame, lines, widths = _blanks(text, first_line, names)
    if undecoded[0].size:
        bad = pl.Series(np.isin(lines, undecoded[0]))
        unknown = bad & pl.col(pl.String).str.contains("\ufffd", literal=True)
        frame = frame.with_columns(pl.when(~unknown).then(pl.col(pl.String)))
    # Readers of blanks take no notice of what stands behind the columns that they know.
    broken = widths != len(names) if form == "ntcir" else widths < len(names)
    return RawColumns(frame, lines, widths, broken, undecoded)


def _decoded(chunk: bytes, first_line: int) -> tuple[bytes, tuple[Ints, Ints]]:
    """Put U+FFFD where bytes are no UTF-8; return the lines of such bytes, the first of each."""
    none = np.empty(0, dtype=np.int64)
    if chunk.isascii():
        return chunk, (none, none)
    try:
        chunk.decode()
    except UnicodeDecodeError:
        pass
    else:
        return chunk, (none, none)
    # Bytes that are no text become lone surrogates, which no text has.
    escaped = chunk.decode(errors="surrogateescape").encode("utf-16-le", "surrogatepass")
    units = np.frombuffer(escaped, "<u2")
    high, low = units >> 10 == 0xD800 >> 10, units >> 10 == 0xDC00 >> 10
    low[1:] &= ~high[:-1]
    places = np.flatnonzero(low)
    ends = np.flatnonzero(units == ord("\n"))
    lines, first = np.unique(np.searchsorted(ends, places), return_index=True)
    values = (units[places[first]] - 0xDC00).astype(np.int64)
    return chunk.decode(errors="replace").encode(), (lines + first_line, values)


def _blanks(text: bytes, first_line: int, names: Sequence[str]) -> tuple[pl.DataFrame, Ints, Ints]:
    schema = dict.fromkeys(names, pl.String)
    if b"\t" in text and b" " in text and all_by_tabs(text, len(names)):
        frame = _read(text, "\t", schema).with_columns(pl.all().str.strip_chars(_BLANKS))
        frame = frame.with_columns(pl.col(names[-1]).str.extract("^[^ ]+", 0))
        return frame, first_line + np.arange(frame.height), np.full(frame.height, len(names))
    separator = separator_of(text)
    numbers = None
    if separator is None:
        text, numbers = made_regular(text)
        separator = " "
    widths = columns_of_lines(text, separator.encode())
    lines = first_line + (np.arange(widths.size) if numbers is None else numbers)
    short = widths < len(names)
    if not short.any():
        return _read(text, separator, schema), lines, widths
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    if data[-1] != ord("\n"):
        ends = np.append(ends, data.size)
    in_short = np.repeat(short, np.diff(np.minimum(ends + 1, data.size), prepend=0))
    whole = _read(data[~in_short].tobytes(), separator, schema)
    topics = _read(data[in_short].tobytes(), separator, {"topic": pl.String})
    frame = pl.concat([whole, topics], how="diagonal")
    order = np.argsort(np.concatenate([np.flatnonzero(~short), np.flatnonzero(short)]))
    return frame[order], lines, widths


def _read(text: bytes, separator: str, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Read regular text of at least so many columns as text."""
    # The first line decides how many columns there are, and the CSV reader would take a mark of
    # byte order away: neither is to happen to a line of the run.
    head = separator.encode().join([b"-"] * len(schema))
    return pl.read_csv(
        head + b"\n" + text,
        has_header=False,
        separator=separator,
        quote_char=None,
        schema=schema,
        truncate_ragged_lines=True,
    )[1:]


def _semicolons(text: bytes, first_line: int) -> tuple[pl.DataFrame, Ints, Ints]:
    all_lines = pl.Series("line", text.decode().split("\n"), dtype=pl.String)
    bare = all_lines.str.strip_chars(_BLANKS)
    kept = (bare != "") & ~bare.str.starts_with("#")
    lines = first_line + kept.arg_true().to_numpy().astype(np.int64)
    text_lines = all_lines.filter(kept).str.strip_chars_end(_BLANKS)
    widths = text_lines.str.count_matches(";", literal=True).to_numpy().astype(np.int64) + 1
    fields = text_lines.str.split_exact(";", len(NAMES) - 1).struct.unnest()
    frame = fields.rename(dict(zip(fields.columns, NAMES, strict=True)))
    # Blanks belong to documents, as in the files of judgments.
    frame = frame.with_columns(pl.exclude("doc").str.strip_chars(_BLANKS))
    known = pl.Series(widths == len(NAMES))
    frame = frame.with_columns(pl.when(known).then(pl.exclude("topic")))
    return frame, lines, widths
