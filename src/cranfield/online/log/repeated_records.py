"""Pages that were recorded more than once: their records are refused, or the first one is kept."""

from __future__ import annotations

from typing import Any

import polars as pl

from cranfield.base.errors import quoted
from cranfield.sources.tables import Table

DOUBLED = "results logged twice"
REPEATED = "results of a repeated record of their page"


def first_records(
    table: Table, odd: str, *, drop_doubled: bool = True
) -> tuple[Table, dict[str, int]]:
    """Keep the first record of each page in a table of results, and count what is left out.

    The rows of a page, in the order of the table, are a second record from the first rank on that
    was there before; of results without ranks, from the first document on. A row that repeats the
    one above it is the same result logged twice.
    """
    key = "rank" if "rank" in table.names else "doc"
    frame = table.frame.select("page", "doc", key=key)
    run = frame["page"].rle_id()
    heads = frame["page"].filter(run != run.shift(1, fill_value=2**32 - 1))
    page = run if heads.n_unique() == heads.len() else frame["page"].cast(pl.Categorical)
    frame = frame.with_columns(page=page.to_physical().cast(pl.Int64))
    if not _repeats(frame, key):
        return table, {}
    of_page = pl.struct(pl.all()).shift(1).over("page")
    frame = frame.with_columns(doubled=pl.struct(pl.all()).eq_missing(of_page))
    above = pl.int_range(pl.len()).over("page") > 0
    again = ~pl.struct("page", "key").is_first_distinct() | pl.col("doc").is_null()
    # A page without results that has some below was recorded again.
    again |= pl.col("doc").is_null().shift(1).over("page")
    again = above & again & ~pl.col("doubled")
    repeated = frame.select((again.cast(pl.Int64).cum_sum().over("page")) > 0).to_series()
    doubled = frame["doubled"] & ~repeated
    if odd == "refuse":
        table.refuse(repeated | doubled, lambda row: _reason(row, key))
    bad = repeated | doubled if drop_doubled else repeated
    lines = table.lines
    if lines is not None:
        lines = pl.Series(lines, dtype=pl.Int64).filter(~bad).to_list()
    kept = Table(table.frame.filter(~bad), table.source, table.names, lines)
    counts = {DOUBLED: int((doubled & bad).sum()), REPEATED: int(repeated.sum())}
    return kept, {what: number for what, number in counts.items() if number}


def _repeats(frame: pl.DataFrame, key: str) -> bool:
    """Tell whether a key is twice on a page, or a page has results and a row without any."""
    empty = frame["page"].filter(frame["doc"].is_null())
    if frame["page"].is_in(empty.implode()).sum() > empty.n_unique():
        return True
    if key == "rank":
        keys = frame.select(pl.col("page") * 2**32 + pl.col("key")).to_series()
    else:
        keys = frame.select(pl.exclude("doc")).hash_rows()
    keys = keys.drop_nulls().sort()
    return bool((keys == keys.shift(1)).any())


def _reason(row: dict[str, Any], key: str) -> str:
    page = quoted(row["page"])
    if row["doc"] is None or row[key] is None:
        return f"page {page} twice"
    if key == "rank":
        return f"rank {row['rank']} twice on page {page}"
    return f"document {quoted(row['doc'])} twice on page {page}, whose results have no ranks"
