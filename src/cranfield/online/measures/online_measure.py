"""Online measures: formulas over the table of pages, which has counts of results and clicks.

A count is an expression over rows that is reduced by page, to a sum, minimum or maximum. Sums are
taken over integers, so that they do not depend on the engine, the order or the number of threads:
times are in microseconds, and fractions in units of 1 / :data:`SCALE`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from inspect import signature
from operator import attrgetter
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import narwhals.stable.v2 as nw
import polars as pl

from cranfield.base.errors import InputError, MeasureError, quote
from cranfield.base.spec import Registry, Spec, format_parameters, get_summary
from cranfield.online.log.query_log import MISSING_TABLES, QueryLog
from cranfield.online.log.scanning import check_types, check_values, refuse_lazy_counts
from cranfield.sources.columns import insert_index

_KEY = ("page", "rank")
REQUIRED_COLUMNS = {"pages": ("page", "query"), "results": _KEY, "clicks": _KEY}

MAX_DWELL = 1e9  # Maximum dwell time in seconds; longer times, and those of 0 or less, are unknown


@dataclass(frozen=True)
class LogTables:
    """Tables of pages and, if the log has them, of results and clicks, linked by `page`."""

    tables: Mapping[str, nw.LazyFrame[Any]]
    source: str

    @cached_property
    def columns(self) -> dict[str, frozenset[str]]:
        schemas = {name: table.collect_schema() for name, table in self.tables.items()}
        return {name: frozenset(schema.names()) for name, schema in schemas.items()}

    def describe_missing(self, needs: Iterable[tuple[str, str]]) -> str:
        """Describe the first required column that is missing; return "" if there is none."""
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
            collect_table(table.group_by("rank").agg(nw.len().alias("count")))
            for table in (self.tables["results"], clicked_results)
        )
        counts = impressions.join(clicks, on="rank", how="left", suffix="_clicked").sort("rank")
        rates = counts["count_clicked"].fill_null(0) / counts["count"]
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
    """Open the tables of a log, or of a mapping of names to tables that narwhals supports."""
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
        tables = {name: nw.from_native(frames[name]).lazy() for name in _list_tables(frames)}
        return _complete_clicks(tables, log.source)
    if not isinstance(log, Mapping):
        remedy = "; read_log reads a file" if isinstance(log, (str, PathLike)) else ""
        got = f"got {type(log).__name__}{remedy}"
        raise InputError(f"expected a log or a mapping to its tables, {got}")
    source = "tables"
    for name in log:
        if name not in REQUIRED_COLUMNS:
            expected = "expected one of: pages, results, clicks"
            raise InputError(f"unknown table {quote(name)}; {expected}", source=source)
    names = _list_tables(log)
    if "pages" not in names:
        raise InputError("expected a table of pages, got none", source=source)
    tables = {name: _check_table(log[name], name, source) for name in names}
    dtypes = {name: table.collect_schema()["page"] for name, table in tables.items()}
    type_names = {k: "an integer" if t.is_integer() else str(t) for k, t in dtypes.items()}
    for name, type_name in type_names.items():
        if type_name != type_names["pages"]:
            expected = f"expected {type_names['pages']} in column page of {name}, as in pages"
            raise InputError(f"{expected}, got {type_name}", source=source)
    return _complete_clicks(tables, source)


def _list_tables(frames: Mapping[str, Any]) -> list[str]:
    return [name for name in REQUIRED_COLUMNS if frames.get(name) is not None]


def _check_table(data: Any, name: str, source: str) -> nw.LazyFrame[Any]:
    """Refuse missing columns, columns of an unexpected type, and ranks below 1."""
    try:
        table: nw.LazyFrame[Any] = nw.from_native(insert_index(data)).lazy()
    except TypeError:
        reason = f"{name}: expected a table, got {type(data).__name__}"
        raise InputError(reason, source=source) from None
    names = table.collect_schema().names()
    for column in REQUIRED_COLUMNS[name]:
        if column not in names:
            raise InputError(f"expected a column {column} of {name}, got none", source=source)
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


SCALE = 2.0**50  # Fractions are multiplied by this number and summed as integers
MICROSECONDS = 1e6  # Microseconds per second


class PageCount(NamedTuple):
    """Definition of a count: an expression over rows of a table, and its reduction by page."""

    table: str  # `results`, `clicks`, or `clicked`: results with a click
    expression: nw.Expr
    needs: tuple[str, ...] = ()  # Required columns of the table besides page and rank
    reduction: str = "sum"  # Or `min` or `max`


def _to_indicator(condition: nw.Expr) -> nw.Expr:
    return nw.when(condition).then(1).otherwise(0)


def _round(value: nw.Expr) -> nw.Expr:
    return (value + 0.5).floor().cast(nw.Int64)


MAX_RANK = 2.0**31  # Cutoff that no rank exceeds


@lru_cache(maxsize=1024)
def parse_count(column: str) -> PageCount | None:
    """Parse a count such as `clicked@3`, with a maximum rank; return None for other columns.

    The threshold of counts of satisfied (`sat`) and unsure clicks is a dwell time in seconds.
    """
    name, _, threshold_text = column.partition("@")
    threshold = float(threshold_text) if threshold_text else MAX_RANK
    rank, order, time = nw.col("rank"), nw.col("order"), nw.col("time")
    dwell, censored = nw.col("dwell"), nw.col("censored")
    is_top, is_equal = _to_indicator(rank <= threshold), _to_indicator(rank == threshold)
    inverse_rank = _round(SCALE / rank)
    first_rank = nw.when(order == order.min().over("page")).then(rank)
    duration = nw.when(~censored).then(_round(dwell * MICROSECONDS)).otherwise(0)
    is_sat = threshold <= dwell
    # The dwell time is unknown, or is censored below the threshold.
    is_unsure = dwell.is_null() | (censored & (threshold > dwell))
    has_dwell, needs = ~dwell.is_null(), ("time", "dwell")
    counts = {
        "results": PageCount("results", is_top),
        "results_at": PageCount("results", is_equal),
        # _count_by_page replaces the rank by its click rate.
        "expected": PageCount("results", rank),
        "clicks": PageCount("clicks", is_top),
        "clicks_at": PageCount("clicks", is_equal),
        "clicked": PageCount("clicked", is_top),
        "clicked_at": PageCount("clicked", is_equal),
        "top_rank": PageCount("clicks", rank, (), "min"),
        "deepest_rank": PageCount("clicks", rank, (), "max"),
        "inverse_ranks": PageCount("clicks", inverse_rank),
        "inverse_ranks_once": PageCount("clicked", inverse_rank),
        "first_rank": PageCount("clicks", first_rank, ("order",), "min"),
        "first_click": PageCount("clicks", time, ("time",), "min"),
        "last_click": PageCount("clicks", time, ("time",), "max"),
        "untimed": PageCount("clicks", _to_indicator(time.is_null()), ("time",)),
        "untimed_sat": PageCount("clicks", _to_indicator(is_sat & time.is_null()), needs),
        "untimed_unsure": PageCount("clicks", _to_indicator(is_unsure & time.is_null()), needs),
        "dwell": PageCount("clicks", duration, ("dwell",)),
        "dwells": PageCount("clicks", _to_indicator(has_dwell & ~censored), ("dwell",)),
        "dwells_censored": PageCount("clicks", _to_indicator(has_dwell & censored), ("dwell",)),
        "sat": PageCount("clicks", _to_indicator(is_sat), ("dwell",)),
        "unsure": PageCount("clicks", _to_indicator(is_unsure), ("dwell",)),
        "first_sat": PageCount("clicks", nw.when(is_sat).then(time), needs, "min"),
        "first_unsure": PageCount("clicks", nw.when(is_unsure).then(time), needs, "min"),
    }
    return counts.get(name)


_HAS_NEXT_PAGE = pl.col("session").eq(pl.col("session").shift(-1)).fill_null(False)
_SESSION_COLUMNS = {
    "next_query": pl.when(_HAS_NEXT_PAGE).then(pl.col("query").shift(-1)),
    "next_time": pl.when(_HAS_NEXT_PAGE).then(pl.col("time").shift(-1)),
    "last_in_session": ~_HAS_NEXT_PAGE,
}
"""Columns computed from pages that are sorted by session and time."""


def find_required_columns(columns: Iterable[str]) -> set[tuple[str, str]]:
    """Return the columns of the log from which columns of pages follow, as (table, column)."""
    needs: set[tuple[str, str]] = set()
    for column in columns:
        count = parse_count(column)
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


def compute_page_table(tables: LogTables, columns: Iterable[str]) -> pl.DataFrame:
    """Compute columns of pages, one row per page, in order of time and `page`."""
    # Counts are computed by the engine of the log, other columns by polars.
    column_names = dict.fromkeys(columns)
    counts: dict[str, dict[str, PageCount]] = {}
    for column in column_names:
        if (count := parse_count(column)) is not None:
            counts.setdefault(count.table, {})[column] = count
    log_columns = tables.columns["pages"]
    order = ["time", "page"] if "time" in log_columns else ["page"]
    needs = find_required_columns(column_names)
    required_names = {name for table, name in needs if table == "pages"}
    names = dict.fromkeys((*order, *sorted(required_names & log_columns)))
    pages = collect_table(tables.tables["pages"].select(*names))
    if (is_invalid := pages["page"].is_duplicated() | pages["page"].is_null()).any():
        page = pages["page"].filter(is_invalid)[0]
        problem = "a missing id" if page is None else f"{quote(page)} twice"
        raise InputError(f"pages must have distinct ids, got {problem}", source=tables.source)
    for table, table_counts in counts.items():
        page_counts = _count_by_page(tables, table, table_counts)
        # The integer type of page ids may differ between tables.
        page_counts = page_counts.with_columns(pl.col("page").cast(pages["page"].dtype))
        if page_counts.height and not page_counts["page"].is_in(pages["page"].implode()).any():
            rows = "clicks" if table == "clicked" else table
            raise InputError(f"expected {rows} on pages of the log, got none", source=tables.source)
        sums = [name for name, count in table_counts.items() if count.reduction == "sum"]
        pages = pages.join(page_counts, on="page", how="left")
        pages = pages.with_columns(pl.col(sums).fill_null(0))
    pages = pages.sort(order, nulls_last=False)
    has_session = pl.col("session").is_not_null()
    requested_columns = {k: v for k, v in _SESSION_COLUMNS.items() if k in column_names}
    if not requested_columns:
        return pages
    session_columns = (pl.when(has_session).then(v).alias(k) for k, v in requested_columns.items())
    sorted_pages = pages.with_row_index("(row)").sort("session", maintain_order=True)
    values = sorted_pages.select("(row)", *session_columns).sort("(row)").drop("(row)")
    return pages.hstack(values)


def _count_by_page(tables: LogTables, table: str, counts: Mapping[str, PageCount]) -> pl.DataFrame:
    rows = tables.tables["clicks" if table == "clicked" else table]
    if table == "clicked":
        rows = rows.select("page", "rank").unique()
    values = {name: count.expression for name, count in counts.items()}
    if "expected" in values:
        rates = tables.rank_rates
        integers = [int(rate * SCALE + 0.5) for rate in rates.values()]
        values["expected"] = nw.col("rank").replace_strict(
            list(rates), integers, default=0, return_dtype=nw.Int64
        )
    reductions = (getattr(nw.col(name), count.reduction)() for name, count in counts.items())
    return collect_table(rows.select("page", **values).group_by("page").agg(*reductions))


SUM_COLUMNS = ("total", "count", "values", "censored", "missing")
"""Columns that are summed over the rows of a measure: numerator, denominator and three counts."""

_ZERO = pl.lit(0.0)


@dataclass(frozen=True)
class Sums:
    """Expressions over the rows of a measure, with the value sum(total) / sum(count)."""

    total: pl.Expr
    count: pl.Expr | None = None  # By default 1 for each row with a total
    censored: pl.Expr = _ZERO  # Number of values for which only a lower bound is known
    missing: pl.Expr = _ZERO  # Number of clicks with an unknown value, if clicks have values
    lower_bound: pl.Expr = _ZERO  # Lower bound of censored values

    def get_expressions(self) -> dict[str, pl.Expr]:
        count = self.total.is_not_null() if self.count is None else self.count
        return {**vars(self), "count": count}


class OnlineMeasure(Spec):
    """A measure of user behaviour, with its parameters.

    Its text form is its identity: :func:`parse_online_measure` parses it, and `measure @ 3` sets
    the last rank to consider.

    The value of a measure is the sum of its total over rows (pages, sessions or users), divided by
    the sum of its count. For a mean, the count is 1 in each row with a value. Columns in the
    formulas, such as `clicked@3`, are computed if required.

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
        """Return the formulas: expressions over pages, or over the pages of a session or user."""
        raise NotImplementedError

    def summands(self, pages: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
        """Compute one row per page, session or user: its keys and its :class:`Sums`.

        A session belongs to a user or variant if all its pages do.
        """
        sums = self.sums().get_expressions()
        if not {*sums["lower_bound"].meta.root_names()} <= {*pages.columns}:
            sums["lower_bound"] = _ZERO
        if self.level == "page":
            return pages.select(*keys, **sums)
        columns = [pl.col(key) for key in keys if key != self.level]
        common_keys = [pl.when(key.n_unique() == 1).then(key.first()) for key in columns]
        rows = pages.filter(pl.col(self.level).is_not_null())
        return rows.group_by(self.level, maintain_order=True).agg(*common_keys, **sums)

    def rows(self, pages: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
        """Compute a row per page, session, user or absence: keys, SUM_COLUMNS and `lower_bound`."""
        count, censored = pl.col("count").fill_null(0), pl.col("censored").fill_null(0)
        has_value = (count > 0) & pl.col("total").is_not_null()
        total, count = (pl.when(has_value).then(x).otherwise(0) for x in ("total", count))
        has_click_values = self.object_kind == "click"
        values = (count if has_click_values else has_value).cast(pl.Int64)
        missing = pl.col("missing").fill_null(0)
        return self.summands(pages, keys).select(
            *keys,
            "lower_bound",
            total=total.cast(pl.Float64),
            count=count.cast(pl.Float64),
            values=values,
            censored=censored.cast(pl.Int64),
            missing=(missing if has_click_values else 1 - values - censored).cast(pl.Int64),
        )

    def columns(self, *, with_lower_bound: bool = False) -> set[str]:
        """Return the columns of pages in the formulas, and optionally those of the lower bound."""
        sums = self.sums().get_expressions()
        expressions = (x for name, x in sums.items() if with_lower_bound or name != "lower_bound")
        names = {name for expression in expressions for name in expression.meta.root_names()}
        return names | ({self.level} - {"page"})

    @property
    def needs(self) -> set[tuple[str, str]]:
        """The required columns of the log, as pairs (table, column)."""
        return find_required_columns(self.columns())

    def __matmul__(self, cutoff: Any) -> OnlineMeasure:
        if "cutoff" not in self.parameters:
            raise MeasureError(f"{self.name} cannot have a cutoff")
        return self._with_parameters({"cutoff": cutoff})

    def __str__(self) -> str:
        cutoff = getattr(self, "cutoff", None)
        suffix = "" if cutoff is None else f"@{cutoff}"
        return self.base_name() + self.format_settings("cutoff") + suffix


def online_measure(
    formula: str, source: str, better: str = "", **attributes: Any
) -> Callable[[Callable[..., Sums]], type[OnlineMeasure]]:
    """Declare a measure by a function of its parameters; without a `unit`, it is a proportion."""
    members = {"formula": formula, "source": source, "better": better, **attributes}
    if "unit" not in members:
        members.setdefault("range", (0.0, 1.0))

    def declare(function: Callable[..., Sums]) -> type[OnlineMeasure]:
        defaults = {name: param.default for name, param in signature(function).parameters.items()}

        def sums(self: OnlineMeasure) -> Sums:
            return function(**{name: getattr(self, name) for name in defaults})

        name, copied_fields = function.__name__, ("__doc__", "__module__")
        identity = {"name": name, **{field: getattr(function, field) for field in copied_fields}}
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
        raise MeasureError(
            f"{quote(text)}: cutoff must be a positive integer of at most 9 digits, got"
            f" {quote(match[2])}"
        )
    return MEASURES.parse(match[1]) @ int(match[2])


def catalogue() -> pl.DataFrame:
    """List the online measures with their parameters, formulas, ranges, sources and requirements.

    Examples
    --------
    >>> catalogue().filter(pl.col("measure") == "ClickRR").select("kind", "better", "needs").rows()
    [('page', 'higher', 'clicks with order')]
    """
    return MEASURES.tabulate(
        "measure",
        {
            "kind": lambda measure: measure().value_kind,
            "parameters": format_parameters,
            "description": get_summary,
            "formula": attrgetter("formula"),
            "lowest": lambda measure: measure.range[0],
            "highest": lambda measure: measure.range[1],
            "unit": attrgetter("unit"),
            "better": attrgetter("better"),
            "needs": lambda measure: _describe_needs(measure()),
            "source": attrgetter("source"),
        },
    )


def _describe_needs(measure: OnlineMeasure) -> str:
    descriptions = []
    for table in ("results", "clicks", "pages"):
        columns = {name for table_name, name in measure.needs if table_name == table}
        names = sorted(columns - {"page", "rank", "query"})
        if names or (columns and table != "pages"):
            descriptions.append(f"{table} with {' and '.join(names)}" if names else table)
    return ", ".join(descriptions)
