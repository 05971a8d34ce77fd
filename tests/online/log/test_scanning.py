"""Lazy tables of logs, from files, frames and databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cranfield as cf
from cranfield.base.errors import InputError


def collected(tables: dict[str, Any], name: str) -> pl.DataFrame:
    frame = tables[name].collect(backend="polars").to_native()
    assert isinstance(frame, pl.DataFrame)
    return frame


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_are_the_log(tmp_path: Path, form: str) -> None:
    log = cf.online.simulated_log()
    log.write(tmp_path, format=form)
    tables = cf.online.scan_log(tmp_path)
    assert isinstance(tables["results"].to_native(), pl.LazyFrame)
    pages = collected(tables, "pages").rename({"page": "id"})
    assert_frame_equal(pages, log.pages, check_column_order=False)
    names = log.pages["id"]
    for name, frame in (("results", log.results), ("clicks", log.clicks)):
        named = frame.with_columns(page=names.gather(frame["page"]))
        assert_frame_equal(collected(tables, name), named, check_column_order=False)


def test_relations_of_a_database(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    log = cf.online.simulated_log()
    log.write(tmp_path, format="parquet")
    names = ("pages", "results", "clicks")
    given = [duckdb.sql(f"select * from '{tmp_path}/{name}.parquet'") for name in names]
    tables = cf.online.scan_log(*given)
    assert "duckdb" in type(tables["clicks"].to_native()).__module__.lower()
    files = cf.online.scan_log(tmp_path)
    for name in ("results", "clicks"):
        of_base = collected(tables, name).with_columns(
            pl.col(pl.Datetime).dt.convert_time_zone("UTC").dt.cast_time_unit("us")
        )
        order = of_base.columns
        assert_frame_equal(of_base.sort(order), collected(files, name).select(order).sort(order))


def test_names_and_whole_keys() -> None:
    tables = cf.online.scan_log(
        pl.LazyFrame({"query_id": [1], "user_query": ["a"], "x": [1]}),
        pl.LazyFrame({"query_id": [1, 1], "position": [1, 2], "docid": ["a", "b"]}),
        pl.LazyFrame({"query_id": [1, 1], "position": [1, 2], "dwell": [0.0, 2.0]}),
    )
    assert collected(tables, "pages").rows() == [(1, "a")]
    assert collected(tables, "results").columns == ["page", "doc", "rank"]
    assert collected(tables, "clicks")["dwell"].to_list() == [None, 2.0]


PAGES = pl.LazyFrame({"page": [1], "query": ["a"]})


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (
            pl.LazyFrame({"page": [1, 1], "rank": [1, 0], "doc": ["a", "b"]}),
            "row 2: rank '0' is not",
        ),
        (pl.LazyFrame({"page": [1], "rank": [None], "doc": ["a"]}), "row 1: has no rank"),
        (pl.LazyFrame({"page": [1], "doc": ["a"]}), "has no rank column"),
        (pl.LazyFrame({"page": [1], "rank": [1]}), "has no doc column"),
        ("select 1 as page, 0 as rank, 'a' as doc", "rank is below 1 in 1 row"),
        (
            "select 1 as page, 'x' as rank, 'a' as doc",
            "expected an integer in column rank of results, got",
        ),
        ("select 1 as page, 1 as rank, null as doc", "expected text or an integer in column doc"),
        ("select 1 as page, 1 as rank, null::text as doc", "doc is missing in 1 row"),
        (
            "select 1 as page, 1 as rank, 'a' as doc, 0.0 as propensity",
            "propensity is 0 or less, or above 1 in 1 row",
        ),
        (3, "cannot be read as a table"),
        ("none.csv", "none.csv: cannot be read: no such file"),
        ("none.json", "uncompressed .csv, .tsv or .parquet"),
    ],
)
def test_what_is_refused(results: Any, said: str) -> None:
    if isinstance(results, str) and results.startswith("select"):
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect() as base, pytest.raises(InputError) as caught:
            cf.online.scan_log(PAGES, base.sql(results))
    else:
        with pytest.raises(InputError) as caught:
            cf.online.scan_log(PAGES, results)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_lines_of_files(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    good = "".join(f"1,{rank},d\n" for rank in range(1, 2000))
    path.write_text(f"page,rank,doc\n{good}1,x,d\n")
    with pytest.raises(InputError, match="results.csv:2001: rank 'x' is not a whole number"):
        cf.online.scan_log(PAGES, path)
    path.write_text("page,rank,time\n1,1,2026-01-01T10:00:00Z\n" * 1 + "1,1,1767261600\n")
    times = collected(cf.online.scan_log(PAGES, None, path), "clicks")["time"]
    assert times.n_unique() == 1


def test_a_rank_twice_on_a_page_is_refused() -> None:
    pages = pl.LazyFrame({"page": [1, 2], "query": ["a", "b"]})
    results = {"page": [1, 1, 2], "rank": [1, 1, 1], "doc": ["a", "b", "a"]}
    with pytest.raises(InputError, match="rank 1 twice on page '1'"):
        cf.online.scan_log(pages, pl.LazyFrame(results))
    duckdb = pytest.importorskip("duckdb")
    frame = pl.DataFrame(results)
    with pytest.raises(InputError, match="rank 1 twice on page '1'"):
        cf.online.scan_log(pages, duckdb.sql("select * from frame"))
    assert frame.height == 3


def test_lazy_clicks_have_a_row_for_each_click() -> None:
    pages = {"page": [1, 2], "query": ["a", "b"]}
    clicks = {"page": [1, 2], "rank": [1, 1], "clicked": [0, 1]}
    with pytest.raises(InputError, match="a row for each click, got a column 'clicked'"):
        cf.online.scan_log(pl.LazyFrame(pages), None, pl.LazyFrame(clicks))
