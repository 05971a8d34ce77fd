"""Definitions of the online measures of pages, sessions and users, one function each.

A function has the parameters of the measure and returns :class:`Sums` over columns of the table of
pages, such as `clicked@3`; see :func:`~cranfield.online.measures.online_measure.parse_count`.
"""

# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from cranfield.base.errors import MeasureError
from cranfield.base.spec import any_name, choice, integer, number, optional, parameter
from cranfield.online.measures.online_measure import (
    MICROSECONDS,
    SCALE,
    OnlineMeasure,
    Sums,
    online_measure,
)

FERRO = "Ferro and Maistro (2024), section 6.5"
FERRO_LOGS = "Ferro and Maistro (2024), section 6.1"
CHAPELLE = "Chapelle, Metzler, Zhang and Grinspan (2009)"
RADLINSKI = "Radlinski, Kurup and Joachims (2008), section 3.2"
FOX = f"{FERRO}; Fox et al. (2005)"
KIM = "Kim, Hassan, White and Zitouni (2014)"
LALMAS = f"{FERRO}; Lalmas, O'Brien and Yom-Tov (2014)"

RANGE_FROM_0, RANGE_FROM_1 = (0.0, float("inf")), (1.0, float("inf"))
DURATION: dict[str, Any] = {"unit": "seconds", "may_be_censored": True}
N_QUERIES: dict[str, Any] = {"range": RANGE_FROM_1, "unit": "queries"}

CUTOFF = parameter(None, optional(integer(1)), "last rank to consider; by default all ranks")
_OVER_RESULTS = "average over all 'results', or over 'pages'"
_OVER_PAGES = "average over 'pages', or over all 'results' down to the lowest click"
_FIRST = "first click: the earliest one (`time`), or the one nearest the top (`rank`)"
OVER_RESULTS = parameter("results", choice("results", "pages"), _OVER_RESULTS)
OVER_PAGES = parameter("pages", choice("pages", "results"), _OVER_PAGES)
FIRST = parameter("time", choice("time", "rank"), _FIRST)
SAT_SECONDS = parameter(30.0, number(0), "minimum dwell time of a satisfied click (s)")
DSAT_SECONDS = parameter(15.0, number(0), "dwell time (s) below which a click is dissatisfied")
UNKNOWN_DWELL = parameter(
    "drop",
    choice("drop", "sat", "not"),
    "how to treat clicks whose dwell time is unknown, or censored below `seconds`: as `sat`"
    " (satisfied), as `not` satisfied, or `drop` them, or the pages or sessions whose value they"
    " could change",
)
_REPEATS = choice("once", "count"), "repeated clicks on a result: count them `once`, or `count` all"
_ABANDONED = choice("zero", "drop"), "pages without a click: count them as `zero`, or `drop` them"
COUNT_ONCE, COUNT_ALL = parameter("once", *_REPEATS), parameter("count", *_REPEATS)
COUNT_ZERO, DROP_ABANDONED = parameter("zero", *_ABANDONED), parameter("drop", *_ABANDONED)

CLICKS = pl.col("clicks")
DEEPEST_RANK = pl.col("deepest_rank")
TIME = pl.col("time")
IS_LAST = pl.col("last_in_session")


def _cut_off(column: str, cutoff: int | None) -> pl.Expr:
    return pl.col(column if cutoff is None else f"{column}@{cutoff}")


def _name_clicks(repeats: str) -> str:
    return "clicked" if repeats == "once" else "clicks"


def _to_indicator(condition: pl.Expr) -> pl.Expr:
    return condition.cast(pl.Int64)


def _count_seconds(start: pl.Expr, end: pl.Expr) -> pl.Expr:
    """Return the seconds between two times; null if the end is before the start."""
    duration = (end - start).dt.total_microseconds()
    return pl.when(duration >= 0).then(duration / MICROSECONDS)


@online_measure(r"\frac{\sum_p |C_p|}{\sum_p |S_p|}", FERRO, "higher")
def CTR(
    ranks: str = parameter(
        "top",
        choice("top", "at"),
        "results that a cutoff @k includes: all down to rank k (`top`), or only that `at` rank k",
    ),
    over: str = OVER_RESULTS,
    repeats: str = COUNT_ONCE,
    cutoff: int | None = CUTOFF,
) -> Sums:
    """Proportion of the shown results that were clicked (click-through rate)."""
    if ranks == "at" and cutoff is None:
        raise MeasureError("CTR(ranks='at') requires a cutoff, such as CTR(ranks='at')@3")
    suffix = "_at" if ranks == "at" else ""
    clicked = _cut_off(f"{_name_clicks(repeats)}{suffix}", cutoff)
    results = _cut_off(f"results{suffix}", cutoff)
    if over == "results":
        return Sums(clicked, results)
    return Sums(pl.when(results > 0).then(clicked / results))


@online_measure(r"\frac{1}{|P|} \sum_p [C_p \ne \emptyset]", CHAPELLE, "higher")
def UCTR(cutoff: int | None = CUTOFF) -> Sums:
    """Proportion of the pages that have a click."""
    return Sums(_to_indicator(_cut_off("clicks", cutoff) > 0))


@online_measure(r"\frac{1}{|P|} \sum_p |C_p|", CHAPELLE, "higher", unit="clicks")
def QCTR(repeats: str = COUNT_ALL, cutoff: int | None = CUTOFF) -> Sums:
    """Number of clicks on a page."""
    return Sums(_cut_off(_name_clicks(repeats), cutoff))


@online_measure(
    r"\frac{\sum_p |C_p|}{\sum_p \sum_{r \in S_p} \mathit{CTR}_r}",
    "Zhang and Jones (2007)",
    "higher",
    range=RANGE_FROM_0,
)
def COEC() -> Sums:
    """Clicked results divided by the sum of the click rates of the ranks of all shown results."""
    return Sums(pl.col("clicked"), pl.col("expected") / SCALE)


def _select_first_rank(first: str) -> pl.Expr:
    return pl.col("first_rank" if first == "time" else "top_rank")


def _sum_reciprocals(inverse: pl.Expr, abandoned: str) -> Sums:
    default = pl.lit(0.0 if abandoned == "zero" else None, pl.Float64)
    return Sums(pl.when(CLICKS > 0).then(inverse).otherwise(default))


@online_measure(
    r"\frac{1}{|P_c|} \sum_{p \in P_c} r_{p,1}", FERRO, "lower", range=RANGE_FROM_1, unit="ranks"
)
def ClickRank(first: str = FIRST) -> Sums:
    """Rank of the first click, over pages with a click."""
    return Sums(_select_first_rank(first))


@online_measure(r"\frac{1}{|P|} \sum_{p \in P_c} \frac{1}{r_{p,1}}", FERRO, "higher")
def ClickRR(abandoned: str = COUNT_ZERO, first: str = FIRST) -> Sums:
    """Reciprocal rank of the first click; by default 0 for pages without a click."""
    return _sum_reciprocals(1 / _select_first_rank(first), abandoned)


@online_measure(
    r"\frac{1}{|P_c|} \sum_{p \in P_c} \max_{r \in C_p} \frac{1}{r}", RADLINSKI, "higher"
)
def MaxRR(abandoned: str = DROP_ABANDONED) -> Sums:
    """Maximum reciprocal rank of the clicks of a page, by default over pages with a click."""
    return _sum_reciprocals(1 / pl.col("top_rank"), abandoned)


_MEAN_RR = r"\frac{1}{|P_c|} \sum_{p \in P_c} \frac{1}{|C_p|} \sum_{r \in C_p} \frac{1}{r}"


@online_measure(_MEAN_RR, RADLINSKI, "higher")
def MeanRR(abandoned: str = DROP_ABANDONED, repeats: str = COUNT_ALL) -> Sums:
    """Mean reciprocal rank of the clicks of a page, by default over pages with a click."""
    suffix = "_once" if repeats == "once" else ""
    inverse = pl.col(f"inverse_ranks{suffix}") / SCALE / pl.col(_name_clicks(repeats))
    return _sum_reciprocals(inverse, abandoned)


@online_measure(
    r"\frac{1}{|P_c|} \sum_{p \in P_c} \min_{r \in C_p} \frac{1}{r}", CHAPELLE, "higher"
)
def MinRR(abandoned: str = DROP_ABANDONED) -> Sums:
    """Minimum reciprocal rank of the clicks of a page, by default over pages with a click."""
    return _sum_reciprocals(1 / DEEPEST_RANK, abandoned)


def _sum_down_to_lowest(results: pl.Expr, over: str) -> Sums:
    if over == "results":
        return Sums(pl.when(CLICKS > 0).then(results), DEEPEST_RANK.fill_null(0))
    return Sums(pl.when(CLICKS > 0).then(results / DEEPEST_RANK))


@online_measure(r"\frac{1}{|P_c|} \sum_{p \in P_c} \frac{|C_p|}{\max C_p}", CHAPELLE, "higher")
def PLC(over: str = OVER_PAGES) -> Sums:
    """Proportion of the results down to the lowest click that were clicked."""
    return _sum_down_to_lowest(pl.col("clicked"), over)


@online_measure(
    r"\frac{1}{|P_c|} \sum_{p \in P_c} \frac{\max C_p - |C_p|}{\max C_p}",
    "Wang, Walker and Zheng (2009)",
    "lower",
)
def pSkip(over: str = OVER_PAGES) -> Sums:
    """Proportion of the results down to the lowest click that were skipped."""
    return _sum_down_to_lowest(DEEPEST_RANK - pl.col("clicked"), over)


def _count_sat(seconds: float) -> pl.Expr:
    return pl.col(f"sat@{seconds}")


def _count_unsure(seconds: float) -> pl.Expr:
    """Return the number of clicks whose dwell time is unknown or censored below `seconds`."""
    return pl.col(f"unsure@{seconds}")


_CLICK = "time to the `first` or to the `last` click of the page"


def _sum_times_to(end: pl.Expr, n_clicks: pl.Expr, n_untimed: pl.Expr) -> Sums:
    """Return sums of the seconds from a page to its click at `end`, censored without clicks."""
    # A click of unknown time could be the first or the last one.
    end = pl.when(n_untimed == 0).then(end)
    bound = _count_seconds(TIME, pl.col("next_time")).fill_null(0.0)
    return Sums(_count_seconds(TIME, end), censored=_to_indicator(n_clicks == 0), lower_bound=bound)


@online_measure(r"\frac{1}{|P_c|} \sum_{p \in P_c} (t_{p,1} - t_p)", FERRO, "lower", **DURATION)
def TimeToClick(click: str = parameter("first", choice("first", "last"), _CLICK)) -> Sums:
    """Seconds from the page to its first or last click; censored for pages without a click."""
    return _sum_times_to(pl.col(f"{click}_click"), CLICKS, pl.col("untimed"))


@online_measure(r"\frac{1}{|P_s|} \sum_{p \in P_s} (t_{p,s} - t_p)", FOX, "lower", **DURATION)
def TimeToSAT(seconds: float = SAT_SECONDS, unknown: str = UNKNOWN_DWELL) -> Sums:
    """Seconds from the page to its first satisfied click; censored without a satisfied click."""
    sat_time, unsure_time = pl.col(f"first_sat@{seconds}"), pl.col(f"first_unsure@{seconds}")
    n_untimed = pl.col(f"untimed_sat@{seconds}")
    if unknown == "not":
        return _sum_times_to(sat_time, _count_sat(seconds), n_untimed)
    n_untimed += pl.col(f"untimed_unsure@{seconds}")
    if unknown == "sat":
        end = pl.min_horizontal(sat_time, unsure_time)
    else:
        # An earlier click of unknown dwell time could have been the first satisfied click.
        end = pl.when((_count_unsure(seconds) == 0) | (sat_time <= unsure_time)).then(sat_time)
    return _sum_times_to(end, _count_sat(seconds) + _count_unsure(seconds), n_untimed)


@online_measure(
    r"\frac{1}{|C_d|} \sum_{c \in C_d} d_c", FERRO, "higher", object_kind="click", **DURATION
)
def Dwell() -> Sums:
    """Seconds that a user stays on a clicked result."""
    uncensored, censored = pl.col("dwells"), pl.col("dwells_censored")
    n_missing = CLICKS - uncensored - censored
    return Sums(pl.col("dwell") / MICROSECONDS, uncensored, censored=censored, missing=n_missing)


def _count_satisfied(seconds: float, unknown: str) -> pl.Expr:
    return _count_sat(seconds) + _count_unsure(seconds) if unknown == "sat" else _count_sat(seconds)


def _count_dissatisfied(seconds: float, unknown: str) -> pl.Expr:
    # Clicks with a known dwell time below the threshold.
    short_clicks = CLICKS - _count_sat(seconds) - _count_unsure(seconds)
    return short_clicks + _count_unsure(seconds) if unknown == "not" else short_clicks


def _sum_per_page(n_clicks: pl.Expr, seconds: float, unknown: str) -> Sums:
    if unknown != "drop":
        return Sums(n_clicks)
    return Sums(pl.when(_count_unsure(seconds) == 0).then(n_clicks))


def _sum_per_click(n_clicks: pl.Expr, seconds: float, unknown: str) -> Sums:
    if unknown != "drop":
        return Sums(n_clicks, CLICKS)
    return Sums(n_clicks, CLICKS - _count_unsure(seconds), missing=_count_unsure(seconds))


@online_measure(r"\frac{1}{|P|} \sum_p |\{c \in C_p : d_c \ge s\}|", FOX, "higher", unit="clicks")
def SATClicks(seconds: float = SAT_SECONDS, unknown: str = UNKNOWN_DWELL) -> Sums:
    """Number of satisfied clicks on a page, by their dwell times."""
    return _sum_per_page(_count_satisfied(seconds, unknown), seconds, unknown)


@online_measure(r"\frac{|\{c \in C_d : d_c \ge s\}|}{|C_d|}", FOX, "higher", object_kind="click")
def SATRate(seconds: float = SAT_SECONDS, unknown: str = UNKNOWN_DWELL) -> Sums:
    """Proportion of the clicks that are satisfied, by their dwell times."""
    return _sum_per_click(_count_satisfied(seconds, unknown), seconds, unknown)


@online_measure(r"\frac{1}{|P|} \sum_p |\{c \in C_p : d_c < s\}|", KIM, "lower", unit="clicks")
def DSAT(seconds: float = DSAT_SECONDS, unknown: str = UNKNOWN_DWELL) -> Sums:
    """Number of dissatisfied clicks on a page, by their dwell times."""
    return _sum_per_page(_count_dissatisfied(seconds, unknown), seconds, unknown)


@online_measure(r"\frac{|\{c \in C_d : d_c < s\}|}{|C_d|}", KIM, "lower", object_kind="click")
def DSATRate(seconds: float = DSAT_SECONDS, unknown: str = UNKNOWN_DWELL) -> Sums:
    """Proportion of the clicks that are dissatisfied, by their dwell times."""
    return _sum_per_click(_count_dissatisfied(seconds, unknown), seconds, unknown)


@online_measure(r"\frac{1}{|P|} \sum_p [C_p = \emptyset]", FERRO_LOGS, "lower")
def Abandonment() -> Sums:
    """Proportion of the pages without a click."""
    return Sums(_to_indicator(CLICKS == 0))


_NO_RESULTS = "count that is 0: of shown `results`, or the column `total_results` of pages"
_RESULT_COUNTS = choice("results", "total_results")


@online_measure(r"\frac{1}{|P|} \sum_p [S_p = \emptyset]", FERRO_LOGS, "lower")
def ZeroResults(by: str = parameter("results", _RESULT_COUNTS, _NO_RESULTS)) -> Sums:
    """Proportion of the pages without a result."""
    return Sums(_to_indicator(pl.col(by) == 0))


@online_measure(
    r"\frac{|\{p : C_p = \emptyset, l_p = l\}|}{|\{p : C_p = \emptyset, l_p\}|}",
    "Li, Huffman and Tokuda (2009)",
    "higher",
)
def GoodAbandonment(
    label: str = parameter(
        "good", any_name, "label of pages that answered the query without a click"
    ),
) -> Sums:
    """Proportion of the labelled pages without a click that have the label `label`."""
    return Sums(pl.when(CLICKS == 0).then(_to_indicator(pl.col("label") == label)))


@online_measure(
    r"\frac{1}{|P|} \sum_p [C_p = \emptyset] [p = \mathit{last}(s_p)]",
    "proxy of the good abandonment of Li, Huffman and Tokuda (2009)",
)
def AbandonedLast() -> Sums:
    """Proportion of the pages with neither a click nor a later query in the session.

    On such pages users may have found the answer, or given up: this is only a proxy.
    """
    # Pages without a session have no value, whether clicked or not.
    return Sums(_to_indicator(pl.when(IS_LAST.is_not_null()).then((CLICKS == 0) & IS_LAST)))


@online_measure(
    r"\frac{1}{|P|} \sum_p [q_{p+1} \ne q_p] [t_{p+1} - t_p \le w]",
    "Hassan, Shi, Craswell and Ramsey (2013)",
    "lower",
)
def Reformulation(
    window: float = parameter(300.0, number(0), "maximum number of seconds until the next query"),
    shares: str = parameter(
        "any",
        choice("any", "term"),
        "next queries that count: `any` different query, or only with a common `term`",
    ),
) -> Sums:
    """Proportion of the pages followed by another query of the session within `window` seconds."""
    queries = query, next_query = pl.col("query"), pl.col("next_query")
    pause = (pl.col("next_time") - TIME).dt.total_microseconds()
    is_reformulated = (next_query != query) & (pause <= window * MICROSECONDS) & (pause >= 0)
    if shares == "term":
        terms, next_terms = (q.str.to_lowercase().str.extract_all(r"\w+") for q in queries)
        is_reformulated &= terms.list.set_intersection(next_terms).list.len() > 0
    # The last page of a session has no later query; pages without a session have no value.
    return Sums(_to_indicator(pl.when(IS_LAST).then(False).otherwise(is_reformulated)))


@online_measure(r"\frac{1}{|S|} \sum_s |P_s|", FERRO, level="session", **N_QUERIES)
def QueriesPerSession() -> Sums:
    """Number of queries (pages) of a session."""
    return Sums(pl.len())


@online_measure(
    r"\frac{1}{|S|} \sum_s (t_{s,\mathit{last}} - t_{s,1})", FERRO, unit="seconds", level="session"
)
def SessionLength(
    until_last: str = parameter(
        "click",
        choice("click", "page"),
        "end of the session: its last page or click (`click`), or its last page (`page`)",
    ),
) -> Sums:
    """Seconds from the first page of a session to its last page or click."""
    last_page = TIME.max()
    end = pl.max_horizontal(last_page, pl.col("last_click").max())
    return Sums(_count_seconds(TIME.min(), end if until_last == "click" else last_page))


@online_measure(
    r"\frac{1}{|S|} \sum_s \sum_{p \in P_s} |C_p|", FERRO, unit="clicks", level="session"
)
def SessionClicks() -> Sums:
    """Number of clicks of a session."""
    return Sums(CLICKS.sum())


@online_measure(
    r"\frac{1}{|S|} \sum_s [\exists c \in C_s : d_c \ge s]", FOX, "higher", level="session"
)
def SessionSuccess(seconds: float = SAT_SECONDS, unknown: str = UNKNOWN_DWELL) -> Sums:
    """Proportion of the sessions with a satisfied click."""
    success = _count_satisfied(seconds, unknown).sum() > 0
    if unknown == "drop":
        # Without a satisfied click, a click of unknown dwell time could have been satisfied.
        success = pl.when(success | (_count_unsure(seconds).sum() == 0)).then(success)
    return Sums(_to_indicator(success))


_TO_SAT = r"\frac{1}{|S_s|} \sum_{s \in S_s} k_s"


@online_measure(_TO_SAT, FOX, "lower", level="session", may_be_censored=True, **N_QUERIES)
def QueriesToSAT(seconds: float = SAT_SECONDS, unknown: str = UNKNOWN_DWELL) -> Sums:
    """Number of queries of a session until its first satisfied click; censored if there is none."""
    has_sat = _count_satisfied(seconds, unknown) > 0
    has_unsure = (_count_unsure(seconds) > 0) & pl.lit(unknown == "drop")
    # arg_max would not always return the first of equal values.
    first_sat, first_unsure = has_sat.arg_true().first(), has_unsure.arg_true().first()
    # An earlier click of unknown dwell time could have been the first satisfied click.
    is_certain = first_unsure.is_null() | (first_sat <= first_unsure)
    return Sums(
        pl.when(is_certain).then(first_sat + 1).cast(pl.Int64),
        censored=_to_indicator(~(has_sat | has_unsure).any()),
        lower_bound=pl.len().cast(pl.Float64),
    )


_N_ACTIVE_DAYS = TIME.dt.date().drop_nulls().n_unique()


@online_measure(r"\frac{1}{|U|} \sum_u |P_u|", LALMAS, "higher", level="user", **N_QUERIES)
def QueriesPerUser() -> Sums:
    """Number of queries (pages) of a user."""
    return Sums(pl.len())


@online_measure(r"\frac{1}{|U|} \sum_u |S_u|", LALMAS, "higher", unit="sessions", level="user")
def SessionsPerUser() -> Sums:
    """Number of sessions of a user."""
    sessions = pl.col("session").drop_nulls().n_unique()
    return Sums(pl.when(sessions > 0).then(sessions))


@online_measure(r"\frac{1}{|U|} \sum_u |D_u|", LALMAS, "higher", unit="days", level="user")
def ActiveDays() -> Sums:
    """Number of days, in UTC, on which a user issued a query."""
    return Sums(pl.when(_N_ACTIVE_DAYS > 0).then(_N_ACTIVE_DAYS))


@online_measure(
    r"\frac{1}{|U|} \sum_u \frac{|P_u|}{|D_u|}", LALMAS, "higher", unit="queries", level="user"
)
def QueriesPerActiveDay() -> Sums:
    """Number of queries of a user per active day."""
    return Sums(pl.when(_N_ACTIVE_DAYS > 0).then(pl.len() / _N_ACTIVE_DAYS))


class AbsenceTime(OnlineMeasure):
    """Seconds from the end of a session to the user's next session; censored after the last one.

    A session ends with its last page or click. The last absence is censored at the last page or
    click of the log. Means of uncensored absences are biased low: see :func:`survival`.
    """

    name = "AbsenceTime"
    level, object_kind = "user", "absence"
    formula = r"\frac{1}{|A|} \sum_{s \in A} (t_{s+1,1} - t_{s,\mathit{last}})"
    source = "Dupret and Lalmas (2013)"
    unit, better, may_be_censored = "seconds", "lower", True

    def columns(self, *, with_lower_bound: bool = False) -> set[str]:
        return {"user", "session", "time", "last_click"}

    def summands(self, pages: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
        end = pl.max_horizontal(TIME.max(), pl.col("last_click").max())
        other_keys = [key for key in keys if key != "user"]
        columns = [pl.col(key) for key in other_keys]
        user_keys = [pl.when((key.n_unique() == 1).over("user")).then(key) for key in columns]
        sessions = (
            pages.drop_nulls(["user", "session"])
            .with_columns(user_keys)
            .group_by("user", "session", maintain_order=True)
            .agg(pl.col(other_keys).first(), start=TIME.min(), end=end)
            .sort("start", maintain_order=True)
            .with_columns(next=pl.col("start").shift(-1).over("user"))
        )
        end_of_log = pl.lit(pages.select(end).item(), sessions["end"].dtype)
        sums = Sums(
            _count_seconds(pl.col("end"), pl.col("next")),
            censored=_to_indicator(pl.col("next").is_null()),
            lower_bound=_count_seconds(pl.col("end"), end_of_log),
        )
        return sessions.select("user", *other_keys, **sums.get_expressions())
