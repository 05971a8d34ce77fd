"""Query logs that need not fit into memory, as lazy tables with checked values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

import narwhals.stable.v2 as nw
import polars as pl

from cranfield.base.errors import InputError, quote
from cranfield.base.text import inflect, list_some
from cranfield.online.log.cells import COUNT_COLUMN, SCHEMAS, ColumnKind
from cranfield.online.log.reading import find_tables
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import (
    Columns,
    check_parquet_file,
    convert_errors,
    insert_index,
    make_row_error,
)
from cranfield.sources.parquet import quiet_panics
from cranfield.sources.schemas import FileColumn, Schema

_ERRORS = (Exception, pl.exceptions.PanicException)
_UNREADABLE = "cannot be read as a table"

_SCANNERS: dict[str, Callable[[str], pl.LazyFrame]] = {
    "parquet": pl.scan_parquet,
    "csv": lambda path: pl.scan_csv(path, infer_schema=False),
    "tsv": lambda path: pl.scan_csv(path, infer_schema=False, separator="\t"),
}

_TEXT_TYPES = {nw.String, nw.Categorical, nw.Enum}
# A description and a test of the type of columns other than text.
_EXPECTED_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("rank", "total_results", "grade"), ("an integer", lambda t: t.is_integer())),
    **dict.fromkeys(("propensity", "dwell"), ("a number", lambda t: t.is_numeric())),
    **dict.fromkeys(("time", "end"), ("a time", lambda t: t == nw.Datetime)),
    "censored": ("true or false", lambda t: t == nw.Boolean),
}
_DEFAULT_TYPE = ("text or an integer", lambda t: t.is_integer() or t in _TEXT_TYPES)


def scan_log(pages: Any, results: Any = None, clicks: Any = None) -> dict[str, nw.LazyFrame[Any]]:
    """Open a log that need not fit into memory, to compute measures.

    Each table is scanned to check its values. Unlike :func:`read_log`, this function does not
    detect anomalies, such as clicks on results that were not shown.

    Parameters
    ----------
    pages
        Table of pages, or a folder with the three tables. A table is an uncompressed file (CSV,
        TSV, Parquet), or a lazy or other frame of any library that narwhals supports, such as a
        relation of DuckDB. Columns may have any of their usual names.
    results, clicks
        Tables of results and clicks, with a column of ranks; None if there is no such table.

    Returns
    -------
    dict
        Lazy tables of narwhals by name: `pages`, and `results` and `clicks` if they are given, all
        with a column `page`.

    Raises
    ------
    InputError
        If a table cannot be read, lacks a required column or value, has a value of an unexpected
        type or out of range, or has a rank more than once on a page of the results.

    Examples
    --------
    >>> import cranfield as cf
    >>> pages = {"page": [1, 2], "query": ["cats", "dogs"]}
    >>> import polars as pl
    >>> scanned = cf.online.scan_log(pl.LazyFrame(pages))
    >>> scanned["pages"].collect().shape
    (2, 2)
    """
    if isinstance(pages, (str, PathLike)) and Path(fspath(pages)).is_dir():
        pages, results, clicks = find_tables(Path(fspath(pages)))
    sources = {"pages": pages, "results": results, "clicks": clicks}
    return {name: _open_table(data, name) for name, data in sources.items() if data is not None}


def _open_table(data: Any, name: str) -> nw.LazyFrame[Any]:
    schema = SCHEMAS[name]
    is_path = isinstance(data, (str, PathLike))
    source = fspath(data) if is_path else schema.kind
    with convert_errors(_UNREADABLE, source, _ERRORS), quiet_panics():
        lazy = nw.from_native(_scan_file(data, schema) if is_path else insert_index(data)).lazy()
        names = lazy.collect_schema().names()
        refuse_lazy_counts(lazy, name, source)
    positions = schema.find_positions(names, source)
    if name != "pages" and "rank" not in positions:
        reason = f"expected a column rank, got {list_some(map(quote, names), 8)}"
        raise InputError(reason, source=source)
    # Unlike in read_log, dwell times are not computed from the ends of clicks.
    columns = [column for column in schema.columns if column.name in {*positions} - {"end"}]
    fields = [column.name for column in columns]
    # Unknown columns, and further columns of the same meaning, are dropped.
    lazy = lazy.select(nw.col(names[positions[field]]).alias(field) for field in fields)
    native = lazy.to_native()
    with convert_errors(_UNREADABLE, source, _ERRORS), quiet_panics():
        if isinstance(native, pl.LazyFrame):
            has_lines = is_path and Source(source).suffix != ".parquet"
            lazy = nw.from_native(_convert_columns(native, columns, source, has_lines)).lazy()
        else:
            check_types(lazy, name, fields, source)
            check_values(lazy, fields, source)
            # Integer keys of pages stay integers; other ids and text fields become text.
            types = lazy.collect_schema()
            keys = {key for key in ("id", "page") if key in fields and types[key].is_integer()}
            text_fields = [field for field in fields if field not in {*_EXPECTED_TYPES, *keys}]
            lazy = lazy.with_columns(nw.col(field).cast(nw.String) for field in text_fields)
    if name == "results":
        counts = lazy.group_by("page", "rank").agg(nw.len().alias("rows"))
        repeats = counts.filter(nw.col("rows") > 1).head(1).collect(backend="polars").to_native()
        if not repeats.is_empty():
            page, rank, _ = repeats.row(0)
            raise InputError(f"page {quote(page)} has rank {rank} more than once", source=source)
    if "dwell" in fields:
        # As in read_log, a dwell of 0 or less is unknown.
        lazy = lazy.with_columns(dwell=nw.when(nw.col("dwell") > 0).then(nw.col("dwell")))
    return lazy.rename({"id": "page"}) if name == "pages" else lazy


def _scan_file(path: Any, schema: Schema) -> pl.LazyFrame:
    source = Source(fspath(path))
    file_format = FORMAT_OF_SUFFIX.get(Path(source.path).suffix.lower(), "")
    if file_format not in _SCANNERS:
        reason = f"a {schema.kind} must be an uncompressed .csv, .tsv or .parquet file"
        raise InputError(reason, source=source.name)
    if file_format == "parquet":
        check_parquet_file(source.path)
    with source.open():
        return _SCANNERS[file_format](source.path)


def _convert_columns(
    lazy: pl.LazyFrame, columns: Sequence[FileColumn], source: str, has_lines: bool
) -> pl.LazyFrame:
    """Convert columns; raise an error for the first invalid value. Integer keys stay integers."""
    types, sample = lazy.collect_schema(), lazy.head(1000).collect()
    kinds = {column.name: cast("ColumnKind", column.kind) for column in columns}
    n_formats = {name: kind.count_formats(sample[name]) for name, kind in kinds.items()}
    # Numbers such as 20260301 are recognised as dates only if all values of a column are in memory.
    for name, kind in kinds.items():
        cells = sample[name]
        if kind.prepare is not None and not cells.equals(pl.Series(kind.prepare(cells))):
            raise InputError(kind.describe_invalid(name, cells.drop_nulls()[0]), source=source)
    while True:
        values, is_invalid = {}, {}
        for name, kind in kinds.items():
            is_integer_key = types[name].is_integer() and name in {"id", "page"}
            value = kind.to_expression(name, types[name], n_formats[name])
            values[name] = value = pl.col(name) if is_integer_key else value
            is_missing = pl.lit(False) if name == "rank" else kind.is_missing(name, types[name])
            is_invalid[name] = value.is_null() & ~is_missing
        tests = lazy.select(test.any().alias(name) for name, test in is_invalid.items())
        has_invalid = tests.collect(engine="streaming").row(0, named=True)
        bad_column = next((column for column in columns if has_invalid[column.name]), None)
        if bad_column is None:
            return lazy.select(**values)
        if n_formats[bad_column.name] is None:
            break
        # Some rows below the sample have other formats.
        n_formats = dict.fromkeys(n_formats)
    bad_rows = lazy.select(bad_column.name).with_row_index().filter(is_invalid[bad_column.name])
    row, cell = bad_rows.head(1).collect().row(0)
    reason = bad_column.kind.describe_invalid(bad_column.noun or bad_column.name, cell)
    raise make_row_error(row, reason, source, range(2, row + 3) if has_lines else None)


def check_types(lazy: nw.LazyFrame[Any], table: str, columns: Collection[str], source: str) -> None:
    types = lazy.collect_schema()
    for name in columns:
        expected, is_valid = _EXPECTED_TYPES.get(name, _DEFAULT_TYPE)
        if name in types and not is_valid(types[name]):
            reason = f"expected {expected} in column {name} of {table}, got {types[name]}"
            raise InputError(reason, source=source)


def check_values(lazy: nw.LazyFrame[Any], columns: Collection[str], source: str) -> None:
    """Refuse missing values of required columns, and numbers out of range."""
    tests = {}
    for name in columns:
        column = nw.col(name)
        if name in {"id", "page", "rank", "doc", "query"}:
            tests[f"{name} is missing"] = column.is_null()
        if name == "rank":
            tests["rank is below 1"] = column < 1
        if name == "propensity":
            tests["propensity is not a number above 0 and at most 1"] = ~(
                (column > 0) & (column <= 1)
            )
    flags = {problem: nw.when(test).then(1).otherwise(0) for problem, test in tests.items()}
    counts = lazy.select(flag.sum().alias(problem) for problem, flag in flags.items())
    for problem, n_rows in counts.collect(backend="polars").to_native().row(0, named=True).items():
        if n_rows:
            raise InputError(f"{problem} in {inflect(int(n_rows), 'row')}", source=source)


def refuse_lazy_counts(table: nw.LazyFrame[Any], name: str, source: str) -> None:
    """Refuse a lazy table with a column of counts or weights."""
    names = table.collect_schema().names()
    if name == "clicks" and (positions := COUNT_COLUMN.find_in(names)):
        problem = f"counts in column {quote(names[positions[0]])}"
        raise InputError(f"expected a row for each click, got {problem}", source=source)

    def read_cells(k: int) -> pl.Series:
        column = table.select(nw.col(names[k])).collect(backend="polars")
        return pl.Series(column.to_native().to_series())

    Columns(source, names, read_cells).check_unused(replace(SCHEMAS[name], is_selected=True), [])
