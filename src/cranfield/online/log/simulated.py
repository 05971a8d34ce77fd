"""The small simulated log that comes with the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from cranfield.online.log.query_log import QueryLog
from cranfield.online.log.reading import read_log

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
    """Take pages, their results and their clicks apart, each with the id of its page."""

    def part(name: str) -> pl.DataFrame | None:
        if name not in pages.columns:
            return None
        listed = pages.select(pl.col("id").alias("page"), name).explode(name, empty_as_null=False)
        return listed.drop_nulls(name).unnest(name)

    own: list[Any] = [name for name in pages.columns if name not in {"results", "clicks"}]
    return pages.select(own), part("results"), part("clicks")
