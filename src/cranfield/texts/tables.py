"""Tables of nuggets, matches, citations and texts: from files, data frames and records."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from os import PathLike, fspath
from typing import Any

from cranfield.base.errors import InputError, quoted
from cranfield.sources.chunks import Source
from cranfield.sources.values import is_number
from cranfield.texts.content import content, decoded, json_lines, lines_of, parsed_json

COLUMNS = {
    "topic": ("topic", "topicid", "query", "queryid", "qid", "question", "questionid"),
    "system": ("system", "run", "runid", "runtag", "tag"),
    "nugget": ("nugget", "nuggetid", "iunit", "iunitid"),
    "weight": ("weight",),
    "vital_length": ("vitallength", "vitalstringlength"),
    "importance": ("importance", "label"),
    "assessor": ("assessor", "judge"),
    "position": ("position", "offset", "pos"),
    "support": ("support", "assignment"),
    "length": ("length", "answerlength", "syslen"),
    "text": ("text", "answer", "summary", "reference"),
    "sentence": ("sentence", "sentenceid", "statement"),
    "citation": ("citation", "doc", "docid", "segment"),
    "joint": ("joint",),
    "without": ("without",),
}
"""Usual names of columns, in lower case without blanks, hyphens and underscores."""

LARGEST = 1e15
"""The largest weight, length or position; sums and products of such stay finite."""


@dataclass(frozen=True)
class Table:
    """Rows with named cells, and the line of each row where there are lines.

    Attributes
    ----------
    source
        Name to show in messages.
    names
        The columns that were found.
    rows
        The cells of each row, by name; a cell that is not there is None.
    lines
        Line of each row, or None.
    """

    source: str
    names: tuple[str, ...]
    rows: list[dict[str, Any]]
    lines: Sequence[int | None]

    def wrong(self, row: int, reason: str, topic: str | None = None) -> InputError:
        """Make the error that names the row."""
        line = self.lines[row]
        where = reason if line is not None else f"row {row + 1}: {reason}"
        return InputError(where, source=self.source, line=line, topic=topic)

    def label(self, row: int, name: str) -> str:
        """Return the name in a cell; there has to be one."""
        cell = self.rows[row].get(name)
        if absent(cell):
            raise self.wrong(row, f"has no {name.replace('_', ' ')}")
        return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)

    def number(self, row: int, name: str) -> float:
        """Return the number in a cell, from 0; NaN where there is none."""
        cell = self.rows[row].get(name)
        if absent(cell):
            return nan
        value = finite(cell)
        if value is None or not 0 <= value <= LARGEST:
            wanted = "a number of at least 0" if value is None or value < 0 else "a sensible number"
            topic = str(self.rows[row].get("topic"))
            shown = name.replace("_", " ")
            raise self.wrong(row, f"{shown} {quoted(cell)} is not {wanted}", topic)
        return value


def absent(cell: Any) -> bool:
    """Tell whether a cell is empty."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return True
    return not cell.strip() if isinstance(cell, str) else isinstance(cell, float) and isnan(cell)


def finite(cell: Any) -> float | None:
    """Return a cell as a finite number, or None.

    Examples
    --------
    >>> finite("1e2"), finite("1_0"), finite(True), finite(float("inf"))
    (100.0, None, None, None)
    """
    if isinstance(cell, str):
        return float(cell) if is_number(cell.strip()) else None
    if isinstance(cell, (bool, bytes, bytearray)):
        return None
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if isfinite(value) else None


def read_table(
    data: Any,
    what: str,
    required: Sequence[str],
    optional: Sequence[str] = (),
    plain: Sequence[str] = (),
    least: int | None = None,
) -> Table:
    """Read a table from a file, a data frame, or an iterable of records.

    Parameters
    ----------
    data
        A path (`-` is standard input; packed files are unpacked), a data frame of any library, or
        an iterable of mappings or of tuples in the order of `plain`.
    what
        What it holds, for messages.
    required, optional
        Columns that it must have, and those that it may have; others are not read.
    plain
        Columns of a text file without a head, separated by any blanks.
    least
        How many of `plain` each line must have; all of them by default.

    Raises
    ------
    InputError
        Naming the file, the line and the reason.
    """
    if isinstance(data, (str, PathLike)):
        names, rows, lines, source = _from_file(Source(fspath(data)), what, plain, least)
    else:
        source, lines = what, None
        if hasattr(type(data), "columns") or hasattr(type(data), "column_names"):
            names, rows = _from_frame(data, source)
        elif isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray, Mapping)):
            names, rows = _from_records(list(data), source, plain)
        else:
            raise InputError(f"{type(data).__name__} cannot be read as {what}")
    if not rows:
        raise InputError("is empty", source=source)
    found = _matched(names, required, optional, source)
    cells = [{name: row[k] for name, k in found.items()} for row in rows]
    return Table(source, tuple(found), cells, lines or [None] * len(rows))


Cells = list[list[Any]]


def _from_file(
    source: Source, what: str, plain: Sequence[str], least: int | None
) -> tuple[list[str], Cells, list[int] | None, str]:
    raw = content(source)
    name = source.name
    if source.suffix == ".parquet":
        import polars as pl

        try:
            names, rows = _from_frame(pl.read_parquet(io.BytesIO(raw)), name)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = (str(error).splitlines() or ["it is damaged"])[0]
            raise InputError(f"is no readable Parquet: {reason}", source=name) from None
        return names, rows, None, name
    text = decoded(raw, name)
    if source.suffix in {".jsonl", ".ndjson"}:
        pairs = list(json_lines(text, name))
        names, rows = _from_records([row for _, row in pairs], name, (), [k for k, _ in pairs])
        return names, rows, [line for line, _ in pairs], name
    if source.suffix == ".json":
        parsed = parsed_json(text, name)
        if not isinstance(parsed, list):
            raise InputError(f"holds no array of {what}", source=name)
        names, rows = _from_records(parsed, name, ())
        return names, rows, None, name
    if source.suffix in {".csv", ".tsv"} or not plain:
        return (*_delimited(text, name, "\t" if source.suffix == ".tsv" else ","), name)
    return (*_plain(text, name, what, plain, least), name)


def _plain(
    text: str, source: str, what: str, names: Sequence[str], least: int | None
) -> tuple[list[str], Cells, list[int]]:
    least = len(names) if least is None else least
    rows, numbers = [], []
    for number, line in lines_of(text):
        fields: list[Any] = line.split()
        if len(fields) < least:
            wanted = " ".join(names[:least])
            raise InputError(
                f"{len(fields)} columns where a line of {what} has {least} ({wanted})",
                source=source,
                line=number,
            )
        rows.append([*fields[: len(names)], *[None] * (len(names) - len(fields))])
        numbers.append(number)
    return list(names), rows, numbers


def _delimited(text: str, source: str, separator: str) -> tuple[list[str], Cells, list[int]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows: Cells = []
    numbers: list[int] = []
    start = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(list(row))
                numbers.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"is no proper table: {error}", source=source, line=start) from None
    if not rows:
        raise InputError("is empty", source=source)
    head = rows[0]
    for row, number in zip(rows[1:], numbers[1:], strict=True):
        if len(row) != len(head):
            raise InputError(
                f"{len(row)} cells where the head has {len(head)}", source=source, line=number
            )
    return head, rows[1:], numbers[1:]


def _from_frame(data: Any, source: str) -> tuple[list[str], Cells]:
    import narwhals.stable.v1 as nw

    try:
        frame = nw.from_native(data)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        return [str(name) for name in frame.columns], [list(row) for row in frame.rows()]
    except Exception as error:
        # Each library has its own ways to refuse a frame.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{type(data).__name__} cannot be read: {reason}", source=source) from None


def _from_records(
    records: list[Any], source: str, plain: Sequence[str], lines: list[int] | None = None
) -> tuple[list[str], Cells]:
    for k, one in enumerate(records):
        if not isinstance(one, Mapping) and not (plain and isinstance(one, (tuple, list))):
            where = f"row {k + 1} is" if lines is None else "is"
            line = None if lines is None else lines[k]
            raise InputError(f"{where} {type(one).__name__}, no record", source=source, line=line)
    if not records or isinstance(records[0], Mapping):
        rows = [
            one if isinstance(one, Mapping) else dict(zip(plain, one, strict=False))
            for one in records
        ]
        names = list(dict.fromkeys(str(name) for row in rows for name in row))
        return names, [[row.get(name) for name in names] for row in rows]
    rows_ = [[*one, *[None] * (len(plain) - len(one))][: len(plain)] for one in records]
    return list(plain), rows_


def _matched(
    names: Sequence[str], required: Sequence[str], optional: Sequence[str], source: str
) -> dict[str, int]:
    spelt = [re.sub(r"[\s_.:-]+", "", str(name)).lower() for name in names]
    found: dict[str, int] = {}
    for column in (*required, *optional):
        places = [k for alias in COLUMNS[column] for k, name in enumerate(spelt) if name == alias]
        if places:
            found[column] = places[0]
        elif column in required:
            have = ", ".join(quoted(name) for name in names[:12])
            raise InputError(f"has no column {column}; columns: {have}", source=source)
    return found
