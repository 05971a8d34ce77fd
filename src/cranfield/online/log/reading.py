"""Read query logs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from cranfield.base.errors import PolicyError, check_several
from cranfield.base.kinds import OneOf, Whole
from cranfield.online.log.formats import parts_of
from cranfield.online.log.linking import FORMS, ON_ANOMALY, Policies, linked
from cranfield.online.log.query_log import QueryLog


def read_log(
    source: Any,
    results: Any = None,
    clicks: Any = None,
    *,
    format: Annotated[str, OneOf(FORMS)] = "auto",
    on_anomaly: Annotated[str, OneOf(ON_ANOMALY)] = "refuse",
    max_queries: Annotated[int | None, Whole(1)] = None,
    click_actions: Sequence[str] | None = None,
) -> QueryLog:
    """Read a query log: pages that users saw, the results on them, and clicks.

    A table is a file (CSV, TSV, Parquet, JSON lines), a data frame of any library, a dict of
    columns or a list of dicts; its columns have any of their usual names, however spelt. Blanks
    around ids and names are removed. Times are
    ISO 8601, in UTC without a time zone, or numbers since 1970: seconds, or thousandths of them
    and so on, by their size.

    Parameters
    ----------
    source
        Table of pages, with `page` and `query`, and perhaps `user`, `session`, `time`, `variant`,
        `found` and `method`; or a log of another format, by `format`.
    results
        Table of results, with `page`, `rank` and `doc`, and perhaps `team`, `propensity` and
        `grade`. Without ranks, results are in order.
    clicks
        Table of clicks, with `page`, `rank` or `doc`, and perhaps `time`, `dwell` (seconds) or
        `end`, and `censored`.
    format
        Format of the log. `"auto"` (default): detected. `"tables"`: the three of them, or a folder
        with files `pages`, `results` and `clicks`. `"flat"`: one table, a row a shown result, with
        the columns of pages and results and perhaps `clicks` (how often, or whether), `click_time`
        and `dwell`. `"sessions"`: the XML of the TREC Session track, or
        :class:`~cranfield.sessions.Sessions`. `"ubi"`: queries as JSON lines and, as `clicks`,
        events, or a folder with `ubi_queries.jsonl` and `ubi_events.jsonl`. `"living-labs"`: JSON
        lines `{sid, qid, time, ranking: [{docid, clicked, team}]}`, as TREC OpenSearch has them.
        `"yandex"`: `session time Q query region doc...` and `session time C doc`, separated by
        tabs. `"pyclick"`: `query TAB doc,doc : clicked , clicked ;`.
    on_anomaly
        How to treat pages that were recorded twice, and clicks before their page. `"refuse"`
        (default) refuses the log; `"count"` counts them, keeps the first record of a page, and
        treats the time of such clicks as unknown.
    max_queries
        Exclude users, or sessions without a known user, with more pages than this, as robots.
    click_actions
        Names of the UBI actions that count as clicks; `click` by default.

    Returns
    -------
    QueryLog
        With its anomalies counted in `anomalies`. Clicks that are on no result or page, and clicks
        that are logged twice, equal in all values, are excluded with a warning; a dwell of 0 or
        less is unknown. A log without any result is a warning, except for a table of pages alone
        that is read with format `"tables"`.

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
    >>> log.results_with_clicks.rows()
    [(0, 1, 'a', 0), (0, 2, 'b', 1), (1, 1, 'c', 0)]
    """
    check_several("click_actions", click_actions)
    policies = Policies(format, on_anomaly, max_queries, click_actions)
    return linked(parts_of(source, results, clicks, policies), policies)


_NAMED = ("results", "clicks")


def read_files(files: Sequence[str], **options: Any) -> QueryLog:
    """Read a log from the names of its files, as the command line has them.

    Parameters
    ----------
    files
        One file or folder; or files of pages, results and clicks; or pages and one more table,
        detected by its columns, or named by `results=FILE` or `clicks=FILE`.
    options
        As for :func:`read_log`.

    Raises
    ------
    PolicyError
        For another number of files, or standard input twice.
    """
    pairs = [file.partition("=") for file in files]
    named = {name: path for name, sign, path in pairs if sign and name in _NAMED}
    plain = [file for file, (name, _, _) in zip(files, pairs, strict=True) if name not in named]
    if len(plain) not in ({1} if named else {1, 2, 3}) or len(plain) + len(named) < len(files):
        raise PolicyError(
            "expected one file, PAGES RESULTS CLICKS, or PAGES with results=FILE or clicks=FILE"
        )
    if [*plain, *named.values()].count("-") > 1:
        raise PolicyError("standard input cannot be two files")
    if len(plain) != 2:
        sources: dict[str, Any] = dict(zip(("source", "results", "clicks"), plain, strict=False))
        return read_log(**{**sources, **named, **options})
    policies = Policies(**options)
    return linked(parts_of(plain[0], None, None, policies, plain[1]), policies)


_FILE = Path(__file__).parents[2] / "data" / "simulated_log.parquet"


@cache
def simulated_log() -> QueryLog:
    """Return a small simulated log, for examples: some 3,000 pages of 400 users.

    Nobody clicked here. The users are those of a dynamic Bayesian network (Chapelle and Zhang,
    2009) whose clicks and satisfaction depend on grades. They ask the topics of TREC-COVID, and see
    the top ten of two of its runs, in the `variant` control those of one, in treatment those of a
    better one; for a fifth of the users both are interleaved by team draft, and each result has its
    `team`. It is generated by `studies/make_simulated_log.py`.

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
    nested = pl.read_parquet(_FILE)
    results, clicks = (
        nested.select(pl.col("id").alias("page"), name)
        .explode(name, empty_as_null=False)
        .drop_nulls(name)
        .unnest(name)
        for name in ("results", "clicks")
    )
    # Kept in few digits.
    clicks = clicks.with_columns(pl.col("dwell").cast(pl.Float64).round(1))
    log = read_log(nested.drop("results", "clicks"), results, clicks)
    return QueryLog(log.pages, log.results, log.clicks, "simulated log", log.anomalies)
