"""Small tables from anywhere: files of any usual form, data frames, rows, columns."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any

import polars as pl

from cranfield.base.errors import InputError
from cranfield.base.words import counted
from cranfield.collection.files.columns import typed
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source


def small_table(data: Any, kind: str) -> tuple[pl.DataFrame, str]:
    """Read any kind of input as typed columns; with a name for messages.

    Parameters
    ----------
    data
        A path, a data frame, rows, or a dict of columns.
    kind
        A kind of table that `KINDS` in :mod:`cranfield.collection.files.tables` knows. Lines of
        text have its columns in that order, separated by blanks or semicolons.
    """
    # Only what is given besides judgments needs it; it would slow down every start.
    from cranfield.collection.files import tables

    if isinstance(data, dict):
        return typed(data, kind, kind), kind
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        if source.suffix in FORMAT_OF_SUFFIX:
            return tables.from_file(source, kind, FORMAT_OF_SUFFIX[source.suffix]), source.name
        return _lines(source, kind, *tables.KINDS[kind]), source.name
    if hasattr(type(data), "columns") or hasattr(type(data), "column_names"):
        return tables.from_frame(data, kind, kind), kind
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        return tables.from_records(data, kind, kind), kind
    raise InputError(f"{type(data).__name__} cannot be read as a {kind}")


def _lines(
    source: Source, kind: str, required: tuple[str, ...], optional: tuple[str, ...]
) -> pl.DataFrame:
    """Read lines of values separated by blanks, or by semicolons."""
    names = (*required, *optional)
    rows: list[list[str]] = []
    for number, raw in enumerate(source.read().split(b"\n"), 1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", source=source.name, line=number) from None
        if not line or line.startswith("#"):
            continue
        fields = [one.strip() for one in line.split(";")] if ";" in line else line.split()
        if not len(required) <= len(fields) <= len(names):
            raise InputError(
                f"{counted(len(fields), 'column')} where a line of a {kind} has"
                f" {' '.join(required)}" + "".join(f" [{one}]" for one in optional),
                source=source.name,
                line=number,
            )
        if rows and len(fields) != len(rows[0]):
            raise InputError(
                f"{counted(len(fields), 'column')} after lines of {len(rows[0])}",
                source=source.name,
                line=number,
            )
        rows.append(fields)
    if not rows:
        raise InputError(f"is empty: a {kind} has at least one line", source=source.name)
    used = names[: len(rows[0])]
    return typed({name: [row[i] for row in rows] for i, name in enumerate(used)}, kind, source.name)
