"""The studies by name, and what their results share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cranfield.base.spec import Registry
from cranfield.base.text import names_or_count
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


def attaining(
    frame: pl.DataFrame, column: str, value: Any, noun: str = "measure", name: str = ""
) -> list[str]:
    """Return the names of all rows with a value, so that ties are named together."""
    return [row[name or noun] for row in frame.iter_rows(named=True) if row[column] == value]


def most_and_fewest(
    frame: pl.DataFrame,
    column: str,
    what: str,
    shown: Callable[[dict[str, Any]], tuple[str, str]],
    noun: str = "measure",
) -> str:
    """Say which rows have the most of something, and which the fewest; ties are named together.

    `shown` writes the number of a row, in full and in short.
    """
    rows = frame.sort(column, descending=True, maintain_order=True)
    first, last = rows.row(0, named=True), rows.row(-1, named=True)
    most, fewest = shown(first)[0], shown(last)[1]
    best, worst = (attaining(frame, column, row[column], noun) for row in (first, last))
    if len(best) == len(rows):
        return f"All {len(rows)} {noun}s have equally many {what}: {most}."
    each = " each" if len(best) > 1 else ""
    return (
        f"Most {what}: {names_or_count(best, noun)}, {most}{each}; fewest:"
        f" {names_or_count(worst, noun)}, {fewest}."
    )


def of_measure(measure: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Put the measure before a table, so that those of several measures can be one."""
    import polars as pl

    return frame.select(pl.lit(measure).alias("measure"), pl.all())


def first_rows(frame: pl.DataFrame, title: str, columns: Columns) -> Table:
    """Return the first rows of a frame as a table for reading, and say how many there are."""
    more = "" if len(frame) <= FEW else f"; {FEW} of {len(frame):,}"
    return readable(frame.head(FEW), f"{title}{more}", columns)


def wide(
    frame: pl.DataFrame,
    title: str,
    rows: Sequence[str],
    on: str,
    values: str,
    text: Callable[[Any], str] = number,
    prefix: str = "",
) -> Table:
    """Arrange a long table for reading, with a column for each value of its column `on`."""
    found = frame.pivot(on, index=list(rows), values=values)
    labels = len(rows)
    cells = [[*map(str, row[:labels]), *map(text, row[labels:])] for row in found.rows()]
    head = [*rows, *(f"{prefix}{name}" for name in found.columns[labels:])]
    left = [k for k, name in enumerate(rows) if not frame.schema[name].is_numeric()]
    return Table(title, head, cells, left)


def percent(share: float | None) -> str:
    """Write a share; none is empty."""
    text = number(None if share is None else 100 * share, 1)
    return f"{text}%" if text else ""
