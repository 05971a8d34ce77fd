"""Exports are read back the same, from any text in any column."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import InputError, PolicyError
from cranfield.sources.schemas import fold_name
from cranfield.sources.summaries import TOTALS
from tests.online.log.samples import log_of, same

DATA = Path(__file__).parents[2] / "data" / "online"
FORMATS = ("csv", "parquet", "jsonl", "ubi")


@pytest.mark.parametrize(
    ("form", "name"),
    [("ubi", "session2013"), ("jsonl", "session2013"), *product(FORMATS, ["simulated"])],
)
def test_read_back(tmp_path: Path, form: str, name: str) -> None:
    log = cf.online.simulated_log()
    log = log.select_pages(pl.int_range(pl.len()) % 8 == 0)
    log = log if name == "simulated" else cf.online.read_log(DATA / "session2013.xml.xz")
    log.write(tmp_path / "log", format=form)
    back = cf.online.read_log(tmp_path / "log")
    same(back, log)
    assert name == "simulated" or back.anomalies == log.anomalies


LETTERS = "".join(map(chr, range(1, 256))) + "\u0301\u2028\u2029\u200b\ufeff\ufffd漢😀"
NAME = st.text(LETTERS, min_size=1, max_size=5).filter(lambda name: name == name.strip() != "")
AT = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(lambda at: at.replace(tzinfo=UTC))


@st.composite
def logs(draw: st.DrawFn) -> cf.online.QueryLog:
    """Logs with any ids, with and without what is optional."""
    page_name = NAME.filter(lambda name: fold_name(name) not in TOTALS)
    ids = draw(st.lists(page_name, min_size=1, max_size=3, unique=True))
    optional: dict[str, Any] = {"user": NAME, "session": NAME, "variant": NAME, "method": NAME}
    optional |= {"time": AT, "total_results": st.integers(0, 10**12)}
    chosen = draw(st.sets(st.sampled_from(sorted(optional))))
    pages = [
        {"page": page, "query": draw(NAME)}
        | {name: draw(st.none() | optional[name]) for name in sorted(chosen)}
        for page in ids
    ]
    places = draw(st.sets(st.tuples(st.sampled_from(ids), st.integers(1, 6)), min_size=1))
    of_result: dict[str, Any] = {"team": NAME, "grade": st.integers(-5, 5)}
    of_result["propensity"] = st.floats(1e-6, 1)
    chosen = draw(st.sets(st.sampled_from(sorted(of_result))))
    results = [
        {"page": page, "rank": rank, "doc": draw(NAME)}
        | {name: draw(st.none() | of_result[name]) for name in sorted(chosen)}
        for page, rank in sorted(places)
    ]
    of_click: dict[str, Any] = {"dwell": st.floats(1e-3, 1e6), "censored": st.booleans()}
    of_click["time"] = st.datetimes(datetime(2201, 1, 1), datetime(2202, 1, 1))
    chosen = draw(st.sets(st.sampled_from(sorted(of_click))))
    clicks = [
        {"page": page, "rank": rank}
        | {name: draw(st.none() | of_click[name]) for name in sorted(chosen)}
        for page, rank in draw(st.lists(st.sampled_from(sorted(places)), min_size=1, max_size=4))
    ]
    return log_of(pages, results, clicks)


@settings(max_examples=12, deadline=None)
@pytest.mark.filterwarnings(
    "ignore:.* read as text, not as missing",
    "ignore:.* of users named",
    "ignore:.*dwell must be in seconds",
)
@given(logs(), st.sampled_from(FORMATS))
def test_any_log_is_read_back(log: cf.online.QueryLog, form: str) -> None:
    with TemporaryDirectory() as folder:
        log.write(folder, format=form)
        same(cf.online.read_log(folder), log)


@pytest.mark.parametrize("form", ["csv", "parquet", "ubi"])
def test_a_log_that_tells_of_no_clicks_is_read_back_as_one(tmp_path: Path, form: str) -> None:
    shown = cf.online.read_log({"page": ["p"], "query": ["q"]}, {"page": ["p"], "doc": ["a"]})
    for log in (shown, replace(shown, has_clicks=True)):
        folder = tmp_path / f"{log.has_clicks}"
        log.write(folder, format=form)
        assert cf.online.read_log(folder).has_clicks is log.has_clicks


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_log_without_clicks_or_impressions(tmp_path: Path, form: str) -> None:
    shown = cf.online.read_log([{"page": 1, "query": "q"}], [{"page": 1, "rank": 1, "doc": "a"}])
    shown.write(tmp_path / "shown", format=form)
    same(cf.online.read_log(tmp_path / "shown"), shown)
    clicked = cf.online.read_log([{"page": 1, "query": "q"}], None, [{"page": 1, "rank": 1}])
    clicked.write(tmp_path / "clicked", format=form)
    same(cf.online.read_log(tmp_path / "clicked"), clicked)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    log = cf.online.simulated_log()
    with pytest.raises(PolicyError, match="unknown format 'xml'; expected one of:"):
        log.write(tmp_path, format="xml")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be created"):
        log.write(tmp_path / "file" / "below")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_simulated_log() -> None:
    log = cf.online.simulated_log()
    assert log is cf.online.simulated_log()
    assert (log.pages.height, log.results.height, log.clicks.height) == (3209, 31720, 4813)
    of_user = log.pages.group_by("user").agg(pl.col("variant").unique().len())
    assert (of_user["variant"] == 1).all()
    drafted = log.pages["method"].is_not_null().arg_true()
    teams = log.results.filter(pl.col("page").is_in(drafted.cast(pl.Int64).implode()))
    assert teams["team"].null_count() == 0 and set(teams["team"]) == {"control", "treatment"}
    assert set(log.results["grade"].drop_nulls()) == {0, 1, 2}
