"""Wrong sessions, runs, measures and arguments are refused with their reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import cranfield as cf
from cranfield import evaluate_sessions
from cranfield.measures.sessions import click_u
from cranfield.sessions import read_session_topics, read_sessions
from tests.online.refusals import Refusal, check_refused
from tests.sessions.samples import QRELS, RUNS, XML, sessions_of, written

LISTS = sessions_of({"s": [["a"]]}, [{"session": "s", "query": 1, "rank": 1}])
UNCLICKED = sessions_of({"s": [["a"]]})
EXTRACT = read_sessions(XML)
TWO_SYSTEMS = EXTRACT.append_runs({"x": RUNS["y"], "y": RUNS["y"]})
RUN = {"q": {"a": 1.0}}
ROWS = [
    {"session": "s", "topic": "t", "query": 1, "rank": 2, "doc": "b"},
    {"session": "s", "topic": "t", "query": 1, "rank": 1, "doc": "a"},
]
CLICK = {"session": "s", "query": 1, "rank": 2}
TOPICLESS = read_sessions(pl.DataFrame(ROWS).drop("topic"))
NAMESAKES = [cf.read_run({"33": {"n1": 2.0}}, name="same")] * 2

_JUDGED = sessions_of({"s": [["a"], ["a"]]}).concatenate(duplicates="keep").judge({"s": {"a": 1}})
UNLINKED = replace(_JUDGED, documents=replace(_JUDGED.documents, source=None), views={})

USER_NAMES = ("user", "participant", "subject_id", "worker")
WRONG_MEASURES = ["ClickU(F=1.5)", "ClickU(L=0)", "ClickU(snippet='real')", "sDCG(b=1)"]
WRONG_MEASURES += ["sDCG(bq=0.5)", "sDCG(variant='old')", "nsDCG(ideal='none')", "nsDCG(depth=0)"]

evaluate = partial(evaluate_sessions, LISTS, {"s": {"a": 1}})


def with_first_row(**change: Any) -> object:
    return read_sessions([ROWS[0] | change, *ROWS[1:]])


def with_clicks(names: list[str], *other: dict[str, Any]) -> object:
    rows = [CLICK | {"action": "tap"}, *(CLICK | one for one in other)]
    return read_sessions(ROWS, clicks=[{name: row[name] for name in names} for row in rows])


def of_users(name: str) -> object:
    return read_sessions([ROWS[0] | {name: "u"}, ROWS[1] | {name: "v"}])


REFUSALS: dict[str, list[Refusal]] = {
    "click_u": [
        (lambda: click_u([1], [0], 10), "ranks at least 1"),
        (lambda: click_u([1], cast(Any, [1.5]), 10), "integers"),
        (lambda: click_u([1, 2], [1], 10), "a number for each click"),
        (lambda: click_u([1], [1], [10, 20]), "one for all or for each of 1 clicks"),
        (lambda: click_u([1], [1], cast(Any, {})), "lengths and gains must be numbers"),
        (lambda: click_u([1], [1], -5), "at least 0"),
        (lambda: click_u([1], [1], cast(Any, "long")), "numbers"),
        (lambda: click_u([1], [1], 10, proportion_read=2), "proportion_read must be"),
        (lambda: click_u([1], [1], 10, limit=0), "limit must be"),
        (lambda: click_u([1], [1], 10, snippet=float("nan")), "snippet must be"),
    ],
    "measures": [
        (lambda: evaluate_sessions(XML, QRELS, "ClickU"), "11 of 11 clicks"),
        (lambda: evaluate("ClickU(snippet='own', length=10)"), "snippets"),
        (lambda: evaluate("ClickU(judged_only=True, length=1)"), "judged_only"),
        (lambda: evaluate_sessions(UNCLICKED, "clicks", "sDCG"), "expected clicks from which"),
        (
            lambda: UNCLICKED.derive_click_qrels(),
            "derive judgments, got none; pass a table of clicks",
        ),
        (lambda: LISTS.derive_click_qrels(0), "min_seconds"),
        (lambda: cf.evaluate(RUN, {"q": {"a": 1}}, "ClickU"), "evaluate_sessions"),
        (lambda: cf.evaluate(RUN, {"q": {"a": 1}}, "sDCG"), "sDCG requires sessions"),
        *[(partial(cf.parse_measure, text), "must be") for text in WRONG_MEASURES],
    ],
    "concatenation": [
        *[
            (partial(LISTS.concatenate, depth=cast(Any, depth)), "depth must be an integer from 1")
            for depth in (0, 1.5, True)
        ],
        (
            lambda: evaluate_sessions(UNCLICKED, {"s": {"a": 1}}, "sDCG", until_click=True),
            "expected clicks, which until_click=True requires, got none; pass a table of clicks",
        ),
        (lambda: LISTS.concatenate(duplicates="last"), "unknown duplicates 'last'"),
        (lambda: LISTS.concatenate().judge({"s": {"a": 1}}, ties="trec"), "ties 'trec'"),
        (
            lambda: LISTS.to_qrels({"w": {"a": 1}}),
            "expected sessions with judged topics, such as 'w', got 's'",
        ),
        (
            lambda: LISTS.to_qrels({"s": {"a": 1}}, needs_current_query=True),
            "got only sessions without a current query",
        ),
        (lambda: TOPICLESS.to_qrels({"w": {"a": 1}}), "such as 'w', got no topics; a column topic"),
        (
            lambda: EXTRACT.append_runs({"x": {"77": {"a": 1.0}}}),
            "expected topics that are sessions, such as",
        ),
        (lambda: TWO_SYSTEMS.append_runs(RUNS), "of one system, got 2"),
        (lambda: EXTRACT.append_runs(NAMESAKES), "'same'"),
        (
            lambda: cf.parse_measure("nsDCG").score(UNLINKED),
            "expected rows with the judgment",
        ),
    ],
    "rows": [
        (lambda: with_first_row(rank=0), "row 1: rank '0' is not a positive integer"),
        (lambda: with_first_row(rank="first"), "row 1: rank 'first'"),
        (lambda: with_first_row(rank=1), "rank 1 occurs twice in query 1 of session 's'"),
        (lambda: with_first_row(query=0), "query numbers"),
        (lambda: with_first_row(query="01"), "query number"),
        (lambda: with_first_row(topic="u"), "session 's' has more than one topic: 'u' and 't'"),
        (lambda: with_first_row(doc=None), "row 1: has no doc"),
        *[(partial(of_users, name), "more than one user: 'u' and 'v'") for name in USER_NAMES],
    ],
    "tables": [
        (lambda: read_sessions([]), "is empty"),
        (lambda: read_sessions({}), "has no session column"),
        (
            lambda: read_sessions({"session": ["s"], "query": [1], "doc": ["a"]}),
            "column rank or score",
        ),
        (lambda: read_sessions({"session": ["s"], "query": [1, 2]}), "equal length"),
        (lambda: read_sessions({"session": {"q": 1}}), "columns"),
        (lambda: read_sessions([("s", 1)]), "row 1: expected records with named fields .* a tuple"),
        (lambda: read_sessions(cast(Any, 7)), "int"),
        (lambda: read_sessions(pl.DataFrame({"session": ["s"], "rank": [1]})), "no query column"),
        *[
            (partial(read_sessions, name), "cannot be read: no such file")
            for name in ("no-such.xml", "no-such.csv", "no-such")
        ],
    ],
    "clicks": [
        (
            lambda: read_sessions(
                [row | {"system": str(row["rank"]), "rank": 1} for row in ROWS], clicks=[CLICK]
            ),
            "expected a column system",
        ),
        (lambda: read_sessions(ROWS, clicks=[CLICK | {"time": "x"}]), "row 1: time 'x'"),
        (lambda: with_clicks(["session", "query"]), "a column rank or doc, got neither"),
        (
            lambda: with_clicks([*CLICK, "action"], {"action": "see"}),
            "'action' .* the event of rows",
        ),
        (lambda: with_clicks([*CLICK], {"rank": None}), "a click must have a rank or a document"),
        (lambda: read_sessions(XML, clicks=[CLICK]), "has its own clicks"),
        (lambda: read_sessions(read_sessions(ROWS), clicks=[CLICK]), "to a Sessions object"),
    ],
}


@pytest.mark.parametrize("topic", REFUSALS)
def test_refused_in_one_line(topic: str) -> None:
    check_refused(*REFUSALS[topic])


@pytest.mark.parametrize(
    ("reader", "name", "content", "words"),
    [
        (read_sessions, "a.csv", "", "is empty"),
        (read_sessions, "b.csv", b"session\n\xff\n", "is not UTF-8 text"),
        (read_sessions, "c.csv", "session,query\n1,2,3\n", "expected 2 cells"),
        (read_sessions, "d.txt", "1 2 3", "not name a format of sessions"),
        (read_sessions, "e.parquet", b"PAR1", "is not readable Parquet"),
        (read_session_topics, "t.txt", "s1\tt1\ns 2\t\n", ":2: has no topic"),
        (read_session_topics, "t.txt", "1 2\n\n3\n", "3: expected 2 columns"),
        (read_session_topics, "t.txt", "1 2\n1 3\n", "more than one topic: '2' and '3'"),
        (read_session_topics, "t.json", '{"topic": "1"}', "expected an array of records, got one"),
    ],
)
def test_wrong_files(
    tmp_path: Path, reader: Callable[[str], object], name: str, content: str | bytes, words: str
) -> None:
    path = written(tmp_path, content, name)
    check_refused((partial(reader, path), words))
