"""What a click model knows a result by: its query and document, or its grade."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from cranfield.base.arrays import Indices
from cranfield.collection.files.reading import read_qrels
from cranfield.online.log.query_log import QueryLog

KEYS = {None: ("query", "doc"), "grade": ("grade",)}
"""Columns that tell results apart, by how parameters are tied."""

NO_GRADES = "a click model tied by grade"


@dataclass(frozen=True, eq=False)
class Items:
    """The results that a model has parameters for, numbered by row.

    Attributes
    ----------
    tied
        None, or `grade`.
    frame
        Data frame, a row an item: `query` and `doc`, or `grade`, null where there is no judgment.
    """

    tied: str | None
    frame: pl.DataFrame

    @classmethod
    def of(cls, log: QueryLog, tied: str | None) -> Items:
        """Number the results of a log: by first appearance, or grades in order, unjudged first."""
        frame = keyed(log, tied).select(KEYS[tied]).unique(maintain_order=True)
        return cls(tied, frame.sort("grade", nulls_last=False) if tied else frame)

    @cached_property
    def size(self) -> int:
        return self.frame.height

    def codes(self, log: QueryLog) -> Indices:
        """Item of each result of a log, in its order; as many as there are items if none of them.

        Shape (results,).
        """
        keys = list(KEYS[self.tied])
        numbered = self.frame.with_row_index("item")
        found = keyed(log, self.tied).join(
            numbered, on=keys, how="left", nulls_equal=True, maintain_order="left"
        )
        codes = found["item"].cast(pl.Int64).fill_null(self.size)
        return codes.to_numpy().astype("intp", copy=False)


def keyed(log: QueryLog, tied: str | None) -> pl.DataFrame:
    """Return the results of a log with the columns that tell them apart."""
    log.require("results", purpose="a click model")
    if tied is not None:
        log.require("results", "grade", purpose=NO_GRADES)
        return log.results
    query = log.pages["query"].gather(log.results["page"])
    return log.results.select("doc", query=query)


def with_grades(log: QueryLog, qrels: Any) -> QueryLog:
    """Return a log whose results have the grades of judgments.

    Parameters
    ----------
    log
        Pages, whose `query` is the topic of the judgments.
    qrels
        Judgments, as :func:`cranfield.read_qrels` takes them.

    Returns
    -------
    QueryLog
        The `grade` of results is null where there is no judgment.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> query, doc = log.pages["query"][0], log.results["doc"][0]
    >>> cf.online.with_grades(log, {query: {doc: 2}}).results["grade"][0]
    2
    """
    judged = read_qrels(qrels)
    if judged.subtopics is not None:
        judged = judged.flat()
    table = judged.to_polars().select(
        pl.col("topic").alias("query"), "doc", pl.col("grade").cast(pl.Int64)
    )
    results = log.results.drop("grade", strict=False).with_columns(
        query=log.pages["query"].gather(log.results["page"])
    )
    graded = results.join(table, on=["query", "doc"], how="left", maintain_order="left")
    return QueryLog(log.pages, graded.drop("query"), log.clicks, log.source, dict(log.odd))
