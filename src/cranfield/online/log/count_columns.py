"""Columns that count or weigh rows: logs are read row by row, so these columns are refused."""

from __future__ import annotations

import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.online.log.cells import series_of
from cranfield.sources.columns import Columns
from cranfield.sources.schemas import spelt

COUNT_COLUMNS = (
    "impressions n_impressions num_impressions number_of_impressions impression_count"
    " total_impressions views n_views view_count page_views shows searches n_searches search_count"
    " query_count count counts n freq frequency weight weights sample_weight"
)
"""Names of columns that say how many rows of a log a row stands for."""


def refuse_counts(columns: Columns, row: str, others: str = "") -> None:
    """Refuse a table in which some row stands for more or less than one `row`.

    others: further names of counts in this kind of table.
    """
    counts = {spelt(name) for name in f"{COUNT_COLUMNS} {others}".split()}
    for place, name in enumerate(columns.names):
        if spelt(name) not in counts:
            continue
        cells = columns.cells(place)
        values = cells if isinstance(cells, pl.Series) else series_of(cells)
        if values.dtype == pl.String:
            values = values.str.replace_all(r"[,\s]", "")
        if values.dtype.is_nested() or values.dtype.is_temporal():
            continue
        numbers = values.cast(pl.Float64, strict=False)
        numbers = numbers.filter(numbers.is_finite() & (numbers != 1))
        if numbers.len():
            raise InputError(
                f"expected one row per {row}, got a column {quoted(name)} of counts or weights"
                f" (such as {numbers[0]:g}); aggregated logs are not supported: write one row per"
                f" {row}, or remove the column if it does not count rows",
                source=columns.source,
            )
