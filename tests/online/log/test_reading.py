"""Reading logs from tables: columns, types, times, and errors with their lines."""

from __future__ import annotations

import gzip
import warnings
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError
from cranfield.online import measure, read_log, scan_log
from tests.online.log.samples import PAGES, RESULTS, same, text

CLICKS = {"page": ["q", "p"], "rank": [1, 2], "time": [250, 130.5], "dwell": [40, None]}


def test_three_tables() -> None:
    log = cf.online.read_log(PAGES, RESULTS, CLICKS)
    assert log.pages.rows() == [
        ("p", "cats", datetime(1970, 1, 1, 0, 1, 40, tzinfo=UTC)),
        ("q", "dogs", datetime(1970, 1, 1, 0, 3, 20, tzinfo=UTC)),
    ]
    assert log.results.rows() == [(0, 1, "a"), (0, 2, "b"), (1, 1, "c")]
    assert log.clicks.drop("time").rows() == [(0, 2, "b", None), (1, 1, "c", 40.0)]
    assert log.results_with_clicks["clicks"].to_list() == [0, 1, 1]
    assert log.anomalies == {"clicks with unknown dwell time": 1}


def test_the_same_from_every_kind_of_table(tmp_path: Path) -> None:
    log = cf.online.read_log(PAGES, RESULTS, CLICKS)
    given = [PAGES, RESULTS, CLICKS]
    frames = [pl.DataFrame(table, strict=False) for table in given]
    records = [frame.to_dicts() for frame in frames]
    same(cf.online.read_log(*frames), log)
    same(cf.online.read_log(*records), log)
    same(cf.online.read_log(*(pd.DataFrame(table) for table in given)), log)
    for k, frame in enumerate(frames):
        frame.write_csv(tmp_path / f"{k}.csv")
        frame.write_csv(tmp_path / f"{k}.tsv", separator="\t")
        frame.write_parquet(tmp_path / f"{k}.parquet")
        frame.write_ndjson(tmp_path / f"{k}.jsonl")
        (tmp_path / f"{k}.csv.gz").write_bytes(gzip.compress((tmp_path / f"{k}.csv").read_bytes()))
    for end in ("csv", "tsv", "parquet", "jsonl", "csv.gz"):
        same(cf.online.read_log(*(tmp_path / f"{k}.{end}" for k in range(3))), log)


def test_other_names_of_columns() -> None:
    log = cf.online.read_log(
        [{"Impression-ID": 7, "user_query": "x", "Client_ID": 3, "timestamp": "1970-01-01T00:00Z"}],
        [{"impression id": 7, "docno": "d", "Position": 1, "pscore": 0.5, "label": 2}],
        [{"query_id": 7, "object_id": "d", "time": 5, "end": 8}],
    )
    assert log.pages.drop("time").rows() == [("7", "x", "3")]
    assert log.results.columns == ["page", "rank", "doc", "propensity", "grade"]
    assert log.clicks["dwell"].to_list() == [3.0]


def test_results_without_ranks_are_in_order() -> None:
    table = {"page": ["q", "p", "q"], "doc": ["a", "b", "c"]}
    shown = [(0, 1, "b"), (1, 1, "a"), (1, 2, "c")]
    assert cf.online.read_log(PAGES, table).results.rows() == shown


def test_a_flat_table() -> None:
    flat = {
        "page": ["x", "x", "y", "z"],
        "query": [1, 1, 2, 3],
        "user": ["u", "u", "v", None],
        "rank": [1, 2, 1, None],
        "doc": ["a", "b", "c", None],
        "clicked": [False, True, True, None],
        "click_time": [None, "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", None],
        "time": ["2026-01-01"] * 4,
    }
    log = cf.online.read_log(flat)
    pages = [("x", "1", "u"), ("y", "2", "v"), ("z", "3", None)]
    assert log.pages.select("id", "query", "user").rows() == pages
    assert log.results.rows() == [(0, 1, "a"), (0, 2, "b"), (1, 1, "c")]
    assert log.clicks.select("page", "rank", "doc").rows() == [(0, 2, "b"), (1, 1, "c")]
    assert log.anomalies == {"pages without results": 1}
    repeated = cf.online.read_log(
        {"page": [1, 1], "query": 2 * ["q"], "doc": ["a", "b"], "clicks": [3, 0]}
    )
    assert repeated.results_with_clicks["clicks"].to_list() == [3, 0]


def test_a_flat_table_that_lacks_a_column() -> None:
    flat = {"page": [1], "query": ["cats"], "rank": [1], "sku": ["a"]}
    with pytest.warns(CranfieldWarning, match="has no column of clicks with values"):
        cf.online.read_log(flat)
    assert cf.online.read_log(flat | {"n_clicks": [2]}).clicks.height == 2


@pytest.mark.parametrize("number", [0, 1])
def test_an_empty_number_of_clicks_is_none_with_a_warning(number: int) -> None:
    flat = {"page": [1, 1], "query": ["cats"] * 2, "doc": ["a", "b"], "clicks": [None, number]}
    with pytest.warns(CranfieldWarning, match="1 row without a number of clicks; read as no "):
        assert cf.online.read_log(flat).results_with_clicks["clicks"].to_list() == [0, number]


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        *(("1970-01-01T00:01:40Z", 100), ("1970-01-01 00:01:40", 100), ("1970-01-01", 0)),
        ("Thu, 01 Jan 1970 00:01:40 -0000", 100),
        *(("1970-01-01 00:01:40 UTC", 100), ("1970-01-01 02:01:40.5+02", 100.5)),
        *(("1970-01-01T02:01:40.25+02:00", 100.25), ("1970-01-01T00:01", 60), ("100.5", 100.5)),
        *((1_700_000_000, 1_700_000_000), (1_700_000_000_123, 1_700_000_000.123)),
        *((1_700_000_000_123_456, 1_700_000_000.123456), (-5, -5)),
        (1_700_000_000_123_456_789, 1_700_000_000.123457),
        (datetime(1970, 1, 1, 0, 1, 40), 100),
        (datetime(1970, 1, 1, 1, 1, 40, tzinfo=timezone(timedelta(hours=1))), 100),
    ],
)
def test_times(cell: Any, seconds: float) -> None:
    log = cf.online.read_log([{"page": 1, "query": "q", "time": cell}])
    assert log.pages["time"].dt.epoch("us")[0] == round(seconds * 1e6)
    both = cf.online.read_log(
        [{"page": k, "query": "q", "time": time} for k, time in enumerate([cell, "1999-12-31"])]
    )
    assert both.pages["time"].dt.epoch("us")[0] == round(seconds * 1e6)


def test_names_that_are_nan_are_missing(tmp_path: Path) -> None:
    results = '[{"page": "p1", "doc": "a", "team": NaN}, {"page": "p1", "doc": "b", "team": "B"}]'
    page = {"page": ["p1"], "query": ["a"]}
    log = cf.online.read_log(page, text(tmp_path / "results.json", results))
    assert log.results["team"].to_list() == [None, "B"]


def test_names_of_columns_that_are_there_twice(tmp_path: Path) -> None:
    # An id beside the page is something else, such as the key of a row.
    rows = {"id": [7, 8], "page_id": ["p", "q"], "query": ["cats", "dogs"]}
    assert cf.online.read_log(rows).pages["id"].to_list() == ["p", "q"]
    # Tables of spreadsheets have columns without a name.
    path = text(tmp_path / "pages.csv", "page,query,,\n1,cats,,\n")
    assert cf.online.read_log(path, {"page": [1], "doc": ["a"]}).pages.rows() == [("1", "cats")]


def test_json_lines_of_several_types(tmp_path: Path) -> None:
    lines = [
        '{"page": 1, "query": "a", "rank": 1, "doc": "x", "clicks": true}',
        '{"page": "b", "query": 2, "rank": "1", "doc": 3, "clicks": 2}',
        '{"page": "b", "query": 2, "rank": 2, "doc": 4, "clicks": false}',
    ]
    log = cf.online.read_log(text(tmp_path / "log.jsonl", "\n".join(lines)), format="flat")
    assert log.pages.rows() == [("1", "a"), ("b", "2")]
    assert log.clicks.rows() == [(0, 1, "x"), (1, 1, "3"), (1, 1, "3")]


def test_files_with_a_mark_and_no_text_are_empty(tmp_path: Path) -> None:
    for name in ("pages.jsonl", "pages.csv", "pages.tsv"):
        with pytest.raises(InputError, match="is empty; expected at least one row"):
            cf.online.read_log(text(tmp_path / name, "\ufeff"), RESULTS)
    with pytest.raises(InputError, match="is empty; expected a log"):
        cf.online.read_log(text(tmp_path / "log.jsonl", "\ufeff"), format="living-labs")
    clicks = text(tmp_path / "clicks.jsonl", "\ufeff")
    assert cf.online.read_log(PAGES, RESULTS, clicks).clicks.is_empty()


def test_columns_of_types_that_hold_no_such_value(tmp_path: Path) -> None:
    kinds: list[Any] = [pl.List(pl.Int64), pl.Struct({"a": pl.Int64}), pl.Duration("us"), pl.Time]
    for kind in kinds:
        lists = pl.DataFrame({"page": ["p"], "query": ["q"], "time": pl.Series([None], dtype=kind)})
        assert cf.online.read_log(lists).pages.columns == ["id", "query"]
        two = pl.concat([lists, lists.with_columns(page=pl.lit("q"))])
        assert cf.online.read_log(two).pages.columns == ["id", "query"]
        lists.clear().write_parquet(tmp_path / "pages.parquet")
        for given in (lists.clear(), tmp_path / "pages.parquet"):
            with pytest.raises(InputError, match="is empty; expected at least one row"):
                cf.online.read_log(given, RESULTS)


def test_cells_that_a_reader_shows_stay_short_and_plain(tmp_path: Path) -> None:
    path = text(tmp_path / "pages.tsv", 'page\tquery\n1\t"' + "\x1b\t" * 10_000 + "\n")
    with pytest.raises(InputError, match="is not a valid table") as caught:
        cf.online.read_log(path, RESULTS)
    said = str(caught.value).replace(str(tmp_path), "")
    assert said.isprintable() and len(said) < 300


def test_what_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a file of pages"):
        cf.online.read_log(tmp_path)
    with pytest.raises(InputError, match="cannot be combined with a table of clicks"):
        cf.online.read_log(text(tmp_path / "log.xml", "<a/>"), clicks=CLICKS)


def test_ids_with_markup_stay_text() -> None:
    log = cf.online.read_log({"page": ["<b>"], "query": ["<script>x</script>"]})
    assert "<script>" not in log._repr_html_()
    assert log.pages["query"].to_list() == ["<script>x</script>"]


def test_no_warning_without_reason() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cf.online.read_log(PAGES, RESULTS, CLICKS)


@pytest.mark.parametrize("name", ["clicked", "clicks", "is_clicked", "num_clicks"])
def test_rows_of_clicks_say_how_often_they_were_clicked(name: str) -> None:
    pages = {"page": [1, 2], "query": ["a", "b"]}
    clicks = {"page": [1, 1, 2], "rank": [1, 2, 1], "doc": ["a", "b", "c"], name: [0, 2, 1]}
    shown = {"page": [1, 1, 2], "rank": [1, 2, 1], "doc": ["a", "b", "c"]}
    log = cf.online.read_log(pages, shown, {**clicks, "dwell": [9.0, 7.0, 5.0]})
    # The dwell is that of the first of two clicks.
    assert log.clicks.rows() == [(0, 2, "b", 7.0), (0, 2, "b", None), (1, 1, "c", 5.0)]
    truth = cf.online.read_log(pages, shown, {**clicks, name: [False, True, False]})
    assert truth.clicks.rows() == [(0, 2, "b")]
    assert cf.online.read_log(pages, shown, {**clicks, name: [0, 0, 0]}).clicks.is_empty()


def test_a_time_of_a_click_beside_no_clicks_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "page,query,rank,doc,clicks,click_time\n"
        "1,cats,1,a,0,2026-03-02T10:00:00Z\n1,cats,2,b,1,2026-03-02T10:00:05Z\n"
    )
    with pytest.warns(CranfieldWarning, match="1 row with the time of a click but 0 clicks"):
        log = read_log(path)
    assert log.clicks["rank"].to_list() == [2]


@pytest.mark.parametrize(
    ("cells", "time"),
    [
        (["20260301", "20260302"], datetime(2026, 3, 1, tzinfo=UTC)),
        ([20260301, 20260302], datetime(2026, 3, 1, tzinfo=UTC)),
        ([20260301.0, None], datetime(2026, 3, 1, tzinfo=UTC)),
        (["20260301080910", "20260302000000"], datetime(2026, 3, 1, 8, 9, 10, tzinfo=UTC)),
        (["202603010809", ""], datetime(2026, 3, 1, 8, 9, tzinfo=UTC)),
        # Seconds since 1970, and clocks that start with a session.
        (["1772352000", "1772352001"], datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ([20, 20260301], datetime(1970, 1, 1, 0, 0, 20, tzinfo=UTC)),
        ([40000, 86000], datetime(1970, 1, 1, 11, 6, 40, tzinfo=UTC)),
    ],
)
def test_numbers_may_be_dates(cells: list[Any], time: datetime) -> None:
    pages = {"page": ["p", "q"], "query": ["a", "b"], "time": cells}
    assert read_log(pages).pages["time"][0] == time
    assert read_log(pl.DataFrame(pages)).pages["time"][0] == time


def test_day_numbers_of_spreadsheets_are_not_times(tmp_path: Path) -> None:
    pages = {"page": ["p", "q"], "query": ["a", "b"], "time": ["46082.33", "46083.5"]}
    with pytest.raises(InputError, match=r"time '46082.33' is not a time .* in the spreadsheet"):
        read_log(pages)
    pl.DataFrame({**pages, "time": [20260301, 20260302]}).write_csv(tmp_path / "pages.csv")
    with pytest.raises(InputError, match="time '20260301' is not a time"):
        scan_log(tmp_path / "pages.csv")


def test_dates_have_no_seconds() -> None:
    pages = {"page": ["p", "q"], "query": ["a", "b"], "time": ["2026-03-01", "2026-03-02"]}
    log = read_log(pages, None, {"page": ["p"], "rank": [1], "time": ["2026-03-01"]})
    with pytest.warns(
        CranfieldWarning, match="all times of pages are midnight, so TimeToClick is rounded to days"
    ):
        measure(log, ["UCTR", "TimeToClick"])
    measure(log, "UCTR")
