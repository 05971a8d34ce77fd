"""The table of pages: what is counted on each of them.

Each is a value of every row and how the rows of a page become one. Sums are of whole numbers, so
that no engine, order or number of threads changes a bit: times are in microseconds, and what is no
whole number is in units of :data:`UNIT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.online.log.cells import OF_DATABASES, SCHEMAS, refuse_lazy_counts
from cranfield.online.log.query_log import NOT_TOLD, QueryLog

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


UNIT = 2.0**50
"""Parts of a whole that sums of fractions are made of."""

SECOND = 1e6
"""Microseconds."""


@dataclass(frozen=True)
class Aggregate:
    """A number of each page.

    table
        Of what: `results`, `clicks`, or `clicked` results, each once however often it was clicked.
    row
        The value of a row, from a number, such as a rank, and the tables.
    how
        How the rows of a page become one: `sum`, `min` or `max`.
    needs
        Columns of the table that it needs besides page and rank.
    """

    table: str
    row: Callable[[float, LogTables], nw.Expr]
    how: str = "sum"
    needs: tuple[str, ...] = ()


def _one(condition: nw.Expr) -> nw.Expr:
    return nw.when(condition).then(1).otherwise(0)


def _upto(rank: float, _: LogTables) -> nw.Expr:
    return _one(nw.col("rank") <= rank)


def _at(rank: float, _: LogTables) -> nw.Expr:
    return _one(nw.col("rank") == rank)


def _rank(_: float, __: LogTables) -> nw.Expr:
    return nw.col("rank")


def _time(_: float, __: LogTables) -> nw.Expr:
    return nw.col("time")


def _first(_: float, __: LogTables) -> nw.Expr:
    return nw.when(nw.col("order") == nw.col("order").min().over("page")).then(nw.col("rank"))


def _inverse(_: float, __: LogTables) -> nw.Expr:
    return _whole(UNIT / nw.col("rank"))


def _whole(value: nw.Expr) -> nw.Expr:
    return (value + 0.5).floor().cast(nw.Int64)


def _expected(_: float, tables: LogTables) -> nw.Expr:
    rates = tables.rank_rates
    units = [int(rate * UNIT + 0.5) for rate in rates.values()]
    return nw.col("rank").replace_strict(list(rates), units, default=0, return_dtype=nw.Int64)


_DWELL = nw.col("dwell")
_CENSORED = nw.col("censored")


def _sat(seconds: float) -> nw.Expr:
    return seconds <= _DWELL


def _unsure(seconds: float) -> nw.Expr:
    """Tell of a click that its dwell is not known, or only that it was not below so much."""
    return _DWELL.is_null() | (_CENSORED & (seconds > _DWELL))


_OF_DWELL = ("dwell",)

AGGREGATES = {
    "shown": Aggregate("results", _upto),
    "shown_at": Aggregate("results", _at),
    "expected": Aggregate("results", _expected),
    "clicks": Aggregate("clicks", _upto),
    "clicks_at": Aggregate("clicks", _at),
    "clicked": Aggregate("clicked", _upto),
    "clicked_at": Aggregate("clicked", _at),
    "highest": Aggregate("clicks", _rank, "min"),
    "lowest": Aggregate("clicks", _rank, "max"),
    "inverse_ranks": Aggregate("clicks", _inverse),
    "inverse_ranks_once": Aggregate("clicked", _inverse),
    "first_rank": Aggregate("clicks", _first, "min", ("order",)),
    "first_click": Aggregate("clicks", _time, "min", ("time",)),
    "last_click": Aggregate("clicks", _time, "max", ("time",)),
    "dwell": Aggregate(
        "clicks",
        lambda _, __: nw.when(~_CENSORED).then(_whole(_DWELL * SECOND)).otherwise(0),
        needs=_OF_DWELL,
    ),
    "dwells": Aggregate(
        "clicks", lambda _, __: _one(~_DWELL.is_null() & ~_CENSORED), needs=_OF_DWELL
    ),
    "dwells_censored": Aggregate(
        "clicks", lambda _, __: _one(~_DWELL.is_null() & _CENSORED), needs=_OF_DWELL
    ),
    "sat": Aggregate("clicks", lambda number, _: _one(_sat(number)), needs=_OF_DWELL),
    "unsure": Aggregate("clicks", lambda number, _: _one(_unsure(number)), needs=_OF_DWELL),
    "first_sat": Aggregate(
        "clicks",
        lambda number, _: nw.when(_sat(number)).then(nw.col("time")),
        "min",
        ("time", *_OF_DWELL),
    ),
    "first_unsure": Aggregate(
        "clicks",
        lambda number, _: nw.when(_unsure(number)).then(nw.col("time")),
        "min",
        ("time", *_OF_DWELL),
    ),
}
"""By name. A column called `clicked@3` is `clicked` with the number 3; without one, any rank."""

ANY_RANK = 2.0**31


def aggregate_of(column: str) -> tuple[Aggregate, float] | None:
    """Return what a column of the table of pages is, and its number; None of any other column."""
    name, _, number = column.partition("@")
    found = AGGREGATES.get(name)
    return None if found is None else (found, float(number) if number else ANY_RANK)


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
