"""The table of pages: what is known of each, counted on it, and where it stands in its session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import narwhals.stable.v2 as nw
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.online.measures.aggregates import Aggregate, aggregate_of
from cranfield.online.measures.log_tables import LogTables, collected

_ROW = pl.int_range(pl.len(), dtype=pl.Int64)
_SESSION = pl.col("session")
_GOES_ON = _SESSION.eq(_SESSION.shift(-1)).fill_null(False)
_STARTS = _SESSION.ne(_SESSION.shift(1)).fill_null(True)
_IN_SESSION = {
    "place": _ROW - pl.when(_STARTS).then(_ROW).forward_fill() + 1,
    "next_query": pl.when(_GOES_ON).then(pl.col("query").shift(-1)),
    "next_time": pl.when(_GOES_ON).then(pl.col("time").shift(-1)),
    "last_in_session": ~_GOES_ON,
}
"""Of pages in order of session, and of time in each."""

_NEEDS = {
    "place": ("session",),
    "next_query": ("session", "query"),
    "next_time": ("session", "time"),
    "last_in_session": ("session",),
}


def needs_of(columns: Iterable[str]) -> set[tuple[str, str]]:
    """Return the columns of the log, with their table, that columns of pages are made from."""
    needs: set[tuple[str, str]] = set()
    for column in columns:
        if (found := aggregate_of(column)) is not None:
            one, _ = found
            table = "clicks" if one.table == "clicked" else one.table
            needs |= {(table, name) for name in ("page", "rank", *one.needs)}
            if column == "expected":
                needs.add(("clicks", "rank"))
        else:
            needs |= {("pages", name) for name in _NEEDS.get(column, (column,))}
    return needs


def page_table(tables: LogTables, columns: Iterable[str]) -> pl.DataFrame:
    """Return a row a page, in order of time and `page`, with the columns that are asked for.

    Aggregates are computed where the log is; the rest here.
    """
    wanted = dict.fromkeys(columns)
    counts: dict[str, dict[str, tuple[Aggregate, float]]] = {}
    for column in wanted:
        if (found := aggregate_of(column)) is not None:
            counts.setdefault(found[0].table, {})[column] = found
    have = tables.columns["pages"]
    order = ["time", "page"] if "time" in have else ["page"]
    plain = {name for table, name in needs_of(wanted) if table == "pages"}
    chosen = dict.fromkeys((*order, *sorted(plain & have)))
    pages = collected(tables.table("pages").select(*chosen))
    if (wrong := pages["page"].is_duplicated() | pages["page"].is_null()).any():
        page = pages["page"].filter(wrong)[0]
        raise InputError(f"page {quoted(page)} is there twice, or none", source=tables.source)
    for table, chosen_counts in counts.items():
        counted = _by_page(tables, table, chosen_counts)
        # The key of a page may be narrower in one table than in another.
        counted = counted.with_columns(pl.col("page").cast(pages["page"].dtype))
        if counted.height and not counted["page"].is_in(pages["page"].implode()).any():
            what = "clicks" if table == "clicked" else table
            raise InputError(f"expected {what} on pages of the log, got none", source=tables.source)
        pages = pages.join(counted, on="page", how="left")
    zero = [name for own in counts.values() for name, (one, _) in own.items() if one.how == "sum"]
    pages = pages.sort(order, nulls_last=False).with_columns(pl.col(zero).fill_null(0))
    asked = [name for name in _IN_SESSION if name in wanted]
    return pages.hstack(_in_session(pages, asked)) if asked else pages


def _in_session(pages: pl.DataFrame, asked: list[str]) -> list[pl.Series]:
    """Say where pages, in order of time, stand in their session; null of no session."""
    needed = sorted({name for one in asked for name in _NEEDS[one]})
    inside = pl.col("session").is_not_null()
    return (
        pages.select(*needed, row=_ROW)
        .sort("session", maintain_order=True)
        .select("row", *(pl.when(inside).then(_IN_SESSION[one]).alias(one) for one in asked))
        .sort("row")
        .drop("row")
        .get_columns()
    )


def _by_page(
    tables: LogTables, table: str, counts: Mapping[str, tuple[Aggregate, float]]
) -> pl.DataFrame:
    """Compute aggregates of a table by page."""
    rows = tables.table("clicks" if table == "clicked" else table)
    if table == "clicked":
        rows = rows.select("page", "rank").unique()
    values = (one.row(at, tables).alias(name) for name, (one, at) in counts.items())
    reduced = (getattr(nw.col(name), one.how)() for name, (one, _) in counts.items())
    return collected(rows.select("page", *values).group_by("page").agg(*reduced))
