"""Time-biased gain calibrated from logs: simulated users with known parameters, and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.online.log.query_log import QueryLog, make_log
from tests.online.refusals import check_refused

RANKS = 10
KNOWN = {"summary": 5.0, "click": 0.6, "click_other": 0.3, "a": 0.02, "b": 9.0}


def reading_log(pages: int, seed: int = 0) -> tuple[QueryLog, dict[str, int]]:
    """Users read summaries and clicked documents one after another, with random times.

    They leave with probability 0.1 before each rank.
    """
    rng = np.random.default_rng(seed)
    lengths = {f"d{k}": int(rng.integers(50, 3000)) for k in range(300)}
    results, clicks = [], []
    for page in range(pages):
        clock = 0.0
        is_here = True
        for rank in range(1, RANKS + 1):
            doc, grade = f"d{rng.integers(300)}", int(rng.integers(0, 2))
            results.append((page, rank, doc, grade))
            is_here = is_here and rng.random() > 0.1
            if not is_here:
                continue
            clock += rng.exponential(KNOWN["summary"])
            if rng.random() < KNOWN["click" if grade else "click_other"]:
                dwell = max(0.0, KNOWN["a"] * lengths[doc] + KNOWN["b"] + rng.normal(0, 3))
                clicks.append((page, rank, doc, clock, dwell))
                clock += dwell
    start = pl.datetime(2026, 1, 1, time_zone="UTC")
    seconds = pl.duration(microseconds=pl.col("seconds") * 1e6)
    click_table = pl.DataFrame(
        clicks, schema=["page", "rank", "doc", "seconds", "dwell"], orient="row"
    ).with_columns(time=start + seconds)
    names = [str(page) for page in range(pages)]
    page_table = pl.DataFrame({"id": names, "query": names}).with_columns(time=start)
    result_table = pl.DataFrame(results, schema=["page", "rank", "doc", "grade"], orient="row")
    return make_log(page_table, result_table, click_table), lengths


def test_known_parameters_are_recovered() -> None:
    log, lengths = reading_log(2000)
    calibration = cf.online.calibrate_tbg(log, lengths=lengths)
    estimates, errors = estimates_of(calibration), estimates_of(calibration, "error")
    for name, value in KNOWN.items():
        error = errors[name]
        assert abs(estimates[name] - value) < 4 * error
        assert error < 0.06 * value
    assert estimates["h"] > 0
    measure = calibration.measure(save=0.5)
    assert cf.parse_measure(str(measure)) == measure
    assert [row[-1] for row in calibration.to_polars().rows()] == (
        ["log"] * 4 + ["Smucker and Clarke (2012)"] + ["log"] * 2
    )


def estimates_of(calibration: cf.online.TimeCalibration, column: str = "value") -> dict[str, Any]:
    return dict(calibration.to_polars().select("parameter", column).iter_rows())


def timed_log(seconds: Any, dwell: Any = None) -> QueryLog:
    """Pages with a click after 10 seconds, which lasts until the user leaves."""
    pages = np.arange(len(seconds))
    start = pl.datetime(2026, 1, 1, time_zone="UTC")
    names = [str(page) for page in pages]
    clicks = pl.DataFrame({"page": pages, "rank": 1, "doc": "d"}).with_columns(
        dwell=pl.Series(np.asarray(seconds) - 10 if dwell is None else dwell, dtype=pl.Float64),
        time=start + pl.duration(seconds=10),
    )
    page_table = pl.DataFrame({"id": names, "query": names, "session": names})
    return make_log(page_table.with_columns(time=start), None, clicks)


def test_half_life_of_users_who_leave_at_a_constant_rate() -> None:
    seconds = 10 + np.random.default_rng(3).exponential(224 / np.log(2), 4000)
    calibration = cf.online.calibrate_tbg(timed_log(seconds))
    # All stay for the first ten seconds.
    assert estimates_of(calibration)["h"] == pytest.approx(224 + 10 * np.log(2), rel=0.05)
    assert estimates_of(calibration)["h"] == pytest.approx(np.log(2) * seconds.mean(), rel=1e-6)
    assert estimates_of(calibration, "error")["h"] == pytest.approx(
        np.log(2) * seconds.std(ddof=1) / np.sqrt(seconds.size), rel=1e-3
    )
    assert estimates_of(calibration)["summary"] == 10
    by_session = cf.online.calibrate_tbg(timed_log(seconds), unit="session")
    assert estimates_of(by_session)["h"] == estimates_of(calibration)["h"]
    log = timed_log(seconds)
    log = replace(log, pages=log.pages.with_columns(session=pl.lit(None, pl.String)))
    without_session = cf.online.calibrate_tbg(log, unit="session")
    assert estimates_of(without_session)["h"] == estimates_of(calibration)["h"]
    assert without_session.notes[0].startswith("4,000 pages without session, each treated as")


def test_units_without_a_timed_click_are_counted() -> None:
    log = timed_log([30, 40, 50])
    queries = log.pages.with_columns(query=pl.Series(["a", "b", "c"]))
    log = replace(log, pages=queries, clicks=log.clicks.filter(pl.col("page") == 0))
    notes = cf.online.calibrate_tbg(log, unit="query").notes
    assert notes[0] == "2 queries excluded from the half-life: no click of known time"


def test_unknown_ends_are_censored_or_the_last_click() -> None:
    log = timed_log([0, 0, 0], dwell=[30, 50, None])
    censored = cf.online.calibrate_tbg(log)
    assert estimates_of(censored)["h"] == pytest.approx(np.log(2) * (40 + 60 + 10) / 2)
    assert "half-life: 1 page censored at the last click" in censored.notes[0]
    at_click = cf.online.calibrate_tbg(log, last_click="end")
    assert estimates_of(at_click)["h"] == pytest.approx(np.log(2) * (40 + 60 + 10) / 3)
    assert estimates_of(at_click)["b"] == 40
    assert str(at_click.measure()).startswith("TBG(a=0, b=40, h=")


def test_saves_are_long_stays_on_relevant_documents() -> None:
    grades = [1, 1, 1, 0]
    pages = pl.DataFrame({"id": ["q"] * 4, "query": ["q"] * 4})
    keys = pl.DataFrame({"page": range(4), "rank": 1, "doc": [*"abcd"]})
    results = keys.with_columns(grade=pl.Series(grades))
    dwell = pl.Series([10.0, 40.0, 35.0, 90.0])
    censored = pl.Series([True, False, True, False])
    log = make_log(pages, results, keys.with_columns(dwell=dwell, censored=censored))
    calibration = cf.online.calibrate_tbg(log, save=30)
    # Of three relevant documents one may have been saved later.
    row = calibration.to_polars().row(by_predicate=pl.col("parameter") == "save", named=True)
    assert (row["value"], row["observations"]) == (1.0, 2)


def test_negative_estimates_are_set_to_0() -> None:
    log, _ = reading_log(60)
    falling = {f"d{k}": 0 for k in range(300)}
    dwell = dict(log.clicks.group_by("doc").agg(pl.col("dwell").mean()).iter_rows())
    falling |= {doc: int(1e6 / (1 + seconds)) for doc, seconds in dwell.items()}
    calibration = cf.online.calibrate_tbg(log, lengths=falling)
    assert estimates_of(calibration)["a"] == 0
    assert estimates_of(calibration)["b"] == pytest.approx(log.clicks["dwell"].mean())
    assert "the estimate of a was below 0 and is set to 0" in calibration.notes


def test_refusals() -> None:
    log = timed_log([20.0])
    bare = make_log(log.pages.select("id", "query"), None, log.clicks.drop("time", "dwell"))
    unclicked = make_log(log.pages)
    calibrate = cf.online.calibrate_tbg
    check_refused(
        (lambda: calibrate(bare), "no parameter of TBG can be estimated"),
        (lambda: calibrate(unclicked), "a calibration of TBG requires clicks"),
        (lambda: calibrate(log, unit="user"), "half-life by user requires column 'user' of pages"),
        (lambda: calibrate(log, last_click="ignored"), "last_click"),
        (lambda: calibrate(log, save=0), "save"),
    )
