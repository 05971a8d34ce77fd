"""The same numbers from data frames, files and databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from tests.online.measures.logs import random_log


@pytest.fixture(scope="module")
def log() -> cf.online.QueryLog:
    return random_log(11, 120)


@pytest.fixture(scope="module")
def files(log: cf.online.QueryLog, tmp_path_factory: Any) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("log")
    pages = log.pages.with_row_index("page").with_columns(pl.col("page").cast(pl.Int64))
    # Rows of a database have no order; of these none is that of time.
    tables = {"pages": pages, "results": log.results, "clicks": log.clicks}
    for name, frame in tables.items():
        frame.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(folder / f"{name}.parquet")
    return {name: folder / f"{name}.parquet" for name in tables}


def same(one: cf.online.OnlineMeasurements, other: cf.online.OnlineMeasurements) -> None:
    for name in ("total", "count", "values", "censored", "missing"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.units.equals(other.units)


@pytest.mark.parametrize("by", [None, ["query", "variant"]])
def test_lazy_files_give_the_same_bits(
    log: cf.online.QueryLog, files: dict[str, Path], by: Any
) -> None:
    lazy = {name: pl.scan_parquet(path) for name, path in files.items()}
    same(cf.online.measure(log, by=by), cf.online.measure(lazy, by=by))


def test_duckdb_gives_the_same_bits(log: cf.online.QueryLog, files: dict[str, Path]) -> None:
    duckdb = pytest.importorskip("duckdb")
    relations = {name: duckdb.read_parquet(str(path)) for name, path in files.items()}
    same(cf.online.measure(log, by="variant"), cf.online.measure(relations, by="variant"))
    assert cf.online.coec(log).rows.equals(cf.online.coec(relations).rows)
    assert cf.online.skip_above(log).equals(cf.online.skip_above(relations))


def test_pandas_gives_the_same_bits(log: cf.online.QueryLog, files: dict[str, Path]) -> None:
    frames = {name: pl.read_parquet(path).to_pandas() for name, path in files.items()}
    indexed = {name: frame.set_index("page") for name, frame in frames.items()}
    expected = cf.online.measure(log, ["CTR", "ClickRR"])
    for tables in (frames, indexed, cf.online.scan_log(*indexed.values())):
        same(expected, cf.online.measure(tables, ["CTR", "ClickRR"]))


PAGES = pl.DataFrame({"page": [0, 1], "query": "q", "time": 1}).with_columns(
    time=pl.from_epoch("time", "us")
)
CLICKS = pl.DataFrame({"page": [0], "rank": [1]})


@pytest.mark.parametrize("dwell", [float("nan"), float("inf"), -1.0, 0.0, 1e300, None])
def test_dwell_that_is_none_is_unknown(dwell: float | None) -> None:
    clicks = CLICKS.with_columns(dwell=pl.lit(dwell, pl.Float64))
    found = cf.online.measure({"pages": PAGES, "clicks": clicks}, ["Dwell", "SATRate"])
    assert found.missing.tolist() == [[1, 1]]
    assert np.isnan(found.means).all()
