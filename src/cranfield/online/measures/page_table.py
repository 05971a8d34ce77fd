"""The table of pages: counts on each page.

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
from cranfield.online.log.query_log import MISSING_TABLES, QueryLog
from cranfield.online.log.scanning import check_types, check_values, refuse_lazy_counts

NEEDED = {"pages": ("page", "query"), "results": ("page", "rank"), "clicks": ("page", "rank")}
"""Required columns by table, in order."""

LONGEST = 1e9
"""Longest dwell in seconds; longer ones, and those not above 0, are unknown."""


@dataclass(frozen=True)
class LogTables:
    """Tables of pages, results and clicks, those that the log has, by `page`.

    Clicks have an `order`: that of time where it is known.
    """

    tables: Mapping[str, nw.LazyFrame[Any]]
    source: str

    @cached_property
    def columns(self) -> dict[str, frozenset[str]]:
        """Columns of each table."""
        schemas = {name: table.collect_schema() for name, table in self.tables.items()}
        return {name: frozenset(schema.names()) for name, schema in schemas.items()}

    def lacks(self, needs: Iterable[tuple[str, str]]) -> str:
        """Name the first required column that is missing; empty if none is."""
        for table, column in sorted(needs):
            if table not in self.tables:
                return MISSING_TABLES[table]
            if column not in self.columns[table]:
                return f"the {column} of {table}"
        return ""

    @cached_property
    def rank_rates(self) -> dict[int, float]:
        """Proportion of the results at each rank that were clicked."""
        clicked = self.tables["clicks"].select("page", "rank").unique()
        impressions, hits = (
            collected(table.group_by("rank").agg(nw.len().alias("number")))
            for table in (self.tables["results"], clicked)
        )
        counts = impressions.join(hits, on="rank", how="left", suffix="_clicked").sort("rank")
        rate = counts["number_clicked"].fill_null(0) / counts["number"]
        return dict(zip(counts["rank"].to_list(), rate.to_list(), strict=True))


def collected(table: nw.LazyFrame[Any]) -> pl.DataFrame:
    """Compute a table, by the streaming engine of polars if it is a polars table."""
    native = table.to_native()
    if isinstance(native, pl.LazyFrame):
        frame = native.collect(engine="streaming")
    else:
        frame = table.collect(backend="polars").to_native()
    # Sums of whole numbers may come as decimals, and times in the zone of the database.
    return frame.with_columns(
        pl.col(pl.Decimal).cast(pl.Int64),
        *(
            pl.col(name).dt.cast_time_unit("us").dt.convert_time_zone("UTC")
            if kind.time_zone
            else pl.col(name).dt.cast_time_unit("us").dt.replace_time_zone("UTC")
            for name, kind in frame.schema.items()
            if isinstance(kind, pl.Datetime)
        ),
    )


def tables_of(log: QueryLog | Mapping[str, Any] | LogTables) -> LogTables:
    """Return the tables of a log, or of a mapping to tables of any library that narwhals knows."""
    if isinstance(log, LogTables):
        return log
    frames: Mapping[str, Any]
    if isinstance(log, QueryLog):
        pages, clicks = (
            frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(name))
            for frame, name in ((log.pages, "page"), (log.clicks, "order"))
        )
        results = log.results if log.results.height else None
        frames = {"pages": pages, "results": results, "clicks": clicks if log.has_clicks else None}
        tables = {name: nw.from_native(frames[name]).lazy() for name in _with_values(frames)}
        return _complete(tables, log.source)
    if not isinstance(log, Mapping):
        raise InputError(f"expected a log or a mapping to its tables, got {type(log).__name__}")
    source = "tables"
    for name in log:
        if name not in NEEDED:
            expected = "expected one of: pages, results, clicks"
            raise InputError(f"unknown table {quoted(name)} of a log; {expected}", source=source)
    names = _with_values(log)
    if "pages" not in names:
        raise InputError("a log must have a table of pages", source=source)
    tables = {name: _checked(log[name], name, source) for name in names}
    keys = {name: table.collect_schema()["page"] for name, table in tables.items()}
    kinds = {name: "an integer" if k.is_integer() else str(k) for name, k in keys.items()}
    for name, kind in kinds.items():
        if kind != kinds["pages"]:
            reason = f"the page of pages is {kinds['pages']}, and that of {name} is {kind}"
            raise InputError(reason, source=source)
    return _complete(tables, source)


def _with_values(frames: Mapping[str, Any]) -> list[str]:
    return [name for name in NEEDED if frames.get(name) is not None]


def _checked(data: Any, name: str, source: str) -> nw.LazyFrame[Any]:
    """Refuse missing columns, those of a wrong type, and ranks below 1."""
    try:
        table: nw.LazyFrame[Any] = nw.from_native(data).lazy()
    except TypeError:
        reason = f"{name}: expected a table, got {type(data).__name__}"
        raise InputError(reason, source=source) from None
    names = table.collect_schema().names()
    for column in NEEDED[name]:
        if column not in names:
            raise InputError(f"{name} have no column {column}", source=source)
    refuse_lazy_counts(table, name, source)
    check_types(table, name, ("rank", "time", "dwell", "censored"), source)
    if name != "pages":
        check_values(table, ("rank",), f"{source}: {name}")
    return table


def _complete(tables: dict[str, nw.LazyFrame[Any]], source: str) -> LogTables:
    """Give clicks their order, and mark censored dwell times."""
    if (clicks := tables.get("clicks")) is not None:
        columns = clicks.collect_schema().names()
        if "order" not in columns and "time" in columns:
            clicks = clicks.with_columns(nw.col("time").alias("order"))
        if "dwell" in columns:
            censored = (
                nw.col("censored").fill_null(False) if "censored" in columns else nw.lit(False)
            )
            dwell = nw.col("dwell").cast(nw.Float64)
            dwell = nw.when((dwell > 0) & (dwell <= LONGEST)).then(dwell)
            clicks = clicks.with_columns(dwell.alias("dwell"), censored.alias("censored"))
        tables["clicks"] = clicks
    return LogTables(tables, source)


UNIT = 2.0**50
"""Parts of a whole that sums of fractions are made of."""

SECOND = 1e6
"""Microseconds."""


class Count(NamedTuple):
    """A number of each page: an expression over rows of a table, reduced by page."""

    table: str  # `results`, `clicks`, or `clicked` results, each once
    row: nw.Expr
    needs: tuple[str, ...] = ()  # Columns of the table besides page and rank
    reduce: str = "sum"


def _indicator(condition: nw.Expr) -> nw.Expr:
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
    upto, only = _indicator(rank <= number), _indicator(rank == number)
    inverse = _whole(UNIT / rank)
    first = nw.when(order == order.min().over("page")).then(rank)
    ended = nw.when(~censored).then(_whole(dwell * SECOND)).otherwise(0)
    sat = number <= dwell
    # The dwell is unknown, or only known to be at least so long.
    unsure = dwell.is_null() | (censored & (number > dwell))
    has_dwell, times = ~dwell.is_null(), ("time", "dwell")
    counts = {
        "shown": Count("results", upto),
        "shown_at": Count("results", only),
        # Its row is the click rate at the rank: see _by_page.
        "expected": Count("results", rank),
        "clicks": Count("clicks", upto),
        "clicks_at": Count("clicks", only),
        "clicked": Count("clicked", upto),
        "clicked_at": Count("clicked", only),
        "highest": Count("clicks", rank, (), "min"),
        "lowest": Count("clicks", rank, (), "max"),
        "inverse_ranks": Count("clicks", inverse),
        "inverse_ranks_once": Count("clicked", inverse),
        "first_rank": Count("clicks", first, ("order",), "min"),
        "first_click": Count("clicks", time, ("time",), "min"),
        "last_click": Count("clicks", time, ("time",), "max"),
        "dwell": Count("clicks", ended, ("dwell",)),
        "dwells": Count("clicks", _indicator(has_dwell & ~censored), ("dwell",)),
        "dwells_censored": Count("clicks", _indicator(has_dwell & censored), ("dwell",)),
        "sat": Count("clicks", _indicator(sat), ("dwell",)),
        "unsure": Count("clicks", _indicator(unsure), ("dwell",)),
        "first_sat": Count("clicks", nw.when(sat).then(time), times, "min"),
        "first_unsure": Count("clicks", nw.when(unsure).then(time), times, "min"),
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
    own = {name for table, name in needs_of(requested) if table == "pages"} & available
    pages = collected(tables.tables["pages"].select(*dict.fromkeys((*order, *sorted(own)))))
    if (wrong := pages["page"].is_duplicated() | pages["page"].is_null()).any():
        page = quoted(pages["page"].filter(wrong)[0])
        reason = f"pages must have different ids, got {page} twice or a missing id"
        raise InputError(reason, source=tables.source)
    for table, of_table in counts.items():
        by_page = _by_page(tables, table, of_table)
        # The key of a page may be narrower in one table than in another.
        by_page = by_page.with_columns(pl.col("page").cast(pages["page"].dtype))
        if by_page.height and not by_page["page"].is_in(pages["page"].implode()).any():
            rows = "clicks" if table == "clicked" else table
            raise InputError(f"expected {rows} on pages of the log, got none", source=tables.source)
        zero = [name for name, count in of_table.items() if count.reduce == "sum"]
        pages = pages.join(by_page, on="page", how="left").with_columns(pl.col(zero).fill_null(0))
    pages = pages.sort(order, nulls_last=False)
    inside = pl.col("session").is_not_null()
    values = [
        pl.when(inside).then(value).alias(name)
        for name, value in _IN_SESSION.items()
        if name in requested
    ]
    if not values:
        return pages
    by_session = pages.with_row_index("(row)").sort("session", maintain_order=True)
    return pages.hstack(by_session.select("(row)", *values).sort("(row)").drop("(row)"))


def _by_page(tables: LogTables, table: str, counts: Mapping[str, Count]) -> pl.DataFrame:
    rows = tables.tables["clicks" if table == "clicked" else table]
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
