"""Two records of one page are refused, or the first one is kept; they are never joined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError
from tests.online.log.samples import event, lines, log_of, query

REPEATED = "results of a repeated record of their page"


@pytest.mark.parametrize("second", [["a", "b"], ["c", "d", "e"], []])
def test_ubi_queries(tmp_path: Path, second: list[str]) -> None:
    """The hits of facets and refreshes under one query_id are other pages."""
    queries = lines(tmp_path / "q.jsonl", [query("p", ["a", "b"], 0), query("p", second, 1)])
    events = lines(tmp_path / "e.jsonl", [event("click", "p", "b", 2, 5)])
    with pytest.raises(InputError, match="q.jsonl:2: page 'p' occurs twice"):
        cf.online.read_log(queries, clicks=events, format="ubi")
    log = log_of(queries, clicks=events, format="ubi")
    assert log.results.rows() == [(0, 1, "a"), (0, 2, "b")]
    assert log.anomalies["pages recorded twice"] == 1
    assert cf.online.measure(log, "CTR")["CTR"].item() == 0.5


def test_ubi_impressions_by_time(tmp_path: Path) -> None:
    queries = lines(tmp_path / "q.jsonl", [query("p", [], 0)])
    shown = [("b", 2, 1), ("x", 1, 7), ("a", 1, 1), ("y", 2, 7), ("z", 3, 7), ("a", 1, 1)]
    events = lines(tmp_path / "e.jsonl", [event("impression", "p", *one) for one in shown])
    log = log_of(queries, clicks=events, format="ubi")
    assert log.results.rows() == [(0, 1, "a"), (0, 2, "b")]
    assert log.anomalies[REPEATED] == 3


TWICE = [("p", 1, "a", 0), ("p", 2, "b", 1), ("p", 1, "c", 1), ("p", 2, "a", 1), ("p", 3, "e", 0)]


def columns(rows: list[Any], *names: str) -> dict[str, Any]:
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def forms(tmp_path: Path) -> dict[str, Any]:
    flat = columns(TWICE, "page", "rank", "doc", "clicks") | {"query": ["cats"] * 5}
    frame = pl.DataFrame(flat)
    frame.write_csv(tmp_path / "log.csv")
    frame.write_ndjson(tmp_path / "log.jsonl")
    return {"dict": flat, "jsonl": tmp_path / "log.jsonl", "csv": tmp_path / "log.csv"}


@pytest.mark.parametrize("form", ["dict", "jsonl", "csv"])
def test_flat_tables(tmp_path: Path, form: str) -> None:
    """The clicks of the second record go with it, also those on documents of the first one."""
    source = forms(tmp_path)[form]
    with pytest.raises(InputError, match="rank 1 occurs twice on page 'p'"):
        cf.online.read_log(source)
    with pytest.warns(CranfieldWarning, match="3 results of a repeated record"):
        log = cf.online.read_log(source, on_anomaly="count")
    assert log.results_with_clicks.rows() == [(0, 1, "a", 0), (0, 2, "b", 1)]
    assert log.anomalies == {REPEATED: 3}


def test_three_tables() -> None:
    results = columns(TWICE, "page", "rank", "doc", "click")
    del results["click"]
    log = log_of({"page": ["p", "p"], "query": ["cats", "dogs"]}, results)
    assert log.pages["query"].to_list() == ["cats"]
    assert log.results.rows() == [(0, 1, "a"), (0, 2, "b")]
    del results["rank"]
    with pytest.raises(
        InputError, match="document 'a' occurs twice on page 'p', whose results have no"
    ):
        cf.online.read_log({"page": ["p"], "query": ["cats"]}, results)
    assert log_of({"page": ["p"], "query": ["cats"]}, results).results["doc"].len() == 3
    with pytest.raises(InputError, match="requires a column rank, as the table of pages"):
        log_of({"page": ["p", "p"], "query": ["cats", "cats"]}, results)


def test_rows_of_pages_that_are_mixed() -> None:
    """Rows of pages need not stand together, nor in order of rank."""
    rows = [("p", 2, "b"), ("q", 1, "c"), ("p", 1, "a"), ("q", 2, "d")]
    rows += [("p", 2, "x"), ("p", 3, "y")]
    pages = {"page": ["p", "q"], "query": ["cats", "dogs"]}
    log = log_of(pages, columns(rows, "page", "rank", "doc"))
    assert log.results.rows() == [(0, 1, "a"), (0, 2, "b"), (1, 1, "c"), (1, 2, "d")]
    assert log.anomalies == {REPEATED: 2}


def test_a_result_logged_twice_keeps_its_clicks() -> None:
    rows = [("p", 1, "a", 1), ("p", 1, "a", 1), ("p", 2, "b", 0)]
    flat = columns(rows, "page", "rank", "doc", "clicks") | {"query": ["cats"] * 3}
    log = log_of(flat)
    assert log.results_with_clicks.rows() == [(0, 1, "a", 2), (0, 2, "b", 0)]
    assert log.anomalies["results logged twice"] == 1


def test_a_page_without_results_and_then_with_some() -> None:
    flat = {"page": ["p", "p", "q"], "query": ["x"] * 3, "rank": [None, 1, None]}
    flat["doc"] = [None, "a", None]
    with pytest.raises(InputError, match="rank 1 occurs twice on page 'p'"):
        cf.online.read_log(flat | {"clicks": [0, 1, 0]})
    log = log_of(flat | {"clicks": [0, 1, 0]})
    assert log.results.is_empty() and log.clicks.is_empty()


def test_clicks_that_were_counted_are_not_merged() -> None:
    """A row with two clicks has one time and one dwell, which are those of the first."""
    flat = {"page": ["p", "p"], "query": ["x"] * 2, "rank": [1, 2], "doc": ["a", "b"]}
    more = {"clicks": [2, 0], "click_time": ["2026-01-01 10:00", None], "dwell": [40, None]}
    log = cf.online.read_log(flat | more)
    assert cf.online.measure(log, "QCTR")["QCTR"].item() == 2
    assert log.clicks["time"].is_null().to_list() == [False, True]
    assert log.clicks["dwell"].to_list() == [40, None]
    assert log.anomalies == {
        "clicks on a result that was clicked before": 1,
        "clicks of unknown dwell": 1,
    }
