"""Logs of other forms: sessions, UBI, living labs, Yandex and its sample."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError
from cranfield.sessions import read_sessions
from tests.online.log.samples import at, event, lines, log_of, query, text

DATA = Path(__file__).parents[2] / "data" / "online"


def test_session_2013() -> None:
    """The counts that others have found in this log, by another program."""
    log = cf.online.read_log(DATA / "session2013.xml.xz")
    assert log.pages["session"].n_unique() == 133
    assert (log.pages.height, log.results.height, log.clicks.height) == (401, 4449, 586)
    assert log.clicks.select("page", "rank").unique().height == 558
    assert log.anomalies == {
        "pages without results": 2,
        "clicks on a result that was clicked before": 28,
        "clicks with unknown dwell time": 14,
    }
    dwell = log.clicks["dwell"].drop_nulls()
    assert dwell.len() == 572 and (dwell >= 30).sum() == 218
    assert round(float(dwell.mean() or 0), 6) == 44.857769  # type: ignore[arg-type]
    assert round(float(dwell.median() or 0), 6) == 20.642689  # type: ignore[arg-type]
    assert log.clicks["page"].n_unique() == 249


def test_sessions_of_tables() -> None:
    rows = {"session": ["s"] * 3, "query": [1, 1, 2], "rank": [1, 2, 1], "doc": [*"abc"]}
    sessions = read_sessions(
        rows, clicks={"session": ["s"], "query": [1], "rank": [2], "start": [3], "end": [9]}
    )
    log = cf.online.read_log(sessions)
    assert log.pages.rows() == [("s-1", "s-1", "s"), ("s-2", "s-2", "s")]
    assert log.results_with_clicks["clicks"].to_list() == [0, 1, 0]
    assert log.clicks["dwell"].to_list() == [6.0]


def test_living_labs(tmp_path: Path) -> None:
    teams = [
        {"docid": "a", "clicked": True, "team": "site"},
        {"docid": 5, "clicked": False, "team": "participant"},
    ]
    records = [
        {"sid": "s1", "qid": 7, "time": at(0), "other": {"x": 1}, "ranking": teams},
        {"sid": "s2", "qid": "q", "ranking": [{"docid": "a", "clicked": 0}]},
        {"sid": "s2", "qid": "q", "time": None, "ranking": []},
    ]
    log = cf.online.read_log(lines(tmp_path / "feedback.jsonl", records))
    assert log.pages.select("id", "query", "session", "method").rows() == [
        ("1", "7", "s1", "TeamDraft"),
        ("2", "q", "s2", None),
        ("3", "q", "s2", None),
    ]
    assert log.pages["time"].to_list() == [datetime(2026, 1, 1, 10, tzinfo=UTC), None, None]
    shown = [(0, 1, "a", "site"), (0, 2, "5", "participant"), (1, 1, "a", None)]
    assert log.results.rows() == shown
    assert log.clicks.rows() == [(0, 1, "a")]
    assert log.anomalies == {"pages without results": 1}


def test_ubi_queries_and_events_in_one_file(tmp_path: Path) -> None:
    records = [query("q1", ["a", "b"], 0), event("click", "q1", "b", 2, 5), query("q2", ["a"], 59)]
    log = cf.online.read_log(lines(tmp_path / "ubi.jsonl", records))
    assert log.pages["id"].to_list() == ["q1", "q2"] and log.clicks["rank"].to_list() == [2]
    # The hits of a dump of both indices are the same log.
    hits = lines(tmp_path / "hits.jsonl", [{"_index": "i", "_source": one} for one in records])
    assert_frame_equal(cf.online.read_log(hits).clicks, log.clicks)
    # Queries alone have no clicks.
    alone = cf.online.read_log(lines(tmp_path / "queries.jsonl", [records[0], records[2]]))
    assert alone.pages.height == 2 and not alone.has_clicks


def test_ubi(tmp_path: Path) -> None:
    asked = [
        query("q1", ["a", "b"], 0, client_id="c", user_id="u"),
        query("q2", [1, 2, 3], client_id="c", timestamp="2026-01-01T10:00:10+00:00"),
        query("q3", []),
    ]
    done = [
        event("click", "q1", "b", 2, 5, dwell=3.5),
        event("impression", "q2", 2, 1, 11),
        event("impression", "q2", 1, 4, 11),
        event("impression", "q2", 1, 4, 12),
        event("click", "q2", "1", 4, 20),
        event("click", None, "1", 4, 20),
        event("add_to_cart", "q2", "1", 4, 20),
        event("click", "q1", "a", 0, 9, position={"xy": {"x": 1, "y": 2}}) | {"session_id": None},
    ]
    queries, events = lines(tmp_path / "q.ndjson", asked), lines(tmp_path / "e.ndjson", done)
    with pytest.warns(CranfieldWarning, match="1 click without a known page, excluded"):
        log = cf.online.read_log(queries, clicks=events)
    assert log.pages["user"].to_list() == ["u", "c", None]
    assert log.pages["session"].to_list() == ["s1", "s1", None]
    assert log.results.rows() == [(0, 1, "a"), (0, 2, "b"), (1, 1, "2"), (1, 4, "1")]
    clicks = [(0, 2, "b", 3.5), (0, 1, "a", None), (1, 4, "1", None)]
    assert log.clicks.select("page", "rank", "doc", "dwell").rows() == clicks
    assert log.anomalies["events of other kinds"] == 1
    assert cf.online.read_log(queries).clicks.is_empty()


def test_clicks_of_ubi_on_no_page_are_said_once(tmp_path: Path) -> None:
    queries = lines(tmp_path / "q.jsonl", [query("q", ["x"])])
    done = [event("click", name, "x", 1) for name in (None, "z", "q")]
    events = lines(tmp_path / "e.jsonl", done[:2])
    with pytest.raises(InputError, match="e.jsonl: expected clicks .* such as page 'q', got none"):
        cf.online.read_log(queries, clicks=events)
    lines(events, done)
    with pytest.warns(CranfieldWarning) as said:
        cf.online.read_log(queries, clicks=events)
    assert [str(one.message) for one in said] == [
        f"{events}: 2 clicks without a known page, excluded"
    ]
    lines(queries, [query("q", []), {"user_query": "b"}])
    with pytest.raises(InputError, match="q.jsonl:2: has no query_id"):
        cf.online.read_log(queries, clicks=events)


@pytest.mark.parametrize("name", ["log", "log.tsv"])
def test_yandex(tmp_path: Path, name: str) -> None:
    path = text(
        tmp_path / name, "1\t0\tQ\t77\t13\ta\tb\tc\n1\t5\tC\tb\n2\t0\tQ\t78\t13\ta\n1\t9\tC\tz\n"
    )
    with pytest.warns(CranfieldWarning, match="1 click without a known result"):
        log = cf.online.read_log(path)
    assert log.pages.select("query", "session").rows() == [("77_13", "1"), ("78_13", "2")]
    assert log.results["doc"].to_list() == ["a", "b", "c", "a"]
    assert log.clicks.drop("time").rows() == [(0, 2, "b")]


@pytest.mark.parametrize(("name", "form"), [("sample", "auto"), ("sample.tsv", "pyclick")])
def test_the_sample_of_pyclick(tmp_path: Path, name: str, form: str) -> None:
    page = "7_1\ta,b,c :"
    path = text(tmp_path / name, f"{page} b , a; {page}; {page} c , c , z; \n7_2\tx : x;\n")
    with pytest.warns(CranfieldWarning, match="1 click without a known result, excluded"):
        log = cf.online.read_log(path, format=form)
    assert log.pages["query"].to_list() == ["7_1", "7_1", "7_1", "7_2"]
    assert log.results_with_clicks["clicks"].to_list() == [1, 1, 0, 0, 0, 0, 0, 0, 2, 1]


def test_json_lines_whose_fields_come_late(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"page": k, "query": "q", "doc": f"d{k}", "rank": 1} for k in range(3000)
    ]
    rows.append({"page": 3000, "query": 4, "doc": "x", "rank": 1, "team": "A", "clicked": True})
    with pytest.warns(CranfieldWarning, match="3,000 rows without a number of clicks; read as"):
        log = cf.online.read_log(lines(tmp_path / "flat.jsonl", rows))
    assert log.results["team"].drop_nulls().to_list() == ["A"]
    assert log.clicks.height == 1
    with pytest.warns(CranfieldWarning, match="3,000 rows without a number of clicks; read as"):
        assert_frame_equal(log.results, cf.online.read_log(rows).results)
    assert isinstance(log.results.schema["team"], pl.String)


def test_results_before_the_first_session(tmp_path: Path) -> None:
    path = tmp_path / "log.xml"
    result = '<results><result rank="1"><docno>d</docno></result></results>'
    asked = f'<interaction num="1"><query>q</query>{result}</interaction>'
    path.write_text(f'<log>{asked}<session num="1">{asked}</session></log>')
    with pytest.warns(CranfieldWarning, match="log.xml: has no clicks"):
        assert cf.online.read_log(path).results.rows() == [(0, 1, "d")]


ACTIONS = ['{"index":{"_index":"ubi_queries","_id":"1"}}', '{ "create" : {} }']


@pytest.mark.parametrize(
    ("record", "form", "action"),
    [
        ('{"query_id":"p","user_query":"x","query_response_hit_ids":["a"]}', "ubi", ACTIONS[0]),
        ('{"sid":"s","qid":"q","ranking":[{"docid":"a"}]}', "living-labs", ACTIONS[1]),
        ('{"page":1,"query":"x","doc":"a","rank":1}', "flat", ACTIONS[0]),
    ],
)
def test_bulk_files_and_hits(tmp_path: Path, action: str, record: str, form: str) -> None:
    plain, path = tmp_path / "plain.jsonl", tmp_path / "bulk.jsonl"
    plain.write_text(f"{record}\n")
    expected = log_of(plain, format=form).results
    for given in (form, "auto"):
        for content in (
            f"{action}\n{record}\n",
            f'{{"_index":"x","_id":"1","_source":{record}}}\n',
            f'{{"took":1,"hits":{{"hits":[{{"_id":"1","_source":{record}}}]}}}}\n',
        ):
            path.write_text(content)
            assert_frame_equal(log_of(path, format=given).results, expected)
    # An action without a document, or another action, is refused with its line.
    path.write_text(f'{action}\n{record}\n{{"delete":{{"_id":"1"}}}}\n')
    with pytest.raises(InputError, match="bulk.jsonl:3: expected the action index or create"):
        cf.online.read_log(path, format=form)


def test_ubi_in_one_bulk_file(tmp_path: Path) -> None:
    """Two pages of two results; one click in four results: CTR 0.25 by page."""
    records: list[Any] = [
        query("p", ["a", "b"]),
        event("impression", "p", "a", 0),
        event("impression", "p", "c", 1),
        event("click", "p", "c", 1),
        query("q", ["a", "b"], user_query=""),
    ]
    action = {"index": {"_index": "ubi_queries", "_id": "1"}}
    path = lines(tmp_path / "bulk.ndjson", [one for x in records for one in (action, x)])
    with (
        pytest.warns(CranfieldWarning, match="1 page with an empty user_query"),
        pytest.warns(CranfieldWarning, match="ordinals count from 0"),
    ):
        log = cf.online.read_log(path)
    assert log.pages["query"].to_list() == ["cats", "(no query)"]
    shown = [(0, 1, "a", 0), (0, 2, "c", 1), (1, 1, "a", 0), (1, 2, "b", 0)]
    assert log.results_with_clicks.select("page", "rank", "doc", "clicks").rows() == shown
    assert cf.online.measure(log, "CTR").means.tolist() == [[0.25]]
    # Two bulk files, or the same one twice, are the same log.
    with pytest.warns(CranfieldWarning):
        again = cf.online.read_log(path, clicks=path)
    assert_frame_equal(again.results, log.results)
    # Lines are those of the file.
    lines(path, [action, query("p", []), action, {"x": 1}])
    with pytest.raises(InputError, match="bulk.ndjson:4: has no query_id"):
        cf.online.read_log(path)


def test_ranks_that_count_from_0(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = ["1,q,0,a,1", "1,q,1,b,0", "2,q,0,b,0", "2,q,1,a,1"]
    path.write_text("\n".join(["page,query,position,doc,clicks", *rows, ""]))
    with pytest.warns(CranfieldWarning, match="ranks count from 0, and are read as ranks from 1"):
        log = cf.online.read_log(path)
    assert log.results["rank"].to_list() == [1, 2, 1, 2]
    assert log.clicks.select("rank", "doc").rows() == [(1, "a"), (2, "a")]
    # A page whose ranks count from 1 contradicts them.
    path.write_text("\n".join(["page,query,position,doc,clicks", *rows, "3,q,1,a,1", ""]))
    with pytest.raises(InputError, match="log.csv:2: rank is 0, but the ranks of other pages"):
        cf.online.read_log(path)


def test_ranks_from_0_beside_a_table_of_clicks() -> None:
    results = {"page": [1, 1], "rank": [0, 1], "doc": ["a", "b"]}
    pages, clicks = {"page": [1], "query": ["q"]}, {"page": [1], "rank": [1]}
    with pytest.raises(InputError, match="; add 1 to the ranks of both tables"):
        cf.online.read_log(results | {"query": ["q", "q"]}, clicks=clicks)
    with pytest.raises(InputError, match="rank '0' is not an integer >= 1; add 1 to ranks"):
        cf.online.read_log(pages, results, clicks)


def test_integers_written_with_a_point(tmp_path: Path) -> None:
    # As pandas writes a column of integers that has gaps.
    path = tmp_path / "log.csv"
    rows = ["1,q,1.0,a,1.0,2.0", "1,q,2.0,b,0.0,", "2,r,1.0,c,,0.0"]
    path.write_text("\n".join(["page,query,rank,doc,clicks,grade", *rows, ""]))
    with pytest.warns(CranfieldWarning, match="1 row without a number of clicks"):
        log = cf.online.read_log(path)
    assert log.results["rank"].to_list() == [1, 2, 1]
    assert log.results["grade"].to_list() == [2, None, 0]
    assert log.clicks.height == 1
    path.write_text("\n".join(["page,query,rank,doc,clicks", "1,q,1.5,a,1", ""]))
    with pytest.raises(InputError, match="rank '1.5' is not an integer"):
        cf.online.read_log(path)


def test_variants_may_be_true_and_false() -> None:
    log = cf.online.read_log(
        pl.DataFrame({"page": [1, 2], "query": ["q", "q"], "treatment": [True, False]}),
        {"page": [1, 2], "rank": [1, 1], "doc": ["a", "b"]},
    )
    assert log.pages["variant"].to_list() == ["true", "false"]


@pytest.mark.parametrize("unit", ["session", "user"])
def test_ids_of_queries_are_not_ids_of_pages(unit: str) -> None:
    rows = {"query_id": [7] * 4, "query": ["q"] * 4, "rank": [1, 2] * 2, "doc": ["a", "b"] * 2}
    with pytest.raises(
        InputError, match=f"'query_id' is not the id of a page: .* in several {unit}s"
    ):
        cf.online.read_log(rows | {unit: ["x", "x", "y", "y"]}, on_anomaly="count")


def test_nested_results_in_an_array(tmp_path: Path) -> None:
    record = {"page": 1, "query": "q", "results": [{"doc": "a", "clicks": 1}, {"doc": "b"}]}
    (tmp_path / "log.json").write_text(json.dumps([record], indent=1))
    with pytest.warns(CranfieldWarning, match="1 row without a number of clicks"):
        log = cf.online.read_log(tmp_path / "log.json")
    assert log.results["doc"].to_list() == ["a", "b"] and log.clicks["doc"].to_list() == ["a"]


@pytest.mark.parametrize("by", ["hits", "impressions"])
def test_objects_with_internal_ids(tmp_path: Path, by: str) -> None:
    """Hits may have the ids of the engine, and events those of the shop beside them."""
    thing = {"object_id": "ean-7", "internal_id": "2"}
    click = event("click", "p", None, 2, object=thing)
    shown = [event("impression", "p", f"ean-{k}", k - 5) for k in (6, 7)]
    queries = lines(tmp_path / "q.jsonl", [query("p", ["1", "2"] if by == "hits" else [])])
    events = lines(tmp_path / "e.jsonl", [click] if by == "hits" else [*shown, click])
    log = cf.online.read_log(queries, clicks=events)
    assert log.clicks["doc"].to_list() == ["2" if by == "hits" else "ean-7"]


def test_pages_with_lists_of_documents(tmp_path: Path) -> None:
    pages = [
        {"page": 1, "query": "q", "results": ["a", "b"], "url": "/search?q=q"},
        {"page": 2, "query": "r", "results": []},
    ]
    for source in (lines(tmp_path / "p.jsonl", pages), pages):
        log = cf.online.read_log(source, clicks={"page": [1], "doc": ["b"]})
        assert log.pages["id"].to_list() == ["1", "2"]
        assert log.results.rows() == [(0, 1, "a"), (0, 2, "b")]
        assert log.clicks.rows() == [(0, 2, "b")]


@pytest.mark.parametrize("name", ["results_count", "num_results", "nbHits", "numFound"])
def test_numbers_of_found_documents(name: str) -> None:
    pages = {"page": [1, 2], "query": ["q", "r"], name: [0, 7]}
    log = cf.online.read_log(pages, {"page": [2], "rank": [1], "doc": ["a"]})
    assert log.pages["total_results"].to_list() == [0, 7]
    values = cf.online.measure(log, "ZeroResults(by='total_results')").to_polars()["value"]
    assert values.to_list() == [0.5]
