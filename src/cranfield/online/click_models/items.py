"""What a click model knows a result by: its query and document, or its grade."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Indices
from cranfield.collection.files.reading import read_qrels
from cranfield.online.log.query_log import QueryLog

KEYS = {None: ("query", "doc"), "grade": ("grade",)}
"""Columns that tell results apart, by how parameters are tied."""

NO_GRADES = "a click model tied by grade"


@dataclass(frozen=True, eq=False)
class Items:
    """The results that a model has parameters for, numbered by row."""

    tied: str | None  # None, or `grade`
    # Data frame, a row an item: `query` and `doc`, or `grade`, null where there is no judgment
    frame: pl.DataFrame

    @classmethod
    def of(cls, log: QueryLog, tied: str | None) -> tuple[Items, Indices]:
        """Number the results of a log by first appearance, or by grade, unjudged first.

        Also returns the item of each result, as :meth:`codes` does.
        """
        if tied is not None:
            rows = keyed(log, tied)
            items = cls(tied, rows.select("grade").unique().sort("grade", nulls_last=False))
            return items, items.codes_of(rows)
        log.require("results", purpose="a click model")
        # What category a text is given is up to polars; only that they differ counts.
        query, doc = (
            one.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
            for one in (log.pages["query"], log.results["doc"])
        )
        page = log.results["page"].to_numpy()
        both = (query[page] << 32) | doc
        _, first, codes = np.unique(both, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        at = first[order]
        found = {"query": log.pages["query"].gather(page[at]), "doc": log.results["doc"].gather(at)}
        return cls(tied, pl.DataFrame(found)), number[codes]

    @cached_property
    def size(self) -> int:
        return self.frame.height

    def codes(self, log: QueryLog) -> Indices:
        """Item of each result of a log, in its order; as many as there are items if none of them.

        Shape (results,).
        """
        return self.codes_of(keyed(log, self.tied))

    def codes_of(self, rows: pl.DataFrame) -> Indices:
        """Item of each row of the columns that tell results apart."""
        keys = list(KEYS[self.tied])
        found = rows.join(
            self._numbered, on=keys, how="left", nulls_equal=True, maintain_order="left"
        )["item"]
        if found.null_count():
            found = found.fill_null(self.size)
        return found.to_numpy().astype(np.intp, copy=False)

    @cached_property
    def _numbered(self) -> pl.DataFrame:
        return self.frame.with_columns(pl.Series("item", np.arange(self.size)))


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
    return replace(log, results=graded.drop("query"), odd=dict(log.odd))
