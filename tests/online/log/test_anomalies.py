"""Anomalies of logs: counted, excluded or refused; repeated records; and a reading by loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError
from tests.online.log.samples import PAGES, RESULTS, event, lines, log_of, query


def test_what_is_left_out_is_told_of_the_file_in_which_it_is(tmp_path: Path) -> None:
    tables = {
        "pages.csv": "page,query\np,cats\n",
        "results.csv": "page,rank,doc\np,1,a\nx,1,a\n",
        "clicks.csv": "page,rank\np,9\nx,1\np,1\n",
    }
    for name, rows in tables.items():
        (tmp_path / name).write_text(rows)
    with pytest.warns(CranfieldWarning) as caught:
        cf.online.read_log(*(tmp_path / name for name in tables))
    said = [str(one.message).removeprefix(f"{tmp_path}/") for one in caught]
    assert sorted(said) == [
        "clicks.csv: 1 click without a known page, excluded",
        "clicks.csv: 1 click without a known result, excluded",
        "results.csv: 1 result without a known page, excluded",
    ]


def test_pages_twice() -> None:
    pages = {"page": ["p", "p"], "query": ["cats", "dogs"]}
    with pytest.raises(InputError, match="table of pages: row 2: page 'p' is repeated"):
        cf.online.read_log(pages, RESULTS)
    log = log_of(pages, {"page": ["p", "p"], "rank": [1, 1], "doc": ["a", "b"]})
    assert log.pages["query"].to_list() == ["cats"] and log.results["doc"].to_list() == ["a"]
    assert log.anomalies == {
        "pages recorded twice": 1,
        "results of a page in its second or later record": 1,
    }


def test_clicks_before_their_page() -> None:
    clicks = {"page": ["p", "q"], "rank": [1, 1], "time": [100, 199.9]}
    with pytest.raises(InputError, match="got a click before page 'q'"):
        cf.online.read_log(PAGES, RESULTS, clicks)
    log = log_of(PAGES, RESULTS, clicks)
    assert log.clicks["time"].is_null().to_list() == [False, True]
    assert log.anomalies == {"clicks before their page": 1}


def test_users_clocks_and_documents() -> None:
    pages = {
        "page": [1, 2, 3, 4],
        "query": ["a"] * 4,
        "user": ["u", "u", "v", "v"],
        "variant": ["A", "B", "A", None],
        "time": [10, 5, 1, 2],
    }
    log = log_of(pages, {"page": [1, 1, 2], "rank": [1, 2, 1], "doc": ["a", "a", "a"]})
    assert log.anomalies == {
        "users in several variants": 1,
        "pages out of chronological order": 1,
        "pages without results": 2,
        "documents repeated on a page": 1,
    }


def test_words_for_an_unknown_user() -> None:
    pages = {"page": [1, 2, 3, 4], "query": ["a"] * 4, "user": ["NA", "u", "anonymous", "NA"]}
    with pytest.warns(match="pages of users named 'NA', 'anonymous'"):
        log = cf.online.read_log(pages, {"page": [1, 2], "rank": [1, 1], "doc": ["a", "b"]})
    assert log.anomalies["pages of users named 'NA', 'anonymous'"] == 3


def test_sessions_numbered_by_user_are_not_joined(tmp_path: Path) -> None:
    rows = ("a,x,u1,1,0", "b,y,u1,2,9", "c,x,u2,1,20", "d,z,u2,2,30")
    path = tmp_path / "pages.csv"
    path.write_text("\n".join(["page,query,user,session,time", *rows]))
    pair = "session '1' has more than one user: 'u1' and 'u2'"
    with pytest.raises(InputError, match=rf"pages.csv:4: {pair}; on_anomaly='count'"):
        cf.online.read_log(path, format="tables")
    with pytest.warns(match="2 pages in the session of another user, counted as separate sessions"):
        log = cf.online.read_log(path, format="tables", on_anomaly="count")
    assert log.pages["session"].to_list() == ["1", "2", "u2-1", "u2-2"]
    assert cf.online.measure(log, "QueriesPerSession").means.tolist() == [[1.0]]


def test_users_may_log_in_during_a_session() -> None:
    users = ["guest", "u1", None, "u1", "u2"]
    pages = {"page": range(5), "query": ["a"] * 5, "user": users, "session": [1, 1, 1, None, None]}
    log = log_of(pages)
    assert "pages in the session of another user" not in log.anomalies
    assert log.pages["session"].to_list() == ["1", "1", "1", None, None]


def test_a_row_of_totals_is_not_a_page() -> None:
    pages = {"page": ["p", "q", "Total"], "query": ["cats", "total", ""]}
    with pytest.raises(InputError, match="'Total' seems to be a row of totals"):
        cf.online.read_log(pages | {"query": ["cats", "total", "2"]})
    totals = {"query": ["a", "total", "Total"], "doc": ["x", "y", "(all)"], "rank": [1, 1, 1]}
    counts = {"impressions": [10, 20, 30], "clicks": [1, 2, 3]}
    with pytest.raises(InputError, match="'Total' seems to be a row of totals"):
        cf.online.coec_of_totals(totals | counts)
    votes = [("q1", "x", "y", "a"), ("q2", "x", "y", "b"), ("all", "x", "y", "a")]
    with pytest.raises(InputError, match="'all' seems to be a row of totals"):
        cf.online.side_by_side(votes)
    # A query may be one of the words; one topic may stand for all.
    assert cf.online.coec_of_totals(totals | counts | {"doc": [*"xyz"]}).rows.height == 3
    cf.online.side_by_side([("all", *vote[1:]) for vote in votes], resamples=10)


def test_dwell_in_milliseconds_is_reported() -> None:
    clicks = {"page": ["p", "p", "q"], "rank": [1, 2, 1], "dwell": [12_000, 8_000, 30_000]}
    with pytest.warns(
        match="dwell must be in seconds, but its median is 12,000; divide milliseconds by 1000"
    ):
        cf.online.read_log(PAGES, RESULTS, clicks)
    # One page may be left open for hours.
    log = cf.online.read_log(PAGES, RESULTS, clicks | {"dwell": [12, 8, 30_000]})
    assert log.clicks["dwell"].to_list() == [12, 8, 30_000]


def test_times_of_two_tables_with_and_without_a_zone(tmp_path: Path) -> None:
    pages = {"page": ["p"], "query": ["cats"], "time": ["2026-03-01T08:00:00+02:00"]}
    clicks = {"page": ["p"], "rank": [1], "time": ["2026-03-01T08:00:10"]}
    with pytest.warns(
        match="times of table of pages have a time zone, but those of table of clicks have none"
    ):
        log = cf.online.read_log(pages, RESULTS | {"page": ["p"] * 3, "rank": [1, 2, 3]}, clicks)
    assert cf.online.measure(log, "TimeToClick").means.item() == 2 * 3600 + 10
    for time in ("2026-03-01T06:00:10Z", "2026-03-01 08:00:10+02"):
        zoned = cf.online.read_log(pages, None, clicks | {"time": [time]})
        assert cf.online.measure(zoned, "TimeToClick").means.item() == 10


def test_ids_with_and_without_decimals_are_reported() -> None:
    pages = {"page": [1, 2, 3, 4], "query": ["3", "3.0", "a", "a"], "user": ["3", "3.0", "4.0", ""]}
    with pytest.warns(match="user '3' and user '3.0' are read as different ids"):
        assert cf.online.read_log(pages).pages["user"].n_unique() == 4
    cf.online.read_log(pages | {"user": ["3", "30", "4.0", "v3.0"]})
    cf.online.read_log(pages | {"user": [3, 3.0, 4.0, None]})


def test_robots_are_left_out() -> None:
    pages = {"page": [1, 2, 3, 4], "query": ["a"] * 4, "user": ["bot", "u", "bot", "bot"]}
    log = log_of(pages, {"page": [1, 2], "rank": [1, 1], "doc": ["a", "b"]}, max_pages=2)
    assert log.pages["id"].to_list() == ["2"] and log.results.rows() == [(0, 1, "b")]
    assert log.anomalies["pages of users with more than 2 pages"] == 3


def test_anomalies_of_robots_are_not_counted() -> None:
    """The users u and v have one page without results; all other anomalies are of the robot."""
    pages = {
        "page": range(7),
        "query": ["a"] * 7,
        "user": ["bot", "u", "bot", "bot", "bot", "u", "v"],
        "variant": ["A", "B", "B", "A", "A", "B", "A"],
        "time": [9, 1, 3, 2, 1, 5, 7],
    }
    results = {"page": [0, 0, 2, 1, 6], "rank": [1, 2, 1, 1, 1], "doc": [*"aabab"]}
    clicks = {"page": [0, 0, 2, 1, 6], "rank": [1, 1, 1, 1, 1], "dwell": [0, 5, 0, 9, 9]}
    log = log_of(pages, results, clicks, max_pages=3)
    assert log.anomalies == {"pages of users with more than 3 pages": 4, "pages without results": 1}
    assert log.pages.height - log.results["page"].n_unique() == 1
    assert log_of(pages, results, clicks).anomalies == {
        "users in several variants": 1,
        "pages out of chronological order": 3,
        "documents repeated on a page": 1,
        "pages without results": 3,
        "clicks on a result that was clicked before": 1,
        "clicks with unknown dwell time": 2,
    }
    # No dwell time of the other users is known.
    clicks["dwell"] = [2, 5, 2, 0, 0]
    anomalies = log_of(pages, results, clicks, max_pages=3).anomalies
    assert anomalies["clicks with unknown dwell time"] == 2


def test_a_log_without_impressions() -> None:
    log = log_of(PAGES, None, {"page": ["p", "p"], "rank": [30, 2]})
    assert log.results.is_empty() and log.clicks.rows() == [(0, 30, None), (0, 2, None)]


MOVED = "clicks whose document is at another rank"
IDS = st.sampled_from(["p", "q", "r"])
DOCS = st.sampled_from(["a", "b", "c", "d"])
SHOWN = st.dictionaries(st.tuples(IDS, st.integers(1, 4)), DOCS, max_size=8)
CLICKED = st.lists(
    st.tuples(
        st.sampled_from(["p", "q", "r", "s"]),
        st.none() | st.integers(1, 5),
        st.none() | DOCS,
        st.none() | st.integers(50, 60),
        st.none() | st.integers(-1, 2),
    ).filter(lambda click: click[1] is not None or click[2] is not None),
    max_size=10,
)


@settings(max_examples=40, deadline=None)
@given(st.permutations(["p", "q", "r"]), SHOWN, CLICKED)
def test_reading_by_loops(ids: list[str], shown: Any, clicked: Any) -> None:
    """Every click goes where a plain reading of the documentation puts it."""
    if not shown:
        shown = {("p", 1): "a"}
    places: dict[tuple[str, str], int] = {}
    for (page, rank), doc in sorted(shown.items(), key=lambda item: item[0][1]):
        places.setdefault((page, doc), rank)
    kept: dict[str, list[Any]] = {page: [] for page in ids}
    odd = {
        "clicks without a known page": 0,
        "clicks without a known result": 0,
        "clicks logged twice": 0,
        MOVED: 0,
    }
    seen = set()
    for page, rank, doc, time, dwell in clicked:
        if page not in ids:
            odd["clicks without a known page"] += 1
            continue
        if doc is None or shown.get((page, rank)) == doc:
            found = rank if (page, rank) in shown else None
        else:
            found = places.get((page, doc))
            odd[MOVED] += found is not None and rank is not None
        if found is None:
            odd["clicks without a known result"] += 1
            continue
        event = (page, found, time, None if dwell is None or dwell <= 0 else float(dwell))
        if event in seen and time is not None:
            odd["clicks logged twice"] += 1
            continue
        seen.add(event)
        kept[page].append(event)
    rows = []
    for place, page in enumerate(ids):
        last, timed = float("-inf"), []
        for event in kept[page]:
            last = event[2] if event[2] is not None else last
            timed.append((last, place, *event[1:]))
        rows += [row[1:] for row in sorted(timed, key=lambda row: row[0])]
    names = ["page", "rank", "doc", "time", "dwell"]
    columns: dict[str, Any] = {name: [row[k] for row in clicked] for k, name in enumerate(names)}
    frame = pl.DataFrame(
        columns,
        schema=dict(zip(names, (pl.String, pl.Int64, pl.String, pl.Int64, pl.Int64), strict=True)),
    )
    results = [{"page": page, "rank": rank, "doc": doc} for (page, rank), doc in shown.items()]
    if clicked and not rows:
        with pytest.raises(InputError, match="expected clicks on results on pages"):
            log_of({"page": ids, "query": ids}, results, frame)
        return
    log = log_of({"page": ids, "query": ids}, results, frame)
    assert {name: log.anomalies.get(name, 0) for name in odd} == odd
    read = log.clicks
    missing = [pl.lit(None).alias(name) for name in ("time", "dwell") if name not in read.columns]
    read = read.with_columns(missing)
    seconds = read["time"].cast(pl.Datetime("us", "UTC")).dt.epoch("s")
    assert read.select("page", "rank", seconds, "dwell").rows() == rows


def test_times_of_one_table_with_and_without_a_zone() -> None:
    times = ["2026-03-01T08:00:00+02:00", "2026-03-01T08:00:00", "2026-03-01 09:00Z"]
    pages = {"page": ["p", "q", "r"], "query": ["cats"] * 3, "time": times}
    with pytest.warns(cf.CranfieldWarning, match="1 of 3 times without a time zone read as UTC"):
        cf.online.read_log(pages, None, {"page": ["p"], "rank": [1]})


REPEATED = "results of a page in its second or later record"


@pytest.mark.parametrize("second", [["a", "b"], ["c", "d", "e"], []])
def test_ubi_queries(tmp_path: Path, second: list[str]) -> None:
    """The hits of facets and refreshes under one query_id are other pages."""
    queries = lines(tmp_path / "q.jsonl", [query("p", ["a", "b"], 0), query("p", second, 1)])
    events = lines(tmp_path / "e.jsonl", [event("click", "p", "b", 2, 5)])
    with pytest.raises(InputError, match="q.jsonl:2: page 'p' is repeated"):
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
    with pytest.raises(InputError, match="page 'p' has rank 1 more than once"):
        cf.online.read_log(source)
    with pytest.warns(CranfieldWarning, match="3 results of a page in its second"):
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
        InputError, match="page 'p' has document 'a' more than once, and results without"
    ):
        cf.online.read_log({"page": ["p"], "query": ["cats"]}, results)
    assert log_of({"page": ["p"], "query": ["cats"]}, results).results["doc"].len() == 3
    with pytest.raises(InputError, match="requires a column rank, because the table of pages"):
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
    with pytest.raises(InputError, match="page 'p' has rank 1 more than once"):
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
        "clicks with unknown dwell time": 1,
    }
