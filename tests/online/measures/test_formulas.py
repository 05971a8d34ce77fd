"""Every measure against its definition, written out page by page on random logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.online.measures.online_measure import MEASURES
from tests.online.measures.logs import Page, pages_of, random_log

Values = list[float | None]
Click = dict[str, Any]


def ratio(pairs: Iterable[tuple[float, float]]) -> float:
    listed = list(pairs)
    top, bottom = sum(a for a, _ in listed), sum(b for _, b in listed)
    return top / bottom if bottom else float("nan")


def mean(values: Iterable[float | None]) -> float:
    known = [one for one in values if one is not None]
    return sum(known) / len(known) if known else float("nan")


def distinct(page: Page) -> set[int]:
    return {click["rank"] for click in page.clicks}


def known(click: Click, limit: float) -> bool | None:
    """Whether a dwell reaches a limit; None where that is not known."""
    if click["dwell"] is None or (click["censored"] and click["dwell"] < limit):
        return None
    return bool(click["dwell"] >= limit)


def sessions(pages: list[Page]) -> list[list[Page]]:
    ordered = sorted(pages, key=lambda page: (page.row["session"], page.row["time"]))
    return [list(of) for _, of in groupby(ordered, key=lambda page: page.row["session"])]


def users(pages: list[Page]) -> list[list[Page]]:
    ordered = sorted(pages, key=lambda page: page.row["user"])
    return [list(of) for _, of in groupby(ordered, key=lambda page: page.row["user"])]


def wait_to(page: Page, clicks: list[Click]) -> float | None:
    return page.waited(clicks[0]) if clicks else None


def ctr_at(pages: list[Page], k: int) -> float:
    return ratio((k in distinct(p), 1) for p in pages if k in p.ranks)


def expected(pages: list[Page], page: Page) -> float:
    return sum(ctr_at(pages, rank) for rank in page.ranks)


def skipped(page: Page) -> tuple[int, int]:
    """Number of ranks above the lowest click without a click, and the lowest rank clicked."""
    lowest = max(distinct(page))
    return len(set(range(1, lowest)) - distinct(page)), lowest


def first_rr(page: Page) -> float:
    return 1 / page.clicks[0]["rank"] if page.clicks else 0.0


def sat_clicks(page: Page, limit: float = 30) -> list[Click]:
    return [click for click in page.clicks if known(click, limit)]


def followers(pages: list[Page]) -> list[tuple[Page, Page | None]]:
    return [
        (page, of[k + 1] if k + 1 < len(of) else None)
        for of in sessions(pages)
        for k, page in enumerate(of)
    ]


def reformulated(page: Page, following: Page | None, term: bool) -> bool:
    if following is None:
        return False
    seconds = (following.row["time"] - page.row["time"]).total_seconds()
    one, other = page.row["query"], following.row["query"]
    shares = bool(set(one.split()) & set(other.split())) if term else True
    return one != other and seconds <= 300 and shares


def end_of(pages: list[Page]) -> object:
    times = [page.row["time"] for page in pages]
    return max([*times, *(click["time"] for page in pages for click in page.clicks)])


def success(of: list[Page]) -> float | None:
    told = [known(click, 30) for page in of for click in page.clicks]
    return 1.0 if True in told else None if None in told else 0.0


def to_sat(of: list[Page]) -> float | None:
    for number, page in enumerate(of, 1):
        if sat_clicks(page):
            return number
        if any(known(click, 30) is None for click in page.clicks):
            return None
    return None


def sure_wait(page: Page, limit: float = 30) -> float | None:
    """Seconds to the first satisfied click; None if one of unknown dwell came before."""
    unsure = [page.waited(click) for click in page.clicks if known(click, limit) is None]
    first = wait_to(page, sat_clicks(page, limit))
    late = first is not None and any(one < first for one in unsure)
    return None if late else first


def number_known(page: Page, limit: float, value: bool) -> float | None:
    """Number of clicks of a dwell above or below a limit; None if one is not known."""
    said = [known(click, limit) for click in page.clicks]
    return None if None in said else said.count(value)


def absences(pages: list[Page]) -> Values:
    found: Values = []
    for of in users(pages):
        spans = sorted((s[0].row["time"], end_of(s)) for s in sessions(of))
        for (_, end), (start, _) in zip(spans, spans[1:], strict=False):
            found.append((start - end).total_seconds() if start >= end else None)
    return found


def share_of_clicks(pages: list[Page], limit: float, good: bool) -> float:
    told = [known(click, limit) for page in pages for click in page.clicks]
    return mean(float(one is good) for one in told if one is not None)


REFERENCE: dict[str, Callable[[list[Page]], float]] = {
    "CTR": lambda ps: ratio((len(distinct(p)), len(p.ranks)) for p in ps),
    "CTR@3": lambda ps: ratio(
        (len([r for r in distinct(p) if r <= 3]), len([r for r in p.ranks if r <= 3])) for p in ps
    ),
    "CTR(ranks='at')@2": lambda ps: ctr_at(ps, 2),
    "CTR(over='pages')": lambda ps: mean(
        len(distinct(p)) / len(p.ranks) if p.ranks else None for p in ps
    ),
    "CTR(repeats='count')": lambda ps: ratio((len(p.clicks), len(p.ranks)) for p in ps),
    "UCTR": lambda ps: mean(float(bool(p.clicks)) for p in ps),
    "UCTR@2": lambda ps: mean(float(any(c["rank"] <= 2 for c in p.clicks)) for p in ps),
    "QCTR": lambda ps: mean(len(p.clicks) for p in ps),
    "QCTR(repeats='once')": lambda ps: mean(len(distinct(p)) for p in ps),
    "COEC": lambda ps: ratio((len(distinct(p)), expected(ps, p)) for p in ps),
    "ClickRank": lambda ps: mean(p.clicks[0]["rank"] for p in ps if p.clicks),
    "ClickRank(first='rank')": lambda ps: mean(min(distinct(p)) for p in ps if p.clicks),
    "ClickRR": lambda ps: mean(first_rr(p) for p in ps),
    "ClickRR(abandoned='drop')": lambda ps: mean(first_rr(p) for p in ps if p.clicks),
    "MaxRR": lambda ps: mean(1 / min(distinct(p)) for p in ps if p.clicks),
    "MeanRR": lambda ps: mean(
        mean(1 / click["rank"] for click in p.clicks) for p in ps if p.clicks
    ),
    "MeanRR(repeats='once')": lambda ps: mean(
        mean(1 / rank for rank in distinct(p)) for p in ps if p.clicks
    ),
    "MinRR": lambda ps: mean(1 / max(distinct(p)) for p in ps if p.clicks),
    "MinRR(abandoned='zero')": lambda ps: mean(
        1 / max(distinct(p)) if p.clicks else 0.0 for p in ps
    ),
    "PLC": lambda ps: mean(len(distinct(p)) / max(distinct(p)) for p in ps if p.clicks),
    "pSkip": lambda ps: mean(ratio([skipped(p)]) for p in ps if p.clicks),
    "pSkip(over='results')": lambda ps: ratio(skipped(p) for p in ps if p.clicks),
    "TimeToClick": lambda ps: mean(wait_to(p, p.clicks) for p in ps),
    "TimeToClick(click='last')": lambda ps: mean(wait_to(p, p.clicks[-1:]) for p in ps),
    "TimeToSAT": lambda ps: mean(map(sure_wait, ps)),
    "TimeToSAT(unknown='not')": lambda ps: mean(wait_to(p, sat_clicks(p)) for p in ps),
    "TimeToSAT(unknown='sat')": lambda ps: mean(
        wait_to(p, [c for c in p.clicks if known(c, 30) is not False]) for p in ps
    ),
    "Dwell": lambda ps: mean(
        c["dwell"] for p in ps for c in p.clicks if c["dwell"] is not None and not c["censored"]
    ),
    "SATClicks": lambda ps: mean(number_known(p, 30, True) for p in ps),
    "SATClicks(seconds=10)": lambda ps: mean(number_known(p, 10, True) for p in ps),
    "SATClicks(unknown='not')": lambda ps: mean(len(sat_clicks(p)) for p in ps),
    "SATRate": lambda ps: share_of_clicks(ps, 30, True),
    "SATRate(unknown='sat')": lambda ps: mean(
        float(known(c, 30) is not False) for p in ps for c in p.clicks
    ),
    "SATRate(unknown='not')": lambda ps: mean(
        float(known(c, 30) is True) for p in ps for c in p.clicks
    ),
    "DSAT": lambda ps: mean(number_known(p, 15, False) for p in ps),
    "DSAT(unknown='sat')": lambda ps: mean(
        sum(known(c, 15) is False for c in p.clicks) for p in ps
    ),
    "DSATRate": lambda ps: share_of_clicks(ps, 15, False),
    "Abandonment": lambda ps: mean(float(not p.clicks) for p in ps),
    "ZeroResults": lambda ps: mean(float(not p.ranks) for p in ps),
    "AbandonedLast": lambda ps: mean(
        float(not page.clicks and following is None) for page, following in followers(ps)
    ),
    "Reformulation": lambda ps: mean(float(reformulated(*two, False)) for two in followers(ps)),
    "Reformulation(shares='term')": lambda ps: mean(
        float(reformulated(*two, True)) for two in followers(ps)
    ),
    "QueriesPerSession": lambda ps: mean(len(of) for of in sessions(ps)),
    "SessionLength": lambda ps: mean(
        (end_of(of) - of[0].row["time"]).total_seconds() for of in sessions(ps)
    ),
    "SessionLength(until_last='page')": lambda ps: mean(
        (of[-1].row["time"] - of[0].row["time"]).total_seconds() for of in sessions(ps)
    ),
    "SessionClicks": lambda ps: mean(sum(len(p.clicks) for p in of) for of in sessions(ps)),
    "SessionSuccess": lambda ps: mean(map(success, sessions(ps))),
    "QueriesToSAT": lambda ps: mean(map(to_sat, sessions(ps))),
    "QueriesPerUser": lambda ps: mean(len(of) for of in users(ps)),
    "SessionsPerUser": lambda ps: mean(len({p.row["session"] for p in of}) for of in users(ps)),
    "ActiveDays": lambda ps: mean(len({p.row["time"].date() for p in of}) for of in users(ps)),
    "QueriesPerActiveDay": lambda ps: mean(
        len(of) / len({p.row["time"].date() for p in of}) for of in users(ps)
    ),
    "AbsenceTime": lambda ps: mean(absences(ps)),
}


def test_every_measure_has_a_reference() -> None:
    tested = {cf.online.parse_online_measure(text).name for text in REFERENCE}
    assert tested | {"GoodAbandonment"} == {*MEASURES}


@settings(max_examples=4, phases=[Phase.generate])  # A smaller seed is not simpler.
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 10, 40]))
def test_measures_are_their_definitions(seed: int, size: int) -> None:
    log = random_log(seed, size)
    names = [name for name in REFERENCE if log.results.height or not needs_results(name)]
    pages = list(pages_of(log))
    found = cf.online.measure(log, names)
    assert [*found.measures] == [cf.online.parse_online_measure(name) for name in names]
    want = [REFERENCE[name](pages) for name in names]
    np.testing.assert_allclose(found.means[0], want, rtol=1e-9, atol=1e-12)


def needs_results(name: str) -> bool:
    return any(table == "results" for table, _ in cf.online.parse_online_measure(name).needs)


@pytest.mark.parametrize("by", ["variant", "user", "session", "query"])
def test_values_by_unit_are_those_of_its_pages(by: str) -> None:
    log = random_log(3, 40)
    levels = {"session": {"page", "session"}, "query": {"page"}}.get(by)
    fit = [
        name
        for name in REFERENCE
        if (not levels or cf.online.parse_online_measure(name).level in levels) and name != "COEC"
    ]
    if by == "query":
        fit = [one for one in fit if not one.startswith(("Reformulation", "AbandonedLast"))]
    found = cf.online.measure(log, fit, by)
    pages = list(pages_of(log))
    assert found.units[by].to_list() == sorted({page.row[by] for page in pages})
    for row, unit in enumerate(found.units[by]):
        own = [page for page in pages if page.row[by] == unit]
        want = [REFERENCE[name](own) for name in fit]
        np.testing.assert_allclose(found.means[row], want, rtol=1e-9, err_msg=unit)


def test_good_abandonment_goes_by_labels() -> None:
    log = random_log(5, 40)
    empty = [page.row["id"] for page in pages_of(log) if not page.clicks]
    labels = {empty[0]: "good", empty[1]: "bad", empty[2]: "good"}
    found = cf.online.measure(log, "GoodAbandonment", labels=labels)
    assert found["GoodAbandonment"].item() == 2 / 3
    assert found.values.item() == 3
    bad = cf.online.measure(log, "GoodAbandonment(label='bad')", labels=labels)
    assert bad.means.item() == 1 / 3


def test_counts_add_up_to_the_rows() -> None:
    log = random_log(9, 50)
    found = cf.online.measure(log)
    of = {"page": 50, "click": log.clicks.height}
    of["session"] = log.pages["session"].n_unique()
    of["user"] = log.pages["user"].n_unique()
    of["absence"] = of["session"]
    every = (found.values + found.censored + found.missing)[0]
    assert every.tolist() == [of[one.value_kind] for one in found.measures]


def test_times_that_are_not_known_are_not_censored() -> None:
    pages = {"page": list("pqr"), "query": list("abc"), "user": list("uuv"), "time": [10, 20, None]}
    shown = {"page": list("pqr"), "rank": [1] * 3, "doc": list("xyz")}
    clicks = {"page": ["p", "p"], "rank": [1, 1], "time": [None, 15], "dwell": [40, 3]}
    log = cf.online.read_log(pages, shown, clicks)
    names = ["TimeToClick", "TimeToSAT", "TimeToSAT(seconds=3)", "TimeToSAT(unknown='sat')"]
    found = cf.online.measure(log, [*names, "ActiveDays", "QueriesPerActiveDay"]).to_polars()
    told = found.select("value", "values", "censored", "missing").rows()
    # The satisfied click of p came at an unknown time, which may be before the other click.
    assert [row[1:] for row in told[:4]] == [(0, 2, 1)] * 4
    found = cf.online.measure(log, ["TimeToSAT(seconds=50, unknown='not')"]).to_polars()
    assert found["censored"].item() == 3
    assert cf.online.survival(log, "TimeToSAT").table["missing"].to_list() == [1]
    # On how many days v asked is not known; on some.
    assert told[4:] == [(1.0, 1, 0, 1), (2.0, 1, 0, 1)]


UNKNOWN_DWELL = ["SATClicks", "DSAT", "SATRate", "DSATRate", "SessionSuccess", "QueriesToSAT"]
UNKNOWN_DWELL += ["TimeToSAT", "Dwell"]


def test_dwell_that_is_never_known_is_no_zero() -> None:
    """No value is told of a click of unknown dwell, and pages without a click keep theirs."""
    pages = {"page": list("pqrs"), "query": list("abcd"), "session": list("uuvw")}
    shown = {"page": list("pqrs"), "rank": [1] * 4, "doc": list("xyzw")}
    clicks = {"page": list("pqr"), "rank": [1] * 3, "time": [15, 25, 35], "dwell": [0, None, -1]}
    times = {"time": [10, 20, 30, 40]}
    log = cf.online.read_log(pages | times, shown, clicks)
    log = replace(log, clicks=log.clicks.with_columns(dwell=pl.lit(None, pl.Float64)))
    found = cf.online.measure(log, UNKNOWN_DWELL).to_polars()
    figures = found.select("value", "values", "censored").rows()
    told = dict(zip(found["measure"], figures, strict=True))
    assert told["SATClicks"] == told["DSAT"] == (0.0, 1, 0)
    assert told["SATRate"] == told["DSATRate"] == (None, 0, 0)
    assert told["SessionSuccess"] == (0.0, 1, 0)
    assert told["QueriesToSAT"] == told["TimeToSAT"] == (None, 0, 1)
    clicked = log.select_pages(pl.col("id") != "s")
    assert cf.online.measure(clicked, UNKNOWN_DWELL).values.sum() == 0


def test_sessions_of_users_that_are_not_known() -> None:
    pages = {"page": [1, 2, 3], "query": ["a"] * 3, "user": [*"uvv"], "session": [None, "s", None]}
    found = cf.online.measure(cf.online.read_log(pages), "SessionsPerUser")
    assert (found["SessionsPerUser"].item(), found.values.item(), found.missing.item()) == (1, 1, 1)


def test_a_log_of_no_page_or_no_user_has_no_values() -> None:
    log = cf.online.simulated_log()
    for part in (
        log.select_pages(pl.col("query") == "none"),
        log.select_pages(log.pages["query"] == "none"),
    ):
        assert part.pages.is_empty()
        assert cf.online.measure(part).values.sum() == 0
    pages = {"page": ["p", "q"], "query": ["a", "b"], "time": [1, 2]}
    apart = pages | {"user": ["u", None], "session": [None, "s"]}
    clicks = {"page": ["p"], "rank": [1], "time": [3]}
    one = cf.online.read_log(apart, {"page": ["p"], "doc": ["x"]}, clicks)
    assert cf.online.measure(one, "AbsenceTime").values.item() == 0
