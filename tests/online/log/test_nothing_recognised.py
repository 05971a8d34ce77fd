"""A log of which nothing is recognised is an error or a warning, and never counts as zero."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError
from tests.cli.running import cranfield
from tests.online.log.samples import RESULTS, event, lines, query
from tests.online.log.samples import UNTIMED as PAGES


def ubi(folder: Path, *actions: str, more: Any = ()) -> list[Path]:
    """Write two pages of two results, and an event on the second result of each, by action."""
    queries = [query(page, ["a", "b"]) for page in "pq"]
    events = [event(action, page, "b", 2) for action in actions for page in "pq"]
    return [lines(folder / "q.jsonl", queries), lines(folder / "e.jsonl", [*events, *more])]


@pytest.mark.parametrize(
    "actions", [["item_click"], ["Click", "impression"], ["product_click", "add_to_cart"]]
)
def test_clicks_by_another_name(tmp_path: Path, actions: list[str]) -> None:
    queries, events = ubi(tmp_path, *actions)
    with pytest.raises(InputError, match=rf"'click', got .*'{actions[0]}' \(2\).*click_actions="):
        cf.online.read_log(queries, clicks=events)
    log = cf.online.read_log(queries, clicks=events, click_actions=[actions[0], "other"])
    assert log.clicks.rows() == [(0, 2, "b"), (1, 2, "b")]
    with pytest.raises(InputError, match="action_name 'clack', got"):
        cf.online.read_log(queries, clicks=events, click_actions=["clack"])


def test_impressions_without_clicks_are_recognised(tmp_path: Path) -> None:
    queries, events = ubi(tmp_path, "impression")
    log = cf.online.read_log(queries, clicks=events)
    assert log.has_clicks and log.clicks.is_empty()


def test_the_option_of_commands(tmp_path: Path) -> None:
    ubi(tmp_path, "item_click", "product_click")
    arguments = ("online", "measure", "q.jsonl", "e.jsonl", "-m", "QCTR", "-f", "csv")
    _, err = cranfield(tmp_path, *arguments, status=2)
    assert "got 'item_click' (2), 'product_click' (2)" in err
    out, _ = cranfield(tmp_path, *arguments, "--click-actions", "item_click, product_click")
    assert "QCTR,2.0" in out


@pytest.mark.parametrize("table", ["results", "clicks"])
def test_lazy_tables_on_other_pages(table: str) -> None:
    other = pl.LazyFrame({"page": ["x"], "rank": [1]})
    tables = {"pages": pl.LazyFrame(PAGES), "results": pl.LazyFrame(RESULTS), table: other}
    tables.setdefault("clicks", pl.LazyFrame({"page": ["p"], "rank": [1]}))
    with pytest.raises(InputError, match=f"expected {table} on pages of the log"):
        cf.online.measure(tables, "CTR")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("i.jsonl", '{"page": 1, "query": "q", "ranking": ["a", "b"]}\n', "no page has results"),
        ("p.csv", "page,query,url_shown\n1,q,a\n", "no page has results"),
        ("l.jsonl", '{"sid": "s", "qid": "q", "ranking": []}\n', "no page has results"),
        ("q.jsonl", '{"query_id": "q", "user_query": "x"}\n', "no page has results"),
        ("y.log", "1\t0\tQ\t77\t13\ta\tb\n", "has no clicks, so no page counts as clicked"),
        ("pyclick", "7_1\ta,b :\n", "has no clicks, so no page counts as clicked"),
        ("f.csv", "page,query,rank,doc,clicked\n1,q,1,a,\n", "has no column of clicks with"),
        ("f.csv", "page,query,rank,doc,click_time\n1,q,1,a,\n", "has no column of clicks with"),
        (
            "l.jsonl",
            '{"sid": "s", "qid": "q", "ranking": [{"docid": "a", "click": true}]}\n',
            "has no column of clicks with",
        ),
    ],
)
def test_files_without_results_or_clicks(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.warns(CranfieldWarning, match=f"{name}: {said}"):
        log = cf.online.read_log(path)
    if "column of clicks" in said:
        assert not log.has_clicks
        with pytest.raises(InputError, match="Abandonment requires clicks"):
            cf.online.measure(log, "Abandonment")


def test_tables_without_results_or_clicks(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("page,rank,doc\n")
    flat = {"page": ["p"], "query": ["q"], "doc": [None], "clicks": [0]}
    for given in ((PAGES, tmp_path / "results.csv"), (flat,)):
        with pytest.warns(CranfieldWarning, match="no page has results"):
            assert cf.online.read_log(*given).results.is_empty()
    with pytest.warns(CranfieldWarning, match="no page has results"):
        cf.online.read_log({"page": ["p"], "query": ["q"]}, format="flat")
    for name in ("clicks.csv", "clicks.tsv"):
        (tmp_path / name).write_text("")
        with pytest.raises(InputError, match=f"{name}: is empty; expected at least one row"):
            cf.online.read_log(PAGES, RESULTS, tmp_path / name)


def test_zeros_that_are_values() -> None:
    flat = {**RESULTS, "query": ["cats", "cats", "dogs"], "clicked": [0, 0, 0]}
    assert cf.online.measure(cf.online.read_log(flat), "CTR")["CTR"].item() == 0
    log = cf.online.read_log(PAGES, RESULTS, pl.DataFrame({"page": [], "rank": []}))
    assert cf.online.measure(log, "Abandonment")["Abandonment"].item() == 1


def test_a_misspelt_action_is_reported(tmp_path: Path) -> None:
    queries, events = ubi(tmp_path, "click", "item_click")
    with pytest.warns(CranfieldWarning, match="no event has the action 'item_clik'; did you mean"):
        log = cf.online.read_log(queries, clicks=events, click_actions=["click", "item_clik"])
    assert log.clicks.height == 2


@pytest.mark.parametrize("page", [None, "", " "])
def test_events_before_the_first_query(tmp_path: Path, page: str | None) -> None:
    more = {"action_name": "click", "query_id": page, "session_id": "s"}
    queries, events = ubi(tmp_path, "click", more=[more])
    with pytest.warns(CranfieldWarning, match="1 click without a known page, excluded"):
        log = cf.online.read_log(queries, clicks=events)
    assert log.clicks.rows() == [(0, 2, "b"), (1, 2, "b")]


@pytest.mark.parametrize("attributes", [{}, {"object": {"object_id_field": "brand"}}])
def test_clicks_on_something_else(tmp_path: Path, attributes: dict[str, Any]) -> None:
    more = {"action_name": "click", "query_id": "p", "event_attributes": attributes}
    queries, events = ubi(tmp_path, "click", more=[more])
    with pytest.warns(CranfieldWarning, match="1 click without a known result, excluded"):
        log = cf.online.read_log(queries, clicks=events)
    assert log.clicks.rows() == [(0, 2, "b"), (1, 2, "b")]


def test_clicks_above_the_first_query_of_a_session(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("7\t9\tC\t12\n7\t10\tQ\t1\t6\t11\t12\n7\t12\tC\t11\n")
    with pytest.warns(CranfieldWarning, match="1 click without a known page, excluded"):
        log = cf.online.read_log(tmp_path / "log")
    assert log.clicks["doc"].to_list() == ["11"]


@pytest.mark.parametrize("format", ["auto", "ubi"])
@pytest.mark.parametrize("indent", [None, 1])
def test_arrays_of_records(tmp_path: Path, format: str, indent: int | None) -> None:
    paths = ubi(tmp_path, "click")
    arrays = [path.with_suffix(".json") for path in paths]
    for path, array in zip(paths, arrays, strict=True):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        array.write_text(json.dumps(records, indent=indent))
    log = cf.online.read_log(arrays[0], clicks=arrays[1], format=format)
    expected = cf.online.read_log(paths[0], clicks=paths[1])
    assert log.results.equals(expected.results) and log.clicks.equals(expected.clicks)
    arrays[1].write_text('[{"action_name": "click", "event_attributes": 3}]')
    with pytest.raises(
        InputError, match="e.json: row 1: .*an object in 'event_attributes', got '3'"
    ):
        cf.online.read_log(arrays[0], clicks=arrays[1], format=format)


def test_fields_of_another_type_are_named(tmp_path: Path) -> None:
    queries, events = ubi(tmp_path, "click")
    queries.write_text('{"query_id": "p", "user_query": "x", "query_response_hit_ids": "a,b"}\n')
    with pytest.raises(InputError, match="expected a list in 'query_response_hit_ids', got 'a,b'"):
        cf.online.read_log(queries, clicks=events)
    queries, events = ubi(tmp_path, "click")
    events.write_text('{"action_name": "click", "event_attributes": {"object": "b"}}\n')
    with pytest.raises(InputError, match="e.jsonl:1: .*expected an object in 'object', got 'b'"):
        cf.online.read_log(queries, clicks=events)


def test_tables_are_not_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("query_id,user_query\np,cats\n")
    with pytest.raises(InputError, match="format ubi must be JSON lines, got a file of csv"):
        cf.online.read_log(path, format="ubi")
