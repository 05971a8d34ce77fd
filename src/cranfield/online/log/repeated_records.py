"""Pages that were recorded more than once: their records are refused, or the first one is kept."""

from __future__ import annotations

from typing import Any

import polars as pl

from cranfield.base.errors import quoted
from cranfield.online.log.tables import rows_of
from cranfield.sources.tables import Table


def first_records(
    table: Table, odd: str, *, drop_doubled: bool = True
) -> tuple[Table, dict[str, int]]:
    """Keep the first record of each page in a table of results, and count what is left out.

    The rows of a page, in the order of the table, are a second record from the first rank on that
    was there before; of results without ranks, from the first document on. A row that repeats the
    one above it is the same result logged twice, which a flat table keeps for its clicks.
    """
    key = "rank" if "rank" in table.names else "doc"
    page = pl.col("page").cast(pl.Categorical).to_physical().cast(pl.Int64)
    frame = table.frame.select("doc", page=page, key=key)
    if not _repeats(frame):
        return table, {}
    empty = pl.col("doc").is_null()
    above = pl.struct(pl.all()).shift(1).over("page")
    frame = frame.with_columns(
        doubled=pl.struct(pl.all()).eq_missing(above),
        # A page without results that has some in another row was recorded again.
        again=~pl.struct("page", "key").is_first_distinct() | empty | empty.shift(1).over("page"),
        first=pl.int_range(pl.len()).over("page") == 0,
    )
    starts = pl.col("again") & ~pl.col("doubled") & ~pl.col("first")
    repeated = frame.select(starts.cast(pl.Int64).cum_sum().over("page") > 0).to_series()
    doubled = frame["doubled"] & ~repeated
    if odd == "refuse":
        table.refuse(repeated | doubled, lambda row: _reason(row, key))
    doubled &= drop_doubled
    good = ~(repeated | doubled)
    counts = {
        "results logged twice": int(doubled.sum()),
        "results of a repeated record of their page": int(repeated.sum()),
    }
    return rows_of(table, good.arg_true()), {
        what: number for what, number in counts.items() if number
    }


def _repeats(frame: pl.DataFrame) -> bool:
    """Tell whether a key is twice on a page, or a page has results and a row without any."""
    empty = frame["page"].filter(frame["doc"].is_null())
    if frame["page"].is_in(empty.unique().implode()).sum() > empty.n_unique():
        return True
    return bool(repeated_rows(frame.select("page", "key")).any())


def repeated_rows(frame: pl.DataFrame) -> pl.Series:
    """Tell which rows are equal to one above."""
    hashes = frame.hash_rows()
    # Sorted, they are compared several times as fast as they are grouped.
    ordered = hashes.sort()
    several = ordered.filter(ordered == ordered.shift(1))
    some = hashes.is_in(several.implode())
    if several.is_empty():
        return some
    first = frame.filter(some).select(pl.struct(pl.all()).is_first_distinct()).to_series()
    return some.scatter(some.arg_true(), ~first)


def _reason(row: dict[str, Any], key: str) -> str:
    page = quoted(row["page"])
    if row["doc"] is None:
        return f"page {page} twice"
    if key == "rank":
        return f"rank {row['rank']} twice on page {page}"
    return f"document {quoted(row['doc'])} twice on page {page}, whose results have no ranks"
