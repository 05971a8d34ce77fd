"""The studies by name, and what their results share."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield.result import Column, Columns, Result, readable
from cranfield.tabular import Table, number

if TYPE_CHECKING:
    import polars as pl

STUDIES = {
    "scales": "ScaleStudy",
    "tests": "SplitStudy",
    "false-alarms": "FalseAlarms",
    "power-of-tests": "PowerOfTests",
    "discriminative-power": "DiscriminativePower",
    "swaps": "Swaps",
    "pool-depth": "PoolDepths",
    "pooling": "Pooling",
    "leave-one-out": "LeaveOneOut",
    "predictive-power": "PredictivePower",
    "concordance": "Concordance",
    "innate-orders": "InnateOrders",
    "stability": "Stability",
    "generalizability": "Generalizability",
    "facets": "Facets",
    "reproduction": "Reproduction",
    "correlations": "Correlations",
    "extrapolation": "Extrapolation",
    "interleaving": "Sensitivity",
}
"""The studies that there are: by name, the class of their result in :mod:`cranfield.meta`."""

OF_MEASURE = {"measure": Column("Text form of the measure.", key=True)}
"""The first column of tables that several measures can share; see :func:`of_measure`."""

FEW = 10
"""Rows that are shown of tables of teams and systems; the data frames have all."""


def result_of(name: str) -> type[Result]:
    """Return the class of the result of a study of :data:`STUDIES`."""
    kind: type[Result] = getattr(import_module("cranfield.meta"), STUDIES[name])
    return kind


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
