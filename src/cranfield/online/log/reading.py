"""Read query logs, in memory or larger than it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from cranfield.base.errors import InputError, check_several, quoted
from cranfield.base.text import counted
from cranfield.online.log import cells
from cranfield.online.log.cells import Cell
from cranfield.online.log.forms import parts_of, tables_in
from cranfield.online.log.linking import Policies, linked
from cranfield.online.log.query_log import QueryLog
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import check_parquet_file, refusing
from cranfield.sources.parquet import quiet_panics
from cranfield.sources.schemas import Column, Schema


def read_log(
    source: Any,
    results: Any = None,
    clicks: Any = None,
    *,
    format: str = "auto",
    odd: str = "refuse",
    max_queries: int | None = None,
    click_actions: Sequence[str] | None = None,
) -> QueryLog:
    """Read a query log: pages that users saw, the results on them, and clicks.

    A table is a file (CSV, TSV, Parquet, JSON lines), a data frame of any library, a dict of
    columns or a list of dicts; its columns have any of their usual names, however spelt. Blanks
    around ids and names are removed. Times are
    ISO 8601, in UTC where they do not say, or numbers since 1970: seconds, or thousandths of them
    and so on, by their size.

    Parameters
    ----------
    source
        Table of pages, with `page` and `query`, and perhaps `user`, `session`, `time`, `variant`,
        `found` and `method`; or a log of another form, by `format`.
    results
        Table of results, with `page`, `rank` and `doc`, and perhaps `team`, `propensity` and
        `grade`. Without ranks, results are in order.
    clicks
        Table of clicks, with `page`, `rank` or `doc`, and perhaps `time`, `dwell` (seconds) or
        `end`, and `censored`.
    format
        `"tables"`: the three of them, or a folder with files `pages`, `results` and `clicks`.
        `"flat"`: one table, a row a shown result, with the columns of pages and results and
        perhaps `clicks` (how often, or whether), `click_time` and `dwell`. `"sessions"`: the XML of
        the TREC Session track, or :class:`~cranfield.sessions.Sessions`. `"ubi"`: queries as JSON
        lines and, as `clicks`, events, or a folder with `ubi_queries.jsonl` and `ubi_events.jsonl`.
        `"living-labs"`: JSON lines `{sid, qid, time, ranking: [{docid, clicked, team}]}`, as TREC
        OpenSearch has them. `"yandex"`: `session time Q query region doc...` and `session time C
        doc`, separated by tabs. `"pyclick"`: `query TAB doc,doc : clicked , clicked ;`.
        `"auto"`: whichever it seems to be.
    odd
        How to treat pages that were recorded twice, and clicks before their page: `"refuse"` the
        log, or `"count"` them. Then the first record of a page is kept, and the time of such clicks
        is unknown.
    max_queries
        Leave out users, or sessions where no user is known, with more pages than that: robots.
    click_actions
        Names of the UBI actions that are clicks; `"click"` by default.

    Returns
    -------
    QueryLog
        With what is odd counted in `odd`. Clicks that are on no result or page, and those that are
        logged twice with all they have, are left out, with a warning; a dwell of 0 or less is
        unknown. A log without any result is a warning, except for a table of pages alone that is
        read with format `"tables"`.

    Raises
    ------
    InputError
        For what cannot be read, naming the file, the line and the reason; and for results or clicks
        of which none is on a page of the log.

    Examples
    --------
    >>> import cranfield as cf
    >>> pages = {"page": ["p", "q"], "query": ["cats", "dogs"]}
    >>> results = {"page": ["p", "p", "q"], "rank": [1, 2, 1], "doc": ["a", "b", "c"]}
    >>> log = cf.online.read_log(pages, results, {"page": ["p"], "rank": [2]})
    >>> log
    QueryLog(2 pages, 3 results, 1 click)
    >>> log.shown.rows()
    [(0, 1, 'a', 0), (0, 2, 'b', 1), (1, 1, 'c', 0)]
    """
    check_several("click_actions", click_actions)
    policies = Policies(format, odd, max_queries, click_actions)
    return linked(*parts_of(source, results, clicks, policies), policies)


def read_pages_and(
    pages: Any,
    other: Any,
    *,
    format: str = "auto",
    odd: str = "refuse",
    max_queries: int | None = None,
    click_actions: Sequence[str] | None = None,
) -> QueryLog:
    """Read pages and a table of results or clicks, detected by its columns, as :func:`read_log`."""
    policies = Policies(format, odd, max_queries, click_actions)
    return linked(*parts_of(pages, None, None, policies, other), policies)


Fits = Callable[[Any], bool]
_TEXT: tuple[str, Fits] = (
    "text or an integer",
    lambda dtype: dtype.is_integer() or dtype in {nw.String, nw.Categorical, nw.Enum},
)
_ANY = (Exception, pl.exceptions.PanicException)

_SCANS: dict[str, Callable[[str], pl.LazyFrame]] = {
    "parquet": pl.scan_parquet,
    "csv": lambda path: pl.scan_csv(path, infer_schema=False),
    "tsv": lambda path: pl.scan_csv(path, infer_schema=False, separator="\t"),
}


def scan_log(pages: Any, results: Any = None, clicks: Any = None) -> dict[str, nw.LazyFrame[Any]]:
    """Open a log that need not fit into memory, for measures.

    Each table is gone through once, to check its values. Unlike :func:`read_log`, this does not
    look for clicks on what was not shown and the like.

    Parameters
    ----------
    pages
        Table of pages, or a folder that holds the three tables: a file (CSV, TSV, Parquet), or a
        lazy or other frame of any library that narwhals knows, such as a relation of DuckDB. Its
        columns may have any of their usual names.
    results, clicks
        Tables of results and clicks, which have ranks.

    Returns
    -------
    dict
        Lazy tables `pages`, `results` and `clicks`, as narwhals has them, by `page`.

    Raises
    ------
    InputError
        For a table that cannot be read, or holds a value that is none of its column.

    Examples
    --------
    >>> import cranfield as cf
    >>> pages = {"page": [1, 2], "query": ["cats", "dogs"]}
    >>> import polars as pl
    >>> scanned = cf.online.scan_log(pl.LazyFrame(pages))
    >>> scanned["pages"].collect().shape
    (2, 2)
    """
    if isinstance(pages, (str, PathLike)) and Path(fspath(pages)).is_dir():
        pages, results, clicks = tables_in(Path(fspath(pages)))
    given = {"pages": pages, "results": results, "clicks": clicks}
    return {name: _opened(data, name) for name, data in given.items() if data is not None}


def _opened(data: Any, name: str) -> nw.LazyFrame[Any]:
    schema = cells.SCHEMAS[name]
    path = isinstance(data, (str, PathLike))
    source = fspath(data) if path else schema.kind
    with refusing("cannot be read as a table", source, _ANY), quiet_panics():
        lazy = _lazy(data, schema) if path else nw.from_native(data).lazy()
        types = lazy.collect_schema()
        cells.refuse_lazy_counts(lazy, schema, source)
    places = schema.places(types.names(), source)
    if name != "pages" and "rank" not in places:
        raise InputError("has no rank column", source=source)
    given = {types.names()[k]: column for column, k in places.items() if column != "end"}
    # Whatever else there is, and the names of old, are left behind.
    lazy = lazy.select(nw.col(old).alias(new) for old, new in given.items())
    kinds = {column.name: column for column in schema.columns if column.name in given.values()}
    native = lazy.to_native()
    with refusing("cannot be read as a table", source, _ANY), quiet_panics():
        if isinstance(native, pl.LazyFrame):
            typed: Any = _typed(native, kinds, source, head=path and not _is_parquet(data))
            made: nw.LazyFrame[Any] = nw.from_native(typed).lazy()
        else:
            made = _checked(lazy, kinds, source)
    if name == "results":
        _refuse_repeated(made, source)
    if "dwell" in kinds:
        # As everywhere, a dwell of 0 or less is not known.
        made = made.with_columns(dwell=nw.when(nw.col("dwell") > 0).then(nw.col("dwell")))
    return made.rename({"id": "page"}) if name == "pages" else made


def _refuse_repeated(results: nw.LazyFrame[Any], source: str) -> None:
    number = results.group_by("page", "rank").agg(nw.len().alias("rows"))
    twice = number.filter(nw.col("rows") > 1).head(1).collect(backend="polars").to_native()
    for page, rank, _ in twice.rows():
        raise InputError(f"rank {rank} twice on page {quoted(page)}", source=source)


def _is_parquet(path: Any) -> bool:
    return Source(fspath(path)).suffix == ".parquet"


def _lazy(path: Any, schema: Schema) -> nw.LazyFrame[Any]:
    source = Source(fspath(path))
    scan = _SCANS.get(FORMAT_OF_SUFFIX.get(Path(source.path).suffix.lower(), ""))
    if scan is None:
        reason = f"a {schema.kind} is opened from .csv, .tsv and .parquet, not packed"
        raise InputError(reason, source=source.name)
    if _is_parquet(path):
        check_parquet_file(source.path, schema.kind)
    with source.open():
        return nw.from_native(scan(source.path)).lazy()


def _typed(lazy: pl.LazyFrame, kinds: dict[str, Column], source: str, head: bool) -> pl.LazyFrame:
    """Convert columns, after a check that all values can be read; integer keys stay integers."""
    some = lazy.head(1000).collect()
    stages = {name: _cell(column).stage_of(some[name]) for name, column in kinds.items()}
    made, wrong, unread = _tried(lazy, kinds, stages)
    if wrong and stages[wrong] is not None:
        made, wrong, unread = _tried(lazy, kinds, dict.fromkeys(kinds))
    if not wrong:
        return made
    first = lazy.select(wrong).with_row_index().filter(unread).head(1).collect()
    row, cell = first.row(0)
    reason = kinds[wrong].kind.reason(kinds[wrong].called or wrong, cell)
    if head:
        raise InputError(reason, source=source, line=row + 2)
    raise InputError(f"row {row + 1}: {reason}", source=source)


def _tried(
    lazy: pl.LazyFrame, kinds: dict[str, Column], stages: dict[str, int | None]
) -> tuple[pl.LazyFrame, str, pl.Expr]:
    """Convert columns; also return the name of one that cannot be read, and its bad cells."""
    types = lazy.collect_schema()
    unread, made = {}, []
    for name, column in kinds.items():
        kind, dtype, stage = _cell(column), types[name], stages[name]
        whole_key = dtype.is_integer() and name in {"id", "page"}
        value = pl.col(name) if whole_key else kind.expression(name, dtype, stage)
        made.append(value.alias(name))
        always = whole_key or name == "rank"
        unread[name] = value.is_null() if always else kind.unreadable(name, dtype, stage)
    tests = lazy.select(test.any().alias(name) for name, test in unread.items())
    found = tests.collect(engine="streaming").row(0, named=True)
    wrong = next((name for name, there in found.items() if there), "")
    return lazy.select(made), wrong, unread.get(wrong, pl.lit(False))


def _cell(column: Column) -> Cell:
    assert isinstance(column.kind, Cell), column.name
    return column.kind


def _checked(lazy: nw.LazyFrame[Any], kinds: dict[str, Column], source: str) -> nw.LazyFrame[Any]:
    """Check the types of the columns of a database, and the limits of values."""
    types = lazy.collect_schema()
    tests = []
    for name in kinds:
        wanted, fits = cells.OF_DATABASES.get(name, _TEXT)
        if not fits(types[name]):
            reason = f"column {name} is {types[name]}, where {wanted} is wanted"
            raise InputError(reason, source=source)
        column = nw.col(name)
        if name in {"id", "page", "rank", "doc", "query"}:
            tests.append((name, "missing", column.is_null()))
        if name == "rank":
            tests.append((name, "below 1", column < 1))
        if name == "propensity":
            tests.append((name, "0 or less, or above 1", ~((column > 0) & (column <= 1))))
    counts = lazy.select(
        nw.when(test).then(1).otherwise(0).sum().alias(f"t{k}")
        for k, (_, _, test) in enumerate(tests)
    )
    found = counts.collect(backend="polars").to_native().row(0)
    for (name, what, _), number in zip(tests, found, strict=True):
        if number:
            reason = f"{name} is {what} in {counted(int(number), 'row')}"
            raise InputError(reason, source=source)
    text = [
        nw.col(name).cast(nw.String)
        for name in kinds
        if name not in cells.OF_DATABASES
        and (name not in {"id", "page"} or not types[name].is_integer())
        and types[name] != nw.String
    ]
    return lazy.with_columns(*text) if text else lazy


_FILE = Path(__file__).parents[2] / "data" / "simulated_log.parquet"


@cache
def simulated_log() -> QueryLog:
    """Return a small simulated log, for examples: some 3,000 pages of 400 users.

    Nobody clicked here. The users are those of a dynamic Bayesian network (Chapelle and Zhang,
    2009) whose clicks and satisfaction depend on grades. They ask the topics of TREC-COVID, and see
    the top ten of two of its runs, in the `variant` control those of one, in treatment those of a
    better one; for a fifth of the users both are interleaved by team draft, and each result has its
    `team`. It is made by `studies/make_simulated_log.py`.

    Returns
    -------
    QueryLog
        The same object at each call.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.simulated_log()
    QueryLog(3,209 pages, ...)
    """
    pages, results, clicks = _unnested(pl.read_parquet(_FILE))
    assert clicks is not None
    # Kept in few digits.
    clicks = clicks.with_columns(pl.col("dwell").cast(pl.Float64).round(1))
    log = read_log(pages, results, clicks)
    return QueryLog(log.pages, log.results, log.clicks, "simulated log", log.odd)


def _unnested(pages: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame | None, pl.DataFrame | None]:
    """Split nested pages into pages, results and clicks, each with the id of its page."""

    def part(name: str) -> pl.DataFrame | None:
        if name not in pages.columns:
            return None
        listed = pages.select(pl.col("id").alias("page"), name).explode(name, empty_as_null=False)
        return listed.drop_nulls(name).unnest(name)

    own: list[Any] = [name for name in pages.columns if name not in {"results", "clicks"}]
    return pages.select(own), part("results"), part("clicks")
