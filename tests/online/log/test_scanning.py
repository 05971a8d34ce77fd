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


def test_lines_of_files(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    good = "".join(f"1,{rank},d\n" for rank in range(1, 2000))
    path.write_text(f"page,rank,doc\n{good}1,x,d\n")
    with pytest.raises(InputError, match="results.csv:2001: rank 'x' is not an integer >= 1"):
        cf.online.scan_log(PAGES, path)
    path.write_text("page,rank,time\n1,1,2026-01-01T10:00:00Z\n" * 1 + "1,1,1767261600\n")
    times = collected(cf.online.scan_log(PAGES, None, path), "clicks")["time"]
    assert times.n_unique() == 1
