"""Sessions for tests: two of the TREC 2013 Session track, and random ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from cranfield.sessions import Sessions, read_sessions

DATA = Path(__file__).resolve().parent.parent / "data" / "sessions"
XML, QRELS = str(DATA / "two.xml"), str(DATA / "two.qrels")

Lists = dict[str, list[list[str]]]
"""Result lists of each session, query by query."""

Grades = dict[str, dict[str, int]]


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
