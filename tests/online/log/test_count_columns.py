"""Tables in which a row stands for several rows are refused, whatever reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import InputError, collect_warnings
from cranfield.online import read_log
from tests.online.log.samples import FLAT, RESULTS
from tests.online.log.samples import UNTIMED as PAGES

CLICKS = {"page": ["p", "q"], "rank": [1, 1]}
ACTIONS = {"reward": [1, 0], "propensity": [0.5, 0.5], "action": ["a", "b"]}


def scanned(**given: dict[str, Any]) -> Any:
    kept: dict[str, Any] = {"pages": PAGES, "results": RESULTS, "clicks": CLICKS} | given
    return cf.online.scan_log(*(pl.LazyFrame(one) for one in kept.values()))


def measured(**given: dict[str, Any]) -> Any:
    frames = {name: pl.LazyFrame(one) for name, one in given.items()}
    return cf.online.measure({"pages": pl.LazyFrame(PAGES), **frames}, "QueriesPerUser")


READERS: dict[str, Callable[[str, list[Any]], Any]] = {
    "flat": lambda name, values: cf.online.read_log({**FLAT, name: [*values, 1]}),
    "pages": lambda name, values: cf.online.read_log(
        {**PAGES, name: values}, RESULTS, CLICKS, format="tables"
    ),
    "results": lambda name, values: cf.online.read_log(PAGES, {**RESULTS, name: [*values, 1]}),
    "clicks": lambda name, values: cf.online.read_log(PAGES, RESULTS, {**CLICKS, name: values}),
    "scanned pages": lambda name, values: scanned(pages={**PAGES, name: values}),
    "scanned clicks": lambda name, values: scanned(clicks={**CLICKS, name: values}),
    "measured": lambda name, values: measured(clicks={**CLICKS, name: values}),
    "logged actions": lambda name, values: cf.online.policy_value(
        pl.DataFrame({**ACTIONS, name: values})
    ),
}


COUNTS: list[tuple[str, list[Any]]] = [
    *(("impressions", [1000, 30]), ("sample_weight", [0.5, 1.0])),
    *(("Views", ["1", "1200"]), ("n", [2, None]), ("shows", [1, None]), ("Search Count", [1, 3])),
    *(("total_impressions", [1000, 30]), ("cnt", [2, 1]), ("nb-shown", [5, 9])),
    ("displays", [5, 9]),
]


@pytest.mark.parametrize(
    ("reader", "name", "values"),
    [(reader, *count) for reader in READERS for count in COUNTS[: None if reader == "flat" else 2]],
)
def test_a_column_of_counts_is_refused(reader: str, name: str, values: list[Any]) -> None:
    with pytest.raises(InputError, match=f"column '{name}' .* of rows"):
        READERS[reader](name, values)


@pytest.mark.parametrize("reader", sorted({*READERS} - {"measured", "logged actions"}))
@pytest.mark.parametrize("values", [[1, 1], ["1", "1"]])
def test_rows_that_count_once_are_read(reader: str, values: list[Any]) -> None:
    READERS[reader]("weight", values)


@pytest.mark.parametrize(
    "name",
    [
        *["event_type", "Event", "action", "action_name", "userAction", "interaction_type"],
        *["name", "kind", "se_action", "hitType"],
    ],
)
def test_only_clicks_are_clicks(name: str) -> None:
    def clicks(values: list[str]) -> Any:
        return cf.online.read_log(PAGES, RESULTS, {**CLICKS, name: values}, format="tables")

    with pytest.raises(InputError, match=f"column '{name}' .'click', 'hover'. may be the event"):
        clicks(["click", "hover"])
    assert clicks(["click", "click"]).clicks.height == 2


def test_values_of_columns_of_other_names_are_not_events() -> None:
    clicks = {"page": ["p"] * 21, "rank": [1] * 21, "title": ["click", *map(str, range(20))]}
    assert cf.online.read_log(PAGES, RESULTS, clicks, format="tables").clicks.height == 21


@pytest.mark.parametrize("name", ["viewed", "seen", "impression", "is_visible", "exposed"])
def test_results_that_were_not_seen(name: str) -> None:
    flat = {"search_id": ["p", "p"], "query": ["q", "q"], "doc": ["a", "b"], "clicks": [1, 0]}
    with pytest.raises(InputError, match=f"column '{name}' .'1', '0'. may be the"):
        read_log({**flat, name: [1, 0]})
    assert read_log({**flat, name: [1, 1]}).results.height == 2


@pytest.mark.parametrize("name", ["item_position", "display_order", "index", "place", "row"])
def test_columns_that_rank_the_results(name: str) -> None:
    flat = {"page": ["p", "p", "p"], "query": ["q"] * 3, "doc": [*"abc"], "clicks": [1, 0, 0]}
    table = {**flat, name: [2, 1, 3]}
    if name in {"item_position", "display_order"}:
        assert read_log(table).clicks["rank"].to_list() == [2]
        return
    rows = [{k: v[row] for k, v in table.items() if k not in {"page", "query"}} for row in range(3)]
    nested = [{"page": "p", "query": "q", "results": rows}]
    reason = f"column '{name}' numbers the results of each page in another order"
    for data in (nested, pl.DataFrame(table).with_columns(pl.col(name) - 1)):
        with pytest.raises(InputError, match=reason), collect_warnings():
            read_log(data)
    for values in ([1, 2, 3], [["x"], ["y"], ["z"]], [object(), 2, 1], [2.5, 1, None]):
        with collect_warnings():
            assert read_log({**flat, name: values}).clicks["rank"].to_list() == [1]


def test_hits_with_an_id() -> None:
    hits = [{"id": doc, "position": k, "clicked": k > 1} for k, doc in ((1, "a"), (2, "b"))]
    log = read_log([{"search_id": "s", "query": "q", "results": hits}])
    assert log.clicks.select("rank", "doc").rows() == [(2, "b")]


def test_pages_of_one_clicked_result() -> None:
    searches = {"page": ["p", "q"], "query": ["a", "b"], "doc": ["x", "y"]}
    with pytest.warns(cf.CranfieldWarning, match="at most one result, which is clicked"):
        read_log({**searches, "clicks": [1, 1]})
    assert read_log({**searches, "clicks": [1, 0]}).clicks.height == 1


def test_relations_of_a_database() -> None:
    duckdb = pytest.importorskip("duckdb")
    pages = duckdb.sql("select 1 as page, 'cats' as query, 40 as searches")
    with pytest.raises(InputError, match="column 'searches' .'40'. may be the count"):
        cf.online.scan_log(pages)


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_files(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"log.{format}"
    frame = pl.DataFrame({**FLAT, "impressions": [1000, 1000, 500]})
    getattr(frame, f"write_{format.replace('jsonl', 'ndjson')}")(path)
    with pytest.raises(InputError, match=f"log.{format}: column 'impressions' .'1000'"):
        cf.online.read_log(path)


def test_row_numbers_are_not_pages() -> None:
    rows = {"id": range(1, 6), "query": ["a", "a", "a", "b", "b"], "rank": [1, 2, 3, 1, 2]}
    rows |= {"session": ["s"] * 5, "doc": [*"uvwxy"], "clicks": [0, 1, 0, 1, 0]}
    with pytest.raises(InputError, match="column 'id' differs in each row"):
        read_log(rows)
    log = read_log({**rows, "id": [*"pppqq"]})
    assert log.pages.height == 2
    # Pages of one result each, and ids of pages.
    assert read_log(rows | {"rank": [1] * 5}).pages.height == 5
    assert read_log(rows | {"id": [1, 1, 1, 2, 2]}).pages.height == 2
