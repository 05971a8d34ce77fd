"""The table of pages: what is counted on each of them.

Each is a value of every row and how the rows of a page become one. Sums are of whole numbers, so
that no engine, order or number of threads changes a bit: times are in microseconds, and other
numbers are in units of :data:`UNIT`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.online.log.query_log import NOT_TOLD, QueryLog
from cranfield.online.log.scanning import check_types, check_values, refuse_lazy_counts

NEEDED = {"pages": ("page", "query"), "results": ("page", "rank"), "clicks": ("page", "rank")}
"""Required columns by table, in order."""

LONGEST = 1e9
"""Longest dwell in seconds; longer ones, and those not above 0, are unknown."""


@dataclass(frozen=True)
class LogTables:
    """Pages, results and clicks, by `page`; unknown tables are None.

    Clicks have an `order`: that of time where it is known.
    """

    tables: Mapping[str, nw.LazyFrame[Any] | None]
    source: str

    @cached_property
    def columns(self) -> dict[str, frozenset[str]]:
        """Columns of each table; none of an unknown one."""
        return {
            name: frozenset(() if table is None else table.collect_schema().names())
            for name, table in self.tables.items()
        }

    def lacks(self, needs: Iterable[tuple[str, str]]) -> str:
        """Name the first required column that is missing; empty if none is."""
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
        counts = shown.join(hit, on="rank", how="left", suffix="_clicked").sort("rank")
        rate = counts["number_clicked"].fill_null(0) / counts["number"]
        return dict(zip(counts["rank"].to_list(), rate.to_list(), strict=True))


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
        pages, clicks = (
            frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(name))
            for frame, name in ((log.pages, "page"), (log.clicks, "order"))
        )
        results = log.results if log.results.height else None
        log_clicks = clicks if log.has_clicks else None
        frames: Mapping[str, Any] = {"pages": pages, "results": results, "clicks": log_clicks}
        source = log.source
    elif isinstance(log, Mapping):
        frames, source = log, "tables"
    else:
        raise InputError(f"expected a log or a mapping to its tables, got {type(log).__name__}")
    for name in frames:
        if name not in NEEDED:
            known = "expected one of: pages, results, clicks"
            raise InputError(f"unknown table {quoted(name)} of a log; {known}", source=source)
    tables = {name: _lazy(frames[name], name, source) for name in NEEDED if name in frames}
    if tables.get("pages") is None:
        raise InputError("a log must have a table of pages", source=source)
    keys = {}
    for name, table in tables.items() if isinstance(log, Mapping) else ():
        if table is None:
            continue
        # Refuse columns of a wrong type, keys that cannot be joined, and ranks below 1.
        refuse_lazy_counts(table, name, source)
        check_types(table, name, ("rank", "time", "dwell", "censored"), source)
        dtype = table.collect_schema()["page"]
        keys[name] = "an integer" if dtype.is_integer() else str(dtype)
        if keys[name] != keys["pages"]:
            reason = f"the page of pages is {keys['pages']}, and that of {name} is {keys[name]}"
            raise InputError(reason, source=source)
        if name != "pages":
            check_values(table, ("rank",), f"{source}: {name}")
    if (lazy_clicks := tables.get("clicks")) is not None:
        tables["clicks"] = _complete(lazy_clicks)
    return LogTables({name: tables.get(name) for name in NEEDED}, source)


def _lazy(table: Any, name: str, source: str) -> nw.LazyFrame[Any] | None:
    if table is None:
        return None
    try:
        lazy: nw.LazyFrame[Any] = nw.from_native(table).lazy()
    except TypeError:
        raise InputError(
            f"{name}: expected a table, got {type(table).__name__}", source=source
        ) from None
    for column in NEEDED[name]:
        if column not in lazy.collect_schema().names():
            raise InputError(f"{name} have no column {column}", source=source)
    return lazy


def _complete(clicks: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Give clicks their order, and say of each dwell whether it is censored."""
    columns = clicks.collect_schema().names()
    if "order" not in columns and "time" in columns:
        clicks = clicks.with_columns(nw.col("time").alias("order"))
    if "dwell" in columns:
        known = nw.col("censored").fill_null(False) if "censored" in columns else nw.lit(False)
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


class Count(NamedTuple):
    """A number of each page: an expression over rows of a table, reduced by page."""

    table: str  # `results`, `clicks`, or `clicked` results, each once
    row: nw.Expr
    reduce: str = "sum"
    needs: tuple[str, ...] = ()  # Columns of the table besides page and rank


def _one(condition: nw.Expr) -> nw.Expr:
    return nw.when(condition).then(1).otherwise(0)


def _whole(value: nw.Expr) -> nw.Expr:
    return (value + 0.5).floor().cast(nw.Int64)


ANY_RANK = 2.0**31


def count_of(column: str) -> Count | None:
    """Return the definition of a column of the table of pages; None for columns of other kinds.

    A column called `clicked@3` is `clicked` with the number 3; without one, any rank.
    """
    name, _, at = column.partition("@")
    number = float(at) if at else ANY_RANK
    rank, order, time = nw.col("rank"), nw.col("order"), nw.col("time")
    dwell, censored = nw.col("dwell"), nw.col("censored")
    upto, only = _one(rank <= number), _one(rank == number)
    inverse = _whole(UNIT / rank)
    sat = number <= dwell
    # The dwell is unknown, or only known to be at least so long.
    unsure = dwell.is_null() | (censored & (number > dwell))
    times = ("time", "dwell")
    counts = {
        "shown": Count("results", upto),
        "shown_at": Count("results", only),
        # Its row is the click rate at the rank: see _by_page.
        "expected": Count("results", rank),
        "clicks": Count("clicks", upto),
        "clicks_at": Count("clicks", only),
        "clicked": Count("clicked", upto),
        "clicked_at": Count("clicked", only),
        "highest": Count("clicks", rank, "min"),
        "lowest": Count("clicks", rank, "max"),
        "inverse_ranks": Count("clicks", inverse),
        "inverse_ranks_once": Count("clicked", inverse),
        "first_rank": Count(
            "clicks", nw.when(order == order.min().over("page")).then(rank), "min", ("order",)
        ),
        "first_click": Count("clicks", time, "min", ("time",)),
        "last_click": Count("clicks", time, "max", ("time",)),
        "dwell": Count(
            "clicks", nw.when(~censored).then(_whole(dwell * SECOND)).otherwise(0), "sum", times[1:]
        ),
        "dwells": Count("clicks", _one(~dwell.is_null() & ~censored), "sum", times[1:]),
        "dwells_censored": Count("clicks", _one(~dwell.is_null() & censored), "sum", times[1:]),
        "sat": Count("clicks", _one(sat), "sum", times[1:]),
        "unsure": Count("clicks", _one(unsure), "sum", times[1:]),
        "first_sat": Count("clicks", nw.when(sat).then(time), "min", times),
        "first_unsure": Count("clicks", nw.when(unsure).then(time), "min", times),
    }
    return counts.get(name)


_GOES_ON = pl.col("session").eq(pl.col("session").shift(-1)).fill_null(False)
_IN_SESSION = {
    "next_query": pl.when(_GOES_ON).then(pl.col("query").shift(-1)),
    "next_time": pl.when(_GOES_ON).then(pl.col("time").shift(-1)),
    "last_in_session": ~_GOES_ON,
}
"""Of pages in order of session, and of time in each."""


def needs_of(columns: Iterable[str]) -> set[tuple[str, str]]:
    """Return the columns of the log, with their table, that columns of pages are made from."""
    needs: set[tuple[str, str]] = set()
    for column in columns:
        count = count_of(column)
        if count is None:
            of_session = column in _IN_SESSION
            own = _IN_SESSION[column].meta.root_names() if of_session else (column,)
            needs |= {("pages", name) for name in own}
            continue
        table = "clicks" if count.table == "clicked" else count.table
        needs |= {(table, name) for name in ("page", "rank", *count.needs)}
        if column == "expected":
            needs.add(("clicks", "rank"))
    return needs


def page_table(tables: LogTables, columns: Iterable[str]) -> pl.DataFrame:
    """Return the requested columns of pages, a row a page, in order of time and `page`.

    Counts are computed where the log is; the other columns here.
    """
    requested = dict.fromkeys(columns)
    counts: dict[str, dict[str, Count]] = {}
    for column in requested:
        if (count := count_of(column)) is not None:
            counts.setdefault(count.table, {})[column] = count
    available = tables.columns["pages"]
    order = ["time", "page"] if "time" in available else ["page"]
    own = {name for table, name in needs_of(requested) if table == "pages"}
    pages = collected(
        tables.table("pages").select(*dict.fromkeys((*order, *sorted(own & available))))
    )
    if (wrong := pages["page"].is_duplicated() | pages["page"].is_null()).any():
        page = pages["page"].filter(wrong)[0]
        raise InputError(
            f"pages must have different ids, got {quoted(page)} twice or a missing id",
            source=tables.source,
        )
    zero = []
    for table, of_table in counts.items():
        by_page = _by_page(tables, table, of_table)
        # The key of a page may be narrower in one table than in another.
        by_page = by_page.with_columns(pl.col("page").cast(pages["page"].dtype))
        if by_page.height and not by_page["page"].is_in(pages["page"].implode()).any():
            rows = "clicks" if table == "clicked" else table
            raise InputError(f"expected {rows} on pages of the log, got none", source=tables.source)
        pages = pages.join(by_page, on="page", how="left")
        zero += [name for name, count in of_table.items() if count.reduce == "sum"]
    pages = pages.sort(order, nulls_last=False).with_columns(pl.col(zero).fill_null(0))
    of_session = [name for name in _IN_SESSION if name in requested]
    if not of_session:
        return pages
    inside = pl.col("session").is_not_null()
    values = (pl.when(inside).then(_IN_SESSION[name]).alias(name) for name in of_session)
    by_session = pages.with_row_index("(row)").sort("session", maintain_order=True)
    return pages.hstack(by_session.select("(row)", *values).sort("(row)").drop("(row)"))


def _by_page(tables: LogTables, table: str, counts: Mapping[str, Count]) -> pl.DataFrame:
    rows = tables.table("clicks" if table == "clicked" else table)
    if table == "clicked":
        rows = rows.select("page", "rank").unique()
    values = {name: count.row for name, count in counts.items()}
    if "expected" in values:
        rates = tables.rank_rates
        units = [int(rate * UNIT + 0.5) for rate in rates.values()]
        values["expected"] = nw.col("rank").replace_strict(
            list(rates), units, default=0, return_dtype=nw.Int64
        )
    reduced = (getattr(nw.col(name), count.reduce)() for name, count in counts.items())
    return collected(rows.select("page", **values).group_by("page").agg(*reduced))
