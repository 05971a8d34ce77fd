"""Click-based U, by hand and by figure 9 of Sakai (2013); judgments of a session by its clicks."""

from __future__ import annotations

from math import log, log2
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield import evaluate_sessions
from cranfield.measures.sessions import click_u
from cranfield.sessions import read_sessions
from tests.cli.running import cranfield
from tests.sessions.samples import QRELS, XML, sessions_of

L = 132_000

# Documents of 8000 characters, of which 1600 are read; snippets of 200.
# Session 33: rank 3 of query 1, rank 4 of query 2, rank 2 of query 3.
POS_33 = [600 + 1600, 2200 + 800 + 1600, 4600 + 400 + 1600]
# Session 54: ranks 3, 2, 4, 5, 5 of query 1; ranks 4, 5, 6 of query 2; nothing of query 3.
POS_54 = [2200, 3800, 5600, 7400, 9000, 11400, 13200, 15000]
# The second click on rank 5 left out.
ONCE_54 = [2200, 3800, 5600, 7400, 9800, 11600, 13400]
# The snippets of the file: 15 + 27 + 39; 15 + 27 + 39 + 51; 15 + 27 characters.
OWN_33 = [81 + 1600, 1681 + 132 + 1600, 3413 + 42 + 1600]


def u(positions: list[int], gain: float = 0.5) -> float:
    return sum(gain * (1 - pos / L) for pos in positions)


@pytest.mark.parametrize(
    ("measure", "session", "by_hand"),
    [
        ("ClickU(length=8000)", "33", u(POS_33)),
        ("ClickU(length=8000)", "54", u(POS_54)),
        ("ClickU(length=8000, once=True)", "54", u(ONCE_54)),
        ("ClickU(length=8000, snippet='own')", "33", u(OWN_33)),
        # Of the clicked documents of session 54 those at ranks 4 and 5, and 4 of query 2, have
        # grade 1; rank 5 was clicked twice. Of session 33 one has grade 2, the second.
        ("ClickU(gains='linear', length=8000)", "54", u([5600, 7400, 9000, 11400], 1.0)),
        ("ClickU(gains={2: 0.75}, length=8000)", "33", u([4600], 0.75)),
        ("ClickU(L=5000, length=8000)", "33", 0.5 * (1 - 2200 / 5000 + 1 - 4600 / 5000)),
        ("ClickU(F=1, length=8000)", "33", u([8600, 17400, 25800])),
    ],
)
def test_real_sessions_by_hand(measure: str, session: str, by_hand: float) -> None:
    scores = evaluate_sessions(XML, QRELS, measure)[measure]
    assert scores.values[scores.topics.index(session), 0] == pytest.approx(by_hand, rel=1e-12)


def figure_9(
    clicks: list[tuple[int, int, float]], gain: float, snippet: float, f: float, limit: float
) -> float:
    """The pseudocode, line by line; each query has its own array."""
    done: dict[int, set[int]] = {}
    pos = total = 0.0
    for query, rank, doclen in clicks:
        snippetdone = done.setdefault(query, set())
        for r in range(1, rank + 1):
            if r not in snippetdone:
                pos += snippet
                snippetdone.add(r)
        pos += f * doclen
        total += gain * max(0, 1 - pos / limit)
    return total


_CLICKS = st.lists(
    st.tuples(st.integers(1, 3), st.integers(1, 6), st.floats(0, 9000)), min_size=1, max_size=12
)


@settings(max_examples=40)
@given(_CLICKS, st.floats(0, 2), st.floats(0, 500), st.floats(0, 1), st.floats(10, 1e5))
def test_figure_9(
    clicks: list[tuple[int, int, float]], gain: float, snippet: float, share: float, limit: float
) -> None:
    queries, ranks, lengths = zip(*clicks, strict=True)
    value = click_u(
        queries, ranks, lengths, gains=gain, snippet=snippet, proportion_read=share, limit=limit
    )
    assert value == pytest.approx(figure_9(clicks, gain, snippet, share, limit), abs=1e-9)


def test_sessions_without_clicks_score_0() -> None:
    assert click_u([], [], []) == 0
    rows = [
        {"system": name, "session": "s", "query": 1, "rank": 1, "doc": "a"} for name in ("x", "y")
    ]
    clicks = [{"system": "y", "session": "s", "query": 1, "rank": 1}]
    sessions = read_sessions(rows, clicks=clicks, topics={"s": "t"})
    ev = evaluate_sessions(sessions, {"t": {"a": 1}}, "ClickU(length=0)")
    np.testing.assert_allclose(ev["ClickU(length=0)"].values, [[0, 0.5 * (1 - 200 / L)]])


@pytest.mark.parametrize(
    ("text", "lengths", "expected"),
    [
        ("ClickU(length=1000)", {"b": 5000}, u([400, 400 + 200 + 1000])),
        # Without a judgment, b gains nothing by its grade.
        ("ClickU(gains='linear', length=0)", None, 2 * (1 - 200 / L)),
    ],
)
def test_lengths_and_grades_of_some_documents(text: str, lengths: Any, expected: float) -> None:
    sessions = sessions_of(
        {"s": [["a", "b"]]}, [{"session": "s", "query": 1, "rank": r} for r in (1, 2)]
    )
    scores = evaluate_sessions(sessions, {"s": {"a": 2}}, text, lengths=lengths)[text]
    assert scores.values[0, 0] == pytest.approx(expected)


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
    grades = sessions.derive_click_qrels().to_polars().select("topic", "doc", "grade").rows()
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
    with pytest.warns(cf.CranfieldWarning, match="1 click excluded: dwell time unknown"):
        [[first], [second]] = evaluate_sessions(sessions, "clicks:39", "sDCG")["sDCG"].values
    assert (first, second) == (pytest.approx(1 / log2(3)), 1)
    with (
        pytest.warns(cf.CranfieldWarning, match="dwell time unknown"),
        pytest.raises(cf.InputError, match="expected clicks of at least 100 seconds"),
    ):
        sessions.derive_click_qrels(100)


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
        sessions_of(LISTS, clicks=clicks).derive_click_qrels(30)


def test_command(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("session,query,rank,doc\ns,1,1,a\ns,1,2,b\n")
    (tmp_path / "c.csv").write_text("session,query,rank\ns,1,2\n")
    args = ("sessions", "clicks", "s.csv", "--clicks", "c.csv", "-m", "sDCG", "-f", "csv")
    out, err = cranfield(tmp_path, *args)
    assert out.splitlines()[-1] == f"log,{1 / log2(3)}"
    assert not err
    _, err = cranfield(tmp_path, "sessions", "clicks", "s.csv", status=2)
    assert "expected clicks from which to derive judgments, got none" in err
