"""The studies by name, and what their results share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.base.spec import Registry
from cranfield.result import Column, Columns, Result, readable
from cranfield.tabular import Table, number

if TYPE_CHECKING:
    import polars as pl

STUDIES: Registry[type[Result]] = Registry(
    "study",
    """
    of_scales: scales
    of_tests.splits: tests
    of_tests.errors: false-alarms
    of_tests.errors: power-of-tests
    of_measures.discriminative: discriminative-power
    of_measures.swap_method: swaps
    of_collections.pool_depth: pool-depth
    of_collections.pooling: pooling
    of_collections.leave_one_out: leave-one-out
    of_measures.predictive: predictive-power
    of_measures.concordance: concordance
    of_measures.innate: innate-orders
    of_topics.sample_study: stability
    of_topics.variance_components: generalizability
    of_topics.variance_components: facets
    reproduction_result: reproduction
    of_measures.correlations: correlations
    of_topics.extrapolation: extrapolation
    of_users: interleaving
    """,
    package="cranfield.meta",
    base=Result,
)
"""The studies: by name, the class of their result."""

OF_MEASURE = {"measure": Column("Text form of the measure.", key=True)}
"""The first column of tables that several measures can share; see :func:`of_measure`."""

FEW = 10
"""Rows that are shown of tables of teams and systems; the data frames have all."""


def labelled(measure: str) -> str:
    """Write the measure before a line, where it has a name."""
    return f"{measure}: " if measure else ""


def attaining(frame: pl.DataFrame, column: str, value: Any, name: str = "measure") -> list[str]:
    """Return the names of all rows with a value, so that ties are named together."""
    return [row[name] for row in frame.iter_rows(named=True) if row[column] == value]


def of_measure(measure: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Put the measure before a table, so that those of several measures can be one."""
    import polars as pl

    return frame.select(pl.lit(measure).alias("measure"), pl.all())


def first_rows(frame: pl.DataFrame, title: str, columns: Columns) -> Table:
    """Return the first rows of a frame as a table for reading, and say how many there are."""
    more = "" if len(frame) <= FEW else f"; {FEW} of {len(frame):,}"
    return readable(frame.head(FEW), f"{title}{more}", columns)


def percent(share: float | None) -> str:
    """Write a share; none is empty."""
    text = number(None if share is None else 100 * share, 1)
    return f"{text}%" if text else ""
