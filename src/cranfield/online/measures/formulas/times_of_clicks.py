"""When users click, and how long they stay."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from cranfield.measures.parameters import choice, parameter
from cranfield.online.measures.aggregates import SECOND
from cranfield.online.measures.log_tables import LogTables, collected
from cranfield.online.measures.online_measure import OnlineMeasure, dwell_of, unknown_dwell

_SAT = "Ferro and Maistro (2024), section 6.5; Fox et al. (2005)"


def seconds_from(start: pl.Expr, end: pl.Expr) -> pl.Expr:
    """Seconds from one time to another; none where the clock goes back."""
    between = (end - start).dt.total_microseconds()
    return pl.when(between >= 0).then(between / SECOND)


class Wait(OnlineMeasure):
    """Seconds until something happens on a page; censored where it does not."""

    range = (0.0, float("inf"))
    unit = "seconds"
    better = "lower"
    lasts = True

    def when(self) -> pl.Expr:
        """Time at which it happens."""
        raise NotImplementedError

    def clicks(self) -> pl.Expr:
        """How many clicks are what is waited for, be their times known or not."""
        raise NotImplementedError

    def total(self) -> pl.Expr:
        return seconds_from(pl.col("time"), self.when())

    def censored(self) -> pl.Expr | None:
        return (self.clicks() == 0).cast(pl.Int64)

    def until(self) -> pl.Expr | None:
        return seconds_from(pl.col("time"), pl.col("next_time")).fill_null(0.0)


class TimeToClick(Wait):
    """Seconds from the page to its first or last click; censored where there is none."""

    name = "TimeToClick"
    formula = r"\frac{1}{|P_c|} \sum_{p \in P_c} (t_{p,1} - t_p)"
    source = "Ferro and Maistro (2024), section 6.5"
    click: str = parameter("first", choice("first", "last"), "which click")

    def when(self) -> pl.Expr:
        return pl.col(f"{self.click}_click")

    def clicks(self) -> pl.Expr:
        return pl.col("clicks")


class TimeToSAT(Wait):
    """Seconds from the page to its first satisfied click; censored where there is none."""

    name = "TimeToSAT"
    formula = r"\frac{1}{|P_s|} \sum_{p \in P_s} (t_{p,s} - t_p)"
    source = _SAT
    seconds: float = dwell_of(30.0, "dwell of a satisfied click, at least")
    unknown: str = unknown_dwell()

    def when(self) -> pl.Expr:
        sat, unsure = (pl.col(f"first_{what}@{self.seconds}") for what in ("sat", "unsure"))
        if self.unknown == "not":
            return sat
        if self.unknown == "sat":
            return pl.min_horizontal(sat, unsure)
        # An earlier click of unknown dwell could have been the first satisfied one.
        return pl.when((pl.col(f"unsure@{self.seconds}") == 0) | (sat <= unsure)).then(sat)

    def clicks(self) -> pl.Expr:
        sat = pl.col(f"sat@{self.seconds}")
        return sat if self.unknown == "not" else sat + pl.col(f"unsure@{self.seconds}")


class Dwell(OnlineMeasure):
    """Seconds on a clicked result."""

    name = "Dwell"
    formula = r"\frac{1}{|C_d|} \sum_{c \in C_d} d_c"
    source = "Ferro and Maistro (2024), section 6.5"
    unit = "seconds"
    better = "higher"
    of = "click"
    lasts = True

    def total(self) -> pl.Expr:
        return pl.col("dwell") / SECOND

    def number(self) -> pl.Expr | None:
        return pl.col("dwells")

    def censored(self) -> pl.Expr | None:
        return pl.col("dwells_censored")

    def durations(
        self, tables: LogTables, pages: pl.DataFrame, keys: Iterable[str]
    ) -> pl.DataFrame:
        clicks = collected(tables.table("clicks").select("page", "dwell", "censored"))
        of_page = pages.select("page", *keys)
        clicks = clicks.with_columns(pl.col("page").cast(of_page["page"].dtype))
        found = of_page.join(clicks, on="page", how="inner")
        return found.select(*keys, time="dwell", seen=~pl.col("censored"))

    def missing(self) -> pl.Expr | None:
        return pl.col("clicks") - pl.col("dwells") - pl.col("dwells_censored")
