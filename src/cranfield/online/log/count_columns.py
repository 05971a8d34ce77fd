"""Columns that count or weigh rows: logs are read row by row, so these columns are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.online.log.cells import series_of
from cranfield.sources.schemas import spelt
from cranfield.sources.values import Cells

COUNT_COLUMNS = (
    "impressions n_impressions num_impressions number_of_impressions impression_count"
    " total_impressions views n_views view_count page_views shows searches n_searches search_count"
    " query_count count counts n freq frequency weight weights sample_weight"
)
"""Names of columns that say how many rows of a log a row stands for."""

Largest = Callable[[int], float | None]
"""Returns the value farthest from 1 in a column, by its place; None without numbers."""


def refuse_counts(
    names: Sequence[object], largest: Largest, source: str, row: str, others: str = ""
) -> None:
    """Refuse a table in which some row stands for more or less than one row.

    Parameters
    ----------
    row
        The thing that a row is, such as a shown result.
    others
        Further names of counts in this kind of table.
    """
    counts = {spelt(name) for name in f"{COUNT_COLUMNS} {others}".split()}
    for place, name in enumerate(names):
        if spelt(name) in counts and (value := largest(place)) not in (None, 1):
            raise InputError(
                f"expected one row per {row}, got a column {quoted(name)} of counts or weights"
                f" (such as {value:g}); aggregated logs are not supported: write one row per {row},"
                " or remove the column if it does not count rows",
                source=source,
            )


def largest_of(cells: Callable[[int], Cells]) -> Largest:
    """Return the function that looks into the columns of a table in memory."""

    def largest(place: int) -> float | None:
        values = cells(place)
        series = values if isinstance(values, pl.Series) else series_of(values)
        return _farthest(nw.from_native(series.alias("cell").to_frame().lazy()), "cell")

    return largest


def largest_of_lazy(table: nw.LazyFrame[Any]) -> Largest:
    """Return the function that looks into the columns of a lazy table of any engine."""
    names = table.collect_schema().names()
    return lambda place: _farthest(table, names[place])


def _farthest(table: nw.LazyFrame[Any], name: str) -> float | None:
    native, kind = table.to_native(), table.collect_schema()[name]
    if kind == nw.String and isinstance(native, pl.LazyFrame):
        digits = pl.col(name).str.replace_all(r"[,\s]", "")
        table = nw.from_native(native.select(digits.cast(pl.Float64, strict=False)))
    elif not kind.is_numeric() and kind != nw.Boolean:
        return None
    number = nw.col(name).cast(nw.Float64)
    ends = table.select(low=number.min(), high=number.max()).collect(backend="polars").to_native()
    numbers = [end for end in ends.row(0) if end is not None and isfinite(end)]
    return max(numbers, key=lambda number: abs(number - 1), default=None)
