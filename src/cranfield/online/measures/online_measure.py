"""Online measures: formulas over the table of pages, which has counts of results and clicks.

A count is an expression over rows and its reduction by page. Sums are taken over integers, so that
they do not depend on the engine, the order or the number of threads: times are in microseconds, and
fractions in units of 1 / :data:`UNIT`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from inspect import signature
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import narwhals.stable.v2 as nw
import polars as pl

from cranfield.base.errors import InputError, MeasureError, quoted
from cranfield.base.spec import Registry, Spec, parameters_of, summary_of
from cranfield.online.log.query_log import MISSING_TABLES, QueryLog
from cranfield.online.log.scanning import check_types, check_values, refuse_lazy_counts

_KEY = ("page", "rank")
REQUIRED_COLUMNS = {"pages": ("page", "query"), "results": _KEY, "clicks": _KEY}

MAX_DWELL = 1e9  # Maximum dwell in seconds; longer dwells, and dwells of 0 or less, are unknown


@dataclass(frozen=True)
class LogTables:
    """The tables of pages, results and clicks that a log has, linked by `page`."""

    tables: Mapping[str, nw.LazyFrame[Any]]
    source: str

    @cached_property
    def columns(self) -> dict[str, frozenset[str]]:
        """Columns of each table."""
        schemas = {name: table.collect_schema() for name, table in self.tables.items()}
        return {name: frozenset(schema.names()) for name, schema in schemas.items()}

    def missing_column(self, needs: Iterable[tuple[str, str]]) -> str:
        """Describe the first required column that is missing; empty if there is none."""
        for table, column in sorted(needs):
            if table not in self.tables:
                return MISSING_TABLES[table]
            if column not in self.columns[table]:
                return f"column {column!r} of {table}"
        return ""

    @cached_property
    def rank_rates(self) -> dict[int, float]:
        """Proportion of the results at each rank that were clicked."""
        clicked_results = self.tables["clicks"].select("page", "rank").unique()
        impressions, clicks = (
            collect_table(table.group_by("rank").agg(nw.len().alias("number")))
            for table in (self.tables["results"], clicked_results)
        )
        counts = impressions.join(clicks, on="rank", how="left", suffix="_clicked").sort("rank")
        rates = counts["number_clicked"].fill_null(0) / counts["number"]
        return dict(zip(counts["rank"].to_list(), rates.to_list(), strict=True))


def collect_table(table: nw.LazyFrame[Any]) -> pl.DataFrame:
    """Compute a table, by the streaming engine of polars if it is a polars table."""
    native = table.to_native()
    if isinstance(native, pl.LazyFrame):
        frame = native.collect(engine="streaming")
    else:
        frame = table.collect(backend="polars").to_native()
    # Sums of integers may be decimals, and times may be in the time zone of the database.
    columns = [pl.col(pl.Decimal).cast(pl.Int64)]
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Datetime):
            time = pl.col(name).dt.cast_time_unit("us").dt
            has_zone = dtype.time_zone is not None
            columns += [(time.convert_time_zone if has_zone else time.replace_time_zone)("UTC")]
    return frame.with_columns(columns)


def open_tables(log: QueryLog | Mapping[str, Any] | LogTables) -> LogTables:
    """Open the tables of a log, or of a mapping to tables that narwhals supports."""
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
        tables = {name: nw.from_native(frames[name]).lazy() for name in _names_with_values(frames)}
        return _complete_clicks(tables, log.source)
    if not isinstance(log, Mapping):
        raise InputError(f"expected a log or a mapping to its tables, got {type(log).__name__}")
    source = "tables"
    for name in log:
        if name not in REQUIRED_COLUMNS:
            expected = "expected one of: pages, results, clicks"
            raise InputError(f"unknown table {quoted(name)} of a log; {expected}", source=source)
    names = _names_with_values(log)
    if "pages" not in names:
        raise InputError("a log must have a table of pages", source=source)
    tables = {name: _check_table(log[name], name, source) for name in names}
    dtypes = {name: table.collect_schema()["page"] for name, table in tables.items()}
    types = {name: "an integer" if t.is_integer() else str(t) for name, t in dtypes.items()}
    for name, page_type in types.items():
        if page_type != types["pages"]:
            reason = f"the column page is {types['pages']} in pages, but {page_type} in {name}"
            raise InputError(reason, source=source)
    return _complete_clicks(tables, source)


def _names_with_values(frames: Mapping[str, Any]) -> list[str]:
    return [name for name in REQUIRED_COLUMNS if frames.get(name) is not None]


def _check_table(data: Any, name: str, source: str) -> nw.LazyFrame[Any]:
    """Refuse missing columns, columns of an unexpected type, and ranks below 1."""
    try:
        table: nw.LazyFrame[Any] = nw.from_native(data).lazy()
    except TypeError:
        reason = f"{name}: expected a table, got {type(data).__name__}"
        raise InputError(reason, source=source) from None
    names = table.collect_schema().names()
    for column in REQUIRED_COLUMNS[name]:
        if column not in names:
            raise InputError(f"{name} have no column {column}", source=source)
    refuse_lazy_counts(table, name, source)
    check_types(table, name, ("rank", "time", "dwell", "censored"), source)
    if name != "pages":
        check_values(table, ("rank",), f"{source}: {name}")
    return table


def _complete_clicks(tables: dict[str, nw.LazyFrame[Any]], source: str) -> LogTables:
    if (clicks := tables.get("clicks")) is not None:
        columns = clicks.collect_schema().names()
        if "order" not in columns and "time" in columns:  # Clicks are in order of time by default.
            clicks = clicks.with_columns(order=nw.col("time"))
        if "dwell" in columns:
            has_censored, dwell = "censored" in columns, nw.col("dwell").cast(nw.Float64)
            censored = nw.col("censored").fill_null(False) if has_censored else nw.lit(False)
            dwell = nw.when((dwell > 0) & (dwell <= MAX_DWELL)).then(dwell)
            clicks = clicks.with_columns(dwell=dwell, censored=censored)
        tables["clicks"] = clicks
    return LogTables(tables, source)


UNIT = 2.0**50  # Fractions are summed as integers in units of 1 / UNIT
MICROSECONDS = 1e6  # Microseconds per second


class Count(NamedTuple):
    """Definition of a count: an expression over rows of a table, and its reduction by page."""

    table: str  # `results`, `clicks`, or `clicked`: results with a click
    row: nw.Expr
    needs: tuple[str, ...] = ()  # Required columns of the table besides page and rank
    reduce: str = "sum"


def _indicator(condition: nw.Expr) -> nw.Expr:
    return nw.when(condition).then(1).otherwise(0)


def _rounded(value: nw.Expr) -> nw.Expr:
    return (value + 0.5).floor().cast(nw.Int64)


ANY_RANK = 2.0**31  # Cutoff that no rank exceeds


@lru_cache(maxsize=1024)
def column_count(column: str) -> Count | None:
    """Return the definition of a count such as `clicked@3`, with a rank or a dwell; else None."""
    name, _, number_text = column.partition("@")
    number = float(number_text) if number_text else ANY_RANK
    rank, order, time = nw.col("rank"), nw.col("order"), nw.col("time")
    dwell, censored = nw.col("dwell"), nw.col("censored")
    is_upto, is_at = _indicator(rank <= number), _indicator(rank == number)
    inverse = _rounded(UNIT / rank)
    first_rank = nw.when(order == order.min().over("page")).then(rank)
    duration = nw.when(~censored).then(_rounded(dwell * MICROSECONDS)).otherwise(0)
    is_sat = number <= dwell
    # The dwell is unknown, or is censored below the number.
    is_unsure = dwell.is_null() | (censored & (number > dwell))
    has_dwell, times = ~dwell.is_null(), ("time", "dwell")
    counts = {
        "shown": Count("results", is_upto),
        "shown_at": Count("results", is_at),
        # _count_by_page replaces the rank by its click rate.
        "expected": Count("results", rank),
        "clicks": Count("clicks", is_upto),
        "clicks_at": Count("clicks", is_at),
        "clicked": Count("clicked", is_upto),
        "clicked_at": Count("clicked", is_at),
        "highest": Count("clicks", rank, (), "min"),
        "lowest": Count("clicks", rank, (), "max"),
        "inverse_ranks": Count("clicks", inverse),
        "inverse_ranks_once": Count("clicked", inverse),
        "first_rank": Count("clicks", first_rank, ("order",), "min"),
        "first_click": Count("clicks", time, ("time",), "min"),
        "last_click": Count("clicks", time, ("time",), "max"),
        "untimed": Count("clicks", _indicator(time.is_null()), ("time",)),
        "untimed_sat": Count("clicks", _indicator(is_sat & time.is_null()), times),
        "untimed_unsure": Count("clicks", _indicator(is_unsure & time.is_null()), times),
        "dwell": Count("clicks", duration, ("dwell",)),
        "dwells": Count("clicks", _indicator(has_dwell & ~censored), ("dwell",)),
        "dwells_censored": Count("clicks", _indicator(has_dwell & censored), ("dwell",)),
        "sat": Count("clicks", _indicator(is_sat), ("dwell",)),
        "unsure": Count("clicks", _indicator(is_unsure), ("dwell",)),
        "first_sat": Count("clicks", nw.when(is_sat).then(time), times, "min"),
        "first_unsure": Count("clicks", nw.when(is_unsure).then(time), times, "min"),
    }
    return counts.get(name)


_CONTINUES = pl.col("session").eq(pl.col("session").shift(-1)).fill_null(False)
_SESSION_COLUMNS = {
    "next_query": pl.when(_CONTINUES).then(pl.col("query").shift(-1)),
    "next_time": pl.when(_CONTINUES).then(pl.col("time").shift(-1)),
    "last_in_session": ~_CONTINUES,
}
"""Columns computed from pages that are sorted by session and time."""


def required_columns(columns: Iterable[str]) -> set[tuple[str, str]]:
    """Return the columns of the log that columns of pages require, as pairs (table, column)."""
    needs: set[tuple[str, str]] = set()
    for column in columns:
        count = column_count(column)
        if count is None:
            is_session_column = column in _SESSION_COLUMNS
            names = _SESSION_COLUMNS[column].meta.root_names() if is_session_column else (column,)
            needs |= {("pages", name) for name in names}
            continue
        table = "clicks" if count.table == "clicked" else count.table
        needs |= {(table, name) for name in ("page", "rank", *count.needs)}
        if column == "expected":
            needs.add(("clicks", "rank"))
    return needs


def page_table(tables: LogTables, columns: Iterable[str]) -> pl.DataFrame:
    """Compute columns of pages, one row per page, in order of time and `page`."""
    # Counts are computed by the engine of the log, other columns by polars.
    column_names = dict.fromkeys(columns)
    counts: dict[str, dict[str, Count]] = {}
    for column in column_names:
        if (count := column_count(column)) is not None:
            counts.setdefault(count.table, {})[column] = count
    log_columns = tables.columns["pages"]
    order = ["time", "page"] if "time" in log_columns else ["page"]
    required = {name for table, name in required_columns(column_names) if table == "pages"}
    names = dict.fromkeys((*order, *sorted(required & log_columns)))
    pages = collect_table(tables.tables["pages"].select(*names))
    if (is_invalid := pages["page"].is_duplicated() | pages["page"].is_null()).any():
        page = pages["page"].filter(is_invalid)[0]
        invalid = "a missing id" if page is None else f"{quoted(page)} twice"
        raise InputError(f"pages must have distinct ids, got {invalid}", source=tables.source)
    for table, table_counts in counts.items():
        page_counts = _count_by_page(tables, table, table_counts)
        # The integer type of page ids may differ between tables.
        page_counts = page_counts.with_columns(pl.col("page").cast(pages["page"].dtype))
        if page_counts.height and not page_counts["page"].is_in(pages["page"].implode()).any():
            rows = "clicks" if table == "clicked" else table
            raise InputError(f"expected {rows} on pages of the log, got none", source=tables.source)
        sums = [name for name, count in table_counts.items() if count.reduce == "sum"]
        pages = pages.join(page_counts, on="page", how="left")
        pages = pages.with_columns(pl.col(sums).fill_null(0))
    pages = pages.sort(order, nulls_last=False)
    has_session = pl.col("session").is_not_null()
    requested = {name: value for name, value in _SESSION_COLUMNS.items() if name in column_names}
    if not requested:
        return pages
    session_columns = (pl.when(has_session).then(x).alias(name) for name, x in requested.items())
    sorted_pages = pages.with_row_index("(row)").sort("session", maintain_order=True)
    values = sorted_pages.select("(row)", *session_columns).sort("(row)").drop("(row)")
    return pages.hstack(values)


def _count_by_page(tables: LogTables, table: str, counts: Mapping[str, Count]) -> pl.DataFrame:
    rows = tables.tables["clicks" if table == "clicked" else table]
    if table == "clicked":
        rows = rows.select("page", "rank").unique()
    values = {name: count.row for name, count in counts.items()}
    if "expected" in values:
        rates = tables.rank_rates
        integers = [int(rate * UNIT + 0.5) for rate in rates.values()]
        values["expected"] = nw.col("rank").replace_strict(
            list(rates), integers, default=0, return_dtype=nw.Int64
        )
    reductions = (getattr(nw.col(name), count.reduce)() for name, count in counts.items())
    return collect_table(rows.select("page", **values).group_by("page").agg(*reductions))


SUMS = ("total", "count", "values", "censored", "missing")
"""Columns that are summed over the rows of a measure: numerator, denominator and three counts."""

_ZERO = pl.lit(0.0)


@dataclass(frozen=True)
class Sums:
    """Expressions over the rows of a measure, whose value is sum(total) / sum(count)."""

    total: pl.Expr
    count: pl.Expr | None = None  # By default 1 for each row with a total
    censored: pl.Expr = _ZERO  # Number of values for which only a lower bound is known
    missing: pl.Expr = _ZERO  # Number of unknown values, if values are not rows
    until: pl.Expr = _ZERO  # Lower bound of censored values

    def expressions(self) -> dict[str, pl.Expr]:
        count = self.total.is_not_null() if self.count is None else self.count
        return {**vars(self), "count": count}


class OnlineMeasure(Spec):
    """A measure of user behaviour, with its parameters.

    Its text form is its identity: :func:`parse_online_measure` parses it, and `measure @ 3` sets
    the last rank to consider.

    A measure is a ratio of two sums, total and count, over rows, which are pages, sessions or
    users. For a mean, the count is 1 in each row with a value. Columns in the formulas, such as
    `clicked@3`, are computed if required.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.parse_online_measure("ctr@3"), cf.online.parse_online_measure("CTR") @ 5
    (CTR@3, CTR@5)
    """

    error = MeasureError
    name: ClassVar[str] = ""
    formula: ClassVar[str] = ""  # In LaTeX
    source: ClassVar[str] = ""  # Publication that defines the measure
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    unit: ClassVar[str] = ""  # Unit of the values, such as seconds; empty for a proportion
    better: ClassVar[str] = ""  # `higher` or `lower`; empty if neither is better
    level: ClassVar[str] = "page"  # Kind of rows: `page`, `session` or `user`
    # Kind of objects with values, if not rows: `click` or `absence`
    object_kind: ClassVar[str] = ""
    # Whether values, such as times, may be censored
    may_be_censored: ClassVar[bool] = False

    @property
    def value_kind(self) -> str:
        """Kind of objects with values, in the singular."""
        return self.object_kind or self.level

    @property
    def row_kind(self) -> str:
        """Kind of the objects that are the rows of :meth:`rows`, in the singular."""
        return "session" if self.object_kind == "absence" else self.level

    def sums(self) -> Sums:
        """Return the expressions over pages, or over the pages of each session or user."""
        raise NotImplementedError

    def summands(self, pages: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
        """Compute one row per page, session or user: its keys and its :class:`Sums`.

        A session belongs to a user or variant if all its pages do.
        """
        sums = self.sums().expressions()
        if not {*sums["until"].meta.root_names()} <= {*pages.columns}:
            sums["until"] = _ZERO
        if self.level == "page":
            return pages.select(*keys, **sums)
        columns = [pl.col(key) for key in keys if key != self.level]
        common_keys = [pl.when(key.n_unique() == 1).then(key.first()) for key in columns]
        rows = pages.filter(pl.col(self.level).is_not_null())
        return rows.group_by(self.level, maintain_order=True).agg(*common_keys, **sums)

    def rows(self, pages: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
        """Compute one row per page, session, user or absence: keys, :data:`SUMS` and `until`."""
        count, censored = pl.col("count").fill_null(0), pl.col("censored").fill_null(0)
        has_value = (count > 0) & pl.col("total").is_not_null()
        total, count = (pl.when(has_value).then(x).otherwise(0) for x in ("total", count))
        has_click_values = self.object_kind == "click"
        values = (count if has_click_values else has_value).cast(pl.Int64)
        missing = pl.col("missing").fill_null(0)
        return self.summands(pages, keys).select(
            *keys,
            "until",
            total=total.cast(pl.Float64),
            count=count.cast(pl.Float64),
            values=values,
            censored=censored.cast(pl.Int64),
            missing=(missing if has_click_values else 1 - values - censored).cast(pl.Int64),
        )

    def columns(self, *, until: bool = False) -> set[str]:
        """Return the columns of pages in its formulas; with `until`, also in `Sums.until`."""
        sums = self.sums().expressions()
        expressions = (expression for name, expression in sums.items() if until or name != "until")
        names = {name for expression in expressions for name in expression.meta.root_names()}
        return names | ({self.level} - {"page"})

    @property
    def needs(self) -> set[tuple[str, str]]:
        """The required columns of the log, as pairs (table, column)."""
        return required_columns(self.columns())

    def __matmul__(self, cutoff: Any) -> OnlineMeasure:
        if "cutoff" not in self.parameters:
            raise MeasureError(f"{self.name} cannot have a cutoff")
        return self._with({"cutoff": cutoff})

    def __str__(self) -> str:
        cutoff = getattr(self, "cutoff", None)
        suffix = "" if cutoff is None else f"@{cutoff}"
        return self.base_name() + self.parameter_text("cutoff") + suffix


def online_measure(
    formula: str, source: str, better: str = "", **attributes: Any
) -> Callable[[Callable[..., Sums]], type[OnlineMeasure]]:
    """Declare a measure by a function of its parameters; without `unit` it is a proportion."""
    members = {"formula": formula, "source": source, "better": better, **attributes}
    if "unit" not in members:
        members.setdefault("range", (0.0, 1.0))

    def declare(function: Callable[..., Sums]) -> type[OnlineMeasure]:
        defaults = {name: param.default for name, param in signature(function).parameters.items()}

        def sums(self: OnlineMeasure) -> Sums:
            return function(**{name: getattr(self, name) for name in defaults})

        name, documented = function.__name__, ("__doc__", "__module__")
        identity = {"name": name, **{field: getattr(function, field) for field in documented}}
        return type(name, (OnlineMeasure,), {**members, **identity, "sums": sums, **defaults})

    return declare


_PACKAGE: Any = {"package": "cranfield.online.measures", "decorators": "online_measure"}
MEASURES: Registry[type[OnlineMeasure]] = Registry(
    "online measure", "formulas", base=OnlineMeasure, **_PACKAGE
)
_AT_CUTOFF = re.compile(r"(.*)@\s*(\S+?)\s*", re.DOTALL)


def parse_online_measure(text: str | OnlineMeasure) -> OnlineMeasure:
    """Parse an online measure from its text form.

    Raises
    ------
    MeasureError
        For an unknown name, parameter or value, with suggestions.

    Examples
    --------
    >>> parse_online_measure("CTR@3"), parse_online_measure("sat-rate(seconds=20)")
    (CTR@3, SATRate(seconds=20))
    >>> parse_online_measure("CTRR")
    Traceback (most recent call last):
        ...
    cranfield.MeasureError: unknown online measure 'CTRR'; did you mean CTR or UCTR or QCTR?
    """
    if not isinstance(text, str) or not (match := _AT_CUTOFF.fullmatch(text)):
        return MEASURES.parse(text)
    if not match[2].isdecimal() or len(match[2]) > 9:
        raise MeasureError(f"{quoted(text)}: the cutoff after @ must be an integer")
    return MEASURES.parse(match[1]) @ int(match[2])


def catalogue() -> pl.DataFrame:
    """List the online measures with their parameters, formulas, sources and required columns.

    Examples
    --------
    >>> catalogue().filter(pl.col("measure") == "ClickRR").select("kind", "better", "needs").rows()
    [('page', 'higher', 'clicks with order')]
    """
    return MEASURES.table(
        "measure",
        {
            "kind": lambda measure: measure().value_kind,
            "parameters": parameters_of,
            "description": summary_of,
            "formula": attrgetter("formula"),
            "lowest": lambda kind: kind.range[0],
            "highest": lambda kind: kind.range[1],
            "unit": attrgetter("unit"),
            "better": attrgetter("better"),
            "needs": lambda kind: _describe_needs(kind()),
            "source": attrgetter("source"),
        },
    )


def _describe_needs(measure: OnlineMeasure) -> str:
    parts = []
    for table in ("results", "clicks", "pages"):
        columns = {name for table_name, name in measure.needs if table_name == table}
        names = sorted(columns - {"page", "rank", "query"})
        if names or (columns and table != "pages"):
            parts.append(f"{table} with {' and '.join(names)}" if names else table)
    return ", ".join(parts)
