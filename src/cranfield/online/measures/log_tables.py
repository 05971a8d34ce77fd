"""A log as lazy tables of any engine: of data frames, of files, or of a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.online.log.query_log import NOT_TOLD, QueryLog
from cranfield.online.log.tables import OF_DATABASES, SCHEMAS, refuse_lazy_counts

NAMES = ("pages", "results", "clicks")
NEEDED = {"pages": ("page", "query"), "results": ("page", "rank"), "clicks": ("page", "rank")}
"""Columns without which a table is none."""


LONGEST = 1e9
"""Seconds of dwell; what is longer, or not above 0, is not known."""


@dataclass(frozen=True)
class LogTables:
    """Pages, results and clicks, by `page`; what is not known is None.

    Clicks have an `order`, which is that of time where it is known.
    """

    tables: Mapping[str, nw.LazyFrame[Any] | None]
    source: str

    @cached_property
    def columns(self) -> dict[str, frozenset[str]]:
        """Columns of each table; none of one that is not known."""
        return {
            name: frozenset(() if table is None else table.collect_schema().names())
            for name, table in self.tables.items()
        }

    def lacks(self, needs: Iterable[tuple[str, str]]) -> str:
        """Say what is not there of columns that are needed; nothing where all are."""
        for table, column in sorted(needs):
            if self.tables[table] is None:
                return NOT_TOLD[table]
            if column not in self.columns[table]:
                return f"the {column} of {table}"
        return ""

    def table(self, name: str) -> nw.LazyFrame[Any]:
        table = self.tables[name]
        assert table is not None, name
        return table

    @cached_property
    def rank_rates(self) -> dict[int, float]:
        """Share of the shown results at each rank that were clicked."""
        clicked = self.table("clicks").select("page", "rank").unique()
        shown, hit = (
            collected(table.group_by("rank").agg(nw.len().alias("number")))
            for table in (self.table("results"), clicked)
        )
        both = shown.join(hit, on="rank", how="left", suffix="_clicked").sort("rank")
        rate = both["number_clicked"].fill_null(0) / both["number"]
        return dict(zip(both["rank"].to_list(), rate.to_list(), strict=True))


def collected(table: nw.LazyFrame[Any]) -> pl.DataFrame:
    """Compute a table, by the streaming engine where it is polars that does."""
    native = table.to_native()
    if isinstance(native, pl.LazyFrame):
        found = native.collect(engine="streaming")
    else:
        found = table.collect(backend="polars").to_native()
    # Sums of whole numbers may come as decimals, and times in the zone of the database.
    return found.with_columns(
        pl.col(pl.Decimal).cast(pl.Int64),
        *(
            pl.col(name).dt.cast_time_unit("us").dt.convert_time_zone("UTC")
            if kind.time_zone
            else pl.col(name).dt.cast_time_unit("us").dt.replace_time_zone("UTC")
            for name, kind in found.schema.items()
            if isinstance(kind, pl.Datetime)
        ),
    )


def tables_of(log: QueryLog | Mapping[str, Any] | LogTables) -> LogTables:
    """Return the tables of a log, or of a mapping to tables of any library that narwhals knows."""
    if isinstance(log, LogTables):
        return log
    if isinstance(log, QueryLog):
        pages = log.pages if "page" in log.pages.columns else _numbered(log.pages, "page")
        given: Mapping[str, Any] = {
            "pages": pages.lazy(),
            "results": log.results.lazy() if log.results.height else None,
            "clicks": _numbered(log.clicks, "order").lazy() if log.tells_clicks else None,
        }
        source = log.source
    elif isinstance(log, Mapping):
        given, source = log, "tables"
    else:
        raise InputError(f"{type(log).__name__} is no log, and no mapping to its tables")
    if odd := [name for name in given if name not in NAMES]:
        raise InputError(
            f"no table of a log is called {quoted(odd[0])}; there are pages, results and clicks",
            source=source,
        )
    tables = {name: _lazy(given.get(name), name, source) for name in NAMES}
    if tables["pages"] is None:
        raise InputError("a log has pages", source=source)
    if isinstance(log, Mapping):
        _check(tables, source)
    if (clicks := tables["clicks"]) is not None:
        tables["clicks"] = _complete(clicks)
    return LogTables(tables, source)


def _numbered(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    return frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(name))


def _lazy(table: Any, name: str, source: str) -> nw.LazyFrame[Any] | None:
    if table is None:
        return None
    try:
        lazy: nw.LazyFrame[Any] = nw.from_native(table).lazy()
    except TypeError:
        raise InputError(f"{name}: {type(table).__name__} is no table", source=source) from None
    have = lazy.collect_schema().names()
    for column in NEEDED[name]:
        if column not in have:
            raise InputError(f"{name} have no column {column}", source=source)
    return lazy


def _check(tables: Mapping[str, nw.LazyFrame[Any] | None], source: str) -> None:
    """Refuse columns of a wrong type, keys that cannot meet, and ranks below 1."""
    of_pages: Any = None
    for name, table in tables.items():
        if table is None:
            continue
        types = table.collect_schema()
        refuse_lazy_counts(table, SCHEMAS[name], source)
        for column in ("rank", "time", "dwell", "censored"):
            what, fits = OF_DATABASES[column]
            if column in types and not fits(types[column]):
                reason = f"the {column} of {name} is {what}, not {types[column]}"
                raise InputError(reason, source=source)
        page = "whole" if types["page"].is_integer() else types["page"]
        of_pages = of_pages or page
        if page != of_pages:
            raise InputError(
                f"the page of {name} is {types['page']}, and that of pages is not", source=source
            )
        if name != "pages":
            wrong = ~(nw.col("rank") >= 1).fill_null(False)
            number = collected(table.filter(wrong).select(nw.len())).item()
            if number:
                raise InputError(f"{number:,} {name} have no rank from 1", source=source)


def _complete(clicks: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Give clicks their order, and say of each dwell whether it is censored."""
    have = clicks.collect_schema().names()
    if "order" not in have and "time" in have:
        clicks = clicks.with_columns(nw.col("time").alias("order"))
    if "dwell" in have:
        known = nw.col("censored").fill_null(False) if "censored" in have else nw.lit(False)
        dwell = nw.col("dwell").cast(nw.Float64)
        clicks = clicks.with_columns(
            nw.when((dwell > 0) & (dwell <= LONGEST)).then(dwell).alias("dwell"),
            known.alias("censored"),
        )
    return clicks
