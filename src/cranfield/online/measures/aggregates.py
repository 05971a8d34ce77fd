"""What is counted on each page: sums, lowest and highest values of its results and clicks.

Each is a value of every row and how the rows of a page become one. Sums are of whole numbers, so
that no engine, order or number of threads changes a bit: times are in microseconds, and what is no
whole number is in units of :data:`UNIT`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import narwhals.stable.v2 as nw

from cranfield.online.measures.log_tables import LogTables

UNIT = 2.0**50
"""Parts of a whole that sums of fractions are made of."""

SECOND = 1e6
"""Microseconds."""


@dataclass(frozen=True)
class Aggregate:
    """A number of each page.

    table
        Of what: `results`, `clicks`, or `clicked` results, each once however often it was clicked.
    row
        The value of a row, from a number, such as a rank, and the tables.
    how
        How the rows of a page become one: `sum`, `min` or `max`.
    needs
        Columns of the table that it needs besides page and rank.
    """

    table: str
    row: Callable[[float, LogTables], nw.Expr]
    how: str = "sum"
    needs: tuple[str, ...] = ()


def _one(condition: nw.Expr) -> nw.Expr:
    return nw.when(condition).then(1).otherwise(0)


def _upto(rank: float, _: LogTables) -> nw.Expr:
    return _one(nw.col("rank") <= rank)


def _at(rank: float, _: LogTables) -> nw.Expr:
    return _one(nw.col("rank") == rank)


def _rank(_: float, __: LogTables) -> nw.Expr:
    return nw.col("rank")


def _time(_: float, __: LogTables) -> nw.Expr:
    return nw.col("time")


def _first(_: float, __: LogTables) -> nw.Expr:
    return nw.when(nw.col("order") == nw.col("order").min().over("page")).then(nw.col("rank"))


def _inverse(_: float, __: LogTables) -> nw.Expr:
    return _whole(UNIT / nw.col("rank"))


def _whole(value: nw.Expr) -> nw.Expr:
    return (value + 0.5).floor().cast(nw.Int64)


def _expected(_: float, tables: LogTables) -> nw.Expr:
    rates = tables.rank_rates
    units = [int(rate * UNIT + 0.5) for rate in rates.values()]
    return nw.col("rank").replace_strict(list(rates), units, default=0, return_dtype=nw.Int64)


_DWELL = nw.col("dwell")
_CENSORED = nw.col("censored")


def _sat(seconds: float) -> nw.Expr:
    return seconds <= _DWELL


def _unsure(seconds: float) -> nw.Expr:
    """Tell of a click that its dwell is not known, or only that it was not below so much."""
    return _DWELL.is_null() | (_CENSORED & (seconds > _DWELL))


_OF_DWELL = ("dwell",)

AGGREGATES = {
    "shown": Aggregate("results", _upto),
    "shown_at": Aggregate("results", _at),
    "expected": Aggregate("results", _expected),
    "clicks": Aggregate("clicks", _upto),
    "clicks_at": Aggregate("clicks", _at),
    "clicked": Aggregate("clicked", _upto),
    "clicked_at": Aggregate("clicked", _at),
    "highest": Aggregate("clicks", _rank, "min"),
    "lowest": Aggregate("clicks", _rank, "max"),
    "inverse_ranks": Aggregate("clicks", _inverse),
    "inverse_ranks_once": Aggregate("clicked", _inverse),
    "first_rank": Aggregate("clicks", _first, "min", ("order",)),
    "first_click": Aggregate("clicks", _time, "min", ("time",)),
    "last_click": Aggregate("clicks", _time, "max", ("time",)),
    "dwell": Aggregate(
        "clicks",
        lambda _, __: nw.when(~_CENSORED).then(_whole(_DWELL * SECOND)).otherwise(0),
        needs=_OF_DWELL,
    ),
    "dwells": Aggregate(
        "clicks", lambda _, __: _one(~_DWELL.is_null() & ~_CENSORED), needs=_OF_DWELL
    ),
    "dwells_censored": Aggregate(
        "clicks", lambda _, __: _one(~_DWELL.is_null() & _CENSORED), needs=_OF_DWELL
    ),
    "sat": Aggregate("clicks", lambda number, _: _one(_sat(number)), needs=_OF_DWELL),
    "unsure": Aggregate("clicks", lambda number, _: _one(_unsure(number)), needs=_OF_DWELL),
    "first_sat": Aggregate(
        "clicks",
        lambda number, _: nw.when(_sat(number)).then(nw.col("time")),
        "min",
        ("time", *_OF_DWELL),
    ),
    "first_unsure": Aggregate(
        "clicks",
        lambda number, _: nw.when(_unsure(number)).then(nw.col("time")),
        "min",
        ("time", *_OF_DWELL),
    ),
}
"""By name. A column called `clicked@3` is `clicked` with the number 3; without one, any rank."""

ANY_RANK = 2.0**31


def aggregate_of(column: str) -> tuple[Aggregate, float] | None:
    """Return what a column of the table of pages is, and its number; None of any other column."""
    name, _, number = column.partition("@")
    found = AGGREGATES.get(name)
    return None if found is None else (found, float(number) if number else ANY_RANK)
