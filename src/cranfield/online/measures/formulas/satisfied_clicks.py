"""Which clicks satisfied, as far as dwell time tells."""

from __future__ import annotations

import polars as pl

from cranfield.online.measures.online_measure import OnlineMeasure, dwell_of, unknown_dwell

SATISFIED = 30.0
"""Seconds of dwell, from which on a click counts as satisfied."""

SOURCE = "Ferro and Maistro (2024), section 6.5; Fox et al. (2005)"


class Satisfied(OnlineMeasure):
    """What is told by satisfied clicks, those on which users stayed long enough."""

    source = SOURCE
    better = "higher"
    seconds: float = dwell_of(SATISFIED, "dwell of a satisfied click, at least")
    unknown: str = unknown_dwell()

    def hits(self) -> pl.Expr:
        """Number of satisfied clicks of a page."""
        sat = pl.col(f"sat@{self.seconds}")
        return sat + self.unsure() if self.unknown == "sat" else sat

    def unsure(self) -> pl.Expr:
        """Number of clicks of a page whose dwell does not say."""
        return pl.col(f"unsure@{self.seconds}")

    def certain(self, value: pl.Expr) -> pl.Expr:
        """Return a value of pages; none where clicks of unknown dwell could change it."""
        return value if self.unknown != "drop" else pl.when(self.unsure() == 0).then(value)


class SATClicks(Satisfied):
    """Number of satisfied clicks on a page, by their dwell."""

    name = "SATClicks"
    formula = r"\frac{1}{|P|} \sum_p |\{c \in C_p : d_c \ge s\}|"
    unit = "clicks"

    def total(self) -> pl.Expr:
        return self.certain(self.hits())


class ShareOfClicks(Satisfied):
    """Share of the clicks, those of unknown dwell with them or without."""

    range = (0.0, 1.0)
    of = "click"

    def total(self) -> pl.Expr:
        return self.hits()

    def number(self) -> pl.Expr | None:
        clicks = pl.col("clicks")
        return clicks - self.unsure() if self.unknown == "drop" else clicks

    def missing(self) -> pl.Expr | None:
        return self.unsure() if self.unknown == "drop" else None


class SATRate(ShareOfClicks):
    """Share of the clicks that are satisfied, by their dwell."""

    name = "SATRate"
    formula = r"\frac{|\{c \in C_d : d_c \ge s\}|}{|C_d|}"


class Dissatisfied(Satisfied):
    """What is told by dissatisfied clicks, those from which users came back soon."""

    source = "Kim, Hassan, White and Zitouni (2014)"
    better = "lower"
    seconds: float = dwell_of(15.0, "dwell of a dissatisfied click, below")

    def hits(self) -> pl.Expr:
        # What is surely no shorter, or not known, is not dissatisfied.
        short = pl.col("clicks") - pl.col(f"sat@{self.seconds}") - self.unsure()
        return short + self.unsure() if self.unknown == "not" else short


class DSAT(Dissatisfied):
    """Number of dissatisfied clicks on a page, by their dwell."""

    name = "DSAT"
    formula = r"\frac{1}{|P|} \sum_p |\{c \in C_p : d_c < s\}|"
    unit = "clicks"

    def total(self) -> pl.Expr:
        return self.certain(self.hits())


class DSATRate(Dissatisfied, ShareOfClicks):
    """Share of the clicks that are dissatisfied, by their dwell."""

    name = "DSATRate"
    formula = r"\frac{|\{c \in C_d : d_c < s\}|}{|C_d|}"
