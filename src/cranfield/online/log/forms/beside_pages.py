"""Tables of results and of clicks, told apart by what they hold."""

from __future__ import annotations

from typing import Any

import polars as pl

from cranfield.base.errors import InputError, warn
from cranfield.online.log import tables
from cranfield.sources.tables import Table

OF_CLICKS = frozenset({"time", "end", "dwell", "censored", "clicks"})
"""Columns that only clicks have."""


def told_apart(data: Any) -> tuple[Any, Any]:
    """Return a table as results or as clicks, whichever it holds; None is the other one."""
    if tables.is_blank_file(data):
        return None, data
    columns = tables.columns_of(data, tables.CLICKS)
    if not holds_results(tables.opened(columns, tables.CLICKS, empty=True)):
        return None, columns
    warn(
        f"{columns.source}: has all ranks of its pages and no times, and is taken as the results;"
        " results=FILE or clicks=FILE says which it is"
    )
    return columns, None


def holds_results(clicks: Table) -> bool:
    """Tell whether what was read as clicks has each rank of its pages once, down to some rank."""
    names = {*clicks.names}
    if not {"rank", "doc"} <= names or names & OF_CLICKS:
        return False
    rank = pl.col("rank")
    found = clicks.frame.group_by("page").agg(
        rank.max().alias("last"), whole=(pl.len() == rank.max()) & (rank.n_unique() == pl.len())
    )
    # Users who click the first result only leave all ranks from 1 too.
    return bool(found["whole"].all() and (found["last"] > 1).any())


def check_order(results: Table | None, clicks: Table | None) -> None:
    """Refuse clicks on more results than there are, where they look like the results."""
    if results is None or clicks is None or clicks.frame.height <= results.frame.height:
        return
    if holds_results(clicks):
        raise InputError(
            f"has more rows than {results.source}, all ranks of its pages and no times: these are"
            " the results; the tables are pages, results and clicks, in this order",
            source=clicks.source,
        )
