"""Online measures of pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from cranfield.base.spec import choice, number, parameter
from cranfield.base.spec import name as a_name
from cranfield.online.measures.online_measure import (
    OnlineMeasure,
    dwell_of,
    last_rank,
    repeated,
    unknown_dwell,
)
from cranfield.online.measures.page_table import SECOND, UNIT, LogTables, collected


def _counted(repeats: str) -> str:
    return "clicked" if repeats == "once" else "clicks"


def _behind(cutoff: int | None) -> str:
    return "" if cutoff is None else f"@{cutoff}"


class CTR(OnlineMeasure):
    """Share of the shown results that were clicked (click-through rate)."""

    name = "CTR"
    formula = r"\frac{\sum_p |C_p|}{\sum_p |S_p|}"
    source = "Ferro and Maistro (2024), section 6.5"
    range = (0.0, 1.0)
    better = "higher"
    ranks: str = parameter(
        "top", choice("top", "at"), "with @k: results up to rank k, or those `at` rank k alone"
    )
    over: str = parameter(
        "results", choice("results", "pages"), "what it is the mean of: all results, or pages"
    )
    repeats: str = repeated("once")
    cutoff: int | None = last_rank()

    @property
    def _ends(self) -> str:
        at = "_at" if self.ranks == "at" and self.cutoff is not None else ""
        return at + _behind(self.cutoff)

    def total(self) -> pl.Expr:
        clicked = pl.col(_counted(self.repeats) + self._ends)
        if self.over == "results":
            return clicked
        shown = pl.col("shown" + self._ends)
        return pl.when(shown > 0).then(clicked / shown)

    def number(self) -> pl.Expr | None:
        return pl.col("shown" + self._ends) if self.over == "results" else None


class UCTR(OnlineMeasure):
    """Share of the pages with a click."""

    name = "UCTR"
    formula = r"\frac{1}{|P|} \sum_p [C_p \ne \emptyset]"
    source = "Chapelle, Metzler, Zhang and Grinspan (2009)"
    range = (0.0, 1.0)
    better = "higher"
    cutoff: int | None = last_rank()

    def total(self) -> pl.Expr:
        return (pl.col("clicks" + _behind(self.cutoff)) > 0).cast(pl.Int64)


class QCTR(OnlineMeasure):
    """Number of clicks on a page."""

    name = "QCTR"
    formula = r"\frac{1}{|P|} \sum_p |C_p|"
    source = "Chapelle, Metzler, Zhang and Grinspan (2009)"
    unit = "clicks"
    better = "higher"
    repeats: str = repeated("count")
    cutoff: int | None = last_rank()

    def total(self) -> pl.Expr:
        return pl.col(_counted(self.repeats) + _behind(self.cutoff))


class COEC(OnlineMeasure):
    """Clicked results over those expected at the same ranks, by the log's own rates."""

    name = "COEC"
    formula = r"\frac{\sum_p |C_p|}{\sum_p \sum_{r \in S_p} \mathit{CTR}_r}"
    source = "Zhang and Jones (2007)"
    better = "higher"

    def total(self) -> pl.Expr:
        return pl.col("clicked")

    def number(self) -> pl.Expr | None:
        return pl.col("expected") / UNIT


_ABANDONED = pl.col("clicks") == 0


def _share(condition: pl.Expr) -> pl.Expr:
    return condition.cast(pl.Int64)


class Abandonment(OnlineMeasure):
    """Share of the pages without a click."""

    name = "Abandonment"
    formula = r"\frac{1}{|P|} \sum_p [C_p = \emptyset]"
    source = "Ferro and Maistro (2024), section 6.1"
    range = (0.0, 1.0)
    better = "lower"

    def total(self) -> pl.Expr:
        return _share(_ABANDONED)


class ZeroResults(OnlineMeasure):
    """Share of the pages without a result."""

    name = "ZeroResults"
    formula = r"\frac{1}{|P|} \sum_p [S_p = \emptyset]"
    source = "Ferro and Maistro (2024), section 6.1"
    range = (0.0, 1.0)
    better = "lower"
    by: str = parameter(
        "shown", choice("shown", "found"), "what is none: results shown, or `found`, as the log has"
    )

    def total(self) -> pl.Expr:
        return _share(pl.col(self.by) == 0)


class GoodAbandonment(OnlineMeasure):
    """Share of the abandoned pages that are labelled good, of those with a label."""

    name = "GoodAbandonment"
    formula = r"\frac{|\{p : C_p = \emptyset, l_p = l\}|}{|\{p : C_p = \emptyset, l_p\}|}"
    source = "Li, Huffman and Tokuda (2009)"
    range = (0.0, 1.0)
    better = "higher"
    label: str = parameter("good", a_name, "the label of a page that answered without a click")

    def total(self) -> pl.Expr:
        return pl.when(_ABANDONED).then(_share(pl.col("label") == self.label))


class AbandonedLast(OnlineMeasure):
    """Share of the pages without a click or a later query in the session.

    What may be good abandonment, and may be giving up: no more than a proxy.
    """

    name = "AbandonedLast"
    formula = r"\frac{1}{|P|} \sum_p [C_p = \emptyset] [p = \mathit{last}(s_p)]"
    source = "a proxy of good abandonment, Li, Huffman and Tokuda (2009)"
    range = (0.0, 1.0)

    def total(self) -> pl.Expr:
        return _share(_ABANDONED & pl.col("last_in_session"))


class Reformulation(OnlineMeasure):
    """Share of the pages after which the session goes on with another query soon."""

    name = "Reformulation"
    formula = r"\frac{1}{|P|} \sum_p [q_{p+1} \ne q_p] [t_{p+1} - t_p \le w]"
    source = "Hassan, Shi, Craswell and Ramsey (2013)"
    range = (0.0, 1.0)
    better = "lower"
    window: float = parameter(300.0, number(0), "seconds within which the next query comes")
    shares: str = parameter(
        "any", choice("any", "term"), "any other query, or one that has a `term` in common"
    )

    def total(self) -> pl.Expr:
        query, following = pl.col("query"), pl.col("next_query")
        between = (pl.col("next_time") - pl.col("time")).dt.total_microseconds()
        again = (following != query) & (between <= self.window * SECOND) & (between >= 0)
        if self.shares == "term":
            again &= _terms(query).list.set_intersection(_terms(following)).list.len() > 0
        # A session's last page has no query after it; a page of no session has no value.
        again = pl.when(pl.col("last_in_session")).then(False).otherwise(again)
        return _share(again)


def _terms(query: pl.Expr) -> pl.Expr:
    return query.str.to_lowercase().str.extract_all(r"\w+")


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
