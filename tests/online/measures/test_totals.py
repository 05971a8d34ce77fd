"""Clicks over expected clicks from totals, beside a plain loop and the log itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import cranfield as cf
from cranfield import online
from tests.cli.running import cranfield
from tests.collection.refusals import warns

HEAD = "query_id,query,doc,position,impressions,clicks\n"
TABLE = HEAD + "1,socks,a,1,1000,120\n1,socks,b,2,1000,30\n2,hats,c,1,500,10\n2,hats,d,2,500,0\n"


def test_values_are_those_of_a_loop() -> None:
    draw = np.random.default_rng(3)
    rows = [
        (f"q{draw.integers(4)}", f"d{draw.integers(5)}", int(draw.integers(1, 5)))
        for _ in range(60)
    ]
    shown = draw.integers(0, 50, 60).tolist()
    clicked = [int(draw.integers(0, number + 1)) for number in shown]
    at_rank: dict[int, list[int]] = {}
    for (_, _, rank), n, c in zip(rows, shown, clicked, strict=True):
        total = at_rank.setdefault(rank, [0, 0])
        total[0] += n
        total[1] += c
    found: dict[tuple[str, str], list[float]] = {}
    for (query, doc, rank), n, c in zip(rows, shown, clicked, strict=True):
        one = found.setdefault((query, doc), [0, 0])
        one[0] += c
        one[1] += n * at_rank[rank][1] / at_rank[rank][0]
    names = ("query", "doc", "rank", "impressions", "clicks")
    columns = [*map(list, zip(*rows, strict=True)), shown, clicked]
    result = online.coec_of_totals(pl.DataFrame(dict(zip(names, columns, strict=True))))
    for row in result.rows.iter_rows(named=True):
        clicks, expected = found[row["query"], row["doc"]]
        assert row["clicks"] == clicks
        assert_allclose(row["expected"], expected, rtol=1e-12)
        assert row["coec"] is None if expected == 0 else row["coec"] == clicks / row["expected"]


def test_totals_of_a_log_have_the_values_of_the_log() -> None:
    log = online.simulated_log()
    of_log = online.coec(log)
    clicked = log.clicks.select("page", "rank").unique().with_columns(clicks=pl.lit(1))
    shown = log.results.with_columns(query=log.pages["query"].gather(log.results["page"]))
    totals = (
        shown.join(clicked, on=["page", "rank"], how="left")
        .group_by("query", "doc", "rank")
        .agg(pl.len().alias("impressions"), pl.col("clicks").fill_null(0).sum())
    )
    assert online.coec_of_totals(totals).rows.equals(of_log.rows)


def test_command(tmp_path: Path) -> None:
    (tmp_path / "agg.csv").write_text(TABLE)
    out, _ = cranfield(tmp_path, "online", "measure", "agg.csv", "--totals")
    assert "CTR 0.0533 (160 of 3,000 impressions)" in out
    assert "1.3846" in out
    for options, reason in (([], "--totals"), (["--totals", "--by", "query"], "--by cannot be")):
        _, err = cranfield(tmp_path, "online", "measure", "agg.csv", *options, status=2)
        assert reason in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,socks,a,0,10,1", "rank must be at least 1, got 0"),
        ("1,socks,a,1,10,11", r"number of impressions \(10\), got 11"),
        ("1,socks,a,1,10,-1", "clicks must be at least 0"),
        ("1,socks,a,1,10,0.5", r"not an integer \(of 32 bits\)$"),
        ("1,socks,a,1,,1", "impressions"),
    ],
)
def test_impossible_totals_are_refused_with_their_line(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "agg.csv"
    path.write_text(f"{TABLE}{line}\n")
    with pytest.raises(cf.InputError, match=message) as caught:
        online.coec_of_totals(path)
    assert caught.value.line == 6 or "row 5" in str(caught.value)


@pytest.mark.parametrize("separator", [",", ";", ""])
def test_thousands_that_may_be_decimals(separator: str, tmp_path: Path) -> None:
    table = HEAD + "1,socks,a,1,1.000,1\n2,hats,c,1,2.000,0\n"
    data: Any = tmp_path / "totals.csv"
    data.write_text(table.replace(",", separator or ","))
    data = data if separator else pl.read_csv(data, infer_schema=False)
    found = warns("numbers such as 1.000, 2.000 are read with three", online.coec_of_totals, data)
    assert found.rows["impressions"].sum() == 3


def test_pages_of_google_search_console(tmp_path: Path) -> None:
    table = "query,page,clicks,impressions,position\nsocks,x/a,10,100,1.0\nsocks,x/b,5,100,2.0\n"
    (tmp_path / "gsc.csv").write_text(table)
    assert online.coec_of_totals(tmp_path / "gsc.csv").rows["doc"].to_list() == ["x/a", "x/b"]
    (tmp_path / "gsc.csv").write_text(table.replace("2.0", "2.4"))
    _, err = cranfield(tmp_path, "online", "measure", "gsc.csv", "--totals", status=2)
    assert "gsc.csv:3: rank '2.4' is not an integer; an average position" in err


def test_documents_that_were_never_shown() -> None:
    columns = {"query": ["q"], "doc": ["d"], "rank": [1], "impressions": [0], "clicks": [0]}
    result = online.coec_of_totals(columns)
    assert result.rows["coec"].item() is None
    assert result.heading()[1] == "CTR nan (0 of 0 impressions)"
