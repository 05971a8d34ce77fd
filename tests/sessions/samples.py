"""Sessions for tests: two of the TREC 2013 Session track, and random ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from cranfield.sessions import Sessions, read_sessions

DATA = Path(__file__).resolve().parent.parent / "data" / "sessions"
XML, QRELS = str(DATA / "two.xml"), str(DATA / "two.qrels")

RUNS = {
    "x": {"33": {"n1": 2.0, "n2": 1.0}},
    "y": {"33": {"clueweb12-0714wb-65-18806": 1.0}, "54": {"n3": 1.0}},
}
"""Answers of two systems to the current queries of the two sessions."""

Lists = dict[str, list[list[str]]]
"""Result lists of each session, query by query."""

Grades = dict[str, dict[str, int]]


def written(folder: Path, content: str | bytes, name: str = "log.xml") -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def sessions_of(lists: Lists, clicks: Any = None, system: str | None = None) -> Sessions:
    """Read sessions from lists of documents; the topic of a session has its name."""
    rows = [
        {"session": name, "topic": name, "query": query, "rank": rank, "doc": doc}
        | ({} if system is None else {"system": system})
        for name, queries in lists.items()
        for query, docs in enumerate(queries, 1)
        for rank, doc in enumerate(docs, 1)
    ]
    return read_sessions(rows, clicks=clicks)


_DOCS = st.sampled_from("abcdefgh")
_LISTS = st.lists(st.lists(_DOCS, unique=True, max_size=6), min_size=1, max_size=4)
_GRADES = st.dictionaries(_DOCS, st.sampled_from([-2, 0, 1, 2, 3]), min_size=1)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Lists, Grades]:
    """Draw sessions, each with a result at least, and judgments of their topics."""
    names = ["1", "2", "10"][: draw(st.integers(1, 3))]
    lists = {name: draw(_LISTS.filter(any)) for name in names}
    return lists, {name: draw(_GRADES) for name in names}
