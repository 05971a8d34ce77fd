"""Click-based U: real sessions by hand, and the pseudocode of Sakai (2013), figure 9."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield import evaluate_sessions
from cranfield.measures.sessions import click_u
from cranfield.sessions import read_sessions
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
    value = click_u(queries, ranks, lengths, gains=gain, snippet=snippet, share=share, limit=limit)
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
