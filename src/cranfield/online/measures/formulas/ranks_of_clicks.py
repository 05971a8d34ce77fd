"""At which ranks users click."""

from __future__ import annotations

from typing import Any

import polars as pl

from cranfield.measures.parameters import choice, parameter
from cranfield.online.measures.aggregates import UNIT
from cranfield.online.measures.online_measure import OnlineMeasure, repeated

_FIRST = {"time": "first_rank", "rank": "highest"}
_RADLINSKI = "Radlinski, Kurup and Joachims (2008), section 3.2"
_CLICKED = pl.col("clicks") > 0


def _first() -> Any:
    return parameter("time", choice(*_FIRST), "the first click in time, or that at the top")


def _abandoned(default: str) -> Any:
    return parameter(default, choice("zero", "drop"), "pages without a click: zero, or left out")


class ClickRank(OnlineMeasure):
    """Rank of the first click, of pages with a click."""

    name = "ClickRank"
    formula = r"\frac{1}{|P_c|} \sum_{p \in P_c} r_{p,1}"
    source = "Ferro and Maistro (2024), section 6.5"
    range = (1.0, float("inf"))
    unit = "ranks"
    better = "lower"
    first: str = _first()

    def total(self) -> pl.Expr:
        return pl.col(_FIRST[self.first])


class ReciprocalRank(OnlineMeasure):
    """Inverse of a rank; of pages without a click 0, or nothing."""

    source = _RADLINSKI
    range = (0.0, 1.0)
    better = "higher"
    abandoned: str = _abandoned("drop")

    def inverse(self) -> pl.Expr:
        """Value of a page with a click."""
        raise NotImplementedError

    def total(self) -> pl.Expr:
        without = pl.lit(0.0 if self.abandoned == "zero" else None, pl.Float64)
        return pl.when(_CLICKED).then(self.inverse()).otherwise(without)


class ClickRR(ReciprocalRank):
    """Inverse rank of the first click, 0 of pages without one."""

    name = "ClickRR"
    formula = r"\frac{1}{|P|} \sum_{p \in P_c} \frac{1}{r_{p,1}}"
    source = "Ferro and Maistro (2024), section 6.5"
    first: str = _first()
    abandoned: str = _abandoned("zero")

    def inverse(self) -> pl.Expr:
        return 1 / pl.col(_FIRST[self.first])


class MaxRR(ReciprocalRank):
    """Inverse of the highest clicked rank, of pages with a click."""

    name = "MaxRR"
    formula = r"\frac{1}{|P_c|} \sum_{p \in P_c} \max_{r \in C_p} \frac{1}{r}"

    def inverse(self) -> pl.Expr:
        return 1 / pl.col("highest")


class MeanRR(ReciprocalRank):
    """Mean inverse rank of the clicks of a page, of pages with a click."""

    name = "MeanRR"
    formula = r"\frac{1}{|P_c|} \sum_{p \in P_c} \frac{1}{|C_p|} \sum_{r \in C_p} \frac{1}{r}"
    repeats: str = repeated("count")

    def inverse(self) -> pl.Expr:
        once = self.repeats == "once"
        inverse, of = ("inverse_ranks_once", "clicked") if once else ("inverse_ranks", "clicks")
        return pl.col(inverse) / UNIT / pl.col(of)


class MinRR(ReciprocalRank):
    """Inverse of the lowest clicked rank, of pages with a click."""

    name = "MinRR"
    formula = r"\frac{1}{|P_c|} \sum_{p \in P_c} \min_{r \in C_p} \frac{1}{r}"
    source = "Chapelle, Metzler, Zhang and Grinspan (2009)"

    def inverse(self) -> pl.Expr:
        return 1 / pl.col("lowest")


class DownToLowestClick(OnlineMeasure):
    """A share of the results down to the lowest click, of pages with a click."""

    range = (0.0, 1.0)
    over: str = parameter(
        "pages", choice("pages", "results"), "what it is the mean of: pages, or all those results"
    )

    def part(self) -> pl.Expr:
        """Number of results that count."""
        raise NotImplementedError

    def total(self) -> pl.Expr:
        part = self.part() if self.over == "results" else self.part() / pl.col("lowest")
        return pl.when(_CLICKED).then(part)

    def number(self) -> pl.Expr | None:
        return pl.col("lowest").fill_null(0) if self.over == "results" else None


class PLC(DownToLowestClick):
    """Share of the results down to the lowest click that were clicked."""

    name = "PLC"
    formula = r"\frac{1}{|P_c|} \sum_{p \in P_c} \frac{|C_p|}{\max C_p}"
    source = "Chapelle, Metzler, Zhang and Grinspan (2009)"
    better = "higher"

    def part(self) -> pl.Expr:
        return pl.col("clicked")


class pSkip(DownToLowestClick):
    """Share of the results down to the lowest click that were skipped."""

    name = "pSkip"
    formula = r"\frac{1}{|P_c|} \sum_{p \in P_c} \frac{\max C_p - |C_p|}{\max C_p}"
    source = "Wang, Walker and Zheng (2009)"
    better = "lower"

    def part(self) -> pl.Expr:
        return pl.col("lowest") - pl.col("clicked")
