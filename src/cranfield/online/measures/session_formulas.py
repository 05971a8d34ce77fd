"""Online measures of sessions, or of users who come again."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from cranfield.base.spec import choice, parameter
from cranfield.online.measures.online_measure import OnlineMeasure, dwell_of, unknown_dwell
from cranfield.online.measures.page_formulas import seconds_from

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


_LOYALTY = "Ferro and Maistro (2024), section 6.5; Lalmas, O'Brien and Yom-Tov (2014)"
_DAYS = pl.col("time").dt.date().drop_nulls().n_unique()


class QueriesPerUser(OnlineMeasure):
    """Number of queries of a user: the pages."""

    name = "QueriesPerUser"
    formula = r"\frac{1}{|U|} \sum_u |P_u|"
    source = _LOYALTY
    range = (1.0, float("inf"))
    unit = "queries"
    better = "higher"
    level = "user"

    def total(self) -> pl.Expr:
        return pl.len()


class SessionsPerUser(OnlineMeasure):
    """Number of sessions of a user."""

    name = "SessionsPerUser"
    formula = r"\frac{1}{|U|} \sum_u |S_u|"
    source = _LOYALTY
    unit = "sessions"
    better = "higher"
    level = "user"

    def total(self) -> pl.Expr:
        number = pl.col("session").drop_nulls().n_unique()
        return pl.when(number > 0).then(number)


class ActiveDays(OnlineMeasure):
    """Number of days, by UTC, on which a user asked."""

    name = "ActiveDays"
    formula = r"\frac{1}{|U|} \sum_u |D_u|"
    source = _LOYALTY
    unit = "days"
    better = "higher"
    level = "user"

    def total(self) -> pl.Expr:
        return pl.when(_DAYS > 0).then(_DAYS)


class QueriesPerActiveDay(OnlineMeasure):
    """Number of queries of a user on a day with any."""

    name = "QueriesPerActiveDay"
    formula = r"\frac{1}{|U|} \sum_u \frac{|P_u|}{|D_u|}"
    source = _LOYALTY
    unit = "queries"
    better = "higher"
    level = "user"

    def total(self) -> pl.Expr:
        return pl.when(_DAYS > 0).then(pl.len() / _DAYS)


class AbsenceTime(OnlineMeasure):
    """Seconds from the end of a session to the next one of the user; censored after the last.

    A session ends with its last page or click. What is censored is so at the end of the log, which
    is its last page or click. Means of absences that ended are too short: see :func:`survival`.
    """

    name = "AbsenceTime"
    formula = r"\frac{1}{|A|} \sum_{s \in A} (t_{s+1,1} - t_{s,\mathit{last}})"
    source = "Dupret and Lalmas (2013)"
    unit = "seconds"
    better = "lower"
    level = "user"
    of = "absence"
    lasts = True

    def columns(self, *, until: bool = False) -> set[str]:
        return {"user", "session", "time", "last_click"}

    def rows(self, pages: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
        ends = pl.max_horizontal(pl.col("time").max(), pl.col("last_click").max())
        known = pages.filter(pl.col("user").is_not_null() & pl.col("session").is_not_null())
        variant = [key for key in keys if key != "user"]
        of_user = {
            key: pl.when((pl.col(key).n_unique() == 1).over("user")).then(pl.col(key))
            for key in variant
        }
        sessions = (
            known.with_columns(**of_user)
            .group_by("user", "session", maintain_order=True)
            .agg(pl.col(variant).first(), start=pl.col("time").min(), end=ends)
            .sort("start", maintain_order=True)
        )
        log_ends = pages.select(ends).item()
        coming = pl.col("next")
        return sessions.with_columns(next=pl.col("start").shift(-1).over("user")).select(
            "user",
            *variant,
            total=seconds_from(pl.col("end"), coming),
            censored=coming.is_null().cast(pl.Int64),
            until=seconds_from(pl.col("end"), pl.lit(log_ends, sessions["end"].dtype)),
        )
