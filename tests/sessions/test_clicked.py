"""Gains from clicks: judgments of each session by its own clicks."""

from __future__ import annotations

from math import log, log2
from pathlib import Path

import polars as pl
import pytest

import cranfield as cf
from cranfield import evaluate_sessions
from cranfield.sessions import read_sessions
from tests.cli.running import cranfield
from tests.sessions.samples import XML, sessions_of


def test_real_session_by_hand() -> None:
    """Session 33 has clicks on rank 3 of query 1, 4 of query 2 and 2 of query 3; lists of ten."""
    log_of_sessions = read_sessions(XML)
    results = log_of_sessions.results.filter(session=0).select("query", "rank", "doc")
    docs = {(query, rank): doc for query, rank, doc in results.iter_rows()}
    clicked = {docs[1, 3], docs[2, 4], docs[3, 2]}
    expected = sum(
        1 / (log(query + 3, 4) * log2(10 * (query - 1) + rank + 1))
        for (query, rank), doc in docs.items()
        if doc in clicked
    )
    scores = evaluate_sessions(log_of_sessions, "clicks", "sDCG", duplicates="keep")["sDCG"]
    assert scores.values[scores.topics.index("33"), 0] == pytest.approx(expected, rel=1e-12)


LISTS = {"s": [["a", "b", "c"], ["a", "d"]], "t": [["e", "a"]]}
CLICKS = [
    {"session": "s", "query": 1, "rank": 2, "start": 5.0, "end": 50.0},
    {"session": "s", "query": 2, "rank": 1, "start": 60.0, "end": 70.0},
    {"session": "s", "query": 2, "rank": 2, "start": 80.0, "end": None},
    {"session": "t", "query": 1, "rank": 1, "start": 1.0, "end": 40.0},
]


def test_a_clicked_document_counts_where_it_comes_first() -> None:
    sessions = sessions_of(LISTS, clicks=CLICKS)
    grades = sessions.clicked().to_polars().select("topic", "doc", "grade").rows()
    assert sorted(grades) == [
        *(("s", "a", 1), ("s", "b", 1), ("s", "c", 0), ("s", "d", 1)),
        *(("t", "a", 0), ("t", "e", 1)),
    ]
    [[first], [second]] = evaluate_sessions(sessions, "clicks", "sDCG")["sDCG"].values
    # The second list is d alone, at rank 4 of the session.
    assert first == pytest.approx(1 + 1 / log2(3) + 1 / (log(5, 4) * log2(5)))
    assert second == 1


def test_short_stays_do_not_count() -> None:
    sessions = sessions_of(LISTS, clicks=CLICKS)
    with pytest.warns(cf.CranfieldWarning, match="1 click of unknown dwell time excluded"):
        [[first], [second]] = evaluate_sessions(sessions, "clicks:30", "sDCG")["sDCG"].values
    assert (first, second) == (pytest.approx(1 / log2(3)), 1)
    with (
        pytest.warns(cf.CranfieldWarning, match="of unknown dwell time"),
        pytest.raises(cf.InputError, match="has no clicks of at least 100 seconds"),
    ):
        sessions.clicked(100)


@pytest.mark.parametrize(
    "times",
    [
        {"start": [0, 60], "end": [45, 65]},
        {"start": [0, 60], "dwell_time": [45, 5]},
        {"dwell": [45, 5]},
        {"start": [1714550400000, 1714550460000], "end": [1714550445000, 1714550465000]},
        {
            "start": ["2024-05-01T10:00:00Z", "2024-05-01 10:01:00+00:00"],
            "end": ["2024-05-01T10:00:45", "2024-05-01T10:01:05"],
        },
    ],
)
def test_forms_of_times(times: dict[str, list[object]]) -> None:
    clicks = {"session": ["s", "s"], "query": [1, 1], "rank": [2, 1], **times}
    sessions = sessions_of(LISTS, clicks=clicks)
    seconds = sessions.clicks.select(seconds=pl.col("end") - pl.col("start"))["seconds"]
    assert seconds.to_list() == pytest.approx([45, 5])
    assert evaluate_sessions(sessions, "clicks:30", "RR")["RR"].values[0, 0] == 0.5


def test_long_stays_are_reported() -> None:
    clicks = {"session": ["s"], "query": [1], "rank": [2], "start": [0], "end": [45_000]}
    with pytest.warns(cf.CranfieldWarning, match="45,000 seconds; divide times in milliseconds"):
        sessions_of(LISTS, clicks=clicks).clicked(30)


def test_command(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("session,query,rank,doc\ns,1,1,a\ns,1,2,b\n")
    (tmp_path / "c.csv").write_text("session,query,rank\ns,1,2\n")
    args = ("sessions", "clicks", "s.csv", "--clicks", "c.csv", "-m", "sDCG", "-f", "csv")
    out, err = cranfield(tmp_path, *args)
    assert out.splitlines()[-1] == f"log,{1 / log2(3)}"
    assert not err
    _, err = cranfield(tmp_path, "sessions", "clicks", "s.csv", status=2)
    assert "has no clicks from which to derive judgments" in err
