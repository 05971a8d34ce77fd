"""How often users come, and when they come again."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from cranfield.online.measures.formulas.times_of_clicks import seconds_from
from cranfield.online.measures.online_measure import OnlineMeasure

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
