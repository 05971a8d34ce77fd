"""One table with a row a shown result, taken apart into pages, results and clicks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.words import counted
from cranfield.online.log import tables
from cranfield.online.log.linking import placed
from cranfield.online.log.query_log import PAGES, RESULTS
from cranfield.sources.tables import Table


def parted(table: Table, clicks: bool = False) -> tuple[Table, Table, Table | None]:
    """Take a flat table apart; a page without results is a row without a document.

    clicks: whether there is a table of clicks beside it.
    """
    frame = table.frame
    of_page = [name for name in PAGES if name in table.names]
    pages = frame.select("page", *of_page).unique("page", keep="first", maintain_order=True)
    pages = pages.rename({"page": "id"})
    _same(table, pages, of_page)
    shown = frame["doc"].is_not_null()
    if "doc" not in table.names and "rank" in table.names:
        raise InputError("has ranks, and no doc column", source=table.source)
    if "rank" in table.names:
        ranked = frame["rank"].is_not_null()
        table.refuse(~shown & ranked, lambda row: "has a rank, and no document")
        table.refuse(shown & ~ranked, lambda row: "has no rank")
    results = replace(
        tables.rows_of(table, shown.arg_true()),
        names=tuple(name for name in RESULTS if name in table.names),
    )
    number = _number(table, shown)
    if number is None and shown.any() and not clicks:
        problem = "has no column of clicks with values; clicks are taken as unknown"
        warn(f"{table.source}: {problem}", stacklevel=4)
    if number is not None:
        table.refuse((number > 0) & ~shown, lambda row: "is clicked, and has no document")
    made = Table(pages, table.source, ("id", *of_page))
    return made, results, None if number is None else _clicks(table, number)


def _same(table: Table, pages: pl.DataFrame, names: list[str]) -> None:
    """Refuse a page whose rows differ in what belongs to the page."""
    place = pages.select("id", page=pl.int_range(pl.len(), dtype=pl.Int64))
    of_row = placed(table.frame, place)["page"]
    for name in names:
        given = table.frame[name]
        other = given.ne_missing(pages[name].gather(of_row))
        table.refuse(other, partial(_two, name=name, pages=pages))


def _two(row: dict[str, Any], name: str, pages: pl.DataFrame) -> str:
    first = pages.filter(pl.col("id") == row["page"])[name][0]
    return f"page {quoted(row['page'])} has {name} {quoted(first)} and {quoted(row[name])}"


def _number(table: Table, shown: pl.Series) -> pl.Series | None:
    """Tell how often each row was clicked; None where the table does not say of any."""
    known = table.frame.select("clicks", "click_time").with_columns(pl.all().is_not_null())
    if known["clicks"].any():
        clicks = table.frame["clicks"]
        missing = int((clicks.is_null() & shown).sum())
        if missing:
            # An empty cell is how joined tables say that there was no click.
            empty = f"{counted(missing, 'row')} without a number of clicks"
            warn(f"{table.source}: {empty}; read as no click", stacklevel=4)
        return clicks.fill_null(0)
    if known["click_time"].any():
        return known["click_time"].cast(pl.Int64)
    return None


def _clicks(table: Table, number: pl.Series) -> Table:
    old = {"click_time": "time"}
    names = (*("page", "rank", "doc"), *("click_time", "dwell", "censored"))
    own = tuple(old.get(name, name) for name in names if name in table.names)
    frame = table.frame.select(names).rename(old).with_columns(clicks=number)
    return replace(table, frame=frame, names=(*own, "clicks"))
