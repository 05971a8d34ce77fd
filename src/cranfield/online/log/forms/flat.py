"""One table with a row a shown result, taken apart into pages, results and clicks."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import polars as pl

from cranfield.base.errors import CranfieldWarning, InputError, quoted
from cranfield.online.log.linking import placed
from cranfield.online.log.query_log import CLICKS, PAGES, RESULTS
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
    results = _part(table, shown, ["page", *(name for name in RESULTS if name in table.names)])
    number = _number(table)
    if number is None and shown.any() and not clicks:
        problem = (
            f"{table.source}: has no column of clicks with values; clicks are taken as unknown"
        )
        warnings.warn(CranfieldWarning(problem), stacklevel=4)
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


def _number(table: Table) -> pl.Series | None:
    """Tell how often each row was clicked; None where the table does not say of any."""
    known = table.frame.select("clicks", "click_time").with_columns(pl.all().is_not_null())
    if known["clicks"].any():
        return table.frame["clicks"].fill_null(0)
    if known["click_time"].any():
        return known["click_time"].cast(pl.Int64)
    return None


def _clicks(table: Table, number: pl.Series) -> Table:
    wanted = ("rank", "doc", "dwell", "censored")
    names: list[str] = [name for name in wanted if name in table.names]
    clicks = _part(table, number > 0, ["page", *names])
    frame, names = clicks.frame, [*clicks.names]
    if "click_time" in table.names:
        frame = frame.with_columns(table.frame["click_time"].filter(number > 0).alias("time"))
        names.append("time")
    times = number.filter(number > 0)
    lines = clicks.lines
    if (times > 1).any():
        row = pl.int_range(times.len(), eager=True).repeat_by(times).explode()
        # The time and the dwell of a row are those of its first click.
        own = [name for name in ("time", "dwell", "censored") if name in names]
        frame = frame[row].with_columns(pl.when(row.is_first_distinct()).then(pl.col(own)))
        lines = None if lines is None else pl.Series(lines)[row].to_list()
    for name in set(CLICKS) - set(frame.columns):
        frame = frame.with_columns(pl.lit(None, CLICKS[name]).alias(name))
    return Table(frame, table.source, tuple(names), lines)


def _part(table: Table, where: pl.Series, names: list[str]) -> Table:
    whole = bool(where.all())
    frame = table.frame if whole else table.frame.filter(where)
    lines = table.lines
    if lines is not None and not whole:
        lines = pl.Series(lines, dtype=pl.Int64).filter(where).to_list()
    for name in ("rank", "doc"):
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(None).alias(name))
    return Table(frame.select({*names, "rank", "doc"}), table.source, tuple(names), lines)
