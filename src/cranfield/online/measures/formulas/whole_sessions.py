"""Sessions as a whole: how long they are, and whether they end well."""

from __future__ import annotations

import polars as pl

from cranfield.measures.parameters import choice, parameter
from cranfield.online.measures.formulas.satisfied_clicks import Satisfied
from cranfield.online.measures.formulas.times_of_clicks import seconds_from
from cranfield.online.measures.online_measure import OnlineMeasure


class QueriesPerSession(OnlineMeasure):
    """Number of queries of a session: its pages."""

    name = "QueriesPerSession"
    formula = r"\frac{1}{|S|} \sum_s |P_s|"
    source = "Ferro and Maistro (2024), section 6.5"
    range = (1.0, float("inf"))
    unit = "queries"
    level = "session"

    def total(self) -> pl.Expr:
        return pl.len()


class SessionLength(OnlineMeasure):
    """Seconds from the first page of a session to its last page or click."""

    name = "SessionLength"
    formula = r"\frac{1}{|S|} \sum_s (t_{s,\mathit{last}} - t_{s,1})"
    source = "Ferro and Maistro (2024), section 6.5"
    unit = "seconds"
    level = "session"
    until_last: str = parameter("click", choice("click", "page"), "what the last moment can be")

    def total(self) -> pl.Expr:
        page = pl.col("time").max()
        last = pl.max_horizontal(page, pl.col("last_click").max())
        return seconds_from(pl.col("time").min(), last if self.until_last == "click" else page)


class SessionClicks(OnlineMeasure):
    """Number of clicks of a session."""

    name = "SessionClicks"
    formula = r"\frac{1}{|S|} \sum_s \sum_{p \in P_s} |C_p|"
    source = "Ferro and Maistro (2024), section 6.5"
    unit = "clicks"
    level = "session"

    def total(self) -> pl.Expr:
        return pl.col("clicks").sum()


class SessionSuccess(Satisfied):
    """Share of the sessions with a satisfied click."""

    name = "SessionSuccess"
    formula = r"\frac{1}{|S|} \sum_s [\exists c \in C_s : d_c \ge s]"
    range = (0.0, 1.0)
    level = "session"

    def total(self) -> pl.Expr:
        success = self.hits().sum() > 0
        if self.unknown == "drop":
            # Without a satisfied click, one of unknown dwell could have been it.
            success = pl.when(success | (self.unsure().sum() == 0)).then(success)
        return success.cast(pl.Int64)


class QueriesToSAT(Satisfied):
    """Number of queries of a session up to its first satisfied click; censored without one."""

    name = "QueriesToSAT"
    formula = r"\frac{1}{|S_s|} \sum_{s \in S_s} k_s"
    range = (1.0, float("inf"))
    unit = "queries"
    better = "lower"
    level = "session"
    lasts = True

    def _unsure(self) -> pl.Expr:
        return (self.unsure() > 0) & pl.lit(self.unknown == "drop")

    def total(self) -> pl.Expr:
        # Of several that are highest, arg_max need not give the first.
        place, unsure = (one.arg_true().first() for one in (self.hits() > 0, self._unsure()))
        # An earlier click of unknown dwell could have been the first satisfied one.
        return pl.when(unsure.is_null() | (place <= unsure)).then(place + 1).cast(pl.Int64)

    def censored(self) -> pl.Expr | None:
        return (~((self.hits() > 0) | self._unsure()).any()).cast(pl.Int64)

    def until(self) -> pl.Expr | None:
        return pl.len().cast(pl.Float64)
