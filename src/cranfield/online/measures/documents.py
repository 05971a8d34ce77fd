"""Relevance evidence from clicks on documents: clicks over expected clicks, and preferences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from cranfield.base.errors import InputError, PolicyError, as_numbers, check_list
from cranfield.base.text import inflect
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.qrels import Qrels
from cranfield.online.measures.measuring import Log
from cranfield.online.measures.online_measure import LogTables, collect_table, open_tables
from cranfield.result import Column, Columns, TableResult
from cranfield.sources.columns import read_mapping_columns, read_table
from cranfield.sources.schemas import FileColumn, Schema
from cranfield.sources.summaries import suspect_totals
from cranfield.sources.values import ID, INTEGER

_RANK = replace(INTEGER, problem="not an integer; an average position has no expected click rate")
_KINDS = {"rank": _RANK, "impressions": INTEGER, "clicks": INTEGER}
_TOTALS = Schema(
    "table of totals",
    (
        FileColumn("query", ID, "topic"),
        FileColumn("doc", ID, "doc of totals"),
        *(FileColumn(name, kind) for name, kind in _KINDS.items()),
    ),
    read_mapping=read_mapping_columns,
    decisive_kinds=("status", "weight"),
)


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedClicks(TableResult):
    """Clicks on documents over expected clicks at the same ranks; returned by :func:`coec`.

    Attributes
    ----------
    rows
        The table, one row per query and document, in order of UTF-8 bytes.
    rates
        Click rate by rank.
    """

    name: ClassVar[str] = "clicks"
    columns: ClassVar[Columns] = {
        "query": Column("Query.", key=True),
        "doc": Column("Document.", key=True),
        "impressions": Column("Number of times that the document was shown."),
        "clicks": Column("Number of impressions with a click; of totals, the number of clicks."),
        "expected": Column("Number of clicks expected from the rates of the document's ranks."),
        "coec": Column("clicks / expected; null if expected is 0."),
    }

    rates: dict[int, float]

    def to_qrels(self, cuts: Sequence[float] = (0.5, 1.0), *, min_impressions: int = 1) -> Qrels:
        """Convert COEC to judgments; the grade is the number of thresholds that COEC reaches.

        Parameters
        ----------
        cuts
            Thresholds of COEC, ascending and above 0.
        min_impressions
            Minimum number of impressions of a judged document.

        Raises
        ------
        PolicyError
            For cuts that are not ascending and above 0.
        InputError
            If no document has at least `min_impressions` impressions and expected clicks above 0.
        """
        check_list("cuts", cuts)
        thresholds = as_numbers(list(cuts), "cuts")
        if not thresholds.size or not (thresholds[0] > 0 and (np.diff(thresholds) > 0).all()):
            raise PolicyError(f"cuts must be ascending numbers above 0, got {list(cuts)}")
        rows = self.rows.drop_nulls("coec").filter(pl.col("impressions") >= min_impressions)
        if rows.is_empty():
            impressions = f"{inflect(min_impressions, 'impression')} or more"
            raise InputError(f"no document has {impressions} and expected clicks above 0")
        grade = np.searchsorted(thresholds, rows["coec"].to_numpy(), side="right")
        return read_qrels(rows.select(topic="query", doc="doc").with_columns(grade=grade))

    def heading(self) -> list[str]:
        clicks, impressions = (int(self.rows[name].sum()) for name in ("clicks", "impressions"))
        sizes = f"{clicks:,} of {inflect(impressions, 'impression')}"
        pairs = inflect(len(self.rows), "query-document pair")
        ctr = f"CTR {clicks / impressions if impressions else np.nan:.4f} ({sizes})"
        return [f"clicks over expected clicks of {pairs}", ctr]


def coec(log: Log) -> ExpectedClicks:
    """Compute clicks over expected clicks (COEC) for each query and document.

    The expected clicks of a document are the sum, over the pages that show it, of the click rate of
    its rank on the page: the proportion of all results at this rank that were clicked. This
    corrects for position bias if documents at a rank are equally attractive for all queries.
    Repeated clicks on a result count once.

    Parameters
    ----------
    log
        As for :func:`measure`; results have a `doc`.

    Raises
    ------
    InputError
        For a log without documents, clicks or queries.

    Notes
    -----
    Source: Zhang and Jones (2007). OpenSearch computes implicit judgments in the same way.

    Examples
    --------
    >>> import polars as pl
    >>> pages = pl.DataFrame({"page": [0, 1], "query": "q"})
    >>> results = pl.DataFrame({"page": [0, 0, 1, 1], "rank": [1, 2] * 2, "doc": list("abab")})
    >>> clicks = pl.DataFrame({"page": [0, 1, 1], "rank": [1, 1, 2]})
    >>> coec({"pages": pages, "results": results, "clicks": clicks}).rows.rows()
    [('q', 'a', 2, 2, 2.0, 1.0), ('q', 'b', 2, 1, 1.0, 1.0)]
    """
    tables, results = _join_clicks(log, "COEC")
    groups = results.group_by("query", "doc", "rank")
    counts = groups.agg(impressions=nw.len(), clicks=nw.col("clicked").sum())
    # Rates are summed in order of rank, so that results do not depend on the engine.
    rank_counts = collect_table(counts).sort("query", "doc", "rank")
    return _sum_expected_clicks(rank_counts, tables.rank_rates)


def coec_of_totals(data: Any) -> ExpectedClicks:
    """Compute clicks over expected clicks (COEC) from totals of impressions and clicks.

    Unlike in :func:`coec`, repeated clicks on a result count if the totals include them.

    Parameters
    ----------
    data
        A table with columns `query`, `doc`, `rank`, `impressions` and `clicks`: a file, a data
        frame or a mapping of columns. Rows with the same query, document and rank are summed.

    Raises
    ------
    InputError
        For a missing column, numbers that are not integers, clicks below 0 or above the number of
        impressions, or a rank below 1.

    Examples
    --------
    >>> totals = {
    ...     "query": ["socks", "socks", "hats"],
    ...     "doc": ["a", "b", "c"],
    ...     "rank": [1, 2, 1],
    ...     "impressions": [1000, 1000, 500],
    ...     "clicks": [120, 30, 10],
    ... }
    >>> print(coec_of_totals(totals))
    clicks over expected clicks of 3 query-document pairs
    CTR 0.0640 (160 of 2,500 impressions)
    <BLANKLINE>
    query  doc  impressions  clicks  expected    coec
    hats   c            500      10   43.3333  0.2308
    socks  a          1,000     120   86.6667  1.3846
    socks  b          1,000      30   30.0000  1.0000
    """
    table = read_table(data, _TOTALS)
    table.check(suspect_totals("query", "doc"))
    rank, impressions, clicks = (table.frame[name] for name in ("rank", "impressions", "clicks"))
    expected, hint = "rank must be at least 1", "; add 1 to ranks that count from 0"
    table.refuse(rank < 1, lambda row: f"{expected}, got {row['rank']}{hint * (row['rank'] == 0)}")
    table.refuse(clicks < 0, lambda row: f"clicks must be at least 0, got {row['clicks']}")
    bound = "clicks must be at most the number of impressions"
    is_excessive = clicks > impressions
    table.refuse(is_excessive, lambda row: f"{bound} ({row['impressions']}), got {row['clicks']}")
    sums, keys = pl.col("impressions", "clicks").cast(pl.Int64).sum(), ("query", "doc", "rank")
    rank_counts = table.frame.group_by(keys).agg(sums).sort(keys)
    totals = rank_counts.group_by("rank").agg(sums).sort("rank")
    rate = pl.when(pl.col("impressions") > 0).then(pl.col("clicks") / pl.col("impressions"))
    rates = totals.select("rank", rate.otherwise(0.0)).iter_rows()
    return _sum_expected_clicks(rank_counts, dict(rates))


def _sum_expected_clicks(rank_counts: pl.DataFrame, rates: dict[int, float]) -> ExpectedClicks:
    rate = pl.col("rank").replace_strict(rates, return_dtype=pl.Float64)
    table = (
        rank_counts.with_columns(expected=pl.col("impressions") * rate)
        .group_by("query", "doc", maintain_order=True)
        .agg(pl.col("impressions", "clicks").cast(pl.Int64).sum(), pl.col("expected").sum())
    )
    ratio = pl.when(pl.col("expected") > 0).then(pl.col("clicks") / pl.col("expected"))
    return ExpectedClicks(table.with_columns(coec=ratio), rates)


def skip_above(log: Log) -> pl.DataFrame:
    """Count preferences of clicked documents over unclicked documents that are ranked above them.

    Parameters
    ----------
    log
        As for :func:`measure`; results have a `doc`.

    Returns
    -------
    DataFrame
        Columns `query`, `doc`, `over` (the document over which `doc` is preferred) and `pages`
        (number of pages with this preference), sorted by the first three in order of UTF-8 bytes.

    Raises
    ------
    InputError
        For a log without documents, clicks or queries.

    Notes
    -----
    Source: Joachims et al. (2007), strategy 'click > skip above'.

    Examples
    --------
    >>> import polars as pl
    >>> pages = pl.DataFrame({"page": [0], "query": ["q"]})
    >>> results = pl.DataFrame({"page": [0] * 3, "rank": [1, 2, 3], "doc": list("abc")})
    >>> clicks = pl.DataFrame({"page": [0], "rank": [2]})
    >>> skip_above({"pages": pages, "results": results, "clicks": clicks}).rows()
    [('q', 'b', 'a', 1)]
    """
    _, results = _join_clicks(log, "SkipAbove")
    clicked_results = results.filter(nw.col("clicked") == 1).select("page", "query", "doc", "rank")
    skips = results.filter(nw.col("clicked") == 0)
    skips = skips.select("page", over=nw.col("doc"), skipped_rank=nw.col("rank"))
    pairs = clicked_results.join(skips, on="page", how="inner")
    pairs = pairs.filter(nw.col("skipped_rank") < nw.col("rank"), nw.col("doc") != nw.col("over"))
    # A document may occur twice on a page.
    pairs = pairs.select("page", "query", "doc", "over").unique()
    counts = collect_table(pairs.group_by("query", "doc", "over").agg(nw.len().alias("pages")))
    return counts.with_columns(pl.col("pages").cast(pl.Int64)).sort("query", "doc", "over")


def _join_clicks(log: Log, purpose: str) -> tuple[LogTables, nw.LazyFrame[Any]]:
    """Return the tables, and the results with columns `query` and `clicked` (1 or 0)."""
    tables = open_tables(log)
    needs = [("results", "doc"), ("clicks", "rank"), ("pages", "query")]
    if missing_text := tables.describe_missing(needs):
        raise InputError(f"{purpose} requires {missing_text}", source=tables.source)
    clicks = tables.tables["clicks"].select("page", "rank", nw.lit(1).alias("clicked")).unique()
    results = tables.tables["results"].select("page", "rank", "doc")
    queries = tables.tables["pages"].select("page", "query")
    results = results.join(clicks, on=["page", "rank"], how="left").join(queries, on="page")
    return tables, results.with_columns(nw.col("clicked").fill_null(0))
