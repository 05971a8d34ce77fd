"""Cutting what users did into sessions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf

PAGES = {
    "page": [1, 2, 3, 4],
    "query": ["a", "b", "c", "d"],
    "user": ["u", "u", "v", "u"],
    "time": [0, 1800, 10, 3601],
}


def test_by_pages() -> None:
    log = cf.online.read_log(PAGES)
    cut = cf.online.sessionise(log)
    assert cut.pages["session"].to_list() == ["u-1", "u-1", "v-1", "u-2"]
    assert cut.pages.columns == ["id", "query", "user", "session", "time"]
    assert log.pages.columns == ["id", "query", "user", "time"]
    hour: Any = np.int64(3600)
    for timeout in ("1h", 3600, hour, timedelta(hours=1), "60 m", "3600.0s", "3600"):
        whole = cf.online.sessionise(log, timeout).pages["session"]
        assert whole.to_list() == ["u-1", "u-1", "v-1", "u-1"]


def test_clicks_and_reading_keep_a_session_going() -> None:
    results = {"page": [2], "doc": ["x"]}
    clicks = {"page": [2], "doc": ["x"], "time": [1802]}
    cut = cf.online.sessionise(cf.online.read_log(PAGES, results, clicks))
    assert cut.pages["session"].to_list()[-1] == "u-1"
    shorter = cf.online.read_log(PAGES, results, clicks | {"dwell": [899]})
    assert cf.online.sessionise(shorter, 899).pages["session"].to_list()[-1] == "u-3"
    assert cf.online.sessionise(shorter, 900).pages["session"].to_list()[-1] == "u-2"


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("uv"), st.integers(0, 50), st.none() | st.integers(0, 20)),
        min_size=1,
        max_size=12,
    )
)
def test_by_a_loop(stream: list[tuple[str, int, int | None]]) -> None:
    ids = [*range(len(stream))]
    clicked = [(k, time + wait) for k, (_, time, wait) in enumerate(stream) if wait is not None]
    log = cf.online.read_log(
        {
            "page": ids,
            "query": ids,
            "user": [user for user, _, _ in stream],
            "time": [time for _, time, _ in stream],
        },
        {"page": ids, "doc": ids},
        {
            "page": [k for k, _ in clicked],
            "rank": [1] * len(clicked),
            "time": [t for _, t in clicked],
        }
        if clicked
        else None,
    )
    wanted: dict[int, str] = {}
    end: dict[str, Any] = {}
    number = {"u": 0, "v": 0}
    for k in sorted(ids, key=lambda k: stream[k][1]):
        user, time, wait = stream[k]
        number[user] += user not in end or time - end[user] > 10
        wanted[k] = f"{user}-{number[user]}"
        end[user] = max(end.get(user, time), time + (wait or 0))
    assert cf.online.sessionise(log, 10).pages["session"].to_list() == [wanted[k] for k in ids]


def test_pages_of_nobody() -> None:
    log = cf.online.read_log(PAGES | {"user": ["u", None, "v", None]})
    assert cf.online.sessionise(log).pages["session"].to_list() == ["u-1", None, "v-1", None]
