"""Sessions of several queries: reading and scoring them.

>>> from cranfield import evaluate_sessions
>>> from cranfield.sessions import read_sessions
>>> log = read_sessions({"session": ["s"], "query": [1], "rank": [1], "doc": ["a"]},
...                     topics={"s": "t"})
>>> evaluate_sessions(log, {"t": {"a": 1}}, ["sDCG", "nsDCG"]).by_system().rows()
[('log', 1.0, 1.0)]
"""

from cranfield.sessions.log import (
    ConcatenatedSessions,
    SessionCounts,
    Sessions,
    append_runs,
    concatenate,
)
from cranfield.sessions.reading import read_session_topics, read_sessions

__all__ = [
    "ConcatenatedSessions",
    "SessionCounts",
    "Sessions",
    "concatenate",
    "append_runs",
    "read_session_topics",
    "read_sessions",
]


def __dir__() -> list[str]:
    return list(__all__)
